/* halley-plan-file(5): plan files, from the rows of a plan's keys. */
#include "cli/commands.h"
#include "halley/plan_keys.h"
#include "workload/plan_facts.h"

static bool list_plan_key(request_entry *out, size_t i)
{
    const fact *f = &workload_plan_facts.rows[i];
    if (i >= HALLEY_N_PLAN_KEYS)
        return false;
    *out = (request_entry){.name = f->key,
                           .doc = f->doc,
                           .form = f->value,
                           .values = f->value == NULL ? f->words : NULL,
                           .by_default = f->by_default,
                           .example = f->example};
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
