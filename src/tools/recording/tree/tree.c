/* The call tree of a linked recording; see tree.h. */
#include "recording/tree/tree.h"

#include "base/error.h"
#include "trace/core/slots.h"

#include <stdlib.h>
#include <string.h>

enum { SLOT_CLASS, SLOT_BEGIN, SLOT_DURATION, SLOT_TID, SLOT_HOST, SLOT_FREE, N_SLOTS };
static const char *const slot_names[N_SLOTS] = {
    [SLOT_CLASS] = HALLEY_ATTR_NAME_KERNEL_CLASS,
    [SLOT_BEGIN] = HALLEY_ATTR_NAME_START_NS,
    [SLOT_DURATION] = HALLEY_ATTR_NAME_DURATION_NS,
    [SLOT_TID] = HALLEY_ATTR_NAME_TID,
    [SLOT_HOST] = HALLEY_ATTR_NAME_IS_CPU_OP,
    [SLOT_FREE] = HALLEY_ATTR_NAME_FREE_LANE,
};

typedef struct tree_builder {
    call_tree *tree;
    tree_names *names;
    const halley_trace *trace;
    trace_slots slots;
    map64 threads; /* tid -> its tree node */
    strbuf kind;
    bool failed;
} tree_builder;

void tree_names_fini(tree_names *names)
{
    intern_fini(&names->names);
    intern_fini(&names->kinds);
    intern_fini(&names->classes);
}

void call_tree_fini(call_tree *tree)
{
    array_fini(&tree->nodes);
    free(tree->children);
    free(tree->node_of);
}

bool tree_is_recorded(const halley_trace *trace)
{
    halley_attr attr;
    return trace_find_metadata(&attr, trace, "recording");
}

static bool starts_with(str s, size_t at, const char *word)
{
    const size_t n = strlen(word);
    return at + n <= s.n && memcmp(s.at + at, word, n) == 0;
}

void tree_kind_of(strbuf *to, str name)
{
    size_t depth = 0;
    to->n = 0;
    for (size_t i = 0; i < name.n; i++) {
        const char c = name.at[i];
        const bool opens = c == '<' && i > 0;
        if (depth > 0 || opens) { /* template arguments */
            depth += c == '<';
            depth -= c == '>' && depth > 0 && name.at[i - 1] != '-';
            continue;
        }
        if (starts_with(name, i, "(anonymous namespace)")) {
            i += sizeof "(anonymous namespace)" - 2;
            continue;
        }
        if (c == '(' && i > 0) /* parameters */
            break;
        if (c >= '0' && c <= '9')
            continue;
        if (starts_with(name, i, "hip") || starts_with(name, i, "Hip")) {
            strbuf_add(to, c == 'h' ? STR("cuda") : STR("Cuda"));
            i += 2;
            continue;
        }
        strbuf_add_char(to, c);
    }
}

static int64_t read_tree_slot(const tree_builder *b, uint32_t node, uint32_t slot,
                              int64_t otherwise)
{
    halley_attr attr;
    int64_t value;
    return trace_slots_find(&attr, &b->slots, node, slot) &&
                   halley_attr_to_i64(&attr, &value)
               ? value
               : otherwise;
}

static bool is_tree_flag(const tree_builder *b, uint32_t node, uint32_t slot)
{
    halley_attr attr;
    return trace_slots_find(&attr, &b->slots, node, slot) && attr.bits != 0;
}

static uint32_t add_tree_node(tree_builder *b, str name, uint32_t parent)
{
    tree_kind_of(&b->kind, name);
    const tree_node node = {.name = intern_add(&b->names->names, name),
                            .kind = intern_add(&b->names->kinds, strbuf_str(&b->kind)),
                            .class_id = TREE_NONE,
                            .parent = parent};
    b->failed |= node.name == HASH_NONE || node.kind == HASH_NONE || b->kind.failed ||
                 !array_push(&b->tree->nodes, node);
    return b->failed ? 0 : (uint32_t)b->tree->nodes.n - 1;
}

static uint32_t find_thread(tree_builder *b, int64_t tid)
{
    uint32_t id = (uint32_t)b->tree->nodes.n;
    bool fresh = false;
    if (!map64_put(&b->threads, (uint64_t)tid, &id, &fresh)) {
        b->failed = true;
        return 0;
    }
    if (fresh)
        (void)add_tree_node(
            b, tid < 0 ? STR("launched before the recording") : STR("thread"), 0);
    return id;
}

