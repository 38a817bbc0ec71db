// The cuda backend against the fake driver: opening, memory, plans, errors.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "agents/gpu/cuda/cuda_dev.h"
#include "agents/gpu/judge/kc_philox.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_hash.h"
#include "common/util/kc_mem.h"
#include "tests/gpu/selftest/plan_make.h"
#include "tests/unit/cuda/fake_driver.h"

enum { N = 1000 };

// ---- the candidate's kernels, on the host ----

static float *s_floats (void *const *params, int i)
{
    float *p;
    memcpy (&p, params[i], sizeof p);
    return p;
}

static void s_scale (void **params, const unsigned *grid, const unsigned *block)
{
    (void)grid, (void)block;
    const float *x = s_floats (params, 0);
    float *y = s_floats (params, 1), f;
    int32_t n;
    memcpy (&f, params[2], sizeof f);
    memcpy (&n, params[3], sizeof n);
    for (int32_t i = 0; i < n; i++)
        y[i] = x[i] * f;
}

static void s_write_at (void **params, const unsigned *grid, const unsigned *block)
{
    (void)grid, (void)block;
    int64_t at;
    memcpy (&at, params[1], sizeof at);
    s_floats (params, 0)[at] = 1.0f;
}

static void s_write_const (void **params, const unsigned *grid, const unsigned *block)
{
    (void)grid, (void)block;
    s_floats (params, 0)[7] = 3.0f;
    s_floats (params, 1)[0] = 1.0f;
}

static void s_nothing (void **params, const unsigned *grid, const unsigned *block)
{
    (void)params, (void)grid, (void)block;
}

static const kc_fake_kernel_t s_kernels[] = {
    {.name = "scale",
     .run = s_scale,
     .n_params = 4,
     .sizes = {8, 8, 4, 4},
     .registers = 12,
     .us = 5},
    {.name = "write_at", .run = s_write_at, .n_params = 2, .sizes = {8, 8}, .us = 1},
    {.name = "write_const",
     .run = s_write_const,
     .n_params = 2,
     .sizes = {8, 8},
     .us = 1},
    {.name = "fault",
     .run = s_nothing,
     .n_params = 1,
     .sizes = {8},
     .error = KC_CUDA_ERROR_ILLEGAL_ADDRESS},
    {.name = "trap",
     .run = s_nothing,
     .n_params = 1,
     .sizes = {8},
     .error = KC_CUDA_ERROR_LAUNCH_FAILED},
    {.name = "hang", .run = s_nothing, .n_params = 1, .sizes = {8}, .forever = true},
    {.name = "small",
     .run = s_nothing,
     .n_params = 1,
     .sizes = {8},
     .max_threads = 256,
     .shared = 1024},
};

// ---- helpers ----

static const unsigned char s_cubin[64] = {0x7f, 'E', 'L', 'F', [18] = 190};

typedef struct world {
    kc_dev_t *dev;
    kc_dev_code_t *code;
    kc_plan_t *plan;
    kc_dev_arena_t *arena;
    kc_dev_finding_t finding;
    kc_err_t err;
} world_t;

static const kc_dev_limits_t s_limits = {.seconds = 0.05};

static int s_open (world_t *w)
{
    const kc_dev_config_t config = {0};
    memset (w, 0, sizeof *w);
    kc_fake.kernels = s_kernels;
    kc_fake.n_kernels = KC_COUNT (s_kernels);
    w->dev = kc_cuda_open_with (kc_fake_api (), &config, &w->err);
    if (!w->dev)
        return -1;
    const kc_dev_binary_t binary = {.data = s_cubin, .size = sizeof s_cubin};
    w->code = w->dev->ops->load (w->dev, &binary, &w->finding);
    return w->code ? 0 : -1;
}

static int s_lay_out (world_t *w, uint64_t seed)
{
    const kc_dev_layout_t layout = {.seed = seed};
    w->arena = w->dev->ops->arena (w->dev, w->plan, &layout, &w->err);
    return w->arena ? 0 : -1;
}

static void s_close (world_t *w)
{
    if (w->arena)
        w->dev->ops->arena_free (w->dev, w->arena);
    if (w->code)
        w->dev->ops->unload (w->dev, w->code);
    if (w->dev)
        w->dev->ops->destroy (w->dev);
    kc_pm_free (&w->plan);
}

static int s_run (world_t *w, bool audit)
{
    const kc_dev_contestant_t who = {
        .code = w->code, .plan = w->plan, .arena = w->arena};
    return w->dev->ops->run (w->dev, &who, audit, &s_limits, &w->finding);
}

static int s_setup (void **state)
{
    (void)state;
    kc_fake_reset ();
    return 0;
}

static int s_teardown (void **state)
{
    (void)state;
    kc_fake_reset ();
    return 0;
}

