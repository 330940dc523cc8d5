/* halley calibrate - fit constants of a stack or a device to measurements. */
#include "base/error.h"
#include "base/number.h"
#include "halley/score.h"
#include "request/verbs.h"

typedef struct calibrate_options {
    const char *stack, *device, *out;
    request_output output;
} calibrate_options;

static const request_option options[] = {
    {.name = "stack",
     .letter = 's',
     .kind = REQUEST_TEXT,
     .metavar = "NAME",
     .offset = offsetof(calibrate_options, stack),
     .doc = "the stack to start from, a preset or a file (default: by the first run)"},
    {.name = "device",
     .letter = 'd',
     .kind = REQUEST_TEXT,
     .metavar = "NAME",
     .offset = offsetof(calibrate_options, device),
     .doc = "an NPU or link preset, fitted to a table of products or collectives"},
    {.name = "out",
     .letter = 'o',
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(calibrate_options, out),
     .doc = "write the fitted file there"},
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

static halley_status write_moves(const halley_fit *fit, report_form form,
                                 halley_error *err)
{
    report_table *t = report_table_new(columns, sizeof columns / sizeof *columns);
    if (!t)
        return error_nomem(err);
    for (uint32_t i = 0; i < fit->n_moves; i++) {
        const halley_fit_move *m = &fit->moves[i];
        const halley_constant_info *info = halley_constant_get(m->constant);
        report_table_words(t, str_from(info->key));
        report_table_words(t, str_from(info->unit));
        report_table_number(t, m->from);
        report_table_number(t, m->to);
        report_table_words(t, str_from(info->doc));
    }
    const halley_status status = report_table_write(t, form, stdout, err);
    report_table_free(t);
    return status;
}

static const report_column device_columns[] = {
    {"Constant", "constant", REPORT_WORDS, UNITS_COUNT, 0},
    {"Unit", "unit", REPORT_WORDS, UNITS_COUNT, 0},
    {"From", "from", REPORT_NUMBER, UNITS_COUNT, 0},
    {"To", "to", REPORT_NUMBER, UNITS_COUNT, 0},
};

static halley_status run_device(request_call *call, report_form form, halley_error *err)
{
    const calibrate_options *o = call->options;
    halley_device_fit fit;
    if (call->n_args != 1 || o->stack)
        return request_usage(call, err, "--device wants one table in CSV and no --stack");
    TRY(halley_calibrate_device(&fit, call->args[0], o->device, o->out, err));
    if (form == REPORT_TEXT)
        printf("%s: %u constants, %u measurements\nmean error %s %% before, %s %% "
               "after, %s %% on %u kept aside\n\n",
               o->device, fit.n_moves, fit.n_fitted, number_fixed(fit.before_pct, 2).at,
               number_fixed(fit.after_pct, 2).at, number_fixed(fit.held_pct, 2).at,
               fit.n_held);
    report_table *t =
        report_table_new(device_columns, sizeof device_columns / sizeof *device_columns);
    if (!t)
        return error_nomem(err);
    for (uint32_t i = 0; i < fit.n_moves; i++) {
        report_table_words(t, str_from(fit.moves[i].key));
        report_table_words(t, str_from(fit.moves[i].unit));
        report_table_number(t, fit.moves[i].from);
        report_table_number(t, fit.moves[i].to);
    }
    const halley_status status = report_table_write(t, form, stdout, err);
    report_table_free(t);
    return status;
}

static halley_status run(request_call *call, halley_error *err)
{
    const calibrate_options *o = call->options;
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    if (o->device)
        return run_device(call, form, err);
    halley_fit fit;
    TRY(halley_calibrate(&fit, o->stack, call->args, call->n_args, err));
    if (o->out)
        TRY(halley_stack_save(&fit.stack, o->out, err));
    if (form == REPORT_TEXT) {
        printf("stack %s: %u constants, %u runs of %u layouts\n", fit.stack.name,
               fit.n_moves, fit.n_rows, fit.n_layouts);
        printf("mean error %s %% before, %s %% after", number_fixed(fit.before_pct, 2).at,
               number_fixed(fit.after_pct, 2).at);
        if (fit.cv_pct >= 0)
            printf(", %s %% on layouts not seen\n\n", number_fixed(fit.cv_pct, 2).at);
        else
            printf("; too few layouts to hold some out\n\n");
    }
    return write_moves(&fit, form, err);
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

const request_verb request_verb_calibrate = {
    .name = "calibrate",
    .summary = "fit constants of a stack or a device to measurements",
    .arguments = "[RUNS.json...|TABLE.csv]",
    .description = "Fits the constants that a stack file lists under \"fit\", at most "
                   "eight, to runs it serves, starting from its defaults and held near "
                   "them by a prior. Prints what moved, the mean error before and after, "
                   "and the error on layouts that the fit had not seen. Without files, "
                   "the runs that come with halley are used.\n\n"
                   "Refuses to fit more constants than the runs have layouts.\n\n"
                   "With --device, the constants of an NPU or link preset are fitted to "
                   "a table of measured matrix products or collectives (in the form "
                   "'halley score' reads), and the error on a part of the shapes that "
                   "was kept aside is told.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(calibrate_options),
    .max_args = REQUEST_ANY,
    .run = run,
};
