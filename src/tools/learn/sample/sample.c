/*
 * Makes new sets, from the model to traces. Every set that is returned has passed the
 * check across ranks. A set that fails it is made again without messages and without
 * collectives across stages; such a set always passes.
 */
#include "learn/sample/sample.h"

#include "base/file/file.h"
#include "base/pool.h"
#include "edit/passes.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct halley_synth {
    synth_model m;
    sample_traits traits;
    sample_wish wish;
    strbuf names; /* names of the conditions, each terminated */
    uint32_t name_at[MODEL_CONDITIONS];
};

halley_status halley_synth_load(halley_synth **out, const char *path, halley_error *err)
{
    halley_synth *s = mem_array_zero(1, sizeof *s);
    if (!s)
        return error_nomem(err);
    const halley_status status = synth_model_load(&s->m, path, err);
    if (status != HALLEY_OK) {
        free(s);
        return status;
    }
    for (uint32_t i = 0; i < s->m.conditions.n; i++) {
        s->name_at[i] = (uint32_t)s->names.n;
        strbuf_add(&s->names, synth_text(&s->m, s->m.conditions.at[i].name));
        strbuf_add_char(&s->names, '\0');
    }
    if (s->names.failed) {
        halley_synth_free(s);
        return error_nomem(err);
    }
    sample_traits_make(&s->traits, &s->m);
    *out = s;
    return HALLEY_OK;
}

void halley_synth_free(halley_synth *synth)
{
    if (!synth)
        return;
    synth_model_fini(&synth->m);
    strbuf_fini(&synth->names);
    free(synth);
}

uint32_t halley_synth_condition_count(const halley_synth *synth)
{
    return (uint32_t)synth->m.conditions.n;
}

halley_synth_condition halley_synth_condition_get(const halley_synth *synth, uint32_t i)
{
    assert(i < synth->m.conditions.n);
    const model_condition *c = &synth->m.conditions.at[i];
    return (halley_synth_condition){synth->names.at + synth->name_at[i],
                                    c->is_text != 0,
                                    c->low,
                                    c->high,
                                    c->n_values,
                                    c->n_sets};
}

halley_status halley_synth_fix(halley_synth *synth, const char *text, halley_error *err)
{
    return sample_wish_add(&synth->wish, &synth->m, text, err);
}

const synth_model *sample_model_of(const halley_synth *synth)
{
    return &synth->m;
}

const sample_wish *sample_wish_of(const halley_synth *synth)
{
    return &synth->wish;
}

halley_status sample_wish_load(sample_wish *out, const halley_synth *synth,
                               const char *path, halley_error *err)
{
    assert(path != NULL);
    conditions c = {0};
    if (!file_exists(path))
        return error_set(err, HALLEY_ENOTFOUND, "%s: no such file", path);
    TRY(conditions_load(&c, path, err));
    *out = (sample_wish){0};
    for (uint32_t i = 0; i < c.n; i++) {
        const condition *at = &c.at[i];
        if (conditions_index(&synth->m, at->name) == MODEL_NONE)
            continue;
        conditions_set(&out->fixed, at->name, at->text[0] ? at->text : NULL, at->number);
        if (strcmp(at->name, "ranks") == 0)
            out->n_ranks = (uint32_t)fmin(at->number, 1e6);
    }
    return HALLEY_OK;
}

static halley_status fill_set(sample_set *s, const sample_wish *wish, halley_error *err)
{
    TRY(sample_programs(s, err));
    TRY(sample_values(s, err));
    sample_fit_totals(s);
    TRY(sample_scale_totals(s, wish, err));
    TRY(sample_match(s, err));
    /* Templates keep the order of real sets. A scaled template may not. */
    s->in_order = s->outline.is_scaled;
    return sample_deps(s, err);
}

typedef struct ranks {
    const sample_set *s;
    halley_trace **traces;
} ranks;

static halley_status make_sampled_rank(void *context, size_t i, uint32_t worker,
                                       halley_error *err)
{
    const ranks *r = context;
    (void)worker;
    return sample_trace(&r->traces[i], r->s, (uint32_t)i, err);
}

/* True if all ranks of a stage are identical: no groups and no peers. */
static bool ranks_are_equal(const sample_set *s)
{
    for (size_t k = 0; k < s->stages.n; k++)
        for (size_t i = 0; i < s->stages.at[k].nodes.n; i++) {
            const sample_node *node = &s->stages.at[k].nodes.at[i];
            const uint32_t type = s->m->ops.at[node->op].type;
            if (type == HALLEY_NODE_SEND || type == HALLEY_NODE_RECV ||
                (type == HALLEY_NODE_COLL && node->where != MODEL_NONE))
                return false;
        }
    return true;
}

