/*
 * msccl/msccl.h - a collective algorithm in MSCCL's form. Every GPU has thread blocks.
 * Each block has at most one peer to send to and one to receive from, and steps that run
 * in order.
 */
#ifndef MSCCL_MSCCL_H
#define MSCCL_MSCCL_H

#include "base/array.h"
#include "base/error.h"
#include "base/file/file.h"
#include "base/str.h"

#define MSCCL_NONE UINT32_MAX

/* The actions of a step, in this order. A step that only waits has none. */
enum { MSCCL_RECEIVES = 1, MSCCL_REDUCES = 2, MSCCL_COPIES = 4, MSCCL_SENDS = 8 };

typedef struct msccl_step {
    uint32_t does;     /* MSCCL_* */
    uint32_t n;        /* chunks */
    uint32_t line;     /* in the file */
    int64_t dep_block; /* the step waits for this thread block of its GPU; < 0: none */
    int64_t dep_step;  /* … to have done this step */
    uint32_t dep;      /* that step, once known, or MSCCL_NONE */
    uint32_t message;  /* sends: number of the message on its connection */
    uint32_t from;     /* receives: the step that sends it, set later */
} msccl_step;

typedef struct msccl_block {
    uint32_t gpu; /* index */
    int64_t id;
    uint32_t send, recv; /* peers' ids, or MSCCL_NONE */
    uint32_t channel;
    uint32_t first, n; /* its steps */
    uint32_t line;
} msccl_block;

typedef struct msccl_gpu {
    uint32_t id;
    uint32_t first, n; /* its thread blocks */
    uint32_t line;
} msccl_gpu;

typedef struct msccl_algorithm {
    file_input in;
    str name, collective;
    uint32_t n_chunks; /* of the whole data */
    uint32_t n_channels;
    ARRAY(msccl_gpu) gpus; /* by id, which count from 0, after reading */
    ARRAY(msccl_block) blocks;
    ARRAY(msccl_step) steps;
} msccl_algorithm;

/* Read the file that is open in a->in; everything else is {0} before. Call msccl_fini
 * after, also on failure. Errors name file and line. On success the algorithm can run to
 * its end: messages match, and no steps wait for each other in a cycle. */
halley_status msccl_parse(msccl_algorithm *a, const char *path, halley_error *err);
void msccl_fini(msccl_algorithm *a);

#endif
