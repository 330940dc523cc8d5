/*
 * halley estimate - one design: how long a step takes, where the time goes, whether it
 * fits, what it costs.
 */
#include "base/error.h"
#include "base/number.h"
#include "halley/plan_trace.h"
#include "halley/search.h"
#include "request/design.h"
#include "request/verbs.h"

#include <stdlib.h>

typedef struct estimate_options {
    design_options design;
    double tokens;
    bool explain;
    const char *trace;
    request_output output;
} estimate_options;

static const estimate_options defaults = {.tokens = 1e12};

typedef estimate_options options_struct;
static const request_option options[] = {
    DESIGN_NAMES DESIGN_PLAN{.name = "tokens",
                             .kind = REQUEST_QUANTITY,
                             .unit = UNITS_COUNT,
                             .metavar = "N",
                             .offset = offsetof(estimate_options, tokens),
                             .doc = "length of the training run (default: 1T)"},
    {.name = "explain",
     .kind = REQUEST_FLAG,
     .offset = offsetof(estimate_options, explain),
     .doc = "show each operator and formula with its numbers"},
    {.name = "trace",
     .kind = REQUEST_TEXT,
     .metavar = "PREFIX",
     .offset = offsetof(estimate_options, trace),
     .doc = "also write the step as Chakra traces PREFIX.0.et and so on"},
    REQUEST_OUTPUT_OPTIONS(estimate_options, output),
    {0},
};

typedef struct design {
    halley_model model;
    halley_cluster *cluster;
    halley_stack stack;
    halley_plan plan;
    halley_estimate e;
    halley_expectation expected;
    double tokens;
} design;

static const char *amount(char to[32], double value, units_kind kind)
{
    return units_format(to, 32, value, kind);
}

static void write_parts(const halley_estimate *e)
{
    char a[32];
    printf("\nwhere the time goes\n");
    for (int i = 0; i < HALLEY_N_PARTS; i++) {
        if (e->part_s[i] > 0)
            printf("  %-20s %12s  %5s %%\n", halley_part_name((halley_part)i),
                   amount(a, e->part_s[i], UNITS_TIME),
                   number_fixed(100 * e->part_s[i] / e->step_s, 1).at);
    }
    printf("compute of the slowest stage (%u) by class\n", e->slow_stage);
    for (uint32_t i = 0; i < HALLEY_N_CLASSES; i++) {
        if (e->class_s[i] > 0)
            printf("  %-20s %12s  %5s %%\n", halley_class_name(i),
                   amount(a, e->class_s[i], UNITS_TIME),
                   number_fixed(100 * e->class_s[i] / e->step_s, 1).at);
    }
}

static void write_memory(const halley_estimate *e)
{
    char a[32], b[32];
    printf("\nmemory of the fullest stage (%u)\n", e->full_stage);
    for (int i = 0; i < HALLEY_N_MEMORY; i++) {
        if (e->memory_bytes[i] > 0)
            printf("  %-20s %12s\n", halley_memory_name((halley_memory)i),
                   amount(a, e->memory_bytes[i], UNITS_BYTES));
        if (e->outer_bytes[i] > 0)
            printf("  %-20s %12s in the next tier\n",
                   halley_memory_name((halley_memory)i),
                   amount(a, e->outer_bytes[i], UNITS_BYTES));
    }
    printf("  %-20s %12s of %s: %s\n", "together", amount(a, e->peak_bytes, UNITS_BYTES),
           amount(b, e->capacity_bytes, UNITS_BYTES), e->fits ? "fits" : "does not fit");
}

