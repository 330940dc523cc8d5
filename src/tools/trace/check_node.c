/*
 * Check one node: what its type requires, whether each known attribute has the right
 * class and a possible value, and whether its texts and times are possible.
 *
 * Readers differ in what they accept. ASTRA-sim's newer reader converts any integer kind.
 * Chakra's first reader accepts only the usual kind. So another integer kind is a note,
 * and another class (text, fraction, list) is an error.
 */
#include "base/number/number.h"
#include "base/str.h"
#include "trace/check.h"

#include <inttypes.h>
#include <math.h>

typedef enum attr_class {
    CLASS_NONE,
    CLASS_INTEGER,
    CLASS_SWITCH,
    CLASS_TEXT
} attr_class;

typedef struct role_rule {
    attr_class class;
    bool not_negative;
    halley_attr_kind usual;
    const char *wanted; /* remedy for a wrong class */
} role_rule;

static const role_rule rules[TRACE_N_ROLES] = {
    [TRACE_ROLE_IS_CPU_OP] = {CLASS_SWITCH, false, HALLEY_ATTR_BOOL, "write it as bool"},
    [TRACE_ROLE_NUM_OPS] = {CLASS_INTEGER, true, HALLEY_ATTR_INT64,
                            "write the number of operations as int64"},
    [TRACE_ROLE_TENSOR_SIZE] = {CLASS_INTEGER, true, HALLEY_ATTR_UINT64,
                                "write the size in bytes as uint64"},
    [TRACE_ROLE_COMM_TYPE] = {CLASS_INTEGER, true, HALLEY_ATTR_INT64,
                              "write 0 (ALL_REDUCE) to 9 (BARRIER) as int64"},
    [TRACE_ROLE_COMM_SIZE] = {CLASS_INTEGER, true, HALLEY_ATTR_INT64,
                              "write the size in bytes as int64"},
    [TRACE_ROLE_COMM_SRC] = {CLASS_INTEGER, true, HALLEY_ATTR_INT32,
                             "write the sending rank as int32"},
    [TRACE_ROLE_COMM_DST] = {CLASS_INTEGER, true, HALLEY_ATTR_INT32,
                             "write the receiving rank as int32"},
    [TRACE_ROLE_COMM_TAG] = {CLASS_INTEGER, false, HALLEY_ATTR_INT32,
                             "write the tag as int32"},
    [TRACE_ROLE_COMM_PRIORITY] = {CLASS_INTEGER, false, HALLEY_ATTR_INT32,
                                  "write the priority as int32"},
    [TRACE_ROLE_PG_NAME] = {CLASS_TEXT, false, HALLEY_ATTR_STRING,
                            "write the name of the group as string"},
};

/* The attributes that each node type requires. */
static const struct {
    uint32_t type;
    trace_role role;
    const char *remedy;
} needs[] = {
    {HALLEY_NODE_COLL, TRACE_ROLE_COMM_TYPE,
     "a collective needs its type, add attribute comm_type (int64)"},
    {HALLEY_NODE_COLL, TRACE_ROLE_COMM_SIZE,
     "a collective needs its size in bytes, add attribute comm_size (int64)"},
    {HALLEY_NODE_SEND, TRACE_ROLE_COMM_DST,
     "a send needs the rank it goes to, add attribute comm_dst (int32)"},
    {HALLEY_NODE_SEND, TRACE_ROLE_COMM_SIZE,
     "a send needs its size in bytes, add attribute comm_size (int64)"},
    {HALLEY_NODE_SEND, TRACE_ROLE_COMM_TAG,
     "a send needs a tag to be matched by, add attribute comm_tag (int32)"},
    {HALLEY_NODE_RECV, TRACE_ROLE_COMM_SRC,
     "a receive needs the rank it comes from, add attribute comm_src (int32)"},
    {HALLEY_NODE_RECV, TRACE_ROLE_COMM_SIZE,
     "a receive needs its size in bytes, add attribute comm_size (int64)"},
    {HALLEY_NODE_RECV, TRACE_ROLE_COMM_TAG,
     "a receive needs a tag to be matched by, add attribute comm_tag (int32)"},
    {HALLEY_NODE_MEM_LOAD, TRACE_ROLE_TENSOR_SIZE,
     "a memory load needs its size in bytes, add attribute tensor_size (uint64)"},
    {HALLEY_NODE_MEM_STORE, TRACE_ROLE_TENSOR_SIZE,
     "a memory store needs its size in bytes, add attribute tensor_size (uint64)"},
};

