/*
 * The call tree as an HTML page without scripts; <details> elements open at a click.
 *
 * All callees of one caller with the same name (without numbers and template arguments)
 * are one row with a count. So a recording of 100,000 nodes becomes a few hundred rows,
 * and all steps share one row. Times include callees. Rows are sorted by device time,
 * then host time.
 */
#include "base/error.h"
#include "base/file/file.h"
#include "base/number/number.h"
#include "halley/recording_tree.h"
#include "recording/tree/tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 200, OPEN_DEPTH = 3, NAME_END = 40 };

/* The nodes that make up one row. */
typedef struct page_row {
    int64_t host_ns, device_ns; /* with callees */
    uint32_t kind, first_node;
    uint32_t n;
} page_row;
typedef ARRAY(page_row) page_rows;
typedef ARRAY(uint32_t) page_nodes;

typedef struct tree_page {
    const call_tree *tree;
    const tree_names *names;
    file_output *file;
    int64_t *host_ns, *device_ns; /* by node, with callees */
    int64_t whole_ns;             /* device time of the recording, else host time */
    uint64_t n_rows;
    bool failed;
} tree_page;

bool halley_recording_has_tree(const halley_trace *trace)
{
    return tree_is_recorded(trace);
}

static bool add_inclusive_times(tree_page *p)
{
    const size_t n = p->tree->nodes.n;
    p->host_ns = mem_array_zero(n, sizeof *p->host_ns);
    p->device_ns = mem_array_zero(n, sizeof *p->device_ns);
    if (p->host_ns == NULL || p->device_ns == NULL)
        return false;
    for (size_t i = n; i-- > 0;) { /* callees come after their caller */
        const tree_node *const node = &p->tree->nodes.at[i];
        p->host_ns[i] += node->host_ns;
        p->device_ns[i] += node->device_ns;
        if (node->parent == TREE_NONE)
            continue;
        assert(node->parent < i);
        p->host_ns[node->parent] += p->host_ns[i];
        p->device_ns[node->parent] += p->device_ns[i];
    }
    p->whole_ns = p->device_ns[0] > 0 ? p->device_ns[0] : p->host_ns[0];
    return true;
}

static int compare_page_rows(const void *a, const void *b)
{
    const page_row *const x = a, *const y = b;
    if (x->device_ns != y->device_ns)
        return x->device_ns > y->device_ns ? -1 : 1;
    if (x->host_ns != y->host_ns)
        return x->host_ns > y->host_ns ? -1 : 1;
    return x->first_node < y->first_node ? -1 : x->first_node > y->first_node;
}

/* List the callees of all nodes of a row, one row per kind. */
static bool list_callees(page_rows *rows, page_nodes *nodes, const tree_page *p,
                         const page_nodes *callers)
{
    map64 row_of = {0};
    bool ok = true;
    for (size_t c = 0; ok && c < callers->n; c++) {
        const tree_node *const caller = &p->tree->nodes.at[callers->at[c]];
        for (uint32_t k = 0; ok && k < caller->n; k++) {
            const uint32_t node = p->tree->children[caller->first + k];
            const uint32_t kind = p->tree->nodes.at[node].kind;
            uint32_t row = (uint32_t)rows->n;
            bool fresh;
            ok = array_push(nodes, node) && map64_put(&row_of, kind, &row, &fresh) &&
                 (!fresh ||
                  array_push(rows, (page_row){.kind = kind, .first_node = node}));
            if (!ok)
                break;
            rows->at[row].n++;
            rows->at[row].host_ns += p->host_ns[node];
            rows->at[row].device_ns += p->device_ns[node];
        }
    }
    map64_fini(&row_of);
    if (ok && rows->n > 1)
        qsort(rows->at, rows->n, sizeof *rows->at, compare_page_rows);
    return ok;
}

static void write_escaped(tree_page *p, str text)
{
    for (size_t i = 0; i < text.n; i++) {
        const char c = text.at[i];
        if (c == '<')
            file_output_str(p->file, STR("&lt;"));
        else if (c == '>')
            file_output_str(p->file, STR("&gt;"));
        else if (c == '&')
            file_output_str(p->file, STR("&amp;"));
        else
            file_output_write(p->file, &c, 1);
    }
}

/* Shorten a long name in the middle, because kernel names differ at their ends. */
static void write_row_name(tree_page *p, const page_row *row)
{
    const tree_node *const node = &p->tree->nodes.at[row->first_node];
    const str name = intern_text(&p->names->names, node->name);
    if (name.n <= 2 * NAME_END + 3) {
        write_escaped(p, name);
        return;
    }
    write_escaped(p, (str){name.at, NAME_END});
    file_output_str(p->file, STR("..."));
    write_escaped(p, (str){name.at + name.n - NAME_END, NAME_END});
}