// x -> scale -> s, fill z, copy s -> y, table to the constant, scale again.
static kc_plan_t *s_chain (void)
{
    kc_plan_t *p = kc_pm_new ();
    int x = kc_pm_buffer (p, "x", KC_ROLE_INPUT, KC_PROGRAM_DTYPE_F32, N);
    int s = kc_pm_buffer (p, "s", KC_ROLE_SCRATCH, KC_PROGRAM_DTYPE_F32, N);
    int y = kc_pm_buffer (p, "y", KC_ROLE_OUTPUT, KC_PROGRAM_DTYPE_F32, N);
    int z = kc_pm_buffer (p, "z", KC_ROLE_OUTPUT, KC_PROGRAM_DTYPE_U16, 33);
    int k = kc_pm_kernel (p, "scale");
    kc_pm_arg_t one[] = {kc_pm_in (x), kc_pm_out (s), kc_pm_f32 (2), kc_pm_i32 (N)};
    kc_pm_arg_t two[] = {kc_pm_in (s), kc_pm_out (y), kc_pm_f32 (0.5f),
                         kc_pm_i32 (N / 2)};
    kc_pm_launch (p, k, 4, 256, 0, 4, one);
    kc_pm_fill (p, z, 0xbeef, 2);
    kc_pm_copy (p, y, s, N * 4);
    kc_pm_copy (p, -1, x, 16)->symbol = kc_strdup ("table");
    kc_pm_launch (p, k, 4, 256, 0, 4, two);
    return p;
}

static kc_plan_t *s_single (const char *kernel, size_t n_args, const kc_pm_arg_t *more)
{
    kc_plan_t *p = kc_pm_new ();
    int y = kc_pm_buffer (p, "y", KC_ROLE_OUTPUT, KC_PROGRAM_DTYPE_F32, N);
    kc_pm_arg_t args[2] = {kc_pm_out (y)};
    if (n_args > 1)
        args[1] = *more;
    kc_pm_launch (p, kc_pm_kernel (p, kernel), 4, 256, 0, n_args, args);
    return p;
}

// ---- opening ----

static void opening_loads_eagerly_and_tells_the_facts (void **state)
{
    (void)state;
    world_t w;
    assert_int_equal (s_open (&w), 0);
    assert_int_equal (kc_fake_count ("init-eager"), 1);
    assert_string_equal (w.dev->info.backend, "cuda");
    assert_string_equal (w.dev->info.gpu, "Fake GPU 0");
    assert_string_equal (w.dev->info.uuid, "GPU-abababab-abab-abab-abab-ababababab00");
    assert_int_equal (w.dev->info.facts.sm, 90);
    assert_int_equal (w.dev->info.facts.sms, 4);
    assert_int_equal (w.dev->info.facts.shared_block, 232448);
    // 3201 MHz, both edges, 6144 bits
    assert_true (w.dev->info.bandwidth > 4.91e12 && w.dev->info.bandwidth < 4.92e12);
    assert_false (w.dev->info.estimate);
    s_close (&w);
    assert_int_equal (kc_fake_leaks (), 0);
}

static void a_gpu_is_chosen_by_index_or_uuid (void **state)
{
    (void)state;
    kc_err_t err = {0};
    kc_dev_config_t config = {.gpu = "1"};
    kc_dev_t *dev = kc_cuda_open_with (kc_fake_api (), &config, &err);
    assert_string_equal (dev->info.gpu, "Fake GPU 1");
    kc_dev_close (&dev);
    config.gpu = "GPU-abababab-abab-abab-abab-ababababab01";
    dev = kc_cuda_open_with (kc_fake_api (), &config, &err);
    assert_string_equal (dev->info.gpu, "Fake GPU 1");
    kc_dev_close (&dev);
    static const char *const wrong[] = {"2", "-1", "1x",
                                        "GPU-00000000-0000-0000-0000-000000000000"};
    for (size_t i = 0; i < KC_COUNT (wrong); i++) {
        config.gpu = wrong[i];
        assert_null (kc_cuda_open_with (kc_fake_api (), &config, &err));
        assert_int_equal (err.code, KC_ENOTFOUND);
        assert_non_null (strstr (err.text, wrong[i]));
    }
    assert_int_equal (kc_fake_leaks (), 0);
}

static void an_old_gpu_is_refused_with_its_capability (void **state)
{
    (void)state;
    kc_err_t err = {0};
    const kc_dev_config_t config = {0};
    kc_fake.sm = 75;
    assert_null (kc_cuda_open_with (kc_fake_api (), &config, &err));
    assert_int_equal (err.code, KC_EUNSUPPORTED);
    assert_non_null (strstr (err.text, "7.5"));
    assert_int_equal (kc_fake_leaks (), 0);
}

