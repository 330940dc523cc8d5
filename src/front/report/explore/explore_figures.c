/*
 * Figures as plain SVG. Colours are classes (explore.css), with patterns over them, so
 * that parts can be distinguished without colour. Numbers are written where they fit.
 * Labels are never cut: the figure becomes wider.
 */
#include "report/explore/explore_figures.h"

#include "base/number/number.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { RIGHT = 84, BAR = 20, ROW = 30, N_PATTERNS = 5, LEAST_BARS = 400 };
static const double letter = 7.6; /* mean width of a lower-case letter, in pixels */

/* The left edge of bars, with room for their names to the left. */
static double left_of(size_t longest)
{
    return fmax(120, 24 + letter * (double)longest);
}

/* The width of a figure whose bars begin at `left`. */
static double find_width(double left)
{
    return fmax(FIGURE_WIDTH, left + LEAST_BARS + RIGHT);
}

static void name_bar(strbuf *to, double left, double y, str words)
{
    figure_text(to, left - 10, y + BAR - 5, "end lab", words);
}

void figure_text(strbuf *to, double x, double y, const char *class, str words)
{
    strbuf_printf(to, "<text x=\"%s\" y=\"%s\" class=\"%s\">", number_fixed(x, 1).at,
                  number_fixed(y, 1).at, class);
    strbuf_xml(to, words);
    strbuf_add(to, STR("</text>"));
}

void figure_open(strbuf *to, double width, double height, const char *title)
{
    strbuf_printf(to,
                  "<svg viewBox=\"0 0 %s %s\" width=\"%s\" height=\"%s\" "
                  "role=\"img\" xmlns=\"http://www.w3.org/2000/svg\" aria-label=\"",
                  number_fixed(width, 0).at, number_fixed(height, 0).at,
                  number_fixed(width, 0).at, number_fixed(height, 0).at);
    strbuf_xml(to, str_from(title));
    strbuf_add(to, STR("\">"));
}

void figure_tip(strbuf *to, const char *format, ...)
{
    char words[512];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    strbuf_add(to, STR("<g><title>"));
    strbuf_xml(to, str_from(words));
    strbuf_add(to, STR("</title>"));
}

void figure_patterns(strbuf *to)
{
    static const char *const paths[N_PATTERNS] = {"M0 8L8 0M-2 2L2 -2M6 10L10 6",
                                                  "M0 0L8 8M-2 6L2 10M6 -2L10 2",
                                                  "M0 4H8", "M4 0V8", "M0 4H8M4 0V8"};
    strbuf_add(to, STR("<defs>"));
    for (int i = 0; i < N_PATTERNS; i++)
        strbuf_printf(to,
                      "<pattern id=\"p%d\" width=\"8\" height=\"8\" "
                      "patternUnits=\"userSpaceOnUse\"><path d=\"%s\" fill=\"none\" "
                      "stroke=\"#000000\" stroke-opacity=\"0.34\" "
                      "stroke-width=\"1.4\"/>"
                      "</pattern>",
                      i + 1, paths[i]);
    strbuf_add(to, STR("</defs>"));
}

/* The name of an axis without its obvious parts. */
static const char *name_axis(const char *path)
{
    static const char *const plain[] = {"plan.", "cluster.npu.memory.", "cluster.npu.",
                                        "cluster.", "model."};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (strncmp(path, plain[i], strlen(plain[i])) == 0)
            return path + strlen(plain[i]);
    }
    return path;
}

/* True if the values need no name: names of rows and presets are clear by themselves. */
static bool says_enough(const halley_axis *a)
{
    return !a->numbers && strncmp(a->name, "plan.", 5) != 0;
}

/* Write the part of the name that distinguishes parameters: "cxl bandwidth ". */
static void short_axis(strbuf *to, const halley_axis *a)
{
    for (const char *c = name_axis(a->name); *c != '\0'; c++)
        strbuf_add_char(to, *c == '.' ? ' ' : *c);
    strbuf_add_char(to, ' ');
}

static void add_bar_value(strbuf *to, const halley_axis *a, const halley_candidate *c,
                          uint32_t axis)
{
    strbuf_add(to, to->n ? STR(", ") : STR(""));
    if (!says_enough(a))
        short_axis(to, a);
    strbuf_printf(to, "%s", a->texts[c->digits[axis]]);
}

