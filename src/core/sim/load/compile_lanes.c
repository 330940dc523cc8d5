/* sim/load/compile_lanes.c - the lane that a node occupies while it runs, under the
 * native rules. */
#include "base/array.h"
#include "sim/load/compile.h"

#include <stdlib.h>

enum { MOST_LANES = 60000 };

/* Find or add the lane of a key. */
static halley_status find_lane(uint16_t *out, sim_compiler *c, uint64_t key, bool group)
{
    sim_program *p = c->p;
    uint32_t lane = p->n_lanes;
    bool fresh;
    if (!map64_put(&c->lanes, key, &lane, &fresh))
        return error_nomem(c->err);
    assert(lane <= MOST_LANES);
    *out = (uint16_t)lane;
    if (!fresh)
        return HALLEY_OK;
    if (p->n_lanes >= MOST_LANES)
        return error_set(c->err, HALLEY_ELIMIT,
                         "a rank communicates with more than %d groups and peers",
                         MOST_LANES);
    sim_lane *lanes = realloc(p->lanes, (p->n_lanes + 1) * sizeof *lanes);
    if (lanes == NULL)
        return error_nomem(c->err);
    p->lanes = lanes;
    p->lanes[p->n_lanes++] = (sim_lane){.capacity = 1, .set = group ? p->n_sets++ : 0};
    assert(lane + 1 == p->n_lanes && p->n_sets <= p->n_lanes);
    return HALLEY_OK;
}

/*
 * A recording states the host thread and the stream on which a node ran; each has a lane.
 * Nodes that are ordered by dependencies alone (lags, overlapping kernels) have none.
 * Kernels whose time is computed share one device, however many streams they were
 * recorded on.
 */
static halley_status choose_recorded_lane(sim_node *n, sim_compiler *c)
{
    const cluster_system *s = &c->opts->cluster->system;
    const bool on_cpu = n->flags & SIM_NODE_CPU;
    if (!on_cpu && (!(n->flags & SIM_NODE_TIMED) || (s->roofline && !s->replay_only)))
        return HALLEY_OK;
    halley_attr attr;
    uint64_t lane;
    if (sim_compile_find_attr(&attr, c, n->trace_index, SIM_ATTR_FREE_LANE) &&
        attr.bits != 0) {
        n->slot = SIM_SLOT_FREE;
        return HALLEY_OK;
    }
    if (!sim_compile_find_attr(&attr, c, n->trace_index,
                               on_cpu ? SIM_ATTR_TID : SIM_ATTR_STREAM) ||
        !halley_attr_to_u64(&attr, &lane) || lane >> 62 != 0)
        return HALLEY_OK;
    return find_lane(&n->slot, c, lane | (on_cpu ? UINT64_C(3) : UINT64_C(2)) << 62,
                     false);
}

/* Native rules: every group and every peer that is sent to has its own lane. With
 * one_channel they all share one. Memory has another lane. */
halley_status sim_compile_choose_lane(sim_node *n, sim_compiler *c)
{
    const bool one = c->opts->cluster->system.one_channel;
    assert(n->slot < SIM_N_SLOTS && c->p->n_lanes >= SIM_N_SLOTS);
    if (n->flags & (SIM_NODE_CPU | SIM_NODE_TIMED))
        return choose_recorded_lane(n, c);
    if (n->type == HALLEY_NODE_COLL && !(n->flags & SIM_NODE_TIMED))
        return find_lane(&n->slot, c, one ? 0 : n->a, true);
    if (n->type == HALLEY_NODE_SEND)
        return find_lane(&n->slot, c, one ? 0 : UINT64_C(1) << 32 | n->a, one);
    return HALLEY_OK;
}

halley_status sim_compile_init_lanes(sim_compiler *c)
{
    sim_program *p = c->p;
    const uint32_t streams = c->opts->cluster->system.streams;
    p->lanes = mem_array(SIM_N_SLOTS, sizeof *p->lanes);
    if (p->lanes == NULL)
        return error_nomem(c->err);
    p->n_lanes = SIM_N_SLOTS;
    for (uint32_t i = 0; i < SIM_N_SLOTS; i++)
        p->lanes[i] = (sim_lane){.capacity = 1};
    p->lanes[SIM_SLOT_COMP].capacity = streams == 0 ? 1 : streams;
    p->lanes[SIM_SLOT_FREE].capacity = UINT32_MAX;
    return HALLEY_OK;
}
