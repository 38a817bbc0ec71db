// test_vgpu_memory.c - spaces, vectors, widths, bounds and what is said when they are left

#include "tests/unit/vgpu/vgpu_fixture.h"

#define ENTRY ".param .u64 a, .param .u64 b"
#define POINTERS "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nmov.u32 %r1, %tid.x;\n"
// %rd3 = a + tid * scale, %rd4 = b + tid * scale
#define LANE(scale) POINTERS "mul.wide.u32 %rd5, %r1, " #scale ";\nadd.s64 %rd3, %rd1, %rd5;\nadd.s64 %rd4, %rd2, %rd5;\n"

static vt_t *s_xy (const char *body)
{
    vt_t *t = vt_new (ENTRY, body);
    vt_arg64 (t, VT_X);
    vt_arg64 (t, VT_Y);
    for (int i = 0; i < VT_BYTES; i++)
        t->x[i] = (uint8_t)(i * 37 + 11);
    return t;
}

static void a_copy_moves_every_byte_and_is_counted (void **state)
{
    (void)state;
    vt_t *t = s_xy (LANE (4) "ld.global.u32 %r2, [%rd3];\nst.global.u32 [%rd4], %r2;");
    vt_ok (t, 1, 256);
    assert_memory_equal (t->x, t->y, 1024);
    assert_int_equal (t->y[1024], 0);
    assert_int_equal (t->c.global_load_requests, 8);
    assert_int_equal (t->c.global_load_sectors, 32);
    assert_int_equal (t->c.global_load_bytes, 1024);
    assert_int_equal (t->c.global_load_used, 1024);
    assert_int_equal (t->c.global_store_sectors, 32);
    assert_int_equal (t->c.traffic[0].unique_read, 32);
    assert_int_equal (t->c.traffic[1].unique_written, 32);
    assert_int_equal (t->c.threads, 256);
    assert_int_equal (t->c.warps, 8);
    vt_destroy (&t);
}

static void strided_loads_cost_a_sector_a_lane (void **state)
{
    (void)state;
    vt_t *t = s_xy (LANE (64) "ld.global.u32 %r2, [%rd3];\nst.global.u32 [%rd4], %r2;");
    vt_ok (t, 1, 32);
    assert_int_equal (t->c.global_load_sectors, 32);
    assert_int_equal (t->c.global_load_used, 128);
    for (int i = 0; i < 32; i++)
        assert_memory_equal (t->x + 64 * i, t->y + 64 * i, 4);
    vt_destroy (&t);
}

static void vectors_of_every_width_arrive_in_order (void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int bytes;
    } cases[] = {
        {LANE (2) "ld.global.v2.u8 {%h1,%h2}, [%rd3];\nst.global.v2.u8 [%rd4], {%h1,%h2};", 2},
        {LANE (4) "ld.global.v4.u8 {%h1,%h2,%h3,%h4}, [%rd3];\nst.global.v4.u8 [%rd4], {%h1,%h2,%h3,%h4};", 4},
        {LANE (4) "ld.global.v2.u16 {%h1,%h2}, [%rd3];\nst.global.v2.u16 [%rd4], {%h1,%h2};", 4},
        {LANE (8) "ld.global.v2.f32 {%f1,%f2}, [%rd3];\nst.global.v2.f32 [%rd4], {%f1,%f2};", 8},
        {LANE (16) "ld.global.v4.f32 {%f1,%f2,%f3,%f4}, [%rd3];\nst.global.v4.f32 [%rd4], {%f1,%f2,%f3,%f4};", 16},
        {LANE (16) "ld.global.nc.v4.u32 {%r5,%r6,%r7,%r8}, [%rd3];\nst.global.v4.u32 [%rd4], {%r5,%r6,%r7,%r8};", 16},
        {LANE (16) "ld.global.v2.u64 {%rd7,%rd8}, [%rd3];\nst.global.v2.u64 [%rd4], {%rd7,%rd8};", 16},
        {LANE (16) "ld.global.v2.f64 {%fd7,%fd8}, [%rd3];\nst.global.v2.f64 [%rd4], {%fd7,%fd8};", 16},
        {LANE (8) "ld.global.u64 %rd7, [%rd3];\nst.global.u64 [%rd4], %rd7;", 8},
        {LANE (1) "ld.global.u8 %h1, [%rd3];\nst.global.u8 [%rd4], %h1;", 1},
        {LANE (2) "ld.global.b16 %h1, [%rd3];\nst.global.b16 [%rd4], %h1;", 2},
    };
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++)
        for (uint32_t threads = 20; threads <= 64; threads += 44) {
            vt_t *t = s_xy (cases[i].body);
            vt_ok (t, 1, threads);
            assert_memory_equal (t->x, t->y, (size_t)cases[i].bytes * threads);
            assert_int_equal (t->y[(size_t)cases[i].bytes * threads], 0);
            assert_int_equal (t->c.global_load_bytes, (uint64_t)cases[i].bytes * threads);
            vt_destroy (&t);
        }
}

