/*
 * The repeated block of a trace, found by itself.
 *
 * Nodes become tokens: type, collective, host or device, operations, bytes, group, and
 * the name less the numbers in it (layers are often called by theirs). A block of p
 * nodes that is repeated k times in a row is a stretch in which each token equals the one
 * p further on. The periods worth trying are the distances at which runs of two and four
 * tokens come back most often. Sends and receives are like no other node: they stand
 * between stages of a pipeline, and what repeats with them is a micro-batch.
 *
 * Layers, micro-batches and steps are all repeats, one inside the other, and passes over
 * the layers may follow each other without a seam. Layers are the innermost repeats that
 * still make up the bulk of a trace: for each k, the stretches of a multiple of k blocks
 * that do not overlap are added up, shortest period first; among those k that cover
 * enough of the trace, the one with the shortest blocks is taken, of about equal ones
 * that which covers most, then the largest. Where names tell layers apart (pseudonyms),
 * the search is done again without them.
 */
#include "base/error.h"
#include "synth/scale.h"

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

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return hash_u64(hash ^ (value + UINT64_C(0x9e3779b97f4a7c15)));
}

static uint64_t name_hash(halley_bytes name)
{
    uint64_t hash = 0;
    bool digit = false;
    for (size_t i = 0; i < name.n; i++) {
        const bool is_digit = name.at[i] >= '0' && name.at[i] <= '9';
        if (!is_digit || !digit)
            hash = mix(hash, is_digit ? '#' : (uint8_t)name.at[i]);
        digit = is_digit;
    }
    return hash;
}

static uint64_t token_of(const halley_trace *t, uint32_t node, bool by_name)
{
    static const trace_role roles[] = {TRACE_ROLE_COMM_TYPE, TRACE_ROLE_NUM_OPS,
                                       TRACE_ROLE_TENSOR_SIZE, TRACE_ROLE_COMM_SIZE};
    trace_roles r;
    const uint32_t type = halley_node_type_of(t, node);
    if (type == HALLEY_NODE_SEND || type == HALLEY_NODE_RECV)
        return mix(type, (uint64_t)node << 32 | 1);
    trace_roles_read(&r, t, node);
    uint64_t hash = mix(type, trace_roles_is_cpu(&r));
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        uint64_t value = UINT64_MAX;
        (void)trace_roles_u64(&r, roles[i], &value);
        hash = mix(hash, value);
    }
    const halley_bytes group = trace_roles_group(&r);
    hash = mix(hash, hash_bytes(group.at, group.n, 0));
    return by_name ? mix(hash, name_hash(halley_node_name(t, node))) : hash;
}

/* A distance between equal windows, and how often it was seen. */
typedef struct distance {
    uint32_t period, n;
} distance;
typedef ARRAY(distance) distances;

static int by_number(const void *a, const void *b)
{
    const distance *const x = a, *const y = b;
    return x->n != y->n ? (x->n > y->n ? -1 : 1) : (x->period < y->period ? -1 : 1);
}

static int by_period(const void *a, const void *b)
{
    const distance *const x = a, *const y = b;
    return x->period < y->period ? -1 : x->period > y->period;
}

