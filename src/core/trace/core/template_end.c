/*
 * Check that the rules of a template set are consistent: sizes, ranges, one role for
 * every rank.
 */
#include "base/hash.h"
#include "trace/core/template.h"

#include <assert.h>

static halley_status check_axes(const trace_template *t, halley_error *err)
{
    uint64_t product = 1;
    for (uint32_t i = 0; i < t->n_axes; i++)
        product *= t->axes[i].size;
    if (t->n_ranks == 0 || t->n_ranks > TRACE_TEMPLATE_MAX_RANKS)
        return error_set(err, HALLEY_ELIMIT, "ranks is %u; 1 to %u are supported",
                         t->n_ranks, TRACE_TEMPLATE_MAX_RANKS);
    if (t->n_axes > 0 && product != t->n_ranks)
        return error_set(err, HALLEY_EINVAL, "the axes make %llu ranks, but ranks is %u",
                         (unsigned long long)product, t->n_ranks);
    return HALLEY_OK;
}

static halley_status check_conditions(const trace_template *t, halley_error *err)
{
    for (size_t i = 0; i < t->roles.n; i++) {
        const trace_template_role *const r = &t->roles.at[i];
        for (uint32_t k = 0; k < r->n_when; k++) {
            const trace_axis *const a = &t->axes[r->when[k].axis];
            assert(r->when[k].axis < t->n_axes);
            for (uint32_t j = 0; j < r->when[k].n_ranges; j++)
                if (r->when[k].ranges[j].last >= a->size)
                    return error_set(
                        err, HALLEY_EINVAL,
                        "role %zu (%.*s): %.*s %u does not exist; the axis has 0 to %u",
                        i, STR_ARG(r->file), STR_ARG(a->name), r->when[k].ranges[j].last,
                        a->size - 1);
        }
        if (r->rank != TRACE_TEMPLATE_NONE && r->rank >= t->n_ranks)
            return error_set(err, HALLEY_EINVAL,
                             "exception for rank %u, but there are %u ranks", r->rank,
                             t->n_ranks);
    }
    return HALLEY_OK;
}

static int compare_exceptions(const void *a, const void *b)
{
    const uint32_t x = ((const trace_template_role *)a)->rank;
    const uint32_t y = ((const trace_template_role *)b)->rank;
    return (x > y) - (x < y);
}

static halley_status sort_exceptions(trace_template *t, halley_error *err)
{
    trace_template_role *const at = t->roles.at + (t->roles.n - t->n_exceptions);
    if (t->n_exceptions > 1)
        qsort(at, t->n_exceptions, sizeof *at, compare_exceptions);
    for (uint32_t i = 1; i < t->n_exceptions; i++)
        if (at[i].rank == at[i - 1].rank)
            return error_set(err, HALLEY_EINVAL, "rank %u is an exception twice",
                             at[i].rank);
    return HALLEY_OK;
}

static halley_status check_table(const trace_template *t, halley_error *err)
{
    for (uint32_t rank = 0; rank < t->n_ranks; rank++)
        if (t->role_table[rank] >= t->roles.n - t->n_exceptions)
            return error_set(err, HALLEY_EINVAL,
                             "the table gives rank %u role %u, but there are %zu roles",
                             rank, t->role_table[rank], t->roles.n - t->n_exceptions);
    return HALLEY_OK;
}

static halley_status check_roles(const trace_template *t, halley_error *err)
{
    const size_t n = t->roles.n - t->n_exceptions;
    if (t->role_table != NULL)
        return check_table(t, err);
    for (uint32_t rank = 0; rank < t->n_ranks; rank++) {
        const uint32_t first = trace_template_role_of(t, rank);
        if (first == TRACE_TEMPLATE_NONE)
            return error_set(err, HALLEY_EINVAL,
                             "rank %u is in no role: no `when` holds for it", rank);
        for (uint32_t i = first + 1; i < n; i++)
            if (trace_template_fits(t, i, rank))
                return error_set(
                    err, HALLEY_EINVAL, "rank %u is in two roles: %.*s and %.*s", rank,
                    STR_ARG(t->roles.at[first].file), STR_ARG(t->roles.at[i].file));
    }
    return HALLEY_OK;
}

