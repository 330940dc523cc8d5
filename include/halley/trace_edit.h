/* halley/trace_edit.h - make traces from other traces: repair, slice, merge. */
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
    uint64_t room[HALLEY_ROOM]; /* reserved for new members; 0 */
} halley_fix_counts;

/* Make a copy without dangling dependencies and, if drop_self, without dependencies of a
 * node on itself. Everything else is unchanged. *out is NULL if there is nothing to drop;
 * else the caller owns it. `counts` is written on success. */
halley_status halley_trace_fix(halley_trace **out, const halley_trace *trace,
                               bool drop_self, halley_fix_counts *counts,
                               halley_error *err);

typedef struct halley_id_range {
    uint64_t first, last; /* both included */
} halley_id_range;

/*
 * What to keep. A node must pass every test that is given. {0} keeps everything.
 *
 * Steps: nodes with an integer attribute `step_attr` belong to the step of that number.
 * If no node of a trace has it, nodes named ProfilerStep#N divide the trace into steps. A
 * node then belongs to the step of the last such node whose id is not greater than its
 * own. Nodes before the first one belong to no step.
 *
 * Time: a node's time is its start. If no node of a trace has a start, it is the earliest
 * time that dependencies and durations allow.
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
    bool cut;                /* drop dependencies on removed nodes, do not bridge them */
    bool keep_unmatched;     /* keep communication whose partner is removed */
    uint32_t n_threads;      /* 0 = one per core */
} halley_slice_opts;

typedef struct halley_slice_counts {
    size_t size;                   /* filled by the library, see error.h */
    uint64_t n_kept, n_removed;    /* nodes, over all kept ranks */
    uint64_t n_bridged;            /* dependencies made through removed nodes */
    uint64_t n_joints;             /* nodes that replace removed ones; included in
                                      n_kept */
    uint64_t n_cut;                /* dependencies dropped, with `cut` or in a cycle */
    uint64_t n_p2p, n_collectives; /* removed because a partner is; included in
                                      n_removed */
    uint64_t room[HALLEY_ROOM];    /* reserved for new members; 0 */
} halley_slice_counts;

/*
 * Extract a part of a set. If a removed node had dependants, they now depend on the
 * nearest kept nodes that it depended on. If these are more than 16, the removed node
 * becomes a joint: a COMP node without duration that keeps its id and is named "joint".
 * This limits the number of dependencies.
 *
 * Communication stays matched. The k-th send of (source, destination, tag, size) belongs
 * to the k-th receive. The k-th collective of a group (by ids) belongs to the k-th on
 * each other rank. If one of them is removed, all are. Groups lose the ranks that are
 * left out: their collectives stay on the remaining ranks. Ranks in comm_src, comm_dst
 * and process_group:init nodes get their new numbers.
 *
 * `counts` may be NULL. On success the caller owns *out. HALLEY_EINVAL: a rank does not
 * exist or is named twice, or steps are requested of a trace without steps.
 */
halley_status halley_trace_slice(halley_trace_set **out, const halley_trace_set *set,
                                 const halley_slice_opts *opts,
                                 halley_slice_counts *counts, halley_error *err);

/*
 * Concatenate several traces of one rank. Ids of later parts are shifted to follow those
 * of earlier ones. A joint (a COMP node without duration) is inserted between two parts.
 * It depends on every node of the earlier part without dependants. Every node of the
 * later part without dependencies depends on it.
 *
 * Starts of later parts are shifted so that none is before the end of the previous part.
 * Metadata is that of the first part. n >= 1. On success the caller owns *out.
 * HALLEY_ELIMIT: ids beyond 64 bits.
 */
halley_status halley_trace_chain(halley_trace **out, const halley_trace *const *parts,
                                 uint32_t n, halley_error *err);

/* Make a copy in which rank r in comm_src, comm_dst and process_group:init nodes is
 * to[r]. Ranks >= n, or with to[r] == UINT32_MAX, are removed from the groups.
 * HALLEY_EINVAL: a send or receive names such a rank. */
halley_status halley_trace_renumber(halley_trace **out, const halley_trace *trace,
                                    const uint32_t *to, uint32_t n, halley_error *err);

/* Write a copy of ASTRA-sim's group file, {"1": [0, 1], …}, with rank r as to[r]. Ranks
 * >= n, or with to[r] == UINT32_MAX, are left out, and so are groups without ranks. The
 * file is written completely or not at all. */
halley_status halley_groups_renumber(const char *out_path, const char *path,
                                     const uint32_t *to, uint32_t n, halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
