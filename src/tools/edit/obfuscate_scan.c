/*
 * Searches for runs of 8 or more printable bytes that input and output have in common.
 *
 * The output holds little text. Each distinct run of its printable bytes is cut into all
 * windows of 8 bytes. Windows of the schema's own words and of texts that the user keeps
 * are removed. The remaining windows go into a table, and every window of every text of
 * the input is looked up in it. A small bitmap answers nearly all lookups. Bytes from
 * 128 on are numbers far more often than text, so they count only if the input has such
 * text.
 */
#include "base/error.h"
#include "base/hash.h"
#include "base/pool.h"
#include "edit/obfuscate.h"
#include "trace/format/et.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 8, BITMAP_BITS = 19, RECENT_BITS = 11, RECENT = 1 << RECENT_BITS };

/* What was found in the input. */
typedef struct scan_found {
    uint64_t n_text_bytes;
    bool met_beyond; /* it has bytes beyond ASCII */
} scan_found;

typedef struct scan {
    const halley_obfuscate_opts *opts;
    map64 runs;         /* hash of each run seen */
    str recent[RECENT]; /* some of the last runs, by their first and last bytes */
    map64 windows;      /* of the output */
    map64 allowed;
    uint64_t bitmap[(1 << BITMAP_BITS) / 64];
    bool in_windows[256]; /* by byte: some window contains it */
    bool beyond_ascii;    /* bytes from 128 on also count as text */
    bool *texts;          /* by entry of shapes.flat of the input: may hold text */
    uint32_t n_threads;
    scan_found found;
    bool failed;
} scan;

static uint64_t window_at(const char *at)
{
    assert(at != NULL);
    uint64_t w;
    memcpy(&w, at, WINDOW);
    return w;
}

static uint32_t bit_of(uint64_t window)
{
    return (uint32_t)(window * UINT64_C(0x9e3779b97f4a7c15) >> (64 - BITMAP_BITS));
}

static bool is_beyond_ascii(uint64_t window)
{
    return (window & UINT64_C(0x8080808080808080)) != 0;
}

static bool is_printable(const scan *s, uint8_t c)
{
    return c >= 0x20 && (c < 0x7f || (c > 0x7f && s->beyond_ascii));
}

static void allow_text(scan *s, str text)
{
    for (size_t i = 0; i + WINDOW <= text.n; i++)
        s->failed |= !map64_set(&s->allowed, window_at(text.at + i), 1);
}

/* Recognizes runs that recur often, so that most need not be hashed completely. */
static bool is_recent(scan *s, str run)
{
    const uint64_t ends = window_at(run.at) ^ window_at(run.at + run.n - WINDOW) << 1;
    str *const last =
        &s->recent[ends * UINT64_C(0x9e3779b97f4a7c15) >> (64 - RECENT_BITS)];
    const bool same = str_eq(*last, run);
    *last = run;
    return same;
}

static void index_run(scan *s, str run)
{
    uint32_t one = 1;
    bool fresh = false;
    if (is_recent(s, run))
        return;
    s->failed |= !map64_put(&s->runs, hash_bytes(run.at, run.n, 0), &one, &fresh);
    if (!fresh)
        return;
    for (size_t i = 0; i + WINDOW <= run.n; i++) {
        const uint64_t w = window_at(run.at + i);
        if (map64_find(&s->allowed, w) != HASH_NONE)
            continue;
        s->failed |= !map64_set(&s->windows, w, 1);
        s->bitmap[bit_of(w) / 64] |= UINT64_C(1) << (bit_of(w) % 64);
        for (size_t k = 0; k < WINDOW; k++)
            s->in_windows[(uint8_t)run.at[i + k]] = true;
    }
}

/* Tests the last byte of each window first. In a file that is mostly numbers, it rules
 * out most windows at once. */
static void index_output(scan *s, const uint8_t *at, size_t n)
{
    assert(at != NULL || n == 0);
    for (size_t i = 0; i + WINDOW <= n && !s->failed;) {
        size_t k = WINDOW;
        while (k > 0 && is_printable(s, at[i + k - 1]))
            k--;
        if (k > 0) {
            i += k;
            continue;
        }
        size_t end = i + WINDOW;
        while (end < n && is_printable(s, at[end]))
            end++;
        index_run(s, (str){(const char *)at + i, end - i});
        i = end + 1;
    }
}

static bool has_bytes_beyond_ascii(str text)
{
    uint64_t all = 0;
    size_t i = 0;
    for (; i + WINDOW <= text.n; i += WINDOW)
        all |= window_at(text.at + i);
    for (; i < text.n; i++)
        all |= (uint8_t)text.at[i];
    return is_beyond_ascii(all);
}

/* The position of a window of the text that the output also has, or n. A byte that
 * occurs in no window of the output rules out all windows that contain it. */
