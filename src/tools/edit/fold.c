/*
 * Fold the threads and streams of a recording into one lane of each kind.
 *
 * Every node keeps the parts of its time in which no other node of its kind has the lane.
 * On the host, the threads that launch most come first; on the device, the event that
 * begins first. Communication is not cut. A node without a part of its own becomes a node
 * of zero length at its end. If another node waits for it there, the node that covers it
 * is cut at that time. A device event may begin later than its launch returned: then the
 * host's lane is cut at that time, or an idle host gets a gap up to it.
 */
#include "edit/fold.h"

#include "base/error.h"
#include "trace/core/edit.h"
#include "trace/core/roles.h"
#include "trace/core/slots.h"

#include <assert.h>
#include <string.h>

enum { SLOT_FREE, SLOT_TID, SLOT_CLASS, N_SLOTS };
static const char *const slot_names[N_SLOTS] = {
    HALLEY_ATTR_NAME_FREE_LANE, HALLEY_ATTR_NAME_TID, HALLEY_ATTR_NAME_KERNEL_CLASS};

/* A node in the order in which it claims time. */
typedef struct fold_claimant {
    int64_t tid, begin_ns, end_ns;
    uint64_t n_launches;
    uint32_t node;
} fold_claimant;

static fold_lane choose_lane(const fold *f, const trace_slots *slots, uint32_t node)
{
    halley_attr attr;
    trace_roles roles;
    const uint32_t type = halley_node_type_of(f->trace, node);
    const bool is_free =
        trace_slots_find(&attr, slots, node, SLOT_FREE) && attr.bits != 0;
    const bool is_kernel = trace_slots_find(&attr, slots, node, SLOT_CLASS) &&
                           !str_eq((str){attr.bytes.at, attr.bytes.n}, STR("sync"));
    if (type == HALLEY_NODE_METADATA ||
        (type == HALLEY_NODE_COMP && is_free && !is_kernel))
        return FOLD_NO_LANE;
    if (type == HALLEY_NODE_COLL || type == HALLEY_NODE_SEND || type == HALLEY_NODE_RECV)
        return FOLD_COMM;
    trace_roles_read(&roles, f->trace, node);
    return trace_roles_is_cpu(&roles) ? FOLD_CPU : FOLD_GPU;
}

static bool read_nodes(fold *f, const halley_result *replay, uint32_t rank)
{
    const double ticks_per_ns = halley_result_ticks_per_s(replay) * 1e-9;
    trace_slots slots;
    if (!trace_slots_init(&slots, f->trace, slot_names, N_SLOTS))
        return false;
    for (uint32_t i = 0; i < f->n; i++) {
        const halley_node_times t = halley_result_node(replay, rank, i);
        f->begin_ns[i] = (int64_t)((double)t.begin / ticks_per_ns + 0.5);
        f->end_ns[i] = (int64_t)((double)t.end / ticks_per_ns + 0.5);
        f->lane[i] = choose_lane(f, &slots, i);
        f->clock_ns[i] = -1;
    }
    trace_slots_fini(&slots);
    return true;
}

/* List the predecessors of a node. A lag or metadata is replaced by its own. */
static bool list_dependencies(fold *f, uint32_t node, uint32_t *seen, void *stack_of)
{
    ARRAY(uint32_t) *const stack = stack_of;
    stack->n = 0;
    if (!array_push(stack, node))
        return false;
    while (stack->n > 0) {
        const uint32_t at = stack->at[--stack->n];
        for (uint32_t i = 0; i < halley_node_data_count(f->trace, at); i++) {
            const uint32_t dep = halley_node_data(f->trace, at, i).index;
            if (dep == HALLEY_NO_NODE || dep == node || seen[dep] == node)
                continue;
            seen[dep] = node;
            const bool is_lag = f->lane[dep] == FOLD_NO_LANE;
            if (is_lag ? !array_push(stack, dep) : !array_push(&f->deps, dep))
                return false;
        }
    }
    return true;
}

static bool find_users(fold *f)
{
    for (size_t i = 0; i < f->deps.n; i++)
        f->user_at[f->deps.at[i] + 1]++;
    for (uint32_t i = 0; i < f->n; i++)
        f->user_at[i + 1] += f->user_at[i];
    uint32_t *const next = mem_array(f->n, sizeof *next);
    f->users = mem_array(f->deps.n, sizeof *f->users);
    const bool ok = next != NULL && f->users != NULL;
    if (ok) {
        memcpy(next, f->user_at, f->n * sizeof *next);
        for (uint32_t i = 0; i < f->n; i++)
            for (uint32_t k = f->dep_at[i]; k < f->dep_at[i + 1]; k++)
                f->users[next[f->deps.at[k]]++] = i;
    }
    free(next);
    return ok;
}

