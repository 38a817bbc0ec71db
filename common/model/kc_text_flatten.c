// kc_text_flatten.c - the tree of steps, loops and conditions of a program text becomes
// blocks
//
// A block is one loop nest with steps, so steps beside an inner loop become steps of
// its first or last turn.

#include <stdint.h>
#include <stdlib.h>

#include "common/model/kc_expr.h"
#include "common/model/kc_program.h"
#include "common/model/kc_text_parser.h"
#include "common/util/kc_mem.h"

typedef struct s_flat {
    kc_text_parser_t *s;
    kc_program_block_t **blocks;
    size_t *n;
    kc_program_block_t *open; // the block that takes plain steps, NULL = begin one
} s_flat_t;

static char *s_and (const char *a, const char *b)
{
    if (!a || !b)
        return kc_strdup (a ? a : b);
    return kc_asprintf ("(%s) && (%s)", a, b);
}

static kc_program_block_t *s_block (s_flat_t *f, const char *when)
{
    kc_program_block_t *block = kc_push (f->blocks, f->n, sizeof *block);
    kc_type_init (&kc_program_block_type, block);
    block->when = kc_strdup (when);
    return block;
}

// Move the step of 'item' into 'block', 'when' added to its own condition.
static void s_put_step (s_flat_t *f, kc_program_block_t *block, kc_item_t *item,
                        const char *when)
{
    kc_program_step_t *step = kc_push (&block->steps, &block->n_steps, sizeof *step);
    *step = item->step;
    item->step.kind = 0;
    if (when) {
        const kc_type_t *type;
        const void *object = kc_program_step_object (step, &type);
        const kc_field_t *field = kc_type_field (type, "when");
        char **own = (char **)((uintptr_t)object + field->at);
        char *both = s_and (when, *own);
        free (*own);
        *own = both;
        f->s->line = item->line;
        kc_text_expr (f->s, both); // may have grown past its bounds
    }
    *(int *)kc_push (&f->s->out->step_lines, &f->s->out->n_step_lines, sizeof (int)) =
        item->line;
}

// Loops directly inside 'item', through ifs; the last one in *loop_p, and whether steps
// stand beside it.
static size_t s_loops_inside (kc_item_t *item, kc_item_t **loop_p, size_t *steps)
{
    size_t n = 0;
    for (size_t i = 0; i < item->n; i++) {
        kc_item_t *child = item->items[i];
        if (child->kind == KC_ITEM_STEP)
            (*steps)++;
        else if (child->kind == KC_ITEM_FOR) {
            n++;
            *loop_p = child;
        }
        else if (child->kind == KC_ITEM_IF)
            n += s_loops_inside (child, loop_p, steps);
    }
    return n;
}

static bool s_positive_literal (const char *text)
{
    int64_t v;
    return kc_expr_int (text, NULL, &v, NULL) == 0 && v > 0;
}

static int s_flatten_loop (s_flat_t *f, kc_program_block_t *block, kc_item_t *loop,
                           const char *when, bool guarded);

// The steps inside a loop: those beside an inner loop run in its first or last turn.
static int s_flatten_body (s_flat_t *f, kc_program_block_t *block, kc_item_t *item,
                           const char *when, kc_item_t *inner, const char *first,
                           const char *last, bool *passed)
{
    for (size_t i = 0; i < item->n; i++) {
        kc_item_t *child = item->items[i];
        int rc = 0;
        if (child->kind == KC_ITEM_STEP) {
            char *cond = s_and (when, inner ? (*passed ? last : first) : NULL);
            s_put_step (f, block, child, cond);
            free (cond);
        }
        else if (child->kind == KC_ITEM_IF) {
            char *cond = s_and (when, child->cond);
            rc = s_flatten_body (f, block, child, cond, inner, first, last, passed);
            free (cond);
        }
        else if (child->kind == KC_ITEM_FOR) {
            rc = s_flatten_loop (f, block, child, when, first != NULL);
            *passed = true;
        }
        if (rc < 0)
            return -1;
    }
    return 0;
}

// Add 'loop' to the block's nest, then its body.  'guarded': steps beside it share the
// nest, so its count is at least 1 and its own steps ask whether they are inside the
// real one.
static int s_flatten_loop (s_flat_t *f, kc_program_block_t *block, kc_item_t *loop,
                           const char *when, bool guarded)
{
    kc_text_parser_t *s = f->s;
    s->line = loop->line;
    if (block->n_for_ == 3)
        return kc_text_bad (s, "at most three loops inside each other");
    kc_program_loop_t *l = kc_push (&block->for_, &block->n_for_, sizeof *l);
    kc_type_init (&kc_program_loop_type, l);
    l->index = kc_strdup (loop->index);
    bool literal = s_positive_literal (loop->count);
    l->count = guarded && !literal ? kc_asprintf ("max(1, %s)", loop->count)
                                   : kc_strdup (loop->count);
    if (kc_text_expr (s, l->count) < 0)
        return -1;
    kc_item_t *inner = NULL;
    size_t steps = 0, loops = s_loops_inside (loop, &inner, &steps);
    if (loops > 1)
        return kc_text_bad (
            s,
            "a loop holds at most one inner loop; write two loops one after the other");
    char *own =
        guarded && !literal ? kc_asprintf ("%s < %s", loop->index, loop->count) : NULL;
    char *cond = s_and (when, own), *first = NULL, *last = NULL;
    if (inner && steps) {
        bool plain = s_positive_literal (inner->count);
        first = kc_asprintf ("%s == 0", inner->index);
        last = kc_asprintf (plain ? "%s == %s - 1" : "%s == max(1, %s) - 1",
                            inner->index, inner->count);
    }
    bool passed = false;
    int rc = s_flatten_body (f, block, loop, cond, steps ? inner : NULL, first, last,
                             &passed);
    free (own);
    free (cond);
    free (first);
    free (last);
    return rc;
}

static int s_flatten (s_flat_t *f, kc_item_t *item, const char *when)
{
    f->open = NULL;
    for (size_t i = 0; i < item->n; i++) {
        kc_item_t *child = item->items[i];
        int rc = 0;
        switch (child->kind) {
        case KC_ITEM_STEP:
            if (!f->open)
                f->open = s_block (f, when);
            s_put_step (f, f->open, child, NULL);
            break;
        case KC_ITEM_BLOCK:
            f->open = NULL;
            break;
        case KC_ITEM_IF: {
            char *cond = s_and (when, child->cond);
            f->s->line = child->line;
            rc = kc_text_expr (f->s, cond);
            if (rc == 0)
                rc = s_flatten (f, child, cond);
            free (cond);
            f->open = NULL;
            break;
        }
        case KC_ITEM_FOR: {
            kc_item_t *ignored;
            size_t steps = 0, loops = s_loops_inside (child, &ignored, &steps);
            if (steps || loops)
                rc = s_flatten_loop (f, s_block (f, when), child, NULL, false);
            f->open = NULL;
            break;
        }
        }
        if (rc < 0)
            return -1;
    }
    return 0;
}

int kc_text_flatten (kc_text_parser_t *s)
{
    s_flat_t f = {.s = s, .blocks = &s->program->prepare, .n = &s->program->n_prepare};
    if (s_flatten (&f, &s->prepare, NULL) < 0)
        return -1;
    f.blocks = &s->program->blocks;
    f.n = &s->program->n_blocks;
    return s_flatten (&f, &s->blocks, NULL);
}
