/*
 * hw/measured.c - collectives as measured on a machine, the key `measured` of a cluster
 * file.
 *
 * A row describes one collective in groups of one size. Its lines are in ascending order
 * of size, from 0 on. They describe what a program's protocols look like from outside:
 * from a size on, time = latency + size / bandwidth. Here size is the larger buffer of
 * one rank. If the size of a group was not measured, the row of the nearest larger group
 * is used, else that of the largest. It is scaled by the number of steps of a ring.
 *
 * The table replaces the closed forms, as an extension of the cluster does
 * (halley/extend.h), in estimates and in bundles of the flow model.
 */
#include "hw/measured.h"

#include "base/number/number.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* By halley_collective_kind; ends with NULL. */
static const char *const measured_kinds[] = {
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast",
    "send",       "reduce",     "gather",         "scatter",    NULL};

static double time_of(const hw_measured_row *row, double bytes)
{
    uint32_t i = 0;
    assert(row->n_lines > 0);
    while (i + 1 < row->n_lines && row->lines[i + 1].from_bytes <= bytes)
        i++;
    return row->lines[i].latency_s + bytes / row->lines[i].bw_Bps;
}

/* Prefer rows that are also inside one node (or also not), then the nearest size. */
static uint64_t measure_distance(const hw_measured_row *row, uint32_t n,
                                 uint32_t per_node)
{
    const uint64_t apart =
        row->n_ranks >= n ? row->n_ranks - n : (uint64_t)(n - row->n_ranks) << 20;
    const bool inside = per_node >= n, row_inside = row->per_node >= row->n_ranks;
    return apart + (inside != row_inside ? UINT64_C(1) << 60 : 0);
}

static double find_measured_time(void *context, const halley_collective_call *call,
                                 double standard_s)
{
    const hw_measured *m = context;
    const hw_measured_row *best = NULL;
    for (uint32_t i = 0; i < m->n; i++) {
        const hw_measured_row *row = &m->rows[i];
        if (row->kind == call->kind &&
            (best == NULL || measure_distance(row, call->n_ranks, call->per_node) <
                                 measure_distance(best, call->n_ranks, call->per_node)))
            best = row;
    }
    if (best == NULL)
        return standard_s;
    return time_of(best, call->bytes) * (call->n_ranks - 1) / (best->n_ranks - 1);
}

static halley_status read_measured_line(hw_measured_line *out, const hw_reader *r,
                                        const conf_node *node)
{
    if (node->kind != CONF_LIST || node->n != 3)
        return conf_error(r->file, node, r->err, HALLEY_EINVAL,
                          "a line of measured is [size, latency, bandwidth], for example "
                          "[64 KiB, 9 us, 3 GB/s]");
    TRY(conf_to_quantity(&out->from_bytes, r->file, node->items[0], UNITS_BYTES, "size",
                         r->err));
    TRY(conf_to_quantity(&out->latency_s, r->file, node->items[1], UNITS_TIME, "latency",
                         r->err));
    TRY(conf_to_quantity(&out->bw_Bps, r->file, node->items[2], UNITS_BANDWIDTH,
                         "bandwidth", r->err));
    if (!(out->from_bytes >= 0) || !isfinite(out->latency_s) || !(out->bw_Bps > 0))
        return conf_error(r->file, node, r->err, HALLEY_EINVAL,
                          "a line of measured needs a size and a positive bandwidth");
    return HALLEY_OK;
}

/* A line must not give a negative time anywhere: it may cross 0 only before its first
 * size. */
static halley_status check_line_order(const hw_reader *r, const conf_node *list,
                                      const hw_measured_row *row, uint32_t i)
{
    const hw_measured_line *line = &row->lines[i];
    if (i == 0 ? line->from_bytes != 0
               : !(line->from_bytes > row->lines[i - 1].from_bytes))
        return conf_error(r->file, list->items[i], r->err, HALLEY_EINVAL,
                          "lines of measured begin at 0 B and ascend");
    if (!(line->latency_s + line->from_bytes / line->bw_Bps >= 0))
        return conf_error(r->file, list->items[i], r->err, HALLEY_EINVAL,
                          "this line of measured gives a negative time");
    return HALLEY_OK;
}

