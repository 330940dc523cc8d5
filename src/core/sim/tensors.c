/*
 * sim/tensors.c - finds the tensors in a trace. The first source that a node has is used:
 *
 *   - attributes "inputs" and "outputs", lists of text: name, bytes, name, bytes ...
 *     (ASTRA-sim's form for its track-local-mem);
 *   - the schema's inputs and outputs as PyTorch records them. Every tensor is
 *     [id, storage, offset, elements, bytes per element, 'device']. A storage is as large
 *     as the largest of its views. Storages of the CPU are not in the NPU's memory;
 *   - a memory load: its bytes stay until the last node that depends on it has ended; a
 *     store's bytes are present while it runs.
 *
 * In addition, our own attributes "alloc_bytes" and "free_bytes" are always read. The
 * node allocates the former when it begins and releases the latter when it ends.
 */
#include "sim/tensors.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/number/number.h"
#include "base/str.h"
#include "sim/load/attrs.h"
#include "sim/load/program.h"

#include <string.h>

/* One use of a tensor, before the uses are sorted by node. */
typedef struct mention {
    uint32_t node;
    sim_use use;
} mention;

typedef struct finder {
    sim_tensors *t;
    const sim_program *p;
    const trace_slots *slots;
    halley_error *err;
    map64 names; /* hash of a name, or a storage -> tensor */
    ARRAY(uint64_t) bytes;
    ARRAY(mention) mentions;
} finder;

enum { MOST_TENSORS = (1 << 30) - 1 };

static halley_status new_tensor(uint32_t *out, finder *f, uint64_t bytes)
{
    if (f->bytes.n == MOST_TENSORS)
        return error_set(f->err, HALLEY_ELIMIT, "more than 2^30 tensors in a trace");
    if (!array_push(&f->bytes, bytes))
        return error_nomem(f->err);
    *out = (uint32_t)f->bytes.n - 1;
    return HALLEY_OK;
}

static halley_status note_tensor(finder *f, uint32_t node, uint32_t tensor,
                                 sim_use_kind kind)
{
    assert(node < f->p->n && tensor < f->bytes.n);
    const sim_use use = {.tensor = tensor & MOST_TENSORS, .kind = (unsigned)kind & 3u};
    if (!array_push(&f->mentions, (mention){node, use}))
        return error_nomem(f->err);
    return HALLEY_OK;
}

/* Note a tensor with a key. Its size is the largest that any mention gives. */
static halley_status note_named(finder *f, uint32_t node, uint64_t key, uint64_t bytes,
                                sim_use_kind kind)
{
    uint32_t tensor = (uint32_t)f->bytes.n;
    bool fresh;
    if (bytes == 0)
        return HALLEY_OK;
    if (!map64_put(&f->names, key, &tensor, &fresh))
        return error_nomem(f->err);
    assert(fresh ? tensor == f->bytes.n : tensor < f->bytes.n);
    if (fresh)
        TRY(new_tensor(&tensor, f, bytes));
    else if (f->bytes.at[tensor] < bytes)
        f->bytes.at[tensor] = bytes;
    return note_tensor(f, node, tensor, kind);
}

/* Accept "524288", or "524288.0" as the symbolic generators write it. */
static bool read_tensor_size(uint64_t *out, str text)
{
    double value;
    if (str_to_u64(text, out))
        return true;
    if (!number_read(text, &value) || !(value >= 0 && value < 9e18))
        return false;
    *out = (uint64_t)value;
    return true;
}

/* The list is name, bytes, name, bytes ... */
static halley_status find_tensor_pairs(finder *f, uint32_t node, const halley_attr *list,
                                       sim_use_kind kind)
{
    halley_attr_item name, size;
    size_t cursor = 0;
    while (halley_attr_list_next(list, &cursor, &name) &&
           halley_attr_list_next(list, &cursor, &size)) {
        uint64_t bytes;
        if (!read_tensor_size(&bytes, (str){size.bytes.at, size.bytes.n})) {
            f->t->has_bad_sizes = true; /* statistics never fail a run */
            continue;
        }
        TRY(note_named(f, node, hash_bytes(name.bytes.at, name.bytes.n, 1), bytes, kind));
    }
    return HALLEY_OK;
}

