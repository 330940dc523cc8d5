/*
 * Programs of new sets: skeletons with their loops run as often as the laws say, or, for
 * sets that no template stands for, from contexts.
 */
#include "synth/contexts.h"

#include <math.h>
#include <string.h>

enum { MAX_NODES = 50000000, MAX_DEPTH = 256 };
#define MAX_IN_SET 5e8 /* nodes of all ranks, which are in memory together */

void sample_set_fini(sample_set *s)
{
    for (size_t i = 0; i < s->stages.n; i++) {
        array_fini(&s->stages.at[i].nodes);
        array_fini(&s->stages.at[i].values);
        array_fini(&s->stages.at[i].deps);
        array_fini(&s->stages.at[i].pauses);
    }
    array_fini(&s->stages);
    array_fini(&s->kinds);
    array_fini(&s->tokens);
    array_fini(&s->refs);
}

const model_ref *sample_refs(const sample_set *s, uint32_t token, uint32_t *n)
{
    const size_t n_known = s->m->tokens.n;
    const model_token *t =
        token < n_known ? &s->m->tokens.at[token] : &s->tokens.at[token - n_known];
    *n = t->n_refs;
    return (token < n_known ? s->m->refs.at : s->refs.at) + t->first_ref;
}

static uint32_t limit_of(const sample_set *s)
{
    return s->max_nodes > 0 ? s->max_nodes : MAX_NODES;
}

static halley_status too_many(const sample_set *s, halley_error *err)
{
    return error_set(err, HALLEY_ELIMIT,
                     "a rank would have more than %u nodes, or all ranks together more "
                     "than %.0f: ask for less",
                     limit_of(s), MAX_IN_SET);
}

static bool add_node(sample_set *s, sample_stage *stage, uint32_t token)
{
    return array_push(&stage->nodes, (sample_node){.token = token,
                                                   .op = s->m->tokens.at[token].op,
                                                   .where = MODEL_NONE});
}

typedef struct loop_at {
    uint32_t first, left; /* symbol after the bracket; iterations to go */
    uint32_t loop;        /* number of the first loop within */
} loop_at;

static halley_status expand(sample_set *s, sample_stage *stage, const model_skeleton *k,
                            const uint32_t *counts, halley_error *err)
{
    const synth_model *m = s->m;
    loop_at stack[MAX_DEPTH] = {{0}};
    uint32_t depth = 0, loop = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        const uint32_t symbol = m->symbols.at[k->first + i];
        if (symbol == SYMBOL_OPEN) {
            if (depth == MAX_DEPTH || loop >= SAMPLE_MAX_LOOPS)
                return error_set(err, HALLEY_ELIMIT, "loops nest too deeply");
            stack[depth++] = (loop_at){i, counts[loop], loop + 1};
            loop++;
        } else if (symbol == SYMBOL_CLOSE) {
            loop_at *top = &stack[depth - 1];
            if (--top->left > 0) {
                i = top->first;
                loop = top->loop;
            } else
                depth--;
        } else if (!add_node(s, stage, symbol))
            return error_nomem(err);
        else if (stage->nodes.n > limit_of(s))
            return too_many(s, err);
    }
    return HALLEY_OK;
}

static halley_status from_template(sample_set *s, uint32_t stage, halley_error *err)
{
    const synth_model *m = s->m;
    const sample_outline *o = &s->outline;
    uint32_t counts[SAMPLE_MAX_LOOPS] = {0};
    law_point p;
    const model_skeleton *k =
        &m->skeletons.at[sample_part(m, o->template, stage, o->n_stages)];
    conditions_point(&p, m, &o->conditions, stage, o->n_stages);
    (void)sample_counts(counts, m, k, &p, stage, o->n_stages);
    const double n = sample_length(m, k, counts);
    if (n > limit_of(s) || n * s->block > MAX_IN_SET)
        return too_many(s, err);
    return expand(s, &s->stages.at[stage], k, counts, err);
}

static halley_status from_contexts(sample_set *s, halley_error *err)
{
    const condition *told = conditions_find(&s->outline.conditions, "nodes");
    double n = told ? told->number : 0, spread;
    if (!told) {
        n = sample_set_value(s->m, &s->outline.conditions, FIELD_NODES, &spread);
        n *= exp(spread * rng_normal(&s->random));
    }
    return contexts_draw(s, &s->stages.at[0], fmin(n, limit_of(s)), told, err);
}

halley_status sample_stages(sample_set *s, halley_error *err)
{
    const uint32_t n = s->outline.n_stages;
    s->block = s->outline.n_ranks / n;
    if (!array_reserve(&s->stages, n))
        return error_nomem(err);
    memset(s->stages.at, 0, n * sizeof *s->stages.at);
    s->stages.n = n;
    for (uint32_t k = 0; k < n; k++) /* so that also no values have a place */
        if (!array_reserve(&s->stages.at[k].values, 1))
            return error_nomem(err);
    return HALLEY_OK;
}

halley_status sample_programs(sample_set *s, halley_error *err)
{
    TRY(sample_stages(s, err));
    if (s->outline.template == MODEL_NONE)
        return from_contexts(s, err);
    for (uint32_t k = 0; k < s->outline.n_stages; k++)
        TRY(from_template(s, k, err));
    return HALLEY_OK;
}
