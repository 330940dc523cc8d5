/*
 * That k sets have something in common does not hide who they are: a law fitted to few
 * sets fits those better than others, its range ends where theirs does, and who holds the
 * model can tell (likelihood.c). So
 *
 * - laws that are not exact need SURE times as many sets as what is kept otherwise, exact
 *   ones two sets more for every condition in them (but no more than one in SURE of all):
 *   with fewer, a law says what those few sets are and not what holds;
 * - ranges are wider, by what one more set would have widened them, a few times over.
 *
 * This lowers what is measured (doc/synthesis.md); it is no proof of privacy. Noise of
 * twice and four times the standard errors of coefficients, spreads and counts was tried
 * and taken out again: attacks on the numbers found as much as without it, and sets of
 * few conditions came out worse.
 */
#include "synth/blur.h"

#include "synth/law.h"

#include <math.h>

enum { SURE = 4, WIDER = 3 };

static uint32_t conditions_in(const model_law *law)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < MODEL_FEATURES; i++)
        n += i != FEATURE_ONE && law->coefficient[i] != 0;
    return n;
}

/* `most`: sets that are asked for at most, so that little can be learned of few, too. */
static bool is_sure(const model_law *law, uint32_t k, uint32_t most)
{
    const bool exact = law->spread == 0 && law->within <= 1e-3F;
    const uint32_t wanted = exact ? k + 2 * conditions_in(law) : SURE * k;
    return law->n_sets >= (wanted < most ? wanted : most);
}

static void blur_laws(synth_model *m, const synth_model *from, uint32_t k)
{
    const uint32_t part = m->head.at[0].n_sets / SURE, most = part > k ? part : k;
    size_t n = 0;
    for (size_t i = 0; i < m->laws.n; i++) {
        model_law law = m->laws.at[i];
        /* Others were made of many sets when all was known. */
        if (map64_find(&from->law_of, law.key) != HASH_NONE) {
            const float range = law.high - law.low;
            const float wider = isfinite(range) ? WIDER * range / (float)law.n_sets : 0;
            if (!is_sure(&law, k, most))
                continue;
            law.low -= wider;
            law.high += wider;
        }
        m->laws.at[n++] = law;
    }
    m->laws.n = n;
}

void model_blur(synth_model *m, const synth_model *from)
{
    const uint32_t k = m->head.at[0].min_support;
    if (k < 2) /* all may be known */
        return;
    blur_laws(m, from, k);
}
