/* halley trace synth: new traces from a model. */
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "cli/commands.h"
#include "halley/learn.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct synth_options {
    const char *out;
    uint32_t number, ranks, threads;
    uint64_t seed;
    request_texts like;
    const char *like_in;
    bool extrapolate, conditions;
    request_output output;
} synth_options;

static const request_option options[] = {
    {.name = "out",
     .letter = 'o',
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "FOLDER",
     .offset = offsetof(synth_options, out),
     .doc = "new or empty folder for the sets",
     .by_default = REQUEST_REQUIRED,
     .example = "made"},
    {.name = "number",
     .letter = 'n',
     .kind = REQUEST_U32,
     .min = 1,
     .max = 1000000,
     .metavar = "N",
     .offset = offsetof(synth_options, number),
     .doc = "number of sets to make",
     .by_default = "1",
     .example = "100"},
    {.name = "ranks",
     .kind = REQUEST_U32,
     .min = 1,
     .max = 1048576,
     .metavar = "R",
     .offset = offsetof(synth_options, ranks),
     .doc = "ranks per set",
     .by_default = "as learned",
     .example = "64"},
    {.name = "seed",
     .kind = REQUEST_U64,
     .metavar = "S",
     .offset = offsetof(synth_options, seed),
     .doc = "seed of the random choices; another seed makes other sets",
     .by_default = "0",
     .example = "7"},
    {.name = "like",
     .kind = REQUEST_TEXTS,
     .metavar = "NAME=VALUE",
     .offset = offsetof(synth_options, like),
     .doc = "fix a condition, or the compute or bytes of a set",
     .by_default = "none",
     .example = "layers=12"},
    {.name = "like-in",
     .kind = REQUEST_TEXT,
     .metavar = "FOLDER",
     .offset = offsetof(synth_options, like_in),
     .doc = "make one set for each NAME.conditions.json in FOLDER, under those "
            "conditions, and call it NAME",
     .by_default = "none",
     .example = "conditions"},
    {.name = "extrapolate",
     .kind = REQUEST_FLAG,
     .offset = offsetof(synth_options, extrapolate),
     .doc = "accept conditions outside the range of the corpus"},
    {.name = "threads",
     .letter = 'j',
     .kind = REQUEST_U32,
     .metavar = "N",
     .offset = offsetof(synth_options, threads),
     .doc = "number of sets to make in parallel",
     .by_default = "one per core",
     .example = "4"},
    {.name = "conditions",
     .kind = REQUEST_FLAG,
     .offset = offsetof(synth_options, conditions),
     .doc = "only list the conditions that the model knows"},
    REQUEST_OUTPUT_OPTIONS(synth_options, output),
    {0},
};

static const report_column condition_columns[] = {
    {"Condition", "condition", REPORT_WORDS, UNITS_COUNT, 0},
    {"From", "low", REPORT_NUMBER, UNITS_COUNT, 0},
    {"To", "high", REPORT_NUMBER, UNITS_COUNT, 0},
    {"Values", "values", REPORT_COUNT, UNITS_COUNT, 0},
    {"Sets", "sets", REPORT_COUNT, UNITS_COUNT, 0},
};

static void list_conditions(report_table *t, const halley_synth *synth)
{
    for (uint32_t i = 0; i < halley_synth_condition_count(synth); i++) {
        const halley_synth_condition c = halley_synth_condition_get(synth, i);
        report_table_words(t, str_from(c.name));
        if (c.is_text) {
            report_table_empty(t);
            report_table_empty(t);
        } else {
            report_table_number(t, c.low);
            report_table_number(t, c.high);
        }
        report_table_count(t, c.n_values);
        report_table_count(t, c.n_sets);
    }
}

static const report_column columns[] = {
    {"Traces", "prefix", REPORT_WORDS, UNITS_COUNT, 0},
    {"Ranks", "ranks", REPORT_COUNT, UNITS_COUNT, 0},
    {"Stages", "stages", REPORT_COUNT, UNITS_COUNT, 0},
    {"Nodes", "nodes", REPORT_COUNT, UNITS_COUNT, 0},
    {"Groups", "groups", REPORT_COUNT, UNITS_COUNT, 0},
    {"Left out", "left_out", REPORT_COUNT, UNITS_COUNT, 0},
    {"From", "from", REPORT_WORDS, UNITS_COUNT, 0},
};

/* The sets to make; {0} is none. */
typedef struct orders {
    ARRAY(halley_synth_order) list;
    arena memory;
} orders;

static halley_status add_order(orders *to, const synth_options *o, const char *name,
                               const char *conditions, halley_error *err)
{
    const halley_synth_order order = {.name = name,
                                      .seed = o->seed * UINT64_C(1000003) + to->list.n,
                                      .conditions = conditions};
    return name && array_push(&to->list, order) ? HALLEY_OK : error_nomem(err);
}

static halley_status order_number(orders *to, const synth_options *o, halley_error *err)
{
    const uint32_t n = o->number > 0 ? o->number : 1;
    for (uint32_t i = 0; i < n; i++)
        TRY(add_order(to, o, arena_printf(&to->memory, "synth-%u", i), NULL, err));
    return HALLEY_OK;
}

#define CONDITIONS ".conditions.json"

static int has_conditions(const struct dirent *e)
{
    return str_ends(str_from(e->d_name), STR(CONDITIONS));
}

