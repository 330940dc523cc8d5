/* report/model.h - what halley reads from a model file: shape, counts, and the importer's
 * notes. */
#ifndef REPORT_MODEL_H
#define REPORT_MODEL_H

#include "base/fact.h"
#include "halley/model.h"
#include "report/json.h"

#include <stdio.h>

/* For people: one block. `import` may be NULL (a file of ours). */
void report_model_text(FILE *to, const halley_model *model, const halley_import *import);
/* Write the members of an open object: parameters, shape, `import`. */
void report_model_json(report_json *j, const halley_model *model,
                       const halley_import *import);
/* The member `import`. */
extern const fact_table report_import_facts; /* of halley_import */
void report_import_json(report_json *j, const halley_import *import);
/* Write the keys of a list on one line after the title, assumed ones with their values.
 * Writes nothing if the list is empty. */
void report_import_list(FILE *to, const halley_import *import, halley_import_list list,
                        const char *title);

#endif
