/*
 * ingest/coll_ends.h - the clocks of two ranks compared. All members of a collective end
 * at about the same time, so the median difference between these ends is the offset
 * between the clocks.
 */
#ifndef INGEST_COLL_ENDS_H
#define INGEST_COLL_ENDS_H

#include "base/array.h"
#include "base/hash.h"

typedef struct coll_end {
    uint64_t key, number; /* which collective: the `number`-th of its group and kind */
    int64_t end_ns;
} coll_end;

/* The ends of one rank. {0} is empty. */
typedef struct coll_ends {
    ARRAY(coll_end) ends;
    map64 counts; /* of each key */
} coll_ends;

/* UINT64_MAX as number: the next one of that key. False: no memory. */
bool coll_ends_add(coll_ends *e, uint64_t key, uint64_t number, int64_t end_ns);
/* Once all are added, before they are compared. */
void coll_ends_sort(coll_ends *e);
/* What to add to times of `mine` to get those of `theirs`: the median, 0 when they have
 * no collective in common. False: no memory. */
bool coll_ends_offset(int64_t *out, const coll_ends *mine, const coll_ends *theirs);
void coll_ends_fini(coll_ends *e);

#endif
