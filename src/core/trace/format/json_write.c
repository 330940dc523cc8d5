/*
 * Write traces as protobuf-JSON: names in lowerCamelCase, 64-bit integers as strings,
 * bytes in base64, defaults left out. There are three styles of the same objects: one
 * document, one object per line, and the indented objects without separators that
 * Chakra's jsonizer writes.
 */
#include "base/call.h"
#include "base/number/number.h"
#include "base/utf8.h"
#include "trace/format/et.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FLUSH_BYTES = 1 << 20, MAX_DEPTH = 8 };

typedef struct json_writer {
    strbuf out;
    file_output *to; /* NULL: keep everything in `out` */
    const halley_trace *t;
    bool indented; /* Chakra's layout, ASCII only */
    bool lossy;
    uint64_t n_dropped;
    uint32_t depth;
    bool has_items[MAX_DEPTH]; /* at each depth: an item has been written */
    halley_status status;
    halley_error *err;
} json_writer;

static void new_line(json_writer *w)
{
    if (!w->indented)
        return;
    strbuf_add_char(&w->out, '\n');
    for (uint32_t i = 0; i < w->depth; i++)
        strbuf_add(&w->out, STR("  "));
}

static void next_item(json_writer *w)
{
    if (w->has_items[w->depth])
        strbuf_add(&w->out, w->indented ? STR(",") : STR(", "));
    w->has_items[w->depth] = true;
    if (w->depth)
        new_line(w);
}

static void open_scope(json_writer *w, char bracket)
{
    strbuf_add_char(&w->out, bracket);
    w->has_items[++w->depth] = false;
}

static void close_scope(json_writer *w, char bracket)
{
    const bool any = w->has_items[w->depth--];
    if (any)
        new_line(w);
    strbuf_add_char(&w->out, bracket);
}

static void put_key(json_writer *w, const char *key)
{
    next_item(w);
    strbuf_printf(&w->out, "\"%s\": ", key);
}

/* Something cannot be represented in JSON. Count it if that was requested; otherwise
 * stop. */
static void refuse_loss(json_writer *w, const char *what)
{
    w->n_dropped++;
    if (w->lossy || w->status)
        return;
    w->status =
        error_set(w->err, HALLEY_EINVAL,
                  "%s, which JSON cannot carry; convert to .et, or ask for a lossy "
                  "conversion",
                  what);
}

/* The next character; U+FFFD for an invalid byte. */
static uint32_t next_code_point(str *s)
{
    const uint8_t *const at = (const uint8_t *)s->at;
    const size_t n = utf8_length(at, s->n);
    uint32_t code = n == 0 ? 0xfffd : n == 1 ? at[0] : at[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++)
        code = code << 6 | (at[i] & 0x3f);
    s->at += n > 0 ? n : 1;
    s->n -= n > 0 ? n : 1;
    return code;
}

/* Write text in ASCII, like Python's json. */
static void put_ascii(strbuf *out, str s)
{
    strbuf_add_char(out, '"');
    while (s.n > 0) {
        const uint32_t code = next_code_point(&s);
        const char *const short_form =
            code < 0x80 ? strchr("\"\"\\\\\bb\ff\nn\rr\tt", (int)code) : NULL;
        if (code >= 0x10000) {
            strbuf_printf(out, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
                          0xdc00 + (code & 0x3ff));
        } else if (code >= 0x80 || code == 0) {
            strbuf_printf(out, "\\u%04x", code);
        } else if (short_form && (code < 0x20 || code == '"' || code == '\\')) {
            strbuf_add_char(out, '\\');
            strbuf_add_char(out, short_form[1]);
        } else if (code < 0x20) {
            strbuf_printf(out, "\\u%04x", code);
        } else {
            strbuf_add_char(out, (char)code);
        }
    }
    strbuf_add_char(out, '"');
}

static void put_text(json_writer *w, halley_bytes bytes, const char *what)
{
    const str s = {bytes.at, bytes.n};
    if (!str_utf8_valid(s))
        refuse_loss(w, what);
    if (w->indented)
        put_ascii(&w->out, s);
    else
        strbuf_json(&w->out, s);
}

