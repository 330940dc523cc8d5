/*
 * trace/core/slots.h - look up some attributes of many nodes by name, once for each
 * shape.
 */
#ifndef TRACE_CORE_SLOTS_H
#define TRACE_CORE_SLOTS_H

#include "trace/core/store.h"

typedef struct trace_slots {
    const trace_store *store;
    uint32_t n_names;
    uint32_t *at; /* by shape, then name: index in shapes.flat, or HASH_NONE */
} trace_slots;

/* False: no memory. */
bool trace_slots_init(trace_slots *s, const halley_trace *trace, const char *const *names,
                      uint32_t n_names);
void trace_slots_fini(trace_slots *s);

/* Like halley_node_find_attr, for the name with that number. */
static inline bool trace_slots_find(halley_attr *out, const trace_slots *s, uint32_t node,
                                    uint32_t name)
{
    const trace_store *const t = s->store;
    const uint32_t slot = s->at[(size_t)t->shape.at[node] * s->n_names + name];
    if (slot == HASH_NONE)
        return false;
    *out =
        trace_attr_view(t, &t->shapes.flat.at[slot], t->values.at + t->value_at.at[node]);
    return true;
}

/* One attribute of one node: its text, or "" if absent; its number, or `otherwise`. */
str trace_find_text(const halley_trace *t, uint32_t node, const char *name);
int64_t trace_find_i64(const halley_trace *t, uint32_t node, const char *name,
                       int64_t otherwise);
/* The metadata entry of that name; of several, the last. */
bool trace_find_metadata(halley_attr *out, const halley_trace *t, const char *name);
/* An integer of the JSON object in the metadata entry "recording", which linking writes:
 * "rank", "world". Returns `otherwise` if the trace does not have it. */
uint64_t trace_recorded_number(const halley_trace *t, const char *key,
                               uint64_t otherwise);
int64_t trace_recorded_i64(const halley_trace *t, const char *key, int64_t otherwise);

#endif
