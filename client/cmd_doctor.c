// cmd_doctor.c - kclaw doctor: is everything there that a fleet needs, and what to do where it is not

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/kc_cli.h"
#include "common/msg/gen/broker.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"

enum {
    DISK_MIN_MB = 500,
    LANDLOCK_VERSION = 1, // flag of landlock_create_ruleset that asks for the ABI's version
};

typedef enum health { HEALTH_OK, HEALTH_NOTE, HEALTH_BAD } health_t;

typedef struct doctor {
    kc_cli_t *cli;
    int bad;
} doctor_t;

static void s_say (doctor_t *d, health_t health, const char *what, const char *text)
{
    static const char *const words[] = {"ok", "note", "BAD"};
    if (health == HEALTH_BAD)
        d->bad++;
    if (d->cli->json)
        printf ("{\"check\":\"%s\",\"state\":\"%s\"}\n", what, words[health]);
    else
        printf ("%-5s %-12s %s\n", words[health], what, text);
}

static void s_check_run_dir (doctor_t *d)
{
    char *dir = kc_fs_dir (KC_DIR_RUN, kc_opts_string (d->cli->opts, "run"));
    struct stat st;
    if (stat (dir, &st) < 0) {
        char *text = kc_asprintf ("%s does not exist; start a fleet: deploy/fleet up", dir);
        s_say (d, HEALTH_BAD, "run dir", text);
        free (text);
    }
    else if (st.st_uid != geteuid () || (st.st_mode & 077)) {
        char *text = kc_asprintf ("%s must belong to you with mode 0700; others could speak to your fleet", dir);
        s_say (d, HEALTH_BAD, "run dir", text);
        free (text);
    }
    else
        s_say (d, HEALTH_OK, "run dir", dir);
    free (dir);
}

static void s_check_disk (doctor_t *d, kc_dir_t which, const char *name)
{
    char *dir = kc_fs_dir (which, NULL);
    struct statvfs fs;
    if (statvfs (dir, &fs) < 0) {
        s_say (d, HEALTH_NOTE, name, "not there yet; the first fleet makes it");
    }
    else {
        unsigned long long mb = (unsigned long long)fs.f_bavail * fs.f_frsize / (1024 * 1024);
        char *text = kc_asprintf ("%s, %llu MB free", dir, mb);
        s_say (d, mb < DISK_MIN_MB ? HEALTH_BAD : HEALTH_OK, name, text);
        free (text);
    }
    free (dir);
}

static bool s_on_path (const char *program)
{
    const char *path = getenv ("PATH");
    for (const char *at = path ? path : "/usr/bin"; *at;) {
        size_t n = strcspn (at, ":");
        char *file = kc_asprintf ("%.*s/%s", (int)n, at, program);
        bool there = access (file, X_OK) == 0;
        free (file);
        if (there)
            return true;
        at += n + (at[n] == ':');
    }
    return false;
}

static void s_check_library (doctor_t *d, const char *what, const char *const *names, const char *absent)
{
    for (size_t i = 0; names[i]; i++) {
        void *handle = dlopen (names[i], RTLD_NOW | RTLD_LOCAL);
        if (handle) {
            s_say (d, HEALTH_OK, what, names[i]);
            dlclose (handle);
            return;
        }
    }
    s_say (d, HEALTH_NOTE, what, absent);
}

static void s_check_host (doctor_t *d)
{
    s_say (d, s_on_path ("clang") ? HEALTH_OK : HEALTH_NOTE, "clang",
           s_on_path ("clang") ? "compiles for the virtual GPU" : "not found; the virtual GPU needs it or NVRTC: apt-get install clang");
    s_check_library (d, "GPU driver", (const char *const[]){"libcuda.so.1", NULL}, "none: only the virtual GPU runs here");
    s_check_library (d, "NVRTC", (const char *const[]){"libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so", NULL},
                     "not in the usual places; a real GPU needs it");
    long abi = syscall (SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);
    s_say (d, abi > 0 ? HEALTH_OK : HEALTH_NOTE, "Landlock",
           abi > 0 ? "the compiler can be fenced in" : "this kernel has none; compilers run without that fence");
}

static void s_check_role (doctor_t *d, const kc_broker_fleet_status_reply_t *fleet, kc_kcp_role_t role, const char *without)
{
    size_t n = 0;
    for (size_t i = 0; i < fleet->n_sessions; i++)
        n += fleet->sessions[i].role == role;
    char *text = n ? kc_asprintf ("%zu connected", n) : kc_strdup (without);
    s_say (d, n ? HEALTH_OK : HEALTH_BAD, kc_kcp_role_name (role), text);
    free (text);
}

static void s_check_fleet (doctor_t *d)
{
    kc_err_t err = {0};
    kc_broker_fleet_status_t *r = kc_broker_fleet_status_new ();
    kc_broker_fleet_status_reply_t *fleet = kc_cli_call (d->cli, "broker.fleet.status", &kc_broker_fleet_status_type, r,
                                                         &kc_broker_fleet_status_reply_type, &err);
    kc_broker_fleet_status_free (&r);
    if (!fleet) {
        s_say (d, HEALTH_BAD, "broker", err.text);
        return;
    }
    s_say (d, HEALTH_OK, "broker", fleet->build);
    s_check_role (d, fleet, KC_KCP_ROLE_MEMORY, "none: nothing can be submitted or read");
    s_check_role (d, fleet, KC_KCP_ROLE_PLANNER, "none: tasks stay queued");
    s_check_role (d, fleet, KC_KCP_ROLE_CODER, "none: no program is written");
    s_check_role (d, fleet, KC_KCP_ROLE_REPAIR, "none: failed programs are not mended");
    s_check_role (d, fleet, KC_KCP_ROLE_EVALUATOR, "none: nothing is measured");
    s_check_role (d, fleet, KC_KCP_ROLE_PROFILER, "none: decisions have no evidence");
    for (size_t i = 0; i < fleet->n_queues; i++)
        if (fleet->queues[i].held)
            s_say (d, HEALTH_BAD, "held", fleet->queues[i].held);
    kc_broker_fleet_status_reply_free (&fleet);
}

static const kc_opt_t s_options[] = {KC_OPT_CLI};

static int s_run (kc_cli_t *cli, kc_err_t *err)
{
    if (kc_opts_n_args (cli->opts))
        return kc_fail (err, KC_EUSAGE, "doctor takes no argument");
    doctor_t d = {.cli = cli};
    s_check_run_dir (&d);
    s_check_disk (&d, KC_DIR_DATA, "data dir");
    s_check_disk (&d, KC_DIR_CACHE, "cache dir");
    s_check_host (&d);
    s_check_fleet (&d);
    return d.bad ? kc_code_exit (KC_EFAILED) : 0;
}

const kc_cmd_t kc_cmd_doctor = {"doctor", "kclaw doctor", "Check the host and the fleet, and say what to do where something is missing.",
                                s_options, s_run};
