/*
 * Converts programs to matrices. Cuts them into layers, resolves their edges, and packs
 * the layers of all programs step by step, the longest program first.
 */
#include "learn/neural/neural_pass.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct cutter {
    const neural_net *net;
    neural_batch *b;
    neural_slots slots;
    neural_tally tally;
    uint32_t n_edges;
    uint32_t n_plain; /* items since a loop opened or closed */
    uint32_t *layer;  /* by item: index of its layer in the program */
} cutter;

static bool is_loop(uint32_t item)
{
    return item == NEURAL_OPEN || item == NEURAL_CLOSE;
}

/* Adds the explicit edges of a free item, except those that cross a loop boundary. */
static bool find_backs(cutter *c, uint32_t backs, uint32_t at, uint32_t first)
{
    bool within = false;
    for (uint32_t i = 0; backs != NEURAL_UNTOLD && i < NEURAL_BACK && i < c->n_plain; i++)
        if ((backs >> i & 1) != 0) {
            c->b->edges[c->n_edges++] = (neural_edge){at - 1 - i, NN_NO_ROW, 0};
            within = within || at - 1 - i >= first;
        }
    return within;
}

/* Adds the edges of item `at`. True if the item must start a new layer because an edge
 * leads to an item from `first` on, or because it is a bracket. */
static bool find_edges(cutter *c, uint32_t token, uint32_t at, uint32_t first)
{
    assert(c->net != NULL);
    const neural_shape *shape = &c->net->shape;
    neural_batch *b = c->b;
    bool within = false;
    b->n_slots[at] = 0;
    b->first_edge[at] = c->n_edges;
    if (is_loop(token))
        return true;
    b->n_slots[at] = c->slots.n;
    memcpy(b->slot_item + (size_t)at * NEURAL_SLOTS, c->slots.item, sizeof c->slots.item);
    memcpy(b->slot_op + (size_t)at * NEURAL_SLOTS, c->slots.op, sizeof c->slots.op);
    if (token >= NEURAL_FREE)
        return find_backs(c, b->backs[at], at, first);
    for (uint32_t i = shape->first_ref[token]; i < shape->first_ref[token + 1]; i++) {
        const uint32_t slot = neural_slots_find(&c->slots, shape->refs[i].op);
        if (slot == NN_NO_ROW)
            continue;
        const uint32_t to = c->slots.item[slot];
        b->edges[c->n_edges++] = (neural_edge){to, slot, shape->refs[i].how};
        within = within || to >= first;
    }
    return within;
}

/* Cuts the items of one program, from `at` on. Returns its number of layers. */
static uint32_t cut_layers(cutter *c, const neural_program *p, uint32_t at)
{
    assert(p->n_items > 0);
    neural_batch *b = c->b;
    uint32_t layer = 0, first = at;
    c->slots.n = c->n_plain = 0;
    for (uint32_t i = 0; i < p->n_items; i++, at++) {
        const uint32_t token = p->items[i], op = neural_op_of(c->net, token);
        const bool is_free = !is_loop(token) && token >= NEURAL_FREE;
        b->backs[at] = is_free ? p->backs[i] : 0;
        const bool bound = find_edges(c, token, at, first);
        const bool after_loop = i > 0 && is_loop(p->items[i - 1]);
        if (i > 0 && (bound || after_loop || at - first == NEURAL_LAYER)) {
            layer++;
            first = at;
        }
        b->op[at] = op;
        b->wanted_op[at] = is_loop(token) ? NN_NO_ROW : op;
        b->token[at] =
            is_loop(token) || b->backs[at] == NEURAL_UNTOLD ? NN_NO_ROW : token;
        b->attr[at] =
            c->net->shape.first_attr[op < c->net->shape.n_ops ? op : c->net->shape.n_ops];
        b->n_values[at] = neural_n_values(c->net, token);
        b->values[at] = p->values + p->first_value[i];
        b->first_of_layer[at] = first;
        c->layer[at] = layer;
        c->n_plain = is_loop(token) ? 0 : c->n_plain + 1;
        if (!is_loop(token))
            neural_slots_use(&c->slots, op, at);
    }
    return p->n_items > 0 ? layer + 1 : 0;
}

