/*
 * Replaces nodes by others.
 *
 * An all-reduce of S bytes over n ranks equals a reduce-scatter of S bytes followed by
 * an all-gather of S / n bytes per rank: every link carries the same bytes. The
 * reduce-scatter takes over the dependencies of the all-reduce. Nodes that waited for
 * the all-reduce wait for the all-gather.
 *
 * Offload: a compute node waits for a load of a share of its memory traffic. The load
 * starts when the node could have started. A store of the same size follows the node;
 * nothing waits for it.
 */
#include "base/error.h"
#include "base/str.h"
#include "edit/scale.h"
#include "trace/core/edit.h"
#include "trace/core/levels.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

typedef struct inserter {
    scale_job *job;
    const halley_trace *trace;
    uint32_t n_ranks;
    uint64_t *id, *last_id; /* by node: its own id; the id that dependents wait for */
    uint32_t *partner;      /* by node: the other node of a pair, or HALLEY_NO_NODE */
    halley_builder *b;
    halley_error *err;
} inserter;

typedef bool takes_part(const inserter *in, uint32_t node);

/* Copies times and attributes, with another value for one attribute. */
static halley_status put_rest_as(inserter *in, uint32_t node, trace_role role,
                                 uint64_t value, int64_t coll)
{
    assert(node < halley_trace_count(in->trace));
    const halley_trace *const t = in->trace;
    TRY(halley_builder_time(in->b, halley_node_start_us(t, node),
                            halley_node_duration_us(t, node)));
    for (uint32_t i = 0; i < halley_node_attr_count(t, node); i++) {
        halley_attr attr = halley_node_attr(t, node, i);
        const trace_role own = trace_role_of(attr.name);
        if (own == role)
            attr.bits = value;
        if (own == TRACE_ROLE_COMM_TYPE && coll >= 0)
            attr.bits = (uint64_t)coll;
        TRY(halley_builder_attr(in->b, &attr));
    }
    return HALLEY_OK;
}

static halley_status put_split_deps(inserter *in, uint32_t node)
{
    assert(node < halley_trace_count(in->trace));
    const halley_trace *const t = in->trace;
    for (uint32_t i = 0; i < halley_node_data_count(t, node); i++) {
        const halley_dep dep = halley_node_data(t, node, i);
        if (dep.index != HALLEY_NO_NODE)
            TRY(halley_builder_data(in->b, in->last_id[dep.index]));
    }
    for (uint32_t i = 0; i < halley_node_ctrl_count(t, node); i++) {
        const halley_dep dep = halley_node_ctrl(t, node, i);
        if (dep.index != HALLEY_NO_NODE)
            TRY(halley_builder_ctrl(in->b, in->last_id[dep.index]));
    }
    return HALLEY_OK;
}

static halley_status put_same(inserter *in, uint32_t node)
{
    const halley_trace *const t = in->trace;
    TRY(halley_builder_node(in->b, in->id[node], halley_node_type_of(t, node),
                            halley_node_name(t, node)));
    TRY(put_split_deps(in, node));
    return halley_builder_copy_rest(in->b, t, node);
}

static bool is_collective(const halley_trace *t, uint32_t node, halley_coll_type wanted,
                          trace_roles *r)
{
    assert(node < halley_trace_count(t));
    uint64_t type;
    if (halley_node_type_of(t, node) != HALLEY_NODE_COLL)
        return false;
    trace_roles_read(r, t, node);
    return trace_roles_u64(r, TRACE_ROLE_COMM_TYPE, &type) && type == wanted;
}

static bool is_split(const inserter *in, uint32_t node)
{
    trace_roles r;
    uint64_t size;
    return is_collective(in->trace, node, HALLEY_COLL_ALL_REDUCE, &r) &&
           trace_roles_u64(&r, TRACE_ROLE_COMM_SIZE, &size) && size > 0;
}

static uint64_t divide_size(uint64_t size, uint32_t n)
{
    const uint64_t part = (size + n / 2) / n;
    return part == 0 ? 1 : part;
}

/* Starts a node with the name of another and a suffix. */
static halley_status start_named(inserter *in, uint64_t id, uint32_t node, str ending)
{
    assert(ending.n > 0);
    const halley_bytes name = halley_node_name(in->trace, node);
    strbuf text = {0};
    strbuf_add(&text, (str){name.at, name.n});
    strbuf_add(&text, ending);
    const halley_status status =
        text.failed ? error_nomem(in->err)
                    : halley_builder_node(in->b, id, HALLEY_NODE_COLL,
                                          (halley_bytes){text.at, text.n});
    strbuf_fini(&text);
    return status;
}

