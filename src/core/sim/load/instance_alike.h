/*
 * sim/load/instance_alike.h - ranks of which only the differences from another rank's
 * trace are kept. They share its program with other names.
 */
#ifndef SIM_INSTANCE_ALIKE_H
#define SIM_INSTANCE_ALIKE_H

#include "sim/load/instance.h"
#include "trace/core/set_alike.h"

/* What the names of a trace's program refer to, and which holes of its file contain them.
 */
typedef struct sim_alike {
    const trace_holes *holes; /* lent */
    const sim_program *program;
    uint32_t program_id;           /* its place in the instance */
    const uint32_t *values, *tags; /* of the trace; lent */
    uint32_t *uses;                /* by hole: the name or tag it contains */
    uint32_t *n_uses;              /* by name, then by tag: holes that contain it */
    uint32_t *counts;              /* as n_uses, for one rank */
} sim_alike;

halley_status sim_alike_init(sim_alike *out, const trace_holes *holes,
                             const sim_program *p, const uint32_t *values,
                             const uint32_t *tags, halley_error *err);
void sim_alike_fini(sim_alike *a);

/*
 * Find the names of a rank with these differences, in the given memory. *tags are those
 * of the first rank if they are the same. False: its program may differ, or it has an
 * error; compile it.
 */
bool sim_alike_bind(const uint32_t **values, const uint32_t **tags, const sim_alike *a,
                    const trace_differences *d, const halley_cluster *cluster,
                    arena *memory);

#endif
