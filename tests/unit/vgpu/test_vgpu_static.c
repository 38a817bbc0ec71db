// test_vgpu_static.c - what the parser says about a module, and what is refused when one is loaded

#include <stdbool.h>

#include "common/util/kc_mem.h"
#include "tests/unit/vgpu/vgpu_fixture.h"

#define HEAD ".version 9.0\n.target sm_80\n.address_size 64\n"

static ptx_module_t *s_parse (const char *text)
{
    kc_err_t err = {0};
    ptx_module_t *m = ptx_module_parse (text, strlen (text), &err);
    if (!m)
        fail_msg ("refused: %s", err.text);
    return m;
}

static void a_kernel_is_described_by_its_parameters_and_sizes (void **state)
{
    (void)state;
    ptx_module_t *m = s_parse (HEAD
                               ".file 1 \"a.cu\"\n.extern .shared .align 16 .b8 dyn[];\n.visible .entry k(.param .u8 a, .param .u64 .ptr .global .align 16 b, .param .f32 c,\n"
                               " .param .align 8 .b8 d[20], .param .align 128 .b8 e[128])\n.maxntid 256, 2\n.minnctapersm 3\n.maxnreg 64\n{\n.shared .align 4 .b8 s[100];\n.shared .f64 q[2];\n"
                               ".local .align 8 .b8 l[40];\n.reg .b32 %r<3>;\nmov.u32 %r1, dyn;\nld.shared.u32 %r2, [s];\nret;\n}\n"
                               ".entry other()\n.reqntid 64, 1, 1\n{\nret;\n}\n");
    const ptx_func_t *k = ptx_module_func (m, "k");
    assert_non_null (k);
    assert_true (k->is_kernel && !k->is_declaration && k->uses_dynamic_shared);
    assert_int_equal (k->n_params, 5);
    static const uint32_t offsets[] = {0, 8, 16, 24, 128}, sizes[] = {1, 8, 4, 20, 128};
    for (int i = 0; i < 5; i++) {
        assert_int_equal (k->params[i].offset, offsets[i]);
        assert_int_equal (k->params[i].size, sizes[i]);
    }
    assert_int_equal (k->params[4].align, 128);
    assert_int_equal (k->params_size, 256);
    assert_int_equal (k->static_shared, 104 + 16);
    assert_int_equal (k->local_bytes, 40);
    assert_int_equal (k->maxntid[0], 256);
    assert_int_equal (k->maxntid[1], 2);
    assert_int_equal (k->maxntid[2], 1);
    assert_int_equal (k->minnctapersm, 3);
    assert_int_equal (k->maxnreg, 64);
    const ptx_func_t *o = ptx_module_func (m, "other");
    assert_int_equal (o->reqntid[0], 64);
    assert_int_equal (o->params_size, 0);
    assert_int_equal (m->version_major, 9);
    assert_string_equal (m->target, "sm_80");
    assert_string_equal (m->files[1], "a.cu");
    assert_null (ptx_module_func (m, "nothing"));
    ptx_module_destroy (&m);
}

static void instructions_are_decoded_for_those_who_count_features (void **state)
{
    (void)state;
    ptx_module_t *m = s_parse (HEAD ".visible .entry k(.param .u64 a)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n.reg .b64 %rd<4>;\n.loc 1 5 0\nld.param.u64 %rd1, [a];\n"
                                    "mov.u32 %r1, 0;\nO:\n.loc 1 6 0\nmov.u32 %r2, 0;\nI:\n.loc 1 7 0\nld.global.nc.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1+16];\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 8;\n"
                                    "@%p1 bra I;\n.loc 1 8 0\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, 8;\n@%p2 bra O;\n.loc 2 99 3, function_name $x, inlined_at 1 10 4\nst.volatile.shared.u16 [%rd1], 3;\nret;\n}\n");
    const ptx_func_t *k = ptx_module_func (m, "k");
    int loads = 0, back = 0;
    for (uint32_t n = 0; n < k->n_instrs; n++) {
        const ptx_instr_t *i = &k->instrs[n];
        if (ptx_is_load (i) && i->space == PTX_SPACE_GLOBAL) {
            loads++;
            assert_int_equal (i->vec, 4);
            assert_int_equal (i->type, PTX_TYPE_F32);
            assert_true (i->mods & PTX_MOD_NC);
            assert_int_equal (i->loop_depth, 2);
            assert_int_equal (i->line, 7);
            assert_string_equal (i->text, "ld.global.nc.v4.f32");
        }
        back += i->back_edge;
        if (ptx_is_store (i)) {
            assert_int_equal (i->space, PTX_SPACE_SHARED);
            assert_int_equal (i->loop_depth, 0);
            assert_int_equal (i->line, 10); // where the inlined function was called
        }
    }
    assert_int_equal (loads, 1);
    assert_int_equal (back, 2);
    assert_string_equal (ptx_opcode_name (PTX_SHFL), "shfl");
    assert_int_equal (ptx_opcode_family (PTX_MMA), PTX_FAMILY_MATRIX);
    ptx_module_destroy (&m);
}

