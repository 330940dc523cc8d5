#include "trace/core/slots.h"

#include "base/json.h"

#include <assert.h>

bool trace_slots_init(trace_slots *s, const halley_trace *trace, const char *const *names,
                      uint32_t n_names)
{
    assert(names != NULL && n_names > 0);
    const uint32_t n = (uint32_t)trace->s.shapes.shapes.n;
    *s = (trace_slots){.store = &trace->s, .n_names = n_names};
    s->at = mem_array(n, n_names * sizeof *s->at);
    for (uint32_t i = 0; s->at && i < n; i++)
        for (uint32_t k = 0; k < n_names; k++)
            s->at[(size_t)i * n_names + k] =
                trace_shape_find(&trace->s, i, str_from(names[k]));
    return s->at != NULL;
}

void trace_slots_fini(trace_slots *s)
{
    free(s->at);
    s->at = NULL;
}

str trace_find_text(const halley_trace *t, uint32_t node, const char *name)
{
    halley_attr a;
    return halley_node_find_attr(&a, t, node, name) && a.kind == HALLEY_ATTR_STRING
               ? (str){a.bytes.at, a.bytes.n}
               : STR("");
}

int64_t trace_find_i64(const halley_trace *t, uint32_t node, const char *name,
                       int64_t otherwise)
{
    halley_attr a;
    int64_t value;
    return halley_node_find_attr(&a, t, node, name) && halley_attr_to_i64(&a, &value)
               ? value
               : otherwise;
}

bool trace_find_metadata(halley_attr *out, const halley_trace *t, const char *name)
{
    for (uint32_t i = halley_trace_metadata_count(t); i-- > 0;) {
        *out = halley_trace_metadata(t, i);
        if (str_eq((str){out->name.at, out->name.n}, str_from(name)))
            return true;
    }
    return false;
}

/* Find a number of the JSON object in the metadata entry "recording"; {NULL, 0}: none. */
static str find_recorded(const halley_trace *t, const char *key)
{
    halley_attr attr;
    if (!trace_find_metadata(&attr, t, "recording") || attr.kind != HALLEY_ATTR_STRING)
        return (str){0};
    json_reader r;
    json_open(&r, (str){attr.bytes.at, attr.bytes.n});
    if (json_next(&r) != JSON_OBJECT)
        return (str){0};
    while (json_next(&r) == JSON_KEY) {
        const bool wanted = str_eq(r.text, str_from(key));
        const json_token token = json_next(&r);
        if (wanted && token == JSON_NUMBER)
            return r.text;
        if (!json_leap(&r, token))
            return (str){0};
    }
    return (str){0};
}

uint64_t trace_recorded_number(const halley_trace *t, const char *key, uint64_t otherwise)
{
    uint64_t value;
    const str text = find_recorded(t, key);
    return text.n > 0 && str_to_u64(text, &value) ? value : otherwise;
}

int64_t trace_recorded_i64(const halley_trace *t, const char *key, int64_t otherwise)
{
    int64_t value;
    const str text = find_recorded(t, key);
    return text.n > 0 && str_to_i64(text, &value) ? value : otherwise;
}
