/*
 * Copies one trace, node by node in the order of ids, into a new one that holds only
 * what is listed here. An attribute that is not in the table, or has another type there,
 * is counted and dropped. So are texts of inputs and outputs, metadata, documentation of
 * attributes, unknown fields, and dangling dependencies.
 */
#include "base/error.h"
#include "edit/obfuscate.h"
#include "trace/core/edit.h"
#include "trace/core/slots.h"
#include "trace/format/et.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is done with an attribute. */
typedef enum act {
    ACT_DROP,
    ACT_KEEP,     /* a number or list of booleans without a secret */
    ACT_ALLOWED,  /* --keep names it */
    ACT_SIZE,     /* rounded */
    ACT_SIZES,    /* each rounded */
    ACT_DURATION, /* rounded */
    ACT_START,    /* counted from the earliest start; removed with sizes */
    ACT_GROUP,    /* renamed */
    ACT_LANE,     /* threads and streams: renumbered */
    ACT_WORD,     /* a text that stays if it is a public word (obfuscate_words.c) */
    ACT_SIDES,    /* sides of a matmul: each rounded, and its alignment kept */
    ACT_NODE,     /* the id of another node: renumbered */
    ACT_TWICE,    /* the node already has this name: dropped */
} act;

/* The types an attribute may have. */
typedef enum want {
    WANT_INTEGER,
    WANT_NUMBER,
    WANT_INTEGERS,
    WANT_TRUTHS,
    WANT_TEXT
} want;

static const struct {
    const char *name;
    want want;
    act act;
} known[] = {
    {"is_cpu_op", WANT_INTEGER, ACT_KEEP},
    {"num_ops", WANT_INTEGER, ACT_SIZE},
    {"tensor_size", WANT_INTEGER, ACT_SIZE},
    {"comm_type", WANT_INTEGER, ACT_KEEP},
    {"comm_size", WANT_INTEGER, ACT_SIZE},
    {"comm_sizes", WANT_INTEGERS, ACT_SIZES},
    {"comm_src", WANT_INTEGER, ACT_KEEP},
    {"comm_dst", WANT_INTEGER, ACT_KEEP},
    {"comm_tag", WANT_INTEGER, ACT_KEEP},
    {"comm_priority", WANT_INTEGER, ACT_KEEP},
    {"involved_dim", WANT_TRUTHS, ACT_KEEP},
    {"pg_name", WANT_TEXT, ACT_GROUP},
    {"tid", WANT_INTEGER, ACT_LANE},
    {"stream", WANT_INTEGER, ACT_LANE},
    {"duration_ns", WANT_NUMBER, ACT_DURATION},
    {"start_ns", WANT_NUMBER, ACT_START},
    {"inclusive_ns", WANT_NUMBER, ACT_DURATION},
    {"launch_ns", WANT_NUMBER, ACT_START},
    {"call_ns", WANT_NUMBER, ACT_DURATION},
    {"free_lane", WANT_INTEGER, ACT_KEEP},
    {"halley_rate", WANT_NUMBER, ACT_KEEP},
    {"halley_fixed_ns", WANT_NUMBER, ACT_KEEP},
    {"from_graph", WANT_INTEGER, ACT_KEEP},
    {"device", WANT_INTEGER, ACT_KEEP},
    {"step", WANT_INTEGER, ACT_KEEP},
    {"part_of", WANT_INTEGER, ACT_NODE},
    {"kernel_class", WANT_TEXT, ACT_WORD},
    {"dtype", WANT_TEXT, ACT_WORD},
    {"memory_op", WANT_TEXT, ACT_WORD},
    {"operator_gemm", WANT_INTEGERS, ACT_SIDES},
};
enum { N_KNOWN = sizeof known / sizeof *known };

str obfuscate_schema_word(uint32_t i)
{
    return i < N_KNOWN ? str_from(known[i].name) : (str){0};
}

bool obfuscate_keeps(const halley_obfuscate_opts *opts, str name)
{
    assert(opts->n_keep == 0 || opts->keep != NULL);
    for (size_t i = 0; i < opts->n_keep; i++)
        if (str_eq(name, str_from(opts->keep[i])))
            return true;
    return false;
}

