// test_compile_wire.c - frames and cubins from a child that may lie: round trips, and
// random damage

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/gpu/compile/kc_compile_int.h"
#include "common/util/kc_mem.h"

enum { ROUNDS = 20000 };

// A small generator of our own: the same damage in every run.
static uint64_t s_next (uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static kc_compiled_t *s_result (void)
{
    kc_compiled_t *c = kc_compiled_new ();
    kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, 12, "first %d", 1);
    kc_compiled_kernel_of (c, "k<4>");
    kc_compiled_fix (c, "do this");
    kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, 0, "second");
    kc_compiled_note (c, "a note");
    kc_set (&c->log, "log text");
    c->ptx = kc_strdup (".version 9.0\n");
    c->ptx_size = strlen (c->ptx);
    c->cubin = kc_strdup ("\177ELF");
    c->cubin_size = 4;
    kc_kernel_facts_t *k =
        (kc_kernel_facts_t *)kc_push (&c->kernels, &c->n_kernels, sizeof *k);
    k->name = kc_strdup ("k<4>");
    k->symbol = kc_strdup ("_Z1k");
    k->registers = 32;
    k->shared_static = 1024;
    k->max_threads = 256;
    k->n_params = 2;
    k->params[1].offset = 8;
    k->params[1].size = 4;
    c->facts.tensor_tf32 = 3;
    c->facts.uses_smid = true;
    c->front = KC_FRONT_CLANG;
    c->compiler = kc_strdup ("clang 14");
    c->seconds = 0.25;
    return c;
}

static void results_come_back_as_they_went (void **state)
{
    (void)state;
    kc_compiled_t *c = s_result ();
    kc_buf_t a = {0}, b = {0};
    kc_compiled_put (&a, c);
    kc_compiled_t *d = kc_compiled_get (a.data, a.size, NULL);
    assert_non_null (d);
    kc_compiled_put (&b, d);
    assert_int_equal (a.size, b.size);
    assert_memory_equal (a.data, b.data, a.size);
    assert_int_equal (d->n_findings, 2);
    assert_int_equal (d->findings[0].line, 12);
    assert_string_equal (d->findings[0].kernel, "k<4>");
    assert_int_equal (d->kernels[0].params[1].offset, 8);
    assert_int_equal (d->facts.tensor_tf32, 3);
    kc_compiled_destroy (&c);
    kc_compiled_destroy (&d);
    kc_buf_free (&a);
    kc_buf_free (&b);
}

static void requests_come_back_as_they_went (void **state)
{
    (void)state;
    const char *const names[] = {"a", "b<2>"};
    kc_compile_request_t r = {.job = {.source = "source",
                                      .constants = NULL,
                                      .cxx20 = true,
                                      .no_fmad = true,
                                      .max_registers = 64,
                                      .kernels = names,
                                      .n_kernels = 2,
                                      .sm = 90,
                                      .want_cubin = true,
                                      .printf_on = true},
                              .front = KC_FRONT_NVRTC,
                              .tool = kc_strdup ("/lib/x.so"),
                              .tmp = kc_strdup ("/tmp/x")};
    kc_buf_t a = {0};
    kc_compile_request_put (&a, &r);
    kc_compile_request_t d;
    assert_int_equal (kc_compile_request_get (a.data, a.size, &d, NULL), 0);
    assert_string_equal (d.job.source, "source");
    assert_null (d.job.constants);
    assert_true (d.job.cxx20 && d.job.no_fmad && d.job.want_cubin && d.job.printf_on);
    assert_false (d.job.want_ptx || d.job.fast_math);
    assert_int_equal (d.job.max_registers, 64);
    assert_string_equal (d.job.kernels[1], "b<2>");
    kc_compile_request_clear (&d);
    free (r.tool);
    free (r.tmp);
    kc_buf_free (&a);
}

