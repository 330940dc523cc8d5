/*
 * halley/recipe.h - settings of training software as its authors publish them: for a
 * model, a device, a count and a number format. What a user does not state is taken from
 * the nearest recipe of the same framework, and every value taken is reported.
 */
#ifndef HALLEY_RECIPE_H
#define HALLEY_RECIPE_H

#include "halley/cluster.h"
#include "halley/plan_keys.h"
#include "halley/stack.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HALLEY_RECIPE_NAME = 192, HALLEY_RECIPE_VALUE = 96, HALLEY_RELEASE = 40 };

/* What decides whether a key of a recipe is taken. */
typedef enum halley_key_class {
    HALLEY_KEY_SOFTWARE, /* always */
    HALLEY_KEY_MEMORY,   /* with the recipe's layout, or if the plan does not fit */
    HALLEY_KEY_LAYOUT,   /* if the user states no key of the layout */
    HALLEY_KEY_WORKLOAD, /* never */
    HALLEY_N_KEY_CLASSES
} halley_key_class;
halley_key_class halley_plan_key_class(halley_plan_key key);
const char *halley_key_class_name(halley_key_class kind); /* lent, static */

/* One recipe, and what a plan took from it. */
typedef struct halley_recipe {
    size_t size; /* filled by the library, see error.h */
    /* "qwen3-30b-a3b/GB300-288GB/8/mxfp8@26.08"; "" = there is none */
    char name[HALLEY_RECIPE_NAME];
    char framework[HALLEY_NAME], release[HALLEY_RELEASE];
    char source[HALLEY_RECIPE_NAME];
    char why[HALLEY_RECIPE_NAME]; /* "same model, chip, count, format" */
    double distance;              /* between the recipe and what is wanted */
    double months;                /* between their releases; 0 = unknown */
    bool similar;                 /* of another model of the same kind: software only */
    uint32_t npus;                /* 0 = not stated */
    char value[HALLEY_N_PLAN_KEYS][HALLEY_RECIPE_VALUE]; /* "" = not stated */
    uint64_t taken;     /* bits 1 << halley_plan_key: the plan has them from here */
    bool has_layout;    /* the plan took the layout */
    bool needed_memory; /* the plan took the memory keys because it did not fit */
    bool lowered_ep;    /* the layout was taken with a smaller ep */
    uint64_t room[HALLEY_ROOM]; /* reserved for new members; 0 */
} halley_recipe;

typedef struct halley_recipe_opts {
    const char *name;    /* beginning of a recipe's name in either case; NULL = nearest */
    const char *release; /* of the software; NULL = the newest */
    const char *without; /* leave out recipes of this device (score); NULL = none */
} halley_recipe_opts;

/* Recipes of some frameworks, read once; immutable. */
typedef struct halley_recipes halley_recipes;
/* Read the recipes that serve a framework, in the order of their precedence. NULL: those
 * of all frameworks. */
halley_status halley_recipes_load(halley_recipes **out, const char *framework,
                                  halley_error *err);
void halley_recipes_free(halley_recipes *recipes);
size_t halley_recipes_count(const halley_recipes *recipes);
void halley_recipes_get(halley_recipe *out, const halley_recipes *recipes, size_t i);
/*
 * The nearest recipe for a model and a plan, of which only number format, adapters and
 * batch are read, on a device and a number of NPUs. If none is near enough, *out has no
 * name. With opts->name: the recipe of that name; HALLEY_ENOTFOUND if there is none or
 * the name is not unique.
 */
halley_status halley_recipes_find(halley_recipe *out, const halley_recipes *recipes,
                                  const halley_model *model, const halley_plan *plan,
                                  const char *npu, uint32_t n_npus,
                                  const halley_recipe_opts *opts, halley_error *err);
/* Set the keys of an unchecked plan for n_npus NPUs that it does not give from the
 * recipe. */
halley_status halley_recipe_apply(halley_plan *plan, halley_recipe *recipe,
                                  const halley_model *model,
                                  const halley_cluster *cluster, uint32_t n_npus,
                                  const halley_stack *stack, halley_error *err);
/* "tp 1, pp 2, virtual 8, ep 32": the keys of the layout that the recipe states. */
void halley_recipe_layout(char *to, size_t size, const halley_recipe *recipe);

/* What a framework can do (presets/frameworks). Bits are 1 << value of a plan's key. */
typedef struct halley_framework {
    bool known;
    char name[HALLEY_NAME];
    uint32_t zero, zero_with_stages, schedules, dispatchers;
    bool fsdp, fsdp_with_stages, stages, graphs, overlap_ep;
} halley_framework;
/* By the name that stacks have for it; not known: nothing is left out. */
halley_status halley_framework_find(halley_framework *out, const char *framework,
                                    halley_error *err);
/* What a checked plan needs that the framework has not: "FSDP with stages"; NULL:
 * nothing. Lent, static. */
const char *halley_framework_lacks(const halley_framework *framework,
                                   const halley_plan *plan);

/* Step times between which settings decide that nobody states. */
enum { HALLEY_MAX_UNKNOWN = 8 };
typedef struct halley_unknown {
    uint32_t key;  /* a halley_plan_key */
    double effect; /* its slow side alone, as a share of low_s */
} halley_unknown;
typedef struct halley_interval {
    size_t size;          /* filled by the library, see error.h */
    double low_s, high_s; /* 0: everything that matters is stated */
    uint32_t n_unknown;   /* the largest effect first */
    halley_unknown unknown[HALLEY_MAX_UNKNOWN];
    uint64_t room[HALLEY_ROOM]; /* reserved for new members; 0 */
} halley_interval;
/* The interval of a checked plan. `recipe` (may be NULL) supplied some of its keys. */
halley_status halley_interval_find(halley_interval *out, const halley_model *model,
                                   const halley_plan *plan, const halley_cluster *cluster,
                                   const halley_stack *stack, const halley_recipe *recipe,
                                   halley_error *err);

/* Vendor ("nvidia") and generation ("hopper") of a device; "" = unknown. Lent, static. */
halley_status halley_device_kind(char vendor[HALLEY_NAME], char generation[HALLEY_NAME],
                                 const char *npu, halley_error *err);

/* HALLEY_EINVAL: the stack states vendors, and the device is of another one; the error
 * names the stacks that state it. Devices that no vendor is known of pass. */
halley_status halley_stack_check_npu(const halley_stack *stack, const char *npu,
                                     halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
