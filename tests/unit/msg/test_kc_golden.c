/* test_kc_golden.c - documents kept as files:
 * tests/cases/msg/docs/<type>/{ok,bad}/<name>.json
 *
 * An ok document is accepted in strict mode and its canonical text reads back to
 * itself.  A bad one is refused with exactly the lines of <name>.txt beside it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/msg/kc_codec.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"

static const char s_root[] = "tests/cases/msg/docs";

typedef void (case_f) (const kc_type_t *type, const char *path);

static char *s_read (const char *path, size_t *size)
{
    kc_err_t err;
    char *text = kc_fs_read (path, KC_JSON_MAX, size, &err);
    if (!text)
        fail_msg ("%s", err.text);
    return text;
}

static int s_visible (const struct dirent *e)
{
    return e->d_name[0] != '.';
}

// Call 'run' for every .json of <type>/<folder>; returns how many there were.
static size_t s_each (const char *folder, case_f *run)
{
    struct dirent **types;
    size_t done = 0;
    int n_types = scandir (s_root, &types, s_visible, alphasort);
    assert_true (n_types > 0);
    for (int t = 0; t < n_types; t++) {
        const kc_type_t *type = kc_type_find (types[t]->d_name);
        if (!type)
            fail_msg ("%s/%s: no such type", s_root, types[t]->d_name);
        char *dir = kc_asprintf ("%s/%s/%s", s_root, types[t]->d_name, folder);
        struct dirent **files;
        int n = scandir (dir, &files, s_visible, alphasort);
        for (int i = 0; i < n; i++) {
            size_t length = strlen (files[i]->d_name);
            if (length > 5 && strcmp (files[i]->d_name + length - 5, ".json") == 0) {
                char *path = kc_fs_join (dir, files[i]->d_name);
                run (type, path);
                free (path);
                done++;
            }
            free (files[i]);
        }
        if (n >= 0)
            free (files);
        free (dir);
        free (types[t]);
    }
    free (types);
    return done;
}

static void s_ok (const kc_type_t *type, const char *path)
{
    size_t size, length;
    kc_errs_t errs;
    char *json = s_read (path, &size);
    void *object = kc_type_decode (type, json, size, KC_STRICT, &errs);
    if (!object) {
        char *why = kc_errs_text (&errs);
        fail_msg ("%s: %s", path, why);
    }
    char *text = kc_type_encode (type, object, &length, NULL);
    void *back = kc_type_decode (type, text, length, KC_STRICT, &errs);
    assert_non_null (back);
    char *again = kc_type_encode (type, back, NULL, NULL);
    assert_string_equal (text, again);
    kc_type_free (type, object);
    kc_type_free (type, back);
    free (again);
    free (text);
    free (json);
}

static void s_bad (const kc_type_t *type, const char *path)
{
    size_t size;
    kc_errs_t errs;
    char *json = s_read (path, &size);
    assert_null (kc_type_decode (type, json, size, KC_STRICT, &errs));
    char *why = kc_errs_text (&errs);
    char *beside = kc_asprintf ("%.*s.txt", (int)(strlen (path) - 5), path);
    char *expected = s_read (beside, &size);
    while (size > 0 && expected[size - 1] == '\n')
        expected[--size] = 0;
    if (strcmp (why, expected) != 0)
        fail_msg ("%s:\n%s\ninstead of\n%s", path, why, expected);
    free (expected);
    free (beside);
    free (why);
    free (json);
}

static void good_documents_are_accepted (void **state)
{
    (void)state;
    assert_true (s_each ("ok", s_ok) >= 10);
}

static void bad_documents_are_refused_with_these_words (void **state)
{
    (void)state;
    assert_true (s_each ("bad", s_bad) >= 10);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (good_documents_are_accepted),
        cmocka_unit_test (bad_documents_are_refused_with_these_words),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
