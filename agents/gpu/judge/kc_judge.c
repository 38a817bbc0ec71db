// kc_judge.c - see kc_judge.h

#include "agents/gpu/judge/kc_judge.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/judge/kc_stats.h"
#include "common/msg/kc_codec.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"

kc_verdict_t *kc_judge_new (const kc_card_t *card)
{
    kc_verdict_t *v = kc_verdict_new ();
    v->status = KC_VERDICT_STATUS_OK;
    v->judge_version = KC_JUDGE_VERSION;
    if (card && card->device)
        v->device = kc_type_dup (&kc_card_device_type, card->device);
    return v;
}

kc_verdict_finding_t *kc_judge_finding (kc_verdict_t *v, kc_verdict_status_t status,
                                        const char *format, ...)
{
    if (v->n_findings >= KC_JUDGE_FINDINGS)
        return NULL;
    if (v->n_findings == 0)
        v->status = status;
    kc_buf_t text = {0};
    va_list args;
    va_start (args, format);
    kc_buf_vprintf (&text, format, args);
    va_end (args);
    kc_verdict_finding_t *f =
        kc_push (&v->findings, &v->n_findings, sizeof *v->findings);
    kc_type_init (&kc_verdict_finding_type, f);
    f->status = status;
    f->text = kc_utf8_clean (kc_buf_str (&text), text.size, 1000);
    kc_buf_free (&text);
    return f;
}

void kc_judge_add (kc_verdict_t *v, const kc_verdict_finding_t *finding,
                   const char *name)
{
    if (v->n_findings >= KC_JUDGE_FINDINGS)
        return;
    if (v->n_findings == 0)
        v->status = finding->status;
    kc_verdict_finding_t *copy = kc_type_dup (&kc_verdict_finding_type, finding);
    kc_verdict_finding_t *f =
        kc_push (&v->findings, &v->n_findings, sizeof *v->findings);
    *f = *copy; // the entry takes what the copy owns
    free (copy);
    if (name && !f->case_)
        f->case_ = kc_utf8_clean (name, strlen (name), 256);
}

bool kc_judge_has_label (const kc_verdict_t *v, kc_verdict_label_t label)
{
    for (size_t i = 0; i < v->n_labels; i++)
        if (v->labels[i] == label)
            return true;
    return false;
}

void kc_judge_label (kc_verdict_t *v, kc_verdict_label_t label)
{
    if (kc_judge_has_label (v, label))
        return;
    kc_verdict_label_t *slot = kc_push (&v->labels, &v->n_labels, sizeof *v->labels);
    *slot = label;
}

static kc_verdict_checked_t *s_checked (kc_verdict_t *v)
{
    if (!v->checked)
        v->checked = kc_verdict_checked_new ();
    return v->checked;
}

static void s_largest (bool *has, double *value, double now)
{
    if (!isfinite (now) || (*has && *value >= now))
        return;
    *has = true;
    *value = now;
}

static void s_why (kc_verdict_t *v, const kc_compare_t *c, const char *tensor,
                   const int64_t *sizes, int rank, const char *name)
{
    int64_t position[KC_COMPARE_RANK] = {0};
    kc_buf_t place = {0};
    kc_verdict_finding_t *f;
    if (c->first_bad >= 0) {
        kc_position (c->first_bad, sizes, rank, position);
        for (int d = 0; d < rank; d++)
            kc_buf_printf (&place, "%s%" PRId64, d ? "," : "", position[d]);
        if (c->first_unwritten)
            f = kc_judge_finding (
                v, KC_VERDICT_STATUS_WRONG_OUTPUT,
                "%s[%s] was never written (it still holds the poison 0x%02x); %" PRId64
                " of %" PRId64 " elements are wrong, %" PRId64 " of them never written",
                tensor, kc_buf_str (&place), (unsigned)c->spec.poison, c->bad,
                c->spec.elements, c->unwritten);
        else
            f = kc_judge_finding (
                v, KC_VERDICT_STATUS_WRONG_OUTPUT,
                "%s[%s] is %.9g, expected %.9g; %" PRId64 " of %" PRId64
                " elements are wrong, the largest error is %.3g times its limit",
                tensor, kc_buf_str (&place), c->got, c->expected, c->bad,
                c->spec.elements, c->max_scaled);
    }
    else if (c->at < c->spec.elements)
        f = kc_judge_finding (v, KC_VERDICT_STATUS_INFRA_ERROR,
                              "only %" PRId64 " of %" PRId64
                              " elements of %s came back from the runner",
                              c->at, c->spec.elements, tensor);
    else
        f = kc_judge_finding (v, KC_VERDICT_STATUS_WRONG_OUTPUT,
                              "%s is less precise than the policy allows: relative RMS "
                              "error %.3g, limit %.3g",
                              tensor, c->relative, c->spec.tolerance.relative);
    kc_buf_free (&place);
    if (!f)
        return;
    kc_set (&f->buffer, tensor);
    f->case_ = name ? kc_utf8_clean (name, strlen (name), 256) : NULL;
    f->has_elements = true;
    f->elements = c->spec.elements;
    f->has_bad_elements = true;
    f->bad_elements = c->bad;
    if (c->first_bad < 0) {
        kc_set (&f->fix, "accumulate in fp32 or better and avoid approximate or 16-bit "
                         "intermediate values");
        return;
    }
    f->has_index = true;
    f->index = c->first_bad;
    for (int d = 0; d < rank; d++) {
        int64_t *p = kc_push (&f->position, &f->n_position, sizeof *p);
        *p = position[d];
    }
    f->has_expected = isfinite (c->expected);
    f->expected = c->expected;
    f->has_got = isfinite (c->got);
    f->got = c->got;
    if (c->first_unwritten)
        kc_set (&f->fix, "every element of every output must be written: check the "
                         "grid, the bounds test and the tail");
    else if (c->bad * 8 < c->spec.elements)
        kc_set (&f->fix, "few elements are wrong: look at tails, block edges and "
                         "elements at the end of rows");
}

