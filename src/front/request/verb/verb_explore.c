/* halley explore - every design of a study, the best of them, and why. */
#include "base/error.h"
#include "base/number/number.h"
#include "halley/version.h"
#include "report/explore/explore_plots.h"
#include "request/design.h"
#include "request/document.h"
#include "request/explore_out.h"
#include "request/verbs.h"

#include <math.h>

typedef struct explore_options {
    uint32_t jobs, top;
    const char *store, *report, *plots;
    bool resume, dry_run, parameters, schema;
    request_output output;
} explore_options;

static const explore_options defaults = {.top = 10};

static const request_option options[] = {
    {.name = "jobs",
     .letter = 'j',
     .kind = REQUEST_U32,
     .max = 4096,
     .metavar = "N",
     .offset = offsetof(explore_options, jobs),
     .doc = "number of threads",
     .by_default = "one per core",
     .example = "4"},
    {.name = "top",
     .letter = 'n',
     .kind = REQUEST_U32,
     .min = 1,
     .max = 100000,
     .metavar = "N",
     .offset = offsetof(explore_options, top),
     .doc = "number of best designs to show",
     .by_default = "10",
     .example = "20"},
    {.name = "store",
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "F.db",
     .offset = offsetof(explore_options, store),
     .doc = "store every feasible design in this SQLite file",
     .by_default = "none",
     .example = "study.db"},
    {.name = "resume",
     .kind = REQUEST_FLAG,
     .offset = offsetof(explore_options, resume),
     .doc = "continue from what the store already holds"},
    {.name = "report",
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "F.html",
     .offset = offsetof(explore_options, report),
     .doc = "write one self-contained HTML page with all figures",
     .by_default = "none",
     .example = "study.html"},
    {.name = "plots",
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "DIR",
     .offset = offsetof(explore_options, plots),
     .doc = "write each figure as SVG into this folder",
     .by_default = "none",
     .example = "figures"},
    {.name = "dry-run",
     .kind = REQUEST_FLAG,
     .offset = offsetof(explore_options, dry_run),
     .doc = "only report the size of the space and the expected time"},
    {.name = "parameters",
     .kind = REQUEST_FLAG,
     .offset = offsetof(explore_options, parameters),
     .doc = "list everything a study may vary"},
    {.name = "schema",
     .kind = REQUEST_FLAG,
     .offset = offsetof(explore_options, schema),
     .doc = "write the JSON schema of study files"},
    REQUEST_OUTPUT_OPTIONS(explore_options, output),
    {0},
};

static halley_status list_parameters(const request_call *call, report_form form,
                                     halley_error *err)
{
    static const report_column columns[] = {
        {"Parameter", "parameter", REPORT_WORDS, UNITS_COUNT, 0},
        {"Of", "unit", REPORT_WORDS, UNITS_COUNT, 0},
        {"What it is", "meaning", REPORT_WORDS, UNITS_COUNT, 0},
    };
    report_table *t = report_table_new(columns, 3);
    halley_parameter p;
    if (!t)
        return error_nomem(err);
    for (size_t i = 0; halley_explore_parameter(&p, i); i++) {
        report_table_words(t, str_from(p.path));
        report_table_words(t, str_from(p.unit));
        report_table_words(t, str_from(p.doc));
    }
    return request_table_write(call, t, "study_parameters", form, err);
}

static void describe_name(report_json *j, const char *key, const char *doc,
                          const char *unit)
{
    report_json_flat_object(j, key);
    report_json_text(j, "description", str_from(doc));
    if (unit && *unit)
        report_json_text(j, "$comment", str_from(unit));
    report_json_end(j);
}

static void describe_key(report_json *j, const halley_study_key *k)
{
    report_json_flat_object(j, k->key);
    report_json_text(j, "description", str_from(k->doc));
    if (k->choices) {
        report_json_flat_array(j, "enum");
        for (size_t i = 0; k->choices[i]; i++)
            report_json_text(j, NULL, str_from(k->choices[i]));
        report_json_end(j);
    }
    report_json_end(j);
}

/* Describe a section as an object that allows no other keys. */
static void describe_section(report_json *j, const char *section)
{
    halley_study_key k;
    report_json_text(j, "type", STR("object"));
    report_json_bool(j, "additionalProperties", false);
    report_json_flat_array(j, "required");
    for (size_t i = 0; halley_study_keys(&k, section, i); i++) {
        if (k.required)
            report_json_text(j, NULL, str_from(k.key));
    }
    report_json_end(j);
    report_json_object(j, "properties");
    for (size_t i = 0; halley_study_keys(&k, section, i); i++)
        describe_key(j, &k);
    report_json_end(j);
}

/* Write the schema from the tables that read study files; editors use it to check and
 * complete. */
