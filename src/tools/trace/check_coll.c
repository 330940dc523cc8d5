/*
 * Compare collectives across the ranks of a group.
 *
 * Each rank has a sequence of collectives of the group, in the order of their ids.
 * Engines issue ready nodes in that order. The sequence must have the same types and
 * sizes as that of the group's lowest rank. Equal traces are compared once.
 *
 * Ids alone do not fix an order: of two independent collectives, either may become ready
 * first. So the same collectives in another order are an error only if both ranks are
 * bound to their order. Otherwise they are a warning.
 */
#include "base/error.h"
#include "trace/check.h"
#include "trace/core/groups.h"
#include "trace/core/levels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Nodes visited for all questions about order before the answer is "unsure". */
#define ORDER_BUDGET UINT64_C(200000000)

typedef struct span {
    uint32_t group_id;
    uint32_t first, n; /* in the collectives of a trace */
} span;

typedef ARRAY(span) span_array;

typedef struct groups {
    check_set *s;
    intern names;
    trace_groups declared;
    uint32_t *declaration; /* by group id: index into declared.list, or HASH_NONE */
    span_array *spans;     /* by distinct trace, ascending group id */
    ARRAY(uint32_t) ranks; /* of each group: ranks with its collectives, ascending */
    uint32_t *first_rank;  /* by group id, one more than there are: index into ranks */
    uint8_t *member;       /* by rank, of the current group */
    uint32_t *told;        /* by distinct trace: group id + 1 already compared */
    uint64_t budget;
} groups;

static int by_group_id(const void *a, const void *b)
{
    const check_collective *x = a, *y = b;
    if (x->group_id != y->group_id)
        return x->group_id < y->group_id ? -1 : 1;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static bool make_spans(groups *g, uint32_t which)
{
    check_one *one = &g->s->ones[which];
    for (size_t i = 0; i < one->collectives.n; i++) {
        check_collective *c = &one->collectives.at[i];
        c->group_id = intern_add(&g->names, (str){c->group.at, c->group.n});
        if (c->group_id == HASH_NONE)
            return false;
    }
    if (one->collectives.n > 1)
        qsort(one->collectives.at, one->collectives.n, sizeof *one->collectives.at,
              by_group_id);
    span_array *spans = &g->spans[which];
    for (uint32_t i = 0; i < one->collectives.n; i++) {
        const uint32_t id = one->collectives.at[i].group_id;
        if (spans->n == 0 || spans->at[spans->n - 1].group_id != id) {
            if (!array_push(spans, (span){id, i, 0}))
                return false;
        }
        spans->at[spans->n - 1].n++;
    }
    return true;
}

/* Counting sort of (group, rank) by group. */
static bool list_ranks(groups *g)
{
    const trace_distinct *d = g->s->distinct;
    size_t total = 0;
    g->first_rank = mem_array_zero((size_t)g->names.n + 2, sizeof *g->first_rank);
    if (g->first_rank == NULL)
        return false;
    for (uint32_t rank = 0; rank < d->n_ranks; rank++) {
        const span_array *spans = &g->spans[d->which[rank]];
        for (size_t i = 0; i < spans->n; i++, total++)
            g->first_rank[spans->at[i].group_id + 2]++;
    }
    if (total > UINT32_MAX || !array_reserve(&g->ranks, total))
        return false;
    for (uint32_t id = 2; id < g->names.n + 2; id++)
        g->first_rank[id] += g->first_rank[id - 1];
    for (uint32_t rank = 0; rank < d->n_ranks; rank++) {
        const span_array *spans = &g->spans[d->which[rank]];
        for (size_t i = 0; i < spans->n; i++)
            g->ranks.at[g->first_rank[spans->at[i].group_id + 1]++] = rank;
    }
    return true;
}

static span find_call_span(const groups *g, uint32_t which, uint32_t group_id)
{
    const span_array *spans = &g->spans[which];
    size_t low = 0, high = spans->n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (spans->at[mid].group_id < group_id)
            low = mid + 1;
        else
            high = mid;
    }
    if (low < spans->n && spans->at[low].group_id == group_id)
        return spans->at[low];
    return (span){group_id, 0, 0};
}

static const char *get_call_name(groups *g, check_code code, uint32_t group_id)
{
    const str name = intern_text(&g->names, group_id);
    return check_quote(g->s->found, code, (halley_bytes){name.at, name.n});
}

