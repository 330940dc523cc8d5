/* request/design.h - the options that name a model, a cluster, a stack and a plan. */
#ifndef REQUEST_DESIGN_H
#define REQUEST_DESIGN_H

#include "halley/estimate.h"
#include "halley/plan_keys.h"
#include "halley/recipe.h"
#include "request/verbs.h"

/* The options as given on the command line. The plan's keys are texts, by
 * halley_plan_key. */
typedef struct design_options {
    const char *model, *cluster, *stack, *plan;
    const char *recipe, *release;
    bool no_recipe;
    double headroom; /* fraction of memory; for commands with --headroom */
    const char *value[HALLEY_N_PLAN_KEYS];
    bool on[HALLEY_N_PLAN_KEYS];
    request_texts list[HALLEY_N_PLAN_KEYS];
    request_texts sets; /* variables of a launch script */
    uint32_t vocab;     /* for a launch file that does not state it */
} design_options;

/*
 * The rows for a command's table of options. Its options struct must be called
 * `options_struct` and contain a design_options `design`.
 */
#define DESIGN_TEXT(key, field, letter_, meta, text, default_, example_)                 \
    {.name = key,                                                                        \
     .letter = letter_,                                                                  \
     .kind = REQUEST_TEXT,                                                               \
     .metavar = meta,                                                                    \
     .offset = offsetof(options_struct, design.field),                                   \
     .doc = text,                                                                        \
     .by_default = default_,                                                             \
     .example = example_},
#define DESIGN_DOCUMENT(key, field, letter_, meta, text, default_, example_)             \
    {.name = key,                                                                        \
     .letter = letter_,                                                                  \
     .kind = REQUEST_TEXT,                                                               \
     .is_document = true,                                                                \
     .metavar = meta,                                                                    \
     .offset = offsetof(options_struct, design.field),                                   \
     .doc = text,                                                                        \
     .by_default = default_,                                                             \
     .example = example_},
#define DESIGN_NAMES(model_default, cluster_default)                                     \
    DESIGN_DOCUMENT(                                                                     \
        "model", model, 'm', "MODEL",                                                    \
        "model preset, model file, Hugging Face config.json, or launch file",            \
        model_default, "llama3-70b")                                                     \
    DESIGN_DOCUMENT("cluster", cluster, 'c', "NAME:N",                                   \
                    "cluster preset or file, and the number of accelerators",            \
                    cluster_default, "dgx-h100:64")                                      \
    DESIGN_DOCUMENT(                                                                     \
        "stack", stack, 's', "NAME",                                                     \
        "training software: a stack preset or file, which holds calibrated constants",   \
        "uncalibrated",                                                                  \
        "megatron-core-2025"){.name = "set",                                             \
                              .kind = REQUEST_TEXTS,                                     \
                              .metavar = "NAME=VALUE",                                   \
                              .offset = offsetof(options_struct, design.sets),           \
                              .doc = "set a variable of a launch script",                \
                              .by_default = "none",                                      \
                              .example = "NNODES=8"},                                    \
        {.name = "vocab",                                                                \
         .kind = REQUEST_U32,                                                            \
         .min = 1,                                                                       \
         .max = 1e8,                                                                     \
         .metavar = "N",                                                                 \
         .offset = offsetof(options_struct, design.vocab),                               \
         .doc = "vocabulary size in tokens, for a launch file that does not state it",   \
         .by_default = "the launch file's",                                              \
         .example = "128256"},
#define DESIGN_RECIPE                                                                    \
    DESIGN_TEXT("recipe", recipe, 0, "NAME",                                             \
                "take what is not stated from this recipe (beginning of its name), "     \
                "from the nearest one, or from none",                                    \
                "auto, the nearest recipe of the stack", "qwen3-30b-a3b/GB300")          \
    DESIGN_TEXT("release", release, 0, "R",                                              \
                "release of the software whose recipes are used", "the newest",          \
                "26.06"){.name = "no-recipe",                                            \
                         .kind = REQUEST_FLAG,                                           \
                         .offset = offsetof(options_struct, design.no_recipe),           \
                         .doc = "the same as --recipe none"},
