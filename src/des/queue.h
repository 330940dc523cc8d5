/*
 * des/queue.h - the event queue: events leave by time, and at one time in the order they
 * came.
 *
 * A radix heap. The queue never goes back in time, so an event is filed by the highest
 * bit in which its time differs from the time of the last event taken: bucket 0 holds the
 * events of this very instant, first in first out; bucket b those that differ first in
 * bit b-1. When bucket 0 runs dry the lowest other bucket is spread over the ones below,
 * in its own order, so equal times never overtake each other and no sequence number is
 * kept. An event is moved at most 64 times, in practice once or twice.
 *
 * Events are kept in chunks that all buckets share; what one gives back another takes, so
 * memory is that of the largest number of events at one time.
 */
#ifndef DES_QUEUE_H
#define DES_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct des_event {
    uint64_t at;   /* ticks */
    uint64_t what; /* the owner's business */
} des_event;

enum { DES_CHUNK_EVENTS = 254, DES_BUCKETS = 65 };

typedef struct des_chunk {
    struct des_chunk *next;
    uint32_t n;
    des_event at[DES_CHUNK_EVENTS];
} des_chunk;

typedef struct des_bucket {
    des_chunk *head, *tail; /* tail is valid only when head is not NULL */
    uint64_t lo, hi;        /* earliest and latest time filed */
} des_bucket;

/* {0} is an empty queue at time 0. */
typedef struct des_queue {
    uint64_t now;      /* time of the last event taken */
    uint64_t occupied; /* bit b-1: bucket b holds something */
    uint32_t n_read;   /* events of bucket 0's first chunk already taken */
    bool failed;       /* memory ran out, or a time lay in the past: an event was lost */
    des_chunk *spare;
    size_t n_chunks;
    des_bucket buckets[DES_BUCKETS];
} des_queue;

void des_queue_fini(des_queue *q);

/* Not for direct use: the slow halves of push and pop. */
bool des_queue_chunk_(des_queue *q, des_bucket *b);
bool des_queue_refill_(des_queue *q);

static inline void des_queue_push(des_queue *q, uint64_t at, uint64_t what)
{
    const uint64_t differs = at ^ q->now;
    const int i = differs == 0 ? 0 : 64 - __builtin_clzll(differs);
    des_bucket *b = &q->buckets[i];
    if (at < q->now) {
        q->failed = true;
        return;
    }
    if ((b->head == NULL || b->tail->n == DES_CHUNK_EVENTS) && !des_queue_chunk_(q, b))
        return;
    if (i > 0 && !(q->occupied >> (i - 1) & 1)) {
        q->occupied |= UINT64_C(1) << (i - 1);
        b->lo = b->hi = at;
    }
    b->lo = at < b->lo ? at : b->lo;
    b->hi = at > b->hi ? at : b->hi;
    b->tail->at[b->tail->n++] = (des_event){at, what};
}

/* The next event into *out, the clock set to its time; false when there is none. */
static inline bool des_queue_pop(des_queue *q, des_event *out)
{
    des_bucket *first = &q->buckets[0];
    for (;;) {
        if (first->head != NULL) {
            if (q->n_read < first->head->n) {
                *out = first->head->at[q->n_read++];
                return true;
            }
            des_chunk *done = first->head;
            if (done->next == NULL) {
                done->n = 0; /* keep it: the next instant needs one */
                q->n_read = 0;
                if (q->occupied == 0)
                    return false;
            } else {
                first->head = done->next;
                done->next = q->spare;
                q->spare = done;
                q->n_read = 0;
                continue;
            }
        }
        if (!des_queue_refill_(q))
            return false;
    }
}

/* Is an event of this very instant waiting? */
static inline bool des_queue_has_now(const des_queue *q)
{
    const des_bucket *first = &q->buckets[0];
    return first->head != NULL &&
           (first->head->next != NULL || q->n_read < first->head->n);
}

static inline bool des_queue_empty(const des_queue *q)
{
    return q->occupied == 0 && !des_queue_has_now(q);
}

#endif
