/*
 * Match sends with receives.
 *
 * The k-th send of a key (source, destination, tag, size) matches the k-th receive of
 * that key. So only the number of each counts. What is left over is paired again to
 * report the likely mistake: first ignoring the size, then ignoring the tag. The time is
 * linear, except for sorting what is left over.
 */
#include "base/error.h"
#include "trace/check.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct key {
    uint64_t src, dst, size_bytes;
    int64_t tag;
} key;

/* A node of a rank. */
typedef struct spot {
    uint32_t rank, node;
} spot;

typedef struct channel {
    key key;
    uint64_t n_sends, n_recvs;
    spot send, recv; /* the last of each, which are left over if any are */
} channel;

/* Unmatched sends or receives of a channel. */
typedef struct rest {
    key key;
    bool sends;
    bool told; /* already in a finding */
    uint64_t n;
    spot at;
} rest;

typedef struct matching {
    check_set *s;
    ARRAY(channel) channels;
    map64 index;
    ARRAY(rest) rests;
} matching;

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static bool same_key(const key *a, const key *b)
{
    return a->src == b->src && a->dst == b->dst && a->tag == b->tag &&
           a->size_bytes == b->size_bytes;
}

static channel *find_message_channel(matching *m, const key *k)
{
    uint64_t hash = hash_u64(k->src + hash_u64(k->dst));
    hash = hash_u64(hash_u64(hash ^ (uint64_t)k->tag) + k->size_bytes);
    for (;; hash++) {
        uint32_t at = (uint32_t)m->channels.n;
        bool fresh = false;
        if (!array_reserve(&m->channels, 1) || !map64_put(&m->index, hash, &at, &fresh))
            return NULL;
        if (fresh)
            m->channels.at[m->channels.n++] = (channel){.key = *k};
        if (fresh || same_key(&m->channels.at[at].key, k))
            return &m->channels.at[at];
    }
}

/* Can the message have a partner at all? */
static bool is_plausible(check_set *s, const check_message *m, uint32_t rank)
{
    const check_place at = check_place_of(s, rank);
    const char *own = m->sends ? "comm_src" : "comm_dst";
    const char *peer = m->sends ? "comm_dst" : "comm_src";
    if (m->own != CHECK_OWN_UNSAID && m->own != (int64_t)rank) {
        check_add(s->found, CHECK_WRONG_RANK, &at, m->node,
                  "it is the node's own rank, correct it or leave it out",
                  "%s is %" PRId64 ", but the node is on rank %" PRIu32, own, m->own,
                  rank);
        return false;
    }
    if (m->peer >= s->distinct->n_ranks) {
        check_add(s->found, CHECK_PEER_RANGE, &at, m->node, "correct the rank",
                  "%s is %" PRIu64 ", but there are ranks 0 to %" PRIu32 " only", peer,
                  m->peer, s->distinct->n_ranks - 1);
        return false;
    }
    if (m->peer == rank) {
        check_add(s->found, CHECK_SELF_SEND, &at, m->node,
                  "a rank cannot send to itself, drop both nodes",
                  "%s is %" PRIu64 ", the node's own rank", peer, m->peer);
        return false;
    }
    return true;
}

static bool list_message(matching *m, const check_message *msg, uint32_t rank)
{
    if (!is_plausible(m->s, msg, rank))
        return true;
    const key k = {.src = msg->sends ? rank : msg->peer,
                   .dst = msg->sends ? msg->peer : rank,
                   .size_bytes = msg->size_bytes,
                   .tag = msg->tag};
    channel *c = find_message_channel(m, &k);
    if (c == NULL)
        return false;
    if (msg->sends) {
        c->n_sends++;
        c->send = (spot){rank, msg->node};
    } else {
        c->n_recvs++;
        c->recv = (spot){rank, msg->node};
    }
    return true;
}

static bool list_messages(matching *m)
{
    const trace_distinct *d = m->s->distinct;
    for (uint32_t rank = 0; rank < d->n_ranks; rank++) {
        const check_one *one = &m->s->ones[d->which[rank]];
        for (size_t i = 0; i < one->messages.n; i++)
            if (!list_message(m, &one->messages.at[i], rank))
                return false;
    }
    return true;
}

static bool collect_rests(matching *m)
{
    for (size_t i = 0; i < m->channels.n; i++) {
        const channel *c = &m->channels.at[i];
        if (c->n_sends == c->n_recvs)
            continue;
        const bool sends = c->n_sends > c->n_recvs;
        const rest r = {.key = c->key,
                        .sends = sends,
                        .n = sends ? c->n_sends - c->n_recvs : c->n_recvs - c->n_sends,
                        .at = sends ? c->send : c->recv};
        if (!array_push(&m->rests, r))
            return false;
    }
    return true;
}

static int by_ends(const rest *x, const rest *y)
{
    const int order = compare_u64(x->key.src, y->key.src);
    return order != 0 ? order : compare_u64(x->key.dst, y->key.dst);
}

static int by_tag(const void *a, const void *b)
{
    const rest *x = a, *y = b;
    int order = by_ends(x, y);
    if (order == 0)
        order = (x->key.tag > y->key.tag) - (x->key.tag < y->key.tag);
    return order != 0 ? order : compare_u64(x->key.size_bytes, y->key.size_bytes);
}

