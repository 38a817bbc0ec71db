// kc_compile_child.c - one compilation, closed in, and nothing else: what "kc-runner
// compile" does
//
// Whatever happens in here (a bomb, a crash of the compiler, code that takes the
// compiler over) costs this process only.  The parent judges a missing result by how
// the process ended.

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/gpu/compile/kc_compile_int.h"
#include "agents/gpu/cuda/nvrtc_api.h"
#include "common/util/kc_buf.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"

enum { S_EXIT_OK = 0, S_EXIT_REQUEST = 70, S_EXIT_RESULT = 71 };

// Folders that a dynamically linked clang needs, besides its own.
static const char *const s_system[] = {"/lib/x86_64-linux-gnu",
                                       "/usr/lib/x86_64-linux-gnu",
                                       "/lib/aarch64-linux-gnu",
                                       "/usr/lib/aarch64-linux-gnu",
                                       "/lib64",
                                       "/usr/lib64",
                                       "/etc/ld.so.cache",
                                       "/dev/null"};

static char *s_folder (const char *path)
{
    char *real = realpath (path, NULL);
    char *folder = kc_strdup (real ? real : path);
    free (real);
    char *slash = strrchr (folder, '/');
    if (slash && slash != folder)
        *slash = 0;
    return folder;
}

static void s_close_in (const kc_sandbox_t *box, kc_compiled_t *c)
{
    kc_err_t err;
    if (kc_sandbox_close (box, &err) == 0)
        return;
    kc_log (KC_WARN, "compile.open", "reason", "s", err.text, NULL);
    kc_compiled_note (c, "the compiler was not confined to its own files: %s",
                      err.text);
}

static void s_nvrtc (const kc_compile_request_t *r, kc_compiled_t *c)
{
    kc_err_t err;
    kc_nvrtc_api_t *api = kc_nvrtc_api_load (r->tool, &err);
    if (!api) {
        kc_compiled_find (c, KC_VERDICT_STATUS_INFRA_ERROR, 0, "%s", err.text);
        return;
    }
    // NVRTC opens libnvrtc-builtins by its bare name at the first compilation.  The
    // loader finds it loaded already, wherever it lies, and nothing at all needs to
    // stay readable.
    char *folder = s_folder (api->path);
    char *builtins =
        kc_asprintf ("%s/libnvrtc-builtins.so.%d.%d", folder, api->major, api->minor);
    void *loaded = dlopen (builtins, RTLD_NOW | RTLD_GLOBAL);
    kc_sandbox_t box = {.read = {"/dev/null"}, .write = {r->tmp}};
    s_close_in (&box, c);
    // The working directory's name goes into line tables: always the same one, and none
    // of ours.
    if (chdir ("/") < 0)
        kc_log (KC_WARN, "compile.chdir", NULL);
    kc_front_nvrtc (api, r, c);
    kc_nvrtc_api_destroy (&api);
    if (loaded)
        dlclose (loaded);
    free (builtins);
    free (folder);
}

static void s_clang (const kc_compile_request_t *r, kc_compiled_t *c)
{
    char *folder = s_folder (r->tool);
    kc_sandbox_t box = {.write = {r->tmp, "/dev/null"}};
    size_t n = 0;
    char *above = s_folder (folder); // <llvm>/bin and <llvm>/lib
    box.read[n++] = r->tool;
    // A clang in /usr/bin would open all of /usr: then its folder is enough.
    box.read[n++] =
        strcmp (above, "/usr") == 0 || strcmp (above, "/") == 0 ? folder : above;
    for (size_t i = 0; i < KC_COUNT (s_system); i++)
        box.read[n++] = s_system[i];
    s_close_in (&box, c);
    kc_front_clang (r, c);
    free (above);
    free (folder);
}

int kc_compile_child (int in, int out)
{
    if (kc_sandbox_limits () < 0)
        return S_EXIT_REQUEST;
    kc_err_t err;
    size_t size;
    char *data = kc_frame_read (in, "KCJ1", KC_COMPILE_FRAME_MAX, &size, &err);
    kc_compile_request_t r;
    if (!data || kc_compile_request_get (data, size, &r, &err) < 0) {
        kc_log (KC_ERROR, "compile.request", "text", "s", err.text, NULL);
        free (data);
        return S_EXIT_REQUEST;
    }
    free (data);
    int64_t start = kc_clock_ns ();
    kc_compiled_t *c = kc_compiled_new ();
    c->front = r.front;
    if (kc_compile_scan (&r.job, c) == 0) {
        if (r.front == KC_FRONT_NVRTC)
            s_nvrtc (&r, c);
        else
            s_clang (&r, c);
    }
    if (!c->compiler)
        c->compiler = kc_strdup (kc_front_name (r.front));
    if (c->status != KC_VERDICT_STATUS_OK) { // a failed result carries no code
        free (c->cubin);
        c->cubin = NULL;
        c->cubin_size = 0;
    }
    c->seconds = (double)(kc_clock_ns () - start) * 1e-9;
    kc_buf_t frame = {0};
    kc_compiled_put (&frame, c);
    int rc = kc_frame_write (out, "KCR1", frame.data, frame.size, &err);
    kc_buf_free (&frame);
    kc_compiled_destroy (&c);
    kc_compile_request_clear (&r);
    return rc < 0 ? S_EXIT_RESULT : S_EXIT_OK;
}
