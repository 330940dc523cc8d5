/*
 * The picture as one self-contained HTML page: the SVG, with pan and zoom, a search, and
 * details of each box. Text from the trace enters the page only as escaped XML, or as
 * JSON in which no tag can start.
 */
#include "report/page.h"
#include "report/view/view.h"
#include "report/view/view_files.h"

#include <ctype.h>

enum { MAX_FACTS = 24, FACT_CHARS = 160 };

/* A JSON string that is safe inside <script>. */
static void add_page_json(strbuf *to, str text)
{
    strbuf json = {0};
    strbuf_json(&json, text);
    to->failed |= json.failed;
    for (size_t i = 0; i < json.n; i++) {
        if (json.at[i] == '<')
            strbuf_add(to, STR("\\u003c"));
        else
            strbuf_add_char(to, json.at[i]);
    }
    strbuf_fini(&json);
}

static void add_fact(strbuf *to, bool first, str key, str value)
{
    strbuf_add(to, first ? STR("[") : STR(",["));
    add_page_json(to, key);
    strbuf_add_char(to, ',');
    /* Cutting may split a character; strbuf_json replaces the remaining bytes. */
    add_page_json(to, (str){value.at, value.n < FACT_CHARS ? value.n : FACT_CHARS});
    strbuf_add_char(to, ']');
}

static void attr_text(strbuf *to, const halley_attr *attr)
{
    int64_t i = 0;
    uint64_t u = 0;
    double d = 0;
    if (attr->kind == HALLEY_ATTR_STRING)
        strbuf_add(to, (str){attr->bytes.at, attr->bytes.n});
    else if (attr->kind == HALLEY_ATTR_BOOL)
        strbuf_printf(to, "%s", attr->bits ? "true" : "false");
    else if (halley_attr_to_i64(attr, &i))
        strbuf_printf(to, "%lld", (long long)i);
    else if (halley_attr_to_u64(attr, &u))
        strbuf_printf(to, "%llu", (unsigned long long)u);
    else if (halley_attr_to_double(attr, &d))
        strbuf_double(to, d);
    else
        strbuf_printf(to, "%llu bytes", (unsigned long long)attr->bytes.n);
}

static void add_facts(strbuf *to, const view_graph *g, const view_box *box,
                      strbuf *scratch)
{
    const halley_trace *trace = g->trace;
    scratch->n = 0;
    strbuf_printf(scratch, "%llu", (unsigned long long)halley_node_id(trace, box->node));
    if (box->last != box->node)
        strbuf_printf(scratch, " \xe2\x80\xa6 %llu",
                      (unsigned long long)halley_node_id(trace, box->last));
    add_fact(to, true, STR("id"), strbuf_str(scratch));
    scratch->n = 0;
    view_detail(scratch, g, box);
    add_fact(to, false, STR("what"), strbuf_str(scratch));
    if (box->n_nodes > 1) {
        scratch->n = 0;
        view_count(scratch, box->n_nodes, "node", "nodes");
        if (box->repeat > 1)
            strbuf_printf(scratch, ", %u times", box->repeat);
        add_fact(to, false, STR("represents"), strbuf_str(scratch));
        scratch->n = 0;
        view_duration(scratch, box->duration_us);
        add_fact(to, false, STR("time in all"), strbuf_str(scratch));
        return;
    }
    const uint32_t n = halley_node_attr_count(trace, box->node);
    for (uint32_t i = 0; i < n && i < MAX_FACTS; i++) {
        const halley_attr attr = halley_node_attr(trace, box->node, i);
        scratch->n = 0;
        attr_text(scratch, &attr);
        add_fact(to, false, (str){attr.name.at, attr.name.n}, strbuf_str(scratch));
    }
    const halley_io io[] = {halley_node_inputs(trace, box->node),
                            halley_node_outputs(trace, box->node)};
    for (uint32_t i = 0; i < 2; i++)
        if (io[i].present)
            add_fact(to, false, i ? STR("output shapes") : STR("input shapes"),
                     (str){io[i].shapes.at, io[i].shapes.n});
}

/* The text that is searched: name, kind and detail in lower case. */
static void add_find(strbuf *to, const view_graph *g, const view_box *box,
                     strbuf *scratch)
{
    scratch->n = 0;
    view_label(scratch, g, box);
    strbuf_add_char(scratch, ' ');
    view_detail(scratch, g, box);
    for (size_t i = 0; i < scratch->n; i++)
        scratch->at[i] = (char)tolower((unsigned char)scratch->at[i]);
    add_page_json(to, strbuf_str(scratch));
}

