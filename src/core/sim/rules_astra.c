/*
 * sim/rules_astra.c - ASTRA-sim's rules. The clock counts whole nanoseconds. Each NPU has
 * one CPU slot, one compute slot and one communication slot, and ready nodes start in
 * ascending order of id. Queues and trees are used in turn. Groups have one logical
 * dimension. Inputs on which ASTRA-sim aborts or hangs are refused with an error message.
 */
#include "sim/rules.h"

static bool is_small_group(const halley_cluster *c, uint32_t group)
{
    return c->groups[group].n < c->n_npus;
}

static halley_status check_astra_run(sim *s, uint32_t n_traces, const net_model *model)
{
    const halley_cluster *c = s->cluster;
    if (n_traces < c->n_npus)
        return error_set(s->err, HALLEY_EINVAL,
                         "there are traces of %u ranks, but the network has %u NPUs",
                         n_traces, c->n_npus);
    if (n_traces > c->n_npus)
        s->warnings |= 1u << SIM_WARN_TRACES;
    if (!(model->can & NET_CAN_FIX_DELAY) && c->n_dims == 1 && c->n_npus == 2 &&
        c->dims[0].topology == CLUSTER_RING)
        return error_set(
            s->err, HALLEY_EINVAL,
            "a congestion-aware Ring needs at least 3 NPUs; ASTRA-sim aborts on "
            "2; use FullyConnected");
    return HALLEY_OK;
}

/* Groups need no set-up. */
static halley_status init_astra_groups(sim *s)
{
    (void)s;
    return HALLEY_OK;
}

/* A set of ready nodes for every slot. */
static halley_status init_slots(sim *s, sim_rank *r)
{
    const size_t words = freeset_words(r->program->n);
    uint64_t *bits = arena_array(&s->memory_of_run, words * SIM_N_SLOTS, sizeof *bits);
    if (bits == NULL)
        return error_nomem(s->err);
    for (uint32_t i = 0; i < SIM_N_SLOTS; i++)
        freeset_init(&r->ready[i], bits + words * i, r->program->n);
    return HALLEY_OK;
}

/* With several queues and small groups, the queues of an NPU depend on all chunks it has
 * begun, and so do the directions of its rings. Members of a collective may then differ.
 */
static bool has_own_astra_directions(const sim *s)
{
    const halley_cluster *c = s->cluster;
    for (uint32_t i = 0; s->system->queues > 1 && i < c->n_groups; i++)
        if (is_small_group(c, i))
            return true;
    return false;
}

static halley_status check_astra_start(sim *s, uint32_t rank)
{
    if (!des_queue_has_now(&s->queue))
        return HALLEY_OK;
    return error_set(
        s->err, HALLEY_EINVAL,
        "rank %u schedules an event without delay at time 0, on which ASTRA-sim aborts: "
        "an endpoint-delay, a compute time or a latency is 0",
        rank);
}

static void make_ready_in_slot(sim_rank *r, uint32_t node)
{
    const uint32_t slot = r->program->nodes[node].slot;
    assert(slot < SIM_N_SLOTS);
    r->n_ready++;
    freeset_add(&r->ready[slot], node);
}

/* Nodes that become ready during a pass over the ready nodes wait for the next end. */
static void free_slot_child(sim *s, sim_rank *r, uint32_t node)
{
    if (!s->issuing)
        make_ready_in_slot(r, node);
    else if (!array_push(&s->freed, node))
        sim_fail_memory(s);
}

/* Take the ready node with the smallest id among the idle slots. */
static uint32_t take_from_slots(sim_rank *r)
{
    uint32_t best = UINT32_MAX;
    for (int slot = 0; slot < SIM_N_SLOTS; slot++) {
        const uint32_t first =
            r->busy[slot] ? UINT32_MAX : freeset_first(&r->ready[slot]);
        best = first < best ? first : best;
    }
    if (best != UINT32_MAX)
        freeset_remove(&r->ready[r->program->nodes[best].slot], best);
    return best;
}

static void occupy_slot(sim_rank *r, uint32_t slot)
{
    assert(slot < SIM_N_SLOTS && !r->busy[slot]);
    r->busy[slot] = slot != SIM_SLOT_FREE;
}

static void vacate_slot(sim_rank *r, uint32_t slot)
{
    assert(slot < SIM_N_SLOTS);
    r->busy[slot] = false;
}

static bool is_always_one_dimension(const sim *s, uint32_t group)
{
    (void)s, (void)group;
    return true;
}

static void keep_impls(sim_job *j)
{
    (void)j;
}

static bool check_astra_phases(sim *s, const sim_job *j)
{
    if (j->n_phases > 0)
        return true;
    sim_job_fail(
        s, j, HALLEY_EDEADLOCK,
        "its collective has no dimension with more than one member, so it cannot "
        "end");
    return false;
}

static bool cut_astra_chunks(sim *s, const sim_job *j, uint64_t *bytes, uint64_t *chunk)
{
    const uint64_t splits = s->system->splits;
    *chunk = *bytes / splits;
    if (j->request.coll != CLUSTER_ALL_GATHER && *chunk < s->n_npus) {
        *chunk = s->n_npus;
        *bytes = splits * *chunk;
    }
    if (*chunk > 0)
        return true;
    sim_job_fail(
        s, j, HALLEY_EINVAL,
        "an all-gather of fewer bytes than preferred-dataset-splits has empty chunks");
    return false;
}

