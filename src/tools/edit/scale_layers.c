/*
 * More or fewer layers: adds blocks to every row of repeats, or removes them.
 *
 * Within a row, blocks are counted from 0 in the order in which they run. The first and
 * the last block stay at the ends. Inner blocks are copied in turn, or removed.
 *
 * Dependencies move with a block. A dependency on the same or a neighbouring block of
 * the row stays on the same or the neighbouring block, on the corresponding node there.
 * A dependency between two rows (backward on forward) keeps its distance or, if the rows
 * count in opposite directions, the sum of the two positions. A node outside of a row
 * waits for the same end of the row as before. A node that waited for something in
 * several blocks waits for it in all copies.
 */
#include "base/error.h"
#include "edit/scale.h"
#include "trace/core/edit.h"
#include "trace/core/levels.h"

#include <assert.h>
#include <stdlib.h>

/* How positions in one row relate to those in another row that they wait for. */
typedef enum relation { APART, TOGETHER, MIRRORED } relation;

/* The dependencies of one row on another. */
typedef struct pair {
    bool seen, together, mirrored; /* the difference, the sum of positions is constant */
    bool several;                  /* from more than one position */
    uint32_t first;
    int64_t difference, sum;
} pair;

typedef struct editor {
    const halley_trace *trace;
    const scale_rows *rows;
    uint32_t *first_slot;     /* by row: index of its block 0 among all old blocks */
    uint32_t *first_new_slot; /* by row: the same among the new ones */
    uint32_t *members; /* nodes in blocks, block by block, in the order of the file */
    uint32_t *start; /* by old block: its first entry in `members`; one more at the end */
    uint32_t *index; /* by node: its index within its block */
    uint32_t *before;   /* by node: the previous node of its block in run order */
    uint32_t *position; /* by node: its position in the order of the rows */
    uint8_t *dropped;   /* by node: it was needed only by a removed block */
    uint64_t *new_id;   /* by node outside of rows */
    uint64_t *block_id; /* by new block: id of its first node */
    uint64_t next_id;
    const bool *updates; /* by node: it updates the weights */
    double update;       /* factor of the number of weights to update */
    double ns_per_byte;
    map64 twins;   /* row, block and key -> node */
    map64 pair_of; /* two rows -> their pair */
    ARRAY(pair) pairs;
    halley_builder *b;
} editor;

static uint64_t twin_key(uint64_t key, uint32_t row, uint32_t block)
{
    return hash_u64(key ^ hash_u64((uint64_t)row << 32 | block));
}

static uint64_t make_pair_key(uint32_t from, uint32_t to)
{
    return (uint64_t)from << 32 | to;
}

static const scale_row *find_row(const editor *e, const scale_place *p)
{
    return &e->rows->list.at[p->row];
}

static uint32_t find_slot(const editor *e, const scale_place *p)
{
    return e->first_slot[p->row] + p->block;
}

/* Numbers the old and new blocks, and lists the nodes of each. */
static void list_members(editor *e)
{
    const scale_rows *const rows = e->rows;
    const uint32_t n_slots = e->first_slot[rows->list.n];
    for (uint32_t i = 0; i < rows->n_nodes; i++)
        if (rows->places[i].row != SCALE_OUTSIDE)
            e->index[i] = e->start[find_slot(e, &rows->places[i]) + 1]++;
    for (uint32_t s = 0; s < n_slots; s++)
        e->start[s + 1] += e->start[s];
    for (uint32_t i = 0; i < rows->n_nodes; i++)
        if (rows->places[i].row != SCALE_OUTSIDE)
            e->members[e->start[find_slot(e, &rows->places[i])] + e->index[i]] = i;
}

