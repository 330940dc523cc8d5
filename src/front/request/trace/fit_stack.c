/*
 * Fits a stack to one recorded step.
 *
 * `trace gen` makes a step from the fitted model and plan. Each part of this step is a
 * sum of times that are proportional to constants of the stack:
 *
 *   - matmuls to `gemm`;
 *   - attention to `attention`; without a fused kernel, to `batched` and the softmax
 *     bytes;
 *   - memory-bound operators to the bytes and passes they count;
 *   - the update to its bytes.
 *
 * Kernels also have times that no constant scales. So the part that a set of constants c
 * scales is found as the difference of two generated steps:
 *
 *     factor = 1 + (recorded - T(c)) / ((T(1.1 c) - T(c)) / 0.1).
 *
 * Host times follow from the recorded idle time, by bisection. Constants stay within
 * their bounds; the remaining error is the difference that is printed. Communication
 * keeps its defaults, because one rank's kernels include the wait for others.
 */
#include "request/trace/fit_stack.h"

#include "base/error.h"
#include "halley/plan_keys.h"
#include "halley/plan_trace.h"
#include "halley/sim.h"
#include "halley/trace_attr.h"
#include "report/plan_sim.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const fit_part_names[FIT_N_PARTS] = {"matmuls", "attention",
                                                 "memory-bound ops", "optimizer"};
const char *const fit_part_keys[FIT_N_PARTS] = {"matmuls", "attention", "memory_bound",
                                                "optimizer"};

enum { MOST_SCALED = 6, MOST_PASSES = 40 };
static const double eager_factor = 1.5; /* over fused kernels; default 1.95 */
static const double nudge = 0.1; /* change of constants that shows what they scale */

typedef struct scaled_set {
    uint32_t n;
    halley_constant at[MOST_SCALED];
} scaled_set;

static const scaled_set fused_attention = {1, {HALLEY_K_ATTENTION}};
static const scaled_set plain_attention = {
    3, {HALLEY_K_BATCHED, HALLEY_K_SOFTMAX_F, HALLEY_K_SOFTMAX_B}};
static const scaled_set scaled_sets[FIT_N_PARTS] = {
    [FIT_MATMULS] = {1, {HALLEY_K_GEMM}},
    [FIT_MEMORY_BOUND] = {4,
                          {HALLEY_K_HIDDEN, HALLEY_K_ACT, HALLEY_K_ROPE, HALLEY_K_LOSS}},
    [FIT_OPTIMIZER] = {3, {HALLEY_K_OPTIMIZER, HALLEY_K_GRADIENTS, HALLEY_K_ACCUMULATE}},
};

/* The inputs for all generated steps. */
typedef struct fit_design {
    halley_model model;
    halley_plan plan;
    halley_cluster *cluster;
    bool is_forward, has_head;
} fit_design;

halley_plan fit_plan(const halley_recorded_model *m)
{
    const uint64_t batch = m->batch > 0 ? m->batch : 1;
    const uint32_t n_micro = m->micro_batches > 0 ? m->micro_batches : 1;
    halley_plan plan = {.tp = m->tp,
                        .pp = m->pp,
                        .dp = m->dp,
                        .micro_batch = (uint32_t)batch,
                        .global_batch = (uint32_t)batch * m->dp * n_micro,
                        .dtype = m->dtype == HALLEY_N_DTYPES ? HALLEY_BF16 : m->dtype,
                        .attention = m->has_fused_attention ? HALLEY_ATTENTION_FLASH
                                                            : HALLEY_ATTENTION_UNFUSED};
    plan.sequence_parallel = m->tp > 1 && m->has_sequence_parallel;
    plan.given |= UINT64_C(1) << HALLEY_KEY_SEQUENCE_PARALLEL;
    if (!m->has_sharded_optimizer)
        plan.given |= UINT64_C(1) << HALLEY_KEY_ZERO;
    return plan;
}

/* Times of the generated nodes by part; the last is the wait for the host. */
typedef struct part_times {
    double s[FIT_N_PARTS + 1];
} part_times;
enum { FIT_HOST = FIT_N_PARTS, FIT_NOTHING };

/* "L12.attention.FP" is "attention" (halley_plan_template_labelled). */
static str strip_label(str name)
{
    size_t from = 0, to = name.n;
    if (name.n > 2 && name.at[0] == 'L' && name.at[1] >= '0' && name.at[1] <= '9')
        while (from < name.n && name.at[from++] != '.')
            ;
    for (size_t i = from; i < name.n; i++)
        to = name.at[i] == '.' ? i : to;
    return (str){name.at + from, to - from};
}

