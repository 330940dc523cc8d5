/*
 * Numbers of new nodes. Each number follows the law of its operator, family and
 * neighbours if enough sets had it, else a more general law. The unexplained deviation
 * between sets is drawn once per set, so that all sizes of a set deviate together. The
 * deviation between nodes is drawn for each node.
 */
#include "learn/sample/sample.h"

#include <assert.h>
#include <math.h>

/* Maximum number of side nodes of one token per node. */
#define MOST_BESIDE 16.0

/* A law evaluated for one stage of one set. */
typedef struct here {
    double mean;  /* of the logarithm */
    uint32_t law; /* MODEL_NONE: no law is known */
    bool zero;
} here;
/* Side nodes of one token in a stage. */
typedef struct drawn_side {
    uint32_t token, field;
    double due; /* expected number so far, minus the number drawn */
} drawn_side;
typedef struct valuer {
    sample_set *s;
    law_point point;
    uint64_t family, program;
    bool known; /* the family was learned, or sets have none */
    /* sets without conditions were learned: all numbers may be specific to a program */
    bool bare;
    double luck; /* the standard normal deviation of this set */
    map64 of;
    ARRAY(here) list;
    ARRAY(drawn_side) sides; /* of this stage */
    sample_nodes nodes;      /* nodes of this stage, including its side nodes */
} valuer;

/* The uncertainty of a law: its spread, increased if it has few sets or many features. */
static double measure_doubt(const model_law *law)
{
    assert(law->n_sets > 0);
    double used = 1;
    for (uint32_t i = 0; i < MODEL_FEATURES; i++)
        used += law->coefficient[i] != 0;
    const double n = law->n_sets;
    return (law->spread + 1e-3) * sqrt(n > used ? n / (n - used) : 4) + 0.15 * used / n;
}

/* The law with the least uncertainty; on near ties the most special. Numbers of side
 * nodes and durations of pauses are local: they always take the most special law.
 * Numbers of side nodes other than pauses never take the law of other places.
 * MODEL_NONE: no law. */
static uint32_t choose_law(const synth_model *m, const law_place *at)
{
    const uint32_t n_levels = at->field >= FIELD_BESIDE && at->field < FIELD_PAUSES
                                  ? LAW_LEVELS - 1
                                  : LAW_LEVELS;
    const uint32_t op = map64_find(&m->op_of, at->op);
    const bool own = at->field >= FIELD_BESIDE ||
                     (op != HASH_NONE && (m->ops.at[op].flags & MODEL_OP_PAUSE) != 0);
    uint32_t best = MODEL_NONE;
    double least = 0;
    for (uint32_t k = at->program == 0; k < n_levels; k++) {
        const uint32_t id = map64_find(&m->law_of, synth_law_key(at, k));
        if (id == HASH_NONE)
            continue;
        const double d = measure_doubt(&m->laws.at[id]) * (k == LAW_LEVELS - 1 ? 2 : 1);
        if (best == MODEL_NONE || (d < 0.8 * least && !own)) {
            best = id;
            least = d;
        }
    }
    return best;
}

static here look_up(valuer *v, const law_place *at)
{
    assert(at->op != 0);
    here h = {.law = choose_law(v->s->m, at), .zero = true};
    if (h.law == MODEL_NONE)
        return h;
    const model_law *law = &v->s->m->laws.at[h.law];
    h.zero = law->zero > 0 && rng_unit(&v->s->random) < law->zero;
    h.mean = law_log(law->coefficient, &v->point) + law->spread * v->luck;
    /* A law may extrapolate by an amount that shrinks with its spread. For a family that
     * was never seen, it is a guess, so the upper end is not exceeded. */
    const bool holds = v->s->extrapolate || law->spread == 0;
    const double beyond = holds ? 0.05 / (0.01 + law->spread) : 0;
    if (law->low < law->high)
        h.mean =
            fmin(fmax(h.mean, law->low - beyond), law->high + (v->known ? beyond : 0));
    return h;
}

/* Draws the deviation of one node from the histogram. */
static double draw_deviation(const model_law *law, rng *random)
{
    assert(random != NULL);
    double left = rng_unit(random);
    for (int i = 0; i < MODEL_BUCKETS; i++) {
        left -= law->hist[i];
        if (left < 0)
            return (i + rng_unit(random) - MODEL_BUCKETS / 2.0) * MODEL_WIDTH;
    }
    return 0;
}

/* The logarithm of one node's value. Without extrapolation it stays in the range seen. */
static double node_log(const model_law *law, double mean, sample_set *s)
{
    enum { TRIES = 8 }; /* clamping at once would draw the ends too often */
    double y = mean + draw_deviation(law, &s->random);
    if (s->extrapolate || !(law->least < law->most))
        return y;
    for (int i = 1; i < TRIES && (y < law->least || y > law->most); i++)
        y = mean + draw_deviation(law, &s->random);
    return fmin(fmax(y, law->least), law->most);
}

