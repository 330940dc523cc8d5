/* halley/sim.h - replay traces on a cluster and say when everything happened. */
#ifndef HALLEY_SIM_H
#define HALLEY_SIM_H

#include "halley/cluster.h"
#include "halley/trace.h"
#include "halley/trace_template.h"
#include "halley/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct halley_result halley_result; /* opaque; owns all it hands out */

/* What a run keeps of the order in which nodes were issued and ended. */
typedef enum halley_journal {
    HALLEY_JOURNAL_NONE,
    /* What halley_astra_log_write needs: when ranks finished, when they first used a
     * group, and all issues of a rank only where their order matters to its lines. */
    HALLEY_JOURNAL_LOG,
    HALLEY_JOURNAL_NODES, /* when nodes ended, too: 48 bytes a node and rank */
} halley_journal;

/* Zero in every field is the default: (halley_sim_opts){0} is a valid choice. */
typedef struct halley_sim_opts {
    halley_network_model network; /* halley/cluster.h; 0 = as the cluster says */
    bool record;     /* keep when every node began and ended: 16 bytes a node and rank */
    bool heat;       /* keep how busy every NPU's links are over time */
    bool no_fold;    /* run every rank, also those that do the same as others */
    bool all_links;  /* list every link, also where thousands are alike */
    bool times_only; /* do not follow what lies in the NPUs' own memory */
    /* For tests: not 0 = what happens at one instant in a random order of this seed,
     * which must not change the result. Refused where it may: where no ranks are folded.
     */
    uint64_t shuffle;
    double stop_s; /* simulated time after which the run ends as it is; 0 = never */
    const halley_watch *watch; /* progress in nodes, and cancellation; NULL = none */
    const char *recorded_on;   /* the device of recordings; NULL = what they say */
    /* A network model of your own in the place of `network`; halley/network.h. Lent. */
    const struct halley_network_ops *network_ops;
    void *network_context;  /* handed to its `open` */
    halley_journal journal; /* what to keep of the order of events; every rank runs */
} halley_sim_opts;

/*
 * Simulate one trace a rank on `cluster`, whose NPU count must be the number of ranks.
 * All are only read and may be shared by threads. On success *out is the caller's, to
 * free with halley_result_free.
 * HALLEY_EDEADLOCK: some nodes never became ready or never ended; err says who waits.
 */
halley_status halley_sim_run(halley_result **out, const halley_trace_set *traces,
                             const halley_cluster *cluster, const halley_sim_opts *opts,
                             halley_error *err);
/* The same for a set written as roles; the groups of `cluster` are not used, since the
 * roles name theirs by rule. */
halley_status halley_sim_run_template(halley_result **out, const halley_template *roles,
                                      const halley_cluster *cluster,
                                      const halley_sim_opts *opts, halley_error *err);
void halley_result_free(halley_result *result);

/* What a rank did, in ticks of the run. */
typedef struct halley_rank_result {
    uint64_t finish;  /* when its last node ended */
    uint64_t compute; /* sum of the times of its GPU's compute nodes */
    uint64_t exposed; /* finish - compute, modulo 2^64 as ASTRA-sim has it */
    uint64_t wall;    /* latest end of a node */
    /* time in which at least one node of the kind was running */
    uint64_t gpu, comm, cpu, memory;
    bool has_gpu, has_comm, has_cpu, has_memory, has_other;
    uint64_t
        overlap;   /* gpu + comm - wall when both exist, else 0 (ASTRA-sim's measure) */
    uint64_t busy; /* time in which at least one node was running */
    uint64_t bare_comm; /* time in which communication ran and the GPU did not compute */
    /* the NPU's own memory, when the trace says what lies in it */
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
    uint32_t n_alike;   /* groups with these numbers, of which this is the first */
} halley_traffic;
uint32_t halley_result_traffic_count(const halley_result *result);
halley_traffic halley_result_traffic(const halley_result *result, uint32_t i);

/* What went over one dimension of the network, or (model flow) links of one kind. */
typedef struct halley_dim_result {
    const char *topology; /* "Ring", "npu-leaf"; lent */
    uint32_t n;           /* NPUs along it; links of the kind, both directions */
    double bw_Bps;        /* of one link */
    uint64_t messages;
    double bytes; /* over all NPUs */
    double use;   /* share of what all NPUs could have sent in the time of the run */
} halley_dim_result;
uint32_t halley_result_dims(const halley_result *result);
halley_dim_result halley_result_dim(const halley_result *result, uint32_t i);

/* What crossed one link in one direction; links that carried nothing are left out. Model
 * `flow` knows all links, `free` and `queue` those on which NPUs send and receive. In
 * networks of over 4,096 links those that are alike are listed once, unless all_links. */
typedef struct halley_link_result {
    const char *name, *kind; /* "npu3 -> leaf0", "npu-leaf"; lent */
    double bw_Bps;
    double bytes;          /* payload */
    double wire_bytes;     /* with flags, headers and gaps of the library's protocols */
    double use;            /* wire_bytes over what it could have carried in the run */
    uint64_t messages;     /* messages and collectives */
    uint32_t n_alike;      /* links with these numbers, of which this is the first */
    const char *users[2];  /* who used it most; lent, NULL = nobody */
    double user_shares[2]; /* of wire_bytes */
} halley_link_result;
/* The busiest first. */
uint32_t halley_result_links(const halley_result *result);
halley_link_result halley_result_link(const halley_result *result, uint32_t i);

