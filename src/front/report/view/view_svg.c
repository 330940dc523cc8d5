/*
 * The picture as SVG. Data dependencies are solid, control dependencies dashed. Shapes
 * and words distinguish the kinds of node without colour. An edge to the next row is a
 * curve. An edge over a few rows runs down next to the boxes. Longer edges, and edges to
 * another column, are replaced by ids at both ends, so that the page has no long lines.
 */
#include "base/number/number.h"
#include "base/number/units.h"
#include "report/view/view.h"
#include "report/view/view_files.h"

#include <math.h>
#include <string.h>

enum {
    MARGIN = 28,
    FAR = 5,           /* most rows that a drawn edge may cross */
    NAME_PIXELS = 160, /* width of text that fits into a box */
    WHAT_PIXELS = 212, /* the same in a smaller font */
    SHOWN_IDS = 2      /* ids at the end of an edge that is not drawn */
};

/* How an edge is drawn. */
typedef enum edge_way { WAY_CURVE, WAY_BESIDE, WAY_NAMED } edge_way;

static edge_way way_of(const view_graph *g, const view_edge *e)
{
    const view_box *a = &g->boxes.at[e->from], *b = &g->boxes.at[e->to];
    if (a->column != b->column || b->row <= a->row || b->row - a->row > FAR)
        return WAY_NAMED;
    return b->row - a->row == 1 ? WAY_CURVE : WAY_BESIDE;
}

static const char *edge_class(const view_graph *g, const view_edge *e)
{
    if (view_goes_up(g, e))
        return "back";
    return e->kinds & VIEW_DATA ? "data" : e->kinds & VIEW_CTRL ? "ctrl" : "via";
}

/* Write a point of the drawing, rounded to a tenth of a pixel. */
static void add_xy(strbuf *to, char command, double x, double y)
{
    strbuf_printf(to, "%c%s,%s", command, number_digits(round(x * 10) / 10, 4).at,
                  number_digits(round(y * 10) / 10, 4).at);
}

static void draw_point(strbuf *to, char command, double x, double y)
{
    if (fabs(x) < 1000 && fabs(y) < 1000)
        add_xy(to, command, x, y);
    else
        strbuf_printf(to, "%c%s,%s", command, number_fixed(x, 0).at,
                      number_fixed(y, 0).at);
}

/* Down one row. */
static void add_curve(strbuf *to, double x1, double y1, double x2, double y2)
{
    const double half = (y2 - y1) / 2;
    draw_point(to, 'M', x1, y1);
    draw_point(to, 'C', x1, y1 + half);
    draw_point(to, ' ', x2, y2 - half);
    draw_point(to, ' ', x2, y2);
}

/* Draw down next to the box where it starts, then across to the other in the gap above
 * it. */
static void add_beside(strbuf *to, double x1, double y1, double x2, double y2)
{
    const double side = x2 < x1 ? -1 : 1;
    const double lane = x1 + side * (VIEW_BOX_WIDTH / 2.0 + 9);
    const double start = x1 + side * VIEW_BOX_WIDTH * 0.36;
    const double end =
        x2 + (fabs(x2 - lane) < VIEW_BOX_WIDTH ? side * VIEW_BOX_WIDTH * 0.3 : 0);
    const double gap = VIEW_ROW - VIEW_BOX_HEIGHT;
    draw_point(to, 'M', start, y1);
    draw_point(to, 'C', start, y1 + gap * 0.5);
    draw_point(to, ' ', lane, y1 + gap * 0.3);
    draw_point(to, ' ', lane, y1 + gap);
    draw_point(to, 'L', lane, y2 - gap);
    draw_point(to, 'C', lane, y2 - gap * 0.3);
    draw_point(to, ' ', end, y2 - gap * 0.5);
    draw_point(to, ' ', end, y2);
}

static void draw_edge(strbuf *to, const view_graph *g, const view_edge *e)
{
    const edge_way way = way_of(g, e);
    if (way == WAY_NAMED)
        return;
    const view_box *a = &g->boxes.at[e->from], *b = &g->boxes.at[e->to];
    const double y1 = a->y + VIEW_BOX_HEIGHT / 2.0, y2 = b->y - VIEW_BOX_HEIGHT / 2.0;
    /* Both kinds between the same boxes are drawn as two lines. */
    const bool both = (e->kinds & VIEW_DATA) && (e->kinds & VIEW_CTRL);
    for (int i = 0; i < (both ? 2 : 1); i++) {
        const char *kind = i ? "ctrl" : edge_class(g, e);
        const double shift = both ? (i ? 5 : -5) : 0;
        strbuf_printf(to, "<path class=\"edge %s\" marker-end=\"url(#%s)\" d=\"", kind,
                      strcmp(kind, "data") == 0 ? "tip" : "tee");
        if (way == WAY_CURVE)
            add_curve(to, a->x + shift, y1, b->x + shift, y2);
        else
            add_beside(to, a->x + shift, y1, b->x + shift, y2);
        strbuf_add(to, STR("\"/>\n"));
    }
}