static bool is_integer(halley_attr_kind kind)
{
    return kind >= HALLEY_ATTR_INT32 && kind <= HALLEY_ATTR_BOOL;
}

static bool fits_type(want wanted, halley_attr_kind kind)
{
    switch (wanted) {
    case WANT_INTEGER:
        return is_integer(kind) && !halley_attr_is_list(kind);
    case WANT_NUMBER:
        return kind >= HALLEY_ATTR_DOUBLE && kind < HALLEY_ATTR_BOOL &&
               !halley_attr_is_list(kind);
    case WANT_INTEGERS:
        return is_integer(kind) && halley_attr_is_list(kind);
    case WANT_TRUTHS:
        return kind == HALLEY_ATTR_BOOL_LIST;
    default:
        return kind == HALLEY_ATTR_STRING;
    }
}

typedef struct cleaner {
    const obfuscate_job *job;
    const halley_trace *trace;
    obfuscate_counts *counts;
    halley_builder *b;
    trace_slots duration_ns;
    uint8_t *acts;          /* by entry of shapes.flat */
    uint64_t *dropped;      /* by desc */
    uint32_t *order;        /* nodes by ascending id */
    map64 threads, streams; /* number -> new number */
    uint64_t *new_id;       /* by node */
    double factor;          /* factor of the node's sizes if they vary, else 1 */
    map64 n_collectives;    /* by hash of a group: number seen so far */
    ARRAY(char) pseudonyms; /* OBFUSCATE_NAME bytes each, by counts->names */
    uint64_t n_io, n_docs, n_unknown, n_starts, n_dangling, n_twice, n_odd;
    uint64_t n_words; /* texts that are no public words */
} cleaner;

static act choose_act(const obfuscate_job *job, str name, halley_attr_kind kind)
{
    if (obfuscate_keeps(job->opts, name))
        return ACT_ALLOWED;
    for (size_t i = 0; i < N_KNOWN; i++)
        if (str_eq(name, str_from(known[i].name)))
            return !fits_type(known[i].want, kind) ||
                           (known[i].act == ACT_NODE &&
                            job->level >= HALLEY_HIDE_STRUCTURE)
                       ? ACT_DROP
                       : known[i].act;
    return ACT_DROP;
}

static void note_error(double *most, double before, double after)
{
    assert(*most >= 0);
    const double error =
        before > 0 ? (after > before ? after - before : before - after) / before : 0;
    if (error > *most)
        *most = error;
}

/* Rounds an integer to the scale or, if sizes vary, multiplies it by the node's
 * factor. */
static uint64_t change_whole(const cleaner *c, uint64_t value)
{
    if (!c->job->opts->vary)
        return obfuscate_round(value, &c->job->scale);
    const double step = c->job->scale.step, product = round((double)value * c->factor);
    const bool is_near = product >= 1 && product < 0x1p63 &&
                         fabs(product - (double)value) <= step * (double)value;
    return is_near ? (uint64_t)product : value;
}

/* A number from -1 to 1, determined by the key. */
static double draw_share(const cleaner *c, uint64_t a, uint64_t b)
{
    return (double)(siphash_mix(c->job->key, a, b) >> 11) * 0x1p-52 - 1;
}

/* Chooses the factor of a node's sizes, so that equal sizes become different. It depends
 * on the node's place. For a collective, it depends on the number within its group,
 * which all members share. Messages keep their size, because both ends must agree. */
static halley_status choose_factor(cleaner *c, uint32_t node, halley_error *err)
{
    const uint32_t type = halley_node_type_of(c->trace, node);
    const bool is_message = type == HALLEY_NODE_SEND || type == HALLEY_NODE_RECV;
    c->factor = 1;
    if (!c->job->opts->vary || is_message)
        return HALLEY_OK;
    uint64_t group = UINT64_MAX, number = c->new_id[node];
    if (type == HALLEY_NODE_COLL) {
        halley_attr attr;
        const bool named = halley_node_find_attr(&attr, c->trace, node, "pg_name") &&
                           attr.kind == HALLEY_ATTR_STRING;
        group = named ? hash_bytes(attr.bytes.at, attr.bytes.n, 0) : 0;
        const uint32_t met = map64_find(&c->n_collectives, group);
        number = met == HASH_NONE ? 0 : met;
        if (!map64_set(&c->n_collectives, group, (uint32_t)number + 1))
            return error_nomem(err);
    }
    c->factor = 1 + c->job->scale.step * draw_share(c, group, number);
    assert(c->factor > 0);
    return HALLEY_OK;
}

