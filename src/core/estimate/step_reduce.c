/*
 * Gradient reduction, weight gather and update, for the stage with the most parameters.
 *
 * Gradients are reduced in buckets of max(40 M, 1 M per rank) parameters, as in Megatron.
 * Each bucket has the latency of its collective. A bucket leaves as soon as the last
 * backward pass of a chunk has computed it, and weights are gathered before the first
 * forward pass of a layer. What ends after the last pass or makes the first one wait is
 * exposed (reduce_tail, gather_tail). The rest slows the passes down by a fraction of its
 * time: it takes units and memory bandwidth from kernels, and with stages a late pass
 * also delays its neighbours.
 *
 * With sharded weights, ZeRO 2, hybrid ZeRO and on TPUs a fraction given by the stack is
 * hidden. The backward pass hides reduction, and the forward pass hides the gather of
 * weights. Together they hide at most nine tenths of a pass.
 *
 * ZeRO 2 stores only a shard of the gradients. They are therefore reduced after every
 * micro-batch, each hidden by its own backward pass. If only some ranks shard (hybrid
 * ZeRO, hybrid shard): reduce-scatter among them, all-reduce of the shards across, then
 * gather.
 */
#include "estimate/groups.h"
#include "estimate/step.h"
#include "workload/schedule.h"

#include <assert.h>
#include <math.h>

static const double bucket_params = 40e6, bucket_params_per_rank = 1e6;

/* A collective over gradients or weights, bucket by bucket. */
typedef struct bucketed {
    double all_s, last_s; /* all buckets; one of them */
} bucketed;

double step_bucket_params(const step *s, workload_group group)
{
    assert(group < WORKLOAD_N_GROUPS);
    return fmax(bucket_params, bucket_params_per_rank * s->c.n[group]);
}

static bucketed bucket_time(const step *s, coll_kind kind, workload_group group,
                            double params, double bytes_each)
{
    assert(params >= 0);
    const double size = step_bucket_params(s, group);
    /* Compilers (TPU), and models other than transformers, do not use these buckets. */
    const bool whole = s->c.model->kind != HALLEY_TRANSFORMER ||
                       s->c.cluster->npu.type == HALLEY_NPU_TPU;
    const double n = whole ? 1 : fmax(1, ceil(params / size));
    const double one = price_coll(&s->c, kind, group, bytes_each * params / n);
    return (bucketed){n * one, whole ? 0 : one};
}

/* Groups of one set of weights: all ranks that hold it, a shard group, and the ranks with
 * the same shard. */
typedef struct owners {
    workload_group all, shard, outer;
} owners;

static bucketed list_message(step_reduction *r, const step *s, coll_kind kind,
                             workload_group group, double params, double bytes_each)
{
    const bucketed t = bucket_time(s, kind, group, params, bytes_each);
    const bool gathers = kind == COLL_ALL_GATHER;
    assert(r->n < sizeof r->messages / sizeof *r->messages);
    if (t.all_s > 0)
        r->messages[r->n++] =
            (step_message){kind, group, bytes_each * params, t.all_s, gathers};
    return t;
}

/* Weights with one fp8 scale per tensor travel in 8 bits, all others in 16. */
static double weight_bytes(const halley_plan *plan)
{
    const bool eight = plan->dtype == HALLEY_FP8 && plan->recipe == HALLEY_FP8_TENSOR &&
                       plan->fp8_params != HALLEY_CHOICE_NO && !plan->fsdp;
    return eight ? 1 : 2;
}

/* Gather the weights, in one piece or bucket by bucket. */
static double list_gather(step_reduction *r, const step *s, workload_group group,
                          double params)
{
    const bucketed t =
        list_message(r, s, COLL_ALL_GATHER, group, params, weight_bytes(s->c.plan));
    if (!s->c.plan->fsdp || !(t.all_s > 0))
        return t.all_s;
    const double whole = price_coll(&s->c, COLL_ALL_GATHER, group, 2 * params);
    r->messages[r->n - 1].all_s = whole;
    return whole;
}

/* The messages of one set of weights: before the update in every micro-batch or once, and
 * after it once. */
typedef struct reduction {
    double reduce_s, last_s; /* gradients; the last bucket of them */
    double gather_s;         /* gathering the weights again */
} reduction;

