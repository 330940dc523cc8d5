/* What a plan assumes for keys that were not given: one row per key, in the printed
 * order. */
#include "base/str.h"
#include "halley/plan_keys.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct assumption {
    halley_plan_key key;
    bool (*applies)(const halley_plan *plan);
    void (*print)(strbuf *to, const halley_plan *plan, const halley_model *model);
} assumption;

static bool applies_always(const halley_plan *plan)
{
    (void)plan;
    return true;
}

static bool has_copies(const halley_plan *plan)
{
    return plan->dp * plan->cp > 1;
}

static bool has_tensor_parallel(const halley_plan *plan)
{
    return plan->tp > 1;
}

static bool has_stages(const halley_plan *plan)
{
    return plan->pp > 1;
}

static bool counts_embeddings(const halley_plan *plan)
{
    return plan->embeddings_as_layers;
}

static bool gathers_weights(const halley_plan *plan)
{
    return plan->fsdp > 0;
}

static bool has_block_scales(const halley_plan *plan)
{
    return plan->dtype == HALLEY_FP4 && plan->recipe != HALLEY_FP8_TENSOR;
}

static void print_batch(strbuf *to, const halley_plan *plan, const halley_model *model)
{
    (void)model;
    strbuf_printf(to, "global batch %u", plan->global_batch);
}

static void print_micro_batch(strbuf *to, const halley_plan *plan,
                              const halley_model *model)
{
    (void)model;
    strbuf_printf(to, "micro-batch %u", plan->micro_batch);
}

static void print_seq(strbuf *to, const halley_plan *plan, const halley_model *model)
{
    strbuf_printf(to, "sequence %u", plan->seq);
    if (model->positions > 0 && plan->seq == model->seq)
        strbuf_printf(to, " (the model's file allows %u and states no training length)",
                      model->positions);
    else if (model->seq > 0)
        strbuf_printf(to, " (from the model)");
}

static void print_dtype(strbuf *to, const halley_plan *plan, const halley_model *model)
{
    (void)model;
    strbuf_printf(to, "%s", halley_dtype_name(plan->dtype));
}

static void print_recipe(strbuf *to, const halley_plan *plan, const halley_model *model)
{
    (void)model;
    strbuf_printf(to, "%s", halley_plan_format_name(plan));
}

static void print_zero(strbuf *to, const halley_plan *plan, const halley_model *model)
{
    (void)model;
    strbuf_printf(to, "zero %u", plan->zero);
}

static void print_sequence_parallel(strbuf *to, const halley_plan *plan,
                                    const halley_model *model)
{
    (void)model;
    strbuf_printf(to, plan->sequence_parallel ? "sequence parallel"
                                              : "no sequence parallelism");
}

static void print_recompute(strbuf *to, const halley_plan *plan,
                            const halley_model *model)
{
    (void)model;
    strbuf_printf(to, "recompute %s", halley_recompute_name(plan->recompute));
}

static void print_schedule(strbuf *to, const halley_plan *plan, const halley_model *model)
{
    (void)model;
    strbuf_printf(to, "schedule %s%s", halley_schedule_name(plan->schedule),
                  plan->virtual_stages > 1 ? " interleaved" : "");
}

static void print_embeddings(strbuf *to, const halley_plan *plan,
                             const halley_model *model)
{
    (void)plan;
    strbuf_printf(to, "embeddings as layers (%u + 2)", model->layers);
}

static void print_gather(strbuf *to, const halley_plan *plan, const halley_model *model)
{
    (void)model;
    strbuf_printf(to, "weights gathered once per %s",
                  plan->pp > 1 || plan->fsdp_keep ? "step" : "micro-batch");
}

static const assumption assumptions[] = {
    {HALLEY_KEY_GLOBAL_BATCH, applies_always, print_batch},
    {HALLEY_KEY_MICRO_BATCH, applies_always, print_micro_batch},
    {HALLEY_KEY_SEQ, applies_always, print_seq},
    {HALLEY_KEY_DTYPE, applies_always, print_dtype},
    {HALLEY_KEY_FP8_RECIPE, has_block_scales, print_recipe},
    {HALLEY_KEY_ZERO, has_copies, print_zero},
    {HALLEY_KEY_SEQUENCE_PARALLEL, has_tensor_parallel, print_sequence_parallel},
    {HALLEY_KEY_SCHEDULE, has_stages, print_schedule},
    {HALLEY_KEY_EMBEDDINGS_AS_LAYERS, counts_embeddings, print_embeddings},
    {HALLEY_KEY_GATHER, gathers_weights, print_gather},
    {HALLEY_KEY_RECOMPUTE, applies_always, print_recompute},
};

/* The value as text: without the quotes of its JSON. */
static void print_assumed_value(char *to, size_t size, const halley_plan *plan,
                                halley_plan_key key)
{
    halley_error why;
    char *json = NULL;
    to[0] = '\0';
    if (halley_plan_print(&json, plan, key, &why) == HALLEY_OK && json != NULL) {
        const str text = str_from(json);
        const bool quoted = text.n > 1 && text.at[0] == '"';
        snprintf(to, size, "%.*s", (int)(quoted ? text.n - 2 : text.n),
                 text.at + (quoted ? 1 : 0));
    }
    free(json);
}

bool halley_plan_assumed(halley_assumption *to, uint32_t i, const halley_plan *plan,
                         const halley_model *model)
{
    assert(plan->seq > 0);
    const bool sharded = plan->given >> HALLEY_KEY_FSDP & 1;
    for (size_t k = 0; k < sizeof assumptions / sizeof *assumptions; k++) {
        const assumption *a = &assumptions[k];
        if (plan->given >> a->key & 1 || !a->applies(plan) ||
            (a->key == HALLEY_KEY_ZERO && sharded) ||
            (a->key == HALLEY_KEY_SEQ && model->kind != HALLEY_TRANSFORMER) || i-- > 0)
            continue;
        strbuf text = {0};
        a->print(&text, plan, model);
        to->key = (uint32_t)a->key;
        print_assumed_value(to->value, sizeof to->value, plan, a->key);
        snprintf(to->text, sizeof to->text, "%.*s", (int)text.n,
                 text.n > 0 ? text.at : "");
        strbuf_fini(&text);
        return true;
    }
    return false;
}