static halley_status find_twins(editor *e, halley_error *err)
{
    const scale_rows *const rows = e->rows;
    for (uint32_t k = 0, last = HALLEY_NO_NODE; k < rows->n_nodes; k++) {
        const uint32_t i = rows->order[k];
        const scale_place *const p = &rows->places[i];
        e->position[i] = k;
        if (p->row == SCALE_OUTSIDE)
            continue;
        const bool same = last != HALLEY_NO_NODE && rows->places[last].row == p->row &&
                          rows->places[last].block == p->block;
        e->before[i] = same ? last : HALLEY_NO_NODE;
        last = i;
        if (!map64_set(&e->twins, twin_key(rows->keys[i], p->row, p->block), i))
            return error_nomem(err);
    }
    return HALLEY_OK;
}

/* The node that corresponds to `node` in another block of its row: the one with the same
 * key. If there is none, the search goes back to the nearest earlier node with such a
 * counterpart before place `limit`. */
static uint32_t find_twin(const editor *e, uint32_t node, uint32_t block, uint32_t limit)
{
    assert(node < halley_trace_count(e->trace));
    const scale_place *const p = &e->rows->places[node];
    const uint32_t first = node;
    for (; node != HALLEY_NO_NODE && p->block != block; node = e->before[node]) {
        const uint32_t at =
            map64_find(&e->twins, twin_key(e->rows->keys[node], p->row, block));
        if (at != HASH_NONE && (node == first || e->position[at] < limit))
            return at;
    }
    return node;
}

/* Records one dependency between two rows. */
static void note_pair(pair *p, const scale_place *from, const scale_place *to)
{
    const int64_t difference = (int64_t)to->block - from->block;
    const int64_t sum = (int64_t)to->block + from->block;
    if (!p->seen)
        *p = (pair){true, true, true, false, from->block, difference, sum};
    p->together &= difference == p->difference;
    p->mirrored &= sum == p->sum;
    p->several |= from->block != p->first;
}

/* Checks for every pair of rows whether the differences or the sums of positions are
 * constant, over at least two positions. */
static halley_status find_relations(editor *e, halley_error *err)
{
    for (uint32_t i = 0; i < halley_trace_count(e->trace); i++)
        for (uint32_t k = 0; k < trace_deps_count(e->trace, i); k++) {
            const uint32_t dep = trace_deps_index(e->trace, i, k);
            const scale_place *const a = &e->rows->places[i];
            const scale_place *const b =
                dep == HALLEY_NO_NODE ? NULL : &e->rows->places[dep];
            uint32_t at = (uint32_t)e->pairs.n;
            bool fresh = false;
            if (!b || a->row == SCALE_OUTSIDE || b->row == SCALE_OUTSIDE ||
                a->row == b->row)
                continue;
            if (!array_reserve(&e->pairs, 1) ||
                !map64_put(&e->pair_of, make_pair_key(a->row, b->row), &at, &fresh))
                return error_nomem(err);
            if (fresh)
                e->pairs.at[e->pairs.n++] = (pair){0};
            note_pair(&e->pairs.at[at], a, b);
        }
    return HALLEY_OK;
}

static relation relation_of(const editor *e, uint32_t from, uint32_t to)
{
    assert(from < halley_trace_count(e->trace) && to < halley_trace_count(e->trace));
    const scale_row *const a = &e->rows->list.at[from], *const b = &e->rows->list.at[to];
    const uint32_t at = map64_find(&e->pair_of, make_pair_key(from, to));
    if (at == HASH_NONE || !e->pairs.at[at].several || a->n != b->n ||
        a->n_after != b->n_after)
        return APART;
    return e->pairs.at[at].together   ? TOGETHER
           : e->pairs.at[at].mirrored ? MIRRORED
                                      : APART;
}

/* Finds nodes that fetched data ahead for blocks that are all removed. This happens in
 * rows of which one block is left. Recordings fetch nothing ahead. */
