/*
 * Fill the columns of a trace and finish it: dependencies arrive as ids and become
 * indexes.
 */
#include "trace/core/store.h"

#include <assert.h>
#include <string.h>

bool trace_store_init(trace_store *s)
{
    *s = (trace_store){0};
    return attr_shapes_init(&s->shapes) && array_push(&s->data_at, 0) &&
           array_push(&s->ctrl_at, 0);
}

void trace_store_fini(trace_store *s)
{
    array_fini(&s->own);
    array_fini(&s->longs);
    attr_shapes_fini(&s->shapes);
    array_fini(&s->ids);
    array_fini(&s->types);
    array_fini(&s->names);
    array_fini(&s->starts);
    array_fini(&s->durations);
    array_fini(&s->inputs);
    array_fini(&s->outputs);
    array_fini(&s->data_at);
    array_fini(&s->ctrl_at);
    array_fini(&s->data_ids);
    array_fini(&s->ctrl_ids);
    array_fini(&s->shape);
    array_fini(&s->value_at);
    array_fini(&s->values);
    array_fini(&s->marks);
    array_fini(&s->extras);
    free(s->meta.values);
    *s = (trace_store){0};
}

void trace_store_drop_nodes(trace_store *s, size_t n_own, size_t n_longs)
{
    assert(n_own <= s->own.n && n_longs <= s->longs.n && s->marks.n == 0);
    s->own.n = n_own;
    s->longs.n = n_longs;
    s->shapes.flat.n = 0;
    s->data_at.n = s->ctrl_at.n = 1; /* where the first node's dependencies start */
    s->ids.n = s->types.n = s->names.n = s->starts.n = s->durations.n = 0;
    s->inputs.n = s->outputs.n = s->data_ids.n = s->ctrl_ids.n = 0;
    s->shape.n = s->value_at.n = s->values.n = s->extras.n = 0;
    s->n = 0;
}

bool column_put_far(u64_array *column, uint32_t i, uint64_t value)
{
    assert(value != 0 || i < column->n);
    if (i < column->n) {
        column->at[i] = value;
        return true;
    }
    const size_t gap = i - column->n;
    if (!array_reserve(column, gap + 1))
        return false;
    memset(column->at + column->n, 0, gap * sizeof *column->at);
    column->n += gap;
    column->at[column->n++] = value;
    return true;
}

text_ref trace_text_ref(trace_store *s, uint64_t offset, uint64_t n, bool own)
{
    assert(!own || offset + n <= s->own.n);
    if (offset > TEXT_MAX_OFFSET)
        return 0;
    const text_ref bit = own ? TEXT_OWN : 0;
    if (n < TEXT_LONG)
        return bit | offset << 24 | n;
    const text_long entry = {offset, n, own};
    if (!array_push(&s->longs, entry))
        return 0;
    return bit | (uint64_t)(s->longs.n - 1) << 24 | TEXT_LONG;
}

text_ref trace_text_copy(trace_store *s, str a, str b)
{
    const size_t offset = s->own.n;
    if (b.n > SIZE_MAX - a.n || !array_reserve(&s->own, a.n + b.n + 1))
        return 0;
    if (a.n)
        memcpy(s->own.at + offset, a.at, a.n);
    if (b.n)
        memcpy(s->own.at + offset + a.n, b.at, b.n);
    s->own.n += a.n + b.n;
    return trace_text_ref(s, offset, a.n + b.n, true);
}

str trace_text(const trace_store *s, text_ref ref)
{
    if (ref == 0)
        return (str){NULL, 0};
    uint64_t offset = (ref & ~TEXT_OWN) >> 24;
    uint64_t n = ref & TEXT_LONG;
    if (n == TEXT_LONG) {
        n = s->longs.at[offset].n;
        offset = s->longs.at[offset].offset;
    }
    if (n == 0)
        return (str){"", 0};
    const uint8_t *const base = ref & TEXT_OWN ? s->own.at : s->base;
    return (str){(const char *)base + offset, (size_t)n};
}

static bool put_id(trace_store *s, uint64_t id)
{
    assert(s->ids.n == 0 || s->ids.n == s->n);
    if (s->n == 0)
        s->first_id = id;
    if (s->ids.n == 0) {
        if (id == s->first_id + s->n)
            return true;
        if (!array_reserve(&s->ids, (size_t)s->n + 1))
            return false;
        for (uint32_t i = 0; i < s->n; i++)
            s->ids.at[i] = s->first_id + i;
        s->ids.n = s->n;
    }
    return array_push(&s->ids, id);
}

static bool put_type(trace_store *s, int32_t type)
{
    if (type >= 0 && type < TYPE_IN_EXTRA)
        return array_push(&s->types, (uint8_t)type);
    const node_extra extra = {(uint32_t)type, s->n, EXTRA_TYPE};
    return array_push(&s->extras, extra) && array_push(&s->types, TYPE_IN_EXTRA);
}

