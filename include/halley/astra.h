/* halley/astra.h - results in the form in which ASTRA-sim's scripts expect them. */
#ifndef HALLEY_ASTRA_H
#define HALLEY_ASTRA_H

#include "halley/sim.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the log of a run under ASTRA-sim's rules needs of it: for halley_sim_opts. */
halley_journal halley_astra_journal(const halley_cluster *cluster, bool has_folder);

/*
 * Write the log of a run to `to`: dates, loggers, levels and lines as ASTRA-sim writes
 * them, in its order. With `folder` (NULL: none) also to log.log there, with the lines
 * below "info", and errors to err.log; both are appended to. With track-local-mem in the
 * system file, local_mem_trace.RANK.json (or what the file names) is written as well.
 * The result needs the journal of halley_astra_journal.
 */
halley_status halley_astra_log_write(FILE *to, const halley_result *result,
                                     const halley_trace_set *traces,
                                     const halley_cluster *cluster, const char *folder,
                                     halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
