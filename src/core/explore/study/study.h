/* explore/study/study.h - the explorer's representation of a study. */
#ifndef EXPLORE_STUDY_H
#define EXPLORE_STUDY_H

#include "explore/network.h"
#include "explore/study/expr.h"
#include "explore/study/param.h"

/* An axis of the space: one parameter, or several that vary together. */
typedef struct explore_axis {
    halley_axis seen; /* the part that the public header exposes */
    uint32_t n_refs;
    explore_ref *refs;
    explore_value *values;  /* n_refs for each value i; text NULL = not changed */
    bool whole;             /* sets a whole model, cluster, NPU, link or stack */
    bool resets;            /* its values cannot overwrite each other: see worker.c */
    const conf_node *later; /* its values are computed when all others are known */
} explore_axis;

/* A value that does not vary. */
typedef struct explore_fixed {
    explore_ref ref;
    explore_value value;
} explore_fixed;

/* plan.global-batch: "= 16 * plan.dp" */
typedef struct explore_derived {
    explore_ref ref;
    explore_expr expr;
} explore_derived;

typedef struct explore_goal {
    halley_objective seen;
    explore_expr expr; /* if it is no plain metric */
} explore_goal;

typedef enum explore_method {
    EXPLORE_EXHAUSTIVE,
    EXPLORE_RANDOM,
    EXPLORE_LATIN,
    EXPLORE_EVOLUTION,
    EXPLORE_NLOPT
} explore_method;

typedef struct explore_search {
    explore_method method;
    uint64_t samples;    /* designs to evaluate; 0 = 10000 */
    uint32_t population; /* 0 = 64 */
    uint64_t seed;
} explore_search;

/* At which value of `ref` does design `of` beat design `beats`? */
typedef struct explore_question {
    explore_ref ref;
    double from, to;
    const explore_fixed *of, *beats;
    uint32_t n_of, n_beats;
    const char *of_text, *beats_text, *path;
} explore_question;

enum {
    EXPLORE_MAX_FIXED = 128,
    EXPLORE_MAX_DERIVED = 16,
    EXPLORE_MAX_WHERE = 32,
    EXPLORE_MAX_QUESTIONS = 8
};

struct halley_study {
    arena memory;
    conf_file file;
    explore_loader loader;
    const char *name, *text, *description, *baseline_text;
    uint64_t hash;       /* of the text */
    explore_design base; /* the design with every fixed value set */
    uint32_t n_fixed, n_axes, n_derived, n_where, n_goals, n_baseline, n_questions;
    explore_fixed fixed[EXPLORE_MAX_FIXED];
    explore_axis axes[HALLEY_MAX_AXES]; /* slowest first: whole objects, others, inner */
    uint32_t n_outer;                   /* axes before those of `plan: best` */
    uint64_t inner_size; /* plans tried for each outer design; 1 without `plan: best` */
    double size;         /* of the whole space */
    bool has_fill, fits, has_baseline, best_plan;
    explore_ref fill; /* the degree that takes the remaining NPUs */
    explore_derived derived[EXPLORE_MAX_DERIVED];
    explore_expr where[EXPLORE_MAX_WHERE];
    explore_goal goals[HALLEY_MAX_OBJECTIVES];
    explore_fixed baseline[EXPLORE_MAX_FIXED];
    explore_question questions[EXPLORE_MAX_QUESTIONS];
    explore_search search;
    uint32_t verify;
    explore_networks *networks; /* cache of networks, filled while the study runs */
    double headroom;            /* share of memory that must stay free */
    double tokens;              /* of a training run, for days and cost */
    uint64_t given; /* keys of the plan that the study states or varies, 1 << key */
};

/* {from: ..., to: ..., points: ...} */
extern const conf_field explore_range_fields[];
extern const size_t explore_n_range_fields;

/* study_axis.c: one entry of `vary:`, or one of the axes of `plan: best`. */
halley_status explore_axis_read(halley_study *s, str key, const conf_node *node,
                                bool inner, halley_error *err);
/* Compute the axes whose values depend on others; then the order and the size of the
 * space. */
halley_status explore_axes_finish(halley_study *s, halley_error *err);

/* study_fixed.c: {tp: 8, memory: {cxl: {bandwidth: 1 TB/s}}} under `prefix`, as a list of
 * values; "fill" and "= ..." are stored in the study. */
halley_status explore_fixed_read(explore_fixed *out, uint32_t *n, halley_study *s,
                                 const char *prefix, const conf_node *map,
                                 halley_error *err);
/* study_question.c: {plan.tp: 64, system: GPU}: parameters, or the name of a row of tied
 * parameters. */
halley_status explore_design_read(explore_fixed *out, uint32_t *n, halley_study *s,
                                  const conf_node *map, halley_error *err);
/* The same as words: "plan.tp 64, system small". */
halley_status explore_design_print(const char **out, halley_study *s,
                                   const conf_node *map, halley_error *err);
/* study_question.c: the list under `break-even:`. */
halley_status explore_questions_read(halley_study *s, const conf_node *list,
                                     halley_error *err);
extern const conf_field explore_question_fields[];
extern const size_t explore_n_question_fields;

/* study_search.c: `search:`; NULL gives its defaults. */
halley_status explore_search_read(halley_study *s, const conf_node *node,
                                  halley_error *err);
extern const conf_field explore_search_fields[];
extern const size_t explore_n_search_fields;

/* study_plan.c: `plan: best`, `plan: {best: {tp: [1, 8], ...}, zero: 1}`, or a fixed
 * plan. *best is the node that defines the search; NULL: nothing is searched. */
halley_status explore_plan_read(halley_study *s, const conf_node **best,
                                const conf_node *plan, halley_error *err);
/* True if the study fixes, fills or varies that parameter. */
bool explore_plan_gives(const halley_study *s, const char *path);
/* The axes of the plans that are searched. */
halley_status explore_best_read(halley_study *s, const conf_node *best,
                                halley_error *err);

/* One value, which may be "fill" or "= ...": then *is is false. */
halley_status explore_special_read(bool *is, halley_study *s, const explore_ref *ref,
                                   const conf_node *node, halley_error *err);
halley_status explore_ref_read(explore_ref *out, const halley_study *s, str path,
                               const conf_node *node, halley_error *err);

#endif
