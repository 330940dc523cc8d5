/*
 * sim/event.h - the events of a run as words of 64 bits. The low four bits hold the kind;
 * the other fields identify the objects concerned. Every kind has one encoder and one
 * decoder here; no other code packs or unpacks a word. The encoders check their fields.
 * Values that could exceed a field are refused earlier (SIM_MAX_OPS, CLUSTER_MAX_NPUS and
 * the limits of plans), so no field can overflow silently.
 */
#ifndef SIM_EVENT_H
#define SIM_EVENT_H

#include "hw/cluster.h"
#include "net/net.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* The network uses 14 and 15. */
typedef enum sim_kind {
    SIM_CALLS,       /* npu: its calls for this instant */
    SIM_ARRIVE,      /* op, member, step: a message of a collective */
    SIM_RECEIVED,    /* op, member: the message it awaits has arrived */
    SIM_TOKEN,       /* op, member: a packet's delay is over */
    SIM_REDUCE,      /* op, member, packet: as SIM_TOKEN, and a reduction follows */
    SIM_NODE,        /* rank, node: it has ended */
    SIM_TRANSFER,    /* transfer: a message between two ranks has arrived */
    SIM_SEND_LATER,  /* rendezvous: the receiver is ready */
    SIM_RECV_LATER,  /* rendezvous: the sender has been notified */
    SIM_MEMORY_NEXT, /* server: accept the next request */
    SIM_BUS,         /* npu, unit, step */
    SIM_CUSTOM,      /* custom run, node: it has ended */
    SIM_NOTHING,     /* or rank + 1: a rank that starts later than others */
    SIM_START,       /* queue: its first chunks may begin */
} sim_kind;

/* Three fields of 20 bits, or one of 20 and one of 32. */
enum { SIM_FIELD_BITS = 20, SIM_FIELD_END = 1 << SIM_FIELD_BITS };
/* The most chunks of collectives, and custom collectives, that can exist at one time. */
enum { SIM_MAX_OPS = SIM_FIELD_END, SIM_MAX_PLAYS = SIM_FIELD_END };
static_assert((int)CLUSTER_MAX_NPUS <= (int)SIM_FIELD_END,
              "an NPU must fit into a field");
static_assert((int)SIM_START < (int)NET_KIND_ARRIVE,
              "the last two kinds are the network's");

#define SIM_EVENT_NONE ((uint64_t)SIM_NOTHING)

static inline uint64_t pack_event(sim_kind kind, uint32_t a, uint32_t b, uint32_t c)
{
    assert(a < SIM_FIELD_END && b < SIM_FIELD_END && c < SIM_FIELD_END);
    assert((int)kind < (int)NET_KIND_ARRIVE);
    return (uint64_t)kind | (uint64_t)a << 4 | (uint64_t)b << 24 | (uint64_t)c << 44;
}
static inline uint64_t pack_wide_event(sim_kind kind, uint32_t a, uint32_t wide)
{
    assert(a < SIM_FIELD_END);
    assert((int)kind < (int)NET_KIND_ARRIVE);
    return (uint64_t)kind | (uint64_t)a << 4 | (uint64_t)wide << 24;
}
static inline sim_kind sim_event_kind(uint64_t event)
{
    return (sim_kind)(event & NET_KIND_MASK);
}
static inline uint32_t unpack_field(uint64_t event, int i)
{
    assert(i >= 0 && i < 3);
    return (uint32_t)(event >> (4 + SIM_FIELD_BITS * i)) & (SIM_FIELD_END - 1);
}
static inline uint32_t unpack_wide(uint64_t event)
{
    assert(event >> 56 == 0);
    return (uint32_t)(event >> 24);
}

/* A rank that starts later than others. */
static inline uint64_t sim_event_late(uint32_t rank)
{
    return pack_wide_event(SIM_NOTHING, 0, rank + 1);
}
static inline uint32_t sim_event_read_late(uint64_t event)
{
    assert(sim_event_kind(event) == SIM_NOTHING && unpack_wide(event) > 0);
    return unpack_wide(event) - 1;
}

/* An NPU's calls. */
static inline uint64_t sim_event_calls(uint32_t npu)
{
    return pack_event(SIM_CALLS, npu, 0, 0);
}
static inline uint32_t sim_event_read_calls(uint64_t event)
{
    assert(sim_event_kind(event) == SIM_CALLS && event >> 24 == 0);
    return unpack_field(event, 0);
}

