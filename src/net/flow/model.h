/*
 * net/flow/model.h - the state of the model `flow`, shared by the files of this folder.
 */
#ifndef NET_FLOW_MODEL_H
#define NET_FLOW_MODEL_H

#include "base/hash.h"
#include "hw/network.h"
#include "net/flow/flow.h"
#include "net/flow/shape.h"
#include "net/models.h"

/* The way of messages between two NPUs. */
typedef struct flow_way {
    uint32_t class_id;      /* NET_FLOW_NONE: no links */
    uint64_t latency_ticks; /* of all links and devices passed */
    double rate_Bps;        /* of a message that is alone */
} flow_way;

/* What is under way. */
typedef struct flow_transfer {
    uint64_t event;         /* handed back on arrival */
    uint64_t latency_ticks; /* from the last byte sent to its arrival */
    uint32_t class_id;
    uint32_t next_free;
    uint64_t start; /* tick */
    double bytes;
} flow_transfer;

/* Members of a group, found once. */
typedef struct flow_group {
    flow_members members;
    halley_fabric out; /* as the group sees it: its cards' bandwidth, its steps */
} flow_group;

/* A collective of a group by one algorithm: its links. */
typedef struct flow_shape {
    uint32_t class_id;
    double rate_Bps; /* of its volume, alone */
} flow_shape;

/* Whose flows a class has. */
typedef struct flow_owner {
    coll_kind kind;
    uint32_t group;     /* index + 1; 0 = all NPUs */
    double payload;     /* of a byte on links inside nodes */
    double payload_out; /* the same outside */
} flow_owner;

typedef struct flow_net {
    net head;
    hw_network *network;
    const halley_cluster *cluster; /* lent */
    map64 groups_by_key, shapes_by_key;
    ARRAY(flow_group) groups;
    ARRAY(flow_shape) shapes;
    flow_loads loads;
    net_flow *flow;
    double ticks_per_s;
    des_timer timer; /* the next end of a flow */
    uint64_t timer_at;
    map64 ways_by_pair;
    ARRAY(flow_way) ways;
    ARRAY(net_flow_hop) hops; /* of the way being made */
    ARRAY(flow_transfer) transfers;
    uint32_t free_transfer;
    uint64_t n_messages;
    net_heat heat;            /* by kind of link, NPU that sends */
    ARRAY(flow_owner) owners; /* by class */
    uint64_t n_flushes;
    void (*fail)(void *context, halley_status status);
    halley_error *err;
} flow_net;

static inline flow_net *flow_net_of(net *n)
{
    return (flow_net *)(void *)n;
}

static inline const flow_net *flow_net_of_const(const net *n)
{
    return (const flow_net *)(const void *)n;
}

/* report.c: rows of the model. */
bool flow_net_describe(net_part_use *out, const net *n, uint32_t i);
bool flow_net_list_links(net_link_list *to, const net *n);
halley_status flow_net_certify(const net *n, halley_error *err);

#endif
