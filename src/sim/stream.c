/*
 * sim/stream.c - collectives: a node's data are cut into chunks; each chunk is a stream
 * that crosses the phases of its plan, waiting in a queue of the NPU before each.
 *
 * A stream is known by its group and number; the members that come to the same name share
 * one sim_op, whichever comes first. World numbers count every chunk an NPU begins, also
 * those of groups, as in ASTRA-sim, so ranks that have begun different numbers of chunks
 * do not meet (its bug A1, which ends here in a deadlock report instead of in silence).
 */
#include "base/hash.h"
#include "sim/engine.h"

#include <stdio.h>
#include <string.h>

halley_status sim_streams_init(sim *s)
{
    sim_streams *t = &s->streams;
    const halley_cluster *c = s->cluster;
    const uint32_t dims = c->n_dims, queues = s->system->queues;
    const uint64_t threshold = (s->system->active_chunks - 1) / queues + 1;
    t->threshold = threshold > UINT32_MAX ? UINT32_MAX : (uint32_t)threshold;
    t->free_op = t->free_dataset = SIM_NONE;
    t->queues = mem_array((size_t)s->n_npus * dims * queues, sizeof *t->queues);
    t->allocators = mem_array((size_t)s->n_npus * dims, sizeof *t->allocators);
    t->trees = mem_array_zero((size_t)s->n_npus * CLUSTER_N_COLLS, CLUSTER_MAX_DIMS);
    t->world_streams = mem_array_zero(s->n_npus, sizeof *t->world_streams);
    t->group_streams = mem_array_zero(c->n_groups, sizeof *t->group_streams);
    if (t->queues == NULL || t->allocators == NULL || t->trees == NULL ||
        t->world_streams == NULL || t->group_streams == NULL)
        return error_nomem(s->err);
    for (size_t i = 0; i < (size_t)s->n_npus * dims * queues; i++)
        t->queues[i] = (sim_queue){0, SIM_NONE, SIM_NONE, SIM_NONE, SIM_NONE};
    for (size_t i = 0; i < (size_t)s->n_npus * dims; i++)
        t->allocators[i] = (sim_allocator){0, 0, queues / 2};
    for (uint32_t g = 0; g < c->n_groups; g++) {
        const cluster_group *group = &c->groups[g];
        t->group_streams[g] =
            arena_array(&s->memory_of_run, group->n, sizeof **t->group_streams);
        if (t->group_streams[g] == NULL)
            return error_nomem(s->err);
        for (uint32_t i = 0; i < group->n; i++)
            if (!map64_set(&t->places, (uint64_t)g << 32 | group->ranks[i], i))
                return error_nomem(s->err);
    }
    return HALLEY_OK;
}

void sim_streams_fini(sim_streams *t)
{
    table_fini(&t->ops_by_name);
    table_fini(&t->plans_by_key);
    for (size_t i = 0; i < t->ops.n; i++)
        free(t->ops.at[i].members);
    array_fini(&t->ops);
    array_fini(&t->plans);
    array_fini(&t->datasets);
    for (size_t i = 0; i < t->pools.n; i++) {
        for (void *block = t->pools.at[i].spare, *next; block != NULL; block = next) {
            memcpy(&next, block, sizeof next);
            free(block);
        }
    }
    array_fini(&t->pools);
    free(t->queues);
    free(t->allocators);
    free(t->trees);
    free(t->world_streams);
    free(t->group_streams);
    map64_fini(&t->places);
}

uint32_t sim_member_rank(const sim *s, const sim_op *o, uint32_t member)
{
    return o->plan->local ? s->cluster->groups[o->group - 1].ranks[member] : member;
}

uint32_t sim_op_tag(const sim *s, const sim_op *o)
{
    const uint64_t base =
        o->group == 0 ? 0 : (uint64_t)s->cluster->groups[o->group - 1].id * 1000000;
    return (uint32_t)((base + o->stream) % 500000000 + 500000000);
}

