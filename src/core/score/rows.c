/*
 * Converts records of published runs into models, plans and clusters. A field is looked
 * up in the record, then in the values that are common to its file. A field that neither
 * has keeps its default. A record that halley cannot express is kept with the reason.
 */
#include "base/hash.h"
#include "base/number/number.h"
#include "hw/embedded.h"
#include "score/record.h"
#include "workload/stack_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* TPU sources state model TFLOP/s instead of time, by their own count of FLOPs. */
static double time_from_flops(const score_row *row, const score_record *r)
{
    const double rate = record_number(r, "measured", "model_tflops_per_npu", 0) * 1e12;
    const double n = record_count(r, NULL, "n_npus", 0);
    if (rate <= 0 || n <= 0)
        return 0;
    halley_model all = row->model; /* for sources that count "without causal halving" */
    char convention[64];
    record_text(convention, sizeof convention, r, "measured", "convention");
    all.not_causal = strstr(convention, "without causal") != NULL;
    return halley_model_step_flops(&all, row->plan.global_batch, row->plan.seq) /
           (rate * n);
}

static void read_measured(score_row *row, const score_record *r)
{
    if (record_is_true(r, "measured", "formula")) {
        score_row_skip(row, "%s", "a formula of the paper, not a reading");
        return;
    }
    row->step_s = record_number(r, "measured", "step_time_s", 0);
    if (row->step_s <= 0)
        row->step_s = time_from_flops(row, r);
    row->peak_bytes = record_number(r, "measured", "peak_memory_gib", 0) * 1073741824.0;
    const conf_node *fits = record_find(r, "measured", "fits");
    row->out_of_memory = fits && str_eq(fits->text, STR("false"));
    if (row->step_s <= 0 && row->peak_bytes <= 0 && !row->out_of_memory)
        score_row_skip(row, "%s", "nothing measured that we predict");
}

/* The hash is equal for runs of one source, model, batch and machine: one would choose
 * between these. */
static uint64_t choice_of(const score_record *r)
{
    char key[512];
    const conf_node *source = record_find(r, NULL, "source");
    const str s = source ? source->text : STR("");
    char model[HALLEY_NAME];
    record_text(model, sizeof model, r, "model", "name");
    const int n = snprintf(
        key, sizeof key, "%.*s|%s|%u|%u|%u|%u", STR_ARG(s), model,
        record_count(r, NULL, "n_npus", 0), record_count(r, "batch", "gbs", 0),
        record_count(r, "model", "layers", 0), record_count(r, "model", "hidden", 0));
    return hash_bytes(key, n < 0 ? 0 : strlen(key), 3);
}

/* A run that other runs contradict is neither fitted nor scored. */
static void read_doubt(score_row *row, const score_record *r)
{
    char why[HALLEY_SCORE_TEXT];
    record_text(why, sizeof why, r, NULL, "odd");
    if (why[0] != '\0')
        score_row_skip(row, "left out: %.110s", why);
}

static halley_status add_score_row(score_rows *to, const score_record *r,
                                   halley_error *err)
{
    score_row row = {0};
    record_text(row.id, sizeof row.id, r, NULL, "id");
    record_text(row.set, sizeof row.set, r, NULL, "set");
    record_text(row.layout, sizeof row.layout, r, NULL, "layout");
    record_text(row.framework, sizeof row.framework, r, NULL, "framework");
    record_text(row.release, sizeof row.release, r, NULL, "release");
    record_text(row.npu, sizeof row.npu, r, NULL, "npu");
    row.choice = choice_of(r);
    score_record_model(&row, r);
    score_record_plan(&row, r);
    TRY(score_record_cluster(to, &row, r, err));
    halley_error why = {0};
    if (!row.skip[0] && (halley_model_check(&row.model, &why) != HALLEY_OK ||
                         halley_plan_check(&row.plan, &row.model, 0, &why) != HALLEY_OK))
        score_row_skip(&row, "%.120s", why.text);
    read_doubt(&row, r);
    if (!row.skip[0])
        read_measured(&row, r);
    if (array_push(&to->rows, row))
        return HALLEY_OK;
    halley_model_fini(&row.model);
    return error_nomem(err);
}

