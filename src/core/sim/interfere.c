/*
 * sim/interfere.c - mutual slow-down of kernels and communication on one NPU.
 *
 * While a communication node of an NPU runs, its kernels progress at 1 / (1 + f) of their
 * speed. The cluster states f for matmuls, attention and memory-bound kernels
 * (system.interference). The remaining work of a kernel is kept in ticks of undisturbed
 * time. When communication begins or ends, the work done since the last change is
 * subtracted, and the end of the kernel is rescheduled.
 *
 * The class of a node is the kernel_class of a recording, if it has one. Otherwise a node
 * with a shape (`gemm`) is a matmul, and a node whose name contains "attention" is
 * attention. Any other node is classified by its operations and bytes on the NPU's
 * roofline. Known to be wrong: a collective that waits for a late member slows kernels as
 * much as one that moves data.
 *
 * In the other direction, a collective that the network carries as a whole runs at 1 - h
 * of its undisturbed rate while a kernel runs on one of its members. The cluster states h
 * for the same classes (system.interference.network); the largest h of the running
 * kernels counts. Links that limit a collective to less than that rate are not affected.
 * Messages between two NPUs are not slowed down.
 */
#include "sim/interfere.h"

#include "base/str.h"
#include "des/ticks.h"

#include <math.h>

typedef struct running_kernel {
    uint32_t node;
    cluster_kernel class;
    double left_ticks; /* of undisturbed time, at `since` */
    double factor;     /* 1 + f of its class */
    uint64_t begin, since;
    des_timer timer;
} running_kernel;

typedef struct rank_kernels {
    ARRAY(running_kernel) running;
    bool communicates;
    uint32_t n_of_class[CLUSTER_N_KERNELS]; /* running kernels */
    ARRAY(uint32_t) calls; /* collectives in progress that have this rank as a member */
} rank_kernels;

/* A collective that the network carries as a whole, or a part of one. */
typedef struct slowed_call {
    uint32_t op; /* SIM_NONE: free */
    net_id id;
    uint64_t event;
    double share; /* fraction of its undisturbed rate, as set in the network */
    uint32_t n_members[CLUSTER_N_KERNELS]; /* members on which kernels of the class run */
} slowed_call;

struct sim_interfere {
    rank_kernels *ranks;
    bool slows_calls;
    ARRAY(slowed_call) calls;
};

static bool has_factors(const double f[CLUSTER_N_KERNELS])
{
    bool any = false;
    for (int i = 0; i < CLUSTER_N_KERNELS; i++)
        any |= f[i] > 0;
    return any;
}

halley_status sim_interfere_init(sim *s)
{
    const bool slows_calls = has_factors(s->system->network_interference);
    if (!has_factors(s->system->interference) && !slows_calls)
        return HALLEY_OK;
    if (slows_calls && (!net_can(s->net, NET_CAN_SLOW) || s->system->steps))
        return error_set(s->err, HALLEY_EINVAL,
                         "interference: network needs collectives that the network "
                         "carries as a whole: network model flow on a graph or on nodes, "
                         "without events and without collectives: steps");
    s->interfere = arena_array(&s->memory_of_run, 1, sizeof *s->interfere);
    if (s->interfere == NULL)
        return error_nomem(s->err);
    s->interfere->slows_calls = slows_calls;
    s->interfere->ranks =
        arena_array(&s->memory_of_run, s->n_ranks, sizeof *s->interfere->ranks);
    return s->interfere->ranks == NULL ? error_nomem(s->err) : HALLEY_OK;
}

void sim_interfere_fini(sim *s)
{
    if (s->interfere == NULL)
        return;
    for (uint32_t i = 0; s->interfere->ranks != NULL && i < s->n_ranks; i++) {
        array_fini(&s->interfere->ranks[i].running);
        array_fini(&s->interfere->ranks[i].calls);
    }
    array_fini(&s->interfere->calls);
}

