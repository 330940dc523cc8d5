/*
 * Read {"workload_graph": [{"Id", "Name", "NodeType", "ctrlDeps", "data_deps", "runtime",
 * …}]}, the JSON of Chakra's feeder. Keys that are not fields of a node become
 * attributes. Known ones get the types that Chakra gives them; others get the type of
 * their value.
 */
#include "base/number/number.h"
#include "trace/format/et.h"
#include "trace/format/json_read.h"

#include <string.h>

static const struct graph_attr {
    const char *key;
    halley_attr_kind kind;
} known[] = {
    {HALLEY_ATTR_NAME_IS_CPU_OP, HALLEY_ATTR_BOOL},
    {HALLEY_ATTR_NAME_NUM_OPS, HALLEY_ATTR_INT64},
    {HALLEY_ATTR_NAME_TENSOR_SIZE, HALLEY_ATTR_UINT64},
    {HALLEY_ATTR_NAME_COMM_TYPE, HALLEY_ATTR_INT64},
    {HALLEY_ATTR_NAME_COMM_PRIORITY, HALLEY_ATTR_INT32},
    {HALLEY_ATTR_NAME_COMM_SIZE, HALLEY_ATTR_INT64},
    {HALLEY_ATTR_NAME_COMM_SRC, HALLEY_ATTR_INT32},
    {HALLEY_ATTR_NAME_COMM_DST, HALLEY_ATTR_INT32},
    {HALLEY_ATTR_NAME_COMM_TAG, HALLEY_ATTR_INT32},
};

/* Integers stay integers, whatever their size. */
static halley_attr_kind kind_of_number(str text)
{
    int64_t i;
    uint64_t u;
    if (str_to_i64(text, &i))
        return HALLEY_ATTR_INT64;
    return str_to_u64(text, &u) ? HALLEY_ATTR_UINT64 : HALLEY_ATTR_DOUBLE;
}

/* Read the value of the key just read, with the known type of the key or else its own. */
static halley_status
take_graph_attr(json_trace *j, halley_status add(halley_builder *, const halley_attr *))
{
    halley_attr a = {.kind = HALLEY_ATTR_NONE};
    TRY(json_text(j, &a.name, &j->name));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_eq((str){a.name.at, a.name.n}, str_from(known[i].key)))
            a.kind = known[i].kind;
    const json_reader before = j->r;
    const json_token token = json_next(&j->r);
    if (token == JSON_TRUE || token == JSON_FALSE) {
        a.kind = HALLEY_ATTR_BOOL;
        a.bits = token == JSON_TRUE;
    } else if (token == JSON_STRING && a.kind == HALLEY_ATTR_NONE) {
        a.kind = HALLEY_ATTR_STRING;
        TRY(json_text(j, &a.bytes, &j->scratch));
    } else if (token == JSON_NUMBER || token == JSON_STRING) {
        double real;
        if (a.kind == HALLEY_ATTR_NONE)
            a.kind = kind_of_number(j->r.text);
        if (a.kind == HALLEY_ATTR_DOUBLE) {
            if (!number_read(j->r.text, &real))
                return json_bad(j, "a number out of range");
            memcpy(&a.bits, &real, sizeof real);
        } else {
            j->r = before;
            TRY(json_take_integer(
                j, a.kind == HALLEY_ATTR_BOOL ? HALLEY_ATTR_INT64 : a.kind, &a.bits));
            a.bits = a.kind == HALLEY_ATTR_BOOL ? a.bits != 0 : a.bits;
        }
    } else {
        return json_bad(j, token == JSON_ERROR
                               ? NULL
                               : "only numbers, strings and booleans can become "
                                 "attributes of a node");
    }
    return add(j->b, &a);
}

static bool is_field(str key, const char *a, const char *b)
{
    return str_eq(key, str_from(a)) || str_eq(key, str_from(b));
}

typedef struct graph_node {
    uint64_t id, type, runtime;
    halley_bytes name;
} graph_node;

/* Read one key of a node. The first pass (fields = true) skips attributes; the second
 * (false) takes them. */
static halley_status take_key(json_trace *j, graph_node *n, bool fields)
{
    const str key = j->r.text;
    const bool is_attr =
        !is_field(key, "Id", "id") && !is_field(key, "Name", "name") &&
        !is_field(key, "NodeType", "type") && !is_field(key, "ctrlDeps", "ctrl_deps") &&
        !is_field(key, "data_deps", "dataDeps") && !is_field(key, "runtime", "Runtime");
    if (is_attr && !fields)
        return take_graph_attr(j, halley_builder_attr);
    if (is_attr || !fields)
        return json_skip(&j->r, json_next(&j->r)) ? HALLEY_OK : json_bad(j, NULL);
    if (is_field(key, "Id", "id"))
        return json_take_integer(j, HALLEY_ATTR_UINT64, &n->id);
    if (is_field(key, "Name", "name"))
        return json_take_text(j, &n->name, &j->node_name);
    if (is_field(key, "NodeType", "type"))
        return json_take_integer(j, HALLEY_ATTR_INT32, &n->type);
    if (is_field(key, "runtime", "Runtime"))
        return json_take_integer(j, HALLEY_ATTR_UINT64, &n->runtime);
    return json_take_ids(j, is_field(key, "ctrlDeps", "ctrl_deps") ? &j->ctrl : &j->data);
}

static halley_status walk_node(json_trace *j, graph_node *n, bool fields)
{
    json_token token;
    while ((token = json_next(&j->r)) == JSON_KEY)
        TRY(take_key(j, n, fields));
    return token == JSON_OBJECT_END ? HALLEY_OK : json_bad(j, NULL);
}

static halley_status take_graph_node(json_trace *j)
{
    graph_node n = {.name = {"", 0}};
    const json_reader start = j->r;
    j->ctrl.n = j->data.n = 0;
    TRY(walk_node(j, &n, true));
    TRY(halley_builder_node(j->b, n.id, (uint32_t)n.type, n.name));
    TRY(halley_builder_time(j->b, 0, n.runtime));
    for (size_t i = 0; i < j->ctrl.n; i++)
        TRY(halley_builder_ctrl(j->b, j->ctrl.at[i]));
    for (size_t i = 0; i < j->data.n; i++)
        TRY(halley_builder_data(j->b, j->data.at[i]));
    j->r = start;
    return walk_node(j, &n, false);
}

halley_status json_take_graph(json_trace *j)
{
    json_token token = JSON_KEY;
    builder_set_metadata(j->b, true);
    for (; token == JSON_KEY; token = json_next(&j->r)) {
        if (!str_eq(j->r.text, STR("workload_graph"))) {
            TRY(take_graph_attr(j, halley_builder_metadata));
            continue;
        }
        token = json_next(&j->r);
        if (token != JSON_ARRAY)
            return json_bad(
                j, token == JSON_ERROR ? NULL : "workload_graph is an array of nodes");
        while ((token = json_next(&j->r)) == JSON_OBJECT)
            TRY(take_graph_node(j));
        if (token != JSON_ARRAY_END)
            return json_bad(j, token == JSON_ERROR ? NULL : "a node is an object");
    }
    return token == JSON_OBJECT_END ? HALLEY_OK : json_bad(j, NULL);
}
