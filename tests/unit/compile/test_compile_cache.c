// test_compile_cache.c - the cache and the parent's loop, with the clang front end

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "agents/gpu/compile/kc_compile_int.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"
#include "compile_help.h"

static int s_open (void **state)
{
    *state = help_open (KC_FRONT_CLANG, NULL, true);
    return 0;
}

static int s_close (void **state)
{
    help_close ((help_t **)state);
    return 0;
}

static char *s_source (int i)
{
    return kc_asprintf (
        "extern \"C\" __global__ void k (float *x) { x[threadIdx.x] += %d.5f; }\n", i);
}

static kc_compile_job_t s_job (const char *source)
{
    static const char *const name = "k";
    return (kc_compile_job_t){
        .source = source, .kernels = &name, .n_kernels = 1, .sm = 90, .want_ptx = true};
}

static void the_second_time_comes_from_the_cache (void **state)
{
    help_t *h = *state;
    char *source = s_source (1);
    kc_compile_job_t job = s_job (source);
    kc_compiled_t *a = kc_compiler_run (h->compiler, &job),
                  *b = kc_compiler_run (h->compiler, &job);
    help_expect_ok (a);
    assert_false (a->cached);
    assert_true (b->cached);
    assert_string_equal (a->ptx, b->ptx);
    assert_string_equal (a->kernels[0].symbol, b->kernels[0].symbol);
    kc_compiled_destroy (&a);
    kc_compiled_destroy (&b);
    job.no_fmad = true; // everything that matters is in the key
    a = kc_compiler_run (h->compiler, &job);
    assert_false (a->cached);
    kc_compiled_destroy (&a);
    free (source);
}

static void keys_differ_by_everything_a_result_depends_on (void **state)
{
    help_t *h = *state;
    static const char *const one[] = {"k"}, *const two[] = {"k", "l"};
    const kc_compile_job_t jobs[] = {
        {.source = "a", .sm = 90},
        {.source = "b", .sm = 90},
        {.source = "a", .constants = "", .sm = 90},
        {.source = "a", .constants = "b", .sm = 90},
        {.source = "a", .sm = 80},
        {.source = "a", .sm = 90, .want_ptx = true},
        {.source = "a", .sm = 90, .want_cubin = true},
        {.source = "a", .sm = 90, .printf_on = true},
        {.source = "a", .sm = 90, .fast_math = true},
        {.source = "a", .sm = 90, .cxx20 = true},
        {.source = "a", .sm = 90, .max_registers = 32},
        {.source = "a", .sm = 90, .kernels = one, .n_kernels = 1},
        {.source = "a", .sm = 90, .kernels = two, .n_kernels = 2},
    };
    char hex[KC_COUNT (jobs)][KC_SHA_HEX];
    for (size_t i = 0; i < KC_COUNT (jobs); i++) {
        kc_compiler_key (h->compiler, &jobs[i], hex[i]);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal (hex[i], hex[k]);
    }
}

static void errors_are_cached_too (void **state)
{
    help_t *h = *state;
    const kc_compile_job_t job =
        s_job ("extern \"C\" __global__ void k (float *x) { x[0] = oops; }\n");
    for (int i = 0; i < 2; i++) {
        kc_compiled_t *c = kc_compiler_run (h->compiler, &job);
        assert_int_equal (c->status, KC_VERDICT_STATUS_COMPILE_ERROR);
        assert_int_equal (c->cached, i == 1);
        help_expect_finding (c, "oops", 1);
        kc_compiled_destroy (&c);
    }
}

static char *s_entry (help_t *h, const kc_compile_job_t *job)
{
    char hex[KC_SHA_HEX];
    kc_compiler_key (h->compiler, job, hex);
    return kc_asprintf ("%s/cache/cubin/%.2s/%s", h->dir, hex, hex);
}

