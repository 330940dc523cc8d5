/*
 * Pruning: what a model may keep. Everything that at least k sets have is copied, with
 * everything it refers to. The rest never reaches the model. A value of a condition that
 * too few sets have is merged with its neighbours until SURE x k sets support it. It is
 * then stored as their mean, to three digits. What a template may say about conditions
 * is decided in model_values.c.
 *
 * That k sets share something does not hide who they are. A law fitted to few sets fits
 * those better than others, and its range ends where theirs does. Whoever holds the
 * model can exploit that (likelihood.c). Two rules limit it:
 *
 *   1. Laws that are not exact need SURE x k sets. Exact laws need k sets plus two for
 *      every condition in them. The requirement is never more than one in SURE of all
 *      sets. With fewer sets, a law describes those few sets and not a general rule.
 *   2. Ranges of laws are widened by WIDER times what one more set would widen them on
 *      average.
 *
 * This lowers the measured leakage (doc/reference/synthesis-tables.md). It is no proof
 * of privacy. Noise of two and four times the standard errors was also tried, on
 * coefficients, spreads and counts. It was removed: attacks on the numbers succeeded as
 * often, and sets of few conditions became worse.
 */
#include "learn/model/model_prune.h"

#include "learn/model/joint.h"
#include "learn/model/model_numbers.h"
#include "learn/model/model_values.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { SURE = 4, WIDER = 3 };

typedef struct pruner {
    const synth_model *from;
    synth_model *to;
    uint32_t k;
    /* maps from old to new index, or MODEL_NONE */
    uint32_t *token, *op, *text, *skeleton, *template, *loop;
    uint32_t value[MODEL_CONDITIONS][MODEL_VALUES];
    uint32_t condition[MODEL_CONDITIONS];
} pruner;

static uint32_t *all_none(size_t n)
{
    uint32_t *map = mem_array(n, sizeof *map);
    for (size_t i = 0; map && i < n; i++)
        map[i] = MODEL_NONE;
    return map;
}

static bool keep_known_text(pruner *p, uint32_t *text)
{
    if (*text == MODEL_NONE)
        return true;
    if (p->text[*text] == MODEL_NONE)
        p->text[*text] = synth_text_add(p->to, synth_text(p->from, *text));
    *text = p->text[*text];
    return *text != MODEL_NONE;
}

static bool keep_op(pruner *p, uint32_t *op)
{
    assert(*op < p->from->ops.n);
    if (p->op[*op] == MODEL_NONE) {
        synth_model *to = p->to;
        model_op o = p->from->ops.at[*op];
        const model_field *fields = p->from->fields.at + o.first_field;
        o.first_field = (uint32_t)to->fields.n;
        o.last_set = 0;
        if (!keep_known_text(p, &o.name))
            return false;
        for (uint32_t i = 0; i < o.n_fields; i++) {
            model_field f = fields[i];
            if (!keep_known_text(p, &f.name) || !array_push(&to->fields, f))
                return false;
        }
        p->op[*op] = (uint32_t)to->ops.n;
        if (!array_push(&to->ops, o))
            return false;
    }
    *op = p->op[*op];
    return true;
}

static bool keep_refs(pruner *p, uint32_t *first, uint32_t n)
{
    assert(*first + n <= p->from->refs.n);
    const uint32_t from = *first;
    *first = (uint32_t)p->to->refs.n;
    for (uint32_t i = 0; i < n; i++) {
        model_ref r = p->from->refs.at[from + i];
        if ((r.op != MODEL_NONE && !keep_op(p, &r.op)) || !array_push(&p->to->refs, r))
            return false;
    }
    return true;
}

