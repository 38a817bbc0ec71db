// kc_card.c - see kc_card.h

#include "common/model/kc_card.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/kc_expr.h"
#include "common/model/kc_finding.h"
#include "common/model/kc_program.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"

enum {
    S_DIM_MAX_BITS = 40,
    S_SMALL = 8, // dims up to this keep their value in added checks: they are
                 // structure, not size
    S_CHECK_BYTES = 64 << 20, // of all tensors of an added check
};

typedef struct s_make {
    const kc_program_text_t *text;
    const kc_task_text_t *task;
    kc_verdict_t *findings;
    kc_card_t *card;
    kc_device_facts_t facts;
    bool bad;
} s_make_t;

#define S_BAD(m, line, ...)                                                            \
    ((m)->bad = true,                                                                  \
     kc_finding ((m)->findings, KC_VERDICT_STATUS_PLAN_ERROR, line, -1, __VA_ARGS__))

// ---- the device ----

// Limits by compute capability, as the CUDA programming guide lists them.
static const struct {
    int sm;
    int max_threads_sm, max_blocks_sm;
    int64_t shared_block, shared_sm, shared_reserved;
} s_limits[] = {
    {50, 2048, 32, 49152, 65536, 0},       {60, 2048, 32, 49152, 65536, 0},
    {70, 2048, 32, 98304, 98304, 0},       {75, 1024, 16, 65536, 65536, 0},
    {80, 2048, 32, 166912, 167936, 1024},  {86, 1536, 16, 101376, 102400, 1024},
    {87, 1536, 16, 166912, 167936, 1024},  {89, 1536, 24, 101376, 102400, 1024},
    {90, 2048, 32, 232448, 233472, 1024},  {100, 2048, 32, 232448, 233472, 1024},
    {120, 1536, 24, 101376, 102400, 1024},
};

void kc_card_facts (const kc_card_device_t *device, kc_device_facts_t *facts)
{
    size_t row = 0;
    for (size_t i = 0; i < KC_COUNT (s_limits); i++)
        if (s_limits[i].sm <= device->sm)
            row = i;
    *facts = (kc_device_facts_t){
        .sms = (int)device->sms,
        .sm = (int)device->sm,
        .warp = 32,
        .max_threads_block = 1024,
        .max_threads_sm = s_limits[row].max_threads_sm,
        .max_blocks_sm = s_limits[row].max_blocks_sm,
        .regs_sm = 65536,
        .regs_block = 65536,
        .shared_block = device->has_shared_block && device->shared_block
                            ? device->shared_block
                            : s_limits[row].shared_block,
        .shared_block_plain = 49152,
        .shared_sm = device->has_shared_sm && device->shared_sm
                         ? device->shared_sm
                         : s_limits[row].shared_sm,
        .shared_reserved = s_limits[row].shared_reserved,
        .l2_bytes = device->has_l2_bytes ? device->l2_bytes : 0,
        .max_grid = {2147483647, 65535, 65535},
    };
}

// ---- dims ----

typedef struct s_dims {
    const kc_task_setting_t *items;
    size_t n;
} s_dims_t;

static int s_dim_name (void *arg, const char *name, kc_value_t *out, kc_err_t *err)
{
    const s_dims_t *d = arg;
    (void)err;
    for (size_t i = 0; i < d->n; i++)
        if (!strcmp (d->items[i].name, name)) {
            *out = (kc_value_t){.type = KC_VALUE_INT, .i = d->items[i].value};
            return 1;
        }
    return 0;
}

static int s_dim_value (const char *text, const kc_task_setting_t *items, size_t n,
                        int64_t *out, kc_err_t *err)
{
    const char *known[KC_TEXT_DIMS];
    size_t n_known = 0;
    for (size_t i = 0; i < n && n_known < KC_COUNT (known); i++)
        known[n_known++] = items[i].name;
    s_dims_t dims = {items, n};
    kc_expr_scope_t scope = {
        .arg = &dims, .name = s_dim_name, .known = known, .n_known = n_known};
    return kc_expr_int (text, &scope, out, err);
}

