/*
 * Collectives in closed form, inside a node and across nodes.
 *
 * Inside a node the library (NCCL) walks a ring with one of three protocols, or lets the
 * switch reduce. It does not take the fastest: it takes the least of its own estimates,
 * and pays when these are wrong (which is why measured curves jump). So the choice is
 * made by its public tuner table and the winner is timed with constants fitted to
 * measurements.
 *
 *   ring     launch + extra + steps hop + ramp S/(S+s) + W/(share L) + (S/n)/(copy L)
 *   Simple   the same, with steps and bytes under a norm: latency hides under bandwidth
 *   switch   launch + extra + ramp + S (n+1)/n / (share L)
 *   all-to-all: every peer in turn, small messages through LL
 *
 * W = steps S/n bytes on the wire; steps = 2(n-1) for all-reduce, else n-1. Across nodes
 * the least of ring, tree and switch-tree, each limited by the network cards. Measured:
 * 5.4 % mean over 1,658 points not fitted inside a node; 2 to 14 % across nodes on few
 * points, nearly all of them all-reduce.
 */
#include "cost/coll.h"

#include <math.h>

typedef enum choice { RING_LL, RING_LL128, RING_SIMPLE, IN_SWITCH } choice;
static const double wire_share[3] = {0.5, 0.94, 1}; /* of a network card, by protocol */
static const double tree_share = 0.95;
static const double peer_small_bytes = 16384;
static const double remote_peer_s = 0.6e-6; /* all-to-all, each peer in another node */

static double ramp(const halley_protocol *p, double bytes, double n)
{
    return p->ramp_s > 0 ? p->ramp_s * bytes / (bytes + n * p->ramp_bytes) : 0;
}

static double steps(const cost_coll *c)
{
    return c->kind == COST_ALL_REDUCE ? 2.0 * (c->n - 1.0) : c->n - 1.0;
}

static double factor_of(const double factors[17], uint32_t n)
{
    return n < 17 && factors[n] > 0 ? factors[n] : 1;
}

/* (a^q + b^q)^(1/q), without overflow. */
static double norm(double a, double b, double q)
{
    const double big = a > b ? a : b, small = a > b ? b : a;
    if (small <= 0 || q > 30)
        return big;
    return big * pow(1 + pow(small / big, q), 1 / q);
}

static bool reduces(const cost_coll *c)
{
    return c->kind == COST_ALL_REDUCE || c->kind == COST_REDUCE_SCATTER;
}

static bool switch_reduces(const halley_link *up, const cost_coll *c)
{
    return c->kind == COST_ALL_REDUCE && !c->integer && up->in_switch_min &&
           c->n >= up->in_switch_min && up->tuner_in_switch > 0;
}

/* What the library believes each choice takes. */
static choice choose(const halley_link *up, const cost_coll *c)
{
    const double n = c->n, st = steps(c);
    const double ring = up->tuner_ring_Bps * factor_of(up->tuner_factor, c->n);
    const double bus[3] = {fmin(up->tuner_ll_Bps, ring / 2), up->tuner_ll128_Bps, ring};
    choice best = RING_SIMPLE;
    double least = HUGE_VAL;
    for (int p = 0; p < 3; p++) {
        if (bus[p] <= 0)
            continue;
        const double t =
            up->tuner_base_s[p] + st * up->tuner_hop_s[p] + c->bytes * st / (n * bus[p]);
        if (t < least) {
            least = t;
            best = (choice)p;
        }
    }
    if (switch_reduces(up, c)) {
        const double b = 2 * up->tuner_in_switch * ring * (n - 1) / (n + 1);
        const double t = up->tuner_base_s[3] + c->bytes * st / (n * b);
        if (t < least)
            best = IN_SWITCH;
    }
    return best;
}

static const halley_protocol *protocol(const halley_link *up, choice p)
{
    const halley_protocol *all[] = {&up->ll, &up->ll128, &up->simple, &up->in_switch};
    return all[p];
}

