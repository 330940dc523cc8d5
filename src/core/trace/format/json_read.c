/*
 * Read traces from JSON: protobuf-JSON objects (concatenated, one per line, in an array,
 * or in our own document). The {"workload_graph": [...]} form of Chakra's JSON feeder is
 * read in graph_json.c.
 *
 * Like protobuf's own reader, this accepts names in lowerCamelCase and as in the schema,
 * integers as numbers or strings, and enums by name or number. A key that is not in the
 * schema is an error, because JSON has no place to keep it.
 */
#include "trace/format/json_read.h"

#include "base/number/number.h"
#include "trace/format/et.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

halley_status json_bad(json_trace *j, const char *what)
{
    return json_error(&j->r, j->err, what);
}

halley_status json_text(json_trace *j, halley_bytes *out, strbuf *scratch)
{
    scratch->n = 0;
    if (!str_utf8_valid(j->r.text))
        return json_bad(j, "text that is not UTF-8, which JSON must be");
    if (!j->r.escaped) {
        *out = (halley_bytes){j->r.text.at, j->r.text.n};
        return HALLEY_OK;
    }
    strbuf_add(scratch, STR(""));
    if (!json_unescape(&j->r, scratch))
        return scratch->failed ? error_nomem(j->err) : json_bad(j, NULL);
    *out = (halley_bytes){scratch->n ? scratch->at : "", scratch->n};
    return HALLEY_OK;
}

/* The next token must be a string. */
halley_status json_take_text(json_trace *j, halley_bytes *out, strbuf *scratch)
{
    const json_token token = json_next(&j->r);
    *out = (halley_bytes){"", 0};
    if (token != JSON_STRING)
        return json_bad(j, token == JSON_ERROR ? NULL : "a string is wanted here");
    return json_text(j, out, scratch);
}

/* Read an integer of the given kind from a number or a string. "1e3" and "5.0" are
 * integers too. */
static bool to_integer(halley_attr_kind kind, str text, uint64_t *bits)
{
    int64_t i;
    uint64_t u;
    double real;
    const bool is_32 = kind == HALLEY_ATTR_INT32 || kind == HALLEY_ATTR_SINT32 ||
                       kind == HALLEY_ATTR_SFIXED32 || kind == HALLEY_ATTR_UINT32 ||
                       kind == HALLEY_ATTR_FIXED32;
    const bool is_unsigned = kind == HALLEY_ATTR_UINT32 || kind == HALLEY_ATTR_UINT64 ||
                             kind == HALLEY_ATTR_FIXED32 || kind == HALLEY_ATTR_FIXED64;
    if (is_unsigned && str_to_u64(text, &u)) {
        *bits = u;
        return !is_32 || u <= UINT32_MAX;
    }
    if (!is_unsigned && str_to_i64(text, &i)) {
        *bits = (uint64_t)i;
        return !is_32 || (i >= INT32_MIN && i <= INT32_MAX);
    }
    halley_attr as_real = {.kind = HALLEY_ATTR_DOUBLE};
    /* From 2^53 on, a double may differ from the integer that was written. */
    if (!number_read(text, &real) || real <= -0x1p53 || real >= 0x1p53)
        return false;
    memcpy(&as_real.bits, &real, sizeof real);
    if (is_unsigned)
        return halley_attr_to_u64(&as_real, bits) && (!is_32 || *bits <= UINT32_MAX);
    if (!halley_attr_to_i64(&as_real, &i))
        return false;
    *bits = (uint64_t)i;
    return !is_32 || (i >= INT32_MIN && i <= INT32_MAX);
}

halley_status json_take_integer(json_trace *j, halley_attr_kind kind, uint64_t *bits)
{
    const json_token token = json_next(&j->r);
    if (token == JSON_ERROR)
        return json_bad(j, NULL);
    if ((token != JSON_NUMBER && token != JSON_STRING) ||
        !to_integer(kind, j->r.text, bits))
        return json_bad(j, "an integer that fits its type is wanted here");
    return HALLEY_OK;
}

