/* hw/groups.c - communicator groups: sets of ranks by ascending id. */
#include "hw/groups.h"

#include <stdlib.h>
#include <string.h>

halley_status hw_groups_begin(halley_cluster *c, size_t n, halley_error *err)
{
    assert(c->n_groups == 0);
    c->groups = arena_array(&c->memory, n, sizeof *c->groups);
    return c->groups == NULL ? error_nomem(err) : HALLEY_OK;
}

/* True if ranks ascend and are below n_npus, so that each occurs once. Most groups do. */
static bool is_rising(const cluster_group *g, uint32_t n_npus)
{
    for (uint32_t i = 1; i < g->n; i++)
        if (g->ranks[i] <= g->ranks[i - 1])
            return false;
    return g->n == 0 || g->ranks[g->n - 1] < n_npus;
}

static halley_status check_ranks(const cluster_group *g, uint8_t *seen, uint32_t n_npus,
                                 halley_error *err)
{
    for (uint32_t i = 0; i < g->n; i++) {
        const uint32_t rank = g->ranks[i];
        if (rank >= n_npus)
            return error_set(err, HALLEY_EINVAL,
                             "group %lld: rank %u is not one of the %u NPUs",
                             (long long)g->id, rank, n_npus);
        if (seen[rank])
            return error_set(err, HALLEY_EINVAL, "group %lld: rank %u is listed twice",
                             (long long)g->id, rank);
        seen[rank] = 1;
    }
    return HALLEY_OK;
}

halley_status hw_groups_add(halley_cluster *c, int64_t id, const uint32_t *ranks,
                            uint32_t n, halley_error *err)
{
    cluster_group *to = &c->groups[c->n_groups];
    assert(id > 0);
    *to = (cluster_group){
        .id = id, .n = n, .ranks = arena_array(&c->memory, n, sizeof *ranks)};
    if (to->ranks == NULL)
        return error_nomem(err);
    memcpy(to->ranks, ranks, n * sizeof *ranks);
    if (!is_rising(to, c->n_npus)) {
        uint8_t *seen = mem_array_zero(c->n_npus, 1);
        const halley_status status =
            seen == NULL ? error_nomem(err) : check_ranks(to, seen, c->n_npus, err);
        free(seen);
        TRY(status);
    }
    c->n_groups++;
    return HALLEY_OK;
}

static int by_id(const void *a, const void *b)
{
    const int64_t x = ((const cluster_group *)a)->id;
    const int64_t y = ((const cluster_group *)b)->id;
    return x < y ? -1 : x > y;
}

halley_status hw_groups_end(halley_cluster *c, halley_error *err)
{
    if (c->n_groups > 1)
        qsort(c->groups, c->n_groups, sizeof *c->groups, by_id);
    for (uint32_t i = 1; i < c->n_groups; i++)
        if (c->groups[i].id == c->groups[i - 1].id)
            return error_set(err, HALLEY_EINVAL, "group %lld is listed twice",
                             (long long)c->groups[i].id);
    return HALLEY_OK;
}
