/*
 * coll/synth/synth.h - schedules of collectives for a given network, found move by move.
 *
 * Members of a group are places 0 ... n - 1. An *edge* is a path from one member to
 * another through switches, or NPUs outside the group, and uses every link on it. A move
 * sends one chunk over an edge: it occupies the links for bytes / bandwidth (drain), and
 * the chunk has arrived a latency later. Times are whole picoseconds.
 *
 * A reduce-scatter is the all-gather of the graph with all links reversed, backwards in
 * time. Each chunk reaches each member once, so its moves are a tree, and the reversed
 * tree sums.
 */
#ifndef COLL_SYNTH_SYNTH_H
#define COLL_SYNTH_SYNTH_H

#include "base/array.h"
#include "hw/graph/graph.h"

enum { SYNTH_MAX_MEMBERS = 4096, SYNTH_MAX_LEVELS = 8 };
#define SYNTH_MAX_MOVES (UINT64_C(1) << 26)

typedef struct synth_edge {
    uint32_t from, to; /* places */
    uint32_t first, n; /* its links, in synth_graph.path */
    uint32_t port;     /* the last link, into the receiver */
    uint32_t level;    /* rank of its bandwidth, 0 = the fastest */
    double Bps, latency_s;
} synth_edge;

/* The edges between the members of a group. */
typedef struct synth_graph {
    uint32_t n, n_links; /* members; links of the network */
    ARRAY(synth_edge) edges;
    ARRAY(uint32_t) path;
    uint32_t *in_at, *in; /* edges into each member, those of one port together */
    uint32_t *port_at, *port_begin; /* by member: where its ports begin in `in` */
    uint32_t n_levels;
    double level_Bps[SYNTH_MAX_LEVELS];
    uint32_t *domain[SYNTH_MAX_LEVELS]; /* by level and member: the component that faster
                                           edges connect */
} synth_graph;

/* `npus` NULL: 0 ... n - 1. `reversed`: every link the other way round. */
halley_status synth_graph_make(synth_graph *out, const hw_graph *g, const uint32_t *npus,
                               uint32_t n, bool reversed, halley_error *err);
void synth_graph_fini(synth_graph *g);

typedef struct synth_move {
    uint64_t start, end; /* ps: of the first byte sent, and of the chunk's arrival */
    uint32_t edge, chunk;
} synth_move;

/* An all-gather. Chunk c is piece c % pieces of member c / pieces. */
typedef struct synth_gather {
    uint32_t pieces;
    double chunk_bytes;
    ARRAY(synth_move) moves; /* by start */
    uint64_t time_ps;
} synth_gather;

typedef struct synth_options {
    uint32_t effort; /* 1 ... 9: number of schedules that are tried; 0 = 1 */
    uint64_t seed;
    uint32_t pieces; /* chunks per member; 0 = the best number */
} synth_options;

/* An all-gather of `bytes` in total: the best of several schedules, each verified. */
halley_status synth_gather_find(synth_gather *out, const synth_graph *g, double bytes,
                                const synth_options *o, halley_error *err);
void synth_gather_fini(synth_gather *s);
/* The least time that any all-gather needs, in s. *reason says what binds; static. */
extern const char synth_bound_npu[], synth_bound_domain[]; /* two of the reasons */
double synth_gather_bound(const char **reason, const synth_graph *g, double bytes);
/* The time of the same moves, in the same order on every link, with other bytes in total.
 * With `moves` not NULL, their times are written there. */
halley_status synth_gather_time(uint64_t *time_ps, const synth_gather *s,
                                const synth_graph *g, double bytes, synth_move *moves,
                                halley_error *err);
/* Checks by other means that each chunk is where it is sent from, that no link is used
 * twice at once, and that each member gets each chunk exactly once. An internal error
 * otherwise. */
halley_status synth_gather_verify(const synth_gather *s, const synth_graph *g,
                                  halley_error *err);

/* One schedule (search.c). `stores`: links are busy until the chunk arrives. */
typedef struct synth_try {
    uint32_t pieces;
    uint64_t seed;
    bool stores;
    double slack_s; /* detour of a chunk over its shortest path; negative = any */
} synth_try;
halley_status synth_search(synth_gather *out, const synth_graph *g, double chunk_bytes,
                           const synth_try *t, halley_error *err);

static inline uint64_t synth_drain_ps(const synth_edge *e, double bytes)
{
    return (uint64_t)(bytes / e->Bps * 1e12 + 0.5);
}
static inline uint64_t synth_travel_ps(const synth_edge *e, double bytes)
{
    return synth_drain_ps(e, bytes) + (uint64_t)(e->latency_s * 1e12 + 0.5);
}

#endif
