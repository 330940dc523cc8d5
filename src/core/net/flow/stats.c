/*
 * net/flow/stats.c - what has crossed each link. Nothing is summed up while flows are in
 * flight. A class knows what its flows have received, so the sums are exact and cost
 * nothing per event.
 */
#include "net/flow/state.h"

#include <assert.h>

/* What the flows of a class have received: ended ones, and the others until now. */
static net_u128 sum_class_volume(const net_flow *f, uint32_t class_id)
{
    const flow_class *k = &f->classes.at[class_id];
    const flow_class_cold *c = &f->cold.at[class_id];
    net_u128 sum = c->done;
    const net_u128 served = flow_served_now(f, k);
    for (uint32_t i = 0; i < k->n; i++) {
        const flow_target *t = i == 0 ? &c->first : &c->more[i - 1];
        assert(t->target - served <= f->flows.at[t->flow].volume || t->target < served);
        sum += f->flows.at[t->flow].volume - (t->target - served);
    }
    return sum;
}

static double sum_class_bytes(const net_flow *f, uint32_t class_id)
{
    return (double)sum_class_volume(f, class_id) * 0x1p-56;
}

double net_flow_link_bytes(const net_flow *f, uint32_t link)
{
    double sum = 0;
    for (uint32_t id = 0; id < f->classes.n; id++) {
        const flow_class *k = &f->classes.at[id];
        for (uint32_t i = k->first_hop; i < k->first_hop + k->n_hops; i++)
            if (f->hop_link.at[i] == link)
                sum +=
                    sum_class_bytes(f, id) * (double)f->hop_coefficient.at[i] * 0x1p-40;
    }
    return sum;
}

void net_flow_sum_links(const net_flow *f, double *bytes)
{
    for (uint32_t i = 0; i < f->n_links; i++)
        bytes[i] = 0;
    for (uint32_t id = 0; id < f->classes.n; id++) {
        const flow_class *k = &f->classes.at[id];
        const double sum = sum_class_bytes(f, id);
        for (uint32_t i = k->first_hop; sum > 0 && i < k->first_hop + k->n_hops; i++)
            bytes[f->hop_link.at[i]] += sum * (double)f->hop_coefficient.at[i] * 0x1p-40;
    }
}

uint32_t net_flow_count_classes(const net_flow *f)
{
    return (uint32_t)f->classes.n;
}

net_flow_class_use net_flow_get_class_use(const net_flow *f, uint32_t class_id)
{
    const flow_class *k = &f->classes.at[class_id];
    const net_u128 volume = sum_class_volume(f, class_id);
    assert(class_id < f->classes.n);
    return (net_flow_class_use){.n_flows = f->cold.at[class_id].n_started,
                                .bytes = (double)volume * 0x1p-56,
                                .volume = volume,
                                .links = &f->hop_link.at[k->first_hop],
                                .coefficients = &f->hop_coefficient.at[k->first_hop],
                                .n_links = k->n_hops};
}
