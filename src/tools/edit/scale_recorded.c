/*
 * Finds the layers of a recorded training step.
 *
 * A recording has threads. On each thread, operators form a tree (the control dependency
 * leads to the parent). Kernels follow the operators that launched them, and there are
 * pauses in between. Layers are searched for among the operators of a thread, which are
 * compared by name and input shapes. Kernels and pauses belong to the operator before
 * them, and may differ from layer to layer.
 *
 * Autograd gives each forward operator a sequence number. The backward operators that
 * undo it carry the same number. A repeat consists of layers if its blocks have such
 * numbers, and if they are undone after the whole row. Repeats of whole steps fail this
 * test. The backward block of a layer is what undoes its forward block, with the
 * gradients that are accumulated in between. The repeats that cover most are taken
 * first. Together they must cover least_share of the operators with numbers.
 *
 * One collective somewhere in the backward pass may reduce the gradients of several
 * layers in a bucket. Unless all blocks have the same number of collectives, these are
 * neither copied nor removed. They grow with the gradients accumulated since the
 * previous one. The time of the optimizer is proportional to all gradients.
 */
#include "base/error.h"
#include "edit/scale.h"
#include "trace/core/levels.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PERIODS = 256, MOST_KINDS = 64 };
static const double least_share = 0.4;

/* A node of a recording. */
typedef struct op {
    int64_t tid, seq; /* seq < 0: no sequence number */
    uint64_t at_ns;   /* its position on its thread */
    uint64_t own_ns;  /* its start */
    uint32_t parent;  /* HALLEY_NO_NODE: none */
    uint32_t node;
    bool host, pause, backward, accumulates;
    bool optimizes; /* is a function of an optimizer, or was called by one */
} op;

/* A row of layers in the forward pass, by index in `mains`. */
typedef struct layers {
    uint32_t start, period, n;
    uint64_t kind; /* hash that is equal for equal blocks, whichever operator they start
                      with */
} layers;
typedef ARRAY(layers) layers_array;

typedef struct finder {
    const halley_trace *t;
    const halley_scale_opts *opts;
    scale_rows *out;
    op *ops;          /* by node */
    uint32_t *mains;  /* operators, thread by thread */
    uint64_t *tokens; /* of mains */
    uint32_t n_mains;
    map64 undone_at; /* sequence number -> first node that undoes it */
    layers_array found;
} finder;

static bool attr_i64(int64_t *out, const halley_trace *t, uint32_t node, const char *name)
{
    halley_attr a;
    return halley_node_find_attr(&a, t, node, name) && halley_attr_to_i64(&a, out);
}

bool scale_is_recording(const halley_trace *t)
{
    for (uint32_t i = 0; i < halley_trace_count(t); i++) {
        int64_t tid;
        if (attr_i64(&tid, t, i, "tid"))
            return true;
    }
    return false;
}

static bool name_has(halley_bytes name, const char *text)
{
    return memmem(name.at, name.n, text, strlen(text)) != NULL;
}

static op read_op(const halley_trace *t, uint32_t node)
{
    assert(node < halley_trace_count(t));
    const halley_bytes name = halley_node_name(t, node);
    halley_attr free_lane;
    const bool is_lag =
        halley_node_find_attr(&free_lane, t, node, "free_lane") && free_lane.bits != 0;
    op o = {.seq = -1, .node = node, .parent = HALLEY_NO_NODE};
    int64_t at = 0, fw = 0, fw_tid = 0;
    trace_roles r;
    trace_roles_read(&r, t, node);
    (void)attr_i64(&o.tid, t, node, "tid");
    (void)attr_i64(&o.seq, t, node, "seq_id");
    (void)attr_i64(&fw, t, node, "fw_parent");
    if (fw == 0 &&
        attr_i64(&fw_tid, t, node, "fw_tid")) /* Kineto records only the thread */
        fw = fw_tid;
    (void)attr_i64(&at, t, node, "start_ns");
    o.at_ns = o.own_ns = (uint64_t)at;
    o.backward = fw != 0 && o.seq >= 0;
    o.pause = name_has(name, "host gap") || name_has(name, "device gap") || is_lag;
    o.host = trace_roles_is_cpu(&r) && !o.pause;
    o.accumulates = name_has(name, "AccumulateGrad");
    o.optimizes = name_has(name, "Optimizer.");
    if (halley_node_ctrl_count(t, node) > 0)
        o.parent = halley_node_ctrl(t, node, 0).index;
    return o;
}

