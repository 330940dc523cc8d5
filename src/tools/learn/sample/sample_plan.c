/*
 * Plans the values of all sets of a folder together. If a few hundred sets are drawn
 * independently, they differ from the model by chance: only few sets are large, and
 * these dominate every sum. So a folder is a balanced sample, made in two steps:
 *
 *   1. More rows of values than sets are drawn, one condition at a time for all rows.
 *      Rows at the same leaf of the tree share one systematic sample, u = (i + U) / n in
 *      random order. So each value occurs as often as its probability says, up to one
 *      row.
 *   2. Rows are sorted by family and expected size (time, operations). One row of each
 *      pair of neighbours is kept. It is the row that makes kept and dropped rows more
 *      alike. The comparison uses the number, total time and total operations of the rows
 *      with each value. This is a greedy form of the self-balancing walk of Alweiss, Liu
 *      and Sawhney (2021). It repeats until one row per set is left.
 *
 * Each single set is still a draw from the model. Every u is uniform. A coin decides
 * which row of the first pair is kept, and all later decisions follow from it, so each
 * row is kept as often as its neighbour. Sets are in random order, so the first ones are
 * like the last ones.
 */
#include "base/pool.h"
#include "base/rng.h"
#include "learn/sample/sample.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows drawn per set, a power of two. Many sets need fewer. */
enum { MOST_EACH = 16, LEAST_EACH = 2, ENOUGH = 1 << 13, AT_ONCE = 64 };

/* What is balanced for each value: rows, time, operations. */
enum { COUNT, TIME, OPERATIONS, N_SIZES };

typedef struct chain {
    uint32_t group; /* leaf, later family */
    uint32_t at;    /* index of the row */
    double order;   /* order within the group: random, later by size */
    double size[N_SIZES];
} chain;

typedef struct planner {
    const synth_model *m;
    joint_row *rows;
    chain *chains;
    size_t n;
    double (*balance)[N_SIZES]; /* by column and value: kept minus dropped */
    rng random;
} planner;

