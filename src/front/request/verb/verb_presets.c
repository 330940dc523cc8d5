/* halley presets - what is compiled in: models, NPUs, clusters, links, stacks. */
#include "base/conf/conf.h"
#include "base/error.h"
#include "base/file/file.h"
#include "base/number/number.h"
#include "halley/cluster.h"
#include "halley/explore.h"
#include "halley/model.h"
#include "halley/recipe.h"
#include "halley/stack.h"
#include "report/launch.h"
#include "report/model.h"
#include "request/preset_prices.h"
#include "request/preset_values.h"
#include "request/verbs.h"
#include "request/vocabulary.h"

#include <stdlib.h>
#include <string.h>

typedef struct presets_options {
    request_texts sets;
    uint32_t vocab;
    bool values, check_prices;
    request_output output;
} presets_options;

static const request_option options[] = {
    {.name = "set",
     .kind = REQUEST_TEXTS,
     .metavar = "NAME=VALUE",
     .offset = offsetof(presets_options, sets),
     .doc = "set a variable of a launch script",
     .by_default = "none",
     .example = "NNODES=8"},
    {.name = "vocab",
     .kind = REQUEST_U32,
     .min = 1,
     .max = 1e8,
     .metavar = "N",
     .offset = offsetof(presets_options, vocab),
     .doc = "vocabulary size in tokens, for a launch file that does not state it",
     .by_default = "the launch file's",
     .example = "128256"},
    {.name = "values",
     .kind = REQUEST_FLAG,
     .offset = offsetof(presets_options, values),
     .doc = "with --json: write the values of presets as numbers, each with its source"},
    {.name = "check-prices",
     .kind = REQUEST_FLAG,
     .offset = offsetof(presets_options, check_prices),
     .doc = "list the prices of NPUs and hosts with year and source; exit 1 if one has "
            "none"},
    REQUEST_OUTPUT_OPTIONS(presets_options, output),
    {0},
};

static const char *const folders[] = {"models", "clusters", "npus",
                                      "links",  "fabrics",  "stacks"};
enum { N_FOLDERS = sizeof folders / sizeof *folders };

static const report_column columns[] = {
    {"Kind", "kind", REPORT_WORDS, UNITS_COUNT, 0},
    {"Name", "name", REPORT_WORDS, UNITS_COUNT, 0},
};

static const report_column text_columns[] = {
    {"Kind", "kind", REPORT_WORDS, UNITS_COUNT, 0},
    {"Name", "name", REPORT_WORDS, UNITS_COUNT, 0},
    {"Text", "text", REPORT_WORDS, UNITS_COUNT, 0},
};

static void list_folder(report_table *t, const char *folder)
{
    char name[HALLEY_NAME];
    for (size_t i = 0; halley_preset_name(name, sizeof name, folder, i); i++) {
        report_table_words(t, (str){folder, strlen(folder) - 1});
        report_table_words(t, str_from(name));
    }
}

static halley_status write_values(report_json *j, const char *folder, const char *name,
                                  halley_error *err)
{
    report_json_object(j, NULL);
    report_json_text(j, "kind", (str){folder, strlen(folder) - 1});
    report_json_text(j, "name", str_from(name));
    const halley_status status = request_write_preset_values(j, folder, name, err);
    report_json_end(j);
    return status;
}

/* List the values of all presets of a folder (NULL: of all folders), or of those of one
 * name. */
static halley_status list_values(const request_call *call, const char *only,
                                 const char *only_name, halley_error *err)
{
    report_json j;
    halley_status status = HALLEY_OK;
    char name[HALLEY_NAME];
    request_json_begin(&j, call);
    report_json_array(&j, "presets");
    for (int i = 0; i < N_FOLDERS; i++) {
        if (only != NULL && strcmp(only, folders[i]) != 0)
            continue;
        for (size_t k = 0;
             status == HALLEY_OK && halley_preset_name(name, sizeof name, folders[i], k);
             k++)
            if (only_name == NULL || strcmp(only_name, name) == 0)
                status = write_values(&j, folders[i], name, err);
    }
    report_json_end(&j);
    const halley_status ended = request_json_end(&j, call, err);
    return status != HALLEY_OK ? status : ended;
}

