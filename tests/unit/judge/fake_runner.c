// fake_runner - a runner that behaves as the job's gpu says: for the tests of kc_run,
// never installed

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agents/gpu/runner/kc_frame.h"
#include "common/msg/gen/runner.h"

static void s_json (const char *text)
{
    kc_frame_send (4, KC_FRAME_JSON, text, strlen (text), NULL);
}

static void s_wait (void)
{
    const struct timespec long_time = {600, 0};
    nanosleep (&long_time, NULL);
}

int main (void)
{
    size_t size;
    kc_err_t err;
    char *json = kc_frame_receive (3, KC_FRAME_JSON, &size, &err);
    kc_runner_job_t *job =
        json ? kc_runner_job_decode (json, size, KC_WIRE, NULL) : NULL;
    if (!job)
        return 9;
    const char *what = job->gpu ? job->gpu : "";
    fprintf (stderr, "x=%p", (void *)job); // no newline: must not disturb the records
    if (strcmp (what, "deaf") == 0)
        s_wait (); // the binaries are never read
    size_t bytes = 0;
    for (size_t i = 0; i < job->n_binaries; i++) {
        char *data = kc_frame_receive (3, KC_FRAME_DATA, &size, &err);
        if (!data)
            return 8;
        for (size_t k = 0; k < size; k++)
            bytes += (unsigned char)data[k];
        free (data);
    }
    if (strcmp (what, "hang") == 0)
        s_wait ();
    if (strcmp (what, "segv") == 0)
        raise (SIGSEGV);
    if (strcmp (what, "exit") == 0)
        _exit (3);
    if (strcmp (what, "garbage") == 0)
        return write (4, "PASS\nPASS\nPASS\nPASS\n", 20) == 20 ? 0 : 1;
    if (strcmp (what, "notimes") == 0 || strcmp (what, "zerotimes") == 0) {
        if (strcmp (what, "zerotimes") == 0)
            s_json ("{\"kind\":\"times\",\"times\":{\"series\":[{\"who\":\"candidate\","
                    "\"us\":[0,0]}]}}");
        s_json ("{\"kind\":\"done\"}");
        return 0;
    }
    if (strcmp (what, "lie") == 0) {
        s_json ("{\"kind\":\"winner\"}");
        return 0;
    }
    char text[200];
    snprintf (
        text, sizeof text,
        "{\"kind\":\"output\",\"case\":0,\"tensor\":\"y\",\"bytes\":%d,\"key\":%zu}",
        600000, bytes);
    s_json (text);
    char *data = calloc (600000, 1);
    for (int i = 0; i < 600000; i++)
        data[i] = (char)(i * 7);
    for (int at = 0; at < 600000; at += 200000)
        kc_frame_send (4, KC_FRAME_DATA, data + at, 200000, NULL);
    free (data);
    s_json ("{\"kind\":\"ran\",\"case\":0}");
    s_json ("{\"kind\":\"done\"}");
    if (strcmp (what, "linger") == 0)
        s_wait ();
    if (strcmp (what, "late") == 0)
        s_json ("{\"kind\":\"ran\",\"case\":1}");
    free (json);
    kc_runner_job_free (&job);
    return 0;
}
