/*
 * learn/model/model.h - what is learned of trace sets, and what of it is kept.
 *
 * A set is seen as stages: blocks of consecutive ranks that do the same up to the
 * numbers of their peers and groups. What a stage does is its program: operators in the
 * order of the file, each with its dependencies as references relative to where it
 * stands, repeats folded into loops. A program without its loop counts is a skeleton; the
 * skeletons of a set's stages are its template. Loop counts, sizes, durations, group
 * sizes and distances to peers are laws: products of powers of the set's conditions.
 *
 * All of it is arrays of plain structs (without holes, so that equal models are equal
 * bytes) that name each other by index, so that one table of sections (model_file.c)
 * writes and reads a model. What only a learner has (accumulators) is in no file.
 */
#ifndef LEARN_MODEL_MODEL_H
#define LEARN_MODEL_MODEL_H

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/str.h"
#include "halley/trace.h"

#define MODEL_NONE UINT32_MAX

enum {
    MODEL_VERSION = 9,
    MODEL_FEATURES = 34, /* of a law: see model_feature */
    MODEL_PAIRS = MODEL_FEATURES * (MODEL_FEATURES + 1) / 2,
    MODEL_BUCKETS = 64, /* of a histogram of deviations, MODEL_WIDTH wide in log */
    MODEL_CIRCLE = 2 * MODEL_BUCKETS,
    MODEL_ENDS = 8, /* of a law's numbers that are remembered */
    MODEL_CONDITIONS = 24,
    MODEL_VALUES = 32, /* of a condition, each with its own count; the last: absent */
    MODEL_ABSENT = MODEL_VALUES - 1,
};
#define MODEL_WIDTH 0.125

/* The first features are the same in every law; the others are conditions. */
enum { FEATURE_ONE, FEATURE_FIRST, FEATURE_LAST, FEATURE_CONDITIONS };

/* Numeric conditions as factors: the 0th is 1, the i-th the condition of the feature
 * FEATURE_CONDITIONS + i - 1. */
enum {
    MODEL_FACTORS = MODEL_FEATURES - FEATURE_CONDITIONS + 1,
    MODEL_TERM = 3,     /* factors of a product */
    MODEL_SAMPLES = 24, /* of a loop's counts */
};

typedef struct model_text {
    uint32_t at, n; /* in chars */
} model_text;

/* A number that nodes of an operator carry. `name` MODEL_NONE: duration_micros. */
typedef struct model_field {
    uint32_t name; /* text */
    uint32_t kind; /* halley_attr_kind, or 0 */
} model_field;

/* A class of nodes. */
typedef struct model_op {
    uint64_t key;  /* of all below up to the fields, by content */
    uint32_t name; /* text, digits as # */
    uint8_t type;  /* halley_node_type */
    uint8_t comm;  /* halley_coll_type, or 255 */
    uint8_t cpu;   /* is_cpu_op 0 or 1; 2 = has none */
    uint8_t flags; /* MODEL_OP_* */
    uint32_t first_field, n_fields;
    uint32_t n_sets, last_set; /* how many sets have it; the last one, from 1 */
} model_op;
enum {
    MODEL_OP_GROUP = 1,   /* a collective of some ranks */
    MODEL_OP_FORWARD = 2, /* a message to or from a higher rank */
    MODEL_OP_TAGGED = 4,
    MODEL_OP_LOOKS = 7,  /* those above, by which operators are distinguished */
    MODEL_OP_PAUSE = 16, /* comes and goes: see noise.h */
    MODEL_OP_LOOSE = 32, /* not all its nodes have all its fields, which are no part of
                            the key either */
};

/* How a dependency names its node. */
typedef enum model_ref_kind {
    REF_BACK,   /* n nodes before */
    REF_RECENT, /* the n-th last of an operator, from 0 */
    REF_STACK,  /* the last of an operator that nothing depends on yet */
    REF_QUEUE,  /* the first such */
    REF_ALL,    /* all such */
    REF_NEXT,   /* of a side node: who waits for it, the n-th next of an
                   operator, from 0; ctrl: instead of for what this one waits for */
    REF_N_KINDS
} model_ref_kind;

