/*
 * Write the linked graph as a trace.
 *
 * Ids are those that Chakra's linker assigns, counting from 0: host nodes in the order of
 * their ids, each followed by what it launched, in order of time. Nodes that Chakra does
 * not have (sets, waits, gaps) are numbered after all of these. So a node that both
 * linkers write has the same id in both. Parents are control dependencies; everything
 * else is a data dependency.
 *
 * duration_micros is the whole self time of an operator, rounded, as Chakra counts it.
 * duration_ns is only the part at the operator's own place in the order. The rest of the
 * self time may be in gap nodes under the operator; only their duration_ns counts it. So
 * all times add up to the same total, whichever of the two attributes a reader uses.
 */
#include "recording/classes.h"
#include "recording/comm.h"
#include "recording/link.h"
#include "recording/work.h"

#include <stdlib.h>
#include <string.h>

/* Greater than every thread number of a host trace. */
static const int64_t DEVICE_THREAD = INT64_C(1) << 32;

/* A training step. */
typedef struct emit_range {
    int64_t begin_ns, end_ns, number;
} emit_range;

typedef struct emitter {
    link_graph *g;
    halley_builder *b;
    uint64_t *ids;    /* by node */
    uint32_t *order;  /* nodes in order of ids */
    uint32_t *dep_at; /* by node, n + 1: where its dependencies start */
    uint32_t *deps;   /* nodes */
    bool *on_device;  /* by host node, in a trace without devices: it runs on a device */
    work *works;      /* by host node; n_ops and n_bytes 0 = none */
    int64_t *launched_ns; /* by host node: time of what it launched, to divide its work */
    uint64_t *tids;  /* by thread of the device trace: its number in the host trace */
    int64_t zero_ns; /* the time that is written as 0 */
    bool has_gpu;    /* kernels have the work, not host nodes */
    bool *failed;    /* no memory */
    ARRAY(emit_range) steps;
    link_classes classes; /* of what ran on the device */
} emitter;

static halley_bytes bytes_of(str s)
{
    return (halley_bytes){s.at, s.n};
}

/* Does Chakra's linker write this node? */
static bool is_chakras(const link_graph *g, const link_node *n)
{
    return n->kind == LINK_HOST || (n->kind == LINK_GPU && !n->is_twin &&
                                    g->device->events.at[n->ref].kind != DEVICE_SET);
}

/* Nodes are in order of time already. Sort those of Chakra by parent, and put the others
 * after them. */
static bool number_nodes(emitter *m)
{
    const link_graph *const g = m->g;
    const size_t n = g->nodes.n, n_host = g->host->nodes.n;
    uint32_t *const at = mem_array_zero(n_host + 2, sizeof *at);
    if (!at)
        return false;
    for (size_t i = 0; i < n; i++) {
        const link_node *const node = &g->nodes.at[i];
        const size_t slot = !is_chakras(g, node) ? n_host : i < n_host ? i : node->parent;
        at[slot + 1]++;
    }
    for (size_t i = 0; i <= n_host; i++)
        at[i + 1] += at[i];
    for (uint32_t i = 0; i < n; i++) {
        const link_node *const node = &g->nodes.at[i];
        const size_t slot = !is_chakras(g, node) ? n_host : i < n_host ? i : node->parent;
        m->ids[i] = at[slot];
        m->order[at[slot]++] = i;
    }
    free(at);
    return true;
}

/* Turn edges into lists of dependencies without duplicates, smallest id first. */
static bool sort_edges(emitter *m)
{
    const link_graph *const g = m->g;
    const size_t n = g->nodes.n;
    m->dep_at = mem_array_zero(n + 2, sizeof *m->dep_at);
    m->deps = mem_array(g->edges.n, sizeof *m->deps);
    if (!m->dep_at || !m->deps || g->edges.n >= UINT32_MAX)
        return false;
    for (size_t i = 0; i < g->edges.n; i++)
        m->dep_at[g->edges.at[i].to + 2]++;
    for (size_t i = 1; i < n + 1; i++)
        m->dep_at[i + 1] += m->dep_at[i];
    for (size_t i = 0; i < g->edges.n; i++) /* as ids, to sort them */
        m->deps[m->dep_at[g->edges.at[i].to + 1]++] =
            (uint32_t)m->ids[g->edges.at[i].from];
    for (size_t i = 0; i < n; i++)
        mem_sort_u32(m->deps + m->dep_at[i], m->dep_at[i + 1] - m->dep_at[i]);
    return true;
}

