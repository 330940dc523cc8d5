/*
 * Rules of a template trace set: digits, roles, groups and peers of a rank. All are
 * computed from the rank alone, so nothing is stored per rank.
 */
#include "trace/core/template.h"

#include <assert.h>
#include <string.h>

void trace_template_fini(trace_template *t)
{
    for (size_t i = 0; i < t->roles.n; i++)
        halley_trace_free(t->roles.at[i].trace);
    array_fini(&t->roles);
    array_fini(&t->groups);
    array_fini(&t->peers);
    arena_fini(&t->memory);
    *t = (trace_template){0};
}

void halley_template_free(halley_template *t)
{
    if (t != NULL)
        trace_template_fini(t);
    free(t);
}

uint32_t halley_template_ranks(const halley_template *t)
{
    return t->n_ranks;
}

uint32_t halley_template_roles(const halley_template *t)
{
    return (uint32_t)t->roles.n;
}

uint32_t halley_template_role_of(const halley_template *t, uint32_t rank)
{
    return trace_template_role_of(t, rank);
}

const halley_trace *halley_template_trace(const halley_template *t, uint32_t role)
{
    return t->roles.at[role].trace;
}

halley_status halley_template_expand(halley_trace **out, const halley_template *t,
                                     uint32_t rank, halley_error *err)
{
    return trace_template_expand(out, t, rank, err);
}

halley_status halley_template_traces(halley_trace_set **out, const halley_template *t,
                                     halley_error *err)
{
    return trace_template_expand_all(out, t, err);
}

static bool copy_text(trace_template *t, str *text)
{
    char *const at = arena_copy(&t->memory, *text);
    text->at = at;
    return at != NULL;
}

static const trace_range *copy_ranges(trace_template *t, const trace_range *from,
                                      uint32_t n)
{
    trace_range *const to = arena_array(&t->memory, n, sizeof *to);
    if (to != NULL && n > 0)
        memcpy(to, from, n * sizeof *to);
    return to;
}

static const uint32_t *copy_table(trace_template *t, const uint32_t *from)
{
    uint32_t *const to = arena_array(&t->memory, t->n_ranks, sizeof *to);
    if (to != NULL)
        memcpy(to, from, t->n_ranks * sizeof *to);
    return to;
}

halley_status trace_template_add_axis(trace_template *t, str name, uint32_t size,
                                      halley_error *err)
{
    if (t->n_axes == TRACE_TEMPLATE_MAX_AXES)
        return error_set(err, HALLEY_ELIMIT, "a template set has at most %d axes",
                         TRACE_TEMPLATE_MAX_AXES);
    if (trace_template_find_axis(t, name) != TRACE_TEMPLATE_NONE)
        return error_set(err, HALLEY_EINVAL, "two axes are called \"%.*s\"",
                         STR_ARG(name));
    if (size == 0)
        return error_set(err, HALLEY_EINVAL,
                         "axis \"%.*s\" has size 0; sizes are at least 1", STR_ARG(name));
    trace_axis *const a = &t->axes[t->n_axes];
    const trace_axis *const last = t->n_axes > 0 ? a - 1 : NULL;
    const uint64_t stride = last != NULL ? (uint64_t)last->stride * last->size : 1;
    if (stride * size > TRACE_TEMPLATE_MAX_RANKS)
        return error_set(err, HALLEY_ELIMIT,
                         "the axes make more than %u ranks, the most that is supported",
                         TRACE_TEMPLATE_MAX_RANKS);
    *a = (trace_axis){name, size, (uint32_t)stride};
    if (!copy_text(t, &a->name))
        return error_nomem(err);
    t->n_axes++;
    return HALLEY_OK;
}

static bool copy_conditions(trace_template *t, trace_template_role *r)
{
    trace_when *const when = arena_array(&t->memory, r->n_when, sizeof *when);
    if (when == NULL || !copy_text(t, &r->file))
        return false;
    for (uint32_t i = 0; i < r->n_when; i++) {
        when[i] = r->when[i];
        when[i].ranges = copy_ranges(t, r->when[i].ranges, r->when[i].n_ranges);
        if (when[i].ranges == NULL)
            return false;
    }
    r->when = when;
    return true;
}

