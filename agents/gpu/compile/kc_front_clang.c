// kc_front_clang.c - Debian's clang as a child of the compile child: PTX for the
// virtual GPU, no toolkit needed
//
// clang compiles CUDA, where a function without __device__ is host code, while NVRTC is
// run with everything on the device.  The prelude ends with "#pragma clang
// force_cuda_host_device begin", which gives the same; but under it a kernel template
// gets attributes that clash when it is instantiated.  So the pragma is switched off
// around the head of every __global__ function (s_wrap); lines stay what they are.
//
// The symbol of a kernel is learned from a variable that holds its address (S_PROBE);
// the code generator prints the name, and the line is taken out of the PTX again.

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/gpu/compile/kc_compile_int.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"

#define S_PROBE "kc_kernel_"
#define S_OFF "_Pragma(\"clang force_cuda_host_device end\") "
#define S_ON " _Pragma(\"clang force_cuda_host_device begin\") "

// ---- the author's text ----

// The end of what starts at p when it is a comment or a literal, else p.
static const char *s_skip_quoted (const char *p)
{
    if (p[0] == '/' && p[1] == '/') {
        while (*p && *p != '\n')
            p++;
        return p;
    }
    if (p[0] == '/' && p[1] == '*') {
        const char *end = strstr (p + 2, "*/");
        return end ? end + 2 : p + strlen (p);
    }
    if (p[0] == 'R' && p[1] == '"') { // raw string: R"tag( ... )tag"
        const char *open = strchr (p, '(');
        if (open && open - p < 20) {
            char close[24];
            snprintf (close, sizeof close, ")%.*s\"", (int)(open - p - 2), p + 2);
            const char *end = strstr (open, close);
            return end ? end + strlen (close) : p + strlen (p);
        }
    }
    if (*p == '"' || *p == '\'') {
        char quote = *p++;
        while (*p && *p != quote && *p != '\n')
            p += *p == '\\' && p[1] ? 2 : 1;
        return *p == quote ? p + 1 : p;
    }
    return p;
}

// The '{' or ';' that ends the head of a function, NULL when there is none (before the
// end of a macro's line).
static const char *s_head_end (const char *p, bool in_macro)
{
    int depth = 0;
    while (*p) {
        const char *q = s_skip_quoted (p);
        if (q != p) {
            p = q;
            continue;
        }
        if (*p == '(' || *p == '[')
            depth++;
        else if (*p == ')' || *p == ']')
            depth--;
        else if ((*p == '{' || *p == ';') && depth == 0)
            return p;
        else if (*p == '#' && depth == 0 && !in_macro)
            return NULL;
        else if (in_macro && *p == '\n' && p[-1] != '\\')
            return NULL;
        p++;
    }
    return NULL;
}

static bool s_word_char (char c)
{
    return isalnum ((unsigned char)c) || c == '_';
}

static char *s_wrap (const char *source)
{
    static const char word[] = "__global__";
    kc_buf_t out = {0};
    bool line_start = true, in_macro = false;
    for (const char *p = source; *p;) {
        const char *q = s_skip_quoted (p);
        if (q != p) {
            kc_buf_put (&out, p, (size_t)(q - p));
            line_start = false;
            p = q;
            continue;
        }
        if (*p == '#' && line_start)
            in_macro = true;
        if (*p == '\n') {
            line_start = true;
            if (p == source || p[-1] != '\\')
                in_macro = false;
        }
        else if (!isspace ((unsigned char)*p))
            line_start = false;
        if (strncmp (p, word, sizeof word - 1) == 0 && !s_word_char (p[sizeof word - 1])
            && (p == source || !s_word_char (p[-1]))) {
            const char *end = s_head_end (p, in_macro);
            if (end) {
                kc_buf_puts (&out, S_OFF);
                kc_buf_put (&out, p, (size_t)(end + 1 - p));
                kc_buf_puts (&out, S_ON);
                p = end + 1;
                continue;
            }
        }
        kc_buf_putc (&out, *p++);
    }
    return kc_buf_take (&out);
}

static char *s_unit (const kc_compile_job_t *job)
{
    kc_compile_job_t copy = *job;
    char *wrapped = s_wrap (job->source);
    copy.source = wrapped;
    char *unit = kc_compile_unit (&copy);
    kc_buf_t out = {0};
    kc_buf_puts (&out, unit);
    kc_buf_printf (&out, "#line 1 \"%s\"\n", KC_COMPILE_NAMES);
    for (size_t i = 0; i < job->n_kernels; i++)
        kc_buf_printf (&out,
                       "__attribute__ ((device, used)) const void *" S_PROBE
                       "%zu = (const void *)(%s);\n",
                       i, job->kernels[i]);
    free (unit);
    free (wrapped);
    return kc_buf_take (&out);
}

// ---- files of the private folder, which is the working directory ----

