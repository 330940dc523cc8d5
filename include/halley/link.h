/*
 * halley/link.h - the performance of a collective library on the link inside a node and
 * on the network between nodes, as measured constants.
 */
#ifndef HALLEY_LINK_H
#define HALLEY_LINK_H

#include "halley/npu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One protocol for moving data in a ring (NCCL's LL, LL128 and Simple). */
typedef struct halley_protocol {
    double extra_s;    /* fixed time in addition to the launch */
    double hop_s;      /* one neighbour step */
    double ramp_s;     /* further fixed time that grows with the message ... */
    double ramp_bytes; /* ... to half its value at this size per rank */
    double share;      /* of the link's bandwidth */
    double copy_share; /* share of the bandwidth for the local copy of 1/n of the data */
} halley_protocol;

/* How an all-to-all uses links without a switch. */
typedef enum halley_all_to_all {
    HALLEY_A2A_IN_TURN, /* one link, peer after peer */
    HALLEY_A2A_ROUND,   /* along a ring */
    HALLEY_A2A_AT_ONCE, /* a link to every peer */
} halley_all_to_all;

/* The scale-up link of one NPU, and the library's performance on it. */
typedef struct halley_link {
    char name[HALLEY_NAME];
    double bandwidth_Bps; /* per direction and NPU, datasheet */
    double launch_s;      /* launch and first synchronisation of a collective */
    halley_protocol ll, ll128, simple, in_switch, peer_small, peer;
    double simple_overlap; /* exponent - 1 of the norm that overlaps step latency with
                              transfer */
    double int_slowdown;   /* slow-down factor of integer reductions */
    /* Constants with which the library chooses an algorithm (NCCL's tuner; bus bandwidth
     * in B/s, s). */
    double tuner_ring_Bps, tuner_ll_Bps, tuner_ll128_Bps, tuner_in_switch;
    double tuner_hop_s[3], tuner_base_s[4]; /* LL, LL128, Simple, (in-switch) */
    /* Bandwidth factors by group size where traffic crosses sockets; 0 = 1. */
    double ring_factor[17], peer_factor[17], tuner_factor[17];
    uint32_t in_switch_min; /* fewest ranks for which the switch reduces; 0 = never */
    double reduce_Bps; /* plain rings: memory bandwidth of reducing received data; 0 = no
                          cost */
    halley_all_to_all all_to_all;
    bool torus; /* no protocols: only hop_s and share of `simple` are used */
    /* Cluster files: pieces of a collective in flight at a time, and number of such
     * rounds. */
    uint32_t pieces, rounds; /* 0 = 1 */
    uint32_t stored; /* link queues: links per step that a message queues for and after
                        which it is stored; 0 = contention-free */
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