halley_status trace_template_add_role(trace_template *t, const trace_template_role *role,
                                      halley_error *err)
{
    trace_template_role r = *role;
    assert(r.rank != TRACE_TEMPLATE_NONE || t->n_exceptions == 0);
    if (!copy_conditions(t, &r) || !array_push(&t->roles, r)) {
        halley_trace_free(r.trace);
        return error_nomem(err);
    }
    t->n_exceptions += r.rank != TRACE_TEMPLATE_NONE;
    return HALLEY_OK;
}

halley_status trace_template_add_group(trace_template *t,
                                       const trace_template_group *group,
                                       halley_error *err)
{
    trace_template_group g = *group;
    if (trace_template_find_group(t, g.name) != TRACE_TEMPLATE_NONE)
        return error_set(err, HALLEY_EINVAL, "two groups are called \"%.*s\"",
                         STR_ARG(g.name));
    bool fine = copy_text(t, &g.name);
    if (fine && g.values != NULL)
        fine = (g.values = copy_ranges(t, g.values, g.n_values)) != NULL;
    if (fine && g.table != NULL)
        fine = (g.table = copy_table(t, g.table)) != NULL;
    return fine && array_push(&t->groups, g) ? HALLEY_OK : error_nomem(err);
}

halley_status trace_template_add_peer(trace_template *t, const trace_template_peer *peer,
                                      halley_error *err)
{
    trace_template_peer p = *peer;
    if (trace_template_find_peer(t, p.name) != TRACE_TEMPLATE_NONE)
        return error_set(err, HALLEY_EINVAL, "two peers are called \"%.*s\"",
                         STR_ARG(p.name));
    bool fine = copy_text(t, &p.name);
    if (fine && p.table != NULL)
        fine = (p.table = copy_table(t, p.table)) != NULL;
    return fine && array_push(&t->peers, p) ? HALLEY_OK : error_nomem(err);
}

uint32_t trace_template_find_axis(const trace_template *t, str name)
{
    for (uint32_t i = 0; i < t->n_axes; i++)
        if (str_eq(t->axes[i].name, name))
            return i;
    return TRACE_TEMPLATE_NONE;
}

uint32_t trace_template_find_group(const trace_template *t, str name)
{
    for (uint32_t i = 0; i < t->groups.n; i++)
        if (str_eq(t->groups.at[i].name, name))
            return i;
    return TRACE_TEMPLATE_NONE;
}

uint32_t trace_template_find_peer(const trace_template *t, str name)
{
    for (uint32_t i = 0; i < t->peers.n; i++)
        if (str_eq(t->peers.at[i].name, name))
            return i;
    return TRACE_TEMPLATE_NONE;
}

uint32_t trace_template_digit(const trace_template *t, uint32_t axis, uint32_t rank)
{
    assert(axis < t->n_axes);
    return rank / t->axes[axis].stride % t->axes[axis].size;
}

static bool is_within(const trace_range *ranges, uint32_t n, uint32_t value)
{
    for (uint32_t i = 0; i < n; i++)
        if (value >= ranges[i].first && value <= ranges[i].last)
            return true;
    return false;
}

bool trace_template_fits(const trace_template *t, uint32_t role, uint32_t rank)
{
    const trace_template_role *const r = &t->roles.at[role];
    for (uint32_t i = 0; i < r->n_when; i++) {
        const trace_when *const w = &r->when[i];
        if (!is_within(w->ranges, w->n_ranges, trace_template_digit(t, w->axis, rank)))
            return false;
    }
    return true;
}

