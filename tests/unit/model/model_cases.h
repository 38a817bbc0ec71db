/* model_cases.h - what the tests of common/model share: reading a case file, parsing
 * it, asking for findings */
#ifndef MODEL_CASES_H
#define MODEL_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/model/kc_finding.h"
#include "common/model/kc_program.h"
#include "common/model/kc_program_text.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"

static inline char *case_read (const char *path, size_t *size_p)
{
    kc_err_t err;
    char *text = kc_fs_read (path, 1 << 20, size_p, &err);
    if (!text)
        fail_msg ("%s", err.text);
    return text;
}

static inline kc_program_text_t *case_parse (const char *text)
{
    kc_verdict_t *v = kc_verdict_new ();
    kc_program_text_t *t = kc_program_text_parse (text, strlen (text), NULL, v);
    if (!t) {
        char *all = kc_findings_text (v);
        fail_msg ("%s", all);
    }
    kc_verdict_free (&v);
    return t;
}

static inline kc_program_text_t *case_load (const char *name)
{
    char *path = kc_asprintf ("tests/cases/program/%s.cu", name);
    char *text = case_read (path, NULL);
    kc_program_text_t *t = case_parse (text);
    free (text);
    free (path);
    return t;
}

// The first finding as "line 3: text".
static inline void case_findings_are (kc_verdict_t *v, const char *expected)
{
    char *all = kc_findings_text (v);
    char *end = strchr (all, '\n');
    if (end)
        *end = 0;
    assert_string_equal (all, expected);
    free (all);
}

static inline void case_text_refused (const char *text, const char *expected)
{
    kc_verdict_t *v = kc_verdict_new ();
    kc_program_text_t *t = kc_program_text_parse (text, strlen (text), NULL, v);
    if (t)
        fail_msg ("accepted: %s", text);
    case_findings_are (v, expected);
    assert_int_equal (v->status, KC_VERDICT_STATUS_PLAN_ERROR);
    kc_verdict_free (&v);
}

#endif // MODEL_CASES_H
