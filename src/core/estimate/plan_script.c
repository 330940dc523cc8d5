/*
 * A pass over a layer as a list of operators and messages with their times.
 *
 * The stack states the share of a message's time that compute hides. The message overlaps
 * with that much compute: a gather with the compute that uses its data piece by piece, a
 * reduction or dispatch with the compute that produces its data. If there is not enough
 * of it before the next message of the group, compute on the other side hides as much of
 * the rest as it can. The pass waits for what is left.
 */
#include "estimate/plan_script.h"

#include <assert.h>
#include <math.h>

/* The inputs for the scripts of one kind of layer. */
typedef struct maker {
    price_context c;
    const workload_layer *layer;
    const price_layer *price;
    bool floor; /* recomputed, and issued by the host */
} maker;

static double traffic_bytes(const workload_op *op, bool backward)
{
    if (op->bytes_f > 0)
        return backward ? op->bytes_b : op->bytes_f;
    const double once = op->m * op->k + op->k * op->n + op->m * op->n;
    return (backward ? 4 : 2) * op->groups * once;
}

/* The compute of an operator in a pass. */
static plan_item make_compute(const maker *m, const workload_op *op, plan_pass pass)
{
    const price_op t = price_op_make(&m->c, op);
    const double again = m->floor && t.forward_s > 0 ? t.again_s / t.forward_s : 0;
    const double times = op->repeat > 0 ? op->repeat : 1, flops = times * op->flops;
    const double moved = times * traffic_bytes(op, pass >= PLAN_BACKWARD);
    plan_item i = {.name = op->name,
                   .is_attention = op->class == WORKLOAD_ATTENTION,
                   .is_turning = m->c.plan->cp > 1};
    switch (pass) {
    case PLAN_FORWARD:
        i.seconds = t.forward_s, i.flops = flops, i.bytes = moved;
        break;
    case PLAN_AGAIN:
        i.seconds = again * t.forward_s;
        i.flops = again * flops, i.bytes = again * moved;
        break;
    case PLAN_BACKWARD:
        i.seconds = t.backward_s, i.flops = 2 * flops, i.bytes = moved;
        break;
    case PLAN_INPUT:
        i.seconds = t.backward_s - t.weight_s;
        i.flops = (t.weight_s > 0 ? 1 : 2) * flops, i.bytes = moved / 2;
        break;
    case PLAN_WEIGHT:
    case PLAN_N_PASSES:
        i.seconds = t.weight_s;
        i.flops = t.weight_s > 0 ? flops : 0, i.bytes = moved / 2;
        break;
    }
    return i;
}

/* Backward, the gradient of a gather is a reduce-scatter and vice versa. The third gather
 * of sequence parallelism remains one. */
static coll_kind find_kind(const workload_op *op, bool backward, bool again)
{
    static const coll_kind kinds[] = {
        [WORKLOAD_ALL_REDUCE] = COLL_ALL_REDUCE,
        [WORKLOAD_ALL_GATHER] = COLL_ALL_GATHER,
        [WORKLOAD_REDUCE_SCATTER] = COLL_REDUCE_SCATTER,
        [WORKLOAD_ALL_TO_ALL] = COLL_ALL_TO_ALL,
        [WORKLOAD_EXCHANGE] = COLL_ALL_GATHER, /* to the neighbour, n - 1 times */
    };
    if (!backward || again)
        return kinds[op->coll];
    return op->coll == WORKLOAD_ALL_GATHER       ? COLL_REDUCE_SCATTER
           : op->coll == WORKLOAD_REDUCE_SCATTER ? COLL_ALL_GATHER
                                                 : kinds[op->coll];
}

/* `sent` of a whole message, of which `priced` counts; compute hides the rest. */
static plan_item make_message(const maker *m, const workload_op *op, coll_kind kind,
                              double sent, double priced)
{
    assert(sent > 0 && priced <= sent);
    const double all_s = price_message_time(&m->c, op);
    const double n = op->coll == WORKLOAD_EXCHANGE ? m->c.n[op->group] : 1;
    const double shown_s = priced * all_s * price_exposed(&m->c, op->group);
    return (plan_item){.name = op->name,
                       .is_message = true,
                       .start = PLAN_NO_ITEM,
                       .message = {.name = op->name,
                                   .kind = kind,
                                   .group = op->group,
                                   .bytes = sent * n * op->bytes_f,
                                   .seconds = sent * all_s,
                                   .hidden_s = sent * all_s - shown_s}};
}

/* A fractional number of messages (an average over the layers of a hybrid) ends with a
 * message that is smaller by that fraction. */