static void narrow_loads_extend_by_sign (void **state)
{
    (void)state;
    vt_t *t = s_xy (LANE (1) "ld.global.s8 %r2, [%rd3];\nmul.wide.u32 %rd5, %r1, 16;\nadd.s64 %rd4, %rd2, %rd5;\n"
                             "st.global.u32 [%rd4], %r2;\nld.global.u8 %r2, [%rd3];\nst.global.u32 [%rd4+4], %r2;\n"
                             "ld.global.s8 %rd9, [%rd3];\nst.global.u64 [%rd4+8], %rd9;");
    vt_ok (t, 1, 64);
    for (int i = 0; i < 64; i++) {
        int32_t s;
        uint32_t u;
        int64_t l;
        memcpy (&s, t->y + 16 * i, 4);
        memcpy (&u, t->y + 16 * i + 4, 4);
        memcpy (&l, t->y + 16 * i + 8, 8);
        assert_int_equal (s, (int8_t)t->x[i]);
        assert_int_equal (u, t->x[i]);
        assert_true (l == (int8_t)t->x[i]);
    }
    vt_destroy (&t);
}

static void an_access_past_the_end_names_everything (void **state)
{
    (void)state;
    vt_t *t = s_xy (".loc 1 41 0\n" LANE (4) "ld.global.u32 %r2, [%rd3];\n.loc 1 42 0\nst.global.u32 [%rd4], %r2;");
    t->buffers[1].size = 100;
    assert_int_equal (vt_run (t, 1, 64), -1);
    assert_int_equal (t->f.status, VGPU_OUT_OF_BOUNDS);
    assert_int_equal (t->f.line, 42);
    assert_int_equal (t->f.thread[0], 25);
    assert_int_equal (t->f.distance, 4);
    assert_true (t->f.is_write);
    assert_string_equal (t->f.buffer, "y");
    assert_string_equal (t->f.space, "global");
    assert_string_equal (t->f.text, "k: out of bounds: 4-byte store 4 bytes past the end of y (element 25; it has 25 elements of 4 "
                                    "bytes), line 42 (st.global.u32), block (0,0,0), thread (25,0,0)");
    vt_destroy (&t);
}

static void an_access_before_the_start_is_negative (void **state)
{
    (void)state;
    vt_t *t = s_xy (LANE (4) "ld.global.u32 %r2, [%rd3+-8];\nst.global.u32 [%rd4], %r2;");
    assert_int_equal (vt_run (t, 1, 32), -1);
    assert_int_equal (t->f.status, VGPU_OUT_OF_BOUNDS);
    assert_int_equal (t->f.distance, -8);
    assert_string_equal (t->f.buffer, "x");
    assert_false (t->f.is_write);
    assert_non_null (strstr (t->f.text, "4-byte load 8 bytes before the start of x (element -2;"));
    vt_destroy (&t);
}

static void a_null_pointer_is_called_one (void **state)
{
    (void)state;
    vt_t *t = s_xy (LANE (4) "mov.u64 %rd3, 0;\nld.global.u32 %r2, [%rd3+12];\nst.global.u32 [%rd4], %r2;");
    assert_int_equal (vt_run (t, 1, 32), -1);
    assert_non_null (strstr (t->f.text, "null pointer"));
    vt_destroy (&t);
}

