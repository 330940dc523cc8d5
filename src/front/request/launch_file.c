#include "request/launch_file.h"

#include "base/error.h"
#include "halley/cluster.h"
#include "halley/recipe.h"
#include "report/launch.h"
#include "report/model.h"
#include "request/document.h"

#include <ctype.h>
#include <string.h>

static uint64_t find_given_keys(const request_call *call)
{
    uint64_t given = 0;
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++)
        given |= (uint64_t)request_given(call, halley_plan_key_name((halley_plan_key)i))
                 << i;
    return given;
}

/* Open a launch file by its path or as a document; *out is NULL if it is none. */
static halley_status open_launch_file(halley_launch **out, const char *text,
                                      const halley_launch_opts *opts, halley_error *err)
{
    bool is_launch = false;
    *out = NULL;
    if (text == NULL || request_is_document(text))
        return HALLEY_OK;
    TRY(halley_launch_detect(&is_launch, text, err));
    return is_launch ? halley_launch_load(out, text, opts, err) : HALLEY_OK;
}

static halley_launch_opts get_launch_options(const request_call *call,
                                             const design_options *o)
{
    return (halley_launch_opts){.sets = o->sets.at,
                                .n_sets = o->sets.n,
                                .given = find_given_keys(call),
                                .vocab = o->vocab};
}

halley_status design_launch_open(halley_launch **out, const request_call *call,
                                 const design_options *o, halley_error *err)
{
    const halley_launch_opts opts = get_launch_options(call, o);
    halley_launch *launch;
    *out = NULL;
    TRY(open_launch_file(&launch, o->model, &opts, err));
    if (launch != NULL && halley_launch_model(launch) == NULL) {
        error_set(err, HALLEY_EINVAL,
                  "this is a %s, which holds no model: give it with --plan, and a model "
                  "with -m",
                  halley_import_kind(halley_launch_import(launch)));
        error_at_file(err, o->model);
        halley_launch_free(launch);
        return HALLEY_EINVAL;
    }
    *out = launch;
    return HALLEY_OK;
}

static void use_launch_stack(halley_stack *stack, const request_call *call,
                             const halley_launch *launch, const char *npu)
{
    halley_stack found;
    halley_error why = {0};
    request_assumption a = {.key = "stack", .origin = "file"};
    const char *name = halley_launch_stack(launch);
    if (name[0] == '\0' || halley_stack_load(&found, name, &why) != HALLEY_OK ||
        halley_stack_check_npu(&found, npu, &why) != HALLEY_OK)
        return;
    *stack = found;
    snprintf(a.value, sizeof a.value, "%s", name);
    snprintf(a.text, sizeof a.text, "stack %s: the file is a %s", name,
             halley_import_kind(halley_launch_import(launch)));
    request_assume(call, &a);
}

halley_status design_launch_stack(halley_stack *stack, const request_call *call,
                                  const design_options *o, const halley_launch *launch,
                                  const char *npu, halley_error *err)
{
    halley_launch *plan = NULL;
    halley_launch_opts opts = get_launch_options(call, o);
    if (launch != NULL) {
        use_launch_stack(stack, call, launch, npu);
        return HALLEY_OK;
    }
    opts.may_lack_vocab = opts.plan_only = true;
    TRY(open_launch_file(&plan, o->plan, &opts, err));
    if (plan != NULL)
        use_launch_stack(stack, call, plan, npu);
    halley_launch_free(plan);
    return HALLEY_OK;
}

/* List the presets of clusters whose name or NPU contains the word. */
static void list_clusters_with(char *to, size_t size, const char *word)
{
    char name[HALLEY_NAME];
    size_t n = 0;
    to[0] = '\0';
    for (size_t i = 0; halley_preset_name(name, sizeof name, "clusters", i); i++) {
        if (strstr(name, word) == NULL || n + strlen(name) + 3 > size)
            continue;
        const int more = snprintf(to + n, size - n, "%s%s", n > 0 ? ", " : "", name);
        n += more > 0 ? (size_t)more : 0;
    }
}

static halley_status refuse_no_cluster(request_call *call, const halley_launch *launch,
                                       halley_error *err)
{
    char names[200] = "";
    const char *device = halley_launch_device(launch);
    const uint32_t n = halley_launch_npus(launch) > 0 ? halley_launch_npus(launch) : 64;
    if (device[0] != '\0')
        list_clusters_with(names, sizeof names, device);
    if (names[0] == '\0')
        return request_usage(
            call, err, "--cluster is missing: which one, for example -c dgx-h100:%u?", n);
    const int first = (int)strcspn(names, ",");
    return request_usage(call, err,
                         "--cluster is missing: the file names %s, and there are %s, for "
                         "example -c %.*s:%u",
                         device, names, first, names, n);
}

