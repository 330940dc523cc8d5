/*
 * A training step of one pipeline stage as a Chakra graph.
 *
 * Passes follow the schedule of their stage (workload/schedule.h). Compute and messages
 * form a chain, with whole messages next to compute where they overlap (plan_script.c).
 * Sends are asynchronous. A pass waits for its receive. The part of a hop during which
 * the sender waits is added to the sender's next node.
 *
 * Gradients and weights have their own messages (plan_reduce.c). With fully sharded
 * weights, the messages of a layer run next to its pass, and the next layer waits for
 * them. The update waits for everything and includes the rest of the step.
 *
 * Prices of operators and messages are the estimate's (price.h). When they run, and what
 * waits for what, follows from the graph: the estimate's closed forms of windows, bubbles
 * and tails are not used here.
 */
#include "base/error.h"
#include "estimate/plan_reduce.h"
#include "estimate/plan_roles.h"
#include "workload/stages.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

typedef struct writer {
    plan_nodes n;
    const plan_scene *s;
    const halley_plan *plan;
    uint32_t stage;
    uint32_t n_layers; /* of this stage */
    plan_reduce reduce;
    double params;       /* parameters of the stage that are reduced */
    uint64_t ahead;      /* fetches for the next layer may start after this node */
    plan_passes *passes; /* collected passes; NULL = not needed */
} writer;

typedef struct chunk {
    uint32_t index;
    workload_stage stage;
    stage_cost cost;
    uint32_t n_again;                   /* the first n_again layers are recomputed */
    uint32_t n_wide_first, n_wide_last; /* layers at its ends that stay in bf16 */
    uint32_t n_before;                  /* layers of the model before it, for names */
} chunk;

static chunk make_chunk(const writer *w, uint32_t c)
{
    const workload_stage st =
        workload_chunk_make(w->s->step.c.model, w->plan, w->stage, c);
    const uint32_t wide = w->plan->bf16_layers;
    return (chunk){.index = c,
                   .stage = st,
                   .cost = step_stage_make(&w->s->step, &st),
                   .n_again = st.again_dense + st.again_moe,
                   .n_wide_first = st.first ? (wide + 1) / 2 : 0,
                   .n_wide_last = st.last ? wide / 2 : 0};
}

static uint32_t count_layers(const chunk *c)
{
    return c->stage.n_dense + c->stage.n_moe;
}

static double count_params(const stage_cost *c)
{
    return c->trained + c->trained_experts;
}

static bool is_wide_layer(const chunk *c, uint32_t i)
{
    return i < c->n_wide_first || i + c->n_wide_last >= count_layers(c);
}

static estimate_kind find_kind(const chunk *c, uint32_t i)
{
    if (i < c->stage.n_dense)
        return is_wide_layer(c, i) ? ESTIMATE_DENSE_WIDE : ESTIMATE_DENSE;
    return is_wide_layer(c, i) ? ESTIMATE_EXPERTS_WIDE : ESTIMATE_EXPERTS;
}

static bool is_exposed(const halley_plan *plan)
{
    return plan->no_overlap || plan->expose & HALLEY_EXPOSE_DP;
}

/* A pass of the schedule, and the messages that leave with it. */
typedef struct pass_work {
    plan_pass kind;
    bool first, last; /* first or last of the chunk's micro-batches */
    bool makes;       /* computes gradients of weights */
} pass_work;

static bool is_backward(const pass_work *p)
{
    return p->kind == PLAN_BACKWARD || p->kind == PLAN_INPUT;
}

static pass_work make_work(const writer *w, const workload_pass *p)
{
    static const plan_pass kinds[WORKLOAD_N_PASSES] = {PLAN_FORWARD, PLAN_BACKWARD,
                                                       PLAN_INPUT, PLAN_WEIGHT};
    const workload_schedule *s = &w->s->schedule;
    const uint32_t first = workload_schedule_first(s, p->chunk);
    return (pass_work){.kind = kinds[p->kind],
                       .first = p->micro_batch == first,
                       .last = p->micro_batch + 1 == first + workload_schedule_each(s),
                       .makes = p->kind == WORKLOAD_PASS_BACKWARD ||
                                p->kind == WORKLOAD_PASS_WEIGHT};
}

