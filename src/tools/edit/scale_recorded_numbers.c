/*
 * What another batch or a faster device changes in a recording.
 *
 * A recording has host nodes (operators, calls, pauses, lags) and device nodes. Neither
 * the batch nor the speed of the device changes host nodes. Kernels of the optimizer
 * have the size of the weights. The batch changes collectives that carry activations,
 * but not those that carry weights or gradients:
 *
 *   1. A group that reduces or exchanges in the forward pass carries activations.
 *   2. A group that only gathers there carries weights and gradients. So does one that
 *      only runs in the backward pass (on an autograd thread, or under one of its hooks).
 *   3. In a recording without a backward pass, everything carries activations.
 *
 * Collectives of unknown groups are classified by size: a backward collective with a
 * size that occurs in the forward pass carries activations. If no rule applies, the
 * collective is unsure, and a change of batch is refused.
 */
#include "base/error.h"
#include "edit/scale.h"
#include "halley/trace_attr.h"
#include "trace/core/slots.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CALLERS = 512 }; /* callers that are examined above a launch */

/* A communication of a device. */
typedef struct recorded_comm {
    uint32_t node;
    uint64_t group; /* hash of its name; 0 = unknown */
    uint64_t n_bytes;
    bool in_backward, reduces, has_origin;
} recorded_comm;

typedef struct number_kinds {
    const halley_trace *t;
    const scale_job *job;
    uint8_t *kinds;       /* by node */
    map64 backward_tids;  /* threads that run autograd operators */
    map64 forward_groups; /* groups that reduce in the forward pass */
    map64 streams;        /* by stream: what collectives with a known launch carry */
    map64 forward_sizes;  /* sizes of forward collectives of unknown group */
    ARRAY(recorded_comm) comms;
    bool has_device, has_backward, failed;
} number_kinds;

static bool is_on_host(const halley_trace *t, uint32_t node)
{
    trace_roles r;
    trace_roles_read(&r, t, node);
    return trace_roles_is_cpu(&r);
}

static bool is_comm_node(const halley_trace *t, uint32_t node)
{
    const uint32_t type = halley_node_type_of(t, node);
    return type == HALLEY_NODE_COLL || type == HALLEY_NODE_SEND ||
           type == HALLEY_NODE_RECV ||
           str_starts(trace_find_text(t, node, HALLEY_ATTR_NAME_KERNEL_CLASS),
                      STR("comm."));
}

static uint32_t find_call_parent(const halley_trace *t, uint32_t node)
{
    return halley_node_ctrl_count(t, node) == 0 ? HALLEY_NO_NODE
                                                : halley_node_ctrl(t, node, 0).index;
}

static bool is_backward_name(str name)
{
    return str_contains(name, STR("autograd::engine")) ||
           str_contains(name, STR("Backward")) || str_contains(name, STR("backward")) ||
           str_contains(name, STR("Reducer")) ||
           str_contains(name, STR("post_backward")) ||
           str_contains(name, STR("AccumulateGrad"));
}

/* Was it called under an autograd operator, or on an autograd thread? */
static bool is_called_backward(const number_kinds *k, uint32_t node, bool *has_origin)
{
    uint32_t steps = 0;
    for (uint32_t i = find_call_parent(k->t, node);
         i != HALLEY_NO_NODE && steps++ < MOST_CALLERS; i = find_call_parent(k->t, i)) {
        const halley_bytes name = halley_node_name(k->t, i);
        const int64_t tid = trace_find_i64(k->t, i, HALLEY_ATTR_NAME_TID, -1);
        *has_origin = true;
        if (is_backward_name((str){name.at, name.n}) ||
            map64_find(&k->backward_tids, (uint64_t)tid) == 1)
            return true;
    }
    return false;
}

static bool is_optimizer_work(const halley_trace *t, uint32_t node)
{
    if (str_eq(trace_find_text(t, node, HALLEY_ATTR_NAME_KERNEL_CLASS), STR("optimizer")))
        return true;
    uint32_t steps = 0;
    for (uint32_t i = node; i != HALLEY_NO_NODE && steps++ < MOST_CALLERS;
         i = find_call_parent(t, i)) {
        const halley_bytes name = halley_node_name(t, i);
        if (str_starts((str){name.at, name.n}, STR("Optimizer.")))
            return true;
    }
    return false;
}

