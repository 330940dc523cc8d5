/*
 * Draws the same graph with fewer boxes, in three ways.
 *
 * Runs: a chain of boxes of one kind, each with one edge in and one edge out, becomes one
 * box.
 *
 * Repeats: boxes are in file order. Each has a mark, a hash of its kind, of its name
 * without digits, and of how far back each of its edges comes from. If a sequence of
 * marks follows itself, the pieces of the graph are equal. Only the first piece is kept,
 * with the number of repeats. Pieces are compared by prefix hashes. Only lengths at which
 * the first mark occurs again are tried, the nearest few: n * TRIES steps.
 *
 * Stretches: if more boxes than the limit are left, the levels are cut into stretches,
 * and each lane of a stretch becomes one box.
 */
#include "base/hash.h"
#include "report/view/view.h"

#include <string.h>

enum { TRIES = 12, PASSES = 3 };

/* Add the totals of a box to the box that it is joined into. */
static void add_run_box(view_box *into, const view_box *box, bool repeats)
{
    if (into->stretch && box->n_nodes > into->n_nodes / 2)
        into->type = box->type;
    into->n_nodes += box->n_nodes;
    into->duration_us += box->duration_us;
    into->bytes += box->bytes;
    if (!repeats)
        into->last = box->last;
}

/*
 * Join boxes: box i is joined into to[i], which is i itself or a lower box with to[b] =
 * b. Boxes keep their order. `key`, if given, orders the joined boxes. An edge of a box
 * that moved is dropped unless it goes up in that order. Such an edge leads from one
 * repeat to the next, or round within a stretch.
 */
static bool join_boxes(view_graph *g, const uint32_t *to, const uint32_t *key,
                       bool repeats)
{
    const uint32_t n = (uint32_t)g->boxes.n;
    uint32_t *renamed = mem_array(n, sizeof *renamed);
    if (!renamed)
        return false;
    uint32_t n_kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        const view_box box = g->boxes.at[i];
        renamed[i] = to[i] == i ? n_kept : renamed[to[i]];
        if (to[i] == i)
            g->boxes.at[n_kept++] = box;
        else
            add_run_box(&g->boxes.at[renamed[i]], &box, repeats);
    }
    size_t n_edges = 0;
    for (size_t k = 0; k < g->edges.n; k++) {
        const view_edge e = g->edges.at[k];
        const uint32_t from = to[e.from], into = to[e.to];
        const bool moved = from != e.from || into != e.to;
        if ((moved && from == into) ||
            (key && (moved || !repeats) && key[from] >= key[into]))
            continue;
        g->edges.at[n_edges++] = (view_edge){renamed[e.from], renamed[e.to], e.kinds};
    }
    g->boxes.n = n_kept;
    g->edges.n = n_edges;
    view_tidy_edges(g);
    free(renamed);
    return true;
}

static uint64_t find_box_kind(const view_graph *g, const view_box *box)
{
    uint64_t kind = (uint64_t)box->type | (uint64_t)box->lane << 8;
    halley_attr attr;
    uint64_t value = 0;
    if (box->type == HALLEY_NODE_COLL &&
        halley_node_find_attr(&attr, g->trace, box->node, "comm_type") &&
        halley_attr_to_u64(&attr, &value))
        kind |= value << 16;
    return kind;
}

/* in[i], out[i]: the number of edges; before[i]: the start of the last edge into i. */
typedef struct degrees {
    uint32_t *in, *out, *before;
} degrees;

static bool count_degrees(degrees *d, const view_graph *g)
{
    const size_t n = g->boxes.n;
    d->in = mem_array_zero(n, sizeof *d->in);
    d->out = mem_array_zero(n, sizeof *d->out);
    d->before = mem_array_zero(n, sizeof *d->before);
    if (!d->in || !d->out || !d->before)
        return false;
    for (size_t k = 0; k < g->edges.n; k++) {
        const view_edge e = g->edges.at[k];
        d->out[e.from]++;
        d->in[e.to]++;
        d->before[e.to] = e.from;
    }
    return true;
}

static bool join_runs(view_graph *g)
{
    const uint32_t n = (uint32_t)g->boxes.n;
    degrees d = {0};
    uint32_t *to = mem_array(n, sizeof *to);
    bool ok = to && count_degrees(&d, g);
    for (uint32_t i = 0; ok && i < n; i++) {
        const uint32_t before = d.before[i];
        to[i] = i;
        if (d.in[i] == 1 && before < i && d.out[before] == 1 &&
            g->boxes.at[i].repeat == g->boxes.at[before].repeat &&
            find_box_kind(g, &g->boxes.at[i]) == find_box_kind(g, &g->boxes.at[before]))
            to[i] = to[before];
    }
    ok = ok && join_boxes(g, to, NULL, false);
    free(d.in);
    free(d.out);
    free(d.before);
    free(to);
    return ok;
}

static void mark_boxes(const view_graph *g, uint64_t *mark)
{
    const uint32_t n = (uint32_t)g->boxes.n;
    for (uint32_t i = 0; i < n; i++) {
        const view_box *box = &g->boxes.at[i];
        const uint64_t own =
            hash_u64(find_box_kind(g, box) ^ (uint64_t)box->repeat << 40);
        mark[i] = hash_less_numbers(view_name(g, box), own + box->n_nodes);
    }
    /* The order of edges does not matter, so their hashes are added. */
    for (size_t k = 0; k < g->edges.n; k++) {
        const view_edge e = g->edges.at[k];
        mark[e.to] += hash_u64((uint64_t)(e.to - e.from) << 8 | e.kinds);
    }
}

