/* kc_finding.h - findings about a program or a task text: what is wrong, where, in
 * words to act on
 *
 * Everything in this folder that judges a document fills the findings of a kc_verdict_t
 * (made with kc_verdict_new), so that a person, a model and the memory see the same
 * list.  At most KC_FINDINGS_MAX are kept; further ones are dropped.  The first finding
 * decides the status.
 */
#ifndef KC_FINDING_H
#define KC_FINDING_H

#include "common/msg/gen/verdict.h"

enum { KC_FINDINGS_MAX = 8 };

// Add one finding; line 0 and step -1 mean unknown.  Sets the verdict's status when it
// is the first. 'verdict' may be NULL (the finding is dropped).  Return -1, so that a
// caller can return it.
int kc_finding (kc_verdict_t *verdict, kc_verdict_status_t status, int line, int step,
                const char *format, ...) __attribute__ ((format (printf, 5, 6)));
// One line per finding: "line 12: text" or "step 3: text"; caller frees; never NULL.
char *kc_findings_text (const kc_verdict_t *verdict);
// Add 'known' words to a sentence: the nearest one as "did you mean", else the list (at
// most 24 words). Caller frees; never NULL.
char *kc_suggest (const char *word, const char *const *known, size_t n_known);

#endif // KC_FINDING_H
