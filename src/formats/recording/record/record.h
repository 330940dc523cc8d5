/*
 * recording/record/record.h - one rank's profiler recording, independent of the profiler.
 *
 * Every reader (Kineto, nsys, xplane, rocprofv3, rocpd) fills this structure, and
 * everything after it uses only this structure. It has threads with host events, device
 * rows (streams) with the work that ran on them, descriptions of collectives, groups and
 * devices. Times are nanoseconds since the origin of the file, which is base_ns after
 * 1970.
 *
 * To add a format: a reader that fills a record, a row in recognise.c, a fuzz target with
 * seeds, a line in doc/reference/recordings.md.
 */
#ifndef RECORDING_RECORD_RECORD_H
#define RECORDING_RECORD_RECORD_H

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "recording/job_info.h"

#include <assert.h>

#define REC_NONE UINT32_MAX
#define REC_NO_ID UINT64_MAX

typedef enum rec_host_kind {
    REC_OP,         /* an operator of the framework */
    REC_ANNOTATION, /* a range named by the program or the framework */
    REC_CALL        /* a call of the device runtime or driver */
} rec_host_kind;

/* An event on a host thread. It has 32 bytes, because there are millions. */
typedef struct rec_host {
    int64_t begin_ns, end_ns;
    union {
        uint64_t correlation; /* REC_CALL; REC_NO_ID = none */
        uint32_t detail;      /* others: in record.details; REC_NONE = none */
    };
    uint32_t name : 30; /* interned */
    uint32_t kind : 2;  /* rec_host_kind */
    union {
        uint32_t thread; /* in record.threads, while reading */
        uint32_t parent; /* innermost event around it, after rec_nest; REC_NONE */
    };
} rec_host;
enum { REC_MAX_NAMES = 1 << 30 };

/* Details that only some host events have. Texts are interned, REC_NONE = absent. */
typedef struct rec_detail {
    uint32_t dims, types; /* of the inputs, as Python lists */
    uint32_t comm;        /* in record.comms */
    int32_t stream;       /* a Triton operator's stream, for HTA; -1 = none */
    uint64_t sequence;    /* autograd's number, equal in forward and backward */
    uint64_t forward_tid; /* backward operators: the thread that ran forward */
} rec_detail;

/* Description of a collective by an operator or a kernel. Numbers: REC_NO_ID = absent. */
typedef struct rec_comm {
    uint32_t collective, dtype, pg_name, pg_desc, ranks, in_split, out_split;
    uint64_t in_elements, out_elements, group_size, source, destination;
    uint64_t seq, rank_start, rank_stride;
} rec_comm;

typedef enum rec_work_kind { REC_KERNEL, REC_COPY, REC_SET } rec_work_kind;

/* An event on a device. */
typedef struct rec_work {
    int64_t begin_ns, end_ns;
    uint64_t correlation; /* REC_NO_ID = none */
    uint64_t n_bytes;     /* of copies and sets; REC_NO_ID = not known */
    uint32_t name;
    uint32_t row;      /* in record.rows */
    uint32_t comm;     /* in record.comms; REC_NONE */
    uint32_t launch;   /* host event that launched it, after rec_find_launches */
    uint32_t op;       /* nearest operator or range around the launch; REC_NONE */
    uint32_t class_id; /* after rec_classify */
    uint32_t hint;     /* xplane: the HLO operation, or the class by its category */
    uint32_t seq;
    uint16_t kind;      /* rec_work_kind */
    bool is_sync;       /* MTIA's event_wait and event_record: no work */
    bool has_stream;    /* the event itself names its stream (for HTA) */
    bool hint_is_class; /* `hint` names a class */
} rec_work;

typedef struct rec_row {
    uint64_t device;
    int64_t stream;
    uint32_t label; /* text when the stream has no number; REC_NONE */
} rec_row;

typedef struct rec_thread {
    uint32_t label; /* "pid tid" in record.labels */
    uint64_t pid, tid;
    uint32_t first, n; /* its events in record.hosts, once sorted */
} rec_thread;

typedef enum rec_sync_kind {
    REC_SYNC_CONTEXT,
    REC_SYNC_STREAM,
    REC_SYNC_EVENT,      /* the host waits for an event */
    REC_SYNC_STREAM_WAIT /* a stream waits for an event */
} rec_sync_kind;

