/*
 * sim/shuffle.c - for tests: dispatches the events of one instant in a random order.
 * Under native rules with network model flow no result may depend on that order. Symmetry
 * classes rely on this (doc/reference/sim.md).
 */
#include "sim/engine.h"

#include <string.h>

void sim_shuffle_list(sim *s, uint32_t *list, size_t n)
{
    assert(s->shuffle.on && (list != NULL || n == 0));
    for (size_t i = n; i > 1; i--) {
        const size_t k = (size_t)rng_below(&s->shuffle.random, i);
        const uint32_t swapped = list[i - 1];
        list[i - 1] = list[k];
        list[k] = swapped;
    }
}

/* Collect all events that the queue has for the instant of `first`. The queue flushes
 * when they are done. */
static bool collect_instant(sim *s, uint64_t first)
{
    sim_shuffle *h = &s->shuffle;
    des_event e;
    h->events.n = h->next = 0;
    if (!array_push(&h->events, first))
        return false;
    while (des_queue_has_now(&s->queue) && des_queue_pop(&s->queue, &e))
        if (!array_push(&h->events, e.event))
            return false;
    return true;
}

bool sim_shuffle_pop(sim *s, des_event *out)
{
    sim_shuffle *h = &s->shuffle;
    if (h->next == h->events.n) {
        if (!des_queue_pop(&s->queue, out))
            return false;
        if (!collect_instant(s, out->event)) {
            sim_fail_memory(s);
            return false;
        }
    }
    assert(h->next < h->events.n);
    const size_t k = h->next + (size_t)rng_below(&h->random, h->events.n - h->next);
    const uint64_t event = h->events.at[k];
    h->events.at[k] = h->events.at[h->next];
    h->events.at[h->next++] = event;
    *out = (des_event){s->queue.now, event};
    return true;
}