static void find_dropped(editor *e)
{
    const scale_rows *const rows = e->rows;
    enum { WAITED = 1, STAYS = 2 };
    for (uint32_t i = 0; i < rows->n_nodes; i++)
        for (uint32_t k = 0; k < trace_deps_count(e->trace, i); k++) {
            const uint32_t dep = trace_deps_index(e->trace, i, k);
            if (dep == HALLEY_NO_NODE)
                continue;
            const scale_place *const a = &rows->places[i], *const b = &rows->places[dep];
            e->dropped[dep] |= WAITED;
            if (a->row != b->row || a->block <= b->block)
                e->dropped[dep] |= STAYS;
        }
    for (uint32_t i = 0; i < rows->n_nodes; i++) {
        const scale_place *const p = &rows->places[i];
        e->dropped[i] = e->dropped[i] == WAITED && p->row != SCALE_OUTSIDE &&
                        find_row(e, p)->n_after == 1 && find_row(e, p)->n > 1 &&
                        halley_node_type_of(e->trace, i) != HALLEY_NODE_COMP &&
                        !rows->mains[i] && !rows->grow;
    }
}

/* The new block that represents an old block for nodes outside of the row: its first
 * copy, or the nearest remaining one before it. */
static uint32_t find_new_block(const scale_row *row, uint32_t block)
{
    assert(block < row->n);
    if (!row->blocks)
        return block;
    if (block == row->n - 1 && row->blocks[row->n_after - 1] == block)
        return row->n_after - 1;
    uint32_t at = 0;
    for (uint32_t k = 0; k < row->n_after; k++) {
        if (row->blocks[k] == block)
            return k;
        if (row->blocks[k] < block && row->blocks[k] >= row->blocks[at])
            at = k;
    }
    return at;
}

static uint32_t old_block(const scale_row *row, uint32_t block)
{
    return row->blocks ? row->blocks[block] : block;
}

static uint32_t clamp_block(const scale_row *row, int64_t block)
{
    if (block < 0)
        return 0;
    return block >= row->n_after ? row->n_after - 1 : (uint32_t)block;
}

/* The new block that `node`, now in `block` of its row, waits for instead of `dep`.
 * UINT32_MAX: none. */
static uint32_t find_awaited_block(const editor *e, const scale_place *node,
                                   uint32_t block, const scale_place *dep)
{
    const scale_row *const row = find_row(e, dep);
    const int64_t difference = (int64_t)dep->block - node->block;
    if (node->row == SCALE_OUTSIDE)
        return find_new_block(row, dep->block);
    if (node->row == dep->row) {
        const uint32_t at = clamp_block(row, (int64_t)block + difference);
        return difference != 0 && at == block ? UINT32_MAX : at;
    }
    switch (relation_of(e, node->row, dep->row)) {
    case TOGETHER:
        return clamp_block(row, (int64_t)block + difference);
    case MIRRORED:
        return clamp_block(row, (int64_t)dep->block + node->block - block + row->n_after -
                                    row->n);
    default:
        return find_new_block(row, dep->block);
    }
}

/* Does the node wait for the same thing in several blocks of another row with which it
 * does not move? Then it waits for all of them. */
static bool gathers_blocks(const editor *e, uint32_t node, uint32_t dep)
{
    assert(node < halley_trace_count(e->trace));
    const scale_place *const own = &e->rows->places[node];
    const scale_place *const at = &e->rows->places[dep];
    if (own->row != SCALE_OUTSIDE &&
        (own->row == at->row || relation_of(e, own->row, at->row) != APART))
        return false;
    for (uint32_t k = 0; k < trace_deps_count(e->trace, node); k++) {
        const uint32_t other = trace_deps_index(e->trace, node, k);
        if (other != HALLEY_NO_NODE && e->rows->places[other].row == at->row &&
            e->rows->places[other].block != at->block &&
            e->rows->keys[other] == e->rows->keys[dep])
            return true;
    }
    return false;
}

static uint64_t id_at(const editor *e, uint32_t node, uint32_t block)
{
    return e->block_id[e->first_new_slot[e->rows->places[node].row] + block] +
           e->index[node];
}

static halley_status put_block_id(editor *e, uint64_t id, bool data)
{
    return data ? halley_builder_data(e->b, id) : halley_builder_ctrl(e->b, id);
}

