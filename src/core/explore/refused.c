/*
 * Explain why no feasible design has some value of an axis. Everything else is as in the
 * best design, and the plan is chosen again if the study chooses it. The answer is the
 * reason of the refusal and, if that is memory, the least excess.
 */
#include "explore/refused.h"

#include "base/array.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_VALUES = 64, MOST_PLANS = 1 << 16 };

/* Try all plans of the design. Returns false if one of them is feasible, which means that
 * the search did not evaluate it. */
static bool explain_refusal(halley_refused_value *out, explore_worker *w, uint64_t id)
{
    const uint64_t inner = w->study->inner_size <= MOST_PLANS ? w->study->inner_size : 1;
    double least = INFINITY;
    w->reasons.n = 0;
    for (uint64_t i = 0; i < inner; i++) {
        explore_row row;
        explore_worker_move(w, id - id % inner + i);
        if (explore_worker_try(w, &row))
            return false;
        if (w->over_bytes > 0)
            least = fmin(least, w->over_bytes);
    }
    out->over_bytes = isinf(least) ? 0 : least;
    snprintf(out->reason, sizeof out->reason, "%s",
             !isinf(least)      ? "does not fit in memory"
             : w->reasons.n > 0 ? w->reasons.at[0].seen.reason
                                : "not feasible");
    return true;
}

static uint32_t count_refused(const halley_exploration *e, const halley_study *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_outer; i++)
        for (uint32_t v = 0; s->axes[i].seen.n <= MOST_VALUES && v < s->axes[i].seen.n;
             v++)
            n += e->marginals[i][v].feasible == 0;
    return n;
}

halley_status explore_refused(halley_exploration *e, const halley_study *s,
                              explore_worker *w, halley_error *err)
{
    const uint32_t most = count_refused(e, s);
    if (e->n_best == 0 || most == 0)
        return HALLEY_OK;
    e->refused_values = mem_array_zero(most, sizeof *e->refused_values);
    if (e->refused_values == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < s->n_outer; i++) {
        for (uint32_t v = 0; s->axes[i].seen.n <= MOST_VALUES && v < s->axes[i].seen.n;
             v++) {
            uint32_t digits[HALLEY_MAX_AXES];
            halley_refused_value one = {.axis = i, .value = v};
            if (e->marginals[i][v].feasible > 0)
                continue;
            memcpy(digits, e->best[0].digits, sizeof digits);
            digits[i] = v;
            if (explain_refusal(&one, w, explore_id(s, digits)))
                e->refused_values[e->n_refused_values++] = one;
        }
    }
    return HALLEY_OK;
}
