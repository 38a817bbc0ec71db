// fuzz_vgpu.c - PTX from anywhere: it parses or is refused, and what loads runs without leaving its memory

#include <stdlib.h>
#include <string.h>

#include "agents/gpu/vgpu/vgpu.h"
#include "tests/fuzz/fuzz.h"

enum { BYTES = 4096, BUDGET = 200000, ARGS = 4096 };

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static const uint64_t args[] = {0x10000, 0x20000, 0x10000, 5, 0x20000, 7, 3, 1};
    kc_err_t err = {0};
    vgpu_module_t *m = vgpu_module_load ((const char *)data, size, &err);
    if (!m)
        return 0;
    const ptx_module_t *p = vgpu_module_static (m);
    char *host = calloc (2, BYTES), *params = calloc (1, ARGS);
    if (host && params) {
        memcpy (params, args, sizeof (args));
        vgpu_buffer_t buffers[2] = {{.base = 0x10000, .size = BYTES, .host = host, .name = "x", .element = 4},
                                    {.base = 0x20000, .size = BYTES, .host = host + BYTES, .name = "y", .element = 4, .writable = true}};
        for (uint32_t k = 0; k < p->n_funcs && k < 8; k++) {
            if (!p->funcs[k].is_kernel || p->funcs[k].is_declaration || p->funcs[k].params_size > ARGS)
                continue;
            vgpu_launch_t l = {.kernel = p->funcs[k].name, .grid = {2, 1, 1}, .block = {40, 1, 1}, .dynamic_shared = 256, .params = params,
                               .params_size = p->funcs[k].params_size, .budget = BUDGET, .seed = size, .buffers = buffers, .n_buffers = 2};
            vgpu_counters_t c;
            vgpu_finding_t f;
            vgpu_launch (m, &l, &c, &f);
            vgpu_counters_free (&c);
        }
    }
    free (host);
    free (params);
    vgpu_module_destroy (&m);
    return 0;
}