static void a_running_mps_server_is_refused (void **state)
{
    (void)state;
    char dir[] = "/tmp/kc-mps-XXXXXX";
    assert_non_null (mkdtemp (dir));
    char *control = kc_fs_join (dir, "control");
    kc_err_t err = {0};
    const kc_dev_config_t config = {0};
    assert_int_equal (kc_fs_write (control, "", 0, 0600, false, &err), 0);
    setenv ("CUDA_MPS_PIPE_DIRECTORY", dir, 1);
    assert_null (kc_cuda_open_with (kc_fake_api (), &config, &err));
    unsetenv ("CUDA_MPS_PIPE_DIRECTORY");
    assert_non_null (strstr (err.text, "MPS"));
    assert_int_equal (kc_fake.calls, 0);
    assert_int_equal (kc_fs_remove_tree (dir, &err), 0);
    free (control);
}

static void any_failing_call_while_opening_is_an_error_without_leaks (void **state)
{
    (void)state;
    world_t w;
    assert_int_equal (s_open (&w), 0);
    s_close (&w);
    const long calls = kc_fake.calls;
    int refused = 0;
    for (long at = 1; at <= calls; at++) {
        kc_fake_reset ();
        kc_fake.fail_at = at;
        kc_fake.fail_with = KC_CUDA_ERROR_OUT_OF_MEMORY;
        if (s_open (&w) < 0) {
            refused++;
            assert_true (w.dev ? w.finding.text[0] != 0 : w.err.text[0] != 0);
        }
        // What had been opened is closed again; only a failing free may keep something.
        kc_fake.fail_at = -1;
        s_close (&w);
        if (at < calls - 12)
            assert_int_equal (kc_fake_leaks (), 0);
    }
    assert_true (refused > 20);
}

static void the_carried_ptx_was_made_from_the_sources (void **state)
{
    (void)state;
    kc_err_t err = {0};
    kc_sha_t sha;
    char digest[KC_SHA_HEX];
    char *source = kc_fs_read ("agents/gpu/cuda/trusted.cu", 1 << 20, NULL, &err);
    char *header = kc_fs_read ("agents/gpu/judge/kc_philox.h", 1 << 20, NULL, &err);
    char *ptx = kc_fs_read ("agents/gpu/cuda/trusted.ptx", 1 << 20, NULL, &err);
    assert_non_null (source);
    assert_non_null (header);
    assert_non_null (ptx);
    kc_sha_init (&sha);
    kc_sha_str (&sha, source);
    kc_sha_str (&sha, header);
    kc_sha_hex (&sha, digest);
    ptx[strcspn (ptx, "\n")] = 0;
    assert_non_null (strstr (ptx, digest)); // else: run kc-cuda-trusted
    free (source);
    free (header);
    free (ptx);
}

// ---- code ----

static void only_cubins_are_loaded (void **state)
{
    (void)state;
    world_t w;
    kc_dev_finding_t f;
    assert_int_equal (s_open (&w), 0);
    kc_dev_binary_t binary = {.data = s_cubin, .size = sizeof s_cubin, .is_ptx = true};
    assert_null (w.dev->ops->load (w.dev, &binary, &f));
    assert_int_equal (f.status, KC_VERDICT_STATUS_UNSUPPORTED);
    binary = (kc_dev_binary_t){.data = ".version 7.8", .size = 12};
    assert_null (w.dev->ops->load (w.dev, &binary, &f));
    assert_int_equal (f.status, KC_VERDICT_STATUS_INFRA_ERROR);
    binary = (kc_dev_binary_t){.data = s_cubin, .size = sizeof s_cubin};
    kc_fake.fail_at = kc_fake.calls + 1;
    kc_fake.fail_with = KC_CUDA_ERROR_NO_BINARY_FOR_GPU;
    assert_null (w.dev->ops->load (w.dev, &binary, &f));
    assert_int_equal (f.status, KC_VERDICT_STATUS_UNSUPPORTED);
    kc_fake.fail_at = kc_fake.calls + 1;
    kc_fake.fail_with = KC_CUDA_ERROR_INVALID_IMAGE;
    assert_null (w.dev->ops->load (w.dev, &binary, &f));
    assert_int_equal (f.status, KC_VERDICT_STATUS_COMPILE_ERROR);
    s_close (&w);
}

static void facts_of_a_kernel_come_from_the_driver (void **state)
{
    (void)state;
    world_t w;
    kc_kernel_facts_t facts = {0};
    assert_int_equal (s_open (&w), 0);
    assert_int_equal (w.dev->ops->kernel_facts (w.dev, w.code, "scale", &facts), 0);
    assert_int_equal (facts.registers, 12);
    assert_int_equal (facts.n_params, 4);
    assert_int_equal (facts.params[3].offset, 20);
    assert_int_equal (facts.params[3].size, 4);
    assert_int_equal (w.dev->ops->kernel_facts (w.dev, w.code, "none", &facts), -1);
    s_close (&w);
}

