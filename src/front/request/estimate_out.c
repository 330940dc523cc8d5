/* Estimates as JSON; the tables of their keys. */
#include "request/estimate_out.h"

#include "base/error.h"
#include "halley/plan_keys.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static double get_matmul(const halley_estimate *e)
{
    return e->class_s[HALLEY_CLASS_MATMUL] + e->class_s[HALLEY_CLASS_EXPERTS] +
           e->class_s[HALLEY_CLASS_LOGITS];
}

#define PART(name, source)                                                               \
    static double get_##name(const halley_estimate *e)                                   \
    {                                                                                    \
        return e->source;                                                                \
    }
PART(attention, class_s[HALLEY_CLASS_ATTENTION])
PART(memory_bound, class_s[HALLEY_CLASS_MEMORY_BOUND])
PART(recompute, part_s[HALLEY_PART_RECOMPUTE])
PART(tensor_parallel, part_s[HALLEY_PART_TP])
PART(context_parallel, part_s[HALLEY_PART_CP])
PART(expert_parallel, part_s[HALLEY_PART_EP])
PART(pipeline_transfers, part_s[HALLEY_PART_PP])
PART(data_parallel, part_s[HALLEY_PART_DP])
PART(bubble, part_s[HALLEY_PART_BUBBLE])
PART(host, part_s[HALLEY_PART_HOST])
PART(accumulate, part_s[HALLEY_PART_ACCUMULATE])
PART(optimizer, part_s[HALLEY_PART_OPTIMIZER])
PART(offload, part_s[HALLEY_PART_OFFLOAD])
PART(meeting, part_s[HALLEY_PART_MEETING])
PART(other, part_s[HALLEY_PART_OTHER])
#undef PART

const request_part request_parts[] = {
    {"matmul", "matmuls", REPORT_LOSS_NONE, "matmuls", get_matmul},
    {"attention", "attention", REPORT_LOSS_NONE, "attention", get_attention},
    {"memory_bound", "memory-bound ops", REPORT_LOSS_NONE, "memory-bound operators",
     get_memory_bound},
    {"recompute", "recomputation", REPORT_LOSS_RECOMPUTE, "recomputation", get_recompute},
    {"tensor_parallel", "tensor parallel", REPORT_LOSS_COMMUNICATION,
     "exposed tensor-parallel communication", get_tensor_parallel},
    {"context_parallel", "context parallel", REPORT_LOSS_COMMUNICATION,
     "exposed context-parallel communication", get_context_parallel},
    {"expert_parallel", "expert parallel", REPORT_LOSS_COMMUNICATION,
     "exposed expert-parallel communication", get_expert_parallel},
    {"pipeline_transfers", "pipeline transfers", REPORT_LOSS_COMMUNICATION,
     "exposed transfers between pipeline stages", get_pipeline_transfers},
    {"data_parallel", "data parallel", REPORT_LOSS_COMMUNICATION,
     "exposed data-parallel communication", get_data_parallel},
    {"bubble", "pipeline bubble", REPORT_LOSS_BUBBLE, "pipeline bubble", get_bubble},
    {"host", "host", REPORT_LOSS_HOST, "waiting for the host", get_host},
    {"accumulate", "gradient accumulation", REPORT_LOSS_NONE, "gradient accumulation",
     get_accumulate},
    {"optimizer", "optimizer", REPORT_LOSS_NONE, "the optimizer", get_optimizer},
    {"offload", "offload", REPORT_LOSS_MEMORY,
     "exposed transfers to and from outer memory", get_offload},
    {"meeting", "waiting for the slowest", REPORT_LOSS_OTHER,
     "waiting for the slowest rank", get_meeting},
    {"other", "other", REPORT_LOSS_OTHER, "fixed costs of the step", get_other},
    {0},
};

void request_estimate_losses(char to[REPORT_LOSSES_TEXT], const halley_estimate *e)
{
    report_loss losses[sizeof request_parts / sizeof *request_parts];
    size_t n = 0;
    for (const request_part *p = request_parts; p->key != NULL; p++)
        losses[n++] = (report_loss){p->loss, p->get(e), p->sentence};
    report_losses_describe(to, losses, n, "the step");
}

const char *request_memory_key(char to[32], halley_memory memory)
{
    snprintf(to, 32, "%s", halley_memory_name(memory));
    for (char *c = to; *c != '\0'; c++)
        *c = *c == ' ' || *c == '-' ? '_' : *c;
    return to;
}

halley_status request_plan_json(report_json *j, const char *key, const halley_plan *plan,
                                halley_error *err)
{
    halley_status status = HALLEY_OK;
    report_json_flat_object(j, key);
    for (int i = 0; i < HALLEY_N_PLAN_KEYS && status == HALLEY_OK; i++) {
        char name[40], *text = NULL;
        status = halley_plan_print(&text, plan, (halley_plan_key)i, err);
        snprintf(name, sizeof name, "%s", halley_plan_key_name((halley_plan_key)i));
        for (char *c = name; *c != '\0'; c++)
            *c = *c == '-' ? '_' : *c;
        if (text != NULL)
            report_json_raw(j, name, str_from(text));
        free(text);
    }
    report_json_end(j);
    return status;
}

static void write_parts_json(report_json *j, const halley_estimate *e)
{
    report_json_object(j, "parts_s");
    for (const request_part *p = request_parts; p->key != NULL; p++)
        report_json_double(j, p->key, p->get(e));
    report_json_end(j);
}

static void write_memory_json(report_json *j, const halley_estimate *e)
{
    char key[32];
    report_json_object(j, "memory_bytes");
    for (int i = 0; i < HALLEY_N_MEMORY; i++)
        report_json_double(j, request_memory_key(key, (halley_memory)i),
                           e->memory_bytes[i]);
    report_json_end(j);
    report_json_double(j, "allocated_bytes", e->allocated_bytes);
    report_json_double(j, "device_bytes", e->peak_bytes);
    report_json_double(j, "offloaded_bytes", e->offloaded_bytes);
    report_json_double(j, "capacity_bytes", e->capacity_bytes);
    report_json_double(j, "headroom", e->headroom);
}

void request_spilled_json(report_json *j, const halley_plan *plan, double device_bytes,
                          double capacity_bytes, double headroom)
{
    const double spilled = device_bytes - (1 - headroom) * capacity_bytes;
    if (plan->spread && spilled > 0)
        report_json_double(j, "spilled_bytes", spilled);
}

void request_estimate_json(report_json *j, const halley_estimate *e)
{
    assert(e->step_s > 0);
    report_json_double(j, "step_s", e->step_s);
    report_json_double(j, "tokens_per_s", e->tokens_per_s);
    report_json_double(j, "model_flops", e->model_flops);
    report_json_double(j, "mfu", e->mfu);
    report_json_double(j, "hfu", e->hfu);
    report_json_double(j, "forward_s", e->part_s[HALLEY_PART_FORWARD]);
    report_json_double(j, "backward_s", e->part_s[HALLEY_PART_BACKWARD]);
    write_parts_json(j, e);
    write_memory_json(j, e);
    report_json_text(j, "schedule_time", str_from(e->schedule_walked ? "walk" : "form"));
    report_json_u64(j, "slowest_stage", e->slow_stage);
    report_json_u64(j, "fullest_stage", e->full_stage);
    report_json_bool(j, "fits", e->fits);
    report_json_text(j, "fit", str_from(halley_fit_name(e->fit)));
    report_json_double(j, "energy_J", e->energy_J);
    report_json_double(j, "cost_usd", e->cost_usd);
}
