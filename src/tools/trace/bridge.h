/* trace/bridge.h - reconnect the dependencies of kept nodes across removed ones. */
#ifndef TRACE_BRIDGE_H
#define TRACE_BRIDGE_H

#include "base/array.h"
#include "halley/trace.h"

enum { BRIDGE_MAX = 16 }; /* longest list of nearest kept nodes; beyond, a joint */

typedef enum bridge_fate {
    BRIDGE_REMOVED,
    BRIDGE_KEPT,
    BRIDGE_JOINT /* removed, but kept as a node that joins dependencies */
} bridge_fate;

/* The nearest kept nodes and joints of a removed node: a range of `lists`. */
typedef struct bridge_list {
    uint32_t first, n;
} bridge_list;

typedef struct bridge {
    const halley_trace *trace;
    uint8_t *fate; /* by node; bridge_fate */
    bridge_list *nearest;
    ARRAY(uint32_t) lists;
    uint32_t *seen; /* by node: the last node that took it, + 1 */
    uint64_t
        n_lost; /* dependencies on removed nodes in cycles, which cannot be bridged */
} bridge;

/* keep: by node, 1 = kept. On success free with bridge_fini. */
halley_status bridge_init(bridge *out, const halley_trace *trace, const uint8_t *keep,
                          halley_error *err);
void bridge_fini(bridge *b);

/*
 * The new dependencies of a kept node or joint, by node index. `direct` ones are
 * unchanged. A removed one is replaced by its nearest nodes that were not yet named for
 * this node. `yield` is called for each in order.
 */
typedef halley_status bridge_yield(void *context, uint32_t dep, bool is_data);
halley_status bridge_deps(bridge *b, uint32_t node, bridge_yield *yield, void *context,
                          uint64_t *n_bridged);

#endif
