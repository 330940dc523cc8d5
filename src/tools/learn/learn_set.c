/*
 * Adds one set of ranks. Its stages are the largest blocks of consecutive ranks within
 * which all programs are equal. Only the first rank of each stage is examined in detail.
 * The set adds sums to the model: of features and logarithms for laws and loops, and of
 * sets for operators, tokens, skeletons and templates. Of the set itself, the learner
 * keeps only its conditions (portraits, joint.c), samples of loop counts (law_exact.c)
 * and extreme values (model_sum.ends).
 */
#include "learn/learn_set.h"

#include "learn/model/joint.h"
#include "trace/core/roles.h"

#include <assert.h>
#include <math.h>
#include <string.h>

halley_status learner_init(learner *l, halley_error *err)
{
    *l = (learner){0};
    l->reader.m = &l->m;
    return synth_model_init(&l->m, err);
}

void learner_fini(learner *l)
{
    synth_model_fini(&l->m);
    synth_reader_fini(&l->reader);
    synth_program_fini(&l->program);
    synth_folded_fini(&l->folded);
    map64_fini(&l->total_of);
    map64_fini(&l->group_of);
    array_fini(&l->totals);
    array_fini(&l->values);
    array_fini(&l->keys);
    array_fini(&l->groups);
    array_fini(&l->parts);
    array_fini(&l->spots);
    array_fini(&l->sides);
    array_fini(&l->live);
    array_fini(&l->token_stage);
    map64_fini(&l->spot_of);
    map64_fini(&l->side_of);
}

halley_status learner_read(learner *l, const halley_trace_set *set, uint32_t rank,
                           halley_error *err)
{
    assert(rank < halley_trace_set_count(set));
    return synth_program_read(&l->program, &l->reader, halley_trace_set_get(set, rank),
                              rank, halley_trace_set_count(set), err);
}

static halley_status read_keys(learner *l, const halley_trace_set *set, halley_error *err)
{
    const uint32_t n = halley_trace_set_count(set);
    l->keys.n = 0;
    for (uint32_t r = 0; r < n; r++) {
        const halley_trace *trace = halley_trace_set_get(set, r);
        if (r > 0 && trace == halley_trace_set_get(set, r - 1)) {
            if (!array_push(&l->keys, l->keys.at[r - 1]))
                return error_nomem(err);
            continue;
        }
        TRY(learner_read(l, set, r, err));
        if (!array_push(&l->keys, l->program.key))
            return error_nomem(err);
    }
    return HALLEY_OK;
}

/* The number of ranks per stage. */
static uint32_t block_of(const learner *l)
{
    const uint32_t n = (uint32_t)l->keys.n;
    for (uint32_t stages = 1; stages < n; stages++) {
        if (n % stages != 0)
            continue;
        const uint32_t block = n / stages;
        bool equal = true;
        for (uint32_t r = 0; r < n && equal; r++)
            equal = l->keys.at[r] == l->keys.at[r - r % block];
        if (equal)
            return block;
    }
    return 1;
}

halley_status learner_block(uint32_t *out, learner *l, const halley_trace_set *set,
                            halley_error *err)
{
    TRY(read_keys(l, set, err));
    *out = block_of(l);
    return HALLEY_OK;
}

/* Adds one rank to a group. Ranks come in ascending order. */
static bool add_member(learner *l, halley_bytes name, uint32_t rank)
{
    assert(rank < l->keys.n);
    const uint64_t key = hash_bytes(name.at, name.n, 0);
    uint32_t id = (uint32_t)l->groups.n;
    bool fresh;
    if (!map64_put(&l->group_of, key, &id, &fresh))
        return false;
    if (fresh && !array_push(&l->groups, (synth_group){key, 0, 0, rank, rank}))
        return false;
    synth_group *g = &l->groups.at[id];
    if (!fresh && g->last_rank == rank)
        return true;
    if (g->size == 1)
        g->stride = rank - g->first_rank;
    g->size++;
    g->last_rank = rank;
    return true;
}