static void put_base64(json_writer *w, halley_bytes bytes)
{
    strbuf_add_char(&w->out, '"');
    strbuf_base64(&w->out, (str){bytes.at, bytes.n});
    strbuf_add_char(&w->out, '"');
}

static void put_real(strbuf *out, double value)
{
    if (isnan(value))
        strbuf_add(out, STR("\"NaN\""));
    else if (isinf(value))
        strbuf_add(out, value > 0 ? STR("\"Infinity\"") : STR("\"-Infinity\""));
    else
        strbuf_add(out, str_from(number_repr(value).at));
}

/* The shortest decimal number that reads back as the same float. */
static double shortest_float(uint64_t bits)
{
    float f;
    const uint32_t low = (uint32_t)bits;
    memcpy(&f, &low, sizeof f);
    if (!isfinite(f))
        return (double)f;
    double value = 0;
    for (int n = 6; n <= 9; n++)
        if (number_read(str_from(number_digits((double)f, n).at), &value) &&
            (float)value == f)
            break;
    return value;
}

/* A NaN with unusual bits would be read back changed. */
static void check_nan(json_writer *w, halley_attr_kind kind, uint64_t bits)
{
    const bool nan = kind == HALLEY_ATTR_DOUBLE
                         ? (bits & INT64_MAX) > UINT64_C(0x7ff0000000000000)
                         : (bits & INT32_MAX) > 0x7f800000u;
    const uint64_t usual =
        kind == HALLEY_ATTR_DOUBLE ? UINT64_C(0x7ff8000000000000) : 0x7fc00000u;
    if (nan && bits != usual)
        refuse_loss(w, "a NaN with a payload");
}

static void put_value(json_writer *w, halley_attr_kind kind, const halley_attr_item *item)
{
    double real;
    switch (kind) {
    case HALLEY_ATTR_DOUBLE:
        check_nan(w, kind, item->bits);
        memcpy(&real, &item->bits, sizeof real);
        put_real(&w->out, real);
        return;
    case HALLEY_ATTR_FLOAT:
        check_nan(w, kind, item->bits);
        put_real(&w->out, shortest_float(item->bits));
        return;
    case HALLEY_ATTR_BOOL:
        strbuf_add(&w->out, item->bits ? STR("true") : STR("false"));
        return;
    case HALLEY_ATTR_STRING:
        put_text(w, item->bytes, "an attribute has text that is not UTF-8");
        return;
    case HALLEY_ATTR_BYTES:
        put_base64(w, item->bytes);
        return;
    case HALLEY_ATTR_INT32:
    case HALLEY_ATTR_SINT32:
    case HALLEY_ATTR_SFIXED32:
        strbuf_printf(&w->out, "%lld", (long long)item->bits);
        return;
    case HALLEY_ATTR_UINT32:
    case HALLEY_ATTR_FIXED32:
        strbuf_printf(&w->out, "%llu", (unsigned long long)item->bits);
        return;
    case HALLEY_ATTR_UINT64:
    case HALLEY_ATTR_FIXED64:
        strbuf_printf(&w->out, "\"%llu\"", (unsigned long long)item->bits);
        return;
    default:
        strbuf_printf(&w->out, "\"%lld\"", (long long)item->bits);
    }
}

/* "int64_val" → "int64Val". */
static void put_kind_key(json_writer *w, halley_attr_kind kind)
{
    const char *const name = halley_attr_kind_name(kind);
    const char *const bar = strchr(name, '_');
    next_item(w);
    strbuf_printf(&w->out, "\"%.*s%c%s\": ", (int)(bar - name), name, bar[1] - 'a' + 'A',
                  bar + 2);
}

/* Does a list have fields that are not its elements? */
static bool list_has_unknown(const halley_attr *a, size_t cursor)
{
    const bool text = a->kind >= HALLEY_ATTR_STRING;
    if (cursor > 0 || a->bytes.n == 0 || text)
        return cursor < a->bytes.n;
    return a->bytes.at[0] != 0x0a || a->bytes.n > 2;
}

