// Links the comparison of our declarations with NVIDIA's headers; the comparison itself
// happens in the compiler.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int kc_cuda_headers_agree (void);

static void every_declaration_agrees_with_the_installed_headers (void **state)
{
    (void)state;
    assert_true (kc_cuda_headers_agree () > 150);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_declaration_agrees_with_the_installed_headers)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
