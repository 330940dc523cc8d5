/* Plans: defaults, and the arithmetic checks before anything is estimated. */
#include "halley/plan.h"

#include "base/error.h"
#include "halley/plan_keys.h"
#include "workload/plan_file.h"
#include "workload/plan_rules.h"
#include "workload/schedule.h"

#include <assert.h>

const char *halley_recompute_name(halley_recompute recompute)
{
    return (unsigned)recompute < HALLEY_N_RECOMPUTE ? workload_recompute_names[recompute]
                                                    : "?";
}

const char *halley_schedule_name(halley_schedule schedule)
{
    return (unsigned)schedule < HALLEY_N_SCHEDULES ? workload_schedule_names[schedule]
                                                   : "?";
}

static bool is_low_type(halley_dtype dtype)
{
    return dtype == HALLEY_FP8 || dtype == HALLEY_FP4;
}

const char *halley_plan_format_name(const halley_plan *plan)
{
    static const char *const eight[HALLEY_N_RECIPES] = {
        [HALLEY_FP8_ROW] = "fp8 row",
        [HALLEY_FP8_BLOCK] = "fp8 block",
        [HALLEY_FP8_MX] = "mxfp8",
    };
    static const char *const four[HALLEY_N_RECIPES] = {
        [HALLEY_FP8_MX] = "mxfp4",
        [HALLEY_FP8_NV] = "nvfp4",
    };
    assert((unsigned)plan->recipe < HALLEY_N_RECIPES);
    const char *name = plan->dtype == HALLEY_FP8   ? eight[plan->recipe]
                       : plan->dtype == HALLEY_FP4 ? four[plan->recipe]
                                                   : NULL;
    return name != NULL ? name : halley_dtype_name(plan->dtype);
}

/* fp4 has one scale per block, of the kind that the NPU supports. */
static void choose_recipe(halley_plan *plan, const halley_npu *npu)
{
    if (plan->dtype != HALLEY_FP4 || plan->recipe != HALLEY_FP8_TENSOR)
        return;
    if (npu->scales != HALLEY_SCALES_NONE)
        plan->recipe = npu->scales == HALLEY_SCALES_NV ? HALLEY_FP8_NV : HALLEY_FP8_MX;
}

halley_status halley_plan_check_npu(halley_plan *plan, const halley_npu *npu,
                                    halley_error *err)
{
    TRY(halley_npu_check_dtype(npu, plan->dtype, err));
    choose_recipe(plan, npu);
    if (!is_low_type(plan->dtype))
        return HALLEY_OK;
    const halley_scales needed = plan->recipe == HALLEY_FP8_MX   ? HALLEY_SCALES_MX
                                 : plan->recipe == HALLEY_FP8_NV ? HALLEY_SCALES_NV
                                                                 : HALLEY_SCALES_NONE;
    return halley_npu_check_scales(npu, plan->dtype, needed, err);
}

const char *halley_rank_order_name(uint32_t rank_order)
{
    return rank_order < HALLEY_RANK_ORDERS ? workload_order_names[rank_order] : "?";
}

/* The sequence length if neither plan nor model states it: a usual value for training. */
enum { usual_seq = 8192 };

/* A list of modules or tensors implies the kind of recomputation; Megatron calls a list
 * of modules selective. Layers to offload imply offload of their activations. */
static void choose_recompute(halley_plan *p)
{
    const bool given = p->given >> HALLEY_KEY_RECOMPUTE & 1;
    const bool none = p->recompute == HALLEY_RECOMPUTE_NONE && !given;
    if (p->recompute_modules != 0 && (none || p->recompute == HALLEY_RECOMPUTE_SELECTIVE))
        p->recompute = HALLEY_RECOMPUTE_MODULES;
    else if ((p->recompute_keep | p->recompute_offload) != 0 && none)
        p->recompute = HALLEY_RECOMPUTE_KEPT;
    if (p->offload_layers > 0 && p->offload == 0)
        p->offload = HALLEY_OFFLOAD_ACTIVATIONS;
}

