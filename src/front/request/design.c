/* Options shared by the commands that estimate designs. */
#include "request/design.h"

#include "base/error.h"
#include "base/number/number.h"
#include "request/document.h"
#include "request/launch_file.h"
#include "request/recipe.h"
#include "workload/plan_facts.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

halley_status design_usage(request_call *call, halley_status status, halley_error *err)
{
    if (status != HALLEY_EINVAL && status != HALLEY_ENOTFOUND && status != HALLEY_ELIMIT)
        return status;
    char text[HALLEY_ERROR_TEXT];
    snprintf(text, sizeof text, "%s", err->text);
    return request_usage(call, err, "%s", text);
}

static halley_status load_design_cluster(halley_cluster **out, request_call *call,
                                         const char *name, halley_error *err)
{
    halley_cluster *c;
    TRY(request_cluster_load(&c, call, name, err));
    const halley_status status = halley_cluster_check_estimate(c, err);
    if (status != HALLEY_OK) {
        halley_cluster_free(c);
        return status;
    }
    for (uint32_t i = 0; i < halley_cluster_note_count(c); i++)
        request_note(call, "note: %s", halley_cluster_note(c, i));
    *out = c;
    return HALLEY_OK;
}

void design_note_idle(const request_call *call, const halley_cluster *cluster)
{
    if (halley_cluster_idle(cluster) != NULL)
        request_note(call, "note: %s", halley_cluster_idle(cluster));
}

/* Refuse -m and -c if they were exchanged. */
static halley_status refuse_exchanged(const design_options *o, halley_error *err)
{
    char name[HALLEY_NAME];
    if (o->model == NULL || o->cluster == NULL ||
        halley_preset_text("models", o->cluster) == NULL)
        return HALLEY_OK;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(o->model, ":"), o->model);
    if (halley_preset_text("clusters", name) == NULL)
        return HALLEY_OK;
    return error_set(err, HALLEY_ENOTFOUND,
                     "\"%s\" is a cluster, \"%s\" a model: exchange -m and -c", name,
                     o->cluster);
}

/* Move the model out of a launch file. */
static halley_status load_launch_model(halley_model *model, const halley_launch *launch)
{
    *model = *halley_launch_model(launch);
    assert(model->ops == NULL);
    return HALLEY_OK;
}

halley_status design_load(halley_model *model, halley_cluster **cluster,
                          halley_stack *stack, request_call *call,
                          const design_options *o, halley_error *err)
{
    halley_cluster *c = NULL;
    char name[4096];
    halley_launch *launch = NULL;
    TRY(refuse_exchanged(o, err));
    TRY(design_launch_open(&launch, call, o, err));
    if (!o->model || (!o->cluster && launch == NULL))
        return request_usage(call, err, "--model and --cluster must be given");
    halley_status status =
        launch != NULL ? design_launch_cluster(name, sizeof name, call, o, launch, err)
                       : HALLEY_OK;
    if (status == HALLEY_OK)
        status = load_design_cluster(&c, call, launch != NULL ? name : o->cluster, err);
    if (status != HALLEY_OK) {
        halley_launch_free(launch);
        return status;
    }
    if (o->stack)
        status = request_stack_load(stack, o->stack, err);
    else {
        halley_stack_default(stack);
        if (status == HALLEY_OK)
            status = design_launch_stack(stack, call, o, launch,
                                         halley_cluster_npu(c, 0)->name, err);
    }
    if (status == HALLEY_OK && o->stack) {
        status = halley_stack_check_npu(stack, halley_cluster_npu(c, 0)->name, err);
        if (status == HALLEY_EINVAL)
            status = design_usage(call, status, err);
    }
    if (request_given(call, "headroom"))
        stack->headroom = o->headroom;
    if (status == HALLEY_OK)
        status = launch != NULL ? load_launch_model(model, launch)
                                : request_model_load(model, NULL, o->model, err);
    halley_launch_free(launch);
    if (status == HALLEY_OK)
        *cluster = c;
    else
        halley_cluster_free(c);
    return status;
}

