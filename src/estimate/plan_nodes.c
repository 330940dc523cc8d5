/* Nodes of a plan's trace: their attributes as ASTRA-sim and Chakra have them. */
#include "estimate/plan_nodes.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t node(plan_nodes *w, uint32_t type, const char *name)
{
    assert(name != NULL);
    (void)halley_builder_node(w->b, w->next_id, type, (halley_bytes){name, strlen(name)});
    (void)halley_builder_attr_bool(w->b, HALLEY_ATTR_NAME_IS_CPU_OP, false);
    return w->next_id++;
}

void plan_after(plan_nodes *w, uint64_t id)
{
    if (id != PLAN_NO_NODE)
        (void)halley_builder_data(w->b, id);
}

void plan_nodes_fini(plan_nodes *w)
{
    array_fini(&w->awaited);
    array_fini(&w->hidden);
    array_fini(&w->hiding);
}

void plan_await(plan_nodes *w, uint64_t id)
{
    w->failed |= id != PLAN_NO_NODE && !array_push(&w->awaited, id);
}

/* The node just made is the next of the chain. */
static uint64_t link_chain(plan_nodes *w, uint64_t id)
{
    assert(id < w->next_id);
    plan_after(w, w->last);
    for (size_t i = 0; i < w->awaited.n; i++)
        plan_after(w, w->awaited.at[i]);
    w->awaited.n = 0;
    return w->last = id;
}

void plan_coll_hide(plan_nodes *w, const plan_hiding *what)
{
    w->failed |= !array_push(&w->hiding, *what);
}

static void start_hiding(plan_nodes *w)
{
    for (size_t i = 0; i < w->hiding.n; i++) {
        const plan_hiding *h = &w->hiding.at[i];
        const uint64_t id = plan_coll(w, h->name, h->type, h->group, h->bytes, w->last);
        w->failed |= !array_push(&w->hidden, id);
    }
    w->hiding.n = 0;
}

uint64_t plan_compute_chain(plan_nodes *w, const char *name, double seconds, double flops,
                            double bytes)
{
    assert(seconds >= 0);
    assert(flops >= 0 && bytes >= 0);
    start_hiding(w);
    const uint64_t id = node(w, HALLEY_NODE_COMP, name);
    (void)halley_builder_time(w->b, 0, (uint64_t)llround(seconds * 1e6));
    (void)halley_builder_attr_i64(w->b, HALLEY_ATTR_NAME_NUM_OPS,
                                  (int64_t)llround(flops));
    (void)halley_builder_attr_u64(w->b, HALLEY_ATTR_NAME_TENSOR_SIZE,
                                  (uint64_t)llround(bytes));
    (void)halley_builder_attr_u64(w->b, HALLEY_ATTR_NAME_DURATION_NS,
                                  (uint64_t)llround(seconds * 1e9));
    return link_chain(w, id);
}

static uint64_t memory(plan_nodes *w, bool store, const char *name, double bytes)
{
    assert(bytes >= 0);
    const uint64_t id =
        node(w, store ? HALLEY_NODE_MEM_STORE : HALLEY_NODE_MEM_LOAD, name);
    (void)halley_builder_attr_u64(w->b, HALLEY_ATTR_NAME_TENSOR_SIZE,
                                  (uint64_t)llround(bytes));
    return id;
}

uint64_t plan_memory_chain(plan_nodes *w, bool store, const char *name, double bytes)
{
    return link_chain(w, memory(w, store, name, bytes));
}

uint64_t plan_memory(plan_nodes *w, bool store, const char *name, double bytes,
                     uint64_t awaits)
{
    assert(name != NULL && bytes >= 0);
    const uint64_t id = memory(w, store, name, bytes);
    plan_after(w, awaits);
    return id;
}

static uint64_t collective(plan_nodes *w, const char *name, halley_coll_type type,
                           workload_group kind, double bytes)
{
    assert(kind < WORKLOAD_N_GROUPS);
    assert(w->n_members[kind] > 0);
    assert(bytes >= 0);
    char group[16];
    const uint64_t id = node(w, HALLEY_NODE_COLL, name);
    /* A trace counts what one rank puts into a gather, we what all get out. */
    if (type == HALLEY_COLL_ALL_GATHER && w->n_members[kind] > 0)
        bytes /= w->n_members[kind];
    (void)halley_builder_attr_i64(w->b, HALLEY_ATTR_NAME_COMM_TYPE, (int64_t)type);
    (void)halley_builder_attr_i64(w->b, HALLEY_ATTR_NAME_COMM_SIZE,
                                  (int64_t)llround(bytes));
    const int n =
        snprintf(group, sizeof group, "%u", plan_group_of(w->plan, kind, w->rank));
    (void)halley_builder_attr_text(w->b, HALLEY_ATTR_NAME_PG_NAME,
                                   (halley_bytes){group, (size_t)n});
    return id;
}

uint64_t plan_coll(plan_nodes *w, const char *name, halley_coll_type type,
                   workload_group group, double bytes, uint64_t awaits)
{
    assert(group < WORKLOAD_N_GROUPS);
    const uint64_t id = collective(w, name, type, group, bytes);
    plan_after(w, awaits);
    return id;
}

uint64_t plan_coll_chain(plan_nodes *w, const char *name, halley_coll_type type,
                         workload_group group, double bytes)
{
    const uint64_t id = collective(w, name, type, group, bytes);
    for (size_t i = 0; i < w->hidden.n; i++)
        plan_await(w, w->hidden.at[i]);
    w->hidden.n = 0;
    return link_chain(w, id);
}

static uint64_t message(plan_nodes *w, bool send, uint32_t peer, uint32_t tag,
                        double bytes)
{
    assert(peer != w->rank);
    assert(bytes >= 0);
    char name[48];
    const uint32_t src = send ? w->rank : peer, dst = send ? peer : w->rank;
    snprintf(name, sizeof name, "%s %u to %u", send ? "send" : "receive", src, dst);
    const uint64_t id = node(w, send ? HALLEY_NODE_SEND : HALLEY_NODE_RECV, name);
    (void)halley_builder_attr_i32(w->b, HALLEY_ATTR_NAME_COMM_SRC, (int32_t)src);
    (void)halley_builder_attr_i32(w->b, HALLEY_ATTR_NAME_COMM_DST, (int32_t)dst);
    (void)halley_builder_attr_i32(w->b, HALLEY_ATTR_NAME_COMM_TAG, (int32_t)tag);
    (void)halley_builder_attr_i64(w->b, HALLEY_ATTR_NAME_COMM_SIZE,
                                  (int64_t)llround(bytes));
    return id;
}

void plan_send(plan_nodes *w, uint32_t peer, uint32_t tag, double bytes, bool blocks)
{
    const uint64_t id = message(w, true, peer, tag, bytes);
    if (blocks)
        link_chain(w, id);
    else
        plan_after(w, w->last);
}

void plan_receive(plan_nodes *w, uint32_t peer, uint32_t tag, double bytes)
{
    plan_await(w, message(w, false, peer, tag, bytes));
}
