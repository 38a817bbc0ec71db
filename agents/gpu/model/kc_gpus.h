/* kc_gpus.h - the table of GPUs (gpus.json, built into the binary)
 *
 * Names are compared without case and with spaces, '-' and '_' alike; a unique part is enough ("h200").
 */
#ifndef KC_GPUS_H
#define KC_GPUS_H

#include "common/model/kc_plan.h"
#include "common/msg/gen/card.h"
#include "common/msg/gen/gpu.h"

// A copy of the row, or NULL with KC_ENOTFOUND and the known names.  NULL or "" gives the first row.
kc_gpu_gpu_t *kc_gpus_find (const char *name, kc_err_t *err);
// What expressions may name and launches are checked against.
void kc_gpus_facts (const kc_gpu_gpu_t *gpu, kc_device_facts_t *facts);
// Do these two names mean the same GPU?
bool kc_gpus_same (const char *a, const char *b);

#endif // KC_GPUS_H
