/*
 * Groups a model's tokens by operator, and converts their references to edges. A
 * reference to the node before is an edge to the last node of the last operator.
 * References that count more than a few nodes back are rare. The network does not see
 * them as edges, but they stay references of the token.
 */
#include "learn/neural/neural_model.h"

#include "learn/model/conditions.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { FAMILIES = NEURAL_FEATURES - MODEL_FEATURES, MAX_OPS = 100000 };

static bool to_edge(neural_ref *to, const model_ref *from)
{
    assert(from->kind < REF_N_KINDS);
    const uint32_t ctrl = from->ctrl ? NEURAL_REF_CTRL : 0;
    const uint32_t last = NEURAL_REF_STACK - 1 - NEURAL_REF_RECENT;
    switch (from->kind) {
    case REF_BACK:
        *to = (neural_ref){NEURAL_LATEST, NEURAL_REF_RECENT + ctrl};
        return from->n == 1;
    case REF_RECENT:
        *to = (neural_ref){from->op,
                           NEURAL_REF_RECENT + ctrl + (from->n < last ? from->n : last)};
        return true;
    case REF_STACK:
        *to = (neural_ref){from->op, NEURAL_REF_STACK + ctrl};
        return true;
    case REF_QUEUE:
        *to = (neural_ref){from->op, NEURAL_REF_QUEUE + ctrl};
        return true;
    default:
        *to = (neural_ref){from->op, NEURAL_REF_ALL + ctrl};
        return true;
    }
}

/* The number of attributes of an operator: its fields, then those of its group or
 * peer. */
static uint32_t attrs_of(const model_op *op)
{
    uint32_t n = op->n_fields;
    if (op->type == HALLEY_NODE_COLL && (op->flags & MODEL_OP_GROUP) != 0)
        n += 2;
    if (op->type == HALLEY_NODE_SEND || op->type == HALLEY_NODE_RECV)
        n += 1;
    assert(op->n_fields <= NEURAL_FIELDS);
    return n < NEURAL_FIELDS ? n : NEURAL_FIELDS;
}

typedef struct tables {
    uint32_t *first_token, *op_of, *first_ref, *first_attr;
    neural_ref *refs;
} tables;

static bool allocate_tables(tables *t, neural_model *n, const synth_model *m)
{
    t->first_token = arena_array(&n->memory, m->ops.n + 1, sizeof *t->first_token);
    t->first_attr = arena_array(&n->memory, m->ops.n + 1, sizeof *t->first_attr);
    t->op_of = arena_array(&n->memory, m->tokens.n + 1, sizeof *t->op_of);
    t->first_ref = arena_array(&n->memory, m->tokens.n + 1, sizeof *t->first_ref);
    /* tokens may share references */
    size_t n_refs = 1;
    for (size_t i = 0; i < m->tokens.n; i++)
        n_refs += m->tokens.at[i].n_refs;
    t->refs = arena_array(&n->memory, n_refs, sizeof *t->refs);
    n->token = arena_array(&n->memory, m->tokens.n + 1, sizeof *n->token);
    n->token_of = arena_array(&n->memory, m->tokens.n + 1, sizeof *n->token_of);
    return n_refs < UINT32_MAX && t->first_token && t->first_attr && t->op_of &&
           t->first_ref && t->refs && n->token && n->token_of;
}

/* Sorts tokens by operator, in the order of the model. */
static void place_tokens(tables *t, neural_model *n, const synth_model *m)
{
    for (size_t i = 0; i < m->tokens.n; i++)
        t->first_token[m->tokens.at[i].op + 1]++;
    for (size_t i = 0; i < m->ops.n; i++) {
        t->first_token[i + 1] += t->first_token[i];
        t->first_attr[i + 1] = t->first_attr[i] + attrs_of(&m->ops.at[i]);
    }
    for (uint32_t i = 0; i < m->tokens.n; i++) {
        const uint32_t op = m->tokens.at[i].op, at = t->first_token[op]++;
        n->token[at] = i;
        n->token_of[i] = at;
        t->op_of[at] = op;
    }
    for (size_t i = m->ops.n; i > 0; i--)
        t->first_token[i] = t->first_token[i - 1];
    t->first_token[0] = 0;
}

