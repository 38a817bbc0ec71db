/* kc_log.h - one JSON line per event on stderr: {"t":"...","l":"info","p":"kc-broker","e":"session.lost",...}
 *
 * An event is a name and fields, not an essay.  Fields are given as NAME, TYPE LETTER, VALUE triples
 * ended by NULL: "s" const char *, "i" int64_t, "f" double, "b" int (bool).  Secrets are never passed.
 * "n" holds the instance name when there is one.  A line is one write of at most PIPE_BUF bytes, so lines
 * of several processes on one pipe never mix; a longer one is cut and ends with "cut":true.  Safe from any
 * thread; errno is kept; a line that cannot be written is lost.  Program, instance and level are the only
 * static mutable data of common/util.
 */
#ifndef KC_LOG_H
#define KC_LOG_H

typedef enum kc_level { KC_DEBUG, KC_INFO, KC_WARN, KC_ERROR } kc_level_t;

void kc_log_init (const char *program, const char *instance); // both copied; call once in main
void kc_log_level (kc_level_t least);
int kc_log_level_parse (const char *name); // level, or -1
// kc_log (KC_INFO, "worker.ready", "ops", "s", ops, "slots", "i", (int64_t) n, NULL);
void kc_log (kc_level_t level, const char *event, ...) __attribute__ ((sentinel));

#endif // KC_LOG_H
