/*
 * halley/compare.h - how similar one collection of trace sets is to another (fidelity),
 * and how much it leaks about the other (privacy).
 *
 * A profile holds the statistics of a collection. Sets are added one by one and need not
 * be kept in memory. A comparison takes two profiles, REAL and SYNTH. For attacks it also
 * takes profiles of the sets that a model was trained on and of sets that it never saw.
 */
#ifndef HALLEY_COMPARE_H
#define HALLEY_COMPARE_H

#include "halley/synth.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct halley_profile halley_profile; /* opaque */

/* {0} is the default. */
typedef struct halley_profile_opts {
    uint32_t most_simulated; /* sets that are simulated; 0 = 100, UINT32_MAX = none */
} halley_profile_opts;

halley_status halley_profile_new(halley_profile **out, const halley_profile_opts *opts,
                                 halley_error *err);
void halley_profile_free(halley_profile *p); /* NULL is fine */
/* Add a set. Results call it `name`. groups_path works as for halley_trace_check (NULL =
 * use the groups that the traces declare). A set that cannot be simulated is recorded as
 * such and is not an error. */
halley_status halley_profile_add(halley_profile *p, const halley_trace_set *set,
                                 const char *name, const char *groups_path,
                                 halley_error *err);
uint32_t halley_profile_sets(const halley_profile *p);
/* What halley_profile_add_path skipped. */
typedef struct halley_left_out {
    size_t size;                       /* filled by the library, see error.h */
    uint32_t n_sets;                   /* sets that fail `trace check` */
    uint32_t n_folders;                /* subfolders that cannot be opened */
    char first_set[HALLEY_ERROR_TEXT]; /* why the first set was skipped; "" = none was */
    char first_folder[HALLEY_ERROR_TEXT]; /* the same for folders */
    uint64_t room[HALLEY_ROOM];           /* reserved for new members; 0 */
} halley_left_out;
/*
 * Add the sets that `path` names: a file, a prefix, or a folder. All sets of a folder and
 * of its subfolders are added, in order of their names. Groups are read from
 * PREFIX.comm_group.json next to a set. Sets that fail `trace check` and folders that
 * cannot be opened are skipped and counted in *left_out (may be NULL). If `strict`, they
 * are errors instead.
 */
halley_status halley_profile_add_path(halley_profile *p, const char *path, bool strict,
                                      halley_left_out *left_out, halley_error *err);

/* Quantities whose distributions are compared. */
typedef enum halley_quantity {
    HALLEY_Q_DURATION,   /* of compute nodes, s */
    HALLEY_Q_OPERATIONS, /* num_ops of compute nodes */
    HALLEY_Q_TRAFFIC,    /* tensor_size of compute and memory nodes, bytes */
    HALLEY_Q_MESSAGE,    /* comm_size, bytes */
    HALLEY_Q_IN_DEGREE,  /* dependencies of a node */
    HALLEY_Q_OUT_DEGREE, /* nodes that depend on a node */
    HALLEY_Q_WIDTH,      /* nodes of a level of the graph */
    HALLEY_Q_DEPTH,      /* levels of a rank's graph */
    HALLEY_Q_NODES,      /* nodes of a rank */
    HALLEY_Q_CRITICAL,   /* longest chain of durations of a set, s */
    HALLEY_N_QUANTITIES
} halley_quantity;
const char *halley_quantity_name(halley_quantity q); /* "durations"; static */
const char *halley_quantity_key(halley_quantity q);  /* "duration_s"; static */

enum { HALLEY_N_QUANTILES = 101 };

/* One distribution in REAL and in SYNTH. */
typedef struct halley_spread {
    double n_real, n_synth;       /* values */
    double mean_real, mean_synth; /* NAN without values */
    double ks; /* Kolmogorov-Smirnov: largest distance of the distribution functions */
    double wasserstein; /* area between them, over the mean of REAL */
    double real[HALLEY_N_QUANTILES], synth[HALLEY_N_QUANTILES]; /* 0 % … 100 % */
} halley_spread;

/* Categories whose shares are compared. */
typedef enum halley_mix {
    HALLEY_MIX_KINDS,  /* node type, collective, host or device */
    HALLEY_MIX_NAMES,  /* names of nodes, numbers in them left out */
    HALLEY_MIX_EDGES,  /* kinds of the two ends of a dependency */
    HALLEY_MIX_VOLUME, /* bytes, by type of communication */
    HALLEY_N_MIXES
} halley_mix;
const char *halley_mix_name(halley_mix m); /* "operator kinds"; static */
const char *halley_mix_key(halley_mix m);  /* "kinds"; static */

typedef struct halley_share {
    const char *label;
    double real, synth; /* of 1 */
} halley_share;

typedef struct halley_shares {
    double total_variation;
    double real, synth; /* what the shares are of, per set: nodes, edges, bytes */
    halley_share *list; /* by share in REAL, then SYNTH, then label */
    size_t n;
} halley_shares;