/* Find the exception of a rank by binary search; exceptions are sorted by rank. */
static uint32_t find_exception(const trace_template *t, uint32_t rank)
{
    size_t low = t->roles.n - t->n_exceptions, high = t->roles.n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (t->roles.at[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->roles.n && t->roles.at[low].rank == rank ? (uint32_t)low
                                                             : TRACE_TEMPLATE_NONE;
}

uint32_t trace_template_role_of(const trace_template *t, uint32_t rank)
{
    assert(rank < t->n_ranks);
    const uint32_t alone = find_exception(t, rank);
    if (alone != TRACE_TEMPLATE_NONE)
        return alone;
    if (t->role_table != NULL)
        return t->role_table[rank];
    for (uint32_t i = 0; i < t->roles.n - t->n_exceptions; i++)
        if (trace_template_fits(t, i, rank))
            return i;
    return TRACE_TEMPLATE_NONE;
}

uint32_t trace_template_peer_of(const trace_template *t, uint32_t peer, uint32_t rank)
{
    assert(peer < t->peers.n && rank < t->n_ranks);
    const trace_template_peer *const p = &t->peers.at[peer];
    if (p->table != NULL)
        return p->table[rank];
    const trace_axis *const a = &t->axes[p->axis];
    const uint32_t digit = trace_template_digit(t, p->axis, rank);
    int64_t to = (int64_t)digit + p->distance;
    if (p->wrap)
        to = (to % a->size + a->size) % a->size;
    if (to < 0 || to >= a->size)
        return TRACE_TEMPLATE_NONE;
    return rank - digit * a->stride + (uint32_t)to * a->stride;
}

/* The number formed by the digits of `axes`. */
static uint32_t pack_digits(const trace_template *t, uint32_t axes, uint32_t rank)
{
    uint32_t value = 0, unit = 1;
    for (uint32_t i = 0; i < t->n_axes; i++) {
        if (!(axes >> i & 1))
            continue;
        value += trace_template_digit(t, i, rank) * unit;
        unit *= t->axes[i].size;
    }
    return value;
}

/* The rank with these digits, all others 0. */
static uint32_t spread_digits(const trace_template *t, uint32_t axes, uint32_t value)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < t->n_axes; i++) {
        if (!(axes >> i & 1))
            continue;
        rank += value % t->axes[i].size * t->axes[i].stride;
        value /= t->axes[i].size;
    }
    return rank;
}

/* The number of groups that share the digits outside the axes. */
static uint32_t count_parts(const trace_template_group *g)
{
    return g->n_along / g->block * g->every;
}

uint32_t trace_template_group_of(const trace_template *t, uint32_t group, uint32_t rank)
{
    assert(group < t->groups.n && rank < t->n_ranks);
    const trace_template_group *const g = &t->groups.at[group];
    if (g->table != NULL)
        return g->table[rank];
    const uint32_t index = pack_digits(t, g->axes, rank);
    if (g->values != NULL && !is_within(g->values, g->n_values, index))
        return TRACE_TEMPLATE_NONE;
    const uint32_t part = index / g->block * g->every + index % g->every;
    return pack_digits(t, ~g->axes, rank) * count_parts(g) + part;
}

uint32_t trace_template_group_size(const trace_template *t, uint32_t group, uint32_t key)
{
    assert(group < t->groups.n && key < t->groups.at[group].n_keys);
    const trace_template_group *const g = &t->groups.at[group];
    if (g->table != NULL)
        return g->starts[key + 1] - g->starts[key];
    if (g->values == NULL)
        return g->block / g->every;
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_values; i++)
        n += g->values[i].last - g->values[i].first + 1;
    return n;
}

/* The i-th of the listed indexes. */
static uint32_t pick_value(const trace_template_group *g, uint32_t i)
{
    const trace_range *r = g->values;
    while (i > r->last - r->first) {
        i -= r->last - r->first + 1;
        r++;
    }
    return r->first + i;
}

uint32_t trace_template_member(const trace_template *t, uint32_t group, uint32_t key,
                               uint32_t i)
{
    assert(i < trace_template_group_size(t, group, key));
    const trace_template_group *const g = &t->groups.at[group];
    if (g->table != NULL)
        return g->members[g->starts[key] + i];
    const uint32_t parts = count_parts(g), part = key % parts;
    const uint32_t index =
        g->values != NULL ? pick_value(g, i)
                          : part / g->every * g->block + part % g->every + i * g->every;
    return spread_digits(t, ~g->axes, key / parts) + spread_digits(t, g->axes, index);
}