// ---- memory ----

static void buffers_lie_apart_aligned_and_in_an_order_that_the_seed_gives (void **state)
{
    (void)state;
    world_t w;
    uint64_t first[4] = {0};
    bool moved = false;
    assert_int_equal (s_open (&w), 0);
    w.plan = s_chain ();
    for (uint64_t seed = 1; seed < 9; seed++) {
        assert_int_equal (s_lay_out (&w, seed), 0);
        for (size_t i = 0; i < w.arena->n; i++) {
            const kc_cuda_place_t *p = &w.arena->places[i];
            assert_int_equal (p->address % 256, 0);
            assert_true (p->before_bytes >= 4096 && p->after_bytes >= 4096);
            assert_true (p->before + p->before_bytes == p->address);
            assert_true (p->after == p->address + p->bytes);
            assert_true (p->before >= w.arena->base
                         && p->after + p->after_bytes
                                <= w.arena->base + w.arena->bytes);
            for (size_t k = 0; k < i; k++)
                assert_true (p->after + p->after_bytes <= w.arena->places[k].before
                             || w.arena->places[k].after
                                        + w.arena->places[k].after_bytes
                                    <= p->before);
            moved = moved || (seed > 1 && p->address - w.arena->base != first[i]);
            if (seed == 1)
                first[i] = p->address - w.arena->base;
        }
        w.dev->ops->arena_free (w.dev, w.arena);
        w.arena = NULL;
    }
    assert_true (moved);
    s_close (&w);
    assert_int_equal (kc_fake_leaks (), 0);
}

static void an_arena_that_does_not_fit_says_how_much_is_missing (void **state)
{
    (void)state;
    world_t w;
    assert_int_equal (s_open (&w), 0);
    w.plan = kc_pm_new ();
    kc_pm_buffer (w.plan, "x", KC_ROLE_OUTPUT, KC_PROGRAM_DTYPE_F64, (int64_t)1 << 30);
    assert_int_equal (s_lay_out (&w, 1), -1);
    assert_int_equal (w.err.code, KC_EUNSUPPORTED);
    assert_non_null (strstr (w.err.text, "MiB"));
    s_close (&w);
}

static void content_is_the_hosts_for_every_type_and_fill (void **state)
{
    (void)state;
    world_t w;
    static const kc_card_fill_kind_t kinds[] = {
        KC_CARD_FILL_KIND_UNIFORM,     KC_CARD_FILL_KIND_NORMAL,
        KC_CARD_FILL_KIND_INTEGER,     KC_CARD_FILL_KIND_BOOL,
        KC_CARD_FILL_KIND_PERMUTATION, KC_CARD_FILL_KIND_CONSTANT};
    assert_int_equal (s_open (&w), 0);
    for (kc_u32 type = KC_FILL_F64; type <= KC_FILL_BOOLEAN; type++) {
        w.plan = kc_pm_new ();
        kc_pm_buffer (w.plan, "x", KC_ROLE_INPUT, (kc_program_dtype_t)type, N);
        assert_int_equal (s_lay_out (&w, type), 0);
        const size_t bytes = (size_t)w.plan->buffers[0].bytes;
        assert_int_equal (bytes, N * (size_t)kc_fill_size (type));
        unsigned char *got = kc_calloc (1, bytes), *want = kc_calloc (1, bytes);
        for (kc_u32 k = 0; k < KC_COUNT (kinds); k++) {
            const kc_card_fill_t fill = {
                .kind = kinds[k], .has_a = true, .a = 0.25, .has_b = true, .b = 7};
            const kc_fill_t f = {.kind = k + 1,
                                 .type = type,
                                 .a = 0.25,
                                 .b = 7,
                                 .key = 5,
                                 .elements = N};
            uint64_t hash = 0;
            kc_fill_host (&f, want);
            assert_int_equal (
                w.dev->ops->generate (w.dev, w.arena, 0, &fill, 5, &w.err), 0);
            assert_int_equal (w.dev->ops->read (w.dev, w.arena, 0, got, &w.err), 0);
            assert_memory_equal (got, want, bytes);
            assert_int_equal (w.dev->ops->hash (w.dev, w.arena, 0, &hash, &w.err), 0);
            assert_true (hash == kc_content_hash (want, bytes));
        }
        free (got);
        free (want);
        w.dev->ops->arena_free (w.dev, w.arena);
        w.arena = NULL;
        kc_pm_free (&w.plan);
    }
    s_close (&w);
}

