/*
 * sim/path.c - the critical path, followed backwards from the node that ended last. Each
 * step goes to what the node waited for:
 *
 *   - a receive waited for its send, if the send began later;
 *   - a collective waited for the member that came last;
 *   - any other node waited for its first dependency that ended when it began;
 *   - if all dependencies had ended before, it waited for a node of its rank that ended
 *     at that moment and freed its slot.
 *
 * If one rank was simulated for many, the path is that of one of them. It starts at the
 * lowest rank of the class that ended last. From a receive it goes to the rank that sent
 * to this one. From a collective it goes to the lowest member of its group in the late
 * class.
 */
#include "base/hash.h"
#include "sim/result.h"

#include <string.h>

typedef ARRAY(halley_path_step) steps;

/* Which nodes a node of a program waits for, and where nodes of the trace are in the
 * program. */
typedef struct waits {
    uint32_t *place; /* by index in the trace */
    uint32_t *at;    /* by place, and one more: index in `on` */
    uint32_t *on;    /* places, rising */
} waits;

typedef struct walker {
    const sim *s;
    uint32_t **by_end;     /* by rank: nodes by when they ended, built on first use */
    waits *waits;          /* by program of the instance, also built on first use */
    map64 last;            /* stream -> index in lasts */
    ARRAY(uint64_t) lasts; /* rank << 32 | node that came last to a stream */
    steps path;
} walker;

/* A position on the path: a node of a simulated rank, and the rank that it represents
 * here. */
typedef struct spot {
    uint32_t rank, node; /* node: by index in the trace */
    uint32_t npu;
} spot;

static uint64_t begin_of(const walker *w, uint32_t rank, uint32_t node)
{
    assert(rank < w->s->n_ranks && node < w->s->ranks[rank].program->n);
    return w->s->ranks[rank].begins[node];
}

static uint64_t end_of(const walker *w, uint32_t rank, uint32_t node)
{
    return w->s->ranks[rank].ends[node];
}

static uint64_t link_of(const walker *w, uint32_t rank, uint32_t node)
{
    return w->s->ranks[rank].links[node];
}

static uint32_t count_nodes(const walker *w, uint32_t rank)
{
    return w->s->ranks[rank].program->n;
}

static void free_waits(waits *of)
{
    free(of->place);
    free(of->at);
    free(of->on);
    *of = (waits){0};
}

/* Invert the lists of children into lists of parents: count, sum up, fill. */
static bool list_waits(waits *out, const sim_program *p)
{
    const uint32_t n_edges = p->nodes[p->n].first_child;
    out->place = mem_array(p->n, sizeof *out->place);
    out->at = mem_array_zero((size_t)p->n + 2, sizeof *out->at);
    out->on = mem_array(n_edges, sizeof *out->on);
    if (out->place == NULL || out->at == NULL || out->on == NULL) {
        free_waits(out); /* a later call must not find half a list */
        return false;
    }
    for (uint32_t i = 0; i < n_edges; i++)
        out->at[p->children[i] + 2]++;
    for (uint32_t i = 0; i < p->n; i++) {
        out->place[p->nodes[i].trace_index] = i;
        out->at[i + 2] += out->at[i + 1];
    }
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = p->nodes[i].first_child; k < p->nodes[i + 1].first_child; k++)
            out->on[out->at[p->children[k] + 1]++] = i;
    assert(out->at[0] == 0 && out->at[p->n] == n_edges);
    return true;
}

/* NULL: no memory. */
static const waits *get_waits(walker *w, uint32_t rank)
{
    const sim_instance *in = &w->s->instance;
    waits *of = &w->waits[in->program_of[w->s->ranks[rank].npu]];
    if (of->place == NULL &&
        !list_waits(of, in->programs.at[in->program_of[w->s->ranks[rank].npu]]))
        return NULL;
    return of;
}

/* Find the member that came last to every collective. */
static bool find_lasts(walker *w)
{
    for (uint32_t rank = 0; rank < w->s->n_ranks; rank++) {
        const sim_program *p = w->s->ranks[rank].program;
        for (uint32_t k = 0; k < p->n; k++) {
            const uint32_t i = p->nodes[k].trace_index;
            assert(i < p->n);
            const uint64_t link = link_of(w, rank, i);
            uint32_t at = (uint32_t)w->lasts.n;
            bool fresh;
            if (link == 0 || p->nodes[k].type != HALLEY_NODE_COLL)
                continue;
            if (!map64_put(&w->last, link, &at, &fresh))
                return false;
            const uint64_t here = (uint64_t)rank << 32 | i;
            if (fresh && !array_push(&w->lasts, here))
                return false;
            const uint64_t there = w->lasts.at[at];
            assert(fresh ? at + 1 == w->lasts.n : at < w->lasts.n);
            if (begin_of(w, rank, i) >
                begin_of(w, (uint32_t)(there >> 32), (uint32_t)there))
                w->lasts.at[at] = here;
        }
    }
    return true;
}

typedef struct by_end {
    const walker *w;
    uint32_t rank;
} by_end;

