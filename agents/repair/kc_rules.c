// kc_rules.c - see kc_rules.h

#include "agents/repair/kc_rules.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/model/kc_card.h"
#include "common/model/kc_lift.h"
#include "common/model/kc_program.h"
#include "common/model/kc_program_args.h"
#include "common/model/kc_program_text.h"
#include "common/model/kc_signature.h"
#include "common/util/kc_mem.h"
#include "common/util/kc_opt.h"

enum {
    TYPO = 2,               // edits between a name and what it was meant to be
    REGISTERS_MIN = 16,     // what a kernel can be held to
    REGISTERS_STEP = 8,     // allocation granularity per thread
};

// A rule changes 'program' and says why, or returns false and leaves it as it was.
typedef bool (rule_f) (const kc_repair_fix_t *request, kc_program_t **program, char **why);

// ---- lift ----

static bool s_lift (const kc_repair_fix_t *request, kc_program_t **program, char **why)
{
    const char *source = (*program)->source;
    if (!kc_lift_applies (source, strlen (source)))
        return false;
    kc_err_t err = {0};
    char *text = kc_lift (source, strlen (source), request->card, &err);
    kc_program_text_t *parsed = text ? kc_program_text_parse (text, strlen (text), request->card, NULL) : NULL;
    free (text);
    if (!parsed)
        return false;
    kc_program_free (program);
    *program = parsed->program;
    parsed->program = NULL;
    kc_program_text_destroy (&parsed);
    *why = kc_strdup ("the host launch code was turned into plan lines");
    return true;
}

// ---- entry ----

static kc_program_kernel_t *s_kernel_step (kc_program_t *program, size_t block, size_t step)
{
    kc_program_step_t *s = &program->blocks[block].steps[step];
    return s->kind == KC_PROGRAM_STEP_KERNEL ? s->u.kernel : NULL;
}

// The kernel that 'name' was meant to be: the only one, or one that differs by a typo or by case.
static const char *s_meant (const kc_signatures_t *signatures, const char *name)
{
    const char *best = NULL;
    int distance = TYPO + 1;
    for (size_t i = 0; i < signatures->n; i++) {
        const char *known = signatures->items[i].name;
        int d = strcasecmp (known, name) ? kc_word_distance (known, name) : 0;
        if (d < distance) {
            distance = d;
            best = known;
        }
    }
    return best ? best : signatures->n == 1 ? signatures->items[0].name : NULL;
}

static bool s_entry (const kc_repair_fix_t *request, kc_program_t **program, char **why)
{
    (void)request;
    kc_signatures_t *signatures = kc_signatures_read ((*program)->source, NULL);
    bool changed = false;
    for (size_t b = 0; signatures && b < (*program)->n_blocks; b++)
        for (size_t s = 0; s < (*program)->blocks[b].n_steps; s++) {
            kc_program_kernel_t *step = s_kernel_step (*program, b, s);
            if (!step || kc_signatures_find (signatures, step->kernel))
                continue;
            const char *meant = s_meant (signatures, step->kernel);
            if (!meant || kc_signatures_find (signatures, meant)->n_template != step->n_template)
                continue;
            if (!changed)
                *why = kc_asprintf ("the source has no kernel %s; its kernel is %s", step->kernel, meant);
            changed = true;
            kc_set (&step->kernel, meant);
        }
    kc_signatures_destroy (&signatures);
    return changed;
}

// ---- arguments ----

static bool s_is_known (const kc_card_t *card, const kc_program_t *program, const char *name)
{
    if (kc_card_tensor (card, name))
        return true;
    for (size_t i = 0; i < card->n_dims; i++)
        if (!strcmp (card->dims[i].name, name))
            return true;
    for (size_t i = 0; i < program->n_constants; i++)
        if (!strcmp (program->constants[i].name, name))
            return true;
    for (size_t i = 0; i < program->n_buffers; i++)
        if (!strcmp (program->buffers[i].name, name))
            return true;
    for (size_t i = 0; i < program->n_views; i++)
        if (!strcmp (program->views[i].name, name))
            return true;
    return false;
}

static void s_nearer (const char *name, const char *known, const char **best, int *distance)
{
    int d = kc_word_distance (name, known);
    if (d < *distance) {
        *distance = d;
        *best = known;
    }
    else if (d == *distance && *best && strcmp (*best, known))
        *best = NULL; // two are equally near: no certainty
}