/* List the members of the groups of a table, by key. */
static halley_status invert_table(trace_template *t, trace_template_group *g,
                                  halley_error *err)
{
    for (uint32_t r = 0; r < t->n_ranks; r++) {
        if (g->table[r] == TRACE_TEMPLATE_NONE)
            continue;
        if (g->table[r] >= t->n_ranks)
            return error_set(err, HALLEY_EINVAL,
                             "group \"%.*s\": the table gives rank %u the number %u; "
                             "groups are numbered 0 to %u",
                             STR_ARG(g->name), r, g->table[r], t->n_ranks - 1);
        g->n_keys = g->table[r] >= g->n_keys ? g->table[r] + 1 : g->n_keys;
    }
    uint32_t *const starts = arena_array(&t->memory, g->n_keys + 1, sizeof *starts);
    uint32_t *const members = arena_array(&t->memory, t->n_ranks, sizeof *members);
    uint32_t *const at = arena_array(&t->memory, g->n_keys + 1, sizeof *at);
    if (starts == NULL || members == NULL || at == NULL)
        return error_nomem(err);
    for (uint32_t r = 0; r < t->n_ranks; r++)
        if (g->table[r] != TRACE_TEMPLATE_NONE)
            starts[g->table[r] + 1]++;
    for (uint32_t k = 0; k < g->n_keys; k++)
        at[k + 1] = starts[k + 1] += starts[k];
    for (uint32_t r = 0; r < t->n_ranks; r++)
        if (g->table[r] != TRACE_TEMPLATE_NONE)
            members[at[g->table[r]]++] = r;
    g->starts = starts;
    g->members = members;
    return HALLEY_OK;
}

static halley_status check_rule_values(const trace_template_group *g, halley_error *err)
{
    for (uint32_t i = 0; i < g->n_values; i++) {
        if (g->values[i].last >= g->n_along)
            return error_set(err, HALLEY_EINVAL,
                             "group \"%.*s\": value %u is beyond its axes, which have %u",
                             STR_ARG(g->name), g->values[i].last, g->n_along);
        if (i > 0 && g->values[i].first <= g->values[i - 1].last)
            return error_set(err, HALLEY_EINVAL,
                             "group \"%.*s\": values must ascend, without repeats",
                             STR_ARG(g->name));
    }
    if (g->n_values > 0 && (g->block != g->n_along || g->every != 1))
        return error_set(err, HALLEY_EINVAL,
                         "group \"%.*s\": give values, or block and every, not both",
                         STR_ARG(g->name));
    return HALLEY_OK;
}

static halley_status end_rule_group(trace_template *t, trace_template_group *g,
                                    halley_error *err)
{
    if (g->table != NULL)
        return invert_table(t, g, err);
    g->n_along = 1;
    for (uint32_t i = 0; i < t->n_axes; i++)
        g->n_along *= g->axes >> i & 1 ? t->axes[i].size : 1;
    g->block = g->block > 0 ? g->block : g->n_along;
    g->every = g->every > 0 ? g->every : 1;
    if (g->n_along % g->block != 0)
        return error_set(err, HALLEY_EINVAL,
                         "group \"%.*s\": block %u does not divide the %u ranks along it",
                         STR_ARG(g->name), g->block, g->n_along);
    if (g->block % g->every != 0)
        return error_set(err, HALLEY_EINVAL,
                         "group \"%.*s\": every %u does not divide its block of %u ranks",
                         STR_ARG(g->name), g->every, g->block);
    g->n_keys = t->n_ranks / g->n_along * (g->n_along / g->block * g->every);
    return check_rule_values(g, err);
}

/* Assign the numbers of groups in expanded traces. */
static halley_status number_groups(trace_template *t, halley_error *err)
{
    uint64_t next = 1;
    for (size_t i = 0; i < t->groups.n; i++) {
        TRY(end_rule_group(t, &t->groups.at[i], err));
        t->groups.at[i].first_id = (uint32_t)next;
        next += t->groups.at[i].n_keys;
        if (next > UINT32_MAX)
            return error_set(err, HALLEY_ELIMIT, "the rules make more than %u groups",
                             UINT32_MAX);
    }
    return HALLEY_OK;
}

static halley_status check_peers(const trace_template *t, halley_error *err)
{
    for (size_t i = 0; i < t->peers.n; i++) {
        const trace_template_peer *const p = &t->peers.at[i];
        for (uint32_t r = 0; p->table != NULL && r < t->n_ranks; r++)
            if (p->table[r] != TRACE_TEMPLATE_NONE && p->table[r] >= t->n_ranks)
                return error_set(
                    err, HALLEY_EINVAL,
                    "peer \"%.*s\": the table gives rank %u the peer %u, but "
                    "there are %u ranks",
                    STR_ARG(p->name), r, p->table[r], t->n_ranks);
        assert(p->table != NULL || p->axis < t->n_axes);
    }
    return HALLEY_OK;
}

halley_status trace_template_end(trace_template *t, halley_error *err)
{
    TRY(check_axes(t, err));
    TRY(check_conditions(t, err));
    TRY(sort_exceptions(t, err));
    TRY(check_roles(t, err));
    TRY(number_groups(t, err));
    return check_peers(t, err);
}
