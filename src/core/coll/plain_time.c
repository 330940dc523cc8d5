/*
 * coll/plain_time.c - rings without protocols, dimension by dimension. A step takes a hop
 * plus the time of its bytes on the link. Torus links and networks of cluster files use
 * this.
 */
#include "coll/time_parts.h"

#include <assert.h>

/* Reducing received data reads two pieces and writes one in every step. If several pieces
 * are in flight, this overlaps with the transfer of the others. */
static double reduction_time(const halley_link *up, const coll_call *c, double n,
                             double bytes)
{
    assert(n >= 1);
    assert(bytes >= 0);
    if (up->reduce_Bps <= 0 || !reduces_data(c) || (up->stored && up->pieces > 1))
        return 0;
    return (n - 1) * 3 * bytes / n / up->reduce_Bps;
}

/* Steps of a plain ring over one dimension. */
typedef struct plain_ring {
    double steps, bytes; /* bytes of one step, over all pieces */
    double hop_s, Bps, stored;
} plain_ring;

/* The time for which the bytes of one piece and one step occupy a link. */
static double piece_wire_time(const halley_link *up, const plain_ring *r)
{
    const double pieces = fmax(1, up->pieces) * fmax(1, up->rounds);
    return r->bytes / pieces / r->Bps;
}

static double piece_step_time(const halley_link *up, const plain_ring *r)
{
    return r->hop_s + fmax(1, r->stored) * piece_wire_time(up, r);
}

/*
 * The time of consecutive rings. Without contention their times add up. With link queues,
 * a message is stored completely after every link, and c pieces circulate concurrently. A
 * step takes the time for which c messages occupy the link, or the time of one message
 * from NPU to NPU, whichever is longer. The first piece leaves a ring after its own
 * steps. The last piece leaves when the link has carried all pieces. The next ring begins
 * with the first piece.
 */
static double ring_chain_time(const halley_link *up, const plain_ring *rings, int n)
{
    assert(n >= 0);
    const double c = fmax(1, up->pieces), rounds = fmax(1, up->rounds);
    double sum = 0, first = 0, last = 0;
    for (const plain_ring *r = rings; r < rings + n; r++) {
        const double wire = piece_wire_time(up, r), step = piece_step_time(up, r),
                     s = r->steps;
        if (s <= 0)
            continue;
        sum += s * (rounds * r->hop_s + r->bytes / r->Bps);
        const double busy = s * c * wire + step - wire, chain = s * step + (c - 1) * wire;
        last = fmax(first + fmax(busy, chain), last + s * step);
        first += (s - 1) * fmax(c * wire, step) + step;
    }
    return up->stored ? rounds * last : sum;
}

/* A plain ring, or a torus dimension whose bandwidth counts both directions. */
static double one_ring_time(const halley_link *up, const coll_call *c)
{
    const double n = c->n;
    plain_ring r = {.steps = count_ring_steps(c),
                    .bytes = c->bytes / n,
                    .hop_s = up->simple.hop_s,
                    .Bps = up->simple.share * up->bandwidth_Bps,
                    .stored = up->stored};
    if (c->kind == COLL_ALL_TO_ALL && up->all_to_all == HALLEY_A2A_ROUND)
        r.bytes = c->bytes * n / 8 / r.steps; /* mean distance n/4, both directions */
    if (c->kind == COLL_ALL_TO_ALL && up->all_to_all == HALLEY_A2A_AT_ONCE)
        r.steps = 1;
    return up->launch_s + ring_chain_time(up, &r, 1) + reduction_time(up, c, n, c->bytes);
}

/* One level of a group (the node is one): its members, and the constants of a ring over
 * it. */
typedef struct plain_level {
    double n, hop_s, Bps, stored;
} plain_level;

enum { MOST_LEVELS = COLL_MAX_LEVELS + 1 };

/* A box as a ring that takes as long. */
static plain_level see_box_level(const halley_link *up, const coll_call *c)
{
    coll_call once = *c;
    once.kind = c->kind == COLL_ALL_TO_ALL ? COLL_ALL_TO_ALL : COLL_ALL_GATHER;
    const double g = c->box->n, steps = fmax(1, g - 1);
    assert(c->box->n == c->per_node);
    if (c->box->n < 2)
        return (plain_level){1, 0, c->box->link_Bps, 0};
    return (plain_level){g, coll_box_latency(&once) / steps,
                         steps / g / coll_box_wire_time(up, &once, 1), 0};
}

