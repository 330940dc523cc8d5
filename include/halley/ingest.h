/*
 * halley/ingest.h - recordings of real runs, and older workload files, as Chakra traces.
 *
 * A recording is a pair: PyTorch's execution trace (operators, shapes, parents) and the
 * Kineto trace of the same run (when everything ran, and what ran on the devices).
 */
#ifndef HALLEY_INGEST_H
#define HALLEY_INGEST_H

#include "halley/trace.h"
#include "halley/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* {0} is the default. */
typedef struct halley_link_opts {
    /* A part of an operator's own time behind its first child that lasts this long
     * becomes a node of its own, where it was; 0 = a thousandth of the recording, but
     * at least 2 us and at most 30 us. */
    uint64_t split_ns;
    /* A thread that does nothing visible for so long may be waiting for another one;
     * 0 = 100 us. */
    uint64_t quiet_ns;
    /* Of the ranks: 0 = one thread per core. */
    uint32_t n_threads;
    const halley_watch *watch; /* progress in recordings, and cancellation; NULL = none */
    /* Kernels get the classes that they have in a recording alone, and the trace what the
     * device half says as a whole: halley_kernels_count takes it then. */
    bool classes;
} halley_link_opts;

/* What was linked, guessed and dropped. Times in nanoseconds. */
typedef struct halley_link_report {
    size_t size; /* filled by the library, see error.h */
    /* What was read. */
    uint64_t n_host_nodes, n_device_events;
    uint64_t n_operators; /* operators and annotations of the device trace */
    uint64_t n_kernels, n_copies, n_sets;
    uint64_t n_other_events;     /* arrows, names, Python frames: not wanted */
    uint64_t n_quiet_calls;      /* runtime calls that neither launch nor wait */
    uint64_t n_bad_times;        /* events without a usable time, dropped */
    uint64_t n_negative;         /* durations below zero, taken as zero */
    uint64_t n_duplicate_events; /* the same event again, dropped */
    uint64_t n_duplicate_ids;    /* host nodes whose id a later one has, dropped */
    uint64_t n_no_id;            /* host nodes without an id, dropped */
    uint64_t n_unknown_keys;     /* host attributes nobody keeps */
    uint64_t n_bad_parents;      /* parents that do not exist or would be a cycle */
    char schema[64];             /* of the host trace */
    /* Host operators and when they ran. */
    uint64_t n_by_record_function, n_by_external_id, n_by_order;
    uint64_t n_other_name;          /* linked although the names differ */
    uint64_t n_unmatched_host;      /* without a time */
    uint64_t n_unmatched_operators; /* device operators that no host node names */
    /* What ran on devices. */
    uint64_t n_linked_kernels, n_linked_copies, n_linked_sets;
    uint64_t n_no_launch;      /* dropped: no call with their correlation */
    uint64_t n_no_operator;    /* dropped: launched outside every linked operator */
    uint64_t n_graph_launches; /* calls that launched more than one thing */
    /* Edges. */
    uint64_t n_program_order, n_launch, n_stream_order, n_collective_order;
    uint64_t n_event_waits, n_event_waits_guessed;
    uint64_t n_syncs, n_syncs_guessed;
    uint64_t n_hand_overs;
    uint64_t n_against_time; /* edges dropped because they point back in time */
    /* Nodes that no recording names. */
    uint64_t n_wait_nodes, n_gap_nodes, n_split_nodes;
    int64_t wait_ns, gap_ns, split_ns, device_gap_ns;
    /* Communication. */
    uint64_t n_collectives, n_sends, n_recvs;
    uint64_t n_batched;      /* of them done by kernels that do several */
    uint64_t n_no_size;      /* of unknown size or peer: kept as work of that length */
    uint64_t n_unknown_comm; /* kernels of a communication library of unknown type */
    uint64_t n_groups;
    uint64_t n_renamed_groups; /* named by text, given a number, the same on all ranks */
    /* Work. */
    uint64_t n_with_work; /* nodes that got num_ops and tensor_size */
    /* The result. */
    uint64_t n_nodes, n_data_edges, n_ctrl_edges;
    int64_t recorded_ns; /* from the first start to the last end */
    int64_t replayed_ns; /* when the result runs with recorded durations */
    /* Where recorded - replayed is, along what the replayed time consists of: time that
     * was recorded between two nodes beyond the first one's duration (negative: they
     * overlapped). These add up to the difference. */
    int64_t lost_host_ns;    /* between nodes of the host */
    int64_t lost_launch_ns;  /* from a launch to what it launched */
    int64_t lost_device_ns;  /* between nodes of devices */
    int64_t lost_wait_ns;    /* from a device to the host that waited for it */
    int64_t lost_ends_ns;    /* before the first of them and behind the last */
    int64_t clock_offset_ns; /* added to this rank's clock (several ranks) */
    /* Classes were wanted, but the device trace could not be read a second time: it came
     * through a pipe. */
    uint64_t lacks_classes;
    uint64_t room[HALLEY_ROOM - 1]; /* for members to come; 0 */
} halley_link_report;

