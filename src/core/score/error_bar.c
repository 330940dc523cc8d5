/*
 * The error bar of a design, looked up in data/error-bars.yaml. It is the bar of the
 * narrowest class of comparable runs that has three sources. If no run of a chip or of a
 * kind of model was ever compared, the bar is 1.5 times that of its class. The result
 * reports this.
 */
#include "halley/error_bar.h"

#include "base/conf/conf.h"
#include "base/number/number.h"
#include "hw/embedded.h"
#include "score/bar_class.h"
#include "score/error_bars.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const double never_measured = 1.5;

typedef struct class_text {
    uint32_t kind, stack, device, parallel;
    double typical, bound;
    uint32_t runs, sources;
} class_text;
/* The words of a class's members; "any" = the member does not matter. */
static const char *const kinds[] = {"any", "dense", "moe", "tpu", "other", NULL};
static const char *const stacks[] = {"any", "known", "family", "unknown", NULL};
static const char *const devices[] = {"any", "fitted", "unfitted", NULL};
static const char *const parallels[] = {"any", "fsdp", "pipeline", "neither", NULL};
#define WORD(key_, member, words, doc_)                                                  \
    {                                                                                    \
        .key = key_, .type = CONF_TYPE_ENUM, .offset = offsetof(class_text, member),     \
        .names = words, .required = true, .doc = doc_                                    \
    }
#define CLASS(key, type, unit, member, doc)                                              \
    CONF_FIELD(class_text, key, type, unit, member, true, doc)
static const conf_field class_fields[] = {
    WORD("kind", kind, kinds, "of the model"),
    WORD("stack", stack, stacks, "what is known of the software"),
    WORD("device", device, devices, "was it among the runs fitted to"),
    WORD("parallel", parallel, parallels, "kind of parallelism"),
    CLASS("typical", CONF_TYPE_QUANTITY, UNITS_SHARE, typical, "70 % are within"),
    CLASS("bound", CONF_TYPE_QUANTITY, UNITS_SHARE, bound, "95 % are within"),
    CLASS("runs", CONF_TYPE_U32, UNITS_COUNT, runs, "left-out predictions"),
    CLASS("sources", CONF_TYPE_U32, UNITS_COUNT, sources, "sets of runs"),
};

