/*
 * A recording in memory: rows, threads, sorting, nesting, launches.
 *
 * Host events are sorted by thread, then begin, then longest first, and operators before
 * calls. One pass with a stack then finds the innermost event around each. A child that
 * ends after its parent is clipped to it. Clipping by more than 1 us is counted, because
 * the clock or the profiler was wrong then.
 */
#include "recording/record/record.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CROSSING_NS = 1000 };

const char *const rec_format_names[REC_N_FORMATS] = {[REC_KINETO] = "kineto",
                                                     [REC_NSYS] = "nsys",
                                                     [REC_XPLANE] = "xplane",
                                                     [REC_ROCPROF] = "rocprofv3",
                                                     [REC_ROCPROF_CSV] = "rocprofv3 CSV",
                                                     [REC_ROCPD] = "rocpd"};

void rec_init(record *r)
{
    *r = (record){.job = JOB_INFO_UNKNOWN,
                  .device_name = REC_NONE,
                  .schema = REC_NONE,
                  .pid = REC_NO_ID,
                  .n_devices = 1,
                  .last_step_ns = INT64_MIN};
}

void rec_fini(record *r)
{
    intern_fini(&r->texts);
    intern_fini(&r->labels);
    intern_fini(&r->step_names);
    array_fini(&r->threads);
    array_fini(&r->hosts);
    array_fini(&r->details);
    array_fini(&r->comms);
    array_fini(&r->rows);
    array_fini(&r->works);
    array_fini(&r->syncs);
    job_info_fini(&r->job);
    array_fini(&r->steps);
    map64_fini(&r->row_of);
    strbuf_fini(&r->remarks);
}

void rec_remark(record *r, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    strbuf_add(&r->remarks, str_from(text));
    strbuf_add_char(&r->remarks, '\0');
}

uint32_t rec_add_row(record *r, uint64_t device, int64_t stream, str label)
{
    uint32_t id = (uint32_t)r->rows.n, text = REC_NONE;
    const uint64_t key = label.n > 0 ? hash_bytes(label.at, label.n, device)
                                     : hash_u64(device) ^ (uint64_t)stream;
    bool fresh;
    if (!map64_put(&r->row_of, key, &id, &fresh))
        return REC_NONE;
    if (!fresh)
        return id;
    if (label.n > 0 && (text = intern_add(&r->texts, label)) == HASH_NONE)
        return REC_NONE;
    return array_push(&r->rows, (rec_row){device, stream, text}) ? id : REC_NONE;
}

bool rec_add_work(record *r, const rec_work *work)
{
    rec_work own = *work;
    own.launch = own.op = own.class_id = REC_NONE;
    own.seq = (uint32_t)r->works.n;
    return own.name != REC_NONE && own.row != REC_NONE && array_push(&r->works, own);
}

static uint64_t read_number_or_none(str text)
{
    uint64_t number;
    return str_to_u64(text, &number) ? number : REC_NO_ID;
}

uint32_t rec_add_thread(record *r, str pid, str tid)
{
    char key[128];
    pid.n = pid.n < 60 ? pid.n : 60;
    tid.n = tid.n < 60 ? tid.n : 60;
    if (pid.n > 0)
        memcpy(key, pid.at, pid.n);
    key[pid.n] = ' ';
    if (tid.n > 0)
        memcpy(key + pid.n + 1, tid.at, tid.n);
    const uint32_t id = intern_add(&r->labels, (str){key, pid.n + 1 + tid.n});
    if (id == HASH_NONE || id < r->threads.n)
        return id;
    assert(id == r->threads.n);
    const rec_thread thread = {
        .label = id, .pid = read_number_or_none(pid), .tid = read_number_or_none(tid)};
    return array_push(&r->threads, thread) ? id : REC_NONE;
}

bool rec_add_host(record *r, rec_host event, uint32_t name, uint32_t thread)
{
    if (name == REC_NONE || thread == REC_NONE || name >= REC_MAX_NAMES)
        return false;
    event.name = name & (REC_MAX_NAMES - 1);
    event.thread = thread;
    return array_push(&r->hosts, event);
}

uint32_t rec_host_thread(const record *r, uint32_t i)
{
    size_t low = 0, high = r->threads.n; /* the last thread with first <= i */
    while (low + 1 < high) {
        const size_t mid = low + (high - low) / 2;
        if (r->threads.at[mid].first <= i)
            low = mid;
        else
            high = mid;
    }
    assert(i - r->threads.at[low].first < r->threads.at[low].n);
    return (uint32_t)low;
}