static void misaligned_accesses_are_found (void **state)
{
    (void)state;
    vt_t *t = s_xy (LANE (4) "ld.global.v2.u32 {%r2,%r3}, [%rd3];\nst.global.u32 [%rd4], %r2;");
    assert_int_equal (vt_run (t, 1, 32), -1);
    assert_int_equal (t->f.status, VGPU_MISALIGNED);
    assert_int_equal (t->f.thread[0], 1);
    assert_non_null (strstr (t->f.text, "misaligned 8-byte load at x + 4 bytes"));
    vt_destroy (&t);
}

static void a_store_to_an_input_is_an_undeclared_write (void **state)
{
    (void)state;
    vt_t *t = s_xy (LANE (4) "st.global.u32 [%rd3], %r1;");
    assert_int_equal (vt_run (t, 1, 32), -1);
    assert_int_equal (t->f.status, VGPU_READ_ONLY);
    assert_string_equal (t->f.buffer, "x");
    assert_int_equal (t->x[0], 11);
    vt_destroy (&t);
}

static void shared_memory_is_bounded_by_static_and_dynamic_size (void **state)
{
    (void)state;
    const char *body = ".shared .align 4 .b8 s[128];\n" LANE (4) "mov.u32 %r4, s;\nshl.b32 %r5, %r1, 2;\nadd.u32 %r4, %r4, %r5;\n"
                       "st.shared.u32 [%r4], %r1;\nbar.sync 0;\nld.shared.u32 %r6, [%r4];\nst.global.u32 [%rd4], %r6;";
    vt_t *t = s_xy (body);
    vt_ok (t, 1, 32);
    assert_int_equal (t->y[4 * 31], 31);
    assert_int_equal (t->c.shared_wavefronts, 2);
    assert_int_equal (t->c.shared_conflicts, 0);
    assert_int_equal (vt_run (t, 1, 64), -1);
    assert_int_equal (t->f.status, VGPU_OUT_OF_BOUNDS);
    assert_int_equal (t->f.thread[0], 32);
    assert_string_equal (t->f.space, "shared");
    assert_string_equal (t->f.buffer, "shared memory");
    t->launch.dynamic_shared = 128;
    vt_ok (t, 1, 64);
    vt_destroy (&t);
}

static void bank_conflicts_are_counted_by_distinct_words (void **state)
{
    (void)state;
    static const struct {
        int scale, waves;
    } cases[] = {{4, 1}, {8, 2}, {16, 4}, {12, 1}, {128, 32}, {132, 1}, {0, 1}};
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        char body[512];
        snprintf (body, sizeof (body), ".shared .align 4 .b8 s[8192];\nmov.u32 %%r1, %%tid.x;\nmul.lo.u32 %%r2, %%r1, %d;\n"
                                       "mov.u32 %%r3, s;\nadd.u32 %%r3, %%r3, %%r2;\nld.shared.u32 %%r4, [%%r3];", cases[i].scale);
        vt_t *t = s_xy (body);
        vt_ok (t, 1, 32);
        assert_int_equal (t->c.shared_wavefronts, cases[i].waves);
        assert_int_equal (t->c.shared_conflicts, cases[i].waves - 1);
        vt_destroy (&t);
    }
}

static void wide_shared_accesses_take_a_pass_per_half_or_quarter (void **state)
{
    (void)state;
    vt_t *t = s_xy (".shared .align 16 .b8 s[1024];\nmov.u32 %r1, %tid.x;\nmul.lo.u32 %r2, %r1, 16;\nmov.u32 %r3, s;\n"
                    "add.u32 %r3, %r3, %r2;\nld.shared.v4.u32 {%r4,%r5,%r6,%r7}, [%r3];");
    vt_ok (t, 1, 32);
    assert_int_equal (t->c.shared_wavefronts, 4);
    assert_int_equal (t->c.shared_conflicts, 0);
    vt_destroy (&t);
}

