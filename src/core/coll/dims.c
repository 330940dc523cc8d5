/*
 * coll/dims.c - collectives on networks of dimensions; the header has the formula.
 *
 * S is the larger buffer of a phase, m its members, B the bandwidth of a link, l its
 * latency. One pass is a reduce-scatter or an all-gather; an all-reduce makes two.
 *
 *     ring      m - 1 steps; (m - 1)/m S over every link, on a whole ring half each way
 *     direct    all messages of S/m at once
 *     halving   log2(m) steps at doubling distances
 *     switch    up S and down S/m (reduce-scatter), up S/m and down (m - 1)/m S
 *               (all-gather), or both S (all-reduce), at the same time; the first answer
 *               leaves when a piece q of the data has arrived: after 2 l + delay + q/B
 *
 * A ring's hop is l on direct links and 2 l through a switch. Members that do not close a
 * ring form a line: the last one reaches the first over all links of the line.
 */
#include "coll/dims.h"

#include "coll/algo.h"

#include <assert.h>
#include <math.h>

/* A switch answers after this much data if a collective is not cut into chunks. */
static const double piece_bytes = 64 * 1024;
enum { BROADCAST_BIT = CLUSTER_N_COLLS };

/* ---- the box of a group ---- */

coll_dims coll_dims_all(const halley_cluster *c)
{
    coll_dims d = {.n = c->n_dims,
                   .dims = c->dims,
                   .system = &c->system,
                   .reduce_Bps = c->npu.n_tiers > 0 ? c->npu.tiers[0].bandwidth_Bps : 0};
    assert(c->n_dims <= CLUSTER_MAX_DIMS);
    for (uint32_t i = 0; i < d.n; i++) {
        d.extent[i] = c->dims[i].n;
        d.stride[i] = d.sharing[i] = 1;
    }
    return d;
}

static uint32_t get_member(const uint32_t *members, uint32_t i)
{
    return members == NULL ? i : members[i];
}

static uint32_t get_coordinate(const coll_dims *d, uint32_t npu, uint32_t dim)
{
    for (uint32_t i = 0; i < dim; i++)
        npu /= d->dims[i].n;
    return npu % d->dims[dim].n;
}

/* Members that differ from the first in one coordinate only, at equal distances. */
static uint32_t count_along(coll_dims *d, const uint32_t *members, uint32_t n,
                            uint32_t dim, uint32_t step)
{
    const uint32_t first = get_coordinate(d, get_member(members, 0), dim);
    uint32_t length = 1;
    d->stride[dim] = 1;
    while ((uint64_t)step * length < n) {
        const uint32_t at = get_coordinate(d, get_member(members, step * length), dim);
        if (length == 1 && at > first)
            d->stride[dim] = at - first;
        if (at != first + length * d->stride[dim])
            break;
        length++;
    }
    return length;
}

static bool is_in_box(const coll_dims *d, const uint32_t *members, uint32_t i)
{
    const uint32_t member = get_member(members, i), origin = get_member(members, 0);
    for (uint32_t k = 0; k < d->n; k++) {
        const uint32_t place = i % d->extent[k];
        if (get_coordinate(d, member, k) !=
            get_coordinate(d, origin, k) + place * d->stride[k])
            return false;
        i /= d->extent[k];
    }
    return true;
}

bool coll_dims_find_box(coll_dims *d, const uint32_t *members, uint32_t n)
{
    uint32_t step = 1;
    assert(n > 0);
    for (uint32_t k = 0; k < d->n; k++) {
        d->extent[k] = count_along(d, members, n, k, step);
        step *= d->extent[k];
    }
    for (uint32_t i = 0; step == n && i < n; i++)
        if (!is_in_box(d, members, i))
            return false;
    return step == n;
}

