/*
 * Distributes layers over the stages of a pipeline, and over the rows of one trace.
 *
 * The ranks that send messages to each other form one pipeline. The sum over its stages
 * may be the whole model. It may also be a multiple of it (sequences split over ranks),
 * or a part of it (stages of several chunks, blocks of several layers). In the last two
 * cases, all stages must change proportionally.
 *
 * Otherwise, if stages differ by at most one layer, they also do so afterwards. The
 * lowest ranks get one more, as in plans of halley. If stages differ by more, they get
 * layers proportionally to what they have. The rest goes to the largest remainders, and
 * on ties to the lowest ranks.
 */
#include "base/error.h"
#include "edit/scale.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* The part with the largest remainder that has not been increased yet. */
static uint32_t largest_rest(const uint32_t *out, const uint32_t *parts, uint32_t n,
                             uint64_t sum, uint64_t total)
{
    assert(n > 0);
    uint32_t best = 0;
    uint64_t rest = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t own = total * parts[i] % sum;
        if (own > rest && out[i] == total * parts[i] / sum) {
            best = i;
            rest = own;
        }
    }
    return best;
}

bool scale_share_out(uint32_t *out, const uint32_t *parts, uint32_t n, uint64_t total)
{
    assert(n > 0);
    uint64_t sum = 0, given = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += parts[i];
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (uint32_t)(total * parts[i] / sum);
        given += out[i];
    }
    for (; given < total; given++)
        out[largest_rest(out, parts, n, sum, total)]++;
    for (uint32_t i = 0; i < n; i++)
        if (out[i] == 0)
            return false;
    return true;
}

static bool share_evenly(uint32_t *out, const uint32_t *parts, uint32_t n, uint64_t total)
{
    assert(n > 0);
    (void)parts;
    for (uint32_t i = 0; i < n; i++)
        out[i] = (uint32_t)(total / n + (i < total % n));
    return total >= n;
}

/* May the block be copied? Without `ends`, the first and the last are excluded if there
 * are inner blocks. Of two blocks, the second is excluded. */
static bool can_copy_block(uint32_t n, uint32_t block, const uint8_t *fixed, bool ends)
{
    const bool end = n > 2 && (block == 0 || block == n - 1);
    return !(fixed && fixed[block]) && (ends || (!end && !(n == 2 && block == 1)));
}

static uint32_t *grow_stage(uint32_t n, uint32_t n_after, const uint8_t *fixed,
                            bool *fine)
{
    assert(n_after >= n);
    uint32_t *const out = mem_array(n_after, sizeof *out);
    uint32_t *const cycle = mem_array(n, sizeof *cycle);
    uint32_t n_cycle = 0;
    for (int ends = 0; cycle && n_cycle == 0 && ends < 2; ends++)
        for (uint32_t b = 0; b < n; b++)
            if (can_copy_block(n, b, fixed, ends == 1))
                cycle[n_cycle++] = b;
    *fine = out && cycle;
    const bool made = *fine && n_cycle > 0;
    for (uint32_t k = 0; made && k < n_after; k++)
        out[k] = k < n - 1 ? k : k == n_after - 1 ? n - 1 : cycle[(k - n + 1) % n_cycle];
    free(cycle);
    if (made)
        return out;
    free(out);
    return NULL;
}

/* Removes inner blocks, the last ones first. The first and the last block stay. */
static uint32_t *shrink_stage(uint32_t n, uint32_t n_after, const uint8_t *fixed,
                              bool *fine)
{
    assert(n_after <= n);
    uint32_t *const out = mem_array(n, sizeof *out);
    uint32_t n_kept = n;
    *fine = out != NULL;
    for (uint32_t b = 0; out && b < n; b++)
        out[b] = b;
    for (uint32_t b = n - 1; out && b > 0 && n_kept > n_after; b--)
        if ((b < n - 1 || n_after == 1) && !(fixed && fixed[b])) {
            out[b] = UINT32_MAX;
            n_kept--;
        }
    uint32_t at = 0;
    for (uint32_t b = 0; out && b < n; b++)
        if (out[b] != UINT32_MAX)
            out[at++] = b;
    if (out && n_kept == n_after)
        return out;
    free(out);
    return NULL;
}

uint32_t *scale_block_list(uint32_t n, uint32_t n_after, const uint8_t *fixed, bool *fine)
{
    return n_after >= n ? grow_stage(n, n_after, fixed, fine)
                        : shrink_stage(n, n_after, fixed, fine);
}

static uint32_t find_pipeline_root(uint32_t *up, uint32_t rank)
{
    while (up[rank] != rank)
        rank = up[rank] = up[up[rank]];
    return rank;
}

