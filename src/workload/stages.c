/*
 * Layers are dealt to stages in blocks of equal size, in order; with virtual stages every
 * stage holds several blocks, which changes which layers have experts but not how many
 * layers there are. Where embedding and head count as a layer each, the first and last
 * stage hold one layer less.
 */
#include "workload/stages.h"

#include "workload/ops.h"

static uint32_t block_start(uint32_t units, uint32_t n, uint32_t i)
{
    const uint32_t base = units / n, extra = units % n;
    return i * base + (i < extra ? i : extra);
}

/* Layers with experts among [from, to). */
static uint32_t moe_between(const halley_model *model, uint32_t from, uint32_t to)
{
    if (!model->experts || to <= model->dense_layers)
        return 0;
    const uint32_t every = model->moe_every ? model->moe_every : 1;
    const uint32_t d = model->dense_layers;
    const uint32_t below_to = (to - d) / every;
    const uint32_t below_from = from > d ? (from - d) / every : 0;
    return below_to - below_from;
}

static void count(workload_stage *s, const halley_model *model, uint32_t from,
                  uint32_t to)
{
    if (to <= from)
        return;
    const uint32_t moe = moe_between(model, from, to);
    s->n_moe += moe;
    s->n_dense += to - from - moe;
}

static workload_stage layers_of(const halley_model *model, const halley_plan *plan,
                                uint32_t i)
{
    workload_stage s = {.first = i == 0, .last = i + 1 == plan->pp};
    if (plan->n_stage_layers == plan->pp) {
        uint32_t from = 0;
        for (uint32_t j = 0; j < i; j++)
            from += plan->stage_layers[j];
        count(&s, model, from, from + plan->stage_layers[i]);
        return s;
    }
    const uint32_t shift = plan->embeddings_as_layers ? 1 : 0;
    const uint32_t units = model->layers + 2 * shift;
    const uint32_t v = plan->virtual_stages, n = plan->pp * v;
    if (!model->experts && units % n == 0) { /* the usual case, without walking blocks */
        s.n_dense = units / plan->pp - (s.first ? shift : 0) - (s.last ? shift : 0);
        return s;
    }
    for (uint32_t j = 0; j < v; j++) {
        const uint32_t b = j * plan->pp + i;
        uint32_t from = block_start(units, n, b), to = block_start(units, n, b + 1);
        from = from < shift ? 0 : from - shift;
        to = to < shift ? 0 : to - shift;
        count(&s, model, from, to > model->layers ? model->layers : to);
    }
    return s;
}

workload_stage workload_stage_make(const halley_model *model, const halley_plan *plan,
                                   uint32_t i)
{
    workload_stage s = layers_of(model, plan, i);
    const uint32_t most = plan->recompute_layers ? plan->recompute_layers : UINT32_MAX;
    s.again_dense = s.n_dense < most ? s.n_dense : most;
    s.again_moe = s.n_moe < most - s.again_dense ? s.n_moe : most - s.again_dense;
    return s;
}

workload_stage workload_chunk_make(const halley_model *model, const halley_plan *plan,
                                   uint32_t i, uint32_t chunk)
{
    const uint32_t v = plan->virtual_stages, n = plan->pp * v, b = chunk * plan->pp + i;
    if (v == 1 || plan->n_stage_layers > 0)
        return workload_stage_make(model, plan, i);
    workload_stage s = {.first = b == 0, .last = b + 1 == n};
    const uint32_t shift = plan->embeddings_as_layers ? 1 : 0;
    const uint32_t units = model->layers + 2 * shift;
    uint32_t from = block_start(units, n, b), to = block_start(units, n, b + 1);
    from = from < shift ? 0 : from - shift;
    to = to < shift ? 0 : to - shift;
    count(&s, model, from, to > model->layers ? model->layers : to);
    s.again_dense = s.n_dense;
    s.again_moe = s.n_moe;
    return s;
}

uint32_t workload_stage_next(const halley_model *model, const halley_plan *plan,
                             uint32_t i, uint32_t *times)
{
    const uint32_t units = model->layers + (plan->embeddings_as_layers ? 2 : 0);
    const bool even = !model->experts && !plan->n_stage_layers &&
                      units % (plan->pp * plan->virtual_stages) == 0;
    *times = even && i == 1 && plan->pp > 2 ? plan->pp - 2 : 1;
    return i + *times;
}
