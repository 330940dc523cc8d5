/* learn/learn_set.h - one set of ranks added to what is learned. */
#ifndef LEARN_LEARN_SET_H
#define LEARN_LEARN_SET_H

#include "learn/model/conditions.h"
#include "learn/noise.h"
#include "learn/program.h"

typedef struct learn_total {
    uint64_t key; /* of the special law */
    law_place at;
    double n, zeros, sum, square;
    double least, most; /* logarithms */
    double mean;
    double widen; /* deviations from a mean of few are too small by this factor */
    uint32_t law[LAW_LEVELS];
} learn_total;

typedef struct learn_value {
    uint32_t total;
    float log;
} learn_value;

/* Nodes of an operator between two others that have side nodes: which, and how many
 * of the last stage (from 1) that had any. */
typedef struct learn_spot {
    law_place at;
    uint32_t first, stage, n;
} learn_spot;
typedef struct learn_side {
    uint32_t token, next; /* of the same spot, or MODEL_NONE */
    uint32_t stage, n;
} learn_side;

/* Memory kept from set to set. */
typedef struct learner {
    synth_model m;
    synth_reader reader;
    synth_program program;
    synth_folded folded;
    map64 total_of;
    ARRAY(learn_total) totals;
    ARRAY(learn_value) values;
    ARRAY(uint64_t) keys;      /* by rank: of its program */
    ARRAY(synth_group) groups; /* of the set */
    map64 group_of;
    map64 side_of;           /* skeleton and token → side of the model */
    map64 spot_of;           /* place → spot */
    ARRAY(learn_spot) spots; /* places with side nodes */
    ARRAY(learn_side) sides; /* and of which tokens */
    synth_u32s live;         /* spots of the stage at hand */
    synth_u32s token_stage;  /* by token: the last stage that had it as a side node */
    uint32_t n_stages;       /* learned */
    synth_u32s parts;        /* skeletons of the set's stages */
    double operations;       /* of one rank of each of them, about */
    double bytes;            /* the same */
    uint64_t n_told;         /* nodes of the set's stages */
    noise_finder *noise;     /* NULL: not looked for */
    struct neural_recorder *recorder; /* NULL: no network is learned */
} learner;

/* The numbers of a node of the trace at hand: its operator's fields, then size and
 * stride of its group, or the distance of its peer. NAN: not known. Returns how many. */
enum { LEARN_VALUES = 16 };
uint32_t learner_values(double out[LEARN_VALUES], const learner *l,
                        const halley_trace *trace, uint32_t node, uint32_t rank);
/* A field of a node, by which times might be recorded finer than was known. */
void learner_see_grain(learner *l, const model_op *op, uint32_t field, double value);
/* What the durations of a rank add up to, over the stages on average. */
double learner_time_us(const halley_trace_set *set, uint32_t block);
/* What skeletons, templates and sides are found by: their symbols, or skeletons; both. */
uint64_t learner_symbols_key(const uint32_t *symbols, uint32_t n);
uint64_t learner_template_key(const uint32_t *parts, uint32_t n);
uint64_t learner_side_key(const model_side *s);
halley_status learner_init(learner *l, halley_error *err);
void learner_fini(learner *l);
/* The program of a rank, in l->program. */
halley_status learner_read(learner *l, const halley_trace_set *set, uint32_t rank,
                           halley_error *err);
/* How many ranks make a stage. */
halley_status learner_block(uint32_t *out, learner *l, const halley_trace_set *set,
                            halley_error *err);
/* Conditions read off a set that says nothing about itself. */
halley_status learner_derive(conditions *out, learner *l, const halley_trace_set *set,
                             uint32_t block, halley_error *err);
/* A first look at a set, the number-th (from 1): what repeats in it. */
halley_status learner_look(learner *l, const halley_trace_set *set, uint32_t number,
                           halley_error *err);
/* groups_path may be NULL: then groups are who uses them. */
halley_status learner_add(learner *l, const halley_trace_set *set, const conditions *c,
                          const char *groups_path, halley_error *err);

#endif
