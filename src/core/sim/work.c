/*
 * sim/work.c - times a compute node with cost/, the same functions that the estimator
 * uses.
 *
 * A node with an attribute `gemm` is a matmul of that shape. The attribute is a list m,
 * n, k and, if one launch does several matmuls, their number. Any other node is timed by
 * a roofline over num_ops and tensor_size plus the launch time. The roofline uses the
 * fractions of peak and bandwidth that kernels were measured to reach on this NPU.
 * `dtype` selects the peak; the default is 16 bits. Known to be wrong: for a single node
 * the roofline ignores tiles; give the shape where that matters.
 */
#include "sim/work.h"

#include "cost/gemm.h"
#include "hw/cluster.h"
#include "hw/extend.h"

#include <stdio.h>
#include <strings.h>

static double read_positive(const halley_trace *t, uint32_t node, const char *name)
{
    halley_attr attr;
    double value = 0;
    if (halley_node_find_attr(&attr, t, node, name) &&
        halley_attr_to_double(&attr, &value) && value > 0)
        return value;
    return 0;
}

/* The type that the node computes in; PyTorch's names are accepted, too. */
static halley_dtype read_dtype(const halley_trace *t, uint32_t node)
{
    static const struct {
        const char *name;
        halley_dtype type;
    } others[] = {{"float", HALLEY_FP32},     {"float32", HALLEY_FP32},
                  {"c10::Half", HALLEY_FP16}, {"float16", HALLEY_FP16},
                  {"half", HALLEY_FP16},      {"c10::BFloat16", HALLEY_BF16},
                  {"bfloat16", HALLEY_BF16}};
    halley_attr attr;
    halley_dtype type = HALLEY_BF16;
    char name[24];
    if (!halley_node_find_attr(&attr, t, node, "dtype") ||
        attr.kind != HALLEY_ATTR_STRING || attr.bytes.n >= sizeof name)
        return type;
    snprintf(name, sizeof name, "%.*s", (int)attr.bytes.n, attr.bytes.at);
    if (halley_dtype_find(&type, name))
        return type;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcasecmp(others[i].name, name) == 0)
            return others[i].type;
    return HALLEY_BF16;
}

/* Read m, n, k and the number of matmuls; false if the node has no shape. */
static bool read_gemm_shape(double shape[4], const halley_trace *t, uint32_t node)
{
    halley_attr attr;
    halley_attr_item item;
    size_t cursor = 0;
    int n = 0;
    shape[3] = 1;
    if (!halley_node_find_attr(&attr, t, node, "gemm") ||
        !halley_attr_is_list(attr.kind) || attr.kind < HALLEY_ATTR_INT32_LIST ||
        attr.kind > HALLEY_ATTR_SFIXED64_LIST)
        return false;
    for (; halley_attr_list_next(&attr, &cursor, &item); n++)
        if (n < 4)
            shape[n] = (double)(int64_t)item.bits;
    return n == 3 || n == 4;
}

/* The cluster's own cost function for compute, if it has one, overrides ours. */
static double extend_time(const halley_cluster *cluster, const halley_trace *trace,
                          uint32_t node, const double shape[4], double standard_s)
{
    char name[64];
    assert(standard_s >= 0);
    const halley_bytes text = halley_node_name(trace, node);
    snprintf(name, sizeof name, "%.*s", (int)(text.n < 63 ? text.n : 63), text.at);
    static const double no_shape[4] = {0};
    const double *size = shape != NULL ? shape : no_shape;
    const halley_compute_call call = {.name = name,
                                      .kind = shape != NULL ? HALLEY_COMPUTE_MATMUL
                                                            : HALLEY_COMPUTE_MEMORY_BOUND,
                                      .m = size[0],
                                      .n = size[1],
                                      .k = size[2],
                                      .groups = size[3] > 1 ? size[3] : 1,
                                      .repeat = 1,
                                      .flops = read_positive(trace, node, "num_ops"),
                                      .bytes = read_positive(trace, node, "tensor_size")};
    return hw_extend_compute(cluster, &call, standard_s);
}

bool sim_work_time(double *seconds, const halley_cluster *cluster, const halley_npu *npu,
                   const halley_trace *trace, uint32_t node)
{
    const halley_dtype type = read_dtype(trace, node);
    const bool eight = type == HALLEY_FP8 || type == HALLEY_FP4 || type == HALLEY_INT8;
    const double known = npu->peak_flops[type];
    const double peak = known > 0 ? known : halley_npu_wide_peak(npu);
    const halley_gemm_rates *rates = eight ? &npu->gemm_fp8 : &npu->gemm;
    double shape[4];
    if (!(peak > 0) || npu->n_tiers == 0)
        return false;
    if (read_gemm_shape(shape, trace, node)) {
        const double in_bytes = eight ? 1 : type == HALLEY_FP32 ? 4 : 2;
        const cost_gemm g = cost_gemm_make(npu, rates, peak, in_bytes);
        const double own_s =
            cost_gemm_time(&g, shape[0], shape[1], shape[2], shape[3], true);
        *seconds = extend_time(cluster, trace, node, shape, own_s);
        return true;
    }
    const double flops = read_positive(trace, node, "num_ops");
    const double bytes = read_positive(trace, node, "tensor_size");
    const double share = rates->sustained > 0 ? rates->sustained : rates->efficiency;
    if (flops == 0 && bytes == 0)
        return false;
    const double own_s =
        rates->launch_s + cost_roofline(flops, bytes, peak * share,
                                        npu->tiers[0].bandwidth_Bps * npu->memory_share);
    *seconds = extend_time(cluster, trace, node, NULL, own_s);
    return true;
}
