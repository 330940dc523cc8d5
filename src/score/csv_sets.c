/*
 * Kernels and collectives against micro-benchmarks. Products are scored twice, all of
 * them and those above 1e9 FLOP, in bursts as they were measured (the clock does not sink
 * as far as in training). Repeats of one collective count once, by their geometric mean.
 */
#include "score/csv_sets.h"

#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "cluster/link.h"
#include "cost/coll.h"
#include "cost/gemm.h"
#include "score/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 8 };

/* The names the tables use, and ours. */
static const struct {
    const char *system, *npu, *link;
} systems[] = {
    {"a100_sxm", "A100-SXM4-80GB", "nvlink3-a100"},
    {"h100_sxm", "H100-SXM-80GB", "nvlink4-h100"},
    {"h200_sxm", "H200-SXM-141GB", "nvlink4-h200"},
    {"b200_sxm", "B200-SXM-180GB", "nvlink5-b200"},
    {"b300_sxm", "B300-SXM-288GB", "nvlink5-b300"},
    {"gb200", "GB200-186GB", "nvlink5-gb200"},
    {"gb300", "GB300-288GB", "nvlink5-gb300"},
    {"l40s", NULL, "pcie4-l40s"},
    {"rtx_pro_6000_server", NULL, "pcie5-rtx6000"},
};
enum { N_SYSTEMS = sizeof systems / sizeof *systems };

static uint32_t find_system(str name)
{
    uint32_t i = 0;
    while (i < N_SYSTEMS && !str_eq(name, str_from(systems[i].system)))
        i++;
    return i;
}

typedef struct point {
    char id[56];
    double measured, predicted; /* log of the measured time while repeats are added up */
    uint32_t repeats;
    bool large;
} point;
typedef ARRAY(point) point_array;

/* One output set being filled. */
typedef struct bin {
    char name[HALLEY_NAME];
    uint32_t rows, unknown;
    point_array points;
    map64 seen;
} bin;
typedef ARRAY(bin) bin_array;

typedef struct table {
    bin_array bins;
    halley_npu npus[N_SYSTEMS];
    halley_link links[N_SYSTEMS];
    cost_gemm wide[N_SYSTEMS], low[N_SYSTEMS];
    bool loaded[N_SYSTEMS];
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
    if (systems[i].npu) {
        halley_npu *npu = &t->npus[i];
        TRY(cluster_npu_load(npu, systems[i].npu, err));
        t->wide[i] = cost_gemm_make(npu, &npu->gemm, npu->peak_flops[HALLEY_BF16], 2);
        if (npu->peak_flops[HALLEY_FP8] > 0)
            t->low[i] =
                cost_gemm_make(npu, &npu->gemm_fp8_cast, npu->peak_flops[HALLEY_FP8], 1);
    }
    TRY(cluster_link_load(&t->links[i], systems[i].link, err));
    t->loaded[i] = true;
    return HALLEY_OK;
}

