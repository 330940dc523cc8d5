/* report/explore/explore_figures.h - the figures of an exploration as SVG, and words
 * about it. */
#ifndef REPORT_EXPLORE_FIGURES_H
#define REPORT_EXPLORE_FIGURES_H

#include "base/str.h"
#include "halley/explore.h"

/* What a figure is drawn from. */
typedef struct figure_source {
    const halley_study *study;
    const halley_exploration *e;
} figure_source;

/* "tp 8, cxl.bandwidth 512 GB/s": what distinguishes a design from the others of this
 * study. */
void figure_label(strbuf *to, const figure_source *s, const halley_candidate *c);
/* A value of objective i, with its unit. */
const char *figure_goal(char *to, size_t size, const figure_source *s, uint32_t i,
                        double value);

/* What figures are made of: the width of one, its opening, words, and a group with a tip
 * for the pointer (whose words are escaped here). */
enum { FIGURE_WIDTH = 860 };
void figure_open(strbuf *to, double width, double height, const char *title);
void figure_text(strbuf *to, double x, double y, const char *class, str words);
__attribute__((format(printf, 2, 3))) void figure_tip(strbuf *to, const char *format,
                                                      ...);

/* Some designs in a row, perhaps the best for each value of one axis. */
typedef struct figure_list {
    const halley_candidate *at;
    uint32_t n;
    bool about; /* the values of `axis` */
    uint32_t axis;
} figure_list;

/* Each appends one <svg> element. Bars of step time, or of memory, part by part. */
void figure_breakdown(strbuf *to, const figure_source *s, const figure_list *list);
void figure_memory(strbuf *to, const figure_source *s, const figure_list *list);
void figure_heat(strbuf *to, const figure_source *s, const halley_heat *heat);
void figure_tornado(strbuf *to, const figure_source *s);
void figure_pareto(strbuf *to, const figure_source *s);
/* The operators of a layer under the roofs of a slice. */
void figure_roofline(strbuf *to, const figure_source *s, const halley_slice *slice);
/* Patterns that distinguish parts without colour; once in a document. */
void figure_patterns(strbuf *to);

#endif
