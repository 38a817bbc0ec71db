// test_kc_log.c - lines on stderr

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "common/util/kc_err.h"
#include "common/util/kc_log.h"
#include "common/util/kc_spawn.h"

static int s_saved, s_reader;

// Everything the test logs from here on goes into a pipe.
static void catch_begin (void)
{
    int fds[2];
    assert_int_equal (kc_pipe (fds, NULL), 0);
    s_saved = fcntl (STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    dup2 (fds[1], STDERR_FILENO);
    close (fds[1]);
    s_reader = fds[0];
}

static size_t catch_end (char *out, size_t room)
{
    dup2 (s_saved, STDERR_FILENO); // the last writer is gone: the pipe ends
    close (s_saved);
    size_t size = 0;
    for (;;) {
        ssize_t n = read (s_reader, out + size, room - 1 - size);
        if (n <= 0)
            break;
        size += (size_t)n;
    }
    out[size] = 0;
    close (s_reader);
    return size;
}

static void fields_of_every_type_make_one_json_line (void **state)
{
    (void)state;
    char out[8192];
    catch_begin ();
    kc_log_init ("kc-test", "one");
    kc_log (KC_WARN, "a.b", "s", "s", "q\"\xff", "none", "s", NULL, "i", "i", INT64_MIN,
            "f", "f", 0.5, "nan", "f", (double)NAN, "t", "b", 1, NULL);
    catch_end (out, sizeof out);
    const char *rest = strstr (out, "\"l\"");
    assert_non_null (rest);
    assert_memory_equal (out, "{\"t\":\"20", 8);
    assert_string_equal (
        rest, "\"l\":\"warn\",\"p\":\"kc-test\",\"n\":\"one\",\"e\":\"a.b\","
              "\"s\":\"q\\\"\xef\xbf\xbd\",\"none\":null,"
              "\"i\":-9223372036854775808,\"f\":0.5,\"nan\":null,\"t\":true}\n");
}

// Quotes close, and nothing but the last byte is a line end.
static bool well_formed (const char *line, size_t size)
{
    bool inside = false;
    for (size_t i = 0; i + 1 < size; i++) {
        if ((unsigned char)line[i] < 0x20)
            return false;
        if (inside && line[i] == '\\')
            i++;
        else if (line[i] == '"')
            inside = !inside;
    }
    return !inside && size > 2 && line[size - 2] == '}' && line[size - 1] == '\n';
}

static void a_line_never_exceeds_one_atomic_write (void **state)
{
    (void)state;
    static const char alphabet[] = {'a', '"', '\n', '\x01', '\xff'};
    char out[8192], big[6000], name[600];
    memset (name, 'n', sizeof name);
    name[599] = 0;
    for (size_t a = 0; a < sizeof alphabet; a++) {
        for (size_t size = 500; size < sizeof big; size += 131) {
            memset (big, alphabet[a], size);
            big[size] = 0;
            catch_begin ();
            kc_log (KC_INFO, "big", "text", "s", big, name, "i", (int64_t)1, name, "s",
                    "x", "z", "b", 0, NULL);
            size_t n = catch_end (out, sizeof out);
            assert_true (n <= 4096);
            assert_true (well_formed (out, n));
            if (size > 4096)
                assert_non_null (strstr (out, ",\"cut\":true}\n"));
        }
    }
}

static void lower_levels_are_left_out (void **state)
{
    (void)state;
    char out[8192];
    catch_begin ();
    kc_log (KC_DEBUG, "hidden", NULL);
    kc_log_level (KC_ERROR);
    kc_log (KC_WARN, "hidden", NULL);
    errno = 77;
    kc_log (KC_ERROR, "shown", NULL);
    int kept = errno;
    kc_log_level (KC_INFO);
    catch_end (out, sizeof out);
    assert_null (strstr (out, "hidden"));
    assert_non_null (strstr (out, "shown"));
    assert_int_equal (kept, 77);
    assert_int_equal (kc_log_level_parse ("warn"), KC_WARN);
    assert_int_equal (kc_log_level_parse ("loud"), -1);
    assert_int_equal (kc_log_level_parse (NULL), -1);
}

static void a_stderr_without_a_reader_kills_nobody (void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal (kc_pipe (fds, NULL), 0);
    int saved = fcntl (STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    dup2 (fds[1], STDERR_FILENO);
    close (fds[1]);
    close (fds[0]);
    kc_log (KC_ERROR, "nobody.reads", NULL); // SIGPIPE would end this test
    dup2 (saved, STDERR_FILENO);
    close (saved);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (fields_of_every_type_make_one_json_line),
        cmocka_unit_test (a_line_never_exceeds_one_atomic_write),
        cmocka_unit_test (lower_levels_are_left_out),
        cmocka_unit_test (a_stderr_without_a_reader_kills_nobody),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