halley_status trace_store_close_node(trace_store *s, uint64_t id, int32_t type,
                                     uint32_t state, uint32_t first_value,
                                     halley_error *err)
{
    assert(state < s->shapes.states.n && first_value <= s->values.n);
    if (s->data_ids.n > UINT32_MAX || s->ctrl_ids.n > UINT32_MAX ||
        s->values.n > UINT32_MAX)
        return error_set(
            err, HALLEY_ELIMIT,
            "more than 4294967295 dependencies or attributes in one trace; split it");
    const uint32_t shape = attr_shapes_end(&s->shapes, state);
    if (shape == HASH_NONE || !put_id(s, id) || !put_type(s, type) ||
        !array_push(&s->shape, shape) || !array_push(&s->value_at, first_value) ||
        !array_push(&s->data_at, (uint32_t)s->data_ids.n) ||
        !array_push(&s->ctrl_at, (uint32_t)s->ctrl_ids.n))
        return error_nomem(err);
    s->n++;
    return HALLEY_OK;
}

static bool ids_ascend(const trace_store *s)
{
    assert(s->ids.n == 0 || s->ids.n == s->n);
    for (size_t i = 1; i < s->ids.n; i++)
        if (s->ids.at[i] <= s->ids.at[i - 1])
            return false;
    return s->ids.n > 0 || s->n == 0 || s->first_id <= UINT64_MAX - (s->n - 1);
}

static bool index_ids(halley_trace *t)
{
    assert(!t->ascending);
    t->ascending = ids_ascend(&t->s);
    if (t->ascending)
        return true;
    if (!map64_reserve(&t->index, t->s.n))
        return false;
    for (uint32_t i = 0; i < t->s.n; i++)
        if (!map64_set(&t->index, t->s.ids.n ? t->s.ids.at[i] : t->s.first_id + i, i))
            return false;
    return true;
}

uint32_t halley_trace_find(const halley_trace *t, uint64_t id)
{
    const trace_store *const s = &t->s;
    if (!t->ascending)
        return map64_find(&t->index, id);
    if (s->ids.n == 0)
        return id - s->first_id < s->n ? (uint32_t)(id - s->first_id) : HALLEY_NO_NODE;
    size_t low = 0;
    for (size_t n = s->ids.n; n > 1;) {
        const size_t half = n / 2;
        low = s->ids.at[low + half] <= id ? low + half : low;
        n -= half;
    }
    return s->ids.at[low] == id ? (uint32_t)low : HALLEY_NO_NODE;
}

/*
 * Convert ids to indexes in place: the u32 written is never ahead of the u64 read. Ids
 * without a node are appended to `dangling` and numbered from n on.
 */
static halley_status resolve_deps(uint32_t **out, halley_trace *t, u64_array *ids,
                                  halley_error *err)
{
    assert(out != NULL);
    uint32_t *const to = (uint32_t *)(void *)ids->at;
    for (size_t i = 0; i < ids->n; i++) {
        uint64_t id;
        memcpy(&id, (const char *)ids->at + i * sizeof id, sizeof id);
        uint32_t node = halley_trace_find(t, id);
        if (node == HALLEY_NO_NODE) {
            if ((uint64_t)t->s.n + t->dangling.n >= UINT32_MAX - 1)
                return error_set(err, HALLEY_ELIMIT,
                                 "too many dependencies on missing nodes");
            node = t->s.n + (uint32_t)t->dangling.n;
            if (!array_push(&t->dangling, id))
                return error_nomem(err);
        }
        memcpy((char *)to + i * sizeof node, &node, sizeof node);
    }
    if (ids->n == 0)
        return HALLEY_OK;
    void *const shrunk = realloc(ids->at, ids->n * sizeof(uint32_t));
    *out = shrunk ? shrunk : ids->at;
    ids->at = NULL;
    ids->n = ids->cap = 0;
    return HALLEY_OK;
}

static void trim_columns(trace_store *s)
{
    assert(s->names.n <= s->n && s->starts.n <= s->n);
    array_trim(&s->ids);
    array_trim(&s->types);
    array_trim(&s->names);
    array_trim(&s->starts);
    array_trim(&s->durations);
    array_trim(&s->inputs);
    array_trim(&s->outputs);
    array_trim(&s->shape);
    array_trim(&s->value_at);
    array_trim(&s->values);
    array_trim(&s->own);
    if (s->data_at.at[s->n] == 0)
        array_fini(&s->data_at);
    if (s->ctrl_at.at[s->n] == 0)
        array_fini(&s->ctrl_at);
    array_trim(&s->data_at);
    array_trim(&s->ctrl_at);
}

halley_status trace_finish(halley_trace **out, trace_store *s, file_input *in,
                           const char *path, halley_trace_form form, halley_error *err)
{
    assert(path != NULL);
    halley_trace *const t = mem_array_zero(1, sizeof *t);
    char *const copy = t ? mem_array(strlen(path) + 1, 1) : NULL;
    if (!copy) {
        free(t);
        trace_store_fini(s);
        file_input_close(in);
        return error_nomem(err);
    }
    strcpy(copy, path);
    atomic_init(&t->refs, 1);
    t->form = form;
    t->path = copy;
    t->s = *s;
    t->in = *in;
    *s = (trace_store){0};
    *in = (file_input){0};
    halley_status status = HALLEY_OK;
    if (!index_ids(t) || !attr_shapes_flatten(&t->s.shapes))
        status = error_nomem(err);
    if (!status)
        status = resolve_deps(&t->data, t, &t->s.data_ids, err);
    if (!status)
        status = resolve_deps(&t->ctrl, t, &t->s.ctrl_ids, err);
    if (status) {
        halley_trace_free(t);
        return status;
    }
    trim_columns(&t->s);
    *out = t;
    return HALLEY_OK;
}
