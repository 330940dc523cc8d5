/* Reads presets/recipes: rows of plan keys, shapes of models, kinds of devices. */
#include "recipe/data.h"

#include "base/error.h"
#include "base/number/number.h"
#include "hw/embedded.h"
#include "workload/stack_file.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char folder[] = "presets/recipes/";
static const char models_path[] = "presets/recipes/models.json";
static const char matching_path[] = "presets/recipes/matching.json";

static str text_of(const conf_node *map, const char *key)
{
    const conf_node *node = conf_find(map, key);
    return node != NULL && node->kind == CONF_SCALAR ? node->text : (str){"", 0};
}

static uint32_t count_of(const conf_node *map, const char *key)
{
    double value;
    if (!number_read(text_of(map, key), &value) || value < 0 || value > 4e9)
        return 0;
    return (uint32_t)value;
}

static halley_status parse_embedded(conf_file *out, const char *path, halley_error *err)
{
    const cluster_embedded *file = cluster_embedded_find(path);
    if (file == NULL)
        return error_set(err, HALLEY_ENOTFOUND, "%s is not built in", path);
    return conf_parse(out, (str){file->text, file->n}, file->path, err);
}

static recipe_shape find_shape(const halley_recipes *set, str model)
{
    const conf_node *models = conf_find(set->models.root, "models");
    recipe_shape s = {0};
    for (uint32_t i = 0; models != NULL && i < models->n; i++) {
        const conf_node *at = models->items[i];
        if (!str_eq(models->keys[i], model))
            continue;
        s = (recipe_shape){.layers = count_of(at, "layers"),
                           .hidden = count_of(at, "hidden"),
                           .heads = count_of(at, "heads"),
                           .experts = count_of(at, "experts"),
                           .expert_ffn = count_of(at, "expert-ffn"),
                           .vocab = count_of(at, "vocab")};
        (void)number_read(text_of(at, "active-parameters"), &s.active_params);
    }
    return s;
}

static halley_fp8_recipe find_scales(str word, halley_dtype dtype)
{
    static const char *const words[HALLEY_N_RECIPES] = {"tensor", "row", "block", "mx",
                                                        "nv"};
    for (int i = 0; i < HALLEY_N_RECIPES; i++)
        if (str_eq(word, str_from(words[i])))
            return (halley_fp8_recipe)i;
    return dtype == HALLEY_FP4 ? HALLEY_FP8_NV : HALLEY_FP8_TENSOR;
}

static halley_status add_row(halley_recipes *set, const conf_node *map, halley_error *err)
{
    recipe_row row = {.map = map,
                      .model = text_of(map, "model"),
                      .task = text_of(map, "task"),
                      .npu = text_of(map, "npu"),
                      .variant = text_of(map, "variant"),
                      .source = text_of(map, "source"),
                      .npus = count_of(map, "npus"),
                      .global_batch = count_of(map, "global-batch"),
                      .releases = conf_find(map, "releases"),
                      .file = set->n_files};
    char dtype[16];
    snprintf(dtype, sizeof dtype, "%.*s", STR_ARG(text_of(map, "dtype")));
    (void)halley_dtype_find(&row.dtype, dtype);
    row.scales = find_scales(text_of(map, "fp8-recipe"), row.dtype);
    row.shape = find_shape(set, row.model);
    return array_push(&set->rows, row) ? HALLEY_OK : error_nomem(err);
}

int recipe_release_compare(str a, str b)
{
    char x[HALLEY_RELEASE], y[HALLEY_RELEASE];
    snprintf(x, sizeof x, "%.*s", STR_ARG(a));
    snprintf(y, sizeof y, "%.*s", STR_ARG(b));
    return workload_release_compare(x, y);
}

/* Keep the releases in order. */
static halley_status add_release(recipe_file *file, str release, halley_error *err)
{
    if (recipe_release_index(file, release) >= 0)
        return HALLEY_OK;
    if (!array_push(&file->releases, release))
        return error_nomem(err);
    for (size_t i = file->releases.n - 1;
         i > 0 &&
         recipe_release_compare(file->releases.at[i], file->releases.at[i - 1]) < 0;
         i--) {
        const str other = file->releases.at[i];
        file->releases.at[i] = file->releases.at[i - 1];
        file->releases.at[i - 1] = other;
    }
    return HALLEY_OK;
}