static void write_money(const design *d)
{
    char a[32], b[32];
    const halley_estimate *e = &d->e;
    const double per_step = (double)d->plan.global_batch * d->plan.seq;
    const double steps = d->tokens / per_step;
    printf("\ncost\n  %-20s %12s  %s\n", "a step", amount(a, e->energy_J, UNITS_ENERGY),
           amount(b, e->cost_usd, UNITS_MONEY));
    printf("  %-20s %12s  %s\n", "a trillion tokens",
           amount(a, e->energy_J * 1e12 / per_step, UNITS_ENERGY),
           amount(b, e->cost_usd * 1e12 / per_step, UNITS_MONEY));
    printf("  %-20s %9s d for %s tokens\n", "time to train",
           number_fixed(steps * e->step_s / 86400, 1).at, number_digits(d->tokens, 3).at);
}

static void write_constants(const design *d)
{
    const halley_stack *s = &d->stack;
    const halley_expectation *x = &d->expected;
    const char *kind = d->model.experts ? "with experts" : "without experts";
    uint32_t fitted = 0, given = 0;
    for (unsigned i = 0; i < HALLEY_N_CONSTANTS; i++) {
        fitted += s->origin[i] == 2;
        given += s->origin[i] == 1;
    }
    printf("\nconstants: stack %s, %u fitted, %u given, the rest defaults\n", s->name,
           fitted, given);
    if (x->n_sets)
        printf("error to expect: %s %%, up to %s %% for some software: this stack was "
               "fitted to no run %s; so far off were defaults on %u published ones of %u "
               "sets\n",
               number_fixed(100 * x->mean, 0).at, number_fixed(100 * x->worst, 0).at,
               kind, x->n_runs, x->n_sets);
    else
        printf("error to expect: %s %%, the mean on %u published runs %s, each of a "
               "layout the fit had not seen\n",
               number_fixed(100 * x->mean, 1).at, x->n_runs, kind);
}

/* Why it does not fit, and what would. */
static void write_advice(const design *d)
{
    const halley_estimate *e = &d->e;
    char a[32], b[32];
    int largest = 0;
    for (int i = 1; i < HALLEY_N_MEMORY; i++) {
        if (e->memory_bytes[i] > e->memory_bytes[largest])
            largest = i;
    }
    if (e->peak_bytes > e->capacity_bytes)
        printf("\nstage %u is over by %s; most of it is %s (%s)\n", e->full_stage,
               amount(a, e->peak_bytes - e->capacity_bytes, UNITS_BYTES),
               halley_memory_name((halley_memory)largest),
               amount(b, e->memory_bytes[largest], UNITS_BYTES));
    else
        printf("\nwhat stage %u offloads, %s, is more than the next tier has for it\n",
               e->full_stage, amount(a, e->offloaded_bytes, UNITS_BYTES));
    halley_change changes[3];
    const uint32_t n =
        halley_search_fitting(changes, 3, &d->model, &d->plan, d->cluster, &d->stack);
    for (uint32_t i = 0; i < n; i++)
        printf("  %s: %s a step, %s\n", changes[i].what,
               amount(a, changes[i].estimate.step_s, UNITS_TIME),
               amount(b, changes[i].estimate.peak_bytes, UNITS_BYTES));
    if (n == 0)
        printf("  no single change makes it fit: more NPUs or more memory are needed\n");
}

static void write_text(const design *d)
{
    char plan[160], a[32];
    const halley_estimate *e = &d->e;
    design_describe(plan, sizeof plan, &d->plan);
    printf("%s on %u x %s (%s)\n%s, global batch %u, sequence %u, %s\n\n", d->model.name,
           d->plan.tp * d->plan.cp * d->plan.pp * d->plan.dp,
           halley_cluster_npu(d->cluster, 0)->name, halley_cluster_name(d->cluster), plan,
           d->plan.global_batch, d->plan.seq, halley_dtype_name(d->plan.dtype));
    printf("step          %s\n", amount(a, e->step_s, UNITS_TIME));
    printf("tokens/s      %s\n", number_digits(e->tokens_per_s, 4).at);
    printf("model FLOPs   %s %% of peak", number_fixed(100 * e->mfu, 1).at);
    if (e->hfu > e->mfu)
        printf(", %s %% with recomputation", number_fixed(100 * e->hfu, 1).at);
    printf("\n");
    write_parts(e);
    write_memory(e);
    if (!e->fits)
        write_advice(d);
    write_money(d);
    write_constants(d);
}

