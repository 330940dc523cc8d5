/*
 * sim/symmetry/check.c - compares every object exactly with the first of its class,
 * because refinement compared only hashes. It also sums up the load that classes of
 * carriers put on classes of links.
 */
#include "base/hash.h"
#include "sim/symmetry/graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef ARRAY(uint64_t) pair_array;

typedef struct checker {
    const symmetry_graph *g;
    const symmetry_partition *p;
    uint32_t *carriers; /* sorted by class of carriers, ascending within a class */
    uint32_t *classes_at;
    uint32_t *marks; /* by class of ranks or links */
    uint32_t mark;
    pair_array mine, theirs;
    uint64_t *sums;   /* by link */
    uint32_t *counts; /* by link: carriers */
    ARRAY(uint32_t) touched;
    uint32_t *n_touched; /* by class of links */
    halley_error *err;
} checker;

static halley_status report_difference(const checker *c, const char *what, uint32_t a,
                                       uint32_t b)
{
    return error_set(c->err, HALLEY_EINVAL,
                     "internal error: %s %u and %u are not alike, though hashes said so; "
                     "use --no-fold",
                     what, a, b);
}

static halley_status check_ranks(const checker *c)
{
    const symmetry_graph *g = c->g;
    const symmetry_classes *ranks = &c->p->ranks;
    for (uint32_t r = 0; r < g->n_ranks; r++) {
        const uint32_t first = ranks->first[ranks->of[r]];
        assert(first <= r && ranks->of[first] == ranks->of[r]);
        const uint32_t n = g->slots_at[r + 1] - g->slots_at[r];
        bool same = g->rank_colours[r] == g->rank_colours[first] &&
                    n == g->slots_at[first + 1] - g->slots_at[first];
        for (uint32_t i = 0; same && i < n; i++) {
            const uint32_t x = g->slots[g->slots_at[r] + i];
            const uint32_t y = g->slots[g->slots_at[first] + i];
            same = (x == SYMMETRY_NONE) == (y == SYMMETRY_NONE) &&
                   (x == SYMMETRY_NONE || c->p->carriers.of[x] == c->p->carriers.of[y]);
        }
        if (!same)
            return report_difference(c, "ranks", first, r);
    }
    return HALLEY_OK;
}

static int compare_pairs(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void sort_unique(pair_array *a)
{
    size_t n = 0;
    if (a->n > 1)
        qsort(a->at, a->n, sizeof *a->at, compare_pairs);
    for (size_t i = 0; i < a->n; i++)
        if (i == 0 || a->at[i] != a->at[n - 1])
            a->at[n++] = a->at[i];
    a->n = n;
}

/* Collect labels and classes of a carrier's members, each pair once. */
static bool collect_members(pair_array *out, checker *c, uint32_t carrier)
{
    const symmetry_graph *g = c->g;
    const uint32_t from = g->members_at[carrier];
    out->n = 0;
    c->mark++;
    for (uint32_t m = from; m < g->members_at[carrier + 1]; m++) {
        const uint32_t class_id = c->p->ranks.of[g->members[m].rank];
        assert(class_id < c->p->ranks.n);
        if (g->members[m].label == g->members[from].label) {
            if (c->marks[class_id] == c->mark)
                continue;
            c->marks[class_id] = c->mark;
        }
        if (!array_push(out, (uint64_t)g->members[m].label << 32 | class_id))
            return false;
    }
    sort_unique(out);
    return true;
}

/* Collect shapes and classes of the links that a carrier uses. */
static bool collect_links(pair_array *out, checker *c, uint32_t carrier)
{
    const symmetry_graph *g = c->g;
    out->n = 0;
    for (uint32_t s = g->shapes_at[carrier]; s < g->shapes_at[carrier + 1]; s++) {
        c->mark++;
        for (uint32_t h = g->hops_at[s]; h < g->hops_at[s + 1]; h++) {
            const uint32_t class_id = c->p->links.of[g->hop_links.at[h]];
            assert(class_id < c->p->links.n);
            if (c->marks[class_id] == c->mark)
                continue;
            c->marks[class_id] = c->mark;
            if (!array_push(out, (uint64_t)(s - g->shapes_at[carrier]) << 32 | class_id))
                return false;
        }
    }
    sort_unique(out);
    return true;
}

static bool is_same_set(const pair_array *a, const pair_array *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->at, b->at, a->n * sizeof *a->at) == 0);
}