static void fill_in(halley_plan *p, const halley_model *model)
{
    uint32_t *degrees[] = {
        &p->tp,         &p->pp, &p->dp, &p->cp, &p->ep, &p->etp, &p->virtual_stages,
        &p->micro_batch};
    for (unsigned i = 0; i < sizeof degrees / sizeof *degrees; i++) {
        if (!*degrees[i])
            *degrees[i] = 1;
    }
    if (!p->seq)
        p->seq = model->seq ? model->seq : usual_seq;
    if (!p->gradient_bytes)
        p->gradient_bytes = 2;
    if (model->kind == HALLEY_DLRM)
        p->ep = p->dp; /* tables are distributed over all ranks */
    if (!p->global_batch)
        p->global_batch = p->dp * p->micro_batch;
    choose_recompute(p);
    if (p->fsdp == HALLEY_FSDP_ALL)
        p->fsdp = p->dp * p->cp;
    if (p->tp == 1)
        p->sequence_parallel = false;
    p->has_experts = model->experts > 0;
    if (p->pp == 1)
        p->schedule = HALLEY_SCHEDULE_1F1B; /* a single stage needs no schedule */
}

static halley_status refuse(halley_error *err, const char *what, uint32_t n,
                            const char *of, uint32_t by)
{
    return error_set(err, HALLEY_EINVAL, "%s %u does not divide %s %u", what, n, of, by);
}

static halley_status refuse_experts_keys(halley_error *err)
{
    return error_set(err, HALLEY_EINVAL,
                     "capacity and expert-skew need a model with experts");
}

static halley_status check_experts(const halley_plan *p, const halley_model *m,
                                   halley_error *err)
{
    const uint32_t ranks = p->tp * p->cp * p->dp;
    if (ranks % ((uint64_t)p->ep * p->etp))
        return error_set(err, HALLEY_EINVAL,
                         "expert parallelism %u x %u (ep x etp) does not divide the %u "
                         "ranks of a stage",
                         p->ep, p->etp, ranks);
    if (p->etp > 1 && (!m->experts || m->expert_ffn % p->etp))
        return error_set(err, HALLEY_EINVAL,
                         "etp %u does not divide the width %u of an expert", p->etp,
                         m->expert_ffn);
    if (!m->experts && (p->capacity > 0 || p->expert_skew > 0))
        return refuse_experts_keys(err);
    return HALLEY_OK;
}

/* True if tp divides the heads of attention and of recurrent layers, which it splits. */
static bool divides_heads(const halley_model *m, uint32_t tp)
{
    return m->heads % tp == 0 && m->recurrent.heads % tp == 0;
}

static halley_status refuse_heads(const halley_model *m, uint32_t tp, halley_error *err)
{
    const uint32_t heads = m->heads % tp != 0 ? m->heads : m->recurrent.heads;
    uint32_t below = tp - 1, above = tp + 1;
    while (below > 1 && !divides_heads(m, below))
        below--;
    while (above <= heads && !divides_heads(m, above))
        above++;
    if (above > heads)
        return error_set(err, HALLEY_EINVAL, "tp %u does not divide %u heads; nearest %u",
                         tp, heads, below);
    return error_set(err, HALLEY_EINVAL, "tp %u does not divide %u heads; nearest %u, %u",
                     tp, heads, below, above);
}

halley_status halley_plan_check_heads(const halley_plan *plan, const halley_model *model,
                                      halley_error *err)
{
    const uint32_t tp = plan->tp > 0 ? plan->tp : 1, cp = plan->cp > 0 ? plan->cp : 1;
    if (model->kind != HALLEY_TRANSFORMER)
        return HALLEY_OK;
    if (!divides_heads(model, tp))
        return refuse_heads(model, tp, err);
    if (model->recurrent.layers > 0 && model->recurrent.heads / tp % cp != 0)
        return error_set(err, HALLEY_EINVAL,
                         "cp %u does not divide the %u heads that tp %u leaves of the %s",
                         cp, model->recurrent.heads / tp, tp,
                         halley_mixer_name(model->recurrent.mixer));
    return HALLEY_OK;
}

/* A model that is not a transformer supports data parallelism only. The tables of a
 * recommender are distributed over all ranks, as its `ep` states. */
static halley_status check_flat(const halley_plan *p, const halley_model *m,
                                halley_error *err)
{
    const bool spreads = m->kind == HALLEY_DLRM;
    if (p->tp > 1 || p->pp > 1 || p->cp > 1 || p->etp > 1 || (p->ep > 1 && !spreads))
        return error_set(err, HALLEY_EINVAL,
                         "model \"%s\" is no transformer: only data parallelism cuts it",
                         m->name);
    if (p->lora > 0)
        return error_set(err, HALLEY_EINVAL,
                         "lora %u needs a transformer, and model \"%s\" is none", p->lora,
                         m->name);
    if (p->capacity > 0 || p->expert_skew > 0)
        return refuse_experts_keys(err);
    return HALLEY_OK;
}