/* Find the work of host nodes that launched something. */
static void find_launched_work(emitter *m)
{
    const link_graph *const g = m->g;
    for (uint32_t i = 0; i < g->host->nodes.n; i++) {
        if (m->launched_ns[i] == 0)
            continue;
        const host_io io = host_io_get(g->host, i);
        if (!work_of(&m->works[i], link_name(g, i), &io))
            m->works[i] = (work){0};
    }
}

static uint64_t add_limited(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* What a host node contains; nodes are visited from the last to the first. */
typedef struct inside {
    uint64_t n_bytes;
    bool any, product;
} inside;

static bool is_no_kernel(str name)
{
    static const char *const names[] = {
        "aten::empty", "aten::detach",    "aten::view",
        "aten::t",     "aten::transpose", "aten::as_strided",
        "aten::slice", "aten::reshape",   "aten::expand"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_starts(name, str_from(names[i])) &&
            (name.n == strlen(names[i]) || name.at[strlen(names[i])] == '_' ||
             strcmp(names[i], "aten::empty") == 0))
            return true;
    return false;
}

/* In a trace without devices: does an operator launch work of its own on a device? The
 * last entry of a tensor names its device. */
static bool names_device(str name, const host_io *io)
{
    return !is_no_kernel(name) && (str_contains(io->values, STR("cuda:")) ||
                                   str_contains(io->out_values, STR("cuda:")));
}

/*
 * Find what host nodes compute in a trace without devices.
 *
 * Operators call other operators, and the innermost one has the work. A matmul,
 * convolution or attention operator has the work whatever it calls, unless it calls
 * another of these. Any other aten:: operator has work if what it calls moves at most
 * half of its own bytes. Everything else (autograd functions, annotations) has work only
 * if it calls nothing. Children have greater ids than their parents.
 */
static bool find_host_work(emitter *m)
{
    const link_graph *const g = m->g;
    const size_t n = g->host->nodes.n;
    inside *const below = mem_array_zero(n, sizeof *below);
    for (uint32_t i = (uint32_t)n; below && i-- > 0;) {
        const str name = link_name(g, i);
        const host_io io = host_io_get(g->host, i);
        const uint32_t parent = g->nodes.at[i].parent;
        const bool product = work_is_product(name);
        inside *const in = &below[i];
        work w;
        const bool computes =
            product ? !in->product
                    : !in->product && (!in->any || str_starts(name, STR("aten::")));
        if (computes && work_of(&w, name, &io) &&
            (product || in->n_bytes <= w.n_bytes / 2)) {
            m->works[i] = w;
            m->on_device[i] = names_device(name, &io);
            in->n_bytes = add_limited(in->n_bytes, w.n_bytes);
        }
        if (parent == LINK_NONE)
            continue;
        inside *const up = &below[parent];
        up->any = true;
        up->product |= product || in->product;
        up->n_bytes = add_limited(up->n_bytes, in->n_bytes);
    }
    const bool ok = below != NULL;
    free(below);
    return ok;
}

static bool find_work(emitter *m)
{
    const link_graph *const g = m->g;
    for (size_t i = g->host->nodes.n; i < g->nodes.n; i++)
        if (g->nodes.at[i].kind == LINK_GPU) {
            m->has_gpu = true;
            m->launched_ns[g->nodes.at[i].parent] += g->nodes.at[i].duration_ns + 1;
        }
    if (!m->has_gpu)
        return find_host_work(m);
    find_launched_work(m);
    return true;
}

static uint64_t share(uint64_t amount, int64_t part_ns, int64_t whole_ns)
{
    return (uint64_t)((__extension__(unsigned __int128) amount * (uint64_t)part_ns) /
                      (uint64_t)whole_ns);
}

static halley_node_type type_of(const emitter *m, uint32_t i)
{
    const link_graph *const g = m->g;
    if (m->g->comm_of[i] != LINK_NONE)
        return m->g->comms.at[m->g->comm_of[i]].type;
    return link_declares_groups(g, i) ? HALLEY_NODE_METADATA : HALLEY_NODE_COMP;
}

static void emit_comm(const emitter *m, uint32_t i)
{
    halley_builder *const b = m->b;
    const comm_info *const c = &m->g->comms.at[m->g->comm_of[i]];
    if (c->type == HALLEY_NODE_COLL)
        (void)halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_TYPE, (int64_t)c->coll);
    if (c->has_size && c->n_bytes <= INT64_MAX)
        (void)halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_SIZE, (int64_t)c->n_bytes);
    char number[24];
    if (c->group.n > 0)
        (void)halley_builder_attr_text(
            b, "pg_name", bytes_of(link_names_get(m->g->names, c->group, number)));
    if (c->source <= INT32_MAX)
        (void)halley_builder_attr_i32(b, HALLEY_ATTR_NAME_COMM_SRC, (int32_t)c->source);
    if (c->destination <= INT32_MAX)
        (void)halley_builder_attr_i32(b, HALLEY_ATTR_NAME_COMM_DST,
                                      (int32_t)c->destination);
    if (c->type != HALLEY_NODE_COLL)
        (void)halley_builder_attr_i32(b, HALLEY_ATTR_NAME_COMM_TAG,
                                      c->tag <= INT32_MAX ? (int32_t)c->tag : 0);
    if (c->dtype.n > 0)
        (void)halley_builder_attr_text(b, HALLEY_ATTR_NAME_DTYPE, bytes_of(c->dtype));
}

