/* recording/record/facts.h - facts about a recording as a whole, as JSON for the trace.
 */
#ifndef RECORDING_RECORD_FACTS_H
#define RECORDING_RECORD_FACTS_H

#include "recording/record/comms.h"
#include "recording/record/hta.h"
#include "recording/record/rebuild.h"

typedef struct rec_facts_input {
    const record *rec;
    const rec_graph *graph;
    const rec_hta *hta; /* computed before the graph is built, because both are large */
    const rec_rules *rules;
    const rec_groups *groups;
    const char *recorded_on; /* NULL = the recording's own device name */
    size_t n_ranks;          /* linked in the same run */
    bool is_pair;            /* with an execution trace: its report has the warnings */
    int64_t zero_ns;
    int64_t clock_offset_ns; /* added to its times to agree with rank 0 */
} rec_facts_input;

/* Write one JSON object. False: no memory. */
bool rec_write_facts(strbuf *to, const rec_facts_input *in);
/* Write the warnings of that object as JSON strings, separated by commas. */
void rec_write_warnings(strbuf *to, const rec_facts_input *in);

#endif
