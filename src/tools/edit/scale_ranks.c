/*
 * More or fewer replicas. The ranks of a data-parallel group are at equal distances
 * (stride), so a rank has three coordinates: low (below the stride), replica, high. A
 * new rank of replica i does what replica i modulo the old number did at the same low
 * and high. Its peers and its groups within the replica move along. Groups over all
 * replicas grow or shrink. Each replica keeps its batch.
 *
 * A gather in such a group collects from each rank its shard of the weights. The shard
 * becomes smaller with more ranks, and so do the operations and bytes of its update.
 * Part of the duration of an update does not depend on the bytes. The fastest of the
 * nodes that only move data gives the time per byte.
 *
 * Other groups may hold some of the ranks of a data-parallel group: those that share
 * experts, or a sequence. Then several ranks together are the unit that is copied, and
 * the data-parallel group consists of such units. A group with one rank left needs no
 * collectives: they become nodes that do nothing.
 */
#include "base/error.h"
#include "edit/scale.h"
#include "trace/core/edit.h"
#include "trace/core/levels.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct coordinates {
    uint32_t low, replica, high;
} coordinates;

/* What happens to a group. */
typedef struct group_change {
    bool spans;      /* covers all replicas; else it is in one */
    uint32_t first;  /* in names: by new replica, if it does not span */
    uint32_t before; /* members */
    uint32_t after;
} group_change;

typedef struct mover {
    scale_job *job;
    const halley_trace_set *set;
    uint32_t n_before, n_after; /* ranks */
    uint32_t d, stride, dp;     /* old number of replicas, their distance, new number */
    trace_groups fresh;
    ARRAY(group_change) changes; /* by old group */
    ARRAY(const char *) names;
    map64 index; /* hash of an old name -> its group */
    int64_t next_number;
} mover;

static coordinates place_replica(const mover *m, uint32_t rank, uint32_t replicas)
{
    assert(m->stride > 0 && replicas > 0);
    return (coordinates){rank % m->stride, rank / m->stride % replicas,
                         rank / m->stride / replicas};
}

static uint32_t rank_at(const mover *m, coordinates c, uint32_t replicas)
{
    return c.low + m->stride * (c.replica + replicas * c.high);
}

static halley_status add_replica_group(mover *m, const char *name, uint32_t *ranks,
                                       uint32_t n, halley_error *err)
{
    assert(n > 0 && ranks != NULL);
    const trace_group group = {str_from(name), ranks, n};
    return array_push(&m->fresh.list, group) ? HALLEY_OK : error_nomem(err);
}

/* True if each rank of the group has its counterparts in all replicas in the group. */
static bool has_all_ranks(const mover *m, const trace_group *g)
{
    for (uint32_t i = 0; i < g->n_ranks; i++) {
        coordinates c = place_replica(m, g->ranks[i], m->d);
        uint32_t n = 0;
        for (c.replica = 0; c.replica < m->d; c.replica++)
            for (uint32_t k = 0; k < g->n_ranks; k++)
                n += g->ranks[k] == rank_at(m, c, m->d);
        if (n != m->d)
            return false;
    }
    return true;
}

/* A group over all replicas: for each low and high it has, it gets the ranks of all new
 * replicas. */
static halley_status widen_group(mover *m, const trace_group *g, group_change *change,
                                 halley_error *err)
{
    assert(g->n_ranks > 0);
    change->spans = true;
    if (!has_all_ranks(m, g))
        return HALLEY_EINVAL;
    change->after = g->n_ranks / m->d * m->dp;
    uint32_t *const ranks = arena_array(&m->fresh.memory, change->after, sizeof *ranks);
    const char *const name = arena_copy(&m->fresh.memory, g->name);
    if (!ranks || !name)
        return error_nomem(err);
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_ranks; i++) {
        coordinates c = place_replica(m, g->ranks[i], m->d);
        if (c.replica != 0)
            continue;
        for (c.replica = 0; c.replica < m->dp && n < change->after; c.replica++)
            ranks[n++] = rank_at(m, c, m->dp);
    }
    mem_sort_u32(ranks, n);
    return n < 2 ? HALLEY_OK : add_replica_group(m, name, ranks, n, err);
}

