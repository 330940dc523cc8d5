/*
 * Searches for spaces that are too large to try each design. All work on the digits of
 * outer designs (with `plan: best`, each represents its best plan). All are reproducible
 * from the seed, and none evaluates a design twice.
 *
 * Random search draws designs independently. Latin hypercube sampling (McKay et al. 1979)
 * covers every axis evenly. A resumed run repeats the earlier draws without evaluating
 * them. The evolutionary search is in evolve.c, the continuous one in descend.c.
 */
#include "explore/search.h"

#include "base/hash.h"
#include "base/rng.h"

#include <assert.h>
#include <string.h>

static uint64_t outer_size(const halley_study *s)
{
    return (uint64_t)s->size / s->inner_size;
}

/* A space that is not larger than the sample is tried as a whole, so the answer is
 * exact. */
bool explore_search_is_exhaustive(const halley_study *s)
{
    return s->search.method == EXPLORE_EXHAUSTIVE || s->search.samples >= outer_size(s);
}

void explore_draw(uint32_t *digits, const halley_study *s, rng *random)
{
    for (uint32_t i = 0; i < s->n_outer; i++)
        digits[i] = (uint32_t)rng_below(random, s->axes[i].seen.n);
}

uint64_t explore_outer_id(const halley_study *s, const uint32_t *digits)
{
    assert(s->n_outer <= s->n_axes);
    uint64_t id = 0;
    for (uint32_t i = 0; i < s->n_outer; i++)
        id = id * s->axes[i].seen.n + digits[i];
    return id;
}

bool explore_first_time(map64 *seen, uint64_t id, bool *memory)
{
    uint32_t value = 1;
    bool fresh = false;
    if (!map64_put(seen, id, &value, &fresh))
        *memory = false;
    return fresh;
}

static bool draw_random(uint64_t *ids, uint64_t *n, uint64_t samples,
                        const halley_study *s)
{
    assert(samples > 0);
    rng random = rng_seed(s->search.seed);
    map64 seen = {0};
    bool memory = true;
    for (uint64_t i = 0; i < samples && memory; i++) {
        const uint64_t id = rng_below(&random, outer_size(s));
        if (explore_first_time(&seen, id, &memory))
            ids[(*n)++] = id;
    }
    map64_fini(&seen);
    assert(*n <= samples);
    return memory;
}

static void shuffle_list(uint32_t *list, uint32_t n, rng *random)
{
    assert(n > 0);
    for (uint32_t i = 0; i < n; i++)
        list[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        const uint32_t j = (uint32_t)rng_below(random, i), keep = list[i - 1];
        list[i - 1] = list[j];
        list[j] = keep;
    }
}

/* One axis after the other adds its digit to the number of every sample. */
static bool draw_latin(uint64_t *ids, uint64_t *n, uint64_t samples,
                       const halley_study *s)
{
    assert(samples > 0);
    rng random = rng_seed(s->search.seed);
    const uint32_t m = (uint32_t)samples;
    uint32_t *strata = mem_array(m, sizeof *strata);
    map64 seen = {0};
    bool memory = strata != NULL;
    memset(ids, 0, samples * sizeof *ids);
    for (uint32_t a = 0; a < s->n_outer && memory; a++) {
        const uint32_t n_values = s->axes[a].seen.n;
        shuffle_list(strata, m, &random);
        for (uint32_t i = 0; i < m; i++) {
            const double share = (strata[i] + rng_unit(&random)) / m;
            const uint32_t digit = (uint32_t)(share * n_values);
            ids[i] = ids[i] * n_values + (digit < n_values ? digit : n_values - 1);
        }
    }
    for (uint32_t i = 0; i < m && memory; i++) {
        if (explore_first_time(&seen, ids[i], &memory))
            ids[(*n)++] = ids[i];
    }
    map64_fini(&seen);
    free(strata);
    assert(*n <= samples);
    return memory;
}

static halley_status sample_designs(explore_run *r, uint64_t samples, halley_error *err)
{
    assert(samples > 0);
    const halley_study *s = explore_run_study(r);
    uint64_t *ids = mem_array(samples, sizeof *ids), n = 0;
    if (!ids)
        return error_nomem(err);
    const bool drawn = s->search.method == EXPLORE_LATIN
                           ? draw_latin(ids, &n, samples, s)
                           : draw_random(ids, &n, samples, s);
    const halley_status status =
        drawn ? explore_run_waves(r, ids, n, err) : error_nomem(err);
    free(ids);
    return status;
}

halley_status explore_search_run(explore_run *r, halley_error *err)
{
    const halley_study *s = explore_run_study(r);
    const uint64_t samples = s->search.samples;
    if (samples > 100000000)
        return error_set(err, HALLEY_ELIMIT,
                         "a search looks at 100 million designs at "
                         "most");
    if (explore_search_is_exhaustive(s))
        return explore_run_waves(r, NULL, outer_size(s), err);
    if (s->search.method == EXPLORE_EVOLUTION)
        return explore_evolve(r, err);
    if (s->search.method == EXPLORE_NLOPT)
        return explore_descend(r, err);
    return sample_designs(r, samples, err);
}
