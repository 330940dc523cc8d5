/*
 * workload/import/hf.h - Hugging Face configurations: reading keys, describing layers,
 * counting parameters.
 *
 * A configuration names its architecture in `model_type`; every type has a row in
 * hf_types.c that says what the file does not (whether the feed-forward is gated, which
 * projections have biases, how many norms a layer has). To add a type: one row there, an
 * `adjust` function in hf_special.c where it has keys of its own, its defaults in
 * data/hf-defaults.json, and a case in tests/unit/workload/test_hf.c.
 */
#ifndef WORKLOAD_IMPORT_HF_H
#define WORKLOAD_IMPORT_HF_H

#include "base/conf/conf.h"
#include "halley/model.h"
#include "workload/import/report.h"

enum { HF_MAX_LAYERS = 4096 };

/* One block of a configuration while it is read. The first failure is kept in `status`;
 * later reads return their fallback, so that one test at the end is enough. */
typedef struct hf_block {
    const conf_file *file;
    const conf_node *map;          /* the block itself */
    const conf_node *around;       /* the block that holds it, or NULL */
    const conf_file *all_defaults; /* data/hf-defaults.json */
    const conf_node *defaults;     /* of its model type, or NULL */
    double params, active_params;  /* result: of the model that was read from it */
    halley_import *import;
    halley_status status;
    halley_error *err;
} hf_block;

/*
 * Values by name. `names` holds one or more keys separated by blanks; the first that the
 * block has wins. Absent: the type's default, which is noted as assumed; where the type
 * has none, `otherwise`. A null in the file means "none" and gives `otherwise`, whatever
 * the default.
 */
