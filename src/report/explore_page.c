/*
 * One page about an exploration: what was found in words, then where the time goes, how
 * parameters matter, what was refused, and the study itself, so that it can be run again.
 * All text from the study goes in escaped.
 */
#include "report/explore_page.h"

#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "report/explore_figures.h"
#include "report/explore_files.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_BARS = 12, MOST_DETAILS = 12, MOST_ROWS = 20 };

static void add_markup(strbuf *to, const char *words)
{
    strbuf_add(to, str_from(words));
}

static void add_text(strbuf *to, const char *words)
{
    strbuf_xml(to, str_from(words));
}

static void add_section_heading(strbuf *to, const char *title, const char *below)
{
    strbuf_printf(to, "<h2>%s</h2><p class=\"soft\">%s</p>", title, below);
}

static double add_gain(const figure_source *s, const halley_candidate *c)
{
    const double base = s->e->baseline.objective[0], mine = c->objective[0];
    return halley_study_objective(s->study, 0)->maximize ? mine / base : base / mine;
}

static void add_label(strbuf *to, const figure_source *s, const halley_candidate *c)
{
    strbuf words = {0};
    figure_label(&words, s, c);
    strbuf_xml(to, strbuf_str(&words));
    to->failed |= words.failed;
    strbuf_fini(&words);
}

/* The parameter that changes the objective most around the best; NULL: none is known. */
static const halley_sensitivity *find_widest(const halley_exploration *e)
{
    const halley_sensitivity *most = NULL;
    for (uint32_t i = 0; i < e->n_sensitivities; i++) {
        const halley_sensitivity *const v = &e->sensitivities[i];
        if (v->low > 0 && (!most || v->high / v->low > most->high / most->low))
            most = v;
    }
    return most;
}

/* What the numbers rest on: defaults, headroom, the error to expect. */
static void add_basis(strbuf *to, const halley_exploration *e)
{
    const halley_candidate *best = &e->best[0];
    char text[HALLEY_ERROR_BAR_TEXT];
    add_markup(to, "<p>Assumed: ");
    for (uint32_t i = 0; i < e->n_assumed; i++) {
        add_text(to, e->assumed[i]);
        add_markup(to, ", ");
    }
    strbuf_printf(to, "%s %% of the memory stays free. ",
                  number_digits(100 * e->headroom, 3).at);
    halley_error_bar_print(text, &best->error_bar);
    add_text(to, text);
    add_markup(to, " Comparable runs: ");
    add_text(to, best->error_bar.class_name);
    add_markup(to,
               "; they are benchmarks, and production runs can be 10 to 30 % slower.");
    strbuf_printf(to, " Training on %s tokens takes ", number_digits(e->tokens, 3).at);
    halley_metric_format(text, sizeof text, HALLEY_METRIC_TRAIN_TIME,
                         best->metrics[HALLEY_METRIC_TRAIN_TIME]);
    strbuf_printf(to, "<b>%s</b> and costs ", text);
    halley_metric_format(text, sizeof text, HALLEY_METRIC_TRAIN_COST,
                         best->metrics[HALLEY_METRIC_TRAIN_COST]);
    strbuf_printf(to, "<b>%s</b>.</p>", text);
}

