/* gen/gen.h - what the pattern functions use of a generator. */
#ifndef GEN_GEN_H
#define GEN_GEN_H

#include "base/array.h"
#include "halley/trace_gen.h"

/* Parameters, in the order of the table in gen_param.c. */
typedef enum gen_param {
    GEN_SIZE,          /* bytes */
    GEN_REPEAT,        /* count */
    GEN_ORDER,         /* gen_order */
    GEN_COMPUTE,       /* microseconds */
    GEN_FLOPS,         /* count */
    GEN_TENSOR,        /* bytes */
    GEN_GROUP,         /* kept in groups, not in value */
    GEN_MICRO_BATCHES, /* count */
    GEN_BACKWARD,      /* 0 or 1 */
    GEN_LAYERS,        /* count */
    GEN_GRADIENT,      /* bytes */
    GEN_ZERO,          /* 0 or 1 */
    GEN_TP,            /* count */
    GEN_DP,            /* count, 0 = what remains */
    GEN_PP,            /* count */
    GEN_MESSAGES,      /* count */
    GEN_SEED,          /* number */
    GEN_NODES,         /* count */
    GEN_DEGREE,        /* thousandths */
    GEN_W_COMP,        /* weights of node kinds */
    GEN_W_COLL,
    GEN_W_P2P,
    GEN_W_MEM,
    GEN_N_PARAMS
} gen_param;

typedef enum gen_order { GEN_CHAINED, GEN_INDEPENDENT } gen_order;

typedef enum gen_kind {
    GEN_KIND_COUNT,
    GEN_KIND_BYTES,
    GEN_KIND_MICROS,
    GEN_KIND_MILLI,
    GEN_KIND_CHOICE,
    GEN_KIND_RANKS
} gen_kind;

typedef struct gen_param_row {
    const char *name, *value, *doc;
    gen_kind kind;
    uint64_t min, max, standard;
    const char *const *choices; /* NULL-terminated, for CHOICE */
} gen_param_row;
extern const gen_param_row gen_params[GEN_N_PARAMS];

typedef struct gen_group {
    uint32_t *ranks; /* ascending */
    uint32_t n;
} gen_group;

typedef struct gen_pattern gen_pattern;

struct halley_gen {
    const gen_pattern *pattern;
    uint32_t n_npus;
    bool exact;
    uint64_t value[GEN_N_PARAMS];
    bool given[GEN_N_PARAMS];
    ARRAY(gen_group) groups; /* group i has the name i + 1 */
};

/* A trace being made. Nodes get ascending ids. The builder keeps failures until the
 * end. */
typedef struct gen_out {
    halley_builder *b;
    uint64_t next_id;
    bool exact; /* only the attributes that Chakra writes */
} gen_out;

#define GEN_NO_ID UINT64_MAX

/* Each adds a node and returns its id. Add its dependencies with gen_after. */
uint64_t gen_node(gen_out *o, uint32_t type, const char *name, uint64_t micros);
uint64_t gen_comp(gen_out *o, const char *name, uint64_t micros, uint64_t flops,
                  uint64_t bytes);
uint64_t gen_mem(gen_out *o, bool store, const char *name, uint64_t bytes);
/* group 0 = all ranks, no pg_name. */
uint64_t gen_coll(gen_out *o, const char *name, uint32_t type, uint64_t bytes,
                  uint32_t group);
uint64_t gen_send(gen_out *o, uint32_t src, uint32_t dst, uint32_t tag, uint64_t bytes);
uint64_t gen_recv(gen_out *o, uint32_t src, uint32_t dst, uint32_t tag, uint64_t bytes);
/* Make the last added node wait for this one; GEN_NO_ID: for none. */
void gen_after(gen_out *o, uint64_t id);
void gen_after_ctrl(gen_out *o, uint64_t id);

struct gen_pattern {
    const char *name, *doc;
    uint32_t params;         /* bit per gen_param that it accepts */
    uint32_t detail;         /* specific to the pattern: collective type, Chakra's case */
    gen_param own[4];        /* parameters with another default; GEN_N_PARAMS ends */
    uint64_t own_default[4]; /* of those */
    /* Checks combinations of parameters; may make groups. NULL: all are valid. */
    halley_status (*check)(halley_gen *gen, halley_error *err);
    /* Makes the nodes of a rank. */
    void (*make)(gen_out *o, const halley_gen *gen, uint32_t rank);
    /* same[r] = the lowest rank with the same trace. NULL: all differ. False: no memory.
     */
    bool (*same)(const halley_gen *gen, uint32_t *same);
};

/* The functions of the table in gen.c. */
halley_status gen_chakra_check(halley_gen *gen, halley_error *err);
void gen_chakra_make(gen_out *o, const halley_gen *gen, uint32_t rank);
bool gen_chakra_same(const halley_gen *gen, uint32_t *same);
halley_status gen_coll_check(halley_gen *gen, halley_error *err);
void gen_coll_make(gen_out *o, const halley_gen *gen, uint32_t rank);
bool gen_coll_same(const halley_gen *gen, uint32_t *same);
halley_status gen_ring_check(halley_gen *gen, halley_error *err);
halley_status gen_pairs_check(halley_gen *gen, halley_error *err);
halley_status gen_messages_check(halley_gen *gen, halley_error *err);
halley_status gen_pipeline_check(halley_gen *gen, halley_error *err);
void gen_ring_make(gen_out *o, const halley_gen *gen, uint32_t rank);
void gen_pairs_make(gen_out *o, const halley_gen *gen, uint32_t rank);
void gen_messages_make(gen_out *o, const halley_gen *gen, uint32_t rank);
void gen_pipeline_make(gen_out *o, const halley_gen *gen, uint32_t rank);
halley_status gen_random_check(halley_gen *gen, halley_error *err);
void gen_random_make(gen_out *o, const halley_gen *gen, uint32_t rank);
halley_status gen_dp_check(halley_gen *gen, halley_error *err);
void gen_dp_make(gen_out *o, const halley_gen *gen, uint32_t rank);
bool gen_all_same(const halley_gen *gen, uint32_t *same);
halley_status gen_transformer_check(halley_gen *gen, halley_error *err);
void gen_transformer_make(gen_out *o, const halley_gen *gen, uint32_t rank);
bool gen_transformer_same(const halley_gen *gen, uint32_t *same);

/* ELIMIT if one rank would have more nodes than a trace can hold. */
halley_status gen_limit(uint64_t n_nodes, halley_error *err);

/* Parse one value by its row. EINVAL names the parameter. */
halley_status gen_param_parse(uint64_t *out, gen_param param, const char *text,
                              halley_error *err);
/* Parse "0,2,4-7", with every rank below n_npus and none twice. The caller owns the
 * ranks. */
halley_status gen_group_parse(gen_group *out, const char *text, uint32_t n_npus,
                              halley_error *err);
/* Add a group. Takes its ranks, also on failure. */
halley_status gen_group_add(halley_gen *gen, gen_group group, halley_error *err);
void gen_groups_clear(halley_gen *gen);
bool gen_group_has(const gen_group *group, uint32_t rank);

#endif