static void find_backward_threads(number_kinds *k)
{
    for (uint32_t i = 0; i < halley_trace_count(k->t); i++) {
        const bool undoes = trace_find_i64(k->t, i, "fw_tid", 0) != 0 ||
                            trace_find_i64(k->t, i, "fw_parent", 0) != 0;
        if (!undoes)
            continue;
        k->has_backward = true;
        const int64_t tid = trace_find_i64(k->t, i, HALLEY_ATTR_NAME_TID, -1);
        k->failed |= tid >= 0 && !map64_set(&k->backward_tids, (uint64_t)tid, 1);
    }
}

/* A thread that runs both passes gives no information. Then only names count. */
static void forget_shared_threads(number_kinds *k)
{
    for (uint32_t i = 0; i < halley_trace_count(k->t); i++) {
        const bool numbered = trace_find_i64(k->t, i, "seq_id", -1) >= 0;
        const bool undoes = trace_find_i64(k->t, i, "fw_tid", 0) != 0 ||
                            trace_find_i64(k->t, i, "fw_parent", 0) != 0;
        const halley_bytes name = halley_node_name(k->t, i);
        const bool is_step = str_starts((str){name.at, name.n}, STR("ProfilerStep"));
        if (is_step && !undoes && !numbered)
            k->failed |= !map64_set(
                &k->backward_tids,
                (uint64_t)trace_find_i64(k->t, i, HALLEY_ATTR_NAME_TID, -1), 0);
    }
}

static bool contains_any(str text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (str_contains(text, str_from(*words)))
            return true;
    return false;
}

static recorded_comm describe_comm(const number_kinds *k, uint32_t node)
{
    static const char *const reducing[] = {
        "all_reduce", "reduce_scatter", "all_to_all",         "dispatch",
        "combine",    "send",           "collective_permute", NULL};
    const str pg = trace_find_text(k->t, node, HALLEY_ATTR_NAME_PG_NAME);
    const str class_name = trace_find_text(k->t, node, HALLEY_ATTR_NAME_KERNEL_CLASS);
    const int64_t type = trace_find_i64(k->t, node, HALLEY_ATTR_NAME_COMM_TYPE, -1);
    recorded_comm c = {.node = node,
                       .group = pg.n > 0 ? hash_bytes(pg.at, pg.n, 1) | 1 : 0,
                       .n_bytes = (uint64_t)trace_find_i64(k->t, node, "comm_size", 0)};
    c.in_backward = is_called_backward(k, node, &c.has_origin);
    c.reduces = type >= 0
                    ? type != HALLEY_COLL_ALL_GATHER && type != HALLEY_COLL_BROADCAST
                    : contains_any(class_name, reducing);
    return c;
}

static void list_comms(number_kinds *k)
{
    for (uint32_t i = 0; i < halley_trace_count(k->t); i++) {
        const uint32_t type = halley_node_type_of(k->t, i);
        if (type == HALLEY_NODE_METADATA ||
            (is_on_host(k->t, i) && !is_comm_node(k->t, i))) {
            k->kinds[i] = SCALE_NUMBER_HOST;
            continue;
        }
        k->has_device = true;
        k->kinds[i] =
            is_optimizer_work(k->t, i) ? SCALE_NUMBER_UPDATE : SCALE_NUMBER_WORK;
        if (!is_comm_node(k->t, i))
            continue;
        const recorded_comm c = describe_comm(k, i);
        k->failed |= !array_push(&k->comms, c);
        if (c.in_backward || !c.reduces || !c.has_origin)
            continue;
        k->failed |= c.group != 0 && !map64_set(&k->forward_groups, c.group, 1);
        k->failed |=
            c.group == 0 && c.n_bytes > 0 && !map64_set(&k->forward_sizes, c.n_bytes, 1);
    }
}

static scale_number_kind judge_comm(const number_kinds *k, const recorded_comm *c)
{
    if (k->job->opts->dp_groups != NULL)
        return scale_is_data_parallel(k->job, k->t, c->node) ? SCALE_NUMBER_WEIGHTS
                                                             : SCALE_NUMBER_ACTIVATIONS;
    if (!k->has_backward)
        return SCALE_NUMBER_ACTIVATIONS;
    if (c->group != 0)
        return map64_find(&k->forward_groups, c->group) != HASH_NONE
                   ? SCALE_NUMBER_ACTIVATIONS
                   : SCALE_NUMBER_WEIGHTS;
    if (!c->has_origin)
        return SCALE_NUMBER_UNSURE;
    if (!c->in_backward)
        return c->reduces ? SCALE_NUMBER_ACTIVATIONS : SCALE_NUMBER_UNSURE;
    if (k->forward_sizes.n == 0)
        return SCALE_NUMBER_WEIGHTS;
    if (c->n_bytes == 0)
        return SCALE_NUMBER_UNSURE;
    return map64_find(&k->forward_sizes, c->n_bytes) != HASH_NONE
               ? SCALE_NUMBER_ACTIVATIONS
               : SCALE_NUMBER_WEIGHTS;
}

