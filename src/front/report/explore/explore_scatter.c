/*
 * Figures with two numeric axes: the trade-off between two objectives, and the operators
 * of a layer under the roofline.
 */
#include "base/number/number.h"
#include "base/number/units.h"
#include "report/explore/explore_figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_NAMED = 12 };

/* A plot area; values for `log` axes are logarithms already. */
typedef struct plane {
    double low[2], high[2];
    double x0, x1, y0, y1; /* on the page; y0 is the lower edge */
} plane;

static void widen_axis(plane *p, double x, double y)
{
    p->low[0] = fmin(p->low[0], x);
    p->high[0] = fmax(p->high[0], x);
    p->low[1] = fmin(p->low[1], y);
    p->high[1] = fmax(p->high[1], y);
}

static double find_axis_share(const plane *p, int axis, double value)
{
    if (!(p->high[axis] > p->low[axis]))
        return 0.5;
    return (value - p->low[axis]) / (p->high[axis] - p->low[axis]);
}

static double at_x(const plane *p, double value)
{
    return p->x0 + find_axis_share(p, 0, value) * (p->x1 - p->x0);
}

static double at_y(const plane *p, double value)
{
    return p->y0 + find_axis_share(p, 1, value) * (p->y1 - p->y0);
}

static void draw_scatter_frame(strbuf *to, const plane *p)
{
    strbuf_printf(to, "<path d=\"M%s %sV%sH%s\" class=\"axis\"/>",
                  number_fixed(p->x0 - 8, 1).at, number_fixed(p->y1 - 8, 1).at,
                  number_fixed(p->y0 + 8, 1).at, number_fixed(p->x1 + 8, 1).at);
}

static void draw_scatter_point(strbuf *to, const figure_source *s, const plane *p,
                               const halley_candidate *c, const char *class)
{
    strbuf words = {0};
    char a[64], b[64];
    figure_label(&words, s, c);
    figure_goal(a, sizeof a, s, 0, c->objective[0]);
    figure_goal(b, sizeof b, s, 1, c->objective[1]);
    strbuf_printf(&words, ": %s, %s; limited by %s", a, b, c->limit);
    figure_tip(to, "%.*s", (int)words.n, words.n > 0 ? words.at : "");
    strbuf_printf(to, "<circle cx=\"%s\" cy=\"%s\" r=\"%s\" class=\"%s\"/></g>",
                  number_fixed(at_x(p, c->objective[0]), 1).at,
                  number_fixed(at_y(p, c->objective[1]), 1).at,
                  class[0] == 'f' ? "5.5" : "4", class);
    to->failed |= words.failed;
    strbuf_fini(&words);
}

static void goal_axes(strbuf *to, const figure_source *s, const plane *p)
{
    const int steps = 4;
    draw_scatter_frame(to, p);
    for (int k = 0; k <= 4; k++) {
        char value[64];
        const double x = p->low[0] + (p->high[0] - p->low[0]) * k / 4;
        const double y = p->low[1] + (p->high[1] - p->low[1]) * k / 4;
        figure_goal(value, sizeof value, s, 0, x);
        if (k % (4 / steps) == 0)
            figure_text(to, at_x(p, x), p->y0 + 26, "mid key", str_from(value));
        figure_goal(value, sizeof value, s, 1, y);
        figure_text(to, p->x0 - 14, at_y(p, y) + 4, "end key", str_from(value));
    }
    figure_text(to, p->x1, p->y0 + 46, "end lab",
                str_from(halley_study_objective(s->study, 0)->text));
    figure_text(to, 6, 14, "lab", str_from(halley_study_objective(s->study, 1)->text));
}

static plane goal_plane(const figure_source *s)
{
    const halley_exploration *e = s->e;
    plane p = {{NAN, NAN}, {NAN, NAN}, 100, FIGURE_WIDTH - 34, 340, 34};
    for (uint32_t i = 0; i < e->n_front; i++)
        widen_axis(&p, e->front[i].objective[0], e->front[i].objective[1]);
    for (uint32_t i = 0; i < e->n_best; i++)
        widen_axis(&p, e->best[i].objective[0], e->best[i].objective[1]);
    for (uint32_t i = 0; i < e->n_slices; i++) {
        for (uint32_t j = 0; j < e->slices[i].n; j++)
            widen_axis(&p, e->slices[i].best[j].objective[0],
                       e->slices[i].best[j].objective[1]);
    }
    return p;
}

