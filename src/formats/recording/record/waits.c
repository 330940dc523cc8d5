/*
 * Find who waits for devices: blocking calls of the host, and streams that wait for other
 * streams.
 *
 * A blocking call waits for the device event that ends last inside it. Candidates are its
 * own copy, otherwise the stream that the profiler names, otherwise all device events.
 * The last piece of the call then begins where that event ends. The clocks of host and
 * device differ by microseconds, so a copy may end shortly after the call that waited for
 * it (MI300X: 2 to 4 us). In that case the call waits for what ran before the copy.
 *
 * Waits between streams come from three sources:
 *
 * - The profiler's own records (cuda_sync).
 * - A collective waits for the stream that its caller used last.
 * - Something may start more than 30 us after everything it is known to wait for. It then
 *   waits for the event of another stream that ended last, at most 15 us before.
 */
#include "recording/record/rebuild.h"

#include <stdlib.h>
#include <string.h>

enum { LATE_NS = 30000, NEAR_NS = 15000, CLOCK_SKEW_NS = 20000 };

/* Device events sorted by end, of one row or of all. */
typedef struct end_list {
    uint32_t *works; /* sorted by end */
    size_t n;
} end_list;

typedef struct wait_finder {
    rec_graph *g;
    end_list all;
    end_list *rows;
    uint32_t *storage; /* storage of the rows' lists */
    map64 own;         /* host event -> the last work that it launched */
    map64 sync_of;     /* correlation -> sync */
    uint8_t *blocks;   /* by text: does a call of that name block? Filled on demand */
} wait_finder;
enum { BLOCKS_UNKNOWN, BLOCKS_NOT, BLOCKS };

static int compare_work_ends(const void *a, const void *b, void *context)
{
    const record *const r = context;
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const int64_t x = r->works.at[i].end_ns, y = r->works.at[j].end_ns;
    return x != y ? (x < y ? -1 : 1) : i < j ? -1 : i > j;
}

static bool list_all_ends(wait_finder *f)
{
    const record *const r = f->g->rec;
    f->all.works = mem_array(r->works.n, sizeof *f->all.works);
    if (f->all.works == NULL)
        return false;
    for (uint32_t i = 0; i < r->works.n; i++)
        if (!r->works.at[i].is_sync)
            f->all.works[f->all.n++] = i;
    qsort_r(f->all.works, f->all.n, sizeof *f->all.works, compare_work_ends,
            (void *)(uintptr_t)r);
    return true;
}

static bool list_row_ends(wait_finder *f)
{
    const record *const r = f->g->rec;
    f->rows = mem_array_zero(r->rows.n, sizeof *f->rows);
    f->storage = mem_array(r->works.n, sizeof *f->storage);
    if (f->rows == NULL || f->storage == NULL)
        return false;
    for (size_t i = 0; i < f->all.n; i++)
        f->rows[r->works.at[f->all.works[i]].row].n++;
    size_t at = 0;
    for (size_t i = 0; i < r->rows.n; i++) {
        f->rows[i].works = f->storage + at;
        at += f->rows[i].n;
        f->rows[i].n = 0;
    }
    for (size_t i = 0; i < f->all.n; i++) {
        end_list *const row = &f->rows[r->works.at[f->all.works[i]].row];
        row->works[row->n++] = f->all.works[i];
    }
    return true;
}