void figure_label(strbuf *to, const figure_source *s, const halley_candidate *c)
{
    for (uint32_t i = 0; i < halley_study_axes(s->study); i++) {
        const halley_axis *a = halley_study_axis(s->study, i);
        /* Plans that were chosen distinguish designs only if nothing else varies. */
        if (a->n > 1 && (!a->inner || to->n == 0))
            add_bar_value(to, a, c, i);
    }
    if (to->n == 0)
        strbuf_printf(to, "tp %u, pp %u, dp %u", c->plan.tp, c->plan.pp, c->plan.dp);
}

static bool differs_from_base(const figure_list *list, uint32_t axis)
{
    for (uint32_t i = 1; i < list->n; i++) {
        if (list->at[i].digits[axis] != list->at[0].digits[axis])
            return true;
    }
    return false;
}

/* Label a design of a list: first the axis of the list, then what else differs. */
static void label_in(strbuf *to, const figure_source *s, const figure_list *list,
                     uint32_t i)
{
    const halley_candidate *c = &list->at[i];
    if (list->about)
        add_bar_value(to, halley_study_axis(s->study, list->axis), c, list->axis);
    for (uint32_t k = 0; k < halley_study_axes(s->study); k++) {
        const halley_axis *a = halley_study_axis(s->study, k);
        if (differs_from_base(list, k) && !(list->about && k == list->axis) &&
            (!a->inner || to->n == 0))
            add_bar_value(to, a, c, k);
    }
    if (to->n == 0)
        figure_label(to, s, c);
}

const char *figure_goal(char *to, size_t size, const figure_source *s, uint32_t i,
                        double value)
{
    return halley_metric_format(to, size, halley_study_objective(s->study, i)->metric,
                                value);
}

/* A part of a stacked bar: the sum of some metrics. */
typedef struct part {
    const char *name;
    uint32_t metrics[6]; /* ends with HALLEY_N_METRICS */
    int color, pattern;
} part;

#define P(x) (HALLEY_METRIC_PART + HALLEY_PART_##x)
#define M(x) (HALLEY_METRIC_CLASS + HALLEY_MEMORY_##x)
#define END HALLEY_N_METRICS
static const part time_parts[] = {
    {"compute", {P(FORWARD), P(BACKWARD), END}, 0, 0},
    {"recompute", {P(RECOMPUTE), END}, 1, 1},
    {"tensor parallel", {P(TP), END}, 2, 0},
    {"context parallel", {P(CP), END}, 3, 2},
    {"experts", {P(EP), END}, 4, 3},
    {"stage transfers", {P(PP), END}, 5, 4},
    {"data parallel", {P(DP), END}, 6, 1},
    {"bubble", {P(BUBBLE), END}, 7, 5},
    {"expanded memory", {P(OFFLOAD), END}, 8, 2},
    {"optimizer, host, other",
     {P(HOST), P(ACCUMULATE), P(OPTIMIZER), P(MEETING), P(OTHER), END},
     9,
     0},
};
static const part memory_parts[] = {
    {"weights", {M(WEIGHTS), END}, 0, 0},
    {"gradients", {M(GRADIENTS), END}, 2, 1},
    {"optimizer", {M(OPTIMIZER), END}, 6, 0},
    {"activations", {M(ACTIVATIONS), END}, 5, 2},
    {"logits", {M(LOGITS), END}, 3, 4},
    {"buffers", {M(GATHERED), M(BUFFERS), END}, 9, 0},
};

typedef struct stack {
    const part *parts;
    uint32_t n_parts;
    uint32_t total; /* the metric that equals the whole bar, for its label */
    const char *title;
} stack;

static double part_value(const part *p, const halley_candidate *c)
{
    double sum = 0;
    for (int i = 0; p->metrics[i] != END; i++)
        sum += c->metrics[p->metrics[i]];
    return sum;
}

static double bar_length(const stack *k, const halley_candidate *c)
{
    double sum = 0;
    for (uint32_t i = 0; i < k->n_parts; i++)
        sum += part_value(&k->parts[i], c);
    return sum;
}

