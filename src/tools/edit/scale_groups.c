/*
 * Finds the data-parallel groups. Groups form families that cover every rank once, with
 * groups of one size and ranks at equal distances. Tensor-parallel groups make compute
 * wait for their reductions many times per step. Only weight updates wait for the
 * reductions of data-parallel groups. So a family is ruled out if compute waits for more
 * than half of its reductions.
 *
 * Of the remaining families, the one with the fewest collectives is taken as the
 * replicas. A family whose groups are parts of another remaining family's groups is not:
 * it holds the replicas of experts. Reductions of families for which compute never waits
 * have the size of the weights.
 */
#include "base/error.h"
#include "edit/scale.h"
#include "trace/core/levels.h"

#include <assert.h>
#include <stdlib.h>

/* The groups of one size and distance. */
typedef struct family {
    uint32_t n, stride;     /* ranks of a group, and their distance */
    uint32_t n_ranks;       /* number of ranks covered */
    uint64_t n_collectives; /* of rank 0 */
    bool whole;             /* the group of all ranks, which has no name */
    bool fits;              /* appears to be data parallel */
    bool never;             /* compute never waits for its reductions */
} family;
typedef ARRAY(family) family_array;

/* The distance of the ranks of a group. 0: not constant, or not aligned as replicas
 * are. */
static uint32_t stride_of(const trace_group *g)
{
    assert(g->n_ranks > 0);
    if (g->n_ranks < 2 || g->ranks[1] <= g->ranks[0])
        return 0;
    const uint32_t stride = g->ranks[1] - g->ranks[0];
    for (uint32_t i = 1; i < g->n_ranks; i++)
        if (g->ranks[i] != g->ranks[i - 1] + stride)
            return 0;
    return g->ranks[0] / stride % g->n_ranks == 0 ? stride : 0;
}

static bool belongs_to_group(const family *f, const trace_group *g)
{
    return !f->whole && g->n_ranks == f->n && stride_of(g) == f->stride;
}

static halley_status list_families(family_array *out, const scale_job *job,
                                   uint32_t n_ranks, halley_error *err)
{
    assert(n_ranks > 0);
    if (!array_push(
            out, (family){.n = n_ranks, .stride = 1, .n_ranks = n_ranks, .whole = true}))
        return error_nomem(err);
    for (size_t i = 0; i < job->groups.list.n; i++) {
        const trace_group *const g = &job->groups.list.at[i];
        size_t at = 0;
        if (stride_of(g) == 0)
            continue;
        while (at < out->n && !belongs_to_group(&out->at[at], g))
            at++;
        if (at == out->n &&
            !array_push(out, (family){.n = g->n_ranks, .stride = stride_of(g)}))
            return error_nomem(err);
        out->at[at].n_ranks += g->n_ranks;
    }
    return HALLEY_OK;
}

static void unmark_group(scale_job *job)
{
    map64_fini(&job->data_parallel);
    job->data_parallel = (map64){0};
}

static halley_status mark_group(scale_job *job, const family *f, halley_error *err)
{
    assert(f != NULL);
    bool fine = !f->whole || map64_set(&job->data_parallel, hash_bytes("", 0, 0), 1);
    for (size_t i = 0; fine && i < job->groups.list.n; i++) {
        const trace_group *const g = &job->groups.list.at[i];
        if (belongs_to_group(f, g))
            fine =
                map64_set(&job->data_parallel, hash_bytes(g->name.at, g->name.n, 0), 1);
    }
    job->dp = f->n;
    job->stride = f->stride;
    return fine ? HALLEY_OK : error_nomem(err);
}

static bool is_reduction(const halley_trace *t, uint32_t node, bool *fits)
{
    assert(node < halley_trace_count(t));
    trace_roles r;
    uint64_t type = 0;
    trace_roles_read(&r, t, node);
    (void)trace_roles_u64(&r, TRACE_ROLE_COMM_TYPE, &type);
    *fits &= type != HALLEY_COLL_ALL_TO_ALL;
    return type == HALLEY_COLL_ALL_REDUCE || type == HALLEY_COLL_REDUCE_SCATTER ||
           type == HALLEY_COLL_REDUCE;
}

/* Decides whether the marked groups appear to be data parallel on a rank, and counts its
 * collectives. */
static halley_status judge_group(family *f, const scale_job *job, const halley_trace *t,
                                 halley_error *err)
{
    bool *updates = NULL;
    TRY(scale_updates(&updates, job, t, false, err));
    const uint32_t n = halley_trace_count(t);
    bool *const waited = mem_array_zero(n, sizeof *waited);
    uint64_t n_reduced = 0, n_waited = 0;
    f->fits = true;
    f->n_collectives = 0;
    for (uint32_t i = 0; waited && i < n; i++)
        for (uint32_t k = 0; k < trace_deps_count(t, i); k++) {
            const uint32_t dep = trace_deps_index(t, i, k);
            if (dep != HALLEY_NO_NODE && halley_node_type_of(t, i) == HALLEY_NODE_COMP &&
                !updates[i])
                waited[dep] = true;
        }
    for (uint32_t i = 0; waited && i < n; i++) {
        if (!scale_is_data_parallel(job, t, i))
            continue;
        f->n_collectives++;
        if (is_reduction(t, i, &f->fits)) {
            n_reduced++;
            n_waited += waited[i];
        }
    }
    f->fits &= f->n_collectives > 0 && 2 * n_waited <= n_reduced;
    f->never = f->fits && n_waited == 0;
    const bool fine = waited != NULL;
    free(updates);
    free(waited);
    return fine ? HALLEY_OK : error_nomem(err);
}

