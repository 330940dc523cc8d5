/*
 * halley trace gen - makes traces from a pattern, or from a model and a plan. The
 * parameters of the generators are options of the same name. Their texts go to the
 * library, which checks units and ranges. Some of them are also keys of a plan.
 */
#include "base/error.h"
#include "base/file/file.h"
#include "halley/plan_trace.h"
#include "halley/trace_gen.h"
#include "request/design.h"
#include "request/files.h"
#include "request/trace/traces.h"
#include "request/verbs.h"

#include <stdlib.h>
#include <string.h>

typedef struct gen_options {
    uint32_t npus;
    const char *out;
    bool exact, list, roles, plain;
    request_output output;
    request_texts group;
    const char *size, *repeat, *order, *compute, *flops, *tensor;
    const char *micro_batches, *backward, *layers, *gradient;
    const char *messages, *seed, *nodes, *degree;
    const char *comp_weight, *coll_weight, *p2p_weight, *mem_weight;
    design_options design; /* its tp, pp, dp and zero are also used for patterns */
} gen_options;

#define PARAM(name_, member_, metavar_, doc_, example_)                                  \
    {                                                                                    \
        .name = name_, .kind = REQUEST_TEXT, .metavar = metavar_,                        \
        .offset = offsetof(gen_options, member_), .doc = doc_,                           \
        .by_default = "by pattern, see --list", .example = example_                      \
    }

typedef gen_options options_struct;
static const request_option options[] = {
    {.name = "npus",
     .letter = 'n',
     .kind = REQUEST_U32,
     .metavar = "N",
     .offset = offsetof(gen_options, npus),
     .doc = "number of NPUs, one trace each",
     .by_default = "8",
     .example = "64"},
    REQUEST_OUT_OPTION(gen_options, out, "PREFIX", "write PREFIX.0.et, PREFIX.1.et, ...",
                       "the pattern's name", "ring"),
    {.name = "list",
     .kind = REQUEST_FLAG,
     .offset = offsetof(gen_options, list),
     .doc = "list the patterns, or the parameters of PATTERN with their defaults"},
    {.name = "template",
     .kind = REQUEST_FLAG,
     .offset = offsetof(gen_options, roles),
     .doc = "with --model: write one trace per role and PREFIX.roles.yaml instead of a "
            "trace per rank"},
    {.name = "plain",
     .kind = REQUEST_FLAG,
     .offset = offsetof(gen_options, plain),
     .doc = "with --model: for other simulators, without the attributes halley_rate and "
            "halley_fixed_ns: time that the stack adds to collectives becomes compute "
            "before them, and factors on their bandwidth are left out"},
    {.name = "chakra",
     .kind = REQUEST_FLAG,
     .offset = offsetof(gen_options, exact),
     .doc = "write exactly the bytes that Chakra's generator writes, for its own cases"},
    PARAM("size", size, "BYTES", "bytes of a collective or message", "64 MiB"),
    PARAM("repeat", repeat, "N", "repeat the pattern N times", "10"),
    PARAM("order", order, "chained|independent",
          "chained repetitions wait for each other", "independent"),
    {.name = "group",
     .letter = 'g',
     .kind = REQUEST_TEXTS,
     .metavar = "RANKS",
     .offset = offsetof(gen_options, group),
     .doc = "only these ranks take part; repeat it for more groups",
     .by_default = "all ranks",
     .example = "0,2,4-7"},
    PARAM("compute", compute, "TIME", "duration of a compute node", "20 us"),
    PARAM("flops", flops, "N",
          "operations of a compute node; by default 100 TFLOP/s times its duration",
          "2G"),
    PARAM("tensor", tensor, "BYTES",
          "bytes that a compute or memory node reads and writes", "64 MiB"),
    PARAM("layers", layers, "N", "layers of the model", "24"),
    PARAM("micro-batches", micro_batches, "N", "micro-batches in a pipeline", "8"),
    PARAM("backward", backward, "yes|no", "whether there is a backward pass", "no"),
    PARAM("gradient", gradient, "BYTES", "bytes of gradients per layer and NPU",
          "100 MiB"),
    PARAM("messages", messages, "N", "total number of messages", "1000"),
    PARAM("seed", seed, "N", "seed of the random trace", "7"),
    PARAM("nodes", nodes, "N", "nodes per rank", "500"),
    PARAM("degree", degree, "X", "mean number of dependencies of a node, at most 8",
          "2.5"),
    PARAM("comp-weight", comp_weight, "N", "relative frequency of compute nodes", "50"),
    PARAM("coll-weight", coll_weight, "N", "relative frequency of collectives", "20"),
    PARAM("p2p-weight", p2p_weight, "N", "relative frequency of sends and receives",
          "10"),
    PARAM("mem-weight", mem_weight, "N", "relative frequency of memory loads and stores",
          "10"),
    DESIGN_NAMES("none, make a pattern", "none")
        DESIGN_PLAN REQUEST_OUTPUT_OPTIONS(gen_options, output),
    {0},
};