static double ring_time(const halley_link *up, const cost_coll *c, choice p)
{
    const halley_protocol *pr = protocol(up, p);
    const double n = c->n, st = steps(c);
    const double link = up->bandwidth_Bps * factor_of(up->ring_factor, c->n);
    const double k = c->integer && reduces(c) ? 1 + up->int_slowdown : 1;
    const double wire = st * c->bytes / n * k / (pr->share * link);
    const double copy =
        pr->copy_share > 0 ? c->bytes / n / (pr->copy_share * up->bandwidth_Bps) : 0;
    const double fixed = up->launch_s + pr->extra_s + ramp(pr, c->bytes, n);
    if (p != RING_SIMPLE)
        return fixed + pr->hop_s * st + wire + copy;
    return fixed + norm(pr->hop_s * st, wire + copy, 1 + up->simple_overlap);
}

static double switch_time(const halley_link *up, const cost_coll *c)
{
    const halley_protocol *pr = &up->in_switch;
    const double n = c->n;
    return up->launch_s + pr->extra_s + ramp(pr, c->bytes, 1) +
           c->bytes * (n + 1) / n / (pr->share * up->bandwidth_Bps);
}

static double all_to_all_time(const halley_link *up, const cost_coll *c)
{
    const double n = c->n, wire = (n - 1) * c->bytes / n;
    const double link = up->bandwidth_Bps * factor_of(up->peer_factor, c->n);
    const halley_protocol *pr = &up->peer_small;
    if (c->bytes / n <= peer_small_bytes)
        return up->launch_s + pr->extra_s + pr->hop_s * (n - 1) + ramp(pr, c->bytes, n) +
               wire / (up->ll.share * link);
    pr = &up->peer;
    return up->launch_s + pr->extra_s + (n - 1) * (pr->hop_s + ramp(pr, c->bytes, n)) +
           wire / (pr->share * link) +
           c->bytes / n / (pr->copy_share * up->bandwidth_Bps);
}

/* Adding what arrives reads two pieces and writes one, step by step; where several pieces
 * are under way, while the others travel. */
static double adding_time(const halley_link *up, const cost_coll *c, double n,
                          double bytes)
{
    if (up->reduce_Bps <= 0 || !reduces(c) || (up->stored && up->pieces > 1))
        return 0;
    return (n - 1) * 3 * bytes / n / up->reduce_Bps;
}

/* Steps of a plain ring over one dimension. */
typedef struct plain_ring {
    double steps, bytes; /* a step's bytes, of all pieces */
    double hop_s, Bps, stored;
} plain_ring;

/* One piece, one step; and the time its bytes keep a link. */
static double piece_wire(const halley_link *up, const plain_ring *r)
{
    const double pieces = fmax(1, up->pieces) * fmax(1, up->rounds);
    return r->bytes / pieces / r->Bps;
}

static double piece_step(const halley_link *up, const plain_ring *r)
{
    return r->hop_s + fmax(1, r->stored) * piece_wire(up, r);
}

/*
 * Rings one after the other. Contention-free: they add up. With link queues a message is
 * stored whole behind every link, and c pieces go round side by side: a step takes as
 * long as c messages keep the link, or as one takes from NPU to NPU. The first piece
 * leaves a ring after its own steps, the last when the link has carried all, and the next
 * ring begins with the first.
 */
