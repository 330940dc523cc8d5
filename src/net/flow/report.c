/* net/flow/report.c - what crossed the links of a run, who sent it, and certificates. */
#include "net/flow/model.h"

/* Links of a kind, and what crossed them. */
static void sum_kind(net_part_use *out, const flow_net *f, uint32_t kind)
{
    const hw_graph *g = f->network->graph;
    for (uint32_t l = 0; l < g->n_links; l++) {
        out->n += g->link_kind[l] == kind;
        out->capacity_Bps += g->link_kind[l] == kind ? g->link_Bps[l] : 0;
    }
    for (uint32_t id = 0; id < net_flow_count_classes(f->flow); id++) {
        const net_flow_class_use use = net_flow_get_class_use(f->flow, id);
        bool crosses = false;
        for (uint32_t i = 0; i < use.n_links; i++) {
            if (g->link_kind[use.links[i]] != kind)
                continue;
            crosses = true;
            out->bytes += use.bytes * (double)use.coefficients[i] / (double)NET_FLOW_ONE;
        }
        out->n_messages += crosses ? use.n_flows : 0;
    }
}

/* One row for each kind of link. */
bool flow_net_describe(net_part_use *out, const net *n, uint32_t i)
{
    const flow_net *f = flow_net_of_const(n);
    const hw_graph *g = f->network->graph;
    if (i >= g->n_kinds)
        return false;
    *out = (net_part_use){.name = g->kinds[i].name, .bw_Bps = g->kinds[i].bw_Bps};
    sum_kind(out, f, i);
    if (f->cluster->network == HW_NETWORK_DIMS) { /* its kinds are its dimensions */
        assert(g->n_kinds == f->cluster->n_dims);
        out->name = cluster_topology_names[f->cluster->dims[i].topology];
        out->n = f->cluster->dims[i].n;
    }
    return true;
}

static const char *const kind_names[] = {[COLL_ALL_REDUCE] = "ALL_REDUCE",
                                         [COLL_ALL_GATHER] = "ALL_GATHER",
                                         [COLL_REDUCE_SCATTER] = "REDUCE_SCATTER",
                                         [COLL_ALL_TO_ALL] = "ALL_TO_ALL",
                                         [COLL_BROADCAST] = "BROADCAST",
                                         [COLL_SEND] = "messages between two ranks",
                                         [COLL_REDUCE] = "REDUCE",
                                         [COLL_GATHER] = "GATHER",
                                         [COLL_SCATTER] = "SCATTER"};

static const char *name_owner(arena *memory, const flow_net *f, uint32_t class_id)
{
    if (f->cluster->network == HW_NETWORK_DIMS)
        return "steps of collectives and messages";
    if (class_id >= f->owners.n)
        return kind_names[COLL_SEND];
    const flow_owner *o = &f->owners.at[class_id];
    if (o->kind == COLL_SEND)
        return kind_names[COLL_SEND];
    if (o->group == 0)
        return arena_printf(memory, "%s of all ranks", kind_names[o->kind]);
    assert(o->group <= f->cluster->n_groups);
    return arena_printf(memory, "%s of group %lld", kind_names[o->kind],
                        (long long)f->cluster->groups[o->group - 1].id);
}

/* Sums over classes, by link. */
typedef struct link_tally {
    double payload, wire, most[2];
    uint64_t n_messages;
    uint32_t users[2]; /* classes; NET_NONE */
} link_tally;

static void tally_user(link_tally *t, uint32_t class_id, double wire)
{
    if (wire > t->most[0]) {
        t->most[1] = t->most[0];
        t->users[1] = t->users[0];
        t->most[0] = wire;
        t->users[0] = class_id;
    } else if (wire > t->most[1]) {
        t->most[1] = wire;
        t->users[1] = class_id;
    }
}

static void tally_classes(link_tally *tallies, const flow_net *f)
{
    for (uint32_t id = 0; id < net_flow_count_classes(f->flow); id++) {
        const net_flow_class_use use = net_flow_get_class_use(f->flow, id);
        const flow_owner none = {COLL_SEND, 0, 1, 1};
        const flow_owner *o = id < f->owners.n ? &f->owners.at[id] : &none;
        for (uint32_t i = 0; i < use.n_links; i++) {
            link_tally *t = &tallies[use.links[i]];
            const double wire =
                use.bytes * (double)use.coefficients[i] / (double)NET_FLOW_ONE;
            const bool inside = f->network->level[use.links[i]] == HW_LEVEL_NODE;
            t->wire += wire;
            t->payload += wire * (inside ? o->payload : o->payload_out);
            t->n_messages += use.n_flows;
            tally_user(t, id, wire);
        }
    }
}

static bool list_link(net_link_list *to, const flow_net *f, uint32_t link,
                      const link_tally *t)
{
    const hw_graph *g = f->network->graph;
    char from[96], back[96];
    net_link_use use = {
        .kind = arena_printf(&to->memory, "%s", g->kinds[g->link_kind[link]].name),
        .bw_Bps = g->link_Bps[link],
        .bytes = t->payload,
        .wire_bytes = t->wire,
        .n_messages = t->n_messages};
    use.name = arena_printf(&to->memory, "%s -> %s",
                            hw_graph_name(g, g->link_from[link], from, sizeof from),
                            hw_graph_name(g, g->link_to[link], back, sizeof back));
    for (int i = 0; i < 2 && t->users[i] != NET_NONE; i++) {
        use.users[i] = name_owner(&to->memory, f, t->users[i]);
        use.user_shares[i] = t->most[i] / t->wire;
    }
    return use.name != NULL && use.kind != NULL && array_push(&to->links, use);
}

bool flow_net_list_links(net_link_list *to, const net *n)
{
    const flow_net *f = flow_net_of_const(n);
    const hw_graph *g = f->network->graph;
    link_tally *tallies = mem_array_zero(g->n_links, sizeof *tallies);
    bool room = tallies != NULL;
    for (uint32_t i = 0; room && i < g->n_links; i++)
        tallies[i].users[0] = tallies[i].users[1] = NET_NONE;
    if (room)
        tally_classes(tallies, f);
    for (uint32_t i = 0; room && i < g->n_links; i++)
        room = tallies[i].wire == 0 || list_link(to, f, i, &tallies[i]);
    free(tallies);
    return room;
}

/* No link carried more than it could in the time of the run. */
static halley_status certify_use(const flow_net *f, halley_error *err)
{
    const hw_graph *g = f->network->graph;
    double *bytes = mem_array(g->n_links, sizeof *bytes);
    const double seconds = (double)net_flow_now(f->flow) / f->ticks_per_s;
    char name[128];
    halley_status status = bytes == NULL ? error_nomem(err) : HALLEY_OK;
    if (status == HALLEY_OK)
        net_flow_sum_links(f->flow, bytes);
    for (uint32_t i = 0; status == HALLEY_OK && i < g->n_links; i++)
        if (bytes[i] > g->link_Bps[i] * (seconds + 1e-12) * (1 + 1e-9))
            status = error_set(err, HALLEY_EINVAL,
                               "internal error: link %s carried more than it can",
                               hw_graph_link_name(g, i, name, sizeof name));
    free(bytes);
    return status;
}

halley_status flow_net_certify(const net *n, halley_error *err)
{
    const flow_net *f = flow_net_of_const(n);
    TRY(net_flow_certify_bytes(f->flow, err));
    return certify_use(f, err);
}
