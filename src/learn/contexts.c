/*
 * Programs operator by operator, after variable-order Markov models: what comes next is
 * drawn given the last 24 operators and brackets of loops, and where too few sets had
 * those, given 12, 6, 3, 1, 0. What was dropped from a context, because too few sets had
 * it there, is a share of its draws, too, and is passed on to the next shorter one. The
 * operator's dependencies follow given it and what is before it, all at once where enough
 * sets had them so, else how many there are and then each by itself. A loop is drawn once
 * and then repeated, as often as the law of its body says, else as loops in such places
 * were.
 *
 * The longest contexts are of sets that are alike in all conditions that are words;
 * behind them stand those of the family, and behind these those of all families.
 */
#include "learn/contexts.h"

#include <math.h>
#include <string.h>

enum {
    MAX_CONTEXTS = 1 << 20,
    MAX_LEARNED = 20000, /* symbols of a program */
    MAX_DEPTH = 64,
    MAX_DEGREE = 7,
    N_TRIES = 4
};

/* How many operators before are looked at, longest first, of whose sets. */
typedef enum whose { OF_CLASS, OF_FAMILY, OF_ANY } whose;
typedef struct order {
    uint32_t length;
    whose of;
} order;
static const order op_orders[CONTEXT_ORDERS] = {
    {24, OF_CLASS}, {12, OF_CLASS}, {12, OF_FAMILY}, {6, OF_FAMILY}, {3, OF_FAMILY},
    {1, OF_FAMILY}, {0, OF_FAMILY}, {3, OF_ANY},     {1, OF_ANY},    {0, OF_ANY}};
static const order token_orders[] = {
    {3, OF_FAMILY}, {1, OF_FAMILY}, {0, OF_FAMILY}, {0, OF_ANY}};
enum { N_TOKEN_ORDERS = sizeof token_orders / sizeof *token_orders };

/* Where one stands: the program so far as keys of operators, OPENs and CLOSEs. */
typedef struct place {
    contexts_whose whose;
    const uint64_t *before;
    size_t n;
} place;

/* `what` is the operator's key for all kinds but CONTEXT_OP. */
static uint64_t key_of(const place *at, order o, model_next_kind kind, uint64_t what)
{
    uint64_t key = hash_u64(kind + ((uint64_t)o.length << 8) + ((uint64_t)o.of << 16));
    key = hash_u64(key ^ what);
    for (uint32_t i = 0; i < o.length; i++)
        key = hash_u64(key ^ (i < at->n ? at->before[at->n - 1 - i] : 1)) + i;
    const uint64_t of = o.of == OF_CLASS    ? at->whose.class
                        : o.of == OF_FAMILY ? at->whose.family
                                            : 0;
    return hash_u64(key ^ of);
}

/* Sizes of loops: exact up to 16, then to an eighth of a power of two. */
static uint32_t count_class(uint32_t count)
{
    uint32_t step = 1;
    while (count / step > 16)
        step *= 2;
    return count / step * step;
}

/* The context, new or old; MODEL_NONE: there is no room for more. */
static bool find_context(uint32_t *out, synth_model *m, uint64_t key)
{
    *out = (uint32_t)m->contexts.n;
    bool fresh;
    if (*out >= MAX_CONTEXTS && map64_find(&m->context_of, key) == HASH_NONE) {
        *out = MODEL_NONE;
        return true;
    }
    const model_context new = {.key = key, .first = MODEL_NONE, .shorter = MODEL_NONE};
    return map64_put(&m->context_of, key, out, &fresh) &&
           (!fresh || array_push(&m->contexts, new));
}

