/*
 * des/queue.c - chunks, redistributing a bucket, and advancing the clock. The header
 * describes the algorithm.
 */
#include "des/queue.h"

#include "des/timers.h"

#include <stdlib.h>

static void free_chunks(des_chunk *c)
{
    for (des_chunk *next; c != NULL; c = next) {
        next = c->next;
        free(c);
    }
}

void des_queue_fini(des_queue *q)
{
    for (int i = 0; i < DES_BUCKETS; i++)
        free_chunks(q->buckets[i].head);
    free_chunks(q->spare);
    des_timers_fini(&q->timers);
    *q = (des_queue){0};
}

/* Append a chunk to the bucket; false (and `failed` set) if memory ran out. */
bool des_queue_add_chunk_(des_queue *q, des_bucket *b)
{
    des_chunk *c = q->spare;
    if (c != NULL) {
        q->spare = c->next;
    } else {
        c = malloc(sizeof *c);
        if (c == NULL) {
            q->failed = true;
            return false;
        }
        q->n_chunks++;
    }
    c->next = NULL;
    c->n = 0;
    if (b->head == NULL)
        b->head = c;
    else
        b->tail->next = c;
    b->tail = c;
    return true;
}

static void return_chunk(des_queue *q, des_chunk *c)
{
    c->next = q->spare;
    q->spare = c;
}

/* All events of the bucket have the same time, so its chunks become bucket 0. */
static void move_bucket(des_queue *q, const des_bucket *from)
{
    des_bucket *first = &q->buckets[0];
    assert(first->head == NULL || (first->head->next == NULL && first->head->n == 0));
    if (first->head != NULL)
        return_chunk(q, first->head);
    *first = *from;
    q->n_read = 0;
}

/* Set the clock to `at` and redistribute the events of bucket `i`. `at` must not be later
 * than the earliest event, which is in that bucket. The first bit in which events of the
 * other buckets differ from the clock does not change. */
static void spread_bucket(des_queue *q, int i, uint64_t at)
{
    const des_bucket from = q->buckets[i];
    assert(at >= q->now && at <= from.lo && from.lo <= from.hi);
    q->occupied &= ~(UINT64_C(1) << (i - 1));
    q->buckets[i] = (des_bucket){0};
    q->now = at;
    if (from.lo == from.hi && from.lo == at) {
        move_bucket(q, &from);
        return;
    }
    for (des_chunk *c = from.head, *next; c != NULL; c = next) {
        for (uint32_t k = 0; k < c->n; k++)
            des_queue_push(q, c->at[k].at, c->at[k].event);
        next = c->next;
        return_chunk(q, c);
    }
}

/* Remove the earliest timer, which is not later than the earliest event. */
static void take_timer(des_queue *q, des_event *out)
{
    const uint64_t at = des_timers_earliest(&q->timers);
    if (q->occupied != 0) {
        const int i = __builtin_ctzll(q->occupied) + 1;
        if ((at ^ q->now) >> (i - 1) !=
            0) /* the clock has passed the first differing bit of the bucket */
            spread_bucket(q, i, at);
    }
    q->now = at;
    *out = (des_event){at, des_timers_take(&q->timers)};
}

/* Bucket 0 is empty: call flush, take a timer, or advance to the earliest time and
 * redistribute its bucket. */
bool des_queue_advance_(des_queue *q, des_event *out, bool *is_timer)
{
    assert(!des_queue_has_now(q));
    *is_timer = false;
    if (q->failed) /* an event was lost, so the rest has no meaning */
        return false;
    if (q->flush != NULL && q->flush(q->flush_context))
        return true;
    const bool has_events = q->occupied != 0;
    const int i = has_events ? __builtin_ctzll(q->occupied) + 1 : 0;
    if (q->timers.n > 0) {
        const uint64_t at = des_timers_earliest(&q->timers);
        if (!has_events || at < q->buckets[i].lo || at == q->now) {
            take_timer(q, out);
            *is_timer = true;
            return true;
        }
    }
    if (has_events)
        spread_bucket(q, i, q->buckets[i].lo);
    return has_events;
}