static void a_corrupt_entry_is_dropped_and_made_again (void **state)
{
    help_t *h = *state;
    char *source = s_source (2);
    const kc_compile_job_t job = s_job (source);
    kc_compiled_t *c = kc_compiler_run (h->compiler, &job);
    help_expect_ok (c);
    kc_compiled_destroy (&c);
    char *path = s_entry (h, &job);
    struct stat st;
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (st.st_mode & 0777, 0600);
    for (int damage = 0; damage < 3; damage++) {
        size_t size;
        char *data = kc_fs_read (path, 1 << 24, &size, NULL);
        assert_non_null (data);
        if (damage == 0)
            data[size / 2] ^= 1;
        assert_int_equal (kc_fs_write (path, data,
                                       damage == 1   ? size / 2
                                       : damage == 2 ? 0
                                                     : size,
                                       0600, false, NULL),
                          0);
        free (data);
        c = kc_compiler_run (h->compiler, &job);
        help_expect_ok (c);
        assert_false (c->cached);
        kc_compiled_destroy (&c);
        c = kc_compiler_run (h->compiler, &job);
        assert_true (c->cached);
        kc_compiled_destroy (&c);
    }
    free (path);
    free (source);
}

static void what_depends_on_the_machine_is_not_cached (void **state)
{
    (void)state;
    help_t *h = help_open (KC_FRONT_CLANG, "ulimit -t 1", true);
    const kc_compile_job_t job = s_job (
        "template <int N, unsigned long M> struct B { B<N - 1, 2 * M> a; B<N - 1, 2 * "
        "M + 1> b; };\n"
        "template <unsigned long M> struct B<0, M> { char c; };\n"
        "extern \"C\" __global__ void k (int *x) { x[0] = sizeof (B<40, 0>); }\n");
    kc_compiled_t *c = kc_compiler_run (h->compiler, &job);
    assert_int_equal (c->status, KC_VERDICT_STATUS_TIMEOUT);
    kc_compiled_destroy (&c);
    char *path = s_entry (h, &job);
    assert_false (kc_fs_exists (path));
    free (path);
    help_close (&h);
}

static void the_least_recently_used_entries_go_first (void **state)
{
    help_t *h = *state;
    char *dir = kc_fs_join (h->dir, "lru");
    kc_compile_cache_t *cache = kc_compile_cache_new (dir, 40000, NULL);
    kc_compiled_t *c = kc_compiled_new ();
    c->compiler = kc_strdup ("x");
    c->ptx = (char *)kc_calloc (1, 10001);
    memset (c->ptx, 'a', 10000);
    c->ptx_size = 10000;
    char keys[6][KC_SHA_HEX];
    for (int i = 0; i < 6; i++) {
        kc_sha256_hex (&i, sizeof i, keys[i]);
        kc_compile_cache_put (cache, keys[i], c);
        char *path = kc_asprintf ("%s/%.2s/%s", dir, keys[i], keys[i]);
        const struct timespec times[2] = {{.tv_sec = 1000000 + i},
                                          {.tv_sec = 1000000 + i}};
        assert_int_equal (utimensat (AT_FDCWD, path, times, 0), 0);
        free (path);
    }
    kc_compiled_t *used = kc_compile_cache_get (cache, keys[0]); // now the youngest
    assert_non_null (used);
    kc_compiled_destroy (&used);
    assert_int_equal (kc_compile_cache_trim (cache, 2), 2); // a slice
    assert_int_equal (kc_compile_cache_trim (cache, 100), 1);
    assert_int_equal (kc_compile_cache_trim (cache, 100), 0);
    for (int i = 0; i < 6; i++) {
        used = kc_compile_cache_get (cache, keys[i]);
        assert_int_equal (used != NULL, i == 0 || i > 3);
        kc_compiled_destroy (&used);
    }
    kc_compiled_destroy (&c);
    kc_compile_cache_destroy (&cache);
    free (dir);
}

typedef struct s_wait {
    kc_loop_t *loop;
    int left, ok;
    int64_t order[16];
    int n;
} s_wait_t;

static void s_on_result (kc_compiled_t *result, void *arg)
{
    s_wait_t *w = (s_wait_t *)arg;
    w->ok += result->status == KC_VERDICT_STATUS_OK;
    kc_compiled_destroy (&result);
    if (--w->left == 0)
        kc_loop_stop (w->loop);
}

static void s_on_late (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)timer;
    (void)arg;
    kc_loop_stop (loop);
}

