/*
 * Slices: select nodes, match partners, then build each distinct result once. Two ranks
 * have the same result if they have the same trace and lose the same sends and receives.
 */
#include "trace/slice.h"

#include "base/error.h"
#include "base/pool.h"
#include "trace/bridge.h"

#include <inttypes.h>
#include <string.h>

static halley_status number_ranks(slice *s, halley_error *err)
{
    const uint32_t n = s->distinct->n_ranks;
    memset(s->new_rank, s->opts->ranks == NULL ? 0 : 0xFF, n * sizeof *s->new_rank);
    for (uint32_t rank = 0; s->opts->ranks == NULL && rank < n; rank++)
        s->new_rank[rank] = rank;
    for (uint32_t i = 0; s->opts->ranks != NULL && i < s->opts->n_ranks; i++) {
        const uint32_t rank = s->opts->ranks[i];
        if (rank >= n)
            return error_set(err, HALLEY_EINVAL,
                             "there is no rank %" PRIu32 ", only 0 to %" PRIu32, rank,
                             n - 1);
        if (s->new_rank[rank] != UINT32_MAX)
            return error_set(err, HALLEY_EINVAL, "rank %" PRIu32 " is named twice", rank);
        s->new_rank[rank] = i;
    }
    for (uint32_t rank = 0; rank < n; rank++)
        s->n_kept[s->distinct->which[rank]] += s->new_rank[rank] != UINT32_MAX;
    return HALLEY_OK;
}

static halley_status select_task(void *context, size_t i, uint32_t worker,
                                 halley_error *err)
{
    (void)worker;
    slice *s = context;
    return slice_select(&s->keep[i], s->distinct->trace[i], s->opts, err);
}

/* The new traces, and which rank gets which. */
typedef struct result {
    uint32_t rank; /* the first rank that gets it */
    uint32_t next; /* previous result with the same old trace; UINT32_MAX = none */
    uint32_t n_sharing;
    halley_trace *trace;
    halley_slice_counts counts;
} result;

typedef struct build {
    const slice *s;
    ARRAY(result) results;
    uint32_t *which; /* by new rank */
    uint32_t *last;  /* by distinct trace: its last result; UINT32_MAX = none */
} build;

typedef struct into {
    halley_builder *b;
    const halley_trace *trace;
    slice_release release;
} into;

static halley_status add_kept_dep(void *context, uint32_t dep, bool is_data)
{
    const into *to = context;
    const uint64_t id = halley_node_id(to->trace, dep);
    return is_data ? halley_builder_data(to->b, id) : halley_builder_ctrl(to->b, id);
}

/* Copy dangling dependencies unchanged. */
static halley_status add_dangling(const into *to, uint32_t node)
{
    const uint32_t n_data = halley_node_data_count(to->trace, node);
    for (uint32_t i = 0; i < n_data; i++) {
        const halley_dep dep = halley_node_data(to->trace, node, i);
        if (dep.index == HALLEY_NO_NODE)
            TRY(halley_builder_data(to->b, dep.id));
    }
    const uint32_t n_ctrl = halley_node_ctrl_count(to->trace, node);
    for (uint32_t i = 0; i < n_ctrl; i++) {
        const halley_dep dep = halley_node_ctrl(to->trace, node, i);
        if (dep.index == HALLEY_NO_NODE)
            TRY(halley_builder_ctrl(to->b, dep.id));
    }
    return HALLEY_OK;
}

static halley_status add_bridged(into *to, bridge *br, uint32_t node,
                                 const edit_ranks *ranks, halley_slice_counts *counts,
                                 halley_error *err)
{
    if (br->fate[node] == BRIDGE_REMOVED) {
        counts->n_removed++;
        return HALLEY_OK;
    }
    counts->n_kept++;
    if (br->fate[node] == BRIDGE_JOINT) {
        counts->n_joints++;
        TRY(edit_joint(to->b, halley_node_id(to->trace, node)));
        return bridge_deps(br, node, add_kept_dep, to, &counts->n_bridged);
    }
    TRY(halley_builder_node(to->b, halley_node_id(to->trace, node),
                            halley_node_type_of(to->trace, node),
                            halley_node_name(to->trace, node)));
    TRY(bridge_deps(br, node, add_kept_dep, to, &counts->n_bridged));
    TRY(slice_release_depend(&to->release, to->b, node));
    TRY(add_dangling(to, node));
    return edit_copy_rest(to->b, to->trace, node, ranks, err);
}

