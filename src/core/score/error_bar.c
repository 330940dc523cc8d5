/*
 * The error bar of a design. ln(predicted / measured) has the variance
 *
 *     within^2 + source^2 + sum of terms^2
 *
 * of runs within a source, of sources among each other, and of what is special about the
 * design. Users are always a new source, so the second term is never zero. The terms and
 * what was compared are in data/error-bars.yaml. A term only ever widens the bar.
 */
#include "halley/error_bar.h"

#include "base/conf/conf.h"
#include "base/number/number.h"
#include "halley/recipe.h"
#include "hw/embedded.h"
#include "score/error_bars.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct bar_terms {
    double within, source_known, source_unknown, experts, other_kind, few_vendors, month,
        month_experts, month_most, knobs, small_step, small_from, hypothetical,
        never_compared, typical, bound;
    uint32_t vendor_sources; /* a vendor with fewer is a term */
} bar_terms;
#define TERM(key, member, doc)                                                           \
    CONF_FIELD(bar_terms, key, CONF_TYPE_QUANTITY, UNITS_SHARE, member, true, doc)
static const conf_field term_fields[] = {
    TERM("within", within, "runs of one source"),
    TERM("source-known", source_known, "sources whose software and chip were fitted"),
    TERM("source-unknown", source_unknown, "other sources"),
    TERM("experts", experts, "models with experts"),
    TERM("other-kind", other_kind, "kinds of which only one source was compared"),
    TERM("few-vendors", few_vendors, "vendors with too few sources"),
    TERM("month", month, "of releases, by the root of months"),
    TERM("month-experts", month_experts, "the same, with experts"),
    TERM("month-most", month_most, "most for releases"),
    TERM("knobs", knobs, "of ln(high / low) of settings that nobody states"),
    TERM("small-step", small_step, "of the share of host, launch and other"),
    TERM("small-from", small_from, "from this share on"),
    TERM("hypothetical", hypothetical, "by doubling beyond what was measured"),
    TERM("never-compared", never_compared, "chips that were never compared"),
    TERM("typical", typical, "deviations that 70 % stay within"),
    TERM("bound", bound, "deviations that 95 % stay within"),
    CONF_FIELD(bar_terms, "vendor-sources", CONF_TYPE_U32, UNITS_COUNT, vendor_sources,
               true, "sources that a vendor needs"),
};

const char *const bar_kind_names[] = {"dense", "moe", "tpu", "other", NULL};
const char *const bar_range_names[] = {"domain", "nic", "bandwidth", "flops", NULL};

bar_kind bar_kind_of(const halley_model *model, const halley_plan *plan,
                     const halley_cluster *cluster)
{
    if (model->family != HALLEY_FAMILY_LLM || plan->lora > 0)
        return BAR_OTHER;
    if (model->experts > 0)
        return BAR_MOE;
    return cluster->npu.type == HALLEY_NPU_TPU ? BAR_TPU : BAR_DENSE;
}

const char *bar_family_name(const halley_model *model, const halley_plan *plan)
{
    static const char *const names[HALLEY_N_FAMILIES] = {
        [HALLEY_FAMILY_AUTO] = "auto",
        [HALLEY_FAMILY_LLM] = "llm",
        [HALLEY_FAMILY_ENCODER] = "encoder",
        [HALLEY_FAMILY_UNET] = "unet",
        [HALLEY_FAMILY_DIT] = "dit",
        [HALLEY_FAMILY_RECOMMENDER] = "recommender",
        [HALLEY_FAMILY_OPERATORS] = "operators"};
    return plan->lora > 0 ? "adapters" : names[model->family];
}

double bar_range_value(const halley_cluster *cluster, bar_range which)
{
    const bool tpu = cluster->npu.type == HALLEY_NPU_TPU; /* its pods have no domains */
    switch (which) {
    case BAR_DOMAIN:
        return tpu ? 0 : cluster->nodes.npus;
    case BAR_NIC:
        return tpu || cluster->n_outer == 0 ? 0 : hw_outer_fabric(cluster)->bandwidth_Bps;
    case BAR_BANDWIDTH:
        return cluster->npu.n_tiers > 0 ? cluster->npu.tiers[0].bandwidth_Bps : 0;
    case BAR_FLOPS:
        return halley_npu_wide_peak(&cluster->npu);
    case BAR_N_RANGES:
        break;
    }
    return 0;
}