/* The findings as a person would say them. */
static void add_study_summary(strbuf *to, const figure_source *s)
{
    const halley_exploration *e = s->e;
    const halley_candidate *best = &e->best[0];
    const halley_objective *goal = halley_study_objective(s->study, 0);
    char value[64];
    figure_goal(value, sizeof value, s, 0, best->objective[0]);
    add_markup(to, "<p>Of ");
    strbuf_printf(to, "%llu designs evaluated, %llu are feasible. The best, <b>",
                  (unsigned long long)e->n_evaluated, (unsigned long long)e->n_feasible);
    add_label(to, s, best);
    add_markup(to, "</b>, reaches a ");
    add_text(to, goal->text);
    strbuf_printf(to, " of <b>%s</b>", value);
    if (e->has_baseline) {
        figure_goal(value, sizeof value, s, 0, e->baseline.objective[0]);
        if (fabs(add_gain(s, best) - 1) < 0.005)
            add_markup(to, ", as good as the baseline (");
        else
            strbuf_printf(to, ", <b>%s×</b> better than the baseline (",
                          number_fixed(add_gain(s, best), 2).at);
        add_text(to, halley_study_baseline(s->study));
        strbuf_printf(to, ": %s%s)", value,
                      e->baseline.fits ? "" : ", which does not fit in memory");
    }
    add_markup(to, "; it is limited by ");
    add_text(to, best->limit);
    add_markup(to, ".</p>");
    if (e->baseline_refused[0]) {
        add_markup(to, "<p>There is no baseline: ");
        add_text(to, halley_study_baseline(s->study));
        add_markup(to, " cannot be, because ");
        add_text(to, e->baseline_refused);
        add_markup(to, ".</p>");
    }
    const halley_sensitivity *const v = find_widest(e);
    if (v) {
        add_markup(to, "<p>What matters most is <b>");
        add_text(to, halley_study_axis(s->study, v->axis)->name);
        strbuf_printf(to,
                      "</b>: over its range, all else held at the best, the "
                      "objective changes by a factor of %s.</p>",
                      number_fixed(v->high / v->low, 2).at);
    }
    add_basis(to, e);
    for (uint32_t i = 0; i < e->n_breaks; i++) {
        add_markup(to, "<p>");
        add_text(to, e->breaks[i].question);
        add_markup(to, " <b>");
        add_text(to, e->breaks[i].answer);
        add_markup(to, "</b>.</p>");
    }
}

static void add_study_tile(strbuf *to, const char *value, const char *name)
{
    add_markup(to, "<div class=\"tile\"><b>");
    add_text(to, value);
    add_markup(to, "</b><span>");
    add_text(to, name);
    add_markup(to, "</span></div>");
}

static void add_study_tiles(strbuf *to, const figure_source *s)
{
    const halley_candidate *best = &s->e->best[0];
    char value[64];
    add_markup(to, "<div class=\"tiles\">");
    figure_goal(value, sizeof value, s, 0, best->objective[0]);
    add_study_tile(to, value, halley_study_objective(s->study, 0)->text);
    if (s->e->has_baseline) {
        snprintf(value, sizeof value, "%s×", number_fixed(add_gain(s, best), 2).at);
        add_study_tile(to, value, "against the baseline");
    }
    static const uint32_t shown[] = {
        HALLEY_METRIC_MFU,        HALLEY_METRIC_TOKENS_PER_S,
        HALLEY_METRIC_MEMORY,     HALLEY_METRIC_COST_PER_TOKEN,
        HALLEY_METRIC_TRAIN_TIME, HALLEY_METRIC_TRAIN_COST};
    static const char *const names[] = {"of peak (MFU)",    "tokens a second",
                                        "memory of an NPU", "a million tokens",
                                        "to train",         "to train"};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        halley_metric_format(value, sizeof value, shown[i], best->metrics[shown[i]]);
        char *million = strstr(value, " USD/M"); /* its tile says so */
        if (million)
            snprintf(million, 5, " USD");
        add_study_tile(to, value, names[i]);
    }
    add_markup(to, "</div>");
}

/* A figure for wide and one for narrow pages; the style shows one of them. */
typedef void drawing(strbuf *to, const figure_source *s, const void *what);

static void add_figure(strbuf *to, const figure_source *s, drawing *draw,
                       const void *what)
{
    figure_source narrow = *s;
    narrow.narrow = true;
    add_markup(to, "<div class=\"fig wide-page\">");
    draw(to, s, what);
    add_markup(to, "</div><div class=\"fig narrow-page\">");
    draw(to, &narrow, what);
    add_markup(to, "</div>");
}

