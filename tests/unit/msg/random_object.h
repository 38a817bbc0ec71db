/* random_object.h - random objects of any type, made from the tables; the same seed
 * gives the same object */
#ifndef RANDOM_OBJECT_H
#define RANDOM_OBJECT_H

#include <stdint.h>

#include "common/msg/kc_codec.h"

uint64_t random_next (uint64_t *state);
// An object that keeps every rule of its schema; free with kc_type_free.
void *random_object (const kc_type_t *type, uint64_t *state);

#endif // RANDOM_OBJECT_H