/* The group in words for a sentence: "group "1"" or "all ranks". */
static const char *group_words(groups *g, check_code code, uint32_t group_id)
{
    if (g->s->found->n[code] >= g->s->found->max_per_code)
        return "";
    if (intern_text(&g->names, group_id).n == 0)
        return "the group of all ranks";
    const char *words =
        arena_printf(&g->s->found->memory, "group %s", get_call_name(g, code, group_id));
    return words == NULL ? "group" : words;
}

/* One rank's collectives of the current group. */
typedef struct side {
    uint32_t rank, which;
    const halley_trace *trace;
    const check_collective *at;
    uint32_t n;
} side;

static side side_of(const groups *g, uint32_t rank, uint32_t group_id)
{
    const uint32_t which = g->s->distinct->which[rank];
    const span sp = find_call_span(g, which, group_id);
    const check_one *one = &g->s->ones[which];
    return (side){rank, which, g->s->distinct->trace[which],
                  sp.n == 0 ? NULL : one->collectives.at + sp.first, sp.n};
}

static bool is_same_call(const check_collective *a, const check_collective *b)
{
    return a->type == b->type && a->size_bytes == b->size_bytes;
}

static uint32_t first_difference(const side *a, const side *b)
{
    uint32_t i = 0;
    while (i < a->n && i < b->n && is_same_call(&a->at[i], &b->at[i]))
        i++;
    return i;
}

static int by_type_size(const void *a, const void *b)
{
    const check_collective *x = a, *y = b;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return (x->size_bytes > y->size_bytes) - (x->size_bytes < y->size_bytes);
}

/* Do both have the same collectives, in any order? Also false if memory ran out; then *ok
 * is false. */
static bool same_contents(const side *a, const side *b, bool *ok)
{
    check_collective *x = mem_array(a->n, sizeof *x);
    check_collective *y = mem_array(b->n, sizeof *y);
    *ok = x != NULL && y != NULL;
    bool equal = *ok && a->n == b->n;
    if (equal) {
        memcpy(x, a->at, a->n * sizeof *x);
        memcpy(y, b->at, b->n * sizeof *y);
        qsort(x, a->n, sizeof *x, by_type_size);
        qsort(y, b->n, sizeof *y, by_type_size);
    }
    for (uint32_t i = 0; equal && i < a->n; i++)
        equal = is_same_call(&x[i], &y[i]);
    free(x);
    free(y);
    return equal;
}

/* Does `from` depend on `on`, directly or through other nodes? */
static bool depends_on(groups *g, const halley_trace *trace, uint32_t from, uint32_t on,
                       bool *ok)
{
    const uint32_t n = halley_trace_count(trace);
    if (g->budget < n)
        return false;
    g->budget -= n;
    uint8_t *seen = mem_array_zero(n, 1);
    ARRAY(uint32_t) open = {0};
    *ok = seen != NULL && array_push(&open, from);
    bool found = false;
    while (*ok && !found && open.n > 0) {
        const uint32_t v = open.at[--open.n];
        const uint32_t n_deps = trace_deps_count(trace, v);
        for (uint32_t i = 0; *ok && i < n_deps; i++) {
            const uint32_t dep = trace_deps_index(trace, v, i);
            if (dep == HALLEY_NO_NODE || seen[dep])
                continue;
            seen[dep] = 1;
            found |= dep == on;
            *ok = array_push(&open, dep);
        }
    }
    free(seen);
    array_fini(&open);
    return found;
}

/* Must the rank run the node of i before that of j? It must if j depends on i, or if
 * neither has dependencies, because then the lower id goes first. */
static bool find_bound(groups *g, const side *s, uint32_t i, uint32_t j, bool *ok)
{
    const uint32_t early = s->at[i].node, late = s->at[j].node;
    if (trace_deps_count(s->trace, early) == 0 && trace_deps_count(s->trace, late) == 0)
        return true;
    return depends_on(g, s->trace, late, early, ok);
}

static uint32_t find_from(const side *s, uint32_t i, const check_collective *wanted)
{
    while (i + 1 < s->n && !is_same_call(&s->at[i], wanted))
        i++;
    return i;
}

