/*
 * sim/rules_native.c - the native rules. The clock counts picoseconds. Every group, peer,
 * stream and host thread of a rank has a lane, which serves nodes first come, first
 * served. A group that is a box of the network uses the dimensions of that box. All
 * members of a chunk make the same choices, and decide after all events of an instant are
 * done.
 */
#include "sim/rules.h"

static halley_status check_native_run(sim *s, uint32_t n_traces, const net_model *model)
{
    if (s->cluster->has_events && !(model->can & NET_CAN_CHANGE))
        return error_set(s->err, HALLEY_EINVAL,
                         "network.events: the network model %s knows no links that "
                         "change in a run; use --network-model flow",
                         model->name);
    if (n_traces == s->n_npus)
        return HALLEY_OK;
    return error_set(s->err, HALLEY_EINVAL,
                     "there are traces of %u ranks, but the network has %u NPUs",
                     n_traces, s->n_npus);
}

/* Coordinate of a rank in dimension d. */
static uint32_t get_rank_coordinate(const halley_cluster *c, uint32_t rank, uint32_t d)
{
    for (uint32_t i = 0; i < d; i++)
        rank /= c->dims[i].n;
    return rank % c->dims[d].n;
}

/*
 * True if the group is a box of the network, listed with the innermost dimension fastest.
 * Then its collectives may use the dimensions; *extent has its size in each.
 */
static bool find_box(uint32_t *extent, const halley_cluster *c, const cluster_group *g)
{
    uint32_t n = 1;
    for (uint32_t d = 0; d < c->n_dims; d++) {
        uint32_t length = 1; /* first ranks that differ in coordinate d only */
        while (n * length < g->n &&
               get_rank_coordinate(c, g->ranks[(size_t)n * length], d) !=
                   get_rank_coordinate(c, g->ranks[0], d))
            length++;
        extent[d] = length;
        n *= length;
    }
    if (n != g->n)
        return false;
    for (uint32_t m = 0; m < g->n; m++) {
        for (uint32_t d = 0, stride = 1; d < c->n_dims; stride *= extent[d++]) {
            const uint32_t axis = g->ranks[(size_t)(m / stride % extent[d]) * stride];
            if (get_rank_coordinate(c, g->ranks[m], d) != get_rank_coordinate(c, axis, d))
                return false;
        }
    }
    return true;
}

/* Find the groups that are boxes of the network. */
static halley_status init_boxes(sim *s)
{
    const halley_cluster *c = s->cluster;
    s->streams.boxes =
        arena_array(&s->memory_of_run, c->n_groups, sizeof *s->streams.boxes);
    if (s->streams.boxes == NULL)
        return error_nomem(s->err);
    for (uint32_t g = 0; g < c->n_groups; g++)
        if (!find_box(s->streams.boxes[g], c, &c->groups[g]))
            s->streams.boxes[g][0] = 0;
    return HALLEY_OK;
}

static halley_status init_lanes(sim *s, sim_rank *r)
{
    const sim_program *p = r->program;
    const size_t n = p->n_lanes;
    uint64_t *bits =
        arena_array(&s->memory_of_run, freeset_words(p->n_lanes), sizeof *bits);
    uint32_t *room = arena_array(&s->memory_of_run, n * 3 + p->n, sizeof *room);
    assert(p->lanes != NULL && n >= SIM_N_SLOTS);
    if (bits == NULL || room == NULL)
        return error_nomem(s->err);
    r->lanes = (sim_lanes){
        .next = room + 3 * n, .heads = room, .tails = room + n, .n_busy = room + 2 * n};
    freeset_init(&r->lanes.open, bits, p->n_lanes);
    r->lanes.fresh = SIM_NONE;
    for (size_t i = 0; i < n; i++)
        r->lanes.heads[i] = SIM_NONE;
    return HALLEY_OK;
}

static bool has_shared_directions(const sim *s)
{
    (void)s;
    return false;
}

static halley_status accept_start(sim *s, uint32_t rank)
{
    (void)s, (void)rank;
    return HALLEY_OK;
}

/* A lane is open if it has room and a ready node. */
static void update_lane(sim_rank *r, uint32_t lane)
{
    const bool open = r->lanes.heads[lane] != SIM_NONE &&
                      r->lanes.n_busy[lane] < r->program->lanes[lane].capacity;
    if (open)
        freeset_add(&r->lanes.open, lane);
    else
        freeset_remove(&r->lanes.open, lane);
}

static void make_ready_in_lane(sim_rank *r, uint32_t node)
{
    const uint32_t lane = r->program->nodes[node].slot;
    assert(lane < r->program->n_lanes);
    r->n_ready++;
    r->lanes.next[node] = SIM_NONE;
    if (r->lanes.heads[lane] == SIM_NONE)
        r->lanes.heads[lane] = node;
    else
        r->lanes.next[r->lanes.tails[lane]] = node;
    r->lanes.tails[lane] = node;
    update_lane(r, lane);
}

