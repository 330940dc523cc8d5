/*
 * sim/load/jobs_place.c - places the ranks of jobs on NPUs. Jobs get whole nodes (the
 * unit that is purchased). If the whole cluster is one node, they get single NPUs.
 */
#include "base/array.h"
#include "base/rng.h"
#include "halley/jobs.h"
#include "hw/cluster.h"
#include "hw/count.h"

#include <stdlib.h>

typedef struct placer {
    uint32_t unit;    /* NPUs that are assigned together */
    uint32_t n_units; /* of the cluster */
    uint32_t block;   /* units in a block of the network's lowest level */
    uint32_t *order;  /* units in the order in which they are assigned */
    bool *taken;      /* by unit */
} placer;

static uint32_t count_units(const placer *p, uint32_t n_ranks)
{
    assert(n_ranks > 0 && p->unit > 0);
    return (n_ranks - 1) / p->unit + 1;
}

/* The units in a block of the lowest level that joins several units. */
static uint32_t find_block(const halley_cluster *c, uint32_t unit)
{
    for (uint32_t i = 0; i < c->n_outer; i++)
        if (c->outer[i].npus > unit && c->outer[i].npus % unit == 0)
            return c->outer[i].npus / unit;
    return 1;
}

static bool init_placer(placer *p, const halley_cluster *c)
{
    const uint32_t together = hw_count_together(c);
    p->unit = together < c->n_npus ? together : 1;
    p->n_units = (c->n_npus - 1) / p->unit + 1;
    p->block = find_block(c, p->unit);
    assert(p->unit > 0 && p->block > 0);
    p->order = mem_array(p->n_units, sizeof *p->order);
    p->taken = mem_array_zero(p->n_units, sizeof *p->taken);
    for (uint32_t i = 0; p->order != NULL && i < p->n_units; i++)
        p->order[i] = i;
    return p->order != NULL && p->taken != NULL;
}

static void shuffle_units(placer *p, uint64_t seed)
{
    rng r = rng_seed(seed);
    for (uint32_t i = p->n_units; i > 1; i--) {
        const uint32_t k = (uint32_t)rng_below(&r, i), swapped = p->order[i - 1];
        p->order[i - 1] = p->order[k];
        p->order[k] = swapped;
    }
}

/* Take the first free unit of a block, or of the blocks after it. */
static uint32_t take_unit_of_block(placer *p, uint32_t block)
{
    const uint32_t first = block * p->block % p->n_units;
    assert(p->n_units > 0);
    uint32_t at = first;
    while (p->taken[at])
        at = (at + 1) % p->n_units;
    p->taken[at] = true;
    return at;
}

/* Assign unit k of every job, then unit k + 1. `units` has the units of all jobs in
 * order. */
static void spread_units(placer *p, uint32_t *units, const uint32_t *n_ranks,
                         uint32_t n_jobs)
{
    const uint32_t n_blocks = (p->n_units - 1) / p->block + 1;
    bool more = true;
    for (uint32_t k = 0; more; k++) {
        uint32_t first = 0;
        more = false;
        for (uint32_t j = 0; j < n_jobs; j++) {
            const uint32_t n = count_units(p, n_ranks[j]);
            if (k < n)
                units[first + k] = take_unit_of_block(p, k % n_blocks);
            more = more || k + 1 < n;
            first += n;
        }
    }
}

static halley_status check_room(const placer *p, const halley_cluster *c,
                                const uint32_t *n_ranks, uint32_t n_jobs,
                                halley_error *err)
{
    uint64_t n = 0;
    for (uint32_t j = 0; j < n_jobs; j++) {
        if (n_ranks[j] == 0)
            return error_set(err, HALLEY_EINVAL, "job %u has no ranks", j);
        n += count_units(p, n_ranks[j]);
    }
    if (n <= p->n_units && (n < p->n_units || c->n_npus % p->unit == 0))
        return HALLEY_OK;
    return error_set(
        err, HALLEY_EINVAL,
        "the jobs need %llu nodes of %u, and the cluster has %u NPUs; choose "
        "a larger one, such as %s:%llu",
        (unsigned long long)n, p->unit, c->n_npus, halley_cluster_name(c),
        (unsigned long long)n * p->unit);
}

static void place_ranks(uint32_t *npus, const placer *p, const uint32_t *units,
                        const uint32_t *n_ranks, uint32_t n_jobs)
{
    for (uint32_t j = 0; j < n_jobs; j++) {
        assert(units[(n_ranks[j] - 1) / p->unit] < p->n_units);
        for (uint32_t r = 0; r < n_ranks[j]; r++)
            *npus++ = units[r / p->unit] * p->unit + r % p->unit;
        units += count_units(p, n_ranks[j]);
    }
}

static halley_status place_jobs(uint32_t **npus, placer *p, const uint32_t *n_ranks,
                                uint32_t n_jobs, bool spread, halley_error *err)
{
    size_t n = 0;
    uint32_t *units = mem_array(p->n_units, sizeof *units);
    for (uint32_t j = 0; j < n_jobs; j++)
        n += n_ranks[j];
    *npus = mem_array(n, sizeof **npus);
    if (units == NULL || *npus == NULL) {
        free(units);
        free(*npus);
        *npus = NULL; /* the caller may free it in any case */
        return error_nomem(err);
    }
    if (spread)
        spread_units(p, units, n_ranks, n_jobs);
    place_ranks(*npus, p, spread ? units : p->order, n_ranks, n_jobs);
    free(units);
    return HALLEY_OK;
}

halley_status halley_jobs_place(uint32_t **npus, const halley_cluster *cluster,
                                const uint32_t *n_ranks, uint32_t n_jobs,
                                halley_placement placement, uint64_t seed,
                                halley_error *err)
{
    placer p = {0};
    if (cluster->n_npus == 0 || n_jobs == 0)
        return error_set(err, HALLEY_EINVAL, "jobs need a cluster with a number of NPUs");
    halley_status status = init_placer(&p, cluster) ? HALLEY_OK : error_nomem(err);
    if (status == HALLEY_OK)
        status = check_room(&p, cluster, n_ranks, n_jobs, err);
    if (status == HALLEY_OK && placement == HALLEY_PLACEMENT_RANDOM)
        shuffle_units(&p, seed);
    if (status == HALLEY_OK)
        status = place_jobs(npus, &p, n_ranks, n_jobs,
                            placement == HALLEY_PLACEMENT_SPREAD, err);
    free(p.order);
    free(p.taken);
    return status;
}