/* What follows a context, once more; *id is the context. */
static bool count(uint32_t *id, synth_model *m, uint64_t key, model_next_kind kind,
                  uint32_t symbol)
{
    const uint32_t set = m->head.at[0].n_sets;
    if (!find_context(id, m, key) || *id == MODEL_NONE)
        return *id == MODEL_NONE;
    model_context *c = &m->contexts.at[*id];
    c->n_sets += c->last_set != set;
    c->last_set = set;
    c->n++;
    uint32_t next = c->first;
    while (next != MODEL_NONE && m->next.at[next].symbol != symbol)
        next = m->next.at[next].more;
    if (next == MODEL_NONE) {
        next = (uint32_t)m->next.n;
        const model_next new = {.symbol = symbol, .kind = kind, .more = c->first};
        if (!array_push(&m->next, new))
            return false;
        c->first = next;
    }
    model_next *n = &m->next.at[next];
    n->n++;
    n->n_sets += n->last_set != set;
    n->last_set = set;
    return true;
}

/* The same for all orders, each of which is part of the next one of its kind. */
static bool count_orders(synth_model *m, const place *at, const order *orders, uint32_t n,
                         model_next_kind kind, uint64_t what, uint32_t symbol)
{
    uint32_t longer = MODEL_NONE, id;
    for (uint32_t k = 0; k < n; k++) {
        if (!count(&id, m, key_of(at, orders[k], kind, what), kind, symbol))
            return false;
        if (longer != MODEL_NONE &&
            (orders[k].of != OF_ANY || orders[k - 1].of == OF_ANY))
            m->contexts.at[longer].shorter = id;
        longer = id;
    }
    return true;
}

static uint32_t degree_of(const model_token *t)
{
    return t->n_refs < MAX_DEGREE ? t->n_refs : MAX_DEGREE;
}

static const order of_family = {0, OF_FAMILY}, of_any = {0, OF_ANY};

/* A token's dependencies: at once, and one by one; `backs`: how far back they lie, as far
 * as that says something. */
static bool add_token(synth_model *m, const place *at, uint32_t token,
                      const uint32_t *backs, uint32_t n_backs)
{
    const model_token t = m->tokens.at[token];
    const uint64_t op = m->ops.at[t.op].key;
    uint32_t id;
    if (!count_orders(m, at, token_orders, N_TOKEN_ORDERS, CONTEXT_TOKEN, op, token))
        return false;
    for (int any = 0; any < 2; any++) {
        const order o = any ? of_any : of_family;
        if (!count(&id, m, key_of(at, o, CONTEXT_DEGREE, op), CONTEXT_DEGREE,
                   degree_of(&t)))
            return false;
        for (uint32_t i = 0; i < t.n_refs; i++) {
            const model_ref ref = m->refs.at[t.first_ref + i];
            const uint32_t one = synth_token_add(m, t.op, &ref, 1);
            const uint64_t key = key_of(at, o, CONTEXT_REF, op + degree_of(&t));
            if (one == MODEL_NONE || !count(&id, m, key, CONTEXT_REF, one))
                return false;
        }
        for (uint32_t i = 0; i < n_backs; i++)
            if (!count(&id, m, key_of(at, o, CONTEXT_BACK, op + degree_of(&t)),
                       CONTEXT_BACK, backs[i]))
                return false;
    }
    return true;
}

static uint64_t key_of_symbol(const synth_model *m, uint32_t symbol)
{
    return symbol >= SYMBOL_END ? symbol : m->ops.at[m->tokens.at[symbol].op].key;
}

bool contexts_folds(const synth_program *p, const synth_folded *f)
{
    return 2 * f->symbols.n <= p->tokens.n;
}

static bool add_count(synth_model *m, const place *at, uint32_t count_of_loop)
{
    const uint32_t class = count_class(count_of_loop);
    uint32_t id;
    return count(&id, m, key_of(at, of_family, CONTEXT_COUNT, 0), CONTEXT_COUNT, class) &&
           count(&id, m, key_of(at, of_any, CONTEXT_COUNT, 0), CONTEXT_COUNT, class);
}

