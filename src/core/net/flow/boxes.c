/*
 * net/flow/boxes.c - collectives on a list of dimensions, whose algorithms are those of
 * coll/dims.h. The links of a phase follow from its edges. Along every line of a
 * dimension, members send to their next one, to all others, to those at distances 1, 2,
 * 4 ..., or to the switch. A collective uses the links of all its phases as one flow,
 * because chunks are in different phases at the same time. Links are used at their
 * stated bandwidth.
 *
 * A group that is no box of the dimensions runs as a ring in the order of its members.
 * Its steps take as long as the longest, and its bytes as long as on the busiest link. In
 * an all-to-all all pairs send at the same time.
 */
#include "coll/dims.h"
#include "net/flow/model.h"

#include <assert.h>

static halley_status add_edge(flow_net *f, uint32_t from, uint32_t to, double bytes)
{
    assert(f != NULL && bytes >= 0);
    return flow_loads_add_edge(&f->loads, f->network, from, to, bytes, f->err);
}

/* ---- the links of a box ---- */

typedef struct box_lines {
    const coll_dims *box;
    const flow_members *members;
    uint32_t dim, step; /* step: from a member to the next along the dimension */
} box_lines;

static uint32_t get_npu(const box_lines *b, uint32_t line, uint32_t place)
{
    const uint32_t m = b->box->extent[b->dim];
    const uint32_t first = line / b->step * b->step * m + line % b->step;
    assert(place < m && first + place * b->step < b->members->n_members);
    return b->members->npus[first + place * b->step];
}

static uint32_t count_lines(const box_lines *b)
{
    assert(b != NULL);
    return b->members->n_members / b->box->extent[b->dim];
}

static bool is_ring_closed(const box_lines *b)
{
    assert(b != NULL);
    const cluster_dim *dim = &b->box->dims[b->dim];
    return dim->topology == CLUSTER_RING && b->box->extent[b->dim] > 2 &&
           b->box->extent[b->dim] * b->box->stride[b->dim] == dim->n;
}

static halley_status add_line_ring(flow_net *f, const box_lines *b, uint32_t line,
                                   double bytes)
{
    assert(f != NULL && b != NULL);
    const uint32_t m = b->box->extent[b->dim];
    const bool both = is_ring_closed(b);
    for (uint32_t i = 0; i < m; i++) {
        const uint32_t from = get_npu(b, line, i), to = get_npu(b, line, (i + 1) % m);
        TRY(add_edge(f, from, to, both ? bytes / 2 : bytes));
        if (both)
            TRY(add_edge(f, to, from, bytes / 2));
    }
    return HALLEY_OK;
}

static halley_status add_line_pairs(flow_net *f, const box_lines *b, uint32_t line,
                                    double bytes)
{
    assert(f != NULL && b != NULL);
    const uint32_t m = b->box->extent[b->dim];
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t k = 0; k < m; k++)
            TRY(add_edge(f, get_npu(b, line, i), get_npu(b, line, k), bytes / (m - 1)));
    return HALLEY_OK;
}

static halley_status add_line_halving(flow_net *f, const box_lines *b, uint32_t line,
                                      double bytes)
{
    assert(f != NULL && b != NULL);
    const uint32_t m = b->box->extent[b->dim];
    for (uint32_t distance = 1; distance < m; distance *= 2, bytes /= 2)
        for (uint32_t i = 0; i < m; i++)
            TRY(add_edge(f, get_npu(b, line, i), get_npu(b, line, i ^ distance), bytes));
    return HALLEY_OK;
}

static halley_status add_line_switch(flow_net *f, const box_lines *b, uint32_t line,
                                     const coll_dims_part *part)
{
    assert(f != NULL && b != NULL);
    for (uint32_t i = 0; i < b->box->extent[b->dim]; i++) {
        const uint32_t up = flow_net_find_up(f, get_npu(b, line, i), b->dim);
        assert(up != HW_NONE);
        if (!flow_loads_add_link(&f->loads, up, part->bytes) ||
            !flow_loads_add_link(&f->loads, hw_graph_reverse(f->network->graph, up),
                                 part->down_bytes))
            return error_nomem(f->err);
    }
    return HALLEY_OK;
}

static halley_status add_box_part(flow_net *f, const box_lines *b,
                                  const coll_dims_part *part)
{
    for (uint32_t line = 0; line < count_lines(b); line++) {
        switch (part->edges) {
        case COLL_EDGES_RING:
            TRY(add_line_ring(f, b, line, part->bytes));
            break;
        case COLL_EDGES_PAIRS:
            TRY(add_line_pairs(f, b, line, part->bytes));
            break;
        case COLL_EDGES_HALVING:
            TRY(add_line_halving(f, b, line, part->bytes));
            break;
        case COLL_EDGES_SWITCH:
            TRY(add_line_switch(f, b, line, part));
            break;
        }
    }
    return HALLEY_OK;
}