static halley_status declared_groups(learner *l, const char *path, halley_error *err)
{
    trace_groups groups = {0};
    halley_status status = trace_groups_load(&groups, path, err);
    for (size_t i = 0; status == HALLEY_OK && i < groups.list.n; i++) {
        const trace_group *g = &groups.list.at[i];
        for (uint32_t k = 0; status == HALLEY_OK && k < g->n_ranks; k++)
            if (!add_member(l, (halley_bytes){g->name.at, g->name.n}, g->ranks[k]))
                status = error_nomem(err);
    }
    trace_groups_fini(&groups);
    return status;
}

static halley_status used_groups(learner *l, const halley_trace_set *set,
                                 halley_error *err)
{
    for (uint32_t r = 0; r < halley_trace_set_count(set); r++) {
        const halley_trace *trace = halley_trace_set_get(set, r);
        for (uint32_t i = 0; i < halley_trace_count(trace); i++) {
            if (halley_node_type_of(trace, i) != HALLEY_NODE_COLL)
                continue;
            trace_roles roles;
            trace_roles_read(&roles, trace, i);
            const halley_bytes name = trace_roles_group(&roles);
            if (name.n > 0 && !add_member(l, name, r))
                return error_nomem(err);
        }
    }
    return HALLEY_OK;
}

static uint32_t law_of(learner *l, uint64_t key)
{
    assert(key != 0 || l != NULL);
    synth_model *const m = &l->m;
    uint32_t id = (uint32_t)m->laws.n;
    bool fresh;
    if (!map64_put(&m->law_of, key, &id, &fresh))
        return MODEL_NONE;
    if (!fresh)
        return id;
    if (!array_reserve(&m->sums, 1) || !array_push(&m->laws, (model_law){.key = key}))
        return MODEL_NONE;
    memset(&m->sums.at[m->sums.n++], 0, sizeof *m->sums.at);
    return id;
}

/* Adds a number of this set to a law. */
static bool observe_number(learner *l, uint32_t law, const law_point *p, double log_value)
{
    assert(law == MODEL_NONE || law < l->m.laws.n);
    if (law == MODEL_NONE)
        return false;
    synth_model *m = &l->m;
    model_law *to = &m->laws.at[law];
    const uint32_t set = m->head.at[0].n_sets;
    to->n_sets += to->last_set != set;
    to->last_set = set;
    if (isinf(log_value)) {
        m->sums.at[law].zeros++;
        return true;
    }
    law_sum_add(&m->sums.at[law], p, log_value);
    return true;
}

static bool sum_value(learner *l, const law_place *at, double value)
{
    assert(at->op != 0);
    uint32_t id = (uint32_t)l->totals.n;
    bool fresh;
    const uint64_t key = synth_law_key(at, 0);
    if (!map64_put(&l->total_of, key, &id, &fresh))
        return false;
    if (fresh && !array_push(&l->totals, (learn_total){.key = key, .at = *at}))
        return false;
    learn_total *t = &l->totals.at[id];
    if (!(value > 0)) {
        t->zeros++;
        return true;
    }
    const double y = log(value);
    t->n++;
    t->sum += y;
    t->square += y * y;
    t->least = t->n == 1 || y < t->least ? y : t->least;
    t->most = t->n == 1 || y > t->most ? y : t->most;
    return array_push(&l->values, (learn_value){id, (float)y});
}

/* A stage of the set. */
typedef struct learn_stage {
    uint32_t stage, n_stages;
    bool bare; /* the set has no conditions */
    const law_point *point;
} learn_stage;

/* Identifies the stage that is being examined. */
typedef struct stage_of {
    uint64_t family, program;
    uint32_t rank, skeleton;
    bool bare; /* the set has no conditions: all its numbers may be specific to its
                  program */
} stage_of;

static bool is_named(const synth_model *m, const model_op *op, uint32_t field, str name)
{
    return field > 0 && field < op->n_fields &&
           str_eq(synth_text(m, m->fields.at[op->first_field + field].name), name);
}

/* The place of the node at `at` of the program, for its laws. */
static law_place find_law_place(const learner *l, uint32_t at, const stage_of *of)
{
    const synth_program *const p = &l->program;
    const model_op *const ops = l->m.ops.at;
    return (law_place){.family = of->family,
                       .op = ops[p->ops.at[at]].key,
                       .before = at > 0 ? ops[p->ops.at[at - 1]].key : 0,
                       .after = at + 1 < p->ops.n ? ops[p->ops.at[at + 1]].key : 0};
}

