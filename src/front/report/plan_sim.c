/*
 * Where the time of a simulated plan goes, by a sweep over the nodes of one rank. At any
 * time the rank computes, or something is exposed. Then the first of the kinds below that
 * is in progress counts. A receive is a wait for another stage.
 */
#include "report/plan_sim.h"

#include "base/array.h"
#include "base/error.h"
#include "base/str.h"

#include <assert.h>
#include <string.h>

static const char *const keys[REPORT_PLAN_N_PARTS] = {
    "compute",       "tensor_parallel", "context_parallel",   "expert_parallel",
    "data_parallel", "offload",         "pipeline_transfers", "bubble"};
static const char *const titles[REPORT_PLAN_N_PARTS] = {
    "compute",       "tensor parallel", "context parallel",   "expert parallel",
    "data parallel", "offload",         "pipeline transfers", "pipeline bubble"};

const char *report_plan_part_key(report_plan_part part)
{
    assert(part < REPORT_PLAN_N_PARTS);
    return keys[part];
}

const char *report_plan_part_title(report_plan_part part)
{
    assert(part < REPORT_PLAN_N_PARTS);
    return titles[part];
}

double report_plan_finish(const halley_result *result)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < halley_result_ranks(result); i++) {
        const uint64_t at = halley_result_rank(result, i).finish;
        last = at > last ? at : last;
    }
    return (double)last / halley_result_ticks_per_s(result);
}

/* The part to which a group's messages belong, by the name of its rule. */
static report_plan_part find_group_part(str name)
{
    if (str_eq(name, STR("tp")))
        return REPORT_PLAN_TP;
    if (str_eq(name, STR("cp")))
        return REPORT_PLAN_CP;
    if (str_eq(name, STR("ep")) || str_eq(name, STR("etp")))
        return REPORT_PLAN_EP;
    return REPORT_PLAN_DP;
}

static report_plan_part find_part(const halley_trace *t, uint32_t node)
{
    halley_attr a = {0};
    switch (halley_node_type_of(t, node)) {
    case HALLEY_NODE_COMP: /* a compute node without a lane is the rest of a receive */
        return halley_node_find_attr(&a, t, node, HALLEY_ATTR_NAME_FREE_LANE) &&
                       a.bits != 0
                   ? REPORT_PLAN_BUBBLE
                   : REPORT_PLAN_COMPUTE;
    case HALLEY_NODE_MEM_LOAD:
    case HALLEY_NODE_MEM_STORE:
        return REPORT_PLAN_OFFLOAD;
    case HALLEY_NODE_SEND:
        return REPORT_PLAN_PP;
    case HALLEY_NODE_COLL:
        if (halley_node_find_attr(&a, t, node, HALLEY_ATTR_NAME_PG_NAME))
            return find_group_part((str){a.bytes.at, a.bytes.n});
        return REPORT_PLAN_DP;
    default:
        return REPORT_PLAN_BUBBLE;
    }
}

/* A node begins or ends. */
typedef struct edge {
    uint64_t at;
    uint32_t part;
    int32_t change;
} edge;
typedef ARRAY(edge) edge_list;

static int compare_edges(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static bool collect_edges(edge_list *to, const halley_result *result,
                          const halley_trace *role, uint32_t rank)
{
    for (uint32_t node = 0; node < halley_trace_count(role); node++) {
        const halley_node_times t = halley_result_node(result, rank, node);
        const report_plan_part part = find_part(role, node);
        if (!t.ran || t.end <= t.begin || part == REPORT_PLAN_BUBBLE)
            continue;
        if (!array_push(to, (edge){t.begin, part, 1}) ||
            !array_push(to, (edge){t.end, part, -1}))
            return false;
    }
    if (to->n > 1)
        qsort(to->at, to->n, sizeof *to->at, compare_edges);
    return true;
}

static report_plan_part find_active(const int32_t active[REPORT_PLAN_N_PARTS])
{
    int part = REPORT_PLAN_COMPUTE;
    while (part < REPORT_PLAN_BUBBLE && active[part] == 0)
        part++;
    return (report_plan_part)part;
}

halley_status report_plan_parts(double parts[REPORT_PLAN_N_PARTS],
                                const halley_result *result, const halley_template *roles,
                                uint32_t rank, halley_error *err)
{
    const double per_s = halley_result_ticks_per_s(result);
    const halley_trace *role =
        halley_template_trace(roles, halley_template_role_of(roles, rank));
    int32_t active[REPORT_PLAN_N_PARTS] = {0};
    edge_list edges = {0};
    uint64_t now = 0;
    memset(parts, 0, REPORT_PLAN_N_PARTS * sizeof *parts);
    if (!collect_edges(&edges, result, role, rank)) {
        array_fini(&edges);
        return error_nomem(err);
    }
    for (size_t i = 0; i < edges.n; i++) {
        parts[find_active(active)] += (double)(edges.at[i].at - now) / per_s;
        now = edges.at[i].at;
        active[edges.at[i].part] += edges.at[i].change;
        assert(active[edges.at[i].part] >= 0 || edges.at[i].change < 0);
    }
    array_fini(&edges);
    parts[REPORT_PLAN_BUBBLE] += report_plan_finish(result) - (double)now / per_s;
    return HALLEY_OK;
}
