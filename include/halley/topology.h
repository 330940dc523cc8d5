/*
 * halley/topology.h - networks as graphs of devices and links, and flows that share
 * links.
 */
#ifndef HALLEY_TOPOLOGY_H
#define HALLEY_TOPOLOGY_H

#include "halley/cluster.h"
#include "halley/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A network: devices (NPUs, NICs, switches, ...) and directed links. Immutable. */
typedef struct halley_topology halley_topology;

/* How to read a file. All zero is valid. */
typedef struct halley_topology_options {
    const char *format;    /* a name from halley_topology_format, or "halley"; NULL:
                              detect */
    const char *topology;  /* Slurm YAML: which one; NULL: the default one */
    const char *plugin;    /* Slurm conf with both: "tree" (default) or "block" */
    uint32_t npus_per_nic; /* fabrics without NPUs: how many to add to each NIC */
} halley_topology_options;

/* True for a network in one line, "Ring(4)_FC(2)_SW(8)@250_200_50 GB/s", which
 * halley_cluster_load reads. */
bool halley_topology_is_notation(const char *text);

/*
 * Load a network from a file (uncompressed, gzip, zstd or xz). halley's own files are
 * YAML or JSON. They are {topology: NAME, ...} with the generator's parameters, or the
 * same under `network`, and must be connected. Files of other tools are recognised by
 * content. Errors in them end in a code word in brackets. `options` may be NULL.
 */
halley_status halley_topology_load(halley_topology **out, const char *path,
                                   const halley_topology_options *options,
                                   halley_error *err);
/* The network of a cluster: its fabric and the inside of its nodes. The cluster must have
 * a number of NPUs. */
halley_status halley_topology_from_cluster(halley_topology **out,
                                           const halley_cluster *cluster,
                                           halley_error *err);
/* The same from a text of `n` bytes; errors show `name` in place of the path. */
halley_status halley_topology_parse(halley_topology **out, const char *text, size_t n,
                                    const char *name,
                                    const halley_topology_options *options,
                                    halley_error *err);
void halley_topology_free(halley_topology *topology); /* NULL is allowed */
/* Formats that can be read; false past the last. Lent, static. */
int halley_topology_format(size_t i, const char **name, const char **doc);
/* HALLEY_OK if every NPU can reach every other over links that are up; else the error
 * names two NPUs. */
halley_status halley_topology_check(const halley_topology *topology, halley_error *err);
/* Warnings about an imported file; NULL past the last. Lent. */
const char *halley_topology_warning(const halley_topology *topology, uint32_t i);
/* Write the code word at the end of an error of an imported file ("dangling-link") to
 * `to`; NULL if there is none. */
const char *halley_topology_error_code(const halley_error *err, char *to, size_t size);

/* Size of a network, counted without building it. This also works for networks that are
 * too large to build. */
typedef struct halley_topology_counts {
    size_t size; /* filled by the library, see error.h */
    uint64_t npus, nics, cables;
    uint64_t switches, node_switches; /* of the network; inside of nodes */
    uint64_t switch_cables;           /* between switches of the network */
    /* By the prices of the file: cables between switches are optical, others copper. 0:
     * the file has no prices. */
    double cost_usd, power_w;
    uint64_t room[HALLEY_ROOM]; /* reserved for new members; 0 */
} halley_topology_counts;
halley_status halley_topology_count(halley_topology_counts *out, const char *path,
                                    halley_error *err);
/* The same from a text. */
halley_status halley_topology_count_text(halley_topology_counts *out, const char *text,
                                         size_t n, const char *name, halley_error *err);

/* Generators and their keys, for help and pages; false past the last. Lent, static. */
int halley_topology_generator(size_t i, const char **name, const char **doc);
int halley_topology_key(size_t i, const char **name, const char **doc);
/* A description that generator i builds, as YAML on one line; NULL: it has none. */
const char *halley_topology_example(size_t i);
/* The type of a key: "count", "list", "map", "choice", "yes or no", "text", or the name
 * of a quantity ("bandwidth", "time"). */
