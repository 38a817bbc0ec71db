/* kc_program_text.h - the text form of programs and cuda tasks: CUDA with //@ lines
 *
 * //@ const [int|float|bool] NAME = EXPR      for plan and source ("host": plan only)
 * //@ scratch NAME DTYPE[E, E] [= 0] [align=N]
 * //@ scratch NAME like TENSOR
 * //@ prepared NAME DTYPE[E, E]
 * //@ view NAME[E, E] = TENSOR [+ E] [strides [E, E]]
 * //@ tensormap NAME = TENSOR box=[E, E] [swizzle=128B] [type=tf32] [write] ...
 * //@ launch KERNEL[<targs>]<<<GRID, BLOCK[, SHARED]>>>[(args)] [cluster=[..]]
 *            [cooperative] [overlap] [carveout=N] [when E]
 * //@ matmul|conv|rnn|attention|copy|fill key=value ... [when E]
 * //@ for I in E ... //@ end
 * //@ if E ... //@ else ... //@ end
 * //@ prepare ... //@ end
 * //@ options fast_math fmad=off max_registers=128 std=c++20
 * //@ order dataflow     //@ graph     //@ stream     //@ block     //@ source
 *
 * //@ task NAME ; what it computes
 * //@ dim N = E
 * //@ input|param|output|inout NAME DTYPE[E, E] [fill=normal(0, 1)]
 *        also integer(0, V - 1): bounds of integers may use the dims
 * //@ check N=37 M=65
 * //@ policy fp32
 * //@ tune NAME in 1 2 4 for Method
 *
 * GRID and BLOCK: an expression, [x, y, z], dim3(x, y, z) or (x, y).  Arguments:
 * tensor, tensor + E, value, or param=one of these; parameters not named take what has
 * their name.  A trailing \ continues a line; what follows ; is a comment.  "block"
 * begins a new block where nothing else does.  Behind "source" the source begins with
 * its line 1 (the writer needs it where a source has no empty lines for the plan).
 *
 * Parsing splits a file into a kc_program_t, whose source keeps the file's line numbers
 * (//@ lines become empty lines), and a kc_task_text_t.  Writing gives text that parses
 * to a program of the same hash.  Findings carry the line of the file and the nearest
 * known word.  Pure, bounded, no state.
 */
#ifndef KC_PROGRAM_TEXT_H
#define KC_PROGRAM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/msg/gen/card.h"
#include "common/msg/gen/program.h"
#include "common/msg/gen/verdict.h"

enum {
    KC_TEXT_MAX = 512 * 1024, // bytes of a file
    KC_TEXT_LINE = 8192,      // of one plan line, continuations joined
    KC_TEXT_DIMS = 64,
    KC_TEXT_TENSORS = 128,
    KC_TEXT_CHECKS = 8,
    KC_TEXT_TUNABLES = 64,
};

typedef struct kc_task_dim {
    char *name;
    char *value; // an expression over earlier dims
    int line;
} kc_task_dim_t;

typedef struct kc_task_tensor {
    char *name;
    kc_card_tensor_role_t role;
    kc_program_dtype_t dtype;
    size_t n_shape;
    char **shape; // expressions over dims
    bool has_fill;
    kc_card_fill_t fill;
    int line;
} kc_task_tensor_t;

typedef struct kc_task_check {
    size_t n_dims;
    kc_task_dim_t *dims;
    int line;
} kc_task_check_t;

typedef struct kc_task_tunable {
    char *name;
    size_t n_values;
    char **values; // literals; the first is the default
    char *method;
    int line;
} kc_task_tunable_t;

typedef struct kc_task_text {
    char *name;
    char *text; // what it computes; NULL = not said
    int line;   // of the task line, 0 = none
    size_t n_dims;
    kc_task_dim_t *dims;
    size_t n_tensors;
    kc_task_tensor_t *tensors;
    size_t n_checks;
    kc_task_check_t *checks;
    kc_card_policy_t policy; // UNSET = not said
    int policy_line;
    size_t n_tunables;
    kc_task_tunable_t *tunables;
} kc_task_text_t;

typedef struct kc_program_text {
    kc_program_t *program; // tunables are among its constants, at their defaults
    kc_task_text_t *task;  // NULL: the file has no task lines
    int source_line; // line of //@ source: the source's line 1 is the next one; 0 =
                     // lines are the file's
    // Where things stand in the file, 0 = nowhere.  Steps: prepare blocks first, then
    // blocks, flattened.
    size_t n_step_lines;
    int *step_lines;
    size_t n_constant_lines;
    int *constant_lines;
    size_t n_buffer_lines;
    int *buffer_lines;
    size_t n_view_lines;
    int *view_lines;
    size_t n_warnings; // "line 30: no line launches kernel k"
    char **warnings;
} kc_program_text_t;

// Parse a file of 'size' bytes.  'card' (may be NULL) is only asked for the tensors
// that "scratch NAME like TENSOR" names.  NULL: 'findings' (may be NULL) has up to 8 of
// status PLAN_ERROR. A file without //@ launch but with <<< >>> in host code is for
// kc_lift; the finding says so.
kc_program_text_t *kc_program_text_parse (const char *text, size_t size,
                                          const kc_card_t *card,
                                          kc_verdict_t *findings);
void kc_program_text_destroy (kc_program_text_t **self_p);

// The program as text; 'task' (may be NULL) adds its lines.  Caller frees.  NULL with
// KC_EINVALID when the program cannot be written as text (its source contains //@ lines
// itself).
char *kc_program_text_write (const kc_program_t *program, const kc_task_text_t *task,
                             kc_err_t *err);

// Give findings that know a step, or begin with a declared name, the line of the file
// where it stands.
void kc_program_text_locate (const kc_program_text_t *self, kc_verdict_t *findings);

// The precision class that follows from the outputs' types when the author says
// nothing.
kc_card_policy_t kc_policy_default (const kc_task_text_t *task);
const char *kc_dtype_name (kc_program_dtype_t dtype); // "f32"
size_t kc_dtype_size (kc_program_dtype_t dtype);      // bytes of an element

#endif // KC_PROGRAM_TEXT_H
