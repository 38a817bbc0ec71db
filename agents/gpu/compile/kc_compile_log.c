// kc_compile_log.c - what the compilers said, made safe and made into findings
//
// Three dialects: NVRTC "file(line): error: text", clang "file:line:col: error: text",
// ptxas "ptxas file, line N; error : text".  A diagnosis is its headline and the lines
// up to the next one.  Only diagnoses about the author's file, the constants and the
// include tree are shown with their text: the compiler quotes the line that it
// complains about, so one about a file of the host would show its content.

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/compile/kc_compile_int.h"
#include "common/util/kc_mem.h"

enum { S_LINES = 200000, S_FILE = 512 };

typedef enum s_level { S_NONE, S_NOTE, S_WARNING, S_ERROR } s_level_t;

typedef struct s_line {
    const char *text; // of the whole line
    size_t size;
    s_level_t level; // S_NONE: a continuation
    char file[S_FILE];
    int64_t number;  // line in 'file', 0 = none
    const char *say; // the message
    size_t say_size;
    bool ptxas;
} s_line_t;

// ---- headlines ----

static const struct s_word {
    const char *word;
    s_level_t level;
} s_words[] = {
    {"fatal error", S_ERROR},
    {"catastrophic error", S_ERROR},
    {"internal error", S_ERROR},
    {"error", S_ERROR},
    {"warning", S_WARNING},
    {"note", S_NOTE},
    {"remark", S_NOTE},
    {"fatal", S_ERROR},
    {"info", S_NOTE},
};

// "error: text", "error #20: text", "note #2703-D: text", "error   : text"
static bool s_message (const char *p, const char *end, s_line_t *out)
{
    for (size_t i = 0; i < KC_COUNT (s_words); i++) {
        size_t n = strlen (s_words[i].word);
        if ((size_t)(end - p) <= n || strncmp (p, s_words[i].word, n) != 0)
            continue;
        const char *q = p + n;
        while (q < end && *q == ' ')
            q++;
        if (q < end && *q == '#')
            while (q < end && *q != ':')
                q++;
        if (q >= end || *q != ':')
            continue;
        q++;
        while (q < end && *q == ' ')
            q++;
        out->level = s_words[i].level;
        out->say = q;
        out->say_size = (size_t)(end - q);
        return true;
    }
    return false;
}

static const char *s_number (const char *p, const char *end, int64_t *out)
{
    int64_t v = 0;
    const char *start = p;
    while (p < end && isdigit ((unsigned char)*p) && v < 100000000)
        v = v * 10 + (*p++ - '0');
    *out = v;
    return p > start ? p : NULL;
}

static void s_set_file (s_line_t *out, const char *from, const char *to)
{
    static const char tree[] = "include/"; // where clang finds ours
    size_t n = (size_t)(to - from);
    if (n > sizeof tree - 1 && strncmp (from, tree, sizeof tree - 1) == 0) {
        from += sizeof tree - 1;
        n -= sizeof tree - 1;
    }
    if (n >= sizeof out->file)
        n = sizeof out->file - 1;
    memcpy (out->file, from, n);
    out->file[n] = 0;
}

// ptxas application ptx input, line 20; error   : Unknown ...
static bool s_ptxas (s_line_t *out)
{
    const char *p = out->text, *end = p + out->size;
    if (out->size < 6 || strncmp (p, "ptxas ", 6) != 0)
        return false;
    out->ptxas = true;
    for (const char *q = p; q + 7 < end; q++)
        if (strncmp (q, ", line ", 7) == 0) {
            const char *r = s_number (q + 7, end, &out->number);
            if (!r || r >= end || *r != ';')
                continue;
            r++;
            while (r < end && *r == ' ')
                r++;
            return s_message (r, end, out);
        }
    p += 6;
    while (p < end && *p == ' ')
        p++;
    return s_message (p, end, out);
}