bool contexts_add(synth_model *m, const synth_program *p, const synth_folded *f,
                  const contexts_whose *of)
{
    const bool folds = contexts_folds(p, f);
    const synth_u32s *symbols = folds ? &f->symbols : &p->tokens;
    const size_t n = symbols->n < MAX_LEARNED ? symbols->n : MAX_LEARNED;
    synth_u64s before = {0};
    bool ok = array_reserve(&before, n + 1);
    uint32_t loop = 0;
    for (size_t i = 0; ok && i <= n; i++) {
        const uint32_t symbol = i < n ? symbols->at[i] : SYMBOL_END;
        const place at = {*of, before.at, before.n};
        const uint32_t next = symbol >= SYMBOL_END ? symbol : m->tokens.at[symbol].op;
        ok = count_orders(m, &at, op_orders, CONTEXT_ORDERS, CONTEXT_OP, 0, next);
        if (ok && symbol == SYMBOL_OPEN)
            ok = add_count(m, &at, f->counts.at[loop++]);
        else if (ok && symbol < SYMBOL_END) {
            const uint32_t first = folds ? 0 : p->back_at.at[i];
            const uint32_t n_backs = folds ? 0 : p->back_at.at[i + 1] - first;
            ok = add_token(m, &at, symbol, n_backs > 0 ? p->backs.at + first : NULL,
                           n_backs);
        }
        if (ok)
            before.at[before.n++] = key_of_symbol(m, symbol);
    }
    array_fini(&before);
    return ok;
}

contexts_whose contexts_whose_of(const conditions *c, uint32_t n_ranks)
{
    contexts_whose of = {.family = conditions_family(c), .class = n_ranks > 1};
    for (uint32_t i = 0; i < c->n; i++)
        if (c->at[i].text[0] != '\0')
            of.class += hash_bytes(c->at[i].text, strlen(c->at[i].text),
                                   hash_bytes(c->at[i].name, strlen(c->at[i].name), 7));
    return of;
}

/* A program in the making. */
typedef struct open_loop {
    size_t first;     /* node it begins with */
    size_t first_key; /* in `before`, behind the bracket */
    uint32_t count;
} open_loop;
typedef struct writer {
    sample_set *s;
    sample_stage *stage;
    contexts_whose whose;
    law_point point;
    synth_u64s before;
    open_loop open[MAX_DEPTH];
    uint32_t depth;
    double most;     /* nodes */
    synth_u32s mark; /* by symbol: the draw in which a longer context had it */
    uint32_t n_draws;
} writer;

static place place_of(const writer *w)
{
    return (place){w->whose, w->before.at, w->before.n};
}

/* Brackets and the end stand before all others. */
static uint32_t mark_of(uint32_t symbol)
{
    return symbol >= SYMBOL_END ? UINT32_MAX - symbol : symbol + 4;
}

/* One draw from a context, of symbols that no longer one has; *found: whether there is
 * such a context. MODEL_NONE: one was meant that is no longer known. */
static uint32_t draw_at(writer *w, uint64_t key, model_next_kind kind, bool *found)
{
    const synth_model *m = w->s->m;
    const uint32_t id = map64_find(&m->context_of, key);
    *found = id != HASH_NONE;
    if (!*found)
        return MODEL_NONE;
    double fresh = 0, all = 0;
    const uint32_t first = m->contexts.at[id].first;
    for (uint32_t n = first; n != MODEL_NONE; n = m->next.at[n].more) {
        if (m->next.at[n].kind != kind)
            return MODEL_NONE;
        all += m->next.at[n].n;
        if (w->mark.at[mark_of(m->next.at[n].symbol)] != w->n_draws)
            fresh += m->next.at[n].n;
    }
    double left = rng_unit(&w->s->random) * (fresh + fmax(0, m->contexts.at[id].n - all));
    for (uint32_t n = first; n != MODEL_NONE; n = m->next.at[n].more) {
        uint32_t *mark = &w->mark.at[mark_of(m->next.at[n].symbol)];
        if (*mark == w->n_draws)
            continue;
        *mark = w->n_draws;
        left -= m->next.at[n].n;
        if (left < 0)
            return m->next.at[n].symbol;
    }
    return MODEL_NONE;
}