static halley_status add_cut(into *to, const uint8_t *keep, uint32_t node,
                             const edit_ranks *ranks, halley_slice_counts *counts,
                             halley_error *err)
{
    if (!keep[node]) {
        counts->n_removed++;
        return HALLEY_OK;
    }
    counts->n_kept++;
    TRY(halley_builder_node(to->b, halley_node_id(to->trace, node),
                            halley_node_type_of(to->trace, node),
                            halley_node_name(to->trace, node)));
    const uint32_t n_data = halley_node_data_count(to->trace, node);
    const uint32_t n = n_data + halley_node_ctrl_count(to->trace, node);
    for (uint32_t i = 0; i < n; i++) {
        const halley_dep dep = i < n_data ? halley_node_data(to->trace, node, i)
                                          : halley_node_ctrl(to->trace, node, i - n_data);
        if (dep.index != HALLEY_NO_NODE && keep[dep.index])
            TRY(add_kept_dep(to, dep.index, i < n_data));
        counts->n_cut += dep.index != HALLEY_NO_NODE && !keep[dep.index];
    }
    TRY(slice_release_depend(&to->release, to->b, node));
    TRY(add_dangling(to, node));
    return edit_copy_rest(to->b, to->trace, node, ranks, err);
}

static halley_status fill_slice(into *to, const slice *s, const uint8_t *keep,
                                halley_slice_counts *counts, halley_error *err)
{
    const edit_ranks ranks = {s->new_rank,
                              s->opts->ranks == NULL ? 0 : s->distinct->n_ranks, false};
    const uint32_t n = halley_trace_count(to->trace);
    bridge br = {0};
    if (!s->opts->cut)
        TRY(bridge_init(&br, to->trace, keep, err));
    halley_status status = HALLEY_OK;
    for (uint32_t node = 0; status == HALLEY_OK && node < n; node++)
        status = s->opts->cut ? add_cut(to, keep, node, &ranks, counts, err)
                              : add_bridged(to, &br, node, &ranks, counts, err);
    counts->n_cut += br.n_lost;
    bridge_fini(&br);
    return status == HALLEY_OK ? slice_release_add(&to->release, to->b) : status;
}

static halley_status build_task(void *context, size_t i, uint32_t worker,
                                halley_error *err)
{
    (void)worker;
    build *all = context;
    result *r = &all->results.at[i];
    const slice *s = all->s;
    const uint32_t which = s->distinct->which[r->rank];
    const slice_nodes *drops = &s->drops[r->rank];
    into to = {.trace = s->distinct->trace[which]};
    const uint32_t n = halley_trace_count(to.trace);
    uint8_t *keep = mem_array(n, 1);
    if (keep == NULL)
        return error_nomem(err);
    if (n > 0)
        memcpy(keep, s->keep[which], n);
    for (size_t j = 0; j < drops->n; j++)
        keep[drops->at[j]] = 0;
    halley_status status =
        slice_release_init(&to.release, to.trace, keep, s->origin_ns, err);
    if (status == HALLEY_OK)
        status = edit_start(&to.b, to.trace, err);
    if (status == HALLEY_OK) {
        status = fill_slice(&to, s, keep, &r->counts, err);
        status = edit_finish(&r->trace, to.b, status, err);
    }
    slice_release_fini(&to.release);
    free(keep);
    return status;
}

static bool same_drops(const slice_nodes *a, const slice_nodes *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->at, b->at, a->n * sizeof *a->at) == 0);
}

/* Find a result that the rank can share, or add one. */
static uint32_t find_result(build *all, uint32_t rank)
{
    const slice *s = all->s;
    uint32_t *last = &all->last[s->distinct->which[rank]];
    for (uint32_t i = *last; i != UINT32_MAX; i = all->results.at[i].next)
        if (same_drops(&s->drops[all->results.at[i].rank], &s->drops[rank]))
            return i;
    if (!array_push(&all->results, (result){.rank = rank, .next = *last}))
        return UINT32_MAX;
    *last = (uint32_t)all->results.n - 1;
    return *last;
}

