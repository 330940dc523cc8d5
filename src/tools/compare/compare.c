/* Assembles a comparison from two profiles. */
#include "compare/compare.h"

#include "base/error.h"
#include "edit/times.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 20 };

typedef struct whole {
    halley_comparison c;
    arena memory;
} whole;

static int by_share(const void *a, const void *b)
{
    const halley_share *const x = a, *const y = b;
    if (x->real != y->real)
        return x->real > y->real ? -1 : 1;
    if (x->synth != y->synth)
        return x->synth > y->synth ? -1 : 1;
    return strcmp(x->label, y->label);
}

static double sum_of(const compare_mix *m)
{
    double sum = 0;
    for (size_t i = 0; i < m->weights.n; i++)
        sum += m->weights.at[i];
    return sum;
}

static double weight_of(const compare_mix *m, str label)
{
    const uint32_t id = intern_find(&m->labels, label);
    return id == HASH_NONE ? 0 : m->weights.at[id];
}

static halley_status add_mix_share(halley_shares *out, arena *memory, str label,
                                   double real, double synth, halley_error *err)
{
    assert(real >= 0 && synth >= 0);
    assert(out->list != NULL);
    const char *const text = arena_copy(memory, label);
    if (!text)
        return error_nomem(err);
    out->list[out->n++] = (halley_share){text, real, synth};
    out->total_variation += fabs(real - synth) / 2;
    return HALLEY_OK;
}

static halley_status compare_mixes(halley_shares *out, arena *memory,
                                   const compare_mix *real, const compare_mix *synth,
                                   halley_error *err)
{
    assert(memory != NULL);
    const double n_real = sum_of(real), n_synth = sum_of(synth);
    out->list =
        arena_array(memory, real->weights.n + synth->weights.n, sizeof *out->list);
    if (!out->list && real->weights.n + synth->weights.n > 0)
        return error_nomem(err);
    for (uint32_t i = 0; i < real->weights.n; i++) {
        const str label = intern_text(&real->labels, i);
        TRY(add_mix_share(out, memory, label,
                          n_real > 0 ? real->weights.at[i] / n_real : 0,
                          n_synth > 0 ? weight_of(synth, label) / n_synth : 0, err));
    }
    for (uint32_t i = 0; i < synth->weights.n; i++) {
        const str label = intern_text(&synth->labels, i);
        if (intern_find(&real->labels, label) == HASH_NONE)
            TRY(add_mix_share(out, memory, label, 0,
                              n_synth > 0 ? synth->weights.at[i] / n_synth : 0, err));
    }
    if ((n_real > 0) != (n_synth > 0) || out->total_variation > 1)
        out->total_variation = 1;
    if (out->n > 1)
        qsort(out->list, out->n, sizeof *out->list, by_share);
    assert(out->total_variation >= 0);
    return HALLEY_OK;
}

/* The mean and standard deviation of the simulated times on a cluster, and their
 * distribution. */
static uint32_t sum_times(double *mean, double *deviation, compare_dist *to,
                          const halley_profile *p, uint32_t cluster, bool *failed)
{
    assert(cluster < HALLEY_N_REFERENCES);
    uint32_t n = 0;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < p->sets.n; i++) {
        if (!p->sets.at[i].simulated)
            continue;
        n++;
        sum += p->sets.at[i].seconds[cluster];
        *failed |= !compare_dist_add(to, p->sets.at[i].seconds[cluster], 1);
    }
    *mean = n ? sum / n : (double)NAN;
    for (size_t i = 0; i < p->sets.n; i++)
        if (p->sets.at[i].simulated) {
            const double d = p->sets.at[i].seconds[cluster] - *mean;
            squares += d * d;
        }
    *deviation = n ? sqrt(squares / n) : (double)NAN;
    assert(*deviation >= 0 || isnan(*deviation));
    return n;
}

static halley_status compare_simulated_times(halley_comparison *c,
                                             const halley_profile *real,
                                             const halley_profile *synth,
                                             halley_error *err)
{
    assert(c->size == sizeof *c);
    bool failed = false;
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; i < HALLEY_N_REFERENCES && status == HALLEY_OK; i++) {
        halley_times *const t = &c->times[i];
        compare_dist a = {0}, b = {0};
        halley_spread spread = {0};
        t->cluster = halley_reference_name(i);
        t->n_real = sum_times(&t->mean_real_s, &t->sd_real_s, &a, real, i, &failed);
        t->n_synth = sum_times(&t->mean_synth_s, &t->sd_synth_s, &b, synth, i, &failed);
        status = compare_dist_spread(&spread, &a, &b, err);
        t->ks = spread.ks;
        compare_dist_fini(&a);
        compare_dist_fini(&b);
    }
    return status == HALLEY_OK && failed ? error_nomem(err) : status;
}

