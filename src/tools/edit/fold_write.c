/*
 * Write the pieces of a folded recording.
 *
 * The first piece of a node is the node; further ones have its name, no inputs, and the
 * attribute part_of. On the host and on the device, a piece also depends on the piece
 * before it in its lane. So the order does not rest on the slots of a simulator.
 * What remains of a late start is a gap in the node's own lane, which is idle then.
 */
#include "base/error.h"
#include "base/hash.h"
#include "edit/fold.h"
#include "trace/core/edit.h"
#include "trace/core/groups.h"
#include "trace/core/roles.h"

#include <assert.h>
#include <string.h>

#define NO_GAP UINT64_MAX

/* Ids of pieces are their index in `pieces`, plus the gaps before them. */
typedef struct fold_writer {
    const fold *f;
    halley_builder *b;
    uint32_t n_ranks;
    const trace_groups *groups;
    uint32_t *piece_at; /* by node, n + 1: its pieces in piece_of */
    uint32_t *piece_of; /* indexes in f->pieces, in their order */
    uint32_t *cpu_ends; /* pieces of the host that take time, by end */
    size_t n_cpu_ends;
    uint64_t *ids; /* by piece */
    uint64_t next_id;
    uint64_t gap_id; /* the gap that the current piece waits for, or NO_GAP */
    uint32_t before[FOLD_N_LANES]; /* the last piece of each lane, or HALLEY_NO_NODE */
    ARRAY(uint32_t) deps;          /* pieces that the current one waits for */
} fold_writer;

static bool index_pieces(fold_writer *w)
{
    const fold *const f = w->f;
    w->piece_at = mem_array_zero((size_t)f->n + 2, sizeof *w->piece_at);
    w->piece_of = mem_array(f->pieces.n, sizeof *w->piece_of);
    w->cpu_ends = mem_array(f->pieces.n, sizeof *w->cpu_ends);
    w->ids = mem_array(f->pieces.n, sizeof *w->ids);
    if (!w->piece_at || !w->piece_of || !w->cpu_ends || !w->ids)
        return false;
    for (size_t i = 0; i < f->pieces.n; i++)
        if (f->pieces.at[i].node != HALLEY_NO_NODE)
            w->piece_at[f->pieces.at[i].node + 2]++;
    for (uint32_t i = 0; i < f->n; i++)
        w->piece_at[i + 2] += w->piece_at[i + 1];
    for (uint32_t i = 0; i < f->pieces.n; i++) {
        const fold_piece *const p = &f->pieces.at[i];
        if (p->node != HALLEY_NO_NODE)
            w->piece_of[w->piece_at[p->node + 1]++] = i;
        if (p->lane == FOLD_CPU && p->end_ns > p->begin_ns)
            w->cpu_ends[w->n_cpu_ends++] = i; /* disjoint, so also sorted by end */
    }
    return true;
}

/* The last piece of a node that has ended when piece `of` begins; HALLEY_NO_NODE. */
static uint32_t find_ended(const fold_writer *w, uint32_t node, uint32_t of)
{
    const fold_piece *const pieces = w->f->pieces.at;
    uint32_t found = HALLEY_NO_NODE;
    for (uint32_t i = w->piece_at[node]; i < w->piece_at[node + 1]; i++)
        if (w->piece_of[i] < of && pieces[w->piece_of[i]].end_ns <= pieces[of].begin_ns)
            found = w->piece_of[i];
    return found;
}

