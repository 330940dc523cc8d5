/* hw/cluster.c - makes, queries and frees a cluster. */
#include "hw/cluster.h"

#include "base/str.h"
#include "hw/cost.h"
#include "hw/levels.h"
#include "hw/npu.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *const cluster_topology_names[CLUSTER_N_TOPOLOGIES + 1] = {
    [CLUSTER_RING] = "Ring",
    [CLUSTER_FULLY_CONNECTED] = "FullyConnected",
    [CLUSTER_SWITCH] = "Switch",
};

const char *const cluster_coll_names[CLUSTER_N_COLLS] = {
    [CLUSTER_ALL_REDUCE] = "all-reduce",
    [CLUSTER_ALL_GATHER] = "all-gather",
    [CLUSTER_REDUCE_SCATTER] = "reduce-scatter",
    [CLUSTER_ALL_TO_ALL] = "all-to-all",
};

static const char *const algo_names[CLUSTER_N_ALGOS] = {
    [CLUSTER_ALGO_RING] = "ring",
    [CLUSTER_ALGO_DIRECT] = "direct",
    [CLUSTER_ALGO_HALVING_DOUBLING] = "halving-doubling",
    [CLUSTER_ALGO_TREE] = "double-binary-tree",
    [CLUSTER_ALGO_IN_SWITCH] = "in-switch",
    [CLUSTER_ALGO_ROOTED] = "rooted",
    [CLUSTER_ALGO_CUSTOM] = "custom",
    [CLUSTER_ALGO_BUNDLE] = "bundle",
};

halley_cluster *cluster_new(void)
{
    halley_cluster *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->origin = c;
    c->name = "";
    c->host_factor = 1;
    c->cost = hw_cost_default;
    c->failures = hw_failures_default;
    hw_npu_make(&c->npu, 0, 0);
    for (uint32_t i = 0; i < HW_MAX_OUTER; i++)
        c->outer[i].name = "";
    for (uint32_t d = 0; d < CLUSTER_MAX_DIMS; d++)
        c->dims[d].name = "";
    return c;
}

