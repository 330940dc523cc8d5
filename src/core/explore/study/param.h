/*
 * explore/study/param.h - all parameters of model, plan, cluster and stack by path, and
 * functions to read and set them in a design.
 *
 * Every key of a plan is a parameter by its row (workload/plan_facts.h), unless that says
 * is_fixed. To add another one, add one row to the table of param.c.
 */
#ifndef EXPLORE_PARAM_H
#define EXPLORE_PARAM_H

#include "base/arena.h"
#include "base/array.h"
#include "base/conf/conf.h"
#include "base/fact.h"
#include "base/number/units.h"
#include "halley/explore.h"
#include "hw/cluster.h"
#include "hw/vary.h"

enum { EXPLORE_MAX_EDITS = 8 };

/* Everything that the estimator needs. */
typedef struct explore_design {
    halley_model model;     /* its operators, if any, are lent */
    halley_cluster cluster; /* a shallow copy: its arena belongs to the loaded one */
    halley_stack stack;
    halley_plan plan;
    uint32_t n_npus; /* 0 = as many as the plan uses */
    /* Values of the cluster's file that define its network (explore/network.h). */
    hw_edit edits[EXPLORE_MAX_EDITS];
    uint32_t n_edits;
} explore_design;

/* *to = *from; *to must be zeroed or a design of the same study. */
static inline void explore_design_assign(explore_design *to, const explore_design *from)
{
    to->model = from->model;
    hw_cluster_assign(&to->cluster, &from->cluster);
    to->stack = from->stack;
    to->plan = from->plan;
    to->n_npus = from->n_npus;
    to->n_edits = from->n_edits;
    for (uint32_t i = 0; i < from->n_edits; i++)
        to->edits[i] = from->edits[i];
}

typedef enum param_kind {
    PARAM_U32,
    PARAM_DOUBLE,
    PARAM_BOOL,
    PARAM_ENUM,      /* stored as an int-sized enum or uint32_t */
    PARAM_BITS,      /* a set of names, "optimizer+gradients" */
    PARAM_PLAN_KEYS, /* no parameter: represents those of all keys of plans */
    PARAM_PEAK, /* scales all types and the load rate of the cores; the value is bf16's */
    PARAM_NETWORK,    /* bandwidth between nodes */
    PARAM_NODE_PRICE, /* of a domain, and */
    PARAM_NODE_POWER, /* of a host: kept as figures of hosts */
    PARAM_TIER,       /* of the memory tier the path names */
    PARAM_CONSTANT,   /* of the stack */
    PARAM_EDIT,       /* any key of the cluster's network, by its path in the file */
    /* whole objects, by preset or file; they are set before all others */
    PARAM_MODEL,
    PARAM_CLUSTER,
    PARAM_NPU,
    PARAM_UP,
    PARAM_OUT,
    PARAM_STACK
} param_kind;

enum { EXPLORE_PATH = sizeof((halley_parameter){0}).path };

typedef struct explore_param {
    char path[EXPLORE_PATH];
    param_kind kind;
    units_kind unit;
    size_t offset; /* in explore_design; in halley_tier for tiers */
    double min, max;
    const char *const *names; /* of an enum, ends with NULL */
    const char *doc;
    const fact *fact; /* of a key of plans; else NULL */
} explore_param;

/* A parameter, with the tier or constant that its path names. */
typedef struct explore_ref {
    explore_param param;
    uint32_t constant;
    char tier[HALLEY_NAME];
    char edit[HALLEY_NAME]; /* "network.tiers.spine.oversubscription" */
} explore_ref;

typedef struct explore_value {
    double number;      /* base unit; index of an enum's name; 0 or 1 */
    const void *object; /* lent, for a whole object */
    uint32_t n_npus;    /* of a cluster NAME:N; 0 = not given */
    const char *text;   /* as shown */
} explore_value;

/* False if no parameter has that path; `nearest` is then the nearest one or "". It may be
 * NULL. */
bool explore_ref_find(explore_ref *out, str path, char nearest[EXPLORE_PATH]);
/* True if they are the same row. */
bool explore_param_is(const explore_param *a, const explore_param *b);
bool explore_param_whole(const explore_param *param);
/* True if setting it scales existing values or sets others too (mxfp8), so that the
 * result would depend on earlier values. */
bool explore_param_scales(const explore_param *param);

/* Context for reading values. Presets are loaded into `memory`, which the study frees.
 * Loaded models are appended to *models. */
typedef struct explore_loader {
    arena *memory;
    const conf_file *file;
    halley_model *
        *models; /* with operators of their own, to free; NULL-terminated list */
    uint32_t n_models, cap_models;
    ARRAY(halley_cluster *) clusters; /* to free */
} explore_loader;
halley_status explore_value_read(explore_value *out, explore_loader *loader,
                                 const explore_ref *ref, const conf_node *node,
                                 halley_error *err);
/* A number as a value of this parameter, with its text; false when out of memory. */
bool explore_value_number(explore_value *out, arena *memory, const explore_ref *ref,
                          double number);
/* True if the number is in range (and whole, if required). */
bool explore_number_fits(const explore_ref *ref, double number);

void explore_set(explore_design *design, const explore_ref *ref,
                 const explore_value *value);
/* NaN for whole objects and tiers that do not exist. */
double explore_get(const explore_design *design, const explore_ref *ref);
/* Hash of the canonical design: every parameter in the order of the table, memory tiers,
 * constants of the stack, and the names of the whole objects. It is the same in every
 * study, however the design was written. */
uint64_t explore_design_key(const explore_design *design);

#endif
