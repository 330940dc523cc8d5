/*
 * Compare two sets. Nodes are matched by id. If both traces have nodes of the same id at
 * the same position, these two are a pair. So equal files with duplicate ids are equal.
 */
#include "trace/diff.h"

#include "base/error.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *halley_diff_kind_name(halley_diff_kind kind)
{
    static const char *const names[] = {"ranks", "metadata", "nodes",  "order",
                                        "type",  "name",     "time",   "deps",
                                        "attrs", "io",       "unknown"};
    return kind < HALLEY_N_DIFF_KINDS ? names[kind] : "unknown";
}

bool diff_same_bytes(halley_bytes a, halley_bytes b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

const char *diff_quote(diff *d, halley_diff_kind kind, halley_bytes text)
{
    if (d->n_once[kind] >= d->max_per_kind)
        return "";
    strbuf b = {0};
    size_t n = text.n < 60 ? text.n : 60;
    while (n < text.n && n > 0 && ((unsigned char)text.at[n] & 0xC0) == 0x80)
        n--;
    strbuf_json(&b, (str){text.at, n});
    if (n < text.n)
        strbuf_printf(&b, "… (%zu bytes)", text.n);
    const char *quoted = b.failed ? NULL : arena_copy(&d->memory, strbuf_str(&b));
    strbuf_fini(&b);
    d->failed |= quoted == NULL;
    return quoted == NULL ? "" : quoted;
}

void diff_add(diff *d, halley_diff_kind kind, diff_pair at, const char *format, ...)
{
    d->n[kind]++;
    if (d->n_once[kind]++ >= d->max_per_kind || d->failed)
        return;
    char text[HALLEY_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    halley_difference x = {.kind = kind, .rank = d->rank};
    if (at.a != HALLEY_NO_NODE || at.b != HALLEY_NO_NODE) {
        x.has_node = true;
        x.id = at.a != HALLEY_NO_NODE ? halley_node_id(d->a, at.a)
                                      : halley_node_id(d->b, at.b);
    }
    x.sentence = arena_copy(&d->memory, str_from(text));
    if (x.sentence == NULL || !array_push(&d->list, x))
        d->failed = true;
}

static void compare_metadata(diff *d)
{
    const diff_pair nowhere = {HALLEY_NO_NODE, HALLEY_NO_NODE};
    if (!diff_wants(d, HALLEY_DIFF_METADATA))
        return;
    const halley_bytes a = halley_trace_version(d->a), b = halley_trace_version(d->b);
    if (!diff_same_bytes(a, b))
        diff_add(d, HALLEY_DIFF_METADATA, nowhere, "version %s is now %s",
                 diff_quote(d, HALLEY_DIFF_METADATA, a),
                 diff_quote(d, HALLEY_DIFF_METADATA, b));
    const diff_attrs x = {d->a, HALLEY_NO_NODE, halley_trace_metadata_count(d->a)};
    const diff_attrs y = {d->b, HALLEY_NO_NODE, halley_trace_metadata_count(d->b)};
    diff_compare_attrs(d, &x, &y, HALLEY_DIFF_METADATA, nowhere);
    if (!diff_same_bytes(halley_trace_metadata_unknown(d->a),
                         halley_trace_metadata_unknown(d->b)))
        diff_add(d, HALLEY_DIFF_METADATA, nowhere, "unknown fields of metadata differ");
}

static uint32_t find_partner(const halley_trace *of, uint32_t node,
                             const halley_trace *in)
{
    const uint64_t id = halley_node_id(of, node);
    if (node < halley_trace_count(in) && halley_node_id(in, node) == id)
        return node;
    return halley_trace_find(in, id);
}

static uint64_t count_all(const diff *d)
{
    uint64_t n = 0;
    for (int kind = 0; kind < HALLEY_N_DIFF_KINDS; kind++)
        n += d->n[kind];
    return n;
}

static void tell_only(diff *d, diff_pair at)
{
    const bool gone = at.b == HALLEY_NO_NODE;
    const halley_trace *trace = gone ? d->a : d->b;
    const uint32_t node = gone ? at.a : at.b;
    if (diff_wants(d, HALLEY_DIFF_NODES))
        diff_add(d, HALLEY_DIFF_NODES, at, "%s %s is %s",
                 halley_node_type_name(halley_node_type_of(trace, node)),
                 diff_quote(d, HALLEY_DIFF_NODES, halley_node_name(trace, node)),
                 gone ? "gone" : "new");
    (*(gone ? &d->n_removed : &d->n_added))++;
}

/* The order of nodes is the same if the positions of partners only increase. */
static void compare_traces(diff *d)
{
    compare_metadata(d);
    bool in_order = true;
    uint32_t last = 0;
    const uint32_t n_a = halley_trace_count(d->a), n_b = halley_trace_count(d->b);
    for (uint32_t node = 0; node < n_a; node++) {
        const diff_pair at = {node, find_partner(d->a, node, d->b)};
        if (at.b == HALLEY_NO_NODE) {
            tell_only(d, at);
            continue;
        }
        in_order &= at.b >= last;
        last = at.b;
        const uint64_t before = count_all(d);
        diff_compare_nodes(d, at);
        (*(count_all(d) == before ? &d->n_same : &d->n_changed))++;
    }
    for (uint32_t node = 0; node < n_b; node++)
        if (find_partner(d->b, node, d->a) == HALLEY_NO_NODE)
            tell_only(d, (diff_pair){HALLEY_NO_NODE, node});
    const diff_pair nowhere = {HALLEY_NO_NODE, HALLEY_NO_NODE};
    if (!in_order && diff_wants(d, HALLEY_DIFF_ORDER))
        diff_add(d, HALLEY_DIFF_ORDER, nowhere, "nodes are in another order");
}

/* The result of one pair of traces. Equal pairs are counted again, but not compared
 * again. */
typedef struct outcome {
    const halley_trace *a, *b;
    uint64_t n[HALLEY_N_DIFF_KINDS];
    uint64_t n_same, n_changed, n_removed, n_added;
} outcome;

typedef struct run {
    diff d;
    ARRAY(outcome) outcomes;
    map64 index;
    uint64_t n_ranks_same, n_ranks_changed;
} run;

static outcome sum_totals(const diff *d)
{
    outcome o = {d->a, d->b, {0}, d->n_same, d->n_changed, d->n_removed, d->n_added};
    memcpy(o.n, d->n, sizeof o.n);
    return o;
}

static void add_again(diff *d, const outcome *o)
{
    for (int kind = 0; kind < HALLEY_N_DIFF_KINDS; kind++)
        d->n[kind] += o->n[kind];
    d->n_same += o->n_same;
    d->n_changed += o->n_changed;
    d->n_removed += o->n_removed;
    d->n_added += o->n_added;
}

static outcome subtract_counts(outcome x, const outcome *y)
{
    for (int kind = 0; kind < HALLEY_N_DIFF_KINDS; kind++)
        x.n[kind] -= y->n[kind];
    x.n_same -= y->n_same;
    x.n_changed -= y->n_changed;
    x.n_removed -= y->n_removed;
    x.n_added -= y->n_added;
    return x;
}

static bool compare_rank(run *r)
{
    diff *d = &r->d;
    const uint64_t start = count_all(d);
    uint64_t hash = hash_u64((uint64_t)(uintptr_t)d->a) + (uint64_t)(uintptr_t)d->b;
    for (;; hash++) {
        uint32_t at = (uint32_t)r->outcomes.n;
        bool fresh = false;
        if (!array_reserve(&r->outcomes, 1) || !map64_put(&r->index, hash, &at, &fresh))
            return false;
        if (fresh) {
            const outcome before = sum_totals(d);
            compare_traces(d);
            r->outcomes.at[r->outcomes.n++] = subtract_counts(sum_totals(d), &before);
            break;
        }
        if (r->outcomes.at[at].a == d->a && r->outcomes.at[at].b == d->b) {
            add_again(d, &r->outcomes.at[at]);
            break;
        }
    }
    (*(count_all(d) == start ? &r->n_ranks_same : &r->n_ranks_changed))++;
    return !d->failed;
}

static halley_status make_diff_report(halley_diff_report **out, run *r, halley_error *err)
{
    halley_diff_report *report = calloc(1, sizeof *report);
    diff *memory = malloc(sizeof *memory);
    if (report == NULL || memory == NULL) {
        free(report);
        free(memory);
        return error_nomem(err);
    }
    *memory = r->d;
    r->d = (diff){0};
    *report = (halley_diff_report){.size = sizeof *report,
                                   .list = memory->list.at,
                                   .n_listed = memory->list.n,
                                   .n_total = count_all(memory),
                                   .n_nodes_same = memory->n_same,
                                   .n_nodes_changed = memory->n_changed,
                                   .n_nodes_removed = memory->n_removed,
                                   .n_nodes_added = memory->n_added,
                                   .n_ranks_same = r->n_ranks_same,
                                   .n_ranks_changed = r->n_ranks_changed,
                                   .memory = memory};
    memcpy(report->n, memory->n, sizeof report->n);
    memcpy(report->n_once, memory->n_once, sizeof report->n_once);
    *out = report;
    return HALLEY_OK;
}

halley_status halley_trace_diff(halley_diff_report **out, const halley_trace_set *a,
                                const halley_trace_set *b, const halley_diff_opts *opts,
                                halley_error *err)
{
    const halley_diff_opts none = {0};
    const halley_diff_opts o = opts == NULL ? none : *opts;
    run r = {.d = {.ignore = o.ignore,
                   .max_per_kind = o.max_per_kind == 0 ? 10 : o.max_per_kind}};
    const uint32_t n_a = halley_trace_set_count(a), n_b = halley_trace_set_count(b);
    const diff_pair nowhere = {HALLEY_NO_NODE, HALLEY_NO_NODE};
    if (n_a != n_b && diff_wants(&r.d, HALLEY_DIFF_RANKS))
        diff_add(&r.d, HALLEY_DIFF_RANKS, nowhere, "%" PRIu32 " ranks are now %" PRIu32,
                 n_a, n_b);
    bool ok = true;
    for (uint32_t rank = 0; ok && rank < n_a && rank < n_b; rank++) {
        r.d.rank = rank;
        r.d.a = halley_trace_set_get(a, rank);
        r.d.b = halley_trace_set_get(b, rank);
        ok = compare_rank(&r);
    }
    const halley_status status =
        ok && !r.d.failed ? make_diff_report(out, &r, err) : error_nomem(err);
    array_fini(&r.outcomes);
    map64_fini(&r.index);
    array_fini(&r.d.list);
    arena_fini(&r.d.memory);
    return status;
}

void halley_diff_report_free(halley_diff_report *report)
{
    if (report == NULL)
        return;
    diff *memory = report->memory;
    array_fini(&memory->list);
    arena_fini(&memory->memory);
    free(memory);
    free(report);
}
