/*
 * The rules for batches and pipelines.
 *
 * Interleaving (Narayanan et al. 2021) runs micro-batches in rounds, with as many
 * micro-batches as stages. Their number must therefore be a multiple of the stages. Every
 * stage holds `virtual` chunks of equal size, so layers must divide by stages x chunks.
 * Otherwise the schedule deadlocks.
 *
 * Embedding and head may count as one layer each: 126 layers + 2 over 8 stages of 4
 * chunks (Llama 3 405B). This is switched on if only it makes the division work. Uneven
 * stages without interleaving are allowed: the last ones have one layer less.
 */
#include "workload/plan_rules.h"

#include "base/error.h"
#include "halley/plan_keys.h"

#include <assert.h>
#include <stdio.h>

/* Nobody trains on more sequences of more tokens in one step. 2^18 sequences of 512
 * tokens are 134 million tokens, about twice the largest published batch. */
enum { TOO_MANY_SEQUENCES = 1 << 18, A_TEXT = 512 };

halley_status workload_batch_check(const halley_plan *plan, const halley_model *model,
                                   halley_error *err)
{
    assert(plan->seq > 0 && plan->dp > 0 && plan->micro_batch > 0);
    if (model->kind != HALLEY_TRANSFORMER || plan->micro_batches != 0 ||
        plan->global_batch < TOO_MANY_SEQUENCES || plan->seq < A_TEXT)
        return HALLEY_OK;
    const uint64_t each = (uint64_t)plan->dp * plan->micro_batch;
    if (each >= TOO_MANY_SEQUENCES) /* one sequence per replica is no mistake */
        return HALLEY_OK;
    uint64_t sequences = plan->global_batch / plan->seq / each * each;
    if (sequences == 0)
        sequences = each;
    return error_set(err, HALLEY_EINVAL,
                     "global batch %u is in sequences, of %u tokens each; if %u is the "
                     "number of tokens, use global batch %llu",
                     plan->global_batch, plan->seq, plan->global_batch,
                     (unsigned long long)sequences);
}

static bool is_given(const halley_plan *plan, halley_plan_key key)
{
    return plan->given >> key & 1;
}

/* The number that stages and chunks must divide. */
static uint32_t count_units(const halley_plan *plan, const halley_model *model)
{
    return model->layers + (plan->embeddings_as_layers ? 2 : 0);
}

/* The divisor of `whole` nearest to `wanted`. */
static uint32_t find_nearest_divisor(uint32_t whole, uint32_t wanted)
{
    assert(whole > 0);
    for (uint32_t d = 0; d <= whole; d++) {
        if (wanted > d && wanted - d <= whole && whole % (wanted - d) == 0)
            return wanted - d;
        if (wanted + d > 0 && wanted + d <= whole && whole % (wanted + d) == 0)
            return wanted + d;
    }
    return 1;
}

/* "2, 4 or 8": the divisors of `whole` except 1; if more than five, the nearest. */
static void list_divisors(char *to, size_t size, uint32_t whole, uint32_t wanted)
{
    enum { MOST = 5 };
    uint32_t found[MOST + 1], n = 0;
    for (uint32_t d = 2; d <= whole && n <= MOST; d++)
        if (whole % d == 0)
            found[n++] = d;
    if (n == 0 || n > MOST) {
        snprintf(to, size, "%u", find_nearest_divisor(whole, wanted));
        return;
    }
    size_t at = 0;
    for (uint32_t i = 0; i < n && at < size; i++)
        at += (size_t)snprintf(to + at, size - at, "%s%u",
                               i == 0       ? ""
                               : i + 1 == n ? " or "
                                            : ", ",
                               found[i]);
}

static halley_status refuse_chunks(const halley_plan *p, const halley_model *m,
                                   halley_error *err)
{
    const uint32_t units = count_units(p, m);
    const char *as = p->embeddings_as_layers ? " and 2 for the embeddings" : "";
    const uint32_t with = m->layers + 2;
    uint32_t per_stage = 0;
    if (units % p->pp == 0)
        per_stage = units / p->pp;
    else if (with % p->pp == 0 && !is_given(p, HALLEY_KEY_EMBEDDINGS_AS_LAYERS))
        per_stage = with / p->pp;
    if (per_stage == 0)
        return error_set(err, HALLEY_EINVAL,
                         "interleaving needs equal stages, and %u layers%s do not divide "
                         "by pp %u: use virtual 1, give stage-layers, or choose pp %u",
                         m->layers, as, p->pp, find_nearest_divisor(m->layers, p->pp));
    char valid[80];
    list_divisors(valid, sizeof valid, per_stage, p->virtual_stages);
    return error_set(err, HALLEY_EINVAL,
                     "virtual %u: %u chunks do not divide the %u layers of a stage; use "
                     "%s",
                     p->virtual_stages, p->virtual_stages, per_stage, valid);
}

static halley_status check_rounds(const halley_plan *p, halley_error *err)
{
    const uint32_t m = halley_plan_micro_batches(p);
    if (m % p->pp == 0)
        return HALLEY_OK;
    const uint32_t rounds = m < p->pp ? 1 : (m + p->pp / 2) / p->pp;
    const unsigned long long batch =
        (unsigned long long)rounds * p->pp * p->dp * p->micro_batch;
    return error_set(
        err, HALLEY_EINVAL,
        "interleaving (virtual %u) needs the number of micro-batches (%u) to "
        "be a multiple of pp (%u): use global batch %llu or virtual 1",
        p->virtual_stages, m, p->pp, batch);
}

/* Count embedding and head as layers if only this makes the division work. */
static void choose_embeddings(halley_plan *plan, const halley_model *model)
{
    const uint64_t chunks = (uint64_t)plan->pp * plan->virtual_stages;
    if (plan->pp < 2 || plan->n_stage_layers > 0 || model->vocab == 0 ||
        is_given(plan, HALLEY_KEY_EMBEDDINGS_AS_LAYERS))
        return;
    if (model->layers % chunks != 0 && (model->layers + 2) % chunks == 0)
        plan->embeddings_as_layers = true;
}

halley_status workload_pipeline_check(halley_plan *plan, const halley_model *model,
                                      halley_error *err)
{
    assert(plan->pp > 0 && plan->virtual_stages > 0);
    if (model->kind != HALLEY_TRANSFORMER)
        return HALLEY_OK;
    choose_embeddings(plan, model);
    const uint64_t units = count_units(plan, model);
    if (plan->pp > units)
        return error_set(err, HALLEY_EINVAL,
                         "%u pipeline stages are more than the %u layers", plan->pp,
                         model->layers);
    if (plan->pp == 1 && plan->schedule > HALLEY_SCHEDULE_GPIPE)
        return error_set(err, HALLEY_EINVAL,
                         "schedule %s needs pipeline stages, and pp is 1",
                         halley_schedule_name(plan->schedule));
    if (plan->virtual_stages == 1)
        return HALLEY_OK;
    if (plan->pp == 1)
        return error_set(err, HALLEY_EINVAL,
                         "virtual %u interleaves pipeline stages, and pp is 1: use "
                         "virtual 1 or more stages",
                         plan->virtual_stages);
    if (plan->n_stage_layers == 0 &&
        units % ((uint64_t)plan->pp * plan->virtual_stages) != 0)
        return refuse_chunks(plan, model, err);
    return plan->schedule == HALLEY_SCHEDULE_1F1B ? check_rounds(plan, err) : HALLEY_OK;
}
