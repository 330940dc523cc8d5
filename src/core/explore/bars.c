/* Error bars depend only on the kind of a design, the system and the software. */
#include "explore/bars.h"

#include "base/hash.h"
#include "score/error_bars.h"

#include <string.h>

static uint64_t hash_text(const char *text, uint64_t seed)
{
    return hash_bytes(text, strlen(text), seed);
}

static uint64_t hash_class(const explore_design *d)
{
    const bar_kind kind = bar_kind_of(&d->model, &d->plan, &d->cluster);
    uint64_t h = hash_bytes(&kind, sizeof kind, 3);
    for (int i = 0; i < BAR_N_RANGES; i++) {
        const double value = bar_range_value(&d->cluster, (bar_range)i);
        h = hash_bytes(&value, sizeof value, h);
    }
    h = hash_bytes(&d->model.recurrent.layers, sizeof d->model.recurrent.layers, h);
    h = hash_text(bar_family_name(&d->model, &d->plan), h);
    h = hash_text(d->cluster.npu.name, h);
    return hash_text(d->stack.name, h);
}

halley_status explore_bars_find(halley_error_bar *out, explore_bars *bars,
                                const explore_worker *w, halley_error *err)
{
    const explore_design *d = &w->design;
    const uint64_t key = hash_class(d);
    for (uint32_t i = 0; i < bars->n; i++) {
        if (bars->at[i].key == key) {
            *out = bars->at[i].bar;
            return HALLEY_OK;
        }
    }
    TRY(halley_error_bar_find(out, &d->model, &d->plan, &d->cluster, &d->stack, NULL,
                              err));
    if (bars->n < EXPLORE_MAX_BARS) {
        bars->at[bars->n].key = key;
        bars->at[bars->n++].bar = *out;
    }
    return HALLEY_OK;
}