/*
 * With `heat`: how busy the links were on which an NPU sends, in a dimension, over time.
 * The run is cut into bins of equal length; `use` is the share of the bin in which a link
 * was sending, summed over the NPU's links there (a ring has two; contention-free
 * messages side by side count each).
 */
uint32_t halley_result_bins(const halley_result *result);
double halley_result_bin_s(const halley_result *result); /* length of one */
double halley_result_heat(const halley_result *result, uint32_t dim, uint32_t npu,
                          uint32_t bin);

/* When a node ran; with `record` only. Nodes by their index in the rank's trace. */
typedef struct halley_node_times {
    uint64_t begin, end;
    bool ran; /* false: it never did, or nothing was recorded */
} halley_node_times;
halley_node_times halley_result_node(const halley_result *result, uint32_t rank,
                                     uint32_t node);

/* With `journal`: what happened, in the order of the events. */
typedef enum halley_journal_kind {
    HALLEY_JOURNAL_ISSUE,
    HALLEY_JOURNAL_SKIP, /* it took no time: issued and ended in one */
    HALLEY_JOURNAL_END,
    HALLEY_JOURNAL_FINISH, /* of the rank; `node` is the one that it issued last */
} halley_journal_kind;
typedef struct halley_journal_entry {
    uint64_t at; /* ticks */
    uint32_t rank, node;
    uint32_t group; /* of a collective: place in the cluster's list + 1; 0 = all ranks */
    uint16_t kind;  /* halley_journal_kind */
    uint16_t coll;  /* halley_coll_type of a collective */
} halley_journal_entry;
/* Their number; *out is lent. */
size_t halley_result_journal(const halley_journal_entry **out,
                             const halley_result *result);

/* From `at` on, so many bytes lie in the NPU's own memory. */
typedef struct halley_memory_level {
    uint64_t at, bytes;
} halley_memory_level;
/* With `record`: the levels of a rank's memory, by time; their number. *out is lent. */
size_t halley_result_memory(const halley_memory_level **out, const halley_result *result,
                            uint32_t rank);

/* Why a step of the critical path began when it did. */
typedef enum halley_why {
    HALLEY_WHY_START,   /* it began with the run */
    HALLEY_WHY_DEPENDS, /* the step before it had to end */
    HALLEY_WHY_ROOM,    /* what it occupies was taken until then */
    HALLEY_WHY_MESSAGE, /* the message of the step before it was awaited */
    HALLEY_WHY_MEMBER, /* the step before it let the last member come to the collective */
} halley_why;

/* One step: a node, and the part of the run's time that is its. */
typedef struct halley_path_step {
    uint32_t rank, node; /* by index in the rank's trace */
    uint64_t begin, end; /* end is the next step's begin */
    halley_why why;
} halley_path_step;

/*
 * The steps that explain the time of the run, first to last: what the last node to end
 * waited for, what that waited for, and so on. Needs a result with recorded nodes. *out
 * is the caller's, to free().
 */
halley_status halley_result_path(halley_path_step **out, size_t *n,
                                 const halley_result *result, halley_error *err);

/* Ranks in the order in which they finished: the i-th of them. */
uint32_t halley_result_finisher(const halley_result *result, uint32_t i);
double halley_result_ticks_per_s(const halley_result *result);
bool halley_result_has_roofline(const halley_result *result);
/* Whether stop_s ended the run before all ranks were done. */
bool halley_result_stopped(const halley_result *result);
uint64_t halley_result_events(const halley_result *result); /* how many were processed */
/* Ranks that were run, each for those that do the same; and the events, each as often as
 * there are ranks, groups or pairs that it represents. */
uint32_t halley_result_classes(const halley_result *result);
uint64_t halley_result_events_represented(const halley_result *result);

/*
 * Symmetry: ranks that provably do the same are simulated once. Everything above holds
 * for all ranks, whether they were run or not, as if all had been.
 */
typedef struct halley_symmetry {
    uint32_t n_ranks;     /* classes of ranks: so many were run */
    uint32_t n_carriers;  /* of groups and pairs that exchange messages; 0 = not known */
    uint32_t n_links;     /* of links; 0 = not known */
    const char *unfolded; /* why all ranks were run; lent; NULL = they were not */
} halley_symmetry;
halley_symmetry halley_result_symmetry(const halley_result *result);
/* The class of a rank, and the i-th class: its first rank and how many it has. */
uint32_t halley_result_class_of(const halley_result *result, uint32_t rank);
typedef struct halley_rank_class {
    uint32_t rank, n_ranks;
    const char *cause; /* "is slower or faster than rank 0": what sets the rank apart from
                          others; lent; NULL = nothing, or not known */
} halley_rank_class;
halley_rank_class halley_result_class(const halley_result *result, uint32_t i);

/* What is odd about the run but no error; sentences, lent. */
uint32_t halley_result_warning_count(const halley_result *result);
const char *halley_result_warning(const halley_result *result, uint32_t i);

#ifdef __cplusplus
}
#endif
#endif
