/*
 * sim/collective.c - from a collective node to chunks: who takes part, which algorithm
 * crosses which dimension, which queue, how many pieces.
 *
 * Groups: ASTRA-sim gives a group smaller than the world one logical dimension. Under
 * native rules a group that is a box of the network uses the network's dimensions.
 */
#include "base/hash.h"
#include "sim/fold.h"
#include "sim/job.h"

#include <stdio.h>
#include <string.h>

/* Coordinate of a rank in dimension d. */
static uint32_t coordinate(const halley_cluster *c, uint32_t rank, uint32_t d)
{
    for (uint32_t i = 0; i < d; i++)
        rank /= c->dims[i].n;
    return rank % c->dims[d].n;
}

/*
 * Is the group a box of the network, listed with the innermost dimension fastest? Then
 * its collectives may use the dimensions. *extent has its size in each.
 */
static bool find_box(uint32_t *extent, const halley_cluster *c, const cluster_group *g)
{
    uint32_t n = 1;
    for (uint32_t d = 0; d < c->n_dims; d++) {
        uint32_t length = 1; /* how long only coordinate d changes, from the first rank */
        while (n * length < g->n && coordinate(c, g->ranks[(size_t)n * length], d) !=
                                        coordinate(c, g->ranks[0], d))
            length++;
        extent[d] = length;
        n *= length;
    }
    if (n != g->n)
        return false;
    for (uint32_t m = 0; m < g->n; m++) {
        for (uint32_t d = 0, stride = 1; d < c->n_dims; stride *= extent[d++]) {
            const uint32_t axis = g->ranks[(size_t)(m / stride % extent[d]) * stride];
            if (coordinate(c, g->ranks[m], d) != coordinate(c, axis, d))
                return false;
        }
    }
    return true;
}

halley_status sim_boxes_init(sim *s)
{
    const halley_cluster *c = s->cluster;
    if (c->astra)
        return HALLEY_OK;
    s->streams.boxes =
        arena_array(&s->memory_of_run, c->n_groups, sizeof *s->streams.boxes);
    if (s->streams.boxes == NULL)
        return error_nomem(s->err);
    for (uint32_t g = 0; g < c->n_groups; g++)
        if (!find_box(s->streams.boxes[g], c, &c->groups[g]))
            s->streams.boxes[g][0] = 0;
    return HALLEY_OK;
}

void sim_job_fail(sim *s, const sim_job *j, halley_status status, const char *text)
{
    if (s->status != HALLEY_OK)
        return;
    sim_fail(s, error_set(s->err, status, "rank %u: %s", j->rank, text));
    error_at_file(s->err, halley_trace_path(s->ranks[j->rank].program->trace));
    error_at_node(s->err, sim_program_id(s->ranks[j->rank].program, j->node));
}

/* A custom collective's plan has one phase and no messages of its own. */
static halley_status custom_plan(coll_plan **out, const sim_job *j, arena *memory,
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
                        .local = j->request.local,
                        .grouped = j->request.grouped};
    *out = plan;
    return HALLEY_OK;
}

