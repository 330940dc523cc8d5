/*
 * Layers that carry a state along the sequence. T tokens, h hidden, H heads of P values,
 * G groups of N keys, i = H P, K taps, R rank of the step, Q tokens of a chunk.
 *
 *   Mamba       (Gu and Dao 2023, section 3.3): projection h -> 2i, convolution of i
 *               channels, i -> R + 2N, R -> i, a scan of T i N states, i -> h. The scan
 *               takes 9 FLOPs per token, channel and state (discretize 3, exponential 1,
 *               recurrence 3, output 2). It moves its inputs and outputs. Its kernel
 *               keeps the states on chip and recomputes them in the backward pass.
 *   Mamba 2     (Dao and Gu 2024, section 6): projection h -> 2i + 2GN + H, convolution
 *               of i + 2GN channels. Each chunk has four batched matmuls. One is per
 *               group: C B' (Q x Q x N). Three are per head: scores X (Q x P x Q), B' X
 *               (N x P x Q) and C S (Q x P x N). The states of the chunks are passed on
 *               in memory.
 *   Delta net   (Yang et al. 2024, "Gated Delta Networks", section 3.3): projection
 *               h -> 2GN + 2i + 2H, convolution of 2GN + i channels. Per chunk and head:
 *               K K', the inverse of a triangle, W and U from it, Q K', scores U, W S,
 *               Q S and the update K' U.
 *   Lightning   (Qin et al. 2024, "Lightning Attention-2", section 3.2): projections
 *               h -> 3i and a gate of i. Per block: Q K', scores V, Q S and K' V.
 *
 * Tensor parallelism splits heads and groups; every rank has at least one group. With
 * context parallelism, an all-to-all before the mixer gives each rank all tokens of a
 * part of the heads. Another one after the mixer reverses this, as in Megatron-Core for
 * Mamba.
 *
 * No run of these kinds was available for measurement. Matmuls and bytes are priced as
 * elsewhere, and arithmetic outside the matmul units by its roofline. The time that
 * chunks of a sequence wait for each other is not priced. It matters if a rank has few
 * sequences and heads.
 */
#include "workload/recurrent.h"

#include <assert.h>
#include <math.h>

/* The sizes of a mixer, whole or on one rank. */
typedef struct mixer_sizes {
    double heads, groups, inner, keys; /* keys: of all groups, G N */
} mixer_sizes;

static mixer_sizes cut_sizes(const halley_recurrent *r, double tp)
{
    const double heads = r->heads / tp;
    const double groups = fmax(1, r->groups / tp);
    assert(tp >= 1 && r->heads > 0);
    return (mixer_sizes){.heads = heads,
                         .groups = groups,
                         .inner = heads * r->value_dim,
                         .keys = groups * r->key_dim};
}

/* A kind of mixer: its widths on a rank, and its work between the projections. */
typedef struct mixer_kind {
    const char *name;
    uint32_t chunk;
    double (*project)(const mixer_sizes *z);  /* width of the input projection */
    double (*convolve)(const mixer_sizes *z); /* channels of the convolution */
    void (*mix)(workload_layer *l, const halley_recurrent *r, const mixer_sizes *z,
                double tokens);
    double (*small)(const halley_recurrent *r); /* parameters that are no matrix of h */
    double (*flops)(const halley_recurrent *r); /* per token, beyond its parameters */
    bool keeps_convolved; /* backward kernels read the convolution's result again */
} mixer_kind;

static double project_mamba(const mixer_sizes *z)
{
    return 2 * z->inner;
}

static double convolve_mamba(const mixer_sizes *z)
{
    return z->inner;
}

static double project_mamba2(const mixer_sizes *z)
{
    return 2 * z->inner + 2 * z->keys + z->heads;
}

static double convolve_mamba2(const mixer_sizes *z)
{
    return z->inner + 2 * z->keys;
}

static double project_delta(const mixer_sizes *z)
{
    return 2 * z->inner + 2 * z->keys + 2 * z->heads;
}

static double project_lightning(const mixer_sizes *z)
{
    return 4 * z->inner;
}

static double convolve_nothing(const mixer_sizes *z)
{
    (void)z;
    return 0;
}

static workload_op *add_vector(workload_layer *l, const char *name, double flops,
                               double bytes)
{
    workload_op *op = workload_op_add(l, name, WORKLOAD_VECTOR, WORKLOAD_ATTENTION);
    op->flops = flops;
    op->flops_b = 2 * flops;
    op->bytes_f = bytes;
    op->bytes_b = 2 * bytes;
    op->part = WORKLOAD_PART_MIXER;
    return op;
}

/* Add `groups` matmuls without weights. */
static workload_op *add_batched(workload_layer *l, const char *name, double groups,
                                const double mnk[3])
{
    workload_op *op = workload_op_add(l, name, WORKLOAD_BATCHED, WORKLOAD_ATTENTION);
    op->m = mnk[0];
    op->n = mnk[1];
    op->k = mnk[2];
    op->groups = groups;
    op->head_dim = 8; /* every size is a multiple of 8: nothing is misaligned */
    op->flops = 2 * groups * mnk[0] * mnk[1] * mnk[2];
    op->part = WORKLOAD_PART_MIXER;
    return op;
}

