/*
 * coll/synth/search.c - one all-gather, found by matching chunks to free ports in the
 * order of time.
 *
 * At each instant, members in random order fill their free receive ports. A port takes
 * the rarest chunk that its sender has and that the member lacks. The port with the
 * fewest candidates chooses first, and leaves to the others what only they can bring.
 * Over a slow port comes only what no member of the faster domain has or expects, unless
 * the fast ports will be busy for longer. Sets of chunks are bits; `level_set` k holds
 * the chunks with 2^k ... 2^(k+1) - 1 copies.
 */
#include "base/rng.h"
#include "coll/synth/synth.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { N_COPY_LEVELS = 14, MOST_FEW = 16 };

typedef uint64_t word;

/* A link becomes free, or a chunk arrives. */
typedef struct search_event {
    uint64_t at;
    uint32_t move;
    bool arrives;
} search_event;

typedef struct search {
    const synth_graph *g;
    const synth_try *t;
    synth_gather *out;
    rng random;
    uint32_t n_chunks, n_words;
    uint64_t now;
    word *have, *claimed, *level_set, *sets, *others;
    word *domain_has[SYNTH_MAX_LEVELS];
    word *allowed; /* by edge; NULL = all */
    uint32_t *copies, *missing, *order;
    bool *busy;
    double *fast_ps;          /* by member: time of a chunk through its fastest ports */
    uint64_t *drain, *travel; /* by edge */
    ARRAY(search_event) heap;
} search;

/* ---- events ---- */

static bool is_before(const search_event *a, const search_event *b)
{
    assert(a != NULL && b != NULL);
    return a->at < b->at;
}

static bool push_event(search *s, uint64_t at, uint32_t move, bool arrives)
{
    if (!array_push(&s->heap, (search_event){at, move, arrives}))
        return false;
    search_event *const h = s->heap.at;
    size_t i = s->heap.n - 1;
    const search_event e = h[i];
    for (; i > 0 && is_before(&e, &h[(i - 1) / 2]); i = (i - 1) / 2)
        h[i] = h[(i - 1) / 2];
    h[i] = e;
    return true;
}

static search_event pop_event(search *s)
{
    assert(s != NULL);
    search_event *const h = s->heap.at;
    const search_event first = h[0], e = h[--s->heap.n];
    size_t i = 0;
    for (size_t c; (c = 2 * i + 1) < s->heap.n; i = c) {
        if (c + 1 < s->heap.n && is_before(&h[c + 1], &h[c]))
            c++;
        if (!is_before(&h[c], &e))
            break;
        h[i] = h[c];
    }
    h[i] = e;
    return first;
}

/* ---- sets ---- */

static word get_bit(uint32_t chunk)
{
    return (word)1 << (chunk & 63);
}

static void add_chunk(word *set, uint32_t chunk)
{
    set[chunk / 64] |= get_bit(chunk);
}

static word *get_set(const search *s, word *sets, uint32_t row)
{
    return sets + (size_t)row * s->n_words;
}

/* The rarest chunk of `set` that is in neither of the other sets (NULL = empty);
 * UINT32_MAX: there is none. */
static uint32_t choose_rarest(search *s, const word *set, const word *without,
                              const word *also)
{
    const uint32_t begin = (uint32_t)rng_below(&s->random, s->n_words);
    const uint32_t turn = (uint32_t)rng_below(&s->random, 64);
    for (int k = 0; k < N_COPY_LEVELS; k++) {
        const word *level = get_set(s, s->level_set, (uint32_t)k);
        for (uint32_t n = 0, i = begin; n < s->n_words; n++, i = (i + 1) % s->n_words) {
            word x = set[i] & level[i];
            if (without != NULL)
                x &= ~without[i];
            if (also != NULL)
                x &= ~also[i];
            if (x == 0)
                continue;
            const word y = x >> turn << turn;
            return i * 64 + (uint32_t)__builtin_ctzll(y != 0 ? y : x);
        }
    }
    return UINT32_MAX;
}