/* Prefix hashes: sum[i] covers mark[0 … i), power[i] is the base to the power of i. */
typedef struct marks {
    uint64_t *mark, *sum, *power;
    uint32_t *next; /* the next box with the same mark, VIEW_NONE = none */
    uint32_t n;
} marks;

static const uint64_t base_of_hash = UINT64_C(0x9e3779b97f4a7c15);

static bool marks_init(marks *m, const view_graph *g)
{
    m->n = (uint32_t)g->boxes.n;
    m->mark = mem_array(m->n, sizeof *m->mark);
    m->sum = mem_array_zero((size_t)m->n + 1, sizeof *m->sum);
    m->power = mem_array_zero((size_t)m->n + 1, sizeof *m->power);
    m->next = mem_array(m->n, sizeof *m->next);
    map64 last = {0};
    bool ok =
        m->mark && m->sum && m->power && m->next && map64_reserve(&last, g->boxes.n);
    if (ok)
        mark_boxes(g, m->mark);
    for (uint32_t i = m->n; ok && i-- > 0;) {
        m->next[i] = map64_find(&last, m->mark[i]);
        ok = map64_set(&last, m->mark[i], i);
    }
    if (ok)
        m->power[0] = 1;
    for (uint32_t i = 0; ok && i < m->n; i++) {
        m->sum[i + 1] = m->sum[i] * base_of_hash + hash_u64(m->mark[i]);
        m->power[i + 1] = m->power[i] * base_of_hash;
    }
    map64_fini(&last);
    return ok;
}

static void marks_fini(marks *m)
{
    free(m->mark);
    free(m->sum);
    free(m->power);
    free(m->next);
}

static bool same_piece(const marks *m, uint32_t a, uint32_t b, uint32_t n)
{
    if (n > m->n - b)
        return false;
    const uint64_t x = m->sum[a + n] - m->sum[a] * m->power[n];
    const uint64_t y = m->sum[b + n] - m->sum[b] * m->power[n];
    return x == y;
}

/* Find the piece at i that repeats and covers the most boxes: sets its length and returns
 * the number of times it occurs; 1 if none repeats. */
static uint32_t find_repeat(const marks *m, uint32_t i, uint32_t *length)
{
    uint32_t best = 1, best_covered = 0;
    uint32_t again = m->next[i];
    for (uint32_t k = 0; k < TRIES && again != VIEW_NONE; k++, again = m->next[again]) {
        const uint32_t n = again - i;
        uint32_t times = 1;
        while ((uint64_t)i + (uint64_t)times * n < m->n &&
               same_piece(m, i, i + times * n, n))
            times++;
        if (times > 1 && times * n > best_covered) {
            best = times;
            best_covered = times * n;
            *length = n;
        }
    }
    return best;
}

static bool join_repeats(view_graph *g, bool *any)
{
    marks m = {0};
    uint32_t *to = mem_array(g->boxes.n, sizeof *to);
    bool ok = to && marks_init(&m, g);
    *any = false;
    for (uint32_t i = 0; ok && i < m.n;) {
        uint32_t n = 1;
        const uint32_t times = find_repeat(&m, i, &n);
        for (uint32_t k = 0; k < times * n; k++)
            to[i + k] = i + k % n;
        for (uint32_t k = 0; times > 1 && k < n; k++)
            g->boxes.at[i + k].repeat *= times;
        *any |= times > 1;
        i += times * n;
    }
    ok = ok && (!*any || join_boxes(g, to, to, true));
    marks_fini(&m);
    free(to);
    return ok;
}

bool view_collapse(view_graph *g)
{
    g->sum.collapsed = true;
    bool ok = join_runs(g), any = true;
    for (uint32_t pass = 0; ok && any && pass < PASSES; pass++)
        ok = join_repeats(g, &any) && (!any || join_runs(g));
    return ok;
}

/* The number of stretches that gives at most n_most boxes. */
static uint32_t count_stretches(const view_graph *g, uint32_t n_most)
{
    bool used[VIEW_N_LANES] = {0};
    uint32_t n_lanes = 0;
    for (size_t i = 0; i < g->boxes.n; i++) {
        n_lanes += !used[g->boxes.at[i].lane];
        used[g->boxes.at[i].lane] = true;
    }
    const uint32_t n = n_most / (n_lanes ? n_lanes : 1);
    return n == 0 ? 1 : n < g->n_levels ? n : g->n_levels;
}

bool view_stretch(view_graph *g, uint32_t n_most)
{
    if (!view_levels(g))
        return false;
    const uint32_t n_stretches = count_stretches(g, n_most);
    const size_t n_cells = (size_t)n_stretches * VIEW_N_LANES;
    uint32_t *first = mem_array(n_cells, sizeof *first); /* box of each cell */
    uint32_t *to = mem_array(g->boxes.n, sizeof *to);
    uint32_t *key = mem_array(g->boxes.n, sizeof *key); /* cell of each box */
    bool ok = first && to && key;
    if (ok)
        memset(first, 0xff, n_cells * sizeof *first);
    for (uint32_t i = 0; ok && i < g->boxes.n; i++) {
        const view_box *box = &g->boxes.at[i];
        const uint64_t stretch = (uint64_t)box->level * n_stretches / g->n_levels;
        key[i] = (uint32_t)(stretch * VIEW_N_LANES + box->lane);
        if (first[key[i]] == VIEW_NONE)
            first[key[i]] = i;
        to[i] = first[key[i]];
        g->boxes.at[to[i]].stretch |= to[i] != i;
    }
    ok = ok && join_boxes(g, to, key, false);
    g->sum.stretched = true;
    free(first);
    free(to);
    free(key);
    return ok;
}