static bool find_dependencies(fold *f)
{
    uint32_t *const seen = mem_array(f->n, sizeof *seen);
    ARRAY(uint32_t) stack = {0};
    bool ok = seen != NULL;
    for (uint32_t i = 0; ok && i < f->n; i++)
        seen[i] = HALLEY_NO_NODE;
    for (uint32_t i = 0; ok && i < f->n; i++) {
        f->dep_at[i] = (uint32_t)f->deps.n;
        if (f->lane[i] != FOLD_NO_LANE)
            ok = list_dependencies(f, i, seen, &stack);
    }
    f->dep_at[f->n] = (uint32_t)f->deps.n;
    free(seen);
    array_fini(&stack);
    return ok && find_users(f);
}

/* Find the first span that begins at or after a time. */
static size_t find_span(const fold_spans *spans, int64_t at_ns)
{
    size_t low = 0, high = spans->n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (spans->at[mid].begin_ns < at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static int compare_spans(const void *a, const void *b)
{
    const fold_span *const x = a, *const y = b;
    return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static bool add_part(fold *f, fold_spans *fresh, uint32_t node, int64_t from, int64_t to)
{
    assert(from < to);
    const fold_span span = {from, to, node};
    f->n_parts[node]++;
    return array_push(fresh, span) && array_push(&f->parts, span);
}

/* Give a node the parts of [from, to) that nobody has. */
static bool claim_exposed(fold *f, const fold_spans *taken, fold_spans *fresh,
                          uint32_t node, int64_t from)
{
    const int64_t to = f->end_ns[node];
    size_t i = find_span(taken, from);
    int64_t at = i > 0 && taken->at[i - 1].end_ns > from ? taken->at[i - 1].end_ns : from;
    for (; i < taken->n && taken->at[i].begin_ns < to; i++) {
        if (taken->at[i].begin_ns > at &&
            !add_part(f, fresh, node, at, taken->at[i].begin_ns))
            return false;
        at = taken->at[i].end_ns > at ? taken->at[i].end_ns : at;
    }
    return at >= to || add_part(f, fresh, node, at, to);
}

static bool merge_spans(fold_spans *taken, const fold_spans *fresh)
{
    if (!array_reserve(taken, fresh->n))
        return false;
    if (fresh->n > 0)
        memcpy(taken->at + taken->n, fresh->at, fresh->n * sizeof *fresh->at);
    taken->n += fresh->n;
    if (taken->n > 1)
        qsort(taken->at, taken->n, sizeof *taken->at, compare_spans);
    return true;
}

static int compare_claimants(const void *a, const void *b)
{
    const fold_claimant *const x = a, *const y = b;
    if (x->n_launches != y->n_launches)
        return x->n_launches > y->n_launches ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static int64_t read_tid(const trace_slots *slots, uint32_t node)
{
    halley_attr attr;
    int64_t tid = 0;
    if (trace_slots_find(&attr, slots, node, SLOT_TID))
        (void)halley_attr_to_i64(&attr, &tid);
    return tid;
}

/* Count the launches of each thread. */
static bool count_launches(map64 *counts, const fold *f, const trace_slots *slots)
{
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->lane[i] != FOLD_GPU && f->lane[i] != FOLD_COMM)
            continue;
        for (uint32_t k = f->dep_at[i]; k < f->dep_at[i + 1]; k++) {
            if (f->lane[f->deps.at[k]] != FOLD_CPU)
                continue;
            const uint64_t tid = hash_u64((uint64_t)read_tid(slots, f->deps.at[k]));
            const uint32_t n = map64_find(counts, tid);
            if (!map64_set(counts, tid, n == HASH_NONE ? 1 : n + 1))
                return false;
        }
    }
    return true;
}

/* One row (a thread, or all of a device) claims its time, after the rows before it. */
static bool claim_row(fold *f, fold_lane lane, const fold_claimant *row, size_t n)
{
    fold_spans fresh = {0};
    int64_t last_ns = INT64_MIN;
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        const uint32_t node = row[i].node;
        const int64_t begin = f->begin_ns[node], end = f->end_ns[node];
        const int64_t from = last_ns > begin ? last_ns : begin;
        f->part_at[node] = (uint32_t)f->parts.n;
        if (lane == FOLD_COMM)
            ok = begin == end || add_part(f, &fresh, node, begin, end);
        else if (end > from)
            ok = claim_exposed(f, &f->taken[lane], &fresh, node, from);
        last_ns = end > last_ns ? end : last_ns;
    }
    ok = ok && merge_spans(&f->taken[lane], &fresh);
    array_fini(&fresh);
    return ok;
}

static bool claim_lane(fold *f, fold_lane lane, const trace_slots *slots,
                       const map64 *counts)
{
    ARRAY(fold_claimant) all = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < f->n; i++) {
        if (f->lane[i] != lane)
            continue;
        const int64_t tid = lane == FOLD_CPU ? read_tid(slots, i) : 0;
        const uint32_t n =
            lane == FOLD_CPU ? map64_find(counts, hash_u64((uint64_t)tid)) : 0;
        ok = array_push(&all, (fold_claimant){tid, f->begin_ns[i], f->end_ns[i],
                                              n == HASH_NONE ? 0 : n, i});
    }
    if (ok && all.n > 1)
        qsort(all.at, all.n, sizeof *all.at, compare_claimants);
    for (size_t first = 0, end; ok && first < all.n; first = end) {
        for (end = first + 1; end < all.n && all.at[end].tid == all.at[first].tid;)
            end++;
        ok = claim_row(f, lane, all.at + first, end - first);
    }
    array_fini(&all);
    return ok;
}

