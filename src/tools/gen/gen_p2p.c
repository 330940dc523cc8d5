/*
 * Point-to-point patterns.
 *
 * All messages of a pattern have one global order, and every rank has its sends and
 * receives in that order. So no pattern can deadlock, even if a send waits for its
 * receive and an NPU does one thing at a time. Both ends of the first unfinished message
 * can always run.
 */
#include "base/call.h"
#include "base/error.h"
#include "base/rng.h"
#include "gen/gen.h"

#include <stdio.h>

static halley_status want_two(const halley_gen *gen, halley_error *err)
{
    if (gen->n_npus >= 2)
        return HALLEY_OK;
    return error_set(err, HALLEY_EINVAL, "%s needs at least 2 NPUs", gen->pattern->name);
}

static halley_status limit_tags(uint64_t n, halley_error *err)
{
    if (n <= INT32_MAX)
        return HALLEY_OK;
    return error_set(err, HALLEY_ELIMIT,
                     "that would take %llu message tags, and a tag is a 31-bit number",
                     (unsigned long long)n);
}

/*
 * Add one message to the rank `by` above and one from the rank `by` below, cyclically.
 * Senders at even positions of their cycle come first in the global order, so that half
 * of the messages can move at once. Returns both ids.
 */
static void add_shift(gen_out *o, const halley_gen *gen, uint32_t rank, uint32_t by,
                      uint32_t tag, const uint64_t after[2], uint64_t ids[2])
{
    const uint32_t n = gen->n_npus;
    const uint32_t to = (uint32_t)(((uint64_t)rank + by) % n);
    const uint32_t from = (uint32_t)(((uint64_t)rank + n - by) % n);
    const uint64_t size = gen->value[GEN_SIZE];
    const uint64_t mine = (uint64_t)(rank / by % 2) * n + rank;
    const uint64_t theirs = (uint64_t)(from / by % 2) * n + from;
    for (uint32_t i = 0; i < 2; i++) {
        if ((i == 0) == (mine < theirs))
            ids[i] = gen_send(o, rank, to, tag, size);
        else
            ids[i] = gen_recv(o, from, rank, tag, size);
        gen_after(o, after[0]);
        gen_after(o, after[1]);
    }
}

/* Add the compute node between two rounds, if requested. It waits for `after` and then
 * replaces it. */
static void add_compute_node(gen_out *o, const halley_gen *gen, uint64_t after[2])
{
    if (!gen->value[GEN_COMPUTE] && !gen->value[GEN_FLOPS] && !gen->value[GEN_TENSOR])
        return;
    const uint64_t id = gen_comp(o, "COMP", gen->value[GEN_COMPUTE],
                                 gen->value[GEN_FLOPS], gen->value[GEN_TENSOR]);
    gen_after(o, after[0]);
    gen_after(o, after[1]);
    after[0] = id;
    after[1] = GEN_NO_ID;
}

halley_status gen_ring_check(halley_gen *gen, halley_error *err)
{
    TRY(want_two(gen, err));
    TRY(limit_tags(gen->value[GEN_REPEAT], err));
    return gen_limit(3 * gen->value[GEN_REPEAT], err);
}

void gen_ring_make(gen_out *o, const halley_gen *gen, uint32_t rank)
{
    uint64_t after[2] = {GEN_NO_ID, GEN_NO_ID};
    for (uint32_t k = 0; k < gen->value[GEN_REPEAT] && call_goes_on(); k++) {
        uint64_t ids[2];
        add_shift(o, gen, rank, 1, k, after, ids);
        if (gen->value[GEN_ORDER] == GEN_INDEPENDENT)
            continue;
        after[0] = ids[0];
        after[1] = ids[1];
        add_compute_node(o, gen, after);
    }
}

halley_status gen_pairs_check(halley_gen *gen, halley_error *err)
{
    TRY(want_two(gen, err));
    TRY(limit_tags(gen->value[GEN_REPEAT], err));
    return gen_limit(2 * gen->value[GEN_REPEAT] * (gen->n_npus - 1), err);
}