static void local_arrays_are_private_to_a_thread (void **state)
{
    (void)state;
    vt_t *t = s_xy (".local .align 4 .b8 depot[16];\n" LANE (4)
                    "mov.u64 %rd6, depot;\ncvta.local.u64 %rd7, %rd6;\nst.local.u32 [%rd6+4], %r1;\nst.local.u32 [depot+8], 7;\n"
                    "ld.u32 %r2, [%rd7+4];\nld.local.u32 %r3, [%rd6+8];\nadd.u32 %r2, %r2, %r3;\nst.global.u32 [%rd4], %r2;");
    vt_ok (t, 1, 64);
    for (int i = 0; i < 64; i++)
        assert_int_equal (t->y[4 * i], i + 7);
    assert_int_equal (t->c.local_load_bytes, 64 * 8);
    vt_destroy (&t);
    t = s_xy (".local .align 4 .b8 depot[16];\nmov.u64 %rd6, depot;\nst.local.u32 [%rd6+16], 1;");
    assert_int_equal (vt_run (t, 1, 32), -1);
    assert_string_equal (t->f.space, "local");
    vt_destroy (&t);
}

static void generic_addresses_reach_every_space (void **state)
{
    (void)state;
    vt_t *t = s_xy (".shared .align 4 .b8 s[256];\n.local .align 4 .b8 l[8];\n" LANE (4)
                    "mov.u64 %rd6, s;\ncvta.shared.u64 %rd6, %rd6;\nmov.u64 %rd7, l;\ncvta.local.u64 %rd7, %rd7;\n"
                    "cvta.global.u64 %rd8, %rd4;\nst.u32 [%rd6], 5;\nst.u32 [%rd7], %r1;\n"
                    // even lanes read shared, odd ones local: one request over two spaces
                    "and.b32 %r3, %r1, 1;\nsetp.eq.u32 %p1, %r3, 0;\nselp.b64 %rd9, %rd6, %rd7, %p1;\nld.u32 %r4, [%rd9];\n"
                    "isspacep.shared %p2, %rd9;\n@%p2 add.u32 %r4, %r4, 1000;\nst.u32 [%rd8], %r4;\n"
                    "cvta.to.shared.u64 %rd10, %rd6;\nld.shared.u32 %r5, [%rd10];");
    vt_ok (t, 1, 32);
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t v;
        memcpy (&v, t->y + 4 * i, 4);
        assert_int_equal (v, i % 2 ? i : 1005);
    }
    vt_destroy (&t);
}

