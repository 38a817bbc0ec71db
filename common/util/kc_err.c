// kc_err.c - see kc_err.h

#include "common/util/kc_err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/util/kc_mem.h"

// Copy into err->text; when it does not fit, cut in front of the character that would
// be torn.
static void s_set_text (kc_err_t *err, const char *text)
{
    size_t size = strlen (text);
    if (size >= sizeof err->text) {
        size = sizeof err->text - 1;
        while (size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80)
            size--;
    }
    memcpy (err->text, text, size);
    err->text[size] = 0;
}

// One byte more than fits, so that s_set_text sees what lies behind the cut.
enum { S_ROOM = KC_ERR_TEXT + 1 };

int kc_fail (kc_err_t *err, kc_code_t code, const char *format, ...)
{
    if (err) {
        char text[S_ROOM]; // not err->text: the arguments may point into it
        va_list args;
        va_start (args, format);
        if (vsnprintf (text, sizeof text, format, args) < 0)
            text[0] = 0;
        va_end (args);
        err->code = code;
        s_set_text (err, text);
    }
    return -1;
}

// "front: back" into err->text
static void s_join (kc_err_t *err, const char *front, const char *back)
{
    char text[2 * S_ROOM + 2];
    size_t n = strlen (front), m = strlen (back);
    memcpy (text, front, n);
    memcpy (text + n, ": ", 2);
    memcpy (text + n + 2, back, m + 1);
    s_set_text (err, text);
}

int kc_fail_in (kc_err_t *err, const char *format, ...)
{
    if (err) {
        char front[S_ROOM], back[KC_ERR_TEXT];
        va_list args;
        va_start (args, format);
        if (vsnprintf (front, sizeof front, format, args) < 0)
            front[0] = 0;
        va_end (args);
        memcpy (back, err->text, sizeof back);
        s_join (err, front, back);
    }
    return -1;
}

int kc_fail_errno (kc_err_t *err, int number, const char *format, ...)
{
    if (err) {
        char front[S_ROOM], unknown[32];
        va_list args;
        va_start (args, format);
        if (vsnprintf (front, sizeof front, format, args) < 0)
            front[0] = 0;
        va_end (args);
        const char *back = strerrordesc_np (number);
        if (!back) {
            snprintf (unknown, sizeof unknown, "errno %d", number);
            back = unknown;
        }
        err->code = KC_EIO;
        s_join (err, front, back);
    }
    return -1;
}

void kc_err_clear (kc_err_t *err)
{
    if (err) {
        err->code = KC_OK;
        err->text[0] = 0;
    }
}

typedef struct s_row {
    const char *name;
    const char *text;
    int exit_code;
} s_row_t;

static const s_row_t s_rows[KC_CODE_COUNT] = {
#define S_ROW(sym, wire, exit_code, text) {wire, text, exit_code},
    KC_CODES (S_ROW)
#undef S_ROW
};

// A code may come from a cast of a number; anything outside the table is a defect of
// ours.
static const s_row_t *s_row (kc_code_t code)
{
    return (unsigned)code < KC_CODE_COUNT ? &s_rows[code] : &s_rows[KC_EINTERNAL];
}

const char *kc_code_name (kc_code_t code)
{
    return s_row (code)->name;
}

kc_code_t kc_code_parse (const char *name)
{
    for (size_t i = 0; name && i < KC_COUNT (s_rows); i++)
        if (strcmp (name, s_rows[i].name) == 0)
            return (kc_code_t)i;
    return KC_EINTERNAL;
}

int kc_code_exit (kc_code_t code)
{
    return s_row (code)->exit_code;
}

const char *kc_code_text (kc_code_t code)
{
    return s_row (code)->text;
}