static void put_list(json_writer *w, const halley_attr *a)
{
    size_t cursor = 0, last = 0;
    halley_attr_item item;
    open_scope(w, '{');
    bool any = false;
    while (halley_attr_list_next(a, &cursor, &item)) {
        if (!any) {
            put_key(w, "values");
            open_scope(w, '[');
            any = true;
        }
        next_item(w);
        put_value(w, (halley_attr_kind)(a->kind - 1), &item);
        last = cursor;
    }
    if (any)
        close_scope(w, ']');
    if (list_has_unknown(a, last))
        refuse_loss(w, "a list has unknown fields");
    close_scope(w, '}');
}

static void put_json_attr(json_writer *w, const halley_attr *a)
{
    next_item(w);
    open_scope(w, '{');
    if (a->name.n) {
        put_key(w, "name");
        put_text(w, a->name, "an attribute has a name that is not UTF-8");
    }
    if (a->doc.n) {
        put_key(w, "docString");
        put_text(w, a->doc, "an attribute has a doc_string that is not UTF-8");
    }
    if (a->kind != HALLEY_ATTR_NONE) {
        const halley_attr_item item = {a->bits, a->bytes};
        put_kind_key(w, a->kind);
        if (halley_attr_is_list(a->kind))
            put_list(w, a);
        else
            put_value(w, a->kind, &item);
    }
    if (a->unknown.n)
        refuse_loss(w, "an attribute has unknown fields");
    close_scope(w, '}');
}

static void put_u64(json_writer *w, const char *key, uint64_t value)
{
    if (value == 0)
        return;
    put_key(w, key);
    strbuf_printf(&w->out, "\"%llu\"", (unsigned long long)value);
}

static void put_named_text(json_writer *w, const char *key, halley_bytes text,
                           const char *what)
{
    if (text.n == 0)
        return;
    put_key(w, key);
    put_text(w, text, what);
}

static void put_json_io(json_writer *w, const char *key, halley_io io)
{
    if (!io.present)
        return;
    put_key(w, key);
    open_scope(w, '{');
    put_named_text(w, "values", io.values, "inputs or outputs are not UTF-8");
    put_named_text(w, "shapes", io.shapes, "inputs or outputs are not UTF-8");
    put_named_text(w, "types", io.types, "inputs or outputs are not UTF-8");
    if (io.unknown.n)
        refuse_loss(w, "inputs or outputs have unknown fields");
    close_scope(w, '}');
}

static void put_json_deps(json_writer *w, const char *key, uint32_t node, uint32_t n,
                          halley_dep (*get)(const halley_trace *, uint32_t, uint32_t))
{
    if (n == 0)
        return;
    put_key(w, key);
    open_scope(w, '[');
    for (uint32_t i = 0; i < n; i++) {
        next_item(w);
        strbuf_printf(&w->out, "\"%llu\"", (unsigned long long)get(w->t, node, i).id);
    }
    close_scope(w, ']');
}

static void put_json_type(json_writer *w, uint32_t type)
{
    if (type == 0)
        return;
    put_key(w, "type");
    if (type < HALLEY_N_NODE_TYPES)
        strbuf_printf(&w->out, "\"%s\"", halley_node_type_name(type));
    else
        strbuf_printf(&w->out, "%d", (int)(int32_t)type);
}

static void put_json_node(json_writer *w, uint32_t i)
{
    const halley_trace *const t = w->t;
    open_scope(w, '{');
    /* Without metadata, a first object that has only attributes would be read as
     * metadata. */
    if (i == 0 && halley_node_id(t, 0) == 0 && !halley_trace_has_metadata(t)) {
        put_key(w, "id");
        strbuf_add(&w->out, STR("\"0\""));
    }
    put_u64(w, "id", halley_node_id(t, i));
    put_named_text(w, "name", halley_node_name(t, i), "the name is not UTF-8");
    put_json_type(w, halley_node_type_of(t, i));
    put_json_deps(w, "ctrlDeps", i, halley_node_ctrl_count(t, i), halley_node_ctrl);
    put_json_deps(w, "dataDeps", i, halley_node_data_count(t, i), halley_node_data);
    put_u64(w, "startTimeMicros", halley_node_start_us(t, i));
    put_u64(w, "durationMicros", halley_node_duration_us(t, i));
    put_json_io(w, "inputs", halley_node_inputs(t, i));
    put_json_io(w, "outputs", halley_node_outputs(t, i));
    const uint32_t n = halley_node_attr_count(t, i);
    if (n) {
        put_key(w, "attr");
        open_scope(w, '[');
        for (uint32_t k = 0; k < n; k++) {
            const halley_attr a = halley_node_attr(t, i, k);
            put_json_attr(w, &a);
        }
        close_scope(w, ']');
    }
    if (halley_node_unknown(t, i).n)
        refuse_loss(w, "there are unknown fields");
    close_scope(w, '}');
}

