/*
 * astra/network.c - network.yml: four lists of equal length, the innermost dimension
 * first. Bandwidth is in GiB/s, although files may label it otherwise (ASTRA-sim
 * multiplies by 2^30). Latency is in ns.
 */
#include "astra/astra.h"
#include "base/number/number.h"

static const char *const keys[] = {"topology", "npus_count", "bandwidth", "latency"};
enum { N_KEYS = sizeof keys / sizeof *keys };

/* Refuse files of other network simulators, which are texts without keys. */
static halley_status refuse_text(const conf_file *file, halley_error *err)
{
    const str text = file->root->kind == CONF_SCALAR ? file->root->text : (str){"", 0};
    if (str_contains(text, STR("TOPOLOGY_FILE")) || str_contains(text, STR("ENABLE_QCN")))
        return conf_error(
            file, NULL, err, HALLEY_EFORMAT,
            "this is an ns-3 configuration; halley help topology says how a "
            "network is described");
    if (text.n > 0 && text.at[0] >= '0' && text.at[0] <= '9')
        return conf_error(file, NULL, err, HALLEY_EFORMAT,
                          "this is a topology file: name it in a cluster file (network: "
                          "{file: %s}) or run halley topology show %s",
                          file->path, file->path);
    return conf_error(file, file->root, err, HALLEY_EFORMAT,
                      "expected a map of keys at the top");
}

halley_status astra_map(const conf_file *file, halley_error *err)
{
    return file->root->kind == CONF_MAP ? HALLEY_OK : refuse_text(file, err);
}

halley_status astra_read_topology(cluster_dim *dim, const conf_file *file,
                                  const conf_node *node, halley_error *err)
{
    for (uint32_t i = 0; i < CLUSTER_N_TOPOLOGIES; i++) {
        if (node->kind == CONF_SCALAR &&
            str_eq(node->text, str_from(cluster_topology_names[i]))) {
            dim->topology = (cluster_topology)i;
            return HALLEY_OK;
        }
    }
    return conf_error(file, node, err, HALLEY_EINVAL,
                      "topology must be Ring, FullyConnected or Switch, is \"%.*s\"",
                      STR_ARG(node->text));
}

static halley_status read_astra_dim(cluster_dim *dim, const conf_file *file,
                                    const conf_node *const *lists, uint32_t d,
                                    halley_error *err)
{
    int64_t n;
    double gib;
    TRY(astra_read_topology(dim, file, lists[0]->items[d], err));
    TRY(conf_to_i64(&n, file, lists[1]->items[d], "npus_count", err));
    TRY(conf_to_double(&gib, file, lists[2]->items[d], "bandwidth", err));
    TRY(conf_to_double(&dim->latency_ns, file, lists[3]->items[d], "latency", err));
    if (n < 2 || n > CLUSTER_MAX_NPUS)
        return conf_error(file, lists[1]->items[d], err, HALLEY_EINVAL,
                          "npus_count must be from 2 to %d, is %lld", CLUSTER_MAX_NPUS,
                          (long long)n);
    if (gib <= 0)
        return conf_error(file, lists[2]->items[d], err, HALLEY_EINVAL,
                          "bandwidth must be positive, is %s", number_digits(gib, 6).at);
    if (dim->latency_ns < 0)
        return conf_error(file, lists[3]->items[d], err, HALLEY_EINVAL,
                          "latency must not be negative, is %s",
                          number_digits(dim->latency_ns, 6).at);
    dim->n = (uint32_t)n;
    dim->bw_Bps = gib * 1073741824.0;
    return HALLEY_OK;
}

