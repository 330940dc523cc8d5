/* halley/sim.h - simulate traces on a cluster and report when everything ran. */
#ifndef HALLEY_SIM_H
#define HALLEY_SIM_H

#include "halley/cluster.h"
#include "halley/trace.h"
#include "halley/trace_template.h"
#include "halley/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct halley_result halley_result; /* opaque; owns everything that it lends */

/* What a run records about the order in which nodes were issued and ended. */
typedef enum halley_journal {
    HALLEY_JOURNAL_NONE,
    /*
     * What halley_astra_log_write needs: when ranks finished and when they first used a
     * group. All issues of a rank are recorded only if their order affects its log lines.
     */
    HALLEY_JOURNAL_LOG,
    HALLEY_JOURNAL_NODES, /* also when nodes ended: 48 bytes per node and rank */
} halley_journal;

/* Zero in every field is the default: (halley_sim_opts){0} is a valid choice. */
typedef struct halley_sim_opts {
    halley_network_model network; /* halley/cluster.h; 0 = as the cluster says */
    bool record;     /* keep when every node began and ended: 16 bytes per node and
                        rank */
    bool heat;       /* keep how busy every NPU's links are over time */
    bool no_fold;    /* simulate every rank, also those that do the same as others */
    bool all_links;  /* list every link, even if thousands are identical */
    bool times_only; /* do not track the use of the NPUs' own memory */
    /* For tests: if not 0, events of one instant are processed in a random order with
     * this seed. The order must not change the result. It is refused where the order may
     * matter: where no ranks are folded. */
    uint64_t shuffle;
    double stop_s;             /* simulated time at which the run is stopped; 0 = never */
    const halley_watch *watch; /* progress in nodes, and cancellation; NULL = none */
    const char *recorded_on;   /* the device of recordings; NULL = the one that they
                                  name */
    /* Your own network model in place of `network`; see halley/network.h. Lent. */
    const struct halley_network_ops *network_ops;
    void *network_context;  /* passed to its `open` */
    halley_journal journal; /* what to record about the order of events; disables
                               folding of ranks */
} halley_sim_opts;

/*
 * Simulate one trace per rank on `cluster`, whose NPU count must be the number of ranks.
 * Inputs are only read and may be shared by threads. On success the caller owns *out and
 * frees it with halley_result_free. HALLEY_EDEADLOCK: some nodes never became ready or
 * never ended; the error says which ranks wait.
 */
halley_status halley_sim_run(halley_result **out, const halley_trace_set *traces,
                             const halley_cluster *cluster, const halley_sim_opts *opts,
                             halley_error *err);
/* Replay recordings on the machine on which they were made: every duration is as
 * recorded. With `record`, *out has when every node began and ended. */
halley_status halley_sim_replay(halley_result **out, const halley_trace_set *traces,
                                bool record, halley_error *err);
/* halley_sim_run for a set written as roles. The groups of `cluster` are not used,
 * because the roles define groups by rules. */
halley_status halley_sim_run_template(halley_result **out, const halley_template *roles,
                                      const halley_cluster *cluster,
                                      const halley_sim_opts *opts, halley_error *err);
void halley_result_free(halley_result *result);

/* Times of one rank, in ticks of the run. */
typedef struct halley_rank_result {
    uint64_t finish;  /* when its last node ended */
    uint64_t compute; /* total time of its GPU's compute nodes */
    uint64_t exposed; /* finish - compute, modulo 2^64 as in ASTRA-sim */
    uint64_t wall;    /* latest end of a node */
    /* time in which at least one node of the kind was running */
    uint64_t gpu, comm, cpu, memory;
    bool has_gpu, has_comm, has_cpu, has_memory, has_other;
    uint64_t
        overlap;   /* gpu + comm - wall when both exist, else 0 (ASTRA-sim's measure) */
    uint64_t busy; /* time in which at least one node was running */
    uint64_t bare_comm; /* time in which communication ran and the GPU did not compute */
    /* the NPU's own memory, if the trace describes its use */
    bool has_local;
    uint64_t local_peak_bytes;
    /* roofline: shares and FLOP/B, weighted by time */
    double compute_bound, compute_use, memory_use, intensity;
} halley_rank_result;