/* A wait that the profiler itself recorded. */
typedef struct rec_sync {
    int64_t begin_ns, end_ns;
    uint64_t correlation;
    uint64_t record;           /* correlation of the event's record call; REC_NO_ID */
    int64_t stream, waited_on; /* -1 = not given */
    uint32_t name;
    rec_sync_kind kind;
} rec_sync;

/* A range that marks a training step. */
typedef struct rec_step {
    int64_t begin_ns, end_ns;
    uint32_t name;
    uint64_t number;
} rec_step;

typedef enum rec_format {
    REC_KINETO,
    REC_NSYS,
    REC_XPLANE,
    REC_ROCPROF,
    REC_ROCPROF_CSV,
    REC_ROCPD,
    REC_N_FORMATS
} rec_format;
extern const char *const rec_format_names[REC_N_FORMATS];

typedef struct record {
    rec_format format;
    intern texts, labels; /* labels: "pid tid" of threads */
    ARRAY(rec_thread) threads;
    ARRAY(rec_host) hosts;
    ARRAY(rec_detail) details;
    ARRAY(rec_comm) comms;
    ARRAY(rec_row) rows;
    ARRAY(rec_work) works; /* by begin, then end, once sorted */
    ARRAY(rec_sync) syncs;
    job_info job;
    ARRAY(rec_step) steps;
    uint32_t step_period; /* kernels per step, if no step is marked; 0 = marked */
    map64 row_of;         /* while reading */
    int64_t base_ns;
    uint32_t device_name; /* interned; REC_NONE = unknown */
    uint32_t schema;      /* of the file, interned; REC_NONE */
    uint64_t pid;         /* of the process; REC_NO_ID */
    /* Events that were read but not kept. */
    uint64_t n_events, n_other, n_bad_times, n_duplicates;
    uint64_t n_costly; /* names for which the search of a rule was ended by a limit */
    uint64_t n_negative, first_negative; /* number of the first such event, from 1 */
    int64_t negative_ns;                 /* its duration */
    uint64_t n_counter_ranges;
    uint64_t n_double_launches, double_launch; /* correlations with two launching calls */
    uint64_t n_crossing;                       /* host events clipped by more than 1 us */
    /* For HTA: its steps are ranges of any category. */
    intern step_names;
    int64_t last_step_ns;
    int64_t first_event_ns; /* begin of the first event of the file */
    bool has_first_event;
    uint32_t n_devices; /* in the file this rank was read from */
    bool is_partial;    /* the file is truncated; complete events were read */
    /* Remarks of readers: sentences, each terminated by NUL. */
    strbuf remarks;
} record;

void rec_init(record *r);
void rec_fini(record *r);
void rec_remark(record *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline str rec_text(const record *r, uint32_t id)
{
    return id == REC_NONE ? STR("") : intern_text(&r->texts, id);
}

/* The details of a host event; NULL = none. */
static inline const rec_detail *rec_host_detail(const record *r, const rec_host *h)
{
    return h->kind == REC_CALL || h->detail == REC_NONE ? NULL
                                                        : &r->details.at[h->detail];
}
/* The thread of host event `i`, once events are sorted. */
uint32_t rec_host_thread(const record *r, uint32_t i);
/* Add a host event. The name or thread may be REC_NONE because memory ran out. False: no
 * memory. */
bool rec_add_host(record *r, rec_host event, uint32_t name, uint32_t thread);

/* Find or add the row of a device's stream. REC_NONE: no memory. */
uint32_t rec_add_row(record *r, uint64_t device, int64_t stream, str label);
/* Add a work. What later passes find (launch, op, class) is set to unknown. False: no
 * memory, also if that left the name or the row REC_NONE. */
bool rec_add_work(record *r, const rec_work *work);
/* Find or add the thread of a process. REC_NONE: no memory. */
uint32_t rec_add_thread(record *r, str pid, str tid);

/* After all events are added: sort them, nest host events, find launches and steps. */
halley_status rec_finish(record *r, halley_error *err);
/* The parts of rec_finish. False: no memory. */
bool rec_find_steps(record *r);
/* The index of the step at this time; REC_NONE = none. */
uint32_t rec_step_at(const record *r, int64_t at_ns);
/* Is this a call that only waits for a device, or a copy that blocks? */
bool rec_call_blocks(str name);
bool rec_is_graph_launch(str name);

#endif
