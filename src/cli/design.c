/* Options shared by the commands that estimate designs. */
#include "cli/design.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

const char *const design_recompute[] = {"none", "selective", "full", NULL};
const char *const design_dtypes[] = {"bf16", "fp16", "fp32", "tf32", "fp8", "fp4", NULL};
const char *const design_attention[] = {"flash", "unfused", NULL};

halley_status design_usage(cli_call *call, halley_status status, halley_error *err)
{
    if (status != HALLEY_EINVAL && status != HALLEY_ENOTFOUND && status != HALLEY_ELIMIT)
        return status;
    char text[HALLEY_ERROR_TEXT];
    snprintf(text, sizeof text, "%s", err->text);
    return cli_usage(call, err, "%s", text);
}

/* "dgx-a100:1024" */
static halley_status split_cluster(char *name, size_t size, uint32_t *n, const char *text,
                                   cli_call *call, halley_error *err)
{
    const char *colon = strrchr(text, ':');
    const size_t length = colon ? (size_t)(colon - text) : strlen(text);
    *n = 0;
    if (length >= size)
        return cli_usage(call, err, "the name of the cluster is too long");
    memcpy(name, text, length);
    name[length] = '\0';
    if (!colon)
        return HALLEY_OK;
    uint64_t count;
    if (!str_to_u64(str_from(colon + 1), &count) || count == 0 || count > 100000000)
        return cli_usage(call, err,
                         "cluster \"%s\": behind ':' stands the number of NPUs", text);
    *n = (uint32_t)count;
    return HALLEY_OK;
}

halley_status design_load(halley_model *model, halley_platform *platform,
                          halley_stack *stack, uint32_t *n_npus, cli_call *call,
                          const design_options *o, halley_error *err)
{
    char name[512];
    if (!o->model || !o->cluster)
        return cli_usage(call, err, "--model and --cluster must be given");
    TRY(split_cluster(name, sizeof name, n_npus, o->cluster, call, err));
    TRY(halley_platform_load(platform, name, err));
    if (!*n_npus)
        *n_npus = platform->n_npus; /* a cluster file says how many */
    if (o->stack)
        TRY(halley_stack_load(stack, o->stack, err));
    else
        halley_stack_default(stack);
    return halley_model_load(model, o->model, err);
}

static halley_status read_offload(halley_plan *p, cli_call *call, const cli_texts *texts,
                                  halley_error *err)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } classes[] = {{"optimizer", HALLEY_OFFLOAD_OPTIMIZER},
                   {"gradients", HALLEY_OFFLOAD_GRADIENTS},
                   {"weights", HALLEY_OFFLOAD_WEIGHTS},
                   {"activations", HALLEY_OFFLOAD_ACTIVATIONS}};
    for (size_t i = 0; i < texts->n; i++) {
        size_t j = 0;
        while (j < 4 && strcmp(texts->at[i], classes[j].name) != 0)
            j++;
        if (j == 4)
            return cli_usage(call, err,
                             "--offload takes optimizer, gradients, weights or "
                             "activations, not \"%s\"",
                             texts->at[i]);
        p->offload |= classes[j].bit;
    }
    return HALLEY_OK;
}

halley_status design_plan(halley_plan *out, const halley_model *model, uint32_t n_npus,
                          cli_call *call, const design_options *o, halley_error *err)
{
    static const halley_recompute recomputes[] = {
        HALLEY_RECOMPUTE_NONE, HALLEY_RECOMPUTE_SELECTIVE, HALLEY_RECOMPUTE_FULL};
    halley_plan p = {
        .tp = o->tp,
        .pp = o->pp,
        .dp = o->dp,
        .cp = o->cp,
        .ep = o->ep,
        .virtual_stages = o->virtual_stages,
        .zero = o->zero,
        .fsdp = o->fsdp,
        .micro_batch = o->micro_batch,
        .global_batch = o->global_batch,
        .seq = o->seq,
        .dtype = (halley_dtype)o->dtype,
        .recompute = recomputes[o->recompute],
        .schedule = (halley_schedule)o->schedule,
        .unfused_attention = o->attention == 1,
        .sequence_parallel = o->sequence_parallel && o->tp > 1,
        .spread = o->spread,
        .no_overlap = o->no_overlap,
    };
    TRY(read_offload(&p, call, &o->offload, err));
    const uint64_t others =
        (uint64_t)(o->tp ? o->tp : 1) * (o->pp ? o->pp : 1) * (o->cp ? o->cp : 1);
    if (!p.dp && n_npus) {
        if (n_npus % others)
            return cli_usage(
                call, err, "tp %u x pp %u x cp %u does not divide the %u NPUs",
                o->tp ? o->tp : 1, o->pp ? o->pp : 1, o->cp ? o->cp : 1, n_npus);
        p.dp = (uint32_t)(n_npus / others);
    }
    if (cli_given(call, "fsdp") && p.fsdp == 0)
        p.fsdp = (p.dp ? p.dp : 1) * (p.cp ? p.cp : 1);
    const halley_status status = halley_plan_check(&p, model, n_npus, err);
    if (status != HALLEY_OK)
        return design_usage(call, status, err);
    *out = p;
    return HALLEY_OK;
}

void design_describe(char *to, size_t size, const halley_plan *p)
{
    char cp[16] = "", ep[16] = "", v[24] = "", fsdp[24] = "";
    if (p->cp > 1)
        snprintf(cp, sizeof cp, " cp %u", p->cp);
    if (p->ep > 1)
        snprintf(ep, sizeof ep, " ep %u", p->ep);
    if (p->virtual_stages > 1)
        snprintf(v, sizeof v, " virtual %u", p->virtual_stages);
    if (p->fsdp)
        snprintf(fsdp, sizeof fsdp, " fsdp %u", p->fsdp);
    else
        snprintf(fsdp, sizeof fsdp, " zero %u", p->zero);
    snprintf(to, size, "tp %u pp %u dp %u%s%s%s%s micro-batch %u recompute %s%s", p->tp,
             p->pp, p->dp, cp, ep, v, fsdp, p->micro_batch,
             halley_recompute_name(p->recompute),
             p->sequence_parallel ? " sequence-parallel" : "");
}
