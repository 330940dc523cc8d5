/* Values of parameters as study files write them: numbers with units, names, presets. */
#include "base/array.h"
#include "base/number/number.h"
#include "explore/study/param.h"
#include "hw/link.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool explore_value_number(explore_value *out, arena *memory, const explore_ref *ref,
                          double number)
{
    assert(ref->param.path[0] != '\0' && memory != NULL);
    char text[64];
    const units_kind unit = ref->param.unit;
    if (ref->param.kind == PARAM_ENUM)
        snprintf(text, sizeof text, "%s", ref->param.names[(int)number]);
    else if (ref->param.kind == PARAM_BOOL)
        snprintf(text, sizeof text, "%s", number != 0 ? "yes" : "no");
    else if (unit == UNITS_COUNT || unit == UNITS_SHARE)
        snprintf(text, sizeof text, "%s", number_digits(number, 6).at);
    else
        units_format(text, sizeof text, number, unit);
    *out = (explore_value){.number = number, .text = arena_copy(memory, str_from(text))};
    return out->text;
}

static halley_status read_name(explore_value *out, explore_loader *l,
                               const explore_ref *ref, const conf_node *node,
                               halley_error *err)
{
    assert(ref->param.names != NULL);
    const char *const *names = ref->param.names;
    size_t n = 0;
    for (; names[n]; n++) {
        if (!str_eq(node->text, str_from(names[n])))
            continue;
        *out = (explore_value){.number = (double)n, .text = names[n]};
        return HALLEY_OK;
    }
    const char *near = str_nearest(node->text, names, n);
    return conf_error(l->file, node, err, HALLEY_EINVAL, "%s cannot be \"%.*s\"%s%s%s",
                      ref->param.path, STR_ARG(node->text),
                      near ? ", did you mean \"" : "", near ? near : "",
                      near ? "\"?" : "");
}

static halley_status read_bits(explore_value *out, explore_loader *l,
                               const explore_ref *ref, const conf_node *node,
                               halley_error *err)
{
    assert(ref->param.kind == PARAM_BITS);
    uint32_t bits = 0;
    str rest = node->text, word;
    if (!str_eq(rest, STR("none"))) {
        while (str_next(&rest, '+', &word)) {
            conf_node one = *node;
            explore_value v = {0};
            one.text = str_trim(word);
            TRY(read_name(&v, l, ref, &one, err));
            bits |= 1u << (uint32_t)v.number;
        }
    }
    *out = (explore_value){.number = bits, .text = arena_copy(l->memory, node->text)};
    return out->text ? HALLEY_OK : error_nomem(err);
}

/* "all" for fsdp. */
static bool is_all(const explore_param *p, str text)
{
    return p->fact != NULL && p->fact->all != NULL &&
           str_eq(text, str_from(p->fact->all));
}

static halley_status read_number(explore_value *out, explore_loader *l,
                                 const explore_ref *ref, const conf_node *node,
                                 halley_error *err)
{
    assert(ref->param.path[0] != '\0');
    double number = 0;
    bool flag = false;
    if (ref->param.kind == PARAM_BOOL) {
        TRY(conf_to_bool(&flag, l->file, node, ref->param.path, err));
        number = flag;
    } else if (is_all(&ref->param, node->text)) {
        *out = (explore_value){.number = UINT32_MAX, .text = ref->param.fact->all};
        return HALLEY_OK;
    } else {
        TRY(conf_to_quantity(&number, l->file, node, ref->param.unit, ref->param.path,
                             err));
    }
    if (!explore_number_fits(ref, number))
        return conf_error(l->file, node, err, HALLEY_EINVAL,
                          "%s cannot be %.*s: it must be %s between %s and %s",
                          ref->param.path, STR_ARG(node->text),
                          ref->param.kind == PARAM_U32 ? "a whole number" : "a number",
                          number_digits(ref->param.min, 6).at,
                          number_digits(ref->param.max, 6).at);
    return explore_value_number(out, l->memory, ref, number) ? HALLEY_OK
                                                             : error_nomem(err);
}