static halley_status add_box(flow_net *f, const flow_group *group,
                             const coll_dims_load *load)
{
    for (uint32_t i = 0; i < load->n_parts; i++) {
        box_lines b = {&group->box, &group->members, load->parts[i].dim, 1};
        for (uint32_t d = 0; d < b.dim; d++)
            b.step *= group->box.extent[d];
        TRY(add_box_part(f, &b, &load->parts[i]));
    }
    return HALLEY_OK;
}

/* ---- groups that are no boxes, and messages ---- */

/* A ring in the order of the members, or all pairs. */
halley_status flow_any_add(flow_net *f, const flow_members *m, coll_kind kind,
                           double bytes)
{
    const double n = m->n_members, both = kind == COLL_ALL_REDUCE ? 2 : 1;
    if (kind == COLL_SEND)
        return add_edge(f, m->npus[0], m->npus[1], bytes);
    for (uint32_t i = 0; i < m->n_members; i++) {
        for (uint32_t k = 0; kind == COLL_ALL_TO_ALL && k < m->n_members; k++)
            TRY(add_edge(f, m->npus[i], m->npus[k], bytes / n));
        if (kind != COLL_ALL_TO_ALL)
            TRY(add_edge(f, m->npus[i], m->npus[(i + 1) % m->n_members],
                         both * (n - 1) / n * bytes));
    }
    return HALLEY_OK;
}

/* Seconds of the busiest link. */
double flow_any_busiest_s(const flow_net *f)
{
    double most_s = 0;
    for (size_t i = 0; i < f->loads.links.n; i++) {
        const uint32_t link = f->loads.links.at[i];
        most_s = fmax(most_s,
                      f->loads.bytes[link] / hw_network_capacity_Bps(f->network, link));
    }
    return most_s;
}

halley_status flow_any_time(coll_load *out, flow_net *f, const flow_group *group,
                            coll_kind kind, double bytes)
{
    const double n = group->members.n_members;
    const double steps = kind == COLL_SEND || kind == COLL_ALL_TO_ALL ? 1
                         : kind == COLL_ALL_REDUCE                    ? 2 * (n - 1)
                                                                      : n - 1;
    const bool reduces = kind == COLL_ALL_REDUCE || kind == COLL_REDUCE_SCATTER;
    double fixed_s = steps * flow_net_longest_step(f, &group->members);
    if (reduces && group->box.reduce_Bps > 0)
        fixed_s += 3 * (n - 1) / n * bytes / group->box.reduce_Bps;
    TRY(flow_any_add(f, &group->members, kind, bytes));
    out->wire_s = flow_any_busiest_s(f);
    out->time_s = fixed_s + out->wire_s;
    flow_loads_drop(&f->loads);
    return HALLEY_OK;
}

/* ---- both ---- */

static coll_call make_box_call(const net_bundle *b, double bytes)
{
    assert(b != NULL && bytes >= 0);
    return (coll_call){.kind = b->kind, .bytes = bytes, .n = b->n};
}

/* Equal for calls that use the same links in the same proportions. */
static uint32_t find_variant(const coll_dims_load *load)
{
    assert(load != NULL);
    uint64_t hash = 1;
    for (uint32_t i = 0; i < load->n_parts; i++)
        hash = hash_u64(hash ^ (uint64_t)load->parts[i].edges << 32 ^ load->parts[i].dim);
    return (uint32_t)hash;
}

halley_status flow_boxes_find_loads(bundle_loads *out, flow_net *f,
                                    const flow_group *group, const net_bundle *b)
{
    coll_dims_load own, power;
    int exponent;
    *out = (bundle_loads){.canonical_bytes = b->bytes};
    if (b->kind == COLL_SEND || !group->is_box) {
        TRY(flow_any_time(&out->own, f, group, b->kind, b->bytes));
    } else {
        coll_call call = make_box_call(b, b->bytes);
        coll_dims_make(&own, &group->box, &call);
        out->own.time_s = own.time_s;
        out->own.wire_s = own.wire_s;
        out->own.variant = find_variant(&own);
        frexp(b->bytes, &exponent);
        call.bytes = ldexp(1, exponent - 1);
        coll_dims_make(&power, &group->box, &call);
        if (find_variant(&power) == out->own.variant)
            out->canonical_bytes = call.bytes;
    }
    out->canonical = out->own;
    out->canonical.wire_s *= out->canonical_bytes / b->bytes;
    out->volume_bytes = out->canonical_bytes;
    out->rate_Bps = b->bytes / out->own.wire_s;
    return HALLEY_OK;
}

halley_status flow_boxes_add(flow_net *f, const flow_group *group, const net_bundle *b,
                             const bundle_loads *loads)
{
    coll_dims_load load;
    halley_status status;
    if (b->kind == COLL_SEND || !group->is_box) {
        status = flow_any_add(f, &group->members, b->kind, loads->canonical_bytes);
    } else {
        const coll_call call = make_box_call(b, loads->canonical_bytes);
        coll_dims_make(&load, &group->box, &call);
        status = add_box(f, group, &load);
    }
    if (status != HALLEY_OK)
        flow_loads_drop(&f->loads);
    return status;
}
