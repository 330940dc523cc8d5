/* The texts of a picture: names, sizes, times, and what was omitted. */
#include "base/number/units.h"
#include "report/view/view.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const view_kind_row view_kinds[VIEW_N_KINDS] = {
    {HALLEY_NODE_COMP, "comp", "compute"},
    {HALLEY_NODE_COLL, "coll", "collective"},
    {HALLEY_NODE_SEND, "send", "send"},
    {HALLEY_NODE_RECV, "recv", "receive"},
    {HALLEY_NODE_MEM_LOAD, "load", "memory load"},
    {HALLEY_NODE_MEM_STORE, "store", "memory store"},
    {HALLEY_NODE_METADATA, "meta", "metadata"},
    {HALLEY_NODE_INVALID, "none", "no type"},
};

str view_name(const view_graph *g, const view_box *box)
{
    const halley_bytes name = halley_node_name(g->trace, box->node);
    return (str){name.at, name.n};
}

void view_duration(strbuf *to, uint64_t micros)
{
    char text[48];
    strbuf_printf(to, "%s",
                  units_format(text, sizeof text, (double)micros * 1e-6, UNITS_TIME));
}

static void add_view_bytes(strbuf *to, uint64_t bytes)
{
    char text[48];
    strbuf_printf(to, "%s", units_format(text, sizeof text, (double)bytes, UNITS_BYTES));
}

void view_count(strbuf *to, uint64_t n, const char *one, const char *many)
{
    char digits[24];
    const int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            strbuf_add_char(to, ',');
        strbuf_add_char(to, digits[i]);
    }
    strbuf_printf(to, " %s", n == 1 ? one : many);
}

/* Bytes of the UTF-8 character at the start of s; 1 if it is not valid. */
static size_t char_bytes(str s)
{
    const unsigned char c = (unsigned char)s.at[0];
    const size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    return n <= s.n && str_utf8_valid((str){s.at, n}) ? n : 1;
}

/* The approximate width of a character, rather too large, because fonts differ. */
static double char_width(unsigned char c)
{
    if (c >= 0x80)
        return 11;
    if (strchr("MW@mw%", c))
        return 11;
    if (strchr("iIjlft.,:;'|!()[]{} /\\", c))
        return 5;
    return (c >= 'A' && c <= 'Z') || c == '&' ? 9 : 8;
}

static double text_width(str s)
{
    double width = 0;
    for (size_t i = 0; i < s.n; i += char_bytes((str){s.at + i, s.n - i}))
        width += char_width((unsigned char)s.at[i]);
    return width;
}

void view_xml_cut(strbuf *to, str text, double pixels)
{
    if (text_width(text) <= pixels) {
        strbuf_xml(to, text);
        return;
    }
    const double half = (pixels - 11) / 2;
    size_t head = 0;
    for (double width = 0; head < text.n;) {
        width += char_width((unsigned char)text.at[head]);
        if (width > half)
            break;
        head += char_bytes((str){text.at + head, text.n - head});
    }
    size_t tail = text.n;
    for (double width = 0; tail > head;) {
        size_t before = tail - 1; /* the start of the character that ends here */
        while (before > head && tail - before < 4 &&
               ((unsigned char)text.at[before] & 0xc0) == 0x80)
            before--;
        width += char_width((unsigned char)text.at[before]);
        if (width > half)
            break;
        tail = before;
    }
    strbuf_xml(to, (str){text.at, head});
    strbuf_add(to, STR("\xe2\x80\xa6"));
    strbuf_xml(to, (str){text.at + tail, text.n - tail});
}

void view_label(strbuf *to, const view_graph *g, const view_box *box)
{
    static const char *const stretch_names[VIEW_N_LANES] = {
        "CPU operations", "compute", "communication", "memory", "other"};
    if (box->stretch)
        strbuf_printf(to, "%s", stretch_names[box->lane]);
    else
        strbuf_add(to, view_name(g, box));
    if (to->n == 0)
        strbuf_printf(to, "node %llu",
                      (unsigned long long)halley_node_id(g->trace, box->node));
}

const char *view_kind(const view_graph *g, const view_box *box)
{
    (void)g;
    switch (box->type) {
    case HALLEY_NODE_COMP:
        return box->lane == VIEW_CPU ? "cpu" : "comp";
    case HALLEY_NODE_COLL:
        return "coll";
    case HALLEY_NODE_SEND:
        return "send";
    case HALLEY_NODE_RECV:
        return "recv";
    case HALLEY_NODE_MEM_LOAD:
        return "load";
    case HALLEY_NODE_MEM_STORE:
        return "store";
    case HALLEY_NODE_METADATA:
        return "meta";
    default:
        return "none";
    }
}

