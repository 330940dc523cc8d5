/* Sets of time intervals. */
#include "recording/record/spans.h"

#include <stdlib.h>

static int compare_spans(const void *a, const void *b)
{
    const rec_span *const x = a, *const y = b;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

void rec_spans_merge(rec_spans *spans)
{
    size_t n = 0;
    if (spans->n > 0)
        qsort(spans->at, spans->n, sizeof *spans->at, compare_spans);
    for (size_t i = 0; i < spans->n; i++) {
        const rec_span s = spans->at[i];
        if (n > 0 && s.begin_ns <= spans->at[n - 1].end_ns) {
            if (s.end_ns > spans->at[n - 1].end_ns)
                spans->at[n - 1].end_ns = s.end_ns;
        } else {
            spans->at[n++] = s;
        }
    }
    spans->n = n;
}

int64_t rec_spans_length(const rec_spans *spans)
{
    int64_t total = 0;
    for (size_t i = 0; i < spans->n; i++)
        total += spans->at[i].end_ns - spans->at[i].begin_ns;
    return total;
}

int64_t rec_spans_common(const rec_spans *a, const rec_spans *b)
{
    int64_t total = 0;
    for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
        const rec_span x = a->at[i], y = b->at[j];
        const int64_t begin = x.begin_ns > y.begin_ns ? x.begin_ns : y.begin_ns;
        const int64_t end = x.end_ns < y.end_ns ? x.end_ns : y.end_ns;
        total += end > begin ? end - begin : 0;
        i += x.end_ns <= y.end_ns;
        j += y.end_ns <= x.end_ns;
    }
    return total;
}
