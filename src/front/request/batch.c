/*
 * Many estimates at once. The request is read once, as `estimate` reads it. Each design
 * is the base plan with the values of its columns. It is completed and checked as a
 * single plan is, so its numbers are those of a request with the same plan.
 *
 * The effect of a value on a plan depends on the value alone, so every distinct value is
 * checked before the first design. Designs are sorted so that those with the same layer
 * times are consecutive (halley_estimator).
 */
#include "halley/batch.h"

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/watch.h"
#include "request/design.h"
#include "request/reader.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_EVERY = 256, MAX_BATCH_KEYS = HALLEY_N_PLAN_KEYS };

struct halley_batch {
    halley_model model;
    halley_cluster *cluster;
    halley_stack stack;
    halley_plan plan; /* base plan of all designs, not completed */
};

/* Where the value of a metric comes from. */
typedef struct batch_metric {
    const char *name;
    size_t offset; /* of a double in halley_estimate */
} batch_metric;

#define METRIC(name, member)                                                             \
    {                                                                                    \
        name, offsetof(halley_estimate, member)                                          \
    }
static const batch_metric metrics_known[] = {
    METRIC("step_s", step_s),
    METRIC("tokens_per_s", tokens_per_s),
    METRIC("mfu", mfu),
    METRIC("hfu", hfu),
    METRIC("model_flops", model_flops),
    METRIC("device_bytes", peak_bytes),
    METRIC("allocated_bytes", allocated_bytes),
    METRIC("capacity_bytes", capacity_bytes),
    METRIC("offloaded_bytes", offloaded_bytes),
    METRIC("energy_J", energy_J),
    METRIC("cost_usd", cost_usd),
    {"fits", SIZE_MAX}, /* a bool there: 0 or 1 */
};
enum { N_METRICS = sizeof metrics_known / sizeof *metrics_known };

const char *halley_batch_metric_name(size_t i)
{
    return i < N_METRICS ? metrics_known[i].name : NULL;
}

static double get_metric(const halley_estimate *e, size_t metric)
{
    const size_t offset = metrics_known[metric].offset;
    double value;
    if (offset == SIZE_MAX)
        return e->fits;
    memcpy(&value, (const char *)e + offset, sizeof value);
    return value;
}

/* The options of `estimate` begin with a design_options. */
static halley_status load_batch(halley_batch *b, request_reader *r, halley_error *err)
{
    const design_options *o = r->call.options;
    TRY(design_load(&b->model, &b->cluster, &b->stack, &r->call, o, err));
    halley_status status = design_check_count(b->cluster, &r->call, o, err);
    if (status == HALLEY_OK)
        status = design_read(&b->plan, NULL, halley_cluster_npus(b->cluster), &r->call, o,
                             err);
    if (status != HALLEY_OK) {
        halley_cluster_free(b->cluster);
        halley_model_fini(&b->model);
    }
    return status;
}

halley_status halley_batch_open(halley_batch **out, const char *json, halley_error *err)
{
    halley_error problem = {0};
    request_notes warnings = {0};
    request_assumptions assumed = {0};
    request_reader r = {.err = &problem,
                        .call = {.warnings = &warnings, .assumed = &assumed}};
    halley_batch *b = calloc(1, sizeof *b);
    halley_status status = b == NULL ? error_nomem(&problem) : request_read(&r, json);
    if (status == HALLEY_OK && r.call.verb != &request_verb_estimate)
        status = error_set(&problem, HALLEY_EINVAL,
                           "a batch is an estimate request: {\"do\": \"estimate\", ...}");
    if (status == HALLEY_OK)
        status = load_batch(b, &r, &problem);
    request_reader_fini(&r);
    request_notes_fini(&warnings);
    request_assumptions_fini(&assumed);
    if (status != HALLEY_OK) {
        free(b);
        if (err != NULL)
            *err = problem;
        return status;
    }
    *out = b;
    return HALLEY_OK;
}

void halley_batch_free(halley_batch *batch)
{
    if (batch == NULL)
        return;
    halley_model_fini(&batch->model);
    halley_cluster_free(batch->cluster);
    free(batch);
}

