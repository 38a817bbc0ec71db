/* kc_heap.h - deadlines in order: a binary heap of items that live inside their owners
 *
 * The owner embeds a kc_heap_item_t (zeroed = not in a heap) and must take it out
 * before it is freed. Adding, moving and removing cost O(log n); equal deadlines come
 * out in no particular order.
 */
#ifndef KC_HEAP_H
#define KC_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kc_heap_item {
    int64_t at;   // deadline, monotonic ms
    size_t place; // 1 + index in the heap, 0 = outside
} kc_heap_item_t;

typedef struct kc_heap { // zeroed = empty
    kc_heap_item_t **items;
    size_t n, room;
} kc_heap_t;

void kc_heap_set (kc_heap_t *self, kc_heap_item_t *item,
                  int64_t at); // add, or move to another deadline
void kc_heap_remove (kc_heap_t *self, kc_heap_item_t *item); // harmless when outside
kc_heap_item_t *kc_heap_first (const kc_heap_t *self); // NULL when empty; stays inside
void kc_heap_free (kc_heap_t *self); // the items belong to their owners

#endif // KC_HEAP_H