static void plan_json(report_json *j, const halley_plan *p)
{
    report_json_object(j, "plan");
    report_json_u64(j, "tp", p->tp);
    report_json_u64(j, "pp", p->pp);
    report_json_u64(j, "dp", p->dp);
    report_json_u64(j, "cp", p->cp);
    report_json_u64(j, "ep", p->ep);
    report_json_u64(j, "virtual_stages", p->virtual_stages);
    report_json_u64(j, "zero", p->zero);
    report_json_u64(j, "fsdp", p->fsdp);
    report_json_u64(j, "micro_batch", p->micro_batch);
    report_json_u64(j, "global_batch", p->global_batch);
    report_json_u64(j, "seq", p->seq);
    report_json_text(j, "recompute", str_from(halley_recompute_name(p->recompute)));
    report_json_u64(j, "recompute_every",
                    p->recompute_every > 1 ? p->recompute_every : 1);
    report_json_u64(j, "recompute_layers", p->recompute_layers);
    report_json_text(j, "rank_order", str_from(halley_rank_order_name(p->rank_order)));
    report_json_text(j, "dtype", str_from(halley_dtype_name(p->dtype)));
    report_json_bool(j, "sequence_parallel", p->sequence_parallel);
    report_json_end(j);
}

static halley_status write_json(const design *d, halley_error *err)
{
    const halley_estimate *e = &d->e;
    report_json j;
    report_json_init(&j, stdout);
    report_json_object(&j, NULL);
    report_json_text(&j, "model", str_from(d->model.name));
    report_json_text(&j, "cluster", str_from(halley_cluster_name(d->cluster)));
    report_json_text(&j, "stack", str_from(d->stack.name));
    plan_json(&j, &d->plan);
    report_json_double(&j, "step_s", e->step_s);
    report_json_double(&j, "tokens_per_s", e->tokens_per_s);
    report_json_double(&j, "model_flops", e->model_flops);
    report_json_double(&j, "mfu", e->mfu);
    report_json_double(&j, "hfu", e->hfu);
    report_json_object(&j, "parts_s");
    for (int i = 0; i < HALLEY_N_PARTS; i++)
        report_json_double(&j, halley_part_name((halley_part)i), e->part_s[i]);
    report_json_end(&j);
    report_json_object(&j, "compute_s");
    for (uint32_t i = 0; i < HALLEY_N_CLASSES; i++)
        report_json_double(&j, halley_class_name(i), e->class_s[i]);
    report_json_end(&j);
    report_json_object(&j, "memory_bytes");
    for (int i = 0; i < HALLEY_N_MEMORY; i++)
        report_json_double(&j, halley_memory_name((halley_memory)i), e->memory_bytes[i]);
    report_json_end(&j);
    report_json_double(&j, "outer_bytes", e->offloaded_bytes);
    report_json_double(&j, "peak_bytes", e->peak_bytes);
    report_json_double(&j, "capacity_bytes", e->capacity_bytes);
    report_json_u64(&j, "slowest_stage", e->slow_stage);
    report_json_u64(&j, "fullest_stage", e->full_stage);
    report_json_bool(&j, "fits", e->fits);
    report_json_double(&j, "energy_J", e->energy_J);
    report_json_double(&j, "cost_usd", e->cost_usd);
    report_json_double(&j, "expected_error", d->expected.mean);
    report_json_u64(&j, "expected_error_runs", d->expected.n_runs);
    report_json_bool(&j, "calibrated", d->expected.n_sets == 0);
    report_json_end(&j);
    return report_json_fini(&j, err);
}

static const report_column columns[] = {
    {"What", "what", REPORT_WORDS, UNITS_COUNT, 0},
    {"Value", "value", REPORT_NUMBER, UNITS_COUNT, 0},
};

