/*
 * halley/npu.h - one accelerator: peak rates, memory tiers, and the measured constants
 * that say how much of them a kernel gets.
 */
#ifndef HALLEY_NPU_H
#define HALLEY_NPU_H

#include "halley/error.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum halley_dtype {
    HALLEY_BF16, /* first, so that a zeroed plan trains in bf16 */
    HALLEY_FP16,
    HALLEY_FP32,
    HALLEY_TF32,
    HALLEY_FP8,
    HALLEY_FP4,
    HALLEY_INT8, /* of TPUs: products with 8-bit integers */
    HALLEY_N_DTYPES
} halley_dtype;

const char *halley_dtype_name(halley_dtype dtype); /* "bf16"; lent, static */
/* "bf16", "fp8", ...; false when there is no such type. */
bool halley_dtype_find(halley_dtype *out, const char *name);

/*
 * What a matrix product gets of the device, as measured (cost/gemm.c has the formula).
 * Shares are of the datasheet's peak.
 */
typedef struct halley_gemm_rates {
    double launch_s;     /* fixed time of one kernel */
    double efficiency;   /* main loop, share of peak at the clocks of a short burst */
    double fill_s;       /* start and drain of one wave of tiles */
    double memory_share; /* of the memory bandwidth */
    double load_Bps;     /* operands into one core from the shared cache */
    double quantisation; /* 1: tiles and waves round up; 0: the library hides that */
    double serial_share; /* of the shorter of compute and memory that is not hidden */
    double split_s;      /* extra time of splitting the inner dimension */
    double throttle;     /* slow-down under sustained load */
    double throttle_s;   /* burst length at which half of it shows */
    double sustained;    /* efficiency in training, continuous load; 0 = as throttled */
    bool splits;         /* the library splits the inner dimension */
} halley_gemm_rates;

enum { HALLEY_MAX_TIERS = 4, HALLEY_NAME = 48 };

typedef enum halley_tier_kind {
    HALLEY_TIER_PER_NPU, /* its own device and link */
    HALLEY_TIER_PER_NODE,
    HALLEY_TIER_POOL,
    HALLEY_TIER_HIERARCHICAL
} halley_tier_kind;

/* One memory, nearest first. Shared kinds give each NPU its share of bandwidth when all
 * use it at once. */
typedef struct halley_tier {
    char name[HALLEY_NAME];
    halley_tier_kind kind;
    double capacity_bytes, bandwidth_Bps, latency_s;
    double price_usd_per_byte; /* 0 = part of the NPU or the node */
} halley_tier;

/* What people call it. */
typedef enum halley_npu_type {
    HALLEY_NPU_OTHER, /* accelerator */
    HALLEY_NPU_GPU,
    HALLEY_NPU_TPU, /* chip */
    HALLEY_N_NPU_TYPES
} halley_npu_type;

/* Scaling factors of small blocks that the matmul units apply themselves. */
typedef enum halley_scales {
    HALLEY_SCALES_NONE,
    HALLEY_SCALES_MX, /* one for 32 elements: mxfp8, mxfp4 */
    HALLEY_SCALES_NV, /* also one for 16: nvfp4 */
    HALLEY_N_SCALES
} halley_scales;

typedef struct halley_npu {
    char name[HALLEY_NAME];
    halley_npu_type type;
    double peak_flops[HALLEY_N_DTYPES]; /* dense; 0 = the type is not supported */
    uint32_t n_cores; /* SMs, compute units; what tiles are spread over */
    double on_chip_bytes;
    double
        fitted_on_chip_bytes; /* what the rates below are for; 0 = all that is needed */
    bool fp8_any_order; /* 8-bit matmuls read operands in either order: no transposed
                           copy of the weights stays in memory */
    halley_scales scales;
    uint32_t n_tiers;
    halley_tier tiers[HALLEY_MAX_TIERS];

    halley_gemm_rates gemm;          /* 16-bit */
    halley_gemm_rates gemm_fp8;      /* 8-bit; of the 8-bit peak */
    halley_gemm_rates gemm_fp8_cast; /* 8-bit with a cast of the left operand (score) */
    double cast_launch_s, cast_memory_share; /* of that cast */
    double round_to; /* dimensions are rounded up to this (TPU: 128); 0 = not */

    double attention_share[4]; /* fused attention forward, of 16-bit peak, head dimension
                                  64, 128, 192, 256, long sequences */
    double attention_half;     /* sequence length at which half of that is reached */
    double attention_old;      /* kernels written for an earlier generation, factor */
    double attention_backward; /* backward, relative to forward's share */
    double batched_factor;     /* batched products of unfused attention against plain */
    double memory_share;       /* of the bandwidth, for streaming kernels */
    double misaligned_64, misaligned_8; /* factor when n or k is no multiple of 64, 8 */
    double head_misaligned_8, head_misaligned_2; /* the same for attention head size: even
                                                    but no multiple of 8; odd */
    double power_w, price_usd;
} halley_npu;

/* The name, or "unnamed NPU" for one that a file describes without a name; lent. */
const char *halley_npu_label(const halley_npu *npu);

/* Peak of 16-bit matmuls: bf16's, or fp16's where the device has no bf16; 0 = neither. */
double halley_npu_wide_peak(const halley_npu *npu);

/* HALLEY_EINVAL when the device has no units for this number format; the sentence lists
 * those it has. */
halley_status halley_npu_check_dtype(const halley_npu *npu, halley_dtype dtype,
                                     halley_error *err);
/* The same for scaling factors of small blocks that its matmul units must apply. */
halley_status halley_npu_check_scales(const halley_npu *npu, halley_dtype dtype,
                                      halley_scales needed, halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
