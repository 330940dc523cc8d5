/*
 * sim/coll/collective.c - turns a collective node into chunks: who takes part, which
 * algorithm is used in which dimension, which queue, how many chunks.
 *
 * ASTRA-sim gives a group that is smaller than the world one logical dimension. Under
 * native rules a group that is a box of the network uses the network's dimensions.
 */
#include "base/hash.h"
#include "sim/fold.h"
#include "sim/rules.h"

#include <stdio.h>
#include <string.h>

void sim_job_fail(sim *s, const sim_job *j, halley_status status, const char *text)
{
    assert(status != HALLEY_OK && j->rank < s->n_ranks);
    if (s->status != HALLEY_OK)
        return;
    sim_fail(s, error_set(s->err, status, "rank %u: %s", s->ranks[j->rank].npu, text));
    error_at_file(s->err, s->ranks[j->rank].path);
    error_at_node(s->err, sim_program_id(s->ranks[j->rank].program, j->node));
}

/* A plan of one phase without messages: a custom collective, or a bundle. */
static halley_status make_whole_plan(coll_plan **out, const sim_job *j, arena *memory,
                                     halley_error *err)
{
    coll_plan *plan = arena_array(memory, 1, sizeof *plan);
    coll_phase *phase = arena_array(memory, 1, sizeof *phase);
    if (plan == NULL || phase == NULL)
        return error_nomem(err);
    *phase = (coll_phase){.algo = j->bundle ? CLUSTER_ALGO_BUNDLE : CLUSTER_ALGO_CUSTOM,
                          .n = j->request.n_members,
                          .stride = 1,
                          .coll = j->request.coll,
                          .rooted = j->request.rooted,
                          .root = j->request.root,
                          .n_steps = j->bundle,
                          .data_bytes = j->request.bytes};
    *plan = (coll_plan){.n_members = j->request.n_members,
                        .n_phases = 1,
                        .n_steps = j->bundle,
                        .phases = phase,
                        .bytes = j->request.bytes,
                        .rate = j->price.rate,
                        .fixed_s = j->price.fixed_s,
                        .coll = j->request.coll,
                        .local = j->request.local,
                        .grouped = j->request.grouped};
    *out = plan;
    return HALLEY_OK;
}

static bool is_same_plan(const sim_plan *p, const sim_job *j)
{
    const coll_request *r = &j->request;
    return p->bytes == r->bytes && p->group == j->group && p->coll == r->coll &&
           p->involved == r->involved && p->directions == r->directions &&
           p->trees == r->trees && p->order == r->order && p->custom == j->custom &&
           p->silent == r->silent && p->rooted == r->rooted && p->root == r->root &&
           p->price.rate == j->price.rate && p->price.fixed_s == j->price.fixed_s;
}

static void note_warnings(sim *s, const coll_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_phases; i++) {
        const coll_phase *p = &plan->phases[i];
        if (p->lopsided)
            s->warnings |= 1u << SIM_WARN_HALVING;
        if (p->is_substitute)
            s->warnings |= 1u << SIM_WARN_TREE;
    }
}

const sim_plan *sim_job_plan(sim *s, const sim_job *j)
{
    sim_streams *t = &s->streams;
    const coll_request *r = &j->request;
    assert(j->group <= s->n_groups && j->member < r->n_members);
    const uint64_t hash = hash_u64(r->bytes ^ hash_u64(r->order) ^
                                   hash_u64((uint64_t)r->rooted << 32 | r->root) ^
                                   hash_u64((uint64_t)j->group << 32 | r->involved) ^
                                   hash_u64((uint64_t)r->directions << 40 ^
                                            (uint64_t)r->trees << 8 ^ (uint64_t)r->coll));
    uint32_t slot = TABLE_NONE, id;
    while ((id = table_next(&t->plans_by_key, hash, &slot)) != TABLE_NONE)
        if (is_same_plan(&t->plans.at[id], j))
            return &t->plans.at[id];
    coll_plan *plan = NULL;
    const halley_status status =
        j->custom != NULL || j->bundle
            ? make_whole_plan(&plan, j, &s->memory_of_run, s->err)
            : coll_plan_new(&plan, r, &s->memory_of_run, s->err);
    if (status != HALLEY_OK) {
        char text[HALLEY_ERROR_TEXT];
        snprintf(text, sizeof text, "%s", s->err == NULL ? "" : s->err->text);
        sim_job_fail(s, j, status, text);
        return NULL;
    }
    assert(plan->n_phases > 0 && plan->n_members == r->n_members);
    note_warnings(s, plan);
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
                           .price = j->price,
                           .stride = (uint32_t)stride,
                           .pool = pool};
    if (pool == SIM_NONE || !array_push(&t->plans, made) ||
        !table_add(&t->plans_by_key, hash, (uint32_t)t->plans.n - 1)) {
        sim_fail_memory(s);
        return NULL;
    }
    return &t->plans.at[t->plans.n - 1];
}

