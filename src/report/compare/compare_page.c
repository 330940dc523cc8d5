/*
 * One page about a comparison of traces: the findings in words and tiles, then plots of
 * each distribution and mix, the simulated times, and what is given away. Colours and
 * frame are those of the exploration's page; all text from traces goes in escaped.
 */
#include "base/error.h"
#include "base/file/file.h"
#include "base/number/number.h"
#include "report/compare/compare.h"
#include "report/compare/compare_files.h"
#include "report/explore/explore_files.h"
#include "report/page.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    PLOT_WIDTH = 420,
    PLOT_HEIGHT = 210,
    LEFT = 34,
    RIGHT = 12,
    TOP = 10,
    BOTTOM = 26
};
enum { MOST_BARS = 12, AUC_WIDTH = 420, AUC_ROW = 46 };

static void add_html(strbuf *to, const char *words)
{
    strbuf_add(to, str_from(words));
}

static void add_escaped(strbuf *to, const char *words)
{
    strbuf_xml(to, str_from(words));
}

static void add_page_heading(strbuf *to, const char *title, const char *below)
{
    strbuf_printf(to, "<h2>%s</h2><p class=\"soft\">%s</p>", title, below);
}

static void add_page_legend(strbuf *to)
{
    add_html(to, "<div class=\"legend\"><span><i class=\"r\"></i>real</span><span><i "
                 "class=\"s\"></i>synth</span></div>");
}

