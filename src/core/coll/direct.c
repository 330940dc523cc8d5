/*
 * coll/direct.c - direct: every member sends to every other member, `window` messages at
 * a time. A direct all-reduce first reduces; it gathers when everything has been reduced.
 */
#include "coll/schedules.h"
#include "coll/time_parts.h"

#include <assert.h>

static const double small_peer_bytes = 16384;
static const double remote_peer_s = 0.6e-6; /* all-to-all, each peer in another node */

halley_status coll_direct_fill(coll_phase *p, const coll_fill_options *o,
                               halley_error *err)
{
    assert(p->n > 0);
    assert(o->memory != NULL);
    const uint32_t window = o->impl->window;
    TRY(coll_ring_fill(p, o, err));
    p->window = window == 0 || window > p->n - 1 ? p->n - 1 : window;
    p->n_loud = o->local ? (p->n - 1) * p->window : p->window;
    if (p->coll == CLUSTER_ALL_TO_ALL)
        p->n_sends = p->n - 1;
    p->n_steps = p->n_sends;
    p->n_distances = p->n - 1;
    p->gathers_after_reduction = p->coll == CLUSTER_ALL_REDUCE;
    return HALLEY_OK;
}

uint32_t coll_direct_distance(const coll_phase *p, uint32_t k)
{
    return 1 + k % (p->n - 1);
}

uint32_t coll_direct_to(const coll_phase *p, uint32_t member, uint32_t k)
{
    return shift_member(p, member, coll_direct_distance(p, k), p->down);
}

uint32_t coll_direct_from(const coll_phase *p, uint32_t member, uint32_t k)
{
    return shift_member(p, member, coll_direct_distance(p, k), !p->down);
}

/* True if the parts are so small that NCCL sends them with LL. */
bool coll_direct_is_small(const coll_call *c)
{
    return !is_across_nodes(c) && c->bytes / c->n <= small_peer_bytes;
}

static double all_to_all_time_inside(const halley_link *up, const coll_call *c)
{
    assert(c->n > 1);
    assert(c->per_node == c->n);
    const double n = c->n, wire = (n - 1) * c->bytes / n;
    const double link = up->bandwidth_Bps * get_size_factor(up->peer_factor, c->n);
    const halley_protocol *pr = &up->peer_small;
    if (c->bytes / n <= small_peer_bytes)
        return up->launch_s + pr->extra_s + pr->hop_s * (n - 1) +
               ramp_time(pr, c->bytes, n) + wire / (up->ll.share * link);
    pr = &up->peer;
    return up->launch_s + pr->extra_s +
           (n - 1) * (pr->hop_s + ramp_time(pr, c->bytes, n)) +
           wire / (pr->share * link) +
           c->bytes / n / (pr->copy_share * up->bandwidth_Bps);
}

static double all_to_all_time_across(const halley_link *up, const halley_fabric *out,
                                     const coll_call *c)
{
    assert(c->per_node < c->n);
    const double n = c->n, g = c->per_node; /* of the fullest node, if nodes differ */
    const double inside = c->bytes * (g - 1) / n / (up->peer.share * up->bandwidth_Bps);
    const double once = c->remote_share > 0 ? c->remote_share : 1;
    const double net = once * c->bytes * (n - g) / n / (out->share * c->nic_Bps);
    return up->launch_s + up->peer.extra_s + up->peer.hop_s * (g - 1) + out->hop_s[2] +
           remote_peer_s * (n - g) + fmax(inside, net);
}

double coll_direct_time(const halley_link *up, const halley_fabric *out,
                        const coll_call *c, coll_protocol p)
{
    (void)p;
    assert(c->kind == COLL_ALL_TO_ALL);
    return is_across_nodes(c) ? all_to_all_time_across(up, out, c)
                              : all_to_all_time_inside(up, c);
}

static void direct_load_inside(coll_load *load, const halley_link *up, const coll_call *c)
{
    const bool small = c->bytes / c->n <= small_peer_bytes;
    const double link = up->bandwidth_Bps * get_size_factor(up->peer_factor, c->n);
    load->up_bytes = (c->n - 1.0) * c->bytes / c->n;
    load->up_s = load->up_bytes / ((small ? up->ll.share : up->peer.share) * link);
    load->wire_s = load->up_s;
    if (!small)
        load->wire_s += c->bytes / c->n / (up->peer.copy_share * up->bandwidth_Bps);
}

/* Data for other rails cross the node first (PXN). That does not determine the time when
 * the collective is alone, but it loads the links. */
static void direct_load_across(coll_load *load, const halley_link *up,
                               const halley_fabric *out, const coll_call *c)
{
    const double n = c->n, g = c->per_node;
    const double once = c->remote_share > 0 ? c->remote_share : 1;
    const double remote = once * c->bytes * (n - g) / n;
    const double inside = c->bytes * (g - 1) / n;
    load->up_bytes = inside + remote * (g - 1) / g;
    load->out_bytes = remote;
    load->out_s = remote / (out->share * c->nic_Bps);
    load->wire_s = fmax(inside / (up->peer.share * up->bandwidth_Bps), load->out_s);
    load->up_s =
        fmin(load->up_bytes / (up->peer.share * up->bandwidth_Bps), load->wire_s);
}

void coll_direct_load(coll_load *load, const halley_link *up, const halley_fabric *out,
                      const coll_call *c, coll_protocol p)
{
    assert(load != NULL);
    (void)p;
    *load = (coll_load){.pattern = COLL_PATTERN_PAIRS, .streams = c->n - 1.0};
    if (is_across_nodes(c))
        direct_load_across(load, up, out, c);
    else
        direct_load_inside(load, up, c);
}

void coll_send_load(coll_load *load, const halley_link *up, const halley_fabric *out,
                    const coll_call *c, coll_protocol p)
{
    assert(c->kind == COLL_SEND);
    (void)p;
    const bool across = is_across_nodes(c);
    const double share = across      ? out->share * c->nic_Bps
                         : c->box    ? up->simple.share * c->box->link_Bps
                         : up->torus ? up->simple.share * up->bandwidth_Bps
                                     : up->peer.share * up->bandwidth_Bps;
    *load = (coll_load){.pattern = COLL_PATTERN_SEND, .streams = 1};
    load->wire_s = c->bytes / share;
    load->up_bytes = across ? 0 : c->bytes;
    load->out_bytes = across ? c->bytes : 0;
    load->up_s = across ? 0 : load->wire_s;
    load->out_s = across ? load->wire_s : 0;
}

/* One message. Inside a node it is timed as an all-to-all of two ranks without the local
 * copy. */
double coll_send_time(const halley_link *up, const halley_fabric *out, const coll_call *c,
                      coll_protocol p)
{
    assert(c->bytes >= 0);
    (void)p;
    if (is_across_nodes(c))
        return up->launch_s + out->hop_s[2] +
               fmax(1, out->stored) * c->bytes / (out->share * c->nic_Bps);
    if (c->box != NULL)
        return up->launch_s + hw_box_latency(c->box) +
               c->bytes / (up->simple.share * c->box->link_Bps);
    if (up->torus)
        return up->launch_s + up->simple.hop_s +
               fmax(1, up->stored) * c->bytes / (up->simple.share * up->bandwidth_Bps);
    const halley_protocol *pr = &up->peer;
    return up->launch_s + pr->extra_s + pr->hop_s + ramp_time(pr, 2 * c->bytes, 2) +
           c->bytes / (pr->share * up->bandwidth_Bps);
}