static int s_lay_out (kc_err_t *err)
{
    size_t n;
    const kc_prelude_file_t *files = kc_prelude_files (&n);
    for (size_t i = 0; i < n; i++) {
        char *path = kc_fs_join ("include", files[i].name);
        char *slash = strrchr (path, '/');
        *slash = 0;
        int rc = kc_fs_mkdir (path, 0700, err);
        *slash = '/';
        if (rc == 0)
            rc = kc_fs_write (path, files[i].text, files[i].size, 0600, false, err);
        free (path);
        if (rc < 0)
            return -1;
    }
    return 0;
}

// The one place outside of kc_spawn that starts a process: clang must stay in our
// process group, so that whoever kills this child kills clang with it.
static int s_run (const char *tool, const char *const *argv, int *status, kc_err_t *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init (&actions);
    posix_spawn_file_actions_addopen (&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen (&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen (&actions, 2, "log", O_WRONLY | O_CREAT | O_TRUNC,
                                      0600);
    posix_spawn_file_actions_addclosefrom_np (&actions, 3);
    static char *const no_environment[] = {NULL};
    union {
        const char *const *in;
        char *const *out;
    } u = {.in = argv};
    pid_t pid;
    int rc = posix_spawn (&pid, tool, &actions, NULL, u.out, no_environment);
    posix_spawn_file_actions_destroy (&actions);
    if (rc != 0)
        return kc_fail_errno (err, rc, "cannot start %s", tool);
    while (waitpid (pid, status, 0) < 0)
        if (errno != EINTR)
            return kc_fail_errno (err, errno, "waiting for %s", tool);
    return 0;
}

// ---- the PTX ----

// The probes make the code generator declare each kernel in front of its definition:
// ".visible .entry name", the parameters and ";" on lines of their own.  The end of
// such a declaration, NULL when p does not begin one.
static char *s_declaration (char *p)
{
    static const char *const starts[] = {".visible .entry ", ".weak .entry ",
                                         ".entry "};
    for (size_t i = 0; i < KC_COUNT (starts); i++) {
        if (strncmp (p, starts[i], strlen (starts[i])) != 0)
            continue;
        char *end = strchr (p, '\n');
        if (!end || end[-1] == '(') // a definition opens its list on the same line
            return NULL;
        char *close = strstr (end, "\n;\n");
        char *body = strstr (end, "\n{");
        return close && (!body || close < body) ? close + 3 : NULL;
    }
    return NULL;
}

// Take the probes out of the PTX and note the symbols they held.
static void s_take_symbols (kc_compiled_t *c, const kc_compile_job_t *job, char *ptx)
{
    char **symbols = (char **)kc_calloc (job->n_kernels + 1, sizeof *symbols);
    char *to = ptx;
    for (char *p = ptx; *p;) {
        char *end = strchr (p, '\n');
        end = end ? end + 1 : p + strlen (p);
        char *probe = NULL, *declared = s_declaration (p);
        if (declared) {
            p = declared;
            continue;
        }
        if (strncmp (p, ".visible .global", 16) == 0) {
            char saved = *end;
            *end = 0;
            probe = strstr (p, " " S_PROBE);
            *end = saved;
        }
        if (probe) {
            char *rest;
            unsigned long i = strtoul (probe + 1 + sizeof S_PROBE - 1, &rest, 10);
            if (i < job->n_kernels && strncmp (rest, " = ", 3) == 0)
                symbols[i] = kc_strndup (rest + 3, strcspn (rest + 3, ";\n"));
        }
        else {
            memmove (to, p, (size_t)(end - p));
            to += end - p;
        }
        p = end;
    }
    *to = 0;
    for (size_t i = 0; i < job->n_kernels; i++) {
        if (!symbols[i]) {
            kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, 0,
                              "the source has no kernel %s", job->kernels[i]);
            continue;
        }
        kc_kernel_facts_t *k =
            (kc_kernel_facts_t *)kc_push (&c->kernels, &c->n_kernels, sizeof *k);
        k->name = kc_strdup (job->kernels[i]);
        k->symbol = symbols[i];
    }
    free (symbols);
}

// Take what s_wrap put in out of the quoted lines; the line of carets below such a line
// no longer fits.
static void s_unwrap (char *log)
{
    static const char *const ours[] = {S_OFF, S_ON};
    char *to = log;
    bool changed = false;
    for (char *p = log; *p;) {
        char *end = strchr (p, '\n');
        end = end ? end + 1 : p + strlen (p);
        bool carets = changed && (size_t)(end - p) == strspn (p, " ^~\n");
        changed = false;
        for (char *q = p; q < end && !carets;) {
            size_t skip = 0;
            for (size_t i = 0; i < KC_COUNT (ours); i++)
                if ((size_t)(end - q) >= strlen (ours[i])
                    && strncmp (q, ours[i], strlen (ours[i])) == 0)
                    skip = strlen (ours[i]);
            changed |= skip > 0;
            q += skip;
            if (q < end)
                *to++ = *q++;
        }
        p = end;
    }
    *to = 0;
}

static void s_failed (kc_compiled_t *c, const kc_compile_job_t *job, int status,
                      const char *log)
{
    int signal = WIFSIGNALED (status)         ? WTERMSIG (status)
                 : WEXITSTATUS (status) > 128 ? WEXITSTATUS (status) - 128
                                              : 0;
    if (signal == SIGXCPU || signal == SIGKILL)
        kc_compiled_find (c, KC_VERDICT_STATUS_TIMEOUT, 0,
                          "the compiler was stopped after %d s of CPU time",
                          KC_COMPILE_CPU_S);
    else if (strstr (log, "out of memory") || strstr (log, "bad_alloc"))
        kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, 0,
                          "the compiler ran out of memory (%lld GiB); the source "
                          "expands to too much code",
                          (long long)(KC_COMPILE_AS >> 30));
    else if (signal == SIGXFSZ)
        kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, 0,
                          "the compiled code is larger than %d MiB",
                          KC_COMPILE_FSIZE >> 20);
    else if (signal)
        kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, 0,
                          "the compiler crashed on this source (signal %d)", signal);
    kc_compile_log (c, job, log, c->n_findings == 0);
}

