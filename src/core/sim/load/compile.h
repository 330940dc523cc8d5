/*
 * sim/load/compile.h - the parts of the compiler from traces to programs: what they
 * share, and how they call each other.
 *
 *     program.c           orders the nodes and determines the type of each
 *     compile_attrs.c     numbers and durations in the attributes of a node
 *     compile_compute.c   how long a compute node takes
 *     compile_comm.c      messages and collectives, and the objects they name
 *     compile_lanes.c     the lane that a node occupies under the native rules
 *     compile_children.c  dependencies between nodes
 */
#ifndef SIM_COMPILE_H
#define SIM_COMPILE_H

#include "base/hash.h"
#include "sim/load/attrs.h"
#include "sim/load/program.h"
#include "sim/rules.h"
#include "trace/core/slots.h"

typedef struct sim_compiler {
    sim_program *p;
    const halley_trace *trace;
    trace_slots slots; /* of sim_attr_names */
    const sim_program_opts *opts;
    const sim_trace_rules *rules;
    halley_error *err;
    uint32_t *place;    /* trace index -> place in the program */
    map64 lanes;        /* group or peer -> its lane */
    map64 names;        /* kind and value -> place among the names */
    map64 tags;         /* peer's name and tag -> place among the tags */
    uint32_t *mark;     /* trace index -> the last node that named it a dependency */
    cost_retime retime; /* set when the program is re-timed */
} sim_compiler;

/* Write an error about a node of the trace; returns `code`. */
halley_status sim_compile_error(const sim_compiler *c, uint32_t index, halley_status code,
                                const char *sentence);

/* compile_attrs.c: the names of the attributes, by sim_attr. */
extern const char *const sim_attr_names[SIM_N_ATTRS];
static inline bool sim_compile_find_attr(halley_attr *out, const sim_compiler *c,
                                         uint32_t index, sim_attr name)
{
    assert(index < c->p->n && name < SIM_N_ATTRS);
    return trace_slots_find(out, &c->slots, index, name);
}
/* Read a whole-number attribute; `found` is false if the node does not have it. */
halley_status sim_compile_read_number(uint64_t *out, bool *found, const sim_compiler *c,
                                      uint32_t index, sim_attr name);
halley_status sim_compile_read_needed(uint64_t *out, const sim_compiler *c,
                                      uint32_t index, sim_attr name);
/* Read the node's recorded time, if an attribute gives it in nanoseconds. */
bool sim_compile_read_ns(double *ns, const sim_compiler *c, uint32_t index);
/* Its recorded time, or the rules' default for a node without one. */
uint64_t sim_compile_read_ticks(const sim_compiler *c, uint32_t index);
/* Convert to a whole number; notes if the clock cannot hold it. */
uint64_t sim_compile_convert_ticks(const sim_compiler *c, double ticks);

halley_status sim_compile_compute(sim_node *n, const sim_compiler *c, uint32_t index);
halley_status sim_compile_message(sim_node *n, sim_compiler *c, uint32_t index);
halley_status sim_compile_coll(sim_node *n, sim_compiler *c, uint32_t index);
/* Native rules: create the lanes that every program has; choose the lane of a node. */
halley_status sim_compile_init_lanes(sim_compiler *c);
halley_status sim_compile_choose_lane(sim_node *n, sim_compiler *c);
/* Build the children of every node, once all nodes are compiled. */
halley_status sim_compile_link_children(const sim_compiler *c);

#endif