static figure_list best_of(const halley_exploration *e)
{
    return (figure_list){.at = e->best,
                         .n = e->n_best < MOST_BARS ? e->n_best : MOST_BARS};
}

static figure_list list_of(const halley_slice *slice)
{
    return (figure_list){slice->best, slice->n, true, slice->axis};
}

static void draw_breakdown(strbuf *to, const figure_source *s, const void *what)
{
    figure_breakdown(to, s, what);
}

static void draw_memory(strbuf *to, const figure_source *s, const void *what)
{
    figure_memory(to, s, what);
}

static void draw_heat(strbuf *to, const figure_source *s, const void *what)
{
    figure_heat(to, s, what);
}

static void draw_tornado(strbuf *to, const figure_source *s, const void *what)
{
    (void)what;
    figure_tornado(to, s);
}

static void draw_pareto(strbuf *to, const figure_source *s, const void *what)
{
    (void)what;
    figure_pareto(to, s);
}

static void draw_roofline(strbuf *to, const figure_source *s, const void *what)
{
    figure_roofline(to, s, what);
}

static uint32_t add_varying(const halley_study *study)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < halley_study_axes(study); i++)
        n += halley_study_axis(study, i)->n > 1 && !halley_study_axis(study, i)->inner;
    return n;
}

static void add_breakdowns(strbuf *to, const figure_source *s)
{
    const halley_exploration *e = s->e;
    const figure_list best = best_of(e);
    add_section_heading(
        to, "Where the time goes",
        "The best designs; each bar is one step, its parts exposed time.");
    add_figure(to, s, draw_breakdown, &best);
    /* With one parameter these are the same bars in another order. */
    for (uint32_t i = 0; i < e->n_slices && add_varying(s->study) > 1; i++) {
        add_markup(to, "<h2>The best for each value of ");
        add_text(to, halley_study_axis(s->study, e->slices[i].axis)->name);
        add_markup(to, "</h2>");
        const figure_list list = list_of(&e->slices[i]);
        add_figure(to, s, draw_breakdown, &list);
    }
}

static void add_maps(strbuf *to, const figure_source *s)
{
    if (s->e->n_heats == 0)
        return;
    add_section_heading(
        to, "Two parameters at a time",
        "The best objective in each cell, all else free; darker is better, the frame "
        "marks the best, a dash means that nothing is feasible.");
    for (uint32_t i = 0; i < s->e->n_heats; i++)
        add_figure(to, s, draw_heat, &s->e->heats[i]);
}

static void add_sensitivity(strbuf *to, const figure_source *s)
{
    const halley_exploration *e = s->e;
    if (e->n_sensitivities == 0)
        return;
    add_section_heading(
        to, "What it depends on",
        "Each parameter over its range, all else at the best design. Elasticity: "
        "percent change of the objective for one percent more of the parameter.");
    add_figure(to, s, draw_tornado, NULL);
    add_markup(to, "<div class=\"wide\"><table><tr><th>Parameter</th><th "
                   "class=\"n\">Elasticity</th><th class=\"n\">Least</th><th>at</th><th "
                   "class=\"n\">Greatest</th><th>at</th><th class=\"n\">Swing</th></tr>");
    for (uint32_t i = 0; i < e->n_sensitivities; i++) {
        const halley_sensitivity *v = &e->sensitivities[i];
        const halley_axis *a = halley_study_axis(s->study, v->axis);
        char low[64], high[64], slope[NUMBER_TEXT];
        if (isnan(v->low))
            continue;
        figure_goal(low, sizeof low, s, 0, v->low);
        figure_goal(high, sizeof high, s, 0, v->high);
        snprintf(slope, sizeof slope, "%s",
                 isnan(v->elasticity) ? "–" : number_signed(v->elasticity, 3).at);
        add_markup(to, "<tr><td>");
        add_text(to, a->name);
        strbuf_printf(to, "</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td>",
                      slope, low);
        add_text(to, a->texts[v->low_value]);
        strbuf_printf(to, "</td><td class=\"n\">%s</td><td>", high);
        add_text(to, a->texts[v->high_value]);
        strbuf_printf(to, "</td><td class=\"n\">%s×</td></tr>",
                      number_fixed(v->high / v->low, 2).at);
    }
    add_markup(to, "</table></div>");
}

