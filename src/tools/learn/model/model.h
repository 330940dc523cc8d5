/*
 * learn/model/model.h - the model that is learned from trace sets.
 *
 * The learner divides the ranks of a set into stages. A stage is a block of consecutive
 * ranks that run the same program up to the numbers of their peers and groups.
 *
 *   Operator: a class of nodes that are equal up to their numbers and dependencies.
 *   Token: an operator with its dependencies, written relative to the position of the
 *     node.
 *   Program of a stage: its sequence of tokens, in the order of the file, with repeats
 *     folded into loops.
 *   Skeleton: a program without its loop counts.
 *   Template of a set: the list of the skeletons of its stages.
 *   Side node: a collective or a pause whose number and place depend on sizes or differ
 *     from run to run. It is not part of the program (program.h, noise.h).
 *   Law: predicts a number from the conditions of a set (layers, tensor-parallel degree,
 *     model family and so on). It is a monomial: a constant times powers of the
 *     conditions. Loop counts, sizes, durations, group sizes and distances to peers have
 *     laws.
 *
 * A model is a set of arrays of plain structs that refer to each other by index. The
 * structs have no padding, so equal models are equal bytes. One table of sections
 * (model_file.c) writes and reads all arrays. The accumulators of the learner are not
 * written to the file.
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
    MODEL_VERSION = 11,
    MODEL_FEATURES = 34, /* features of a law, see FEATURE_* */
    MODEL_PAIRS = MODEL_FEATURES * (MODEL_FEATURES + 1) / 2,
    /* buckets of a histogram of deviations; each is MODEL_WIDTH wide in log */
    MODEL_BUCKETS = 64,
    MODEL_CIRCLE = 2 * MODEL_BUCKETS,
    MODEL_ENDS = 8, /* extreme values that a law remembers at each end */
    MODEL_CONDITIONS = 24,
    MODEL_VALUES = 32, /* values of a condition that have a count; the last one: absent */
    MODEL_ABSENT = MODEL_VALUES - 1,
};
#define MODEL_WIDTH 0.125

/* The first features are the same in every law. The others are conditions. */
enum { FEATURE_ONE, FEATURE_FIRST, FEATURE_LAST, FEATURE_CONDITIONS };

/* Numeric conditions as factors of a count law. Factor 0 is the constant 1. Factor i is
 * the condition of feature FEATURE_CONDITIONS + i - 1. */
enum {
    MODEL_FACTORS = MODEL_FEATURES - FEATURE_CONDITIONS + 1,
    MODEL_TERM = 3,     /* factors of a monomial */
    MODEL_SAMPLES = 24, /* counts that are kept of a loop */
};

typedef struct model_text {
    uint32_t at, n; /* in chars */
} model_text;

/* A number that the nodes of an operator carry. `name` MODEL_NONE means
 * duration_micros. */
typedef struct model_field {
    uint32_t name; /* text */
    uint32_t kind; /* halley_attr_kind, or 0 */
} model_field;

/* An operator: a class of nodes. */
typedef struct model_op {
    uint64_t key;  /* hash of the members below, including the fields */
    uint32_t name; /* text, with digits replaced by # */
    uint8_t type;  /* halley_node_type */
    uint8_t comm;  /* halley_coll_type, or 255 */
    uint8_t cpu;   /* is_cpu_op 0 or 1; 2 = the attribute is absent */
    uint8_t flags; /* MODEL_OP_* */
    uint32_t first_field, n_fields;
    uint32_t n_sets, last_set; /* number of sets that contain it; number of the last such
                                  set, from 1 */
} model_op;
enum {
    MODEL_OP_GROUP = 1,   /* a collective of a subset of the ranks */
    MODEL_OP_FORWARD = 2, /* a message to or from a higher rank */
    MODEL_OP_TAGGED = 4,
    MODEL_OP_LOOKS = 7,  /* the flags above, which are part of the key */
    MODEL_OP_ADRIFT = 8, /* its parent (REF_UP) differs from run to run: see noise.h */
    MODEL_OP_PAUSE = 16, /* present in some runs only: see noise.h */
    /* some nodes lack some of the fields; the fields are not part of the key */
    MODEL_OP_LOOSE = 32,
};

/* How a dependency refers to its node. A node is open while no other node depends on
 * it. */