static void live_registers_are_counted_over_loops (void **state)
{
    (void)state;
    ptx_module_t *m = s_parse (HEAD ".visible .entry k(.param .u64 a)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [a];\nmov.u32 %r1, 1;\nmov.u32 %r2, 2;\nmov.u32 %r3, 3;\n"
                                    "L:\nadd.u32 %r4, %r1, %r2;\nadd.u32 %r2, %r4, 1;\nsetp.lt.u32 %p1, %r2, 100;\n@%p1 bra L;\nadd.u32 %r2, %r2, %r3;\nst.global.u32 [%rd1], %r2;\nret;\n}\n");
    const ptx_func_t *k = ptx_module_func (m, "k");
    // in the loop: rd1 (2), r1, r3 and one of r2, r4
    assert_int_equal (k->max_live, 5);
    assert_int_equal (k->registers, (uint32_t)(5 * 1.1 + 6));
    ptx_module_destroy (&m);
}

static void writable_module_variables_are_told_from_tables_and_text (void **state)
{
    (void)state;
    static const struct {
        const char *body;
        bool writable;
    } cases[] = {
        {"ld.global.u32 %r1, [g];", false},
        {"mov.u64 %rd1, g;\nld.global.u32 %r1, [%rd1+4];", false},
        {"st.global.u32 [g], 1;", true},
        {"mov.u64 %rd1, g;\ncvta.global.u64 %rd2, %rd1;\nadd.s64 %rd3, %rd2, 4;\nst.u32 [%rd3], 1;", true},
        {"mov.u64 %rd1, g;\natom.global.add.u32 %r1, [%rd1], 1;", true},
        {"mov.u64 %rd1, g;\nst.global.u64 [%rd2], %rd1;", true}, // the address escapes
        {"mov.u64 %rd1, text;\nst.local.u64 [l], %rd1;", false}, // handed to printf
        {"mov.u64 %rd1, text;\nst.global.u8 [%rd1], 1;", true},
        {"", false},
    };
    for (size_t k = 0; k < KC_COUNT (cases); k++) {
        char *text = kc_asprintf (HEAD ".global .align 4 .b8 g[8];\n.global .align 1 .b8 text[3] = {104, 105, 0};\n.global .align 4 .b8 unused[4];\n.visible .entry k()\n{\n"
                                       ".local .align 8 .b8 l[8];\n.reg .b32 %%r<4>;\n.reg .b64 %%rd<4>;\n%s\nret;\n}\n", cases[k].body);
        ptx_module_t *m = s_parse (text);
        if (((m->forbidden & PTX_FORBIDDEN_WRITABLE) != 0) != cases[k].writable)
            fail_msg ("case %zu: writable is %d", k, !cases[k].writable);
        assert_false (ptx_module_symbol (m, "unused")->referenced);
        assert_int_equal (ptx_module_symbol (m, "g")->size, 8);
        ptx_module_destroy (&m);
        free (text);
    }
}