static bool is_param(const char *name)
{
    for (uint32_t i = 0; i < halley_gen_param_count(); i++)
        if (strcmp(halley_gen_param(i).name, name) == 0)
            return true;
    return false;
}

static halley_status set_params(halley_gen *gen, const request_call *call,
                                halley_error *err)
{
    const gen_options *o = call->options;
    for (request_option_walk w = {.verb = call->verb}; request_option_next(&w);) {
        const request_option *const it = &w.option;
        if (it->kind != REQUEST_TEXT || !is_param(it->name) ||
            !request_given(call, it->name))
            continue;
        const char *value;
        memcpy(&value, (const char *)call->options + it->offset, sizeof value);
        uint64_t bytes;
        if (strcmp(it->name, "size") == 0 && str_to_u64(str_from(value), &bytes))
            request_note(call,
                         "note: --size %s is %s bytes; write '%s MiB' for mebibytes",
                         value, value, value);
        TRY(halley_gen_set(gen, it->name, value, err));
    }
    for (size_t i = 0; i < o->group.n; i++)
        TRY(halley_gen_set(gen, "group", o->group.at[i], err));
    return o->exact ? halley_gen_exact(gen, err) : HALLEY_OK;
}

static const report_column columns[] = {
    {"Traces", "prefix", REPORT_WORDS, UNITS_COUNT, 0},
    {"Ranks", "n_ranks", REPORT_COUNT, UNITS_COUNT, 0},
    {"Different", "n_distinct", REPORT_COUNT, UNITS_COUNT, 0},
    {"Nodes", "nodes", REPORT_COUNT, UNITS_COUNT, 0},
    {"Size", "size_bytes", REPORT_QUANTITY, UNITS_BYTES, 0},
    {"Groups", "groups", REPORT_COUNT, UNITS_COUNT, 0},
};

/* Warn about files of an earlier, larger set, which would be taken for part of this one.
 */
static void note_leftovers(const request_call *call, const char *prefix,
                           const halley_gen_summary *sum)
{
    strbuf path = {0};
    strbuf_printf(&path, "%s.%u.et", prefix, sum->n_files);
    if (!path.failed)
        traces_note_leftover(call, path.at);
    path.n = 0;
    strbuf_printf(&path, "%s.comm_group.json", prefix);
    if (!path.failed && sum->n_groups == 0 && file_exists(path.at))
        request_note(call, "%s is of an earlier set with groups: remove it", path.at);
    strbuf_fini(&path);
}

static void add_trace_row(const request_call *call, const char *prefix,
                          const halley_gen_summary *sum, report_table *t)
{
    note_leftovers(call, prefix, sum);
    report_table_words(t, str_from(prefix));
    report_table_count(t, sum->n_files);
    report_table_count(t, sum->n_distinct);
    report_table_count(t, sum->n_nodes);
    report_table_number(t, (double)sum->n_bytes);
    report_table_count(t, sum->n_groups);
}

