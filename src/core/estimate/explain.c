/*
 * Explains an estimate: operators with their sizes and times, the terms of a step, and
 * the constants. The explanation is a tree. The text output prints this tree line by
 * line.
 */
#include "base/arena.h"
#include "base/error.h"
#include "base/number/number.h"
#include "base/number/units.h"
#include "base/str.h"
#include "estimate/plan_nodes.h"
#include "estimate/price.h"
#include "halley/estimate.h"
#include "workload/family.h"

#include <assert.h>
#include <stdlib.h>

/* The tree, and the memory of its nodes and texts. The root is its first member. */
typedef struct tree {
    halley_explanation root;
    arena memory;
    bool failed; /* memory ran out */
} tree;

static const char *format_amount(char to[32], double value, units_kind kind)
{
    return units_format(to, 32, value, kind);
}

static const char *keep_term_text(tree *t, strbuf *text)
{
    assert(text != NULL);
    const char *copy = text->failed ? NULL : arena_copy(&t->memory, strbuf_str(text));
    t->failed |= copy == NULL;
    strbuf_fini(text);
    return copy;
}

/* Add a node as the last child. If memory ran out, return a node outside the tree. */
static halley_explanation *add_term(tree *t, halley_explanation *parent, const char *name)
{
    assert(parent != NULL && name != NULL);
    halley_explanation *e = arena_array(&t->memory, 1, sizeof *e);
    if (e == NULL) {
        t->failed = true;
        return NULL;
    }
    *e = (halley_explanation){.name = name};
    halley_explanation **at = &parent->children;
    while (*at != NULL)
        at = &(*at)->next;
    *at = e;
    return e;
}

static halley_explanation *add_term_value(tree *t, halley_explanation *parent,
                                          const char *name, double value,
                                          const char *unit)
{
    assert(unit != NULL);
    if (parent == NULL)
        return NULL;
    halley_explanation *e = add_term(t, parent, name);
    if (e == NULL)
        return NULL;
    e->value = value;
    e->unit = unit;
    e->has_value = true;
    return e;
}

static void describe_priced_op(strbuf *b, const price_context *c, const workload_op *op)
{
    char size[32];
    if (op->kind == WORKLOAD_COLL)
        strbuf_printf(b, "%s x %s forward, %s backward among %u",
                      format_amount(size, op->bytes_f, UNITS_BYTES),
                      number_digits(op->times_f, 6).at, number_digits(op->times_b, 6).at,
                      c->n[op->group]);
    else if (op->kind == WORKLOAD_STREAM)
        strbuf_printf(b, "%s through memory",
                      format_amount(size, op->bytes_f, UNITS_BYTES));
    else if (op->kind == WORKLOAD_FLASH)
        strbuf_printf(b, "%s TFLOP, head size %s, sequence %s",
                      number_digits(op->flops / 1e12, 4).at,
                      number_digits(op->head_dim, 6).at, number_digits(op->seq, 6).at);
    else
        strbuf_printf(b, "%s x %s x %s%s, %s TFLOP", number_digits(op->m, 6).at,
                      number_digits(op->n, 6).at, number_digits(op->k, 6).at,
                      op->groups > 1 ? " (grouped)" : "",
                      number_digits(op->flops / 1e12, 4).at);
}

/* Explain one operator, priced alone. For a collective: the time that compute does not
 * hide. */
static void explain_op(tree *t, halley_explanation *layer, const price_context *c,
                       const workload_op *op)
{
    const workload_layer one = {.n = 1, .ops = {*op}};
    price_layer p;
    strbuf text = {0};
    price_layer_make(&p, c, &one, false);
    halley_explanation *e =
        add_term_value(t, layer, op->name, p.forward_s + p.backward_s, "s");
    if (e == NULL)
        return;
    describe_priced_op(&text, c, op);
    e->formula = keep_term_text(t, &text);
    const bool is_message = op->kind == WORKLOAD_COLL;
    add_term_value(t, e, is_message ? "exposed forward" : "forward", p.forward_s, "s");
    add_term_value(t, e, is_message ? "exposed backward" : "backward", p.backward_s, "s");
}