static halley_status list_presets(request_call *call, const char *only, halley_error *err)
{
    const presets_options *o = call->options;
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    if (o->check_prices)
        return request_check_prices(call, form, only, err);
    if (o->values && form == REPORT_JSON)
        return list_values(call, only, NULL, err);
    report_table *t = report_table_new(columns, 2);
    if (!t)
        return error_nomem(err);
    for (int i = 0; i < N_FOLDERS; i++) {
        if (!only || strcmp(only, folders[i]) == 0)
            list_folder(t, folders[i]);
    }
    return request_table_write(call, t, "presets", form, err);
}

static bool has_words(const char *name, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcasestr(name, words[i]) == NULL)
            return false;
    return true;
}

static halley_status write_recipe_values(const request_call *call, report_form form,
                                         const halley_recipe *r, halley_error *err)
{
    report_json j;
    if (form == REPORT_JSON) {
        request_json_begin(&j, call);
        report_json_text(&j, "recipe", str_from(r->name));
        report_json_text(&j, "framework", str_from(r->framework));
        report_json_text(&j, "source", str_from(r->source));
        report_json_object(&j, "plan");
    } else {
        fprintf(call->out, "# %s, %s\n# %s\n", r->framework, r->name, r->source);
    }
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++) {
        char key[64];
        const char *name = halley_plan_key_name((halley_plan_key)i);
        if (r->value[i][0] == '\0')
            continue;
        request_key_name(key, name);
        if (form == REPORT_JSON)
            report_json_text(&j, key, str_from(r->value[i]));
        else
            fprintf(call->out, "%s: %s\n", name, r->value[i]);
    }
    if (form != REPORT_JSON)
        return HALLEY_OK;
    report_json_end(&j);
    return request_json_end(&j, call, err);
}

static halley_status list_recipe_names(report_table *t, const halley_recipes *set,
                                       const char *const *words, size_t n,
                                       halley_error *err)
{
    size_t found = 0;
    for (size_t i = 0; i < halley_recipes_count(set); i++) {
        halley_recipe r;
        char all[HALLEY_NAME + HALLEY_RECIPE_NAME + 1];
        halley_recipes_get(&r, set, i);
        snprintf(all, sizeof all, "%s %s", r.framework, r.name);
        if (!has_words(all, words, n))
            continue;
        found++;
        report_table_words(t, STR("recipe"));
        report_table_words(t, str_from(r.framework));
        report_table_words(t, str_from(r.name));
    }
    return found > 0 ? HALLEY_OK
                     : error_set(err, HALLEY_ENOTFOUND,
                                 "no recipe has these words in its name");
}

static const report_column recipe_columns[] = {
    {"Kind", "kind", REPORT_WORDS, UNITS_COUNT, 0},
    {"Framework", "framework", REPORT_WORDS, UNITS_COUNT, 0},
    {"Name", "name", REPORT_WORDS, UNITS_COUNT, 0},
};

/* `presets recipes WORDS`: those whose framework and name contain all words. */
static halley_status list_recipes(request_call *call, halley_error *err)
{
    const presets_options *o = call->options;
    report_form form;
    halley_recipes *set;
    TRY(request_output_form(&form, call, &o->output, err));
    TRY(halley_recipes_load(&set, NULL, err));
    report_table *t = report_table_new(recipe_columns, 3);
    const halley_status status =
        t != NULL ? list_recipe_names(t, set, call->args + 1, call->n_args - 1, err)
                  : error_nomem(err);
    halley_recipes_free(set);
    if (status == HALLEY_OK)
        return request_table_write(call, t, "presets", form, err);
    report_table_free(t);
    return status;
}