typedef struct model_ref {
    uint8_t kind; /* model_ref_kind */
    uint8_t ctrl; /* 1: a control dependency */
    uint16_t n;
    uint32_t op; /* MODEL_NONE for REF_BACK */
} model_ref;

/* An operator with its dependencies, without the control dependencies that follow from
 * others: those say nothing about the order of things, and may differ from run to run. */
typedef struct model_token {
    uint32_t op;
    uint32_t first_ref, n_refs;
    uint32_t n_sets, last_set;
} model_token;

/* Symbols of a skeleton: tokens, and loops as brackets. */
#define SYMBOL_OPEN (UINT32_MAX - 1)
#define SYMBOL_CLOSE (UINT32_MAX - 2)
#define SYMBOL_END (UINT32_MAX - 3) /* of a program: no token is that or more */

typedef struct model_skeleton {
    uint64_t key;
    uint32_t first, n;            /* in symbols */
    uint32_t first_loop, n_loops; /* in loop_ids, in the order of their brackets */
    uint32_t n_sets, last_set;
} model_skeleton;

/* A token of side nodes, of which a skeleton's sets have some; of pauses,
 * sets of any skeleton (MODEL_NONE). */
typedef struct model_side {
    uint32_t skeleton, token;
    uint32_t n_sets, last_set;
} model_side;

/* The skeletons of a set's stages; that of the middle ones stands once. */
typedef struct model_template {
    uint64_t key;
    uint32_t first, n; /* in parts */
    uint32_t longest;  /* which part the middle stages share */
    uint32_t most;     /* stages that shared it, at most; 1 = it is no repeat */
    uint32_t n_sets, zero;
    uint32_t values[MODEL_CONDITIONS][MODEL_VALUES]; /* sets by value of a condition */
} model_template;

/* What a body of a loop looks like, to know it again where it runs once. */
typedef struct model_body {
    uint64_t first, key; /* hash of its first symbol, of all */
    uint32_t n, zero;    /* symbols */
    uint32_t n_sets, last_set;
} model_body;

/* exp(sum of coefficient x feature), or 0 with some probability. */
typedef struct model_law {
    uint64_t key;
    uint32_t n_sets, last_set;
    float none;        /* share of nodes that are 0 where not all are */
    float zero;        /* share of sets in which all are */
    float spread;      /* standard deviation of log between sets, unexplained */
    float within;      /* the same between nodes of a set */
    float low, high;   /* where log means of sets are */
    float least, most; /* where log values of nodes are; not so: not known */
    uint32_t plain;    /* 1: sets do not differ, all nodes are drawn alike */
    uint32_t unused;
    float hist[MODEL_BUCKETS]; /* share of nodes by deviation from their set's mean, or
                                  (plain) from the law's */
    double coefficient[MODEL_FEATURES];
} model_law;

/* times x product + times x product + plus, less what stages after and before take. */
typedef struct model_count_law {
    double times[2], plus;
    uint8_t factor[2][MODEL_TERM];
    int8_t power[2][MODEL_TERM]; /* 1 or -1 */
    int8_t behind, before;
    uint8_t n_terms, is_found; /* is_found 0: there is no such law */
} model_count_law;

/* A loop's count: exact, else the law of the coefficients within the range seen. All
 * loops with the same body between the same neighbours follow one law. */
typedef struct model_loop {
    uint64_t key;
    uint32_t n_sets, last_set;
    float error;        /* root mean square, in iterations */
    uint32_t low, high; /* counts seen, to powers of two */
    uint32_t zero;
    double coefficient[MODEL_FEATURES];
    model_count_law exact;
} model_loop;