static bool to_real(str text, bool quoted, double *out)
{
    if (quoted && str_eq(text, STR("NaN")))
        *out = __builtin_nan("");
    else if (quoted && str_eq(text, STR("Infinity")))
        *out = __builtin_inf();
    else if (quoted && str_eq(text, STR("-Infinity")))
        *out = -__builtin_inf();
    else
        return number_read(text, out);
    return true;
}

static halley_status take_real(json_trace *j, halley_attr_kind kind, uint64_t *bits)
{
    double real;
    const json_token token = json_next(&j->r);
    if (token == JSON_ERROR)
        return json_bad(j, NULL);
    if ((token != JSON_NUMBER && token != JSON_STRING) ||
        !to_real(j->r.text, token == JSON_STRING, &real))
        return json_bad(j, "a number is wanted here");
    if (kind == HALLEY_ATTR_DOUBLE) {
        memcpy(bits, &real, sizeof *bits);
        return HALLEY_OK;
    }
    const float narrow = (float)real;
    uint32_t low;
    if (isinf(narrow) && !isinf(real))
        return json_bad(j, "a number that fits a float is wanted here");
    memcpy(&low, &narrow, sizeof low);
    *bits = low;
    return HALLEY_OK;
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

static halley_status take_base64(json_trace *j, halley_bytes *out, strbuf *scratch)
{
    halley_bytes text;
    TRY(json_take_text(j, &text, &j->other));
    uint32_t group = 0, n_bits = 0;
    scratch->n = 0;
    for (int i = 0; i < 2 && text.n > 0 && text.at[text.n - 1] == '='; i++)
        text.n--;
    for (size_t i = 0; i < text.n; i++) {
        const int digit = base64_digit(text.at[i]);
        if (digit < 0)
            return json_bad(j, "base64 text is wanted here");
        group = group << 6 | (uint32_t)digit;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            strbuf_add_char(scratch, (char)(group >> n_bits & 0xff));
        }
    }
    if (text.n % 4 == 1)
        return json_bad(j, "base64 text is wanted here");
    *out = (halley_bytes){scratch->n ? scratch->at : "", scratch->n};
    return scratch->failed ? error_nomem(j->err) : HALLEY_OK;
}

/* One value of a scalar kind. */
static halley_status take_scalar(json_trace *j, halley_attr_kind kind,
                                 halley_attr_item *item, strbuf *scratch)
{
    json_token token;
    switch (kind) {
    case HALLEY_ATTR_STRING:
        return json_take_text(j, &item->bytes, scratch);
    case HALLEY_ATTR_BYTES:
        return take_base64(j, &item->bytes, scratch);
    case HALLEY_ATTR_DOUBLE:
    case HALLEY_ATTR_FLOAT:
        return take_real(j, kind, &item->bits);
    case HALLEY_ATTR_BOOL:
        token = json_next(&j->r);
        if (token != JSON_TRUE && token != JSON_FALSE)
            return json_bad(j,
                            token == JSON_ERROR ? NULL : "true or false is wanted here");
        item->bits = token == JSON_TRUE;
        return HALLEY_OK;
    default:
        return json_take_integer(j, kind, &item->bits);
    }
}

/* Read "values": [ … ] of a list message. */
static halley_status take_json_elements(json_trace *j, et_list_writer *w)
{
    const json_token token = json_next(&j->r);
    if (token != JSON_ARRAY)
        return json_bad(j, token == JSON_ERROR ? NULL : "an array is wanted here");
    while (!json_closes(&j->r)) {
        halley_attr_item item = {0};
        TRY(take_scalar(j, (halley_attr_kind)(w->kind - 1), &item, &j->scratch));
        if (!et_list_add(w, &item))
            return error_nomem(j->err);
    }
    return json_next(&j->r) == JSON_ARRAY_END ? HALLEY_OK : json_bad(j, NULL);
}

/* Note key `number` of an object. It is an error if the object already has it. */
static halley_status take_once(json_trace *j, uint32_t *seen, uint32_t number)
{
    if (*seen >> number & 1)
        return json_bad(j, "this key is twice in its object");
    *seen |= 1u << number;
    return HALLEY_OK;
}