static void s_headline (s_line_t *out)
{
    const char *p = out->text, *end = p + out->size;
    if (s_ptxas (out) || out->ptxas)
        return;
    for (const char *q = p + 1; q < end; q++) {
        const char *r = NULL;
        int64_t number = 0, column = 0;
        if (*q == '(') { // file(12): error: text
            r = s_number (q + 1, end, &number);
            if (!r || end - r < 3 || r[0] != ')' || r[1] != ':' || r[2] != ' ')
                continue;
            r += 3;
        }
        else if (*q == ':') { // file:12:5: error: text
            r = s_number (q + 1, end, &number);
            if (!r || r >= end || *r != ':')
                continue;
            r = s_number (r + 1, end, &column);
            if (!r || end - r < 2 || r[0] != ':' || r[1] != ' ')
                continue;
            r += 2;
        }
        if (r && s_message (r, end, out)) {
            s_set_file (out, p, q);
            out->number = number;
            return;
        }
    }
    s_message (p, end, out); // "error: ..." of the driver or the code generator
}

// ---- whose file is it ----

typedef enum s_owner { S_AUTHOR, S_CONSTANTS, S_NAMES, S_TREE, S_FOREIGN } s_owner_t;

static s_owner_t s_owner (const char *file)
{
    if (file[0] == 0 || strcmp (file, KC_COMPILE_MAIN) == 0)
        return S_AUTHOR;
    if (strcmp (file, KC_COMPILE_CONST) == 0)
        return S_CONSTANTS;
    if (strcmp (file, KC_COMPILE_NAMES) == 0 || strcmp (file, "__nv_name_map") == 0)
        return S_NAMES;
    if (file[0] == '<' || strncmp (file, "__nv_", 5) == 0
        || kc_prelude_find (file, strlen (file)))
        return S_TREE;
    return S_FOREIGN;
}

// ---- findings ----

// The author's line that led to a diagnosis inside the include tree: a clang note in
// the author's file, or NVRTC's "at line 12 of program.cu".  0 when neither follows.
static int64_t s_led_from (const s_line_t *lines, size_t n, size_t at)
{
    static const char of[] = " of " KC_COMPILE_MAIN;
    for (size_t i = at + 1;
         i < n && lines[i].level != S_ERROR && lines[i].level != S_WARNING; i++) {
        const s_line_t *l = &lines[i];
        if (l->level == S_NOTE && strcmp (l->file, KC_COMPILE_MAIN) == 0
            && l->number > 0)
            return l->number;
        if (l->level != S_NONE)
            continue;
        for (size_t k = 0; k + 8 < l->size; k++)
            if (strncmp (l->text + k, "at line ", 8) == 0) {
                int64_t number;
                const char *r = s_number (l->text + k + 8, l->text + l->size, &number);
                if (r && (size_t)(l->text + l->size - r) >= sizeof of - 1
                    && strncmp (r, of, sizeof of - 1) == 0)
                    return number;
            }
    }
    return 0;
}

static bool s_has (const s_line_t *l, const char *what)
{
    return memmem (l->say, l->say_size, what, strlen (what)) != NULL;
}