/* Halving-doubling over other numbers is refused where messages are simulated. */
static bool is_known_algorithm(const cluster_impl *impl, uint32_t n)
{
    return !impl->flat &&
           (impl->algo == CLUSTER_ALGO_RING || impl->algo == CLUSTER_ALGO_DIRECT ||
            (impl->algo == CLUSTER_ALGO_HALVING_DOUBLING && (n & (n - 1)) == 0));
}

bool coll_dims_can(const halley_cluster *c)
{
    const cluster_system *s = &c->system;
    if (c->network != HW_NETWORK_DIMS || c->astra || c->measured != NULL || s->themis ||
        s->steps || s->bus.on || s->rendezvous || s->endpoint_ns != 0 ||
        s->group_endpoint_ns != 0 || s->splits == 0)
        return false;
    for (uint32_t k = 0; k < CLUSTER_N_COLLS; k++)
        for (uint32_t d = 0; d < c->n_dims; d++)
            if (d >= s->colls[k].n ||
                !is_known_algorithm(&s->colls[k].dims[d], c->dims[d].n))
                return false;
    return true;
}

/* ---- one phase ---- */

/* A phase: the data of all chunks, and its seconds. */
typedef struct phase_time {
    coll_dims_part part;
    double latency_s;
    double fill_s;       /* once: until the first chunk, or piece of it, flows */
    double up_s, down_s; /* for which it keeps the busiest link busy, each way */
    double wire_s;       /* alone; more than up_s where steps use links in turn */
    double reduce_s;     /* of an NPU's memory */
} phase_time;

/* A phase to be timed. */
typedef struct phase_call {
    const coll_dims *d;
    const cluster_dim *dim;
    uint32_t index, m, stride, sharing;
    cluster_coll coll;
    double bytes;    /* the larger buffer of a member */
    double n_chunks; /* of the collective */
} phase_call;

static bool is_whole_ring(const phase_call *p)
{
    return p->dim->topology == CLUSTER_RING && p->dim->n > 2 &&
           (uint64_t)p->m * p->stride == p->dim->n; /* of two members, both ways round */
}

static bool is_on_ring(const phase_call *p)
{
    return p->dim->topology == CLUSTER_RING;
}

static double get_latency_s(const phase_call *p)
{
    return p->dim->latency_ns / 1e9;
}

/* Latency from a member to the one `places` further. */
static double get_hop_s(const phase_call *p, double places)
{
    const double l = get_latency_s(p);
    return p->dim->topology == CLUSTER_SWITCH ? 2 * l
           : is_on_ring(p)                    ? places * p->stride * l
                                              : l;
}

static double count_passes(const phase_call *p)
{
    return p->coll == CLUSTER_ALL_REDUCE ? 2 : 1;
}

/* Seconds of bytes on one link, which groups at other places of a ring use as well. */
static double get_link_s(const phase_call *p, double bytes)
{
    return bytes * (is_on_ring(p) ? p->sharing : 1) / p->dim->bw_Bps;
}

/* Every received piece is added to one's own: two reads and a write. */
static double get_reduce_s(const phase_call *p)
{
    const bool reduces =
        p->coll == CLUSTER_ALL_REDUCE || p->coll == CLUSTER_REDUCE_SCATTER;
    return reduces && p->d->reduce_Bps > 0
               ? 3 * (p->m - 1.0) / p->m * p->bytes / p->d->reduce_Bps
               : 0;
}

static phase_time make_phase(const phase_call *p, coll_edges edges, double bytes,
                             double link_bytes, double latency_s)
{
    assert(bytes >= 0 && link_bytes >= 0 && latency_s >= 0);
    const double busy_s = get_link_s(p, link_bytes);
    return (phase_time){.part = {.dim = p->index, .edges = edges, .bytes = bytes},
                        .latency_s = latency_s,
                        .up_s = busy_s,
                        .down_s = busy_s,
                        .wire_s = busy_s,
                        .reduce_s = get_reduce_s(p)};
}