/* Adds the numbers of a node at a place. */
static bool sum_node_values(learner *l, const halley_trace *trace, uint32_t node,
                            const stage_of *of, law_place place)
{
    const synth_model *m = &l->m;
    const model_op *op = &m->ops.at[l->reader.op.at[node]];
    double values[LEARN_VALUES];
    const uint32_t n = learner_values(values, l, trace, node, of->rank);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t behind = i - op->n_fields;
        const bool size = is_named(m, op, i, STR("comm_size"));
        if (l->m.head.at[0].grain_ns != 1)
            learner_see_grain(l, op, i, values[i]);
        l->bytes += size && values[i] > 0 ? values[i] : 0;
        place.field = i;
        place.program = of->bare || size ? of->program : 0;
        if (i >= op->n_fields)
            place.field =
                op->type == HALLEY_NODE_COLL ? FIELD_GROUP_SIZE + behind : FIELD_PEER;
        if (!isnan(values[i]) && !sum_value(l, &place, values[i]))
            return false;
    }
    return true;
}

uint64_t learner_side_key(const model_side *s)
{
    return (uint64_t)s->skeleton << 32 | s->token;
}

/* Counts this set for the skeleton's side nodes of the token. */
static bool count_side(learner *l, uint32_t skeleton, uint32_t token)
{
    synth_model *const m = &l->m;
    const uint32_t set = m->head.at[0].n_sets;
    const bool pause = synth_side_waiter(m, token)->ctrl != 0;
    const model_side new = {pause ? MODEL_NONE : skeleton, token, 0, 0};
    uint32_t id = (uint32_t)m->sides.n;
    bool fresh;
    if (!map64_put(&l->side_of, learner_side_key(&new), &id, &fresh) ||
        (fresh && !array_push(&m->sides, new)))
        return false;
    model_side *const s = &m->sides.at[id];
    s->n_sets += s->last_set != set;
    s->last_set = set;
    return true;
}

static uint64_t make_spot_key(const law_place *at)
{
    return hash_u64(hash_u64(hash_u64(at->op) ^ at->before) ^ at->after);
}

/* Counts one more side node of a token at a place. */
static bool note_side(learner *l, const law_place *at, uint32_t token)
{
    uint32_t id = (uint32_t)l->spots.n;
    bool fresh;
    if (!map64_put(&l->spot_of, make_spot_key(at), &id, &fresh) ||
        (fresh && !array_push(&l->spots, (learn_spot){.at = *at, .first = MODEL_NONE})) ||
        !synth_u32s_resize(&l->token_stage, l->m.tokens.n))
        return false;
    l->token_stage.at[token] = l->n_stages;
    uint32_t i = l->spots.at[id].first;
    while (i != MODEL_NONE && l->sides.at[i].token != token)
        i = l->sides.at[i].next;
    if (i == MODEL_NONE) {
        i = (uint32_t)l->sides.n;
        if (!array_push(&l->sides, (learn_side){token, l->spots.at[id].first, 0, 0}))
            return false;
        l->spots.at[id].first = i;
    }
    learn_side *const b = &l->sides.at[i];
    b->n = b->stage == l->n_stages ? b->n + 1 : 1;
    b->stage = l->n_stages;
    return true;
}

/* Counts one more node of the program at a place with side nodes. */
static bool count_spot(learner *l, const law_place *at)
{
    const uint32_t id = map64_find(&l->spot_of, make_spot_key(at));
    if (id == HASH_NONE)
        return true;
    learn_spot *const s = &l->spots.at[id];
    s->n = s->stage == l->n_stages ? s->n + 1 : 1;
    s->stage = l->n_stages;
    return s->n > 1 || array_push(&l->live, id);
}

/* For each token of side nodes in the stage: adds the number of such nodes per node of
 * each place. */
static bool sum_rates(learner *l, const stage_of *of)
{
    for (size_t k = 0; k < l->live.n; k++) {
        const learn_spot *const s = &l->spots.at[l->live.at[k]];
        law_place at = s->at;
        at.family = of->family;
        at.program = of->program;
        for (uint32_t i = s->first; i != MODEL_NONE; i = l->sides.at[i].next) {
            const learn_side *const b = &l->sides.at[i];
            at.field = synth_side_field(&l->m, b->token);
            if (l->token_stage.at[b->token] == l->n_stages &&
                !sum_value(l, &at, b->stage == l->n_stages ? (double)b->n / s->n : 0))
                return false;
        }
    }
    return true;
}