static void add_data(strbuf *to, const view_graph *g, strbuf *scratch)
{
    strbuf_add(to, STR("<script type=\"application/json\" id=\"data\">{\"boxes\":["));
    for (size_t i = 0; i < g->boxes.n; i++) {
        const view_box *box = &g->boxes.at[i];
        strbuf_printf(to, "%s\n{\"id\":\"%llu\",\"name\":", i ? "," : "",
                      (unsigned long long)halley_node_id(g->trace, box->node));
        scratch->n = 0;
        view_label(scratch, g, box);
        add_page_json(to, strbuf_str(scratch));
        strbuf_add(to, STR(",\"find\":"));
        add_find(to, g, box, scratch);
        strbuf_add(to, STR(",\"facts\":["));
        add_facts(to, g, box, scratch);
        strbuf_add(to, STR("]}"));
    }
    strbuf_add(to, STR("],\n\"edges\":["));
    for (size_t k = 0; k < g->edges.n; k++) {
        const view_edge e = g->edges.at[k];
        strbuf_printf(to, "%s%u,%u,%u", k ? "," : "", e.from, e.to, e.kinds);
    }
    strbuf_add(to, STR("]}</script>\n"));
}

static void add_html_legend(strbuf *to, const view_graph *g)
{
    strbuf_add(to,
               STR("<details id=\"legend\"><summary>Legend and keys</summary><table>"));
    for (size_t i = 0; i < VIEW_N_KINDS; i++) {
        const uint64_t n = g->type_count[view_kinds[i].type];
        if (n == 0)
            continue;
        strbuf_printf(to,
                      "<tr><td><svg class=\"%s\" viewBox=\"-90 -24 180 48\"><path "
                      "class=\"shape\" style=\"stroke-width:6\" d=\"%s\"/></svg></td>"
                      "<td>%s</td><td>",
                      view_kinds[i].css, view_shape(view_kinds[i].type),
                      view_kinds[i].word);
        view_count(to, n, "", "");
        strbuf_add(to, STR("</td></tr>"));
    }
    strbuf_add(
        to,
        STR("<tr><td><svg class=\"view\" viewBox=\"0 0 40 16\"><path class=\"edge\" "
            "d=\"M0,8H34\" marker-end=\"url(#tip)\"/></svg></td><td>data "
            "dependency</td><td></td></tr><tr><td><svg class=\"view\" viewBox=\"0 0 40 "
            "16\"><path "
            "class=\"edge ctrl\" d=\"M0,8H34\" marker-end=\"url(#tee)\"/></svg></td>"
            "<td>control dependency</td><td></td></tr></table>"
            "<kbd>\xe2\x86\x90\xe2\x86\x91\xe2\x86\x93\xe2\x86\x92</kbd> move "
            "<kbd>+</kbd> <kbd>-</kbd> <kbd>0</kbd> zoom, all "
            "<kbd>/</kbd> search <kbd>n</kbd> <kbd>p</kbd> next, previous<br>"
            "<kbd>[</kbd> <kbd>]</kbd> box by box <kbd>u</kbd> <kbd>d</kbd> to what it "
            "depends on, what needs it <kbd>Esc</kbd> none</details>\n"));
}

static void add_header(strbuf *to, const view_graph *g, strbuf *scratch)
{
    scratch->n = 0;
    view_title(scratch, g);
    strbuf_add(to,
               STR("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"));
    report_policy_add(to, view_js_sha256);
    strbuf_add(to, STR("<meta name=\"viewport\" content=\"width=device-width, "
                       "initial-scale=1\"><meta name=\"color-scheme\" content=\"light "
                       "dark\">\n<title>"));
    strbuf_xml(to, strbuf_str(scratch));
    strbuf_printf(to, "</title>\n<style>\n%s%s</style></head>\n<body>\n<header><h1>",
                  view_css, view_page_css);
    strbuf_xml(to, strbuf_str(scratch));
    strbuf_add(to, STR("</h1><div id=\"notes\">"));
    scratch->n = 0;
    view_notes(scratch, g);
    str rest = strbuf_str(scratch), line;
    while (str_next(&rest, '\n', &line)) {
        if (line.n == 0)
            continue;
        strbuf_add(to, STR("<p>"));
        strbuf_xml(to, line);
        strbuf_add(to, STR("</p>"));
    }
    strbuf_add(
        to,
        STR("</div><div id=\"tools\"><input id=\"search\" type=\"search\" "
            "placeholder=\"name, kind or id\" aria-label=\"search\"><span id=\"found\" "
            "role=\"status\"></span><button id=\"out\" aria-label=\"zoom out\">"
            "\xe2\x88\x92</button><button id=\"in\" aria-label=\"zoom "
            "in\">+</button><button id=\"fit\">All</button></div></header>\n"));
}

bool view_write_html(strbuf *to, const view_graph *g)
{
    strbuf scratch = {0};
    add_header(to, g, &scratch);
    strbuf_add(to, STR("<main>\n"));
    const bool ok = view_write_svg(to, g, true);
    add_html_legend(to, g);
    strbuf_add(to,
               STR("</main><aside id=\"side\" hidden aria-live=\"polite\"></aside>\n"));
    add_data(to, g, &scratch);
    strbuf_printf(to, "<script>%s</script>\n</body></html>\n", view_js);
    const bool done = ok && !scratch.failed && !to->failed;
    strbuf_fini(&scratch);
    return done;
}
