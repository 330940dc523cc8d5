/* halley/trace_stats.h - statistics of a trace: nodes, work, depth, critical path. */
#ifndef HALLEY_TRACE_STATS_H
#define HALLEY_TRACE_STATS_H

#include "halley/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Collectives of one type, group and size. */
typedef struct halley_coll_stats {
    uint64_t type;      /* comm_type as written; HALLEY_COLL_UNTYPED when there is none */
    halley_bytes group; /* pg_name; "" = all ranks (also when absent or "0") */
    uint64_t size_bytes; /* comm_size; HALLEY_SIZE_NONE, HALLEY_SIZE_OTHER */
    uint64_t n;          /* nodes */
} halley_coll_stats;
#define HALLEY_COLL_UNTYPED UINT64_MAX
#define HALLEY_SIZE_NONE UINT64_MAX        /* no usable comm_size */
#define HALLEY_SIZE_OTHER (UINT64_MAX - 1) /* further sizes, beyond 65536 rows */

/* An attribute by name and kind. */
typedef struct halley_attr_stats {
    halley_bytes name; /* "(others)" beyond 65536 rows */
    halley_attr_kind kind;
    uint64_t n; /* number of occurrences; a node may have it several times */
} halley_attr_stats;

/*
 * Statistics of one trace, or the sum over the ranks of a set (in which equal ranks count
 * separately). Texts are lent by the traces. Times are microseconds, as in the file.
 * Nodes in dependency cycles, or that depend on one, do not count for depth, width and
 * critical path. Dangling dependencies count as satisfied.
 */
typedef struct halley_trace_stats {
    size_t size; /* filled by the library, see error.h */
    uint64_t n_nodes;
    uint64_t n_by_type[HALLEY_N_NODE_TYPES]; /* known types */
    uint64_t n_other_type;                   /* types the schema does not know */
    uint64_t time_by_type_us[HALLEY_N_NODE_TYPES];
    uint64_t n_data_deps, n_ctrl_deps;
    uint64_t n_dangling; /* dependencies on ids that no node has */
    uint64_t n_cyclic;   /* nodes in cycles, or that depend on one */

    uint64_t n_cpu, n_device; /* nodes by is_cpu_op (absent: device), without METADATA */
    uint64_t cpu_us, device_us;
    uint64_t first_start_us, last_end_us; /* both 0 when no node has a start */
    double flops;                         /* sum of num_ops over COMP */
    double tensor_bytes;                  /* sum of tensor_size over COMP */
    double load_bytes, store_bytes; /* sum of tensor_size over MEM_LOAD, MEM_STORE */
    double coll_bytes, send_bytes, recv_bytes; /* sum of comm_size */

    uint64_t depth; /* number of nodes in the longest chain */
    uint64_t width; /* number of nodes in the largest level, by longest-path depth */
    /* The chain with the longest total duration. For a set: on the rank where it is
     * longest. */
    uint64_t critical_us;
    uint32_t critical_rank;
    uint32_t *critical_path; /* node indexes, first to last */
    uint32_t n_critical;

    halley_coll_stats *colls; /* by type, group (bytewise), size */
    uint32_t n_colls;
    halley_attr_stats *attrs; /* by name (bytewise), kind */
    uint32_t n_attrs;
} halley_trace_stats;

/* The time is linear in nodes, edges and attributes. On success the caller owns *out and
 * frees it with halley_trace_stats_free before the trace. */
halley_status halley_trace_stats_new(halley_trace_stats **out, const halley_trace *trace,
                                     halley_error *err);
void halley_trace_stats_free(halley_trace_stats *stats); /* NULL is fine */

/* Statistics of a set: the sum, and each distinct trace once. */
typedef struct halley_set_stats {
    size_t size; /* filled by the library, see error.h */
    halley_trace_stats *total;
    uint32_t n_ranks, n_distinct;
    halley_trace_stats **distinct; /* n_distinct, in order of their first rank */
    uint32_t *first_rank;          /* n_distinct: lowest rank with that trace */
    uint32_t *which;               /* n_ranks: index into distinct */
} halley_set_stats;

/* n_threads 0 = one per core. On success the caller owns *out. */
halley_status halley_set_stats_new(halley_set_stats **out, const halley_trace_set *set,
                                   uint32_t n_threads, halley_error *err);
void halley_set_stats_free(halley_set_stats *stats); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