static halley_status check_model(const halley_plan *p, const halley_model *m,
                                 halley_error *err)
{
    if (p->table_optimizer != HALLEY_TABLE_ROW_WISE_ADAGRAD && m->kind != HALLEY_DLRM)
        return error_set(err, HALLEY_EINVAL,
                         "table-optimizer needs embedding tables, and model \"%s\" has "
                         "none",
                         m->name);
    if (m->kind != HALLEY_TRANSFORMER)
        return check_flat(p, m, err);
    TRY(halley_plan_check_heads(p, m, err));
    if (m->experts && m->experts % p->ep)
        return refuse(err, "expert parallelism", p->ep, "the number of experts",
                      m->experts);
    if (!m->experts && p->ep > 1)
        return error_set(err, HALLEY_EINVAL,
                         "expert parallelism %u needs a model with experts", p->ep);
    TRY(check_experts(p, m, err));
    if (p->seq % p->cp)
        return refuse(err, "context parallelism", p->cp, "the sequence length", p->seq);
    return HALLEY_OK;
}

static halley_status check_stages(const halley_plan *p, const halley_model *m,
                                  halley_error *err)
{
    uint32_t sum = 0;
    if (!p->n_stage_layers)
        return HALLEY_OK;
    const bool by_chunk = p->n_stage_layers == p->pp * p->virtual_stages;
    if (p->n_stage_layers != p->pp && !by_chunk)
        return error_set(err, HALLEY_EINVAL,
                         "layers are given for %u stages, the pipeline has %u",
                         p->n_stage_layers, p->pp);
    const uint32_t fewest = by_chunk ? 1 : p->virtual_stages;
    for (uint32_t i = 0; i < p->n_stage_layers; i++) {
        sum += p->stage_layers[i];
        if (p->stage_layers[i] < fewest)
            return error_set(err, HALLEY_EINVAL,
                             "stage %u has %u layers, fewer than its %u chunks", i,
                             p->stage_layers[i], fewest);
    }
    if (sum != m->layers)
        return error_set(err, HALLEY_EINVAL,
                         "the stages have %u layers together, the model has %u", sum,
                         m->layers);
    return HALLEY_OK;
}

/* The same for keys that affect memory only. */
static halley_status check_memory_pairs(const halley_plan *p, halley_error *err)
{
    const uint32_t named = p->recompute_keep | p->recompute_offload;
    if ((p->recompute_modules != 0) != (p->recompute == HALLEY_RECOMPUTE_MODULES))
        return error_set(err, HALLEY_EINVAL,
                         "recompute modules and a list of recompute-modules need each "
                         "other");
    if (named != 0 && p->recompute != HALLEY_RECOMPUTE_KEPT)
        return error_set(err, HALLEY_EINVAL,
                         "recompute-keep and recompute-offload need recompute kept, not "
                         "%s",
                         halley_recompute_name(p->recompute));
    if (p->gather != HALLEY_GATHER_DEFAULT && p->fsdp == 0)
        return error_set(err, HALLEY_EINVAL,
                         "gather needs weights that are sharded: fsdp or ZeRO 3");
    if (p->fp8_params != HALLEY_CHOICE_DEFAULT && !is_low_type(p->dtype))
        return error_set(err, HALLEY_EINVAL, "fp8-params needs dtype fp8 or fp4, not %s",
                         halley_dtype_name(p->dtype));
    if (p->offload_layers > 0 && (p->offload & HALLEY_OFFLOAD_ACTIVATIONS) == 0)
        return error_set(err, HALLEY_EINVAL,
                         "offload-layers %u needs offload: activations",
                         p->offload_layers);
    return HALLEY_OK;
}