static void put_json_meta(json_writer *w)
{
    const halley_trace *const t = w->t;
    open_scope(w, '{');
    put_named_text(w, "version", halley_trace_version(t), "the version is not UTF-8");
    const uint32_t n = halley_trace_metadata_count(t);
    if (n) {
        put_key(w, "attr");
        open_scope(w, '[');
        for (uint32_t i = 0; i < n; i++) {
            const halley_attr a = halley_trace_metadata(t, i);
            put_json_attr(w, &a);
        }
        close_scope(w, ']');
    }
    if (halley_trace_metadata_unknown(t).n)
        refuse_loss(w, "the metadata has unknown fields");
    close_scope(w, '}');
}

static void flush_json(json_writer *w, size_t at_least)
{
    if (!w->to || w->out.n < at_least)
        return;
    file_output_write(w->to, w->out.at, w->out.n);
    w->out.n = 0;
}

static halley_status write_json_nodes(json_writer *w, halley_json_style style)
{
    const halley_trace *const t = w->t;
    const bool document = style == HALLEY_JSON_DOCUMENT;
    const str after = style == HALLEY_JSON_CHAKRA ? STR("") : STR("\n");
    if (document)
        strbuf_add(&w->out, STR("{"));
    if (halley_trace_has_metadata(t)) {
        if (document)
            strbuf_add(&w->out, STR("\"metadata\": "));
        put_json_meta(w);
        strbuf_add(&w->out, document ? STR(",\n") : after);
    }
    if (document)
        strbuf_add(&w->out, STR("\"nodes\": ["));
    for (uint32_t i = 0; i < halley_trace_count(t) && !w->status; i++) {
        w->status = call_check(w->err);
        if (document)
            strbuf_add(&w->out, i ? STR(",\n") : STR("\n"));
        put_json_node(w, i);
        if (!document)
            strbuf_add(&w->out, after);
        if (w->status)
            error_at_node(w->err, halley_node_id(t, i));
        flush_json(w, FLUSH_BYTES);
    }
    if (document)
        strbuf_add(&w->out, STR("\n]}\n"));
    if (w->out.failed && !w->status)
        w->status = error_nomem(w->err);
    flush_json(w, 1);
    return w->status;
}

halley_status json_trace_encode(strbuf *out, const halley_trace *trace,
                                halley_json_style style, bool lossy, uint64_t *n_dropped,
                                halley_error *err)
{
    json_writer w = {
        .t = trace, .indented = style == HALLEY_JSON_CHAKRA, .lossy = lossy, .err = err};
    const halley_status status = write_json_nodes(&w, style);
    if (status) {
        strbuf_fini(&w.out);
        return status;
    }
    *out = w.out;
    if (n_dropped)
        *n_dropped = w.n_dropped;
    return HALLEY_OK;
}

halley_status halley_trace_save_json(const halley_trace *trace, const char *path,
                                     halley_json_style style, bool lossy,
                                     uint64_t *n_dropped, halley_error *err)
{
    json_writer w = {
        .t = trace, .indented = style == HALLEY_JSON_CHAKRA, .lossy = lossy, .err = err};
    TRY(file_output_open(&w.to, path, err));
    halley_status status = write_json_nodes(&w, style);
    if (status) {
        file_output_abort(w.to);
        error_at_file(err, halley_trace_path(trace));
    } else {
        status = file_output_commit(w.to, err);
    }
    strbuf_fini(&w.out);
    if (!status && n_dropped)
        *n_dropped = w.n_dropped;
    return status;
}
