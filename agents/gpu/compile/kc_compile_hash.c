// kc_compile_hash.c - the identity of compiled code: canonical plan + code bytes
//
// Of a cubin only sections that decide what runs are hashed, in order of their names:
// .text, .nv.constant, .nv.info, .nv.shared, .nv.global.init.  Symbol tables, line
// tables and notes change with the file name or the time.  A cubin comes from a child
// that may lie, so every offset is checked before it is used.

#include <stdlib.h>
#include <string.h>

#include "agents/gpu/compile/kc_compile_int.h"
#include "common/util/kc_mem.h"

enum {
    S_SECTIONS = 65535,
    S_EHDR = 64,
    S_SHDR = 64,
    S_NOBITS = 8,
    S_CUDA_MACHINE = 190
};

typedef struct s_section {
    const char *name;
    const unsigned char *data;
    uint64_t size;
    uint32_t type;
} s_section_t;

static uint64_t s_le (const unsigned char *p, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

static bool s_inside (uint64_t offset, uint64_t size, uint64_t total)
{
    return offset <= total && size <= total - offset;
}

// Sections of an ELF64 file, or NULL.
static s_section_t *s_sections (const unsigned char *elf, size_t size, size_t *n_p,
                                kc_err_t *err)
{
    if (size < S_EHDR || memcmp (elf, "\177ELF\2\1", 6) != 0) {
        kc_fail (err, KC_EINVALID, "cubin: not a 64-bit little-endian ELF file");
        return NULL;
    }
    if (s_le (elf + 18, 2) != S_CUDA_MACHINE) {
        kc_fail (err, KC_EINVALID, "cubin: machine %llu is not a CUDA device",
                 (unsigned long long)s_le (elf + 18, 2));
        return NULL;
    }
    uint64_t at = s_le (elf + 40, 8), each = s_le (elf + 58, 2), n = s_le (elf + 60, 2),
             names = s_le (elf + 62, 2);
    if (each != S_SHDR || n == 0 || names >= n || !s_inside (at, each * n, size)) {
        kc_fail (err, KC_EINVALID, "cubin: the section table lies outside of the file");
        return NULL;
    }
    const unsigned char *name_head = elf + at + names * each;
    uint64_t strings = s_le (name_head + 24, 8),
             strings_size = s_le (name_head + 32, 8);
    if (!s_inside (strings, strings_size, size) || strings_size == 0
        || elf[strings + strings_size - 1] != 0) {
        kc_fail (err, KC_EINVALID, "cubin: the section names lie outside of the file");
        return NULL;
    }
    s_section_t *out = (s_section_t *)kc_calloc ((size_t)n, sizeof *out);
    for (uint64_t i = 0; i < n; i++) {
        const unsigned char *head = elf + at + i * each;
        uint64_t name = s_le (head, 4), offset = s_le (head + 24, 8);
        out[i].type = (uint32_t)s_le (head + 4, 4);
        out[i].size = s_le (head + 32, 8);
        if (name >= strings_size
            || (out[i].type != S_NOBITS && !s_inside (offset, out[i].size, size))) {
            free (out);
            kc_fail (err, KC_EINVALID, "cubin: section %llu lies outside of the file",
                     (unsigned long long)i);
            return NULL;
        }
        out[i].name = (const char *)elf + strings + name;
        out[i].data = out[i].type == S_NOBITS ? NULL : elf + offset;
    }
    *n_p = (size_t)n;
    return out;
}

static bool s_counts (const s_section_t *s)
{
    static const char *const prefixes[] = {".text", ".nv.constant", ".nv.info",
                                           ".nv.shared", ".nv.global"};
    for (size_t i = 0; i < KC_COUNT (prefixes); i++)
        if (strncmp (s->name, prefixes[i], strlen (prefixes[i])) == 0)
            return true;
    return false;
}

static int s_by_name (const void *a, const void *b)
{
    return strcmp (((const s_section_t *)a)->name, ((const s_section_t *)b)->name);
}

static int s_hash_cubin (kc_sha_t *sha, const void *data, size_t size, kc_err_t *err)
{
    size_t n;
    s_section_t *sections = s_sections ((const unsigned char *)data, size, &n, err);
    if (!sections)
        return -1;
    qsort (sections, n, sizeof *sections, s_by_name);
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (!s_counts (&sections[i]))
            continue;
        used += strncmp (sections[i].name, ".text", 5) == 0;
        unsigned char length[8];
        for (int b = 0; b < 8; b++)
            length[b] = (unsigned char)(sections[i].size >> (8 * b));
        kc_sha_str (sha, sections[i].name);
        kc_sha_add (sha, length, sizeof length);
        if (sections[i].data)
            kc_sha_add (sha, sections[i].data, (size_t)sections[i].size);
    }
    free (sections);
    return used ? 0 : kc_fail (err, KC_EINVALID, "cubin: no code section");
}

// A line of PTX that does not change what runs: comments, positions, debug labels and
// sections.
static bool s_idle (const char *p, size_t n)
{
    static const char *const starts[] = {"//",      ".loc",        ".file",
                                         "Ltmp",    "Lfunc_begin", "Lfunc_end",
                                         "$L__tmp", "$L__func"};
    if (n == 0)
        return true;
    for (size_t i = 0; i < KC_COUNT (starts); i++)
        if (n >= strlen (starts[i]) && strncmp (p, starts[i], strlen (starts[i])) == 0)
            return true;
    return false;
}

static void s_hash_ptx (kc_sha_t *sha, const char *ptx)
{
    bool section = false; // from .section up to the brace that closes it
    int depth = 0;
    for (const char *p = ptx; *p;) {
        const char *end = strchr (p, '\n');
        size_t n = end ? (size_t)(end - p) : strlen (p);
        const char *q = p;
        while (n && (*q == ' ' || *q == '\t')) {
            q++;
            n--;
        }
        section = section || (n > 8 && strncmp (q, ".section", 8) == 0);
        if (section)
            for (size_t i = 0; i < n && section; i++) {
                depth += q[i] == '{';
                if (q[i] == '}' && --depth == 0)
                    section = false;
            }
        else if (!s_idle (q, n) && !(n == 1 && (*q == '{' || *q == '}'))) {
            const char *comment = (const char *)memmem (q, n, "//", 2);
            if (comment)
                n = (size_t)(comment - q);
            while (n && (q[n - 1] == ' ' || q[n - 1] == '\t'))
                n--;
            kc_sha_add (sha, q, n);
            kc_sha_add (sha, "\n", 1);
        }
        p = end ? end + 1 : p + strlen (p);
    }
}

int kc_code_hash (const char *plan, const kc_compiled_t *code, char hex[KC_SHA_HEX],
                  kc_err_t *err)
{
    kc_sha_t sha;
    kc_sha_init (&sha);
    kc_sha_str (&sha, "kc code 1");
    kc_sha_str (&sha, plan);
    hex[0] = 0;
    if (code->cubin) {
        kc_sha_str (&sha, "cubin");
        if (s_hash_cubin (&sha, code->cubin, code->cubin_size, err) < 0)
            return -1;
    }
    else if (code->ptx) {
        kc_sha_str (&sha, "ptx");
        s_hash_ptx (&sha, code->ptx);
    }
    else
        return kc_fail (err, KC_ESTATE, "code hash: the result has no code");
    kc_sha_hex (&sha, hex);
    return 0;
}