/* Choose the queues of one chunk, and with them directions and trees. A custom collective
 * or a bundle has one phase, whose queue is fixed. */
static void choose_queues(sim *s, sim_job *j, uint32_t stream)
{
    j->request.directions = j->request.trees = 0;
    if (j->custom == NULL && !j->bundle)
        s->rules->choose_queues(s, j, stream);
}

uint32_t sim_group_stream_next(sim *s, const sim_job *j)
{
    assert(j->group > 0 && j->place < s->groups[j->group - 1].n);
    return s->streams.group_streams[j->group - 1][j->place]++;
}

/* How a collective maps to the four basic ones: which one has its sizes, and whose
 * algorithms it uses. A barrier is an all-reduce of one byte. */
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

void sim_coll_describe(cluster_coll *coll, coll_rooted *rooted, uint32_t coll_type)
{
    assert(coll_type < HALLEY_N_COLL_TYPES);
    *coll = kinds[coll_type].coll;
    *rooted = kinds[coll_type].rooted;
}

/* The number of members of the job's collective, including those that others represent.
 */
static uint32_t count_job_members(const sim *s, const sim_job *j)
{
    assert(j->group <= s->n_groups);
    return j->group == 0 ? s->n_npus : s->groups[j->group - 1].n_members;
}

/* Read the root as a member; the first member if the node names none. */
static bool read_root(sim *s, sim_job *j)
{
    const sim_rank *rank = &s->ranks[j->rank];
    const sim_node *n = &rank->program->nodes[j->node];
    coll_request *r = &j->request;
    r->root = 0;
    if (r->rooted == COLL_ROOTED_NONE || n->self == SIM_NO_NAME)
        return true;
    r->root = rank->binds[n->self].object;
    assert(n->self < rank->program->n_names);
    if (r->root == SIM_NONE)
        sim_job_fail(s, j, HALLEY_EINVAL,
                     "the attribute root does not name a member of the collective");
    else if (j->group != 0 && !j->local) /* all ranks: members are numbered by rank */
        r->root = s->groups[j->group - 1].ranks[r->root];
    return r->root != SIM_NONE;
}

/* Read the group's members, and what follows from them for the plan. */
static bool read_job_group(sim *s, sim_job *j)
{
    coll_request *r = &j->request;
    assert(j->group > 0 && j->group <= s->n_groups);
    const sim_group *g = &s->groups[j->group - 1];
    if (j->place == SIM_NONE) {
        sim_job_fail(s, j, HALLEY_EINVAL,
                     "the rank is not a member of the group of its collective");
        return false;
    }
    j->local = g->n_members < s->n_npus;
    if (j->local) {
        r->n_members = g->n;
        assert(j->place < g->n && g->ranks[j->place] == j->rank);
        j->member = j->place;
    }
    r->grouped = j->local;
    r->local = j->local && s->rules->is_one_dimension(s, j->group);
    return true;
}

/* True if a switch of the dimensions takes part in some collective. */
static bool has_in_network(const halley_cluster *c)
{
    for (uint32_t d = 0; d < c->n_dims; d++)
        if (c->dims[d].in_network != 0)
            return true;
    return false;
}