static void trade_off(strbuf *to, const figure_source *s)
{
    if (halley_study_objectives(s->study) < 2 || s->e->n_front == 0)
        return;
    char below[160];
    snprintf(below, sizeof below,
             "%u designs are better than every other in at least one respect (filled); "
             "rings are other good designs.",
             s->e->n_front);
    add_section_heading(to, "Trade-off", below);
    add_figure(to, s, draw_pareto, NULL);
}

static void add_memory_section(strbuf *to, const figure_source *s)
{
    const figure_list best = best_of(s->e);
    add_section_heading(
        to, "Memory",
        "Of the fullest stage, by class; the dashed mark is local memory: what "
        "reaches beyond it is stored in expanded memory.");
    add_figure(to, s, draw_memory, &best);
}

static void add_rooflines(strbuf *to, const figure_source *s)
{
    for (uint32_t i = 0; i < s->e->n_slices; i++) {
        const halley_slice *slice = &s->e->slices[i];
        if (!slice->roofline || slice->n == 0)
            continue;
        add_markup(to, "<h2>The layer under the roofline, by ");
        add_text(to, halley_study_axis(s->study, slice->axis)->name);
        add_markup(
            to,
            "</h2><p class=\"soft\">Each column of points is an operator, a point its "
            "speed at one value; what is on the slope waits for memory.</p>");
        add_figure(to, s, draw_roofline, slice);
    }
}

static void add_detail(strbuf *to, const figure_source *s, const halley_candidate *c,
                       uint32_t rank)
{
    char value[64];
    figure_goal(value, sizeof value, s, 0, c->objective[0]);
    strbuf_printf(to, "<details%s><summary><b>%u.</b> ", rank == 1 ? " open" : "", rank);
    add_label(to, s, c);
    strbuf_printf(to, " &nbsp;<span class=\"soft\">%s</span></summary><p>", value);
    add_text(to, c->model);
    add_markup(to, " on ");
    add_text(to, c->cluster);
    const halley_plan *p = &c->plan;
    strbuf_printf(to,
                  ": tp %u, pp %u, dp %u, cp %u, ep %u, virtual stages %u, ZeRO %u, "
                  "micro-batch %u of %u, recompute %s. Limited by ",
                  p->tp, p->pp, p->dp, p->cp, p->ep, p->virtual_stages, p->zero,
                  p->micro_batch, p->global_batch, halley_recompute_name(p->recompute));
    add_text(to, c->limit);
    strbuf_printf(to, ". Expect about %s %% error; its schedule was timed %s.</p><dl>",
                  number_fixed(100 * c->error_bar.typical, 0).at,
                  c->schedule_walked ? "pass by pass" : "in closed form");
    for (uint32_t i = 0; i < HALLEY_N_METRICS; i++) {
        if (c->metrics[i] == 0)
            continue;
        halley_metric_format(value, sizeof value, i, c->metrics[i]);
        strbuf_printf(to, "<div><dt>%s</dt><dd>%s</dd></div>", halley_metric_key(i),
                      value);
    }
    add_markup(to, "</dl></details>");
}

static void add_details(strbuf *to, const figure_source *s)
{
    const uint32_t n = s->e->n_best < MOST_DETAILS ? s->e->n_best : MOST_DETAILS;
    add_section_heading(to, "Design by design",
                        "Everything known of each, in the order of the objective.");
    for (uint32_t i = 0; i < n; i++)
        add_detail(to, s, &s->e->best[i], i + 1);
}

