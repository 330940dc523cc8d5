/*
 * halley estimate - one design: how long a step takes, where the time goes, whether it
 * fits, and what it costs.
 */
#include "base/error.h"
#include "base/number/number.h"
#include "estimate/estimate_facts.h"
#include "halley/plan_trace.h"
#include "halley/search.h"
#include "report/facts.h"
#include "report/numbers.h"
#include "request/design.h"
#include "request/estimate_facts.h"
#include "request/estimate_out.h"
#include "request/launch_file.h"
#include "request/page.h"
#include "request/recipe.h"
#include "request/verbs.h"

#include <math.h>
#include <stdlib.h>

typedef struct estimate_options {
    design_options design;
    double tokens;
    bool explain, strict;
    const char *trace, *report;
    request_output output;
} estimate_options;

static const estimate_options defaults = {.tokens = 1e12};

typedef estimate_options options_struct;
static const request_option options[] = {
    DESIGN_NAMES(REQUEST_REQUIRED, "required; a launch file may name its own")
        DESIGN_PLAN DESIGN_HEADROOM{.name = "tokens",
                                    .kind = REQUEST_QUANTITY,
                                    .unit = UNITS_COUNT,
                                    .min = 1,
                                    .max = 1e18,
                                    .metavar = "N",
                                    .offset = offsetof(estimate_options, tokens),
                                    .doc = "length of the training run in tokens",
                                    .by_default = "1T",
                                    .example = "15T"},
    {.name = "explain",
     .kind = REQUEST_FLAG,
     .offset = offsetof(estimate_options, explain),
     .doc = "show each operator and formula with its numbers"},
    {.name = "strict",
     .kind = REQUEST_FLAG,
     .offset = offsetof(estimate_options, strict),
     .doc = "fail (exit 1) when the design does not fit"},
    {.name = "trace",
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "PREFIX",
     .offset = offsetof(estimate_options, trace),
     .doc = "also write the step as Chakra traces PREFIX.0.et, PREFIX.1.et, ...",
     .by_default = "none",
     .example = "step"},
    REQUEST_REPORT_OPTION(estimate_options, report),
    REQUEST_OUTPUT_OPTIONS(estimate_options, output),
    {0},
};

typedef struct design {
    halley_model model;
    halley_cluster *cluster;
    halley_stack stack;
    double tokens;
    halley_recipe recipe;
    halley_bar_facts facts;
    halley_interval interval;
    request_interval shown;
    estimate_result r;
    estimate_stage stages[HALLEY_MAX_STAGES];
    halley_change changes[ESTIMATE_MAX_CHANGES];
} design;

static const char *amount(char to[32], double value, units_kind kind)
{
    return units_format(to, 32, value, kind);
}

static void write_estimate_parts(FILE *to, const estimate_result *r,
                                 const halley_model *model)
{
    const halley_estimate *e = &r->e;
    char a[32], b[32];
    fprintf(to, "\nwhere the time goes\n");
    report_facts_text(to,
                      model->kind == HALLEY_DLRM ? &estimate_recommender_facts
                                                 : &estimate_parts_facts,
                      e, e->step_s);
    fprintf(to, "  forward compute %s, backward compute %s; stage %u sets the pace\n",
            amount(a, e->part_s[HALLEY_PART_FORWARD], UNITS_TIME),
            amount(b, e->part_s[HALLEY_PART_BACKWARD], UNITS_TIME), e->slow_stage);
    fprintf(to, "  %s\n", r->loss);
}

static const char *name_verdict(const halley_estimate *e)
{
    static const char *const words[HALLEY_N_FITS] = {
        [HALLEY_FIT_FITS] = "fits",
        [HALLEY_FIT_TIGHT] = "fits tightly",
        [HALLEY_FIT_MAY] = "may fit (the software is not known)",
        [HALLEY_FIT_MAY_NEED_OFFLOAD] = "may need host offload",
        [HALLEY_FIT_NOT] = "does not fit"};
    return words[e->fit];
}

