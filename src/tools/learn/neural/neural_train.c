/*
 * Training on batches of programs in shuffled order. A batch is cut into parts of fixed
 * size. Each part has its own gradient, and the gradients are added in order, so the
 * parameters are the same for any number of threads. The held-out programs are evaluated
 * every few steps. The parameters with the best held-out loss are kept, and training
 * ends when the loss has not improved for long. The state is saved regularly, so that an
 * interrupted run can be resumed.
 */
#include "base/array.h"
#include "base/hash.h"
#include "base/pool.h"
#include "learn/neural/neural_state.h"

#include <assert.h>
#include <string.h>

enum { PARTS = 4, PER_PART = 4, BATCH = PARTS * PER_PART, LOOK_EVERY = 50, PATIENCE = 8 };
enum { MAX_LOOKED_AT = 64, SAVE_EVERY = 100, STATE_VERSION = 2 };

typedef struct trainer {
    const neural_net *net;
    const neural_program *programs;
    uint32_t n, n_held_out, n_threads;
    nn_blas blas;
    nn_real *param, *best, *grad; /* grad: one per part */
    uint32_t *order;
    neural_place place;
    uint64_t key;
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

/* The loss and, with `learn`, the gradient of the batch. */
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

static void shuffle_order(uint32_t *order, uint32_t n, rng *random)
{
    assert(order != NULL || n == 0);
    for (uint32_t i = n; i > 1; i--) {
        const uint32_t k = (uint32_t)rng_below(random, i);
        const uint32_t keep = order[i - 1];
        order[i - 1] = order[k];
        order[k] = keep;
    }
}

/* Takes the next programs in the shuffled order. Shuffles again at the end of it. */
static void next_batch(trainer *t)
{
    const uint32_t n = t->n - t->n_held_out;
    t->n_batch = n < BATCH ? n : BATCH;
    for (uint32_t i = 0; i < t->n_batch; i++) {
        if (t->place.at == n) {
            shuffle_order(t->order, n, &t->place.random);
            t->place.at = 0;
        }
        t->batch[i] = &t->programs[t->order[t->place.at++]];
    }
}

static halley_status look_at_held_out(trainer *t, neural_loss *loss, halley_error *err)
{
    t->n_batch = 0;
    for (uint32_t i = t->n - t->n_held_out; i < t->n && t->n_batch < MAX_LOOKED_AT; i++)
        t->batch[t->n_batch++] = &t->programs[i];
    if (t->n_batch == 0) /* nothing is held out: use the first training programs */
        for (uint32_t i = 0; i < t->n && i < MAX_LOOKED_AT; i++)
            t->batch[t->n_batch++] = &t->programs[i];
    return run_batch(t, false, loss, err);
}

/* Evaluates the held-out programs, keeps the best parameters, and decides whether
 * training is over. */
static halley_status judge_step(trainer *t, bool *over, halley_error *err)
{
    neural_loss now;
    neural_place *at = &t->place;
    TRY(look_at_held_out(t, &now, err));
    const double loss = neural_loss_per_item(&now);
    const bool better = at->best_step == 0 || loss < neural_loss_per_item(&at->best);
    if (loss == loss && better) {
        memcpy(t->best, t->param, t->net->layout.n * sizeof *t->best);
        at->best = now;
        at->best_step = at->step;
    }
    *over = at->step - at->best_step >= PATIENCE * LOOK_EVERY;
    return HALLEY_OK;
}

static halley_status take_step(trainer *t, nn_adam *adam, halley_error *err)
{
    neural_loss loss;
    next_batch(t);
    TRY(run_batch(t, true, &loss, err));
    t->place.step++;
    return nn_adam_step(adam, t->param, t->grad, err);
}

/* The state of training, for its file. */
static neural_state describe_state(trainer *t, nn_adam *adam)
{
    return (neural_state){.key = t->key,
                          .place = &t->place,
                          .param = t->param,
                          .best = t->best,
                          .mean = adam->mean,
                          .square = adam->square,
                          .order = t->order,
                          .n_params = t->net->layout.n,
                          .n_order = t->n - t->n_held_out};
}

static halley_status save_training(trainer *t, nn_adam *adam, const char *path,
                                   halley_error *err)
{
    const neural_state s = describe_state(t, adam);
    t->place.adam_step = adam->step;
    t->place.n_skipped = adam->n_skipped;
    return neural_state_save(&s, path, err);
}

/* Resumes an earlier run. True if there was one. */
static bool resume_training(trainer *t, nn_adam *adam, const neural_train_opts *opts)
{
    const neural_state s = describe_state(t, adam);
    if (opts->state == NULL || opts->fresh || !neural_state_load(&s, opts->state))
        return false;
    adam->step = t->place.adam_step;
    adam->n_skipped = t->place.n_skipped;
    for (uint32_t i = 0; i < s.n_order; i++) /* a hash can be forged */
        t->order[i] = t->order[i] < s.n_order ? t->order[i] : 0;
    t->place.at = t->place.at <= s.n_order ? t->place.at : 0;
    return true;
}

/* Saves the state and asks whether to go on, after an evaluation of the held-out
 * programs. */
static halley_status pause_training(trainer *t, nn_adam *adam,
                                    const neural_train_opts *opts, halley_error *err)
{
    const bool go_on = opts->go_on == NULL ||
                       opts->go_on(opts->context, t->place.step, adam->opts.n_steps);
    if (opts->state != NULL && (!go_on || t->place.step % SAVE_EVERY == 0))
        TRY(save_training(t, adam, opts->state, err));
    if (go_on)
        return HALLEY_OK;
    return error_set(err, HALLEY_ECANCELED,
                     "stopped after %u of %u steps of training; the same command goes on",
                     t->place.step, adam->opts.n_steps);
}

static halley_status train_steps(trainer *t, neural_report *report,
                                 const neural_train_opts *opts, nn_adam *adam,
                                 halley_error *err)
{
    t->place =
        (neural_place){.random = rng_seed(opts->seed + 1), .at = t->n - t->n_held_out};
    if (resume_training(t, adam, opts))
        report->n_resumed = t->place.step;
    const uint32_t n_steps = adam->opts.n_steps;
    halley_status status = HALLEY_OK;
    bool over = t->place.step - t->place.best_step >= PATIENCE * LOOK_EVERY;
    while (status == HALLEY_OK && t->place.step < n_steps && !over) {
        status = take_step(t, adam, err);
        const bool look = t->place.step % LOOK_EVERY == 0 || t->place.step == n_steps;
        if (status == HALLEY_OK && look)
            status = judge_step(t, &over, err);
        if (status == HALLEY_OK && look && !over && t->place.step < n_steps)
            status = pause_training(t, adam, opts, err);
    }
    report->n_steps = t->place.step;
    report->best_step = t->place.best_step;
    report->held_out = t->place.best;
    return status;
}

/* A key of the programs, of the network's shape and of how it is trained. */
static uint64_t hash_training(const trainer *t, const nn_adam_opts *adam,
                              const neural_train_opts *opts)
{
    const uint64_t numbers[] = {sizeof(nn_real),   t->net->layout.n, t->n,
                                t->n_held_out,     opts->seed,       adam->n_steps,
                                t->blas.sgemm != 0};
    uint64_t key = hash_bytes(numbers, sizeof numbers, STATE_VERSION);
    key = hash_bytes(&adam->rate, sizeof adam->rate, key);
    key = hash_bytes(t->param, t->net->layout.n * sizeof *t->param, key);
    for (uint32_t i = 0; i < t->n; i++) {
        const neural_program *p = &t->programs[i];
        key = hash_bytes(p->feature, sizeof p->feature, key);
        key = hash_bytes(p->items, p->n_items * sizeof *p->items, key);
        for (uint32_t k = 0; k < p->n_items; k++)
            key =
                hash_bytes(p->values + p->first_value[k],
                           neural_n_values(t->net, p->items[k]) * sizeof *p->values, key);
    }
    return key;
}

static halley_status allocate_trainer(trainer *t, halley_error *err)
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
    assert(n_held_out <= n && param != NULL);
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
    halley_status status = allocate_trainer(&t, err);
    if (status == HALLEY_OK)
        status = nn_adam_init(&adam, net->layout.n, &adam_opts, err);
    t.key = status == HALLEY_OK && opts->state != NULL
                ? hash_training(&t, &adam_opts, opts)
                : 0;
    if (status == HALLEY_OK)
        status = train_steps(&t, report, opts, &adam, err);
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