/*
 * Nodes that become ready at one instant are ordered as in the program, whatever the
 * order of the instant's events. They wait in a sorted list until all events of the
 * instant have been dispatched. Most arrive in order and are appended.
 */
static void free_lane_child(sim *s, sim_rank *r, uint32_t node)
{
    sim_lanes *l = &r->lanes;
    if (s->issuing) { /* child of a node that takes no time */
        make_ready_in_lane(r, node);
        return;
    }
    uint32_t before = SIM_NONE, after = l->fresh;
    if (after != SIM_NONE && l->last_fresh < node) {
        before = l->last_fresh;
        after = SIM_NONE;
    }
    while (after != SIM_NONE && after < node) {
        before = after;
        after = l->next[after];
    }
    assert(after != node);
    l->next[node] = after;
    if (before == SIM_NONE)
        l->fresh = node;
    else
        l->next[before] = node;
    if (after == SIM_NONE)
        l->last_fresh = node;
}

/* The rank continues when all that ends at this instant has ended. */
static void look_again_later(sim *s, uint32_t rank)
{
    sim_rank *r = &s->ranks[rank];
    if (r->is_awake)
        return;
    r->is_awake = true;
    if (!array_push(&s->awake, rank))
        sim_fail_memory(s);
}

static void go_on_in_lanes(sim *s, uint32_t rank)
{
    sim_rank *r = &s->ranks[rank];
    for (uint32_t node = r->lanes.fresh, next; node != SIM_NONE; node = next) {
        next = r->lanes.next[node];
        make_ready_in_lane(r, node);
    }
    r->lanes.fresh = SIM_NONE;
    r->is_awake = false;
    sim_rank_go_on(s, rank);
}

/* The events of the instant are done. Ranks continue, which may schedule further events;
 * then shared memories accept requests; then the network starts the new flows. */
static bool flush_native_instant(void *context)
{
    sim *s = context;
    if (s->awake.n == 0 && s->asked.n > 0) {
        sim_memory_serve(s);
        return true;
    }
    if (s->awake.n == 0)
        return s->flush_network != NULL && s->flush_network(s->net);
    if (s->shuffle.on)
        sim_shuffle_list(s, s->awake.at, s->awake.n);
    for (size_t i = 0; i < s->awake.n && s->status == HALLEY_OK; i++)
        go_on_in_lanes(s, s->awake.at[i]);
    s->awake.n = 0;
    return true;
}

/* Take the first node of an open lane. */
static uint32_t take_from_lane(sim_rank *r)
{
    const uint32_t lane = freeset_first(&r->lanes.open);
    if (lane == UINT32_MAX)
        return UINT32_MAX;
    const uint32_t node = r->lanes.heads[lane];
    assert(node < r->program->n);
    r->lanes.heads[lane] = r->lanes.next[node];
    update_lane(r, lane);
    return node;
}

static void occupy_lane(sim_rank *r, uint32_t lane)
{
    assert(r->lanes.n_busy[lane] < r->program->lanes[lane].capacity);
    r->lanes.n_busy[lane]++;
    update_lane(r, lane);
}

static void vacate_lane(sim_rank *r, uint32_t lane)
{
    assert(r->lanes.n_busy[lane] > 0);
    r->lanes.n_busy[lane]--;
    update_lane(r, lane);
}

static bool is_no_box(const sim *s, uint32_t group)
{
    return s->streams.boxes[group - 1][0] == 0;
}

/* A ring replaces an algorithm that cannot do the collective. */
static void replace_impossible(sim_job *j)
{
    if (j->request.rooted != COLL_ROOTED_NONE)
        return;
    for (uint32_t d = 0; d < j->request.n_impls; d++)
        if (!coll_algo_can(j->impls[d].algo, j->request.coll))
            j->impls[d].algo = CLUSTER_ALGO_RING;
}

/* A collective of one member has no phases and nothing to do. */
static bool accept_phases(sim *s, const sim_job *j)
{
    (void)s, (void)j;
    return true;
}

/* Chunks have at least one byte, and together no more than the collective's bytes. */
static bool cut_native_chunks(sim *s, const sim_job *j, uint64_t *bytes, uint64_t *chunk)
{
    const uint64_t splits = s->system->splits;
    (void)j;
    *chunk = *bytes / splits + (*bytes % splits != 0);
    *chunk = *chunk == 0 ? 1 : *chunk;
    *bytes = *bytes == 0 ? 1 : *bytes;
    return true;
}

static uint32_t number_native_stream(sim *s, const sim_job *j)
{
    return j->group == 0 ? s->streams.world_streams[j->rank]++
                         : sim_group_stream_next(s, j);
}

