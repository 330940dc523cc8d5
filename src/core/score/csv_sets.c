/*
 * Scores kernels and collectives against micro-benchmarks. Matmuls are scored twice: all
 * of them, and those above 1e9 FLOP. They are priced as short bursts, as they were
 * measured: the clock drops less than in training. Repeats of one collective count once,
 * with their geometric mean.
 */
#include "score/csv_sets.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/number/number.h"
#include "coll/time.h"
#include "cost/gemm.h"
#include "hw/link.h"
#include "score/csv_read.h"
#include "score/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct point {
    char id[56];
    double measured, predicted; /* log of the measured time while repeats are added */
    uint32_t repeats;
    bool large;
} point;
typedef ARRAY(point) point_array;

/* One output set while it is filled. */
typedef struct bin {
    char name[HALLEY_NAME];
    uint32_t rows, unknown;
    point_array points;
    map64 seen;
} bin;
typedef ARRAY(bin) bin_array;

typedef struct table {
    bin_array bins;
    halley_npu npus[SCORE_N_SYSTEMS];
    halley_link links[SCORE_N_SYSTEMS];
    cost_gemm wide[SCORE_N_SYSTEMS], low[SCORE_N_SYSTEMS];
    bool loaded[SCORE_N_SYSTEMS];
    bool products;
} table;

static bin *find_bin(table *t, const char *name)
{
    for (size_t i = 0; i < t->bins.n; i++) {
        if (strcmp(t->bins.at[i].name, name) == 0)
            return &t->bins.at[i];
    }
    bin b = {0};
    snprintf(b.name, sizeof b.name, "%s", name);
    return array_push(&t->bins, b) ? &t->bins.at[t->bins.n - 1] : NULL;
}

static halley_status load_system(table *t, uint32_t i, halley_error *err)
{
    if (t->loaded[i])
        return HALLEY_OK;
    const score_system *sys = score_system_get(i);
    if (sys->npu) {
        halley_npu *npu = &t->npus[i];
        TRY(cluster_npu_load(npu, sys->npu, err));
        t->wide[i] = cost_gemm_make(npu, &npu->gemm, halley_npu_wide_peak(npu), 2);
        if (npu->peak_flops[HALLEY_FP8] > 0)
            t->low[i] =
                cost_gemm_make(npu, &npu->gemm_fp8_cast, npu->peak_flops[HALLEY_FP8], 1);
    }
    TRY(cluster_link_load(&t->links[i], sys->link, err));
    t->loaded[i] = true;
    return HALLEY_OK;
}

static halley_status add_point(bin *b, const point *p, uint64_t key, halley_error *err)
{
    uint32_t at = (uint32_t)b->points.n;
    bool fresh;
    if (!map64_put(&b->seen, key, &at, &fresh))
        return error_nomem(err);
    if (fresh)
        return array_push(&b->points, *p) ? HALLEY_OK : error_nomem(err);
    b->points.at[at].measured += p->measured;
    b->points.at[at].repeats++;
    return HALLEY_OK;
}

static double product_time(const table *t, uint32_t sys, bool low, const double mnk[3])
{
    const double m = mnk[0], n = mnk[1], k = mnk[2];
    if (!low)
        return cost_gemm_time(&t->wide[sys], m, n, k, 1, false);
    const halley_npu *npu = &t->npus[sys];
    return cost_gemm_time(&t->low[sys], m, n, k, 1, false) + npu->cast_launch_s +
           3 * m * k / (npu->cast_memory_share * npu->tiers[0].bandwidth_Bps);
}

static halley_status add_product(table *t, bin *b, const score_csv_row *row,
                                 halley_error *err)
{
    const double *mnk = row->mnk;
    TRY(load_system(t, row->system, err));
    point p = {.measured = log(row->seconds),
               .repeats = 1,
               .predicted = product_time(t, row->system, row->low, mnk),
               .large = 2 * mnk[0] * mnk[1] * mnk[2] > 1e9};
    snprintf(p.id, sizeof p.id, "%.13sx%.13sx%.13s", number_digits(mnk[0], 6).at,
             number_digits(mnk[1], 6).at, number_digits(mnk[2], 6).at);
    return add_point(b, &p, hash_bytes(mnk, sizeof row->mnk, 0), err);
}