static void draw_frame_box(strbuf *to, double x, double y, double w, double h,
                           const part *p)
{
    strbuf_printf(to,
                  "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" "
                  "class=\"c%d\"/>",
                  number_fixed(x, 1).at, number_fixed(y, 1).at, number_fixed(w, 1).at,
                  number_fixed(h, 1).at, p->color);
    if (p->pattern)
        strbuf_printf(to,
                      "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" "
                      "fill=\"url(#p%d)\"/>",
                      number_fixed(x, 1).at, number_fixed(y, 1).at, number_fixed(w, 1).at,
                      number_fixed(h, 1).at, p->pattern);
}

static bool is_light(const part *p)
{
    return p->color == 1 || p->color == 3 || p->color == 7 || p->color == 9;
}

static void draw_segment(strbuf *to, const part *p, double x, double y, double w,
                         double share, const char *value)
{
    figure_tip(to, "%s: %s (%s %%)", p->name, value, number_fixed(share * 100, 1).at);
    draw_frame_box(to, x, y, w, BAR, p);
    char label[NUMBER_TEXT + 1];
    snprintf(label, sizeof label, "%s%%", number_fixed(share * 100, 0).at);
    if (w > 30)
        figure_text(to, x + w / 2, y + BAR - 6, is_light(p) ? "in mid dark" : "in mid",
                    str_from(label));
    strbuf_add(to, STR("</g>"));
}

/* Draw the legend, with only those parts that some design has. */
static uint32_t draw_figure_legend(strbuf *to, const stack *k,
                                   const halley_candidate *list, uint32_t n, double y)
{
    double x = 8;
    uint32_t rows = 1;
    for (uint32_t i = 0; i < k->n_parts; i++) {
        double most = 0;
        for (uint32_t j = 0; j < n; j++)
            most = fmax(most, part_value(&k->parts[i], &list[j]) /
                                  fmax(bar_length(k, &list[j]), 1e-300));
        if (most < 0.002)
            continue;
        const double w = 34 + 7.2 * (double)strlen(k->parts[i].name);
        if (x + w > FIGURE_WIDTH) {
            x = 8;
            y += 22;
            rows++;
        }
        draw_frame_box(to, x, y, 16, 12, &k->parts[i]);
        figure_text(to, x + 22, y + 11, "key", str_from(k->parts[i].name));
        x += w;
    }
    return rows;
}

/* Write its name, cut to the available room; the tooltip has the whole name. */
static void label_bar(strbuf *to, const figure_source *s, const figure_list *list,
                      uint32_t i, double left, double y)
{
    strbuf label = {0}, whole = {0};
    label_in(&label, s, list, i);
    figure_label(&whole, s, &list->at[i]);
    figure_tip(to, "%.*s", (int)whole.n, whole.n ? whole.at : "");
    name_bar(to, left, y, strbuf_str(&label));
    strbuf_add(to, STR("</g>"));
    to->failed |= label.failed || whole.failed;
    strbuf_fini(&label);
    strbuf_fini(&whole);
}

static void draw_bar(strbuf *to, const stack *k, const halley_candidate *c, double left,
                     double y, double scale)
{
    double x = left;
    char value[64];
    const double total = bar_length(k, c);
    for (uint32_t i = 0; i < k->n_parts; i++) {
        const double v = part_value(&k->parts[i], c);
        if (v <= 0)
            continue;
        halley_metric_format(value, sizeof value, k->total, v);
        draw_segment(to, &k->parts[i], x, y, v * scale, v / total, value);
        x += v * scale;
    }
    halley_metric_format(value, sizeof value, k->total, total);
    /* The label must not cover the mark. */
    const double mark = left + c->capacity_bytes * scale;
    const bool close = k->total == HALLEY_METRIC_MEMORY && mark > x && mark < x + 70;
    figure_text(to, (close ? mark : x) + 6, y + BAR - 5, "num", str_from(value));
    if (k->total == HALLEY_METRIC_MEMORY)
        strbuf_printf(to, "<path d=\"M%s %sv%d\" class=\"mark\"/>",
                      number_fixed(mark, 1).at, number_fixed(y - 4, 1).at, BAR + 8);
}

static size_t longest_label(const figure_source *s, const figure_list *list)
{
    size_t longest = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        strbuf label = {0};
        label_in(&label, s, list, i);
        longest = label.n > longest ? label.n : longest;
        strbuf_fini(&label);
    }
    return longest;
}

