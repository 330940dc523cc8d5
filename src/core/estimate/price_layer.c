/*
 * The time of a layer. Only the part of a message that compute does not hide counts. Host
 * and NPU overlap within a phase, not per kernel. The host's floor is therefore applied
 * to the forward and backward pass of a layer as a whole: t = (npu^6 + host^6)^(1/6).
 *
 * In a layer with experts the host waits for messages anyway. The floor then applies to
 * compute alone, and exposed messages are added after it. Without a capacity limit, the
 * host must also learn how many tokens each expert received. Nothing hides this time
 * unless the whole step is captured in a graph.
 */
#include "estimate/price.h"

#include <assert.h>
#include <math.h>

/* The expected number of distinct nodes that copies of a token go to. Routing that is
 * limited to groups of experts limits it. */
static double distinct_nodes(const halley_model *model, double nodes)
{
    const double anywhere = nodes * (1 - pow(1 - 1 / nodes, model->top_k));
    if (!model->router_groups || !model->router_top_groups)
        return anywhere;
    const double limited = nodes * model->router_top_groups / model->router_groups;
    return fmin(anywhere, fmax(1, limited));
}

/* The fraction of the bytes that go to other nodes when each node receives one copy
 * only. */
static double sent_once(const price_context *c, const workload_op *op)
{
    const double nodes = (double)c->n[op->group] / c->per_node[op->group];
    return fmin(1, distinct_nodes(c->model, nodes) / op->copies);
}

static double dispatcher_factor(const price_context *c)
{
    static const halley_constant constants[HALLEY_N_DISPATCHERS] = {
        [HALLEY_DISPATCH_ALL_TO_ALL] = HALLEY_K_EP_TIME,
        [HALLEY_DISPATCH_DEEPEP] = HALLEY_K_EP_DEEPEP,
        [HALLEY_DISPATCH_HYBRIDEP] = HALLEY_K_EP_HYBRIDEP};
    assert(c->plan->dispatcher < HALLEY_N_DISPATCHERS);
    const double factor = price_library(c, constants[c->plan->dispatcher]);
    const bool across = c->per_node[WORKLOAD_EP] < c->n[WORKLOAD_EP];
    return across ? factor * price_library(c, HALLEY_K_EP_NETWORK) : factor;
}

/* The factor of the stack's collectives over the time in the table, by group. */
static double find_slowness(const price_context *c, workload_group group)
{
    assert(group < WORKLOAD_N_GROUPS);
    if (group == WORKLOAD_EP)
        return dispatcher_factor(c);
    const double own = group == WORKLOAD_TP ? price_library(c, HALLEY_K_TP_TIME) : 1;
    return c->per_node[group] < c->n[group] ? own * price_library(c, HALLEY_K_NETWORK)
                                            : own;
}

double price_message_time(const price_context *c, const workload_op *op)
{
    assert(op->group < WORKLOAD_N_GROUPS);
    static const coll_kind kinds[] = {
        [WORKLOAD_ALL_REDUCE] = COLL_ALL_REDUCE,
        [WORKLOAD_ALL_GATHER] = COLL_ALL_GATHER,
        [WORKLOAD_REDUCE_SCATTER] = COLL_REDUCE_SCATTER,
        [WORKLOAD_ALL_TO_ALL] = COLL_ALL_TO_ALL,
        [WORKLOAD_EXCHANGE] = COLL_SEND,
    };
    assert(op->kind == WORKLOAD_COLL && op->group < WORKLOAD_N_GROUPS);
    const uint32_t n = c->n[op->group], g = c->per_node[op->group];
    coll_call call = price_call(c, kinds[op->coll], op->group, op->bytes_f);
    const bool turns = op->coll == WORKLOAD_EXCHANGE && c->cluster->nodes.up.torus;
    if (turns) { /* n - 1 sends to the neighbour equal a plain ring all-gather */
        call.kind = COLL_ALL_GATHER;
        call.bytes *= n;
    }
    if (op->copies > 1 && g < n)
        call.remote_share = sent_once(c, op);
    double t = price_call_time(c, op->group, &call) * find_slowness(c, op->group);
    if (op->slow > 0)
        t *= op->slow;
    return op->coll == WORKLOAD_EXCHANGE && !turns ? t * (n - 1) : t;
}

/* A pass through a block of tensor-parallel ranks: from its gather to its scatter, or to
 * its all-reduce. */