static halley_status take_list(json_trace *j, et_list_writer *w)
{
    uint32_t seen = 0;
    json_token token = json_next(&j->r);
    if (token != JSON_OBJECT)
        return json_bad(j, token == JSON_ERROR ? NULL : "a list object is wanted here");
    while ((token = json_next(&j->r)) == JSON_KEY) {
        if (!str_eq(j->r.text, STR("values")))
            return json_bad(j, "a list has no key but \"values\"");
        TRY(take_once(j, &seen, 0));
        if (!json_take_null(&j->r))
            TRY(take_json_elements(j, w));
    }
    if (token != JSON_OBJECT_END)
        return json_bad(j, NULL);
    return et_list_finish(w) ? HALLEY_OK : error_nomem(j->err);
}

/* "ctrl_deps" or "ctrlDeps"? */
static bool is_json_key(str key, const char *name)
{
    if (str_eq(key, str_from(name)))
        return true;
    size_t i = 0;
    for (; *name; name++) {
        char want = *name;
        if (want == '_') {
            want = name[1];
            if (want >= 'a' && want <= 'z')
                want = (char)(want - 'a' + 'A');
            name++;
        }
        if (i >= key.n || key.at[i++] != want)
            return false;
    }
    return i == key.n;
}

/* The kind of "int64Val" or "int64_val"; NONE = it is another key. */
static halley_attr_kind kind_of_key(str key)
{
    for (int k = HALLEY_ATTR_DOUBLE; k < HALLEY_ATTR_END; k++) {
        const char *const name = halley_attr_kind_name((halley_attr_kind)k);
        if (is_json_key(key, name))
            return (halley_attr_kind)k;
    }
    return HALLEY_ATTR_NONE;
}

/* Read one key of an attribute and its value. null means absent. */
static halley_status take_attr_key(json_trace *j, uint32_t *seen, halley_attr *a,
                                   et_list_writer *list)
{
    const str key = j->r.text;
    const bool is_name = is_json_key(key, "name");
    const bool is_doc = is_json_key(key, "doc_string");
    const halley_attr_kind kind = is_name || is_doc ? HALLEY_ATTR_NONE : kind_of_key(key);
    if (!is_name && !is_doc && kind == HALLEY_ATTR_NONE)
        return json_bad(j, "this key is not in Chakra's attribute schema");
    if (is_name || is_doc)
        TRY(take_once(j, seen, is_name ? 0 : 1));
    if (json_take_null(&j->r))
        return HALLEY_OK;
    if (is_name)
        return json_take_text(j, &a->name, &j->name);
    if (is_doc)
        return json_take_text(j, &a->doc, &j->doc);
    if (a->kind != HALLEY_ATTR_NONE)
        return json_bad(j, "an attribute has one value, here is a second");
    a->kind = kind;
    if (halley_attr_is_list(kind)) {
        list->kind = kind;
        TRY(take_list(j, list));
        a->bytes = (halley_bytes){(const char *)list->bytes.at, list->bytes.n};
        return HALLEY_OK;
    }
    halley_attr_item item = {0};
    TRY(take_scalar(j, kind, &item, &j->scratch));
    a->bits = item.bits;
    a->bytes = item.bytes;
    return HALLEY_OK;
}

/* Read an attribute object, whose '{' has been read, and pass it to `add`. */
static halley_status take_json_attr(json_trace *j, halley_status add(halley_builder *,
                                                                     const halley_attr *))
{
    halley_attr a = {.name = {"", 0}, .doc = {"", 0}};
    et_list_writer list = {0};
    uint32_t seen = 0;
    halley_status status = HALLEY_OK;
    json_token token = JSON_KEY;
    while (!status && (token = json_next(&j->r)) == JSON_KEY)
        status = take_attr_key(j, &seen, &a, &list);
    if (!status && token != JSON_OBJECT_END)
        status = json_bad(j, NULL);
    if (!status)
        status = add(j->b, &a);
    array_fini(&list.bytes);
    return status;
}

static halley_status take_attrs(json_trace *j,
                                halley_status add(halley_builder *, const halley_attr *))
{
    json_token token = json_next(&j->r);
    if (token != JSON_ARRAY)
        return json_bad(j, token == JSON_ERROR ? NULL
                                               : "an array of attributes is wanted here");
    while ((token = json_next(&j->r)) == JSON_OBJECT)
        TRY(take_json_attr(j, add));
    return token == JSON_ARRAY_END
               ? HALLEY_OK
               : json_bad(j, token == JSON_ERROR ? NULL : "an attribute is an object");
}

