/*
 * sim/local.c - how full the NPU's own memory is. All changes of one instant take effect
 * together: only the level that remains when the clock advances counts for the peak.
 */
#include "sim/engine.h"

static bool has_tensor(const sim_local *l, uint32_t tensor)
{
    assert(l->there != NULL);
    return l->there[tensor / 64] >> (tensor % 64) & 1;
}

static void flip_tensor(sim_local *l, uint32_t tensor)
{
    l->there[tensor / 64] ^= UINT64_C(1) << (tensor % 64);
}

/* Call before the level changes: the previous level has lasted until now. */
static void note_level(sim *s, sim_local *l)
{
    if (s->queue.now == l->since)
        return;
    if (l->bytes > l->peak_bytes)
        l->peak_bytes = l->bytes;
    if (l->record &&
        (l->levels.n == 0 || l->levels.at[l->levels.n - 1].bytes != l->bytes) &&
        !array_push(&l->levels, (halley_memory_level){l->since, l->bytes}))
        sim_fail_memory(s);
    l->since = s->queue.now;
}

halley_status sim_local_init(sim *s, sim_rank *r, bool record)
{
    const sim_tensors *t = &r->program->tensors;
    sim_local *l = &r->local;
    if (t->first_use == NULL)
        return HALLEY_OK;
    l->record = record;
    l->reads_left = arena_array(&s->memory_of_run, t->n, sizeof *l->reads_left);
    l->there = arena_array(&s->memory_of_run, t->n / 64 + 1, sizeof *l->there);
    if (l->reads_left == NULL || l->there == NULL)
        return error_nomem(s->err);
    for (uint32_t i = 0; i < t->n; i++) {
        l->reads_left[i] = t->n_reads[i];
        if (t->written[i])
            continue;
        flip_tensor(l, i);
        l->bytes += t->bytes[i];
    }
    return HALLEY_OK;
}

void sim_local_begin(sim *s, sim_rank *r, uint32_t node)
{
    const sim_tensors *t = &r->program->tensors;
    sim_local *l = &r->local;
    for (uint32_t i = t->first_use[node]; i < t->first_use[node + 1]; i++) {
        const sim_use use = t->uses[i];
        assert(use.tensor < t->n);
        if (use.kind != SIM_USE_WRITE || has_tensor(l, use.tensor))
            continue;
        note_level(s, l);
        flip_tensor(l, use.tensor);
        l->bytes += t->bytes[use.tensor];
    }
}

static void remove_tensor(sim *s, sim_local *l, uint64_t bytes)
{
    assert(l->since <= s->queue.now);
    note_level(s, l);
    l->bytes = bytes < l->bytes ? l->bytes - bytes : 0;
}

void sim_local_end(sim *s, sim_rank *r, uint32_t node)
{
    const sim_tensors *t = &r->program->tensors;
    sim_local *l = &r->local;
    for (uint32_t i = t->first_use[node]; i < t->first_use[node + 1]; i++) {
        const sim_use use = t->uses[i];
        if (use.kind == SIM_USE_RELEASE) {
            remove_tensor(s, l, t->bytes[use.tensor]);
        } else if (use.kind == SIM_USE_READ && --l->reads_left[use.tensor] == 0 &&
                   has_tensor(l, use.tensor)) {
            remove_tensor(s, l, t->bytes[use.tensor]);
            flip_tensor(l, use.tensor);
        }
    }
}

void sim_local_finish(sim *s, sim_rank *r)
{
    sim_local *l = &r->local;
    if (l->bytes > l->peak_bytes)
        l->peak_bytes = l->bytes;
    if (l->record && !array_push(&l->levels, (halley_memory_level){l->since, l->bytes}))
        sim_fail_memory(s);
}