/* Find a key by its name with _ or -; HALLEY_N_PLAN_KEYS if there is none. */
static halley_plan_key find_batch_key(const char *name)
{
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++) {
        const char *known = halley_plan_key_name((halley_plan_key)i);
        size_t k = 0;
        while (known[k] != '\0' &&
               (known[k] == name[k] || (known[k] == '-' && name[k] == '_')))
            k++;
        if (known[k] == '\0' && name[k] == '\0')
            return (halley_plan_key)i;
    }
    return HALLEY_N_PLAN_KEYS;
}

static halley_status check_batch_key(halley_plan_key *out, const halley_batch_key *key,
                                     size_t n, halley_error *err)
{
    const halley_plan_key id = find_batch_key(key->key);
    if (id == HALLEY_N_PLAN_KEYS)
        return error_set(err, HALLEY_EINVAL, "a plan has no key \"%s\"", key->key);
    for (uint32_t i = 0; i < key->n_values; i++) {
        halley_plan scratch;
        halley_plan_default(&scratch);
        TRY(halley_plan_set(&scratch, id, key->values[i], err));
    }
    for (size_t i = 0; i < n; i++)
        if (key->value_of[i] >= key->n_values)
            return error_set(err, HALLEY_EINVAL,
                             "design %zu has value %u of %u of \"%s\"", i,
                             key->value_of[i], key->n_values, key->key);
    *out = id;
    return HALLEY_OK;
}

static halley_status find_batch_metric(size_t *out, const char *name, halley_error *err)
{
    const char *known[N_METRICS];
    for (size_t i = 0; i < N_METRICS; i++) {
        known[i] = metrics_known[i].name;
        if (strcmp(known[i], name) == 0) {
            *out = i;
            return HALLEY_OK;
        }
    }
    const char *near = str_nearest(str_from(name), known, N_METRICS);
    return error_set(err, HALLEY_EINVAL, "there is no metric \"%s\"%s%s%s", name,
                     near != NULL ? ", did you mean \"" : "", near != NULL ? near : "",
                     near != NULL ? "\"?" : "");
}

/* Keys that mostly do not change the times of layers. Designs that differ only in them
 * are consecutive. This affects speed only. */
static bool is_outside_layers(halley_plan_key key)
{
    static const bool outside[HALLEY_N_PLAN_KEYS] = {
        [HALLEY_KEY_PP] = true,
        [HALLEY_KEY_VIRTUAL] = true,
        [HALLEY_KEY_ZERO] = true,
        [HALLEY_KEY_FSDP] = true,
        [HALLEY_KEY_ZERO_GROUP] = true,
        [HALLEY_KEY_ZERO_OWNER] = true,
        [HALLEY_KEY_GATHER] = true,
        [HALLEY_KEY_GRADIENT_BYTES] = true,
        [HALLEY_KEY_GRADIENT_MEMORY] = true,
        [HALLEY_KEY_OPTIMIZER_MEMORY] = true,
        [HALLEY_KEY_OPTIMIZER] = true,
        [HALLEY_KEY_TABLE_OPTIMIZER] = true,
        [HALLEY_KEY_FP8_PARAMS] = true,
        [HALLEY_KEY_OFFLOAD] = true,
        [HALLEY_KEY_OFFLOAD_TIER] = true,
        [HALLEY_KEY_OFFLOAD_LAYERS] = true,
        [HALLEY_KEY_RECOMPUTE_EVERY] = true,
        [HALLEY_KEY_RECOMPUTE_LAYERS] = true,
        [HALLEY_KEY_STAGE_LAYERS] = true,
        [HALLEY_KEY_EMBEDDINGS_AS_LAYERS] = true,
        [HALLEY_KEY_SCHEDULE] = true,
    };
    return outside[key];
}

/* One run over the designs. */
typedef struct batch_run {
    const halley_batch *batch;
    /* In the order of the table of keys, in which a request sets them, except that keys
     * outside the layers come last. */
    halley_batch_key keys[MAX_BATCH_KEYS];
    size_t n_keys, n_stem_keys;
    halley_plan_key ids[MAX_BATCH_KEYS];
    halley_plan stem;
    uint32_t stem_values[MAX_BATCH_KEYS];
    bool has_stem;
    const halley_batch_metric *metrics;
    size_t n_metrics;
    size_t metric_ids[N_METRICS];
    halley_estimator *estimator;
    intern reasons;
} batch_run;

