/*
 * recording/record/hta.h - statistics as Holistic Trace Analysis (HTA) computes them.
 *
 * This follows HTA f4d0062 with HTA_DISABLE_NS_ROUNDING=1: which events it selects, how
 * it classifies them by name, and what it calls idle. The figures are for comparison
 * only. They differ from halley's own, which cover the whole window.
 */
#ifndef RECORDING_RECORD_HTA_H
#define RECORDING_RECORD_HTA_H

#include "recording/record/record.h"

enum { HTA_N_SETS = 8 }; /* sets of computation 1, communication 2, memory 4 */

typedef struct rec_hta {
    uint64_t n_events;
    int64_t span_ns, idle_ns, compute_ns, non_compute_ns;
    int64_t communication_ns, overlap_ns;
    int64_t host_wait_ns, kernel_wait_ns, other_ns;
    int64_t types_us[HTA_N_SETS]; /* each piece truncated to whole us, as HTA does */
} rec_hta;

/* False: no memory. n_events 0: HTA would report nothing. */
bool rec_count_as_hta(rec_hta *out, const record *r);
/* For example "COMPUTATION overlapping MEMORY"; for sets 1 to 7. Static. */
const char *rec_hta_set_name(size_t set);

#endif
