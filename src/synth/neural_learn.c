/*
 * From traces to the network's programs. A stage is recorded as its folded program with
 * the numbers of each item's first run. When all is seen and the model pruned, the
 * programs are put into the model's terms: an item whose operator too few sets have is
 * left out, so that the network never meets what the model may not hold; one whose edges
 * too few sets have together has edges of its own.
 */
#include "synth/neural_model.h"
#include "synth/neural_pass.h"
#include "trace/roles.h"

#include <math.h>
#include <string.h>

enum { MAX_PROGRAMS = 6000, MAX_ITEMS = 3000, HELD_OUT_EVERY = 16, MIN_PROGRAMS = 8 };

typedef struct recorded {
    uint32_t set, n_items;
    uint64_t family;
    law_point point;
    uint32_t *items, *first_value; /* tokens of the learner, brackets as in its symbols */
    uint32_t *backs;               /* as of free items, also of others */
    float *values;
} recorded;

struct neural_recorder {
    ARRAY(recorded) list;
    rng random;
    uint64_t n_seen;
    ARRAY(uint32_t) items, first_value, backs; /* of the program being recorded */
    ARRAY(float) values;
};

neural_recorder *neural_recorder_new(uint64_t seed)
{
    neural_recorder *r = mem_array_zero(1, sizeof *r);
    if (r != NULL)
        r->random = rng_seed(seed);
    return r;
}

static void recorded_fini(recorded *p)
{
    free(p->items);
    free(p->first_value);
    free(p->backs);
    free(p->values);
}

void neural_recorder_free(neural_recorder *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->list.n; i++)
        recorded_fini(&r->list.at[i]);
    array_fini(&r->list);
    array_fini(&r->items);
    array_fini(&r->first_value);
    array_fini(&r->backs);
    array_fini(&r->values);
    free(r);
}

static bool push_value(neural_recorder *r, double value)
{
    return array_push(&r->values, value > 0 ? (float)log(value) : NEURAL_ZERO);
}

/* Numbers of the node at `at`, in the order of attrs_of in neural_model.c. */
static bool push_numbers(neural_recorder *r, const learner *l, const halley_trace *trace,
                         uint32_t at, uint32_t rank)
{
    double values[LEARN_VALUES];
    const uint32_t n = learner_values(values, l, trace, at, rank);
    for (uint32_t i = 0; i < n && i < NEURAL_FIELDS; i++)
        if (isnan(values[i]) ? !array_push(&r->values, NEURAL_UNKNOWN)
                             : !push_value(r, values[i]))
            return false;
    return true;
}

/* How far back the node at `at` depends on others; NEURAL_UNTOLD: too far, or for
 * control. */
static uint32_t backs_of(const learner *l, uint32_t at)
{
    const synth_program *p = &l->program;
    const model_token *t = &l->m.tokens.at[p->tokens.at[at]];
    uint32_t backs = 0;
    for (uint32_t i = 0; i < t->n_refs; i++)
        if (l->m.refs.at[t->first_ref + i].ctrl)
            return NEURAL_UNTOLD;
    for (uint32_t i = p->back_at.at[at]; i < p->back_at.at[at + 1]; i++) {
        if (p->backs.at[i] == 0 || p->backs.at[i] > NEURAL_BACK)
            return NEURAL_UNTOLD;
        backs |= 1U << (p->backs.at[i] - 1);
    }
    return backs;
}

typedef struct open_loop {
    uint32_t first, count; /* node of its first item; how often it runs */
} open_loop;

/* The folded program, each loop once; HALLEY_ELIMIT: too long or too deep. */
static halley_status walk(neural_recorder *r, const learner *l, const halley_trace *trace,
                          uint32_t rank)
{
    open_loop stack[NEURAL_DEPTH] = {{0}};
    uint32_t depth = 0, at = 0, loop = 0;
    r->items.n = r->first_value.n = r->backs.n = r->values.n = 0;
    if (l->folded.symbols.n > MAX_ITEMS)
        return HALLEY_ELIMIT;
    for (size_t i = 0; i < l->folded.symbols.n; i++) {
        const uint32_t symbol = l->folded.symbols.at[i];
        const bool is_node = symbol != SYMBOL_OPEN && symbol != SYMBOL_CLOSE;
        if (!array_push(&r->items, symbol) ||
            !array_push(&r->first_value, (uint32_t)r->values.n) ||
            !array_push(&r->backs, is_node ? backs_of(l, at) : 0))
            return HALLEY_ENOMEM;
        if (symbol == SYMBOL_OPEN) {
            if (depth == NEURAL_DEPTH)
                return HALLEY_ELIMIT;
            stack[depth++] = (open_loop){at, l->folded.counts.at[loop++]};
        } else if (symbol == SYMBOL_CLOSE) {
            const open_loop o = stack[--depth];
            at = o.first + (at - o.first) * o.count;
            if (!push_value(r, o.count))
                return HALLEY_ENOMEM;
        } else if (!push_numbers(r, l, trace, at++, rank))
            return HALLEY_ENOMEM;
    }
    return HALLEY_OK;
}