/* Rounds to an integer. A number that a law gives almost exactly probably has many
 * factors of two, so the nearest such number within the precision of logarithms is
 * taken. */
static double snap_to_whole(double x)
{
    assert(x >= 0);
    double step = 1;
    const double room = x * 1e-7;
    double best = round(x);
    while (step < x) {
        const double near = round(x / step) * step;
        if (fabs(near - x) > room + 0.5 && step > 1)
            break;
        if (fabs(near - x) <= room + 0.5)
            best = near;
        step *= 2;
    }
    return best;
}

/* Draws the number for a place. False: no memory. */
static bool value_at(double *out, valuer *v, const law_place *at)
{
    assert(out != NULL);
    uint32_t id = (uint32_t)v->list.n;
    bool fresh;
    if (!map64_put(&v->of, synth_law_key(at, 0), &id, &fresh) ||
        (fresh && !array_push(&v->list, look_up(v, at))))
        return false;
    const here *h = &v->list.at[id];
    *out = 0;
    if (h->law == MODEL_NONE || h->zero)
        return true;
    const model_law *law = &v->s->m->laws.at[h->law];
    if (law->none > 0 && rng_unit(&v->s->random) < law->none)
        return true;
    if (law->within > 1e-3F)
        *out = exp(fmin(node_log(law, h->mean, v->s), 43));
    else
        *out = law->spread > 0 ? exp(fmin(h->mean, 43))
                               : snap_to_whole(exp(fmin(h->mean, 43)));
    return true;
}

static bool place_sized_group(sample_set *s, sample_node *node, double size,
                              double stride)
{
    assert(size >= 0 && stride >= 0);
    const sample_kind kind = {.size = (uint32_t)lround(fmin(size, 1e6)),
                              .stride = (uint32_t)lround(fmin(stride, 1e6))};
    for (uint32_t i = 0; i < s->kinds.n; i++)
        if (s->kinds.at[i].size == kind.size && s->kinds.at[i].stride == kind.stride) {
            node->where = i;
            return true;
        }
    node->where = (uint32_t)s->kinds.n;
    return array_push(&s->kinds, kind);
}

static void place_distant_peer(const sample_set *s, sample_node *node, double distance)
{
    assert(distance >= 0);
    const uint32_t n = s->outline.n_ranks;
    const bool forward = (s->m->ops.at[node->op].flags & MODEL_OP_FORWARD) != 0;
    uint32_t d = distance > n ? n - 1 : (uint32_t)lround(distance);
    d = d == 0 ? 1 : d;
    node->where = forward ? d % n : (n - d % n) % n;
}

static bool place_group(valuer *v, sample_node *node, law_place *at)
{
    double size, stride;
    at->field = FIELD_GROUP_SIZE;
    if (!value_at(&size, v, at))
        return false;
    at->field = FIELD_GROUP_STRIDE;
    return value_at(&stride, v, at) && place_sized_group(v->s, node, size, stride);
}

static bool place_peer(valuer *v, sample_node *node, law_place *at)
{
    double distance;
    at->field = FIELD_PEER;
    if (!value_at(&distance, v, at))
        return false;
    place_distant_peer(v->s, node, distance);
    return true;
}

/* Rounds a time to the resolution of the recordings. */
static double find_grain(const sample_set *s, double ns)
{
    const double grain = s->m->head.at[0].grain_ns;
    return grain < 2 || !(ns > 0) ? ns : fmax(1, round(ns / grain)) * grain;
}

/* Draws the fields of a node. */
static bool draw_fields(valuer *v, double *values, const model_op *op, law_place at)
{
    assert(op->n_fields <= SYNTH_FIELDS);
    const uint32_t bytes = synth_field_of(v->s->m, op, STR("comm_size"));
    for (at.field = 0; at.field < op->n_fields; at.field++) {
        at.program = v->bare || at.field == bytes ? v->program : 0;
        if (!value_at(&values[at.field], v, &at))
            return false;
    }
    return true;
}

/* Rounds the durations of a node to the resolution of the recordings. */
static void round_times(const valuer *v, double *values, const model_op *op)
{
    for (uint32_t f = 1; f < op->n_fields; f++)
        if (values[f] > 0 && synth_is_duration(v->s->m, op->key, f))
            values[f] = find_grain(v->s, values[f]);
}

/* Draws the numbers of a node at a place, and its group or peer. */
static bool draw_values(valuer *v, sample_stage *stage, sample_node *node, law_place at)
{
    const model_op *op = &v->s->m->ops.at[node->op];
    node->first_value = (uint32_t)stage->values.n;
    if (!array_reserve(&stage->values, op->n_fields))
        return false;
    double *values = stage->values.at + stage->values.n;
    stage->values.n += op->n_fields;
    if (!draw_fields(v, values, op, at))
        return false;
    round_times(v, values, op);
    at.program = v->bare ? v->program : 0;
    if (op->type == HALLEY_NODE_COLL && (op->flags & MODEL_OP_GROUP) != 0)
        return place_group(v, node, &at);
    if (op->type == HALLEY_NODE_SEND || op->type == HALLEY_NODE_RECV)
        return place_peer(v, node, &at);
    return true;
}

