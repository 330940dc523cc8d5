/*
 * Simple training steps as runnable examples: data-parallel layers with gradient exchange
 * during the backward pass, and a transformer split over tensor, data and pipeline
 * parallel ranks. Backward has twice the compute of forward. Rank = t + tp * (d + dp *
 * s). Tensor groups are numbered first, then data groups, each by stage.
 */
#include "base/call.h"
#include "base/error.h"
#include "gen/gen.h"

#include <inttypes.h>
#include <stdio.h>

bool gen_all_same(const halley_gen *gen, uint32_t *same)
{
    for (uint32_t r = 0; r < gen->n_npus; r++)
        same[r] = 0;
    return true;
}

/* Add a compute node of layer l with `work` times the forward work. */
static uint64_t add_model_layer(gen_out *o, const halley_gen *gen, const char *what,
                                uint64_t l, uint64_t work)
{
    char name[64];
    snprintf(name, sizeof name, "LAYER %" PRIu64 " %s", l, what);
    return gen_comp(o, name, work * gen->value[GEN_COMPUTE], work * gen->value[GEN_FLOPS],
                    gen->value[GEN_TENSOR]);
}

halley_status gen_dp_check(halley_gen *gen, halley_error *err)
{
    return gen_limit(4 * gen->value[GEN_LAYERS] * gen->value[GEN_REPEAT], err);
}

/* Add one step. *first_update is the first update of the previous step, and then of this
 * one. */
static uint64_t add_dp_step(gen_out *o, const halley_gen *gen, uint64_t prev,
                            uint64_t *first_update)
{
    const uint64_t n = gen->value[GEN_LAYERS], size = gen->value[GEN_GRADIENT];
    const bool zero = gen->value[GEN_ZERO];
    /* The previous step made its updates in backward order, with ids at equal distance.
     */
    const uint64_t stride = zero ? 3 : 2;
    for (uint64_t l = 0; l < n && call_goes_on(); l++) {
        const uint64_t id = add_model_layer(o, gen, "FORWARD", l, 1);
        gen_after(o, prev);
        if (*first_update != GEN_NO_ID)
            gen_after(o, *first_update + stride * (n - 1 - l));
        prev = id;
    }
    for (uint64_t l = n; l-- > 0 && call_goes_on();) {
        const uint64_t id = add_model_layer(o, gen, "BACKWARD", l, 2);
        gen_after(o, prev);
        prev = id;
        uint64_t update =
            gen_coll(o, zero ? "REDUCE_SCATTER" : "ALL_REDUCE",
                     zero ? HALLEY_COLL_REDUCE_SCATTER : HALLEY_COLL_ALL_REDUCE, size, 0);
        gen_after(o, id);
        if (zero) {
            const uint64_t share = size / gen->n_npus + (size % gen->n_npus != 0);
            const uint64_t gather =
                gen_coll(o, "ALL_GATHER", HALLEY_COLL_ALL_GATHER, share, 0);
            gen_after(o, update);
            update = gather;
        }
        if (l == n - 1)
            *first_update = update;
    }
    return prev;
}

void gen_dp_make(gen_out *o, const halley_gen *gen, uint32_t rank)
{
    (void)rank;
    uint64_t prev = GEN_NO_ID, first_update = GEN_NO_ID;
    for (uint64_t k = 0; k < gen->value[GEN_REPEAT] && call_goes_on(); k++)
        prev = add_dp_step(o, gen, prev, &first_update);
}

/* Add a group of n ranks, from `first` at equal distance. */
static halley_status add_model_group(halley_gen *gen, uint64_t first, uint64_t stride,
                                     uint64_t n, halley_error *err)
{
    gen_group group = {mem_array(n, sizeof *group.ranks), (uint32_t)n};
    if (!group.ranks)
        return error_nomem(err);
    for (uint64_t i = 0; i < n && call_goes_on(); i++)
        group.ranks[i] = (uint32_t)(first + i * stride);
    return gen_group_add(gen, group, err);
}

static halley_status make_model_groups(halley_gen *gen, halley_error *err)
{
    const uint64_t tp = gen->value[GEN_TP], dp = gen->value[GEN_DP],
                   pp = gen->value[GEN_PP];
    gen_groups_clear(gen);
    for (uint64_t sd = 0; tp > 1 && sd < pp * dp; sd++)
        TRY(add_model_group(gen, tp * sd, 1, tp, err));
    for (uint64_t s = 0; dp > 1 && s < pp; s++)
        for (uint64_t t = 0; t < tp; t++)
            TRY(add_model_group(gen, t + tp * dp * s, tp, dp, err));
    return HALLEY_OK;
}

halley_status gen_transformer_check(halley_gen *gen, halley_error *err)
{
    uint64_t *v = gen->value;
    const uint64_t tp = v[GEN_TP], pp = v[GEN_PP], n = gen->n_npus;
    if (v[GEN_DP] == 0 && n % (tp * pp) == 0)
        v[GEN_DP] = n / (tp * pp);
    if (v[GEN_DP] == 0 || tp * pp * v[GEN_DP] != n)
        return error_set(err, HALLEY_EINVAL,
                         "tp %" PRIu64 " x dp %" PRIu64 " x pp %" PRIu64
                         " must be the number of NPUs, %" PRIu64,
                         tp, v[GEN_DP], pp, n);
    if (v[GEN_LAYERS] % pp != 0)
        return error_set(err, HALLEY_EINVAL,
                         "layers must be a multiple of the %" PRIu64
                         " stages, is %" PRIu64,
                         pp, v[GEN_LAYERS]);
    TRY(gen_limit(v[GEN_MICRO_BATCHES] * (9 * v[GEN_LAYERS] / pp + 4), err));
    return make_model_groups(gen, err);
}

