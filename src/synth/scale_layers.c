/*
 * More or fewer layers: blocks added to or taken out of every run of repeats, at the same
 * place in each.
 *
 * Within a run, blocks are counted from 0. Those before the place T stay; behind it
 * copies of block T are put in (T is inside the run where it has an inside, so that
 * neither end is copied), or blocks are left out. What a block waits for moves with it:
 * a dependency on the same or a neighbouring block of the run stays one on the same or
 * the neighbouring block. A dependency between two runs (backward on forward) keeps
 * either its distance or, where the runs count in opposite directions, the sum of the
 * two places; what comes from outside waits for the same end of the run as before.
 */
#include "base/error.h"
#include "synth/scale.h"
#include "trace/edit.h"
#include "trace/levels.h"

#include <stdlib.h>

/* How places of one run relate to those of another they wait for. */
typedef enum relation { APART, TOGETHER, MIRRORED } relation;

/* Where a node is. */
typedef struct place {
    uint32_t run; /* UINT32_MAX: in none */
    uint32_t block, at;
} place;

/* What is known of the dependencies of one run on another. */
typedef struct pair {
    bool seen, together, mirrored; /* the difference, the sum of places is always so */
    bool several;                  /* from more than one place */
    uint32_t first;
    int64_t difference, sum;
} pair;

typedef struct editor {
    scale_job *job;
    const halley_trace *trace;
    scale_runs runs;
    uint32_t n_before, n_after; /* blocks of a run */
    uint32_t t;                 /* the place where blocks come or go */
    place *places;              /* by node */
    uint64_t *new_id;           /* by node: of the first copy; blocks follow by period */
    uint64_t *run_id;           /* by run: new id of its first node */
    map64 pair_of;              /* two runs -> their pair */
    ARRAY(pair) pairs;
    halley_builder *b;
} editor;

static void find_places(editor *e)
{
    for (uint32_t i = 0; i < halley_trace_count(e->trace); i++)
        e->places[i] = (place){.run = UINT32_MAX};
    for (uint32_t r = 0; r < e->runs.n; r++) {
        const scale_run *const run = &e->runs.at[r];
        for (uint32_t i = 0; i < run->period * run->n; i++)
            e->places[run->start + i] = (place){r, i / run->period, i % run->period};
    }
}

/* Which old block stands at a new place. */
static uint32_t old_block(const editor *e, uint32_t block)
{
    if (block < e->t)
        return block;
    if (e->n_after < e->n_before)
        return block + (e->n_before - e->n_after);
    const uint32_t more = e->n_after - e->n_before;
    return block <= e->t + more ? e->t : block - more;
}

/* Where an old block now is for what is outside of its run. */
static uint32_t new_block(const editor *e, uint32_t block)
{
    if (e->n_after >= e->n_before)
        return block < e->t ? block : block + (e->n_after - e->n_before);
    const uint32_t fewer = e->n_before - e->n_after;
    if (block >= e->t + fewer)
        return block - fewer;
    return block < e->t ? block : (e->t > 0 ? e->t - 1 : 0);
}

static uint64_t pair_key(uint32_t from, uint32_t to)
{
    return (uint64_t)from << 32 | to;
}

/* A dependency between two runs, seen once more. */
static void note_pair(pair *p, const place *from, const place *to)
{
    const int64_t difference = (int64_t)to->block - from->block;
    const int64_t sum = (int64_t)to->block + from->block;
    if (!p->seen)
        *p = (pair){true, true, true, false, from->block, difference, sum};
    p->together &= difference == p->difference;
    p->mirrored &= sum == p->sum;
    p->several |= from->block != p->first;
}

/* Look at every dependency between two runs: are differences or sums of places all the
 * same, over at least two places? */
static halley_status find_relations(editor *e, halley_error *err)
{
    for (uint32_t i = 0; i < halley_trace_count(e->trace); i++)
        for (uint32_t k = 0; k < trace_deps_count(e->trace, i); k++) {
            const uint32_t dep = trace_deps_index(e->trace, i, k);
            const place *const a = &e->places[i];
            const place *const b = dep == HALLEY_NO_NODE ? NULL : &e->places[dep];
            uint32_t at = (uint32_t)e->pairs.n;
            bool fresh = false;
            if (!b || a->run == UINT32_MAX || b->run == UINT32_MAX || a->run == b->run)
                continue;
            if (!array_reserve(&e->pairs, 1) ||
                !map64_put(&e->pair_of, pair_key(a->run, b->run), &at, &fresh))
                return error_nomem(err);
            if (fresh)
                e->pairs.at[e->pairs.n++] = (pair){0};
            note_pair(&e->pairs.at[at], a, b);
        }
    return HALLEY_OK;
}

