/*
 * halley estimate - one design: how long a step takes, where the time goes, whether it
 * fits, and what it costs.
 */
#include "base/error.h"
#include "base/number/number.h"
#include "halley/plan_trace.h"
#include "halley/search.h"
#include "report/numbers.h"
#include "request/design.h"
#include "request/estimate_out.h"
#include "request/launch_file.h"
#include "request/page.h"
#include "request/verbs.h"
#include "request/vocabulary.h"

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
    halley_plan plan;
    halley_estimate e;
    halley_numbers n;
    halley_error_bar bar;
    double tokens;
} design;

static const char *amount(char to[32], double value, units_kind kind)
{
    return units_format(to, 32, value, kind);
}

static void write_estimate_parts(FILE *to, const halley_estimate *e)
{
    char a[32], b[32];
    fprintf(to, "\nwhere the time goes\n");
    for (const request_part *p = request_parts; p->key != NULL; p++) {
        const double seconds = p->get(e);
        if (seconds > 1e-9 * e->step_s)
            fprintf(to, "  %-24s %10s  %5s %%\n", p->title,
                    amount(a, seconds, UNITS_TIME),
                    number_fixed(100 * seconds / e->step_s, 1).at);
    }
    fprintf(to, "  forward compute %s, backward compute %s; stage %u sets the pace\n",
            amount(a, e->part_s[HALLEY_PART_FORWARD], UNITS_TIME),
            amount(b, e->part_s[HALLEY_PART_BACKWARD], UNITS_TIME), e->slow_stage);
    char loss[REPORT_LOSSES_TEXT];
    request_estimate_losses(loss, e);
    fprintf(to, "  %s\n", loss);
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

static uint64_t count_npus(const halley_plan *p)
{
    return (uint64_t)p->tp * p->cp * p->pp * p->dp;
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
    report_error_bar_text(to, &d->bar);
}

/* If no single change helps, search for any plan that fits. */
static void write_search(FILE *to, const design *d)
{
    halley_search_opts opts = {
        .plan = d->plan, .n_npus = halley_cluster_npus(d->cluster), .top = 1};
    opts.fixed = d->plan.given & HALLEY_SEARCH_WORKLOAD_KEYS;
    opts.plan.micro_batches = 0;
    halley_found best;
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
    const halley_estimate *e = &d->e;
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
    halley_change changes[3];
    const uint32_t n =
        halley_search_fitting(changes, 3, &d->model, &d->plan, d->cluster, &d->stack);
    for (uint32_t i = 0; i < n; i++)
        fprintf(to, "  %s: %s a step, %s\n", changes[i].what,
                amount(a, changes[i].estimate.step_s, UNITS_TIME),
                amount(b, changes[i].estimate.peak_bytes, UNITS_BYTES));
    if (n == 0)
        write_search(to, d);
}

static void write_estimate_text(const request_call *call, const design *d)
{
    FILE *to = call->out;
    char plan[256], a[32];
    const halley_estimate *e = &d->e;
    design_print_unfit(to, e, d->cluster);
    design_describe(plan, sizeof plan, &d->plan);
    fprintf(to, "%s on %u x %s (%s)\n%s, global batch %u, sequence %u, %s\n",
            d->model.name, d->plan.tp * d->plan.cp * d->plan.pp * d->plan.dp,
            halley_npu_label(halley_cluster_npu(d->cluster, 0)),
            halley_cluster_name(d->cluster), plan, d->plan.global_batch, d->plan.seq,
            halley_plan_format_name(&d->plan));
    request_write_assumed(call);
    fprintf(to, "\nstep          %s\n", amount(a, e->step_s, UNITS_TIME));
    report_numbers_rates(to, &d->n, e, &d->plan, halley_cluster_npu(d->cluster, 0));
    write_estimate_parts(to, e);
    write_memory_classes(to, e);
    if (!e->fits)
        write_advice(to, d);
    report_numbers_run(to, &d->n, e, halley_cluster_npu(d->cluster, 0));
    write_constants(to, d);
}

/* The memory of every pipeline stage, by class. */
static void write_stages_json(report_json *j, const design *d)
{
    char key[32];
    report_json_array(j, "stages");
    for (uint32_t i = 0; i < d->plan.pp; i++) {
        halley_stage_memory m;
        halley_estimate_stage(&m, &d->model, &d->plan, d->cluster, &d->stack, i);
        report_json_flat_object(j, NULL);
        report_json_u64(j, "stage", i);
        report_json_flat_object(j, "memory_bytes");
        for (int k = 0; k < HALLEY_N_MEMORY; k++)
            report_json_double(j, request_memory_key(key, (halley_memory)k),
                               m.memory_bytes[k]);
        report_json_end(j);
        report_json_double(j, "allocated_bytes", m.allocated_bytes);
        report_json_double(j, "device_bytes", m.device_bytes);
        report_json_end(j);
    }
    report_json_end(j);
}

/* What would make it fit, one change at a time. */
static void write_changes_json(report_json *j, const design *d)
{
    halley_change changes[3];
    if (d->e.fits)
        return;
    const uint32_t n =
        halley_search_fitting(changes, 3, &d->model, &d->plan, d->cluster, &d->stack);
    report_json_array(j, "changes");
    for (uint32_t i = 0; i < n; i++) {
        report_json_flat_object(j, NULL);
        report_json_text(j, "change", str_from(changes[i].what));
        char key[64];
        request_key_name(key, halley_plan_key_name(changes[i].key));
        report_json_text(j, "key", str_from(key));
        report_json_text(j, "value", str_from(changes[i].value));
        report_json_double(j, "step_s", changes[i].estimate.step_s);
        report_json_double(j, "device_bytes", changes[i].estimate.peak_bytes);
        report_json_end(j);
    }
    report_json_end(j);
}

static void write_explanation(report_json *j, const char *key,
                              const halley_explanation *e)
{
    report_json_object(j, key);
    report_json_text(j, "name", str_from(e->name));
    if (e->formula != NULL)
        report_json_text(j, "formula", str_from(e->formula));
    if (e->origin != NULL)
        report_json_text(j, "origin", str_from(e->origin));
    if (e->has_value) {
        report_json_double(j, "value", e->value);
        report_json_text(j, "unit", str_from(e->unit));
    }
    if (e->children != NULL) {
        report_json_array(j, "children");
        for (const halley_explanation *c = e->children; c != NULL; c = c->next)
            write_explanation(j, NULL, c);
        report_json_end(j);
    }
    report_json_end(j);
}

static halley_status explain_json(report_json *j, const design *d, halley_error *err)
{
    halley_explanation *root;
    TRY(halley_estimate_explain_tree(&root, &d->model, &d->plan, d->cluster, &d->stack,
                                     err));
    write_explanation(j, "explain", root);
    halley_explanation_free(root);
    return HALLEY_OK;
}

/* A page explains every number: `what` is a design. */
static halley_status write_estimate_json(const request_call *call, const void *what,
                                         halley_error *err)
{
    const estimate_options *o = call->options;
    const design *const d = what;
    report_json j;
    request_json_begin(&j, call);
    report_json_text(&j, "model", str_from(d->model.name));
    report_json_text(&j, "cluster", str_from(halley_cluster_name(d->cluster)));
    report_json_text(&j, "stack", str_from(d->stack.name));
    report_json_u64(&j, "npus", count_npus(&d->plan));
    halley_status status = request_plan_json(&j, "plan", &d->plan, err);
    if (status == HALLEY_OK)
        status = design_import_json(&j, call, &o->design, err);
    request_estimate_json(&j, &d->e);
    request_spilled_json(&j, &d->plan, d->e.peak_bytes, d->e.capacity_bytes,
                         d->e.headroom);
    char verdict[256];
    design_verdict(verdict, &d->e, d->cluster);
    report_json_text(&j, "verdict", str_from(verdict));
    char loss[REPORT_LOSSES_TEXT];
    request_estimate_losses(loss, &d->e);
    report_json_text(&j, "loss", str_from(loss));
    report_numbers_json(&j, &d->n);
    report_error_bar_json(&j, &d->bar);
    write_stages_json(&j, d);
    write_changes_json(&j, d);
    if (status == HALLEY_OK && (o->explain || o->report != NULL))
        status = explain_json(&j, d, err);
    const halley_status ended = request_json_end(&j, call, err);
    return status != HALLEY_OK ? status : ended;
}

static const report_column columns[] = {
    {"Key", "key", REPORT_WORDS, UNITS_COUNT, 0},
    {"Value", "value", REPORT_NUMBER, UNITS_COUNT, 0},
};

static void add_value(report_table *t, const char *object, const char *key, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%s%s%s", object, *object != '\0' ? "." : "", key);
    report_table_words(t, str_from(text));
    report_table_number(t, value);
}

static halley_status write_estimate_csv(FILE *to, const design *d, halley_error *err)
{
    char key[32];
    const halley_estimate *e = &d->e;
    report_table *t = report_table_new(columns, 2);
    if (t == NULL)
        return error_nomem(err);
    add_value(t, "", "step_s", e->step_s);
    add_value(t, "", "tokens_per_s", e->tokens_per_s);
    add_value(t, "", "mfu", e->mfu);
    add_value(t, "", "tokens_per_s_per_npu", d->n.tokens_per_s_npu);
    add_value(t, "", "model_flops_per_s_per_npu", d->n.flops_per_s_npu);
    add_value(t, "", "train_s", d->n.wall_days * 86400);
    add_value(t, "", "train_cost_usd", d->n.cost_usd);
    for (const request_part *p = request_parts; p->key != NULL; p++)
        add_value(t, "parts_s", p->key, p->get(e));
    for (int i = 0; i < HALLEY_N_MEMORY; i++)
        add_value(t, "memory_bytes", request_memory_key(key, (halley_memory)i),
                  e->memory_bytes[i]);
    add_value(t, "", "device_bytes", e->peak_bytes);
    add_value(t, "error_bar", "typical", d->bar.typical);
    add_value(t, "error_bar", "bound", d->bar.bound);
    add_value(t, "", "fits", e->fits);
    const halley_status status = report_table_write(t, REPORT_CSV, to, err);
    report_table_free(t);
    return status;
}

static halley_status explain_design(FILE *to, const design *d, halley_error *err)
{
    char *text;
    TRY(halley_estimate_explain(&text, &d->model, &d->plan, d->cluster, &d->stack, err));
    fprintf(to, "\n%s", text);
    free(text);
    return HALLEY_OK;
}

static halley_status write_estimate(request_call *call, const design *d,
                                    halley_error *err)
{
    const estimate_options *o = call->options;
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    if (form == REPORT_JSON)
        return write_estimate_json(call, d, err);
    if (form == REPORT_CSV)
        return write_estimate_csv(call->out, d, err);
    TRY(design_import_print(call, &o->design, err));
    write_estimate_text(call, d);
    return o->explain ? explain_design(call->out, d, err) : HALLEY_OK;
}

/* With --strict a design that does not fit is a failure; the result is written first. */
static halley_status refuse_unfit(request_call *call, const design *d, halley_error *err)
{
    char over[32];
    const estimate_options *o = call->options;
    if (!o->strict || d->e.fits)
        return HALLEY_OK;
    error_set(err, HALLEY_EINVAL, "the design does not fit: stage %u is over by %s",
              d->e.full_stage,
              amount(over, d->e.peak_bytes - (1 - d->e.headroom) * d->e.capacity_bytes,
                     UNITS_BYTES));
    return request_fail_as(call, REQUEST_CODE_INFEASIBLE, HALLEY_EINVAL);
}

static halley_status estimate_design(request_call *call, design *d, halley_error *err)
{
    const estimate_options *o = call->options;
    TRY(design_plan(&d->plan, &d->model, d->cluster, call, &o->design, err));
    TRY(halley_error_bar_find(&d->bar, &d->model, &d->plan, d->cluster, &d->stack, err));
    halley_estimate_run(&d->e, &d->model, &d->plan, d->cluster, &d->stack);
    TRY(halley_estimate_check(&d->e, err));
    halley_numbers_run(&d->n, &d->e, &d->model, &d->plan, d->cluster, d->tokens);
    char title[3 * HALLEY_NAME];
    snprintf(title, sizeof title, "%s on %s", d->model.name,
             halley_cluster_name(d->cluster));
    TRY(request_page_save(call, o->report,
                          &(request_page){"estimate", title, write_estimate_json, d, {0}},
                          err));
    TRY(write_estimate(call, d, err));
    TRY(refuse_unfit(call, d, err));
    if (!o->trace)
        return HALLEY_OK;
    return halley_plan_trace_save(o->trace, &d->model, &d->plan, d->cluster, &d->stack,
                                  NULL, err);
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
    .run = estimate_run,
};
