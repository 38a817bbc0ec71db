/* cuda_arena.c - the buffers of one plan in one allocation, every one between two
 * guards
 *
 * Every byte of the arena that is not a buffer is guard: the random padding only makes
 * guards longer.  The byte before a buffer is 0xA5, the byte after it 0x5A, right to
 * the next buffer's alignment.
 */
#include "agents/gpu/cuda/cuda_dev.h"

#include <stdlib.h>
#include <string.h>

#include "agents/gpu/judge/kc_fill.h"
#include "common/util/kc_mem.h"

enum {
    GUARD_DEFAULT = 4096,
    GUARD_BYTE_BEFORE = 0xA5,
    GUARD_BYTE_AFTER = 0x5A,
    ALIGN = 256,
    PADDING_STEPS = 32, // up to this many times ALIGN more guard
};
#define MAX_ARENA ((uint64_t)1 << 42)

static uint64_t s_next (uint64_t *state)
{
    *state += KC_GOLDEN;
    return kc_mix (*state);
}

static size_t s_up (size_t x, size_t to)
{
    return (x + to - 1) / to * to;
}

// Offsets of all buffers in random order; the arena's size, 0 when it would pass
// MAX_ARENA.
static size_t s_place (const kc_plan_t *plan, const kc_dev_layout_t *layout,
                       kc_dev_arena_t *arena)
{
    uint64_t state = layout->seed;
    size_t guard =
        s_up (layout->guard > 0 ? (size_t)layout->guard : GUARD_DEFAULT, ALIGN);
    size_t *order = kc_calloc (plan->n_buffers + 1, sizeof *order);
    for (size_t i = 0; i < plan->n_buffers; i++)
        order[i] = i;
    for (size_t i = plan->n_buffers; i > 1; i--) {
        size_t j = (size_t)(s_next (&state) % i), t = order[i - 1];
        order[i - 1] = order[j];
        order[j] = t;
    }
    size_t at = 0;
    for (size_t k = 0; k < plan->n_buffers && at < MAX_ARENA; k++) {
        const kc_plan_buffer_t *b = &plan->buffers[order[k]];
        kc_cuda_place_t *p = &arena->places[order[k]];
        p->before = at;
        size_t start = at + guard + (size_t)(s_next (&state) % PADDING_STEPS) * ALIGN;
        start = s_up (start, b->align > ALIGN ? (size_t)b->align : ALIGN);
        p->before_bytes = start - at;
        p->address = start;
        p->bytes = (size_t)b->bytes;
        p->after = start + p->bytes;
        p->after_bytes = s_up (p->after, ALIGN) - p->after + guard;
        at = p->after + p->after_bytes;
    }
    free (order);
    return at < MAX_ARENA ? s_up (at + ALIGN, ALIGN) : 0;
}

static int s_fill_guards (kc_cuda_dev_t *self, const kc_dev_arena_t *arena,
                          kc_err_t *err)
{
    for (size_t i = 0; i < arena->n; i++) {
        const kc_cuda_place_t *p = &arena->places[i];
        if (kc_cuda_ok (self,
                        self->cu->MemsetD8Async (p->before, GUARD_BYTE_BEFORE,
                                                 p->before_bytes, self->stream),
                        err, "writing the guard before %s", arena->names[i])
                < 0
            || kc_cuda_ok (self,
                           self->cu->MemsetD8Async (p->after, GUARD_BYTE_AFTER,
                                                    p->after_bytes, self->stream),
                           err, "writing the guard after %s", arena->names[i])
                   < 0)
            return -1;
    }
    return 0;
}

