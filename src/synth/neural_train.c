/*
 * Training: batches of programs in a shuffled order. A batch is cut into parts of fixed
 * size; each part has its own gradient, and the parts' gradients are added in order, so
 * that the sum, and with it every parameter, is the same for any number of threads. After
 * every so many steps the held-out programs are looked at; the parameters that did best
 * on them are kept, and training ends when they have not improved for long.
 */
#include "base/array.h"
#include "base/pool.h"
#include "base/progress.h"
#include "synth/neural.h"

#include <string.h>
#include <time.h>

enum { PARTS = 4, PER_PART = 4, BATCH = PARTS * PER_PART, LOOK_EVERY = 50, PATIENCE = 8 };
enum { MAX_LOOKED_AT = 64 };

typedef struct trainer {
    const neural_net *net;
    const neural_program *programs;
    uint32_t n, n_held_out, n_threads;
    nn_blas blas;
    nn_real *param, *best, *grad; /* grad: one for each part */
    uint32_t *order;
    const neural_program *batch[MAX_LOOKED_AT];
    uint32_t n_batch, n_parts;
    bool learn;
    neural_loss loss[MAX_LOOKED_AT / PER_PART];
    arena memory[MAX_LOOKED_AT / PER_PART];
} trainer;

static halley_status run_part(void *context, size_t i, uint32_t worker, halley_error *err)
{
    (void)worker;
    trainer *t = context;
    const uint32_t first = (uint32_t)i * PER_PART;
    const uint32_t left = t->n_batch - first;
    nn_run run = {.param = t->param, .blas = &t->blas};
    if (t->learn) {
        run.grad = t->grad + i * t->net->layout.n;
        memset(run.grad, 0, t->net->layout.n * sizeof *run.grad);
    }
    arena_fini(&t->memory[i]);
    return neural_pass(&t->loss[i], &run, t->net, t->batch + first,
                       left < PER_PART ? left : PER_PART, &t->memory[i], err);
}

/* The loss, and with `learn` the gradient, of the batch. */
static halley_status run_batch(trainer *t, bool learn, neural_loss *loss,
                               halley_error *err)
{
    t->learn = learn;
    t->n_parts = (t->n_batch + PER_PART - 1) / PER_PART;
    TRY(pool_run(t->n_threads, t->n_parts, run_part, t, err));
    *loss = (neural_loss){0};
    for (uint32_t i = 0; i < t->n_parts; i++)
        neural_loss_add(loss, &t->loss[i]);
    if (!learn)
        return HALLEY_OK;
    const size_t n = t->net->layout.n;
    const nn_real scale = 1 / (nn_real)(loss->n_items > 0 ? loss->n_items : 1);
    for (size_t k = 0; k < n; k++) {
        nn_real sum = t->grad[k];
        for (uint32_t i = 1; i < t->n_parts; i++)
            sum += t->grad[i * n + k];
        t->grad[k] = sum * scale;
    }
    return HALLEY_OK;
}

static void shuffle(uint32_t *order, uint32_t n, rng *random)
{
    for (uint32_t i = n; i > 1; i--) {
        const uint32_t k = (uint32_t)rng_below(random, i);
        const uint32_t keep = order[i - 1];
        order[i - 1] = order[k];
        order[k] = keep;
    }
}

/* The next programs in the shuffled order; a new order when it is used up. */
static void next_batch(trainer *t, uint32_t *at, rng *random)
{
    const uint32_t n = t->n - t->n_held_out;
    t->n_batch = n < BATCH ? n : BATCH;
    for (uint32_t i = 0; i < t->n_batch; i++) {
        if (*at == n) {
            shuffle(t->order, n, random);
            *at = 0;
        }
        t->batch[i] = &t->programs[t->order[(*at)++]];
    }
}

