/* kc_map.h - a hash map from strings to pointers; keys are copied, values belong to the caller
 *
 * Iteration follows insertion order (a replaced value keeps its place).  Removing keys while iterating is
 * allowed, putting new ones is not.  Values are never NULL.  The hash is seeded per map, so keys from
 * outside cannot be chosen to collide.
 */
#ifndef KC_MAP_H
#define KC_MAP_H

#include <stddef.h>

typedef struct kc_map kc_map_t;
typedef void (kc_map_free_f) (void *value);

// 'free_value' (may be NULL) is called for a value that is replaced, removed or left at destruction.
kc_map_t *kc_map_new (kc_map_free_f *free_value);
void kc_map_destroy (kc_map_t **self_p);
void kc_map_put (kc_map_t *self, const char *key, void *value);
void *kc_map_get (const kc_map_t *self, const char *key); // NULL when absent
void *kc_map_take (kc_map_t *self, const char *key);      // remove without freeing; NULL when absent
void kc_map_remove (kc_map_t *self, const char *key);
size_t kc_map_size (const kc_map_t *self);
// Start with *cursor = 0; returns the next value or NULL at the end; *key_p (may be NULL) is borrowed.
void *kc_map_next (const kc_map_t *self, size_t *cursor, const char **key_p);

#endif // KC_MAP_H
