/*
 * How conditions hang together. Each is drawn given those before it, by a tree of
 * questions about them ("tp at most 2?", "family = gpt?") that ends where enough sets
 * agree: the probability of all of them is the product. A tree grows by the question that
 * tells most (likelihood), as long as it tells more than its answers cost to write down
 * (half a logarithm of the sets for each value, as in the Bayesian information
 * criterion).
 *
 * What may be known: every branch stands for k sets or more, and lists the values that k
 * sets or more of its own have. The rest of its sets have some other value, and which is
 * asked of the branch above, less the values that are listed below: so nothing is said
 * about fewer than k sets, and no value is lost (after Katz's back-off).
 *
 * Trees grow from portraits: the conditions of up to MAX_PORTRAITS sets, all with the
 * same chance, which stay in the state of the learner.
 */
#include "synth/joint.h"

#include <math.h>
#include <string.h>

enum { MAX_PORTRAITS = 4096, MAX_DEPTH = 24, FEWEST = 8 };

bool joint_remember(synth_model *m, const conditions *c, const uint32_t *values,
                    uint32_t template)
{
    const uint32_t number = m->head.at[0].n_sets;
    size_t at = m->portraits.n;
    if (at < MAX_PORTRAITS) {
        if (!array_reserve(&m->portraits, 1))
            return false;
        m->portraits.n++;
    } else if ((at = hash_u64(number) % number) >= MAX_PORTRAITS)
        return true;
    model_portrait *p = &m->portraits.at[at];
    memset(p, 0, sizeof *p);
    p->template = template;
    for (uint32_t i = 0; i < MODEL_CONDITIONS; i++)
        p->number[i] = NAN;
    for (uint32_t i = 0; i < c->n; i++) {
        const uint32_t id = conditions_index(m, c->at[i].name);
        if (id != MODEL_NONE && values[id] != MODEL_NONE)
            p->number[id] = m->conditions.at[id].is_text ? values[id] : c->at[i].number;
    }
    return true;
}

/* A question about a row. */
typedef struct question {
    uint32_t by, value;
    bool equal; /* is it this value? else: this one or a smaller one? */
} question;

static bool is_yes(const question *q, const joint_row *row)
{
    const uint32_t v = row->value[q->by];
    return q->equal ? v == q->value : v <= q->value && v != MODEL_ABSENT;
}

typedef struct grower {
    synth_model *m;
    joint_row *rows;
    uint32_t k, of, n_values; /* of: the column; values it may have */
    uint32_t before[JOINT_COLUMNS], n_before;
    uint32_t *table; /* [value of another column][value of this one] */
    uint32_t *yes;   /* rows that say yes, by value of this column */
} grower;

static uint32_t values_of(const synth_model *m, uint32_t column)
{
    return column == JOINT_TEMPLATE ? (uint32_t)m->templates.n + 1 : MODEL_VALUES;
}

/* Sum of n log n. */
static double peak(const uint32_t *counts, uint32_t n, double *sum)
{
    double total = 0, s = 0;
    for (uint32_t i = 0; i < n; i++)
        if (counts[i] > 0) {
            s += counts[i] * log(counts[i]);
            total += counts[i];
        }
    *sum = total;
    return total > 0 ? s - total * log(total) : 0;
}

/* What the likelihood gains by the question whose answers are counted in `yes`. */
static double gain_of(const grower *g, const uint32_t *all, double before, double fewest)
{
    double n_yes, n_no, gain = -before;
    gain += peak(g->yes, g->n_values, &n_yes);
    if (n_yes < fewest)
        return -1;
    double total = 0, s = 0;
    for (uint32_t i = 0; i < g->n_values; i++) {
        const double n = all[i] - g->yes[i];
        s += n > 0 ? n * log(n) : 0;
        total += n;
    }
    n_no = total;
    return n_no < fewest ? -1 : gain + s - n_no * log(n_no);
}

static double fewest_of(const grower *g)
{
    return g->k > FEWEST ? g->k : FEWEST;
}

