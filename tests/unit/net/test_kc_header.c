// test_kc_header.c - headers are read strictly and written within their bound

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/net/kc_header.h"
#include "common/util/kc_mem.h"

static int read_it (kc_header_t *h, kc_verb_t verb, const char *json, kc_err_t *err)
{
    return kc_header_read (h, verb, json, strlen (json), err);
}

static void a_request_header_survives_writing_and_reading (void **state)
{
    (void)state;
    kc_buf_t b = {0};
    kc_header_t h;
    kc_err_t err;
    const char *need = "[{\"key\":\"sm\",\"number\":90,\"op\":\">=\"}]";
    kc_header_request (&b, "01JD.7.0.code.0", "coder.optimise", "01JD \"x\" \xc3\xa4",
                       60000, "0123456789abcdef", need);
    assert_int_equal (kc_header_read (&h, KC_VERB_REQUEST, b.data, b.size, &err), 0);
    assert_string_equal (h.word[KC_H_ID], "01JD.7.0.code.0");
    assert_string_equal (h.word[KC_H_OP], "coder.optimise");
    assert_string_equal (h.word[KC_H_FLOW], "01JD \"x\" \xc3\xa4");
    assert_string_equal (h.word[KC_H_SUM], "0123456789abcdef");
    assert_int_equal (h.number[KC_H_TTL_MS], 60000);
    assert_int_equal (h.need_size, strlen (need));
    assert_memory_equal (h.need, need, h.need_size);
    kc_buf_free (&b);
}

static void a_wrong_header_is_refused_with_the_key_named (void **state)
{
    (void)state;
    static const struct {
        kc_verb_t verb;
        const char *json, *names;
    } cases[] = {
        {KC_VERB_REPLY, "", "JSON"},
        {KC_VERB_REPLY, "{", "JSON"},
        {KC_VERB_REPLY, "{}", "id is missing"},
        {KC_VERB_REPLY, "{\"id\":\"\"}", "id"},
        {KC_VERB_REPLY, "{\"id\":5}", "id"},
        {KC_VERB_REPLY, "{\"id\":\"a\"}x", "JSON"},
        {KC_VERB_REPLY, "{\"id\":\"a\",}", "JSON"},
        {KC_VERB_REPLY, "{\"id\":\"a\",\"id\":\"a\"}", "id"},
        {KC_VERB_REPLY, "{\"id\":\"a\\u0000\"}", "id"},
        {KC_VERB_REPLY, "{\"id\":\"a\n\"}", "id"},
        {KC_VERB_REPLY, "{\"id\":\"\xff\"}", "id"},
        {KC_VERB_REPLY, "{\"id\":\"a\",\"x\":[1,2}", "JSON"},
        {KC_VERB_REQUEST, "{\"id\":\"a\",\"op\":\"b\",\"sum\":\"0123\",\"ttl_ms\":1}",
         "sum"},
        {KC_VERB_REQUEST,
         "{\"id\":\"a\",\"op\":\"b\",\"sum\":\"0123456789abcdef\",\"ttl_ms\":-1}",
         "ttl_ms"},
        {KC_VERB_REQUEST,
         "{\"id\":\"a\",\"op\":\"b\",\"sum\":\"0123456789abcdef\",\"ttl_ms\":1.5}",
         "ttl_ms"},
        {KC_VERB_REQUEST,
         "{\"id\":\"a\",\"op\":\"b\",\"sum\":\"0123456789abcdef\",\"ttl_ms\":01}",
         "ttl_ms"},
        {KC_VERB_REQUEST,
         "{\"id\":\"a\",\"op\":\"b\",\"sum\":\"0123456789abcdef\",\"ttl_ms\":1,"
         "\"need\":{}}",
         "need"},
        {KC_VERB_WELCOME,
         "{\"session\":\"s\",\"boot\":\"b\",\"beat_ms\":5,\"dead_ms\":4000}",
         "beat_ms"},
    };
    for (size_t i = 0; i < KC_COUNT (cases); i++) {
        kc_header_t h;
        kc_err_t err = {0};
        assert_int_equal (read_it (&h, cases[i].verb, cases[i].json, &err), -1);
        assert_non_null (strstr (err.text, cases[i].names));
    }
}

static void unknown_keys_are_stepped_over (void **state)
{
    (void)state;
    kc_header_t h;
    kc_err_t err;
    assert_int_equal (
        read_it (
            &h, KC_VERB_REPLY,
            "{\"x\":{\"y\":[1,{\"z\":[[],{}]},null],\"id\":9},\"id\":\"a\",\"w\":-1e3}",
            &err),
        0);
    assert_string_equal (h.word[KC_H_ID], "a");
}

static void an_error_header_keeps_its_bound_whatever_the_text (void **state)
{
    (void)state;
    char text[KC_ERR_TEXT];
    memset (text, '"', sizeof text - 1); // each becomes two bytes
    text[sizeof text - 1] = 0;
    kc_buf_t b = {0};
    char id[97];
    memset (id, 'i', 96);
    id[96] = 0;
    kc_header_error (&b, id, KC_EBUSY, text, 999999999);
    kc_header_t h;
    kc_err_t err;
    assert_true (b.size <= KC_WIRE_HEADER_MAX);
    assert_int_equal (kc_header_read (&h, KC_VERB_ERROR, b.data, b.size, &err), 0);
    assert_string_equal (h.word[KC_H_ID], id);
    assert_true (strlen (h.word[KC_H_TEXT]) >= 200);
    kc_buf_free (&b);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_request_header_survives_writing_and_reading),
        cmocka_unit_test (a_wrong_header_is_refused_with_the_key_named),
        cmocka_unit_test (unknown_keys_are_stepped_over),
        cmocka_unit_test (an_error_header_keeps_its_bound_whatever_the_text),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