/* The fraction of its undisturbed rate, given the kernels that run on its members. */
static double find_call_share(const sim *s, const slowed_call *c)
{
    double most = 0;
    for (int i = 0; i < CLUSTER_N_KERNELS; i++)
        if (c->n_members[i] > 0)
            most = fmax(most, s->system->network_interference[i]);
    assert(most >= 0 && most < 1);
    return 1 - most;
}

static void set_call_share(sim *s, slowed_call *c)
{
    const double share = find_call_share(s, c);
    if (share == c->share)
        return;
    c->share = share;
    s->net->model->slow(s->net, c->id, c->event, share);
}

/* The first kernel of a class begins on a rank, or its last one ends. */
static void change_calls(sim *s, uint32_t rank, cluster_kernel class, bool begins)
{
    const rank_kernels *r = &s->interfere->ranks[rank];
    for (size_t i = 0; i < r->calls.n; i++) {
        slowed_call *c = &s->interfere->calls.at[r->calls.at[i]];
        assert(c->op != SIM_NONE && (begins || c->n_members[class] > 0));
        c->n_members[class] += begins ? 1 : UINT32_MAX; /* less one */
        set_call_share(s, c);
    }
}

static void count_kernel(sim *s, uint32_t rank, cluster_kernel class, bool begins)
{
    uint32_t *n = &s->interfere->ranks[rank].n_of_class[class];
    assert(begins || *n > 0);
    *n += begins ? 1 : UINT32_MAX;
    if (s->interfere->slows_calls && *n == (begins ? 1 : 0))
        change_calls(s, rank, class, begins);
}

static uint32_t new_call(sim *s)
{
    for (uint32_t i = 0; i < s->interfere->calls.n; i++)
        if (s->interfere->calls.at[i].op == SIM_NONE)
            return i;
    if (!array_push(&s->interfere->calls, (slowed_call){.op = SIM_NONE})) {
        sim_fail_memory(s);
        return SIM_NONE;
    }
    return (uint32_t)s->interfere->calls.n - 1;
}

void sim_interfere_add_call(sim *s, uint32_t op, net_id id, uint64_t event)
{
    const uint32_t n = s->streams.ops.at[op].plan->n_members;
    if (s->interfere == NULL || !s->interfere->slows_calls || id == NET_NONE)
        return;
    const uint32_t place = new_call(s);
    if (place == SIM_NONE)
        return;
    slowed_call *c = &s->interfere->calls.at[place];
    *c = (slowed_call){.op = op, .id = id, .event = event, .share = 1};
    for (uint32_t i = 0; i < n; i++) {
        rank_kernels *r = &s->interfere->ranks[sim_member_get(s, op, i)->npu];
        if (!array_push(&r->calls, place)) {
            sim_fail_memory(s);
            return;
        }
        for (int k = 0; k < CLUSTER_N_KERNELS; k++)
            c->n_members[k] += r->n_of_class[k] > 0;
    }
    set_call_share(s, c);
}

static void forget_call(rank_kernels *r, uint32_t place)
{
    for (size_t i = 0; i < r->calls.n; i++)
        if (r->calls.at[i] == place) {
            r->calls.at[i] = r->calls.at[--r->calls.n];
            return;
        }
    assert(false);
}

void sim_interfere_end_calls(sim *s, uint32_t op)
{
    const uint32_t n = s->streams.ops.at[op].plan->n_members;
    if (s->interfere == NULL || !s->interfere->slows_calls)
        return;
    for (uint32_t place = 0; place < s->interfere->calls.n; place++) {
        if (s->interfere->calls.at[place].op != op)
            continue;
        for (uint32_t i = 0; i < n; i++)
            forget_call(&s->interfere->ranks[sim_member_get(s, op, i)->npu], place);
        s->interfere->calls.at[place].op = SIM_NONE;
    }
}

static cluster_kernel find_class_of_word(halley_bytes word)
{
    const str name = {word.at, word.n};
    if (str_eq(name, STR("matmul")) || str_eq(name, STR("conv")))
        return CLUSTER_KERNEL_MATMUL;
    return str_eq(name, STR("attention")) ? CLUSTER_KERNEL_ATTENTION
                                          : CLUSTER_KERNEL_MEMORY;
}