static void claim_chunk(search *s, uint32_t v, uint32_t c)
{
    add_chunk(get_set(s, s->claimed, v), c);
    for (uint32_t k = 1; k < s->g->n_levels; k++)
        add_chunk(get_set(s, s->domain_has[k], s->g->domain[k][v]), c);
    const uint32_t n = ++s->copies[c];
    if (n > 1 && (n & (n - 1)) == 0) {
        const uint32_t k = (uint32_t)__builtin_ctz(n);
        if (k < N_COPY_LEVELS) {
            get_set(s, s->level_set, k - 1)[c / 64] &= ~get_bit(c);
            add_chunk(get_set(s, s->level_set, k), c);
        }
    }
}

/* ---- matching ---- */

static bool is_free(const search *s, const synth_edge *e)
{
    assert(s != NULL && e != NULL);
    for (uint32_t i = 0; i < e->n; i++)
        if (s->busy[s->g->path.at[e->first + i]])
            return false;
    return true;
}

static bool start_move(search *s, uint32_t edge, uint32_t chunk)
{
    const synth_edge *e = &s->g->edges.at[edge];
    const uint32_t id = (uint32_t)s->out->moves.n;
    claim_chunk(s, e->to, chunk);
    s->missing[e->to]--;
    for (uint32_t i = 0; i < e->n; i++)
        s->busy[s->g->path.at[e->first + i]] = true;
    const uint64_t end = s->now + s->travel[edge];
    return array_push(&s->out->moves, (synth_move){s->now, end, edge, chunk}) &&
           push_event(s, s->t->stores ? end : s->now + s->drain[edge], id, false) &&
           push_event(s, end, id, true);
}

/* Would the fast ports of a member be busy for longer than this edge takes? */
static bool is_worth(const search *s, uint32_t v, uint32_t edge)
{
    return s->missing[v] * s->fast_ps[v] > (double)s->travel[edge];
}

/* What an edge may bring now, as a set; returns how many chunks. */
static uint32_t list_candidates(search *s, word *to, uint32_t edge)
{
    const synth_edge *e = &s->g->edges.at[edge];
    const word *from = get_set(s, s->have, e->from),
               *mine = get_set(s, s->claimed, e->to);
    const word *allowed = s->allowed != NULL ? get_set(s, s->allowed, edge) : NULL;
    const word *near =
        e->level > 0 && allowed == NULL
            ? get_set(s, s->domain_has[e->level], s->g->domain[e->level][e->to])
            : NULL;
    for (int pass = 0; pass < 2; pass++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < s->n_words; i++) {
            word x = from[i] & ~mine[i];
            if (near != NULL)
                x &= ~near[i];
            if (allowed != NULL)
                x &= allowed[i];
            to[i] = x;
            n += (uint32_t)__builtin_popcountll(x);
        }
        if (n > 0 || near == NULL || !is_worth(s, e->to, edge))
            return n;
        near = NULL;
    }
    return 0;
}

/* A free edge of a port that can bring something, with its candidates. */
typedef struct port_offer {
    uint32_t edge, n;
    word *set;
    bool done;
} port_offer;

/* One offer for each free port of a member: its first free edge that has candidates. */
static uint32_t list_offers(search *s, port_offer *offers, uint32_t v)
{
    const synth_graph *g = s->g;
    uint32_t n = 0;
    for (uint32_t p = g->port_at[v]; p < g->port_at[v + 1] && n < MOST_FEW; p++) {
        const uint32_t first = g->port_begin[p], count = g->port_begin[p + 1] - first;
        if (s->busy[g->edges.at[g->in[first]].port])
            continue;
        const uint32_t turn = count > 1 ? (uint32_t)rng_below(&s->random, count) : 0;
        for (uint32_t j = 0; j < count; j++) {
            const uint32_t edge = g->in[first + (turn + j) % count];
            word *set = get_set(s, s->sets, n);
            if (!is_free(s, &g->edges.at[edge]))
                continue;
            const uint32_t found = list_candidates(s, set, edge);
            if (found == 0)
                continue;
            offers[n++] = (port_offer){edge, found, set, false};
            break;
        }
    }
    return n;
}

static port_offer *find_poorest(search *s, port_offer *offers, uint32_t n)
{
    port_offer *best = NULL;
    const uint32_t turn = (uint32_t)rng_below(&s->random, n);
    for (uint32_t i = 0; i < n; i++) {
        port_offer *o = &offers[(turn + i) % n];
        if (!o->done && (best == NULL || o->n < best->n))
            best = o;
    }
    return best;
}