static void *copy(const void *from, size_t n, size_t size)
{
    void *to = mem_array(n, size);
    if (to != NULL && n > 0)
        memcpy(to, from, n * size);
    return to;
}

halley_status neural_recorder_add(neural_recorder *r, const learner *l,
                                  const halley_trace *trace, uint32_t rank,
                                  const law_point *p, uint64_t family, halley_error *err)
{
    const uint64_t seen = r->n_seen++;
    const uint64_t to = seen < MAX_PROGRAMS ? seen : rng_below(&r->random, seen + 1);
    if (to >= MAX_PROGRAMS)
        return HALLEY_OK;
    const halley_status status = walk(r, l, trace, rank);
    if (status != HALLEY_OK) {
        r->n_seen--;
        return status == HALLEY_ENOMEM ? error_nomem(err) : HALLEY_OK;
    }
    recorded new = {.set = l->m.head.at[0].n_sets,
                    .n_items = (uint32_t)r->items.n,
                    .family = family,
                    .point = *p};
    new.items = copy(r->items.at, r->items.n, sizeof *new.items);
    new.first_value = copy(r->first_value.at, r->items.n, sizeof *new.first_value);
    new.backs = copy(r->backs.at, r->items.n, sizeof *new.backs);
    new.values = copy(r->values.at, r->values.n, sizeof *new.values);
    const bool ok = new.items &&new.first_value &&new.backs &&new.values;
    if (!ok || (to >= r->list.n && !array_reserve(&r->list, 1))) {
        recorded_fini(&new);
        return error_nomem(err);
    }
    if (to < r->list.n)
        recorded_fini(&r->list.at[to]);
    else
        r->list.n++;
    r->list.at[to] = new;
    return HALLEY_OK;
}

/* What training needs beside the recorder. */
typedef struct job {
    const neural_recorder *r;
    synth_model *m;
    const synth_model *from;
    neural_model n;
    arena memory;
    uint32_t *item_of; /* the network's by the learner's token, or MODEL_NONE */
    neural_program *programs;
    uint32_t n_programs, n_held_out, max_items;
    double max_nodes;
    neural_tally tally;
} job;

/* The learner's tokens in the network's terms. */
static halley_status map_tokens(job *j, halley_error *err)
{
    const synth_model *from = j->from, *m = j->m;
    map64 op_of = {0}, token_of = {0};
    uint32_t *op = arena_array(&j->memory, from->ops.n + 1, sizeof *op);
    j->item_of = arena_array(&j->memory, from->tokens.n + 1, sizeof *j->item_of);
    bool ok = op != NULL && j->item_of != NULL;
    for (uint32_t i = 0; ok && i < m->ops.n; i++)
        ok = map64_set(&op_of, m->ops.at[i].key, i);
    for (uint32_t i = 0; ok && i < m->tokens.n; i++) {
        const model_token *t = &m->tokens.at[i];
        ok = map64_set(&token_of,
                       synth_token_key(t->op, m->refs.at + t->first_ref, t->n_refs), i);
    }
    for (size_t i = 0; ok && i < from->ops.n; i++)
        op[i] = map64_find(&op_of, from->ops.at[i].key);
    for (size_t i = 0; ok && i < from->tokens.n; i++) {
        const model_token *t = &from->tokens.at[i];
        model_ref refs[SYNTH_REFS];
        for (uint32_t k = 0; k < t->n_refs && k < SYNTH_REFS; k++) {
            refs[k] = from->refs.at[t->first_ref + k];
            if (refs[k].op != MODEL_NONE)
                refs[k].op = op[refs[k].op];
        }
        const uint32_t n = t->n_refs < SYNTH_REFS ? t->n_refs : SYNTH_REFS;
        const uint32_t to = map64_find(&token_of, synth_token_key(op[t->op], refs, n));
        if (to != HASH_NONE)
            j->item_of[i] = j->n.token_of[to];
        else
            j->item_of[i] = op[t->op] != HASH_NONE ? NEURAL_FREE + op[t->op] : MODEL_NONE;
    }
    map64_fini(&op_of);
    map64_fini(&token_of);
    return ok ? HALLEY_OK : error_nomem(err);
}

