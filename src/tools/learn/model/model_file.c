/*
 * Model files. A file has a header (magic, version, number of sections, hash of the
 * rest) and one section per array. A section holds the size of an element, the number of
 * elements, and the elements as they are in memory, padded to eight bytes. Only
 * little-endian machines are supported; the magic identifies this format. The reader
 * trusts nothing: the hash detects accidental damage, and checks of every index detect
 * the rest.
 */
#include "base/call.h"
#include "base/file/file.h"
#include "base/file/file_look.h"
#include "learn/model/joint.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char magic[8] = {'h', 'a', 'l', 'l', 'e', 'y', 'M', '1'};
enum { MODEL_BLOCK = 1 << 16 };

typedef struct file_head {
    char magic[8];
    uint32_t version, n_sections;
    uint64_t hash; /* of everything after the header */
} file_head;

typedef struct section_head {
    uint32_t number, size;
    uint64_t n;
} section_head;

/* Padding bytes would have undefined values, and equal models would differ. */
_Static_assert(sizeof(model_template) == 32 + 4 * MODEL_CONDITIONS * MODEL_VALUES &&
                   sizeof(model_law) == 56 + 4 * MODEL_BUCKETS + 8 * MODEL_FEATURES &&
                   sizeof(model_count_law) == 40 &&
                   sizeof(model_loop) == 72 + 8 * MODEL_FEATURES &&
                   sizeof(model_value) == 32 &&
                   sizeof(model_condition) == 40 + 32 * MODEL_VALUES &&
                   sizeof(model_op) == 32 && sizeof(model_skeleton) == 32 &&
                   sizeof(model_head) == 48 && sizeof(model_token) == 20,
               "structs of a model have no holes");

/* Every ARRAY has this layout. */
typedef ARRAY(void) any_array;

typedef struct section {
    size_t offset;
    uint32_t size;
} section;

#define SECTION(name)                                                                    \
    {                                                                                    \
        offsetof(synth_model, name), sizeof *((synth_model *)0)->name.at                 \
    }
static const section sections[] = {
    SECTION(chars),     SECTION(texts),     SECTION(fields),     SECTION(ops),
    SECTION(refs),      SECTION(tokens),    SECTION(symbols),    SECTION(loop_ids),
    SECTION(loops),     SECTION(skeletons), SECTION(sides),      SECTION(parts),
    SECTION(templates), SECTION(laws),      SECTION(conditions), SECTION(roots),
    SECTION(branches),  SECTION(shares),    SECTION(head),
};
enum { N_SECTIONS = sizeof sections / sizeof *sections };

static any_array *array_of(const synth_model *m, const section *s)
{
    return (any_array *)(void *)((char *)(uintptr_t)m + s->offset);
}

/* A stream of sections, hashed in blocks. `to` NULL: the bytes are only hashed. */
typedef struct sink {
    file_output *to;
    uint64_t hash;
    size_t n;
    uint8_t block[MODEL_BLOCK];
} sink;

static void put_model_bytes(sink *s, const void *bytes, size_t n)
{
    assert(bytes != NULL || n == 0);
    const uint8_t *at = bytes;
    if (s->to)
        file_output_write(s->to, at, n);
    while (!s->to && n > 0) {
        const size_t part = n < MODEL_BLOCK - s->n ? n : MODEL_BLOCK - s->n;
        memcpy(s->block + s->n, at, part);
        s->n += part;
        at += part;
        n -= part;
        if (s->n == MODEL_BLOCK) {
            s->hash = hash_bytes(s->block, s->n, s->hash);
            s->n = 0;
        }
    }
}

static void put_sections(sink *to, const synth_model *m)
{
    assert(m->head.n == 1);
    static const char zeros[8];
    for (uint32_t i = 0; i < N_SECTIONS; i++) {
        const any_array *a = array_of(m, &sections[i]);
        const section_head head = {i, sections[i].size, a->n};
        const size_t n = a->n * sections[i].size;
        put_model_bytes(to, &head, sizeof head);
        if (n > 0)
            put_model_bytes(to, a->at, n);
        put_model_bytes(to, zeros, (8 - n % 8) % 8);
    }
}

uint64_t synth_model_hash(const uint8_t *at, size_t n)
{
    assert(at != NULL || n == 0);
    uint64_t hash = 0;
    while (n > 0) {
        const size_t part = n < MODEL_BLOCK ? n : MODEL_BLOCK;
        hash = hash_bytes(at, part, hash);
        at += part;
        n -= part;
    }
    return hash;
}

