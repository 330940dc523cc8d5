/* halley calibrate - fit constants of a stack or a device to measurements. */
#include "base/error.h"
#include "base/number/number.h"
#include "halley/error_bar.h"
#include "halley/score.h"
#include "request/coverage.h"
#include "request/files.h"
#include "request/verbs.h"

#include <math.h>

typedef struct calibrate_options {
    const char *stack, *device, *out;
    bool error_bars;
    request_output output;
} calibrate_options;

static const request_option options[] = {
    {.name = "stack",
     .letter = 's',
     .kind = REQUEST_TEXT,
     .metavar = "NAME",
     .offset = offsetof(calibrate_options, stack),
     .doc = "stack to start from: a preset or a file",
     .by_default = "the stack of the first run",
     .example = "torchtitan-2024"},
    {.name = "device",
     .letter = 'd',
     .kind = REQUEST_TEXT,
     .metavar = "NAME",
     .offset = offsetof(calibrate_options, device),
     .doc = "NPU or link preset to fit to a table of matmuls or collectives",
     .by_default = "none",
     .example = "nvlink4-h100"},
    REQUEST_OUT_OPTION(calibrate_options, out, "FILE",
                       "write the fitted constants to FILE", "none", "mine.yaml"),
    {.name = "error-bars",
     .kind = REQUEST_FLAG,
     .offset = offsetof(calibrate_options, error_bars),
     .doc = "make the table of error bars: fit every stack with each layout, set, device "
            "and release held out in turn"},
    REQUEST_OUTPUT_OPTIONS(calibrate_options, output),
    {0},
};

static const report_column columns[] = {
    {"Constant", "constant", REPORT_WORDS, UNITS_COUNT, 0},
    {"Unit", "unit", REPORT_WORDS, UNITS_COUNT, 0},
    {"From", "from", REPORT_NUMBER, UNITS_COUNT, 0},
    {"To", "to", REPORT_NUMBER, UNITS_COUNT, 0},
    {"Meaning", "meaning", REPORT_WORDS, UNITS_COUNT, 0},
};

static report_table *make_moves(const halley_fit *fit)
{
    report_table *t = report_table_new(columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; t != NULL && i < fit->n_moves; i++) {
        const halley_fit_move *m = &fit->moves[i];
        const halley_constant_info *info = halley_constant_get(m->constant);
        report_table_words(t, str_from(info->key));
        report_table_words(t, str_from(info->unit));
        report_table_number(t, m->from);
        report_table_number(t, m->to);
        report_table_words(t, str_from(info->doc));
    }
    return t;
}

static const report_column device_columns[] = {
    {"Constant", "constant", REPORT_WORDS, UNITS_COUNT, 0},
    {"Unit", "unit", REPORT_WORDS, UNITS_COUNT, 0},
    {"From", "from", REPORT_NUMBER, UNITS_COUNT, 0},
    {"To", "to", REPORT_NUMBER, UNITS_COUNT, 0},
};

static report_table *make_device_moves(const halley_device_fit *fit)
{
    report_table *t =
        report_table_new(device_columns, sizeof device_columns / sizeof *device_columns);
    for (uint32_t i = 0; t != NULL && i < fit->n_moves; i++) {
        report_table_words(t, str_from(fit->moves[i].key));
        report_table_words(t, str_from(fit->moves[i].unit));
        report_table_number(t, fit->moves[i].from);
        report_table_number(t, fit->moves[i].to);
    }
    return t;
}

/* The quality of a fit, for stacks and devices. */
typedef struct fit_summary {
    const char *kind, *name;        /* "stack", "megatron-2022" */
    uint32_t n_fitted, n_layouts;   /* runs or measurements; 0 layouts = a device */
    double before, after, held_out; /* mean error as a fraction; held_out < 0 = none */
    uint32_t n_held_out;
} fit_summary;

static halley_status write_fit_json(const request_call *call, const fit_summary *f,
                                    const report_table *moves, halley_error *err)
{
    report_json j;
    request_json_begin(&j, call);
    report_json_text(&j, f->kind, str_from(f->name));
    report_json_u64(&j, "fitted_runs", f->n_fitted);
    if (f->n_layouts > 0)
        report_json_u64(&j, "layouts", f->n_layouts);
    report_json_double(&j, "error_before", f->before);
    report_json_double(&j, "error_after", f->after);
    if (f->held_out >= 0)
        report_json_double(&j, "held_out_error", f->held_out);
    report_table_json(moves, &j, "constants");
    return request_json_end(&j, call, err);
}