static void draw_stacked(strbuf *to, const figure_source *s, const stack *k,
                         const figure_list *list)
{
    double most = 0, capacity = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        most = fmax(most, bar_length(k, &list->at[i]));
        if (k->total == HALLEY_METRIC_MEMORY)
            capacity = fmax(capacity, list->at[i].capacity_bytes);
    }
    if (!(most > 0))
        return;
    const double left = left_of(longest_label(s, list));
    const double width = find_width(left);
    const double scale = (width - left - RIGHT) / fmax(most, capacity);
    strbuf bars = {0};
    const uint32_t rows = draw_figure_legend(&bars, k, list->at, list->n, 6);
    const double top = 22.0 * rows + 14, row = ROW;
    for (uint32_t i = 0; i < list->n; i++) {
        label_bar(&bars, s, list, i, left, top + i * row);
        draw_bar(&bars, k, &list->at[i], left, top + i * row, scale);
    }
    figure_open(to, width, top + list->n * row + 2, k->title);
    strbuf_add(to, strbuf_str(&bars));
    strbuf_add(to, STR("</svg>"));
    to->failed |= bars.failed;
    strbuf_fini(&bars);
}

/* "data parallel" becomes "data_parallel_s". */
static void name_column(strbuf *to, const char *name, const char *unit)
{
    strbuf_add_char(to, ',');
    for (const char *c = name; *c != '\0'; c++)
        if (*c != ',')
            strbuf_add_char(to, *c == ' ' ? '_' : *c);
    strbuf_add(to, str_from(unit));
}

/* A row per bar, a column per part. */
static void list_stacked(strbuf *to, const figure_source *s, const stack *k,
                         const figure_list *list)
{
    const bool is_memory = k->total == HALLEY_METRIC_MEMORY;
    const char *unit = is_memory ? "_bytes" : "_s";
    strbuf_add(to, STR("design"));
    for (uint32_t i = 0; i < k->n_parts; i++)
        name_column(to, k->parts[i].name, unit);
    name_column(to, "total", unit);
    strbuf_add(to, is_memory ? STR(",capacity_bytes\n") : STR("\n"));
    for (uint32_t i = 0; i < list->n; i++) {
        strbuf label = {0};
        label_in(&label, s, list, i);
        strbuf_csv(to, strbuf_str(&label));
        to->failed |= label.failed;
        strbuf_fini(&label);
        for (uint32_t j = 0; j < k->n_parts; j++)
            figure_add_number(to, part_value(&k->parts[j], &list->at[i]));
        figure_add_number(to, bar_length(k, &list->at[i]));
        if (is_memory)
            figure_add_number(to, list->at[i].capacity_bytes);
        strbuf_add_char(to, '\n');
    }
}

static const stack time_stack = {time_parts, sizeof time_parts / sizeof *time_parts,
                                 HALLEY_METRIC_STEP_TIME,
                                 "where the time of a step goes"};
static const stack memory_stack = {
    memory_parts, sizeof memory_parts / sizeof *memory_parts, HALLEY_METRIC_MEMORY,
    "memory of the fullest stage by class"};

void figure_breakdown(figure *to, const figure_source *s, const figure_list *list)
{
    draw_stacked(&to->svg, s, &time_stack, list);
    list_stacked(&to->csv, s, &time_stack, list);
}

void figure_memory(figure *to, const figure_source *s, const figure_list *list)
{
    draw_stacked(&to->svg, s, &memory_stack, list);
    list_stacked(&to->csv, s, &memory_stack, list);
}

void figure_add_number(strbuf *to, double value)
{
    strbuf_add_char(to, ',');
    if (!isnan(value))
        strbuf_double(to, value);
}

/* 0 at the worst, 1 at the best, logarithmic. */
static double measure_goodness(double value, double low, double high, bool maximize)
{
    if (!(high > low) || low <= 0)
        return 1;
    const double share = log(value / low) / log(high / low);
    return maximize ? share : 1 - share;
}

static void range_of(const halley_heat *h, size_t n, double *low, double *high)
{
    *low = *high = NAN;
    for (size_t i = 0; i < n; i++) {
        *low = fmin(*low, h->cells[i]);
        *high = fmax(*high, h->cells[i]);
    }
}

static size_t longest_value(const halley_axis *a)
{
    size_t longest = 0;
    for (uint32_t i = 0; i < a->n; i++)
        longest = strlen(a->texts[i]) > longest ? strlen(a->texts[i]) : longest;
    return longest;
}