/* Check the keys and sort them. */
static halley_status order_batch_keys(batch_run *r, const halley_batch_key *keys,
                                      size_t n_keys, size_t n, halley_error *err)
{
    const halley_batch_key *given[HALLEY_N_PLAN_KEYS] = {0};
    for (size_t i = 0; i < n_keys; i++) {
        halley_plan_key id = HALLEY_N_PLAN_KEYS;
        TRY(check_batch_key(&id, &keys[i], n, err));
        if (given[id] != NULL)
            return error_set(err, HALLEY_EINVAL, "the key \"%s\" is given twice",
                             keys[i].key);
        given[id] = &keys[i];
    }
    for (int late = 0; late < 2; late++) {
        for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++) {
            if (given[i] == NULL || is_outside_layers((halley_plan_key)i) != (late == 1))
                continue;
            r->ids[r->n_keys] = (halley_plan_key)i;
            r->keys[r->n_keys++] = *given[i];
        }
        r->n_stem_keys = late == 0 ? r->n_keys : r->n_stem_keys;
    }
    assert(r->n_keys == n_keys);
    return HALLEY_OK;
}

/* Set the keys `from` to `to` - 1 in a design's plan. */
static halley_status set_batch_keys(halley_plan *plan, const batch_run *r, size_t from,
                                    size_t to, size_t design, halley_error *err)
{
    for (size_t k = from; k < to; k++) {
        const halley_batch_key *key = &r->keys[k];
        TRY(halley_plan_set(plan, r->ids[k], key->values[key->value_of[design]], err));
    }
    return HALLEY_OK;
}

/* Make the plan with the first n_stem_keys keys. It is kept for the next design, which
 * mostly has the same. */
static halley_status update_batch_stem(batch_run *r, size_t design, halley_error *err)
{
    bool same = r->has_stem;
    for (size_t k = 0; same && k < r->n_stem_keys; k++)
        same = r->keys[k].value_of[design] == r->stem_values[k];
    if (same)
        return HALLEY_OK;
    r->has_stem = false;
    r->stem = r->batch->plan;
    TRY(set_batch_keys(&r->stem, r, 0, r->n_stem_keys, design, err));
    for (size_t k = 0; k < r->n_stem_keys; k++)
        r->stem_values[k] = r->keys[k].value_of[design];
    r->has_stem = true;
    return HALLEY_OK;
}

static halley_status make_batch_plan(halley_plan *out, batch_run *r, size_t design,
                                     halley_error *err)
{
    TRY(update_batch_stem(r, design, err));
    *out = r->stem;
    TRY(set_batch_keys(out, r, r->n_stem_keys, r->n_keys, design, err));
    TRY(design_complete(out, &r->batch->model, r->batch->cluster, err));
    return design_check_offload(out, r->batch->cluster, err);
}

/* A refused design is a result; any other failure ends the run. */
static halley_status run_batch_design(batch_run *r, size_t design, uint32_t *refusal,
                                      halley_error *err)
{
    halley_error problem;
    halley_plan plan;
    halley_estimate e;
    problem.text[0] = '\0';
    halley_status status = make_batch_plan(&plan, r, design, &problem);
    if (status == HALLEY_OK) {
        halley_estimator_run(r->estimator, &e, &plan);
        status = halley_estimate_check(&e, &problem);
    }
    if (status == HALLEY_ENOMEM)
        return error_nomem(err);
    if (status != HALLEY_OK) {
        const uint32_t id = intern_add(&r->reasons, str_from(problem.text));
        if (id == HASH_NONE)
            return error_nomem(err);
        *refusal = id + 1;
        return HALLEY_OK;
    }
    *refusal = 0;
    for (size_t m = 0; m < r->n_metrics; m++)
        r->metrics[m].values[design] = get_metric(&e, r->metric_ids[m]);
    return HALLEY_OK;
}

/* Sort designs by one key: a stable counting sort. */
static void sort_by_key(size_t *to, const size_t *from, size_t n,
                        const halley_batch_key *key, size_t *counts)
{
    memset(counts, 0, ((size_t)key->n_values + 1) * sizeof *counts);
    for (size_t i = 0; i < n; i++)
        counts[key->value_of[i] + 1]++;
    for (uint32_t v = 0; v < key->n_values; v++)
        counts[v + 1] += counts[v];
    for (size_t i = 0; i < n; i++)
        to[counts[key->value_of[from[i]]]++] = from[i];
}