uint32_t hf_whole(hf_block *b, const char *names, uint32_t otherwise);
uint32_t hf_whole_needed(hf_block *b, const char *names); /* absent: an error */
double hf_real(hf_block *b, const char *names, double otherwise);
bool hf_flag(hf_block *b, const char *names, bool otherwise);
str hf_text(hf_block *b, const char *names, str otherwise);
/* A list or a map as it stands in the file; NULL where it is absent or null. */
const conf_node *hf_node(hf_block *b, const char *names);
bool hf_has(hf_block *b, const char *name); /* present and not null */
/* Keep the first failure. */
void hf_fail(hf_block *b, const conf_node *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The map `name` inside a block, read with the defaults of `type` (NULL: none); an absent
 * one is empty. Its first failure is its own. */
hf_block hf_sub_block(const hf_block *b, const char *name, const char *type);
/* Read the block with the defaults of a model type, if that has any. */
void hf_use_defaults(hf_block *b, const char *type);

typedef enum hf_mixer {
    HF_ATTENTION,
    HF_MAMBA1,
    HF_MAMBA2,
    HF_DELTA_NET,
    HF_LIGHTNING,
    HF_NO_MIXER,
    HF_N_MIXERS
} hf_mixer;
typedef enum hf_ffn { HF_MLP, HF_MOE, HF_NO_FFN } hf_ffn;
typedef enum hf_norm {
    HF_RMS,           /* h weights */
    HF_LAYER,         /* 2h: weight and bias */
    HF_LAYER_NO_BIAS, /* h */
    HF_NO_WEIGHTS     /* 0 */
} hf_norm;
typedef enum hf_qk_norm { HF_QK_NONE, HF_QK_HEAD, HF_QK_FULL } hf_qk_norm;

typedef struct hf_layer {
    uint8_t mixer; /* hf_mixer */
    uint8_t ffn;   /* hf_ffn */
    bool windowed; /* attention sees a window only */
} hf_layer;

/* What a decoder is made of, as far as parameters and time need it. */
typedef struct hf_shape {
    uint32_t n_layers;
    hf_layer *layers; /* n_layers of them, owned by the importer's arena */
    bool typed;       /* the file's layer_types said what each layer is */
    double hidden, heads, kv_heads, head_dim, ffn, vocab;
    bool gated, tied, qkv_bias, o_bias, mlp_bias, head_bias;
    bool no_final_norm;
    uint32_t norms; /* of a layer */
    hf_norm norm;
    hf_qk_norm qk_norm;
    uint32_t window;  /* tokens that windowed layers see */
    double positions; /* learned position embeddings */

    double experts, top_k, expert_ffn, shared_ffn, router_bias;
    bool shared_gate, expert_bias;
    bool router_free;  /* no router weights are counted (they are part of `extra`) */
    double moe_latent; /* width experts work in; 0 = hidden */
    uint32_t groups, top_groups; /* of experts, that a token may use; 0 = all */
    bool sinks;                  /* attention sinks */
    bool parallel;               /* attention and feed-forward read the same input */

    double q_rank, kv_rank, nope, rope, v_head; /* latent attention; kv_rank 0 = none */
    double index_heads, index_dim;              /* the indexer of sparse attention */
    double n_indexed;                           /* layers that have one */
    double wide_q; /* the query projection is this many times as wide */

    struct {
        double inner, state, conv, dt_rank, heads, groups, chunk;
        bool conv_bias, bias, extra_norms;
    } mamba;
    struct {
        double key_dim, value_dim, key_heads, value_heads, conv;
    } delta;

    double extra, extra_active; /* further parameters, all and those one token uses */
    double ffn_total;           /* > 0: feed-forward parameters of all dense layers */
    uint32_t mtp_layers;        /* prediction layers, reported but not counted */
} hf_shape;

typedef struct hf_bias {
    const char *key; /* NULL: `otherwise` always holds */
    bool otherwise;
} hf_bias;

/* How the layers of a type see the past. */
typedef enum hf_window {
    HF_WINDOW_NONE,
    HF_WINDOW_ALL,     /* sliding_window in every layer */
    HF_WINDOW_ASKED,   /* if use_sliding_window: layers from max_window_layers on */
    HF_WINDOW_PATTERN, /* every n-th layer sees all; n of sliding_window_pattern */
} hf_window;

typedef struct hf_type {
    const char *name;
    const char *defaults; /* entry of hf-defaults.json; NULL = `name` */
    bool gated;
    hf_bias qkv, o, mlp;
    uint32_t norms;
    hf_norm norm;
    hf_qk_norm qk_norm;
    bool tied; /* when the file does not say */
    hf_window window;
    uint32_t pattern; /* of HF_WINDOW_PATTERN, when the file does not say */
    void (*adjust)(hf_block *b, hf_shape *s);
} hf_type;

/* The row of a decoder's model type; NULL: not known. */
const hf_type *hf_type_find(str name);
/* The known type nearest to a wrong name, or NULL. */
const char *hf_type_nearest(str name);

/* Read a decoder by its row. Layers come from `memory`. */
halley_status hf_shape_read(hf_shape *out, hf_block *b, const hf_type *type,
                            arena *memory);
/* All parameters, and those that one token uses. */
double hf_shape_params(const hf_shape *s);
double hf_shape_active_params(const hf_shape *s);
/* Parameters of one feed-forward of width `width`, of one norm. */
double hf_mlp_params(const hf_shape *s, double width);
double hf_norm_params(const hf_shape *s);
/* The model that the engines work with; what its fields do not count is in
 * extra_params. */
void hf_shape_to_model(halley_model *out, const hf_shape *s);

/* Models that are no decoders. */
typedef struct hf_other {
    const char *name; /* model_type */
    /* Sets the parameters (and the shape, where it can be timed). */
    void (*read)(hf_block *b, halley_model *m);
} hf_other;
const hf_other *hf_other_find(str name);
/* The i-th one, for lists of known types; NULL past the last. */
const hf_other *hf_other_get(size_t i);
/* DiT and kin: a configuration of diffusers. */
halley_status hf_diffusers_read(halley_model *out, hf_block *b);

/* Wrappers: a text model with a vision tower and a projector. */
typedef struct hf_wrapper {
    const char *name;
    const char *text_type;   /* of text_config, when that does not say */
    const char *vision_type; /* of vision_config, when that does not say */
    bool text_on_top;        /* the text keys may stand beside vision_config */
    double (*projector)(hf_block *wrapper, hf_block *vision, const hf_shape *text);
} hf_wrapper;
const hf_wrapper *hf_wrapper_find(str name);
const hf_wrapper *hf_wrapper_get(size_t i);
/* Parameters of a vision tower; < 0: a tower that is not described. */
double hf_tower_params(hf_block *vision, str type);

/* Note the keys of a block that were not read: known and without influence, or unknown.
 */
void hf_note_rest(halley_import *import, const conf_node *map);

/* One biased layer with two layer norms, as BERT and ViT have it. */
double hf_plain_layer_params(double hidden, double ffn);

#endif
