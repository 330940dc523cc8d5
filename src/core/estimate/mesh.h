/* estimate/mesh.h - where the ranks of a plan are on a torus or mesh. */
#ifndef ESTIMATE_MESH_H
#define ESTIMATE_MESH_H

#include "hw/direct.h"

enum { PLAN_MESH_DIMS = 10 };

/* The parallel dimensions of a plan inside one grid, or parts of them that have groups of
 * their own, in rank order, the innermost first. */
typedef struct plan_mesh_dims {
    uint32_t count;
    uint32_t n[PLAN_MESH_DIMS];
    uint32_t hunger[PLAN_MESH_DIMS]; /* 0 = moves the most data */
} plan_mesh_dims;

/* Number the NPUs of the grid so that the ranks of a plan fill it. False: the plan does
 * not fill it exactly; then `out` is empty. */
bool plan_mesh_choose(hw_direct_numbering *out, const hw_direct *grid,
                      const plan_mesh_dims *dims);

#endif
