/*
 * sim/symmetry/refine.c - refines colours until no class splits any more.
 *
 * In each round, the signature of an object is its colour and a hash of its edges. The
 * hash is a sum of pseudo-random words, which are drawn from the colours at the other
 * ends. The sums of links are accumulated during the pass over the carriers, so no list
 * from links to carriers is needed. Where a condition is about a set, each colour counts
 * once per object.
 *
 * Objects with equal signatures (128 bits) get equal colours. Colours are numbered by
 * their first object, so the result does not depend on hash values. Afterwards check.c
 * compares exactly.
 */
#include "base/hash.h"
#include "sim/symmetry/graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct signature {
    uint64_t a, b;
} signature;

typedef struct refiner {
    const symmetry_graph *g;
    symmetry_mutation mutation;
    symmetry_classes *ranks, *carriers, *links;
    signature *sums;       /* by object of the sort that is being recoloured */
    ARRAY(uint32_t) marks; /* by colour of a link or a rank: the last that counted it */
    uint32_t mark;
    uint32_t *slots; /* hash table of a round; SYMMETRY_NONE = free */
    size_t n_slots;
    ARRAY(uint32_t) new_first; /* by new colour: first object */
    ARRAY(uint32_t) old_of;    /* by new colour: the old one */
    bool failed;               /* no memory */
    uint32_t round;
} refiner;