static int compare_hosts(const void *a, const void *b, void *context)
{
    const rec_host *const hosts = context;
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const rec_host *const x = &hosts[i], *const y = &hosts[j];
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    if ((x->kind == REC_CALL) != (y->kind == REC_CALL))
        return x->kind == REC_CALL ? 1 : -1;
    return i < j ? -1 : i > j; /* keep the order of the file */
}

/* Permute the events in place, following each cycle of the permutation once. */
static void permute_hosts(rec_host *hosts, uint32_t *order, size_t n)
{
    for (uint32_t first = 0; first < n; first++) {
        if (order[first] == first)
            continue;
        const rec_host event = hosts[first];
        uint32_t to = first;
        while (order[to] != first) {
            const uint32_t from = order[to];
            hosts[to] = hosts[from];
            order[to] = to;
            to = from;
        }
        hosts[to] = event;
        order[to] = to;
    }
}

static bool sort_hosts(record *r)
{
    uint32_t *const order = mem_array(r->hosts.n, sizeof *order);
    if (order == NULL)
        return false;
    for (uint32_t i = 0; i < r->hosts.n; i++)
        order[i] = i;
    qsort_r(order, r->hosts.n, sizeof *order, compare_hosts, r->hosts.at);
    permute_hosts(r->hosts.at, order, r->hosts.n);
    free(order);
    return true;
}

static int compare_works(const void *a, const void *b)
{
    const rec_work *const x = a, *const y = b;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Find the range of events of each thread. A thread without events begins where the next
 * one does. */
static void index_threads(record *r)
{
    uint32_t first = 0;
    for (size_t i = 0; i < r->hosts.n; i++)
        r->threads.at[r->hosts.at[i].thread].n++;
    for (size_t i = 0; i < r->threads.n; i++) {
        r->threads.at[i].first = first;
        first += r->threads.at[i].n;
    }
    assert(first == r->hosts.n);
}

static bool sort_record(record *r)
{
    if (r->hosts.n > 0 && !sort_hosts(r))
        return false;
    if (r->works.n > 0)
        qsort(r->works.at, r->works.n, sizeof *r->works.at, compare_works);
    index_threads(r);
    return true;
}

/* Pop events that have ended when `event` begins, then clip the event to its parent. */
static void nest_event(record *r, uint32_t i, uint32_t *stack, size_t *depth)
{
    rec_host *const event = &r->hosts.at[i];
    while (*depth > 0 && r->hosts.at[stack[*depth - 1]].end_ns <= event->begin_ns)
        --*depth;
    event->parent = *depth > 0 ? stack[*depth - 1] : REC_NONE;
    if (event->parent != REC_NONE) {
        const int64_t limit = r->hosts.at[event->parent].end_ns;
        r->n_crossing += event->end_ns > limit + CROSSING_NS;
        event->end_ns = event->end_ns > limit ? limit : event->end_ns;
    }
    assert(event->end_ns >= event->begin_ns);
    stack[(*depth)++] = i;
}

static bool nest_hosts(record *r)
{
    uint32_t *const stack = mem_array(r->hosts.n + 1, sizeof *stack);
    for (size_t t = 0; stack != NULL && t < r->threads.n; t++) {
        const rec_thread *const thread = &r->threads.at[t];
        size_t depth = 0;
        for (uint32_t i = thread->first; i < thread->first + thread->n; i++)
            nest_event(r, i, stack, &depth);
    }
    free(stack);
    return stack != NULL;
}

bool rec_is_graph_launch(str name)
{
    return str_contains(name, STR("GraphLaunch"));
}

bool rec_call_blocks(str name)
{
    return str_contains(name, STR("Synchronize")) ||
           str_starts(name, STR("synchronize")) || str_eq(name, STR("cudaMemcpy")) ||
           str_eq(name, STR("hipMemcpy")) ||
           str_contains(name, STR("MemcpyWithStream")) ||
           str_starts(name, STR("hipMemcpyDtoH"));
}

/* Compare calls by (correlation, begin). */
static int compare_calls(const void *a, const void *b, void *context)
{
    const record *const r = context;
    const rec_host *const x = &r->hosts.at[*(const uint32_t *)a];
    const rec_host *const y = &r->hosts.at[*(const uint32_t *)b];
    if (x->correlation != y->correlation)
        return x->correlation < y->correlation ? -1 : 1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return x < y ? -1 : x > y; /* of two nested calls, the inner one comes last */
}

static bool can_launch(const rec_host *h)
{
    return h->kind == REC_CALL && h->correlation != REC_NO_ID;
}

static bool list_calls(uint32_t **calls, size_t *n, record *r)
{
    *n = 0;
    for (size_t i = 0; i < r->hosts.n; i++)
        *n += can_launch(&r->hosts.at[i]);
    *calls = mem_array(*n, sizeof **calls);
    if (*calls == NULL)
        return false;
    *n = 0;
    for (uint32_t i = 0; i < r->hosts.n; i++)
        if (can_launch(&r->hosts.at[i]))
            (*calls)[(*n)++] = i;
    qsort_r(*calls, *n, sizeof **calls, compare_calls, r);
    return true;
}

/* The first call with this correlation; n = none. */
static size_t find_first_call(const record *r, const uint32_t *calls, size_t n,
                              uint64_t correlation)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (r->hosts.at[calls[mid]].correlation < correlation)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && r->hosts.at[calls[low]].correlation == correlation ? low : n;
}