static void write_memory_classes(FILE *to, const halley_estimate *e)
{
    char a[32], b[32];
    fprintf(to, "\nmemory of the fullest stage (%u)\n", e->full_stage);
    for (int i = 0; i < HALLEY_N_MEMORY; i++) {
        if (e->memory_bytes[i] > 0)
            fprintf(to, "  %-22s %12s\n", halley_memory_name((halley_memory)i),
                    amount(a, e->memory_bytes[i], UNITS_BYTES));
        if (e->outer_bytes[i] > 0)
            fprintf(to, "  %-22s %12s in the next tier\n",
                    halley_memory_name((halley_memory)i),
                    amount(a, e->outer_bytes[i], UNITS_BYTES));
    }
    fprintf(to, "  %-22s %12s\n", "allocated",
            amount(a, e->allocated_bytes, UNITS_BYTES));
    fprintf(to, "  %-22s %12s of %s, %s %%; %s with %s %% headroom\n", "device",
            amount(a, e->peak_bytes, UNITS_BYTES),
            amount(b, e->capacity_bytes, UNITS_BYTES),
            number_fixed(100 * e->peak_bytes / e->capacity_bytes, 0).at, name_verdict(e),
            number_digits(100 * e->headroom, 3).at);
}

static void write_constants(FILE *to, const design *d)
{
    const halley_stack *s = &d->stack;
    uint32_t fitted = 0, given = 0;
    for (unsigned i = 0; i < HALLEY_N_CONSTANTS; i++) {
        fitted += s->origin[i] == 2;
        given += s->origin[i] == 1;
    }
    fprintf(to, "\nconstants: stack %s, %u fitted, %u given, the rest defaults\n",
            s->name, fitted, given);
    report_error_bar_text(to, &d->r.bar);
}

/* If no single change helps, search for any plan that fits. */
static void write_search(FILE *to, const design *d)
{
    halley_search_opts opts = {
        .plan = d->r.plan, .n_npus = halley_cluster_npus(d->cluster), .top = 1};
    opts.fixed = d->r.plan.given & HALLEY_SEARCH_WORKLOAD_KEYS;
    opts.plan.micro_batches = 0;
    halley_found best;
    halley_framework framework;
    halley_error ignored; /* memory ran out: the search is not limited */
    (void)design_limit_search(&opts, &framework, &d->stack, &ignored);
    const halley_search_answer answer =
        halley_search_any(&best, &d->model, d->cluster, &d->stack, &opts);
    char plan[256];
    if (answer == HALLEY_SEARCH_NONE) {
        fprintf(to, "  no plan fits: more accelerators or more memory are needed\n");
        return;
    }
    design_describe(plan, sizeof plan, &best.plan);
    fprintf(to,
            "  no single change makes it fit; another plan %s: %s\n"
            "  (`halley plan --all` finds the fastest)\n",
            answer == HALLEY_SEARCH_FITS ? "does" : "may fit", plan);
}

/* Write why it does not fit, and what would. */
static void write_advice(FILE *to, const design *d)
{
    const halley_estimate *e = &d->r.e;
    char a[32], b[32];
    int largest = 0;
    for (int i = 1; i < HALLEY_N_MEMORY; i++) {
        if (e->memory_bytes[i] > e->memory_bytes[largest])
            largest = i;
    }
    const double usable = (1 - e->headroom) * e->capacity_bytes;
    if (e->peak_bytes > usable)
        fprintf(to, "\nstage %u is over by %s; most of it is %s (%s)\n", e->full_stage,
                amount(a, e->peak_bytes - usable, UNITS_BYTES),
                halley_memory_name((halley_memory)largest),
                amount(b, e->memory_bytes[largest], UNITS_BYTES));
    else
        fprintf(to,
                "\nwhat stage %u offloads, %s, is more than the next tier has for it\n",
                (uint32_t)e->outer_stage, amount(a, e->outer_need_bytes, UNITS_BYTES));
    for (size_t i = 0; i < d->r.changes.n; i++)
        fprintf(to, "  %s: %s a step, %s\n", d->changes[i].what,
                amount(a, d->changes[i].estimate.step_s, UNITS_TIME),
                amount(b, d->changes[i].estimate.peak_bytes, UNITS_BYTES));
    if (d->r.changes.n == 0)
        write_search(to, d);
}

static void write_interval(FILE *to, const halley_interval *i)
{
    char a[32], b[32];
    fprintf(to, "  %s to %s by what is not stated", amount(a, i->low_s, UNITS_TIME),
            amount(b, i->high_s, UNITS_TIME));
    if (i->n_unknown > 0)
        fprintf(to, "; largest unknown: %s (+%s %%)",
                halley_plan_key_name((halley_plan_key)i->unknown[0].key),
                number_fixed(100 * i->unknown[0].effect, 0).at);
    fprintf(to, "\n");
}