/* Adds the side nodes of a program. */
static bool sum_sides(learner *l, const halley_trace *trace, const stage_of *of)
{
    const synth_program *const p = &l->program;
    const model_op *const ops = l->m.ops.at;
    l->n_stages++;
    l->live.n = 0;
    for (size_t i = 0; i < p->sides.n; i++) {
        const synth_side *const s = &p->sides.at[i];
        const law_place at = find_law_place(l, s->at, of);
        const law_place place = {
            .family = of->family,
            .op = ops[l->reader.op.at[s->node]].key,
            .before = at.op,
            .after = ops[l->reader.op.at[l->reader.waiter.at[s->node]]].key};
        if (!note_side(l, &at, s->token) || !count_side(l, of->skeleton, s->token) ||
            !sum_node_values(l, trace, s->node, of, place))
            return false;
    }
    for (uint32_t at = 0; at < p->ops.n; at++) {
        const law_place place = find_law_place(l, at, of);
        if (!count_spot(l, &place))
            return false;
    }
    return sum_rates(l, of);
}

static bool is_operations(const synth_model *m, const law_place *at)
{
    const uint32_t id = map64_find(&m->op_of, at->op);
    return id != HASH_NONE && is_named(m, &m->ops.at[id], at->field, STR("num_ops"));
}

/* Adds the numbers of a stage's nodes to their laws. */
static bool add_stage_values(learner *l, const halley_trace *trace, const law_point *p,
                             const stage_of *of)
{
    assert(p->n <= MODEL_FEATURES);
    map64_fini(&l->total_of);
    l->totals.n = l->values.n = 0;
    for (uint32_t at = 0; at < l->program.ops.n; at++) {
        if (!sum_node_values(l, trace, l->program.nodes.at[at], of,
                             find_law_place(l, at, of)))
            return false;
    }
    if (!sum_sides(l, trace, of))
        return false;
    for (size_t i = 0; i < l->totals.n; i++) {
        learn_total *t = &l->totals.at[i];
        t->mean = t->n > 0 ? t->sum / t->n : -INFINITY;
        t->widen = t->n > 1 ? sqrt(t->n / (t->n - 1)) : 1;
        const double variance =
            t->n > 1 ? fmax(0, t->square - t->n * t->mean * t->mean) / (t->n - 1) : 0;
        if (t->n > 0 && is_operations(&l->m, &t->at))
            l->operations += t->n * exp(t->mean + 0.5 * variance);
        for (uint32_t k = t->at.program == 0; k < LAW_LEVELS; k++) {
            t->law[k] = law_of(l, synth_law_key(&t->at, k));
            const bool first = t->law[k] != MODEL_NONE &&
                               l->m.laws.at[t->law[k]].last_set != l->m.head.at[0].n_sets;
            if (!observe_number(l, t->law[k], p, t->mean))
                return false;
            if (t->n > 0)
                law_sum_nodes(&l->m.sums.at[t->law[k]], t->n, variance, t->zeros);
            if (t->n > 0 && first)
                law_sum_ends(&l->m.sums.at[t->law[k]], t->mean, t->least, t->most);
        }
    }
    for (size_t i = 0; i < l->values.n; i++) {
        const learn_total *t = &l->totals.at[l->values.at[i].total];
        const uint32_t bucket = law_circle_at((double)l->values.at[i].log);
        for (uint32_t k = t->at.program == 0; k < LAW_LEVELS; k++) {
            model_sum *const sum = &l->m.sums.at[t->law[k]];
            sum->circle[bucket]++;
            if (t->n > 1)
                law_sum_deviation(sum,
                                  ((double)l->values.at[i].log - t->mean) * t->widen);
        }
    }
    return true;
}

uint64_t learner_symbols_key(const uint32_t *symbols, uint32_t n)
{
    return hash_bytes(symbols, n * sizeof *symbols, 5);
}

