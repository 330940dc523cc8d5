/* Lists of nodes by operator, linked through arrays that are reused. */
#include "learn/history.h"

#include <assert.h>

void synth_history_fini(synth_history *h)
{
    synth_u32s *const all[] = {&h->epoch,   &h->recent, &h->head, &h->tail,   &h->n_open,
                               &h->earlier, &h->prev,   &h->next, &h->is_open};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        array_fini(all[i]);
}

bool synth_u32s_resize(synth_u32s *a, size_t n)
{
    if (a->n < n && !array_reserve(a, n - a->n))
        return false;
    for (; a->n < n; a->n++)
        a->at[a->n] = 0;
    assert(a->n >= n);
    return true;
}

bool synth_history_start(synth_history *h, size_t n_nodes)
{
    h->now++;
    return synth_u32s_resize(&h->earlier, n_nodes) &&
           synth_u32s_resize(&h->prev, n_nodes) && synth_u32s_resize(&h->next, n_nodes) &&
           synth_u32s_resize(&h->is_open, n_nodes);
}

bool synth_history_touch(synth_history *h, uint32_t op)
{
    const size_t n = (size_t)op + 1;
    if (!synth_u32s_resize(&h->epoch, n) || !synth_u32s_resize(&h->recent, n) ||
        !synth_u32s_resize(&h->head, n) || !synth_u32s_resize(&h->tail, n) ||
        !synth_u32s_resize(&h->n_open, n))
        return false;
    if (h->epoch.at[op] != h->now) {
        h->epoch.at[op] = h->now;
        h->recent.at[op] = h->head.at[op] = h->tail.at[op] = MODEL_NONE;
        h->n_open.at[op] = 0;
    }
    assert(op < h->epoch.n && h->epoch.at[op] == h->now);
    return true;
}

void synth_history_add(synth_history *h, uint32_t at, uint32_t op)
{
    assert(op < h->epoch.n && h->epoch.at[op] == h->now);
    assert(at < h->earlier.n);
    h->earlier.at[at] = h->recent.at[op];
    h->recent.at[op] = at;
    h->is_open.at[at] = 1;
    h->prev.at[at] = h->tail.at[op];
    h->next.at[at] = MODEL_NONE;
    if (h->tail.at[op] != MODEL_NONE)
        h->next.at[h->tail.at[op]] = at;
    else
        h->head.at[op] = at;
    h->tail.at[op] = at;
    h->n_open.at[op]++;
}

void synth_history_close(synth_history *h, uint32_t at, uint32_t op)
{
    assert(op < h->epoch.n && at < h->is_open.n);
    if (!h->is_open.at[at])
        return;
    h->is_open.at[at] = 0;
    const uint32_t prev = h->prev.at[at], next = h->next.at[at];
    *(prev == MODEL_NONE ? &h->head.at[op] : &h->next.at[prev]) = next;
    *(next == MODEL_NONE ? &h->tail.at[op] : &h->prev.at[next]) = prev;
    h->n_open.at[op]--;
}