static void a_write_outside_a_buffer_is_found_with_its_element (void **state)
{
    (void)state;
    world_t w;
    static const int64_t places[] = {N, N + 5, N + 1023, -1, -2, -1000};
    assert_int_equal (s_open (&w), 0);
    for (size_t i = 0; i < KC_COUNT (places); i++) {
        const kc_pm_arg_t at = kc_pm_i64 (places[i]);
        w.plan = s_single ("write_at", 2, &at);
        assert_int_equal (s_lay_out (&w, i), 0);
        assert_int_equal (w.dev->ops->guards (w.dev, w.arena, &w.finding), 0);
        assert_int_equal (s_run (&w, false), 0);
        assert_int_equal (w.dev->ops->guards (w.dev, w.arena, &w.finding), -1);
        assert_int_equal (w.finding.status, KC_VERDICT_STATUS_OUT_OF_BOUNDS);
        assert_true (w.finding.has_index);
        assert_int_equal (w.finding.index, places[i]);
        assert_string_equal (w.finding.buffer, "y");
        w.dev->ops->arena_free (w.dev, w.arena);
        w.arena = NULL;
        kc_pm_free (&w.plan);
    }
    s_close (&w);
}

// ---- plans ----

static void s_check_chain (world_t *w)
{
    float *x = kc_malloc (N * 4), *y = kc_malloc (N * 4);
    uint16_t z[33];
    assert_int_equal (w->dev->ops->read (w->dev, w->arena, 0, x, &w->err), 0);
    assert_int_equal (w->dev->ops->read (w->dev, w->arena, 2, y, &w->err), 0);
    assert_int_equal (w->dev->ops->read (w->dev, w->arena, 3, z, &w->err), 0);
    for (int i = 0; i < N; i++)
        assert_true (y[i] == (i < N / 2 ? x[i] : 2 * x[i]));
    assert_int_equal (z[0], 0xbeef);
    assert_int_equal (z[32], 0xbeef);
    assert_memory_equal (kc_fake.constant_bytes, x, 16);
    free (x);
    free (y);
}

static void s_ready_chain (world_t *w)
{
    kc_fake.constant = "table";
    assert_int_equal (s_open (w), 0);
    w->plan = s_chain ();
    assert_int_equal (s_lay_out (w, 3), 0);
    assert_int_equal (w->dev->ops->generate (w->dev, w->arena, 0,
                                             &w->plan->buffers[0].fill, 9, &w->err),
                      0);
}

static void a_plan_runs_in_program_order_on_one_stream (void **state)
{
    (void)state;
    world_t w;
    s_ready_chain (&w);
    float unused[N];
    assert_int_equal (w.dev->ops->read (w.dev, w.arena, 0, unused, &w.err), 0);
    kc_fake_clear_log ();
    assert_int_equal (s_run (&w, false), 0);
    assert_string_equal (kc_fake.log, "scale memset memcpy memcpy scale ");
    s_check_chain (&w);
    assert_int_equal (kc_fake.graphs, 0);
    s_close (&w);
    assert_int_equal (kc_fake_leaks (), 0);
}

static void a_graph_plan_becomes_a_chain_of_explicit_nodes (void **state)
{
    (void)state;
    world_t w;
    s_ready_chain (&w);
    w.plan->graph = true;
    assert_int_equal (s_run (&w, false), 0);
    assert_int_equal (kc_fake.nodes, 5);
    assert_string_equal (kc_fake.edge_log, "1<-0 2<-1 3<-2 4<-3 ");
    s_check_chain (&w);
    s_close (&w);
    assert_int_equal (kc_fake_leaks (), 0);
}

static void a_dataflow_graph_has_the_declared_edges_only (void **state)
{
    (void)state;
    world_t w;
    s_ready_chain (&w);
    w.plan->graph = w.plan->dataflow = true;
    kc_plan_step_t *steps = w.plan->steps;
    *(int *)kc_push (&steps[2].after, &steps[2].n_after, sizeof (int)) = 0;
    *(int *)kc_push (&steps[4].after, &steps[4].n_after, sizeof (int)) = 2;
    assert_int_equal (s_run (&w, false), 0);
    assert_string_equal (kc_fake.edge_log, "2<-0 4<-2 ");
    s_check_chain (&w);
    s_close (&w);
}

static void an_audit_passes_a_plan_that_declares_what_it_writes (void **state)
{
    (void)state;
    world_t w;
    s_ready_chain (&w);
    assert_int_equal (s_run (&w, true), 0);
    assert_int_equal (kc_fake_count ("kc_hash"),
                      6); // before, and after each of five steps
    s_check_chain (&w);
    s_close (&w);
}

