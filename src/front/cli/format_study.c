/* halley-study(5): study files, from the tables that read them. */
#include "cli/commands.h"
#include "halley/explore.h"

#include <string.h>

static bool find_study_key(request_entry *out, const char *section, size_t i)
{
    halley_study_key k;
    if (!halley_study_keys(&k, section, i))
        return false;
    *out = (request_entry){.name = k.key,
                           .doc = k.doc,
                           .by_default = k.by_default,
                           .example = k.example,
                           .values = k.choices};
    return true;
}

static bool list_study_key(request_entry *out, size_t i)
{
    return find_study_key(out, "", i);
}

static bool list_range_key(request_entry *out, size_t i)
{
    return find_study_key(out, "vary", i);
}

static bool list_search_key(request_entry *out, size_t i)
{
    return find_study_key(out, "search", i);
}

static bool list_question_key(request_entry *out, size_t i)
{
    return find_study_key(out, "break-even", i);
}

/* An example value with the unit of the kind, as in halley_parameter; NULL for plain
 * numbers. */
static const char *find_unit_example(const char *kind)
{
    static const char *const examples[][2] = {
        {"size", "80 GB"},  {"bandwidth", "50 GB/s"},  {"time", "10 min"},
        {"power", "700 W"}, {"cost", "28000 USD"},     {"energy price", "0.1 USD/kWh"},
        {"share", "50 %"},  {"compute", "989 TFLOP/s"}};
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        if (strcmp(examples[i][0], kind) == 0)
            return examples[i][1];
    return NULL;
}

static bool list_study_parameter(request_entry *out, size_t i)
{
    halley_parameter p;
    if (!halley_explore_parameter(&p, i))
        return false;
    *out = (request_entry){
        .name = out->room, .doc = p.doc, .example = find_unit_example(p.unit)};
    memcpy(out->room, p.path, sizeof p.path);
    return true;
}

static bool list_study_result(request_entry *out, size_t i)
{
    if (i >= HALLEY_N_METRICS)
        return false;
    *out = (request_entry){.name = halley_metric_key((uint32_t)i),
                           .doc = halley_metric_title((uint32_t)i)};
    return true;
}

static const request_list lists[] = {
    {"keys", list_study_key},
    {"keys of a range", list_range_key},
    {"keys of search", list_search_key},
    {"keys of break-even", list_question_key},
    {"parameters", list_study_parameter},
    {"results", list_study_result},
    {0},
};

const cli_format format_study = {
    .name = "study",
    .summary = "a space of designs, conditions and objectives",
    .description =

        "A study file is YAML. It names a model and a cluster, the parameters to "
        "vary, the conditions that must hold, and the objective:\n\n"
        "  name: my-study\n"
        "  model: llama3-70b\n"
        "  cluster: dgx-h100:512\n"
        "  plan: {zero: 1, global-batch: \"= 4 * plan.dp\"}\n"
        "  vary:\n"
        "    plan.tp: powers-of-two\n"
        "    plan.dp: fill\n"
        "    cluster.network.bandwidth: {from: 25 GB/s, to: 100 GB/s, points: 8, "
        "scale: log}\n"
        "  where: [fits, \"plan.tp <= 8\", \"capital < 30 MUSD\"]\n"
        "  objective: [{minimize: step-time}, {minimize: cost-per-token}]\n"
        "  baseline: {plan.tp: 8}\n\n"
        "Values carry their unit: GB is 1e9 bytes, GiB 2^30. Unknown keys are errors."
        " A parameter that is not set keeps the value of the model, plan, cluster or "
        "stack.\n\n"
        "Values of a varied parameter are a list, a range {from: ..., to: ..., ...}, "
        "or a word: all (every choice or preset), divisors, powers-of-two, or fill "
        "(the remaining NPUs). A key of your own holds rows of parameters that belong"
        " together: a list of maps, each with a name. A parameter set to \"= "
        "EXPRESSION\" follows from others.\n\n"
        "With plan: best, or plan: {best: {tp: ..., pp: ...}}, each design gets its "
        "best plan.\n\n"
        "Expressions in where, objective and \"= ...\" use parameters by path, "
        "results by name, and numbers with units. They have + - * / % ^, comparisons,"
        " and, or, not, parentheses, and min max abs sqrt log log2 floor ceil.",
    .lists = lists,
    .commands = "explore",
};
