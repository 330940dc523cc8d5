/*
 * Sends and receives that one kernel executes together (batch_isend_irecv).
 *
 * Each of them has its own record_param_comms on the launching thread, but only one
 * kernel is launched, after the last. A SendRecv kernel is taken to execute all sends and
 * receives that its thread has issued since its previous SendRecv kernel. The kernel's
 * node becomes the first of these. Each other one becomes a twin node with the same
 * edges. Twins take no time in the replay, because the kernel's node has the whole
 * duration.
 */
#include "recording/comm.h"

#include <stdlib.h>

/* In the map of threads: no message is pending. */
static const uint32_t NOBODY = HASH_NONE - 1;

typedef struct batches {
    link_graph *g;
    uint32_t *kernel_of; /* by host node: the last SendRecv kernel it launched, or NONE */
    uint32_t *next;      /* by host node: the pending message before it, or NONE */
    map64 waiting;       /* by thread: its last pending message (host node) */
    uint32_t n_first;    /* number of nodes before twins were added */
    uint32_t *twin;      /* by node: its last twin, or NONE */
    ARRAY(uint32_t) twins; /* by twin - n_first: the twin before it, or NONE */
} batches;

/* Can the kernel execute several messages? Its name does not say which. */
static bool is_send_recv(const link_graph *g, uint32_t node)
{
    const str name = link_name(g, node);
    return comm_is_kernel(name) &&
           (str_contains(name, STR("SendRecv")) || str_contains(name, STR("Generic")));
}

static bool is_message(const link_graph *g, uint32_t host)
{
    if (!str_eq(link_name(g, host), STR("record_param_comms")))
        return false;
    const comm_info info = comm_of_call(g, host);
    return info.type == HALLEY_NODE_SEND || info.type == HALLEY_NODE_RECV;
}

static bool add_twin(batches *b, uint32_t kernel, uint32_t host)
{
    link_node twin = b->g->nodes.at[kernel];
    twin.parent = host;
    twin.duration_ns = 0;
    twin.says = host + 1;
    twin.is_twin = true;
    if (!array_push(&b->twins, b->twin[kernel]))
        return false;
    b->twin[kernel] = link_add_node(b->g, twin);
    b->g->report->n_batched++;
    return b->twin[kernel] != LINK_NONE;
}

/* The kernel's node becomes the first pending message of its thread; the others become
 * twins. */
static bool take_batch(batches *b, uint32_t kernel, uint32_t host, uint32_t last)
{
    uint32_t first = last, n = 0;
    for (uint32_t h = last; h != LINK_NONE; h = b->next[h], n++)
        first = h;
    const comm_info own = comm_of_kernel(b->g, kernel);
    if (n == 0 || own.type == HALLEY_NODE_COLL || (n == 1 && first == host))
        return true;
    b->g->nodes.at[kernel].says = first + 1;
    b->g->report->n_batched++;
    for (uint32_t h = last; h != first; h = b->next[h])
        if (!add_twin(b, kernel, h))
            return false;
    return true;
}

static bool find_batches(batches *b)
{
    link_graph *const g = b->g;
    for (uint32_t h = 0; h < g->host->nodes.n; h++) {
        const uint64_t tid = g->host->nodes.at[h].tid;
        const uint32_t found = map64_find(&b->waiting, tid);
        uint32_t last = found == HASH_NONE || found == NOBODY ? LINK_NONE : found;
        if (is_message(g, h)) {
            b->next[h] = last;
            last = h;
        }
        const uint32_t kernel = b->kernel_of[h];
        if (kernel != LINK_NONE) {
            if (!take_batch(b, kernel, h, last))
                return false;
            last = LINK_NONE;
        }
        if (!map64_set(&b->waiting, tid, last == LINK_NONE ? NOBODY : last))
            return false;
    }
    return true;
}

/* Give the twins of a kernel the same edges as the kernel. */
static bool copy_edges(batches *b)
{
    link_graph *const g = b->g;
    const size_t n = g->edges.n;
    for (size_t i = 0; i < n; i++) {
        const link_edge e = g->edges.at[i];
        for (uint32_t t = e.from < b->n_first ? b->twin[e.from] : LINK_NONE;
             t != LINK_NONE; t = b->twins.at[t - b->n_first])
            if (!link_add_edge(g, t, e.to, NULL))
                return false;
        for (uint32_t t = e.to < b->n_first ? b->twin[e.to] : LINK_NONE; t != LINK_NONE;
             t = b->twins.at[t - b->n_first])
            if (!link_add_edge(g, e.from, t, NULL))
                return false;
    }
    return true;
}

static bool prepare(batches *b, bool *any)
{
    link_graph *const g = b->g;
    b->n_first = (uint32_t)g->nodes.n;
    b->kernel_of = mem_array(g->host->nodes.n, sizeof *b->kernel_of);
    b->next = mem_array(g->host->nodes.n, sizeof *b->next);
    b->twin = mem_array(g->nodes.n, sizeof *b->twin);
    if (!b->kernel_of || !b->next || !b->twin)
        return false;
    for (size_t i = 0; i < g->host->nodes.n; i++)
        b->kernel_of[i] = b->next[i] = LINK_NONE;
    for (uint32_t i = 0; i < b->n_first; i++) {
        b->twin[i] = LINK_NONE;
        if (g->nodes.at[i].kind != LINK_GPU || !is_send_recv(g, i))
            continue;
        b->kernel_of[g->nodes.at[i].parent] = i;
        *any = true;
    }
    return true;
}

halley_status link_batches(link_graph *g, halley_error *err)
{
    batches b = {.g = g};
    bool any = false;
    bool ok = prepare(&b, &any);
    if (ok && any)
        ok = find_batches(&b) && copy_edges(&b);
    free(b.kernel_of);
    free(b.next);
    free(b.twin);
    array_fini(&b.twins);
    map64_fini(&b.waiting);
    return ok ? HALLEY_OK : error_nomem(err);
}
