// Finding and opening NVIDIA's libraries, and what is said when they are absent.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/gpu/cuda/cuda_api.h"
#include "agents/gpu/cuda/culib.h"
#include "agents/gpu/cuda/nvrtc_api.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_mem.h"

static const char *const s_names[] = {"libkc-not-there.so.9", "libkc-not-there.so",
                                      NULL};
static const char *const s_dirs[] = {"", "lib64", NULL};
static const kc_culib_spec_t s_spec = {.what = "TESTLIB",
                                       .sonames = s_names,
                                       .subdirs = s_dirs,
                                       .remedy = "install TESTLIB"};

static char *s_folder (void)
{
    char template[] = "/tmp/kc-culib-XXXXXX";
    char *made = mkdtemp (template);
    assert_non_null (made);
    return kc_strdup (made);
}

static void a_library_that_is_absent_is_reported_with_every_place (void **state)
{
    (void)state;
    kc_err_t err = {0};
    setenv ("CUDA_HOME", "/nonexistent/cuda-home", 1);
    assert_null (kc_culib_find (&s_spec, "/nonexistent/given", &err));
    unsetenv ("CUDA_HOME");
    assert_int_equal (err.code, KC_EUNSUPPORTED);
    assert_non_null (strstr (err.text, "TESTLIB"));
    assert_non_null (strstr (err.text, "/nonexistent/given"));
    assert_non_null (strstr (err.text, "/nonexistent/cuda-home"));
    assert_non_null (strstr (err.text, "/usr/local/cuda"));
    assert_non_null (strstr (err.text, "install TESTLIB"));
}

static void the_given_folder_comes_before_the_environment (void **state)
{
    (void)state;
    char *given = s_folder (), *env = s_folder ();
    char *lib64 = kc_fs_join (given, "lib64");
    char *in_given = kc_fs_join (lib64, "libkc-not-there.so");
    char *in_env = kc_fs_join (env, "libkc-not-there.so.9");
    kc_err_t err = {0};
    assert_int_equal (kc_fs_mkdir (lib64, 0700, &err), 0);
    assert_int_equal (kc_fs_write (in_given, "x", 1, 0600, false, &err), 0);
    assert_int_equal (kc_fs_write (in_env, "x", 1, 0600, false, &err), 0);
    setenv ("CUDA_HOME", env, 1);
    char *found = kc_culib_find (&s_spec, given, &err);
    assert_string_equal (found, in_given);
    free (found);
    found = kc_culib_find (&s_spec, NULL, &err);
    assert_string_equal (found, in_env);
    free (found);
    found = kc_culib_find (&s_spec, in_given, &err); // the file itself
    assert_string_equal (found, in_given);
    free (found);
    unsetenv ("CUDA_HOME");
    assert_int_equal (kc_fs_remove_tree (given, &err), 0);
    assert_int_equal (kc_fs_remove_tree (env, &err), 0);
    free (given);
    free (env);
    free (lib64);
    free (in_given);
    free (in_env);
}

static void a_wheel_beside_python_on_the_path_is_found (void **state)
{
    (void)state;
    char *env = s_folder ();
    char *bin = kc_fs_join (env, "bin");
    char *python = kc_fs_join (bin, "python3");
    char *lib = kc_fs_join (env, "lib/python3.99/site-packages/nvidia/testlib/lib");
    char *file = kc_fs_join (lib, "libkc-not-there.so");
    kc_err_t err = {0};
    assert_int_equal (kc_fs_mkdir (bin, 0700, &err), 0);
    assert_int_equal (kc_fs_mkdir (lib, 0700, &err), 0);
    assert_int_equal (kc_fs_write (python, "x", 1, 0700, false, &err), 0);
    assert_int_equal (kc_fs_write (file, "x", 1, 0600, false, &err), 0);
    char *path = kc_strdup (getenv ("PATH"));
    setenv ("PATH", bin, 1);
    char *found = kc_culib_find (&s_spec, NULL, &err);
    setenv ("PATH", path ? path : "/usr/bin", 1);
    assert_non_null (found);
    assert_string_equal (found, file);
    assert_int_equal (kc_fs_remove_tree (env, &err), 0);
    free (found);
    free (path);
    free (env);
    free (bin);
    free (python);
    free (lib);
    free (file);
}

