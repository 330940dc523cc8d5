/*
 * sim/coll/match.c - messages between two ranks. The k-th send of a key (tag, sender,
 * receiver, bytes) matches the k-th receive of the same key. Messages of one key never
 * overtake each other, so counting is enough. On arrival the sender's event is
 * dispatched, then the receiver's if the receive was issued before. A receive that is
 * issued after the arrival completes by an event of the same instant.
 *
 * Rendezvous: a send waits for a small control message from its receiver. A receive takes
 * effect when that control message has arrived.
 */
#include "base/hash.h"
#include "sim/rules.h"

enum { CONTROL_TAG = 1000000000, CONTROL_BYTES = 8192 };

static uint64_t hash_key(uint32_t from, uint32_t to, uint32_t tag, uint64_t bytes)
{
    return hash_u64(hash_u64((uint64_t)from << 32 | to) + hash_u64(bytes) * 3 + tag);
}

/* Find or make the channel of a key. SIM_NONE: no memory. */
static uint32_t get_channel(sim *s, uint32_t from, uint32_t to, uint32_t tag,
                            uint64_t bytes)
{
    sim_match *m = &s->match;
    assert(from < s->n_npus && to < s->n_npus && from != to);
    const uint64_t hash = hash_key(from, to, tag, bytes);
    uint32_t slot = TABLE_NONE, id;
    while ((id = table_next(&m->channels_by_key, hash, &slot)) != TABLE_NONE) {
        const sim_channel *c = &m->channels.at[id];
        if (c->from == from && c->to == to && c->tag == tag && c->bytes == bytes)
            return id;
    }
    id = m->free_channel;
    if (id != SIM_NONE)
        m->free_channel = m->channels.at[id].next_free;
    else if (array_push(&m->channels, (sim_channel){0}))
        id = (uint32_t)m->channels.n - 1;
    if (id == SIM_NONE || !table_add(&m->channels_by_key, hash, id)) {
        sim_fail_memory(s);
        return SIM_NONE;
    }
    m->channels.at[id] = (sim_channel){.bytes = bytes,
                                       .hash = hash,
                                       .tag = tag,
                                       .from = from,
                                       .to = to,
                                       .head = SIM_NONE,
                                       .tail = SIM_NONE};
    return id;
}

/* Free a channel that no message or receive uses any more. */
static void drop_channel(sim_match *m, uint32_t id)
{
    sim_channel *c = &m->channels.at[id];
    if (c->n_flying != 0 || c->n_early != 0 || c->head != SIM_NONE)
        return;
    table_remove(&m->channels_by_key, c->hash, id);
    c->next_free = m->free_channel;
    m->free_channel = id;
}

static void send_now(sim *s, uint32_t from, uint32_t to, uint32_t tag, uint64_t bytes,
                     uint64_t sent)
{
    sim_match *m = &s->match;
    const uint32_t channel = get_channel(s, from, to, tag, bytes);
    uint32_t id = m->free_transfer;
    if (channel == SIM_NONE)
        return;
    if (id != SIM_NONE) {
        m->free_transfer = m->transfers.at[id].next_free;
    } else {
        if (!array_push(&m->transfers, (sim_transfer){0})) {
            sim_fail_memory(s);
            return;
        }
        id = (uint32_t)m->transfers.n - 1;
    }
    if (net_can(s->net, NET_PAYS_ONE_DIM) &&
        net_count_differing_dims(s->net, from, to) > 1)
        s->warnings |= 1u << SIM_WARN_ACROSS;
    m->transfers.at[id] = (sim_transfer){sent, channel, SIM_NONE};
    m->channels.at[channel].n_flying++;
    net_send(s->net, from, to, bytes, sim_event_transfer(id));
}

static void recv_now(sim *s, uint32_t from, uint32_t to, uint32_t tag, uint64_t bytes,
                     uint64_t received)
{
    sim_match *m = &s->match;
    const uint32_t channel = get_channel(s, from, to, tag, bytes);
    if (channel == SIM_NONE)
        return;
    sim_channel *c = &m->channels.at[channel];
    /* No receive waits while an early message is available. */
    assert(c->n_early == 0 || c->head == SIM_NONE);
    if (c->n_early > 0) {
        c->n_early--;
        drop_channel(m, channel);
        des_queue_push(&s->queue, s->queue.now, received);
        return;
    }
    uint32_t id = m->free_waiter;
    if (id != SIM_NONE) {
        m->free_waiter = m->waiters.at[id].next;
    } else {
        if (!array_push(&m->waiters, (sim_waiter){0})) {
            sim_fail_memory(s);
            return;
        }
        id = (uint32_t)m->waiters.n - 1;
    }
    m->waiters.at[id] = (sim_waiter){received, SIM_NONE};
    if (c->head == SIM_NONE)
        c->head = id;
    else
        m->waiters.at[c->tail].next = id;
    c->tail = id;
}

