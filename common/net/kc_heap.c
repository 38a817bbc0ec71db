// kc_heap.c - see kc_heap.h

#include "common/net/kc_heap.h"

#include <stdlib.h>

#include "common/util/kc_mem.h"

static void s_place (kc_heap_t *self, size_t i, kc_heap_item_t *item)
{
    self->items[i] = item;
    item->place = i + 1;
}

static void s_up (kc_heap_t *self, size_t i)
{
    kc_heap_item_t *item = self->items[i];
    while (i > 0) {
        size_t parent = (i - 1) / 2;
        if (self->items[parent]->at <= item->at)
            break;
        s_place (self, i, self->items[parent]);
        i = parent;
    }
    s_place (self, i, item);
}

static void s_down (kc_heap_t *self, size_t i)
{
    kc_heap_item_t *item = self->items[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= self->n)
            break;
        if (child + 1 < self->n && self->items[child + 1]->at < self->items[child]->at)
            child++;
        if (item->at <= self->items[child]->at)
            break;
        s_place (self, i, self->items[child]);
        i = child;
    }
    s_place (self, i, item);
}

void kc_heap_set (kc_heap_t *self, kc_heap_item_t *item, int64_t at)
{
    if (item->place) {
        int64_t before = item->at;
        item->at = at;
        if (at < before)
            s_up (self, item->place - 1);
        else
            s_down (self, item->place - 1);
        return;
    }
    if (self->n == self->room) {
        self->room = self->room ? 2 * self->room : 64;
        self->items = kc_realloc (self->items, self->room * sizeof *self->items);
    }
    item->at = at;
    s_place (self, self->n++, item);
    s_up (self, self->n - 1);
}

void kc_heap_remove (kc_heap_t *self, kc_heap_item_t *item)
{
    if (!item->place)
        return;
    size_t i = item->place - 1;
    kc_assert (i < self->n && self->items[i] == item);
    item->place = 0;
    kc_heap_item_t *last = self->items[--self->n];
    if (last == item)
        return;
    s_place (self, i, last);
    s_up (self, i);
    s_down (self, last->place - 1);
}

kc_heap_item_t *kc_heap_first (const kc_heap_t *self)
{
    return self->n ? self->items[0] : NULL;
}

void kc_heap_free (kc_heap_t *self)
{
    free (self->items);
    *self = (kc_heap_t){0};
}
