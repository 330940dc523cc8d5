/*
 * sim/coll/stream.c - chunks of collectives in progress. A node's data are cut into
 * chunks. Each chunk is a stream that crosses the phases of its plan. Before each phase
 * it waits in a queue of the NPU.
 *
 * A stream is identified by its group and number. Members that join the same stream share
 * one sim_op, which the first of them creates. As in ASTRA-sim, world numbers count every
 * chunk that an NPU begins, including those of groups. Ranks that have begun different
 * numbers of chunks therefore do not meet. This is ASTRA-sim's bug A1; here it ends in a
 * deadlock report instead of in silence.
 */
#include "base/hash.h"
#include "sim/rules.h"

#include <stdio.h>
#include <string.h>

halley_status sim_streams_init(sim *s)
{
    sim_streams *t = &s->streams;
    const halley_cluster *c = s->cluster;
    const uint32_t dims = c->n_dims > 0 ? c->n_dims : 1, queues = s->system->queues;
    t->n_levels = dims;
    assert(queues > 0);
    const uint64_t threshold = (s->system->active_chunks - 1) / queues + 1;
    t->threshold = threshold > UINT32_MAX ? UINT32_MAX : (uint32_t)threshold;
    t->free_op = t->free_dataset = SIM_NONE;
    uint64_t n_queues = 0;
    t->first_queue = mem_array(s->n_ranks, sizeof *t->first_queue);
    for (uint32_t i = 0; t->first_queue != NULL && i < s->n_ranks; i++) {
        t->first_queue[i] = (uint32_t)n_queues;
        n_queues += (uint64_t)s->ranks[i].program->n_sets * dims * queues;
    }
    if (n_queues > UINT32_MAX)
        return error_set(s->err, HALLEY_ELIMIT, "more than 2^32 queues");
    t->queues = mem_array((size_t)n_queues, sizeof *t->queues);
    t->allocators = mem_array((size_t)s->n_ranks * dims, sizeof *t->allocators);
    t->trees = mem_array_zero((size_t)s->n_ranks * CLUSTER_N_COLLS, CLUSTER_MAX_DIMS);
    t->world_streams = mem_array_zero(s->n_ranks, sizeof *t->world_streams);
    t->group_streams = mem_array_zero(s->n_groups, sizeof *t->group_streams);
    if (t->first_queue == NULL || t->queues == NULL || t->allocators == NULL ||
        t->trees == NULL || t->world_streams == NULL || t->group_streams == NULL)
        return error_nomem(s->err);
    for (size_t i = 0; i < n_queues; i++)
        t->queues[i] = (sim_queue){.head_op = SIM_NONE, .tail_op = SIM_NONE};
    for (size_t i = 0; i < (size_t)s->n_ranks * dims; i++)
        t->allocators[i] = (sim_allocator){0, 0, queues / 2};
    for (uint32_t g = 0; g < s->n_groups; g++) {
        t->group_streams[g] =
            arena_array(&s->memory_of_run, s->groups[g].n, sizeof **t->group_streams);
        if (t->group_streams[g] == NULL)
            return error_nomem(s->err);
    }
    return s->rules->init_groups(s);
}

void sim_streams_fini(sim_streams *t)
{
    table_fini(&t->ops_by_name);
    table_fini(&t->plans_by_key);
    for (size_t i = 0; i < t->ops.n; i++)
        free(t->ops.at[i].members);
    array_fini(&t->ops);
    array_fini(&t->aparts);
    array_fini(&t->patience);
    map64_fini(&t->patience_by_plan);
    array_fini(&t->plans);
    for (size_t i = 0; i < t->datasets.n; i++)
        free(t->datasets.at[i].sizes);
    array_fini(&t->datasets);
    for (size_t i = 0; i < t->pools.n; i++) {
        for (void *block = t->pools.at[i].spare, *next; block != NULL; block = next) {
            memcpy(&next, block, sizeof next);
            free(block);
        }
    }
    array_fini(&t->pools);
    free(t->queues);
    free(t->first_queue);
    free(t->allocators);
    free(t->trees);
    free(t->world_streams);
    free(t->group_streams);
}