static uint64_t mix_bits(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

/* Two pseudo-random words for a colour and a label. */
static signature draw_words(uint32_t colour, uint32_t label)
{
    const uint64_t x = (uint64_t)label << 32 | colour;
    return (signature){mix_bits(x + UINT64_C(0x9e3779b97f4a7c15)),
                       mix_bits(x ^ UINT64_C(0xc2b2ae3d27d4eb4f)) | 1};
}

static void add_words(signature *to, signature words, uint64_t times)
{
    to->a += words.a * times;
    to->b += words.b * times;
}

static uint64_t hash_signature(const signature *s, uint32_t colour)
{
    return mix_bits(s->a ^ mix_bits(s->b + colour));
}

/* Double the hash table of new colours. */
static bool grow_table(refiner *f)
{
    const size_t n = f->n_slots * 2;
    uint32_t *slots = mem_array(n, sizeof *slots);
    if (slots == NULL)
        return false;
    memset(slots, 0xff, n * sizeof *slots);
    for (uint32_t k = 0; k < f->new_first.n; k++) {
        const uint32_t i = f->new_first.at[k];
        size_t at = hash_signature(&f->sums[i], f->old_of.at[k]) & (n - 1);
        while (slots[at] != SYMMETRY_NONE)
            at = (at + 1) & (n - 1);
        slots[at] = k;
    }
    free(f->slots);
    f->slots = slots;
    f->n_slots = n;
    return true;
}

/* The new colour of an object with colour `old`; SYMMETRY_NONE: no memory. */
static uint32_t find_colour(refiner *f, uint32_t old, uint32_t i)
{
    assert((f->n_slots & (f->n_slots - 1)) == 0 && f->new_first.n < f->n_slots);
    size_t at = hash_signature(&f->sums[i], old) & (f->n_slots - 1);
    for (;; at = (at + 1) & (f->n_slots - 1)) {
        const uint32_t colour = f->slots[at];
        if (colour == SYMMETRY_NONE)
            break;
        const uint32_t first = f->new_first.at[colour];
        if (f->old_of.at[colour] == old && f->sums[first].a == f->sums[i].a &&
            f->sums[first].b == f->sums[i].b)
            return colour;
    }
    f->slots[at] = (uint32_t)f->new_first.n;
    if (!array_push(&f->new_first, i) || !array_push(&f->old_of, old) ||
        (f->new_first.n * 2 > f->n_slots && !grow_table(f)))
        return SYMMETRY_NONE;
    return (uint32_t)f->new_first.n - 1;
}

/* A class that keeps its first object keeps its identity; the others split off from it.
 */
static bool take_colours(refiner *f, symmetry_classes *c)
{
    const uint32_t n = (uint32_t)f->new_first.n;
    uint32_t *first = mem_array(n, sizeof *first);
    uint32_t *apart = mem_array(n, sizeof *apart);
    uint32_t *rounds = mem_array(n, sizeof *rounds);
    const bool room = first != NULL && apart != NULL && rounds != NULL;
    for (uint32_t k = 0; room && k < n; k++) {
        first[k] = f->new_first.at[k];
        const uint32_t old = f->old_of.at[k];
        assert(old < c->n && c->first[old] <= first[k]);
        const bool same = c->first[old] == first[k];
        rounds[k] = same ? c->rounds[old] : f->round;
        apart[k] = same ? c->apart_from[old] : c->first[old];
    }
    free(c->first);
    free(c->apart_from);
    free(c->rounds);
    c->first = first;
    c->apart_from = apart;
    c->rounds = rounds;
    c->n = n;
    return room;
}

/* Make room for the marks of n colours. */
static bool grow_marks(refiner *f, uint32_t n)
{
    while (f->marks.n < n)
        if (!array_push(&f->marks, 0))
            return false;
    return true;
}

/* Compute new colours from the old ones and f->sums. Their number is unchanged if nothing
 * splits. */
static void recolour(refiner *f, symmetry_classes *c, uint32_t n)
{
    memset(f->slots, 0xff, f->n_slots * sizeof *f->slots);
    f->new_first.n = f->old_of.n = 0;
    for (uint32_t i = 0; i < n && !f->failed; i++) {
        if (c->of[i] == SYMMETRY_NONE)
            continue;
        c->of[i] = find_colour(f, c->of[i], i);
        f->failed = c->of[i] == SYMMETRY_NONE;
    }
    assert(f->failed || f->new_first.n >= c->n);
    f->failed = f->failed || !take_colours(f, c) || !grow_marks(f, c->n);
}

static void clear_sums(refiner *f, uint32_t n)
{
    memset(f->sums, 0, (size_t)n * sizeof *f->sums);
}

/* Recolour links by the loads of carriers on them. */
static void colour_links(refiner *f)
{
    const symmetry_graph *g = f->g;
    clear_sums(f, g->n_links);
    for (uint32_t c = 0; c < g->n_carriers && f->mutation != SYMMETRY_WITHOUT_SUMS; c++)
        for (uint32_t s = g->shapes_at[c]; s < g->shapes_at[c + 1]; s++) {
            const uint32_t shape = s - g->shapes_at[c];
            const signature words = draw_words(f->carriers->of[c], shape);
            const signature counts =
                draw_words(f->carriers->of[c], shape ^ UINT32_C(0x2aaaaaaa));
            for (uint32_t h = g->hops_at[s]; h < g->hops_at[s + 1]; h++) {
                signature *to = &f->sums[g->hop_links.at[h]];
                if (f->mutation == SYMMETRY_SUMS_AS_SETS) {
                    to->a |= words.a; /* an idempotent sum, for tests */
                    to->b |= words.b;
                } else {
                    add_words(to, words, g->coefficients.at[g->hop_coefficients.at[h]]);
                    add_words(to, counts, 1);
                }
            }
        }
    recolour(f, f->links, g->n_links);
}

static signature draw_member(uint32_t colour, uint32_t label)
{
    return draw_words(colour, label ^ UINT32_C(0x55555555));
}

/* Add the members that have the first member's label. In most groups all members have it.
 */
static void add_member_set(refiner *f, signature *to, uint32_t carrier)
{
    const symmetry_graph *g = f->g;
    f->mark++;
    for (uint32_t m = g->members_at[carrier]; m < g->members_at[carrier + 1]; m++) {
        const symmetry_member *member = &g->members[m];
        const uint32_t colour = f->ranks->of[member->rank];
        assert(colour < f->ranks->n && colour < f->marks.n);
        if (member->label != g->members[g->members_at[carrier]].label ||
            f->marks.at[colour] == f->mark)
            continue;
        f->marks.at[colour] = f->mark;
        add_words(to, draw_member(colour, member->label), 1);
    }
}

static int compare_pairs(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Add the members with other labels: sort the pairs, and count each once. False: no
 * memory. */
static bool add_rest_set(refiner *f, signature *to, uint32_t carrier)
{
    const symmetry_graph *g = f->g;
    const uint32_t from = g->members_at[carrier], end = g->members_at[carrier + 1];
    uint32_t n = 0;
    for (uint32_t m = from; m < end; m++)
        n += g->members[m].label != g->members[from].label;
    if (n == 0)
        return true;
    uint64_t small[64], *pairs = n <= 64 ? small : mem_array(n, sizeof *pairs);
    if (pairs == NULL)
        return false;
    n = 0;
    for (uint32_t m = from; m < end; m++)
        if (g->members[m].label != g->members[from].label)
            pairs[n++] =
                (uint64_t)g->members[m].label << 32 | f->ranks->of[g->members[m].rank];
    qsort(pairs, n, sizeof *pairs, compare_pairs);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || pairs[i] != pairs[i - 1])
            add_words(to, draw_member((uint32_t)pairs[i], (uint32_t)(pairs[i] >> 32)), 1);
    if (pairs != small)
        free(pairs);
    return true;
}

static void add_link_sets(refiner *f, signature *to, uint32_t carrier)
{
    const symmetry_graph *g = f->g;
    for (uint32_t s = g->shapes_at[carrier]; s < g->shapes_at[carrier + 1]; s++) {
        const uint32_t label = (s - g->shapes_at[carrier]) | UINT32_C(1) << 31;
        f->mark++;
        for (uint32_t h = g->hops_at[s]; h < g->hops_at[s + 1]; h++) {
            const uint32_t colour = f->links->of[g->hop_links.at[h]];
            assert(colour < f->links->n && colour < f->marks.n);
            if (f->marks.at[colour] == f->mark)
                continue;
            f->marks.at[colour] = f->mark;
            add_words(to, draw_words(colour, label), 1);
        }
    }
}

static bool colour_carriers(refiner *f)
{
    const symmetry_graph *g = f->g;
    clear_sums(f, g->n_carriers);
    for (uint32_t c = 0; c < g->n_carriers; c++) {
        if (f->mutation != SYMMETRY_WITHOUT_MEMBER_SETS) {
            add_member_set(f, &f->sums[c], c);
            if (!add_rest_set(f, &f->sums[c], c))
                return false;
        }
        if (f->mutation != SYMMETRY_WITHOUT_LINK_SETS)
            add_link_sets(f, &f->sums[c], c);
    }
    recolour(f, f->carriers, g->n_carriers);
    return true;
}

static void colour_ranks(refiner *f)
{
    const symmetry_graph *g = f->g;
    clear_sums(f, g->n_ranks);
    for (uint32_t r = 0; r < g->n_ranks; r++)
        for (uint32_t i = g->slots_at[r]; i < g->slots_at[r + 1]; i++)
            if (g->slots[i] != SYMMETRY_NONE)
                add_words(&f->sums[r],
                          draw_words(f->carriers->of[g->slots[i]], i - g->slots_at[r]),
                          1);
    recolour(f, f->ranks, g->n_ranks);
}

/* Put everything into one class, then split it by initial colours. */
static bool start_classes(refiner *f, symmetry_classes *c, const uint64_t *colours,
                          uint32_t n)
{
    c->of = mem_array_zero(n, sizeof *c->of);
    c->first = mem_array_zero(1, sizeof *c->first);
    c->apart_from = mem_array(1, sizeof *c->apart_from);
    c->rounds = mem_array_zero(1, sizeof *c->rounds);
    if (c->of == NULL || c->first == NULL || c->apart_from == NULL || c->rounds == NULL)
        return false;
    if (n == 0)
        return true;
    for (uint32_t i = 0; i < n; i++) {
        f->sums[i] = (signature){colours[i], 0};
        if (c == f->links) /* used links get a class below */
            c->of[i] = SYMMETRY_NONE;
    }
    const symmetry_graph *g = f->g;
    for (size_t h = 0; c == f->links && h < g->hop_links.n; h++)
        c->of[g->hop_links.at[h]] = 0;
    while (c->first[0] < n && c->of[c->first[0]] == SYMMETRY_NONE)
        c->first[0]++;
    c->apart_from[0] = SYMMETRY_NONE;
    c->n = c->first[0] < n;
    if (c->n > 0)
        recolour(f, c, n);
    return !f->failed;
}

static bool init_refiner(refiner *f)
{
    const symmetry_graph *g = f->g;
    size_t most = g->n_ranks > g->n_carriers ? g->n_ranks : g->n_carriers;
    most = most > g->n_links ? most : g->n_links;
    f->n_slots = 1024;
    f->sums = mem_array(most, sizeof *f->sums);
    f->slots = mem_array(f->n_slots, sizeof *f->slots);
    return f->sums != NULL && f->slots != NULL &&
           start_classes(f, f->ranks, g->rank_colours, g->n_ranks) &&
           start_classes(f, f->carriers, g->carrier_colours, g->n_carriers) &&
           start_classes(f, f->links, g->link_colours, g->n_links);
}

static bool run_rounds(refiner *f)
{
    for (uint64_t before = 0, now = 1; now > before;) {
        before = (uint64_t)f->ranks->n + f->carriers->n + f->links->n;
        f->round++;
        colour_links(f);
        if (f->failed || !colour_carriers(f) || f->failed)
            return false; /* the next step may look up a missing colour */
        colour_ranks(f);
        if (f->failed)
            return false;
        now = (uint64_t)f->ranks->n + f->carriers->n + f->links->n;
        assert(now >= before); /* classes only split */
    }
    return true;
}

static bool count_classes(symmetry_classes *c, uint32_t n)
{
    c->counts = mem_array_zero(c->n, sizeof *c->counts);
    for (uint32_t i = 0; c->counts != NULL && i < n; i++)
        if (c->of[i] != SYMMETRY_NONE)
            c->counts[c->of[i]]++;
    return c->counts != NULL;
}

halley_status symmetry_refine(symmetry_partition *out, const symmetry_graph *g,
                              symmetry_mutation mutation, halley_error *err)
{
    *out = (symmetry_partition){0};
    refiner f = {.g = g,
                 .mutation = mutation,
                 .ranks = &out->ranks,
                 .carriers = &out->carriers,
                 .links = &out->links};
    const bool room = init_refiner(&f) && run_rounds(&f) &&
                      count_classes(&out->ranks, g->n_ranks) &&
                      count_classes(&out->carriers, g->n_carriers) &&
                      count_classes(&out->links, g->n_links);
    out->n_rounds = f.round;
    free(f.sums);
    array_fini(&f.marks);
    free(f.slots);
    array_fini(&f.new_first);
    array_fini(&f.old_of);
    if (room)
        return HALLEY_OK;
    symmetry_partition_fini(out);
    return error_nomem(err);
}

static void free_classes(symmetry_classes *c)
{
    free(c->of);
    free(c->first);
    free(c->counts);
    free(c->apart_from);
    free(c->rounds);
    *c = (symmetry_classes){0};
}

void symmetry_partition_fini(symmetry_partition *p)
{
    free_classes(&p->ranks);
    free_classes(&p->carriers);
    free_classes(&p->links);
}

void symmetry_graph_fini(symmetry_graph *g)
{
    free(g->rank_colours);
    free(g->slots_at);
    free(g->slots);
    free(g->carrier_colours);
    free(g->members_at);
    free(g->members);
    free(g->shapes_at);
    free(g->hops_at);
    free(g->link_colours);
    array_fini(&g->hop_links);
    array_fini(&g->hop_coefficients);
    array_fini(&g->coefficients);
    *g = (symmetry_graph){0};
}
