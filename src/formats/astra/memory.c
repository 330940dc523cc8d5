/*
 * astra/memory.c - tracks tensors through the nodes of a rank. Attributes "inputs"
 * and "outputs" are lists of name, size, name, size …; tensors of 0 bytes are ignored.
 */
#include "astra/memory.h"

#include "base/error.h"

#include <assert.h>
#include <string.h>

static uint64_t mix_bits(uint64_t v)
{
    return v ^ v >> 47;
}

/* std::hash of a std::string in GNU's library on 64-bit machines: MurmurHash64A. */
static uint64_t hash_as_std(str text)
{
    const uint64_t factor = UINT64_C(0xc6a4a7935bd1e995);
    uint64_t hash = UINT64_C(0xc70f6907) ^ text.n * factor;
    size_t at = 0;
    for (; at + 8 <= text.n; at += 8) {
        uint64_t word;
        memcpy(&word, text.at + at, sizeof word);
        hash = (hash ^ mix_bits(word * factor) * factor) * factor;
    }
    if (at < text.n) {
        uint64_t rest = 0;
        for (size_t i = text.n; i-- > at;)
            rest = rest << 8 | (uint8_t)text.at[i];
        hash = (hash ^ rest) * factor;
    }
    return mix_bits(mix_bits(hash) * factor);
}

halley_status astra_memory_init(astra_memory *m, const halley_trace *trace, uint32_t rank,
                                halley_error *err)
{
    *m = (astra_memory){.trace = trace, .rank = rank};
    m->begins = mem_array_zero(halley_trace_count(trace), sizeof *m->begins);
    return m->begins == NULL ? error_nomem(err) : HALLEY_OK;
}

void astra_memory_begin(astra_memory *m, uint32_t node, uint64_t at)
{
    assert(node < halley_trace_count(m->trace));
    m->begins[node] = at;
}

static halley_status refuse_use(const astra_memory *m, uint32_t node, halley_error *err,
                                const char *sentence, str name)
{
    const halley_status status =
        error_set(err, HALLEY_EINVAL, "rank %u: track-local-mem: %s \"%.*s\"%s", m->rank,
                  sentence, STR_ARG(name), "; ASTRA-sim aborts or never finishes");
    error_at_file(err, halley_trace_path(m->trace));
    error_at_node(err, halley_node_id(m->trace, node));
    return status;
}

/* Read a size as std::stoull does: the digits at the front. */
static bool read_size(uint64_t *out, str text)
{
    size_t n = 0;
    while (n < text.n && text.at[n] >= '0' && text.at[n] <= '9')
        n++;
    return n > 0 && str_to_u64((str){text.at, n}, out);
}

/* Find or add the tensor of a name; *fresh: it was added. */
static halley_status find_tensor(uint32_t *out, bool *fresh, astra_memory *m, str name,
                                 uint64_t size, halley_error *err)
{
    const uint32_t known = m->names.n;
    const uint32_t id = intern_add(&m->names, name);
    *fresh = id == known;
    *out = id;
    if (id == HASH_NONE ||
        (*fresh &&
         !array_push(&m->tensors,
                     (astra_tensor){.size = size,
                                    .hash = hash_as_std(name),
                                    .write = {.end = 10, .node = ASTRA_UNDEFINED}})))
        return error_nomem(err);
    assert(m->tensors.n == m->names.n);
    return HALLEY_OK;
}

static halley_status note_read(astra_memory *m, uint32_t id, uint32_t node, uint64_t at,
                               halley_error *err)
{
    astra_tensor *const t = &m->tensors.at[id];
    const astra_use use = {m->begins[node], at, node, id};
    if (!array_push(&m->reads, use) ||
        (t->n_reads == 0 && !array_push(&m->read_order, id)))
        return error_nomem(err);
    t->n_reads++;
    t->last_read_end = at;
    return HALLEY_OK;
}

static halley_status note_use(astra_memory *m, uint32_t node, uint64_t at, str name,
                              uint64_t size, bool writes, halley_error *err)
{
    uint32_t id;
    bool fresh;
    TRY(find_tensor(&id, &fresh, m, name, size, err));
    if (!writes)
        return note_read(m, id, node, at, err);
    if (!fresh)
        return refuse_use(m, node, err, "a node writes, but another has used, tensor",
                          name);
    m->tensors.at[id].write = (astra_use){m->begins[node], at, node, id};
    return HALLEY_OK;
}

static halley_status note_list(astra_memory *m, uint32_t node, uint64_t at, bool writes,
                               halley_error *err)
{
    halley_attr list;
    halley_attr_item name, size;
    size_t cursor = 0;
    if (!halley_node_find_attr(&list, m->trace, node, writes ? "outputs" : "inputs") ||
        list.kind != HALLEY_ATTR_STRING_LIST)
        return HALLEY_OK;
    while (halley_attr_list_next(&list, &cursor, &name)) {
        const str text = {name.bytes.at, name.bytes.n};
        uint64_t bytes;
        if (!halley_attr_list_next(&list, &cursor, &size) ||
            !read_size(&bytes, (str){size.bytes.at, size.bytes.n}))
            return refuse_use(m, node, err, "there is no size of tensor", text);
        if (bytes > 0)
            TRY(note_use(m, node, at, text, bytes, writes, err));
    }
    return HALLEY_OK;
}

halley_status astra_memory_end(astra_memory *m, uint32_t node, uint64_t at,
                               halley_error *err)
{
    assert(node < halley_trace_count(m->trace) && m->begins[node] <= at);
    TRY(note_list(m, node, at, false, err));
    return note_list(m, node, at, true, err);
}

void astra_memory_fini(astra_memory *m)
{
    free(m->begins);
    intern_fini(&m->names);
    array_fini(&m->tensors);
    array_fini(&m->reads);
    array_fini(&m->read_order);
    *m = (astra_memory){0};
}