typedef enum model_ref_kind {
    REF_BACK,   /* the node n places before */
    REF_RECENT, /* the n-th last node of an operator, from 0 */
    REF_STACK,  /* the last open node of an operator */
    REF_QUEUE,  /* the first open node of an operator */
    REF_ALL,    /* all open nodes of an operator */
    REF_NEXT,   /* of a side node: its waiter, which is the n-th next node of an operator,
                   from 0. If ctrl is set, the waiter waits for the side node instead of for
                   the dependency of the side node. */
    REF_UP,     /* an ancestor of a data dependency: see model_up. Of a pause: the parent
                   of its waiter. The parent of a node is the first one that it has a
                   control dependency on, or else a data dependency. */
    REF_N_KINDS
} model_ref_kind;

typedef struct model_ref {
    uint8_t kind; /* model_ref_kind */
    uint8_t ctrl; /* 1: a control dependency */
    uint16_t n;
    uint32_t op; /* MODEL_NONE for REF_BACK and REF_UP */
} model_ref;

/* n of a REF_UP: the number of the data dependency (if there is none, the node before),
 * and the number of levels above it. */
enum { MODEL_UP_LEVELS = 64, MODEL_UP_DEPS = 16 };

/* An operator with its dependencies. A control dependency that follows from other
 * dependencies is left out unless it is a REF_UP: it does not constrain the order, and
 * may differ from run to run. */
typedef struct model_token {
    uint32_t op;
    uint32_t first_ref, n_refs;
    uint32_t n_sets, last_set;
} model_token;

/* Symbols of a skeleton: tokens, and a pair of brackets for each loop. */
#define SYMBOL_OPEN (UINT32_MAX - 1)
#define SYMBOL_CLOSE (UINT32_MAX - 2)
#define SYMBOL_END (UINT32_MAX - 3) /* end of a program; all tokens are smaller */

typedef struct model_skeleton {
    uint64_t key;
    uint32_t first, n;            /* in symbols */
    uint32_t first_loop, n_loops; /* in loop_ids, in the order of the opening brackets */
    uint32_t n_sets, last_set;
} model_skeleton;

/* A token of side nodes, and the number of sets of the skeleton that have such nodes.
 * The token of a pause belongs to no skeleton (MODEL_NONE): sets of any skeleton may
 * have it. */
typedef struct model_side {
    uint32_t skeleton, token;
    uint32_t n_sets, last_set;
} model_side;

/* The skeletons of the stages of a set. Consecutive stages with the same skeleton are
 * one part. */
typedef struct model_template {
    uint64_t key;
    uint32_t first, n; /* in parts */
    uint32_t longest;  /* the part that most stages share, usually the middle ones */
    uint32_t most;     /* largest number of stages that shared it; 1 = no part repeats */
    uint32_t n_sets, zero;
    /* number of sets by value of each condition */
    uint32_t values[MODEL_CONDITIONS][MODEL_VALUES];
} model_template;

/* The body of a loop, so that it is recognized where it runs only once. */
typedef struct model_body {
    uint64_t first, key; /* hash of the first symbol, hash of all symbols */
    uint32_t n, zero;    /* number of symbols */
    uint32_t n_sets, last_set;
} model_body;

/* A number is exp(sum of coefficient x feature), or 0 with some probability. */
typedef struct model_law {
    uint64_t key;
    uint32_t n_sets, last_set;
    float none;        /* fraction of nodes that are 0, in sets where some are not */
    float zero;        /* fraction of sets in which all nodes are 0 */
    float spread;      /* unexplained standard deviation of the logarithm between sets */
    float within;      /* standard deviation of the logarithm between nodes of a set */
    float low, high;   /* range of the mean logarithms of sets */
    float least, most; /* range of the logarithms of nodes; unknown unless least < most */
    uint32_t plain;    /* 1: sets do not differ, all nodes come from one distribution */
    uint32_t unused;
    float hist[MODEL_BUCKETS]; /* fraction of nodes by deviation from the mean of their
                                  set or, if plain, from the law */
    double coefficient[MODEL_FEATURES];
} model_law;

/* The count is plus + sum over the terms of times x monomial. A multiple (-1, 0 or 1) of
 * the number of later stages and of the number of earlier stages is subtracted. */
typedef struct model_count_law {
    double times[2], plus;
    uint8_t factor[2][MODEL_TERM];
    int8_t power[2][MODEL_TERM]; /* exponents, 1 or -1 */
    int8_t behind, before;
    uint8_t n_terms, is_found; /* is_found 0: no exact law was found */
} model_count_law;

/* The law of a loop count. The exact law is used if there is one. Otherwise the
 * coefficients are used, limited to the range seen. All loops with the same body and the
 * same neighbours share a law. */