static halley_status add_csv_collective(table *t, bin *b, const score_csv_row *row,
                                        halley_error *err)
{
    TRY(load_system(t, row->system, err));
    const halley_fabric none = {.bandwidth_Bps = 1, .share = 1};
    point p = {.measured = log(row->seconds),
               .repeats = 1,
               .predicted = coll_call_time(&t->links[row->system], &none, &row->coll),
               .large = true};
    snprintf(p.id, sizeof p.id, "%.*s n=%u %.13s B", STR_ARG(row->name), row->coll.n,
             number_digits(row->coll.bytes, 6).at);
    return add_point(b, &p, hash_bytes(p.id, strlen(p.id), 0), err);
}

static halley_status add_row(void *context, const score_csv_row *row, halley_error *err)
{
    table *t = context;
    char name[HALLEY_NAME];
    t->products = row->product;
    if (row->product)
        snprintf(name, sizeof name, "gemm %.*s %.*s", STR_ARG(row->system_name),
                 STR_ARG(row->name));
    else
        snprintf(name, sizeof name, "collectives %.*s", STR_ARG(row->system_name));
    bin *b = find_bin(t, name);
    if (!b)
        return error_nomem(err);
    b->rows++;
    if (!row->known) {
        b->unknown++;
        return HALLEY_OK;
    }
    return row->product ? add_product(t, b, row, err)
                        : add_csv_collective(t, b, row, err);
}

static halley_status finish_bin(halley_score_set *set, const bin *b, bool large_only,
                                halley_error *err)
{
    *set = (halley_score_set){.cv_pct = -1, .rows = b->rows};
    snprintf(set->set, sizeof set->set, "%s", b->name);
    snprintf(set->metric, sizeof set->metric, "latency%s",
             large_only ? " > 1e9 FLOP" : "");
    score_pair *pairs = mem_array(b->points.n + 1, sizeof *pairs);
    if (!pairs)
        return error_nomem(err);
    size_t n = 0;
    for (size_t i = 0; i < b->points.n; i++) {
        const point *p = &b->points.at[i];
        if (!large_only || p->large)
            pairs[n++] = (score_pair){p->id, exp(p->measured / p->repeats), p->predicted};
    }
    for (uint32_t i = 0; i < b->unknown; i++)
        score_skip(set, "unknown system, type or number");
    const halley_status status = score_metrics(set, pairs, n, err);
    free(pairs);
    return status;
}

static halley_status finish_csv_set(halley_score_set **sets, size_t *n, const table *t,
                                    bool products, halley_error *err)
{
    const size_t per = products ? 2 : 1;
    halley_score_set *out = mem_array(t->bins.n * per, sizeof *out);
    if (!out)
        return error_nomem(err);
    halley_status status = HALLEY_OK;
    for (size_t i = 0; status == HALLEY_OK && i < t->bins.n * per; i++)
        status = finish_bin(&out[i], &t->bins.at[i / per], i % per == 1, err);
    if (status != HALLEY_OK) {
        free(out);
        return status;
    }
    *sets = out;
    *n = t->bins.n * per;
    return HALLEY_OK;
}

static void free_csv_table(table *t)
{
    for (size_t i = 0; i < t->bins.n; i++) {
        array_fini(&t->bins.at[i].points);
        map64_fini(&t->bins.at[i].seen);
    }
    array_fini(&t->bins);
}

halley_status score_csv(halley_score_set **sets, size_t *n, const char *path,
                        halley_error *err)
{
    table *t = calloc(1, sizeof *t);
    if (!t)
        return error_nomem(err);
    halley_status status = score_csv_read(path, add_row, t, err);
    if (status == HALLEY_OK)
        status = finish_csv_set(sets, n, t, t->products, err);
    free_csv_table(t);
    free(t);
    return status;
}