typedef bool collector(pair_array *out, checker *c, uint32_t carrier);

static halley_status check_carrier_class(checker *c, uint32_t class_id,
                                         collector *collect)
{
    const symmetry_graph *g = c->g;
    const uint32_t first = c->carriers[c->classes_at[class_id]];
    assert(first == c->p->carriers.first[class_id]);
    if (!collect(&c->theirs, c, first))
        return error_nomem(c->err);
    for (uint32_t i = c->classes_at[class_id] + 1; i < c->classes_at[class_id + 1]; i++) {
        const uint32_t carrier = c->carriers[i];
        if (!collect(&c->mine, c, carrier))
            return error_nomem(c->err);
        if (!is_same_set(&c->mine, &c->theirs) ||
            g->carrier_colours[carrier] != g->carrier_colours[first] ||
            g->shapes_at[carrier + 1] - g->shapes_at[carrier] !=
                g->shapes_at[first + 1] - g->shapes_at[first])
            return report_difference(c, "carriers", first, carrier);
    }
    return HALLEY_OK;
}

/* Sum up what all carriers of a class put on each link with one shape. */
static halley_status sum_shape(checker *c, uint32_t class_id, uint32_t shape)
{
    const symmetry_graph *g = c->g;
    for (uint32_t i = c->classes_at[class_id]; i < c->classes_at[class_id + 1]; i++) {
        const uint32_t s = g->shapes_at[c->carriers[i]] + shape;
        for (uint32_t h = g->hops_at[s]; h < g->hops_at[s + 1]; h++) {
            const uint32_t link = g->hop_links.at[h];
            if (c->counts[link]++ == 0 && !array_push(&c->touched, link))
                return error_nomem(c->err);
            if (__builtin_add_overflow(c->sums[link],
                                       g->coefficients.at[g->hop_coefficients.at[h]],
                                       &c->sums[link]) ||
                c->sums[link] >> 62 != 0)
                return error_set(c->err, HALLEY_ELIMIT,
                                 "a link carries more than 2^22 collectives or messages "
                                 "of one kind at a time");
        }
    }
    return HALLEY_OK;
}

/* Check that the sums are equal within every class of links; they become the class's
 * load. */
static halley_status take_shape(symmetry_loads *out, checker *c)
{
    const symmetry_classes *links = &c->p->links;
    for (size_t i = 0; i < c->touched.n; i++) {
        const uint32_t link = c->touched.at[i], class_id = links->of[link];
        const uint32_t first = links->first[class_id];
        if (c->sums[link] != c->sums[first] || c->counts[link] != c->counts[first] ||
            c->g->link_colours[link] != c->g->link_colours[first])
            return report_difference(c, "links", first, link);
        c->n_touched[class_id]++;
        if (link == first &&
            !array_push(&out->loads,
                        (symmetry_load){class_id, c->counts[link], c->sums[link]}))
            return error_nomem(c->err);
    }
    for (size_t i = 0; i < c->touched.n; i++) {
        const uint32_t class_id = links->of[c->touched.at[i]];
        if (c->n_touched[class_id] != links->counts[class_id])
            return report_difference(c, "links", links->first[class_id],
                                     c->touched.at[i]);
    }
    return HALLEY_OK;
}

static void clear_shape(checker *c)
{
    for (size_t i = 0; i < c->touched.n; i++) {
        const uint32_t link = c->touched.at[i];
        c->sums[link] = 0;
        c->counts[link] = 0;
        c->n_touched[c->p->links.of[link]] = 0;
    }
    c->touched.n = 0;
}

static int compare_loads(const void *a, const void *b)
{
    const symmetry_load *x = a, *y = b;
    return x->link_class < y->link_class ? -1 : x->link_class > y->link_class;
}

