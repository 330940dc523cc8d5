/*
 * coll/tree.c - the double binary tree: data go up a tree, where they are reduced, and
 * down again. Chunks alternate between two trees in which members have different
 * positions.
 */
#include "coll/schedules.h"
#include "coll/time_parts.h"

#include <assert.h>

/* Always an all-reduce of all data, whatever collective was requested. */
halley_status coll_tree_fill(coll_phase *p, const coll_fill_options *o, halley_error *err)
{
    if ((p->n & (p->n - 1)) != 0)
        return error_set(err, HALLEY_EINVAL,
                         "a double binary tree needs a power of two of members, not %u",
                         p->n);
    if (o->local)
        return error_set(err, HALLEY_EINVAL,
                         "a double binary tree cannot serve a communicator group");
    p->is_substitute = p->coll != CLUSTER_ALL_REDUCE;
    p->coll = CLUSTER_ALL_REDUCE;
    p->message_bytes = p->data_bytes;
    p->n_sends = p->n_steps = 3; /* from the left child, the right one, the parent */
    return HALLEY_OK;
}

/*
 * The trees. The root is above a complete binary tree of the other n-1 places, which are
 * numbered in order. If the root is last, the places 0 … n-2 are that tree; if it is
 * first, 1 … n-1. In such a tree of 2^d - 1 places numbered from 1, place i is at height
 * h = trailing zeros of i. Its children are i ± 2^(h-1), its parent is i ± 2^h.
 */
coll_tree_place coll_tree_find(const coll_phase *p, uint32_t member)
{
    const uint32_t place = member / p->stride % p->n;
    const uint32_t base = member - place * p->stride;
    const uint32_t shift = p->root_is_first ? 0 : 1; /* numbers start at 1 below the
                                                        root */
    const uint32_t root = p->root_is_first ? 0 : p->n - 1;
    const uint32_t top = p->n / 2; /* the root's child, numbered from 1 */
    coll_tree_place at = {COLL_NONE, COLL_NONE, COLL_NONE};
    if (place == root) {
        const uint32_t child = base + (top - shift) * p->stride;
        if (p->root_is_first)
            at.right = child;
        else
            at.left = child;
        return at;
    }
    const uint32_t i = place + shift;
    assert(i > 0 && i < p->n);
    const uint32_t height = (uint32_t)__builtin_ctz(i);
    const uint32_t span = UINT32_C(1) << height;
    at.parent = i == top
                    ? base + root * p->stride
                    : base + ((i & (2 * span) ? i - span : i + span) - shift) * p->stride;
    if (height > 0) {
        at.left = base + (i - span / 2 - shift) * p->stride;
        at.right = base + (i + span / 2 - shift) * p->stride;
    }
    return at;
}

/* A double binary tree over the nodes, with a chain inside each. */
double coll_tree_time(const halley_link *up, const halley_fabric *out, const coll_call *c,
                      coll_protocol p)
{
    assert(c->n > 0);
    assert(c->bytes >= 0);
    const halley_protocol *pr = get_protocol(up, p);
    const double g = c->per_node, nodes = c->n / g;
    const double a = 2 * ((g - 1) * pr->hop_s + ceil(log2(nodes)) * out->hop_s[p]);
    const double times = nodes > 2 ? 2 : 1;
    const double net = COLL_TREE_SHARE * get_wire_share(p) * out->share * c->nic_Bps * g;
    const double inside = g > 1 ? 2 * c->bytes / (pr->share * up->bandwidth_Bps) : 0;
    const double d = fmax(inside, times * c->bytes / net);
    const double fixed = up->launch_s + pr->extra_s;
    assert(c->kind == COLL_ALL_REDUCE);
    return fixed + (p == COLL_SIMPLE ? norm_times(a, d, 1 + up->simple_overlap) : a + d);
}

void coll_tree_load(coll_load *load, const halley_link *up, const halley_fabric *out,
                    const coll_call *c, coll_protocol p)
{
    const double g = c->per_node, times = c->n / g > 2 ? 2 : 1;
    const double card = COLL_TREE_SHARE * get_wire_share(p) * out->share * c->nic_Bps;
    const double inside = g > 1 ? 2 * c->bytes : 0;
    *load = (coll_load){.pattern = COLL_PATTERN_TREE,
                        .streams = 1,
                        .up_bytes = inside,
                        .up_s = inside / (get_protocol(up, p)->share * up->bandwidth_Bps),
                        .out_bytes = times * c->bytes / g,
                        .out_s = times * c->bytes / g / card};
    load->wire_s = fmax(load->up_s, load->out_s);
}