/* Add the transfers of a layer's pass to and from the outer tier, next to the chain. */
static void fetch_layer(writer *w, bool backward)
{
    const double *outer = w->s->e.outer_bytes;
    const double m = halley_plan_micro_batches(w->plan), n = w->n_layers;
    const double weights = outer[HALLEY_MEMORY_WEIGHTS] / n;
    const double flights = w->plan->pp < m ? m / w->plan->pp : 1;
    const double activations = outer[HALLEY_MEMORY_ACTIVATIONS] * flights / m / n;
    if (weights >= 1)
        plan_await(&w->n, plan_memory(&w->n, false, "weights in", weights, w->ahead));
    if (activations >= 1 && backward)
        plan_await(&w->n,
                   plan_memory(&w->n, false, "activations in", activations, w->ahead));
    if (activations >= 1 && !backward)
        (void)plan_memory(&w->n, true, "activations out", activations, w->n.last);
}

/* Send a layer's weights or gradients among the ranks that shard them, next to its
 * pass. */
static void send_shards(writer *w, coll_kind kind, workload_group group, double bytes)
{
    const price_context *c = &w->s->step.c;
    const bool gathers = kind == COLL_ALL_GATHER;
    const plan_message m = {.name = gathers ? "weight gather" : "gradient reduction",
                            .kind = kind,
                            .group = group,
                            .bytes = bytes,
                            .seconds = price_coll(c, kind, group, bytes)};
    if (c->n[group] < 2 || !(bytes >= 1))
        return;
    if (is_exposed(w->plan))
        plan_message_chain(&w->n, &m);
    else
        plan_await(&w->n, plan_message_beside(&w->n, &m, w->ahead, PLAN_NO_NODE));
}

/* If weights are gathered in every micro-batch: add the messages of a layer, for which
 * the next layer waits. drag_layer adds the time by which they slow down its compute. */
static void share_layer(writer *w, const workload_layer *l, const pass_work *p)
{
    const bool back = is_backward(p), gathers = !(back && w->plan->fsdp_keep);
    const double gb = w->plan->gradient_bytes, all = l->weights + l->expert_weights;
    const double trained = all > 0 ? 1 - (l->frozen + l->frozen_experts) / all : 1;
    if (!w->s->step.fsdp_each || p->kind == PLAN_WEIGHT)
        return;
    if (gathers) {
        send_shards(w, COLL_ALL_GATHER, WORKLOAD_FSDP, 2 * l->weights);
        send_shards(w, COLL_ALL_GATHER, WORKLOAD_XFSDP, 2 * l->expert_weights);
    }
    if (back) {
        send_shards(w, COLL_REDUCE_SCATTER, WORKLOAD_FSDP, gb * trained * l->weights);
        send_shards(w, COLL_REDUCE_SCATTER, WORKLOAD_XFSDP,
                    gb * trained * l->expert_weights);
    }
}

static void drag_layer(writer *w, const workload_layer *l, const pass_work *p)
{
    const price_context *c = &w->s->step.c;
    const bool back = is_backward(p), gathers = !(back && w->plan->fsdp_keep);
    if (!w->s->step.fsdp_each || p->kind == PLAN_WEIGHT || is_exposed(w->plan))
        return;
    const price_shards t = price_shards_make(c, l->weights, l->expert_weights);
    const double messages = (gathers ? t.gather_s : 0) + (back ? t.reduce_s : 0);
    const double bytes = (gathers ? t.gather_bytes : 0) + (back ? t.reduce_bytes : 0);
    w->n.more_s += fmin(price_drag(c, messages, bytes), messages);
}

static const workload_layer *get_layer(const writer *w, estimate_kind kind)
{
    const workload_parts *p = &w->s->layers.parts;
    return kind == ESTIMATE_DENSE || kind == ESTIMATE_DENSE_WIDE ? &p->dense : &p->moe;
}

/* Recompute the layers up to i whose inputs were not kept, from the last one that was. */
static void repeat_layers(writer *w, const chunk *c, uint32_t i)
{
    const uint32_t every = w->plan->recompute_every > 1 ? w->plan->recompute_every : 1;
    if (i % every != every - 1 && i + 1 != c->n_again)
        return;
    const char *pass = w->n.pass;
    w->n.pass = "RC";
    for (uint32_t j = i / every * every; j <= i; j++) {
        w->n.layer = c->n_before + j;
        plan_script_run(&w->n, &w->s->scripts.of[find_kind(c, j)][PLAN_AGAIN]);
    }
    w->n.layer = c->n_before + i;
    w->n.pass = pass;
}