/* True if a text is among the items of map.key. */
static bool has_item(const conf_node *map, const char *key, const char *text)
{
    const conf_node *list = map != NULL && key[0] != '\0' ? conf_find(map, key) : NULL;
    for (uint32_t i = 0; list != NULL && list->kind == CONF_LIST && i < list->n; i++)
        if (str_eq(list->items[i]->text, str_from(text)))
            return true;
    return false;
}

/* A number under two keys; 0 if it is absent. */
static double find_number(const conf_node *root, const char *map, const char *key)
{
    const conf_node *in = conf_find(root, map);
    const bool is_named = in != NULL && in->kind == CONF_MAP && key[0] != '\0';
    const conf_node *at = is_named ? conf_find(in, key) : NULL;
    double value;
    return at != NULL && number_read(at->text, &value) ? value : 0;
}

static const conf_node *find_bar_stack(const conf_node *root, const char *name)
{
    const conf_node *list = conf_find(root, "stacks");
    for (uint32_t i = 0; list != NULL && list->kind == CONF_LIST && i < list->n; i++) {
        const conf_node *of = conf_find(list->items[i], "name");
        if (of != NULL && str_eq(of->text, str_from(name)))
            return list->items[i];
    }
    return NULL;
}

/* Doublings beyond the measured range; 0 inside it. */
static double find_doublings(const conf_node *root, const halley_cluster *cluster,
                             bar_range which)
{
    const conf_node *ranges = conf_find(root, "measured");
    const conf_node *range =
        ranges != NULL ? conf_find(ranges, bar_range_names[which]) : NULL;
    const double value = bar_range_value(cluster, which);
    double low, high;
    if (range == NULL || range->kind != CONF_LIST || range->n != 2 || !(value > 0) ||
        !number_read(range->items[0]->text, &low) ||
        !number_read(range->items[1]->text, &high))
        return 0;
    return value < low ? log2(low / value) : value > high ? log2(value / high) : 0;
}

/* The sum of squares, and what the result says about it. */
typedef struct sum {
    double squares;
    const conf_node *root;
    bar_terms t;
    halley_error_bar *out;
} sum;

static void add_term(sum *s, double term)
{
    s->squares += term * term;
}

static halley_status add_chip(sum *s, const halley_cluster *cluster, halley_error *err)
{
    char vendor[HALLEY_NAME], generation[HALLEY_NAME];
    TRY(halley_device_kind(vendor, generation, cluster->npu.name, err));
    s->out->measured_npu = has_item(s->root, "npus", cluster->npu.name);
    if (!s->out->measured_npu)
        add_term(s, s->t.never_compared);
    if (find_number(s->root, "vendors", vendor) < s->t.vendor_sources)
        add_term(s, s->t.few_vendors);
    double doublings = 0;
    for (int i = 0; i < BAR_N_RANGES; i++) {
        const double one = find_doublings(s->root, cluster, (bar_range)i);
        add_term(s, s->t.hypothetical * one);
        doublings += one;
    }
    s->out->hypothetical = doublings > 1e-9;
    return HALLEY_OK;
}

static void add_source(sum *s, const halley_model *model, const halley_plan *plan,
                       const halley_cluster *cluster, const halley_stack *stack,
                       const halley_bar_facts *facts)
{
    const bar_kind kind = bar_kind_of(model, plan, cluster);
    const conf_node *known = find_bar_stack(s->root, stack->name);
    const bool stated = facts == NULL || !facts->open || facts->recipe_distance <= 1;
    const bool is_known = known != NULL && kind != BAR_OTHER && stated &&
                          has_item(known, "npus", cluster->npu.name);
    s->out->chosen_stack = stack->known;
    s->out->known_stack = known != NULL || kind == BAR_OTHER;
    add_term(s, s->t.within);
    add_term(s, is_known ? s->t.source_known : s->t.source_unknown);
    if (model->experts > 0)
        add_term(s, s->t.experts);
    if (kind == BAR_OTHER || model->recurrent.layers > 0)
        add_term(s, s->t.other_kind);
    static const char *const words[] = {"dense", "mixture of experts", "TPU",
                                        "other kinds of model"};
    snprintf(s->out->class_name, sizeof s->out->class_name, "%s, %s", words[kind],
             is_known        ? "software and chip compared"
             : known != NULL ? "software compared, not with these settings or this chip"
                             : "software unknown");
    const conf_node *kinds = conf_find(s->root, "kinds");
    const conf_node *of = kinds != NULL ? conf_find(kinds, bar_kind_names[kind]) : NULL;
    double runs = 0, sources = 0;
    if (of != NULL && of->kind == CONF_LIST && of->n == 2) {
        (void)number_read(of->items[0]->text, &runs);
        (void)number_read(of->items[1]->text, &sources);
    }
    s->out->n_runs = (uint32_t)runs;
    s->out->n_sources = (uint32_t)sources;
    if (model->recurrent.layers > 0)
        s->out->unmeasured = halley_mixer_name(model->recurrent.mixer);
    s->out->measured = s->out->measured_npu && s->out->unmeasured == NULL &&
                       !s->out->hypothetical &&
                       has_item(s->root, "families", bar_family_name(model, plan));
    if (!has_item(s->root, "families", bar_family_name(model, plan)))
        add_term(s, s->t.never_compared);
}

