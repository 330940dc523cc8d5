/*
 * hw/graph/generate.h - generators: a name and a few numbers become a graph.
 *
 * To add a generator: one file generators/gen_<family>.c with its functions, one row in
 * the table of generate.c, its keys in the table of generators/params.c, an instance in
 * tests/data/generators.json, and a paragraph in doc/reference/topology.md.
 */
#ifndef HW_GRAPH_GENERATE_H
#define HW_GRAPH_GENERATE_H

#include "base/conf/conf.h"
#include "hw/graph/events.h"
#include "hw/graph/graph.h"

enum { HW_MAX_TIERS = 6, HW_MAX_SHIFTS = 16 };

/* One of ASTRA-sim's dimensions. */
typedef enum hw_dim_kind { HW_DIM_RING, HW_DIM_FULL, HW_DIM_SWITCH } hw_dim_kind;

/* Which planes an NPU has a cable into. */
typedef enum hw_plane_wiring { HW_PLANES_EVERY, HW_PLANES_ONE } hw_plane_wiring;

/* One tier of switches of a fat tree, from below. Zero means "not given". */
typedef struct hw_tier_params {
    str name;
    uint32_t npus;           /* NPUs under one block of this tier */
    uint32_t radix;          /* ports of a switch */
    double oversubscription; /* capacity down / capacity up */
    double link_Bps,
        latency_s; /* of the cables below this tier; latency < 0: not given */
} hw_tier_params;

/* A cable or link of the generator `edges`. */
typedef struct hw_edge_params {
    uint32_t from, to;
    uint32_t cables; /* parallel ones */
    double bw_Bps, latency_s;
    bool one_way;
} hw_edge_params;
typedef struct hw_device_params {
    str name;      /* empty: made from kind and number */
    uint32_t kind; /* hw_device_kind */
    bool forwards;
} hw_device_params;

/* USD and W of what is bought; all zero = nothing is known about cost. */
typedef struct hw_price_params {
    double npu, nic, node_switch, network_switch; /* one each */
    double copper;                                /* one cable */
    double optical_end;                           /* one transceiver, two per cable */
} hw_price_params;

/*
 * What a generator is told. Valid when zeroed but for `topology`; zero means "not given",
 * and generators fill in what follows from the rest. Texts and edges are lent.
 */
typedef struct hw_generator_params {
    str topology;
    uint32_t n; /* NPUs of a ring, switch, ...; total of a fat tree given by tiers */
    uint32_t n_dims, dims[HW_MAX_DIMS];
    uint32_t dim_kinds[HW_MAX_DIMS]; /* hw_dim_kind; of the generator `dims` */
    double dim_Bps[HW_MAX_DIMS], dim_latency_s[HW_MAX_DIMS]; /* 0: link and latency */
    uint32_t n_shifts, shifts[HW_MAX_SHIFTS][3]; /* wrap, shifted dimension, by */
    bool twist;                                  /* the usual twist of TPU pods */
    uint32_t n_m, n_w, n_p;
    uint32_t m[HW_MAX_TIERS], w[HW_MAX_TIERS], p[HW_MAX_TIERS]; /* PGFT, from below */
    uint32_t n_tiers;
    hw_tier_params tiers[HW_MAX_TIERS];
    uint32_t planes, plane_wiring;
    uint32_t nodes, npus, nics, nodes_per_leaf, leaves, spines, cables;
    bool no_node_switch;
    uint32_t hosts_per_switch, a, h, G, l, s; /* dragonflies (p, a, h, G), nvl (s) */
    uint32_t K, T;                            /* HyperX; its S is in dims */
    bool no_merge;
    uint32_t q;                           /* Slim Fly */
    double link_Bps, latency_s;           /* of every cable; default 50 GB/s, 0 */
    double node_link_Bps, node_latency_s; /* inside a node; default: as link */
    double nic_link_Bps;                  /* between an NPU and a shared NIC */
    double switch_latency_s;              /* of passing through a switch */
    hw_price_params cost, power;
    const hw_edge_params *edges;
    uint32_t n_edges;
    const hw_device_params *devices; /* NPUs first */
    uint32_t n_devices;
    const hw_fault *faults;
    uint32_t n_faults;
    uint32_t n_used; /* of the generator `file`: NPUs that take part; 0 = all */
    const hw_event *events;
    uint32_t n_events;
    double reroute_s;   /* until routes avoid what fails in a run */
    const char *file;   /* of the generator `file`: a topology file of another tool */
    const char *format; /* of it; NULL = by content */
    bool has_link, has_latency; /* link and latency were written */
} hw_generator_params;