static relation relation_of(const editor *e, uint32_t from, uint32_t to)
{
    const uint32_t at = map64_find(&e->pair_of, pair_key(from, to));
    if (at == HASH_NONE || !e->pairs.at[at].several)
        return APART;
    return e->pairs.at[at].together   ? TOGETHER
           : e->pairs.at[at].mirrored ? MIRRORED
                                      : APART;
}

static uint32_t within(const editor *e, int64_t block)
{
    if (block < 0)
        return 0;
    return block >= e->n_after ? e->n_after - 1 : (uint32_t)block;
}

/* The new place that a node, now in `block` of its run, waits for. */
static uint32_t waits_for(const editor *e, const place *node, uint32_t block,
                          const place *dep)
{
    const int64_t difference = (int64_t)dep->block - node->block;
    if (node->run == UINT32_MAX)
        return new_block(e, dep->block);
    if (node->run == dep->run)
        return within(e, (int64_t)block + difference);
    switch (relation_of(e, node->run, dep->run)) {
    case TOGETHER:
        return within(e, (int64_t)block + difference);
    case MIRRORED:
        return within(e, (int64_t)dep->block + node->block - block + e->n_after -
                             e->n_before);
    default:
        return new_block(e, dep->block);
    }
}

static uint64_t id_at(const editor *e, const place *p, uint32_t block)
{
    return e->run_id[p->run] + (uint64_t)block * e->runs.at[p->run].period + p->at;
}

/* Does the node wait for the same place in several blocks of a run that is not its own
 * and with which it does not move? Then it waits for all of them. */
static bool gathers(const editor *e, uint32_t node, const place *dep)
{
    const place *const own = &e->places[node];
    if (own->run != UINT32_MAX &&
        (own->run == dep->run || relation_of(e, own->run, dep->run) != APART))
        return false;
    for (uint32_t k = 0; k < trace_deps_count(e->trace, node); k++) {
        const uint32_t other = trace_deps_index(e->trace, node, k);
        if (other != HALLEY_NO_NODE && e->places[other].run == dep->run &&
            e->places[other].at == dep->at && e->places[other].block != dep->block)
            return true;
    }
    return false;
}

static halley_status put_id(editor *e, uint64_t id, bool data)
{
    return data ? halley_builder_data(e->b, id) : halley_builder_ctrl(e->b, id);
}

static halley_status put_dep(editor *e, uint32_t node, uint32_t block,
                             const halley_dep *dep, bool data)
{
    if (dep->index == HALLEY_NO_NODE)
        return HALLEY_OK;
    const place *const at = &e->places[dep->index];
    if (at->run == UINT32_MAX)
        return put_id(e, e->new_id[dep->index], data);
    if (!gathers(e, node, at))
        return put_id(e, id_at(e, at, waits_for(e, &e->places[node], block, at)), data);
    for (uint32_t k = 0; k < e->n_after; k++)
        if (old_block(e, k) == at->block)
            TRY(put_id(e, id_at(e, at, k), data));
    return HALLEY_OK;
}

/* The node, as part of `block` of its run (0 when it is in none). */
static halley_status put_node(editor *e, uint32_t node, uint32_t block)
{
    const halley_trace *const t = e->trace;
    const place *const p = &e->places[node];
    const uint64_t id = p->run == UINT32_MAX ? e->new_id[node] : id_at(e, p, block);
    TRY(halley_builder_node(e->b, id, halley_node_type_of(t, node),
                            halley_node_name(t, node)));
    for (uint32_t i = 0; i < halley_node_data_count(t, node); i++) {
        const halley_dep dep = halley_node_data(t, node, i);
        TRY(put_dep(e, node, block, &dep, true));
    }
    for (uint32_t i = 0; i < halley_node_ctrl_count(t, node); i++) {
        const halley_dep dep = halley_node_ctrl(t, node, i);
        TRY(put_dep(e, node, block, &dep, false));
    }
    return halley_builder_copy_rest(e->b, t, node);
}