static halley_status refuse_unsure(const number_kinds *k, uint32_t node,
                                   halley_error *err)
{
    const halley_bytes name = halley_node_name(k->t, node);
    error_set(err, HALLEY_EINVAL,
              "it is unknown whether %.*s carries gradients, which another batch does "
              "not change: its group is not known; --dp-groups names the groups of "
              "gradients",
              (int)(name.n < 60 ? name.n : 60), name.at);
    error_at_node(err, halley_node_id(k->t, node));
    error_at_file(err, halley_trace_path(k->t));
    return HALLEY_EINVAL;
}

static uint64_t find_comm_stream(const number_kinds *k, const recorded_comm *c)
{
    return (uint64_t)trace_find_i64(k->t, c->node, HALLEY_ATTR_NAME_STREAM, -1);
}

/* A collective launched before the recording began is assumed to carry what everything
 * else on its stream carries. */
static void judge_streams(number_kinds *k)
{
    for (size_t i = 0; i < k->comms.n; i++) {
        const recorded_comm *const c = &k->comms.at[i];
        const uint32_t kind = (uint32_t)judge_comm(k, c);
        const uint32_t before = map64_find(&k->streams, find_comm_stream(k, c));
        if (c->has_origin)
            k->failed |= !map64_set(&k->streams, find_comm_stream(k, c),
                                    before == HASH_NONE || before == kind
                                        ? kind
                                        : (uint32_t)SCALE_NUMBER_UNSURE);
    }
}

static scale_number_kind judge_by_stream(const number_kinds *k, const recorded_comm *c)
{
    const uint32_t kind = map64_find(&k->streams, find_comm_stream(k, c));
    return kind == HASH_NONE ? SCALE_NUMBER_UNSURE : (scale_number_kind)kind;
}

static halley_status judge_comms(number_kinds *k, halley_error *err)
{
    const bool has_batch = k->job->opts->batch != 0 && k->job->opts->batch != 1;
    judge_streams(k);
    if (k->failed)
        return error_nomem(err);
    for (size_t i = 0; i < k->comms.n; i++) {
        const recorded_comm *const c = &k->comms.at[i];
        scale_number_kind kind = judge_comm(k, c);
        if (kind == SCALE_NUMBER_UNSURE && !c->has_origin)
            kind = judge_by_stream(k, c);
        if (kind == SCALE_NUMBER_UNSURE && has_batch)
            return refuse_unsure(k, c->node, err);
        k->kinds[c->node] = (uint8_t)kind;
    }
    return HALLEY_OK;
}

static halley_status refuse_host_only(const number_kinds *k, halley_error *err)
{
    const double batch = k->job->opts->batch;
    if (k->has_device || batch == 0 || batch == 1)
        return HALLEY_OK;
    error_set(
        err, HALLEY_EINVAL,
        "the recording holds no device work, so another batch cannot be derived from "
        "it: how the host's operators grow with the batch is not known");
    error_at_file(err, halley_trace_path(k->t));
    return HALLEY_EINVAL;
}

halley_status scale_number_kinds(uint8_t **out, const scale_job *job,
                                 const halley_trace *trace, halley_error *err)
{
    number_kinds k = {.t = trace, .job = job};
    k.kinds = mem_array_zero(halley_trace_count(trace), 1);
    halley_status status = k.kinds == NULL ? error_nomem(err) : HALLEY_OK;
    if (status == HALLEY_OK) {
        find_backward_threads(&k);
        forget_shared_threads(&k);
        list_comms(&k);
        status = k.failed ? error_nomem(err) : refuse_host_only(&k, err);
    }
    if (status == HALLEY_OK)
        status = judge_comms(&k, err);
    if (status == HALLEY_OK && !k.has_device) /* then the host does the compute */
        memset(k.kinds, SCALE_NUMBER_WORK, halley_trace_count(trace));
    map64_fini(&k.backward_tids);
    map64_fini(&k.forward_groups);
    map64_fini(&k.forward_sizes);
    map64_fini(&k.streams);
    array_fini(&k.comms);
    if (status != HALLEY_OK) {
        free(k.kinds);
        return status;
    }
    *out = k.kinds;
    return HALLEY_OK;
}
