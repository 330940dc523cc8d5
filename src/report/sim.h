/* report/sim.h - what a simulation gave: tables for people, JSON and CSV for programs,
 * ASTRA-sim's lines, and a timeline that Perfetto and chrome://tracing open. */
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
/* Everything but single nodes, as members of an open object. */
halley_status report_sim_json(report_json *j, const halley_result *result,
                              halley_error *err);
/* The critical path as the member "critical_path", with `whole` every step of it (of a
 * path of more than 20,000 the longest); needs recorded nodes. */
halley_status report_sim_explain_json(report_json *j, const halley_result *result,
                                      const report_traces *traces, bool whole,
                                      halley_error *err);
/* What the critical path spends its time on, in a sentence; needs recorded nodes. */
halley_status report_sim_verdict(char to[REPORT_LOSSES_TEXT], const halley_result *result,
                                 const report_traces *traces, halley_error *err);
/* The critical path in words: shares by kind, and its longest steps. Needs recorded
 * nodes. */
halley_status report_sim_explain(const halley_result *result, const report_traces *traces,
                                 FILE *to, halley_error *err);
/* One row a rank, as CSV. */
halley_status report_sim_ranks(const halley_result *result, FILE *to, halley_error *err);
/* ASTRA-sim's lines, ranks in the order in which they finished. */

/* How busy links were over time: an SVG picture when the path ends in .svg, else CSV.
 * Needs a result with heat. */
halley_status report_sim_heat(const halley_result *result, const char *path,
                              halley_error *err);
/* One row for each link and direction that carried something, the busiest first, as CSV.
 */
halley_status report_sim_links(const halley_result *result, const char *path,
                               halley_error *err);
/* The five busiest links, those of one kind with the same use once, and who used them. */
halley_status report_sim_hottest(const halley_result *result, FILE *to,
                                 halley_error *err);
halley_status report_sim_hottest_json(report_json *j, const char *key,
                                      const halley_result *result, halley_error *err);
/* A row for every rank, as the member `key`. */
halley_status report_sim_ranks_json(report_json *j, const char *key,
                                    const halley_result *result, halley_error *err);
/* One row a node and rank, as CSV; needs a result with recorded nodes. */
halley_status report_sim_nodes(const halley_result *result, const report_traces *traces,
                               const char *path, halley_error *err);
/* How full the NPUs' memories were over time: a row a change, as CSV; needs a result with
 * recorded nodes. */
halley_status report_sim_memory(const halley_result *result, const char *path,
                                halley_error *err);
/*
 * Which ranks a timeline has, as a list: "0-7,64" or "all". NULL: one of each symmetry
 * class, with those it represents. False: it is no such list, or a rank is not there.
 */
bool report_sim_expand_is(const char *expand, uint32_t n_ranks);
/*
 * A track for every rank and kind of work (or recorded thread and stream), and a further
 * one for what would overlap in it; flows from sends to receives, a counter of the NPU's
 * memory, and, where the traces say when nodes ran, that next to it; JSON in the form of
 * Chrome's trace events. Needs a result with recorded nodes.
 */
halley_status report_sim_timeline(const halley_result *result,
                                  const report_traces *traces, const char *path,
                                  const char *expand, halley_error *err);

#endif