/* Gives `node` in `block` a dependency of node `as`. */
static halley_status put_dep(editor *e, uint32_t node, uint32_t as, uint32_t block,
                             const halley_dep *dep, bool data)
{
    assert(dep != NULL);
    if (dep->index == HALLEY_NO_NODE)
        return HALLEY_OK;
    const scale_place *const at = &e->rows->places[dep->index];
    if (at->row == SCALE_OUTSIDE)
        return put_block_id(e, e->new_id[dep->index], data);
    const scale_row *const row = find_row(e, at);
    if (gathers_blocks(e, as, dep->index)) {
        for (uint32_t k = 0; k < row->n_after; k++)
            if (old_block(row, k) == at->block)
                TRY(put_block_id(e, id_at(e, dep->index, k), data));
        return HALLEY_OK;
    }
    const uint32_t to = find_awaited_block(e, &e->rows->places[as], block, at);
    if (to == UINT32_MAX)
        return HALLEY_OK;
    const bool same = e->rows->places[node].row == at->row && to == block;
    const uint32_t other = find_twin(e, dep->index, old_block(row, to),
                                     same ? e->position[node] : UINT32_MAX);
    return other == HALLEY_NO_NODE || e->dropped[other]
               ? HALLEY_OK
               : put_block_id(e, id_at(e, other, to), data);
}

static halley_status copy_rest(editor *e, uint32_t node, halley_error *err)
{
    assert(node < halley_trace_count(e->trace));
    const double grow = e->rows->grow ? e->rows->grow[node] : 1;
    scale_factors f = {grow, 1, grow, grow};
    if (e->updates && e->updates[node] && e->rows->places[node].row == SCALE_OUTSIDE)
        f = scale_update_factors(e->trace, node, e->update, e->ns_per_byte);
    return scale_copy_rest(e->b, e->trace, node, &f, err);
}

/* The node whose dependencies the node takes over in its new block. The first block of a
 * row waits for nodes outside, the others for the block before them. So a copy of the
 * first block that is not first waits as the second does. A block that becomes the first
 * waits as the first did. */
static uint32_t find_pattern(const editor *e, uint32_t node, uint32_t block)
{
    const scale_place *const p = &e->rows->places[node];
    if (p->row == SCALE_OUTSIDE || (p->block == 0) == (block == 0) ||
        find_row(e, p)->n < 2)
        return node;
    const uint32_t at =
        map64_find(&e->twins, twin_key(e->rows->keys[node], p->row, block == 0 ? 0 : 1));
    return at == HASH_NONE ? node : at;
}

/* Is the dependency on a node of the same block? */
static bool is_inside(const editor *e, uint32_t node, const halley_dep *dep)
{
    const scale_place *const a = &e->rows->places[node];
    if (dep->index == HALLEY_NO_NODE || a->row == SCALE_OUTSIDE)
        return false;
    const scale_place *const b = &e->rows->places[dep->index];
    return a->row == b->row && a->block == b->block;
}

/* Writes the dependencies of the node: its own or, if it follows the pattern of `as`,
 * those of `as` that lead out of the block. In that case its own are only those inside
 * the block. */
static halley_status put_block_deps(editor *e, uint32_t node, uint32_t as, uint32_t block)
{
    assert(node < halley_trace_count(e->trace));
    const halley_trace *const t = e->trace;
    const bool all = find_pattern(e, node, block) == node, in = as == node;
    for (uint32_t i = 0; i < halley_node_data_count(t, as); i++) {
        const halley_dep dep = halley_node_data(t, as, i);
        if (all || is_inside(e, as, &dep) == in)
            TRY(put_dep(e, node, as, block, &dep, true));
    }
    for (uint32_t i = 0; i < halley_node_ctrl_count(t, as); i++) {
        const halley_dep dep = halley_node_ctrl(t, as, i);
        if (all || is_inside(e, as, &dep) == in)
            TRY(put_dep(e, node, as, block, &dep, false));
    }
    return HALLEY_OK;
}

