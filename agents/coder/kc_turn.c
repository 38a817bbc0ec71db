// kc_turn.c - see kc_turn.h

#include "agents/coder/kc_turn.h"

#include <stdlib.h>
#include <string.h>

#include "common/model/kc_moves.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_map.h"
#include "common/util/kc_mem.h"

kc_coder_seed_reply_t *kc_turn_seed (const kc_coder_seed_t *request, kc_err_t *err)
{
    const kc_card_t *card = request->card;
    if (card->kind != KC_TASK_KIND_CUDA || !card->seed) {
        kc_fail (err, KC_EUNSUPPORTED, "no writer here for tasks of kind %s; a cuda task brings its own first kernel",
                 kc_task_kind_name (card->kind));
        return NULL;
    }
    kc_coder_seed_reply_t *reply = kc_coder_seed_reply_new ();
    reply->written = kc_coder_written_new ();
    kc_candidate_t *c = reply->written->candidate = kc_candidate_new ();
    c->program = kc_program_dup (card->seed);
    c->writer = KC_CANDIDATE_WRITER_GIVEN;
    char hash[KC_SHA_HEX];
    if (kc_type_hash (&kc_program_type, c->program, hash) == 0)
        kc_set (&c->hash, hash);
    kc_set (&c->note, "the given kernel with its tunables at their defaults");
    return reply;
}

// "ITEMS 1 -> 4, BLOCK 64 -> 128"
static char *s_describe (const kc_move_t *move)
{
    kc_buf_t b = {0};
    for (size_t i = 0; i < move->n_changes; i++) {
        const kc_candidate_change_t *c = &move->changes[i];
        kc_buf_printf (&b, "%s%s %s -> %s", i ? ", " : "", c->name, c->from ? c->from : "unset", c->to);
    }
    return kc_buf_take (&b);
}

kc_coder_optimise_reply_t *kc_turn_optimise (const kc_coder_optimise_t *request, kc_err_t *err)
{
    if (request->card->kind != KC_TASK_KIND_CUDA) {
        kc_fail (err, KC_EUNSUPPORTED, "no writer here for tasks of kind %s", kc_task_kind_name (request->card->kind));
        return NULL;
    }
    kc_map_t *tried = kc_map_new (NULL);
    for (size_t i = 0; i < request->n_tried; i++)
        kc_map_put (tried, request->tried[i].hash, tried);
    const char *method = request->method->id;
    size_t n = 0;
    kc_move_t *moves = kc_moves_list (request->card, request->base->program, method, &n);
    kc_coder_optimise_reply_t *reply = kc_coder_optimise_reply_new ();
    reply->written = kc_coder_written_new ();
    for (size_t i = 0; i < n && !reply->written->candidate; i++) {
        if (kc_map_get (tried, moves[i].hash))
            continue;
        kc_candidate_t *c = reply->written->candidate = kc_candidate_new ();
        c->program = moves[i].program;
        moves[i].program = NULL; // taken
        c->writer = KC_CANDIDATE_WRITER_EXPERT;
        kc_set (&c->hash, moves[i].hash);
        kc_set (&c->method, method);
        kc_set (&c->parent, request->base->hash);
        c->changes = moves[i].changes;
        c->n_changes = moves[i].n_changes;
        c->note = s_describe (&moves[i]);
        moves[i].changes = NULL;
        moves[i].n_changes = 0;
    }
    if (!reply->written->candidate)
        reply->written->exhausted
            = n ? kc_asprintf ("all %zu changes of %s on this base were tried", n, method)
                : kc_asprintf ("the kernel declares no tunable and has no switch for %s", method);
    kc_moves_free (moves, n);
    kc_map_destroy (&tried);
    return reply;
}
