/*
 * Write a rebuilt recording as a trace.
 *
 * Ids follow time, so every dependency has a smaller id than the node that depends on it.
 * Lag nodes are numbered after all other nodes. An edge without a lag is a data
 * dependency. An edge with a lag goes through a node of that duration ("launch latency",
 * "stream gap", …). Such a node occupies no thread and no stream. A node without
 * predecessors is released at its recorded time by a node "recorded start". Control
 * dependencies are the call tree.
 */
#include "recording/record/emit.h"

#include "recording/record/shapes.h"
#include "trace/format/et.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A lag to be written: `to` starts this long after `from` ends (REC_NONE: after time
 * 0). */
typedef struct emit_lag {
    uint32_t from, to;
    rec_edge_kind kind;
} emit_lag;

/* An operator that launched compute kernels. */
typedef struct op_time {
    int64_t launched_ns; /* total duration of these kernels */
    uint32_t host;
} op_time;

typedef struct rec_emitter {
    const rec_graph *g;
    const record *rec;
    const rec_emit_opts *opts;
    rec_emit_counts *counts;
    halley_builder *b;
    uint32_t *ids; /* by node */
    ARRAY(emit_lag) lags;
    ARRAY(op_time) ops; /* by host event */
    bool *is_doubled;   /* by row: an earlier row has the same stream number */
    bool failed;
} rec_emitter;

static halley_bytes lend_bytes(str s)
{
    return (halley_bytes){s.at, s.n};
}

static const char *name_lag(rec_edge_kind kind, bool is_root)
{
    static const char *const names[REC_N_EDGE_KINDS] = {
        [REC_EDGE_CHAIN] = "thread gap",        [REC_EDGE_LAUNCH] = "launch latency",
        [REC_EDGE_STREAM] = "stream gap",       [REC_EDGE_EVENT] = "event wait gap",
        [REC_EDGE_GUESSED] = "event wait gap",  [REC_EDGE_WAIT] = "device wait latency",
        [REC_EDGE_HAND_OVER] = "hand-over gap", [REC_EDGE_BACKWARD] = "backward gap"};
    return is_root ? "recorded start" : names[kind];
}

static bool number_nodes_in_time(rec_emitter *m)
{
    rec_walk walk;
    uint32_t next = 0;
    if (!rec_walk_init(&walk, m->g))
        return false;
    for (uint32_t i; (i = rec_walk_next(&walk)) != REC_NONE;)
        if (rec_node_get_kind(m->g, i) != REC_NODE_HANDED)
            m->ids[i] = next++;
    rec_walk_fini(&walk);
    m->counts->n_nodes = next;
    return true;
}

/* Write a dependency, through a lag node if there is a lag. */
static void emit_dependency(rec_emitter *m, uint32_t from, uint32_t to, int64_t lag_ns,
                            rec_edge_kind kind)
{
    assert(lag_ns >= 0);
    m->counts->n_data_edges++;
    if (lag_ns == 0 && from != REC_NONE) {
        (void)halley_builder_data(m->b, m->ids[from]);
        return;
    }
    const uint64_t id = m->counts->n_nodes + m->lags.n;
    m->failed |= !array_push(&m->lags, (emit_lag){from, to, kind});
    (void)halley_builder_data(m->b, id);
}

static void emit_dependencies(rec_emitter *m, uint32_t i)
{
    const rec_graph *const g = m->g;
    const uint32_t before = rec_chain_before(g, i);
    const int64_t since_start = rec_node_begin(g, i) - m->opts->zero_ns;
    const int64_t binding_ns = rec_binding_end(g, i);
    size_t first;
    const size_t end = rec_find_edges(&first, g, i);
    if (before != REC_NONE)
        emit_dependency(m, before, i, rec_find_lag(g, before, i, binding_ns),
                        REC_EDGE_CHAIN);
    for (size_t k = first; k < end; k++) {
        const rec_edge *const e = &g->edges.at[k];
        if (e->from != before)
            emit_dependency(m, e->from, i, rec_find_lag(g, e->from, i, binding_ns),
                            e->kind);
    }
    if (before == REC_NONE && first == end && since_start > 0)
        emit_dependency(m, REC_NONE, i, since_start, REC_EDGE_CHAIN);
}