static double plain_time(const halley_link *up, const plain_ring *rings, int n)
{
    const double c = fmax(1, up->pieces), rounds = fmax(1, up->rounds);
    double sum = 0, first = 0, last = 0;
    for (const plain_ring *r = rings; r < rings + n; r++) {
        const double wire = piece_wire(up, r), step = piece_step(up, r), s = r->steps;
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
static double torus_time(const halley_link *up, const cost_coll *c)
{
    const double n = c->n;
    plain_ring r = {.steps = steps(c),
                    .bytes = c->bytes / n,
                    .hop_s = up->simple.hop_s,
                    .Bps = up->simple.share * up->bandwidth_Bps,
                    .stored = up->stored};
    if (c->kind == COST_ALL_TO_ALL && up->all_to_all == HALLEY_A2A_ROUND)
        r.bytes = c->bytes * n / 8 / r.steps; /* mean distance n/4, both directions */
    if (c->kind == COST_ALL_TO_ALL && up->all_to_all == HALLEY_A2A_AT_ONCE)
        r.steps = 1;
    return up->launch_s + plain_time(up, &r, 1) + adding_time(up, c, n, c->bytes);
}

static double inside_time(const halley_link *up, const cost_coll *c)
{
    if (up->torus)
        return torus_time(up, c);
    if (c->kind == COST_ALL_TO_ALL)
        return all_to_all_time(up, c);
    const choice p = choose(up, c);
    return p == IN_SWITCH ? switch_time(up, c) : ring_time(up, c, p);
}

/* The ring that enters and leaves every node once. */
static double cross_ring(const halley_link *up, const halley_fabric *out,
                         const cost_coll *c, choice p)
{
    const halley_protocol *pr = protocol(up, p);
    const double n = c->n, g = c->per_node, nodes = n / g;
    const double both = c->kind == COST_ALL_REDUCE ? 2 : 1;
    const double net = wire_share[p] * out->share * c->nic_Bps * g;
    const double rate = fmin(pr->share * up->bandwidth_Bps, net);
    const double a = both * ((n - nodes) * pr->hop_s + (nodes - 1) * out->hop_s[p]);
    double d = both * (n - 1) / n * c->bytes / rate;
    if (pr->copy_share > 0)
        d += c->bytes / n / (pr->copy_share * up->bandwidth_Bps);
    const double fixed = up->launch_s + pr->extra_s;
    return fixed + (p == RING_SIMPLE ? norm(a, d, 1 + up->simple_overlap) : a + d);
}

/* A double binary tree over the nodes, a chain inside each. */
static double cross_tree(const halley_link *up, const halley_fabric *out,
                         const cost_coll *c, choice p)
{
    const halley_protocol *pr = protocol(up, p);
    const double g = c->per_node, nodes = c->n / g;
    const double a = 2 * ((g - 1) * pr->hop_s + ceil(log2(nodes)) * out->hop_s[p]);
    const double times = nodes > 2 ? 2 : 1;
    const double net = tree_share * wire_share[p] * out->share * c->nic_Bps * g;
    const double inside = g > 1 ? 2 * c->bytes / (pr->share * up->bandwidth_Bps) : 0;
    const double d = fmax(inside, times * c->bytes / net);
    const double fixed = up->launch_s + pr->extra_s;
    return fixed + (p == RING_SIMPLE ? norm(a, d, 1 + up->simple_overlap) : a + d);
}

static double cross_switch(const halley_link *up, const halley_fabric *out,
                           const cost_coll *c)
{
    const halley_protocol *pr = &up->in_switch;
    const double g = c->per_node, nodes = c->n / g, times = nodes > 2 ? 2 : 1;
    const double inside = c->bytes * (g + 1) / g / (pr->share * up->bandwidth_Bps);
    const double net = times * c->bytes / (tree_share * out->share * c->nic_Bps * g);
    return up->launch_s + pr->extra_s + 2 * ceil(log2(nodes)) * out->hop_s[2] +
           ramp(pr, c->bytes, 1) + fmax(inside, net);
}

static double cross_all_to_all(const halley_link *up, const halley_fabric *out,
                               const cost_coll *c)
{
    const double n = c->n, g = c->per_node;
    const double inside = c->bytes * (g - 1) / n / (up->peer.share * up->bandwidth_Bps);
    const double once = c->remote_share > 0 ? c->remote_share : 1;
    const double net = once * c->bytes * (n - g) / n / (out->share * c->nic_Bps);
    return up->launch_s + up->peer.extra_s + up->peer.hop_s * (g - 1) + out->hop_s[2] +
           remote_peer_s * (n - g) + fmax(inside, net);
}

/* Rings dimension by dimension: scatter inside, reduce across, gather inside. */
static double cross_plain(const halley_link *up, const halley_fabric *out,
                          const cost_coll *c)
{
    const double g = c->per_node, nodes = c->n / g,
                 both = c->kind == COST_ALL_REDUCE ? 2 : 1;
    const plain_ring in = {g - 1, c->bytes / g, up->simple.hop_s,
                           up->simple.share * up->bandwidth_Bps, up->stored};
    const plain_ring across = {both * (nodes - 1),
                               c->bytes / nodes / (c->kind == COST_ALL_TO_ALL ? 1 : g),
                               out->hop_s[2], out->share * c->nic_Bps, out->stored};
    const plain_ring none = {.steps = 0, .Bps = 1};
    const plain_ring rings[] = {c->kind == COST_ALL_GATHER ? none : in, across,
                                c->kind == COST_ALL_GATHER || both > 1 ? in : none};
    return up->launch_s + plain_time(up, rings, 3) + adding_time(up, c, g, c->bytes) +
           adding_time(up, c, nodes, c->bytes / g);
}

static double cross_time(const halley_link *up, const halley_fabric *out,
                         const cost_coll *c)
{
    if (up->torus)
        return cross_plain(up, out, c);
    if (c->kind == COST_ALL_TO_ALL)
        return cross_all_to_all(up, out, c);
    double best = HUGE_VAL;
    for (choice p = RING_LL; p <= RING_SIMPLE; p++) {
        best = fmin(best, cross_ring(up, out, c, p));
        if (c->kind == COST_ALL_REDUCE)
            best = fmin(best, cross_tree(up, out, c, p));
    }
    if (c->kind == COST_ALL_REDUCE && !c->integer && up->in_switch_min &&
        c->per_node >= up->in_switch_min)
        best = fmin(best, cross_switch(up, out, c));
    return best;
}

/* One message: peers of a node as an all-to-all of two, without the local copy. */
static double send_time(const halley_link *up, const halley_fabric *out,
                        const cost_coll *c)
{
    if (c->per_node < c->n)
        return up->launch_s + out->hop_s[2] +
               fmax(1, out->stored) * c->bytes / (out->share * c->nic_Bps);
    if (up->torus)
        return up->launch_s + up->simple.hop_s +
               fmax(1, up->stored) * c->bytes / (up->simple.share * up->bandwidth_Bps);
    const halley_protocol *pr = &up->peer;
    return up->launch_s + pr->extra_s + pr->hop_s + ramp(pr, 2 * c->bytes, 2) +
           c->bytes / (pr->share * up->bandwidth_Bps);
}

double cost_coll_time(const halley_link *up, const halley_fabric *out, const cost_coll *c)
{
    if (c->n < 2 || !(c->bytes > 0))
        return 0;
    cost_coll full = *c;
    if (full.per_node == 0 || full.per_node > full.n)
        full.per_node = full.n;
    if (full.nic_Bps <= 0)
        full.nic_Bps = out->bandwidth_Bps;
    if (full.kind == COST_SEND)
        return send_time(up, out, &full);
    if (full.kind == COST_BROADCAST) { /* a pipelined ring moves the data once */
        full.kind = COST_ALL_GATHER;
        full.bytes *= (double)full.n / (full.n - 1.0);
    }
    return full.per_node < full.n ? cross_time(up, out, &full) : inside_time(up, &full);
}

const char *cost_coll_choice(const halley_link *up, const cost_coll *c)
{
    static const char *const names[] = {"ring LL", "ring LL128", "ring Simple",
                                        "in-switch"};
    if (c->n < 2)
        return "none";
    if (c->per_node && c->per_node < c->n)
        return "across nodes";
    if (up->torus)
        return "torus ring";
    return c->kind == COST_ALL_TO_ALL ? "all-to-all" : names[choose(up, c)];
}