halley_status score_rows_add(score_rows *to, const conf_file *file, halley_error *err)
{
    const conf_node *list = file->root, *common = NULL;
    if (list->kind == CONF_MAP) {
        common = conf_find(list, "common");
        list = conf_find(list, "rows");
    }
    if (!list || list->kind != CONF_LIST)
        return conf_error(file, file->root, err, HALLEY_EFORMAT,
                          "expected a list of runs, or a map with \"rows\"");
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->items[i]->kind != CONF_MAP)
            return conf_error(file, list->items[i], err, HALLEY_EFORMAT,
                              "run %u is no map", i + 1);
        const score_record r = {.row = list->items[i], .common = common};
        TRY(add_score_row(to, &r, err));
    }
    return HALLEY_OK;
}

void score_stack_forget(halley_stack *stack)
{
    for (unsigned i = 0; i < HALLEY_N_CONSTANTS; i++) {
        if (stack->origin[i] != 2)
            continue;
        stack->k[i] = stack->prior[i];
        stack->origin[i] = 0;
    }
}

static halley_status find_score_stack(score_rows *rows, score_row *row,
                                      score_stacks which, halley_error *err)
{
    for (uint32_t i = 0; i < rows->stacks.n; i++) {
        const halley_stack *s = &rows->stacks.at[i];
        if (workload_stack_serves(s, row->framework, row->release)) {
            row->stack = i;
            return HALLEY_OK;
        }
    }
    halley_stack stack;
    if (which == SCORE_UNKNOWN)
        halley_stack_default(&stack);
    else
        TRY(halley_stack_choose(&stack, row->framework, row->release, err));
    if (which == SCORE_UNFITTED)
        score_stack_forget(&stack);
    if (!stack.framework[0]) { /* no stack file: defaults, for this release */
        memcpy(stack.framework, row->framework, sizeof stack.framework);
        memcpy(stack.from, row->release, sizeof stack.from);
        memcpy(stack.to, row->release, sizeof stack.to);
    }
    row->stack = (uint32_t)rows->stacks.n;
    return array_push(&rows->stacks, stack) ? HALLEY_OK : error_nomem(err);
}

halley_status score_rows_stacks(score_rows *rows, score_stacks which,
                                const halley_stack *own, halley_error *err)
{
    rows->stacks.n = 0;
    if (own && !array_push(&rows->stacks, *own))
        return error_nomem(err);
    for (uint32_t i = 0; i < rows->rows.n; i++)
        TRY(find_score_stack(rows, &rows->rows.at[i], which, err));
    return HALLEY_OK;
}

static halley_status load_own(score_rows *rows, halley_error *err)
{
    for (size_t i = 0; i < cluster_embedded_n; i++) {
        const cluster_embedded *file = &cluster_embedded_files[i];
        if (strncmp(file->path, "data/runs/", 10) != 0)
            continue;
        conf_file conf;
        TRY(conf_parse(&conf, (str){file->text, file->n}, file->path, err));
        const halley_status status = score_rows_add(rows, &conf, err);
        conf_fini(&conf);
        TRY(status);
    }
    return HALLEY_OK;
}

halley_status score_rows_load(score_rows *rows, const char *const *files, size_t n_files,
                              halley_error *err)
{
    if (n_files == 0)
        return load_own(rows, err);
    for (size_t i = 0; i < n_files; i++) {
        conf_file conf;
        TRY(conf_load_table(&conf, files[i], err));
        const halley_status status = score_rows_add(rows, &conf, err);
        conf_fini(&conf);
        TRY(status);
    }
    return HALLEY_OK;
}

uint32_t score_rows_layouts(const score_rows *rows, const uint32_t *at, size_t n)
{
    uint32_t layouts = 0;
    for (size_t i = 0; i < n; i++) {
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++)
            seen = strcmp(rows->rows.at[at[i]].layout, rows->rows.at[at[j]].layout) == 0;
        layouts += !seen;
    }
    return layouts;
}

void score_rows_fini(score_rows *rows)
{
    for (size_t i = 0; i < rows->rows.n; i++)
        halley_model_fini(&rows->rows.at[i].model);
    array_fini(&rows->rows);
    for (size_t i = 0; i < rows->clusters.n; i++)
        halley_cluster_free(rows->clusters.at[i].cluster);
    array_fini(&rows->clusters);
    array_fini(&rows->stacks);
}
