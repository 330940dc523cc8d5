/*
 * coll/plan.c - turn a request into phases.
 *
 * A hierarchical all-reduce is a reduce-scatter in every active dimension but the last,
 * an all-reduce in the last, and all-gathers back. Other collectives cross the active
 * dimensions once: an all-gather from the outermost in, the rest from the innermost out.
 * A dimension is active if it has more than one NPU and takes part. Sizes are divided as
 * integers.
 */
#include "coll/algo.h"

#include <assert.h>

static bool is_active(const coll_request *r, uint32_t d, uint32_t n)
{
    return n > 1 && (r->involved >> d & 1);
}

/* Size and stride of logical dimension d. */
static void get_dimension(const coll_request *r, uint32_t d, uint32_t *n,
                          uint32_t *stride)
{
    assert(d < r->n_impls);
    *n = r->n_members;
    *stride = 1;
    if (r->local || r->impls[d].flat)
        return;
    *n = r->sizes[d];
    for (uint32_t i = 0; i < d; i++)
        *stride *= r->sizes[i];
}

static coll_outline outline_phase(const coll_request *r, uint32_t d, cluster_coll coll,
                                  coll_queue_half half)
{
    assert(d < r->n_impls);
    coll_outline o = {.level = d, .coll = coll, .half = half, .algo = r->impls[d].algo};
    get_dimension(r, d, &o.n, &o.stride);
    return o;
}

/* The i-th dimension that a reduction crosses. */
static uint32_t get_crossed_dim(const coll_request *r, uint32_t i)
{
    return (uint32_t)(r->order >> (4 * i)) & 15;
}

static uint32_t outline_once_through(coll_outline *to, const coll_request *r)
{
    uint32_t n_phases = 0;
    for (uint32_t i = 0; i < r->n_impls; i++) {
        const uint32_t d =
            get_crossed_dim(r, r->coll == CLUSTER_ALL_GATHER ? r->n_impls - 1 - i : i);
        const coll_outline o = outline_phase(r, d, r->coll, COLL_QUEUE_ANY);
        if (is_active(r, d, o.n))
            to[n_phases++] = o;
    }
    assert(n_phases <= r->n_impls);
    return n_phases;
}

/* Up: from the innermost dimension out. Down: from the outermost in. */
static uint32_t outline_rooted(coll_outline *to, const coll_request *r)
{
    const bool up = r->rooted == COLL_ROOTED_REDUCE || r->rooted == COLL_ROOTED_GATHER;
    uint32_t n_phases = 0;
    for (uint32_t i = 0; i < r->n_impls; i++) {
        const uint32_t d = up ? i : r->n_impls - 1 - i;
        coll_outline o = outline_phase(r, d, r->coll, COLL_QUEUE_ANY);
        o.algo = CLUSTER_ALGO_ROOTED;
        if (is_active(r, d, o.n))
            to[n_phases++] = o;
    }
    assert(n_phases <= r->n_impls);
    return n_phases;
}

static uint32_t outline_up_and_down(coll_outline *to, const coll_request *r)
{
    uint32_t n_phases = 0, n_up;
    for (uint32_t i = 0; i < r->n_impls; i++) {
        const uint32_t d = get_crossed_dim(r, i);
        const coll_outline o =
            outline_phase(r, d, CLUSTER_REDUCE_SCATTER, COLL_QUEUE_FIRST);
        if (is_active(r, d, o.n))
            to[n_phases++] = o;
    }
    if (n_phases == 0)
        return 0;
    to[n_phases - 1].coll = CLUSTER_ALL_REDUCE;
    n_up = n_phases - 1;
    for (uint32_t i = n_up; i-- > 0;)
        to[n_phases++] =
            outline_phase(r, to[i].level, CLUSTER_ALL_GATHER, COLL_QUEUE_LAST);
    assert(n_phases == 2 * n_up + 1);
    assert(n_phases <= COLL_MAX_PHASES);
    return n_phases;
}

/* Mark phases that a switch carries out. */
static void use_switches(coll_outline *to, uint32_t n, const coll_request *r)
{
    assert(n <= COLL_MAX_PHASES);
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
    assert(request->n_impls <= CLUSTER_MAX_DIMS);
    const bool up_down = request->coll == CLUSTER_ALL_REDUCE && request->hierarchical;
    const uint32_t n = request->rooted != COLL_ROOTED_NONE ? outline_rooted(to, request)
                       : up_down ? outline_up_and_down(to, request)
                                 : outline_once_through(to, request);
    use_switches(to, n, request);
    return n;
}

static uint64_t get_out_bytes(const coll_phase *p)
{
    assert(p->n > 0);
    if (p->coll == CLUSTER_REDUCE_SCATTER)
        return p->data_bytes / p->n;
    return p->coll == CLUSTER_ALL_GATHER ? p->data_bytes * p->n : p->data_bytes;
}

/* True if a message would have 0 bytes. This happens if there are fewer bytes than
 * members. For halving-doubling the limit is twice that, because it halves a single byte
 * before it doubles it again. */
static bool sends_empty_message(const coll_phase *p)
{
    for (uint32_t k = 0; p->bytes != NULL && k < p->n_sends; k++)
        if (p->bytes[k] == 0)
            return true;
    return p->bytes == NULL && p->message_bytes == 0;
}

halley_status coll_plan_new(coll_plan **out, const coll_request *request, arena *memory,
                            halley_error *err)
{
    assert(request->n_members > 0);
    assert(request->impls != NULL || request->n_impls == 0);
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
        const coll_fill_options options = {&request->impls[o->level], request->local,
                                           memory};
        TRY(coll_algo_get(o->algo)->fill(p, &options, err));
        assert(p->n_steps > 0 && p->n_sends > 0);
        if (request->no_empty && sends_empty_message(p))
            return error_set(err, HALLEY_EINVAL,
                             "a chunk of %llu bytes among %u members makes an empty "
                             "message, on which ASTRA-sim aborts",
                             (unsigned long long)p->data_bytes, p->n);
        p->n_silent = p->window;
        p->out_bytes = bytes = get_out_bytes(p);
        step += p->n_steps;
        if (step >= UINT32_C(1) << 20)
            return error_set(err, HALLEY_ELIMIT,
                             "the collective has more than a million steps");
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
