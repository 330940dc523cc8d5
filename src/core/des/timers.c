/*
 * des/timers.c - events that can be cancelled, in a binary heap of slots. The earliest is
 * first; of equal times, the one that was set first. Every slot stores its index in the
 * heap, so a timer is removed in O(log n). A handle contains the slot's generation, which
 * increases when a timer leaves the slot. So a handle that outlived its timer is
 * recognized.
 */
#include "des/timers.h"

#include <stdlib.h>

void des_timers_fini(des_timers *t)
{
    free(t->slots);
    free(t->heap);
    *t = (des_timers){0};
}

static bool is_earlier(const des_timers *t, uint32_t a, uint32_t b)
{
    const des_timer_slot *x = &t->slots[a], *y = &t->slots[b];
    return x->at != y->at ? x->at < y->at : x->order < y->order;
}

static void put_in_heap(des_timers *t, uint32_t place, uint32_t slot)
{
    assert(place < t->n && slot < t->n_slots);
    t->heap[place] = slot;
    t->slots[slot].place = place;
}

static void sift_up(des_timers *t, uint32_t place, uint32_t slot)
{
    while (place > 0 && is_earlier(t, slot, t->heap[(place - 1) / 2])) {
        put_in_heap(t, place, t->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put_in_heap(t, place, slot);
}

static void sift_down(des_timers *t, uint32_t place, uint32_t slot)
{
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= t->n)
            break;
        if (child + 1 < t->n && is_earlier(t, t->heap[child + 1], t->heap[child]))
            child++;
        if (!is_earlier(t, t->heap[child], slot))
            break;
        put_in_heap(t, place, t->heap[child]);
        place = child;
    }
    put_in_heap(t, place, slot);
}

static bool grow_timers(des_timers *t)
{
    const uint32_t cap = t->cap_slots == 0 ? 16 : 2 * t->cap_slots;
    if (t->cap_slots >= UINT32_MAX / 4)
        return false;
    des_timer_slot *slots = realloc(t->slots, cap * sizeof *slots);
    if (slots == NULL)
        return false;
    t->slots = slots;
    uint32_t *heap = realloc(t->heap, cap * sizeof *heap);
    if (heap == NULL)
        return false;
    t->heap = heap;
    t->cap_slots = cap;
    return true;
}

/* A free slot; UINT32_MAX: no memory. */
static uint32_t take_slot(des_timers *t)
{
    if (t->free_slot != 0) {
        const uint32_t slot = t->free_slot - 1;
        assert(slot < t->n_slots && !t->slots[slot].is_set);
        t->free_slot = t->slots[slot].place;
        return slot;
    }
    if (t->n_slots == t->cap_slots && !grow_timers(t))
        return UINT32_MAX;
    t->slots[t->n_slots] = (des_timer_slot){0};
    return t->n_slots++;
}

des_timer des_timer_set(des_queue *q, uint64_t at, uint64_t event)
{
    des_timers *t = &q->timers;
    const uint32_t slot = at < q->now ? UINT32_MAX : take_slot(t);
    if (slot == UINT32_MAX) {
        q->failed = true;
        return (des_timer){0};
    }
    t->slots[slot].at = at;
    t->slots[slot].event = event;
    t->slots[slot].order = t->n_set++;
    t->slots[slot].is_set = true;
    t->n++;
    sift_up(t, t->n - 1, slot);
    return (des_timer){slot + 1, t->slots[slot].generation};
}

/* Remove a slot; the last timer of the heap takes its position. */
static void remove_slot(des_timers *t, uint32_t slot)
{
    const uint32_t place = t->slots[slot].place;
    assert(t->n > 0 && place < t->n && t->heap[place] == slot && t->slots[slot].is_set);
    const uint32_t last = t->heap[--t->n];
    if (last != slot && place > 0 && is_earlier(t, last, t->heap[(place - 1) / 2]))
        sift_up(t, place, last);
    else if (last != slot)
        sift_down(t, place, last);
    t->slots[slot].is_set = false;
    t->slots[slot].generation++;
    t->slots[slot].place = t->free_slot;
    t->free_slot = slot + 1;
}

bool des_timer_cancel(des_queue *q, des_timer timer)
{
    des_timers *t = &q->timers;
    if (timer.slot == 0)
        return false;
    assert(timer.slot <= t->n_slots);
    const des_timer_slot *slot = &t->slots[timer.slot - 1];
    if (!slot->is_set || slot->generation != timer.generation)
        return false;
    remove_slot(t, timer.slot - 1);
    return true;
}

uint64_t des_timers_earliest(const des_timers *t)
{
    assert(t->n > 0);
    return t->slots[t->heap[0]].at;
}

uint64_t des_timers_take(des_timers *t)
{
    assert(t->n > 0);
    const uint32_t slot = t->heap[0];
    const uint64_t event = t->slots[slot].event;
    remove_slot(t, slot);
    return event;
}
