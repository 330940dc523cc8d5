/*
 * sim/fold.c - simulates identical ranks once.
 *
 * Ranks form a symmetry class if three conditions hold. Their traces are equal except for
 * the names of their groups (trace/core/twins.h). All members of a group belong to one
 * class. Groups that have the same place in the traces of a class have the same shape in
 * the network. One rank of each class is simulated. What it sends to another member of a
 * group arrives at itself, because the member before it sends the same at that moment.
 *
 * Why this gives exactly the times of the full run. Assume that up to some instant all
 * ranks of a class have processed the same events in the same order, except for names. An
 * event of a rank changes only the state of that rank and of the links at its end. It
 * schedules events of the rank itself, or messages to others. Where one rank of a class
 * sends and receives a message, every other rank of the class does so too. These messages
 * are in flight for the same time, because a phase is folded only if its packets take
 * equivalent routes from every rank (sim_fold_allows_plan). So all ranks of the class
 * have the same events at the next instant.
 *
 * Events of one instant are processed in the order in which they were scheduled. That
 * order is the same for all ranks if the events were scheduled at different times, by the
 * rank itself, or by one other rank. It does not matter for messages of the same phase of
 * the same chunk, which are only counted. In all other cases two events for one instant
 * were scheduled at one instant by different ranks, and their order may depend on the
 * rank. Then the folded run is abandoned, and all ranks are simulated.
 *
 * Folding is also abandoned, or not tried, for
 *
 *   - ASTRA-sim's rules, jitter, slow or late ranks, several kinds of NPU;
 *   - messages between two ranks, rendezvous, the shared bus, shared memory;
 *   - interference between kernels and communication;
 *   - roots, trees, in-network reduction, uneven all-to-alls, custom collectives;
 *   - a journal, a recording of every node or of link use, a run that stops early.
 *
 * A folded run that fails is
 * repeated with all ranks, unless memory ran out or the user cancelled it.
 */
#include "sim/fold.h"

#include "sim/rules.h"

#include <string.h>

typedef struct kinds {
    const halley_cluster *cluster;
    const trace_twins *twins;
} kinds;

/* The group with this name: index + 1; 0 = all ranks; SIM_NONE = there is none. */
static uint32_t find_group(const halley_cluster *c, str name)
{
    int64_t id;
    if (name.n == 0 || str_eq(name, STR("0")))
        return 0;
    if (!str_to_i64(name, &id))
        return SIM_NONE;
    const uint32_t group = cluster_find_group(c, id);
    return group == UINT32_MAX ? SIM_NONE : group + 1;
}

static bool read_rank_groups(sim_fold *f, const kinds *k)
{
    const trace_twins *t = k->twins;
    for (uint32_t r = 0; r < t->n_ranks; r++) {
        f->first_group[r] = t->names_at[r];
        for (uint32_t i = t->names_at[r]; i < t->names_at[r + 1]; i++) {
            f->groups[i] = find_group(k->cluster, t->names.at[i]);
            if (f->groups[i] == SIM_NONE)
                return false;
            for (uint32_t before = t->names_at[r]; before < i; before++)
                if (f->groups[before] == f->groups[i])
                    return false; /* one group has two names */
        }
    }
    f->first_group[t->n_ranks] = t->names_at[t->n_ranks];
    return true;
}

/* The index of a group in the list of groups of a rank, or SIM_NONE. */
static uint32_t find_group_place(const sim_fold *f, uint32_t rank, uint32_t group)
{
    assert(f->first_group[rank] <= f->first_group[rank + 1]);
    for (uint32_t i = f->first_group[rank]; i < f->first_group[rank + 1]; i++)
        if (f->groups[i] == group)
            return i - f->first_group[rank];
    return SIM_NONE;
}

static bool has_nothing_special(const halley_cluster *c, const halley_sim_opts *opts)
{
    const cluster_system *s = &c->system;
    bool custom = s->n_node_impls > 0;
    for (uint32_t i = 0; i < CLUSTER_N_COLLS; i++)
        custom = custom || s->colls[i].custom != NULL;
    return c->n_kinds < 2 && !opts->no_fold && !opts->record && !opts->heat &&
           opts->journal == HALLEY_JOURNAL_NONE && opts->stop_s == 0 &&
           sim_rules_get(c)->can_fold && !custom && !s->bus.on && !s->rendezvous &&
           s->jitter == 0 && s->slow == NULL && s->late_s == NULL &&
           s->interference[CLUSTER_KERNEL_MATMUL] == 0 &&
           s->interference[CLUSTER_KERNEL_ATTENTION] == 0 &&
           s->interference[CLUSTER_KERNEL_MEMORY] == 0;
}