static bool match_member(search *s, uint32_t v)
{
    port_offer offers[MOST_FEW];
    const uint32_t n = list_offers(s, offers, v);
    const word *mine = get_set(s, s->claimed, v);
    for (uint32_t k = 0; k < n && s->missing[v] > 0; k++) {
        port_offer *best = find_poorest(s, offers, n);
        uint32_t c = UINT32_MAX;
        best->done = true;
        if (!is_free(s, &s->g->edges.at[best->edge]))
            continue;
        if (best->n > 1 && n > 1) {
            memset(s->others, 0, s->n_words * sizeof *s->others);
            for (uint32_t j = 0; j < n; j++)
                for (uint32_t i = 0; !offers[j].done && i < s->n_words; i++)
                    s->others[i] |= offers[j].set[i];
            c = choose_rarest(s, best->set, mine, s->others);
        }
        if (c == UINT32_MAX)
            c = choose_rarest(s, best->set, mine, NULL);
        if (c != UINT32_MAX && !start_move(s, best->edge, c))
            return false;
    }
    return true;
}

/* ---- shortest paths, for small messages ---- */

/* Times of a chunk from one member to all others. */
static void find_distances(const search *s, uint64_t *to, uint32_t from)
{
    const synth_graph *g = s->g;
    for (uint32_t v = 0; v < g->n; v++)
        to[v] = UINT64_MAX / 4;
    to[from] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < g->edges.n; i++) {
            const synth_edge *e = &g->edges.at[i];
            if (to[e->from] + s->travel[i] < to[e->to]) {
                to[e->to] = to[e->from] + s->travel[i];
                changed = true;
            }
        }
    }
}

static bool limit_detours(search *s)
{
    const synth_graph *g = s->g;
    const uint64_t slack = (uint64_t)(s->t->slack_s * 1e12);
    uint64_t *d = mem_array(g->n, sizeof *d);
    s->allowed = mem_array_zero(g->edges.n * s->n_words, sizeof *s->allowed);
    const bool room = d != NULL && s->allowed != NULL;
    for (uint32_t v = 0; room && v < g->n; v++) {
        find_distances(s, d, v);
        for (size_t i = 0; i < g->edges.n; i++) {
            const synth_edge *e = &g->edges.at[i];
            if (d[e->from] + s->travel[i] <= d[e->to] + slack)
                for (uint32_t k = 0; k < s->t->pieces; k++)
                    add_chunk(get_set(s, s->allowed, (uint32_t)i), v * s->t->pieces + k);
        }
    }
    free(d);
    return room;
}

/* ---- the run ---- */

static bool allocate(search *s)
{
    const synth_graph *g = s->g;
    const size_t sets = (size_t)g->n * s->n_words;
    bool room = true;
    s->have = mem_array_zero(sets, sizeof *s->have);
    s->claimed = mem_array_zero(sets, sizeof *s->claimed);
    s->level_set = mem_array_zero((size_t)N_COPY_LEVELS * s->n_words, sizeof(word));
    s->sets = mem_array((size_t)MOST_FEW * s->n_words, sizeof(word));
    s->others = mem_array(s->n_words, sizeof(word));
    s->copies = mem_array_zero(s->n_chunks, sizeof *s->copies);
    s->missing = mem_array(g->n, sizeof *s->missing);
    s->order = mem_array(g->n, sizeof *s->order);
    s->busy = mem_array_zero(g->n_links, sizeof *s->busy);
    s->fast_ps = mem_array(g->n, sizeof *s->fast_ps);
    s->drain = mem_array(g->edges.n, sizeof *s->drain);
    s->travel = mem_array(g->edges.n, sizeof *s->travel);
    for (uint32_t k = 1; k < g->n_levels; k++) {
        s->domain_has[k] = mem_array_zero(sets, sizeof(word));
        room = room && s->domain_has[k] != NULL;
    }
    return room && s->have != NULL && s->claimed != NULL && s->level_set != NULL &&
           s->sets != NULL && s->others != NULL && s->copies != NULL &&
           s->missing != NULL && s->order != NULL && s->busy != NULL &&
           s->fast_ps != NULL && s->drain != NULL && s->travel != NULL;
}