static bool keep_token(pruner *p, uint32_t *token)
{
    assert(*token >= SYMBOL_END || *token < p->from->tokens.n);
    if (*token >= SYMBOL_END)
        return true;
    if (p->token[*token] == MODEL_NONE) {
        synth_model *to = p->to;
        model_token t = p->from->tokens.at[*token];
        t.last_set = 0;
        if (!keep_op(p, &t.op) || !keep_refs(p, &t.first_ref, t.n_refs))
            return false;
        p->token[*token] = (uint32_t)to->tokens.n;
        if (!array_push(&to->tokens, t))
            return false;
    }
    *token = p->token[*token];
    return true;
}

static bool keep_loop(pruner *p, uint32_t *loop)
{
    assert(*loop < p->from->loops.n);
    if (p->loop[*loop] == MODEL_NONE) {
        model_loop new = {.key = *loop, .n_sets = p->from->loops.at[*loop].n_sets};
        law_loop_fit(&new, &p->from->loop_sums.at[*loop]);
        p->loop[*loop] = (uint32_t)p->to->loops.n;
        if (!array_push(&p->to->loops, new))
            return false;
    }
    *loop = p->loop[*loop];
    return true;
}

static bool keep_skeleton(pruner *p, uint32_t *skeleton)
{
    assert(*skeleton < p->from->skeletons.n);
    if (p->skeleton[*skeleton] == MODEL_NONE) {
        synth_model *to = p->to;
        model_skeleton s = p->from->skeletons.at[*skeleton];
        const uint32_t first = s.first, first_loop = s.first_loop;
        s.first = (uint32_t)to->symbols.n;
        s.first_loop = (uint32_t)to->loop_ids.n;
        s.last_set = 0;
        for (uint32_t i = 0; i < s.n; i++) {
            uint32_t symbol = p->from->symbols.at[first + i];
            if (!keep_token(p, &symbol) || !array_push(&to->symbols, symbol))
                return false;
        }
        for (uint32_t i = 0; i < s.n_loops; i++) {
            uint32_t loop = p->from->loop_ids.at[first_loop + i];
            if (!keep_loop(p, &loop) || !array_push(&to->loop_ids, loop))
                return false;
        }
        p->skeleton[*skeleton] = (uint32_t)to->skeletons.n;
        if (!array_push(&to->skeletons, s))
            return false;
    }
    *skeleton = p->skeleton[*skeleton];
    return true;
}

/* Keeps laws for which at least k sets have a number that is not 0, or for which all are
 * 0. */
static bool keep_laws(pruner *p)
{
    for (size_t i = 0; i < p->from->laws.n; i++) {
        const model_sum *const sum = &p->from->sums.at[i];
        model_law law = p->from->laws.at[i];
        if (law.n_sets < p->k || (sum->n > 0 && sum->n < p->k))
            continue;
        law_fit(&law, sum);
        law_fit_ends(&law, sum, p->k);
        law.last_set = 0;
        if (!array_push(&p->to->laws, law))
            return false;
    }
    return true;
}

/* Converts the numbers of sets by value of a condition to the values of the new model. */
static void keep_values(const pruner *p, uint32_t to[][MODEL_VALUES],
                        const uint32_t (*from)[MODEL_VALUES], uint32_t n_sets)
{
    assert(n_sets >= p->k);
    memset(to, 0, MODEL_CONDITIONS * sizeof *to);
    for (uint32_t c = 0; c < MODEL_CONDITIONS; c++)
        for (uint32_t v = 0; v < MODEL_VALUES; v++)
            if (p->condition[c] != MODEL_NONE && p->value[c][v] != MODEL_NONE)
                to[p->condition[c]][p->value[c][v]] += from[c][v];
    for (uint32_t c = 0; c < p->to->conditions.n; c++) {
        uint32_t n = 0;
        for (uint32_t v = 0; v < MODEL_ABSENT; v++)
            n += to[c][v];
        to[c][MODEL_ABSENT] = n_sets > n ? n_sets - n : 0;
        model_values_keep(to[c], &p->to->conditions.at[c], p->from->head.at[0].n_sets,
                          p->k);
    }
}

