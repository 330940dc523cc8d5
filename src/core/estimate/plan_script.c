/*
 * A pass over a layer as a list of operators and messages with their times. The estimate
 * determines the exposed time of a layer's messages (price_layer.c). It is divided among
 * the messages in proportion to their full time.
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
    double whole_f[WORKLOAD_N_GROUPS], whole_b[WORKLOAD_N_GROUPS]; /* seconds */
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
    plan_item i = {.name = op->name};
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

/* The exposed fraction of the time of a group's messages in this pass. */
static double exposed_share(const maker *m, workload_group group, plan_pass pass)
{
    const bool back = pass >= PLAN_BACKWARD;
    const double whole = back ? m->whole_b[group] : m->whole_f[group];
    const double shown = pass == PLAN_AGAIN ? m->price->comm_r[group]
                         : back             ? m->price->comm_b[group]
                                            : m->price->comm_f[group];
    assert(shown <= whole * (1 + 1e-9) + 1e-12);
    return whole > 0 ? fmin(1, shown / whole) : 0;
}

static plan_item make_message(const maker *m, const workload_op *op, plan_pass pass,
                              double times)
{
    static const coll_kind kinds[] = {
        [WORKLOAD_ALL_REDUCE] = COLL_ALL_REDUCE,
        [WORKLOAD_ALL_GATHER] = COLL_ALL_GATHER,
        [WORKLOAD_REDUCE_SCATTER] = COLL_REDUCE_SCATTER,
        [WORKLOAD_ALL_TO_ALL] = COLL_ALL_TO_ALL,
        [WORKLOAD_EXCHANGE] = COLL_ALL_GATHER, /* to the neighbour, n - 1 times */
    };
    const bool turns = op->coll == WORKLOAD_EXCHANGE;
    const double one = times * price_message_time(&m->c, op);
    const double share = exposed_share(m, op->group, pass);
    const plan_message all = {.name = op->name,
                              .kind = kinds[op->coll],
                              .group = op->group,
                              .bytes =
                                  turns ? op->bytes_f * m->c.n[op->group] : op->bytes_f};
    plan_item i = {.name = op->name, .is_message = true, .exposed = all, .hidden = all};
    i.exposed.seconds = share * one;
    i.hidden.seconds = (1 - share) * one;
    return i;
}

/* A fractional number of messages ends with a message that is shorter by that
 * fraction. */
static bool add_messages(plan_script *to, const maker *m, const workload_op *op,
                         plan_pass pass)
{
    const double times = pass >= PLAN_BACKWARD ? op->times_b : op->times_f;
    for (uint32_t i = 0; times - i > 1e-9; i++)
        if (!array_push(&to->items, make_message(m, op, pass, fmin(times - i, 1))))
            return false;
    return true;
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
    for (uint32_t i = 0; i < layer->n; i++) {
        const workload_op *op = &layer->ops[i];
        if (op->kind != WORKLOAD_COLL)
            continue;
        const double one = price_message_time(&m.c, op);
        m.whole_f[op->group] += one * op->times_f;
        m.whole_b[op->group] += one * op->times_b;
    }
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

static bool is_exposed_message(const plan_item *item)
{
    return item->is_message && item->exposed.seconds > 0;
}

static bool talks_far(const plan_nodes *to, const plan_item *item)
{
    const workload_group g = item->exposed.group;
    return is_exposed_message(item) && to->c->per_node[g] < to->c->n[g];
}

/* Seconds of compute from item i until the chain sends a message. */
static double measure_stretch(const plan_script *script, size_t i)
{
    double sum = 0;
    for (; i < script->items.n && !is_exposed_message(&script->items.at[i]); i++)
        sum += script->items.at[i].is_message ? 0 : script->items.at[i].seconds;
    return sum;
}

/* Seconds from item i until the chain sends a message to other nodes. */
static double measure_far(const plan_nodes *to, const plan_script *script, size_t i)
{
    double sum = 0;
    for (; i < script->items.n && !talks_far(to, &script->items.at[i]); i++) {
        const plan_item *item = &script->items.at[i];
        sum += item->is_message ? item->exposed.seconds : item->seconds;
    }
    return sum;
}

/* Hidden messages start at the beginning of a stretch; these flags are set inside one. */
typedef struct stretches {
    bool any, far;
} stretches;

static void run_item(plan_nodes *to, const plan_script *script, size_t i, stretches *in)
{
    const plan_item *item = &script->items.at[i];
    if (!in->far && !talks_far(to, item)) {
        plan_hide_far(to, measure_far(to, script, i));
        in->far = true;
    }
    if (!item->is_message) {
        if (!in->any)
            plan_hide_begin(to, measure_stretch(script, i));
        in->any = true;
        plan_compute_chain(to, item->name, item->seconds, item->flops, item->bytes);
        return;
    }
    if (is_exposed_message(item))
        plan_hide_end(to);
    in->any = in->any && !is_exposed_message(item);
    in->far = in->far && !talks_far(to, item);
    plan_message_chain(to, &item->exposed);
    plan_message_hide(to, &item->hidden);
}

void plan_script_run(plan_nodes *to, const plan_script *script)
{
    stretches in = {false, false};
    for (size_t i = 0; i < script->items.n; i++)
        run_item(to, script, i, &in);
    plan_hide_end(to);
}