static void explain_layer(tree *t, const price_context *c, const char *title,
                          const workload_layer *layer, bool floor)
{
    assert(layer != NULL);
    if (layer->n == 0)
        return;
    price_layer p;
    char parameters[32];
    strbuf text = {0};
    price_layer_make(&p, c, layer, floor);
    halley_explanation *e =
        add_term_value(t, &t->root, title, p.forward_s + p.backward_s, "s");
    if (e == NULL)
        return;
    strbuf_printf(
        &text, "%s parameters on a rank",
        format_amount(parameters, layer->weights + layer->expert_weights, UNITS_COUNT));
    e->formula = keep_term_text(t, &text);
    for (uint32_t i = 0; i < layer->n; i++)
        explain_op(t, e, c, &layer->ops[i]);
    add_term_value(t, e, "total forward", p.forward_s, "s");
    add_term_value(t, e, "total backward", p.backward_s, "s");
    if (p.host_f_s + p.host_b_s > 0)
        add_term_value(t, e, "waiting for the host", p.host_f_s + p.host_b_s, "s");
}

/* "8 ranks, x2 y2 z2: 3 of 6 links, 1.05 of the lower bound" */
static void describe_box(strbuf *b, const price_context *c, const hw_box *box)
{
    double links = 0;
    strbuf_printf(b, "%u ranks,", box->n);
    for (uint32_t i = 0; i < box->n_axes; i++)
        strbuf_printf(b, " %c%u", "xyzuvwst"[box->axes[i].axis], box -> axes[i].members);
    for (uint32_t i = 0; i < c->grid.n_axes; i++)
        links += c->grid.axes[i].wraps ? 2 : c->grid.axes[i].n > 1;
    strbuf_printf(b, ": %s of %s links, %s of the lower bound",
                  number_digits(hw_box_rate(box) / box->link_Bps, 3).at,
                  number_digits(links, 3).at, number_digits(hw_box_rounding(box), 4).at);
}

/* Where the groups of a plan are on a torus or mesh, and how many of its links they
 * get. */
static void explain_grid(tree *t, const price_context *c)
{
    bool any = false;
    for (int g = 0; g < WORKLOAD_N_GROUPS; g++)
        any |= c->boxes[g].n > 1;
    if (c->grid.n_axes == 0 || !any)
        return;
    halley_explanation *all = add_term(t, &t->root, "groups on the grid");
    for (int g = 0; g < WORKLOAD_N_GROUPS && all != NULL; g++) {
        strbuf text = {0};
        if (c->boxes[g].n < 2)
            continue;
        halley_explanation *e = add_term(t, all, plan_group_name((workload_group)g));
        describe_box(&text, c, &c->boxes[g]);
        const char *formula = keep_term_text(t, &text);
        if (e != NULL)
            e->formula = formula;
    }
}

static void explain_step(tree *t, const halley_estimate *e, const halley_plan *plan)
{
    assert(e->step_s >= 0);
    strbuf text = {0};
    t->root.name = "step";
    t->root.value = e->step_s;
    t->root.unit = "s";
    t->root.has_value = true;
    strbuf_printf(&text,
                  "%u micro-batches x slowest stage (stage %u) + bubble + transfers + "
                  "reduction + update",
                  halley_plan_micro_batches(plan), e->slow_stage);
    t->root.formula = keep_term_text(t, &text);
    for (int i = 0; i < HALLEY_N_PARTS; i++) {
        if (e->part_s[i] <= 0)
            continue;
        halley_explanation *part = add_term_value(
            t, &t->root, halley_part_name((halley_part)i), e->part_s[i], "s");
        if (i != HALLEY_PART_BUBBLE || plan->pp < 2 || part == NULL)
            continue;
        strbuf bubble = {0};
        strbuf_printf(&bubble, "(sum of stages - slowest) / %u virtual stages",
                      plan->virtual_stages);
        part->formula = keep_term_text(t, &bubble);
    }
}