/* Label the points of the Pareto front, as long as labels do not overlap. */
static void name_front(strbuf *to, const figure_source *s, const plane *p)
{
    const halley_exploration *e = s->e;
    double last_x = -1e9, last_y = -1e9;
    for (uint32_t i = 0; i < e->n_front && e->n_front <= MOST_NAMED; i++) {
        strbuf words = {0};
        const double x = at_x(p, e->front[i].objective[0]),
                     y = at_y(p, e->front[i].objective[1]);
        figure_label(&words, s, &e->front[i]);
        const double wide = 7.0 * (double)words.n;
        const bool covers = fabs(y - last_y) < 16 && x - last_x < wide + 12;
        if (words.n < 26 && !covers) {
            const bool end = x + wide + 12 > FIGURE_WIDTH;
            figure_text(to, end ? x - 9 : x + 9, y - 7, end ? "end key" : "key",
                        strbuf_str(&words));
            last_x = x;
            last_y = y;
        }
        to->failed |= words.failed;
        strbuf_fini(&words);
    }
}

static void list_point(strbuf *to, const figure_source *s, const halley_candidate *c,
                       const char *kind)
{
    strbuf label = {0};
    figure_label(&label, s, c);
    strbuf_csv(to, strbuf_str(&label));
    strbuf_printf(to, ",%s", kind);
    figure_add_number(to, c->objective[0]);
    figure_add_number(to, c->objective[1]);
    strbuf_add_char(to, '\n');
    to->failed |= label.failed;
    strbuf_fini(&label);
}

static void list_pareto(strbuf *to, const figure_source *s)
{
    const halley_exploration *e = s->e;
    strbuf_printf(to, "design,kind,%s,%s\n",
                  halley_metric_column(halley_study_objective(s->study, 0)->metric),
                  halley_metric_column(halley_study_objective(s->study, 1)->metric));
    for (uint32_t i = 0; i < e->n_front; i++)
        list_point(to, s, &e->front[i], "front");
    for (uint32_t i = 0; i < e->n_best; i++)
        list_point(to, s, &e->best[i], "best");
    for (uint32_t i = 0; i < e->n_slices; i++)
        for (uint32_t j = 0; j < e->slices[i].n; j++)
            list_point(to, s, &e->slices[i].best[j], "best-by-value");
}

void figure_pareto(figure *f, const figure_source *s)
{
    strbuf *to = &f->svg;
    const halley_exploration *e = s->e;
    if (halley_study_objectives(s->study) < 2 || e->n_front == 0)
        return;
    list_pareto(&f->csv, s);
    const plane p = goal_plane(s);
    figure_open(to, FIGURE_WIDTH, 396, "trade-off between two objectives");
    goal_axes(to, s, &p);
    strbuf_add(to, STR("<path class=\"frontline\" d=\""));
    for (uint32_t i = 0; i < e->n_front; i++)
        strbuf_printf(to, "%s%s %s", i ? "L" : "M",
                      number_fixed(at_x(&p, e->front[i].objective[0]), 1).at,
                      number_fixed(at_y(&p, e->front[i].objective[1]), 1).at);
    strbuf_add(to, STR("\"/>"));
    for (uint32_t i = 0; i < e->n_slices; i++) {
        for (uint32_t j = 0; j < e->slices[i].n; j++)
            draw_scatter_point(to, s, &p, &e->slices[i].best[j], "other");
    }
    for (uint32_t i = 0; i < e->n_best; i++)
        draw_scatter_point(to, s, &p, &e->best[i], "other");
    for (uint32_t i = 0; i < e->n_front; i++)
        draw_scatter_point(to, s, &p, &e->front[i], "front");
    name_front(to, s, &p);
    strbuf_add(to, STR("</svg>"));
}

static double find_intensity(const halley_roofline_op *op)
{
    return log10(op->flops / op->bytes);
}