/* Read a whole number at *at and move *at past it; false if there is none. */
static bool scan_tensor_number(const char **at, const char *end, uint64_t *out)
{
    const char *from = *at;
    while (*at < end && **at >= '0' && **at <= '9')
        ++*at;
    return *at > from && str_to_u64((str){from, (size_t)(*at - from)}, out);
}

/* *at is after an opening quote: is the text up to the closing quote a device of the NPU?
 */
static bool scan_device(const char **at, const char *end, char quote)
{
    const char *from = *at;
    while (*at < end && **at != quote)
        ++*at;
    const str name = {from, (size_t)(*at - from)};
    *at += *at < end;
    return name.n > 0 && !str_starts(name, STR("cpu")) && !str_starts(name, STR("meta"));
}

enum { TENSOR_NUMBERS = 5 }; /* id, storage, offset, elements, bytes per element */

/* Any list of five whole numbers and a string is a tensor, however deeply it is nested.
 */
static halley_status find_recorded(finder *f, uint32_t node, halley_bytes text,
                                   sim_use_kind kind)
{
    uint64_t numbers[TENSOR_NUMBERS], ignored;
    uint32_t n = 0;
    for (const char *at = text.at, *end = text.at + text.n; at < end;) {
        if (*at >= '0' && *at <= '9') {
            if (!scan_tensor_number(&at, end,
                                    n < TENSOR_NUMBERS ? &numbers[n] : &ignored))
                n = TENSOR_NUMBERS; /* the number is too large: this is no tensor */
            n++;
            continue;
        }
        const char c = *at++;
        if (c == '[' || c == ']')
            n = 0;
        if (c != '\'' && c != '"')
            continue;
        uint64_t bytes;
        if (scan_device(&at, end, c) && n == TENSOR_NUMBERS &&
            !__builtin_add_overflow(numbers[2], numbers[3], &bytes) &&
            !__builtin_mul_overflow(bytes, numbers[4], &bytes) && numbers[3] > 0)
            TRY(note_named(f, node, hash_u64(numbers[1]), bytes, kind));
        n = 0;
    }
    return HALLEY_OK;
}

/* *found: the node names tensors on this side. */
static halley_status find_side(bool *found, finder *f, uint32_t node, bool outputs)
{
    const halley_trace *trace = f->p->trace;
    const uint32_t index = f->p->nodes[node].trace_index;
    const sim_use_kind kind = outputs ? SIM_USE_WRITE : SIM_USE_READ;
    halley_attr attr;
    *found = true;
    if (trace_slots_find(&attr, f->slots, index,
                         outputs ? SIM_ATTR_OUTPUTS : SIM_ATTR_INPUTS) &&
        attr.kind == HALLEY_ATTR_STRING_LIST)
        return find_tensor_pairs(f, node, &attr, kind);
    const halley_io io =
        outputs ? halley_node_outputs(trace, index) : halley_node_inputs(trace, index);
    const size_t before = f->mentions.n;
    if (io.present)
        TRY(find_recorded(f, node, io.values, kind));
    *found = f->mentions.n > before;
    return HALLEY_OK;
}

static halley_status find_transfer(finder *f, uint32_t node)
{
    const sim_node *n = &f->p->nodes[node];
    uint32_t tensor = 0;
    const bool load = n->type == HALLEY_NODE_MEM_LOAD;
    if ((!load && n->type != HALLEY_NODE_MEM_STORE) || (n->flags & SIM_NODE_TIMED))
        return HALLEY_OK;
    TRY(new_tensor(&tensor, f, n->amount));
    TRY(note_tensor(f, node, tensor, SIM_USE_WRITE));
    if (!load || n[0].first_child == n[1].first_child)
        return note_tensor(f, node, tensor, SIM_USE_READ);
    assert(n[0].first_child < n[1].first_child);
    for (uint32_t i = n[0].first_child; i < n[1].first_child; i++)
        TRY(note_tensor(f, f->p->children[i], tensor, SIM_USE_READ));
    return HALLEY_OK;
}

