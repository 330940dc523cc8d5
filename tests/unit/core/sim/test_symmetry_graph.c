/*
 * Partitions of random graphs of ranks, carriers and links: refinement against a slow
 * obvious one that compares everything with everything, and with each of its conditions
 * left out, which the exact check must notice.
 */
#include "base/rng.h"
#include "sim/symmetry/graph.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 24, MOST_CARRIERS = 24, MOST_LINKS = 16, MOST_SLOTS = 3 };

static uint32_t draw(rng *r, uint32_t n)
{
    return (uint32_t)rng_below(r, n);
}

/* Groups of equal size over ranks in a row or apart; each on links drawn by a rule that
 * is mostly the same for all, and sometimes not. */
static symmetry_graph make_graph(rng *r)
{
    const uint32_t size = 2 + draw(r, 3), n_groups = 2 + draw(r, 4);
    symmetry_graph g = {.n_ranks = size * n_groups};
    g.n_links = n_groups + 1 + draw(r, 3);
    g.n_carriers = n_groups + (draw(r, 2) ? size : 0);
    const bool across = g.n_carriers > n_groups;
    g.rank_colours = mem_array_zero(g.n_ranks, sizeof *g.rank_colours);
    g.slots_at = mem_array_zero(g.n_ranks + 1, sizeof *g.slots_at);
    g.slots = mem_array_zero((size_t)g.n_ranks * 2, sizeof *g.slots);
    g.carrier_colours = mem_array_zero(g.n_carriers, sizeof *g.carrier_colours);
    g.members_at = mem_array_zero(g.n_carriers + 1, sizeof *g.members_at);
    g.members = mem_array_zero((size_t)g.n_ranks * 2, sizeof *g.members);
    g.shapes_at = mem_array_zero(g.n_carriers + 1, sizeof *g.shapes_at);
    g.hops_at = mem_array_zero(g.n_carriers + 1, sizeof *g.hops_at);
    g.link_colours = mem_array_zero(g.n_links, sizeof *g.link_colours);
    if (draw(r, 3) == 0)
        g.rank_colours[draw(r, g.n_ranks)] = 1;
    if (draw(r, 3) == 0)
        g.link_colours[draw(r, g.n_links)] = 1;
    for (uint32_t i = 0; i < g.n_ranks; i++) {
        g.slots_at[i + 1] = g.slots_at[i] + 2;
        g.slots[2 * i] = i / size;
        g.slots[2 * i + 1] = across ? n_groups + i % size : SYMMETRY_NONE;
    }
    uint32_t n = 0;
    for (uint32_t c = 0; c < g.n_carriers; c++) {
        const uint32_t label = c >= n_groups;
        g.members_at[c] = n;
        for (uint32_t i = 0; i < g.n_ranks; i++)
            if (g.slots[2 * i + label] == c)
                g.members[n++] = (symmetry_member){i, label};
    }
    g.members_at[g.n_carriers] = n;
    assert_true(array_push(&g.coefficients, 1) && array_push(&g.coefficients, 2));
    const uint32_t shared = draw(r, 3), odd = draw(r, g.n_carriers * 2);
    for (uint32_t c = 0; c < g.n_carriers; c++) {
        const uint32_t own = c < n_groups ? c : draw(r, 2) ? 0 : c % n_groups;
        assert_true(array_push(&g.hop_links, own) &&
                    array_push(&g.hop_coefficients, c == odd));
        if (shared > 0 && !(shared == 2 && c % 2 != 0))
            assert_true(array_push(&g.hop_links, g.n_links - 1) &&
                        array_push(&g.hop_coefficients, 0));
        g.shapes_at[c + 1] = c + 1;
        g.hops_at[c + 1] = (uint32_t)g.hop_links.n;
    }
    return g;
}

/* Does carrier c, by its one shape, put something on a link? The sum of coefficients. */
static uint64_t load_of(const symmetry_graph *g, uint32_t c, uint32_t link)
{
    uint64_t sum = 0;
    for (uint32_t h = g->hops_at[c]; h < g->hops_at[c + 1]; h++)
        sum += g->hop_links.at[h] == link ? g->coefficients.at[g->hop_coefficients.at[h]]
                                          : 0;
    return sum;
}

typedef struct colours {
    uint32_t ranks[MOST_RANKS], carriers[MOST_CARRIERS], links[MOST_LINKS];
} colours;

static bool same_rank(const symmetry_graph *g, const colours *k, uint32_t a, uint32_t b)
{
    bool same = g->rank_colours[a] == g->rank_colours[b] && k->ranks[a] == k->ranks[b];
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t x = g->slots[2 * a + i], y = g->slots[2 * b + i];
        same = same && (x == SYMMETRY_NONE) == (y == SYMMETRY_NONE) &&
               (x == SYMMETRY_NONE || k->carriers[x] == k->carriers[y]);
    }
    return same;
}

static bool has_member(const symmetry_graph *g, const colours *k, uint32_t c,
                       uint32_t colour, uint32_t label)
{
    for (uint32_t i = g->members_at[c]; i < g->members_at[c + 1]; i++)
        if (g->members[i].label == label && k->ranks[g->members[i].rank] == colour)
            return true;
    return false;
}

static bool uses_colour(const symmetry_graph *g, const colours *k, uint32_t c,
                        uint32_t colour)
{
    for (uint32_t l = 0; l < g->n_links; l++)
        if (k->links[l] == colour && load_of(g, c, l) > 0)
            return true;
    return false;
}