/* Make, check and write one pattern, and add its row. */
static halley_status write_pattern(request_call *call, const char *pattern,
                                   const char *prefix, report_table *t, halley_error *err)
{
    const gen_options *o = call->options;
    const uint32_t n_npus = request_given(call, "npus") ? o->npus : 8;
    halley_gen *gen = NULL;
    halley_status status = halley_gen_new(&gen, pattern, n_npus, err);
    if (status == HALLEY_OK)
        status = set_params(gen, call, err);
    if (status == HALLEY_OK)
        status = halley_gen_check(gen, err);
    if (status != HALLEY_OK) {
        halley_gen_free(gen);
        return design_usage(call, status, err);
    }
    halley_gen_summary sum;
    status = halley_gen_save(gen, prefix, &sum, err);
    halley_gen_free(gen);
    TRY(status);
    add_trace_row(call, prefix, &sum, t);
    return HALLEY_OK;
}

/* Save one trace per role and the index. */
static halley_status save_roles(const char *prefix, const halley_model *model,
                                const halley_plan *plan, const halley_cluster *cluster,
                                const halley_stack *stack, halley_trace_prices prices,
                                halley_gen_summary *sum, halley_error *err)
{
    halley_template *t = NULL;
    halley_template_summary made;
    TRY(halley_plan_template_labelled(&t, model, plan, cluster, stack, prices, err));
    const halley_status status = halley_template_save(t, prefix, &made, err);
    *sum = (halley_gen_summary){.n_files = halley_template_roles(t),
                                .n_distinct = halley_template_roles(t),
                                .n_nodes = made.n_nodes,
                                .n_bytes = made.n_bytes};
    halley_template_free(t);
    return status;
}

/* Files do not say which groups nodes should not split. */
static void note_full_nodes(const request_call *call, const halley_plan *plan,
                            const halley_cluster *cluster)
{
    const uint32_t npus = halley_estimate_node_fill(plan, cluster).npus_per_node;
    if (npus < halley_cluster_npus_per_node(cluster))
        request_note(
            call,
            "note: 'halley sim' with these files fills whole nodes; a cluster "
            "with nodes of %u (nodes: {npus: %u}) places ranks as this plan does",
            npus, npus);
}

/* Write a step of a model under a plan, as the estimator models it. */
static halley_status write_model(request_call *call, const char *prefix, report_table *t,
                                 halley_error *err)
{
    const gen_options *g = call->options;
    const design_options *o = &g->design;
    halley_cluster *cluster;
    halley_model model;
    halley_stack stack;
    halley_plan plan;
    halley_gen_summary sum;
    const halley_trace_prices prices =
        g->plain ? HALLEY_PRICES_PLAIN : HALLEY_PRICES_STACK;
    TRY(design_load(&model, &cluster, &stack, call, o, err));
    halley_status status =
        design_plan(&plan, NULL, &model, cluster, &stack, call, o, err);
    if (status == HALLEY_OK)
        note_full_nodes(call, &plan, cluster);
    if (status == HALLEY_OK && g->roles)
        status = save_roles(prefix, &model, &plan, cluster, &stack, prices, &sum, err);
    else if (status == HALLEY_OK)
        status = halley_plan_trace_save(prefix, &model, &plan, cluster, &stack, prices,
                                        &sum, err);
    halley_model_fini(&model);
    halley_cluster_free(cluster);
    TRY(status);
    add_trace_row(call, prefix, &sum, t);
    return HALLEY_OK;
}

/* Where a pattern goes: into a folder (one that exists, or OUT/) under its own name. Else
 * OUT is the prefix; of several patterns, each also gets its name. */
static halley_status choose_prefix(strbuf *to, const char *out, const char *name,
                                   bool is_one_of_many, halley_error *err)
{
    const str text = str_from(out != NULL ? out : "");
    const bool is_folder =
        text.n > 0 && (text.at[text.n - 1] == '/' || file_is_folder(out));
    if (is_folder)
        TRY(file_folder_make(out, err));
    strbuf_add(to, text);
    if (is_folder && text.at[text.n - 1] != '/')
        strbuf_add_char(to, '/');
    else if (text.n > 0 && !is_folder && is_one_of_many)
        strbuf_add_char(to, '.');
    if (text.n == 0 || is_folder || is_one_of_many)
        strbuf_add(to, str_from(name));
    return to->failed ? error_nomem(err) : HALLEY_OK;
}

