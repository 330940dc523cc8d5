/*
 * Find the nodes that communicate, and order them within their groups.
 *
 * A communication of unknown size or peer cannot be simulated. It stays work of the
 * recorded duration, and is counted.
 */
#include "recording/comm.h"

#include <stdlib.h>

/* Can a simulator run this communication? */
static bool is_usable(const comm_info *info)
{
    return info->has_size &&
           (info->type != HALLEY_NODE_SEND || info->destination != PULL_NONE) &&
           (info->type != HALLEY_NODE_RECV || info->source != PULL_NONE);
}

/* Fill in what is known from the recording as a whole. */
static void complete(comm_info *info, const link_graph *g)
{
    const uint64_t rank = g->device ? g->device->job.rank : PULL_NONE;
    if (info->type == HALLEY_NODE_SEND && info->source == PULL_NONE)
        info->source = rank;
    if (info->type == HALLEY_NODE_RECV && info->destination == PULL_NONE)
        info->destination = rank;
    if (info->type == HALLEY_NODE_COLL && info->coll == HALLEY_COLL_BARRIER)
        info->has_size = true;
}

static bool add_comm(link_graph *g, uint32_t node, const comm_info *info)
{
    halley_link_report *const r = g->report;
    comm_info kept = *info;
    complete(&kept, g);
    if (!is_usable(&kept)) {
        r->n_no_size++;
        return true;
    }
    r->n_collectives += info->type == HALLEY_NODE_COLL;
    r->n_sends += info->type == HALLEY_NODE_SEND;
    r->n_recvs += info->type == HALLEY_NODE_RECV;
    /* The texts of a node's inputs may be released before this node is written, so the
     * type is interned. */
    const uint32_t dtype = intern_add(&g->host->texts, info->dtype);
    const uint32_t group = intern_add(&g->host->texts, info->group);
    if (dtype == HASH_NONE || group == HASH_NONE)
        return false;
    kept.dtype = intern_text(&g->host->texts, dtype);
    kept.group = intern_text(&g->host->texts, group);
    g->comm_of[node] = (uint32_t)g->comms.n;
    return array_push(&g->comms, kept);
}

static bool find_comms(link_graph *g)
{
    bool has_kernels = false;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        g->comm_of[i] = LINK_NONE;
        if (g->nodes.at[i].kind != LINK_GPU || !comm_is_kernel(link_name(g, i)))
            continue;
        has_kernels = true;
        const uint32_t says = g->nodes.at[i].says;
        const comm_info info = says ? comm_of_call(g, says - 1) : comm_of_kernel(g, i);
        if (info.type == HALLEY_NODE_INVALID)
            g->report->n_unknown_comm++;
        else if (!add_comm(g, i, &info))
            return false;
    }
    for (uint32_t i = 0; i < g->host->nodes.n; i++) {
        const comm_info info = comm_of_host(g, i, !has_kernels);
        if (info.type != HALLEY_NODE_INVALID && !add_comm(g, i, &info))
            return false;
    }
    return true;
}

const comm_info *link_timed_collective(const link_graph *g, uint32_t node)
{
    if (g->comm_of[node] == LINK_NONE || !g->nodes.at[node].timed)
        return NULL;
    const comm_info *const c = &g->comms.at[g->comm_of[node]];
    return c->type == HALLEY_NODE_COLL ? c : NULL;
}

/* Collectives of one group run in the order in which they were started. */
static bool order_comms(link_graph *g)
{
    intern groups = {0};
    ARRAY(uint32_t) last = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < g->nodes.n; i++) {
        const comm_info *const c = link_timed_collective(g, i);
        if (c == NULL)
            continue;
        const uint32_t group = intern_add(&groups, c->group);
        ok = group != HASH_NONE && (group < last.n || array_push(&last, LINK_NONE));
        if (ok && last.at[group] != LINK_NONE) {
            const link_node *const before = &g->nodes.at[last.at[group]];
            const link_node *const after = &g->nodes.at[i];
            const bool same_stream = before->kind == LINK_GPU &&
                                     after->kind == LINK_GPU &&
                                     g->device->events.at[before->ref].place ==
                                         g->device->events.at[after->ref].place;
            if (!same_stream && before->start_ns + before->duration_ns <= after->start_ns)
                ok = link_add_edge(g, last.at[group], i, &g->report->n_collective_order);
        }
        if (ok)
            last.at[group] = i;
    }
    intern_fini(&groups);
    array_fini(&last);
    return ok;
}

halley_status link_comms(link_graph *g, halley_error *err)
{
    g->comm_of = mem_array(g->nodes.n, sizeof *g->comm_of);
    return g->comm_of && find_comms(g) && order_comms(g) ? HALLEY_OK : error_nomem(err);
}