/* A member of a chunk, and a step or packet of it. */
typedef struct sim_packet_event {
    uint32_t op, member;
    uint32_t step; /* arrival: step of the plan; reduction: the packet; else 0 */
} sim_packet_event;
static inline uint64_t sim_event_arrival(uint32_t op, uint32_t member, uint32_t step)
{
    return pack_event(SIM_ARRIVE, op, member, step);
}
static inline uint64_t sim_event_received(uint32_t op, uint32_t member)
{
    return pack_event(SIM_RECEIVED, op, member, 0);
}
static inline uint64_t sim_event_token(uint32_t op, uint32_t member)
{
    return pack_event(SIM_TOKEN, op, member, 0);
}
static inline uint64_t sim_event_reduction(uint32_t op, uint32_t member, uint32_t packet)
{
    return pack_event(SIM_REDUCE, op, member, packet);
}
static inline sim_packet_event sim_event_read_packet(uint64_t event)
{
    assert(sim_event_kind(event) >= SIM_ARRIVE && sim_event_kind(event) <= SIM_REDUCE);
    assert(sim_event_kind(event) == SIM_ARRIVE || sim_event_kind(event) == SIM_REDUCE ||
           unpack_field(event, 2) == 0);
    return (sim_packet_event){unpack_field(event, 0), unpack_field(event, 1),
                              unpack_field(event, 2)};
}

/* A node of a rank, or of a custom collective that is being played. */
typedef struct sim_node_event {
    uint32_t owner, node;
} sim_node_event;
static inline uint64_t sim_event_node(uint32_t rank, uint32_t node)
{
    return pack_wide_event(SIM_NODE, rank, node);
}
static inline uint64_t sim_event_custom(uint32_t play, uint32_t node)
{
    return pack_wide_event(SIM_CUSTOM, play, node);
}
static inline sim_node_event sim_event_read_node(uint64_t event)
{
    assert(sim_event_kind(event) == SIM_NODE || sim_event_kind(event) == SIM_CUSTOM);
    return (sim_node_event){unpack_field(event, 0), unpack_wide(event)};
}

/* One index: a transfer, a handshake, a queue of chunks. */
static inline uint64_t sim_event_transfer(uint32_t transfer)
{
    return pack_wide_event(SIM_TRANSFER, 0, transfer);
}
static inline uint64_t sim_event_send_later(uint32_t handshake)
{
    return pack_wide_event(SIM_SEND_LATER, 0, handshake);
}
static inline uint64_t sim_event_recv_later(uint32_t handshake)
{
    return pack_wide_event(SIM_RECV_LATER, 0, handshake);
}
static inline uint64_t sim_event_start(uint32_t queue)
{
    return pack_wide_event(SIM_START, 0, queue);
}
static inline uint32_t sim_event_read_index(uint64_t event)
{
    assert(unpack_field(event, 0) == 0);
    assert(sim_event_kind(event) == SIM_TRANSFER || sim_event_kind(event) == SIM_START ||
           sim_event_kind(event) == SIM_SEND_LATER ||
           sim_event_kind(event) == SIM_RECV_LATER);
    return unpack_wide(event);
}

/* A memory server accepts its next request. */
static inline uint64_t sim_event_memory(uint32_t server)
{
    return pack_event(SIM_MEMORY_NEXT, server, 0, 0);
}
static inline uint32_t sim_event_read_memory(uint64_t event)
{
    assert(sim_event_kind(event) == SIM_MEMORY_NEXT && event >> 24 == 0);
    return unpack_field(event, 0);
}

/* A unit of an NPU's bus. */
typedef struct sim_bus_event {
    uint32_t npu, unit, step;
} sim_bus_event;
static inline uint64_t sim_event_bus(uint32_t npu, uint32_t unit, uint32_t step)
{
    return pack_event(SIM_BUS, npu, unit, step);
}
static inline sim_bus_event sim_event_read_bus(uint64_t event)
{
    assert(sim_event_kind(event) == SIM_BUS);
    return (sim_bus_event){unpack_field(event, 0), unpack_field(event, 1),
                           unpack_field(event, 2)};
}

#endif