/* A group within a replica: makes one for each new replica that copies this one. */
static halley_status repeat_group(mover *m, const trace_group *g, group_change *change,
                                  halley_error *err)
{
    assert(g->n_ranks > 0);
    const uint32_t own = place_replica(m, g->ranks[0], m->d).replica;
    change->first = (uint32_t)m->names.n;
    change->after = g->n_ranks;
    for (uint32_t i = 0; i < m->dp; i++) {
        if (i % m->d != own) {
            if (!array_push(&m->names, ""))
                return error_nomem(err);
            continue;
        }
        uint32_t *const ranks = arena_array(&m->fresh.memory, g->n_ranks, sizeof *ranks);
        const char *const name =
            i == own ? arena_copy(&m->fresh.memory, g->name)
                     : arena_printf(&m->fresh.memory, "%" PRId64, m->next_number++);
        if (!ranks || !name || !array_push(&m->names, name))
            return error_nomem(err);
        for (uint32_t k = 0; k < g->n_ranks; k++) {
            coordinates c = place_replica(m, g->ranks[k], m->d);
            c.replica = i;
            ranks[k] = rank_at(m, c, m->dp);
        }
        TRY(add_replica_group(m, name, ranks, g->n_ranks, err));
    }
    return HALLEY_OK;
}

static bool lies_in_one(const mover *m, const trace_group *g)
{
    assert(g->n_ranks > 0);
    for (uint32_t i = 1; i < g->n_ranks; i++)
        if (place_replica(m, g->ranks[i], m->d).replica !=
            place_replica(m, g->ranks[0], m->d).replica)
            return false;
    return true;
}

static halley_status change_groups(mover *m, halley_error *err)
{
    const trace_groups *const old = &m->job->groups;
    m->next_number = 1;
    for (size_t i = 0; i < old->list.n; i++) {
        int64_t number;
        if (str_to_i64(old->list.at[i].name, &number) && number >= m->next_number)
            m->next_number = number + 1;
    }
    for (uint32_t i = 0; i < old->list.n; i++) {
        const trace_group *const g = &old->list.at[i];
        group_change change = {.before = g->n_ranks};
        halley_status status = HALLEY_EINVAL;
        if (g->n_ranks > 0)
            status = lies_in_one(m, g) ? repeat_group(m, g, &change, err)
                                       : widen_group(m, g, &change, err);
        if (status == HALLEY_EINVAL)
            return error_set(
                err, HALLEY_EINVAL,
                "group %.*s has ranks of some replicas but not of all, so the "
                "number of replicas cannot be changed",
                STR_ARG(g->name));
        TRY(status);
        if (!array_push(&m->changes, change) ||
            !map64_set(&m->index, hash_bytes(g->name.at, g->name.n, 0), i))
            return error_nomem(err);
    }
    return HALLEY_OK;
}

/* One new rank. */
typedef struct moving {
    mover *m;
    const halley_trace *trace;
    coordinates old, fresh;
    bool *updates;
    double ns_per_byte; /* of nodes that only move data; 0 = there are none */
    halley_builder *b;
} moving;

static halley_status move_peer(moving *v, halley_attr *attr, uint32_t node,
                               halley_error *err)
{
    assert(node < halley_trace_count(v->trace));
    const mover *const m = v->m;
    uint64_t rank;
    if (!halley_attr_to_u64(attr, &rank) || rank >= m->n_before)
        return HALLEY_OK;
    coordinates c = place_replica(m, (uint32_t)rank, m->d);
    if (c.replica != v->old.replica) {
        error_set(err, HALLEY_EINVAL,
                  "a message goes from one replica to another, so the number of replicas "
                  "cannot be changed");
        error_at_file(err, halley_trace_path(v->trace));
        error_at_node(err, halley_node_id(v->trace, node));
        return HALLEY_EINVAL;
    }
    c.replica = v->fresh.replica;
    attr->bits = rank_at(m, c, m->dp);
    return HALLEY_OK;
}

