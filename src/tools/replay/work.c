/*
 * replay/work.c - imitate compute on a machine without the trace's devices. Spinning
 * takes the recorded wall-clock time, whatever else the machine does. Matmuls are as many
 * as take that time when run alone, so that disturbances are visible. Sleep leaves the
 * processor to others. Communication is advanced between pieces of about 5 us.
 */
#include "replay/work.h"

#include "base/array.h"
#include "base/error.h"
#include "base/rng.h"

#include <assert.h>
#include <dlfcn.h>
#include <string.h>
#include <time.h>

enum {
    MATMUL_SIZE = 64,
    PIECE_NS = 5000,         /* of spinning between two polls */
    COPY_BYTES = 256 * 1024, /* at a time */
    SLEEP_NS = 20 * 1000 * 1000,
};

typedef void sgemm(int, int, int, int, int, int, float, const float *, int, const float *,
                   int, float, float *, int);

uint64_t replay_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Work that the compiler cannot remove. */
static uint64_t spin_loops(uint64_t loops)
{
    volatile uint64_t x = 88172645463325252u;
    for (uint64_t i = 0; i < loops; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

/* Take the fastest of several runs, because others may use the processor meanwhile. */
static double calibrate_loops(void)
{
    const uint64_t loops = 200000;
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 10; i++) {
        const uint64_t from = replay_now_ns();
        (void)spin_loops(loops);
        const uint64_t took = replay_now_ns() - from;
        best = took < best ? took : best;
    }
    return (double)loops / (1e-9 * (double)(best > 0 ? best : 1));
}

static void multiply_once(const replay_work *w)
{
    enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111, N = MATMUL_SIZE };
    ((sgemm *)w->multiply)(ROW_MAJOR, NOT_TRANSPOSED, NOT_TRANSPOSED, N, N, N, 1, w->a, N,
                           w->b, N, 0, w->c, N);
}

static void calibrate_matmul(replay_work *w)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 50; i++) {
        const uint64_t from = replay_now_ns();
        multiply_once(w);
        const uint64_t took = replay_now_ns() - from;
        best = took < best ? took : best;
    }
    w->matmul_s = 1e-9 * (double)(best > 0 ? best : 1);
}

static halley_status open_blas(replay_work *w, uint64_t seed, halley_error *err)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    const size_t n = (size_t)MATMUL_SIZE * MATMUL_SIZE;
    rng r = rng_seed(seed);
    for (size_t i = 0; i < 2 && w->blas == NULL; i++)
        w->blas = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    void *const multiply = w->blas == NULL ? NULL : dlsym(w->blas, "cblas_sgemm");
    if (multiply == NULL)
        return error_set(
            err, HALLEY_ENOTFOUND,
            "--compute matmul needs OpenBLAS (libopenblas.so.0), which is not "
            "there; use --compute spin");
    memcpy(&w->multiply, &multiply, sizeof multiply);
    void (*set_threads)(int) = NULL;
    void *const found = dlsym(w->blas, "openblas_set_num_threads");
    memcpy(&set_threads, &found, sizeof found);
    if (set_threads != NULL)
        set_threads(1);
    w->a = mem_array(n, sizeof *w->a);
    w->b = mem_array(n, sizeof *w->b);
    w->c = mem_array_zero(n, sizeof *w->c);
    if (w->a == NULL || w->b == NULL || w->c == NULL)
        return error_nomem(err);
    for (size_t i = 0; i < n; i++) {
        w->a[i] = (float)rng_normal(&r);
        w->b[i] = (float)rng_normal(&r);
    }
    calibrate_matmul(w);
    return HALLEY_OK;
}

halley_status replay_work_init(replay_work *w, const halley_replay_opts *opts,
                               halley_error *err)
{
    *w = (replay_work){.kind = opts->compute, .loops_per_s = calibrate_loops()};
    w->near = mem_array_zero(COPY_BYTES, 1);
    w->far = mem_array_zero(COPY_BYTES, 1);
    if (w->near == NULL || w->far == NULL)
        return error_nomem(err);
    return opts->compute == HALLEY_REPLAY_MATMUL ? open_blas(w, opts->seed, err)
                                                 : HALLEY_OK;
}

static void spin_until(const replay_work *w, uint64_t end, replay_poll *poll,
                       void *context)
{
    const double loops_per_ns = 1e-9 * w->loops_per_s;
    for (uint64_t now; (now = replay_now_ns()) < end;) {
        const uint64_t left = end - now;
        (void)spin_loops(
            (uint64_t)(loops_per_ns * 0.9 * (double)(left < PIECE_NS ? left : PIECE_NS)));
        if (!poll(context))
            return;
    }
}

static void sleep_until(uint64_t end, replay_poll *poll, void *context)
{
    for (uint64_t now; (now = replay_now_ns()) < end;) {
        const uint64_t left = end - now < SLEEP_NS ? end - now : SLEEP_NS;
        const struct timespec t = {.tv_nsec = (long)left};
        nanosleep(&t, NULL);
        if (!poll(context))
            return;
    }
}

void replay_work_compute(replay_work *w, double seconds, replay_poll *poll, void *context)
{
    const uint64_t end = replay_now_ns() + (uint64_t)(1e9 * seconds);
    assert(seconds >= 0);
    switch (w->kind) {
    case HALLEY_REPLAY_SPIN:
        spin_until(w, end, poll, context);
        return;
    case HALLEY_REPLAY_SLEEP:
        sleep_until(end, poll, context);
        return;
    case HALLEY_REPLAY_MATMUL:
        break;
    }
    uint64_t n = (uint64_t)(seconds / w->matmul_s + 0.5);
    for (n = n > 0 ? n : 1; n > 0; n--) {
        multiply_once(w);
        if (!poll(context))
            return;
    }
}

void replay_work_copy(replay_work *w, uint64_t bytes, replay_poll *poll, void *context)
{
    while (bytes > 0) {
        const size_t n = bytes < COPY_BYTES ? (size_t)bytes : COPY_BYTES;
        memcpy(w->near, w->far, n);
        __asm__ __volatile__(""
                             :
                             : "r"(w->near)
                             : "memory"); /* keep the compiler from
                                             removing the copy */
        bytes -= n;
        if (!poll(context))
            return;
    }
}

void replay_work_fini(replay_work *w)
{
    free(w->a);
    free(w->b);
    free(w->c);
    free(w->near);
    free(w->far);
    if (w->blas != NULL)
        dlclose(w->blas);
    *w = (replay_work){0};
}
