/* kc_process.c - see kc_process.h
 *
 * The crash report needs its words at a time when nothing may be looked up, so they
 * stand in static memory that is written once at start and, for the note, as plain
 * bytes; the exception to "no static mutable data".
 */

#include "common/net/kc_process.h"

#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/util/kc_mem.h"

enum { FRAMES = 48, FILES = 65536, ALT_STACK = 64 * 1024 };

static char s_head[160];
static char s_note[128];
static _Alignas(16) char s_stack[ALT_STACK];

static void s_write (const char *text, size_t size)
{
    (void)!write (STDERR_FILENO, text, size);
}

static void s_crash (int number)
{
    char digits[4] = {' ', (char)('0' + number / 10 % 10), (char)('0' + number % 10),
                      ' '};
    s_write (s_head, strlen (s_head));
    s_write (digits, sizeof digits);
    s_write (s_note, strnlen (s_note, sizeof s_note));
    s_write ("\n", 1);
    void *frames[FRAMES];
    int n = backtrace (frames,
                       FRAMES); // libgcc was loaded at start, so this allocates nothing
    backtrace_symbols_fd (frames, n, STDERR_FILENO);
    raise (number); // SA_RESETHAND: now it kills
}

void kc_process_init (const char *program)
{
    (void)snprintf (s_head, sizeof s_head, "CRASH %s pid %d build %s signal", program,
                    (int)getpid (), KC_VERSION);
    void *warm[1];
    (void)backtrace (warm, 1);
    stack_t stack = {.ss_sp = s_stack, .ss_size = sizeof s_stack};
    (void)sigaltstack (&stack, NULL);
    struct sigaction action = {0};
    action.sa_handler = s_crash;
    action.sa_flags = (int)(SA_RESETHAND | SA_NODEFER) | SA_ONSTACK;
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    for (size_t i = 0; i < KC_COUNT (fatal); i++)
        (void)sigaction (fatal[i], &action, NULL);
    struct sigaction ignore = {0};
    ignore.sa_handler = SIG_IGN;
    (void)sigaction (SIGPIPE, &ignore, NULL);
    struct rlimit limit = {0, 0};
    (void)setrlimit (RLIMIT_CORE, &limit);
    if (getrlimit (RLIMIT_NOFILE, &limit) == 0) {
        rlim_t want = limit.rlim_max < FILES ? limit.rlim_max : FILES;
        if (limit.rlim_cur < want) {
            limit.rlim_cur = want;
            (void)setrlimit (RLIMIT_NOFILE, &limit);
        }
    }
}

void kc_process_note (const char *note)
{
    (void)snprintf (s_note, sizeof s_note, "%s", note);
}

void kc_process_ready (int fd)
{
    if (fd < 0)
        return;
    (void)!write (fd, "\n", 1);
    if (fd > STDERR_FILENO)
        close (fd);
}

static void s_leash (kc_loop_t *loop, int fd, unsigned events, void *arg)
{
    (void)events;
    kc_leash_t *leash = arg;
    char bytes[64];
    ssize_t n = read (fd, bytes, sizeof bytes);
    if (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)))
        return; // whatever is written there means nothing
    kc_loop_fd_del (loop, fd);
    leash->gone (loop, leash->arg);
}

int kc_process_leash (kc_loop_t *loop, int fd, kc_leash_t *leash, kc_err_t *err)
{
    if (fd < 0)
        return 0;
    if (kc_loop_fd_add (loop, fd, KC_LOOP_IN, s_leash, leash, err) == 0)
        return 0;
    return kc_fail_in (err, "--leash-fd");
}
