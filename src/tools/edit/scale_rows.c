/*
 * Rows of blocks: which node of one block corresponds to which node of another.
 *
 * A main node is identified within its block by what it does and by the number of such
 * nodes before it. Other nodes (kernels, pauses, collectives) are identified by the main
 * node before them and their own position after it. So blocks need not be equal in every
 * node.
 */
#include "base/error.h"
#include "edit/scale.h"

#include <assert.h>
#include <stdlib.h>

static uint64_t mix_hash(uint64_t hash, uint64_t value)
{
    return hash_u64(hash ^ (value + UINT64_C(0x9e3779b97f4a7c15)));
}

uint64_t scale_token(const halley_trace *t, uint32_t node, bool by_name)
{
    assert(node < halley_trace_count(t));
    static const trace_role roles[] = {TRACE_ROLE_COMM_TYPE, TRACE_ROLE_NUM_OPS,
                                       TRACE_ROLE_TENSOR_SIZE, TRACE_ROLE_COMM_SIZE};
    trace_roles r;
    const uint32_t type = halley_node_type_of(t, node);
    if (type == HALLEY_NODE_SEND || type == HALLEY_NODE_RECV)
        return mix_hash(type, (uint64_t)node << 32 | 1);
    trace_roles_read(&r, t, node);
    uint64_t hash = mix_hash(type, trace_roles_is_cpu(&r));
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        uint64_t value = UINT64_MAX;
        (void)trace_roles_u64(&r, roles[i], &value);
        hash = mix_hash(hash, value);
    }
    const halley_bytes group = trace_roles_group(&r);
    hash = mix_hash(hash, hash_bytes(group.at, group.n, 0));
    const halley_bytes name = halley_node_name(t, node);
    return by_name ? hash_less_numbers((str){name.at, name.n}, hash) : hash;
}

void scale_rows_fini(scale_rows *rows)
{
    free(rows->order);
    free(rows->places);
    free(rows->keys);
    free(rows->tokens);
    free(rows->mains);
    free(rows->grow);
    for (size_t i = 0; i < rows->list.n; i++)
        free(rows->list.at[i].blocks);
    array_fini(&rows->list);
    *rows = (scale_rows){0};
}

halley_status scale_rows_init(scale_rows *rows, const halley_trace *trace,
                              halley_error *err)
{
    assert(trace != NULL);
    const uint32_t n = halley_trace_count(trace);
    *rows = (scale_rows){.n_nodes = n,
                         .order = mem_array(n, sizeof *rows->order),
                         .places = mem_array(n, sizeof *rows->places),
                         .keys = mem_array_zero(n, sizeof *rows->keys),
                         .tokens = mem_array_zero(n, sizeof *rows->tokens),
                         .mains = mem_array_zero(n, sizeof *rows->mains)};
    if (!rows->order || !rows->places || !rows->keys || !rows->tokens || !rows->mains) {
        scale_rows_fini(rows);
        return error_nomem(err);
    }
    for (uint32_t i = 0; i < n; i++) {
        rows->order[i] = i;
        rows->places[i] = (scale_place){SCALE_OUTSIDE, 0};
    }
    return HALLEY_OK;
}

/* Counts the key. Returns the number of earlier occurrences. HASH_NONE: no memory. */
static uint32_t count_repeats(map64 *seen, uint64_t key)
{
    const uint32_t before = map64_find(seen, key);
    const uint32_t n = before == HASH_NONE ? 0 : before;
    return map64_set(seen, key, n + 1) ? n : HASH_NONE;
}

halley_status scale_rows_name(scale_rows *rows, halley_error *err)
{
    map64 seen = {0};
    uint64_t main_key = 0;
    scale_place last = {SCALE_OUTSIDE, 0};
    bool fine = true;
    for (uint32_t k = 0; fine && k < rows->n_nodes; k++) {
        const uint32_t i = rows->order[k];
        const scale_place at = rows->places[i];
        if (at.row == SCALE_OUTSIDE)
            continue;
        if (at.row != last.row || at.block != last.block)
            main_key = 0;
        last = at;
        const uint64_t what = mix_hash(rows->tokens[i], rows->mains[i] ? 1 : main_key);
        const uint32_t n = count_repeats(
            &seen, mix_hash(mix_hash(what, at.row), (uint64_t)at.block << 1 | 1));
        fine = n != HASH_NONE;
        rows->keys[i] = mix_hash(what, n);
        if (rows->mains[i])
            main_key = rows->keys[i];
    }
    map64_fini(&seen);
    return fine ? HALLEY_OK : error_nomem(err);
}