static phase_time make_ring(const phase_call *p)
{
    const double m = p->m, passes = count_passes(p);
    const double bytes = passes * (m - 1) / m * p->bytes;
    const bool line = is_on_ring(p) && !is_whole_ring(p) && m > 2;
    const double hops = line ? 2 * m - 3 : m - 1; /* back over the line once */
    return make_phase(p, COLL_EDGES_RING, bytes, is_whole_ring(p) ? bytes / 2 : bytes,
                      passes *
                          (is_on_ring(p) ? get_hop_s(p, hops) : hops * get_hop_s(p, 1)));
}

/* Messages of S/m on the busiest link of a direct exchange. */
static double count_busiest_pairs(const phase_call *p)
{
    const uint64_t m = p->m, half = m / 2;
    if (p->dim->topology == CLUSTER_FULLY_CONNECTED)
        return 1;
    if (p->dim->topology == CLUSTER_SWITCH)
        return (double)m - 1;
    if (is_whole_ring(p)) /* half of the pairs each way, the longest split evenly */
        return (double)(m % 2 == 0 ? m * m : m * m - 1) / 8;
    return (double)(half * (m - half)); /* the link in the middle of a line */
}

static phase_time make_direct(const phase_call *p, uint32_t window)
{
    const double m = p->m, passes = count_passes(p);
    const double rounds = window > 0 ? ceil((m - 1) / window) : 1;
    const double far = is_whole_ring(p) ? floor(m / 2) : m - 1;
    return make_phase(p, COLL_EDGES_PAIRS, passes * (m - 1) / m * p->bytes,
                      passes * p->bytes / m * count_busiest_pairs(p),
                      passes * rounds * get_hop_s(p, far));
}

static phase_time make_halving(const phase_call *p)
{
    const double m = p->m, passes = count_passes(p), steps = log2(m);
    const double bytes = passes * p->bytes / 2;
    phase_time t = make_phase(p, COLL_EDGES_HALVING, bytes, bytes, 0);
    t.part.grows = p->coll == CLUSTER_ALL_GATHER;
    t.latency_s =
        passes * (is_on_ring(p) ? get_hop_s(p, m - 1) : steps * get_hop_s(p, 1));
    if (p->dim->topology != CLUSTER_FULLY_CONNECTED) /* every step uses the same links */
        t.up_s = t.down_s = 2 * t.up_s * (m - 1) / m;
    t.wire_s = get_link_s(p, 2 * bytes * (m - 1) / m);
    if (is_on_ring(p)) /* the distance grows as the bytes halve */
        t.up_s = t.down_s = t.wire_s = get_link_s(p, bytes * steps);
    return t;
}

static phase_time make_switched(const phase_call *p, double broadcast_bytes)
{
    assert(p->m > 1 && p->bytes > 0 && p->dim->topology == CLUSTER_SWITCH);
    const double S = p->bytes, m = p->m;
    double up = S, down = S;
    if (broadcast_bytes > 0)
        up = down = broadcast_bytes;
    else if (p->coll == CLUSTER_REDUCE_SCATTER)
        down = S / m;
    else if (p->coll == CLUSTER_ALL_GATHER)
        up = S / m, down = S - S / m; /* without its own part */
    const double Bps = p->dim->in_network_Bps > 0
                           ? fmin(p->dim->in_network_Bps, p->dim->bw_Bps)
                           : p->dim->bw_Bps;
    const double chunk = fmin(up, down) / p->n_chunks;
    const double piece = fmin(chunk, p->n_chunks > 1 ? chunk : piece_bytes);
    return (phase_time){.part = {.dim = p->index,
                                 .edges = COLL_EDGES_SWITCH,
                                 .bytes = up,
                                 .down_bytes = down},
                        .latency_s = 2 * get_latency_s(p) + p->dim->in_network_ns / 1e9,
                        .fill_s = piece / p->dim->bw_Bps,
                        .up_s = up / Bps,
                        .down_s = down / Bps,
                        .wire_s = fmax(up, down) / Bps};
}