static halley_status write_named(request_call *call, const char *name,
                                 bool is_one_of_many, report_table *t, halley_error *err)
{
    const gen_options *o = call->options;
    strbuf prefix = {0};
    halley_status status = choose_prefix(&prefix, o->out, name, is_one_of_many, err);
    if (status == HALLEY_OK && o->design.model)
        status = write_model(call, prefix.at, t, err);
    else if (status == HALLEY_OK)
        status = write_pattern(call, name, prefix.at, t, err);
    strbuf_fini(&prefix);
    return status;
}

/* Write all of Chakra's cases, each under its own name. */
static halley_status write_chakra(request_call *call, report_table *t, halley_error *err)
{
    for (uint32_t p = 0; p < halley_gen_pattern_count(); p++)
        if (halley_gen_is_chakra(p))
            TRY(write_named(call, halley_gen_pattern(p).name, true, t, err));
    return HALLEY_OK;
}

static const report_column pattern_columns[] = {
    {"Pattern", "pattern", REPORT_WORDS, UNITS_COUNT, 0},
    {"Makes", "makes", REPORT_WORDS, UNITS_COUNT, 0},
};
static const report_column param_columns[] = {
    {"Parameter", "parameter", REPORT_WORDS, UNITS_COUNT, 0},
    {"Default", "default", REPORT_WORDS, UNITS_COUNT, 0},
    {"Meaning", "meaning", REPORT_WORDS, UNITS_COUNT, 0},
};

static void list_patterns(report_table *t)
{
    for (uint32_t p = 0; p < halley_gen_pattern_count(); p++) {
        report_table_words(t, str_from(halley_gen_pattern(p).name));
        report_table_words(t, str_from(halley_gen_pattern(p).doc));
    }
    report_table_words(t, STR("chakra"));
    report_table_words(t, STR("the first fourteen, as Chakra's generator does"));
}

static void list_params(report_table *t, uint32_t pattern)
{
    for (uint32_t i = 0; i < halley_gen_param_count(); i++) {
        char text[64];
        if (!halley_gen_takes(pattern, i))
            continue;
        report_table_words(t, str_from(halley_gen_param(i).name));
        report_table_words(t,
                           str_from(halley_gen_default(text, sizeof text, pattern, i)));
        report_table_words(t, str_from(halley_gen_param(i).doc));
    }
}

static halley_status list_choices(request_call *call, report_form form, halley_error *err)
{
    uint32_t pattern = 0;
    const bool one = call->n_args > 0;
    while (one && pattern < halley_gen_pattern_count() &&
           strcmp(halley_gen_pattern(pattern).name, call->args[0]) != 0)
        pattern++;
    if (pattern == halley_gen_pattern_count()) {
        halley_gen *none = NULL;
        return design_usage(call, halley_gen_new(&none, call->args[0], 1, err), err);
    }
    report_table *t =
        one ? report_table_new(param_columns, 3) : report_table_new(pattern_columns, 2);
    if (!t)
        return error_nomem(err);
    if (one)
        list_params(t, pattern);
    else
        list_patterns(t);
    return request_table_write(call, t, one ? "pattern_parameters" : "patterns", form,
                               err);
}