uint32_t sim_member_rank(const sim *s, const sim_op *o, uint32_t member)
{
    assert(member < o->plan->n_members && (!o->plan->grouped || o->group > 0));
    return o->plan->grouped ? s->groups[o->group - 1].ranks[member] : member;
}

uint32_t sim_op_tag(const sim *s, const sim_op *o)
{
    assert(o->plan != NULL && o->group <= s->n_groups);
    const uint64_t base =
        o->group == 0 ? 0 : (uint64_t)s->groups[o->group - 1].id * 1000000;
    return (uint32_t)((base + o->stream) % 500000000 + 500000000);
}

/* Zeroed blocks for the members of an op; NULL if memory ran out. */
static uint8_t *take_block(sim_streams *t, uint32_t pool)
{
    assert(pool < t->pools.n);
    sim_pool *p = &t->pools.at[pool];
    void *block = p->spare;
    if (block == NULL)
        block = malloc(p->bytes);
    else
        memcpy(&p->spare, block, sizeof p->spare);
    if (block != NULL)
        memset(block, 0, p->bytes);
    return block;
}

static void return_block(sim_streams *t, uint32_t pool, uint8_t *block)
{
    assert(pool < t->pools.n && t->pools.at[pool].bytes >= sizeof(void *));
    memcpy(block, &t->pools.at[pool].spare, sizeof(void *));
    t->pools.at[pool].spare = block;
}

uint32_t sim_pool_find(sim_streams *t, size_t bytes)
{
    for (uint32_t i = 0; i < t->pools.n; i++)
        if (t->pools.at[i].bytes == bytes)
            return i;
    if (!array_push(&t->pools, (sim_pool){bytes, NULL}))
        return SIM_NONE;
    return (uint32_t)t->pools.n - 1;
}

static uint64_t hash_stream_name(uint32_t group, uint32_t stream)
{
    return hash_u64((uint64_t)group << 32 | stream);
}

static uint32_t new_op(sim *s, const sim_plan *plan, const sim_job *j, uint32_t stream)
{
    sim_streams *t = &s->streams;
    uint32_t id = t->free_op;
    if (id == SIM_NONE && t->ops.n >= SIM_MAX_OPS) {
        sim_fail(s, error_set(s->err, HALLEY_ELIMIT,
                              "more than a million chunks of collectives at a time"));
        return SIM_NONE;
    }
    uint8_t *members = take_block(t, plan->pool);
    const uint64_t hash = hash_stream_name(j->group, stream);
    if (id != SIM_NONE)
        t->free_op = t->ops.at[id].next_free;
    else if (array_push(&t->ops, (sim_op){0}))
        id = (uint32_t)t->ops.n - 1;
    if (members == NULL || id == SIM_NONE || !table_add(&t->ops_by_name, hash, id)) {
        free(members);
        sim_fail_memory(s);
        return SIM_NONE;
    }
    t->ops.at[id] = (sim_op){.plan = plan->plan,
                             .members = members,
                             .hash = hash,
                             .group = j->group,
                             .stream = stream,
                             .stride = plan->stride,
                             .pool = plan->pool,
                             .custom = j->custom,
                             .bytes = plan->bytes,
                             .gathers = plan->coll == CLUSTER_ALL_GATHER};
    return id;
}