typedef struct block_pass {
    double npu;    /* compute between its messages */
    double sent;   /* its messages, hidden or not */
    double wished; /* the part of them that compute hides if there is enough of it */
} block_pass;

/* The sums of one layer. */
typedef struct layer_sums {
    double npu_f, npu_b, again;    /* compute */
    double comm_f, comm_b, comm_r; /* exposed messages except those of experts */
    double expert_f, expert_b;     /* messages of experts, hidden or not */
    double turn_f, turn_b;         /* keys and values around the ring, hidden or not */
    block_pass f, b;               /* of the current block */
    block_pass blocks_f, blocks_b; /* of all blocks; npu: what can hide their messages */
    bool repeats;                  /* messages are repeated in recomputation */
} layer_sums;

static void add_exposed(price_layer *out, layer_sums *sum, workload_group group, double f,
                        double b)
{
    assert(group < WORKLOAD_N_GROUPS);
    assert(f >= 0 && b >= 0);
    const double r = sum->repeats ? f : 0;
    out->comm_f[group] += f;
    out->comm_b[group] += b;
    out->comm_r[group] += r;
    sum->comm_f += f;
    sum->comm_b += b;
    sum->comm_r += r;
}

/* Messages occupy their links whether they are hidden or not. */
static void add_link_time(price_layer *out, const layer_sums *sum, workload_group group,
                          double f, double b)
{
    assert(group < WORKLOAD_N_GROUPS);
    assert(f >= 0 && b >= 0);
    out->link_f[group] += f;
    out->link_b[group] += b;
    out->link_r[group] += sum->repeats ? f : 0;
}

/* The block ends: its own compute hides its messages. In a block with an exchange of keys
 * and values, which attention hides, each side of the attention is a block. */
static void end_block(block_pass *all, block_pass *block)
{
    all->npu += fmin(block->npu, block->wished);
    all->sent += block->sent;
    all->wished += block->wished;
    *block = (block_pass){0};
}

static void add_block_message(layer_sums *sum, const price_context *c,
                              const workload_op *op, double one_s)
{
    const double share = price_exposed(c, WORKLOAD_TP);
    const double sent_b = op->sent_b > 0 ? op->sent_b : op->times_b;
    if (op->coll == WORKLOAD_ALL_GATHER) /* what came before is not part of the block */
        sum->f = sum->b = (block_pass){0};
    sum->f.sent += one_s * op->times_f;
    sum->b.sent += one_s * sent_b;
    sum->f.wished += one_s * op->times_f * (1 - share);
    sum->b.wished += one_s * (sent_b - op->times_b * share);
    if (op->coll != WORKLOAD_ALL_GATHER) {
        end_block(&sum->blocks_f, &sum->f);
        end_block(&sum->blocks_b, &sum->b);
    }
}

static void add_message_time(price_layer *out, layer_sums *sum, const price_context *c,
                             const workload_op *op)
{
    const double one = price_message_time(c, op);
    add_link_time(out, sum, op->group, one * op->times_f, one * op->times_b);
    if (op->group == WORKLOAD_EP) {
        sum->expert_f += one * op->times_f;
        sum->expert_b += one * op->times_b;
        return;
    }
    if (op->coll == WORKLOAD_EXCHANGE) {
        sum->turn_f += one * op->times_f;
        sum->turn_b += one * op->times_b;
        return;
    }
    if (op->group == WORKLOAD_TP) {
        add_block_message(sum, c, op, one);
        return;
    }
    const double share = price_exposed(c, op->group);
    add_exposed(out, sum, op->group, one * op->times_f * share,
                one * op->times_b * share);
}

static void add_compute(price_layer *out, layer_sums *sum, const price_context *c,
                        const workload_op *op, bool floor)
{
    const price_op t = price_op_make(c, op);
    const double again = floor ? t.again_s : 0;
    out->f[op->class] += t.forward_s - t.cast_f_s;
    out->b[op->class] += t.backward_s - t.cast_b_s;
    out->f[WORKLOAD_TRAFFIC] += t.cast_f_s;
    out->b[WORKLOAD_TRAFFIC] += t.cast_b_s;
    out->r[op->class] += again;
    out->weight_s += t.weight_s;
    const double flops = op->flops * (op->repeat > 0 ? op->repeat : 1);
    out->flops += flops;
    out->again_flops += t.forward_s > 0 ? flops * again / t.forward_s : 0;
    sum->npu_f += t.forward_s;
    sum->npu_b += t.backward_s;
    if (op->class == WORKLOAD_ATTENTION && c->plan->cp > 1) {
        /* Keys and values need the block's gather, and its scatter needs them. */
        end_block(&sum->blocks_f, &sum->f);
        end_block(&sum->blocks_b, &sum->b);
    } else {
        sum->f.npu += t.forward_s;
        sum->b.npu += t.backward_s;
    }
    sum->again += again;
}