halley_status neural_model_make(neural_model *n, const synth_model *m, halley_error *err)
{
    tables t;
    *n = (neural_model){0};
    if (m->tokens.n == 0 || m->ops.n > MAX_OPS)
        return error_set(
            err, HALLEY_EINVAL,
            "the model has no operators, or too many, to write programs with");
    if (!allocate_tables(&t, n, m)) {
        neural_model_fini(n);
        return error_nomem(err);
    }
    place_tokens(&t, n, m);
    uint32_t n_refs = 0;
    for (uint32_t i = 0; i < m->tokens.n; i++) {
        const model_token *token = &m->tokens.at[n->token[i]];
        t.first_ref[i] = n_refs;
        for (uint32_t k = 0; k < token->n_refs; k++)
            n_refs += to_edge(&t.refs[n_refs], &m->refs.at[token->first_ref + k]);
    }
    t.first_ref[m->tokens.n] = n_refs;
    const neural_shape shape = {.n_ops = (uint32_t)m->ops.n,
                                .n_tokens = (uint32_t)m->tokens.n,
                                .first_token = t.first_token,
                                .op_of = t.op_of,
                                .first_ref = t.first_ref,
                                .refs = t.refs,
                                .first_attr = t.first_attr};
    neural_net_make(&n->net, &shape);
    if (m->net.n > n->net.layout.n)
        n->net.shape.total_law = m->net.at + n->net.layout.n;
    return HALLEY_OK;
}

void neural_model_fini(neural_model *n)
{
    arena_fini(&n->memory);
    *n = (neural_model){0};
}

bool neural_model_fits(const neural_model *n, const synth_model *m)
{
    const size_t n_numbers = neural_n_ranges(&n->net);
    if (m->net_head.n != 1 || m->net_ranges.n != n_numbers ||
        m->net.n != n->net.layout.n + neural_n_totals(&n->net))
        return false;
    for (size_t i = 0; i < n_numbers; i++)
        if (!(fabsf(m->net_ranges.at[i].low) < 100) ||
            !(fabsf(m->net_ranges.at[i].high) < 100))
            return false;
    const model_net *head = &m->net_head.at[0];
    for (uint32_t i = 0; i < NEURAL_FEATURES; i++)
        if (!isfinite(head->mean[i]) || !isfinite(head->scale[i]))
            return false;
    return head->version == MODEL_NET_VERSION && head->max_items > 0 &&
           nn_finite(m->net.at, m->net.n);
}

/* Makes the network, and refuses one whose parameters do not fit. */
static halley_status make_sound_model(neural_model *n, const synth_model *m,
                                      const char *path, halley_error *err)
{
    TRY(neural_model_make(n, m, err));
    if (neural_model_fits(n, m))
        return HALLEY_OK;
    neural_model_fini(n);
    const halley_status status = error_set(
        err, HALLEY_EFORMAT,
        "the network in the model is damaged: take another copy, or learn it again");
    error_at_file(err, path);
    return status;
}

halley_status neural_model_open(neural_model **out, const synth_model *m,
                                const char *path, halley_error *err)
{
    assert(out != NULL && path != NULL);
    *out = NULL;
    if (m->net_head.n == 0 && m->net.n == 0)
        return HALLEY_OK;
    neural_model *const n = mem_array_zero(1, sizeof *n);
    if (n == NULL)
        return error_nomem(err);
    const halley_status status = make_sound_model(n, m, path, err);
    if (status == HALLEY_OK)
        *out = n;
    else
        free(n);
    return status;
}

void neural_model_close(neural_model *n)
{
    if (n == NULL)
        return;
    neural_model_fini(n);
    free(n);
}

void neural_features(float to[NEURAL_FEATURES], const law_point *p, uint64_t family,
                     const synth_model *m)
{
    assert(p->n <= MODEL_FEATURES);
    memset(to, 0, NEURAL_FEATURES * sizeof *to);
    for (uint32_t i = 0; i < p->n; i++)
        to[p->feature[i]] = (float)p->value[i];
    const uint32_t id = conditions_index(m, "family");
    for (uint32_t i = 0; id != MODEL_NONE && i < m->conditions.at[id].n_values; i++) {
        const model_condition *c = &m->conditions.at[id];
        const str text = c->is_text ? synth_text(m, c->values[i].text) : STR("");
        if (i < FAMILIES && hash_bytes(text.at, text.n, 0) == family)
            to[MODEL_FEATURES + i] = 1;
    }
}

void neural_rescale(float feature[NEURAL_FEATURES], const model_net *head)
{
    for (uint32_t i = 0; i < NEURAL_FEATURES; i++)
        feature[i] = (feature[i] - head->mean[i]) * head->scale[i];
}
