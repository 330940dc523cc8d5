/*
 * hw/graph/generate.h - generators: make a graph from a name and a few numbers.
 *
 * To add a generator, add a file generators/gen_<family>.c with its functions, and a row
 * in the table of generate.c. Also add its keys in the table of generators/params.c, an
 * instance in tests/data/generators.json, and a paragraph in doc/reference/topology.md.
 */
#ifndef HW_GRAPH_GENERATE_H
#define HW_GRAPH_GENERATE_H

#include "base/conf/conf.h"
#include "hw/graph/events.h"
#include "hw/graph/graph.h"

enum { HW_MAX_TIERS = 6, HW_MAX_SHIFTS = 16 };

/* One of ASTRA-sim's dimensions. */
typedef enum hw_dim_kind { HW_DIM_RING, HW_DIM_FULL, HW_DIM_SWITCH } hw_dim_kind;

/* Which planes an NPU has a cable to. */
typedef enum hw_plane_wiring { HW_PLANES_EVERY, HW_PLANES_ONE } hw_plane_wiring;

/* One tier of switches of a fat tree, from the bottom. Zero means "not given". */
typedef struct hw_tier_params {
    str name;
    uint32_t npus;           /* NPUs below one block of this tier */
    uint32_t radix;          /* ports of a switch */
    double oversubscription; /* capacity down / capacity up */
    double link_Bps,
        latency_s; /* of the cables below this tier; latency < 0: not given */
} hw_tier_params;

/* A cable or link of the generator `edges`. */
typedef struct hw_edge_params {
    uint32_t from, to;
    uint32_t cables; /* number of parallel cables */
    double bw_Bps, latency_s;
    bool one_way;
} hw_edge_params;
typedef struct hw_device_params {
    str name;      /* empty: from kind and number */
    uint32_t kind; /* hw_device_kind */
    bool forwards;
} hw_device_params;

/* USD or W of the parts that are bought; all zero = cost is unknown. */
typedef struct hw_price_params {
    double npu, nic, node_switch, network_switch; /* one each */
    double copper;                                /* one cable */
    double optical_end;                           /* one transceiver, two per cable */
} hw_price_params;

/*
 * The parameters of a generator. Valid when zeroed except for `topology`. Zero means "not
 * given", and generators derive missing values from the others. Texts and edges are not
 * owned.
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
    double node_link_Bps, node_latency_s; /* inside a node; default: the same as link */
    double nic_link_Bps;                  /* between an NPU and a shared NIC */
    double switch_latency_s;              /* of passing through a switch */
    hw_price_params cost, power;
    const hw_edge_params *edges;
    uint32_t n_edges;
    const hw_device_params *devices; /* NPUs first */
    uint32_t n_devices;
    const hw_fault *faults;
    uint32_t n_faults;
    uint32_t n_used; /* for the generator `file`: NPUs that take part; 0 = all */
    const hw_event *events;
    uint32_t n_events;
    double reroute_s;   /* delay until routes avoid failures during a run */
    const char *file;   /* for the generator `file`: a topology file of another tool */
    const char *format; /* its format; NULL = detect from content */
    bool has_link, has_latency; /* link and latency were given */
} hw_generator_params;

/* The size of a graph, computed without building it. */
typedef struct hw_counts {
    uint64_t npus, nics;
    uint64_t switches;      /* all of them, */
    uint64_t node_switches; /* and those inside nodes */
    uint64_t cables;        /* all */
    uint64_t switch_cables; /* between switches */
} hw_counts;

typedef struct hw_generator {
    const char *name;
    const char *keys; /* its own keys, separated by blanks */
    /* Check and complete the parameters; write the counts. Must not overflow for any
     * parameters. */
    halley_status (*count)(hw_counts *out, hw_generator_params *p, halley_error *err);
    /* Add everything to the builder. NULL: see `make`, or the graph can only be
     * counted. */
    void (*build)(hw_builder *b, const hw_generator_params *p);
    const char *doc; /* one sentence */
    /* Make the whole graph, for generators that need no builder; else NULL. */
    halley_status (*make)(hw_graph **out, const hw_generator_params *p,
                          halley_error *err);
    const char *example; /* a description that builds, as YAML on one line; NULL = none */
} hw_generator;

const hw_generator *hw_generator_find(str name); /* NULL if unknown */
const hw_generator *hw_generator_get(size_t i);  /* NULL past the last */

halley_status hw_graph_generate(hw_graph **out, const hw_generator_params *p,
                                halley_error *err);
/* Compute the counts, and all parameters that follow from the others. */
halley_status hw_graph_complete(hw_counts *out, hw_generator_params *p,
                                halley_error *err);
/* Compute only the counts; also works for graphs that cannot be built. */
halley_status hw_graph_count(hw_counts *out, const hw_generator_params *p,
                             halley_error *err);

/* Cost or power of a graph of this size. Cables between switches are optical, others are
 * copper. Cables inside nodes belong to the nodes. */
double hw_counts_price(const hw_counts *counts, const hw_price_params *price);
/* Links inside nodes, which the price of nodes includes. */
uint64_t hw_counts_node_links(const hw_counts *counts);

/* The keys that describe a generator, for loaders, help and pages. Members for lists and
 * maps are internal: use hw_generator_read to read them. */
const conf_field *hw_generator_fields(size_t *n);
/* True for a map without topology that names a file or edges: {file: fabric.json}. */
bool hw_generator_is_short(const conf_node *map);
/* The k-th field that a generator accepts, its own first; NULL past the last. */
const conf_field *hw_generator_field(const hw_generator *row, size_t k);
/*
 * Read parameters from a map ({topology: NAME, ...}). Keys that the generator does not
 * accept are errors. The result refers to `file` and `memory`.
 */
halley_status hw_generator_read(hw_generator_params *out, arena *memory,
                                const conf_file *file, const conf_node *map,
                                halley_error *err);

/* The generators, by family. */
extern const hw_generator hw_gen_ring, hw_gen_torus, hw_gen_mesh, hw_gen_twisted_torus,
    hw_gen_ocs_torus, hw_gen_fully_connected, hw_gen_switch, hw_gen_nvl, hw_gen_dgx1,
    hw_gen_dims, hw_gen_fat_tree, hw_gen_leaf_spine, hw_gen_rail_optimised,
    hw_gen_rail_only, hw_gen_dragonfly, hw_gen_dragonfly_plus, hw_gen_hyperx,
    hw_gen_slim_fly, hw_gen_edges, hw_gen_file;

/* Code shared by the generators. */
/* a * b, or UINT64_MAX if that overflows; UINT64_MAX stays UINT64_MAX. */
uint64_t hw_count_times(uint64_t a, uint64_t b);
uint64_t hw_count_plus(uint64_t a, uint64_t b);
/* Fail unless value >= 1; the error names the key. */
halley_status hw_require_count(uint32_t value, const char *generator, const char *key,
                               halley_error *err);
/* Add a group of NPUs, of network switches, or of node switches, with their prices. */
uint32_t hw_add_npus(hw_builder *b, const hw_generator_params *p, uint32_t n,
                     uint32_t per_node, bool forwards);
uint32_t hw_add_switches(hw_builder *b, const hw_generator_params *p, const char *name,
                         uint32_t n, uint32_t tier);
uint32_t hw_add_node_switches(hw_builder *b, const hw_generator_params *p, uint32_t n,
                              uint32_t chips);
/* Add a kind of cable with the price of its medium. */
uint16_t hw_add_kind(hw_builder *b, const hw_generator_params *p, const char *name,
                     hw_medium medium, uint32_t tier, double bw_Bps, double latency_s);

#endif