static void damaged_frames_are_refused_or_read_but_never_believed_blindly (void **state)
{
    (void)state;
    kc_compiled_t *c = s_result ();
    kc_buf_t a = {0};
    kc_compiled_put (&a, c);
    char *copy = (char *)kc_malloc (a.size);
    uint64_t seed = 7;
    int refused = 0;
    for (int i = 0; i < ROUNDS; i++) {
        memcpy (copy, a.data, a.size);
        size_t size = s_next (&seed) % 4 == 0 ? s_next (&seed) % a.size : a.size;
        for (uint64_t k = s_next (&seed) % 4 + (size == a.size); k > 0; k--)
            copy[s_next (&seed) % a.size] ^= (char)(1 << s_next (&seed) % 8);
        kc_compiled_t *d = kc_compiled_get (copy, size, NULL);
        refused += d == NULL;
        kc_compiled_destroy (&d);
    }
    assert_true (refused > ROUNDS / 4);
    free (copy);
    kc_buf_free (&a);
    kc_compiled_destroy (&c);
}

// ---- cubins ----

enum {
    EHDR = 64,
    SHDR = 64,
    SECTIONS = 6,
    NAMES_AT = EHDR,
    BODY_AT = 256,
    TABLE_AT = 512,
    ELF_SIZE = TABLE_AT + SECTIONS * SHDR
};

static void s_put (unsigned char *p, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        p[i] = (unsigned char)(v >> (8 * i));
}

// A cubin in small: code, constants, a symbol table that does not count, shared memory
// without bytes.
static void s_cubin (unsigned char elf[ELF_SIZE])
{
    static const char names[] =
        "\0.text.k\0.nv.constant0.k\0.symtab\0.nv.shared.k\0.shstrtab";
    memset (elf, 0, ELF_SIZE);
    memcpy (elf, "\177ELF\2\1\1", 7);
    s_put (elf + 18, 190, 2);
    s_put (elf + 40, TABLE_AT, 8);
    s_put (elf + 58, SHDR, 2);
    s_put (elf + 60, SECTIONS, 2);
    s_put (elf + 62, 5, 2);
    memcpy (elf + NAMES_AT, names, sizeof names);
    static const struct {
        uint64_t name, type, at, size;
    } sections[SECTIONS] = {{0, 0, 0, 0},
                            {1, 1, BODY_AT, 32},
                            {9, 1, BODY_AT + 32, 16},
                            {25, 2, BODY_AT + 48, 24},
                            {33, 8, 1u << 30, 4096},
                            {46, 3, NAMES_AT, sizeof names}};
    for (int i = 0; i < SECTIONS; i++) {
        unsigned char *h = elf + TABLE_AT + i * SHDR;
        s_put (h, sections[i].name, 4);
        s_put (h + 4, sections[i].type, 4);
        s_put (h + 24, sections[i].at, 8);
        s_put (h + 32, sections[i].size, 8);
    }
    for (int i = 0; i < 72; i++)
        elf[BODY_AT + i] = (unsigned char)i;
}

static int s_hash (const unsigned char *elf, size_t size, char hex[KC_SHA_HEX],
                   kc_err_t *err)
{
    union {
        const unsigned char *in;
        void *out;
    } u = {.in = elf};
    const kc_compiled_t c = {.cubin = u.out, .cubin_size = size};
    return kc_code_hash ("plan", &c, hex, err);
}

static void a_cubins_hash_covers_code_and_constants_only (void **state)
{
    (void)state;
    unsigned char elf[ELF_SIZE];
    char base[KC_SHA_HEX], other[KC_SHA_HEX];
    s_cubin (elf);
    assert_int_equal (s_hash (elf, sizeof elf, base, NULL), 0);
    elf[BODY_AT + 50] ^= 1; // the symbol table
    assert_int_equal (s_hash (elf, sizeof elf, other, NULL), 0);
    assert_string_equal (base, other);
    elf[BODY_AT + 3] ^= 1; // code
    assert_int_equal (s_hash (elf, sizeof elf, other, NULL), 0);
    assert_string_not_equal (base, other);
    s_cubin (elf);
    elf[BODY_AT + 33] ^= 1; // constants
    assert_int_equal (s_hash (elf, sizeof elf, other, NULL), 0);
    assert_string_not_equal (base, other);
    s_cubin (elf);
    elf[TABLE_AT + 4 * SHDR + 33] ^= 1; // size of the shared memory
    assert_int_equal (s_hash (elf, sizeof elf, other, NULL), 0);
    assert_string_not_equal (base, other);
}

