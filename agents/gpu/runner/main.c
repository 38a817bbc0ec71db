// kc-runner: one job on descriptor 3, one framed result on descriptor 4, exit.  Started
// by daemons only.

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agents/gpu/compile/kc_compile.h"
#include "agents/gpu/runner/kc_runner.h"

enum { JOB_FD = 3, RESULT_FD = 4, RUNNER_CPU_S = 900, RUNNER_FILES = 512 };

static void s_limit (int what, rlim_t value)
{
    struct rlimit now;
    if (getrlimit ((__rlimit_resource_t)what, &now) == 0
        && now.rlim_max != RLIM_INFINITY && now.rlim_max < value)
        value = now.rlim_max;
    const struct rlimit limit = {value, value};
    setrlimit ((__rlimit_resource_t)what, &limit);
}

// Before the first byte of the job: the process cannot outlive its parent, gain rights,
// dump core or fill disks.
static void s_restrict (void)
{
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    s_limit (RLIMIT_CORE, 0);
    s_limit (RLIMIT_CPU, RUNNER_CPU_S);
    s_limit (RLIMIT_NOFILE, RUNNER_FILES);
    s_limit (RLIMIT_FSIZE, 64 << 20);
    signal (SIGPIPE, SIG_IGN);
}

int main (int argc, char **argv)
{
    static const kc_runner_backends_t backends = {
#ifdef KC_HAVE_CUDA
        .cuda = kc_dev_open_cuda,
#endif
#ifdef KC_HAVE_VGPU
        .vgpu = kc_dev_open_vgpu,
#endif
    };
    const char *mode = argc == 2 ? argv[1] : "";
    if (strcmp (mode, "compile") == 0) { // sets its own, tighter limits
        prctl (PR_SET_PDEATHSIG, SIGKILL);
#ifdef KC_HAVE_COMPILE
        _exit (kc_compile_child (
            JOB_FD,
            RESULT_FD)); // the sandbox leaves nothing for handlers of exit to open
#else
        return 2;
#endif
    }
    s_restrict ();
    // One client's fault kills all clients of an MPS server: candidates never run under
    // one.
    if (getenv ("CUDA_MPS_PIPE_DIRECTORY")) {
        fputs ("kc-runner: CUDA_MPS_PIPE_DIRECTORY is set; candidates do not run under "
               "MPS\n",
               stderr);
        return 2;
    }
    if (strcmp (mode, "evaluate") == 0)
        return kc_runner_serve (KC_RUNNER_EVALUATE, JOB_FD, RESULT_FD, &backends);
    if (strcmp (mode, "profile") == 0)
        return kc_runner_serve (KC_RUNNER_PROFILE, JOB_FD, RESULT_FD, &backends);
    if (strcmp (mode, "probe") == 0)
        return kc_runner_serve (KC_RUNNER_PROBE, JOB_FD, RESULT_FD, &backends);
    fputs ("usage: kc-runner compile|evaluate|profile|probe   (job on descriptor 3, "
           "result on 4; started by daemons)\n",
           stderr);
    return 2;
}
