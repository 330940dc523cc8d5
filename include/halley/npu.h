/*
 * halley/npu.h - one accelerator: peak rates, memory tiers, and measured constants for
 * the share of them that kernels reach.
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
    HALLEY_INT8, /* TPUs: matmuls with 8-bit integers */
    HALLEY_N_DTYPES
} halley_dtype;

const char *halley_dtype_name(halley_dtype dtype); /* "bf16"; lent, static */
/* "bf16", "fp8", ...; false when there is no such type. */
bool halley_dtype_find(halley_dtype *out, const char *name);

/* The measured performance of matmuls (cost/gemm.c has the formula). Shares are relative
 * to the datasheet's peak. */
typedef struct halley_gemm_rates {
    double launch_s;     /* fixed time of one kernel */
    double efficiency;   /* main loop, share of peak at the clock rates of a short
                            burst */
    double fill_s;       /* start and drain of one wave of tiles */
    double memory_share; /* of the memory bandwidth */
    double load_Bps;     /* rate of loading operands from the shared cache into one
                            core */
    double quantisation; /* 1: tiles and waves round up; 0: the library avoids this */
    double serial_share; /* share of the shorter of compute and memory time that is not
                            overlapped */
    double split_s;      /* extra time for splitting the inner dimension (split-K) */
    double throttle;     /* slow-down under sustained load */
    double throttle_s;   /* burst length at which half of the throttling has set in */
    double sustained;    /* efficiency in training under continuous load; 0 = by
                            `throttle` */
    bool splits;         /* the library splits the inner dimension */
} halley_gemm_rates;

enum { HALLEY_MAX_TIERS = 4, HALLEY_NAME = 48 };

typedef enum halley_tier_kind {
    HALLEY_TIER_PER_NPU, /* its own device and link */
    HALLEY_TIER_PER_NODE,
    HALLEY_TIER_POOL,
    HALLEY_TIER_HIERARCHICAL
} halley_tier_kind;

/* One memory tier; the nearest is first. NPUs that use a shared tier at the same time
 * divide its bandwidth. */
typedef struct halley_tier {
    char name[HALLEY_NAME];
    halley_tier_kind kind;
    double capacity_bytes, bandwidth_Bps, latency_s;
    /* Prices of what exceeds the capacity and bandwidth that the price of the NPU or the
     * host includes. Without a price, the list of prices decides by the name. */
    double included_bytes, included_Bps;
    double price_usd_per_byte, price_usd_per_Bps, power_w_per_byte;
    bool price_given, rate_price_given, power_given;
} halley_tier;

/* The word that reports use for the device. */
typedef enum halley_npu_type {
    HALLEY_NPU_OTHER, /* accelerator */
    HALLEY_NPU_GPU,
    HALLEY_NPU_TPU, /* chip */
    HALLEY_N_NPU_TYPES
} halley_npu_type;

/* Scaling factors of small blocks that the matmul units apply in hardware. */
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
    double fitted_on_chip_bytes; /* the size for which the rates below were fitted; 0 = as
                                    much as is needed */
    bool fp8_any_order;          /* 8-bit matmuls read operands in either order, so no
                                    transposed copy of the weights is stored */
    halley_scales scales;
    uint32_t n_tiers;
    halley_tier tiers[HALLEY_MAX_TIERS];

    halley_gemm_rates gemm;          /* 16-bit */
    halley_gemm_rates gemm_fp8;      /* 8-bit, relative to the 8-bit peak */
    halley_gemm_rates gemm_fp8_cast; /* 8-bit with a cast of the left operand (score) */
    double cast_launch_s, cast_memory_share; /* of that cast */
    double round_to; /* dimensions are rounded up to a multiple of this (TPU: 128); 0 =
                        not rounded */

    double attention_share[4]; /* forward fused attention on long sequences, share of
                                  the 16-bit peak, for head dimension 64, 128, 192, 256 */
    double attention_half;     /* sequence length at which half of that is reached */
    double attention_old;      /* factor for kernels written for an earlier generation */
    double attention_backward; /* backward efficiency relative to forward */
    double batched_factor;     /* batched matmuls of unfused attention relative to
                                  plain ones */
    double memory_share;       /* of the bandwidth, for streaming kernels */
    double misaligned_64, misaligned_8; /* factor when n or k is no multiple of 64, 8 */
    double head_misaligned_8, head_misaligned_2; /* the same for the attention head
                                                    size: even but no multiple of 8;
                                                    not even */
    double power_w, price_usd;                   /* 0 = not known */
    bool not_sold;                               /* only rented: the price is imputed */
} halley_npu;

/* The name, or "unnamed NPU" for one that a file describes without a name; lent. */
const char *halley_npu_label(const halley_npu *npu);

/* Peak of 16-bit matmuls: bf16's, or fp16's where the device has no bf16; 0 = neither. */
double halley_npu_wide_peak(const halley_npu *npu);

/* HALLEY_EINVAL: the device has no units for this number format; the error lists those it
 * has. */
halley_status halley_npu_check_dtype(const halley_npu *npu, halley_dtype dtype,
                                     halley_error *err);
/* The same for block scaling factors that its matmul units must apply. */
halley_status halley_npu_check_scales(const halley_npu *npu, halley_dtype dtype,
                                      halley_scales needed, halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