static void what_is_no_cubin_is_refused_in_words (void **state)
{
    (void)state;
    unsigned char elf[ELF_SIZE];
    char hex[KC_SHA_HEX];
    kc_err_t err;
    s_cubin (elf);
    assert_int_equal (s_hash ((const unsigned char *)".version 9.0", 12, hex, &err),
                      -1);
    assert_non_null (strstr (err.text, "ELF"));
    s_put (elf + 18, 62, 2);
    assert_int_equal (s_hash (elf, sizeof elf, hex, &err), -1);
    assert_non_null (strstr (err.text, "CUDA device"));
    s_cubin (elf);
    s_put (elf + TABLE_AT + SHDR + 24, UINT64_MAX - 4, 8);
    assert_int_equal (s_hash (elf, sizeof elf, hex, &err), -1);
    assert_non_null (strstr (err.text, "outside"));
}

static void damaged_cubins_never_lead_outside (void **state)
{
    (void)state;
    unsigned char elf[ELF_SIZE];
    uint64_t seed = 11;
    for (int i = 0; i < ROUNDS; i++) {
        s_cubin (elf);
        for (uint64_t k = s_next (&seed) % 6 + 1; k > 0; k--) {
            size_t at = s_next (&seed) % 2
                            ? s_next (&seed) % EHDR
                            : TABLE_AT + s_next (&seed) % (SECTIONS * SHDR);
            elf[at] = (unsigned char)s_next (&seed);
        }
        size_t size = s_next (&seed) % 3 ? ELF_SIZE : s_next (&seed) % ELF_SIZE + 1;
        unsigned char *exact =
            (unsigned char *)kc_malloc (size); // a sanitizer sees one byte too far
        memcpy (exact, elf, size);
        char hex[KC_SHA_HEX];
        s_hash (exact, size, hex, NULL);
        free (exact);
    }
}

static void ptx_is_hashed_without_what_does_not_run (void **state)
{
    (void)state;
    static const char *const texts[] = {
        ".version 7.5\n.visible .entry k()\n{\n\t.loc\t1 3 4\n\tmov.u32 %r1, 0; // "
        "here\n\tret;\n}\n\t.section .debug_x\n\t{\n.b8 1\n}\n",
        "// Generated\n.version 7.5\n.visible .entry k()\n{\n\t.loc\t1 9 "
        "4\nLtmp0:\n\tmov.u32 %r1, 0;\n\n\tret;\n}\n\t.file 1 \"p\"\n\t.section "
        ".debug_x {\t}\n",
        ".version 7.5\n.visible .entry k()\n{\n\tmov.u32 %r1, 1;\n\tret;\n}\n"};
    char hex[3][KC_SHA_HEX];
    for (size_t i = 0; i < 3; i++) {
        kc_compiled_t c = {.ptx = kc_strdup (texts[i])};
        assert_int_equal (kc_code_hash (NULL, &c, hex[i], NULL), 0);
        free (c.ptx);
    }
    assert_string_equal (hex[0], hex[1]);
    assert_string_not_equal (hex[0], hex[2]);
}

static void the_include_tree_is_whole (void **state)
{
    (void)state;
    size_t n;
    const kc_prelude_file_t *files = kc_prelude_files (&n);
    assert_true (n > 60);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal (strlen (files[i].text), files[i].size);
        assert_true (files[i].size > 0);
        if (!files[i].alias)
            continue;
        const char *target = strchr (files[i].text, '"') + 1;
        assert_non_null (kc_prelude_find (target, strcspn (target, "\"")));
    }
    assert_non_null (kc_prelude_find ("kc_base.h", 9));
    assert_null (kc_prelude_find ("kc_base.hx", 10));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (results_come_back_as_they_went),
        cmocka_unit_test (requests_come_back_as_they_went),
        cmocka_unit_test (
            damaged_frames_are_refused_or_read_but_never_believed_blindly),
        cmocka_unit_test (a_cubins_hash_covers_code_and_constants_only),
        cmocka_unit_test (what_is_no_cubin_is_refused_in_words),
        cmocka_unit_test (damaged_cubins_never_lead_outside),
        cmocka_unit_test (ptx_is_hashed_without_what_does_not_run),
        cmocka_unit_test (the_include_tree_is_whole),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