/* The piece of the host's lane that ends at a time; HALLEY_NO_NODE. */
static uint32_t find_host_end(const fold_writer *w, int64_t at_ns)
{
    size_t low = 0, high = w->n_cpu_ends;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (w->f->pieces.at[w->cpu_ends[mid]].end_ns < at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low < w->n_cpu_ends && w->f->pieces.at[w->cpu_ends[low]].end_ns == at_ns
               ? w->cpu_ends[low]
               : HALLEY_NO_NODE;
}

static bool add_dependency(fold_writer *w, uint32_t piece)
{
    for (size_t i = 0; i < w->deps.n; i++)
        if (w->deps.at[i] == piece)
            return true;
    return array_push(&w->deps, piece);
}

/* List what a piece waits for. False: no memory. */
static bool list_piece_dependencies(fold_writer *w, uint32_t i)
{
    const fold *const f = w->f;
    const fold_piece *const p = &f->pieces.at[i];
    w->deps.n = 0;
    bool ok = true;
    if (p->number > 0) {
        uint32_t k = w->piece_at[p->node];
        while (w->piece_of[k] != i)
            k++;
        ok = add_dependency(w, w->piece_of[k - 1]);
    } else if (p->node != HALLEY_NO_NODE) {
        for (uint32_t k = f->dep_at[p->node]; ok && k < f->dep_at[p->node + 1]; k++) {
            const uint32_t ended = find_ended(w, f->deps.at[k], i);
            f->report->n_lost += ended == HALLEY_NO_NODE;
            ok = ended == HALLEY_NO_NODE || add_dependency(w, ended);
        }
    }
    if (ok && p->lane != FOLD_COMM && w->before[p->lane] != HALLEY_NO_NODE)
        ok = add_dependency(w, w->before[p->lane]);
    if (ok && p->number == 0 && p->node != HALLEY_NO_NODE && f->clock_ns[p->node] >= 0) {
        const uint32_t cause = find_host_end(w, f->clock_ns[p->node]);
        if (cause != HALLEY_NO_NODE && cause < i)
            ok = add_dependency(w, cause);
    }
    return ok;
}

static void put_dependencies(fold_writer *w)
{
    if (w->gap_id != NO_GAP) {
        (void)halley_builder_data(w->b, w->gap_id);
        return;
    }
    for (size_t k = 0; k < w->deps.n; k++)
        (void)halley_builder_data(w->b, w->ids[w->deps.at[k]]);
}

static void put_piece_times(fold_writer *w, int64_t begin_ns, int64_t end_ns)
{
    const int64_t us = fold_round_us(begin_ns);
    (void)halley_builder_time(w->b, (uint64_t)us, (uint64_t)(fold_round_us(end_ns) - us));
    (void)halley_builder_attr_u64(w->b, HALLEY_ATTR_NAME_START_NS, (uint64_t)begin_ns);
    (void)halley_builder_attr_u64(w->b, HALLEY_ATTR_NAME_DURATION_NS,
                                  (uint64_t)(end_ns - begin_ns));
}

static halley_bytes lend_text(const char *text)
{
    return (halley_bytes){text, strlen(text)};
}

/* A broadcast takes its recorded duration under ASTRA-sim's rules. */
static void put_broadcast(fold_writer *w)
{
    (void)halley_builder_attr_i64(w->b, HALLEY_ATTR_NAME_COMM_TYPE,
                                  HALLEY_COLL_BROADCAST);
    (void)halley_builder_attr_i64(w->b, HALLEY_ATTR_NAME_COMM_SIZE, 1);
}

static void put_gap(fold_writer *w, fold_lane lane, int64_t from_ns, int64_t to_ns)
{
    const bool is_host = lane == FOLD_CPU;
    (void)halley_builder_node(w->b, w->next_id++,
                              lane == FOLD_COMM ? HALLEY_NODE_COLL : HALLEY_NODE_COMP,
                              lend_text(is_host ? "host gap" : "device gap"));
    put_dependencies(w);
    (void)halley_builder_attr_bool(w->b, HALLEY_ATTR_NAME_IS_CPU_OP, is_host);
    if (lane == FOLD_COMM)
        put_broadcast(w);
    put_piece_times(w, from_ns, to_ns);
    const double seconds = (double)(to_ns - from_ns) * 1e-9;
    w->f->report->n_gaps++;
    if (is_host)
        w->f->report->host_gap_s += seconds;
    else
        w->f->report->device_gap_s += seconds;
}

static bool is_one_of(halley_bytes name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(names[i]) == name.n && memcmp(names[i], name.at, name.n) == 0)
            return true;
    return false;
}

/* Attributes of times, which the pieces have of their own, and of lanes. */
static const char *const own_attrs[] = {
    HALLEY_ATTR_NAME_START_NS, HALLEY_ATTR_NAME_DURATION_NS,
    HALLEY_ATTR_NAME_INCLUSIVE_NS, HALLEY_ATTR_NAME_FREE_LANE};
/* Attributes that make a node a collective of a group. */
static const char *const comm_attrs[] = {
    HALLEY_ATTR_NAME_COMM_TYPE, HALLEY_ATTR_NAME_COMM_SIZE, HALLEY_ATTR_NAME_COMM_SIZES,
    HALLEY_ATTR_NAME_COMM_SRC,  HALLEY_ATTR_NAME_COMM_DST,  HALLEY_ATTR_NAME_COMM_TAG,
    HALLEY_ATTR_NAME_PG_NAME};
static const char *const part_attrs[] = {
    HALLEY_ATTR_NAME_IS_CPU_OP, HALLEY_ATTR_NAME_TID,  HALLEY_ATTR_NAME_STREAM,
    HALLEY_ATTR_NAME_DEVICE,    HALLEY_ATTR_NAME_STEP, HALLEY_ATTR_NAME_KERNEL_CLASS};