typedef struct halley_topology_key_info {
    const char *name, *doc, *type;
    double min, max;            /* of a count or quantity, in SI units; both 0: any */
    const char *const *choices; /* ends with NULL; NULL: no choice */
} halley_topology_key_info;
/* Key k of generator i, its own keys first; false past the last. */
int halley_topology_generator_key(halley_topology_key_info *out, size_t i, size_t k);

/* The number of cables with one value; value < 0: not known. */
typedef struct halley_topology_bin {
    double value;
    uint64_t n;
} halley_topology_bin;

/* Devices and cables of one tier: 0 = NPUs and NICs, 1 = the lowest switches, ... */
typedef struct halley_topology_tier {
    double devices_usd, cables_usd, devices_w, cables_w;
    double oversubscription; /* capacity down / up of its switches; negative: none */
} halley_topology_tier;

enum { HALLEY_TOPOLOGY_KINDS = 7, HALLEY_TOPOLOGY_DIMS = 8 };

/* Numbers in B/s, s, USD and W. Negative: not known or not computed. */
typedef struct halley_topology_report {
    size_t size; /* filled by the library, see error.h */
    const char *generator;
    const char *note;            /* what was rounded or assumed; NULL = nothing */
    const char *const *warnings; /* about an imported file; lent by the topology */
    uint32_t n_warnings;
    const char *kind_names[HALLEY_TOPOLOGY_KINDS];
    uint64_t devices[HALLEY_TOPOLOGY_KINDS];
    uint32_t links;                               /* cables, full duplex */
    uint32_t one_way_links;                       /* links in one direction only */
    uint32_t n_dims, dims[HALLEY_TOPOLOGY_DIMS];  /* of the NPUs' coordinates */
    halley_topology_bin *rates_Bps, *latencies_s; /* by value, rising */
    size_t n_rates, n_latencies;
    uint32_t components;
    const char *endpoint_kind;
    uint32_t endpoints;
    int connected;
    uint32_t diameter_hops;
    uint64_t *pairs_by_hops; /* 0 ... diameter */
    double mean_hops;
    double injection_min_Bps, injection_max_Bps; /* sum of the links that leave an
                                                    endpoint */
    double half_cut_Bps;      /* first half of the endpoints to the rest */
    int some_rates_unknown;   /* half_cut then treats them as unlimited */
    double min_bisection_Bps; /* over all equal splits, for at most 12 endpoints */
    double bisection_Bps;     /* by the generator's formula */
    int bisection_is_bound;   /* bisection_Bps is an upper bound */
    halley_topology_tier *tiers;
    size_t n_tiers;
    /* For 1 GB per NPU, alone on the network, in closed form; negative: not known. */
    double all_reduce_s, all_to_all_s;
    const char *all_reduce_method; /* in words; NULL = not known */
    char busiest_link[128];        /* of the all-to-all; "" = not known */
    char no_times[256];            /* why times are not known; "" = they are */
    /* The part of these times that does not depend on the size; the rest is proportional
     * to it. */
    double all_reduce_fixed_s, all_to_all_fixed_s;
    const char *all_to_all_method; /* in words; NULL = not known */
} halley_topology_report;

/* What else to measure; both are slow on very large networks. */
enum { HALLEY_TOPOLOGY_CUTS = 1, HALLEY_TOPOLOGY_TIMES = 2, HALLEY_TOPOLOGY_ALL = 3 };
halley_status halley_topology_measure(halley_topology_report **out,
                                      const halley_topology *topology, int parts,
                                      halley_error *err);
void halley_topology_report_free(halley_topology_report *report);

/* Set values that an imported file left unknown. "NAME=RATE,LATENCY" sets rate and
 * latency of all links of that kind (halley_topology_link.kind; "*" for all) that have
 * none. "NAME=RATE" sets only the rate. */
halley_status halley_topology_set_links(halley_topology *topology, const char *setting,
                                        halley_error *err);

