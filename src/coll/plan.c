/*
 * coll/plan.c - from a request to phases.
 *
 * Hierarchical all-reduce: reduce-scatter in every active dimension but the last, an
 * all-reduce in that one, all-gather back. The others cross the active dimensions once,
 * an all-gather from the outermost in, the rest from the innermost out. A dimension is
 * active when it has more than one NPU and takes part. All divisions of sizes are whole.
 */
#include "coll/plan.h"

#include "coll/rooted.h"

#include <math.h>

static bool active(const coll_request *r, uint32_t d, uint32_t n)
{
    return n > 1 && (r->involved >> d & 1);
}

/* Size and stride of logical dimension d. */
static void logical(const coll_request *r, uint32_t d, uint32_t *n, uint32_t *stride)
{
    *n = r->n_members;
    *stride = 1;
    if (r->local || r->impls[d].flat)
        return;
    *n = r->sizes[d];
    for (uint32_t i = 0; i < d; i++)
        *stride *= r->sizes[i];
}

static coll_outline outline(const coll_request *r, uint32_t d, cluster_coll coll,
                            coll_queue_half half)
{
    coll_outline o = {.level = d, .coll = coll, .half = half, .algo = r->impls[d].algo};
    logical(r, d, &o.n, &o.stride);
    return o;
}

/* The i-th dimension that a reduction crosses. */
static uint32_t dim_at(const coll_request *r, uint32_t i)
{
    return (uint32_t)(r->order >> (4 * i)) & 15;
}

static uint32_t once_through(coll_outline *to, const coll_request *r)
{
    uint32_t n_phases = 0;
    for (uint32_t i = 0; i < r->n_impls; i++) {
        const uint32_t d =
            dim_at(r, r->coll == CLUSTER_ALL_GATHER ? r->n_impls - 1 - i : i);
        const coll_outline o = outline(r, d, r->coll, COLL_QUEUE_ANY);
        if (active(r, d, o.n))
            to[n_phases++] = o;
    }
    return n_phases;
}

/* Up from the innermost dimension out, down from the outermost in. */
static uint32_t rooted(coll_outline *to, const coll_request *r)
{
    const bool up = r->rooted == COLL_ROOTED_REDUCE || r->rooted == COLL_ROOTED_GATHER;
    uint32_t n_phases = 0;
    for (uint32_t i = 0; i < r->n_impls; i++) {
        const uint32_t d = up ? i : r->n_impls - 1 - i;
        coll_outline o = outline(r, d, r->coll, COLL_QUEUE_ANY);
        o.algo = CLUSTER_ALGO_ROOTED;
        if (active(r, d, o.n))
            to[n_phases++] = o;
    }
    return n_phases;
}

static uint32_t up_and_down(coll_outline *to, const coll_request *r)
{
    uint32_t n_phases = 0, n_up;
    for (uint32_t i = 0; i < r->n_impls; i++) {
        const uint32_t d = dim_at(r, i);
        const coll_outline o = outline(r, d, CLUSTER_REDUCE_SCATTER, COLL_QUEUE_FIRST);
        if (active(r, d, o.n))
            to[n_phases++] = o;
    }
    if (n_phases == 0)
        return 0;
    to[n_phases - 1].coll = CLUSTER_ALL_REDUCE;
    n_up = n_phases - 1;
    for (uint32_t i = n_up; i-- > 0;)
        to[n_phases++] = outline(r, to[i].level, CLUSTER_ALL_GATHER, COLL_QUEUE_LAST);
    return n_phases;
}

/* Phases that a switch does itself. */
static void use_switches(coll_outline *to, uint32_t n, const coll_request *r)
{
    for (uint32_t i = 0; r->in_network != NULL && !r->local && i < n; i++) {
        const bool broadcast = r->rooted == COLL_ROOTED_BROADCAST;
        const uint32_t bit = broadcast ? CLUSTER_N_COLLS : (uint32_t)to[i].coll;
        if (r->rooted != COLL_ROOTED_NONE && !broadcast)
            continue;
        if (!r->impls[to[i].level].flat && (r->in_network[to[i].level] >> bit & 1))
            to[i].algo = CLUSTER_ALGO_IN_SWITCH;
    }
}