#define COUNT_OF(list) (sizeof(list) / sizeof *(list))

/* Whether all members of a group are ranks of the set. */
static bool has_group(const fold_writer *w, str name)
{
    if (name.n == 0 || str_eq(name, STR("0")))
        return true;
    for (size_t i = 0; i < w->groups->list.n; i++) {
        const trace_group *const g = &w->groups->list.at[i];
        bool is_inside = str_eq(g->name, name);
        for (uint32_t k = 0; is_inside && k < g->n_ranks; k++)
            is_inside = g->ranks[k] < w->n_ranks;
        if (is_inside)
            return true;
    }
    return false;
}

/* True if ASTRA-sim does not know this communication. */
static bool must_recode(const fold_writer *w, uint32_t node)
{
    trace_roles roles;
    uint64_t type, peer;
    trace_roles_read(&roles, w->f->trace, node);
    if (halley_node_type_of(w->f->trace, node) == HALLEY_NODE_COLL) {
        const halley_bytes group = trace_roles_group(&roles);
        return !trace_roles_u64(&roles, TRACE_ROLE_COMM_TYPE, &type) ||
               (type != HALLEY_COLL_ALL_REDUCE && type != HALLEY_COLL_ALL_GATHER &&
                type != HALLEY_COLL_BROADCAST && type != HALLEY_COLL_ALL_TO_ALL &&
                type != HALLEY_COLL_REDUCE_SCATTER &&
                type != HALLEY_COLL_REDUCE_SCATTER_BLOCK) ||
               !has_group(w, (str){group.at, group.n});
    }
    const trace_role end = halley_node_type_of(w->f->trace, node) == HALLEY_NODE_SEND
                               ? TRACE_ROLE_COMM_DST
                               : TRACE_ROLE_COMM_SRC;
    return !trace_roles_u64(&roles, end, &peer) || peer >= w->n_ranks;
}

/* The call tree: the node's parent, if it has ended by then. */
static void put_parents(fold_writer *w, uint32_t i)
{
    const fold *const f = w->f;
    const uint32_t node = f->pieces.at[i].node;
    for (uint32_t k = 0; k < halley_node_ctrl_count(f->trace, node); k++) {
        const uint32_t parent = halley_node_ctrl(f->trace, node, k).index;
        if (parent == HALLEY_NO_NODE || w->piece_at[parent] == w->piece_at[parent + 1])
            continue;
        const uint32_t first = w->piece_of[w->piece_at[parent]];
        if (first < i && f->pieces.at[first].end_ns <= f->pieces.at[i].begin_ns)
            (void)halley_builder_ctrl(w->b, w->ids[first]);
    }
}

static void put_attrs(fold_writer *w, uint32_t node, bool is_first, bool is_recoded)
{
    const halley_trace *const t = w->f->trace;
    for (uint32_t k = 0; k < halley_node_attr_count(t, node); k++) {
        const halley_attr attr = halley_node_attr(t, node, k);
        const bool is_kept =
            is_first ? !is_one_of(attr.name, own_attrs, COUNT_OF(own_attrs)) &&
                           !(is_recoded &&
                             is_one_of(attr.name, comm_attrs, COUNT_OF(comm_attrs)))
                     : is_one_of(attr.name, part_attrs, COUNT_OF(part_attrs));
        if (is_kept)
            (void)halley_builder_attr(w->b, &attr);
    }
}

static void put_piece(fold_writer *w, uint32_t i)
{
    const fold *const f = w->f;
    const fold_piece *const p = &f->pieces.at[i];
    const bool is_first = p->number == 0;
    const bool is_recoded = p->lane == FOLD_COMM && must_recode(w, p->node);
    (void)halley_builder_node(w->b, w->ids[i] = w->next_id++,
                              is_recoded ? HALLEY_NODE_COLL
                                         : halley_node_type_of(f->trace, p->node),
                              halley_node_name(f->trace, p->node));
    put_dependencies(w);
    if (is_first) {
        put_parents(w, i);
        const halley_io in = halley_node_inputs(f->trace, p->node),
                        out = halley_node_outputs(f->trace, p->node);
        if (in.present)
            (void)halley_builder_inputs(w->b, &in);
        if (out.present)
            (void)halley_builder_outputs(w->b, &out);
    }
    put_attrs(w, p->node, is_first, is_recoded);
    if (is_recoded)
        put_broadcast(w);
    f->report->n_recoded += is_recoded;
    if (!is_first)
        (void)halley_builder_attr_u64(w->b, HALLEY_ATTR_NAME_PART_OF,
                                      w->ids[w->piece_of[w->piece_at[p->node]]]);
    put_piece_times(w, p->begin_ns, p->end_ns);
}