/* World stream numbers count every chunk that an NPU begins, including those of groups.
 */
static uint32_t number_astra_stream(sim *s, const sim_job *j)
{
    const uint32_t stream = s->streams.world_streams[j->rank]++;
    return j->group == 0 ? stream : sim_group_stream_next(s, j);
}

/* Go round robin over the queues of a dimension; *down is set for the second half. */
static uint32_t take_next_queue(sim *s, uint32_t npu, const coll_outline *o, bool *down)
{
    const uint32_t n = s->system->queues;
    sim_allocator *a = &s->streams.allocators[npu * s->cluster->n_dims + o->level];
    uint32_t queue;
    *down = o->half == COLL_QUEUE_LAST;
    if (o->half == COLL_QUEUE_FIRST) {
        queue = a->first++;
        if (a->first >= n / 2)
            a->first = 0;
    } else if (o->half == COLL_QUEUE_LAST) {
        queue = a->last++;
        if (a->last >= n)
            a->last = n / 2;
    } else {
        queue = a->any++;
        *down = n > 1 && queue >= n / 2;
        if (a->any >= n)
            a->any = 0;
    }
    return o->level * n + queue;
}

/* Use the two trees in turn, per NPU, collective and dimension. */
static bool take_next_tree(sim *s, const sim_job *j, const coll_outline *o)
{
    uint8_t *tree =
        &s->streams.trees[((size_t)j->rank * CLUSTER_N_COLLS + j->request.coll) *
                              CLUSTER_MAX_DIMS +
                          o->level];
    *tree ^= 1;
    return *tree == 0;
}

static void choose_astra_queues(sim *s, sim_job *j, uint32_t stream)
{
    coll_request *r = &j->request;
    (void)stream;
    for (uint32_t i = 0; i < j->n_phases; i++) {
        const coll_outline *o = &j->outlines[i];
        bool down;
        j->queues[i] = take_next_queue(s, j->rank, o, &down);
        r->directions |= (uint32_t)down << i;
        if (coll_algo_get(o->algo)->has_two_trees)
            r->trees |= (uint32_t)take_next_tree(s, j, o) << i;
    }
    j->directions = r->directions;
    if (has_own_astra_directions(s)) /* members that differ must find the same plan */
        r->directions = 0;
}

static void start_waiting_now(sim *s, sim_queue *q)
{
    sim_queue_start_first(s, q);
}

/* A message that arrives before its receiver has begun waits for the receiver. */
static void leave_waiting(sim *s, uint32_t op, uint32_t member)
{
    (void)s, (void)op, (void)member;
}

/* Ranks that finish at one instant keep the order of their events. */
static void keep_finishers(sim *s)
{
    (void)s;
}

static void explain_astra_absence(strbuf *to, const sim *s, uint32_t rank, uint32_t other)
{
    if (s->cluster->n_groups > 0 &&
        s->streams.world_streams[rank] != s->streams.world_streams[other])
        strbuf_add(to, STR("; the two have begun different numbers of collectives, "
                           "and ASTRA-sim counts those of groups and of the world "
                           "together"));
}

const sim_rules sim_rules_astra = {
    .name = "ASTRA-sim",
    .wraps = true,
    .ticks_per_ns = 1,
    .networks = {"unaware", "aware"},
    .traces =
        {
            .cpu_may_communicate = true,
            .default_ticks = 1,
            .n_default_involved = 4,
            .colls = {[HALLEY_COLL_ALL_REDUCE] = SIM_COLL_SIMULATED,
                      [HALLEY_COLL_ALL_GATHER] = SIM_COLL_SIMULATED,
                      [HALLEY_COLL_REDUCE_SCATTER] = SIM_COLL_SIMULATED,
                      [HALLEY_COLL_ALL_TO_ALL] = SIM_COLL_SIMULATED,
                      [HALLEY_COLL_BROADCAST] = SIM_COLL_TIMED},
            .refuses_involved =
                "in more than 4 dimensions a collective needs involved_dim; "
                "ASTRA-sim reads past its default of 4",
            .refuses_no_ops = "num_ops is 0, for which the roofline gives no time",
            .refuses_no_rates = "roofline-enabled needs peak-perf and local-mem-bw",
            .refuses_metadata = "ASTRA-sim cannot run METADATA nodes; remove them",
            .refuses_dangling = "the node depends on a node that is not in the trace",
        },
    .refuses_empty = true,
    .max_held_bytes = INT32_MAX,
    .check_run = check_astra_run,
    .init_groups = init_astra_groups,
    .init_rank = init_slots,
    .has_own_directions = has_own_astra_directions,
    .check_start = check_astra_start,
    .make_ready = make_ready_in_slot,
    .free_child = free_slot_child,
    .take_ready = take_from_slots,
    .look_again = sim_rank_go_on,
    .occupy = occupy_slot,
    .vacate = vacate_slot,
    .is_one_dimension = is_always_one_dimension,
    .replace_impls = keep_impls,
    .check_phases = check_astra_phases,
    .cut_chunks = cut_astra_chunks,
    .number_stream = number_astra_stream,
    .choose_queues = choose_astra_queues,
    .enter_queue = sim_queue_wait,
    .start_waiting = start_waiting_now,
    .wake_phase = leave_waiting,
    .sort_finishers = keep_finishers,
    .explain_absence = explain_astra_absence,
};
