/*
 * sim/symmetry/graph.h - the graph of ranks, carriers and links, and its coarsest
 * partition into classes whose objects behave the same.
 *
 * The objects are ranks, carriers and links. Carriers are groups, and channels from a
 * sender to a receiver. They put flows on links, one for each of their shapes. Edges:
 *
 *     rank -> carrier by label     the name under which its program knows the carrier
 *     carrier -> members           pairs of a rank and its label; counts do not matter
 *     carrier -> links by shape    which links; how many does not matter
 *     link -> carriers by shape    sum of coefficients; how many (reports count messages)
 *
 * A partition is equitable if objects of one class have equal initial colours and have
 * edges to the same classes. Then a run in which one object represents its class gives
 * the times of the full run. The proof is by induction over instants: each object sees
 * the same values along its edges as the other objects of its class
 * (doc/reference/sim.md).
 */
#ifndef SIM_SYMMETRY_GRAPH_H
#define SIM_SYMMETRY_GRAPH_H

#include "base/array.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define SYMMETRY_NONE UINT32_MAX
enum { SYMMETRY_MOST_COEFFICIENTS = 1 << 16 };

typedef struct symmetry_member {
    uint32_t rank, label;
} symmetry_member;

typedef struct symmetry_graph {
    uint32_t n_ranks, n_carriers, n_links;
    uint64_t *rank_colours;    /* initial; equal for ranks that may be in one class */
    uint32_t *slots_at;        /* by rank, and one more: first of its labels in `slots` */
    uint32_t *slots;           /* carriers by label; SYMMETRY_NONE = none */
    uint64_t *carrier_colours; /* initial */
    uint32_t *members_at;      /* by carrier, and one more */
    symmetry_member *members;
    uint32_t *shapes_at; /* by carrier, and one more */
    uint32_t *hops_at;   /* by shape, and one more */
    ARRAY(uint32_t) hop_links;
    ARRAY(uint16_t) hop_coefficients; /* places in `coefficients` */
    ARRAY(uint64_t) coefficients;     /* distinct ones, at most 2^16 */
    uint64_t *link_colours;           /* initial */
} symmetry_graph;

/* Conditions that tests switch off, to show that each is needed. */
typedef enum symmetry_mutation {
    SYMMETRY_WHOLE,
    SYMMETRY_WITHOUT_SUMS,
    SYMMETRY_SUMS_AS_SETS,
    SYMMETRY_WITHOUT_LINK_SETS,
    SYMMETRY_WITHOUT_MEMBER_SETS,
    SYMMETRY_N_MUTATIONS
} symmetry_mutation;

/* Classes of one sort of object; ids in the order of their first object. */
typedef struct symmetry_classes {
    uint32_t n;
    uint32_t *of;     /* by object */
    uint32_t *first;  /* by class: its first object */
    uint32_t *counts; /* by class */
    /* By class: the first object of the class from which it split off, or SYMMETRY_NONE
     */
    uint32_t *apart_from;
    uint32_t *rounds; /* by class: the round in which it split off */
} symmetry_classes;

typedef struct symmetry_partition {
    symmetry_classes ranks, carriers, links;
    uint32_t n_rounds;
} symmetry_partition;

/* Find the coarsest equitable partition. Links that no carrier uses are in no class
 * (SYMMETRY_NONE). */
halley_status symmetry_refine(symmetry_partition *out, const symmetry_graph *g,
                              symmetry_mutation mutation, halley_error *err);
void symmetry_partition_fini(symmetry_partition *p);
void symmetry_graph_fini(symmetry_graph *g);

/* What all carriers of a class put on one link of a class, with one shape. */
typedef struct symmetry_load {
    uint32_t link_class;
    uint32_t n_carriers;
    uint64_t coefficient;
} symmetry_load;
typedef struct symmetry_loads {
    uint32_t *shapes_at; /* by class of carriers, and one more */
    uint32_t *loads_at;  /* by shape of a class, and one more */
    ARRAY(symmetry_load) loads;
} symmetry_loads;

/*
 * Compare every object exactly with the first of its class; refinement compares hashes.
 * This also sums up the loads of the classes.
 */
halley_status symmetry_check(symmetry_loads *out, const symmetry_graph *g,
                             const symmetry_partition *p, halley_error *err);
void symmetry_loads_fini(symmetry_loads *l);
#endif
