/* halley trace compare - how similar traces are to others, and how much they leak. */
#include "base/array.h"
#include "base/error.h"
#include "base/file/file.h"
#include "base/number/number.h"
#include "halley/compare.h"
#include "report/compare/compare.h"
#include "request/page.h"
#include "request/trace/share.h"
#include "request/verbs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct compare_options {
    const char *train, *holdout, *model, *reference, *scores, *html;
    uint32_t min_support, simulate;
    bool strict;
    request_output output;
} compare_options;

static const compare_options defaults = {.min_support = 5, .simulate = 100};

static const request_option options[] = {
    {.name = "train",
     .kind = REQUEST_TEXT,
     .metavar = "FOLDER",
     .offset = offsetof(compare_options, train),
     .doc = "training set of the model that made SYNTH, for the membership attack",
     .by_default = "none",
     .example = "train"},
    {.name = "holdout",
     .kind = REQUEST_TEXT,
     .metavar = "FOLDER",
     .offset = offsetof(compare_options, holdout),
     .doc = "sets that the model was not trained on, for the membership attack",
     .by_default = "none",
     .example = "holdout"},
    {.name = "model",
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(compare_options, model),
     .doc = "the model itself: also attack by the likelihood that it assigns to the sets "
            "of --train and --holdout",
     .by_default = "none",
     .example = "corpus.hsm"},
    {.name = "reference",
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(compare_options, reference),
     .doc = "model of other sets of the same kind; likelihoods are taken relative to it",
     .by_default = "none",
     .example = "reference.hsm"},
    {.name = "scores",
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(compare_options, scores),
     .doc = "scores of another attack: lines 'member SCORE' and 'other SCORE'",
     .by_default = "none",
     .example = "scores.txt"},
    {.name = "min-support",
     .letter = 'k',
     .kind = REQUEST_U32,
     .min = 1,
     .max = 1000000,
     .metavar = "N",
     .offset = offsetof(compare_options, min_support),
     .doc = "names and numbers found in fewer sets of REAL count as leaked",
     .by_default = "5",
     .example = "10"},
    {.name = "simulate",
     .kind = REQUEST_U32,
     .metavar = "N",
     .offset = offsetof(compare_options, simulate),
     .doc = "number of sets to simulate on each side; 0 simulates none",
     .by_default = "100",
     .example = "20"},
    {.name = "strict",
     .kind = REQUEST_FLAG,
     .offset = offsetof(compare_options, strict),
     .doc = "fail when a set does not pass 'halley trace check' or a folder cannot be "
            "opened, instead of leaving it out"},
    {.name = "html",
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "FILE",
     .offset = offsetof(compare_options, html),
     .doc = "also write an HTML page with plots",
     .by_default = "none",
     .example = "compare.html"},
    REQUEST_OUTPUT_OPTIONS(compare_options, output),
    {0},
};

typedef struct profiles {
    halley_profile *real, *synth, *train, *holdout;
} profiles;

static void note_left_out(request_call *call, const char *path,
                          const halley_left_out *left)
{
    if (left->n_sets > 0)
        request_note(call,
                     "warning: %s: %" PRIu32 " sets do not pass 'halley trace check' and "
                     "are left out, the first: %s",
                     path, left->n_sets, left->first_set);
    if (left->n_folders > 0)
        request_note(call,
                     "warning: %s: %" PRIu32
                     " folders cannot be opened and are left out, "
                     "the first: %s",
                     path, left->n_folders, left->first_folder);
}

static halley_status load_profile(halley_profile **out, request_call *call,
                                  const char *path, bool simulated, halley_error *err)
{
    const compare_options *o = call->options;
    const halley_profile_opts opts = {
        .most_simulated = simulated && o->simulate > 0 ? o->simulate : UINT32_MAX};
    halley_left_out left;
    TRY(halley_profile_new(out, &opts, err));
    TRY(halley_profile_add_path(*out, path, o->strict, &left, err));
    note_left_out(call, path, &left);
    return HALLEY_OK;
}

static halley_status read_scores(halley_auc *out, const char *path, halley_error *err)
{
    file_input in;
    TRY(file_input_open(&in, path, err));
    ARRAY(double) sides[2] = {{0}, {0}};
    str rest = {(const char *)in.at, in.n}, line;
    halley_status status = HALLEY_OK;
    uint32_t n_lines = 0;
    while (status == HALLEY_OK && str_next(&rest, '\n', &line)) {
        str word, number = str_trim(line);
        double value;
        n_lines++;
        if (number.n == 0)
            continue;
        const bool split = str_next(&number, ' ', &word);
        const bool member = str_eq(word, STR("member"));
        if (!split || (!member && !str_eq(word, STR("other"))) ||
            !number_read(str_trim(number), &value)) {
            status = error_set(err, HALLEY_EFORMAT,
                               "expected a line of 'member SCORE' or 'other SCORE'");
            error_at_file(err, path);
            error_at_line(err, n_lines, 0);
        } else if (!array_push(&sides[member ? 0 : 1], value)) {
            status = error_nomem(err);
        }
    }
    if (status == HALLEY_OK) {
        status =
            halley_auc_of(out, sides[0].at, sides[0].n, sides[1].at, sides[1].n, err);
        if (status != HALLEY_OK)
            error_at_file(err, path);
    }
    array_fini(&sides[0]);
    array_fini(&sides[1]);
    file_input_close(&in);
    return status;
}

/* Traces that are omitted here were reported when the folders were loaded. */
static halley_status attack_model(request_call *call,
                                  halley_auc out[HALLEY_N_LIKELIHOODS], halley_error *err)
{
    const compare_options *o = call->options;
    const halley_membership_opts opts = {.model = o->model,
                                         .reference = o->reference,
                                         .train = o->train,
                                         .holdout = o->holdout,
                                         .strict = o->strict};
    if (!o->reference)
        request_note(call,
                     "without --reference, likelihoods show little: what is likely under "
                     "any model looks like a member");
    return halley_membership(out, &opts, NULL, err);
}