/* A row per cell. */
static void list_heat(strbuf *to, const figure_source *s, const halley_heat *h)
{
    const halley_axis *a = halley_study_axis(s->study, h->axis_i);
    const halley_axis *b = halley_study_axis(s->study, h->axis_j);
    strbuf_printf(to, "%s,%s,%s\n", a->name, b->name,
                  halley_metric_column(halley_study_objective(s->study, 0)->metric));
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t j = 0; j < b->n; j++) {
            strbuf_csv(to, str_from(a->texts[i]));
            strbuf_add_char(to, ',');
            strbuf_csv(to, str_from(b->texts[j]));
            figure_add_number(to, h->cells[(size_t)i * b->n + j]);
            strbuf_add_char(to, '\n');
        }
}

void figure_heat(figure *f, const figure_source *s, const halley_heat *h)
{
    strbuf *to = &f->svg;
    list_heat(&f->csv, s, h);
    const halley_axis *a = halley_study_axis(s->study, h->axis_i);
    const halley_axis *b = halley_study_axis(s->study, h->axis_j);
    /* The axis with more values goes down. */
    const bool turn = b->n > a->n;
    const halley_axis *down = turn ? b : a, *across = turn ? a : b;
    const bool maximize = halley_study_objective(s->study, 0)->maximize;
    const size_t name = strlen(name_axis(down->name));
    const size_t longest = name > longest_value(down) ? name : longest_value(down);
    const double left = 24 + 7.4 * (double)longest, top = 46, h_cell = 30;
    const double room = (FIGURE_WIDTH - left) / across->n;
    const double w_cell =
        fmax(fmin(110, fmax(84, room)), 14 + letter * (double)longest_value(across));
    double low, high;
    range_of(h, (size_t)a->n * b->n, &low, &high);
    figure_open(to, left + w_cell * across->n + 6, top + h_cell * down->n + 6,
                "best objective for two parameters");
    figure_text(to, left, 14, "key", str_from(across->name));
    figure_text(to, left - 8, 40, "end key", str_from(name_axis(down->name)));
    for (uint32_t j = 0; j < across->n; j++)
        figure_text(to, left + w_cell * (j + 0.5), 38, "mid lab",
                    str_from(across->texts[j]));
    for (uint32_t i = 0; i < down->n; i++) {
        const double y = top + h_cell * i;
        figure_text(to, left - 8, y + 20, "end lab", str_from(down->texts[i]));
        for (uint32_t j = 0; j < across->n; j++) {
            const double v =
                turn ? h->cells[(size_t)j * b->n + i] : h->cells[(size_t)i * b->n + j];
            const double x = left + w_cell * j;
            const bool best = v == (maximize ? high : low);
            char value[64] = "none fits";
            if (!isnan(v))
                figure_goal(value, sizeof value, s, 0, v);
            figure_tip(to, "%s %s, %s %s: %s", name_axis(down->name), down->texts[i],
                       name_axis(across->name), across->texts[j], value);
            strbuf_printf(
                to,
                "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" "
                "class=\"%s\" fill-opacity=\"%s\"/>",
                number_fixed(x + 1, 1).at, number_fixed(y + 1, 1).at,
                number_fixed(w_cell - 2, 1).at, number_fixed(h_cell - 2, 1).at,
                isnan(v) ? "none"
                : best   ? "heat best"
                         : "heat",
                number_fixed(
                    isnan(v) ? 1 : 0.06 + 0.5 * measure_goodness(v, low, high, maximize),
                    2)
                    .at);
            figure_text(to, x + w_cell / 2, y + 20, isnan(v) ? "mid key" : "mid cell",
                        isnan(v) ? STR("\xe2\x80\x93") : str_from(value));
            strbuf_add(to, STR("</g>"));
        }
    }
    strbuf_add(to, STR("</svg>"));
}

static bool has_swing(const halley_sensitivity *v)
{
    return !isnan(v->low) && v->high > v->low * 1.0005;
}