typedef struct model_loop {
    uint64_t key;
    uint32_t n_sets, last_set;
    float error;        /* root mean square error, in iterations */
    uint32_t low, high; /* range of the counts seen, extended to powers of two */
    uint32_t zero;
    double coefficient[MODEL_FEATURES];
    model_count_law exact;
} model_loop;

/* Accumulators of laws and loops during learning, with the index of the law or loop. */
typedef struct model_sum {
    double n, zeros, xx[MODEL_PAIRS], xy[MODEL_FEATURES], yy, within, n_within;
    /* sum of squared standard errors of the means; sets with one node */
    double noise, n_single;
    /* nodes in sets where some node is not 0; nodes there that are 0 */
    double n_nodes, n_none;
    /* the smallest and largest mean logarithms of sets, then the smallest and largest
     * logarithms of nodes; one value per set; the largest ones are stored negated */
    float ends[4][MODEL_ENDS];
    uint32_t n_ends[4];
    double hist[MODEL_BUCKETS];
    double circle[MODEL_CIRCLE]; /* nodes by logarithm: see law_circle_at */
} model_sum;
/* A count of a loop, and the factors of the set in which it was seen. */
typedef struct model_sample {
    uint64_t hash; /* of the whole sample; those with the smallest hashes are kept */
    uint32_t count, stage, n_stages, zero;
    float x[MODEL_FACTORS];
} model_sample;
typedef struct model_samples {
    uint32_t n, zero;
    model_sample at[MODEL_SAMPLES]; /* in ascending order of hash */
} model_samples;
typedef struct model_loop_sum {
    double n, xx[MODEL_PAIRS], xy[MODEL_FEATURES], yy;
    /* sum, minimum and maximum of the counts; high 0: no count yet */
    double total, low, high;
    model_samples samples;
} model_loop_sum;

typedef struct model_value {
    double number;    /* numeric conditions; a mean if too few sets share a number */
    double spread;    /* of a mean: standard deviation of the logarithms */
    uint32_t text;    /* text conditions */
    uint32_t n_sets;  /* sets that have this value or for which it is the nearest */
    uint32_t n_exact; /* sets that have exactly this value; 0 = a mean */
    uint32_t feature; /* text conditions: the feature of this value, or MODEL_NONE */
} model_value;

typedef struct model_condition {
    uint32_t name; /* text */
    uint32_t is_text;
    /* numeric: the feature of its logarithm; MODEL_NONE = none was free */
    uint32_t feature;
    uint32_t n_sets, n_values;
    uint32_t broken;                  /* numeric: some values are fractions */
    double low, high;                 /* numeric: the range seen */
    model_value values[MODEL_VALUES]; /* if all are in use, the nearest one counts */
} model_condition;

/* The conditions of one set, kept during learning. A text is stored as the index of its
 * value. NAN means that the set does not have the condition. */
typedef struct model_portrait {
    double number[MODEL_CONDITIONS];
    uint32_t template, zero;
} model_portrait;

/* Decision trees, one per condition: see joint.c. The branch for "no" follows the one
 * for "yes". */
typedef struct model_root {
    uint32_t of, branch; /* of: a condition, or JOINT_TEMPLATE */
} model_root;
typedef struct model_branch {
    uint32_t by, value, equal; /* question about condition `by`; by MODEL_NONE: a leaf */
    uint32_t yes, parent;      /* branch indexes; MODEL_NONE: none */
    uint32_t first, n;         /* in shares */
    uint32_t n_sets;
} model_branch;
typedef struct model_share {
    uint32_t first, last; /* range of values */
    uint32_t n_sets;
} model_share;

/* The single record of facts about the whole model. */
typedef struct model_head {
    uint32_t version, min_support, n_sets, n_skipped;
    uint32_t n_features, n_bare, n_templates; /* n_bare: sets without conditions;
                                                 n_templates: seen before pruning */
    uint32_t grain_ns; /* all durations in ns are multiples of this; 0: no duration in ns
                          was seen */
    uint64_t n_nodes, n_traces;
} model_head;

typedef struct synth_model {
    ARRAY(char) chars;
    ARRAY(model_text) texts;
    ARRAY(model_field) fields;
    ARRAY(model_op) ops;
    ARRAY(model_ref) refs;
    ARRAY(model_token) tokens;
    ARRAY(uint32_t) symbols;
    ARRAY(uint32_t) loop_ids; /* loops of the skeletons */
    ARRAY(model_loop) loops;
    ARRAY(model_skeleton) skeletons;
    ARRAY(model_side) sides; /* in the order of their skeletons */
    ARRAY(uint32_t) parts;   /* skeletons of the templates */
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
    /* indexes built from the arrays */
    map64 text_of, op_of, token_of, skeleton_of, template_of, body_of, law_of, loop_of;
} synth_model;