static void jobs_on_a_loop_are_answered_each_once (void **state)
{
    help_t *h = *state;
    kc_err_t err;
    s_wait_t w = {.loop = kc_loop_new (&err), .left = 8};
    assert_non_null (w.loop);
    int64_t cancelled[2] = {0};
    for (int i = 0; i < 9; i++) {
        char *source = s_source (
            i < 2 ? 100 : 100 + i); // the second may find the first in the cache
        const kc_compile_job_t job = s_job (source);
        int64_t ticket = kc_compiler_start (h->compiler, w.loop, &job, s_on_result, &w);
        assert_true (ticket > 0);
        if (i == 0 || i == 8) // one running, one waiting
            cancelled[i == 8] = ticket;
        free (source);
    }
    const kc_compile_job_t wrong = {.source = "", .sm = 90, .want_ptx = true};
    kc_compiler_start (h->compiler, w.loop, &wrong, s_on_result, &w);
    kc_compiler_cancel (h->compiler, cancelled[0]);
    kc_compiler_cancel (h->compiler, cancelled[1]);
    kc_compiler_cancel (h->compiler, 987654321);
    kc_loop_timer_add (w.loop, 60000, 0, s_on_late, NULL);
    assert_int_equal (kc_loop_run (w.loop, &err), 0);
    assert_int_equal (w.left, 0);
    assert_int_equal (w.ok, 7);
    kc_loop_destroy (&w.loop);
}

static void a_compiler_that_goes_kills_what_runs (void **state)
{
    (void)state;
    help_t *h = help_open (KC_FRONT_CLANG, NULL, true);
    kc_err_t err;
    s_wait_t w = {.loop = kc_loop_new (&err), .left = 1};
    char *source = s_source (500);
    const kc_compile_job_t job = s_job (source);
    kc_compiler_start (h->compiler, w.loop, &job, s_on_result, &w);
    kc_compiler_destroy (&h->compiler);
    assert_int_equal (w.left, 1);
    char *tmp = kc_fs_join (h->dir, "cache/tmp");
    assert_int_equal (rmdir (tmp), 0); // the private folder is gone
    free (tmp);
    free (source);
    kc_loop_destroy (&w.loop);
    help_close (&h);
}

static void a_missing_compiler_is_told_with_the_places (void **state)
{
    help_t *h = *state;
    kc_err_t err;
    const kc_compiler_config_t none = {
        .runner = h->runner, .front = KC_FRONT_CLANG, .clang = "/no/such/clang"};
    assert_null (kc_compiler_new (&none, &err));
    assert_int_equal (err.code, KC_EUNSUPPORTED);
    assert_non_null (strstr (err.text, "/no/such/clang"));
    const kc_compiler_config_t no_child = {.runner = "/no/such/kc-runner"};
    assert_null (kc_compiler_new (&no_child, &err));
    assert_non_null (strstr (err.text, "/no/such/kc-runner"));
    const kc_compiler_config_t broken = {.runner = "/bin/false",
                                         .front = KC_FRONT_CLANG};
    assert_null (kc_compiler_new (&broken, &err));
    assert_non_null (strstr (err.text, "exit code 1"));
}

static void the_version_names_compiler_and_prelude (void **state)
{
    help_t *h = *state;
    const char *version = kc_compiler_version (h->compiler);
    assert_non_null (strstr (version, "clang "));
    assert_non_null (strstr (version, "format "));
    assert_int_equal (kc_compiler_front (h->compiler), KC_FRONT_CLANG);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (the_second_time_comes_from_the_cache),
        cmocka_unit_test (keys_differ_by_everything_a_result_depends_on),
        cmocka_unit_test (errors_are_cached_too),
        cmocka_unit_test (a_corrupt_entry_is_dropped_and_made_again),
        cmocka_unit_test (what_depends_on_the_machine_is_not_cached),
        cmocka_unit_test (the_least_recently_used_entries_go_first),
        cmocka_unit_test (jobs_on_a_loop_are_answered_each_once),
        cmocka_unit_test (a_compiler_that_goes_kills_what_runs),
        cmocka_unit_test (a_missing_compiler_is_told_with_the_places),
        cmocka_unit_test (the_version_names_compiler_and_prelude),
    };
    return cmocka_run_group_tests (tests, s_open, s_close);
}
