/*
 * Learning from a corpus: one set after the other in the order of their names, so that a
 * run that was stopped goes on behind the last one its state holds, and ends with the
 * same model as one that never stopped.
 */
#include "halley/learn.h"

#include "base/file.h"
#include "base/pool.h"
#include "base/str.h"
#include "halley/synth.h"
#include "synth/blur.h"
#include "synth/learn_report.h"
#include "synth/learn_set.h"
#include "synth/model_prune.h"
#include "synth/neural_model.h"
#include "synth/source.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    SAVE_EVERY = 500,
    MAX_LOOKED_AT = 300,
    BATCH = 8,
    MAX_REPORTED = 40,
    HOLD_OUT = 20,
    MIN_SUPPORT = 5
};

typedef struct job {
    const char *path;
    strbuf state; /* path of the state */
    const halley_learn_opts *opts;
    halley_learn_report *report;
    trace_found sets;
    learner l;
} job;

static uint32_t hold_out_of(const job *j)
{
    const uint32_t every = j->opts->hold_out > 0 ? j->opts->hold_out : HOLD_OUT;
    return j->sets.list.n >= 2 * (size_t)every ? every : UINT32_MAX;
}

static bool is_held_out(const job *j, size_t i)
{
    const uint32_t every = hold_out_of(j);
    return every != UINT32_MAX && i % every == every / 2;
}