static int ends_before(const void *a, const void *b, void *context)
{
    const by_end *by = context;
    const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const uint64_t x = end_of(by->w, by->rank, i), y = end_of(by->w, by->rank, k);
    if (x != y)
        return x < y ? -1 : 1;
    return i < k ? -1 : i > k;
}

static const uint32_t *nodes_by_end(walker *w, uint32_t rank)
{
    assert(rank < w->s->n_ranks);
    if (w->by_end[rank] != NULL)
        return w->by_end[rank];
    const uint32_t n = count_nodes(w, rank);
    uint32_t *order = mem_array(n, sizeof *order);
    by_end by = {w, rank};
    for (uint32_t i = 0; order != NULL && i < n; i++)
        order[i] = i;
    if (order != NULL)
        qsort_r(order, n, sizeof *order, ends_before, &by);
    w->by_end[rank] = order;
    return order;
}

/* Find a node of the rank that ended at this time and began before it, or HALLEY_NO_NODE.
 */
static bool find_ended_at(uint32_t *out, walker *w, uint32_t rank, uint64_t at)
{
    const uint32_t *order = nodes_by_end(w, rank);
    uint32_t lo = 0, hi = count_nodes(w, rank);
    *out = HALLEY_NO_NODE;
    if (order == NULL)
        return false;
    while (lo < hi) {
        const uint32_t middle = lo + (hi - lo) / 2;
        if (end_of(w, rank, order[middle]) < at)
            lo = middle + 1;
        else
            hi = middle;
    }
    for (; lo < count_nodes(w, rank) && end_of(w, rank, order[lo]) == at; lo++) {
        if (begin_of(w, rank, order[lo]) < at) {
            *out = order[lo];
            break;
        }
    }
    return true;
}

/* Find the first dependency that ended exactly when the node began, or HALLEY_NO_NODE.
 * Returns false if memory runs out. */
static bool find_dependency(uint32_t *out, walker *w, const spot *at)
{
    assert(at->rank < w->s->n_ranks && at->node < count_nodes(w, at->rank));
    const waits *of = get_waits(w, at->rank);
    const sim_program *p = w->s->ranks[at->rank].program;
    *out = HALLEY_NO_NODE;
    if (of == NULL)
        return false;
    const uint32_t place = of->place[at->node];
    for (uint32_t i = of->at[place]; i < of->at[place + 1]; i++) {
        const uint32_t node = p->nodes[of->on[i]].trace_index;
        if (end_of(w, at->rank, node) == begin_of(w, at->rank, at->node)) {
            *out = node;
            break;
        }
    }
    return true;
}

static uint32_t get_class(const sim *s, uint32_t npu)
{
    return s->class_of == NULL ? npu : s->class_of[npu];
}

/* The lowest member of a collective's group that belongs to the class. */
static uint32_t find_member(const walker *w, const sim_node *n, uint32_t npu,
                            uint32_t class_id)
{
    const sim_instance *in = &w->s->instance;
    if (n->a == SIM_NO_NAME || in->values == NULL)
        return w->s->ranks[class_id].npu; /* of all ranks, the first of its class */
    const cluster_group *g = &in->groups[in->values[npu][n->a]];
    assert(in->values[npu][n->a] < in->n_groups);
    for (uint32_t i = 0; i < g->n; i++)
        if (get_class(w->s, g->ranks[i]) == class_id)
            return g->ranks[i];
    return w->s->ranks[class_id].npu;
}

/* Move to the node of another rank that held this node up, if it began later. Returns
 * false if there is none, or if memory runs out. */
static bool find_other(walker *w, spot *at, halley_why *why)
{
    const sim *s = w->s;
    const uint64_t link = link_of(w, at->rank, at->node);
    const waits *of = link == 0 ? NULL : get_waits(w, at->rank);
    if (of == NULL)
        return false;
    const sim_node *n = &s->ranks[at->rank].program->nodes[of->place[at->node]];
    const bool coll = n->type == HALLEY_NODE_COLL;
    const uint64_t other = coll ? w->lasts.at[map64_find(&w->last, link)] : link - 1;
    const uint32_t rank = (uint32_t)(other >> 32), node = (uint32_t)other;
    assert(rank < s->n_ranks);
    if (begin_of(w, rank, node) <= begin_of(w, at->rank, at->node))
        return false;
    at->npu = coll ? find_member(w, n, at->npu, rank) : s->instance.values[at->npu][n->a];
    assert(get_class(s, at->npu) == rank);
    at->rank = rank;
    at->node = node;
    *why = coll ? HALLEY_WHY_MEMBER : HALLEY_WHY_MESSAGE;
    return true;
}

static bool add_step(walker *w, const spot *at, uint64_t begin, uint64_t end,
                     halley_why why)
{
    return array_push(&w->path, (halley_path_step){at->npu, at->node, begin, end, why});
}

