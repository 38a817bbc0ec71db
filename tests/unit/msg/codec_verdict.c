/* codec_verdict.c - what the codec says about documents, for the comparison with
 * another validator
 *
 * kc-codec-verdict check          lines "TYPE\tJSON" on stdin -> one line each: "ok" or
 * "bad POINTER: ..." kc-codec-verdict make SEED N    N lines "TYPE\tJSON" with random
 * valid documents of all types in turn kc-codec-verdict explain TYPE   one document on
 * stdin -> all its errors kc-codec-verdict schemas        lines "TYPE\tSCHEMA" with the
 * self-contained schema of every type
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_object.h"

static int s_check (void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    while ((size = getline (&line, &room, stdin)) > 0) {
        if (line[size - 1] == '\n')
            line[--size] = 0;
        char *tab = strchr (line, '\t');
        if (tab)
            *tab = 0;
        const kc_type_t *type = tab ? kc_type_find (line) : NULL;
        if (!type || type->base == KC_BASE_ENUM) {
            printf ("unknown type %s\n", line);
            continue;
        }
        kc_errs_t errs;
        void *object = kc_type_decode (type, tab + 1, (size_t)(line + size - (tab + 1)),
                                       KC_STRICT, &errs);
        char *why = kc_errs_text (&errs);
        why[strcspn (why, "\n")] = 0;
        printf ("%s%s\n", object ? "ok" : "bad ", why);
        free (why);
        kc_type_free (type, object);
    }
    free (line);
    return 0;
}

static int s_explain (const char *name)
{
    enum { ROOM = 1 << 20 };
    char *text = malloc (ROOM);
    const kc_type_t *type = kc_type_find (name);
    size_t size = text ? fread (text, 1, ROOM, stdin) : 0;
    kc_errs_t errs;
    if (!type || type->base == KC_BASE_ENUM) {
        free (text);
        return 2;
    }
    void *object = kc_type_decode (type, text, size, KC_STRICT, &errs);
    char *why = kc_errs_text (&errs);
    free (text);
    puts (why);
    free (why);
    kc_type_free (type, object);
    return errs.n > 0;
}

static int s_make (uint64_t seed, size_t n)
{
    for (size_t i = 0, made = 0; made < n; i++) {
        const kc_type_t *type = kc_type_at (i % kc_type_count ());
        if (type->base == KC_BASE_ENUM)
            continue;
        void *object = random_object (type, &seed);
        char *text = kc_type_encode (type, object, NULL, NULL);
        kc_type_free (type, object);
        if (!text)
            return 1;
        printf ("%s\t%s\n", type->name, text);
        free (text);
        made++;
    }
    return 0;
}

static int s_schemas (void)
{
    for (size_t i = 0; i < kc_type_count (); i++) {
        char *text = kc_type_schema (kc_type_at (i));
        printf ("%s\t%s\n", kc_type_at (i)->name, text);
        free (text);
    }
    return 0;
}

int main (int argc, char **argv)
{
    if (argc == 2 && strcmp (argv[1], "check") == 0)
        return s_check ();
    if (argc == 3 && strcmp (argv[1], "explain") == 0)
        return s_explain (argv[2]);
    if (argc == 4 && strcmp (argv[1], "make") == 0)
        return s_make (strtoull (argv[2], NULL, 10),
                       (size_t)strtoull (argv[3], NULL, 10));
    if (argc == 2 && strcmp (argv[1], "schemas") == 0)
        return s_schemas ();
    fputs ("usage: kc-codec-verdict check | explain TYPE | make SEED N | schemas\n",
           stderr);
    return 2;
}
