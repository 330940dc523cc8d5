/*
 * report/topology.c - the drawing of a network.
 *
 * Networks with switches are drawn in rows, with NPUs at the bottom and one row per tier
 * above. A long row shows its first devices and a box that counts the rest. Cables to
 * devices that are not drawn are omitted, so that the picture shows the pattern. Networks
 * without switches are a circle (one dimension) or a grid (the first two dimensions).
 */
#include "report/topology.h"

#include "base/array.h"
#include "base/file/file.h"
#include "base/number/number.h"
#include "base/number/units.h"
#include "report/page.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 12, MOST_CIRCLE = 48, MOST_GRID = 12 };

/* A row of devices of one kind and tier. */
typedef struct picture_row {
    uint32_t first, n, shown, tier;
    const char *kind;
    char name[128]; /* name of the first device */
    double y;
} picture_row;

typedef struct picture {
    strbuf *to;
    const halley_topology *t;
    const halley_topology_report *r;
    double width, height, box_w, box_h;
    picture_row rows[MOST_ROWS];
    uint32_t n_rows, n_devices;
    double *x, *y; /* by device; NaN = not drawn */
} picture;

static double bound_value(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

/* True if two names have the same prefix before their number, such as leaf0 and leaf12.
 * Names of any other form count as equal. */
static bool have_same_prefix(const char *a, const char *b)
{
    const size_t n = strcspn(a, "0123456789"), m = strcspn(b, "0123456789");
    const bool counted = n > 0 && m > 0 && a[n + strspn(a + n, "0123456789")] == '\0' &&
                         b[m + strspn(b + m, "0123456789")] == '\0';
    return !counted || (n == m && strncmp(a, b, n) == 0);
}

/* Group consecutive devices of equal kind, tier and prefix into rows. */
static void find_device_rows(picture *p)
{
    for (uint32_t i = 0; i < p->n_devices; i++) {
        halley_topology_device d;
        halley_topology_get_device(&d, p->t, i);
        picture_row *last = p->n_rows > 0 ? &p->rows[p->n_rows - 1] : NULL;
        const bool same = last != NULL && strcmp(last->kind, d.kind) == 0 &&
                          last->tier == d.tier && have_same_prefix(last->name, d.name);
        if (!same && p->n_rows == MOST_ROWS)
            return;
        if (!same)
            p->rows[p->n_rows++] =
                (picture_row){.first = i, .kind = d.kind, .tier = d.tier};
        if (!same)
            snprintf(p->rows[p->n_rows - 1].name, sizeof last->name, "%s", d.name);
        p->rows[p->n_rows - 1].n++;
    }
}

static int compare_picture_rows(const void *a, const void *b)
{
    const picture_row *x = a, *y = b;
    if (x->tier != y->tier)
        return x->tier < y->tier ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

static void place_device_rows(picture *p)
{
    const double step = 92, left = p->width < 600 ? 8 : 76;
    find_device_rows(p);
    qsort(p->rows, p->n_rows, sizeof *p->rows, compare_picture_rows);
    p->height = p->n_rows * step + 14;
    p->box_w = p->width < 600 ? 40 : 58;
    p->box_h = 26;
    for (uint32_t i = 0; i < p->n_rows; i++) {
        picture_row *row = &p->rows[i];
        const double room = p->width - left - 8;
        const uint32_t fit = (uint32_t)(room / (p->box_w + 8));
        row->y = p->height - (i + 0.5) * step;
        row->shown = row->n <= fit ? row->n : fit - 1;
        const uint32_t slots = row->shown + (row->shown < row->n);
        const double gap = room / slots;
        for (uint32_t k = 0; k < row->shown; k++) {
            p->x[row->first + k] = left + (k + 0.5) * gap;
            p->y[row->first + k] = row->y;
        }
    }
}

static void place_circle(picture *p)
{
    const uint32_t n = p->n_devices < MOST_CIRCLE ? p->n_devices : MOST_CIRCLE;
    const double radius = bound_value(p->width / 2 - 40, 60, 260);
    p->height = 2 * radius + 60;
    p->box_w = n > 24 ? 30 : 44;
    p->box_h = n > 24 ? 16 : 22;
    for (uint32_t i = 0; i < n; i++) {
        const double angle = 2 * M_PI * i / n - M_PI / 2;
        p->x[i] = p->width / 2 + radius * cos(angle);
        p->y[i] = p->height / 2 + radius * sin(angle);
    }
}

static void place_grid(picture *p)
{
    const uint32_t nx = p->r->dims[0] < MOST_GRID ? p->r->dims[0] : MOST_GRID;
    const uint32_t ny = p->r->dims[1] < MOST_GRID ? p->r->dims[1] : MOST_GRID;
    const double step = bound_value((p->width - 40) / nx, 26, 76);
    p->box_w = bound_value(step * 0.62, 16, 46);
    p->box_h = bound_value(step * 0.4, 12, 22);
    p->height = step * ny + 40;
    const double left = (p->width - step * nx) / 2;
    for (uint32_t k = 0; k < ny; k++)
        for (uint32_t i = 0; i < nx; i++) {
            const uint32_t device = k * p->r->dims[0] + i;
            p->x[device] = left + (i + 0.5) * step;
            p->y[device] = 20 + (k + 0.5) * step;
        }
}

static void draw_line(picture *p, const halley_topology_link *l, double most_Bps)
{
    const double x1 = p->x[l->from], y1 = p->y[l->from], x2 = p->x[l->to],
                 y2 = p->y[l->to];
    const double share = l->bw_Bps > 0 && most_Bps > 0 ? l->bw_Bps / most_Bps : 0.2;
    const char *class = l->bw_Bps == 0 ? "failed" : "cable";
    const bool same_row = y1 == y2 || x1 == x2;
    const double far = fabs(x1 - x2) + fabs(y1 - y2);
    strbuf_printf(p->to, "<path class=\"%s\" stroke-width=\"%s\" d=\"M%s %s ", class,
                  number_fixed(0.6 + 1.8 * sqrt(share), 2).at, number_fixed(x1, 1).at,
                  number_fixed(y1, 1).at);
    if (same_row && far > 2.2 * p->box_w + 20) { /* around the devices between them */
        const double lift = bound_value(far * 0.18, 14, 40);
        strbuf_printf(p->to, "Q%s %s %s %s\"/>\n",
                      number_fixed((x1 + x2) / 2 + (x1 == x2 ? lift : 0), 1).at,
                      number_fixed((y1 + y2) / 2 + (y1 == y2 ? lift : 0), 1).at,
                      number_fixed(x2, 1).at, number_fixed(y2, 1).at);
    } else {
        strbuf_printf(p->to, "L%s %s\"/>\n", number_fixed(x2, 1).at,
                      number_fixed(y2, 1).at);
    }
}

static void draw_cables(picture *p)
{
    double most = 0;
    const uint32_t n = halley_topology_count_links(p->t);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < n; i++) {
            halley_topology_link l;
            halley_topology_get_link(&l, p->t, i);
            if (pass == 0)
                most = fmax(most, l.bw_Bps);
            else if ((l.is_one_way || i % 2 == 0) && !isnan(p->x[l.from]) &&
                     !isnan(p->x[l.to]))
                draw_line(p, &l, most);
        }
}

static void draw_device_box(picture *p, double x, double y, const char *class, str name,
                            str label)
{
    strbuf_printf(p->to, "<g class=\"%s\"><title>", class);
    strbuf_xml(p->to, name);
    strbuf_printf(p->to,
                  "</title><rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"4\"/>"
                  "<text x=\"%s\" y=\"%s\">",
                  number_fixed(x - p->box_w / 2, 1).at,
                  number_fixed(y - p->box_h / 2, 1).at, number_fixed(p->box_w, 1).at,
                  number_fixed(p->box_h, 1).at, number_fixed(x, 1).at,
                  number_fixed(y + 3.5, 1).at);
    strbuf_xml(p->to, label);
    strbuf_add(p->to, STR("</text></g>\n"));
}

/* Write the end of a name that fits into a box: "leaf12", "…:07:00.0". */
static void shorten_name(strbuf *to, const picture *p, const char *name)
{
    const size_t fit = (size_t)(p->box_w / 6.2), n = strlen(name);
    if (n <= fit || fit < 3) {
        strbuf_add(to, n <= fit ? str_from(name) : STR(""));
        return;
    }
    size_t start = n - fit + 1;
    while (start < n && ((unsigned char)name[start] & 0xC0) == 0x80)
        start++;
    strbuf_printf(to, "\u2026%s", name + start);
}

static void draw_devices(picture *p)
{
    for (uint32_t i = 0; i < p->n_devices; i++) {
        halley_topology_device d;
        strbuf label = {0};
        if (isnan(p->x[i]))
            continue;
        halley_topology_get_device(&d, p->t, i);
        shorten_name(&label, p, d.name);
        draw_device_box(p, p->x[i], p->y[i], d.kind, str_from(d.name),
                        strbuf_str(&label));
        strbuf_fini(&label);
    }
}

/* Draw the boxes that count what rows do not show, and the names of rows. */
static void draw_row_ends(picture *p)
{
    for (uint32_t i = 0; i < p->n_rows; i++) {
        const picture_row *row = &p->rows[i];
        if (p->width >= 600)
            strbuf_printf(p->to, "<text class=\"row\" x=\"2\" y=\"%s\">%u %s</text>\n",
                          number_fixed(row->y + 4, 1).at, row->n, row->kind);
        else
            strbuf_printf(p->to, "<text class=\"row\" x=\"2\" y=\"%s\">%u %s</text>\n",
                          number_fixed(row->y - p->box_h / 2 - 5, 1).at, row->n,
                          row->kind);
        if (row->shown == row->n || row->shown == 0)
            continue;
        const uint32_t last = row->first + row->shown - 1;
        const double gap = row->shown > 1 ? p->x[last] - p->x[last - 1] : p->box_w + 8;
        char text[32];
        snprintf(text, sizeof text, "+%u", row->n - row->shown);
        draw_device_box(p, p->x[last] + gap, row->y, "rest", STR("more of them"),
                        str_from(text));
    }
}

static const char style[] =
    "<style>.net{font:11px sans-serif}.net .cable{stroke:#8a97a8;fill:none;"
    "stroke-opacity:.55}.net .failed{stroke:#c0392b;fill:none;stroke-dasharray:4 3}"
    ".net rect{fill:#fff;stroke:#34495e}.net text{text-anchor:middle;fill:#1c2833}"
    ".net .row{text-anchor:start;fill:#566573}.net .npu rect{fill:#d6eaf8}"
    ".net .switch rect{fill:#d5f5e3}.net .nic rect{fill:#fdebd0}.net .cpu rect{fill:#eee}"
    ".net .rest rect{stroke-dasharray:3 2;fill:#fbfcfc}</style>";

/* Draw one <svg> element of `width` px. Long rows show their first devices and a count.
 */
static void draw_topology(strbuf *to, const halley_topology *topology,
                          const halley_topology_report *report, double width)
{
    picture p = {.to = to, .t = topology, .r = report, .width = width};
    p.n_devices = halley_topology_count_devices(topology);
    p.x = mem_array(p.n_devices, sizeof *p.x);
    p.y = mem_array(p.n_devices, sizeof *p.y);
    if (p.x == NULL || p.y == NULL) {
        to->failed = true;
    } else {
        for (uint32_t i = 0; i < p.n_devices; i++)
            p.x[i] = p.y[i] = NAN;
        const bool is_direct = report->devices[0] == p.n_devices;
        if (is_direct && report->n_dims >= 2)
            place_grid(&p);
        else if (is_direct)
            place_circle(&p);
        else
            place_device_rows(&p);
        strbuf_printf(
            to,
            "<svg class=\"net\" xmlns=\"http://www.w3.org/2000/svg\" "
            "viewBox=\"0 0 %s %s\" width=\"%s\" height=\"%s\" role=\"img\">%s\n",
            number_fixed(width, 0).at, number_fixed(p.height, 0).at,
            number_fixed(width, 0).at, number_fixed(p.height, 0).at, style);
        draw_cables(&p);
        draw_devices(&p);
        draw_row_ends(&p);
        strbuf_add(to, STR("</svg>\n"));
    }
    free(p.x);
    free(p.y);
}

static void add_topology_fact(strbuf *to, const char *name, const char *value)
{
    strbuf_printf(to, "<tr><th>%s</th><td>%s</td></tr>\n", name, value);
}

static void add_fact_quantity(strbuf *to, const char *name, double value, units_kind unit)
{
    char text[64];
    if (value >= 0)
        add_topology_fact(to, name, units_format(text, sizeof text, value, unit));
}

static void add_topology_facts(strbuf *to, const halley_topology_report *r)
{
    char text[64];
    double usd = 0, watts = 0;
    strbuf_add(to, STR("<table>\n"));
    for (int i = 0; i < HALLEY_TOPOLOGY_KINDS; i++) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)r->devices[i]);
        if (r->devices[i] > 0)
            add_topology_fact(to, r->kind_names[i], text);
    }
    snprintf(text, sizeof text, "%u", r->links);
    add_topology_fact(to, "cables", text);
    snprintf(text, sizeof text, "%u links", r->diameter_hops);
    add_topology_fact(to, "diameter", r->connected ? text : "not connected");
    add_fact_quantity(to, "half cut", r->half_cut_Bps, UNITS_BANDWIDTH);
    add_fact_quantity(to, "bisection",
                      r->min_bisection_Bps >= 0 ? r->min_bisection_Bps : r->bisection_Bps,
                      UNITS_BANDWIDTH);
    add_fact_quantity(to, "all-reduce of 1 GB", r->all_reduce_s, UNITS_TIME);
    add_fact_quantity(to, "all-to-all of 1 GB", r->all_to_all_s, UNITS_TIME);
    for (size_t i = 0; i < r->n_tiers; i++) {
        usd += r->tiers[i].devices_usd + r->tiers[i].cables_usd;
        watts += r->tiers[i].devices_w + r->tiers[i].cables_w;
    }
    add_fact_quantity(to, "cost", usd > 0 ? usd : -1, UNITS_MONEY);
    add_fact_quantity(to, "power", watts > 0 ? watts : -1, UNITS_POWER);
    strbuf_add(to, STR("</table>\n"));
}