static void write_fit_text(FILE *to, const fit_summary *f, uint32_t n_moves)
{
    const number_text before = number_fixed(100 * f->before, 2);
    if (f->n_layouts == 0) {
        fprintf(to,
                "%s: %u constants, %u measurements\nmean error %s %% before, %s %% "
                "after, %s %% on %u kept aside\n\n",
                f->name, n_moves, f->n_fitted, before.at,
                number_fixed(100 * f->after, 2).at, number_fixed(100 * f->held_out, 2).at,
                f->n_held_out);
        return;
    }
    fprintf(to, "stack %s: %u constants, %u runs of %u layouts\n", f->name, n_moves,
            f->n_fitted, f->n_layouts);
    fprintf(to, "mean error %s %% before, %s %% after", before.at,
            number_fixed(100 * f->after, 2).at);
    if (f->held_out >= 0)
        fprintf(to, ", %s %% on layouts not seen\n\n",
                number_fixed(100 * f->held_out, 2).at);
    else
        fprintf(to, "; too few layouts to hold some out\n\n");
}

/* Frees the table. NULL: there was no memory for it. */
static halley_status write_calibration(const request_call *call, report_form form,
                                       const fit_summary *f, report_table *moves,
                                       uint32_t n_moves, halley_error *err)
{
    if (moves == NULL)
        return error_nomem(err);
    if (form == REPORT_TEXT)
        write_fit_text(call->out, f, n_moves);
    const halley_status status = form == REPORT_JSON
                                     ? write_fit_json(call, f, moves, err)
                                     : report_table_write(moves, form, call->out, err);
    report_table_free(moves);
    return status;
}

static halley_status calibrate_device(request_call *call, report_form form,
                                      halley_error *err)
{
    const calibrate_options *o = call->options;
    halley_device_fit fit;
    if (call->n_args != 1 || o->stack)
        return request_usage(call, err,
                             "--device needs one CSV table and excludes --stack");
    TRY(halley_calibrate_device(&fit, call->args[0], o->device, o->out, err));
    const fit_summary f = {"device",
                           o->device,
                           fit.n_fitted,
                           0,
                           fit.before_pct / 100,
                           fit.after_pct / 100,
                           fit.held_pct / 100,
                           fit.n_held};
    return write_calibration(call, form, &f, make_device_moves(&fit), fit.n_moves, err);
}

static halley_status run_error_bars(request_call *call, halley_error *err)
{
    const calibrate_options *o = call->options;
    halley_error_coverage c;
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    if (o->stack != NULL || o->device != NULL)
        return request_usage(call, err,
                             "--error-bars takes neither --stack nor --device");
    TRY(halley_error_bars_make(&c, o->out, call->args, call->n_args, err));
    return request_write_coverage(call, &c, form, err);
}

static halley_status calibrate_run(request_call *call, halley_error *err)
{
    const calibrate_options *o = call->options;
    if (o->error_bars)
        return run_error_bars(call, err);
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    if (o->device)
        return calibrate_device(call, form, err);
    halley_fit fit;
    TRY(halley_calibrate(&fit, o->stack, call->args, call->n_args, err));
    if (o->out)
        TRY(halley_stack_save(&fit.stack, o->out, err));
    const fit_summary f = {"stack",
                           fit.stack.name,
                           fit.n_rows,
                           fit.n_layouts,
                           fit.before_pct / 100,
                           fit.after_pct / 100,
                           fit.cv_pct / 100,
                           0};
    return write_calibration(call, form, &f, make_moves(&fit), fit.n_moves, err);
}

static const request_example examples[] = {
    {"halley calibrate my-runs.json --stack torchtitan-2024 -o mine.yaml",
     "fit to one's own runs"},
    {"halley calibrate --stack llm-foundry-2023 -o llm-foundry-2023.yaml",
     "make a shipped stack file again, from the runs that come with halley"},
    {"halley calibrate nccl.csv --device nvlink4-h100 -o nvlink4-h100.yaml",
     "fit a link to a table of measured collectives"},
    {0},
};

static const char *const runs_key[] = {"runs", NULL};

const request_verb request_verb_calibrate = {
    .name = "calibrate",
    .summary = "fit constants of a stack or a device to measurements",
    .arguments = "[RUNS.json...|TABLE.csv]",
    .arg_keys = runs_key,
    .description =
        "Fits the constants that a stack file lists under \"fit\", at most eight, to "
        "runs of its framework. The fit starts from the defaults of the stack, and a "
        "prior keeps the constants near them. Prints the constants that changed, the "
        "mean error before and after, and the error on held-out layouts. Without "
        "files, the runs that come with halley are used.\n\n"
        "A fit of more constants than the runs have layouts is refused.\n\n"
        "With --device, the constants of an NPU or link preset are fitted to a table "
        "of measured matmuls or collectives, in the format that 'halley score' reads."
        " The error on held-out shapes is reported.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(calibrate_options),
    .max_args = REQUEST_ANY,
    .run = calibrate_run,
};