/* Blocks for the members of an op, all zero; NULL when memory ran out. */
static uint8_t *take_blocks(sim_streams *t, uint32_t pool)
{
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

static void give_blocks(sim_streams *t, uint32_t pool, uint8_t *block)
{
    memcpy(block, &t->pools.at[pool].spare, sizeof(void *));
    t->pools.at[pool].spare = block;
}

static uint32_t find_pool(sim_streams *t, size_t bytes)
{
    for (uint32_t i = 0; i < t->pools.n; i++)
        if (t->pools.at[i].bytes == bytes)
            return i;
    if (!array_push(&t->pools, (sim_pool){bytes, NULL}))
        return SIM_NONE;
    return (uint32_t)t->pools.n - 1;
}

/* A collective node as its rank sees it. */
typedef struct job {
    uint32_t rank, node, group, member;
    bool local; /* a group smaller than the world */
    const char *custom;
    coll_request request;
    coll_outline outlines[COLL_MAX_PHASES];
    uint32_t n_phases;
    uint32_t queues[COLL_MAX_PHASES];
} job;

static void fail_job(sim *s, const job *j, halley_status status, const char *text)
{
    if (s->status != HALLEY_OK)
        return;
    sim_fail(s, error_set(s->err, status, "rank %u: %s", j->rank, text));
    error_at_file(s->err, halley_trace_path(s->ranks[j->rank].program->trace));
    error_at_node(s->err, sim_program_id(s->ranks[j->rank].program, j->node));
}

/* A custom collective's plan has one phase and no messages of its own. */
static halley_status custom_plan(coll_plan **out, const job *j, arena *memory,
                                 halley_error *err)
{
    coll_plan *plan = arena_array(memory, 1, sizeof *plan);
    coll_phase *phase = arena_array(memory, 1, sizeof *phase);
    if (plan == NULL || phase == NULL)
        return error_nomem(err);
    *phase = (coll_phase){.n = j->request.n_members, .data_bytes = j->request.bytes};
    *plan = (coll_plan){.n_members = j->request.n_members,
                        .n_phases = 1,
                        .phases = phase,
                        .bytes = j->request.bytes,
                        .coll = j->request.coll,
                        .local = j->local};
    *out = plan;
    return HALLEY_OK;
}

static bool same_plan(const sim_plan *p, const job *j)
{
    const coll_request *r = &j->request;
    return p->bytes == r->bytes && p->group == j->group && p->coll == r->coll &&
           p->involved == r->involved && p->directions == r->directions &&
           p->trees == r->trees && p->custom == j->custom;
}

static void note_oddities(sim *s, const coll_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_phases; i++) {
        const coll_phase *p = &plan->phases[i];
        if (p->algo == CLUSTER_ALGO_HALVING_DOUBLING && (p->n & (p->n - 1)) != 0)
            s->odd |= 1u << SIM_ODD_HALVING;
        if (p->algo == CLUSTER_ALGO_TREE &&
            (plan->coll != CLUSTER_ALL_REDUCE || i + 1 < (plan->n_phases + 1) / 2))
            s->odd |= 1u << SIM_ODD_TREE;
    }
}

static sim_plan *find_plan(sim *s, const job *j)
{
    sim_streams *t = &s->streams;
    const coll_request *r = &j->request;
    const uint64_t hash =
        hash_u64(r->bytes ^ hash_u64((uint64_t)j->group << 32 | r->involved) ^
                 hash_u64((uint64_t)r->directions << 40 ^ (uint64_t)r->trees << 8 ^
                          (uint64_t)r->coll));
    uint32_t slot = TABLE_NONE, id;
    while ((id = table_next(&t->plans_by_key, hash, &slot)) != TABLE_NONE)
        if (same_plan(&t->plans.at[id], j))
            return &t->plans.at[id];
    coll_plan *plan = NULL;
    const halley_status status = j->custom != NULL
                                     ? custom_plan(&plan, j, &s->memory_of_run, s->err)
                                     : coll_plan_new(&plan, r, &s->memory_of_run, s->err);
    if (status != HALLEY_OK) {
        char text[HALLEY_ERROR_TEXT];
        snprintf(text, sizeof text, "%s", s->err == NULL ? "" : s->err->text);
        fail_job(s, j, status, text);
        return NULL;
    }
    note_oddities(s, plan);
    const size_t stride = sizeof(sim_member) + (size_t)plan->n_phases * 8 +
                          ((size_t)plan->n_steps + 63) / 64 * 8;
    const uint32_t pool = find_pool(t, stride * plan->n_members);
    const sim_plan made = {.plan = plan,
                           .bytes = r->bytes,
                           .hash = hash,
                           .group = j->group,
                           .involved = r->involved,
                           .directions = r->directions,
                           .trees = r->trees,
                           .coll = r->coll,
                           .custom = j->custom,
                           .stride = (uint32_t)stride,
                           .pool = pool};
    if (pool == SIM_NONE || !array_push(&t->plans, made) ||
        !table_add(&t->plans_by_key, hash, (uint32_t)t->plans.n - 1)) {
        sim_fail_memory(s);
        return NULL;
    }
    return &t->plans.at[t->plans.n - 1];
}

