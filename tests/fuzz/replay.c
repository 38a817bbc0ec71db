/* replay.c - runs a fuzz target over the files of the folders named, for builds without
 * libFuzzer
 *
 * An empty folder is a failure: it would be a test that cannot fail.
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/util/kc_fs.h"

enum { INPUT_BYTES = 1 << 20 };

static size_t s_folder (const char *path)
{
    size_t done = 0;
    DIR *dir = opendir (path);
    if (!dir)
        return 0;
    for (const struct dirent *e; (e = readdir (dir));) {
        if (e->d_name[0] == '.')
            continue;
        kc_err_t err;
        size_t size;
        char *file = kc_fs_join (path, e->d_name);
        char *data = kc_fs_read (file, INPUT_BYTES, &size, &err);
        if (data) {
            LLVMFuzzerTestOneInput ((const uint8_t *)data, size);
            done++;
        }
        else
            fprintf (stderr, "%s\n", err.text);
        free (data);
        free (file);
    }
    closedir (dir);
    return done;
}

int main (int argc, char **argv)
{
    size_t done = 0;
    for (int i = 1; i < argc; i++)
        done += s_folder (argv[i]);
    printf ("%zu inputs replayed\n", done);
    return done == 0;
}
