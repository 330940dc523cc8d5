/* The contents of a launch file, and its plan for a number of NPUs. */
#include "base/number/number.h"
#include "base/number/whole.h"
#include "launch/args.h"

#include <stdio.h>
#include <string.h>

const halley_import *halley_launch_import(const halley_launch *launch)
{
    return launch->import;
}

const halley_model *halley_launch_model(const halley_launch *launch)
{
    return launch->has_model ? &launch->model : NULL;
}

bool halley_launch_lacks_vocab(const halley_launch *launch)
{
    return launch->lacks_vocab;
}

uint32_t halley_launch_npus(const halley_launch *launch)
{
    return launch->npus;
}

const char *halley_launch_stack(const halley_launch *launch)
{
    return launch->stack;
}

const char *halley_launch_device(const halley_launch *launch)
{
    return launch->device;
}

const char *halley_launch_value(const halley_launch *launch, halley_plan_key key)
{
    return (unsigned)key < HALLEY_N_PLAN_KEYS ? launch->value[key] : NULL;
}

double halley_launch_local_batch(const halley_launch *launch)
{
    return launch->local_batch;
}

double halley_launch_npu_batch(const halley_launch *launch)
{
    return launch->npu_batch;
}

uint32_t halley_launch_replicas(const halley_launch *launch)
{
    return launch->replicas;
}

/* True for keys that affect neither shapes nor communication. If halley cannot model a
 * value yet, the file is still useful, and a note reports this. */
static bool is_soft(halley_plan_key key)
{
    static const halley_plan_key soft[] = {
        HALLEY_KEY_GRADIENT_MEMORY, HALLEY_KEY_OPTIMIZER_MEMORY, HALLEY_KEY_GRAPHS,
        HALLEY_KEY_KERNELS,         HALLEY_KEY_BF16_LAYERS,      HALLEY_KEY_FP8_PARAMS};
    for (size_t i = 0; i < sizeof soft / sizeof *soft; i++)
        if (soft[i] == key)
            return true;
    return false;
}

static halley_status set_key(halley_plan *plan, const halley_launch *l,
                             halley_plan_key key, const char *text, halley_error *err)
{
    halley_error own = {0};
    const halley_status status = halley_plan_set(plan, key, text, &own);
    if (status == HALLEY_OK)
        return HALLEY_OK;
    if (status == HALLEY_EINVAL && is_soft(key)) {
        import_note(l->import, "%s %s of the file is not modelled yet and is left out.",
                    halley_plan_key_name(key), text);
        return HALLEY_OK;
    }
    error_set(err, status, "%s", own.text);
    error_at_file(err, l->path);
    return status;
}

/* Set the keys that follow from the number of NPUs. */
static halley_status set_counted(halley_plan *p, uint64_t *bits, const halley_launch *l,
                                 uint32_t n_npus, uint64_t except, halley_error *err)
{
    const uint64_t cut = (uint64_t)(p->tp > 0 ? p->tp : 1) * (p->pp > 0 ? p->pp : 1) *
                         (p->cp > 0 ? p->cp : 1);
    const uint32_t cp = p->cp > 0 ? p->cp : 1;
    if (n_npus == 0 || n_npus % cut != 0)
        return HALLEY_OK; /* the check of the plan has a better error */
    const uint32_t dp = (uint32_t)(n_npus / cut);
    char text[32];
    double batch = l->npu_batch > 0 ? l->npu_batch * n_npus : l->local_batch * dp;
    if (l->value[HALLEY_KEY_GLOBAL_BATCH] == NULL && batch >= 1 && batch < 4e9 &&
        (except >> HALLEY_KEY_GLOBAL_BATCH & 1) == 0) {
        snprintf(text, sizeof text, "%.0s%llu", "", (unsigned long long)whole_u64(batch));
        TRY(set_key(p, l, HALLEY_KEY_GLOBAL_BATCH, text, err));
        *bits |= 1ull << HALLEY_KEY_GLOBAL_BATCH;
    }
    if (l->replicas > 1 && l->value[HALLEY_KEY_FSDP] == NULL &&
        (except >> HALLEY_KEY_FSDP & 1) == 0) {
        if (dp * cp % l->replicas != 0)
            return error_set(err, HALLEY_EINVAL,
                             "%s: %u copies of the weights do not divide the %u "
                             "data-parallel ranks",
                             l->path, l->replicas, dp * cp);
        snprintf(text, sizeof text, "%u", dp * cp / l->replicas);
        TRY(set_key(p, l, HALLEY_KEY_FSDP, text, err));
        *bits |= 1ull << HALLEY_KEY_FSDP;
    }
    if (l->zero_shards > 1 && (except >> HALLEY_KEY_ZERO_GROUP & 1) == 0) {
        snprintf(text, sizeof text, "%u", dp * cp / l->zero_shards);
        TRY(set_key(p, l, HALLEY_KEY_ZERO_GROUP, text, err));
        *bits |= 1ull << HALLEY_KEY_ZERO_GROUP;
    }
    return HALLEY_OK;
}

halley_status halley_launch_plan(halley_plan *plan, uint64_t *given,
                                 const halley_launch *launch, uint32_t n_npus,
                                 uint64_t except, halley_error *err)
{
    halley_plan p = *plan;
    uint64_t bits = 0;
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++) {
        if (launch->value[i] == NULL || (except >> i & 1) != 0)
            continue;
        TRY(set_key(&p, launch, (halley_plan_key)i, launch->value[i], err));
        bits |= 1ull << i;
    }
    TRY(set_counted(&p, &bits, launch, n_npus, except, err));
    *plan = p;
    if (given != NULL)
        *given |= bits;
    return HALLEY_OK;
}