static uint64_t name_hash(uint32_t group, uint32_t stream)
{
    return hash_u64((uint64_t)group << 32 | stream);
}

static uint32_t new_op(sim *s, const sim_plan *plan, const job *j, uint32_t stream)
{
    sim_streams *t = &s->streams;
    uint32_t id = t->free_op;
    uint8_t *members = take_blocks(t, plan->pool);
    const uint64_t hash = name_hash(j->group, stream);
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
                             .custom = j->custom};
    if (id >= UINT32_C(1) << 20)
        sim_fail(s, error_set(s->err, HALLEY_ELIMIT,
                              "more than a million chunks of collectives at a time"));
    return id;
}

static uint32_t find_op(sim *s, const sim_plan *plan, const job *j, uint32_t stream)
{
    const sim_streams *t = &s->streams;
    uint32_t slot = TABLE_NONE, id;
    while ((id = table_next(&t->ops_by_name, name_hash(j->group, stream), &slot)) !=
           TABLE_NONE) {
        const sim_op *o = &t->ops.at[id];
        if (o->group != j->group || o->stream != stream)
            continue;
        if (o->plan == plan->plan)
            return id;
        char text[256];
        snprintf(
            text, sizeof text,
            "its %s of %llu bytes a chunk meets the %s of %llu of another rank: they "
            "do not begin the same collectives in the same order",
            cluster_coll_names[plan->plan->coll], (unsigned long long)plan->plan->bytes,
            cluster_coll_names[o->plan->coll], (unsigned long long)o->plan->bytes);
        fail_job(s, j, HALLEY_EDEADLOCK, text);
        return SIM_NONE;
    }
    return new_op(s, plan, j, stream);
}

static void free_op(sim_streams *t, uint32_t id)
{
    sim_op *o = &t->ops.at[id];
    table_remove(&t->ops_by_name, o->hash, id);
    give_blocks(t, o->pool, o->members);
    *o = (sim_op){.next_free = t->free_op};
    t->free_op = id;
}

static sim_queue *queue_of(sim *s, sim_member *m)
{
    const size_t per_npu = (size_t)s->cluster->n_dims * s->system->queues;
    return &s->streams.queues[m->npu * per_npu + sim_member_queues(m)[m->phase]];
}

static void wait_in(sim *s, sim_queue *q, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    m->running = false;
    m->next_op = SIM_NONE;
    if (q->head_op == SIM_NONE) {
        q->head_op = op;
        q->head_member = member;
    } else {
        sim_member *tail = sim_member_get(s, q->tail_op, q->tail_member);
        tail->next_op = op;
        tail->next_member = member;
    }
    q->tail_op = op;
    q->tail_member = member;
}

static void start_waiting(sim *s, sim_queue *q)
{
    while (q->head_op != SIM_NONE && q->running < s->streams.threshold) {
        const uint32_t op = q->head_op, member = q->head_member;
        const sim_member *m = sim_member_get(s, op, member);
        q->head_op = m->next_op;
        q->head_member = m->next_member;
        q->running++;
        sim_phase_start(s, op, member);
    }
}

/* A round robin over the queues of a dimension; sets *down for the second half. */
static uint32_t next_queue(sim *s, uint32_t npu, const coll_outline *o, bool *down)
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

/* Choose queues, and with them directions and trees, for one chunk. */
static void choose_queues(sim *s, job *j)
{
    coll_request *r = &j->request;
    r->directions = r->trees = 0;
    for (uint32_t i = 0; i < j->n_phases; i++) {
        const coll_outline *o = &j->outlines[i];
        bool down;
        j->queues[i] = next_queue(s, j->rank, o, &down);
        r->directions |= (uint32_t)down << i;
        if (o->algo != CLUSTER_ALGO_TREE)
            continue;
        uint8_t *tree =
            &s->streams
                 .trees[((size_t)j->rank * CLUSTER_N_COLLS + r->coll) * CLUSTER_MAX_DIMS +
                        o->level];
        r->trees |= (uint32_t)*tree << i;
        *tree ^= 1;
    }
}

