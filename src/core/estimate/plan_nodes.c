/*
 * Writes the nodes of a role's trace, with the attributes that ASTRA-sim and Chakra use.
 *
 * A collective carries the bytes of the plan. Its price differs from the closed form of
 * its bytes where a stack makes it slower or faster. With w the part of the closed form t
 * during which bytes are sent, and f the factor of the price:
 *
 *   f t = (t - w) + fixed + w / rate,   rate = 1 / f,   fixed = (f - 1) (t - w)
 *
 * These two are attributes of their own (halley_rate, halley_fixed_ns). A simulation
 * without contention therefore takes the priced time, and one with contention counts the
 * true bytes. Other simulators do not know the attributes. Plain traces have none: added
 * time becomes compute before the message, and the rate is left out.
 */
#include "estimate/plan_nodes.h"

#include "coll/load.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *plan_group_name(workload_group group)
{
    static const char *const names[WORKLOAD_N_GROUPS] = {
        [WORKLOAD_TP] = "tp",       [WORKLOAD_CP] = "cp",        [WORKLOAD_EP] = "ep",
        [WORKLOAD_DP] = "dp",       [WORKLOAD_PP] = "pp",        [WORKLOAD_XP] = "xp",
        [WORKLOAD_FSDP] = "fsdp",   [WORKLOAD_OUTER] = "outer",  [WORKLOAD_ETP] = "etp",
        [WORKLOAD_XFSDP] = "xfsdp", [WORKLOAD_XOUTER] = "xouter"};
    return names[group];
}

static halley_bytes as_bytes(const char *text)
{
    return (halley_bytes){text, strlen(text)};
}

static uint64_t open_plan_node(plan_nodes *w, uint32_t type, const char *name)
{
    char label[128];
    if (w->is_labelled && w->pass != NULL) {
        const bool in_layer = w->layer != PLAN_NO_LAYER;
        char layer[16] = "";
        if (in_layer)
            snprintf(layer, sizeof layer, "L%u.", w->layer);
        snprintf(label, sizeof label, "%s%s.%s", layer, name, w->pass);
        name = label;
    }
    (void)halley_builder_node(w->b, w->next_id, type, as_bytes(name));
    (void)halley_builder_attr_bool(w->b, HALLEY_ATTR_NAME_IS_CPU_OP, false);
    return w->next_id++;
}

/* Add another dependency to the latest node. */
static void add_dependency_on(plan_nodes *w, uint64_t id)
{
    if (id != PLAN_NO_NODE)
        (void)halley_builder_data(w->b, id);
}

void plan_nodes_fini(plan_nodes *w)
{
    array_fini(&w->awaited);
    array_fini(&w->windows);
    array_fini(&w->late);
}

void plan_await(plan_nodes *w, uint64_t id)
{
    w->failed |= id != PLAN_NO_NODE && !array_push(&w->awaited, id);
}

void plan_await_late(plan_nodes *w, uint64_t id)
{
    w->failed |= id != PLAN_NO_NODE && !array_push(&w->late, id);
}

/* Make the latest node the next node of the chain. */
static uint64_t link_chain(plan_nodes *w, uint64_t id)
{
    assert(id < w->next_id);
    add_dependency_on(w, w->last);
    for (size_t i = 0; i < w->awaited.n; i++)
        add_dependency_on(w, w->awaited.at[i]);
    w->awaited.n = 0;
    return w->last = id;
}

static void add_double(plan_nodes *w, const char *name, double value)
{
    halley_attr attr = {.name = as_bytes(name), .kind = HALLEY_ATTR_DOUBLE};
    static_assert(sizeof attr.bits == sizeof value, "the bits of a double");
    memcpy(&attr.bits, &value, sizeof value);
    (void)halley_builder_attr(w->b, &attr);
}

/* How the price of a message differs from the closed form of its bytes. */
typedef struct price_split {
    double rate, fixed_s;
} price_split;

static price_split split_price(const plan_nodes *w, const plan_message *m)
{
    const coll_call call = price_call(w->c, m->kind, m->group, m->bytes);
    const double alone_s = price_call_time(w->c, m->group, &call);
    const double factor = m->seconds / alone_s;
    assert(alone_s > 0 && m->seconds > 0);
    if (fabs(factor - 1) < 1e-9)
        return (price_split){1, 0};
    const double wire_s = price_call_wire(w->c, m->group, &call);
    return (price_split){1 / factor, (factor - 1) * (alone_s - wire_s)};
}

static void add_price(plan_nodes *w, const price_split *price)
{
    if (w->plain || (price->rate == 1 && price->fixed_s == 0))
        return;
    add_double(w, HALLEY_ATTR_NAME_RATE, price->rate);
    add_double(w, HALLEY_ATTR_NAME_FIXED_NS, price->fixed_s * 1e9);
}