halley_status json_take_ids(json_trace *j, u64_array *to)
{
    json_token token = json_next(&j->r);
    if (token != JSON_ARRAY)
        return json_bad(j, token == JSON_ERROR ? NULL
                                               : "an array of node ids is wanted here");
    while ((token = json_next(&j->r)) == JSON_NUMBER || token == JSON_STRING) {
        uint64_t id;
        if (!to_integer(HALLEY_ATTR_UINT64, j->r.text, &id))
            return json_bad(j, "a node id is a whole number from 0 to 2^64-1");
        if (!array_push(to, id))
            return error_nomem(j->err);
    }
    return token == JSON_ARRAY_END
               ? HALLEY_OK
               : json_bad(j, token == JSON_ERROR ? NULL : "a node id is a number");
}

static halley_status take_json_io(json_trace *j, halley_io *io, strbuf *texts)
{
    json_token token = json_next(&j->r);
    if (token != JSON_OBJECT)
        return json_bad(j, token == JSON_ERROR ? NULL : "an object is wanted here");
    static const char *const keys[] = {"values", "shapes", "types"};
    halley_bytes *const to[] = {&io->values, &io->shapes, &io->types};
    uint32_t seen = 0;
    io->present = true;
    while ((token = json_next(&j->r)) == JSON_KEY) {
        uint32_t i = 0;
        while (i < 3 && !is_json_key(j->r.text, keys[i]))
            i++;
        if (i == 3)
            return json_bad(j, "inputs and outputs have values, shapes and types only");
        TRY(take_once(j, &seen, i));
        if (!json_take_null(&j->r))
            TRY(json_take_text(j, to[i], &texts[i]));
    }
    return token == JSON_OBJECT_END ? HALLEY_OK : json_bad(j, NULL);
}

static halley_status take_type(json_trace *j, uint32_t *type)
{
    const json_token token = json_next(&j->r);
    uint64_t bits;
    if (token == JSON_STRING)
        for (uint32_t i = 0; i < HALLEY_N_NODE_TYPES; i++)
            if (str_eq(j->r.text, str_from(halley_node_type_name(i)))) {
                *type = i;
                return HALLEY_OK;
            }
    if (token != JSON_NUMBER || !to_integer(HALLEY_ATTR_INT32, j->r.text, &bits))
        return json_bad(j, token == JSON_ERROR
                               ? NULL
                               : "a node type such as COMP_NODE is wanted here");
    *type = (uint32_t)bits;
    return HALLEY_OK;
}

/*
 * The fields of a node may come in any order, but the builder needs the id first. So
 * earlier fields are stored: numbers as values, attributes as their position.
 */
typedef struct node_parts {
    halley_bytes name, version;
    uint64_t id, start, duration;
    uint32_t type;
    halley_io inputs, outputs;
    json_reader attrs; /* position of the attributes, if there are any */
    uint32_t seen;     /* keys, as bits */
    bool has_attrs;
} node_parts;

/* Numbers of the fields, except for the version, which only metadata has. */
enum { KEY_VERSION = 0, KEY_ATTR = 10 };
static const char *const node_keys[] = {"version",
                                        "id",
                                        "name",
                                        "type",
                                        "ctrl_deps",
                                        "data_deps",
                                        "start_time_micros",
                                        "duration_micros",
                                        "inputs",
                                        "outputs",
                                        "attr"};

static halley_status take_node_value(json_trace *j, node_parts *p, uint32_t key)
{
    switch (key) {
    case 1:
        return json_take_integer(j, HALLEY_ATTR_UINT64, &p->id);
    case 2:
        return json_take_text(j, &p->name, &j->node_name);
    case 3:
        return take_type(j, &p->type);
    case 4:
        return json_take_ids(j, &j->ctrl);
    case 5:
        return json_take_ids(j, &j->data);
    case 6:
        return json_take_integer(j, HALLEY_ATTR_UINT64, &p->start);
    case 7:
        return json_take_integer(j, HALLEY_ATTR_UINT64, &p->duration);
    case 8:
        return take_json_io(j, &p->inputs, j->io);
    case 9:
        return take_json_io(j, &p->outputs, j->io + 3);
    case KEY_ATTR:
        p->attrs = j->r;
        p->has_attrs = true;
        return json_skip(&j->r, json_next(&j->r)) ? HALLEY_OK : json_bad(j, NULL);
    default:
        return json_take_text(j, &p->version, &j->version);
    }
}