// A dim that others are computed from keeps its expression; 'over' replaces the value
// of those it names.
static int s_resolve_dims (s_make_t *m, const kc_task_setting_t *set, size_t n_set,
                           const kc_task_check_t *check, kc_task_setting_t **out,
                           size_t *n_out)
{
    kc_err_t err;
    for (size_t i = 0; i < m->task->n_dims; i++) {
        const kc_task_dim_t *d = &m->task->dims[i];
        int64_t v = 0;
        int line = d->line, rc = -2;
        for (size_t k = 0; k < n_set; k++)
            if (!strcmp (set[k].name, d->name)) {
                v = set[k].value;
                rc = 0;
            }
        for (size_t k = 0; check && k < check->n_dims; k++)
            if (!strcmp (check->dims[k].name, d->name)) {
                line = check->line;
                rc = s_dim_value (check->dims[k].value, *out, *n_out, &v, &err);
            }
        if (rc == -2)
            rc = s_dim_value (d->value, *out, *n_out, &v, &err);
        if (rc < 0)
            return S_BAD (m, line, "dim %s: %s", d->name, err.text);
        if (v < 1 || v > (int64_t)1 << S_DIM_MAX_BITS)
            return S_BAD (m, line, "dim %s is %lld, possible are 1 to 2^40", d->name,
                          (long long)v);
        kc_task_setting_t *s = kc_push (out, n_out, sizeof *s);
        kc_type_init (&kc_task_setting_type, s);
        s->name = kc_strdup (d->name);
        s->value = v;
    }
    return 0;
}

static void s_check_known (s_make_t *m, const char *name, int line, const char *what)
{
    const char *known[KC_TEXT_DIMS];
    for (size_t i = 0; i < m->task->n_dims; i++) {
        if (!strcmp (m->task->dims[i].name, name))
            return;
        known[i] = m->task->dims[i].name;
    }
    char *text = kc_suggest (name, known, m->task->n_dims);
    S_BAD (m, line, "%s names no dim of the task: '%s'%s", what, name, text);
    free (text);
}

// ---- tensors ----

static bool s_floating (kc_program_dtype_t d)
{
    return d == KC_PROGRAM_DTYPE_F64 || d == KC_PROGRAM_DTYPE_F32
           || d == KC_PROGRAM_DTYPE_F16 || d == KC_PROGRAM_DTYPE_BF16
           || d == KC_PROGRAM_DTYPE_F8E4M3 || d == KC_PROGRAM_DTYPE_F8E5M2;
}

// What a tensor holds when the author does not say.
static kc_card_fill_t s_default_fill (kc_program_dtype_t d)
{
    kc_card_fill_t f = {
        .kind = KC_CARD_FILL_KIND_NORMAL, .has_a = true, .a = 0, .has_b = true, .b = 1};
    if (d == KC_PROGRAM_DTYPE_BOOL)
        f = (kc_card_fill_t){.kind = KC_CARD_FILL_KIND_BOOL, .has_a = true, .a = 0.5};
    else if (!s_floating (d))
        f = (kc_card_fill_t){.kind = KC_CARD_FILL_KIND_INTEGER,
                             .has_a = true,
                             .a = 0,
                             .has_b = true,
                             .b = 15};
    return f;
}

static void s_check_fill (s_make_t *m, const kc_task_tensor_t *t)
{
    bool real = s_floating (t->dtype);
    switch (t->fill.kind) {
    case KC_CARD_FILL_KIND_UNSET:
        break;
    case KC_CARD_FILL_KIND_UNIFORM:
    case KC_CARD_FILL_KIND_NORMAL:
        if (!real)
            S_BAD (m, t->line, "%s is %s: fill it with integer(lo, hi), constant(c)%s",
                   t->name, kc_dtype_name (t->dtype),
                   t->dtype == KC_PROGRAM_DTYPE_BOOL ? " or bool(p)"
                                                     : " or permutation");
        break;
    case KC_CARD_FILL_KIND_PERMUTATION:
        if (t->dtype != KC_PROGRAM_DTYPE_I32 && t->dtype != KC_PROGRAM_DTYPE_I64
            && t->dtype != KC_PROGRAM_DTYPE_U32)
            S_BAD (m, t->line, "%s is %s: a permutation needs i32, u32 or i64", t->name,
                   kc_dtype_name (t->dtype));
        break;
    case KC_CARD_FILL_KIND_INTEGER:
    case KC_CARD_FILL_KIND_BOOL:
    case KC_CARD_FILL_KIND_CONSTANT:
        break;
    }
}

// Put the values of the bounds' expressions at these dims.
static int s_fill_at (kc_card_fill_t *fill, const kc_task_setting_t *dims, size_t n,
                      kc_err_t *err)
{
    int64_t v;
    if (fill->lo) {
        if (s_dim_value (fill->lo, dims, n, &v, err) < 0)
            return -1;
        fill->a = (double)v;
    }
    if (fill->hi) {
        if (s_dim_value (fill->hi, dims, n, &v, err) < 0)
            return -1;
        fill->b = (double)v;
    }
    if ((fill->lo || fill->hi) && fill->a > fill->b)
        return kc_fail (err, KC_EINVALID,
                        "the lower bound comes first, here they are %.0f and %.0f",
                        fill->a, fill->b);
    return 0;
}