/* The copy's direction, as in "Memcpy HtoD (Pinned -> Device)"; "" = none. */
static str direction_of(str name)
{
    static const char *const known[] = {"HtoD", "DtoH", "DtoD", "HtoH", "PtoP"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_contains(name, str_from(known[i])))
            return str_from(known[i]);
    return STR("");
}

static void emit_device(const emitter *m, uint32_t i)
{
    const link_graph *const g = m->g;
    const device_event *const event = &g->device->events.at[g->nodes.at[i].ref];
    const bool moves = event->kind != DEVICE_KERNEL;
    if (moves) {
        const str direction =
            event->kind == DEVICE_SET ? STR("set") : direction_of(link_name(g, i));
        (void)halley_builder_attr_text(m->b, "memory_op",
                                       bytes_of(direction.n ? direction : STR("copy")));
        /* With one operation, a roofline is bound by the bytes. */
        if (event->extra != DEVICE_NONE) {
            (void)halley_builder_attr_i64(m->b, HALLEY_ATTR_NAME_NUM_OPS, 1);
            (void)halley_builder_attr_u64(m->b, HALLEY_ATTR_NAME_TENSOR_SIZE,
                                          g->device->bytes.at[event->extra]);
        }
        return;
    }
    const uint32_t parent = g->nodes.at[i].parent;
    const work *const w = &m->works[parent];
    if (m->g->comm_of[i] != LINK_NONE || w->n_bytes == 0)
        return;
    const int64_t part = g->nodes.at[i].duration_ns + 1, whole = m->launched_ns[parent];
    const uint64_t ops = share(w->n_ops, part, whole);
    const uint64_t bytes = share(w->n_bytes, part, whole);
    (void)halley_builder_attr_i64(m->b, HALLEY_ATTR_NAME_NUM_OPS,
                                  ops > 0 ? (int64_t)ops : 1);
    (void)halley_builder_attr_u64(m->b, HALLEY_ATTR_NAME_TENSOR_SIZE,
                                  bytes > 0 ? bytes : 1);
    g->report->n_with_work++;
}

