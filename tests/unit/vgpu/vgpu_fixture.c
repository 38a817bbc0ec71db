// vgpu_fixture.c - see vgpu_fixture.h

#include "tests/unit/vgpu/vgpu_fixture.h"

#include "agents/gpu/vgpu/vg_internal.h"
#include "common/util/kc_mem.h"

char *vt_text (const char *params, const char *body)
{
    return kc_asprintf (".version 7.5\n.target sm_80\n.address_size 64\n"
                        ".visible .entry k(%s)\n{\n.reg .pred %%p<16>;\n.reg .b16 %%h<16>;\n.reg .b32 %%r<32>;\n"
                        ".reg .b64 %%rd<32>;\n.reg .f32 %%f<16>;\n.reg .f64 %%fd<16>;\n%s\nret;\n}\n",
                        params, body);
}

static vt_t *s_new (const char *text, bool baseline)
{
    vt_t *t = kc_calloc (1, sizeof (*t));
    t->m = baseline ? vg_module_load (text, strlen (text), true, &t->err) : vgpu_module_load (text, strlen (text), &t->err);
    if (!t->m)
        fail_msg ("module refused: %s", t->err.text);
    t->buffers[0] = (vgpu_buffer_t){.base = VT_X, .size = VT_BYTES, .host = t->x, .name = "x", .element = 4};
    t->buffers[1] = (vgpu_buffer_t){.base = VT_Y, .size = VT_BYTES, .host = t->y, .name = "y", .element = 4, .writable = true};
    t->buffers[2] = (vgpu_buffer_t){.base = VT_Z, .size = VT_BYTES, .host = t->z, .name = "z", .element = 4, .writable = true};
    t->launch = (vgpu_launch_t){.kernel = "k", .grid = {1, 1, 1}, .block = {32, 1, 1}, .params = t->params, .buffers = t->buffers,
                                .n_buffers = 3};
    return t;
}

vt_t *vt_from_text (const char *text)
{
    return s_new (text, false);
}

vt_t *vt_baseline (const char *params, const char *body)
{
    char *text = vt_text (params, body);
    vt_t *t = s_new (text, true);
    free (text);
    return t;
}

vt_t *vt_new (const char *params, const char *body)
{
    char *text = vt_text (params, body);
    vt_t *t = vt_from_text (text);
    free (text);
    return t;
}

void vt_refused (const char *text, kc_err_t *err)
{
    kc_err_clear (err);
    vgpu_module_t *m = vgpu_module_load (text, strlen (text), err);
    assert_null (m);
}

void vt_arg (vt_t *t, const void *value, uint32_t size)
{
    uint32_t at = (t->launch.params_size + size - 1) / size * size;
    assert_true (at + size <= sizeof (t->params));
    memcpy (t->params + at, value, size);
    t->launch.params_size = at + size;
}

void vt_arg64 (vt_t *t, uint64_t value)
{
    vt_arg (t, &value, 8);
}

void vt_arg32 (vt_t *t, uint32_t value)
{
    vt_arg (t, &value, 4);
}

int vt_run (vt_t *t, uint32_t grid, uint32_t block)
{
    vgpu_counters_free (&t->c);
    t->launch.grid[0] = grid;
    t->launch.block[0] = block;
    return vgpu_launch (t->m, &t->launch, &t->c, &t->f);
}

void vt_ok (vt_t *t, uint32_t grid, uint32_t block)
{
    if (vt_run (t, grid, block) < 0)
        fail_msg ("launch failed: %s", t->f.text);
}

void vt_destroy (vt_t **t_p)
{
    vt_t *t = *t_p;
    if (!t)
        return;
    vgpu_counters_free (&t->c);
    vgpu_module_destroy (&t->m);
    free (t);
    *t_p = NULL;
}