/* The fraction of the host's time that remains with captured graphs. */
static double left_by_graphs(const price_context *c, bool moe)
{
    const double *k = c->stack->k;
    switch (c->plan->graphs) {
    case HALLEY_GRAPHS_NONE:
    case HALLEY_N_GRAPHS:
        return 1;
    case HALLEY_GRAPHS_ROUTER:
        return moe ? k[HALLEY_K_HOST_ROUTER] : 1;
    case HALLEY_GRAPHS_LAYER:
        return moe ? k[HALLEY_K_HOST_LAYER] : 0;
    case HALLEY_GRAPHS_FULL:
        break;
    }
    return 0;
}

typedef struct host_time {
    double f, b, again, wait;
} host_time;

static host_time make_host_time(const price_context *c, const workload_layer *l)
{
    const double *k = c->stack->k;
    const halley_plan *plan = c->plan;
    double f = k[HALLEY_K_HOST_MOE];
    if (plan->ep > 1 && plan->dispatcher == HALLEY_DISPATCH_ALL_TO_ALL)
        f *= k[HALLEY_K_HOST_DISPATCH];
    const double moe = l->moe ? l->moe_share : 0; /* hybrids: an average layer */
    const double b = moe * f * 1.5 + (1 - moe) * k[HALLEY_K_HOST_B];
    f = moe * f + (1 - moe) * k[HALLEY_K_HOST_F];
    if (plan->tp > 1)
        f += k[HALLEY_K_HOST_TP];
    if (plan->attention == HALLEY_ATTENTION_UNFUSED &&
        fmod(plan->micro_batch * (double)c->model->heads / plan->tp, 4) != 0)
        f += k[HALLEY_K_HOST_ODD];
    /* On a TPU, a compiler issues whole steps: experts cost no host time. */
    const bool compiled = c->cluster->npu.type == HALLEY_NPU_TPU && l->moe;
    const double left = compiled ? 0 : left_by_graphs(c, l->moe) * c->host;
    const bool waits =
        l->moe && !compiled && plan->capacity <= 0 && plan->graphs != HALLEY_GRAPHS_FULL;
    return (host_time){.f = f * left,
                       .b = b * left,
                       .again = plan->recompute == HALLEY_RECOMPUTE_FULL ? f * left : 0,
                       .wait =
                           waits ? k[HALLEY_K_HOST_WAIT] * c->cluster->host_factor : 0};
}

/* The compute of one pass that can hide messages. */
typedef struct cover {
    double attention; /* seconds */
    double wait;      /* seconds the NPU waits for its host; 0 = nothing hides there */
    double pass;      /* seconds of a pass of another micro-batch, without its messages */
} cover;

/* The messages of one pass: first their full time, later the exposed rest. */
typedef struct messages {
    double expert, turn, tensor;
    block_pass blocks; /* of tensor-parallel ranks */
} messages;

static double hide(double *message, double exposed_share, double behind)
{
    assert(exposed_share >= 0 && exposed_share <= 1);
    const double hidden = fmin((1 - exposed_share) * *message, fmax(0, behind));
    *message -= hidden;
    return hidden;
}

/*
 * Compute hides messages up to its own duration. Attention hides the keys and values that
 * go around the ring. The compute of a block hides the messages of its tensor-parallel
 * ranks. These two follow each other, so the same compute cannot hide both. Otherwise a
 * faster device would expose the same second twice and be slower. A pass of another
 * micro-batch hides messages of experts. This pass lasts as long as its compute and its
 * own exposed messages.
 */
static messages expose_pass(const price_context *c, messages all, const cover *by)
{
    messages m = all;
    const double turn =
        hide(&m.turn, price_exposed(c, WORKLOAD_CP), by->attention + by->wait);
    m.tensor = all.blocks.sent -
               fmin(all.blocks.wished, fmax(0, all.blocks.npu + by->wait - turn));
    hide(&m.expert, price_exposed(c, WORKLOAD_EP), by->pass + m.turn + m.tensor);
    return m;
}

/* In layers with experts, the time that the NPU waits for its host also hides
 * messages. */
