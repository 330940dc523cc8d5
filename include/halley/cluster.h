/*
 * halley/cluster.h - what a machine is made of: NPUs, memory, network dimensions, and how
 * its communication library is set up.
 */
#ifndef HALLEY_CLUSTER_H
#define HALLEY_CLUSTER_H

#include "halley/error.h"
#include "halley/file_key.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct halley_cluster halley_cluster; /* immutable once made; opaque */

/* ASTRA-sim's files and options. Paths are required unless the comment says otherwise;
 * zero in a number is ASTRA-sim's own default. */
typedef struct halley_astra_files {
    const char *network;    /* network.yml */
    const char *system;     /* system.json */
    const char *memory;     /* remote_memory.json; NULL = no remote memory */
    const char *comm_group; /* comm_group.json; NULL = none */
    uint32_t queues_per_dim;
    double injection_scale; /* on endpoint-delay; 0 = 1 */
    bool rendezvous;
} halley_astra_files;

/*
 * Read ASTRA-sim's files. On success *out is the caller's, to free with
 * halley_cluster_free. Keys that are not known are kept as warnings.
 */
halley_status halley_cluster_load_astra(halley_cluster **out,
                                        const halley_astra_files *files,
                                        halley_error *err);
/*
 * Read a cluster in our own form (YAML or JSON; cluster(5) describes it), or make one of
 * a preset and a number of NPUs ("dgx-h100:64"): switches within and between its nodes.
 * Unknown keys are errors. On success *out is the caller's.
 */
halley_status halley_cluster_load(halley_cluster **out, const char *path,
                                  halley_error *err);
/*
 * The machine that recordings were made on, as far as they tell: every node takes its
 * recorded duration, on the thread or stream it ran on; messages take no time of their
 * own. On success *out is the caller's.
 */
halley_status halley_cluster_recorded(halley_cluster **out, uint32_t n_npus,
                                      halley_error *err);
/* Write a cluster in that form, so that loading it gives the same cluster. */
halley_status halley_cluster_save(const halley_cluster *cluster, const char *path,
                                  halley_error *err);
bool halley_cluster_has_groups(const halley_cluster *cluster);
/* Read communicator groups (comm_group.json) into a cluster that has none yet. */
halley_status halley_cluster_load_groups(halley_cluster *cluster, const char *path,
                                         halley_error *err);
void halley_cluster_free(halley_cluster *cluster);

uint32_t halley_cluster_npus(const halley_cluster *cluster);
uint32_t halley_cluster_dims(const halley_cluster *cluster);
/* Whether its own file chose link queues; the choice of a run goes before it. */
bool halley_cluster_has_link_queues(const halley_cluster *cluster);
void halley_cluster_set_link_queues(halley_cluster *cluster, bool on);

/* The i-th key of a part of the file: "" (the file itself), "network" (a dimension),
 * "npu", "memory", "system" or "bus"; false past the last. */
bool halley_cluster_key(halley_file_key *out, const char *part, size_t i);

/* How long compute nodes take. */
typedef enum halley_compute {
    HALLEY_COMPUTE_DURATION, /* as recorded; those without by COST if it can */
    HALLEY_COMPUTE_ROOFLINE, /* operations / min(peak, bandwidth * operations / bytes) */
    HALLEY_COMPUTE_COST,     /* by the NPU's measured rates; else as recorded */
} halley_compute;
/* HALLEY_EINVAL: the NPU's peak and memory are not known, or ASTRA-sim's rules apply. */
halley_status halley_cluster_set_compute(halley_cluster *cluster, halley_compute compute,
                                         halley_error *err);
/* What is odd about the description but no error; sentences, lent. */
uint32_t halley_cluster_warning_count(const halley_cluster *cluster);
const char *halley_cluster_warning(const halley_cluster *cluster, uint32_t i);

#ifdef __cplusplus
}
#endif
#endif