/* Link the receive to its sender's node. */
static void record_message(sim *s, uint64_t sent, uint64_t received)
{
    const sim_node_event from = sim_event_read_node(sent);
    const sim_node_event to = sim_event_read_node(received);
    const uint32_t node = s->ranks[from.owner].program->nodes[from.node].trace_index;
    sim_record_link(s, to.owner, to.node, (uint64_t)from.owner << 32 | node);
}

void sim_message_arrived(sim *s, uint32_t transfer)
{
    sim_match *m = &s->match;
    assert(transfer < m->transfers.n);
    const sim_transfer t = m->transfers.at[transfer];
    m->transfers.at[transfer].next_free = m->free_transfer;
    m->free_transfer = transfer;
    assert(t.channel < m->channels.n && m->channels.at[t.channel].n_flying > 0);
    const uint32_t waiter = m->channels.at[t.channel].head;
    uint64_t received = SIM_EVENT_NONE;
    if (waiter != SIM_NONE) {
        assert(waiter < m->waiters.n && m->channels.at[t.channel].n_early == 0);
        received = m->waiters.at[waiter].then;
        m->channels.at[t.channel].head = m->waiters.at[waiter].next;
        m->waiters.at[waiter].next = m->free_waiter;
        m->free_waiter = waiter;
    } else {
        m->channels.at[t.channel].n_early++;
    }
    m->channels.at[t.channel].n_flying--;
    drop_channel(m, t.channel);
    if (sim_event_kind(t.sent) == SIM_NODE && sim_event_kind(received) == SIM_NODE)
        record_message(s, t.sent, received);
    sim_dispatch(s, t.sent);
    sim_dispatch(s, received);
}

static uint32_t hold_message(sim *s, const sim_handshake *message)
{
    sim_match *m = &s->match;
    if (message->bytes > s->rules->max_held_bytes) {
        sim_fail(s, error_set(s->err, HALLEY_EINVAL,
                              "rank %u sends rank %u %llu bytes; with "
                              "--rendezvous-protocol ASTRA-sim counts them in 32 bits, "
                              "up to 2147483647",
                              message->from, message->to,
                              (unsigned long long)message->bytes));
        return SIM_NONE;
    }
    uint32_t id = m->free_handshake;
    if (id != SIM_NONE) {
        m->free_handshake = m->handshakes.at[id].next_free;
    } else {
        if (!array_push(&m->handshakes, (sim_handshake){0})) {
            sim_fail_memory(s);
            return SIM_NONE;
        }
        id = (uint32_t)m->handshakes.n - 1;
    }
    m->handshakes.at[id] = *message;
    return id;
}

void sim_message_send(sim *s, uint32_t from, uint32_t to, uint32_t tag, uint64_t bytes,
                      uint64_t sent)
{
    if (!s->system->rendezvous) {
        send_now(s, from, to, tag, bytes, sent);
        return;
    }
    const uint32_t id =
        hold_message(s, &(sim_handshake){bytes, sent, from, to, tag, SIM_NONE});
    if (id != SIM_NONE)
        recv_now(s, to, from, tag + CONTROL_TAG, CONTROL_BYTES, sim_event_send_later(id));
}

void sim_message_recv(sim *s, uint32_t from, uint32_t to, uint32_t tag, uint64_t bytes,
                      uint64_t received)
{
    if (!s->system->rendezvous) {
        recv_now(s, from, to, tag, bytes, received);
        return;
    }
    const uint32_t id =
        hold_message(s, &(sim_handshake){bytes, received, from, to, tag, SIM_NONE});
    if (id != SIM_NONE)
        send_now(s, to, from, tag + CONTROL_TAG, CONTROL_BYTES, sim_event_recv_later(id));
}

void sim_handshake_done(sim *s, uint64_t event)
{
    sim_match *m = &s->match;
    const uint32_t id = sim_event_read_index(event);
    assert(id < m->handshakes.n);
    const sim_handshake h = m->handshakes.at[id];
    m->handshakes.at[id].next_free = m->free_handshake;
    m->free_handshake = id;
    if (sim_event_kind(event) == SIM_SEND_LATER)
        send_now(s, h.from, h.to, h.tag, h.bytes, h.then);
    else
        recv_now(s, h.from, h.to, h.tag, h.bytes, h.then);
}

void sim_match_fini(sim_match *m)
{
    table_fini(&m->channels_by_key);
    array_fini(&m->channels);
    array_fini(&m->waiters);
    array_fini(&m->transfers);
    array_fini(&m->handshakes);
}
