/*
 * sim/symmetry/symmetry.h - finds the symmetry of a run before it starts: which ranks,
 * groups, channels and links are equivalent, and which ranks represent the others.
 *
 *     graph.h, refine.c, check.c  partitions of graphs, independent of their objects
 *     objects.h   the objects of a run and the edges between them
 *     quotient.c  the run of one rank per class
 *     explain.c   why classes differ
 */
#ifndef SIM_SYMMETRY_SYMMETRY_H
#define SIM_SYMMETRY_SYMMETRY_H

#include "sim/engine.h"
#include "sim/symmetry/graph.h"

/* A collective or message of a program, without its members. */
typedef struct sim_call_kind {
    uint32_t name; /* of the group or receiver; n_names of the program = all ranks */
    uint32_t root; /* name, or SIM_NO_NAME */
    uint32_t coll; /* halley_coll_type; HALLEY_N_COLL_TYPES = a message */
    uint64_t amount;
    net_price price;
} sim_call_kind;

/* The network calls of a program. */
typedef struct sim_program_calls {
    ARRAY(sim_call_kind) calls; /* distinct ones, by name, then by first use */
    uint32_t *first;            /* by name and two more: into calls */
    uint64_t *sums;             /* by name and one more: of all nodes, in any order */
} sim_program_calls;

typedef struct sim_pair {
    uint32_t from, to;
} sim_pair;

struct sim_symmetry {
    symmetry_graph graph;
    symmetry_partition partition;
    symmetry_loads loads;
    sim_program_calls *programs;
    uint32_t n_programs;
    /* Carriers: groups that are used, all ranks if used, then channels, then memories. */
    uint32_t *carrier_of;     /* by group; SYMMETRY_NONE = not used */
    uint32_t world;           /* carrier; SYMMETRY_NONE */
    uint32_t n_groups;        /* carriers that are groups */
    ARRAY(uint32_t) groups;   /* by carrier: group + 1; 0 = all ranks */
    ARRAY(sim_pair) channels; /* by carrier - n_groups */
    uint32_t first_server; /* carrier of the first memory; n_carriers if there is none */
    uint32_t *server_of;   /* by carrier - first_server: memory of the run */
    map64 channels_by_pair;
    map64 coefficients; /* coefficient -> place in the graph's list */
    uint32_t *links;    /* by link of the graph: link of the network */
    char reason[256];   /* why every rank is simulated; "" = classes are */
};

/* True if options, rules and programs allow folding. If not, `reason` gets a sentence. */
bool sim_symmetry_is_possible(const sim *s, const halley_sim_opts *opts, char *reason,
                              size_t n);
/* Build the objects and their partition. `reason` says why if there is nothing to fold.
 */
halley_status sim_symmetry_new(sim_symmetry **out, sim *s);
void sim_symmetry_free(sim_symmetry *y);
/* True if the carrier is a memory that ranks share. */
static inline bool sim_symmetry_is_server(const sim_symmetry *y, uint32_t carrier)
{
    return carrier >= y->first_server;
}
/* The label of a rank in a shared memory is its place. Bit 31: it calls no collective. */
#define SIM_SERVER_LABEL(place) ((place) | UINT32_C(3) << 30)
/* The bundle of a carrier's call, as its first member makes it. `pair` has room for a
 * channel's ends. */
net_bundle sim_symmetry_bundle(const sim *s, const sim_symmetry *y, uint32_t carrier,
                               const sim_call_kind *call, uint32_t *pair);
/* The calls of a carrier, which are those of its first member. */
const sim_call_kind *sim_symmetry_calls(const sim *s, const sim_symmetry *y,
                                        uint32_t carrier, uint32_t *n);
/* Why a class of ranks split off from another; NULL: it is the first class, or no memory.
 */
const char *sim_symmetry_explain(arena *memory, const sim *s, uint32_t class_id);
/* The place of a tag among those of a rank's peer, or SIM_NONE. */
uint32_t sim_symmetry_find_tag(const sim *s, uint32_t rank, uint32_t name, uint32_t tag);
/* Create the ranks and groups of the run: one per class. */
halley_status sim_bind_classes(sim *s, const sim_symmetry *y);

#endif
