/* report/losses.h - the verdict of a run: where a step loses time, in one sentence. */
#ifndef REPORT_LOSSES_H
#define REPORT_LOSSES_H

#include <stddef.h>

typedef enum report_loss_kind {
    REPORT_LOSS_NONE,   /* work that advances the model */
    REPORT_WORK_MEMORY, /* the same, limited by the NPU's memory */
    REPORT_LOSS_COMMUNICATION,
    REPORT_LOSS_BUBBLE,
    REPORT_LOSS_RECOMPUTE,
    REPORT_LOSS_HOST,
    REPORT_LOSS_MEMORY, /* transfers to and from outer memory */
    REPORT_LOSS_OTHER,
    REPORT_N_LOSSES
} report_loss_kind;

typedef struct report_loss {
    report_loss_kind kind;
    double seconds;
    const char *name; /* "exposed tensor-parallel communication" */
} report_loss;

enum { REPORT_LOSSES_TEXT = 320 };

/*
 * Write "communication-bound: 18 % of the step is exposed tensor-parallel communication.
 * Also 3 % pipeline bubble", or "compute-bound: 63 % of the step is matmuls". `whole`
 * names what the percentages refer to ("the step", "the critical path"). The seconds of
 * all parts add up to it. Work limited by memory that takes half of it or more comes
 * first: "memory-bound: 66 % of the step is embedding traffic. Also 16 % is ...". If they
 * are zero, the text is "there is no time to judge".
 */
void report_losses_describe(char to[REPORT_LOSSES_TEXT], const report_loss *parts,
                            size_t n, const char *whole);

#endif
