/*
 * sim/load/instance_alike.h - ranks of which only differences to another rank's trace are
 * kept: its program, with other names.
 */
#ifndef SIM_INSTANCE_ALIKE_H
#define SIM_INSTANCE_ALIKE_H

#include "sim/load/instance.h"
#include "trace/core/set_alike.h"

/* What the names of a trace's program are, and which holes of its file say so. */
typedef struct sim_alike {
    const trace_holes *holes; /* lent */
    const sim_program *program;
    uint32_t program_id;           /* its place in the instance */
    const uint32_t *values, *tags; /* of the trace; lent */
    uint32_t *uses;                /* by hole: what it says */
    uint32_t *n_uses;              /* by name, then by tag: holes that say it */
    uint32_t *counts;              /* the same, of one rank */
} sim_alike;

halley_status sim_alike_init(sim_alike *out, const trace_holes *holes,
                             const sim_program *p, const uint32_t *values,
                             const uint32_t *tags, halley_error *err);
void sim_alike_fini(sim_alike *a);

/*
 * The names of a rank with these differences, in the memory given; *tags are those of the
 * first rank where they are the same. False: its program may be another, or it has an
 * error; compile it.
 */
bool sim_alike_bind(const uint32_t **values, const uint32_t **tags, const sim_alike *a,
                    const trace_differences *d, const halley_cluster *cluster,
                    arena *memory);

#endif
