/*
 * replay/plan.c - turn a trace set into operations. Compute takes its recorded time.
 * Sizes mean the same as in the simulator: one rank's part for all-gather, the root's
 * buffer for gather and scatter, the buffer of one rank for others. Collectives of a
 * group begin in the same order on all members: that of the trace, where a node comes
 * after its dependencies.
 */
#include "replay/plan.h"

#include "base/conf/conf.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/number/number.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct planner {
    replay_plan *plan;
    const halley_trace_set *traces;
    const halley_replay_opts *opts;
    uint32_t n_traced; /* ranks of the set */
    uint32_t rank;
    uint64_t n_untimed;
    halley_error *err;
} planner;

static halley_status refuse_planned_node(const planner *p, const halley_trace *t,
                                         uint32_t node, const char *sentence)
{
    const halley_status status =
        error_set(p->err, HALLEY_EINVAL, "rank %u: %s", p->rank, sentence);
    error_at_file(p->err, halley_trace_path(t));
    error_at_node(p->err, halley_node_id(t, node));
    return status;
}

static bool find_node_number(double *out, const halley_trace *t, uint32_t node,
                             const char *name)
{
    halley_attr attr;
    return halley_node_find_attr(&attr, t, node, name) &&
           halley_attr_to_double(&attr, out) && isfinite(*out);
}