static uint32_t find_ctrl_parent(const halley_trace *trace, uint32_t node)
{
    const uint32_t n = halley_node_ctrl_count(trace, node);
    return n == 0 ? HALLEY_NO_NODE : halley_node_ctrl(trace, node, 0).index;
}

/* Is it a later piece of its parent, or time outside every event? */
static bool is_piece(const tree_builder *b, uint32_t node)
{
    const halley_bytes name = halley_node_name(b->trace, node);
    return str_eq((str){name.at, name.n}, STR("host gap")) &&
           is_tree_flag(b, node, SLOT_HOST);
}

static uint32_t find_caller_node(tree_builder *b, uint32_t node, bool on_device)
{
    const uint32_t parent = find_ctrl_parent(b->trace, node);
    if (parent != HALLEY_NO_NODE && b->tree->node_of[parent] != TREE_NONE)
        return b->tree->node_of[parent];
    return find_thread(b, on_device ? -1 : read_tree_slot(b, node, SLOT_TID, 0));
}

static void add_trace_node(tree_builder *b, uint32_t node)
{
    const halley_bytes name = halley_node_name(b->trace, node);
    const int64_t duration_ns = read_tree_slot(b, node, SLOT_DURATION, 0);
    halley_attr class_attr;
    const bool on_device = trace_slots_find(&class_attr, &b->slots, node, SLOT_CLASS);
    const uint32_t parent = find_caller_node(b, node, on_device);
    if (is_piece(b, node)) {
        if (find_ctrl_parent(b->trace, node) != HALLEY_NO_NODE && !b->failed)
            b->tree->nodes.at[parent].host_ns += duration_ns;
        return;
    }
    const uint32_t id = add_tree_node(b, (str){name.at, name.n}, parent);
    if (b->failed)
        return;
    tree_node *const t = &b->tree->nodes.at[id];
    b->tree->node_of[node] = id;
    t->begin_ns = read_tree_slot(b, node, SLOT_BEGIN, 0);
    *(on_device ? &t->device_ns : &t->host_ns) = duration_ns;
    if (on_device) {
        t->class_id = intern_add(&b->names->classes,
                                 (str){class_attr.bytes.at, class_attr.bytes.n});
        b->failed |= t->class_id == HASH_NONE;
    }
    const halley_io in = halley_node_inputs(b->trace, node);
    if (in.present && in.shapes.n > 0)
        t->shapes = hash_bytes(in.shapes.at, in.shapes.n, 7) | 1;
}

/* List the children of each node in the order of `nodes`, which is the order of time. */
static bool list_children(call_tree *tree)
{
    const size_t n = tree->nodes.n;
    tree->children = mem_array(n, sizeof *tree->children);
    if (tree->children == NULL)
        return false;
    for (size_t i = 1; i < n; i++)
        tree->nodes.at[tree->nodes.at[i].parent].n++;
    uint32_t at = 0;
    for (size_t i = 0; i < n; i++) {
        tree->nodes.at[i].first = at;
        at += tree->nodes.at[i].n;
        tree->nodes.at[i].n = 0;
    }
    for (uint32_t i = 1; i < n; i++) {
        tree_node *const parent = &tree->nodes.at[tree->nodes.at[i].parent];
        tree->children[parent->first + parent->n++] = i;
    }
    return true;
}

static void build_call_tree(tree_builder *b)
{
    const uint32_t n = halley_trace_count(b->trace);
    for (uint32_t i = 0; i < n; i++)
        b->tree->node_of[i] = TREE_NONE;
    (void)add_tree_node(b, STR("recording"), TREE_NONE);
    for (uint32_t i = 0; !b->failed && i < n; i++) {
        const bool is_lag =
            is_tree_flag(b, i, SLOT_FREE) && is_tree_flag(b, i, SLOT_HOST);
        if (halley_node_type_of(b->trace, i) != HALLEY_NODE_METADATA && !is_lag)
            add_trace_node(b, i);
    }
    b->failed |= !b->failed && !list_children(b->tree);
}

halley_status call_tree_init(call_tree *tree, tree_names *names,
                             const halley_trace *trace, halley_error *err)
{
    *tree = (call_tree){0};
    tree_builder b = {.tree = tree, .names = names, .trace = trace};
    tree->node_of = mem_array(halley_trace_count(trace), sizeof *tree->node_of);
    b.failed =
        tree->node_of == NULL || !trace_slots_init(&b.slots, trace, slot_names, N_SLOTS);
    if (!b.failed) {
        build_call_tree(&b);
        trace_slots_fini(&b.slots);
    }
    map64_fini(&b.threads);
    strbuf_fini(&b.kind);
    return b.failed ? error_nomem(err) : HALLEY_OK;
}