uint32_t halley_result_ranks(const halley_result *result);
halley_rank_result halley_result_rank(const halley_result *result, uint32_t rank);
/* All nodes of one kind of communication in one group. */
typedef struct halley_traffic {
    uint32_t type;      /* halley_node_type: COLL, SEND or RECV */
    uint32_t coll;      /* halley_coll_type, for COLL */
    int64_t group;      /* id of the communicator group; 0 = all ranks */
    uint32_t n_members; /* of the group */
    uint64_t count;     /* nodes, over all ranks */
    double bytes;       /* as the nodes give them, summed up */
    double ticks;       /* from begin to end, summed up */
    uint32_t n_alike;   /* groups with equal numbers; this is the first of them */
} halley_traffic;
uint32_t halley_result_traffic_count(const halley_result *result);
halley_traffic halley_result_traffic(const halley_result *result, uint32_t i);

/* Traffic of one dimension of the network, or (model flow) of links of one kind. */
typedef struct halley_dim_result {
    const char *topology; /* "Ring", "npu-leaf"; lent */
    uint32_t n;           /* NPUs along it; links of the kind, both directions */
    double bw_Bps;        /* of one link */
    uint64_t messages;
    double bytes; /* over all NPUs */
    double use;   /* share of what all NPUs could have sent during the run */
} halley_dim_result;
uint32_t halley_result_dims(const halley_result *result);
halley_dim_result halley_result_dim(const halley_result *result, uint32_t i);

/* Traffic of one link in one direction; idle links are left out. The model `flow` knows
 * all links, `free` and `queue` only the links at the NPUs. In networks of over 4,096
 * links, identical ones are listed once, unless all_links is set. */
typedef struct halley_link_result {
    const char *name, *kind; /* "npu3 -> leaf0", "npu-leaf"; lent */
    double bw_Bps;
    double bytes;          /* payload */
    double wire_bytes;     /* with flags, headers and gaps of the library's protocols */
    double use;            /* wire_bytes over the link's capacity during the run */
    uint64_t messages;     /* messages and collectives */
    uint32_t n_alike;      /* links with equal numbers; this is the first of them */
    const char *users[2];  /* the largest users of the link; lent, NULL = none */
    double user_shares[2]; /* of wire_bytes */
} halley_link_result;
/* Busiest first. */
uint32_t halley_result_links(const halley_result *result);
halley_link_result halley_result_link(const halley_result *result, uint32_t i);

/*
 * With `heat`: utilization over time of the links on which an NPU sends, by dimension.
 * The run is divided into bins of equal length. The value is the share of the bin in
 * which a link was sending, summed over the NPU's links in that dimension. A ring has two
 * links. Concurrent contention-free messages count separately.
 */
uint32_t halley_result_bins(const halley_result *result);
double halley_result_bin_s(const halley_result *result); /* length of one */
double halley_result_heat(const halley_result *result, uint32_t dim, uint32_t npu,
                          uint32_t bin);

/* When the last node of any rank ended, in seconds. */
double halley_result_wall_s(const halley_result *result);
/* When a node ran; only with `record`. Nodes are indexes in the rank's trace. */
typedef struct halley_node_times {
    uint64_t begin, end;
    bool ran; /* false: it did not run, or nothing was recorded */
} halley_node_times;
halley_node_times halley_result_node(const halley_result *result, uint32_t rank,
                                     uint32_t node);