static int list_levels(plain_level to[MOST_LEVELS], const halley_link *up,
                       const halley_fabric *out, const coll_call *c)
{
    int n = 0;
    to[n++] = c->box != NULL
                  ? see_box_level(up, c)
                  : (plain_level){c->per_node, up->simple.hop_s,
                                  up->simple.share * up->bandwidth_Bps, up->stored};
    if (c->n_levels == 0)
        to[n++] = (plain_level){(double)c->n / c->per_node, out->hop_s[2],
                                out->share * c->nic_Bps, out->stored};
    assert(c->n_levels <= COLL_MAX_LEVELS);
    for (uint32_t i = 0; i < c->n_levels; i++) {
        const halley_fabric *f = c->levels[i].fabric;
        if (c->levels[i].n > 1)
            to[n++] = (plain_level){c->levels[i].n, f->hop_s[2],
                                    f->share * f->bandwidth_Bps, f->stored};
    }
    return n;
}

static plain_ring ring_over(const plain_level *l, double bytes, double times)
{
    return (plain_ring){times * (l->n - 1), bytes / l->n, l->hop_s, l->Bps, l->stored};
}

/*
 * Rings level by level; each level works on the data that the inner levels have left.
 * Scatter goes from the inside out, gather from the outside in. An all-reduce does both,
 * with one all-reduce ring at the outermost level. An all-to-all crosses every level with
 * all its bytes.
 */
static double levels_time(const halley_link *up, const halley_fabric *out,
                          const coll_call *c)
{
    plain_level levels[MOST_LEVELS];
    double bytes[MOST_LEVELS], time = up->launch_s, left = c->bytes;
    plain_ring rings[2 * MOST_LEVELS];
    int n_rings = 0;
    const int n = list_levels(levels, up, out, c);
    assert(n > 0 && n <= MOST_LEVELS);
    for (int i = 0; i < n; i++) {
        bytes[i] = left;
        time += reduction_time(up, c, levels[i].n, left);
        if (c->kind != COLL_ALL_TO_ALL)
            left /= levels[i].n;
    }
    const bool both = c->kind == COLL_ALL_REDUCE;
    const int top = n - 1;
    for (int i = 0; i < n && c->kind != COLL_ALL_GATHER; i++)
        rings[n_rings++] = ring_over(&levels[i], bytes[i], both && i == top ? 2 : 1);
    for (int i = both ? top - 1 : top; i >= 0; i--)
        if (both || c->kind == COLL_ALL_GATHER)
            rings[n_rings++] = ring_over(&levels[i], bytes[i], 1);
    return time + ring_chain_time(up, rings, n_rings);
}

double coll_plain_time(const halley_link *up, const halley_fabric *out,
                       const coll_call *c, coll_protocol p)
{
    assert(c->n > 0);
    assert(c->bytes >= 0);
    (void)p;
    return is_across_nodes(c) ? levels_time(up, out, c) : one_ring_time(up, c);
}

void coll_plain_load(coll_load *load, const halley_link *up, const halley_fabric *out,
                     const coll_call *c, coll_protocol p)
{
    (void)p;
    const double both = c->kind == COLL_ALL_REDUCE ? 2 : 1, g = c->per_node;
    const double n = c->n, nodes = n / g, near = up->simple.share * up->bandwidth_Bps;
    const bool pairs = c->kind == COLL_ALL_TO_ALL;
    *load = (coll_load){.pattern = pairs ? COLL_PATTERN_PAIRS : COLL_PATTERN_RING,
                        .streams = pairs ? n - 1 : 1};
    load->up_bytes = both * (g - 1) * c->bytes / g;
    load->up_s = load->up_bytes / near;
    if (!is_across_nodes(c) && pairs && up->all_to_all == HALLEY_A2A_ROUND)
        load->up_s = c->bytes * n / 8 / near;
    if (!is_across_nodes(c) && pairs && up->all_to_all == HALLEY_A2A_AT_ONCE)
        load->up_s = c->bytes / n / near;
    if (is_across_nodes(c)) {
        load->out_bytes = both * (nodes - 1) * c->bytes / nodes / (pairs ? 1 : g);
        load->out_s = load->out_bytes / (out->share * c->nic_Bps);
    }
    if (c->box != NULL && c->box->n > 1)
        load->up_s = coll_box_wire_time(up, c, c->bytes);
    load->wire_s = load->up_s + load->out_s; /* one after the other */
    if (c->box != NULL && c->box->n > 1)
        load->up_s = coll_box_busy_time(up, c, c->bytes);
}