static void add_compare_tile(strbuf *to, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add_compare_tile(strbuf *to, const char *name, const char *format, ...)
{
    char value[64];
    va_list args;
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    add_html(to, "<div class=\"tile\"><b>");
    add_escaped(to, value);
    add_html(to, "</b><span>");
    add_escaped(to, name);
    add_html(to, "</span></div>");
}

/* The largest relative change of the mean simulated time; NAN: none was simulated. */
static double time_change(const halley_comparison *c)
{
    double most = (double)NAN;
    for (int i = 0; i < HALLEY_N_REFERENCES; i++) {
        const double change = c->times[i].mean_synth_s / c->times[i].mean_real_s - 1;
        if (isfinite(change) && (isnan(most) || fabs(change) > fabs(most)))
            most = change;
    }
    return most;
}

static void add_compare_summary(strbuf *to, const report_comparison *r)
{
    const halley_comparison *const c = r->c;
    const double change = time_change(c);
    strbuf_printf(to,
                  "<p>%" PRIu32 " set%s of real traces against %" PRIu32 " of synth. ",
                  c->n_real, c->n_real == 1 ? "" : "s", c->n_synth);
    strbuf_printf(to,
                  "%s %% of the operators would have to be of another kind for the mixes "
                  "to be the same.",
                  number_fixed(100 * c->mixes[HALLEY_MIX_KINDS].total_variation, 1).at);
    if (!isnan(change))
        strbuf_printf(to,
                      " The mean simulated time differs by at most <b>%s %%</b> on three "
                      "clusters.",
                      number_fixed(100 * fabs(change), 1).at);
    strbuf_printf(
        to,
        " <b>%s %%</b> of the nodes, repeats of layers left aside, stand in runs "
        "of 64 or more copied from REAL.</p>",
        number_fixed(100 * c->verbatim[3].beyond, 2).at);
    if (c->not_simulated) {
        add_html(to, "<p class=\"note\">A set cannot be simulated: ");
        add_escaped(to, c->not_simulated);
        add_html(to, "</p>");
    }
}

static void add_compare_tiles(strbuf *to, const report_comparison *r)
{
    const halley_comparison *const c = r->c;
    const double change = time_change(c);
    add_html(to, "<div class=\"tiles\">");
    add_compare_tile(to, "operator mix, TV", "%s",
                     number_fixed(c->mixes[HALLEY_MIX_KINDS].total_variation, 3).at);
    add_compare_tile(to, "durations, KS", "%s",
                     number_fixed(c->spreads[HALLEY_Q_DURATION].ks, 3).at);
    add_compare_tile(to, "message sizes, KS", "%s",
                     number_fixed(c->spreads[HALLEY_Q_MESSAGE].ks, 3).at);
    add_compare_tile(to, "widths, KS", "%s",
                     number_fixed(c->spreads[HALLEY_Q_WIDTH].ks, 3).at);
    if (!isnan(change))
        add_compare_tile(to, "simulated time", "%s %%",
                         number_signed(100 * change, 1).at);
    add_compare_tile(to, "verbatim from 64 nodes", "%s %%",
                     number_fixed(100 * c->verbatim[3].beyond, 2).at);
    report_attack attacks[REPORT_ATTACKS];
    const size_t n_attacks = report_attacks(attacks, r);
    double most = 0;
    for (size_t i = 0; i < n_attacks; i++)
        most = fmax(most, attacks[i].auc->auc);
    if (n_attacks > 0)
        add_compare_tile(to, "membership, AUC", "%s", number_fixed(most, 3).at);
    add_html(to, "</div>");
}

/* A scale from values to pixels, by logarithm where the values span decades. */
typedef struct axis {
    double low, high;
    bool log;
} axis;

static double at_log(double value, double least)
{
    return log10(value > least ? value : least);
}

static axis axis_of(const halley_spread *s)
{
    axis a = {INFINITY, -INFINITY, false};
    double least = INFINITY;
    for (int i = 0; i < HALLEY_N_QUANTILES; i++) {
        const double both[] = {s->real[i], s->synth[i]};
        for (int k = 0; k < 2; k++) {
            if (isnan(both[k]))
                continue;
            a.low = fmin(a.low, both[k]);
            a.high = fmax(a.high, both[k]);
            if (both[k] > 0)
                least = fmin(least, both[k]);
        }
    }
    if (isfinite(least) && a.high > 50 * least) {
        a.log = true;
        a.low = floor(log10(least) * 2) / 2;
        a.high = ceil(log10(a.high) * 2) / 2;
    }
    if (!(a.high > a.low)) {
        a.low -= a.low == 0 ? 1 : fabs(a.low) * 0.1;
        a.high += a.high == 0 ? 1 : fabs(a.high) * 0.1;
    }
    return a;
}

static double x_of(const axis *a, double value)
{
    const double v = a->log ? at_log(value, pow(10, a->low)) : value;
    const double share = (v - a->low) / (a->high - a->low);
    return LEFT + share * (PLOT_WIDTH - LEFT - RIGHT);
}

static double y_of(double share)
{
    return TOP + (1 - share) * (PLOT_HEIGHT - TOP - BOTTOM);
}

/* The distribution function as a staircase through its quantiles. */
static void add_curve(strbuf *to, const axis *a, const double values[HALLEY_N_QUANTILES],
                      const char *class)
{
    if (isnan(values[0]))
        return;
    strbuf_printf(to, "<path class=\"%s\" d=\"M%s %s", class,
                  number_fixed(x_of(a, values[0]), 1).at, number_fixed(y_of(0), 1).at);
    for (int i = 0; i < HALLEY_N_QUANTILES; i++)
        strbuf_printf(to, "H%sV%s", number_fixed(x_of(a, values[i]), 1).at,
                      number_fixed(y_of((double)i / (HALLEY_N_QUANTILES - 1)), 1).at);
    add_html(to, "\"/>");
}

static const char *value_text(char to[32], int q, double value)
{
    if (q == HALLEY_Q_DURATION || q == HALLEY_Q_CRITICAL)
        units_format(to, 32, value, UNITS_TIME);
    else if (q == HALLEY_Q_TRAFFIC || q == HALLEY_Q_MESSAGE)
        units_format(to, 32, value, UNITS_BYTES);
    else
        units_format(to, 32, value, UNITS_COUNT);
    return to;
}

static void add_frame(strbuf *to, const axis *a, int q)
{
    for (int i = 0; i <= 4; i++) {
        const double y = y_of(i / 4.0);
        strbuf_printf(to,
                      "<path class=\"grid\" d=\"M%d %sH%d\"/><text class=\"key end\" "
                      "x=\"%d\" y=\"%s\">%d</text>",
                      LEFT, number_fixed(y, 1).at, PLOT_WIDTH - RIGHT, LEFT - 5,
                      number_fixed(y + 4, 1).at, 25 * i);
    }
    for (int i = 0; i <= 2; i++) {
        const double v = a->low + (a->high - a->low) * i / 2;
        char text[32];
        strbuf_printf(to, "<text class=\"key %s\" x=\"%s\" y=\"%d\">",
                      i == 0   ? ""
                      : i == 1 ? "mid"
                               : "end",
                      number_fixed(LEFT + (PLOT_WIDTH - LEFT - RIGHT) * i / 2.0, 1).at,
                      PLOT_HEIGHT - 8);
        add_escaped(to, value_text(text, q, a->log ? pow(10, v) : v));
        add_html(to, "</text>");
    }
}

static void spread_plot(strbuf *to, const halley_comparison *c, int q)
{
    const halley_spread *const s = &c->spreads[q];
    add_html(to, "<figure><figcaption>");
    add_escaped(to, halley_quantity_name((halley_quantity)q));
    strbuf_printf(to, "<span>KS %s", number_fixed(s->ks, 3).at);
    if (!isnan(s->wasserstein))
        strbuf_printf(to, ", W %s", number_fixed(s->wasserstein, 3).at);
    strbuf_printf(to,
                  "</span></figcaption><svg viewBox=\"0 0 %d %d\" role=\"img\" "
                  "aria-label=\"%s: share of values up to a size, percent\">",
                  PLOT_WIDTH, PLOT_HEIGHT, halley_quantity_name((halley_quantity)q));
    const axis a = axis_of(s);
    add_frame(to, &a, q);
    add_curve(to, &a, s->real, "real");
    add_curve(to, &a, s->synth, "synth");
    add_html(to, "</svg></figure>");
}

static void add_spreads(strbuf *to, const halley_comparison *c)
{
    add_page_heading(
        to, "Distributions",
        "Percent of values up to a size; where the curves coincide, both "
        "sides are alike. KS is the largest gap between them, W the area between "
        "them over the mean of REAL.");
    add_page_legend(to);
    add_html(to, "<div class=\"pair\">");
    for (int q = 0; q < HALLEY_N_QUANTITIES; q++)
        if (c->spreads[q].n_real + c->spreads[q].n_synth > 0)
            spread_plot(to, c, q);
    add_html(to, "</div>");
}

static void add_bar(strbuf *to, const char *class, double share, double most)
{
    strbuf_printf(to,
                  "<div class=\"bar\"><i class=\"%s\" style=\"width:%s%%\"></i>"
                  "<span>%s %%</span></div>",
                  class, number_fixed(most > 0 ? 80 * share / most : 0, 2).at,
                  number_fixed(100 * share, 1).at);
}

/* Bars as plain boxes, so that they fit any width. */
static void mix_plot(strbuf *to, const halley_shares *s)
{
    const size_t n = s->n < MOST_BARS ? s->n : MOST_BARS;
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fmax(s->list[i].real, s->list[i].synth));
    add_html(to, "<div class=\"mix\">");
    for (size_t i = 0; i < n; i++) {
        add_html(to, "<div class=\"label\">");
        add_escaped(to, s->list[i].label);
        add_html(to, "</div><div>");
        add_bar(to, "r", s->list[i].real, most);
        add_bar(to, "s", s->list[i].synth, most);
        add_html(to, "</div>");
    }
    add_html(to, "</div>");
    if (s->n > n)
        strbuf_printf(to, "<p class=\"soft\">and %zu more</p>", s->n - n);
}