/* Chooses the tokens of the stage's side nodes. */
static bool choose_sides(valuer *v, uint32_t skeleton)
{
    const synth_model *const m = v->s->m;
    v->sides.n = 0;
    for (size_t i = 0; i < m->sides.n; i++) {
        const model_side *const s = &m->sides.at[i];
        if ((s->skeleton != skeleton && s->skeleton != MODEL_NONE) ||
            rng_unit(&v->s->random) * synth_side_sets(m, s) >= s->n_sets)
            continue;
        if (!array_push(&v->sides, (drawn_side){s->token, synth_side_field(m, s->token),
                                                rng_unit(&v->s->random)}))
            return false;
    }
    return true;
}

/* Draws the side nodes of one node, spread evenly over all nodes that may have some. */
static bool draw_sides(valuer *v, sample_stage *stage, law_place at)
{
    const synth_model *const m = v->s->m;
    for (size_t k = 0; k < v->sides.n; k++) {
        drawn_side *const side = &v->sides.at[k];
        const model_token *const t = &m->tokens.at[side->token];
        const model_ref *const next = synth_side_waiter(m, side->token);
        const law_place place = {.family = v->family,
                                 .op = m->ops.at[t->op].key,
                                 .before = at.op,
                                 .after = m->ops.at[next->op].key};
        double rate;
        at.field = side->field;
        at.program = v->program;
        if (next->ctrl && place.after != at.after) /* a pause before a different node */
            continue;
        if (!value_at(&rate, v, &at))
            return false;
        side->due += fmin(rate, MOST_BESIDE);
        for (; side->due >= 1; side->due--) {
            sample_node node = {.token = side->token, .op = t->op, .where = MODEL_NONE};
            if (!draw_values(v, stage, &node, place) || !array_push(&v->nodes, node))
                return false;
        }
    }
    return true;
}

/* Draws the node at i of the program, and its side nodes. */
static bool draw_node(valuer *v, sample_stage *stage, size_t i)
{
    assert(i < stage->nodes.n);
    const synth_model *m = v->s->m;
    sample_node *node = &stage->nodes.at[i];
    law_place at = {.family = v->family, .op = m->ops.at[node->op].key};
    at.before = i > 0 ? m->ops.at[stage->nodes.at[i - 1].op].key : 0;
    at.after = i + 1 < stage->nodes.n ? m->ops.at[stage->nodes.at[i + 1].op].key : 0;
    if (!draw_values(v, stage, node, at))
        return false;
    return array_push(&v->nodes, *node) && draw_sides(v, stage, at);
}

/* Draws the numbers of a stage. */
static bool draw_stage(valuer *v, uint32_t k)
{
    sample_stage *const stage = &v->s->stages.at[k];
    const sample_outline *const o = &v->s->outline;
    const uint32_t skeleton = sample_part(v->s->m, o->template, k, o->n_stages);
    map64_fini(&v->of);
    v->list.n = v->nodes.n = 0;
    v->program = v->s->m->skeletons.at[skeleton].key;
    conditions_point(&v->point, v->s->m, &o->conditions, k, o->n_stages);
    if (!choose_sides(v, skeleton))
        return false;
    for (size_t i = 0; i < stage->nodes.n; i++)
        if (!draw_node(v, stage, i))
            return false;
    array_fini(&stage->nodes);
    stage->nodes = v->nodes;
    v->nodes = (sample_nodes){0};
    return true;
}

static bool is_known_family(const synth_model *m, uint64_t family)
{
    const uint32_t id = conditions_index(m, "family");
    const model_condition *c = id == MODEL_NONE ? NULL : &m->conditions.at[id];
    if (!c || !c->is_text)
        return true;
    for (uint32_t i = 0; i < c->n_values; i++) {
        const str text = synth_text(m, c->values[i].text);
        if (hash_bytes(text.at, text.n, 0) == family)
            return true;
    }
    return false;
}

halley_status sample_values(sample_set *s, halley_error *err)
{
    valuer v = {.s = s,
                .bare = s->m->head.at[0].n_bare > 0,
                .family = conditions_family(&s->outline.conditions),
                .luck = rng_normal(&s->random)};
    v.known = is_known_family(s->m, v.family);
    bool ok = true;
    for (uint32_t k = 0; ok && k < s->stages.n; k++)
        ok = draw_stage(&v, k);
    map64_fini(&v.of);
    array_fini(&v.list);
    array_fini(&v.sides);
    array_fini(&v.nodes);
    return ok ? HALLEY_OK : error_nomem(err);
}
