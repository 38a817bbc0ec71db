/* kc_map.c - see kc_map.h
 *
 * Entries stand in an array in the order of insertion; a table of slots (open
 * addressing, linear) finds them by hash.  A removed entry keeps its place with a NULL
 * key until a put needs room, so removal never moves anything an iteration stands on.
 */

#include "common/util/kc_map.h"

#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_hash.h"
#include "common/util/kc_mem.h"

enum { S_SLOTS_MIN = 16, S_SLOTS_MAX = 1 << 30 };

typedef struct s_entry {
    char *key; // NULL = removed
    void *value;
    uint64_t hash;
} s_entry_t;

struct kc_map {
    kc_map_free_f *free_value;
    unsigned char
        seed[crypto_shorthash_KEYBYTES]; // keys come from outside: no chosen collisions
    s_entry_t *entries;                  // room for half as many as there are slots
    size_t used;                         // entries taken, removed ones included
    size_t first;                        // every entry before this one is removed
    size_t live;
    uint32_t *slots; // 0 = free, else the number of the entry + 1
    size_t n_slots;  // a power of two, or 0
};

kc_map_t *kc_map_new (kc_map_free_f *free_value)
{
    kc_map_t *self = kc_calloc (1, sizeof *self);
    self->free_value = free_value;
    kc_random (self->seed, sizeof self->seed);
    return self;
}

void kc_map_destroy (kc_map_t **self_p)
{
    kc_map_t *self = *self_p;
    if (!self)
        return;
    *self_p = NULL;
    for (size_t i = 0; i < self->used; i++) {
        if (self->entries[i].key && self->free_value)
            self->free_value (self->entries[i].value);
        free (self->entries[i].key);
    }
    free (self->entries);
    free (self->slots);
    free (self);
}

static uint64_t s_hash (const kc_map_t *self, const char *key)
{
    unsigned char raw[crypto_shorthash_BYTES];
    uint64_t hash = 0;
    crypto_shorthash (raw, (const unsigned char *)key, strlen (key), self->seed);
    memcpy (&hash, raw, sizeof hash);
    return hash;
}

static s_entry_t *s_find (const kc_map_t *self, const char *key, uint64_t hash)
{
    if (self->live == 0)
        return NULL;
    size_t mask = self->n_slots - 1;
    // Ends: at most half of the slots are ever taken.
    for (size_t i = (size_t)hash & mask; self->slots[i]; i = (i + 1) & mask) {
        s_entry_t *e = &self->entries[self->slots[i] - 1];
        if (e->key && e->hash == hash && strcmp (e->key, key) == 0)
            return e;
    }
    return NULL;
}

static void s_link (kc_map_t *self, size_t number)
{
    size_t mask = self->n_slots - 1;
    size_t i = (size_t)self->entries[number].hash & mask;
    while (self->slots[i])
        i = (i + 1) & mask;
    self->slots[i] = (uint32_t)number + 1;
}

// Drop the removed entries and size the table so that as many puts as there are live
// entries fit.
static void s_rebuild (kc_map_t *self)
{
    size_t n_slots = S_SLOTS_MIN;
    while (n_slots < (self->live + 1) * 4)
        n_slots *= 2;
    kc_assert (n_slots <= S_SLOTS_MAX);
    s_entry_t *entries = kc_calloc (n_slots / 2, sizeof *entries);
    size_t n = 0;
    for (size_t i = 0; i < self->used; i++)
        if (self->entries[i].key)
            entries[n++] = self->entries[i];
    free (self->entries);
    free (self->slots);
    self->entries = entries;
    self->used = n;
    self->first = 0;
    self->n_slots = n_slots;
    self->slots = kc_calloc (n_slots, sizeof *self->slots);
    for (size_t i = 0; i < n; i++)
        s_link (self, i);
}

void kc_map_put (kc_map_t *self, const char *key, void *value)
{
    kc_assert (value); // NULL means "absent" everywhere here
    uint64_t hash = s_hash (self, key);
    s_entry_t *e = s_find (self, key, hash);
    if (e) {
        void *old = e->value;
        e->value = value;
        if (old != value && self->free_value)
            self->free_value (old);
        return;
    }
    if (self->used == self->n_slots / 2)
        s_rebuild (self);
    self->entries[self->used] =
        (s_entry_t){.key = kc_strdup (key), .value = value, .hash = hash};
    s_link (self, self->used);
    self->used++;
    self->live++;
}

void *kc_map_get (const kc_map_t *self, const char *key)
{
    s_entry_t *e = s_find (self, key, s_hash (self, key));
    return e ? e->value : NULL;
}

void *kc_map_take (kc_map_t *self, const char *key)
{
    s_entry_t *e = s_find (self, key, s_hash (self, key));
    if (!e)
        return NULL;
    void *value = e->value;
    char *old = e->key; // 'key' may be this very string: freed last
    e->key = NULL;
    e->value = NULL;
    self->live--;
    // A map used as a queue must not walk over its past at every look.
    while (self->first < self->used && !self->entries[self->first].key)
        self->first++;
    free (old);
    return value;
}

void kc_map_remove (kc_map_t *self, const char *key)
{
    void *value = kc_map_take (self, key);
    if (value && self->free_value)
        self->free_value (value);
}

size_t kc_map_size (const kc_map_t *self)
{
    return self->live;
}

void *kc_map_next (const kc_map_t *self, size_t *cursor, const char **key_p)
{
    size_t i = *cursor < self->first ? self->first : *cursor;
    for (; i < self->used; i++) {
        if (self->entries[i].key) {
            *cursor = i + 1;
            if (key_p)
                *key_p = self->entries[i].key;
            return self->entries[i].value;
        }
    }
    *cursor = i;
    return NULL;
}
