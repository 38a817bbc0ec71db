// kc_frame.c - see kc_frame.h

#include "agents/gpu/runner/kc_frame.h"

#include <stdlib.h>
#include <string.h>

#include "common/util/kc_mem.h"
#include "common/util/kc_spawn.h"

static const unsigned char s_magic[4] = {'K', 'C', 'R', '1'};

void kc_frame_put (unsigned char header[KC_FRAME_HEADER], kc_frame_type_t type,
                   uint64_t size)
{
    memset (header, 0, KC_FRAME_HEADER);
    memcpy (header, s_magic, sizeof s_magic);
    header[4] = (unsigned char)type;
    for (int i = 0; i < 8; i++)
        header[8 + i] = (unsigned char)(size >> (8 * i));
}

int kc_frame_get (const unsigned char header[KC_FRAME_HEADER], kc_frame_t *out,
                  kc_err_t *err)
{
    if (memcmp (header, s_magic, sizeof s_magic) != 0)
        return kc_fail (err, KC_EPROTO, "runner: bytes that are no frame");
    out->size = 0;
    for (int i = 7; i >= 0; i--)
        out->size = out->size << 8 | header[8 + i];
    if (header[4] == KC_FRAME_JSON && out->size <= KC_FRAME_JSON_MAX)
        out->type = KC_FRAME_JSON;
    else if (header[4] == KC_FRAME_DATA && out->size <= KC_FRAME_DATA_MAX)
        out->type = KC_FRAME_DATA;
    else
        return kc_fail (err, KC_EPROTO,
                        "runner: a frame of type %d and %llu bytes is not allowed",
                        header[4], (unsigned long long)out->size);
    return 0;
}

int kc_frame_send (int fd, kc_frame_type_t type, const void *data, size_t size,
                   kc_err_t *err)
{
    unsigned char header[KC_FRAME_HEADER];
    kc_frame_put (header, type, size);
    if (kc_fd_write (fd, header, sizeof header, 0, err) < 0)
        return -1;
    return kc_fd_write (fd, data, size, 0, err);
}

char *kc_frame_receive (int fd, kc_frame_type_t type, size_t *size_p, kc_err_t *err)
{
    unsigned char header[KC_FRAME_HEADER];
    kc_frame_t frame;
    if (kc_fd_read (fd, header, sizeof header, 0, err) < 0
        || kc_frame_get (header, &frame, err) < 0)
        return NULL;
    if (frame.type != type) {
        kc_fail (err, KC_EPROTO, "runner: frame of type %d where %d was expected",
                 (int)frame.type, (int)type);
        return NULL;
    }
    char *data = kc_malloc ((size_t)frame.size + 1);
    if (kc_fd_read (fd, data, (size_t)frame.size, 0, err) < 0) {
        free (data);
        return NULL;
    }
    data[frame.size] = '\0';
    *size_p = (size_t)frame.size;
    return data;
}

static int s_piece (kc_frame_reader_t *r, const unsigned char *at, size_t n,
                    kc_err_t *err)
{
    if (r->frame.type == KC_FRAME_DATA)
        return r->on_data (r->arg, at, n, err);
    kc_buf_put (&r->json, at, n);
    if (r->left > n)
        return 0;
    const int rc = r->on_json (r->arg, kc_buf_str (&r->json), r->json.size, err);
    kc_buf_clear (&r->json);
    return rc;
}

int kc_frame_feed (kc_frame_reader_t *r, const void *data, size_t size, kc_err_t *err)
{
    const unsigned char *at = data;
    while (size > 0) {
        if (r->left == 0) {
            const size_t n = size < KC_FRAME_HEADER - r->n_header
                                 ? size
                                 : KC_FRAME_HEADER - r->n_header;
            memcpy (r->header + r->n_header, at, n);
            r->n_header += n;
            at += n;
            size -= n;
            if (r->n_header < KC_FRAME_HEADER)
                return 0;
            r->n_header = 0;
            if (kc_frame_get (r->header, &r->frame, err) < 0)
                return -1;
            r->left = r->frame.size;
            if (r->left == 0 && s_piece (r, at, 0, err) < 0)
                return -1;
            continue;
        }
        const size_t n = size < r->left ? size : (size_t)r->left;
        if (s_piece (r, at, n, err) < 0)
            return -1;
        r->left -= n;
        at += n;
        size -= n;
    }
    return 0;
}

void kc_frame_reader_free (kc_frame_reader_t *reader)
{
    kc_buf_free (&reader->json);
}