static uint32_t classify_node(const halley_trace *t, uint32_t node, str name)
{
    static const struct {
        const char *name;
        uint32_t part;
    } known[] = {{"host", FIT_HOST},
                 {"slowed by gradients and weights", FIT_HOST},
                 {"wait for the slowest", FIT_HOST},
                 {"update", FIT_OPTIMIZER},
                 {"gradient accumulation", FIT_OPTIMIZER},
                 {"attention", FIT_ATTENTION},
                 {"query x key", FIT_ATTENTION},
                 {"scores x value", FIT_ATTENTION},
                 {"softmax", FIT_ATTENTION}};
    halley_attr a;
    uint64_t n_ops = 0;
    if (halley_node_type_of(t, node) != HALLEY_NODE_COMP)
        return FIT_NOTHING;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_eq(name, str_from(known[i].name)))
            return known[i].part;
    if (halley_node_find_attr(&a, t, node, HALLEY_ATTR_NAME_NUM_OPS))
        (void)halley_attr_to_u64(&a, &n_ops);
    return n_ops > 0 ? FIT_MATMULS : FIT_MEMORY_BOUND;
}

/* True for parts of the generated step that are not in the recording: a forward pass
 * alone computes no loss, and a model may be recorded without its head. */
static bool is_left_out(const fit_design *d, str name)
{
    return d->is_forward &&
           (str_eq(name, STR("loss")) || (str_eq(name, STR("logits")) && !d->has_head));
}

static void sum_nodes(part_times *to, const fit_design *d, const halley_trace *t,
                      uint32_t first, uint32_t n)
{
    assert(first + n <= halley_trace_count(t));
    for (uint32_t i = first; i < first + n; i++) {
        const halley_bytes name = halley_node_name(t, i);
        const str op = strip_label((str){name.at, name.n});
        const uint32_t part = classify_node(t, i, op);
        halley_attr a;
        uint64_t ns;
        if (part != FIT_NOTHING && !is_left_out(d, op) &&
            halley_node_find_attr(&a, t, i, HALLEY_ATTR_NAME_DURATION_NS) &&
            halley_attr_to_u64(&a, &ns))
            to->s[part] += (double)ns / 1e9;
    }
}

static halley_status sum_forward(part_times *to, const fit_design *d,
                                 const halley_trace *t, const halley_stack *stack,
                                 halley_error *err)
{
    halley_plan_pass *passes;
    size_t n;
    TRY(halley_plan_passes(&passes, &n, &d->model, &d->plan, d->cluster, stack, 0, err));
    for (size_t i = 0; i < n; i++)
        if (passes[i].kind == HALLEY_PASS_FORWARD)
            sum_nodes(to, d, t, passes[i].first_node, passes[i].n_nodes);
    free(passes);
    return HALLEY_OK;
}

/* Sum up the compute of the generated step on the first rank. For a recording without a
 * backward pass, only the forward passes count. */
static halley_status generate_parts(part_times *out, const fit_design *d,
                                    const halley_stack *stack, halley_error *err)
{
    halley_trace *t = NULL;
    halley_status status = HALLEY_OK;
    *out = (part_times){0};
    TRY(halley_plan_trace(&t, &d->model, &d->plan, d->cluster, stack, 0, err));
    if (d->is_forward)
        status = sum_forward(out, d, t, stack, err);
    else
        sum_nodes(out, d, t, 0, halley_trace_count(t));
    halley_trace_free(t);
    return status;
}

/* Simulate the whole step with its messages; for forward passes, sum up the compute
 * alone. */
static halley_status generate_step(double *out, const fit_design *d,
                                   const halley_stack *stack, halley_error *err)
{
    halley_template *roles = NULL;
    halley_result *result = NULL;
    const halley_sim_opts opts = {0};
    if (d->is_forward) {
        part_times parts;
        TRY(generate_parts(&parts, d, stack, err));
        *out = 0;
        for (int i = 0; i <= FIT_HOST; i++)
            *out += parts.s[i];
        return HALLEY_OK;
    }
    TRY(halley_plan_template(&roles, &d->model, &d->plan, d->cluster, stack,
                             HALLEY_PRICES_STACK, err));
    const halley_status status =
        halley_sim_run_template(&result, roles, d->cluster, &opts, err);
    if (status == HALLEY_OK)
        *out = report_plan_finish(result);
    halley_result_free(result);
    halley_template_free(roles);
    return status;
}

