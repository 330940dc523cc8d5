/*
 * estimate/mesh.c - where the ranks of a plan are on a torus or mesh.
 *
 * Each parallel dimension of a plan is a product of factors along the axes of the grid.
 * The dimension that moves the most data chooses first. It takes the factoring with the
 * greatest bandwidth into a member. Among equals it takes the one with the fewest axes
 * (which leaves rings to the others), then the one with the shortest paths. Its factors
 * are the inner ones. So every group of a plan is a box, and its neighbours are near.
 */
#include "estimate/mesh.h"

#include <assert.h>

/* What is left of the grid, and the factors of one dimension. */
typedef struct mesh_state {
    const hw_direct *grid;
    uint32_t left[HW_MAX_DIMS], stride[HW_MAX_DIMS];
    uint32_t now[HW_MAX_DIMS], best[HW_MAX_DIMS];
    double best_rate;
    uint32_t best_axes, best_reach;
    bool found;
} mesh_state;

static void judge_factors(mesh_state *s)
{
    double rate = 0;
    uint32_t axes = 0, reach = 0;
    for (uint32_t a = 0; a < s->grid->n_axes; a++) {
        const uint32_t f = s->now[a];
        const bool wraps =
            s->grid->axes[a].wraps && f * s->stride[a] == s->grid->axes[a].n;
        if (f == 1)
            continue;
        rate += (wraps ? 2.0 : 1.0) / s->stride[a];
        reach += (wraps ? f / 2 : f - 1) * s->stride[a];
        axes++;
    }
    if (s->found &&
        (rate < s->best_rate ||
         (rate == s->best_rate &&
          (axes > s->best_axes || (axes == s->best_axes && reach >= s->best_reach)))))
        return;
    s->found = true;
    s->best_rate = rate;
    s->best_axes = axes;
    s->best_reach = reach;
    for (uint32_t a = 0; a < s->grid->n_axes; a++)
        s->best[a] = s->now[a];
}

/* Try all factorings of `n` over the axes from `axis` on. */
static void try_factors(mesh_state *s, uint32_t axis, uint32_t n)
{
    if (axis + 1 == s->grid->n_axes) {
        s->now[axis] = n;
        if (s->left[axis] % n == 0)
            judge_factors(s);
        return;
    }
    for (uint32_t f = 1; f <= n && f <= s->left[axis]; f++)
        if (n % f == 0 && s->left[axis] % f == 0) {
            s->now[axis] = f;
            try_factors(s, axis + 1, n / f);
        }
}

/* The dimension that moves the most data of those that have not chosen yet. */
static uint32_t find_hungriest(const plan_mesh_dims *dims, const bool *done)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < dims->count; i++)
        if (!done[i] && (best == UINT32_MAX || dims->hunger[i] < dims->hunger[best]))
            best = i;
    return best;
}

bool plan_mesh_choose(hw_direct_numbering *out, const hw_direct *grid,
                      const plan_mesh_dims *dims)
{
    uint32_t factors[PLAN_MESH_DIMS][HW_MAX_DIMS], strides[PLAN_MESH_DIMS][HW_MAX_DIMS];
    bool done[PLAN_MESH_DIMS] = {false};
    uint64_t product = 1;
    mesh_state s = {.grid = grid};
    out->n = 0;
    for (uint32_t i = 0; i < dims->count; i++)
        product *= dims->n[i];
    if (product != hw_direct_count(grid) ||
        dims->count * grid->n_axes > HW_DIRECT_MAX_DIGITS)
        return false;
    for (uint32_t a = 0; a < grid->n_axes; a++) {
        s.left[a] = grid->axes[a].n;
        s.stride[a] = 1;
    }
    for (uint32_t k = 0; k < dims->count; k++) {
        const uint32_t i = find_hungriest(dims, done);
        done[i] = true;
        s.found = false;
        try_factors(&s, 0, dims->n[i]);
        assert(s.found); /* the primes of what is left are those of the dimensions left */
        for (uint32_t a = 0; a < grid->n_axes; a++) {
            factors[i][a] = s.best[a];
            strides[i][a] = s.stride[a];
            s.left[a] /= s.best[a];
            s.stride[a] *= s.best[a];
        }
    }
    for (uint32_t i = 0; i < dims->count; i++)
        for (uint32_t a = 0; a < grid->n_axes; a++)
            if (factors[i][a] > 1)
                out->digits[out->n++] =
                    (hw_direct_digit){a, factors[i][a], strides[i][a]};
    return true;
}
