/*
 * net/flow/found.c - collectives of groups for which no closed form fits: groups that are
 * no boxes of a grid, grids with failed or slow links, networks drawn link by link. Their
 * schedules are synthesised (coll/synth/synth.h) for a few sizes, and timed for each
 * call. A collective is one flow with the bytes of all moves on every link. Alone it
 * takes the time of its schedule; its busiest link decides how it shares.
 *
 * An all-to-all sends every pair's bytes over their route.
 */
#include "coll/synth/synth.h"
#include "net/flow/model.h"

#include <assert.h>
#include <stdlib.h>

enum { N_FOUND_SIZES = 3, MOST_FOUND_MEMBERS = 1024 };
static const double found_bytes[N_FOUND_SIZES] = {0x1p16, 0x1p22, 0x1p28};

/* The schedules of a group, made when they are needed; 0: gather, 1: reversed for sums.
 */
struct flow_found {
    const hw_graph *network;
    uint32_t n, *devices;
    synth_graph graphs[2];
    synth_gather gathers[2][N_FOUND_SIZES];
};

static bool is_drawn(const hw_graph *g)
{
    assert(g != NULL);
    return str_eq(str_from(g->generator), STR("edges")) || g->names != NULL;
}

bool flow_found_can(const flow_net *f, const flow_members *m)
{
    assert(f != NULL && m != NULL);
    const hw_network *w = f->network;
    const hw_graph *g = w->graph;
    return !f->has_dims && !w->joins_nodes && f->cluster->nodes.up.torus &&
           g->n_switches == 0 && g->n_nics == 0 && !m->has_box && m->n_members > 1 &&
           m->n_members <= MOST_FOUND_MEMBERS &&
           (w->direct.n_axes > 0 || is_drawn(g) ||
            str_eq(str_from(g->generator), STR("twisted-torus")));
}

void flow_found_free(flow_found *found)
{
    if (found == NULL)
        return;
    for (int k = 0; k < 2; k++) {
        synth_graph_fini(&found->graphs[k]);
        for (int i = 0; i < N_FOUND_SIZES; i++)
            synth_gather_fini(&found->gathers[k][i]);
    }
    free(found->devices);
    free(found);
}

halley_status flow_found_new(flow_found **out, const flow_net *f, const flow_members *m,
                             halley_error *err)
{
    flow_found *found = mem_array_zero(1, sizeof *found);
    uint32_t *devices = mem_array(m->n_members, sizeof *devices);
    if (found == NULL || devices == NULL) {
        free(found);
        free(devices);
        return error_nomem(err);
    }
    for (uint32_t i = 0; i < m->n_members; i++)
        devices[i] = hw_direct_device(&f->network->direct, m->npus[i]);
    found->network = f->network->graph;
    found->devices = devices;
    found->n = m->n_members;
    *out = found;
    return HALLEY_OK;
}

/* The schedule of the size nearest to that of a call. */
static halley_status get_gather(const synth_gather **out, flow_found *found, int reversed,
                                double bytes, halley_error *err)
{
    assert(found != NULL && (reversed == 0 || reversed == 1));
    int i = 0;
    while (i + 1 < N_FOUND_SIZES && bytes * bytes > found_bytes[i] * found_bytes[i + 1])
        i++;
    synth_gather *g = &found->gathers[reversed][i];
    if (found->graphs[reversed].n == 0)
        TRY(synth_graph_make(&found->graphs[reversed], found->network, found->devices,
                             found->n, reversed == 1, err));
    if (g->moves.n == 0)
        TRY(synth_gather_find(g, &found->graphs[reversed], found_bytes[i],
                              &(synth_options){.effort = 1}, err));
    *out = g;
    return HALLEY_OK;
}

/* The passes of a collective: bit 0 gathers, bit 1 sums. */
static unsigned list_passes(coll_kind kind)
{
    if (kind == COLL_ALL_REDUCE)
        return 3;
    return kind == COLL_REDUCE_SCATTER || kind == COLL_REDUCE ? 2 : 1;
}

/* Messages of pairs follow their routes. */
static bool is_routed(coll_kind kind)
{
    return kind == COLL_SEND || kind == COLL_ALL_TO_ALL || kind == COLL_GATHER ||
           kind == COLL_SCATTER;
}

static halley_status add_moves(flow_net *f, const synth_gather *s, const synth_graph *g,
                               double bytes)
{
    assert(s != NULL && g != NULL);
    const double chunk = bytes / ((double)g->n * s->pieces);
    for (size_t i = 0; i < s->moves.n; i++) {
        const synth_edge *e = &g->edges.at[s->moves.at[i].edge];
        for (uint32_t k = 0; k < e->n; k++)
            if (!flow_loads_add_link(&f->loads, g->path.at[e->first + k], chunk))
                return error_nomem(f->err);
    }
    return HALLEY_OK;
}

static double get_share(const flow_net *f)
{
    assert(f != NULL);
    const double share = f->cluster->nodes.up.simple.share;
    return share > 0 ? share : 1;
}

/* Time the schedules of a call, and add what they put on links. */
static halley_status add_passes(double *time_s, flow_net *f, flow_found *found,
                                coll_kind kind, double bytes)
{
    assert(found != NULL);
    const unsigned passes = list_passes(kind);
    *time_s = 0;
    for (int k = 0; k < 2; k++) {
        const synth_gather *s;
        uint64_t ps;
        if (!(passes >> k & 1))
            continue;
        TRY(get_gather(&s, found, k, bytes, f->err));
        TRY(synth_gather_time(&ps, s, &found->graphs[k], bytes, NULL, f->err));
        TRY(add_moves(f, s, &found->graphs[k], bytes));
        *time_s += (double)ps * 1e-12;
    }
    return HALLEY_OK;
}

halley_status flow_found_find_loads(bundle_loads *out, flow_net *f,
                                    const flow_group *group, const net_bundle *b)
{
    const double bytes = b->bytes / get_share(f);
    halley_status status;
    *out = (bundle_loads){.canonical_bytes = b->bytes};
    if (is_routed(b->kind))
        status = flow_any_time(&out->own, f, group, b->kind, bytes);
    else
        status = add_passes(&out->own.time_s, f, group->found, b->kind, bytes);
    if (status == HALLEY_OK && !is_routed(b->kind))
        out->own.wire_s = fmin(flow_any_busiest_s(f), out->own.time_s);
    flow_loads_drop(&f->loads);
    TRY(status);
    out->own.time_s += f->cluster->nodes.up.launch_s;
    out->canonical = out->own;
    out->volume_bytes = out->canonical_bytes;
    out->rate_Bps = b->bytes / out->own.wire_s;
    return HALLEY_OK;
}

halley_status flow_found_add(flow_net *f, const flow_group *group, const net_bundle *b,
                             const bundle_loads *loads)
{
    double time_s;
    const double bytes = loads->canonical_bytes / get_share(f);
    const halley_status status =
        is_routed(b->kind) ? flow_any_add(f, &group->members, b->kind, bytes)
                           : add_passes(&time_s, f, group->found, b->kind, bytes);
    if (status != HALLEY_OK)
        flow_loads_drop(&f->loads);
    return status;
}