static const char *const pass_words[PLAN_N_PASSES] = {[PLAN_FORWARD] = "FP",
                                                      [PLAN_AGAIN] = "RC",
                                                      [PLAN_BACKWARD] = "IG+WG",
                                                      [PLAN_INPUT] = "IG",
                                                      [PLAN_WEIGHT] = "WG"};

/* Layers of the model before a chunk of this stage. */
static uint32_t count_layers_before(const writer *w, uint32_t chunk_id)
{
    const workload_schedule *s = &w->s->schedule;
    const uint32_t place =
        workload_schedule_place(s, (workload_seat){w->stage, chunk_id});
    uint32_t n = 0;
    for (uint32_t stage = 0; stage < s->stages; stage++)
        for (uint32_t c = 0; c < s->chunks; c++) {
            const workload_stage st =
                workload_chunk_make(w->s->step.c.model, w->plan, stage, c);
            if (workload_schedule_place(s, (workload_seat){stage, c}) < place)
                n += st.n_dense + st.n_moe;
        }
    return n;
}

static void write_layer(writer *w, const chunk *c, uint32_t i, const pass_work *p)
{
    w->n.layer = c->n_before + i;
    w->n.pass = pass_words[p->kind];
    const estimate_kind kind = find_kind(c, i);
    const workload_layer *layer = get_layer(w, kind);
    const plan_script *script = &w->s->scripts.of[kind][p->kind];
    const uint64_t start = w->n.last;
    if (p->kind != PLAN_WEIGHT)
        fetch_layer(w, is_backward(p));
    w->ahead = start; /* data for the next layer may arrive while this one computes */
    drag_layer(w, layer, p);
    if (is_backward(p) && i < c->n_again && w->plan->recompute)
        repeat_layers(w, c, i);
    plan_script_run(&w->n, script);
    w->n.more_s += i < c->n_again ? script->host_s : script->host_plain_s;
    plan_flush(&w->n, "host");
    share_layer(w, layer, p);
    w->n.pass = NULL;
}

/* A chunk consists of places: the embedding (0), its layers, and the head. */
static uint32_t count_places(const chunk *c)
{
    return count_layers(c) + 2;
}

static bool find_place_kind(estimate_kind *out, const chunk *c, uint32_t place)
{
    const uint32_t n = count_layers(c);
    *out = place == 0       ? ESTIMATE_EMBEDDING
           : place == n + 1 ? ESTIMATE_HEAD
                            : find_kind(c, place - 1);
    return place == 0 ? c->stage.first : place == n + 1 ? c->stage.last : true;
}

/* The trained parameters of a place. */
static plan_params count_place_params(const writer *w, const chunk *c, uint32_t place)
{
    estimate_kind kind;
    if (!find_place_kind(&kind, c, place))
        return (plan_params){{0}};
    const kind_cost *k = &w->s->step.kinds[kind];
    const bool tied = kind == ESTIMATE_HEAD && w->s->step.c.model->tied && c->stage.first;
    return (plan_params){{[PLAN_DENSE] = tied ? 0 : k->weights - k->frozen,
                          [PLAN_EXPERTS] = w->plan->has_experts
                                               ? k->expert_weights - k->frozen_experts
                                               : 0}};
}

static void write_place(writer *w, const chunk *c, uint32_t place, const pass_work *p)
{
    estimate_kind kind;
    if (!find_place_kind(&kind, c, place))
        return;
    if (kind != ESTIMATE_EMBEDDING && kind != ESTIMATE_HEAD) {
        write_layer(w, c, place - 1, p);
        return;
    }
    w->n.layer = PLAN_NO_LAYER;
    w->n.pass = pass_words[p->kind];
    plan_script_run(&w->n, &w->s->scripts.of[kind][p->kind]);
    w->n.pass = NULL;
}

/* Gradients of a place are complete after its last backward pass, or, if they are reduced
 * after every micro-batch, after each one. */
static void reduce_place(writer *w, const chunk *c, uint32_t place, const pass_work *p)
{
    const bool each = plan_reduces_each(w->plan);
    if (p->makes && (each || p->last) && w->s->step.c.model->kind == HALLEY_TRANSFORMER)
        plan_reduce_add(&w->reduce, count_place_params(w, c, place), place == 0);
}

