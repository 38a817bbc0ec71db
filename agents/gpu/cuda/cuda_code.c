// cuda_code.c - loading compiled code, and the facts of its kernels

#include "agents/gpu/cuda/cuda_dev.h"

#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"

enum {
    ELF_MACHINE_AT = 18,
    ELF_HEADER = 64,
    ELF_MACHINE_CUDA = 190,
};

static int s_check_image (const kc_dev_binary_t *binary, kc_dev_finding_t *finding)
{
    const unsigned char *b = binary->data;
    if (binary->is_ptx)
        return kc_cuda_find (
            finding, KC_VERDICT_STATUS_UNSUPPORTED,
            "the real GPU takes machine code (a cubin), and PTX was given; compile "
            "with NVRTC");
    // The driver reads as far as the image says: what is not a cubin never reaches it.
    if (binary->size < ELF_HEADER || memcmp (b, "\177ELF", 4) != 0
        || (b[ELF_MACHINE_AT] | b[ELF_MACHINE_AT + 1] << 8) != ELF_MACHINE_CUDA)
        return kc_cuda_find (
            finding, KC_VERDICT_STATUS_INFRA_ERROR,
            "the compiled code is not a cubin (%zu bytes); empty the compile cache",
            binary->size);
    return 0;
}

kc_dev_code_t *kc_cuda_load (kc_dev_t *dev, const kc_dev_binary_t *binary,
                             kc_dev_finding_t *finding)
{
    kc_cuda_dev_t *self = (kc_cuda_dev_t *)dev;
    kc_err_t err;
    if (kc_cuda_alive (self, &err) < 0) {
        kc_cuda_infra (self, finding, &err);
        return NULL;
    }
    if (s_check_image (binary, finding) < 0)
        return NULL;
    kc_dev_code_t *code = kc_calloc (1, sizeof *code);
    kc_cu_result_t r =
        kc_cuda_soft (self, self->cu->ModuleLoadData (&code->module, binary->data));
    if (r == KC_CUDA_SUCCESS)
        return code;
    free (code);
    if (r == KC_CUDA_ERROR_NO_BINARY_FOR_GPU)
        kc_cuda_find (
            finding, KC_VERDICT_STATUS_UNSUPPORTED,
            "the code was compiled for another GPU than %s (compute capability %d.%d)",
            dev->info.gpu, dev->info.facts.sm / 10, dev->info.facts.sm % 10);
    else if (r == KC_CUDA_ERROR_INVALID_IMAGE || r == KC_CUDA_ERROR_NOT_FOUND)
        kc_cuda_find (finding, KC_VERDICT_STATUS_COMPILE_ERROR,
                      "the driver cannot load the compiled code: an unresolved symbol "
                      "or a damaged "
                      "image");
    else {
        kc_cuda_ok (self, r, &err, "loading the compiled code");
        kc_cuda_infra (self, finding, &err);
    }
    return NULL;
}

void kc_cuda_unload (kc_dev_t *dev, kc_dev_code_t *code)
{
    kc_cuda_dev_t *self = (kc_cuda_dev_t *)dev;
    if (!code)
        return;
    if (!self->dead)
        kc_cuda_soft (self, self->cu->ModuleUnload (code->module));
    free (code);
}

static int s_attribute (kc_cuda_dev_t *self, kc_cu_function_t f, unsigned id, int *out)
{
    return kc_cuda_soft (self, self->cu->FuncGetAttribute (out, id, f)) ? -1 : 0;
}

int kc_cuda_kernel_facts (kc_dev_t *dev, kc_dev_code_t *code, const char *symbol,
                          kc_kernel_facts_t *out)
{
    kc_cuda_dev_t *self = (kc_cuda_dev_t *)dev;
    const kc_cuda_api_t *cu = self->cu;
    kc_cu_function_t f = NULL;
    int registers = 0, shared = 0, local = 0, threads = 0;
    if (self->dead
        || kc_cuda_soft (self, cu->ModuleGetFunction (&f, code->module, symbol))
        || s_attribute (self, f, KC_CU_FUNC_ATTRIBUTE_NUM_REGS, &registers) < 0
        || s_attribute (self, f, KC_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared) < 0
        || s_attribute (self, f, KC_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local) < 0
        || s_attribute (self, f, KC_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &threads)
               < 0)
        return -1;
    out->registers = registers;
    out->registers_estimated = false;
    out->shared_static = shared;
    out->local_bytes = local;
    out->max_threads = threads;
    if (local > code->max_local)
        code->max_local = local;
    // The driver tells parameters since CUDA 12.4; before, what the compiler told
    // stays.
    if (cu->FuncGetParamInfo) {
        size_t n = 0;
        while (
            n < KC_COUNT (out->params)
            && kc_cuda_soft (self, cu->FuncGetParamInfo (f, n, &out->params[n].offset,
                                                         &out->params[n].size))
                   == KC_CUDA_SUCCESS)
            n++;
        out->n_params = n;
    }
    return 0;
}
