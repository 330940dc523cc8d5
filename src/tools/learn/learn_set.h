/* learn/learn_set.h - adds one set of ranks to what is learned. */
#ifndef LEARN_LEARN_SET_H
#define LEARN_LEARN_SET_H

#include "learn/model/conditions.h"
#include "learn/noise.h"
#include "learn/program.h"

typedef struct learn_total {
    uint64_t key; /* of the most special law */
    law_place at;
    double n, zeros, sum, square;
    double least, most; /* logarithms */
    double mean;
    double widen; /* corrects deviations from a mean of n nodes: sqrt(n / (n - 1)) */
    uint32_t law[LAW_LEVELS];
} learn_total;

typedef struct learn_value {
    uint32_t total;
    float log;
} learn_value;

/* A place with side nodes: nodes of one operator between two others. `first` is the
 * first of its learn_side, `n` the number of such nodes in stage number `stage` (from
 * 1). */
typedef struct learn_spot {
    law_place at;
    uint32_t first, stage, n;
} learn_spot;
typedef struct learn_side {
    uint32_t token, next; /* next one of the same spot, or MODEL_NONE */
    uint32_t stage, n;
} learn_side;

/* The learner. Its buffers are reused from set to set. */
typedef struct learner {
    synth_model m;
    synth_reader reader;
    synth_program program;
    synth_folded folded;
    map64 total_of;
    ARRAY(learn_total) totals;
    ARRAY(learn_value) values;
    ARRAY(uint64_t) keys;      /* by rank: hash of its program */
    ARRAY(synth_group) groups; /* of the set */
    map64 group_of;
    map64 side_of;           /* skeleton and token → side of the model */
    map64 spot_of;           /* place → spot */
    ARRAY(learn_spot) spots; /* places with side nodes */
    ARRAY(learn_side) sides; /* tokens of the side nodes at these places */
    synth_u32s live;         /* spots of the current stage */
    synth_u32s token_stage;  /* by token: the last stage that had it as a side node */
    uint32_t n_stages;       /* number of stages learned so far */
    synth_u32s parts;        /* skeletons of the set's stages */
    double operations;   /* sum of the operations of one rank per stage, approximate */
    double bytes;        /* sum of the communication bytes of one rank per stage */
    uint64_t n_told;     /* number of nodes in one rank per stage */
    noise_finder *noise; /* NULL: pauses are not searched for */
} learner;

/* Reads the numbers of a node of the current trace: the fields of its operator, then
 * size and stride of its group, or the distance of its peer. NAN: not known. Returns the
 * number of values. */
enum { LEARN_VALUES = 16 };
uint32_t learner_values(double out[LEARN_VALUES], const learner *l,
                        const halley_trace *trace, uint32_t node, uint32_t rank);
/* Updates the time resolution of the recordings (grain_ns) with a field of a node. */
void learner_see_grain(learner *l, const model_op *op, uint32_t field, double value);
/* The mean over the stages of the sum of a rank's durations, in microseconds. */
double learner_time_us(const halley_trace_set *set, uint32_t block);
/* Keys of skeletons (by symbols), of templates (by skeletons), and of side tokens (by
 * both). */
uint64_t learner_symbols_key(const uint32_t *symbols, uint32_t n);
uint64_t learner_template_key(const uint32_t *parts, uint32_t n);
uint64_t learner_side_key(const model_side *s);
halley_status learner_init(learner *l, halley_error *err);
void learner_fini(learner *l);
/* Reads the program of a rank into l->program. */
halley_status learner_read(learner *l, const halley_trace_set *set, uint32_t rank,
                           halley_error *err);
/* Finds the number of ranks per stage. */
halley_status learner_block(uint32_t *out, learner *l, const halley_trace_set *set,
                            halley_error *err);
/* Derives conditions from the traces of a set that has no conditions. */
halley_status learner_derive(conditions *out, learner *l, const halley_trace_set *set,
                             uint32_t block, halley_error *err);
/* First pass over a set, the number-th (from 1): finds what repeats in it. */
halley_status learner_look(learner *l, const halley_trace_set *set, uint32_t number,
                           halley_error *err);
/* groups_path may be NULL. Then a group consists of the ranks that use it. */
halley_status learner_add(learner *l, const halley_trace_set *set, const conditions *c,
                          const char *groups_path, halley_error *err);

#endif
