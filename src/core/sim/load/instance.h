/*
 * sim/load/instance.h - the ranks of a job before any is simulated: a program for each
 * distinct trace, and for every rank what the names of its program refer to.
 *
 * Traces share a program if they are equal except for names of groups, peers, roots and
 * tags, names of nodes, and metadata. For each further trace of a program only what it
 * names is kept, 4 bytes per name.
 */
#ifndef SIM_INSTANCE_H
#define SIM_INSTANCE_H

#include "base/arena.h"
#include "base/array.h"
#include "base/hash.h"
#include "halley/sim.h"
#include "sim/load/program.h"

enum { SIM_MOST_RANKS = 1 << 20, SIM_MOST_NODES = 1 << 24, SIM_MOST_GROUPS = 1 << 24 };

typedef struct sim_instance {
    uint32_t n; /* ranks */
    ARRAY(sim_program *) programs;
    uint32_t *program_of;        /* by rank */
    const halley_trace **traces; /* by rank; lent; may be the trace of an equal rank */
    const halley_trace_set *set; /* NULL: roles */
    const uint32_t **values;     /* by rank and name; as in sim_names */
    const uint32_t **tags;       /* by rank, place */
    const cluster_group *groups; /* lent */
    uint32_t n_groups;
    map64 places;         /* group << 32 | rank -> place in the group */
    uint32_t **places_of; /* by rank, name: its place in the group; NULL = by `places` */
    ARRAY(halley_trace *) made; /* traces that it owns */
    arena memory;
    ARRAY(sim_names) kept; /* names of traces that use another trace's program */
} sim_instance;

typedef struct sim_instance_opts {
    const halley_cluster *cluster;
    const halley_sim_opts *run;
    const uint32_t *representative; /* by rank: whose program it has; NULL = its own */
    double ticks_per_s;
    bool share; /* share programs of traces that are equal except for names */
} sim_instance_opts;

halley_status sim_instance_init(sim_instance *out, const halley_trace_set *traces,
                                const sim_instance_opts *o, halley_error *err);
typedef struct trace_template trace_template;
/* The same for a set that is stored as roles; the cluster has its groups. */
halley_status sim_instance_init_roles(sim_instance *out, const trace_template *t,
                                      const sim_instance_opts *o, halley_error *err);
void sim_instance_fini(sim_instance *in);
/* The file of a rank, for errors; "" = none. */
const char *sim_instance_path(const sim_instance *in, uint32_t rank);
/* The place of a rank in a group, or UINT32_MAX. */
uint32_t sim_instance_place(const sim_instance *in, uint32_t group, uint32_t rank);
/* The place of a rank in the group of one of its names, or UINT32_MAX. */
static inline uint32_t sim_instance_name_place(const sim_instance *in, uint32_t rank,
                                               uint32_t name)
{
    assert(rank < in->n && name < in->programs.at[in->program_of[rank]]->n_names);
    return in->places_of == NULL ? sim_instance_place(in, in->values[rank][name], rank)
                                 : in->places_of[rank][name];
}

/* For code that builds instances: allocate all ranks; compile the trace of a rank. */
halley_status sim_instance_begin(sim_instance *out, const sim_instance_opts *o,
                                 halley_error *err);
halley_status sim_instance_compile(sim_instance *in, uint32_t rank, uint32_t kind,
                                   const sim_instance_opts *o, halley_error *err);

#endif
