/*
 * astra/system.c - system.json: the collective library, the endpoint, the roofline.
 * Bandwidths and rates are decimal (GB/s = 1e9, TFLOPS = 1e12). Some keys have no default
 * in ASTRA-sim, so that uninitialised memory decides. These keys are required here.
 */
#include "astra/astra.h"
#include "base/number/number.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys that occur in ASTRA-sim's files and have no effect. */
static const char *const without_effect[] = {
    "boost-mode",
    "inter-dimension-scheduling",
    "intra-dimension-scheduling",
};
static const char *const with_effect[] = {
    "scheduling-policy",
    "endpoint-delay",
    "active-chunks-per-dimension",
    "preferred-dataset-splits",
    "collective-optimization",
    "local-mem-bw",
    "peak-perf",
    "roofline-enabled",
    "replay-only",
    "model-shared-bus",
    "L",
    "o",
    "g",
    "G",
    "local-reduction-delay",
    "track-local-mem",
    "trace-enabled",
    "local-mem-trace-filename",
    "per-node-custom-implementation",
};
static const char *const coll_keys[CLUSTER_N_COLLS] = {
    [CLUSTER_ALL_REDUCE] = "all-reduce-implementation",
    [CLUSTER_ALL_GATHER] = "all-gather-implementation",
    [CLUSTER_REDUCE_SCATTER] = "reduce-scatter-implementation",
    [CLUSTER_ALL_TO_ALL] = "all-to-all-implementation",
};

/* A choice missing in the file; ASTRA-sim then uses uninitialised memory. */
#define NOT_GIVEN UINT32_MAX

/* The state of reading one file. */
typedef struct reader {
    halley_cluster *c;
    const conf_file *file;
    halley_error *err;
} reader;

static bool among(str key, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(key, str_from(names[i])))
            return true;
    return false;
}

static bool is_coll_key(str key)
{
    if (str_ends(key, STR("-custom")))
        key.n -= strlen("-custom");
    return among(key, coll_keys, CLUSTER_N_COLLS);
}

/* ASTRA-sim 2 ignores how dimensions are scheduled. Version 1.0, whose files are not
 * JSON, did not ignore it. */
static void warn_about_scheduling(const reader *r, str key, const conf_node *value)
{
    if (value->line == 0 || !str_ends(key, STR("-dimension-scheduling")))
        return;
    cluster_warn(r->c,
                 "%s: %.*s %.*s has no effect: ASTRA-sim 2 does not read it, and so "
                 "chunks take the dimensions in order",
                 r->file->path, STR_ARG(key), STR_ARG(value->text));
}

static void warn_about_keys(const reader *r)
{
    const conf_node *map = r->file->root;
    for (uint32_t k = 0; k < map->n; k++) {
        const str key = map->keys[k];
        warn_about_scheduling(r, key, map->items[k]);
        if (among(key, without_effect, sizeof without_effect / sizeof *without_effect) ||
            among(key, with_effect, sizeof with_effect / sizeof *with_effect) ||
            is_coll_key(key))
            continue;
        cluster_warn(r->c, "%s: %.*s is not a key of system files; ignored",
                     r->file->path, STR_ARG(key));
    }
}

static bool is_word(const conf_node *node, str word)
{
    return node->kind == CONF_SCALAR && !node->quoted && str_eq(node->text, word);
}

static halley_status read_number_or_flag(double *out, const reader *r,
                                         const conf_node *node, const char *key)
{
    if (!is_word(node, STR("true")) && !is_word(node, STR("false")))
        return conf_to_double(out, r->file, node, key, r->err);
    *out = is_word(node, STR("true"));
    return HALLEY_OK;
}

/* Read an integer. A fraction in the file is truncated as in C++; true is 1, false is 0.
 * If the key is absent, *out does not change. */
static halley_status whole(int64_t *out, const reader *r, const char *key, int64_t min)
{
    const conf_node *node = conf_find(r->file->root, key);
    double value;
    if (node == NULL)
        return HALLEY_OK;
    TRY(read_number_or_flag(&value, r, node, key));
    if (!(value >= (double)min && value < 9e18))
        return conf_error(r->file, node, r->err, HALLEY_EINVAL,
                          "%s must be at least %lld, is %s", key, (long long)min,
                          number_digits(value, 6).at);
    *out = (int64_t)value;
    return HALLEY_OK;
}

