/*
 * Feed a file that need not fit into memory.
 *
 * Nodes are read in chunks, in ascending order of id. A chunk is released when all its
 * nodes are finished. Unread ids are higher than all read ones. So the lowest free node
 * among those read is the lowest of all, and the window is extended only when none is
 * free. The order is thus that of the in-memory feeder.
 *
 * Each unfinished node has a slot with its number of unfinished dependencies and the list
 * of slots that wait for it. A dependency on a lower id is looked up in the live chunks.
 * If it is not there, it is finished if its id was ever read, and missing otherwise. A
 * dependency on an unread id waits in a heap, ordered by that id, until reading passes
 * it.
 *
 * A chunk with few unfinished nodes is rewritten to contain only those. So memory depends
 * on the number of unfinished nodes, not on their spread. Everything that a chunk can
 * need is allocated before any of it is admitted. So a failure leaves the feeder
 * unchanged.
 */
#include "base/array.h"
#include "base/error.h"
#include "trace/feeder.h"
#include "trace/feeder_read.h"

#include <string.h>

enum {
    DEFAULT_RESIDENT = 1 << 20,
    DEFAULT_CHUNK = 4096,
    COMPACT_ABOVE = 64, /* nodes: smaller chunks are not compacted */
    MAX_RUNS = 1 << 26  /* maximum of id runs, 24 bytes each */
};
static const uint32_t NONE = UINT32_MAX;

typedef enum slot_state { SLOT_UNUSED, SLOT_WAITING, SLOT_FREE, SLOT_TAKEN } slot_state;

typedef struct chunk {
    halley_trace *trace;
    uint64_t first_id, last_id; /* as read, before any compaction */
    uint32_t n_left, n_taken;
    uint32_t *slots; /* by node of the trace; NONE when finished */
} chunk;

typedef struct slot {
    chunk *home;
    uint32_t node;    /* in home's trace */
    uint32_t pending; /* unfinished dependencies, one per mention */
    uint32_t waiters; /* first edge to a waiting slot, or NONE; unused: next unused */
    slot_state state;
} slot;

typedef struct edge {
    uint32_t waiter; /* slot */
    uint32_t next;   /* edge or NONE; also links unused edges */
} edge;

typedef struct id_slot {
    uint64_t id;
    uint32_t slot;
} id_slot;
typedef ARRAY(id_slot) id_heap; /* binary heap, lowest id first */

/* `count` ids: first, first + stride, … */
typedef struct id_run {
    uint64_t first, stride, count;
} id_run;

typedef struct stream_feeder {
    halley_feeder base;
    chunk_reader reader;
    halley_trace *next;    /* read but not yet admitted, or NULL */
    ARRAY(chunk *) chunks; /* live, by ascending id */
    ARRAY(slot) slots;
    ARRAY(edge) edges;
    uint32_t unused_slot, unused_edge; /* heads of free lists, or NONE */
    size_t n_unused_edges;
    id_heap free;
    id_heap forward;    /* unread id, and the slot that waits for it */
    ARRAY(id_run) seen; /* all ids read, ascending */
    uint64_t last_id;
    bool any_id;
} stream_feeder;

static bool heap_reserve(id_heap *h, size_t n_all)
{
    return n_all <= h->n || array_reserve(h, n_all - h->n);
}

