/* report/launch.h - what halley reads from a launch file: model, plan, notes. */
#ifndef REPORT_LAUNCH_H
#define REPORT_LAUNCH_H

#include "halley/launch.h"
#include "report/json.h"

#include <stdio.h>

/* For people: "read as", model, plan, assumed, unknown, notes. */
void report_launch_text(FILE *to, const halley_launch *launch);
/* Write the members of an open object: those of the model, the plan's keys, npus,
 * `import`. */
void report_launch_json(report_json *j, const halley_launch *launch);

#endif