static halley_status positive(double *out, const reader *r, const char *key, double unit)
{
    const conf_node *node = conf_find(r->file->root, key);
    double value;
    if (node == NULL)
        return HALLEY_OK;
    TRY(conf_to_double(&value, r->file, node, key, r->err));
    if (!(value > 0))
        return conf_error(r->file, node, r->err, HALLEY_EINVAL,
                          "%s must be positive, is %s", key, number_digits(value, 6).at);
    *out = value * unit;
    return HALLEY_OK;
}

/* A flag is on unless it is a number equal to 0, because ASTRA-sim compares this way.
 * "0", false and null are therefore on, too, with a warning. */
static void read_flag(bool *out, const reader *r, const char *key)
{
    const conf_node *node = conf_find(r->file->root, key);
    double value;
    if (node == NULL)
        return;
    const bool is_number =
        node->kind == CONF_SCALAR && !node->quoted && number_read(node->text, &value);
    *out = !is_number || value != 0;
    if (!is_number && !is_word(node, STR("true")))
        cluster_warn(r->c,
                     "%s: %s is on, since ASTRA-sim takes only the number 0 for off; "
                     "write 0 or 1",
                     r->file->path, key);
}

/* An int in ASTRA-sim: only 1 is on, with any fraction; true is 1. */
static halley_status read_bus_flag(bool *out, const reader *r)
{
    static const char key[] = "model-shared-bus";
    const conf_node *node = conf_find(r->file->root, key);
    double value = 0;
    *out = false;
    if (node == NULL)
        return HALLEY_OK;
    TRY(read_number_or_flag(&value, r, node, key));
    *out = value >= 1 && value < 2;
    if (value != 0 && value != 1)
        cluster_warn(r->c, "%s: %s is %s, since ASTRA-sim takes only 1 for on",
                     r->file->path, key, *out ? "on" : "off");
    return HALLEY_OK;
}

/* The window: the number after "direct", as in "direct8". */
static bool read_astra_window(uint32_t *out, str text)
{
    uint64_t window;
    *out = 0;
    if (text.n == 0)
        return true;
    if (!str_to_u64(text, &window) || window == 0 || window > CLUSTER_MAX_NPUS)
        return false;
    *out = (uint32_t)window;
    return true;
}

static bool read_impl(cluster_impl *out, str text)
{
    *out = (cluster_impl){0};
    if (str_starts(text, STR("one"))) {
        out->flat = true;
        text.at += 3;
        text.n -= 3;
    }
    const bool lower = !out->flat;
    const str direct = lower ? STR("direct") : STR("Direct");
    if (str_eq(text, lower ? STR("ring") : STR("Ring"))) {
        out->algo = CLUSTER_ALGO_RING;
        return true;
    }
    if (str_eq(text, lower ? STR("halvingDoubling") : STR("HalvingDoubling"))) {
        out->algo = CLUSTER_ALGO_HALVING_DOUBLING;
        return true;
    }
    if (lower && str_eq(text, STR("doubleBinaryTree"))) {
        out->algo = CLUSTER_ALGO_TREE;
        return true;
    }
    out->algo = CLUSTER_ALGO_DIRECT;
    return str_starts(text, direct) &&
           read_astra_window(&out->window, (str){text.at + direct.n, text.n - direct.n});
}