/* The parts of a network; names and kinds are lent by the topology. */
typedef struct halley_topology_device {
    const char *kind;
    char name[128];
    uint32_t tier; /* 0 = NPUs, NICs, hosts; 1 = the lowest switches */
    uint32_t node; /* UINT32_MAX = in none */
    uint32_t line; /* of the imported file; 0 = unknown */
    int forwards;
    double cost_usd, power_w;
} halley_topology_device;
typedef struct halley_topology_link {
    uint32_t from, to; /* devices */
    const char *kind;
    double bw_Bps;    /* 0 = failed; negative = unknown */
    double latency_s; /* negative = unknown */
    int is_one_way;   /* else link i ^ 1 is the other direction */
} halley_topology_link;
uint32_t halley_topology_count_devices(const halley_topology *topology);
uint32_t halley_topology_count_links(const halley_topology *topology); /* directed */
void halley_topology_get_device(halley_topology_device *out,
                                const halley_topology *topology, uint32_t device);
void halley_topology_get_link(halley_topology_link *out, const halley_topology *topology,
                              uint32_t link);

/* A network as boxes and lines, for drawings. Devices are in layers (nodes at the bottom,
 * then switches tier by tier). Networks without switches are a circle or a grid. A box
 * represents `n` consecutive devices or nodes. */
typedef struct halley_topology_layer {
    char name[128];   /* what its things are called: "node", "leaf" */
    uint32_t n;       /* nodes or devices */
    uint32_t per_box; /* devices or nodes per box; the last box may have fewer */
    uint32_t first_box, n_boxes;
} halley_topology_layer;
typedef struct halley_topology_box {
    char name[128];   /* of the first thing it represents */
    const char *kind; /* "node", or the kind of the device; static */
    uint32_t layer, n;
    uint32_t npus; /* inside */
    uint32_t rail; /* or plane; UINT32_MAX: none, or several */
    uint32_t x, y; /* position in a grid; else the position in the layer, and the layer */
} halley_topology_box;
typedef struct halley_topology_line {
    uint32_t a, b; /* boxes, a < b */
    uint32_t cables;
    uint32_t rail_cables; /* of them on the rail that was asked for */
    double bw_Bps;        /* of all its cables, one direction; negative: unknown */
    bool one_way;         /* all of its links go in one direction only */
} halley_topology_line;
typedef struct halley_topology_stop {
    uint32_t device, box;
    char name[128];
} halley_topology_stop;
typedef struct halley_topology_drawing {
    size_t size;                   /* filled by the library, see error.h */
    const char *layout;            /* "layers", "grid" or "circle" */
    halley_topology_layer *layers; /* from below */
    halley_topology_box *boxes;    /* layer by layer */
    halley_topology_line *lines;   /* by a, then b */
    uint32_t n_layers, n_boxes, n_lines;
    uint64_t inside_cables;     /* within boxes, not drawn */
    uint64_t node_cables;       /* within nodes */
    uint32_t n_rails;           /* rails or planes; 0: there are none */
    const char *rail_kind;      /* "rail" or "plane" */
    halley_topology_stop *path; /* from the first to the last device; NULL: none asked */
    uint32_t n_path;
    double path_latency_s, path_Bps; /* of the slowest link; negative: unknown */
    char no_path[256];               /* why there is no path; "" = there is one, or
                                        none was requested */
} halley_topology_drawing;
/* Valid when zeroed. */
typedef struct halley_topology_drawing_options {
    uint32_t boxes; /* boxes per layer, at most; 0 = 32 */
    uint32_t rail;  /* the rail whose cables are counted */
    bool with_path; /* compute the path between two NPUs: */
    uint32_t from, to;
    bool no_pxn; /* rails: cross between rails in the fabric, not in the node */
} halley_topology_drawing_options;
halley_status halley_topology_draw(halley_topology_drawing **out,
                                   const halley_topology *topology,
                                   const halley_topology_drawing_options *options,
                                   halley_error *err);
void halley_topology_drawing_free(halley_topology_drawing *drawing); /* NULL: nothing */

/* Formats that are written; false past the last. Lent, static. */
int halley_topology_output(size_t i, const char **name, const char **doc);
/* Write the network in one of these formats; "-" is standard output. `flatten`: the ns3
 * format merges NICs into their NPUs. */
halley_status halley_topology_save(const halley_topology *topology, const char *path,
                                   const char *format, int flatten, halley_error *err);