static uint64_t add_collective(plan_nodes *w, const plan_message *m)
{
    static const halley_coll_type types[] = {
        [COLL_ALL_REDUCE] = HALLEY_COLL_ALL_REDUCE,
        [COLL_ALL_GATHER] = HALLEY_COLL_ALL_GATHER,
        [COLL_REDUCE_SCATTER] = HALLEY_COLL_REDUCE_SCATTER,
        [COLL_ALL_TO_ALL] = HALLEY_COLL_ALL_TO_ALL,
    };
    assert(m->kind <= COLL_ALL_TO_ALL && w->c->n[m->group] > 1);
    const price_split price = split_price(w, m);
    const uint64_t id = open_plan_node(w, HALLEY_NODE_COLL, m->name);
    /* A trace counts the input of one rank to an all-gather; halley counts the full
     * output. */
    const double bytes =
        m->kind == COLL_ALL_GATHER ? m->bytes / w->c->n[m->group] : m->bytes;
    (void)halley_builder_attr_i64(w->b, HALLEY_ATTR_NAME_COMM_TYPE,
                                  (int64_t)types[m->kind]);
    (void)halley_builder_attr_i64(w->b, HALLEY_ATTR_NAME_COMM_SIZE,
                                  (int64_t)fmax(1, round(bytes)));
    (void)halley_builder_attr_text(w->b, HALLEY_ATTR_NAME_PG_NAME,
                                   as_bytes(plan_group_name(m->group)));
    add_price(w, &price);
    return id;
}

/* Depend on the chain and on what its next node waits for, without becoming a part of
 * it. */
static void follow_chain(plan_nodes *w)
{
    add_dependency_on(w, w->last);
    for (size_t i = 0; i < w->awaited.n; i++)
        add_dependency_on(w, w->awaited.at[i]);
}

uint64_t plan_message_beside(plan_nodes *w, const plan_message *m, uint64_t awaits,
                             uint64_t before)
{
    const uint64_t id = add_collective(w, m);
    add_dependency_on(w, awaits);
    if (before != awaits)
        add_dependency_on(w, before);
    return id;
}

static void open_window(plan_nodes *w, uint64_t id, double left_s, uint32_t item)
{
    w->failed |= !array_push(&w->windows, ((plan_window){id, left_s, item}));
}

/* In a plain trace, time that the stack adds is compute before the message. */
static void write_fixed(plan_nodes *w, const plan_message *m)
{
    if (!w->plain)
        return;
    w->more_s += fmax(0, split_price(w, m).fixed_s);
    plan_flush(w, "launch");
}

void plan_message_chain(plan_nodes *w, const plan_message *m)
{
    if (!(m->seconds > 0))
        return;
    write_fixed(w, m);
    w->alone_s += fmax(0, m->seconds - m->hidden_s);
    if (!(m->hidden_s > 0)) {
        link_chain(w, add_collective(w, m));
        return;
    }
    const uint64_t id = add_collective(w, m);
    follow_chain(w);
    open_window(w, id, m->hidden_s, PLAN_NO_ITEM);
}

void plan_message_early(plan_nodes *w, const plan_message *m, uint32_t item)
{
    assert(item != PLAN_NO_ITEM && m->seconds > 0);
    write_fixed(w, m);
    w->alone_s += fmax(0, m->seconds - m->hidden_s);
    const uint64_t id = add_collective(w, m);
    follow_chain(w);
    open_window(w, id, HUGE_VAL, item);
}

/* `seconds` have passed on the chain; its next node waits for the windows that end. */
static void pass_windows(plan_nodes *w, double seconds)
{
    size_t n = 0;
    for (size_t i = 0; i < w->windows.n; i++) {
        plan_window open = w->windows.at[i];
        open.left_s -= seconds;
        if (open.left_s > 1e-12)
            w->windows.at[n++] = open;
        else
            plan_await(w, open.id);
    }
    w->windows.n = n;
}

/* `hidden_s`: the seconds after its turn that still run next to the message. */
void plan_message_turn(plan_nodes *w, double hidden_s, uint32_t item)
{
    for (size_t i = 0; i < w->windows.n; i++)
        if (w->windows.at[i].item == item) {
            w->windows.at[i].item = PLAN_NO_ITEM;
            w->windows.at[i].left_s = hidden_s;
        }
    pass_windows(w, 0);
}