/* The order in which designs are evaluated: a radix sort from the last key to the first.
 * NULL: no memory. */
static size_t *sort_batch_designs(const batch_run *r, size_t n)
{
    uint32_t most = 0;
    for (size_t k = 0; k < r->n_keys; k++)
        most = r->keys[k].n_values > most ? r->keys[k].n_values : most;
    size_t *order = mem_array(n + 1, sizeof *order);
    size_t *other = mem_array(n + 1, sizeof *other);
    size_t *counts = mem_array((size_t)most + 1, sizeof *counts);
    for (size_t i = 0; order != NULL && i < n; i++)
        order[i] = i;
    const bool failed = order == NULL || other == NULL || counts == NULL;
    for (size_t k = r->n_keys; !failed && k-- > 0;) {
        sort_by_key(other, order, n, &r->keys[k], counts);
        size_t *const sorted = other;
        other = order;
        order = sorted;
    }
    free(other);
    free(counts);
    if (failed) {
        free(order);
        return NULL;
    }
    return order;
}

static halley_status run_batch_order(batch_run *r, const size_t *order, size_t n,
                                     uint32_t *refusal_of, const halley_watch *watch,
                                     halley_error *err)
{
    watcher w;
    watcher_init(&w, watch, "estimating", "designs", (double)n);
    for (size_t i = 0; i < n; i++) {
        if (i % LOOK_EVERY == 0 && !watcher_at(&w, i))
            return watcher_error(&w, err);
        TRY(run_batch_design(r, order[i], &refusal_of[order[i]], err));
    }
    return watcher_is_cancelled(&w) ? watcher_error(&w, err) : HALLEY_OK;
}

static halley_status run_batch_designs(batch_run *r, size_t n, uint32_t *refusal_of,
                                       const halley_watch *watch, halley_error *err)
{
    const halley_batch *b = r->batch;
    TRY(halley_estimator_new(&r->estimator, &b->model, b->cluster, &b->stack, err));
    size_t *order = sort_batch_designs(r, n);
    const halley_status status =
        order == NULL ? error_nomem(err)
                      : run_batch_order(r, order, n, refusal_of, watch, err);
    free(order);
    halley_estimator_free(r->estimator);
    return status;
}

void halley_batch_free_refusals(char **refusals, size_t n)
{
    for (size_t i = 0; refusals != NULL && i < n; i++)
        free(refusals[i]);
    free(refusals);
}

static halley_status copy_batch_reasons(char ***out, size_t *n, const intern *reasons,
                                        halley_error *err)
{
    char **list = calloc((size_t)reasons->n + 1, sizeof *list);
    for (uint32_t i = 0; list != NULL && i < reasons->n; i++) {
        const str text = intern_text(reasons, i);
        list[i] = strndup(text.at, text.n);
        if (list[i] == NULL) {
            halley_batch_free_refusals(list, i);
            list = NULL;
        }
    }
    if (list == NULL)
        return error_nomem(err);
    *out = list;
    *n = reasons->n;
    return HALLEY_OK;
}

halley_status halley_batch_run(const halley_batch *batch, size_t n,
                               const halley_batch_key *keys, size_t n_keys,
                               const halley_batch_metric *metrics, size_t n_metrics,
                               uint32_t *refusal_of, char ***refusals, size_t *n_refusals,
                               const halley_watch *watch, halley_error *err)
{
    batch_run r = {.batch = batch, .metrics = metrics, .n_metrics = n_metrics};
    if (n_keys > MAX_BATCH_KEYS || n_metrics > N_METRICS)
        return error_set(err, HALLEY_EINVAL,
                         "a key or a metric of the batch is given twice");
    TRY(order_batch_keys(&r, keys, n_keys, n, err));
    for (size_t i = 0; i < n_metrics; i++)
        TRY(find_batch_metric(&r.metric_ids[i], metrics[i].name, err));
    halley_status status = run_batch_designs(&r, n, refusal_of, watch, err);
    if (status == HALLEY_OK)
        status = copy_batch_reasons(refusals, n_refusals, &r.reasons, err);
    intern_fini(&r.reasons);
    return status;
}