static void add_plan_note(replay_plan *plan, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add_plan_note(replay_plan *plan, const char *format, ...)
{
    strbuf text = {0};
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    if (text.failed || !array_push(&plan->notes, text.at))
        strbuf_fini(&text);
}

/* ---- groups ---- */

/* Add the members that take part; HALLEY_OK also if there are none. */
static halley_status add_plan_group(planner *p, int64_t id, const conf_file *file,
                                    const conf_node *list)
{
    const uint32_t n = list == NULL ? p->plan->n_ranks : list->n;
    replay_group g = {.id = id, .ranks = mem_array(n + 1, sizeof *g.ranks)};
    if (g.ranks == NULL)
        return error_nomem(p->err);
    for (uint32_t i = 0; i < n; i++) {
        int64_t rank = i;
        const halley_status status =
            list == NULL ? HALLEY_OK
                         : conf_to_i64(&rank, file, list->items[i], "rank", p->err);
        if (status != HALLEY_OK || rank < 0 || rank >= (int64_t)p->n_traced) {
            free(g.ranks);
            return status != HALLEY_OK
                       ? status
                       : conf_error(file, list, p->err, HALLEY_EINVAL,
                                    "group %lld names rank %lld, and there are %u ranks",
                                    (long long)id, (long long)rank, p->n_traced);
        }
        if (rank < (int64_t)p->plan->n_ranks)
            g.ranks[g.n++] = (int)rank;
    }
    if (array_push(&p->plan->groups, g))
        return HALLEY_OK;
    free(g.ranks);
    return error_nomem(p->err);
}

static halley_status read_group_map(planner *p, const conf_file *file)
{
    const conf_node *map = file->root;
    if (map->kind != CONF_MAP)
        return conf_error(file, map, p->err, HALLEY_EFORMAT, "a map of groups is wanted");
    for (uint32_t i = 0; i < map->n; i++) {
        int64_t id;
        if (!str_to_i64(map->keys[i], &id) || id <= 0 || map->items[i]->kind != CONF_LIST)
            return conf_error(file, map->items[i], p->err, HALLEY_EINVAL,
                              "a group is a positive number and a list of ranks");
        TRY(add_plan_group(p, id, file, map->items[i]));
    }
    return HALLEY_OK;
}

/* Use the given file or the one next to the traces, else the groups that the traces
 * declare. */
static halley_status open_groups(conf_file *out, bool *is_there, planner *p)
{
    char *text = NULL;
    char *const beside =
        p->opts->groups == NULL ? halley_trace_set_groups(p->traces) : NULL;
    const char *const path = p->opts->groups != NULL ? p->opts->groups : beside;
    halley_status status =
        path != NULL ? conf_load(out, path, p->err)
                     : halley_trace_set_declared_groups(&text, p->traces, p->err);
    if (status == HALLEY_OK && text != NULL)
        status = conf_parse(out, str_from(text), "process_group:init", p->err);
    *is_there = status == HALLEY_OK && (path != NULL || text != NULL);
    free(beside);
    free(text);
    return status;
}

static halley_status read_plan_groups(planner *p)
{
    conf_file file;
    bool is_there;
    TRY(add_plan_group(p, 0, NULL, NULL));
    TRY(open_groups(&file, &is_there, p));
    if (!is_there)
        return HALLEY_OK;
    const halley_status status = read_group_map(p, &file);
    conf_fini(&file);
    return status;
}

/* The group that a node names; REPLAY_NO_GROUP if it is not known. */
static uint32_t find_plan_group(const planner *p, const halley_trace *t, uint32_t node)
{
    halley_attr attr;
    int64_t id = 0;
    if (halley_node_find_attr(&attr, t, node, HALLEY_ATTR_NAME_PG_NAME)) {
        const str text = {attr.bytes.at, attr.bytes.n};
        if (attr.kind == HALLEY_ATTR_STRING ? text.n > 0 && !str_to_i64(text, &id)
                                            : !halley_attr_to_i64(&attr, &id))
            return REPLAY_NO_GROUP;
    }
    for (uint32_t i = 0; i < p->plan->groups.n; i++)
        if (p->plan->groups.at[i].id == id)
            return i;
    return REPLAY_NO_GROUP;
}

/* ---- operations ---- */

static uint64_t scale_bytes(double bytes, double factor)
{
    const double scaled = bytes * (factor > 0 ? factor : 1);
    return bytes <= 0 ? 0 : scaled < 1 ? 1 : scaled < 9e18 ? (uint64_t)scaled : INT64_MAX;
}

static void plan_compute(replay_op *op, planner *p, const halley_trace *t, uint32_t node)
{
    double ns = 0;
    if (!find_node_number(&ns, t, node, HALLEY_ATTR_NAME_DURATION_NS) || ns <= 0)
        ns = 1e3 * (double)halley_node_duration_us(t, node);
    p->n_untimed += ns <= 0;
    if (p->opts->only_comm || ns <= 0)
        return;
    op->kind = REPLAY_COMPUTE;
    op->seconds = 1e-9 * ns * (p->opts->compute_scale > 0 ? p->opts->compute_scale : 1);
}

/* For a group that lost members: keep the total size that each rank sends. */
static void scale_to_group(replay_op *op, planner *p, uint32_t node_members)
{
    const uint32_t n = p->plan->groups.at[op->group].n;
    if (op->coll == HALLEY_COLL_ALL_GATHER && n > 0 && n < node_members)
        op->bytes = op->bytes * node_members / n;
}

static halley_status plan_collective(replay_op *op, planner *p, const halley_trace *t,
                                     uint32_t node)
{
    double type = -1, size = 0, root = -1;
    halley_attr attr;
    if (!find_node_number(&type, t, node, HALLEY_ATTR_NAME_COMM_TYPE) || type < 0 ||
        type >= HALLEY_N_COLL_TYPES)
        return refuse_planned_node(p, t, node,
                                   "the collective has no comm_type that is known");
    if (!find_node_number(&size, t, node, HALLEY_ATTR_NAME_COMM_SIZE) &&
        (int)type != HALLEY_COLL_BARRIER)
        return refuse_planned_node(p, t, node, "the collective has no comm_size");
    op->group = find_plan_group(p, t, node);
    if (op->group == REPLAY_NO_GROUP)
        return refuse_planned_node(p, t, node,
                                   "its group is not in the file of groups; name it with "
                                   "--comm-group-configuration");
    const replay_group *g = &p->plan->groups.at[op->group];
    op->coll = (uint8_t)type;
    op->bytes = scale_bytes(size, p->opts->size_scale);
    if (g->n < 2 || p->opts->only_compute) {
        p->plan->n_dropped += g->n < 2 && !p->opts->only_compute;
        return HALLEY_OK;
    }
    if (find_node_number(&root, t, node, "root"))
        for (uint32_t i = 0; i < g->n; i++)
            op->root = g->ranks[i] == (int)root ? i : op->root;
    op->uneven = halley_node_find_attr(&attr, t, node, HALLEY_ATTR_NAME_COMM_SIZES) &&
                 g->n == p->n_traced && op->coll == HALLEY_COLL_ALL_TO_ALL;
    op->kind = REPLAY_COLLECTIVE;
    if (op->group == 0)
        scale_to_group(op, p, p->n_traced);
    return HALLEY_OK;
}

static halley_status plan_message(replay_op *op, planner *p, const halley_trace *t,
                                  uint32_t node, bool sends)
{
    double size = 0, peer = -1, tag = 0;
    if (!find_node_number(&size, t, node, HALLEY_ATTR_NAME_COMM_SIZE) ||
        !find_node_number(&peer, t, node,
                          sends ? HALLEY_ATTR_NAME_COMM_DST
                                : HALLEY_ATTR_NAME_COMM_SRC) ||
        peer < 0 || peer >= p->n_traced || (uint32_t)peer == p->rank)
        return refuse_planned_node(
            p, t, node,
            "the message needs comm_size and a rank to send to or receive "
            "from, other than its own");
    (void)find_node_number(&tag, t, node, HALLEY_ATTR_NAME_COMM_TAG);
    if (p->opts->only_compute || peer >= p->plan->n_ranks) {
        p->plan->n_dropped += !p->opts->only_compute;
        return HALLEY_OK;
    }
    op->kind = sends ? REPLAY_SEND : REPLAY_RECEIVE;
    op->peer = (int)peer;
    op->tag = tag >= 0 && tag < INT32_MAX ? (int)tag : 0;
    op->bytes = scale_bytes(size, p->opts->size_scale);
    return HALLEY_OK;
}

static halley_status plan_node(replay_op *op, planner *p, const halley_trace *t,
                               uint32_t node)
{
    double bytes = 0;
    switch (halley_node_type_of(t, node)) {
    case HALLEY_NODE_COMP:
        plan_compute(op, p, t, node);
        return HALLEY_OK;
    case HALLEY_NODE_COLL:
        return plan_collective(op, p, t, node);
    case HALLEY_NODE_SEND:
    case HALLEY_NODE_RECV:
        return plan_message(op, p, t, node,
                            halley_node_type_of(t, node) == HALLEY_NODE_SEND);
    case HALLEY_NODE_MEM_LOAD:
    case HALLEY_NODE_MEM_STORE:
        if (p->opts->only_comm ||
            !find_node_number(&bytes, t, node, HALLEY_ATTR_NAME_TENSOR_SIZE) ||
            bytes <= 0)
            return HALLEY_OK;
        op->kind = REPLAY_COPY;
        op->bytes = scale_bytes(bytes, p->opts->size_scale);
        return HALLEY_OK;
    default:
        return HALLEY_OK;
    }
}

/* ---- dependencies ---- */

static halley_dep get_plan_dep(const halley_trace *t, uint32_t node, uint32_t i)
{
    const uint32_t n = halley_node_data_count(t, node);
    return i < n ? halley_node_data(t, node, i) : halley_node_ctrl(t, node, i - n);
}

static bool link_children(replay_program *p)
{
    const halley_trace *t = p->trace;
    uint64_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < p->n; i++) {
            const uint32_t n_deps =
                halley_node_data_count(t, i) + halley_node_ctrl_count(t, i);
            for (uint32_t k = 0; k < n_deps; k++) {
                const uint32_t from = get_plan_dep(t, i, k).index;
                if (from >= p->n || from == i)
                    continue;
                if (pass == 1)
                    p->children[p->ops[from].first_child++] = i;
                else
                    p->ops[from + 1].first_child++, p->ops[i].n_waits++, n++;
            }
        }
        if (pass == 1)
            break;
        p->children = mem_array(n + 1, sizeof *p->children);
        if (p->children == NULL || n > UINT32_MAX)
            return false;
        for (uint32_t i = 0; i < p->n; i++)
            p->ops[i + 1].first_child += p->ops[i].first_child;
    }
    for (uint32_t i = p->n; i > 0; i--)
        p->ops[i].first_child = p->ops[i - 1].first_child;
    p->ops[0].first_child = 0;
    return true;
}