/* Sums of laws and loops while learning; same index. */
typedef struct model_sum {
    double n, zeros, xx[MODEL_PAIRS], xy[MODEL_FEATURES], yy, within, n_within;
    double noise, n_single; /* squares of how unsure means are; sets with one node */
    double n_nodes, n_none; /* of sets in which not all are 0; that are 0 */
    /* of different sets, the smallest and largest log means, and log values of nodes */
    float ends[4][MODEL_ENDS];
    uint32_t n_ends[4];
    double hist[MODEL_BUCKETS];
    double circle[MODEL_CIRCLE]; /* nodes by their logarithm: see law_circle_at */
} model_sum;
/* Counts of a loop, and the factors they were under. */
typedef struct model_sample {
    uint64_t hash; /* of all of it: the smallest are kept */
    uint32_t count, stage, n_stages, zero;
    float x[MODEL_FACTORS];
} model_sample;
typedef struct model_samples {
    uint32_t n, zero;
    model_sample at[MODEL_SAMPLES]; /* in the order of their hashes */
} model_samples;
typedef struct model_loop_sum {
    double n, xx[MODEL_PAIRS], xy[MODEL_FEATURES], yy;
    double total, low, high; /* of the counts; high 0: none yet */
    model_samples samples;
} model_loop_sum;

typedef struct model_value {
    double number;    /* numeric conditions; a mean where too few sets have it */
    double spread;    /* of a mean: standard deviation of the logarithms */
    uint32_t text;    /* other conditions */
    uint32_t n_sets;  /* that have it or, of all, are nearest to it */
    uint32_t n_exact; /* that have it; 0 = a mean */
    uint32_t feature; /* other conditions: its own, or MODEL_NONE */
} model_value;

typedef struct model_condition {
    uint32_t name; /* text */
    uint32_t is_text;
    uint32_t feature; /* numeric: its logarithm; MODEL_NONE = none left */
    uint32_t n_sets, n_values;
    uint32_t broken;                  /* numeric: not all are whole numbers */
    double low, high;                 /* numeric: the range seen */
    model_value values[MODEL_VALUES]; /* nearest one counts when all are taken */
} model_condition;

/* The conditions of a set, while learning: numbers, or which value a text is; NAN = none.
 */
typedef struct model_portrait {
    double number[MODEL_CONDITIONS];
    uint32_t template, zero;
} model_portrait;

/* Trees of questions, one for each condition: see joint.c. The branch for "no" stands
 * after that for "yes". */
typedef struct model_root {
    uint32_t of, branch; /* of: a condition, or JOINT_TEMPLATE */
} model_root;
typedef struct model_branch {
    uint32_t by, value, equal; /* by MODEL_NONE: a leaf */
    uint32_t yes, parent;      /* MODEL_NONE: none */
    uint32_t first, n;         /* in shares */
    uint32_t n_sets;
} model_branch;
typedef struct model_share {
    uint32_t first, last; /* values */
    uint32_t n_sets;
} model_share;

/* One of each. */
typedef struct model_head {
    uint32_t version, min_support, n_sets, n_skipped;
    uint32_t n_features, n_bare, n_templates; /* n_templates: seen */
    uint32_t grain_ns; /* all durations in ns are multiples; 0: there were none */
    uint64_t n_nodes, n_traces;
} model_head;

/* A network, where there is one: how features of conditions are put to it. */
enum { MODEL_NET_VERSION = 3, MODEL_NET_FEATURES = 48 };
typedef struct model_net {
    uint32_t version;
    uint32_t max_items, max_nodes; /* of a program, without and with its repeats */
    uint32_t zero;
    float mean[MODEL_NET_FEATURES], scale[MODEL_NET_FEATURES];
} model_net;

/* Logarithms of the smallest and largest value of a number, to an eighth; of a total of a
 * program: how far its law is off, and the largest. */
typedef struct model_range {
    float low, high;
} model_range;

typedef struct synth_model {
    ARRAY(char) chars;
    ARRAY(model_text) texts;
    ARRAY(model_field) fields;
    ARRAY(model_op) ops;
    ARRAY(model_ref) refs;
    ARRAY(model_token) tokens;
    ARRAY(uint32_t) symbols;
    ARRAY(uint32_t) loop_ids; /* loops of skeletons */
    ARRAY(model_loop) loops;
    ARRAY(model_skeleton) skeletons;
    ARRAY(model_side) sides; /* by skeleton */
    ARRAY(uint32_t) parts;   /* skeletons of templates */
    ARRAY(model_template) templates;
    ARRAY(model_body) bodies;
    ARRAY(model_law) laws;
    ARRAY(model_condition) conditions;
    ARRAY(model_root) roots; /* in the order in which conditions are drawn */
    ARRAY(model_branch) branches;
    ARRAY(model_share) shares;
    ARRAY(model_portrait) portraits;
    ARRAY(model_sum) sums;
    ARRAY(model_loop_sum) loop_sums;
    ARRAY(model_head) head;
    ARRAY(model_net) net_head;     /* one, or none: no network */
    ARRAY(model_range) net_ranges; /* of its numbers, of loops, of totals */
    ARRAY(float) net;              /* its parameters, then its laws of totals */
    /* made from the arrays */
    map64 text_of, op_of, token_of, skeleton_of, template_of, body_of, law_of, loop_of;
} synth_model;

