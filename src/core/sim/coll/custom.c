/*
 * sim/coll/custom.c - collectives whose algorithm is a trace. The trace has the sends,
 * receives and compute nodes of every member, and is executed for each such collective.
 *
 * Nodes do not wait for slots. Ready nodes are issued in the iteration order of GNU's
 * unordered_set, as in ASTRA-sim (stdset.h). Sizes and tags come from the trace. In a
 * group, the file of a member is chosen by its position among the sorted ranks, while the
 * ranks inside the files follow the group's own order. This also matches ASTRA-sim.
 */
#include "base/hash.h"
#include "sim/coll/phases.h"
#include "sim/coll/stdset.h"

#include <stdio.h>
#include <string.h>

/* One member's file. */
typedef struct algorithm {
    const char *prefix;
    uint32_t place;
    halley_trace *trace;
    sim_program program; /* children in the order in which they become ready */
    uint64_t *ids;       /* by node */
    uint32_t *roots;     /* nodes without dependencies, in their order */
    uint32_t n_roots;
} algorithm;

/* One member's execution of the algorithm. */
typedef struct play {
    const algorithm *algorithm;
    uint32_t op, member;
    uint32_t *waiting; /* by node; followed by the links of `ready` and room for a copy */
    uint32_t *snapshot;
    stdset ready;
    uint32_t n_running;
    uint32_t next_free;
} play;

struct sim_custom {
    ARRAY(algorithm *) algorithms;
    ARRAY(play) plays;
    uint32_t free_play;
    map64 choices; /* group, collective, rank -> algorithm chosen first, + 1; 0 = none */
};

static bool has_custom_collectives(const cluster_system *system)
{
    bool any = system->n_node_impls > 0;
    for (uint32_t i = 0; i < CLUSTER_N_COLLS; i++)
        any = any || system->colls[i].custom != NULL;
    return any;
}

halley_status sim_custom_init(sim *s)
{
    if (!has_custom_collectives(s->system))
        return HALLEY_OK;
    s->custom = calloc(1, sizeof *s->custom);
    if (s->custom == NULL)
        return error_nomem(s->err);
    s->custom->free_play = SIM_NONE;
    return HALLEY_OK;
}

static void free_algorithm(algorithm *a)
{
    if (a == NULL)
        return;
    sim_program_fini(&a->program);
    halley_trace_free(a->trace);
    free(a->ids);
    free(a->roots);
    free(a);
}

void sim_custom_fini(sim *s)
{
    sim_custom *c = s->custom;
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->algorithms.n; i++)
        free_algorithm(c->algorithms.at[i]);
    for (size_t i = 0; i < c->plays.n; i++) {
        free(c->plays.at[i].waiting);
        stdset_fini(&c->plays.at[i].ready);
    }
    array_fini(&c->algorithms);
    array_fini(&c->plays);
    map64_fini(&c->choices);
    free(c);
    s->custom = NULL;
}

/* The index of the algorithm that is set for this node, or SIM_NONE. */
static uint32_t find_node_impl(const cluster_system *system, uint64_t node_id)
{
    for (uint32_t i = 0; i < system->n_node_impls; i++)
        if (system->node_impls[i].node == node_id)
            return i;
    return SIM_NONE;
}

const char *sim_custom_find(const sim *s, cluster_coll coll, uint32_t group,
                            uint32_t rank, uint64_t node_id)
{
    const cluster_system *system = s->system;
    assert(s->custom != NULL && coll < CLUSTER_N_COLLS && group <= s->n_groups);
    const char *general = system->colls[coll].custom;
    uint32_t own = find_node_impl(system, node_id);
    if (group != 0 && system->n_node_impls > 0) {
        /* A group keeps the algorithm that its first collective of a kind chose. */
        const uint64_t key = ((uint64_t)group * CLUSTER_N_COLLS + coll) << 20 | rank;
        uint32_t first = own == SIM_NONE ? 0 : own + 1;
        bool fresh;
        if (map64_put(&s->custom->choices, key, &first, &fresh))
            own = first == 0 ? SIM_NONE : first - 1;
    }
    return own == SIM_NONE ? general : system->node_impls[own].custom;
}

/* List the set's members in `to`, in iteration order; returns their number. */
static uint32_t list_set(uint32_t *to, const stdset *set)
{
    uint32_t n = 0;
    for (uint32_t i = set->first; i != STDSET_END; i = set->next[i])
        to[n++] = i;
    return n;
}

static int compare_indexes(const void *a, const void *b, void *nodes)
{
    const sim_node *n = nodes;
    const uint32_t x = n[*(const uint32_t *)a].trace_index;
    const uint32_t y = n[*(const uint32_t *)b].trace_index;
    return x < y ? -1 : x > y;
}