static const scaled_set *get_scaled_set(const fit_design *d, fit_part part)
{
    if (part != FIT_ATTENTION)
        return &scaled_sets[part];
    return d->plan.attention == HALLEY_ATTENTION_UNFUSED ? &plain_attention
                                                         : &fused_attention;
}

static void set_constant(fit_stack *out, halley_constant id, double value)
{
    const halley_constant_info *const info = halley_constant_get(id);
    const double kept = fmin(fmax(value, info->min), info->max);
    const size_t n = strlen(out->at_limit);
    if (fabs(kept - value) > 1e-9 * fabs(value))
        snprintf(out->at_limit + n, sizeof out->at_limit - n, "%s%s", n > 0 ? ", " : "",
                 info->key);
    out->stack.k[id] = kept;
    out->stack.origin[id] = 2;
}

/* Measure how much of a part its constants scale. */
static halley_status measure_slope(double *out, const fit_design *d,
                                   const halley_stack *stack, fit_part part, double now_s,
                                   halley_error *err)
{
    const scaled_set *const set = get_scaled_set(d, part);
    halley_stack more = *stack;
    part_times parts;
    for (uint32_t i = 0; i < set->n; i++)
        more.k[set->at[i]] *= 1 + nudge;
    TRY(generate_parts(&parts, d, &more, err));
    *out = (parts.s[part] - now_s) / nudge;
    return HALLEY_OK;
}

/* Scale the constants of a part. A part that is not recorded or not generated keeps them.
 */
static halley_status scale_part(fit_stack *out, const fit_design *d, fit_part part,
                                halley_error *err)
{
    const scaled_set *const set = get_scaled_set(d, part);
    const double recorded = out->part_recorded_s[part], now = out->part_default_s[part];
    double slope;
    TRY(measure_slope(&slope, d, &out->stack, part, now, err));
    if (recorded <= 0 || slope <= 0)
        return HALLEY_OK;
    const double factor = fmax(0, 1 + (recorded - now) / slope);
    for (uint32_t i = 0; i < set->n; i++)
        if (!d->is_forward || set->at[i] != HALLEY_K_LOSS)
            set_constant(out, set->at[i], out->stack.k[set->at[i]] * factor);
    return HALLEY_OK;
}

static void set_host(halley_stack *stack, double share)
{
    static const halley_constant ids[] = {HALLEY_K_HOST_F, HALLEY_K_HOST_B};
    for (size_t i = 0; i < 2; i++) {
        const halley_constant_info *const info = halley_constant_get(ids[i]);
        stack->k[ids[i]] = info->min * pow(info->max / info->min, share);
        stack->origin[ids[i]] = 2;
    }
}

/* Find the host times whose wait equals the recorded idle time. */
static halley_status fit_host(fit_stack *out, const fit_design *d, halley_error *err)
{
    double low = 0, high = 1;
    for (int i = 0; i < MOST_PASSES; i++) {
        const double middle = (low + high) / 2;
        part_times parts;
        set_host(&out->stack, middle);
        TRY(generate_parts(&parts, d, &out->stack, err));
        if (parts.s[FIT_HOST] < out->idle_s)
            low = middle;
        else
            high = middle;
    }
    set_host(&out->stack, low);
    return HALLEY_OK;
}

static void start_stack(fit_stack *out)
{
    static const halley_constant rests[] = {HALLEY_K_STEP, HALLEY_K_MICRO};
    halley_stack *const s = &out->stack;
    halley_stack_default(s);
    snprintf(s->name, sizeof s->name, "recorded");
    snprintf(s->framework, sizeof s->framework, "recorded");
    s->pads_vocab = false; /* the vocabulary is the recorded one */
    set_host(s, 0);
    for (size_t i = 0; i < 2; i++) { /* idle time is recorded, not assumed */
        s->k[rests[i]] = halley_constant_get(rests[i])->min;
        s->origin[rests[i]] = 2;
    }
}

/* If memory-bound operators take far longer than fused kernels would, they ran one by
 * one. */
static halley_status choose_kernels(fit_stack *out, fit_design *d, halley_error *err)
{
    part_times parts;
    TRY(generate_parts(&parts, d, &out->stack, err));
    out->is_eager =
        out->part_recorded_s[FIT_MEMORY_BOUND] > eager_factor * parts.s[FIT_MEMORY_BOUND];
    d->plan.eager_kernels = out->is_eager;
    return HALLEY_OK;
}

