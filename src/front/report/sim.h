/* report/sim.h - the results of a simulation: tables for people, JSON and CSV for
 * programs, ASTRA-sim's lines, and a timeline that Perfetto and chrome://tracing open. */
#ifndef REPORT_SIM_H
#define REPORT_SIM_H

#include "base/error.h"
#include "halley/sim.h"
#include "halley/trace.h"
#include "report/json.h"
#include "report/losses.h"
#include "report/traces.h"

#include <stdio.h>

/* Totals, communication by kind, use of the network. */
halley_status report_sim_text(const halley_result *result, FILE *to, halley_error *err);
/* The parts of the network and its hottest links, each after a blank line. */
halley_status report_sim_network(const halley_result *result, FILE *to,
                                 halley_error *err);
/* Write everything except single nodes, as members of an open object. */
halley_status report_sim_json(report_json *j, const halley_result *result,
                              halley_error *err);
/* Write the critical path as the member "critical_path". With `whole` it has every step
 * (of a path of more than 20,000 steps the longest). Needs recorded nodes. */
halley_status report_sim_explain_json(report_json *j, const halley_result *result,
                                      const report_traces *traces, bool whole,
                                      halley_error *err);
/* State in one sentence what the critical path spends its time on; needs recorded nodes.
 */
halley_status report_sim_verdict(char to[REPORT_LOSSES_TEXT], const halley_result *result,
                                 const report_traces *traces, halley_error *err);
/* Write the critical path in words: percentages by kind, and its longest steps. Needs
 * recorded nodes. */
halley_status report_sim_explain(const halley_result *result, const report_traces *traces,
                                 FILE *to, halley_error *err);
/* Write one row per rank, as CSV. */
halley_status report_sim_ranks(const halley_result *result, FILE *to, halley_error *err);
/* ASTRA-sim's lines, ranks in the order in which they finished. */

/* Write how busy links were over time: an SVG picture if the path ends in .svg, else CSV.
 * Needs a result with heat. */
halley_status report_sim_heat(const halley_result *result, const char *path,
                              halley_error *err);
/* Write one row per link and direction that carried something, the busiest first, as CSV.
 */
halley_status report_sim_links(const halley_result *result, const char *path,
                               halley_error *err);
/* Write the five busiest links and who used them. Links of one kind with equal use are
 * listed once. */
halley_status report_sim_hottest(const halley_result *result, FILE *to,
                                 halley_error *err);
halley_status report_sim_hottest_json(report_json *j, const char *key,
                                      const halley_result *result, halley_error *err);
/* Write a row per rank, as the member `key`. */
halley_status report_sim_ranks_json(report_json *j, const char *key,
                                    const halley_result *result, halley_error *err);
/* Write one row per node and rank, as CSV; needs a result with recorded nodes. */
halley_status report_sim_nodes(const halley_result *result, const report_traces *traces,
                               const char *path, halley_error *err);
/* Write how full the NPUs' memories were over time, one row per change, as CSV. Needs a
 * result with recorded nodes. */
halley_status report_sim_memory(const halley_result *result, const char *path,
                                halley_error *err);
/*
 * Check the list of ranks of a timeline: "0-7,64" or "all". NULL: one rank per symmetry
 * class, with those it represents. False: it is no such list, or a rank does not exist.
 */
bool report_sim_expand_is(const char *expand, uint32_t n_ranks);
/*
 * Write a timeline as Chrome trace events (JSON). It has a track for every rank and kind
 * of work (or recorded thread and stream), and further tracks for nodes that would
 * overlap in it. Flows lead from sends to receives, and a counter shows the NPU's memory.
 * If the traces have recorded times, these are shown next to the run. Needs a result with
 * recorded nodes.
 */
halley_status report_sim_timeline(const halley_result *result,
                                  const report_traces *traces, const char *path,
                                  const char *expand, halley_error *err);

#endif