static double find_speed(const halley_roofline_op *op)
{
    return log10(op->flops / op->forward_s);
}

static plane roof_plane(const halley_slice *slice)
{
    plane p = {{NAN, NAN}, {NAN, NAN}, 100, FIGURE_WIDTH - 84, 360, 34};
    for (uint32_t i = 0; i < slice->n; i++) {
        const halley_roofline *r = &slice->roofline[i];
        widen_axis(&p, log10(r->peak_flops / r->bandwidth_Bps) + 0.2,
                   log10(r->peak_flops));
        for (uint32_t k = 0; k < r->n; k++)
            widen_axis(&p, find_intensity(&r->ops[k]), find_speed(&r->ops[k]));
    }
    p.low[0] -= 0.25;
    p.high[0] += 0.25;
    p.low[1] -= 0.3;
    p.high[1] += 0.1;
    return p;
}

/* Powers of ten on both axes. */
static void roof_axes(strbuf *to, const plane *p)
{
    char words[64];
    draw_scatter_frame(to, p);
    for (int k = (int)ceil(p->low[0]); k <= p->high[0]; k++) {
        snprintf(words, sizeof words, "%s", number_fixed(pow(10, k), 0).at);
        figure_text(to, at_x(p, k), p->y0 + 26, "mid key", str_from(words));
    }
    for (int k = (int)floor(p->low[1]); k <= p->high[1]; k++) {
        static const double steps[] = {1, 2, 5};
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            const double y = k + log10(steps[i]);
            if (y < p->low[1] || y > p->high[1])
                continue;
            units_format(words, sizeof words, pow(10, y), UNITS_FLOPS);
            figure_text(to, p->x0 - 14, at_y(p, y) + 4, "end key", str_from(words));
        }
    }
    figure_text(to, p->x1, p->y0 + 46, "end lab", STR("FLOP per byte of memory traffic"));
    figure_text(to, 6, 14, "lab", STR("attained, forward"));
}

static void draw_roof(strbuf *to, const plane *p, const halley_roofline *r,
                      const char *name)
{
    const double bw = log10(r->bandwidth_Bps), peak = log10(r->peak_flops);
    double from = p->low[0];
    if (from + bw < p->low[1])
        from = p->low[1] - bw; /* where it enters the plot */
    const double ridge = peak - bw;
    figure_tip(to, "roof at %s: flat from %s FLOP per byte", name,
               number_digits(pow(10, ridge), 3).at);
    strbuf_printf(to, "<path class=\"roof\" d=\"M%s %sL%s %sH%s\"/>",
                  number_fixed(at_x(p, from), 1).at,
                  number_fixed(at_y(p, from + bw), 1).at,
                  number_fixed(at_x(p, ridge), 1).at, number_fixed(at_y(p, peak), 1).at,
                  number_fixed(at_x(p, p->high[0]), 1).at);
    strbuf_add(to, STR("</g>"));
    const double x = from + 0.3 * fmax(ridge - from, 0.05);
    figure_text(to, at_x(p, x) + 5, at_y(p, x + bw) + 12, "key", str_from(name));
}

/* Number each operator once, at its fastest; the legend names them. */
static void number_ops(strbuf *to, const plane *p, const halley_roofline *top)
{
    for (uint32_t k = 0; k < top->n; k++) {
        uint32_t above = 0; /* earlier labels at about the same place */
        for (uint32_t j = 0; j < k; j++)
            above += fabs(at_x(p, find_intensity(&top->ops[j])) -
                          at_x(p, find_intensity(&top->ops[k]))) < 12;
        char words[16];
        snprintf(words, sizeof words, "%u", k + 1);
        figure_text(to, at_x(p, find_intensity(&top->ops[k])),
                    at_y(p, log10(top->peak_flops)) - 8 - 12.0 * above, "mid key",
                    str_from(words));
    }
}

