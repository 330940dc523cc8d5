/* learn/sample/sample.h - new sets from a model: conditions, programs, values, ranks. */
#ifndef LEARN_SAMPLE_SAMPLE_H
#define LEARN_SAMPLE_SAMPLE_H

#include "base/rng.h"
#include "halley/learn.h"
#include "learn/model/joint.h"
#include "learn/program.h"

/* What the user fixes, and what was chosen in the end. */
typedef struct sample_wish {
    conditions fixed;
    uint32_t n_ranks;      /* 0 = as it comes */
    double compute, bytes; /* over all ranks; 0 = as they come */
    bool extrapolate;
    const joint_row *plan; /* what is drawn first, where nothing is fixed; or NULL */
} sample_wish;

/* Fix one more: "layers=12". */
halley_status sample_wish_add(sample_wish *wish, const synth_model *m, const char *text,
                              halley_error *err);
/* Whether all comes as it may. */
bool sample_is_free(const sample_wish *wish);
/* Values for n sets of a folder for which nothing is fixed: see sample_plan.c. */
halley_status sample_plan(joint_row *out, size_t n, const synth_model *m, uint64_t seed,
                          uint32_t n_threads, halley_error *err);
/* What is expected of a rank of a set with these values: the sum of its durations, in
 * microseconds, and its operations. */
void sample_row_size(double *time, double *operations, const synth_model *m,
                     const joint_row *row);

const synth_model *sample_model_of(const halley_synth *synth);
/* What was fixed of a model's sets; what a file of conditions fixes, and no more. */
const sample_wish *sample_wish_of(const halley_synth *synth);
halley_status sample_wish_load(sample_wish *out, const halley_synth *synth,
                               const char *path, halley_error *err);

/* What is found out about a model once. */
typedef struct sample_traits {
    bool decides[MODEL_CONDITIONS]; /* its value distinguishes templates */
} sample_traits;
void sample_traits_make(sample_traits *t, const synth_model *m);

/* Whether the parts that a job was cut into can fill the ranks asked for. */
halley_status sample_wish_fits(const synth_model *m, const sample_wish *wish,
                               halley_error *err);
/* Refuse what was never seen: EINVAL and what was. */
halley_status sample_wish_check(const synth_model *m, const sample_wish *wish,
                                halley_error *err);

/* A set in outline. `template` MODEL_NONE: only a network can make it. */
typedef struct sample_outline {
    conditions conditions;
    uint32_t template, n_ranks, n_stages;
    bool is_drawn;  /* the template was drawn with the conditions */
    bool is_scaled; /* no template fits: this is the nearest, see sample_scale.c */
} sample_outline;
void sample_outline_make(sample_outline *out, const synth_model *m,
                         const sample_traits *traits, const sample_wish *wish,
                         rng *random);

/* A number of whole sets under these conditions (FIELD_RANKS and so on), and the spread
 * of its logarithm. */
double sample_set_value(const synth_model *m, const conditions *c, uint32_t field,
                        double *spread);
/* Which skeleton a stage has; iterations of its loops; nodes of a rank (loops expanded).
 */
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
    uint32_t first_value;               /* in values: one a field */
    uint32_t first_dep, n_data, n_deps; /* in deps: data, then control */
    /* collectives: kind of group, MODEL_NONE = all; messages: distance in ranks, upwards
     */
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

/* Groups of `size` ranks at distance `stride`. */
typedef struct sample_kind {
    uint32_t size, stride;
    uint32_t first_id; /* of its groups, which count from 1 */
} sample_kind;

typedef struct sample_set {
    const synth_model *m;
    sample_outline outline;
    uint32_t block; /* ranks of a stage */
    ARRAY(sample_stage) stages;
    ARRAY(sample_kind) kinds;
    ARRAY(model_token) tokens; /* its own, numbered on from those of the model */
    ARRAY(model_ref) refs;     /* of those */
    rng random;
    bool extrapolate, safe; /* safe: no messages, collectives within stages only */
    bool in_order;          /* collectives of a group wait for each other: ranks that are
                               not equally fast begin them in any order else */
    uint32_t max_nodes;     /* of a rank; 0 = 50 million */
} sample_set;
void sample_set_fini(sample_set *s);
/* What a node depends on: n references. */
const model_ref *sample_refs(const sample_set *s, uint32_t token, uint32_t *n);

/* Room for the programs of the stages. */
halley_status sample_stages(sample_set *s, halley_error *err);
/* Where a collective's group or a message's peer is. False: no memory. */
bool sample_place_group(sample_set *s, sample_node *node, double size, double stride);
void sample_place_peer(const sample_set *s, sample_node *node, double distance);
/* The programs of the stages, as tokens. */
halley_status sample_programs(sample_set *s, halley_error *err);
/* Their numbers. */
halley_status sample_values(sample_set *s, halley_error *err);
/* Numbers of a set whose template is the nearest, and its bytes in any case, so that
 * their sums are those of sets with these conditions. */
void sample_fit_totals(sample_set *s);
/* The sums over all ranks that the user asked for; ELIMIT: a number gets too large. */
halley_status sample_scale_totals(sample_set *s, const sample_wish *wish,
                                  halley_error *err);
/* Leave out what has no partner, number groups and tags. */
halley_status sample_match(sample_set *s, halley_error *err);
/* Whether a node is a collective of all ranks. */
bool sample_of_all(const sample_set *s, const sample_node *node);
/* Dependencies. */
halley_status sample_deps(sample_set *s, halley_error *err);
/* One rank as a trace. */
halley_status sample_trace(halley_trace **out, const sample_set *s, uint32_t rank,
                           halley_error *err);

/* A set that passed the check, and what it was made from; both are the caller's. */
halley_status sample_make(halley_trace_set **out, sample_set *s,
                          const halley_synth *synth, const sample_wish *wish,
                          const halley_synth_opts *opts, halley_error *err);
void sample_sum_up(halley_synth_summary *out, const sample_set *s);
/* The groups of ranks that its collectives use, into an empty list. */
halley_status sample_groups(trace_groups *to, const sample_set *s, halley_error *err);

#endif