static halley_status is_model(bool *is, const char *path, halley_error *err)
{
    file_input in;
    call_state *const c = call_current();
    *is = false;
    call_join(NULL); /* it is to be written over: this does not count as reading */
    const halley_status status = file_input_open(&in, path, err);
    call_join(c);
    if (status != HALLEY_OK) /* a file that cannot be read is not a model */
        return status == HALLEY_ENOMEM ? status : HALLEY_OK;
    *is = in.n == 0 || (in.n >= sizeof magic && memcmp(in.at, magic, sizeof magic) == 0);
    file_input_close(&in);
    return HALLEY_OK;
}

halley_status synth_model_may_save(const char *path, halley_error *err)
{
    file_output *to = NULL;
    struct stat about;
    const bool there = file_look(path, &about) == 0 && !S_ISDIR(about.st_mode);
    if (there && !S_ISREG(about.st_mode)) /* the reader of a pipe would take this test for
                                             the whole file */
        return HALLEY_OK;
    TRY(file_output_open(&to, path, err));
    file_output_abort(to);
    bool is = true;
    if (there)
        TRY(is_model(&is, path, err));
    if (is)
        return HALLEY_OK;
    error_set(err, HALLEY_EINVAL,
              "is there and no model, so it is not written over: name another file");
    error_at_file(err, path);
    return HALLEY_EINVAL;
}

halley_status synth_model_save(const synth_model *m, const char *path, halley_error *err)
{
    assert(path != NULL);
    file_head head = {.version = MODEL_VERSION, .n_sections = N_SECTIONS};
    memcpy(head.magic, magic, sizeof magic);
    sink to = {0};
    put_sections(&to, m);
    head.hash = to.n > 0 ? hash_bytes(to.block, to.n, to.hash) : to.hash;
    TRY(file_output_open(&to.to, path, err));
    file_output_write(to.to, &head, sizeof head);
    put_sections(&to, m);
    return file_output_commit(to.to, err);
}

static halley_status refuse_damaged(halley_error *err)
{
    return error_set(err, HALLEY_EFORMAT,
                     "the model is damaged: take another copy, or learn it again");
}

static halley_status read_section(synth_model *m, uint32_t i, const uint8_t **at,
                                  size_t *n, halley_error *err)
{
    assert(i < N_SECTIONS);
    section_head head;
    if (*n < sizeof head)
        return error_set(err, HALLEY_EFORMAT, "the model is cut off");
    memcpy(&head, *at, sizeof head);
    *at += sizeof head;
    *n -= sizeof head;
    if (head.number != i || head.size != sections[i].size)
        return refuse_damaged(err);
    if (head.n > *n / sections[i].size)
        return error_set(err, HALLEY_EFORMAT, "the model is cut off");
    const size_t bytes = (size_t)head.n * sections[i].size;
    any_array *a = array_of(m, &sections[i]);
    a->at = mem_array(bytes + 1, 1);
    if (!a->at)
        return error_nomem(err);
    memcpy(a->at, *at, bytes);
    a->n = a->cap = (size_t)head.n;
    const size_t padded = bytes + (8 - bytes % 8) % 8;
    if (padded > *n)
        return error_set(err, HALLEY_EFORMAT, "the model is cut off");
    *at += padded;
    *n -= padded;
    return HALLEY_OK;
}

static bool is_range_within(uint32_t first, uint32_t n, size_t limit)
{
    assert(n <= limit || first > limit || n > limit - first);
    return first <= limit && n <= limit - first;
}

static bool texts_are_right(const synth_model *m)
{
    for (size_t i = 0; i < m->texts.n; i++)
        if (!is_range_within(m->texts.at[i].at, m->texts.at[i].n, m->chars.n))
            return false;
    for (size_t i = 0; i < m->fields.n; i++) {
        const model_field *f = &m->fields.at[i];
        if ((f->name != MODEL_NONE && f->name >= m->texts.n) ||
            f->kind >= HALLEY_ATTR_END)
            return false;
    }
    return true;
}

static bool ops_are_right(const synth_model *m)
{
    for (size_t i = 0; i < m->ops.n; i++) {
        const model_op *op = &m->ops.at[i];
        if (op->name >= m->texts.n || op->type >= HALLEY_N_NODE_TYPES ||
            op->n_fields > 64 ||
            !is_range_within(op->first_field, op->n_fields, m->fields.n))
            return false;
        for (uint32_t k = 0; k < op->n_fields; k++)
            if ((m->fields.at[op->first_field + k].name == MODEL_NONE) != (k == 0))
                return false;
    }
    for (size_t i = 0; i < m->refs.n; i++) {
        const model_ref *r = &m->refs.at[i];
        if (r->kind >= REF_N_KINDS ||
            (r->kind == REF_BACK || r->kind == REF_UP ? r->op != MODEL_NONE
                                                      : r->op >= m->ops.n))
            return false;
    }
    for (size_t i = 0; i < m->tokens.n; i++) {
        const model_token *t = &m->tokens.at[i];
        if (t->op >= m->ops.n || !is_range_within(t->first_ref, t->n_refs, m->refs.n))
            return false;
    }
    return true;
}