/* Refuse options that do not apply to a pattern, or to a model. */
static halley_status check_gen_options(request_call *call, halley_error *err)
{
    const gen_options *o = call->options;
    if (o->design.model && call->n_args > 0)
        return request_usage(call, err, "give a pattern or --model, not both");
    if (o->roles && !o->design.model)
        return request_usage(call, err, "--template needs --model");
    if (o->plain && !o->design.model)
        return request_usage(call, err, "--plain needs --model");
    if (!o->design.model && call->n_args == 0)
        return request_usage(call, err, "name a pattern; --list shows them");
    bool of_plan = false;
    for (request_option_walk w = {.verb = call->verb}; request_option_next(&w);) {
        const request_option *const it = &w.option;
        of_plan |= strcmp(it->name, "model") == 0;
        const bool shared =
            strcmp(it->name, "json") == 0 || strcmp(it->name, "csv") == 0 ||
            strcmp(it->name, "out") == 0 || strcmp(it->name, "template") == 0 ||
            strcmp(it->name, "plain") == 0 || (of_plan && is_param(it->name));
        if (shared || of_plan == (o->design.model != NULL) ||
            !request_given(call, it->name))
            continue;
        return request_usage(call, err,
                             of_plan ? "--%s needs --model"
                                     : "--%s is for patterns, not for --model",
                             it->name);
    }
    return HALLEY_OK;
}

static halley_status trace_gen_run(request_call *call, halley_error *err)
{
    const gen_options *o = call->options;
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    if (o->list)
        return list_choices(call, form, err);
    TRY(check_gen_options(call, err));
    report_table *t = report_table_new(columns, 6);
    if (!t)
        return error_nomem(err);
    const char *pattern = call->n_args ? call->args[0] : "";
    halley_status status;
    if (o->design.model)
        status = write_named(call, "step", false, t, err);
    else if (strcmp(pattern, "chakra") == 0)
        status = write_chakra(call, t, err);
    else
        status = write_named(call, pattern, false, t, err);
    if (status == HALLEY_OK)
        return request_table_write(call, t, "traces", form, err);
    report_table_free(t);
    return status;
}

static const request_example examples[] = {
    {"halley trace gen all-reduce -n 16 --size '64 MiB' --repeat 10",
     "ten all-reduces, one after the other"},
    {"halley trace gen all-to-all -n 8 -g 0-3 -g 4-7 -o ep",
     "two groups; ep.comm_group.json names their ranks"},
    {"halley trace gen pipeline -n 4 --micro-batches 8 --compute '100 us'", NULL},
    {"halley trace gen transformer -n 16 --tp 4 --pp 2 --layers 8", NULL},
    {"halley trace gen -m gpt-7.5b -c dgx-a100:16 --tp 8 --global-batch 16 -o step",
     "a training step of a model, one trace a rank"},
    {"halley trace gen random -n 4 --nodes 100000 --seed 7 -o test", NULL},
    {"halley trace gen chakra -n 64 --chakra -o cases/",
     "the files of Chakra's generator, byte for byte"},
    {0},
};

static const char *const pattern_key[] = {"pattern", NULL};

const request_verb request_verb_trace_gen = {
    .name = "trace gen",
    .summary = "make traces from a pattern or a model",
    .arguments = "[PATTERN]",
    .arg_keys = pattern_key,
    .description =

        "Writes the traces of a pattern: a microbenchmark of one collective, "
        "point-to-point messages, a random graph, a simple training step, or a "
        "case of Chakra's generator. The option --list shows the patterns, and "
        "with a PATTERN its parameters.\n\n"
        "Every pattern can be simulated: sends have receives of the same tag and "
        "size, and all NPUs execute their collectives in one order. With groups, "
        "PREFIX.comm_group.json lists their ranks as ASTRA-sim reads them, and "
        "collectives carry the group's number as pg_name.\n\n"
        "With --model and --cluster, the traces are one training step of that "
        "model under a plan, the same step that 'halley estimate' evaluates. They "
        "contain compute with operations, bytes and estimated time, collectives of "
        "the plan's groups, messages between stages, and memory nodes for "
        "offloaded data.\n\n"
        "The pattern 'chakra' writes all cases of Chakra's generator, each to "
        "PREFIX and the name of the case. With --chakra the bytes are the same. "
        "Without it, sends and receives get the partners that Chakra leaves out.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(gen_options),
    .max_args = 1,
    .run = trace_gen_run,
};