static uint64_t round_size(cleaner *c, uint64_t value)
{
    const uint64_t rounded = change_whole(c, value);
    note_error(&c->counts->size_error, (double)value, (double)rounded);
    return rounded;
}

str obfuscate_group(char room[OBFUSCATE_GROUP], const obfuscate_job *job,
                    halley_obfuscate_level level, str name)
{
    assert(level >= HALLEY_HIDE_IDS);
    if (level < HALLEY_HIDE_NAMES || name.n == 0)
        return name;
    const uint32_t number =
        map64_find(&job->group_number, hash_bytes(name.at, name.n, 0));
    const int n = snprintf(room, OBFUSCATE_GROUP, "%u", number == HASH_NONE ? 0 : number);
    return (str){room, (size_t)n};
}

static halley_status put_group(cleaner *c, halley_attr attr)
{
    char room[OBFUSCATE_GROUP];
    const str name =
        obfuscate_group(room, c->job, c->job->level, (str){attr.bytes.at, attr.bytes.n});
    attr.bytes = (halley_bytes){name.at, name.n};
    return halley_builder_attr(c->b, &attr);
}

static uint64_t round_item(void *context, uint64_t value)
{
    return round_size(context, value);
}

/* Writes a list of sizes, each rounded. */
static halley_status put_sizes(cleaner *c, halley_attr attr, halley_error *err)
{
    if (c->job->level < HALLEY_HIDE_SIZES)
        return halley_builder_attr(c->b, &attr);
    return edit_put_list(c->b, attr, round_item, c, err);
}

/* Rounds a side of a matmul. Kernels differ in speed between thin and wide matmuls, and
 * between sides that are multiples of 8 and others, so this does not change. */
static uint64_t round_side(void *context, uint64_t value)
{
    enum { THIN_SIDE = 16, ALIGNED_TO = 8 };
    cleaner *const c = context;
    uint64_t rounded = change_whole(c, value);
    const bool is_aligned = value % ALIGNED_TO == 0;
    if (is_aligned)
        rounded -= rounded % ALIGNED_TO;
    if (value <= THIN_SIDE || rounded <= THIN_SIDE ||
        is_aligned != (rounded % ALIGNED_TO == 0))
        rounded = value;
    note_error(&c->counts->size_error, (double)value, (double)rounded);
    return rounded;
}

static halley_status put_sides(cleaner *c, halley_attr attr, halley_error *err)
{
    if (c->job->level < HALLEY_HIDE_SIZES)
        return halley_builder_attr(c->b, &attr);
    return edit_put_list(c->b, attr, round_side, c, err);
}

static halley_status put_word(cleaner *c, halley_attr attr)
{
    if (obfuscate_is_public((str){attr.bytes.at, attr.bytes.n}))
        return halley_builder_attr(c->b, &attr);
    c->n_words++;
    return HALLEY_OK;
}

/* Writes the id of another node under its new number. */
static halley_status put_node_id(cleaner *c, halley_attr attr)
{
    uint64_t id;
    uint32_t node = HALLEY_NO_NODE;
    if (halley_attr_to_u64(&attr, &id))
        node = halley_trace_find(c->trace, id);
    if (node == HALLEY_NO_NODE) {
        c->n_odd++;
        return HALLEY_OK;
    }
    edit_set_u64(&attr, c->new_id[node]);
    return halley_builder_attr(c->b, &attr);
}

static double real_of(const halley_attr *attr)
{
    double value = 0;
    (void)halley_attr_to_double(attr, &value);
    return value;
}

static void set_real(halley_attr *attr, double value)
{
    if (attr->kind == HALLEY_ATTR_DOUBLE) {
        memcpy(&attr->bits, &value, sizeof value);
    } else {
        const float small = (float)value;
        uint32_t bits;
        memcpy(&bits, &small, sizeof bits);
        attr->bits = bits;
    }
}

static bool is_real(const halley_attr *attr)
{
    return attr->kind == HALLEY_ATTR_DOUBLE || attr->kind == HALLEY_ATTR_FLOAT;
}