static halley_status read_coll(const reader *r, cluster_coll coll)
{
    cluster_coll_impl *to = &r->c->system.colls[coll];
    const conf_node *list = conf_find(r->file->root, coll_keys[coll]);
    if (list == NULL)
        return HALLEY_OK;
    if (list->kind == CONF_SCALAR && list->line > 0) /* 1.0's text, not JSON */
        list = astra_split_list(&r->c->memory, list);
    if (list == NULL)
        return error_nomem(r->err);
    if (list->kind != CONF_LIST || list->n == 0)
        return conf_error(r->file, list, r->err, HALLEY_EFORMAT,
                          "%s must be a list, one algorithm a dimension",
                          coll_keys[coll]);
    if (list->n > r->c->n_dims)
        return conf_error(r->file, list, r->err, HALLEY_EINVAL,
                          "%s names %u algorithms, the network has %u dimensions",
                          coll_keys[coll], list->n, r->c->n_dims);
    for (uint32_t i = 0; i < list->n; i++) {
        const conf_node *item = list->items[i];
        if (item->kind != CONF_SCALAR || !read_impl(&to->dims[i], item->text))
            return conf_error(
                r->file, item, r->err, HALLEY_EINVAL,
                "%s: \"%.*s\" is no algorithm; known are ring, direct, directN, "
                "halvingDoubling, doubleBinaryTree, oneRing, oneDirect, "
                "oneHalvingDoubling",
                coll_keys[coll], STR_ARG(item->text));
        if (i == 0 || !to->dims[to->n - 1].flat)
            to->n = i + 1;
    }
    to->n_listed = list->n;
    if (to->n < r->c->n_dims && !to->dims[to->n - 1].flat)
        cluster_warn(r->c,
                     "%s: %s names %u algorithms for %u dimensions; the collective stays "
                     "within the first %u",
                     r->file->path, coll_keys[coll], to->n, r->c->n_dims, to->n);
    return HALLEY_OK;
}

static halley_status read_astra_custom(const reader *r, cluster_coll coll)
{
    char key[64];
    snprintf(key, sizeof key, "%s-custom", coll_keys[coll]);
    const conf_node *list = conf_find(r->file->root, key);
    if (list == NULL)
        return HALLEY_OK;
    if (list->kind != CONF_LIST || list->n != 1 || list->items[0]->kind != CONF_SCALAR)
        return conf_error(r->file, list, r->err, HALLEY_EINVAL,
                          "%s must be a list of one trace prefix", key);
    char *prefix = arena_copy(&r->c->memory, list->items[0]->text);
    r->c->system.colls[coll].custom = prefix;
    return prefix == NULL ? error_nomem(r->err) : HALLEY_OK;
}

static halley_status read_per_node(const reader *r)
{
    const conf_node *node = conf_find(r->file->root, "per-node-custom-implementation");
    conf_file file;
    if (node == NULL)
        return HALLEY_OK;
    if (node->kind != CONF_SCALAR)
        return conf_error(r->file, node, r->err, HALLEY_EFORMAT,
                          "per-node-custom-implementation must be a path");
    const char *path = arena_copy(&r->c->memory, node->text);
    if (path == NULL)
        return error_nomem(r->err);
    TRY(conf_load(&file, path, r->err));
    const halley_status status = cluster_read_node_map(r->c, &file, file.root, r->err);
    conf_fini(&file);
    return status;
}

static halley_status read_choice(uint32_t *out, const reader *r, const char *key,
                                 const char *const *names, uint32_t n)
{
    const conf_node *node = conf_find(r->file->root, key);
    *out = NOT_GIVEN;
    if (node == NULL)
        return HALLEY_OK;
    for (uint32_t i = 0; i < n; i++) {
        if (node->kind == CONF_SCALAR && str_eq(node->text, str_from(names[i]))) {
            *out = i;
            return HALLEY_OK;
        }
    }
    strbuf all = {0};
    for (uint32_t i = 0; i < n; i++)
        strbuf_printf(&all, "%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", names[i]);
    const halley_status status =
        conf_error(r->file, node, r->err, HALLEY_EINVAL, "%s must be %s, is \"%.*s\"",
                   key, all.at == NULL ? "" : all.at, STR_ARG(node->text));
    strbuf_fini(&all);
    return status;
}

static halley_status read_astra_bus(const reader *r)
{
    cluster_bus *bus = &r->c->system.bus;
    int64_t L = 0, o = 0, g = 0;
    bus->reduction_delay = 1;
    TRY(read_bus_flag(&bus->on, r));
    TRY(whole(&L, r, "L", 0));
    TRY(whole(&o, r, "o", 0));
    TRY(whole(&g, r, "g", 0));
    TRY(whole(&bus->reduction_delay, r, "local-reduction-delay", 0));
    /* ASTRA-sim stores these four as floats. */
    const conf_node *G = conf_find(r->file->root, "G");
    if (G != NULL)
        TRY(conf_to_double(&bus->G_ns, r->file, G, "G", r->err));
    if (bus->G_ns < 0)
        return conf_error(r->file, G, r->err, HALLEY_EINVAL,
                          "G must not be negative, is %s",
                          number_digits(bus->G_ns, 6).at);
    bus->G_ns = (double)(float)bus->G_ns;
    bus->L_ns = (uint64_t)(float)L;
    bus->o_ns = (uint64_t)(float)o;
    bus->g_ns = (uint64_t)(float)g;
    return HALLEY_OK;
}

