/*
 * Count the device work of a linked recording: events, classes, steps, launches.
 */
#include "recording/kernels/kernels.h"

#include "base/error.h"
#include "recording/record/record.h"
#include "trace/core/slots.h"

#include <stdlib.h>
#include <string.h>

enum {
    SLOT_CLASS,
    SLOT_BEGIN,
    SLOT_DURATION,
    SLOT_INCLUSIVE,
    SLOT_LAUNCH,
    SLOT_CALL,
    SLOT_GRAPH,
    SLOT_DEVICE,
    SLOT_STREAM,
    SLOT_OPS,
    SLOT_BYTES,
    SLOT_PART,
    N_SLOTS
};
static const char *const slot_names[N_SLOTS] = {
    [SLOT_CLASS] = HALLEY_ATTR_NAME_KERNEL_CLASS,
    [SLOT_BEGIN] = HALLEY_ATTR_NAME_START_NS,
    [SLOT_DURATION] = HALLEY_ATTR_NAME_DURATION_NS,
    [SLOT_INCLUSIVE] = HALLEY_ATTR_NAME_INCLUSIVE_NS,
    [SLOT_LAUNCH] = HALLEY_ATTR_NAME_LAUNCH_NS,
    [SLOT_CALL] = HALLEY_ATTR_NAME_CALL_NS,
    [SLOT_GRAPH] = HALLEY_ATTR_NAME_FROM_GRAPH,
    [SLOT_DEVICE] = HALLEY_ATTR_NAME_DEVICE,
    [SLOT_STREAM] = HALLEY_ATTR_NAME_STREAM,
    [SLOT_OPS] = HALLEY_ATTR_NAME_NUM_OPS,
    [SLOT_BYTES] = HALLEY_ATTR_NAME_TENSOR_SIZE,
    [SLOT_PART] = HALLEY_ATTR_NAME_PART_OF,
};

const char *kernels_keep_text(kernel_counter *c, str text)
{
    const char *const copy = arena_copy(&c->memory, text);
    return copy == NULL ? "" : copy;
}

static int64_t read_slot(const trace_slots *s, uint32_t node, uint32_t slot,
                         int64_t otherwise)
{
    halley_attr attr;
    int64_t value;
    return trace_slots_find(&attr, s, node, slot) && halley_attr_to_i64(&attr, &value)
               ? value
               : otherwise;
}

/* From level sizes on, obfuscated traces have no recorded starts. Their replay gives the
 * starts that follow from the durations and dependencies. */
static halley_status replay_if_unplaced(kernel_counter *c, halley_error *err)
{
    halley_attr attr;
    bool is_placed = true;
    for (uint32_t rank = 0; rank < c->n_ranks && is_placed; rank++) {
        const halley_trace *const trace = halley_trace_set_get(c->set, rank);
        uint32_t i = 0;
        while (i < halley_trace_count(trace) &&
               !halley_node_find_attr(&attr, trace, i, HALLEY_ATTR_NAME_KERNEL_CLASS))
            i++;
        is_placed = i == halley_trace_count(trace) ||
                    halley_node_find_attr(&attr, trace, i, HALLEY_ATTR_NAME_START_NS);
    }
    return is_placed ? HALLEY_OK : halley_sim_replay(&c->replayed, c->set, true, err);
}

/* When a node began, in ns: as recorded, else as replayed. */
static int64_t find_begin(const kernel_counter *c, const trace_slots *s, uint32_t rank,
                          uint32_t node)
{
    if (c->replayed == NULL)
        return read_slot(s, node, SLOT_BEGIN, 0);
    const double ticks_per_ns = halley_result_ticks_per_s(c->replayed) * 1e-9;
    const uint64_t begin = halley_result_node(c->replayed, rank, node).begin;
    return (int64_t)((double)begin / ticks_per_ns + 0.5);
}

/* Devices of different ranks are different. */
static int64_t number_device(uint32_t rank, int64_t device)
{
    return (int64_t)rank << 32 | (device & UINT32_MAX);
}