halley_cluster *hw_cluster_copy(const halley_cluster *c)
{
    halley_cluster *copy = malloc(sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *c;
    copy->memory = (arena){0};
    copy->groups = NULL;
    copy->n_groups = 0;
    copy->system.slow = copy->system.late_s = NULL;
    copy->warnings.at = copy->notes.at = NULL;
    copy->warnings.n = copy->warnings.cap = copy->notes.n = copy->notes.cap = 0;
    hw_dims_follow(copy);
    return copy;
}

halley_status halley_cluster_recorded(halley_cluster **out, uint32_t n_npus,
                                      halley_error *err)
{
    if (n_npus == 0 || n_npus > CLUSTER_MAX_NPUS)
        return error_set(err, HALLEY_EINVAL, "%u NPUs; want 1 to %d", n_npus,
                         CLUSTER_MAX_NPUS);
    halley_cluster *c = cluster_new();
    if (c == NULL)
        return error_nomem(err);
    c->name = "as recorded";
    c->n_npus = n_npus;
    c->n_dims = 1;
    /* Nothing is sent, but there must be a network. */
    c->dims[0] = (cluster_dim){
        .topology = CLUSTER_SWITCH, .name = "", .n = n_npus, .bw_Bps = 1e12};
    c->system = (cluster_system){.splits = 1,
                                 .active_chunks = 1,
                                 .queues = 1,
                                 .hierarchical = true,
                                 .replay_only = true};
    for (uint32_t i = 0; i < CLUSTER_N_COLLS; i++)
        c->system.colls[i].n = 1;
    hw_levels_from_dims(c);
    *out = c;
    return HALLEY_OK;
}

bool cluster_impl_parse(cluster_impl *out, str text)
{
    *out = (cluster_impl){0};
    if (str_starts(text, STR("flat-"))) {
        out->flat = true;
        text = (str){text.at + 5, text.n - 5};
    }
    for (uint32_t i = 0; i < CLUSTER_ALGO_IN_SWITCH; i++) {
        if (str_eq(text, str_from(algo_names[i]))) {
            out->algo = (cluster_algo)i;
            return !(out->flat && i == CLUSTER_ALGO_TREE);
        }
    }
    uint64_t window;
    if (!str_starts(text, STR("direct-")) ||
        !str_to_u64((str){text.at + 7, text.n - 7}, &window) || window == 0 ||
        window > CLUSTER_MAX_NPUS)
        return false;
    out->algo = CLUSTER_ALGO_DIRECT;
    out->window = (uint32_t)window;
    return true;
}

void cluster_impl_print(strbuf *to, const cluster_impl *impl)
{
    strbuf_printf(to, "%s%s", impl->flat ? "flat-" : "", algo_names[impl->algo]);
    if (impl->window != 0)
        strbuf_printf(to, "-%u", impl->window);
}

void halley_cluster_free(halley_cluster *cluster)
{
    if (cluster == NULL)
        return;
    array_fini(&cluster->warnings);
    array_fini(&cluster->notes);
    arena_fini(&cluster->memory);
    free(cluster);
}

/* Keep a sentence as long as the cluster lives; NULL if memory ran out. */
static const char *keep_sentence(halley_cluster *c, const char *format, va_list args)
{
    char text[512];
    vsnprintf(text, sizeof text, format, args);
    return arena_copy(&c->memory, str_from(text));
}

void cluster_warn(halley_cluster *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *kept = keep_sentence(c, format, args);
    va_end(args);
    if (kept != NULL)
        (void)array_push(&c->warnings, kept);
}

void hw_note(halley_cluster *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *kept = keep_sentence(c, format, args);
    va_end(args);
    if (kept != NULL)
        (void)array_push(&c->notes, kept);
}

uint32_t cluster_find_group(const halley_cluster *c, int64_t id)
{
    uint32_t lo = 0, hi = c->n_groups;
    while (lo < hi) {
        const uint32_t middle = lo + (hi - lo) / 2;
        if (c->groups[middle].id < id)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < c->n_groups && c->groups[lo].id == id ? lo : UINT32_MAX;
}

const char *halley_cluster_name(const halley_cluster *cluster)
{
    return cluster->name[0] != '\0' ? cluster->name : "cluster";
}

uint32_t halley_cluster_npus_per_node(const halley_cluster *cluster)
{
    return cluster->nodes.npus;
}

uint32_t halley_cluster_npus(const halley_cluster *cluster)
{
    return cluster->n_npus;
}

uint32_t halley_cluster_dims(const halley_cluster *cluster)
{
    return cluster->n_dims;
}

uint32_t halley_cluster_warning_count(const halley_cluster *cluster)
{
    return (uint32_t)cluster->warnings.n;
}

const char *halley_cluster_warning(const halley_cluster *cluster, uint32_t i)
{
    return cluster->warnings.at[i];
}

uint32_t halley_cluster_note_count(const halley_cluster *cluster)
{
    return (uint32_t)cluster->notes.n;
}

const char *halley_cluster_note(const halley_cluster *cluster, uint32_t i)
{
    return cluster->notes.at[i];
}

halley_status halley_cluster_set_compute(halley_cluster *cluster, halley_compute compute,
                                         halley_error *err)
{
    static const char *const names[] = {"duration", "roofline", "cost"};
    cluster_system *s = &cluster->system;
    const bool known = s->peak_flops > 0 && s->mem_Bps > 0;
    if (compute == HALLEY_COMPUTE_COST && cluster->astra)
        return error_set(err, HALLEY_EINVAL, "compute: cost is for native rules");
    if (compute != HALLEY_COMPUTE_DURATION && !known)
        return error_set(err, HALLEY_EINVAL,
                         "compute: %s needs the NPU's peak and memory", names[compute]);
    s->roofline = compute == HALLEY_COMPUTE_ROOFLINE;
    s->modelled = compute == HALLEY_COMPUTE_COST;
    return HALLEY_OK;
}

halley_network_model halley_cluster_network_model(const halley_cluster *cluster)
{
    return (halley_network_model)((uint32_t)cluster->model + HALLEY_NETWORK_FREE);
}

halley_status halley_cluster_set_network_model(halley_cluster *cluster,
                                               halley_network_model model,
                                               halley_error *err)
{
    if (model < HALLEY_NETWORK_FREE || model > HALLEY_NETWORK_FLOW)
        return error_set(err, HALLEY_EINVAL, "%u is not a network model",
                         (unsigned)model);
    if (model == HALLEY_NETWORK_FLOW && cluster->astra)
        return error_set(err, HALLEY_EINVAL,
                         "network-model: flow needs rules: native; ASTRA-sim's rules "
                         "have unaware and aware");
    cluster->model = (hw_network_model)((uint32_t)model - HALLEY_NETWORK_FREE);
    return HALLEY_OK;
}

bool halley_cluster_has_groups(const halley_cluster *cluster)
{
    return cluster->n_groups > 0;
}
