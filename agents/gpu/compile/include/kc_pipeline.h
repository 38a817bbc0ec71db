// kc_pipeline.h: the primitives of cuda_pipeline.h
#pragma once

#include "kc_mma.h"

KC_FN void __pipeline_memcpy_async (void *dst, const void *src, size_t size, size_t zfill = 0)
{
    if (size == 16)
        kc::cp_async_16_fill (dst, src, (int)(16 - zfill));
    else if (size == 8)
        kc::cp_async_8 (dst, src);
    else
        kc::cp_async_4 (dst, src);
}
KC_FN void __pipeline_commit () { kc::cp_async_commit (); }
#define __pipeline_wait_prior(n) kc::cp_async_wait<(n)> ()