static void explain_constants(tree *t, const halley_stack *stack)
{
    static const char *const origins[] = {"default", "given", "fitted"};
    strbuf text = {0};
    halley_explanation *all = add_term(t, &t->root, "constants");
    if (all == NULL)
        return;
    strbuf_printf(&text, "stack %s", stack->name);
    all->formula = keep_term_text(t, &text);
    for (unsigned i = 0; i < HALLEY_N_CONSTANTS; i++) {
        const halley_constant_info *info = halley_constant_get((halley_constant)i);
        halley_explanation *e =
            add_term_value(t, all, info->key, stack->k[i], info->unit);
        if (e == NULL)
            return;
        assert(stack->origin[i] < 3);
        e->origin = origins[stack->origin[i]];
        e->formula = info->doc;
    }
}

halley_status halley_estimate_explain_tree(halley_explanation **out,
                                           const halley_model *model,
                                           const halley_plan *plan,
                                           const halley_cluster *cluster,
                                           const halley_stack *stack, halley_error *err)
{
    price_context c;
    workload_parts parts;
    halley_estimate e;
    tree *t = calloc(1, sizeof *t);
    if (t == NULL)
        return error_nomem(err);
    halley_stack own;
    stack = workload_family_stack(&own, model, plan, stack);
    halley_estimate_run(&e, model, plan, cluster, stack);
    price_context_make(&c, model, plan, cluster, stack, &e);
    workload_parts_make(&parts, model, plan, stack);
    const bool layers = model->kind == HALLEY_TRANSFORMER;
    explain_step(t, &e, plan);
    explain_grid(t, &c);
    if (parts.has_dense)
        explain_layer(t, &c, layers ? "a dense layer" : "the operators", &parts.dense,
                      layers);
    if (parts.has_moe)
        explain_layer(t, &c, "a layer with experts", &parts.moe, true);
    explain_layer(t, &c, "the embedding", &parts.embedding, false);
    explain_layer(t, &c, "the head", &parts.head, false);
    explain_constants(t, stack);
    if (t->failed) {
        halley_explanation_free(&t->root);
        return error_nomem(err);
    }
    *out = &t->root;
    return HALLEY_OK;
}

void halley_explanation_free(halley_explanation *root)
{
    tree *t = (tree *)(void *)root; /* the root is the first member */
    if (t == NULL)
        return;
    arena_fini(&t->memory);
    free(t);
}

/* Seconds ("s") have their own format; constants are plain numbers. */
static void print_value(strbuf *to, const halley_explanation *e)
{
    char text[32];
    if (!e->has_value)
        return;
    if (e->origin == NULL)
        strbuf_printf(to, " %s", format_amount(text, e->value, UNITS_TIME));
    else
        strbuf_printf(to, " %-10s %-2s %-8s", number_digits(e->value, 4).at, e->unit,
                      e->origin);
}

static void print_tree(strbuf *to, const halley_explanation *e, int depth)
{
    assert(depth >= 0);
    strbuf_printf(to, "%*s%-*s", 2 * depth, "", 24 - 2 * depth, e->name);
    print_value(to, e);
    if (e->formula != NULL)
        strbuf_printf(to, "%s %s", e->origin == NULL ? " =" : "", e->formula);
    strbuf_add_char(to, '\n');
    for (const halley_explanation *c = e->children; c != NULL; c = c->next)
        print_tree(to, c, depth + 1);
}

halley_status halley_estimate_explain(char **out, const halley_model *model,
                                      const halley_plan *plan,
                                      const halley_cluster *cluster,
                                      const halley_stack *stack, halley_error *err)
{
    halley_explanation *root = NULL;
    strbuf b = {0};
    TRY(halley_estimate_explain_tree(&root, model, plan, cluster, stack, err));
    print_tree(&b, root, 0);
    halley_explanation_free(root);
    if (b.failed) {
        strbuf_fini(&b);
        return error_nomem(err);
    }
    *out = b.at;
    return HALLEY_OK;
}