/* Set the duration and the work of the latest compute node. */
static void add_times(plan_nodes *w, double seconds, double flops, double bytes)
{
    (void)halley_builder_time(w->b, 0, (uint64_t)llround(seconds * 1e6));
    (void)halley_builder_attr_i64(w->b, HALLEY_ATTR_NAME_NUM_OPS,
                                  (int64_t)llround(flops));
    (void)halley_builder_attr_u64(w->b, HALLEY_ATTR_NAME_TENSOR_SIZE,
                                  (uint64_t)llround(bytes));
    (void)halley_builder_attr_u64(w->b, HALLEY_ATTR_NAME_DURATION_NS,
                                  (uint64_t)llround(seconds * 1e9));
}

/* The least time until the chain waits for a message. */
static double find_next_end(const plan_nodes *w)
{
    double least_s = HUGE_VAL;
    for (size_t i = 0; i < w->windows.n; i++)
        least_s = fmin(least_s, w->windows.at[i].left_s);
    return least_s;
}

void plan_windows_close(plan_nodes *w)
{
    pass_windows(w, HUGE_VAL);
}

static void write_compute(plan_nodes *w, const char *name, double seconds, double flops,
                          double bytes)
{
    const uint64_t id = open_plan_node(w, HALLEY_NODE_COMP, name);
    add_times(w, seconds, flops, bytes);
    w->alone_s += seconds;
    link_chain(w, id);
}

void plan_compute_chain(plan_nodes *w, const char *name, double seconds, double flops,
                        double bytes)
{
    const double all_s = seconds + w->more_s;
    double left_s = all_s, end_s;
    assert(seconds >= 0);
    w->more_s = 0;
    while ((end_s = find_next_end(w)) < left_s) {
        const double share = end_s / all_s;
        write_compute(w, name, end_s, flops * share, bytes * share);
        pass_windows(w, end_s);
        left_s -= end_s;
    }
    const double share = all_s > 0 ? left_s / all_s : 1;
    write_compute(w, name, left_s, flops * share, bytes * share);
    pass_windows(w, left_s);
}

void plan_flush(plan_nodes *w, const char *name)
{
    if (w->more_s > 0)
        plan_compute_chain(w, name, 0, 0, 0);
}

static uint64_t add_memory_node(plan_nodes *w, bool store, const char *name, double bytes)
{
    assert(bytes >= 0);
    const uint64_t id =
        open_plan_node(w, store ? HALLEY_NODE_MEM_STORE : HALLEY_NODE_MEM_LOAD, name);
    (void)halley_builder_attr_u64(w->b, HALLEY_ATTR_NAME_TENSOR_SIZE,
                                  (uint64_t)llround(bytes));
    return id;
}

uint64_t plan_memory_chain(plan_nodes *w, bool store, const char *name, double bytes)
{
    return link_chain(w, add_memory_node(w, store, name, bytes));
}

uint64_t plan_memory(plan_nodes *w, bool store, const char *name, double bytes,
                     uint64_t awaits)
{
    const uint64_t id = add_memory_node(w, store, name, bytes);
    add_dependency_on(w, awaits);
    return id;
}

/* Add a delay after a node. It occupies no resource: it only delays nodes that depend on
 * it. */
static uint64_t add_delay(plan_nodes *w, const char *name, double seconds, uint64_t after)
{
    assert(seconds > 0);
    const uint64_t id = open_plan_node(w, HALLEY_NODE_COMP, name);
    add_times(w, seconds, 0, 0);
    (void)halley_builder_attr_bool(w->b, HALLEY_ATTR_NAME_FREE_LANE, true);
    add_dependency_on(w, after);
    return id;
}

static uint64_t add_transfer(plan_nodes *w, bool send, const char *peer, uint32_t tag,
                             double bytes)
{
    const uint64_t id = open_plan_node(w, send ? HALLEY_NODE_SEND : HALLEY_NODE_RECV,
                                       send ? "send" : "receive");
    (void)halley_builder_attr_text(w->b, HALLEY_ATTR_NAME_COMM_PEER, as_bytes(peer));
    (void)halley_builder_attr_i32(w->b, HALLEY_ATTR_NAME_COMM_TAG, (int32_t)tag);
    (void)halley_builder_attr_i64(w->b, HALLEY_ATTR_NAME_COMM_SIZE,
                                  (int64_t)fmax(1, round(bytes)));
    return id;
}

void plan_send(plan_nodes *w, const char *peer, uint32_t tag, double bytes)
{
    plan_flush(w, "wait");
    add_transfer(w, true, peer, tag, bytes);
    add_dependency_on(w, w->last);
}

void plan_receive(plan_nodes *w, const char *peer, uint32_t tag, double bytes,
                  double late_s)
{
    const uint64_t id = add_transfer(w, false, peer, tag, bytes);
    plan_await(w, late_s > 0 ? add_delay(w, "receive", late_s, id) : id);
}