/* Order children as a set would iterate over them after inserting them in file order. */
static bool order_children(algorithm *a, uint32_t *next)
{
    sim_program *p = &a->program;
    bool ok = true;
    for (uint32_t i = 0; i < p->n && ok; i++) {
        uint32_t *children = p->children + p->nodes[i].first_child;
        const uint32_t n = p->nodes[i + 1].first_child - p->nodes[i].first_child;
        stdset set;
        stdset_init(&set, a->ids, next);
        qsort_r(children, n, sizeof *children, compare_indexes, p->nodes);
        for (uint32_t k = 0; k < n; k++)
            ok = ok && stdset_add(&set, children[k]);
        if (ok)
            list_set(children, &set);
        stdset_fini(&set);
    }
    return ok;
}

/* List the roots in the iteration order of a map of all nodes, added in file order. */
static bool order_roots(algorithm *a, uint32_t *next, uint32_t *order)
{
    const sim_program *p = &a->program;
    uint32_t *has_parent = mem_array_zero(p->n, sizeof *has_parent);
    stdset all;
    stdset_init(&all, a->ids, next);
    bool ok = has_parent != NULL;
    for (uint32_t i = 0; ok && i < p->nodes[p->n].first_child; i++)
        has_parent[p->children[i]] = 1;
    for (uint32_t i = 0; ok && i < p->n; i++)
        order[i] = i;
    if (ok)
        qsort_r(order, p->n, sizeof *order, compare_indexes, p->nodes);
    for (uint32_t i = 0; ok && i < p->n; i++)
        ok = stdset_add(&all, order[i]);
    for (uint32_t i = all.first; ok && i != STDSET_END; i = all.next[i])
        if (!has_parent[i])
            a->roots[a->n_roots++] = i;
    stdset_fini(&all);
    free(has_parent);
    return ok;
}

static halley_status load_algorithm(algorithm *a, sim *s, const char *path)
{
    const sim_program_opts opts = {.cluster = s->cluster,
                                   .npu = &s->cluster->npu,
                                   .ticks_per_s = 1e9 * (double)s->ticks_per_ns,
                                   .custom = true};
    TRY(halley_trace_load(&a->trace, path, NULL, s->err));
    TRY(sim_program_init(&a->program, a->trace, &opts, s->err));
    const uint32_t n = a->program.n;
    a->ids = mem_array(n, sizeof *a->ids);
    a->roots = mem_array(n, sizeof *a->roots);
    uint32_t *scratch = mem_array((size_t)n * 2, sizeof *scratch);
    bool ok = a->ids != NULL && a->roots != NULL && scratch != NULL;
    for (uint32_t i = 0; ok && i < n; i++)
        a->ids[i] = sim_program_id(&a->program, i);
    ok = ok && order_children(a, scratch) && order_roots(a, scratch, scratch + n);
    free(scratch);
    return ok ? HALLEY_OK : error_nomem(s->err);
}

static const algorithm *find_algorithm(sim *s, const char *prefix, uint32_t place)
{
    sim_custom *c = s->custom;
    for (size_t i = 0; i < c->algorithms.n; i++)
        if (c->algorithms.at[i]->prefix == prefix && c->algorithms.at[i]->place == place)
            return c->algorithms.at[i];
    char path[4096];
    algorithm *a = calloc(1, sizeof *a);
    snprintf(path, sizeof path, "%s.%u.et", prefix, place);
    if (a == NULL || !array_push(&c->algorithms, a)) {
        free(a);
        sim_fail_memory(s);
        return NULL;
    }
    a->prefix = prefix;
    a->place = place;
    const halley_status status = load_algorithm(a, s, path);
    if (status != HALLEY_OK) {
        error_prefix(s->err, "custom collective: ");
        sim_fail(s, status);
        return NULL;
    }
    return a;
}

/* The index of a member's file: the rank, or its place among the group's sorted ranks. */
static uint32_t get_file_place(const sim *s, const sim_op *o, uint32_t rank)
{
    if (o->group == 0)
        return rank;
    const sim_group *g = &s->groups[o->group - 1];
    uint32_t place = 0;
    for (uint32_t i = 0; i < g->n; i++)
        place += g->ranks[i] < rank;
    return place;
}

static uint32_t new_play(sim *s, const algorithm *a, uint32_t op, uint32_t member)
{
    sim_custom *c = s->custom;
    uint32_t id = c->free_play;
    const size_t n = a->program.n;
    if (id == SIM_NONE && c->plays.n >= SIM_MAX_PLAYS) {
        sim_fail(s, error_set(s->err, HALLEY_ELIMIT,
                              "more than a million custom collectives at a time"));
        return SIM_NONE;
    }
    uint32_t *room = mem_array_zero(n * 3, sizeof *room);
    if (id != SIM_NONE)
        c->free_play = c->plays.at[id].next_free;
    else if (array_push(&c->plays, (play){0}))
        id = (uint32_t)c->plays.n - 1;
    if (room == NULL || id == SIM_NONE) {
        free(room);
        sim_fail_memory(s);
        return SIM_NONE;
    }
    play *p = &c->plays.at[id];
    *p = (play){.algorithm = a,
                .op = op,
                .member = member,
                .waiting = room,
                .snapshot = room + 2 * n};
    stdset_init(&p->ready, a->ids, room + n);
    for (uint32_t i = 0; i < a->program.nodes[n].first_child; i++)
        p->waiting[a->program.children[i]]++;
    return id;
}