/* If the key is absent, *out does not change. */
static halley_status read_text(const char **out, const reader *r, const char *key)
{
    const conf_node *node = conf_find(r->file->root, key);
    if (node == NULL)
        return HALLEY_OK;
    if (node->kind != CONF_SCALAR || node->text.n == 0)
        return conf_error(r->file, node, r->err, HALLEY_EINVAL, "%s must be a path", key);
    *out = arena_copy(&r->c->memory, node->text);
    return *out == NULL ? error_nomem(r->err) : HALLEY_OK;
}

static halley_status read_counts(const reader *r, double injection_scale)
{
    cluster_system *s = &r->c->system;
    int64_t splits = 0, active = 1, delay = 10;
    const bool has_delay = conf_find(r->file->root, "endpoint-delay") != NULL;
    TRY(whole(&splits, r, "preferred-dataset-splits", 1));
    TRY(whole(&active, r, "active-chunks-per-dimension", 1));
    TRY(whole(&delay, r, "endpoint-delay", 0));
    s->splits = (uint64_t)splits;
    s->active_chunks = (uint64_t)active;
    /* ASTRA-sim scales only a delay that the file states, and truncates the result. */
    s->endpoint_ns =
        has_delay ? (uint64_t)((double)delay * injection_scale) : (uint64_t)delay;
    s->group_endpoint_ns = 10;
    return HALLEY_OK;
}

static halley_status read_compute(const reader *r)
{
    cluster_system *s = &r->c->system;
    TRY(positive(&s->mem_Bps, r, "local-mem-bw", 1000000000));
    TRY(positive(&s->peak_flops, r, "peak-perf", 1000000000000));
    read_flag(&s->roofline, r, "roofline-enabled");
    read_flag(&s->replay_only, r, "replay-only");
    read_flag(&s->track_memory, r, "track-local-mem");
    read_flag(&s->trace_nodes, r, "trace-enabled");
    TRY(read_text(&s->memory_trace, r, "local-mem-trace-filename"));
    if (s->mem_Bps == 0)
        cluster_warn(r->c, "%s: no local-mem-bw: reductions take no time", r->file->path);
    return HALLEY_OK;
}

static halley_status read_all(const reader *r, const halley_astra_files *files)
{
    static const char *const policies[] = {"LIFO", "FIFO", "EXPLICIT"};
    static const char *const optimizations[] = {"baseline", "localBWAware"};
    uint32_t policy = 0, optimization = 0;
    TRY(astra_map(r->file, r->err));
    warn_about_keys(r);
    TRY(read_choice(&policy, r, "scheduling-policy", policies, 3));
    TRY(read_choice(&optimization, r, "collective-optimization", optimizations, 2));
    r->c->system.hierarchical = optimization == 1;
    r->c->system.no_optimization = optimization == NOT_GIVEN;
    r->c->system.no_policy = policy == NOT_GIVEN;
    TRY(read_counts(r, files->injection_scale == 0 ? 1 : files->injection_scale));
    TRY(read_astra_bus(r));
    TRY(read_compute(r));
    for (uint32_t i = 0; i < CLUSTER_N_COLLS; i++) {
        TRY(read_coll(r, (cluster_coll)i));
        TRY(read_astra_custom(r, (cluster_coll)i));
    }
    return read_per_node(r);
}

halley_status astra_system_from(halley_cluster *c, const conf_file *file,
                                const halley_astra_files *files, halley_error *err)
{
    c->system.queues = files->queues_per_dim == 0 ? 1 : files->queues_per_dim;
    c->system.rendezvous = files->rendezvous;
    return read_all(&(reader){c, file, err}, files);
}

halley_status astra_read_system(halley_cluster *c, const halley_astra_files *files,
                                halley_error *err)
{
    conf_file file;
    TRY(cluster_load_lax(&file, c, files->system, err));
    const halley_status status = astra_system_from(c, &file, files, err);
    conf_fini(&file);
    return status;
}