static void an_audit_names_the_step_that_wrote_an_input (void **state)
{
    (void)state;
    world_t w;
    assert_int_equal (s_open (&w), 0);
    w.plan = kc_pm_new ();
    int x = kc_pm_buffer (w.plan, "x", KC_ROLE_INPUT, KC_PROGRAM_DTYPE_F32, 64);
    int y = kc_pm_buffer (w.plan, "y", KC_ROLE_OUTPUT, KC_PROGRAM_DTYPE_F32, 64);
    kc_pm_arg_t args[] = {kc_pm_in (x), kc_pm_out (y)};
    kc_pm_launch (w.plan, kc_pm_kernel (w.plan, "write_const"), 1, 1, 0, 2, args);
    assert_int_equal (s_lay_out (&w, 1), 0);
    assert_int_equal (s_run (&w, true), -1);
    assert_int_equal (w.finding.status, KC_VERDICT_STATUS_INPUT_MUTATED);
    assert_int_equal (w.finding.step, 0);
    assert_string_equal (w.finding.buffer, "x");
    assert_string_equal (w.finding.kernel, "write_const");
    assert_false (w.finding.sticky);
    s_close (&w);
}

// ---- launches that cannot work ----

static void s_refused (const char *kernel, void (*change) (kc_plan_step_t *),
                       const char *word)
{
    world_t w;
    assert_int_equal (s_open (&w), 0);
    w.plan = s_single (kernel, 1, NULL);
    change (&w.plan->steps[0]);
    assert_int_equal (s_lay_out (&w, 1), 0);
    const int launches = kc_fake_count (kernel);
    assert_int_equal (s_run (&w, false), -1);
    assert_int_equal (w.finding.status, KC_VERDICT_STATUS_LAUNCH_ERROR);
    assert_int_equal (w.finding.step, 0);
    assert_string_equal (w.finding.kernel, kernel);
    assert_non_null (strstr (w.finding.text, word));
    assert_false (w.finding.sticky);
    assert_int_equal (kc_fake_count (kernel), launches);
    s_close (&w);
}

static void s_too_many_threads (kc_plan_step_t *s)
{
    s->block[0] = 257;
}
static void s_empty_grid (kc_plan_step_t *s)
{
    s->grid[1] = 0;
}
static void s_tall_grid (kc_plan_step_t *s)
{
    s->grid[1] = 65536;
}
static void s_too_much_shared (kc_plan_step_t *s)
{
    s->shared = 232448 - 1023;
}
static void s_odd_cluster (kc_plan_step_t *s)
{
    s->cluster[0] = 3;
    s->cluster[1] = s->cluster[2] = 1;
}
static void s_huge_cluster (kc_plan_step_t *s)
{
    s->grid[0] = 64;
    s->cluster[0] = 32;
    s->cluster[1] = s->cluster[2] = 1;
}
static void s_crowded (kc_plan_step_t *s)
{
    s->grid[0] = 9; // four multiprocessors with two blocks each
    s->cooperative = true;
}

static void launches_that_cannot_work_are_refused_before_they_are_made (void **state)
{
    (void)state;
    s_refused ("small", s_too_many_threads, "256");
    s_refused ("small", s_empty_grid, "empty");
    s_refused ("small", s_tall_grid, "65535");
    s_refused ("small", s_too_much_shared, "232448");
    s_refused ("small", s_odd_cluster, "multiple");
    s_refused ("small", s_huge_cluster, "cluster");
    s_refused ("small", s_crowded, "8 fit");
}

static void large_shared_memory_and_clusters_are_asked_for (void **state)
{
    (void)state;
    world_t w;
    assert_int_equal (s_open (&w), 0);
    w.plan = s_single ("small", 1, NULL);
    w.plan->steps[0].shared = 47 * 1024 + 512; // with 1 KiB static just past 48 KiB
    w.plan->steps[0].cluster[0] = 16;
    w.plan->steps[0].cluster[1] = w.plan->steps[0].cluster[2] = 1;
    w.plan->steps[0].grid[0] = 16;
    assert_int_equal (s_lay_out (&w, 1), 0);
    assert_int_equal (s_run (&w, false), 0);
    assert_int_equal (kc_fake.shared_opt_in, 47 * 1024 + 512);
    assert_int_equal (kc_fake.non_portable, 1);
    assert_int_equal (kc_fake_count ("+cluster"), 1);
    w.plan->steps[0].cluster[0] = 0;
    w.plan->steps[0].grid[0] = 8;
    w.plan->steps[0].cooperative = true;
    assert_int_equal (s_run (&w, false), 0);
    assert_int_equal (kc_fake_count ("+cooperative"), 1);
    s_close (&w);
}

static void an_argument_of_another_size_is_our_defect_and_said_so (void **state)
{
    (void)state;
    world_t w;
    const kc_pm_arg_t narrow = kc_pm_i32 (3);
    assert_int_equal (s_open (&w), 0);
    w.plan = s_single ("write_at", 2, &narrow);
    assert_int_equal (s_lay_out (&w, 1), 0);
    assert_int_equal (s_run (&w, false), -1);
    assert_int_equal (w.finding.status, KC_VERDICT_STATUS_INFRA_ERROR);
    assert_non_null (strstr (w.finding.text, "argument 1: 4 bytes"));
    kc_pm_free (&w.plan);
    w.plan = s_single ("write_at", 1, NULL);
    w.dev->ops->arena_free (w.dev, w.arena);
    assert_int_equal (s_lay_out (&w, 1), 0);
    assert_int_equal (s_run (&w, false), -1);
    assert_non_null (strstr (w.finding.text, "takes more"));
    s_close (&w);
}

