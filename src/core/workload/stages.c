/*
 * Layers are assigned to the places of the pipeline in blocks of equal size, in order.
 * With virtual stages, every stage holds several blocks (see workload/schedule.h). This
 * changes which layers have experts, but not the number of layers. If embedding and head
 * count as a layer each, the first and last block hold one layer less. Modules that
 * predict further tokens come after the last layer.
 */
#include "workload/stages.h"

#include "workload/ops.h"
#include "workload/schedule.h"

#include <assert.h>

/* The start of block i; `extra` blocks have one layer more than `base`. */
static uint32_t block_start(uint32_t base, uint32_t extra, uint32_t i)
{
    return i * base + (i < extra ? i : extra);
}

/* The number of layers with experts in [from, to). */
static uint32_t moe_between(const halley_model *model, uint32_t from, uint32_t to)
{
    if (!model->experts || to <= model->dense_layers)
        return 0;
    if (model->mixed)
        return to - from; /* every layer is the average of all */
    const uint32_t every = model->moe_every ? model->moe_every : 1;
    const uint32_t d = model->dense_layers;
    const uint32_t below_to = (to - d) / every;
    const uint32_t below_from = from > d ? (from - d) / every : 0;
    return below_to - below_from;
}

static void count_layers(workload_stage *s, const halley_model *model, uint32_t from,
                         uint32_t to)
{
    if (to <= from)
        return;
    const uint32_t moe = moe_between(model, from, to);
    s->n_moe += moe;
    s->n_dense += to - from - moe;
}

static uint32_t count_chunks(const halley_plan *plan)
{
    return workload_schedule_is_bidirectional(plan->schedule) ? 2 : plan->virtual_stages;
}

/* The places of a plan's pipeline; the number of micro-batches does not matter. */
static workload_schedule make_places(const halley_plan *plan)
{
    return (workload_schedule){.kind = plan->schedule,
                               .stages = plan->pp,
                               .chunks = count_chunks(plan),
                               .micro_batches = 2};
}

/* One part of a number that is divided among chunks; the remainder goes to the first
 * ones. */
static uint32_t share_of(uint32_t total, uint32_t parts, uint32_t i)
{
    return total / parts + (i < total % parts);
}

/* The number of layers at a place if the plan lists them, by place or by stage. */
static uint32_t listed_at(const halley_plan *plan, const workload_schedule *s,
                          uint32_t place)
{
    const uint32_t n = workload_schedule_places(s);
    if (plan->n_stage_layers == n)
        return plan->stage_layers[place];
    const workload_seat seat = workload_schedule_seat(s, place, 0);
    return share_of(plan->stage_layers[seat.stage], s->chunks, seat.chunk);
}

static void count_place(workload_stage *out, const halley_model *model,
                        const halley_plan *plan, const workload_schedule *s,
                        uint32_t place)
{
    const uint32_t n = workload_schedule_places(s);
    if (plan->n_stage_layers > 0) {
        uint32_t from = 0;
        for (uint32_t j = 0; j < place; j++)
            from += listed_at(plan, s, j);
        count_layers(out, model, from, from + listed_at(plan, s, place));
    } else {
        const uint32_t shift = plan->embeddings_as_layers ? 1 : 0;
        const uint32_t units = model->layers + 2 * shift;
        const uint32_t base = units / n, extra = units - base * n;
        uint32_t from = block_start(base, extra, place),
                 to = block_start(base, extra, place + 1);
        from = from < shift ? 0 : from - shift;
        to = to < shift ? 0 : to - shift;
        count_layers(out, model, from, to > model->layers ? model->layers : to);
    }
    if (place + 1 < n || !model->mtp)
        return;
    if (workload_is_moe(model, model->layers - 1))
        out->n_moe += model->mtp;
    else
        out->n_dense += model->mtp;
}

static void set_again(workload_stage *s, uint32_t most)
{
    s->again_dense = s->n_dense < most ? s->n_dense : most;
    s->again_moe = s->n_moe < most - s->again_dense ? s->n_moe : most - s->again_dense;
}

workload_stage workload_chunk_make(const halley_model *model, const halley_plan *plan,
                                   uint32_t i, uint32_t chunk)
{
    const workload_schedule s = make_places(plan);
    const uint32_t place = workload_schedule_place(&s, (workload_seat){i, chunk});
    workload_stage out = {.first = place == 0,
                          .last = place + 1 == workload_schedule_places(&s)};
    count_place(&out, model, plan, &s, place);
    /* In a bidirectional schedule, each stream passes through whole stages. */
    const uint32_t parts = workload_schedule_is_bidirectional(s.kind) ? 1 : s.chunks;
    set_again(&out, plan->recompute_layers
                        ? share_of(plan->recompute_layers, parts, parts > 1 ? chunk : 0)
                        : UINT32_MAX);
    return out;
}

/* True in the usual case, which needs no walk over blocks: all stages but the ends are
 * equal. */
static bool is_even(const halley_model *model, const halley_plan *plan)
{
    const uint32_t units = model->layers + (plan->embeddings_as_layers ? 2 : 0);
    return !model->experts && !plan->n_stage_layers &&
           !workload_schedule_is_bidirectional(plan->schedule) &&
           units % (plan->pp * plan->virtual_stages) == 0;
}

workload_stage workload_stage_make(const halley_model *model, const halley_plan *plan,
                                   uint32_t i)
{
    assert(i < plan->pp && plan->virtual_stages > 0);
    const bool ends_first = plan->schedule == HALLEY_SCHEDULE_ZBV;
    workload_stage s = {.first = i == 0, .last = ends_first ? i == 0 : i + 1 == plan->pp};
    if (is_even(model, plan)) {
        const uint32_t shift = plan->embeddings_as_layers ? 1 : 0;
        s.n_dense = (model->layers + 2 * shift) / plan->pp - (s.first ? shift : 0) -
                    (s.last ? shift : 0) + (s.last ? model->mtp : 0);
    } else {
        const uint32_t chunks = count_chunks(plan);
        for (uint32_t j = 0; j < chunks; j++) {
            const workload_stage c = workload_chunk_make(model, plan, i, j);
            s.n_dense += c.n_dense;
            s.n_moe += c.n_moe;
            s.first |= c.first;
            s.last |= c.last;
        }
    }
    const uint32_t copies = workload_schedule_is_bidirectional(plan->schedule) ? 2 : 1;
    set_again(&s, plan->recompute_layers ? copies * plan->recompute_layers : UINT32_MAX);
    return s;
}

uint32_t workload_stage_next(const halley_model *model, const halley_plan *plan,
                             uint32_t i, uint32_t *times)
{
    const bool alike = is_even(model, plan) && plan->schedule != HALLEY_SCHEDULE_ZBV;
    *times = alike && i == 1 && plan->pp > 2 ? plan->pp - 2 : 1;
    return i + *times;
}