static void all_mixes(strbuf *to, const halley_comparison *c)
{
    static const char *const below[HALLEY_N_MIXES] = {
        "Node types, collectives, and whether they run on the host.",
        "Names of nodes, numbers in them left out. Hidden names have none in common.",
        "Kinds of the two ends of each dependency.",
        "Bytes by type of communication.",
    };
    for (int m = 0; m < HALLEY_N_MIXES; m++) {
        const halley_shares *const s = &c->mixes[m];
        char text[200];
        if (s->n == 0)
            continue;
        snprintf(text, sizeof text, "%s Total variation %s.", below[m],
                 number_fixed(s->total_variation, 3).at);
        char title[64];
        snprintf(title, sizeof title, "%s", halley_mix_name((halley_mix)m));
        title[0] = (char)(title[0] - 32);
        add_page_heading(to, title, text);
        add_page_legend(to);
        mix_plot(to, s);
    }
}

static void time_cell(strbuf *to, double seconds)
{
    char text[32];
    strbuf_printf(to, "<td class=\"n\">%s</td>",
                  isnan(seconds) ? "–"
                                 : units_format(text, sizeof text, seconds, UNITS_TIME));
}

static void all_times(strbuf *to, const halley_comparison *c)
{
    add_page_heading(
        to, "Simulated time",
        "Mean and standard deviation over the sets, on clusters of as many NPUs as a "
        "set has ranks.");
    add_html(
        to, "<div class=\"wide\"><table><tr><th>Cluster</th><th class=\"n\">Sets</th><th "
            "class=\"n\">Mean, real</th><th class=\"n\">Synth</th><th "
            "class=\"n\">Change</th><th class=\"n\">Spread, real</th><th "
            "class=\"n\">Synth</th><th class=\"n\">KS</th></tr>");
    for (int i = 0; i < HALLEY_N_REFERENCES; i++) {
        const halley_times *const t = &c->times[i];
        const double change = 100 * (t->mean_synth_s / t->mean_real_s - 1);
        strbuf_printf(to, "<tr><td>%s</td><td class=\"n\">%" PRIu32 ", %" PRIu32 "</td>",
                      t->cluster, t->n_real, t->n_synth);
        time_cell(to, t->mean_real_s);
        time_cell(to, t->mean_synth_s);
        if (isfinite(change))
            strbuf_printf(to, "<td class=\"n\">%s %%</td>", number_signed(change, 2).at);
        else
            add_html(to, "<td class=\"n\">–</td>");
        time_cell(to, t->sd_real_s);
        time_cell(to, t->sd_synth_s);
        strbuf_printf(to, "<td class=\"n\">%s</td></tr>", number_fixed(t->ks, 3).at);
    }
    add_html(to, "</table></div>");
}