static bool keep_model(explore_loader *l, halley_model *model)
{
    assert(l->n_models <= l->cap_models);
    if (l->n_models == l->cap_models) {
        const uint32_t cap = l->cap_models ? 2 * l->cap_models : 8;
        halley_model **grown = arena_array(l->memory, cap, sizeof *grown);
        if (!grown)
            return false;
        if (l->n_models)
            memcpy(grown, l->models, l->n_models * sizeof *grown);
        l->models = grown;
        l->cap_models = cap;
    }
    l->models[l->n_models++] = model;
    return true;
}

/* Loaded clusters live as long as the study, which frees them. */
static halley_status load_cluster(explore_value *out, explore_loader *l, const char *name,
                                  halley_error *err)
{
    halley_cluster *c = NULL;
    TRY(halley_cluster_load(&c, name, err));
    halley_status status = halley_cluster_check_estimate(c, err);
    if (status == HALLEY_OK && !array_push(&l->clusters, c))
        status = error_nomem(err);
    if (status != HALLEY_OK) {
        halley_cluster_free(c);
        return status;
    }
    out->object = c;
    out->n_npus = halley_cluster_npus(c);
    return HALLEY_OK;
}

static halley_status load_whole(explore_value *out, explore_loader *l, param_kind kind,
                                char *name, halley_error *err)
{
    static const size_t sizes[] = {
        [PARAM_MODEL] = sizeof(halley_model), [PARAM_CLUSTER] = 0,
        [PARAM_NPU] = sizeof(halley_npu),     [PARAM_UP] = sizeof(halley_link),
        [PARAM_OUT] = sizeof(halley_fabric),  [PARAM_STACK] = sizeof(halley_stack)};
    if (kind == PARAM_CLUSTER)
        return load_cluster(out, l, name, err);
    void *to = arena_array(l->memory, 1, sizes[kind]);
    if (!to)
        return error_nomem(err);
    out->object = to;
    switch (kind) {
    case PARAM_MODEL:
        TRY(halley_model_load(to, name, err));
        if (keep_model(l, to))
            return HALLEY_OK;
        halley_model_fini(to);
        return error_nomem(err);
    case PARAM_NPU:
        return cluster_npu_load(to, name, err);
    case PARAM_UP:
        return cluster_link_load(to, name, err);
    case PARAM_OUT:
        return cluster_fabric_load(to, name, err);
    default:
        return halley_stack_load(to, name, err);
    }
}

static halley_status read_whole(explore_value *out, explore_loader *l,
                                const explore_ref *ref, const conf_node *node,
                                halley_error *err)
{
    assert(explore_param_whole(&ref->param));
    *out = (explore_value){.number = NAN};
    char *name = arena_copy(l->memory, node->text);
    out->text = arena_copy(l->memory, node->text);
    if (!name || !out->text)
        return error_nomem(err);
    const halley_status status = load_whole(out, l, ref->param.kind, name, err);
    if (status != HALLEY_OK && err && !err->file[0]) {
        error_at_file(err, l->file->path);
        error_at_line(err, node->line, node->column);
    }
    return status;
}

/* Read a value of the cluster's file, in the form that it has there. */
static halley_status read_edit(explore_value *out, explore_loader *l,
                               const conf_node *node, halley_error *err)
{
    strbuf text = {0};
    hw_node_print(&text, node);
    *out = (explore_value){
        .number = NAN,
        .text = text.failed ? NULL : arena_copy(l->memory, strbuf_str(&text))};
    strbuf_fini(&text);
    if (out->text != NULL && !number_read(str_from(out->text), &out->number))
        out->number = NAN;
    return out->text == NULL ? error_nomem(err) : HALLEY_OK;
}

halley_status explore_value_read(explore_value *out, explore_loader *loader,
                                 const explore_ref *ref, const conf_node *node,
                                 halley_error *err)
{
    if (node->kind == CONF_MAP && ref->param.kind == PARAM_OUT)
        return read_edit(out, loader, node, err);
    if (node->kind != CONF_SCALAR)
        return conf_error(loader->file, node, err, HALLEY_EFORMAT,
                          "%s needs one value here", ref->param.path);
    if (ref->param.kind == PARAM_EDIT)
        return read_edit(out, loader, node, err);
    if (explore_param_whole(&ref->param))
        return read_whole(out, loader, ref, node, err);
    if (ref->param.kind == PARAM_ENUM)
        return read_name(out, loader, ref, node, err);
    if (ref->param.kind == PARAM_BITS)
        return read_bits(out, loader, ref, node, err);
    return read_number(out, loader, ref, node, err);
}
