/*
 * Folds repeats into loops, short ones first. A pass goes from left to right. Where a
 * piece is followed by itself, the piece and all its repeats become one loop. A loop is
 * a single item for later passes, which look for longer pieces. So layers end up inside
 * micro-batches. Two items are equal only if the counts of their loops are also equal.
 *
 * A body that runs once does not repeat. Folding would miss it, and a model of two
 * layers would get another program than one of three. So a first pass over the corpus
 * collects loop bodies, and later folding recognizes them whatever the counts inside.
 * The collection does not change afterwards, so equal programs are folded in the same
 * way.
 */
#include "learn/program.h"

#include <assert.h>
#include <string.h>

enum { MAX_PASSES = 8, MAX_PERIOD = 4096, MAX_TRIES = 4, MIN_BODY = 3, MIN_SEEN = 2 };

/* A token, or a loop over items [first, first + n) of the pool. */
typedef struct item {
    uint64_t exact, shape; /* hash with and without counts */
    uint32_t token;        /* MODEL_NONE: a loop */
    uint32_t first, n, count;
} item;
typedef ARRAY(item) items;

typedef struct folder {
    synth_model *m;
    uint32_t set; /* 0: recognize bodies of other sets; else: collect those of this set */
    items pool, row, next;
    bool linked;      /* `again` is up to date for the row */
    map64 seen;       /* hash → place, for one pass */
    synth_u32s again; /* by place: the next one of the same hash */
} folder;

void synth_folded_fini(synth_folded *f)
{
    array_fini(&f->symbols);
    array_fini(&f->counts);
}

static uint64_t body_key(const item *at, uint32_t n)
{
    assert(n == 0 || at != NULL);
    uint64_t h = n;
    for (uint32_t i = 0; i < n; i++)
        h = hash_u64(h ^ at[i].shape) + 1;
    return h;
}

static item token_item(uint32_t token)
{
    return (item){
        .exact = hash_u64(token), .shape = hash_u64(token ^ 0x9e3779b9u), .token = token};
}

static uint64_t loop_shape(uint64_t body)
{
    return hash_u64(body ^ 0x5bd1e995);
}

/* Appends a loop over n items, count times, to the new row. */
static bool add_loop(folder *f, const item *at, uint32_t n, uint32_t count)
{
    assert(n > 0 && count > 0);
    item loop = {
        .token = MODEL_NONE, .first = (uint32_t)f->pool.n, .n = n, .count = count};
    loop.shape = loop_shape(body_key(at, n));
    loop.exact = count;
    for (uint32_t i = 0; i < n; i++)
        loop.exact = hash_u64(loop.exact ^ at[i].exact) + 3;
    if (!array_reserve(&f->pool, n))
        return false;
    memcpy(f->pool.at + f->pool.n, at, n * sizeof *at);
    f->pool.n += n;
    return array_push(&f->next, loop);
}

static bool note_body(folder *f, const item *at, uint32_t n)
{
    assert(n > 0);
    if (n < MIN_BODY || f->set == 0)
        return true;
    synth_model *m = f->m;
    uint32_t id = (uint32_t)m->bodies.n;
    bool fresh;
    const uint64_t key = body_key(at, n);
    if (!map64_put(&m->body_of, key, &id, &fresh))
        return false;
    if (fresh &&
        !array_push(&m->bodies, (model_body){.first = at[0].shape, .key = key, .n = n}))
        return false;
    model_body *b = &m->bodies.at[id];
    b->n_sets += b->last_set != f->set;
    b->last_set = f->set;
    return true;
}

/* Links each place to the next one with the same hash. */
static bool link_row(folder *f)
{
    const size_t n = f->row.n;
    f->again.n = 0;
    if (!array_reserve(&f->again, n + 1))
        return false;
    f->again.n = n;
    map64_fini(&f->seen);
    for (size_t i = n; i-- > 0;) {
        const uint32_t later = map64_find(&f->seen, f->row.at[i].exact);
        f->again.at[i] = later;
        if (!map64_set(&f->seen, f->row.at[i].exact, (uint32_t)i))
            return false;
    }
    assert(f->again.n == f->row.n);
    return true;
}

static bool are_same_items(const item *a, const item *b, uint32_t n)
{
    assert(n > 0);
    for (uint32_t i = 0; i < n; i++)
        if (a[i].exact != b[i].exact)
            return false;
    return true;
}

