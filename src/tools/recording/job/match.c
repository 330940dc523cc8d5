/*
 * List the communication of all ranks and match it.
 *
 * Collectives match by group and position among those of the group. Ranks may have
 * different numbers of them, or other types. Then the calls of a rank are aligned, in
 * order and by type and size, with those of the rank that has most. The k-th send from
 * one rank to another matches the k-th receive there. A group without a name is a stream.
 */
#include "base/error.h"
#include "recording/job/job.h"
#include "recording/record/spans.h"
#include "trace/core/slots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOT_CLASS,
    SLOT_BEGIN,
    SLOT_DURATION,
    SLOT_INCLUSIVE,
    SLOT_FREE,
    SLOT_GROUP,
    SLOT_STREAM,
    SLOT_SIZE,
    SLOT_SOURCE,
    SLOT_TARGET,
    SLOT_STEP,
    N_SLOTS
};
static const char *const slot_names[N_SLOTS] = {
    [SLOT_CLASS] = HALLEY_ATTR_NAME_KERNEL_CLASS,
    [SLOT_BEGIN] = HALLEY_ATTR_NAME_START_NS,
    [SLOT_DURATION] = HALLEY_ATTR_NAME_DURATION_NS,
    [SLOT_INCLUSIVE] = HALLEY_ATTR_NAME_INCLUSIVE_NS,
    [SLOT_FREE] = HALLEY_ATTR_NAME_FREE_LANE,
    [SLOT_GROUP] = HALLEY_ATTR_NAME_PG_NAME,
    [SLOT_STREAM] = HALLEY_ATTR_NAME_STREAM,
    [SLOT_SIZE] = HALLEY_ATTR_NAME_COMM_SIZE,
    [SLOT_SOURCE] = HALLEY_ATTR_NAME_COMM_SRC,
    [SLOT_TARGET] = HALLEY_ATTR_NAME_COMM_DST,
    [SLOT_STEP] = HALLEY_ATTR_NAME_STEP,
};

/* The time of one step on one rank. */
typedef struct step_time {
    int64_t number, begin_ns, end_ns;
} step_time;

typedef struct rank_lister {
    job *x;
    const halley_trace *trace;
    trace_slots slots;
    uint32_t rank;
    map64 streams; /* stream -> its place among those with communication */
    rec_spans compute, copies;
    ARRAY(step_time) steps; /* by number */
} rank_lister;

static int64_t read_slot(const rank_lister *l, uint32_t node, uint32_t slot,
                         int64_t otherwise)
{
    halley_attr attr;
    int64_t value;
    return trace_slots_find(&attr, &l->slots, node, slot) &&
                   halley_attr_to_i64(&attr, &value)
               ? value
               : otherwise;
}

/* The name of the group of an event. */
static uint32_t name_group(rank_lister *l, uint32_t node)
{
    halley_attr attr;
    char text[64];
    const uint32_t type = halley_node_type_of(l->trace, node);
    if (type == HALLEY_NODE_SEND || type == HALLEY_NODE_RECV) {
        snprintf(text, sizeof text, "%lld to %lld",
                 (long long)read_slot(l, node, SLOT_SOURCE, -1),
                 (long long)read_slot(l, node, SLOT_TARGET, -1));
        return intern_add(&l->x->texts, str_from(text));
    }
    if (trace_slots_find(&attr, &l->slots, node, SLOT_GROUP) &&
        attr.kind == HALLEY_ATTR_STRING)
        return intern_add(&l->x->texts, (str){attr.bytes.at, attr.bytes.n});
    uint32_t place = (uint32_t)l->streams.n;
    bool fresh;
    if (!map64_put(&l->streams, (uint64_t)read_slot(l, node, SLOT_STREAM, 0), &place,
                   &fresh))
        return HASH_NONE;
    snprintf(text, sizeof text, "stream %u", place);
    return intern_add(&l->x->texts, str_from(text));
}