static bool claim_lanes(fold *f)
{
    trace_slots slots;
    map64 counts = {0};
    bool ok = trace_slots_init(&slots, f->trace, slot_names, N_SLOTS);
    if (ok) {
        ok = count_launches(&counts, f, &slots);
        for (uint32_t lane = 0; ok && lane < FOLD_N_LANES; lane++)
            ok = claim_lane(f, (fold_lane)lane, &slots, &counts);
    }
    trace_slots_fini(&slots);
    map64_fini(&counts);
    return ok;
}

static bool add_piece(fold *f, int64_t begin, int64_t end, uint32_t node, uint32_t number,
                      fold_lane lane)
{
    return array_push(&f->pieces, (fold_piece){begin, end, node, number, lane});
}

/* The predecessor that ended last. */
static uint32_t find_binding(const fold *f, uint32_t node)
{
    uint32_t last = f->deps.at[f->dep_at[node]];
    for (uint32_t k = f->dep_at[node]; k < f->dep_at[node + 1]; k++)
        if (f->end_ns[f->deps.at[k]] > f->end_ns[last])
            last = f->deps.at[k];
    return last;
}

static int compare_cuts(const void *a, const void *b)
{
    const fold_cut *const x = a, *const y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

/* A device event that begins later than its launch returned waits for a boundary of the
 * host's lane at that time. */
static bool cut_at_late_starts(fold *f)
{
    const fold_spans *const cpu = &f->taken[FOLD_CPU];
    fold_spans idle = {0}; /* from the end of a part to a late start */
    bool ok = true;
    for (uint32_t i = 0; ok && i < f->n; i++) {
        if ((f->lane[i] != FOLD_GPU && f->lane[i] != FOLD_COMM) ||
            f->dep_at[i] == f->dep_at[i + 1] || f->n_parts[i] == 0)
            continue;
        const uint32_t cause = find_binding(f, i);
        const int64_t at = f->parts.at[f->part_at[i]].begin_ns;
        if (f->lane[cause] != FOLD_CPU ||
            fold_round_us(at) <= fold_round_us(f->end_ns[cause]))
            continue;
        const size_t k = find_span(cpu, at);
        f->clock_ns[i] = at;
        if (k > 0 && cpu->at[k - 1].end_ns > at)
            ok = array_push(&f->cuts, (fold_cut){cpu->at[k - 1].node, at});
        else if (k > 0 && cpu->at[k - 1].end_ns < at)
            ok = array_push(&idle, (fold_span){cpu->at[k - 1].end_ns, at, 0});
    }
    ok = ok && merge_spans(&idle, &(fold_spans){0});
    for (size_t first = 0, end; ok && first < idle.n; first = end) {
        fold_spans ends = {0};
        int64_t from = idle.at[first].begin_ns;
        for (end = first; ok && end < idle.n && idle.at[end].begin_ns == from; end++)
            ok = array_push(&ends, (fold_span){idle.at[end].end_ns, 0, 0});
        ok = ok && merge_spans(&ends, &(fold_spans){0});
        for (size_t i = 0; ok && i < ends.n; i++) {
            if (ends.at[i].begin_ns > from)
                ok = add_piece(f, from, ends.at[i].begin_ns, HALLEY_NO_NODE, 0, FOLD_CPU);
            from = ends.at[i].begin_ns;
        }
        array_fini(&ends);
    }
    array_fini(&idle);
    return ok;
}

static bool is_awaited_before(const fold *f, uint32_t node, int64_t at_ns)
{
    for (uint32_t k = f->user_at[node]; k < f->user_at[node + 1]; k++)
        if (f->begin_ns[f->users[k]] < at_ns)
            return true;
    return false;
}

/* Place a node that has no part of its own. */
static bool place_covered(fold *f, uint32_t node)
{
    const fold_spans *const taken = &f->taken[f->lane[node]];
    int64_t at = f->end_ns[node];
    const size_t i = find_span(taken, at);
    f->report->n_covered += f->end_ns[node] > f->begin_ns[node];
    if (i > 0 && at < taken->at[i - 1].end_ns) {
        if (!is_awaited_before(f, node, taken->at[i - 1].end_ns))
            at = taken->at[i - 1].end_ns;
        else if (!array_push(&f->cuts, (fold_cut){taken->at[i - 1].node, at}))
            return false;
    }
    return add_piece(f, at, at, node, 0, f->lane[node]);
}

/* Divide the parts of a node at its cuts. */
static bool cut_node(fold *f, uint32_t node, const fold_cut *cut, const fold_cut *end)
{
    uint32_t number = 0;
    for (uint32_t k = 0; k < f->n_parts[node]; k++) {
        const fold_span part = f->parts.at[f->part_at[node] + k];
        int64_t from = part.begin_ns;
        for (; cut < end && cut->at_ns < part.end_ns; cut++) {
            if (cut->at_ns <= from)
                continue;
            if (!add_piece(f, from, cut->at_ns, node, number++, f->lane[node]))
                return false;
            from = cut->at_ns;
        }
        if (!add_piece(f, from, part.end_ns, node, number++, f->lane[node]))
            return false;
    }
    return true;
}

static bool cut_nodes(fold *f)
{
    if (f->cuts.n > 1)
        qsort(f->cuts.at, f->cuts.n, sizeof *f->cuts.at, compare_cuts);
    const fold_cut *cut = f->cuts.at, *const last = cut + f->cuts.n;
    for (uint32_t i = 0; i < f->n; i++) {
        const fold_cut *end = cut;
        while (end < last && end->node == i)
            end++;
        if (f->n_parts[i] > 0 && !cut_node(f, i, cut, end))
            return false;
        cut = end;
    }
    return true;
}

/* Ids follow time. A piece of zero length comes before pieces that begin with it, because
 * ASTRA-sim issues ready nodes by id. */
static int compare_pieces(const void *a, const void *b)
{
    const fold_piece *const x = a, *const y = b;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    const bool x_zero = x->end_ns == x->begin_ns, y_zero = y->end_ns == y->begin_ns;
    if (x_zero != y_zero)
        return x_zero ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void count_device_time(fold *f)
{
    int64_t all = 0, own = 0;
    for (uint32_t i = 0; i < f->n; i++)
        all += f->lane[i] == FOLD_GPU ? f->end_ns[i] - f->begin_ns[i] : 0;
    for (size_t i = 0; i < f->taken[FOLD_GPU].n; i++)
        own += f->taken[FOLD_GPU].at[i].end_ns - f->taken[FOLD_GPU].at[i].begin_ns;
    f->report->device_s += (double)all * 1e-9;
    f->report->covered_s += (double)(all - own) * 1e-9;
}

bool fold_claim(fold *f, const halley_trace *trace, const halley_result *replay,
                uint32_t rank, halley_portable *report)
{
    const uint32_t n = halley_trace_count(trace);
    *f = (fold){.trace = trace,
                .n = n,
                .begin_ns = mem_array(n, sizeof *f->begin_ns),
                .end_ns = mem_array(n, sizeof *f->end_ns),
                .lane = mem_array(n, sizeof *f->lane),
                .dep_at = mem_array((size_t)n + 1, sizeof *f->dep_at),
                .user_at = mem_array_zero((size_t)n + 1, sizeof *f->user_at),
                .part_at = mem_array_zero(n, sizeof *f->part_at),
                .n_parts = mem_array_zero(n, sizeof *f->n_parts),
                .clock_ns = mem_array(n, sizeof *f->clock_ns),
                .report = report};
    if (!f->begin_ns || !f->end_ns || !f->lane || !f->dep_at || !f->user_at ||
        !f->part_at || !f->n_parts || !f->clock_ns)
        return false;
    if (!read_nodes(f, replay, rank) || !find_dependencies(f) || !claim_lanes(f) ||
        !cut_at_late_starts(f))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (f->lane[i] != FOLD_NO_LANE && f->n_parts[i] == 0 && !place_covered(f, i))
            return false;
    if (!cut_nodes(f))
        return false;
    count_device_time(f);
    if (f->pieces.n > 1)
        qsort(f->pieces.at, f->pieces.n, sizeof *f->pieces.at, compare_pieces);
    return true;
}

void fold_fini(fold *f)
{
    free(f->begin_ns);
    free(f->end_ns);
    free(f->lane);
    free(f->dep_at);
    array_fini(&f->deps);
    free(f->user_at);
    free(f->users);
    for (uint32_t i = 0; i < FOLD_N_LANES; i++)
        array_fini(&f->taken[i]);
    array_fini(&f->parts);
    free(f->part_at);
    free(f->n_parts);
    free(f->clock_ns);
    array_fini(&f->cuts);
    array_fini(&f->pieces);
}