bool kc_judge_output (kc_verdict_t *v, const kc_compare_t *c, bool right,
                      const char *tensor, const int64_t *sizes, int rank,
                      const char *name)
{
    kc_verdict_checked_t *k = s_checked (v);
    s_largest (&k->has_max_scaled, &k->max_scaled, c->max_scaled);
    s_largest (&k->has_max_abs, &k->max_abs, c->max_abs);
    s_largest (&k->has_rms_relative, &k->rms_relative, c->relative);
    if (!right)
        s_why (v, c, tensor, sizes, rank, name);
    return right;
}

double kc_judge_byte_floor (const kc_card_t *card)
{
    if (!card->floor || !card->device || !card->device->has_bandwidth
        || !(card->device->bandwidth > 0))
        return 0;
    const double reads = (double)card->floor->read_bytes,
                 writes = (double)card->floor->write_bytes;
    const double l2 =
        card->device->has_l2_bytes ? (double)card->device->l2_bytes : writes;
    return (reads + (writes > l2 ? writes - l2 : 0)) / card->device->bandwidth * 1e6;
}

bool kc_judge_timing (kc_verdict_t *v, kc_verdict_timing_who_t who, const double *us,
                      int n, bool graph, bool estimate)
{
    for (int i = 0; i < n; i++)
        if (!isfinite (us[i]) || us[i] <= 0)
            n = -1;
    if (n <= 0) {
        kc_judge_finding (v, KC_VERDICT_STATUS_NO_MEASUREMENT,
                          "%s: no usable time sample",
                          kc_enum_name (&kc_verdict_timing_who_type, (unsigned)who));
        return false;
    }
    const kc_summary_t s = kc_summary (us, n);
    kc_verdict_timing_t *t = kc_push (&v->timings, &v->n_timings, sizeof *v->timings);
    kc_type_init (&kc_verdict_timing_type, t);
    t->who = who;
    t->median_us = s.median;
    t->n = n;
    t->launch =
        graph ? KC_VERDICT_TIMING_LAUNCH_GRAPH : KC_VERDICT_TIMING_LAUNCH_STREAM;
    t->estimate = estimate;
    t->has_mean_us = t->has_min_us = true;
    t->mean_us = s.mean;
    t->min_us = s.min;
    if (estimate) { // a model is deterministic: the interval is the point
        t->has_lo_us = t->has_hi_us = true;
        t->lo_us = t->hi_us = s.median;
        return true;
    }
    t->has_stdev_us = t->has_q1_us = t->has_q3_us = s.has_spread;
    t->stdev_us = s.stdev;
    t->q1_us = s.q1;
    t->q3_us = s.q3;
    t->has_lo_us = t->has_hi_us = s.has_interval;
    t->lo_us = s.lo;
    t->hi_us = s.hi;
    return true;
}

void kc_judge_ratio (kc_verdict_t *v, kc_verdict_ratio_over_t over,
                     const double *candidate, const double *yardstick, int n,
                     bool estimate)
{
    const kc_ratio_t r = kc_ratio (candidate, yardstick, n, estimate);
    kc_verdict_ratio_t *out = kc_push (&v->ratios, &v->n_ratios, sizeof *v->ratios);
    kc_type_init (&kc_verdict_ratio_type, out);
    out->over = over;
    out->speedup = r.value;
    out->has_lo = out->has_hi = r.has_interval;
    out->lo = r.lo;
    out->hi = r.hi;
    out->comparison = r.comparison;
}

static const kc_verdict_timing_t *s_timing (const kc_verdict_t *v,
                                            kc_verdict_timing_who_t who)
{
    for (size_t i = 0; i < v->n_timings; i++)
        if (v->timings[i].who == who)
            return &v->timings[i];
    return NULL;
}