static bool same_plan(const sim_plan *p, const sim_job *j)
{
    const coll_request *r = &j->request;
    return p->bytes == r->bytes && p->group == j->group && p->coll == r->coll &&
           p->involved == r->involved && p->directions == r->directions &&
           p->trees == r->trees && p->order == r->order && p->custom == j->custom &&
           p->silent == r->silent && p->rooted == r->rooted && p->root == r->root;
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

const sim_plan *sim_job_plan(sim *s, const sim_job *j)
{
    sim_streams *t = &s->streams;
    const coll_request *r = &j->request;
    const uint64_t hash = hash_u64(r->bytes ^ hash_u64(r->order) ^
                                   hash_u64((uint64_t)r->rooted << 32 | r->root) ^
                                   hash_u64((uint64_t)j->group << 32 | r->involved) ^
                                   hash_u64((uint64_t)r->directions << 40 ^
                                            (uint64_t)r->trees << 8 ^ (uint64_t)r->coll));
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
        sim_job_fail(s, j, status, text);
        return NULL;
    }
    note_oddities(s, plan);
    if (s->fold != NULL && !sim_fold_allows_plan(s, plan, j->group)) {
        sim_fold_give_up(s);
        return NULL;
    }
    const size_t stride = sizeof(sim_member) + (size_t)plan->n_phases * 8 +
                          ((size_t)plan->n_steps + 63) / 64 * 8;
    const uint32_t pool = sim_pool_find(t, stride * plan->n_members);
    const sim_plan made = {.plan = plan,
                           .bytes = r->bytes,
                           .hash = hash,
                           .order = r->order,
                           .group = j->group,
                           .involved = r->involved,
                           .directions = r->directions,
                           .trees = r->trees,
                           .coll = r->coll,
                           .silent = r->silent,
                           .rooted = r->rooted,
                           .root = r->root,
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

/* Native rules: the stream's number chooses, so that all members choose alike. */
static uint32_t native_queue(const sim *s, const sim_job *j, const coll_outline *o,
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
    return (j->set * s->cluster->n_dims + o->level) * n + queue;
}

static bool next_tree(sim *s, const sim_job *j, const coll_outline *o, uint32_t stream)
{
    if (!s->cluster->astra)
        return stream % 2 != 0;
    uint8_t *tree =
        &s->streams.trees[((size_t)j->rank * CLUSTER_N_COLLS + j->request.coll) *
                              CLUSTER_MAX_DIMS +
                          o->level];
    *tree ^= 1;
    return *tree == 0;
}

/* Choose queues, and with them directions and trees, for one chunk. */
static void choose_queues(sim *s, sim_job *j, uint32_t stream)
{
    coll_request *r = &j->request;
    r->directions = r->trees = 0;
    for (uint32_t i = 0; i < j->n_phases && j->custom == NULL; i++) {
        const coll_outline *o = &j->outlines[i];
        bool down;
        j->queues[i] = s->cluster->astra ? next_queue(s, j->rank, o, &down)
                                         : native_queue(s, j, o, stream, &down);
        r->directions |= (uint32_t)down << i;
        if (o->algo == CLUSTER_ALGO_TREE)
            r->trees |= (uint32_t)next_tree(s, j, o, stream) << i;
    }
    if (s->by_key) { /* members with other directions must find the same plan */
        j->directions = r->directions;
        r->directions = 0;
    }
}

static uint32_t next_stream(sim *s, const sim_job *j)
{
    if (j->group == 0 || s->cluster->astra)
        s->streams.world_streams[j->rank]++;
    if (j->group == 0)
        return s->streams.world_streams[j->rank] - 1;
    const uint32_t place =
        map64_find(&s->streams.places, (uint64_t)(j->group - 1) << 32 | j->rank);
    return s->streams.group_streams[j->group - 1][place]++;
}

/* What a collective is made of: which of the four has its sizes, and whose algorithms it
 * uses. A barrier is an all-reduce of a byte. */
static const struct {
    cluster_coll coll;
    bool silent;
    coll_rooted rooted;
} kinds[HALLEY_N_COLL_TYPES] = {
    [HALLEY_COLL_ALL_REDUCE] = {CLUSTER_ALL_REDUCE, false, COLL_ROOTED_NONE},
    [HALLEY_COLL_REDUCE] = {CLUSTER_ALL_REDUCE, false, COLL_ROOTED_REDUCE},
    [HALLEY_COLL_ALL_GATHER] = {CLUSTER_ALL_GATHER, true, COLL_ROOTED_NONE},
    [HALLEY_COLL_GATHER] = {CLUSTER_ALL_GATHER, true, COLL_ROOTED_GATHER},
    [HALLEY_COLL_SCATTER] = {CLUSTER_REDUCE_SCATTER, true, COLL_ROOTED_SCATTER},
    [HALLEY_COLL_BROADCAST] = {CLUSTER_ALL_REDUCE, true, COLL_ROOTED_BROADCAST},
    [HALLEY_COLL_ALL_TO_ALL] = {CLUSTER_ALL_TO_ALL, true, COLL_ROOTED_NONE},
    [HALLEY_COLL_REDUCE_SCATTER] = {CLUSTER_REDUCE_SCATTER, false, COLL_ROOTED_NONE},
    [HALLEY_COLL_REDUCE_SCATTER_BLOCK] = {CLUSTER_REDUCE_SCATTER, false,
                                          COLL_ROOTED_NONE},
    [HALLEY_COLL_BARRIER] = {CLUSTER_ALL_REDUCE, true, COLL_ROOTED_NONE},
};

/* The member that is the root: the attribute "root" names its rank; without one, the
 * first. */
static bool read_root(sim *s, sim_job *j)
{
    const sim_program *p = s->ranks[j->rank].program;
    coll_request *r = &j->request;
    halley_attr attr;
    uint64_t rank;
    r->root = 0;
    if (r->rooted == COLL_ROOTED_NONE ||
        !halley_node_find_attr(&attr, p->trace, p->nodes[j->node].trace_index, "root"))
        return true;
    uint32_t member = HASH_NONE;
    if (halley_attr_to_u64(&attr, &rank) && rank < s->n_npus)
        member = r->grouped ? map64_find(&s->streams.places,
                                         (uint64_t)(j->group - 1) << 32 | rank)
                            : (uint32_t)rank;
    if (member == HASH_NONE)
        sim_job_fail(s, j, HALLEY_EINVAL, "root is not a rank of the collective");
    r->root = member;
    return member != HASH_NONE;
}

/* A group's members and what that means for the plan. */
static bool read_group(sim *s, sim_job *j)
{
    coll_request *r = &j->request;
    const cluster_group *g = &s->cluster->groups[j->group - 1];
    const uint32_t place =
        map64_find(&s->streams.places, (uint64_t)(j->group - 1) << 32 | j->rank);
    if (place == HASH_NONE) {
        sim_job_fail(s, j, HALLEY_EINVAL, "a collective of a group it is not in");
        return false;
    }
    j->local = g->n < s->n_npus;
    if (j->local) {
        r->n_members = g->n;
        j->member = place;
    }
    r->grouped = j->local;
    r->local = j->local && (s->cluster->astra || s->streams.boxes[j->group - 1][0] == 0);
    return true;
}

static bool read_job(sim *s, sim_job *j)
{
    const sim_program *p = s->ranks[j->rank].program;
    const sim_node *n = &p->nodes[j->node];
    coll_request *r = &j->request;
    j->group = n->a;
    j->member = j->rank;
    j->set = p->lanes == NULL ? 0 : p->lanes[n->slot].set;
    r->coll = kinds[n->coll].coll;
    r->silent = kinds[n->coll].silent;
    r->rooted = s->cluster->astra ? COLL_ROOTED_NONE : kinds[n->coll].rooted;
    r->n_members = s->n_npus;
    r->order = COLL_IN_ORDER;
    r->involved = n->a == 0 ? n->b : UINT32_MAX;
    r->hierarchical = s->system->hierarchical;
    r->no_empty = s->cluster->astra;
    if (n->a != 0 && !read_group(s, j))
        return false;
    if (s->system->no_policy) {
        sim_job_fail(
            s, j, HALLEY_EINVAL,
            "a collective needs scheduling-policy in the system file, which has no "
            "default");
        return false;
    }
    if (!read_root(s, j))
        return false;
    j->uneven = n->flags & SIM_NODE_UNEVEN;
    if (!j->uneven)
        j->custom =
            sim_custom_find(s, r->coll, j->group, j->rank, sim_program_id(p, j->node));
    return true;
}

/* Native rules: a collective that an algorithm does not know is done by a ring. */
static void replace_impossible(sim_job *j)
{
    const bool exchanges = j->request.coll == CLUSTER_ALL_TO_ALL;
    const bool reduces = j->request.coll == CLUSTER_ALL_REDUCE;
    for (uint32_t d = 0; j->request.rooted == COLL_ROOTED_NONE && d < j->request.n_impls;
         d++) {
        cluster_impl *impl = &j->impls[d];
        if ((impl->algo == CLUSTER_ALGO_HALVING_DOUBLING && exchanges) ||
            (impl->algo == CLUSTER_ALGO_TREE && !reduces))
            impl->algo = CLUSTER_ALGO_RING;
    }
}

static bool choose_impls(sim *s, sim_job *j)
{
    coll_request *r = &j->request;
    const cluster_coll_impl *impl = &s->system->colls[r->coll];
    if (r->coll == CLUSTER_ALL_REDUCE && s->system->no_optimization) {
        sim_job_fail(
            s, j, HALLEY_EINVAL,
            "an all-reduce needs collective-optimization in the system file, which has "
            "no default");
        return false;
    }
    if (impl->n == 0) {
        sim_job_fail(s, j, HALLEY_EINVAL,
                     "the system file names no algorithm for its collective");
        return false;
    }
    if (!r->local && impl->n < s->cluster->n_dims &&
        impl->dims[impl->n - 1].algo == CLUSTER_ALGO_TREE) {
        sim_job_fail(
            s, j, HALLEY_EINVAL,
            "a double binary tree can end a list of algorithms only when the list names "
            "every dimension");
        return false;
    }
    if ((j->uneven || r->rooted != COLL_ROOTED_NONE) && s->system->rendezvous) {
        sim_job_fail(s, j, HALLEY_EINVAL,
                     j->uneven ? "an uneven all-to-all knows no rendezvous"
                               : "a collective with a root knows no rendezvous");
        return false;
    }
    if (j->uneven) { /* everyone to everyone, whatever the dimensions */
        j->impls[0] = (cluster_impl){.algo = CLUSTER_ALGO_DIRECT};
        r->impls = j->impls;
        r->n_impls = 1;
        r->local = true;
        return true;
    }
    memcpy(j->impls, impl->dims, sizeof j->impls);
    r->impls = j->impls;
    r->n_impls = impl->n;
    if (r->local) {
        r->n_impls = 1;
        if (impl->n_listed > 1)
            j->impls[0] = (cluster_impl){.algo = CLUSTER_ALGO_RING};
    }
    return true;
}

/* Which algorithm in which dimension. */
static bool read_impls(sim *s, sim_job *j)
{
    coll_request *r = &j->request;
    if (j->custom != NULL) {
        j->n_phases = 1;
        j->queues[0] = j->set * s->cluster->n_dims * s->system->queues;
        return true;
    }
    if (!choose_impls(s, j))
        return false;
    r->sizes = j->sizes;
    r->n_sizes = s->cluster->n_dims;
    for (uint32_t d = 0; d < s->cluster->n_dims; d++)
        j->sizes[d] = r->grouped && !r->local ? s->streams.boxes[j->group - 1][d]
                                              : s->cluster->dims[d].n;
    for (uint32_t d = 0; d < s->cluster->n_dims; d++)
        j->in_network[d] = s->cluster->dims[d].in_network;
    r->in_network = j->in_network;
    if (!s->cluster->astra)
        replace_impossible(j);
    j->n_phases = coll_outline_get(j->outlines, r);
    if (j->n_phases == 0 && s->cluster->astra) {
        sim_job_fail(
            s, j, HALLEY_EDEADLOCK,
            "its collective has no dimension with more than one member, so it cannot "
            "end");
        return false;
    }
    return true;
}

/* Cut the data: every chunk has the size of the first, the last one too. */
static bool read_chunks(sim *s, sim_job *j, uint64_t *n_chunks)
{
    uint64_t bytes = s->ranks[j->rank].program->nodes[j->node].amount;
    const uint64_t splits = s->system->splits;
    if (j->uneven) { /* members differ in bytes, and must meet in one plan */
        j->request.bytes = 0;
        *n_chunks = 1;
        return true;
    }
    if (splits == 0) {
        sim_job_fail(s, j, HALLEY_EINVAL,
                     "a collective needs preferred-dataset-splits in the system file");
        return false;
    }
    uint64_t chunk = bytes / splits;
    if (!s->cluster->astra) { /* no chunk without bytes, nothing beyond what there is */
        chunk = bytes / splits + (bytes % splits != 0);
        chunk = chunk == 0 ? 1 : chunk;
        bytes = bytes == 0 ? 1 : bytes;
    } else if (j->request.coll != CLUSTER_ALL_GATHER && chunk < s->n_npus) {
        chunk = s->n_npus;
        bytes = splits * chunk;
    }
    if (chunk == 0) {
        sim_job_fail(
            s, j, HALLEY_EINVAL,
            "an all-gather of fewer bytes than preferred-dataset-splits has chunks of "
            "nothing");
        return false;
    }
    j->request.bytes = chunk;
    *n_chunks = bytes / chunk + (bytes % chunk != 0);
    return true;
}

/* What an uneven all-to-all sends to every member; NULL: the run has failed. */
static uint64_t *read_sizes(sim *s, const sim_job *j)
{
    const sim_program *p = s->ranks[j->rank].program;
    const uint32_t n = j->request.n_members;
    uint64_t *sizes = mem_array(n, sizeof *sizes);
    halley_attr attr;
    halley_attr_item item;
    size_t cursor = 0;
    uint32_t i = 0;
    if (sizes == NULL) {
        sim_fail_memory(s);
        return NULL;
    }
    if (halley_node_find_attr(&attr, p->trace, p->nodes[j->node].trace_index,
                              "comm_sizes") &&
        halley_attr_is_list(attr.kind) && attr.kind != HALLEY_ATTR_STRING_LIST &&
        attr.kind != HALLEY_ATTR_BYTES_LIST && attr.kind != HALLEY_ATTR_DOUBLE_LIST &&
        attr.kind != HALLEY_ATTR_FLOAT_LIST)
        for (; halley_attr_list_next(&attr, &cursor, &item); i++)
            if (i < n)
                sizes[i] = item.bits;
    if (i == n)
        return sizes;
    free(sizes);
    sim_job_fail(s, j, HALLEY_EINVAL,
                 "comm_sizes must be a list of whole numbers, one for every member");
    return NULL;
}

static uint32_t new_dataset(sim *s, const sim_job *j, uint32_t n_chunks)
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
    t->datasets.at[id] = (sim_dataset){j->rank, j->node, n_chunks, SIM_NONE, NULL};
    if (j->uneven) {
        t->datasets.at[id].sizes = read_sizes(s, j);
        if (t->datasets.at[id].sizes == NULL)
            return SIM_NONE;
    }
    return id;
}

/*
 * Themis: a chunk's reduction crosses the dimension with the least load first, then the
 * next, and gathers in reverse; loads are the times that the chunks before it take. All
 * members see the same loads, for they begin anew with every collective.
 */
static void choose_order(sim *s, sim_job *j, double *loads)
{
    coll_request *r = &j->request;
    uint32_t order[CLUSTER_MAX_DIMS];
    double bytes = (double)r->bytes;
    if (!s->system->themis || r->coll == CLUSTER_ALL_TO_ALL || r->local ||
        r->rooted != COLL_ROOTED_NONE || r->n_impls != s->cluster->n_dims ||
        j->custom != NULL)
        return;
    for (uint32_t i = 0; i < r->n_impls; i++) { /* insertion: stable, and dims are few */
        uint32_t k = i;
        for (; k > 0 && loads[order[k - 1]] > loads[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    r->order = 0;
    for (uint32_t i = 0; i < r->n_impls; i++) {
        const uint32_t d = order[i], n = j->sizes[d];
        r->order |= (uint64_t)d << (4 * i);
        loads[d] += bytes * (n - 1) / n / s->cluster->dims[d].bw_Bps;
        bytes /= n;
    }
    j->n_phases = coll_outline_get(j->outlines, r);
}

/* One chunk: its plan, its stream. */
static bool start_chunk(sim *s, sim_job *j, uint32_t dataset)
{
    const uint32_t stream = next_stream(s, j);
    sim_record_link(s, j->rank, j->node, (uint64_t)j->group << 32 | stream);
    choose_queues(s, j, stream);
    const sim_plan *plan = sim_job_plan(s, j);
    return plan != NULL && sim_stream_join(s, j, plan, stream, dataset);
}

void sim_collective_start(sim *s, uint32_t rank, uint32_t node)
{
    sim_job j = {.rank = rank, .node = node};
    uint64_t n_chunks;
    if (!read_job(s, &j) || !read_impls(s, &j) || !read_chunks(s, &j, &n_chunks))
        return;
    if (j.n_phases == 0) { /* alone: nothing to send */
        sim_call_after(s, rank, 0, sim_what_wide(SIM_NODE, rank, node));
        return;
    }
    if (n_chunks >= UINT32_C(1) << 20) {
        sim_job_fail(s, &j, HALLEY_ELIMIT, "a collective in over a million chunks");
        return;
    }
    if (j.custom != NULL && n_chunks > 1) {
        sim_job_fail(s, &j, HALLEY_EDEADLOCK,
                     "a custom collective makes one chunk and would wait for more; set "
                     "preferred-dataset-splits to 1");
        return;
    }
    double loads[CLUSTER_MAX_DIMS] = {0};
    const uint32_t dataset = new_dataset(s, &j, (uint32_t)n_chunks);
    for (uint64_t i = 0; dataset != SIM_NONE && i < n_chunks; i++) {
        choose_order(s, &j, loads);
        if (!start_chunk(s, &j, dataset))
            return;
    }
}
