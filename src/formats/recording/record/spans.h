/* recording/record/spans.h - sets of time as lists of intervals. */
#ifndef RECORDING_RECORD_SPANS_H
#define RECORDING_RECORD_SPANS_H

#include "base/array.h"

#include <stdint.h>

typedef struct rec_span {
    int64_t begin_ns, end_ns;
} rec_span;
typedef ARRAY(rec_span) rec_spans;

/* Sort and merge the intervals, so that they are ascending and disjoint. */
void rec_spans_merge(rec_spans *spans);
/* The length of a merged list, and of the intersection of two. */
int64_t rec_spans_length(const rec_spans *spans);
int64_t rec_spans_common(const rec_spans *a, const rec_spans *b);

#endif