static int as_they_run(const void *a, const void *b)
{
    const op *const x = a, *const y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    if (x->host != y->host)
        return x->host ? -1 : 1;
    if (x->own_ns != y->own_ns)
        return x->own_ns < y->own_ns ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Gives device nodes the position of their launch. Waiting time of a stream gets the
 * position of the kernel before it. */
static void place_on_thread(op *ops, const halley_trace *t, uint32_t node)
{
    assert(node < halley_trace_count(t));
    op *const o = &ops[node];
    uint32_t by = o->parent;
    if (o->host || (o->pause && by != HALLEY_NO_NODE))
        return;
    if (by == HALLEY_NO_NODE && halley_node_data_count(t, node) > 0)
        by = halley_node_data(t, node, 0).index;
    if (by == HALLEY_NO_NODE || ops[by].tid < 0)
        return;
    const uint32_t launched = ops[by].host ? by : ops[by].parent;
    o->at_ns = ops[launched == HALLEY_NO_NODE ? by : launched].at_ns;
    o->tid = ops[launched == HALLEY_NO_NODE ? by : launched].tid;
}

static halley_status read_recorded_ops(finder *f, halley_error *err)
{
    const uint32_t n = f->out->n_nodes;
    op *const sorted = mem_array(n, sizeof *sorted);
    f->ops = mem_array(n, sizeof *f->ops);
    f->mains = mem_array(n, sizeof *f->mains);
    f->tokens = mem_array(n, sizeof *f->tokens);
    if (!sorted || !f->ops || !f->mains || !f->tokens) {
        free(sorted);
        return error_nomem(err);
    }
    for (uint32_t i = 0; i < n; i++)
        f->ops[i] = read_op(f->t, i);
    for (uint32_t i = 0; i < n; i++)
        place_on_thread(f->ops, f->t, i);
    memcpy(sorted, f->ops, n * sizeof *sorted);
    if (n > 1)
        qsort(sorted, n, sizeof *sorted, as_they_run);
    for (uint32_t i = 0; i < n; i++)
        f->out->order[i] = sorted[i].node;
    free(sorted);
    return HALLEY_OK;
}

static uint64_t token_of(const finder *f, uint32_t node)
{
    assert(node < halley_trace_count(f->t));
    const halley_io in = halley_node_inputs(f->t, node);
    const halley_bytes name = halley_node_name(f->t, node);
    const uint64_t hash =
        hash_less_numbers((str){name.at, name.n}, halley_node_type_of(f->t, node));
    return f->ops[node].host && in.present ? hash_bytes(in.shapes.at, in.shapes.n, hash)
                                           : hash;
}

static halley_status list_mains(finder *f, halley_error *err)
{
    int64_t tid = -1;
    for (uint32_t k = 0; k < f->out->n_nodes; k++) {
        const uint32_t i = f->out->order[k];
        const op *const o = &f->ops[i];
        f->out->tokens[i] = token_of(f, i);
        f->out->mains[i] = o->host;
        if (!o->host)
            continue;
        /* The first operator of a thread has a unique token, so no stretch crosses
         * threads. */
        f->tokens[f->n_mains] =
            o->tid == tid ? f->out->tokens[i] : hash_u64(~(uint64_t)o->tid);
        f->mains[f->n_mains++] = i;
        tid = o->tid;
        if (!o->backward)
            continue;
        const uint32_t before = map64_find(&f->undone_at, (uint64_t)o->seq);
        if ((before == HASH_NONE || before > i) &&
            !map64_set(&f->undone_at, (uint64_t)o->seq, i))
            return error_nomem(err);
    }
    return HALLEY_OK;
}

/* True for a recording of forward passes only (inference). Nothing is undone there, so
 * every operator counts. */
static bool is_forward_only(const finder *f)
{
    return f->undone_at.n == 0;
}

static bool has_autograd_number(const finder *f, uint32_t main)
{
    const op *const o = &f->ops[f->mains[main]];
    if (is_forward_only(f))
        return true;
    return o->seq >= 0 && !o->backward &&
           map64_find(&f->undone_at, (uint64_t)o->seq) != HASH_NONE;
}

/* Without a backward pass, repeats of whole steps are not layers. */
static bool are_in_one_step(const finder *f, const layers *l)
{
    int64_t first = -1, last = -1;
    (void)attr_i64(&first, f->t, f->mains[l->start], "step");
    (void)attr_i64(&last, f->t, f->mains[l->start + l->n * l->period - 1], "step");
    return first == last;
}

/* Does every block have sequence numbers, and are they undone after the row? */
static bool are_layers(const finder *f, const layers *l)
{
    if (is_forward_only(f))
        return are_in_one_step(f, l);
    const uint32_t last = f->mains[l->start + l->n * l->period - 1];
    for (uint32_t k = 0; k < l->n; k++) {
        bool any = false;
        for (uint32_t i = l->start + k * l->period; i < l->start + (k + 1) * l->period;
             i++) {
            if (!has_autograd_number(f, i))
                continue;
            any = true;
            if (map64_find(&f->undone_at, (uint64_t)f->ops[f->mains[i]].seq) < last)
                return false;
        }
        if (!any)
            return false;
    }
    return true;
}

static int order_largest_first(const void *a, const void *b)
{
    const layers *const x = a, *const y = b;
    const uint64_t p = (uint64_t)x->n * x->period, q = (uint64_t)y->n * y->period;
    if (p != q)
        return p > q ? -1 : 1;
    if (x->period != y->period)
        return x->period < y->period ? -1 : 1;
    return x->start < y->start ? -1 : x->start > y->start;
}

static int in_order(const void *a, const void *b)
{
    const layers *const x = a, *const y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static uint64_t hash_layer_kind(const finder *f, const layers *l)
{
    uint64_t sum = hash_u64(l->period);
    for (uint32_t i = l->start; i < l->start + l->period; i++)
        sum += hash_u64(f->tokens[i]);
    return sum;
}

static bool overlaps_row(const layers *a, const layers *b)
{
    return a->start < b->start + b->n * b->period &&
           b->start < a->start + a->n * a->period;
}

/* Chooses the rows that cover most and do not overlap. Blocks much shorter than those of
 * the first row are similar parts of layers, and are skipped. */
static halley_status choose_recorded_rows(finder *f, halley_error *err)
{
    scale_stretches all = {0};
    layers_array rows = {0};
    bool fine = scale_stretches_find(&all, f->tokens, f->n_mains, MOST_PERIODS);
    for (size_t i = 0; fine && i < all.n; i++) {
        const scale_stretch *const s = &all.at[i];
        const uint32_t n = s->length / s->period;
        const layers l = {s->start + s->length - n * s->period, s->period, n, 0};
        if (are_layers(f, &l))
            fine = array_push(&rows, l);
    }
    if (rows.n > 1)
        qsort(rows.at, rows.n, sizeof *rows.at, order_largest_first);
    for (size_t i = 0; fine && i < rows.n; i++) {
        bool free_place = 3 * rows.at[i].period >= rows.at[0].period;
        for (size_t k = 0; k < f->found.n && free_place; k++)
            free_place = !overlaps_row(&rows.at[i], &f->found.at[k]);
        rows.at[i].kind = hash_layer_kind(f, &rows.at[i]);
        fine = !free_place || array_push(&f->found, rows.at[i]);
    }
    if (f->found.n > 1)
        qsort(f->found.at, f->found.n, sizeof *f->found.at, in_order);
    array_fini(&all);
    array_fini(&rows);
    return fine ? HALLEY_OK : error_nomem(err);
}

/* The share of the numbered operators that are in rows. */
static double share_of_rows(const finder *f)
{
    uint64_t n = 0, n_in = 0;
    for (uint32_t i = 0; i < f->n_mains; i++)
        n += has_autograd_number(f, i);
    for (size_t r = 0; r < f->found.n; r++) {
        const layers *const l = &f->found.at[r];
        for (uint32_t i = l->start; i < l->start + l->n * l->period; i++)
            n_in += has_autograd_number(f, i);
    }
    return n == 0 ? 0 : (double)n_in / (double)n;
}

/* The kinds of rows. Each occurs once in every recorded step. */
typedef struct kinds {
    uint64_t kind[MOST_KINDS];
    uint32_t n_blocks[MOST_KINDS], n_after[MOST_KINDS], n;
} kinds;

static halley_status refuse_layers(const finder *f, const kinds *k, const char *why,
                                   halley_error *err)
{
    char list[160] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < k->n && used + 24 < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%u",
                                 i ? ", " : "rows of ", k->n_blocks[i]);
    error_set(err, HALLEY_EINVAL, "%s: a recorded step has %s%s", why,
              k->n ? list : "no operators that repeat as layers",
              k->n ? " equal blocks; FROM is one of these numbers, or their sum" : "");
    error_at_file(err, halley_trace_path(f->t));
    return HALLEY_EINVAL;
}

static halley_status list_kinds(finder *f, kinds *k, halley_error *err)
{
    for (size_t r = 0; r < f->found.n; r++) {
        uint32_t i = 0;
        while (i < k->n && k->kind[i] != f->found.at[r].kind)
            i++;
        if (i == MOST_KINDS)
            return refuse_layers(f, k, "too many kinds of layers", err);
        if (i < k->n && k->n_blocks[i] != f->found.at[r].n)
            return refuse_layers(f, k, "steps have different numbers of equal layers",
                                 err);
        k->kind[i] = f->found.at[r].kind;
        k->n_blocks[i] = k->n_after[i] = f->found.at[r].n;
        k->n = i == k->n ? i + 1 : k->n;
    }
    return HALLEY_OK;
}

/* FROM layers are those of one kind, or all. */
static halley_status plan_kinds(finder *f, kinds *k, halley_error *err)
{
    const halley_scale_opts *const o = f->opts;
    uint64_t sum = 0;
    uint32_t same = 0, at = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        sum += k->n_blocks[i];
        same += k->n_blocks[i] == o->layers_from;
        at = k->n_blocks[i] == o->layers_from ? i : at;
    }
    if (k->n == 0 || share_of_rows(f) < least_share)
        return refuse_layers(f, &(kinds){.n = 0}, "no layers were found", err);
    if (sum == o->layers_from) {
        if (!scale_share_out(k->n_after, k->n_blocks, k->n, o->layers_to))
            return refuse_layers(f, k, "too few layers for all rows", err);
        return HALLEY_OK;
    }
    if (same != 1)
        return refuse_layers(
            f, k, same == 0 ? "no such number of layers" : "more than one kind", err);
    k->n_after[at] = o->layers_to;
    return HALLEY_OK;
}