/* `what` is a report_comparison. A page also has the curves. */
static halley_status write_compare_page(const request_call *call, const void *what,
                                        halley_error *err)
{
    report_json j;
    request_json_begin(&j, call);
    report_compare_json(&j, what, true);
    return request_json_end(&j, call, err);
}

static halley_status write_comparison(request_call *call, const halley_comparison *c,
                                      halley_error *err)
{
    const compare_options *o = call->options;
    report_comparison r = {.c = c, .real = call->args[0], .synth = call->args[1]};
    halley_auc scored, likelihood[HALLEY_N_LIKELIHOODS];
    if (o->model) {
        TRY(attack_model(call, likelihood, err));
        r.by_likelihood = likelihood;
    }
    if (o->scores) {
        TRY(read_scores(&scored, o->scores, err));
        r.by_scores = &scored;
    }
    if (c->not_simulated)
        request_note(call, "warning: a set cannot be simulated: %s", c->not_simulated);
    char title[256];
    snprintf(title, sizeof title, "%s against %s", r.synth, r.real);
    TRY(request_page_save(call, o->html,
                          &(request_page){"compare", title, write_compare_page, &r, {0}},
                          err));
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    if (form != REPORT_JSON)
        return report_compare(&r, form, call->out, err);
    report_json j;
    request_json_begin(&j, call);
    report_compare_json(&j, &r, false);
    return request_json_end(&j, call, err);
}

static halley_status compare_profiles(request_call *call, profiles *p, halley_error *err)
{
    const compare_options *o = call->options;
    TRY(load_profile(&p->real, call, call->args[0], true, err));
    TRY(load_profile(&p->synth, call, call->args[1], true, err));
    const bool same = o->train && strcmp(o->train, call->args[0]) == 0;
    if (o->train && !same)
        TRY(load_profile(&p->train, call, o->train, false, err));
    if (o->train)
        TRY(load_profile(&p->holdout, call, o->holdout, false, err));
    const halley_compare_opts opts = {.min_support = o->min_support,
                                      .train = same ? p->real : p->train,
                                      .holdout = p->holdout};
    halley_comparison *c;
    TRY(halley_compare(&c, p->real, p->synth, &opts, err));
    const halley_status status = write_comparison(call, c, err);
    halley_comparison_free(c);
    return status;
}

static halley_status trace_compare_run(request_call *call, halley_error *err)
{
    const compare_options *o = call->options;
    if (!o->train != !o->holdout)
        return request_usage(call, err, "--train and --holdout need each other");
    if (o->model && !o->train)
        return request_usage(call, err, "--model needs --train and --holdout");
    if (o->reference && !o->model)
        return request_usage(call, err, "--reference needs --model");
    if (o->output.json && o->output.csv)
        return request_usage(call, err, "--json and --csv exclude each other");
    profiles p = {0};
    const halley_status status = compare_profiles(call, &p, err);
    halley_profile_free(p.real);
    halley_profile_free(p.synth);
    halley_profile_free(p.train);
    halley_profile_free(p.holdout);
    return status;
}

static const request_example examples[] = {
    {"halley trace compare step shared/step --html report.html",
     "what is left of a set that was obfuscated"},
    {"halley trace compare corpus/ synth/ --train corpus/ --holdout unseen/ --json",
     "whether the sets that a model made leak its training set"},
    {"halley trace compare unseen/ synth/ --train corpus/ --holdout unseen/ --model "
     "M.hsm --reference R.hsm",
     "whether the model itself does"},
    {0},
};

static const char *const compare_keys[] = {"real", "synth", NULL};

const request_verb request_verb_trace_compare = {
    .name = "trace compare",
    .summary = "measure how similar traces are and what they leak",
    .arguments = "REAL SYNTH",
    .arg_keys = compare_keys,
    .description =

        "Measures how similar SYNTH is to REAL and how much of REAL it leaks. Each "
        "is a file, a prefix, or a folder with sets, also in folders within it. "
        "Groups are read from PREFIX.comm_group.json next to a set.\n\n"
        "Fidelity is measured in three ways. The mix of operators (by kind and by "
        "name), dependencies, and bytes by type of communication are compared by "
        "total variation (0 = the same, 1 = nothing in common). Distributions are "
        "compared by Kolmogorov-Smirnov distance, and by Wasserstein distance "
        "relative to the mean of REAL. They are those of durations, operations, "
        "bytes, message sizes, degrees, graph widths, graph depths and critical "
        "paths. The sets are also simulated on three clusters.\n\n"
        "Privacy is measured by what SYNTH shares with REAL. The first measure is "
        "the share of nodes of SYNTH that occur in REAL in runs of at least 8 to "
        "256 nodes. The nodes of a run have the same types, values and relative "
        "dependencies. It is given with and without the repeats within each trace "
        "(layers, micro-batches). The others are the nearest set of REAL, and the "
        "names and numbers of SYNTH that only a few sets of REAL have.\n\n"
        "With --train and --holdout, membership attacks are run: how well can an "
        "attacker find out which sets SYNTH was made from? The result is the area "
        "under the curve (0.5 = not at all) with its 95 % confidence interval, by "
        "features and by shared runs. With --model, the attacker holds the model "
        "and compares the likelihoods of sets. The option --reference names a "
        "model of other sets of the same kind, and the likelihoods are divided by "
        "its own. Results are given in total and by conditions, programs and "
        "numbers.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(compare_options),
    .defaults = &defaults,
    .min_args = 2,
    .max_args = 2,
    .run = trace_compare_run,
};
