/*
 * Replay a trace in dependency order: each node starts when all it depends on is over, as
 * soon as one of two workers is idle. The file is streamed, so it may be larger than
 * memory.
 *
 *   cc feed_trace.c $(pkg-config --cflags --libs halley) -o feed_trace
 *   ./feed_trace step.0.et
 */
#include <halley/feeder.h>
#include <inttypes.h>
#include <stdio.h>

enum { N_WORKERS = 2 };

typedef struct worker {
    bool busy;
    uint64_t id, until_us;
} worker;

/* Give idle workers what is free now. */
static halley_status start(halley_feeder *feeder, worker *workers, uint64_t now_us,
                           halley_error *err)
{
    for (int i = 0; i < N_WORKERS; i++) {
        halley_feed_node node;
        bool found = false;
        if (workers[i].busy)
            continue;
        const halley_status status = halley_feeder_take(feeder, &node, &found, err);
        if (status != HALLEY_OK || !found)
            return status;
        const uint64_t length_us = halley_node_duration_us(node.trace, node.node);
        workers[i] = (worker){true, node.id, now_us + length_us};
    }
    return HALLEY_OK;
}

/* The busy worker that is done first; NULL when none is busy. */
static worker *first_done(worker *workers)
{
    worker *first = NULL;
    for (int i = 0; i < N_WORKERS; i++)
        if (workers[i].busy && (!first || workers[i].until_us < first->until_us))
            first = &workers[i];
    return first;
}

static halley_status replay(halley_feeder *feeder, uint64_t *end_us, halley_error *err)
{
    worker workers[N_WORKERS] = {{0}};
    for (;;) {
        halley_status status = start(feeder, workers, *end_us, err);
        worker *done = first_done(workers);
        if (status != HALLEY_OK || !done)
            return status != HALLEY_OK ? status : halley_feeder_explain(feeder, err);
        *end_us = done->until_us;
        done->busy = false;
        status = halley_feeder_finish(feeder, done->id, err);
        if (status != HALLEY_OK)
            return status;
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    halley_error err = {0};
    halley_feeder *feeder = NULL;
    uint64_t end_us = 0;
    halley_status status = halley_feeder_open(&feeder, argv[1], NULL, &err);
    if (status == HALLEY_OK)
        status = replay(feeder, &end_us, &err);
    if (status == HALLEY_OK)
        printf("%" PRIu64 " nodes in %" PRIu64 " us\n",
               halley_feeder_counts(feeder).finished, end_us);
    else {
        char sentence[2048];
        fprintf(stderr, "%s\n", halley_error_format(&err, sentence, sizeof sentence));
    }
    halley_feeder_free(feeder);
    return status == HALLEY_OK ? 0 : 1;
}