/* Adds the forward blocks of a row that changes. The backward row follows it in the
 * list. */
static bool take_recorded_row(finder *f, const layers *l, uint32_t n_after)
{
    assert(n_after > 0);
    scale_rows *const out = f->out;
    const uint32_t row = (uint32_t)out->list.n;
    for (int i = 0; i < 2; i++)
        if (!array_push(&out->list, (scale_row){l->n, n_after, NULL}))
            return false;
    for (uint32_t i = 0; i < l->n * l->period; i++)
        out->places[f->mains[l->start + i]] = (scale_place){row, i / l->period};
    return true;
}

/* Maps each sequence number to the backward block that undoes it. */
static halley_status map_numbers(const finder *f, map64 *places, halley_error *err)
{
    for (uint32_t i = 0; i < f->n_mains && !is_forward_only(f); i++) {
        const scale_place *const p = &f->out->places[f->mains[i]];
        if (p->row == SCALE_OUTSIDE || !has_autograd_number(f, i))
            continue;
        const uint32_t n = f->out->list.at[p->row].n;
        const uint32_t at = (p->row + 1) << 16 | (n - 1 - p->block);
        if (!map64_set(places, (uint64_t)f->ops[f->mains[i]].seq, at))
            return error_nomem(err);
    }
    return HALLEY_OK;
}