static reduction reduce_weights(step_reduction *to, const step *s, double params,
                                owners who)
{
    assert(params >= 0);
    const halley_plan *plan = s->c.plan;
    const double gb = plan->gradient_bytes;
    reduction r = {0};
    if (!(params > 0))
        return r;
    if (plan->zero == 0 && !plan->fsdp) {
        const bucketed all = list_message(to, s, COLL_ALL_REDUCE, who.all, params, gb);
        return (reduction){all.all_s, all.last_s, 0};
    }
    if (!s->fsdp_each) {
        const workload_group group = plan->fsdp || plan->zero_group ? who.shard : who.all;
        const bucketed one = list_message(to, s, COLL_REDUCE_SCATTER, group, params, gb);
        r = (reduction){one.all_s, one.last_s, list_gather(to, s, group, params)};
    }
    if (s->c.n[who.outer] < 2)
        return r;
    /* Ranks with the same shard all-reduce it, bucket after bucket, while other buckets
     * are still reduce-scattered inside the shard groups. */
    const bucketed across =
        list_message(to, s, COLL_ALL_REDUCE, who.outer, params / s->c.n[who.shard], gb);
    const double first = fmin(r.last_s, across.last_s);
    r.reduce_s = fmax(r.reduce_s, across.all_s) + first;
    r.last_s += across.last_s;
    return r;
}

static step_reduction reduce_stage(const step *s, const stage_cost *st)
{
    static const owners dense = {WORKLOAD_DP, WORKLOAD_FSDP, WORKLOAD_OUTER};
    static const owners experts = {WORKLOAD_XP, WORKLOAD_XFSDP, WORKLOAD_XOUTER};
    const bool has_experts = s->c.plan->has_experts;
    step_reduction r = {0};
    const reduction a = reduce_weights(&r, s, st->trained, dense);
    const reduction b =
        reduce_weights(&r, s, has_experts ? st->trained_experts : 0, experts);
    r.reduce_s = a.reduce_s + b.reduce_s;
    r.last_s = fmax(a.last_s, b.last_s);
    r.gather_s = a.gather_s + b.gather_s;
    return r;
}

/*
 * On links with queues, messages that compute hides still contend with the messages of
 * the layers on the same links. The fraction of the pass with such messages is exposed.
 */
static double compute_delay(const step *s, const stage_cost *st, double hidden)
{
    const price_context *c = &s->c;
    double talks = 0;
    if (!c->cluster->nodes.up.stored)
        return 0;
    const uint32_t near = c->per_node[WORKLOAD_DP];
    const coll_call inside = {
        .kind = COLL_ALL_REDUCE, .bytes = 2 * st->weights, .n = near, .per_node = near};
    const double most =
        coll_call_time(&c->cluster->nodes.up, hw_outer_fabric(c->cluster), &inside);
    for (int g = WORKLOAD_TP; g <= WORKLOAD_EP; g++) {
        if (c->per_node[g] < c->n[g])
            continue; /* the network between nodes is another dimension */
        for (int k = 0; k < ESTIMATE_N_KINDS; k++)
            talks += st->kinds[k].n *
                     (s->kinds[k].price->comm_f[g] + s->kinds[k].price->comm_b[g]);
    }
    return fmin(hidden, most) * talks / stage_time(st);
}

/* True if messages of a layer's group and of the data-parallel group use the same links:
 * network cards, or the links inside nodes. A data-parallel group across nodes leaves
 * most of the bandwidth inside nodes to others. */
static bool share_links(const price_context *c, workload_group group)
{
    const bool far = c->per_node[group] < c->n[group];
    const bool data_far = c->per_node[WORKLOAD_DP] < c->n[WORKLOAD_DP];
    if (c->n[group] < 2 || c->n[WORKLOAD_DP] < 2)
        return false;
    return far == data_far;
}

/* The time of a pass in which its own messages, hidden or not, use the links of the
 * data-parallel group. The rest of the pass can carry gradients. This rest never grows
 * when compute gets faster. */
static double shared_time(const step *s, const stage_cost *st, bool backward)
{
    static const workload_group groups[] = {WORKLOAD_TP, WORKLOAD_CP, WORKLOAD_EP,
                                            WORKLOAD_ETP};
    double sum = 0;
    for (int g = 0; g < 4; g++)
        for (int k = 0; k < ESTIMATE_N_KINDS && share_links(&s->c, groups[g]); k++) {
            const price_layer *p = s->kinds[k].price;
            const kind_count *n = &st->kinds[k];
            sum += backward
                       ? n->n * p->link_b[groups[g]] + n->again * p->link_r[groups[g]]
                       : n->n * p->link_f[groups[g]];
        }
    return fmin(sum, backward ? st->backward_s : st->forward_s);
}