/* With `journal`: the events in their order. */
typedef enum halley_journal_kind {
    HALLEY_JOURNAL_ISSUE,
    HALLEY_JOURNAL_SKIP, /* a node that took no time: issued and ended in one event */
    HALLEY_JOURNAL_END,
    HALLEY_JOURNAL_FINISH, /* the rank finished; `node` is the last that it issued */
} halley_journal_kind;
typedef struct halley_journal_entry {
    uint64_t at; /* ticks */
    uint32_t rank, node;
    uint32_t group; /* of a collective: index in the cluster's list + 1; 0 = all ranks */
    uint16_t kind;  /* halley_journal_kind */
    uint16_t coll;  /* halley_coll_type of a collective */
} halley_journal_entry;
/* Returns the number of entries; *out is lent. */
size_t halley_result_journal(const halley_journal_entry **out,
                             const halley_result *result);

/* Bytes in use in the NPU's own memory from time `at` on. */
typedef struct halley_memory_level {
    uint64_t at, bytes;
} halley_memory_level;
/* With `record`: the memory use of a rank over time. Returns the number of entries; *out
 * is lent. */
size_t halley_result_memory(const halley_memory_level **out, const halley_result *result,
                            uint32_t rank);

/* Why a step of the critical path began when it did. */
typedef enum halley_why {
    HALLEY_WHY_START,   /* it began at the start of the run */
    HALLEY_WHY_DEPENDS, /* the previous step had to end first */
    HALLEY_WHY_ROOM,    /* the resource that it needs was busy until then */
    HALLEY_WHY_MESSAGE, /* it waited for the message of the previous step */
    HALLEY_WHY_MEMBER,  /* the previous step let the last member join the collective */
} halley_why;

/* One step of the path: a node, and the part of the run's time that it accounts for. */
typedef struct halley_path_step {
    uint32_t rank, node; /* by index in the rank's trace */
    uint64_t begin, end; /* end is the next step's begin */
    halley_why why;
} halley_path_step;

/* The critical path, first step to last: what the last node to end waited for, what that
 * node waited for, and so on. Needs a result with recorded nodes. The caller owns *out
 * and must free() it. */
halley_status halley_result_path(halley_path_step **out, size_t *n,
                                 const halley_result *result, halley_error *err);

/* The i-th rank in the order in which ranks finished. */
uint32_t halley_result_finisher(const halley_result *result, uint32_t i);
double halley_result_ticks_per_s(const halley_result *result);
bool halley_result_has_roofline(const halley_result *result);
/* True if stop_s ended the run before all ranks were done. */
bool halley_result_stopped(const halley_result *result);
uint64_t halley_result_events(const halley_result *result); /* how many were processed */
/* The number of ranks that were simulated, each for its symmetry class; and the number of
 * events if each counts once per rank, group or pair that it represents. */
uint32_t halley_result_classes(const halley_result *result);
uint64_t halley_result_events_represented(const halley_result *result);

/* Symmetry: ranks that provably do the same are simulated once. All results above hold
 * for all ranks, as if each had been simulated. */
typedef struct halley_symmetry {
    uint32_t n_ranks;     /* symmetry classes, one simulated rank each */
    uint32_t n_carriers;  /* classes of groups and pairs that exchange messages; 0 =
                             not known */
    uint32_t n_links;     /* classes of links; 0 = not known */
    const char *unfolded; /* why all ranks were simulated; lent; NULL = they were not */
} halley_symmetry;
halley_symmetry halley_result_symmetry(const halley_result *result);
/* The class of a rank; and the i-th class, with its first rank and its size. */
uint32_t halley_result_class_of(const halley_result *result, uint32_t rank);
typedef struct halley_rank_class {
    uint32_t rank, n_ranks;
    const char *cause; /* why the rank differs from others ("is slower or faster than
                          rank 0"); lent; NULL = no reason, or not known */
} halley_rank_class;
halley_rank_class halley_result_class(const halley_result *result, uint32_t i);

/* Warnings about the run, as sentences; lent. */
uint32_t halley_result_warning_count(const halley_result *result);
const char *halley_result_warning(const halley_result *result, uint32_t i);

#ifdef __cplusplus
}
#endif
#endif