static double read_amount(const halley_trace *t, uint32_t node, const char *name)
{
    halley_attr attr;
    double value = 0;
    return halley_node_find_attr(&attr, t, node, name) &&
                   halley_attr_to_double(&attr, &value) && value > 0
               ? value
               : 0;
}

static cluster_kernel find_kernel_class(const sim *s, const halley_trace *t,
                                        uint32_t node)
{
    halley_attr attr;
    const halley_bytes name = halley_node_name(t, node);
    if (halley_node_find_attr(&attr, t, node, HALLEY_ATTR_NAME_KERNEL_CLASS) &&
        attr.kind == HALLEY_ATTR_STRING)
        return find_class_of_word(attr.bytes);
    if (halley_node_find_attr(&attr, t, node, "gemm"))
        return CLUSTER_KERNEL_MATMUL;
    if (str_contains((str){name.at, name.n}, STR("attention")))
        return CLUSTER_KERNEL_ATTENTION;
    const double ops = read_amount(t, node, HALLEY_ATTR_NAME_NUM_OPS);
    const double bytes = read_amount(t, node, HALLEY_ATTR_NAME_TENSOR_SIZE);
    const bool known = s->system->peak_flops > 0 && s->system->mem_Bps > 0;
    const bool by_memory = known
                               ? bytes / s->system->mem_Bps > ops / s->system->peak_flops
                               : bytes > 0 && ops == 0;
    return by_memory ? CLUSTER_KERNEL_MEMORY : CLUSTER_KERNEL_MATMUL;
}

static double get_factor(const rank_kernels *r, const running_kernel *k)
{
    return r->communicates ? k->factor : 1;
}

/* Schedule the end of a kernel from its remaining work. */
static void set_kernel_end(sim *s, uint32_t rank, running_kernel *k)
{
    const double ticks = ceil(k->left_ticks * get_factor(&s->interfere->ranks[rank], k));
    k->timer = des_timer_set(&s->queue,
                             s->queue.now + des_queue_ticks(&s->queue, fmax(0, ticks)),
                             sim_event_node(rank, k->node));
}

void sim_interfere_begin(sim *s, uint32_t rank, uint32_t node, uint64_t ticks)
{
    rank_kernels *r = &s->interfere->ranks[rank];
    const sim_rank *own = &s->ranks[rank];
    const cluster_kernel class =
        find_kernel_class(s, own->program->trace, own->program->nodes[node].trace_index);
    const running_kernel k = {.node = node,
                              .class = class,
                              .left_ticks = (double)ticks,
                              .factor = 1 + s->system->interference[class],
                              .begin = s->queue.now,
                              .since = s->queue.now};
    assert(k.factor >= 1);
    if (!array_push(&r->running, k)) {
        sim_fail_memory(s);
        return;
    }
    set_kernel_end(s, rank, &r->running.at[r->running.n - 1]);
    count_kernel(s, rank, class, true);
}

uint64_t sim_interfere_end(sim *s, uint32_t rank, uint32_t node)
{
    rank_kernels *r = &s->interfere->ranks[rank];
    for (size_t i = 0; i < r->running.n; i++) {
        if (r->running.at[i].node != node)
            continue;
        const uint64_t taken = s->queue.now - r->running.at[i].begin;
        const cluster_kernel class = r->running.at[i].class;
        r->running.at[i] = r->running.at[--r->running.n];
        count_kernel(s, rank, class, false);
        return taken;
    }
    return 0; /* a node that was not timed here */
}

void sim_interfere_change(sim *s, uint32_t rank, bool communicates)
{
    rank_kernels *r = &s->interfere->ranks[rank];
    if (r->communicates == communicates)
        return;
    for (size_t i = 0; i < r->running.n; i++) {
        running_kernel *k = &r->running.at[i];
        k->left_ticks -= (double)(s->queue.now - k->since) / get_factor(r, k);
        k->since = s->queue.now;
        des_timer_cancel(&s->queue, k->timer);
    }
    r->communicates = communicates;
    for (size_t i = 0; i < r->running.n; i++)
        set_kernel_end(s, rank, &r->running.at[i]);
}
