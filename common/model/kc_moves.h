/* kc_moves.h - every single change that a method may make to a program of a cuda task
 *
 * A pure function of card and program: the same arguments give the same list in the
 * same order, so a planner and its successor agree.  For a method: each other value of
 * every tunable that serves it (neighbours of the present value first: next larger,
 * next smaller, then further away), and the compile and launch switches that carry it
 * out.  No change that leaves the program as it is.
 */
#ifndef KC_MOVES_H
#define KC_MOVES_H

#include <stddef.h>

#include "common/msg/gen/candidate.h"
#include "common/msg/gen/card.h"
#include "common/msg/gen/program.h"
#include "common/util/kc_hash.h"

typedef struct kc_move {
    char *method;
    size_t n_changes; // one today
    kc_candidate_change_t *changes;
    kc_program_t *program; // a copy with the change applied
    char hash[KC_SHA_HEX];
} kc_move_t;

// The moves of 'method' (NULL: of all methods, tunables first, in the card's order).
// Free with kc_moves_free; NULL with *n_p = 0 when there is none.
kc_move_t *kc_moves_list (const kc_card_t *card, const kc_program_t *program,
                          const char *method, size_t *n_p);
void kc_moves_free (kc_move_t *moves, size_t n);
// The methods that have at least one move, each once, in that order.  Caller frees
// strings and array.
char **kc_moves_methods (const kc_card_t *card, const kc_program_t *program,
                         size_t *n_p);

#endif // KC_MOVES_H
