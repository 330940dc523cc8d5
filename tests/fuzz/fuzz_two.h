/* fuzz_two.h - any two traces, cut in the middle of the input, as the ranks of a set. */
#ifndef FUZZ_TWO_H
#define FUZZ_TWO_H

#include "halley/trace.h"

#include <stdint.h>

/* Try the set, if both halves are traces. The first byte of the input is for `choice`. */
static inline void fuzz_two_traces(const uint8_t *at, size_t n,
                                   void (*try_set)(halley_trace_set *set, uint8_t choice))
{
    halley_trace *traces[2] = {NULL, NULL};
    halley_trace_set *set = NULL;
    if (n < 3)
        return;
    const size_t half = (n - 1) / 2;
    if (halley_trace_parse(&traces[0], at + 1, half, "a.et", NULL, NULL) == HALLEY_OK &&
        halley_trace_parse(&traces[1], at + 1 + half, n - 1 - half, "b.et", NULL, NULL) ==
            HALLEY_OK &&
        halley_trace_set_new(&set, traces, 2, NULL) == HALLEY_OK) {
        traces[0] = traces[1] = NULL; /* the set's */
        try_set(set, at[0]);
        halley_trace_set_free(set);
    }
    halley_trace_free(traces[0]);
    halley_trace_free(traces[1]);
}

#endif