/* The host event that is the node's parent in the call tree; REC_NONE = none. */
static uint32_t find_parent_event(const rec_emitter *m, const rec_node *n)
{
    switch (n->kind) {
    case REC_NODE_RUN:
        return m->rec->hosts.at[n->owner].parent;
    case REC_NODE_REST:
        return n->owner;
    case REC_NODE_DEVICE:
        return m->rec->works.at[n->owner].op;
    default:
        return REC_NONE;
    }
}

static void emit_parent(rec_emitter *m, uint32_t i, const rec_node *n)
{
    const uint32_t event = find_parent_event(m, n);
    if (event == REC_NONE)
        return;
    const uint32_t parent = m->g->node_of_host[event];
    if (rec_node_end(m->g, parent) > n->begin_ns || m->ids[parent] >= m->ids[i])
        return;
    (void)halley_builder_ctrl(m->b, m->ids[parent]);
    m->counts->n_ctrl_edges++;
}

static void emit_times(rec_emitter *m, const rec_node *n)
{
    /* A call that waits is written with its own begin, but with the duration after the
     * wait. */
    const bool is_call = n->waits && n->kind == REC_NODE_RUN;
    const int64_t begin_ns =
        (is_call ? m->rec->hosts.at[n->owner].begin_ns : n->begin_ns) - m->opts->zero_ns;
    assert(begin_ns >= 0 && n->end_ns >= n->begin_ns);
    (void)halley_builder_attr_u64(m->b, HALLEY_ATTR_NAME_START_NS, (uint64_t)begin_ns);
    (void)halley_builder_attr_u64(m->b, HALLEY_ATTR_NAME_DURATION_NS,
                                  (uint64_t)(n->end_ns - n->begin_ns));
    if (n->kind == REC_NODE_RUN) {
        const rec_host *const event = &m->rec->hosts.at[n->owner];
        (void)halley_builder_attr_u64(m->b, HALLEY_ATTR_NAME_INCLUSIVE_NS,
                                      (uint64_t)(event->end_ns - event->begin_ns));
    }
}

static void emit_step(rec_emitter *m, int64_t at_ns)
{
    const uint32_t step = rec_step_at(m->rec, at_ns);
    if (step != REC_NONE)
        (void)halley_builder_attr_i64(m->b, HALLEY_ATTR_NAME_STEP,
                                      (int64_t)m->rec->steps.at[step].number);
}

static int64_t number_thread(const record *r, uint32_t thread)
{
    const uint64_t tid = r->threads.at[thread].tid;
    return tid <= INT64_MAX / 4 ? (int64_t)tid : (int64_t)thread + 1;
}

static uint32_t find_node_thread(const rec_emitter *m, const rec_node *n)
{
    return n->kind == REC_NODE_GAP ? n->owner : rec_host_thread(m->rec, n->owner);
}

static void emit_shapes(rec_emitter *m, const rec_host *event)
{
    const rec_detail *const d = rec_host_detail(m->rec, event);
    if (d == NULL)
        return;
    const halley_io io = {.present = d->dims != REC_NONE,
                          .shapes = lend_bytes(rec_text(m->rec, d->dims)),
                          .types = lend_bytes(rec_text(m->rec, d->types))};
    if (io.present)
        (void)halley_builder_inputs(m->b, &io);
}

static void emit_host_node(rec_emitter *m, const rec_node *n)
{
    const rec_host *const event =
        n->kind == REC_NODE_GAP ? NULL : &m->rec->hosts.at[n->owner];
    if (n->kind == REC_NODE_RUN)
        emit_shapes(m, event);
    (void)halley_builder_attr_i64(m->b, HALLEY_ATTR_NAME_TID,
                                  number_thread(m->rec, find_node_thread(m, n)));
    (void)halley_builder_attr_bool(m->b, HALLEY_ATTR_NAME_IS_CPU_OP, true);
    const rec_detail *const d =
        n->kind == REC_NODE_RUN ? rec_host_detail(m->rec, event) : NULL;
    if (d != NULL) {
        if (d->sequence != REC_NO_ID)
            (void)halley_builder_attr_i64(m->b, "seq_id", (int64_t)d->sequence);
        if (d->forward_tid != REC_NO_ID && d->forward_tid != 0)
            (void)halley_builder_attr_i64(m->b, "fw_tid", (int64_t)d->forward_tid);
    }
    emit_times(m, n);
    emit_step(m, n->begin_ns);
}