/* The coordinates of a rank, and the numbers of its groups (0 = none). */
typedef struct place {
    uint32_t rank, stage, tensor_group, data_group;
} place;

static place place_of(const halley_gen *gen, uint32_t rank)
{
    const uint32_t tp = (uint32_t)gen->value[GEN_TP], dp = (uint32_t)gen->value[GEN_DP],
                   pp = (uint32_t)gen->value[GEN_PP];
    const uint32_t t = rank % tp, stage = rank / (tp * dp);
    const uint32_t n_tensor = tp > 1 ? pp * dp : 0;
    return (place){rank, stage, tp > 1 ? rank / tp + 1 : 0,
                   dp > 1 ? n_tensor + stage * tp + t + 1 : 0};
}

/* Add attention and feed-forward of one layer, each followed by its tensor-parallel
 * all-reduce. Returns the last node. */
static uint64_t add_block(gen_out *o, const halley_gen *gen, const place *p, uint64_t l,
                          bool backward, uint64_t prev, uint64_t also)
{
    static const char *const forward_names[] = {"ATTENTION FORWARD", "MLP FORWARD"};
    static const char *const backward_names[] = {"MLP BACKWARD", "ATTENTION BACKWARD"};
    for (uint32_t half = 0; half < 2; half++) {
        const uint64_t comp =
            add_model_layer(o, gen, backward ? backward_names[half] : forward_names[half],
                            l, backward ? 2 : 1);
        gen_after(o, prev);
        if (half == 0)
            gen_after(o, also);
        prev = comp;
        if (p->tensor_group == 0)
            continue;
        prev = gen_coll(o, "TENSOR ALL_REDUCE", HALLEY_COLL_ALL_REDUCE,
                        gen->value[GEN_SIZE], p->tensor_group);
        gen_after(o, comp);
    }
    return prev;
}

/* One micro-batch through this stage, from one neighbour to the other. A peer equal to
 * the rank means none. */
static uint64_t add_model_pass(gen_out *o, const halley_gen *gen, const place *p,
                               uint32_t micro_batch, bool backward, uint64_t prev)
{
    const uint32_t n_micro = (uint32_t)gen->value[GEN_MICRO_BATCHES];
    const uint32_t step = (uint32_t)(gen->value[GEN_TP] * gen->value[GEN_DP]);
    const bool first = p->stage == 0, last = p->stage + 1 == gen->value[GEN_PP];
    const uint32_t below = first ? p->rank : p->rank - step;
    const uint32_t above = last ? p->rank : p->rank + step;
    const uint32_t from = backward ? above : below, to = backward ? below : above;
    const uint32_t tag = backward ? n_micro + micro_batch : micro_batch;
    const uint64_t n = gen->value[GEN_LAYERS] / gen->value[GEN_PP];
    const uint64_t base = n * p->stage;
    uint64_t got = GEN_NO_ID;
    if (from != p->rank) {
        got = gen_recv(o, from, p->rank, tag, gen->value[GEN_SIZE]);
        gen_after(o, prev);
    }
    for (uint64_t i = 0; i < n && call_goes_on(); i++) {
        const uint64_t l = base + (backward ? n - 1 - i : i);
        prev = add_block(o, gen, p, l, backward, prev, i == 0 ? got : GEN_NO_ID);
        if (!backward || p->data_group == 0 || micro_batch + 1 < n_micro)
            continue;
        (void)gen_coll(o, "GRADIENT ALL_REDUCE", HALLEY_COLL_ALL_REDUCE,
                       gen->value[GEN_GRADIENT], p->data_group);
        gen_after(o, prev);
    }
    if (to != p->rank) {
        (void)gen_send(o, p->rank, to, tag, gen->value[GEN_SIZE]);
        gen_after(o, prev);
    }
    return prev;
}

void gen_transformer_make(gen_out *o, const halley_gen *gen, uint32_t rank)
{
    const place p = place_of(gen, rank);
    const uint32_t n = (uint32_t)gen->value[GEN_MICRO_BATCHES];
    uint64_t prev = GEN_NO_ID;
    for (uint32_t m = 0; m < n && call_goes_on(); m++)
        prev = add_model_pass(o, gen, &p, m, false, prev);
    for (uint32_t m = 0; gen->value[GEN_BACKWARD] && m < n && call_goes_on(); m++)
        prev = add_model_pass(o, gen, &p, m, true, prev);
}

/* Without stages, ranks of the same groups have the same trace. With stages, their
 * messages differ. */
bool gen_transformer_same(const halley_gen *gen, uint32_t *same)
{
    if (gen->value[GEN_PP] == 1)
        return gen_coll_same(gen, same);
    for (uint32_t r = 0; r < gen->n_npus; r++)
        same[r] = r;
    return true;
}
