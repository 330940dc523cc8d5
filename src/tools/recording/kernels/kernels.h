/*
 * recording/kernels/kernels.h - statistics of a linked recording; see halley/recording.h.
 *
 * Everything is read from the trace alone. Classes, launches and times are attributes of
 * its nodes; facts about the recording as a whole are JSON in its metadata.
 */
#ifndef RECORDING_KERNELS_KERNELS_H
#define RECORDING_KERNELS_KERNELS_H

#include "base/arena.h"
#include "base/hash.h"
#include "halley/recording.h"
#include "halley/sim.h"
#include "recording/record/spans.h"

/* One device event of the trace. */
typedef struct kernel_event {
    int64_t begin_ns, end_ns;
    int64_t launch_ns, call_ns; /* -1 = launched by no recorded call */
    int64_t device, stream;
    uint32_t rank, node, class_id;
    double flops, bytes; /* -1 = not known */
    bool from_graph, is_comm, is_sync;
    bool is_part; /* a further piece of an event before it */
    bool
        is_copy; /* between memories, or by a kernel that only moves data on the device */
    bool is_host_copy;
} kernel_event;

typedef struct kernel_counter {
    halley_kernels k; /* first: what the caller sees */
    arena memory;     /* holds its texts and lists */
    const halley_trace_set *set;
    uint32_t n_ranks;
    intern classes;
    ARRAY(kernel_event) events; /* by begin */
    rec_spans blocking;         /* blocking calls of the host */
    rec_spans loading;          /* the host waits for its data loader */
    halley_result *replayed;    /* when nodes began, if no start was recorded; or NULL */
} kernel_counter;

/* Copy a text into the arena. Returns "" when memory runs out. */
const char *kernels_keep_text(kernel_counter *c, str text);
/* Read the facts of all ranks: those of the first rank, and the warnings of all. */
halley_status kernels_read_facts(kernel_counter *c, halley_error *err);
/* Leave out rates above the device's peaks. Call it after the facts and events are read.
 */
halley_status kernels_check_rates(kernel_counter *c, halley_error *err);
halley_status kernels_count_idle(kernel_counter *c, halley_error *err);
halley_status kernels_find_causes(kernel_counter *c, halley_error *err);
halley_status kernels_list_top(kernel_counter *c, halley_error *err);
halley_status kernels_judge(kernel_counter *c, halley_error *err);

#endif
