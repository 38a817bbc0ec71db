/* fuzz.h - the entry that libFuzzer and the replay of a corpus call */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#endif // FUZZ_H