/* Writes the node as part of new block `block` of its row (0 if it is in none). */
static halley_status put_block_node(editor *e, uint32_t node, uint32_t block,
                                    halley_error *err)
{
    assert(node < halley_trace_count(e->trace));
    const halley_trace *const t = e->trace;
    const uint64_t id = e->rows->places[node].row == SCALE_OUTSIDE
                            ? e->new_id[node]
                            : id_at(e, node, block);
    const uint32_t as = find_pattern(e, node, block);
    TRY(halley_builder_node(e->b, id, halley_node_type_of(t, node),
                            halley_node_name(t, node)));
    TRY(put_block_deps(e, node, node, block));
    if (as != node)
        TRY(put_block_deps(e, node, as, block));
    return copy_rest(e, node, err);
}

/* Visits one new block: assigns ids or, with `put`, writes it. */
static halley_status visit_block(editor *e, uint32_t row, uint32_t block, bool put,
                                 halley_error *err)
{
    assert(row < e->rows->list.n);
    const scale_row *const r = &e->rows->list.at[row];
    const uint32_t slot = e->first_slot[row] + old_block(r, block);
    if (!put) {
        e->block_id[e->first_new_slot[row] + block] = e->next_id;
        e->next_id += e->start[slot + 1] - e->start[slot];
        return HALLEY_OK;
    }
    for (uint32_t i = e->start[slot]; i < e->start[slot + 1]; i++)
        if (!e->dropped[e->members[i]])
            TRY(put_block_node(e, e->members[i], block, err));
    return HALLEY_OK;
}

/* A new block is written at the place of the highest old block among those used up to
 * it. */
static halley_status visit_blocks(editor *e, const scale_place *at, bool put,
                                  halley_error *err)
{
    const scale_row *const row = find_row(e, at);
    uint32_t highest = 0;
    for (uint32_t k = 0; k < row->n_after; k++) {
        const uint32_t old = old_block(row, k);
        highest = old > highest ? old : highest;
        if (highest > at->block)
            break;
        if (highest == at->block)
            TRY(visit_block(e, at->row, k, put, err));
    }
    return HALLEY_OK;
}

static halley_status visit_all(editor *e, bool put, halley_error *err)
{
    for (uint32_t i = 0; i < e->rows->n_nodes; i++) {
        const scale_place *const p = &e->rows->places[i];
        if (p->row != SCALE_OUTSIDE) {
            if (e->index[i] == 0)
                TRY(visit_blocks(e, p, put, err));
        } else if (put) {
            TRY(put_block_node(e, i, 0, err));
        } else {
            e->new_id[i] = e->next_id++;
        }
    }
    return HALLEY_OK;
}

static bool reserve_blocks(editor *e)
{
    const scale_rows *const rows = e->rows;
    const size_t n = rows->n_nodes, n_rows = rows->list.n;
    size_t n_old = 0, n_new = 0;
    e->first_slot = mem_array(n_rows + 1, sizeof *e->first_slot);
    e->first_new_slot = mem_array(n_rows + 1, sizeof *e->first_new_slot);
    for (size_t r = 0; r <= n_rows && e->first_slot && e->first_new_slot; r++) {
        e->first_slot[r] = (uint32_t)n_old;
        e->first_new_slot[r] = (uint32_t)n_new;
        n_old += r < n_rows ? rows->list.at[r].n : 0;
        n_new += r < n_rows ? rows->list.at[r].n_after : 0;
    }
    e->start = mem_array_zero(n_old + 1, sizeof *e->start);
    e->block_id = mem_array_zero(n_new, sizeof *e->block_id);
    e->members = mem_array(n, sizeof *e->members);
    e->index = mem_array_zero(n, sizeof *e->index);
    e->before = mem_array(n, sizeof *e->before);
    e->position = mem_array(n, sizeof *e->position);
    e->dropped = mem_array_zero(n, sizeof *e->dropped);
    e->new_id = mem_array_zero(n, sizeof *e->new_id);
    return e->first_slot && e->first_new_slot && e->start && e->block_id && e->members &&
           e->index && e->before && e->position && e->dropped && e->new_id;
}

