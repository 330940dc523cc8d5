/*
 * halley/ingest.h - convert recordings of real runs, and older workload files, to Chakra
 * traces.
 *
 * A recording is a pair of files from the same run. PyTorch's execution trace has
 * operators, shapes and parents. The Kineto trace has start times, durations and what ran
 * on the devices.
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
    /* Self time of an operator after its first child becomes a separate node if it lasts
     * at least this long. The node keeps its place in time. 0 = a thousandth of the
     * recording, but at least 2 us and at most 30 us. */
    uint64_t split_ns;
    /* A thread that does nothing visible for this long may be waiting for another thread;
     * 0 = 100 us. */
    uint64_t quiet_ns;
    /* Threads that link ranks; 0 = one per core. */
    uint32_t n_threads;
    const halley_watch *watch; /* progress in recordings, and cancellation; NULL = none */
    /* Give kernels the classes that they get when a device recording is linked alone, and
     * store the facts about the whole device trace. halley_kernels_count then accepts the
     * result. */
    bool classes;
} halley_link_opts;

/* What was linked, guessed and dropped. Times are in nanoseconds. */
typedef struct halley_link_report {
    size_t size; /* filled by the library, see error.h */
    /* What was read. */
    uint64_t n_host_nodes, n_device_events;
    uint64_t n_operators; /* operators and annotations of the device trace */
    uint64_t n_kernels, n_copies, n_sets;
    uint64_t n_other_events;     /* arrows, names, Python frames: not used */
    uint64_t n_quiet_calls;      /* runtime calls that neither launch nor wait */
    uint64_t n_bad_times;        /* events without a usable time, dropped */
    uint64_t n_negative;         /* durations below zero, taken as zero */
    uint64_t n_duplicate_events; /* the same event again, dropped */
    uint64_t n_duplicate_ids;    /* host nodes whose id a later node has, dropped */
    uint64_t n_no_id;            /* host nodes without an id, dropped */
    uint64_t n_unknown_keys;     /* host attributes that are not kept */
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
    /* Nodes that were added and are in no recording. */
    uint64_t n_wait_nodes, n_gap_nodes, n_split_nodes;
    int64_t wait_ns, gap_ns, split_ns, device_gap_ns;
    /* Communication. */
    uint64_t n_collectives, n_sends, n_recvs;
    uint64_t n_batched; /* of them done by kernels that do several */
    uint64_t n_no_size; /* size or peer unknown: kept as work of the recorded length */
    uint64_t n_unknown_comm; /* kernels of a communication library of unknown type */
    uint64_t n_groups;
    uint64_t n_renamed_groups; /* named by text; replaced by a number that is the same on
                                  all ranks */
    /* Work. */
    uint64_t n_with_work; /* nodes that got num_ops and tensor_size */
    /* The result. */
    uint64_t n_nodes, n_data_edges, n_ctrl_edges;
    int64_t recorded_ns; /* from the first start to the last end */
    int64_t replayed_ns; /* when the result runs with recorded durations */
    /*
     * Where recorded_ns - replayed_ns comes from. Along the chain of nodes that sets the
     * replayed time, each term is recorded time between two nodes beyond the first one's
     * duration. It is negative where they overlapped. The terms add up to the difference.
     */
    int64_t lost_host_ns;    /* between nodes of the host */
    int64_t lost_launch_ns;  /* from a launch to what it launched */
    int64_t lost_device_ns;  /* between nodes of devices */
    int64_t lost_wait_ns;    /* from a device to the host that waited for it */
    int64_t lost_ends_ns;    /* before the first of them and after the last */
    int64_t clock_offset_ns; /* added to this rank's clock (several ranks) */
    /* Classes were requested, but the device trace could not be read a second time
     * because it came through a pipe. */
    uint64_t lacks_classes;
    uint64_t room[HALLEY_ROOM - 1]; /* reserved for new members; 0 */
} halley_link_report;

/*
 * Link a host trace and a device trace of one rank. Without a device trace (NULL) the
 * result has no times. The exception is a host trace written by Chakra's trace_link,
 * which has both. On success the caller owns *out and frees it with halley_trace_free.
 * `report` may be NULL. HALLEY_EINVAL: the two traces are from different runs.
 */