static bool to_number(str s, double *out)
{
    return str_to_double(str_trim(s), out) && *out > 0;
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

static halley_status add_product(table *t, const str *cells, halley_error *err)
{
    double mnk[3], ms;
    char name[HALLEY_NAME];
    snprintf(name, sizeof name, "gemm %.*s %.*s", STR_ARG(cells[0]), STR_ARG(cells[2]));
    bin *b = find_bin(t, name);
    if (!b)
        return error_nomem(err);
    b->rows++;
    const uint32_t sys = find_system(cells[0]);
    const bool low = str_starts(cells[2], STR("fp8"));
    if (sys == N_SYSTEMS || !systems[sys].npu ||
        (!low && !str_eq(cells[2], STR("bfloat16")) &&
         !str_eq(cells[2], STR("float16"))) ||
        !to_number(cells[3], &mnk[0]) || !to_number(cells[4], &mnk[1]) ||
        !to_number(cells[5], &mnk[2]) || !to_number(cells[6], &ms)) {
        b->unknown++;
        return HALLEY_OK;
    }
    TRY(load_system(t, sys, err));
    point p = {.measured = log(ms * 1e-3),
               .repeats = 1,
               .predicted = product_time(t, sys, low, mnk),
               .large = 2 * mnk[0] * mnk[1] * mnk[2] > 1e9};
    snprintf(p.id, sizeof p.id, "%gx%gx%g", mnk[0], mnk[1], mnk[2]);
    return add_point(b, &p, hash_bytes(mnk, sizeof mnk, 0), err);
}

static bool find_coll(cost_coll_kind *out, str name)
{
    static const struct {
        const char *name;
        cost_coll_kind kind;
    } names[] = {{"all_reduce", COST_ALL_REDUCE},         {"all_gather", COST_ALL_GATHER},
                 {"reduce_scatter", COST_REDUCE_SCATTER}, {"alltoall", COST_ALL_TO_ALL},
                 {"all_to_all", COST_ALL_TO_ALL},         {"broadcast", COST_BROADCAST}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (str_eq(name, str_from(names[i].name))) {
            *out = names[i].kind;
            return true;
        }
    }
    return false;
}

static halley_status add_collective(table *t, const str *cells, halley_error *err)
{
    double n, elements, ms;
    char name[HALLEY_NAME];
    snprintf(name, sizeof name, "collectives %.*s", STR_ARG(cells[0]));
    bin *b = find_bin(t, name);
    if (!b)
        return error_nomem(err);
    b->rows++;
    const uint32_t sys = find_system(cells[0]);
    cost_coll c = {0};
    if (sys == N_SYSTEMS || !find_coll(&c.kind, cells[2]) || !to_number(cells[4], &n) ||
        !to_number(cells[5], &elements) || !to_number(cells[6], &ms)) {
        b->unknown++;
        return HALLEY_OK;
    }
    TRY(load_system(t, sys, err));
    c.integer = str_starts(cells[3], STR("int"));
    c.bytes = elements * (c.integer ? 1 : str_eq(cells[3], STR("float")) ? 4 : 2);
    c.n = (uint32_t)n;
    const halley_fabric none = {.bandwidth_Bps = 1, .share = 1};
    point p = {.measured = log(ms * 1e-3),
               .repeats = 1,
               .predicted = cost_coll_time(&t->links[sys], &none, &c),
               .large = true};
    snprintf(p.id, sizeof p.id, "%.*s %.*s n=%g %g B", STR_ARG(cells[2]),
             STR_ARG(cells[3]), n, c.bytes);
    return add_point(b, &p, hash_bytes(p.id, strlen(p.id), 0), err);
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

static halley_status finish(halley_score_set **sets, size_t *n, const table *t,
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

static void table_fini(table *t)
{
    for (size_t i = 0; i < t->bins.n; i++) {
        array_fini(&t->bins.at[i].points);
        map64_fini(&t->bins.at[i].seen);
    }
    array_fini(&t->bins);
}

static halley_status read_lines(table *t, str rest, bool products, uint32_t n_columns,
                                halley_error *err)
{
    str line;
    for (uint32_t number = 2; str_next(&rest, '\n', &line); number++) {
        str cells[MAX_COLUMNS], cell;
        uint32_t n = 0;
        if (str_trim(line).n == 0)
            continue;
        while (n < MAX_COLUMNS && str_next(&line, ',', &cell))
            cells[n++] = str_trim(cell);
        if (n != n_columns) {
            error_set(err, HALLEY_EFORMAT, "%u cells where the first line has %u", n,
                      n_columns);
            error_at_line(err, number, 1);
            return HALLEY_EFORMAT;
        }
        TRY(products ? add_product(t, cells, err) : add_collective(t, cells, err));
    }
    return HALLEY_OK;
}

halley_status score_csv(halley_score_set **sets, size_t *n, const char *path,
                        halley_error *err)
{
    file_input in;
    TRY(file_input_open(&in, path, err));
    str rest = {(const char *)in.at, in.n}, head = {"", 0};
    str_next(&rest, '\n', &head);
    head = str_trim(head);
    const bool products = str_eq(head, STR("system,source,dtype,m,n,k,latency_ms"));
    const bool collectives = str_eq(
        head, STR("system,nccl,op,dtype,num_gpus,message_size_elements,latency_ms"));
    table *t = calloc(1, sizeof *t);
    halley_status status = t ? HALLEY_OK : error_nomem(err);
    if (t && !products && !collectives)
        status = error_set(err, HALLEY_EFORMAT,
                           "the first line names neither products "
                           "(system,source,dtype,m,n,k,latency_ms) nor collectives "
                           "(system,nccl,op,dtype,num_gpus,message_size_elements,"
                           "latency_ms)");
    if (status == HALLEY_OK)
        status = read_lines(t, rest, products, 7, err);
    if (status == HALLEY_OK)
        status = finish(sets, n, t, products, err);
    if (t)
        table_fini(t);
    free(t);
    file_input_close(&in);
    if (status != HALLEY_OK)
        error_at_file(err, path);
    return status;
}