static void add_facts(sum *s, const halley_model *model, const halley_bar_facts *facts)
{
    if (facts == NULL)
        return;
    const double month = model->experts > 0 ? s->t.month_experts : s->t.month;
    add_term(s, fmin(s->t.month_most, month * sqrt(fmax(0, facts->months))));
    if (facts->high_s > facts->low_s && facts->low_s > 0)
        add_term(s, s->t.knobs * log(facts->high_s / facts->low_s));
    const halley_estimate *e = facts->estimate;
    if (e == NULL || !(e->step_s > 0))
        return;
    const double share =
        (e->part_s[HALLEY_PART_HOST] + e->part_s[HALLEY_PART_OTHER]) / e->step_s;
    if (share > s->t.small_from)
        add_term(s, s->t.small_step * share);
}

static halley_status find_bar_in_file(halley_error_bar *out, const conf_file *file,
                                      const halley_model *model, const halley_plan *plan,
                                      const halley_cluster *cluster,
                                      const halley_stack *stack,
                                      const halley_bar_facts *facts, halley_error *err)
{
    sum s = {.root = file->root, .out = out};
    TRY(conf_read(&s.t, file, conf_find(file->root, "terms"), term_fields,
                  sizeof term_fields / sizeof *term_fields, true, NULL, err));
    TRY(add_chip(&s, cluster, err));
    add_source(&s, model, plan, cluster, stack, facts);
    add_facts(&s, model, facts);
    out->typical = s.t.typical * sqrt(s.squares);
    out->bound = s.t.bound * sqrt(s.squares);
    return HALLEY_OK;
}

halley_status halley_error_bar_find(halley_error_bar *out, const halley_model *model,
                                    const halley_plan *plan,
                                    const halley_cluster *cluster,
                                    const halley_stack *stack,
                                    const halley_bar_facts *facts, halley_error *err)
{
    conf_file file;
    halley_error_bar bar = {0};
    const cluster_embedded *text = cluster_embedded_find("data/error-bars.yaml");
    if (text == NULL)
        return error_set(err, HALLEY_ENOTFOUND, "data/error-bars.yaml is not built in");
    TRY(conf_parse(&file, (str){text->text, text->n}, text->path, err));
    const halley_status status =
        find_bar_in_file(&bar, &file, model, plan, cluster, stack, facts, err);
    conf_fini(&file);
    TRY(status);
    bar.size = sizeof bar;
    *out = bar;
    return HALLEY_OK;
}

void halley_error_bar_print(char to[HALLEY_ERROR_BAR_TEXT], const halley_error_bar *bar)
{
    char why[120] = "";
    if (bar->unmeasured != NULL)
        snprintf(why, sizeof why,
                 " No measured run of this layer kind: %s are timed by their roofline.",
                 bar->unmeasured);
    else if (!bar->measured_npu)
        snprintf(why, sizeof why, " No run of this chip was ever compared.");
    else if (bar->hypothetical)
        snprintf(why, sizeof why, " No system like this was ever measured.");
    else if (!bar->measured)
        snprintf(why, sizeof why, " No run of this kind of model was ever compared.");
    snprintf(to, HALLEY_ERROR_BAR_TEXT,
             "Expect about %s %% error (19 of 20 runs of a new source within %s %%; from "
             "%u runs of %u sources, each left out in turn)%s.%s",
             number_fixed(100 * bar->typical, 0).at, number_fixed(100 * bar->bound, 0).at,
             bar->n_runs, bar->n_sources,
             bar->known_stack    ? ""
             : bar->chosen_stack ? "; no run of this software was compared"
                                 : ": no software stack was chosen (-s), so uncalibrated "
                                   "constants were used",
             why);
}
