/*
 * Finds the repeated block of a generated trace (one without threads).
 *
 * Nodes become tokens: type, collective, host or device, operations, bytes, group, and
 * the name without numbers (names often contain the number of the layer). A block of p
 * nodes that repeats k times is a stretch in which each token equals the one p later.
 * The periods to try are the most common distances between equal runs of two and of four
 * tokens. Each send or receive has a unique token: they are between pipeline stages, and
 * a repeat that includes them is a micro-batch.
 *
 * The first search uses only compute nodes and messages. Collectives, loads and stores
 * may differ in single blocks (weights gathered a layer ahead); they belong to the
 * compute node before them. If that finds nothing, the search uses all nodes. Names may
 * differ between layers (pseudonyms). Then only passes over all layers repeat. So blocks
 * found without names are preferred if they are much shorter.
 *
 * Layers, micro-batches and steps are nested repeats, and passes over the layers may
 * follow each other without a gap. Layers are the innermost repeats that still cover
 * most of a trace. For each k, the search adds up the stretches of a multiple of k
 * blocks that do not overlap, shortest period first. Of the k that cover enough of the
 * trace, it takes the one with the shortest blocks. On near ties, it takes the one that
 * covers most, then the largest k.
 */
#include "base/error.h"
#include "edit/scale.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_PERIOD = 1,
    SHORT_WINDOW = 2,
    LONG_WINDOW = 4,
    MOST_PERIODS = 64,
    MOST_TRIED = 512
};
static const double least_share = 0.4;

/* A distance between equal windows, and its number of occurrences. */
typedef struct distance {
    uint32_t period, n;
} distance;
typedef ARRAY(distance) distances;

static int order_distances(const void *a, const void *b)
{
    const distance *const x = a, *const y = b;
    return x->n != y->n ? (x->n > y->n ? -1 : 1) : (x->period < y->period ? -1 : 1);
}

static int by_period(const void *a, const void *b)
{
    const distance *const x = a, *const y = b;
    return x->period < y->period ? -1 : x->period > y->period;
}

/* Counts the distances between equal windows of that many tokens. False: no memory. */
static bool count_distances(distances *out, map64 *index, const uint64_t *tokens,
                            uint32_t n, uint32_t length)
{
    assert(length > 0);
    map64 last = {0};
    bool fine = true;
    for (uint32_t i = 0; fine && i + length <= n; i++) {
        uint64_t window = 0;
        for (uint32_t k = 0; k < length; k++)
            window = hash_u64(window ^ (tokens[i + k] + UINT64_C(0x9e3779b97f4a7c15)));
        const uint32_t before = map64_find(&last, window);
        uint32_t at = (uint32_t)out->n;
        bool fresh = false;
        if (before != HASH_NONE && i - before >= LEAST_PERIOD) {
            fine = array_reserve(out, 1) && map64_put(index, i - before, &at, &fresh);
            if (fine && fresh)
                out->at[out->n++] = (distance){i - before, 0};
            if (fine)
                out->at[at].n++;
        }
        fine = fine && map64_set(&last, window, i);
    }
    map64_fini(&last);
    return fine;
}

/* The most common distances, shortest first. False: no memory. */
static bool list_periods(distances *out, const uint64_t *tokens, uint32_t n,
                         uint32_t most)
{
    assert(most > 0);
    map64 index = {0};
    const bool fine = count_distances(out, &index, tokens, n, SHORT_WINDOW) &&
                      count_distances(out, &index, tokens, n, LONG_WINDOW);
    map64_fini(&index);
    if (out->n > 1)
        qsort(out->at, out->n, sizeof *out->at, order_distances);
    out->n = out->n < most ? out->n : most;
    if (out->n > 1)
        qsort(out->at, out->n, sizeof *out->at, by_period);
    return fine;
}

static bool list_stretches(scale_stretches *out, const uint64_t *tokens, uint32_t n,
                           uint32_t period)
{
    assert(period > 0);
    for (uint32_t i = 0; i + period < n;) {
        uint32_t end = i;
        while (end + period < n && tokens[end] == tokens[end + period])
            end++;
        if (end - i >= period &&
            !array_push(out, (scale_stretch){i, end - i + period, period}))
            return false;
        i = end + 1;
    }
    return true;
}

bool scale_stretches_find(scale_stretches *out, const uint64_t *tokens, uint32_t n,
                          uint32_t n_periods)
{
    assert(n_periods > 0);
    distances periods = {0};
    bool fine = list_periods(&periods, tokens, n, n_periods);
    for (size_t i = 0; fine && i < periods.n; i++)
        fine = list_stretches(out, tokens, n, periods.at[i].period);
    array_fini(&periods);
    return fine;
}

