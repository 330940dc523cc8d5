/*
 * The tally of a program: the number of runs of each operator so far, with loops
 * expanded. A law of the conditions predicts the total number of runs. The difference is
 * what is left to do. It shows the network its position in the program much better than
 * the recurrent state does.
 */
#include "base/array.h"
#include "learn/neural/neural_pass.h"

#include <assert.h>
#include <math.h>
#include <string.h>

bool neural_tally_init(neural_tally *t, uint32_t n_ops)
{
    assert(n_ops > 0);
    *t = (neural_tally){.n_ops = n_ops};
    t->count = mem_array_zero((size_t)n_ops * (NEURAL_DEPTH + 1), sizeof *t->count);
    return t->count != NULL;
}

void neural_tally_fini(neural_tally *t)
{
    free(t->count);
    *t = (neural_tally){0};
}

void neural_tally_clear(neural_tally *t)
{
    memset(t->count, 0, t->n_ops * sizeof *t->count);
    memset(t->n_items, 0, sizeof t->n_items);
    t->depth = 0;
}

void neural_tally_item(neural_tally *t, uint32_t op)
{
    t->count[op]++;
    t->n_items[t->depth]++;
}

/* Opens a loop and saves the counts before it. */
void neural_tally_open(neural_tally *t)
{
    assert(t->depth < NEURAL_DEPTH);
    memcpy(t->count + (size_t)++t->depth * t->n_ops, t->count,
           t->n_ops * sizeof *t->count);
    t->n_items[t->depth] = 0;
}

void neural_tally_close(neural_tally *t, double times)
{
    assert(t->depth > 0 && times > 0);
    const double *before = t->count + (size_t)t->depth-- * t->n_ops;
    for (uint32_t i = 0; i < t->n_ops; i++)
        t->count[i] = before[i] + (t->count[i] - before[i]) * times;
    t->n_items[t->depth]++;
}

void neural_tally_read(nn_real *to, const neural_tally *t)
{
    double sum = 0;
    for (uint32_t i = 0; i < t->n_ops; i++) {
        to[i] = (nn_real)log1p(t->count[i]);
        sum += t->count[i];
    }
    to += t->n_ops;
    to[0] = (nn_real)log1p(sum);
    to[1] = (nn_real)t->depth;
    to[2] = (nn_real)log1p(t->n_items[t->depth]);
    to[3] = t->depth > 0 ? (nn_real)log1p(t->n_items[t->depth - 1]) : 0;
}