static void expose_hidden(price_layer *out, layer_sums *sum, const price_context *c,
                          const host_time *h, bool moe)
{
    const double busy_b = sum->npu_b + sum->again;
    const double wait_f = price_side_by_side(sum->npu_f, h->f) - sum->npu_f;
    const double wait_b = price_side_by_side(busy_b, h->b + h->again) - busy_b;
    const cover by_f = {out->f[WORKLOAD_ATTENTION], moe ? wait_f : 0,
                        sum->npu_f + wait_f};
    const cover by_b = {out->b[WORKLOAD_ATTENTION], moe ? wait_b : 0,
                        sum->npu_b + wait_b};
    const messages f =
        expose_pass(c, (messages){sum->expert_f, sum->turn_f, 0, sum->blocks_f}, &by_f);
    const messages b =
        expose_pass(c, (messages){sum->expert_b, sum->turn_b, 0, sum->blocks_b}, &by_b);
    add_exposed(out, sum, WORKLOAD_EP, f.expert, b.expert);
    add_exposed(out, sum, WORKLOAD_TP, f.tensor, b.tensor);
    add_exposed(out, sum, WORKLOAD_CP, f.turn, b.turn);
}

/* Apply the host's floor to a layer without experts, including its messages. */
static void floor_dense(price_layer *p, const layer_sums *sum, const host_time *h)
{
    const double f = sum->npu_f + sum->comm_f, b = sum->npu_b + sum->comm_b;
    const double again = sum->again + sum->comm_r;
    p->forward_s = price_side_by_side(f, h->f);
    p->backward_s = price_side_by_side(b + again, h->b + h->again);
    p->plain_b_s = again > 0 ? price_side_by_side(b, h->b) : p->backward_s;
}

static void floor_experts(price_layer *p, const layer_sums *sum, const host_time *h)
{
    p->forward_s = price_side_by_side(sum->npu_f, h->f) + sum->comm_f + h->wait;
    p->backward_s = price_side_by_side(sum->npu_b + sum->again, h->b + h->again) +
                    sum->comm_b + sum->comm_r;
    p->plain_b_s = price_side_by_side(sum->npu_b, h->b) + sum->comm_b;
}

static void add_host(price_layer *p, const layer_sums *sum, const workload_layer *layer,
                     const host_time *h)
{
    if (layer->moe)
        floor_experts(p, sum, h);
    else
        floor_dense(p, sum, h);
    /* A third of the host's backward work is for weight gradients. */
    const double weight = price_side_by_side(p->weight_s, h->b / 3);
    p->host_w_s = p->weight_s > 0 ? weight - p->weight_s : 0;
    p->weight_s += p->host_w_s;
    /* The difference of equal sums may be below zero by a rounding error. */
    const double forward = p->forward_s - sum->npu_f - sum->comm_f;
    const double plain = p->plain_b_s - sum->npu_b - sum->comm_b;
    const double backward =
        p->backward_s - sum->npu_b - sum->comm_b - sum->again - sum->comm_r;
    const double rounding = 1e-9 + 1e-9 * (p->forward_s + p->backward_s);
    assert(forward > -rounding && backward > -rounding && plain > -rounding);
    (void)rounding;
    p->host_f_s = fmax(0, forward);
    p->host_b_s = fmax(0, backward);
    p->host_plain_s = fmax(0, plain);
}

void price_layer_make(price_layer *out, const price_context *c,
                      const workload_layer *layer, bool floor)
{
    *out = (price_layer){0};
    layer_sums sum = {.repeats = price_repeats_messages(c->plan) && floor};
    for (uint32_t i = 0; i < layer->n; i++) {
        const workload_op *op = &layer->ops[i];
        if (op->kind == WORKLOAD_COLL)
            add_message_time(out, &sum, c, op);
        else
            add_compute(out, &sum, c, op, floor);
    }
    end_block(&sum.blocks_f, &sum.f); /* a gather without a scatter */
    end_block(&sum.blocks_b, &sum.b);
    const host_time h = floor ? make_host_time(c, layer) : (host_time){0};
    expose_hidden(out, &sum, c, &h, layer->moe);
    out->forward_s = sum.npu_f + sum.comm_f;
    out->plain_b_s = sum.npu_b + sum.comm_b;
    out->backward_s = out->plain_b_s + sum.again + sum.comm_r;
    if (floor)
        add_host(out, &sum, layer, &h);
    assert(out->forward_s >= 0 && out->backward_s >= 0);
    assert(out->weight_s >= 0);
}