static void add_verified(strbuf *to, const figure_source *s)
{
    const halley_exploration *e = s->e;
    if (e->n_verified == 0)
        return;
    add_section_heading(
        to, "Verified by simulation",
        "The best designs once more, message by message. Where fewer replicas were "
        "simulated, both times are of that smaller run.");
    add_markup(
        to, "<div class=\"wide\"><table><tr><th>Design</th><th class=\"n\">Estimated</th>"
            "<th class=\"n\">Simulated</th><th class=\"n\">Gap</th><th>Note</th></tr>");
    for (uint32_t i = 0; i < e->n_verified; i++) {
        const halley_verification *v = &e->verified[i];
        char a[64] = "–", b[64] = "–", gap[48] = "–";
        if (v->done) {
            halley_metric_format(a, sizeof a, HALLEY_METRIC_STEP_TIME, v->estimated_s);
            halley_metric_format(b, sizeof b, HALLEY_METRIC_STEP_TIME, v->simulated_s);
            snprintf(gap, sizeof gap, "%s %%",
                     number_signed(100 * (v->simulated_s / v->estimated_s - 1), 1).at);
        }
        add_markup(to, "<tr><td>");
        add_label(to, s, &e->best[i]);
        strbuf_printf(to,
                      "</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td "
                      "class=\"n\">%s</td><td class=\"w\">",
                      a, b, gap);
        add_text(to, v->note);
        add_markup(to, "</td></tr>");
    }
    add_markup(to, "</table></div>");
}

static void add_refusals(strbuf *to, const figure_source *s)
{
    const halley_exploration *e = s->e;
    if (e->n_refusals == 0)
        return;
    add_section_heading(to, "What was refused",
                        "Designs that cannot be, or that the study excludes.");
    add_markup(to, "<div class=\"wide\"><table><tr><th "
                   "class=\"n\">Designs</th><th>Reason</th></tr>");
    for (uint32_t i = 0; i < e->n_refusals && i < MOST_ROWS; i++) {
        strbuf_printf(to, "<tr><td class=\"n\">%llu</td><td class=\"w\">",
                      (unsigned long long)e->refusals[i].designs);
        add_text(to, e->refusals[i].reason);
        add_markup(to, "</td></tr>");
    }
    add_markup(to, "</table></div>");
}

/* Systems without a feasible design, and by how much they miss. */
static void add_refused_values(strbuf *to, const figure_source *s)
{
    const halley_exploration *e = s->e;
    if (e->n_refused_values == 0)
        return;
    add_section_heading(to, "What nothing fits with",
                        "Values without a feasible design: why, with all else as in the "
                        "best, and how much memory is missing.");
    add_markup(to, "<div class=\"wide\"><table><tr><th>Parameter</th><th>Value</th><th "
                   "class=\"w\">Reason</th><th class=\"n\">Missing</th></tr>");
    for (uint32_t i = 0; i < e->n_refused_values && i < MOST_ROWS; i++) {
        const halley_refused_value *v = &e->refused_values[i];
        const halley_axis *a = halley_study_axis(s->study, v->axis);
        char missing[64] = "–";
        if (v->over_bytes > 0)
            halley_metric_format(missing, sizeof missing, HALLEY_METRIC_MEMORY,
                                 v->over_bytes);
        add_markup(to, "<tr><td>");
        add_text(to, a->name);
        add_markup(to, "</td><td>");
        add_text(to, a->texts[v->value]);
        add_markup(to, "</td><td class=\"w\">");
        add_text(to, v->reason);
        strbuf_printf(to, "</td><td class=\"n\">%s</td></tr>", missing);
    }
    add_markup(to, "</table></div>");
}

