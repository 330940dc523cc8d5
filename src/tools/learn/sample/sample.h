/*
 * learn/sample/sample.h - samples new sets from a model: conditions, programs, numbers,
 * ranks.
 */
#ifndef LEARN_SAMPLE_SAMPLE_H
#define LEARN_SAMPLE_SAMPLE_H

#include "base/rng.h"
#include "halley/learn.h"
#include "learn/model/joint.h"
#include "learn/program.h"

/* What the user fixes for a new set. */
typedef struct sample_wish {
    conditions fixed;
    uint32_t n_ranks;      /* 0 = drawn */
    double compute, bytes; /* sums over all ranks; 0 = drawn */
    bool extrapolate;
    const joint_row *plan; /* values to start from where nothing is fixed; or NULL */
} sample_wish;

/* Fixes one more condition, for example "layers=12". */
halley_status sample_wish_add(sample_wish *wish, const synth_model *m, const char *text,
                              halley_error *err);
/* True if neither conditions nor ranks are fixed. */
bool sample_is_free(const sample_wish *wish);
/* Draws the values of n sets of a folder for which nothing is fixed: see
 * sample_plan.c. */
halley_status sample_plan(joint_row *out, size_t n, const synth_model *m, uint64_t seed,
                          uint32_t n_threads, halley_error *err);
/* The expected size of one rank of a set with these values: the sum of its durations in
 * microseconds, and its operations. */
void sample_row_size(double *time, double *operations, const synth_model *m,
                     const joint_row *row);

const synth_model *sample_model_of(const halley_synth *synth);
/* sample_wish_of returns what the user fixed. sample_wish_load fixes only what a
 * conditions file contains. */
const sample_wish *sample_wish_of(const halley_synth *synth);
halley_status sample_wish_load(sample_wish *out, const halley_synth *synth,
                               const char *path, halley_error *err);

/* Facts about a model that are computed once. */
typedef struct sample_traits {
    bool decides[MODEL_CONDITIONS]; /* the condition's value distinguishes templates */
} sample_traits;
void sample_traits_make(sample_traits *t, const synth_model *m);

/* Checks that the fixed parallel degrees divide the fixed number of ranks. */
halley_status sample_wish_fits(const synth_model *m, const sample_wish *wish,
                               halley_error *err);
/* Refuses values that were never seen (EINVAL); the error lists those that were. */
halley_status sample_wish_check(const synth_model *m, const sample_wish *wish,
                                halley_error *err);

/* The outline of a set. */
typedef struct sample_outline {
    conditions conditions;
    uint32_t template, n_ranks, n_stages;
    bool is_drawn;  /* the template was drawn with the conditions */
    bool is_scaled; /* no template fits: this is the nearest one, see sample_scale.c */
} sample_outline;
void sample_outline_make(sample_outline *out, const synth_model *m,
                         const sample_traits *traits, const sample_wish *wish,
                         rng *random);

/* The predicted number of a whole set under these conditions (FIELD_RANKS and so on),
 * and the spread of its logarithm, which is infinite when no law predicts the number. */
double sample_set_value(const synth_model *m, const conditions *c, uint32_t field,
                        double *spread);
/* sample_part: the skeleton of a stage. sample_counts: the iterations of its loops;
 * returns how badly the skeleton fits (0 = well). sample_length: the nodes of a rank,
 * with loops expanded. */
uint32_t sample_part(const synth_model *m, uint32_t template, uint32_t stage,
                     uint32_t n_stages);
double sample_counts(uint32_t *counts, const synth_model *m, const model_skeleton *s,
                     const law_point *p, uint32_t stage, uint32_t n_stages);
double sample_length(const synth_model *m, const model_skeleton *s,
                     const uint32_t *counts);
enum { SAMPLE_MAX_LOOPS = 4096 };

/* A node of a stage. */
typedef struct sample_node {
    uint32_t token, op;
    uint32_t first_value;               /* in values: one per field */
    uint32_t first_dep, n_data, n_deps; /* in deps: data, then control dependencies */
    /* Collectives: index of the kind of group, MODEL_NONE = all ranks. Messages:
     * distance of the peer in ranks, upwards. */
    uint32_t where;
    uint32_t tag;
} sample_node;

typedef ARRAY(sample_node) sample_nodes;
typedef struct sample_stage {
    sample_nodes nodes;
    ARRAY(double) values;
    synth_u32s deps;
    uint64_t n_left_out; /* messages and collectives without partners */
} sample_stage;

/* A kind of group: `size` ranks at distance `stride`. */
typedef struct sample_kind {
    uint32_t size, stride;
    uint32_t first_id; /* id of its first group; ids count from 1 */
} sample_kind;

typedef struct sample_set {
    const synth_model *m;
    sample_outline outline;
    uint32_t block; /* ranks per stage */
    ARRAY(sample_stage) stages;
    ARRAY(sample_kind) kinds;
    rng random;
    bool extrapolate, safe; /* safe: no messages, and collectives within stages only */
    /* collectives of a group depend on each other. Otherwise ranks of different speed
     * may start them in different orders. */
    bool in_order;
    uint32_t max_nodes; /* of one rank; 0 = 50 million */
} sample_set;
void sample_set_fini(sample_set *s);
/* The dependencies of a node: n references. */
const model_ref *sample_refs(const sample_set *s, uint32_t token, uint32_t *n);

/* Writes the programs of the stages, as tokens. */
halley_status sample_programs(sample_set *s, halley_error *err);
/* Draws the numbers of the nodes. */
halley_status sample_values(sample_set *s, halley_error *err);
/* Scales numbers so that their sums follow the laws of whole sets under these
 * conditions. This applies to the bytes of every set, and to operations and time if the
 * template is only the nearest one. */
void sample_fit_totals(sample_set *s);
/* Scales to the sums over all ranks that the user asked for. ELIMIT: a number becomes
 * too large. */
halley_status sample_scale_totals(sample_set *s, const sample_wish *wish,
                                  halley_error *err);
/* Drops communication without a partner, and numbers groups and tags. */
halley_status sample_match(sample_set *s, halley_error *err);
/* True if a node is a collective of all ranks. */
bool sample_of_all(const sample_set *s, const sample_node *node);
/* Resolves the dependencies. */
halley_status sample_deps(sample_set *s, halley_error *err);
/* Makes the trace of one rank. */
halley_status sample_trace(halley_trace **out, const sample_set *s, uint32_t rank,
                           halley_error *err);

/* Makes a set that passes the check across ranks. *s is what it was made from. The
 * caller owns both. */
halley_status sample_make(halley_trace_set **out, sample_set *s,
                          const halley_synth *synth, const sample_wish *wish,
                          const halley_synth_opts *opts, halley_error *err);
void sample_sum_up(halley_synth_summary *out, const sample_set *s);
/* Lists the groups of ranks that the set's collectives use. `to` must be empty. */
halley_status sample_groups(trace_groups *to, const sample_set *s, halley_error *err);

#endif
