/*
 * Feed a loaded trace.
 *
 * Dependants are stored in one array, grouped by node. The free nodes are a set of ranks
 * (a rank is the position by ascending id). The set is a tree of 64-bit words, in which
 * each bit shows that the word below is not empty. Minimum, insert and remove touch one
 * word per level. There are at most six levels for 2^32 nodes, whatever the number of
 * free nodes.
 */
#include "base/array.h"
#include "base/error.h"
#include "trace/feeder.h"

#include <string.h>

enum { MAX_LEVELS = 6 };

/* A set of numbers below n. level[0] has one bit per number; the last level is one
 * word. */
typedef struct rank_set {
    uint64_t *level[MAX_LEVELS];
    uint32_t n_levels;
} rank_set;

typedef enum node_state { WAITING, FREE, TAKEN, FINISHED } node_state;

typedef struct memory_feeder {
    halley_feeder base;
    halley_trace *trace;
    uint32_t n;
    uint8_t *state;    /* by index: node_state */
    uint32_t *pending; /* by index: unfinished dependencies, one per mention */
    size_t *starts;    /* n + 1: the dependants of i are at starts[i] … starts[i + 1] */
    uint32_t *dependants;
    uint32_t *order;   /* rank to index; NULL if ids ascend with the index */
    uint32_t *rank_of; /* index to rank; NULL in the same case */
    rank_set free;
} memory_feeder;

static bool rank_set_init(rank_set *set, uint32_t n)
{
    size_t words = n;
    do {
        words = words / 64 + (words % 64 != 0);
        set->level[set->n_levels] = mem_array_zero(words ? words : 1, sizeof(uint64_t));
        if (!set->level[set->n_levels])
            return false;
        set->n_levels++;
    } while (words > 1);
    return true;
}

static void rank_set_fini(rank_set *set)
{
    for (uint32_t l = 0; l < set->n_levels; l++)
        free(set->level[l]);
}

static void rank_set_add(rank_set *set, uint32_t rank)
{
    for (uint32_t l = 0; l < set->n_levels; l++, rank /= 64)
        set->level[l][rank / 64] |= UINT64_C(1) << rank % 64;
}

static void rank_set_remove(rank_set *set, uint32_t rank)
{
    for (uint32_t l = 0; l < set->n_levels; l++, rank /= 64) {
        set->level[l][rank / 64] &= ~(UINT64_C(1) << rank % 64);
        if (set->level[l][rank / 64])
            return;
    }
}

/* The set must not be empty. */
static uint32_t rank_set_min(const rank_set *set)
{
    uint32_t at = 0;
    for (uint32_t l = set->n_levels; l-- > 0;)
        at = at * 64 + (uint32_t)__builtin_ctzll(set->level[l][at]);
    return at;
}

static uint32_t index_of(const memory_feeder *f, uint32_t rank)
{
    return f->order ? f->order[rank] : rank;
}

static uint32_t rank_of(const memory_feeder *f, uint32_t index)
{
    return f->rank_of ? f->rank_of[index] : index;
}

static halley_status memory_take(void *self, halley_feed_node *out, bool *found,
                                 halley_error *err)
{
    (void)err;
    memory_feeder *f = self;
    *found = f->base.counts.free > 0;
    if (!*found)
        return HALLEY_OK;
    const uint32_t rank = rank_set_min(&f->free);
    const uint32_t node = index_of(f, rank);
    rank_set_remove(&f->free, rank);
    f->state[node] = TAKEN;
    f->base.counts.free--;
    f->base.counts.taken++;
    *out = (halley_feed_node){halley_node_id(f->trace, node), f->trace, node};
    return HALLEY_OK;
}

/* A node becomes free. It was waiting or taken, and has already been removed from that
 * count. */
static void free_children(memory_feeder *f, uint32_t node)
{
    f->state[node] = FREE;
    f->base.counts.free++;
    rank_set_add(&f->free, rank_of(f, node));
}

