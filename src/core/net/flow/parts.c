/*
 * net/flow/parts.c - the load of a part of a direct collective: messages between present
 * members, of which at least one is new (net.h, net_bundle.states).
 *
 * A new member exchanges with all present members; an older one exchanges with the new
 * ones. Inside a node a member's bytes are spread evenly over its present neighbours, as
 * in the whole collective. Between nodes the messages to a member travel on its own rail.
 * The member at the same place of the sending node sends them, because the sender's node
 * forwards them there. If all members are new, the loads are those of the whole
 * collective.
 */
#include "base/hash.h"
#include "net/flow/shape.h"

#include <assert.h>
#include <math.h>

typedef struct part_load {
    flow_loads *loads;
    hw_network *net;
    const flow_members *m;
    const coll_load *load;
    uint8_t *states; /* in the order of m->npus */
    uint32_t n_present, n_new;
} part_load;

/* Sort the states, which are in the order of ranks, into that of members, node by node.
 */
static bool sort_states(part_load *p, const uint32_t *ranks, const uint8_t *states)
{
    map64 by_npu = {0};
    const uint32_t n = p->m->n_members;
    bool room = p->states != NULL;
    for (uint32_t i = 0; room && i < n; i++)
        room = map64_set(&by_npu, ranks == NULL ? i : ranks[i], states[i]);
    for (uint32_t i = 0; room && i < n; i++) {
        p->states[i] = (uint8_t)map64_find(&by_npu, p->m->npus[i]);
        assert(p->states[i] <= FLOW_PART_NEW);
        p->n_present += p->states[i] != FLOW_PART_ABSENT;
        p->n_new += p->states[i] == FLOW_PART_NEW;
    }
    map64_fini(&by_npu);
    return room;
}

/* The number of members that a member in this state exchanges with. */
static uint32_t count_peers(const part_load *p, uint8_t state)
{
    if (state == FLOW_PART_ABSENT)
        return 0;
    return state == FLOW_PART_NEW ? p->n_present - 1 : p->n_new;
}

static uint32_t count_states(const part_load *p, uint32_t node, uint8_t least)
{
    uint32_t n = 0;
    for (uint32_t i = p->m->first[node]; i < p->m->first[node + 1]; i++)
        n += p->states[i] >= least;
    return n;
}

static halley_status add_node_part(const part_load *p, uint32_t node, halley_error *err)
{
    const flow_members *m = p->m;
    const uint32_t n_here = count_states(p, node, FLOW_PART_PRESENT);
    for (uint32_t i = m->first[node]; i < m->first[node + 1]; i++)
        for (uint32_t k = m->first[node]; k < m->first[node + 1]; k++) {
            if (i == k || p->states[i] == FLOW_PART_ABSENT ||
                p->states[k] == FLOW_PART_ABSENT)
                continue;
            const double share =
                count_peers(p, p->states[i]) / (double)(m->n_members - 1);
            TRY(flow_loads_add_edge(p->loads, p->net, m->npus[i], m->npus[k],
                                    p->load->up_bytes * share / (n_here - 1), err));
        }
    return HALLEY_OK;
}

/* The fraction of the messages from one node to the members on one rail of another that
 * are in the part. */
static double find_rail_share(const part_load *p, uint32_t from, uint32_t to,
                              uint32_t rail)
{
    const flow_members *m = p->m;
    const uint32_t n_from = m->first[from + 1] - m->first[from];
    const uint32_t n_there = count_states(p, from, FLOW_PART_PRESENT);
    const uint32_t n_new = count_states(p, from, FLOW_PART_NEW);
    uint32_t n_messages = 0, n_all = 0;
    for (uint32_t k = m->first[to] + rail; k < m->first[to + 1]; k += m->least) {
        n_all += n_from;
        if (p->states[k] != FLOW_PART_ABSENT)
            n_messages += p->states[k] == FLOW_PART_NEW ? n_there : n_new;
    }
    assert(n_all > 0 && n_messages <= n_all);
    return n_messages / (double)n_all;
}

static halley_status add_nodes_part(const part_load *p, uint32_t from, uint32_t to,
                                    halley_error *err)
{
    const flow_members *m = p->m;
    for (uint32_t rail = 0; rail < m->least; rail++)
        TRY(flow_loads_add_edge(p->loads, p->net, m->npus[m->first[from] + rail],
                                m->npus[m->first[to] + rail],
                                p->load->out_bytes / (m->n_nodes - 1) *
                                    find_rail_share(p, from, to, rail),
                                err));
    return HALLEY_OK;
}

static halley_status add_pairs_part(const part_load *p, halley_error *err)
{
    for (uint32_t a = 0; a < p->m->n_nodes; a++) {
        TRY(add_node_part(p, a, err));
        for (uint32_t b = 0; b < p->m->n_nodes; b++)
            if (a != b)
                TRY(add_nodes_part(p, a, b, err));
    }
    return HALLEY_OK;
}

/* Add messages between new members and the root, which is present. */
static halley_status add_star_part(const part_load *p, uint32_t root, halley_error *err)
{
    const flow_members *m = p->m;
    const bool in = p->load->pattern == COLL_PATTERN_IN;
    const double bytes = fmax(p->load->up_bytes, p->load->out_bytes) / (m->n_members - 1);
    for (uint32_t i = 0; i < m->n_members; i++)
        if (p->states[i] == FLOW_PART_NEW)
            TRY(flow_loads_add_edge(p->loads, p->net, in ? m->npus[i] : root,
                                    in ? root : m->npus[i], bytes, err));
    return HALLEY_OK;
}

static double find_part_share(const part_load *p, uint32_t root)
{
    const double n_others = p->m->n_members - 1;
    if (p->load->pattern == COLL_PATTERN_PAIRS)
        return (p->n_present - 1) / n_others;
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->m->n_members; i++)
        n += p->states[i] == FLOW_PART_NEW && p->m->npus[i] != root;
    return n / n_others;
}

halley_status flow_loads_add_part(double *share, flow_loads *l, hw_network *net,
                                  const flow_members *m, const flow_part *part,
                                  halley_error *err)
{
    part_load p = {.loads = l,
                   .net = net,
                   .m = m,
                   .load = part->load,
                   .states = mem_array(m->n_members, 1)};
    halley_status status = HALLEY_OK;
    assert(l->links.n == 0 && m->n_members > 2);
    if (!sort_states(&p, part->ranks, part->states))
        status = error_nomem(err);
    assert(status != HALLEY_OK || (p.n_new > 0 && p.n_present > 1));
    if (status == HALLEY_OK)
        status = part->load->pattern == COLL_PATTERN_PAIRS
                     ? add_pairs_part(&p, err)
                     : add_star_part(&p, part->root, err);
    if (status == HALLEY_OK)
        *share = find_part_share(&p, part->root);
    else
        flow_loads_drop(l);
    free(p.states);
    return status;
}
