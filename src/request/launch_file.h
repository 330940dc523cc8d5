/* request/launch_file.h - launch files as -m and --plan: model, plan, number of NPUs. */
#ifndef REQUEST_LAUNCH_FILE_H
#define REQUEST_LAUNCH_FILE_H

#include "halley/launch.h"
#include "request/design.h"

/* The launch file that -m names; *out is NULL when it names something else. Free it with
 * halley_launch_free. */
halley_status design_launch_open(halley_launch **out, const request_call *call,
                                 const design_options *o, halley_error *err);
/* The cluster to load: -c, with the number of NPUs of the launch file where -c has none.
 */
halley_status design_launch_cluster(char *to, size_t size, request_call *call,
                                    const design_options *o, const halley_launch *launch,
                                    halley_error *err);
/* Set the keys of the launch file that -m names and of the plan that --plan names, in
 * this order; in *given a bit is set for each. Options that say something else are noted.
 */
halley_status design_launch_plan(halley_plan *plan, uint64_t *given, request_call *call,
                                 const design_options *o, uint32_t n_npus,
                                 halley_error *err);

/* What was understood of a launch file, for people; nothing when -m is none. */
halley_status design_import_print(const request_call *call, const design_options *o,
                                  halley_error *err);
/* The member `import` of an open JSON object, for a launch file or a configuration of
 * somebody else's; nothing for presets and files of ours. */
halley_status design_import_json(report_json *j, const request_call *call,
                                 const design_options *o, halley_error *err);
/* The plan of a launch file as the file states it, and its estimate. */
typedef struct design_own {
    bool is_known; /* the rest is set */
    halley_plan plan;
    halley_estimate estimate;
} design_own;

/* The plan of the launch file that -m names, on this cluster. It is not known when -m
 * names something else, or when the plan does not run there; then a note says why. */
halley_status design_own_plan(design_own *out, request_call *call,
                              const design_options *o, const halley_cluster *cluster,
                              const halley_stack *stack, halley_error *err);

#endif