static void library_steps_and_missing_kernels_have_answers (void **state)
{
    (void)state;
    world_t w;
    assert_int_equal (s_open (&w), 0);
    w.plan = s_single ("absent", 1, NULL);
    assert_int_equal (s_lay_out (&w, 1), 0);
    assert_int_equal (s_run (&w, false), -1);
    assert_int_equal (w.finding.status, KC_VERDICT_STATUS_INFRA_ERROR);
    assert_non_null (strstr (w.finding.text, "absent"));
    free (w.plan->kernels[0].symbol);
    w.plan->kernels[0].symbol = kc_strdup ("small");
    w.plan->steps[0].op = KC_PLAN_MATMUL;
    assert_int_equal (s_run (&w, false), -1);
    assert_int_equal (w.finding.status, KC_VERDICT_STATUS_UNSUPPORTED);
    s_close (&w);
}

// ---- faults ----

static void s_fault (const char *kernel, kc_verdict_status_t expected, bool graph)
{
    world_t w;
    char data[N * 4];
    assert_int_equal (s_open (&w), 0);
    w.plan = s_single (kernel, 1, NULL);
    w.plan->graph = graph;
    assert_int_equal (s_lay_out (&w, 1), 0);
    assert_int_equal (s_run (&w, false), -1);
    assert_int_equal (w.finding.status, expected);
    assert_true (w.finding.sticky);
    assert_int_equal (w.finding.step, 0);
    assert_string_equal (w.finding.kernel, kernel);
    const long calls = kc_fake.calls;
    uint64_t hash = 0;
    assert_int_equal (w.dev->ops->read (w.dev, w.arena, 0, data, &w.err), -1);
    assert_int_equal (w.err.code, KC_ESTATE);
    assert_int_equal (w.dev->ops->write (w.dev, w.arena, 0, data, &w.err), -1);
    assert_int_equal (w.dev->ops->poison (w.dev, w.arena, 0, 1, &w.err), -1);
    assert_int_equal (w.dev->ops->hash (w.dev, w.arena, 0, &hash, &w.err), -1);
    assert_int_equal (w.dev->ops->guards (w.dev, w.arena, &w.finding), -1);
    assert_int_equal (s_run (&w, true), -1);
    assert_true (w.finding.sticky);
    s_close (&w);
    assert_int_equal (kc_fake.calls, calls); // the driver was left alone
    assert_int_equal (kc_fake.calls_after_sticky, 0);
    // The process of a real runner ends here; this one frees what the fake still holds.
    kc_fake_reset ();
}

static void after_a_sticky_error_the_driver_is_never_called_again (void **state)
{
    (void)state;
    s_fault ("fault", KC_VERDICT_STATUS_OUT_OF_BOUNDS, false);
    s_fault ("trap", KC_VERDICT_STATUS_LAUNCH_ERROR, false);
}

static void
a_kernel_that_does_not_end_is_a_timeout_and_the_end_of_the_context (void **state)
{
    (void)state;
    s_fault ("hang", KC_VERDICT_STATUS_TIMEOUT, false);
}

static void an_audit_names_the_step_that_faulted (void **state)
{
    (void)state;
    world_t w;
    s_ready_chain (&w);
    const int k = kc_pm_kernel (w.plan, "fault");
    kc_pm_arg_t arg = kc_pm_out (2);
    kc_pm_launch (w.plan, k, 1, 1, 0, 1, &arg);
    assert_int_equal (s_run (&w, true), -1);
    assert_int_equal (w.finding.step, 5);
    assert_string_equal (w.finding.kernel, "fault");
    assert_int_equal (w.finding.status, KC_VERDICT_STATUS_OUT_OF_BOUNDS);
    s_close (&w);
}

// A whole life of a device, in which call number fail_at fails; 0 when nothing failed.
static int s_life (long fail_at, kc_cu_result_t code, bool graph, bool audit)
{
    world_t w;
    kc_fake_reset ();
    kc_fake.constant = "table";
    kc_fake.fail_at = fail_at;
    kc_fake.fail_with = code;
    bool good = s_open (&w) == 0;
    if (good) {
        w.plan = s_chain ();
        w.plan->graph = graph;
        good = s_lay_out (&w, 1) == 0
               && w.dev->ops->generate (w.dev, w.arena, 0, &w.plan->buffers[0].fill, 9,
                                        &w.err)
                      == 0
               && s_run (&w, audit) == 0
               && w.dev->ops->guards (w.dev, w.arena, &w.finding) == 0;
    }
    if (!good)
        assert_true (w.err.text[0] || w.finding.text[0]);
    s_close (&w);
    assert_int_equal (kc_fake.calls_after_sticky, 0);
    return good ? 0 : -1;
}