static bool add_kernel_event(kernel_counter *c, const trace_slots *s, uint32_t rank,
                             uint32_t node, str class_name)
{
    const int64_t begin_ns = find_begin(c, s, rank, node);
    const bool is_copy =
        str_starts(class_name, STR("copy_")) || str_eq(class_name, STR("memset"));
    const kernel_event event = {
        .begin_ns = begin_ns,
        .end_ns = begin_ns + read_slot(s, node, SLOT_DURATION, 0),
        .launch_ns = read_slot(s, node, SLOT_LAUNCH, -1),
        .call_ns = read_slot(s, node, SLOT_CALL, -1),
        .device = number_device(rank, read_slot(s, node, SLOT_DEVICE, 0)),
        .stream = read_slot(s, node, SLOT_STREAM, 0),
        .rank = rank,
        .node = node,
        .class_id = intern_add(&c->classes, class_name),
        .flops = is_copy ? -1 : (double)read_slot(s, node, SLOT_OPS, -1),
        .bytes = (double)read_slot(s, node, SLOT_BYTES, -1),
        .from_graph = read_slot(s, node, SLOT_GRAPH, 0) != 0,
        .is_comm = str_starts(class_name, STR("comm.")),
        .is_part = read_slot(s, node, SLOT_PART, -1) >= 0,
        .is_copy = is_copy,
        .is_host_copy =
            str_eq(class_name, STR("copy_h2d")) || str_eq(class_name, STR("copy_d2h")),
        .is_sync = str_eq(class_name, STR("sync")),
    };
    return event.class_id != HASH_NONE && array_push(&c->events, event);
}

/* Note host events that wait: for the device, or for data. */
static bool add_blocking_call(kernel_counter *c, const trace_slots *s,
                              const halley_trace *trace, uint32_t node)
{
    const halley_bytes name = halley_node_name(trace, node);
    const int64_t begin_ns = read_slot(s, node, SLOT_BEGIN, -1);
    const int64_t length_ns = read_slot(s, node, SLOT_INCLUSIVE, -1);
    if (begin_ns < 0 || length_ns <= 0)
        return true;
    if (str_contains((str){name.at, name.n}, STR("DataLoader")) &&
        !array_push(&c->loading, (rec_span){begin_ns, begin_ns + length_ns}))
        return false;
    if (!rec_call_blocks((str){name.at, name.n}))
        return true;
    return array_push(&c->blocking, (rec_span){begin_ns, begin_ns + length_ns});
}

static int compare_kernel_events(const void *a, const void *b)
{
    const kernel_event *const x = a, *const y = b;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static bool list_rank_events(kernel_counter *c, uint32_t rank)
{
    const halley_trace *const trace = halley_trace_set_get(c->set, rank);
    const uint32_t n = halley_trace_count(trace);
    trace_slots slots;
    bool ok = trace_slots_init(&slots, trace, slot_names, N_SLOTS);
    for (uint32_t i = 0; ok && i < n; i++) {
        halley_attr attr;
        if (trace_slots_find(&attr, &slots, i, SLOT_CLASS))
            ok = add_kernel_event(c, &slots, rank, i, (str){attr.bytes.at, attr.bytes.n});
        else
            ok = add_blocking_call(c, &slots, trace, i);
    }
    trace_slots_fini(&slots);
    return ok;
}

static halley_status list_kernel_events(kernel_counter *c, halley_error *err)
{
    bool ok = true;
    for (uint32_t rank = 0; ok && rank < c->n_ranks; rank++)
        ok = list_rank_events(c, rank);
    if (ok && c->events.n > 0)
        qsort(c->events.at, c->events.n, sizeof *c->events.at, compare_kernel_events);
    rec_spans_merge(&c->blocking);
    return ok ? HALLEY_OK : error_nomem(err);
}

static void count_class(halley_kernel_class *row, const kernel_event *e)
{
    const double s = (double)(e->end_ns - e->begin_ns) * 1e-9;
    row->n += !e->is_part;
    row->s += s;
    if (e->flops > 1) {
        row->flops += e->flops;
        row->flops_s += s;
    }
    if (e->bytes > 0) {
        row->bytes += e->bytes;
        row->bytes_s += s;
    }
}

static int compare_classes(const void *a, const void *b)
{
    const halley_kernel_class *const x = a, *const y = b;
    if (x->s != y->s)
        return x->s > y->s ? -1 : 1;
    return strcmp(x->name, y->name);
}

static halley_status count_classes(kernel_counter *c, halley_error *err)
{
    halley_kernels *const k = &c->k;
    k->n_classes = c->classes.n;
    k->classes = arena_array(&c->memory, k->n_classes + 1, sizeof *k->classes);
    int64_t *const ns = mem_array_zero(k->n_classes + 1, sizeof *ns);
    if (k->classes == NULL || ns == NULL) {
        free(ns);
        return error_nomem(err);
    }
    int64_t total_ns = 0;
    for (size_t i = 0; i < k->n_classes; i++)
        k->classes[i].name = kernels_keep_text(c, intern_text(&c->classes, (uint32_t)i));
    for (size_t i = 0; i < c->events.n; i++) {
        const kernel_event *const e = &c->events.at[i];
        count_class(&k->classes[e->class_id], e);
        ns[e->class_id] += e->end_ns - e->begin_ns;
        total_ns += e->is_sync ? 0 : e->end_ns - e->begin_ns;
    }
    k->device_s = (double)total_ns / 1e9;
    for (size_t i = 0; i < k->n_classes; i++) {
        k->classes[i].s = (double)ns[i] / 1e9;
        k->classes[i].share = total_ns > 0 ? (double)ns[i] / (double)total_ns : 0;
        if (strcmp(k->classes[i].name, "sync") == 0)
            k->classes[i].share = 0;
    }
    free(ns);
    qsort(k->classes, k->n_classes, sizeof *k->classes, compare_classes);
    return HALLEY_OK;
}

static halley_status count_events(kernel_counter *c, halley_error *err)
{
    halley_kernels *const k = &c->k;
    map64 devices = {0}, streams = {0};
    int64_t call_ns = 0, to_device_ns = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < c->events.n; i++) {
        const kernel_event *const e = &c->events.at[i];
        k->device_events += !e->is_part;
        k->sync_events += e->is_sync;
        k->from_graphs += e->from_graph;
        ok = map64_set(&devices, (uint64_t)e->device, 1) &&
             map64_set(&streams, hash_u64((uint64_t)e->device) ^ (uint64_t)e->stream, 1);
        if (e->launch_ns < 0)
            continue;
        k->launch_in_window++;
        call_ns += e->call_ns;
        to_device_ns += e->begin_ns - e->launch_ns;
    }
    k->n_devices = (uint32_t)devices.n;
    k->n_streams = (uint32_t)streams.n;
    k->n_launches = k->launch_in_window;
    if (k->n_launches > 0) {
        k->mean_call_s = (double)call_ns / (double)k->n_launches / 1e9;
        k->mean_to_device_s = (double)to_device_ns / (double)k->n_launches / 1e9;
    }
    map64_fini(&devices);
    map64_fini(&streams);
    return ok ? HALLEY_OK : error_nomem(err);
}