static int order_by_text(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* Finds texts of SYNTH that REAL contains, but in too few sets. */
static halley_status find_names(whole *w, const halley_profile *real,
                                const halley_profile *synth, halley_error *err)
{
    assert(w->c.min_support > 0);
    halley_comparison *const c = &w->c;
    ARRAY(str) found = {0};
    bool fine = true;
    for (uint32_t i = 0; fine && i < synth->texts.n; i++) {
        const str text = intern_text(&synth->texts, i);
        const uint32_t id = intern_find(&real->texts, text);
        if (id != HASH_NONE && real->text_support.at[id].n_sets < c->min_support)
            fine = array_push(&found, text);
    }
    if (found.n > 1)
        qsort(found.at, found.n, sizeof *found.at, order_by_text);
    c->n_names = found.n;
    c->names = arena_array(&w->memory, MOST_NAMES, sizeof *c->names);
    fine = fine && c->names;
    for (size_t i = 0; fine && i < found.n && i < MOST_NAMES; i++) {
        c->names[i] = arena_copy(&w->memory, found.at[i]);
        fine = c->names[i] != NULL;
        c->n_names_listed = i + 1;
    }
    array_fini(&found);
    assert(w->c.n_names_listed <= w->c.n_names);
    return fine ? HALLEY_OK : error_nomem(err);
}

static void find_values(halley_comparison *c, const halley_profile *real,
                        const halley_profile *synth)
{
    assert(c->min_support > 0);
    uint64_t n_rare = 0, n_all = 0;
    for (size_t i = 0; i < synth->value_support.n; i++) {
        const compare_support *const s = &synth->value_support.at[i];
        const uint32_t id = map64_find(&real->values, s->value);
        n_all += s->n_uses;
        if (id == HASH_NONE || real->value_support.at[id].n_sets >= c->min_support)
            continue;
        c->n_values++;
        n_rare += s->n_uses;
    }
    c->values_share = n_all ? (double)n_rare / (double)n_all : 0;
    assert(c->values_share >= 0 && c->values_share <= 1);
}

static halley_status compare_profiles(whole *w, const halley_profile *real,
                                      const halley_profile *synth,
                                      const halley_compare_opts *opts, halley_error *err)
{
    assert(real->sets.n > 0 && synth->sets.n > 0);
    halley_comparison *const c = &w->c;
    c->size = sizeof *c;
    c->n_real = (uint32_t)real->sets.n;
    c->n_synth = (uint32_t)synth->sets.n;
    for (int q = 0; q < HALLEY_N_QUANTITIES; q++)
        TRY(compare_dist_spread(&c->spreads[q], &real->dists[q], &synth->dists[q], err));
    for (int m = 0; m < HALLEY_N_MIXES; m++) {
        TRY(compare_mixes(&c->mixes[m], &w->memory, &real->mixes[m], &synth->mixes[m],
                          err));
        c->mixes[m].real = sum_of(&real->mixes[m]) / c->n_real;
        c->mixes[m].synth = sum_of(&synth->mixes[m]) / c->n_synth;
    }
    TRY(compare_simulated_times(c, real, synth, err));
    const char *const why =
        synth->not_simulated ? synth->not_simulated : real->not_simulated;
    c->not_simulated = why ? arena_copy(&w->memory, str_from(why)) : NULL;
    TRY(compare_runs_verbatim(c->verbatim, &real->runs, &synth->runs, err));
    TRY(compare_near(c, &w->memory, real, synth, err));
    TRY(find_names(w, real, synth, err));
    find_values(c, real, synth);
    if (opts->train && opts->holdout)
        TRY(compare_attack(c, synth, opts->train, opts->holdout, err));
    return HALLEY_OK;
}

halley_status halley_compare(halley_comparison **out, const halley_profile *real,
                             const halley_profile *synth, const halley_compare_opts *opts,
                             halley_error *err)
{
    assert(real != NULL && synth != NULL);
    static const halley_compare_opts none = {0};
    if (real->sets.n == 0 || synth->sets.n == 0)
        return error_set(err, HALLEY_EINVAL, "there is no trace to compare %s",
                         real->sets.n == 0 ? "with" : "");
    whole *const w = mem_array_zero(1, sizeof *w);
    if (!w)
        return error_nomem(err);
    opts = opts ? opts : &none;
    w->c.memory = w;
    w->c.min_support = opts->min_support ? opts->min_support : 5;
    const halley_status status = compare_profiles(w, real, synth, opts, err);
    if (status == HALLEY_OK)
        *out = &w->c;
    else
        halley_comparison_free(&w->c);
    return status;
}

void halley_comparison_free(halley_comparison *c)
{
    if (!c)
        return;
    whole *const w = c->memory;
    arena_fini(&w->memory);
    free(w);
}