static halley_status skip(job *j, const halley_error *why, halley_error *err)
{
    if (why->code == HALLEY_ENOMEM || j->opts->strict) {
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

/* A few sets, opened ahead. */
typedef struct batch {
    size_t first, n;
    synth_source sources[BATCH];
    halley_status status[BATCH];
    halley_error why[BATCH];
} batch;

static void open_batch(batch *b, const job *j, size_t first)
{
    const size_t left = j->sets.list.n - first;
    b->first = first;
    b->n = left < BATCH ? left : BATCH;
    for (size_t i = 0; i < b->n; i++) {
        b->sources[i] = (synth_source){0};
        b->why[i] = (halley_error){0};
        b->status[i] =
            is_held_out(j, first + i)
                ? HALLEY_ECANCELED
                : synth_source_open(&b->sources[i], &j->sets, first + i, &b->why[i]);
    }
}

static void close_batch(batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        synth_source_close(&b->sources[i]);
    b->n = 0;
}

static halley_status learn_one(job *j, batch *b, size_t k, halley_error *err)
{
    synth_source *s = &b->sources[k];
    const char *name = j->sets.list.at[b->first + k].name;
    model_head *head = &j->l.m.head.at[0];
    head->seen = hash_bytes(name, strlen(name), head->seen);
    if (b->status[k] == HALLEY_ECANCELED) {
        head->n_held_out++;
        return HALLEY_OK;
    }
    if (b->status[k] != HALLEY_OK)
        return skip(j, &b->why[k], err);
    return learner_add(&j->l, s->set, &s->conditions, synth_source_groups(s), err);
}

/* Where to go on: behind the sets that a state of the same corpus holds. */
static size_t resume(job *j)
{
    synth_model m;
    /* a network learns from programs, which the state does not hold */
    if (j->opts->fresh || j->l.recorder || !file_exists(j->state.at) ||
        synth_model_load(&m, j->state.at, true, NULL) != HALLEY_OK)
        return 0;
    uint64_t seen = 0;
    const model_head *head = &m.head.at[0];
    const size_t n = (size_t)head->n_sets + head->n_skipped + head->n_held_out;
    for (size_t i = 0; i < n && i < j->sets.list.n; i++)
        seen = hash_bytes(j->sets.list.at[i].name, strlen(j->sets.list.at[i].name), seen);
    if (n > j->sets.list.n || seen != head->seen) {
        synth_model_fini(&m);
        return 0;
    }
    synth_model_fini(&j->l.m);
    j->l.m = m;
    j->report->n_resumed = head->n_sets;
    return n;
}

/* What repeats, in sets from all over the corpus: those that cannot be read say nothing.
 */
static halley_status look_around(job *j, halley_error *err)
{
    const size_t n = j->sets.list.n, step = n / MAX_LOOKED_AT + 1;
    uint32_t number = 0;
    for (size_t i = 0; i < n; i += step) {
        halley_trace_set *set = NULL;
        halley_error why = {0};
        if (is_held_out(j, i))
            continue;
        halley_status status = trace_found_load(&set, &j->sets, i, &why);
        if (status == HALLEY_OK)
            status = learner_look(&j->l, set, ++number, &why);
        halley_trace_set_free(set);
        if (status == HALLEY_ENOMEM)
            return error_nomem(err);
    }
    return HALLEY_OK;
}

static halley_status learn_batch(job *j, batch *b, halley_error *err)
{
    const size_t n = j->sets.list.n;
    for (size_t k = 0; k < b->n; k++) {
        const size_t done = b->first + k + 1;
        TRY(learn_one(j, b, k, err));
        const bool go_on =
            !j->opts->progress || j->opts->progress(j->opts->progress_context, done, n);
        if (!go_on || (done < n && done % SAVE_EVERY == 0))
            TRY(synth_model_save(&j->l.m, j->state.at, true, err));
        if (!go_on)
            return error_set(err, HALLEY_ECANCELED,
                             "stopped after %zu of %zu sets; the same command goes on",
                             done, n);
    }
    return HALLEY_OK;
}

/* Two batches: one is learned while the next is opened. */
typedef struct round {
    job *j;
    batch *now, *next;
} round;

static halley_status do_half(void *context, size_t i, uint32_t worker, halley_error *err)
{
    round *r = context;
    (void)worker;
    if (i == 0)
        return learn_batch(r->j, r->now, err);
    open_batch(r->next, r->j, r->now->first + r->now->n);
    return HALLEY_OK;
}

static halley_status learn_all(job *j, halley_error *err)
{
    const size_t first = resume(j);
    if (first == 0)
        TRY(look_around(j, err));
    batch *both = mem_array_zero(2, sizeof *both);
    if (!both)
        return error_nomem(err);
    round r = {j, &both[0], &both[1]};
    open_batch(r.now, j, first);
    halley_status status = HALLEY_OK;
    while (status == HALLEY_OK && r.now->n > 0) {
        status = pool_run(2, 2, do_half, &r, err);
        batch *const done = r.now;
        close_batch(done);
        r.now = r.next;
        r.next = done;
    }
    close_batch(r.now);
    close_batch(r.next);
    free(both);
    return status;
}

/* A set made under the conditions of a real one. */
static halley_status make_like(halley_trace_set **out, halley_synth *synth,
                               const synth_source *s, uint64_t seed, halley_error *err)
{
    conditions c = s->conditions;
    if (c.n == 0)
        learner_derive(&c, s->set);
    for (uint32_t i = 0; i < c.n; i++) {
        char text[2 * CONDITION_TEXT + 32];
        if (c.at[i].text[0])
            snprintf(text, sizeof text, "%s=%s", c.at[i].name, c.at[i].text);
        else
            snprintf(text, sizeof text, "%s=%.17g", c.at[i].name, c.at[i].number);
        TRY(halley_synth_fix(synth, text, err));
    }
    const halley_synth_opts opts = {
        .seed = seed, .n_ranks = halley_trace_set_count(s->set), .extrapolate = true};
    return halley_synth_make(out, synth, &opts, NULL, err);
}

static halley_status compare_one(learn_compare *c, const job *j, size_t i,
                                 halley_error *err)
{
    synth_source s;
    halley_synth *synth = NULL;
    halley_trace_set *made = NULL;
    halley_error why = {0};
    if (synth_source_open(&s, &j->sets, i, &why) != HALLEY_OK)
        return why.code == HALLEY_ENOMEM ? error_nomem(err) : HALLEY_OK;
    halley_status status = halley_synth_load(&synth, j->path, err);
    if (status == HALLEY_OK && make_like(&made, synth, &s, i, &why) == HALLEY_OK) {
        status = learn_compare_add(c, s.set, made, err);
        halley_trace_set_free(made);
    } else if (why.code == HALLEY_ENOMEM)
        status = error_nomem(err);
    halley_synth_free(synth);
    synth_source_close(&s);
    return status;
}

static halley_status report_held_out(job *j, halley_error *err)
{
    learn_compare c = {0};
    const uint32_t every = hold_out_of(j);
    halley_status status = HALLEY_OK;
    if (every == UINT32_MAX)
        return HALLEY_OK;
    const size_t n = j->sets.list.n / every, step = n / MAX_REPORTED + 1;
    for (size_t k = 0; status == HALLEY_OK && k < n; k += step)
        status = compare_one(&c, j, k * every + every / 2, err);
    if (status == HALLEY_OK)
        j->report->held_out = learn_compare_sum(&c);
    learn_compare_fini(&c);
    return status;
}

/* A network beside what is kept. */
static halley_status add_net(job *j, synth_model *m, halley_error *err)
{
    neural_report net;
    const neural_train_opts opts = {.seed = j->opts->seed, .n_steps = j->opts->n_steps};
    if (!j->l.recorder)
        return HALLEY_OK;
    TRY(neural_learn(m, &net, j->l.recorder, &j->l.m, &opts, err));
    j->report->n_steps = net.best_step;
    j->report->loss = neural_loss_per_item(&net.held_out);
    j->report->op_loss = net.held_out.op / (double)net.held_out.n_items;
    return HALLEY_OK;
}

static halley_status write_model(job *j, halley_error *err)
{
    synth_model m;
    const uint32_t k = j->opts->min_support > 0 ? j->opts->min_support : MIN_SUPPORT;
    const model_head *head = &j->l.m.head.at[0];
    if (head->n_sets == 0)
        return error_set(err, HALLEY_EINVAL,
                         "all %u sets of traces fail the check, the first: %s",
                         head->n_skipped, j->report->first_skipped);
    TRY(model_prune(&m, &j->l.m, k, err));
    halley_learn_report *r = j->report;
    for (size_t i = 0; i < m.templates.n; i++)
        r->n_covered += m.templates.at[i].n_sets;
    halley_status status = add_net(j, &m, err);
    if (status == HALLEY_OK) {
        model_blur(&m, &j->l.m);
        status = synth_model_save(&m, j->path, false, err);
    }
    r->n_sets = head->n_sets;
    r->n_skipped = head->n_skipped;
    r->n_traces = head->n_traces;
    r->n_nodes = head->n_nodes;
    r->n_templates = (uint32_t)m.templates.n;
    r->n_operators = (uint32_t)m.ops.n;
    r->n_laws = (uint32_t)m.laws.n;
    r->n_conditions = (uint32_t)m.conditions.n;
    synth_model_fini(&m);
    return status;
}

static halley_status find(job *j, const char *const *from, size_t n_from,
                          halley_error *err)
{
    halley_learn_report *const r = j->report;
    TRY(trace_find(&j->sets, from, n_from, j->opts->strict, err));
    r->n_folders_skipped = j->sets.n_unreadable;
    if (j->sets.n_unreadable > 0)
        (void)halley_error_format(&j->sets.why, r->first_folder_skipped,
                                  sizeof r->first_folder_skipped);
    if (j->sets.list.n > 0)
        return HALLEY_OK;
    return error_set(err, HALLEY_EINVAL,
                     "no traces there: give .et files, prefixes or folders of them");
}

static halley_status run(job *j, const char *const *from, size_t n_from,
                         halley_error *err)
{
    TRY(find(j, from, n_from, err));
    strbuf_printf(&j->state, "%s.part", j->path);
    if (j->state.failed)
        return error_nomem(err);
    TRY(learner_init(&j->l, err));
    if (j->opts->kind == HALLEY_LEARN_NEURAL &&
        !(j->l.recorder = neural_recorder_new(j->opts->seed)))
        return error_nomem(err);
    TRY(learn_all(j, err));
    TRY(write_model(j, err));
    (void)unlink(j->state.at);
    return report_held_out(j, err);
}

halley_status halley_learn(const char *path, const char *const *from, size_t n_from,
                           const halley_learn_opts *opts, halley_learn_report *report,
                           halley_error *err)
{
    static const halley_learn_opts defaults;
    halley_learn_report unread;
    job *j = mem_array_zero(1, sizeof *j);
    if (!j)
        return error_nomem(err);
    j->path = path;
    j->opts = opts ? opts : &defaults;
    j->report = report ? report : &unread;
    *j->report = (halley_learn_report){0};
    const halley_status status = run(j, from, n_from, err);
    neural_recorder_free(j->l.recorder);
    learner_fini(&j->l);
    trace_found_fini(&j->sets);
    strbuf_fini(&j->state);
    free(j);
    return status;
}