static halley_status write_schema(const request_call *call, halley_error *err)
{
    report_json j;
    halley_parameter p;
    request_json_begin(&j, call);
    report_json_text(&j, "$schema", STR("https://json-schema.org/draft/2020-12/schema"));
    report_json_text(&j, "title", STR("halley study"));
    describe_section(&j, "");
    report_json_object(&j, "$defs");
    report_json_object(&j, "range");
    describe_section(&j, "vary");
    report_json_end(&j);
    report_json_object(&j, "search");
    describe_section(&j, "search");
    report_json_end(&j);
    report_json_object(&j, "break-even");
    describe_section(&j, "break-even");
    report_json_end(&j);
    report_json_object(&j, "parameters");
    for (size_t i = 0; halley_explore_parameter(&p, i); i++)
        describe_name(&j, p.path, p.doc, p.unit);
    report_json_end(&j);
    report_json_object(&j, "results");
    for (uint32_t i = 0; i < HALLEY_N_METRICS; i++)
        describe_name(&j, halley_metric_key(i), halley_metric_title(i), NULL);
    report_json_end(&j);
    report_json_end(&j);
    return request_json_end(&j, call, err);
}

static void write_dry_run_json(report_json *j, const halley_study *s,
                               const halley_dry_run *d)
{
    report_json_text(j, "study", str_from(halley_study_name(s)));
    report_json_double(j, "designs", d->n_designs);
    report_json_double(j, "to_evaluate", d->n_to_evaluate);
    report_json_u64(j, "sampled", d->n_sampled);
    report_json_u64(j, "feasible", d->n_feasible);
    report_json_double(j, "designs_per_s", d->designs_per_s);
    report_json_double(j, "time_s", d->seconds);
    report_json_array(j, "refusals");
    for (uint32_t i = 0; i < d->n_refusals; i++) {
        report_json_flat_object(j, NULL);
        report_json_text(j, "reason", str_from(d->refusals[i].reason));
        report_json_u64(j, "designs", d->refusals[i].designs);
        report_json_end(j);
    }
    report_json_end(j);
}

static halley_status write_dry_run(FILE *to, const halley_study *s,
                                   const halley_dry_run *d, halley_error *err)
{
    char left[48];
    const double share =
        d->n_sampled ? 100.0 * (double)d->n_feasible / (double)d->n_sampled : 0;
    units_format(left, sizeof left, d->seconds, UNITS_TIME);
    fprintf(to, "%s: %s designs", halley_study_name(s),
            number_digits(d->n_designs, 6).at);
    if (d->n_to_evaluate < d->n_designs)
        fprintf(to, ", of which the search looks at %s",
                number_digits(d->n_to_evaluate, 6).at);
    fprintf(to, "\n%s %% feasible in a sample of %llu; about %s designs/s, %s in all\n",
            number_digits(share, 3).at, (unsigned long long)d->n_sampled,
            number_digits(d->designs_per_s, 3).at, left);
    if (d->n_refusals == 0)
        return HALLEY_OK;
    fprintf(to, "\n");
    return explore_write_refusals(d->refusals, d->n_refusals, to, err);
}

static halley_status dry_run(const request_call *call, const halley_study *s,
                             report_form form, halley_error *err)
{
    const explore_options *o = call->options;
    halley_dry_run d;
    TRY(halley_explore_dry_run(&d, s, o->jobs, err));
    if (form != REPORT_JSON)
        return write_dry_run(call->out, s, &d, err);
    report_json j;
    request_json_begin(&j, call);
    write_dry_run_json(&j, s, &d);
    return request_json_end(&j, call, err);
}

/* Nothing is feasible: report how many designs each constraint excludes. */
static halley_status all_refused(const halley_study *s, const halley_exploration *e,
                                 halley_error *err)
{
    strbuf text = {0};
    for (uint32_t i = 0; i < e->n_refusals && i < 4; i++)
        strbuf_printf(&text, "%s%llu: %s", i ? "; " : "",
                      (unsigned long long)e->refusals[i].designs, e->refusals[i].reason);
    error_set(err, HALLEY_EINVAL, "%s: none of %llu designs is feasible (%s)",
              halley_study_name(s), (unsigned long long)e->n_evaluated,
              text.n ? text.at : "");
    strbuf_fini(&text);
    return HALLEY_EINVAL;
}

static bool find_study_key(request_entry *out, size_t i)
{
    halley_study_key k;
    if (!halley_study_keys(&k, "", i))
        return false;
    *out = (request_entry){.name = k.key,
                           .doc = k.doc,
                           .by_default = k.by_default,
                           .example = k.example,
                           .values = k.choices};
    return true;
}

static const request_list study_keys[] = {{"keys of a study file", find_study_key}, {0}};

static halley_status write_pages(const halley_study *s, const halley_exploration *e,
                                 request_call *call, const explore_options *o,
                                 halley_error *err)
{
    if (o->report) {
        TRY(explore_write_page(call, o->report, s, e, err));
        if (!o->output.json && !o->output.csv)
            fprintf(call->out, "\nReport: %s\n", o->report);
    }
    if (o->plots) {
        TRY(report_explore_plots(o->plots, s, e, err));
        if (!o->output.json && !o->output.csv)
            fprintf(call->out, "Plots: %s\n", o->plots);
    }
    return HALLEY_OK;
}

