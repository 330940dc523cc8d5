/*
 * Keep communication consistent.
 *
 * Sends and receives are paired as engines do: the k-th send of (source, destination,
 * tag, size) with the k-th receive. Collectives of a group are numbered by id on each
 * rank, and those with the same number belong together. Which of them are kept depends
 * only on the trace, not on the rank. So equal ranks stay equal.
 */
#include "base/error.h"
#include "base/hash.h"
#include "trace/core/roles.h"
#include "trace/slice.h"

typedef struct message {
    uint64_t src, dst, size_bytes;
    int64_t tag;
    uint64_t id;
    uint32_t rank, node;
    bool sends, kept;
} message;

typedef struct collective {
    uint64_t id;
    uint32_t group, which, node;
    uint32_t number; /* within its group and trace */
} collective;

typedef struct matcher {
    slice *s;
    ARRAY(message) messages;
    ARRAY(collective) collectives;
    intern groups;
} matcher;

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_key(const message *x, const message *y)
{
    int order = compare_u64(x->src, y->src);
    if (order == 0)
        order = compare_u64(x->dst, y->dst);
    if (order == 0)
        order = (x->tag > y->tag) - (x->tag < y->tag);
    return order != 0 ? order : compare_u64(x->size_bytes, y->size_bytes);
}

static int by_key_and_id(const void *a, const void *b)
{
    const message *x = a, *y = b;
    int order = by_key(x, y);
    if (order == 0)
        order = (int)y->sends - (int)x->sends;
    if (order == 0)
        order = compare_u64(x->id, y->id);
    return order != 0 ? order : compare_u64(x->node, y->node);
}

static bool read_message(matcher *m, const trace_roles *r, uint32_t rank, uint32_t node,
                         const halley_trace *trace)
{
    const uint32_t which = m->s->distinct->which[rank];
    message msg = {.rank = rank,
                   .node = node,
                   .id = halley_node_id(trace, node),
                   .sends = halley_node_type_of(trace, node) == HALLEY_NODE_SEND,
                   .kept = m->s->new_rank[rank] != UINT32_MAX && m->s->keep[which][node]};
    uint64_t peer = 0;
    if (!trace_roles_u64(r, msg.sends ? TRACE_ROLE_COMM_DST : TRACE_ROLE_COMM_SRC,
                         &peer) ||
        !trace_roles_u64(r, TRACE_ROLE_COMM_SIZE, &msg.size_bytes) ||
        !trace_roles_i64(r, TRACE_ROLE_COMM_TAG, &msg.tag))
        return true;
    msg.src = msg.sends ? rank : peer;
    msg.dst = msg.sends ? peer : rank;
    return array_push(&m->messages, msg);
}

static bool read_kept_messages(matcher *m)
{
    const trace_distinct *d = m->s->distinct;
    for (uint32_t rank = 0; rank < d->n_ranks; rank++) {
        const halley_trace *trace = d->trace[d->which[rank]];
        const uint32_t n = halley_trace_count(trace);
        for (uint32_t node = 0; node < n; node++) {
            const uint32_t type = halley_node_type_of(trace, node);
            if (type != HALLEY_NODE_SEND && type != HALLEY_NODE_RECV)
                continue;
            trace_roles r;
            trace_roles_read(&r, trace, node);
            if (!read_message(m, &r, rank, node, trace))
                return false;
        }
    }
    return true;
}

static bool drop_node(matcher *m, const message *msg)
{
    m->s->counts.n_p2p++;
    return array_push(&m->s->drops[msg->rank], msg->node);
}

static bool pair_key(matcher *m, size_t first, size_t end)
{
    const message *at = m->messages.at;
    size_t recv = first;
    while (recv < end && at[recv].sends)
        recv++;
    const size_t n_sends = recv - first, n_recvs = end - recv;
    for (size_t i = 0; i < n_sends || i < n_recvs; i++) {
        const message *s = i < n_sends ? &at[first + i] : NULL;
        const message *r = i < n_recvs ? &at[recv + i] : NULL;
        if (s != NULL && r != NULL && s->kept != r->kept &&
            !drop_node(m, s->kept ? s : r))
            return false;
    }
    return true;
}

/* Drop messages to or from a rank that is left out. Pairing misses them if the set never
 * had the other side. Kept, their rank number would mean another rank in the slice. */