bool sim_fold_is_possible(const halley_cluster *cluster, const halley_sim_opts *opts)
{
    const net_model *model = sim_model_find(cluster, opts);
    return cluster->n_npus > 1 && model != NULL && (model->can & NET_CAN_FOLD) != 0 &&
           has_nothing_special(cluster, opts);
}

static bool find_symmetry_classes(sim_fold *f, const kinds *k)
{
    const uint32_t n = k->twins->n_ranks;
    for (uint32_t r = 0; r < n; r++) {
        f->representative[r] = k->twins->first[r];
        assert(f->representative[r] <= r &&
               f->representative[f->representative[r]] == f->representative[r]);
        f->n_alike[f->representative[r]]++;
    }
    return read_rank_groups(f, k);
}

halley_status sim_fold_new(sim_fold **out, const halley_cluster *cluster,
                           const trace_twins *twins, halley_error *err)
{
    const kinds k = {cluster, twins};
    const uint32_t n = twins->n_ranks;
    *out = NULL;
    if (n != cluster->n_npus || twins->n_kinds == n)
        return HALLEY_OK;
    sim_fold *f = calloc(1, sizeof *f);
    if (f == NULL)
        return error_nomem(err);
    f->representative = mem_array(n, sizeof *f->representative);
    f->n_alike = mem_array_zero(n, sizeof *f->n_alike);
    f->first_group = mem_array((size_t)n + 1, sizeof *f->first_group);
    f->groups = mem_array(twins->names.n, sizeof *f->groups);
    f->npus = mem_array_zero(n, sizeof *f->npus);
    const bool room = f->representative != NULL && f->n_alike != NULL &&
                      f->first_group != NULL && f->groups != NULL && f->npus != NULL;
    if (room && find_symmetry_classes(f, &k)) {
        *out = f;
        return HALLEY_OK;
    }
    sim_fold_free(f, n);
    return room ? HALLEY_OK : error_nomem(err);
}

void sim_fold_free(sim_fold *f, uint32_t n_npus)
{
    if (f == NULL)
        return;
    for (uint32_t i = 0; f->npus != NULL && i < n_npus; i++)
        array_fini(&f->npus[i].events);
    free(f->representative);
    free(f->n_alike);
    free(f->first_group);
    free(f->groups);
    free(f->npus);
    array_fini(&f->phases);
    free(f);
}

static bool can_fold_node(const sim *s, const sim_node *n)
{
    if (n->flags & (SIM_NODE_TIMED | SIM_NODE_SKIP))
        return true;
    if (n->type == HALLEY_NODE_COLL)
        return !(n->flags & SIM_NODE_UNEVEN);
    if (n->type == HALLEY_NODE_MEM_LOAD || n->type == HALLEY_NODE_MEM_STORE)
        return s->memory.kind != CLUSTER_MEMORY_HIERARCHICAL &&
               mem_server_of(&s->memory, 0) == MEM_NONE;
    return false;
}

/* A collective of all ranks can be folded only if all ranks belong to one class. */
static bool can_fold_world(const sim *s, const sim_node *n, uint32_t rank)
{
    return (n->flags & (SIM_NODE_TIMED | SIM_NODE_SKIP)) || n->type != HALLEY_NODE_COLL ||
           n->a != SIM_NO_NAME || s->fold->n_alike[rank] == s->n_npus;
}

/* True unless the node is a collective whose group is missing in the rank's list of
 * groups. */
static bool can_fold_group(const sim *s, const sim_node *n, uint32_t rank)
{
    return (n->flags & (SIM_NODE_TIMED | SIM_NODE_SKIP)) || n->type != HALLEY_NODE_COLL ||
           n->a == SIM_NO_NAME ||
           find_group_place(s->fold, rank, sim_node_group(&s->ranks[rank], n)) !=
               SIM_NONE;
}

/* What is known of a group: its class and its place, as the first rank that names it has
 * them, and the members found so far. */
typedef struct seen_group {
    uint32_t kind, place, n_members;
} seen_group;

/* Check that a rank belongs to its groups, and that they have the same class, place, size
 * and shape as those of its representative. */