/* One program in the network's terms; false: no memory. Loops left empty are taken out.
 */
static bool translate(job *j, neural_program *to, const recorded *p)
{
    uint32_t *items = arena_array(&j->memory, p->n_items + 1, sizeof *items);
    uint32_t *first_value = arena_array(&j->memory, p->n_items + 1, sizeof *first_value);
    uint32_t *backs = arena_array(&j->memory, p->n_items + 1, sizeof *backs);
    if (items == NULL || first_value == NULL || backs == NULL)
        return false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_items; i++) {
        const uint32_t symbol = p->items[i];
        uint32_t item = NEURAL_OPEN;
        if (symbol == SYMBOL_CLOSE) {
            if (n > 0 && items[n - 1] == NEURAL_OPEN) {
                n--;
                continue;
            }
            item = NEURAL_CLOSE;
        } else if (symbol != SYMBOL_OPEN)
            item = j->item_of[symbol];
        if (item == MODEL_NONE)
            continue;
        items[n] = item;
        backs[n] = p->backs[i];
        first_value[n++] = p->first_value[i];
    }
    *to = (neural_program){.n_items = n,
                           .items = items,
                           .first_value = first_value,
                           .values = p->values,
                           .backs = backs};
    neural_features(to->feature, &p->point, p->family, j->m);
    j->max_items = n > j->max_items ? n : j->max_items;
    return true;
}

/* Programs of every so-manieth set stand at the end: they are held out. */
static halley_status translate_all(job *j, halley_error *err)
{
    const neural_recorder *r = j->r;
    j->programs = arena_array(&j->memory, r->list.n + 1, sizeof *j->programs);
    if (j->programs == NULL)
        return error_nomem(err);
    for (int held_out = 0; held_out < 2; held_out++)
        for (size_t i = 0; i < r->list.n; i++) {
            const recorded *p = &r->list.at[i];
            if ((p->set % HELD_OUT_EVERY == HELD_OUT_EVERY / 2) != (held_out == 1))
                continue;
            neural_program *to = &j->programs[j->n_programs];
            if (!translate(j, to, p))
                return error_nomem(err);
            j->n_programs += to->n_items > 0;
            j->n_held_out += held_out == 1 && to->n_items > 0;
        }
    if (j->n_programs - j->n_held_out < MIN_PROGRAMS)
        return error_set(
            err, HALLEY_EINVAL,
            "a network needs %d programs of ranks to learn from, here are %u",
            MIN_PROGRAMS, j->n_programs - j->n_held_out);
    return HALLEY_OK;
}

/* Features to mean 0 and deviation 1; the constant stays, what never varies is left out.
 */
static void rescale(job *j, model_net *head)
{
    const double n = j->n_programs;
    for (uint32_t x = 0; x < NEURAL_FEATURES; x++) {
        double sum = 0, squares = 0;
        for (uint32_t i = 0; i < j->n_programs; i++)
            sum += (double)j->programs[i].feature[x];
        for (uint32_t i = 0; i < j->n_programs; i++) {
            const double off = (double)j->programs[i].feature[x] - sum / n;
            squares += off * off;
        }
        head->mean[x] = x == FEATURE_ONE ? 0 : (float)(sum / n);
        head->scale[x] = squares > 1e-6 * n ? (float)(1 / sqrt(squares / n)) : 0;
    }
    head->scale[FEATURE_ONE] = 1;
    for (uint32_t i = 0; i < j->n_programs; i++)
        neural_rescale(j->programs[i].feature, head);
}

/* What numbers were, to an eighth, so that no single set's extremes are told. */
static void widen(job *j, model_range *ranges, const neural_program *p)
{
    for (uint32_t i = 0; i < p->n_items; i++) {
        const uint32_t op = neural_op_of(&j->n.net, p->items[i]);
        const uint32_t n_ops = j->n.net.shape.n_ops;
        model_range *to = ranges + j->n.net.shape.first_attr[op < n_ops ? op : n_ops];
        const uint32_t n = neural_n_values(&j->n.net, p->items[i]);
        for (uint32_t f = 0; f < n; f++) {
            const float y = p->values[p->first_value[i] + f];
            if (y <= NEURAL_ZERO || y >= NEURAL_UNKNOWN)
                continue;
            to[f].low = fminf(to[f].low, floorf(y * 8) / 8);
            to[f].high = fmaxf(to[f].high, ceilf(y * 8) / 8);
        }
    }
}