static void s_tensor (s_make_t *m, const kc_task_tensor_t *t)
{
    kc_card_tensor_t *c = kc_push (&m->card->tensors, &m->card->n_tensors, sizeof *c);
    kc_type_init (&kc_card_tensor_type, c);
    c->name = kc_strdup (t->name);
    c->role = t->role;
    c->dtype = t->dtype;
    int64_t elements = 1;
    for (size_t d = 0; d < t->n_shape; d++) {
        int64_t v = 0;
        kc_err_t err;
        *(char **)kc_push (&c->shape, &c->n_shape, sizeof (char *)) =
            kc_strdup (t->shape[d]);
        if (s_dim_value (t->shape[d], m->card->dims, m->card->n_dims, &v, &err) < 0)
            S_BAD (m, t->line, "shape of %s: %s", t->name, err.text);
        else if (v < 1)
            S_BAD (m, t->line, "dimension %zu of %s is %s = %lld, at least 1 is needed",
                   d, t->name, t->shape[d], (long long)v);
        else if (__builtin_mul_overflow (elements, v, &elements)
                 || elements > (int64_t)1 << 42)
            S_BAD (m, t->line, "%s has more than 2^42 elements", t->name);
        *(int64_t *)kc_push (&c->sizes, &c->n_sizes, sizeof (int64_t)) = v > 0 ? v : 0;
    }
    if (t->role == KC_CARD_TENSOR_ROLE_OUTPUT)
        return;
    if (t->has_fill)
        s_check_fill (m, t);
    const kc_card_fill_t other = s_default_fill (t->dtype);
    c->fill = kc_type_dup (&kc_card_fill_type, t->has_fill ? &t->fill : &other);
    kc_err_t err;
    if (s_fill_at (c->fill, m->card->dims, m->card->n_dims, &err) < 0)
        S_BAD (m, t->line, "fill of %s: %s", t->name, err.text);
}

static int64_t s_bytes (const kc_card_tensor_t *t)
{
    int64_t n = (int64_t)kc_dtype_size (t->dtype);
    for (size_t d = 0; d < t->n_sizes; d++)
        if (__builtin_mul_overflow (n, t->sizes[d], &n))
            return INT64_MAX;
    return n;
}

static void s_tensors (s_make_t *m, int64_t memory_bytes)
{
    bool result = false;
    int64_t total = 0;
    for (size_t i = 0; i < m->task->n_tensors; i++) {
        s_tensor (m, &m->task->tensors[i]);
        result = result || m->task->tensors[i].role == KC_CARD_TENSOR_ROLE_OUTPUT
                 || m->task->tensors[i].role == KC_CARD_TENSOR_ROLE_INOUT;
    }
    if (!result)
        S_BAD (m, m->task->line,
               "the task has no output: //@ output y f32[B, D] says what is compared");
    if (m->bad)
        return;
    for (size_t i = 0; i < m->card->n_tensors; i++)
        if (__builtin_add_overflow (total, s_bytes (&m->card->tensors[i]), &total))
            total = INT64_MAX;
    if (memory_bytes > 0 && total > memory_bytes / 10 * 9)
        S_BAD (m, m->task->line,
               "the tensors need %lld bytes, the device has %lld; choose smaller dims "
               "with --set",
               (long long)total, (long long)memory_bytes);
}

// The card's dims with the values of 'dims'; the names stay the card's.
static size_t s_all_dims (const kc_card_t *card, const kc_task_setting_t *dims,
                          size_t n_dims, kc_task_setting_t all[KC_TEXT_DIMS])
{
    size_t n = card->n_dims < KC_TEXT_DIMS ? card->n_dims : KC_TEXT_DIMS;
    for (size_t k = 0; k < n; k++) {
        all[k] = card->dims[k];
        for (size_t j = 0; j < n_dims; j++)
            if (!strcmp (dims[j].name, all[k].name))
                all[k].value = dims[j].value;
    }
    return n;
}

