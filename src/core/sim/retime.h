/* sim/retime.h - times recorded kernels for a device other than the recorded one. */
#ifndef SIM_RETIME_H
#define SIM_RETIME_H

#include "cost/retime.h"
#include "halley/trace.h"

typedef enum sim_retime_state {
    SIM_RETIME_NONE,     /* the trace is no recording, or of the same device */
    SIM_RETIME_UNKNOWN,  /* a recording of a device that is not known */
    SIM_RETIME_MEASURED, /* by measured ratios of kernel classes */
    SIM_RETIME_COST      /* by the cost model's ratios */
} sim_retime_state;

/* Choose how kernels of the trace are timed on `npu`. `recorded_on` overrides the device
 * stated in the trace; NULL = no override. */
sim_retime_state sim_retime_init(cost_retime *out, const halley_trace *trace,
                                 const char *recorded_on, const halley_npu *npu);
/* The time of a device node that took `seconds`; unchanged when it has no class. */
double sim_retime_node(const cost_retime *r, const halley_trace *trace, uint32_t node,
                       double seconds);

#endif