// What helps against common errors.
static const char *s_fix (const s_line_t *l)
{
    if (s_has (l, "could not open source file") || s_has (l, "file not found")) {
        if (s_has (l, "torch/") || s_has (l, "ATen/") || s_has (l, "c10/")
            || s_has (l, "pybind11"))
            return "host code and its headers are not part of a kernel program: keep "
                   "the kernels and say with //@ lines "
                   "how they are launched";
        if (s_has (l, "cub/") || s_has (l, "thrust/"))
            return "cub and thrust are not available: kc::warp_sum, kc::block_sum, "
                   "kc::block_max, kc::block_argmax "
                   "(always included) or cooperative_groups.h do what most kernels "
                   "want them for";
        if (s_has (l, "cutlass") || s_has (l, "cute/"))
            return "CUTLASS is not available: kc_mma.h and kc_hopper.h have ldmatrix, "
                   "mma, cp.async, TMA and wgmma";
        if (s_has (l, "cublas") || s_has (l, "cudnn"))
            return "libraries are called by steps of the plan, not from the source";
        return "only the headers shipped with KernelClaw can be included; the standard "
               "ones, cuda_fp16.h, cuda_bf16.h, "
               "mma.h, cooperative_groups.h, kc_mma.h and kc_hopper.h are there";
    }
    if (s_has (l, "no member \"vector\"") || s_has (l, "no member named 'vector'")
        || s_has (l, "no member named 'cout'") || s_has (l, "no member \"cout\""))
        return "device code has no containers and no streams: remove the host part of "
               "the source";
    if (s_has (l, "cudaMalloc") || s_has (l, "cudaMemcpy")
        || s_has (l, "cudaDeviceSynchronize") || s_has (l, "kernel launch from")
        || s_has (l, "reference to __global__ function")
        || s_has (l, "cudaConfigureCall") || s_has (l, "cudaLaunchKernel"))
        return "remove the host code: launches are //@ launch lines, buffers are //@ "
               "scratch lines";
    return NULL;
}

// A kernel that a step names cannot be found: 'l' complains in the file of names.
static void s_name_finding (kc_compiled_t *c, const s_line_t *l,
                            const kc_compile_job_t *job)
{
    char *say = kc_strndup (l->say, l->say_size);
    // clang's line is the kernel's number; NVRTC's first name is on line 2.
    int64_t i = l->number - (strcmp (l->file, "__nv_name_map") == 0 ? 2 : 1);
    const char *name =
        job && i >= 0 && i < (int64_t)job->n_kernels ? job->kernels[i] : NULL;
    if (!name)
        kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, 0,
                          "a kernel that a step names is not in the source: %s", say);
    else if (s_has (l, "overloaded") || s_has (l, "instance of function template")
             || s_has (l, "instance of overloaded"))
        kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, 0,
                          "%s does not name one kernel: it is a template without "
                          "arguments, or overloaded",
                          name);
    else if (s_has (l, "undefined") || s_has (l, "undeclared")
             || s_has (l, "no member"))
        kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, 0,
                          "the source has no kernel %s", name);
    else
        kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, 0,
                          "the kernel %s that a step names does not compile: %s", name,
                          say);
    kc_compiled_kernel_of (c, name);
    kc_compiled_fix (c, "name it in the launch line as in the source, with template "
                        "arguments: name<4, float>");
    free (say);
}

static bool s_named_already (const kc_compiled_t *c, const kc_compile_job_t *job,
                             const s_line_t *l)
{
    int64_t i = l->number - (strcmp (l->file, "__nv_name_map") == 0 ? 2 : 1);
    const char *name =
        job && i >= 0 && i < (int64_t)job->n_kernels ? job->kernels[i] : NULL;
    for (size_t k = 0; name && k < c->n_findings; k++)
        if (c->findings[k].kernel && strcmp (c->findings[k].kernel, name) == 0)
            return true;
    return false;
}

static void s_finding (kc_compiled_t *c, const s_line_t *lines, size_t n, size_t at,
                       const kc_compile_job_t *job)
{
    const s_line_t *l = &lines[at];
    char *say = kc_strndup (l->say, l->say_size);
    int64_t line;
    switch (l->ptxas ? S_TREE : s_owner (l->file)) {
    case S_AUTHOR:
        kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, l->number, "%s", say);
        break;
    case S_CONSTANTS:
        kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, 0,
                          "in the program's constants: %s", say);
        break;
    case S_NAMES:
        if (!s_named_already (c, job, l))
            s_name_finding (c, l, job);
        break;
    case S_TREE:
        line = l->ptxas ? kc_ptx_source_line (c->ptx, l->number)
                        : s_led_from (lines, n, at);
        if (l->ptxas)
            kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, line, "assembler: %s",
                              say);
        else
            kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, line, "%s (in %s)",
                              say, l->file);
        break;
    case S_FOREIGN:
        kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, s_led_from (lines, n, at),
                          "an included file is not part of the include tree");
        kc_compiled_fix (c, "only the headers shipped with KernelClaw can be included");
        break;
    }
    const char *fix = s_fix (l);
    if (fix)
        kc_compiled_fix (c, fix);
    free (say);
}

