/*
 * hf/hf.h - Hugging Face configurations: reading keys, describing layers,
 * counting parameters.
 *
 * A configuration names its architecture in `model_type`. Every type has a row in
 * hf_types.c with the facts that are not in the file. Examples are whether the
 * feed-forward is gated, which projections have biases, and how many norms a layer has.
 *
 * To add a type, add a row there, its defaults in data/hf-defaults.json, and a case in
 * tests/unit/formats/hf/test_hf.c. If it has its own keys, also add an `adjust` function
 * in hf_special.c.
 */
#ifndef HF_HF_H
#define HF_HF_H

#include "base/conf/conf.h"
#include "halley/model.h"
#include "workload/notes.h"

enum { HF_MAX_LAYERS = 4096 };

/* One block of a configuration during reading. `status` keeps the first failure. Later
 * reads return their fallback, so that one check at the end is enough. */
typedef struct hf_block {
    const conf_file *file;
    const conf_node *map;          /* the block itself */
    const conf_node *around;       /* the block that contains it, or NULL */
    const conf_file *all_defaults; /* data/hf-defaults.json */
    const conf_node *defaults;     /* of its model type, or NULL */
    double params, active_params;  /* result: parameters of the model that was read */
    halley_import *import;
    halley_status status;
    halley_error *err;
} hf_block;

/*
 * Values by name. `names` contains one or more keys separated by blanks; the first that
 * the block has is used. If none is present, the result is the type's default, which is
 * noted as assumed. If the type has no default, it is `otherwise`. A null in the file
 * means "none" and always gives `otherwise`.
 */
uint32_t hf_whole(hf_block *b, const char *names, uint32_t otherwise);
uint32_t hf_whole_needed(hf_block *b, const char *names); /* absent: an error */
double hf_real(hf_block *b, const char *names, double otherwise);
bool hf_flag(hf_block *b, const char *names, bool otherwise);
str hf_text(hf_block *b, const char *names, str otherwise);
/* A list or a map as it is in the file; NULL if it is absent or null. */
const conf_node *hf_node(hf_block *b, const char *names);
bool hf_has(hf_block *b, const char *name); /* present and not null */
/* Record a failure, unless there is one already. */
void hf_fail(hf_block *b, const conf_node *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The map `name` inside a block, read with the defaults of `type` (NULL: none). If
 * absent, it is empty. It records its own first failure. */
hf_block hf_sub_block(const hf_block *b, const char *name, const char *type);
/* Read the block with the defaults of a model type, if it has any. */
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
    bool windowed; /* attention sees only a window */
} hf_layer;

/* The parts of a decoder that affect parameters and time. */
typedef struct hf_shape {
    uint32_t n_layers;
    hf_layer *layers; /* n_layers entries, owned by the importer's arena */
    bool typed;       /* the file's layer_types states the type of each layer */
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
    bool router_free;  /* router weights are not counted (they are part of `extra`) */
    double moe_latent; /* width in which experts work; 0 = hidden */
    uint32_t groups, top_groups; /* expert groups; how many a token uses; 0 = all */
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

    double extra, extra_active; /* further parameters: all; used by one token */
    double ffn_total;           /* > 0: feed-forward parameters of all dense layers */
    uint32_t mtp_layers;        /* prediction layers, reported but not counted */
} hf_shape;

typedef struct hf_bias {
    const char *key; /* NULL: always `otherwise` */
    bool otherwise;
} hf_bias;

/* How the layers of a type attend to the past. */
typedef enum hf_window {
    HF_WINDOW_NONE,
    HF_WINDOW_ALL,     /* sliding_window in every layer */
    HF_WINDOW_ASKED,   /* if use_sliding_window: layers from max_window_layers on */
    HF_WINDOW_PATTERN, /* every n-th layer has full attention; n from
                          sliding_window_pattern */
} hf_window;

typedef struct hf_type {
    const char *name;
    const char *defaults; /* entry of hf-defaults.json; NULL = `name` */
    bool gated;
    hf_bias qkv, o, mlp;
    uint32_t norms;
    hf_norm norm;
    hf_qk_norm qk_norm;
    bool tied; /* if the file does not state it */
    hf_window window;
    uint32_t pattern; /* for HF_WINDOW_PATTERN, if the file does not state it */
    void (*adjust)(hf_block *b, hf_shape *s);
} hf_type;

/* The row of a decoder's model type; NULL: unknown. */
const hf_type *hf_type_find(str name);
/* The known type nearest to a misspelled name, or NULL. */
const char *hf_type_nearest(str name);

/* Read a decoder with its row. Layers are allocated in `memory`. */
halley_status hf_shape_read(hf_shape *out, hf_block *b, const hf_type *type,
                            arena *memory);
/* All parameters, and those that one token uses. */
double hf_shape_params(const hf_shape *s);
double hf_shape_active_params(const hf_shape *s);
/* Parameters of one feed-forward of width `width`, and of one norm. */
double hf_mlp_params(const hf_shape *s, double width);
double hf_norm_params(const hf_shape *s);
/* The model for the engines. Parameters that its fields do not express are in
 * extra_params. */
void hf_shape_to_model(halley_model *out, const hf_shape *s);

/* Models that are not decoders. */
typedef struct hf_other {
    const char *name; /* model_type */
    /* Sets the parameters (and the shape, if it can be timed). */
    void (*read)(hf_block *b, halley_model *m);
} hf_other;
const hf_other *hf_other_find(str name);
/* The i-th one, for lists of known types; NULL past the last. */
const hf_other *hf_other_get(size_t i);
/* DiT and similar models: a configuration of diffusers. */
halley_status hf_diffusers_read(halley_model *out, hf_block *b);

/* Wrappers: a text model with a vision tower and a projector. */
typedef struct hf_wrapper {
    const char *name;
    const char *text_type;   /* of text_config, if that does not state it */
    const char *vision_type; /* of vision_config, if that does not state it */
    bool text_on_top; /* the text keys may be at the top level, next to vision_config */
    double (*projector)(hf_block *wrapper, hf_block *vision, const hf_shape *text);
} hf_wrapper;
const hf_wrapper *hf_wrapper_find(str name);
const hf_wrapper *hf_wrapper_get(size_t i);
/* Parameters of a vision tower; < 0: the tower is not supported. */
double hf_tower_params(hf_block *vision, str type);

/* Note the keys of a block that were not read: known keys without effect, and unknown
 * keys. */
void hf_note_rest(halley_import *import, const conf_node *map);

/* One layer with biases and two layer norms, as in BERT and ViT. */
double hf_plain_layer_params(double hidden, double ffn);

#endif
