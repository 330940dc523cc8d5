/*
 * Add up an alignment of two call trees.
 *
 * Every node of both trees is counted exactly once: a pair in the row of its operator, a
 * node that the other tree lacks in its own row. Kernels count as device time of the
 * operator that launched them, and in the row of their class. So an operator that
 * launches different kernels in the two trees is one row.
 */
#include "base/arena.h"
#include "base/error.h"
#include "halley/recording_diff.h"
#include "recording/tree/align.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct operator_sum {
    uint32_t name_a, name_b; /* TREE_NONE: that recording lacks it */
    halley_run_sum a, b;
} operator_sum;

typedef struct differ {
    halley_recording_diff d; /* first: what the caller sees */
    arena memory;
    tree_names names;
    map64 row_of; /* names of both sides -> row */
    ARRAY(operator_sum) rows;
    ARRAY(halley_class_row) classes; /* by class */
    bool failed;
} differ;

/* One pair of ranks being compared. */
typedef struct rank_pair {
    differ *to;
    call_tree a, b;
    uint32_t *partners_a, *partners_b; /* by node: the aligned one of the other tree */
    tree_pairs stack;
} rank_pair;

/* The row of two operators, by their kinds. The row shows the first name of each. NULL:
 * no memory. */
static operator_sum *find_operator_row(differ *d, const tree_node *a, const tree_node *b)
{
    uint32_t row = (uint32_t)d->rows.n;
    bool fresh;
    const uint64_t kind_a = a == NULL ? TREE_NONE : a->kind;
    const uint64_t kind_b = b == NULL ? TREE_NONE : b->kind;
    const operator_sum sum = {.name_a = a == NULL ? TREE_NONE : a->name,
                              .name_b = b == NULL ? TREE_NONE : b->name};
    if (map64_put(&d->row_of, hash_u64(kind_a << 32 | kind_b), &row, &fresh) &&
        (!fresh || array_push(&d->rows, sum)))
        return &d->rows.at[row];
    d->failed = true;
    return NULL;
}

/* NULL: no memory. */
static halley_class_row *find_class_row(differ *d, uint32_t class_id)
{
    while (d->classes.n <= class_id)
        if (!array_push(&d->classes, (halley_class_row){.name = ""})) {
            d->failed = true;
            return NULL;
        }
    return &d->classes.at[class_id];
}

static void add_tree_run(halley_run_sum *sum, const tree_node *n, bool counts)
{
    sum->n += counts;
    sum->host_ns += n->host_ns;
    sum->device_ns += n->device_ns;
}

/* The operator in whose row a node is counted. For a kernel that is the operator that
 * launched it. */
static uint32_t find_tree_operator(const call_tree *t, uint32_t node)
{
    if (node == TREE_NONE)
        return TREE_NONE;
    const tree_node *const n = &t->nodes.at[node];
    return n->class_id != TREE_NONE && n->parent != TREE_NONE ? n->parent : node;
}

static const tree_node *get_tree_node(const call_tree *t, uint32_t node)
{
    return node == TREE_NONE ? NULL : &t->nodes.at[node];
}

/* A kernel that the other tree lacks is counted with the operator that launched it. The
 * other tree may have that operator. */
static operator_sum *find_pair_row(rank_pair *p, tree_pair pair)
{
    uint32_t a = find_tree_operator(&p->a, pair.a);
    uint32_t b = find_tree_operator(&p->b, pair.b);
    if (b == TREE_NONE && a != pair.a)
        b = p->partners_a[a];
    else if (a == TREE_NONE && b != pair.b)
        a = p->partners_b[b];
    return find_operator_row(p->to, get_tree_node(&p->a, a), get_tree_node(&p->b, b));
}

/* The times of one side of a pair. */
static void count_side(differ *d, operator_sum *row, const tree_node *n, bool is_b)
{
    const bool is_kernel = n->class_id != TREE_NONE;
    add_tree_run(is_b ? &row->b : &row->a, n, !is_kernel);
    add_tree_run(is_b ? &d->d.b : &d->d.a, n, is_kernel);
    halley_class_row *const c = is_kernel ? find_class_row(d, n->class_id) : NULL;
    if (c != NULL)
        add_tree_run(is_b ? &c->b : &c->a, n, true);
}