static halley_status write_csv(const design *d, halley_error *err)
{
    const halley_estimate *e = &d->e;
    report_table *t = report_table_new(columns, 2);
    if (!t)
        return error_nomem(err);
    report_table_words(t, STR("step_s"));
    report_table_number(t, e->step_s);
    report_table_words(t, STR("tokens_per_s"));
    report_table_number(t, e->tokens_per_s);
    report_table_words(t, STR("mfu"));
    report_table_number(t, e->mfu);
    for (int i = 0; i < HALLEY_N_PARTS; i++) {
        report_table_words(t, str_from(halley_part_name((halley_part)i)));
        report_table_number(t, e->part_s[i]);
    }
    report_table_words(t, STR("peak_bytes"));
    report_table_number(t, e->peak_bytes);
    report_table_words(t, STR("fits"));
    report_table_number(t, e->fits);
    const halley_status status = report_table_write(t, REPORT_CSV, stdout, err);
    report_table_free(t);
    return status;
}

static halley_status explain(const design *d, halley_error *err)
{
    char *text;
    TRY(halley_estimate_explain(&text, &d->model, &d->plan, d->cluster, &d->stack, err));
    printf("\n%s", text);
    free(text);
    return HALLEY_OK;
}

static halley_status write(request_call *call, const design *d, halley_error *err)
{
    const estimate_options *o = call->options;
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    if (form == REPORT_JSON)
        return write_json(d, err);
    if (form == REPORT_CSV)
        return write_csv(d, err);
    write_text(d);
    return o->explain ? explain(d, err) : HALLEY_OK;
}

static halley_status estimate_design(request_call *call, design *d, halley_error *err)
{
    const estimate_options *o = call->options;
    TRY(design_plan(&d->plan, &d->model, d->cluster, call, &o->design, err));
    TRY(halley_stack_expect(&d->expected, &d->stack, d->model.experts > 0, err));
    halley_estimate_run(&d->e, &d->model, &d->plan, d->cluster, &d->stack);
    TRY(write(call, d, err));
    if (!o->trace)
        return HALLEY_OK;
    return halley_plan_trace_save(o->trace, &d->model, &d->plan, d->cluster, &d->stack,
                                  NULL, err);
}

static halley_status run(request_call *call, halley_error *err)
{
    const estimate_options *o = call->options;
    design *d = calloc(1, sizeof *d);
    if (!d)
        return error_nomem(err);
    d->tokens = o->tokens;
    halley_status status =
        design_load(&d->model, &d->cluster, &d->stack, call, &o->design, err);
    if (status == HALLEY_OK) {
        design_note_idle(call, d->cluster);
        status = estimate_design(call, d, err);
        halley_model_fini(&d->model);
        halley_cluster_free(d->cluster);
    }
    free(d);
    return status;
}

static const request_example examples[] = {
    {"halley estimate -m gpt3-175b -c dgx-a100:1024 --tp 8 --pp 8 --global-batch 1536",
     "one design"},
    {"halley estimate -m transformer-1t -c comet-baseline:1024 --tp 8 --global-batch "
     "1024 --spread",
     "COMET's question: model parallel inside the pod with expanded memory"},
    {0},
};

const request_verb request_verb_estimate = {
    .name = "estimate",
    .summary = "how long a training step takes, why, and whether it fits",
    .arguments = "",
    .description =
        "Estimates one design in closed form: the time of a step and where it goes, "
        "tokens per second, model FLOPs over peak, memory by class of the fullest stage "
        "against the capacity, energy and cost. If it does not fit, says which stage, "
        "which class and by how much, and the nearest changes that would fit.\n\n"
        "Ends with the constants behind the numbers: fitted, given or default, and the "
        "error to expect.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(estimate_options),
    .defaults = &defaults,
    .max_args = 0,
    .run = run,
};
