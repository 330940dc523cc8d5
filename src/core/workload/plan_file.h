/* workload/plan_file.h - the words of plan files. */
#ifndef WORKLOAD_PLAN_FILE_H
#define WORKLOAD_PLAN_FILE_H

#include "base/conf/conf.h"
#include "halley/plan.h"

/* Indexed by the enum or number in a plan; all end with NULL. */
extern const char *const workload_recompute_names[HALLEY_N_RECOMPUTE + 1];
extern const char *const workload_schedule_names[HALLEY_N_SCHEDULES + 1];
extern const char *const workload_recipe_names[HALLEY_N_RECIPES + 1];
extern const char *const workload_order_names[HALLEY_RANK_ORDERS + 1];

/* Set the keys that a file contains; on failure the plan does not change. */
halley_status workload_plan_read(halley_plan *plan, const conf_file *file,
                                 halley_error *err);

#endif