static bool same_carrier(const symmetry_graph *g, const colours *k, uint32_t a,
                         uint32_t b)
{
    bool same = g->carrier_colours[a] == g->carrier_colours[b] &&
                k->carriers[a] == k->carriers[b];
    for (uint32_t colour = 0; colour < MOST_RANKS; colour++)
        for (uint32_t label = 0; label < 2; label++)
            same = same && has_member(g, k, a, colour, label) ==
                               has_member(g, k, b, colour, label);
    for (uint32_t colour = 0; colour < MOST_LINKS; colour++)
        same = same && uses_colour(g, k, a, colour) == uses_colour(g, k, b, colour);
    return same;
}

static bool same_link(const symmetry_graph *g, const colours *k, uint32_t a, uint32_t b)
{
    bool same = g->link_colours[a] == g->link_colours[b] && k->links[a] == k->links[b];
    for (uint32_t colour = 0; same && colour < MOST_CARRIERS; colour++) {
        uint64_t x = 0, y = 0;
        for (uint32_t c = 0; c < g->n_carriers; c++)
            if (k->carriers[c] == colour) {
                x += load_of(g, c, a) + ((uint64_t)(load_of(g, c, a) > 0) << 32);
                y += load_of(g, c, b) + ((uint64_t)(load_of(g, c, b) > 0) << 32);
            }
        same = x == y;
    }
    return same;
}

typedef bool compare(const symmetry_graph *g, const colours *k, uint32_t a, uint32_t b);

static uint32_t split(uint32_t *to, const symmetry_graph *g, const colours *k,
                      compare *same, uint32_t n)
{
    uint32_t n_classes = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = 0;
        while (j < i && !same(g, k, i, j))
            j++;
        to[i] = j < i ? to[j] : n_classes++;
    }
    return n_classes;
}

/* Everything is compared with everything until nothing splits. */
static colours refine_slowly(const symmetry_graph *g)
{
    colours k = {0}, next = {0};
    for (uint32_t before = 0, now = 1; now > before;) {
        before = now;
        now = split(next.links, g, &k, same_link, g->n_links);
        now += split(next.carriers, g, &k, same_carrier, g->n_carriers);
        now += split(next.ranks, g, &k, same_rank, g->n_ranks);
        k = next;
    }
    return k;
}

static void assert_same_classes(const uint32_t *a, const uint32_t *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < i; j++)
            if (a[i] != SYMMETRY_NONE && a[j] != SYMMETRY_NONE)
                assert_int_equal(a[i] == a[j], b[i] == b[j]);
}

static void refinement_finds_what_comparing_all_pairs_finds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        rng r = rng_seed(seed);
        symmetry_graph g = make_graph(&r);
        const colours k = refine_slowly(&g);
        symmetry_partition p;
        symmetry_loads loads;
        assert_int_equal(symmetry_refine(&p, &g, SYMMETRY_WHOLE, NULL), HALLEY_OK);
        assert_same_classes(p.ranks.of, k.ranks, g.n_ranks);
        assert_same_classes(p.carriers.of, k.carriers, g.n_carriers);
        assert_same_classes(p.links.of, k.links, g.n_links);
        assert_int_equal(symmetry_check(&loads, &g, &p, NULL), HALLEY_OK);
        symmetry_loads_fini(&loads);
        symmetry_partition_fini(&p);
        symmetry_graph_fini(&g);
    }
}

static uint32_t count_classes(const symmetry_partition *p)
{
    return p->ranks.n + p->carriers.n + p->links.n;
}

/* With a condition left out some partitions get coarser; the check finds all of them. */
static void every_condition_is_needed_and_checked(void **state)
{
    (void)state;
    uint32_t n_coarser[SYMMETRY_N_MUTATIONS] = {0};
    for (uint64_t seed = 1; seed <= 400; seed++) {
        rng r = rng_seed(seed);
        symmetry_graph g = make_graph(&r);
        symmetry_partition whole;
        assert_int_equal(symmetry_refine(&whole, &g, SYMMETRY_WHOLE, NULL), HALLEY_OK);
        for (int m = SYMMETRY_WHOLE + 1; m < SYMMETRY_N_MUTATIONS; m++) {
            symmetry_partition p;
            symmetry_loads loads;
            halley_error err = {0};
            assert_int_equal(symmetry_refine(&p, &g, (symmetry_mutation)m, NULL),
                             HALLEY_OK);
            const bool coarser = count_classes(&p) < count_classes(&whole);
            n_coarser[m] += coarser;
            const halley_status status = symmetry_check(&loads, &g, &p, &err);
            assert_int_equal(status, coarser ? HALLEY_EINVAL : HALLEY_OK);
            if (status == HALLEY_OK)
                symmetry_loads_fini(&loads);
            symmetry_partition_fini(&p);
        }
        symmetry_partition_fini(&whole);
        symmetry_graph_fini(&g);
    }
    for (int m = SYMMETRY_WHOLE + 1; m < SYMMETRY_N_MUTATIONS; m++) {
        print_message("without condition %d: %u coarser\n", m, n_coarser[m]);
        assert_true(n_coarser[m] > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refinement_finds_what_comparing_all_pairs_finds),
        cmocka_unit_test(every_condition_is_needed_and_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
