/*
 * Numbers of new nodes. Each follows the law of its operator between these neighbours in
 * this family if enough sets had it, else a more general one. What the law leaves
 * unexplained between sets is drawn once for a set, so that its sizes go up and down
 * together; what differs between nodes of a set is drawn for each node.
 */
#include "synth/sample.h"

#include <math.h>

/* A law as it stands for one stage of one set. */
typedef struct here {
    double mean;  /* of the logarithm */
    uint32_t law; /* MODEL_NONE: nothing is known */
    bool zero;
} here;
typedef struct valuer {
    sample_set *s;
    law_point point;
    uint64_t family;
    double luck; /* of this set: deviation of all that is unexplained */
    map64 of;
    ARRAY(here) list;
} valuer;

enum { ENOUGH = 40 }; /* sets for a law that is not to be questioned */

/* The most special law with enough sets, else the one with most; MODEL_NONE: none. */
static uint32_t choose_law(const synth_model *m, const law_place *at)
{
    uint32_t best = MODEL_NONE;
    for (uint32_t k = 0; k < LAW_LEVELS; k++) {
        const uint32_t id = map64_find(&m->law_of, synth_law_key(at, k));
        if (id == HASH_NONE)
            continue;
        if (m->laws.at[id].n_sets >= ENOUGH && m->laws.at[id].spread < 0.02F)
            return id;
        if (best == MODEL_NONE || 0.5 * m->laws.at[id].spread > m->laws.at[best].spread)
            best = best == MODEL_NONE ? id : best;
        else if (m->laws.at[id].n_sets > 2 * m->laws.at[best].n_sets)
            best = id;
    }
    return best;
}

static here look_up(valuer *v, const law_place *at)
{
    here h = {.law = choose_law(v->s->m, at), .zero = true};
    if (h.law == MODEL_NONE)
        return h;
    const model_law *law = &v->s->m->laws.at[h.law];
    h.zero = law->zero > 0 && rng_unit(&v->s->random) < law->zero;
    h.mean = law_log(law->coefficient, &v->point) + law->spread * v->luck;
    if (!v->s->extrapolate && isfinite(law->low) && isfinite(law->high))
        h.mean = fmin(fmax(h.mean, law->low), law->high);
    return h;
}

/* The deviation of one node. */
static double deviation(const model_law *law, rng *random)
{
    double left = rng_unit(random);
    for (int i = 0; i < MODEL_BUCKETS; i++) {
        left -= law->hist[i];
        if (left < 0)
            return (i + rng_unit(random) - MODEL_BUCKETS / 2.0) * MODEL_WIDTH;
    }
    return 0;
}

/* A whole number that a law gives almost exactly was most likely a product of twos: the
 * nearest one that is, within what logarithms can tell. */
static double snap(double x)
{
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

/* The number a place asks for; false: no memory. */
static bool value_at(double *out, valuer *v, const law_place *at)
{
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
    if (law->within > 1e-3F)
        *out = exp(fmin(h->mean + deviation(law, &v->s->random), 43));
    else
        *out = law->spread > 0 ? exp(fmin(h->mean, 43)) : snap(exp(fmin(h->mean, 43)));
    return true;
}

/* Groups of a collective as one of the set's kinds; MODEL_NONE = all ranks. */
static bool place_group(valuer *v, sample_node *node, law_place *at)
{
    sample_set *s = v->s;
    double size, stride;
    at->field = FIELD_GROUP_SIZE;
    if (!value_at(&size, v, at))
        return false;
    at->field = FIELD_GROUP_STRIDE;
    if (!value_at(&stride, v, at))
        return false;
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

static bool place_peer(valuer *v, sample_node *node, const model_op *op, law_place *at)
{
    double distance;
    at->field = FIELD_PEER;
    if (!value_at(&distance, v, at))
        return false;
    const uint32_t n = v->s->outline.n_ranks;
    uint32_t d = distance > n ? n - 1 : (uint32_t)lround(distance);
    d = d == 0 ? 1 : d;
    node->where = (op->flags & MODEL_OP_FORWARD) != 0 ? d % n : (n - d % n) % n;
    return true;
}

static bool add_values(valuer *v, sample_stage *stage, size_t i)
{
    const synth_model *m = v->s->m;
    sample_node *node = &stage->nodes.at[i];
    const model_op *op = &m->ops.at[node->op];
    law_place at = {.family = v->family, .op = op->key};
    at.before = i > 0 ? m->ops.at[stage->nodes.at[i - 1].op].key : 0;
    at.after = i + 1 < stage->nodes.n ? m->ops.at[stage->nodes.at[i + 1].op].key : 0;
    node->first_value = (uint32_t)stage->values.n;
    for (uint32_t f = 0; f < op->n_fields; f++) {
        double value;
        at.field = f;
        if (!value_at(&value, v, &at) || !array_push(&stage->values, value))
            return false;
    }
    if (op->type == HALLEY_NODE_COLL && (op->flags & MODEL_OP_GROUP) != 0)
        return place_group(v, node, &at);
    if (op->type == HALLEY_NODE_SEND || op->type == HALLEY_NODE_RECV)
        return place_peer(v, node, op, &at);
    return true;
}

halley_status sample_values(sample_set *s, halley_error *err)
{
    valuer v = {.s = s,
                .family = conditions_family(&s->outline.conditions),
                .luck = rng_normal(&s->random)};
    bool ok = true;
    for (uint32_t k = 0; ok && k < s->stages.n; k++) {
        sample_stage *stage = &s->stages.at[k];
        map64_fini(&v.of);
        v.list.n = 0;
        conditions_point(&v.point, s->m, &s->outline.conditions, k, s->outline.n_stages);
        for (size_t i = 0; ok && i < stage->nodes.n; i++)
            ok = add_values(&v, stage, i);
    }
    map64_fini(&v.of);
    array_fini(&v.list);
    return ok ? HALLEY_OK : error_nomem(err);
}
