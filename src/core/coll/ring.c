/*
 * coll/ring.c - the ring: every member sends to the next one and forwards what it
 * receives. A reduction takes n-1 steps, an all-reduce twice that. An all-to-all forwards
 * every piece from neighbour to neighbour, in n(n-1)/2 steps.
 */
#include "coll/schedules.h"
#include "coll/time_parts.h"

#include <assert.h>

halley_status coll_ring_fill(coll_phase *p, const coll_fill_options *o, halley_error *err)
{
    assert(p->n > 0);
    (void)o;
    assert(p->n > 1);
    if (p->coll == CLUSTER_ALL_TO_ALL && (uint64_t)p->n * (p->n - 1) / 2 > UINT32_MAX)
        return error_set(
            err, HALLEY_ELIMIT,
            "a ring all-to-all of %u members has over 2^32 steps; use direct", p->n);
    p->window = 1;
    p->n_loud = p->n - 1;
    p->n_sends = p->n - 1;
    p->n_steps = 1; /* messages arrive in the order they were sent, so one step
                       identifies all */
    if (p->coll == CLUSTER_ALL_REDUCE)
        p->n_sends = 2 * (p->n - 1);
    if (p->coll == CLUSTER_ALL_TO_ALL)
        p->n_sends = (uint32_t)((uint64_t)p->n * (p->n - 1) / 2);
    p->n_distances = 1;
    p->message_bytes =
        p->coll == CLUSTER_ALL_GATHER ? p->data_bytes : p->data_bytes / p->n;
    return HALLEY_OK;
}

uint32_t coll_ring_to(const coll_phase *p, uint32_t member, uint32_t k)
{
    (void)k;
    return shift_member(p, member, 1, p->down);
}

uint32_t coll_ring_from(const coll_phase *p, uint32_t member, uint32_t k)
{
    (void)k;
    return shift_member(p, member, 1, !p->down);
}

uint32_t coll_ring_distance(const coll_phase *p, uint32_t k)
{
    (void)p, (void)k;
    return 1;
}

static double ring_time_inside(const halley_link *up, const coll_call *c, coll_protocol p)
{
    const halley_protocol *pr = get_protocol(up, p);
    const double n = c->n, steps = count_ring_steps(c);
    const double link = up->bandwidth_Bps * get_size_factor(up->ring_factor, c->n);
    const double k = c->integer && reduces_data(c) ? 1 + up->int_slowdown : 1;
    const double wire = steps * c->bytes / n * k / (pr->share * link);
    const double copy =
        pr->copy_share > 0 ? c->bytes / n / (pr->copy_share * up->bandwidth_Bps) : 0;
    const double fixed = up->launch_s + pr->extra_s + ramp_time(pr, c->bytes, n);
    if (p != COLL_SIMPLE)
        return fixed + pr->hop_s * steps + wire + copy;
    return fixed + norm_times(pr->hop_s * steps, wire + copy, 1 + up->simple_overlap);
}

/* A ring that enters and leaves every node once. */
static double ring_time_across(const halley_link *up, const halley_fabric *out,
                               const coll_call *c, coll_protocol p)
{
    assert(c->per_node <= c->n);
    const halley_protocol *pr = get_protocol(up, p);
    const double n = c->n, g = c->per_node, nodes = n / g;
    const double both = c->kind == COLL_ALL_REDUCE ? 2 : 1;
    const double net = get_wire_share(p) * out->share * c->nic_Bps * g;
    const double rate = fmin(pr->share * up->bandwidth_Bps, net);
    const double a = both * ((n - nodes) * pr->hop_s + (nodes - 1) * out->hop_s[p]);
    double d = both * (n - 1) / n * c->bytes / rate;
    if (pr->copy_share > 0)
        d += c->bytes / n / (pr->copy_share * up->bandwidth_Bps);
    const double fixed = up->launch_s + pr->extra_s;
    return fixed + (p == COLL_SIMPLE ? norm_times(a, d, 1 + up->simple_overlap) : a + d);
}

double coll_ring_time(const halley_link *up, const halley_fabric *out, const coll_call *c,
                      coll_protocol p)
{
    assert(c->n > 0);
    assert(c->bytes >= 0);
    return is_across_nodes(c) ? ring_time_across(up, out, c, p)
                              : ring_time_inside(up, c, p);
}

static void ring_load_inside(coll_load *load, const halley_link *up, const coll_call *c,
                             coll_protocol p)
{
    const halley_protocol *pr = get_protocol(up, p);
    const double link = up->bandwidth_Bps * get_size_factor(up->ring_factor, c->n);
    const double k = c->integer && reduces_data(c) ? 1 + up->int_slowdown : 1;
    load->up_bytes = count_ring_steps(c) * c->bytes / c->n;
    load->up_s = load->up_bytes * k / (pr->share * link);
    load->wire_s = load->up_s;
    if (pr->copy_share > 0)
        load->wire_s += c->bytes / c->n / (pr->copy_share * up->bandwidth_Bps);
}

/* Each of the node's cards has its own ring. */
static void ring_load_across(coll_load *load, const halley_link *up,
                             const halley_fabric *out, const coll_call *c,
                             coll_protocol p)
{
    const halley_protocol *pr = get_protocol(up, p);
    const double both = c->kind == COLL_ALL_REDUCE ? 2 : 1, g = c->per_node;
    const double bytes = both * (c->n - 1.0) / c->n * c->bytes;
    load->up_bytes = g > 1 ? bytes : 0;
    load->up_s = bytes / (pr->share * up->bandwidth_Bps);
    load->out_bytes = bytes / g;
    load->out_s = load->out_bytes / (get_wire_share(p) * out->share * c->nic_Bps);
    load->wire_s = fmax(load->up_s, load->out_s);
    if (pr->copy_share > 0)
        load->wire_s += c->bytes / c->n / (pr->copy_share * up->bandwidth_Bps);
}

void coll_ring_load(coll_load *load, const halley_link *up, const halley_fabric *out,
                    const coll_call *c, coll_protocol p)
{
    *load = (coll_load){.pattern = COLL_PATTERN_RING, .streams = 1};
    if (is_across_nodes(c))
        ring_load_across(load, up, out, c, p);
    else
        ring_load_inside(load, up, c, p);
}
