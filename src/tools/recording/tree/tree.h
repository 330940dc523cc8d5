/*
 * recording/tree/tree.h - a linked recording as a call tree: threads, ranges, operators,
 * and under each the kernels that it launched.
 *
 * The self time of a node excludes its children. On the host it is the node's pieces; on
 * the device it is the kernel itself. So the times of all nodes of a tree add up to all
 * host and device time.
 */
#ifndef RECORDING_TREE_TREE_H
#define RECORDING_TREE_TREE_H

#include "base/array.h"
#include "base/hash.h"
#include "halley/recording.h"

#define TREE_NONE UINT32_MAX

typedef struct tree_node {
    int64_t begin_ns;
    int64_t host_ns, device_ns; /* self time */
    uint64_t shapes;            /* hash of the shapes of its inputs; 0 = none */
    uint32_t name;              /* interned in the names of the tree */
    uint32_t kind;              /* interned: the name without what differs between runs */
    uint32_t class_id;          /* of kernels, interned; TREE_NONE = no kernel */
    uint32_t parent;            /* TREE_NONE: the root */
    uint32_t first, n;          /* children, in call_tree.children */
} tree_node;

/* Texts that two trees share, so that equal ids mean equal texts. */
typedef struct tree_names {
    intern names, kinds, classes;
} tree_names;
void tree_names_fini(tree_names *names);

typedef struct call_tree {
    ARRAY(tree_node) nodes; /* 0 is the root, then threads */
    uint32_t *children;     /* by parent, in order of time */
    uint32_t *node_of;      /* by node of the trace: its tree node; TREE_NONE = none */
} call_tree;

/* Is the trace a recording whose device work has kernel classes? */
bool tree_is_recorded(const halley_trace *trace);
/* call_tree_fini also after a failure. */
halley_status call_tree_init(call_tree *tree, tree_names *names,
                             const halley_trace *trace, halley_error *err);
void call_tree_fini(call_tree *tree);
/* The name without digits, template arguments and parameters; "hip" is replaced by
 * "cuda". */
void tree_kind_of(strbuf *to, str name);

#endif
