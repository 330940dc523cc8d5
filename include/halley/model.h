/* halley/model.h - the model that is trained: the shape of a neural network. */
#ifndef HALLEY_MODEL_H
#define HALLEY_MODEL_H

#include "halley/file_key.h"
#include "halley/import.h"
#include "halley/npu.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum halley_model_kind {
    HALLEY_TRANSFORMER, /* dense, or mixture of experts when experts > 0 */
    HALLEY_DLRM,        /* embedding tables, bottom and top perceptrons */
    HALLEY_OPS          /* an explicit list of operators */
} halley_model_kind;

/* How the model is trained. This selects the constants that apply. Constants of LLMs
 * (milliseconds of host time per layer, time to launch a step) never apply to the other
 * families. */
typedef enum halley_family {
    HALLEY_FAMILY_AUTO, /* halley_model_check replaces it by the family that follows
                           from the kind */
    HALLEY_FAMILY_LLM,
    HALLEY_FAMILY_ENCODER, /* BERT, ViT: the whole sequence at once, captured graphs */
    HALLEY_FAMILY_UNET,    /* diffusion by convolutions */
    HALLEY_FAMILY_DIT,     /* diffusion by a transformer */
    HALLEY_FAMILY_RECOMMENDER, /* DLRM */
    HALLEY_FAMILY_OPERATORS,   /* an explicit list */
    HALLEY_N_FAMILIES
} halley_family;

enum { HALLEY_MAX_MLP = 32 };

/* How a layer mixes tokens. All but attention carry a state along the sequence. */
typedef enum halley_mixer {
    HALLEY_MIXER_ATTENTION,
    HALLEY_MIXER_MAMBA,     /* selective scan (Gu and Dao 2023) */
    HALLEY_MIXER_MAMBA2,    /* state-space duality, by chunks (Dao and Gu 2024) */
    HALLEY_MIXER_DELTA_NET, /* gated delta rule, by chunks (Yang et al. 2024) */
    HALLEY_MIXER_LIGHTNING, /* linear attention with decay, by blocks (Qin et al. 2024) */
    HALLEY_N_MIXERS
} halley_mixer;

/* Layers with a state of key_dim x value_dim per head. */
typedef struct halley_recurrent {
    halley_mixer mixer;
    uint32_t layers;    /* layers with this mixer; 0 = the model has none */
    uint32_t heads;     /* of values; Mamba 1: channels, each a head of value_dim 1 */
    uint32_t groups;    /* of keys and queries (B and C of Mamba 2) */
    uint32_t key_dim;   /* of a group: the state size of Mamba */
    uint32_t value_dim; /* of a head */
    uint32_t conv;      /* taps of the short convolution; 0 = none */
    uint32_t dt_rank;   /* Mamba 1: rank of the projection of the time step */
    uint32_t chunk;     /* tokens computed at once; halley_model_check fills it in */
} halley_recurrent;

/* One operator of an explicit list (HALLEY_OPS), for one sample: a matmul, or plain FLOPs
 * and memory traffic. */
typedef struct halley_model_op {
    char name[HALLEY_NAME];
    double m, n, k; /* matmul of an m x k and a k x n matrix per sample; m = 0: none */
    double flops, bytes; /* of the forward pass if it is no matmul */
    double weights;      /* parameters */
    double saved_bytes;  /* kept for the backward pass, per sample */
    uint32_t repeat;     /* this many times in a row; 0 = 1 */
    double window;       /* of a convolution: how often k counts each input; 0 = 1 */
    uint32_t heads, head_dim, keys; /* attention of m queries to this many keys; 0 =
                                       none */
} halley_model_op;

/* Zero means absent or the usual value: kv_heads = heads, head_dim = hidden / heads, ffn
 * = 4 hidden. halley_model_check fills these in. */