// The tensor or buffer (pointer) or dim (value) that a parameter's name is a typo of, NULL when unsure.
static const char *s_nearest (const kc_card_t *card, const kc_program_t *program, const char *name, bool pointer)
{
    const char *best = NULL;
    int distance = TYPO + 1;
    for (size_t i = 0; pointer && i < card->n_tensors; i++)
        s_nearer (name, card->tensors[i].name, &best, &distance);
    for (size_t i = 0; pointer && i < program->n_buffers; i++)
        s_nearer (name, program->buffers[i].name, &best, &distance);
    for (size_t i = 0; !pointer && i < card->n_dims; i++)
        s_nearer (name, card->dims[i].name, &best, &distance);
    return strlen (name) > TYPO ? best : NULL; // in a one-letter name every letter is a typo of every other
}

static kc_program_arg_t *s_find_arg (kc_program_kernel_t *step, const char *param)
{
    for (size_t i = 0; i < step->n_args; i++)
        if (!strcmp (step->args[i].param, param))
            return &step->args[i];
    return NULL;
}

// Arguments for parameters that do not exist go; the rest binds by name.
static bool s_drop_strangers (kc_program_kernel_t *step, const kc_kernel_signature_t *signature)
{
    size_t kept = 0;
    for (size_t i = 0; i < step->n_args; i++) {
        bool known = false;
        for (size_t p = 0; p < signature->n_params; p++)
            known = known || !strcmp (signature->params[p].name, step->args[i].param);
        if (known)
            step->args[kept++] = step->args[i];
        else
            kc_type_clear (&kc_program_arg_type, &step->args[i]);
    }
    bool changed = kept != step->n_args;
    step->n_args = kept;
    return changed;
}

static bool s_bind_typos (const kc_card_t *card, const kc_program_t *program, kc_program_kernel_t *step,
                          const kc_kernel_signature_t *signature)
{
    bool changed = false;
    for (size_t p = 0; p < signature->n_params; p++) {
        const kc_param_t *param = &signature->params[p];
        kc_program_arg_t *arg = s_find_arg (step, param->name);
        // an argument that only repeats the parameter's name was derived, not given
        if ((arg && !kc_program_arg_derived (arg, param)) || s_is_known (card, program, param->name))
            continue;
        const char *meant = s_nearest (card, program, param->name, param->pointer);
        if (!meant)
            continue;
        if (!arg) {
            arg = kc_push (&step->args, &step->n_args, sizeof *step->args);
            kc_type_init (&kc_program_arg_type, arg);
            arg->param = kc_strdup (param->name);
        }
        kc_set (param->pointer ? &arg->tensor : &arg->value, meant);
        changed = true;
    }
    return changed;
}

static bool s_arguments (const kc_repair_fix_t *request, kc_program_t **program, char **why)
{
    kc_signatures_t *signatures = kc_signatures_read ((*program)->source, NULL);
    bool changed = false;
    for (size_t b = 0; signatures && b < (*program)->n_blocks; b++)
        for (size_t s = 0; s < (*program)->blocks[b].n_steps; s++) {
            kc_program_kernel_t *step = s_kernel_step (*program, b, s);
            const kc_kernel_signature_t *signature = step ? kc_signatures_find (signatures, step->kernel) : NULL;
            if (!signature)
                continue;
            bool dropped = s_drop_strangers (step, signature);
            bool bound = s_bind_typos (request->card, *program, step, signature);
            if ((dropped || bound) && !changed)
                *why = kc_asprintf ("the arguments of %s did not fit its parameters and now bind by name", step->kernel);
            changed = changed || dropped || bound;
        }
    kc_signatures_destroy (&signatures);
    return changed;
}

// ---- resources ----

