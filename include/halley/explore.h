/*
 * halley/explore.h - design-space exploration. A study lists the parameters that vary and
 * the objectives. halley evaluates every design (or searches), stores the results and
 * answers questions about them.
 */
#ifndef HALLEY_EXPLORE_H
#define HALLEY_EXPLORE_H

#include "halley/bill.h"
#include "halley/error_bar.h"
#include "halley/estimate.h"
#include "halley/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Metrics of an evaluated design. To add one, add a row here and one in explore/metric.c.
 */
typedef enum halley_metric {
    HALLEY_METRIC_STEP_TIME,        /* s */
    HALLEY_METRIC_TOKENS_PER_S,     /* all NPUs */
    HALLEY_METRIC_MFU,              /* share of peak */
    HALLEY_METRIC_MEMORY,           /* bytes of the fullest stage, local memory */
    HALLEY_METRIC_OUTER_MEMORY,     /* bytes of it in expanded memory */
    HALLEY_METRIC_ENERGY,           /* J of one step, all NPUs */
    HALLEY_METRIC_COST,             /* USD of one step: capital over its life, energy */
    HALLEY_METRIC_COST_PER_TOKEN,   /* USD */
    HALLEY_METRIC_ENERGY_PER_TOKEN, /* J */
    HALLEY_METRIC_CAPITAL,          /* USD, the cluster */
    HALLEY_METRIC_POWER,            /* W, average: the cluster at this load */
    HALLEY_METRIC_NAMEPLATE,        /* W, the cluster with everything at full power */
    HALLEY_METRIC_NETWORK_POWER,    /* W of it: network cards, switches, optics */
    HALLEY_METRIC_BILL,             /* USD, one for each halley_bill_item from here */
    HALLEY_METRIC_RENT =
        HALLEY_METRIC_BILL + HALLEY_N_BILL_ITEMS, /* USD per NPU and hour */
    HALLEY_METRIC_OWN,                            /* USD per NPU and hour at full use */
    HALLEY_METRIC_CARBON,                         /* kg, of the run */
    HALLEY_METRIC_CARBON_PER_TOKEN,               /* kg */
    HALLEY_METRIC_RACKS,
    HALLEY_METRIC_HOSTS,
    HALLEY_METRIC_UNKNOWN_PRICES, /* that the bill needs: money is a lower bound */
    HALLEY_METRIC_NPUS,
    HALLEY_METRIC_COMPUTE,       /* s: forward, backward, recomputation */
    HALLEY_METRIC_COMMUNICATION, /* s, exposed */
    /* With failures (halley_goodput): progress over wall-clock time, and what follows
     * from it */
    HALLEY_METRIC_GOODPUT,
    HALLEY_METRIC_EFFECTIVE_STEP,  /* s: step over goodput */
    HALLEY_METRIC_EFFECTIVE_TOKEN, /* USD per token that is kept */
    HALLEY_METRIC_MTBF,            /* s, of the job */
    HALLEY_METRIC_CHECKPOINT,      /* s between checkpoints, the best interval */
    HALLEY_METRIC_TRAIN_TIME,      /* s: the study's tokens, with interruptions */
    HALLEY_METRIC_TRAIN_COST,      /* USD for that time */
    HALLEY_METRIC_PART,            /* s, one for each halley_part from here */
    HALLEY_METRIC_CLASS =
        HALLEY_METRIC_PART + HALLEY_N_PARTS, /* bytes, by halley_memory */
    HALLEY_N_METRICS = HALLEY_METRIC_CLASS + HALLEY_N_MEMORY
} halley_metric;

const char *halley_metric_key(uint32_t metric); /* "step-time", "time.tp"; lent, static */
/* The same in JSON, CSV and stores: "step_s", "parts_s.tensor_parallel"; lent, static. */
const char *halley_metric_column(uint32_t metric);
const char *halley_metric_title(uint32_t metric); /* "Step time"; lent, static */
/* "1.50 s", with its unit. Returns `to`. */
const char *halley_metric_format(char *to, size_t size, uint32_t metric, double value);