/* The best question about one column; *best is the gain to beat. */
static void ask_column(question *out, double *best, grower *g, uint32_t by,
                       const uint32_t *all, const joint_row *rows, uint32_t n)
{
    const uint32_t n_by = values_of(g->m, by), width = g->n_values;
    const bool ordered = by != JOINT_TEMPLATE && !g->m->conditions.at[by].is_text;
    double unused;
    const double before = peak(all, width, &unused);
    memset(g->table, 0, (size_t)n_by * width * sizeof *g->table);
    for (uint32_t i = 0; i < n; i++)
        g->table[(size_t)rows[i].value[by] * width + rows[i].value[g->of]]++;
    for (int equal = 0; equal < 2; equal++) {
        memset(g->yes, 0, width * sizeof *g->yes);
        for (uint32_t v = 0; v < n_by && (equal || ordered); v++) {
            const uint32_t *row = g->table + (size_t)v * width;
            if (!equal && v == MODEL_ABSENT)
                continue;
            for (uint32_t w = 0; w < width; w++)
                g->yes[w] = equal ? row[w] : g->yes[w] + row[w];
            const double gain = gain_of(g, all, before, fewest_of(g));
            if (gain > *best * (1 + 1e-9)) {
                *best = gain;
                *out = (question){by, v, equal};
            }
        }
    }
}

static bool ask(question *out, grower *g, const uint32_t *all, const joint_row *rows,
                uint32_t n)
{
    double used = 0;
    for (uint32_t i = 0; i < g->n_values; i++)
        used += all[i] > 0;
    if (used < 2 || n < 2 * fewest_of(g))
        return false;
    double best = 0.5 * (used - 1) * log(n) + log(1.0 + g->n_before);
    out->by = MODEL_NONE;
    for (uint32_t i = 0; i < g->n_before; i++)
        ask_column(out, &best, g, g->before[i], all, rows, n);
    return out->by != MODEL_NONE;
}

/* Rows that say yes to the front; how many. */
static uint32_t part(const question *q, joint_row *rows, uint32_t n)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < n; i++)
        if (is_yes(q, &rows[i])) {
            const joint_row t = rows[at];
            rows[at++] = rows[i];
            rows[i] = t;
        }
    return at;
}

static bool add_shares(grower *g, model_branch *b, const uint32_t *all)
{
    b->first = (uint32_t)g->m->shares.n;
    for (uint32_t v = 0; v < g->n_values; v++)
        if (all[v] >= g->k) {
            if (!array_push(&g->m->shares, (model_share){v, all[v]}))
                return false;
            b->n++;
        }
    return true;
}

/* A branch whose rows are still to be looked at. */
typedef struct bud {
    uint32_t branch, first, n, depth;
} bud;

static bool open_bud(grower *g, const bud *b, uint32_t *all, question *q, bool *asked)
{
    const joint_row *rows = g->rows + b->first;
    memset(all, 0, g->n_values * sizeof *all);
    for (uint32_t i = 0; i < b->n; i++)
        all[rows[i].value[g->of]]++;
    *asked = b->depth < MAX_DEPTH && ask(q, g, all, rows, b->n);
    model_branch to = g->m->branches.at[b->branch];
    if (!add_shares(g, &to, all))
        return false;
    g->m->branches.at[b->branch] = to;
    return true;
}

static bool grow_tree(grower *g, uint32_t n, uint32_t *all)
{
    synth_model *m = g->m;
    ARRAY(bud) buds = {0};
    const model_root root = {g->of, (uint32_t)m->branches.n};
    const model_branch top = {
        .by = MODEL_NONE, .yes = MODEL_NONE, .parent = MODEL_NONE, .n_sets = n};
    bool ok = array_push(&m->roots, root) && array_push(&m->branches, top) &&
              array_push(&buds, (bud){root.branch, 0, n, 0});
    while (ok && buds.n > 0) {
        const bud b = buds.at[--buds.n];
        question q;
        bool asked;
        ok = open_bud(g, &b, all, &q, &asked);
        if (!ok || !asked)
            continue;
        const uint32_t n_yes = part(&q, g->rows + b.first, b.n);
        const uint32_t yes = (uint32_t)m->branches.n;
        model_branch *from = &m->branches.at[b.branch];
        from->by = q.by;
        from->value = q.value;
        from->equal = q.equal;
        from->yes = yes;
        model_branch leaf = top;
        leaf.parent = b.branch;
        for (uint32_t side = 0; ok && side < 2; side++) {
            leaf.n_sets = side == 0 ? n_yes : b.n - n_yes;
            const uint32_t first = side == 0 ? b.first : b.first + n_yes;
            ok = array_push(&m->branches, leaf) &&
                 array_push(&buds, (bud){yes + side, first, leaf.n_sets, b.depth + 1});
        }
    }
    array_fini(&buds);
    return ok;
}