static scale_place place_of_number(const map64 *places, int64_t seq)
{
    const uint32_t at = map64_find(places, (uint64_t)seq);
    return at == HASH_NONE ? (scale_place){SCALE_OUTSIDE, 0}
                           : (scale_place){at >> 16, at & 0xffff};
}

/* The sequence number that a backward operator undoes: its own or that of its first
 * child (the engine's call has none). */
static int64_t find_undone_number(const finder *f, uint32_t main)
{
    const op *const o = &f->ops[f->mains[main]];
    if (o->backward)
        return o->seq;
    if (o->seq >= 0 || main + 1 == f->n_mains)
        return -1;
    const op *const child = &f->ops[f->mains[main + 1]];
    return child->backward && child->parent == o->node ? child->seq : -1;
}

/* Places the backward operators: those that undo a number, the operators they call, and
 * operators that are between two of them or accumulate a gradient. */
static void place_backward(finder *f, const map64 *places)
{
    scale_place now = {SCALE_OUTSIDE, 0};
    /* mains before the current one that join `now` if another one follows */
    uint32_t waiting = 0;
    int64_t tid = -1;
    for (uint32_t i = 0; i < f->n_mains; i++) {
        const uint32_t node = f->mains[i];
        const op *const o = &f->ops[node];
        const int64_t seq = find_undone_number(f, i);
        if (o->tid != tid || (o->seq >= 0 && !o->backward)) {
            now = (scale_place){SCALE_OUTSIDE, 0};
            waiting = 0;
        }
        tid = o->tid;
        if (f->out->places[node].row != SCALE_OUTSIDE)
            continue;
        const bool called = o->parent != HALLEY_NO_NODE &&
                            f->ops[o->parent].tid == o->tid && waiting == 0 &&
                            now.row != SCALE_OUTSIDE &&
                            f->out->places[o->parent].row == now.row &&
                            f->out->places[o->parent].block == now.block;
        if (seq >= 0 || o->accumulates) {
            for (; waiting > 0; waiting--)
                if (f->out->places[f->mains[i - waiting]].row == SCALE_OUTSIDE)
                    f->out->places[f->mains[i - waiting]] = now;
            now = seq >= 0 ? place_of_number(places, seq) : now;
            f->out->places[node] = now;
        } else if (called) {
            f->out->places[node] = now;
        } else {
            waiting++;
        }
    }
}