/* True if a text is among the items of map.key. */
static bool has_item(const conf_node *map, const char *key, const char *text)
{
    const conf_node *list = conf_find(map, key);
    for (uint32_t i = 0; list != NULL && list->kind == CONF_LIST && i < list->n; i++)
        if (str_eq(list->items[i]->text, str_from(text)))
            return true;
    return false;
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

static uint8_t member_of(uint32_t word)
{
    return word == 0 ? BAR_ANY : (uint8_t)(word - 1);
}

static bool is_class(const class_text *t, bar_class c)
{
    return member_of(t->kind) == c.kind && member_of(t->stack) == c.stack &&
           member_of(t->device) == c.device && member_of(t->parallel) == c.parallel;
}

void bar_class_print(char *to, size_t size, bar_class c)
{
    static const char *const kind_words[] = {"dense", "mixture of experts", "TPU",
                                             "other kinds of model"};
    static const char *const stack_words[] = {
        "stack known", "another release of the stack known", "stack unknown"};
    static const char *const parallel_words[] = {", FSDP", ", pipeline",
                                                 ", neither FSDP nor pipeline"};
    snprintf(to, size, "%s, %s%s%s", c.kind == BAR_ANY ? "all kinds" : kind_words[c.kind],
             stack_words[c.stack], c.device == BAR_UNFITTED ? ", device not fitted" : "",
             c.parallel == BAR_ANY ? "" : parallel_words[c.parallel]);
}

static halley_status read_bar(halley_error_bar *out, const conf_file *file,
                              bar_class class, halley_error *err)
{
    const conf_node *list = conf_find(file->root, "classes");
    bar_class wide;
    for (uint32_t i = 0; list != NULL && bar_class_widen(&wide, class, i); i++) {
        for (uint32_t k = 0; list->kind == CONF_LIST && k < list->n; k++) {
            class_text t = {0};
            TRY(conf_read(&t, file, list->items[k], class_fields,
                          sizeof class_fields / sizeof *class_fields, true, NULL, err));
            if (!is_class(&t, wide))
                continue;
            out->typical = t.typical;
            out->bound = t.bound;
            out->n_runs = t.runs;
            out->n_sources = t.sources;
            bar_class_print(out->class_name, sizeof out->class_name, wide);
            return HALLEY_OK;
        }
    }
    return error_set(err, HALLEY_EFORMAT, "%s has no class for this design", file->path);
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

/* The bars of devices that were not fitted come from other runs. They are never narrower
 * than those of fitted devices. */
static halley_status widen_unfitted(halley_error_bar *out, const conf_file *file,
                                    bar_class class, halley_error *err)
{
    halley_error_bar fitted = {0};
    class.device = BAR_FITTED;
    TRY(read_bar(&fitted, file, class, err));
    out->typical = fitted.typical > out->typical ? fitted.typical : out->typical;
    out->bound = fitted.bound > out->bound ? fitted.bound : out->bound;
    return HALLEY_OK;
}

static halley_status find_bar_in_file(halley_error_bar *out, const conf_file *file,
                                      const halley_model *model, const halley_plan *plan,
                                      const halley_cluster *cluster,
                                      const halley_stack *stack, halley_error *err)
{
    bar_class class = bar_class_of(model, plan, cluster);
    const conf_node *known = find_bar_stack(file->root, stack->name);
    const char *npu = cluster->npu.name;
    if (known != NULL)
        class.stack = BAR_KNOWN;
    else if (stack->framework[0] != '\0')
        class.stack = BAR_FAMILY;
    if (class.kind == BAR_OTHER)
        class.stack = BAR_UNKNOWN; /* families have their own constants */
    class.device =
        known == NULL || has_item(known, "npus", npu) ? BAR_FITTED : BAR_UNFITTED;
    TRY(read_bar(out, file, class, err));
    if (class.device == BAR_UNFITTED)
        TRY(widen_unfitted(out, file, class, err));
    out->known_stack = class.stack == BAR_KNOWN || class.kind == BAR_OTHER;
    out->measured_npu = has_item(file->root, "npus", npu);
    if (model->recurrent.layers > 0)
        out->unmeasured = halley_mixer_name(model->recurrent.mixer);
    out->measured = out->measured_npu && out->unmeasured == NULL &&
                    has_item(file->root, "families", bar_family_name(model, plan));
    if (!out->measured) {
        out->typical *= never_measured;
        out->bound *= never_measured;
    }
    return HALLEY_OK;
}

halley_status halley_error_bar_find(halley_error_bar *out, const halley_model *model,
                                    const halley_plan *plan,
                                    const halley_cluster *cluster,
                                    const halley_stack *stack, halley_error *err)
{
    conf_file file;
    halley_error_bar bar = {0};
    const cluster_embedded *text = cluster_embedded_find("data/error-bars.yaml");
    if (text == NULL)
        return error_set(err, HALLEY_ENOTFOUND, "data/error-bars.yaml is not built in");
    TRY(conf_parse(&file, (str){text->text, text->n}, text->path, err));
    const halley_status status =
        find_bar_in_file(&bar, &file, model, plan, cluster, stack, err);
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
    else if (!bar->measured)
        snprintf(why, sizeof why, " No run of this kind of model was ever compared.");
    snprintf(
        to, HALLEY_ERROR_BAR_TEXT,
        "Expect about %s %% error (19 of 20 comparable runs within %s %%; %u runs of "
        "%u sources, each left out in turn)%s.%s",
        number_fixed(100 * bar->typical, 0).at, number_fixed(100 * bar->bound, 0).at,
        bar->n_runs, bar->n_sources,
        bar->known_stack ? ""
                         : ": no software stack was chosen (-s), so uncalibrated "
                           "constants were used",
        why);
}
