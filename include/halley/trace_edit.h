/* halley/trace_edit.h - traces made from other traces: mend, slice, merge. */
#ifndef HALLEY_TRACE_EDIT_H
#define HALLEY_TRACE_EDIT_H

#include "halley/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What was dropped. */
typedef struct halley_fix_counts {
    size_t size;                /* filled by the library, see error.h */
    uint64_t n_dangling;        /* dependencies on ids that no node has */
    uint64_t n_self;            /* dependencies of a node on itself */
    uint64_t room[HALLEY_ROOM]; /* for members to come; 0 */
} halley_fix_counts;

/*
 * A copy without dangling dependencies and, if drop_self, without those of a node on
 * itself; all else as it was. *out is NULL when there is nothing to drop, else the
 * caller's. `counts` is written on success.
 */
halley_status halley_trace_fix(halley_trace **out, const halley_trace *trace,
                               bool drop_self, halley_fix_counts *counts,
                               halley_error *err);

typedef struct halley_id_range {
    uint64_t first, last; /* both included */
} halley_id_range;

/*
 * What to keep; a node must pass every test that is given. {0} keeps everything.
 *
 * Steps: nodes with an integer attribute `step_attr` belong to the step of that number.
 * In a trace where no node has it, a node belongs to the step of the last node named
 * ProfilerStep#N that has no greater id than its own, and before the first of those to
 * none.
 *
 * Time: a node is at its start. In a trace where no node has a start, it is at the
 * earliest time that its dependencies and their durations allow.
 */
typedef struct halley_slice_opts {
    const uint32_t *ranks; /* in the order of their new numbers; NULL = all */
    uint32_t n_ranks;
    const halley_id_range *ids; /* any of them; NULL = all */
    uint32_t n_ids;
    uint32_t types; /* bit 1 << halley_node_type; 0 = all */
    bool by_step;
    uint64_t first_step, last_step; /* both included */
    const char *step_attr;          /* NULL = "step" */
    bool by_time;
    uint64_t from_us, to_us; /* from_us <= start < to_us */
    bool cut;            /* drop dependencies on what is removed, do not bridge them */
    bool keep_unmatched; /* keep communication whose partner is removed */
    uint32_t n_threads;  /* 0 = one per core */
} halley_slice_opts;

typedef struct halley_slice_counts {
    size_t size;                   /* filled by the library, see error.h */
    uint64_t n_kept, n_removed;    /* nodes, over all kept ranks */
    uint64_t n_bridged;            /* dependencies made through removed nodes */
    uint64_t n_joints;             /* nodes that stand for removed ones, in n_kept, too */
    uint64_t n_cut;                /* dependencies dropped, with `cut` or in a cycle */
    uint64_t n_p2p, n_collectives; /* removed because a partner is; in n_removed, too */
    uint64_t room[HALLEY_ROOM];    /* for members to come; 0 */
} halley_slice_counts;

/*
 * Part of a set. What depended on a removed node depends on the nearest kept nodes that
 * that one depended on. Where there would be more than 16 of these, the removed node
 * stays as a joint: a COMP node of no duration with its id, named "joint", so that the
 * number of dependencies stays in proportion.
 *
 * Communication stays matched: the k-th send of (source, destination, tag, size) goes
 * with the k-th receive, the k-th collective of a group (by ids) with the k-th of each
 * other rank; when one of them is removed, all are. Ranks that are left out make the
 * groups smaller: their collectives stay with the ranks that remain, and ranks in
 * comm_src, comm_dst and process_group:init nodes get their new numbers.
 *
 * `counts` may be NULL. On success *out is the caller's. HALLEY_EINVAL: a rank that is
 * not there or named twice, steps in a trace that has none.
 */
halley_status halley_trace_slice(halley_trace_set **out, const halley_trace_set *set,
                                 const halley_slice_opts *opts,
                                 halley_slice_counts *counts, halley_error *err);

/*
 * Several traces of one rank, one after the other. Ids of later parts are shifted behind
 * those of earlier ones; between two parts stands a joint (a COMP node of no duration)
 * that waits for every node of the earlier part that nothing waits for, and on which
 * every node of the later part without dependencies waits. Starts of later parts are
 * shifted so that none is before the end of the part before. Metadata is that of the
 * first. n >= 1. On success *out is the caller's. HALLEY_ELIMIT: ids beyond 64 bits.
 */
halley_status halley_trace_chain(halley_trace **out, const halley_trace *const *parts,
                                 uint32_t n, halley_error *err);

/* A copy in which rank r in comm_src, comm_dst and process_group:init nodes is to[r].
 * Ranks that are not below n, or UINT32_MAX there, leave the groups; HALLEY_EINVAL: a
 * send or receive names one. */
halley_status halley_trace_renumber(halley_trace **out, const halley_trace *trace,
                                    const uint32_t *to, uint32_t n, halley_error *err);

/* ASTRA-sim's file of groups, {"1": [0, 1], …}, with rank r as to[r]; ranks that are not
 * below n, or UINT32_MAX there, are left out, and so are groups without ranks. The file
 * appears whole or not at all. */
halley_status halley_groups_renumber(const char *out_path, const char *path,
                                     const uint32_t *to, uint32_t n, halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