/* Finds the lowest rank of each rank's pipeline: ranks that send to each other. */
static void join_by_messages(uint32_t *up, const halley_trace_set *set)
{
    const uint32_t n = halley_trace_set_count(set);
    for (uint32_t r = 0; r < n; r++)
        up[r] = r;
    for (uint32_t r = 0; r < n; r++) {
        const halley_trace *const t = halley_trace_set_get(set, r);
        for (uint32_t i = 0; i < halley_trace_count(t); i++) {
            trace_roles roles;
            uint64_t peer;
            if (halley_node_type_of(t, i) != HALLEY_NODE_SEND)
                continue;
            trace_roles_read(&roles, t, i);
            if (!trace_roles_u64(&roles, TRACE_ROLE_COMM_DST, &peer) || peer >= n)
                continue;
            const uint32_t a = find_pipeline_root(up, r),
                           b = find_pipeline_root(up, (uint32_t)peer);
            up[a < b ? b : a] = a < b ? a : b;
        }
    }
}

static uint64_t find_common_factor(uint64_t a, uint64_t b)
{
    assert(a > 0 || b > 0);
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static halley_status refuse_sum(const uint32_t *n_before, const uint32_t *ranks,
                                uint32_t n, uint32_t from, halley_error *err)
{
    char list[200] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < n && used + 24 < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%u", i ? ", " : "",
                                 n_before[i]);
    return error_set(err, HALLEY_EINVAL,
                     n > 1
                         ? "the stages of rank %u's pipeline repeat a block %s%s times, "
                           "which are not the layers of a model of %u; --repeats says "
                           "how many a rank has"
                         : "rank %u repeats its block %s%s times, which are not the "
                           "layers of a model of %u; --repeats says how many a rank has",
                     ranks[0], list, used + 24 < sizeof list ? "" : ", ...", from);
}

/* The number of which the new layers must be a multiple, so that every stage changes
 * proportionally: the least common multiple of what each stage needs. */
static uint32_t least_step(const uint32_t *parts, uint32_t n, uint32_t from)
{
    assert(n > 0);
    uint64_t step = 1;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t own = from / find_common_factor(parts[i], from);
        step = step / find_common_factor(step, own) * own;
    }
    return (uint32_t)step;
}

/* One pipeline: its ranks, and the blocks of each before and after. */
static halley_status share_layers(uint32_t *n_after, const uint32_t *n_before,
                                  const uint32_t *ranks, uint32_t n,
                                  const halley_scale_opts *o, halley_error *err)
{
    assert(n > 0);
    uint64_t sum = 0;
    uint32_t least = UINT32_MAX, most = 0;
    bool exact = true;
    for (uint32_t i = 0; i < n; i++) {
        sum += n_before[i];
        least = n_before[i] < least ? n_before[i] : least;
        most = n_before[i] > most ? n_before[i] : most;
        exact &= (uint64_t)n_before[i] * o->layers_to % o->layers_from == 0;
    }
    if (sum % o->layers_from != 0 && o->layers_from % sum != 0)
        return refuse_sum(n_before, ranks, n, o->layers_from, err);
    const uint64_t total = sum * o->layers_to;
    if (total % o->layers_from != 0 || (!exact && sum != o->layers_from))
        return error_set(err, HALLEY_EINVAL,
                         "the ranks of a pipeline repeat their block %llu times, which "
                         "represent %u layers: all must change proportionally, to a "
                         "multiple of %u, not to %u",
                         (unsigned long long)sum, o->layers_from,
                         least_step(n_before, n, o->layers_from), o->layers_to);
    if (total / o->layers_from > 1000000)
        return error_set(err, HALLEY_ELIMIT,
                         "%u layers are more than a million blocks in a pipeline",
                         o->layers_to);
    if (!(most - least <= 1 ? share_evenly : scale_share_out)(n_after, n_before, n,
                                                              total / o->layers_from))
        return error_set(err, HALLEY_EINVAL,
                         "%u layers are too few: a rank of the pipeline of rank %u would "
                         "be left without any",
                         o->layers_to, ranks[0]);
    return HALLEY_OK;
}

typedef struct pipeline {
    uint32_t *ranks, *before, *after, n;
} pipeline;

static halley_status share_all(uint32_t *n_after, const uint32_t *n_before, uint32_t *up,
                               uint32_t n_ranks, pipeline *p, const halley_scale_opts *o,
                               halley_error *err)
{
    for (uint32_t first = 0; first < n_ranks; first++) {
        if (find_pipeline_root(up, first) != first)
            continue;
        p->n = 0;
        for (uint32_t r = first; r < n_ranks; r++)
            if (find_pipeline_root(up, r) == first) {
                p->ranks[p->n] = r;
                p->before[p->n++] = n_before[r];
            }
        TRY(share_layers(p->after, p->before, p->ranks, p->n, o, err));
        for (uint32_t i = 0; i < p->n; i++)
            n_after[p->ranks[i]] = p->after[i];
    }
    return HALLEY_OK;
}

halley_status scale_stages(uint32_t *n_after, const uint32_t *n_before,
                           const halley_trace_set *set, const halley_scale_opts *opts,
                           halley_error *err)
{
    assert(opts->layers_to > 0);
    const uint32_t n = halley_trace_set_count(set);
    uint32_t *const room = mem_array(n, 4 * sizeof *room);
    if (!room)
        return error_nomem(err);
    pipeline p = {room + n, room + 2 * (size_t)n, room + 3 * (size_t)n, 0};
    join_by_messages(room, set);
    const halley_status status = share_all(n_after, n_before, room, n, &p, opts, err);
    free(room);
    return status;
}