static bool keep_templates(pruner *p)
{
    synth_model *to = p->to;
    for (size_t i = 0; i < p->from->templates.n; i++) {
        const model_template *old = &p->from->templates.at[i];
        if (old->n_sets < p->k)
            continue;
        const uint32_t first = (uint32_t)to->parts.n;
        for (uint32_t k = 0; k < old->n; k++) {
            uint32_t s = p->from->parts.at[old->first + k];
            if (!keep_skeleton(p, &s) || !array_push(&to->parts, s))
                return false;
        }
        if (!array_reserve(&to->templates, 1))
            return false;
        p->template[i] = (uint32_t)to->templates.n;
        model_template *t = &to->templates.at[to->templates.n++];
        *t = *old;
        t->key = 0;
        t->first = first;
        keep_values(p, t->values, old->values, old->n_sets);
    }
    return true;
}

/* Keeps the tokens of side nodes. */
static bool keep_sides(pruner *p)
{
    for (size_t i = 0; i < p->from->sides.n; i++) {
        model_side s = p->from->sides.at[i];
        const bool all = s.skeleton == MODEL_NONE;
        s.last_set = 0;
        if (!all)
            s.skeleton = p->skeleton[s.skeleton];
        if (s.n_sets < p->k || (!all && s.skeleton == MODEL_NONE))
            continue;
        if (!keep_token(p, &s.token) || !array_push(&p->to->sides, s))
            return false;
    }
    return true;
}

/* Fits the law of each condition given the earlier ones, in one family (0: in all). */
static bool keep_together(pruner *p, uint64_t family)
{
    assert(p->to->conditions.n <= MODEL_CONDITIONS);
    const synth_model *from = p->from;
    const uint32_t id =
        map64_find(&from->law_of, synth_set_law_key(family, FIELD_TOGETHER));
    if (id == HASH_NONE || from->laws.at[id].n_sets < p->k)
        return true;
    uint64_t before = 1 << FEATURE_ONE;
    for (uint32_t c = 0; c < p->to->conditions.n; c++) {
        const model_condition *of = &p->to->conditions.at[c];
        for (uint32_t v = 0; of->is_text && v < of->n_values; v++)
            if (of->values[v].feature != MODEL_NONE)
                before |= UINT64_C(1) << of->values[v].feature;
        /* The number of ranks is not in these sums: it has a law of its own. */
        if (of->is_text || of->feature == MODEL_NONE ||
            from->sums.at[id].xx[model_pair_index(of->feature, of->feature)] <= 0)
            continue;
        model_law law = {.key = synth_set_law_key(family, FIELD_CONDITION + c),
                         .n_sets = from->laws.at[id].n_sets};
        law_fit_feature(&law, &from->sums.at[id], of->feature, before);
        before |= UINT64_C(1) << of->feature;
        if (!array_push(&p->to->laws, law))
            return false;
    }
    return true;
}

static bool keep_all_together(pruner *p)
{
    for (uint32_t c = 0; c < p->to->conditions.n; c++) {
        const model_condition *of = &p->to->conditions.at[c];
        if (!of->is_text || !str_eq(synth_text(p->to, of->name), STR("family")))
            continue;
        for (uint32_t v = 0; v < of->n_values; v++) {
            const str name = synth_text(p->to, of->values[v].text);
            if (!keep_together(p, hash_bytes(name.at, name.n, 0)))
                return false;
        }
    }
    return keep_together(p, 0);
}

/* The number of sets that a mean of several numbers needs: as for laws. */
static uint32_t enough_for_mean(const pruner *p)
{
    const uint32_t part = p->from->head.at[0].n_sets / SURE;
    const uint32_t most = part > p->k ? part : p->k;
    return p->k < 2 ? 1 : SURE * p->k < most ? SURE * p->k : most;
}