/* Consecutive copies of one block. */
typedef struct run {
    uint32_t start, period, n; /* in tokens; n: number of blocks */
} run;
typedef ARRAY(run) runs;

/* One way to divide the trace into repeats. */
typedef struct view {
    uint32_t n_blocks; /* blocks of every run */
    uint32_t least;    /* minimum nodes of a run: shorter ones are random */
    bool from_end;     /* the rest of a stretch is at its start, not at its end */
    double share, period;
} view;

typedef struct looker {
    const scale_stretches *all;
    uint8_t *covered; /* by node */
    uint32_t n_nodes;
    runs *out; /* NULL: only measure */
} looker;

/* Places as many runs as fit into the free nodes [start, end) of a stretch. */
static bool fill_stretch(const looker *k, view *v, uint32_t start, uint32_t end,
                         uint32_t period)
{
    assert(period > 0);
    const uint32_t length = period * v->n_blocks;
    const uint32_t n = (end - start) / length;
    const uint32_t first = v->from_end ? end - n * length : start;
    memset(k->covered + first, 1, (size_t)n * length);
    v->share += (double)n * length;
    v->period += (double)n * length * period;
    for (uint32_t i = 0; k->out && i < n; i++)
        if (!array_push(k->out, (run){first + i * length, period, v->n_blocks}))
            return false;
    return true;
}

/* Places runs that do not overlap, shortest period first. Skips stretches that are too
 * short to matter. */
static bool look_for_rows(const looker *k, view *v)
{
    bool fine = true;
    v->share = v->period = 0;
    memset(k->covered, 0, k->n_nodes);
    for (size_t i = 0; fine && i < k->all->n; i++) {
        const scale_stretch *const s = &k->all->at[i];
        if (s->period * v->n_blocks < v->least)
            continue;
        for (uint32_t at = s->start; fine && at < s->start + s->length;) {
            uint32_t end = at;
            while (end < s->start + s->length && !k->covered[end])
                end++;
            fine = fill_stretch(k, v, at, end, s->period);
            at = end + 1;
        }
    }
    v->period = v->share > 0 ? v->period / v->share : 0;
    v->share /= k->n_nodes;
    return fine;
}

