/*
 * Learning from a corpus. Sets are added one after the other in the order of their
 * names, so the same corpus gives the same model.
 */
#include "halley/learn.h"

#include "base/file/file.h"
#include "base/pool.h"
#include "base/str.h"
#include "base/watch.h"
#include "learn/learn_set.h"
#include "learn/model/model_prune.h"
#include "learn/source.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_LOOKED_AT = 300, BATCH = 8, MIN_SUPPORT = 5 };

typedef struct job {
    const char *path;
    const halley_learn_opts *opts;
    halley_learn_report *report;
    trace_found sets;
    learner l;
    uint32_t n_looked_at;
} job;

/* Skips an invalid set. A set that could not be read ends learning: the model must not
 * silently miss it. */
static halley_status skip_set(job *j, const halley_error *why, halley_error *err)
{
    assert(why->code != HALLEY_OK);
    if (synth_source_is_unread(why->code) || j->opts->strict) {
        if (err)
            *err = *why;
        return why->code;
    }
    j->l.m.head.at[0].n_skipped++;
    if (j->report->first_skipped[0] == '\0')
        (void)halley_error_format(why, j->report->first_skipped,
                                  sizeof j->report->first_skipped);
    return HALLEY_OK;
}

/* A few sets, opened ahead by one thread each. */
typedef struct batch {
    size_t at[BATCH]; /* which sets */
    size_t n;
    synth_source sources[BATCH];
    halley_status status[BATCH];
    halley_error why[BATCH];
} batch;

static void close_batch(batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        synth_source_close(&b->sources[i]);
    b->n = 0;
}

/* Chooses the next sets: every `step`-th from `first` on. */
static void choose_batch(batch *b, const job *j, size_t first, size_t step)
{
    assert(step > 0);
    for (b->n = 0; b->n < BATCH && first < j->sets.list.n; first += step)
        b->at[b->n++] = first;
    memset(b->sources, 0, sizeof b->sources);
    memset(b->why, 0, sizeof b->why);
    assert(b->n <= BATCH);
}

static halley_status learn_one(job *j, batch *b, size_t k, halley_error *err)
{
    assert(k < b->n);
    synth_source *s = &b->sources[k];
    if (b->status[k] != HALLEY_OK)
        return skip_set(j, &b->why[k], err);
    return learner_add(&j->l, s->set, &s->conditions, synth_source_groups(s), err);
}

static halley_status learn_batch(job *j, batch *b, halley_error *err)
{
    const size_t n = j->sets.list.n;
    for (size_t k = 0; k < b->n; k++) {
        const size_t done = b->at[k] + 1;
        TRY(learn_one(j, b, k, err));
        if (!watch_look(j->opts->watch, "learning", "sets", done, (double)n))
            return error_set(err, HALLEY_ECANCELED, "stopped after %zu of %zu sets", done,
                             n);
    }
    return HALLEY_OK;
}

/* First pass over a batch. Invalid sets are ignored here. */
static halley_status look_at_batch(job *j, batch *b, halley_error *err)
{
    for (size_t k = 0; k < b->n; k++) {
        if (b->status[k] == HALLEY_OK)
            b->status[k] =
                learner_look(&j->l, b->sources[k].set, ++j->n_looked_at, &b->why[k]);
        if (synth_source_is_unread(b->status[k])) {
            if (err)
                *err = b->why[k];
            return b->status[k];
        }
    }
    return HALLEY_OK;
}

/* A pass over the corpus: one batch is used while the next is opened. */
typedef struct walk {
    job *j;
    size_t step;
    bool as_they_are; /* without validity check, conditions and groups */
    halley_status (*use)(job *j, batch *b, halley_error *err);
    batch *now, *next;
} walk;

static halley_status open_one(const walk *w, size_t k)
{
    assert(k < w->next->n);
    batch *const b = w->next;
    const trace_found *const sets = &w->j->sets;
    if (w->as_they_are)
        return trace_found_load(&b->sources[k].set, sets, b->at[k], 1, &b->why[k]);
    return synth_source_open(&b->sources[k], sets, b->at[k], 1, &b->why[k]);
}

static halley_status do_walk_step(void *context, size_t i, uint32_t worker,
                                  halley_error *err)
{
    const walk *const w = context;
    (void)worker;
    if (i == 0)
        return w->use(w->j, w->now, err);
    w->next->status[i - 1] = open_one(w, i - 1);
    return HALLEY_OK;
}

static halley_status go_through(walk *w, halley_error *err)
{
    size_t first = 0;
    assert(w->step > 0 && w->use != NULL);
    batch *const both = mem_array_zero(2, sizeof *both);
    halley_status status = both ? HALLEY_OK : error_nomem(err);
    if (!both)
        return status;
    w->now = &both[0];
    w->next = &both[1];
    do {
        choose_batch(w->next, w->j, first, w->step);
        first += w->next->n * w->step;
        status = pool_run(0, w->next->n + 1, do_walk_step, w, err);
        batch *const done = w->now;
        close_batch(done);
        w->now = w->next;
        w->next = done;
    } while (status == HALLEY_OK && w->now->n > 0);
    close_batch(w->now);
    free(both);
    return status;
}

