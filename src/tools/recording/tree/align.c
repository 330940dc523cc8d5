/*
 * Align two lists of children.
 *
 * Equal prefixes and suffixes are paired first. Then come anchors: kinds that occur once
 * on each side, in the longest order that both sides share. Between anchors, dynamic
 * programming in a band around the diagonal aligns the rest.
 *
 * Pairing costs 0 (same name and shapes), 0.3 (same name), 0.6 (kernels of the same
 * class) or 1 (anything else). Leaving out one child costs 0.5, and ties leave both out.
 * So children that have nothing in common are not paired, nor is a kernel with anything
 * but a kernel. Costs are in tenths.
 */
#include "recording/tree/align.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BAND = 64, COST_SKIP = 5, COST_NONE = 1 << 28 };

typedef struct aligner {
    tree_pairs *out;
    const call_tree *a, *b;
    const uint32_t *list_a, *list_b; /* the children */
    bool failed;
} aligner;

static const tree_node *get_child(const call_tree *t, const uint32_t *list, size_t i)
{
    assert(list[i] < t->nodes.n);
    return &t->nodes.at[list[i]];
}

static int cost_pair(const tree_node *x, const tree_node *y)
{
    const bool is_kernel = x->class_id != TREE_NONE;
    if (is_kernel != (y->class_id != TREE_NONE))
        return 2 * COST_SKIP + 1;
    if (x->kind == y->kind)
        return x->shapes == y->shapes ? 0 : 3;
    return is_kernel && x->class_id == y->class_id ? 6 : 10;
}

static void push_aligned_pair(aligner *g, uint32_t a, uint32_t b)
{
    g->failed |= !array_push(g->out, (tree_pair){a, b});
}

static void skip_all(aligner *g, size_t from_a, size_t to_a, size_t from_b, size_t to_b)
{
    for (size_t i = from_a; i < to_a; i++)
        push_aligned_pair(g, g->list_a[i], TREE_NONE);
    for (size_t j = from_b; j < to_b; j++)
        push_aligned_pair(g, TREE_NONE, g->list_b[j]);
}

/* One section of both lists: a table of costs by row of `a` and place in the band. */
typedef struct band_table {
    size_t from_a, from_b, n, m;
    uint8_t *move; /* 0 pair, 1 leave out of a, 2 leave out of b */
    int *cost, *before;
} band_table;

static size_t start_of_band(const band_table *t, size_t i)
{
    const size_t middle = t->n == 0 ? 0 : i * t->m / t->n;
    return middle > BAND ? middle - BAND : 0;
}

enum { BAND_WIDTH = 2 * BAND + 2 };

static int read_cost(const int *row, const band_table *t, size_t i, size_t j)
{
    const size_t start = start_of_band(t, i);
    return j < start || j >= start + BAND_WIDTH ? COST_NONE : row[j - start];
}

static void fill_band_cell(const aligner *g, band_table *t, size_t i, size_t j)
{
    int best = i == 0 && j == 0 ? 0 : COST_NONE;
    uint8_t move = 0;
    if (i > 0 && read_cost(t->before, t, i - 1, j) + COST_SKIP < best) {
        best = read_cost(t->before, t, i - 1, j) + COST_SKIP;
        move = 1;
    }
    if (j > 0 && read_cost(t->cost, t, i, j - 1) + COST_SKIP < best) {
        best = read_cost(t->cost, t, i, j - 1) + COST_SKIP;
        move = 2;
    }
    if (i > 0 && j > 0) {
        const int pair = read_cost(t->before, t, i - 1, j - 1) +
                         cost_pair(get_child(g->a, g->list_a, t->from_a + i - 1),
                                   get_child(g->b, g->list_b, t->from_b + j - 1));
        if (pair < best) {
            best = pair;
            move = 0;
        }
    }
    const size_t place = j - start_of_band(t, i);
    t->cost[place] = best;
    t->move[i * BAND_WIDTH + place] = move;
}

static void fill_band(const aligner *g, band_table *t)
{
    for (size_t i = 0; i <= t->n; i++) {
        const size_t start = start_of_band(t, i);
        for (size_t k = 0; k < BAND_WIDTH; k++)
            t->cost[k] = COST_NONE;
        for (size_t j = start; j <= t->m && j < start + BAND_WIDTH; j++)
            fill_band_cell(g, t, i, j);
        int *const row = t->before;
        t->before = t->cost;
        t->cost = row;
    }
}

/* Walk back from the end. The pairs come out in reverse order and are reversed. */
static void take_band_path(aligner *g, const band_table *t)
{
    const size_t first = g->out->n;
    size_t i = t->n, j = t->m;
    while (i > 0 || j > 0) {
        const size_t start = start_of_band(t, i);
        const bool inside = j >= start && j < start + BAND_WIDTH;
        const int move =
            !inside ? (i > 0 ? 1 : 2) : t->move[i * BAND_WIDTH + (j - start)];
        const bool pairs = move == 0 && i > 0 && j > 0;
        const bool takes_a = pairs || (i > 0 && (move == 1 || j == 0));
        const bool takes_b = pairs || !takes_a;
        push_aligned_pair(g, takes_a ? g->list_a[t->from_a + i - 1] : TREE_NONE,
                          takes_b ? g->list_b[t->from_b + j - 1] : TREE_NONE);
        i -= takes_a;
        j -= takes_b;
    }
    for (size_t x = first, y = g->out->n; !g->failed && x + 1 < y; x++) {
        const tree_pair pair = g->out->at[x];
        g->out->at[x] = g->out->at[--y];
        g->out->at[y] = pair;
    }
}