static halley_status fit_constants(fit_stack *out, fit_design *d, halley_error *err)
{
    part_times parts;
    halley_stack plain;
    start_stack(out);
    TRY(choose_kernels(out, d, err));
    halley_stack_default(&plain);
    TRY(generate_step(&out->default_s, d, &plain, err));
    TRY(generate_parts(&parts, d, &out->stack, err));
    memcpy(out->part_default_s, parts.s, sizeof out->part_default_s);
    for (int i = 0; i < FIT_N_PARTS; i++)
        if (i != FIT_OPTIMIZER || !d->is_forward)
            TRY(scale_part(out, d, (fit_part)i, err));
    TRY(fit_host(out, d, err));
    TRY(generate_step(&out->generated_s, d, &out->stack, err));
    out->is_fitted = true;
    return HALLEY_OK;
}

/* Assign the recording's times to the parts. */
static void take_recorded(fit_stack *out, const halley_recorded_times *t)
{
    out->part_recorded_s[FIT_MATMULS] = t->class_s[HALLEY_CLASS_MATMUL];
    out->part_recorded_s[FIT_ATTENTION] = t->class_s[HALLEY_CLASS_ATTENTION];
    out->part_recorded_s[FIT_MEMORY_BOUND] = t->class_s[HALLEY_CLASS_MEMORY_BOUND];
    out->part_recorded_s[FIT_OPTIMIZER] = t->optimizer_s;
    out->idle_s = t->idle_s;
    out->recorded_s = out->is_forward ? t->step_s - t->comm_s : t->step_s;
}

static bool refuse_stack(fit_stack *out, const halley_recorded_model *m,
                         const halley_recorded_times *t)
{
    const char *why = NULL;
    if (t->n_passes > 1 && (!m->has_backward || m->micro_batches != t->n_passes))
        why = "a step of the recording passes through the layers several times (decoding "
              "or diffusion), which is no step of training";
    else if (m->experts > 0)
        why = "the recording does not show the sizes of its experts";
    else if (t->class_s[HALLEY_CLASS_MATMUL] <= 0)
        why = "no matmul was recorded";
    if (why != NULL)
        snprintf(out->why_not, sizeof out->why_not, "%s", why);
    return why != NULL;
}

/* Open the named cluster, or the preset with the recorded device. */
static bool open_cluster(fit_stack *out, fit_design *d, const char *named,
                         const char *device)
{
    char preset[64];
    halley_error err = {0};
    const uint32_t n = d->plan.tp * d->plan.pp * d->plan.dp;
    if (named == NULL && device[0] == '\0')
        snprintf(out->why_not, sizeof out->why_not,
                 "the recording does not name its device; give the cluster with -c");
    else if (named == NULL &&
             !halley_cluster_find_recorded(preset, sizeof preset, device))
        snprintf(out->why_not, sizeof out->why_not,
                 "no cluster preset has a device like \"%.100s\"; give the cluster with "
                 "-c",
                 device);
    else {
        snprintf(out->cluster, sizeof out->cluster, "%.80s:%u",
                 named != NULL ? named : preset, n);
        if (halley_cluster_load(&d->cluster, out->cluster, &err) == HALLEY_OK &&
            halley_cluster_check_estimate(d->cluster, &err) == HALLEY_OK)
            return true;
        snprintf(out->why_not, sizeof out->why_not, "%.300s", err.text);
    }
    return false;
}

halley_status fit_stack_make(fit_stack *out, const halley_recorded_model *model,
                             const halley_recorded_times *times, const strbuf *model_text,
                             const char *cluster, halley_error *err)
{
    fit_design d = {.plan = fit_plan(model),
                    .is_forward = !model->has_backward,
                    .has_head = model->has_head};
    halley_error why = {0};
    *out = (fit_stack){.is_forward = d.is_forward};
    take_recorded(out, times);
    if (refuse_stack(out, model, times) ||
        !open_cluster(out, &d, cluster, times->device)) {
        halley_cluster_free(d.cluster);
        return HALLEY_OK;
    }
    halley_status status = halley_model_parse(&d.model, NULL, model_text->at,
                                              model_text->n, "the fitted model", err);
    if (status == HALLEY_OK && halley_plan_check(&d.plan, &d.model, 0, &why) != HALLEY_OK)
        snprintf(out->why_not, sizeof out->why_not, "%.300s", why.text);
    else if (status == HALLEY_OK)
        status = fit_constants(out, &d, err);
    if (status == HALLEY_OK)
        halley_model_fini(&d.model);
    halley_cluster_free(d.cluster);
    return status;
}