/* "topology: Switch", as in the first congestion-aware files, becomes a list of one. */
static const conf_node *wrap_scalar(arena *memory, const conf_node *scalar)
{
    conf_node *const list = arena_array(memory, 1, sizeof *list);
    conf_node **const items = arena_array(memory, 1, sizeof *items);
    if (list == NULL || items == NULL)
        return NULL;
    items[0] = arena_array(memory, 1, sizeof **items);
    if (items[0] == NULL)
        return NULL;
    *items[0] = *scalar;
    *list = (conf_node){.kind = CONF_LIST,
                        .line = scalar->line,
                        .column = scalar->column,
                        .n = 1,
                        .items = items};
    return list;
}

static halley_status find_lists(const conf_node **lists, halley_cluster *c,
                                const conf_file *file, halley_error *err)
{
    const conf_node *map = file->root;
    for (int i = 0; i < N_KEYS; i++) {
        lists[i] = conf_find(map, keys[i]);
        if (lists[i] == NULL)
            return conf_error(file, map, err, HALLEY_EINVAL, "%s is missing", keys[i]);
        if (lists[i]->kind == CONF_SCALAR && i == 0)
            lists[i] = wrap_scalar(&c->memory, lists[i]);
        if (lists[i] == NULL)
            return error_nomem(err);
        if (lists[i]->kind != CONF_LIST)
            return conf_error(file, lists[i], err, HALLEY_EFORMAT,
                              "%s must be a list, one value a dimension", keys[i]);
        if (lists[i]->n != lists[0]->n)
            return conf_error(file, lists[i], err, HALLEY_EINVAL,
                              "%s has %u values, topology has %u", keys[i], lists[i]->n,
                              lists[0]->n);
    }
    for (uint32_t k = 0; k < map->n; k++) {
        bool known = false;
        for (int i = 0; i < N_KEYS; i++)
            known = known || str_eq(map->keys[k], str_from(keys[i]));
        if (!known)
            cluster_warn(c, "%s: %.*s is not a key of network files; ignored", file->path,
                         STR_ARG(map->keys[k]));
    }
    if (lists[0]->n < 1 || lists[0]->n > CLUSTER_MAX_DIMS)
        return conf_error(file, lists[0], err, HALLEY_EINVAL,
                          "a network has 1 to %d dimensions, this has %u",
                          CLUSTER_MAX_DIMS, lists[0]->n);
    return HALLEY_OK;
}

halley_status astra_count_npus(halley_cluster *c, const conf_file *file,
                               halley_error *err)
{
    uint64_t total = 1;
    for (uint32_t d = 0; d < c->n_dims; d++) {
        total *= c->dims[d].n;
        if (total > CLUSTER_MAX_NPUS)
            return conf_error(file, file->root, err, HALLEY_ELIMIT,
                              "more than %d NPUs are not handled", CLUSTER_MAX_NPUS);
    }
    c->n_npus = (uint32_t)total;
    return HALLEY_OK;
}

halley_status astra_network_from(halley_cluster *c, const conf_file *file,
                                 halley_error *err)
{
    const conf_node *lists[N_KEYS];
    TRY(astra_map(file, err));
    if (conf_find(file->root, "topologies-per-dim") != NULL)
        return astra_network_from_first(c, file, err);
    TRY(find_lists(lists, c, file, err));
    c->n_dims = lists[0]->n;
    for (uint32_t d = 0; d < c->n_dims; d++)
        TRY(read_astra_dim(&c->dims[d], file, lists, d, err));
    return astra_count_npus(c, file, err);
}

/* Numbers may be quoted in network.yml: ASTRA-sim's reader ignores quotes. */
static void unquote_lists(conf_node *map)
{
    for (uint32_t i = 0; map->kind == CONF_MAP && i < map->n; i++)
        for (uint32_t k = 0; map->items[i]->kind == CONF_LIST && k < map->items[i]->n;
             k++)
            map->items[i]->items[k]->quoted = false;
}

halley_status astra_read_network(halley_cluster *c, const char *path, halley_error *err)
{
    conf_file file;
    TRY(cluster_load_lax(&file, c, path, err));
    unquote_lists(file.root);
    const halley_status status = astra_network_from(c, &file, err);
    conf_fini(&file);
    return status;
}