double step_reduced_each(const step *s, const stage_cost *st)
{
    if (s->c.plan->zero != 2 || s->c.plan->fsdp)
        return 0;
    const step_reduction r = reduce_stage(s, st);
    const double shown = price_exposed(&s->c, WORKLOAD_DP);
    const double behind = 0.9 * (st->backward_s - shared_time(s, st, true));
    return r.reduce_s - fmin((1 - shown) * r.reduce_s, behind);
}

/* The part of the hideable time for which there is enough compute. If only some ranks
 * shard, gathers are fast and stay inside nodes. Messages that cross nodes then overlap
 * with the backward pass only. */
static double hidden_time(const step *s, const stage_cost *st, double reduced_s,
                          double gathered_s)
{
    assert(reduced_s >= 0 && gathered_s >= 0);
    const double behind_b = 0.9 * (st->backward_s - shared_time(s, st, true));
    const double behind_f = 0.9 * (st->forward_s - shared_time(s, st, false));
    if (plan_shards(s->c.plan) > 1 || s->c.plan->zero == 2)
        return fmin(reduced_s, behind_b) + fmin(gathered_s, behind_f);
    return fmin(reduced_s + gathered_s, behind_b + (gathered_s > 0 ? behind_f : 0));
}

/* True if buckets leave as soon as the last backward pass of a chunk has computed them.
 * Sharded weights, ZeRO 2, hybrid ZeRO and compilers order these messages in other ways,
 * and stacks may not overlap them at all. */
static bool is_by_chunk(const step *s)
{
    const halley_plan *plan = s->c.plan;
    return s->c.model->kind == HALLEY_TRANSFORMER &&
           s->c.cluster->npu.type != HALLEY_NPU_TPU && !plan->fsdp && plan->zero < 2 &&
           plan_shards(plan) == 1 && price_exposed(&s->c, WORKLOAD_DP) < 1;
}

double step_drag(const step *s)
{
    return s->c.stack->k[s->c.plan->pp > 1 ? HALLEY_K_DP_DRAG_STAGES : HALLEY_K_DP_DRAG];
}

/* A stage seen by its gradients: n = chunks x layers equal buckets. */
typedef struct chunk_view {
    uint64_t chunks, layers; /* layers: of a chunk */
    double away;             /* micro-batches between two chunks */
    double forward_s, backward_s;
} chunk_view;

static chunk_view view_chunks(const step *s, const stage_cost *st)
{
    const halley_plan *plan = s->c.plan;
    const uint32_t v =
        plan->virtual_stages > 1 && plan->pp > 1 ? plan->virtual_stages : 1;
    double layers = 0;
    for (int i = 0; i < ESTIMATE_N_KINDS; i++)
        layers += st->kinds[i].n;
    return (chunk_view){.chunks = v,
                        .layers = (uint64_t)fmax(1, round(layers / v)),
                        .away = fmin(plan->pp, s->micro_batches),
                        .forward_s = st->forward_s,
                        .backward_s = st->backward_s + step_accumulation_time(s, st)};
}

/* How long the reduction ends after the last backward pass. Chunk c ends c `away` chunk
 * passes before it, and its layers one after the other. */
static double reduce_tail(const chunk_view *w, double reduce_s)
{
    const double n = (double)w->chunks * (double)w->layers;
    double end_s = -HUGE_VAL;
    for (uint64_t c = w->chunks; c-- > 0;)
        for (uint64_t k = 1; k <= w->layers; k++) {
            const double ready_s =
                -(double)c * w->away * w->backward_s / (double)w->chunks -
                (double)(w->layers - k) * w->backward_s / n;
            end_s = fmax(end_s, ready_s) + reduce_s / n;
        }
    return fmax(0, end_s);
}

/* How long the first forward passes wait for weights, which are gathered in order. */
static double gather_tail(const chunk_view *w, double gather_s)
{
    const double n = (double)w->chunks * (double)w->layers;
    double end_s = 0, tail_s = 0;
    for (uint64_t c = 0; c < w->chunks; c++)
        for (uint64_t k = 0; k < w->layers; k++) {
            const double needed_s =
                (double)c * w->away * w->forward_s / (double)w->chunks +
                (double)k * w->forward_s / n;
            end_s += gather_s / n;
            tail_s = fmax(tail_s, end_s - needed_s);
        }
    return tail_s;
}

/*
 * The time by which hidden messages delay exposed messages of the layers on the same
 * links: both share the bandwidth while they meet. The fraction of a pass with such
 * messages is the fraction of the hidden time that they lose.
 */
