/*
 * The time of a recorded step by the estimator's classes. `trace fit` compares it with
 * the step that `trace gen` makes from the fitted model and plan.
 *
 * Without a fused kernel, attention consists of batched matmuls and softmax; both then
 * count as attention. Classes that the estimator does not time (copies to and from the
 * host, convolutions, sorting) count as other work.
 */
#include "halley/trace_attr.h"
#include "recording/fit/fit.h"
#include "trace/core/slots.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *kernel_class;
    uint32_t op_class;
} op_classes[] = {
    {"norm", HALLEY_CLASS_MEMORY_BOUND},      {"elementwise", HALLEY_CLASS_MEMORY_BOUND},
    {"embedding", HALLEY_CLASS_MEMORY_BOUND}, {"reduction", HALLEY_CLASS_MEMORY_BOUND},
    {"copy_d2d", HALLEY_CLASS_MEMORY_BOUND},  {"memset", HALLEY_CLASS_MEMORY_BOUND},
    {"rng", HALLEY_CLASS_MEMORY_BOUND},       {"attention", HALLEY_CLASS_ATTENTION},
    {"matmul", HALLEY_CLASS_MATMUL},          {"moe", HALLEY_CLASS_EXPERTS},
};

/* HALLEY_N_CLASSES = not a class of the estimator. */
static uint32_t find_op_class(str kernel_class, const fit_kernel *k, bool is_fused)
{
    if (!is_fused && k->gemm[3] > 1)
        return HALLEY_CLASS_ATTENTION;
    if (str_eq(kernel_class, STR("softmax")))
        return is_fused ? HALLEY_CLASS_MEMORY_BOUND : HALLEY_CLASS_ATTENTION;
    for (size_t i = 0; i < sizeof op_classes / sizeof *op_classes; i++)
        if (str_eq(kernel_class, str_from(op_classes[i].kernel_class)))
            return op_classes[i].op_class;
    return HALLEY_N_CLASSES;
}

void fit_sum_times(halley_recorded_times *out, const halley_trace *trace,
                   const fit_kernel *kernels, size_t n)
{
    int64_t end_ns = INT64_MIN, busy_ns = 0;
    bool is_fused = false;
    halley_attr device;
    assert(n > 0);
    for (size_t i = 0; i < n; i++)
        is_fused |= kernels[i].is_attention;
    for (size_t i = 0; i < n; i++) {
        const fit_kernel *const k = &kernels[i];
        const str name = trace_find_text(trace, k->node, HALLEY_ATTR_NAME_KERNEL_CLASS);
        const uint32_t op_class = find_op_class(name, k, is_fused);
        /* Kernels of one stream may overlap (programmatic launch). No time is counted
         * twice. */
        const int64_t begin = k->begin_ns > end_ns ? k->begin_ns : end_ns;
        const int64_t last = k->begin_ns + k->duration_ns;
        const double s = last > begin ? (double)(last - begin) / 1e9 : 0;
        busy_ns += last > begin ? last - begin : 0;
        end_ns = last > end_ns ? last : end_ns;
        if (k->is_comm)
            out->comm_s += s;
        else if (str_eq(name, STR("optimizer")))
            out->optimizer_s += s;
        else if (op_class < HALLEY_N_CLASSES)
            out->class_s[op_class] += s;
        else
            out->other_s += s;
    }
    assert(end_ns - kernels[0].begin_ns >= busy_ns);
    out->step_s = (double)(end_ns - kernels[0].begin_ns) / 1e9;
    out->idle_s = (double)(end_ns - kernels[0].begin_ns - busy_ns) / 1e9;
    if (trace_find_metadata(&device, trace, "recorded_on"))
        snprintf(out->device, sizeof out->device, "%.*s", (int)device.bytes.n,
                 device.bytes.at);
}

halley_dtype fit_read_dtype(str types)
{
    return str_contains(types, STR("BFloat16")) ? HALLEY_BF16
           : str_contains(types, STR("Half"))   ? HALLEY_FP16
           : str_contains(types, STR("Float8")) ? HALLEY_FP8
           : str_contains(types, STR("float"))  ? HALLEY_FP32
                                                : HALLEY_N_DTYPES;
}