static bool is_barrier(const trace_roles *r)
{
    uint64_t type = 0;
    return trace_roles_u64(r, TRACE_ROLE_COMM_TYPE, &type) && type == HALLEY_COLL_BARRIER;
}

static void check_needs(check_list *l, const check_place *at, uint32_t node,
                        const trace_roles *r)
{
    const uint32_t type = halley_node_type_of(at->trace, node);
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        if (needs[i].type != type || trace_roles_has(r, needs[i].role))
            continue;
        if (needs[i].role == TRACE_ROLE_COMM_SIZE && is_barrier(r))
            continue;
        check_add(l, CHECK_MISSING_ATTR, at, node, needs[i].remedy, "%s is missing",
                  trace_role_name(needs[i].role));
    }
}

static bool class_fits(attr_class class, halley_attr_kind kind)
{
    switch (class) {
    case CLASS_INTEGER:
        return trace_kind_is_integer(kind);
    case CLASS_SWITCH:
        return kind == HALLEY_ATTR_BOOL || trace_kind_is_integer(kind);
    case CLASS_TEXT:
        return kind == HALLEY_ATTR_STRING;
    default:
        return true;
    }
}

/* Is it an integer written as 524288.0, perhaps as text? Then it is read as an
 * integer. */
static bool is_written_number(const halley_attr *attr)
{
    double value;
    const str text = {attr->bytes.at, attr->bytes.n};
    const bool is_number = attr->kind == HALLEY_ATTR_STRING
                               ? number_read(text, &value)
                               : halley_attr_to_double(attr, &value);
    return is_number && value >= 0 && value < 9e18 && value == floor(value);
}

static void wrong_class(check_list *l, const check_place *at, uint32_t node,
                        trace_role role, const halley_attr *attr)
{
    const char *remedy = rules[role].wanted;
    const char *name = trace_role_name(role);
    if (attr->kind == HALLEY_ATTR_NONE)
        check_add(l, CHECK_ATTR_TYPE, at, node, remedy, "%s has no value", name);
    else if (rules[role].class == CLASS_INTEGER && is_written_number(attr))
        check_add(l, CHECK_ATTR_KIND, at, node, remedy,
                  "%s is a whole number, but of kind %s", name,
                  halley_attr_kind_name(attr->kind));
    else if (attr->kind == HALLEY_ATTR_STRING)
        check_add(l, CHECK_ATTR_TYPE, at, node, remedy, "%s is a string, %s", name,
                  check_quote(l, CHECK_ATTR_TYPE, attr->bytes));
    else
        check_add(l, CHECK_ATTR_TYPE, at, node, remedy, "%s is of kind %s", name,
                  halley_attr_kind_name(attr->kind));
}

static void check_number(check_list *l, const check_place *at, uint32_t node,
                         trace_role role, const halley_attr *attr)
{
    int64_t value = 0;
    const char *name = trace_role_name(role);
    if (!halley_attr_to_i64(attr, &value)) {
        check_add(l, CHECK_ATTR_VALUE, at, node, "no such number can be meant",
                  "%s is %" PRIu64, name, attr->bits);
        return;
    }
    if (role == TRACE_ROLE_COMM_TYPE && (value < 0 || value >= HALLEY_N_COLL_TYPES))
        check_add(l, CHECK_ATTR_VALUE, at, node,
                  "collective types go from 0 (ALL_REDUCE) to 9 (BARRIER)",
                  "comm_type is %" PRId64, value);
    else if (value < 0 && rules[role].not_negative)
        check_add(l, CHECK_ATTR_VALUE, at, node, "it cannot be negative",
                  "%s is %" PRId64, name, value);
}

static void check_role(check_list *l, const check_place *at, uint32_t node,
                       trace_role role, const halley_attr *attr)
{
    const role_rule *rule = &rules[role];
    if (!class_fits(rule->class, attr->kind)) {
        wrong_class(l, at, node, role, attr);
        return;
    }
    if (attr->kind != rule->usual)
        check_add(l, CHECK_ATTR_KIND, at, node,
                  "readers that take just the usual kind see no value",
                  "%s is of kind %s, usual is %s", trace_role_name(role),
                  halley_attr_kind_name(attr->kind), halley_attr_kind_name(rule->usual));
    if (rule->class == CLASS_INTEGER)
        check_number(l, at, node, role, attr);
}

