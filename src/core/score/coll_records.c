/*
 * Published collectives, one record each, with the hardware in free text. The
 * accelerator's name determines the link. The description of the network determines the
 * fabric and its cards. A record that states neither is assumed to use eight A100 per
 * node with 100 GB/s out of the node, which fits its plateau. Bus bandwidths are
 * converted to times. A timing loop in Python adds 20 us per call (measured against
 * nccl-tests on one B200 node). There are two sets: inside a node, and between nodes.
 */
#include "base/array.h"
#include "base/number/number.h"
#include "base/number/whole.h"
#include "coll/time.h"
#include "hw/link.h"
#include "score/csv_sets.h"
#include "score/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double loop_s = 20e-6;
static const double warm_bytes = 262144; /* smaller: dominated by connecting */

typedef struct names {
    const char *part, *preset;
} names;

static const names links[] = {
    {"GB300", "nvlink5-gb300"}, {"GB200", "nvlink5-gb200"},
    {"B300", "nvlink5-b300"},   {"B200", "nvlink5-b200"},
    {"H200", "nvlink4-h200"},   {"H800", "nvlink4-h800"},
    {"H100", "nvlink4-h100"},   {"H20", "nvlink4-h100"},
    {"A100", "nvlink3-a100"},   {"V100", "nvlink2-v100-mesh"},
    {"MI300", "xgmi-mi300"},    {"not stated", "nvlink3-a100"},
};
static const names fabrics[] = {
    {"EFA", "efa"},   {"HDR", "ib-hdr"},     {"NDR", "ib-ndr"},  {"XDR", "ib-xdr"},
    {"RoCE", "roce"}, {"100G", "v100-100g"}, {"400G", "ib-ndr"}, {"200G", "ib-hdr"},
};

static const char *find_part_name(const names *table, size_t n, str text)
{
    for (size_t i = 0; i < n; i++) {
        if (str_contains(text, str_from(table[i].part)))
            return table[i].preset;
    }
    return NULL;
}

static str text_of(const conf_node *map, const char *key)
{
    const conf_node *node = map && map->kind == CONF_MAP ? conf_find(map, key) : NULL;
    return node && node->kind == CONF_SCALAR ? node->text : STR("");
}

static double number_of(const conf_node *map, const char *key)
{
    double value;
    return number_read(text_of(map, key), &value) ? value : 0;
}

/* "8x400G": bytes per second of a node's cards; 0 if not in this form. */
static double cards_Bps(str text)
{
    for (size_t i = 1; i + 1 < text.n; i++) {
        double each;
        if (text.at[i] != 'x' || text.at[i - 1] < '0' || text.at[i - 1] > '9')
            continue;
        str number, rest = {text.at + i + 1, text.n - i - 1};
        if (!str_next(&rest, 'G', &number) || rest.at == NULL ||
            !number_read(number, &each))
            continue;
        return (text.at[i - 1] - '0') * each / 8 * 1e9;
    }
    return 0;
}

typedef struct record {
    halley_link up;
    halley_fabric out;
    coll_call call;
    double measured_s, extra_s;
    bool crosses;
} record;

static bool read_coll_record_kind(coll_call *c, str metric, str id)
{
    static const struct {
        const char *part;
        coll_kind kind;
    } kinds[] = {
        {"allreduce", COLL_ALL_REDUCE},         {"all-reduce", COLL_ALL_REDUCE},
        {"allgather", COLL_ALL_GATHER},         {"all-gather", COLL_ALL_GATHER},
        {"reducescatter", COLL_REDUCE_SCATTER}, {"reduce-scatter", COLL_REDUCE_SCATTER},
        {"alltoall", COLL_ALL_TO_ALL},          {"all-to-all", COLL_ALL_TO_ALL}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const str part = str_from(kinds[i].part);
        if (str_contains(metric, part) || str_contains(id, part)) {
            c->kind = kinds[i].kind;
            return true;
        }
    }
    return false;
}

/* The measured value in seconds; 0 if it is neither a time nor a bandwidth. */
static double read_coll_record_value(const conf_node *row, const coll_call *c)
{
    const double value = number_of(row, "value"), n = c->n;
    const str metric = text_of(row, "metric");
    if (value <= 0)
        return 0;
    if (str_ends(metric, STR("time")) || str_ends(metric, STR("latency")))
        return value * 1e-6;
    if (!str_ends(metric, STR("busbw")))
        return 0;
    const double both = c->kind == COLL_ALL_REDUCE ? 2 : 1;
    return both * (n - 1) / n * c->bytes / (value * 1e9);
}