uint32_t coll_outline_get(coll_outline *to, const coll_request *request)
{
    const bool up_down = request->coll == CLUSTER_ALL_REDUCE && request->hierarchical;
    const uint32_t n = request->rooted != COLL_ROOTED_NONE ? rooted(to, request)
                       : up_down                           ? up_and_down(to, request)
                                                           : once_through(to, request);
    use_switches(to, n, request);
    return n;
}

static halley_status fill_ring(coll_phase *p, const cluster_impl *impl, bool local,
                               arena *memory, halley_error *err)
{
    (void)impl, (void)local, (void)memory;
    if (p->coll == CLUSTER_ALL_TO_ALL && (uint64_t)p->n * (p->n - 1) / 2 > UINT32_MAX)
        return error_set(
            err, HALLEY_ELIMIT,
            "a ring all-to-all of %u members has over 2^32 steps; use direct", p->n);
    p->window = 1;
    p->n_loud = p->n - 1;
    p->n_sends = p->n - 1;
    if (p->coll == CLUSTER_ALL_REDUCE)
        p->n_sends = 2 * (p->n - 1);
    if (p->coll == CLUSTER_ALL_TO_ALL)
        p->n_sends = (uint32_t)((uint64_t)p->n * (p->n - 1) / 2);
    p->message_bytes =
        p->coll == CLUSTER_ALL_GATHER ? p->data_bytes : p->data_bytes / p->n;
    return HALLEY_OK;
}

static halley_status fill_direct(coll_phase *p, const cluster_impl *impl, bool local,
                                 arena *memory, halley_error *err)
{
    TRY(fill_ring(p, impl, local, memory, err));
    p->window = impl->window == 0 || impl->window > p->n - 1 ? p->n - 1 : impl->window;
    p->n_loud = local ? (p->n - 1) * p->window : p->window;
    if (p->coll == CLUSTER_ALL_TO_ALL)
        p->n_sends = p->n - 1;
    return HALLEY_OK;
}

/*
 * Distances and sizes packet by packet. An all-reduce halves sizes while distances
 * double, and turns round when the distance reaches n; the last halved size is then
 * doubled again, so an odd one loses a byte. Sizes and distances are cut to whole numbers
 * at every step, as the reference does.
 */
static void fill_steps(coll_phase *p)
{
    const bool gather = p->coll == CLUSTER_ALL_GATHER;
    double factor = gather ? 0.5 : 2;
    uint32_t distance = gather ? p->n / 2 : 1;
    uint64_t bytes = gather ? p->data_bytes : p->data_bytes / 2;
    for (uint32_t k = 0; k <= p->n_sends; k++) {
        p->distance[k] = distance;
        p->bytes[k] = bytes;
        distance = (uint32_t)(distance * factor);
        bytes = (uint64_t)((double)bytes / factor);
        if (distance == p->n && p->coll == CLUSTER_ALL_REDUCE) {
            factor = 0.5;
            distance = (uint32_t)(distance * factor);
            bytes = (uint64_t)((double)bytes / factor);
        }
    }
}

static halley_status fill_halving(coll_phase *p, const cluster_impl *impl, bool local,
                                  arena *memory, halley_error *err)
{
    (void)impl, (void)local;
    const bool power = (p->n & (p->n - 1)) == 0;
    if (p->coll == CLUSTER_ALL_TO_ALL)
        return error_set(err, HALLEY_EINVAL,
                         "halving-doubling cannot do an all-to-all; use ring or direct");
    if (!power && p->coll != CLUSTER_ALL_GATHER)
        return error_set(err, HALLEY_EINVAL,
                         "halving-doubling needs a power of two of members, not %u",
                         p->n);
    const double rounds = log2(p->n);
    p->window = 1;
    p->lopsided = !power;
    p->n_loud = (uint32_t)(rounds - 1);
    p->n_sends = (uint32_t)(p->coll == CLUSTER_ALL_REDUCE ? 2 * rounds : rounds);
    p->message_bytes = p->data_bytes;
    p->distance = arena_array(memory, p->n_sends + 1, sizeof *p->distance);
    p->bytes = arena_array(memory, p->n_sends + 1, sizeof *p->bytes);
    if (p->distance == NULL || p->bytes == NULL)
        return error_nomem(err);
    fill_steps(p);
    return HALLEY_OK;
}