/* The boxes that a box is connected to by edges that are not drawn. */
typedef struct far_ends {
    uint32_t shown[SHOWN_IDS]; /* boxes */
    uint32_t n;
    bool data, back;
} far_ends;

static void note_far(far_ends *f, uint32_t box, const view_edge *e, bool back)
{
    if (f->n < SHOWN_IDS)
        f->shown[f->n] = box;
    f->n++;
    f->data |= (e->kinds & VIEW_DATA) != 0;
    f->back |= back;
}

static void add_far(strbuf *to, const view_graph *g, const view_box *box,
                    const far_ends *f, bool out)
{
    if (f->n == 0)
        return;
    const double x =
        box->x + (out ? VIEW_BOX_WIDTH / 2.0 - 3 : -VIEW_BOX_WIDTH / 2.0 + 3);
    const double y =
        box->y + (out ? VIEW_BOX_HEIGHT / 2.0 + 11 : -VIEW_BOX_HEIGHT / 2.0 - 4);
    strbuf_printf(to, "<text class=\"stub %s\" x=\"%s\" y=\"%s\"%s>",
                  f->back   ? "back"
                  : f->data ? "data"
                            : "ctrl",
                  number_fixed(x, 0).at, number_fixed(y, 0).at,
                  out ? " text-anchor=\"end\"" : "");
    if (out)
        strbuf_add(to, STR("\xe2\x86\x92 "));
    const uint32_t n = f->n < SHOWN_IDS ? f->n : SHOWN_IDS;
    for (uint32_t i = 0; i < n; i++)
        strbuf_printf(
            to, "%s%llu", i ? ", " : "",
            (unsigned long long)halley_node_id(g->trace, g->boxes.at[f->shown[i]].node));
    if (f->n > n)
        strbuf_printf(to, " +%u", f->n - n);
    if (!out)
        strbuf_add(to, STR(" \xe2\x86\x92"));
    strbuf_add(to, STR("</text>\n"));
}

static bool add_far_ends(strbuf *to, const view_graph *g)
{
    const size_t n = g->boxes.n;
    far_ends *in = mem_array_zero(n, sizeof *in), *out = mem_array_zero(n, sizeof *out);
    const bool ok = in && out;
    for (size_t k = 0; ok && k < g->edges.n; k++) {
        const view_edge *e = &g->edges.at[k];
        if (way_of(g, e) != WAY_NAMED)
            continue;
        const bool back = view_goes_up(g, e);
        note_far(&out[e->from], e->to, e, back);
        note_far(&in[e->to], e->from, e, back);
    }
    for (size_t i = 0; ok && i < n; i++) {
        add_far(to, g, &g->boxes.at[i], &in[i], false);
        add_far(to, g, &g->boxes.at[i], &out[i], true);
    }
    free(in);
    free(out);
    return ok;
}

const char *view_shape(uint8_t type)
{
    switch (type) {
    case HALLEY_NODE_COLL: /* six corners */
        return "M-92,0L-82,-19H82L92,0L82,19H-82Z";
    case HALLEY_NODE_SEND: /* points right */
        return "M-92,-19H80L92,0L80,19H-92Z";
    case HALLEY_NODE_RECV: /* notched on the left */
        return "M-92,-19H92V19H-92L-81,0Z";
    case HALLEY_NODE_MEM_LOAD: /* a drum */
    case HALLEY_NODE_MEM_STORE:
        return "M-92,-15C-92,-20 92,-20 92,-15V15C92,20 -92,20 -92,15Z"
               "M-92,-15C-92,-11 92,-11 92,-15";
    case HALLEY_NODE_COMP:
        return "M-86,-19H86A6,6 0 0 1 92,-13V13A6,6 0 0 1 86,19H-86A6,6 0 0 1 "
               "-92,13V-13A6,6 0 0 1 -86,-19Z";
    default:
        return "M-92,-19H92V19H-92Z";
    }
}