static void add_verbatim(strbuf *to, const halley_comparison *c)
{
    add_page_heading(
        to, "Copied runs",
        "Share of the nodes of SYNTH that stand in REAL in a run of at least that many "
        "nodes with the same types, values and relative dependencies. Beyond repeats: "
        "after what a trace repeats of itself (layers, micro-batches) was taken out.");
    add_html(to, "<div class=\"wide\"><table><tr><th class=\"n\">Nodes in a row</th><th "
                 "class=\"n\">As they are</th><th class=\"n\">Beyond repeats</th><th "
                 "class=\"n\">Types alone</th></tr>");
    for (int i = 0; i < HALLEY_N_VERBATIM; i++)
        strbuf_printf(to,
                      "<tr><td class=\"n\">%" PRIu32
                      "</td><td class=\"n\">%s %%</td><td class=\"n\">%s %%</td><td "
                      "class=\"n\">%s %%</td></tr>",
                      c->verbatim[i].length,
                      number_fixed(100 * c->verbatim[i].whole, 2).at,
                      number_fixed(100 * c->verbatim[i].beyond, 2).at,
                      number_fixed(100 * c->verbatim[i].shape, 2).at);
    add_html(to, "</table></div>");
}

static void add_neighbours(strbuf *to, const halley_comparison *c)
{
    add_page_heading(
        to, "Nearest real sets",
        "By features of the whole set, in standard deviations of REAL; and the share of "
        "all runs of four nodes that both have.");
    strbuf_printf(to, "<p>Median distance to the nearest set of REAL: <b>%s</b>",
                  number_digits(c->nearest_median, 3).at);
    if (!isnan(c->nearest_real_median))
        strbuf_printf(to, ", within REAL: <b>%s</b>",
                      number_digits(c->nearest_real_median, 3).at);
    add_html(to, ".</p><div class=\"wide\"><table><tr><th>Synth</th><th>Real</th><th "
                 "class=\"n\">Distance</th><th class=\"n\">Runs shared</th></tr>");
    for (size_t i = 0; i < c->n_nearest && i < 10; i++) {
        add_html(to, "<tr><td>");
        add_escaped(to, c->nearest[i].synth);
        add_html(to, "</td><td>");
        add_escaped(to, c->nearest[i].real);
        strbuf_printf(to, "</td><td class=\"n\">%s</td><td class=\"n\">%s %%</td></tr>",
                      number_digits(c->nearest[i].distance, 3).at,
                      number_fixed(100 * c->nearest[i].shared, 1).at);
    }
    add_html(to, "</table></div>");
}

static void add_leaks(strbuf *to, const halley_comparison *c)
{
    add_page_heading(
        to, "Names and numbers that show up again",
        "What fewer sets of REAL have than the least support points at them.");
    strbuf_printf(to,
                  "<p>In fewer than %" PRIu32 " sets of REAL: <b>%" PRIu64
                  "</b> names and <b>%" PRIu64
                  "</b> numbers of SYNTH (%s %% of its numbers).</p>",
                  c->min_support, c->n_names, c->n_values,
                  number_fixed(100 * c->values_share, 1).at);
    if (c->n_names_listed == 0)
        return;
    add_html(to, "<ul class=\"plain\">");
    for (size_t i = 0; i < c->n_names_listed; i++) {
        add_html(to, "<li>");
        add_escaped(to, c->names[i]);
        add_html(to, "</li>");
    }
    add_html(to, "</ul>");
}