static bool add_messages(plan_script *to, const maker *m, const workload_op *op,
                         plan_pass pass)
{
    const bool back = pass >= PLAN_BACKWARD;
    const double priced = back ? op->times_b : op->times_f;
    const double sent = back && op->sent_b > 0 ? op->sent_b : priced;
    for (uint32_t i = (uint32_t)ceil(sent - 1e-9); i-- > 0;) {
        const double one = fmin(sent - i, 1);
        const coll_kind kind = find_kind(op, back, i > 0);
        plan_item item = make_message(m, op, kind, one, fmin(one, fmax(0, priced - i)));
        item.follows = kind == COLL_ALL_GATHER && i == 0;
        if (item.message.seconds > 0 && !array_push(&to->items, item))
            return false;
    }
    return true;
}

/* True if a message does not run next to compute on the other side of an item. Such items
 * are the next message of its group and, for messages of tensor parallelism, attention
 * with keys and values on their way next to it. */
static bool splits_compute(const plan_item *of, const plan_item *item, double sum_s)
{
    const workload_group group = of->message.group;
    if (item->is_message)
        return item->message.group == group && sum_s > 0;
    return group == WORKLOAD_TP && item->is_attention && item->is_turning;
}

/* Compute next to a message, from item i in a direction to the next message of the same
 * group that is not adjacent. Attention alone hides keys and values. */
static double measure_beside(const plan_script *script, size_t i, int to)
{
    const plan_item *of = &script->items.at[i];
    const bool turns = of->message.group == WORKLOAD_CP;
    double sum_s = 0;
    for (size_t k = i + (size_t)to; k < script->items.n; k += (size_t)to) {
        const plan_item *item = &script->items.at[k];
        if (!turns && splits_compute(of, item, sum_s))
            break;
        if (turns && !item->is_message && !item->is_attention)
            break;
        sum_s += item->is_message ? 0 : item->seconds;
    }
    return sum_s;
}

/* Let a message start `before_s` of compute before its turn, `early_s` of which it runs
 * next to. */
static void set_start(plan_script *script, size_t i, double early_s, double before_s)
{
    plan_item *of = &script->items.at[i];
    double left_s = before_s;
    of->early_s = early_s;
    for (size_t k = i; k-- > 0 && left_s > 0;) {
        const plan_item *item = &script->items.at[k];
        if (item->is_message)
            continue;
        of->start = (uint32_t)k;
        of->offset_s = fmax(0, item->seconds - left_s);
        left_s -= item->seconds;
    }
}

/* Messages of a group are sent one after the other. One starts earlier by the time that
 * compute hides of those that follow it directly. */
static double measure_queue(const plan_script *script, size_t i)
{
    const plan_item *of = &script->items.at[i];
    double sum_s = 0;
    for (size_t k = i + 1; k < script->items.n; k++) {
        const plan_item *item = &script->items.at[k];
        if (!item->is_message || item->follows ||
            item->message.group != of->message.group)
            break;
        sum_s += item->message.hidden_s;
    }
    return sum_s;
}

static void set_starts(plan_script *script)
{
    for (size_t i = script->items.n; i-- > 0;) {
        plan_item *item = &script->items.at[i];
        if (!item->is_message || !(item->message.hidden_s > 0))
            continue;
        const double before_s = measure_beside(script, i, -1);
        const double after_s = measure_beside(script, i, 1);
        const double hidden_s = fmin(item->message.hidden_s, before_s + after_s);
        item->message.hidden_s = hidden_s;
        const double early_s = item->follows ? fmin(before_s, fmax(0, hidden_s - after_s))
                                             : fmin(before_s, hidden_s);
        if (early_s > 0)
            set_start(script, i, early_s,
                      fmin(before_s, early_s + measure_queue(script, i)));
    }
}

static void set_host(plan_script *to, const maker *m, plan_pass pass)
{
    const price_layer *p = m->price;
    switch (pass) {
    case PLAN_FORWARD:
        to->host_s = to->host_plain_s = p->host_f_s;
        break;
    case PLAN_BACKWARD:
        to->host_s = p->host_b_s, to->host_plain_s = p->host_plain_s;
        break;
    case PLAN_INPUT:
        to->host_s = p->host_b_s - p->host_w_s;
        to->host_plain_s = p->host_plain_s - p->host_w_s;
        break;
    case PLAN_WEIGHT:
        to->host_s = to->host_plain_s = p->host_w_s;
        break;
    case PLAN_AGAIN:
    case PLAN_N_PASSES:
        break;
    }
}