/* From the longest context to the shortest; those of any family where this one has none.
 */
static uint32_t draw_ordered(writer *w, const order *orders, uint32_t n,
                             model_next_kind kind, uint64_t what)
{
    const place at = place_of(w);
    bool own = false;
    w->n_draws++;
    for (uint32_t k = 0; k < n && (orders[k].of != OF_ANY || !own); k++) {
        bool found;
        const uint32_t symbol =
            draw_at(w, key_of(&at, orders[k], kind, what), kind, &found);
        if (symbol != MODEL_NONE)
            return symbol;
        own = own || (found && orders[k].of != OF_ANY);
    }
    return MODEL_NONE;
}

/* What the family, else any, has wherever it stands; HASH_NONE: nothing. */
static uint32_t plain_context(const writer *w, model_next_kind kind, uint64_t what)
{
    const place at = place_of(w);
    const uint32_t id =
        map64_find(&w->s->m->context_of, key_of(&at, of_family, kind, what));
    return id != HASH_NONE
               ? id
               : map64_find(&w->s->m->context_of, key_of(&at, of_any, kind, what));
}

static uint32_t draw_plain(writer *w, model_next_kind kind, uint64_t what)
{
    const synth_model *m = w->s->m;
    const uint32_t id = plain_context(w, kind, what);
    if (id == HASH_NONE)
        return MODEL_NONE;
    double sum = 0;
    const uint32_t first = m->contexts.at[id].first;
    for (uint32_t n = first; n != MODEL_NONE; n = m->next.at[n].more)
        sum += m->next.at[n].n;
    double left = rng_unit(&w->s->random) * sum;
    for (uint32_t n = first; n != MODEL_NONE; n = m->next.at[n].more)
        if ((left -= m->next.at[n].n) < 0)
            return m->next.at[n].kind == kind ? m->next.at[n].symbol : MODEL_NONE;
    return MODEL_NONE;
}

static uint32_t draw_op(writer *w)
{
    const uint32_t symbol = draw_ordered(w, op_orders, CONTEXT_ORDERS, CONTEXT_OP, 0);
    return symbol != MODEL_NONE ? symbol : draw_plain(w, CONTEXT_OP, 0);
}

static bool has_ref(const model_ref *refs, uint32_t n, const model_ref *ref)
{
    for (uint32_t i = 0; i < n; i++)
        if (memcmp(&refs[i], ref, sizeof *ref) == 0)
            return true;
    return false;
}

/* Adds up how often a context has each number of dependencies. */
static bool count_degrees(double by[MAX_DEGREE + 1], const synth_model *m, uint64_t key,
                          double sign)
{
    const uint32_t id = map64_find(&m->context_of, key);
    if (id == HASH_NONE)
        return false;
    for (uint32_t n = m->contexts.at[id].first; n != MODEL_NONE; n = m->next.at[n].more) {
        const model_next *next = &m->next.at[n];
        const uint32_t degree = next->kind == CONTEXT_TOKEN
                                    ? degree_of(&m->tokens.at[next->symbol])
                                    : next->symbol;
        if (degree <= MAX_DEGREE)
            by[degree] += sign * next->n;
    }
    return true;
}

/* How many dependencies: as often as there are some, less the tokens that are known. */
static uint32_t draw_degree(writer *w, uint64_t op)
{
    double by[MAX_DEGREE + 1] = {0}, sum = 0;
    const synth_model *m = w->s->m;
    const place at = place_of(w);
    const order o = count_degrees(by, m, key_of(&at, of_family, CONTEXT_DEGREE, op), 1)
                        ? of_family
                        : of_any;
    if (o.of == OF_ANY)
        (void)count_degrees(by, m, key_of(&at, o, CONTEXT_DEGREE, op), 1);
    (void)count_degrees(by, m, key_of(&at, o, CONTEXT_TOKEN, op), -1);
    for (uint32_t i = 0; i <= MAX_DEGREE; i++)
        sum += fmax(0, by[i]);
    double left = rng_unit(&w->s->random) * sum;
    for (uint32_t i = 0; i <= MAX_DEGREE; i++)
        if ((left -= fmax(0, by[i])) < 0)
            return i;
    return 0;
}