static halley_status edit_rank(halley_trace **out, editor *e, halley_error *err)
{
    if (!reserve_blocks(e))
        return error_nomem(err);
    list_members(e);
    find_dropped(e);
    TRY(find_twins(e, err));
    TRY(find_relations(e, err));
    TRY(visit_all(e, false, err));
    TRY(edit_start(&e->b, e->trace, err));
    return edit_finish(out, e->b, visit_all(e, true, err), err);
}

static bool is_reduction(const halley_trace *t, uint32_t node, uint64_t *bytes)
{
    assert(node < halley_trace_count(t) && bytes != NULL);
    trace_roles r;
    uint64_t type;
    trace_roles_read(&r, t, node);
    return trace_roles_u64(&r, TRACE_ROLE_COMM_TYPE, &type) &&
           (type == HALLEY_COLL_ALL_REDUCE || type == HALLEY_COLL_REDUCE_SCATTER) &&
           trace_roles_u64(&r, TRACE_ROLE_COMM_SIZE, bytes);
}

/* The factor by which the reduced gradients grow. The weights of a rank grow with
 * them. */
static double weights_factor(const scale_job *job, const halley_trace *t,
                             const scale_rows *rows)
{
    double before = 0, after = 0;
    for (uint32_t i = 0; i < rows->n_nodes; i++) {
        const scale_place *const p = &rows->places[i];
        uint64_t bytes;
        uint32_t n = 0;
        if (!scale_is_data_parallel(job, t, i) || !is_reduction(t, i, &bytes))
            continue;
        if (p->row == SCALE_OUTSIDE)
            n = 1;
        else
            for (uint32_t k = 0; k < rows->list.at[p->row].n_after; k++)
                n += old_block(&rows->list.at[p->row], k) == p->block;
        before += (double)bytes;
        after += (double)bytes * n;
    }
    return before > 0 ? after / before : 1;
}

static void free_editor(editor *e)
{
    free(e->first_slot);
    free(e->first_new_slot);
    free(e->members);
    free(e->start);
    free(e->index);
    free(e->before);
    free(e->position);
    free(e->dropped);
    free(e->new_id);
    free(e->block_id);
    map64_fini(&e->twins);
    map64_fini(&e->pair_of);
    array_fini(&e->pairs);
}

static halley_status change_layers(halley_trace **out, const scale_job *job,
                                   const halley_trace *t, const scale_rows *rows,
                                   halley_error *err)
{
    bool *updates = NULL;
    if (!rows->grow)
        TRY(scale_updates(&updates, job, t, false, err));
    editor e = {.trace = t,
                .rows = rows,
                .updates = updates,
                .update = updates ? weights_factor(job, t, rows) : 1,
                .ns_per_byte = updates ? scale_fastest(t) : 0};
    const halley_status status = edit_rank(out, &e, err);
    free_editor(&e);
    free(updates);
    return status;
}

/* A set and what is known about it, by distinct trace and by rank. */
typedef struct job {
    scale_job *of;
    trace_distinct d;
    scale_rows *rows;             /* by distinct trace */
    uint32_t *n_before, *n_after; /* by rank; 0 in recordings, where the rows hold it */
    halley_trace **made;          /* by rank */
} job;

static halley_status find_rows(job *j, halley_error *err)
{
    const halley_scale_opts *const o = j->of->opts;
    for (uint32_t i = 0; i < j->d.n; i++) {
        const halley_trace *const t = j->d.trace[i];
        if (scale_is_recording(t)) {
            if (o->repeats > 0)
                return error_set(err, HALLEY_EINVAL,
                                 "--repeats is not for recordings, of which autograd "
                                 "describes the layers: FROM says which of their rows");
            TRY(scale_find_recorded(&j->rows[i], t, o, err));
            continue;
        }
        TRY(scale_find(&j->rows[i], t, o->repeats, o->layers_from, err));
        if (j->rows[i].list.n == 0) {
            error_set(err, HALLEY_EINVAL,
                      "nothing repeats here that could be a layer, and a stage of one "
                      "layer has none that could be copied; --repeats says how many "
                      "there are, if more");
            error_at_file(err, halley_trace_path(t));
            return HALLEY_EINVAL;
        }
    }
    return HALLEY_OK;
}