/* Options that are meaningful only together with another option. */
static halley_status check_pairs(const halley_plan *p, halley_error *err)
{
    if (p->recompute_every > 1 && p->recompute != HALLEY_RECOMPUTE_FULL)
        return error_set(err, HALLEY_EINVAL,
                         "recompute-every %u needs full recomputation, not %s",
                         p->recompute_every, halley_recompute_name(p->recompute));
    if (p->recompute_layers && p->recompute == HALLEY_RECOMPUTE_NONE)
        return error_set(err, HALLEY_EINVAL,
                         "recompute-layers %u needs recomputation, none is chosen",
                         p->recompute_layers);
    TRY(check_memory_pairs(p, err));
    if (p->dtype == HALLEY_FP8 && p->recipe == HALLEY_FP8_NV)
        return error_set(err, HALLEY_EINVAL, "fp8-recipe nv needs dtype fp4, not fp8");
    const bool is_given = p->given >> HALLEY_KEY_FP8_RECIPE & 1;
    if (p->dtype == HALLEY_FP4 &&
        (p->recipe == HALLEY_FP8_ROW || p->recipe == HALLEY_FP8_BLOCK ||
         (p->recipe == HALLEY_FP8_TENSOR && is_given)))
        return error_set(err, HALLEY_EINVAL,
                         "fp8-recipe %s needs dtype fp8; fp4 has mx and nv",
                         workload_recipe_names[p->recipe]);
    if (p->fsdp_keep && !p->fsdp)
        return error_set(err, HALLEY_EINVAL,
                         "gathered weights can only be kept with fsdp or ZeRO 3");
    if (p->zero_group && (p->fsdp || p->zero < 1 || p->zero > 2))
        return error_set(err, HALLEY_EINVAL,
                         "zero-group %u needs ZeRO 1 or 2; with fsdp the shard degree "
                         "says how many ranks share",
                         p->zero_group);
    if (p->zero_group && p->dp * p->cp % p->zero_group)
        return refuse(err, "zero-group", p->zero_group, "the data-parallel ranks",
                      p->dp * p->cp);
    if (p->zero_owner && (p->fsdp || p->zero != 1))
        return error_set(err, HALLEY_EINVAL, "zero-owner needs ZeRO 1, not %u",
                         p->fsdp ? 3 : p->zero);
    if (p->fp8_attention && p->dtype != HALLEY_FP8 && p->dtype != HALLEY_FP4)
        return error_set(err, HALLEY_EINVAL, "fp8-attention needs dtype fp8 or fp4");
    if (p->rank_order >= HALLEY_RANK_ORDERS)
        return error_set(err, HALLEY_EINVAL, "there are %d rank orders, not %u",
                         HALLEY_RANK_ORDERS, p->rank_order);
    return HALLEY_OK;
}

halley_status halley_plan_check(halley_plan *plan, const halley_model *model,
                                uint32_t n_npus, halley_error *err)
{
    TRY(halley_model_check_timed(model, err));
    fill_in(plan, model);
    const halley_plan *p = plan;
    const uint64_t used = (uint64_t)p->tp * p->cp * p->pp * p->dp;
    if (p->pp > HALLEY_MAX_STAGES || used > UINT32_MAX)
        return error_set(err, HALLEY_ELIMIT, "more than %d pipeline stages or 2^32 NPUs",
                         HALLEY_MAX_STAGES);
    if (p->virtual_stages > HALLEY_MAX_STAGES)
        return error_set(err, HALLEY_ELIMIT,
                         "virtual is %u, at most %d chunks per stage are possible",
                         p->virtual_stages, HALLEY_MAX_STAGES);
    if (n_npus && used != n_npus)
        return error_set(err, HALLEY_EINVAL,
                         "tp %u x cp %u x pp %u x dp %u is %llu NPUs, the cluster has %u",
                         p->tp, p->cp, p->pp, p->dp, (unsigned long long)used, n_npus);
    TRY(check_model(p, model, err));
    TRY(workload_batch_check(p, model, err));
    if (!p->micro_batches && p->global_batch % ((uint64_t)p->dp * p->micro_batch))
        return error_set(err, HALLEY_EINVAL,
                         "global batch %u is not a multiple of dp %u x micro-batch %u",
                         p->global_batch, p->dp, p->micro_batch);
    if (p->zero == 3 && !p->fsdp && p->dp * p->cp > 1)
        plan->fsdp = p->dp * p->cp; /* sharded weights are gathered layer by layer */
    if (p->zero > 3)
        return error_set(err, HALLEY_EINVAL, "ZeRO stage must be 0 to 3, is %u", p->zero);
    if (p->fsdp && p->dp * p->cp % p->fsdp)
        return refuse(err, "the FSDP shard degree", p->fsdp, "the data-parallel ranks",
                      p->dp * p->cp);
    TRY(check_stages(p, model, err));
    TRY(workload_pipeline_check(plan, model, err));
    if (p->pp > 1) {
        const workload_schedule schedule = workload_schedule_make(p);
        TRY(workload_schedule_check(&schedule, err));
    }
    return check_pairs(p, err);
}

uint32_t halley_plan_micro_batches(const halley_plan *plan)
{
    if (plan->micro_batches)
        return plan->micro_batches;
    const uint32_t m = plan->global_batch / (plan->dp * plan->micro_batch);
    return m ? m : 1;
}