static bool note_groups(seen_group *seen, const sim *s, uint32_t rank)
{
    const sim_fold *f = s->fold;
    const uint32_t kind = f->representative[rank];
    for (uint32_t i = f->first_group[rank]; i < f->first_group[rank + 1]; i++) {
        const uint32_t place = i - f->first_group[rank], group = f->groups[i];
        const uint32_t theirs = f->groups[f->first_group[kind] + place];
        if ((group == 0) != (theirs == 0))
            return false;
        if (group == 0)
            continue;
        seen_group *g = &seen[group - 1];
        if (g->n_members++ == 0)
            *g = (seen_group){kind, place, 1};
        if (g->kind != kind || g->place != place ||
            sim_instance_place(&s->instance, group - 1, rank) == SIM_NONE ||
            s->cluster->groups[group - 1].n != s->cluster->groups[theirs - 1].n ||
            memcmp(s->streams.boxes[group - 1], s->streams.boxes[theirs - 1],
                   s->cluster->n_dims * sizeof(uint32_t)) != 0)
            return false;
    }
    return true;
}

/* True if every group has members of one class only, and all have it in the same place.
 */
static bool can_fold_groups(sim *s)
{
    seen_group *seen = mem_array_zero(s->cluster->n_groups, sizeof *seen);
    bool fits = seen != NULL;
    if (seen == NULL)
        sim_fail_memory(s);
    for (uint32_t r = 0; fits && r < s->n_npus; r++)
        fits = note_groups(seen, s, r);
    for (uint32_t i = 0; fits && i < s->cluster->n_groups; i++)
        fits = seen[i].n_members == 0 || seen[i].n_members == s->cluster->groups[i].n;
    free(seen);
    return fits;
}

bool sim_fold_allows(sim *s)
{
    bool fits = can_fold_groups(s);
    for (uint32_t r = 0; fits && r < s->n_npus; r++) {
        const sim_program *p = s->ranks[r].program;
        for (uint32_t i = 0; fits && s->fold->n_alike[r] > 0 && i < p->n; i++)
            fits = can_fold_node(s, &p->nodes[i]) && can_fold_world(s, &p->nodes[i], r) &&
                   can_fold_group(s, &p->nodes[i], r);
    }
    return fits;
}
static uint32_t get_member_rank(const sim *s, const sim_fold_phase *g, uint32_t group,
                                uint32_t member)
{
    return g->grouped ? s->cluster->groups[group - 1].ranks[member] : member;
}

static bool is_same_way(const net_way *a, const net_way *b)
{
    return a->dim == b->dim && a->link == b->link && a->crossed == b->crossed &&
           a->latency_ticks == b->latency_ticks && a->bytes_per_tick == b->bytes_per_tick;
}

/* True if packet k takes an equivalent route from every rank that takes part. */
static bool can_fold_packet(const sim *s, const coll_phase *p, const sim_fold_phase *g,
                            uint32_t k)
{
    const sim_fold *f = s->fold;
    net_way first = {0}, now;
    bool any = false;
    uint32_t of_kind = 0, place = 0;
    if (g->group != 0) {
        of_kind = f->representative[s->cluster->groups[g->group - 1].ranks[0]];
        place = find_group_place(f, of_kind, g->group);
    }
    for (uint32_t r = of_kind; r < s->n_npus; r++) {
        if (f->representative[r] != of_kind)
            continue;
        const uint32_t group = g->group == 0 ? 0 : f->groups[f->first_group[r] + place];
        const uint32_t member =
            g->grouped ? sim_instance_place(&s->instance, group - 1, r) : r;
        const uint32_t to = get_member_rank(s, g, group, coll_packet_to(p, member, k));
        assert(to < s->n_npus);
        if (to == r || !net_find_way(&now, s->net, r, to))
            return false;
        if (any && !is_same_way(&now, &first))
            return false;
        first = now;
        any = true;
    }
    return true;
}

static bool is_same_phase(const sim_fold_phase *a, const sim_fold_phase *b)
{
    return a->group == b->group && a->n == b->n && a->stride == b->stride &&
           a->level == b->level && a->n_sends == b->n_sends && a->algo == b->algo &&
           a->down == b->down && a->grouped == b->grouped;
}

static bool can_fold_phase(sim *s, const coll_plan *plan, const coll_phase *p,
                           uint32_t group)
{
    const sim_fold_phase g = {.group = group,
                              .n = p->n,
                              .stride = p->stride,
                              .level = p->level,
                              .n_sends = p->n_sends,
                              .algo = p->algo,
                              .down = p->down,
                              .grouped = plan->grouped};
    if (p->rooted != COLL_ROOTED_NONE || p->lopsided ||
        coll_algo_get(p->algo)->distance == NULL)
        return false;
    for (size_t i = 0; i < s->fold->phases.n; i++)
        if (is_same_phase(&s->fold->phases.at[i], &g))
            return true;
    assert(p->n_distances > 0);
    for (uint32_t k = 0; k < p->n_distances; k++)
        if (!can_fold_packet(s, p, &g, k))
            return false;
    if (!array_push(&s->fold->phases, g))
        sim_fail_memory(s);
    return true;
}