static halley_status read_rows(halley_recipes *set, const recipe_file *file,
                               halley_error *err)
{
    const conf_node *rows = conf_find(file->conf.root, "recipes");
    recipe_file *to = &set->files[set->n_files];
    for (uint32_t i = 0; rows != NULL && rows->kind == CONF_LIST && i < rows->n; i++) {
        TRY(add_row(set, rows->items[i], err));
        const conf_node *releases = conf_find(rows->items[i], "releases");
        for (uint32_t k = 0; releases != NULL && k < releases->n; k++)
            TRY(add_release(to, releases->items[k]->text, err));
    }
    return HALLEY_OK;
}

static halley_status load_file(halley_recipes *set, const char *path, halley_error *err)
{
    recipe_file *file = &set->files[set->n_files];
    if (set->n_files == RECIPE_MAX_FILES)
        return error_set(err, HALLEY_ELIMIT, "more than %d files of recipes",
                         RECIPE_MAX_FILES);
    TRY(parse_embedded(&file->conf, path, err));
    file->framework = text_of(file->conf.root, "framework");
    const halley_status status = read_rows(set, file, err);
    file->newest = text_of(file->conf.root, "newest");
    if (file->newest.n == 0 && file->releases.n > 0)
        file->newest = file->releases.at[file->releases.n - 1];
    set->n_files++;
    return status;
}

static halley_status load_all(halley_recipes *set, halley_error *err)
{
    for (size_t i = 0; i < cluster_embedded_n; i++) {
        const char *path = cluster_embedded_files[i].path;
        if (strncmp(path, folder, sizeof folder - 1) == 0 &&
            strcmp(path, models_path) != 0 && strcmp(path, matching_path) != 0)
            TRY(load_file(set, path, err));
    }
    return HALLEY_OK;
}

static halley_status load_framework(halley_recipes *set, str framework, halley_error *err)
{
    char path[128];
    snprintf(path, sizeof path, "%s%.*s.json", folder, STR_ARG(framework));
    return cluster_embedded_find(path) != NULL ? load_file(set, path, err) : HALLEY_OK;
}

/* The framework's own recipes, or those of its family. */
static halley_status load_family(halley_recipes *set, const char *framework,
                                 halley_error *err)
{
    const conf_node *families = conf_find(set->matching.root, "families");
    const conf_node *family = families != NULL ? conf_find(families, framework) : NULL;
    if (family == NULL)
        return load_framework(set, str_from(framework), err);
    for (uint32_t i = 0; i < family->n; i++)
        TRY(load_framework(set, family->items[i]->text, err));
    return HALLEY_OK;
}

halley_status halley_recipes_load(halley_recipes **out, const char *framework,
                                  halley_error *err)
{
    halley_recipes *set = calloc(1, sizeof *set);
    if (set == NULL)
        return error_nomem(err);
    halley_status status = parse_embedded(&set->models, models_path, err);
    if (status == HALLEY_OK)
        status = parse_embedded(&set->matching, matching_path, err);
    if (status == HALLEY_OK)
        status =
            framework != NULL ? load_family(set, framework, err) : load_all(set, err);
    if (status != HALLEY_OK)
        halley_recipes_free(set);
    else
        *out = set;
    return status;
}

void halley_recipes_free(halley_recipes *set)
{
    if (set == NULL)
        return;
    for (uint32_t i = 0; i < set->n_files; i++) {
        array_fini(&set->files[i].releases);
        conf_fini(&set->files[i].conf);
    }
    array_fini(&set->rows);
    conf_fini(&set->models);
    conf_fini(&set->matching);
    free(set);
}

size_t halley_recipes_count(const halley_recipes *set)
{
    return set->rows.n;
}

void halley_recipes_get(halley_recipe *out, const halley_recipes *set, size_t i)
{
    const recipe_row *row = &set->rows.at[i];
    const recipe_file *file = &set->files[row->file];
    assert(i < set->rows.n);
    recipe_row_get(
        out, set, row,
        recipe_row_release(set, row, recipe_release_index(file, file->newest)));
}

int recipe_release_index(const recipe_file *file, str release)
{
    for (size_t i = 0; i < file->releases.n; i++)
        if (str_eq(file->releases.at[i], release))
            return (int)i;
    return -1;
}