// Registers one thread may have so that the largest launch fits the SM.  The step's block is an expression;
// the kernel's register count and the failing launch's threads come from the verdict.
static bool s_resources (const kc_repair_fix_t *request, kc_program_t **program, char **why)
{
    kc_device_facts_t facts;
    kc_card_facts (request->card->device, &facts);
    int64_t worst = 0;
    for (size_t i = 0; i < request->verdict->n_kernels; i++)
        if (request->verdict->kernels[i].has_registers && request->verdict->kernels[i].registers > worst)
            worst = request->verdict->kernels[i].registers;
    // Any block of at most the device's maximum fits when a thread has at most this many.
    int64_t fits = facts.regs_block / facts.max_threads_block / REGISTERS_STEP * REGISTERS_STEP;
    if (worst <= fits || fits < REGISTERS_MIN)
        return false;
    kc_program_compile_t *compile = (*program)->compile;
    if (compile && compile->has_max_registers && compile->max_registers <= fits)
        return false;
    if (!compile)
        compile = (*program)->compile = kc_program_compile_new ();
    compile->has_max_registers = true;
    compile->max_registers = fits;
    *why = kc_asprintf ("%lld registers per thread do not fit the block; the compiler is held to %lld", (long long)worst,
                        (long long)fits);
    return true;
}

// ---- the table ----

typedef struct rule {
    const char *name;
    rule_f *apply;
    const kc_verdict_status_t when[3]; // ended by UNSET
} rule_t;

static const rule_t s_rules[] = {
    {"lift", s_lift, {KC_VERDICT_STATUS_COMPILE_ERROR, KC_VERDICT_STATUS_PLAN_ERROR}},
    {"entry", s_entry, {KC_VERDICT_STATUS_PLAN_ERROR, KC_VERDICT_STATUS_COMPILE_ERROR}},
    {"arguments", s_arguments, {KC_VERDICT_STATUS_PLAN_ERROR}},
    {"resources", s_resources, {KC_VERDICT_STATUS_LAUNCH_ERROR, KC_VERDICT_STATUS_PLAN_ERROR}},
};

static bool s_concerns (const rule_t *rule, kc_verdict_status_t status)
{
    for (size_t i = 0; i < KC_COUNT (rule->when); i++)
        if (rule->when[i] != KC_VERDICT_STATUS_UNSET && rule->when[i] == status)
            return true;
    return false;
}

static bool s_used (const kc_repair_fix_t *request, const char *rule)
{
    for (size_t i = 0; i < request->n_chain; i++)
        if (!strcmp (request->chain[i].rule, rule))
            return true;
    return false;
}

static bool s_tried (const kc_repair_fix_t *request, const char *hash)
{
    for (size_t i = 0; i < request->n_tried; i++)
        if (!strcmp (request->tried[i].hash, hash))
            return true;
    return false;
}

static kc_candidate_t *s_candidate (const kc_repair_fix_t *request, kc_program_t *program, const char *hash, const char *why)
{
    kc_candidate_t *c = kc_candidate_new ();
    c->program = program;
    c->writer = KC_CANDIDATE_WRITER_RULE;
    kc_set (&c->hash, hash);
    kc_set (&c->method, request->failed->method);
    kc_set (&c->parent, request->failed->hash);
    kc_set (&c->note, why);
    return c;
}

kc_repair_fix_reply_t *kc_rules_fix (const kc_repair_fix_t *request)
{
    kc_repair_fix_reply_t *reply = kc_repair_fix_reply_new ();
    reply->note = kc_memory_repair_note_new ();
    kc_set (&reply->note->failed, request->failed->hash);
    for (size_t i = 0; i < KC_COUNT (s_rules) && !reply->candidate; i++) {
        if (!s_concerns (&s_rules[i], request->verdict->status) || s_used (request, s_rules[i].name))
            continue;
        kc_program_t *program = kc_program_dup (request->failed->program);
        char *why = NULL;
        char hash[KC_SHA_HEX];
        if (s_rules[i].apply (request, &program, &why) && kc_program_hash (program, hash) == 0
            && !s_tried (request, hash)) {
            reply->candidate = s_candidate (request, program, hash, why);
            program = NULL;
            kc_set (&reply->note->rule, s_rules[i].name);
            kc_set (&reply->note->why, why);
        }
        kc_program_free (&program);
        free (why);
    }
    if (!reply->candidate) {
        kc_set (&reply->note->rule, "roll_back");
        kc_set (&reply->note->why, request->base ? "no rule mends this with certainty; the last change is given up"
                                                 : "no rule mends this with certainty, and there is nothing to go back to");
        reply->note->gave_up = true;
    }
    return reply;
}
