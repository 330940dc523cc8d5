/* request/launch_file.h - launch files as -m and --plan: model, plan, number of NPUs. */
#ifndef REQUEST_LAUNCH_FILE_H
#define REQUEST_LAUNCH_FILE_H

#include "halley/launch.h"
#include "request/design.h"

/* Open the launch file that -m names; *out is NULL if it names something else. Free it
 * with halley_launch_free. */
/* The stack of the launch file that is the model or the plan, reported as assumed. *stack
 * does not change if there is none, or if the device is none of its vendors'. `launch` is
 * the model's file or NULL. */
halley_status design_launch_stack(halley_stack *stack, const request_call *call,
                                  const design_options *o, const halley_launch *launch,
                                  const char *npu, halley_error *err);
halley_status design_launch_open(halley_launch **out, const request_call *call,
                                 const design_options *o, halley_error *err);
/* The cluster to load: -c, with the number of NPUs of the launch file if -c has none. */
halley_status design_launch_cluster(char *to, size_t size, request_call *call,
                                    const design_options *o, const halley_launch *launch,
                                    halley_error *err);
/* Set the keys of the launch file that -m names, then of the plan that --plan names.
 * *given gets a bit for each. Options that override them are noted. */
halley_status design_launch_plan(halley_plan *plan, uint64_t *given, request_call *call,
                                 const design_options *o, uint32_t n_npus,
                                 halley_error *err);

/* Print what was understood of a launch file; prints nothing if -m names none. */
halley_status design_import_print(const request_call *call, const design_options *o,
                                  halley_error *err);
/* What was read of the launch file, or of the configuration of another program, that -m
 * names. {0} holds nothing. */
typedef struct design_import {
    halley_launch *launch;
    halley_import *model;
} design_import;
halley_status design_import_load(design_import *out, const request_call *call,
                                 const design_options *o, halley_error *err);
/* NULL for presets and files of ours; lent. */
const halley_import *design_import_get(const design_import *import);
void design_import_free(design_import *import);
/* The plan of a launch file as the file states it, and its estimate. */
typedef struct design_own {
    bool is_known; /* the other members are set */
    halley_plan plan;
    halley_estimate estimate;
} design_own;

/* Estimate the plan of the launch file that -m names on this cluster. It is not known if
 * -m names something else, or if the plan does not run there; then a note explains why.
 */
halley_status design_own_plan(design_own *out, request_call *call,
                              const design_options *o, const halley_cluster *cluster,
                              const halley_stack *stack, halley_error *err);

#endif