request_option design_plan_option(halley_plan_key key, size_t design_at)
{
    const fact *f = &workload_plan_facts.rows[key];
    request_option o = {.name = f->key,
                        .kind = REQUEST_TEXT,
                        .offset = offsetof(design_options, value[key]),
                        .metavar = f->value,
                        .choices = f->value == NULL ? f->words : NULL,
                        .doc = f->doc,
                        .by_default = f->by_default,
                        .example = f->example};
    if (f->kind == FACT_FLAG) {
        o.kind = REQUEST_FLAG;
        o.metavar = NULL;
        o.negatable = strcmp(f->by_default, "no") != 0;
        o.offset = offsetof(design_options, on[key]);
    } else if (fact_is_list(f)) {
        o.kind = REQUEST_TEXTS;
        o.offset = offsetof(design_options, list[key]);
    }
    o.offset += design_at;
    return o;
}

static const char *get_key_name(int key)
{
    return halley_plan_key_name((halley_plan_key)key);
}

static halley_status read_plan_option(halley_plan *p, int key, const request_call *call,
                                      const design_options *o, halley_error *err)
{
    const halley_plan_key id = (halley_plan_key)key;
    if (o->value[key])
        TRY(halley_plan_set(p, id, o->value[key], err));
    else if (o->list[key].n == 0 && request_given(call, get_key_name(key)))
        TRY(halley_plan_set(p, id, o->on[key] ? "yes" : "no", err));
    for (size_t i = 0; i < o->list[key].n; i++)
        TRY(halley_plan_set(p, id, o->list[key].at[i], err));
    return HALLEY_OK;
}

halley_status design_read(halley_plan *out, uint64_t *given, uint32_t n_npus,
                          request_call *call, const design_options *o, halley_error *err)
{
    halley_plan p;
    uint64_t bits = 0;
    halley_plan_default(&p);
    TRY(design_launch_plan(&p, &bits, call, o, n_npus, err));
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++) {
        const halley_status status = read_plan_option(&p, i, call, o, err);
        if (status != HALLEY_OK)
            return design_usage(call, status, err);
        bits |= (uint64_t)request_given(call, get_key_name(i)) << i;
    }
    *out = p;
    if (given)
        *given = bits;
    return HALLEY_OK;
}

/* In a search such a plan simply does not fit. If the user asks for it by name, this
 * error explains why. */
halley_status design_check_offload(const halley_plan *p, const halley_cluster *cluster,
                                   halley_error *err)
{
    const halley_npu *npu = halley_cluster_npu(cluster, 0);
    const uint32_t tier = p->offload_tier ? p->offload_tier : 1;
    if (!p->offload || tier < npu->n_tiers)
        return HALLEY_OK;
    return error_set(err, HALLEY_EINVAL,
                     "there is nothing to offload to: %s (%s) has %u of the %u memories "
                     "that takes; describe an NPU with more, as gh200-144gb is",
                     halley_npu_label(npu), halley_cluster_name(cluster), npu->n_tiers,
                     tier + 1);
}

/* List every default that was used. */
static void name_defaults(const request_call *call, const halley_plan *p,
                          const halley_model *model)
{
    halley_assumption a;
    for (uint32_t i = 0; halley_plan_assumed(&a, i, p, model); i++)
        request_assume_default(call, halley_plan_key_name((halley_plan_key)a.key),
                               a.value, "%s", a.text);
}

halley_status design_refuse(request_call *call, const design_options *o,
                            halley_status status, halley_error *err)
{
    bool said = o->plan == NULL;
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++)
        said = said || request_given(call, get_key_name(i));
    if (said)
        return design_usage(call, status, err);
    error_at_file(err, o->plan);
    return status;
}

halley_status design_check_count(const halley_cluster *cluster, request_call *call,
                                 const design_options *o, halley_error *err)
{
    if (halley_cluster_npus(cluster) > 0)
        return HALLEY_OK;
    return request_usage(
        call, err,
        "--cluster %s does not say how many accelerators: expected a number "
        "after ':', for example %s:%u",
        o->cluster, o->cluster, 8 * halley_cluster_npus_per_node(cluster));
}

/* Note stages of different length, which other programs refuse. */
static void note_uneven(const request_call *call, const halley_plan *p,
                        const halley_model *m)
{
    const uint32_t units = m->layers + (p->embeddings_as_layers ? 2 : 0);
    if (p->n_stage_layers == 0 && p->pp > 1 && units % p->pp != 0)
        request_note(call,
                     "note: %u layers on %u stages are uneven (Megatron refuses); "
                     "--stage-layers sets them",
                     m->layers, p->pp);
}