static bool drop_strangers(matcher *m, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const message *msg = &m->messages.at[i];
        const uint64_t peer = msg->sends ? msg->dst : msg->src;
        if (msg->kept && peer < m->s->distinct->n_ranks &&
            m->s->new_rank[peer] == UINT32_MAX && !drop_node(m, msg))
            return false;
    }
    return true;
}

static bool match_messages(matcher *m)
{
    if (!read_kept_messages(m))
        return false;
    const message *at = m->messages.at;
    const size_t n = m->messages.n;
    if (n > 1)
        qsort(m->messages.at, n, sizeof *m->messages.at, by_key_and_id);
    for (size_t i = 0, j = 0; i < n; i = j) {
        while (j < n && by_key(&at[i], &at[j]) == 0)
            j++;
        const uint64_t src = at[i].src, dst = at[i].dst;
        const bool left_out =
            (src < m->s->distinct->n_ranks && m->s->new_rank[src] == UINT32_MAX) ||
            (dst < m->s->distinct->n_ranks && m->s->new_rank[dst] == UINT32_MAX);
        if (left_out && !drop_strangers(m, i, j))
            return false;
        if (!left_out && !m->s->opts->keep_unmatched && !pair_key(m, i, j))
            return false;
    }
    for (uint32_t rank = 0; rank < m->s->distinct->n_ranks; rank++) {
        slice_nodes *drops = &m->s->drops[rank];
        mem_sort_u32(drops->at, drops->n);
    }
    return true;
}

static bool read_collectives(matcher *m, uint32_t which)
{
    const halley_trace *trace = m->s->distinct->trace[which];
    const uint32_t n = halley_trace_count(trace);
    for (uint32_t node = 0; node < n; node++) {
        if (halley_node_type_of(trace, node) != HALLEY_NODE_COLL)
            continue;
        trace_roles r;
        trace_roles_read(&r, trace, node);
        const halley_bytes name = trace_roles_group(&r);
        const uint32_t group = intern_add(&m->groups, (str){name.at, name.n});
        const collective c = {halley_node_id(trace, node), group, which, node, 0};
        if (group == HASH_NONE || !array_push(&m->collectives, c))
            return false;
    }
    return true;
}

static int by_trace_and_id(const void *a, const void *b)
{
    const collective *x = a, *y = b;
    int order = compare_u64(x->group, y->group);
    if (order == 0)
        order = compare_u64(x->which, y->which);
    if (order == 0)
        order = compare_u64(x->id, y->id);
    return order != 0 ? order : compare_u64(x->node, y->node);
}

static int by_group_and_number(const void *a, const void *b)
{
    const collective *x = a, *y = b;
    int order = compare_u64(x->group, y->group);
    if (order == 0)
        order = compare_u64(x->number, y->number);
    return order != 0 ? order : compare_u64(x->which, y->which);
}

static void settle_number(matcher *m, size_t first, size_t end)
{
    const collective *at = m->collectives.at;
    bool all = true;
    for (size_t i = first; i < end; i++)
        all &= m->s->keep[at[i].which][at[i].node] != 0;
    for (size_t i = first; !all && i < end; i++) {
        uint8_t *keep = &m->s->keep[at[i].which][at[i].node];
        if (*keep)
            m->s->counts.n_collectives += m->s->n_kept[at[i].which];
        *keep = 0;
    }
}

static bool match_collectives(matcher *m)
{
    for (uint32_t i = 0; i < m->s->distinct->n; i++)
        if (m->s->n_kept[i] > 0 && !read_collectives(m, i))
            return false;
    collective *at = m->collectives.at;
    const size_t n = m->collectives.n;
    if (n == 0)
        return true;
    qsort(at, n, sizeof *at, by_trace_and_id);
    for (size_t i = 1; i < n; i++)
        if (at[i].group == at[i - 1].group && at[i].which == at[i - 1].which)
            at[i].number = at[i - 1].number + 1;
    qsort(at, n, sizeof *at, by_group_and_number);
    for (size_t i = 0, j = 0; i < n; i = j) {
        while (j < n && at[i].group == at[j].group && at[i].number == at[j].number)
            j++;
        settle_number(m, i, j);
    }
    return true;
}

halley_status slice_match(slice *s, halley_error *err)
{
    matcher m = {.s = s};
    const bool ok =
        (s->opts->keep_unmatched || match_collectives(&m)) && match_messages(&m);
    array_fini(&m.messages);
    array_fini(&m.collectives);
    intern_fini(&m.groups);
    return ok ? HALLEY_OK : error_nomem(err);
}