static const char *name_copy(const rec_emitter *m, const rec_work *w)
{
    const rec_rules *const rules = m->opts->rules;
    if (w->kind == REC_SET)
        return "set";
    return w->class_id == rules->copy_h2d   ? "HtoD"
           : w->class_id == rules->copy_d2h ? "DtoH"
           : w->class_id == rules->copy_p2p ? "PtoP"
                                            : "DtoD";
}

static void emit_copy(rec_emitter *m, const rec_work *w)
{
    (void)halley_builder_attr_text(m->b, "memory_op",
                                   lend_bytes(str_from(name_copy(m, w))));
    if (w->n_bytes == REC_NO_ID || w->n_bytes > INT64_MAX)
        return;
    /* With one operation, a roofline is bound by the bytes. */
    (void)halley_builder_attr_i64(m->b, HALLEY_ATTR_NAME_NUM_OPS, 1);
    (void)halley_builder_attr_u64(m->b, HALLEY_ATTR_NAME_TENSOR_SIZE, w->n_bytes);
}

static uint64_t share_work(uint64_t amount, int64_t part_ns, int64_t whole_ns)
{
    assert(part_ns <= whole_ns && whole_ns > 0);
    const uint64_t part =
        (uint64_t)((__extension__(unsigned __int128) amount * (uint64_t)part_ns) /
                   (uint64_t)whole_ns);
    return part > 0 ? part : 1;
}

static bool is_compute_kernel(const rec_emitter *m, const rec_work *w)
{
    return w->kind == REC_KERNEL && !w->is_sync &&
           !rec_class_is_comm(m->opts->rules, w->class_id);
}

/* The matmul shape of the operator: m, n, k and the number of matmuls, as an encoded
 * Int64List. */
static void emit_operator_gemm(rec_emitter *m, const rec_work *w)
{
    uint64_t shape[4];
    char bytes[64];
    size_t n = 2; /* after the tag of field 1 and the length */
    if (w->op == REC_NONE ||
        !str_eq(rec_class_name(m->opts->rules, w->class_id), STR("matmul")) ||
        !rec_matmul_shape(shape, m->rec, &m->rec->hosts.at[w->op]))
        return;
    for (size_t i = 0; i < 4; i++) {
        uint64_t value = shape[i];
        for (; value >= 128; value >>= 7)
            bytes[n++] = (char)(value | 128);
        bytes[n++] = (char)value;
    }
    bytes[0] = 0x0a;
    bytes[1] = (char)(n - 2);
    const halley_attr attr = {.name = lend_bytes(STR(HALLEY_ATTR_NAME_OPERATOR_GEMM)),
                              .kind = HALLEY_ATTR_INT64_LIST,
                              .bytes = {bytes, n}};
    (void)halley_builder_attr(m->b, &attr);
}

static int compare_op_times(const void *a, const void *b)
{
    const uint32_t x = ((const op_time *)a)->host, y = ((const op_time *)b)->host;
    return x < y ? -1 : x > y;
}

/* The work of an operator is divided among its kernels proportionally to their time. */
static void emit_kernel_work(rec_emitter *m, const rec_work *w)
{
    const op_time key = {.host = w->op};
    work whole;
    if (w->op == REC_NONE || !is_compute_kernel(m, w) ||
        !rec_host_work(&whole, m->rec, &m->rec->hosts.at[w->op]) || whole.n_bytes == 0)
        return;
    const op_time *const op =
        bsearch(&key, m->ops.at, m->ops.n, sizeof key, compare_op_times);
    assert(op != NULL);
    const int64_t part_ns = w->end_ns - w->begin_ns + 1;
    (void)halley_builder_attr_i64(
        m->b, HALLEY_ATTR_NAME_NUM_OPS,
        (int64_t)share_work(whole.n_ops, part_ns, op->launched_ns));
    (void)halley_builder_attr_u64(m->b, HALLEY_ATTR_NAME_TENSOR_SIZE,
                                  share_work(whole.n_bytes, part_ns, op->launched_ns));
    m->counts->n_with_work++;
}

