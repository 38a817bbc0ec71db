/* kc_frame.h - records on the pipes between a daemon and its kc-runner
 *
 * A frame is a header of 16 bytes (magic, type, size; little-endian) and 'size' bytes.
 * JSON frames hold one document of runner.schema.json; DATA frames hold bytes that the
 * last JSON frame announced.  Nothing else ever travels on these descriptors: prints of
 * kernels and libraries go to stderr.
 */
#ifndef KC_FRAME_H
#define KC_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "common/util/kc_buf.h"
#include "common/util/kc_err.h"

typedef enum kc_frame_type { KC_FRAME_JSON = 1, KC_FRAME_DATA = 2 } kc_frame_type_t;

enum {
    KC_FRAME_HEADER = 16,
    KC_FRAME_JSON_MAX = 4 << 20,
    KC_FRAME_PIECE = 256 << 10, // of a tensor: longer ones are sent in several frames
    KC_FRAME_DATA_MAX = 64 << 20,
};

typedef struct kc_frame {
    kc_frame_type_t type;
    uint64_t size;
} kc_frame_t;

// Write the header of a frame.
void kc_frame_put (unsigned char header[KC_FRAME_HEADER], kc_frame_type_t type,
                   uint64_t size);
// Read it; -1 (KC_EPROTO) when it is none or too large.
int kc_frame_get (const unsigned char header[KC_FRAME_HEADER], kc_frame_t *out,
                  kc_err_t *err);

// Blocking, for the runner's side.
int kc_frame_send (int fd, kc_frame_type_t type, const void *data, size_t size,
                   kc_err_t *err);
// A whole frame of the type expected, zero-terminated; caller frees.  NULL with err.
char *kc_frame_receive (int fd, kc_frame_type_t type, size_t *size_p, kc_err_t *err);

// Incremental, for the daemon's side: feed what was read, get calls.
typedef struct kc_frame_reader {
    void *arg;
    // A whole JSON document.  -1 stops the reading with 'err'.
    int (*on_json) (void *arg, const char *json, size_t size, kc_err_t *err);
    // Some bytes of a DATA frame, in order.
    int (*on_data) (void *arg, const void *data, size_t size, kc_err_t *err);
    // private
    unsigned char header[KC_FRAME_HEADER];
    size_t n_header;
    kc_frame_t frame;
    uint64_t left;
    kc_buf_t json;
} kc_frame_reader_t;
int kc_frame_feed (kc_frame_reader_t *reader, const void *data, size_t size,
                   kc_err_t *err);
void kc_frame_reader_free (kc_frame_reader_t *reader);

#endif // KC_FRAME_H