static void write_row_head(tree_page *p, const page_row *row)
{
    const int64_t part = p->device_ns[0] > 0 ? row->device_ns : row->host_ns;
    const double share = p->whole_ns > 0 ? (double)part / (double)p->whole_ns : 0;
    const bool is_kernel = p->tree->nodes.at[row->first_node].class_id != TREE_NONE;
    file_output_printf(
        p->file,
        "<b style=\"width:%s%%\"></b><i>%s</i><i>%s</i>"
        "<span class=%s>",
        number_fixed(100 * share, 1).at, number_fixed((double)row->device_ns / 1e6, 3).at,
        number_fixed((double)row->host_ns / 1e6, 3).at, is_kernel ? "k" : "o");
    write_row_name(p, row);
    file_output_printf(p->file, "</span>%s", "");
    if (row->n > 1)
        file_output_printf(p->file, " <u>x %u</u>", row->n);
    p->n_rows++;
}

static void write_page_rows(tree_page *p, const page_nodes *callers, uint32_t depth);

static void write_page_row(tree_page *p, const page_row *row, const page_nodes *nodes,
                           uint32_t depth)
{
    page_nodes own = {0};
    bool has_callees = false;
    for (size_t i = 0; i < nodes->n && !p->failed; i++) {
        const tree_node *const node = &p->tree->nodes.at[nodes->at[i]];
        if (node->kind != row->kind)
            continue;
        has_callees |= node->n > 0;
        p->failed |= !array_push(&own, nodes->at[i]);
    }
    if (has_callees && depth < MOST_DEPTH) {
        file_output_str(p->file, depth < OPEN_DEPTH ? STR("<details open><summary>")
                                                    : STR("<details><summary>"));
        write_row_head(p, row);
        file_output_str(p->file, STR("</summary>\n"));
        write_page_rows(p, &own, depth + 1);
        file_output_str(p->file, STR("</details>\n"));
    } else {
        file_output_str(p->file, STR("<div>"));
        write_row_head(p, row);
        file_output_str(p->file, STR("</div>\n"));
    }
    array_fini(&own);
}

static void write_page_rows(tree_page *p, const page_nodes *callers, uint32_t depth)
{
    page_rows rows = {0};
    page_nodes nodes = {0};
    p->failed |= !list_callees(&rows, &nodes, p, callers);
    for (size_t i = 0; i < rows.n && !p->failed; i++)
        write_page_row(p, &rows.at[i], &nodes, depth);
    array_fini(&rows);
    array_fini(&nodes);
}

static void write_page_head(tree_page *p, const char *title)
{
    file_output_str(
        p->file, STR("<!doctype html><html lang=en><meta charset=utf-8><meta "
                     "http-equiv=Content-Security-Policy content=\"default-src 'none'; "
                     "style-src 'unsafe-inline'\"><title>"));
    write_escaped(p, str_from(title));
    file_output_str(
        p->file,
        STR("</title><style>"
            "body{font:14px system-ui,sans-serif;margin:1em;color-scheme:light dark}"
            "details>*:not(summary){margin-left:1.2em}"
            "summary,div{position:relative;padding:1px 0;white-space:nowrap}"
            "summary{cursor:pointer}div{padding-left:1em}"
            "b{position:absolute;left:0;top:0;bottom:0;background:#4a90d930}"
            "i{display:inline-block;width:6.5em;text-align:right;font-style:normal;"
            "font-variant-numeric:tabular-nums;padding-right:.6em}"
            "u{text-decoration:none;opacity:.7}.k{font-family:monospace;opacity:.85}"
            "</style><h1>"));
    write_escaped(p, str_from(title));
    file_output_str(p->file,
                    STR("</h1><p>Device and host time in ms, callees included; what one "
                        "caller calls by one name is one row. Click to open.</p>\n"));
}

static halley_status write_page(tree_page *p, const char *path, const char *title,
                                halley_error *err)
{
    page_nodes root = {0};
    TRY(file_output_open(&p->file, path, err));
    write_page_head(p, title);
    p->failed |= !array_push(&root, 0);
    if (!p->failed)
        write_page_rows(p, &root, 0);
    array_fini(&root);
    if (!p->failed)
        return file_output_commit(p->file, err);
    file_output_abort(p->file);
    return error_nomem(err);
}

halley_status halley_recording_tree_save(const halley_trace *trace, const char *path,
                                         const char *title, halley_tree_summary *summary,
                                         halley_error *err)
{
    tree_names names = {0};
    call_tree tree = {0};
    halley_status status = call_tree_init(&tree, &names, trace, err);
    tree_page p = {.tree = &tree, .names = &names};
    if (status == HALLEY_OK && !add_inclusive_times(&p))
        status = error_nomem(err);
    if (status == HALLEY_OK)
        status = write_page(&p, path, title, err);
    if (status == HALLEY_OK && summary != NULL)
        *summary = (halley_tree_summary){tree.nodes.n - 1, p.n_rows};
    free(p.host_ns);
    free(p.device_ns);
    call_tree_fini(&tree);
    tree_names_fini(&names);
    return status;
}