static const char *describe_call(groups *g, check_code code, const check_collective *c)
{
    if (g->s->found->n[code] >= g->s->found->max_per_code)
        return "";
    const char *words =
        arena_printf(&g->s->found->memory, "%s of %" PRIu64 " bytes (node %" PRIu64 ")",
                     halley_coll_type_name(c->type), c->size_bytes, c->id);
    return words == NULL ? "" : words;
}

static bool tell_order(groups *g, const check_place *at, const side *ref,
                       const side *other, uint32_t p)
{
    const uint32_t q = find_from(other, p, &ref->at[p]);
    const uint32_t r = find_from(ref, p, &other->at[p]);
    bool ok = true, ok_too = true;
    const bool sure =
        find_bound(g, other, p, q, &ok) && find_bound(g, ref, p, r, &ok_too);
    const check_code code = sure ? CHECK_COLL_ORDER : CHECK_COLL_ORDER_UNSURE;
    check_add(g->s->found, code, at, other->at[p].node,
              sure ? "both wait for each other: give all ranks the same order"
                   : "give all ranks the same order to be sure",
              "collective %" PRIu32 " of %s is %s, but on rank %" PRIu32 " %s", p + 1,
              group_words(g, code, other->at[p].group_id),
              describe_call(g, code, &other->at[p]), ref->rank,
              describe_call(g, code, &ref->at[p]));
    return ok && ok_too;
}

static void tell_count(groups *g, const check_place *at, const side *ref,
                       const side *other, uint32_t p, uint32_t group_id)
{
    const char *extra = "";
    if (p < other->n && p < ref->n)
        extra = arena_printf(&g->s->found->memory,
                             "; the first that differs is number %" PRIu32
                             ", %s here and %s there",
                             p + 1, describe_call(g, CHECK_COLL_COUNT, &other->at[p]),
                             describe_call(g, CHECK_COLL_COUNT, &ref->at[p]));
    else if (p < other->n)
        extra = arena_printf(&g->s->found->memory, "; the first too many is %s",
                             describe_call(g, CHECK_COLL_COUNT, &other->at[p]));
    else if (p < ref->n)
        extra = arena_printf(&g->s->found->memory, "; the first missing is %s",
                             describe_call(g, CHECK_COLL_COUNT, &ref->at[p]));
    check_add(g->s->found, CHECK_COLL_COUNT, at,
              p < other->n ? other->at[p].node : HALLEY_NO_NODE,
              "the others wait for ever: every rank of a group takes part in each",
              "%" PRIu32 " collectives of %s, but rank %" PRIu32 " has %" PRIu32 "%s",
              other->n, group_words(g, CHECK_COLL_COUNT, group_id), ref->rank, ref->n,
              extra == NULL ? "" : extra);
}

static void tell_kind(groups *g, const check_place *at, const side *ref,
                      const side *other, uint32_t p)
{
    const bool type = ref->at[p].type != other->at[p].type;
    uint32_t n = 0;
    for (uint32_t i = p; i < ref->n; i++)
        n += !is_same_call(&ref->at[i], &other->at[i]);
    char more[64] = "";
    if (n > 1)
        snprintf(more, sizeof more, "; %" PRIu32 " more differ", n - 1);
    const check_code code = type ? CHECK_COLL_TYPE : CHECK_COLL_SIZE;
    check_add(g->s->found, code, at, other->at[p].node,
              type ? "give all ranks of the group the same type"
                   : "give all ranks of the group the same comm_size",
              "collective %" PRIu32 " of %s is %s, but on rank %" PRIu32 " %s%s", p + 1,
              group_words(g, code, other->at[p].group_id),
              describe_call(g, code, &other->at[p]), ref->rank,
              describe_call(g, code, &ref->at[p]), more);
}

/* The number of members with the same trace as this one. */
static uint32_t count_alike_calls(const groups *g, uint32_t which)
{
    uint32_t n = 0;
    for (uint32_t rank = 0; rank < g->s->distinct->n_ranks; rank++)
        n += g->member[rank] && g->s->distinct->which[rank] == which;
    return n;
}