/* Stores the numbers of a condition, and maps each old value to its new one. */
static bool keep_numbers(const pruner *p, model_condition *c, uint32_t id, uint32_t *map)
{
    assert(id < p->from->conditions.n);
    const model_condition *const old = &p->from->conditions.at[id];
    const model_numbers_opts opts = {p->k, enough_for_mean(p)};
    if (!model_numbers_keep(c, p->from, id, &opts))
        return false;
    for (uint32_t i = 0; i < old->n_values; i++) {
        const condition at = {.number = old->values[i].number};
        map[i] = conditions_value(p->to, c, &at);
    }
    return true;
}

static bool keep_texts(pruner *p, model_condition *c, const model_condition *old,
                       uint32_t *map)
{
    assert(old->is_text != 0);
    c->n_values = 0;
    for (uint32_t i = 0; i < old->n_values; i++) {
        model_value v = old->values[i];
        if (v.n_sets < p->k)
            continue;
        if (!keep_known_text(p, &v.text))
            return false;
        v.spread = 0;
        map[i] = c->n_values;
        c->values[c->n_values++] = v;
    }
    return true;
}

/* The ends of the range seen: exact where at least k sets have them, else rounded to a
 * power of two. */
static double find_lowest(const model_condition *c, double low, uint32_t k)
{
    if (c->is_text)
        return 0;
    const model_value *v = &c->values[0];
    return v->n_exact >= k ? v->number : low > 0 ? exp2(floor(log2(low))) : 0;
}

static double find_highest(const model_condition *c, double high, uint32_t k)
{
    if (c->is_text)
        return 0;
    const model_value *v = &c->values[c->n_values - 1];
    return v->n_exact >= k ? v->number : high > 0 ? exp2(ceil(log2(high))) : 0;
}

static bool keep_conditions(pruner *p)
{
    for (uint32_t i = 0; i < p->from->conditions.n; i++) {
        const model_condition *old = &p->from->conditions.at[i];
        model_condition c = *old;
        memset(c.values, 0, sizeof c.values);
        if (old->n_sets < p->k)
            continue;
        if (!keep_known_text(p, &c.name))
            return false;
        if (c.is_text ? !keep_texts(p, &c, old, p->value[i])
                      : !keep_numbers(p, &c, i, p->value[i]))
            return false;
        if (c.n_values == 0)
            continue;
        c.low = find_lowest(&c, old->low, p->k);
        c.high = find_highest(&c, old->high, p->k);
        p->condition[i] = (uint32_t)p->to->conditions.n;
        if (!array_push(&p->to->conditions, c))
            return false;
    }
    return true;
}

/* A portrait in terms of the values of the new model. */
static joint_row make_row(const pruner *p, const model_portrait *from)
{
    assert(from->template <p->from->templates.n);
    joint_row row;
    for (uint32_t i = 0; i < JOINT_COLUMNS; i++)
        row.value[i] = MODEL_ABSENT;
    const uint32_t template = p->template[from->template];
    row.value[JOINT_TEMPLATE] =
        template == MODEL_NONE ? (uint32_t)p->to->templates.n : template;
    for (uint32_t i = 0; i < p->from->conditions.n; i++) {
        const uint32_t to = p->condition[i];
        if (to == MODEL_NONE || isnan(from->number[i]))
            continue;
        const model_condition *of = &p->to->conditions.at[to];
        const condition c = {.number = from->number[i]};
        const uint32_t value = of->is_text ? p->value[i][(uint32_t)from->number[i]]
                                           : conditions_value(p->to, of, &c);
        row.value[to] = value == MODEL_NONE ? MODEL_ABSENT : value;
    }
    return row;
}

static bool keep_joint(pruner *p)
{
    const uint32_t n = (uint32_t)p->from->portraits.n;
    joint_row *rows = mem_array(n, sizeof *rows);
    for (uint32_t i = 0; rows && i < n; i++)
        rows[i] = make_row(p, &p->from->portraits.at[i]);
    const bool ok =
        rows && joint_grow(p->to, rows, n, p->k, p->from->head.at[0].n_bare > 0);
    free(rows);
    return ok;
}