/* How much it takes to tell which one: the entropy of a plain context. */
static double surprise(const writer *w, model_next_kind kind, uint64_t what)
{
    const synth_model *m = w->s->m;
    const uint32_t id = plain_context(w, kind, what);
    double sum = 0, s = 0;
    if (id == HASH_NONE)
        return INFINITY;
    for (uint32_t n = m->contexts.at[id].first; n != MODEL_NONE; n = m->next.at[n].more) {
        sum += m->next.at[n].n;
        s += m->next.at[n].n * log(fmax(1, m->next.at[n].n));
    }
    return sum > 0 ? log(sum) - s / sum : INFINITY;
}

/* A dependency by how far back it lies, or by what it is. */
static bool draw_ref(model_ref *out, writer *w, uint64_t what, bool back)
{
    const synth_model *m = w->s->m;
    const uint32_t symbol = draw_plain(w, back ? CONTEXT_BACK : CONTEXT_REF, what);
    if (symbol == MODEL_NONE)
        return false;
    if (back)
        *out = (model_ref){.kind = REF_BACK,
                           .op = MODEL_NONE,
                           .n = (uint16_t)(symbol > UINT16_MAX ? UINT16_MAX : symbol)};
    else if (m->tokens.at[symbol].n_refs > 0)
        *out = m->refs.at[m->tokens.at[symbol].first_ref];
    else
        return false;
    return true;
}

/* Dependencies one by one, as a token of the set's own; MODEL_NONE: no memory. */
static uint32_t compose(writer *w, uint32_t op)
{
    sample_set *s = w->s;
    const synth_model *m = s->m;
    const uint64_t key = m->ops.at[op].key;
    const uint32_t degree = draw_degree(w, key);
    model_ref refs[MAX_DEGREE];
    uint32_t n = 0;
    const bool back =
        surprise(w, CONTEXT_BACK, key + degree) < surprise(w, CONTEXT_REF, key + degree);
    for (uint32_t k = 0; n < degree && k < N_TRIES * degree; k++) {
        model_ref ref;
        if (draw_ref(&ref, w, key + degree, back) && !has_ref(refs, n, &ref))
            refs[n++] = ref;
    }
    const model_token t = {.op = op, .first_ref = (uint32_t)s->refs.n, .n_refs = n};
    if (!array_reserve(&s->refs, n) || !array_push(&s->tokens, t))
        return MODEL_NONE;
    if (n > 0)
        memcpy(s->refs.at + s->refs.n, refs, n * sizeof *refs);
    s->refs.n += n;
    return (uint32_t)(m->tokens.n + s->tokens.n - 1);
}

static uint32_t draw_token(writer *w, uint32_t op)
{
    const synth_model *m = w->s->m;
    const uint32_t token =
        draw_ordered(w, token_orders, N_TOKEN_ORDERS, CONTEXT_TOKEN, m->ops.at[op].key);
    return token != MODEL_NONE && m->tokens.at[token].op == op ? token : compose(w, op);
}

uint64_t contexts_loop_key(uint64_t family, const uint64_t *keys, size_t n)
{
    uint64_t key = hash_u64(n ^ UINT64_C(0x10095));
    for (size_t i = 0; i < n; i++)
        key = hash_u64(key ^ keys[i]) + 1;
    return hash_u64(key ^ family);
}

/* How often the loop at hand runs: as conditions say, where enough sets had it, else as
 * loops of the kind. */
