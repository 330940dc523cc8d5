/*
 * halley/platform.h - how NPUs are wired: the scale-up link, the network cards, and the
 * measured constants of the collective library on them.
 */
#ifndef HALLEY_PLATFORM_H
#define HALLEY_PLATFORM_H

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
} halley_link;

/* The network between nodes. */
typedef struct halley_fabric {
    char name[HALLEY_NAME];
    double bandwidth_Bps; /* of the network cards, per direction and NPU */
    double hop_s[3];      /* one step between nodes: LL, LL128, Simple */
    double share;         /* of the bandwidth that large messages reach */
    uint32_t stored;      /* as in halley_link */
} halley_fabric;

typedef struct halley_platform {
    char name[HALLEY_NAME];
    halley_npu npu;
    uint32_t per_node; /* NPUs in one scale-up domain */
    uint32_t n_npus;   /* of a cluster file, which says; 0 = a kind of node, any number */
    halley_link up;
    halley_fabric out;
    double host_factor; /* time of the host's part of a step against the reference host */
    double node_price_usd, power_idle, pue, energy_usd_per_J, years;
    double network_usd_per_Bps;
    /* Interruptions: mean time between those one NPU causes, time to write a checkpoint,
     * time until training goes on from one. npu_mtbf_s 0 = nothing ever fails. */
    double npu_mtbf_s, checkpoint_s, restart_s;
} halley_platform;

/*
 * Read a platform: the name of a preset ("dgx-a100"), the path of such a file, or of a
 * cluster file with its network (as `halley sim` reads): the innermost dimension is the
 * scale-up domain, collectives are plain rings over latency and bandwidth. The
 * error of an unknown name suggests the nearest.
 */
halley_status halley_platform_load(halley_platform *out, const char *name,
                                   halley_error *err);
/* The same with a number of NPUs behind the name, "dgx-a100:1024"; *n_npus is 0 where
 * neither the name nor the file says. */
halley_status halley_platform_load_some(halley_platform *out, uint32_t *n_npus,
                                        const char *name, halley_error *err);

/* The i-th preset of "models", "npus", "platforms", "links", "fabrics" or "stacks":
 * true and its name in `to`, or false past the last. */
bool halley_preset_name(char *to, size_t size, const char *folder, size_t i);
/* Its text, lent, or NULL. */
const char *halley_preset_text(const char *folder, const char *name);

#ifdef __cplusplus
}
#endif
#endif
