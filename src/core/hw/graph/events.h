/*
 * hw/graph/events.h - links that change during a simulation.
 *
 *     events:
 *       - {at: 2 s, link: leaf0 - spine1, bandwidth: x0.5, for: 10 s}
 *       - {at: 1 ms, device: spine2, bandwidth: 0}         # fails permanently
 *     reroute: 200 ms       # delay until routes avoid failed links; default 0: at once
 *
 * An event lasts for the time `for`, or to the end of the run. Then its links are
 * restored. At most one event is active per link at a time.
 */
#ifndef HW_GRAPH_EVENTS_H
#define HW_GRAPH_EVENTS_H

#include "hw/graph/faults.h"

typedef struct hw_event {
    hw_fault fault;
    double at_s, for_s; /* for_s 0: to the end */
} hw_event;

/* The state of a link from a time on. */
typedef struct hw_change {
    double at_s;
    uint32_t link;
    double bw_Bps; /* 0 = failed */
    bool ends;     /* the event ends: the link is restored */
} hw_change;
typedef ARRAY(hw_change) hw_change_array;

/* Read the list `events` (NULL: none). The result refers to the file and `memory`. */
halley_status hw_events_read(const hw_event **out, uint32_t *n, arena *memory,
                             const conf_file *file, const conf_node *events,
                             halley_error *err);
/* List the changes of a graph's links, ordered by time, then link. */
halley_status hw_events_list(hw_change_array *out, const hw_graph *g,
                             const hw_event *events, uint32_t n, halley_error *err);

#endif
