/* halley trace learn: learns the statistics of many traces as a model. */
#include "base/error.h"
#include "base/file/file.h"
#include "base/number/number.h"
#include "cli/commands.h"
#include "halley/learn_check.h"

#include <stdlib.h>

typedef struct learn_options {
    const char *out;
    uint32_t min_support;
    bool strict, no_check;
    request_output output;
} learn_options;

static const request_option options[] = {
    {.name = "out",
     .letter = 'o',
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "MODEL",
     .offset = offsetof(learn_options, out),
     .doc = "model file to write",
     .by_default = REQUEST_REQUIRED,
     .example = "corpus.hsm"},
    {.name = "min-support",
     .kind = REQUEST_U32,
     .min = 1,
     .max = 1000000,
     .metavar = "K",
     .offset = offsetof(learn_options, min_support),
     .doc = "keep only what occurs in at least K trace sets",
     .by_default = "5",
     .example = "10"},
    {.name = "strict",
     .kind = REQUEST_FLAG,
     .offset = offsetof(learn_options, strict),
     .doc = "fail at the first set that fails the check or folder that cannot be opened, "
            "instead of skipping and counting them"},
    {.name = "no-check",
     .kind = REQUEST_FLAG,
     .offset = offsetof(learn_options, no_check),
     .doc = "keep a model that does not reproduce the corpus"},
    REQUEST_OUTPUT_OPTIONS(learn_options, output),
    {0},
};

static const report_column columns[] = {
    {"Model", "model", REPORT_WORDS, UNITS_COUNT, 0},
    {"Sets", "sets", REPORT_COUNT, UNITS_COUNT, 0},
    {"Skipped", "skipped", REPORT_COUNT, UNITS_COUNT, 0},
    {"Traces", "traces", REPORT_COUNT, UNITS_COUNT, 0},
    {"Nodes", "nodes", REPORT_COUNT, UNITS_COUNT, 0},
    {"Operators", "operators", REPORT_COUNT, UNITS_COUNT, 0},
    {"Templates", "templates", REPORT_COUNT, UNITS_COUNT, 0},
    {"Covered", "covered_sets", REPORT_COUNT, UNITS_COUNT, 0},
    {"Laws", "laws", REPORT_COUNT, UNITS_COUNT, 0},
};

static halley_status write_learn_report(const request_call *call,
                                        const halley_learn_report *r, report_form form,
                                        halley_error *err)
{
    const learn_options *o = call->options;
    report_table *t = report_table_new(columns, sizeof columns / sizeof *columns);
    if (!t)
        return error_nomem(err);
    const uint64_t counts[] = {r->n_sets,      r->n_skipped,   r->n_traces,  r->n_nodes,
                               r->n_operators, r->n_templates, r->n_covered, r->n_laws};
    report_table_words(t, str_from(o->out));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        report_table_count(t, counts[i]);
    const halley_status status = report_table_write(t, form, call->out, err);
    report_table_free(t);
    return status;
}

/* A model that does not reproduce its corpus is worse than none, so it is not kept. The
 * model is read under the temporary name that it has until the call is complete. */
static halley_status verify_model(request_call *call, halley_error *err)
{
    const learn_options *o = call->options;
    const char *const held = file_held_name(o->out);
    halley_learn_check check;
    const halley_status status =
        halley_learn_verify(&check, held, call->args, call->n_args, err);
    if (status != HALLEY_OK)
        error_rename_file(err, held, o->out);
    TRY(status);
    if (check.failed[0] == '\0')
        return HALLEY_OK;
    if (o->no_check) {
        request_note(call, "the model does not reproduce the corpus: %s", check.failed);
        return HALLEY_OK;
    }
    return error_set(err, HALLEY_EINVAL,
                     "the model does not reproduce the corpus (%s; at most 25 %% may "
                     "differ) and was not kept. Share the nearest set instead: `halley "
                     "trace obfuscate %s -o OUT`, changed with `halley trace scale`; "
                     "--no-check keeps such a model",
                     check.failed, check.nearest);
}

static halley_status trace_learn_run(request_call *call, halley_error *err)
{
    const learn_options *o = call->options;
    report_form form;
    halley_learn_report report;
    TRY(request_output_form(&form, call, &o->output, err));
    if (!o->out)
        return request_usage(call, err, "where to? -o names the model to write");
    const halley_learn_opts opts = {
        .min_support = o->min_support, .strict = o->strict, .watch = call->watch};
    TRY(halley_learn_budget(call->args, call->n_args, err));
    halley_status status =
        halley_learn(o->out, call->args, call->n_args, &opts, &report, err);
    request_work_end(call);
    TRY(status);
    if (report.n_covered < report.n_sets)
        request_note(
            call,
            "%u of %u sets have programs that too few others share; sets like these "
            "are made from the nearest template, scaled",
            report.n_sets - report.n_covered, report.n_sets);
    if (report.n_skipped > 0)
        request_note(call, "skipped %u of %u sets that fail the check, the first: %s",
                     report.n_skipped, report.n_skipped + report.n_sets,
                     report.first_skipped);
    if (report.n_folders_skipped > 0)
        request_note(call, "skipped %u folders that cannot be opened, the first: %s",
                     report.n_folders_skipped, report.first_folder_skipped);
    TRY(verify_model(call, err));
    return write_learn_report(call, &report, form, err);
}

static const request_example examples[] = {
    {"halley trace learn corpus -o M.hsm", "all sets in a folder and below"},
    {"halley trace learn a b c.0.et -o M.hsm --min-support 2", "prefixes and files"},
    {0},
};

const request_verb cmd_trace_learn = {
    .name = "trace learn",
    .summary = "learn the statistics of many traces",
    .arguments = "TRACE...",
    .description =

        "Learns the statistics of sets of traces (files, prefixes, folders), as a "
        "model from which 'halley trace synth' makes new ones. The model holds "
        "which operators follow which, what repeats, and what depends on what. It "
        "also holds how counts, sizes and durations follow from the conditions of "
        "a set.\n\n"
        "Conditions (family, layers, tp, pp, dp, batch, or any number or word) are "
        "read from PREFIX.conditions.json next to a set, else from the metadata "
        "attributes of the trace. The number of ranks is always known. For sets "
        "without other conditions, the total operations and bytes sent take their "
        "place.\n\n"
        "The model holds nothing (names, operators, sizes, structure) that fewer "
        "than K sets have. Sets that fail 'halley trace check' are skipped and "
        "counted.\n\n"
        "At the end, sets are made under the conditions of up to 32 sets of the "
        "corpus, and operations, bytes, share of communication and simulated time "
        "are compared. A model that misses one of them by more than 25 % is "
        "not kept, and a file of its name stays as it was. The error message names the "
        "quantity and the nearest set of the "
        "corpus, which can be obfuscated, scaled and shared instead. Recordings "
        "too large to be learned in 1 GB are refused in the same way. How close new "
        "sets are to sets that were not learned from is what 'halley trace compare' "
        "measures.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(learn_options),
    .min_args = 1,
    .max_args = REQUEST_ANY,
    .run = trace_learn_run,
};
