/* The rows of the result of `halley plan`. */
#include "base/fact_rows.h"
#include "estimate/estimate_facts.h"
#include "request/estimate_facts.h"
#include "request/plan_result.h"
#include "workload/plan_facts.h"

/* clang-format off */
#define THIS plan_row
const fact_table request_plan_row_facts = {"FoundPlan", "a plan, its time, memory and cost", sizeof(THIS), (const fact[]){
    VALUE("rank", rank, NO_UNIT, "rank", "its place, from 1"),
    GROUP("plan", plan, workload_plan_facts, NO_UNIT, "plan", "the parallelization; a valid \"plan\" of a request"),
    INLINE(e, estimate_facts),
    VALUE("tie", tie, NO_UNIT, "tie", "whether the plan is within 5 % of the best"),
    VALUE("sure", sure, SHARE, "sure", "probability that the first plan is faster than this one"),
    VALUE("full", full, SHARE, "of", "memory of the device over its capacity"),
    INLINE(n, estimate_numbers_facts),
    VALUE("reason", reason, NO_UNIT, "loses to the one above by", "why the plan loses to the one above", .rare = true),
    {0}}};
#undef THIS

#define THIS design_own
static const fact_table own_facts = {"OwnPlan", "the plan of the launch file", sizeof(THIS), (const fact[]){
    GROUP("plan", plan, workload_plan_facts, NO_UNIT, "plan", "the parallelization; a valid \"plan\" of a request", .flat = true),
    INLINE(estimate, estimate_facts),
    {0}}};
#undef THIS

#define THIS plan_result
const fact_table request_plan_facts = {"PlanSearch", "the best plans of a model on a cluster", sizeof(THIS), (const fact[]){
    VALUE("model", model, NO_UNIT, "model", "name of the model"),
    VALUE("cluster", cluster, NO_UNIT, "cluster", "name of the cluster"),
    VALUE("stack", stack, NO_UNIT, "stack", "name of the training software's constants"),
    VALUE("npus", npus, NO_UNIT, "accelerators", "number of NPUs", .word = "npus"),
    INLINE(n, estimate_numbers_facts),
    GROUP("error_bar", bar, request_error_bar_facts, NO_UNIT, "error bar", "error to expect of step_s, from leaving out whole sources", .flat = true),
    VALUE("headroom", headroom, SHARE, "headroom", "share of the memory that a plan must leave free"),
    VALUE("designs", designs, NO_UNIT, "designs", "designs tried"),
    VALUE("feasible", feasible, NO_UNIT, "feasible", "designs that fit"),
    LIST("plans", plans, &request_plan_row_facts, "plans", "the best plans, fastest first"),
    OBJECT("own", own, own_facts, "own plan", "the plan of the launch file as it states it", .rare = true),
    {0}}};
#undef THIS