static halley_status read_wires(record *r, const conf_node *hardware, const char *link,
                                halley_error *err)
{
    const str out = text_of(hardware, "scale_out");
    const char *fabric = find_part_name(fabrics, sizeof fabrics / sizeof *fabrics, out);
    TRY(cluster_link_load(&r->up, link, err));
    TRY(cluster_fabric_load(&r->out, fabric ? fabric : "ib-hdr", err));
    const double node = cards_Bps(out);
    if (node > 0)
        r->out.bandwidth_Bps = node / r->call.per_node;
    else if (!fabric)
        r->out.bandwidth_Bps = 12.5e9;
    return HALLEY_OK;
}

/* *why is NULL if the record is complete. */
static halley_status read_record(record *r, const char **why, const conf_node *row,
                                 halley_error *err)
{
    *r = (record){0};
    *why = NULL;
    const conf_node *hardware = conf_find(row, "hardware");
    const str id = text_of(row, "id"), source = text_of(row, "source");
    const char *link = find_part_name(links, sizeof links / sizeof *links,
                                      text_of(hardware, "accelerator"));
    const double n = number_of(row, "n_npus"), per_node = number_of(hardware, "per_node");
    r->call.bytes = number_of(row, "bytes");
    r->call.n = n > 0 && n < 1e6 ? whole_u32(n) : 0;
    const uint32_t domain = per_node > 0 ? whole_u32(per_node) : 8;
    r->crosses = r->call.n > domain;
    r->call.per_node = r->crosses ? domain : r->call.n;
    if (!link)
        *why = "unknown hardware";
    else if (!read_coll_record_kind(&r->call, text_of(row, "metric"), id))
        *why = "unknown collective";
    else if (r->call.n < 2 || r->call.bytes <= 0)
        *why = "no size or no number of ranks";
    else if (r->crosses && r->call.bytes < warm_bytes)
        *why = "below 256 KiB between nodes: the source times the first connection";
    if (*why)
        return HALLEY_OK;
    r->measured_s = read_coll_record_value(row, &r->call);
    if (r->measured_s <= 0)
        *why = "neither a time nor a bus bandwidth";
    if (str_contains(source, STR("bench.py")) || str_contains(id, STR("ar-bench")))
        r->extra_s = loop_s;
    return read_wires(r, hardware, link, err);
}

bool score_is_collectives(const conf_file *file)
{
    const conf_node *list = file->root;
    return list->kind == CONF_LIST && list->n > 0 && list->items[0]->kind == CONF_MAP &&
           conf_find(list->items[0], "metric") && conf_find(list->items[0], "hardware");
}

typedef struct pile {
    score_pair *pairs;
    char (*ids)[HALLEY_SCORE_TEXT];
    size_t n;
} pile;

static halley_status add_coll_record(halley_score_set sets[2], pile piles[2],
                                     const conf_node *row, size_t i, halley_error *err)
{
    record r;
    const char *why;
    if (row->kind != CONF_MAP)
        return error_set(err, HALLEY_EFORMAT, "record %zu is no map", i + 1);
    TRY(read_record(&r, &why, row, err));
    const int side = r.crosses;
    sets[side].rows++;
    if (why) {
        score_skip(&sets[side], why);
        return HALLEY_OK;
    }
    pile *p = &piles[side];
    snprintf(p->ids[p->n], HALLEY_SCORE_TEXT, "%.*s", STR_ARG(text_of(row, "id")));
    p->pairs[p->n] = (score_pair){p->ids[p->n], r.measured_s,
                                  coll_call_time(&r.up, &r.out, &r.call) + r.extra_s};
    p->n++;
    return HALLEY_OK;
}

static void name_set(halley_score_set *set, const char *where)
{
    *set = (halley_score_set){.metric = "latency", .cv_pct = -1};
    snprintf(set->set, sizeof set->set, "collectives %s", where);
}

halley_status score_collectives(halley_score_set **sets, size_t *n, const conf_file *file,
                                halley_error *err)
{
    const conf_node *list = file->root;
    halley_score_set *out = mem_array_zero(2, sizeof *out);
    pile piles[2] = {{0}};
    halley_status status = out ? HALLEY_OK : error_nomem(err);
    for (int i = 0; i < 2 && status == HALLEY_OK; i++) {
        piles[i].pairs = mem_array(list->n + 1, sizeof *piles[i].pairs);
        piles[i].ids = mem_array(list->n + 1, sizeof *piles[i].ids);
        if (!piles[i].pairs || !piles[i].ids)
            status = error_nomem(err);
    }
    if (status == HALLEY_OK) {
        name_set(&out[0], "inside a node");
        name_set(&out[1], "between nodes");
    }
    for (uint32_t i = 0; status == HALLEY_OK && i < list->n; i++)
        status = add_coll_record(out, piles, list->items[i], i, err);
    for (int i = 0; i < 2; i++) {
        if (status == HALLEY_OK)
            status = score_metrics(&out[i], piles[i].pairs, piles[i].n, err);
        free(piles[i].pairs);
        free(piles[i].ids);
    }
    if (status != HALLEY_OK) {
        free(out);
        return status;
    }
    *sets = out;
    *n = 2;
    return HALLEY_OK;
}