/* First pass: finds what repeats. If it finds pauses or optional fields, it runs once
 * more without them. */
static halley_status look_around(walk *look, halley_error *err)
{
    assert(look->as_they_are);
    learner *const l = &look->j->l;
    noise_finder noise = {0};
    bool any = false;
    l->noise = &noise;
    halley_status status = go_through(look, err);
    if (status == HALLEY_OK && l->noise && !noise_finder_decide(&noise, &l->m, &any))
        status = error_nomem(err);
    l->noise = NULL;
    noise_finder_fini(&noise);
    if (status != HALLEY_OK || !any)
        return status;
    l->m.bodies.n = 0;
    map64_fini(&l->m.body_of);
    look->j->n_looked_at = 0;
    return go_through(look, err);
}

/* The first pass samples sets from the whole corpus. The second learns from all of
 * them. */
static halley_status learn_all(job *j, halley_error *err)
{
    assert(j->sets.list.n > 0);
    walk look = {.j = j,
                 .step = j->sets.list.n / MAX_LOOKED_AT + 1,
                 .as_they_are = true,
                 .use = look_at_batch};
    walk learn = {.j = j, .step = 1, .use = learn_batch};
    TRY(look_around(&look, err));
    return go_through(&learn, err);
}

static halley_status write_learned_model(job *j, halley_error *err)
{
    assert(j->l.m.head.n == 1);
    synth_model m;
    const uint32_t k = j->opts->min_support > 0 ? j->opts->min_support : MIN_SUPPORT;
    const model_head *head = &j->l.m.head.at[0];
    if (head->n_sets == 0 && head->n_skipped == 1)
        return error_set(err, HALLEY_EINVAL, "%s", j->report->first_skipped);
    if (head->n_sets == 0)
        return error_set(err, HALLEY_EINVAL,
                         "all %u sets of traces fail the check, the first: %s",
                         head->n_skipped, j->report->first_skipped);
    halley_status status = model_prune(&m, &j->l.m, k, err);
    if (status == HALLEY_EINVAL && head->n_skipped > 0)
        error_prefix(err, "%u sets fail the check (the first: %s), of the others ",
                     head->n_skipped, j->report->first_skipped);
    TRY(status);
    status = synth_model_save(&m, j->path, err);
    halley_learn_report *r = j->report;
    r->n_sets = head->n_sets;
    r->n_skipped = head->n_skipped;
    r->n_traces = head->n_traces;
    r->n_nodes = head->n_nodes;
    r->n_templates = (uint32_t)m.templates.n;
    for (size_t i = 0; i < m.templates.n; i++)
        r->n_covered += m.templates.at[i].n_sets;
    r->n_operators = (uint32_t)m.ops.n;
    r->n_laws = (uint32_t)m.laws.n;
    r->n_conditions = (uint32_t)m.conditions.n;
    synth_model_fini(&m);
    return status;
}

static halley_status find_sets(job *j, const char *const *from, size_t n_from,
                               halley_error *err)
{
    assert(from != NULL && n_from > 0);
    halley_learn_report *const r = j->report;
    TRY(trace_find(&j->sets, from, n_from, j->opts->strict, err));
    r->n_folders_skipped = j->sets.n_unreadable;
    if (j->sets.n_unreadable > 0)
        (void)halley_error_format(&j->sets.why, r->first_folder_skipped,
                                  sizeof r->first_folder_skipped);
    if (j->sets.list.n > 0)
        return HALLEY_OK;
    error_set(err, HALLEY_EINVAL,
              "no traces here%s: give .et files, prefixes or folders of them",
              n_from > 1 ? " nor in the others" : "");
    error_at_file(err, from[0]);
    return HALLEY_EINVAL;
}

static halley_status run_job(job *j, const char *const *from, size_t n_from,
                             halley_error *err)
{
    TRY(synth_model_may_save(j->path, err));
    TRY(find_sets(j, from, n_from, err));
    TRY(learner_init(&j->l, err));
    TRY(learn_all(j, err));
    return write_learned_model(j, err);
}

halley_status halley_learn(const char *path, const char *const *from, size_t n_from,
                           const halley_learn_opts *opts, halley_learn_report *report,
                           halley_error *err)
{
    assert(path != NULL && from != NULL);
    static const halley_learn_opts defaults;
    halley_learn_report unread = {0};
    job *j = mem_array_zero(1, sizeof *j);
    if (!j)
        return error_nomem(err);
    j->path = path;
    j->opts = opts ? opts : &defaults;
    j->report = report ? report : &unread;
    *j->report = (halley_learn_report){.size = sizeof *j->report};
    const halley_status status = run_job(j, from, n_from, err);
    learner_fini(&j->l);
    trace_found_fini(&j->sets);
    free(j);
    return status;
}
