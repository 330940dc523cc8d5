/*
 * Writes the nodes of a role's trace, with the attributes that ASTRA-sim and Chakra use.
 *
 * A collective carries as many bytes as take its priced time on an idle network. If the
 * price is the closed form of its bytes, these are its bytes. They are more where the
 * stack makes the collective slower (a factor of the library), and fewer where a part is
 * hidden. A message between stages keeps its bytes, and the time that the stack adds is a
 * node after it. A simulation without contention therefore takes the estimated time.
 */
#include "estimate/plan_nodes.h"

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
    array_fini(&w->hiding);
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

/* Seconds of a message of this many bytes on an idle network. */
static double time_alone(const plan_nodes *w, const plan_message *m, double bytes)
{
    const coll_call call = price_call(w->c, m->kind, m->group, bytes);
    return price_call_time(w->c, m->group, &call);
}

/* The largest number of bytes that take no longer than `m->seconds`; 0 = not even one.
 * The time may jump where the library changes its algorithm, so bytes are never rounded
 * up. */
static double search_bytes(const plan_nodes *w, const plan_message *m)
{
    double low = 1, high = fmax(m->bytes, 2);
    if (fabs(time_alone(w, m, m->bytes) - m->seconds) <= 1e-9 * m->seconds)
        return m->bytes;
    if (time_alone(w, m, low) > m->seconds)
        return 0;
    while (time_alone(w, m, high) <= m->seconds && high < 1e18)
        high *= 2;
    while (high - low > 1 && high / low > 1 + 1e-9) {
        const double middle = sqrt(low * high);
        if (time_alone(w, m, middle) <= m->seconds)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/*
 * The time of a message that is sent in many pieces includes the latency of each piece.
 * On links between data centres, latency is most of that time. Bytes that take this time
 * would be several times the real bytes and would overload links that others use. In this
 * case the message keeps its real bytes.
 */
static double limit_bytes(const plan_message *m, double bytes)
{
    static const double most = 4; /* far above the effect of library factors */
    return bytes > most * m->bytes && m->bytes >= 1 ? m->bytes : bytes;
}

static double find_bytes(plan_nodes *w, const plan_message *m)
{
    for (uint32_t i = 0; i < PLAN_N_FOUND; i++) {
        const plan_found *f = &w->found[i];
        if (f->of.seconds == m->seconds && f->of.bytes == m->bytes &&
            f->of.kind == m->kind && f->of.group == m->group)
            return f->bytes;
    }
    const double bytes = limit_bytes(m, search_bytes(w, m));
    w->found[w->next_found++ % PLAN_N_FOUND] = (plan_found){*m, bytes};
    return bytes;
}

static uint64_t add_collective(plan_nodes *w, const plan_message *m, double bytes)
{
    static const halley_coll_type types[] = {
        [COLL_ALL_REDUCE] = HALLEY_COLL_ALL_REDUCE,
        [COLL_ALL_GATHER] = HALLEY_COLL_ALL_GATHER,
        [COLL_REDUCE_SCATTER] = HALLEY_COLL_REDUCE_SCATTER,
        [COLL_ALL_TO_ALL] = HALLEY_COLL_ALL_TO_ALL,
    };
    assert(m->kind <= COLL_ALL_TO_ALL && w->c->n[m->group] > 1);
    const uint64_t id = open_plan_node(w, HALLEY_NODE_COLL, m->name);
    /* A trace counts the input of one rank to an all-gather; halley counts the full
     * output. */
    if (m->kind == COLL_ALL_GATHER)
        bytes /= w->c->n[m->group];
    (void)halley_builder_attr_i64(w->b, HALLEY_ATTR_NAME_COMM_TYPE,
                                  (int64_t)types[m->kind]);
    (void)halley_builder_attr_i64(w->b, HALLEY_ATTR_NAME_COMM_SIZE,
                                  (int64_t)fmax(1, floor(bytes * (1 + 1e-12))));
    (void)halley_builder_attr_text(w->b, HALLEY_ATTR_NAME_PG_NAME,
                                   as_bytes(plan_group_name(m->group)));
    return id;
}

enum { MOST_PIECES = 4 };

/* If the library changes its algorithm, no size may take exactly this time. The message
 * is then sent in pieces. Time shorter than the latency of a piece is added to the rank's
 * next compute node. */
void plan_message_chain(plan_nodes *w, const plan_message *m)
{
    plan_message left = *m;
    for (int i = 0; i < MOST_PIECES && left.seconds > 1e-3 * m->seconds; i++) {
        const double bytes = find_bytes(w, &left);
        if (!(bytes >= 1))
            break;
        const double taken = fmin(left.seconds, time_alone(w, &left, bytes));
        link_chain(w, add_collective(w, &left, bytes));
        w->alone_s += taken;
        left.seconds -= taken;
        if (bytes == left.bytes) /* all bytes are sent: the remaining time is latency */
            break;
    }
    w->more_s += fmax(0, left.seconds);
}

uint64_t plan_message_beside(plan_nodes *w, const plan_message *m, uint64_t awaits)
{
    const double bytes = m->seconds > 0 ? find_bytes(w, m) : 0;
    if (!(bytes >= 1))
        return PLAN_NO_NODE;
    const uint64_t id = add_collective(w, m, bytes);
    add_dependency_on(w, awaits);
    return id;
}

void plan_message_hide(plan_nodes *w, const plan_message *m)
{
    plan_debt *d = &w->debts[m->group];
    if (m->seconds > 0) {
        d->of = *m;
        d->seconds += m->seconds;
    }
}

static bool is_of_weights(workload_group group)
{
    return group >= WORKLOAD_DP && group != WORKLOAD_ETP;
}

/* Send the part of a group's messages that fits next to `seconds` of compute. The rest
 * remains in the debt. */
static double hide_group(plan_nodes *w, plan_debt *d, double seconds)
{
    plan_message m = d->of;
    m.seconds = fmin(d->seconds, seconds);
    const uint64_t id = plan_message_beside(w, &m, w->last);
    if (id == PLAN_NO_NODE) {
        if (d->seconds <= seconds)
            d->seconds = 0; /* shorter than its latency, and hidden */
        return 0;
    }
    d->seconds -= m.seconds;
    w->failed |=
        is_of_weights(m.group) ? !array_push(&w->late, id) : !array_push(&w->hiding, id);
    return m.seconds;
}

bool plan_uses_cards_only(const plan_nodes *w, workload_group group)
{
    return w->c->per_node[group] == 1 && w->c->n[group] > 1;
}

static bool hides_far(const plan_nodes *w, int group)
{
    return is_of_weights((workload_group)group) &&
           plan_uses_cards_only(w, (workload_group)group);
}

/* Groups inside nodes and groups that span nodes use different links. */
void plan_hide_begin(plan_nodes *w, double seconds)
{
    double left[2] = {seconds, seconds};
    for (int g = 0; g < WORKLOAD_N_GROUPS; g++) {
        double *room = &left[w->c->per_node[g] < w->c->n[g]];
        if (w->debts[g].seconds > 0 && *room > 0 && !hides_far(w, g))
            *room -= hide_group(w, &w->debts[g], *room);
    }
}

void plan_hide_far(plan_nodes *w, double seconds)
{
    for (int g = 0; g < WORKLOAD_N_GROUPS; g++)
        if (w->debts[g].seconds > 0 && seconds > 0 && hides_far(w, g))
            seconds -= hide_group(w, &w->debts[g], seconds);
}

void plan_hide_end(plan_nodes *w)
{
    for (size_t i = 0; i < w->hiding.n; i++)
        plan_await(w, w->hiding.at[i]);
    w->hiding.n = 0;
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

uint64_t plan_compute_chain(plan_nodes *w, const char *name, double seconds, double flops,
                            double bytes)
{
    seconds += w->more_s;
    w->more_s = 0;
    const uint64_t id = open_plan_node(w, HALLEY_NODE_COMP, name);
    add_times(w, seconds, flops, bytes);
    w->alone_s += seconds;
    return link_chain(w, id);
}

void plan_compute_alone(plan_nodes *w, const char *name, double seconds)
{
    plan_hide_begin(w, seconds + w->more_s);
    plan_hide_far(w, seconds + w->more_s);
    plan_compute_chain(w, name, seconds, 0, 0);
    plan_hide_end(w);
}

void plan_flush(plan_nodes *w, const char *name)
{
    if (w->more_s > 0)
        plan_compute_alone(w, name, 0);
}

void plan_debts_send(plan_nodes *w, workload_group group)
{
    plan_debt *d = &w->debts[group];
    plan_message m = d->of;
    m.seconds = d->seconds;
    if (d->seconds > 0)
        plan_await_late(w, plan_message_beside(w, &m, w->last));
    d->seconds = 0;
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