static void draw_view_box(strbuf *to, const view_graph *g, uint32_t i, strbuf *scratch)
{
    const view_box *box = &g->boxes.at[i];
    strbuf_printf(to, "<g class=\"n %s\" id=\"b%u\" transform=\"translate(%s,%s)\">",
                  view_kind(g, box), i, number_fixed(box->x, 0).at,
                  number_fixed(box->y, 0).at);
    const uint32_t each = box->n_nodes / box->repeat;
    if (each > 1 || box->stretch)
        strbuf_printf(to,
                      "<path class=\"behind\" transform=\"translate(4,4)\" d=\"%s\"/>",
                      view_shape(box->type));
    strbuf_printf(to, "<path class=\"shape\" d=\"%s\"/>", view_shape(box->type));
    if (box->lane == VIEW_CPU)
        strbuf_add(to, STR("<path class=\"shape\" d=\"M-86,-19V19\"/>"));
    scratch->n = 0;
    view_label(scratch, g, box);
    const bool drum = box->lane == VIEW_MEMORY;
    strbuf_printf(to, "<text class=\"name\" x=\"-78\" y=\"%d\">", drum ? 1 : -2);
    view_xml_cut(to, strbuf_str(scratch), NAME_PIXELS);
    strbuf_printf(to, "</text><text class=\"what\" x=\"-78\" y=\"%d\">", drum ? 14 : 12);
    scratch->n = 0;
    view_detail(scratch, g, box);
    view_xml_cut(to, strbuf_str(scratch), WHAT_PIXELS);
    strbuf_add(to, STR("</text>"));
    if (box->repeat > 1)
        strbuf_printf(
            to,
            "<rect class=\"badge\" x=\"58\" y=\"-27\" width=\"38\" height=\"16\" "
            "rx=\"8\"/><text class=\"times\" x=\"77\" y=\"-15\">\xc3\x97%u</text>",
            box->repeat);
    strbuf_printf(
        to, "<title>%llu: ", (unsigned long long)halley_node_id(g->trace, box->node));
    view_xml_cut(to, view_name(g, box), 2000);
    strbuf_add(to, STR("</title></g>\n"));
}

static const char *const lane_names[VIEW_N_LANES] = {"CPU", "COMPUTE", "COMMUNICATION",
                                                     "MEMORY", "OTHER"};

static void add_lanes(strbuf *to, const view_graph *g)
{
    for (size_t c = 0; c < g->columns.n; c++) {
        const view_column *column = &g->columns.at[c];
        for (uint32_t lane = 0; lane < VIEW_N_LANES; lane++) {
            if (column->lane_width[lane] <= 0)
                continue;
            const double x = column->x + column->lane_x[lane];
            strbuf_printf(to,
                          "<rect class=\"lane\" x=\"%s\" y=\"0\" width=\"%s\" "
                          "height=\"%s\" rx=\"8\"/>\n",
                          number_fixed(x - 8, 0).at,
                          number_fixed(column->lane_width[lane] + 16, 0).at,
                          number_fixed(g->height + 14, 0).at);
            if (!g->opts->mixed)
                strbuf_printf(to,
                              "<text class=\"lanehead\" x=\"%s\" y=\"17\">%s</text>\n",
                              number_fixed(x + column->lane_width[lane] / 2, 0).at,
                              lane_names[lane]);
        }
    }
}

static bool add_drawing(strbuf *to, const view_graph *g)
{
    strbuf scratch = {0};
    strbuf_add(to, STR("<g id=\"lanes\">\n"));
    add_lanes(to, g);
    strbuf_add(to, STR("</g>\n<g id=\"edges\">\n"));
    for (size_t k = 0; k < g->edges.n; k++)
        draw_edge(to, g, &g->edges.at[k]);
    bool ok = add_far_ends(to, g);
    strbuf_add(to, STR("</g>\n<g id=\"boxes\">\n"));
    for (uint32_t i = 0; i < g->boxes.n; i++)
        draw_view_box(to, g, i, &scratch);
    strbuf_add(to, STR("</g>\n"));
    ok = ok && !scratch.failed;
    strbuf_fini(&scratch);
    return ok;
}

static void add_markers(strbuf *to)
{
    strbuf_add(
        to,
        STR("<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
            "markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path class=\"tip\" "
            "d=\"M0,0.8L8,4L0,7.2Z\"/></marker><marker id=\"tee\" viewBox=\"0 0 8 "
            "8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
            "orient=\"auto\"><path class=\"tip ctrl\" "
            "d=\"M5.5,0H7.5V8H5.5Z\"/></marker></defs>\n"));
}