static void check_node_roles(check_list *l, const check_place *at, uint32_t node,
                             const trace_roles *r)
{
    for (uint32_t role = 1; role < TRACE_N_ROLES; role++) {
        if (trace_roles_has(r, (trace_role)role))
            check_role(l, at, node, (trace_role)role, &r->at[role]);
        if (r->twice >> role & 1)
            check_add(l, CHECK_ATTR_TWICE, at, node,
                      "most readers take the first, leave one",
                      "%s is there more than once", trace_role_name((trace_role)role));
    }
}

static void check_zero(check_list *l, const check_place *at, uint32_t node,
                       const trace_roles *r)
{
    const uint32_t type = halley_node_type_of(at->trace, node);
    const bool comm = type >= HALLEY_NODE_SEND && type <= HALLEY_NODE_COLL;
    const bool mem = type == HALLEY_NODE_MEM_LOAD || type == HALLEY_NODE_MEM_STORE;
    const trace_role role = comm ? TRACE_ROLE_COMM_SIZE : TRACE_ROLE_TENSOR_SIZE;
    uint64_t size = 1;
    if ((comm || mem) && trace_roles_u64(r, role, &size) && size == 0 &&
        !(type == HALLEY_NODE_COLL && is_barrier(r)))
        check_add(l, CHECK_ZERO_SIZE, at, node,
                  "nothing is moved: simulators refuse it or wait for ever", "%s is 0",
                  trace_role_name(role));
}

static bool is_number(const halley_attr *attr, uint64_t bits)
{
    if (attr->kind == HALLEY_ATTR_FLOAT || attr->kind == HALLEY_ATTR_FLOAT_LIST) {
        float f = 0;
        const uint32_t low = (uint32_t)bits;
        memcpy(&f, &low, sizeof f);
        return isfinite(f);
    }
    double d = 0;
    memcpy(&d, &bits, sizeof d);
    return isfinite(d);
}

static bool all_numbers(const halley_attr *attr)
{
    if (attr->kind < HALLEY_ATTR_DOUBLE || attr->kind > HALLEY_ATTR_FLOAT_LIST)
        return true;
    if (!halley_attr_is_list(attr->kind))
        return is_number(attr, attr->bits);
    size_t cursor = 0;
    halley_attr_item item;
    while (halley_attr_list_next(attr, &cursor, &item))
        if (!is_number(attr, item.bits))
            return false;
    return true;
}

static bool is_valid_text(halley_bytes text)
{
    return str_utf8_valid((str){text.at, text.n});
}

static bool attr_valid(const halley_attr *attr)
{
    if (!is_valid_text(attr->name) || !is_valid_text(attr->doc))
        return false;
    if (attr->kind == HALLEY_ATTR_STRING)
        return is_valid_text(attr->bytes);
    size_t cursor = 0;
    halley_attr_item item;
    while (attr->kind == HALLEY_ATTR_STRING_LIST &&
           halley_attr_list_next(attr, &cursor, &item))
        if (!is_valid_text(item.bytes))
            return false;
    return true;
}

static bool io_valid(const halley_io *io)
{
    return !io->present || (is_valid_text(io->values) && is_valid_text(io->shapes) &&
                            is_valid_text(io->types));
}

static void check_texts(check_list *l, const check_place *at, uint32_t node)
{
    static const char *const remedy =
        "protobuf refuses such a string and so do its readers, write it as UTF-8";
    if (!is_valid_text(halley_node_name(at->trace, node)))
        check_add(l, CHECK_NAME_UTF8, at, node, remedy, "the name is not UTF-8");
    const halley_io in = halley_node_inputs(at->trace, node);
    const halley_io out = halley_node_outputs(at->trace, node);
    if (!io_valid(&in) || !io_valid(&out))
        check_add(l, CHECK_NAME_UTF8, at, node, remedy,
                  "the description of %s is not UTF-8",
                  io_valid(&in) ? "outputs" : "inputs");
    const uint32_t n = halley_node_attr_count(at->trace, node);
    for (uint32_t i = 0; i < n; i++) {
        const halley_attr attr = halley_node_attr(at->trace, node, i);
        if (!attr_valid(&attr))
            check_add(l, CHECK_NAME_UTF8, at, node, remedy, "attribute %s is not UTF-8",
                      check_quote(l, CHECK_NAME_UTF8, attr.name));
        if (!all_numbers(&attr))
            check_add(l, CHECK_NAN, at, node, "no result can be made from it",
                      "attribute %s is not a finite number",
                      check_quote(l, CHECK_NAN, attr.name));
    }
}