static void emit_io(const emitter *m, uint32_t host)
{
    host_io io = host_io_get(m->g->host, host);
    strbuf renamed = {0};
    if (m->g->names->texts.n > 0 && link_declares_groups(m->g, host)) {
        link_names_rewrite(&renamed, m->g->names, io.values);
        io.values = strbuf_str(&renamed);
        *m->failed |= renamed.failed;
    }
    const halley_io in = {.present = io.values.n + io.shapes.n + io.types.n > 0,
                          .values = bytes_of(io.values),
                          .shapes = bytes_of(io.shapes),
                          .types = bytes_of(io.types)};
    const halley_io out = {.present =
                               io.out_values.n + io.out_shapes.n + io.out_types.n > 0,
                           .values = bytes_of(io.out_values),
                           .shapes = bytes_of(io.out_shapes),
                           .types = bytes_of(io.out_types)};
    if (in.present)
        (void)halley_builder_inputs(m->b, &in);
    if (out.present)
        (void)halley_builder_outputs(m->b, &out);
    strbuf_fini(&renamed);
    host_io_release(m->g->host, host);
}

/* Write the attributes that Chakra's converter keeps of a host node, in its order. */
static void emit_host(const emitter *m, uint32_t host)
{
    const host_node *const n = &m->g->host->nodes.at[host];
    halley_builder *const b = m->b;
    (void)halley_builder_attr_i64(b, "rf_id", (int64_t)n->rf_id);
    (void)halley_builder_attr_i64(b, "fw_parent", (int64_t)n->fw_parent);
    (void)halley_builder_attr_i64(b, "seq_id", n->seq_id);
    (void)halley_builder_attr_i64(b, "scope", (int64_t)n->scope);
    (void)halley_builder_attr_i64(b, HALLEY_ATTR_NAME_TID, (int64_t)n->tid);
    (void)halley_builder_attr_i64(b, "fw_tid", (int64_t)n->fw_tid);
    const str schema = n->op_schema == HOST_NONE
                           ? STR("")
                           : intern_text(&m->g->host->texts, n->op_schema);
    (void)halley_builder_attr_text(b, "op_schema", bytes_of(schema));
}

static uint32_t host_of_node(const link_graph *g, uint32_t i)
{
    while (i != LINK_NONE && g->nodes.at[i].kind != LINK_HOST)
        i = g->nodes.at[i].parent;
    return i;
}

static void emit_edges(const emitter *m, uint32_t i)
{
    const link_graph *const g = m->g;
    const uint32_t parent = g->nodes.at[i].parent;
    for (uint32_t k = m->dep_at[i]; k < m->dep_at[i + 1]; k++)
        if (k == m->dep_at[i] || m->deps[k] != m->deps[k - 1]) {
            (void)halley_builder_data(m->b, m->deps[k]);
            g->report->n_data_edges++;
        }
    if (parent == LINK_NONE)
        return;
    if (!link_before(g, parent, i)) {
        g->report->n_against_time++;
        return;
    }
    (void)halley_builder_ctrl(m->b, m->ids[parent]);
    g->report->n_ctrl_edges++;
}

/* Each host thread that communicates has a stream of its own for that. */
static int64_t stream_of(const link_graph *g, uint32_t i)
{
    const link_node *const n = &g->nodes.at[i];
    const device_trace *const d = g->device;
    if (n->kind == LINK_GPU)
        return (int64_t)d->streams.at[d->events.at[n->ref].place].stream;
    if (g->comm_of[i] == LINK_NONE || !n->timed)
        return 0;
    return (int64_t)d->events.at[g->event_of[i]].place;
}

/* The thread of a gap that is inside no operator. A stream's gaps have a thread of their
 * own. */
static void emit_gap_thread(const emitter *m, const link_node *n)
{
    const int64_t tid = n->ref == LINK_NONE ? DEVICE_THREAD + (int64_t)n->stream
                                            : (int64_t)m->tids[n->ref];
    (void)halley_builder_attr_i64(m->b, HALLEY_ATTR_NAME_TID, tid);
}

/* In a trace without devices: the operator's own work. */
static void emit_host_work(const emitter *m, uint32_t i)
{
    if (m->has_gpu || m->works[i].n_bytes == 0 || m->g->comm_of[i] != LINK_NONE)
        return;
    (void)halley_builder_attr_i64(m->b, HALLEY_ATTR_NAME_NUM_OPS,
                                  (int64_t)m->works[i].n_ops);
    (void)halley_builder_attr_u64(m->b, HALLEY_ATTR_NAME_TENSOR_SIZE,
                                  m->works[i].n_bytes);
    m->g->report->n_with_work++;
}