/* Remove a node from the taken ones. HALLEY_NO_NODE: no node of this id is taken. */
static uint32_t untake_loaded(memory_feeder *f, uint64_t id)
{
    const uint32_t node = halley_trace_find(f->trace, id);
    if (node == HALLEY_NO_NODE || f->state[node] != TAKEN)
        return HALLEY_NO_NODE;
    f->base.counts.taken--;
    return node;
}

static halley_status memory_finish(void *self, uint64_t id, halley_error *err)
{
    memory_feeder *f = self;
    const uint32_t node = untake_loaded(f, id);
    if (node == HALLEY_NO_NODE)
        return feeder_not_taken(err, id, "finished");
    f->state[node] = FINISHED;
    f->base.counts.finished++;
    for (size_t k = f->starts[node]; k < f->starts[node + 1]; k++) {
        const uint32_t next = f->dependants[k];
        if (--f->pending[next] > 0)
            continue;
        f->base.counts.waiting--;
        free_children(f, next);
    }
    return HALLEY_OK;
}

static halley_status memory_put_back(void *self, uint64_t id, halley_error *err)
{
    memory_feeder *f = self;
    const uint32_t node = untake_loaded(f, id);
    if (node == HALLEY_NO_NODE)
        return feeder_not_taken(err, id, "put back");
    free_children(f, node);
    return HALLEY_OK;
}