/* Rounds a duration. False: not a valid duration, so it is dropped. */
static bool round_duration(cleaner *c, halley_attr *attr)
{
    const double before = real_of(attr);
    uint64_t whole = 0;
    if (!(before >= 0) || (!is_real(attr) && !halley_attr_to_u64(attr, &whole)))
        return false;
    if (c->job->level < HALLEY_HIDE_SIZES)
        return true;
    if (is_real(attr))
        set_real(attr, obfuscate_round_real(before, &c->job->scale));
    else
        edit_set_u64(attr, change_whole(c, whole));
    note_error(&c->counts->duration_error, before, real_of(attr));
    return true;
}

/* Writes a thread or stream under a new number, in order of occurrence. */
static halley_status put_lane(cleaner *c, halley_attr attr, halley_error *err)
{
    map64 *const lanes = attr.name.n == 3 ? &c->threads : &c->streams;
    uint32_t number = (uint32_t)lanes->n;
    uint64_t value;
    bool fresh;
    if (!halley_attr_to_u64(&attr, &value) || value >> 62 != 0) {
        c->n_odd++;
        return HALLEY_OK;
    }
    if (!map64_put(lanes, value, &number, &fresh))
        return error_nomem(err);
    attr.bits = number;
    return halley_builder_attr(c->b, &attr);
}

static halley_status put_known_attr(cleaner *c, act what, halley_attr attr,
                                    halley_error *err)
{
    uint64_t value;
    attr.doc = attr.unknown = (halley_bytes){0};
    switch (what) {
    case ACT_SIZE:
        if (!halley_attr_to_u64(&attr, &value)) {
            c->n_odd++;
            return HALLEY_OK;
        }
        if (c->job->level >= HALLEY_HIDE_SIZES)
            edit_set_u64(&attr, round_size(c, value));
        return halley_builder_attr(c->b, &attr);
    case ACT_SIZES:
        return put_sizes(c, attr, err);
    case ACT_DURATION:
        if (round_duration(c, &attr))
            return halley_builder_attr(c->b, &attr);
        c->n_odd++;
        return HALLEY_OK;
    case ACT_START:
        if (c->job->level >= HALLEY_HIDE_SIZES || is_real(&attr) ||
            !halley_attr_to_u64(&attr, &value)) {
            c->n_starts++;
            return HALLEY_OK;
        }
        attr.bits = value - c->job->start_ns;
        return halley_builder_attr(c->b, &attr);
    case ACT_GROUP:
        return put_group(c, attr);
    case ACT_LANE:
        return put_lane(c, attr, err);
    case ACT_WORD:
        return put_word(c, attr);
    case ACT_SIDES:
        return put_sides(c, attr, err);
    case ACT_NODE:
        return put_node_id(c, attr);
    default:
        return halley_builder_attr(c->b, &attr);
    }
}

/* If a node has an attribute twice, the first one counts. */
static bool came_before(const attr_shapes *s, const attr_shape *shape, uint32_t i)
{
    assert(i < shape->n);
    const attr_slot *const slots = &s->flat.at[shape->first];
    const str name = attr_desc_name(s, &s->descs.at[slots[i].desc]);
    for (uint32_t k = 0; k < i; k++)
        if (str_eq(name, attr_desc_name(s, &s->descs.at[slots[k].desc])))
            return true;
    return false;
}

static void choose_acts(cleaner *c)
{
    const attr_shapes *const s = &c->trace->s.shapes;
    for (uint32_t k = 0; k < s->shapes.n; k++) {
        const attr_shape *const shape = &s->shapes.at[k];
        for (uint32_t i = 0; i < shape->n; i++) {
            const attr_desc *const d = &s->descs.at[s->flat.at[shape->first + i].desc];
            act what =
                choose_act(c->job, attr_desc_name(s, d), (halley_attr_kind)d->kind);
            if (what != ACT_DROP && came_before(s, shape, i))
                what = ACT_TWICE;
            c->acts[shape->first + i] = (uint8_t)what;
        }
    }
}