static uint32_t find_op(sim *s, const sim_plan *plan, const sim_job *j, uint32_t stream)
{
    const sim_streams *t = &s->streams;
    uint32_t slot = TABLE_NONE, id;
    while ((id = table_next(&t->ops_by_name, hash_stream_name(j->group, stream),
                            &slot)) != TABLE_NONE) {
        const sim_op *o = &t->ops.at[id];
        assert(id < t->ops.n && o->plan != NULL); /* names belong to ops in use */
        if (o->group != j->group || o->stream != stream)
            continue;
        if (o->plan == plan->plan)
            return id;
        char text[256];
        snprintf(
            text, sizeof text,
            "its %s with chunks of %llu bytes meets another rank's %s with chunks of "
            "%llu bytes: the ranks do not begin the same collectives in the same order",
            cluster_coll_names[plan->plan->coll], (unsigned long long)plan->plan->bytes,
            cluster_coll_names[o->plan->coll], (unsigned long long)o->plan->bytes);
        sim_job_fail(s, j, HALLEY_EDEADLOCK, text);
        return SIM_NONE;
    }
    return new_op(s, plan, j, stream);
}

static void free_op(sim_streams *t, uint32_t id)
{
    sim_op *o = &t->ops.at[id];
    assert(o->plan != NULL && o->members != NULL);
    table_remove(&t->ops_by_name, o->hash, id);
    return_block(t, o->pool, o->members);
    *o = (sim_op){.next_free = t->free_op};
    t->free_op = id;
}

static sim_queue *get_queue(sim *s, sim_member *m)
{
    assert(m->joined && m->npu < s->n_ranks);
    return &s->streams
                .queues[s->streams.first_queue[m->npu] + sim_member_queues(m)[m->phase]];
}

/* Bytes of a member's phase: the larger of its input and output. */
static uint64_t get_phase_bytes(const sim *s, uint32_t op, uint32_t member)
{
    const coll_phase *p =
        &s->streams.ops.at[op].plan->phases[sim_member_get(s, op, member)->phase];
    assert(sim_member_get(s, op, member)->phase < s->streams.ops.at[op].plan->n_phases);
    return p->data_bytes > p->out_bytes ? p->data_bytes : p->out_bytes;
}

/* Put a member into the queue after another (SIM_NONE: at the head). */
static void insert_after(sim *s, sim_queue *q, uint32_t op, uint32_t member,
                         uint32_t before_op, uint32_t before_member)
{
    sim_member *m = sim_member_get(s, op, member);
    assert(!m->running);
    if (before_op == SIM_NONE) {
        m->next_op = q->head_op;
        m->next_member = q->head_member;
        q->head_op = op;
        q->head_member = member;
    } else {
        sim_member *before = sim_member_get(s, before_op, before_member);
        m->next_op = before->next_op;
        m->next_member = before->next_member;
        before->next_op = op;
        before->next_member = member;
    }
    if (m->next_op == SIM_NONE) {
        q->tail_op = op;
        q->tail_member = member;
    }
}

/* First come, first served; under Themis smaller phases go first. */
void sim_queue_wait(sim *s, sim_queue *q, uint32_t op, uint32_t member)
{
    uint32_t before_op = SIM_NONE, before_member = SIM_NONE;
    sim_member_get(s, op, member)->running = false;
    if (q->head_op != SIM_NONE && !s->system->themis) {
        before_op = q->tail_op;
        before_member = q->tail_member;
    } else if (q->head_op != SIM_NONE) {
        const uint64_t bytes = get_phase_bytes(s, op, member);
        uint32_t at_op = q->head_op, at_member = q->head_member;
        while (at_op != SIM_NONE && get_phase_bytes(s, at_op, at_member) <= bytes) {
            const sim_member *at = sim_member_get(s, at_op, at_member);
            before_op = at_op;
            before_member = at_member;
            at_op = at->next_op;
            at_member = at->next_member;
        }
    }
    insert_after(s, q, op, member, before_op, before_member);
}

void sim_queue_start_first(sim *s, sim_queue *q)
{
    while (q->head_op != SIM_NONE && q->running < s->streams.threshold) {
        const uint32_t op = q->head_op, member = q->head_member;
        const sim_member *m = sim_member_get(s, op, member);
        q->head_op = m->next_op;
        assert(m->joined && !m->running);
        q->head_member = m->next_member;
        q->running++;
        sim_phase_start(s, op, member);
    }
}