/* Order one set for each conditions file in a folder. */
static halley_status order_alike(orders *to, const synth_options *o, halley_error *err)
{
    struct dirent **list = NULL;
    const int n = scandir(o->like_in, &list, has_conditions, alphasort);
    halley_status status = HALLEY_OK;
    if (n < 0) {
        status = errno == ENOENT ? error_set(err, HALLEY_ENOTFOUND, "no such folder")
                                 : error_errno(err, "list the folder", errno);
        error_at_file(err, o->like_in);
    } else if (n == 0)
        status =
            error_set(err, HALLEY_ENOTFOUND, "%s has no NAME" CONDITIONS, o->like_in);
    for (int i = 0; i < n; i++) {
        const str file = str_from(list[i]->d_name);
        const char *path =
            arena_printf(&to->memory, "%s/%s", o->like_in, list[i]->d_name);
        const char *name =
            path ? arena_copy(&to->memory, (str){file.at, file.n - strlen(CONDITIONS)})
                 : NULL;
        if (status == HALLEY_OK)
            status = add_order(to, o, name, path, err);
        free(list[i]);
    }
    free(list);
    return status;
}

static halley_status make_sets(const request_call *call, const orders *all,
                               const synth_options *o, const halley_synth *synth,
                               halley_error *err)
{
    const halley_synth_opts opts = {.n_ranks = o->ranks,
                                    .extrapolate = o->extrapolate,
                                    .n_threads = o->threads,
                                    .watch = call->watch};
    const halley_status status =
        halley_synth_save(o->out, synth, all->list.at, all->list.n, &opts, err);
    request_work_end(call);
    return status;
}

static void list_made(report_table *t, const orders *all, const char *folder)
{
    strbuf prefix = {0};
    for (size_t i = 0; i < all->list.n; i++) {
        const halley_synth_summary *sum = &all->list.at[i].made;
        prefix.n = 0;
        strbuf_printf(&prefix, "%s/%s", folder, all->list.at[i].name);
        report_table_words(t, strbuf_str(&prefix));
        report_table_count(t, sum->n_ranks);
        report_table_count(t, sum->n_stages);
        report_table_count(t, sum->n_nodes);
        report_table_count(t, sum->n_groups);
        report_table_count(t, sum->n_left_out);
        report_table_words(t, sum->is_scaled ? STR("nearest") : STR("template"));
    }
    strbuf_fini(&prefix);
}

static halley_status fill_orders(report_table *t, const request_call *call,
                                 halley_synth *synth, halley_error *err)
{
    const synth_options *o = call->options;
    orders all = {0};
    if (o->conditions) {
        list_conditions(t, synth);
        return HALLEY_OK;
    }
    for (size_t i = 0; i < o->like.n; i++)
        TRY(halley_synth_fix(synth, o->like.at[i], err));
    halley_status status =
        o->like_in ? order_alike(&all, o, err) : order_number(&all, o, err);
    if (status == HALLEY_OK)
        status = make_sets(call, &all, o, synth, err);
    if (status == HALLEY_OK)
        list_made(t, &all, o->out);
    array_fini(&all.list);
    arena_fini(&all.memory);
    return status;
}

static halley_status trace_synth_run(request_call *call, halley_error *err)
{
    const synth_options *o = call->options;
    report_form form;
    halley_synth *synth = NULL;
    TRY(request_output_form(&form, call, &o->output, err));
    if (!o->out && !o->conditions)
        return request_usage(call, err, "where to? -o names a folder for the sets");
    if (o->like_in && (o->like.n > 0 || request_given(call, "number")))
        return request_usage(call, err, "--like-in excludes --like and --number");
    TRY(halley_synth_load(&synth, call->args[0], err));
    report_table *t = o->conditions ? report_table_new(condition_columns, 5)
                                    : report_table_new(columns, 7);
    halley_status status = t ? fill_orders(t, call, synth, err) : error_nomem(err);
    if (status == HALLEY_OK)
        status = report_table_write(t, form, call->out, err);
    report_table_free(t);
    halley_synth_free(synth);
    return status;
}

static const request_example examples[] = {
    {"halley trace synth M.hsm -o new -n 10 --seed 7", "ten sets, always the same ones"},
    {"halley trace synth M.hsm -o new --like family=gpt --like layers=24 --ranks 64",
     NULL},
    {"halley trace synth M.hsm --conditions", "what can be asked for"},
    {0},
};

const request_verb cmd_trace_synth = {
    .name = "trace synth",
    .summary = "make new traces from a learned model",
    .arguments = "MODEL",
    .description =

        "Makes new sets of traces with the statistics of a corpus that 'halley trace "
        "learn' has learned. It writes FOLDER/synth-0.0.et and so on, with their "
        "groups (synth-0.comm_group.json) and conditions (synth-0.conditions.json). "
        "The same seed gives the same bytes.\n\n"
        "Conditions that are not fixed are drawn from their joint distribution. A "
        "condition outside the range of the corpus is refused with that range, unless"
        " --extrapolate is given. compute and bytes fix the total operations and "
        "message bytes of all ranks. If they are not conditions of the model, sizes "
        "and times are scaled to them.\n\n"
        "Every set passes 'halley trace check' and can be simulated to the end. "
        "Messages and collectives for which the model gave no partner are left out "
        "and counted. A set is made from a template, the programs that enough sets "
        "share. If no template fits the conditions, the nearest one is scaled to the "
        "nodes, time, operations and bytes of sets under such conditions. The column "
        "From then says 'nearest' instead of 'template'.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(synth_options),
    .min_args = 1,
    .max_args = 1,
    .run = trace_synth_run,
};
