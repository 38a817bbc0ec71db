// test_kc_hash.c - SHA-256 and ULIDs

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/util/kc_clock.h"
#include "common/util/kc_hash.h"

static void the_published_vectors_hold (void **state)
{
    (void)state;
    char hex[KC_SHA_HEX];
    kc_sha256_hex ("", 0, hex);
    assert_string_equal (
        hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    kc_sha256_hex ("abc", 3, hex);
    assert_string_equal (
        hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void pieces_hash_like_the_whole (void **state)
{
    (void)state;
    char hex[KC_SHA_HEX], whole[KC_SHA_HEX], text[1000];
    memset (text, 'q', sizeof text);
    kc_sha256_hex (text, sizeof text, whole);
    kc_sha_t s;
    kc_sha_init (&s);
    for (size_t i = 0; i < sizeof text; i += 100)
        kc_sha_add (&s, text + i, 100);
    kc_sha_add (&s, NULL, 0);
    kc_sha_hex (&s, hex);
    assert_string_equal (hex, whole);
}

static void hash_of_two (const char *a, const char *b, char hex[KC_SHA_HEX])
{
    kc_sha_t s;
    kc_sha_init (&s);
    kc_sha_str (&s, a);
    kc_sha_str (&s, b);
    kc_sha_hex (&s, hex);
}

static void strings_never_run_into_each_other (void **state)
{
    (void)state;
    char a[KC_SHA_HEX], b[KC_SHA_HEX];
    hash_of_two ("ab", "c", a);
    hash_of_two ("a", "bc", b);
    assert_string_not_equal (a, b);
    hash_of_two ("x", NULL, a);
    hash_of_two ("x", "", b);
    assert_string_not_equal (a, b);
}

static void a_ulid_is_its_time_and_eighty_random_bits (void **state)
{
    (void)state;
    const char *alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    char a[KC_ULID], b[KC_ULID];
    int64_t before = kc_clock_wall_ms ();
    kc_ulid (a);
    int64_t after = kc_clock_wall_ms ();
    kc_ulid (b);
    assert_int_equal (strlen (a), 26);
    int64_t ms = 0;
    for (int i = 0; i < 26; i++) {
        const char *at = strchr (alphabet, a[i]);
        assert_non_null (at);
        if (i < 10)
            ms = ms * 32 + (at - alphabet);
    }
    assert_true (ms >= before && ms <= after);
    assert_true (a[0] <= '7');
    assert_memory_not_equal (a + 10, b + 10, 16);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (the_published_vectors_hold),
        cmocka_unit_test (pieces_hash_like_the_whole),
        cmocka_unit_test (strings_never_run_into_each_other),
        cmocka_unit_test (a_ulid_is_its_time_and_eighty_random_bits),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