static halley_status walk_back(walker *w, spot at, halley_error *err)
{
    uint64_t end = end_of(w, at.rank, at.node);
    halley_why why = HALLEY_WHY_START;
    for (;;) {
        const spot was = at;
        uint32_t before;
        if (find_other(w, &at, &why)) {
            /* This step covers the time since the other node began. */
            const uint64_t begin = begin_of(w, at.rank, at.node);
            if (!add_step(w, &was, begin, end, why))
                return error_nomem(err);
            end = begin;
            if (why == HALLEY_WHY_MESSAGE) /* the duration of the send has been counted */
                continue;
        }
        const uint64_t begin = begin_of(w, at.rank, at.node);
        if (!find_dependency(&before, w, &at))
            return error_nomem(err);
        why = before == HALLEY_NO_NODE ? HALLEY_WHY_ROOM : HALLEY_WHY_DEPENDS;
        if (before == HALLEY_NO_NODE && !find_ended_at(&before, w, at.rank, begin))
            return error_nomem(err);
        if (before == HALLEY_NO_NODE || begin == 0)
            why = HALLEY_WHY_START;
        if (end > begin && !add_step(w, &at, begin, end, why))
            return error_nomem(err);
        if (why == HALLEY_WHY_START)
            return HALLEY_OK;
        at.node = before;
        end = begin;
    }
}

/* The lowest rank of those that ended last, and its first node that ended then. */
static spot find_last_node(const walker *w)
{
    uint64_t most = 0;
    spot at = {0, 0, w->s->ranks[0].npu};
    for (uint32_t r = 0; r < w->s->n_ranks; r++)
        for (uint32_t i = 0; i < count_nodes(w, r); i++) {
            const uint64_t end = end_of(w, r, i);
            if (end != UINT64_MAX && end > most) {
                most = end;
                at = (spot){r, i, w->s->ranks[r].npu};
            }
        }
    return at;
}

/* True if a rank began at this time. */
static bool is_start(const sim *s, uint64_t at)
{
    for (uint32_t i = 0; s->system->late_s != NULL && i < s->n_npus; i++)
        if (sim_late_ticks(s, i) == at)
            return true;
    return at == 0;
}

/* Verify the path: its steps follow each other without a gap, from the start of a rank to
 * the end of the last node. */
static halley_status certify_path(const walker *w, uint64_t finish, halley_error *err)
{
    uint64_t at =
        w->path.n > 0 && is_start(w->s, w->path.at[0].begin) ? w->path.at[0].begin : 0;
    for (size_t i = 0; i < w->path.n; i++) {
        const halley_path_step *step = &w->path.at[i];
        if (step->begin != at || step->end < step->begin)
            return error_set(err, HALLEY_EINVAL,
                             "internal error: the critical path has a gap at tick %llu",
                             (unsigned long long)at);
        at = step->end;
    }
    if (at == finish || w->path.n == 0)
        return HALLEY_OK;
    return error_set(err, HALLEY_EINVAL,
                     "internal error: the critical path ends at tick %llu, the run at "
                     "%llu",
                     (unsigned long long)at, (unsigned long long)finish);
}

static halley_status find_path(walker *w, halley_error *err)
{
    const sim *s = w->s;
    assert(s->n_ranks > 0 && s->ranks[0].begins != NULL);
    w->by_end = mem_array_zero(s->n_ranks, sizeof *w->by_end);
    w->waits = mem_array_zero(s->instance.programs.n, sizeof *w->waits);
    if (w->by_end == NULL || w->waits == NULL || !find_lasts(w))
        return error_nomem(err);
    const spot last = find_last_node(w);
    TRY(walk_back(w, last, err));
    for (size_t i = 0, k = w->path.n; i + 1 < k; i++, k--) {
        const halley_path_step swapped = w->path.at[i];
        w->path.at[i] = w->path.at[k - 1];
        w->path.at[k - 1] = swapped;
    }
    return s->stopped ? HALLEY_OK : certify_path(w, end_of(w, last.rank, last.node), err);
}

static void free_walker(walker *w)
{
    for (uint32_t i = 0; w->by_end != NULL && i < w->s->n_ranks; i++)
        free(w->by_end[i]);
    for (size_t i = 0; w->waits != NULL && i < w->s->instance.programs.n; i++)
        free_waits(&w->waits[i]);
    free(w->by_end);
    free(w->waits);
    map64_fini(&w->last);
    array_fini(&w->lasts);
}

halley_status sim_path_find(halley_result *r, const sim *s)
{
    walker w = {.s = s};
    r->path_status = find_path(&w, &r->path_error);
    free_walker(&w);
    r->path.at = w.path.at;
    r->path.n = w.path.n;
    return r->path_status == HALLEY_ENOMEM ? error_nomem(s->err) : HALLEY_OK;
}

halley_status halley_result_path(halley_path_step **out, size_t *n,
                                 const halley_result *result, halley_error *err)
{
    if (!result->has_path)
        return error_set(err, HALLEY_EINVAL, "the run has not recorded its nodes");
    if (result->path_status != HALLEY_OK) {
        if (err != NULL)
            *err = result->path_error;
        return result->path_status;
    }
    halley_path_step *copy = mem_array(result->path.n, sizeof *copy);
    if (copy == NULL)
        return error_nomem(err);
    if (result->path.n > 0)
        memcpy(copy, result->path.at, result->path.n * sizeof *copy);
    *out = copy;
    *n = result->path.n;
    return HALLEY_OK;
}
