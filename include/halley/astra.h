/* halley/astra.h - write results in the format that ASTRA-sim's scripts expect. */
#ifndef HALLEY_ASTRA_H
#define HALLEY_ASTRA_H

#include "halley/sim.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The journal level (for halley_sim_opts) that the log of a run under ASTRA-sim's rules
 * needs. */
halley_journal halley_astra_journal(const halley_cluster *cluster, bool has_folder);

/*
 * Write the log of a run to `to`. Dates, loggers, levels, lines and their order are those
 * of ASTRA-sim. If `folder` is not NULL, the log, including the lines below "info", is
 * also appended to log.log in that folder. Errors are appended to err.log there. If the
 * system file sets track-local-mem, local_mem_trace.RANK.json (or the name that the file
 * gives) is written as well. The result must have been made with the journal of
 * halley_astra_journal.
 */
halley_status halley_astra_log_write(FILE *to, const halley_result *result,
                                     const halley_trace_set *traces,
                                     const halley_cluster *cluster, const char *folder,
                                     halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