void sim_queue_start(sim *s, uint32_t queue)
{
    sim_queue *q = &s->streams.queues[queue];
    assert(q->starting);
    q->starting = false;
    sim_queue_start_first(s, q);
}

/*
 * Members may queue their chunks in different orders, because events of one instant reach
 * them in different orders or some are late. If each kept to its own order, they would
 * wait for each other for ever. So a message for a waiting phase starts it, even if the
 * queue already runs its maximum number of chunks.
 */
void sim_phase_called(sim *s, uint32_t op, uint32_t member)
{
    sim_queue *q = get_queue(s, sim_member_get(s, op, member));
    uint32_t before_op = SIM_NONE, before_member = SIM_NONE;
    uint32_t at_op = q->head_op, at_member = q->head_member;
    while (at_op != op || at_member != member) {
        if (at_op == SIM_NONE)
            return;
        const sim_member *at = sim_member_get(s, at_op, at_member);
        before_op = at_op;
        before_member = at_member;
        at_op = at->next_op;
        at_member = at->next_member;
    }
    const sim_member *m = sim_member_get(s, op, member);
    if (before_op == SIM_NONE) {
        q->head_op = m->next_op;
        q->head_member = m->next_member;
    } else {
        sim_member *before = sim_member_get(s, before_op, before_member);
        before->next_op = m->next_op;
        before->next_member = m->next_member;
    }
    if (m->next_op == SIM_NONE) {
        q->tail_op = before_op;
        q->tail_member = before_member;
    }
    q->running++;
    sim_phase_start(s, op, member);
}

bool sim_stream_join(sim *s, sim_job *j, const sim_plan *plan, uint32_t stream,
                     uint32_t dataset)
{
    const uint32_t op = find_op(s, plan, j, stream);
    if (op == SIM_NONE)
        return false;
    sim_member *m = sim_member_get(s, op, j->member);
    assert(j->member < plan->plan->n_members && !m->joined);
    assert(sim_member_rank(s, &s->streams.ops.at[op], j->member) == j->rank);
    m->npu = j->rank;
    m->dataset = dataset;
    m->joined = true;
    m->directions = j->directions;
    for (uint32_t i = 0; i < plan->plan->n_phases; i++)
        sim_member_queues(m)[i] = j->queues[i];
    assert(m->phase == 0 && dataset < s->streams.datasets.n);
    sim_queue *q = get_queue(s, m);
    s->rules->enter_queue(s, q, op, j->member);
    s->rules->start_waiting(s, q);
    return s->status == HALLEY_OK;
}

static void end_chunk(sim *s, uint32_t dataset)
{
    sim_dataset *d = &s->streams.datasets.at[dataset];
    assert(dataset < s->streams.datasets.n && d->left > 0);
    if (--d->left > 0)
        return;
    const uint32_t rank = d->rank, node = d->node;
    free(d->sizes);
    d->sizes = NULL;
    d->next_free = s->streams.free_dataset;
    s->streams.free_dataset = dataset;
    sim_node_ended(s, rank, node);
}

/*
 * The order is ASTRA-sim's. The collective is notified first, and may begin the next one
 * at once. Then the old queue starts what waits in it, then the new one.
 */
void sim_phase_ended(sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    sim_queue *old = get_queue(s, m);
    assert(m->joined && m->running && old->running > 0);
    const bool last = m->phase + 1u == s->streams.ops.at[op].plan->n_phases;
    if (last) {
        end_chunk(s, m->dataset);
        sim_op *o = &s->streams.ops.at[op];
        if (++o->n_done == o->plan->n_members || s->fold != NULL)
            free_op(&s->streams, op);
        old->running--;
        s->rules->start_waiting(s, old);
        return;
    }
    m->phase++;
    assert(m->phase < s->streams.ops.at[op].plan->n_phases);
    sim_queue *next = get_queue(s, m);
    s->rules->enter_queue(s, next, op, member);
    old->running--;
    s->rules->start_waiting(s, old);
    s->rules->start_waiting(s, next);
}
