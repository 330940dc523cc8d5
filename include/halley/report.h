/*
 * halley/report.h - results for people: HTML pages, SVG figures, tables as text, and
 * timelines that Perfetto and chrome://tracing open. Pictures of single traces are in
 * halley/trace_view.h.
 *
 * Files appear whole or not at all. Pages hold everything they need and load nothing.
 * Texts are the caller's, to free().
 */
#ifndef HALLEY_REPORT_H
#define HALLEY_REPORT_H

#include "halley/explore.h"
#include "halley/sim.h"
#include "halley/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An exploration as one HTML page: front, heat maps, sensitivities, break-even. */
halley_status halley_report_explore_page(const char *path, const halley_study *study,
                                         const halley_exploration *exploration,
                                         halley_error *err);
/* Each of its figures as SVG into a folder, which is made if it is not there. */
halley_status halley_report_explore_figures(const char *folder, const halley_study *study,
                                            const halley_exploration *exploration,
                                            halley_error *err);
/* The `top` best designs, the front, what matters, and what was refused; 0 = 10. */
halley_status halley_report_explore_text(char **out, const halley_study *study,
                                         const halley_exploration *exploration,
                                         uint32_t top, halley_error *err);

/* Times of ranks, communication by kind, use of the network. */
halley_status halley_report_sim_text(char **out, const halley_result *result,
                                     halley_error *err);
/* The critical path; needs a result with recorded nodes (halley_sim_opts.record). */
halley_status halley_report_sim_path(char **out, const halley_result *result,
                                     const halley_trace_set *traces, halley_error *err);
/* A row per rank as CSV. */
halley_status halley_report_sim_ranks(char **out, const halley_result *result,
                                      halley_error *err);
/* When everything ran, for Perfetto; needs recorded nodes. `expand` lists ranks
 * ("0-7,64") or is "all"; NULL: one rank of each symmetry class, with those it
 * represents. */
halley_status halley_report_sim_timeline(const char *path, const halley_result *result,
                                         const halley_trace_set *traces,
                                         const char *expand, halley_error *err);
/* How busy links were over time: SVG when the path ends in .svg, else CSV. Needs a result
 * with heat (halley_sim_opts.heat). */
halley_status halley_report_sim_heat(const char *path, const halley_result *result,
                                     halley_error *err);
/* How full the memories of the NPUs were over time, as CSV; needs recorded nodes. */
halley_status halley_report_sim_memory(const char *path, const halley_result *result,
                                       halley_error *err);

/* When the nodes of a recording ran, all ranks, for Perfetto. */
halley_status halley_report_recording_timeline(const char *path,
                                               const halley_trace_set *traces,
                                               halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