/* `presets recipe NAME`: one recipe with its source. */
static halley_status show_recipe(request_call *call, halley_error *err)
{
    const presets_options *o = call->options;
    report_form form;
    halley_recipes *set;
    halley_recipe recipe;
    const halley_model model = {0};
    const halley_plan plan = {0};
    if (call->n_args != 2)
        return request_usage(call, err,
                             "which recipe? `halley presets recipes` lists them");
    TRY(request_output_form(&form, call, &o->output, err));
    TRY(halley_recipes_load(&set, NULL, err));
    halley_status status =
        halley_recipes_find(&recipe, set, &model, &plan, "", 0,
                            &(halley_recipe_opts){.name = call->args[1]}, err);
    halley_recipes_free(set);
    if (status == HALLEY_OK)
        status = write_recipe_values(call, form, &recipe, err);
    return status;
}

/* Show model and plan of a launch file. */
static halley_status show_launch(const request_call *call, report_form form,
                                 const char *path, halley_error *err)
{
    const presets_options *o = call->options;
    halley_launch *launch;
    const halley_launch_opts opts = {.sets = o->sets.at,
                                     .n_sets = o->sets.n,
                                     .vocab = o->vocab,
                                     .may_lack_vocab = true};
    TRY(halley_launch_load(&launch, path, &opts, err));
    halley_status status = HALLEY_OK;
    if (form == REPORT_JSON) {
        report_json j;
        request_json_begin(&j, call);
        report_launch_json(&j, launch);
        status = request_json_end(&j, call, err);
    } else {
        report_launch_text(call->out, launch);
    }
    halley_launch_free(launch);
    return status;
}

/* The type of one of our own files, recognised by keys that only one type has. */
typedef enum own_kind { OWN_MODEL, OWN_PLAN, OWN_CLUSTER, OWN_STUDY, OWN_STACK } own_kind;

static own_kind find_own_kind(const char *path)
{
    static const char *const cluster_keys[] = {"npus", "npu", "kinds", "nodes",
                                               "network"};
    conf_file file;
    own_kind kind = OWN_MODEL;
    if (file_is_folder(path) || conf_load(&file, path, NULL) != HALLEY_OK)
        return kind;
    if (conf_find(file.root, "vary") != NULL)
        kind = OWN_STUDY;
    else if (conf_find(file.root, "framework") != NULL ||
             conf_find(file.root, "given") != NULL || conf_find(file.root, "fit") != NULL)
        kind = OWN_STACK;
    for (size_t i = 0;
         kind == OWN_MODEL && i < sizeof cluster_keys / sizeof *cluster_keys; i++)
        if (conf_find(file.root, cluster_keys[i]) != NULL)
            kind = OWN_CLUSTER;
    const bool is_named = conf_find(file.root, "name") != NULL ||
                          conf_find(file.root, "model_type") != NULL;
    for (int i = 0; kind == OWN_MODEL && !is_named && i < HALLEY_N_PLAN_KEYS; i++)
        if (conf_find(file.root, halley_plan_key_name((halley_plan_key)i)) != NULL ||
            conf_find(file.root, "plan") != NULL)
            kind = OWN_PLAN;
    conf_fini(&file);
    return kind;
}

static halley_status show_cluster(const request_call *call, report_form form,
                                  const char *path, halley_error *err)
{
    halley_cluster *cluster;
    char *text = NULL;
    TRY(halley_cluster_load(&cluster, path, err));
    halley_status status = halley_cluster_print(&text, cluster, err);
    if (status == HALLEY_OK && form == REPORT_JSON) {
        report_json j;
        request_json_begin(&j, call);
        report_json_text(&j, "cluster", str_from(halley_cluster_name(cluster)));
        if (halley_cluster_npus(cluster) > 0)
            report_json_u64(&j, "npus", halley_cluster_npus(cluster));
        report_json_text(&j, "text", str_from(text));
        status = request_json_end(&j, call, err);
    } else if (status == HALLEY_OK) {
        fprintf(call->out, "%s", text);
    }
    free(text);
    halley_cluster_free(cluster);
    return status;
}