/* Finds or adds the loop with this body between these neighbours, in this program (0: in
 * any). MODEL_NONE: no memory. */
static uint32_t loop_of(synth_model *m, const uint32_t *symbols, uint32_t n,
                        uint32_t open, uint32_t close, uint64_t program)
{
    assert(open < close && close < n);
    uint64_t key = learner_symbols_key(symbols + open, close - open + 1);
    if (program != 0)
        key = hash_u64(key ^ program) + open;
    key = hash_u64(key ^ (open > 0 ? symbols[open - 1] : SYMBOL_END));
    key = hash_u64(key ^ (close + 1 < n ? symbols[close + 1] : SYMBOL_END) ^ 1);
    uint32_t id = (uint32_t)m->loops.n;
    bool fresh;
    if (!map64_put(&m->loop_of, key, &id, &fresh))
        return MODEL_NONE;
    if (fresh && (!array_reserve(&m->loop_sums, 1) ||
                  !array_push(&m->loops, (model_loop){.key = key})))
        return MODEL_NONE;
    if (fresh)
        memset(&m->loop_sums.at[m->loop_sums.n++], 0, sizeof *m->loop_sums.at);
    return id;
}

/* Adds the loops of a skeleton, in the order of their opening brackets. */
static bool add_loops(synth_model *m, const uint32_t *symbols, uint32_t n,
                      uint64_t program)
{
    assert(symbols != NULL || n == 0);
    synth_u32s open = {0}, which = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++) {
        if (symbols[i] == SYMBOL_OPEN) {
            ok = array_push(&open, i) && array_push(&which, (uint32_t)m->loop_ids.n) &&
                 array_push(&m->loop_ids, 0);
        } else if (symbols[i] == SYMBOL_CLOSE) {
            const uint32_t id = loop_of(m, symbols, n, open.at[--open.n], i, program);
            m->loop_ids.at[which.at[--which.n]] = id;
            ok = id != MODEL_NONE;
        }
    }
    array_fini(&open);
    array_fini(&which);
    return ok;
}

/* Finds or adds the skeleton of the folded program. MODEL_NONE: no memory. */
static uint32_t skeleton_of(learner *l, bool bare)
{
    assert(l->folded.symbols.n > 0);
    synth_model *m = &l->m;
    const synth_folded *f = &l->folded;
    const uint32_t n = (uint32_t)f->symbols.n;
    const uint64_t key = learner_symbols_key(f->symbols.at, n);
    uint32_t id = (uint32_t)m->skeletons.n;
    bool fresh;
    if (!map64_put(&m->skeleton_of, key, &id, &fresh))
        return MODEL_NONE;
    if (!fresh)
        return id;
    const model_skeleton s = {.key = key,
                              .first = (uint32_t)m->symbols.n,
                              .n = n,
                              .first_loop = (uint32_t)m->loop_ids.n,
                              .n_loops = (uint32_t)f->counts.n};
    if (!array_reserve(&m->symbols, n + 1) || !array_push(&m->skeletons, s) ||
        !add_loops(m, f->symbols.at, n, bare ? key : 0))
        return MODEL_NONE;
    memcpy(m->symbols.at + m->symbols.n, f->symbols.at, n * sizeof *f->symbols.at);
    m->symbols.n += n;
    return id;
}

/* Counts the skeleton of l->folded and its loops. MODEL_NONE: no memory. */
static uint32_t count_skeleton(learner *l, const learn_stage *at)
{
    assert(at->stage < at->n_stages);
    synth_model *const m = &l->m;
    const uint32_t set_id = m->head.at[0].n_sets, id = skeleton_of(l, at->bare);
    if (id == MODEL_NONE)
        return MODEL_NONE;
    model_skeleton *const s = &m->skeletons.at[id];
    s->n_sets += s->last_set != set_id;
    s->last_set = set_id;
    for (uint32_t i = 0; i < s->n_loops; i++) {
        const uint32_t loop = m->loop_ids.at[s->first_loop + i];
        m->loops.at[loop].n_sets += m->loops.at[loop].last_set != set_id;
        m->loops.at[loop].last_set = set_id;
        const uint32_t count = l->folded.counts.at[i];
        law_loop_add(&m->loop_sums.at[loop], at->point, count, at->stage, at->n_stages);
    }
    return id;
}