static const double scan_flops = 9;

/* The scan reads x, the step, the gate, B and C, and writes the result. */
static void mix_mamba(workload_layer *l, const halley_recurrent *r, const mixer_sizes *z,
                      double tokens)
{
    const double i = z->inner, states = r->key_dim;
    workload_gemm_add(l, "step, B and C", tokens, r->dt_rank + 2 * states, i)->part =
        WORKLOAD_PART_MIXER;
    workload_gemm_add(l, "step up", tokens, i, r->dt_rank)->part = WORKLOAD_PART_MIXER;
    workload_op *op = add_vector(l, "selective scan", scan_flops * tokens * i * states,
                                 2 * tokens * (4 * i + 2 * states));
    op->flops_b = 3 * op->flops; /* the states are recomputed */
}

static double count_scan_flops(const halley_recurrent *r)
{
    return scan_flops * r->heads * r->value_dim * r->key_dim;
}

/* States of all chunks: written, passed on (read and written), and read; 32-bit. */
static void pass_states(workload_layer *l, const halley_recurrent *r,
                        const mixer_sizes *z, double chunks)
{
    const double elements = chunks * z->heads * r->key_dim * r->value_dim;
    add_vector(l, "state passing", 2 * elements, 16 * elements);
}

static void mix_mamba2(workload_layer *l, const halley_recurrent *r, const mixer_sizes *z,
                       double tokens)
{
    const double q = r->chunk, n = r->key_dim, p = r->value_dim, chunks = tokens / q;
    add_batched(l, "C x B", chunks * z->groups, (double[]){q, q, n});
    add_batched(l, "scores x values", chunks * z->heads, (double[]){q, p, q});
    add_batched(l, "chunk states", chunks * z->heads, (double[]){n, p, q});
    pass_states(l, r, z, chunks);
    add_batched(l, "C x state", chunks * z->heads, (double[]){q, p, n});
}

static double count_mamba2_flops(const halley_recurrent *r)
{
    const double q = r->chunk, n = r->key_dim, p = r->value_dim;
    return 2 * q * n * r->groups + r->heads * (2 * q * p + 4 * n * p);
}

static void mix_delta(workload_layer *l, const halley_recurrent *r, const mixer_sizes *z,
                      double tokens)
{
    const double q = r->chunk, n = r->key_dim, p = r->value_dim, chunks = tokens / q;
    const double groups = chunks * z->heads;
    add_batched(l, "keys x keys", groups, (double[]){q, q, n});
    add_vector(l, "triangular inverse", groups * 2 * q * q * q / 3, groups * 4 * q * q);
    add_batched(l, "W and U", groups, (double[]){q, n + p, q});
    add_batched(l, "queries x keys", groups, (double[]){q, q, n});
    add_batched(l, "scores x U", groups, (double[]){q, p, q});
    add_batched(l, "W and queries x state", groups, (double[]){2 * q, p, n});
    add_batched(l, "state update", groups, (double[]){n, p, q});
    pass_states(l, r, z, chunks);
}

static double count_delta_flops(const halley_recurrent *r)
{
    const double q = r->chunk, n = r->key_dim, p = r->value_dim;
    return r->heads * (6 * q * n + 4 * q * p + 6 * n * p + 2 * q * q / 3);
}

static void mix_lightning(workload_layer *l, const halley_recurrent *r,
                          const mixer_sizes *z, double tokens)
{
    const double q = r->chunk, n = r->key_dim, p = r->value_dim;
    const double groups = tokens / q * z->heads;
    add_batched(l, "queries x keys", groups, (double[]){q, q, n});
    add_batched(l, "scores x values", groups, (double[]){q, p, q});
    add_batched(l, "queries x state", groups, (double[]){q, p, n});
    add_batched(l, "state update", groups, (double[]){n, p, q});
}

static double count_lightning_flops(const halley_recurrent *r)
{
    const double q = r->chunk, n = r->key_dim, p = r->value_dim;
    return r->heads * (2 * q * n + 2 * q * p + 4 * n * p);
}

/* Convolution with bias, projections of the step, A, D. */
static double count_mamba_small(const halley_recurrent *r)
{
    const double i = (double)r->heads * r->value_dim, n = r->key_dim, R = r->dt_rank;
    return i * (r->conv + 1) + i * (R + 2 * n) + R * i + i + i * n + i;
}

static double count_mamba2_small(const halley_recurrent *r)
{
    const double i = (double)r->heads * r->value_dim;
    return (i + 2.0 * r->groups * r->key_dim) * (r->conv + 1) + 3.0 * r->heads + i;
}

static double count_delta_small(const halley_recurrent *r)
{
    const double i = (double)r->heads * r->value_dim;
    return (i + 2.0 * r->groups * r->key_dim) * r->conv + 2.0 * r->heads + r->value_dim;
}

static double count_lightning_small(const halley_recurrent *r)
{
    return (double)r->heads * r->value_dim;
}

