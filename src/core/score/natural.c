/*
 * Runs as a user would ask about them: model, cluster, batch, number format and stack,
 * and if wanted the degrees. Everything else comes from the recipes of the stack, as in
 * `halley estimate`.
 */
#include "score/natural.h"

#include "base/error.h"
#include "halley/recipe.h"

#include <string.h>

/* The distance of a recipe that does not exist. */
static const double no_recipe = 100;

#define BIT(key) (1ull << HALLEY_KEY_##key)

/* The recipes of the last framework; rows of one framework mostly follow each other. */
typedef struct loaded {
    char framework[HALLEY_NAME];
    halley_recipes *set;
} loaded;

static halley_status load_recipes(loaded *l, const char *framework, halley_error *err)
{
    if (l->set != NULL && strcmp(l->framework, framework) == 0)
        return HALLEY_OK;
    halley_recipes_free(l->set);
    l->set = NULL;
    memcpy(l->framework, framework, sizeof l->framework);
    return halley_recipes_load(&l->set, framework, err);
}

/* What a user states: the workload, and whether tokens are dropped. */
static halley_plan keep_workload(const halley_plan *p)
{
    halley_plan q;
    halley_plan_default(&q);
    q.global_batch = p->global_batch;
    q.seq = p->seq;
    q.dtype = p->dtype;
    q.recipe = p->recipe;
    q.lora = p->lora;
    q.capacity = p->capacity;
    q.given = BIT(GLOBAL_BATCH) | BIT(SEQ) | BIT(DTYPE) | BIT(LORA) | BIT(CAPACITY);
    if (p->dtype == HALLEY_FP8)
        q.given |= BIT(FP8_RECIPE);
    return q;
}

static void keep_degrees(halley_plan *to, const halley_plan *p)
{
    to->tp = p->tp;
    to->pp = p->pp;
    to->cp = p->cp;
    to->ep = p->ep;
    to->etp = p->etp;
    to->virtual_stages = p->virtual_stages;
    to->micro_batch = p->micro_batch;
    to->fsdp = p->fsdp;
    to->embeddings_as_layers = p->embeddings_as_layers;
    to->n_stage_layers = p->n_stage_layers;
    memcpy(to->stage_layers, p->stage_layers, sizeof to->stage_layers);
    to->given |= BIT(TP) | BIT(PP) | BIT(CP) | BIT(EP) | BIT(ETP) | BIT(VIRTUAL) |
                 BIT(MICRO_BATCH) | BIT(FSDP);
    if (p->embeddings_as_layers)
        to->given |= BIT(EMBEDDINGS_AS_LAYERS);
}

static halley_status ask_row(score_rows *rows, score_row *row, loaded *l,
                             const score_natural *how, halley_error *err)
{
    halley_recipe recipe;
    halley_error why = {0};
    const halley_cluster *cluster = rows->clusters.at[row->cluster].cluster;
    const halley_plan *p = &row->plan;
    const uint32_t n = p->tp * p->cp * p->pp * p->dp;
    halley_plan q = keep_workload(p);
    if (how->degrees)
        keep_degrees(&q, p);
    TRY(load_recipes(l, row->framework, err));
    const halley_recipe_opts opts = {.release = row->release,
                                     .without = how->without_chip ? row->npu : NULL};
    halley_status status =
        halley_recipes_find(&recipe, l->set, &row->model, &q,
                            halley_cluster_npu(cluster, 0)->name, n, &opts, err);
    if (status == HALLEY_OK)
        status = halley_recipe_apply(&q, &recipe, &row->model, cluster, n,
                                     &rows->stacks.at[row->stack], err);
    TRY(status);
    const uint32_t cut = (q.tp ? q.tp : 1) * (q.pp ? q.pp : 1) * (q.cp ? q.cp : 1);
    q.dp = n / cut;
    if (halley_plan_check(&q, &row->model, n, &why) != HALLEY_OK)
        score_row_skip(row, "%.120s", why.text);
    row->plan = q;
    row->open = true;
    row->recipe_distance = recipe.name[0] != '\0' ? recipe.distance : no_recipe;
    row->months = recipe.months;
    return HALLEY_OK;
}

halley_status score_rows_ask(score_rows *rows, const score_natural *how,
                             halley_error *err)
{
    loaded l = {0};
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; status == HALLEY_OK && i < rows->rows.n; i++) {
        score_row *row = &rows->rows.at[i];
        if (row->skip[0] == '\0' && row->framework[0] != '\0')
            status = ask_row(rows, row, &l, how, err);
    }
    halley_recipes_free(l.set);
    return status;
}

halley_status score_row_bar(halley_error_bar *out, const halley_estimate *e,
                            const score_row *row, const halley_cluster *cluster,
                            const halley_stack *stack, halley_error *err)
{
    static const double notable = 1.05;
    halley_interval i;
    TRY(halley_interval_find(&i, &row->model, &row->plan, cluster, stack, NULL, err));
    halley_bar_facts facts = {.estimate = e,
                              .recipe_distance = row->recipe_distance,
                              .months = row->months,
                              .open = row->open};
    if (i.high_s > notable * i.low_s) {
        facts.low_s = i.low_s;
        facts.high_s = i.high_s;
    }
    return halley_error_bar_find(out, &row->model, &row->plan, cluster, stack, &facts,
                                 err);
}