static void struct_parameters_can_be_indexed_at_run_time (void **state)
{
    (void)state;
    vt_t *t = vt_new (".param .align 4 .b8 s[24], .param .u64 b",
                      "ld.param.u64 %rd2, [b];\nmov.u32 %r1, %tid.x;\nmov.b64 %rd3, s;\nrem.u32 %r2, %r1, 6;\n"
                      "mul.wide.u32 %rd4, %r2, 4;\nadd.s64 %rd3, %rd3, %rd4;\nld.param.u32 %r3, [%rd3];\ncvta.param.u64 %rd7, %rd3;\n"
                      "ld.u32 %r4, [%rd7];\nadd.u32 %r3, %r3, %r4;\nld.param.v2.u32 {%r5,%r6}, [s+8];\nadd.u32 %r3, %r3, %r6;\n"
                      "mul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd6, %rd2, %rd5;\nst.global.u32 [%rd6], %r3;");
    for (uint32_t i = 0; i < 6; i++)
        vt_arg32 (t, 100 + i);
    vt_arg64 (t, VT_Y);
    vt_ok (t, 1, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal (t->y[4 * i] + 256 * t->y[4 * i + 1], 2 * (100 + i % 6) + 103);
    vt_destroy (&t);
}

static void constants_come_from_their_image_and_can_be_written (void **state)
{
    (void)state;
    vt_t *t = vt_from_text (".version 9.0\n.target sm_80\n.address_size 64\n.const .align 4 .b8 table[16] = {1,0,0,0,2,0,0,0,3};\n"
                            ".global .align 4 .u32 g[2] = {40, 41};\n.visible .entry k(.param .u64 b)\n{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n"
                            "ld.param.u64 %rd1, [b];\nld.const.u32 %r1, [table+4];\nst.global.u32 [%rd1], %r1;\nmov.u32 %r2, %tid.x;\n"
                            "mul.wide.u32 %rd2, %r2, 4;\nmov.u64 %rd3, table;\nadd.s64 %rd3, %rd3, %rd2;\nld.const.u32 %r3, [%rd3];\n"
                            "add.s64 %rd4, %rd1, %rd2;\nst.global.u32 [%rd4+16], %r3;\nld.global.u32 %r4, [g+4];\n"
                            "st.global.u32 [%rd4+64], %r4;\nret;\n}\n");
    vt_arg64 (t, VT_Y);
    uint32_t four = 4, read = 0;
    assert_int_equal (vgpu_symbol_write (t->m, "table", 12, &four, 4, &t->err), 0);
    assert_int_equal (vgpu_symbol_write (t->m, "table", 13, &four, 4, &t->err), -1);
    assert_int_equal (t->err.code, KC_EINVALID);
    assert_int_equal (vgpu_symbol_write (t->m, "nothing", 0, &four, 4, &t->err), -1);
    assert_int_equal (t->err.code, KC_ENOTFOUND);
    assert_int_equal (vgpu_symbol_read (t->m, "g", 0, &read, 4, &t->err), 0);
    assert_int_equal (read, 40);
    vt_ok (t, 1, 4);
    assert_int_equal (t->y[0], 2);
    for (int i = 0; i < 4; i++) {
        assert_int_equal (t->y[16 + 4 * i], i + 1);
        assert_int_equal (t->y[64 + 4 * i], 41);
    }
    assert_int_equal (vgpu_module_static (t->m)->forbidden & PTX_FORBIDDEN_WRITABLE, 0);
    vt_destroy (&t);
}

static void a_launch_that_cannot_be_is_refused_in_words (void **state)
{
    (void)state;
    vt_t *t = s_xy ("");
    assert_int_equal (vt_run (t, 1, 1025), -1);
    assert_int_equal (t->f.status, VGPU_BAD_LAUNCH);
    assert_non_null (strstr (t->f.text, "1025"));
    assert_int_equal (vt_run (t, 0, 32), -1);
    t->launch.params_size = 8;
    assert_int_equal (vt_run (t, 1, 32), -1);
    assert_string_equal (t->f.text, "k: 8 bytes of arguments; the kernel takes 16");
    t->launch.params_size = 16;
    t->launch.kernel = "q";
    assert_int_equal (vt_run (t, 1, 32), -1);
    assert_string_equal (t->f.text, "q: the module has no such kernel; it has k");
    t->launch.kernel = "k";
    t->buffers[1].base = VT_X + 64;
    assert_int_equal (vt_run (t, 1, 32), -1);
    assert_non_null (strstr (t->f.text, "overlap"));
    vt_destroy (&t);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_copy_moves_every_byte_and_is_counted),
        cmocka_unit_test (strided_loads_cost_a_sector_a_lane),
        cmocka_unit_test (vectors_of_every_width_arrive_in_order),
        cmocka_unit_test (narrow_loads_extend_by_sign),
        cmocka_unit_test (an_access_past_the_end_names_everything),
        cmocka_unit_test (an_access_before_the_start_is_negative),
        cmocka_unit_test (a_null_pointer_is_called_one),
        cmocka_unit_test (misaligned_accesses_are_found),
        cmocka_unit_test (a_store_to_an_input_is_an_undeclared_write),
        cmocka_unit_test (shared_memory_is_bounded_by_static_and_dynamic_size),
        cmocka_unit_test (bank_conflicts_are_counted_by_distinct_words),
        cmocka_unit_test (wide_shared_accesses_take_a_pass_per_half_or_quarter),
        cmocka_unit_test (local_arrays_are_private_to_a_thread),
        cmocka_unit_test (generic_addresses_reach_every_space),
        cmocka_unit_test (struct_parameters_can_be_indexed_at_run_time),
        cmocka_unit_test (constants_come_from_their_image_and_can_be_written),
        cmocka_unit_test (a_launch_that_cannot_be_is_refused_in_words),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