/*
 * Link a host trace and a device trace of one rank. Without the latter (NULL) the result
 * has no times, unless the host trace is what Chakra's trace_link wrote, which has both.
 * On success *out is the caller's, to free with halley_trace_free. `report` may be NULL.
 * HALLEY_EINVAL: the two are not of the same run.
 */
halley_status halley_trace_link(halley_trace **out, halley_link_report *report,
                                const char *host_path, const char *device_path,
                                const halley_link_opts *opts, halley_error *err);

/*
 * The same for many ranks, side by side in threads. In the patterns %d stands for the
 * rank; ranks count from 0 up to the first host trace that is not there. Clocks are
 * aligned: a collective ends at the same time on all its ranks, so each rank is shifted
 * by the median of what its collectives differ from rank 0's; clock_offset_ns says by how
 * much. Times count from the earliest start of all. On success *out and *reports (one a
 * rank; free() them) are the caller's.
 */
halley_status halley_trace_link_ranks(halley_trace_set **out,
                                      halley_link_report **reports,
                                      const char *host_pattern,
                                      const char *device_pattern,
                                      const halley_link_opts *opts, halley_error *err);

/* The same for pairs of files that are named one by one, in order of their ranks.
 * device_paths NULL: there are host traces only, so nothing has a time. */
halley_status halley_trace_link_pairs(halley_trace_set **out,
                                      halley_link_report **reports,
                                      const char *const *host_paths,
                                      const char *const *device_paths, uint32_t n,
                                      const halley_link_opts *opts, halley_error *err);

/* Does the file start as PyTorch's execution traces do, alone or as Chakra's trace_link
 * writes them? halley_trace_link reads both without a device trace. */
bool halley_host_recognise(const char *path);

/* How to turn a workload file of ASTRA-sim 1.0 into traces; {0} is the default. */
typedef struct halley_text_opts {
    uint32_t n_npus;   /* 0 = 1, or the model-parallel group if the file has one */
    uint32_t n_passes; /* training steps; 0 = 1 */
    /* Byte for byte what Chakra's text converter writes, defects included: no
     * communication becomes an all-reduce of 0 bytes, nanoseconds are taken for
     * microseconds, ids run on over the NPUs. */
    bool chakra;
    double comm_scale, compute_scale; /* factors of sizes and times; 0 = 1 */
    bool no_metadata; /* groups are not declared in the traces; see halley_text_groups */
} halley_text_opts;

/* Does the file start as a workload file of ASTRA-sim 1.0 or COMET does? */
bool halley_text_recognise(const char *path);
/*
 * Its traces, one per NPU; equal ones are held once. All kinds of parallelism that
 * ASTRA-sim 1.0 has are read, and COMET's 18 columns (operations and bytes beside
 * cycles). On success *out is the caller's. Errors name file and line.
 */
halley_status halley_text_load(halley_trace_set **out, const char *path,
                               const halley_text_opts *opts, halley_error *err);
/* The groups of its traces as JSON, {"1": [0, 1], …}; the caller frees it. NULL: it has
 * none. */
halley_status halley_text_groups(char **out, const char *path,
                                 const halley_text_opts *opts, halley_error *err);

/* Does the file start as MSCCL's XML or an execution plan of MSCCL++ (JSON) does? */
bool halley_msccl_recognise(const char *path);
/*
 * A collective algorithm of MSCCL as traces of sends, receives and reductions, one a GPU,
 * for `n_bytes` of data: all that an all-reduce or all-to-all has on one GPU, all that an
 * all-gather makes, all that a reduce-scatter takes. They are what a cluster file's
 * `custom` and ASTRA-sim's `…-implementation-custom` want. On success *out is the
 * caller's. Errors name file and line, or the operation of a plan. Plans that use switch
 * channels (NVLS) are refused.
 */
halley_status halley_msccl_load(halley_trace_set **out, const char *path,
                                uint64_t n_bytes, halley_error *err);

/*
 * The process groups that the traces of a set declare, in a file as ASTRA-sim reads them:
 * {"1": [0, 1], …}. *n_groups (may be NULL) is how many; with none, no file is written.
 */
halley_status halley_groups_save(const halley_trace_set *set, const char *path,
                                 uint32_t *n_groups, halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