static size_t find_in(const scan *s, scan_found *found, str text)
{
    assert(found != NULL);
    found->n_text_bytes += text.n;
    for (size_t i = 0; i + WINDOW <= text.n;) {
        size_t k = WINDOW;
        while (k > 0 && s->in_windows[(uint8_t)text.at[i + k - 1]])
            k--;
        if (k > 0) {
            i += k;
            continue;
        }
        const uint64_t w = window_at(text.at + i);
        const uint32_t bit = bit_of(w);
        if ((s->bitmap[bit / 64] >> (bit % 64) & 1) != 0 &&
            map64_find(&s->windows, w) != HASH_NONE)
            return i;
        i++;
    }
    found->met_beyond |= has_bytes_beyond_ascii(text);
    return text.n;
}

static bool has_text(halley_attr_kind kind)
{
    return kind >= HALLEY_ATTR_STRING && kind < HALLEY_ATTR_END;
}

static halley_bytes leak_in(const scan *s, scan_found *found, str text)
{
    const size_t at = find_in(s, found, text);
    return at < text.n ? (halley_bytes){text.at + at, WINDOW} : (halley_bytes){0};
}

/* Finds which attributes can hold text, by entry of shapes.flat. */
static void find_texts(bool *out, const attr_shapes *s)
{
    for (uint32_t i = 0; i < s->flat.n; i++) {
        const attr_desc *const d = &s->descs.at[s->flat.at[i].desc];
        out[i] = has_text((halley_attr_kind)d->kind) || d->has_doc || d->has_unknown;
    }
}

/* The first text of a node that is found in the output. {NULL, 0}: none. Inputs and
 * outputs are searched in their encoded form, all three texts at once. */
static halley_bytes leak_of(const scan *s, scan_found *found, const halley_trace *t,
                            uint32_t node)
{
    assert(node < halley_trace_count(t));
    const trace_store *const store = &t->s;
    const halley_bytes name = halley_node_name(t, node);
    const halley_bytes unknown = halley_node_unknown(t, node);
    const str texts[] = {{name.at, name.n},
                         trace_text(store, column_get(&store->inputs, node)),
                         trace_text(store, column_get(&store->outputs, node)),
                         {unknown.at, unknown.n}};
    halley_bytes leak = {0};
    for (size_t i = 0; i < 4 && !leak.at; i++)
        leak = leak_in(s, found, texts[i]);
    const attr_shape *const shape = trace_shape_of(t, node);
    for (uint32_t i = shape->first; i < shape->first + shape->n && !leak.at; i++) {
        if (!s->texts[i])
            continue;
        const halley_attr a =
            trace_attr_view(store, &store->shapes.flat.at[i],
                            store->values.at + store->value_at.at[node]);
        const halley_bytes parts[] = {has_text(a.kind) ? a.bytes : (halley_bytes){0},
                                      a.doc, a.unknown};
        for (size_t k = 0; k < 3 && !leak.at; k++)
            leak = leak_in(s, found, (str){parts[k].at, parts[k].n});
    }
    return leak;
}

static halley_bytes leak_of_metadata(const scan *s, scan_found *found,
                                     const halley_trace *t)
{
    const halley_bytes version = halley_trace_version(t);
    const halley_bytes unknown = halley_trace_metadata_unknown(t);
    const str first[] = {
        str_from(halley_trace_path(t)), {version.at, version.n}, {unknown.at, unknown.n}};
    halley_bytes leak = {0};
    for (size_t i = 0; i < 3 && !leak.at; i++)
        leak = leak_in(s, found, first[i]);
    for (uint32_t i = 0; i < halley_trace_metadata_count(t) && !leak.at; i++) {
        const halley_attr a = halley_trace_metadata(t, i);
        if (has_text(a.kind))
            leak = leak_in(s, found, (str){a.bytes.at, a.bytes.n});
    }
    return leak;
}

/* Allows the metadata that obfuscate_metadata has cleaned. */
static void allow_metadata(scan *s, const halley_trace *after)
{
    for (uint32_t i = 0; i < halley_trace_metadata_count(after); i++) {
        const halley_attr a = halley_trace_metadata(after, i);
        if (has_text(a.kind))
            allow_text(s, (str){a.bytes.at, a.bytes.n});
    }
}

/* Allows the texts of the input that the user keeps. */
static void allow_kept(scan *s, const halley_trace *t)
{
    const uint32_t io = s->opts->keep_io;
    if (io == 0 && s->opts->n_keep == 0)
        return;
    for (size_t i = 0; i < s->opts->n_keep; i++)
        allow_text(s, str_from(s->opts->keep[i]));
    for (uint32_t node = 0; node < halley_trace_count(t) && !s->failed; node++) {
        const halley_io both[] = {halley_node_inputs(t, node),
                                  halley_node_outputs(t, node)};
        for (size_t k = 0; k < 2 && io != 0; k++) {
            const halley_bytes kept[] = {
                io & HALLEY_KEEP_VALUES ? both[k].values : (halley_bytes){0},
                io & HALLEY_KEEP_SHAPES ? both[k].shapes : (halley_bytes){0},
                io & HALLEY_KEEP_TYPES ? both[k].types : (halley_bytes){0}};
            for (size_t m = 0; m < 3; m++)
                allow_text(s, (str){kept[m].at, kept[m].n});
        }
        for (uint32_t i = 0; i < halley_node_attr_count(t, node); i++) {
            const halley_attr a = halley_node_attr(t, node, i);
            if (obfuscate_keeps(s->opts, (str){a.name.at, a.name.n}) && has_text(a.kind))
                allow_text(s, (str){a.bytes.at, a.bytes.n});
        }
    }
}