/* The last in the list that ends at or before at_ns; REC_NONE = none. */
static uint32_t find_last_end(const wait_finder *f, const end_list *list, int64_t at_ns)
{
    size_t low = 0, high = list->n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (f->g->rec->works.at[list->works[mid]].end_ns <= at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 ? list->works[low - 1] : REC_NONE;
}

static const end_list *find_synced_row(const wait_finder *f, const rec_sync *sync)
{
    const record *const r = f->g->rec;
    for (size_t i = 0; sync != NULL && sync->stream >= 0 && i < r->rows.n; i++)
        if (r->rows.at[i].stream == sync->stream && f->rows[i].n > 0)
            return &f->rows[i];
    return &f->all;
}

/* What a blocking copy waits for; REC_NONE = unknown. */
static uint32_t find_copy_end(const wait_finder *f, const rec_host *call, uint32_t own)
{
    const rec_work *const copy = &f->g->rec->works.at[own];
    if (copy->end_ns > call->begin_ns && copy->end_ns <= call->end_ns)
        return own;
    if (copy->end_ns <= call->end_ns || copy->end_ns - call->end_ns >= CLOCK_SKEW_NS)
        return REC_NONE;
    const int64_t limit = call->end_ns < copy->begin_ns ? call->end_ns : copy->begin_ns;
    return find_last_end(f, &f->rows[copy->row], limit);
}

static uint32_t find_awaited(const wait_finder *f, const rec_host *call, uint32_t i)
{
    const str name = rec_text(f->g->rec, call->name);
    const uint32_t own =
        str_contains(name, STR("Memcpy")) ? map64_find(&f->own, i) : HASH_NONE;
    if (own != HASH_NONE)
        return find_copy_end(f, call, own);
    const uint32_t s = call->correlation == REC_NO_ID
                           ? HASH_NONE
                           : map64_find(&f->sync_of, call->correlation);
    const rec_sync *const sync = s == HASH_NONE ? NULL : &f->g->rec->syncs.at[s];
    const bool one_stream = str_contains(name, STR("Stream"));
    return find_last_end(f, one_stream ? find_synced_row(f, sync) : &f->all,
                         call->end_ns);
}

static bool is_pageable_read(const record *r, const rec_work *w)
{
    const str name = rec_text(r, w->name);
    return w->kind == REC_COPY && str_contains(name, STR("DtoH")) &&
           str_contains(name, STR("Pageable"));
}

static bool blocks_by_name(wait_finder *f, uint32_t id)
{
    if (f->blocks[id] == BLOCKS_UNKNOWN) {
        const str name = rec_text(f->g->rec, id);
        const bool blocks = rec_call_blocks(name) || str_eq(name, STR("cudaFree")) ||
                            str_eq(name, STR("hipFree"));
        f->blocks[id] = blocks ? BLOCKS : BLOCKS_NOT;
    }
    return f->blocks[id] == BLOCKS;
}

static bool blocks_here(wait_finder *f, uint32_t i)
{
    const record *const r = f->g->rec;
    const rec_host *const call = &r->hosts.at[i];
    if (call->kind != REC_CALL || call->end_ns <= call->begin_ns)
        return false;
    if (blocks_by_name(f, call->name))
        return true;
    const uint32_t own = map64_find(&f->own, i);
    return own != HASH_NONE && is_pageable_read(r, &r->works.at[own]);
}

/* The last piece of the call. */
static uint32_t find_last_piece(const rec_graph *g, uint32_t host)
{
    uint32_t node = g->node_of_host[host];
    const int64_t end_ns = g->rec->hosts.at[host].end_ns;
    while (rec_node_end(g, node) < end_ns)
        node++;
    assert(node < g->n_pieces);
    return node;
}

/* Let the piece begin when the wait is over. */
static bool set_wait(rec_graph *g, uint32_t piece, int64_t at_ns)
{
    uint32_t wait = (uint32_t)g->waits.n;
    bool is_new;
    if (!map64_put(&g->wait_of, piece, &wait, &is_new))
        return false;
    if (!is_new) {
        g->waits.at[wait].begin_ns = at_ns;
        return true;
    }
    g->marks.at[piece] |= REC_MARK_WAITS;
    return array_push(&g->waits, (rec_wait){.begin_ns = at_ns, .node = piece});
}

static bool add_call_wait(wait_finder *f, uint32_t i)
{
    rec_graph *const g = f->g;
    const rec_host *const call = &g->rec->hosts.at[i];
    g->wait_ns += call->end_ns - call->begin_ns;
    const uint32_t awaited = find_awaited(f, call, i);
    if (awaited == REC_NONE)
        return true;
    const int64_t at_ns = g->rec->works.at[awaited].end_ns;
    const uint32_t piece = find_last_piece(g, i);
    if (at_ns <= call->begin_ns || at_ns < rec_node_begin(g, piece) ||
        at_ns > rec_node_end(g, piece))
        return true;
    g->wait_explained_ns += at_ns - call->begin_ns;
    return set_wait(g, piece, at_ns) &&
           rec_add_edge(g, rec_node_of_work(g, awaited), piece, REC_EDGE_WAIT);
}

static bool init_wait_finder(wait_finder *f)
{
    const record *const r = f->g->rec;
    f->blocks = mem_array_zero(r->texts.n, sizeof *f->blocks);
    bool ok = f->blocks != NULL && list_all_ends(f) && list_row_ends(f);
    for (uint32_t i = 0; ok && i < r->works.n; i++)
        if (r->works.at[i].launch != REC_NONE)
            ok = map64_set(&f->own, r->works.at[i].launch, i);
    for (uint32_t i = 0; ok && i < r->syncs.n; i++)
        if (r->syncs.at[i].correlation != REC_NO_ID)
            ok = map64_set(&f->sync_of, r->syncs.at[i].correlation, i);
    return ok;
}

static void fini_wait_finder(wait_finder *f)
{
    free(f->all.works);
    free(f->rows);
    free(f->storage);
    map64_fini(&f->own);
    map64_fini(&f->sync_of);
    free(f->blocks);
}

/* By work: the latest end of what it is known to wait for; INT64_MIN = nothing. */
static void find_known_ends(const rec_graph *g, int64_t *known)
{
    for (size_t i = 0; i < g->rec->works.n; i++)
        known[i] = INT64_MIN;
    for (size_t i = 0; i < g->edges.n; i++) {
        const rec_edge *const e = &g->edges.at[i];
        if (!rec_node_on_device(g, e->to))
            continue;
        int64_t *const latest = &known[e->to - g->n_pieces];
        const int64_t end_ns = rec_node_end(g, e->from);
        *latest = end_ns > *latest ? end_ns : *latest;
    }
}

/* If a work starts late, look for the end of other device work that explains it. */
static bool add_guess(wait_finder *f, uint32_t i, int64_t known_ns)
{
    rec_graph *const g = f->g;
    const rec_work *const w = &g->rec->works.at[i];
    if (known_ns == INT64_MIN || w->begin_ns - known_ns <= LATE_NS || w->is_sync)
        return true;
    const int64_t lag = w->begin_ns - known_ns;
    g->late_ns += lag;
    const uint32_t other = find_last_end(f, &f->all, w->begin_ns);
    if (other != REC_NONE && other != i) {
        const int64_t end_ns = g->rec->works.at[other].end_ns;
        if (end_ns > known_ns && w->begin_ns - end_ns <= NEAR_NS)
            return rec_add_edge(g, rec_node_of_work(g, other), rec_node_of_work(g, i),
                                REC_EDGE_GUESSED);
    }
    g->late_unexplained_ns += lag;
    return true;
}

static bool add_guesses(wait_finder *f)
{
    rec_graph *const g = f->g;
    int64_t *const known = mem_array(g->rec->works.n, sizeof *known);
    if (known == NULL)
        return false;
    find_known_ends(g, known);
    bool ok = true;
    for (uint32_t i = 0; ok && i < g->rec->works.n; i++)
        ok = add_guess(f, i, known[i]);
    free(known);
    return ok;
}

bool rec_add_waits(rec_graph *g)
{
    wait_finder f = {.g = g};
    bool ok = init_wait_finder(&f);
    for (uint32_t i = 0; ok && i < g->rec->hosts.n; i++)
        if (blocks_here(&f, i))
            ok = add_call_wait(&f, i);
    ok = ok && add_guesses(&f);
    fini_wait_finder(&f);
    return ok;
}

/* When a work was launched; INT64_MIN = before the window. */
static int64_t launched_at(const record *r, const rec_work *w)
{
    return w->launch == REC_NONE ? INT64_MIN : r->hosts.at[w->launch].begin_ns;
}

/* Works by (stream, launch), and calls by correlation. */
typedef struct launch_index {
    uint32_t *works;
    size_t n;
    map64 call; /* correlation -> host event */
} launch_index;

static int64_t stream_of_work(const record *r, uint32_t i)
{
    return r->rows.at[r->works.at[i].row].stream;
}

static int compare_launches(const void *a, const void *b, void *context)
{
    const record *const r = context;
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const int64_t s = stream_of_work(r, i), t = stream_of_work(r, j);
    if (s != t)
        return s < t ? -1 : 1;
    const int64_t x = launched_at(r, &r->works.at[i]);
    const int64_t y = launched_at(r, &r->works.at[j]);
    return x != y ? (x < y ? -1 : 1) : i < j ? -1 : i > j;
}

static bool init_launch_index(launch_index *t, const record *r)
{
    t->works = mem_array(r->works.n, sizeof *t->works);
    if (t->works == NULL)
        return false;
    for (uint32_t i = 0; i < r->works.n; i++)
        if (!r->works.at[i].is_sync)
            t->works[t->n++] = i;
    qsort_r(t->works, t->n, sizeof *t->works, compare_launches, (void *)(uintptr_t)r);
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->hosts.n; i++)
        if (r->hosts.at[i].kind == REC_CALL && r->hosts.at[i].correlation != REC_NO_ID)
            ok = map64_set(&t->call, r->hosts.at[i].correlation, i);
    return ok;
}