/* Chunks: mamba-ssm 256, flash-linear-attention 64, MiniMax 256. */
static const mixer_kind mixer_kinds[HALLEY_N_MIXERS] = {
    [HALLEY_MIXER_ATTENTION] = {.name = "attention layers"},
    [HALLEY_MIXER_MAMBA] = {"Mamba layers", 1, project_mamba, convolve_mamba, mix_mamba,
                            count_mamba_small, count_scan_flops, false},
    [HALLEY_MIXER_MAMBA2] = {"Mamba-2 layers", 256, project_mamba2, convolve_mamba2,
                             mix_mamba2, count_mamba2_small, count_mamba2_flops, false},
    [HALLEY_MIXER_DELTA_NET] = {"gated delta-net layers", 64, project_delta,
                                convolve_mamba2, mix_delta, count_delta_small,
                                count_delta_flops, true},
    [HALLEY_MIXER_LIGHTNING] = {"lightning-attention layers", 256, project_lightning,
                                convolve_nothing, mix_lightning, count_lightning_small,
                                count_lightning_flops, false},
};

static const mixer_kind *get_kind(halley_mixer mixer)
{
    assert(mixer > HALLEY_MIXER_ATTENTION && mixer < HALLEY_N_MIXERS);
    return &mixer_kinds[mixer];
}

const char *halley_mixer_name(halley_mixer mixer)
{
    return mixer < HALLEY_N_MIXERS ? mixer_kinds[mixer].name : "";
}

uint32_t workload_recurrent_chunk(halley_mixer mixer)
{
    return get_kind(mixer)->chunk;
}

double workload_recurrent_params(const halley_recurrent *r, double hidden)
{
    const mixer_kind *kind = get_kind(r->mixer);
    const mixer_sizes z = cut_sizes(r, 1);
    return hidden * (kind->project(&z) + z.inner) + kind->small(r);
}

double workload_recurrent_flops(const halley_recurrent *r)
{
    return get_kind(r->mixer)->flops(r);
}

/* All-to-all between all heads of some tokens and all tokens of some heads. */
static void gather_tokens(workload_layer *l, const char *name, const halley_plan *plan,
                          double elements)
{
    if (plan->cp > 1)
        workload_coll_add(l, name, WORKLOAD_ALL_TO_ALL, WORKLOAD_CP, 2 * elements);
}

void workload_recurrent_add(workload_layer *l, const halley_model *model,
                            const halley_plan *plan, const halley_stack *stack,
                            const workload_shape *s)
{
    const halley_recurrent *r = &model->recurrent;
    const mixer_kind *kind = get_kind(r->mixer);
    const mixer_sizes z = cut_sizes(r, plan->tp);
    const double T = s->tokens, width = kind->project(&z), channels = kind->convolve(&z);
    assert(r->chunk > 0 && T > 0);
    workload_gemm_add(l, "mixer in", T, width, s->hidden)->part = WORKLOAD_PART_QKV;
    gather_tokens(l, "sequence to heads", plan, T * width);
    if (channels > 0)
        add_vector(l, "short convolution", 2 * T * channels * r->conv, 4 * T * channels);
    kind->mix(l, r, &z, T);
    /* Mamba 1 sums the step, B and C over its channels; the others have them per
     * group. */
    if (r->mixer == HALLEY_MIXER_MAMBA && plan->tp > 1)
        workload_coll_add(l, "step all-reduce", WORKLOAD_ALL_REDUCE, WORKLOAD_TP,
                          2 * T * (r->dt_rank + 2.0 * r->key_dim));
    workload_op *gate = workload_stream_add(l, "gate and norm", 6 * T * z.inner,
                                            stack->k[HALLEY_K_BACKWARD]);
    gate->part = WORKLOAD_PART_MIXER;
    gather_tokens(l, "heads to sequence", plan, T * z.inner);
    workload_gemm_add(l, "mixer out", T, s->hidden, z.inner)->part =
        WORKLOAD_PART_PROJECTION;
    const double small = kind->small(r) / plan->tp;
    l->weights += r->mixer == HALLEY_MIXER_MAMBA /* two of its matrices are operators */
                      ? small - z.inner * (2.0 * r->dt_rank + 2.0 * r->key_dim)
                      : small;
}

workload_recurrent_kept workload_recurrent_keep(const halley_recurrent *r,
                                                const halley_plan *plan,
                                                const workload_states *states,
                                                double tokens)
{
    const mixer_kind *kind = get_kind(r->mixer);
    const mixer_sizes z = cut_sizes(r, plan->tp);
    const double w = states->element;
    double width = kind->project(&z);
    if (kind->keeps_convolved)
        width += kind->convolve(&z);
    if (r->mixer == HALLEY_MIXER_MAMBA)
        width +=
            r->dt_rank + 2.0 * r->key_dim + z.inner; /* step, B, C; step per channel */
    const double per_chunk = z.heads * r->key_dim * r->value_dim * 4;
    const double chunks = r->chunk > 1 ? tokens / r->chunk : 0; /* a scan keeps none */
    return (workload_recurrent_kept){.projected = w * tokens * width,
                                     .mixed = w * tokens * z.inner,
                                     .states = chunks * per_chunk};
}
