/*
 * replay/rows.c - measured, recorded and simulated times of communication, by kind, size
 * and group size. The time of a collective is that of the member that arrived last. It is
 * the least of the members' times, so waiting for others does not count. The time of a
 * message is that of its receive.
 */
#include "base/error.h"
#include "base/hash.h"
#include "replay/run.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The source of a node's time. */
typedef struct source {
    const halley_replay *r;
    const halley_result *simulated; /* else NULL */
    bool recorded;
    uint32_t repeat;
} source;

static double get_node_time(const source *s, uint32_t rank, uint32_t node)
{
    const replay_program *p = &s->r->plan.programs[rank];
    if (s->simulated != NULL) {
        const halley_node_times t = halley_result_node(s->simulated, rank, node);
        return t.ran ? (double)(t.end - t.begin) / halley_result_ticks_per_s(s->simulated)
                     : 0;
    }
    if (s->recorded) {
        halley_attr attr;
        double ns = 0;
        if (!halley_node_find_attr(&attr, p->trace, node, HALLEY_ATTR_NAME_DURATION_NS) ||
            !halley_attr_to_double(&attr, &ns) || !(ns > 0))
            ns = 1e3 * (double)halley_node_duration_us(p->trace, node);
        return 1e-9 * ns;
    }
    const uint64_t *times = replay_times(s->r, s->repeat, rank);
    return 1e-9 * (double)(times[p->n + node] - times[node]);
}

/* A collective by group and ordinal: the nodes of all members. */
typedef struct instance {
    uint32_t row;
    uint32_t first; /* in `nodes`: rank, node pairs */
    uint32_t n;
} instance;

typedef struct counter {
    const halley_replay *r;
    ARRAY(halley_replay_row) rows;
    ARRAY(instance) instances;
    ARRAY(uint32_t) nodes; /* pairs */
    map64 by_key;          /* of rows */
    halley_error *err;
} counter;

static halley_status find_counter_row(uint32_t *out, counter *c, const replay_op *op)
{
    const bool coll = op->kind == REPLAY_COLLECTIVE;
    const uint32_t n = coll ? c->r->plan.groups.at[op->group].n : 2;
    const uint64_t key =
        hash_u64(hash_u64(op->bytes) ^ ((uint64_t)n << 16) ^ (coll ? op->coll : 99u));
    bool fresh;
    *out = (uint32_t)c->rows.n;
    if (!map64_put(&c->by_key, key, out, &fresh))
        return error_nomem(c->err);
    const halley_replay_row row = {.type = coll ? HALLEY_NODE_COLL : HALLEY_NODE_SEND,
                                   .coll = op->coll,
                                   .n_members = n,
                                   .bytes = op->bytes};
    return !fresh || array_push(&c->rows, row) ? HALLEY_OK : error_nomem(c->err);
}

/* Add the same collective on other members, by group and ordinal. */
static halley_status add_members(counter *c, const replay_op *op)
{
    const replay_group *g = &c->r->plan.groups.at[op->group];
    for (uint32_t k = 1; k < g->n; k++) {
        const replay_program *p = &c->r->plan.programs[g->ranks[k]];
        uint32_t i = 0;
        while (i < p->n &&
               !(p->ops[i].kind == REPLAY_COLLECTIVE && p->ops[i].group == op->group &&
                 p->ops[i].ordinal == op->ordinal))
            i++;
        assert(i < p->n);
        if (!array_push(&c->nodes, (uint32_t)g->ranks[k]) || !array_push(&c->nodes, i))
            return error_nomem(c->err);
    }
    return HALLEY_OK;
}

static halley_status add_instance(counter *c, uint32_t rank, uint32_t node)
{
    const replay_op *op = &c->r->plan.programs[rank].ops[node];
    const bool coll = op->kind == REPLAY_COLLECTIVE;
    instance x = {.first = (uint32_t)c->nodes.n};
    if (coll ? c->r->plan.groups.at[op->group].ranks[0] != (int)rank
             : op->kind != REPLAY_RECEIVE)
        return HALLEY_OK; /* another rank reports it */
    TRY(find_counter_row(&x.row, c, op));
    if (!array_push(&c->nodes, rank) || !array_push(&c->nodes, node))
        return error_nomem(c->err);
    if (coll)
        TRY(add_members(c, op));
    x.n = ((uint32_t)c->nodes.n - x.first) / 2;
    c->rows.at[x.row].count++;
    return array_push(&c->instances, x) ? HALLEY_OK : error_nomem(c->err);
}

static double get_instance_time(const counter *c, const instance *x, const source *s)
{
    double least = INFINITY;
    for (uint32_t i = 0; i < x->n; i++)
        least = fmin(least, get_node_time(s, c->nodes.at[x->first + 2 * i],
                                          c->nodes.at[x->first + 2 * i + 1]));
    return isfinite(least) ? least : 0;
}

static halley_status sum_instances(counter *c, const halley_result *simulated)
{
    const uint32_t n = c->r->n_repeats;
    double *const values = mem_array((size_t)n + 1, sizeof *values);
    if (values == NULL)
        return error_nomem(c->err);
    for (size_t i = 0; i < c->instances.n; i++) {
        const instance *x = &c->instances.at[i];
        halley_replay_row *row = &c->rows.at[x->row];
        for (uint32_t k = 0; k < n; k++)
            values[k] = get_instance_time(c, x, &(source){.r = c->r, .repeat = k});
        mem_sort_doubles(values, n);
        row->measured_s += n > 0 ? values[(n - 1) / 2] : 0;
        row->recorded_s +=
            get_instance_time(c, x, &(source){.r = c->r, .recorded = true});
        if (simulated != NULL)
            row->simulated_s +=
                get_instance_time(c, x, &(source){.r = c->r, .simulated = simulated});
    }
    free(values);
    return HALLEY_OK;
}