static uint32_t next_stream(sim *s, const job *j)
{
    const uint32_t world = s->streams.world_streams[j->rank]++;
    if (j->group == 0)
        return world;
    const uint32_t place =
        map64_find(&s->streams.places, (uint64_t)(j->group - 1) << 32 | j->rank);
    return s->streams.group_streams[j->group - 1][place]++;
}

/* One chunk: join (or open) its stream and put it into the first queue. */
static bool start_chunk(sim *s, job *j, uint32_t dataset)
{
    choose_queues(s, j);
    const sim_plan *plan = find_plan(s, j);
    if (plan == NULL)
        return false;
    const uint32_t op = find_op(s, plan, j, next_stream(s, j));
    if (op == SIM_NONE)
        return false;
    sim_member *m = sim_member_get(s, op, j->member);
    m->npu = j->rank;
    m->dataset = dataset;
    m->joined = true;
    for (uint32_t i = 0; i < plan->plan->n_phases; i++)
        sim_member_queues(m)[i] = j->queues[i];
    sim_queue *q = queue_of(s, m);
    wait_in(s, q, op, j->member);
    start_waiting(s, q);
    return s->status == HALLEY_OK;
}

static const cluster_impl ring = {.algo = CLUSTER_ALGO_RING};

static bool read_job(sim *s, job *j)
{
    static const cluster_coll colls[HALLEY_N_COLL_TYPES] = {
        [HALLEY_COLL_ALL_REDUCE] = CLUSTER_ALL_REDUCE,
        [HALLEY_COLL_ALL_GATHER] = CLUSTER_ALL_GATHER,
        [HALLEY_COLL_REDUCE_SCATTER] = CLUSTER_REDUCE_SCATTER,
        [HALLEY_COLL_ALL_TO_ALL] = CLUSTER_ALL_TO_ALL,
    };
    const sim_node *n = &s->ranks[j->rank].program->nodes[j->node];
    coll_request *r = &j->request;
    j->group = n->a;
    j->member = j->rank;
    r->coll = colls[n->coll];
    r->n_members = s->n_npus;
    r->involved = n->a == 0 ? n->b : UINT32_MAX;
    r->hierarchical = s->system->hierarchical;
    if (n->a != 0) {
        const cluster_group *g = &s->cluster->groups[n->a - 1];
        const uint32_t place =
            map64_find(&s->streams.places, (uint64_t)(n->a - 1) << 32 | j->rank);
        if (place == HASH_NONE) {
            fail_job(s, j, HALLEY_EINVAL, "a collective of a group it is not in");
            return false;
        }
        j->local = g->n < s->n_npus;
        if (j->local) {
            r->n_members = g->n;
            j->member = place;
        }
    }
    r->local = j->local;
    if (s->system->no_policy) {
        fail_job(s, j, HALLEY_EINVAL,
                 "a collective needs scheduling-policy in the system file, which has no "
                 "default");
        return false;
    }
    j->custom = sim_custom_find(s, r->coll, j->group, j->rank,
                                sim_program_id(s->ranks[j->rank].program, j->node));
    return true;
}

/* Which algorithm in which dimension. */
static bool read_impls(sim *s, job *j, uint32_t *sizes)
{
    coll_request *r = &j->request;
    const cluster_coll_impl *impl = &s->system->colls[r->coll];
    if (j->custom != NULL) {
        j->n_phases = 1;
        j->queues[0] = 0;
        return true;
    }
    if (r->coll == CLUSTER_ALL_REDUCE && s->system->no_optimization) {
        fail_job(
            s, j, HALLEY_EINVAL,
            "an all-reduce needs collective-optimization in the system file, which has "
            "no default");
        return false;
    }
    if (impl->n == 0) {
        fail_job(s, j, HALLEY_EINVAL,
                 "the system file names no algorithm for its collective");
        return false;
    }
    r->impls = impl->dims;
    r->n_impls = impl->n;
    if (!j->local && impl->n < s->cluster->n_dims &&
        impl->dims[impl->n - 1].algo == CLUSTER_ALGO_TREE) {
        fail_job(
            s, j, HALLEY_EINVAL,
            "a double binary tree can end a list of algorithms only when the list names "
            "every dimension");
        return false;
    }
    if (j->local) {
        r->n_impls = 1;
        r->impls = impl->n > 1 ? &ring : impl->dims;
    }
    r->sizes = sizes;
    r->n_sizes = s->cluster->n_dims;
    for (uint32_t d = 0; d < s->cluster->n_dims; d++)
        sizes[d] = s->cluster->dims[d].n;
    j->n_phases = coll_outline_get(j->outlines, r);
    if (j->n_phases == 0) {
        fail_job(
            s, j, HALLEY_EDEADLOCK,
            "its collective has no dimension with more than one member, so it cannot "
            "end");
        return false;
    }
    return true;
}