/* True if the brackets match and their number equals that of the loops. */
static bool skeleton_is_right(const synth_model *m, const model_skeleton *s)
{
    uint32_t depth = 0, n_loops = 0;
    if (!is_range_within(s->first, s->n, m->symbols.n) ||
        !is_range_within(s->first_loop, s->n_loops, m->loop_ids.n))
        return false;
    for (uint32_t i = 0; i < s->n; i++) {
        const uint32_t symbol = m->symbols.at[s->first + i];
        if (symbol == SYMBOL_OPEN) {
            n_loops++;
            depth++;
        } else if (symbol == SYMBOL_CLOSE
                       ? depth-- == 0
                       : symbol >= m->tokens.n || synth_side_waiter(m, symbol) != NULL)
            return false;
    }
    return depth == 0 && n_loops == s->n_loops;
}

static bool templates_are_right(const synth_model *m)
{
    for (size_t i = 0; i < m->skeletons.n; i++)
        if (!skeleton_is_right(m, &m->skeletons.at[i]))
            return false;
    for (size_t i = 0; i < m->loop_ids.n; i++)
        if (m->loop_ids.at[i] >= m->loops.n)
            return false;
    for (size_t i = 0; i < m->sides.n; i++) {
        const model_side *s = &m->sides.at[i];
        if (s->token >= m->tokens.n || synth_side_waiter(m, s->token) == NULL ||
            (s->skeleton >= m->skeletons.n && s->skeleton != MODEL_NONE) ||
            s->n_sets > synth_side_sets(m, s))
            return false;
    }
    for (size_t i = 0; i < m->parts.n; i++)
        if (m->parts.at[i] >= m->skeletons.n)
            return false;
    for (size_t i = 0; i < m->templates.n; i++) {
        const model_template *t = &m->templates.at[i];
        if (t->n == 0 || !is_range_within(t->first, t->n, m->parts.n) ||
            t->longest >= t->n)
            return false;
    }
    return m->templates.n > 0;
}

static bool all_finite(const double *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!isfinite(at[i]))
            return false;
    return true;
}

static bool count_is_right(const model_count_law *law)
{
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t k = 0; k < MODEL_TERM; k++)
            if (law->factor[i][k] >= MODEL_FACTORS)
                return false;
    return law->n_terms <= 2 && law->is_found <= 1 && isfinite(law->plus) &&
           all_finite(law->times, 2);
}

static bool laws_are_right(const synth_model *m)
{
    for (size_t i = 0; i < m->laws.n; i++) {
        const model_law *l = &m->laws.at[i];
        if (!all_finite(l->coefficient, MODEL_FEATURES) || !isfinite(l->spread) ||
            l->plain > 1 || !isfinite(l->within) || isnan(l->zero) || isnan(l->none) ||
            isnan(l->low) || isnan(l->high) || isnan(l->least) || isnan(l->most))
            return false;
        for (uint32_t k = 0; k < MODEL_BUCKETS; k++)
            if (!(l->hist[k] >= 0))
                return false;
    }
    for (size_t i = 0; i < m->loops.n; i++)
        if (!all_finite(m->loops.at[i].coefficient, MODEL_FEATURES) ||
            !count_is_right(&m->loops.at[i].exact))
            return false;
    return true;
}

static bool is_feature(uint32_t feature)
{
    return feature == MODEL_NONE || feature < MODEL_FEATURES;
}

static bool conditions_are_right(const synth_model *m)
{
    const size_t n = m->conditions.n;
    if (n > MODEL_CONDITIONS || m->head.n != 1)
        return false;
    for (size_t i = 0; i < m->conditions.n; i++) {
        const model_condition *c = &m->conditions.at[i];
        if (c->name >= m->texts.n || c->n_values > MODEL_ABSENT ||
            !is_feature(c->feature))
            return false;
        for (uint32_t k = 0; k < c->n_values; k++) {
            const model_value *v = &c->values[k];
            if (!is_feature(v->feature) || !isfinite(v->number) || !isfinite(v->spread) ||
                (c->is_text && v->text >= m->texts.n))
                return false;
        }
    }
    return true;
}

/* Every branch comes after its parent, so every walk up or down a tree ends. */
static bool trees_are_right(const synth_model *m)
{
    const uint32_t n = (uint32_t)m->branches.n;
    if (m->roots.n > JOINT_COLUMNS)
        return false;
    for (size_t i = 0; i < m->roots.n; i++)
        if (m->roots.at[i].branch >= n ||
            (m->roots.at[i].of != JOINT_TEMPLATE && m->roots.at[i].of >= m->conditions.n))
            return false;
    for (uint32_t i = 0; i < n; i++) {
        const model_branch *b = &m->branches.at[i];
        const bool leaf = b->by == MODEL_NONE;
        if (!is_range_within(b->first, b->n, m->shares.n) ||
            (b->parent != MODEL_NONE && b->parent >= i) ||
            (!leaf && (b->by >= JOINT_COLUMNS || b->yes <= i || b->yes >= n - 1)))
            return false;
    }
    return true;
}