str recipe_row_release(const halley_recipes *set, const recipe_row *row, int wanted)
{
    const recipe_file *file = &set->files[row->file];
    str best = {"", 0};
    int least = INT32_MAX;
    for (uint32_t i = 0; row->releases != NULL && i < row->releases->n; i++) {
        const int at = recipe_release_index(file, row->releases->items[i]->text);
        const int steps = at < wanted ? wanted - at : at - wanted;
        if (steps > least)
            continue;
        least = steps;
        best = row->releases->items[i]->text;
    }
    return best;
}

const char *recipe_format_name(halley_dtype dtype, halley_fp8_recipe scales)
{
    static const char *const eights[HALLEY_N_RECIPES] = {"fp8", "fp8-row", "fp8-block",
                                                         "mxfp8", "fp8"};
    if (dtype == HALLEY_FP8)
        return eights[scales];
    if (dtype == HALLEY_FP4)
        return scales == HALLEY_FP8_MX ? "mxfp4" : "nvfp4";
    return halley_dtype_name(dtype);
}

/* A value as halley_plan_set reads it: lists are joined, booleans are yes and no. */
static void print_value(char to[HALLEY_RECIPE_VALUE], const conf_node *node)
{
    size_t n = 0;
    const uint32_t items = node->kind == CONF_LIST ? node->n : 1;
    to[0] = '\0';
    for (uint32_t i = 0; i < items; i++) {
        const conf_node *at = node->kind == CONF_LIST ? node->items[i] : node;
        str word = at->kind == CONF_SCALAR ? at->text : STR("");
        if (!at->quoted && (str_eq(word, STR("true")) || str_eq(word, STR("false"))))
            word = str_eq(word, STR("true")) ? STR("yes") : STR("no");
        const int add = snprintf(to + n, HALLEY_RECIPE_VALUE - n, "%s%.*s",
                                 i > 0 ? "," : "", STR_ARG(word));
        if (add < 0 || (size_t)add >= HALLEY_RECIPE_VALUE - n) {
            to[0] = '\0';
            return;
        }
        n += (size_t)add;
    }
}

void recipe_row_get(halley_recipe *out, const halley_recipes *set, const recipe_row *row,
                    str release)
{
    char npus[16] = "", variant[HALLEY_NAME] = "";
    *out = (halley_recipe){.size = sizeof *out, .npus = row->npus};
    if (row->npus > 0)
        snprintf(npus, sizeof npus, "/%u", row->npus);
    if (row->variant.n > 0)
        snprintf(variant, sizeof variant, "/%.*s", STR_ARG(row->variant));
    snprintf(out->name, sizeof out->name, "%.*s%s%.*s%s/%s%s@%.*s", STR_ARG(row->model),
             row->npu.n > 0 ? "/" : "", STR_ARG(row->npu), npus,
             recipe_format_name(row->dtype, row->scales), variant, STR_ARG(release));
    snprintf(out->framework, sizeof out->framework, "%.*s",
             STR_ARG(set->files[row->file].framework));
    snprintf(out->release, sizeof out->release, "%.*s", STR_ARG(release));
    snprintf(out->source, sizeof out->source, "%.*s", STR_ARG(row->source));
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++) {
        const conf_node *node =
            conf_find(row->map, halley_plan_key_name((halley_plan_key)i));
        if (node != NULL)
            print_value(out->value[i], node);
    }
}

halley_status halley_device_kind(char vendor[HALLEY_NAME], char generation[HALLEY_NAME],
                                 const char *npu, halley_error *err)
{
    conf_file file = {0};
    TRY(parse_embedded(&file, matching_path, err));
    const conf_node *devices = conf_find(file.root, "devices");
    const conf_node *device =
        devices != NULL && npu[0] != '\0' ? conf_find(devices, npu) : NULL;
    snprintf(vendor, HALLEY_NAME, "%.*s",
             STR_ARG(device != NULL ? text_of(device, "vendor") : STR("")));
    snprintf(generation, HALLEY_NAME, "%.*s",
             STR_ARG(device != NULL ? text_of(device, "generation") : STR("")));
    conf_fini(&file);
    return HALLEY_OK;
}
