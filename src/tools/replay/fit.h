/*
 * replay/fit.h - measured ladders of communication, and the cluster file made from them.
 */
#ifndef REPLAY_FIT_H
#define REPLAY_FIT_H

#include "base/array.h"
#include "base/str.h"
#include "halley/extend.h"

typedef struct fit_point {
    double bytes; /* size of the larger buffer of one rank */
    double seconds;
} fit_point;

/* One kind in one group, by ascending size. */
typedef struct fit_ladder {
    halley_collective_kind kind;
    uint32_t n_ranks, per_node;
    ARRAY(fit_point) points;
} fit_ladder;

/* From a size on, seconds = latency + bytes / bandwidth. */
typedef struct fit_line {
    double from_bytes, latency_s, bw_Bps;
} fit_line;
typedef ARRAY(fit_line) fit_lines;

/* Find the fewest lines that are within `tolerance` of every point; false: no memory. The
 * points are first made ascending in time. */
bool fit_find_lines(fit_lines *out, fit_ladder *ladder, double tolerance);
/* The latency and bandwidth that fit all points best, by relative error. */
fit_line fit_find_line(const fit_ladder *ladder);
/* The cluster file; false: no memory. */
bool fit_write_cluster(strbuf *to, fit_ladder *ladders, size_t n, uint32_t n_ranks,
                       uint32_t per_node);

#endif