static halley_status find_own(finder *f, uint32_t node, sim_attr name, sim_use_kind kind)
{
    halley_attr attr;
    uint64_t bytes;
    uint32_t tensor = 0;
    if (!trace_slots_find(&attr, f->slots, f->p->nodes[node].trace_index, name) ||
        !halley_attr_to_u64(&attr, &bytes) || bytes == 0)
        return HALLEY_OK;
    TRY(new_tensor(&tensor, f, bytes));
    return note_tensor(f, node, tensor, kind);
}

static halley_status find_all(finder *f)
{
    for (uint32_t i = 0; i < f->p->n; i++) {
        bool in, out;
        TRY(find_side(&in, f, i, false));
        TRY(find_side(&out, f, i, true));
        if (!in && !out)
            TRY(find_transfer(f, i));
        TRY(find_own(f, i, SIM_ATTR_ALLOC_BYTES, SIM_USE_WRITE));
        TRY(find_own(f, i, SIM_ATTR_FREE_BYTES, SIM_USE_RELEASE));
    }
    return HALLEY_OK;
}

/* Sort the uses by node: count, sum up, fill. */
static halley_status sort_uses(finder *f)
{
    sim_tensors *t = f->t;
    const uint32_t n = f->p->n;
    if (f->mentions.n == 0)
        return HALLEY_OK;
    if (f->mentions.n > UINT32_MAX)
        return error_set(f->err, HALLEY_ELIMIT, "more than 2^32 uses of tensors");
    t->n = (uint32_t)f->bytes.n;
    t->n_reads = mem_array_zero(t->n, sizeof *t->n_reads);
    t->written = mem_array_zero(t->n, sizeof *t->written);
    t->first_use = mem_array_zero((size_t)n + 1, sizeof *t->first_use);
    t->uses = mem_array(f->mentions.n, sizeof *t->uses);
    if (t->n_reads == NULL || t->written == NULL || t->first_use == NULL ||
        t->uses == NULL)
        return error_nomem(f->err);
    t->bytes = f->bytes.at;
    f->bytes.at = NULL;
    for (size_t i = 0; i < f->mentions.n; i++) {
        const mention *m = &f->mentions.at[i];
        t->first_use[m->node]++;
        t->n_reads[m->use.tensor] += m->use.kind == SIM_USE_READ;
        t->written[m->use.tensor] |= m->use.kind != SIM_USE_READ;
    }
    for (uint32_t i = 0; i < n; i++)
        t->first_use[i + 1] += t->first_use[i];
    for (size_t i = f->mentions.n; i-- > 0;)
        t->uses[--t->first_use[f->mentions.at[i].node]] = f->mentions.at[i].use;
    assert(t->first_use[0] == 0 && t->first_use[n] == f->mentions.n);
    return HALLEY_OK;
}

halley_status sim_tensors_init(sim_tensors *out, const sim_program *p,
                               const trace_slots *slots, halley_error *err)
{
    finder f = {.t = out, .p = p, .slots = slots, .err = err};
    *out = (sim_tensors){0};
    halley_status status = find_all(&f);
    if (status == HALLEY_OK)
        status = sort_uses(&f);
    map64_fini(&f.names);
    array_fini(&f.bytes);
    array_fini(&f.mentions);
    if (status != HALLEY_OK)
        sim_tensors_fini(out);
    return status;
}

void sim_tensors_fini(sim_tensors *t)
{
    free(t->bytes);
    free(t->n_reads);
    free(t->written);
    free(t->first_use);
    free(t->uses);
    *t = (sim_tensors){0};
}
