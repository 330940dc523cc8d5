/*
 * coll/direct_net.c - collectives on direct networks (ring, torus, mesh): the closed form
 * and the load of a group that is a box (hw/direct.h).
 *
 * Every member forwards data along all axes at once, so that its data enter through all
 * of its links. With the rate R into a corner, the rounding k of pieces to whole steps,
 * and the latency L of the path to the farthest member,
 *
 *   all-gather, reduce-scatter:  launch + L + k (n-1)/n S / (share R)
 *   all-reduce:                  launch + twice the rest
 *   all-to-all:                  launch + L + bytes of the busiest link / (share link)
 *
 * While all groups that interleave along an axis run one collective, the links of the
 * axis are full, up to the rounding.
 */
#include "coll/time_parts.h"

#include <assert.h>

static double get_share(const halley_link *up)
{
    return up->simple.share > 0 ? up->simple.share : 1;
}

/* Passes over the data: an all-reduce scatters and gathers. */
static double count_passes(const coll_call *c)
{
    return c->kind == COLL_ALL_REDUCE ? 2 : 1;
}

double coll_box_wire_time(const halley_link *up, const coll_call *c, double bytes)
{
    const double n = c->box->n;
    if (c->kind == COLL_ALL_TO_ALL)
        return bytes * hw_box_pair_time(c->box) / get_share(up);
    return count_passes(c) * hw_box_rounding(c->box) * (n - 1) / n * bytes /
           (get_share(up) * hw_box_rate(c->box));
}

double coll_box_latency(const coll_call *c)
{
    return count_passes(c) * hw_box_latency(c->box);
}

double coll_box_busy_time(const halley_link *up, const coll_call *c, double bytes)
{
    const hw_box *box = c->box;
    double most = 0;
    for (uint32_t i = 0; i < box->n_axes; i++) {
        const hw_box_axis *a = &box->axes[i];
        most = fmax(most, c->kind == COLL_ALL_TO_ALL
                              ? hw_box_pair_bytes(a, (a->members - 1) / 2) / box->link_Bps
                              : 1 / (a->stride * hw_box_rate(box)));
    }
    const double n = box->n, volume = count_passes(c) * (n - 1) / n * bytes;
    return most * (c->kind == COLL_ALL_TO_ALL ? bytes : volume) / get_share(up);
}

double coll_box_time(const halley_link *up, const halley_fabric *out, const coll_call *c,
                     coll_protocol p)
{
    (void)p, (void)out;
    assert(c->box != NULL && c->box->n == c->n);
    return up->launch_s + coll_box_latency(c) + coll_box_wire_time(up, c, c->bytes);
}

void coll_box_load(coll_load *load, const halley_link *up, const halley_fabric *out,
                   const coll_call *c, coll_protocol p)
{
    (void)p, (void)out;
    assert(c->box != NULL && c->box->n == c->n);
    *load = (coll_load){.pattern = c->kind == COLL_ALL_TO_ALL ? COLL_PATTERN_PAIRS
                                                              : COLL_PATTERN_RING,
                        .streams = 1};
    load->up_bytes = count_passes(c) * (c->n - 1.0) / c->n * c->bytes;
    load->wire_s = coll_box_wire_time(up, c, c->bytes);
    load->up_s = coll_box_busy_time(up, c, c->bytes);
}