/* Room must be reserved. */
static void heap_push(id_heap *h, id_slot x)
{
    size_t i = h->n++;
    while (i > 0 && h->at[(i - 1) / 2].id > x.id) {
        h->at[i] = h->at[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->at[i] = x;
}

static id_slot heap_pop(id_heap *h)
{
    const id_slot top = h->at[0], x = h->at[--h->n];
    size_t i = 0;
    for (size_t child = 1; child < h->n; child = 2 * i + 1) {
        if (child + 1 < h->n && h->at[child + 1].id < h->at[child].id)
            child++;
        if (h->at[child].id >= x.id)
            break;
        h->at[i] = h->at[child];
        i = child;
    }
    h->at[i] = x;
    return top;
}

/* Room must be reserved. */
static void note_seen(stream_feeder *f, uint64_t id)
{
    id_run *run = f->seen.n ? &f->seen.at[f->seen.n - 1] : NULL;
    if (run && run->count == 1) {
        run->stride = id - run->first;
        run->count = 2;
    } else if (run && id - run->first == run->stride * run->count) {
        run->count++;
    } else {
        f->seen.at[f->seen.n++] = (id_run){id, 0, 1};
    }
}

static bool was_seen(const stream_feeder *f, uint64_t id)
{
    size_t low = 0, high = f->seen.n;
    while (low < high) { /* find the first run that starts after id */
        const size_t mid = low + (high - low) / 2;
        if (f->seen.at[mid].first <= id)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0)
        return false;
    const id_run *run = &f->seen.at[low - 1];
    const uint64_t by = id - run->first;
    if (run->count == 1)
        return by == 0;
    return by % run->stride == 0 && by / run->stride < run->count;
}

/* The first live chunk whose last id is at least `id`; the count of chunks if none. */
static size_t chunk_from(const stream_feeder *f, uint64_t id)
{
    size_t low = 0, high = f->chunks.n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (f->chunks.at[mid]->last_id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The first node of the trace whose id is at least `id`; the count of nodes if none. */
static uint32_t node_from(const halley_trace *trace, uint64_t id)
{
    uint32_t low = 0, high = halley_trace_count(trace);
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (halley_node_id(trace, mid) < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The slot of an unfinished node that was read, or NONE. */
static uint32_t find_stream_slot(const stream_feeder *f, uint64_t id)
{
    const size_t at = chunk_from(f, id);
    if (at == f->chunks.n || f->chunks.at[at]->first_id > id)
        return NONE;
    const chunk *c = f->chunks.at[at];
    const uint32_t node = node_from(c->trace, id);
    if (node == halley_trace_count(c->trace) || halley_node_id(c->trace, node) != id)
        return NONE;
    return c->slots[node];
}

/* Room must be reserved. */
static void add_edge(stream_feeder *f, uint32_t from, uint32_t waiter)
{
    uint32_t e = f->unused_edge;
    if (e != NONE) {
        f->unused_edge = f->edges.at[e].next;
        f->n_unused_edges--;
    } else {
        e = (uint32_t)f->edges.n++;
    }
    f->edges.at[e] = (edge){waiter, f->slots.at[from].waiters};
    f->slots.at[from].waiters = e;
}

/* Room must be reserved. */
static uint32_t add_slot(stream_feeder *f, chunk *home, uint32_t node)
{
    uint32_t s = f->unused_slot;
    if (s != NONE)
        f->unused_slot = f->slots.at[s].waiters;
    else
        s = (uint32_t)f->slots.n++;
    f->slots.at[s] = (slot){home, node, 0, NONE, SLOT_WAITING};
    return s;
}

static void free_waiting(stream_feeder *f, uint32_t s)
{
    slot *it = &f->slots.at[s];
    it->state = SLOT_FREE;
    f->base.counts.free++;
    heap_push(&f->free, (id_slot){halley_node_id(it->home->trace, it->node), s});
}

/* One dependency of a slot is finished. */
static void release_node(stream_feeder *f, uint32_t s)
{
    if (--f->slots.at[s].pending > 0)
        return;
    f->base.counts.waiting--;
    free_waiting(f, s);
}

static void chunk_free(chunk *c)
{
    if (!c)
        return;
    halley_trace_free(c->trace);
    free(c->slots);
    free(c);
}

static void drop_chunk(stream_feeder *f, const chunk *c)
{
    const size_t at = chunk_from(f, c->last_id);
    chunk_free(f->chunks.at[at]);
    f->chunks.n--;
    memmove(f->chunks.at + at, f->chunks.at + at + 1,
            (f->chunks.n - at) * sizeof *f->chunks.at);
}

/* Make a trace of the unfinished nodes of n neighbouring chunks. NULL: no memory. */
static halley_trace *copy_left(chunk *const *chunks, size_t n)
{
    halley_builder *b = NULL;
    if (halley_builder_new(&b, NULL) != HALLEY_OK)
        return NULL;
    for (size_t k = 0; k < n; k++) {
        const chunk *c = chunks[k];
        const uint32_t n_nodes = halley_trace_count(c->trace);
        for (uint32_t i = 0; i < n_nodes; i++)
            if (c->slots[i] != NONE)
                (void)halley_builder_copy(b, c->trace, i);
    }
    halley_trace *left = NULL;
    return halley_builder_finish(&left, b, NULL) == HALLEY_OK ? left : NULL;
}

/* Move the remaining slots of c to `to`, after the n already there. */
static uint32_t move_slots(stream_feeder *f, const chunk *c, chunk *to, uint32_t *slots,
                           uint32_t n)
{
    const uint32_t n_nodes = halley_trace_count(c->trace);
    for (uint32_t i = 0; i < n_nodes; i++) {
        if (c->slots[i] == NONE)
            continue;
        slot *s = &f->slots.at[c->slots[i]];
        s->home = to;
        s->node = n;
        slots[n++] = c->slots[i];
    }
    return n;
}

/*
 * Rewrite a sparse chunk to its remaining nodes. If the previous chunk is small too, both
 * are merged, so that the number of sparse chunks stays small. This only saves memory, so
 * a failure is ignored.
 */
static void compact_window(stream_feeder *f, size_t at)
{
    chunk *c = f->chunks.at[at], *before = at > 0 ? f->chunks.at[at - 1] : NULL;
    const bool join = before && before->n_taken == 0 &&
                      before->n_left + c->n_left <= f->base.opts.chunk_nodes / 2;
    const size_t first = join ? at - 1 : at;
    chunk *to = f->chunks.at[first];
    const uint32_t n_left = c->n_left + (join ? before->n_left : 0);
    uint32_t *slots = mem_array(n_left, sizeof *slots);
    halley_trace *left = slots ? copy_left(f->chunks.at + first, at - first + 1) : NULL;
    if (!left) {
        free(slots);
        return;
    }
    uint32_t n = 0;
    for (size_t i = first; i <= at; i++)
        n = move_slots(f, f->chunks.at[i], to, slots, n);
    const uint64_t last_id = c->last_id;
    if (join)
        drop_chunk(f, c);
    halley_trace_free(to->trace);
    free(to->slots);
    to->trace = left;
    to->slots = slots;
    to->n_left = n_left;
    to->last_id = last_id;
}

static void tidy_window(stream_feeder *f, chunk *c)
{
    const uint32_t n = halley_trace_count(c->trace);
    if (c->n_left == 0)
        drop_chunk(f, c);
    else if (c->n_taken == 0 && n > COMPACT_ABOVE && c->n_left < n / 4)
        compact_window(f, chunk_from(f, c->last_id));
}

/* Check that the ids of the next chunk continue after the last one and ascend. */
static halley_status check_ids(const stream_feeder *f, const halley_trace *trace,
                               halley_error *err)
{
    bool any = f->any_id;
    uint64_t last = f->last_id;
    const uint32_t n = halley_trace_count(trace);
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t id = halley_node_id(trace, i);
        if (any && id <= last) {
            error_set(err, HALLEY_EINVAL,
                      "this id comes after id %llu, and a file can only be streamed when "
                      "its ids ascend: load the trace whole instead",
                      (unsigned long long)last);
            error_at_file(err, f->reader.path);
            error_at_node(err, id);
            return HALLEY_EINVAL;
        }
        any = true;
        last = id;
    }
    return HALLEY_OK;
}

/* Reserve room for everything that n more nodes with n_deps dependencies can add. */
static bool reserve_window(stream_feeder *f, uint32_t n, size_t n_deps)
{
    const halley_feed_counts *c = &f->base.counts;
    const size_t live = (size_t)(c->free + c->taken + c->waiting) + n;
    const size_t edges = f->forward.n + n_deps; /* forward entries may become edges */
    return array_reserve(&f->chunks, 1) && array_reserve(&f->slots, n) &&
           heap_reserve(&f->free, live) && array_reserve(&f->forward, n_deps) &&
           array_reserve(&f->seen, n) &&
           (edges <= f->n_unused_edges ||
            array_reserve(&f->edges, edges - f->n_unused_edges));
}

/* Settle dependencies on ids that reading has reached. Those on `id` become edges to
 * `to`; those on lower ids are missing. */
static void settle_forward(stream_feeder *f, uint64_t id, uint32_t to)
{
    while (f->forward.n > 0 && f->forward.at[0].id <= id) {
        const id_slot it = heap_pop(&f->forward);
        if (it.id == id)
            add_edge(f, to, it.slot);
        else if (f->base.opts.ignore_missing)
            release_node(f, it.slot);
    }
}

/* Make slot s wait for one dependency if it is not finished. */
static void add_dependency(stream_feeder *f, uint32_t s, uint64_t id, uint64_t on)
{
    slot *it = &f->slots.at[s];
    if (on > id) {
        heap_push(&f->forward, (id_slot){on, s});
        it->pending++;
        return;
    }
    const uint32_t other = find_stream_slot(f, on);
    if (other != NONE) {
        add_edge(f, other, s);
        it->pending++;
    } else if (!was_seen(f, on) && !f->base.opts.ignore_missing) {
        it->pending++;
    }
}

static void admit_node(stream_feeder *f, chunk *c, uint32_t node)
{
    const uint64_t id = halley_node_id(c->trace, node);
    const uint32_t s = add_slot(f, c, node);
    c->slots[node] = s;
    settle_forward(f, id, s);
    note_seen(f, id);
    f->last_id = id;
    f->any_id = true;
    const uint32_t n_deps = feeder_dep_count(&f->base, c->trace, node);
    for (uint32_t i = 0; i < n_deps; i++)
        add_dependency(f, s, id, feeder_dep(&f->base, c->trace, node, i).id);
    f->base.counts.seen++;
    if (f->slots.at[s].pending > 0)
        f->base.counts.waiting++;
    else
        free_waiting(f, s);
}

static chunk *chunk_new(halley_trace *trace, uint32_t n)
{
    chunk *c = mem_array_zero(1, sizeof *c);
    uint32_t *slots = mem_array(n, sizeof *slots);
    if (!c || !slots) {
        free(c);
        free(slots);
        return NULL;
    }
    memset(slots, 0xff, n * sizeof *slots);
    *c = (chunk){.trace = trace,
                 .slots = slots,
                 .n_left = n,
                 .first_id = halley_node_id(trace, 0),
                 .last_id = halley_node_id(trace, n - 1)};
    return c;
}

static halley_status check_limits(const stream_feeder *f, uint32_t n, halley_error *err)
{
    const halley_feed_counts *c = &f->base.counts;
    const uint32_t max = f->base.opts.max_resident;
    if (c->free + c->taken + c->waiting + n > max) {
        error_set(err, HALLEY_ELIMIT,
                  "more than %u unfinished nodes would have to be held at once: finish "
                  "some first, raise max_resident, or load the trace whole",
                  max);
        error_at_file(err, f->reader.path);
        return HALLEY_ELIMIT;
    }
    if (f->seen.n > MAX_RUNS) {
        error_set(err, HALLEY_ELIMIT,
                  "the ids are too scattered to stream the file: load the trace whole");
        error_at_file(err, f->reader.path);
        return HALLEY_ELIMIT;
    }
    return HALLEY_OK;
}

/* Admit the nodes of f->next: all of them or, on failure, none. */
static halley_status admit(stream_feeder *f, halley_error *err)
{
    halley_trace *trace = f->next;
    const uint32_t n = halley_trace_count(trace);
    if (n == 0) {
        halley_trace_free(trace);
        f->next = NULL;
        return HALLEY_OK;
    }
    TRY(check_ids(f, trace, err));
    TRY(check_limits(f, n, err));
    size_t n_deps = 0;
    for (uint32_t i = 0; i < n; i++)
        n_deps += feeder_dep_count(&f->base, trace, i);
    if (n_deps + f->edges.n + f->forward.n > NONE / 2)
        return error_set(err, HALLEY_ELIMIT, "too many dependencies are open at once");
    chunk *c = reserve_window(f, n, n_deps) ? chunk_new(trace, n) : NULL;
    if (!c)
        return error_nomem(err);
    f->chunks.at[f->chunks.n++] = c;
    f->next = NULL;
    for (uint32_t i = 0; i < n; i++)
        admit_node(f, c, i);
    return HALLEY_OK;
}

/* At the end of the file, whatever still waits for a higher id waits for a missing
 * one. */
static void end_of_file(stream_feeder *f)
{
    f->base.counts.all_seen = true;
    while (f->forward.n > 0) {
        const id_slot it = heap_pop(&f->forward);
        if (f->base.opts.ignore_missing)
            release_node(f, it.slot);
    }
}

/* Read until a node is free or the file ends. */
static halley_status extend_window(stream_feeder *f, halley_error *err)
{
    while (f->base.counts.free == 0 && !f->base.counts.all_seen) {
        if (!f->next)
            TRY(chunk_reader_next(&f->reader, &f->next, err));
        if (!f->next)
            end_of_file(f);
        else
            TRY(admit(f, err));
    }
    return HALLEY_OK;
}

static halley_status stream_take(void *self, halley_feed_node *out, bool *found,
                                 halley_error *err)
{
    stream_feeder *f = self;
    TRY(extend_window(f, err));
    *found = f->base.counts.free > 0;
    if (!*found)
        return HALLEY_OK;
    const id_slot it = heap_pop(&f->free);
    slot *s = &f->slots.at[it.slot];
    s->state = SLOT_TAKEN;
    s->home->n_taken++;
    f->base.counts.free--;
    f->base.counts.taken++;
    *out = (halley_feed_node){it.id, s->home->trace, s->node};
    return HALLEY_OK;
}

/* Remove a node from the taken ones. NONE: no node of this id is taken. */
static uint32_t untake_streamed(stream_feeder *f, uint64_t id)
{
    const uint32_t s = find_stream_slot(f, id);
    if (s == NONE || f->slots.at[s].state != SLOT_TAKEN)
        return NONE;
    f->slots.at[s].home->n_taken--;
    f->base.counts.taken--;
    return s;
}

static halley_status stream_finish(void *self, uint64_t id, halley_error *err)
{
    stream_feeder *f = self;
    const uint32_t s = untake_streamed(f, id);
    if (s == NONE)
        return feeder_not_taken(err, id, "finished");
    slot *it = &f->slots.at[s];
    for (uint32_t e = it->waiters; e != NONE;) {
        edge *at = &f->edges.at[e];
        const uint32_t next = at->next;
        release_node(f, at->waiter);
        at->next = f->unused_edge;
        f->unused_edge = e;
        f->n_unused_edges++;
        e = next;
    }
    chunk *home = it->home;
    home->slots[it->node] = NONE;
    home->n_left--;
    *it = (slot){.waiters = f->unused_slot, .state = SLOT_UNUSED};
    f->unused_slot = s;
    f->base.counts.finished++;
    tidy_window(f, home);
    return HALLEY_OK;
}

static halley_status stream_put_back(void *self, uint64_t id, halley_error *err)
{
    stream_feeder *f = self;
    const uint32_t s = untake_streamed(f, id);
    if (s == NONE)
        return feeder_not_taken(err, id, "put back");
    free_waiting(f, s);
    return HALLEY_OK;
}

/* The first unfinished dependency of a waiting node. */
static void first_unmet(const stream_feeder *f, const chunk *c, uint32_t node,
                        halley_feed_wait *out)
{
    out->id = halley_node_id(c->trace, node);
    for (uint32_t i = 0;; i++) { /* ends, because a waiting node has one */
        const uint64_t on = feeder_dep(&f->base, c->trace, node, i).id;
        out->waits_for = on;
        out->missing = !was_seen(f, on) && (f->base.counts.all_seen || on < f->last_id);
        if (out->missing && f->base.opts.ignore_missing)
            continue;
        if (out->missing || on > f->last_id || find_stream_slot(f, on) != NONE)
            return;
    }
}

static bool stream_wait(const void *self, uint64_t from, halley_feed_wait *out)
{
    const stream_feeder *f = self;
    for (size_t i = chunk_from(f, from); i < f->chunks.n; i++) {
        const chunk *c = f->chunks.at[i];
        const uint32_t n = halley_trace_count(c->trace);
        for (uint32_t node = node_from(c->trace, from); node < n; node++) {
            const uint32_t s = c->slots[node];
            if (s == NONE || f->slots.at[s].state != SLOT_WAITING)
                continue;
            first_unmet(f, c, node, out);
            return true;
        }
    }
    return false;
}

static void stream_free(void *self)
{
    stream_feeder *f = self;
    for (size_t i = 0; i < f->chunks.n; i++)
        chunk_free(f->chunks.at[i]);
    array_fini(&f->chunks);
    array_fini(&f->slots);
    array_fini(&f->edges);
    array_fini(&f->free);
    array_fini(&f->forward);
    array_fini(&f->seen);
    halley_trace_free(f->next);
    chunk_reader_close(&f->reader);
    free(f);
}

static const feeder_ops stream_ops = {stream_take, stream_finish, stream_put_back,
                                      stream_wait, stream_free};

static void set_opts(halley_feeder_opts *to, const halley_feeder_opts *from)
{
    if (from)
        *to = *from;
    if (to->max_resident == 0)
        to->max_resident = DEFAULT_RESIDENT;
    if (to->chunk_nodes == 0)
        to->chunk_nodes = DEFAULT_CHUNK;
    /* Whole chunks are admitted, so small limits need small chunks. */
    if (to->chunk_nodes > to->max_resident / 4)
        to->chunk_nodes = to->max_resident < 8 ? 1 : to->max_resident / 4;
}

halley_status feeder_stream_open(halley_feeder **out, const char *path,
                                 const halley_feeder_opts *opts, halley_error *err)
{
    stream_feeder *f = mem_array_zero(1, sizeof *f);
    if (!f)
        return error_nomem(err);
    f->base.ops = &stream_ops;
    f->unused_slot = f->unused_edge = NONE;
    f->reader.fd = -1;
    set_opts(&f->base.opts, opts);
    bool streamable = false;
    halley_status status =
        chunk_reader_open(&f->reader, path, f->base.opts.chunk_nodes, &streamable, err);
    /* If the first chunk is not valid, the loader of whole files handles the file. */
    if (status == HALLEY_OK && streamable)
        status = chunk_reader_next(&f->reader, &f->next, err);
    if (status == HALLEY_OK && f->next &&
        halley_trace_form_of(f->next) == HALLEY_FORM_ET &&
        check_ids(f, f->next, NULL) == HALLEY_OK) {
        *out = &f->base;
        return HALLEY_OK;
    }
    stream_free(f);
    return status == HALLEY_ENOMEM ? status : HALLEY_OK;
}

bool halley_feeder_streams(const halley_feeder *feeder)
{
    return feeder->ops == &stream_ops;
}