static void add_page(strbuf *to, const halley_topology *t,
                     const halley_topology_report *r, const char *title)
{
    strbuf_add(to,
               STR("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"));
    report_policy_add(to, NULL);
    strbuf_add(to, STR("<meta name=\"viewport\" content=\"width=device-width, "
                       "initial-scale=1\"><title>"));
    strbuf_xml(to, str_from(title));
    strbuf_add(to, STR("</title><style>body{font:15px/1.4 sans-serif;margin:16px auto;"
                       "max-width:1120px;padding:0 10px;color:#1c2833}h1{font-size:20px;"
                       "overflow-wrap:anywhere}th{text-align:left;padding-right:18px;"
                       "font-weight:500;color:#566573}svg{max-width:100%;height:auto}"
                       ".narrow{display:none}@media(max-width:640px){.wide{display:none}"
                       ".narrow{display:block}}</style></head><body><h1>"));
    strbuf_xml(to, str_from(title));
    strbuf_printf(to, "</h1>\n<p>%s</p>\n<div class=\"wide\">\n", r->generator);
    draw_topology(to, t, r, 1100);
    strbuf_add(to, STR("</div>\n<div class=\"narrow\">\n"));
    draw_topology(to, t, r, 390);
    strbuf_add(to, STR("</div>\n"));
    add_topology_facts(to, r);
    if (r->note != NULL) {
        strbuf_add(to, STR("<p>Note: "));
        strbuf_xml(to, str_from(r->note));
        strbuf_add(to, STR("</p>\n"));
    }
    strbuf_add(to, STR("</body></html>\n"));
}

halley_status report_topology_picture(const halley_topology *topology,
                                      const halley_topology_report *report,
                                      const char *title, const char *path,
                                      halley_error *err)
{
    strbuf text = {0};
    if (str_ends(str_from(path), STR(".svg")))
        draw_topology(&text, topology, report, 1100);
    else if (str_ends(str_from(path), STR(".html")))
        add_page(&text, topology, report, title);
    else
        return error_set(err, HALLEY_EINVAL,
                         "a picture is a file named .svg or .html, not \"%s\"", path);
    return file_save(path, &text, err);
}