/* Plans the blocks of every row of the rank's trace. */
static halley_status plan_rank(job *j, uint32_t rank, halley_error *err)
{
    assert(rank < j->d.n_ranks);
    scale_rows *const rows = &j->rows[j->d.which[rank]];
    for (size_t i = 0; i < rows->list.n; i++) {
        scale_row *const row = &rows->list.at[i];
        bool fine = true;
        free(row->blocks);
        row->n_after = j->n_after[rank];
        row->blocks = scale_block_list(row->n, row->n_after, NULL, &fine);
        if (!row->blocks)
            return error_nomem(err);
    }
    return HALLEY_OK;
}

/* An earlier rank with the same trace and the same change. `rank` if there is none. */
static uint32_t find_like(const job *j, uint32_t rank)
{
    assert(rank < j->d.n_ranks);
    for (uint32_t r = j->d.first_rank[j->d.which[rank]]; r < rank; r++)
        if (j->d.which[r] == j->d.which[rank] && j->n_after[r] == j->n_after[rank])
            return r;
    return rank;
}

static halley_status make_scaled_ranks(job *j, halley_error *err)
{
    const scale_rows *const first = &j->rows[j->d.which[0]];
    const bool recorded = scale_is_recording(j->d.trace[j->d.which[0]]);
    halley_scaled *const report = j->of->report;
    for (uint32_t r = 0; r < j->d.n_ranks; r++) {
        const uint32_t which = j->d.which[r], other = find_like(j, r);
        if (other < r) {
            j->made[r] = halley_trace_keep(j->made[other]);
            continue;
        }
        if (!recorded)
            TRY(plan_rank(j, r, err));
        TRY(change_layers(&j->made[r], j->of, j->d.trace[which], &j->rows[which], err));
        if (r > 0)
            continue;
        report->block_nodes = first->block_nodes;
        report->n_blocks = first->list.at[0].n;
        report->n_blocks_after = first->list.at[0].n_after;
    }
    return HALLEY_OK;
}

static halley_status run_layers(job *j, const halley_trace_set *set, halley_error *err)
{
    const uint32_t n = j->d.n_ranks;
    j->rows = mem_array_zero(j->d.n, sizeof *j->rows);
    j->n_before = mem_array_zero(n, sizeof *j->n_before);
    j->n_after = mem_array_zero(n, sizeof *j->n_after);
    j->made = mem_array_zero(n, sizeof(halley_trace *));
    if (!j->rows || !j->n_before || !j->n_after || !j->made)
        return error_nomem(err);
    TRY(find_rows(j, err));
    for (uint32_t r = 0; r < n; r++)
        j->n_before[r] = j->rows[j->d.which[r]].list.at[0].n;
    if (!scale_is_recording(j->d.trace[0]))
        TRY(scale_stages(j->n_after, j->n_before, set, j->of->opts, err));
    return make_scaled_ranks(j, err);
}

halley_status scale_layers(halley_trace_set **set, scale_job *of, halley_error *err)
{
    assert(of->opts->layers_from > 0 && of->opts->layers_to > 0);
    job j = {.of = of};
    halley_trace_set *fresh = NULL;
    TRY(trace_distinct_init(&j.d, *set, err));
    halley_status status = run_layers(&j, *set, err);
    if (status == HALLEY_OK)
        status = halley_trace_set_new(&fresh, j.made, j.d.n_ranks, err);
    for (uint32_t r = 0; status != HALLEY_OK && j.made && r < j.d.n_ranks; r++)
        halley_trace_free(j.made[r]);
    for (uint32_t i = 0; j.rows && i < j.d.n; i++)
        scale_rows_fini(&j.rows[i]);
    free(j.rows);
    free(j.n_before);
    free(j.n_after);
    free(j.made);
    trace_distinct_fini(&j.d);
    if (status == HALLEY_OK) {
        halley_trace_set_free(*set);
        *set = fresh;
    }
    return status;
}