/* Places kernels and pauses with the operator before them on their thread. */
static void place_others(finder *f)
{
    scale_place last = {SCALE_OUTSIDE, 0};
    int64_t tid = -1;
    for (uint32_t k = 0; k < f->out->n_nodes; k++) {
        const uint32_t i = f->out->order[k];
        const op *const o = &f->ops[i];
        if (o->tid != tid)
            last = (scale_place){SCALE_OUTSIDE, 0};
        tid = o->tid;
        if (o->host)
            last = f->out->places[i];
        else
            f->out->places[i] = last;
    }
}

/* The number of elements of the first tensor in a text of shapes such as [[2048, 512, 1,
 * 1]]. */
static double parse_first_shape(halley_bytes shapes)
{
    double product = 1;
    uint64_t number = 0;
    bool any = false, in_number = false;
    for (size_t i = 0; i < shapes.n; i++) {
        const char c = shapes.at[i];
        if (c >= '0' && c <= '9') {
            number = (in_number ? number * 10 : 0) + (uint64_t)(c - '0');
            any = in_number = true;
            continue;
        }
        product *= in_number ? (double)number : 1;
        in_number = false;
        if (c == ']' && any)
            break;
    }
    return any ? product : 0;
}

static bool is_recorded_collective(const finder *f, uint32_t node)
{
    return halley_node_type_of(f->t, node) == HALLEY_NODE_COLL;
}