static bool add_job_event(rank_lister *l, uint32_t node, str class_name, int64_t begin_ns,
                          int64_t end_ns)
{
    const str type = {class_name.at + 5, class_name.n - 5};
    const job_event e = {.begin_ns = begin_ns,
                         .end_ns = end_ns,
                         .bytes = (double)read_slot(l, node, SLOT_SIZE, 0),
                         .rank = l->rank,
                         .node = node,
                         .group = name_group(l, node),
                         .type = intern_add(&l->x->texts, type),
                         .coll = JOB_NONE};
    return e.group != HASH_NONE && e.type != HASH_NONE && array_push(&l->x->events, e);
}

static bool extend_step(rank_lister *l, int64_t number, int64_t begin_ns, int64_t end_ns)
{
    size_t i = l->steps.n;
    while (i > 0 && l->steps.at[i - 1].number > number)
        i--;
    if (i > 0 && l->steps.at[i - 1].number == number) {
        step_time *const s = &l->steps.at[i - 1];
        s->begin_ns = begin_ns < s->begin_ns ? begin_ns : s->begin_ns;
        s->end_ns = end_ns > s->end_ns ? end_ns : s->end_ns;
        return true;
    }
    if (!array_reserve(&l->steps, 1))
        return false;
    memmove(l->steps.at + i + 1, l->steps.at + i, (l->steps.n - i) * sizeof *l->steps.at);
    l->steps.at[i] = (step_time){number, begin_ns, end_ns};
    l->steps.n++;
    return true;
}

static bool list_node(rank_lister *l, uint32_t node)
{
    halley_attr attr;
    job_window *const w = &l->x->windows[l->rank];
    const int64_t begin = read_slot(l, node, SLOT_BEGIN, -1);
    const int64_t length = read_slot(l, node, SLOT_DURATION, 0);
    const int64_t end = begin + read_slot(l, node, SLOT_INCLUSIVE, length);
    const bool is_device = trace_slots_find(&attr, &l->slots, node, SLOT_CLASS);
    if (begin < 0 || (!is_device && read_slot(l, node, SLOT_FREE, 0) != 0))
        return true;
    const str class_name = is_device ? (str){attr.bytes.at, attr.bytes.n} : (str){0};
    w->begin_ns = begin < w->begin_ns ? begin : w->begin_ns;
    w->end_ns = end > w->end_ns ? end : w->end_ns;
    if (!is_device) {
        const int64_t step = read_slot(l, node, SLOT_STEP, INT64_MIN);
        return step == INT64_MIN || extend_step(l, step, begin, begin + length);
    }
    if (str_eq(class_name, STR("sync")) || length == 0)
        return true;
    if (str_starts(class_name, STR("comm.")))
        return add_job_event(l, node, class_name, begin, begin + length);
    const bool is_copy =
        str_starts(class_name, STR("copy_h")) || str_eq(class_name, STR("copy_d2h"));
    return array_push(is_copy ? &l->copies : &l->compute,
                      (rec_span){begin, begin + length});
}