static void roof_legend(strbuf *to, const halley_slice *slice, double y)
{
    const halley_roofline *slow = &slice->roofline[0],
                          *fast = &slice->roofline[slice->n - 1];
    const double column = 425;
    for (uint32_t k = 0; k < fast->n && k < slow->n; k++) {
        const halley_roofline_op *a = &slow->ops[k], *b = &fast->ops[k];
        char words[192], from[32], until[32];
        units_format(from, sizeof from, a->flops / a->forward_s, UNITS_FLOPS);
        units_format(until, sizeof until, b->flops / b->forward_s, UNITS_FLOPS);
        snprintf(words, sizeof words, "%u  %s: %s FLOP/B, %s \xe2\x86\x92 %s", k + 1,
                 b->name, number_digits(b->flops / b->bytes, 3).at, from, until);
        const uint32_t per_row = 2;
        const uint32_t row = k / per_row;
        figure_text(to, 6 + column * (k % per_row), y + 19.0 * row, "key",
                    str_from(words));
    }
}

static void list_roofline(strbuf *to, const figure_source *s, const halley_slice *slice)
{
    const halley_axis *a = halley_study_axis(s->study, slice->axis);
    strbuf_printf(to,
                  "%s,operator,flop_per_byte,flop_per_s,roof_flop_per_s,"
                  "roof_bytes_per_s\n",
                  a->name);
    for (uint32_t i = 0; i < slice->n; i++) {
        const halley_roofline *r = &slice->roofline[i];
        for (uint32_t k = 0; k < r->n; k++) {
            strbuf_csv(to, str_from(a->texts[slice->best[i].digits[slice->axis]]));
            strbuf_add_char(to, ',');
            strbuf_csv(to, str_from(r->ops[k].name));
            figure_add_number(to, r->ops[k].flops / r->ops[k].bytes);
            figure_add_number(to, r->ops[k].flops / r->ops[k].forward_s);
            figure_add_number(to, r->peak_flops);
            figure_add_number(to, r->bandwidth_Bps);
            strbuf_add_char(to, '\n');
        }
    }
}

/* True if no earlier roof of the slice is the same. */
static bool is_new_roof(const halley_slice *slice, uint32_t i)
{
    const halley_roofline *r = slice->roofline;
    for (uint32_t k = 0; k < i; k++)
        if (r[k].peak_flops == r[i].peak_flops &&
            r[k].bandwidth_Bps == r[i].bandwidth_Bps)
            return false;
    return true;
}

void figure_roofline(figure *f, const figure_source *s, const halley_slice *slice)
{
    strbuf *to = &f->svg;
    if (!slice->roofline || slice->n == 0)
        return;
    list_roofline(&f->csv, s, slice);
    const plane p = roof_plane(slice);
    const halley_roofline *top = &slice->roofline[slice->n - 1];
    const uint32_t rows = (top->n + 1) / 2;
    const halley_axis *a = halley_study_axis(s->study, slice->axis);
    figure_open(to, FIGURE_WIDTH, 426 + 19.0 * rows, "operators under the roofline");
    roof_axes(to, &p);
    for (uint32_t i = 0; i < slice->n; i++)
        if (is_new_roof(slice, i))
            draw_roof(to, &p, &slice->roofline[i],
                      slice->n > 1 && !is_new_roof(slice, slice->n - 1) && i == 0
                          ? "for all values"
                          : a->texts[slice->best[i].digits[slice->axis]]);
    for (uint32_t i = 0; i < slice->n; i++) {
        const halley_roofline *r = &slice->roofline[i];
        for (uint32_t k = 0; k < r->n; k++) {
            char value[32];
            units_format(value, sizeof value, r->ops[k].flops / r->ops[k].forward_s,
                         UNITS_FLOPS);
            figure_tip(to, "%s at %s: %s, %s FLOP per byte", r->ops[k].name,
                       a->texts[slice->best[i].digits[slice->axis]], value,
                       number_digits(r->ops[k].flops / r->ops[k].bytes, 3).at);
            strbuf_printf(to, "<circle cx=\"%s\" cy=\"%s\" r=\"4\" class=\"front\"/></g>",
                          number_fixed(at_x(&p, find_intensity(&r->ops[k])), 1).at,
                          number_fixed(at_y(&p, find_speed(&r->ops[k])), 1).at);
        }
    }
    number_ops(to, &p, top);
    roof_legend(to, slice, 428);
    strbuf_add(to, STR("</svg>"));
}
