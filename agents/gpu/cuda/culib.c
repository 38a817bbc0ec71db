// culib.c - see culib.h for the order of the search

#include "agents/gpu/cuda/culib.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/util/kc_buf.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"

enum {
    MAX_GLOB = 64,       // folders looked into per pattern
    MAX_PATH_PARTS = 64, // entries of PATH considered for Python environments
    MAX_TRIED = 380,     // bytes of the list of places in an error text
};

static const char *const s_nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12",
                                            "libnvrtc.so", NULL};
static const char *const s_cupti_names[] = {"libcupti.so.13", "libcupti.so.12",
                                            "libcupti.so", NULL};
static const char *const s_lib_dirs[] = {"", "lib64", "lib", "targets/x86_64-linux/lib",
                                         NULL};
static const char *const s_cupti_dirs[] = {"",    "extras/CUPTI/lib64",       "lib64",
                                           "lib", "targets/x86_64-linux/lib", NULL};

const kc_culib_spec_t kc_culib_nvrtc = {
    .what = "NVRTC",
    .sonames = s_nvrtc_names,
    .subdirs = s_lib_dirs,
    .remedy = "install the CUDA toolkit 12 or 13 or the wheel nvidia-cuda-nvrtc, or "
              "name its folder with --cuda",
};
const kc_culib_spec_t kc_culib_cupti = {
    .what = "CUPTI",
    .sonames = s_cupti_names,
    .subdirs = s_cupti_dirs,
    .remedy = "install the CUDA toolkit or the wheel nvidia-cuda-cupti, or name its "
              "folder with --cuda",
};

typedef struct search {
    const kc_culib_spec_t *spec;
    kc_buf_t tried; // roots, for the error text
    char *found;
} search_t;

static bool s_is_file (const char *path)
{
    struct stat st;
    return stat (path, &st) == 0 && S_ISREG (st.st_mode);
}

// Look below one root (a toolkit or a folder of libraries).
static bool s_try_root (search_t *s, const char *root)
{
    if (s->found || !root || !*root)
        return s->found != NULL;
    if (s_is_file (root)) {
        s->found = realpath (root, NULL);
        return s->found != NULL;
    }
    kc_buf_printf (&s->tried, "%s%s", s->tried.size ? ", " : "", root);
    for (size_t d = 0; s->spec->subdirs[d]; d++) {
        for (size_t n = 0; s->spec->sonames[n]; n++) {
            char *path = *s->spec->subdirs[d]
                             ? kc_asprintf ("%s/%s/%s", root, s->spec->subdirs[d],
                                            s->spec->sonames[n])
                             : kc_asprintf ("%s/%s", root, s->spec->sonames[n]);
            if (s_is_file (path))
                s->found = realpath (path, NULL);
            free (path);
            if (s->found)
                return true;
        }
    }
    return false;
}

static bool s_try_glob (search_t *s, const char *pattern)
{
    if (s->found)
        return true;
    glob_t g = {0};
    size_t matches = glob (pattern, GLOB_NOSORT, NULL, &g) == 0 ? g.gl_pathc : 0;
    for (size_t i = 0; i < matches && i < MAX_GLOB; i++)
        if (s_try_root (s, g.gl_pathv[i]))
            break;
    globfree (&g);
    // A pattern is named once whether it matched or not: it is what a person can act
    // on.
    if (!s->found && matches == 0)
        kc_buf_printf (&s->tried, "%s%s", s->tried.size ? ", " : "", pattern);
    return s->found != NULL;
}

// Python environments reachable through PATH:
// <dir>/../lib/python3*/site-packages/nvidia/*/lib.
static void s_try_wheels (search_t *s)
{
    const char *env = getenv ("VIRTUAL_ENV");
    if (env && *env) {
        char *p = kc_asprintf ("%s/lib/python3*/site-packages/nvidia/*/lib", env);
        s_try_glob (s, p);
        free (p);
    }
    const char *path = getenv ("PATH");
    for (int i = 0; path && *path && i < MAX_PATH_PARTS && !s->found; i++) {
        size_t n = strcspn (path, ":");
        char *dir = kc_strndup (path, n);
        char *python = kc_asprintf ("%s/python3", dir);
        if (n > 0 && kc_fs_exists (python)) {
            char *p =
                kc_asprintf ("%s/../lib/python3*/site-packages/nvidia/*/lib", dir);
            s_try_glob (s, p);
            free (p);
        }
        free (python);
        free (dir);
        path += n + (path[n] == ':');
    }
    const char *home = getenv ("HOME");
    if (home && *home) {
        char *p =
            kc_asprintf ("%s/.local/lib/python3*/site-packages/nvidia/*/lib", home);
        s_try_glob (s, p);
        free (p);
    }
    s_try_glob (s, "/usr/local/lib/python3*/*-packages/nvidia/*/lib");
    s_try_glob (s, "/usr/lib/python3*/*-packages/nvidia/*/lib");
    s_try_glob (s, "/opt/*/.venv/lib/python3*/site-packages/nvidia/*/lib");
}

static void s_search (search_t *s, const char *where)
{
    if (s_try_root (s, where) || s_try_root (s, getenv ("CUDA_HOME"))
        || s_try_root (s, getenv ("CUDA_PATH")) || s_try_root (s, "/usr/local/cuda"))
        return;
    s_try_wheels (s);
    // Debian's and Ubuntu's own packages put the libraries among the system's.
    if (!s_try_root (s, "/usr/lib/x86_64-linux-gnu"))
        s_try_root (s, "/usr/lib64");
}

static void s_not_found (const search_t *s, kc_err_t *err)
{
    const char *tried = kc_buf_str (&s->tried);
    int cut = s->tried.size > MAX_TRIED;
    kc_fail (err, KC_EUNSUPPORTED, "%s (%s) is not in %.*s%s; %s", s->spec->what,
             s->spec->sonames[0], (int)MAX_TRIED, tried, cut ? " ..." : "",
             s->spec->remedy);
}

char *kc_culib_find (const kc_culib_spec_t *spec, const char *where, kc_err_t *err)
{
    search_t s = {.spec = spec};
    s_search (&s, where);
    if (!s.found)
        s_not_found (&s, err);
    kc_buf_free (&s.tried);
    return s.found;
}

void *kc_culib_open (const kc_culib_spec_t *spec, const char *where, char **path_p,
                     kc_err_t *err)
{
    if (path_p)
        *path_p = NULL;
    char *path = kc_culib_find (spec, where, err);
    void *handle = NULL;
    if (path) {
        handle = dlopen (path, RTLD_NOW | RTLD_LOCAL);
        if (!handle)
            kc_fail (err, KC_EUNSUPPORTED, "%s at %s cannot be loaded: %s", spec->what,
                     path, dlerror ());
    }
    else {
        // Last, whatever the loader itself would find (ld.so.cache, LD_LIBRARY_PATH).
        for (size_t n = 0; spec->sonames[n] && !handle; n++) {
            handle = dlopen (spec->sonames[n], RTLD_NOW | RTLD_LOCAL);
            if (handle)
                path = kc_strdup (spec->sonames[n]);
        }
    }
    if (!handle) {
        free (path);
        return NULL;
    }
    if (path_p)
        *path_p = path;
    else
        free (path);
    if (err)
        kc_err_clear (err); // the loader found what the search did not
    return handle;
}

int kc_culib_symbol (void *handle, const char *symbol, void *slot)
{
    // ISO C has no cast from an object pointer to a function pointer; POSIX promises
    // equal size.
    void *address = dlsym (handle, symbol);
    memcpy (slot, &address, sizeof address);
    return address ? 0 : -1;
}