static halley_status check_shapes(symmetry_loads *out, checker *c, uint32_t class_id)
{
    const uint32_t first = c->p->carriers.first[class_id];
    const uint32_t n = c->g->shapes_at[first + 1] - c->g->shapes_at[first];
    out->shapes_at[class_id + 1] = out->shapes_at[class_id] + n;
    for (uint32_t s = 0; s < n; s++) {
        const size_t before = out->loads.n;
        TRY(sum_shape(c, class_id, s));
        TRY(take_shape(out, c));
        clear_shape(c);
        if (out->loads.n - before > 1)
            qsort(out->loads.at + before, out->loads.n - before, sizeof *out->loads.at,
                  compare_loads);
        out->loads_at[out->shapes_at[class_id] + s + 1] = (uint32_t)out->loads.n;
    }
    return HALLEY_OK;
}

/* Sort carriers by class: count, sum up, fill. */
static bool sort_carriers(checker *c)
{
    const symmetry_classes *k = &c->p->carriers;
    c->classes_at = mem_array_zero((size_t)k->n + 2, sizeof *c->classes_at);
    c->carriers = mem_array(c->g->n_carriers, sizeof *c->carriers);
    if (c->classes_at == NULL || c->carriers == NULL)
        return false;
    for (uint32_t i = 0; i < c->g->n_carriers; i++)
        c->classes_at[k->of[i] + 2]++;
    for (uint32_t i = 1; i <= k->n; i++)
        c->classes_at[i + 1] += c->classes_at[i];
    for (uint32_t i = 0; i < c->g->n_carriers; i++)
        c->carriers[c->classes_at[k->of[i] + 1]++] = i;
    return true;
}

static uint32_t count_class_shapes(const checker *c)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < c->p->carriers.n; k++) {
        const uint32_t first = c->p->carriers.first[k];
        n += c->g->shapes_at[first + 1] - c->g->shapes_at[first];
    }
    return n;
}

static bool init_checker(checker *c, symmetry_loads *out)
{
    const symmetry_partition *p = c->p;
    const uint32_t most = p->ranks.n > p->links.n ? p->ranks.n : p->links.n;
    c->marks = mem_array_zero(most, sizeof *c->marks);
    c->sums = mem_array_zero(c->g->n_links, sizeof *c->sums);
    c->counts = mem_array_zero(c->g->n_links, sizeof *c->counts);
    c->n_touched = mem_array_zero(p->links.n, sizeof *c->n_touched);
    out->shapes_at = mem_array_zero((size_t)p->carriers.n + 1, sizeof *out->shapes_at);
    out->loads_at =
        mem_array_zero((size_t)count_class_shapes(c) + 1, sizeof *out->loads_at);
    return c->marks != NULL && c->sums != NULL && c->counts != NULL &&
           c->n_touched != NULL && out->shapes_at != NULL && out->loads_at != NULL &&
           sort_carriers(c);
}

static halley_status run_checks(symmetry_loads *out, checker *c)
{
    TRY(check_ranks(c));
    for (uint32_t k = 0; k < c->p->carriers.n; k++) {
        TRY(check_carrier_class(c, k, collect_members));
        TRY(check_carrier_class(c, k, collect_links));
        TRY(check_shapes(out, c, k));
    }
    return HALLEY_OK;
}

halley_status symmetry_check(symmetry_loads *out, const symmetry_graph *g,
                             const symmetry_partition *p, halley_error *err)
{
    checker c = {.g = g, .p = p, .err = err};
    *out = (symmetry_loads){0};
    const halley_status status =
        init_checker(&c, out) ? run_checks(out, &c) : error_nomem(err);
    free(c.carriers);
    free(c.classes_at);
    free(c.marks);
    free(c.sums);
    free(c.counts);
    free(c.n_touched);
    array_fini(&c.mine);
    array_fini(&c.theirs);
    array_fini(&c.touched);
    if (status != HALLEY_OK)
        symmetry_loads_fini(out);
    return status;
}

void symmetry_loads_fini(symmetry_loads *l)
{
    free(l->shapes_at);
    free(l->loads_at);
    array_fini(&l->loads);
    *l = (symmetry_loads){0};
}
