/* report/explore_figures.h - the figures of an exploration as SVG, and words about it. */
#ifndef REPORT_EXPLORE_FIGURES_H
#define REPORT_EXPLORE_FIGURES_H

#include "base/str.h"
#include "halley/explore.h"

/* What a figure is drawn from. */
typedef struct figure_source {
    const halley_study *study;
    const halley_exploration *e;
} figure_source;

/* "tp 8, cxl.bandwidth 512 GB/s": what tells a design from the others of this study. */
void figure_label(strbuf *to, const figure_source *s, const halley_candidate *c);
/* The name of an axis without what is plain. */
const char *figure_axis_name(const char *path);
/* A value of objective i, with its unit. */
const char *figure_goal(char *to, size_t size, const figure_source *s, uint32_t i,
                        double value);

/* Each appends one <svg> element. Bars of step time, or of memory, part by part. */
void figure_breakdown(strbuf *to, const figure_source *s, const halley_candidate *list,
                      uint32_t n);
void figure_memory(strbuf *to, const figure_source *s, const halley_candidate *list,
                   uint32_t n);
void figure_heat(strbuf *to, const figure_source *s, const halley_heat *heat);
void figure_tornado(strbuf *to, const figure_source *s);
void figure_pareto(strbuf *to, const figure_source *s);
/* Patterns that tell parts apart without colour; once in a document. */
void figure_patterns(strbuf *to);

#endif