static void write_estimate_text(const request_call *call, const design *d)
{
    FILE *to = call->out;
    char plan[256], a[32];
    const estimate_result *r = &d->r;
    const halley_plan *p = &r->plan;
    const halley_npu *npu = halley_cluster_npu(d->cluster, 0);
    design_print_unfit(to, &r->e, d->cluster);
    design_describe(plan, sizeof plan, p);
    fprintf(to, "%s on %u x %s (%s)\n%s, ", r->model, p->tp * p->cp * p->pp * p->dp,
            halley_npu_label(npu), r->cluster, plan);
    design_print_batch(to, p, &d->model);
    request_write_assumed(call);
    fprintf(to, "\nstep          %s\n", amount(a, r->e.step_s, UNITS_TIME));
    if (r->interval != NULL)
        write_interval(to, &d->interval);
    report_numbers_rates(to, &r->n, &r->e, p, npu);
    write_estimate_parts(to, r, &d->model);
    write_memory_classes(to, &r->e);
    if (!r->e.fits)
        write_advice(to, d);
    report_numbers_run(to, &r->n, &r->e, npu);
    write_constants(to, d);
}

/* What else a program gets: every stage, the file that was imported, the explanation. */
static halley_status complete_result(design *d, design_import *import,
                                     const request_call *call, halley_error *err)
{
    const estimate_options *o = call->options;
    estimate_result *r = &d->r;
    for (uint32_t i = 0; i < r->plan.pp; i++) {
        d->stages[i].stage = i;
        halley_estimate_stage(&d->stages[i].m, &d->model, &r->plan, d->cluster, &d->stack,
                              i);
    }
    r->stages = (fact_list){d->stages, r->plan.pp};
    TRY(design_import_load(import, call, &o->design, err));
    r->import = design_import_get(import);
    if (!o->explain && o->report == NULL)
        return HALLEY_OK;
    return halley_estimate_explain_tree(&r->explain, &d->model, &r->plan, d->cluster,
                                        &d->stack, err);
}

/* A page explains every number: `what` is an estimate_result. */
static halley_status write_estimate_json(const request_call *call, const void *what,
                                         halley_error *err)
{
    return request_facts_write(call, REPORT_JSON, &request_estimate_facts, what, err);
}

static halley_status save_page(const request_call *call, const design *d,
                               halley_error *err)
{
    const estimate_options *o = call->options;
    char title[3 * HALLEY_NAME];
    snprintf(title, sizeof title, "%s on %s", d->r.model, d->r.cluster);
    return request_page_save(
        call, o->report,
        &(request_page){"estimate", title, write_estimate_json, &d->r, {0}}, err);
}

/* As JSON, CSV and page. */
static halley_status write_for_programs(const request_call *call, design *d,
                                        report_form form, halley_error *err)
{
    design_import import = {0};
    halley_status status = complete_result(d, &import, call, err);
    if (status == HALLEY_OK)
        status = save_page(call, d, err);
    if (status == HALLEY_OK && form != REPORT_TEXT)
        status = request_facts_write(call, form, &request_estimate_facts, &d->r, err);
    halley_explanation_free(d->r.explain);
    design_import_free(&import);
    return status;
}

static halley_status explain_design(FILE *to, const design *d, halley_error *err)
{
    char *text;
    TRY(halley_estimate_explain(&text, &d->model, &d->r.plan, d->cluster, &d->stack,
                                err));
    fprintf(to, "\n%s", text);
    free(text);
    return HALLEY_OK;
}

static halley_status write_estimate(request_call *call, design *d, halley_error *err)
{
    const estimate_options *o = call->options;
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    if (form != REPORT_TEXT || o->report != NULL)
        TRY(write_for_programs(call, d, form, err));
    if (form != REPORT_TEXT)
        return HALLEY_OK;
    TRY(design_import_print(call, &o->design, err));
    write_estimate_text(call, d);
    return o->explain ? explain_design(call->out, d, err) : HALLEY_OK;
}

/* With --strict a design that does not fit is a failure; the result is written first. */
static halley_status refuse_unfit(request_call *call, const design *d, halley_error *err)
{
    char over[32];
    const estimate_options *o = call->options;
    if (!o->strict || d->r.e.fits)
        return HALLEY_OK;
    error_set(err, HALLEY_EINVAL, "the design does not fit: stage %u is over by %s",
              d->r.e.full_stage,
              amount(over,
                     d->r.e.peak_bytes - (1 - d->r.e.headroom) * d->r.e.capacity_bytes,
                     UNITS_BYTES));
    return request_fail_as(call, REQUEST_CODE_INFEASIBLE, HALLEY_EINVAL);
}

