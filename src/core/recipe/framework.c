/* What a framework can do: one file each in presets/frameworks. */
#include "base/conf/conf.h"
#include "base/error.h"
#include "halley/recipe.h"
#include "hw/embedded.h"

#include <stdio.h>
#include <string.h>

typedef struct file_text {
    str name, source;
    const conf_node *serves, *has;
} file_text;
typedef struct has_text {
    const conf_node *zero, *zero_with_stages, *schedules, *dispatchers;
    bool fsdp, fsdp_with_stages, stages, graphs, overlap_ep;
} has_text;
#define FILE_KEY(key, type, member, doc)                                                 \
    CONF_FIELD(file_text, key, type, UNITS_COUNT, member, true, doc)
#define HAS(key, type, member, needed, doc)                                              \
    CONF_FIELD(has_text, key, type, UNITS_COUNT, member, needed, doc)
static const conf_field file_fields[] = {
    FILE_KEY("name", CONF_TYPE_TEXT, name, "of the framework"),
    FILE_KEY("serves", CONF_TYPE_NODE, serves, "names in stacks"),
    FILE_KEY("has", CONF_TYPE_NODE, has, "what it can do"),
    FILE_KEY("source", CONF_TYPE_TEXT, source, "where this is stated"),
};
static const conf_field has_fields[] = {
    HAS("zero", CONF_TYPE_NODE, zero, true, "stages of ZeRO"),
    HAS("zero-with-stages", CONF_TYPE_NODE, zero_with_stages, false, "with pipelines"),
    HAS("schedules", CONF_TYPE_NODE, schedules, true, "pipeline schedules"),
    HAS("dispatchers", CONF_TYPE_NODE, dispatchers, true, "of tokens to experts"),
    HAS("fsdp", CONF_TYPE_BOOL, fsdp, true, "shards weights"),
    HAS("fsdp-with-stages", CONF_TYPE_BOOL, fsdp_with_stages, true, "with pipelines"),
    HAS("stages", CONF_TYPE_BOOL, stages, false, "pipelines"),
    HAS("graphs", CONF_TYPE_BOOL, graphs, true, "captures CUDA graphs"),
    HAS("overlap-ep", CONF_TYPE_BOOL, overlap_ep, true, "overlaps expert messages"),
};

/* The bits of the items that a key of plans has as words or numbers. */
static uint32_t read_bits(const conf_node *list, halley_plan_key key)
{
    const char *const *words = halley_plan_key_words(key);
    uint32_t bits = 0;
    for (uint32_t i = 0; list != NULL && list->kind == CONF_LIST && i < list->n; i++) {
        const str item = list->items[i]->text;
        uint64_t number;
        for (uint32_t k = 0; words != NULL && words[k] != NULL; k++)
            bits |= str_eq(item, str_from(words[k])) ? 1u << k : 0;
        if (words == NULL && str_to_u64(item, &number) && number < 32)
            bits |= 1u << number;
    }
    return bits;
}

static bool serves(const conf_node *list, const char *framework)
{
    for (uint32_t i = 0; list != NULL && list->kind == CONF_LIST && i < list->n; i++)
        if (str_eq(list->items[i]->text, str_from(framework)))
            return true;
    return false;
}

static halley_status read_framework(halley_framework *out, const conf_file *file,
                                    const char *framework, halley_error *err)
{
    file_text f = {.name = {"", 0}};
    has_text h = {.stages = true};
    TRY(conf_read(&f, file, file->root, file_fields,
                  sizeof file_fields / sizeof *file_fields, true, NULL, err));
    if (!serves(f.serves, framework))
        return HALLEY_OK;
    TRY(conf_read(&h, file, f.has, has_fields, sizeof has_fields / sizeof *has_fields,
                  true, NULL, err));
    *out = (halley_framework){
        .known = true,
        .zero = read_bits(h.zero, HALLEY_KEY_ZERO),
        .zero_with_stages = read_bits(
            h.zero_with_stages != NULL ? h.zero_with_stages : h.zero, HALLEY_KEY_ZERO),
        .schedules = read_bits(h.schedules, HALLEY_KEY_SCHEDULE),
        .dispatchers = read_bits(h.dispatchers, HALLEY_KEY_DISPATCHER),
        .fsdp = h.fsdp,
        .fsdp_with_stages = h.fsdp_with_stages,
        .stages = h.stages,
        .graphs = h.graphs,
        .overlap_ep = h.overlap_ep};
    snprintf(out->name, sizeof out->name, "%.*s", STR_ARG(f.name));
    return HALLEY_OK;
}

halley_status halley_framework_find(halley_framework *out, const char *framework,
                                    halley_error *err)
{
    *out = (halley_framework){.known = false};
    for (size_t i = 0; framework[0] != '\0' && i < cluster_embedded_n && !out->known;
         i++) {
        const cluster_embedded *at = &cluster_embedded_files[i];
        conf_file file;
        if (strncmp(at->path, "presets/frameworks/", 19) != 0)
            continue;
        TRY(conf_parse(&file, (str){at->text, at->n}, at->path, err));
        const halley_status status = read_framework(out, &file, framework, err);
        conf_fini(&file);
        TRY(status);
    }
    return HALLEY_OK;
}

const char *halley_framework_lacks(const halley_framework *f, const halley_plan *p)
{
    const bool staged = p->pp > 1;
    if (!f->known)
        return NULL;
    if (staged && !f->stages)
        return "pipeline stages";
    if (staged && !(f->schedules >> p->schedule & 1))
        return "this pipeline schedule";
    if (p->fsdp > 1 && !f->fsdp)
        return "FSDP";
    if (p->fsdp > 1 && staged && !f->fsdp_with_stages)
        return "FSDP with stages";
    if (p->fsdp > 1 || p->dp * p->cp <= 1)
        return NULL;
    if (!((staged ? f->zero_with_stages : f->zero) >> p->zero & 1))
        return staged ? "this ZeRO stage with pipeline stages" : "this ZeRO stage";
    return NULL;
}
