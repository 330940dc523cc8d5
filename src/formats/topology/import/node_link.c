/*
 * topology/import/node_link.c - graphs of networkx in node-link JSON.
 *
 * {directed, multigraph, nodes: [{id, kind, ...}], edges or links: [{source, target,
 * bandwidth_gbps, latency_ns, ...}]}. halley writes kind, bandwidth_gbps and latency_ns.
 * Other common words are also read.
 */
#include "base/number/number.h"
#include "topology/import/draft.h"

#include <string.h>
#include <strings.h>

typedef struct node_link_reader {
    hw_draft *d;
    bool directed, multigraph;
    map64 seen;   /* pairs with an edge */
    map64 cables; /* by number: its link of the draft, in directed graphs */
} node_link_reader;

static const struct kind_word {
    const char *word;
    hw_device_kind kind;
} kind_words[] = {
    {"npu", HW_DEVICE_NPU},         {"xpu", HW_DEVICE_NPU},
    {"gpu", HW_DEVICE_NPU},         {"tpu", HW_DEVICE_NPU},
    {"accelerator", HW_DEVICE_NPU}, {"nic", HW_DEVICE_NIC},
    {"hca", HW_DEVICE_NIC},         {"switch", HW_DEVICE_SWITCH},
    {"router", HW_DEVICE_SWITCH},   {"leaf", HW_DEVICE_SWITCH},
    {"spine", HW_DEVICE_SWITCH},    {"core", HW_DEVICE_SWITCH},
    {"tor", HW_DEVICE_SWITCH},      {"agg", HW_DEVICE_SWITCH},
    {"nvswitch", HW_DEVICE_SWITCH}, {"cpu", HW_DEVICE_CPU},
    {"host", HW_DEVICE_HOST},       {"server", HW_DEVICE_HOST},
    {"node", HW_DEVICE_HOST},       {"memory", HW_DEVICE_MEMORY},
    {"other", HW_DEVICE_OTHER},
};

/* An id is a scalar or a list of scalars: "0,1". */
static halley_status get_id(str *out, strbuf *room, hw_draft *d, const conf_node *node,
                            const char *what)
{
    if (node == NULL || node->kind == CONF_NULL || node->kind == CONF_MAP)
        return hw_draft_fail_at(d, node, "missing-key", "%s is missing or no id", what);
    if (node->kind == CONF_SCALAR) {
        *out = node->text;
        return HALLEY_OK;
    }
    room->n = 0;
    for (uint32_t i = 0; i < node->n; i++) {
        if (i > 0)
            strbuf_add_char(room, ',');
        strbuf_add(room, node->items[i]->text);
    }
    *out = strbuf_str(room);
    return room->failed ? error_nomem(d->err) : HALLEY_OK;
}

static hw_device_kind choose_kind_word(hw_draft *d, str word)
{
    for (size_t i = 0; i < sizeof kind_words / sizeof *kind_words; i++)
        if (word.n == strlen(kind_words[i].word) &&
            strncasecmp(word.at, kind_words[i].word, word.n) == 0)
            return kind_words[i].kind;
    hw_draft_warn(d, "the unknown kind \"%.*s\" is kept as other", STR_ARG(word));
    return HW_DEVICE_OTHER;
}

static halley_status add_node_link_node(hw_draft *d, strbuf *room, const conf_node *map)
{
    static const char *const keys[] = {"kind", "type", "role"};
    str id = {"", 0};
    const conf_node *word = NULL;
    if (map->kind != CONF_MAP || conf_find(map, "id") == NULL)
        return hw_draft_fail_at(d, map, "missing-key", "a node has no id");
    TRY(get_id(&id, room, d, conf_find(map, "id"), "id"));
    for (int i = 0; i < 3 && word == NULL; i++)
        word = conf_find(map, keys[i]);
    const bool has_kind = word != NULL && word->kind == CONF_SCALAR;
    return hw_draft_add_device(
        NULL, d, has_kind ? choose_kind_word(d, word->text) : HW_DEVICE_HOST, id,
        map->line);
}