static void count_learned_op(synth_model *m, uint32_t id, uint32_t set)
{
    assert(id < m->ops.n && set > 0);
    model_op *op = &m->ops.at[id];
    op->n_sets += op->last_set != set;
    op->last_set = set;
}

static void count_token(synth_model *m, uint32_t token, uint32_t set)
{
    assert(token < m->tokens.n);
    model_token *t = &m->tokens.at[token];
    t->n_sets += t->last_set != set;
    t->last_set = set;
    count_learned_op(m, t->op, set);
}

static halley_status learn_one_stage(learner *l, const halley_trace_set *set,
                                     uint32_t stage, uint32_t block, const conditions *c,
                                     bool bare, halley_error *err)
{
    assert(block > 0 && l->keys.n % block == 0);
    assert((size_t)(stage + 1) * block <= l->keys.n);
    synth_model *m = &l->m;
    const uint32_t set_id = m->head.at[0].n_sets;
    const uint32_t n_stages = (uint32_t)l->keys.n / block;
    law_point p;
    TRY(learner_read(l, set, stage * block, err));
    TRY(synth_fold(&l->folded, m, l->program.tokens.at, (uint32_t)l->program.tokens.n, 0,
                   err));
    const learn_stage at = {stage, n_stages, bare, &p};
    conditions_point(&p, m, c, stage, n_stages);
    const uint32_t skeleton = count_skeleton(l, &at);
    if (skeleton == MODEL_NONE || !array_push(&l->parts, skeleton))
        return error_nomem(err);
    for (size_t i = 0; i < l->program.tokens.n; i++)
        count_token(m, l->program.tokens.at[i], set_id);
    for (size_t i = 0; i < l->program.sides.n; i++)
        count_token(m, l->program.sides.at[i].token, set_id);
    l->n_told += l->program.nodes.n;
    /* Programs of a single set would fill the memory with laws that are not kept. */
    const bool again = !bare || m->skeletons.at[skeleton].n_sets > 1;
    const stage_of of = {conditions_family(c), again ? m->skeletons.at[skeleton].key : 0,
                         stage * block, skeleton, bare};
    return add_stage_values(l, halley_trace_set_get(set, of.rank), &p, &of)
               ? HALLEY_OK
               : error_nomem(err);
}

uint64_t learner_template_key(const uint32_t *parts, uint32_t n)
{
    assert(parts != NULL && n > 0);
    uint64_t key = 3;
    for (uint32_t i = 0; i < n; i++)
        key = hash_u64(key ^ parts[i]) + 1;
    return key;
}

/* Finds or adds the template: the skeletons of the set's stages, without consecutive
 * repeats. */
static uint32_t find_set_template(learner *l)
{
    assert(l->parts.n > 0);
    synth_model *m = &l->m;
    uint32_t n = 0, longest = 0, length = 0, run = 0;
    for (size_t i = 0; i < l->parts.n; i++) {
        const uint32_t s = l->parts.at[i];
        run = n > 0 && l->parts.at[n - 1] == s ? run + 1 : 1;
        if (run == 1)
            l->parts.at[n++] = s;
        if (run > length) {
            length = run;
            longest = n - 1;
        }
    }
    const uint64_t key = learner_template_key(l->parts.at, n);
    uint32_t id = (uint32_t)m->templates.n;
    bool fresh;
    if (!map64_put(&m->template_of, key, &id, &fresh))
        return MODEL_NONE;
    if (!fresh) {
        if (length > m->templates.at[id].most) {
            m->templates.at[id].longest = longest;
            m->templates.at[id].most = length;
        }
        return id;
    }
    if (!array_reserve(&m->parts, n) || !array_reserve(&m->templates, 1))
        return MODEL_NONE;
    model_template *t = &m->templates.at[m->templates.n];
    memset(t, 0, sizeof *t);
    t->key = key;
    t->first = (uint32_t)m->parts.n;
    t->n = n;
    t->longest = longest;
    t->most = length;
    memcpy(m->parts.at + m->parts.n, l->parts.at, n * sizeof *l->parts.at);
    m->parts.n += n;
    m->templates.n++;
    assert(n > 0 && longest < n);
    return id;
}

