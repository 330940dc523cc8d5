/*
 * halley/link.h - what a collective library makes of the wires: the link inside a node
 * and the network between nodes, with the measured constants of the library on them.
 */
#ifndef HALLEY_LINK_H
#define HALLEY_LINK_H

#include "halley/npu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One way to move data in a ring (NCCL's LL, LL128 and Simple protocols). */
typedef struct halley_protocol {
    double extra_s;    /* fixed, beyond the launch */
    double hop_s;      /* one neighbour step */
    double ramp_s;     /* more fixed time as the message grows ... */
    double ramp_bytes; /* ... half of it at this size per rank */
    double share;      /* of the link's bandwidth */
    double copy_share; /* of it, for the local copy of 1/n of the data */
} halley_protocol;

/* How an all-to-all goes over plain links. */
typedef enum halley_all_to_all {
    HALLEY_A2A_IN_TURN, /* one link, peer after peer */
    HALLEY_A2A_ROUND,   /* along a ring */
    HALLEY_A2A_AT_ONCE, /* a link to every peer */
} halley_all_to_all;

/* The scale-up link of one NPU and what the library makes of it. */
typedef struct halley_link {
    char name[HALLEY_NAME];
    double bandwidth_Bps; /* per direction and NPU, datasheet */
    double launch_s;      /* launch and first synchronisation of a collective */
    halley_protocol ll, ll128, simple, in_switch, peer_small, peer;
    double simple_overlap; /* exponent - 1 of the norm that hides step latency */
    double int_slowdown;   /* of reductions of integers */
    /* What the library believes, when it chooses (NCCL's tuner; B/s on the bus, s). */
    double tuner_ring_Bps, tuner_ll_Bps, tuner_ll128_Bps, tuner_in_switch;
    double tuner_hop_s[3], tuner_base_s[4]; /* LL, LL128, Simple, (in-switch) */
    /* Factors of the bandwidth by group size where sockets are crossed; 0 = 1. */
    double ring_factor[17], peer_factor[17], tuner_factor[17];
    uint32_t in_switch_min; /* ranks from which the switch reduces; 0 = never */
    double
        reduce_Bps; /* plain rings: memory bandwidth for adding what arrives; 0 = free */
    halley_all_to_all all_to_all;
    bool torus; /* no protocols: hop_s and share of `simple` are all */
    /* Cluster files: pieces of a collective under way at a time, and how often so many.
     */
    uint32_t pieces, rounds; /* 0 = 1 */
    uint32_t stored; /* link queues: links a message waits for and is stored behind, one
                        step; 0 = contention-free */
    const struct halley_extensions *extensions; /* halley/extend.h; NULL = none */
} halley_link;

/* The network between nodes. */
typedef struct halley_fabric {
    char name[HALLEY_NAME];
    double bandwidth_Bps; /* of the network cards, per direction and NPU */
    double hop_s[3];      /* one step between nodes: LL, LL128, Simple */
    double share;         /* of the bandwidth that large messages reach */
    uint32_t stored;      /* as in halley_link */
} halley_fabric;

#ifdef __cplusplus
}
#endif
#endif
