/*
 * The joint distribution of the conditions. Conditions are drawn one after the other.
 * Each has a decision tree with questions about the earlier ones ("tp at most 2?",
 * "family = gpt?"). The probability of all conditions together is the product of their
 * probabilities at the leaves.
 *
 * A tree grows by the question that increases the likelihood most. It stops growing
 * where the gain is less than the cost of a question. The cost is half a logarithm of
 * the number of sets per extra probability, as in the Bayesian information criterion.
 *
 * Privacy: every branch covers at least k sets. It lists the values that at least k of
 * its own sets have. Numbers that fewer sets have are listed as ranges of at least k
 * sets. The parent branch decides which number of a range is drawn, and which value that
 * is not listed. So nothing is stored about fewer than k sets, and no value is lost
 * (after Katz's back-off).
 *
 * Trees grow from portraits: the conditions of up to MAX_PORTRAITS sets, sampled
 * uniformly. Portraits are only in the state of the learner.
 */
#include "learn/model/joint.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MAX_PORTRAITS = 4096, MAX_DEPTH = 24, FEWEST = 8 };

bool joint_remember(synth_model *m, const conditions *c, const uint32_t *values,
                    uint32_t template)
{
    assert(template <m->templates.n);
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
    bool equal; /* true: equal to this value? false: at most this value? */
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
    /* counts by [value of the other column][value of this column] */
    uint32_t *table;
    uint32_t yes[MODEL_VALUES]; /* rows with the answer yes, by value of this column */
} grower;

static uint32_t count_values(const synth_model *m, uint32_t column)
{
    return column == JOINT_TEMPLATE ? (uint32_t)m->templates.n + 1 : MODEL_VALUES;
}

/* The log-likelihood of these counts. */
static double sum_log_likelihood(const uint32_t counts[MODEL_VALUES])
{
    double total = 0, s = 0;
    for (uint32_t i = 0; i < MODEL_VALUES; i++)
        if (counts[i] > 0) {
            s += counts[i] * log(counts[i]);
            total += counts[i];
        }
    return total > 0 ? s - total * log(total) : 0;
}

/* The cost of one more question at a branch with these values of n sets. */
static double cost_question(const grower *g, const uint32_t *all, uint32_t n)
{
    double used = 0;
    for (uint32_t v = 0; v < MODEL_VALUES; v++)
        used += all[v] > 0;
    return 0.5 * (used - 1) * log(n) + log(1.0 + g->n_before);
}

/* The gain in log-likelihood of the question whose yes-answers are counted in `yes`. */
static double gain_of(const grower *g, const uint32_t *all)
{
    uint32_t no[MODEL_VALUES];
    for (uint32_t v = 0; v < MODEL_VALUES; v++)
        no[v] = all[v] - g->yes[v];
    return sum_log_likelihood(g->yes) + sum_log_likelihood(no) - sum_log_likelihood(all);
}

static uint32_t fewest_of(const grower *g)
{
    return g->k > FEWEST ? g->k : FEWEST;
}

/* Finds the best question about one column. *best is the gain to beat. */
static void ask_column(question *out, double *best, grower *g, uint32_t by,
                       const uint32_t *all, const joint_row *rows, uint32_t n)
{
    assert(by != g->of);
    const uint32_t n_by = count_values(g->m, by);
    const double cost = cost_question(g, all, n);
    const bool ordered = by != JOINT_TEMPLATE && !g->m->conditions.at[by].is_text;
    memset(g->table, 0, (size_t)n_by * MODEL_VALUES * sizeof *g->table);
    for (uint32_t i = 0; i < n; i++)
        g->table[(size_t)rows[i].value[by] * MODEL_VALUES + rows[i].value[g->of]]++;
    for (int equal = 0; equal < 2; equal++) {
        memset(g->yes, 0, sizeof g->yes);
        for (uint32_t v = 0; v < n_by && (equal || ordered); v++) {
            const uint32_t *row = g->table + (size_t)v * MODEL_VALUES;
            uint32_t n_yes = 0;
            if (!equal && v == MODEL_ABSENT)
                continue;
            for (uint32_t w = 0; w < MODEL_VALUES; w++) {
                g->yes[w] = equal ? row[w] : g->yes[w] + row[w];
                n_yes += g->yes[w];
            }
            if (n_yes < fewest_of(g) || n - n_yes < fewest_of(g))
                continue;
            const double gain = gain_of(g, all) - cost;
            if (gain > *best * (1 + 1e-9)) {
                *best = gain;
                *out = (question){by, v, equal};
            }
        }
    }
}