/* Finds the blocks (of a forward row and the backward row after it) that contain a
 * collective which other blocks do not have. */
static uint8_t *find_fixed(const finder *f, uint32_t row)
{
    assert(row < f->out->list.n);
    const uint32_t n = f->out->list.at[row].n;
    uint32_t *const count = mem_array_zero(n, 2 * sizeof *count);
    uint8_t *const fixed = mem_array_zero(n, 1);
    for (uint32_t i = 0; count && i < f->out->n_nodes; i++) {
        const scale_place *const p = &f->out->places[i];
        if (is_recorded_collective(f, i) && p->row == row)
            count[p->block]++;
        if (is_recorded_collective(f, i) && p->row == row + 1)
            count[n + (n - 1 - p->block)]++;
    }
    for (uint32_t k = 0; count && fixed && k < 2 * n; k++)
        if (count[k] != count[k < n ? 0 : n])
            for (uint32_t b = 0; b < n; b++)
                fixed[b] |= count[(k < n ? 0 : n) + b] > 0;
    if (!count) {
        free(fixed);
        return NULL;
    }
    free(count);
    return fixed;
}

static halley_status plan_row(finder *f, uint32_t row, halley_error *err)
{
    assert(row < f->out->list.n);
    scale_row *const forward = &f->out->list.at[row];
    scale_row *const backward = &f->out->list.at[row + 1];
    uint8_t *const fixed = find_fixed(f, row);
    bool fine = fixed != NULL;
    if (fine)
        forward->blocks = scale_block_list(forward->n, forward->n_after, fixed, &fine);
    free(fixed);
    backward->blocks = mem_array(backward->n_after, sizeof *backward->blocks);
    if (!fine || !backward->blocks)
        return error_nomem(err);
    if (!forward->blocks) {
        error_set(err, HALLEY_EINVAL,
                  forward->n_after > forward->n
                      ? "each of the %u layers holds a collective that reduces gradients "
                        "of several, so none can be copied"
                      : "too many of the %u layers hold a collective that reduces "
                        "gradients of several, and cannot be left out",
                  forward->n);
        error_at_file(err, halley_trace_path(f->t));
        return HALLEY_EINVAL;
    }
    for (uint32_t k = 0; k < backward->n_after; k++)
        backward->blocks[k] = backward->n - 1 - forward->blocks[forward->n_after - 1 - k];
    return HALLEY_OK;
}

/* The number of copies of a node in the result. */
static uint32_t copies_of(const finder *f, uint32_t node)
{
    assert(node < halley_trace_count(f->t));
    const scale_place *const p = &f->out->places[node];
    uint32_t n = 0;
    if (p->row == SCALE_OUTSIDE)
        return 1;
    const scale_row *const row = &f->out->list.at[p->row];
    for (uint32_t k = 0; k < row->n_after; k++)
        n += row->blocks[k] == p->block;
    return n;
}

/* The time of the optimizer and of everything it calls grows with all gradients. */
static void grow_optimizer(finder *f, double factor)
{
    assert(factor > 0);
    for (uint32_t k = 0; k < f->out->n_nodes; k++) {
        op *const o = &f->ops[f->out->order[k]];
        o->optimizes |= o->parent != HALLEY_NO_NODE && f->ops[o->parent].optimizes;
        if (o->optimizes && f->out->places[o->node].row == SCALE_OUTSIDE &&
            !is_recorded_collective(f, o->node))
            f->out->grow[o->node] = factor;
    }
}

/* A collective that is not copied grows with the gradients accumulated on its thread
 * since the previous one. */