static halley_status put_split(inserter *in, uint32_t node)
{
    assert(is_split(in, node));
    trace_roles r;
    uint64_t size = 0;
    trace_roles_read(&r, in->trace, node);
    (void)trace_roles_u64(&r, TRACE_ROLE_COMM_SIZE, &size);
    const uint32_t n =
        scale_members(&in->job->groups, trace_roles_group(&r), in->n_ranks);
    TRY(start_named(in, in->id[node], node, STR(" reduce-scatter")));
    TRY(put_split_deps(in, node));
    TRY(put_rest_as(in, node, TRACE_ROLE_COMM_SIZE, size, HALLEY_COLL_REDUCE_SCATTER));
    TRY(start_named(in, in->last_id[node], node, STR(" all-gather")));
    TRY(halley_builder_data(in->b, in->id[node]));
    return put_rest_as(in, node, TRACE_ROLE_COMM_SIZE, divide_size(size, n),
                       HALLEY_COLL_ALL_GATHER);
}

/* Assigns ids in order. Nodes for which `takes` holds need one more. The second node of
 * a pair needs none. */
static void renumber_split(inserter *in, takes_part *takes, bool one_before)
{
    uint64_t id = 0;
    for (uint32_t i = 0; i < halley_trace_count(in->trace); i++) {
        if (in->partner[i] != HALLEY_NO_NODE && in->partner[i] < i) {
            in->id[i] = in->last_id[i] = in->id[in->partner[i]];
            continue;
        }
        const bool more = takes && takes(in, i);
        id += more && one_before;
        in->id[i] = id++;
        in->last_id[i] = more && !one_before ? id : in->id[i];
        id += more;
    }
}

static halley_status split_all(inserter *in)
{
    renumber_split(in, is_split, false);
    for (uint32_t i = 0; i < halley_trace_count(in->trace); i++) {
        const bool mine = is_split(in, i);
        in->job->report->n_collectives += mine;
        TRY(mine ? put_split(in, i) : put_same(in, i));
    }
    return HALLEY_OK;
}

/* Finds pairs. Only one all-gather may wait for the reduce-scatter, and it may wait for
 * nothing else. Both have the same group, and the all-gather carries the parts of the
 * same bytes. */
static halley_status find_split_pairs(inserter *in, halley_error *err)
{
    const halley_trace *const t = in->trace;
    const uint32_t n = halley_trace_count(t);
    uint32_t *const n_dependents = mem_array_zero(n, sizeof *n_dependents);
    if (!n_dependents)
        return error_nomem(err);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < trace_deps_count(t, i); k++)
            if (trace_deps_index(t, i, k) != HALLEY_NO_NODE)
                n_dependents[trace_deps_index(t, i, k)]++;
    for (uint32_t i = 0; i < n; i++) {
        trace_roles gather, reduce;
        uint64_t part = 0, size = 0;
        if (!is_collective(t, i, HALLEY_COLL_ALL_GATHER, &gather) ||
            trace_deps_count(t, i) != 1)
            continue;
        const uint32_t before = trace_deps_index(t, i, 0);
        if (before == HALLEY_NO_NODE || before >= i || n_dependents[before] != 1 ||
            !is_collective(t, before, HALLEY_COLL_REDUCE_SCATTER, &reduce))
            continue;
        const halley_bytes a = trace_roles_group(&gather), b = trace_roles_group(&reduce);
        const uint32_t members = scale_members(&in->job->groups, a, in->n_ranks);
        (void)trace_roles_u64(&gather, TRACE_ROLE_COMM_SIZE, &part);
        (void)trace_roles_u64(&reduce, TRACE_ROLE_COMM_SIZE, &size);
        if (str_eq((str){a.at, a.n}, (str){b.at, b.n}) &&
            divide_size(size, members) == part) {
            in->partner[i] = before;
            in->partner[before] = i;
        }
    }
    free(n_dependents);
    return HALLEY_OK;
}

static str strip_ending(halley_bytes name, str ending)
{
    assert(name.n >= ending.n);
    str s = {name.at, name.n};
    if (str_ends(s, ending))
        s.n -= ending.n;
    return s;
}

static halley_status put_joined(inserter *in, uint32_t node)
{
    const halley_trace *const t = in->trace;
    const str name = strip_ending(halley_node_name(t, node), STR(" reduce-scatter"));
    TRY(halley_builder_node(in->b, in->id[node], HALLEY_NODE_COLL,
                            (halley_bytes){name.at, name.n}));
    TRY(put_split_deps(in, node));
    return put_rest_as(in, node, TRACE_ROLE_NONE, 0, HALLEY_COLL_ALL_REDUCE);
}

static halley_status join_all(inserter *in)
{
    renumber_split(in, NULL, false);
    for (uint32_t i = 0; i < halley_trace_count(in->trace); i++) {
        if (in->partner[i] == HALLEY_NO_NODE) {
            TRY(put_same(in, i));
        } else if (in->partner[i] > i) {
            in->job->report->n_collectives++;
            TRY(put_joined(in, i));
        }
    }
    return HALLEY_OK;
}