static bool ask_question(question *out, grower *g, const uint32_t *all,
                         const joint_row *rows, uint32_t n)
{
    assert(n > 0);
    double best = 0;
    out->by = MODEL_NONE;
    if (g->of == JOINT_TEMPLATE || n < 2 * fewest_of(g))
        return false;
    for (uint32_t i = 0; i < g->n_before; i++)
        ask_column(out, &best, g, g->before[i], all, rows, n);
    return out->by != MODEL_NONE;
}

/* Moves the rows with the answer yes to the front. Returns their number. */
static uint32_t part_rows(const question *q, joint_row *rows, uint32_t n)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < n; i++)
        if (is_yes(q, &rows[i])) {
            const joint_row t = rows[at];
            rows[at++] = rows[i];
            rows[i] = t;
        }
    assert(at <= n);
    return at;
}

static bool push_share(grower *g, model_branch *b, uint32_t first, uint32_t last,
                       uint32_t n)
{
    assert(first <= last && n >= g->k);
    b->n++;
    return array_push(&g->m->shares, (model_share){first, last, n});
}

/* Lists the values that at least k sets have. Rarer numbers are merged with their
 * neighbours. */
static bool add_shares(grower *g, model_branch *b, const uint32_t *all)
{
    assert(g->n_values > 0);
    const bool ordered = g->of != JOINT_TEMPLATE && !g->m->conditions.at[g->of].is_text;
    b->first = (uint32_t)g->m->shares.n;
    for (uint32_t v = 0; v < g->n_values; v++)
        if (all[v] >= g->k && !push_share(g, b, v, v, all[v]))
            return false;
    uint32_t n = 0, first = 0;
    size_t last = SIZE_MAX;
    for (uint32_t v = 0; ordered && v < MODEL_ABSENT; v++) {
        if (all[v] == 0 || all[v] >= g->k)
            continue;
        first = n == 0 ? v : first;
        n += all[v];
        if (n < g->k)
            continue;
        last = g->m->shares.n;
        if (!push_share(g, b, first, v, n))
            return false;
        n = 0;
    }
    /* The last few that are too rare join the range before them. */
    if (n > 0 && last != SIZE_MAX) {
        model_share *to = &g->m->shares.at[last];
        to->n_sets += n;
        for (uint32_t v = first; v < MODEL_ABSENT; v++)
            to->last = all[v] > 0 && all[v] < g->k ? v : to->last;
    }
    return true;
}

/* A branch whose rows still have to be examined. */
typedef struct bud {
    uint32_t branch, first, n, depth;
} bud;

static bool open_bud(grower *g, const bud *b, uint32_t *all, question *q)
{
    assert(b->branch < g->m->branches.n);
    const joint_row *rows = g->rows + b->first;
    memset(all, 0, g->n_values * sizeof *all);
    for (uint32_t i = 0; i < b->n; i++)
        all[rows[i].value[g->of]]++;
    if (b->depth >= MAX_DEPTH || !ask_question(q, g, all, rows, b->n))
        q->by = MODEL_NONE;
    return add_shares(g, &g->m->branches.at[b->branch], all);
}