static int compare_job_events(const void *a, const void *b)
{
    const job_event *const x = a, *const y = b;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Keep the steps that every rank has; times of the slowest and of the median rank. */
static bool add_rank_steps(int64_t **times, const rank_lister *l)
{
    halley_job *const j = &l->x->j;
    if (l->rank == 0) {
        j->steps = arena_array(&l->x->memory, l->steps.n + 1, sizeof *j->steps);
        *times = mem_array_zero((l->steps.n + 1) * l->x->n_ranks, sizeof **times);
        j->n_steps = l->steps.n;
        for (size_t i = 0; j->steps != NULL && i < l->steps.n; i++)
            j->steps[i] = (halley_job_step){.number = l->steps.at[i].number};
    }
    if (j->steps == NULL || *times == NULL)
        return false;
    for (size_t i = 0; i < j->n_steps; i++)
        for (size_t k = 0; k < l->steps.n; k++)
            if (l->steps.at[k].number == j->steps[i].number)
                (*times)[i * l->x->n_ranks + l->rank] =
                    l->steps.at[k].end_ns - l->steps.at[k].begin_ns;
    return true;
}

static bool list_rank(job *x, uint32_t rank, int64_t **times)
{
    rank_lister l = {.x = x, .trace = halley_trace_set_get(x->set, rank), .rank = rank};
    const size_t first = x->events.n;
    bool ok = trace_slots_init(&l.slots, l.trace, slot_names, N_SLOTS);
    x->event_at[rank] = (uint32_t)first;
    x->windows[rank] = (job_window){.begin_ns = INT64_MAX, .end_ns = INT64_MIN};
    for (uint32_t i = 0; ok && i < halley_trace_count(l.trace); i++)
        ok = list_node(&l, i);
    if (ok && x->events.n - first > 1)
        qsort(x->events.at + first, x->events.n - first, sizeof *x->events.at,
              compare_job_events);
    rec_spans_merge(&l.compute);
    rec_spans_merge(&l.copies);
    x->windows[rank].compute_ns = rec_spans_length(&l.compute);
    x->windows[rank].copies_ns =
        rec_spans_length(&l.copies) - rec_spans_common(&l.copies, &l.compute);
    ok = ok && add_rank_steps(times, &l);
    trace_slots_fini(&l.slots);
    map64_fini(&l.streams);
    array_fini(&l.compute);
    array_fini(&l.copies);
    array_fini(&l.steps);
    return ok;
}

static void count_steps(job *x, int64_t *times)
{
    const uint32_t middle = x->n_ranks / 2;
    for (size_t i = 0; i < x->j.n_steps; i++) {
        int64_t *const row = times + i * x->n_ranks;
        halley_job_step *const s = &x->j.steps[i];
        for (uint32_t r = 1; r < x->n_ranks; r++)
            s->slowest_rank = row[r] > row[s->slowest_rank] ? r : s->slowest_rank;
        s->longest_s = (double)row[s->slowest_rank] * 1e-9;
        mem_sort_i64(row, x->n_ranks);
        s->median_s = (double)row[middle] * 1e-9;
    }
}

/* Number the events of every rank within their groups. */
static bool number_events(job *x)
{
    map64 counts = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < x->events.n; i++) {
        job_event *const e = &x->events.at[i];
        const uint64_t key = (uint64_t)e->rank << 32 | e->group;
        const uint32_t n = map64_find(&counts, key);
        e->index = n == HASH_NONE ? 0 : n;
        ok = map64_set(&counts, key, e->index + 1);
    }
    map64_fini(&counts);
    return ok;
}

/* The events of one group on one rank: indexes in x->events. */
typedef struct job_sequence {
    ARRAY(uint32_t) events;
} job_sequence;

static bool is_same_call(const job_event *a, const job_event *b, bool with_size)
{
    return a->type == b->type && (!with_size || a->bytes == b->bytes);
}

/* The next call of the longest sequence that can be the same as `e`; JOB_NONE. */
static uint32_t find_same_call(const job *x, const job_sequence *longest, size_t from,
                               const job_event *e)
{
    for (int with_size = 1; with_size >= 0; with_size--)
        for (size_t k = from; k < longest->events.n; k++)
            if (is_same_call(&x->events.at[longest->events.at[k]], e, with_size != 0))
                return (uint32_t)k;
    return JOB_NONE;
}

static bool is_aligned(const job *x, const job_sequence *a, const job_sequence *b)
{
    bool same = a->events.n == b->events.n;
    for (size_t i = 0; same && i < a->events.n; i++)
        same = is_same_call(&x->events.at[a->events.at[i]],
                            &x->events.at[b->events.at[i]], false);
    return same;
}

/* Give each event the number of its collective: `base` + the place in the longest
 * sequence. */
static void align_sequence(job *x, const job_sequence *s, const job_sequence *longest,
                           uint32_t base)
{
    size_t at = 0;
    const bool same = is_aligned(x, s, longest);
    for (size_t i = 0; i < s->events.n; i++) {
        job_event *const e = &x->events.at[s->events.at[i]];
        const uint32_t k = same ? (uint32_t)i : find_same_call(x, longest, at, e);
        if (k == JOB_NONE)
            continue;
        e->coll = base + k;
        at = k + 1;
    }
}