static bool are_same(const tree_node *x, const tree_node *y)
{
    return x->host_ns == y->host_ns && x->device_ns == y->device_ns && x->name == y->name;
}

static void count_aligned_pair(rank_pair *p, tree_pair pair)
{
    differ *const d = p->to;
    const bool has_a = pair.a != TREE_NONE, has_b = pair.b != TREE_NONE;
    assert(has_a || has_b);
    const tree_node *const a = has_a ? &p->a.nodes.at[pair.a] : NULL;
    const tree_node *const b = has_b ? &p->b.nodes.at[pair.b] : NULL;
    operator_sum *const row = find_pair_row(p, pair);
    if (row == NULL)
        return;
    d->d.n_aligned += has_a && has_b;
    d->d.n_only_a += !has_b;
    d->d.n_only_b += !has_a;
    d->d.equal = d->d.equal && has_a && has_b && are_same(a, b);
    if (has_a)
        count_side(d, row, a, false);
    if (has_b)
        count_side(d, row, b, true);
}

/* Push all children of a node that the other tree lacks. */
static bool push_children(rank_pair *p, tree_pair pair)
{
    const bool in_a = pair.a != TREE_NONE;
    const call_tree *const t = in_a ? &p->a : &p->b;
    const tree_node *const n = &t->nodes.at[in_a ? pair.a : pair.b];
    bool ok = true;
    for (uint32_t k = 0; ok && k < n->n; k++) {
        const uint32_t child = t->children[n->first + k];
        ok = array_push(&p->stack,
                        (tree_pair){in_a ? child : TREE_NONE, in_a ? TREE_NONE : child});
    }
    return ok;
}

static halley_status compare_trees(rank_pair *p, halley_error *err)
{
    bool ok = array_push(&p->stack, (tree_pair){0, 0});
    while (ok && !p->to->failed && p->stack.n > 0) {
        const tree_pair pair = p->stack.at[--p->stack.n];
        const bool is_aligned = pair.a != TREE_NONE && pair.b != TREE_NONE;
        if (is_aligned) {
            p->partners_a[pair.a] = pair.b;
            p->partners_b[pair.b] = pair.a;
        }
        count_aligned_pair(p, pair);
        ok = is_aligned ? tree_align_children(&p->stack, &p->a, &p->b, pair.a, pair.b)
                        : push_children(p, pair);
    }
    return ok && !p->to->failed ? HALLEY_OK : error_nomem(err);
}

/* If only one side has a rank, its tree is compared with an empty one. */
static halley_status init_tree(call_tree *tree, differ *d, const halley_trace_set *set,
                               uint32_t rank, halley_error *err)
{
    if (rank < halley_trace_set_count(set))
        return call_tree_init(tree, &d->names, halley_trace_set_get(set, rank), err);
    const tree_node root = {.name = intern_add(&d->names.names, STR("recording")),
                            .kind = intern_add(&d->names.kinds, STR("recording")),
                            .class_id = TREE_NONE,
                            .parent = TREE_NONE};
    return root.name != HASH_NONE && root.kind != HASH_NONE &&
                   array_push(&tree->nodes, root)
               ? HALLEY_OK
               : error_nomem(err);
}

/* An array with one entry per node, all TREE_NONE. NULL: no memory. */
static uint32_t *make_partners(const call_tree *tree)
{
    uint32_t *const partners = mem_array(tree->nodes.n, sizeof *partners);
    for (size_t i = 0; partners != NULL && i < tree->nodes.n; i++)
        partners[i] = TREE_NONE;
    return partners;
}

static halley_status compare_rank_trees(differ *d, const halley_trace_set *a,
                                        const halley_trace_set *b, uint32_t rank,
                                        halley_error *err)
{
    rank_pair p = {.to = d};
    halley_status status = init_tree(&p.a, d, a, rank, err);
    if (status == HALLEY_OK)
        status = init_tree(&p.b, d, b, rank, err);
    if (status == HALLEY_OK) {
        p.partners_a = make_partners(&p.a);
        p.partners_b = make_partners(&p.b);
        status = p.partners_a != NULL && p.partners_b != NULL ? compare_trees(&p, err)
                                                              : error_nomem(err);
    }
    free(p.partners_a);
    free(p.partners_b);
    call_tree_fini(&p.a);
    call_tree_fini(&p.b);
    array_fini(&p.stack);
    return status;
}

