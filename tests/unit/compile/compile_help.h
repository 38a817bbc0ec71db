/* compile_help.h - a compiler for tests: its own cache folder, the child program of the
 * build, skipping */
#ifndef COMPILE_HELP_H
#define COMPILE_HELP_H

#include "agents/gpu/compile/kc_compile.h"

typedef struct help {
    kc_compiler_t *compiler; // NULL: this front end is not installed
    char *dir;               // a folder of this test
    char *runner;            // the compile child
} help_t;

// Opened once per binary; 'limits' is put in front of the child ("ulimit -t 3"), NULL =
// none.
help_t *help_open (kc_front_t front, const char *limits, bool cache);
void help_close (help_t **self_p);
// Skip the test when the front end is missing.
void help_need (const help_t *self);

// Compile for the virtual GPU with up to one kernel named ("" = none); judged build.
kc_compiled_t *help_compile (help_t *self, const char *source, const char *kernel);
void help_expect_ok (const kc_compiled_t *c); // fails with the log
// A finding whose text holds 'words' exists; its line when 'line' >= 0.
void help_expect_finding (const kc_compiled_t *c, const char *words, int64_t line);

#endif // COMPILE_HELP_H