static halley_status report_found_text(const halley_trace *t, uint32_t node,
                                       halley_bytes leak, halley_error *err)
{
    assert(leak.n > 0);
    error_set(
        err, HALLEY_EINVAL,
        "the result would still hold \"%.*s\" of a text of this trace; take another "
        "key or do not keep what holds it",
        STR_ARG(leak));
    error_at_file(err, halley_trace_path(t));
    if (node != HALLEY_NO_NODE)
        error_at_node(err, halley_node_id(t, node));
    return HALLEY_EINVAL;
}

/* A part of the nodes, for one thread. */
enum { NODES_A_PART = 16384 };
typedef struct parts {
    const scan *shared;
    const halley_trace *before;
    scan_found *found; /* by part */
} parts;

static halley_status search_part(void *context, size_t i, uint32_t worker,
                                 halley_error *err)
{
    (void)worker;
    const parts *const p = context;
    const uint32_t n = halley_trace_count(p->before);
    const uint32_t first = (uint32_t)i * NODES_A_PART;
    const uint32_t end = n - first < NODES_A_PART ? n : first + NODES_A_PART;
    for (uint32_t node = first; node < end; node++) {
        const halley_bytes leak = leak_of(p->shared, &p->found[i], p->before, node);
        if (leak.at)
            return report_found_text(p->before, node, leak, err);
    }
    return HALLEY_OK;
}

static halley_status search_bytes(scan *s, const halley_trace *before, halley_error *err)
{
    const halley_bytes leak = leak_of_metadata(s, &s->found, before);
    if (leak.at)
        return report_found_text(before, HALLEY_NO_NODE, leak, err);
    const size_t n =
        ((size_t)halley_trace_count(before) + NODES_A_PART - 1) / NODES_A_PART;
    parts p = {s, before, mem_array_zero(n, sizeof *p.found)};
    if (!p.found)
        return error_nomem(err);
    const halley_status status = pool_run(s->n_threads, n, search_part, &p, err);
    for (size_t i = 0; i < n; i++) {
        s->found.n_text_bytes += p.found[i].n_text_bytes;
        s->found.met_beyond |= p.found[i].met_beyond;
    }
    free(p.found);
    return status;
}

static halley_status scan_output(scan *s, const uint8_t *bytes, size_t n,
                                 const halley_trace *before, halley_error *err)
{
    index_output(s, bytes, n);
    return s->failed ? error_nomem(err) : search_bytes(s, before, err);
}

halley_status obfuscate_scan(obfuscate_scanned *out, const halley_obfuscate_opts *opts,
                             const halley_trace *before, halley_trace *after, size_t keep,
                             uint32_t n_threads, halley_error *err)
{
    assert(before != NULL && after != NULL);
    const bool encoded = after->encoded.n > 0;
    uint8_t *bytes = after->encoded.at;
    size_t n = after->encoded.n;
    if (!encoded)
        TRY(halley_trace_encode_et(&bytes, &n, after, err));
    scan *s = mem_array_zero(1, sizeof *s);
    if (s)
        s->texts = mem_array(before->s.shapes.flat.n, sizeof *s->texts);
    halley_status status = s && s->texts ? HALLEY_OK : error_nomem(err);
    if (status == HALLEY_OK) {
        find_texts(s->texts, &before->s.shapes);
        s->opts = opts;
        s->n_threads = n_threads;
        for (uint32_t i = 0; obfuscate_word(i).at; i++)
            allow_text(s, obfuscate_word(i));
        allow_metadata(s, after);
        allow_kept(s, before);
        status = scan_output(s, bytes, n, before, err);
        if (status == HALLEY_OK && s->found.met_beyond) {
            s->beyond_ascii = true;
            status = scan_output(s, bytes, n, before, err);
        }
        out->n_bytes += n;
        out->n_text_bytes += s->found.n_text_bytes;
        map64_fini(&s->runs);
        map64_fini(&s->windows);
        map64_fini(&s->allowed);
    }
    free(s ? s->texts : NULL);
    free(s);
    if (encoded)
        return status;
    if (n <= keep && status == HALLEY_OK)
        et_keep_encoded(after, bytes, n);
    else
        free(bytes);
    return status;
}