static uint32_t find_step_kind(const neural_program *p, uint32_t first, uint32_t n)
{
    assert(n > 0 && first + n <= p->n_items);
    if (p->items[first] == NEURAL_OPEN)
        return NEURAL_STEP_OPEN;
    if (p->items[first] == NEURAL_CLOSE)
        return NEURAL_STEP_CLOSE;
    return NEURAL_STEP_ITEMS + n - 1;
}

/* Writes the tally before the layer of `row`, and adds the layer's items to it. */
static void tally_row(cutter *c, const neural_program *p, uint32_t first, uint32_t n,
                      uint32_t row)
{
    assert(first + n <= p->n_items);
    const uint32_t n_ops = c->net->shape.n_ops;
    neural_tally_read(c->b->tally + (size_t)row * (n_ops + NEURAL_TALLY), &c->tally);
    if (n > 0 && p->items[first] == NEURAL_OPEN)
        neural_tally_open(&c->tally);
    else if (n > 0 && p->items[first] == NEURAL_CLOSE)
        neural_tally_close(&c->tally, exp((double)p->values[p->first_value[first]]));
    else
        for (uint32_t i = first; i < first + n; i++)
            neural_tally_item(&c->tally, neural_op_of(c->net, p->items[i]));
}

/* Fills the rows of the program at position `place`, whose items start at `at`. */
static void place_rows(cutter *c, const neural_program *p, uint32_t place, uint32_t at)
{
    neural_batch *b = c->b;
    uint32_t kind = NN_NO_ROW, step = 0, opened[NEURAL_DEPTH + 1];
    neural_tally_clear(&c->tally);
    for (uint32_t i = 0; i < p->n_items;) {
        uint32_t n = 0;
        const uint32_t row = b->first_row[step] + place;
        const uint32_t next = b->first_row[step + 1] + place;
        for (; i + n < p->n_items && c->layer[at + i + n] == step; n++) {
            b->row[at + i + n] = row;
            b->next_row[at + i + n] = next;
            b->program[at + i + n] = place;
        }
        b->kind_before[row] = kind;
        b->kind[row] = kind = find_step_kind(p, i, n);
        if (kind == NEURAL_STEP_OPEN)
            opened[c->tally.depth] = row;
        tally_row(c, p, i, n, row);
        b->also[next] = kind == NEURAL_STEP_CLOSE ? opened[c->tally.depth] : NN_NO_ROW;
        b->row_program[row] = place;
        i += n;
        step++;
    }
    const uint32_t last = b->first_row[step] + place;
    b->kind[last] = NEURAL_STEP_END;
    b->kind_before[last] = kind;
    b->row_program[last] = place;
    tally_row(c, p, 0, 0, last);
}

