/*
 * halley/recording.h - read recordings of profilers as Chakra traces, and analyse them.
 *
 * A recording is a profiler's output for one or more ranks of a run. Supported are Kineto
 * JSON of PyTorch, nsys SQLite exports, xplane.pb of JAX or TensorFlow, and JSON or CSV
 * of rocprofv3. A recording needs no execution trace next to it.
 */
#ifndef HALLEY_RECORDING_H
#define HALLEY_RECORDING_H

#include "halley/ingest.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a file is, by its content. */
typedef enum halley_file_kind {
    HALLEY_FILE_UNKNOWN,
    HALLEY_FILE_RECORDING,       /* of a profiler: halley_recordings_link reads it */
    HALLEY_FILE_EXECUTION_TRACE, /* PyTorch's: halley_trace_link reads it */
    HALLEY_FILE_OTHER            /* something else that is known */
} halley_file_kind;
halley_file_kind halley_file_recognise(const char *path);
/* Describe a file that neither function reads, and name the command that takes it; NULL =
 * not known. `text` holds the answer. */
const char *halley_file_describe(const char *path, char *text, size_t size);

/* The output path of one of n_ranks ranks; *path is lent until the link ends. It is
 * called for one rank after the other, for rank 0 last. */
typedef halley_status halley_rank_path(const char **path, void *context, uint32_t rank,
                                       uint32_t n_ranks, halley_error *err);

/* {0} is the default. */
typedef struct halley_recording_opts {
    const char *rules;         /* file of kernel rules that override the built-in ones */
    const char *recorded_on;   /* the device, if the recording does not name it */
    uint64_t pid;              /* nsys: only this process; 0 = all, each is a rank */
    bool partial;              /* accept a truncated file and use its complete events */
    uint32_t n_threads;        /* of the files; 0 = one per core */
    const halley_watch *watch; /* progress in files, and cancellation; NULL = none */
    /* If set, every rank is written to a file (.et, or .et.gz by its name) as soon as it
     * is made. The set then holds only the metadata and groups of the traces, not their
     * other nodes. This needs a quarter of the memory. */
    halley_rank_path *save_as;
    void *save_context;
} halley_recording_opts;

/*
 * Link the recordings of one run, each of one or more ranks. Rank numbers come from the
 * recordings, else from the last number in the files' names. A missing rank between
 * others is an error that names it. Clocks are aligned by collectives. On success the
 * caller owns *out and *reports (one per rank; free() them).
 */
halley_status halley_recordings_link(halley_trace_set **out, halley_link_report **reports,
                                     const char *const *paths, size_t n_paths,
                                     const halley_recording_opts *opts,
                                     halley_error *err);

/* A class of kernels. */
typedef struct halley_kernel_class {
    const char *name;
    uint64_t n;
    double s, share;         /* of the device time */
    double flops, bytes;     /* of the kernels whose shapes are known; 0 = none */
    double flops_s, bytes_s; /* the time of these kernels */
} halley_kernel_class;

/* All runs of the kernels with one name. */
typedef struct halley_kernel_row {
    const char *name, *class_name, *operator_name, *shapes; /* "" = not known */
    uint64_t n;
    double s;
} halley_kernel_row;

typedef struct halley_step_row {
    const char *name;
    int64_t number;
    double s;               /* of its range on the host */
    uint64_t device_events; /* launched in it */
    double device_s;        /* of these */
    double tail_s;          /* how long device work goes on after its end */
} halley_step_row;

/* Idle time of the devices, by the cause that ended it. */
typedef struct halley_idle {
    double s, host, communication, synchronisation, launch_latency, nothing;
} halley_idle;

/* The evidence for causes of lost time. */
typedef struct halley_causes {
    double mean_queue; /* launches that wait for the device */
    double median_kernel_s, median_call_s;
    double
        shorter_than_call; /* share of kernels that are shorter than their launch call */
    double loading_share;  /* of the span: the host waits for its data loader */
    double loading_idle;   /* share of that time in which the device is idle */
    double layout_share;   /* of device time: kernels that only change a layout */
} halley_causes;

/* Analysis of a linked recording. Texts are lent until it is freed. */
typedef struct halley_kernels {
    size_t size;                        /* filled by the library, see error.h */
    const char *kind, *device, *schema; /* "" = not known */
    int64_t rank, world;                /* -1 = not said */
    uint64_t device_events, sync_events, launch_in_window, from_graphs;
    uint32_t n_devices, n_streams;
    double device_s, span_s, busy_s;
    halley_kernel_class *classes;
    size_t n_classes;
    halley_kernel_row *top; /* longest first */
    size_t n_top;
    halley_step_row *steps;
    size_t n_steps;
    halley_idle idle;
    double comm_busy_s, overlap, exposed_comm_s, copies_alone_s;
    const char *exposed_class; /* the communication that is exposed most; "" */
    uint64_t n_launches;
    double mean_call_s, mean_to_device_s;
    double recorded_s, replayed_s;
    double late_share; /* share of the window: lags above 30 us without a known cause */
    const char **warnings;
    size_t n_warnings;
    const char *verdict;
    const char *facts; /* JSON of the recording: collectives_host, groups, hta; "{}" */
    uint32_t n_ranks;
    halley_causes causes;
} halley_kernels;

/* Count the device work of a linked recording, over all ranks; the steps are those of
 * rank 0. HALLEY_EINVAL: the traces were not linked from a profiler's recording. */
halley_status halley_kernels_count(halley_kernels **out, const halley_trace_set *set,
                                   halley_error *err);
void halley_kernels_free(halley_kernels *kernels);

#ifdef __cplusplus
}
#endif
#endif