/* Show the keys that a plan file sets. */
static halley_status show_plan(const request_call *call, report_form form,
                               const char *path, halley_error *err)
{
    halley_plan plan;
    uint64_t given = 0;
    report_json j;
    halley_plan_default(&plan);
    TRY(halley_plan_load(&plan, &given, path, err));
    if (form == REPORT_JSON)
        request_json_begin(&j, call);
    halley_status status = HALLEY_OK;
    for (int i = 0; i < HALLEY_N_PLAN_KEYS && status == HALLEY_OK; i++) {
        char name[64], *text = NULL;
        if ((given >> i & 1) == 0)
            continue;
        status = halley_plan_print(&text, &plan, (halley_plan_key)i, err);
        snprintf(name, sizeof name, "%s", halley_plan_key_name((halley_plan_key)i));
        if (text != NULL && form != REPORT_JSON)
            fprintf(call->out, "%s: %s\n", name, text);
        for (char *c = name; *c != '\0'; c++)
            *c = *c == '-' ? '_' : *c;
        if (text != NULL && form == REPORT_JSON)
            report_json_raw(&j, name, str_from(text));
        free(text);
    }
    if (form != REPORT_JSON)
        return status;
    const halley_status ended = request_json_end(&j, call, err);
    return status != HALLEY_OK ? status : ended;
}

/* Show the constants of a stack that differ from the defaults. */
static halley_status show_stack(const request_call *call, report_form form,
                                const char *path, halley_error *err)
{
    halley_stack stack;
    report_json j;
    TRY(halley_stack_load(&stack, path, err));
    if (form == REPORT_JSON) {
        request_json_begin(&j, call);
        report_json_text(&j, "stack", str_from(stack.name));
        report_json_array(&j, "constants");
    } else {
        fprintf(call->out, "stack:       %s\n", stack.name);
    }
    for (unsigned i = 0; i < HALLEY_N_CONSTANTS; i++) {
        const halley_constant_info *info = halley_constant_get((halley_constant)i);
        if (stack.origin[i] == 0)
            continue;
        if (form != REPORT_JSON) {
            fprintf(call->out, "%s: %s\n", info->key, number_digits(stack.k[i], 6).at);
            continue;
        }
        report_json_flat_object(&j, NULL);
        report_json_text(&j, "constant", str_from(info->key));
        report_json_double(&j, "value", stack.k[i]);
        report_json_end(&j);
    }
    if (form != REPORT_JSON)
        return HALLEY_OK;
    report_json_end(&j);
    return request_json_end(&j, call, err);
}

static void write_study_json(report_json *j, const halley_study *s)
{
    report_json_text(j, "study", str_from(halley_study_name(s)));
    report_json_text(j, "model", str_from(halley_study_model(s)->name));
    report_json_double(j, "designs", halley_study_size(s));
    report_json_array(j, "axes");
    for (uint32_t i = 0; i < halley_study_axes(s); i++) {
        const halley_axis *axis = halley_study_axis(s, i);
        report_json_flat_object(j, NULL);
        report_json_text(j, "name", str_from(axis->name));
        report_json_array(j, "values");
        for (uint32_t k = 0; k < axis->n; k++)
            report_json_text(j, NULL, str_from(axis->texts[k]));
        report_json_end(j);
        report_json_end(j);
    }
    report_json_end(j);
    report_json_array(j, "objectives");
    for (uint32_t i = 0; i < halley_study_objectives(s); i++)
        report_json_text(j, NULL, str_from(halley_study_objective(s, i)->text));
    report_json_end(j);
}