halley_status synth_model_init(synth_model *m, halley_error *err);
void synth_model_fini(synth_model *m);

/* OK if the file can be written and does not exist yet, is empty, or holds a model.
 * Other files are not overwritten. */
halley_status synth_model_may_save(const char *path, halley_error *err);
/* Writes the model without the accumulators. The write is atomic. */
halley_status synth_model_save(const synth_model *m, const char *path, halley_error *err);
/* Checks the whole model, so that callers can use every index in *m without checks. */
halley_status synth_model_load(synth_model *m, const char *path, halley_error *err);
halley_status synth_model_parse(synth_model *m, const uint8_t *at, size_t n,
                                halley_error *err);

/* The hash of everything after the file header. The fuzzer uses it to repair the files
 * it mutates. */
uint64_t synth_model_hash(const uint8_t *at, size_t n);

str synth_text(const synth_model *m, uint32_t text);
uint32_t synth_text_add(synth_model *m, str text); /* MODEL_NONE: no memory */
/* The key of an operator is a hash of its content, the key of a token one of its
 * operator and references. */
uint64_t synth_op_key(const synth_model *m, const model_op *op,
                      const model_field *fields);
/* True if the field of the operator with this key is a duration. */
bool synth_is_duration(const synth_model *m, uint64_t op_key, uint32_t field);
/* The field of an operator with this name, except the duration; MODEL_NONE: no such
 * field. */
uint32_t synth_field_of(const synth_model *m, const model_op *op, str name);
/* The reference to the waiter if nodes of the token are side nodes, else NULL. */
const model_ref *synth_side_waiter(const synth_model *m, uint32_t token);
/* The pseudo field that holds the number of side nodes of this token per node. */
#define FIELD_BESIDE UINT32_C(0x80000000)
#define FIELD_PAUSES UINT32_C(0xc0000000)
uint32_t synth_side_field(const synth_model *m, uint32_t token);
/* How many sets could have the side node: sets of its skeleton or, for a pause, sets
 * that contain the operator of its waiter. */
uint32_t synth_side_sets(const synth_model *m, const model_side *s);
uint64_t synth_token_key(uint32_t op, const model_ref *refs, uint32_t n);
/* Finds or adds the token. MODEL_NONE: no memory. */
uint32_t synth_token_add(synth_model *m, uint32_t op, const model_ref *refs, uint32_t n);
/*
 * Each number is added to up to four laws, from the most special (level 0) to the most
 * general:
 *
 *   Level 0: this program, family and neighbouring operators. Used for message sizes,
 *     and for all numbers of sets without conditions.
 *   Level 1: this family and these neighbours.
 *   Level 2: these neighbours, any family.
 *   Level 3: this family, any neighbours.
 *
 * `program`, `op`, `before` and `after` are keys of skeletons and operators. `family` is
 * the hash of the family's name.
 */
enum { LAW_LEVELS = 4 };
typedef struct law_place {
    uint64_t family, program, op, before, after; /* program 0: level 0 is not used */
    uint32_t field; /* index into the fields of the operator, or one of FIELD_* */
} law_place;
uint64_t synth_law_key(const law_place *at, uint32_t level);
/* Pseudo fields: communication, and numbers of whole sets. */
enum {
    FIELD_GROUP_SIZE = 1000,
    FIELD_GROUP_STRIDE,
    FIELD_PEER,
    FIELD_STAGES,
    FIELD_RANKS,
    FIELD_NODES,
    FIELD_TOGETHER,   /* products of the conditions with each other, during learning */
    FIELD_TIME,       /* of one rank: the sum of its durations, microseconds */
    FIELD_OPERATIONS, /* of one rank: the number of operations */
    FIELD_BYTES,      /* of one rank of several: the bytes of its communication */
    FIELD_CONDITION = 2000, /* + i: condition i, given those before it */
};
/* The key of a law of whole sets: of a family (hash of its name), or of all families
 * (0). */
uint64_t synth_set_law_key(uint64_t family, uint32_t field);

static inline uint32_t model_pair_index(uint32_t i, uint32_t j)
{
    return i <= j ? j * (j + 1) / 2 + i : i * (i + 1) / 2 + j;
}

#endif
