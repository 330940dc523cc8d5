/*
 * request/document.h - loads a model, cluster, stack, plan or study by name: a preset, a
 * path, or the document itself as YAML or JSON text. A text is a document if it has
 * several lines, starts with '{', or contains ": ", and no file has that name.
 */
#ifndef REQUEST_DOCUMENT_H
#define REQUEST_DOCUMENT_H

#include "halley/cluster.h"
#include "halley/explore.h"
#include "halley/model.h"
#include "halley/plan_keys.h"
#include "halley/stack.h"
#include "request/verb.h"

bool request_is_document(const char *text);

/* `import` may be NULL; see halley_model_import. */
halley_status request_model_load(halley_model *out, halley_import **import,
                                 const char *text, halley_error *err);
/* An invalid number of accelerators ("dgx-h100:0") is a usage error: the words of the
 * call are at fault, not a file. */
halley_status request_cluster_load(halley_cluster **out, request_call *call,
                                   const char *text, halley_error *err);
halley_status request_stack_load(halley_stack *out, const char *text, halley_error *err);
halley_status request_plan_load(halley_plan *plan, uint64_t *given, const char *text,
                                halley_error *err);
halley_status request_study_load(halley_study **out, const char *text, halley_error *err);

#endif