static halley_status put_known_attrs(cleaner *c, uint32_t node, halley_error *err)
{
    assert(node < halley_trace_count(c->trace));
    const trace_store *const s = &c->trace->s;
    const attr_shape *const shape = trace_shape_of(c->trace, node);
    for (uint32_t i = shape->first; i < shape->first + shape->n; i++) {
        const attr_slot *const slot = &s->shapes.flat.at[i];
        const act what = (act)c->acts[i];
        c->dropped[slot->desc] += what == ACT_DROP;
        c->n_twice += what == ACT_TWICE;
        if (what == ACT_DROP || what == ACT_TWICE)
            continue;
        const halley_attr attr =
            trace_attr_view(s, slot, s->values.at + s->value_at.at[node]);
        c->n_docs += attr.doc.n > 0;
        c->n_unknown += attr.unknown.n > 0;
        TRY(put_known_attr(c, what, attr, err));
    }
    return HALLEY_OK;
}

static halley_status new_name(halley_bytes *out, cleaner *c, uint32_t node,
                              halley_error *err)
{
    assert(node < halley_trace_count(c->trace));
    const halley_bytes name = halley_node_name(c->trace, node);
    if (c->job->level < HALLEY_HIDE_NAMES || name.n == 0) {
        *out = name;
        return HALLEY_OK;
    }
    const uint32_t id = intern_add(&c->counts->names, (str){name.at, name.n});
    if (id == HASH_NONE)
        return error_nomem(err);
    if (c->job->opts->classes) {
        const str text = obfuscate_class(c->trace, node);
        *out = (halley_bytes){text.at, text.n};
        return HALLEY_OK;
    }
    if ((size_t)id * OBFUSCATE_NAME == c->pseudonyms.n) {
        if (!array_reserve(&c->pseudonyms, OBFUSCATE_NAME))
            return error_nomem(err);
        obfuscate_pseudonym(c->pseudonyms.at + c->pseudonyms.n, c->job->key,
                            (str){name.at, name.n});
        c->pseudonyms.n += OBFUSCATE_NAME;
    }
    const char *const text = c->pseudonyms.at + (size_t)id * OBFUSCATE_NAME;
    *out = (halley_bytes){text, strlen(text)};
    return HALLEY_OK;
}

static halley_bytes if_kept(uint32_t keep, halley_bytes text)
{
    return keep != 0 ? text : (halley_bytes){0};
}

static halley_status put_node_io(cleaner *c, uint32_t node, bool inputs)
{
    assert(node < halley_trace_count(c->trace));
    const uint32_t keep = c->job->opts->keep_io;
    if (column_get(inputs ? &c->trace->s.inputs : &c->trace->s.outputs, node) == 0)
        return HALLEY_OK;
    if (keep == 0) {
        c->n_io++;
        return HALLEY_OK;
    }
    halley_io io =
        inputs ? halley_node_inputs(c->trace, node) : halley_node_outputs(c->trace, node);
    c->n_unknown += io.unknown.n > 0;
    io.values = if_kept(keep & HALLEY_KEEP_VALUES, io.values);
    io.shapes = if_kept(keep & HALLEY_KEEP_SHAPES, io.shapes);
    io.types = if_kept(keep & HALLEY_KEEP_TYPES, io.types);
    io.unknown = (halley_bytes){0};
    return inputs ? halley_builder_inputs(c->b, &io) : halley_builder_outputs(c->b, &io);
}

/* The duration in microseconds. It must not reveal more than the nanoseconds next to
 * it. */
static uint64_t new_duration_us(cleaner *c, uint32_t node)
{
    assert(node < halley_trace_count(c->trace));
    const uint64_t us = halley_node_duration_us(c->trace, node);
    if (c->job->level < HALLEY_HIDE_SIZES || us == 0)
        return us;
    halley_attr ns;
    uint64_t whole, rounded = change_whole(c, us);
    if (trace_slots_find(&ns, &c->duration_ns, node, 0) && !is_real(&ns) &&
        halley_attr_to_u64(&ns, &whole)) {
        const uint64_t other = (change_whole(c, whole) + 500) / 1000;
        const uint64_t error = other > us ? other - us : us - other;
        if ((double)error <= c->job->scale.step * (double)us)
            rounded = other;
    }
    note_error(&c->counts->duration_error, (double)us, (double)rounded);
    return rounded;
}