/* Simulated time of the sets on a reference cluster. */
typedef struct halley_times {
    const char *cluster;
    uint32_t n_real, n_synth; /* sets that could be simulated */
    double mean_real_s, mean_synth_s, sd_real_s, sd_synth_s;
    double ks;
} halley_times;

/* Runs of nodes in SYNTH that also occur in REAL with equal types, values and relative
 * dependencies. */
typedef struct halley_verbatim {
    uint32_t length; /* nodes in a row, at least */
    double whole;    /* share of the nodes in such runs, all repeats counted */
    double beyond;   /* the same after repeats within a trace are removed from both */
    double shape;    /* as `beyond`, comparing only types and dependencies */
} halley_verbatim;
enum { HALLEY_N_VERBATIM = 6 };

/*
 * Area under the ROC curve of an attack that identifies members by their scores, with its
 * 95 % confidence interval (DeLong et al. 1988). 0.5 means that the attack only guesses.
 */
typedef struct halley_auc {
    uint32_t n_members, n_others;
    double auc, low, high;
} halley_auc;
/* `members` and `others` are scores; a higher score means more likely a member. Neither
 * list may be empty. */
halley_status halley_auc_of(halley_auc *out, const double *members, size_t n_members,
                            const double *others, size_t n_others, halley_error *err);

/* A membership attack by someone who holds the model. The score of a set is its
 * likelihood under `model` over its likelihood under `reference`. */
typedef struct halley_membership_opts {
    const char *model;
    const char *reference; /* learned from other sets of the same kind; NULL = none: the
                              score is the likelihood alone, a weaker attack */
    const char *train, *holdout; /* folders: the sets that `model` was learned from, and
                                    sets that neither model was learned from */
    bool strict;                 /* as for halley_profile_add_path */
} halley_membership_opts;
/* The likelihood of the whole set, and of parts of it, because a part may identify
 * members better. */
typedef enum halley_likelihood {
    HALLEY_LIKELIHOOD_ALL,        /* everything */
    HALLEY_LIKELIHOOD_CONDITIONS, /* conditions, and the template chosen by them */
    HALLEY_LIKELIHOOD_PROGRAMS,   /* order of operators, and loop counts */
    HALLEY_LIKELIHOOD_NUMBERS,    /* of nodes */
    HALLEY_N_LIKELIHOODS
} halley_likelihood;
/* left_out (may be NULL) covers both folders. */
halley_status halley_membership(halley_auc out[HALLEY_N_LIKELIHOODS],
                                const halley_membership_opts *opts,
                                halley_left_out *left_out, halley_error *err);

typedef struct halley_neighbour {
    const char *synth, *real; /* names of the sets */
    double distance;          /* of their features, in deviations of REAL */
    double shared;            /* share of runs of 4 nodes that both have (Jaccard) */
} halley_neighbour;

typedef struct halley_compare_opts {
    uint32_t min_support; /* names and values in fewer sets of REAL than this count as
                             leaks; 0 = 5 */
    const halley_profile *train, *holdout; /* for the attacks; both or none */
} halley_compare_opts;

/* Length of the arrays of a comparison. There is room for more quantities and mixes. */
enum { HALLEY_MAX_COMPARED = 16 };

typedef struct halley_comparison {
    size_t size;              /* filled by the library, see error.h */
    uint32_t n_real, n_synth; /* sets */
    halley_spread spreads[HALLEY_MAX_COMPARED];
    halley_shares mixes[HALLEY_MAX_COMPARED];
    halley_times times[HALLEY_MAX_COMPARED];
    const char *not_simulated; /* why the first set that was not simulated was not; NULL =
                                  all were */
    halley_verbatim verbatim[HALLEY_MAX_COMPARED];
    halley_neighbour *nearest; /* by distance, the nearest first; at most 20 */
    size_t n_nearest;
    double nearest_median;      /* distance to the nearest of REAL, over all of SYNTH */
    double nearest_real_median; /* the same within REAL; NAN for one set */
    uint32_t min_support;
    const char **names; /* texts that leak, in byte order; at most 20 */
    size_t n_names_listed;
    uint64_t n_names, n_values; /* texts and numbers (from 1000 on) of SYNTH that at least
                                   one but fewer than min_support sets of REAL have */
    double values_share;        /* share of such numbers among the numbers of SYNTH */
    bool attacked;
    halley_auc by_features, by_runs; /* with train and holdout */
    void *memory;
} halley_comparison;

/* HALLEY_EINVAL: a profile is empty. On success the caller owns *out. */
halley_status halley_compare(halley_comparison **out, const halley_profile *real,
                             const halley_profile *synth, const halley_compare_opts *opts,
                             halley_error *err);
void halley_comparison_free(halley_comparison *c); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
