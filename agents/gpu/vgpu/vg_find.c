// vg_find.c - findings: one complete sentence with kernel, block, thread, line and buffer

#include "agents/gpu/vgpu/vg_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/util/kc_mem.h"

const char *vgpu_status_name (vgpu_status_t status)
{
    static const char *const names[] = {
#define ROW(sym, name) name,
        VGPU_STATUS (ROW)
#undef ROW
    };
    return (size_t)status < KC_COUNT (names) ? names[status] : "?";
}

static void s_place (vg_warp_t *w, const vg_op_t *o, uint32_t lane, vgpu_status_t status)
{
    vg_run_t *run = w->run;
    vgpu_finding_t *f = run->finding;
    run->stop = true;
    f->status = status;
    snprintf (f->kernel, sizeof (f->kernel), "%s", run->launch->kernel);
    memcpy (f->block, w->block->id, sizeof (f->block));
    for (int k = 0; k < 3; k++)
        f->thread[k] = w->tid[k][lane];
    if (o && o->src) {
        f->line = o->src->line;
        f->ptx_line = o->src->ptx_line;
        snprintf (f->instruction, sizeof (f->instruction), "%s", o->src->text);
    }
}

static void s_text (const vg_warp_t *w, const char *what)
{
    vgpu_finding_t *f = w->run->finding;
    char where[64];
    if (f->line)
        snprintf (where, sizeof (where), "line %u", f->line);
    else
        snprintf (where, sizeof (where), "PTX line %u", f->ptx_line);
    snprintf (f->text, sizeof (f->text), "%s: %s, %s (%s), block (%u,%u,%u), thread (%u,%u,%u)", f->kernel, what, where,
              f->instruction, f->block[0], f->block[1], f->block[2], f->thread[0], f->thread[1], f->thread[2]);
}

void vg_fault (vg_warp_t *w, const vg_op_t *o, uint32_t lane, vgpu_status_t status, const char *format, ...)
{
    if (w->run->stop)
        return;
    char what[VGPU_TEXT / 2];
    va_list args;
    va_start (args, format);
    vsnprintf (what, sizeof (what), format, args);
    va_end (args);
    s_place (w, o, lane, status);
    s_text (w, what);
}

static const vg_buffer_t *s_nearest (const vg_run_t *run, uint64_t address, uint32_t size, int64_t *distance)
{
    const vg_buffer_t *best = NULL;
    uint64_t gap = UINT64_MAX;
    for (uint32_t i = 0; i < run->n_buffers; i++) {
        const vg_buffer_t *b = &run->buffers[i];
        if (b->base == b->end)
            continue;
        uint64_t d;
        int64_t off;
        if (address + size > b->end && address >= b->base) {
            d = address >= b->end ? address - b->end : 0;
            off = (int64_t)(address + size - b->end); // of its last byte
        }
        else if (address < b->base) {
            d = b->base - address;
            off = -(int64_t)d;
        }
        else
            d = 0, off = 0;
        if (d < gap)
            gap = d, best = b, *distance = off;
    }
    return best;
}

void vg_fault_access (vg_warp_t *w, const vg_op_t *o, uint32_t lane, vgpu_status_t status, ptx_space_t space, uint64_t address,
                      bool write)
{
    vg_run_t *run = w->run;
    if (run->stop)
        return;
    s_place (w, o, lane, status);
    vgpu_finding_t *f = run->finding;
    uint32_t size = (uint32_t)o->bytes * o->vec;
    f->is_write = write;
    f->address = address;
    f->size = size;
    snprintf (f->space, sizeof (f->space), "%s", ptx_space_name (space));
    const char *verb = o->src->opcode == PTX_ATOM || o->src->opcode == PTX_RED ? "atomic" : write ? "store" : "load";
    char what[VGPU_TEXT / 2];
    if (space == PTX_SPACE_GLOBAL) {
        int64_t distance = 0;
        const vg_buffer_t *b = s_nearest (run, address, size, &distance);
        const char *name = b ? b->name : "(no buffer)";
        snprintf (f->buffer, sizeof (f->buffer), "%s", b ? b->name : "");
        f->distance = distance;
        int64_t byte = b ? (int64_t)(address - b->base) : 0;
        uint32_t element = b ? b->element : 1;
        unsigned long long bytes = b ? (unsigned long long)(b->end - b->base) : 0;
        if (status == VGPU_MISALIGNED)
            snprintf (what, sizeof (what), "misaligned %u-byte %s at %s + %lld bytes: the address must be a multiple of %u", size,
                      verb, name, (long long)byte, size);
        else if (status == VGPU_READ_ONLY)
            snprintf (what, sizeof (what),
                      "undeclared write: %u-byte %s to element %lld of %s, which is read-only for this launch (its parameter is "
                      "const, or it is an input)",
                      size, verb, (long long)(byte / (int64_t)element), name);
        else if (address < VGPU_GLOBAL_LOW)
            snprintf (what, sizeof (what), "out of bounds: %u-byte %s at address 0x%llx, a null pointer plus an offset", size, verb,
                      (unsigned long long)address);
        else if (!b)
            snprintf (what, sizeof (what), "out of bounds: %u-byte %s at address 0x%llx, there are no buffers", size, verb,
                      (unsigned long long)address);
        else if (distance < 0)
            snprintf (what, sizeof (what),
                      "out of bounds: %u-byte %s %lld bytes before the start of %s (element %lld; it has %llu elements of %u bytes)",
                      size, verb, (long long)-distance, name, (long long)(byte / (int64_t)element - (byte % (int64_t)element != 0)),
                      bytes / element, element);
        else
            snprintf (what, sizeof (what),
                      "out of bounds: %u-byte %s %lld bytes past the end of %s (element %lld; it has %llu elements of %u bytes)", size,
                      verb, (long long)distance, name, (long long)(byte / (int64_t)element),
                      bytes / element, element);
    }
    else {
        uint64_t room = space == PTX_SPACE_SHARED  ? run->shared_size
                        : space == PTX_SPACE_LOCAL ? run->stack
                        : space == PTX_SPACE_CONST ? run->m->ptx->const_bytes
                                                   : run->params_size;
        f->distance = (int64_t)(address + size - room);
        if (status == VGPU_MISALIGNED)
            snprintf (what, sizeof (what), "misaligned %u-byte %s at %s offset %llu: the offset must be a multiple of %u", size, verb,
                      f->space, (unsigned long long)address, size);
        else if (status == VGPU_READ_ONLY)
            snprintf (what, sizeof (what), "undeclared write: %s memory cannot be written", f->space);
        else
            snprintf (what, sizeof (what), "out of bounds: %u-byte %s at %s offset %lld, the %s has %llu bytes", size, verb, f->space,
                      (long long)address,
                      space == PTX_SPACE_SHARED ? "block's shared memory" : space == PTX_SPACE_LOCAL ? "thread's local memory" : "space",
                      (unsigned long long)room);
        if (space == PTX_SPACE_SHARED)
            snprintf (f->buffer, sizeof (f->buffer), "shared memory");
    }
    s_text (w, what);
}
