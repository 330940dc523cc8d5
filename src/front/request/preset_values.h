/*
 * request/preset_values.h - the numbers of presets with their sources, for tables and
 * pages.
 */
#ifndef REQUEST_PRESET_VALUES_H
#define REQUEST_PRESET_VALUES_H

#include "base/error.h"
#include "report/json.h"

/*
 * Write the member "values" of an open object: every value of the preset `name` in
 * `folder` ("npus"), in the order of its file. Maps and lists are flattened, so that a
 * key is a path ("memory.hbm.bandwidth"). For a model, the numbers that halley computes
 * come last.
 */
halley_status request_write_preset_values(report_json *j, const char *folder,
                                          const char *name, halley_error *err);

#endif