/* Draw one sample box per kind that occurs, and the kinds of edges. Returns its width. */
static double draw_legend(strbuf *to, const view_graph *g, double y)
{
    double x = 0;
    for (size_t i = 0; i < VIEW_N_KINDS; i++) {
        const uint64_t n = g->type_count[view_kinds[i].type];
        if (n == 0)
            continue;
        strbuf label = {0};
        strbuf_printf(&label, "%s ", view_kinds[i].word);
        view_count(&label, n, "", "");
        strbuf_printf(to,
                      "<g class=\"%s\" transform=\"translate(%s,%s) scale(.17,.34)\">"
                      "<path class=\"shape\" style=\"stroke-width:4\" d=\"%s\"/></g>"
                      "<text class=\"t2\" x=\"%s\" y=\"%s\">%s</text>",
                      view_kinds[i].css, number_fixed(x + 14, 0).at,
                      number_fixed(y - 4, 0).at, view_shape(view_kinds[i].type),
                      number_fixed(x + 34, 0).at, number_fixed(y, 0).at,
                      label.at ? label.at : "");
        x += 46 + 7.0 * (double)label.n;
        strbuf_fini(&label);
    }
    static const char *const lines[][2] = {{"data", "data dependency"},
                                           {"ctrl", "control dependency"}};
    for (size_t i = 0; i < 2; i++) {
        strbuf_printf(to,
                      "<path class=\"edge %s\" marker-end=\"url(#%s)\" "
                      "d=\"M%s,%sh32\"/><text class=\"t2\" x=\"%s\" "
                      "y=\"%s\">%s</text>",
                      lines[i][0], i ? "tee" : "tip", number_fixed(x, 0).at,
                      number_fixed(y - 4, 0).at, number_fixed(x + 40, 0).at,
                      number_fixed(y, 0).at, lines[i][1]);
        x += 58 + 7.0 * (double)strlen(lines[i][1]);
    }
    strbuf_add_char(to, '\n');
    return x;
}

/* Draw title, notes on what is omitted, and legend; sets their *height and *width. */
static void add_picture_head(strbuf *to, const view_graph *g, double *width,
                             double *height)
{
    strbuf text = {0};
    view_title(&text, g);
    strbuf_add(to, STR("<text class=\"t1\" y=\"20\">"));
    view_xml_cut(to, strbuf_str(&text), 800);
    strbuf_add(to, STR("</text>\n"));
    *width = 12.0 * (double)(text.n < 70 ? text.n : 70);
    text.n = 0;
    view_notes(&text, g);
    double y = 42;
    str rest = strbuf_str(&text), line;
    while (str_next(&rest, '\n', &line)) {
        if (line.n == 0)
            continue;
        strbuf_printf(to, "<text class=\"t2\" y=\"%s\">", number_fixed(y, 0).at);
        strbuf_xml(to, line);
        strbuf_add(to, STR("</text>\n"));
        if (6.6 * (double)line.n > *width)
            *width = 6.6 * (double)line.n;
        y += 18;
    }
    const double legend = draw_legend(to, g, y + 6);
    if (legend > *width)
        *width = legend;
    *height = y + 26;
    strbuf_fini(&text);
}

bool view_write_svg(strbuf *to, const view_graph *g, bool page)
{
    strbuf head = {0};
    double head_width = 0, head_height = 0;
    if (!page)
        add_picture_head(&head, g, &head_width, &head_height);
    /* A large picture is viewed from afar, so its title grows with it. */
    const double head_scale = fmin(4, fmax(1, g->width / 1800));
    head_width *= head_scale;
    head_height *= head_scale;
    const double inner = g->width > head_width ? g->width : head_width;
    const double width = inner + 2.0 * MARGIN;
    const double height = head_height + g->height + 14 + 2.0 * MARGIN;
    strbuf_printf(to,
                  "<svg class=\"view\" xmlns=\"http://www.w3.org/2000/svg\" "
                  "viewBox=\"0 0 %s %s\" width=\"%s\" height=\"%s\"%s>\n",
                  number_fixed(width, 0).at, number_fixed(height, 0).at,
                  number_fixed(width, 0).at, number_fixed(height, 0).at,
                  page ? " id=\"svg\" tabindex=\"0\" role=\"application\" "
                         "aria-label=\"graph of the trace\""
                       : " role=\"img\"");
    if (!page) {
        strbuf_add(to, STR("<style>\n"));
        strbuf_printf(to, "%s", view_css);
        strbuf_add(to, STR("</style>\n"));
    }
    add_markers(to);
    strbuf_printf(to, "<g id=\"view\" transform=\"translate(%d,%d)\">\n", (int)MARGIN,
                  (int)MARGIN);
    if (!page)
        strbuf_printf(to, "<g transform=\"scale(%s)\">\n%s</g>\n",
                      number_fixed(head_scale, 2).at, head.at ? head.at : "");
    strbuf_printf(to, "<g id=\"drawing\" transform=\"translate(0,%s)\">\n",
                  number_fixed(head_height, 0).at);
    const bool ok = add_drawing(to, g);
    strbuf_add(to, STR("</g>\n</g>\n</svg>\n"));
    strbuf_fini(&head);
    return ok && !to->failed;
}
