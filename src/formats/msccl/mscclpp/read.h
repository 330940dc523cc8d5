/* msccl/mscclpp/read.h - the state of reading a plan: what its operations refer to. */
#ifndef MSCCL_MSCCLPP_READ_H
#define MSCCL_MSCCLPP_READ_H

#include "msccl/mscclpp/plan.h"

enum { MPP_MEMORY, MPP_PORT, MPP_N_CHANNEL_TYPES };

typedef ARRAY(uint32_t) mpp_list;

typedef struct mpp_gpu {
    mpp_list peers[MPP_N_CHANNEL_TYPES]; /* by channel: the rank it leads to */
    mpp_list
        ordinals[MPP_N_CHANNEL_TYPES]; /* by channel: how many before it lead there */
    mpp_list buffer_ranks;             /* by remote buffer */
    ARRAY(bool) buffer_is_scratch;
} mpp_gpu;

typedef struct mpp_block {
    uint32_t gpu, index;
    mpp_list channels[MPP_N_CHANNEL_TYPES]; /* indexes of the GPU's channels */
    mpp_list buffers[MPP_N_CHANNEL_TYPES];  /* indexes of the GPU's remote buffers */
    mpp_list last;                          /* nodes that the next operation runs after */
    mpp_list proxy[MPP_N_CHANNEL_TYPES];    /* by channel: the last node of its proxy */
    map64 counts;                           /* of syncs, by key */
} mpp_block;

/* The part of an operation's data that one iteration of a pipeline handles. */
typedef struct mpp_unit {
    uint64_t offset, most; /* bytes; most = UINT64_MAX: all */
} mpp_unit;

typedef struct mpp_reader {
    mpp_plan *p;
    halley_error *err;
    mpp_gpu *gpus;
    mpp_block block;
    uint32_t op;       /* index in its block, for error messages */
    uint64_t n_played; /* operations so far; each pipeline iteration counts */
} mpp_reader;

#define MPP_BAD(r, at, ...)                                                              \
    conf_error(&(r)->p->file, (at), (r)->err, HALLEY_EFORMAT, __VA_ARGS__)

/* Read an integer of a map, from 0 to `most`. */
halley_status mpp_read_number(uint64_t *out, const mpp_reader *r, const conf_node *map,
                              const char *key, uint64_t most);
/* The list of a key; an empty list if the key is absent. */
halley_status mpp_find_list(const conf_node **out, const mpp_reader *r,
                            const conf_node *map, const char *key);
str mpp_read_text(const conf_node *map, const char *key); /* "" = absent */
/* memory or port; switch channels are refused. */
halley_status mpp_read_channel_type(uint32_t *out, const mpp_reader *r,
                                    const conf_node *map, const char *key);
/* Turn one operation of the reader's block into nodes (ops.c). */
halley_status mpp_play_operation(mpp_reader *r, const conf_node *op, mpp_unit unit);

#endif