static uint32_t count_of(writer *w, const open_loop *loop)
{
    const synth_model *const m = w->s->m;
    const uint64_t *const body = w->before.at + loop->first_key;
    const size_t n = w->before.n - loop->first_key;
    uint32_t id = map64_find(&m->law_of, contexts_loop_key(w->whose.family, body, n));
    if (id == HASH_NONE)
        id = map64_find(&m->law_of, contexts_loop_key(0, body, n));
    if (id == HASH_NONE)
        return loop->count;
    const model_law *const law = &m->laws.at[id];
    double y = law_log(law->coefficient, &w->point) +
               (double)law->spread * rng_normal(&w->s->random);
    if (law->low < law->high)
        y = fmin(fmax(y, law->low), law->high);
    return (uint32_t)lround(fmin(fmax(exp(fmin(y, 14)), 1), 1e6));
}

/* The body of the innermost loop as often as it is to run, if there is room for that. */
static bool close_loop(writer *w)
{
    if (w->depth == 0)
        return true;
    open_loop loop = w->open[--w->depth];
    loop.count = count_of(w, &loop);
    sample_stage *stage = w->stage;
    const size_t n = stage->nodes.n - loop.first;
    for (uint32_t i = 1; i < loop.count && (double)(stage->nodes.n + n) <= w->most; i++) {
        if (!array_reserve(&stage->nodes, n))
            return false;
        memcpy(stage->nodes.at + stage->nodes.n, stage->nodes.at + loop.first,
               n * sizeof *stage->nodes.at);
        stage->nodes.n += n;
    }
    return true;
}

static void open_one(writer *w)
{
    const uint32_t n = draw_plain(w, CONTEXT_COUNT, 0);
    if (w->depth < MAX_DEPTH)
        w->open[w->depth++] =
            (open_loop){w->stage->nodes.n, w->before.n + 1, n == MODEL_NONE ? 1 : n};
}

static bool write_symbol(writer *w, uint32_t symbol)
{
    if (symbol == SYMBOL_OPEN)
        open_one(w);
    else if (symbol == SYMBOL_CLOSE && !close_loop(w))
        return false;
    if (symbol >= SYMBOL_END)
        return array_push(&w->before, symbol);
    const uint32_t token = draw_token(w, symbol);
    return token != MODEL_NONE &&
           array_push(&w->stage->nodes,
                      (sample_node){.token = token, .op = symbol, .where = MODEL_NONE}) &&
           array_push(&w->before, w->s->m->ops.at[symbol].key);
}

/* Symbols until there are enough nodes; a program that ends too early begins again. */
static bool write_program(writer *w, double enough)
{
    for (double i = 0; i < 4 * w->most + 64 && (double)w->stage->nodes.n < w->most; i++) {
        const uint32_t symbol = draw_op(w);
        if (symbol != SYMBOL_END && symbol != MODEL_NONE) {
            if (!write_symbol(w, symbol))
                return false;
            continue;
        }
        while (w->depth > 0)
            if (!close_loop(w))
                return false;
        if ((double)w->stage->nodes.n >= enough || symbol == MODEL_NONE)
            break;
        w->before.n = 0;
    }
    return true;
}

halley_status contexts_draw(sample_set *s, sample_stage *stage, double n, bool told,
                            halley_error *err)
{
    const size_t n_ops = s->m->ops.n, n_tokens = s->m->tokens.n;
    writer w = {.s = s, .stage = stage, .most = fmax(1, told ? n : 1.5 * n)};
    w.whose = contexts_whose_of(&s->outline.conditions, s->outline.n_ranks);
    conditions_point(&w.point, s->m, &s->outline.conditions, 0, s->outline.n_stages);
    const bool ok =
        synth_u32s_resize(&w.mark, 8 + (n_ops > n_tokens ? n_ops : n_tokens)) &&
        write_program(&w, told ? 0.9 * n : 1);
    array_fini(&w.before);
    array_fini(&w.mark);
    if (ok && stage->nodes.n == 0)
        return error_set(err, HALLEY_EINVAL,
                         "the model has nothing to begin a trace with");
    return ok ? HALLEY_OK : error_nomem(err);
}
