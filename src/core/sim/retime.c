/* Re-times recorded kernels by their class. Communication is not re-timed here. */
#include "sim/retime.h"

#include "hw/npu.h"
#include "trace/core/slots.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { THIN_SIDE = 16, ALIGNED_TO = 8 };

/* Read the device that the trace was recorded on; "" if the recording does not state it.
 * Returns false if the trace is no recording. */
static bool read_recorded_on(char *to, size_t size, const halley_trace *trace)
{
    halley_attr attr;
    to[0] = '\0';
    if (trace_find_metadata(&attr, trace, "recorded_on"))
        snprintf(to, size, "%.*s", (int)attr.bytes.n, attr.bytes.at);
    return trace_find_metadata(&attr, trace, "recording");
}

sim_retime_state sim_retime_init(cost_retime *out, const halley_trace *trace,
                                 const char *recorded_on, const halley_npu *npu)
{
    char device[256];
    halley_npu source;
    if (!read_recorded_on(device, sizeof device, trace) || npu->name[0] == '\0')
        return SIM_RETIME_NONE;
    if (recorded_on != NULL)
        snprintf(device, sizeof device, "%s", recorded_on);
    if (!hw_npu_find_recorded(&source, device))
        return SIM_RETIME_UNKNOWN;
    if (strcmp(source.name, npu->name) == 0)
        return SIM_RETIME_NONE;
    if (!cost_retime_make(out, &source, npu))
        return SIM_RETIME_UNKNOWN;
    return out->is_measured ? SIM_RETIME_MEASURED : SIM_RETIME_COST;
}

static cost_kernel choose_matmul(const halley_trace *t, uint32_t node)
{
    halley_attr attr;
    halley_attr_item item;
    size_t cursor = 0;
    int64_t shape[4] = {0, 0, 0, 1}; /* m, n, k, how many */
    if (!halley_node_find_attr(&attr, t, node, HALLEY_ATTR_NAME_OPERATOR_GEMM) ||
        !halley_attr_is_list(attr.kind))
        return COST_MATMUL;
    for (int i = 0; i < 4 && halley_attr_list_next(&attr, &cursor, &item); i++)
        shape[i] = (int64_t)item.bits;
    if (shape[3] > 1 &&
        (shape[0] <= THIN_SIDE || shape[1] <= THIN_SIDE || shape[2] <= THIN_SIDE))
        return COST_MATMUL_THIN;
    return shape[1] % ALIGNED_TO != 0 || shape[2] % ALIGNED_TO != 0
               ? COST_MATMUL_UNALIGNED
               : COST_MATMUL;
}

static cost_kernel choose_kernel(const halley_trace *t, uint32_t node, halley_bytes name)
{
    static const struct {
        const char *name;
        cost_kernel kernel;
    } kernels[] = {{"attention", COST_ATTENTION},
                   {"softmax", COST_SOFTMAX},
                   {"elementwise", COST_ELEMENTWISE},
                   {"norm", COST_NORM},
                   {"conv", COST_CONV},
                   {"copy_h2d", COST_COPY_H2D},
                   {"copy_d2h", COST_COPY_D2H}};
    if (name.n == 6 && memcmp(name.at, "matmul", 6) == 0)
        return choose_matmul(t, node);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strlen(kernels[i].name) == name.n &&
            memcmp(kernels[i].name, name.at, name.n) == 0)
            return kernels[i].kernel;
    return COST_MEMORY;
}

double sim_retime_node(const cost_retime *r, const halley_trace *trace, uint32_t node,
                       double seconds)
{
    assert(seconds >= 0);
    halley_attr attr;
    if (!halley_node_find_attr(&attr, trace, node, HALLEY_ATTR_NAME_KERNEL_CLASS) ||
        (attr.bytes.n > 5 && memcmp(attr.bytes.at, "comm.", 5) == 0))
        return seconds;
    return cost_retime_apply(r, choose_kernel(trace, node, attr.bytes), seconds);
}