static void check_time(check_list *l, const check_place *at, uint32_t node)
{
    const uint64_t start_us = halley_node_start_us(at->trace, node);
    const uint64_t duration_us = halley_node_duration_us(at->trace, node);
    if (start_us > UINT64_MAX - duration_us)
        check_add(l, CHECK_TIME_OVERFLOW, at, node, "times are in microseconds",
                  "start %" PRIu64 " us + duration %" PRIu64 " us is beyond 64 bits",
                  start_us, duration_us);
    else if (duration_us > UINT64_MAX / 1000)
        check_add(l, CHECK_TIME_OVERFLOW, at, node, "times are in microseconds",
                  "duration %" PRIu64 " us is beyond 64 bits of nanoseconds",
                  duration_us);
}

static bool take_message(check_one *to, const trace_roles *r, uint32_t node, bool sends)
{
    check_message m = {.node = node, .sends = sends, .own = CHECK_OWN_UNSAID};
    const trace_role peer = sends ? TRACE_ROLE_COMM_DST : TRACE_ROLE_COMM_SRC;
    const trace_role own = sends ? TRACE_ROLE_COMM_SRC : TRACE_ROLE_COMM_DST;
    if (!trace_roles_u64(r, peer, &m.peer) ||
        !trace_roles_i64(r, TRACE_ROLE_COMM_TAG, &m.tag) ||
        !trace_roles_u64(r, TRACE_ROLE_COMM_SIZE, &m.size_bytes))
        return true;
    trace_roles_i64(r, own, &m.own);
    return array_push(&to->messages, m);
}

static bool take_collective(check_one *to, const check_place *at, const trace_roles *r,
                            uint32_t node)
{
    check_collective c = {.node = node,
                          .id = halley_node_id(at->trace, node),
                          .group = trace_roles_group(r)};
    if (!trace_roles_u64(r, TRACE_ROLE_COMM_TYPE, &c.type) ||
        c.type >= HALLEY_N_COLL_TYPES)
        return true;
    if (c.type != HALLEY_COLL_BARRIER &&
        !trace_roles_u64(r, TRACE_ROLE_COMM_SIZE, &c.size_bytes))
        return true;
    if (trace_roles_has(r, TRACE_ROLE_PG_NAME) &&
        r->at[TRACE_ROLE_PG_NAME].kind != HALLEY_ATTR_STRING)
        return true;
    /* If every member has its own size, the sum may differ from rank to rank. */
    halley_attr sizes;
    if (c.type == HALLEY_COLL_ALL_TO_ALL &&
        halley_node_find_attr(&sizes, at->trace, node, "comm_sizes"))
        c.size_bytes = 0;
    return array_push(&to->collectives, c);
}

static bool declares_groups(const check_place *at, uint32_t node)
{
    const halley_bytes name = halley_node_name(at->trace, node);
    return str_contains((str){name.at, name.n}, STR("process_group:init")) &&
           halley_node_inputs(at->trace, node).present;
}

static bool take_node(check_one *to, const check_place *at, uint32_t node,
                      const trace_roles *r)
{
    switch (halley_node_type_of(at->trace, node)) {
    case HALLEY_NODE_SEND:
        return take_message(to, r, node, true);
    case HALLEY_NODE_RECV:
        return take_message(to, r, node, false);
    case HALLEY_NODE_COLL:
        return take_collective(to, at, r, node);
    case HALLEY_NODE_METADATA:
        return !declares_groups(at, node) || array_push(&to->group_nodes, node);
    default:
        return true;
    }
}

bool check_node(check_one *to, const check_place *at, uint32_t node)
{
    check_list *l = &to->found;
    const uint32_t type = halley_node_type_of(at->trace, node);
    if (type >= HALLEY_N_NODE_TYPES)
        check_add(l, CHECK_NODE_TYPE, at, node,
                  "it is kept, and takes its duration when simulated",
                  "type %" PRIu32 " is not in the schema that halley knows", type);
    else if (type == HALLEY_NODE_INVALID)
        check_add(l, CHECK_INVALID_NODE, at, node, "it will do nothing and take no time",
                  "the type is INVALID_NODE");
    trace_roles roles;
    trace_roles_read(&roles, at->trace, node);
    check_texts(l, at, node);
    check_time(l, at, node);
    check_needs(l, at, node, &roles);
    check_node_roles(l, at, node, &roles);
    check_zero(l, at, node, &roles);
    return take_node(to, at, node, &roles);
}