/* Sum rank 0's device work that was launched in each step, and find how long it continues
 * after the step. The facts reader has left begin and end of each step in its last two
 * fields. */
static void count_steps(kernel_counter *c)
{
    for (size_t i = 0; i < c->k.n_steps; i++) {
        halley_step_row *const step = &c->k.steps[i];
        const int64_t begin_ns = (int64_t)step->device_s, end_ns = (int64_t)step->tail_s;
        int64_t work_ns = 0, last_ns = end_ns;
        for (size_t j = 0; j < c->events.n; j++) {
            const kernel_event *const e = &c->events.at[j];
            if (e->is_sync || e->rank > 0 || e->launch_ns < begin_ns ||
                e->launch_ns >= end_ns)
                continue;
            step->device_events++;
            work_ns += e->end_ns - e->begin_ns;
            last_ns = e->end_ns > last_ns ? e->end_ns : last_ns;
        }
        step->s = (double)(end_ns - begin_ns) / 1e9;
        step->device_s = (double)work_ns / 1e9;
        step->tail_s = (double)(last_ns - end_ns) / 1e9;
    }
}

static halley_status count_recording(kernel_counter *c, halley_error *err)
{
    TRY(kernels_read_facts(c, err));
    TRY(replay_if_unplaced(c, err));
    TRY(list_kernel_events(c, err));
    TRY(kernels_check_rates(c, err));
    TRY(count_classes(c, err));
    TRY(count_events(c, err));
    count_steps(c);
    TRY(kernels_count_idle(c, err));
    TRY(kernels_find_causes(c, err));
    TRY(kernels_list_top(c, err));
    return kernels_judge(c, err);
}

halley_status halley_kernels_count(halley_kernels **out, const halley_trace_set *set,
                                   halley_error *err)
{
    kernel_counter *const c = calloc(1, sizeof *c);
    if (c == NULL)
        return error_nomem(err);
    c->k.size = sizeof c->k;
    c->set = set;
    c->n_ranks = c->k.n_ranks = halley_trace_set_count(set);
    const halley_status status = count_recording(c, err);
    if (status != HALLEY_OK) {
        halley_kernels_free(&c->k);
        return status;
    }
    *out = &c->k;
    return HALLEY_OK;
}

void halley_kernels_free(halley_kernels *kernels)
{
    if (kernels == NULL)
        return;
    kernel_counter *const c = (kernel_counter *)kernels; /* its first member */
    arena_fini(&c->memory);
    intern_fini(&c->classes);
    array_fini(&c->events);
    array_fini(&c->blocking);
    array_fini(&c->loading);
    halley_result_free(c->replayed);
    free(c);
}