static halley_status to_traces(halley_trace_set **out, const sample_set *s,
                               uint32_t n_threads, halley_error *err)
{
    assert(s->outline.n_ranks > 0 && s->block > 0);
    const uint32_t n = s->outline.n_ranks;
    const bool equal = ranks_are_equal(s);
    ranks r = {s, mem_array_zero(n, sizeof *r.traces)};
    if (!r.traces)
        return error_nomem(err);
    halley_status status = HALLEY_OK;
    if (!equal)
        status = pool_run(n_threads, n, make_sampled_rank, &r, err);
    for (uint32_t i = 0; equal && status == HALLEY_OK && i < n; i++) {
        if (i % s->block == 0)
            status = make_sampled_rank(&r, i, 0, err);
        else
            r.traces[i] = halley_trace_keep(r.traces[i - 1]);
    }
    if (status == HALLEY_OK)
        status = halley_trace_set_new(out, r.traces, n, err);
    for (uint32_t i = 0; i < n; i++)
        if (status != HALLEY_OK)
            halley_trace_free(r.traces[i]);
    free(r.traces);
    return status;
}

static bool has_messages(const sample_set *s)
{
    for (size_t k = 0; k < s->stages.n; k++)
        for (size_t i = 0; i < s->stages.at[k].nodes.n; i++) {
            const uint32_t type = s->m->ops.at[s->stages.at[k].nodes.at[i].op].type;
            if (type == HALLEY_NODE_SEND || type == HALLEY_NODE_RECV)
                return true;
        }
    return s->stages.n > 1;
}

void sample_sum_up(halley_synth_summary *out, const sample_set *s)
{
    assert(s->stages.n == s->outline.n_stages);
    *out = (halley_synth_summary){.size = sizeof *out,
                                  .n_ranks = s->outline.n_ranks,
                                  .n_stages = s->outline.n_stages,
                                  .is_scaled = s->outline.is_scaled};
    for (size_t k = 0; k < s->stages.n; k++) {
        out->n_nodes += (uint64_t)s->stages.at[k].nodes.n * s->block;
        out->n_left_out += s->stages.at[k].n_left_out * s->block;
    }
}

static halley_status try_make(halley_trace_set **out, sample_set *s,
                              const halley_synth *synth, const sample_wish *fixed,
                              const halley_synth_opts *opts, halley_error *err)
{
    sample_wish wish = *fixed;
    if (opts->n_ranks > 0 && wish.n_ranks > 0 && wish.n_ranks != opts->n_ranks)
        return error_set(err, HALLEY_EINVAL, "ranks is fixed to %u and to %u: choose one",
                         wish.n_ranks, opts->n_ranks);
    if (opts->n_ranks > 0) {
        wish.n_ranks = opts->n_ranks;
        if (conditions_index(&synth->m, "ranks") != MODEL_NONE)
            conditions_set(&wish.fixed, "ranks", NULL, opts->n_ranks);
    }
    wish.extrapolate = opts->extrapolate;
    TRY(sample_wish_check(&synth->m, &wish, err));
    sample_outline_make(&s->outline, &synth->m, &synth->traits, &wish, &s->random);
    TRY(fill_set(s, &wish, err));
    return to_traces(out, s, opts->n_threads, err);
}

halley_status sample_make(halley_trace_set **out, sample_set *s,
                          const halley_synth *synth, const sample_wish *wish,
                          const halley_synth_opts *opts, halley_error *err)
{
    assert(out != NULL && opts != NULL);
    for (int safe = 0; safe < 2; safe++) {
        bool ok = true;
        *s = (sample_set){.m = &synth->m,
                          .random = rng_seed(opts->seed),
                          .extrapolate = opts->extrapolate,
                          .safe = safe};
        halley_status status = try_make(out, s, synth, wish, opts, err);
        if (status == HALLEY_OK && (safe || has_messages(s))) {
            status = synth_passes_alone(*out, NULL, opts->n_threads, err);
            ok = status == HALLEY_OK;
            if (!ok)
                halley_trace_set_free(*out);
            if (status == HALLEY_EINVAL)
                status = HALLEY_OK;
        }
        if (status != HALLEY_OK) {
            sample_set_fini(s);
            return status;
        }
        if (ok)
            return HALLEY_OK;
        sample_set_fini(s);
    }
    return error_set(err, HALLEY_EINVAL, "the model makes no set that fits together");
}

halley_status halley_synth_make(halley_trace_set **out, const halley_synth *synth,
                                const halley_synth_opts *opts,
                                halley_synth_summary *summary, halley_error *err)
{
    static const halley_synth_opts defaults;
    sample_set s = {0};
    TRY(sample_make(out, &s, synth, &synth->wish, opts ? opts : &defaults, err));
    if (summary)
        sample_sum_up(summary, &s);
    sample_set_fini(&s);
    return HALLEY_OK;
}