static halley_status put_times(cleaner *c, uint32_t node)
{
    uint64_t start = halley_node_start_us(c->trace, node);
    if (start > 0 && c->job->level >= HALLEY_HIDE_SIZES) {
        c->n_starts++;
        start = 0;
    }
    start -= start > 0 ? c->job->start_us : 0;
    return halley_builder_time(c->b, start, new_duration_us(c, node));
}

static halley_status put_renumbered_deps(cleaner *c, uint32_t node)
{
    assert(node < halley_trace_count(c->trace));
    for (uint32_t i = 0; i < halley_node_data_count(c->trace, node); i++) {
        const halley_dep dep = halley_node_data(c->trace, node, i);
        if (dep.index == HALLEY_NO_NODE)
            c->n_dangling++;
        else
            TRY(halley_builder_data(c->b, c->new_id[dep.index]));
    }
    for (uint32_t i = 0; i < halley_node_ctrl_count(c->trace, node); i++) {
        const halley_dep dep = halley_node_ctrl(c->trace, node, i);
        if (dep.index == HALLEY_NO_NODE)
            c->n_dangling++;
        else
            TRY(halley_builder_ctrl(c->b, c->new_id[dep.index]));
    }
    return HALLEY_OK;
}

static halley_status put_clean_node(cleaner *c, uint32_t node, halley_error *err)
{
    assert(node < halley_trace_count(c->trace));
    halley_bytes name = {0};
    TRY(choose_factor(c, node, err));
    TRY(new_name(&name, c, node, err));
    TRY(halley_builder_node(c->b, c->new_id[node], halley_node_type_of(c->trace, node),
                            name));
    TRY(put_times(c, node));
    TRY(put_renumbered_deps(c, node));
    TRY(put_node_io(c, node, true));
    TRY(put_node_io(c, node, false));
    c->n_unknown += halley_node_unknown(c->trace, node).n > 0;
    return put_known_attrs(c, node, err);
}

static int order_by_id(const void *a, const void *b, void *trace)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const uint64_t p = halley_node_id(trace, x), q = halley_node_id(trace, y);
    return p != q ? (p < q ? -1 : 1) : (x < y ? -1 : x > y);
}

static halley_status renumber_nodes(cleaner *c, halley_error *err)
{
    const uint32_t n = halley_trace_count(c->trace);
    for (uint32_t i = 0; i < n; i++)
        c->order[i] = i;
    if (!c->trace->ascending)
        qsort_r(c->order, n, sizeof *c->order, order_by_id, (void *)(uintptr_t)c->trace);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 && halley_node_id(c->trace, c->order[i]) ==
                         halley_node_id(c->trace, c->order[i - 1])) {
            error_set(err, HALLEY_EINVAL, "two nodes have this id");
            error_at_file(err, halley_trace_path(c->trace));
            error_at_node(err, halley_node_id(c->trace, c->order[i]));
            return HALLEY_EINVAL;
        }
        c->new_id[c->order[i]] = OBFUSCATE_FIRST_ID + i;
    }
    return HALLEY_OK;
}

static bool count_metadata(cleaner *c, const char *what, str name)
{
    strbuf text = {0};
    strbuf_printf(&text, "%s %.*s", what, STR_ARG(name));
    const bool fine = !text.failed && obfuscate_count(c->counts, strbuf_str(&text), 1);
    strbuf_fini(&text);
    return fine;
}

/* Writes a metadata entry if --keep names it, else what may stay of it. */
static halley_status put_metadata_entry(cleaner *c, halley_attr attr)
{
    const str name = {attr.name.at, attr.name.n}, text = {attr.bytes.at, attr.bytes.n};
    strbuf part = {0};
    if (obfuscate_keeps(c->job->opts, name))
        return halley_builder_metadata(c->b, &attr);
    if (attr.kind != HALLEY_ATTR_STRING || !obfuscate_metadata(&part, name, text, c->job))
        return count_metadata(c, "metadata", name) ? HALLEY_OK : HALLEY_ENOMEM;
    attr.bytes = (halley_bytes){part.at, part.n};
    bool fine = !part.failed && halley_builder_metadata(c->b, &attr) == HALLEY_OK;
    if (fine && part.n < text.n)
        fine = count_metadata(c, "parts of metadata", name);
    strbuf_fini(&part);
    return fine ? HALLEY_OK : HALLEY_ENOMEM;
}