static int64_t find_change(const halley_run_sum *a, const halley_run_sum *b)
{
    return b->host_ns - a->host_ns + b->device_ns - a->device_ns;
}

static int compare_changes(const halley_run_sum *a, const halley_run_sum *b,
                           const halley_run_sum *c, const halley_run_sum *d)
{
    const int64_t x = llabs(find_change(a, b)), y = llabs(find_change(c, d));
    return x > y ? -1 : x < y;
}

static int compare_operator_rows(const void *a, const void *b)
{
    const halley_operator_row *const x = a, *const y = b;
    const int by_change = compare_changes(&x->a, &x->b, &y->a, &y->b);
    if (by_change != 0)
        return by_change;
    const int by_name = strcmp(x->name_a, y->name_a);
    return by_name != 0 ? by_name : strcmp(x->name_b, y->name_b);
}

static int compare_class_rows(const void *a, const void *b)
{
    const halley_class_row *const x = a, *const y = b;
    const int by_change = compare_changes(&x->a, &x->b, &y->a, &y->b);
    return by_change != 0 ? by_change : strcmp(x->name, y->name);
}

static const char *keep_name(differ *d, uint32_t name)
{
    const char *const text =
        name == TREE_NONE ? ""
                          : arena_copy(&d->memory, intern_text(&d->names.names, name));
    d->failed |= text == NULL;
    return text;
}

static halley_status list_diff_rows(differ *d, halley_error *err)
{
    halley_recording_diff *const out = &d->d;
    out->operators = arena_array(&d->memory, d->rows.n + 1, sizeof *out->operators);
    out->classes = arena_array(&d->memory, d->classes.n + 1, sizeof *out->classes);
    if (out->operators == NULL || out->classes == NULL)
        return error_nomem(err);
    for (size_t i = 0; i < d->rows.n; i++)
        out->operators[out->n_operators++] = (halley_operator_row){
            keep_name(d, d->rows.at[i].name_a), keep_name(d, d->rows.at[i].name_b),
            d->rows.at[i].a, d->rows.at[i].b};
    for (size_t i = 0; i < d->classes.n; i++) {
        halley_class_row row = d->classes.at[i];
        row.name = arena_copy(&d->memory, intern_text(&d->names.classes, (uint32_t)i));
        d->failed |= row.name == NULL;
        out->classes[out->n_classes++] = row;
    }
    if (d->failed)
        return error_nomem(err);
    qsort(out->operators, out->n_operators, sizeof *out->operators,
          compare_operator_rows);
    qsort(out->classes, out->n_classes, sizeof *out->classes, compare_class_rows);
    return HALLEY_OK;
}

bool halley_recordings_can_align(const halley_trace_set *a, const halley_trace_set *b)
{
    return halley_trace_set_count(a) > 0 && halley_trace_set_count(b) > 0 &&
           tree_is_recorded(halley_trace_set_get(a, 0)) &&
           tree_is_recorded(halley_trace_set_get(b, 0));
}

halley_status halley_recordings_diff(halley_recording_diff **out,
                                     const halley_trace_set *a, const halley_trace_set *b,
                                     halley_error *err)
{
    differ *const d = calloc(1, sizeof *d);
    if (d == NULL)
        return error_nomem(err);
    const uint32_t n_a = halley_trace_set_count(a), n_b = halley_trace_set_count(b);
    halley_status status = HALLEY_OK;
    d->d.equal = n_a == n_b;
    d->d.memory = d;
    for (uint32_t rank = 0; status == HALLEY_OK && rank < (n_a > n_b ? n_a : n_b); rank++)
        status = compare_rank_trees(d, a, b, rank, err);
    if (status == HALLEY_OK)
        status = list_diff_rows(d, err);
    if (status != HALLEY_OK) {
        halley_recording_diff_free(&d->d);
        return status;
    }
    *out = &d->d;
    return HALLEY_OK;
}

void halley_recording_diff_free(halley_recording_diff *diff)
{
    if (diff == NULL)
        return;
    differ *const d = diff->memory;
    arena_fini(&d->memory);
    tree_names_fini(&d->names);
    map64_fini(&d->row_of);
    array_fini(&d->rows);
    array_fini(&d->classes);
    free(d);
}