// ---- the log ----

static s_line_t *s_split (const char *raw, size_t *n_p)
{
    s_line_t *lines = NULL;
    size_t n = 0, room = 0;
    for (const char *p = raw; *p && n < S_LINES;) {
        const char *end = strchr (p, '\n');
        if (!end)
            end = p + strlen (p);
        if (n == room) {
            room = room ? room * 2 : 64;
            lines = (s_line_t *)kc_realloc (lines, room * sizeof *lines);
        }
        s_line_t *l = &lines[n++];
        memset (l, 0, sizeof *l);
        l->text = p;
        l->size = (size_t)(end - p);
        if (l->size && p[l->size - 1] == '\r')
            l->size--;
        if (l->size)
            s_headline (l);
        p = *end ? end + 1 : end;
    }
    *n_p = n;
    return lines;
}

static bool s_starts (const s_line_t *l, const char *with)
{
    size_t n = strlen (with);
    return l->size >= n && strncmp (l->text, with, n) == 0;
}

// Lines that say nothing to the author.
static bool s_noise (const s_line_t *l)
{
    return s_starts (l, "Remark: The warnings can be")
           || s_starts (l, "In file included from") || (l->ptxas && l->level == S_NOTE)
           || s_starts (l, "ptxas         .")
           || (l->ptxas && l->level == S_NONE
               && memmem (l->text, l->size, "bytes stack frame", 17) != NULL)
           || s_starts (l, "clang: ");
}

static void s_clean (kc_compiled_t *c, const s_line_t *lines, size_t n)
{
    kc_buf_t out = {.limit = KC_COMPILE_RAW_LOG};
    bool hidden = false, said = false;
    for (size_t i = 0; i < n; i++) {
        const s_line_t *l = &lines[i];
        if (l->level != S_NONE)
            hidden = !l->ptxas && s_owner (l->file) == S_FOREIGN;
        else if (l->size == 0)
            hidden = false;
        if (s_noise (l))
            continue;
        if (hidden) {
            if (!said)
                kc_buf_puts (&out,
                             "[messages about a file outside of the include tree]\n");
            said = true;
            continue;
        }
        if (l->size == 0
            && (out.size == 0 || (out.size > 1 && out.data[out.size - 2] == '\n')))
            continue;
        kc_buf_put (&out, l->text, l->size);
        kc_buf_putc (&out, '\n');
    }
    free (c->log);
    c->log = kc_utf8_clean (kc_buf_str (&out), out.size, KC_COMPILE_LOG);
    kc_buf_free (&out);
}

void kc_compile_log (kc_compiled_t *c, const kc_compile_job_t *job, const char *raw,
                     bool failed)
{
    size_t n;
    s_line_t *lines = s_split (raw, &n);
    if (failed) {
        size_t before = c->n_findings;
        for (size_t i = 0; i < n; i++)
            if (lines[i].level == S_ERROR
                && !(lines[i].ptxas && s_has (&lines[i], "assembly aborted")))
                s_finding (c, lines, n, i, job);
        if (c->n_findings == before)
            kc_compiled_find (
                c, KC_VERDICT_STATUS_COMPILE_ERROR, 0,
                "the compiler failed without naming an error; see the log");
    }
    s_clean (c, lines, n);
    free (lines);
}

// ---- ptxas' report ----

static kc_kernel_facts_t *s_by_symbol (kc_compiled_t *c, const char *from, size_t size)
{
    for (size_t i = 0; i < c->n_kernels; i++)
        if (strlen (c->kernels[i].symbol) == size
            && strncmp (c->kernels[i].symbol, from, size) == 0)
            return &c->kernels[i];
    return NULL;
}