static const struct scaled_key {
    const char *key;
    double factor;
} rate_keys[] = {{"bandwidth_gbps", 1e9 / 8},
                 {"gbps", 1e9 / 8},
                 {"rate_gbps", 1e9 / 8},
                 {"bandwidth_GBps", 1e9},
                 {"capacity_gbps", 1e9 / 8}},
  delay_keys[] = {
      {"latency_ns", 1e-9}, {"latency_us", 1e-6}, {"latency_s", 1}, {"delay_ns", 1e-9}};

static halley_status read_scaled(double *out, hw_draft *d, const conf_node *edge,
                                 const struct scaled_key *keys, size_t n, bool *found)
{
    for (size_t i = 0; i < n; i++) {
        const conf_node *node = conf_find(edge, keys[i].key);
        double value;
        if (node == NULL || node->kind == CONF_NULL)
            continue;
        if (node->kind != CONF_SCALAR || !number_read(node->text, &value))
            return hw_draft_fail_at(d, node, keys == rate_keys ? "bad-rate" : "bad-delay",
                                    "%s must be a number", keys[i].key);
        *out = value * keys[i].factor;
        *found = true;
        return HALLEY_OK;
    }
    *found = false;
    return HALLEY_OK;
}

static halley_status read_edge_rate(double *out, hw_draft *d, const conf_node *edge)
{
    bool found = false;
    double number;
    *out = HW_UNKNOWN;
    TRY(read_scaled(out, d, edge, rate_keys, sizeof rate_keys / sizeof *rate_keys,
                    &found));
    const conf_node *node = conf_find(edge, "bandwidth");
    if (!found && node != NULL && node->kind == CONF_SCALAR) {
        const str text = str_trim(node->text);
        if (!node->quoted && number_read(text, &number)) {
            *out = number / 8; /* a bare number is bit/s */
        } else if (str_ends(text, STR("GT/s"))) {
            hw_draft_warn(d, "GT/s has no width: the rate of a link is unknown");
        } else if (!hw_read_rate(text, out)) {
            return hw_draft_fail_at(d, node, "bad-rate",
                                    "\"%.*s\" is not a rate such as 400 Gbps",
                                    STR_ARG(text));
        }
    }
    if (*out != HW_UNKNOWN && !(*out > 0))
        return hw_draft_fail_at(d, edge, "bad-rate", "a link has the rate %s Gb/s",
                                number_digits(*out * 8e-9, 6).at);
    return HALLEY_OK;
}

static halley_status read_edge_delay(double *out, hw_draft *d, const conf_node *edge)
{
    bool found = false;
    *out = HW_UNKNOWN;
    TRY(read_scaled(out, d, edge, delay_keys, sizeof delay_keys / sizeof *delay_keys,
                    &found));
    const conf_node *node = conf_find(edge, "latency");
    double number;
    if (!found && node != NULL && node->kind == CONF_SCALAR &&
        (number_read(str_trim(node->text), &number) ||
         !hw_read_delay(str_trim(node->text), out)))
        return hw_draft_fail_at(d, node, "bad-delay",
                                "\"%.*s\" is not a time with a unit, such as 500 ns",
                                STR_ARG(node->text));
    if (*out != HW_UNKNOWN && !(*out >= 0))
        return hw_draft_fail_at(d, edge, "bad-delay", "a link has a negative latency");
    return HALLEY_OK;
}

static halley_status find_end(uint32_t *out, hw_draft *d, strbuf *room,
                              const conf_node *edge, const char *key)
{
    str id = {"", 0};
    TRY(get_id(&id, room, d, conf_find(edge, key), key));
    *out = hw_draft_find(d, id);
    if (*out == HW_NONE)
        return hw_draft_fail_at(d, edge, "dangling-link",
                                "an edge names %.*s, which does not exist", STR_ARG(id));
    return HALLEY_OK;
}

