/*
 * The derived numbers that people compare, computed from an estimate. Time and cost of a
 * run include goodput: interruptions cost rent and energy just as training does.
 */
#include "halley/numbers.h"

#include "hw/cost.h"
#include "hw/count.h"

#include <assert.h>

static const double seconds_per_day = 86400;

/* Model FLOPs of a step when the full attention matrix is counted. */
static double count_full_flops(const halley_model *model, const halley_plan *plan,
                               double flops)
{
    assert(flops >= 0);
    if (model->kind != HALLEY_TRANSFORMER)
        return flops;
    halley_model whole = *model;
    whole.not_causal = true;
    whole.window = 0;
    const double batch = plan->global_batch, seq = plan->seq;
    return flops + halley_model_step_flops(&whole, batch, seq) -
           halley_model_step_flops(model, batch, seq);
}

static void fill_rates(halley_numbers *out, const halley_estimate *e,
                       const halley_model *model, const halley_plan *plan,
                       const halley_npu *npu)
{
    assert(e->step_s > 0);
    const double wide = halley_npu_wide_peak(npu), own = npu->peak_flops[plan->dtype];
    const double full = count_full_flops(model, plan, e->model_flops);
    out->tokens_per_s_npu = e->tokens_per_s / out->n_npus;
    out->flops_per_s = e->step_s > 0 ? e->model_flops / e->step_s : 0;
    out->flops_per_s_npu = out->flops_per_s / out->n_npus;
    out->mfu = e->mfu;
    out->hfu = e->hfu;
    out->mfu_full = e->model_flops > 0 ? e->mfu * full / e->model_flops : e->mfu;
    out->mfu_wide = own > wide && wide > 0 ? e->mfu * own / wide : e->mfu;
}

static void fill_run(halley_numbers *out, const halley_estimate *e,
                     const halley_plan *plan, const halley_cluster *cluster)
{
    const double per_step = (double)plan->global_batch * plan->seq;
    const double steps = per_step > 0 ? out->tokens / per_step : 0;
    halley_goodput g;
    halley_goodput_run(&g, &cluster->failures, out->n_npus);
    const double share = g.share > 1e-9 ? g.share : 1e-9; /* stays finite */
    assert(share <= 1);
    out->goodput = share;
    out->days = steps * e->step_s / seconds_per_day;
    out->wall_days = out->days / share;
    out->npu_hours = out->n_npus * out->wall_days * 24;
    out->cost_usd = steps * e->cost_usd / share;
    out->energy_J = steps * e->energy_J / share;
    out->carbon_kg = hw_carbon_kg(&out->bill, cluster, out->energy_J,
                                  out->wall_days * seconds_per_day);
}

void halley_numbers_run(halley_numbers *out, const halley_estimate *estimate,
                        const halley_model *model, const halley_plan *plan,
                        const halley_cluster *cluster, double tokens)
{
    const double npus = (double)plan->tp * plan->cp * plan->pp * plan->dp;
    assert(npus > 0);
    halley_bill bill;
    halley_bill_make(&bill, cluster, npus);
    *out = (halley_numbers){
        .params = halley_model_params(model),
        .active_params = halley_model_active_params(model),
        .n_npus = npus,
        .bill = bill,
        .n_paid = bill.n_npus,
        .unit = hw_count_unit(cluster),
        .counted = model->kind == HALLEY_TRANSFORMER ? "tokens" : "samples",
        .tokens = tokens,
        .rent_usd_h = cluster->cost.rent_usd_per_s * 3600,
        .own_usd_h = halley_bill_own_usd_h(&bill, cluster),
        .average_w = estimate->step_s > 0 ? estimate->energy_J / estimate->step_s : 0,
    };
    (void)halley_bill_missing(out->missing, sizeof out->missing, cluster, bill.missing);
    out->n_units = out->n_paid / hw_count_together(cluster);
    fill_rates(out, estimate, model, plan, &cluster->npu);
    fill_run(out, estimate, plan, cluster);
}