/* The operators in order, for backward passes in reverse order. */
static bool make_script(plan_script *to, const maker *m, plan_pass pass)
{
    const uint32_t n = m->layer->n;
    const bool talks =
        pass != PLAN_WEIGHT && (pass != PLAN_AGAIN || price_repeats_messages(m->c.plan));
    bool fine = true;
    for (uint32_t i = 0; i < n && fine; i++) {
        const workload_op *op = &m->layer->ops[pass >= PLAN_BACKWARD ? n - 1 - i : i];
        if (op->kind == WORKLOAD_COLL) {
            fine = !talks || m->c.n[op->group] < 2 || add_messages(to, m, op, pass);
            continue;
        }
        const plan_item item = make_compute(m, op, pass);
        fine = !(item.seconds > 0) || array_push(&to->items, item);
    }
    set_starts(to);
    set_host(to, m, pass);
    return fine;
}

static maker make_maker(const step *s, const workload_layer *layer, estimate_kind kind)
{
    const bool end = kind == ESTIMATE_EMBEDDING || kind == ESTIMATE_HEAD;
    maker m = {.c = s->c,
               .layer = layer,
               .price = s->kinds[kind].price,
               .floor = !end && (s->c.model->kind == HALLEY_TRANSFORMER ||
                                 kind == ESTIMATE_EXPERTS)};
    m.c.only_wide = kind == ESTIMATE_DENSE_WIDE || kind == ESTIMATE_EXPERTS_WIDE;
    return m;
}

bool plan_scripts_init(plan_scripts *out, const step *s, const workload_parts *parts)
{
    bool fine = true;
    *out = (plan_scripts){0};
    for (int k = 0; k < ESTIMATE_N_KINDS && fine; k++) {
        const estimate_kind kind = (estimate_kind)k;
        const bool wide = kind == ESTIMATE_DENSE_WIDE || kind == ESTIMATE_EXPERTS_WIDE;
        const workload_layer *layer = step_find_layer(parts, kind);
        if (layer == NULL || (wide && s->c.plan->bf16_layers == 0))
            continue;
        const maker m = make_maker(s, layer, kind);
        for (int p = 0; p < PLAN_N_PASSES && fine; p++)
            fine = make_script(&out->of[k][p], &m, (plan_pass)p);
    }
    if (!fine)
        plan_scripts_fini(out);
    return fine;
}

void plan_scripts_fini(plan_scripts *scripts)
{
    for (int k = 0; k < ESTIMATE_N_KINDS; k++)
        for (int p = 0; p < PLAN_N_PASSES; p++)
            array_fini(&scripts->of[k][p].items);
}

/* The next message that starts inside compute item i, at or after `from_s`; of those that
 * start together the first. */
static uint32_t find_start(const plan_script *script, uint32_t i, double from_s,
                           uint32_t after)
{
    uint32_t best = PLAN_NO_ITEM;
    for (uint32_t k = i + 1; k < script->items.n; k++) {
        const plan_item *item = &script->items.at[k];
        const bool is_later =
            item->offset_s > from_s || (item->offset_s == from_s && k > after);
        if (item->is_message && item->start == i && is_later &&
            (best == PLAN_NO_ITEM || item->offset_s < script->items.at[best].offset_s))
            best = k;
    }
    return best;
}

/* Write compute up to the next start of a message, then that message, and so on. */
static void run_compute(plan_nodes *to, const plan_script *script, uint32_t i)
{
    const plan_item *item = &script->items.at[i];
    double done_s = 0;
    for (uint32_t k = find_start(script, i, 0, 0); k != PLAN_NO_ITEM;) {
        const plan_item *early = &script->items.at[k];
        const double piece_s = early->offset_s - done_s, share = piece_s / item->seconds;
        if (piece_s > 0)
            plan_compute_chain(to, item->name, piece_s, share * item->flops,
                               share * item->bytes);
        plan_message_early(to, &early->message, k);
        done_s = early->offset_s;
        k = find_start(script, i, done_s, k);
    }
    const double rest_s = item->seconds - done_s, share = rest_s / item->seconds;
    plan_compute_chain(to, item->name, rest_s, share * item->flops, share * item->bytes);
}

void plan_script_run(plan_nodes *to, const plan_script *script)
{
    for (uint32_t i = 0; i < script->items.n; i++) {
        const plan_item *item = &script->items.at[i];
        if (!item->is_message)
            run_compute(to, script, i);
        else if (item->start == PLAN_NO_ITEM)
            plan_message_chain(to, &item->message);
        else
            plan_message_turn(to, item->message.hidden_s - item->early_s, i);
    }
}
