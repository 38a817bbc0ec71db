// compile_help.c - see compile_help.h

#include "compile_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"

help_t *help_open (kc_front_t front, const char *limits, bool cache)
{
    help_t *self = (help_t *)kc_calloc (1, sizeof *self);
    self->dir = kc_strdup ("/tmp/kc-test-compile-XXXXXX");
    if (!mkdtemp (self->dir))
        fail_msg ("no folder in /tmp");
    char *bin = kc_fs_program_dir ();
    char *child = kc_fs_join (bin, "kc-compile-child");
    self->runner = child;
    kc_err_t err;
    if (limits) {
        self->runner = kc_fs_join (self->dir, "runner");
        char *script = kc_asprintf ("#!/bin/sh\n%s\nexec %s \"$@\"\n", limits, child);
        if (kc_fs_write (self->runner, script, strlen (script), 0700, false, &err) < 0)
            fail_msg ("%s", err.text);
        free (script);
        free (child);
    }
    char *dir = kc_fs_join (self->dir, "cache");
    const kc_compiler_config_t config = {
        .runner = self->runner, .front = front, .cache_dir = cache ? dir : NULL};
    self->compiler = kc_compiler_new (&config, &err);
    if (!self->compiler && (front == KC_FRONT_CLANG || !strstr (err.text, "NVRTC")))
        fail_msg ("%s", err.text); // clang is a package that the tests need
    if (!self->compiler)
        print_message ("[  SKIPPED ] %s\n", err.text);
    free (dir);
    free (bin);
    return self;
}

void help_close (help_t **self_p)
{
    help_t *self = *self_p;
    kc_compiler_destroy (&self->compiler);
    kc_fs_remove_tree (self->dir, NULL);
    free (self->dir);
    free (self->runner);
    free (self);
    *self_p = NULL;
}

void help_need (const help_t *self)
{
    if (!self->compiler)
        skip ();
}

kc_compiled_t *help_compile (help_t *self, const char *source, const char *kernel)
{
    const kc_compile_job_t job = {.source = source,
                                  .kernels = &kernel,
                                  .n_kernels = kernel && *kernel ? 1 : 0,
                                  .sm = 90,
                                  .want_ptx = true};
    return kc_compiler_run (self->compiler, &job);
}

void help_expect_ok (const kc_compiled_t *c)
{
    if (c->status == KC_VERDICT_STATUS_OK)
        return;
    for (size_t i = 0; i < c->n_findings; i++)
        print_error ("line %lld: %s\n", (long long)c->findings[i].line,
                     c->findings[i].text);
    print_error ("%s\n", c->log);
    fail_msg ("it does not compile");
}

void help_expect_finding (const kc_compiled_t *c, const char *words, int64_t line)
{
    for (size_t i = 0; i < c->n_findings; i++)
        if (strstr (c->findings[i].text, words)
            && (line < 0 || c->findings[i].line == line))
            return;
    for (size_t i = 0; i < c->n_findings; i++)
        print_error ("line %lld: %s\n", (long long)c->findings[i].line,
                     c->findings[i].text);
    print_error ("%s\n", c->log);
    fail_msg ("no finding '%s' at line %lld among %zu", words, (long long)line,
              c->n_findings);
}