/* Always an all-reduce of all the data, whatever it stands in for. */
static halley_status fill_tree(coll_phase *p, const cluster_impl *impl, bool local,
                               arena *memory, halley_error *err)
{
    (void)impl, (void)memory;
    if ((p->n & (p->n - 1)) != 0)
        return error_set(err, HALLEY_EINVAL,
                         "a double binary tree needs a power of two of members, not %u",
                         p->n);
    if (local)
        return error_set(err, HALLEY_EINVAL,
                         "a double binary tree cannot serve a communicator group");
    p->coll = CLUSTER_ALL_REDUCE;
    p->message_bytes = p->data_bytes;
    p->n_sends = 3;
    return HALLEY_OK;
}

/* Everything up; what the collective leaves each member with, but its own, down. */
static halley_status fill_in_switch(coll_phase *p, const cluster_impl *impl, bool local,
                                    arena *memory, halley_error *err)
{
    (void)impl, (void)local, (void)memory, (void)err;
    p->window = 1;
    p->n_sends = 1;
    p->silent = true; /* the switch reduces, not the NPU */
    p->message_bytes = p->down_bytes = p->data_bytes;
    if (p->coll == CLUSTER_REDUCE_SCATTER)
        p->down_bytes = p->data_bytes / p->n;
    if (p->coll == CLUSTER_ALL_GATHER)
        p->down_bytes = p->data_bytes * (p->n - 1);
    return HALLEY_OK;
}

static halley_status fill_rooted(coll_phase *p, const cluster_impl *impl, bool local,
                                 arena *memory, halley_error *err)
{
    (void)local, (void)memory, (void)err;
    p->shape = impl->algo;
    coll_rooted_fill(p);
    return HALLEY_OK;
}

typedef halley_status filler(coll_phase *p, const cluster_impl *impl, bool local,
                             arena *memory, halley_error *err);
static filler *const fillers[CLUSTER_N_ALGOS] = {
    [CLUSTER_ALGO_RING] = fill_ring,
    [CLUSTER_ALGO_DIRECT] = fill_direct,
    [CLUSTER_ALGO_HALVING_DOUBLING] = fill_halving,
    [CLUSTER_ALGO_TREE] = fill_tree,
    [CLUSTER_ALGO_IN_SWITCH] = fill_in_switch,
    [CLUSTER_ALGO_ROOTED] = fill_rooted,
};

static uint64_t out_bytes(const coll_phase *p)
{
    if (p->coll == CLUSTER_REDUCE_SCATTER)
        return p->data_bytes / p->n;
    return p->coll == CLUSTER_ALL_GATHER ? p->data_bytes * p->n : p->data_bytes;
}

/* Fewer bytes than members, or halving-doubling of less than twice that: it halves an odd
 * byte before it doubles it again. */
static bool sends_nothing(const coll_phase *p)
{
    for (uint32_t k = 0; p->bytes != NULL && k < p->n_sends; k++)
        if (p->bytes[k] == 0)
            return true;
    return p->bytes == NULL && p->message_bytes == 0;
}