/* From recorded start to recorded end, children included. */
static uint64_t whole_length(const link_graph *g, uint32_t i)
{
    const link_node *const n = &g->nodes.at[i];
    const uint32_t event = n->kind == LINK_HOST ? g->event_of[i] : n->ref;
    return (uint64_t)g->device->events.at[event].duration_ns;
}

/* List the ranges "ProfilerStep#N" of the device trace, which is in order of time. */
static bool list_steps(emitter *m)
{
    static const str mark = {"ProfilerStep#", 13};
    const device_trace *const d = m->g->device;
    for (size_t i = 0; d != NULL && i < d->events.n; i++) {
        const device_event *const event = &d->events.at[i];
        uint64_t number;
        if (!device_is_op(event->kind))
            continue;
        const str name = intern_text(&d->texts, event->name);
        if (str_starts(name, mark) &&
            str_to_u64((str){name.at + mark.n, name.n - mark.n}, &number) &&
            !array_push(&m->steps, (emit_range){event->start_ns, device_end(event),
                                                (int64_t)number}))
            return false;
    }
    return true;
}

/* A node belongs to the step in which it starts. Device work belongs to the step in which
 * the operator that launched it starts. */
static void emit_step_number(const emitter *m, uint32_t i, uint32_t host)
{
    const link_node *const n = &m->g->nodes.at[i];
    const link_node *const by =
        n->kind == LINK_GPU && host != LINK_NONE ? &m->g->nodes.at[host] : n;
    for (size_t k = 0; k < m->steps.n; k++)
        if (by->timed && by->start_ns >= m->steps.at[k].begin_ns &&
            by->start_ns < m->steps.at[k].end_ns) {
            (void)halley_builder_attr_i64(m->b, HALLEY_ATTR_NAME_STEP,
                                          m->steps.at[k].number);
            return;
        }
}

/* The class of a kernel, copy or set, and when and how it was launched. */
static void emit_class(const emitter *m, const link_node *n)
{
    const device_event *const event = &m->g->device->events.at[n->ref];
    const rec_work *const w =
        n->is_twin ? NULL
                   : link_classes_find(&m->classes, event->start_ns, device_end(event),
                                       intern_text(&m->g->device->texts, event->name));
    if (w == NULL)
        return;
    const record *const r = &m->classes.list.ranks.at[0];
    const rec_host *const call = w->launch == REC_NONE ? NULL : &r->hosts.at[w->launch];
    const uint64_t device = r->rows.at[w->row].device;
    (void)halley_builder_attr_text(
        m->b, HALLEY_ATTR_NAME_KERNEL_CLASS,
        bytes_of(rec_class_name(&m->classes.rules, w->class_id)));
    if (device <= INT32_MAX)
        (void)halley_builder_attr_i64(m->b, HALLEY_ATTR_NAME_DEVICE, (int64_t)device);
    if (call == NULL || call->begin_ns < m->zero_ns)
        return;
    (void)halley_builder_attr_u64(m->b, HALLEY_ATTR_NAME_LAUNCH_NS,
                                  (uint64_t)(call->begin_ns - m->zero_ns));
    (void)halley_builder_attr_u64(m->b, HALLEY_ATTR_NAME_CALL_NS,
                                  (uint64_t)(call->end_ns - call->begin_ns));
    if (rec_is_graph_launch(rec_text(r, call->name)))
        (void)halley_builder_attr_bool(m->b, HALLEY_ATTR_NAME_FROM_GRAPH, true);
}