/* The numbers of the whole set that have laws. */
static const uint32_t set_fields[] = {FIELD_STAGES, FIELD_RANKS,      FIELD_NODES,
                                      FIELD_TIME,   FIELD_OPERATIONS, FIELD_BYTES};
enum { SET_NUMBERS = sizeof set_fields / sizeof *set_fields };

static halley_status count_set(learner *l, const conditions *c, const uint32_t *values,
                               const double numbers[SET_NUMBERS], halley_error *err)
{
    assert(l->m.head.at[0].n_sets > 0);
    synth_model *m = &l->m;
    const uint32_t id = find_set_template(l);
    if (id == MODEL_NONE)
        return error_nomem(err);
    law_point p;
    conditions_set_point(&p, m, c);
    const uint64_t families[] = {conditions_family(c), 0};
    for (uint32_t k = families[0] == 0; k < 2; k++) {
        for (uint32_t f = 0; f < SET_NUMBERS; f++)
            if (!observe_number(l,
                                law_of(l, synth_set_law_key(families[k], set_fields[f])),
                                &p, log(numbers[f])))
                return error_nomem(err);
        if (!observe_number(l, law_of(l, synth_set_law_key(families[k], FIELD_TOGETHER)),
                            &p, 0))
            return error_nomem(err);
    }
    model_template *t = &m->templates.at[id];
    t->n_sets++;
    for (uint32_t i = 0; i < MODEL_CONDITIONS; i++) {
        if (values[i] == MODEL_NONE)
            continue;
        t->values[i][values[i]]++;
    }
    return joint_remember(m, c, values, id) ? HALLEY_OK : error_nomem(err);
}

halley_status learner_look(learner *l, const halley_trace_set *set, uint32_t number,
                           halley_error *err)
{
    assert(halley_trace_set_count(set) > 0 && number > 0);
    const uint32_t n = halley_trace_set_count(set);
    const uint32_t ranks[] = {0, n / 2, n - 1};
    for (uint32_t i = 0; i < 3; i++) {
        if (i > 0 && ranks[i] == ranks[i - 1])
            continue;
        TRY(learner_read(l, set, ranks[i], err));
        if (l->noise && i == 0 &&
            !noise_finder_look(l->noise, &l->reader, &l->program,
                               halley_trace_set_get(set, ranks[i])))
            return error_nomem(err);
        TRY(synth_fold(&l->folded, &l->m, l->program.tokens.at,
                       (uint32_t)l->program.tokens.n, number, err));
    }
    return HALLEY_OK;
}

halley_status learner_add(learner *l, const halley_trace_set *set, const conditions *c,
                          const char *groups_path, halley_error *err)
{
    assert(halley_trace_set_count(set) > 0);
    synth_model *m = &l->m;
    model_head *head = &m->head.at[0];
    conditions all = *c;
    uint32_t values[MODEL_CONDITIONS];
    uint64_t n_nodes = 0;
    const uint32_t n = halley_trace_set_count(set);
    head->n_sets++;
    head->n_traces += n;
    for (uint32_t r = 0; r < n; r++)
        n_nodes += halley_trace_count(halley_trace_set_get(set, r));
    head->n_nodes += n_nodes;
    uint32_t block;
    TRY(learner_block(&block, l, set, err));
    if (c->n == 0) {
        head->n_bare++;
        TRY(learner_derive(&all, l, set, block, err));
    }
    conditions_set(&all, "ranks", NULL, n);
    map64_fini(&l->group_of);
    l->groups.n = l->parts.n = 0;
    l->operations = l->bytes = 0;
    l->n_told = 0;
    TRY(groups_path ? declared_groups(l, groups_path, err) : used_groups(l, set, err));
    TRY(conditions_learn(values, m, &all, err));
    const uint32_t n_stages = n / block;
    for (uint32_t s = 0; s < n_stages; s++)
        TRY(learn_one_stage(l, set, s, block, &all, c->n == 0, err));
    const double numbers[] = {n_stages,
                              n,
                              (double)l->n_told * block / n,
                              learner_time_us(set, block),
                              l->operations * block / n,
                              n > 1 ? l->bytes * block / n : 0};
    return count_set(l, &all, values, numbers, err);
}
