/*
 * des/queue.h - the event queue. Events leave in order of time; events of equal time
 * leave in order of insertion.
 *
 * The queue is a radix heap. Time never goes backwards, so an event is stored by the
 * highest bit in which its time differs from the current time. Bucket 0 is a FIFO of the
 * events at the current time. Bucket b holds the events that differ first in bit b-1.
 * When bucket 0 is empty, the lowest non-empty bucket is redistributed over the buckets
 * below it, in its order. So events of equal time never overtake each other, and no
 * sequence number is needed. An event moves at most 64 times, in practice once or twice.
 *
 * Events are stored in chunks from one free list that all buckets share. So the memory is
 * that of the largest number of events at one time.
 *
 * Timers are events that can be cancelled. They are in a separate binary heap, ordered by
 * time and then by the order of setting. Cancelling removes a timer from the heap. So if
 * a model resets its next completion at every change, the queue holds one timer and no
 * stale events.
 *
 * At one instant the ordinary events come first, then the flush function, then the timers
 * that are due, one at a time. Events that a timer schedules for the same instant come
 * before the next timer. Push and pop of ordinary events do not access the timers; only
 * advancing the clock does.
 */
#ifndef DES_QUEUE_H
#define DES_QUEUE_H

#include "des/ticks.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct des_event {
    uint64_t at;    /* ticks */
    uint64_t event; /* payload; only the owner of the queue interprets it */
} des_event;

enum { DES_CHUNK_EVENTS = 254, DES_BUCKETS = 65 };

typedef struct des_chunk {
    struct des_chunk *next;
    uint32_t n;
    des_event at[DES_CHUNK_EVENTS];
} des_chunk;

typedef struct des_bucket {
    des_chunk *head, *tail; /* tail is valid only when head is not NULL */
    uint64_t lo, hi;        /* earliest and latest time in the bucket */
} des_bucket;

/* Handle of a timer until it has left the queue; {0} is no timer. */
typedef struct des_timer {
    uint32_t slot;       /* + 1 */
    uint32_t generation; /* of the slot: how often it was used before */
} des_timer;

typedef struct des_timer_slot {
    uint64_t at, event;
    uint64_t order;      /* number of timers set before this one */
    uint32_t place;      /* index in the heap, or the next free slot */
    uint32_t generation; /* of the timer in the slot, or of the next one */
    bool is_set;
} des_timer_slot;

typedef struct des_timers {
    des_timer_slot *slots;
    uint32_t *heap; /* slots, the earliest first */
    uint32_t n, n_slots, cap_slots;
    uint32_t free_slot; /* + 1; 0 = none */
    uint64_t n_set;     /* timers ever set */
} des_timers;

/* Called after all ordinary events of the instant, before the clock advances. Returns
 * true if it scheduled something for this instant. */
typedef bool des_flush(void *context);

/* {0} is an empty queue at time 0. */
typedef struct des_queue {
    uint64_t now;      /* time of the last event taken */
    uint64_t occupied; /* bit b-1: bucket b is not empty */
    uint32_t n_read;   /* events of bucket 0's first chunk already taken */
    bool wrapped;      /* a step was longer than TICKS_LONGEST: times may be wrong */
    bool failed;       /* memory ran out, or a time was in the past: an event was lost */
    des_chunk *spare;
    size_t n_chunks;
    des_bucket buckets[DES_BUCKETS];
    des_timers timers;
    des_flush *flush; /* NULL: not needed */
    void *flush_context;
} des_queue;

void des_queue_fini(des_queue *q);

/* Convert a step of the queue's owner to whole ticks; sets `wrapped` if it is too
 * long. */
static inline uint64_t des_queue_ticks(des_queue *q, double x)
{
    if (!ticks_hold(x))
        q->wrapped = true;
    return ticks_from(x);
}

/* Schedule an event that can be cancelled. Returns {0} and sets `failed` if it was not
 * scheduled. */
des_timer des_timer_set(des_queue *q, uint64_t at, uint64_t event);
/* Remove a timer from the queue. Returns false if it has already left the queue. */
bool des_timer_cancel(des_queue *q, des_timer timer);

/* Not for direct use: the slow paths of push and pop. */
bool des_queue_add_chunk_(des_queue *q, des_bucket *b);
bool des_queue_advance_(des_queue *q, des_event *out, bool *is_timer);

static inline void des_queue_push(des_queue *q, uint64_t at, uint64_t event)
{
    const uint64_t differs = at ^ q->now;
    const int i = differs == 0 ? 0 : 64 - __builtin_clzll(differs);
    des_bucket *b = &q->buckets[i];
    if (at < q->now) {
        q->failed = true;
        return;
    }
    if ((b->head == NULL || b->tail->n == DES_CHUNK_EVENTS) &&
        !des_queue_add_chunk_(q, b))
        return;
    if (i > 0 && !(q->occupied >> (i - 1) & 1)) {
        q->occupied |= UINT64_C(1) << (i - 1);
        b->lo = b->hi = at;
    }
    b->lo = at < b->lo ? at : b->lo;
    b->hi = at > b->hi ? at : b->hi;
    assert(b->tail->n < DES_CHUNK_EVENTS);
    b->tail->at[b->tail->n++] = (des_event){at, event};
}

/* Move the next event to *out and set the clock to its time; false if there is none. */
static inline bool des_queue_pop(des_queue *q, des_event *out)
{
    des_bucket *first = &q->buckets[0];
    for (;;) {
        if (first->head != NULL) {
            if (q->n_read < first->head->n) {
                *out = first->head->at[q->n_read++];
                assert(out->at == q->now);
                return true;
            }
            des_chunk *done = first->head;
            if (done->next == NULL) {
                done->n = 0; /* keep the chunk: the next instant needs one */
                q->n_read = 0;
            } else {
                first->head = done->next;
                done->next = q->spare;
                q->spare = done;
                q->n_read = 0;
                continue;
            }
        }
        bool is_timer;
        if (!des_queue_advance_(q, out, &is_timer))
            return false;
        if (is_timer)
            return true;
    }
}

/* True if an ordinary event is waiting at the current time. */
static inline bool des_queue_has_now(const des_queue *q)
{
    const des_bucket *first = &q->buckets[0];
    return first->head != NULL &&
           (first->head->next != NULL || q->n_read < first->head->n);
}

/* True if no event and no timer is left. */
static inline bool des_queue_is_empty(const des_queue *q)
{
    return q->occupied == 0 && q->timers.n == 0 && !des_queue_has_now(q);
}

#endif