static void emit_node(const emitter *m, uint32_t i)
{
    const link_graph *const g = m->g;
    halley_builder *const b = m->b;
    const link_node *const n = &g->nodes.at[i];
    (void)halley_builder_node(b, m->ids[i], (uint32_t)type_of(m, i),
                              bytes_of(link_name(g, i)));
    const int64_t start = n->timed ? n->start_ns - m->zero_ns : 0;
    const int64_t own = n->is_split ? 0 : n->duration_ns + n->split_ns;
    (void)halley_builder_time(b, (uint64_t)start / 1000, ((uint64_t)own + 500) / 1000);
    emit_edges(m, i);
    if (n->kind == LINK_HOST)
        emit_io(m, i);
    const uint32_t host = host_of_node(g, i);
    if (host != LINK_NONE)
        emit_host(m, host);
    else if (n->kind == LINK_GAP)
        emit_gap_thread(m, n);
    /* Communication is never a CPU operator, even if a host thread does it. */
    (void)halley_builder_attr_bool(b, HALLEY_ATTR_NAME_IS_CPU_OP,
                                   n->kind != LINK_GPU && g->comm_of[i] == LINK_NONE &&
                                       !(n->kind == LINK_HOST && m->on_device[i]));
    (void)halley_builder_attr_i64(b, HALLEY_ATTR_NAME_STREAM, stream_of(g, i));
    if (g->comm_of[i] != LINK_NONE)
        emit_comm(m, i);
    if (n->kind == LINK_GPU) {
        emit_device(m, i);
        emit_class(m, n);
    } else if (n->kind == LINK_HOST)
        emit_host_work(m, i);
    if (n->timed) {
        (void)halley_builder_attr_u64(b, HALLEY_ATTR_NAME_START_NS, (uint64_t)start);
        (void)halley_builder_attr_u64(b, HALLEY_ATTR_NAME_DURATION_NS,
                                      (uint64_t)n->duration_ns);
        if (n->kind == LINK_HOST || n->kind == LINK_WAIT)
            (void)halley_builder_attr_u64(b, "inclusive_ns", whole_length(g, i));
    }
    emit_step_number(m, i, host);
}

/* Write groups and their ranks in the form of PyTorch's own node. */
static bool describe_groups(strbuf *to, const device_trace *d, const link_names *names)
{
    strbuf_add(to, STR("['["));
    for (size_t i = 0; i < d->job.groups.n; i++) {
        const job_group *const group = &d->job.groups.at[i];
        char number[24];
        strbuf_add(to, i ? STR(", {\"pg_name\": ") : STR("{\"pg_name\": "));
        strbuf_json(to,
                    link_names_get(names, intern_text(&d->texts, group->name), number));
        strbuf_add(to, STR(", \"pg_desc\": "));
        strbuf_json(to, group->desc == DEVICE_NONE ? STR("")
                                                   : intern_text(&d->texts, group->desc));
        strbuf_add(to, STR(", \"ranks\": ["));
        for (uint32_t k = 0; k < group->n_ranks; k++)
            strbuf_printf(to, "%s%llu", k ? ", " : "",
                          (unsigned long long)d->job.ranks.at[group->first + k]);
        strbuf_printf(to, "], \"group_size\": %u, \"group_count\": %zu}", group->n_ranks,
                      d->job.groups.n);
    }
    strbuf_add(to, STR("]']"));
    return !to->failed;
}

/* Write a node for the groups that only the device trace has. */
static bool emit_groups(emitter *m)
{
    const link_graph *const g = m->g;
    if (!g->device || g->device->job.groups.n == 0)
        return true;
    for (uint32_t i = 0; i < g->host->nodes.n; i++)
        if (type_of(m, i) == HALLEY_NODE_METADATA)
            return true;
    strbuf values = {0};
    const bool ok = describe_groups(&values, g->device, g->names);
    const halley_io io = {.present = true,
                          .values = {values.at, values.n},
                          .shapes = {"[[]]", 4},
                          .types = {"['String']", 10}};
    if (ok) {
        (void)halley_builder_node(m->b, g->nodes.n, HALLEY_NODE_METADATA,
                                  bytes_of(STR("## process_group:init ##")));
        (void)halley_builder_inputs(m->b, &io);
        (void)halley_builder_attr_bool(m->b, HALLEY_ATTR_NAME_IS_CPU_OP, true);
        g->report->n_nodes++;
    }
    strbuf_fini(&values);
    return ok;
}