bool joint_grow(synth_model *m, const joint_row *rows, uint32_t n, uint32_t k,
                bool with_template)
{
    const size_t width = values_of(m, JOINT_TEMPLATE) + MODEL_VALUES;
    grower g = {.m = m, .k = k};
    uint32_t *all = mem_array(width, sizeof *all);
    g.rows = mem_array(n, sizeof *g.rows);
    g.table = mem_array(width * MODEL_VALUES, sizeof *g.table);
    g.yes = mem_array(width, sizeof *g.yes);
    bool ok = all && g.rows && g.table && g.yes;
    if (ok && n > 0)
        memcpy(g.rows, rows, n * sizeof *rows);
    const uint32_t n_columns = (uint32_t)m->conditions.n + with_template;
    for (uint32_t i = 0; ok && n > 0 && i < n_columns; i++) {
        g.of = with_template && i == 0 ? JOINT_TEMPLATE : i - with_template;
        g.n_values = values_of(m, g.of);
        ok = grow_tree(&g, n, all);
        g.before[g.n_before++] = g.of;
    }
    free(all);
    free(g.rows);
    free(g.table);
    free(g.yes);
    return ok;
}

static uint32_t leaf_of(const synth_model *m, const model_root *tree,
                        const joint_row *given)
{
    uint32_t at = tree->branch;
    for (;;) {
        const model_branch *b = &m->branches.at[at];
        const question q = {b->by, b->value, b->equal != 0};
        if (b->by == MODEL_NONE || given->value[b->by] == MODEL_NONE)
            return at;
        at = is_yes(&q, given) ? b->yes : b->yes + 1;
    }
}

/* The branches from a leaf to the root. */
typedef struct path {
    uint32_t at[MAX_DEPTH + 2], n;
} path;

static path path_of(const synth_model *m, uint32_t leaf)
{
    path p = {.n = 0};
    for (uint32_t at = leaf; at != MODEL_NONE && p.n < MAX_DEPTH + 2;
         at = m->branches.at[at].parent)
        p.at[p.n++] = at;
    return p;
}

/* Sets that have the value in the i-th branch of the path; 0 where one below lists it. */
static uint32_t listed(const synth_model *m, const path *p, uint32_t i, uint32_t value)
{
    uint32_t n_sets = 0;
    for (uint32_t k = 0; k <= i; k++) {
        const model_branch *b = &m->branches.at[p->at[k]];
        for (uint32_t j = 0; j < b->n; j++)
            if (m->shares.at[b->first + j].value == value) {
                if (k < i)
                    return 0;
                n_sets = m->shares.at[b->first + j].n_sets;
            }
    }
    return n_sets;
}

/* Sets of the i-th branch with values that none below lists: those it lists itself, and
 * (*rest) others. */
static double known(const synth_model *m, const path *p, uint32_t i, double *rest)
{
    const model_branch *b = &m->branches.at[p->at[i]];
    double here = 0, all = 0;
    for (uint32_t j = 0; j < b->n; j++) {
        here += listed(m, p, i, m->shares.at[b->first + j].value);
        all += m->shares.at[b->first + j].n_sets;
    }
    *rest = i + 1 < p->n ? b->n_sets - all : 0;
    return here;
}

uint32_t joint_draw(const synth_model *m, const model_root *tree, const joint_row *given,
                    double u)
{
    const path p = path_of(m, leaf_of(m, tree, given));
    uint32_t any = MODEL_ABSENT;
    for (uint32_t i = 0; i < p.n; i++) {
        const model_branch *b = &m->branches.at[p.at[i]];
        double rest;
        const double here = known(m, &p, i, &rest);
        double left = u * (here + rest);
        for (uint32_t j = 0; left < here && j < b->n; j++) {
            any = m->shares.at[b->first + j].value;
            left -= listed(m, &p, i, any);
            if (left < 0)
                return any;
        }
        u = rest > 0 && left >= here ? fmin((left - here) / rest, 1) : 0;
    }
    return any;
}

double joint_share(const synth_model *m, const model_root *tree, const joint_row *given,
                   uint32_t value)
{
    const path p = path_of(m, leaf_of(m, tree, given));
    double share = 1;
    for (uint32_t i = 0; i < p.n; i++) {
        double rest;
        const double here = known(m, &p, i, &rest), own = listed(m, &p, i, value);
        if (here + rest <= 0)
            continue;
        if (own > 0)
            return share * own / (here + rest);
        share *= rest / (here + rest);
    }
    return 1e-9;
}
