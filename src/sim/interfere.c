/*
 * sim/interfere.c - kernels beside communication. While a communication node of an NPU
 * runs, its kernels progress at 1 / (1 + f) of their speed; f is stated for matmuls,
 * attention and what is bound by memory (system.interference). Work that is left is kept
 * in ticks of undisturbed time; when communication begins or ends, what was done since
 * the last change is taken off, and the end is set anew.
 *
 * The class of a node: kernel_class of a recording; else a matmul if the node has a shape
 * (`gemm`), attention if its name says so, else by its operations and bytes on the NPU's
 * roofline. Known to be wrong: a collective that waits for a late member disturbs as much
 * as one that moves data; and communication is not slowed down by kernels.
 */
#include "sim/interfere.h"

#include "base/str.h"
#include "des/ticks.h"

#include <math.h>

typedef struct running_kernel {
    uint32_t node;
    double left_ticks; /* of undisturbed time, at `since` */
    double factor;     /* 1 + f of its class */
    uint64_t begin, since;
    des_timer timer;
} running_kernel;

typedef struct rank_kernels {
    ARRAY(running_kernel) running;
    bool communicates;
} rank_kernels;

struct sim_interfere {
    rank_kernels *ranks;
};

halley_status sim_interfere_init(sim *s)
{
    const double *f = s->system->interference;
    if (f[CLUSTER_KERNEL_MATMUL] == 0 && f[CLUSTER_KERNEL_ATTENTION] == 0 &&
        f[CLUSTER_KERNEL_MEMORY] == 0)
        return HALLEY_OK;
    s->interfere = arena_array(&s->memory_of_run, 1, sizeof *s->interfere);
    if (s->interfere == NULL)
        return error_nomem(s->err);
    s->interfere->ranks =
        arena_array(&s->memory_of_run, s->n_ranks, sizeof *s->interfere->ranks);
    return s->interfere->ranks == NULL ? error_nomem(s->err) : HALLEY_OK;
}

void sim_interfere_fini(sim *s)
{
    for (uint32_t i = 0;
         s->interfere != NULL && s->interfere->ranks != NULL && i < s->n_ranks; i++)
        array_fini(&s->interfere->ranks[i].running);
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

/* Set the end of a kernel by what is left of it. */
static void set_kernel_end(sim *s, uint32_t rank, running_kernel *k)
{
    const double ticks = ceil(k->left_ticks * get_factor(&s->interfere->ranks[rank], k));
    k->timer = des_timer_set(&s->queue, s->queue.now + ticks_from(fmax(0, ticks)),
                             sim_event_node(rank, k->node));
}

void sim_interfere_begin(sim *s, uint32_t rank, uint32_t node, uint64_t ticks)
{
    rank_kernels *r = &s->interfere->ranks[rank];
    const sim_rank *own = &s->ranks[rank];
    const cluster_kernel class =
        find_kernel_class(s, own->trace, own->program->nodes[node].trace_index);
    const running_kernel k = {.node = node,
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
}

uint64_t sim_interfere_end(sim *s, uint32_t rank, uint32_t node)
{
    rank_kernels *r = &s->interfere->ranks[rank];
    for (size_t i = 0; i < r->running.n; i++) {
        if (r->running.at[i].node != node)
            continue;
        const uint64_t taken = s->queue.now - r->running.at[i].begin;
        r->running.at[i] = r->running.at[--r->running.n];
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
