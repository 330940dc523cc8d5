/*
 * Chapters. They begin with operators that nearly every program that has them has once.
 * Each is folded by itself and counted with the values of conditions of the sets that
 * have it. For a new set one is drawn after the other, each in proportion to how likely
 * the conditions are among its sets: words by their shares, numbers under a normal
 * distribution of their logarithms. What follows from a size (a threshold, say) is so
 * told by that size.
 */
#include "learn/chapters.h"

#include <math.h>
#include <string.h>

enum { MAX_CHAPTERS = 20000, PROGRAMS = 10 };

void chapter_finder_fini(chapter_finder *f)
{
    array_fini(&f->times);
    array_fini(&f->has);
    array_fini(&f->once);
}

bool chapter_finder_look(chapter_finder *f, const synth_program *p)
{
    uint32_t n_ops = 0;
    for (size_t i = 0; i < p->ops.n; i++)
        n_ops = p->ops.at[i] >= n_ops ? p->ops.at[i] + 1 : n_ops;
    if (!synth_u32s_resize(&f->times, n_ops) || !synth_u32s_resize(&f->has, n_ops) ||
        !synth_u32s_resize(&f->once, n_ops))
        return false;
    memset(f->times.at, 0, f->times.n * sizeof *f->times.at);
    for (size_t i = 0; i < p->ops.n; i++)
        f->times.at[p->ops.at[i]]++;
    for (uint32_t op = 0; op < n_ops; op++) {
        f->has.at[op] += f->times.at[op] > 0;
        f->once.at[op] += f->times.at[op] == 1;
    }
    f->n_programs++;
    return true;
}

void chapter_finder_decide(const chapter_finder *f, synth_model *m)
{
    for (uint32_t op = 0; op < f->has.n; op++)
        if (f->has.at[op] >= PROGRAMS && PROGRAMS * f->has.at[op] >= f->n_programs &&
            100 * (uint64_t)f->once.at[op] >= 98 * (uint64_t)f->has.at[op])
            m->ops.at[op].flags |= MODEL_OP_ANCHOR;
}

/* One set more has a chapter; false: no memory. */
static bool count(learner *l, uint32_t from, uint32_t to, uint32_t skeleton)
{
    synth_model *const m = &l->m;
    const uint32_t set = m->head.at[0].n_sets;
    const uint64_t key =
        hash_u64(hash_u64(from + UINT64_C(1)) + to) ^ m->skeletons.at[skeleton].key;
    uint32_t id = (uint32_t)m->chapters.n;
    bool fresh;
    if (id == MAX_CHAPTERS && map64_find(&m->chapter_of, key) == HASH_NONE)
        return true;
    if (!map64_put(&m->chapter_of, key, &id, &fresh))
        return false;
    if (fresh) {
        if (!array_reserve(&m->chapters, 1))
            return false;
        model_chapter *const c = &m->chapters.at[m->chapters.n++];
        memset(c, 0, sizeof *c);
        c->key = key;
        c->from = from;
        c->to = to;
        c->skeleton = skeleton;
    }
    model_chapter *const c = &m->chapters.at[id];
    if (c->last_set == set)
        return true;
    c->last_set = set;
    c->n_sets++;
    for (uint32_t i = 0; i < MODEL_CONDITIONS; i++)
        if (l->set_values[i] != MODEL_NONE)
            c->values[i][l->set_values[i]]++;
    return true;
}

static bool is_anchor(const synth_model *m, uint32_t op)
{
    return (m->ops.at[op].flags & MODEL_OP_ANCHOR) != 0;
}

halley_status chapters_learn(learner *l, const learn_stage *at, halley_error *err)
{
    synth_model *const m = &l->m;
    const synth_program *const p = &l->program;
    const uint32_t n = (uint32_t)p->ops.n;
    uint32_t from = MODEL_NONE, first = 0;
    for (uint32_t i = 0; i <= n; i++) {
        if (i < n && !is_anchor(m, p->ops.at[i]))
            continue;
        const uint32_t to = i < n ? p->ops.at[i] : MODEL_NONE;
        if (to == MODEL_NONE && from == MODEL_NONE)
            return HALLEY_OK; /* no anchors: the whole program is a skeleton already */
        TRY(synth_fold(&l->folded, m, p->tokens.at + first, i - first, 0, err));
        const uint32_t skeleton = learner_skeleton(l, at);
        if (skeleton == MODEL_NONE || !count(l, from, to, skeleton))
            return error_nomem(err);
        from = to;
        first = i;
    }
    return HALLEY_OK;
}

/* How likely a number is among those of a chapter's sets. */
static double log_number(const model_condition *of, const uint32_t *counts, double number)
{
    double n = 0, sum = 0, square = 0;
    for (uint32_t v = 0; v < of->n_values; v++) {
        const double y = log(of->values[v].number + 0.5);
        n += counts[v];
        sum += counts[v] * y;
        square += counts[v] * y * y;
    }
    if (n == 0)
        return 0;
    const double mean = sum / n;
    const double sd = sqrt(fmax(0, square / n - mean * mean) + 0.25 / n + 0.01);
    const double off = (log(number + 0.5) - mean) / sd;
    return fmax(-0.5 * off * off, -20) - log(sd);
}

/* How well a chapter fits the conditions; *own: whether all their words, and *family:
 * whether the family, are among those of its sets. */
static double fits(const sample_set *s, const model_chapter *c, bool *own, bool *family)
{
    const synth_model *const m = s->m;
    const conditions *const of = &s->outline.conditions;
    double score = log(c->n_sets);
    *own = *family = true;
    for (uint32_t i = 0; i < of->n; i++) {
        const uint32_t id = conditions_index(m, of->at[i].name);
        if (id == MODEL_NONE)
            continue;
        const model_condition *const known = &m->conditions.at[id];
        if (!known->is_text) {
            score += log_number(known, c->values[id], of->at[i].number);
            continue;
        }
        const uint32_t v = conditions_value(m, known, &of->at[i]);
        const uint32_t n = v < MODEL_VALUES ? c->values[id][v] : 0;
        score += log((n + 0.01) / c->n_sets);
        *own = *own && n > 0;
        *family = *family && (n > 0 || strcmp(of->at[i].name, "family") != 0);
    }
    return score;
}

uint32_t chapters_choose(sample_set *s, uint32_t from, const law_point *p)
{
    const synth_model *const m = s->m;
    uint32_t best = MODEL_NONE, counts[SAMPLE_MAX_LOOPS] = {0};
    double most = -INFINITY;
    bool is_own = false;
    for (uint32_t i = 0; i < m->chapters.n; i++) {
        const model_chapter *const c = &m->chapters.at[i];
        bool own, family;
        if (c->from != from)
            continue;
        double score = fits(s, c, &own, &family);
        if (!family || (is_own && !own))
            continue;
        score -= 3 * sample_counts(counts, m, &m->skeletons.at[c->skeleton], p, 0, 1);
        /* Gumbel noise: the largest is a draw in proportion to the weights. */
        score -= log(-log(rng_unit(&s->random) + 1e-12));
        if (score <= most && is_own == own)
            continue;
        most = score;
        best = i;
        is_own = own;
    }
    return best;
}
