// kc_gpus.c - see kc_gpus.h

#include "agents/gpu/model/kc_gpus.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/model/gpus_json.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"

static kc_gpu_t *s_table (kc_err_t *err)
{
    kc_errs_t errs = {0};
    kc_gpu_t *table = kc_gpu_decode ((const char *)kc_gpus_json, kc_gpus_json_size, KC_STRICT, &errs);
    if (!table) {
        kc_errs_fail (&errs, err);
        kc_fail_in (err, "the built-in table of GPUs");
    }
    return table;
}

// Letters and digits of a name, in lower case.
static char *s_plain (const char *name)
{
    kc_buf_t b = {0};
    for (; *name; name++)
        if (isalnum ((unsigned char)*name))
            kc_buf_putc (&b, (char)tolower ((unsigned char)*name));
    return kc_buf_take (&b);
}

bool kc_gpus_same (const char *a, const char *b)
{
    char *pa = s_plain (a), *pb = s_plain (b);
    bool same = !strcmp (pa, pb);
    free (pa);
    free (pb);
    return same;
}

kc_gpu_gpu_t *kc_gpus_find (const char *name, kc_err_t *err)
{
    kc_gpu_t *table = s_table (err);
    if (!table)
        return NULL;
    char *wanted = s_plain (name ? name : "");
    const kc_gpu_gpu_t *exact = NULL, *part = NULL;
    int parts = 0;
    for (size_t i = 0; i < table->n_gpus; i++) {
        char *known = s_plain (table->gpus[i].name);
        if (!strcmp (known, wanted))
            exact = &table->gpus[i];
        else if (strstr (known, wanted)) {
            part = part ? part : &table->gpus[i];
            parts++;
        }
        free (known);
    }
    const kc_gpu_gpu_t *found = exact ? exact : (!*wanted || parts == 1) ? part : NULL;
    kc_gpu_gpu_t *copy = kc_gpu_gpu_dup (found);
    if (!copy) {
        kc_buf_t b = {0};
        for (size_t i = 0; i < table->n_gpus; i++)
            kc_buf_printf (&b, "%s%s", i ? ", " : "", table->gpus[i].name);
        kc_fail (err, KC_ENOTFOUND, "%s GPU '%s' in the table; known: %s", parts > 1 ? "more than one" : "no", name ? name : "",
                 kc_buf_str (&b));
        kc_buf_free (&b);
    }
    free (wanted);
    kc_gpu_free (&table);
    return copy;
}

void kc_gpus_facts (const kc_gpu_gpu_t *gpu, kc_device_facts_t *facts)
{
    *facts = (kc_device_facts_t){
        .sms = (int)gpu->sms,
        .sm = (int)gpu->sm,
        .warp = 32,
        .max_threads_block = 1024,
        .max_threads_sm = (int)gpu->threads_sm,
        .max_blocks_sm = (int)gpu->blocks_sm,
        .regs_sm = 65536,
        .regs_block = 65536,
        .shared_block = gpu->shared_block,
        .shared_block_plain = 49152,
        .shared_sm = gpu->shared_sm,
        .shared_reserved = gpu->sm >= 80 ? 1024 : 0,
        .l2_bytes = gpu->l2_bytes,
        .max_grid = {2147483647, 65535, 65535},
    };
}