static void write_study_text(FILE *to, const halley_study *s)
{
    fprintf(to, "study:       %s, %s designs\n", halley_study_name(s),
            number_digits(halley_study_size(s), 6).at);
    fprintf(to, "model:       %s\n", halley_study_model(s)->name);
    for (uint32_t i = 0; i < halley_study_axes(s); i++) {
        const halley_axis *axis = halley_study_axis(s, i);
        fprintf(to, "%s%s:", i == 0 ? "vary:        " : "             ", axis->name);
        for (uint32_t k = 0; k < axis->n && k < 12; k++)
            fprintf(to, " %s%s", axis->texts[k], k + 1 < axis->n ? "," : "");
        if (axis->n > 12)
            fprintf(to, " ... (%u values)", axis->n);
        fprintf(to, "\n");
    }
    for (uint32_t i = 0; i < halley_study_objectives(s); i++)
        fprintf(to, "objective:   %s %s\n",
                halley_study_objective(s, i)->maximize ? "greatest" : "least",
                halley_study_objective(s, i)->text);
}

/* Show the space of a study; nothing is evaluated. */
static halley_status show_study(const request_call *call, report_form form,
                                const char *path, halley_error *err)
{
    halley_study *study;
    halley_status status = HALLEY_OK;
    TRY(halley_study_load(&study, path, err));
    if (form == REPORT_JSON) {
        report_json j;
        request_json_begin(&j, call);
        write_study_json(&j, study);
        status = request_json_end(&j, call, err);
    } else {
        write_study_text(call->out, study);
    }
    halley_study_free(study);
    return status;
}

/* Show a file as halley reads it. */
static halley_status show_file(request_call *call, const char *path, halley_error *err)
{
    const presets_options *o = call->options;
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    if (form == REPORT_CSV)
        return error_set(err, HALLEY_EINVAL, "a file is shown as text or with --json");
    bool is_launch;
    TRY(halley_launch_detect(&is_launch, path, err));
    if (is_launch)
        return show_launch(call, form, path, err);
    const own_kind kind = find_own_kind(path);
    if (kind == OWN_CLUSTER)
        return show_cluster(call, form, path, err);
    if (kind == OWN_PLAN)
        return show_plan(call, form, path, err);
    if (kind == OWN_STUDY)
        return show_study(call, form, path, err);
    if (kind == OWN_STACK)
        return show_stack(call, form, path, err);
    halley_model model;
    halley_import *import;
    TRY(halley_model_import(&model, &import, path, err));
    halley_status status = HALLEY_OK;
    if (form == REPORT_JSON) {
        report_json j;
        request_json_begin(&j, call);
        report_model_json(&j, &model, import);
        status = request_json_end(&j, call, err);
    } else {
        report_model_text(call->out, &model, import);
    }
    halley_import_free(import);
    halley_model_fini(&model);
    return status;
}

static bool names_file(const char *arg)
{
    const str s = str_from(arg);
    return strchr(arg, '/') != NULL || str_ends(s, STR(".json")) ||
           str_ends(s, STR(".yaml")) || str_ends(s, STR(".gz")) || file_exists(arg);
}

/* Show the presets of that name: a model and a cluster may share it. */
static halley_status show_presets(request_call *call, const char *name, halley_error *err)
{
    const presets_options *o = call->options;
    report_form form;
    bool found = false;
    TRY(request_output_form(&form, call, &o->output, err));
    report_table *t = form != REPORT_TEXT ? report_table_new(text_columns, 3) : NULL;
    if (form != REPORT_TEXT && t == NULL)
        return error_nomem(err);
    for (int i = 0; i < N_FOLDERS; i++) {
        const char *text = halley_preset_text(folders[i], name);
        if (text == NULL)
            continue;
        if (t == NULL) {
            fprintf(call->out, "%s# presets/%s/%s.yaml\n%s", found ? "\n" : "",
                    folders[i], name, text);
        } else {
            report_table_words(t, (str){folders[i], strlen(folders[i]) - 1});
            report_table_words(t, str_from(name));
            report_table_words(t, str_from(text));
        }
        found = true;
    }
    if (found)
        return t != NULL ? request_table_write(call, t, "presets", form, err) : HALLEY_OK;
    report_table_free(t);
    return error_set(err, HALLEY_ENOTFOUND,
                     "no preset \"%s\"; `halley presets` lists them", name);
}