void kc_judge_floor (kc_verdict_t *v, const kc_card_t *card, bool second)
{
    const kc_verdict_timing_t *t = s_timing (v, KC_VERDICT_TIMING_WHO_CANDIDATE);
    if (!t || !card->floor)
        return;
    if (t->estimate)
        kc_judge_label (v, KC_VERDICT_LABEL_ESTIMATE);
    if (card->floor->us > 0 && t->median_us > 0) {
        v->has_floor_share = true;
        v->floor_share = card->floor->us / t->median_us;
    }
    const double bytes = kc_judge_byte_floor (card);
    if (bytes > 0 && t->median_us < KC_IMPOSSIBLE_SHARE * bytes) {
        kc_verdict_finding_t *f =
            kc_judge_finding (v, KC_VERDICT_STATUS_IMPOSSIBLE,
                              "%.3f us%s is below the %.3f us that reading and writing "
                              "the task's bytes once takes at %.0f GB/s",
                              t->median_us, t->estimate ? " (estimate)" : "", bytes,
                              card->device->bandwidth / 1e9);
        if (f)
            kc_set (&f->fix,
                    "the program does not do all the work in the timed region");
        return;
    }
    bool audit = card->floor->us > 0 && t->median_us < KC_AUDIT_SHARE * card->floor->us
                 && card->floor->us > 1.001 * card->floor->bytes_us;
    for (size_t i = 0; i < v->n_ratios; i++)
        if (v->ratios[i].over == KC_VERDICT_RATIO_OVER_BASELINE
            && v->ratios[i].speedup > KC_AUDIT_SPEEDUP)
            audit = true;
    if (audit && !second)
        kc_judge_label (v, KC_VERDICT_LABEL_AUDIT);
}

void kc_judge_kernels (kc_verdict_t *v, const kc_runner_kernel_t *kernels, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool known = false;
        for (size_t k = 0; k < v->n_kernels && !known; k++)
            known = strcmp (v->kernels[k].name, kernels[i].name) == 0;
        if (known)
            continue;
        kc_verdict_kernel_t *out =
            kc_push (&v->kernels, &v->n_kernels, sizeof *v->kernels);
        kc_type_init (&kc_verdict_kernel_type, out);
        kc_set (&out->name, kernels[i].name);
        out->has_registers = out->has_shared_bytes = out->has_local_bytes =
            out->has_spill_bytes = true;
        out->registers = kernels[i].registers;
        out->registers_estimated = kernels[i].registers_estimated;
        out->shared_bytes = kernels[i].shared_static;
        out->local_bytes = kernels[i].local_bytes;
        out->spill_bytes = kernels[i].spill_bytes;
    }
}

bool kc_judge_cacheable (const kc_verdict_t *v)
{
    switch (v->status) {
    case KC_VERDICT_STATUS_UNSET:
    case KC_VERDICT_STATUS_TIMEOUT:
    case KC_VERDICT_STATUS_LAUNCH_ERROR:
    case KC_VERDICT_STATUS_NO_MEASUREMENT:
    case KC_VERDICT_STATUS_INFRA_ERROR:
        return false;
    case KC_VERDICT_STATUS_OK:
    case KC_VERDICT_STATUS_COMPILE_ERROR:
    case KC_VERDICT_STATUS_PLAN_ERROR:
    case KC_VERDICT_STATUS_OUT_OF_BOUNDS:
    case KC_VERDICT_STATUS_RACE:
    case KC_VERDICT_STATUS_BARRIER_DIVERGENCE:
    case KC_VERDICT_STATUS_WRONG_OUTPUT:
    case KC_VERDICT_STATUS_INPUT_MUTATED:
    case KC_VERDICT_STATUS_IMPOSSIBLE:
    case KC_VERDICT_STATUS_UNSUPPORTED:
        break;
    }
    return !kc_judge_has_label (v, KC_VERDICT_LABEL_NONDETERMINISTIC);
}

int kc_judge_cache_key (const kc_judge_key_t *key, char hex[KC_SHA_HEX])
{
    char card[KC_SHA_HEX];
    if (kc_type_hash (&kc_card_type, key->card, card) < 0) {
        hex[0] = '\0';
        return -1;
    }
    kc_sha_t s;
    kc_sha_init (&s);
    kc_sha_str (&s, "kernelclaw verdict");
    const uint32_t version = KC_JUDGE_VERSION;
    kc_sha_add (&s, &version, sizeof version);
    kc_sha_str (&s, key->code_hash);
    kc_sha_str (&s, card); // policy and device class are in it
    for (size_t i = 0; i < key->n_yardsticks; i++)
        kc_sha_str (&s, key->yardsticks[i]);
    kc_sha_str (&s, key->compiler);
    kc_sha_str (&s, key->timed ? "timed" : "checked");
    kc_sha_hex (&s, hex);
    return 0;
}
