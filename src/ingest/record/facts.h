/* ingest/record/facts.h - what a recording says as a whole, as JSON for the trace. */
#ifndef INGEST_RECORD_FACTS_H
#define INGEST_RECORD_FACTS_H

#include "ingest/record/comms.h"
#include "ingest/record/hta.h"
#include "ingest/record/rebuild.h"

typedef struct rec_facts_input {
    const record *rec;
    const rec_graph *graph;
    const rec_hta *hta; /* counted before the graph, as both are large */
    const rec_rules *rules;
    const rec_groups *groups;
    const char *recorded_on; /* NULL = the recording's own device name */
    size_t n_ranks;          /* that were linked together */
    bool is_pair;            /* with an execution trace: its report says what is odd */
    int64_t zero_ns;
} rec_facts_input;

/* One JSON object. False: no memory. */
bool rec_write_facts(strbuf *to, const rec_facts_input *in);
/* The warnings in it, each as a JSON string, separated by commas. */
void rec_write_warnings(strbuf *to, const rec_facts_input *in);

#endif
