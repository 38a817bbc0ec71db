/* kc_mem_help.h - a real store in a temporary folder, and documents like those of a
 * real task */
#ifndef KC_MEM_HELP_H
#define KC_MEM_HELP_H

#include "memory/store/kc_store.h"

typedef struct kc_help {
    char dir[64];
    char *path; // of memory.db
    kc_store_t *store;
    kc_when_t when;
    kc_err_t err;
} kc_help_t;

// Open a store in a new folder; 'vfs' NULL = the system's.
void kc_help_open (kc_help_t *h, const char *vfs);
void kc_help_reopen (kc_help_t *h); // close and open the same file; time goes on
void kc_help_close (kc_help_t *h);  // and remove the folder

// One request as the service runs it: a batch of its own.  'ok' tells whether to keep
// it.
void kc_help_begin (kc_help_t *h);
void kc_help_end (kc_help_t *h, int rc);

int kc_help_create (kc_help_t *h,
                    const char *task); // a task without files' content missing
// Lease the next task; its epoch, 0 when there is none, -1 on failure.  *task_p: caller
// frees.
int64_t kc_help_lease (kc_help_t *h, const char *holder, const char *boot,
                       const char *request, char **task_p);
// Append; the number, or -1.
int64_t kc_help_append (kc_help_t *h, const char *task, int64_t epoch, int64_t round,
                        kc_memory_step_kind_t step, kc_memory_step_doc_t *doc,
                        bool *repeated_p);
int64_t kc_help_event_count (kc_help_t *h, const char *task);

kc_candidate_t *kc_help_candidate (const char *method, const char *parent, int version);
kc_verdict_t *kc_help_verdict (kc_verdict_status_t status, double over_base);
kc_evidence_t *kc_help_evidence (void);
kc_memory_step_doc_t *kc_help_doc (void); // empty, 0.5 seconds
kc_memory_step_doc_t *kc_help_doc_code (const char *method, const char *parent,
                                        int version);
kc_memory_step_doc_t *kc_help_doc_evaluate (kc_verdict_status_t status,
                                            double over_base);

#endif // KC_MEM_HELP_H
