/*
 * Classes of runs, and quantiles of their errors. A class has four members: the kind of
 * model, the knowledge about the software, whether the device was among the fitted runs,
 * and the kind of parallelism. If a class has fewer than three sources, a wider class is
 * used. Within a class, each run of a source weighs 1 / sqrt(number of its runs). 900
 * runs of one source therefore do not dominate the class.
 */
#include "score/bar_class.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

const char *const bar_kind_names[] = {"dense", "moe", "tpu", "other", NULL};
const char *const bar_stack_names[] = {"known", "family", "unknown", NULL};
const char *const bar_device_names[] = {"fitted", "unfitted", NULL};
const char *const bar_parallel_names[] = {"fsdp", "pipeline", "neither", NULL};

static const double typical_share = 0.70, bound_share = 0.95;
enum { LEAST_SOURCES = 3 };

bar_class bar_class_of(const halley_model *model, const halley_plan *plan,
                       const halley_cluster *cluster)
{
    bar_class c = {.stack = BAR_UNKNOWN, .device = BAR_FITTED};
    if (model->family != HALLEY_FAMILY_LLM || plan->lora > 0)
        c.kind = BAR_OTHER;
    else if (cluster->npu.type == HALLEY_NPU_TPU)
        c.kind = BAR_TPU;
    else
        c.kind = model->experts > 0 ? BAR_MOE : BAR_DENSE;
    c.parallel = plan->pp > 1 ? BAR_PIPELINE : plan->fsdp > 1 ? BAR_FSDP : BAR_NEITHER;
    return c;
}

bool bar_class_widen(bar_class *out, bar_class class, uint32_t i)
{
    bar_class c = class;
    if (i >= 1)
        c.parallel = BAR_ANY;
    if (i >= 2)
        c.device = BAR_ANY;
    if (i >= 3)
        c.stack = c.stack == BAR_KNOWN ? BAR_FAMILY : BAR_UNKNOWN;
    if (i >= 4)
        c.stack = BAR_UNKNOWN;
    if (i >= 5)
        c.kind = BAR_ANY;
    *out = c;
    return i <= 5;
}

static bool matches_bar_class(uint8_t wanted, uint8_t is)
{
    return wanted == BAR_ANY || wanted == is;
}

bool bar_class_has(bar_class class, bar_class of)
{
    return matches_bar_class(class.kind, of.kind) &&
           matches_bar_class(class.stack, of.stack) &&
           matches_bar_class(class.device, of.device) &&
           matches_bar_class(class.parallel, of.parallel);
}

static int by_source(const void *a, const void *b)
{
    const bar_error *x = a, *y = b;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return x->error < y->error ? -1 : x->error > y->error;
}

static int by_bar_error(const void *a, const void *b)
{
    const bar_error *x = a, *y = b;
    if (x->error < y->error || x->error > y->error)
        return x->error < y->error ? -1 : 1;
    return x->source < y->source ? -1 : x->source > y->source;
}

/* The quantile: errors below it have a fraction `share` of the weight. Errors are
 * ascending. */
static double find_bar_quantile(const bar_error *sorted, size_t n, double share)
{
    double total = 0, sum = 0;
    assert(n > 0);
    for (size_t i = 0; i < n; i++)
        total += sorted[i].weight;
    for (size_t i = 0; i < n; i++) {
        sum += sorted[i].weight;
        if (sum >= share * total)
            return sorted[i].error;
    }
    return sorted[n - 1].error;
}

/* Set the weights of errors that are sorted by source. Returns the number of sources. */
static uint32_t weigh_sources(bar_error *at, size_t n)
{
    uint32_t n_sources = 0;
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && at[end].source == at[i].source)
            end++;
        for (size_t k = i; k < end; k++)
            at[k].weight = 1 / sqrt((double)(end - i));
        n_sources++;
        i = end;
    }
    return n_sources;
}

bool bar_quantiles_make(bar_quantiles *out, bar_error *scratch, const bar_error *errors,
                        size_t n, bar_class class, uint64_t except)
{
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (errors[i].source != except && bar_class_has(class, errors[i].class))
            scratch[m++] = errors[i];
    if (m == 0)
        return false;
    qsort(scratch, m, sizeof *scratch, by_source);
    const uint32_t n_sources = weigh_sources(scratch, m);
    qsort(scratch, m, sizeof *scratch, by_bar_error);
    *out = (bar_quantiles){.typical = find_bar_quantile(scratch, m, typical_share),
                           .bound = find_bar_quantile(scratch, m, bound_share),
                           .n_runs = (uint32_t)m,
                           .n_sources = n_sources};
    assert(out->typical <= out->bound);
    return n_sources >= LEAST_SOURCES;
}