/* The stream's number selects the queue, so that all members select the same one. */
static uint32_t choose_queue(const sim *s, const sim_job *j, const coll_outline *o,
                             uint32_t stream, bool *down)
{
    const uint32_t n = s->system->queues, half = n / 2;
    uint32_t queue = stream % n;
    *down = n > 1 && queue >= half;
    if (o->half == COLL_QUEUE_FIRST) {
        queue = half == 0 ? 0 : stream % half;
        *down = false;
    } else if (o->half == COLL_QUEUE_LAST) {
        queue = half + stream % (n - half);
        *down = true;
    }
    return (j->set * s->streams.n_levels + o->level) * n + queue;
}

static void choose_native_queues(sim *s, sim_job *j, uint32_t stream)
{
    coll_request *r = &j->request;
    for (uint32_t i = 0; i < j->n_phases; i++) {
        const coll_outline *o = &j->outlines[i];
        bool down;
        j->queues[i] = choose_queue(s, j, o, stream, &down);
        r->directions |= (uint32_t)down << i;
        if (coll_algo_get(o->algo)->has_two_trees)
            r->trees |= (uint32_t)(stream % 2 != 0) << i;
    }
    j->directions = r->directions;
}

/* Enter the queue, and leave it at once if other members have already begun. */
static void enter_native_queue(sim *s, sim_queue *q, uint32_t op, uint32_t member)
{
    const coll_plan *plan = s->streams.ops.at[op].plan;
    sim_queue_wait(s, q, op, member);
    const coll_phase *p = &plan->phases[sim_member_get(s, op, member)->phase];
    if (s->phases[p->algo].is_called(s, op, member))
        sim_phase_called(s, op, member);
}

/* Which chunks may start is decided when all events of this instant are done. Members
 * that see these events in different orders then decide the same. */
static void start_waiting_later(sim *s, sim_queue *q)
{
    if (q->starting || q->head_op == SIM_NONE || q->running >= s->streams.threshold)
        return;
    q->starting = true;
    des_queue_push(&s->queue, s->queue.now,
                   sim_event_start((uint32_t)(q - s->streams.queues)));
}

static int compare_finishers(const void *a, const void *b, void *ranks)
{
    const sim_rank *r = ranks;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (r[x].finish != r[y].finish)
        return r[x].finish < r[y].finish ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Sort by finishing time, then by rank. */
static void sort_native_finishers(sim *s)
{
    if (s->n_finished > 1)
        qsort_r(s->finishers, s->n_finished, sizeof *s->finishers, compare_finishers,
                s->ranks);
}

static void explain_nothing(strbuf *to, const sim *s, uint32_t rank, uint32_t other)
{
    (void)to, (void)s, (void)rank, (void)other;
}

const sim_rules sim_rules_native = {
    .name = "native",
    .ticks_per_ns = 1000,
    .networks = {"free", "queue", "flow"},
    .traces =
        {
            .has_lanes = true,
            .refuses_no_rates =
                "the roofline needs the NPU's peak and its memory's bandwidth",
            .has_duration_ns = true,
            .models_compute = true,
            .keeps_uncounted = true,
            .has_uneven = true,
            .has_prices = true,
            .n_default_involved = UINT32_MAX,
            .colls = {[HALLEY_COLL_ALL_REDUCE] = SIM_COLL_SIMULATED,
                      [HALLEY_COLL_REDUCE] = SIM_COLL_SIMULATED,
                      [HALLEY_COLL_ALL_GATHER] = SIM_COLL_SIMULATED,
                      [HALLEY_COLL_GATHER] = SIM_COLL_SIMULATED,
                      [HALLEY_COLL_SCATTER] = SIM_COLL_SIMULATED,
                      [HALLEY_COLL_BROADCAST] = SIM_COLL_SIMULATED,
                      [HALLEY_COLL_ALL_TO_ALL] = SIM_COLL_SIMULATED,
                      [HALLEY_COLL_REDUCE_SCATTER] = SIM_COLL_SIMULATED,
                      [HALLEY_COLL_REDUCE_SCATTER_BLOCK] = SIM_COLL_SIMULATED,
                      [HALLEY_COLL_BARRIER] = SIM_COLL_SIMULATED},
        },
    .can_fold = true,
    .has_roots = true,
    .max_held_bytes = UINT64_MAX,
    .check_run = check_native_run,
    .init_groups = init_boxes,
    .init_rank = init_lanes,
    .has_own_directions = has_shared_directions,
    .check_start = accept_start,
    .make_ready = make_ready_in_lane,
    .free_child = free_lane_child,
    .take_ready = take_from_lane,
    .look_again = look_again_later,
    .flush = flush_native_instant,
    .occupy = occupy_lane,
    .vacate = vacate_lane,
    .is_one_dimension = is_no_box,
    .replace_impls = replace_impossible,
    .check_phases = accept_phases,
    .cut_chunks = cut_native_chunks,
    .number_stream = number_native_stream,
    .choose_queues = choose_native_queues,
    .enter_queue = enter_native_queue,
    .start_waiting = start_waiting_later,
    .wake_phase = sim_phase_called,
    .sort_finishers = sort_native_finishers,
    .explain_absence = explain_nothing,
};
