/* cupti_metrics.h - the hardware counters behind the evidence fields, by CUPTI's names
 *
 * One table: every counter, the fields of kernel-program 5.2 it serves, how several
 * launches of one step are joined, and the chips that are known to lack it.  The set is
 * chosen to need few passes: raw sums, no composite "throughput" metrics.  No CUPTI
 * header is needed here.
 */
#ifndef KC_CUPTI_METRICS_H
#define KC_CUPTI_METRICS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum kc_cupti_join { // of the launches of one step
    KC_JOIN_SUM,             // added
    KC_JOIN_TIME,            // mean, weighted by each launch's time
} kc_cupti_join_t;

enum { // chips that lack a counter
    KC_CHIP_GA100 = 1,
    KC_CHIP_AD102 = 2,
    KC_CHIP_GH100 = 4,
    KC_CHIP_GB100 = 8,
};

typedef struct kc_cupti_metric {
    const char *name; // with roll-up: "dram__bytes_read.sum"
    const char
        *fields; // evidence fields, separated by spaces; "" = only completes a sum
    kc_cupti_join_t join;
    unsigned lacking; // KC_CHIP_...
} kc_cupti_metric_t;

extern const kc_cupti_metric_t kc_cupti_metrics[];
extern const size_t kc_cupti_n_metrics;

// The chips that the table is checked for, "GH100" and so on, with their bit and the
// passes expected.
typedef struct kc_cupti_chip {
    const char *name;
    unsigned bit;
    size_t max_passes;
} kc_cupti_chip_t;
extern const kc_cupti_chip_t kc_cupti_chips[];
extern const size_t kc_cupti_n_chips;

// The metric of that name, NULL when it is not in the table.
const kc_cupti_metric_t *kc_cupti_metric (const char *name);

#endif // KC_CUPTI_METRICS_H