/* A custom topology generator. `build` adds devices and cables. It is called whenever the
 * network is built, possibly from several threads, and must make the same network each
 * time. A generator belongs to what is made with it; there is no registry. */
typedef struct halley_topology_builder halley_topology_builder;
typedef struct halley_topology_ops {
    const char *name; /* in reports; must outlive what is made with it */
    /* Make the network of n_npus NPUs. If there is none of that size, return a status
     * other than HALLEY_OK and a sentence in `err`. */
    halley_status (*build)(halley_topology_builder *builder, uint32_t n_npus,
                           void *context, halley_error *err);
    void *context;
} halley_topology_ops;
/* Identical devices. */
typedef struct halley_topology_devices {
    const char *name;  /* "leaf": leaf0, leaf1, ... */
    const char *kind;  /* "npu", "nic", "switch", "cpu", "host", "memory" or "other" */
    uint32_t n;        /* how many */
    uint32_t tier;     /* 0 = NPUs and NICs, 1 = the lowest switches, ... */
    uint32_t per_node; /* device i is in node i / per_node; 0 = in none */
    bool forwards;     /* traffic may pass through; switches always do */
    double latency_s;  /* of passing through one */
    double cost_usd, power_w; /* of one */
} halley_topology_devices;
/* Identical cables. */
typedef struct halley_topology_cables {
    const char *name; /* "npu-leaf" */
    bool optical;
    uint32_t tier;            /* of the upper end */
    double bw_Bps, latency_s; /* of one direction; the rate must be positive */
    double cost_usd, power_w; /* of one cable with both ends */
} halley_topology_cables;
/* Add devices and return the number of the first. Add NPUs first, then NICs, then the
 * others. */
uint32_t halley_topology_add_devices(halley_topology_builder *builder,
                                     const halley_topology_devices *devices);
/* Add a kind of cable and return its number. */
uint32_t halley_topology_add_kind(halley_topology_builder *builder,
                                  const halley_topology_cables *cables);
/* Add a cable between two devices: a link in each direction. Mistakes are reported when
 * the network is finished. */
void halley_topology_add_cable(halley_topology_builder *builder, uint32_t a, uint32_t b,
                               uint32_t kind);
/* Build the network of a generator. On success the caller owns *out. */
halley_status halley_topology_generate(halley_topology **out,
                                       const halley_topology_ops *generator,
                                       uint32_t n_npus, halley_error *err);
/*
 * Use the generator's network instead of the one in the cluster's file. The closed forms
 * derive its levels as they do for explicit edges. If nodes have an internal link
 * (nodes.up), the network connects nodes; else it is the whole network. The generator is
 * lent and must outlive the cluster. The cluster can no longer be saved.
 */
halley_status halley_cluster_set_topology(halley_cluster *cluster,
                                          const halley_topology_ops *generator,
                                          halley_error *err);

/*
 * A flow file: networks with flows, as JSON (uncompressed or gzip):
 *   {"cases": [{"id", "links": [[from, to, B/s, s]],
 *               "flows": [{"start", "bytes", "route": [link | [link, num, den]],
 *                          "cap", "latency"}],
 *               "changes": [[s, link, B/s]]}]}
 */
typedef struct halley_flows halley_flows;
halley_status halley_flows_load(halley_flows **out, const char *path, halley_error *err);
void halley_flows_free(halley_flows *flows);
uint32_t halley_flows_count(const halley_flows *flows); /* cases */

/* The result of one case under max-min sharing; lent by `flows` until the next run. */
typedef struct halley_flows_result {
    const char *id;
    uint32_t n_flows;
    const double *finish_s; /* arrival of each flow; negative: it never ends */
    const double *rate_Bps; /* right after its start; negative: it has no bytes */
    uint32_t n_stated;      /* flows whose expected results are in the file */
    uint32_t n_differ;      /* how many of them differ by more than 1e-9 and one tick
                               (1 ps) per event */
} halley_flows_result;
halley_status halley_flows_run(halley_flows_result *out, halley_flows *flows,
                               uint32_t case_index, halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