/* True if all values that trees can draw are values of their conditions. */
static bool shares_are_right(const synth_model *m)
{
    for (size_t i = 0; i < m->roots.n; i++) {
        const model_root *r = &m->roots.at[i];
        const size_t end = i + 1 < m->roots.n ? m->roots.at[i + 1].branch : m->branches.n;
        for (size_t k = r->branch; k < end; k++) {
            const model_branch *b = &m->branches.at[k];
            for (uint32_t j = 0; j < b->n; j++) {
                const model_share *s = &m->shares.at[b->first + j];
                const bool absent = s->first == MODEL_ABSENT && s->last == MODEL_ABSENT;
                const size_t limit = r->of == JOINT_TEMPLATE
                                         ? m->templates.n + 1
                                         : m->conditions.at[r->of].n_values;
                if (s->first > s->last || b->n_sets == 0 || (s->last >= limit && !absent))
                    return false;
            }
            if ((b->parent == MODEL_NONE) != (k == r->branch) ||
                (b->parent != MODEL_NONE && b->parent < r->branch) ||
                (b->by != MODEL_NONE && b->yes + 1 >= end))
                return false;
        }
    }
    return m->roots.n > 0 || m->branches.n == 0;
}

static bool fill_maps(synth_model *m)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < m->texts.n; i++) {
        const str t = synth_text(m, i);
        ok = map64_set(&m->text_of, hash_bytes(t.at, t.n, 0), i);
    }
    for (uint32_t i = 0; ok && i < m->ops.n; i++)
        ok = map64_set(&m->op_of, m->ops.at[i].key, i);
    for (uint32_t i = 0; ok && i < m->tokens.n; i++) {
        const model_token *t = &m->tokens.at[i];
        ok = map64_set(&m->token_of,
                       synth_token_key(t->op, m->refs.at + t->first_ref, t->n_refs), i);
    }
    for (uint32_t i = 0; ok && i < m->skeletons.n; i++)
        ok = map64_set(&m->skeleton_of, m->skeletons.at[i].key, i);
    for (uint32_t i = 0; ok && i < m->templates.n; i++)
        ok = map64_set(&m->template_of, m->templates.at[i].key, i);
    for (uint32_t i = 0; ok && i < m->laws.n; i++)
        ok = map64_set(&m->law_of, m->laws.at[i].key, i);
    for (uint32_t i = 0; ok && i < m->loops.n; i++)
        ok = map64_set(&m->loop_of, m->loops.at[i].key, i);
    return ok;
}

static halley_status read_model(synth_model *m, const uint8_t *at, size_t n,
                                halley_error *err)
{
    file_head head;
    if (n < sizeof head || memcmp(at, magic, sizeof magic) != 0)
        return error_set(err, HALLEY_EFORMAT, "not a model of 'halley trace learn'");
    memcpy(&head, at, sizeof head);
    if (head.version != MODEL_VERSION || head.n_sections != N_SECTIONS)
        return error_set(err, HALLEY_EFORMAT,
                         "a model of version %u, this program reads version %d: learn it "
                         "again",
                         head.version, MODEL_VERSION);
    at += sizeof head;
    n -= sizeof head;
    const uint64_t hash = synth_model_hash(at, n);
    for (uint32_t i = 0; i < N_SECTIONS; i++)
        TRY(read_section(m, i, &at, &n, err));
    if (hash != head.hash || n != 0)
        return error_set(err, HALLEY_EFORMAT,
                         "the model was changed after it was written: its hash is wrong");
    if (!texts_are_right(m) || !ops_are_right(m) || !templates_are_right(m) ||
        !laws_are_right(m) || !conditions_are_right(m) || !trees_are_right(m) ||
        !shares_are_right(m))
        return refuse_damaged(err);
    return fill_maps(m) ? HALLEY_OK : error_nomem(err);
}

halley_status synth_model_parse(synth_model *m, const uint8_t *at, size_t n,
                                halley_error *err)
{
    assert(at != NULL || n == 0);
    *m = (synth_model){0};
    const halley_status status = read_model(m, at, n, err);
    if (status != HALLEY_OK)
        synth_model_fini(m);
    return status;
}

halley_status synth_model_load(synth_model *m, const char *path, halley_error *err)
{
    file_input in;
    TRY(file_input_open(&in, path, err));
    const halley_status status = synth_model_parse(m, in.at, in.n, err);
    if (status != HALLEY_OK)
        error_at_file(err, path);
    file_input_close(&in);
    return status;
}
