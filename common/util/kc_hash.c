// kc_hash.c - see kc_hash.h

#include "common/util/kc_hash.h"

#include <sodium.h>
#include <string.h>

#include "common/util/kc_clock.h"
#include "common/util/kc_mem.h"

_Static_assert(sizeof (crypto_hash_sha256_state) <= sizeof (kc_sha_t),
               "kc_sha_t too small");
_Static_assert(_Alignof(crypto_hash_sha256_state) <= _Alignof(kc_sha_t),
               "kc_sha_t alignment");

static crypto_hash_sha256_state *s_state (kc_sha_t *s)
{
    return (crypto_hash_sha256_state *)(void *)s->state;
}

void kc_sha_init (kc_sha_t *s)
{
    crypto_hash_sha256_init (s_state (s));
}

void kc_sha_add (kc_sha_t *s, const void *data, size_t size)
{
    if (size)
        crypto_hash_sha256_update (s_state (s), data, size);
}

void kc_sha_str (kc_sha_t *s, const char *text)
{
    // Eight bytes of length, lowest first, whatever the machine; NULL is a length no
    // string has.
    uint64_t size = text ? strlen (text) : UINT64_MAX;
    unsigned char front[8];
    for (int i = 0; i < 8; i++)
        front[i] = (unsigned char)(size >> (8 * i) & 0xff);
    kc_sha_add (s, front, sizeof front);
    if (text)
        kc_sha_add (s, text, (size_t)size);
}

void kc_sha_hex (kc_sha_t *s, char hex[KC_SHA_HEX])
{
    unsigned char raw[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_final (s_state (s), raw);
    sodium_bin2hex (hex, KC_SHA_HEX, raw, sizeof raw);
}

void kc_sha256_raw (const void *data, size_t size, unsigned char out[32])
{
    kc_sha_t s;
    kc_sha_init (&s);
    kc_sha_add (&s, data, size);
    crypto_hash_sha256_final (s_state (&s), out);
}

void kc_sha256_hex (const void *data, size_t size, char hex[KC_SHA_HEX])
{
    unsigned char raw[32];
    kc_sha256_raw (data, size, raw);
    sodium_bin2hex (hex, KC_SHA_HEX, raw, sizeof raw);
}

void kc_random (void *out, size_t size)
{
    kc_assert (sodium_init () >= 0); // safe to repeat, from any thread
    randombytes_buf (out, size);
}

void kc_ulid (char out[KC_ULID])
{
    static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    unsigned char raw[10];
    uint64_t ms = (uint64_t)kc_clock_wall_ms () & 0xffffffffffffu;
    for (int i = 9; i >= 0; i--) { // 48 bits in ten characters of five
        out[i] = alphabet[ms & 31];
        ms >>= 5;
    }
    kc_random (raw, sizeof raw);
    for (int half = 0; half < 2; half++) { // 80 bits as twice 40: eight characters each
        uint64_t bits = 0;
        for (int i = 0; i < 5; i++)
            bits = bits << 8 | raw[half * 5 + i];
        for (int i = 7; i >= 0; i--) {
            out[10 + half * 8 + i] = alphabet[bits & 31];
            bits >>= 5;
        }
    }
    out[26] = 0;
}
