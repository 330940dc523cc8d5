/* report/explore/explore_figures.h - the figures of an exploration as SVG, and their
 * labels. */
#ifndef REPORT_EXPLORE_FIGURES_H
#define REPORT_EXPLORE_FIGURES_H

#include "base/str.h"
#include "halley/explore.h"

/* The data from which a figure is drawn. */
typedef struct figure_source {
    const halley_study *study;
    const halley_exploration *e;
} figure_source;

/* Write what distinguishes a design from the others of this study: "tp 8, cxl.bandwidth
 * 512 GB/s". */
void figure_label(strbuf *to, const figure_source *s, const halley_candidate *c);
/* A value of objective i, with its unit. */
const char *figure_goal(char *to, size_t size, const figure_source *s, uint32_t i,
                        double value);

/* Elements of figures: the width of a figure, its opening tag, text, and a group with a
 * tooltip (whose text is escaped here). */
enum { FIGURE_WIDTH = 860 };
void figure_open(strbuf *to, double width, double height, const char *title);
void figure_text(strbuf *to, double x, double y, const char *class, str words);
__attribute__((format(printf, 2, 3))) void figure_tip(strbuf *to, const char *format,
                                                      ...);

/* A list of designs, possibly the best for each value of one axis. */
typedef struct figure_list {
    const halley_candidate *at;
    uint32_t n;
    bool about; /* the values of `axis` */
    uint32_t axis;
} figure_list;

/* A figure: one <svg> element, and the numbers it shows as CSV. Both stay empty if there
 * is nothing to show. */
typedef struct figure {
    strbuf svg, csv;
} figure;
/* A comma, and the number if it is one. */
void figure_add_number(strbuf *to, double value);

/* Bars of step time, or of memory, by part. */
void figure_breakdown(figure *to, const figure_source *s, const figure_list *list);
void figure_memory(figure *to, const figure_source *s, const figure_list *list);
void figure_heat(figure *to, const figure_source *s, const halley_heat *heat);
void figure_tornado(figure *to, const figure_source *s);
void figure_pareto(figure *to, const figure_source *s);
/* The operators of a layer under the roofs of a slice. */
void figure_roofline(figure *to, const figure_source *s, const halley_slice *slice);
/* Patterns that distinguish parts without colour; once per document. */
void figure_patterns(strbuf *to);

#endif
