/* halley-plan-file(5): plan files, from the list of a plan's keys. */
#include "cli/commands.h"
#include "halley/plan_keys.h"

#define ENTRY(id, key, shown, doc_, default_, example_)                                  \
    {.name = key,                                                                        \
     .doc = doc_,                                                                        \
     .form = shown,                                                                      \
     .by_default = default_,                                                             \
     .example = example_},
#define SWITCH_ENTRY(id, key, negatable, doc_, default_, example_)                       \
    ENTRY(id, key, "yes|no", doc_, default_, example_)
static const request_entry keys[] = {HALLEY_PLAN_VALUES(ENTRY) HALLEY_PLAN_SWITCHES(
    SWITCH_ENTRY) HALLEY_PLAN_LISTS(ENTRY)};

static bool list_plan_key(request_entry *out, size_t i)
{
    if (i >= sizeof keys / sizeof *keys)
        return false;
    *out = keys[i];
    return true;
}

static const request_list lists[] = {{"keys", list_plan_key}, {0}};

const cli_format format_plan = {
    .name = "plan-file",
    .summary = "how a model is parallelized and trained",
    .description =
        "A plan file is YAML or JSON. Its keys are the options of the commands that take "
        "a "
        "plan; command-line options override the file:\n\n"
        "  tp: 8\n"
        "  pp: 4\n"
        "  virtual: 2\n"
        "  global-batch: 1024\n"
        "  recompute: full\n"
        "  recompute-every: 2\n"
        "  stage-layers: [24, 25, 25, 22]\n"
        "  rank-order: tp-cp-dp-pp\n"
        "  offload: [optimizer]\n\n"
        "tp, cp, pp and dp must multiply to the number of NPUs, and must divide heads, "
        "layers, experts and batch. Unknown keys are errors.",
    .lists = lists,
    .commands = "estimate",
};