static bool find_attr_number(const view_graph *g, const view_box *box, const char *name,
                             uint64_t *out)
{
    halley_attr attr;
    return halley_node_find_attr(&attr, g->trace, box->node, name) &&
           halley_attr_to_u64(&attr, out);
}

/* Write the kind in words; for communication the collective or the peer.
 */
static void add_kind(strbuf *to, const view_graph *g, const view_box *box)
{
    uint64_t value = 0;
    switch (box->type) {
    case HALLEY_NODE_COMP:
        strbuf_printf(to, "%s", box->lane == VIEW_CPU ? "CPU" : "compute");
        return;
    case HALLEY_NODE_COLL:
        if (!find_attr_number(g, box, "comm_type", &value)) {
            strbuf_add(to, STR("collective"));
            return;
        }
        for (const char *c = halley_coll_type_name(value); *c; c++)
            strbuf_add_char(to, *c == '_' ? '-' : (char)tolower((unsigned char)*c));
        return;
    case HALLEY_NODE_SEND:
        strbuf_add(to, STR("send"));
        if (find_attr_number(g, box, "comm_dst", &value))
            strbuf_printf(to, " to %llu", (unsigned long long)value);
        return;
    case HALLEY_NODE_RECV:
        strbuf_add(to, STR("receive"));
        if (find_attr_number(g, box, "comm_src", &value))
            strbuf_printf(to, " from %llu", (unsigned long long)value);
        return;
    case HALLEY_NODE_MEM_LOAD:
        strbuf_add(to, STR("load"));
        return;
    case HALLEY_NODE_MEM_STORE:
        strbuf_add(to, STR("store"));
        return;
    case HALLEY_NODE_METADATA:
        strbuf_add(to, STR("metadata"));
        return;
    default:
        strbuf_add(to, STR("no type"));
    }
}

void view_detail(strbuf *to, const view_graph *g, const view_box *box)
{
    static const str dot = {" \xc2\xb7 ", 4};
    const uint64_t each = box->n_nodes / box->repeat;
    if (box->stretch || each > 1)
        view_count(to, each, "node", "nodes");
    else
        add_kind(to, g, box);
    const bool moves = box->bytes > 0 && box->lane != VIEW_COMPUTE;
    if (moves) {
        strbuf_add(to, dot);
        add_view_bytes(to, box->bytes / box->repeat);
    }
    if (box->duration_us > 0) {
        strbuf_add(to, dot);
        view_duration(to, box->duration_us / box->repeat);
    }
}

void view_title(strbuf *to, const view_graph *g)
{
    const char *title = g->opts->title ? g->opts->title : halley_trace_path(g->trace);
    strbuf_printf(to, "%s", *title ? title : "trace");
}

/* Write one line for each thing that the picture simplifies or omits. */
void view_notes(strbuf *to, const view_graph *g)
{
    const halley_view_summary *s = &g->sum;
    view_count(to, s->n_nodes, "node", "nodes");
    if (s->n_chosen < s->n_nodes) {
        strbuf_add(to, STR(", "));
        view_count(to, s->n_chosen, "chosen node", "chosen nodes");
    }
    if (s->n_boxes < s->n_chosen) {
        strbuf_add(to, STR(", drawn as "));
        view_count(to, s->n_boxes, "box", "boxes");
    }
    strbuf_add_char(to, '\n');
    if (s->stretched)
        strbuf_add(to, STR("Too many to draw one by one: each box is all of a lane in a "
                           "stretch of the graph. Choose a part with --from, --type or "
                           "--name, or raise --limit.\n"));
    else if (s->collapsed && s->n_boxes < s->n_chosen)
        strbuf_add(to, STR("Runs of one kind are one box, and what repeats is drawn once "
                           "(\xc3\x97 how often).\n"));
    if (s->n_dangling > 0) {
        view_count(to, s->n_dangling, "dependency", "dependencies");
        strbuf_add(to, STR(" on missing nodes not drawn.\n"));
    }
    if (s->n_back > 0) {
        view_count(to, s->n_back, "dependency closes", "dependencies close");
        strbuf_add(to, STR(" a cycle.\n"));
    }
}