static halley_status look_at_held_out(trainer *t, neural_loss *loss, halley_error *err)
{
    t->n_batch = 0;
    for (uint32_t i = t->n - t->n_held_out; i < t->n && t->n_batch < MAX_LOOKED_AT; i++)
        t->batch[t->n_batch++] = &t->programs[i];
    if (t->n_batch == 0) /* nothing held out: the first of those learned */
        for (uint32_t i = 0; i < t->n && i < MAX_LOOKED_AT; i++)
            t->batch[t->n_batch++] = &t->programs[i];
    return run_batch(t, false, loss, err);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Whether training is over. */
static halley_status judge(trainer *t, neural_report *report, uint32_t step, bool *over,
                           halley_error *err)
{
    neural_loss now;
    TRY(look_at_held_out(t, &now, err));
    const double loss = neural_loss_per_item(&now);
    const bool better =
        report->best_step == 0 || loss < neural_loss_per_item(&report->held_out);
    report->n_steps = step;
    if (loss == loss && better) {
        memcpy(t->best, t->param, t->net->layout.n * sizeof *t->best);
        report->held_out = now;
        report->best_step = step;
    }
    *over = step - report->best_step >= PATIENCE * LOOK_EVERY;
    return HALLEY_OK;
}

static halley_status train(trainer *t, neural_report *report,
                           const neural_train_opts *opts, nn_adam *adam,
                           halley_error *err)
{
    rng random = rng_seed(opts->seed + 1);
    uint32_t at = t->n - t->n_held_out;
    bool over = false;
    const double start_s = seconds();
    progress *bar = progress_new("training", "steps", adam->opts.n_steps);
    halley_status status = HALLEY_OK;
    for (uint32_t step = 1; step <= adam->opts.n_steps && !over; step++) {
        neural_loss loss;
        next_batch(t, &at, &random);
        status = run_batch(t, true, &loss, err);
        if (status == HALLEY_OK)
            status = nn_adam_step(adam, t->param, t->grad, err);
        if (opts->max_s > 0 && seconds() - start_s > opts->max_s)
            over = true;
        bool stale = false;
        if (status == HALLEY_OK &&
            (step % LOOK_EVERY == 0 || step == adam->opts.n_steps || over))
            status = judge(t, report, step, &stale, err);
        over = over || stale;
        if (status != HALLEY_OK)
            break;
        progress_at(bar, step);
    }
    progress_free(bar);
    return status;
}

static halley_status allocate(trainer *t, halley_error *err)
{
    const size_t n = t->net->layout.n;
    t->order = mem_array(t->n, sizeof *t->order);
    t->best = mem_array(n, sizeof *t->best);
    t->grad = n > SIZE_MAX / PARTS ? NULL : mem_array(n * PARTS, sizeof *t->grad);
    if (t->order == NULL || t->best == NULL || t->grad == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < t->n; i++)
        t->order[i] = i;
    memcpy(t->best, t->param, n * sizeof *t->best);
    return HALLEY_OK;
}

halley_status neural_train(nn_real *param, neural_report *report, const neural_net *net,
                           const neural_program *programs, uint32_t n,
                           uint32_t n_held_out, const neural_train_opts *opts,
                           halley_error *err)
{
    const nn_adam_opts adam_opts = {.rate = opts->rate > 0 ? opts->rate : 0.004,
                                    .decay = 0.01,
                                    .clip = 1,
                                    .n_warm = 50,
                                    .n_steps = opts->n_steps > 0 ? opts->n_steps : 1000};
    trainer t = {.net = net,
                 .programs = programs,
                 .n = n,
                 .n_held_out = n_held_out,
                 .n_threads = opts->n_threads,
                 .param = param};
    nn_adam adam = {0};
    *report = (neural_report){0};
    if (n_held_out >= n)
        return error_set(err, HALLEY_EINVAL, "there is nothing to train a network on");
    nn_blas_open(&t.blas);
    report->blas = t.blas.sgemm != NULL;
    halley_status status = allocate(&t, err);
    if (status == HALLEY_OK)
        status = nn_adam_init(&adam, net->layout.n, &adam_opts, err);
    if (status == HALLEY_OK)
        status = train(&t, report, opts, &adam, err);
    if (status == HALLEY_OK)
        memcpy(param, t.best, net->layout.n * sizeof *param);
    for (size_t i = 0; i < MAX_LOOKED_AT / PER_PART; i++)
        arena_fini(&t.memory[i]);
    nn_adam_fini(&adam);
    nn_blas_close(&t.blas);
    free(t.order);
    free(t.best);
    free(t.grad);
    return status;
}
