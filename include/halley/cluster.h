/*
 * halley/cluster.h - the hardware: device kinds, nodes, network, constants of the
 * collective library, cost and failures. It also holds the rules of the simulator. Every
 * command uses the same description.
 */
#ifndef HALLEY_CLUSTER_H
#define HALLEY_CLUSTER_H

#include "halley/error.h"
#include "halley/file_key.h"
#include "halley/npu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct halley_cluster halley_cluster; /* immutable once made; opaque */

/* Prices and power of what hw/bill.c counts. Negative = not stated: host_usd and host_w
 * are then unknown, and the others follow the list of prices at the rate of the links. */
typedef struct halley_cost {
    double host_usd; /* a host without its NPUs */
    double host_w;   /* nameplate power of a host without NPUs and scale-up switches */
    double up_usd_per_Bps, up_w_per_Bps; /* scale-up switches, per B/s and direction */
    double up_link_usd_per_Bps;          /* scale-up optics, both ends, per B/s */
    double up_radix;        /* NPUs that one tier of scale-up switches connects */
    double up_copper_reach; /* NPUs of a domain up to which its cables are copper */
    double rack_usd, rack_w;
    double network_usd_per_gbps; /* replaces the counted network: per Gb/s of each NPU */
    double switch_usd, copper_usd, optical_usd, nic_usd; /* of one; cables with ends */
    double switch_w, optics_w, nic_w;
    double building_usd_per_w;
    double node_factor; /* power of a node at load over that of its NPUs; default 1.47 */
    double power_idle;  /* share of full power that an idle NPU draws; default 0.3 */
    double pue;         /* power of the building over that of the machines; 1.2 */
    double energy_usd_per_J; /* default 0.1 USD/kWh */
    double colocation_usd;   /* per kW of nameplate and month; replaces energy */
    double years;            /* over which capital is written off; default 4 */
    double capital_rate;     /* cost of capital per year; 0 = a straight line */
    double residual;         /* share of capital that is left after these years */
    double support;          /* share of capital per year */
    double rent_usd_per_s;   /* of one NPU; replaces capital; 0 = bought */
    double carbon_g_per_kWh, embodied_kg; /* of energy; of a host with its NPUs */
} halley_cost;

/* Interruptions. npu_mtbf_s = 0 means that nothing ever fails. */
typedef struct halley_failures {
    double npu_mtbf_s;   /* mean time between interruptions that one NPU causes */
    double checkpoint_s; /* time to write a checkpoint */
    double restart_s;    /* from an interruption until training continues */
} halley_failures;

/* One level of the network for the closed-form models; level 0 is the node. */
typedef struct halley_level {
    char name[HALLEY_NAME];  /* "node", "leaf" ... */
    uint32_t npus;           /* NPUs that it connects; 0 = all */
    double bandwidth_Bps;    /* per NPU and direction, without oversubscription */
    double latency_s;        /* of one step with large messages */
    double oversubscription; /* bandwidth_Bps is divided by it when all NPUs send; >= 1 */
    double share;            /* of the bandwidth that large messages reach */
    char library[HALLEY_NAME]; /* preset with the library's constants; "" = none */
} halley_level;

/* ASTRA-sim's files and options. Paths are required unless the comment says otherwise. A
 * zero number means ASTRA-sim's default. */
typedef struct halley_astra_files {
    const char *network;    /* network.yml */
    const char *system;     /* system.json */
    const char *memory;     /* remote_memory.json; NULL = no remote memory */
    const char *comm_group; /* comm_group.json; NULL = none */
    uint32_t queues_per_dim;
    double injection_scale; /* on endpoint-delay; 0 = 1 */
    bool rendezvous;
    /* Packet-level networks. The flow model simulates them, and the cluster has native
     * rules. */
    const char
        *logical_topology;       /* ns-3: JSON of logical-dims; `network` is config.txt */
    const char *packet_topology; /* the topology file; NULL = as named in config.txt */
} halley_astra_files;

/*
 * Read a cluster. `name` is a preset ("dgx-h100") or the path of a file in halley's
 * format (YAML or JSON, see cluster(5)). Either may end in a number of NPUs
 * ("dgx-h100:64", "c.yaml:64"). A preset without a number only describes a kind of node:
 * halley_cluster_npus is 0, which the simulator refuses. Unknown keys and names are
 * errors that suggest the nearest known one. On success the caller owns *out and frees it
 * with halley_cluster_free.
 */
halley_status halley_cluster_load(halley_cluster **out, const char *name,
                                  halley_error *err);
/* The same from `length` bytes of text; errors show `name` in place of the path. */
halley_status halley_cluster_parse(halley_cluster **out, const char *text, size_t length,
                                   const char *name, halley_error *err);
/* Read ASTRA-sim's files. Unknown keys become warnings. */
halley_status halley_cluster_load_astra(halley_cluster **out,
                                        const halley_astra_files *files,
                                        halley_error *err);
/* ASTRA-sim's rules count durations in microseconds. After this call, durations in
 * nanoseconds are read as well, as in traces from ASTRA-sim 1.0's workload files. */
void halley_cluster_read_ns(halley_cluster *cluster);
/* The machine on which recordings were made, as far as they describe it. Every node takes
 * its recorded duration, on the thread or stream on which it ran. Messages take no time
 * of their own. On success the caller owns *out. */
halley_status halley_cluster_recorded(halley_cluster **out, uint32_t n_npus,
                                      halley_error *err);
/* Write a cluster in halley's format; loading the file gives the same cluster. */
halley_status halley_cluster_save(const halley_cluster *cluster, const char *path,
                                  halley_error *err);