static halley_status plan_slice(build *all, uint32_t n_new, halley_error *err)
{
    const slice *s = all->s;
    all->which = mem_array(n_new, sizeof *all->which);
    all->last = mem_array(s->distinct->n, sizeof *all->last);
    if (all->which == NULL || all->last == NULL)
        return error_nomem(err);
    memset(all->last, 0xFF, s->distinct->n * sizeof *all->last);
    for (uint32_t rank = 0; rank < s->distinct->n_ranks; rank++) {
        if (s->new_rank[rank] == UINT32_MAX)
            continue;
        const uint32_t i = find_result(all, rank);
        if (i == UINT32_MAX)
            return error_nomem(err);
        all->which[s->new_rank[rank]] = i;
        all->results.at[i].n_sharing++;
    }
    return HALLEY_OK;
}

static void sum_counts(slice *s, const build *all)
{
    halley_slice_counts *c = &s->counts;
    for (size_t i = 0; i < all->results.n; i++) {
        const halley_slice_counts *one = &all->results.at[i].counts;
        const uint64_t times = all->results.at[i].n_sharing;
        c->n_kept += one->n_kept * times;
        c->n_removed += one->n_removed * times;
        c->n_bridged += one->n_bridged * times;
        c->n_joints += one->n_joints * times;
        c->n_cut += one->n_cut * times;
    }
}

static halley_status make_set(halley_trace_set **out, const build *all, uint32_t n_new,
                              halley_error *err)
{
    halley_trace **traces = mem_array(n_new, sizeof *traces);
    if (traces == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < n_new; i++)
        traces[i] = halley_trace_keep(all->results.at[all->which[i]].trace);
    const halley_status status = halley_trace_set_new(out, traces, n_new, err);
    for (uint32_t i = 0; status != HALLEY_OK && i < n_new; i++)
        halley_trace_free(traces[i]);
    free((void *)traces);
    return status;
}

static halley_status build_all(halley_trace_set **out, slice *s, halley_error *err)
{
    const uint32_t n_new =
        s->opts->ranks == NULL ? s->distinct->n_ranks : s->opts->n_ranks;
    build all = {.s = s};
    halley_status status = plan_slice(&all, n_new, err);
    if (status == HALLEY_OK)
        status = pool_run(s->opts->n_threads, all.results.n, build_task, &all, err);
    if (status == HALLEY_OK)
        status = make_set(out, &all, n_new, err);
    if (status == HALLEY_OK)
        sum_counts(s, &all);
    for (size_t i = 0; i < all.results.n; i++)
        halley_trace_free(all.results.at[i].trace);
    array_fini(&all.results);
    free(all.which);
    free(all.last);
    return status;
}

static halley_status run_slice(halley_trace_set **out, slice *s, halley_error *err)
{
    const trace_distinct *d = s->distinct;
    s->keep = mem_array_zero(d->n, sizeof *s->keep);
    s->new_rank = mem_array(d->n_ranks, sizeof *s->new_rank);
    s->n_kept = mem_array_zero(d->n, sizeof *s->n_kept);
    s->drops = mem_array_zero(d->n_ranks, sizeof *s->drops);
    if (s->keep == NULL || s->new_rank == NULL || s->n_kept == NULL || s->drops == NULL)
        return error_nomem(err);
    TRY(number_ranks(s, err));
    TRY(pool_run(s->opts->n_threads, d->n, select_task, s, err));
    if (d->n_ranks > 1)
        TRY(slice_match(s, err));
    s->origin_ns =
        s->opts->by_step || s->opts->by_time ? slice_find_origin(s) : UINT64_MAX;
    return build_all(out, s, err);
}

halley_status halley_trace_slice(halley_trace_set **out, const halley_trace_set *set,
                                 const halley_slice_opts *opts,
                                 halley_slice_counts *counts, halley_error *err)
{
    const halley_slice_opts none = {0};
    trace_distinct distinct;
    TRY(trace_distinct_init(&distinct, set, err));
    slice s = {.opts = opts == NULL ? &none : opts,
               .distinct = &distinct,
               .counts = {.size = sizeof s.counts}};
    const halley_status status = run_slice(out, &s, err);
    for (uint32_t i = 0; s.keep != NULL && i < distinct.n; i++)
        free(s.keep[i]);
    for (uint32_t i = 0; s.drops != NULL && i < distinct.n_ranks; i++)
        array_fini(&s.drops[i]);
    free((void *)s.keep);
    free(s.new_rank);
    free(s.n_kept);
    free(s.drops);
    trace_distinct_fini(&distinct);
    if (status == HALLEY_OK && counts != NULL)
        *counts = s.counts;
    return status;
}