// The number in front of 'what'; -1 when the line has no such words.
static int64_t s_count (const s_line_t *l, const char *what)
{
    const char *at = (const char *)memmem (l->text, l->size, what, strlen (what));
    if (!at)
        return -1;
    const char *p = at;
    while (p > l->text && isdigit ((unsigned char)p[-1]))
        p--;
    int64_t v;
    return s_number (p, at, &v) ? v : -1;
}

void kc_compile_report (kc_compiled_t *c, const char *raw)
{
    static const char props[] = "Function properties for ";
    size_t n;
    s_line_t *lines = s_split (raw, &n);
    kc_kernel_facts_t *k = NULL;
    for (size_t i = 0; i < n; i++) {
        const s_line_t *l = &lines[i];
        const char *at =
            (const char *)memmem (l->text, l->size, props, sizeof props - 1);
        if (at) {
            at += sizeof props - 1;
            k = s_by_symbol (c, at, (size_t)(l->text + l->size - at));
            continue;
        }
        if (!k)
            continue;
        int64_t v = s_count (l, " bytes stack frame");
        if (v >= 0)
            k->local_bytes = v;
        v = s_count (l, " bytes spill stores");
        if (v >= 0) {
            int64_t loads = s_count (l, " bytes spill loads");
            k->spill_bytes = v > loads ? v : loads;
        }
        v = s_count (l, " registers");
        if (v > 0) {
            k->registers = (int)v;
            k->registers_estimated = false;
        }
        v = s_count (l, " bytes smem");
        if (v >= 0)
            k->shared_static = v;
        if (memmem (l->text, l->size, "serialized", 10) != NULL)
            kc_compiled_note (c, "%.*s", (int)l->size, l->text);
    }
    free (lines);
}

int64_t kc_ptx_source_line (const char *ptx, int64_t ptx_line)
{
    int64_t line = 0, at = 1;
    for (const char *p = ptx; p && *p && at < ptx_line; at++) {
        const char *end = strchr (p, '\n');
        if (!end)
            break;
        while (p < end && isspace ((unsigned char)*p))
            p++;
        int64_t file, number;
        if (end - p > 5 && strncmp (p, ".loc", 4) == 0) {
            const char *q = s_number (p + 5, end, &file);
            if (q && q < end && s_number (q + 1, end, &number) && file == 1)
                line = number;
        }
        p = end + 1;
    }
    return line;
}

// ---- the source, before any compiler ----

static const char *s_skip_space (const char *p)
{
    while (*p == ' ' || *p == '\t')
        p++;
    return p;
}

int kc_compile_scan (const kc_compile_job_t *job, kc_compiled_t *c)
{
    int64_t number = 1;
    for (const char *p = job->source; *p; number++) {
        const char *end = strchr (p, '\n');
        if (!end)
            end = p + strlen (p);
        const char *q = s_skip_space (p);
        if (*q == '#') {
            q = s_skip_space (q + 1);
            bool embed = strncmp (q, "embed", 5) == 0;
            if (embed || strncmp (q, "include", 7) == 0) {
                q = s_skip_space (q
                                  + (embed                                  ? 5
                                     : strncmp (q, "include_next", 12) == 0 ? 12
                                                                            : 7));
                const char *close =
                    *q == '"' || *q == '<' ? (const char *)memchr (
                        q + 1, *q == '"' ? '"' : '>', (size_t)(end - q - 1))
                                           : NULL;
                bool up = close && memmem (q, (size_t)(close - q), "..", 2) != NULL;
                if (embed || (close && (q[1] == '/' || up))) {
                    kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, number,
                                      "%s names a file outside of the include tree",
                                      embed ? "#embed" : "#include");
                    kc_compiled_fix (c, "only the headers shipped with KernelClaw can "
                                        "be included, by their plain names");
                }
            }
        }
        p = *end ? end + 1 : end;
    }
    return c->n_findings ? -1 : 0;
}