static bool keep_all(pruner *p)
{
    memset(p->value, 0xff, sizeof p->value);
    memset(p->condition, 0xff, sizeof p->condition);
    if (!p->token || !p->op || !p->text || !p->skeleton || !p->template || !p->loop ||
        !keep_laws(p) || !keep_conditions(p) || !keep_templates(p) || !keep_sides(p) ||
        !keep_all_together(p))
        return false;
    return keep_joint(p);
}

static uint32_t conditions_in(const model_law *law)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < MODEL_FEATURES; i++)
        n += i != FEATURE_ONE && law->coefficient[i] != 0;
    return n;
}

/* True if enough sets support the law. `most` limits the requirement, so that a small
 * corpus still gives laws. */
static bool is_sure(const model_law *law, uint32_t k, uint32_t most)
{
    assert(k > 0);
    const bool exact = law->spread == 0 && law->within <= 1e-3F;
    const uint32_t wanted = exact ? k + 2 * conditions_in(law) : SURE * k;
    return law->n_sets >= (wanted < most ? wanted : most);
}

void model_drop_unsure(synth_model *m, const synth_model *from)
{
    const uint32_t k = m->head.at[0].min_support;
    if (k < 2) /* everything may be stored */
        return;
    const uint32_t part = m->head.at[0].n_sets / SURE, most = part > k ? part : k;
    size_t n = 0;
    for (size_t i = 0; i < m->laws.n; i++) {
        model_law law = m->laws.at[i];
        /* Laws that only the new model has were derived from many sets. */
        if (map64_find(&from->law_of, law.key) != HASH_NONE) {
            const float range = law.high - law.low;
            const float wider = isfinite(range) ? WIDER * range / (float)law.n_sets : 0;
            if (!is_sure(&law, k, most))
                continue;
            law.low -= wider;
            law.high += wider;
        }
        m->laws.at[n++] = law;
    }
    m->laws.n = n;
}

/* Reports why no sets can be made from the model. */
static halley_status refuse_model(const synth_model *from, uint32_t k, halley_error *err)
{
    uint32_t shared = 0;
    for (size_t i = 0; i < from->ops.n; i++)
        shared += from->ops.at[i].n_sets >= k;
    if (shared == 0)
        return error_set(err, HALLEY_EINVAL,
                         "nothing occurs in %u of the %u sets of traces: give more, or a "
                         "smaller --min-support",
                         k, from->head.at[0].n_sets);
    return error_set(
        err, HALLEY_EINVAL,
        "no program occurs in %u of the %u sets of traces, though %u of their "
        "operators do: give more sets or a smaller --min-support",
        k, from->head.at[0].n_sets, shared);
}

halley_status model_prune(synth_model *out, const synth_model *from, uint32_t k,
                          halley_error *err)
{
    assert(k > 0);
    synth_model to;
    TRY(synth_model_init(&to, err));
    to.head.at[0] = from->head.at[0];
    pruner p = {.from = from,
                .to = &to,
                .k = k,
                .token = all_none(from->tokens.n),
                .op = all_none(from->ops.n),
                .text = all_none(from->texts.n),
                .skeleton = all_none(from->skeletons.n),
                .template = all_none(from->templates.n),
                .loop = all_none(from->loops.n)};
    const bool ok = keep_all(&p);
    free(p.token);
    free(p.op);
    free(p.text);
    free(p.skeleton);
    free(p.template);
    free(p.loop);
    to.head.at[0].min_support = k;
    to.head.at[0].n_templates = (uint32_t)from->templates.n;
    halley_status status = ok ? HALLEY_OK : error_nomem(err);
    if (ok && to.templates.n == 0)
        status = refuse_model(from, k, err);
    if (status != HALLEY_OK) {
        synth_model_fini(&to);
        return status;
    }
    model_drop_unsure(&to, from);
    *out = to;
    return HALLEY_OK;
}
