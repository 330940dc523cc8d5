/*
 * Evolutionary search for several objectives and mixed axes: NSGA-II (Deb et al. 2002).
 * Parents are chosen by tournament. Each digit comes from one of two parents and may
 * mutate to a neighbouring value or to any value. The next generation is the best by
 * non-domination, then by distance to neighbours. Refused designs lose to all others.
 */
#include "explore/search.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct being {
    uint32_t digits[HALLEY_MAX_AXES];
    uint64_t id;
    explore_answered got;
    uint32_t rank;
    double distance;
} being;

typedef struct evolution {
    explore_run *run;
    const halley_study *study;
    rng random;
    map64 seen;
    uint32_t n; /* population */
    being *all; /* parents, then children */
    uint64_t *ids;
    explore_answered *answers;
} evolution;

static bool beats_being(const halley_study *s, const being *a, const being *b)
{
    assert(s->n_goals > 0);
    bool better = false;
    if (a->got.feasible != b->got.feasible)
        return a->got.feasible;
    for (uint32_t i = 0; a->got.feasible && i < s->n_goals; i++) {
        const double sign = s->goals[i].seen.maximize ? -1 : 1;
        const double x = sign * a->got.objective[i], y = sign * b->got.objective[i];
        if (x > y)
            return false;
        better = better || x < y;
    }
    return better;
}

/* Rank 0 is dominated by none, rank 1 only by rank 0, and so on. */
static void rank_all(const evolution *e, uint32_t n)
{
    assert(n > 0);
    uint32_t ranked = 0;
    for (uint32_t i = 0; i < n; i++)
        e->all[i].rank = UINT32_MAX;
    for (uint32_t rank = 0; ranked < n; rank++) {
        for (uint32_t i = 0; i < n; i++) {
            being *b = &e->all[i];
            bool beaten = b->rank < rank;
            for (uint32_t j = 0; j < n && !beaten; j++)
                beaten = e->all[j].rank >= rank && beats_being(e->study, &e->all[j], b);
            if (!beaten && b->rank == UINT32_MAX) {
                b->rank = rank;
                ranked++;
            }
        }
    }
}

typedef struct order {
    uint32_t goal;
} order;

static int by_goal(const void *a, const void *b, void *context)
{
    const order *o = context;
    const being *x = *(being *const *)a, *y = *(being *const *)b;
    const double p = x->got.objective[o->goal], q = y->got.objective[o->goal];
    if (p != q)
        return p < q ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void measure_crowding(const evolution *e, uint32_t n, being **scratch)
{
    assert(n > 0);
    for (uint32_t i = 0; i < n; i++)
        e->all[i].distance = 0;
    for (uint32_t g = 0; g < e->study->n_goals; g++) {
        order o = {g};
        uint32_t m = 0;
        for (uint32_t i = 0; i < n; i++) {
            if (e->all[i].got.feasible)
                scratch[m++] = &e->all[i];
        }
        if (m < 2)
            return;
        qsort_r(scratch, m, sizeof *scratch, by_goal, &o);
        const double range =
            scratch[m - 1]->got.objective[g] - scratch[0]->got.objective[g];
        scratch[0]->distance = scratch[m - 1]->distance = INFINITY;
        for (uint32_t i = 1; i + 1 < m && range > 0; i++)
            scratch[i]->distance +=
                (scratch[i + 1]->got.objective[g] - scratch[i - 1]->got.objective[g]) /
                range;
    }
}

static int compare_fitness(const void *a, const void *b)
{
    const being *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->distance != y->distance)
        return x->distance > y->distance ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static const being *choose_parent(evolution *e)
{
    const being *a = &e->all[rng_below(&e->random, e->n)];
    const being *b = &e->all[rng_below(&e->random, e->n)];
    return compare_fitness(a, b) <= 0 ? a : b;
}

static void mutate_being(evolution *e, being *b)
{
    assert(b != NULL);
    const halley_study *s = e->study;
    const uint32_t axis = (uint32_t)rng_below(&e->random, s->n_outer);
    const uint32_t n = s->axes[axis].seen.n, at = b->digits[axis];
    if (n < 2)
        return;
    if (rng_below(&e->random, 2))
        b->digits[axis] = (uint32_t)rng_below(&e->random, n);
    else if (rng_below(&e->random, 2))
        b->digits[axis] = at + 1 < n ? at + 1 : at - 1;
    else
        b->digits[axis] = at > 0 ? at - 1 : at + 1;
}

static void breed_child(evolution *e, being *child)
{
    assert(child != NULL);
    const being *a = choose_parent(e), *b = choose_parent(e);
    *child = *a;
    for (uint32_t i = 0; i < e->study->n_outer; i++) {
        if (rng_below(&e->random, 2))
            child->digits[i] = b->digits[i];
    }
    mutate_being(e, child);
}

/* Make n new individuals after the first `from`, each never seen before; fewer if no more
 * are found. */
static halley_status make_beings(evolution *e, uint32_t *n, uint32_t from, bool children,
                                 halley_error *err)
{
    assert(from == 0 || from == e->n);
    bool memory = true;
    *n = 0;
    for (uint32_t tries = 0; *n < e->n && tries < 50 * e->n && memory; tries++) {
        being *b = &e->all[from + *n];
        if (children && tries < 40 * e->n)
            breed_child(e, b);
        else
            explore_draw(b->digits, e->study, &e->random);
        b->id = explore_outer_id(e->study, b->digits);
        if (explore_first_time(&e->seen, b->id, &memory))
            e->ids[(*n)++] = b->id;
    }
    if (!memory)
        return error_nomem(err);
    TRY(explore_ask(e->answers, e->run, e->ids, *n, err));
    for (uint32_t i = 0; i < *n; i++)
        e->all[from + i].got = e->answers[i];
    return HALLEY_OK;
}

static halley_status run_generations(evolution *e, being **scratch, halley_error *err)
{
    uint32_t born = 0;
    uint64_t done = 0;
    TRY(make_beings(e, &born, 0, false, err));
    e->n = born;
    while (born && done < e->study->search.samples) {
        done += born;
        rank_all(e, e->n);
        measure_crowding(e, e->n, scratch);
        TRY(make_beings(e, &born, e->n, true, err));
        rank_all(e, e->n + born);
        measure_crowding(e, e->n + born, scratch);
        qsort(e->all, e->n + born, sizeof *e->all, compare_fitness);
    }
    return explore_run_flush(e->run, err);
}

halley_status explore_evolve(explore_run *r, halley_error *err)
{
    assert(explore_run_study(r)->n_axes > 0);
    evolution e = {.run = r, .study = explore_run_study(r)};
    e.n = e.study->search.population;
    if (e.n > explore_run_wave_size(r))
        e.n = (uint32_t)explore_run_wave_size(r);
    e.random = rng_seed(e.study->search.seed);
    e.all = mem_array_zero(2 * (size_t)e.n, sizeof *e.all);
    e.ids = mem_array(e.n, sizeof *e.ids);
    e.answers = mem_array(e.n, sizeof *e.answers);
    being **scratch = mem_array(2 * (size_t)e.n, sizeof *scratch);
    const bool room = e.all && e.ids && e.answers && scratch;
    const halley_status status =
        room ? run_generations(&e, scratch, err) : error_nomem(err);
    free(e.all);
    free(e.ids);
    free(e.answers);
    free(scratch);
    map64_fini(&e.seen);
    return status;
}