/* The shortest period that repeats from `at`, and its number of repeats; 0 = none. */
static uint32_t period_at(const folder *f, uint32_t at, uint32_t limit, uint32_t *count)
{
    assert(at < f->row.n && limit > 0);
    const item *row = f->row.at;
    const uint32_t n = (uint32_t)f->row.n;
    uint32_t other = f->again.at[at];
    for (int k = 0; k < MAX_TRIES && other != HASH_NONE; k++) {
        const uint32_t p = other - at;
        if (p > limit || at + 2 * p > n)
            return 0;
        if (are_same_items(row + at, row + at + p, p)) {
            uint32_t c = 2;
            while (at + (c + 1) * p <= n &&
                   are_same_items(row + at, row + at + (size_t)c * p, p))
                c++;
            *count = c;
            return p;
        }
        other = f->again.at[other];
    }
    return 0;
}

static void swap_rows(folder *f)
{
    const items t = f->row;
    f->row = f->next;
    f->next = t;
    f->next.n = 0;
}

/* Folds loops over at most `limit` items. */
static bool fold_pass(folder *f, uint32_t limit, bool *changed)
{
    assert(limit > 0);
    *changed = false;
    if (!f->linked && !link_row(f))
        return false;
    f->linked = true;
    for (uint32_t i = 0; i < f->row.n;) {
        uint32_t count = 0;
        const uint32_t p = period_at(f, i, limit, &count);
        if (p == 0) {
            if (!array_push(&f->next, f->row.at[i]))
                return false;
            i++;
            continue;
        }
        const item *body = f->row.at + i;
        if (!note_body(f, body, p) || !add_loop(f, body, p, count))
            return false;
        i += p * count;
        *changed = true;
    }
    swap_rows(f);
    f->linked = !*changed;
    return true;
}

/* The length of the longest known body at `at`; 0 = none. */
static uint32_t known_at(const folder *f, uint32_t at, uint32_t limit,
                         const synth_u32s *lengths)
{
    assert(at < f->row.n);
    for (size_t k = lengths->n; k-- > 0;) {
        const uint32_t n = lengths->at[k];
        if (at + n > f->row.n || n > limit)
            continue;
        const uint32_t id = map64_find(&f->m->body_of, body_key(f->row.at + at, n));
        if (id != HASH_NONE && f->m->bodies.at[id].n_sets >= MIN_SEEN &&
            f->m->bodies.at[id].n == n)
            return n;
    }
    return 0;
}

/* The lengths of bodies that enough sets have, by their first item. */
typedef struct starts {
    map64 of; /* first item → first link */
    synth_u32s length, more;
} starts;

static void starts_fini(starts *s)
{
    map64_fini(&s->of);
    array_fini(&s->length);
    array_fini(&s->more);
}

static bool starts_make(starts *s, const synth_model *m)
{
    for (size_t i = 0; i < m->bodies.n; i++) {
        const model_body *b = &m->bodies.at[i];
        if (b->n_sets < MIN_SEEN)
            continue;
        const uint32_t old = map64_find(&s->of, b->first);
        const uint32_t id = (uint32_t)s->length.n;
        if (!array_push(&s->length, b->n) || !array_push(&s->more, old) ||
            !map64_set(&s->of, b->first, id))
            return false;
    }
    return true;
}

static bool lengths_at(synth_u32s *out, const starts *s, uint64_t first)
{
    out->n = 0;
    for (uint32_t k = map64_find(&s->of, first); k != HASH_NONE; k = s->more.at[k])
        if (!array_push(out, s->length.at[k]))
            return false;
    mem_sort_u32(out->at, out->n);
    return true;
}

/* Turns known bodies that run once into loops of one iteration. */
static bool know_again(folder *f, const starts *s, uint32_t limit, synth_u32s *lengths)
{
    assert(f->set == 0);
    bool changed = false;
    for (uint32_t i = 0; i < f->row.n;) {
        if (!lengths_at(lengths, s, f->row.at[i].shape))
            return false;
        const uint32_t n = lengths->n > 0 ? known_at(f, i, limit, lengths) : 0;
        if (n == 0 ? !array_push(&f->next, f->row.at[i])
                   : !add_loop(f, f->row.at + i, n, 1))
            return false;
        i += n == 0 ? 1 : n;
        changed = changed || n > 0;
    }
    swap_rows(f);
    f->linked = f->linked && !changed;
    return true;
}

