// main.c - kc-memory: the memory service on the bus; everything it does is in
// kc_service and below

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/kc_daemon.h"
#include "common/util/kc_clock.h"
#include "common/util/kc_fs.h"
#include "common/util/kc_log.h"
#include "common/util/kc_mem.h"
#include "memory/service/kc_service.h"

enum {
    SLOTS = KC_SERVICE_PARKED + 512, // waiting ones, and twice a batch
    TICK_MS = 100,
    KEEP_BYTES = 256 * 1024 * 1024, // of freed memory that stays with the process
};

typedef struct my {
    kc_store_t *store;
    kc_service_t *service;
    kc_loop_t *loop;
    kc_node_t *node;
    kc_daemon_t *daemon;
    int64_t tick;
    bool posted; // s_work is on its way
} my_t;

static const kc_opt_t s_options[] = {
    KC_OPT_DAEMON,
    {"file", 0, KC_OPT_STRING, 0, 0, 0, 0, "PATH",
     "the database; default memory.db in --data"},
    {"experts", 0, KC_OPT_STRING, "KC_EXPERTS", 0, 0, 0, "DIR",
     "folder of the shipped expert methods"},
    {"allow-network-fs", 0, KC_OPT_FLAG, 0, 0, 0, 0, 0,
     "open the file on NFS and the like, in a slow mode"},
    {0},
};

static void s_post (my_t *my);

// One batch per post: between two of them the loop takes in what has arrived, so
// batches fill up.
static void s_work (kc_loop_t *loop, void *arg)
{
    my_t *my = arg;
    my->posted = false;
    if (kc_service_work (my->service, kc_loop_now (loop)))
        s_post (my);
}

static void s_post (my_t *my)
{
    if (!my->posted)
        kc_loop_post (my->loop, s_work, my);
    my->posted = true;
}

static void s_tick (kc_loop_t *loop, int64_t timer, void *arg)
{
    (void)timer;
    my_t *my = arg;
    kc_service_tick (my->service, kc_loop_now (loop));
    if (kc_service_queued (my->service) > 0)
        s_post (my);
}

static void s_request (void *arg, kc_node_t *node, const kc_request_t *request)
{
    my_t *my = arg;
    my->node = node;
    kc_service_request_t r = {.id = request->id,
                              .op = request->op,
                              .payload = request->payload,
                              .payload_size = request->payload_size,
                              .chunk = request->chunk,
                              .chunk_size = request->chunk_size};
    kc_service_submit (my->service, &r);
    s_post (my);
}

static void s_cancel (void *arg, kc_node_t *node, const char *id)
{
    my_t *my = arg;
    my->node = node;
    kc_service_cancel (my->service, id);
}

static void s_reply (void *arg, const char *id, const void *payload,
                     size_t payload_size, const void *chunk, size_t chunk_size)
{
    my_t *my = arg;
    kc_err_t err = {0};
    if (kc_node_reply (my->node, id, payload, payload_size, chunk, chunk_size, &err)
        < 0)
        kc_node_error (my->node, id, &err, 0);
}

static void s_refuse (void *arg, const char *id, const kc_err_t *err,
                      int64_t retry_after_ms)
{
    my_t *my = arg;
    kc_node_error (my->node, id, err, retry_after_ms);
}

static void s_broken (void *arg, const kc_err_t *err)
{
    my_t *my = arg;
    kc_daemon_end (my->daemon, err);
}

// The shipped methods: --experts, else the source tree the program was built from, else
// beside it.
static char *s_experts (const kc_opts_t *opts)
{
    const char *given = kc_opts_string (opts, "experts");
    if (given)
        return kc_strdup (given);
    char *program = kc_fs_program_dir ();
    char *dir = kc_fs_join (program, "../share/kernelclaw/experts");
    free (program);
    if (!kc_fs_exists (dir)) {
        free (dir);
        dir = kc_strdup (KC_EXPERTS_DIR);
    }
    return dir;
}

static int s_start (kc_daemon_t *daemon, void *arg, kc_err_t *err)
{
    my_t *my = arg;
    const kc_opts_t *opts = kc_daemon_opts (daemon);
    my->daemon = daemon;
    my->loop = kc_daemon_loop (daemon);
    const char *file = kc_opts_string (opts, "file");
    char *path = file ? kc_strdup (file)
                      : kc_fs_join (kc_daemon_dir (daemon, KC_DIR_DATA), "memory.db");
    char *experts = s_experts (opts);
    kc_store_config_t config = {
        .db = {.path = path,
               .allow_network_fs = kc_opts_flag (opts, "allow-network-fs")},
        .experts = experts};
    kc_when_t when = {.now = kc_clock_ms ()};
    kc_clock_iso (kc_clock_wall_ms (), when.at);
    my->store = kc_store_open (&config, &when, err);
    if (my->store) {
        kc_service_out_t out = {
            .reply = s_reply, .refuse = s_refuse, .broken = s_broken, .arg = my};
        my->service = kc_service_new (my->store, &out, when.now);
        kc_log (KC_INFO, "memory.open", "path", "s", path, "methods", "i",
                (int64_t)kc_methods_rules (my->store->methods)->n_methods, NULL);
    }
    free (path);
    free (experts);
    return my->store ? 0 : -1;
}

static int s_ready (kc_daemon_t *daemon, void *arg, kc_err_t *err)
{
    (void)err;
    my_t *my = arg;
    my->node = kc_daemon_node (daemon);
    my->tick = kc_loop_timer_add (my->loop, TICK_MS, TICK_MS, s_tick, my);
    return 0;
}

static void s_stopping (kc_daemon_t *daemon, void *arg)
{
    (void)daemon;
    my_t *my = arg;
    kc_service_stop_waiting (my->service, kc_loop_now (my->loop));
}

static void s_stop (kc_daemon_t *daemon, void *arg)
{
    (void)daemon;
    my_t *my = arg;
    if (my->loop)
        kc_loop_timer_del (my->loop, my->tick);
    kc_service_destroy (&my->service);
    kc_store_close (&my->store);
}

int main (int argc, char **argv)
{
    my_t my = {0};
    // Each request builds and frees some hundred kilobytes; giving pages back and
    // taking them again at that pace costs more than the work.
    mallopt (M_TRIM_THRESHOLD, KEEP_BYTES);
    mallopt (M_MMAP_THRESHOLD, KEEP_BYTES / 16);
    mallopt (M_TOP_PAD, KEEP_BYTES / 64);
    kc_daemon_spec_t spec = {
        .program = "kc-memory",
        .role = "memory",
        .about = "The memory service: tasks, their steps and events, blobs, verdicts "
                 "and expert methods in one "
                 "SQLite file. Exactly one runs beside a broker; it calls nobody.",
        .options = s_options,
        .ops = kc_service_ops (),
        .slots = SLOTS,
        .start = s_start,
        .ready = s_ready,
        .stopping = s_stopping,
        .stop = s_stop,
        .on_request = s_request,
        .on_cancel = s_cancel,
        .arg = &my,
    };
    return kc_daemon_main (&spec, argc, argv);
}
