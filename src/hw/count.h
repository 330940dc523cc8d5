/* hw/count.h - a number of NPUs of a cluster: whole nodes, and the simulator's network.
 */
#ifndef HW_COUNT_H
#define HW_COUNT_H

#include "hw/cluster.h"

typedef enum hw_count_how {
    HW_COUNT_AS_NODES, /* nodes of the stated size; the last one may be partly idle */
    HW_COUNT_EVENLY, /* nodes of the largest equal size: for references, not for users */
} hw_count_how;

/*
 * Cut or fill the cluster to n NPUs. They fill nodes from the first on; a note says when
 * the last one stays partly idle. A network that fixes its size refuses another n. Groups
 * and stragglers of ranks that are gone are an error.
 */
halley_status hw_count_set(halley_cluster *c, uint32_t n, hw_count_how how,
                           halley_error *err);
/* Lists of algorithms end with the dimensions that the network has. */
void hw_lists_cut(halley_cluster *c);

/* Can NPUs of a node stay idle without another network? Inside a node there must be a
 * switch, and between nodes no graph that names NPUs. */
bool hw_nodes_may_idle(const halley_cluster *c);
/* Fill only `npus` NPUs of every node: the network has no others, and no further node is
 * needed. What is paid for stays as it was. */
halley_status hw_count_fill(halley_cluster *c, uint32_t npus, halley_error *err);

/* NPUs that are bought together: those of a host, or of a node. */
uint32_t hw_count_together(const halley_cluster *c);
/* NPUs that are paid for when `n` are used: whole hosts or nodes. */
double hw_count_paid(const halley_cluster *c, double n);

/* HALLEY_OK if dims[] can be simulated; else the sentence that says why not. */
halley_status hw_structure_check(const halley_cluster *c, halley_error *err);

/* "GPU" for GPUs, "chip" for TPUs, "accelerator" where it is not known or kinds are
 * mixed; lent. */
const char *hw_npu_word(const halley_cluster *c);

#endif