static void forbidden_things_are_reported_and_not_run (void **state)
{
    (void)state;
    static const struct {
        const char *decl, *body;
        uint32_t bit;
    } cases[] = {
        {"", "mov.u32 %r1, %clock;", PTX_FORBIDDEN_CLOCK},
        {"", "mov.u64 %rd1, %clock64;", PTX_FORBIDDEN_CLOCK},
        {"", "mov.u64 %rd1, %globaltimer;", PTX_FORBIDDEN_CLOCK},
        {"", "brkpt;", PTX_FORBIDDEN_BRKPT},
        {"", "pmevent 7;", PTX_FORBIDDEN_PMEVENT},
        {".extern .func (.param .b64 r) malloc (.param .b64 n);\n", "{\n.param .b64 a;\n.param .b64 q;\nst.param.b64 [a], 8;\ncall.uni (q), malloc, (a);\n}", PTX_FORBIDDEN_MALLOC},
        {".extern .func mystery ();\n", "call.uni mystery;", PTX_FORBIDDEN_EXTERN},
    };
    for (size_t k = 0; k < KC_COUNT (cases); k++) {
        char *text = kc_asprintf (HEAD "%s.visible .entry k()\n{\n.reg .b32 %%r<4>;\n.reg .b64 %%rd<4>;\n%s\nret;\n}\n", cases[k].decl, cases[k].body);
        kc_err_t err = {0};
        ptx_module_t *m = s_parse (text);
        assert_true (m->forbidden & cases[k].bit);
        ptx_module_destroy (&m);
        vt_refused (text, &err);
        assert_int_equal (err.code, KC_EUNSUPPORTED);
        assert_non_null (strstr (err.text, "UNSUPPORTED"));
        free (text);
    }
    ptx_module_t *m = s_parse (HEAD ".extern .func mystery ();\n.extern .func idle ();\n.visible .entry k()\n{\ncall.uni mystery;\nret;\n}\n");
    assert_string_equal (ptx_module_unresolved (m), "mystery");
    ptx_module_destroy (&m);
    m = s_parse (HEAD ".visible .entry k()\n{\n.reg .b32 %r<4>;\nmov.u32 %r1, %smid;\nret;\n}\n");
    assert_int_equal (m->forbidden, PTX_USES_SMID);
    ptx_module_destroy (&m);
}

static void what_cannot_run_is_refused_with_instruction_and_line (void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r5];",
        "cp.async.cg.shared.global [%r1], [%rd1], 16;",
        "cp.async.commit_group;",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%rd1], 16;",
        "mbarrier.init.shared.b64 [%r1], 1;",
        "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5,%f6}];",
        "add.f16 %h1, %h2, %h3;",
        "fma.rn.f16x2 %r1, %r2, %r3, %r4;",
        "fma.rn.bf16x2 %r1, %r2, %r3, %r4;",
        "cvt.rna.tf32.f32 %r1, %f1;",
        "cvt.rn.f16x2.f32 %r1, %f1, %f2;",
        "vadd4.u32.u32.u32 %r1, %r2, %r3, %r4;",
        "atom.global.add.noftz.f16x2 %r1, [%rd1], %r2;",
        "barrier.cluster.arrive.aligned;",
        "griddepcontrol.wait;",
        "setmaxnreg.inc.sync.aligned.u32 232;",
        "ld.shared::cluster.u32 %r1, [%r2];",
        "frobnicate.u32 %r1, %r2;",
        "add.u32.wrong %r1, %r2, %r3;",
        "mov.u64 %rd1, k;",
    };
    for (size_t k = 0; k < KC_COUNT (bodies); k++) {
        char *text = kc_asprintf (HEAD ".visible .entry k()\n{\n.reg .b16 %%h<9>;\n.reg .b32 %%r<9>;\n.reg .f32 %%f<9>;\n.reg .b64 %%rd<4>;\n.loc 1 77 0\n%s\nret;\n}\n", bodies[k]);
        kc_err_t err = {0};
        vt_refused (text, &err);
        char name[64];
        size_t n = strcspn (bodies[k], " ;");
        snprintf (name, sizeof (name), "%.*s", (int)n, bodies[k]);
        if (err.code != KC_EUNSUPPORTED || !strstr (err.text, "77") || !strstr (err.text, name))
            fail_msg ("'%s' is refused with: %s", bodies[k], err.text);
        free (text);
    }
}

