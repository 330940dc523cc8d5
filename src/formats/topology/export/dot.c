/*
 * topology/export/dot.c - Graphviz. Parallel cables are one line with a count. Above
 * 2,000 devices, endpoints with the same neighbours become one box with a count.
 */
#include "base/hash.h"
#include "base/number/number.h"
#include "topology/export/export.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 2000 };

static const char *const shapes[HW_DEVICE_N_KINDS] = {
    "box", "cds", "ellipse", "hexagon", "house", "cylinder", "plaintext"};

typedef struct dot_line {
    uint32_t from, to, n;
    double bw_Bps;
    bool one_way;
} dot_line;

typedef struct dot_drawing {
    const hw_graph *g;
    uint32_t *box;   /* by device: the first device of its box */
    uint32_t *times; /* by device: devices in its box */
    ARRAY(dot_line) lines;
    map64 by_ends;
} dot_drawing;

static void add_dot_quoted(strbuf *to, const hw_graph *g, uint32_t device)
{
    char name[200];
    strbuf_add_char(to, '"');
    for (const char *at = hw_graph_name(g, device, name, sizeof name); *at != '\0';
         at++) {
        if (*at == '"' || *at == '\\')
            strbuf_add_char(to, '\\');
        strbuf_add_char(to, *at);
    }
    strbuf_add_char(to, '"');
}

/* A hash of the neighbours of an endpoint, independent of their order. */
static uint64_t hash_neighbours(const hw_graph *g, uint32_t device)
{
    uint64_t sum = g->dev_kind[device];
    for (uint32_t i = g->dev_first[device]; i < g->dev_first[device + 1]; i++)
        sum += hash_u64(g->link_to[g->adj_link[i]] + 1ULL);
    return hash_u64(sum);
}

static bool fill_boxes(dot_drawing *d)
{
    const hw_graph *g = d->g;
    map64 seen = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < g->n_devices; i++) {
        uint32_t value = i;
        bool fresh = true;
        if (g->n_devices > MOST_DEVICES && g->dev_kind[i] != HW_DEVICE_SWITCH)
            ok = map64_put(&seen, hash_neighbours(g, i), &value, &fresh);
        d->box[i] = value;
        d->times[value]++;
    }
    map64_fini(&seen);
    return ok;
}

static bool collect_lines(dot_drawing *d)
{
    const hw_graph *g = d->g;
    for (uint32_t i = 0; i < g->n_links; i = hw_next_cable(g, i)) {
        const uint32_t a = d->box[g->link_from[i]], b = d->box[g->link_to[i]];
        const bool one_way = i >= 2 * g->n_cables;
        const uint32_t low = a < b || one_way ? a : b, high = a < b || one_way ? b : a;
        uint32_t at = (uint32_t)d->lines.n;
        bool fresh;
        if (g->link_from[i] != a && g->link_to[i] != b)
            continue;
        if ((d->times[a] > 1 && g->link_from[i] != a) ||
            (d->times[b] > 1 && g->link_to[i] != b))
            continue; /* only the links of a box's first device are drawn */
        const uint64_t key = hash_u64((uint64_t)low << 32 | high) ^
                             hash_bytes(&g->link_Bps[i], sizeof g->link_Bps[i], one_way);
        if (!map64_put(&d->by_ends, key, &at, &fresh))
            return false;
        if (!fresh)
            d->lines.at[at].n++;
        else if (!array_push(&d->lines, (dot_line){a, b, 1, g->link_Bps[i], one_way}))
            return false;
    }
    return true;
}

static void write_dot_boxes(strbuf *to, const dot_drawing *d)
{
    const hw_graph *g = d->g;
    for (uint32_t k = 0; k < g->n_groups; k++) {
        const hw_device_group *group = &g->groups[k];
        strbuf_add(to, STR("  { rank=same;\n"));
        for (uint32_t i = group->first; i < group->first + group->n; i++) {
            if (d->box[i] != i)
                continue;
            strbuf_add(to, STR("    "));
            add_dot_quoted(to, g, i);
            strbuf_printf(to, " [shape=%s", shapes[g->dev_kind[i]]);
            if (d->times[i] > 1) {
                strbuf_add(to, STR(", label="));
                add_dot_quoted(to, g, i);
                to->n--;
                strbuf_printf(to, " ... x%u\"", d->times[i]);
            }
            strbuf_add(to, STR("];\n"));
        }
        strbuf_add(to, STR("  }\n"));
    }
}

static void write_dot_lines(strbuf *to, const dot_drawing *d, bool directed)
{
    for (size_t i = 0; i < d->lines.n; i++) {
        const dot_line *line = &d->lines.at[i];
        strbuf_add(to, STR("  "));
        add_dot_quoted(to, d->g, line->from);
        strbuf_add(to, directed ? STR(" -> ") : STR(" -- "));
        add_dot_quoted(to, d->g, line->to);
        strbuf_add(to, STR(" [label=\""));
        if (line->bw_Bps > 0)
            strbuf_printf(to, "%sG", number_digits(line->bw_Bps * 8e-9, 4).at);
        else
            strbuf_add(to, line->bw_Bps == 0 ? STR("failed") : STR("?"));
        if (line->n > 1)
            strbuf_printf(to, " x%u", line->n);
        strbuf_printf(to, "\"%s%s];\n", directed && !line->one_way ? ", dir=none" : "",
                      line->bw_Bps == 0 ? ", color=red, style=dashed" : "");
    }
}

static halley_status write_dot(strbuf *to, const void *from, const void *options,
                               halley_error *err)
{
    const hw_graph *const g = from;
    (void)options;
    const bool directed = g->n_links > 2 * g->n_cables;
    dot_drawing d = {.g = g,
                     .box = mem_array(g->n_devices, sizeof *d.box),
                     .times = mem_array_zero(g->n_devices, sizeof *d.times)};
    const bool ok =
        d.box != NULL && d.times != NULL && fill_boxes(&d) && collect_lines(&d);
    if (ok) {
        strbuf_printf(to, "%s G {\n  rankdir=BT;\n", directed ? "digraph" : "graph");
        write_dot_boxes(to, &d);
        write_dot_lines(to, &d, directed);
        strbuf_add(to, STR("}\n"));
    }
    free(d.box);
    free(d.times);
    array_fini(&d.lines);
    map64_fini(&d.by_ends);
    return ok ? HALLEY_OK : error_nomem(err);
}

const format_row topology_export_dot = {
    .name = "dot", .doc = "drawing for Graphviz", .write = write_dot};