/* A heap of operations, the smallest first. */
static void sift_down(uint32_t *heap, uint32_t n, uint32_t at)
{
    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && heap[child + 1] < heap[child];
        if (heap[at] <= heap[child])
            return;
        const uint32_t kept = heap[at];
        heap[at] = heap[child];
        heap[child] = kept;
    }
}

static void push_heap(uint32_t *heap, uint32_t *n, uint32_t value)
{
    uint32_t at = (*n)++;
    for (; at > 0 && heap[(at - 1) / 2] > value; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = value;
}

/* Order the operations so that each follows its dependencies, the smallest index first;
 * false: no memory. *n is the number of ordered operations, which is less than all if
 * there is a cycle. */
static bool order_operations(replay_program *p, uint32_t *n)
{
    uint32_t *const heap = mem_array(p->n + 1, sizeof *heap);
    uint32_t *const waits = mem_array(p->n + 1, sizeof *waits);
    uint32_t n_ready = 0;
    *n = 0;
    p->order = mem_array(p->n + 1, sizeof *p->order);
    if (heap != NULL && waits != NULL && p->order != NULL) {
        for (uint32_t i = 0; i < p->n; i++) {
            waits[i] = p->ops[i].n_waits;
            if (waits[i] == 0)
                push_heap(heap, &n_ready, i);
        }
        while (n_ready > 0) {
            const uint32_t op = heap[0];
            heap[0] = heap[--n_ready];
            sift_down(heap, n_ready, 0);
            p->order[(*n)++] = op;
            for (uint32_t k = p->ops[op].first_child; k < p->ops[op + 1].first_child; k++)
                if (--waits[p->children[k]] == 0)
                    push_heap(heap, &n_ready, p->children[k]);
        }
    }
    const bool room = heap != NULL && waits != NULL && p->order != NULL;
    free(heap);
    free(waits);
    return room;
}

static halley_status number_collectives(replay_program *p, uint32_t n_groups,
                                        halley_error *err)
{
    uint32_t *const next = mem_array_zero(n_groups + 1, sizeof *next);
    if (next == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < p->n; i++) {
        replay_op *op = &p->ops[p->order[i]];
        if (op->kind == REPLAY_COLLECTIVE)
            op->ordinal = next[op->group]++;
    }
    free(next);
    return HALLEY_OK;
}

static halley_status plan_rank(planner *p, uint32_t rank)
{
    replay_program *out = &p->plan->programs[rank];
    out->trace = halley_trace_set_get(p->traces, p->opts->one_trace ? 0 : rank);
    out->n = halley_trace_count(out->trace);
    out->ops = mem_array_zero((size_t)out->n + 2, sizeof *out->ops);
    p->rank = rank;
    uint32_t n_ordered;
    if (out->ops == NULL)
        return error_nomem(p->err);
    for (uint32_t i = 0; i < out->n; i++)
        TRY(plan_node(&out->ops[i], p, out->trace, i));
    if (!link_children(out) || !order_operations(out, &n_ordered))
        return error_nomem(p->err);
    if (n_ordered < out->n)
        return error_set(p->err, HALLEY_EINVAL,
                         "rank %u: %u nodes depend on each other in a cycle", rank,
                         out->n - n_ordered);
    return number_collectives(out, (uint32_t)p->plan->groups.n, p->err);
}

static void note_changes(const planner *p)
{
    replay_plan *plan = p->plan;
    if (plan->n_ranks < p->n_traced)
        add_plan_note(
            plan,
            "the trace has %u ranks and %u are run: groups are cut to these, an "
            "all-gather's part grows so that its output keeps its size, and %llu "
            "operations without a partner are left out",
            p->n_traced, plan->n_ranks, (unsigned long long)plan->n_dropped);
    if (p->opts->size_scale > 0 && p->opts->size_scale != 1)
        add_plan_note(plan, "sizes are scaled by %s",
                      number_shortest(p->opts->size_scale).at);
    if (p->opts->compute_scale > 0 && p->opts->compute_scale != 1)
        add_plan_note(plan, "compute times are scaled by %s",
                      number_shortest(p->opts->compute_scale).at);
    if (p->n_untimed > 0 && !p->opts->only_comm)
        add_plan_note(plan, "%llu compute nodes have no recorded time and take none",
                      (unsigned long long)p->n_untimed);
}

halley_status replay_plan_init(replay_plan *plan, const halley_trace_set *traces,
                               uint32_t n_ranks, const halley_replay_opts *opts,
                               halley_error *err)
{
    planner p = {.plan = plan,
                 .traces = traces,
                 .opts = opts,
                 .n_traced = opts->one_trace ? n_ranks : halley_trace_set_count(traces),
                 .err = err};
    *plan = (replay_plan){.n_ranks = n_ranks};
    assert(n_ranks > 0);
    if (p.n_traced < n_ranks)
        return error_set(err, HALLEY_EINVAL,
                         "there are traces of %u ranks, but %u processes: start as many "
                         "processes as ranks (mpirun -np %u), or use --one-trace",
                         p.n_traced, n_ranks, p.n_traced);
    if (p.n_traced > n_ranks && !opts->shrink)
        return error_set(err, HALLEY_EINVAL,
                         "there are traces of %u ranks, but %u process%s: start as many "
                         "processes as ranks (mpirun -np %u), or use --shrink",
                         p.n_traced, n_ranks, n_ranks == 1 ? "" : "es", p.n_traced);
    plan->programs = mem_array_zero(n_ranks, sizeof *plan->programs);
    if (plan->programs == NULL)
        return error_nomem(err);
    TRY(read_plan_groups(&p));
    for (uint32_t i = 0; i < n_ranks; i++)
        TRY(plan_rank(&p, i));
    note_changes(&p);
    return HALLEY_OK;
}

void replay_plan_fini(replay_plan *plan)
{
    for (uint32_t i = 0; plan->programs != NULL && i < plan->n_ranks; i++) {
        free(plan->programs[i].ops);
        free(plan->programs[i].children);
        free(plan->programs[i].order);
    }
    free(plan->programs);
    for (size_t i = 0; i < plan->groups.n; i++)
        free(plan->groups.at[i].ranks);
    for (size_t i = 0; i < plan->notes.n; i++)
        free(plan->notes.at[i]);
    array_fini(&plan->groups);
    array_fini(&plan->notes);
    *plan = (replay_plan){0};
}

/* ---- sizes ---- */

static uint64_t round_up_bytes(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

replay_sizes replay_op_sizes(const replay_plan *plan, const replay_op *op)
{
    const uint64_t n = op->kind == REPLAY_COLLECTIVE ? plan->groups.at[op->group].n : 1;
    uint64_t part = op->bytes;
    if (op->kind != REPLAY_COLLECTIVE)
        return (replay_sizes){part, part, part};
    switch (op->coll) {
    case HALLEY_COLL_ALL_REDUCE:
    case HALLEY_COLL_REDUCE:
        part = round_up_bytes(part, sizeof(float));
        return (replay_sizes){part, part, part};
    case HALLEY_COLL_BROADCAST:
        return (replay_sizes){0, part, part};
    case HALLEY_COLL_ALL_GATHER:
        return (replay_sizes){part, part * n, part};
    case HALLEY_COLL_GATHER:
    case HALLEY_COLL_SCATTER:
    case HALLEY_COLL_ALL_TO_ALL:
        part = round_up_bytes(part, n) / n;
        return (replay_sizes){part * n, part * n, part};
    case HALLEY_COLL_REDUCE_SCATTER:
    case HALLEY_COLL_REDUCE_SCATTER_BLOCK:
        part = round_up_bytes(part, n * sizeof(float)) / n;
        return (replay_sizes){part * n, part, part};
    default:
        return (replay_sizes){0};
    }
}

double replay_larger_buffer(uint32_t coll, uint64_t bytes, uint32_t n)
{
    return (double)bytes * (coll == HALLEY_COLL_ALL_GATHER ? n : 1);
}

double replay_bus_factor(uint32_t coll, uint32_t n)
{
    const double share = n > 0 ? (double)(n - 1) / n : 0;
    switch (coll) {
    case HALLEY_COLL_ALL_REDUCE:
        return 2 * share;
    case HALLEY_COLL_ALL_GATHER:
    case HALLEY_COLL_REDUCE_SCATTER:
    case HALLEY_COLL_REDUCE_SCATTER_BLOCK:
    case HALLEY_COLL_ALL_TO_ALL:
    case HALLEY_COLL_GATHER:
    case HALLEY_COLL_SCATTER:
        return share;
    default:
        return 1;
    }
}
