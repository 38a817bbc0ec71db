// test_kc_fs.c - files and folders

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"

static int make_room (void **state)
{
    char *room = kc_strdup ("/tmp/kc-test-fs-XXXXXX");
    *state = room;
    return mkdtemp (room) ? 0 : -1;
}

static int drop_room (void **state)
{
    int rc = kc_fs_remove_tree (*state, NULL);
    rc |= kc_fs_exists (*state) ? 1 : 0;
    free (*state);
    return rc;
}

static void what_is_written_is_read_back (void **state)
{
    kc_err_t err;
    char *path = kc_fs_join (*state, "file");
    size_t size = 0;
    assert_int_equal (kc_fs_write (path, "a\0b", 3, 0640, true, &err), 0);
    assert_int_equal (kc_fs_write (path, "x\0yz", 4, 0640, false, &err), 0);
    char *data = kc_fs_read (path, 4, &size, &err);
    assert_non_null (data);
    assert_int_equal (size, 4);
    assert_memory_equal (data, "x\0yz", 5);
    free (data);
    struct stat st;
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (st.st_mode & 0777, 0640);
    assert_int_equal (kc_fs_write (path, "", 0, 0600, false, &err), 0);
    data = kc_fs_read (path, 0, &size, &err);
    assert_non_null (data);
    assert_string_equal (data, "");
    free (data);
    free (path);
}

static void a_file_over_the_limit_is_refused (void **state)
{
    kc_err_t err;
    char *path = kc_fs_join (*state, "big");
    char *big = kc_calloc (1, 300000);
    assert_int_equal (kc_fs_write (path, big, 300000, 0600, false, &err), 0);
    assert_null (kc_fs_read (path, 299999, NULL, &err));
    assert_int_equal (err.code, KC_EINVALID);
    assert_null (kc_fs_read ("/dev/zero", 100000, NULL, &err)); // endless
    assert_int_equal (err.code, KC_EINVALID);
    free (big);
    free (path);
}

static void missing_files_and_folders_are_told_apart_from_broken_ones (void **state)
{
    kc_err_t err;
    char *path = kc_fs_join (*state, "nothing/here");
    assert_null (kc_fs_read (path, 10, NULL, &err));
    assert_int_equal (err.code, KC_ENOTFOUND);
    assert_null (kc_fs_read (*state, 10, NULL, &err));
    assert_int_equal (err.code, KC_EIO);
    assert_int_equal (kc_fs_write (path, "x", 1, 0600, false, &err), -1);
    assert_int_equal (err.code, KC_EIO);
    assert_false (kc_fs_exists (path));
    assert_int_equal (kc_fs_remove_tree (path, &err), 0);
    free (path);
}

static void a_failed_write_leaves_nothing (void **state)
{
    kc_err_t err;
    char *path = kc_fs_join (*state, "sub");
    assert_int_equal (kc_fs_mkdir (path, 0700, &err), 0);
    assert_int_equal (kc_fs_write (path, "x", 1, 0600, false, &err),
                      -1); // a folder is there
    assert_non_null (strstr (err.text, path));
    assert_int_equal (rmdir (path), 0);
    assert_int_equal (rmdir (*state), 0); // no temporary file is left in it
    assert_int_equal (mkdir (*state, 0700), 0);
    free (path);
}

static void folders_are_made_with_their_parents (void **state)
{
    kc_err_t err;
    char *path = kc_fs_join (*state, "a//b/c/");
    assert_int_equal (kc_fs_mkdir (path, 0700, &err), 0);
    assert_int_equal (kc_fs_mkdir (path, 0700, &err), 0);
    struct stat st;
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (st.st_mode & 0777, 0700);
    char *file = kc_fs_join (*state, "f");
    char *under = kc_fs_join (file, "g");
    assert_int_equal (kc_fs_write (file, "", 0, 0600, false, &err), 0);
    assert_int_equal (kc_fs_mkdir (file, 0700, &err), -1);
    assert_int_equal (kc_fs_mkdir (under, 0700, &err), -1);
    assert_int_equal (kc_fs_mkdir ("", 0700, &err), -1);
    free (under);
    free (file);
    free (path);
}

