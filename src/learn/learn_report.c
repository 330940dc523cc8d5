/* The report on held-out sets: distances between distributions over all of them. */
#include "learn/learn_report.h"

#include "base/error.h"
#include "learn/program.h"
#include "trace/core/roles.h"

#include <assert.h>
#include <math.h>

enum { MAX_NUMBERS = 4000000 };

void learn_compare_fini(learn_compare *c)
{
    map64_fini(&c->op_of);
    for (int side = 0; side < 2; side++) {
        array_fini(&c->mix[side]);
        array_fini(&c->sizes[side]);
        array_fini(&c->durations[side]);
    }
}

static bool push_number(learn_numbers *to, double value)
{
    return to->n >= MAX_NUMBERS || array_push(to, value);
}

static bool count_reported_op(learn_compare *c, int side, const halley_trace *trace,
                              uint32_t node, uint64_t coll)
{
    assert(side == 0 || side == 1);
    assert(node < halley_trace_count(trace));
    char name[TRACE_PLAIN_NAME];
    const str plain = trace_plain_name(name, halley_node_name(trace, node));
    const uint64_t key =
        hash_bytes(plain.at, plain.n, halley_node_type_of(trace, node) << 8 ^ coll);
    uint32_t id = (uint32_t)c->mix[0].n;
    bool fresh;
    if (!map64_put(&c->op_of, key, &id, &fresh))
        return false;
    if (fresh && (!array_push(&c->mix[0], 0) || !array_push(&c->mix[1], 0)))
        return false;
    c->mix[side].at[id]++;
    assert(c->mix[0].n == c->mix[1].n);
    return true;
}

static bool report_trace(learn_compare *c, int side, const halley_trace *trace)
{
    assert(side == 0 || side == 1);
    for (uint32_t i = 0; i < halley_trace_count(trace); i++) {
        trace_roles roles;
        uint64_t coll = 255, size;
        trace_roles_read(&roles, trace, i);
        (void)trace_roles_u64(&roles, TRACE_ROLE_COMM_TYPE, &coll);
        if (!count_reported_op(c, side, trace, i, coll))
            return false;
        if (trace_roles_u64(&roles, TRACE_ROLE_COMM_SIZE, &size) &&
            !push_number(&c->sizes[side], (double)size))
            return false;
        if (halley_node_type_of(trace, i) == HALLEY_NODE_COMP &&
            !push_number(&c->durations[side], (double)halley_node_duration_us(trace, i)))
            return false;
    }
    return true;
}

static double nodes_of(const halley_trace_set *set)
{
    double n = 0;
    for (uint32_t r = 0; r < halley_trace_set_count(set); r++)
        n += halley_trace_count(halley_trace_set_get(set, r));
    return n;
}

halley_status learn_compare_add(learn_compare *c, const halley_trace_set *real,
                                const halley_trace_set *made, halley_error *err)
{
    assert(real != made);
    const halley_trace_set *const sides[] = {real, made};
    for (int side = 0; side < 2; side++)
        for (uint32_t r = 0; r < halley_trace_set_count(sides[side]); r++)
            if (!report_trace(c, side, halley_trace_set_get(sides[side], r)))
                return error_nomem(err);
    c->log_nodes += fabs(log(nodes_of(made) / fmax(1, nodes_of(real))));
    c->n_sets++;
    return HALLEY_OK;
}

/* The Kolmogorov-Smirnov distance; sorts. */
static double measure_ks(learn_numbers *a, learn_numbers *b)
{
    if (a->n == 0 || b->n == 0)
        return a->n != b->n;
    mem_sort_doubles(a->at, a->n);
    mem_sort_doubles(b->at, b->n);
    double most = 0;
    for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
        const double at = a->at[i] < b->at[j] ? a->at[i] : b->at[j];
        while (i < a->n && a->at[i] <= at)
            i++;
        while (j < b->n && b->at[j] <= at)
            j++;
        most = fmax(most, fabs((double)i / (double)a->n - (double)j / (double)b->n));
    }
    assert(most >= 0 && most <= 1);
    return most;
}

halley_held_out learn_compare_sum(learn_compare *c)
{
    halley_held_out out = {.n_sets = c->n_sets};
    double sum[2] = {0};
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < c->mix[side].n; i++)
            sum[side] += c->mix[side].at[i];
    for (size_t i = 0; i < c->mix[0].n && sum[0] > 0 && sum[1] > 0; i++)
        out.mix += 0.5 * fabs(c->mix[0].at[i] / sum[0] - c->mix[1].at[i] / sum[1]);
    out.sizes = measure_ks(&c->sizes[0], &c->sizes[1]);
    out.durations = measure_ks(&c->durations[0], &c->durations[1]);
    out.nodes = c->n_sets > 0 ? c->log_nodes / c->n_sets : 0;
    assert(out.mix >= 0 && out.mix <= 1 + 1e-9);
    return out;
}