static void write_places(writer *w, const chunk *c, const pass_work *p)
{
    const uint32_t n = count_places(c);
    w->ahead = w->n.last;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t place = p->kind == PLAN_FORWARD ? i : n - 1 - i;
        if (p->kind == PLAN_FORWARD && p->first)
            plan_gather_await(&w->reduce, c->index, place);
        write_place(w, c, place, p);
        reduce_place(w, c, place, p);
    }
}

/* Gather the weights of all chunks, in the order of their first forward passes. */
static void write_gathers(writer *w)
{
    if (w->s->step.c.model->kind != HALLEY_TRANSFORMER)
        return;
    for (uint32_t i = 0; i < w->s->schedule.chunks; i++) {
        const chunk c = make_chunk(w, i);
        const uint32_t n = count_places(&c);
        for (uint32_t place = 0; place < n; place++)
            plan_gather_add(&w->reduce, (plan_gather){i, place, PLAN_NO_NODE},
                            count_place_params(w, &c, place));
    }
}

/* The seconds by which hidden messages of gradients slow down a pass. All stages slow
 * down in the same micro-batches, one stage after the other, so each gets its part. */
static double drag_pass(const writer *w, const chunk *c, bool gathers)
{
    const step *s = &w->s->step;
    const double share = count_params(&c->cost) / fmax(1, w->params);
    const double stages = fmin(w->plan->pp, s->micro_batches);
    const double all_s =
        share * (gathers ? w->reduce.all.gather_s : w->reduce.all.reduce_s);
    /* Passes of other micro-batches lie between two chunks. */
    const double passes = c->index > 0 ? stages : 1;
    const double beside_s = passes * (gathers ? c->cost.forward_s : c->cost.backward_s);
    return w->reduce.all.by_chunk ? step_drag(s) * fmin(all_s, beside_s) / stages : 0;
}

/* The messages of models that are not made of layers. */
static void send_whole(writer *w, const pass_work *p)
{
    const bool each = plan_reduces_each(w->plan);
    if (w->s->step.c.model->kind == HALLEY_TRANSFORMER)
        return;
    if (p->kind == PLAN_FORWARD && p->first)
        plan_reduce_whole(&w->reduce, true);
    if (p->makes && (each || p->last))
        plan_reduce_whole(&w->reduce, false);
}

/* The stack's time for the slowest rank of those that meet, spread over the passes. */
static void add_meeting_time(writer *w, double since_s)
{
    w->n.more_s += step_meeting_share(&w->s->step) * (w->n.alone_s - since_s);
    plan_flush(&w->n, "wait for the slowest");
}

static void add_up_gradients(writer *w, const chunk *c)
{
    const price_context *prices = &w->s->step.c;
    const double *k = prices->stack->k;
    const workload_schedule *s = &w->s->schedule;
    const double parts = workload_schedule_is_bidirectional(s->kind) ? 1 : s->chunks;
    plan_compute_chain(&w->n, "gradient accumulation",
                       k[HALLEY_K_ACCUMULATE] * c->cost.added * prices->stream_s +
                           k[HALLEY_K_MICRO] / parts,
                       0, 0);
}

/* The other end of a message: `places` places further along the path of a micro-batch. */
typedef struct other_end {
    uint32_t place, hop; /* hop: between stages `hop` and the next one */
    const char *peer;
    bool same; /* the same stage: nothing is sent */
} other_end;

static other_end find_other_end(const writer *w, const workload_pass *p, int places)
{
    const workload_schedule *s = &w->s->schedule;
    const workload_seat seat = {w->stage, p->chunk};
    const uint32_t place = (uint32_t)((int)workload_schedule_place(s, seat) + places);
    const uint32_t to = workload_schedule_seat(s, place, p->micro_batch).stage;
    const uint32_t from = w->stage, n = s->stages;
    const bool next = to == from + 1 || (to + 1 != from && to == (from + 1) % n);
    assert(to == from || to == (from + 1) % n || from == (to + 1) % n);
    return (other_end){.place = place,
                       .hop = next ? from : to,
                       .peer = next ? PLAN_PEER_NEXT : PLAN_PEER_PREV,
                       .same = to == from};
}

/* A tag encodes the micro-batch, the place that produced the tensor, and the
 * direction. */
static uint32_t make_tag(const writer *w, const workload_pass *p, uint32_t producer)
{
    const uint32_t places = workload_schedule_places(&w->s->schedule);
    return 2 * (p->micro_batch * places + producer) + (p->kind != WORKLOAD_PASS_FORWARD);
}

