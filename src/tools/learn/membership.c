/*
 * Membership inference by likelihood. The attacker holds a model and a set, and asks
 * whether the model was learned from the set. The score is the log-likelihood under the
 * model minus that under a reference model of other sets of the same kind. The
 * difference cancels what makes a set likely under any model.
 */
#include "halley/compare.h"
#include "learn/likelihood.h"
#include "learn/source.h"

#include <assert.h>
#include <string.h>

/* By part of the likelihood: one number per set. */
typedef struct scores {
    ARRAY(double) of[HALLEY_N_LIKELIHOODS];
} scores;

typedef struct attack {
    const halley_membership_opts *opts;
    synth_scorer *model, *reference; /* NULL: no reference */
    halley_left_out left;
} attack;

static halley_status score_set(scores *out, const attack *a, const synth_source *s,
                               halley_error *err)
{
    assert(s->set != NULL);
    synth_scorer *const both[] = {a->model, a->reference};
    double sum[HALLEY_N_LIKELIHOODS] = {0};
    for (int i = 0; i < 2 && both[i]; i++) {
        synth_likelihood l;
        const double sign = i == 0 ? 1 : -1;
        TRY(synth_scorer_score(&l, both[i], s->set, &s->conditions,
                               synth_source_groups(s), err));
        sum[HALLEY_LIKELIHOOD_ALL] += sign * (l.conditions + l.program + l.values);
        sum[HALLEY_LIKELIHOOD_CONDITIONS] += sign * l.conditions;
        sum[HALLEY_LIKELIHOOD_PROGRAMS] += sign * l.program;
        sum[HALLEY_LIKELIHOOD_NUMBERS] += sign * l.values;
    }
    for (int k = 0; k < HALLEY_N_LIKELIHOODS; k++)
        if (!array_push(&out->of[k], sum[k]))
            return error_nomem(err);
    return HALLEY_OK;
}

static halley_status leave_out(attack *a, const halley_error *why, halley_error *err)
{
    assert(why->code != HALLEY_OK);
    if (why->code != HALLEY_ENOMEM && !a->opts->strict) {
        if (a->left.n_sets++ == 0)
            (void)halley_error_format(why, a->left.first_set, sizeof a->left.first_set);
        return HALLEY_OK;
    }
    if (err)
        *err = *why;
    return why->code;
}

static halley_status score_all(scores *out, attack *a, const trace_found *found,
                               halley_error *err)
{
    for (size_t i = 0; i < found->list.n; i++) {
        synth_source s;
        halley_error why = {0};
        if (synth_source_open(&s, found, i, 0, &why) != HALLEY_OK) {
            TRY(leave_out(a, &why, err));
            continue;
        }
        const halley_status status = score_set(out, a, &s, err);
        synth_source_close(&s);
        TRY(status);
    }
    return HALLEY_OK;
}

static halley_status score_path(scores *out, attack *a, const char *path,
                                halley_error *err)
{
    assert(path != NULL);
    trace_found found = {0};
    halley_status status = trace_find(&found, &path, 1, a->opts->strict, err);
    if (status == HALLEY_OK)
        status = score_all(out, a, &found, err);
    a->left.n_folders += found.n_unreadable;
    trace_found_fini(&found);
    return status;
}

static halley_status load_models(attack *a, halley_error *err)
{
    assert(a->opts->model != NULL);
    const halley_membership_opts *const o = a->opts;
    TRY(synth_scorer_load(&a->model, o->model, err));
    return o->reference ? synth_scorer_load(&a->reference, o->reference, err) : HALLEY_OK;
}

static halley_status run_attack(halley_auc out[HALLEY_N_LIKELIHOODS], attack *a,
                                scores sides[2], halley_error *err)
{
    const halley_membership_opts *const o = a->opts;
    TRY(load_models(a, err));
    TRY(score_path(&sides[0], a, o->train, err));
    TRY(score_path(&sides[1], a, o->holdout, err));
    for (int k = 0; k < HALLEY_N_LIKELIHOODS; k++)
        TRY(halley_auc_of(&out[k], sides[0].of[k].at, sides[0].of[k].n, sides[1].of[k].at,
                          sides[1].of[k].n, err));
    return HALLEY_OK;
}

halley_status halley_membership(halley_auc out[HALLEY_N_LIKELIHOODS],
                                const halley_membership_opts *opts,
                                halley_left_out *left_out, halley_error *err)
{
    assert(out != NULL && opts != NULL);
    attack a = {.opts = opts, .left = {.size = sizeof a.left}};
    scores sides[2] = {0};
    halley_auc found[HALLEY_N_LIKELIHOODS] = {{0}};
    const halley_status status = run_attack(found, &a, sides, err);
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < HALLEY_N_LIKELIHOODS; k++)
            array_fini(&sides[side].of[k]);
    synth_scorer_free(a.model);
    synth_scorer_free(a.reference);
    if (status == HALLEY_OK)
        memcpy(out, found, sizeof found);
    if (left_out)
        *left_out = a.left;
    return status;
}