halley_status synth_model_init(synth_model *m, halley_error *err);
void synth_model_fini(synth_model *m);

/* Whether a file of that name can be written, and none that is no model would be lost. */
halley_status synth_model_may_save(const char *path, halley_error *err);
/* Without accumulators. Atomic. */
halley_status synth_model_save(const synth_model *m, const char *path, halley_error *err);
/* Checks everything: *m can be used without looking at an index again. */
halley_status synth_model_load(synth_model *m, const char *path, halley_error *err);
halley_status synth_model_parse(synth_model *m, const uint8_t *at, size_t n,
                                halley_error *err);

/* Of what follows the header of a file; for the fuzzer, which mends it. */
uint64_t synth_model_hash(const uint8_t *at, size_t n);

str synth_text(const synth_model *m, uint32_t text);
uint32_t synth_text_add(synth_model *m, str text); /* MODEL_NONE: no memory */
/* The key of an operator by what it is, of a token by its operator and references. */
uint64_t synth_op_key(const synth_model *m, const model_op *op,
                      const model_field *fields);
/* Whether a field of the operator with this key is a time. */
bool synth_is_duration(const synth_model *m, uint64_t op_key, uint32_t field);
/* Which field of an operator, the duration aside, has this name; MODEL_NONE: none. */
uint32_t synth_field_of(const synth_model *m, const model_op *op, str name);
/* Whether nodes of the token are side nodes: who waits for them, else NULL. */
const model_ref *synth_side_waiter(const synth_model *m, uint32_t token);
/* The field of a node for how many side nodes of such a token it has. */
#define FIELD_BESIDE UINT32_C(0x80000000)
#define FIELD_PAUSES UINT32_C(0xc0000000)
uint32_t synth_side_field(const synth_model *m, uint32_t token);
/* How many sets could have a side node: those of the skeleton, or with who waits.
 */
uint32_t synth_side_sets(const synth_model *m, const model_side *s);
uint64_t synth_token_key(uint32_t op, const model_ref *refs, uint32_t n);
/* The token, new or old; MODEL_NONE: no memory. */
uint32_t synth_token_add(synth_model *m, uint32_t op, const model_ref *refs, uint32_t n);
/* Which laws a value follows, from the most special to the most general: of the program
 * between these operators (message sizes only), of the family there, of any family, of
 * the family anywhere. Keys of skeletons and operators, hash of the family's name. */
enum { LAW_LEVELS = 4 };
typedef struct law_place {
    uint64_t family, program, op, before, after; /* program 0 = does not matter */
    uint32_t field; /* index in the operator's, or one of FIELD_* */
} law_place;
uint64_t synth_law_key(const law_place *at, uint32_t level);
/* Pseudo fields of communication. */
enum {
    FIELD_GROUP_SIZE = 1000,
    FIELD_GROUP_STRIDE,
    FIELD_PEER,
    FIELD_STAGES,
    FIELD_RANKS,
    FIELD_NODES,
    FIELD_TOGETHER,         /* sums of conditions with each other, while learning */
    FIELD_TIME,             /* of a rank: all its durations, microseconds */
    FIELD_OPERATIONS,       /* of a rank: all that it computes */
    FIELD_BYTES,            /* of one of several ranks: what it sends */
    FIELD_CONDITION = 2000, /* and on: a condition from those before it */
};
/* Laws of whole sets: of a family (hash of its name), or of all (0). */
uint64_t synth_set_law_key(uint64_t family, uint32_t field);

static inline uint32_t model_pair_index(uint32_t i, uint32_t j)
{
    return i <= j ? j * (j + 1) / 2 + i : i * (i + 1) / 2 + j;
}

#endif