/* Write the element type: that of the communication, else of the operator's first input.
 * It shows the format of matmuls. */
static void emit_dtype(rec_emitter *m, const rec_work *w, const rec_comm_info *comm)
{
    if (comm->dtype != REC_NONE) {
        (void)halley_builder_attr_text(m->b, HALLEY_ATTR_NAME_DTYPE,
                                       lend_bytes(rec_text(m->rec, comm->dtype)));
        return;
    }
    const rec_detail *const d =
        w->op == REC_NONE ? NULL : rec_host_detail(m->rec, &m->rec->hosts.at[w->op]);
    if (d == NULL)
        return;
    const str types = rec_text(m->rec, d->types);
    if (types.n < 5 || types.at[1] != '\'')
        return;
    str item = {types.at + 2, 0};
    while (item.at + item.n < types.at + types.n && item.at[item.n] != '\'')
        item.n++;
    if (item.n > 0 && !str_eq(item, STR("Scalar")) && !str_contains(item, STR("List")))
        (void)halley_builder_attr_text(m->b, HALLEY_ATTR_NAME_DTYPE, lend_bytes(item));
}

/* Choose the node type of a communication. It needs a size, a known group, and peers that
 * were recorded. Otherwise it stays work of the recorded duration. */
static halley_node_type choose_comm_type(rec_emitter *m, const rec_comm_info *c,
                                         const rec_group_info **group)
{
    *group = c->pg_name == REC_NONE
                 ? NULL
                 : rec_groups_find(m->opts->groups, rec_text(m->rec, c->pg_name));
    if (c->type == HALLEY_NODE_INVALID)
        return HALLEY_NODE_COMP;
    if (!c->has_size && c->coll != HALLEY_COLL_BARRIER) {
        m->counts->n_no_size++;
        return HALLEY_NODE_COMP;
    }
    if (c->type == HALLEY_NODE_COLL) {
        const uint64_t size = *group == NULL ? 0 : (*group)->size;
        if (size == 1 || c->n_bytes == 0)
            return HALLEY_NODE_COMP;
        if (*group != NULL && (*group)->number != 0 && (*group)->n_ranks == 0) {
            m->counts->n_no_group++;
            return HALLEY_NODE_COMP;
        }
        return HALLEY_NODE_COLL;
    }
    if (c->peer == REC_NO_ID || c->peer >= m->opts->n_ranks || c->n_bytes == 0) {
        m->counts->n_lonely++;
        return HALLEY_NODE_COMP;
    }
    return c->type;
}

static void emit_comm_attrs(rec_emitter *m, const rec_comm_info *c, halley_node_type type,
                            const rec_group_info *group)
{
    halley_builder *const b = m->b;
    char number[24];
    if (type == HALLEY_NODE_COLL)
        (void)halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_TYPE, (int64_t)c->coll);
    if (c->has_size && c->n_bytes <= INT64_MAX)
        (void)halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_SIZE, (int64_t)c->n_bytes);
    if (group != NULL) {
        const int n = snprintf(number, sizeof number, "%" PRIu64, group->number);
        (void)halley_builder_attr_text(b, HALLEY_ATTR_NAME_PG_NAME,
                                       (halley_bytes){number, (size_t)n});
    }
    const bool sends = c->type == HALLEY_NODE_SEND,
               receives = c->type == HALLEY_NODE_RECV;
    if ((sends || receives) && c->peer <= INT32_MAX) {
        const int32_t self =
            m->rec->job.rank <= INT32_MAX ? (int32_t)m->rec->job.rank : 0;
        (void)halley_builder_attr_i32(b, HALLEY_ATTR_NAME_COMM_SRC,
                                      sends ? self : (int32_t)c->peer);
        (void)halley_builder_attr_i32(b, HALLEY_ATTR_NAME_COMM_DST,
                                      sends ? (int32_t)c->peer : self);
        (void)halley_builder_attr_i32(b, HALLEY_ATTR_NAME_COMM_TAG, 0);
    }
}

