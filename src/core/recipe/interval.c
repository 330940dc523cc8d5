/*
 * The interval of step times that settings leave open which nobody states: all on their
 * fast side, all on their slow side, then each alone on its slow side.
 */
#include "base/error.h"
#include "halley/estimate.h"
#include "recipe/data.h"

#include <stdio.h>
#include <string.h>

/* Keys of a recipe that is farther than this are open, too. */
static const double near_enough = 3;

/* A setting with its fast and its slow value; NULL: not open in this design. */
typedef struct knob {
    halley_plan_key key;
    const char *fast, *slow;
} knob;

typedef struct asker {
    const halley_model *model;
    const halley_cluster *cluster;
    const halley_stack *stack;
    const halley_plan *plan;
    halley_framework framework;
    char vendor[HALLEY_NAME], generation[HALLEY_NAME];
    uint64_t open;
    knob knobs[HALLEY_MAX_UNKNOWN];
    uint32_t n;
} asker;

static void add_knob(asker *a, bool possible, halley_plan_key key, const char *fast,
                     const char *slow)
{
    if (possible && a->open >> key & 1 && a->n < HALLEY_MAX_UNKNOWN)
        a->knobs[a->n++] = (knob){key, fast, slow};
}

static void list_knobs(asker *a)
{
    const halley_plan *p = a->plan;
    const halley_framework *f = &a->framework;
    const bool nvidia = strcmp(a->vendor, "nvidia") == 0, any = !f->known;
    const bool racks = strstr(a->generation, "nvl72") != NULL;
    const uint32_t hybridep = 1u << HALLEY_DISPATCH_HYBRIDEP,
                   deepep = 1u << HALLEY_DISPATCH_DEEPEP;
    const bool has_hybridep = nvidia && racks && (any || (f->dispatchers & hybridep));
    const bool has_deepep =
        (nvidia || strcmp(a->vendor, "amd") == 0) && (any || (f->dispatchers & deepep));
    const bool low = p->dtype == HALLEY_FP8 || p->dtype == HALLEY_FP4;
    const bool recent = strcmp(a->generation, "hopper") == 0 ||
                        strncmp(a->generation, "blackwell", 9) == 0;
    if (a->model->kind != HALLEY_TRANSFORMER)
        return;
    add_knob(a, recipe_may_overlap(p) && (any || f->overlap_ep), HALLEY_KEY_OVERLAP_EP,
             "yes", "no");
    add_knob(a, p->ep > 1 && (has_hybridep || has_deepep), HALLEY_KEY_DISPATCHER,
             has_hybridep ? "hybridep" : "deepep", "all-to-all");
    add_knob(a, a->model->experts > 0 && nvidia && (any || f->graphs), HALLEY_KEY_GRAPHS,
             "full", "none");
    add_knob(a, a->model->experts > 0 && nvidia && low && recent,
             HALLEY_KEY_FP8_ATTENTION, "yes", "no");
    add_knob(a, any && a->stack->framework[0] == '\0' && !a->model->experts,
             HALLEY_KEY_KERNELS, "fused", "eager");
}

/* The step with each knob on its fast (bit 0) or slow side; 0: not possible. */
static double time_with(const asker *a, uint32_t slow, bool *fits)
{
    halley_plan p = *a->plan;
    halley_estimate e;
    halley_error why = {0};
    for (uint32_t i = 0; i < a->n; i++) {
        const knob *k = &a->knobs[i];
        if (halley_plan_set(&p, k->key, slow >> i & 1 ? k->slow : k->fast, &why) !=
            HALLEY_OK)
            return 0;
    }
    if (halley_plan_check(&p, a->model, p.tp * p.cp * p.pp * p.dp, &why) != HALLEY_OK)
        return 0;
    halley_estimate_run(&e, a->model, &p, a->cluster, a->stack);
    *fits = e.fits;
    return e.step_s;
}

/* Leave out knobs whose fast side is not possible alone, or does not fit. */
static void drop_impossible(asker *a, bool fits)
{
    for (uint32_t i = 0; i < a->n;) {
        asker one = *a;
        bool fits_too = true;
        one.knobs[0] = a->knobs[i];
        one.n = 1;
        const double fast = time_with(&one, 0, &fits_too);
        if (fast > 0 && (fits_too || !fits)) {
            i++;
            continue;
        }
        a->n--;
        memmove(&a->knobs[i], &a->knobs[i + 1], (a->n - i) * sizeof *a->knobs);
    }
}

static void add_unknown(halley_interval *out, const asker *a, uint32_t i, double fast)
{
    bool fits;
    const double slow = time_with(a, 1u << i, &fits);
    uint32_t at = out->n_unknown;
    if (!(slow > 0) || slow / fast < 1.001)
        return;
    while (at > 0 && out->unknown[at - 1].effect < slow / fast - 1) {
        out->unknown[at] = out->unknown[at - 1];
        at--;
    }
    out->unknown[at] =
        (halley_unknown){.key = (uint32_t)a->knobs[i].key, .effect = slow / fast - 1};
    out->n_unknown++;
}

halley_status halley_interval_find(halley_interval *out, const halley_model *model,
                                   const halley_plan *plan, const halley_cluster *cluster,
                                   const halley_stack *stack, const halley_recipe *recipe,
                                   halley_error *err)
{
    asker a = {.model = model,
               .cluster = cluster,
               .stack = stack,
               .plan = plan,
               .open = ~plan->given};
    halley_estimate e;
    bool fits;
    *out = (halley_interval){.size = sizeof *out};
    if (recipe != NULL && (recipe->distance > near_enough || recipe->similar))
        a.open |= recipe->taken;
    TRY(halley_framework_find(&a.framework, stack->framework, err));
    TRY(halley_device_kind(a.vendor, a.generation, halley_cluster_npu(cluster, 0)->name,
                           err));
    halley_estimate_run(&e, model, plan, cluster, stack);
    list_knobs(&a);
    drop_impossible(&a, e.fits);
    const double fast = a.n > 0 ? time_with(&a, 0, &fits) : 0;
    const double slow = a.n > 0 ? time_with(&a, (1u << a.n) - 1, &fits) : 0;
    if (!(fast > 0 && slow > 0))
        return HALLEY_OK;
    out->low_s = fast < e.step_s ? fast : e.step_s;
    out->high_s = slow > e.step_s ? slow : e.step_s;
    for (uint32_t i = 0; i < a.n; i++)
        add_unknown(out, &a, i, fast);
    return HALLEY_OK;
}
