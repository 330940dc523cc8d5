/*
 * recording/coll_ends.h - compare the clocks of two ranks. All members of a collective
 * end at about the same time. So the median difference between these ends is the clock
 * offset.
 */
#ifndef RECORDING_COLL_ENDS_H
#define RECORDING_COLL_ENDS_H

#include "base/array.h"
#include "base/hash.h"

typedef struct coll_end {
    uint64_t key, number; /* the `number`-th collective of its group and type */
    int64_t end_ns;
} coll_end;

/* The ends of one rank. {0} is empty. */
typedef struct coll_ends {
    ARRAY(coll_end) ends;
    map64 counts; /* of each key */
} coll_ends;

/* Add an end. UINT64_MAX as number: the next one of that key. False: no memory. */
bool coll_ends_add(coll_ends *e, uint64_t key, uint64_t number, int64_t end_ns);
/* Call after all ends are added, before they are compared. */
void coll_ends_sort(coll_ends *e);
/* The offset to add to times of `mine` to get those of `theirs`: the median, or 0 without
 * a common collective. False: no memory. */
bool coll_ends_offset(int64_t *out, const coll_ends *mine, const coll_ends *theirs);
void coll_ends_fini(coll_ends *e);

#endif
