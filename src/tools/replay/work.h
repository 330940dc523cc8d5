/* replay/work.h - compute and memory traffic for a given time or size. */
#ifndef REPLAY_WORK_H
#define REPLAY_WORK_H

#include "halley/replay.h"

/* Called between pieces of work; false ends the work. */
typedef bool replay_poll(void *context);

typedef struct replay_work {
    halley_replay_compute kind;
    double loops_per_s;     /* of the spinning loop, calibrated */
    double matmul_s;        /* of one matmul, calibrated */
    void *blas;             /* the library's handle; NULL = not opened */
    void (*multiply)(void); /* as loaded; called through work.c */
    float *a, *b, *c;       /* of the matmul */
    char *near, *far;       /* of copies */
} replay_work;

/* Nanoseconds since some moment. */
uint64_t replay_now_ns(void);

/* Calibrates. HALLEY_ENOTFOUND: matmuls are requested and OpenBLAS is missing. */
halley_status replay_work_init(replay_work *w, const halley_replay_opts *opts,
                               halley_error *err);
void replay_work_compute(replay_work *w, double seconds, replay_poll *poll,
                         void *context);
void replay_work_copy(replay_work *w, uint64_t bytes, replay_poll *poll, void *context);
void replay_work_fini(replay_work *w);

#endif