/* Cut the data: every chunk has the size of the first, the last one too. */
static bool read_chunks(sim *s, job *j, uint64_t *n_chunks)
{
    uint64_t bytes = s->ranks[j->rank].program->nodes[j->node].amount;
    const uint64_t splits = s->system->splits;
    if (splits == 0) {
        fail_job(s, j, HALLEY_EINVAL,
                 "a collective needs preferred-dataset-splits in the system file");
        return false;
    }
    uint64_t chunk = bytes / splits;
    if (j->request.coll != CLUSTER_ALL_GATHER && chunk < s->n_npus) {
        chunk = s->n_npus;
        bytes = splits * chunk;
    }
    if (chunk == 0) {
        fail_job(
            s, j, HALLEY_EINVAL,
            "an all-gather of fewer bytes than preferred-dataset-splits has chunks of "
            "nothing");
        return false;
    }
    j->request.bytes = chunk;
    *n_chunks = bytes / chunk + (bytes % chunk != 0);
    return true;
}

static uint32_t new_dataset(sim *s, const job *j, uint32_t n_chunks)
{
    sim_streams *t = &s->streams;
    uint32_t id = t->free_dataset;
    if (id != SIM_NONE) {
        t->free_dataset = t->datasets.at[id].next_free;
    } else {
        if (!array_push(&t->datasets, (sim_dataset){0})) {
            sim_fail_memory(s);
            return SIM_NONE;
        }
        id = (uint32_t)t->datasets.n - 1;
    }
    t->datasets.at[id] = (sim_dataset){j->rank, j->node, n_chunks, SIM_NONE};
    return id;
}

void sim_collective_start(sim *s, uint32_t rank, uint32_t node)
{
    job j = {.rank = rank, .node = node};
    uint32_t sizes[CLUSTER_MAX_DIMS];
    uint64_t n_chunks;
    if (!read_job(s, &j) || !read_impls(s, &j, sizes) || !read_chunks(s, &j, &n_chunks))
        return;
    if (n_chunks >= UINT32_C(1) << 20) {
        fail_job(s, &j, HALLEY_ELIMIT, "a collective in over a million chunks");
        return;
    }
    if (j.custom != NULL && n_chunks > 1) {
        fail_job(s, &j, HALLEY_EDEADLOCK,
                 "a custom collective makes one chunk and would wait for more; set "
                 "preferred-dataset-splits to 1");
        return;
    }
    const uint32_t dataset = new_dataset(s, &j, (uint32_t)n_chunks);
    for (uint64_t i = 0; dataset != SIM_NONE && i < n_chunks; i++)
        if (!start_chunk(s, &j, dataset))
            return;
}

static void chunk_ended(sim *s, uint32_t dataset)
{
    sim_dataset *d = &s->streams.datasets.at[dataset];
    if (--d->left > 0)
        return;
    const uint32_t rank = d->rank, node = d->node;
    d->next_free = s->streams.free_dataset;
    s->streams.free_dataset = dataset;
    sim_node_ended(s, rank, node);
}

/*
 * In the reference's order: the collective is told first (and may begin the next one at
 * once), then the old queue starts what waits in it, then the new one.
 */
void sim_phase_ended(sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    sim_queue *old = queue_of(s, m);
    const bool last = m->phase + 1u == s->streams.ops.at[op].plan->n_phases;
    if (last) {
        chunk_ended(s, m->dataset);
        sim_op *o = &s->streams.ops.at[op];
        if (++o->n_done == o->plan->n_members)
            free_op(&s->streams, op);
        old->running--;
        start_waiting(s, old);
        return;
    }
    m->phase++;
    sim_queue *next = queue_of(s, m);
    wait_in(s, next, op, member);
    old->running--;
    start_waiting(s, old);
    start_waiting(s, next);
}
