/* The result of `halley estimate`: the engine's rows and what the verb adds. */
#include "request/estimate_facts.h"

#include "base/fact_rows.h"
#include "estimate/estimate_facts.h"
#include "halley/plan_keys.h"
#include "report/model.h"
#include "workload/plan_facts.h"

static const char *get_changed_key(const void *from)
{
    return halley_plan_key_name(((const halley_change *)from)->key);
}

/* clang-format off */
#define THIS halley_error_bar
const fact_table request_error_bar_facts = {"ErrorBar", "error to expect of step_s, from leaving out whole sources", sizeof(THIS), (const fact[]){
    VALUE("typical", typical, SHARE, "typical error", "70 % of comparable runs are within it, as a share"),
    VALUE("bound", bound, SHARE, "bound", "95 % of comparable runs are within it, as a share"),
    VALUE("runs", n_runs, NO_UNIT, "runs", "comparable runs"),
    VALUE("sources", n_sources, NO_UNIT, "sources", "sources of these runs"),
    VALUE("class", class_name, NO_UNIT, "class", "class of the runs that are comparable"),
    VALUE("measured", measured, NO_UNIT, "measured", "whether runs of this device with this kind of model were compared"),
    VALUE("unmeasured", unmeasured, NO_UNIT, "unmeasured", "kind of layers that no measured run had", .rare = true),
    {0}}};
#undef THIS

static const char *get_unknown_key(const void *from)
{
    return halley_plan_key_name((halley_plan_key)((const halley_unknown *)from)->key);
}

#define THIS halley_unknown
static const fact_table unknown_facts = {"Unknown", "a setting that nobody states", sizeof(THIS), (const fact[]){
    DERIVED_TEXT("key", get_unknown_key, "key", "key of the plan"),
    VALUE("effect", effect, SHARE, "effect", "how much longer the step is with its slow side, as a share of the fastest"),
    {0}}};
#undef THIS

#define THIS request_interval
static const fact_table interval_facts = {"Interval", "step times between which settings decide that nobody states", sizeof(THIS), (const fact[]){
    VALUE("low_s", low_s, SECONDS, "low", "all of them on their fast side"),
    VALUE("high_s", high_s, SECONDS, "high", "all of them on their slow side"),
    LIST("unknown", unknown, &unknown_facts, "unknown", "these settings, the largest effect first"),
    {0}}};
#undef THIS

#define THIS estimate_stage
static const fact_table stage_facts = {"StageMemory", "memory of a pipeline stage", sizeof(THIS), (const fact[]){
    VALUE("stage", stage, NO_UNIT, "stage", "pipeline stage, from 0"),
    GROUP("memory_bytes", m.memory_bytes, estimate_memory_facts, BYTES, "memory", "memory of the stage by class; adds up to device_bytes"),
    VALUE("allocated_bytes", m.allocated_bytes, BYTES, "allocated", "memory that the framework's allocator holds: device_bytes without the context"),
    VALUE("device_bytes", m.device_bytes, BYTES, "device", "memory that the stage needs on the device"),
    {0}}};
#undef THIS

#define THIS halley_change
static const fact_table change_facts = {"Change", "a change of the plan that would fit", sizeof(THIS), (const fact[]){
    VALUE("change", what, NO_UNIT, "change", "the change in words"),
    DERIVED_TEXT("key", get_changed_key, "key", "key of the plan that changes"),
    VALUE("value", value, NO_UNIT, "value", "its new value"),
    VALUE("step_s", estimate.step_s, SECONDS, "step", "time of a training step"),
    VALUE("device_bytes", estimate.peak_bytes, BYTES, "device", "memory that the fullest stage needs on the device"),
    {0}}};
#undef THIS

#define THIS estimate_result
const fact_table request_estimate_facts = {"Estimate", "one design: time, memory, cost", sizeof(THIS), (const fact[]){
    VALUE("model", model, NO_UNIT, "model", "name of the model"),
    VALUE("cluster", cluster, NO_UNIT, "cluster", "name of the cluster"),
    VALUE("stack", stack, NO_UNIT, "stack", "name of the training software's constants"),
    VALUE("npus", npus, NO_UNIT, "accelerators", "number of NPUs", .word = "npus"),
    GROUP("plan", plan, workload_plan_facts, NO_UNIT, "plan", "the parallelization; a valid \"plan\" of a request", .flat = true),
    OBJECT("import", import, report_import_facts, "import", "what was read, assumed and ignored of a file of another program", .rare = true),
    INLINE(e, estimate_facts),
    VALUE("spilled_bytes", spilled_bytes, BYTES, "spilled", "of device_bytes, what a plan with spread keeps in outer memory", .rare = true),
    VALUE("verdict", verdict, NO_UNIT, "verdict", "whether the design fits, in a sentence"),
    VALUE("loss", loss, NO_UNIT, "loss", "where the step loses time, in a sentence"),
    INLINE(n, estimate_numbers_facts),
    GROUP("error_bar", bar, request_error_bar_facts, NO_UNIT, "error bar", "error to expect of step_s, from leaving out whole sources", .flat = true),
    OBJECT("interval", interval, interval_facts, "interval", "step times between which settings decide that nobody states", .rare = true, .flat = true),
    LIST("stages", stages, &stage_facts, "stages", "memory of every pipeline stage"),
    LIST("changes", changes, &change_facts, "changes", "single changes of the plan that would fit", .rare = true),
    OBJECT("explain", explain, estimate_explanation_facts, "explanation", "how the numbers come about, as a tree", .rare = true),
    {0}}};
#undef THIS