/* Does one contain the other? Then they are one launch (a runtime and a driver call). */
static bool are_nested(const record *r, uint32_t i, uint32_t j)
{
    const rec_host *const outer = &r->hosts.at[i], *const inner = &r->hosts.at[j];
    return inner->begin_ns >= outer->begin_ns && inner->end_ns <= outer->end_ns &&
           rec_host_thread(r, i) == rec_host_thread(r, j);
}

/* Among the calls with the work's correlation, take the latest that begins before the
 * work. If clocks disagree and none does, take the first. */
static void find_launch(record *r, rec_work *w, const uint32_t *calls, size_t n)
{
    w->launch = w->op = REC_NONE;
    if (w->correlation == REC_NO_ID)
        return;
    const size_t first = find_first_call(r, calls, n, w->correlation);
    if (first == n)
        return;
    w->launch = calls[first];
    for (size_t k = first + 1;
         k < n && r->hosts.at[calls[k]].correlation == w->correlation; k++) {
        const rec_host *const call = &r->hosts.at[calls[k]];
        if (!are_nested(r, calls[first], calls[k]) && r->n_double_launches++ == 0)
            r->double_launch = w->correlation;
        if (call->begin_ns <= w->begin_ns)
            w->launch = calls[k];
    }
    w->op = r->hosts.at[w->launch].parent;
    while (w->op != REC_NONE && r->hosts.at[w->op].kind == REC_CALL)
        w->op = r->hosts.at[w->op].parent;
}

static bool find_launches(record *r)
{
    uint32_t *calls;
    size_t n;
    if (!list_calls(&calls, &n, r))
        return false;
    for (size_t i = 0; i < r->works.n; i++)
        find_launch(r, &r->works.at[i], calls, n);
    free(calls);
    return true;
}

/* If events are further apart than this, a clock is wrong. Within it no sum of times can
 * overflow. */
#define LONGEST_WINDOW_NS (INT64_C(10) * 86400 * 1000000000)

static void widen_window(int64_t *from_ns, int64_t *to_ns, int64_t begin_ns,
                         int64_t end_ns)
{
    *from_ns = begin_ns < *from_ns ? begin_ns : *from_ns;
    *to_ns = end_ns > *to_ns ? end_ns : *to_ns;
}

static halley_status check_window(const record *r, halley_error *err)
{
    int64_t from_ns = INT64_MAX, to_ns = INT64_MIN, window_ns;
    for (size_t i = 0; i < r->hosts.n; i++)
        widen_window(&from_ns, &to_ns, r->hosts.at[i].begin_ns, r->hosts.at[i].end_ns);
    for (size_t i = 0; i < r->works.n; i++)
        widen_window(&from_ns, &to_ns, r->works.at[i].begin_ns, r->works.at[i].end_ns);
    for (size_t i = 0; i < r->syncs.n; i++)
        widen_window(&from_ns, &to_ns, r->syncs.at[i].begin_ns, r->syncs.at[i].end_ns);
    for (size_t i = 0; i < r->steps.n; i++)
        widen_window(&from_ns, &to_ns, r->steps.at[i].begin_ns, r->steps.at[i].end_ns);
    if (from_ns > to_ns || (!__builtin_sub_overflow(to_ns, from_ns, &window_ns) &&
                            window_ns <= LONGEST_WINDOW_NS))
        return HALLEY_OK;
    return error_set(err, HALLEY_EINVAL,
                     "its events are more than 10 days apart: the clock of the recording "
                     "is wrong");
}

halley_status rec_finish(record *r, halley_error *err)
{
    TRY(check_window(r, err));
    map64_fini(&r->row_of);
    if (r->hosts.n >= REC_NONE || r->works.n >= REC_NONE)
        return error_set(err, HALLEY_ELIMIT, "the recording has more than 2^32 events");
    array_trim(&r->hosts);
    array_trim(&r->works);
    array_trim(&r->details);
    if (!sort_record(r) || !nest_hosts(r) || !find_launches(r) || !rec_find_steps(r) ||
        r->remarks.failed)
        return error_nomem(err);
    return HALLEY_OK;
}