void design_note_unmeasured(const request_call *call, const halley_model *model)
{
    if (model->recurrent.layers > 0)
        request_note(call,
                     "note: no run with %s was ever measured; their time is a roofline",
                     halley_mixer_name(model->recurrent.mixer));
}

void design_note_split(const request_call *call, const halley_plan *plan,
                       const halley_cluster *cluster)
{
    const uint32_t each = halley_cluster_npus_per_node(cluster);
    if (each == 0)
        return;
    const halley_node_fill fill = halley_estimate_node_fill(plan, cluster);
    const uint32_t ranks = fill.split_ranks;
    if (fill.npus_per_node < each && fill.saved_ranks > 0)
        request_note(call,
                     "note: ranks fill %u of the %u places of a node, so that nodes do "
                     "not split groups of %u ranks",
                     fill.npus_per_node, each, fill.saved_ranks);
    else if (fill.npus_per_node < each)
        request_note(call,
                     "note: ranks fill %u of the %u places of a node, so that the last "
                     "node is not nearly empty",
                     fill.npus_per_node, each);
    if (ranks > 0)
        request_note(call,
                     "note: nodes of %u split groups of %u ranks, which then communicate "
                     "between nodes; a cluster with nodes of %u (nodes: {npus: %u}) "
                     "needs more nodes and does not",
                     each, ranks, each / ranks * ranks, each / ranks * ranks);
}

/* Set dp to the number of NPUs divided by tp, pp and cp, unless it is given. */
static halley_status fill_plan_dp(halley_plan *p, uint32_t n_npus, halley_error *err)
{
    const uint32_t tp = p->tp ? p->tp : 1, pp = p->pp ? p->pp : 1, cp = p->cp ? p->cp : 1;
    const uint64_t others = (uint64_t)tp * pp * cp;
    if (p->dp)
        return HALLEY_OK;
    if (n_npus % others)
        return error_set(err, HALLEY_EINVAL,
                         "tp %u x pp %u x cp %u does not divide the %u NPUs", tp, pp, cp,
                         n_npus);
    p->dp = (uint32_t)(n_npus / others);
    return HALLEY_OK;
}

halley_status design_complete(halley_plan *p, const halley_model *model,
                              const halley_cluster *cluster, halley_error *err)
{
    const uint32_t n_npus = halley_cluster_npus(cluster);
    if (!p->dp)
        TRY(halley_plan_check_heads(p, model, err));
    TRY(fill_plan_dp(p, n_npus, err));
    TRY(halley_plan_check(p, model, n_npus, err));
    return halley_plan_check_npu(p, halley_cluster_npu(cluster, 0), err);
}

halley_status design_plan(halley_plan *out, halley_recipe *recipe,
                          const halley_model *model, const halley_cluster *cluster,
                          const halley_stack *stack, request_call *call,
                          const design_options *o, halley_error *err)
{
    TRY(design_check_count(cluster, call, o, err));
    halley_plan p = {0};
    TRY(design_read(&p, NULL, halley_cluster_npus(cluster), call, o, err));
    TRY(design_take_recipe(&p, recipe, model, cluster, stack, call, o, err));
    const halley_status status = design_complete(&p, model, cluster, err);
    if (status != HALLEY_OK)
        return request_fail_as(call, REQUEST_CODE_INFEASIBLE,
                               design_refuse(call, o, status, err));
    const halley_status offload = design_check_offload(&p, cluster, err);
    if (offload != HALLEY_OK)
        return design_usage(call, offload, err);
    name_defaults(call, &p, model);
    note_uneven(call, &p, model);
    design_note_unmeasured(call, model);
    design_note_split(call, &p, cluster);
    *out = p;
    return HALLEY_OK;
}

