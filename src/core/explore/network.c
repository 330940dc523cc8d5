/* explore/network.c - the networks of a study, built on demand and cached. */
#include "explore/network.h"

#include "base/array.h"
#include "base/hash.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* One network, or why it cannot be built. */
typedef struct known_network {
    const halley_cluster *origin;
    uint32_t n_npus;
    hw_edit edits[EXPLORE_MAX_EDITS]; /* texts of the study */
    uint32_t n_edits;
    halley_cluster *cluster; /* NULL: refused */
    halley_error err;
    halley_status status;
} known_network;

struct explore_networks {
    pthread_mutex_t lock;
    map64 by_key;
    ARRAY(known_network *) list;
};

explore_networks *explore_networks_new(void)
{
    explore_networks *n = mem_array_zero(1, sizeof *n);
    if (n != NULL)
        pthread_mutex_init(&n->lock, NULL);
    return n;
}

void explore_networks_free(explore_networks *n)
{
    if (n == NULL)
        return;
    for (size_t i = 0; i < n->list.n; i++) {
        halley_cluster_free(n->list.at[i]->cluster);
        free(n->list.at[i]);
    }
    array_fini(&n->list);
    map64_fini(&n->by_key);
    pthread_mutex_destroy(&n->lock);
    free(n);
}

bool explore_network_follows(const explore_design *d, uint32_t n_npus)
{
    return d->n_edits > 0 ||
           (d->cluster.network == HW_NETWORK_GRAPH && n_npus != d->cluster.n_npus);
}

static uint64_t hash_design_network(const explore_design *d, uint32_t n_npus)
{
    uint64_t key = hash_u64((uint64_t)(uintptr_t)d->cluster.origin ^ hash_u64(n_npus));
    for (uint32_t i = 0; i < d->n_edits; i++) {
        key = hash_bytes(d->edits[i].path, strlen(d->edits[i].path), key);
        key = hash_bytes(d->edits[i].text, strlen(d->edits[i].text), key);
    }
    return key;
}

static bool is_network_of(const known_network *k, const explore_design *d,
                          uint32_t n_npus)
{
    if (k->origin != d->cluster.origin || k->n_npus != n_npus || k->n_edits != d->n_edits)
        return false;
    for (uint32_t i = 0; i < d->n_edits; i++)
        if (strcmp(k->edits[i].path, d->edits[i].path) != 0 ||
            strcmp(k->edits[i].text, d->edits[i].text) != 0)
            return false;
    return true;
}

static known_network *make_network(const explore_design *d, uint32_t n_npus)
{
    known_network *k = mem_array_zero(1, sizeof *k);
    if (k == NULL)
        return NULL;
    k->origin = d->cluster.origin;
    k->n_npus = n_npus;
    k->n_edits = d->n_edits;
    memcpy(k->edits, d->edits, d->n_edits * sizeof *d->edits);
    k->status = hw_cluster_vary(&k->cluster, d->cluster.origin, d->edits, d->n_edits,
                                n_npus, &k->err);
    if (k->status == HALLEY_OK)
        return k;
    k->cluster = NULL;
    return k;
}

/* NULL: no memory. */
static const known_network *get_network(explore_networks *n, const explore_design *d,
                                        uint32_t n_npus)
{
    uint64_t key = hash_design_network(d, n_npus);
    for (;;) {
        const uint32_t id = map64_find(&n->by_key, key);
        if (id == HASH_NONE)
            break;
        if (is_network_of(n->list.at[id], d, n_npus))
            return n->list.at[id];
        key = hash_u64(key + 1); /* the key is used by another network */
    }
    known_network *k = make_network(d, n_npus);
    if (k == NULL)
        return NULL;
    if (!array_push(&n->list, k)) {
        halley_cluster_free(k->cluster);
        free(k);
        return NULL;
    }
    return map64_set(&n->by_key, key, (uint32_t)n->list.n - 1) ? k : NULL;
}

/* Copy what belongs to the network; the design keeps its devices, cost and failures. */
static void take_network(halley_cluster *to, const halley_cluster *from)
{
    to->network = from->network;
    to->routing = from->routing;
    to->wiring = from->wiring;
    to->graph_text = from->graph_text;
    to->graph_joins_nodes = from->graph_joins_nodes;
    to->graph_fabric = from->graph_fabric;
    to->counted = from->counted;
    to->n_npus = from->n_npus;
    to->nodes.nics = from->nodes.nics;
    to->nodes.nics_per_npu = from->nodes.nics_per_npu;
    to->narrowest = from->narrowest;
    to->n_outer = from->n_outer;
    memcpy(to->outer, from->outer, sizeof to->outer);
    if (from->network == HW_NETWORK_GRAPH && !from->graph_joins_nodes)
        to->nodes = from->nodes; /* made from the graph */
}

halley_status explore_network_set(explore_design *d, explore_networks *n, uint32_t n_npus,
                                  halley_error *err)
{
    pthread_mutex_lock(&n->lock);
    const known_network *k = get_network(n, d, n_npus);
    pthread_mutex_unlock(&n->lock);
    if (k == NULL)
        return error_nomem(err);
    if (k->status != HALLEY_OK) {
        if (err != NULL)
            *err = k->err;
        return k->status;
    }
    take_network(&d->cluster, k->cluster);
    return HALLEY_OK;
}