enum { HALLEY_MAX_AXES = 24, HALLEY_MAX_OBJECTIVES = 4, HALLEY_MAX_ASSUMED = 16 };

typedef struct halley_study halley_study;

/* Read and check a study file. On success the caller owns *out. */
halley_status halley_study_load(halley_study **out, const char *path, halley_error *err);
/* The same from the text of such a file; errors show `name` in place of the path. In both
 * cases, files that the study names are relative to the working directory. */
halley_status halley_study_parse(halley_study **out, const char *text, size_t n,
                                 const char *name, halley_error *err);
void halley_study_free(halley_study *study);

/* A parameter that varies, or several that vary together. Lent by the study. */
typedef struct halley_axis {
    const char *name;   /* a path, or the name given to tied parameters */
    uint32_t n;         /* values */
    const char **texts; /* of each value, with unit: "500 GB/s" */
    double *numbers;    /* of each value in its base unit; NULL when they are words */
    bool log;           /* spaced logarithmically */
    bool inner;         /* chosen for each design by `plan: best` */
} halley_axis;

typedef struct halley_objective {
    const char *text; /* a metric's key, or an expression */
    uint32_t metric;  /* HALLEY_N_METRICS when it is an expression */
    bool maximize;
    bool money;   /* it depends on a price */
    bool assumed; /* the study states no objective; this is the default */
} halley_objective;

const char *halley_study_name(const halley_study *study);
const char *halley_study_text(const halley_study *study); /* the file, as it was read */
const char *halley_study_description(const halley_study *study); /* "" = none */
/* The prices of the i-th cluster that the study names, in words; false past the last. */
typedef struct halley_study_price {
    char name[HALLEY_NAME]; /* of the cluster */
    char words[320];        /* "node 309,600 USD; 0.1 USD/kWh; ..." */
} halley_study_price;
bool halley_study_prices(halley_study_price *out, const halley_study *study, uint32_t i);
/* The study's model as its file describes it, before any parameter varies. */
const halley_model *halley_study_model(const halley_study *study);
/* The settings of the baseline ("plan.tp 64, system small"); "" if there is none. */
const char *halley_study_baseline(const halley_study *study);
uint32_t halley_study_axes(const halley_study *study);
const halley_axis *halley_study_axis(const halley_study *study, uint32_t i);
uint32_t halley_study_objectives(const halley_study *study);
const halley_objective *halley_study_objective(const halley_study *study, uint32_t i);
/*
 * The number of designs in the space. Every plan that `plan: best` tries counts as one.
 */
double halley_study_size(const halley_study *study);
/* Upper bound on how many of them the study's search evaluates. */
double halley_study_looked_at(const halley_study *study);

/* One design, evaluated. */
typedef struct halley_candidate {
    uint64_t id;                      /* its number in the space */
    uint32_t digits[HALLEY_MAX_AXES]; /* the value of each axis, by index */
    double objective[HALLEY_MAX_OBJECTIVES];
    double metrics[HALLEY_N_METRICS];
    halley_plan plan; /* checked */
    char model[HALLEY_NAME], cluster[HALLEY_NAME];
    bool fits;
    double capacity_bytes;
    char limit[128]; /* what limits it, in words */
    halley_price_state price_state;
    char missing_prices[96]; /* "npu price"; "" = none */
    bool schedule_walked;    /* the step time is that of `estimate`; else a closed form */
    halley_error_bar error_bar; /* of its step time */
} halley_candidate;

/* A value of an axis for which no design is feasible. */
typedef struct halley_refused_value {
    uint32_t axis, value;
    /* First reason why the value is refused, with all other axes as in the best design.
     * The bytes are how far the plan that needs least memory exceeds the usable memory (0
     * if memory is not the reason). */
    char reason[160];
    double over_bytes;
} halley_refused_value;

typedef struct halley_refusal {
    char reason[160];
    uint64_t designs;
} halley_refusal;

