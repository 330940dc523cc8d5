/* The parts of a model: texts, keys, lookups, memory. */
#include "learn/model/model.h"

#include <assert.h>
#include <string.h>

halley_status synth_model_init(synth_model *m, halley_error *err)
{
    *m = (synth_model){0};
    if (!array_push(&m->head, (model_head){.version = MODEL_VERSION,
                                           .n_features = FEATURE_CONDITIONS}))
        return error_nomem(err);
    return HALLEY_OK;
}

void synth_model_fini(synth_model *m)
{
    array_fini(&m->chars);
    array_fini(&m->texts);
    array_fini(&m->fields);
    array_fini(&m->ops);
    array_fini(&m->refs);
    array_fini(&m->tokens);
    array_fini(&m->symbols);
    array_fini(&m->loop_ids);
    array_fini(&m->loops);
    array_fini(&m->skeletons);
    array_fini(&m->sides);
    array_fini(&m->parts);
    array_fini(&m->templates);
    array_fini(&m->bodies);
    array_fini(&m->laws);
    array_fini(&m->conditions);
    array_fini(&m->roots);
    array_fini(&m->branches);
    array_fini(&m->shares);
    array_fini(&m->portraits);
    array_fini(&m->sums);
    array_fini(&m->loop_sums);
    array_fini(&m->head);
    map64 *const maps[] = {&m->text_of,     &m->op_of,   &m->token_of, &m->skeleton_of,
                           &m->template_of, &m->body_of, &m->law_of,   &m->loop_of};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        map64_fini(maps[i]);
}

str synth_text(const synth_model *m, uint32_t text)
{
    assert(text < m->texts.n);
    const model_text *t = &m->texts.at[text];
    return (str){m->chars.at + t->at, t->n};
}

uint32_t synth_text_add(synth_model *m, str text)
{
    uint32_t id = (uint32_t)m->texts.n;
    bool fresh;
    if (!map64_put(&m->text_of, hash_bytes(text.at, text.n, 0), &id, &fresh))
        return MODEL_NONE;
    if (!fresh)
        return id;
    const model_text t = {(uint32_t)m->chars.n, (uint32_t)text.n};
    if (!array_reserve(&m->chars, text.n + 1) || !array_push(&m->texts, t))
        return MODEL_NONE;
    for (size_t i = 0; i < text.n; i++)
        m->chars.at[m->chars.n++] = text.at[i];
    return id;
}

uint64_t synth_op_key(const synth_model *m, const model_op *op, const model_field *fields)
{
    assert(op->name < m->texts.n);
    const str name = synth_text(m, op->name);
    const uint8_t looks[] = {op->type, op->comm, op->cpu, op->flags & MODEL_OP_LOOKS};
    uint64_t key = hash_bytes(looks, sizeof looks, hash_bytes(name.at, name.n, 1));
    const uint32_t n = (op->flags & MODEL_OP_LOOSE) != 0 ? 0 : op->n_fields;
    for (uint32_t i = 0; i < n; i++) {
        const str f =
            fields[i].name == MODEL_NONE ? STR("") : synth_text(m, fields[i].name);
        key = hash_u64(hash_bytes(f.at, f.n, key) + fields[i].kind);
    }
    return key;
}

bool synth_is_duration(const synth_model *m, uint64_t op_key, uint32_t field)
{
    const uint32_t id = map64_find(&m->op_of, op_key);
    if (id == HASH_NONE || field >= m->ops.at[id].n_fields)
        return false;
    const uint32_t name = m->fields.at[m->ops.at[id].first_field + field].name;
    return name == MODEL_NONE || str_eq(synth_text(m, name), STR("duration_ns"));
}

uint32_t synth_field_of(const synth_model *m, const model_op *op, str name)
{
    assert(op->first_field + op->n_fields <= m->fields.n);
    for (uint32_t f = 1; f < op->n_fields; f++)
        if (str_eq(synth_text(m, m->fields.at[op->first_field + f].name), name))
            return f;
    return MODEL_NONE;
}

const model_ref *synth_side_waiter(const synth_model *m, uint32_t token)
{
    assert(token < m->tokens.n);
    const model_token *const t = &m->tokens.at[token];
    if (t->n_refs == 0)
        return NULL;
    const model_ref *const last = &m->refs.at[t->first_ref + t->n_refs - 1];
    return last->kind == REF_NEXT ? last : NULL;
}

uint32_t synth_side_field(const synth_model *m, uint32_t token)
{
    const model_token *const t = &m->tokens.at[token];
    const model_ref *const next = synth_side_waiter(m, token);
    assert(next != NULL);
    uint64_t key = hash_u64(m->ops.at[t->op].key ^ t->n_refs);
    key = hash_u64(key ^ m->ops.at[next->op].key) ^ next->n ^ (uint64_t)next->ctrl << 16;
    return (next->ctrl ? FIELD_PAUSES : FIELD_BESIDE) | (uint32_t)(hash_u64(key) >> 34);
}

uint32_t synth_side_sets(const synth_model *m, const model_side *s)
{
    return s->skeleton == MODEL_NONE
               ? m->ops.at[synth_side_waiter(m, s->token)->op].n_sets
               : m->skeletons.at[s->skeleton].n_sets;
}

uint64_t synth_token_key(uint32_t op, const model_ref *refs, uint32_t n)
{
    assert(refs != NULL || n == 0);
    uint64_t key = hash_u64(op);
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t what = (uint64_t)refs[i].kind << 8 | refs[i].ctrl |
                              (uint64_t)refs[i].n << 16 | (uint64_t)refs[i].op << 32;
        key = hash_u64(key ^ what) + 1;
    }
    return key;
}

uint32_t synth_token_add(synth_model *m, uint32_t op, const model_ref *refs, uint32_t n)
{
    assert(op < m->ops.n);
    uint32_t id = (uint32_t)m->tokens.n;
    bool fresh;
    if (!map64_put(&m->token_of, synth_token_key(op, refs, n), &id, &fresh))
        return MODEL_NONE;
    if (!fresh)
        return id;
    const model_token t = {.op = op, .first_ref = (uint32_t)m->refs.n, .n_refs = n};
    if (!array_reserve(&m->refs, n) || !array_push(&m->tokens, t))
        return MODEL_NONE;
    if (n > 0)
        memcpy(m->refs.at + m->refs.n, refs, n * sizeof *refs);
    m->refs.n += n;
    return id;
}

uint64_t synth_law_key(const law_place *at, uint32_t level)
{
    assert(level < LAW_LEVELS);
    const bool near = level < 3, family = level != 2;
    uint64_t key = hash_u64(at->op ^ ((uint64_t)level << 56) ^ at->field);
    if (level == 0)
        key = hash_u64(key ^ at->program);
    if (near)
        key = hash_u64(hash_u64(key ^ at->before) ^ at->after);
    return family ? hash_u64(key ^ at->family) : key;
}

uint64_t synth_set_law_key(uint64_t family, uint32_t field)
{
    return hash_u64(family ^ field);
}