/* The version is that of the schema. */
static halley_status put_metadata(cleaner *c, halley_error *err)
{
    TRY(halley_builder_version(c->b, (halley_bytes){"1.0.0", 5}));
    const uint32_t n = halley_trace_metadata_count(c->trace);
    for (uint32_t i = 0; i < n; i++) {
        halley_attr attr = halley_trace_metadata(c->trace, i);
        c->n_unknown += attr.unknown.n > 0;
        attr.doc = attr.unknown = (halley_bytes){0};
        if (put_metadata_entry(c, attr) != HALLEY_OK)
            return error_nomem(err);
    }
    c->n_unknown += halley_trace_metadata_unknown(c->trace).n > 0;
    return HALLEY_OK;
}

static halley_status put_all_nodes(cleaner *c, halley_error *err)
{
    const uint32_t n = halley_trace_count(c->trace);
    choose_acts(c);
    TRY(renumber_nodes(c, err));
    TRY(put_metadata(c, err));
    for (uint32_t i = 0; i < n; i++)
        TRY(put_clean_node(c, c->order[i], err));
    return HALLEY_OK;
}

/* Counts what was removed, by name. */
static bool count_removed(cleaner *c)
{
    const attr_shapes *const s = &c->trace->s.shapes;
    const halley_bytes version = halley_trace_version(c->trace);
    const struct {
        str what;
        uint64_t n;
    } rows[] = {
        {STR("inputs and outputs of nodes"), c->n_io},
        {STR("documents of attributes"), c->n_docs},
        {STR("unknown fields"), c->n_unknown},
        {STR("recorded starts"), c->n_starts},
        {STR("dependencies that lead nowhere"), c->n_dangling},
        {STR("duplicate attributes"), c->n_twice},
        {STR("numbers out of their range"), c->n_odd},
        {STR("classes and types with names of their own"), c->n_words},
        {STR("version string"), version.n > 0},
    };
    bool fine = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        fine = fine &&
               (rows[i].n == 0 || obfuscate_count(c->counts, rows[i].what, rows[i].n));
    for (uint32_t i = 1; fine && i < s->descs.n; i++) {
        strbuf what = {0};
        strbuf_printf(&what, "attribute %.*s",
                      STR_ARG(attr_desc_name(s, &s->descs.at[i])));
        fine = !what.failed &&
               (c->dropped[i] == 0 ||
                obfuscate_count(c->counts, strbuf_str(&what), c->dropped[i]));
        strbuf_fini(&what);
    }
    return fine;
}

halley_status obfuscate_clean(halley_trace **out, obfuscate_counts *counts,
                              const obfuscate_job *job, const halley_trace *trace,
                              halley_error *err)
{
    assert(out != NULL && counts != NULL);
    const uint32_t n = halley_trace_count(trace);
    const size_t n_descs = trace->s.shapes.descs.n;
    cleaner c = {.job = job,
                 .trace = trace,
                 .counts = counts,
                 .acts = mem_array_zero(trace->s.shapes.flat.n, 1),
                 .dropped = mem_array_zero(n_descs, sizeof *c.dropped),
                 .order = mem_array(n, sizeof *c.order),
                 .new_id = mem_array(n, sizeof *c.new_id)};
    static const char *const duration_ns[] = {"duration_ns"};
    const bool room = trace_slots_init(&c.duration_ns, trace, duration_ns, 1) && c.acts &&
                      c.dropped && c.order && c.new_id;
    halley_trace *made = NULL;
    halley_status status = room ? halley_builder_new(&c.b, err) : error_nomem(err);
    if (status == HALLEY_OK) {
        const halley_status put = put_all_nodes(&c, err);
        status = edit_finish(&made, c.b, put, err);
    }
    if (status == HALLEY_OK && !count_removed(&c))
        status = error_nomem(err);
    counts->n_nodes += n;
    array_fini(&c.pseudonyms);
    map64_fini(&c.threads);
    map64_fini(&c.streams);
    map64_fini(&c.n_collectives);
    trace_slots_fini(&c.duration_ns);
    free(c.acts);
    free(c.dropped);
    free(c.order);
    free(c.new_id);
    if (status == HALLEY_OK)
        *out = made;
    else
        halley_trace_free(made);
    return status;
}