/* True if the edge is the opposite direction of a cable that was already read. */
static bool is_way_back(node_link_reader *r, const hw_draft_link *link,
                        const conf_node *edge, halley_status *status)
{
    const conf_node *cable = r->directed ? conf_find(edge, "cable") : NULL;
    uint64_t number;
    if (cable == NULL || cable->kind != CONF_SCALAR || !str_to_u64(cable->text, &number))
        return false;
    uint32_t at = (uint32_t)r->d->links.n;
    bool fresh;
    if (!map64_put(&r->cables, number, &at, &fresh)) {
        *status = error_nomem(r->d->err);
        return false;
    }
    hw_draft_link *there = fresh ? NULL : &r->d->links.at[at];
    if (there == NULL || !there->one_way || there->from != link->to ||
        there->to != link->from || there->bw_Bps != link->bw_Bps ||
        there->latency_s != link->latency_s)
        return false;
    there->one_way = false;
    return true;
}

static halley_status add_node_link_edge(node_link_reader *r, strbuf *room,
                                        const conf_node *edge)
{
    hw_draft_link link = {.one_way = r->directed};
    if (edge->kind != CONF_MAP || conf_find(edge, "source") == NULL ||
        conf_find(edge, "target") == NULL)
        return hw_draft_fail_at(r->d, edge, "missing-key",
                                "an edge needs source and target");
    TRY(read_edge_rate(&link.bw_Bps, r->d, edge));
    TRY(find_end(&link.from, r->d, room, edge, "source"));
    TRY(find_end(&link.to, r->d, room, edge, "target"));
    if (!r->multigraph) {
        const bool swap = !r->directed && link.from > link.to;
        const uint64_t key = swap ? (uint64_t)link.to << 32 | link.from
                                  : (uint64_t)link.from << 32 | link.to;
        uint32_t value = 0;
        bool fresh;
        if (!map64_put(&r->seen, key, &value, &fresh))
            return error_nomem(r->d->err);
        if (!fresh)
            return hw_draft_fail_at(r->d, edge, "duplicate-id",
                                    "two edges %.*s - %.*s in a graph that is not a "
                                    "multigraph",
                                    STR_ARG(hw_draft_name(r->d, link.from)),
                                    STR_ARG(hw_draft_name(r->d, link.to)));
    }
    TRY(read_edge_delay(&link.latency_s, r->d, edge));
    halley_status status = HALLEY_OK;
    if (is_way_back(r, &link, edge, &status) || status != HALLEY_OK)
        return status;
    return hw_draft_add_link(r->d, &link, edge->line);
}

static bool is_true(const conf_node *map, const char *key)
{
    const conf_node *node = conf_find(map, key);
    return node != NULL && node->kind == CONF_SCALAR && str_eq(node->text, STR("true"));
}

static halley_status read_node_link_root(node_link_reader *r, strbuf *room,
                                         const conf_node *root)
{
    const conf_node *nodes = root->kind == CONF_MAP ? conf_find(root, "nodes") : NULL;
    const conf_node *edges = root->kind == CONF_MAP ? conf_find(root, "edges") : NULL;
    if (edges == NULL && root->kind == CONF_MAP)
        edges = conf_find(root, "links");
    if (nodes == NULL || edges == NULL || nodes->kind != CONF_LIST ||
        edges->kind != CONF_LIST)
        return hw_draft_fail_at(r->d, root, "missing-key",
                                "lists \"nodes\" and \"edges\" (or \"links\") are "
                                "expected");
    r->directed = is_true(root, "directed");
    r->multigraph = is_true(root, "multigraph");
    for (uint32_t i = 0; i < nodes->n; i++)
        TRY(add_node_link_node(r->d, room, nodes->items[i]));
    for (uint32_t i = 0; i < edges->n; i++)
        TRY(add_node_link_edge(r, room, edges->items[i]));
    return HALLEY_OK;
}

static halley_status read_node_link(hw_draft *d)
{
    conf_file file;
    node_link_reader r = {.d = d};
    strbuf room = {0};
    TRY(hw_draft_parse_conf(&file, d));
    const halley_status status = read_node_link_root(&r, &room, file.root);
    strbuf_fini(&room);
    map64_fini(&r.seen);
    map64_fini(&r.cables);
    conf_fini(&file);
    return status;
}

const hw_import_format hw_import_node_link = {.row = {.name = "node-link",
                                                      .doc = "node-link JSON of networkx",
                                                      .read = hw_import_read,
                                                      .also = "nodelink networkx",
                                                      .is_map = true},
                                              .read = read_node_link};