static halley_status find_ranges(job *j, halley_error *err)
{
    synth_model *m = j->m;
    const size_t n = neural_n_ranges(&j->n.net);
    if (!array_reserve(&m->net_ranges, n))
        return error_nomem(err);
    m->net_ranges.n = n;
    for (size_t i = 0; i < n; i++)
        m->net_ranges.at[i] = (model_range){99, -99};
    for (uint32_t i = 0; i < j->n_programs; i++)
        widen(j, m->net_ranges.at, &j->programs[i]);
    for (size_t i = 0; i < n; i++)
        if (m->net_ranges.at[i].low > m->net_ranges.at[i].high)
            m->net_ranges.at[i] = (model_range){0, 0};
    return HALLEY_OK;
}

static law_point point_of(const neural_program *p)
{
    law_point point = {0};
    for (uint32_t x = 0; x < MODEL_FEATURES; x++)
        law_point_add(&point, x, (double)p->feature[x]);
    return point;
}

/* What the numbers of a program say about their laws. */
static void add_numbers(job *j, model_sum *sums, const neural_program *p)
{
    const law_point point = point_of(p);
    for (uint32_t i = 0; i < p->n_items; i++) {
        const uint32_t op = neural_op_of(&j->n.net, p->items[i]);
        if (op >= j->n.net.shape.n_ops) /* counts differ most by which loop it is */
            continue;
        const uint32_t n = neural_n_values(&j->n.net, p->items[i]);
        for (uint32_t f = 0; f < n; f++) {
            const float y = p->values[p->first_value[i] + f];
            model_sum *sum = &sums[j->n.net.shape.first_attr[op] + f];
            if (y > NEURAL_ZERO && y < NEURAL_UNKNOWN)
                law_sum_add(sum, &point, (double)y);
            else
                sum->zeros += y <= NEURAL_ZERO;
        }
    }
}

/* Runs through a program, its loops and all; returns its microseconds. */
static double run_through(job *j, const neural_program *p)
{
    neural_tally *t = &j->tally;
    double us[NEURAL_DEPTH + 1] = {0};
    neural_tally_clear(t);
    for (uint32_t i = 0; i < p->n_items; i++) {
        const float *values = p->values + p->first_value[i];
        if (p->items[i] == NEURAL_OPEN) {
            neural_tally_open(t);
            us[t->depth] = 0;
        } else if (p->items[i] == NEURAL_CLOSE) {
            const double times = exp((double)values[0]);
            neural_tally_close(t, times);
            us[t->depth] += us[t->depth + 1] * times;
        } else {
            neural_tally_item(t, neural_op_of(&j->n.net, p->items[i]));
            if (neural_n_values(&j->n.net, p->items[i]) > 0 && values[0] < NEURAL_UNKNOWN)
                us[t->depth] += exp((double)values[0]);
        }
    }
    return us[0];
}

/* And about its totals; `seen` gets the largest. */
static void add_totals(job *j, model_sum *sums, model_range *seen,
                       const neural_program *p)
{
    const law_point point = point_of(p);
    const double us = run_through(j, p);
    const neural_tally *t = &j->tally;
    double nodes = 0;
    for (uint32_t i = 0; i < t->n_ops + NEURAL_TOTALS; i++) {
        double total = i < t->n_ops ? t->count[i] : us;
        nodes += i < t->n_ops ? total : 0;
        if (i == t->n_ops + NEURAL_TOTAL_NODES)
            total = nodes;
        if (total <= 0)
            continue;
        law_sum_add(&sums[i], &point, log1p(total));
        seen[i].high = fmaxf(seen[i].high, ceilf(8 * (float)log1p(total)) / 8);
    }
    j->max_nodes = fmax(j->max_nodes, nodes);
}

/* A law by least squares; returns how far it is off. */
static float fit_row(float *to, const model_sum *sum)
{
    model_law law = {0};
    if (sum->n < MIN_PROGRAMS)
        return 1;
    law_fit(&law, sum);
    for (uint32_t x = 0; x < MODEL_FEATURES; x++)
        to[x] = (float)law.coefficient[x];
    return law.spread;
}

