/*
 * ingest/record/hta.h - a recording as Holistic Trace Analysis counts it.
 *
 * HTA f4d0062 with HTA_DISABLE_NS_ROUNDING=1: which events it selects, how it sorts them
 * into types by name, and what it calls idle. Its figures differ from halley's own, which
 * cover the whole window; they are for comparison.
 */
#ifndef INGEST_RECORD_HTA_H
#define INGEST_RECORD_HTA_H

#include "ingest/record/record.h"

enum { HTA_N_SETS = 8 }; /* sets of computation 1, communication 2, memory 4 */

typedef struct rec_hta {
    uint64_t n_events;
    int64_t span_ns, idle_ns, compute_ns, non_compute_ns;
    int64_t communication_ns, overlap_ns;
    int64_t host_wait_ns, kernel_wait_ns, other_ns;
    int64_t types_us[HTA_N_SETS]; /* each piece cut to whole us, as HTA does */
} rec_hta;

/* False: no memory. n_events 0: HTA would have nothing to say. */
bool rec_count_as_hta(rec_hta *out, const record *r);
/* "COMPUTATION overlapping MEMORY"; for sets 1 to 7. Static. */
const char *rec_hta_set_name(size_t set);

#endif