static phase_time make_listed(const phase_call *p, const cluster_impl *impl)
{
    const bool power = (p->m & (p->m - 1)) == 0;
    if (p->coll == CLUSTER_ALL_TO_ALL || impl->algo == CLUSTER_ALGO_DIRECT)
        return make_direct(p, impl->window);
    return impl->algo == CLUSTER_ALGO_HALVING_DOUBLING && power ? make_halving(p)
                                                                : make_ring(p);
}

static double get_phase_s(const phase_time *t, double n_chunks)
{
    return t->latency_s + (t->wire_s + t->reduce_s) / n_chunks;
}

/* The file lists no algorithms: the one with the least time. */
static phase_time make_fastest(const phase_call *p)
{
    static const cluster_impl all[] = {{.algo = CLUSTER_ALGO_RING},
                                       {.algo = CLUSTER_ALGO_DIRECT},
                                       {.algo = CLUSTER_ALGO_HALVING_DOUBLING}};
    phase_time best = make_listed(p, &all[0]);
    for (int i = 1; i < 3; i++) {
        const phase_time t = make_listed(p, &all[i]);
        if (get_phase_s(&t, p->n_chunks) < get_phase_s(&best, p->n_chunks))
            best = t;
    }
    return best;
}

/* ---- all phases ---- */

static cluster_coll find_coll(coll_kind kind)
{
    switch (kind) {
    case COLL_ALL_REDUCE:
        return CLUSTER_ALL_REDUCE;
    case COLL_REDUCE_SCATTER:
        return CLUSTER_REDUCE_SCATTER;
    case COLL_ALL_GATHER:
    case COLL_BROADCAST:
    case COLL_REDUCE:
        return CLUSTER_ALL_GATHER;
    case COLL_ALL_TO_ALL:
    case COLL_GATHER:
    case COLL_SCATTER:
    case COLL_SEND:
        break;
    }
    return CLUSTER_ALL_TO_ALL;
}

/* True if the switch of a dimension can do its part of a collective. */
static bool can_switch(const cluster_dim *dim, coll_kind kind)
{
    const uint32_t bit = kind == COLL_BROADCAST ? BROADCAST_BIT
                         : kind == COLL_REDUCE  ? CLUSTER_ALL_REDUCE
                                                : (uint32_t)find_coll(kind);
    return dim->topology == CLUSTER_SWITCH && bit != CLUSTER_ALL_TO_ALL &&
           (dim->in_network >> bit & 1);
}

static uint32_t outline_dims(coll_outline to[COLL_MAX_PHASES], const coll_dims *d,
                             cluster_coll coll)
{
    const coll_request r = {.coll = coll,
                            .n_members = 2,
                            .n_impls = d->n,
                            .impls = d->system->colls[coll].dims,
                            .sizes = d->extent,
                            .n_sizes = d->n,
                            .order = COLL_IN_ORDER,
                            .involved = UINT32_MAX,
                            .hierarchical = d->system->hierarchical};
    return coll_outline_get(to, &r);
}

static double count_chunks(const coll_dims *d)
{
    return d->system->splits > 0 ? (double)d->system->splits : 1;
}

