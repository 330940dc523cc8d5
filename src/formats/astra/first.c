/*
 * astra/first.c - files of ASTRA-sim 1.0, as in its tutorials.
 *
 * The network JSON has the keys topologies-per-dim, units-count, links-count,
 * link-latency (ns) and link-bandwidth (GB/s = 1e9, of one link). Its analytical back end
 * gives a message all links of a dimension. In a ring (with an even number of links) and
 * at a switch, this is links × bandwidth. If fully connected, it is links / (n - 1) ×
 * bandwidth, rounded down. A message takes hops × link-latency + size / bandwidth + 2 ×
 * nic-latency, and at a switch also router-latency. If this equals more latency per hop,
 * it is added there.
 *
 * The system text has one "key: value" per line, with algorithms as ring_direct_ring.
 */
#include "astra/astra.h"
#include "base/number/number.h"

#include <math.h>

static const char *const first_keys[] = {"topologies-per-dim", "units-count",
                                         "links-count", "link-latency", "link-bandwidth"};
enum { N_FIRST_KEYS = sizeof first_keys / sizeof *first_keys };
/* Costs of a message that default to 0. */
static const char *const cost_keys[] = {"nic-latency", "router-latency", "hbm-scale"};
enum { NIC, ROUTER, HBM, N_COST_KEYS };
/* Keys that do not affect the network, given the others. */
static const char *const other_keys[] = {"topology-name", "dimension-type",
                                         "dimensions-count", "hbm-latency",
                                         "hbm-bandwidth"};

const conf_node *astra_split_list(arena *memory, const conf_node *scalar)
{
    conf_node *const list = arena_array(memory, 1, sizeof *list);
    str rest = scalar->text, word;
    uint32_t n = 1;
    for (size_t i = 0; i < rest.n; i++)
        n += rest.at[i] == '_';
    conf_node **const items = arena_array(memory, n, sizeof *items);
    conf_node *const nodes = arena_array(memory, n, sizeof *nodes);
    if (list == NULL || items == NULL || nodes == NULL)
        return NULL;
    *list = *scalar;
    list->kind = CONF_LIST;
    list->items = items;
    list->n = 0;
    while (list->n < n && str_next(&rest, '_', &word)) {
        nodes[list->n] = *scalar;
        nodes[list->n].text = word;
        items[list->n] = &nodes[list->n];
        list->n++;
    }
    return list;
}

static halley_status find_first_lists(const conf_node **lists, const conf_file *file,
                                      halley_error *err)
{
    for (int i = 0; i < N_FIRST_KEYS; i++) {
        lists[i] = conf_find(file->root, first_keys[i]);
        if (lists[i] == NULL)
            return conf_error(file, file->root, err, HALLEY_EINVAL, "%s is missing",
                              first_keys[i]);
        if (lists[i]->kind != CONF_LIST)
            return conf_error(file, lists[i], err, HALLEY_EFORMAT,
                              "%s must be a list, one value a dimension", first_keys[i]);
        if (lists[i]->n != lists[0]->n)
            return conf_error(file, lists[i], err, HALLEY_EINVAL,
                              "%s has %u values, %s has %u", first_keys[i], lists[i]->n,
                              first_keys[0], lists[0]->n);
    }
    if (lists[0]->n < 1 || lists[0]->n > CLUSTER_MAX_DIMS)
        return conf_error(file, lists[0], err, HALLEY_EINVAL,
                          "a network has 1 to %d dimensions, this has %u",
                          CLUSTER_MAX_DIMS, lists[0]->n);
    return HALLEY_OK;
}

static void warn_about_first_keys(halley_cluster *c, const conf_file *file)
{
    const conf_node *map = file->root;
    for (uint32_t k = 0; k < map->n; k++) {
        bool known = false;
        for (int i = 0; i < N_FIRST_KEYS; i++)
            known |= str_eq(map->keys[k], str_from(first_keys[i])) ||
                     str_eq(map->keys[k], str_from(other_keys[i]));
        for (int i = 0; i < N_COST_KEYS; i++)
            known |= str_eq(map->keys[k], str_from(cost_keys[i]));
        if (!known)
            cluster_warn(c, "%s: %.*s is not a key of network files; ignored", file->path,
                         STR_ARG(map->keys[k]));
    }
}

