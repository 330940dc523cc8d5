/*
 * What a network makes of programs that it is shown: the loss that its training made
 * small, summed over them. No number costs more than one that could be anything, so that
 * a single odd one does not decide; an item whose operator the network does not have
 * costs a constant.
 */
#include "learn/neural/neural_record.h"

/* Of an operator that the network does not have; the same as of a place that the tables
 * do not have (likelihood.c). */
#define UNKNOWN 7.0

static halley_status pass(neural_cost *cost, const neural_scorer *s,
                          const neural_program *program, halley_error *err)
{
    const nn_run run = {.param = s->m->net.at, .blas = s->blas};
    const neural_program *const list[] = {program};
    arena memory = {0};
    neural_loss loss;
    const halley_status status =
        neural_pass(&loss, &run, &s->n->net, list, 1, &memory, err);
    arena_fini(&memory);
    if (status != HALLEY_OK)
        return status;
    cost->program += loss.step + loss.op + loss.edge;
    cost->numbers += loss.zero + loss.bounded;
    return HALLEY_OK;
}

static halley_status score(neural_cost *cost, const neural_scorer *s,
                           const neural_recorder *r, arena *memory, halley_error *err)
{
    neural_terms terms;
    TRY(neural_terms_make(&terms, s->n, s->m, s->from, memory, err));
    for (size_t i = 0; i < r->list.n; i++) {
        neural_program program;
        uint32_t n_left_out = 0;
        TRY(neural_translate(&program, &n_left_out, &terms, &r->list.at[i], err));
        neural_rescale(program.feature, &s->m->net_head.at[0]);
        cost->program += UNKNOWN * n_left_out;
        if (program.n_items > 0)
            TRY(pass(cost, s, &program, err));
    }
    return HALLEY_OK;
}

halley_status neural_score(neural_cost *out, const neural_scorer *s, neural_recorder *r,
                           halley_error *err)
{
    arena memory = {0};
    neural_cost cost = {0};
    const halley_status status = score(&cost, s, r, &memory, err);
    arena_fini(&memory);
    neural_recorder_clear(r);
    if (status == HALLEY_OK)
        *out = cost;
    return status;
}