bool sim_fold_allows_plan(sim *s, const coll_plan *plan, uint32_t group)
{
    for (uint32_t i = 0; i < plan->n_phases; i++)
        if (!can_fold_phase(s, plan, &plan->phases[i], group))
            return false;
    return true;
}

void sim_fold_give_up(sim *s)
{
    s->fold->broken = true;
    sim_fail(s, HALLEY_EINVAL);
}

/* Identify the sender of a message relative to its receiver, and its chunk and phase. */
static sim_fold_event describe_event(const sim *s, uint64_t at, uint64_t event)
{
    if (event == 0)
        return (sim_fold_event){.at = at};
    const sim_packet_event e = sim_event_read_packet(event);
    const sim_op *o = &s->streams.ops.at[e.op];
    const uint32_t phase = sim_phase_at(o->plan, e.step);
    const coll_phase *p = &o->plan->phases[phase];
    const uint32_t distance = coll_algo_get(p->algo)->distance(p, e.step - p->first_step);
    return (sim_fold_event){
        .at = at,
        .flow = {1 + o->group, (uint64_t)p->n << 40 | (uint64_t)p->level << 32 |
                                   (uint64_t)p->down << 31 | (uint64_t)p->turns << 30 |
                                   distance},
        .mate = o->hash,
        .phase = phase};
}

/* True if the order of two events is the same for all ranks of the class. Both are for
 * the same time and were scheduled at the same time. */
static bool is_certain(const sim_fold_event *a, const sim_fold_event *b)
{
    const bool own = a->flow[0] == 0 && b->flow[0] == 0;
    const bool same_chunk = a->flow[0] != 0 && b->flow[0] == a->flow[0] &&
                            a->mate == b->mate && a->phase == b->phase;
    const bool same_sender = a->flow[0] != 0 && !a->mixed && !b->mixed &&
                             memcmp(a->flow, b->flow, sizeof a->flow) == 0;
    return own || same_chunk || same_sender;
}

void sim_fold_note(sim *s, uint32_t npu, uint64_t at, uint64_t event)
{
    sim_fold_npu *n = &s->fold->npus[npu];
    assert(npu < s->n_npus && s->fold->representative[npu] == npu);
    assert(at >= s->queue.now);
    const sim_fold_event e = describe_event(s, at, event);
    bool listed = false;
    if (n->now != s->queue.now)
        n->events.n = 0;
    n->now = s->queue.now;
    if (event != 0 && at == s->queue.now) {
        sim_fold_give_up(s);
        return;
    }
    for (size_t i = 0; i < n->events.n; i++) {
        sim_fold_event *other = &n->events.at[i];
        if (other->at != at)
            continue;
        if (!is_certain(other, &e)) {
            sim_fold_give_up(s);
            return;
        }
        if (other->flow[0] == e.flow[0] && other->mate == e.mate &&
            other->phase == e.phase) {
            listed = true;
            other->mixed = other->mixed || other->flow[1] != e.flow[1];
        }
    }
    if (!listed && !array_push(&n->events, e))
        sim_fail_memory(s);
}

/* Add rows of traffic for the groups whose collectives were not simulated. */
static bool spread_traffic(sim *s, uint32_t row)
{
    const sim_traffic t = s->traffic.at[row];
    const sim_fold *f = s->fold;
    if (t.group == 0)
        return true;
    const uint32_t of_kind = f->representative[s->cluster->groups[t.group - 1].ranks[0]];
    const uint32_t place = find_group_place(f, of_kind, t.group);
    for (uint32_t r = 0; place != SIM_NONE && r < s->n_npus; r++) {
        if (f->representative[r] != of_kind)
            continue;
        sim_traffic other = t;
        other.group = f->groups[f->first_group[r] + place];
        if (other.group == t.group || s->cluster->groups[other.group - 1].ranks[0] != r)
            continue;
        if (!array_push(&s->traffic, other))
            return false;
    }
    return true;
}

halley_status sim_fold_spread(sim *s)
{
    const uint32_t n_rows = (uint32_t)s->traffic.n;
    for (uint32_t r = 0; r < s->n_npus; r++) {
        if (s->fold->representative[r] == r)
            continue;
        assert(s->n_finished < s->n_npus && !s->ranks[r].finished);
        s->ranks[r] = s->ranks[s->fold->representative[r]];
        s->finishers[s->n_finished++] = r;
    }
    for (uint32_t i = 0; i < n_rows; i++)
        if (!spread_traffic(s, i))
            return error_nomem(s->err);
    return HALLEY_OK;
}