halley_status coll_plan_new(coll_plan **out, const coll_request *request, arena *memory,
                            halley_error *err)
{
    coll_outline outlines[COLL_MAX_PHASES];
    coll_plan *plan = arena_array(memory, 1, sizeof *plan);
    const uint32_t n = coll_outline_get(outlines, request);
    coll_phase *phases = arena_array(memory, n, sizeof *phases);
    if (plan == NULL || phases == NULL)
        return error_nomem(err);
    uint64_t bytes = request->bytes;
    uint64_t step = 0;
    for (uint32_t i = 0; i < n; i++) {
        const coll_outline *o = &outlines[i];
        coll_phase *p = &phases[i];
        *p = (coll_phase){.algo = o->algo,
                          .coll = o->coll,
                          .level = o->level,
                          .n = o->n,
                          .stride = o->stride,
                          .data_bytes = bytes,
                          .silent = request->silent,
                          .rooted = request->rooted,
                          .root = request->root,
                          .down = request->directions >> i & 1,
                          .root_is_first = request->trees >> i & 1,
                          .first_step = (uint32_t)step};
        TRY(fillers[o->algo](p, &request->impls[o->level], request->local, memory, err));
        if (request->no_empty && sends_nothing(p))
            return error_set(err, HALLEY_EINVAL,
                             "a chunk of %llu bytes among %u members comes to a message "
                             "of no bytes, where ASTRA-sim aborts",
                             (unsigned long long)p->data_bytes, p->n);
        p->n_silent = p->window;
        p->out_bytes = bytes = out_bytes(p);
        /* A ring's messages arrive in the order they were sent: one step stands for all.
         */
        step += o->algo == CLUSTER_ALGO_RING        ? 1
                : o->algo == CLUSTER_ALGO_IN_SWITCH ? COLL_N_SWITCH_STEPS
                                                    : p->n_sends;
        if (step >= UINT32_C(1) << 20)
            return error_set(err, HALLEY_ELIMIT,
                             "a collective with over a million steps");
    }
    *plan = (coll_plan){.n_members = request->n_members,
                        .n_phases = n,
                        .phases = phases,
                        .n_steps = (uint32_t)step,
                        .local = request->local,
                        .grouped = request->grouped,
                        .bytes = request->bytes,
                        .coll = request->coll};
    *out = plan;
    return HALLEY_OK;
}

/* The member `by` places further (or back) in the phase's dimension. */
static uint32_t shifted(const coll_phase *p, uint32_t member, uint32_t by, bool back)
{
    const uint32_t place = member / p->stride % p->n;
    const uint32_t to = back ? (place >= by ? place - by : place + p->n - by)
                             : (place + by >= p->n ? place + by - p->n : place + by);
    return member + to * p->stride - place * p->stride;
}

uint32_t coll_packet_to(const coll_phase *p, uint32_t member, uint32_t k)
{
    if (p->algo == CLUSTER_ALGO_RING)
        return shifted(p, member, 1, p->down);
    if (p->algo == CLUSTER_ALGO_DIRECT)
        return shifted(p, member, 1 + k % (p->n - 1), p->down);
    if (p->algo == CLUSTER_ALGO_IN_SWITCH)
        return member;
    const uint32_t distance = p->distance[k];
    if (distance == 0)
        return member;
    const uint32_t place = member / p->stride % p->n;
    return shifted(p, member, distance, place / distance % 2 == 1);
}

uint32_t coll_packet_from(const coll_phase *p, uint32_t member, uint32_t k)
{
    if (p->algo == CLUSTER_ALGO_RING)
        return shifted(p, member, 1, !p->down);
    if (p->algo == CLUSTER_ALGO_DIRECT)
        return shifted(p, member, 1 + k % (p->n - 1), !p->down);
    return coll_packet_to(p, member, k);
}

/*
 * The trees: the root stands alone above a complete binary tree of the other n-1 places,
 * numbered in order. With the root last, the places 0 … n-2 are that tree; with the root
 * first, 1 … n-1. In such a tree of 2^d - 1 places numbered from 1, place i is at height
 * h = trailing zeros of i; its children are i ± 2^(h-1), its parent i ± 2^h.
 */
coll_tree_place coll_tree_find(const coll_phase *p, uint32_t member)
{
    const uint32_t place = member / p->stride % p->n;
    const uint32_t base = member - place * p->stride;
    const uint32_t shift = p->root_is_first ? 0 : 1; /* number from 1 below the root */
    const uint32_t root = p->root_is_first ? 0 : p->n - 1;
    const uint32_t top = p->n / 2; /* the root's child, numbered from 1 */
    coll_tree_place at = {COLL_NONE, COLL_NONE, COLL_NONE};
    if (place == root) {
        const uint32_t child = base + (top - shift) * p->stride;
        if (p->root_is_first)
            at.right = child;
        else
            at.left = child;
        return at;
    }
    const uint32_t i = place + shift;
    const uint32_t height = (uint32_t)__builtin_ctz(i);
    const uint32_t span = UINT32_C(1) << height;
    at.parent = i == top
                    ? base + root * p->stride
                    : base + ((i & (2 * span) ? i - span : i + span) - shift) * p->stride;
    if (height > 0) {
        at.left = base + (i - span / 2 - shift) * p->stride;
        at.right = base + (i + span / 2 - shift) * p->stride;
    }
    return at;
}