/* The times of all phases, with the switches of `in_switch`. Returns their number. */
static uint32_t make_phases(phase_time to[COLL_MAX_PHASES], const coll_dims *d,
                            const coll_call *c, uint32_t in_switch)
{
    coll_outline outlines[COLL_MAX_PHASES];
    const cluster_coll coll = find_coll(c->kind);
    const bool is_whole = c->kind == COLL_BROADCAST || c->kind == COLL_REDUCE;
    const uint32_t n = outline_dims(outlines, d, coll);
    double n_members = 1, left = c->bytes;
    for (uint32_t k = 0; k < d->n; k++)
        n_members *= d->extent[k];
    if (is_whole) /* a pipelined ring moves the data once */
        left *= n_members / (n_members - 1);
    if (coll == CLUSTER_ALL_GATHER)
        left /= n_members;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t k = outlines[i].level;
        const cluster_coll_impl *list = &d->system->colls[coll];
        phase_call p = {.d = d,
                        .dim = &d->dims[k],
                        .index = k,
                        .m = d->extent[k],
                        .stride = d->stride[k],
                        .sharing = d->sharing[k],
                        .coll = outlines[i].coll,
                        .bytes = left,
                        .n_chunks = count_chunks(d)};
        if (p.coll == CLUSTER_ALL_GATHER)
            p.bytes = left *= p.m;
        to[i] = in_switch >> k & 1 ? make_switched(&p, is_whole ? c->bytes : 0)
                : list->is_default ? make_fastest(&p)
                                   : make_listed(&p, &list->dims[k]);
        if (p.coll == CLUSTER_REDUCE_SCATTER)
            left /= p.m;
    }
    return n;
}

/* The time between chunks: the longest that one keeps anything busy. */
static double get_interval_s(const phase_time *phases, uint32_t n, const coll_dims *d)
{
    const double c = count_chunks(d);
    const double active =
        d->system->active_chunks > 0 ? fmin((double)d->system->active_chunks, c) : c;
    double up_s[CLUSTER_MAX_DIMS] = {0}, down_s[CLUSTER_MAX_DIMS] = {0};
    double most_s = 0, reduce_s = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t k = phases[i].part.dim;
        up_s[k] += phases[i].up_s;
        down_s[k] += phases[i].down_s;
        reduce_s += phases[i].reduce_s;
        most_s = fmax(most_s, get_phase_s(&phases[i], c) * c / active);
    }
    for (uint32_t k = 0; k < d->n; k++)
        most_s = fmax(most_s, fmax(up_s[k], down_s[k]));
    return fmax(most_s, reduce_s) / c;
}

static void sum_phases(coll_dims_load *out, const phase_time *phases, uint32_t n,
                       const coll_dims *d)
{
    const double c = count_chunks(d);
    *out = (coll_dims_load){.n_parts = n};
    for (uint32_t i = 0; i < n; i++) {
        out->parts[i] = phases[i].part;
        out->time_s += get_phase_s(&phases[i], c) + phases[i].fill_s;
        out->wire_s += phases[i].wire_s / c;
    }
    const double rest_s = (c - 1) * get_interval_s(phases, n, d);
    out->time_s += rest_s;
    out->wire_s += rest_s;
}

static void make_load(coll_dims_load *out, const coll_dims *d, const coll_call *c,
                      uint32_t in_switch)
{
    phase_time phases[COLL_MAX_PHASES];
    const uint32_t n = make_phases(phases, d, c, in_switch);
    sum_phases(out, phases, n, d);
    out->in_switch = in_switch;
}

void coll_dims_make(coll_dims_load *out, const coll_dims *d, const coll_call *c)
{
    assert(c->bytes > 0 && c->n > 1);
    make_load(out, d, c, 0);
    const double plain_s = out->time_s;
    bool could = false;
    for (uint32_t k = 0; k < d->n; k++) { /* one after the other, if it helps */
        coll_dims_load with;
        if (d->extent[k] < 2 || c->integer || !can_switch(&d->dims[k], c->kind))
            continue;
        could = true;
        make_load(&with, d, c, out->in_switch | UINT32_C(1) << k);
        if (with.time_s < out->time_s)
            *out = with;
    }
    out->plain_s = could ? plain_s : 0;
    assert(out->wire_s > 0 && out->time_s >= out->wire_s);
}

double coll_dims_time(const coll_dims *d, const coll_call *c)
{
    coll_dims_load load;
    if (c->n < 2 || !(c->bytes > 0))
        return 0;
    coll_dims_make(&load, d, c);
    return load.time_s;
}