static void write_study_page(strbuf *to, const figure_source *s, const char *version)
{
    add_markup(
        to, "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
            "name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>");
    add_text(to, halley_study_name(s->study));
    add_markup(to, "</title><style>");
    add_markup(to, explore_css);
    add_markup(to, explore_page_css);
    add_markup(to, "</style></head><body>");
    figure_patterns(to);
    add_markup(to, "<main><h1>");
    add_text(to, halley_study_name(s->study));
    add_markup(to, "</h1>");
    if (s->e->n_best) {
        add_study_summary(to, s);
        add_study_tiles(to, s);
        add_breakdowns(to, s);
        add_maps(to, s);
        add_sensitivity(to, s);
        trade_off(to, s);
        add_memory_section(to, s);
        add_rooflines(to, s);
        add_verified(to, s);
        add_details(to, s);
    }
    add_refusals(to, s);
    add_refused_values(to, s);
    add_section_heading(to, "The study",
                        "To run it again: save this as study.yaml, then "
                        "<code>halley explore study.yaml --report page.html</code>.");
    add_markup(to, "<pre>");
    add_text(to, halley_study_text(s->study));
    strbuf_printf(to,
                  "</pre><footer>halley %s. Times are estimates in closed form unless "
                  "they are called simulated.</footer>"
                  "</main><div id=\"tip\"></div><script>",
                  version);
    add_markup(to, explore_js);
    add_markup(to, "</script></body></html>\n");
}

halley_status report_explore_page(const char *path, const halley_study *study,
                                  const halley_exploration *e, const char *version,
                                  halley_error *err)
{
    const figure_source s = {study, e, false};
    strbuf text = {0};
    write_study_page(&text, &s, version);
    return file_save(path, &text, err);
}

/* A figure alone carries its style and patterns with it. */
static halley_status save_plot(const char *folder, const char *name, strbuf *figure,
                               halley_error *err)
{
    strbuf alone = {0};
    char path[1024];
    const str svg = strbuf_str(figure);
    const char *inside = svg.n ? memchr(svg.at, '>', svg.n) : NULL;
    halley_status status = HALLEY_OK;
    if (inside) {
        const size_t head = (size_t)(inside - svg.at) + 1;
        strbuf_add(&alone, (str){svg.at, head});
        add_markup(&alone, "<style>");
        add_markup(&alone, explore_css);
        add_markup(&alone, "svg{background:var(--paper)}</style>");
        figure_patterns(&alone);
        strbuf_add(&alone, (str){svg.at + head, svg.n - head});
        alone.failed |= figure->failed;
        snprintf(path, sizeof path, "%s/%s.svg", folder, name);
        status = file_save(path, &alone, err);
    }
    strbuf_fini(&alone);
    strbuf_fini(figure);
    return status;
}

halley_status report_explore_plots(const char *folder, const halley_study *study,
                                   const halley_exploration *e, halley_error *err)
{
    const figure_source s = {study, e, false};
    strbuf f = {0};
    char name[64];
    const figure_list best = best_of(e);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        error_errno(err, "make the folder", errno);
        error_at_file(err, folder);
        return HALLEY_EIO;
    }
    figure_breakdown(&f, &s, &best);
    TRY(save_plot(folder, "breakdown", &f, err));
    figure_memory(&f, &s, &best);
    TRY(save_plot(folder, "memory", &f, err));
    figure_tornado(&f, &s);
    TRY(save_plot(folder, "sensitivity", &f, err));
    figure_pareto(&f, &s);
    TRY(save_plot(folder, "pareto", &f, err));
    for (uint32_t i = 0; i < e->n_heats; i++) {
        snprintf(name, sizeof name, "heat-%u", i + 1);
        figure_heat(&f, &s, &e->heats[i]);
        TRY(save_plot(folder, name, &f, err));
    }
    for (uint32_t i = 0; i < e->n_slices; i++) {
        snprintf(name, sizeof name, "roofline-by-%u", i + 1);
        figure_roofline(&f, &s, &e->slices[i]);
        TRY(save_plot(folder, name, &f, err));
        snprintf(name, sizeof name, "breakdown-by-%u", i + 1);
        const figure_list list = list_of(&e->slices[i]);
        figure_breakdown(&f, &s, &list);
        TRY(save_plot(folder, name, &f, err));
    }
    return HALLEY_OK;
}