#define DESIGN_PLAN                                                                      \
    DESIGN_DOCUMENT("plan", plan, 0, "FILE",                                             \
                    "read the plan from FILE; command-line options override it", "none", \
                    "plan.yaml")                                                         \
    DESIGN_RECIPE{.name = "keys of plans",                                               \
                  .kind = REQUEST_PLAN_KEYS,                                             \
                  .offset = offsetof(options_struct, design)},

/* For commands that decide whether a plan fits. */
#define DESIGN_HEADROOM                                                                  \
    {.name = "headroom",                                                                 \
     .kind = REQUEST_QUANTITY,                                                           \
     .unit = UNITS_SHARE,                                                                \
     .min = 0,                                                                           \
     .max = 0.9,                                                                         \
     .metavar = "SHARE",                                                                 \
     .offset = offsetof(options_struct, design.headroom),                                \
     .doc = "share of the memory that a plan must leave free",                           \
     .by_default = "4 %",                                                                \
     .example = "10 %"},

/* The option of a key. `design_at`: where the options struct has its design_options. */
request_option design_plan_option(halley_plan_key key, size_t design_at);

/* Load what the options name, and report the cluster's notes. On success the caller owns
 * the cluster and the model. */
halley_status design_load(halley_model *model, halley_cluster **cluster,
                          halley_stack *stack, request_call *call,
                          const design_options *o, halley_error *err);
/* Add a note if nodes split a group of the plan, or stay partly empty to avoid that. */
void design_note_split(const request_call *call, const halley_plan *plan,
                       const halley_cluster *cluster);
/* Add a note if the model has layers of a kind that no measured run had. */
void design_note_unmeasured(const request_call *call, const halley_model *model);
/* Note which nodes the cluster pays for but does not use; for commands that compute cost.
 */
void design_note_idle(const request_call *call, const halley_cluster *cluster);
/* Read the plan of the files and options for n_npus NPUs, without a check. `given` (may
 * be NULL) gets the keys that options and --plan set, as bits 1 << key. */
halley_status design_read(halley_plan *out, uint64_t *given, uint32_t n_npus,
                          request_call *call, const design_options *o, halley_error *err);
/* The same, with what a recipe of the stack states, dp filled to the cluster's NPUs, and
 * checked. */
halley_status design_plan(halley_plan *out, halley_recipe *recipe,
                          const halley_model *model, const halley_cluster *cluster,
                          const halley_stack *stack, request_call *call,
                          const design_options *o, halley_error *err);
/* Fill dp to the cluster's NPUs and check the plan against model and device. */
halley_status design_complete(halley_plan *plan, const halley_model *model,
                              const halley_cluster *cluster, halley_error *err);
/* Check that the memory that the plan offloads to exists. */
halley_status design_check_offload(const halley_plan *plan, const halley_cluster *cluster,
                                   halley_error *err);
/* Refuse a plan. If any word of the command line is about the plan, that is a usage
 * error; else the error names the plan's file. */
halley_status design_refuse(request_call *call, const design_options *o,
                            halley_status status, halley_error *err);
/* Check that the cluster states how many NPUs it has. */
halley_status design_check_count(const halley_cluster *cluster, request_call *call,
                                 const design_options *o, halley_error *err);
/* Write "fits: ...", "may fit: ..." or "does not fit: ...", with stage, need and
 * capacity. */
void design_verdict(char to[256], const halley_estimate *estimate,
                    const halley_cluster *cluster);
/* Print the same as the first line; prints nothing for a plan that fits. */
void design_print_unfit(FILE *to, const halley_estimate *estimate,
                        const halley_cluster *cluster);

/* Turn a refusal of the user's own words by the library into a usage error. */
halley_status design_usage(request_call *call, halley_status status, halley_error *err);

/* "tp 8 pp 8 dp 16 mbs 1 ..." */
void design_describe(char *to, size_t size, const halley_plan *plan);
/* "global batch 1024, sequence 8192, bf16\n"; a batch of samples has no sequence. */
void design_print_batch(FILE *to, const halley_plan *plan, const halley_model *model);

#endif
