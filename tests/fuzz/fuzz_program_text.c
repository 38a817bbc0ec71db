/* fuzz_program_text.c - any bytes as a program file
 *
 * What is refused must say why.  What is accepted must pass the strict codec, be
 * written as text that has the same hash, and go through card, plan, promotion and
 * lifter without harm.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "common/model/kc_card.h"
#include "common/model/kc_lift.h"
#include "common/model/kc_moves.h"
#include "common/model/kc_program.h"
#include "common/model/kc_promote.h"
#include "common/util/kc_mem.h"

static void s_card (const kc_program_text_t *text)
{
    kc_card_device_t *device = kc_card_device_new ();
    device->backend = KC_CARD_DEVICE_BACKEND_VGPU;
    device->gpu = kc_strdup ("NVIDIA H200");
    device->sm = 90;
    device->sms = 132;
    kc_verdict_t *findings = kc_verdict_new ();
    kc_card_t *card = kc_card_build (text, NULL, 0, device, 0, findings);
    kc_assert (card || findings->n_findings > 0);
    if (card) {
        size_t n;
        kc_move_t *moves = kc_moves_list (card, card->seed, NULL, &n);
        kc_moves_free (moves, n);
        kc_card_t *twin;
        kc_program_t *program = kc_promote (card, card->seed, &twin, NULL);
        kc_program_free (&program);
        kc_card_free (&twin);
    }
    kc_card_free (&card);
    kc_verdict_free (&findings);
    kc_card_device_free (&device);
}

static void s_round_trip (const kc_program_text_t *text)
{
    char a[KC_SHA_HEX], b[KC_SHA_HEX];
    kc_assert (kc_program_hash (text->program, a) == 0);
    char *written = kc_program_text_write (text->program, text->task, NULL);
    kc_assert (written); // what came from text has no plan lines of its own
    kc_program_text_t *again =
        kc_program_text_parse (written, strlen (written), NULL, NULL);
    kc_assert (again && kc_program_hash (again->program, b) == 0 && !strcmp (a, b));
    kc_program_text_destroy (&again);
    free (written);
    size_t size;
    char *json = kc_program_encode (text->program, &size);
    kc_program_t *program = kc_program_read (json, size, NULL);
    kc_assert (program && kc_program_hash (program, b) == 0 && !strcmp (a, b));
    kc_program_free (&program);
    free (json);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    kc_verdict_t *findings = kc_verdict_new ();
    kc_program_text_t *text = kc_program_text_parse (bytes, size, NULL, findings);
    kc_assert (text || findings->n_findings > 0);
    kc_verdict_free (&findings);
    if (text) {
        s_round_trip (text);
        s_card (text);
    }
    kc_program_text_destroy (&text);
    kc_err_t err = {0};
    char *lifted = kc_lift (bytes, size, NULL, &err);
    kc_assert (lifted || *err.text);
    free (lifted);
    return 0;
}