/* The last work of a stream that was launched before `at_ns`, and the first after it. */
static void find_around(const launch_index *t, const record *r, int64_t stream,
                        int64_t at_ns, uint32_t *before, uint32_t *after)
{
    size_t low = 0, high = t->n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        const uint32_t i = t->works[mid];
        const int64_t s = stream_of_work(r, i);
        if (s < stream || (s == stream && launched_at(r, &r->works.at[i]) < at_ns))
            low = mid + 1;
        else
            high = mid;
    }
    const bool has_before = low > 0 && stream_of_work(r, t->works[low - 1]) == stream;
    const bool has_after = low < t->n && stream_of_work(r, t->works[low]) == stream;
    *before = has_before ? t->works[low - 1] : REC_NONE;
    *after = has_after ? t->works[low] : REC_NONE;
}

/* Add a wait between streams that the profiler recorded. */
static bool add_recorded_wait(rec_graph *g, const launch_index *t, const rec_sync *sync)
{
    const record *const r = g->rec;
    if (sync->kind != REC_SYNC_STREAM_WAIT || sync->record == REC_NO_ID ||
        sync->waited_on < 0 || sync->stream < 0)
        return true;
    const uint32_t record_call = map64_find(&t->call, sync->record);
    const uint32_t wait_call = map64_find(&t->call, sync->correlation);
    if (record_call == HASH_NONE || wait_call == HASH_NONE)
        return true;
    uint32_t from, to, unused;
    find_around(t, r, sync->waited_on, r->hosts.at[record_call].begin_ns, &from, &unused);
    find_around(t, r, sync->stream, r->hosts.at[wait_call].begin_ns, &unused, &to);
    if (from == REC_NONE || to == REC_NONE || from == to)
        return true;
    return rec_add_edge(g, rec_node_of_work(g, from), rec_node_of_work(g, to),
                        REC_EDGE_EVENT);
}