static bool compare_calls(groups *g, const side *ref, const side *other,
                          uint32_t group_id)
{
    const uint32_t p = first_difference(ref, other);
    if (p == ref->n && p == other->n)
        return true;
    check_place at = check_place_of(g->s, other->rank);
    at.n_ranks = count_alike_calls(g, other->which);
    bool ok = true;
    if (ref->n != other->n)
        tell_count(g, &at, ref, other, p, group_id);
    else if (same_contents(ref, other, &ok))
        return tell_order(g, &at, ref, other, p);
    else
        tell_kind(g, &at, ref, other, p);
    return ok;
}

/* Report ranks that have collectives of a group they are not in. */
static void tell_strangers(groups *g, uint32_t group_id)
{
    for (uint32_t i = g->first_rank[group_id]; i < g->first_rank[group_id + 1]; i++) {
        const uint32_t rank = g->ranks.at[i];
        if (g->member[rank])
            continue;
        const check_place at = check_place_of(g->s, rank);
        const side s = side_of(g, rank, group_id);
        check_add(g->s->found, CHECK_GROUP_MEMBER, &at, s.at[0].node,
                  "correct pg_name or the ranks of the group",
                  "rank %" PRIu32 " takes part in %s, which it does not belong to", rank,
                  group_words(g, CHECK_GROUP_MEMBER, group_id));
    }
}

/* Fill g->member. Returns the number of members. */
static uint32_t find_members(groups *g, uint32_t group_id)
{
    const uint32_t n_ranks = g->s->distinct->n_ranks;
    const bool all = intern_text(&g->names, group_id).n == 0;
    memset(g->member, all, n_ranks);
    if (all)
        return n_ranks;
    const uint32_t declaration = g->declaration[group_id];
    const uint32_t *ranks = g->ranks.at + g->first_rank[group_id];
    uint32_t n = g->first_rank[group_id + 1] - g->first_rank[group_id];
    if (declaration != HASH_NONE) {
        ranks = g->declared.list.at[declaration].ranks;
        n = g->declared.list.at[declaration].n_ranks;
    }
    uint32_t n_members = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (ranks[i] >= n_ranks || g->member[ranks[i]])
            continue;
        g->member[ranks[i]] = 1;
        n_members++;
    }
    return n_members;
}

static void check_declared(groups *g, uint32_t group_id, uint32_t n_members)
{
    const uint32_t declaration = g->declaration[group_id];
    const check_place at = check_place_of(g->s, g->ranks.at[g->first_rank[group_id]]);
    if (declaration == HASH_NONE) {
        if (g->s->groups_path != NULL || g->s->groups != NULL)
            check_add(g->s->found, CHECK_GROUP_UNKNOWN, &at, HALLEY_NO_NODE,
                      "add it with its ranks", "group %s is not in %s",
                      get_call_name(g, CHECK_GROUP_UNKNOWN, group_id),
                      g->s->groups ? "the list of groups" : g->s->groups_path);
        else if (n_members == 1)
            check_add(g->s->found, CHECK_GROUP_ALONE, &at, HALLEY_NO_NODE,
                      "a collective needs two",
                      "only rank %" PRIu32 " has collectives of group %s", at.rank,
                      get_call_name(g, CHECK_GROUP_ALONE, group_id));
        return;
    }
    const trace_group *group = &g->declared.list.at[declaration];
    for (uint32_t i = 0; i < group->n_ranks; i++)
        if (group->ranks[i] >= g->s->distinct->n_ranks) {
            check_add(g->s->found, CHECK_GROUP_RANGE, &at, HALLEY_NO_NODE,
                      "add the traces of the other ranks, or correct the group",
                      "group %s has rank %" PRIu32 ", but there are ranks 0 to %" PRIu32
                      " only",
                      get_call_name(g, CHECK_GROUP_RANGE, group_id), group->ranks[i],
                      g->s->distinct->n_ranks - 1);
            return;
        }
}

static bool check_group_calls(groups *g, uint32_t group_id)
{
    if (g->first_rank[group_id] == g->first_rank[group_id + 1])
        return true;
    const uint32_t n_members = find_members(g, group_id);
    if (intern_text(&g->names, group_id).n > 0)
        check_declared(g, group_id, n_members);
    tell_strangers(g, group_id);
    uint32_t lowest = 0;
    while (lowest < g->s->distinct->n_ranks && !g->member[lowest])
        lowest++;
    if (n_members < 2)
        return true;
    const side ref = side_of(g, lowest, group_id);
    g->told[ref.which] = group_id + 1;
    for (uint32_t rank = lowest + 1; rank < g->s->distinct->n_ranks; rank++) {
        const uint32_t which = g->s->distinct->which[rank];
        if (!g->member[rank] || g->told[which] == group_id + 1)
            continue;
        g->told[which] = group_id + 1;
        const side other = side_of(g, rank, group_id);
        if (!compare_calls(g, &ref, &other, group_id))
            return false;
    }
    return true;
}