/* An optional value; 0 if absent. */
static halley_status read_cost(double *out, const conf_file *file, int key, uint32_t d,
                               halley_error *err)
{
    const conf_node *list = conf_find(file->root, cost_keys[key]);
    *out = 0;
    if (list == NULL)
        return HALLEY_OK;
    if (list->kind != CONF_LIST || d >= list->n)
        return conf_error(file, list, err, HALLEY_EINVAL,
                          "%s must be a list, one value a dimension", cost_keys[key]);
    return conf_to_double(out, file, list->items[d], cost_keys[key], err);
}

/* The number of link bandwidths that a message gets. */
static double count_used_links(const cluster_dim *dim, int64_t links)
{
    if (dim->topology == CLUSTER_RING)
        return (double)(links - links % 2);
    if (dim->topology == CLUSTER_SWITCH)
        return (double)links;
    return floor((double)links / (dim->n - 1));
}

static halley_status add_message_costs(cluster_dim *dim, halley_cluster *c,
                                       const conf_file *file, uint32_t d,
                                       halley_error *err)
{
    double cost[N_COST_KEYS];
    for (int i = 0; i < N_COST_KEYS; i++)
        TRY(read_cost(&cost[i], file, i, d, err));
    if (cost[HBM] != 0)
        return conf_error(file, file->root, err, HALLEY_EINVAL,
                          "hbm-scale of dimension %u is %s: memories that bound messages "
                          "are not simulated; set it to 0",
                          d, number_digits(cost[HBM], 6).at);
    if (dim->topology == CLUSTER_SWITCH)
        dim->latency_ns += cost[NIC] + cost[ROUTER] / 2;
    else
        dim->latency_ns += 2 * cost[NIC];
    if (dim->topology == CLUSTER_RING && cost[NIC] != 0)
        cluster_warn(
            c,
            "%s: nic-latency in a ring counts at every hop; ASTRA-sim 1.0 counts "
            "it once, which differs for messages between NPUs that are not "
            "neighbours",
            file->path);
    return HALLEY_OK;
}

static halley_status read_first_dim(cluster_dim *dim, halley_cluster *c,
                                    const conf_file *file, const conf_node *const *lists,
                                    uint32_t d, halley_error *err)
{
    int64_t n, links;
    double Bpns;
    TRY(astra_read_topology(dim, file, lists[0]->items[d], err));
    TRY(conf_to_i64(&n, file, lists[1]->items[d], first_keys[1], err));
    TRY(conf_to_i64(&links, file, lists[2]->items[d], first_keys[2], err));
    TRY(conf_to_double(&dim->latency_ns, file, lists[3]->items[d], first_keys[3], err));
    TRY(conf_to_double(&Bpns, file, lists[4]->items[d], first_keys[4], err));
    if (n < 2 || n > CLUSTER_MAX_NPUS)
        return conf_error(file, lists[1]->items[d], err, HALLEY_EINVAL,
                          "units-count must be from 2 to %d, is %lld", CLUSTER_MAX_NPUS,
                          (long long)n);
    dim->n = (uint32_t)n;
    const double used = count_used_links(dim, links);
    if (!(Bpns * used > 0) || !(dim->latency_ns >= 0))
        return conf_error(
            file, lists[2]->items[d], err, HALLEY_EINVAL,
            "dimension %u has %lld links of %s GB/s and a latency of %s ns, "
            "which give a message no bandwidth or a negative latency",
            d, (long long)links, number_digits(Bpns, 6).at,
            number_digits(dim->latency_ns, 6).at);
    dim->bw_Bps = Bpns * used * 1e9;
    return add_message_costs(dim, c, file, d, err);
}

halley_status astra_network_from_first(halley_cluster *c, const conf_file *file,
                                       halley_error *err)
{
    const conf_node *lists[N_FIRST_KEYS];
    TRY(find_first_lists(lists, file, err));
    warn_about_first_keys(c, file);
    c->n_dims = lists[0]->n;
    for (uint32_t d = 0; d < c->n_dims; d++)
        TRY(read_first_dim(&c->dims[d], c, file, lists, d, err));
    cluster_warn(c,
                 "%s is of ASTRA-sim 1.0; its files are read, and simulated as version 2 "
                 "would, whose cycles are not those of 1.0",
                 file->path);
    return astra_count_npus(c, file, err);
}