/* The group of a collective. NULL: all ranks. */
static const group_change *change_of(const mover *m, halley_bytes group)
{
    const uint32_t at = group.n == 0
                            ? HASH_NONE
                            : map64_find(&m->index, hash_bytes(group.at, group.n, 0));
    return at == HASH_NONE ? NULL : &m->changes.at[at];
}

/* The factor of a collective's bytes when its group changes. */
static double size_factor(const mover *m, const trace_roles *r)
{
    uint64_t type = HALLEY_N_COLL_TYPES;
    const group_change *const change = change_of(m, trace_roles_group(r));
    const bool parts = trace_roles_u64(r, TRACE_ROLE_COMM_TYPE, &type) &&
                       (type == HALLEY_COLL_ALL_GATHER || type == HALLEY_COLL_GATHER);
    if (!parts)
        return 1;
    if (!change)
        return (double)m->n_before / m->n_after;
    return (double)change->before / change->after;
}

static halley_status move_attr(moving *v, halley_attr *attr, uint32_t node,
                               halley_error *err)
{
    switch (trace_role_of(attr->name)) {
    case TRACE_ROLE_COMM_SRC:
    case TRACE_ROLE_COMM_DST:
        return move_peer(v, attr, node, err);
    case TRACE_ROLE_PG_NAME: {
        const group_change *const change = change_of(v->m, attr->bytes);
        if (change && !change->spans && attr->kind == HALLEY_ATTR_STRING) {
            const str name = str_from(v->m->names.at[change->first + v->fresh.replica]);
            attr->bytes = (halley_bytes){name.at, name.n};
        }
        return HALLEY_OK;
    }
    default:
        return HALLEY_OK;
    }
}

/* Writes the node: changes its numbers first, then peers and groups. */
static halley_status put_rest(moving *v, uint32_t node, halley_error *err)
{
    assert(node < halley_trace_count(v->trace));
    const halley_trace *const t = v->trace;
    const uint32_t type = halley_node_type_of(t, node);
    const double fewer = (double)v->m->d / v->m->dp;
    scale_factors f = {1, 1, 1, 1};
    if (v->updates[node])
        f = scale_update_factors(t, node, fewer, v->ns_per_byte);
    if (type == HALLEY_NODE_COMP || type < HALLEY_NODE_COMP)
        return scale_copy_rest(v->b, t, node, &f, err);
    trace_roles r;
    trace_roles_read(&r, t, node);
    if (type == HALLEY_NODE_COLL)
        f.message = size_factor(v->m, &r);
    TRY(halley_builder_time(v->b, halley_node_start_us(t, node),
                            halley_node_duration_us(t, node)));
    for (uint32_t i = 0; i < halley_node_attr_count(t, node); i++) {
        halley_attr attr = halley_node_attr(t, node, i);
        uint64_t size;
        if (trace_role_of(attr.name) == TRACE_ROLE_COMM_SIZE && f.message != 1 &&
            halley_attr_to_u64(&attr, &size)) {
            const double product = (double)size * f.message + 0.5;
            attr.bits = product < 1 ? 1 : (uint64_t)product;
        }
        TRY(move_attr(v, &attr, node, err));
        TRY(halley_builder_attr(v->b, &attr));
    }
    return HALLEY_OK;
}

/* Is the node a collective of a group with one rank left? */
static bool is_alone(const moving *v, uint32_t node)
{
    assert(node < halley_trace_count(v->trace));
    trace_roles r;
    if (halley_node_type_of(v->trace, node) != HALLEY_NODE_COLL)
        return false;
    trace_roles_read(&r, v->trace, node);
    const group_change *const change = change_of(v->m, trace_roles_group(&r));
    return change ? change->spans && change->after == 1 : v->m->n_after == 1;
}

static halley_status put_replica_nodes(moving *v, halley_error *err)
{
    const halley_trace *const t = v->trace;
    for (uint32_t i = 0; i < halley_trace_count(t); i++) {
        if (is_alone(v, i)) {
            TRY(edit_joint(v->b, halley_node_id(t, i)));
            TRY(scale_copy_deps(v->b, t, i));
            continue;
        }
        TRY(halley_builder_node(v->b, halley_node_id(t, i), halley_node_type_of(t, i),
                                halley_node_name(t, i)));
        TRY(scale_copy_deps(v->b, t, i));
        TRY(put_rest(v, i, err));
    }
    return HALLEY_OK;
}