static void a_file_that_is_no_library_is_an_error_that_names_it (void **state)
{
    (void)state;
    char *dir = s_folder ();
    char *file = kc_fs_join (dir, "libkc-not-there.so");
    kc_err_t err = {0};
    assert_int_equal (kc_fs_write (file, "not an ELF", 10, 0600, false, &err), 0);
    char *path = NULL;
    assert_null (kc_culib_open (&s_spec, dir, &path, &err));
    assert_null (path);
    assert_int_equal (err.code, KC_EUNSUPPORTED);
    assert_non_null (strstr (err.text, file));
    assert_int_equal (kc_fs_remove_tree (dir, &err), 0);
    free (dir);
    free (file);
}

static void sticky_errors_are_those_that_end_a_context (void **state)
{
    (void)state;
    assert_true (kc_cuda_error_sticky (KC_CUDA_ERROR_ILLEGAL_ADDRESS));
    assert_true (kc_cuda_error_sticky (KC_CUDA_ERROR_MISALIGNED_ADDRESS));
    assert_true (kc_cuda_error_sticky (KC_CUDA_ERROR_ASSERT));
    assert_true (kc_cuda_error_sticky (KC_CUDA_ERROR_LAUNCH_FAILED));
    assert_false (kc_cuda_error_sticky (KC_CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES));
    assert_false (kc_cuda_error_sticky (KC_CUDA_ERROR_INVALID_VALUE));
    assert_false (kc_cuda_error_sticky (KC_CUDA_ERROR_NOT_READY));
}

static void loading_the_driver_works_or_says_where_it_looked (void **state)
{
    (void)state;
    kc_err_t err = {0};
    kc_cuda_api_t *api = kc_cuda_api_load (&err);
    if (api) {
        int version = 0;
        assert_int_equal (api->DriverGetVersion (&version), KC_CUDA_SUCCESS);
        assert_true (version >= 11080);
        kc_cuda_api_destroy (&api);
        assert_null (api);
        return;
    }
    assert_int_equal (err.code, KC_EUNSUPPORTED);
    assert_non_null (strstr (err.text, "libcuda.so.1"));
    assert_non_null (strstr (err.text, "virtual GPU"));
}

static void nvrtc_compiles_where_it_is_installed (void **state)
{
    (void)state;
    kc_err_t err = {0};
    kc_nvrtc_api_t *rtc = kc_nvrtc_api_load (NULL, &err);
    if (!rtc) {
        assert_int_equal (err.code, KC_EUNSUPPORTED);
        print_message ("SKIP %s\n", err.text);
        skip ();
    }
    kc_nvrtc_program_t program = NULL;
    const char *options[] = {"--gpu-architecture=sm_90"};
    assert_true (rtc->major >= 11);
    assert_int_equal (
        rtc->CreateProgram (&program,
                            "extern \"C\" __global__ void k (int *p) { *p = 1; }",
                            "k.cu", 0, NULL, NULL),
        KC_NVRTC_SUCCESS);
    assert_int_equal (rtc->CompileProgram (program, 1, options), KC_NVRTC_SUCCESS);
    size_t size = 0;
    assert_int_equal (rtc->GetCUBINSize (program, &size), KC_NVRTC_SUCCESS);
    assert_true (size > 500);
    char *cubin = kc_malloc (size);
    assert_int_equal (rtc->GetCUBIN (program, cubin), KC_NVRTC_SUCCESS);
    assert_memory_equal (cubin, "\177ELF", 4);
    free (cubin);
    assert_int_equal (rtc->DestroyProgram (&program), KC_NVRTC_SUCCESS);
    kc_nvrtc_api_destroy (&rtc);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_library_that_is_absent_is_reported_with_every_place),
        cmocka_unit_test (the_given_folder_comes_before_the_environment),
        cmocka_unit_test (a_wheel_beside_python_on_the_path_is_found),
        cmocka_unit_test (a_file_that_is_no_library_is_an_error_that_names_it),
        cmocka_unit_test (sticky_errors_are_those_that_end_a_context),
        cmocka_unit_test (loading_the_driver_works_or_says_where_it_looked),
        cmocka_unit_test (nvrtc_compiles_where_it_is_installed),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