/* How large a graph will be, without making it. */
typedef struct hw_counts {
    uint64_t npus, nics;
    uint64_t switches;      /* all of them, */
    uint64_t node_switches; /* and those inside of nodes */
    uint64_t cables;        /* all */
    uint64_t switch_cables; /* between switches */
} hw_counts;

typedef struct hw_generator {
    const char *name;
    const char *keys; /* of its own, separated by blanks */
    /* Check and complete the parameters; write the counts. No overflow may happen for
     * any parameters. */
    halley_status (*count)(hw_counts *out, hw_generator_params *p, halley_error *err);
    /* Add everything to the builder. NULL: see make, or the graph can be counted, not
     * built. */
    void (*build)(hw_builder *b, const hw_generator_params *p);
    const char *doc; /* one sentence */
    /* The whole graph, for rows that need no builder; else NULL. */
    halley_status (*make)(hw_graph **out, const hw_generator_params *p,
                          halley_error *err);
    const char *example; /* a description that it builds, YAML on one line; NULL = none */
} hw_generator;

const hw_generator *hw_generator_find(str name); /* NULL when unknown */
const hw_generator *hw_generator_get(size_t i);  /* NULL past the last */

halley_status hw_graph_generate(hw_graph **out, const hw_generator_params *p,
                                halley_error *err);
/* The counts, and all parameters that follow from the others. */
halley_status hw_graph_complete(hw_counts *out, hw_generator_params *p,
                                halley_error *err);
/* The counts alone: also for graphs that cannot be built. */
halley_status hw_graph_count(hw_counts *out, const hw_generator_params *p,
                             halley_error *err);

/* Money or power of a graph of that size: cables between switches are optical, others
 * copper; those inside nodes belong to the nodes. */
double hw_counts_price(const hw_counts *counts, const hw_price_params *price);

/* The keys that describe a generator, for loaders, help and pages. The members that lists
 * and maps are read into are internal: read with hw_generator_read. */
const conf_field *hw_generator_fields(size_t *n);
/* A map without topology that names a file or edges: {file: fabric.json}. */
bool hw_generator_is_short(const conf_node *map);
/* Field k of those that a generator takes, its own first; NULL past the last. */
const conf_field *hw_generator_field(const hw_generator *row, size_t k);
/*
 * Parameters from a map ({topology: NAME, ...}). Keys that the generator does not take
 * are errors. What is lent is lent from `file` and `memory`.
 */
halley_status hw_generator_read(hw_generator_params *out, arena *memory,
                                const conf_file *file, const conf_node *map,
                                halley_error *err);

/* The rows, by family. */
extern const hw_generator hw_gen_ring, hw_gen_torus, hw_gen_mesh, hw_gen_twisted_torus,
    hw_gen_ocs_torus, hw_gen_fully_connected, hw_gen_switch, hw_gen_nvl, hw_gen_dgx1,
    hw_gen_dims, hw_gen_fat_tree, hw_gen_leaf_spine, hw_gen_rail_optimised,
    hw_gen_rail_only, hw_gen_dragonfly, hw_gen_dragonfly_plus, hw_gen_hyperx,
    hw_gen_slim_fly, hw_gen_edges, hw_gen_file;

/* For the rows: what they have in common. */
/* a * b, or UINT64_MAX when that overflows; UINT64_MAX stays. */
uint64_t hw_count_times(uint64_t a, uint64_t b);
uint64_t hw_count_plus(uint64_t a, uint64_t b);
/* Error unless 1 <= value; names the key. */
halley_status hw_require_count(uint32_t value, const char *generator, const char *key,
                               halley_error *err);
/* A group of NPUs, of network switches, of node switches, with their prices. */
uint32_t hw_add_npus(hw_builder *b, const hw_generator_params *p, uint32_t n,
                     uint32_t per_node, bool forwards);
uint32_t hw_add_switches(hw_builder *b, const hw_generator_params *p, const char *name,
                         uint32_t n, uint32_t tier);
uint32_t hw_add_node_switches(hw_builder *b, const hw_generator_params *p, uint32_t n,
                              uint32_t chips);
/* A kind of cable with the price of its medium. */
uint16_t hw_add_kind(hw_builder *b, const hw_generator_params *p, const char *name,
                     hw_medium medium, uint32_t tier, double bw_Bps, double latency_s);

#endif