/* The numbers of the design. */
/* Settings that nobody states matter from 5 % on. */
static const double notable_interval = 1.05;

static halley_status find_interval(design *d, halley_error *err)
{
    estimate_result *r = &d->r;
    const halley_interval *i = &d->interval;
    TRY(halley_interval_find(&d->interval, &d->model, &r->plan, d->cluster, &d->stack,
                             &d->recipe, err));
    d->facts.open = i->low_s > 0 && i->high_s > notable_interval * i->low_s;
    if (!d->facts.open)
        return HALLEY_OK;
    d->facts.low_s = i->low_s;
    d->facts.high_s = i->high_s;
    d->facts.recipe_distance = d->recipe.name[0] != '\0' ? d->recipe.distance : HUGE_VAL;
    d->shown = (request_interval){i->low_s, i->high_s, {i->unknown, i->n_unknown}};
    r->interval = &d->shown;
    return HALLEY_OK;
}

/* What would make it fit, of what the framework can run. */
static halley_status find_changes(design *d, halley_error *err)
{
    halley_framework framework;
    uint32_t n_kept = 0;
    TRY(halley_framework_find(&framework, d->stack.framework, err));
    const uint32_t n = halley_search_fitting(d->changes, ESTIMATE_MAX_CHANGES, &d->model,
                                             &d->r.plan, d->cluster, &d->stack);
    for (uint32_t i = 0; i < n; i++)
        if (halley_framework_lacks(&framework, &d->changes[i].plan) == NULL)
            d->changes[n_kept++] = d->changes[i];
    d->r.changes = (fact_list){d->changes, n_kept};
    return HALLEY_OK;
}

static halley_status compute_result(design *d, halley_error *err)
{
    estimate_result *r = &d->r;
    halley_estimate_run(&r->e, &d->model, &r->plan, d->cluster, &d->stack);
    TRY(halley_estimate_check(&r->e, err));
    d->facts.estimate = &r->e;
    if (d->facts.open)
        TRY(find_interval(d, err));
    TRY(halley_error_bar_find(&r->bar, &d->model, &r->plan, d->cluster, &d->stack,
                              &d->facts, err));
    halley_numbers_run(&r->n, &r->e, &d->model, &r->plan, d->cluster, d->tokens);
    r->model = d->model.name;
    r->cluster = halley_cluster_name(d->cluster);
    r->stack = d->stack.name;
    r->npus = (uint64_t)r->plan.tp * r->plan.cp * r->plan.pp * r->plan.dp;
    r->spilled_bytes = request_spilled_bytes(&r->plan, r->e.peak_bytes,
                                             r->e.capacity_bytes, r->e.headroom);
    design_verdict(r->verdict, &r->e, d->cluster);
    request_estimate_losses(r->loss, &r->e, &d->model);
    return r->e.fits ? HALLEY_OK : find_changes(d, err);
}

static halley_status estimate_design(request_call *call, design *d, halley_error *err)
{
    const estimate_options *o = call->options;
    TRY(design_plan(&d->r.plan, &d->recipe, &d->model, d->cluster, &d->stack, call,
                    &o->design, err));
    d->facts.months = d->recipe.months;
    TRY(design_leaves_open(&d->facts.open, &o->design, err));
    TRY(compute_result(d, err));
    TRY(write_estimate(call, d, err));
    TRY(refuse_unfit(call, d, err));
    if (!o->trace)
        return HALLEY_OK;
    return halley_plan_trace_save(o->trace, &d->model, &d->r.plan, d->cluster, &d->stack,
                                  HALLEY_PRICES_STACK, NULL, err);
}

static halley_status estimate_run(request_call *call, halley_error *err)
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

        "Estimates one design in closed form. Prints the step time and its parts, the"
        " parameters, tokens and FLOP/s per accelerator, MFU and HFU. Compares the "
        "memory of the fullest stage, by class, with the capacity. Prints days, "
        "energy, power and cost of a training run of --tokens, with interruptions. If"
        " the design does not fit, names the stage, the class and the missing bytes, "
        "and the smallest changes that would make it fit.\n\n"
        "The last lines show the constants in use (fitted, given or default) and the "
        "expected error.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(estimate_options),
    .defaults = &defaults,
    .max_args = 0,
    .result = &request_estimate_facts,
    .run = estimate_run,
};