/* Items still to write. */
typedef struct span {
    const item *at;
    uint32_t i, n;
} span;

/* Writes items as brackets and tokens. An explicit stack replaces recursion. */
static bool write_folded_row(synth_folded *out, const folder *f)
{
    assert(out->symbols.n == 0 && out->counts.n == 0);
    ARRAY(span) stack = {0};
    bool ok = array_push(&stack, (span){f->row.at, 0, (uint32_t)f->row.n});
    while (ok && stack.n > 0) {
        if (stack.at[stack.n - 1].i == stack.at[stack.n - 1].n) {
            stack.n--;
            ok = stack.n == 0 || array_push(&out->symbols, SYMBOL_CLOSE);
            continue;
        }
        const item *it = &stack.at[stack.n - 1].at[stack.at[stack.n - 1].i++];
        if (it->token != MODEL_NONE)
            ok = array_push(&out->symbols, it->token);
        else
            ok = array_push(&out->symbols, SYMBOL_OPEN) &&
                 array_push(&out->counts, it->count) &&
                 array_push(&stack, (span){f->pool.at + it->first, 0, it->n});
    }
    array_fini(&stack);
    return ok;
}

static bool fold_program(synth_folded *out, folder *f, const starts *s,
                         synth_u32s *lengths)
{
    for (uint32_t limit = 1; limit <= MAX_PERIOD && limit < 2 * f->row.n; limit *= 2) {
        bool changed = true;
        for (int pass = 0; pass < MAX_PASSES && changed; pass++)
            if (!fold_pass(f, limit, &changed))
                return false;
        if (f->set == 0 && limit >= MIN_BODY && !know_again(f, s, limit, lengths))
            return false;
    }
    return write_folded_row(out, f);
}

halley_status synth_fold(synth_folded *out, synth_model *m, const uint32_t *tokens,
                         uint32_t n, uint32_t note, halley_error *err)
{
    assert(tokens != NULL || n == 0);
    folder f = {.m = m, .set = note};
    starts s = {0};
    synth_u32s lengths = {0};
    out->symbols.n = out->counts.n = 0;
    bool ok = array_reserve(&f.row, n + 1) && (note > 0 || starts_make(&s, m));
    for (uint32_t i = 0; ok && i < n; i++)
        f.row.at[f.row.n++] = token_item(tokens[i]);
    ok = ok && fold_program(out, &f, &s, &lengths);
    array_fini(&f.pool);
    array_fini(&f.row);
    array_fini(&f.next);
    array_fini(&f.again);
    array_fini(&lengths);
    map64_fini(&f.seen);
    starts_fini(&s);
    return ok ? HALLEY_OK : error_nomem(err);
}

/* Turns the loop that closes here into one item of the surrounding row. */
static bool close_body(folder *f, synth_u32s *opened)
{
    assert(opened->n > 0 && opened->at[opened->n - 1] <= f->row.n);
    const uint32_t first = opened->at[--opened->n];
    const item *const at = f->row.at + first;
    const uint32_t n = (uint32_t)f->row.n - first;
    const item loop = {.shape = loop_shape(body_key(at, n)), .token = MODEL_NONE};
    for (f->set = 1; f->set <= MIN_SEEN; f->set++)
        if (!note_body(f, at, n))
            return false;
    f->row.n = first;
    return array_push(&f->row, loop);
}

bool synth_know_bodies(synth_model *m)
{
    folder f = {.m = m};
    synth_u32s opened = {0};
    bool ok = true;
    for (size_t k = 0; ok && k < m->skeletons.n; k++) {
        const model_skeleton *const s = &m->skeletons.at[k];
        f.row.n = 0;
        for (uint32_t i = 0; ok && i < s->n; i++) {
            const uint32_t symbol = m->symbols.at[s->first + i];
            if (symbol == SYMBOL_OPEN)
                ok = array_push(&opened, (uint32_t)f.row.n);
            else if (symbol == SYMBOL_CLOSE)
                ok = close_body(&f, &opened);
            else
                ok = array_push(&f.row, token_item(symbol));
        }
    }
    array_fini(&f.row);
    array_fini(&opened);
    return ok;
}