typedef struct row_text {
    uint32_t kind, ranks, per_node;
    const conf_node *lines;
} row_text;

static const conf_field row_fields[] = {
    {.key = "collective",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(row_text, kind),
     .required = true,
     .names = measured_kinds,
     .doc = "the collective",
     .example = "all-reduce"},
    {.key = "ranks",
     .type = CONF_TYPE_U32,
     .offset = offsetof(row_text, ranks),
     .required = true,
     .min = 2,
     .max = CLUSTER_MAX_NPUS,
     .doc = "ranks of the group",
     .example = "2"},
    {.key = "per-node",
     .type = CONF_TYPE_U32,
     .offset = offsetof(row_text, per_node),
     .max = CLUSTER_MAX_NPUS,
     .doc = "ranks of the group in one node",
     .by_default = "all",
     .example = "8"},
    {.key = "lines",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(row_text, lines),
     .required = true,
     .doc = "[smallest size, latency, bandwidth], in order of size, from 0 B on",
     .example = "[[0 B, 2 us, 1 GB/s], [64 KiB, 9 us, 3 GB/s]]"},
};
const hw_part hw_part_measured = {"measured", "measured[]", HW_FIELDS(row_fields)};

static halley_status read_measured_row(hw_measured_row *out, const hw_reader *r,
                                       const conf_node *map)
{
    row_text t = {0};
    TRY(conf_read(&t, r->file, map, HW_FIELDS(row_fields), true, NULL, r->err));
    if (t.lines->kind != CONF_LIST || t.lines->n == 0)
        return conf_error(r->file, t.lines, r->err, HALLEY_EINVAL,
                          "lines must be a list of [size, latency, bandwidth]");
    hw_measured_line *lines = arena_array(&r->c->memory, t.lines->n, sizeof *lines);
    if (lines == NULL)
        return error_nomem(r->err);
    *out = (hw_measured_row){.kind = (halley_collective_kind)t.kind,
                             .n_ranks = t.ranks,
                             .per_node = t.per_node == 0 ? t.ranks : t.per_node,
                             .n_lines = t.lines->n,
                             .lines = lines};
    for (uint32_t i = 0; i < t.lines->n; i++) {
        TRY(read_measured_line(&lines[i], r, t.lines->items[i]));
        TRY(check_line_order(r, t.lines, out, i));
    }
    return HALLEY_OK;
}

halley_status hw_read_measured(const hw_reader *r, const conf_node *list)
{
    if (list == NULL)
        return HALLEY_OK;
    if (list->kind != CONF_LIST || list->n == 0)
        return conf_error(r->file, list, r->err, HALLEY_EINVAL,
                          "measured must be a list of {collective, ranks, lines}");
    hw_measured *m = arena_array(&r->c->memory, 1, sizeof *m);
    hw_measured_row *rows = arena_array(&r->c->memory, list->n, sizeof *rows);
    if (m == NULL || rows == NULL)
        return error_nomem(r->err);
    *m = (hw_measured){.n = list->n, .rows = rows};
    for (uint32_t i = 0; i < list->n; i++)
        TRY(read_measured_row(&rows[i], r, list->items[i]));
    m->extensions = (halley_extensions){.collective = find_measured_time, .context = m};
    r->c->measured = m;
    r->c->nodes.up.extensions = &m->extensions;
    return HALLEY_OK;
}

void hw_measured_print(strbuf *to, const hw_measured *m)
{
    if (m == NULL)
        return;
    strbuf_add(to, STR("measured:\n"));
    for (uint32_t i = 0; i < m->n; i++) {
        const hw_measured_row *row = &m->rows[i];
        strbuf_printf(to, "  - {collective: %s, ranks: %u, per-node: %u, lines: [",
                      measured_kinds[row->kind], row->n_ranks, row->per_node);
        for (uint32_t k = 0; k < row->n_lines; k++)
            strbuf_printf(to, "%s[%s B, %s s, %s B/s]", k == 0 ? "" : ", ",
                          number_shortest(row->lines[k].from_bytes).at,
                          number_shortest(row->lines[k].latency_s).at,
                          number_shortest(row->lines[k].bw_Bps).at);
        strbuf_add(to, STR("]}\n"));
    }
}