halley_status halley_trace_link(halley_trace **out, halley_link_report *report,
                                const char *host_path, const char *device_path,
                                const halley_link_opts *opts, halley_error *err);

/*
 * The same for many ranks, in parallel threads. %d in the patterns is the rank. Ranks
 * count from 0 up to the first host trace that does not exist.
 *
 * Clocks are aligned, because a collective ends at the same time on all its ranks. Each
 * rank is shifted by the median difference of its collectives' ends from rank 0's.
 * clock_offset_ns holds the shift. Times count from the earliest start of all ranks. On
 * success the caller owns *out and *reports (one per rank; free() them).
 */
halley_status halley_trace_link_ranks(halley_trace_set **out,
                                      halley_link_report **reports,
                                      const char *host_pattern,
                                      const char *device_pattern,
                                      const halley_link_opts *opts, halley_error *err);

/* The same for pairs of files that are listed one by one, in order of their ranks. If
 * device_paths is NULL there are only host traces, so nothing has a time. */
halley_status halley_trace_link_pairs(halley_trace_set **out,
                                      halley_link_report **reports,
                                      const char *const *host_paths,
                                      const char *const *device_paths, uint32_t n,
                                      const halley_link_opts *opts, halley_error *err);

/* True if the file starts like a PyTorch execution trace, plain or as written by Chakra's
 * trace_link. halley_trace_link reads both without a device trace. */
bool halley_host_recognise(const char *path);

/* How to turn a workload file of ASTRA-sim 1.0 into traces; {0} is the default. */
typedef struct halley_text_opts {
    uint32_t n_npus;   /* 0 = 1, or the model-parallel group if the file has one */
    uint32_t n_passes; /* training steps; 0 = 1 */
    /* Write byte for byte what Chakra's text converter writes, including its defects.
     * Missing communication becomes an all-reduce of 0 bytes, nanoseconds are used as
     * microseconds, and ids continue across NPUs. */
    bool chakra;
    double comm_scale, compute_scale; /* factors of sizes and times; 0 = 1 */
    bool no_metadata; /* groups are not declared in the traces; see halley_text_groups */
} halley_text_opts;

/* True if the file starts like a workload file of ASTRA-sim 1.0 or COMET. */
bool halley_text_recognise(const char *path);
/*
 * Load its traces, one per NPU; equal traces are stored once. All types of parallelism of
 * ASTRA-sim 1.0 are supported. COMET's 18 columns are supported, too: they give
 * operations and bytes in addition to cycles. On success the caller owns *out. Errors
 * name file and line.
 */
halley_status halley_text_load(halley_trace_set **out, const char *path,
                               const halley_text_opts *opts, halley_error *err);
/* The groups of its traces as JSON, {"1": [0, 1], …}; the caller frees it. NULL: the file
 * has no groups. */
halley_status halley_text_groups(char **out, const char *path,
                                 const halley_text_opts *opts, halley_error *err);

/* True if the file starts like MSCCL's XML or an execution plan of MSCCL++ (JSON). */
bool halley_msccl_recognise(const char *path);
/*
 * Convert a collective algorithm of MSCCL to traces of sends, receives and reductions,
 * one per GPU. `n_bytes` is the buffer size: the buffer of one GPU for all-reduce and
 * all-to-all, the output for all-gather, the input for reduce-scatter. A cluster file's
 * `custom` and ASTRA-sim's `…-implementation-custom` accept such traces.
 *
 * On success the caller owns *out. Errors name file and line, or the operation of a plan.
 * Plans that use switch channels (NVLS) are refused.
 */
halley_status halley_msccl_load(halley_trace_set **out, const char *path,
                                uint64_t n_bytes, halley_error *err);

/* Write the process groups that the traces of a set declare, in ASTRA-sim's format: {"1":
 * [0, 1], …}. *n_groups (may be NULL) is their number. If there are none, no file is
 * written. */
halley_status halley_groups_save(const halley_trace_set *set, const char *path,
                                 uint32_t *n_groups, halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
