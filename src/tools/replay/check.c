/*
 * replay/check.c - check that the ranks fit together. Every member of a group must begin
 * the same collectives in the same order, and every message needs its partner. A mismatch
 * would hang on the real machine, so it is refused before anything runs.
 */
#include "base/error.h"
#include "base/hash.h"
#include "replay/plan.h"

#include <stdio.h>

/* The operations of one rank that are collectives of a group, in order. */
typedef struct call_list {
    uint32_t *at;
    uint32_t n;
} call_list;

static bool list_rank_calls(call_list *out, const replay_program *p, uint32_t group)
{
    out->n = 0;
    out->at = mem_array(p->n + 1, sizeof *out->at);
    for (uint32_t i = 0; out->at != NULL && i < p->n; i++) {
        const replay_op *op = &p->ops[p->order[i]];
        if (op->kind == REPLAY_COLLECTIVE && op->group == group)
            out->at[out->n++] = p->order[i];
    }
    return out->at != NULL;
}

static halley_status refuse_pair(const replay_plan *plan, uint32_t group,
                                 const int ranks[2], const call_list lists[2], uint32_t i,
                                 halley_error *err)
{
    char what[2][128];
    for (int k = 0; k < 2; k++) {
        const replay_program *p = &plan->programs[ranks[k]];
        if (i >= lists[k].n) {
            snprintf(what[k], sizeof what[k], "rank %d has no more", ranks[k]);
            continue;
        }
        const replay_op *op = &p->ops[lists[k].at[i]];
        snprintf(what[k], sizeof what[k], "rank %d begins %s of %llu bytes (node %llu)",
                 ranks[k], halley_coll_type_name(op->coll), (unsigned long long)op->bytes,
                 (unsigned long long)halley_node_id(p->trace, lists[k].at[i]));
    }
    return error_set(err, HALLEY_EDEADLOCK,
                     "collective %u of group %lld does not match: %s, %s; the job would "
                     "hang",
                     i, (long long)plan->groups.at[group].id, what[0], what[1]);
}

static halley_status compare_members(const replay_plan *plan, uint32_t group, int rank,
                                     const call_list *first, halley_error *err)
{
    const replay_group *g = &plan->groups.at[group];
    const replay_program *p = &plan->programs[rank], *q = &plan->programs[g->ranks[0]];
    call_list own;
    halley_status status = list_rank_calls(&own, p, group) ? HALLEY_OK : error_nomem(err);
    for (uint32_t i = 0; status == HALLEY_OK && (i < own.n || i < first->n); i++) {
        const bool both = i < own.n && i < first->n;
        const replay_op *a = both ? &p->ops[own.at[i]] : NULL;
        const replay_op *b = both ? &q->ops[first->at[i]] : NULL;
        if (!both || a->coll != b->coll || a->root != b->root || a->uneven != b->uneven ||
            (a->bytes != b->bytes && !a->uneven))
            status = refuse_pair(plan, group, (int[]){g->ranks[0], rank},
                                 (call_list[]){*first, own}, i, err);
    }
    free(own.at);
    return status;
}

static halley_status check_plan_group(const replay_plan *plan, uint32_t group,
                                      halley_error *err)
{
    const replay_group *g = &plan->groups.at[group];
    call_list first;
    if (g->n < 2)
        return HALLEY_OK;
    if (!list_rank_calls(&first, &plan->programs[g->ranks[0]], group))
        return error_nomem(err);
    halley_status status = HALLEY_OK;
    for (uint32_t i = 1; status == HALLEY_OK && i < g->n; i++)
        status = compare_members(plan, group, g->ranks[i], &first, err);
    free(first.at);
    return status;
}

/* The key of a channel. Per channel, the numbers of sends and receives are compared, and
 * their total bytes. */
static uint64_t hash_channel(uint32_t from, uint32_t to, int tag)
{
    return hash_u64(hash_u64((uint64_t)from << 32 | to) ^ (uint64_t)tag);
}

typedef struct channel {
    uint64_t sent, received, sent_bytes, received_bytes;
    uint32_t from, to;
    int tag;
} channel;
typedef ARRAY(channel) channel_list;

static halley_status count_message(channel_list *list, map64 *by_key, uint32_t rank,
                                   const replay_op *op, halley_error *err)
{
    const bool sends = op->kind == REPLAY_SEND;
    const uint32_t from = sends ? rank : (uint32_t)op->peer;
    const uint32_t to = sends ? (uint32_t)op->peer : rank;
    uint32_t at = (uint32_t)list->n;
    bool fresh;
    if (!map64_put(by_key, hash_channel(from, to, op->tag), &at, &fresh) ||
        (fresh && !array_push(list, (channel){.from = from, .to = to, .tag = op->tag})))
        return error_nomem(err);
    channel *c = &list->at[at];
    c->sent += sends;
    c->received += !sends;
    *(sends ? &c->sent_bytes : &c->received_bytes) += op->bytes;
    return HALLEY_OK;
}

static halley_status check_messages(const replay_plan *plan, halley_error *err)
{
    channel_list list = {0};
    map64 by_key = {0};
    halley_status status = HALLEY_OK;
    for (uint32_t r = 0; r < plan->n_ranks; r++)
        for (uint32_t i = 0; status == HALLEY_OK && i < plan->programs[r].n; i++) {
            const replay_op *op = &plan->programs[r].ops[i];
            if (op->kind == REPLAY_SEND || op->kind == REPLAY_RECEIVE)
                status = count_message(&list, &by_key, r, op, err);
        }
    for (size_t i = 0; status == HALLEY_OK && i < list.n; i++) {
        const channel *c = &list.at[i];
        if (c->sent != c->received || c->sent_bytes != c->received_bytes)
            status = error_set(
                err, HALLEY_EDEADLOCK,
                "rank %u sends %llu messages of %llu bytes to rank %u with tag %d, which "
                "receives %llu of %llu bytes; the job would hang",
                c->from, (unsigned long long)c->sent, (unsigned long long)c->sent_bytes,
                c->to, c->tag, (unsigned long long)c->received,
                (unsigned long long)c->received_bytes);
    }
    array_fini(&list);
    map64_fini(&by_key);
    return status;
}

halley_status replay_plan_check(const replay_plan *plan, halley_error *err)
{
    for (uint32_t g = 0; g < plan->groups.n; g++)
        TRY(check_plan_group(plan, g, err));
    return check_messages(plan, err);
}
