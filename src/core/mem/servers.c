/*
 * mem/servers.c - a request takes latency + trunc(bytes / bandwidth). Per-NPU memory
 * serves all requests at once; a node's memory and a pool serve one request after the
 * other. A pool behind switches has three stages. Pieces of different requests interleave
 * between them, so each stage works whenever any of its requests waits, and a request
 * ends with the stage that serves it last.
 */
#include "mem/servers.h"

#include "des/ticks.h"

#include <assert.h>

static halley_status init_pool(mem_servers *m, const halley_cluster *cluster,
                               uint64_t ticks_per_ns, halley_error *err)
{
    const cluster_memory *from = &cluster->remote;
    const double ticks = (double)ticks_per_ns;
    const uint32_t n_nodes = (cluster->n_npus - 1) / from->npus_per_node + 1;
    const uint32_t n[3] = {1, n_nodes, cluster->n_npus};
    m->npus_per_node = from->npus_per_node;
    m->piece_bytes = from->piece_bytes;
    m->in_switch = from->in_switch;
    m->stage_bytes_per_tick[0] = from->bytes_per_ns * from->n_groups / ticks;
    m->stage_bytes_per_tick[1] = from->node_bytes_per_ns / ticks;
    m->stage_bytes_per_tick[2] = from->npu_bytes_per_ns / ticks;
    for (int k = 0; k < 3; k++) {
        m->free_at[k] = mem_array_zero(n[k], sizeof *m->free_at[k]);
        if (m->free_at[k] == NULL)
            return error_nomem(err);
    }
    return HALLEY_OK;
}

uint64_t mem_pool_delay(mem_servers *m, uint32_t npu, uint64_t bytes, uint64_t now)
{
    assert(m->npus_per_node > 0 && m->piece_bytes > 0);
    assert(m->free_at[0] != NULL);
    const uint32_t server[3] = {0, npu / m->npus_per_node, npu};
    const uint64_t n_pieces = bytes == 0 ? 1 : (bytes - 1) / m->piece_bytes + 1;
    const double piece = (double)bytes / (double)n_pieces;
    const double start = (double)now + (double)m->latency_ticks;
    double last = 0, slowest = 0, pieces = 0; /* of one piece: in a stage, in all */
    for (int k = 0; k < 3; k++) {
        /* Data gathered or reduced in the node's switch cross the stages above only
         * once. */
        const double carried = m->in_switch && k < 2 ? piece / m->npus_per_node : piece;
        const double service = carried / m->stage_bytes_per_tick[k];
        double *free_at = &m->free_at[k][server[k]];
        const double begin = start > *free_at ? start : *free_at;
        *free_at = begin + (double)n_pieces * service;
        pieces += service;
        slowest = *free_at > last ? service : slowest;
        last = *free_at > last ? *free_at : last;
    }
    last += pieces - slowest; /* the first piece passes the other stages */
    m->wrapped |= !ticks_hold(last - (double)now);
    return ticks_from(last - (double)now);
}

halley_status mem_servers_init(mem_servers *out, const halley_cluster *cluster,
                               uint64_t ticks_per_ns, halley_error *err)
{
    assert(ticks_per_ns > 0);
    assert(cluster->n_npus > 0);
    const cluster_memory *from = &cluster->remote;
    *out = (mem_servers){
        .kind = from->kind,
        .latency_ticks = from->latency_ns * ticks_per_ns,
        .bytes_per_tick = from->bytes_per_ns / (double)ticks_per_ns,
        .free_request = MEM_NONE,
    };
    if (from->kind == CLUSTER_MEMORY_HIERARCHICAL)
        return init_pool(out, cluster, ticks_per_ns, err);
    if (from->kind == CLUSTER_MEMORY_POOL)
        out->npus_per_server = cluster->n_npus;
    if (from->kind == CLUSTER_MEMORY_PER_NODE)
        out->npus_per_server = from->npus_per_node;
    if (out->npus_per_server == 0)
        return HALLEY_OK;
    out->n_servers = (cluster->n_npus - 1) / out->npus_per_server + 1;
    out->servers = mem_array(out->n_servers, sizeof *out->servers);
    if (out->servers == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < out->n_servers; i++)
        out->servers[i] = (mem_server){MEM_NONE, MEM_NONE, false};
    return HALLEY_OK;
}

void mem_servers_fini(mem_servers *m)
{
    free(m->servers);
    for (int k = 0; k < 3; k++)
        free(m->free_at[k]);
    array_fini(&m->requests);
    *m = (mem_servers){0};
}

uint64_t mem_duration(mem_servers *m, uint64_t bytes)
{
    assert(m->bytes_per_tick >= 0);
    const double served = (double)bytes / m->bytes_per_tick;
    m->wrapped |= !ticks_hold(served);
    return m->latency_ticks + ticks_from(served);
}

uint32_t mem_server_of(const mem_servers *m, uint32_t npu)
{
    assert(m->npus_per_server == 0 || npu / m->npus_per_server < m->n_servers);
    return m->npus_per_server == 0 ? MEM_NONE : npu / m->npus_per_server;
}

halley_status mem_ask(mem_servers *m, uint32_t server, const mem_request *request,
                      bool *starts)
{
    assert(server < m->n_servers);
    mem_server *s = &m->servers[server];
    *starts = !s->busy;
    if (!s->busy) {
        s->busy = true;
        return HALLEY_OK;
    }
    uint32_t id = m->free_request;
    if (id != MEM_NONE) {
        m->free_request = m->requests.at[id].next;
    } else {
        id = (uint32_t)m->requests.n;
        if (!array_push(&m->requests, *request))
            return HALLEY_ENOMEM;
    }
    m->requests.at[id] = *request;
    m->requests.at[id].next = MEM_NONE;
    if (s->head == MEM_NONE)
        s->head = id;
    else
        m->requests.at[s->tail].next = id;
    s->tail = id;
    assert(m->requests.at[s->tail].next == MEM_NONE);
    return HALLEY_OK;
}

bool mem_next(mem_servers *m, uint32_t server, mem_request *out)
{
    assert(server < m->n_servers);
    assert(m->servers[server].busy);
    mem_server *s = &m->servers[server];
    const uint32_t id = s->head;
    if (id == MEM_NONE) {
        s->busy = false;
        return false;
    }
    *out = m->requests.at[id];
    s->head = out->next;
    m->requests.at[id].next = m->free_request;
    m->free_request = id;
    return true;
}