kc_dev_arena_t *kc_cuda_arena (kc_dev_t *dev, const kc_plan_t *plan,
                               const kc_dev_layout_t *layout, kc_err_t *err)
{
    kc_cuda_dev_t *self = (kc_cuda_dev_t *)dev;
    if (kc_cuda_alive (self, err) < 0)
        return NULL;
    kc_dev_arena_t *arena = kc_calloc (1, sizeof *arena);
    arena->places = kc_calloc (plan->n_buffers + 1, sizeof *arena->places);
    arena->names = kc_calloc (plan->n_buffers + 1, sizeof *arena->names);
    arena->types = kc_calloc (plan->n_buffers + 1, sizeof *arena->types);
    for (size_t i = 0; i < plan->n_buffers; i++) {
        arena->names[i] = kc_strdup (plan->buffers[i].name);
        arena->types[i] = plan->buffers[i].dtype;
    }
    arena->n = plan->n_buffers;
    arena->bytes = s_place (plan, layout, arena);
    size_t free_bytes = 0, total = 0;
    int rc = kc_cuda_ok (self, self->cu->MemGetInfo (&free_bytes, &total), err,
                         "asking for free memory");
    if (rc == 0 && (arena->bytes == 0 || arena->bytes > free_bytes))
        rc = kc_fail (err, KC_EUNSUPPORTED,
                      "the plan's buffers need %.1f MiB and %.1f MiB of the GPU's "
                      "memory are free",
                      (double)arena->bytes / 1048576.0, (double)free_bytes / 1048576.0);
    if (rc == 0)
        rc = kc_cuda_ok (self, self->cu->MemAlloc (&arena->base, arena->bytes), err,
                         "allocating %zu bytes", arena->bytes);
    if (rc == 0) {
        for (size_t i = 0; i < arena->n; i++) {
            arena->places[i].address += arena->base;
            arena->places[i].before += arena->base;
            arena->places[i].after += arena->base;
        }
        rc = s_fill_guards (self, arena, err);
    }
    if (rc < 0) {
        kc_cuda_arena_free (dev, arena);
        return NULL;
    }
    return arena;
}

void kc_cuda_arena_free (kc_dev_t *dev, kc_dev_arena_t *arena)
{
    kc_cuda_dev_t *self = (kc_cuda_dev_t *)dev;
    if (!arena)
        return;
    if (arena->base && !self->dead)
        kc_cuda_soft (self, self->cu->MemFree (arena->base));
    for (size_t i = 0; i < arena->n; i++)
        free (arena->names[i]);
    free (arena->names);
    free (arena->places);
    free (arena->types);
    free (arena);
}

int kc_cuda_poison (kc_dev_t *dev, kc_dev_arena_t *arena, int index, unsigned char byte,
                    kc_err_t *err)
{
    kc_cuda_dev_t *self = (kc_cuda_dev_t *)dev;
    const kc_cuda_place_t *p = &arena->places[index];
    if (kc_cuda_alive (self, err) < 0)
        return -1;
    if (p->bytes == 0)
        return 0;
    return kc_cuda_ok (
        self, self->cu->MemsetD8Async (p->address, byte, p->bytes, self->stream), err,
        "poisoning %s", arena->names[index]);
}

int kc_cuda_generate (kc_dev_t *dev, kc_dev_arena_t *arena, int index,
                      const kc_card_fill_t *fill, uint64_t key, kc_err_t *err)
{
    enum { BLOCK = 256, PER_THREAD = 8 };
    kc_cuda_dev_t *self = (kc_cuda_dev_t *)dev;
    kc_cuda_place_t *p = &arena->places[index];
    if (kc_cuda_alive (self, err) < 0)
        return -1;
    const int64_t elements =
        (int64_t)(p->bytes
                  / (size_t)kc_fill_size (kc_fill_type_of (arena->types[index])));
    kc_fill_t f = kc_fill_make (fill, arena->types[index], elements, key);
    if (f.elements == 0)
        return 0;
    uint64_t blocks = f.elements / (BLOCK * PER_THREAD) + 1;
    const uint64_t cap = (uint64_t)dev->info.facts.sms * 64;
    const uint32_t grid[2] = {(uint32_t)(blocks < cap ? blocks : cap), 1};
    void *params[] = {&p->address, &f};
    if (kc_cuda_trusted (self, KC_TRUSTED_GENERATE, grid, BLOCK, 0, params, err) < 0)
        return kc_fail_in (err, "content of %s", arena->names[index]);
    return 0;
}

// Wait for what is on the stream; sizes are bounded, so the limit means a stuck GPU.
static int s_sync (kc_cuda_dev_t *self, const char *what, kc_err_t *err)
{
    enum { COPY_SECONDS = 60 };
    bool late = false;
    if (kc_cuda_ok (self, kc_cuda_wait (self, COPY_SECONDS, &late), err, "%s", what)
        < 0)
        return -1;
    return late ? kc_fail (err, KC_ETIMEOUT, "%s: the GPU did not answer within %d s",
                           what, COPY_SECONDS)
                : 0;
}