static int by_size(const void *a, const void *b)
{
    const rest *x = a, *y = b;
    int order = by_ends(x, y);
    if (order == 0)
        order = compare_u64(x->key.size_bytes, y->key.size_bytes);
    return order != 0 ? order : (x->key.tag > y->key.tag) - (x->key.tag < y->key.tag);
}

static int by_spot(const void *a, const void *b)
{
    const rest *x = a, *y = b;
    int order = compare_u64(x->at.rank, y->at.rank);
    return order != 0 ? order : compare_u64(x->at.node, y->at.node);
}

static void tell_size(matching *m, const rest *send, const rest *recv)
{
    const check_place at = check_place_of(m->s, send->at.rank);
    const check_place peer = check_place_of(m->s, recv->at.rank);
    check_add(
        m->s->found, CHECK_P2P_SIZE, &at, send->at.node, "give both the same comm_size",
        "sends %" PRIu64 " bytes from rank %" PRIu64 " to rank %" PRIu64
        " with tag %" PRId64 ", but node %" PRIu64 " of rank %" PRIu64
        " waits for %" PRIu64 " bytes",
        send->key.size_bytes, send->key.src, send->key.dst, send->key.tag,
        halley_node_id(peer.trace, recv->at.node), send->key.dst, recv->key.size_bytes);
}

static void tell_tag(matching *m, const rest *send, const rest *recv)
{
    const check_place at = check_place_of(m->s, send->at.rank);
    const check_place peer = check_place_of(m->s, recv->at.rank);
    check_add(m->s->found, CHECK_P2P_TAG, &at, send->at.node,
              "give both the same comm_tag",
              "sends %" PRIu64 " bytes from rank %" PRIu64 " to rank %" PRIu64
              " with tag %" PRId64 ", but node %" PRIu64 " of rank %" PRIu64
              " waits for tag %" PRId64,
              send->key.size_bytes, send->key.src, send->key.dst, send->key.tag,
              halley_node_id(peer.trace, recv->at.node), send->key.dst, recv->key.tag);
}

static void tell_alone(matching *m, const rest *r)
{
    const check_place at = check_place_of(m->s, r->at.rank);
    char times[64] = "";
    if (r->n > 1)
        snprintf(times, sizeof times, " (%" PRIu64 " times)", r->n);
    if (r->sends)
        check_add(m->s->found, CHECK_UNMATCHED_SEND, &at, r->at.node,
                  "add the receive or drop the send",
                  "sends %" PRIu64 " bytes to rank %" PRIu64 " with tag %" PRId64
                  ", but no receive there is left for it%s",
                  r->key.size_bytes, r->key.dst, r->key.tag, times);
    else
        check_add(m->s->found, CHECK_UNMATCHED_RECV, &at, r->at.node,
                  "it waits for ever: add the send or drop the receive",
                  "receives %" PRIu64 " bytes from rank %" PRIu64 " with tag %" PRId64
                  ", but no send there is left for it%s",
                  r->key.size_bytes, r->key.src, r->key.tag, times);
}

/* The entries rests[first, end) agree in all but one part of the key. Report their sends
 * and receives in pairs. */
static void pair_messages(matching *m, size_t first, size_t end,
                          void tell(matching *, const rest *, const rest *))
{
    size_t s = first, r = first;
    for (;;) {
        while (s < end && (!m->rests.at[s].sends || m->rests.at[s].told))
            s++;
        while (r < end && (m->rests.at[r].sends || m->rests.at[r].told))
            r++;
        if (s == end || r == end)
            return;
        tell(m, &m->rests.at[s], &m->rests.at[r]);
        m->rests.at[s].told = m->rests.at[r].told = true;
    }
}

static void tell_rests(matching *m)
{
    rest *at = m->rests.at;
    const size_t n = m->rests.n;
    qsort(at, n, sizeof *at, by_tag);
    for (size_t i = 0, j = 0; i < n; i = j) {
        while (j < n && by_ends(&at[i], &at[j]) == 0 && at[i].key.tag == at[j].key.tag)
            j++;
        pair_messages(m, i, j, tell_size);
    }
    qsort(at, n, sizeof *at, by_size);
    for (size_t i = 0, j = 0; i < n; i = j) {
        while (j < n && by_ends(&at[i], &at[j]) == 0 &&
               at[i].key.size_bytes == at[j].key.size_bytes)
            j++;
        pair_messages(m, i, j, tell_tag);
    }
    qsort(at, n, sizeof *at, by_spot);
    for (size_t i = 0; i < n; i++)
        if (!at[i].told)
            tell_alone(m, &at[i]);
}

halley_status check_p2p(check_set *s, halley_error *err)
{
    matching m = {.s = s};
    const bool ok = list_messages(&m) && collect_rests(&m);
    if (ok && m.rests.n > 0)
        tell_rests(&m);
    array_fini(&m.channels);
    array_fini(&m.rests);
    map64_fini(&m.index);
    return ok ? HALLEY_OK : error_nomem(err);
}
