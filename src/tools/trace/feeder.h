/* trace/feeder.h - shared by the two feeders, in memory and streaming. */
#ifndef TRACE_FEEDER_H
#define TRACE_FEEDER_H

#include "halley/feeder.h"

/* The operations of one implementation. Each works on the object that made the
 * halley_feeder. */
typedef struct feeder_ops {
    halley_status (*take)(void *self, halley_feed_node *out, bool *found,
                          halley_error *err);
    halley_status (*finish)(void *self, uint64_t id, halley_error *err);
    halley_status (*put_back)(void *self, uint64_t id, halley_error *err);
    bool (*wait)(const void *self, uint64_t from, halley_feed_wait *out);
    void (*free)(void *self);
} feeder_ops;

/* First member of both implementations, which maintain the counts. */
struct halley_feeder {
    const feeder_ops *ops;
    halley_feed_counts counts;
    halley_feeder_opts opts;
};

/* The dependencies of a node that count under the options: data first, then control. */
uint32_t feeder_dep_count(const halley_feeder *feeder, const halley_trace *trace,
                          uint32_t node);
halley_dep feeder_dep(const halley_feeder *feeder, const halley_trace *trace,
                      uint32_t node, uint32_t i);

/* "node 7 is not taken, so it cannot be <done>" */
halley_status feeder_not_taken(halley_error *err, uint64_t id, const char *done);

/*
 * Try to stream a regular file. *out stays NULL, with HALLEY_OK, if its form cannot be
 * streamed.
 */
halley_status feeder_stream_open(halley_feeder **out, const char *path,
                                 const halley_feeder_opts *opts, halley_error *err);

#endif