/* The data of an all-gather is one member's input, but its chunks are parts of the
 * output. */
static uint64_t find_message_bytes(const sim_op *o, const sim_node *n)
{
    if (!(n->flags & SIM_NODE_CHUNKS))
        return n->amount;
    const uint64_t whole = o->gathers ? o->bytes * o->plan->n_members : o->bytes;
    const uint64_t bytes = sim_chunks_bytes(n->amount, whole);
    return bytes > 0 ? bytes : 1;
}

static void issue_play_node(sim *s, uint32_t id, uint32_t node)
{
    const play *p = &s->custom->plays.at[id];
    assert(p->algorithm != NULL && node < p->algorithm->program.n);
    const sim_op *o = &s->streams.ops.at[p->op];
    const sim_node *n = &p->algorithm->program.nodes[node];
    const uint32_t self = sim_member_get(s, p->op, p->member)->npu;
    const uint64_t then = sim_event_custom(id, node);
    uint32_t peer = n->a;
    if (n->type == HALLEY_NODE_COMP) {
        sim_call_after(s, self, n->amount, then);
        return;
    }
    if (n->type != HALLEY_NODE_SEND && n->type != HALLEY_NODE_RECV) {
        sim_fail(s, error_set(s->err, HALLEY_EINVAL,
                              "the trace of a custom collective may have send, receive "
                              "and compute nodes only, not %s",
                              halley_node_type_name(n->type)));
        return;
    }
    if (o->group != 0) {
        const sim_group *g = &s->groups[o->group - 1];
        peer = peer < g->n ? g->ranks[peer] : self;
    }
    if (peer == self) {
        sim_fail(s, error_set(s->err, HALLEY_EINVAL,
                              "%s: node %llu: the message goes to its own sender or to "
                              "no member of the group",
                              halley_trace_path(p->algorithm->trace),
                              (unsigned long long)p->algorithm->ids[node]));
        return;
    }
    const uint64_t bytes = find_message_bytes(o, n);
    if (n->type == HALLEY_NODE_SEND)
        sim_message_send(s, self, peer, n->b, bytes, then);
    else
        sim_message_recv(s, peer, self, n->b, bytes, then);
}

static void issue_play_nodes(sim *s, uint32_t id)
{
    play *p = &s->custom->plays.at[id];
    const uint32_t n = list_set(p->snapshot, &p->ready);
    assert(n == p->ready.n && n <= p->algorithm->program.n);
    for (uint32_t i = 0; i < n && s->status == HALLEY_OK; i++) {
        p->n_running++;
        stdset_remove(&p->ready, p->snapshot[i]);
        issue_play_node(s, id, p->snapshot[i]);
    }
}

static void start_custom(sim *s, uint32_t op, uint32_t member)
{
    const sim_op *o = &s->streams.ops.at[op];
    const uint32_t rank = sim_member_get(s, op, member)->npu;
    assert(o->custom != NULL && o->plan->n_phases == 1);
    const algorithm *a = find_algorithm(s, o->custom, get_file_place(s, o, rank));
    if (a == NULL)
        return;
    const uint32_t id = new_play(s, a, op, member);
    if (id == SIM_NONE)
        return;
    for (uint32_t i = 0; i < a->n_roots; i++) {
        if (!stdset_add(&s->custom->plays.at[id].ready, a->roots[i])) {
            sim_fail_memory(s);
            return;
        }
    }
    issue_play_nodes(s, id);
}

void sim_custom_ended(sim *s, uint64_t event)
{
    const sim_node_event e = sim_event_read_node(event);
    const uint32_t id = e.owner, node = e.node;
    assert(id < s->custom->plays.n);
    play *p = &s->custom->plays.at[id];
    const sim_program *program = &p->algorithm->program;
    assert(node < program->n && p->n_running > 0);
    p->n_running--;
    for (uint32_t i = program->nodes[node].first_child;
         i < program->nodes[node + 1].first_child; i++) {
        const uint32_t child = program->children[i];
        assert(child < program->n && p->waiting[child] > 0);
        if (--p->waiting[child] == 0 && !stdset_add(&p->ready, child))
            sim_fail_memory(s);
    }
    issue_play_nodes(s, id);
    if (p->n_running > 0 || p->ready.n > 0)
        return;
    const uint32_t op = p->op, member = p->member;
    free(p->waiting);
    stdset_fini(&p->ready);
    *p = (play){.next_free = s->custom->free_play};
    s->custom->free_play = id;
    sim_phase_ended(s, op, member);
}

/* match.c handles its messages. Its nodes end with their own event. */
const sim_phase_ops sim_custom_ops = {.start = start_custom,
                                      .is_called = sim_early_never};