static halley_status put_run(editor *e, const scale_run *run)
{
    for (uint32_t block = 0; block < e->n_after; block++) {
        const uint32_t from = run->start + old_block(e, block) * run->period;
        for (uint32_t i = 0; i < run->period; i++)
            TRY(put_node(e, from + i, block));
    }
    return HALLEY_OK;
}

static void number(editor *e)
{
    uint64_t id = 0;
    uint32_t next = 0;
    for (uint32_t i = 0; i < halley_trace_count(e->trace);) {
        if (next < e->runs.n && e->runs.at[next].start == i) {
            const scale_run *const run = &e->runs.at[next];
            e->run_id[next++] = id;
            id += (uint64_t)run->period * e->n_after;
            i += run->period * run->n;
        } else {
            e->new_id[i++] = id++;
        }
    }
}

static halley_status put_all(editor *e)
{
    uint32_t next = 0;
    number(e);
    for (uint32_t i = 0; i < halley_trace_count(e->trace);) {
        if (next < e->runs.n && e->runs.at[next].start == i) {
            const scale_run *const run = &e->runs.at[next++];
            TRY(put_run(e, run));
            i += run->period * run->n;
        } else {
            TRY(put_node(e, i++, 0));
        }
    }
    return HALLEY_OK;
}

static halley_status count_blocks(editor *e, halley_error *err)
{
    const halley_scale_opts *const o = e->job->opts;
    halley_scaled *const report = e->job->report;
    if (e->runs.n == 0) {
        error_set(err, HALLEY_EINVAL,
                  "no repeated block was found that could be a layer; --repeats says how "
                  "many there are");
        error_at_file(err, halley_trace_path(e->trace));
        return HALLEY_EINVAL;
    }
    e->n_before = e->runs.at[0].n;
    if (!scale_can_be_layers(e->n_before, o->layers_from)) {
        error_set(
            err, HALLEY_EINVAL,
            "a rank repeats its block of %u nodes %u times, which are not the layers "
            "of a model of %u; --repeats says how many a rank has",
            e->runs.at[0].period, e->n_before, o->layers_from);
        error_at_file(err, halley_trace_path(e->trace));
        return HALLEY_EINVAL;
    }
    const uint64_t product = (uint64_t)e->n_before * o->layers_to;
    if (product % o->layers_from != 0 || product == 0 ||
        product / o->layers_from > 1000000)
        return error_set(
            err, HALLEY_EINVAL,
            "a rank repeats its block %u times, which cannot go from %u to %u",
            e->n_before, o->layers_from, o->layers_to);
    e->n_after = (uint32_t)(product / o->layers_from);
    e->t = e->n_after > e->n_before ? e->n_before / 2 : (e->n_after > 1 ? 1 : 0);
    if (report->n_blocks == 0) {
        report->n_blocks = e->n_before;
        report->n_blocks_after = e->n_after;
        report->block_nodes = e->runs.at[0].period;
    }
    return HALLEY_OK;
}

static halley_status edit(halley_trace **out, editor *e, halley_error *err)
{
    const uint32_t n = halley_trace_count(e->trace);
    TRY(scale_find(&e->runs, e->trace, e->job->opts->repeats, e->job->opts->layers_from,
                   err));
    TRY(count_blocks(e, err));
    e->places = mem_array(n, sizeof *e->places);
    e->new_id = mem_array_zero(n, sizeof *e->new_id);
    e->run_id = mem_array_zero(e->runs.n, sizeof *e->run_id);
    if (!e->places || !e->new_id || !e->run_id)
        return error_nomem(err);
    find_places(e);
    TRY(find_relations(e, err));
    TRY(edit_start(&e->b, e->trace, err));
    return edit_finish(out, e->b, put_all(e), err);
}

static halley_status change(halley_trace **out, void *context, const halley_trace *t,
                            halley_error *err)
{
    editor e = {.job = context, .trace = t};
    const halley_status status = edit(out, &e, err);
    array_fini(&e.runs);
    free(e.places);
    free(e.new_id);
    free(e.run_id);
    map64_fini(&e.pair_of);
    array_fini(&e.pairs);
    return status;
}

halley_status scale_layers(halley_trace_set **set, scale_job *job, halley_error *err)
{
    return scale_each(set, change, job, err);
}