/* The best objective among all feasible designs with this value of an axis. */
typedef struct halley_marginal {
    uint64_t feasible;
    double best; /* NaN when none is feasible */
    uint64_t best_id;
} halley_marginal;

/* How the first objective depends on one axis. */
typedef struct halley_sensitivity {
    uint32_t axis;
    double elasticity; /* relative change of the objective per relative change of the
                          parameter, at the optimum; NaN where it is not a number */
    /* Range of the objective along the axis, all else as at the optimum; NaN if nothing
     * fits */
    double low, high;
    uint32_t low_value, high_value; /* the values at which they are reached */
    uint32_t tried, refused;        /* values tried; how many of them are not feasible */
    /*
     * Least and greatest of the best objectives over the space, one per value of the axis
     */
    double space_low, space_high;
} halley_sensitivity;

typedef struct halley_break_even {
    char question[256], answer[256];
    bool found;
    double value; /* of the parameter, base unit */
} halley_break_even;

/* Best objective over the space for two axes: cells[i * n_j + j], NaN when infeasible. */
typedef struct halley_heat {
    uint32_t axis_i, axis_j;
    double *cells;
    uint64_t *ids; /* of the design in the cell */
} halley_heat;

/* The best design for each value of one axis; the plan and all other axes are free. */
typedef struct halley_slice {
    uint32_t axis;
    uint32_t n;
    halley_candidate *best; /* values without a feasible design are left out */
    halley_roofline
        *roofline; /* one per design; NULL unless the axis changes the roofline */
} halley_slice;

/* Result of simulating one of the best designs; the i-th belongs to best[i]. */
typedef struct halley_verification {
    bool done;
    double estimated_s, simulated_s; /* of what was simulated */
    uint32_t dp, simulated_dp;       /* replicas of the design; of the simulation */
    char note[160];                  /* fewer replicas, or why it was not done */
} halley_verification;

typedef struct halley_exploration {
    size_t size;                      /* filled by the library, see error.h */
    double n_designs;                 /* in the space */
    uint64_t n_evaluated, n_feasible; /* counting refusals */
    uint64_t n_resumed;               /* taken from the store */
    uint32_t n_refusals;
    halley_refusal *refusals; /* most frequent first */
    uint32_t n_best;
    halley_candidate *best; /* by the first objective, best first */
    uint32_t n_front;
    halley_candidate *front; /* Pareto-optimal designs by the first objective; only with
                                several objectives */
    uint32_t n_axes;
    halley_marginal *marginals[HALLEY_MAX_AXES];
    uint32_t n_sensitivities;
    halley_sensitivity *sensitivities; /* largest swing first */
    uint32_t n_breaks;
    halley_break_even *breaks;
    uint32_t n_heats;
    halley_heat *heats;
    uint32_t n_slices;
    halley_slice *slices; /* of axes with 2 to 24 values */
    uint32_t n_verified;
    halley_verification *verified;
    bool has_baseline;
    halley_candidate baseline;
    char baseline_refused[160]; /* why the study's baseline is infeasible; "" = it is
                                   feasible */
    double seconds;             /* run time of the exploration; not part of any result */
    void *memory;               /* holds marginals and heats */
    double headroom;            /* share of memory that must stay free */
    double tokens;              /* of the training run that train_s is for */
    uint32_t n_settled;         /* designs evaluated again, pass by pass */
    uint32_t n_refused_values;
    halley_refused_value *refused_values; /* of axes with up to 64 values */
    /* Defaults that the best design uses because the study neither sets nor varies them,
     * in words. */
    uint32_t n_assumed;
    halley_assumption assumed[HALLEY_MAX_ASSUMED];
} halley_exploration;

/* Zero in every field is the default. */
typedef struct halley_explore_opts {
    uint32_t threads; /* 0 = one per core */
    uint32_t top;     /* best designs to keep; 0 = 20 */
    /* For a job of several processes, set by halley_explore_join; zero = only this
     * process. */
    uint32_t rank, n_ranks;
    struct halley_job *job;
    const char *store; /* SQLite file; NULL = keep nothing */
    bool resume;       /* continue the store's run; else an existing store is refused */
    const halley_watch *watch; /* progress in designs, and cancellation; NULL = none */
} halley_explore_opts;

