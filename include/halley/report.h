/*
 * halley/report.h - results for people: HTML pages, SVG figures, tables as text, and
 * timelines for Perfetto and chrome://tracing. Pictures of single traces are in
 * halley/trace_view.h.
 *
 * A file is written completely or not at all. Pages are self-contained and load nothing.
 * The caller must free() texts.
 */
#ifndef HALLEY_REPORT_H
#define HALLEY_REPORT_H

#include "halley/explore.h"
#include "halley/sim.h"
#include "halley/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An exploration as one HTML page: Pareto front, heat maps, sensitivities, break-even. */
halley_status halley_report_explore_page(const char *path, const halley_study *study,
                                         const halley_exploration *exploration,
                                         halley_error *err);
/* Write each of its figures as SVG into a folder, which is created if necessary. */
halley_status halley_report_explore_figures(const char *folder, const halley_study *study,
                                            const halley_exploration *exploration,
                                            halley_error *err);
/* The `top` best designs (0 = 10), the Pareto front, sensitivities, and refusals. */
halley_status halley_report_explore_text(char **out, const halley_study *study,
                                         const halley_exploration *exploration,
                                         uint32_t top, halley_error *err);

/* Times of ranks, communication by kind, network utilization. */
halley_status halley_report_sim_text(char **out, const halley_result *result,
                                     halley_error *err);
/* The critical path; needs a result with recorded nodes (halley_sim_opts.record). */
halley_status halley_report_sim_path(char **out, const halley_result *result,
                                     const halley_trace_set *traces, halley_error *err);
/* CSV with one row per rank. */
halley_status halley_report_sim_ranks(char **out, const halley_result *result,
                                      halley_error *err);
/* The times of all nodes, for Perfetto; needs recorded nodes. `expand` lists ranks
 * ("0-7,64") or is "all". NULL: one rank of each symmetry class, labelled with the ranks
 * it represents. */
halley_status halley_report_sim_timeline(const char *path, const halley_result *result,
                                         const halley_trace_set *traces,
                                         const char *expand, halley_error *err);
/* Utilization of links over time: SVG if the path ends in .svg, else CSV. Needs a result
 * with heat (halley_sim_opts.heat). */
halley_status halley_report_sim_heat(const char *path, const halley_result *result,
                                     halley_error *err);
/* Memory use of the NPUs over time, as CSV; needs recorded nodes. */
halley_status halley_report_sim_memory(const char *path, const halley_result *result,
                                       halley_error *err);

/* The times of the nodes of a recording, all ranks, for Perfetto. */
halley_status halley_report_recording_timeline(const char *path,
                                               const halley_trace_set *traces,
                                               halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
