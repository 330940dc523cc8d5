/*
 * replay/plan.h - what one rank of a trace set does, as operations on the real machine.
 */
#ifndef REPLAY_PLAN_H
#define REPLAY_PLAN_H

#include "base/array.h"
#include "base/str.h"
#include "halley/replay.h"
#include "mpi/plugin.h"

typedef enum replay_kind {
    REPLAY_NOTHING, /* ends as soon as it begins */
    REPLAY_COMPUTE,
    REPLAY_COLLECTIVE,
    REPLAY_SEND,
    REPLAY_RECEIVE,
    REPLAY_COPY,
} replay_kind;

#define REPLAY_NO_GROUP UINT32_MAX

/* Operation i is node i of the trace. */
typedef struct replay_op {
    uint8_t kind; /* replay_kind */
    uint8_t coll; /* halley_coll_type */
    bool uneven;  /* all-to-all with unequal parts: comm_sizes */
    int peer, tag;
    uint32_t group;   /* of a collective: index in the plan's groups */
    uint32_t ordinal; /* of a collective: its index within its group */
    uint32_t root;    /* index in the group */
    uint32_t n_waits; /* operations that must end before it */
    uint32_t first_child;
    double seconds; /* of compute */
    uint64_t bytes; /* as in the node, scaled; copy: bytes moved */
} replay_op;

typedef struct replay_group {
    int64_t id; /* 0 = all ranks */
    uint32_t n;
    int *ranks; /* owned */
} replay_group;

/* The program of one rank. */
typedef struct replay_program {
    const halley_trace *trace; /* lent */
    uint32_t n;                /* operations */
    replay_op *ops;            /* n + 1: the last one only marks the end of the
                                  children */
    uint32_t *children;
    uint32_t *order; /* order in which each operation follows its dependencies */
} replay_program;

typedef struct replay_plan {
    uint32_t n_ranks; /* ranks that take part */
    ARRAY(replay_group) groups;
    replay_program *programs; /* by rank */
    ARRAY(char *) notes;      /* owned */
    uint64_t n_dropped;       /* messages and collectives without their partners */
} replay_plan;

/* Errors name rank and node. The traces must outlive the plan. */
halley_status replay_plan_init(replay_plan *plan, const halley_trace_set *traces,
                               uint32_t n_ranks, const halley_replay_opts *opts,
                               halley_error *err);
void replay_plan_fini(replay_plan *plan);
/* Refuse ranks whose collectives or messages do not match. */
halley_status replay_plan_check(const replay_plan *plan, halley_error *err);

/* Bytes that an operation sends and receives; for collectives also one MPI part. */
typedef struct replay_sizes {
    uint64_t send, receive, part;
} replay_sizes;
replay_sizes replay_op_sizes(const replay_plan *plan, const replay_op *op);
/* The larger buffer of one rank, which bandwidths refer to; and the share of it that a
 * ring sends. */
double replay_larger_buffer(uint32_t coll, uint64_t bytes, uint32_t n);
double replay_bus_factor(uint32_t coll, uint32_t n);

#endif
