/* kc_hash.h - SHA-256, random bytes and ULIDs (libsodium) */
#ifndef KC_HASH_H
#define KC_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { KC_SHA_HEX = 65, KC_ULID = 27 }; // bytes with the closing zero

typedef struct kc_sha { // incremental SHA-256
    _Alignas (16) unsigned char state[128];
} kc_sha_t;

void kc_sha_init (kc_sha_t *s);
void kc_sha_add (kc_sha_t *s, const void *data, size_t size);
// Add 's' with its length in front, so that two strings never run into one; NULL differs from "".
void kc_sha_str (kc_sha_t *s, const char *text);
void kc_sha_hex (kc_sha_t *s, char hex[KC_SHA_HEX]); // ends the hash
void kc_sha256_hex (const void *data, size_t size, char hex[KC_SHA_HEX]);
void kc_sha256_raw (const void *data, size_t size, unsigned char out[32]);
void kc_random (void *out, size_t size);
void kc_ulid (char out[KC_ULID]); // 26 characters, sortable by time

#endif // KC_HASH_H
