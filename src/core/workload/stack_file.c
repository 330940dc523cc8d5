/*
 * Stack files: the framework and releases they serve, the constants that differ from the
 * defaults (known from the software, or fitted), and the constants that may be fitted.
 */
#include "workload/stack_file.h"

#include "base/conf/conf.h"
#include "base/file/file.h"
#include "base/number/number.h"
#include "halley/stack.h"
#include "hw/embedded.h"
#include "hw/npu.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct stack_text {
    str name, framework, from, to;
    bool scatter, pads, old_attention, adds_apart;
    uint32_t reading;
    double expected[2];
    uint32_t n_runs[2], n_layouts;
    const conf_node *given, *fitted, *fit, *sources, *vendors;
} stack_text;
#define STACK(key, type, unit, member, required, doc, default_, example)                 \
    CONF_FIELD_SHOWN(stack_text, key, type, unit, member, required, doc, default_,       \
                     example)
static const char *const reading_names[] = {[HALLEY_READING_ALLOCATED] = "allocated",
                                            [HALLEY_READING_RANK_0] = "rank-0",
                                            [HALLEY_READING_DEVICE] = "device",
                                            NULL};
static const conf_field stack_fields[] = {
    STACK("name", CONF_TYPE_TEXT, UNITS_COUNT, name, true, "name of the stack",
          "required", "mine"),
    STACK("framework", CONF_TYPE_TEXT, UNITS_COUNT, framework, true,
          "framework of the runs it applies to", "required", "megatron-core"),
    STACK("from", CONF_TYPE_TEXT, UNITS_COUNT, from, false, "first release it applies to",
          "any", "\"2024\""),
    STACK("to", CONF_TYPE_TEXT, UNITS_COUNT, to, false, "last release it applies to",
          "any", "\"2025\""),
    STACK("vendors", CONF_TYPE_NODE, UNITS_COUNT, vendors, false,
          "vendors of the devices it runs on; devices of others are refused", "any",
          "[nvidia, amd]"),
    STACK("scatter-stages", CONF_TYPE_BOOL, UNITS_COUNT, scatter, false,
          "whether each tensor-parallel rank sends only 1/tp between stages", "no",
          "yes"),
    STACK("pads-vocabulary", CONF_TYPE_BOOL, UNITS_COUNT, pads, false,
          "whether the vocabulary is padded to a multiple of 128 tp", "no", "yes"),
    STACK("old-attention", CONF_TYPE_BOOL, UNITS_COUNT, old_attention, false,
          "whether its fused attention is of an earlier generation", "no", "yes"),
    STACK("adds-apart", CONF_TYPE_BOOL, UNITS_COUNT, adds_apart, false,
          "whether gradients are accumulated in a copy of the number format that is "
          "reduced",
          "no", "yes"),
    {.key = "memory-reading",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(stack_text, reading),
     .names = reading_names,
     .doc = "what its logs report as peak memory",
     .by_default = "allocated"},
    STACK("expected-error", CONF_TYPE_QUANTITY, UNITS_SHARE, expected[0], false,
          "mean error on held-out layouts", "unknown", "6 %"),
    STACK("expected-runs", CONF_TYPE_U32, UNITS_COUNT, n_runs[0], false,
          "number of runs in expected-error", "0", "40"),
    STACK("expected-error-experts", CONF_TYPE_QUANTITY, UNITS_SHARE, expected[1], false,
          "mean error on held-out layouts of models with experts", "unknown", "9 %"),
    STACK("expected-runs-experts", CONF_TYPE_U32, UNITS_COUNT, n_runs[1], false,
          "number of runs in expected-error-experts", "0", "12"),
    STACK("layouts", CONF_TYPE_U32, UNITS_COUNT, n_layouts, false,
          "number of different layouts among those runs", "0", "15"),
    STACK("given", CONF_TYPE_NODE, UNITS_COUNT, given, false,
          "constants known from another source", "none", "{tp-hidden: 0}"),
    STACK("fitted", CONF_TYPE_NODE, UNITS_COUNT, fitted, false,
          "constants fitted by halley calibrate", "none", "{gemm: 1.1}"),
    STACK("fit", CONF_TYPE_NODE, UNITS_COUNT, fit, false,
          "constants that a calibration may change, at most eight", "none",
          "[gemm, attention]"),
    STACK("sources", CONF_TYPE_NODE, UNITS_COUNT, sources, false,
          "where the numbers come from; for readers only", "none", "[own runs of May]"),
};

bool halley_stack_key(halley_file_key *out, size_t i)
{
    if (i >= sizeof stack_fields / sizeof *stack_fields)
        return false;
    const conf_field *const f = &stack_fields[i];
    *out = (halley_file_key){.key = f->key,
                             .doc = f->doc,
                             .names = f->names,
                             .required = f->required,
                             .by_default = f->by_default,
                             .example = f->example};
    return true;
}