/* Draw one parameter: from its best to its worst value, both labelled below. */
static void tornado_bar(strbuf *to, const figure_source *s, const halley_sensitivity *v,
                        double left, double y, double low, double scale)
{
    const halley_axis *a = halley_study_axis(s->study, v->axis);
    const double x0 = left + scale * log(v->low / low);
    const double x1 = left + scale * log(v->high / low);
    char from[64], until[64], label[140];
    figure_goal(from, sizeof from, s, 0, v->low);
    figure_goal(until, sizeof until, s, 0, v->high);
    name_bar(to, left, y, str_from(name_axis(a->name)));
    figure_tip(to, "%s: %s at %s, %s at %s", a->name, from, a->texts[v->low_value], until,
               a->texts[v->high_value]);
    strbuf_printf(to, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"20\" class=\"c2\"/>",
                  number_fixed(x0, 1).at, number_fixed(y, 1).at,
                  number_fixed(fmax(x1 - x0, 2), 1).at);
    snprintf(label, sizeof label, "%s \xe2\x86\x92 %s", a->texts[v->low_value],
             a->texts[v->high_value]);
    figure_text(to, x1 + 6, y + 15, "num", str_from(until));
    figure_text(to, x0 + 6, y + 34, "key", str_from(label));
    strbuf_add(to, STR("</g>"));
}

static bool tornado_range(const halley_exploration *e, double *low, double *high,
                          uint32_t *n)
{
    *low = *high = NAN;
    *n = 0;
    for (uint32_t i = 0; i < e->n_sensitivities; i++) {
        *low = fmin(*low, fmin(e->sensitivities[i].low, e->sensitivities[i].space_low));
        *high =
            fmax(*high, fmax(e->sensitivities[i].high, e->sensitivities[i].space_high));
        *n += has_swing(&e->sensitivities[i]);
    }
    return *high > *low && *low > 0 && *n > 0;
}

/* The longest name of a parameter that matters. */
static size_t longest_swing(const figure_source *s)
{
    size_t longest = 0;
    for (uint32_t i = 0; i < s->e->n_sensitivities; i++) {
        const halley_sensitivity *v = &s->e->sensitivities[i];
        const size_t n = strlen(name_axis(halley_study_axis(s->study, v->axis)->name));
        longest = has_swing(v) && n > longest ? n : longest;
    }
    return longest;
}

/* A row per bar: the objective at its two ends. */
static void list_tornado(strbuf *to, const figure_source *s)
{
    const char *objective =
        halley_metric_column(halley_study_objective(s->study, 0)->metric);
    strbuf_printf(to, "parameter,best_value,worst_value,best_%s,worst_%s\n", objective,
                  objective);
    for (uint32_t i = 0; i < s->e->n_sensitivities; i++) {
        const halley_sensitivity *v = &s->e->sensitivities[i];
        const halley_axis *a = halley_study_axis(s->study, v->axis);
        if (!has_swing(v))
            continue;
        strbuf_printf(to, "%s,", a->name);
        strbuf_csv(to, str_from(a->texts[v->low_value]));
        strbuf_add_char(to, ',');
        strbuf_csv(to, str_from(a->texts[v->high_value]));
        figure_add_number(to, v->low);
        figure_add_number(to, v->high);
        strbuf_add_char(to, '\n');
    }
}

void figure_tornado(figure *f, const figure_source *s)
{
    strbuf *to = &f->svg;
    const halley_exploration *e = s->e;
    double low, high;
    uint32_t n;
    if (!tornado_range(e, &low, &high, &n))
        return;
    list_tornado(&f->csv, s);
    const double left = left_of(longest_swing(s)), row = 46, top = 8;
    const double width = find_width(left);
    const double scale = (width - left - RIGHT - 10) / log(high / low);
    const double height = row * n + top + 24;
    char value[64], words[96];
    figure_open(to, width, height, "how the objective answers to each parameter");
    const double best = left + scale * log(e->best[0].objective[0] / low);
    strbuf_printf(to, "<path d=\"M%s %sV%s\" class=\"mark\"/>", number_fixed(best, 1).at,
                  number_fixed(top - 4, 1).at, number_fixed(height - 22, 1).at);
    n = 0;
    for (uint32_t i = 0; i < e->n_sensitivities; i++) {
        if (has_swing(&e->sensitivities[i]))
            tornado_bar(to, s, &e->sensitivities[i], left, row * n++ + top, low, scale);
    }
    figure_goal(value, sizeof value, s, 0, e->best[0].objective[0]);
    snprintf(words, sizeof words, "the best: %s", value);
    figure_text(to, best, height - 8, best < left + 40 ? "key" : "mid key",
                str_from(words));
    strbuf_add(to, STR("</svg>"));
}