int kc_front_clang (const kc_compile_request_t *r, kc_compiled_t *c)
{
    const kc_compile_job_t *job = &r->job;
    kc_err_t err;
    kc_set (&c->compiler, "clang");
    if (job->want_cubin) {
        kc_compiled_find (c, KC_VERDICT_STATUS_UNSUPPORTED, 0,
                          "the clang front end makes code for the virtual GPU only; a "
                          "real GPU needs NVRTC");
        return -1;
    }
    int rc = -1, status = 0;
    char *unit = s_unit (job), *log = NULL, *ptx = NULL;
    if (chdir (r->tmp) < 0 || s_lay_out (&err) < 0
        || kc_fs_write (KC_COMPILE_MAIN, unit, strlen (unit), 0600, false, &err) < 0) {
        kc_compiled_find (c, KC_VERDICT_STATUS_INFRA_ERROR, 0,
                          "the private folder of the compiler cannot be used: %s",
                          err.text);
        goto out;
    }
    const char *argv[64];
    int n = 0;
    const char *fixed[] = {r->tool,
                           "-x",
                           "cuda",
                           "--cuda-device-only",
                           "-nocudainc",
                           "-nocudalib",
                           "--cuda-gpu-arch=sm_80",
                           "-Xclang",
                           "-target-feature",
                           "-Xclang",
                           "+ptx75",
                           "-Wno-unknown-cuda-version",
                           "--cuda-path=/nonexistent",
                           "-nostdinc",
                           "-isystem",
                           "include",
                           "-gline-tables-only",
                           "-fdebug-compilation-dir=.",
                           "-O3",
                           "-S",
                           "-fno-exceptions",
                           "-fno-rtti",
                           "-fmath-errno",
                           "-fno-crash-diagnostics",
                           "-fno-color-diagnostics",
                           "-Wno-unused-variable",
                           "-fshow-overloads=best",
                           "-ftemplate-depth=512"};
    for (size_t i = 0; i < KC_COUNT (fixed); i++)
        argv[n++] = fixed[i];
    argv[n++] = job->cxx20 ? "-std=c++20" : "-std=c++17";
    argv[n++] = job->no_fmad ? "-ffp-contract=off" : "-ffp-contract=fast";
    if (job->fast_math) {
        argv[n++] = "-fgpu-flush-denormals-to-zero";
        argv[n++] = "-mllvm";
        argv[n++] = "-nvptx-prec-divf32=0";
        argv[n++] = "-mllvm";
        argv[n++] = "-nvptx-prec-sqrtf32=0";
    }
    argv[n++] = "-o";
    argv[n++] = "out.ptx";
    argv[n++] = KC_COMPILE_MAIN;
    argv[n] = NULL;
    if (s_run (r->tool, argv, &status, &err) < 0) {
        kc_compiled_find (c, KC_VERDICT_STATUS_INFRA_ERROR, 0, "%s", err.text);
        goto out;
    }
    log = kc_fs_read ("log", KC_COMPILE_RAW_LOG, NULL, NULL);
    if (!log)
        log = kc_strdup ("");
    s_unwrap (log);
    if (!WIFEXITED (status) || WEXITSTATUS (status) != 0) {
        s_failed (c, job, status, log);
        goto out;
    }
    ptx = kc_fs_read ("out.ptx", KC_COMPILE_CODE, NULL, &err);
    if (!ptx) {
        kc_compiled_find (c, KC_VERDICT_STATUS_COMPILE_ERROR, 0,
                          "the compiled code cannot be read: %s", err.text);
        goto out;
    }
    kc_compile_log (c, job, log, false);
    s_take_symbols (c, job, ptx);
    c->ptx = ptx;
    c->ptx_size = strlen (ptx);
    ptx = NULL;
    if (job->max_registers)
        kc_compiled_note (c, "max_registers has no effect with the clang front end");
    if (c->status == KC_VERDICT_STATUS_OK)
        kc_compile_policy (job, c);
    rc = c->status == KC_VERDICT_STATUS_OK ? 0 : -1;
out:
    free (log);
    free (ptx);
    free (unit);
    return rc;
}
