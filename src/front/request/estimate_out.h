/*
 * request/estimate_out.h - the numbers of an estimate by their keys. Every verb that
 * writes estimates uses this one table for text, JSON and CSV.
 */
#ifndef REQUEST_ESTIMATE_OUT_H
#define REQUEST_ESTIMATE_OUT_H

#include "halley/estimate.h"
#include "report/json.h"
#include "report/losses.h"

/* A part of the step; parts add up to step_s. */
typedef struct request_part {
    const char *key;   /* "tensor_parallel", in parts_s */
    const char *title; /* "tensor parallel", for people */
    report_loss_kind loss;
    const char *sentence; /* in the verdict: "exposed tensor-parallel communication" */
    double (*get)(const halley_estimate *e);
} request_part;
extern const request_part request_parts[]; /* ends with {0} */

/* Where the step loses time, in a sentence. */
void request_estimate_losses(char to[REPORT_LOSSES_TEXT], const halley_estimate *e);

/* A class of memory as a key: "weights"; `to` holds 32 bytes. */
const char *request_memory_key(char to[32], halley_memory memory);

/* Write {"tp": 8, ...} with every key that has a value. It reads back as the same plan.
 */
halley_status request_plan_json(report_json *j, const char *key, const halley_plan *plan,
                                halley_error *err);
/* Write "spilled_bytes" if the plan spreads classes over two memories: the part of
 * device_bytes that is in the outer one. */
void request_spilled_json(report_json *j, const halley_plan *plan, double device_bytes,
                          double capacity_bytes, double headroom);
/* Write the members of an estimate that every verb has, from step_s to cost_usd. */
void request_estimate_json(report_json *j, const halley_estimate *e);

#endif