int kc_cuda_write (kc_dev_t *dev, kc_dev_arena_t *arena, int index, const void *data,
                   kc_err_t *err)
{
    kc_cuda_dev_t *self = (kc_cuda_dev_t *)dev;
    const kc_cuda_place_t *p = &arena->places[index];
    if (kc_cuda_alive (self, err) < 0)
        return -1;
    if (p->bytes == 0)
        return 0;
    if (kc_cuda_ok (
            self, self->cu->MemcpyHtoDAsync (p->address, data, p->bytes, self->stream),
            err, "writing %s", arena->names[index])
        < 0)
        return -1;
    return s_sync (self, arena->names[index], err); // 'data' is the caller's again
}

int kc_cuda_read (kc_dev_t *dev, kc_dev_arena_t *arena, int index, void *data,
                  kc_err_t *err)
{
    kc_cuda_dev_t *self = (kc_cuda_dev_t *)dev;
    const kc_cuda_place_t *p = &arena->places[index];
    if (kc_cuda_alive (self, err) < 0)
        return -1;
    if (p->bytes == 0)
        return 0;
    if (kc_cuda_ok (
            self, self->cu->MemcpyDtoHAsync (data, p->address, p->bytes, self->stream),
            err, "reading %s", arena->names[index])
        < 0)
        return -1;
    return s_sync (self, arena->names[index], err);
}

int kc_cuda_hash_buffer (kc_dev_t *dev, kc_dev_arena_t *arena, int index, uint64_t *out,
                         kc_err_t *err)
{
    kc_cuda_dev_t *self = (kc_cuda_dev_t *)dev;
    const kc_cuda_place_t *p = &arena->places[index];
    const kc_cuda_segment_t segment = {.address = p->address, .bytes = p->bytes};
    if (kc_cuda_alive (self, err) < 0)
        return -1;
    if (kc_cuda_hash (self, &segment, 1, out, err) < 0)
        return kc_fail_in (err, "hashing %s", arena->names[index]);
    return 0;
}

// The finding of one damaged guard: which buffer, on which side, how far away.
static int s_report (const kc_dev_arena_t *arena, size_t buffer, bool before,
                     uint64_t distance, kc_dev_finding_t *finding)
{
    const int64_t element = kc_fill_size (kc_fill_type_of (arena->types[buffer]));
    const int64_t n = (int64_t)arena->places[buffer].bytes / element;
    const int64_t index =
        before ? -1 - (int64_t)distance / element : n + (int64_t)distance / element;
    kc_cuda_find (finding, KC_VERDICT_STATUS_OUT_OF_BOUNDS,
                  "%s: something was written %s the buffer, at element %lld of %lld "
                  "(byte %llu from "
                  "its %s)",
                  arena->names[buffer], before ? "before" : "behind", (long long)index,
                  (long long)n, (unsigned long long)distance, before ? "start" : "end");
    strncpy (finding->buffer, arena->names[buffer], sizeof finding->buffer - 1);
    finding->has_index = true;
    finding->index = index;
    return -1;
}

int kc_cuda_check_guards (kc_dev_t *dev, kc_dev_arena_t *arena,
                          kc_dev_finding_t *finding)
{
    kc_cuda_dev_t *self = (kc_cuda_dev_t *)dev;
    kc_err_t err;
    if (kc_cuda_alive (self, &err) < 0)
        return kc_cuda_infra (self, finding, &err);
    const size_t n = arena->n * 2;
    kc_cuda_segment_t *segments = kc_calloc (n + 1, sizeof *segments);
    uint64_t *out = kc_calloc (n + 1, sizeof *out);
    for (size_t i = 0; i < arena->n; i++) {
        const kc_cuda_place_t *p = &arena->places[i];
        segments[2 * i] = (kc_cuda_segment_t){p->before, p->before_bytes,
                                              GUARD_BYTE_BEFORE | KC_GUARD_BEFORE};
        segments[2 * i + 1] =
            (kc_cuda_segment_t){p->after, p->after_bytes, GUARD_BYTE_AFTER};
    }
    int rc = 0;
    for (size_t at = 0; at < n && rc == 0; at += KC_CUDA_TABLE)
        rc = kc_cuda_guards (self, segments + at,
                             n - at < KC_CUDA_TABLE ? n - at : KC_CUDA_TABLE, out + at,
                             &err);
    if (rc < 0)
        kc_cuda_infra (self, finding, &err);
    for (size_t i = 0; i < n && rc == 0; i++)
        if (out[i] != UINT64_MAX)
            rc = s_report (arena, i / 2, i % 2 == 0, out[i], finding);
    free (segments);
    free (out);
    return rc;
}