/* An NCCL collective waits for the work that its thread launched last, if that is on
 * another stream. */
static bool add_collective_wait(rec_graph *g, uint32_t i, const uint32_t *last_of_thread)
{
    const record *const r = g->rec;
    const rec_work *const w = &r->works.at[i];
    if (w->launch == REC_NONE || !str_starts(rec_text(r, w->name), STR("nccl")))
        return true;
    const uint32_t from = last_of_thread[rec_host_thread(r, w->launch)];
    if (from == REC_NONE || r->works.at[from].row == w->row)
        return true;
    return rec_add_edge(g, rec_node_of_work(g, from), rec_node_of_work(g, i),
                        REC_EDGE_EVENT);
}

static int compare_work_launches(const void *a, const void *b, void *context)
{
    const record *const r = context;
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const int64_t x = launched_at(r, &r->works.at[i]);
    const int64_t y = launched_at(r, &r->works.at[j]);
    return x != y ? (x < y ? -1 : 1) : i < j ? -1 : i > j;
}

static bool add_collective_waits(rec_graph *g)
{
    const record *const r = g->rec;
    uint32_t *const last = mem_array(r->threads.n, sizeof *last);
    uint32_t *const order = mem_array(r->works.n, sizeof *order);
    bool ok = last != NULL && order != NULL;
    for (size_t i = 0; ok && i < r->threads.n; i++)
        last[i] = REC_NONE;
    for (uint32_t i = 0; ok && i < r->works.n; i++)
        order[i] = i;
    if (ok)
        qsort_r(order, r->works.n, sizeof *order, compare_work_launches,
                (void *)(uintptr_t)r);
    for (size_t k = 0; ok && k < r->works.n; k++) {
        const rec_work *const w = &r->works.at[order[k]];
        ok = add_collective_wait(g, order[k], last);
        if (w->launch != REC_NONE && !w->is_sync)
            last[rec_host_thread(r, w->launch)] = order[k];
    }
    free(last);
    free(order);
    return ok;
}

bool rec_add_stream_events(rec_graph *g)
{
    launch_index t = {0};
    bool any = false, ok = true;
    for (size_t i = 0; i < g->rec->syncs.n; i++)
        any |= g->rec->syncs.at[i].kind == REC_SYNC_STREAM_WAIT;
    if (any)
        ok = init_launch_index(&t, g->rec);
    for (size_t i = 0; any && ok && i < g->rec->syncs.n; i++)
        ok = add_recorded_wait(g, &t, &g->rec->syncs.at[i]);
    free(t.works);
    map64_fini(&t.call);
    return ok && add_collective_waits(g);
}
