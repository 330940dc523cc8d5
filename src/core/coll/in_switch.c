/*
 * coll/in_switch.c - the switch reduces and multicasts. Every member sends all its data
 * to the switch, and the switch answers with the member's result.
 */
#include "coll/schedules.h"
#include "coll/time_parts.h"

#include <assert.h>

/* Each member sends everything up. It receives its result, without the part that it
 * already has. */
halley_status coll_switch_fill(coll_phase *p, const coll_fill_options *o,
                               halley_error *err)
{
    (void)o, (void)err;
    assert(p->n > 1);
    p->window = 1;
    p->n_sends = 1;
    p->n_steps = COLL_N_SWITCH_STEPS;
    p->silent = true; /* the switch reduces, not the NPU */
    p->message_bytes = p->down_bytes = p->data_bytes;
    if (p->coll == CLUSTER_REDUCE_SCATTER)
        p->down_bytes = p->data_bytes / p->n;
    if (p->coll == CLUSTER_ALL_GATHER)
        p->down_bytes = p->data_bytes * (p->n - 1);
    return HALLEY_OK;
}

uint32_t coll_switch_peer(const coll_phase *p, uint32_t member, uint32_t k)
{
    (void)p, (void)k;
    return member;
}

static double switch_time_inside(const halley_link *up, const coll_call *c)
{
    assert(c->n > 1);
    assert(c->bytes >= 0);
    const halley_protocol *pr = &up->in_switch;
    const double n = c->n;
    return up->launch_s + pr->extra_s + ramp_time(pr, c->bytes, 1) +
           c->bytes * (n + 1) / n / (pr->share * up->bandwidth_Bps);
}

/* The switches of the nodes reduce, and a tree connects them. */
static double switch_time_across(const halley_link *up, const halley_fabric *out,
                                 const coll_call *c)
{
    assert(c->per_node < c->n);
    const halley_protocol *pr = &up->in_switch;
    const double g = c->per_node, nodes = c->n / g, times = nodes > 2 ? 2 : 1;
    const double inside = c->bytes * (g + 1) / g / (pr->share * up->bandwidth_Bps);
    const double net = times * c->bytes / (COLL_TREE_SHARE * out->share * c->nic_Bps * g);
    return up->launch_s + pr->extra_s + 2 * ceil(log2(nodes)) * out->hop_s[2] +
           ramp_time(pr, c->bytes, 1) + fmax(inside, net);
}

double coll_switch_time(const halley_link *up, const halley_fabric *out,
                        const coll_call *c, coll_protocol p)
{
    (void)p;
    assert(c->kind == COLL_ALL_REDUCE);
    return is_across_nodes(c) ? switch_time_across(up, out, c)
                              : switch_time_inside(up, c);
}

void coll_switch_load(coll_load *load, const halley_link *up, const halley_fabric *out,
                      const coll_call *c, coll_protocol p)
{
    const double g = c->per_node, times = c->n / g > 2 ? 2 : 1;
    const double inside = c->bytes * (g + 1) / g;
    (void)p;
    *load = (coll_load){.pattern = COLL_PATTERN_TREE,
                        .streams = 1,
                        .up_bytes = inside,
                        .up_s = inside / (up->in_switch.share * up->bandwidth_Bps)};
    if (is_across_nodes(c)) {
        load->out_bytes = times * c->bytes / g;
        load->out_s = load->out_bytes / (COLL_TREE_SHARE * out->share * c->nic_Bps);
    }
    load->wire_s = fmax(load->up_s, load->out_s);
}