/* When the last of what a piece waits for ends. */
static int64_t find_ready(const fold_writer *w, const fold_piece *p)
{
    int64_t ready = 0;
    for (size_t k = 0; k < w->deps.n; k++) {
        const int64_t end = w->f->pieces.at[w->deps.at[k]].end_ns;
        ready = end > ready ? end : ready;
    }
    if (p->lane == FOLD_COMM && w->before[FOLD_COMM] != HALLEY_NO_NODE) {
        const int64_t end = w->f->pieces.at[w->before[FOLD_COMM]].end_ns;
        ready = end > ready ? end : ready;
    }
    return ready;
}

/* A gap and what follows it are two nodes; the second waits for the first alone. */
static void put_with_gap(fold_writer *w, uint32_t i)
{
    const fold_piece *const p = &w->f->pieces.at[i];
    const int64_t ready = find_ready(w, p);
    const bool is_late = fold_round_us(p->begin_ns) > fold_round_us(ready);
    if (p->node == HALLEY_NO_NODE) {
        w->ids[i] = w->next_id;
        put_gap(w, FOLD_CPU, p->begin_ns, p->end_ns);
        return;
    }
    if (is_late) {
        const uint64_t id = w->next_id;
        put_gap(w, p->lane, ready, p->begin_ns);
        w->gap_id = id;
    }
    put_piece(w, i);
    w->gap_id = NO_GAP;
}

static halley_status put_pieces(fold_writer *w, halley_error *err)
{
    for (uint32_t lane = 0; lane < FOLD_N_LANES; lane++)
        w->before[lane] = HALLEY_NO_NODE;
    if (!index_pieces(w))
        return error_nomem(err);
    for (uint32_t i = 0; i < w->f->pieces.n; i++) {
        if (!list_piece_dependencies(w, i))
            return error_nomem(err);
        put_with_gap(w, i);
        w->before[w->f->pieces.at[i].lane] = i;
    }
    return HALLEY_OK;
}

static halley_status write_pieces(halley_trace **out, const fold *f, uint32_t n_ranks,
                                  const trace_groups *groups, halley_error *err)
{
    fold_writer w = {.f = f, .n_ranks = n_ranks, .groups = groups, .gap_id = NO_GAP};
    halley_status status = edit_start(&w.b, f->trace, err);
    if (status == HALLEY_OK)
        status = edit_finish(out, w.b, put_pieces(&w, err), err);
    f->report->n_before += f->n;
    f->report->n_nodes += w.next_id;
    free(w.piece_at);
    free(w.piece_of);
    free(w.cpu_ends);
    free(w.ids);
    array_fini(&w.deps);
    return status;
}

static halley_status fold_rank(halley_trace **out, halley_portable *report,
                               const halley_trace_set *set, const halley_result *replay,
                               const trace_groups *groups, uint32_t rank,
                               halley_error *err)
{
    fold f;
    const halley_trace *const trace = halley_trace_set_get(set, rank);
    const halley_status status =
        fold_claim(&f, trace, replay, rank, report)
            ? write_pieces(out, &f, halley_trace_set_count(set), groups, err)
            : error_nomem(err);
    fold_fini(&f);
    return status;
}

static halley_status fold_set(halley_trace_set **out, halley_portable *report,
                              const halley_trace_set *set, const halley_result *replay,
                              const trace_groups *groups, halley_error *err)
{
    const uint32_t n = halley_trace_set_count(set);
    halley_trace **const ranks = mem_array_zero(n, sizeof *ranks);
    halley_status status = ranks == NULL ? error_nomem(err) : HALLEY_OK;
    for (uint32_t r = 0; status == HALLEY_OK && r < n; r++)
        status = fold_rank(&ranks[r], report, set, replay, groups, r, err);
    if (status == HALLEY_OK)
        status = halley_trace_set_new(out, ranks, n, err);
    for (uint32_t r = 0; ranks != NULL && status != HALLEY_OK && r < n; r++)
        halley_trace_free(ranks[r]);
    free(ranks);
    return status;
}

halley_status halley_trace_make_portable(halley_trace_set **out, halley_portable *report,
                                         const halley_trace_set *set, halley_error *err)
{
    halley_result *replay;
    trace_groups groups = {0};
    *report = (halley_portable){.size = sizeof *report};
    TRY(halley_sim_replay(&replay, set, true, err));
    report->wall_s = halley_result_wall_s(replay);
    halley_status status = trace_groups_collect(&groups, set, err);
    if (status == HALLEY_OK)
        status = fold_set(out, report, set, replay, &groups, err);
    trace_groups_fini(&groups);
    halley_result_free(replay);
    return status;
}
