/*
 * Statistics of one trace. One pass over nodes and attributes computes the sums. One pass
 * over dependencies computes levels and times (trace/core/levels.h). In addition to the
 * trace, this takes 12 bytes per node for levels and times, and 4 for the histogram of
 * levels or the critical path.
 */
#include "trace/stats.h"

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "halley/trace_stats.h"
#include "trace/core/levels.h"
#include "trace/core/roles.h"

#include <string.h>

typedef struct tally {
    stats_colls colls;
    stats_attrs attrs;
    halley_trace_stats *to;
} tally;

static void add_saturated(uint64_t *sum, uint64_t x)
{
    *sum = *sum > UINT64_MAX - x ? UINT64_MAX : *sum + x;
}

static void add_size(double *sum, const trace_roles *r, trace_role role)
{
    uint64_t size = 0;
    if (trace_roles_u64(r, role, &size))
        *sum += (double)size;
}

static void add_work(halley_trace_stats *to, const trace_roles *r, uint32_t type)
{
    switch (type) {
    case HALLEY_NODE_COMP:
        add_size(&to->flops, r, TRACE_ROLE_NUM_OPS);
        add_size(&to->tensor_bytes, r, TRACE_ROLE_TENSOR_SIZE);
        break;
    case HALLEY_NODE_MEM_LOAD:
        add_size(&to->load_bytes, r, TRACE_ROLE_TENSOR_SIZE);
        break;
    case HALLEY_NODE_MEM_STORE:
        add_size(&to->store_bytes, r, TRACE_ROLE_TENSOR_SIZE);
        break;
    case HALLEY_NODE_SEND:
        add_size(&to->send_bytes, r, TRACE_ROLE_COMM_SIZE);
        break;
    case HALLEY_NODE_RECV:
        add_size(&to->recv_bytes, r, TRACE_ROLE_COMM_SIZE);
        break;
    case HALLEY_NODE_COLL:
        add_size(&to->coll_bytes, r, TRACE_ROLE_COMM_SIZE);
        break;
    default:
        break;
    }
}

static void count_time(halley_trace_stats *to, const halley_trace *trace, uint32_t node,
                       const trace_roles *r)
{
    const uint32_t type = halley_node_type_of(trace, node);
    const uint64_t start_us = halley_node_start_us(trace, node);
    const uint64_t duration_us = halley_node_duration_us(trace, node);
    if (type < HALLEY_N_NODE_TYPES)
        add_saturated(&to->time_by_type_us[type], duration_us);
    if (type != HALLEY_NODE_METADATA) {
        const bool cpu = trace_roles_is_cpu(r);
        (*(cpu ? &to->n_cpu : &to->n_device))++;
        add_saturated(cpu ? &to->cpu_us : &to->device_us, duration_us);
    }
    if (start_us == 0)
        return;
    uint64_t end_us = start_us;
    add_saturated(&end_us, duration_us);
    if (to->first_start_us == 0 || start_us < to->first_start_us)
        to->first_start_us = start_us;
    if (end_us > to->last_end_us)
        to->last_end_us = end_us;
}

static bool count_coll(tally *t, const trace_roles *r)
{
    halley_coll_stats row = {.type = HALLEY_COLL_UNTYPED,
                             .group = trace_roles_group(r),
                             .size_bytes = HALLEY_SIZE_NONE,
                             .n = 1};
    trace_roles_u64(r, TRACE_ROLE_COMM_TYPE, &row.type);
    trace_roles_u64(r, TRACE_ROLE_COMM_SIZE, &row.size_bytes);
    return stats_colls_add(&t->colls, &row);
}

/* Count attributes by shape: each shape's attributes, times the nodes that have it. */
static bool add_attrs(tally *t, const halley_trace *trace)
{
    const attr_shapes *shapes = &trace->s.shapes;
    uint32_t *n_nodes = mem_array_zero(shapes->shapes.n, sizeof *n_nodes);
    const uint32_t n = halley_trace_count(trace);
    for (uint32_t node = 0; n_nodes != NULL && node < n; node++)
        n_nodes[trace->s.shape.at[node]]++;
    bool ok = n_nodes != NULL;
    for (size_t i = 0; ok && i < shapes->shapes.n; i++) {
        const attr_shape *shape = &shapes->shapes.at[i];
        for (uint32_t j = 0; ok && n_nodes[i] > 0 && j < shape->n; j++) {
            const attr_desc *d =
                &shapes->descs.at[shapes->flat.at[shape->first + j].desc];
            const str name = attr_desc_name(shapes, d);
            const halley_attr_stats row = {
                {name.at, name.n}, (halley_attr_kind)d->kind, n_nodes[i]};
            ok = stats_attrs_add(&t->attrs, &row);
        }
    }
    free(n_nodes);
    return ok;
}

