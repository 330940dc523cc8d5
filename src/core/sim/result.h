/* sim/result.h - the internals of a result; for result.c and path.c. */
#ifndef SIM_RESULT_H
#define SIM_RESULT_H

#include "sim/engine.h"

struct halley_result {
    uint32_t n_ranks;
    uint32_t n_run;     /* ranks that were simulated: one per symmetry class */
    uint32_t *class_of; /* by rank: its simulated rank; NULL = every rank was simulated */
    uint32_t *npus;     /* by simulated rank: the first rank it represents */
    uint32_t *n_alike;  /* by simulated rank */
    const char **causes; /* by simulated rank: why it is separate; NULL = not known */
    uint32_t n_classes;  /* as n_run, or the number of classes of fold.c */
    uint32_t n_carrier_classes, n_link_classes;
    uint64_t last_finish;
    uint64_t n_represented; /* events */
    char unfolded[256];
    double ticks_per_s;
    bool roofline, stopped;
    uint32_t warnings; /* bit i: warning i (sim_warning) */
    uint64_t n_events;
    halley_rank_result *ranks; /* by simulated rank */
    uint32_t *finishers;       /* all ranks */
    uint64_t *starts;          /* by NPU: when it began; NULL = all at tick 0 */
    ARRAY(halley_traffic) traffic;
    ARRAY(halley_journal_entry) journal;
    arena memory;                   /* names of parts */
    net_link_list links;            /* links that carried something, the busiest first */
    ARRAY(char *) remarks;          /* warnings beyond those of `warnings`, in `memory` */
    ARRAY(halley_dim_result) parts; /* of the network */
    net_heat heat;                  /* by dimension, NPU */
    uint64_t *
        *nodes; /* by simulated rank: begins, ends, links; NULL when none were recorded */
    uint32_t *n_nodes; /* by simulated rank */
    bool has_path;     /* nodes were recorded, and the critical path was searched for */
    halley_status path_status;
    halley_error path_error; /* why there is no path */
    struct {
        halley_path_step *at;
        size_t n;
    } path;
    struct sim_levels {
        halley_memory_level *at;
        size_t n;
    } * levels; /* by simulated rank: of the NPU's own memory; none when not recorded */
};

/* The rank that was simulated for a rank. */
static inline uint32_t sim_result_run(const halley_result *r, uint32_t rank)
{
    assert(rank < r->n_ranks);
    return r->class_of == NULL ? rank : r->class_of[rank];
}

/* path.c: call before the records of the run move to the result. Fails only if memory
 * runs out. */
halley_status sim_path_find(halley_result *r, const sim *s);

#endif