static double meet_on_links(const step *s, const stage_cost *st, double hidden_s)
{
    const price_context *c = &s->c;
    const bool far = c->per_node[WORKLOAD_DP] < c->n[WORKLOAD_DP];
    double talks_s = 0;
    for (int g = WORKLOAD_TP; g <= WORKLOAD_EP; g++)
        for (int k = 0; k < ESTIMATE_N_KINDS; k++)
            if ((c->per_node[g] < c->n[g]) == far)
                talks_s += st->kinds[k].n *
                           (s->kinds[k].price->comm_f[g] + s->kinds[k].price->comm_b[g]);
    return fmin(hidden_s, stage_time(st)) * fmin(1, talks_s / stage_time(st));
}

static step_reduction reduce_by_chunk(const step *s, const stage_cost *st,
                                      step_reduction r)
{
    const chunk_view view = view_chunks(s, st);
    const double all_s = r.reduce_s + r.gather_s;
    const double tails_s =
        fmin(all_s, reduce_tail(&view, r.reduce_s) + gather_tail(&view, r.gather_s));
    r.by_chunk = true;
    r.hidden_s = (1 - step_drag(s)) * (all_s - tails_s);
    r.hidden_s -= fmin(r.hidden_s, meet_on_links(s, st, all_s - tails_s));
    r.exposed_s = all_s - r.hidden_s;
    return r;
}

step_reduction step_reduction_make(const step *s, const stage_cost *st)
{
    assert(s->micro_batches > 0);
    const halley_plan *plan = s->c.plan;
    step_reduction r = reduce_stage(s, st);
    if (is_by_chunk(s))
        return reduce_by_chunk(s, st, r);
    const double shown = price_exposed(&s->c, WORKLOAD_DP);
    const bool each = plan->zero == 2 && !plan->fsdp;
    const double last = fmin(r.last_s, r.reduce_s);
    const double reduced = each ? 0 : (1 - shown) * (r.reduce_s - last);
    r.hidden_s = hidden_time(s, st, reduced, (1 - shown) * r.gather_s);
    assert(r.hidden_s >= 0 && shown >= 0);
    r.exposed_s = (each ? 0 : r.reduce_s) + r.gather_s - r.hidden_s +
                  compute_delay(s, st, r.hidden_s);
    return r;
}

double step_owner_time(const step *s)
{
    const halley_plan *plan = s->c.plan;
    const uint32_t ranks = plan->zero_group ? plan->zero_group : plan->dp * plan->cp;
    return plan->zero_owner && ranks > 1 ? ranks * s->c.stack->k[HALLEY_K_OWNER] : 0;
}

void step_add_reduction(step *s, const stage_cost *st)
{
    const step_reduction r = step_reduction_make(s, st);
    s->out->part_s[HALLEY_PART_DP] += r.exposed_s + step_owner_time(s);
}

/* The number of ranks among which the optimizer's work on some weights is divided. With
 * two streams (DualPipe) the rank at the other end of the pipeline holds the same
 * weights. */
static double update_shards(const step *s, workload_group all, workload_group shard)
{
    const halley_plan *plan = s->c.plan;
    const bool twice = plan->pp > 1 && workload_schedule_is_bidirectional(plan->schedule);
    if (plan->fsdp || (plan->zero && plan->zero_group))
        return s->c.n[shard];
    return plan->zero ? (twice ? 2.0 : 1) * s->c.n[all] : 1;
}

void step_add_update(step *s, const stage_cost *st)
{
    assert(st->trained >= 0);
    const halley_plan *plan = s->c.plan;
    const double *k = s->c.stack->k;
    const double shards = update_shards(s, WORKLOAD_DP, WORKLOAD_FSDP);
    const double copies = plan->has_experts
                              ? update_shards(s, WORKLOAD_XP, WORKLOAD_XFSDP)
                              : (plan->zero || plan->fsdp
                                     ? (double)plan->tp * plan->cp * plan->dp / plan->ep
                                     : 1);
    const double mine = st->trained / shards + st->touched / copies;
    const double kept = plan->fsdp ? st->trained / shards : st->trained + st->touched;
    s->out->part_s[HALLEY_PART_OPTIMIZER] +=
        s->c.stream_s * (mine * k[HALLEY_K_OPTIMIZER] + kept * k[HALLEY_K_GRADIENTS]);
    s->out->part_s[HALLEY_PART_OTHER] += k[HALLEY_K_STEP];
}