static halley_status make_replica_rank(halley_trace **out, mover *m, uint32_t rank,
                                       halley_error *err)
{
    assert(rank < m->n_after);
    moving v = {.m = m, .fresh = place_replica(m, rank, m->dp)};
    v.old = v.fresh;
    v.old.replica = v.fresh.replica % m->d;
    v.trace = halley_trace_set_get(m->set, rank_at(m, v.old, m->d));
    v.ns_per_byte = scale_fastest(v.trace);
    TRY(scale_updates(&v.updates, m->job, v.trace, true, err));
    halley_status status = edit_start(&v.b, v.trace, err);
    if (status == HALLEY_OK)
        status = edit_finish(out, v.b, put_replica_nodes(&v, err), err);
    for (uint32_t i = 0; rank == 0 && i < halley_trace_count(v.trace); i++)
        m->job->report->n_updates += v.updates[i];
    free(v.updates);
    return status;
}

static halley_status make_replica_ranks(halley_trace_set **out, mover *m,
                                        halley_error *err)
{
    halley_trace **const ranks = mem_array_zero(m->n_after, sizeof *ranks);
    halley_status status = ranks ? HALLEY_OK : error_nomem(err);
    for (uint32_t r = 0; r < m->n_after && status == HALLEY_OK; r++)
        status = make_replica_rank(&ranks[r], m, r, err);
    if (status == HALLEY_OK)
        status = halley_trace_set_new(out, ranks, m->n_after, err);
    for (uint32_t r = 0; status != HALLEY_OK && ranks && r < m->n_after; r++)
        halley_trace_free(ranks[r]);
    free(ranks);
    return status;
}

static void forget_groups(mover *m)
{
    trace_groups_fini(&m->fresh);
    m->fresh = (trace_groups){0};
    array_fini(&m->changes);
    array_fini(&m->names);
    map64_fini(&m->index);
    m->index = (map64){0};
}

/* Finds the unit that is copied: one rank of the data-parallel group or, if other groups
 * hold some of its ranks, the smallest number of ranks that no group divides. */
static halley_status find_replicas(mover *m, halley_error *err)
{
    const uint32_t dp = m->job->dp, to = m->job->opts->dp, stride = m->job->stride;
    halley_status status = HALLEY_EINVAL;
    if (dp < 2)
        return error_set(
            err, HALLEY_EINVAL,
            "there is one replica only, which does not show what several "
            "would exchange; if it is one rank of a job, make all ranks with "
            "'halley trace spread' first");
    for (uint32_t k = 1; k <= dp && status == HALLEY_EINVAL; k++) {
        if (dp % k != 0 || to % k != 0 || k == dp)
            continue;
        forget_groups(m);
        m->d = dp / k;
        m->stride = stride * k;
        m->dp = to / k;
        status = change_groups(m, k == 1 ? err : NULL);
    }
    return status;
}

halley_status scale_ranks(halley_trace_set **set, scale_job *job, halley_error *err)
{
    assert(job->opts->dp > 0);
    mover m = {.job = job, .set = *set, .n_before = halley_trace_set_count(*set)};
    const uint64_t n_after = (uint64_t)m.n_before / job->dp * job->opts->dp;
    if (n_after > 1048576)
        return error_set(err, HALLEY_ELIMIT, "%" PRIu64 " ranks are more than 1048576",
                         n_after);
    m.n_after = (uint32_t)n_after;
    halley_trace_set *fresh = NULL;
    halley_status status = find_replicas(&m, err);
    if (status == HALLEY_OK)
        status = make_replica_ranks(&fresh, &m, err);
    if (status == HALLEY_OK) {
        trace_groups_fini(&job->groups);
        job->groups = m.fresh;
        m.fresh = (trace_groups){0};
        halley_trace_set_free(*set);
        *set = fresh;
    }
    forget_groups(&m);
    return status;
}