static void align_in_band(aligner *g, size_t from_a, size_t to_a, size_t from_b,
                          size_t to_b)
{
    band_table t = {
        .from_a = from_a, .from_b = from_b, .n = to_a - from_a, .m = to_b - from_b};
    if (t.n == 0 || t.m == 0) {
        skip_all(g, from_a, to_a, from_b, to_b);
        return;
    }
    t.move = mem_array(t.n + 1, BAND_WIDTH);
    int *const rows = mem_array((size_t)2 * BAND_WIDTH, sizeof *rows);
    if (t.move != NULL && rows != NULL) {
        t.cost = rows;
        t.before = rows + BAND_WIDTH;
        fill_band(g, &t);
        take_band_path(g, &t);
    } else {
        g->failed = true;
    }
    free(t.move);
    free(rows);
}

/* An anchor: the positions of a kind that occurs once on each side. */
typedef struct anchor {
    uint32_t at_a, at_b, before; /* before: in the longest order; TREE_NONE */
} anchor;
typedef ARRAY(anchor) anchors;

static bool count_kinds(map64 *places, const call_tree *t, const uint32_t *list,
                        size_t from, size_t to)
{
    bool ok = true;
    for (size_t i = from; ok && i < to; i++) {
        uint32_t place = (uint32_t)i;
        bool fresh;
        const uint64_t kind = get_child(t, list, i)->kind;
        ok = map64_put(places, kind, &place, &fresh) &&
             (fresh || map64_set(places, kind, TREE_NONE - 1)); /* more than once */
    }
    return ok;
}

static bool find_anchors(anchors *out, const aligner *g, const size_t range[4])
{
    map64 in_a = {0}, in_b = {0};
    bool ok = count_kinds(&in_a, g->a, g->list_a, range[0], range[1]) &&
              count_kinds(&in_b, g->b, g->list_b, range[2], range[3]);
    for (size_t i = range[0]; ok && i < range[1]; i++) {
        const uint64_t kind = get_child(g->a, g->list_a, i)->kind;
        const uint32_t at_b = map64_find(&in_b, kind);
        if (map64_find(&in_a, kind) == i && at_b < TREE_NONE - 1)
            ok = array_push(out, (anchor){(uint32_t)i, at_b, TREE_NONE});
    }
    map64_fini(&in_a);
    map64_fini(&in_b);
    return ok;
}

/* Keep the longest subsequence of anchors that is in order on both sides (patience
 * sorting). They are moved to the front of the list. */
static bool keep_longest_order(anchors *list)
{
    uint32_t *const ends = mem_array(list->n + 1, sizeof *ends);
    uint32_t n = 0;
    if (ends == NULL)
        return false;
    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t low = 0, high = n;
        while (low < high) {
            const uint32_t mid = (low + high) / 2;
            if (list->at[ends[mid]].at_b < list->at[i].at_b)
                low = mid + 1;
            else
                high = mid;
        }
        list->at[i].before = low > 0 ? ends[low - 1] : TREE_NONE;
        ends[low] = i;
        n = low == n ? n + 1 : n;
    }
    for (uint32_t k = n, i = n > 0 ? ends[n - 1] : TREE_NONE; k-- > 0;
         i = list->at[i].before)
        ends[k] = i;
    for (uint32_t k = 0; k < n; k++)
        list->at[k] = list->at[ends[k]]; /* ends[k] >= k */
    list->n = n;
    free(ends);
    return true;
}

static void align_between_anchors(aligner *g, const size_t range[4])
{
    anchors list = {0};
    if (!find_anchors(&list, g, range) || !keep_longest_order(&list))
        g->failed = true;
    size_t from_a = range[0], from_b = range[2];
    for (size_t k = 0; !g->failed && k < list.n; k++) {
        align_in_band(g, from_a, list.at[k].at_a, from_b, list.at[k].at_b);
        push_aligned_pair(g, g->list_a[list.at[k].at_a], g->list_b[list.at[k].at_b]);
        from_a = (size_t)list.at[k].at_a + 1;
        from_b = (size_t)list.at[k].at_b + 1;
    }
    if (!g->failed)
        align_in_band(g, from_a, range[1], from_b, range[3]);
    array_fini(&list);
}

static bool are_same_children(const aligner *g, size_t i, size_t j)
{
    return cost_pair(get_child(g->a, g->list_a, i), get_child(g->b, g->list_b, j)) == 0;
}

bool tree_align_children(tree_pairs *out, const call_tree *a, const call_tree *b,
                         uint32_t node_a, uint32_t node_b)
{
    assert(node_a < a->nodes.n && node_b < b->nodes.n);
    const tree_node *const x = &a->nodes.at[node_a], *const y = &b->nodes.at[node_b];
    aligner g = {.out = out,
                 .a = a,
                 .b = b,
                 .list_a = a->children + x->first,
                 .list_b = b->children + y->first};
    size_t from = 0, to_a = x->n, to_b = y->n;
    while (from < to_a && from < to_b && are_same_children(&g, from, from)) {
        push_aligned_pair(&g, g.list_a[from], g.list_b[from]);
        from++;
    }
    size_t n_end = 0;
    while (to_a > from && to_b > from && are_same_children(&g, to_a - 1, to_b - 1)) {
        to_a--;
        to_b--;
        n_end++;
    }
    align_between_anchors(&g, (const size_t[4]){from, to_a, from, to_b});
    for (size_t k = 0; k < n_end; k++)
        push_aligned_pair(&g, g.list_a[to_a + k], g.list_b[to_b + k]);
    return !g.failed;
}
