/*
 * Any bytes as a file that is fed. Streamed in small chunks it must give the nodes that a
 * feeder of the whole trace gives, in the same order, and end the same way.
 */
#include "halley/feeder.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

enum { MAX_TAKEN = 3 }; /* nodes out at a time: the oldest is finished first */

typedef struct run {
    halley_feeder *feeder;
    uint64_t taken[MAX_TAKEN];
    uint32_t n_taken;
} run;

static void finish_oldest(run *r)
{
    if (halley_feeder_finish(r->feeder, r->taken[0], NULL) != HALLEY_OK)
        abort();
    r->n_taken--;
    for (uint32_t i = 0; i < r->n_taken; i++)
        r->taken[i] = r->taken[i + 1];
}

/* One step; false when it is over. *id is the node taken, *found whether there was one.
 */
static halley_status step(run *r, bool *found, uint64_t *id)
{
    halley_feed_node got;
    if (r->n_taken == MAX_TAKEN)
        finish_oldest(r);
    const halley_status status = halley_feeder_take(r->feeder, &got, found, NULL);
    if (status != HALLEY_OK || !*found)
        return status;
    *id = got.id;
    if (halley_node_id(got.trace, got.node) != got.id)
        abort();
    r->taken[r->n_taken++] = got.id;
    return HALLEY_OK;
}

static void compare(run *a, run *b)
{
    for (;;) {
        bool found_a = false, found_b = false;
        uint64_t id_a = 0, id_b = 0;
        if (step(a, &found_a, &id_a) != HALLEY_OK)
            return; /* a later chunk is bad, which the whole file would have been, too */
        if (step(b, &found_b, &id_b) != HALLEY_OK || found_a != found_b || id_a != id_b)
            abort();
        if (found_a)
            continue;
        if (a->n_taken == 0)
            break;
        finish_oldest(a);
        finish_oldest(b);
    }
    if (halley_feeder_stuck(a->feeder) != halley_feeder_stuck(b->feeder) ||
        halley_feeder_done(a->feeder) != halley_feeder_done(b->feeder))
        abort();
    halley_error err = {0};
    (void)halley_feeder_explain(a->feeder, &err);
    (void)halley_feeder_explain(b->feeder, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    const int fd = memfd_create("input", 0);
    char path[64];
    if (fd < 0 || write(fd, at, n) != (ssize_t)n)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const halley_feeder_opts opts = {.chunk_nodes = 3, .max_resident = 1000};
    const halley_load_opts load = {.n_threads = 1};
    halley_trace *trace = NULL;
    run streamed = {0}, whole = {0};
    if (halley_feeder_open(&streamed.feeder, path, &opts, NULL) == HALLEY_OK &&
        halley_feeder_streams(streamed.feeder) &&
        halley_trace_parse(&trace, at, n, "input", &load, NULL) == HALLEY_OK &&
        halley_feeder_new(&whole.feeder, trace, NULL, NULL) == HALLEY_OK)
        compare(&streamed, &whole);
    halley_feeder_free(streamed.feeder);
    halley_feeder_free(whole.feeder);
    halley_trace_free(trace);
    close(fd);
    return 0;
}