static void removing_a_tree_never_follows_a_link (void **state)
{
    kc_err_t err;
    char *keep = kc_fs_join (*state, "keep"), *file = kc_fs_join (keep, "f");
    char *tree = kc_fs_join (*state, "tree"), *deep = kc_fs_join (tree, "x/y");
    char *link = kc_fs_join (deep, "l"), *top = kc_fs_join (*state, "top/");
    assert_int_equal (kc_fs_mkdir (keep, 0700, &err), 0);
    assert_int_equal (kc_fs_mkdir (deep, 0700, &err), 0);
    assert_int_equal (kc_fs_write (file, "x", 1, 0600, false, &err), 0);
    assert_int_equal (symlink (keep, link), 0);
    assert_int_equal (kc_fs_remove_tree (tree, &err), 0);
    assert_false (kc_fs_exists (tree));
    assert_true (kc_fs_exists (file));
    top[strlen (top) - 1] = 0;
    assert_int_equal (symlink (keep, top), 0);
    top[strlen (top)] = '/';
    assert_int_equal (kc_fs_remove_tree (top, &err), 0);
    assert_true (kc_fs_exists (file));
    assert_int_equal (kc_fs_remove_tree ("/", &err), -1);
    assert_int_equal (kc_fs_remove_tree ("", &err), -1);
    free (top);
    free (link);
    free (deep);
    free (tree);
    free (file);
    free (keep);
}

static void only_one_descriptor_holds_a_lock (void **state)
{
    kc_err_t err;
    char *path = kc_fs_join (*state, "lock"),
         *mine = kc_asprintf ("pid %ld since 2", (long)getpid ());
    int fd = kc_fs_lock (path, &err);
    assert_true (fd >= 0);
    assert_int_equal (fcntl (fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal (kc_fs_lock (path, &err), -1);
    assert_int_equal (err.code, KC_EBUSY);
    assert_non_null (strstr (err.text, mine));
    close (fd);
    fd = kc_fs_lock (path, &err); // the file that is left decides nothing
    assert_true (fd >= 0);
    close (fd);
    free (mine);
    free (path);
}

static void the_three_folders_follow_option_variable_and_default (void **state)
{
    (void)state;
    setenv ("KC_DATA", "/from/env", 1);
    char *a = kc_fs_dir (KC_DIR_DATA, "given"), *b = kc_fs_dir (KC_DIR_DATA, NULL);
    assert_string_equal (a, "given");
    assert_string_equal (b, "/from/env");
    free (a);
    free (b);
    unsetenv ("KC_DATA");
    unsetenv ("KC_RUN");
    unsetenv ("XDG_DATA_HOME");
    setenv ("HOME", "/h", 1);
    setenv ("XDG_RUNTIME_DIR", "/run/u", 1);
    setenv ("KC_NAME", "../evil", 1);
    a = kc_fs_dir (KC_DIR_DATA, NULL);
    assert_string_equal (a, "/h/.local/share/kernelclaw/default");
    setenv ("KC_NAME", "lab", 1);
    b = kc_fs_dir (KC_DIR_RUN, NULL);
    char *want = kc_asprintf ("/run/u/kernelclaw-%lu/lab", (unsigned long)getuid ());
    assert_string_equal (b, want);
    free (want);
    free (a);
    free (b);
}

static void paths_are_joined_with_one_slash (void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"a", "b", "a/b"}, {"a/", "/b", "a/b"}, {"", "b", "b"}, {"/", "b", "/b"}};
    for (size_t i = 0; i < KC_COUNT (cases); i++) {
        char *path = kc_fs_join (cases[i][0], cases[i][1]);
        assert_string_equal (path, cases[i][2]);
        free (path);
    }
    char *dir = kc_fs_program_dir (), *self = kc_fs_join (dir, "test_kc_fs");
    assert_true (kc_fs_exists (self));
    free (self);
    free (dir);
}

#define IN_ROOM(t) cmocka_unit_test_setup_teardown (t, make_room, drop_room)

int main (void)
{
    const struct CMUnitTest tests[] = {
        IN_ROOM (what_is_written_is_read_back),
        IN_ROOM (a_file_over_the_limit_is_refused),
        IN_ROOM (missing_files_and_folders_are_told_apart_from_broken_ones),
        IN_ROOM (a_failed_write_leaves_nothing),
        IN_ROOM (folders_are_made_with_their_parents),
        IN_ROOM (removing_a_tree_never_follows_a_link),
        IN_ROOM (only_one_descriptor_holds_a_lock),
        cmocka_unit_test (the_three_folders_follow_option_variable_and_default),
        cmocka_unit_test (paths_are_joined_with_one_slash),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
