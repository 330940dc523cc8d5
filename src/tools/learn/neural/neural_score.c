/*
 * The cost of programs under a network: the training loss, summed over the programs. The
 * cost of a number is limited to that of an arbitrary number, so that one unusual number
 * does not dominate. An item whose operator the network lacks costs a constant.
 */
#include "learn/neural/neural_record.h"

#include <assert.h>

/* The cost of an operator that the network lacks. Equal to that of a place that the
 * tables lack (likelihood.c). */
#define UNKNOWN 7.0

struct neural_scorer {
    const synth_model *m; /* the model of the network */
    neural_model *n;
    neural_recorder *recorder;
    nn_blas blas;
};

static halley_status pass_program(neural_cost *cost, const neural_scorer *s,
                                  const neural_program *program, halley_error *err)
{
    assert(program->n_items > 0);
    const nn_run run = {.param = s->m->net.at, .blas = &s->blas};
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

static halley_status score_programs(neural_cost *cost, const neural_scorer *s,
                                    const synth_model *from, arena *memory,
                                    halley_error *err)
{
    neural_terms terms;
    TRY(neural_terms_make(&terms, s->n, s->m, from, memory, err));
    for (size_t i = 0; i < s->recorder->list.n; i++) {
        neural_program program;
        uint32_t n_left_out = 0;
        TRY(neural_translate(&program, &n_left_out, &terms, &s->recorder->list.at[i],
                             err));
        neural_rescale(program.feature, &s->m->net_head.at[0]);
        cost->program += UNKNOWN * n_left_out;
        if (program.n_items > 0)
            TRY(pass_program(cost, s, &program, err));
    }
    return HALLEY_OK;
}

halley_status neural_scorer_score(neural_cost *out, neural_scorer *s,
                                  const synth_model *from, halley_error *err)
{
    assert(out != NULL);
    arena memory = {0};
    neural_cost cost = {0};
    const halley_status status = score_programs(&cost, s, from, &memory, err);
    arena_fini(&memory);
    neural_recorder_clear(s->recorder);
    if (status == HALLEY_OK)
        *out = cost;
    return status;
}

halley_status neural_scorer_open(neural_scorer **out, const synth_model *m,
                                 const char *path, halley_error *err)
{
    neural_model *n = NULL;
    *out = NULL;
    TRY(neural_model_open(&n, m, path, err));
    if (n == NULL)
        return HALLEY_OK;
    neural_scorer *const s = mem_array_zero(1, sizeof *s);
    neural_recorder *const recorder = neural_recorder_new(0);
    if (s == NULL || recorder == NULL) {
        neural_recorder_free(recorder);
        neural_model_close(n);
        free(s);
        return error_nomem(err);
    }
    *s = (neural_scorer){.m = m, .n = n, .recorder = recorder};
    nn_blas_open(&s->blas);
    *out = s;
    return HALLEY_OK;
}

void neural_scorer_close(neural_scorer *s)
{
    if (s == NULL)
        return;
    nn_blas_close(&s->blas);
    neural_recorder_free(s->recorder);
    neural_model_close(s->n);
    free(s);
}

neural_recorder *neural_scorer_recorder(neural_scorer *s)
{
    return s->recorder;
}