static bool count_node(tally *t, const halley_trace *trace, uint32_t node)
{
    halley_trace_stats *to = t->to;
    trace_roles roles;
    trace_roles_read(&roles, trace, node);
    const uint32_t type = halley_node_type_of(trace, node);
    (*(type < HALLEY_N_NODE_TYPES ? &to->n_by_type[type] : &to->n_other_type))++;
    to->n_data_deps += halley_node_data_count(trace, node);
    to->n_ctrl_deps += halley_node_ctrl_count(trace, node);
    add_work(to, &roles, type);
    count_time(to, trace, node, &roles);
    return type != HALLEY_NODE_COLL || count_coll(t, &roles);
}

static halley_status sum_nodes(halley_trace_stats *to, const halley_trace *trace,
                               halley_error *err)
{
    tally t = {.to = to};
    const uint32_t n = halley_trace_count(trace);
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++)
        ok = count_node(&t, trace, i);
    ok = ok && add_attrs(&t, trace);
    to->n_nodes = n;
    to->n_dangling = halley_trace_dangling_count(trace);
    stats_colls_take(&t.colls, &to->colls, &to->n_colls);
    stats_attrs_take(&t.attrs, &to->attrs, &to->n_attrs);
    return ok ? HALLEY_OK : error_nomem(err);
}

static halley_status find_width(halley_trace_stats *to, const trace_levels *levels,
                                halley_error *err)
{
    uint32_t *n_at = mem_array_zero((size_t)levels->depth + 1, sizeof *n_at);
    if (n_at == NULL)
        return error_nomem(err);
    for (uint64_t i = 0; i < to->n_nodes; i++)
        if (levels->level[i] != TRACE_LEVEL_CYCLIC)
            n_at[levels->level[i]]++;
    for (uint32_t l = 1; l <= levels->depth; l++)
        if (n_at[l] > to->width)
            to->width = n_at[l];
    free(n_at);
    return HALLEY_OK;
}

/* Is the chain that ends with a longer: by time, then by number of nodes? */
static bool is_later(const trace_levels *levels, uint32_t a, uint32_t b)
{
    if (levels->end_us[a] != levels->end_us[b])
        return levels->end_us[a] > levels->end_us[b];
    return levels->level[a] > levels->level[b];
}

/* The previous node of the chain; of equal ones the first. */
static uint32_t chain_before(const halley_trace *trace, const trace_levels *levels,
                             uint32_t node)
{
    uint32_t best = HALLEY_NO_NODE;
    const uint32_t n = trace_deps_count(trace, node);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t dep = trace_deps_index(trace, node, i);
        if (dep != HALLEY_NO_NODE &&
            (best == HALLEY_NO_NODE || is_later(levels, dep, best)))
            best = dep;
    }
    return best;
}

static halley_status find_critical(halley_trace_stats *to, const halley_trace *trace,
                                   const trace_levels *levels, halley_error *err)
{
    uint32_t last = HALLEY_NO_NODE;
    for (uint32_t i = 0; i < (uint32_t)to->n_nodes; i++)
        if (levels->level[i] != TRACE_LEVEL_CYCLIC &&
            (last == HALLEY_NO_NODE || is_later(levels, i, last)))
            last = i;
    uint32_t n = 0;
    for (uint32_t v = last; v != HALLEY_NO_NODE; v = chain_before(trace, levels, v))
        n++;
    to->critical_path = mem_array(n, sizeof *to->critical_path);
    if (to->critical_path == NULL)
        return error_nomem(err);
    to->n_critical = n;
    to->critical_us = last == HALLEY_NO_NODE ? 0 : levels->end_us[last];
    for (uint32_t v = last; v != HALLEY_NO_NODE; v = chain_before(trace, levels, v))
        to->critical_path[--n] = v;
    return HALLEY_OK;
}

static halley_status find_depth(halley_trace_stats *to, const halley_trace *trace,
                                halley_error *err)
{
    trace_levels levels;
    TRY(trace_levels_init(&levels, trace, &(trace_levels_opts){.with_time = true}, err));
    to->depth = levels.depth;
    to->n_cyclic = levels.n_cyclic;
    halley_status status = find_width(to, &levels, err);
    if (status == HALLEY_OK)
        status = find_critical(to, trace, &levels, err);
    trace_levels_fini(&levels);
    return status;
}

halley_status halley_trace_stats_new(halley_trace_stats **out, const halley_trace *trace,
                                     halley_error *err)
{
    halley_trace_stats *s = calloc(1, sizeof *s);
    if (s == NULL)
        return error_nomem(err);
    s->size = sizeof *s;
    halley_status status = sum_nodes(s, trace, err);
    if (status == HALLEY_OK)
        status = find_depth(s, trace, err);
    if (status != HALLEY_OK) {
        halley_trace_stats_free(s);
        return status;
    }
    *out = s;
    return HALLEY_OK;
}

void halley_trace_stats_free(halley_trace_stats *stats)
{
    if (stats == NULL)
        return;
    free(stats->critical_path);
    free(stats->colls);
    free(stats->attrs);
    free(stats);
}
