/* halley-plan-file(5): plan files, from the list of a plan's keys. */
#include "cli/commands.h"
#include "halley/plan_keys.h"

#define ENTRY(id, key, shown, doc_) {.name = key, .doc = doc_},
static const request_entry keys[] = {HALLEY_PLAN_VALUES(ENTRY) HALLEY_PLAN_SWITCHES(ENTRY)
                                         HALLEY_PLAN_LISTS(ENTRY)};

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
    .summary = "how a model is cut over NPUs and trained",
    .description =
        "A plan file is YAML or JSON; its keys are the options of the commands that take "
        "a plan, and an option goes before the file:\n\n"
        "  tp: 8\n"
        "  pp: 4\n"
        "  virtual: 2\n"
        "  global-batch: 1024\n"
        "  recompute: full\n"
        "  recompute-every: 2\n"
        "  stage-layers: [24, 25, 25, 22]\n"
        "  rank-order: tp-cp-dp-pp\n"
        "  offload: [optimizer]\n\n"
        "A degree left out is 1, dp what remains of the NPUs, zero 1, and tokens are "
        "split between tensor-parallel blocks. Degrees must multiply to the NPUs and "
        "divide heads, layers, experts and batch. Unknown keys are errors.",
    .lists = lists,
    .commands = "estimate",
};
