/* kc-cupti-names - ask CUPTI's host library whether every counter of our table exists,
 * and for the passes
 *
 *   kc-cupti-names [--cuda DIR] [--chip NAME] [METRIC ...]
 *
 * Without metrics: the table of cupti_metrics.c on every chip it names.  Needs no GPU
 * and no driver.  Exit 0 when all is as the table says, 1 when not, 17 (unsupported)
 * when there is no CUPTI here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/gpu/cuda/cupti_api.h"
#include "agents/gpu/cuda/cupti_metrics.h"
#include "common/util/kc_mem.h"

// One chip against the table; the number of differences.
static int s_check_chip (const kc_cupti_api_t *api, const kc_cupti_chip_t *chip)
{
    kc_cupti_host_t host;
    kc_err_t err = {0};
    int wrong = 0;
    const char **names = kc_calloc (kc_cupti_n_metrics, sizeof *names);
    bool *accepted = kc_calloc (kc_cupti_n_metrics, sizeof *accepted);
    for (size_t i = 0; i < kc_cupti_n_metrics; i++)
        names[i] = kc_cupti_metrics[i].name;
    if (kc_cupti_host_open (&host, api, chip->name, NULL, &err) < 0
        || kc_cupti_host_select (&host, names, kc_cupti_n_metrics, accepted, &err)
               < 0) {
        printf ("FAIL %s: %s\n", chip->name, err.text);
        wrong++;
    }
    for (size_t i = 0; wrong == 0 && i < kc_cupti_n_metrics; i++) {
        bool expected = !(kc_cupti_metrics[i].lacking & chip->bit);
        if (expected == accepted[i])
            continue;
        printf ("FAIL %s: %s is %s, and the table says otherwise\n", chip->name,
                names[i], accepted[i] ? "accepted" : "refused");
        wrong++;
    }
    free (accepted);
    size_t size = 0, passes = 0;
    unsigned char *image = kc_cupti_host_config (&host, &size, &passes, &err);
    if (!image) {
        printf ("FAIL %s: %s\n", chip->name, err.text);
        wrong++;
    }
    else {
        bool few = passes <= chip->max_passes;
        printf ("%s %s: %zu of %zu counters, %zu passes, at most %zu expected\n",
                few ? "ok" : "FAIL", chip->name, host.n_names, kc_cupti_n_metrics,
                passes, chip->max_passes);
        wrong += !few;
    }
    free (image);
    kc_cupti_host_close (&host);
    free (names);
    return wrong;
}

// Passes of some metrics in one call; 0 when the chip lacks one.
static size_t s_passes (const kc_cupti_api_t *api, const char *chip,
                        const char *const *names, size_t n)
{
    kc_cupti_host_t host;
    kc_err_t err = {0};
    size_t size = 0, passes = 0;
    bool *accepted = kc_calloc (n + 1, sizeof *accepted);
    if (kc_cupti_host_open (&host, api, chip, NULL, &err) < 0
        || kc_cupti_host_select (&host, names, n, accepted, &err) < 0)
        fprintf (stderr, "%s\n", err.text);
    else if (host.n_names > 0) {
        unsigned char *image = kc_cupti_host_config (&host, &size, &passes, &err);
        if (!image)
            fprintf (stderr, "%s\n", err.text);
        free (image);
    }
    kc_cupti_host_close (&host);
    free (accepted);
    return passes;
}

// The metrics of the command line on one chip, each alone and all together.
static int s_ask (const kc_cupti_api_t *api, const char *chip, char **argv, size_t n)
{
    int refused = 0;
    const char **names = kc_calloc (n + 1, sizeof *names);
    for (size_t i = 0; i < n; i++) {
        names[i] = argv[i];
        size_t passes = s_passes (api, chip, &names[i], 1);
        if (passes)
            printf ("%zu passes alone: %s\n", passes, argv[i]);
        else
            printf ("refused %s\n", argv[i]);
        refused += passes == 0;
    }
    printf ("%zu passes together on %s\n", s_passes (api, chip, names, n), chip);
    free (names);
    return refused;
}

int main (int argc, char **argv)
{
    const char *where = NULL, *chip = "GH100";
    int at = 1;
    for (; at + 1 < argc && strncmp (argv[at], "--", 2) == 0; at += 2) {
        if (strcmp (argv[at], "--cuda") == 0)
            where = argv[at + 1];
        else if (strcmp (argv[at], "--chip") == 0)
            chip = argv[at + 1];
        else
            break;
    }
    if (at < argc && strncmp (argv[at], "--", 2) == 0) {
        fprintf (stderr,
                 "usage: kc-cupti-names [--cuda DIR] [--chip NAME] [METRIC ...]\n");
        return kc_code_exit (KC_EUSAGE);
    }
    kc_err_t err = {0};
    kc_cupti_api_t *api = kc_cupti_api_load (where, &err);
    if (!api) {
        printf ("SKIP %s\n", err.text);
        return kc_code_exit (err.code);
    }
    printf ("CUPTI %u at %s\n", api->version, api->path);
    int wrong = 0;
    if (at < argc)
        wrong = s_ask (api, chip, argv + at, (size_t)(argc - at));
    for (size_t i = 0; at >= argc && i < kc_cupti_n_chips; i++)
        wrong += s_check_chip (api, &kc_cupti_chips[i]);
    kc_cupti_api_destroy (&api);
    return wrong ? 1 : 0;
}
