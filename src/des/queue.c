/* des/queue.c - chunks and the spreading of a bucket; the idea is told in the header. */
#include "des/queue.h"

#include <stdlib.h>

void des_queue_fini(des_queue *q)
{
    for (int i = 0; i < DES_BUCKETS; i++) {
        for (des_chunk *c = q->buckets[i].head, *next; c != NULL; c = next) {
            next = c->next;
            free(c);
        }
    }
    for (des_chunk *c = q->spare, *next; c != NULL; c = next) {
        next = c->next;
        free(c);
    }
    *q = (des_queue){0};
}

/* A fresh chunk at the end of the bucket; false (and `failed` set) when memory ran out.
 */
bool des_queue_chunk_(des_queue *q, des_bucket *b)
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

static void give_back(des_queue *q, des_chunk *c)
{
    c->next = q->spare;
    q->spare = c;
}

/* Bucket 0 is dry: go to the earliest time there is and spread its bucket. */
bool des_queue_refill_(des_queue *q)
{
    if (q->occupied == 0)
        return false;
    const int i = __builtin_ctzll(q->occupied) + 1;
    des_bucket *first = &q->buckets[0];
    des_bucket from = q->buckets[i];
    q->occupied &= ~(UINT64_C(1) << (i - 1));
    q->buckets[i] = (des_bucket){0};
    q->now = from.lo;
    if (from.lo == from.hi) { /* one instant: the chunks themselves move */
        if (first->head != NULL)
            give_back(q, first->head);
        *first = from;
        q->n_read = 0;
        return true;
    }
    for (des_chunk *c = from.head, *next; c != NULL; c = next) {
        for (uint32_t k = 0; k < c->n; k++)
            des_queue_push(q, c->at[k].at, c->at[k].what);
        next = c->next;
        give_back(q, c);
    }
    return true;
}
