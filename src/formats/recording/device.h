/*
 * recording/device.h - a Kineto (Chrome) trace: the device half of a recording.
 *
 * Operators, annotations, runtime calls that launch or wait, and device work are kept;
 * everything else is counted. Times are nanoseconds since the origin that the file
 * defines (baseTimeNanoseconds, otherwise 0), exact to the nanosecond.
 */
#ifndef RECORDING_DEVICE_H
#define RECORDING_DEVICE_H

#include "base/array.h"
#include "base/hash.h"
#include "recording/job_info.h"
#include "recording/pull.h"

#define DEVICE_NONE UINT32_MAX

typedef enum device_kind {
    DEVICE_OP,         /* cpu_op */
    DEVICE_ANNOTATION, /* user_annotation */
    DEVICE_CALL,       /* runtime or driver call that may launch something */
    DEVICE_SYNC_CALL,  /* runtime call that waits for the device */
    DEVICE_RECORD,     /* cudaEventRecord */
    DEVICE_WAIT,       /* cudaStreamWaitEvent */
    DEVICE_KERNEL,
    DEVICE_COPY,
    DEVICE_SET,
    DEVICE_SYNC, /* cuda_sync: what a wait waited for */
    DEVICE_N_KINDS,
    DEVICE_QUIET /* calls that neither launch nor wait: not kept */
} device_kind;

static inline bool device_is_op(device_kind kind)
{
    return kind == DEVICE_OP || kind == DEVICE_ANNOTATION;
}
static inline bool device_is_gpu(device_kind kind)
{
    return kind == DEVICE_KERNEL || kind == DEVICE_COPY || kind == DEVICE_SET;
}

typedef struct device_event {
    int64_t start_ns, duration_ns;
    uint64_t external; /* "External id"; PULL_NONE = absent */
    uint64_t key;      /* operators: record function id; others: correlation */
    uint32_t name;     /* interned */
    uint32_t place;    /* host side: index of the thread; device side: of the stream */
    uint32_t extra;    /* index into comms, syncs or bytes by kind; DEVICE_NONE */
    device_kind kind;
} device_event;

/* Description of a collective in newer recordings. Texts are interned or DEVICE_NONE;
 * numbers are PULL_NONE when absent. */
typedef struct device_comm {
    uint32_t collective, dtype, pg_name, pg_desc, ranks;
    uint64_t in_elements, out_elements, group_size, source, destination;
} device_comm;

typedef enum device_wait {
    DEVICE_WAIT_CONTEXT,
    DEVICE_WAIT_STREAM,
    DEVICE_WAIT_EVENT,       /* the host waits for an event */
    DEVICE_WAIT_STREAM_EVENT /* a stream waits for an event */
} device_wait;

typedef struct device_sync {
    device_wait kind;
    uint64_t record; /* correlation of the cudaEventRecord waited for; PULL_NONE */
    uint64_t stream; /* waited for, as numbered; PULL_NONE = not known */
    uint64_t waiter; /* the stream that waits, for STREAM_EVENT */
    uint64_t device;
} device_sync;

typedef struct device_stream {
    uint64_t device, stream;
} device_stream;

typedef struct device_trace {
    intern texts;
    ARRAY(device_event)
    events; /* by start, then longest first, kind, id, then as in file */
    ARRAY(device_comm) comms;
    ARRAY(device_sync) syncs;
    ARRAY(uint64_t) bytes; /* of copies and sets */
    intern threads;        /* "pid tid"; their numbers are in order of time once read */
    ARRAY(device_stream) streams;
    map64 stream_of; /* while reading */
    job_info job;
    int64_t base_ns;
    uint64_t n[DEVICE_N_KINDS];
    uint64_t n_events;     /* all in the file */
    uint64_t n_other;      /* arrows, metadata, Python frames: not kept */
    uint64_t n_quiet;      /* runtime calls that neither launch nor wait */
    uint64_t n_bad_times;  /* dropped: no valid time */
    uint64_t n_negative;   /* durations below zero, taken as zero */
    uint64_t n_duplicates; /* the same event several times in a row, kept once */
} device_trace;

/* The description of an event's communication; NULL = none. A copy may have the name of a
 * kernel. */
static inline const device_comm *device_comm_of(const device_trace *d,
                                                const device_event *event)
{
    const bool other = event->kind == DEVICE_SYNC || event->kind == DEVICE_COPY ||
                       event->kind == DEVICE_SET;
    return other || event->extra == DEVICE_NONE ? NULL : &d->comms.at[event->extra];
}

/* Read the file. `device` is {0} before; call device_fini after, also on failure. */
halley_status device_read(device_trace *device, const char *path, halley_error *err);
halley_status device_read_stream(device_trace *device, file_stream *file,
                                 const char *path, halley_error *err);
/* After all events are added: sort events, and number threads and streams. False: no
 * memory. */
bool device_finish(device_trace *device);
void device_fini(device_trace *device);

/* What a runtime or driver call does, from its name: CALL, SYNC_CALL, RECORD, WAIT,
 * QUIET. */
device_kind device_call_kind(str name);

#endif