static void release(search *s)
{
    free(s->have);
    free(s->claimed);
    free(s->level_set);
    free(s->sets);
    free(s->others);
    free(s->copies);
    free(s->missing);
    free(s->order);
    free(s->busy);
    free(s->fast_ps);
    free(s->drain);
    free(s->travel);
    free(s->allowed);
    for (uint32_t k = 1; k < SYNTH_MAX_LEVELS; k++)
        free(s->domain_has[k]);
    array_fini(&s->heap);
}

/* Time per chunk through the fastest ports of a member. */
static double find_fast_time(const search *s, uint32_t v)
{
    assert(s != NULL);
    const synth_graph *g = s->g;
    double rate = 0;
    for (uint32_t p = g->port_at[v]; p < g->port_at[v + 1]; p++) {
        const uint32_t edge = g->in[g->port_begin[p]];
        if (g->edges.at[edge].level == 0)
            rate += 1 / ((double)s->drain[edge] + 1);
    }
    return rate > 0 ? 1 / rate : 1e18;
}

static void begin(search *s, double chunk_bytes)
{
    assert(chunk_bytes >= 0);
    const synth_graph *g = s->g;
    for (size_t i = 0; i < g->edges.n; i++) {
        s->drain[i] = synth_drain_ps(&g->edges.at[i], chunk_bytes);
        s->travel[i] = synth_travel_ps(&g->edges.at[i], chunk_bytes);
    }
    for (uint32_t c = 0; c < s->n_chunks; c++) {
        add_chunk(s->level_set, c);
        add_chunk(get_set(s, s->have, c / s->t->pieces), c);
        claim_chunk(s, c / s->t->pieces, c);
    }
    for (uint32_t v = 0; v < g->n; v++) {
        s->missing[v] = s->n_chunks - s->t->pieces;
        s->order[v] = v;
        s->fast_ps[v] = find_fast_time(s, v);
    }
}

static void shuffle_members(search *s)
{
    for (uint32_t i = s->g->n - 1; i > 0; i--) {
        const uint32_t k = (uint32_t)rng_below(&s->random, i + 1), swap = s->order[i];
        s->order[i] = s->order[k];
        s->order[k] = swap;
    }
}

static void end_event(search *s, const search_event *e)
{
    assert(e != NULL);
    const synth_move *m = &s->out->moves.at[e->move];
    const synth_edge *edge = &s->g->edges.at[m->edge];
    if (e->arrives)
        add_chunk(get_set(s, s->have, edge->to), m->chunk);
    for (uint32_t i = 0; !e->arrives && i < edge->n; i++)
        s->busy[s->g->path.at[edge->first + i]] = false;
}

static bool run_search(search *s)
{
    for (;;) {
        shuffle_members(s);
        for (uint32_t i = 0; i < s->g->n; i++)
            if (s->missing[s->order[i]] > 0 && !match_member(s, s->order[i]))
                return false;
        if (s->heap.n == 0)
            return true;
        s->now = s->heap.at[0].at;
        while (s->heap.n > 0 && s->heap.at[0].at == s->now) {
            const search_event e = pop_event(s);
            end_event(s, &e);
        }
    }
}

halley_status synth_search(synth_gather *out, const synth_graph *g, double chunk_bytes,
                           const synth_try *t, halley_error *err)
{
    search s = {.g = g, .t = t, .out = out, .random = rng_seed(t->seed)};
    assert(t->pieces > 0 && chunk_bytes > 0);
    *out = (synth_gather){.pieces = t->pieces, .chunk_bytes = chunk_bytes};
    s.n_chunks = g->n * t->pieces;
    s.n_words = (s.n_chunks + 63) / 64;
    bool room = allocate(&s);
    if (room) {
        begin(&s, chunk_bytes);
        room = (t->slack_s < 0 || limit_detours(&s)) && run_search(&s);
    }
    halley_status status = room ? HALLEY_OK : error_nomem(err);
    for (uint32_t v = 0; status == HALLEY_OK && v < g->n; v++)
        if (s.missing[v] > 0)
            status = error_set(err, HALLEY_EINVAL,
                               "NPU %u of the group cannot be reached by all others", v);
    out->time_ps = s.now;
    release(&s);
    if (status != HALLEY_OK)
        synth_gather_fini(out);
    return status;
}