static int by_group(const void *x, const void *y)
{
    const chain *a = x, *b = y;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

/* The number of chains from this one on that belong to its group. */
static size_t group_size(const planner *p, size_t first)
{
    assert(first < p->n);
    size_t n = 1;
    while (first + n < p->n && p->chains[first + n].group == p->chains[first].group)
        n++;
    return n;
}

/* Draws one value for each of the n rows of a leaf. */
static void draw_leaf(planner *p, const model_root *tree, size_t first, size_t n)
{
    assert(n > 0);
    double shares[MODEL_VALUES];
    const bool is_template = tree->of == JOINT_TEMPLATE;
    const double shift = rng_unit(&p->random);
    if (!is_template)
        joint_shares(shares, p->m, tree, &p->rows[p->chains[first].at]);
    for (size_t i = 0; i < n; i++) {
        joint_row *const row = &p->rows[p->chains[first + i].at];
        const double u = ((double)i + shift) / (double)n;
        row->value[tree->of] =
            is_template ? joint_draw(p->m, tree, row, u) : joint_pick(shares, u);
    }
}

static void draw_column(planner *p, const model_root *tree)
{
    for (size_t i = 0; i < p->n; i++)
        p->chains[i] = (chain){.group = joint_leaf(p->m, tree, &p->rows[i]),
                               .at = (uint32_t)i,
                               .order = rng_unit(&p->random)};
    qsort(p->chains, p->n, sizeof *p->chains, by_group);
    for (size_t i = 0, n; i < p->n; i += n) {
        n = group_size(p, i);
        draw_leaf(p, tree, i, n);
    }
}

static void draw_rows(planner *p)
{
    for (size_t i = 0; i < p->n; i++)
        for (uint32_t c = 0; c < JOINT_COLUMNS; c++)
            p->rows[i].value[c] = MODEL_NONE;
    for (size_t k = 0; k < p->m->roots.n; k++)
        draw_column(p, &p->m->roots.at[k]);
}

static halley_status expect_some(void *context, size_t i, uint32_t worker,
                                 halley_error *err)
{
    const planner *p = context;
    const uint32_t family = conditions_index(p->m, "family");
    (void)worker;
    (void)err;
    for (size_t k = i * AT_ONCE; k < (i + 1) * AT_ONCE && k < p->n; k++) {
        chain *const c = &p->chains[k];
        *c = (chain){.group = family == MODEL_NONE ? 0 : p->rows[k].value[family],
                     .at = (uint32_t)k};
        c->size[COUNT] = 1;
        sample_row_size(&c->size[TIME], &c->size[OPERATIONS], p->m, &p->rows[k]);
    }
    return HALLEY_OK;
}

/* Sorts groups in ascending and descending order by turns, so that neighbours across the
 * border of two groups are also alike. */
static void sort_to_and_fro(planner *p)
{
    bool up = true;
    qsort(p->chains, p->n, sizeof *p->chains, by_group);
    for (size_t first = 0, n; first < p->n; first += n, up = !up) {
        n = group_size(p, first);
        for (size_t i = 0; !up && i < n / 2; i++) {
            const chain t = p->chains[first + i];
            p->chains[first + i] = p->chains[first + n - 1 - i];
            p->chains[first + n - 1 - i] = t;
        }
    }
}

/* Divides sizes by their means, and sorts by family and size. */
static void put_in_order(planner *p)
{
    double mean[N_SIZES] = {0};
    for (size_t i = 0; i < p->n; i++)
        for (int k = 0; k < N_SIZES; k++)
            mean[k] += p->chains[i].size[k] / (double)p->n;
    for (size_t i = 0; i < p->n; i++) {
        chain *const c = &p->chains[i];
        for (int k = 0; k < N_SIZES; k++)
            c->size[k] = mean[k] > 0 ? c->size[k] / mean[k] : 0;
        c->order = c->size[TIME] + c->size[OPERATIONS];
    }
    sort_to_and_fro(p);
}

/* One balance per value of each condition, then one per template. */
static size_t count_balances(const synth_model *m)
{
    return (size_t)JOINT_TEMPLATE * MODEL_VALUES + m->templates.n + 1;
}

/* The balance of a row's value of a column. NULL: the value is not known. */
static double *balance_of(const planner *p, const chain *c, uint32_t column)
{
    const uint32_t value = p->rows[c->at].value[column];
    if (value == MODEL_NONE)
        return NULL;
    return p->balance[(size_t)column * MODEL_VALUES + value];
}

/* How much of what the row has was kept in excess so far. */
static double measure_excess(const planner *p, const chain *c)
{
    double sum = 0;
    for (uint32_t column = 0; column < JOINT_COLUMNS; column++) {
        const double *const b = balance_of(p, c, column);
        for (int k = 0; b && k < N_SIZES; k++)
            sum += b[k] * c->size[k];
    }
    return sum;
}

static void count_chain(const planner *p, const chain *c, double sign)
{
    for (uint32_t column = 0; column < JOINT_COLUMNS; column++) {
        double *const b = balance_of(p, c, column);
        for (int k = 0; b && k < N_SIZES; k++)
            b[k] += sign * c->size[k];
    }
}

/* Keeps one of each pair of neighbours. */
static void halve_chains(planner *p)
{
    memset(p->balance, 0, count_balances(p->m) * sizeof *p->balance);
    for (size_t i = 0; i < p->n / 2; i++) {
        const chain *const pair = &p->chains[2 * i];
        const double more = measure_excess(p, &pair[0]) - measure_excess(p, &pair[1]);
        const bool coin = rng_unit(&p->random) < 0.5;
        const int keep = more > 0 || (more == 0 && coin);
        count_chain(p, &pair[keep], 1);
        count_chain(p, &pair[1 - keep], -1);
        p->chains[i] = pair[keep];
    }
    p->n /= 2;
}

static void hand_out(joint_row *out, planner *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const size_t to = (size_t)rng_below(&p->random, i + 1);
        out[i] = out[to];
        out[to] = p->rows[p->chains[i].at];
    }
}

static size_t rows_for_each(size_t n)
{
    assert(n > 0);
    size_t each = MOST_EACH;
    while (each > LEAST_EACH && each * n > ENOUGH)
        each /= 2;
    return each;
}

halley_status sample_plan(joint_row *out, size_t n, const synth_model *m, uint64_t seed,
                          uint32_t n_threads, halley_error *err)
{
    assert(n > 0 && out != NULL);
    const size_t each = rows_for_each(n);
    planner p = {.m = m,
                 .rows = mem_array(n, each * sizeof *p.rows),
                 .chains = mem_array(n, each * sizeof *p.chains),
                 .balance = mem_array(count_balances(m), sizeof *p.balance),
                 .n = n * each,
                 .random = rng_seed(hash_u64(seed))};
    halley_status status = p.rows && p.chains && p.balance ? HALLEY_OK : error_nomem(err);
    if (status == HALLEY_OK) {
        draw_rows(&p);
        status = pool_run(n_threads, (p.n + AT_ONCE - 1) / AT_ONCE, expect_some, &p, err);
    }
    if (status == HALLEY_OK) {
        put_in_order(&p);
        while (p.n > n)
            halve_chains(&p);
        hand_out(out, &p);
    }
    free(p.rows);
    free(p.chains);
    free(p.balance);
    return status;
}