/*
 * Join the other processes if mpirun or srun started this one as one of several.
 * Otherwise rank is 0 and n_ranks is 1. Only a job of several processes opens the plug-in
 * libhalley-mpi.so (the environment variable HALLEY_PLUGINS names its folder). The call
 * fails if the plug-in is missing.
 *
 * Every process must then load the same study and run it with these options. Rank 0 gets
 * the result and owns the store; the others get *out = NULL. Always leave at the end,
 * also after an error. A process fails when it hears nothing from rank 0 for
 * HALLEY_MPI_PATIENCE seconds (environment variable; default 60).
 */
halley_status halley_explore_join(halley_explore_opts *opts, halley_error *err);
void halley_explore_leave(halley_explore_opts *opts);

/* Evaluate the study. The result depends neither on the number of threads nor on
 * interruptions. On success the caller owns *out. After cancellation the call ends within
 * 0.2 s with HALLEY_ECANCELED and leaves a store from which `resume` continues. */
halley_status halley_explore_run(halley_exploration **out, const halley_study *study,
                                 const halley_explore_opts *opts, halley_error *err);
void halley_exploration_free(halley_exploration *exploration);

/* What a run would cost, extrapolated from a sample of the space. */
typedef struct halley_dry_run {
    size_t size;                     /* filled by the library, see error.h */
    double n_designs, n_to_evaluate; /* all; those that the search evaluates */
    uint64_t n_sampled, n_feasible;  /* of the sample */
    double designs_per_s, seconds;   /* measured on the sample; expected for the run */
    uint32_t n_refusals;
    halley_refusal refusals[16]; /* of the sample */
    uint64_t room[HALLEY_ROOM];  /* reserved for new members; 0 */
} halley_dry_run;
halley_status halley_explore_dry_run(halley_dry_run *out, const halley_study *study,
                                     uint32_t threads, halley_error *err);

/* The keys of a study file, from the tables that read it; false past the last. `section`
 * is "" for the file itself, else the key of a map or list. `choices` ends with NULL; it
 * is NULL if any value is allowed. */
typedef struct halley_study_key {
    const char *key, *doc;
    bool required;
    const char *const *choices;
    const char *by_default, *example; /* as files write them; NULL = none */
} halley_study_key;
bool halley_study_keys(halley_study_key *out, const char *section, size_t i);

/* All parameters that a study may vary, for help and manual; false past the last. */
typedef struct halley_parameter {
    char path[48];
    const char *unit, *doc; /* lent, static */
} halley_parameter;
bool halley_explore_parameter(halley_parameter *out, size_t i);

/* A query of a store. */
typedef struct halley_results_opts {
    uint32_t top;    /* best designs; 0 = 10 */
    const char *sql; /* any query, instead of `top`; the store is opened read-only */
    bool all;        /* every column */
    bool raw;        /* full precision and base units, for programs */
} halley_results_opts;

typedef struct halley_results_summary {
    size_t size; /* filled by the library, see error.h */
    char study[128], objective[128], version[32];
    bool maximize, complete;
    uint64_t n_evaluated, n_feasible;
    uint64_t room[HALLEY_ROOM]; /* reserved for new members; 0 */
} halley_results_summary;

/* A query without rows makes one call in which `values` is NULL. Everything is lent. A
 * NULL value is an SQL null. */
typedef struct halley_results_row {
    uint32_t n;
    const char *const *names, *const *values;
    const bool *is_number; /* for each value of this row */
} halley_results_row;

/* Pass each row of the answer to `seen`, which returns false if memory runs out. */
halley_status halley_results_query(halley_results_summary *out, const char *store,
                                   const halley_results_opts *opts,
                                   bool (*seen)(void *context,
                                                const halley_results_row *row),
                                   void *context, halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
