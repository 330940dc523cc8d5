/*
 * Programs of new sets: skeletons whose loops run as often as the laws predict. If the
 * template is only the nearest one, its outermost loops run more or less often. This
 * gives a rank the number of nodes that the law of the conditions predicts. A program
 * without loops is repeated as a whole.
 */
#include "base/number/number.h"
#include "learn/sample/sample.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MAX_NODES = 50000000, MAX_DEPTH = 256 };
#define MAX_IN_SET 5e8 /* nodes of all ranks, which are in memory at the same time */
/* The law of the number of nodes is ignored if its spread is larger. */
#define MAX_SPREAD 0.5

void sample_set_fini(sample_set *s)
{
    for (size_t i = 0; i < s->stages.n; i++) {
        array_fini(&s->stages.at[i].nodes);
        array_fini(&s->stages.at[i].values);
        array_fini(&s->stages.at[i].deps);
    }
    array_fini(&s->stages);
    array_fini(&s->kinds);
}

const model_ref *sample_refs(const sample_set *s, uint32_t token, uint32_t *n)
{
    assert(token < s->m->tokens.n);
    const model_token *const t = &s->m->tokens.at[token];
    *n = t->n_refs;
    return s->m->refs.at + t->first_ref;
}

static uint32_t limit_of(const sample_set *s)
{
    return s->max_nodes > 0 ? s->max_nodes : MAX_NODES;
}

static halley_status too_many(const sample_set *s, halley_error *err)
{
    return error_set(err, HALLEY_ELIMIT,
                     "a rank would have more than %u nodes, or all ranks together more "
                     "than %s: ask for less",
                     limit_of(s), number_fixed(MAX_IN_SET, 0).at);
}

static bool push_token(sample_set *s, sample_stage *stage, uint32_t token)
{
    return array_push(&stage->nodes, (sample_node){.token = token,
                                                   .op = s->m->tokens.at[token].op,
                                                   .where = MODEL_NONE});
}

typedef struct loop_at {
    uint32_t first, left; /* symbol after the bracket; iterations left */
    uint32_t loop;        /* index of the first loop inside */
} loop_at;

static halley_status expand_skeleton(sample_set *s, sample_stage *stage,
                                     const model_skeleton *k, const uint32_t *counts,
                                     halley_error *err)
{
    assert(k->first + k->n <= s->m->symbols.n);
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
        } else if (!push_token(s, stage, symbol))
            return error_nomem(err);
        else if (stage->nodes.n > limit_of(s))
            return too_many(s, err);
    }
    return HALLEY_OK;
}

/* The number of nodes outside of all loops. */
static double count_unlooped(const synth_model *m, const model_skeleton *k)
{
    double n = 0;
    uint32_t depth = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        const uint32_t symbol = m->symbols.at[k->first + i];
        n += depth == 0 && symbol < SYMBOL_END;
        depth += symbol == SYMBOL_OPEN;
        depth -= symbol == SYMBOL_CLOSE;
    }
    return n;
}

/* Multiplies the counts of the outermost loops by `factor`. */
static void stretch_counts(uint32_t *counts, const synth_model *m,
                           const model_skeleton *k, double factor)
{
    assert(factor > 0);
    uint32_t depth = 0, loop = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        const uint32_t symbol = m->symbols.at[k->first + i];
        if (symbol == SYMBOL_OPEN) {
            if (depth == 0 && loop < SAMPLE_MAX_LOOPS)
                counts[loop] = (uint32_t)fmin(fmax(1, round(counts[loop] * factor)), 1e9);
            loop++;
            depth++;
        } else if (symbol == SYMBOL_CLOSE)
            depth--;
    }
}

/* The skeleton of a stage, and the counts of its loops by their laws. */
static const model_skeleton *find_program(uint32_t counts[SAMPLE_MAX_LOOPS],
                                          const sample_set *s, uint32_t stage)
{
    assert(stage < s->outline.n_stages);
    const sample_outline *const o = &s->outline;
    const model_skeleton *const k =
        &s->m->skeletons.at[sample_part(s->m, o->template, stage, o->n_stages)];
    law_point p;
    conditions_point(&p, s->m, &o->conditions, stage, o->n_stages);
    (void)sample_counts(counts, s->m, k, &p, stage, o->n_stages);
    return k;
}

/* How the nearest template is scaled to the predicted length. */
typedef struct stretch {
    double loops;     /* factor of the outermost loops */
    uint32_t repeats; /* of the whole program */
} stretch;

static stretch find_stretch(const sample_set *s)
{
    const sample_outline *const o = &s->outline;
    uint32_t counts[SAMPLE_MAX_LOOPS] = {0};
    conditions c = o->conditions;
    const condition *const told = conditions_find(&c, "nodes");
    double unlooped = 0, looped = 0, spread = 0;
    double wanted = sample_set_value(s->m, &c, FIELD_NODES, &spread);
    wanted = fmin(told ? told->number : wanted, limit_of(s)) * o->n_stages;
    if (!o->is_scaled || (!told && spread > MAX_SPREAD))
        return (stretch){1, 1};
    for (uint32_t stage = 0; stage < o->n_stages; stage++) {
        const model_skeleton *const k = find_program(counts, s, stage);
        const double outside = count_unlooped(s->m, k);
        unlooped += outside;
        looped += sample_length(s->m, k, counts) - outside;
    }
    if (looped > 0)
        return (stretch){fmax(0, wanted - unlooped) / looped, 1};
    return (stretch){1, (uint32_t)fmin(fmax(1, round(wanted / fmax(1, unlooped))), 1e6)};
}

static halley_status write_stage(sample_set *s, uint32_t stage, const stretch *by,
                                 halley_error *err)
{
    assert(stage < s->stages.n);
    uint32_t counts[SAMPLE_MAX_LOOPS] = {0};
    const model_skeleton *const k = find_program(counts, s, stage);
    if (by->loops != 1)
        stretch_counts(counts, s->m, k, by->loops);
    const double n = sample_length(s->m, k, counts) * by->repeats;
    if (n > limit_of(s) || n * s->block > MAX_IN_SET)
        return too_many(s, err);
    for (uint32_t i = 0; i < by->repeats; i++)
        TRY(expand_skeleton(s, &s->stages.at[stage], k, counts, err));
    return HALLEY_OK;
}

/* Makes room for the programs of the stages. */
static halley_status make_stages(sample_set *s, halley_error *err)
{
    const uint32_t n = s->outline.n_stages;
    s->block = s->outline.n_ranks / n;
    if (!array_reserve(&s->stages, n))
        return error_nomem(err);
    memset(s->stages.at, 0, n * sizeof *s->stages.at);
    s->stages.n = n;
    for (uint32_t k = 0; k < n; k++) /* a stage without values also needs memory */
        if (!array_reserve(&s->stages.at[k].values, 1))
            return error_nomem(err);
    assert(s->stages.n == s->outline.n_stages);
    return HALLEY_OK;
}

halley_status sample_programs(sample_set *s, halley_error *err)
{
    TRY(make_stages(s, err));
    const stretch by = find_stretch(s);
    for (uint32_t k = 0; k < s->outline.n_stages; k++)
        TRY(write_stage(s, k, &by, err));
    return HALLEY_OK;
}
