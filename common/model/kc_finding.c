// kc_finding.c - see kc_finding.h

#include "common/model/kc_finding.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/util/kc_buf.h"
#include "common/util/kc_mem.h"
#include "common/util/kc_opt.h"

enum { S_TEXT_MAX = 1000, S_KNOWN_MAX = 24 };

int kc_finding (kc_verdict_t *verdict, kc_verdict_status_t status, int line, int step,
                const char *format, ...)
{
    if (!verdict)
        return -1;
    if (verdict->n_findings == 0)
        verdict->status = status;
    if (verdict->n_findings >= KC_FINDINGS_MAX)
        return -1;
    kc_buf_t b = {.limit = S_TEXT_MAX};
    va_list args;
    va_start (args, format);
    kc_buf_vprintf (&b, format, args);
    va_end (args);
    kc_verdict_finding_t *f =
        kc_push (&verdict->findings, &verdict->n_findings, sizeof *f);
    kc_type_init (&kc_verdict_finding_type, f);
    f->status = status;
    f->text = kc_utf8_clean (kc_buf_str (&b), b.size, S_TEXT_MAX);
    kc_buf_free (&b);
    f->has_line = line > 0;
    f->line = line > 0 ? line : 0;
    f->has_step = step >= 0;
    f->step = step >= 0 ? step : 0;
    return -1;
}

char *kc_findings_text (const kc_verdict_t *verdict)
{
    kc_buf_t b = {0};
    for (size_t i = 0; verdict && i < verdict->n_findings; i++) {
        const kc_verdict_finding_t *f = &verdict->findings[i];
        if (f->has_line)
            kc_buf_printf (&b, "line %lld: ", (long long)f->line);
        else if (f->has_step)
            kc_buf_printf (&b, "step %lld: ", (long long)f->step);
        kc_buf_printf (&b, "%s\n", f->text ? f->text : "");
    }
    return kc_buf_take (&b);
}

char *kc_suggest (const char *word, const char *const *known, size_t n_known)
{
    if (n_known == 0)
        return kc_strdup ("");
    size_t best = 0;
    int least = 1 << 20;
    for (size_t i = 0; i < n_known; i++) {
        int d = kc_word_distance (word, known[i]);
        if (d < least) {
            least = d;
            best = i;
        }
    }
    // A third of the letters may differ, or two neighbours be swapped; more than that
    // is another word.
    int length = (int)strlen (word), most = length < 3   ? 1
                                            : length < 7 ? 2
                                                         : (length + 2) / 3;
    if (least <= most)
        return kc_asprintf ("; did you mean '%s'?", known[best]);
    kc_buf_t b = {0};
    kc_buf_puts (&b, "; known:");
    for (size_t i = 0; i < n_known && i < S_KNOWN_MAX; i++)
        kc_buf_printf (&b, " %s", known[i]);
    if (n_known > S_KNOWN_MAX)
        kc_buf_puts (&b, " ...");
    return kc_buf_take (&b);
}
