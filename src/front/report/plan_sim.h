/* report/plan_sim.h - where the time of a simulated plan goes. */
#ifndef REPORT_PLAN_SIM_H
#define REPORT_PLAN_SIM_H

#include "halley/sim.h"
#include "halley/trace_template.h"

typedef enum report_plan_part {
    REPORT_PLAN_COMPUTE,
    REPORT_PLAN_TP,
    REPORT_PLAN_CP,
    REPORT_PLAN_EP,
    REPORT_PLAN_DP,
    REPORT_PLAN_OFFLOAD,
    REPORT_PLAN_PP,     /* only the rank's own sends are in progress */
    REPORT_PLAN_BUBBLE, /* it waits for other stages */
    REPORT_PLAN_N_PARTS
} report_plan_part;

/* Names of a part: "tensor_parallel", as in parts_s; "tensor parallel", for people.
 * Static. */
const char *report_plan_part_key(report_plan_part part);
const char *report_plan_part_title(report_plan_part part);

/*
 * The time of one rank, from the start to the end of the run, in seconds: compute, else
 * what runs and is not hidden by compute, else idle. The parts add up to the run. The
 * result must have recorded its nodes.
 */
halley_status report_plan_parts(double parts[REPORT_PLAN_N_PARTS],
                                const halley_result *result, const halley_template *roles,
                                uint32_t rank, halley_error *err);

/* The end of the last rank, in seconds. */
double report_plan_finish(const halley_result *result);

#endif