static void emit_metadata(const emitter *m)
{
    const host_trace *const h = m->g->host;
    const struct {
        const char *name;
        uint32_t text;
        uint64_t number;
    } attrs[] = {{"schema", h->schema, 0},
                 {"pid", HOST_NONE, h->pid},
                 {"time", h->time, 0},
                 {"start_ts", HOST_NONE, h->start_ts},
                 {"finish_ts", HOST_NONE, h->finish_ts}};
    for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++) {
        halley_attr attr = {.name = {attrs[i].name, strlen(attrs[i].name)},
                            .kind = i % 2 == 0 && i < 3 ? HALLEY_ATTR_STRING
                                                        : HALLEY_ATTR_UINT64,
                            .bits = attrs[i].number};
        if (attr.kind == HALLEY_ATTR_STRING)
            attr.bytes = bytes_of(attrs[i].text == HOST_NONE
                                      ? STR("")
                                      : intern_text(&h->texts, attrs[i].text));
        (void)halley_builder_metadata(m->b, &attr);
    }
    const halley_attr facts = {.name = {"device_recording", strlen("device_recording")},
                               .kind = HALLEY_ATTR_STRING,
                               .bytes = bytes_of(strbuf_str(&m->classes.facts))};
    if (facts.bytes.n > 0)
        (void)halley_builder_metadata(m->b, &facts);
}

static void fini(emitter *m)
{
    free(m->ids);
    free(m->order);
    free(m->dep_at);
    free(m->deps);
    free(m->works);
    free(m->on_device);
    array_fini(&m->steps);
    free(m->launched_ns);
    free(m->tids);
    link_classes_fini(&m->classes);
}

static bool prepare(emitter *m)
{
    const size_t n = m->g->nodes.n, n_host = m->g->host->nodes.n;
    m->ids = mem_array(n, sizeof *m->ids);
    m->order = mem_array(n, sizeof *m->order);
    m->works = mem_array_zero(n_host, sizeof *m->works);
    m->on_device = mem_array_zero(n_host, sizeof *m->on_device);
    m->launched_ns = mem_array_zero(n_host, sizeof *m->launched_ns);
    m->tids = mem_array_zero(m->g->n_threads, sizeof *m->tids);
    if (!m->ids || !m->order || !m->works || !m->on_device || !m->launched_ns || !m->tids)
        return false;
    for (size_t i = n_host; m->g->device && i-- > 0;)
        if (m->g->event_of[i] != LINK_NONE)
            m->tids[m->g->device->events.at[m->g->event_of[i]].place] =
                m->g->host->nodes.at[i].tid;
    if (!number_nodes(m) || !sort_edges(m) || !list_steps(m))
        return false;
    return find_work(m);
}

halley_status link_emit(halley_trace **out, link_graph *g, int64_t zero_ns,
                        halley_error *err)
{
    bool failed = false;
    emitter m = {.g = g, .zero_ns = zero_ns, .failed = &failed};
    halley_status status = prepare(&m) ? HALLEY_OK : error_nomem(err);
    if (status == HALLEY_OK && g->opts.classes && m.has_gpu && g->device_path != NULL)
        status = link_classes_read(&m.classes, g->device_path, g->report, zero_ns, err);
    g->report->lacks_classes = g->opts.classes && m.has_gpu && g->device_path != NULL &&
                               m.classes.list.ranks.n == 0;
    if (status == HALLEY_OK)
        status = halley_builder_new(&m.b, err);
    if (status == HALLEY_OK) {
        emit_metadata(&m);
        for (size_t i = 0; i < g->nodes.n; i++)
            emit_node(&m, m.order[i]);
        g->report->n_nodes = g->nodes.n;
        g->report->n_renamed_groups = g->names->texts.n;
        const bool ok = emit_groups(&m) && !failed;
        halley_trace *trace = NULL;
        status = halley_builder_finish(&trace, m.b, err);
        if (status == HALLEY_OK && !ok) {
            halley_trace_free(trace);
            status = error_nomem(err);
        }
        if (status == HALLEY_OK)
            *out = trace;
    }
    fini(&m);
    return status;
}
