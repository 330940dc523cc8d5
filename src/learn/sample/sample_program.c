/*
 * Programs of new sets: skeletons with their loops run as often as the laws say, or, for
 * sets that no template stands for, from contexts.
 */
#include "learn/chapters.h"
#include "learn/contexts.h"

#include <math.h>
#include <string.h>

enum { MAX_NODES = 50000000, MAX_DEPTH = 256, N_PROGRAMS = 12 };
#define MAX_IN_SET 5e8 /* nodes of all ranks, which are in memory together */

#define NEAR 0.1

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

/* What a program is to be like. */
typedef struct target {
    double n, n_messages; /* nodes; collectives and messages, and 1: 0 = whatever */
} target;

static double draw_number(sample_set *s, uint32_t field)
{
    double spread;
    const double mean = sample_set_value(s->m, &s->outline.conditions, field, &spread);
    return mean * exp(spread * rng_normal(&s->random));
}

/* How far a program is from that, in logarithms. */
static double miss(const sample_set *s, const sample_stage *stage, const target *t)
{
    double n_messages = 1;
    for (size_t i = 0; i < stage->nodes.n; i++) {
        const uint32_t type = s->m->ops.at[stage->nodes.at[i].op].type;
        n_messages += type >= HALLEY_NODE_SEND && type <= HALLEY_NODE_COLL;
    }
    const double off = fabs(log((double)stage->nodes.n / t->n));
    return t->n_messages > 0 ? off + fabs(log(n_messages / t->n_messages)) : off;
}

/* Chapter by chapter; *done: whether there was one everywhere. */
static halley_status from_chapters(sample_set *s, bool *done, halley_error *err)
{
    const synth_model *const m = s->m;
    sample_stage *const stage = &s->stages.at[0];
    uint32_t counts[SAMPLE_MAX_LOOPS] = {0}, at = MODEL_NONE;
    law_point p;
    conditions_point(&p, m, &s->outline.conditions, 0, 1);
    *done = false;
    for (uint32_t i = 0; i <= m->chapters.n && !*done; i++) {
        const uint32_t id = chapters_choose(s, at, &p);
        if (id == MODEL_NONE)
            break;
        const model_skeleton *k = &m->skeletons.at[m->chapters.at[id].skeleton];
        (void)sample_counts(counts, m, k, &p, 0, 1);
        const double n = (double)stage->nodes.n + sample_length(m, k, counts);
        if (n > limit_of(s) || n * s->block > MAX_IN_SET)
            return too_many(s, err);
        TRY(expand(s, stage, k, counts, err));
        at = m->chapters.at[id].to;
        *done = at == MODEL_NONE;
    }
    if (!*done)
        stage->nodes.n = 0;
    return HALLEY_OK;
}

/* The best of a few programs: what comes next knows of what is near only. */
static halley_status from_contexts(sample_set *s, halley_error *err)
{
    bool done = false;
    if (s->m->chapters.n > 0)
        TRY(from_chapters(s, &done, err));
    if (done)
        return HALLEY_OK;
    const condition *told = conditions_find(&s->outline.conditions, "nodes");
    sample_stage *const stage = &s->stages.at[0];
    if (told)
        return contexts_draw(s, stage, fmin(told->number, limit_of(s)), true, err);
    target t = {.n = fmin(fmax(1, draw_number(s, FIELD_NODES)), limit_of(s))};
    if (s->outline.n_ranks > 1)
        t.n_messages = draw_number(s, FIELD_MESSAGES);
    double least = INFINITY;
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; i < N_PROGRAMS && status == HALLEY_OK && least > NEAR; i++) {
        sample_stage one = {0};
        status = contexts_draw(s, &one, t.n, false, err);
        const double off = status == HALLEY_OK ? miss(s, &one, &t) : INFINITY;
        if (off < least) {
            least = off;
            array_fini(&stage->nodes);
            stage->nodes.at = one.nodes.at;
            stage->nodes.n = one.nodes.n;
            stage->nodes.cap = one.nodes.cap;
        } else
            array_fini(&one.nodes);
    }
    return status;
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
