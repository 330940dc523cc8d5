/* halley/model.h - what is trained: the shape of a network. */
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

/* How it is trained, which decides whose constants apply. Those of LLMs (milliseconds of
 * host time per layer, of launching a step) never apply to the others. */
typedef enum halley_family {
    HALLEY_FAMILY_AUTO, /* halley_model_check replaces it by what follows from the kind */
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
    uint32_t layers;    /* that mix this way; 0 = the model has none */
    uint32_t heads;     /* of values; Mamba 1: channels, each a head of value_dim 1 */
    uint32_t groups;    /* of keys and queries (B and C of Mamba 2) */
    uint32_t key_dim;   /* of a group: the state size of Mamba */
    uint32_t value_dim; /* of a head */
    uint32_t conv;      /* taps of the short convolution; 0 = none */
    uint32_t dt_rank;   /* Mamba 1: rank of the projection of the time step */
    uint32_t chunk; /* tokens that are computed at once; halley_model_check fills it */
} halley_recurrent;

/* One operator of an explicit list (HALLEY_OPS): a product, or plain flops and traffic,
 * for one sample. */
typedef struct halley_model_op {
    char name[HALLEY_NAME];
    double m, n, k; /* product of an m x k and a k x n matrix per sample; m = 0: none */
    double flops, bytes; /* of the forward pass where it is no product */
    double weights;      /* parameters */
    double saved_bytes;  /* kept for the backward pass, per sample */
    uint32_t repeat;     /* this many times in a row; 0 = 1 */
    double window;       /* of a convolution: k counts each input so often; 0 = 1 */
    uint32_t heads, head_dim, keys; /* attention of m queries to so many keys; 0 = none */
} halley_model_op;

/* Zero means absent or the usual: kv_heads = heads, head_dim = hidden / heads,
 * ffn = 4 hidden. halley_model_check fills these in. */
typedef struct halley_model {
    char name[HALLEY_NAME];
    halley_model_kind kind;
    halley_family family;
    uint32_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab, seq;
    uint32_t positions;    /* seq was assumed: the file only says how many positions there
                              are; 0 = seq is a training sequence */
    bool gated;            /* the feed-forward has a gate: SwiGLU and kin */
    bool tied;             /* input and output embedding are one matrix */
    bool not_causal;       /* attention sees the whole sequence */
    uint32_t window;       /* sliding-window attention: tokens seen; 0 = all */
    uint32_t window_every; /* one layer in this many sees all; 0 = none does */
    bool sinks;            /* attention sinks, which no fused kernel serves (GPT-OSS) */
    bool parallel_block;   /* attention and feed-forward read one norm: PaLM, GPT-J */
    uint32_t mtp;          /* multi-token prediction: further layers and head passes */
    bool attention_gate;   /* attention's output is gated: a projection as wide as q */

    /* Hybrids: layers differ in what they are made of. With `mixed`, so many of `layers`
     * have attention, a dense feed-forward, and experts (dense_layers and moe_every say
     * nothing); recurrent.layers have the other mixer. */
    bool mixed;
    uint32_t attention_layers, ffn_layers, expert_layers;
    halley_recurrent recurrent;

    uint32_t experts, top_k, expert_ffn, shared_ffn; /* mixture of experts */
    uint32_t expert_hidden; /* width that experts work in; 0 = hidden */
    uint32_t dense_layers;  /* the first layers without experts */
    uint32_t moe_every;     /* one layer in this many has experts; 0 = 1 */
    uint32_t router_groups, router_top_groups; /* a token's experts lie in so many of
                                                  these groups; 0 = anywhere */

    uint32_t q_rank, kv_rank, qk_nope, qk_rope,
        v_head; /* latent attention; kv_rank 0 = none */

    double head_share;  /* of the positions, that the head sees; 0 = all */
    bool adaptive_norm; /* each block makes its norms from the time step: 6 hidden^2 */
    uint32_t text_tokens, image, frames; /* DiT: sequence = text + (image / 16)^2 for
                                            each four frames */

    /* Imported models: parameters beyond what the sizes above give (biases, norms,
     * learned positions, vision towers), all and those one token uses. */
    double extra_params, extra_active_params;
    /* What the model has that is counted but cannot be timed yet; "" = nothing. */
    char untimed[HALLEY_NAME];

    /* HALLEY_DLRM */
    uint32_t tables, table_dim, lookups, n_bottom, n_top;
    double sample_lookups;             /* in all tables together; 0 = tables x lookups */
    uint32_t cross_layers, cross_rank; /* DCNv2: low-rank cross layers; 0 = pairs are
                                          multiplied */
    double table_rows;                 /* of one table */
    uint32_t bottom[HALLEY_MAX_MLP], top[HALLEY_MAX_MLP]; /* widths, input first */

    /* HALLEY_OPS */
    uint32_t n_ops;
    halley_model_op *ops; /* owned by a loaded model: halley_model_fini */
} halley_model;

/*
 * Read a model: the name of a preset ("gpt3-175b"), a YAML file of ours, a Hugging Face
 * config.json, or a file of Megatron arguments ("--num-layers 96 ..."), told apart by
 * content. On success free what it owns with halley_model_fini.
 */
halley_status halley_model_load(halley_model *out, const char *name, halley_error *err);
/* The same, with what was read, assumed and ignored of a file of somebody else's; *import
 * is the caller's, to free with halley_import_free, or NULL for files of ours. */
halley_status halley_model_import(halley_model *out, halley_import **import,
                                  const char *name, halley_error *err);
/* The same from the text of such a file; `name` stands for its path in errors, and for
 * the name of a model whose file has none. `import` may be NULL. */
halley_status halley_model_parse(halley_model *out, halley_import **import,
                                 const char *text, size_t n, const char *name,
                                 halley_error *err);
void halley_model_fini(halley_model *model);

/* The i-th key of a model file, or of its part "latent" or "operators"; false past the
 * last. */
bool halley_model_key(halley_file_key *out, const char *part, size_t i);

/* Fill in what follows from the rest; say what contradicts. */
halley_status halley_model_check(halley_model *model, halley_error *err);

/* HALLEY_EINVAL: the model has layers that halley counts but cannot time yet. */
halley_status halley_model_check_timed(const halley_model *model, halley_error *err);

/* "Mamba-2 layers", ...: what a mixer is called in reports. */
const char *halley_mixer_name(halley_mixer mixer);

/* Parameters of the whole model, and those that one token uses. */
double halley_model_params(const halley_model *model);
double halley_model_active_params(const halley_model *model);

/* Parameters that every token of a transformer multiplies, forward: embeddings are looked
 * up, norms from a time step are made once per sample, the head may see some positions
 * only, each depth of multi-token prediction adds a layer, a projection and a head. */
double halley_model_token_params(const halley_model *model);
/* Mean number of keys that a query sees, over the sequence and over the layers: half of
 * it where attention is causal, less in windows. */
double halley_model_keys_seen(const halley_model *model, double seq);

/*
 * FLOPs of one training step on `samples` sequences of `seq` tokens, forward and backward
 * without recomputation, two per multiply-add; causal attention counts by half, windows
 * by what they see, logits count, lookups of embeddings do not.
 */
double halley_model_step_flops(const halley_model *model, double samples, double seq);

#ifdef __cplusplus
}
#endif
#endif