static void emit_launch(rec_emitter *m, const rec_work *w)
{
    if (w->launch == REC_NONE)
        return;
    const rec_host *const call = &m->rec->hosts.at[w->launch];
    (void)halley_builder_attr_u64(m->b, HALLEY_ATTR_NAME_LAUNCH_NS,
                                  (uint64_t)(call->begin_ns - m->opts->zero_ns));
    (void)halley_builder_attr_u64(m->b, HALLEY_ATTR_NAME_CALL_NS,
                                  (uint64_t)(call->end_ns - call->begin_ns));
    if (rec_is_graph_launch(rec_text(m->rec, call->name)))
        (void)halley_builder_attr_bool(m->b, HALLEY_ATTR_NAME_FROM_GRAPH, true);
}

static void emit_device_node(rec_emitter *m, const rec_node *n, const rec_comm_info *comm,
                             halley_node_type type, const rec_group_info *group)
{
    const rec_work *const w = &m->rec->works.at[n->owner];
    const rec_row *const row = &m->rec->rows.at[w->row];
    (void)halley_builder_attr_bool(m->b, HALLEY_ATTR_NAME_IS_CPU_OP, false);
    (void)halley_builder_attr_i64(m->b, HALLEY_ATTR_NAME_STREAM,
                                  row->stream >= 0 ? row->stream : (int64_t)w->row);
    if (row->device <= INT32_MAX)
        (void)halley_builder_attr_i64(m->b, HALLEY_ATTR_NAME_DEVICE,
                                      (int64_t)row->device);
    if (n->overlaps || w->is_sync || m->is_doubled[w->row])
        (void)halley_builder_attr_bool(m->b, HALLEY_ATTR_NAME_FREE_LANE, true);
    (void)halley_builder_attr_text(
        m->b, HALLEY_ATTR_NAME_KERNEL_CLASS,
        lend_bytes(rec_class_name(m->opts->rules, w->class_id)));
    emit_comm_attrs(m, comm, type, group);
    if (w->kind != REC_KERNEL) {
        emit_copy(m, w);
    } else {
        emit_kernel_work(m, w);
        emit_operator_gemm(m, w);
    }
    emit_dtype(m, w, comm);
    emit_launch(m, w);
    emit_times(m, n);
    emit_step(m,
              w->launch == REC_NONE ? w->begin_ns : m->rec->hosts.at[w->launch].begin_ns);
}

static str name_node(const rec_emitter *m, const rec_node *n)
{
    switch (n->kind) {
    case REC_NODE_RUN:
        return rec_text(m->rec, m->rec->hosts.at[n->owner].name);
    case REC_NODE_DEVICE:
        return rec_text(m->rec, m->rec->works.at[n->owner].name);
    default:
        return STR("host gap");
    }
}

static void count_comm(rec_emit_counts *counts, halley_node_type type)
{
    counts->n_collectives += type == HALLEY_NODE_COLL;
    counts->n_sends += type == HALLEY_NODE_SEND;
    counts->n_recvs += type == HALLEY_NODE_RECV;
}

static void emit_node_of_graph(rec_emitter *m, uint32_t i)
{
    const rec_node node = rec_node_get(m->g, i), *const n = &node;
    halley_node_type type = HALLEY_NODE_COMP;
    rec_comm_info comm = {.dtype = REC_NONE};
    const rec_group_info *group = NULL;
    if (n->kind == REC_NODE_DEVICE) {
        comm = rec_comm_of_work(m->rec, m->opts->rules, &m->rec->works.at[n->owner]);
        type = choose_comm_type(m, &comm, &group);
        count_comm(m->counts, type);
    }
    (void)halley_builder_node(m->b, m->ids[i], (uint32_t)type,
                              lend_bytes(name_node(m, n)));
    (void)halley_builder_time(m->b, (uint64_t)(n->begin_ns - m->opts->zero_ns) / 1000,
                              ((uint64_t)(n->end_ns - n->begin_ns) + 500) / 1000);
    emit_dependencies(m, i);
    emit_parent(m, i, n);
    if (n->kind == REC_NODE_DEVICE)
        emit_device_node(m, n, &comm, type, group);
    else
        emit_host_node(m, n);
}