static bool has_preset(const char *name)
{
    for (int i = 0; i < N_FOLDERS; i++)
        if (halley_preset_text(folders[i], name) != NULL)
            return true;
    return false;
}

/* --values is for programs, and about presets. */
static halley_status check_values(request_call *call, halley_error *err)
{
    const presets_options *o = call->options;
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    if (o->values && form != REPORT_JSON)
        return request_usage(call, err, "--values needs --json");
    if (o->values && call->n_args > 0 && names_file(call->args[0]))
        return request_usage(call, err, "--values is for presets, not for files");
    if (o->check_prices && call->n_args > 0 && strcmp(call->args[0], "npus") != 0 &&
        strcmp(call->args[0], "clusters") != 0)
        return request_usage(call, err, "--check-prices is for npus and clusters");
    return HALLEY_OK;
}

static halley_status presets_run(request_call *call, halley_error *err)
{
    const presets_options *o = call->options;
    TRY(check_values(call, err));
    if (call->n_args == 0)
        return list_presets(call, NULL, err);
    if (strcmp(call->args[0], "recipes") == 0)
        return list_recipes(call, err);
    if (strcmp(call->args[0], "recipe") == 0)
        return show_recipe(call, err);
    if (call->n_args > 1)
        return request_usage(call, err, "presets takes one name, \"%s\" is one more",
                             call->args[1]);
    if (names_file(call->args[0]))
        return show_file(call, call->args[0], err);
    if (strcmp(call->args[0], "platforms") == 0) /* their former name */
        return list_presets(call, "clusters", err);
    for (int i = 0; i < N_FOLDERS; i++) { /* "models", and "model", too */
        const size_t n = strlen(folders[i]) - 1;
        if (strcmp(call->args[0], folders[i]) == 0 ||
            (strncmp(call->args[0], folders[i], n) == 0 && call->args[0][n] == '\0'))
            return list_presets(call, folders[i], err);
    }
    if (o->values && has_preset(call->args[0]))
        return list_values(call, NULL, call->args[0], err);
    return show_presets(call, call->args[0], err);
}

static const request_example examples[] = {
    {"halley presets clusters", "the clusters"},
    {"halley presets clusters --check-prices", "prices with their year and source"},
    {"halley presets dgx-a100", "one preset, with its sources"},
    {"halley presets config.json", "what halley reads from a Hugging Face configuration"},
    {0},
};

static const char *const name_key[] = {"name", NULL};

const request_verb request_verb_presets = {
    .name = "presets",
    .summary = "list and show models, clusters, devices and software stacks",
    .arguments = "[KIND|NAME|FILE] | recipes [WORDS] | recipe NAME",
    .arg_keys = name_key,
    .description =

        "Lists the models, clusters, NPUs, links, fabrics and software stacks that "
        "come with halley. With a KIND, lists only those. With a NAME, prints the "
        "file, in which every number has its source.\n\n"
        "The word recipes lists published settings of training software, those whose "
        "framework and name contain all WORDS: MODEL/NPU/NPUS/FORMAT@RELEASE. The word "
        "recipe prints the one whose name begins with NAME, with its source.\n\n"
        "With a FILE, prints what halley reads from it: a model, a plan, a cluster, "
        "or a launch file with its model and plan. It also lists what was assumed, "
        "what has no effect, and what is unknown. A model is a halley YAML file, a "
        "Hugging Face config.json, or the folder that holds one. Launch files are "
        "those of Megatron-LM (script, YAML, JSON or printed list), DeepSpeed, NeMo, "
        "Megatron-Bridge, torchtitan and MaxText.",
    .examples = examples,
    .args_are_documents = true,
    .options = options,
    .options_size = sizeof(presets_options),
    .max_args = 8,
    .run = presets_run,
};