int kc_card_fill (const kc_card_t *card, size_t i, const kc_task_setting_t *dims,
                  size_t n_dims, kc_card_fill_t *out, kc_err_t *err)
{
    kc_task_setting_t all[KC_TEXT_DIMS];
    size_t n = s_all_dims (card, dims, n_dims, all);
    if (i >= card->n_tensors || !card->tensors[i].fill)
        return kc_fail (err, KC_EINVALID, "tensor %zu of the card has no fill", i);
    *out = *card->tensors[i].fill;
    int rc = s_fill_at (out, all, n, err);
    out->lo = out->hi = NULL;
    return rc < 0 ? kc_fail_in (err, "fill of %s", card->tensors[i].name) : 0;
}

int kc_card_sizes (const kc_card_t *card, size_t i, const kc_task_setting_t *dims,
                   size_t n_dims, int64_t sizes[KC_PLAN_MAX_RANK], kc_err_t *err)
{
    kc_task_setting_t all[KC_TEXT_DIMS];
    size_t n = s_all_dims (card, dims, n_dims, all);
    if (i >= card->n_tensors || card->tensors[i].n_shape > KC_PLAN_MAX_RANK)
        return kc_fail (err, KC_EINVALID, "the card has no tensor %zu", i);
    for (size_t d = 0; d < card->tensors[i].n_shape; d++)
        if (s_dim_value (card->tensors[i].shape[d], all, n, &sizes[d], err) < 0)
            return kc_fail_in (err, "shape of %s", card->tensors[i].name);
    return (int)card->tensors[i].n_shape;
}

const kc_card_tensor_t *kc_card_tensor (const kc_card_t *card, const char *name)
{
    for (size_t i = 0; i < card->n_tensors; i++)
        if (!strcmp (card->tensors[i].name, name))
            return &card->tensors[i];
    return NULL;
}

// ---- validation ----

static char *s_dims_text (const kc_task_setting_t *dims, size_t n)
{
    kc_buf_t b = {0};
    for (size_t i = 0; i < n; i++)
        kc_buf_printf (&b, "%s%s=%lld", i ? " " : "", dims[i].name,
                       (long long)dims[i].value);
    return kc_buf_take (&b);
}

// The plan of the given kernel at some dims; findings get the lines of the file and, at
// a check, its sizes.
static kc_plan_t *s_plan (s_make_t *m, const kc_task_setting_t *dims, size_t n,
                          bool check)
{
    kc_verdict_t *own = kc_verdict_new ();
    char *constants =
        kc_plan_constants (m->card, m->text->program, dims, n, &m->facts, own);
    kc_plan_t *plan = constants ? kc_plan_build (m->card, m->text->program, dims, n,
                                                 &m->facts, NULL, 0, own)
                                : NULL;
    free (constants);
    kc_program_text_locate (m->text, own);
    char *where = check ? s_dims_text (dims, n) : NULL;
    for (size_t i = 0; i < own->n_findings; i++) {
        const kc_verdict_finding_t *f = &own->findings[i];
        kc_finding (m->findings, f->status, (int)f->line,
                    f->has_step ? (int)f->step : -1, "%s%s%s%s",
                    where ? "at check " : "", where ? where : "", where ? ": " : "",
                    f->text);
    }
    free (where);
    kc_verdict_free (&own);
    return plan;
}

static void s_checks (s_make_t *m)
{
    for (size_t i = 0; i < m->task->n_checks; i++) {
        const kc_task_check_t *c = &m->task->checks[i];
        for (size_t k = 0; k < c->n_dims; k++)
            s_check_known (m, c->dims[k].name, c->line, "check");
        if (m->bad)
            return;
        kc_card_check_t *out =
            kc_push (&m->card->checks, &m->card->n_checks, sizeof *out);
        kc_type_init (&kc_card_check_type, out);
        if (s_resolve_dims (m, NULL, 0, c, &out->dims, &out->n_dims) < 0)
            return;
        kc_plan_t *plan = s_plan (m, out->dims, out->n_dims, true);
        m->bad = m->bad || !plan;
        kc_plan_destroy (&plan);
    }
}

// ---- added checks ----

static bool s_fits (const s_make_t *m, const kc_task_setting_t *dims, size_t n)
{
    int64_t total = 0;
    for (size_t i = 0; i < m->card->n_tensors; i++) {
        int64_t sizes[KC_PLAN_MAX_RANK],
            bytes = (int64_t)kc_dtype_size (m->card->tensors[i].dtype);
        int rank = kc_card_sizes (m->card, i, dims, n, sizes, NULL);
        for (int d = 0; d < rank; d++)
            if (sizes[d] < 1 || __builtin_mul_overflow (bytes, sizes[d], &bytes))
                return false;
        if (rank < 0 || __builtin_add_overflow (total, bytes, &total))
            return false;
    }
    if (total > S_CHECK_BYTES)
        return false;
    kc_plan_t *plan =
        kc_plan_build (m->card, m->text->program, dims, n, &m->facts, NULL, 0, NULL);
    bool good = plan != NULL;
    kc_plan_destroy (&plan);
    return good;
}