static halley_status explore_study(const halley_study *s, request_call *call,
                                   report_form form, const halley_explore_opts *where,
                                   halley_error *err)
{
    const explore_options *o = call->options;
    halley_exploration *e = NULL;
    const uint32_t kept = o->top > 50 ? o->top : 50;
    halley_explore_opts opts = *where;
    opts.threads = where->n_ranks > 1 ? 1 : o->jobs;
    opts.top = kept;
    opts.store = o->store;
    opts.resume = o->resume;
    opts.watch = where->rank == 0 ? call->watch : NULL;
    halley_status status = halley_explore_run(&e, s, &opts, err);
    request_work_end(call);
    if (status != HALLEY_OK || !e)
        return status;
    const bool has_json = form != REPORT_TEXT || o->report != NULL;
    for (uint32_t i = 0; i < e->n_assumed && has_json; i++)
        request_assume_default(call, halley_plan_key_name(e->assumed[i].key),
                               e->assumed[i].value, "%s", e->assumed[i].text);
    if (e->n_best == 0)
        status = request_fail_as(call, REQUEST_CODE_INFEASIBLE, all_refused(s, e, err));
    else if (form == REPORT_JSON)
        status = explore_write_json(call, s, e, err);
    else if (form == REPORT_CSV)
        status = explore_write_csv(s, e, call->out, err);
    else
        status = explore_write_text(s, e, o->top, call->out, err);
    if (status == HALLEY_OK)
        status = write_pages(s, e, call, o, err);
    halley_exploration_free(e);
    return status;
}

/* Note what the study leaves open, and what was never measured. */
static void note_study(const request_call *call, const halley_study *study)
{
    if (halley_study_objective(study, 0)->assumed)
        request_assume_default(call, "objective", "step-time", "objective step-time");
    design_note_unmeasured(call, halley_study_model(study));
}

static halley_status explore_run(request_call *call, halley_error *err)
{
    const explore_options *o = call->options;
    report_form form;
    halley_study *study = NULL;
    TRY(request_output_form(&form, call, &o->output, err));
    if (o->parameters)
        return list_parameters(call, form, err);
    if (o->schema)
        return write_schema(call, err);
    if (call->n_args != 1)
        return request_usage(call, err, "name one study file");
    if (o->resume && !o->store)
        return request_usage(call, err, "--resume needs --store");
    halley_explore_opts where = {0};
    TRY(halley_explore_join(&where, err));
    halley_status status = request_study_load(&study, call->args[0], err);
    bool alone = where.rank == 0;
    if (status == HALLEY_OK && where.rank == 0)
        note_study(call, study);
    if (status == HALLEY_OK && o->dry_run)
        status = where.rank ? HALLEY_OK : dry_run(call, study, form, err);
    else if (status == HALLEY_OK) {
        status = explore_study(study, call, form, &where, err);
        alone = alone || status == HALLEY_EIO;
    }
    halley_study_free(study);
    halley_explore_leave(&where);
    if (status == HALLEY_OK || alone)
        return status;
    call->exit_code = REQUEST_FAILED; /* rank 0 reports the same */
    return HALLEY_OK;
}

static const request_example examples[] = {
    {"halley explore studies/transformer-1t.yaml --report 1t.html",
     "COMET's main study, with a page of figures"},
    {"halley explore big.yaml --dry-run", "how large it is and how long it will take"},
    {"halley explore big.yaml --store big.db --resume", "go on after an interruption"},
    {"mpirun -n 64 halley explore big.yaml --store big.db",
     "on many machines, one process per core"},
    {"halley explore --parameters", "what may vary"},
    {0},
};

static const char *const study_key[] = {"study", NULL};

const request_verb request_verb_explore = {
    .name = "explore",
    .summary = "try every design of a study and show the best",
    .arg_keys = study_key,
    .arguments = "[STUDY.yaml]",
    .description =

        "A study names a model, a cluster, the parameters to vary, the conditions "
        "that must hold, and the objective. Any parameter of model, plan, cluster and"
        " stack can vary, by its path. halley evaluates every design on all cores, or"
        " searches if there are too many. It prints the best designs, the Pareto "
        "front if there are several objectives, what limits each design, the "
        "sensitivity to each parameter, and the answers to break-even questions.\n\n"
        "With --store every feasible design is written to an SQLite file. After an "
        "interruption, --resume continues without evaluating a design twice and gives"
        " the same result. It starts at once, however large the store is, and checks"
        " every stored design before it prints. A store of another study or version "
        "is refused.\n\n"
        "Under mpirun or srun the processes share the work, one core each, through "
        "the plug-in libhalley-mpi.so (in the folder HALLEY_PLUGINS, or where it was "
        "installed). The first process owns the store and prints. The result is that "
        "of a single process. If MPI keeps a job alive that lost a process (mpirun "
        "--enable-recovery), the other processes evaluate its designs again; "
        "otherwise use --resume. A process that receives no message from the first "
        "one for 60 seconds (HALLEY_MPI_PATIENCE) ends.",
    .examples = examples,
    .lists = study_keys,
    .args_are_documents = true,
    .options = options,
    .options_size = sizeof(explore_options),
    .defaults = &defaults,
    .max_args = 1,
    .run = explore_run,
};