/* Read a key of a node or of metadata, and its value. null means absent. */
static halley_status take_node_key(json_trace *j, node_parts *p, bool may_be_meta)
{
    const uint32_t n = sizeof node_keys / sizeof *node_keys;
    uint32_t key = may_be_meta ? KEY_VERSION : KEY_VERSION + 1;
    while (key < n && !is_json_key(j->r.text, node_keys[key]))
        key++;
    if (key == n) {
        char what[128];
        const str name = j->r.text;
        snprintf(what, sizeof what, "the key \"%.*s%s\" is not in Chakra's node schema",
                 (int)(name.n < 60 ? name.n : 60), name.at, name.n < 60 ? "" : "...");
        return json_bad(j, what);
    }
    TRY(take_once(j, &p->seen, key));
    return json_take_null(&j->r) ? HALLEY_OK : take_node_value(j, p, key);
}

static halley_status add_json_node(json_trace *j, const node_parts *p)
{
    TRY(halley_builder_node(j->b, p->id, p->type, p->name));
    TRY(halley_builder_time(j->b, p->start, p->duration));
    for (size_t i = 0; i < j->ctrl.n; i++)
        TRY(halley_builder_ctrl(j->b, j->ctrl.at[i]));
    for (size_t i = 0; i < j->data.n; i++)
        TRY(halley_builder_data(j->b, j->data.at[i]));
    TRY(halley_builder_inputs(j->b, &p->inputs));
    TRY(halley_builder_outputs(j->b, &p->outputs));
    if (!p->has_attrs)
        return HALLEY_OK;
    const json_reader after = j->r;
    j->r = p->attrs;
    TRY(take_attrs(j, halley_builder_attr));
    j->r = after;
    return HALLEY_OK;
}

/* Add the object as metadata. It must come first and have only version and attr. */
static halley_status add_meta(json_trace *j, const node_parts *p)
{
    builder_set_metadata(j->b, true);
    TRY(halley_builder_version(j->b, p->version));
    if (!p->has_attrs)
        return HALLEY_OK;
    const json_reader after = j->r;
    j->r = p->attrs;
    TRY(take_attrs(j, halley_builder_metadata));
    j->r = after;
    return HALLEY_OK;
}

/* What an object may be. The first one is metadata if it has only keys of metadata. */
typedef enum object_kind { OBJECT_NODE, OBJECT_FIRST, OBJECT_META } object_kind;

/* Read the object whose '{' and (unless it is empty) first key have been read. */
static halley_status take_object(json_trace *j, json_token token, object_kind kind)
{
    node_parts p = {.name = {"", 0}, .version = {"", 0}};
    j->ctrl.n = j->data.n = 0;
    for (; token == JSON_KEY; token = json_next(&j->r))
        TRY(take_node_key(j, &p, kind != OBJECT_NODE));
    if (token != JSON_OBJECT_END)
        return json_bad(j, NULL);
    const bool has_version = p.seen >> KEY_VERSION & 1;
    const bool has_more = p.seen & ~(1u << KEY_VERSION | 1u << KEY_ATTR);
    if (has_more && (has_version || kind == OBJECT_META))
        return json_bad(j, "metadata has a version and attributes only");
    return kind == OBJECT_NODE || has_more ? add_json_node(j, &p) : add_meta(j, &p);
}