bool sim_coll_has_form(const sim *s, coll_rooted rooted, uint32_t involved)
{
    const uint32_t all = (UINT32_C(1) << s->cluster->n_dims) - 1;
    const bool is_star = rooted == COLL_ROOTED_GATHER || rooted == COLL_ROOTED_SCATTER;
    if ((involved & all) != all)
        return false;
    return s->cluster->network != HW_NETWORK_DIMS || rooted == COLL_ROOTED_NONE ||
           (!is_star && has_in_network(s->cluster));
}

/* True if the network carries it as a whole. */
static bool is_bundle(const sim *s, const sim_job *j)
{
    return net_can(s->net, NET_CAN_BUNDLES) && !s->system->steps && !j->uneven &&
           j->custom == NULL &&
           sim_coll_has_form(s, j->request.rooted, j->request.involved);
}

static bool read_job(sim *s, sim_job *j)
{
    const sim_program *p = s->ranks[j->rank].program;
    const sim_node *n = &p->nodes[j->node];
    coll_request *r = &j->request;
    j->group = sim_node_group(&s->ranks[j->rank], n);
    j->place = j->group == 0 ? j->rank : s->ranks[j->rank].binds[n->a].place;
    j->member = j->rank;
    j->set = p->lanes == NULL ? 0 : p->lanes[n->slot].set;
    assert(n->type == HALLEY_NODE_COLL && n->coll < HALLEY_N_COLL_TYPES);
    r->coll = kinds[n->coll].coll;
    r->silent = kinds[n->coll].silent;
    r->rooted = s->rules->has_roots ? kinds[n->coll].rooted : COLL_ROOTED_NONE;
    r->n_members = s->n_ranks;
    r->order = COLL_IN_ORDER;
    r->involved = j->group == 0 ? n->b : UINT32_MAX;
    r->hierarchical = s->system->hierarchical;
    r->no_empty = s->rules->refuses_empty;
    r->local = s->cluster->n_dims == 0; /* no dimensions: one logical one */
    if (j->group != 0 && !read_job_group(s, j))
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
    if (!j->uneven && s->custom != NULL) /* reading the id costs a cache miss */
        j->custom =
            sim_custom_find(s, r->coll, j->group, j->rank, sim_program_id(p, j->node));
    j->bundle = is_bundle(s, j);
    if (j->bundle)
        j->price = sim_program_price(p, n);
    return true;
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
        coll_algo_get(impl->dims[impl->n - 1].algo)->ends_full_lists_only) {
        sim_job_fail(
            s, j, HALLEY_EINVAL,
            "a double binary tree can end a list of algorithms only when the list names "
            "every dimension");
        return false;
    }
    if ((j->uneven || r->rooted != COLL_ROOTED_NONE) && s->system->rendezvous) {
        sim_job_fail(s, j, HALLEY_EINVAL,
                     j->uneven
                         ? "an uneven all-to-all cannot use the rendezvous protocol"
                         : "a collective with a root cannot use the rendezvous protocol");
        return false;
    }
    if (j->uneven) { /* every member sends to every other, whatever the dimensions */
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

/* Choose the algorithm of each dimension. */
static bool read_algorithms(sim *s, sim_job *j)
{
    coll_request *r = &j->request;
    if (j->custom != NULL || j->bundle) {
        j->n_phases = j->bundle && count_job_members(s, j) == 1 ? 0 : 1;
        j->queues[0] = j->set * s->streams.n_levels * s->system->queues;
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
    s->rules->replace_impls(j);
    assert(r->n_impls > 0 && r->n_impls <= CLUSTER_MAX_DIMS);
    j->n_phases = coll_outline_get(j->outlines, r);
    return s->rules->check_phases(s, j);
}

/* Cut the data into chunks. All chunks have the size of the first, even the last one. */
static bool read_chunks(sim *s, sim_job *j, uint64_t *n_chunks)
{
    uint64_t bytes = s->ranks[j->rank].program->nodes[j->node].amount;
    if (j->uneven) { /* members differ in bytes, but need one plan */
        j->request.bytes = 0;
        *n_chunks = 1;
        return true;
    }
    if (s->system->splits == 0) {
        sim_job_fail(s, j, HALLEY_EINVAL,
                     "a collective needs preferred-dataset-splits in the system file");
        return false;
    }
    if (j->bundle) {
        net_bundle b = {.n = count_job_members(s, j)};
        sim_bundle_describe(&b, s->ranks[j->rank].program->nodes[j->node].coll, bytes);
        assert(b.n > 0 && b.bytes >= 0);
        j->request.bytes = (uint64_t)b.bytes;
        *n_chunks = 1;
        return true;
    }
    uint64_t chunk;
    if (!s->rules->cut_chunks(s, j, &bytes, &chunk))
        return false;
    assert(chunk > 0);
    j->request.bytes = chunk;
    *n_chunks = bytes / chunk + (bytes % chunk != 0);
    assert(*n_chunks > 0);
    return true;
}

/* The bytes that an uneven all-to-all sends to every member. NULL: the run has failed. */
static uint64_t *read_uneven_sizes(sim *s, const sim_job *j)
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
    assert(n_chunks > 0 && t->datasets.at[id].sizes == NULL);
    t->datasets.at[id] = (sim_dataset){j->rank, j->node, n_chunks, SIM_NONE, NULL};
    assert(id < t->datasets.n);
    if (j->uneven) {
        t->datasets.at[id].sizes = read_uneven_sizes(s, j);
        if (t->datasets.at[id].sizes == NULL)
            return SIM_NONE;
    }
    return id;
}

/*
 * Themis: a chunk's reduction crosses the dimension with the least load first, then the
 * next, and gathers in reverse order. The load of a dimension is the time that the
 * previous chunks take in it. All members see the same loads, because every collective
 * starts at 0.
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
    for (uint32_t i = 0; i < r->n_impls; i++) { /* insertion sort: stable, few dims */
        uint32_t k = i;
        for (; k > 0 && loads[order[k - 1]] > loads[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    r->order = 0;
    for (uint32_t i = 0; i < r->n_impls; i++) {
        const uint32_t d = order[i], n = j->sizes[d];
        assert(d < s->cluster->n_dims && n > 0);
        r->order |= (uint64_t)d << (4 * i);
        loads[d] += bytes * (n - 1) / n / s->cluster->dims[d].bw_Bps;
        bytes /= n;
    }
    j->n_phases = coll_outline_get(j->outlines, r);
}

/* Start one chunk: find its plan and join its stream. */
static bool start_chunk(sim *s, sim_job *j, uint32_t dataset)
{
    assert(j->n_phases > 0 && j->n_phases <= COLL_MAX_PHASES);
    const uint32_t stream = s->rules->number_stream(s, j);
    sim_record_link(s, j->rank, j->node, (uint64_t)j->group << 32 | stream);
    choose_queues(s, j, stream);
    const sim_plan *plan = sim_job_plan(s, j);
    return plan != NULL && sim_stream_join(s, j, plan, stream, dataset);
}

void sim_collective_start(sim *s, uint32_t rank, uint32_t node)
{
    sim_job j = {.rank = rank, .node = node};
    assert(s->ranks[rank].waiting[node] == SIM_NODE_RUNNING);
    uint64_t n_chunks;
    if (!read_job(s, &j) || !read_algorithms(s, &j) || !read_chunks(s, &j, &n_chunks))
        return;
    if (j.n_phases == 0) { /* one member: nothing to send */
        sim_call_after(s, rank, 0, sim_event_node(rank, node));
        return;
    }
    if (n_chunks >= UINT32_C(1) << 20) {
        sim_job_fail(s, &j, HALLEY_ELIMIT,
                     "the collective is cut into more than a million chunks; use fewer");
        return;
    }
    if (j.custom != NULL && n_chunks > 1) {
        sim_job_fail(s, &j, HALLEY_EDEADLOCK,
                     "a custom collective has one chunk, but preferred-dataset-splits "
                     "asks for more; set it to 1");
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