static double auc_x(double value)
{
    return 12 + value * (AUC_WIDTH - 24);
}

/* A point with its interval on a scale from 0 to 1. */
static void auc_row(strbuf *to, int row, const char *name, const halley_auc *a)
{
    const double y = 36 + (double)AUC_ROW * row;
    strbuf_printf(to,
                  "<text x=\"12\" y=\"%s\">%s</text><text class=\"key end num\" "
                  "x=\"%d\" y=\"%s\">%s (%s to %s)</text>",
                  number_fixed(y - 14, 1).at, name, AUC_WIDTH - 12,
                  number_fixed(y - 14, 1).at, number_fixed(a->auc, 3).at,
                  number_fixed(a->low, 3).at, number_fixed(a->high, 3).at);
    strbuf_printf(to,
                  "<path class=\"whisk\" d=\"M%s %sH%s\"/><circle class=\"bars\" "
                  "cx=\"%s\" cy=\"%s\" r=\"5\"/>",
                  number_fixed(auc_x(a->low), 1).at, number_fixed(y, 1).at,
                  number_fixed(auc_x(a->high), 1).at, number_fixed(auc_x(a->auc), 1).at,
                  number_fixed(y, 1).at);
}

static void auc_scale(strbuf *to, int n_rows)
{
    static const char *const anchors[] = {"key", "key mid", "key mid", "key mid",
                                          "key end"};
    const int bottom = 18 + AUC_ROW * n_rows;
    for (int i = 0; i <= 4; i++)
        strbuf_printf(to,
                      "<path class=\"%s\" d=\"M%s 26V%d\"/><text class=\"%s\" "
                      "x=\"%s\" y=\"%d\">%s</text>",
                      i == 2 ? "mark" : "grid", number_fixed(auc_x(i / 4.0), 1).at,
                      bottom, anchors[i], number_fixed(auc_x(i / 4.0), 1).at, bottom + 16,
                      number_fixed(i / 4.0, 2).at);
}

static void add_membership(strbuf *to, const report_comparison *r)
{
    report_attack attacks[REPORT_ATTACKS];
    const int n = (int)report_attacks(attacks, r);
    if (n == 0)
        return;
    add_page_heading(
        to, "Who was in the training data?",
        "Area under the curve of attacks that distinguish members from others by SYNTH "
        "or, "
        "the likelihoods, by the model itself, with the 95 % interval; the line at 0.5 "
        "is a coin.");
    strbuf_printf(to,
                  "<p>%" PRIu32 " members, %" PRIu32
                  " others.</p><div class=\"pair\"><figure><svg viewBox=\"0 0 %d %d\" "
                  "role=\"img\" aria-label=\"area under the curve\">",
                  attacks[0].auc->n_members, attacks[0].auc->n_others, AUC_WIDTH,
                  40 + AUC_ROW * n);
    auc_scale(to, n);
    for (int i = 0; i < n; i++)
        auc_row(to, i, attacks[i].name, attacks[i].auc);
    add_html(to, "</svg></figure></div>");
}

static void write_compare_page(strbuf *to, const report_comparison *r)
{
    add_html(to, "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">");
    report_policy_add(to, explore_js_sha256);
    add_html(to,
             "<meta "
             "name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>");
    add_escaped(to, r->synth);
    add_html(to, " against ");
    add_escaped(to, r->real);
    add_html(to, "</title><style>");
    add_html(to, explore_css);
    add_html(to, explore_page_css);
    add_html(to, compare_css);
    add_html(to, "</style></head><body><main><h1>");
    add_escaped(to, r->synth);
    add_html(to, " <span class=\"soft\">against</span> ");
    add_escaped(to, r->real);
    add_html(to, "</h1>");
    add_compare_summary(to, r);
    add_compare_tiles(to, r);
    all_mixes(to, r->c);
    add_spreads(to, r->c);
    all_times(to, r->c);
    add_verbatim(to, r->c);
    add_neighbours(to, r->c);
    add_leaks(to, r->c);
    add_membership(to, r);
    add_html(to, "<footer>Made by <code>halley trace compare</code>.</footer></main><div "
                 "id=\"tip\"></div><script>");
    add_html(to, explore_js);
    add_html(to, "</script></body></html>\n");
}

halley_status report_compare_html(const report_comparison *r, const char *path,
                                  halley_error *err)
{
    strbuf text = {0};
    write_compare_page(&text, r);
    return file_save(path, &text, err);
}
