/* sim/attrs.h - the attributes that a run looks at, by number. */
#ifndef SIM_ATTRS_H
#define SIM_ATTRS_H

typedef enum sim_attr {
    SIM_ATTR_IS_CPU_OP,
    SIM_ATTR_NUM_OPS,
    SIM_ATTR_TENSOR_SIZE,
    SIM_ATTR_DURATION_NS,
    SIM_ATTR_TID,
    SIM_ATTR_STREAM,
    SIM_ATTR_COMM_TYPE,
    SIM_ATTR_COMM_SIZE,
    SIM_ATTR_COMM_SIZES,
    SIM_ATTR_COMM_SRC,
    SIM_ATTR_COMM_DST,
    SIM_ATTR_COMM_TAG,
    SIM_ATTR_PG_NAME,
    SIM_ATTR_INVOLVED_DIM,
    SIM_ATTR_INPUTS,
    SIM_ATTR_OUTPUTS,
    SIM_ATTR_ALLOC_BYTES,
    SIM_ATTR_FREE_BYTES,
    SIM_ATTR_FREE_LANE,
    SIM_N_ATTRS
} sim_attr;

#endif