static bool s_plain_dim (const s_make_t *m, size_t i)
{
    int64_t v;
    return kc_expr_int (m->task->dims[i].value, NULL, &v, NULL) == 0;
}

// The shape with the dims of 'over' changed is valid: hand it out.
static int s_try_shape (s_make_t *m, kc_task_check_t *over, kc_card_check_t *out)
{
    kc_task_setting_t *dims = NULL;
    size_t n = 0;
    s_make_t quiet = *m;
    quiet.findings = NULL;
    if (over->n_dims && s_resolve_dims (&quiet, NULL, 0, over, &dims, &n) == 0
        && s_fits (m, dims, n)) {
        out->dims = dims;
        out->n_dims = n;
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        kc_type_clear (&kc_task_setting_type, &dims[i]);
    free (dims);
    return -1;
}

// Make all large dims small and odd; where the plan does not bear that, all but one.
// Computed dims follow.
static int s_odd_shape (s_make_t *m, const int *odd, size_t n_odd, kc_card_check_t *out)
{
    char text[KC_TEXT_DIMS][24];
    kc_task_dim_t all[KC_TEXT_DIMS], some[KC_TEXT_DIMS];
    size_t n = 0;
    for (size_t i = 0; i < m->task->n_dims && i < KC_TEXT_DIMS; i++) {
        int64_t now = m->card->dims[i].value, want = odd[i % n_odd];
        if (now <= S_SMALL || !s_plain_dim (m, i))
            continue;
        while (want >= now)
            want = want / 2 | 1;
        snprintf (text[n], sizeof text[n], "%lld", (long long)want);
        all[n] = (kc_task_dim_t){.name = m->task->dims[i].name, .value = text[n]};
        n++;
    }
    kc_task_check_t over = {.dims = all, .n_dims = n};
    if (s_try_shape (m, &over, out) == 0)
        return 0;
    for (size_t skip = 0; skip < n; skip++) {
        over = (kc_task_check_t){.dims = some};
        for (size_t i = 0; i < n; i++)
            if (i != skip)
                some[over.n_dims++] = all[i];
        if (s_try_shape (m, &over, out) == 0)
            return 0;
    }
    return -1;
}

static void s_note (s_make_t *m, char *text)
{
    if (m->card->n_notes < 16)
        *(char **)kc_push (&m->card->notes, &m->card->n_notes, sizeof (char *)) = text;
    else
        free (text);
}

static void s_add_checks (s_make_t *m)
{
    static const int first[] = {37, 65, 29, 97, 19, 53},
                     second[] = {5, 131, 67, 21, 45, 101};
    for (int i = 0; i < 2; i++) {
        kc_card_check_t c = {0};
        kc_type_init (&kc_card_check_type, &c);
        c.added = true;
        if (s_odd_shape (m, i ? second : first, KC_COUNT (first), &c) < 0) {
            kc_type_clear (&kc_card_check_type, &c);
            s_note (m, kc_strdup ("no odd shape could be added for correctness: the "
                                  "given kernel's plan allows none; a //@ check "
                                  "line may know one"));
            return;
        }
        char *dims = s_dims_text (c.dims, c.n_dims);
        s_note (m, kc_asprintf ("check added: %.400s", dims));
        free (dims);
        *(kc_card_check_t *)kc_push (&m->card->checks, &m->card->n_checks, sizeof c) =
            c;
    }
}

// ---- the rest ----

static void s_tunables (s_make_t *m)
{
    for (size_t i = 0; i < m->task->n_tunables; i++) {
        const kc_task_tunable_t *t = &m->task->tunables[i];
        kc_card_tunable_t *c =
            kc_push (&m->card->tunables, &m->card->n_tunables, sizeof *c);
        kc_type_init (&kc_card_tunable_type, c);
        c->name = kc_strdup (t->name);
        c->method = kc_strdup (t->method);
        for (size_t v = 0; v < t->n_values; v++) {
            if (strlen (t->values[v]) > 64)
                S_BAD (m, t->line, "a value of tunable %s is longer than 64 characters",
                       t->name);
            *(char **)kc_push (&c->values, &c->n_values, sizeof (char *)) =
                kc_strdup (t->values[v]);
        }
    }
}

// Compulsory traffic: what the plan reads once, what it must write once.
static void s_floor (s_make_t *m, const kc_plan_t *plan)
{
    kc_card_floor_t *f = m->card->floor = kc_type_new (&kc_card_floor_type);
    for (size_t i = 0; i < m->card->n_tensors; i++) {
        const kc_card_tensor_t *t = &m->card->tensors[i];
        int64_t bytes = s_bytes (t);
        bool used = false;
        for (size_t s = 0; s < plan->n_steps && !used; s++)
            for (size_t r = 0; r < plan->steps[s].n_ranges && !used; r++)
                used = plan->steps[s].ranges[r].buffer == (int)i;
        if (!used)
            s_note (m, kc_asprintf ("%s is used by no step", t->name));
        if (used && t->role != KC_CARD_TENSOR_ROLE_OUTPUT)
            f->read_bytes += bytes;
        if (t->role == KC_CARD_TENSOR_ROLE_OUTPUT
            || t->role == KC_CARD_TENSOR_ROLE_INOUT)
            f->write_bytes += bytes;
    }
    f->bytes = f->read_bytes + f->write_bytes;
    // What a copy reaches is the honest yardstick; the specified rate is reached by
    // nothing.
    const kc_card_device_t *d = m->card->device;
    double bandwidth = d->has_copy_bandwidth ? d->copy_bandwidth
                       : d->has_bandwidth    ? d->bandwidth
                                             : 0;
    f->bytes_us = bandwidth > 0 ? (double)f->bytes / bandwidth * 1e6 : 0;
    f->us = f->bytes_us;
}

static void s_fill_in (s_make_t *m, const kc_task_setting_t *set, size_t n_set,
                       int64_t memory_bytes)
{
    for (size_t i = 0; i < n_set; i++)
        s_check_known (m, set[i].name, 0, "--set");
    if (m->bad
        || s_resolve_dims (m, set, n_set, NULL, &m->card->dims, &m->card->n_dims) < 0)
        return;
    s_tensors (m, memory_bytes);
    s_tunables (m);
    if (m->bad)
        return;
    kc_plan_t *plan = s_plan (m, NULL, 0, false);
    if (!plan) {
        m->bad = true;
        return;
    }
    if (kc_plan_runnable (plan, m->findings) < 0) {
        kc_program_text_locate (m->text, m->findings);
        m->bad = true;
    }
    else {
        for (size_t i = 0; i < plan->n_warnings; i++)
            s_note (m, kc_strdup (plan->warnings[i]));
        for (size_t i = 0; i < m->text->n_warnings; i++)
            s_note (m, kc_strdup (m->text->warnings[i]));
        s_floor (m, plan);
        if (m->task->n_checks)
            s_checks (m);
        else
            s_add_checks (m);
    }
    kc_plan_destroy (&plan);
}

kc_card_t *kc_card_build (const kc_program_text_t *text, const kc_task_setting_t *set,
                          size_t n_set, const kc_card_device_t *device,
                          int64_t memory_bytes, kc_verdict_t *findings)
{
    if (!text->task || !text->task->name || !text->task->n_tensors) {
        kc_finding (findings, KC_VERDICT_STATUS_PLAN_ERROR, 0, -1,
                    "the file is a program, not a task: add //@ task NAME, //@ dim, "
                    "//@ input and //@ output lines");
        return NULL;
    }
    s_make_t m = {.text = text,
                  .task = text->task,
                  .findings = findings,
                  .card = kc_type_new (&kc_card_type)};
    kc_card_t *card = m.card;
    card->kind = KC_TASK_KIND_CUDA;
    card->name = kc_strdup (text->task->name);
    card->text = kc_strdup (text->task->text);
    card->policy =
        text->task->policy ? text->task->policy : kc_policy_default (text->task);
    card->device = kc_card_device_dup (device);
    card->seed = kc_program_dup (text->program);
    kc_card_facts (device, &m.facts);
    s_fill_in (&m, set, n_set, memory_bytes);
    kc_errs_t errs = {0};
    if (!m.bad && kc_type_check (&kc_card_type, card, &errs) < 0)
        S_BAD (&m, 0, "the card cannot be written: %s: expected %s, found %s",
               errs.item[0].pointer, errs.item[0].expected, errs.item[0].found);
    if (m.bad)
        kc_card_free (&card);
    return card;
}