/* Count how far apart equal windows of so many tokens are. False: no memory. */
static bool count_distances(distances *out, map64 *index, const uint64_t *tokens,
                            uint32_t n, uint32_t length)
{
    map64 last = {0};
    bool fine = true;
    for (uint32_t i = 0; fine && i + length <= n; i++) {
        uint64_t window = 0;
        for (uint32_t k = 0; k < length; k++)
            window = mix(window, tokens[i + k]);
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

/* The commonest distances, shortest first. False: no memory. */
static bool list_periods(distances *out, const uint64_t *tokens, uint32_t n)
{
    map64 index = {0};
    const bool fine = count_distances(out, &index, tokens, n, SHORT_WINDOW) &&
                      count_distances(out, &index, tokens, n, LONG_WINDOW);
    map64_fini(&index);
    if (out->n > 1)
        qsort(out->at, out->n, sizeof *out->at, by_number);
    out->n = out->n < MOST_PERIODS ? out->n : MOST_PERIODS;
    if (out->n > 1)
        qsort(out->at, out->n, sizeof *out->at, by_period);
    return fine;
}

/* Nodes in a row that repeat with a period, twice and more. */
typedef struct stretch {
    uint32_t start, length, period;
} stretch;
typedef ARRAY(stretch) stretches;

static bool list_stretches(stretches *out, const uint64_t *tokens, uint32_t n,
                           uint32_t period)
{
    for (uint32_t i = 0; i + period < n;) {
        uint32_t end = i;
        while (end + period < n && tokens[end] == tokens[end + period])
            end++;
        if (end - i >= period && !array_push(out, (stretch){i, end - i + period, period}))
            return false;
        i = end + 1;
    }
    return true;
}

/* A way to see the trace as repeats. */
typedef struct view {
    uint32_t n_blocks; /* every run has so many */
    uint32_t least;    /* nodes of a run: shorter ones are chance */
    bool from_end;     /* what is too much is left over at the start of a stretch */
    double share, period;
} view;

typedef struct looker {
    const stretches *all;
    uint8_t *covered; /* by node */
    uint32_t n_nodes;
    scale_runs *out; /* NULL: only look */
} looker;

/* As many runs as fit into the nodes [start, end) of a stretch, none of them taken. */
static bool fill(const looker *k, view *v, uint32_t start, uint32_t end, uint32_t period)
{
    const uint32_t run = period * v->n_blocks;
    const uint32_t n = (end - start) / run;
    const uint32_t first = v->from_end ? end - n * run : start;
    memset(k->covered + first, 1, (size_t)n * run);
    v->share += (double)n * run;
    v->period += (double)n * run * period;
    for (uint32_t i = 0; k->out && i < n; i++)
        if (!array_push(k->out, (scale_run){first + i * run, period, v->n_blocks}))
            return false;
    return true;
}

/* Runs that do not overlap, shortest period first; only what makes up something of the
 * trace. */
static bool look(const looker *k, view *v)
{
    bool fine = true;
    v->share = v->period = 0;
    memset(k->covered, 0, k->n_nodes);
    for (size_t i = 0; fine && i < k->all->n; i++) {
        const stretch *const s = &k->all->at[i];
        if (s->period * v->n_blocks < v->least)
            continue;
        for (uint32_t at = s->start; fine && at < s->start + s->length;) {
            uint32_t end = at;
            while (end < s->start + s->length && !k->covered[end])
                end++;
            fine = fill(k, v, at, end, s->period);
            at = end + 1;
        }
    }
    v->period = v->share > 0 ? v->period / v->share : 0;
    v->share /= k->n_nodes;
    return fine;
}

static int by_start(const void *a, const void *b)
{
    const scale_run *const x = a, *const y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* Much shorter blocks are better; of about equal ones, those that cover more, then more
 * of them. */
static bool better(const view *a, const view *b)
{
    if (b->n_blocks == 0)
        return true;
    if (a->period < b->period / 1.5 || a->period > b->period * 1.5)
        return a->period < b->period;
    return a->share > 1.01 * b->share ||
           (a->share > 0.99 * b->share && a->n_blocks > b->n_blocks);
}

/* Try so many blocks, both ways. */
static bool try_blocks(view *best, const looker *k, uint32_t n, bool asked)
{
    static const uint32_t leasts[] = {24, 8, 4};
    for (int i = 0; i < 6; i++) {
        view v = {.n_blocks = n, .least = leasts[i / 2], .from_end = i % 2 == 1};
        if (!look(k, &v))
            return false;
        if (v.share > 0 && (asked || v.share >= least_share) && better(&v, best))
            *best = v;
    }
    return true;
}

static bool choose(scale_runs *out, const stretches *all, uint32_t n_nodes,
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
        fine = look(&k, &best);
    free(k.covered);
    if (out->n > 1)
        qsort(out->at, out->n, sizeof *out->at, by_start);
    return fine;
}

static halley_status find(scale_runs *out, const halley_trace *t, bool by_name,
                          uint32_t repeats, halley_error *err)
{
    const uint32_t n = halley_trace_count(t);
    uint64_t *const tokens = mem_array(n, sizeof *tokens);
    distances periods = {0};
    stretches all = {0};
    bool fine = tokens != NULL;
    for (uint32_t i = 0; fine && i < n; i++)
        tokens[i] = token_of(t, i, by_name);
    fine = fine && list_periods(&periods, tokens, n);
    for (size_t i = 0; fine && i < periods.n; i++)
        fine = list_stretches(&all, tokens, n, periods.at[i].period);
    fine = fine && choose(out, &all, n, repeats);
    free(tokens);
    array_fini(&periods);
    array_fini(&all);
    return fine ? HALLEY_OK : error_nomem(err);
}

bool scale_can_be_layers(uint32_t n_blocks, uint32_t n_layers)
{
    return n_layers % n_blocks == 0 || n_blocks % n_layers == 0;
}

halley_status scale_find(scale_runs *out, const halley_trace *t, uint32_t repeats,
                         uint32_t n_layers, halley_error *err)
{
    TRY(find(out, t, true, repeats, err));
    if (out->n > 0 && scale_can_be_layers(out->at[0].n, n_layers))
        return HALLEY_OK;
    scale_runs other = {0};
    const halley_status status = find(&other, t, false, repeats, err);
    if (status == HALLEY_OK && other.n > 0 &&
        (out->n == 0 || scale_can_be_layers(other.at[0].n, n_layers))) {
        const scale_runs old = *out;
        *out = other;
        other = old;
    }
    array_fini(&other);
    return status;
}