/* True if a pass receives its input from another place (if the last argument is true), or
 * sends its result to one (if it is false). */
static bool has_neighbour(const writer *w, const workload_pass *p, bool behind)
{
    const workload_schedule *s = &w->s->schedule;
    const uint32_t place =
        workload_schedule_place(s, (workload_seat){w->stage, p->chunk});
    const bool down = (p->kind == WORKLOAD_PASS_FORWARD) == behind;
    if (p->kind == WORKLOAD_PASS_WEIGHT)
        return false;
    return down ? place > 0 : place + 1 < workload_schedule_places(s);
}

static void receive_input(writer *w, const workload_pass *p)
{
    if (!has_neighbour(w, p, true))
        return;
    const bool forward = p->kind == WORKLOAD_PASS_FORWARD;
    const other_end from = find_other_end(w, p, forward ? -1 : 1);
    if (!from.same)
        plan_receive(&w->n, from.peer, make_tag(w, p, from.place), w->s->hop_bytes,
                     w->s->hop_late_s[from.hop]);
}

static void send_output(writer *w, const workload_pass *p)
{
    if (!has_neighbour(w, p, false))
        return;
    const bool forward = p->kind == WORKLOAD_PASS_FORWARD;
    const other_end to = find_other_end(w, p, forward ? 1 : -1);
    const workload_seat seat = {w->stage, p->chunk};
    if (!to.same)
        plan_send(&w->n, to.peer,
                  make_tag(w, p, workload_schedule_place(&w->s->schedule, seat)),
                  w->s->hop_bytes);
}

/* How long the sender of a pass's result is blocked. */
static double blocked_time(const writer *w, const workload_pass *p)
{
    if (!has_neighbour(w, p, false))
        return 0;
    const other_end to = find_other_end(w, p, p->kind == WORKLOAD_PASS_FORWARD ? 1 : -1);
    return to.same ? 0 : price_exposed(&w->s->step.c, WORKLOAD_PP) * w->s->hop_s[to.hop];
}

static void note_pass(writer *w, const workload_pass *p, uint64_t first)
{
    static const halley_pass_kind kinds[WORKLOAD_N_PASSES] = {
        HALLEY_PASS_FORWARD, HALLEY_PASS_BACKWARD, HALLEY_PASS_INPUT, HALLEY_PASS_WEIGHT};
    assert(p->kind < WORKLOAD_N_PASSES && first <= w->n.next_id);
    const halley_plan_pass pass = {.kind = kinds[p->kind],
                                   .chunk = p->chunk,
                                   .micro_batch = p->micro_batch,
                                   .first_node = (uint32_t)first,
                                   .n_nodes = (uint32_t)(w->n.next_id - first)};
    if (w->passes != NULL && !array_push(w->passes, pass))
        w->n.failed = true;
}

static void run_pass(writer *w, const workload_pass *p)
{
    const uint64_t first_id = w->n.next_id; /* ids are indexes: nodes come in order */
    const double since_s = w->n.alone_s;
    chunk c = make_chunk(w, p->chunk);
    if (w->n.is_labelled)
        c.n_before = count_layers_before(w, p->chunk);
    const pass_work work = make_work(w, p);
    send_whole(w, &work);
    if (is_backward(&work)) /* a part of every layer, in one node */
        add_up_gradients(w, &c);
    write_places(w, &c, &work);
    if (work.kind == PLAN_FORWARD ? work.first : work.makes && work.last)
        w->n.more_s += drag_pass(w, &c, work.kind == PLAN_FORWARD);
    plan_flush(&w->n, "slowed by gradients and weights");
    plan_windows_close(&w->n);
    if (plan_reduces_each(w->plan))
        plan_deferred_send(&w->reduce, false);
    add_meeting_time(w, since_s);
    note_pass(w, p, first_id);
}

/* Write one pass of the schedule, or two that run as one: both inputs first, then both
 * results. */
static uint32_t write_pass(writer *w, const workload_pass *p)
{
    const uint32_t n = p->joint ? 2 : 1;
    for (uint32_t i = 0; i < n; i++)
        receive_input(w, p + i);
    for (uint32_t i = 0; i < n; i++)
        run_pass(w, p + i);
    for (uint32_t i = 0; i < n; i++)
        send_output(w, p + i);
    for (uint32_t i = 0; i < n; i++)
        w->n.more_s += blocked_time(w, p + i);
    plan_flush(&w->n, "send"); /* while it waits for the input of the next pass */
    return n;
}