static uint64_t read_moved_bytes(const inserter *in, uint32_t node)
{
    assert(node < halley_trace_count(in->trace));
    trace_roles r;
    uint64_t bytes = 0;
    trace_roles_read(&r, in->trace, node);
    if (halley_node_type_of(in->trace, node) != HALLEY_NODE_COMP ||
        trace_roles_is_cpu(&r))
        return 0;
    (void)trace_roles_u64(&r, TRACE_ROLE_TENSOR_SIZE, &bytes);
    return (uint64_t)llround((double)bytes * in->job->opts->offload);
}

static bool is_offloaded(const inserter *in, uint32_t node)
{
    const char *const match = in->job->opts->offload_match;
    const halley_bytes name = halley_node_name(in->trace, node);
    return read_moved_bytes(in, node) > 0 &&
           (!match || str_contains((str){name.at, name.n}, str_from(match)));
}

static halley_status put_memory(inserter *in, uint64_t id, halley_node_type type,
                                uint64_t bytes)
{
    assert(type == HALLEY_NODE_MEM_LOAD || type == HALLEY_NODE_MEM_STORE);
    const bool loads = type == HALLEY_NODE_MEM_LOAD;
    TRY(halley_builder_node(in->b, id, type,
                            loads ? (halley_bytes){"offload load", 12}
                                  : (halley_bytes){"offload store", 13}));
    TRY(halley_builder_attr_bool(in->b, HALLEY_ATTR_NAME_IS_CPU_OP, false));
    return halley_builder_attr_u64(in->b, HALLEY_ATTR_NAME_TENSOR_SIZE, bytes);
}

static halley_status put_offloaded(inserter *in, uint32_t node)
{
    assert(is_offloaded(in, node));
    const uint64_t id = in->id[node];
    TRY(put_memory(in, id - 1, HALLEY_NODE_MEM_LOAD, read_moved_bytes(in, node)));
    TRY(put_split_deps(in, node));
    TRY(put_same(in, node));
    TRY(halley_builder_data(in->b, id - 1));
    TRY(put_memory(in, id + 1, HALLEY_NODE_MEM_STORE, read_moved_bytes(in, node)));
    return halley_builder_data(in->b, id);
}

static halley_status offload_all(inserter *in)
{
    renumber_split(in, is_offloaded, true);
    for (uint32_t i = 0; i < halley_trace_count(in->trace); i++) {
        const bool mine = is_offloaded(in, i);
        in->job->report->n_offloaded += mine;
        TRY(mine ? put_offloaded(in, i) : put_same(in, i));
    }
    return HALLEY_OK;
}

/* What is done with every trace. */
typedef struct task {
    scale_job *job;
    uint32_t n_ranks;
    bool pairs;
    halley_status (*work)(inserter *in);
} task;

static halley_status change_nodes(halley_trace **out, void *context,
                                  const halley_trace *t, halley_error *err)
{
    const task *const k = context;
    const uint32_t n = halley_trace_count(t);
    inserter in = {.job = k->job,
                   .trace = t,
                   .n_ranks = k->n_ranks,
                   .err = err,
                   .id = mem_array(n, sizeof *in.id),
                   .last_id = mem_array(n, sizeof *in.last_id),
                   .partner = mem_array(n, sizeof *in.partner)};
    halley_status status =
        in.id && in.last_id && in.partner ? HALLEY_OK : error_nomem(err);
    for (uint32_t i = 0; status == HALLEY_OK && i < n; i++)
        in.partner[i] = HALLEY_NO_NODE;
    if (status == HALLEY_OK && k->pairs)
        status = find_split_pairs(&in, err);
    if (status == HALLEY_OK)
        status = edit_start(&in.b, t, err);
    if (status == HALLEY_OK)
        status = edit_finish(out, in.b, k->work(&in), err);
    free(in.id);
    free(in.last_id);
    free(in.partner);
    return status;
}

halley_status scale_swap(halley_trace_set **set, scale_job *job, halley_error *err)
{
    assert(job->opts->swap != HALLEY_SWAP_NONE);
    const bool split = job->opts->swap == HALLEY_SWAP_SPLIT;
    task k = {job, halley_trace_set_count(*set), !split, split ? split_all : join_all};
    TRY(scale_each(set, change_nodes, &k, err));
    if (job->report->n_collectives == 0)
        return error_set(err, HALLEY_EINVAL, "there is %s to swap",
                         split ? "no all-reduce"
                               : "no reduce-scatter with an all-gather after it");
    return HALLEY_OK;
}

halley_status scale_offload(halley_trace_set **set, scale_job *job, halley_error *err)
{
    assert(job->opts->offload > 0);
    task k = {job, halley_trace_set_count(*set), false, offload_all};
    TRY(scale_each(set, change_nodes, &k, err));
    if (job->report->n_offloaded == 0)
        return error_set(err, HALLEY_EINVAL,
                         "no compute node on a device has memory traffic (tensor_size) "
                         "that could be offloaded%s",
                         job->opts->offload_match ? " and such a name" : "");
    return HALLEY_OK;
}