/* Laws of totals, by which the network knows what is left to do. */
static halley_status find_totals(job *j, halley_error *err)
{
    neural_net *net = &j->n.net;
    synth_model *m = j->m;
    const uint32_t n = net->shape.n_ops + NEURAL_TOTALS;
    model_range *seen = m->net_ranges.at + (m->net_ranges.n - n);
    model_sum *sums = mem_array_zero(n, sizeof *sums);
    float *laws = m->net.at + net->layout.n;
    const bool ok = sums != NULL && neural_tally_init(&j->tally, net->shape.n_ops);
    for (uint32_t i = 0; ok && i + j->n_held_out < j->n_programs; i++)
        add_totals(j, sums, seen, &j->programs[i]);
    memset(laws, 0, neural_n_totals(net) * sizeof *laws);
    for (uint32_t i = 0; ok && i < n; i++)
        seen[i].low = fit_row(laws + (size_t)i * NEURAL_FEATURES, &sums[i]);
    net->shape.total_law = laws;
    neural_tally_fini(&j->tally);
    free(sums);
    return ok ? HALLEY_OK : error_nomem(err);
}

/* Laws are where the network's numbers start, with how wide they lie around them and how
 * often they are 0: it learns what they miss. */
static halley_status start_from_laws(job *j, nn_real *param, halley_error *err)
{
    const neural_net *net = &j->n.net;
    const uint32_t n = net->shape.first_attr[net->shape.n_ops];
    model_sum *sums = mem_array_zero((size_t)n + 1, sizeof *sums);
    if (sums == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i + j->n_held_out < j->n_programs; i++)
        add_numbers(j, sums, &j->programs[i]);
    for (uint32_t i = 0; i < n; i++) {
        nn_real *score = param + net->attr_score.table + (size_t)i * NEURAL_NUMBER;
        nn_real *law = param + net->attr_law.table + (size_t)i * NEURAL_FEATURES;
        const float spread = fit_row(law, &sums[i]);
        score[NN_MIX_WIDTH] = (nn_real)log((sums[i].zeros + 0.01) / (sums[i].n + 0.01));
        for (uint32_t k = 0; k < NN_MIX_PARTS; k++)
            score[2 * NN_MIX_PARTS + k] = (nn_real)log((double)spread / 2 + 0.01);
    }
    free(sums);
    return HALLEY_OK;
}

/* How often operators have edges of their own. */
static halley_status start_from_edges(job *j, nn_real *param, halley_error *err)
{
    const neural_net *net = &j->n.net;
    double *count = mem_array_zero(2 * (size_t)net->shape.n_ops, sizeof *count);
    if (count == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i + j->n_held_out < j->n_programs; i++)
        for (uint32_t k = 0; k < j->programs[i].n_items; k++) {
            const uint32_t item = j->programs[i].items[k], op = neural_op_of(net, item);
            if (op < net->shape.n_ops)
                count[2 * op + (item >= NEURAL_FREE)]++;
        }
    for (uint32_t i = 0; i < net->shape.n_ops; i++)
        param[net->free_bias.table + i] =
            (nn_real)log((count[2 * i + 1] + 0.01) / (count[2 * i] + 0.01));
    free(count);
    return HALLEY_OK;
}

static halley_status train(job *j, neural_report *report, const neural_train_opts *opts,
                           halley_error *err)
{
    synth_model *m = j->m;
    model_net head = {.version = MODEL_NET_VERSION};
    TRY(map_tokens(j, err));
    TRY(translate_all(j, err));
    rescale(j, &head);
    const size_t n = j->n.net.layout.n + neural_n_totals(&j->n.net);
    if (!array_reserve(&m->net, n))
        return error_nomem(err);
    TRY(find_ranges(j, err));
    TRY(find_totals(j, err));
    head.max_items = j->max_items + j->max_items / 4;
    head.max_nodes = (uint32_t)fmin(1.25 * j->max_nodes + 16, 4e9);
    neural_net_init(&j->n.net, m->net.at, opts->seed);
    TRY(start_from_laws(j, m->net.at, err));
    TRY(start_from_edges(j, m->net.at, err));
    TRY(neural_train(m->net.at, report, &j->n.net, j->programs, j->n_programs,
                     j->n_held_out, opts, err));
    m->net.n = n;
    return array_push(&m->net_head, head) ? HALLEY_OK : error_nomem(err);
}

halley_status neural_learn(synth_model *m, neural_report *report,
                           const neural_recorder *r, const synth_model *from,
                           const neural_train_opts *opts, halley_error *err)
{
    job j = {.r = r, .m = m, .from = from};
    TRY(neural_model_make(&j.n, m, err));
    const halley_status status = train(&j, report, opts, err);
    neural_model_fini(&j.n);
    arena_fini(&j.memory);
    return status;
}