/* Read {"metadata": {…}, "nodes": […]}, whose first key has been read. */
static halley_status take_document(json_trace *j)
{
    json_token token = JSON_KEY;
    uint32_t seen = 0;
    for (; token == JSON_KEY; token = json_next(&j->r)) {
        const bool meta = str_eq(j->r.text, STR("metadata"));
        if (!meta && !str_eq(j->r.text, STR("nodes")))
            return json_bad(j, "a trace document has metadata and nodes only");
        TRY(take_once(j, &seen, meta));
        token = json_next(&j->r);
        if (token != (meta ? JSON_OBJECT : JSON_ARRAY))
            return json_bad(
                j, token == JSON_ERROR ? NULL : "metadata is an object, nodes an array");
        if (meta) {
            TRY(take_object(j, json_next(&j->r), OBJECT_META));
            continue;
        }
        bool any = false;
        for (; (token = json_next(&j->r)) == JSON_OBJECT; any = true)
            TRY(take_object(j, json_next(&j->r), OBJECT_NODE));
        if (token != JSON_ARRAY_END)
            return json_bad(j, token == JSON_ERROR ? NULL : "a node is an object");
        if (!any) /* an empty .et would not be a trace */
            builder_set_metadata(j->b, true);
    }
    return token == JSON_OBJECT_END ? HALLEY_OK : json_bad(j, NULL);
}

/* Does the object whose first key has been read have a key workload_graph? */
static bool is_graph(const json_trace *j)
{
    json_reader ahead = j->r;
    json_token token = JSON_KEY;
    for (; token == JSON_KEY; token = json_next(&ahead)) {
        if (str_eq(ahead.text, STR("workload_graph")))
            return true;
        if (!json_skip(&ahead, json_next(&ahead)))
            break;
    }
    return false;
}

/* Read the nodes, whichever form the first object has. */
static halley_status take_json_nodes(json_trace *j)
{
    bool first = true, whole = false;
    json_token token = json_next(&j->r);
    const bool in_array = token == JSON_ARRAY;
    if (in_array)
        token = json_next(&j->r);
    for (; token == JSON_OBJECT; token = json_next(&j->r), first = false) {
        token = json_next(&j->r);
        const bool has_key = first && !in_array && token == JSON_KEY;
        if (has_key &&
            (str_eq(j->r.text, STR("metadata")) || str_eq(j->r.text, STR("nodes")))) {
            whole = true;
            TRY(take_document(j));
        } else if (has_key && is_graph(j)) {
            whole = true;
            j->form = HALLEY_FORM_GRAPH_JSON;
            TRY(json_take_graph(j));
        } else if (whole) {
            return json_bad(j, "there is something after the trace document");
        } else {
            TRY(take_object(j, token, first ? OBJECT_FIRST : OBJECT_NODE));
        }
    }
    if (token == JSON_ERROR)
        return json_bad(j, NULL);
    if (in_array ? token != JSON_ARRAY_END || json_next(&j->r) != JSON_END
                 : token != JSON_END)
        return json_bad(j,
                        j->r.problem ? NULL : "a trace in JSON consists of objects only");
    return first ? json_bad(j, "no trace in this file: it has no objects") : HALLEY_OK;
}

halley_status json_trace_read(halley_trace **out, file_input *in, const char *path,
                              const halley_load_opts *opts, halley_error *err)
{
    halley_trace *trace = NULL;
    json_trace j = {.err = err, .form = HALLEY_FORM_JSON};
    json_open(&j.r, (str){(const char *)in->at, in->n});
    halley_status status = halley_builder_new(&j.b, err);
    if (!status) {
        builder_set_metadata(j.b, false);
        builder_set_max_nodes(j.b, opts->max_nodes);
        halley_error first = {0};
        j.err = &first;
        status = take_json_nodes(&j);
        halley_error built = {0};
        const halley_status finished =
            builder_finish_as(&trace, j.b, path, j.form, &built);
        if (status == HALLEY_OK) {
            status = finished;
            first = built;
        }
        if (status && err)
            *err = first.code ? first : built;
    }
    if (status)
        halley_trace_free(trace);
    else
        *out = trace;
    strbuf *const texts[] = {&j.scratch, &j.other,     &j.name,
                             &j.doc,     &j.node_name, &j.version};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        strbuf_fini(texts[i]);
    for (size_t i = 0; i < 6; i++)
        strbuf_fini(&j.io[i]);
    array_fini(&j.ctrl);
    array_fini(&j.data);
    file_input_close(in);
    return status;
}