/* The lowest rank whose id is at least `from`; n = none. */
static uint32_t lower_bound(const memory_feeder *f, uint64_t from)
{
    uint32_t low = 0, high = f->n;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (halley_node_id(f->trace, index_of(f, mid)) < from)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool memory_wait(const void *self, uint64_t from, halley_feed_wait *out)
{
    const memory_feeder *f = self;
    uint32_t rank = lower_bound(f, from);
    while (rank < f->n && f->state[index_of(f, rank)] != WAITING)
        rank++;
    if (rank == f->n)
        return false;
    const uint32_t node = index_of(f, rank);
    out->id = halley_node_id(f->trace, node);
    for (uint32_t i = 0;; i++) { /* a waiting node has an unfinished dependency */
        const halley_dep dep = feeder_dep(&f->base, f->trace, node, i);
        out->waits_for = dep.id;
        out->missing = dep.index == HALLEY_NO_NODE;
        if (out->missing ? !f->base.opts.ignore_missing : f->state[dep.index] != FINISHED)
            return true;
    }
}

static void memory_free(void *self)
{
    memory_feeder *f = self;
    rank_set_fini(&f->free);
    free(f->state);
    free(f->pending);
    free(f->starts);
    free(f->dependants);
    free(f->order);
    free(f->rank_of);
    halley_trace_free(f->trace);
    free(f);
}

static const feeder_ops memory_ops = {memory_take, memory_finish, memory_put_back,
                                      memory_wait, memory_free};

typedef struct id_index {
    uint64_t id;
    uint32_t index;
} id_index;

static int by_id(const void *a, const void *b)
{
    const uint64_t x = ((const id_index *)a)->id, y = ((const id_index *)b)->id;
    return x < y ? -1 : x > y;
}

static bool are_ids_sorted(const halley_trace *trace, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        if (halley_node_id(trace, i - 1) >= halley_node_id(trace, i))
            return false;
    return true;
}

/* Fill order and rank_of from the sorted pairs. Equal neighbours are duplicate ids. */
static halley_status take_order(memory_feeder *f, const id_index *sorted,
                                halley_error *err)
{
    for (uint32_t rank = 0; rank < f->n; rank++) {
        if (rank > 0 && sorted[rank].id == sorted[rank - 1].id) {
            error_set(err, HALLEY_EINVAL,
                      "two nodes have this id, so the trace cannot be fed");
            error_at_file(err, halley_trace_path(f->trace));
            error_at_node(err, sorted[rank].id);
            return HALLEY_EINVAL;
        }
        f->order[rank] = sorted[rank].index;
        f->rank_of[sorted[rank].index] = rank;
    }
    return HALLEY_OK;
}

static halley_status sort_ids(memory_feeder *f, halley_error *err)
{
    if (are_ids_sorted(f->trace, f->n))
        return HALLEY_OK;
    f->order = mem_array(f->n, sizeof *f->order);
    f->rank_of = mem_array(f->n, sizeof *f->rank_of);
    id_index *sorted = mem_array(f->n, sizeof *sorted);
    if (!f->order || !f->rank_of || !sorted) {
        free(sorted);
        return error_nomem(err);
    }
    for (uint32_t i = 0; i < f->n; i++)
        sorted[i] = (id_index){halley_node_id(f->trace, i), i};
    qsort(sorted, f->n, sizeof *sorted, by_id);
    const halley_status status = take_order(f, sorted, err);
    free(sorted);
    return status;
}

/* Count the dependencies of each node, and its dependants in starts[node + 1]. */
static void count_parents(memory_feeder *f)
{
    for (uint32_t i = 0; i < f->n; i++) {
        const uint32_t n_deps = feeder_dep_count(&f->base, f->trace, i);
        for (uint32_t k = 0; k < n_deps; k++) {
            const uint32_t on = feeder_dep(&f->base, f->trace, i, k).index;
            if (on != HALLEY_NO_NODE)
                f->starts[on + 1]++;
            if (on != HALLEY_NO_NODE || !f->base.opts.ignore_missing)
                f->pending[i]++;
        }
    }
    for (uint32_t i = 0; i < f->n; i++)
        f->starts[i + 1] += f->starts[i];
}

/* Fill the dependants. starts[i] advances to the end of its part and is reset
 * afterwards. */
static void collect_dependants(memory_feeder *f)
{
    for (uint32_t i = 0; i < f->n; i++) {
        const uint32_t n_deps = feeder_dep_count(&f->base, f->trace, i);
        for (uint32_t k = 0; k < n_deps; k++) {
            const uint32_t on = feeder_dep(&f->base, f->trace, i, k).index;
            if (on != HALLEY_NO_NODE)
                f->dependants[f->starts[on]++] = i;
        }
    }
    memmove(f->starts + 1, f->starts, f->n * sizeof *f->starts);
    f->starts[0] = 0;
}

static halley_status memory_init(memory_feeder *f, halley_error *err)
{
    f->state = mem_array_zero(f->n, sizeof *f->state);
    f->pending = mem_array_zero(f->n, sizeof *f->pending);
    f->starts = mem_array_zero((size_t)f->n + 1, sizeof *f->starts);
    if (!f->state || !f->pending || !f->starts || !rank_set_init(&f->free, f->n))
        return error_nomem(err);
    TRY(sort_ids(f, err));
    count_parents(f);
    f->dependants = mem_array(f->starts[f->n], sizeof *f->dependants);
    if (!f->dependants)
        return error_nomem(err);
    collect_dependants(f);
    f->base.counts.seen = f->n;
    f->base.counts.all_seen = true;
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->pending[i] == 0)
            free_children(f, i);
        else
            f->base.counts.waiting++;
    }
    return HALLEY_OK;
}

halley_status halley_feeder_new(halley_feeder **out, halley_trace *trace,
                                const halley_feeder_opts *opts, halley_error *err)
{
    memory_feeder *f = mem_array_zero(1, sizeof *f);
    if (!f)
        return error_nomem(err);
    f->base.ops = &memory_ops;
    if (opts)
        f->base.opts = *opts;
    f->trace = halley_trace_keep(trace);
    f->n = halley_trace_count(trace);
    const halley_status status = memory_init(f, err);
    if (status != HALLEY_OK) {
        memory_free(f);
        return status;
    }
    *out = &f->base;
    return HALLEY_OK;
}