/* Wait for everything that runs next to the chain. */
static void await_rest(writer *w)
{
    for (size_t i = 0; i < w->n.late.n; i++)
        if (w->n.late.at[i] != w->n.last)
            plan_await(&w->n, w->n.late.at[i]);
    w->n.late.n = 0;
}

/* Write the update, after all reductions, with the rest of the step. Then gather the
 * weights that no pass hides. */
static void write_update(writer *w)
{
    const halley_estimate *e = &w->s->e;
    const step *s = &w->s->step;
    const double outer =
        e->outer_bytes[HALLEY_MEMORY_OPTIMIZER] + e->outer_bytes[HALLEY_MEMORY_GRADIENTS];
    const double since_s = w->n.alone_s;
    plan_deferred_send(&w->reduce, false);
    await_rest(w);
    if (outer > 0)
        plan_memory_chain(&w->n, false, "optimizer states in", outer);
    const double update_s = e->part_s[HALLEY_PART_OPTIMIZER] + step_owner_time(s) +
                            s->c.stack->k[HALLEY_K_STEP];
    w->n.more_s += step_meeting_share(s) * (w->n.alone_s - since_s + update_s);
    plan_compute_chain(&w->n, "update", update_s, 0,
                       e->memory_bytes[HALLEY_MEMORY_OPTIMIZER] * 2);
    if (outer > 0)
        plan_memory_chain(&w->n, true, "optimizer states out", outer);
    plan_deferred_send(&w->reduce, true);
}

/* Write all passes of the stage. Returns false if memory ran out. */
static bool write_passes(writer *w)
{
    const workload_schedule *s = &w->s->schedule;
    workload_pass *list = calloc(workload_schedule_room(s), sizeof *list);
    if (list == NULL)
        return false;
    const size_t n = workload_schedule_list(list, s, w->stage);
    for (size_t k = 0; k < n;)
        k += write_pass(w, &list[k]);
    free(list);
    return true;
}

/* Find what the stage reduces. */
static void set_reduction(writer *w)
{
    const step *s = &w->s->step;
    const workload_stage st = workload_stage_make(s->c.model, w->plan, w->stage);
    const stage_cost cost = step_stage_make(s, &st);
    const plan_params total = {
        {[PLAN_DENSE] = cost.trained,
         [PLAN_EXPERTS] = w->plan->has_experts ? cost.trained_experts : 0}};
    w->n_layers = st.n_dense + st.n_moe;
    w->params = count_params(&cost);
    plan_reduce_init(&w->reduce, &w->n, s, &cost, total);
}

/* State how the trace gives the prices of its collectives. */
static void add_prices(writer *w)
{
    static const char stack[] = "stack", plain[] = "plain";
    const halley_attr attr = {
        .name = {HALLEY_ATTR_NAME_PRICES, sizeof HALLEY_ATTR_NAME_PRICES - 1},
        .kind = HALLEY_ATTR_STRING,
        .bytes = {w->n.plain ? plain : stack, sizeof plain - 1}};
    (void)halley_builder_metadata(w->n.b, &attr);
}

halley_status plan_role_write(halley_trace **out, const plan_scene *scene, uint32_t stage,
                              plan_passes *passes, halley_error *err)
{
    writer w = {.n = {.c = &scene->step.c,
                      .last = PLAN_NO_NODE,
                      .plain = scene->plain,
                      .is_labelled = scene->is_labelled},
                .s = scene,
                .plan = &scene->plan,
                .stage = stage,
                .passes = passes};
    halley_trace *made = NULL;
    TRY(halley_builder_new(&w.n.b, err));
    (void)halley_builder_version(w.n.b, (halley_bytes){"1.0.0", 5});
    add_prices(&w);
    set_reduction(&w);
    write_gathers(&w);
    w.n.failed |= !write_passes(&w);
    write_update(&w);
    plan_reduce_fini(&w.reduce);
    plan_nodes_fini(&w.n);
    TRY(halley_builder_finish(&made, w.n.b, err));
    if (w.n.failed) {
        halley_trace_free(made);
        return error_nomem(err);
    }
    *out = made;
    return HALLEY_OK;
}
