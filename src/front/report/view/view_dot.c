/*
 * The graph for other programs: Graphviz dot and GraphML. Data and control dependencies
 * between the same two nodes are two edges. The name of a node in the file is its id in
 * the trace. If several nodes have the same id, the index distinguishes the later ones.
 */
#include "report/view/view.h"

static void put_attribute(file_output *out, strbuf *scratch)
{
    file_output_str(out, strbuf_str(scratch));
    scratch->n = 0;
}

/* Write "12", or "12_7" for the node at index 7 if its id is not unique. */
static void add_id(strbuf *to, const view_graph *g, const view_box *box)
{
    const uint64_t id = halley_node_id(g->trace, box->node);
    const bool own = halley_trace_find(g->trace, id) == box->node;
    strbuf_printf(to, "%llu", (unsigned long long)id);
    if (!own)
        strbuf_printf(to, "_%u", box->node);
}

/* Write a quoted dot string: backslashes and quotes are escaped, invalid bytes replaced.
 */
static void add_quoted(strbuf *to, str text)
{
    strbuf_add_char(to, '"');
    for (size_t i = 0; i < text.n;) {
        const unsigned char c = (unsigned char)text.at[i];
        size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        if (n > text.n - i || !str_utf8_valid((str){text.at + i, n})) {
            strbuf_add(to, STR("\xef\xbf\xbd"));
            i++;
            continue;
        }
        if (c == '"' || c == '\\')
            strbuf_add_char(to, '\\');
        if (c == '\n')
            strbuf_add(to, STR("\\n"));
        else if (c < 0x20 || c == 0x7f)
            strbuf_add(to, STR("\xef\xbf\xbd"));
        else
            strbuf_add(to, (str){text.at + i, n});
        i += n;
    }
    strbuf_add_char(to, '"');
}

static const char *dot_shape(uint8_t type)
{
    switch (type) {
    case HALLEY_NODE_COLL:
        return "hexagon";
    case HALLEY_NODE_SEND:
        return "rarrow";
    case HALLEY_NODE_RECV:
        return "larrow";
    case HALLEY_NODE_MEM_LOAD:
    case HALLEY_NODE_MEM_STORE:
        return "cylinder";
    default:
        return "box";
    }
}

static const char *dot_color(const view_box *box)
{
    switch (box->lane) {
    case VIEW_CPU:
        return "#eef1f5";
    case VIEW_COMPUTE:
        return "#dceafb";
    case VIEW_COMM:
        return box->type == HALLEY_NODE_COLL ? "#ffe6c7" : "#d6f1de";
    case VIEW_MEMORY:
        return "#eadff7";
    default:
        return "#f0f0f0";
    }
}

void view_write_dot(file_output *out, const view_graph *g, strbuf *scratch)
{
    strbuf label = {0};
    strbuf_add(scratch, STR("digraph trace {\n\tnode [style=filled fontname=sans];\n"));
    for (size_t i = 0; i < g->boxes.n; i++) {
        const view_box *box = &g->boxes.at[i];
        label.n = 0;
        view_label(&label, g, box);
        if (box->n_nodes > 1)
            strbuf_printf(&label, "\n%u nodes", box->n_nodes);
        strbuf_add_char(scratch, '\t');
        add_id(scratch, g, box);
        strbuf_add(scratch, STR(" [label="));
        add_quoted(scratch, strbuf_str(&label));
        strbuf_printf(scratch, " shape=%s fillcolor=\"%s\"]\n", dot_shape(box->type),
                      dot_color(box));
        put_attribute(out, scratch);
    }
    for (size_t k = 0; k < g->edges.n; k++) {
        const view_edge e = g->edges.at[k];
        for (uint32_t kind = VIEW_DATA; kind <= VIEW_VIA; kind *= 2) {
            if (!(e.kinds & kind))
                continue;
            strbuf_add_char(scratch, '\t');
            add_id(scratch, g, &g->boxes.at[e.from]);
            strbuf_add(scratch, STR(" -> "));
            add_id(scratch, g, &g->boxes.at[e.to]);
            strbuf_printf(scratch, " [%s]\n",
                          kind == VIEW_DATA   ? "arrowhead=normal"
                          : kind == VIEW_CTRL ? "arrowhead=tee style=dashed"
                                              : "arrowhead=normal style=dotted");
        }
        put_attribute(out, scratch);
    }
    strbuf_add(scratch, STR("}\n"));
    put_attribute(out, scratch);
    scratch->failed |= label.failed;
    strbuf_fini(&label);
}

static void write_graphml_key(strbuf *to, const char *id, const char *domain,
                              const char *name, const char *type)
{
    strbuf_printf(to, "  <key id=\"%s\" for=\"%s\" attr.name=\"%s\" attr.type=\"%s\"/>\n",
                  id, domain, name, type);
}

static void write_dot_node(strbuf *to, const view_graph *g, const view_box *box,
                           strbuf *label)
{
    label->n = 0;
    view_label(label, g, box);
    strbuf_add(to, STR("    <node id=\""));
    add_id(to, g, box);
    strbuf_add(to, STR("\"><data key=\"label\">"));
    strbuf_xml(to, strbuf_str(label));
    strbuf_printf(to, "</data><data key=\"type\">%s</data>",
                  halley_node_type_name(box->type));
    strbuf_printf(to, "<data key=\"duration\">%llu</data>",
                  (unsigned long long)box->duration_us);
    if (box->bytes > 0)
        strbuf_printf(to, "<data key=\"bytes\">%llu</data>",
                      (unsigned long long)box->bytes);
    if (box->n_nodes > 1)
        strbuf_printf(to, "<data key=\"nodes\">%u</data>", box->n_nodes);
    strbuf_add(to, STR("</node>\n"));
}

static void write_dot_edge(strbuf *to, const view_graph *g, const view_edge *e)
{
    static const char *const words[] = {"data", "control", "through"};
    for (uint32_t i = 0; i < 3; i++) {
        if (!(e->kinds >> i & 1))
            continue;
        strbuf_add(to, STR("    <edge source=\""));
        add_id(to, g, &g->boxes.at[e->from]);
        strbuf_add(to, STR("\" target=\""));
        add_id(to, g, &g->boxes.at[e->to]);
        strbuf_printf(to, "\"><data key=\"dependency\">%s</data></edge>\n", words[i]);
    }
}

void view_write_graphml(file_output *out, const view_graph *g, strbuf *scratch)
{
    strbuf label = {0};
    strbuf_add(scratch, STR("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<graphml "
                            "xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"));
    write_graphml_key(scratch, "label", "node", "label", "string");
    write_graphml_key(scratch, "type", "node", "type", "string");
    write_graphml_key(scratch, "duration", "node", "duration_us", "long");
    write_graphml_key(scratch, "bytes", "node", "bytes", "long");
    write_graphml_key(scratch, "nodes", "node", "nodes", "long");
    write_graphml_key(scratch, "dependency", "edge", "dependency", "string");
    strbuf_add(scratch, STR("  <graph edgedefault=\"directed\">\n"));
    for (size_t i = 0; i < g->boxes.n; i++) {
        write_dot_node(scratch, g, &g->boxes.at[i], &label);
        put_attribute(out, scratch);
    }
    for (size_t k = 0; k < g->edges.n; k++) {
        write_dot_edge(scratch, g, &g->edges.at[k]);
        put_attribute(out, scratch);
    }
    strbuf_add(scratch, STR("  </graph>\n</graphml>\n"));
    put_attribute(out, scratch);
    scratch->failed |= label.failed;
    strbuf_fini(&label);
}