typedef struct halley_model {
    char name[HALLEY_NAME];
    halley_model_kind kind;
    halley_family family;
    uint32_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab, seq;
    uint32_t positions;    /* seq was assumed: the file only states this maximum number
                              of positions; 0 = seq is a training sequence */
    bool gated;            /* the feed-forward block has a gate: SwiGLU and similar */
    bool tied;             /* input and output embedding are one matrix */
    bool not_causal;       /* attention sees the whole sequence */
    uint32_t window;       /* sliding-window attention: tokens that a query sees; 0 =
                              all */
    uint32_t window_every; /* one layer in this many sees all; 0 = none does */
    bool sinks;            /* attention sinks, which fused kernels do not support
                              (GPT-OSS) */
    bool parallel_block;   /* attention and feed-forward share one norm: PaLM, GPT-J */
    uint32_t mtp;          /* multi-token prediction: further layers and head passes */
    bool attention_gate;   /* attention's output is gated: a projection as wide as q */

    /* Hybrid models, whose layers differ in structure. With `mixed`, these numbers of
     * layers have attention, a dense feed-forward block, and experts; dense_layers and
     * moe_every are not used. recurrent.layers have the other mixer. */
    bool mixed;
    uint32_t attention_layers, ffn_layers, expert_layers;
    halley_recurrent recurrent;

    uint32_t experts, top_k, expert_ffn, shared_ffn; /* mixture of experts */
    uint32_t expert_hidden; /* width of the experts' inputs; 0 = hidden */
    uint32_t dense_layers;  /* the first layers without experts */
    uint32_t moe_every;     /* one layer in this many has experts; 0 = 1 */
    uint32_t router_groups, router_top_groups; /* number of expert groups, and how many
                                                  of them the experts of a token come
                                                  from; 0 = any */

    uint32_t q_rank, kv_rank, qk_nope, qk_rope,
        v_head; /* latent attention; kv_rank 0 = none */

    double head_share;  /* share of positions that the head sees; 0 = all */
    bool adaptive_norm; /* each block computes its norms from the time step: 6 hidden^2 */
    uint32_t text_tokens, image, frames; /* DiT: sequence = text + (image / 16)^2 for
                                            every four frames */

    /* Imported models: parameters that the sizes above do not include (biases, norms,
     * learned positions, vision towers), in total and those that one token uses. */
    double extra_params, extra_active_params;
    /* Parts of the model whose parameters count but whose time is not modelled yet; "" =
     * none. */
    char untimed[HALLEY_NAME];

    /* HALLEY_DLRM */
    uint32_t tables, table_dim, lookups, n_bottom, n_top;
    double sample_lookups;             /* total over all tables; 0 = tables x lookups */
    uint32_t cross_layers, cross_rank; /* DCNv2: low-rank cross layers; 0 = pairwise
                                          dot products */
    double table_rows;                 /* of one table */
    uint32_t bottom[HALLEY_MAX_MLP], top[HALLEY_MAX_MLP]; /* widths, input first */

    /* HALLEY_OPS */
    uint32_t n_ops;
    halley_model_op *ops; /* owned by a loaded model: halley_model_fini */
} halley_model;

/* Read a model. `name` is a preset ("gpt3-175b"), one of halley's YAML files, a Hugging
 * Face config.json, or a file of Megatron arguments ("--num-layers 96 ..."). The format
 * is detected from the content. On success, free what it owns with halley_model_fini. */
halley_status halley_model_load(halley_model *out, const char *name, halley_error *err);
/* The same, and list which keys of another tool's file were read, assumed and ignored.
 * The caller owns *import and frees it with halley_import_free; it is NULL for halley's
 * files. */
halley_status halley_model_import(halley_model *out, halley_import **import,
                                  const char *name, halley_error *err);
/* The same from the text of such a file. Errors show `name` in place of the path, and it
 * names a model whose file has no name. `import` may be NULL. */
halley_status halley_model_parse(halley_model *out, halley_import **import,
                                 const char *text, size_t n, const char *name,
                                 halley_error *err);
void halley_model_fini(halley_model *model);

/* The i-th key of a model file, or of its part "latent" or "operators"; false past the
 * last. */
bool halley_model_key(halley_file_key *out, const char *part, size_t i);

/* Fill in values that follow from others; report contradictions. */
halley_status halley_model_check(halley_model *model, halley_error *err);

/* HALLEY_EINVAL: the model has layers whose time is not modelled yet. */
halley_status halley_model_check_timed(const halley_model *model, halley_error *err);

/* The name of a mixer in reports ("Mamba-2 layers"). */
const char *halley_mixer_name(halley_mixer mixer);

/* Parameters of the whole model, and those that one token uses. */
double halley_model_params(const halley_model *model);
double halley_model_active_params(const halley_model *model);

/*
 * Parameters of a transformer that multiply every token in the forward pass. Embeddings
 * are not included, because they are looked up. Norms from a time step count once per
 * sample, and the head only counts the positions that it sees. Each depth of multi-token
 * prediction adds a layer, a projection and a head.
 */
double halley_model_token_params(const halley_model *model);
/* Mean number of keys that a query sees, over the sequence and the layers. It is half the
 * sequence for causal attention, and less for windows. */
double halley_model_keys_seen(const halley_model *model, double seq);

/* FLOPs of one training step on `samples` sequences of `seq` tokens: forward and backward
 * without recomputation, two per multiply-add. Causal attention counts half, and windows
 * count the keys that they see. Logits count; embedding lookups do not. */
double halley_model_step_flops(const halley_model *model, double samples, double seq);

#ifdef __cplusplus
}
#endif
#endif