static bool grow_tree(grower *g, uint32_t n, uint32_t *all)
{
    assert(n > 0);
    synth_model *m = g->m;
    ARRAY(bud) buds = {0};
    const model_root root = {g->of, (uint32_t)m->branches.n};
    const model_branch top = {
        .by = MODEL_NONE, .yes = MODEL_NONE, .parent = MODEL_NONE, .n_sets = n};
    bool ok = array_push(&m->roots, root) && array_push(&m->branches, top) &&
              array_push(&buds, (bud){root.branch, 0, n, 0});
    while (ok && buds.n > 0) {
        const bud b = buds.at[--buds.n];
        question q = {.by = MODEL_NONE};
        ok = open_bud(g, &b, all, &q);
        if (!ok || q.by == MODEL_NONE)
            continue;
        const uint32_t n_yes = part_rows(&q, g->rows + b.first, b.n);
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
    assert(k > 0);
    const size_t width = count_values(m, JOINT_TEMPLATE) + MODEL_VALUES;
    grower g = {.m = m, .k = k};
    uint32_t *all = mem_array(width, sizeof *all);
    g.rows = mem_array(n, sizeof *g.rows);
    g.table = mem_array(width * MODEL_VALUES, sizeof *g.table);
    bool ok = all && g.rows && g.table;
    if (ok && n > 0)
        memcpy(g.rows, rows, n * sizeof *rows);
    const uint32_t n_columns = (uint32_t)m->conditions.n + with_template;
    for (uint32_t i = 0; ok && n > 0 && i < n_columns; i++) {
        g.of = with_template && i == 0 ? JOINT_TEMPLATE : i - with_template;
        g.n_values = count_values(m, g.of);
        ok = grow_tree(&g, n, all);
        g.before[g.n_before++] = g.of;
    }
    free(all);
    free(g.rows);
    free(g.table);
    return ok;
}

uint32_t joint_leaf(const synth_model *m, const model_root *tree, const joint_row *given)
{
    assert(tree->branch < m->branches.n);
    uint32_t at = tree->branch;
    for (;;) {
        const model_branch *b = &m->branches.at[at];
        const question q = {b->by, b->value, b->equal != 0};
        if (b->by == MODEL_NONE || given->value[b->by] == MODEL_NONE)
            return at;
        at = is_yes(&q, given) ? b->yes : b->yes + 1;
    }
}

/* Turns the probabilities at the parent branch into those at this branch. */
static void refine_chances(double *p, const synth_model *m, const model_branch *b)
{
    double q[MODEL_VALUES] = {0}, left = 1, others = 0;
    bool alone[MODEL_VALUES] = {0};
    for (uint32_t j = 0; j < b->n; j++) {
        const model_share *s = &m->shares.at[b->first + j];
        if (s->first != s->last)
            continue;
        alone[s->first] = true;
        q[s->first] = (double)s->n_sets / b->n_sets;
        left -= q[s->first];
    }
    for (uint32_t j = 0; j < b->n; j++) {
        const model_share *s = &m->shares.at[b->first + j];
        double sum = 0;
        for (uint32_t v = s->first; v <= s->last; v++)
            sum += alone[v] ? 0 : p[v];
        if (s->first == s->last || !(sum > 0))
            continue;
        const double share = (double)s->n_sets / b->n_sets;
        for (uint32_t v = s->first; v <= s->last; v++)
            q[v] += alone[v] ? 0 : share * p[v] / sum;
        left -= share;
    }
    for (uint32_t v = 0; v < MODEL_VALUES; v++)
        others += q[v] > 0 ? 0 : p[v];
    for (uint32_t v = 0; v < MODEL_VALUES; v++)
        p[v] = q[v] > 0 ? q[v] : others > 0 ? fmax(0, left) * p[v] / others : 0;
}

/* The probabilities of the values of a condition at a branch. They need not add up to
 * 1. */
static void find_chances(double *p, const synth_model *m, uint32_t of, uint32_t branch)
{
    assert(of < m->conditions.n && branch < m->branches.n);
    uint32_t path[MAX_DEPTH + 2], n = 0;
    for (; branch != MODEL_NONE && n < MAX_DEPTH + 2;
         branch = m->branches.at[branch].parent)
        path[n++] = branch;
    const model_condition *c = &m->conditions.at[of];
    memset(p, 0, MODEL_VALUES * sizeof *p);
    for (uint32_t v = 0; v < c->n_values; v++)
        p[v] = c->values[v].n_sets;
    while (n > 0)
        refine_chances(p, m, &m->branches.at[path[--n]]);
}

void joint_shares(double p[MODEL_VALUES], const synth_model *m, const model_root *tree,
                  const joint_row *given)
{
    find_chances(p, m, tree->of, joint_leaf(m, tree, given));
}

/* The tree of templates is one branch, because templates are drawn first. Each template
 * has its own share there. */
static uint32_t draw_template(const synth_model *m, const model_branch *b, double u)
{
    assert(u >= 0 && u < 1);
    double left = u * b->n_sets;
    for (uint32_t j = 0; j < b->n; j++) {
        const model_share *s = &m->shares.at[b->first + j];
        if ((left -= s->n_sets) < 0)
            return s->first;
    }
    return (uint32_t)m->templates.n;
}

uint32_t joint_pick(const double p[MODEL_VALUES], double u)
{
    assert(u >= 0 && u < 1);
    double sum = 0;
    for (uint32_t v = 0; v < MODEL_VALUES; v++)
        sum += p[v];
    double left = u * sum;
    for (uint32_t v = 0; v < MODEL_VALUES; v++)
        if ((left -= p[v]) < 0)
            return v;
    return MODEL_ABSENT;
}

uint32_t joint_draw(const synth_model *m, const model_root *tree, const joint_row *given,
                    double u)
{
    assert(tree->branch < m->branches.n);
    double p[MODEL_VALUES];
    if (tree->of == JOINT_TEMPLATE)
        return draw_template(m, &m->branches.at[tree->branch], u);
    joint_shares(p, m, tree, given);
    return joint_pick(p, u);
}

double joint_share(const synth_model *m, const model_root *tree, const joint_row *given,
                   uint32_t value)
{
    assert(tree->branch < m->branches.n);
    double p[MODEL_VALUES];
    if (tree->of == JOINT_TEMPLATE || value >= MODEL_VALUES)
        return 1;
    joint_shares(p, m, tree, given);
    return fmax(p[value], 1e-9);
}
