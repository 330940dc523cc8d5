/*
 * halley/trace_attr.h - names of the node attributes that halley interprets. They are
 * Chakra's names where Chakra has one. Traces may have other attributes; these are kept
 * and have no effect.
 */
#ifndef HALLEY_TRACE_ATTR_H
#define HALLEY_TRACE_ATTR_H

/* Metadata of a trace */
#define HALLEY_ATTR_NAME_PRICES "halley_prices" /* string: "stack", "plain" */

/* Every node */
#define HALLEY_ATTR_NAME_IS_CPU_OP "is_cpu_op"     /* bool: runs on the host */
#define HALLEY_ATTR_NAME_DURATION_NS "duration_ns" /* uint64: recorded, ns */
#define HALLEY_ATTR_NAME_START_NS "start_ns"       /* uint64: recorded start, ns */
#define HALLEY_ATTR_NAME_TID "tid"                 /* int64: thread that launched it */
#define HALLEY_ATTR_NAME_STREAM "stream"           /* int64: stream of the device */

/* Recordings: host and device nodes as a profiler saw them */
#define HALLEY_ATTR_NAME_INCLUSIVE_NS "inclusive_ns" /* uint64: with all inside it */
#define HALLEY_ATTR_NAME_KERNEL_CLASS "kernel_class" /* string: "matmul", "copy_h2d" */
#define HALLEY_ATTR_NAME_LAUNCH_NS "launch_ns"       /* uint64: its launch began, ns */
#define HALLEY_ATTR_NAME_CALL_NS "call_ns"           /* uint64: its launch lasted, ns */
#define HALLEY_ATTR_NAME_FROM_GRAPH "from_graph"     /* bool: launched by a graph */
#define HALLEY_ATTR_NAME_OPERATOR_GEMM                                                   \
    "operator_gemm"                            /* int64 list: m, n, k, how many          \
                                                */
#define HALLEY_ATTR_NAME_DEVICE "device"       /* int64: device it ran on */
#define HALLEY_ATTR_NAME_STEP "step"           /* int64: training step, by number */
#define HALLEY_ATTR_NAME_PART_OF "part_of"     /* uint64: id of the node's first part */
#define HALLEY_ATTR_NAME_FREE_LANE "free_lane" /* bool: only dependencies order it */

/* Compute and memory nodes */
#define HALLEY_ATTR_NAME_NUM_OPS "num_ops"         /* int64: floating-point operations */
#define HALLEY_ATTR_NAME_TENSOR_SIZE "tensor_size" /* uint64: bytes moved */
#define HALLEY_ATTR_NAME_INPUTS "inputs"           /* tensors read */
#define HALLEY_ATTR_NAME_OUTPUTS "outputs"         /* tensors written */
#define HALLEY_ATTR_NAME_ALLOC_BYTES "alloc_bytes" /* memory allocated when it starts */
#define HALLEY_ATTR_NAME_FREE_BYTES "free_bytes"   /* memory freed when it ends */
#define HALLEY_ATTR_NAME_DTYPE "dtype"             /* string: type of the elements */

/* Communication nodes */
#define HALLEY_ATTR_NAME_COMM_TYPE "comm_type"   /* int64: halley_coll_type */
#define HALLEY_ATTR_NAME_COMM_SIZE "comm_size"   /* int64: bytes */
#define HALLEY_ATTR_NAME_COMM_SIZES "comm_sizes" /* int64 list: bytes to each peer */
#define HALLEY_ATTR_NAME_COMM_SRC "comm_src"     /* int32: sending rank */
#define HALLEY_ATTR_NAME_COMM_DST "comm_dst"     /* int32: receiving rank */
#define HALLEY_ATTR_NAME_COMM_PEER "comm_peer"   /* string: rule of a template set */
#define HALLEY_ATTR_NAME_COMM_TAG "comm_tag"     /* int32: tells messages apart */
#define HALLEY_ATTR_NAME_COMM_PRIORITY "comm_priority" /* int32: scheduling priority */
#define HALLEY_ATTR_NAME_MSG_CHUNK_CNT "msg_chunk_cnt" /* int32: chunks of a message */
#define HALLEY_ATTR_NAME_MSG_CHUNK_IDX "msg_chunk_idx" /* int32: the first of them */
#define HALLEY_ATTR_NAME_TOTAL_CHUNK_CNT "total_chunk_cnt" /* int32: of all the data */
#define HALLEY_ATTR_NAME_PG_NAME "pg_name"           /* string: communication group */
#define HALLEY_ATTR_NAME_INVOLVED_DIM "involved_dim" /* bool list: dimensions used */
#define HALLEY_ATTR_NAME_RATE                                                            \
    "halley_rate" /* double: factor on a collective's bandwidth */
#define HALLEY_ATTR_NAME_FIXED_NS                                                        \
    "halley_fixed_ns" /* double: added to its latency, ns                                \
                       */

#endif