void design_verdict(char to[256], const halley_estimate *e, const halley_cluster *cluster)
{
    static const char *const words[HALLEY_N_FITS] = {[HALLEY_FIT_FITS] = "fits",
                                                     [HALLEY_FIT_TIGHT] = "fits tightly",
                                                     [HALLEY_FIT_MAY] = "may fit",
                                                     [HALLEY_FIT_MAY_NEED_OFFLOAD] =
                                                         "may need host offload",
                                                     [HALLEY_FIT_NOT] = "does not fit"};
    char need[32], room[32];
    const double usable = (1 - e->headroom) * e->capacity_bytes;
    if (!e->fits && e->peak_bytes <= usable) {
        units_format(need, sizeof need, e->outer_need_bytes * e->outer_users,
                     UNITS_BYTES);
        units_format(room, sizeof room, e->outer_capacity_bytes, UNITS_BYTES);
        if (e->outer_users > 1)
            snprintf(
                to, 256,
                "%s: %s are offloaded to a memory of %s, which %s accelerators share",
                words[e->fit], need, room, number_digits(e->outer_users, 9).at);
        else
            snprintf(to, 256, "%s: stage %u offloads %s to a memory of %s", words[e->fit],
                     (uint32_t)e->outer_stage, need, room);
        return;
    }
    units_format(need, sizeof need, e->peak_bytes, UNITS_BYTES);
    units_format(room, sizeof room, usable, UNITS_BYTES);
    snprintf(to, 256, "%s: stage %u needs %s, and %s has %s with %s %% headroom",
             words[e->fit], e->full_stage, need,
             halley_npu_label(halley_cluster_npu(cluster, 0)), room,
             number_digits(100 * e->headroom, 3).at);
}

void design_print_unfit(FILE *to, const halley_estimate *e, const halley_cluster *cluster)
{
    char text[256];
    if (e->fits)
        return;
    design_verdict(text, e, cluster);
    fprintf(to, "%s\n\n", text);
}

/* Append to a text of `size` bytes; what does not fit is cut off. */
static void append_words(char *to, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void append_words(char *to, size_t size, const char *format, ...)
{
    const size_t n = strlen(to);
    va_list values;
    va_start(values, format);
    vsnprintf(to + n, size - n, format, values);
    va_end(values);
}

static void append_degrees(char *to, size_t size, const halley_plan *p)
{
    append_words(to, size, "tp %u pp %u dp %u", p->tp, p->pp, p->dp);
    if (p->cp > 1)
        append_words(to, size, " cp %u", p->cp);
    if (p->ep > 1)
        append_words(to, size, " ep %u", p->ep);
    if (p->etp > 1)
        append_words(to, size, " etp %u", p->etp);
    if (p->virtual_stages > 1)
        append_words(to, size, " virtual %u", p->virtual_stages);
    if (p->pp > 1 && p->schedule != HALLEY_SCHEDULE_1F1B)
        append_words(to, size, " schedule %s", halley_schedule_name(p->schedule));
}

/* In the order of the HALLEY_OFFLOAD_ bits. */
static void append_offload(char *to, size_t size, uint32_t bits)
{
    static const char *const names[] = {"optimizer", "gradients", "weights",
                                        "activations"};
    assert(bits < 1u << 4);
    const char *before = " offload ";
    for (int i = 0; i < 4; i++) {
        if ((bits >> i & 1) == 0)
            continue;
        append_words(to, size, "%s%s", before, names[i]);
        before = ",";
    }
}

void design_print_batch(FILE *to, const halley_plan *plan, const halley_model *model)
{
    if (model->kind == HALLEY_TRANSFORMER)
        fprintf(to, "global batch %u, sequence %u, %s\n", plan->global_batch, plan->seq,
                halley_plan_format_name(plan));
    else
        fprintf(to, "global batch %u samples, %s\n", plan->global_batch,
                halley_plan_format_name(plan));
}

void design_describe(char *to, size_t size, const halley_plan *p)
{
    assert(size > 0);
    to[0] = '\0';
    append_degrees(to, size, p);
    append_words(to, size, p->fsdp ? " fsdp %u" : " zero %u",
                 p->fsdp ? p->fsdp : p->zero);
    append_words(to, size, " micro-batch %u recompute %s", p->micro_batch,
                 halley_recompute_name(p->recompute));
    if (p->recompute_every > 1)
        append_words(to, size, " every %u", p->recompute_every);
    if (p->recompute_layers)
        append_words(to, size, " of %u layers", p->recompute_layers);
    if (p->sequence_parallel)
        append_words(to, size, " sequence-parallel");
    if (p->rank_order)
        append_words(to, size, " order %s", halley_rank_order_name(p->rank_order));
    append_offload(to, size, p->offload);
}
