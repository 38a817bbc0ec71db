/* kc_err.h - the one table of error codes and the error value every fallible function fills
 *
 * The table expands into the enum, the names on the wire, the exit codes of the programs and the
 * documentation.  A function that can fail returns 0/-1 (or a pointer/NULL) and takes an optional
 * kc_err_t; on failure it has no side effect unless its header says so.
 */
#ifndef KC_ERR_H
#define KC_ERR_H

#include <stddef.h>

// X (SYMBOL, wire name, exit code, what it means and what to do)
#define KC_CODES(X)                                                                    \
    X (OK, "ok", 0, "done")                                                            \
    X (EFAILED, "failed", 1, "the task ended without a correct result")                \
    X (EUSAGE, "usage", 2, "the command line is wrong; see --help")                    \
    X (ENOTFOUND, "not-found", 3, "no such thing; check the id with kclaw list")       \
    X (EREFUSED, "refused", 4, "this role may not do that")                            \
    X (EBUSY, "busy", 5, "a queue is full; try again after retry_after_ms")            \
    X (ETIMEOUT, "timeout", 6, "the time given for it has passed")                     \
    X (EUNREACHABLE, "unreachable", 7, "the broker cannot be reached; is the fleet up?") \
    X (EPROTO, "protocol", 8, "the other side speaks another protocol version")        \
    X (EINVALID, "invalid", 9, "the document is wrong at the place named")             \
    X (EPOISON, "poison", 10, "this request killed two workers and is not tried again") \
    X (ECONFLICT, "conflict", 11, "the same id was used before with another content")  \
    X (ESTALE, "stale-epoch", 12, "another holder has the lease now")                  \
    X (ESTATE, "state", 13, "not possible in the present state")                       \
    X (ECANCELLED, "cancelled", 14, "it was cancelled")                                \
    X (EDISPLACED, "displaced", 15, "a newer process took this instance name")         \
    X (ELOST, "lost", 16, "the worker was lost and the attempts are spent")            \
    X (EUNSUPPORTED, "unsupported", 17, "known, but not available here")               \
    X (EBUDGET, "budget", 18, "the budget is spent")                                   \
    X (EIO, "io", 19, "the operating system refused an operation")                     \
    X (EINTERNAL, "internal", 70, "a defect of ours; please report it")                \
    X (EINTERRUPTED, "interrupted", 130, "interrupted by the user")

typedef enum kc_code {
#define KC_CODE_ENUM(sym, wire, exit_code, text) KC_##sym,
    KC_CODES (KC_CODE_ENUM)
#undef KC_CODE_ENUM
        KC_CODE_COUNT
} kc_code_t;

enum { KC_ERR_TEXT = 512 }; // bytes of kc_err_t.text, the closing zero included

typedef struct kc_err {
    kc_code_t code;
    char text[KC_ERR_TEXT];
} kc_err_t;

// Fill 'err' (which may be NULL) and return -1; a longer text is cut at a UTF-8 boundary.
int kc_fail (kc_err_t *err, kc_code_t code, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
// Put "what: " in front of the text that 'err' already has; return -1.
int kc_fail_in (kc_err_t *err, const char *format, ...) __attribute__ ((format (printf, 2, 3)));
// Fill 'err' from errno value 'number' as KC_EIO, after the formatted words; return -1.
int kc_fail_errno (kc_err_t *err, int number, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
void kc_err_clear (kc_err_t *err);

const char *kc_code_name (kc_code_t code);            // "stale-epoch"
kc_code_t kc_code_parse (const char *name);           // KC_EINTERNAL when unknown
int kc_code_exit (kc_code_t code);                    // the exit status of a program
const char *kc_code_text (kc_code_t code);

#endif // KC_ERR_H
