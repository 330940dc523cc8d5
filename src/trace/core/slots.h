/* trace/core/slots.h - some attributes of many nodes by name, looked up once for each
 * shape.
 */
#ifndef TRACE_CORE_SLOTS_H
#define TRACE_CORE_SLOTS_H

#include "trace/core/store.h"

typedef struct trace_slots {
    const trace_store *store;
    uint32_t n_names;
    uint32_t *at; /* by shape, then by name: in shapes.flat; HASH_NONE = it has none */
} trace_slots;

/* False: no memory. */
bool trace_slots_init(trace_slots *s, const halley_trace *trace, const char *const *names,
                      uint32_t n_names);
void trace_slots_fini(trace_slots *s);

/* What halley_node_find_attr finds, for the name of that number. */
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

/* One attribute of one node: its text, "" if it has none; its number, else `otherwise`.
 */
str trace_find_text(const halley_trace *t, uint32_t node, const char *name);
int64_t trace_find_i64(const halley_trace *t, uint32_t node, const char *name,
                       int64_t otherwise);
/* The metadata of that name; of several, the last. */
bool trace_find_metadata(halley_attr *out, const halley_trace *t, const char *name);
/* A whole number of the JSON object in the metadata "recording", which linking writes:
 * "rank", "world"; `otherwise` when the trace does not say. */
uint64_t trace_recorded_number(const halley_trace *t, const char *key,
                               uint64_t otherwise);

#endif