static halley_status grow_buckets(finder *f, halley_error *err)
{
    double before = 0, after = 0, all_before = 0, all_after = 0;
    uint64_t n_left = 0, n_grown = 0, n_coll = 0;
    int64_t tid = -1;
    f->out->grow = mem_array(f->out->n_nodes, sizeof *f->out->grow);
    for (uint32_t i = 0; f->out->grow && i < f->out->n_nodes; i++)
        f->out->grow[i] = 1;
    for (uint32_t k = 0; f->out->grow && k < f->out->n_nodes; k++) {
        const uint32_t i = f->out->order[k];
        const op *const o = &f->ops[i];
        if (o->tid != tid)
            before = after = 0;
        tid = o->tid;
        if (o->host && o->accumulates) {
            const double size = parse_first_shape(halley_node_inputs(f->t, i).shapes);
            before += size;
            after += size * copies_of(f, i);
            all_before += size;
            all_after += size * copies_of(f, i);
            n_left += size > 0;
        }
        n_coll += is_recorded_collective(f, i);
        if (is_recorded_collective(f, i) && before > 0) {
            f->out->grow[i] = copies_of(f, i) == 1 ? after / before : 1;
            before = after = 0;
            n_grown++;
        }
    }
    if (!f->out->grow)
        return error_nomem(err);
    if (n_coll > 0 && n_grown == 0 && n_left > 0) {
        error_set(err, HALLEY_EINVAL,
                  "collectives run on threads of their own, so it is not known which "
                  "gradients they reduce");
        error_at_file(err, halley_trace_path(f->t));
        return HALLEY_EINVAL;
    }
    if (all_before > 0)
        grow_optimizer(f, all_after / all_before);
    return HALLEY_OK;
}

static halley_status take_rows(finder *f, const kinds *k, halley_error *err)
{
    map64 places = {0};
    halley_status status = HALLEY_OK;
    for (size_t r = 0; r < f->found.n && status == HALLEY_OK; r++) {
        uint32_t kind = 0;
        while (k->kind[kind] != f->found.at[r].kind)
            kind++;
        if (k->n_after[kind] != k->n_blocks[kind] &&
            !take_recorded_row(f, &f->found.at[r], k->n_after[kind]))
            status = error_nomem(err);
    }
    if (status == HALLEY_OK)
        status = map_numbers(f, &places, err);
    if (status == HALLEY_OK) {
        place_backward(f, &places);
        place_others(f);
    }
    map64_fini(&places);
    for (uint32_t r = 0; r < f->out->list.n && status == HALLEY_OK; r += 2)
        status = plan_row(f, r, err);
    if (status == HALLEY_OK)
        status = grow_buckets(f, err);
    return status;
}

static halley_status find_recorded_layers(finder *f, halley_error *err)
{
    kinds k = {.n = 0};
    TRY(read_recorded_ops(f, err));
    TRY(list_mains(f, err));
    TRY(choose_recorded_rows(f, err));
    TRY(list_kinds(f, &k, err));
    TRY(plan_kinds(f, &k, err));
    TRY(take_rows(f, &k, err));
    for (uint32_t i = 0; i < f->out->n_nodes; i++)
        f->out->block_nodes +=
            f->out->places[i].row < 2 &&
            f->out->places[i].block ==
                (f->out->places[i].row == 0 ? 0 : f->out->list.at[0].n - 1);
    return scale_rows_name(f->out, err);
}

halley_status scale_find_recorded(scale_rows *out, const halley_trace *trace,
                                  const halley_scale_opts *opts, halley_error *err)
{
    assert(opts->layers_from > 0);
    finder f = {.t = trace, .opts = opts, .out = out};
    TRY(scale_rows_init(out, trace, err));
    const halley_status status = find_recorded_layers(&f, err);
    free(f.ops);
    free(f.mains);
    free(f.tokens);
    map64_fini(&f.undone_at);
    array_fini(&f.found);
    return status;
}
