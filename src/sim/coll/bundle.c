/*
 * sim/coll/bundle.c - a collective as one flow with many links: when the last member has
 * come to it, the network carries it as the communication library would; when it is over,
 * all members go on. The first member keeps the count of those that have come.
 */
#include "sim/coll/phases.h"

static coll_kind find_kind(cluster_coll coll, coll_rooted root)
{
    static const coll_kind rooted[] = {[COLL_ROOTED_BROADCAST] = COLL_BROADCAST,
                                       [COLL_ROOTED_REDUCE] = COLL_REDUCE,
                                       [COLL_ROOTED_GATHER] = COLL_GATHER,
                                       [COLL_ROOTED_SCATTER] = COLL_SCATTER};
    static const coll_kind kinds[] = {[CLUSTER_ALL_REDUCE] = COLL_ALL_REDUCE,
                                      [CLUSTER_ALL_GATHER] = COLL_ALL_GATHER,
                                      [CLUSTER_REDUCE_SCATTER] = COLL_REDUCE_SCATTER,
                                      [CLUSTER_ALL_TO_ALL] = COLL_ALL_TO_ALL};
    return root != COLL_ROOTED_NONE ? rooted[root] : kinds[coll];
}

/* The library cuts it; an all-gather's node has one member's part. */
void sim_bundle_describe(net_bundle *b, uint32_t coll_type, uint64_t amount)
{
    cluster_coll coll;
    coll_rooted rooted;
    const uint64_t bytes = amount == 0 ? 1 : amount;
    sim_coll_describe(&coll, &rooted, coll_type);
    b->kind = find_kind(coll, rooted);
    b->bytes = (double)(coll == CLUSTER_ALL_GATHER ? bytes * b->n : bytes);
}

static void start_all(sim *s, uint32_t op)
{
    const sim_op *o = &s->streams.ops.at[op];
    const coll_phase *p = &o->plan->phases[0];
    const sim_group *g = o->plan->grouped ? &s->groups[o->group - 1] : NULL;
    net_start_bundle(s->net, &(net_bundle){.kind = find_kind(p->coll, p->rooted),
                                           .bytes = (double)o->plan->bytes,
                                           .ranks = g == NULL ? NULL : g->members,
                                           .n = g == NULL ? s->n_npus : g->n_members,
                                           .root = g == NULL ? s->ranks[p->root].npu
                                                             : g->npus[p->root],
                                           .group = o->plan->grouped ? o->group : 0,
                                           .id = g == NULL ? 0 : g->id,
                                           .event = sim_event_arrival(op, 0, 0)});
}

static void start_bundle(sim *s, uint32_t op, uint32_t member)
{
    const coll_plan *plan = s->streams.ops.at[op].plan;
    uint32_t *n_come = sim_member_inbox(sim_member_get(s, op, 0), plan);
    assert(member < plan->n_members && *n_come < plan->n_members);
    (void)member;
    if (++*n_come == plan->n_members)
        start_all(s, op);
}

static void end_bundle(sim *s, uint32_t op, uint32_t member, uint32_t phase, uint32_t k)
{
    const uint32_t n = s->streams.ops.at[op].plan->n_members;
    assert(member == 0 && phase == 0 && k == 0);
    (void)member, (void)phase, (void)k;
    for (uint32_t i = 0; i < n && s->status == HALLEY_OK; i++)
        sim_phase_ended(s, op, i);
}

const sim_phase_ops sim_bundle_ops = {
    .start = start_bundle, .arrive = end_bundle, .is_called = sim_early_never};