static void s_torture (kc_cu_result_t code, bool graph, bool audit)
{
    assert_int_equal (s_life (-1, code, graph, audit), 0);
    const long calls = kc_fake.calls;
    int refused = 0;
    for (long at = 1; at <= calls; at++)
        refused += s_life (at, code, graph, audit) < 0;
    // Facts that may be absent and freeing at the end do not count as failures; all
    // else does.
    assert_true (calls > 60 && refused > calls / 2);
}

static void every_single_failing_call_is_reported_and_survived (void **state)
{
    (void)state;
    s_torture (KC_CUDA_ERROR_OUT_OF_MEMORY, false, false);
    s_torture (KC_CUDA_ERROR_OUT_OF_MEMORY, true, false);
    s_torture (KC_CUDA_ERROR_OUT_OF_MEMORY, false, true);
    s_torture (KC_CUDA_ERROR_ILLEGAL_ADDRESS, false, false);
    s_torture (KC_CUDA_ERROR_ILLEGAL_ADDRESS, true, false);
    s_torture (KC_CUDA_ERROR_ILLEGAL_ADDRESS, false, true);
}

static void a_profile_without_counters_has_times_facts_and_a_reason (void **state)
{
    (void)state;
    world_t w;
    kc_err_t err = {0};
    kc_cuda_api_t *real = kc_cuda_api_load (&err);
    if (real) { // CUPTI would look for the fake's context in the real driver
        kc_cuda_api_destroy (&real);
        skip ();
    }
    s_ready_chain (&w);
    w.plan->steps[4].source_step = 0; // two launches of one step
    const kc_dev_contestant_t who = {.code = w.code, .plan = w.plan, .arena = w.arena};
    kc_dev_profile_t p;
    assert_int_equal (w.dev->ops->profile (w.dev, &who, &s_limits, &p, &w.finding), 0);
    assert_true (p.counters_missing);
    assert_true (p.missing_reason[0] != 0);
    assert_true (p.total_us > 9.9 && p.total_us < 10.1);
    assert_int_equal (p.n_steps, 4);
    assert_int_equal (p.steps[0].step, 0);
    double launches = 0, registers = 0, blocks = 0;
    for (size_t i = 0; i < p.steps[0].n; i++) {
        const kc_dev_counter_t *c = &p.steps[0].counters[i];
        launches = strcmp (c->name, "kc.launches") ? launches : c->value;
        registers = strcmp (c->name, "kc.registers") ? registers : c->value;
        blocks = strcmp (c->name, "kc.resident_blocks") ? blocks : c->value;
    }
    assert_true (launches == 2 && registers == 12 && blocks == 2);
    kc_dev_profile_free (&p);
    s_close (&w);
    assert_int_equal (kc_fake_leaks (), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown (f, s_setup, s_teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (opening_loads_eagerly_and_tells_the_facts),
        TEST (a_gpu_is_chosen_by_index_or_uuid),
        TEST (an_old_gpu_is_refused_with_its_capability),
        TEST (a_running_mps_server_is_refused),
        TEST (any_failing_call_while_opening_is_an_error_without_leaks),
        TEST (the_carried_ptx_was_made_from_the_sources),
        TEST (only_cubins_are_loaded),
        TEST (facts_of_a_kernel_come_from_the_driver),
        TEST (buffers_lie_apart_aligned_and_in_an_order_that_the_seed_gives),
        TEST (an_arena_that_does_not_fit_says_how_much_is_missing),
        TEST (content_is_the_hosts_for_every_type_and_fill),
        TEST (a_write_outside_a_buffer_is_found_with_its_element),
        TEST (a_plan_runs_in_program_order_on_one_stream),
        TEST (a_graph_plan_becomes_a_chain_of_explicit_nodes),
        TEST (a_dataflow_graph_has_the_declared_edges_only),
        TEST (an_audit_passes_a_plan_that_declares_what_it_writes),
        TEST (an_audit_names_the_step_that_wrote_an_input),
        TEST (launches_that_cannot_work_are_refused_before_they_are_made),
        TEST (large_shared_memory_and_clusters_are_asked_for),
        TEST (an_argument_of_another_size_is_our_defect_and_said_so),
        TEST (library_steps_and_missing_kernels_have_answers),
        TEST (after_a_sticky_error_the_driver_is_never_called_again),
        TEST (a_kernel_that_does_not_end_is_a_timeout_and_the_end_of_the_context),
        TEST (an_audit_names_the_step_that_faulted),
        TEST (every_single_failing_call_is_reported_and_survived),
        TEST (a_profile_without_counters_has_times_facts_and_a_reason),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