static halley_status constant_of(halley_constant *out, const conf_file *file,
                                 const conf_node *at, str key, halley_error *err)
{
    const char *names[HALLEY_N_CONSTANTS];
    for (unsigned i = 0; i < HALLEY_N_CONSTANTS; i++) {
        names[i] = halley_constant_get((halley_constant)i)->key;
        if (str_eq(str_from(names[i]), key)) {
            *out = (halley_constant)i;
            return HALLEY_OK;
        }
    }
    const char *near = str_nearest(key, names, HALLEY_N_CONSTANTS);
    return conf_error(file, at, err, HALLEY_EFORMAT, "no constant \"%.*s\"%s%s%s",
                      STR_ARG(key), near ? "; did you mean \"" : "", near ? near : "",
                      near ? "\"?" : "");
}

static halley_status read_constants(halley_stack *out, const conf_file *file,
                                    const conf_node *map, uint8_t origin,
                                    halley_error *err)
{
    for (uint32_t i = 0; map && i < map->n; i++) {
        halley_constant id;
        double value;
        TRY(constant_of(&id, file, map->items[i], map->keys[i], err));
        const halley_constant_info *info = halley_constant_get(id);
        TRY(conf_to_double(&value, file, map->items[i], info->key, err));
        if (value < info->min || value > info->max)
            return conf_error(file, map->items[i], err, HALLEY_EINVAL,
                              "%s must be %s to %s, is %s", info->key,
                              number_digits(info->min, 6).at,
                              number_digits(info->max, 6).at, number_digits(value, 6).at);
        out->k[id] = value;
        if (origin == 1)
            out->prior[id] = value;
        out->origin[id] = origin;
    }
    return HALLEY_OK;
}

static halley_status read_fit(halley_stack *out, const conf_file *file,
                              const conf_node *list, halley_error *err)
{
    if (!list)
        return HALLEY_OK;
    if (list->kind != CONF_LIST || list->n > HALLEY_MAX_FITTED)
        return conf_error(file, list, err, HALLEY_EINVAL,
                          "fit must be a list of at most %d constants",
                          HALLEY_MAX_FITTED);
    for (uint32_t i = 0; i < list->n; i++) {
        halley_constant id;
        TRY(constant_of(&id, file, list->items[i], list->items[i]->text, err));
        out->fit[out->n_fit++] = (uint8_t)id;
    }
    return HALLEY_OK;
}

static halley_status read_vendors(halley_stack *out, const conf_file *file,
                                  const conf_node *list, halley_error *err)
{
    if (!list)
        return HALLEY_OK;
    if (list->kind != CONF_LIST || list->n > HALLEY_MAX_VENDORS)
        return conf_error(file, list, err, HALLEY_EINVAL,
                          "vendors must be a list of at most %d names",
                          HALLEY_MAX_VENDORS);
    for (uint32_t i = 0; i < list->n; i++)
        snprintf(out->vendors[i], sizeof out->vendors[i], "%.*s",
                 STR_ARG(list->items[i]->text));
    return HALLEY_OK;
}

static halley_status release_copy(char to[16], str text, halley_error *err)
{
    if (text.n >= 16)
        return error_set(err, HALLEY_ELIMIT, "release \"%.*s\" is too long",
                         STR_ARG(text));
    memcpy(to, text.at, text.n);
    to[text.n] = '\0';
    return HALLEY_OK;
}

static halley_status read_stack(halley_stack *out, const conf_file *file,
                                halley_error *err)
{
    stack_text t = {.scatter = true, .pads = true, .from = {"", 0}, .to = {"", 0}};
    TRY(conf_read(&t, file, file->root, stack_fields,
                  sizeof stack_fields / sizeof *stack_fields, true, NULL, err));
    halley_stack_default(out);
    out->scatter_stages = t.scatter;
    out->pads_vocab = t.pads;
    out->old_attention = t.old_attention;
    out->adds_apart = t.adds_apart;
    out->known = true;
    out->reading = (halley_memory_reading)t.reading;
    memcpy(out->expected, t.expected, sizeof t.expected);
    memcpy(out->n_runs, t.n_runs, sizeof t.n_runs);
    out->n_layouts = t.n_layouts;
    TRY(cluster_name_copy(out->name, t.name, err));
    TRY(cluster_name_copy(out->framework, t.framework, err));
    TRY(release_copy(out->from, t.from, err));
    TRY(release_copy(out->to, t.to, err));
    TRY(read_vendors(out, file, t.vendors, err));
    TRY(read_constants(out, file, t.given, 1, err));
    TRY(read_constants(out, file, t.fitted, 2, err));
    return read_fit(out, file, t.fit, err);
}

halley_status halley_stack_load(halley_stack *out, const char *name, halley_error *err)
{
    conf_file file;
    TRY(cluster_preset_load(&file, "stacks", name, err));
    const halley_status status = read_stack(out, &file, err);
    conf_fini(&file);
    return status;
}