static void wrong_text_is_answered_with_its_line (void **state)
{
    (void)state;
    static const struct {
        const char *text, *expect;
    } cases[] = {
        {"", "no .version"},
        {"int main () { return 0; }", "PTX line 1"},
        {HEAD ".visible .entry k()\n{\nadd.u32 %r1, %r2, %r3;\nret;\n}\n", "PTX line 6"},
        {HEAD ".visible .entry k()\n{\n.reg .b32 %r<3>;\nadd.u32 %r1, %r2;\nret;\n}\n", "operands"},
        {HEAD ".visible .entry k()\n{\n.reg .b32 %r<3>;\n.reg .b64 %rd<3>;\nadd.u32 %r1, %r2, %rd1;\nret;\n}\n", "width"},
        {HEAD ".visible .entry k()\n{\nbra NOWHERE;\nret;\n}\n", "'NOWHERE' is not declared"},
        {HEAD ".visible .entry k()\n{\nret;\n", "never closed"},
        {HEAD ".visible .entry k()\n{\nA:\nA:\nret;\n}\n", "declared twice"},
        {HEAD ".visible .entry k()\n{\nret;\n}\n.visible .entry k()\n{\nret;\n}\n", "defined twice"},
        {HEAD ".visible .entry k(.param .u64 a)\n{\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [a+4];\nret;\n}\n", "leaves the 8 bytes"},
        {HEAD ".visible .entry k()\n{\n.reg .b32 %r<3>;\n@%r1 bra A;\nA:\nret;\n}\n", "not a predicate"},
        {HEAD ".alias f, g;\n", ".alias"},
    };
    for (size_t k = 0; k < KC_COUNT (cases); k++) {
        kc_err_t err = {0};
        vt_refused (cases[k].text, &err);
        if (!strstr (err.text, cases[k].expect))
            fail_msg ("case %zu: '%s' does not say '%s'", k, err.text, cases[k].expect);
    }
}

static void cut_and_damaged_text_never_breaks_the_parser (void **state)
{
    (void)state;
    static const char text[] =
        HEAD ".global .align 4 .b8 g[8] = {1, 2, {3}};\n.extern .shared .align 4 .b8 dyn[];\n.func (.param .b32 r) f (.param .b32 n)\n{\n.reg .b32 %r<3>;\nld.param.u32 %r1, [n];\n"
             "st.param.b32 [r], %r1;\nret;\n}\n.visible .entry k(.param .u64 a, .param .align 4 .b8 s[12])\n.maxntid 128\n{\n.local .align 4 .b8 l[8];\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<5>;\n"
             "T: .branchtargets A, B;\n.loc 1 3 4, function_name x, inlined_at 1 2 3\nld.param.u64 %rd1, [a];\nmov.u64 %rd2, dyn;\nsetp.lt.and.u32 %p1|%p2, %r1, 5, !%p1;\n@!%p1 bra A;\n"
             "{ .reg .b32 x; W: mov.b64 {x, _}, %rd1; @%p2 bra W; }\nbrx.idx %r1, T;\nA:\n{\n.param .b32 q;\n.param .b32 v;\nst.param.b32 [q], 0f3F800000;\ncall.uni (v), f, (q);\n}\nB:\n"
             "st.global.v2.u32 [%rd1+-8], {%r1, 0x1F};\nshfl.sync.up.b32 %r2|%p1, %r1, 1, 0, -1;\natom.global.cas.b32 %r3, [%rd1], 0, 1;\nbar.sync 0, 64;\nret;\n}\n";
    kc_err_t err;
    vgpu_module_t *m = vgpu_module_load (text, sizeof (text) - 1, &err);
    assert_non_null (m);
    vgpu_module_destroy (&m);
    char copy[sizeof (text)];
    uint64_t state64 = 1;
    for (size_t cut = 0; cut < sizeof (text) - 1; cut++) {
        m = vgpu_module_load (text, cut, &err);
        vgpu_module_destroy (&m);
    }
    for (int k = 0; k < 3000; k++) {
        memcpy (copy, text, sizeof (text));
        for (int e = 0; e < 3; e++) {
            state64 = state64 * 6364136223846793005ull + 1442695040888963407ull;
            size_t at = (size_t)(state64 >> 33) % (sizeof (text) - 1);
            static const char bytes[] = "{}[](),;:.%@!|<>+-0123456789abxr_ \n\"";
            copy[at] = bytes[(state64 >> 20) % (sizeof (bytes) - 1)];
        }
        m = vgpu_module_load (copy, sizeof (text) - 1, &err);
        vgpu_module_destroy (&m);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_kernel_is_described_by_its_parameters_and_sizes),
        cmocka_unit_test (instructions_are_decoded_for_those_who_count_features),
        cmocka_unit_test (live_registers_are_counted_over_loops),
        cmocka_unit_test (writable_module_variables_are_told_from_tables_and_text),
        cmocka_unit_test (forbidden_things_are_reported_and_not_run),
        cmocka_unit_test (what_cannot_run_is_refused_with_instruction_and_line),
        cmocka_unit_test (wrong_text_is_answered_with_its_line),
        cmocka_unit_test (cut_and_damaged_text_never_breaks_the_parser),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