halley_status design_launch_cluster(char *to, size_t size, request_call *call,
                                    const design_options *o, const halley_launch *launch,
                                    halley_error *err)
{
    if (o->cluster == NULL)
        return refuse_no_cluster(call, launch, err);
    const char *colon = strrchr(o->cluster, ':');
    const bool has_count = colon != NULL && isdigit((unsigned char)colon[1]);
    if (has_count || request_is_document(o->cluster) || halley_launch_npus(launch) == 0) {
        snprintf(to, size, "%s", o->cluster);
        return HALLEY_OK;
    }
    snprintf(to, size, "%s:%u", o->cluster, halley_launch_npus(launch));
    request_assumption a = {.key = "npus", .origin = "file"};
    snprintf(a.value, sizeof a.value, "%u", halley_launch_npus(launch));
    snprintf(a.text, sizeof a.text, "npus %s: the launch file starts that many", a.value);
    request_assume(call, &a);
    return HALLEY_OK;
}

/* Note where the command line overrides the file. */
static void note_differences(const request_call *call, const design_options *o,
                             const halley_launch *launch)
{
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++) {
        const char *file = halley_launch_value(launch, (halley_plan_key)i);
        if (file != NULL && o->value[i] != NULL && strcmp(file, o->value[i]) != 0)
            request_note(call, "note: %s %s (file: %s)",
                         halley_plan_key_name((halley_plan_key)i), o->value[i], file);
    }
}

static halley_status apply_launch_file(halley_plan *plan, uint64_t *given,
                                       request_call *call, const design_options *o,
                                       const char *path, uint32_t n_npus, bool *is,
                                       halley_error *err)
{
    halley_launch_opts opts = get_launch_options(call, o);
    opts.may_lack_vocab = opts.plan_only = path == o->plan;
    halley_launch *launch;
    TRY(open_launch_file(&launch, path, &opts, err));
    *is = launch != NULL;
    if (launch == NULL)
        return HALLEY_OK;
    const halley_status status =
        halley_launch_plan(plan, given, launch, n_npus, opts.given, err);
    if (status == HALLEY_OK)
        note_differences(call, o, launch);
    halley_launch_free(launch);
    return status;
}

halley_status design_launch_plan(halley_plan *plan, uint64_t *given, request_call *call,
                                 const design_options *o, uint32_t n_npus,
                                 halley_error *err)
{
    bool is_launch;
    /* A search may change what the model's file sets, so its keys do not count as given.
     */
    TRY(apply_launch_file(plan, NULL, call, o, o->model, n_npus, &is_launch, err));
    if (o->plan == NULL)
        return HALLEY_OK;
    TRY(apply_launch_file(plan, given, call, o, o->plan, n_npus, &is_launch, err));
    return is_launch ? HALLEY_OK : request_plan_load(plan, given, o->plan, err);
}

halley_status design_import_print(const request_call *call, const design_options *o,
                                  halley_error *err)
{
    halley_launch *launch;
    TRY(design_launch_open(&launch, call, o, err));
    if (launch == NULL)
        return HALLEY_OK;
    report_launch_text(call->out, launch);
    fprintf(call->out, "\n");
    halley_launch_free(launch);
    return HALLEY_OK;
}

halley_status design_import_load(design_import *out, const request_call *call,
                                 const design_options *o, halley_error *err)
{
    halley_model model;
    design_import import = {0};
    TRY(design_launch_open(&import.launch, call, o, err));
    if (import.launch == NULL) {
        TRY(request_model_load(&model, &import.model, o->model, err));
        halley_model_fini(&model);
    }
    *out = import;
    return HALLEY_OK;
}

const halley_import *design_import_get(const design_import *import)
{
    return import->launch != NULL ? halley_launch_import(import->launch) : import->model;
}

void design_import_free(design_import *import)
{
    halley_launch_free(import->launch);
    halley_import_free(import->model);
    *import = (design_import){0};
}

/* The launch file's plan, checked. */
static halley_status check_own_plan(halley_plan *plan, const halley_launch *launch,
                                    uint32_t n_npus, halley_error *err)
{
    halley_plan p;
    halley_plan_default(&p);
    TRY(halley_launch_plan(&p, NULL, launch, n_npus, 0, err));
    const uint64_t cut =
        (uint64_t)(p.tp > 0 ? p.tp : 1) * (p.pp > 0 ? p.pp : 1) * (p.cp > 0 ? p.cp : 1);
    if (n_npus % cut != 0)
        return error_set(err, HALLEY_EINVAL, "it needs a multiple of %llu accelerators",
                         (unsigned long long)cut);
    p.dp = (uint32_t)(n_npus / cut);
    TRY(halley_plan_check(&p, halley_launch_model(launch), n_npus, err));
    *plan = p;
    return HALLEY_OK;
}

halley_status design_own_plan(design_own *out, request_call *call,
                              const design_options *o, const halley_cluster *cluster,
                              const halley_stack *stack, halley_error *err)
{
    halley_launch *launch;
    halley_error reason = {0};
    *out = (design_own){0};
    TRY(design_launch_open(&launch, call, o, err));
    if (launch == NULL)
        return HALLEY_OK;
    const halley_status status =
        check_own_plan(&out->plan, launch, halley_cluster_npus(cluster), &reason);
    out->is_known = status == HALLEY_OK;
    if (out->is_known)
        halley_estimate_run(&out->estimate, halley_launch_model(launch), &out->plan,
                            cluster, stack);
    else if (status != HALLEY_ENOMEM)
        request_note(call, "note: the file's own plan does not run here: %s",
                     reason.text);
    halley_launch_free(launch);
    return status == HALLEY_ENOMEM ? error_nomem(err) : HALLEY_OK;
}
