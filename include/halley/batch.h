/*
 * halley/batch.h - estimate many designs of one model on one cluster. The designs differ
 * in keys of their plan. Inputs and results are columns.
 */
#ifndef HALLEY_BATCH_H
#define HALLEY_BATCH_H

#include "halley/error.h"
#include "halley/watch.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct halley_batch halley_batch; /* model, cluster, stack, base plan; opaque */

/* `json` is an "estimate" request (halley/request.h). All designs use its plan, except
 * for the keys that differ. On success the caller owns *out and frees it with
 * halley_batch_free. Any number of runs may use one batch at the same time. */
halley_status halley_batch_open(halley_batch **out, const char *json, halley_error *err);
void halley_batch_free(halley_batch *batch); /* NULL is fine */

/* A key of the plan that differs between designs. */
typedef struct halley_batch_key {
    const char *key;           /* "tp", "micro_batch" */
    const char *const *values; /* the distinct values, as on a command line */
    uint32_t n_values;
    const uint32_t *value_of; /* by design: index into `values` */
} halley_batch_key;

/* A result to compute for every design. */
typedef struct halley_batch_metric {
    const char *name; /* "step_s"; halley_batch_metric_name lists them */
    double *values;   /* by design; values of refused designs are not written */
} halley_batch_metric;

/* The name of the i-th available metric; NULL past the last. Lent, static. */
const char *halley_batch_metric_name(size_t i);

/* Estimate n designs. For each design, refusal_of is 0 if it was estimated, else 1 + the
 * index of the reason in *refusals. *refusals is a list of *n_refusals distinct
 * sentences. The caller owns it and frees it with halley_batch_free_refusals. */
halley_status halley_batch_run(const halley_batch *batch, size_t n,
                               const halley_batch_key *keys, size_t n_keys,
                               const halley_batch_metric *metrics, size_t n_metrics,
                               uint32_t *refusal_of, char ***refusals, size_t *n_refusals,
                               const halley_watch *watch, halley_error *err);
void halley_batch_free_refusals(char **refusals, size_t n); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