static halley_status allocate_batch(neural_batch *b, const neural_net *net,
                                    const neural_program *const *programs, uint32_t n,
                                    arena *memory, halley_error *err)
{
    size_t n_items = 0, n_edges = 0;
    const uint32_t *first_ref = net->shape.first_ref;
    for (uint32_t i = 0; i < n; i++) {
        n_items += programs[i]->n_items;
        for (uint32_t k = 0; k < programs[i]->n_items; k++) {
            const uint32_t token = programs[i]->items[k];
            if (token >= NEURAL_FREE)
                n_edges += NEURAL_BACK;
            else
                n_edges += first_ref[token + 1] - first_ref[token];
        }
    }
    if (n_items > UINT32_MAX / NEURAL_SLOTS - n || n_edges > UINT32_MAX)
        return error_set(err, HALLEY_ELIMIT, "programs are too long to be learned");
    b->n_programs = n;
    b->n_items = (uint32_t)n_items;
    uint32_t **const by_item[] = {&b->op,      &b->wanted_op, &b->program,
                                  &b->row,     &b->next_row,  &b->first_of_layer,
                                  &b->attr,    &b->n_values,  &b->first_edge,
                                  &b->n_slots, &b->token,     &b->backs};
    uint32_t **const by_row[] = {&b->kind, &b->kind_before, &b->row_program,
                                 &b->first_row, &b->also};
    bool ok = true;
    for (size_t i = 0; i < sizeof by_item / sizeof *by_item; i++)
        ok = (*by_item[i] = arena_array(memory, n_items + 1, 4)) != NULL && ok;
    for (size_t i = 0; i < sizeof by_row / sizeof *by_row; i++)
        ok = (*by_row[i] = arena_array(memory, n_items + n + 2, 4)) != NULL && ok;
    b->slot_item = arena_array(memory, n_items * NEURAL_SLOTS + 1, sizeof *b->slot_item);
    b->slot_op = arena_array(memory, n_items * NEURAL_SLOTS + 1, sizeof *b->slot_op);
    b->values = arena_array(memory, n_items + 1, sizeof *b->values);
    b->edges = arena_array(memory, n_edges + 1, sizeof *b->edges);
    b->feature = arena_array(memory, n * NEURAL_FEATURES + 1, sizeof *b->feature);
    b->tally =
        arena_array(memory, (n_items + n + 1) * ((size_t)net->shape.n_ops + NEURAL_TALLY),
                    sizeof *b->tally);
    ok = ok && b->tally && b->slot_item && b->slot_op && b->values && b->edges &&
         b->feature;
    return ok ? HALLEY_OK : error_nomem(err);
}

/* Sorts programs by descending number of layers. Ties keep the given order. */
static void sort_programs(uint32_t *order, const uint32_t *n_layers, uint32_t n)
{
    assert(n > 0);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = i;
        for (; k > 0 && n_layers[order[k - 1]] < n_layers[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

halley_status neural_batch_make(neural_batch *b, const neural_net *net,
                                const neural_program *const *programs, uint32_t n,
                                arena *memory, halley_error *err)
{
    assert(n > 0);
    *b = (neural_batch){0};
    TRY(allocate_batch(b, net, programs, n, memory, err));
    uint32_t *order = arena_array(memory, n + 1, sizeof *order);
    uint32_t *n_layers = arena_array(memory, n + 1, sizeof *n_layers);
    uint32_t *first_item = arena_array(memory, n + 1, sizeof *first_item);
    cutter c = {.net = net, .b = b};
    for (uint32_t i = 0; i < n; i++)
        b->also[i] = NN_NO_ROW;
    c.layer = arena_array(memory, (size_t)b->n_items + 1, sizeof *c.layer);
    if (order == NULL || n_layers == NULL || first_item == NULL || c.layer == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < n; i++) {
        n_layers[i] = cut_layers(&c, programs[i], first_item[i]);
        first_item[i + 1] = first_item[i] + programs[i]->n_items;
    }
    b->first_edge[b->n_items] = c.n_edges;
    sort_programs(order, n_layers, n);
    b->n_steps = n > 0 ? n_layers[order[0]] + 1 : 0;
    for (uint32_t t = 0, k = n; t < b->n_steps; t++) {
        while (k > 0 && n_layers[order[k - 1]] < t)
            k--;
        b->first_row[t + 1] = b->first_row[t] + k;
    }
    b->n_rows = b->first_row[b->n_steps];
    if (!neural_tally_init(&c.tally, net->shape.n_ops))
        return error_nomem(err);
    for (uint32_t k = 0; k < n; k++) {
        const neural_program *p = programs[order[k]];
        place_rows(&c, p, k, first_item[order[k]]);
        for (uint32_t x = 0; x < NEURAL_FEATURES; x++)
            b->feature[k * NEURAL_FEATURES + x] = p->feature[x];
    }
    neural_tally_fini(&c.tally);
    assert(b->n_programs == n);
    return HALLEY_OK;
}
