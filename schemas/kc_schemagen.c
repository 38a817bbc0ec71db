/* kc_schemagen.c - makes C of JSON schemas: memory, files, order of work
 *
 * usage: kc_schemagen OUT_DIR INCLUDE_PREFIX REGISTRY_NAME FILE.schema.json...
 */
#include "kc_schemagen.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE = 4 << 20 };

// ---- memory and faults ----

static void s_free_all (gen_t *g)
{
    for (size_t i = 0; i < g->n_files; i++)
        json_decref (g->files[i].root);
    for (size_t i = 0; i < g->n_blocks; i++)
        free (g->blocks[i]);
    free (g->blocks);
}

void gen_die (gen_t *g, const char *file, const char *pointer, const char *format, ...)
{
    fprintf (stderr, "%s: %s: ", file, pointer && *pointer ? pointer : "/");
    va_list args;
    va_start (args, format);
    vfprintf (stderr, format, args);
    va_end (args);
    fputc ('\n', stderr);
    s_free_all (g);
    exit (1);
}

void *gen_alloc (gen_t *g, size_t size)
{
    void *p = calloc (1, size ? size : 1);
    void **blocks = realloc (g->blocks, (g->n_blocks + 1) * sizeof *blocks);
    if (!p || !blocks) {
        fputs ("kc_schemagen: out of memory\n", stderr);
        exit (1);
    }
    g->blocks = blocks;
    g->blocks[g->n_blocks++] = p;
    return p;
}

char *gen_text (gen_t *g, const char *format, ...)
{
    va_list args, again;
    va_start (args, format);
    va_copy (again, args);
    int n = vsnprintf (NULL, 0, format, args);
    char *text = gen_alloc (g, (size_t)(n < 0 ? 0 : n) + 1);
    if (n > 0)
        vsnprintf (text, (size_t)n + 1, format, again);
    va_end (again);
    va_end (args);
    return text;
}

void *gen_push (gen_t *g, void *v_p, size_t *n, size_t size)
{
    void *old;
    memcpy (&old, v_p, sizeof old);
    if ((*n & (*n - 1)) == 0) { // full at every power of two
        void *grown = gen_alloc (g, (*n ? *n * 2 : 1) * size);
        if (*n)
            memcpy (grown, old, *n * size);
        old = grown;
        memcpy (v_p, &old, sizeof old);
    }
    return (char *)old + (*n)++ * size;
}

const char *gen_upper (gen_t *g, const char *text)
{
    static const struct {
        const char *op, *word;
    } s_ops[] = {{"=", "EQ"},  {"==", "EQ"}, {"!=", "NE"}, {"<", "LT"},
                 {"<=", "LE"}, {">", "GT"},  {">=", "GE"}};
    for (size_t i = 0; i < sizeof s_ops / sizeof s_ops[0]; i++)
        if (strcmp (text, s_ops[i].op) == 0)
            return s_ops[i].word; // else all of them would be made of '_' only
    char *out = gen_text (g, "%s", text);
    for (char *p = out; *p; p++)
        *p = isalnum ((unsigned char)*p) && (unsigned char)*p < 128
                 ? (char)toupper ((unsigned char)*p)
                 : '_';
    return out;
}

bool gen_is_identifier (const char *s)
{
    if (!*s)
        return false;
    for (const char *p = s; *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z')
              || (*p >= '0' && *p <= '9') || *p == '_'))
            return false;
    return true;
}

// ---- files ----

static void s_load (gen_t *g, file_t *file, const char *path)
{
    static const char s_suffix[] = ".schema.json";
    const char *slash = strrchr (path, '/');
    file->base = gen_text (g, "%s", slash ? slash + 1 : path);
    size_t length = strlen (file->base);
    if (length < sizeof s_suffix
        || strcmp (file->base + length - (sizeof s_suffix - 1), s_suffix) != 0)
        gen_die (g, path, "", "the name must end in %s", s_suffix);
    file->stem =
        gen_text (g, "%.*s", (int)(length - (sizeof s_suffix - 1)), file->base);
    if (!gen_is_identifier (file->stem))
        gen_die (g, path, "", "the name before %s must be a C identifier", s_suffix);
    FILE *f = fopen (path, "rb");
    if (!f)
        gen_die (g, path, "", "cannot be opened (error %d)", errno);
    file->text = gen_alloc (g, MAX_FILE);
    file->size = fread (file->text, 1, MAX_FILE, f);
    bool bad = ferror (f) != 0 || file->size == MAX_FILE;
    fclose (f);
    if (bad)
        gen_die (g, path, "", "cannot be read, or is larger than %d bytes", MAX_FILE);
    json_error_t error;
    file->root = json_loadb (file->text, file->size, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object (file->root))
        gen_die (g, path, "", "line %d: %s", error.line,
                 file->root ? "not an object" : error.text);
}

// Headers include each other along "$ref"s between files, so these must not go in a
// circle.
static void s_check_circle (gen_t *g, file_t *file)
{
    file->busy = true;
    for (size_t i = 0; i < g->n_files; i++) {
        if (!file->uses[i] || g->files[i].done)
            continue;
        if (g->files[i].busy)
            gen_die (g, file->base, "",
                     "refers to %s, which refers back: move what both need into a "
                     "third file",
                     g->files[i].base);
        s_check_circle (g, &g->files[i]);
    }
    file->busy = false;
    file->done = true;
}

int main (int argc, char **argv)
{
    if (argc < 5) {
        fputs ("usage: kc_schemagen OUT_DIR INCLUDE_PREFIX REGISTRY_NAME "
               "FILE.schema.json...\n",
               stderr);
        return 2;
    }
    gen_t g = {.out = argv[1], .include = argv[2], .registry = argv[3]};
    size_t n_files = (size_t)argc - 4;
    g.files = gen_alloc (&g, n_files * sizeof *g.files);
    for (g.n_files = 0; g.n_files < n_files;) {
        file_t *file = &g.files[g.n_files++];
        s_load (&g, file, argv[3 + g.n_files]);
        file->uses = gen_alloc (&g, n_files * sizeof *file->uses);
    }
    for (size_t i = 0; i < g.n_files; i++)
        gen_read_file (&g, &g.files[i]);
    for (size_t i = 0; i < g.n_files; i++)
        if (!g.files[i].done)
            s_check_circle (&g, &g.files[i]);
    gen_write_all (&g);
    s_free_all (&g);
    return 0;
}