/* Is every group of a family a part of one of the other's? */
static bool is_part_of(const family *f, const family *other)
{
    return other->n > f->n && f->stride % other->stride == 0 &&
           (uint64_t)f->n * f->stride == (uint64_t)other->n * other->stride;
}

static bool is_more_likely(const family *f, const family *than)
{
    if (than == NULL || is_part_of(than, f))
        return true;
    return !is_part_of(f, than) && f->n_collectives < than->n_collectives;
}

static halley_status choose_groups(const family **out, family_array *families,
                                   scale_job *job, const halley_trace_set *set,
                                   halley_error *err)
{
    assert(families->n > 0);
    *out = NULL;
    for (size_t i = 0; i < families->n; i++) {
        family *const f = &families->at[i];
        if (f->n_ranks != halley_trace_set_count(set) || f->n < 2)
            continue;
        unmark_group(job);
        TRY(mark_group(job, f, err));
        TRY(judge_group(f, job, halley_trace_set_get(set, 0), err));
        if (f->fits && is_more_likely(f, *out))
            *out = f;
    }
    unmark_group(job);
    return HALLEY_OK;
}

static const trace_group *group_named(const scale_job *job, str name)
{
    for (size_t i = 0; i < job->groups.list.n; i++)
        if (str_eq(job->groups.list.at[i].name, name))
            return &job->groups.list.at[i];
    return NULL;
}

/* The family that a list of names refers to. */
static halley_status take_named(family *out, const scale_job *job, uint32_t n_ranks,
                                halley_error *err)
{
    assert(n_ranks > 0);
    str rest = str_from(job->opts->dp_groups), name;
    *out = (family){0};
    while (str_next(&rest, ',', &name)) {
        const str word = str_trim(name);
        const trace_group *const g = group_named(job, word);
        if (str_eq(word, STR("0")) || str_eq(word, STR("all"))) {
            *out = (family){.n = n_ranks, .stride = 1, .n_ranks = n_ranks, .whole = true};
            return HALLEY_OK;
        }
        if (!g)
            return error_set(err, HALLEY_EINVAL, "there is no group \"%.*s\"",
                             STR_ARG(word));
        if (stride_of(g) == 0 || (out->n != 0 && !belongs_to_group(out, g)))
            return error_set(
                err, HALLEY_EINVAL,
                "the ranks of group %.*s are not at even distances, or not as "
                "those of the other groups",
                STR_ARG(word));
        *out = (family){.n = g->n_ranks,
                        .stride = stride_of(g),
                        .n_ranks = out->n_ranks + g->n_ranks};
    }
    return HALLEY_OK;
}

static halley_status find_named_group(scale_job *job, uint32_t n_ranks, halley_error *err)
{
    family named;
    TRY(take_named(&named, job, n_ranks, err));
    if (named.n_ranks == 0 || n_ranks % (named.n * named.stride) != 0)
        return error_set(err, HALLEY_EINVAL, "the groups %s do not divide the %u ranks",
                         job->opts->dp_groups, n_ranks);
    job->report->dp_before = named.n;
    return mark_group(job, &named, err);
}

halley_status scale_find_data_parallel(scale_job *job, const halley_trace_set *set,
                                       bool all, halley_error *err)
{
    assert(halley_trace_set_count(set) > 0);
    const uint32_t n_ranks = halley_trace_set_count(set);
    unmark_group(job);
    if (job->opts->dp_groups)
        return find_named_group(job, n_ranks, err);
    family_array families = {0};
    const family *chosen = NULL;
    halley_status status = list_families(&families, job, n_ranks, err);
    if (status == HALLEY_OK)
        status = choose_groups(&chosen, &families, job, set, err);
    for (size_t i = 0; status == HALLEY_OK && i < families.n; i++)
        if (all && families.at[i].never)
            status = mark_group(job, &families.at[i], err);
    if (status == HALLEY_OK && chosen) {
        job->report->dp_before = chosen->n;
        status = mark_group(job, chosen, err);
    } else if (status == HALLEY_OK && job->opts->dp != 0 && !all) {
        status = error_set(err, HALLEY_EINVAL,
                           "no data-parallel group was found: where there is one replica "
                           "only, traces do not say what several would exchange; else "
                           "--dp-groups names the groups (0 for all ranks)");
    }
    array_fini(&families);
    return status;
}