/* The text that halley_cluster_save writes; the caller frees it. */
halley_status halley_cluster_print(char **out, const halley_cluster *cluster,
                                   halley_error *err);
void halley_cluster_free(halley_cluster *cluster);

const char *halley_cluster_name(const halley_cluster *cluster); /* lent */
uint32_t halley_cluster_npus(const halley_cluster *cluster);    /* 0 = not said */
uint32_t halley_cluster_npus_per_node(const halley_cluster *cluster);
/* Device kinds, at least one; each lent, NULL past the last. */
uint32_t halley_cluster_kind_count(const halley_cluster *cluster);
const halley_npu *halley_cluster_npu(const halley_cluster *cluster, uint32_t kind);
/* The kind of an NPU; 0 if the cluster has only one kind. */
uint32_t halley_cluster_kind_of(const halley_cluster *cluster, uint32_t npu);
/* Levels of the network, the node first. Returns false past the last. */
bool halley_cluster_level(halley_level *out, const halley_cluster *cluster, uint32_t i);
const halley_cost *halley_cluster_cost(const halley_cluster *cluster);         /* lent */
const halley_failures *halley_cluster_failures(const halley_cluster *cluster); /* lent */
/* HALLEY_OK if the closed-form models (halley_estimate_run and everything that uses it)
 * support this cluster. Otherwise the error names what is missing: the NPU's bf16 peak,
 * its memory, or a single kind of NPU. */
halley_status halley_cluster_check_estimate(const halley_cluster *cluster,
                                            halley_error *err);

uint32_t halley_cluster_dims(const halley_cluster *cluster);
/* How messages share the network. Under ASTRA-sim's rules FREE is its congestion-unaware
 * model and LINKS its congestion-aware one. */
typedef enum halley_network_model {
    HALLEY_NETWORK_AS_CLUSTER, /* in run options: use the cluster's model */
    HALLEY_NETWORK_FREE,       /* no contention: messages do not share links */
    HALLEY_NETWORK_LINKS,      /* queue: links send one message at a time */
    HALLEY_NETWORK_FLOW,       /* messages share links by max-min fairness */
} halley_network_model;
/* The model that the cluster file chose; run options override it. */
halley_network_model halley_cluster_network_model(const halley_cluster *cluster);
/* HALLEY_EINVAL: the cluster's rules have no such model. */
halley_status halley_cluster_set_network_model(halley_cluster *cluster,
                                               halley_network_model model,
                                               halley_error *err);
/* Stragglers in simulations. A setting names NPUs ("3", "0-7", "node2", "node0-3") and a
 * factor on their compute times ("node2=1.5"), or the time at which they begin ("3=5
 * ms"). */
halley_status halley_cluster_set_slow(halley_cluster *cluster, const char *setting,
                                      halley_error *err);
halley_status halley_cluster_set_late(halley_cluster *cluster, const char *setting,
                                      halley_error *err);
bool halley_cluster_has_groups(const halley_cluster *cluster);
/* Read communicator groups (comm_group.json) into a cluster that has none yet. */
halley_status halley_cluster_load_groups(halley_cluster *cluster, const char *path,
                                         halley_error *err);
/* The same from `length` bytes of text; errors show `name` in place of the path. */
halley_status halley_cluster_parse_groups(halley_cluster *cluster, const char *text,
                                          size_t length, const char *name,
                                          halley_error *err);

/* The i-th key of a part of the file; false past the last. The parts are "" (the file
 * itself), "kinds" (one entry), "nodes", "dimension" and "fabric" (of network),
 * "topology", "tier", "npu", "memory", "system", "bus", "cost" and "failures". */
bool halley_cluster_key(halley_file_key *out, const char *part, size_t i);

/* How the durations of compute nodes are chosen. */
typedef enum halley_compute {
    HALLEY_COMPUTE_DURATION, /* as recorded; nodes without one use COST if possible */
    HALLEY_COMPUTE_ROOFLINE, /* operations / min(peak, bandwidth * operations / bytes) */
    HALLEY_COMPUTE_COST,     /* by the NPU's measured rates; else as recorded */
} halley_compute;
/* HALLEY_EINVAL: the NPU's peak and memory are not known, or ASTRA-sim's rules apply. */
halley_status halley_cluster_set_compute(halley_cluster *cluster, halley_compute compute,
                                         halley_error *err);
/* Warnings about the description, as sentences; lent. */
uint32_t halley_cluster_warning_count(const halley_cluster *cluster);
const char *halley_cluster_warning(const halley_cluster *cluster, uint32_t i);
/* A sentence for cost reports that says which nodes are partly idle; NULL if none is;
 * lent. */
const char *halley_cluster_idle(const halley_cluster *cluster);
/* Notes about the file, such as keys that have a new name; lent. */
uint32_t halley_cluster_note_count(const halley_cluster *cluster);
const char *halley_cluster_note(const halley_cluster *cluster, uint32_t i);

/* The i-th preset of "models", "npus", "clusters", "links", "fabrics" or "stacks".
 * Returns true and writes the name to `to`; returns false past the last. */
bool halley_preset_name(char *to, size_t size, const char *folder, size_t i);
/* The text of a preset, lent; NULL if there is none. */
const char *halley_preset_text(const char *folder, const char *name);
/* The text of a file that comes with halley, by its path in the source tree
 * ("studies/roofline.yaml"), lent; NULL if there is none. */
const char *halley_builtin_text(const char *path);
/* The first cluster preset whose device a profiler calls `device` ("NVIDIA H100 80GB
 * HBM3"); false if there is none. */
bool halley_cluster_find_recorded(char *to, size_t size, const char *device);

#ifdef __cplusplus
}
#endif
#endif