void gen_pairs_make(gen_out *o, const halley_gen *gen, uint32_t rank)
{
    uint64_t after[2] = {GEN_NO_ID, GEN_NO_ID};
    for (uint32_t k = 0; k < gen->value[GEN_REPEAT] && call_goes_on(); k++) {
        for (uint32_t by = 1; by < gen->n_npus && call_goes_on(); by++) {
            uint64_t ids[2];
            add_shift(o, gen, rank, by, k, after, ids);
            if (gen->value[GEN_ORDER] == GEN_INDEPENDENT)
                continue;
            after[0] = ids[0];
            after[1] = ids[1];
        }
    }
}

halley_status gen_messages_check(halley_gen *gen, halley_error *err)
{
    TRY(want_two(gen, err));
    return gen_limit(gen->value[GEN_MESSAGES] + 1, err);
}

/* Message k goes from a random rank to another one. Sizes are random up to `size`. Every
 * rank draws all messages and keeps its own. */
void gen_messages_make(gen_out *o, const halley_gen *gen, uint32_t rank)
{
    rng r = rng_seed(gen->value[GEN_SEED]);
    const bool chained = gen->value[GEN_ORDER] == GEN_CHAINED;
    uint64_t prev = GEN_NO_ID;
    bool any = false;
    for (uint32_t k = 0; k < gen->value[GEN_MESSAGES] && call_goes_on(); k++) {
        const uint32_t src = (uint32_t)rng_below(&r, gen->n_npus);
        uint32_t dst = (uint32_t)rng_below(&r, gen->n_npus - 1);
        dst += dst >= src;
        const uint64_t size = 1 + rng_below(&r, gen->value[GEN_SIZE]);
        if (src != rank && dst != rank)
            continue;
        any = true;
        const uint64_t id =
            src == rank ? gen_send(o, src, dst, k, size) : gen_recv(o, src, dst, k, size);
        if (chained)
            gen_after(o, prev);
        prev = id;
    }
    if (!any) /* simulators need every NPU to have a node */
        (void)gen_comp(o, "IDLE", 1, 0, 0);
}

halley_status gen_pipeline_check(halley_gen *gen, halley_error *err)
{
    TRY(want_two(gen, err));
    return gen_limit(6 * gen->value[GEN_MICRO_BATCHES], err);
}

/* One micro-batch through one stage: receive from `from`, compute, send to `to`. At an
 * end of the pipeline, the peer is the rank itself and there is no message. Returns the
 * compute node. */
static uint64_t add_stage(gen_out *o, const halley_gen *gen, uint32_t from, uint32_t rank,
                          uint32_t to, uint32_t tag, uint32_t work, uint64_t prev)
{
    const uint64_t size = gen->value[GEN_SIZE];
    uint64_t got = GEN_NO_ID;
    if (from != rank) {
        got = gen_recv(o, from, rank, tag, size);
        gen_after(o, prev);
    }
    char name[48];
    const uint32_t n = (uint32_t)gen->value[GEN_MICRO_BATCHES];
    snprintf(name, sizeof name, "%s %u", tag < n ? "FORWARD" : "BACKWARD", tag % n);
    const uint64_t comp = gen_comp(o, name, work * gen->value[GEN_COMPUTE],
                                   work * gen->value[GEN_FLOPS], gen->value[GEN_TENSOR]);
    gen_after(o, prev);
    gen_after(o, got);
    if (to != rank) {
        (void)gen_send(o, rank, to, tag, size);
        gen_after(o, comp);
    }
    return comp;
}

/* All micro-batches forward, then all backward (twice the work), one stage per rank. */
void gen_pipeline_make(gen_out *o, const halley_gen *gen, uint32_t rank)
{
    const uint32_t n = (uint32_t)gen->value[GEN_MICRO_BATCHES];
    const uint32_t below = rank > 0 ? rank - 1 : rank;
    const uint32_t above = rank + 1 < gen->n_npus ? rank + 1 : rank;
    uint64_t prev = GEN_NO_ID;
    for (uint32_t m = 0; m < n && call_goes_on(); m++)
        prev = add_stage(o, gen, below, rank, above, m, 1, prev);
    for (uint32_t m = 0; gen->value[GEN_BACKWARD] && m < n && call_goes_on(); m++)
        prev = add_stage(o, gen, above, rank, below, n + m, 2, prev);
}