/* Align the sequences of a group, one per rank, and return the number of collectives. */
static uint32_t match_group(job *x, const job_sequence *of_rank, uint32_t base)
{
    const job_sequence *longest = &of_rank[0];
    for (uint32_t r = 1; r < x->n_ranks; r++)
        if (of_rank[r].events.n > longest->events.n)
            longest = &of_rank[r];
    for (uint32_t r = 0; r < x->n_ranks; r++)
        align_sequence(x, &of_rank[r], longest, base);
    return (uint32_t)longest->events.n;
}

static bool match_groups(job *x, uint32_t *n_colls)
{
    job_sequence *const of_rank = mem_array_zero(x->n_ranks, sizeof *of_rank);
    bool ok = of_rank != NULL;
    *n_colls = 0;
    for (uint32_t g = 0; ok && g < x->texts.n; g++) {
        for (uint32_t r = 0; r < x->n_ranks; r++)
            of_rank[r].events.n = 0;
        for (uint32_t i = 0; ok && i < x->events.n; i++)
            if (x->events.at[i].group == g)
                ok = array_push(&of_rank[x->events.at[i].rank].events, i);
        if (ok)
            *n_colls += match_group(x, of_rank, *n_colls);
    }
    for (uint32_t r = 0; of_rank != NULL && r < x->n_ranks; r++)
        array_fini(&of_rank[r].events);
    free(of_rank);
    return ok;
}

static int compare_colls(const void *a, const void *b)
{
    const job_coll *const x = a, *const y = b;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* List the collectives that several ranks have, with their members. */
static bool list_collectives(job *x, uint32_t n_colls)
{
    uint32_t *const at = mem_array_zero((size_t)n_colls + 2, sizeof *at);
    bool ok = at != NULL && array_reserve(&x->members, x->events.n);
    for (size_t i = 0; ok && i < x->events.n; i++)
        if (x->events.at[i].coll != JOB_NONE)
            at[x->events.at[i].coll + 2]++;
    for (uint32_t c = 0; ok && c < n_colls; c++)
        at[c + 2] += at[c + 1];
    if (ok)
        x->members.n = at[n_colls + 1];
    for (uint32_t i = 0; ok && i < x->events.n; i++)
        if (x->events.at[i].coll != JOB_NONE)
            x->members.at[at[x->events.at[i].coll + 1]++] = i;
    for (uint32_t c = 0; ok && c < n_colls; c++) {
        const uint32_t n = at[c + 1] - at[c];
        const job_event *const e = n > 0 ? &x->events.at[x->members.at[at[c]]] : NULL;
        if (n > 1)
            ok = array_push(&x->colls,
                            (job_coll){at[c], n, e->group, e->index, e->begin_ns});
        else if (n == 1)
            x->events.at[x->members.at[at[c]]].coll = JOB_NONE;
    }
    free(at);
    if (ok && x->colls.n > 1)
        qsort(x->colls.at, x->colls.n, sizeof *x->colls.at, compare_colls);
    for (uint32_t c = 0; ok && c < x->colls.n; c++)
        for (uint32_t k = 0; k < x->colls.at[c].n; k++)
            x->events.at[x->members.at[x->colls.at[c].first + k]].coll = c;
    for (size_t i = 0; ok && i < x->events.n; i++)
        x->j.n_unmatched += x->events.at[i].coll == JOB_NONE;
    return ok;
}

halley_status job_match(job *x, halley_error *err)
{
    int64_t *times = NULL;
    uint32_t n_colls = 0;
    bool ok = true;
    for (uint32_t r = 0; ok && r < x->n_ranks; r++)
        ok = list_rank(x, r, &times);
    x->event_at[x->n_ranks] = (uint32_t)x->events.n;
    if (ok)
        count_steps(x, times);
    free(times);
    ok = ok && number_events(x) && match_groups(x, &n_colls) &&
         list_collectives(x, n_colls);
    return ok ? HALLEY_OK : error_nomem(err);
}
