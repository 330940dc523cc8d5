/*
 * Times that are far longer than the others of their operator. The mean of an operator's
 * logarithms would not know of them, and a normal distribution as wide as they lie would
 * make all others wrong. So they are taken off the numbers of their places, and become
 * numbers of nodes of the set, whatever their operator.
 */
#include "learn/learn_set.h"

#include <math.h>

/* So many times e longer; of so many nodes. */
#define FAR 3.0
enum { MIN_NODES = 4 };

/* Logarithms of one field of an operator, wherever its nodes stand. */
typedef struct usual {
    double n, sum;
} usual;
typedef ARRAY(usual) usuals;

/* Nodes and pauses. */
typedef struct tails {
    usuals usual;
    map64 usual_of;
    double n[2];       /* that could be long */
    uint32_t total[2]; /* among l->totals */
} tails;

/* Whether a number is a pause's time (1), or the time of its node (0); 2: neither. A node
 * with nanoseconds has microseconds, too, which do not count. */
static uint32_t kind_of(const synth_model *m, const law_place *at)
{
    if (at->field >> 31 != 0)
        return 1;
    const uint32_t id = map64_find(&m->op_of, at->op);
    if (id == HASH_NONE || !synth_is_duration(m, at->op, at->field))
        return 2;
    if (at->field > 0)
        return 0;
    for (uint32_t f = 1; f < m->ops.at[id].n_fields; f++)
        if (synth_is_duration(m, at->op, f))
            return 2;
    return 0;
}

static bool add_usual(tails *t, const learn_total *of)
{
    uint32_t id = (uint32_t)t->usual.n;
    bool fresh;
    if (!map64_put(&t->usual_of, hash_u64(of->at.op) + of->at.field, &id, &fresh) ||
        (fresh && !array_push(&t->usual, (usual){0})))
        return false;
    t->usual.at[id].n += of->n;
    t->usual.at[id].sum += of->sum;
    return true;
}

static bool is_far(const tails *t, const learn_total *of, double y)
{
    const uint32_t id = map64_find(&t->usual_of, hash_u64(of->at.op) + of->at.field);
    const usual *const u = &t->usual.at[id];
    return u->n >= MIN_NODES && y > u->sum / u->n + FAR;
}

static bool start(tails *t, learner *l, uint64_t family, uint32_t n_ranks)
{
    const size_t n = l->totals.n;
    for (size_t i = 0; i < n; i++) {
        const uint32_t kind = kind_of(&l->m, &l->totals.at[i].at);
        if (kind < 2)
            t->n[kind] += l->totals.at[i].n;
        if (synth_is_duration(&l->m, l->totals.at[i].at.op, l->totals.at[i].at.field) ||
            kind == 1)
            if (!add_usual(t, &l->totals.at[i]))
                return false;
    }
    for (uint32_t kind = 0; kind < 2; kind++) {
        t->total[kind] = (uint32_t)l->totals.n;
        const learn_total tail = {.at = synth_tail_place(family, n_ranks, kind == 1)};
        if (!array_push(&l->totals, tail))
            return false;
    }
    return true;
}

static void add(learn_total *t, double y)
{
    t->n++;
    t->sum += y;
    t->square += y * y;
    t->least = t->n == 1 || y < t->least ? y : t->least;
    t->most = t->n == 1 || y > t->most ? y : t->most;
}

/* Sums anew of what is not far. */
static void split(tails *t, learner *l)
{
    size_t n = 0;
    const uint32_t n_places = t->total[0];
    for (size_t i = 0; i < l->values.n; i++) {
        learn_value v = l->values.at[i];
        learn_total *const of = &l->totals.at[v.total];
        const uint32_t kind = kind_of(&l->m, &of->at);
        const bool time = kind < 2 || synth_is_duration(&l->m, of->at.op, of->at.field);
        if (!time || !is_far(t, of, (double)v.log)) {
            l->values.at[n++] = v;
            continue;
        }
        of->n--;
        of->sum -= (double)v.log;
        of->square -= (double)v.log * (double)v.log;
        if (kind == 2)
            continue;
        /* all times in ns */
        if (kind == 0 && of->at.field == 0)
            v.log += logf(1000);
        v.total = t->total[kind];
        add(&l->totals.at[v.total], (double)v.log);
        l->values.at[n++] = v;
    }
    l->values.n = n;
    for (uint32_t i = 0; i < n_places; i++)
        l->totals.at[i].most = l->totals.at[i].least;
    for (size_t i = 0; i < n; i++) {
        learn_total *const of = &l->totals.at[l->values.at[i].total];
        of->most = fmax(of->most, (double)l->values.at[i].log);
    }
    for (uint32_t kind = 0; kind < 2; kind++) {
        learn_total *const tail = &l->totals.at[t->total[kind]];
        tail->zeros = t->n[kind] - tail->n;
    }
}

bool learner_split_tails(learner *l, uint64_t family, uint32_t n_ranks)
{
    tails t = {0};
    const bool ok = start(&t, l, family, n_ranks);
    if (ok)
        split(&t, l);
    array_fini(&t.usual);
    map64_fini(&t.usual_of);
    return ok;
}
