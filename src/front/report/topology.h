/* report/topology.h - a network as a drawing: rows of devices by tier, grids and rings.
 */
#ifndef REPORT_TOPOLOGY_H
#define REPORT_TOPOLOGY_H

#include "base/str.h"
#include "halley/topology.h"

/* Write a file: .svg, or a page with the drawing and the numbers. */
halley_status report_topology_picture(const halley_topology *topology,
                                      const halley_topology_report *report,
                                      const char *title, const char *path,
                                      halley_error *err);

#endif