halley_status halley_stack_parse(halley_stack *out, const char *text, size_t n,
                                 const char *name, halley_error *err)
{
    conf_file file;
    TRY(conf_parse(&file, (str){text, n}, name, err));
    const halley_status status = read_stack(out, &file, err);
    conf_fini(&file);
    return status;
}

int workload_release_compare(const char *a, const char *b)
{
    for (;;) {
        char *end_a, *end_b;
        const long x = strtol(a, &end_a, 10), y = strtol(b, &end_b, 10);
        if (end_a == a || end_b == b)
            return strcmp(a, b);
        if (x != y)
            return x < y ? -1 : 1;
        a = *end_a == '.' ? end_a + 1 : end_a;
        b = *end_b == '.' ? end_b + 1 : end_b;
        if (!*a || !*b)
            return *a ? 1 : *b ? -1 : 0;
    }
}

bool workload_stack_serves(const halley_stack *stack, const char *framework,
                           const char *release)
{
    if (strcmp(stack->framework, framework) != 0)
        return false;
    if (stack->from[0] && workload_release_compare(release, stack->from) < 0)
        return false;
    return !stack->to[0] || workload_release_compare(release, stack->to) <= 0;
}

halley_status halley_stack_choose(halley_stack *out, const char *framework,
                                  const char *release, halley_error *err)
{
    char name[HALLEY_NAME];
    for (size_t i = 0; cluster_preset_name(name, sizeof name, "stacks", i); i++) {
        halley_stack stack;
        TRY(halley_stack_load(&stack, name, err));
        if (!workload_stack_serves(&stack, framework, release))
            continue;
        *out = stack;
        return HALLEY_OK;
    }
    halley_stack_default(out);
    return HALLEY_OK;
}

static void write_constants(file_output *to, const halley_stack *s, const char *key,
                            uint8_t origin)
{
    bool any = false;
    for (unsigned i = 0; i < HALLEY_N_CONSTANTS; i++) {
        const halley_constant_info *info = halley_constant_get((halley_constant)i);
        const bool given = s->prior[i] != info->value;
        if (origin == 1 ? !given && s->origin[i] != 1 : s->origin[i] != origin)
            continue;
        const double value = origin == 1 ? s->prior[i] : s->k[i];
        if (!any)
            file_output_printf(to, "%s:\n", key);
        any = true;
        file_output_printf(
            to, "  %s: %s%*s# %s%s%s\n", info->key, number_digits(value, 4).at,
            (int)(24 - strlen(info->key)) > 1 ? (int)(24 - strlen(info->key)) : 1, "",
            info->unit, *info->unit ? ", " : "", info->doc);
    }
}

halley_status halley_stack_save(const halley_stack *stack, const char *path,
                                halley_error *err)
{
    file_output *to;
    TRY(file_output_open(&to, path, err));
    file_output_printf(to, "name: %s\nframework: %s\n", stack->name, stack->framework);
    if (stack->from[0])
        file_output_printf(to, "from: \"%s\"\n", stack->from);
    if (stack->to[0])
        file_output_printf(to, "to: \"%s\"\n", stack->to);
    for (int i = 0; i < HALLEY_MAX_VENDORS && stack->vendors[i][0]; i++)
        file_output_printf(
            to, "%s%s%s", i > 0 ? ", " : "vendors: [", stack->vendors[i],
            i + 1 == HALLEY_MAX_VENDORS || !stack->vendors[i + 1][0] ? "]\n" : "");
    if (!stack->scatter_stages)
        file_output_printf(to, "scatter-stages: no\n");
    if (!stack->pads_vocab)
        file_output_printf(to, "pads-vocabulary: no\n");
    if (stack->old_attention)
        file_output_printf(to, "old-attention: yes\n");
    if (stack->adds_apart)
        file_output_printf(to, "adds-apart: yes\n");
    if (stack->reading != HALLEY_READING_ALLOCATED)
        file_output_printf(to, "memory-reading: %s\n", reading_names[stack->reading]);
    static const char *const kinds[] = {"", "-experts"};
    for (int i = 0; i < 2; i++) {
        if (stack->n_runs[i])
            file_output_printf(to, "expected-error%s: %s\nexpected-runs%s: %u\n",
                               kinds[i], number_fixed(stack->expected[i], 3).at, kinds[i],
                               stack->n_runs[i]);
    }
    if (stack->n_layouts)
        file_output_printf(to, "layouts: %u\n", stack->n_layouts);
    write_constants(to, stack, "given", 1);
    write_constants(to, stack, "fitted", 2);
    if (stack->n_fit) {
        file_output_printf(to, "fit: [");
        for (uint32_t i = 0; i < stack->n_fit; i++)
            file_output_printf(to, "%s%s", i ? ", " : "",
                               halley_constant_get((halley_constant)stack->fit[i])->key);
        file_output_printf(to, "]\n");
    }
    return file_output_commit(to, err);
}
