/*
 * net/flow/certify.c - verifies the rates independently of how they were computed.
 *
 * Rates are max-min fair exactly if every class is at its bound or crosses a full link on
 * which no class is faster. In integers, a link is full if its free capacity is less than
 * one unit of level for the classes at its highest level.
 */
#include "net/flow/state.h"

#include <assert.h>
#include <stdlib.h>

typedef struct link_sum {
    net_u128 used, weight;
    uint64_t highest;    /* highest level of a class on the link */
    net_u128 at_highest; /* weight of the classes at that level */
} link_sum;

static void add_class(link_sum *sums, const net_flow *f, const flow_class *k)
{
    for (uint32_t h = k->first_hop; h < k->first_hop + k->n_hops; h++) {
        link_sum *s = &sums[f->hop_link.at[h]];
        assert(f->hop_link.at[h] < f->n_links);
        const net_u128 weight = (net_u128)f->hop_coefficient.at[h] * k->n;
        s->used += flow_load(f, h, k->n, k->level);
        s->weight += weight;
        if (k->level > s->highest) {
            s->highest = k->level;
            s->at_highest = 0;
        }
        if (k->level == s->highest)
            s->at_highest += weight;
    }
}

static halley_status check_link(const net_flow *f, const link_sum *s, uint32_t link,
                                halley_error *err)
{
    const flow_link *l = &f->links[link];
    if (s->used > l->cap)
        return error_set(err, HALLEY_EINVAL,
                         "internal error: link %u is used above 100 %%", link);
    if (s->used != l->used || s->weight != l->weight)
        return error_set(err, HALLEY_EINVAL,
                         "internal error: the sums of link %u are wrong", link);
    return HALLEY_OK;
}

static bool is_held(const net_flow *f, const link_sum *sums, const flow_class *k)
{
    for (uint32_t h = k->first_hop; h < k->first_hop + k->n_hops; h++) {
        const link_sum *s = &sums[f->hop_link.at[h]];
        const net_u128 rest = f->links[f->hop_link.at[h]].cap - s->used;
        if (s->highest == k->level && rest < s->at_highest)
            return true;
    }
    return false;
}

static halley_status check_sums(const net_flow *f, link_sum *sums, halley_error *err)
{
    for (uint32_t id = 0; id < f->classes.n; id++)
        if (f->classes.at[id].n > 0)
            add_class(sums, f, &f->classes.at[id]);
    for (uint32_t i = 0; i < f->n_links; i++)
        TRY(check_link(f, &sums[i], i, err));
    for (uint32_t id = 0; id < f->classes.n; id++) {
        const flow_class *k = &f->classes.at[id];
        if (k->n > 0 && k->level != k->bound && !is_held(f, sums, k))
            return error_set(err, HALLEY_EINVAL,
                             "internal error: nothing holds class %u back", id);
    }
    return HALLEY_OK;
}

halley_status net_flow_certify(const net_flow *f, halley_error *err)
{
    link_sum *sums = mem_array_zero(f->n_links, sizeof *sums);
    if (sums == NULL)
        return error_nomem(err);
    const halley_status status = check_sums(f, sums, err);
    free(sums);
    return status;
}

halley_status net_flow_certify_bytes(const net_flow *f, halley_error *err)
{
    assert(f->options.certify);
    for (uint32_t id = 0; id < f->classes.n; id++) {
        const flow_class *k = &f->classes.at[id];
        const flow_class_cold *c = &f->cold.at[id];
        const net_u128 late = (net_u128)k->level * (f->now - k->at) * k->n;
        const net_u128 served = flow_served_now(f, k), moved = c->moved + late;
        net_u128 asked = c->done;
        for (uint32_t i = 0; i < k->n; i++) {
            const flow_target *t = i == 0 ? &c->first : &c->more[i - 1];
            const net_u128 rest = t->target > served ? t->target - served : 0;
            assert(t->flow < f->flows.n && rest <= f->flows.at[t->flow].volume);
            asked += f->flows.at[t->flow].volume - rest;
        }
        const net_u128 apart = asked > moved ? asked - moved : moved - asked;
        /* The present bound may be zero, if a link has failed since. Use the largest one.
         */
        if (apart > (net_u128)c->most_bound * (2 * c->n_started + 1))
            return error_set(err, HALLEY_EINVAL,
                             "internal error: the bytes of class %u are not those that "
                             "its flows asked for",
                             id);
    }
    return HALLEY_OK;
}