static void emit_lag_node(rec_emitter *m, size_t k)
{
    const emit_lag *const lag = &m->lags.at[k];
    const int64_t begin_ns =
        lag->from == REC_NONE ? 0 : rec_node_end(m->g, lag->from) - m->opts->zero_ns;
    const int64_t lag_ns =
        lag->from == REC_NONE
            ? rec_node_begin(m->g, lag->to) - m->opts->zero_ns
            : rec_find_lag(m->g, lag->from, lag->to, rec_binding_end(m->g, lag->to));
    (void)halley_builder_node(
        m->b, m->counts->n_nodes + k, HALLEY_NODE_COMP,
        lend_bytes(str_from(name_lag(lag->kind, lag->from == REC_NONE))));
    (void)halley_builder_time(m->b, (uint64_t)begin_ns / 1000,
                              ((uint64_t)lag_ns + 500) / 1000);
    if (lag->from != REC_NONE)
        (void)halley_builder_data(m->b, m->ids[lag->from]);
    (void)halley_builder_attr_bool(m->b, HALLEY_ATTR_NAME_IS_CPU_OP, true);
    (void)halley_builder_attr_bool(m->b, HALLEY_ATTR_NAME_FREE_LANE, true);
    (void)halley_builder_attr_u64(m->b, HALLEY_ATTR_NAME_START_NS, (uint64_t)begin_ns);
    (void)halley_builder_attr_u64(m->b, HALLEY_ATTR_NAME_DURATION_NS, (uint64_t)lag_ns);
    const rec_work *const w = rec_node_on_device(m->g, lag->to)
                                  ? &m->rec->works.at[lag->to - m->g->n_pieces]
                                  : NULL;
    emit_step(m, w != NULL && w->launch != REC_NONE ? m->rec->hosts.at[w->launch].begin_ns
                                                    : rec_node_begin(m->g, lag->to));
}

/* Write the groups with known members in the form of PyTorch's own node. */
static bool emit_group_node(rec_emitter *m, uint64_t id)
{
    const rec_groups *const g = m->opts->groups;
    strbuf values = {0};
    bool any = false;
    strbuf_add(&values, STR("['["));
    for (size_t i = 0; i < g->groups.n; i++) {
        const rec_group_info *const group = &g->groups.at[i];
        if (group->n_ranks < 2)
            continue;
        strbuf_printf(&values,
                      "%s{\"pg_name\": \"%" PRIu64 "\", \"pg_desc\": ", any ? ", " : "",
                      group->number);
        strbuf_json(&values, group->desc == REC_NONE
                                 ? STR("")
                                 : intern_text(&g->names, group->desc));
        strbuf_add(&values, STR(", \"ranks\": ["));
        for (uint32_t k = 0; k < group->n_ranks; k++)
            strbuf_printf(&values, "%s%" PRIu64, k > 0 ? ", " : "",
                          g->ranks.at[group->first + k]);
        strbuf_printf(&values, "], \"group_size\": %u, \"group_count\": %zu}",
                      group->n_ranks, g->groups.n);
        any = true;
    }
    strbuf_add(&values, STR("]']"));
    const halley_io io = {.present = true,
                          .values = lend_bytes(strbuf_str(&values)),
                          .shapes = {"[[]]", 4},
                          .types = {"['String']", 10}};
    if (any && !values.failed) {
        (void)halley_builder_node(m->b, id, HALLEY_NODE_METADATA,
                                  lend_bytes(STR("## process_group:init ##")));
        (void)halley_builder_inputs(m->b, &io);
        (void)halley_builder_attr_bool(m->b, HALLEY_ATTR_NAME_IS_CPU_OP, true);
        m->counts->n_nodes = id + 1;
    }
    const bool ok = !values.failed;
    strbuf_fini(&values);
    return ok;
}

static void emit_text_fact(halley_builder *b, const char *name, str value)
{
    const halley_attr attr = {.name = lend_bytes(str_from(name)),
                              .kind = HALLEY_ATTR_STRING,
                              .bytes = lend_bytes(value)};
    (void)halley_builder_metadata(b, &attr);
}