static int order_by_start(const void *a, const void *b)
{
    const run *const x = a, *const y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* Much shorter blocks are better. On near ties, those that cover more, then a larger
 * number of blocks. */
static bool is_better_row(const view *a, const view *b)
{
    if (b->n_blocks == 0)
        return true;
    if (a->period < b->period / 1.5 || a->period > b->period * 1.5)
        return a->period < b->period;
    return a->share > 1.01 * b->share ||
           (a->share > 0.99 * b->share && a->n_blocks > b->n_blocks);
}

/* Tries this number of blocks, aligned to the start and to the end of stretches. */
static bool try_blocks(view *best, const looker *k, uint32_t n, bool asked)
{
    assert(n > 0);
    static const uint32_t leasts[] = {24, 8, 4};
    for (int i = 0; i < 6; i++) {
        view v = {.n_blocks = n, .least = leasts[i / 2], .from_end = i % 2 == 1};
        if (!look_for_rows(k, &v))
            return false;
        if (v.share > 0 && (asked || v.share >= least_share) && is_better_row(&v, best))
            *best = v;
    }
    return true;
}

static bool choose_layers(runs *out, const scale_stretches *all, uint32_t n_nodes,
                          uint32_t repeats)
{
    view best = {0};
    looker k = {all, mem_array(n_nodes, 1), n_nodes, NULL};
    uint32_t most = 0;
    bool fine = k.covered != NULL;
    for (size_t i = 0; i < all->n; i++) {
        const uint32_t n = all->at[i].length / all->at[i].period;
        most = n > most ? n : most;
    }
    most = most < MOST_TRIED ? most : MOST_TRIED;
    for (uint32_t n = 2; fine && repeats == 0 && n <= most; n++)
        fine = try_blocks(&best, &k, n, false);
    if (fine && repeats != 0)
        fine = try_blocks(&best, &k, repeats, true);
    k.out = out;
    if (fine && best.n_blocks > 0)
        fine = look_for_rows(&k, &best);
    free(k.covered);
    if (out->n > 1)
        qsort(out->at, out->n, sizeof *out->at, order_by_start);
    return fine;
}

/* Which nodes and names a search uses. */
typedef struct way {
    bool by_name, all; /* all false: only compute nodes and messages */
} way;

static bool is_main(const halley_trace *t, uint32_t node, bool all)
{
    assert(node < halley_trace_count(t));
    const uint32_t type = halley_node_type_of(t, node);
    return all || type == HALLEY_NODE_COMP || type == HALLEY_NODE_SEND ||
           type == HALLEY_NODE_RECV;
}

/* Adds the blocks of a run. A block goes from its first main node to that of the next
 * block, or to the next main node after the run. `mains` lists the main nodes in order.
 * Consecutive passes over the layers become separate rows of `n` blocks each. */
static bool take_run(scale_rows *out, const run *f, uint32_t n, const uint32_t *mains,
                     uint32_t n_mains)
{
    assert(n_mains > 0);
    for (uint32_t k = 0; k < f->n; k++) {
        const uint32_t next = f->start + (k + 1) * f->period;
        const uint32_t end = next < n_mains ? mains[next] : out->n_nodes;
        if (k % n == 0 && !array_push(&out->list, (scale_row){n, n, NULL}))
            return false;
        for (uint32_t i = mains[f->start + k * f->period]; i < end; i++)
            out->places[i] = (scale_place){(uint32_t)out->list.n - 1, k % n};
        if (out->list.n == 1 && k == 0) {
            out->block_nodes = end - mains[f->start];
            out->period = f->period;
        }
    }
    return true;
}

static bool take_runs(scale_rows *out, const runs *found, uint32_t n_layers,
                      const uint32_t *mains, uint32_t n_mains)
{
    assert(mains != NULL || n_mains == 0);
    for (size_t r = 0; r < found->n; r++) {
        const run *const f = &found->at[r];
        const uint32_t n = f->n % n_layers == 0 && n_layers > 1 ? n_layers : f->n;
        if (!take_run(out, f, n, mains, n_mains))
            return false;
    }
    return true;
}

static halley_status look_for(scale_rows *out, const halley_trace *t, way how,
                              uint32_t repeats, uint32_t n_layers, halley_error *err)
{
    TRY(scale_rows_init(out, t, err));
    uint32_t *const mains = mem_array(out->n_nodes, sizeof *mains);
    uint64_t *const tokens = mem_array(out->n_nodes, sizeof *tokens);
    scale_stretches all = {0};
    runs found = {0};
    uint32_t n = 0;
    bool fine = mains && tokens;
    for (uint32_t i = 0; fine && i < out->n_nodes; i++) {
        out->tokens[i] = scale_token(t, i, how.by_name);
        out->mains[i] = is_main(t, i, how.all);
        if (out->mains[i]) {
            mains[n] = i;
            tokens[n++] = out->tokens[i];
        }
    }
    fine = fine && scale_stretches_find(&all, tokens, n, MOST_PERIODS) &&
           (n == 0 || choose_layers(&found, &all, n, repeats)) &&
           take_runs(out, &found, n_layers, mains, n);
    free(mains);
    free(tokens);
    array_fini(&all);
    array_fini(&found);
    return fine ? scale_rows_name(out, err) : error_nomem(err);
}

static bool can_be_layers(uint32_t n_blocks, uint32_t n_layers)
{
    return n_layers % n_blocks == 0 || n_blocks % n_layers == 0;
}

/* True if the blocks of `a` are so much shorter that those of `b` must be passes over
 * several layers with different names. */
static bool much_shorter(const scale_rows *a, const scale_rows *b)
{
    return 4 * a->period <= b->period ||
           (10 * a->period <= 6 * b->period && a->period >= 3);
}

/* Takes the first search that gives a plausible number of layers, else the first that
 * finds rows. */
halley_status scale_find(scale_rows *out, const halley_trace *t, uint32_t repeats,
                         uint32_t n_layers, halley_error *err)
{
    static const way ways[] = {
        {true, false}, {false, false}, {true, true}, {false, true}};
    halley_status status = HALLEY_OK;
    bool fits = false;
    for (size_t i = 0; i < 4 && status == HALLEY_OK && !(fits && i >= 2); i++) {
        scale_rows now = {0};
        status = look_for(&now, t, ways[i], repeats, n_layers, err);
        const bool fits_now = status == HALLEY_OK && now.list.n > 0 &&
                              can_be_layers(now.list.at[0].n, n_layers);
        if (status == HALLEY_OK &&
            (i == 0 || (fits_now && (!fits || much_shorter(&now, out))) ||
             (out->list.n == 0 && now.list.n > 0))) {
            const scale_rows old = *out;
            *out = now;
            now = old;
            fits = fits_now;
        }
        scale_rows_fini(&now);
    }
    return status;
}