static halley_status read_nodes(groups *g, halley_error *err)
{
    const trace_distinct *d = g->s->distinct;
    for (uint32_t i = 0; i < d->n; i++) {
        const check_one *one = &g->s->ones[i];
        for (size_t j = 0; j < one->group_nodes.n; j++) {
            const halley_io in = halley_node_inputs(d->trace[i], one->group_nodes.at[j]);
            TRY(trace_groups_parse(&g->declared, in.values, err));
        }
    }
    return HALLEY_OK;
}

static bool same_ranks(const trace_group *a, const trace_group *b)
{
    return a->n_ranks == b->n_ranks &&
           (a->n_ranks == 0 ||
            memcmp(a->ranks, b->ranks, a->n_ranks * sizeof *a->ranks) == 0);
}

/* Take the groups. The owner keeps their names and ranks. */
static halley_status take_groups(groups *g, const trace_groups *from, halley_error *err)
{
    for (size_t i = 0; i < from->list.n; i++)
        if (!array_push(&g->declared.list, from->list.at[i]))
            return error_nomem(err);
    return HALLEY_OK;
}

/* Connect declarations to groups. The first declaration of a name counts. */
static halley_status read_declarations(groups *g, halley_error *err)
{
    if (g->s->groups != NULL)
        TRY(take_groups(g, g->s->groups, err));
    else if (g->s->groups_path != NULL)
        TRY(trace_groups_load(&g->declared, g->s->groups_path, err));
    else
        TRY(read_nodes(g, err));
    g->declaration = mem_array(g->names.n, sizeof *g->declaration);
    if (g->declaration == NULL)
        return error_nomem(err);
    memset(g->declaration, 0xFF, g->names.n * sizeof *g->declaration);
    for (uint32_t i = 0; i < g->declared.list.n; i++) {
        const trace_group *group = &g->declared.list.at[i];
        const uint32_t id = intern_find(&g->names, group->name);
        if (id == HASH_NONE)
            continue;
        if (g->declaration[id] == HASH_NONE) {
            g->declaration[id] = i;
        } else if (!same_ranks(&g->declared.list.at[g->declaration[id]], group)) {
            const check_place at = check_place_of(g->s, 0);
            check_add(g->s->found, CHECK_GROUP_CONFLICT, &at, HALLEY_NO_NODE,
                      "make all process_group:init nodes agree",
                      "ranks do not agree on the members of group %s",
                      get_call_name(g, CHECK_GROUP_CONFLICT, id));
        }
    }
    return HALLEY_OK;
}

static halley_status check_all(groups *g, halley_error *err)
{
    const trace_distinct *d = g->s->distinct;
    g->spans = mem_array_zero(d->n, sizeof *g->spans);
    g->member = mem_array_zero(d->n_ranks, 1);
    g->told = mem_array_zero(d->n, sizeof *g->told);
    if (g->spans == NULL || g->member == NULL || g->told == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < d->n; i++)
        if (!make_spans(g, i))
            return error_nomem(err);
    TRY(read_declarations(g, err));
    if (!list_ranks(g))
        return error_nomem(err);
    for (uint32_t id = 0; id < g->names.n; id++)
        if (!check_group_calls(g, id))
            return error_nomem(err);
    return HALLEY_OK;
}

halley_status check_coll(check_set *s, halley_error *err)
{
    groups g = {.s = s, .budget = ORDER_BUDGET};
    const halley_status status = check_all(&g, err);
    for (uint32_t i = 0; g.spans != NULL && i < s->distinct->n; i++)
        array_fini(&g.spans[i]);
    free(g.spans);
    free(g.member);
    free(g.told);
    free(g.declaration);
    free(g.first_rank);
    array_fini(&g.ranks);
    trace_groups_fini(&g.declared);
    intern_fini(&g.names);
    return status;
}