/* Add up the duration of the compute kernels of each operator. */
static bool add_up_operators(rec_emitter *m)
{
    const record *const r = m->rec;
    for (size_t i = 0; i < r->works.n; i++) {
        const rec_work *const w = &r->works.at[i];
        const op_time op = {.launched_ns = w->end_ns - w->begin_ns + 1, .host = w->op};
        if (w->op != REC_NONE && is_compute_kernel(m, w) && !array_push(&m->ops, op))
            return false;
    }
    if (m->ops.n == 0)
        return true;
    qsort(m->ops.at, m->ops.n, sizeof *m->ops.at, compare_op_times);
    size_t n = 1;
    for (size_t i = 1; i < m->ops.n; i++) {
        if (m->ops.at[i].host == m->ops.at[n - 1].host)
            m->ops.at[n - 1].launched_ns += m->ops.at[i].launched_ns;
        else
            m->ops.at[n++] = m->ops.at[i];
    }
    m->ops.n = n;
    return true;
}

static bool find_doubled_rows(rec_emitter *m)
{
    const record *const r = m->rec;
    m->is_doubled = mem_array_zero(r->rows.n, sizeof *m->is_doubled);
    for (size_t i = 0; m->is_doubled != NULL && i < r->rows.n; i++)
        for (size_t k = 0; k < i; k++)
            m->is_doubled[i] |= r->rows.at[k].stream == r->rows.at[i].stream;
    return m->is_doubled != NULL;
}

static void emit_all_nodes(rec_emitter *m)
{
    rec_walk walk;
    if (!rec_walk_init(&walk, m->g)) {
        m->failed = true;
        return;
    }
    for (uint32_t i; (i = rec_walk_next(&walk)) != REC_NONE;)
        if (rec_node_get_kind(m->g, i) != REC_NODE_HANDED)
            emit_node_of_graph(m, i);
    rec_walk_fini(&walk);
    for (size_t k = 0; k < m->lags.n; k++)
        emit_lag_node(m, k);
    m->counts->n_nodes += m->lags.n;
}

/* The groups are the last node, both in the file and in the remaining trace in memory. */
static halley_status emit_nodes_and_groups(rec_emitter *m, halley_error *err)
{
    if (m->opts->path != NULL)
        TRY(builder_stream_begin(m->b, m->opts->path, err));
    emit_all_nodes(m);
    const uint64_t id = m->counts->n_nodes;
    m->failed |= !emit_group_node(m, id);
    if (m->opts->path == NULL || m->failed)
        return HALLEY_OK;
    TRY(builder_stream_end(m->b, err));
    m->failed |= !emit_group_node(m, id);
    return HALLEY_OK;
}

static halley_status build_trace(halley_trace **out, rec_emitter *m, halley_error *err)
{
    m->ids = mem_array(m->g->n_nodes, sizeof *m->ids);
    if (m->ids == NULL || !add_up_operators(m) || !find_doubled_rows(m) ||
        !number_nodes_in_time(m))
        return error_nomem(err);
    TRY(halley_builder_new(&m->b, err));
    emit_text_fact(m->b, "recording", m->opts->facts);
    if (m->opts->recorded_on.n > 0)
        emit_text_fact(m->b, "recorded_on", m->opts->recorded_on);
    halley_trace *trace = NULL;
    halley_status status = emit_nodes_and_groups(m, err);
    const halley_status finished =
        halley_builder_finish(&trace, m->b, status == HALLEY_OK ? err : NULL);
    status = status == HALLEY_OK ? finished : status;
    if (status == HALLEY_OK && m->failed)
        status = error_nomem(err);
    if (status == HALLEY_OK)
        *out = trace;
    else
        halley_trace_free(trace);
    return status;
}

halley_status rec_emit(halley_trace **out, rec_emit_counts *counts, const rec_graph *g,
                       const rec_emit_opts *opts, halley_error *err)
{
    *counts = (rec_emit_counts){0};
    rec_emitter m = {.g = g, .rec = g->rec, .opts = opts, .counts = counts};
    const halley_status status = build_trace(out, &m, err);
    free(m.ids);
    array_fini(&m.ops);
    free(m.is_doubled);
    array_fini(&m.lags);
    return status;
}