static void finish_row(halley_replay_row *row)
{
    const double n = (double)row->count;
    const bool coll = row->type == HALLEY_NODE_COLL;
    row->measured_s /= n;
    row->recorded_s /= n;
    row->simulated_s /= n;
    if (!(row->measured_s > 0))
        return;
    row->alg_Bps = (coll ? replay_larger_buffer(row->coll, row->bytes, row->n_members)
                         : (double)row->bytes) /
                   row->measured_s;
    row->bus_Bps =
        row->alg_Bps * (coll ? replay_bus_factor(row->coll, row->n_members) : 1);
}

static int compare_replay_rows(const void *a, const void *b)
{
    const halley_replay_row *x = a, *y = b;
    if (x->type != y->type)
        return x->type > y->type ? -1 : 1;
    if (x->coll != y->coll)
        return x->coll < y->coll ? -1 : 1;
    if (x->n_members != y->n_members)
        return x->n_members < y->n_members ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

halley_status halley_replay_rows(halley_replay_row **out, size_t *n,
                                 const halley_replay *r, const halley_result *simulated,
                                 halley_error *err)
{
    counter c = {.r = r, .err = err};
    halley_status status = HALLEY_OK;
    for (uint32_t k = 0; r->is_first && k < r->plan.n_ranks; k++)
        for (uint32_t i = 0; status == HALLEY_OK && i < r->plan.programs[k].n; i++) {
            const uint8_t kind = r->plan.programs[k].ops[i].kind;
            if (kind == REPLAY_COLLECTIVE || kind == REPLAY_RECEIVE)
                status = add_instance(&c, k, i);
        }
    if (status == HALLEY_OK)
        status = sum_instances(&c, simulated);
    for (size_t i = 0; i < c.rows.n; i++)
        finish_row(&c.rows.at[i]);
    if (c.rows.n > 1)
        qsort(c.rows.at, c.rows.n, sizeof *c.rows.at, compare_replay_rows);
    *n = c.rows.n;
    *out = c.rows.at;
    array_fini(&c.instances);
    array_fini(&c.nodes);
    map64_fini(&c.by_key);
    if (status != HALLEY_OK)
        free(c.rows.at);
    return status;
}

/* ---- traces ---- */

static halley_status copy_with_times(halley_trace **out, const halley_replay *r,
                                     uint32_t rank, halley_error *err)
{
    static const char *const timed[] = {HALLEY_ATTR_NAME_DURATION_NS,
                                        HALLEY_ATTR_NAME_START_NS};
    const replay_program *p = &r->plan.programs[rank];
    const uint64_t *begins = replay_times(r, replay_median_repeat(r), rank);
    halley_builder *b;
    TRY(halley_builder_new(&b, err));
    (void)halley_builder_version(b, halley_trace_version(p->trace));
    for (uint32_t i = 0; i < halley_trace_metadata_count(p->trace); i++) {
        const halley_attr attr = halley_trace_metadata(p->trace, i);
        (void)halley_builder_metadata(b, &attr);
    }
    for (uint32_t i = 0; i < p->n; i++) {
        const uint64_t ns = begins[p->n + i] - begins[i];
        (void)halley_builder_node(b, halley_node_id(p->trace, i),
                                  halley_node_type_of(p->trace, i),
                                  halley_node_name(p->trace, i));
        for (uint32_t k = 0; k < halley_node_data_count(p->trace, i); k++)
            (void)halley_builder_data(b, halley_node_data(p->trace, i, k).id);
        for (uint32_t k = 0; k < halley_node_ctrl_count(p->trace, i); k++)
            (void)halley_builder_ctrl(b, halley_node_ctrl(p->trace, i, k).id);
        for (uint32_t k = 0; k < halley_node_attr_count(p->trace, i); k++) {
            const halley_attr attr = halley_node_attr(p->trace, i, k);
            bool is_time = false;
            for (size_t t = 0; t < 2; t++)
                is_time |= attr.name.n == strlen(timed[t]) &&
                           memcmp(attr.name.at, timed[t], attr.name.n) == 0;
            if (!is_time)
                (void)halley_builder_attr(b, &attr);
        }
        (void)halley_builder_time(b, begins[i] / 1000, (ns + 500) / 1000);
        (void)halley_builder_attr_u64(b, HALLEY_ATTR_NAME_START_NS, begins[i]);
        (void)halley_builder_attr_u64(b, HALLEY_ATTR_NAME_DURATION_NS, ns);
    }
    return halley_builder_finish(out, b, err);
}

halley_status halley_replay_traces(halley_trace_set **out, const halley_replay *r,
                                   halley_error *err)
{
    const uint32_t n = r->plan.n_ranks;
    halley_trace **traces = mem_array_zero(n, sizeof *traces);
    halley_status status = traces == NULL ? error_nomem(err) : HALLEY_OK;
    if (status == HALLEY_OK && (!r->is_first || r->n_repeats == 0))
        status = error_set(err, HALLEY_EINVAL, "no repeat has finished");
    for (uint32_t i = 0; status == HALLEY_OK && i < n; i++)
        status = copy_with_times(&traces[i], r, i, err);
    if (status == HALLEY_OK)
        status = halley_trace_set_new(out, traces, n, err);
    for (uint32_t i = 0; status != HALLEY_OK && traces != NULL && i < n; i++)
        halley_trace_free(traces[i]); /* on success the set owns it */
    free(traces);
    return status;
}
