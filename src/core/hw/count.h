/* hw/count.h - sets the number of NPUs: whole nodes, and the simulator's network. */
#ifndef HW_COUNT_H
#define HW_COUNT_H

#include "hw/cluster.h"

typedef enum hw_count_how {
    HW_COUNT_AS_NODES, /* nodes of the stated size; the last one may be partly idle */
    HW_COUNT_EVENLY, /* nodes of the largest equal size: for references, not for users */
} hw_count_how;

/*
 * Shrink or grow the cluster to n NPUs. They fill nodes from the first on. A note reports
 * if the last node is partly idle. It is an error to change the size of a network that
 * fixes it, or of a cluster with groups or stragglers.
 */
halley_status hw_count_set(halley_cluster *c, uint32_t n, hw_count_how how,
                           halley_error *err);
/* Cut lists of algorithms to the number of dimensions of the network. */
void hw_lists_cut(halley_cluster *c);

/* Can NPUs of a node stay idle without another network? Inside a node there must be a
 * switch, and between nodes no graph that names NPUs. */
bool hw_nodes_may_idle(const halley_cluster *c);
/* Fill only `npus` NPUs of every node: the network has no others, and no further node is
 * needed. What is paid for stays as it was. */
halley_status hw_count_fill(halley_cluster *c, uint32_t npus, halley_error *err);

/* The number of NPUs of one host, whatever a scale-up domain holds. */
uint32_t hw_count_host(const halley_cluster *c);
/* Network cards per NPU. */
double hw_count_nics(const halley_cluster *c);
/* "host", "node" or "rack": what is bought as a whole; static. */
const char *hw_count_unit(const halley_cluster *c);
/* The number of NPUs bought together: those of a host, or of a domain. */
uint32_t hw_count_together(const halley_cluster *c);
/* The number of NPUs paid for when `n` are used: whole hosts or nodes. */
double hw_count_paid(const halley_cluster *c, double n);

/* HALLEY_OK if dims[] can be simulated, else an error that says why not. */
halley_status hw_structure_check(const halley_cluster *c, halley_error *err);

/* "GPU" for GPUs, "chip" for TPUs, "accelerator" if the kind is unknown or kinds are
 * mixed; not owned. */
const char *hw_npu_word(const halley_cluster *c);

#endif
