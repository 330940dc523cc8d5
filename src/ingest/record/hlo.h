/* ingest/record/hlo.h - what XLA's texts say about an operation. */
#ifndef INGEST_RECORD_HLO_H
#define INGEST_RECORD_HLO_H

#include "base/str.h"

/* The class of an operation by its hlo_category; "skip" = its children count instead;
 * NULL = not known. Static. */
const char *hlo_category_class(str category);

/* The result of "%name = bf16[1024,1024]{1,0} op(…)": elements and PyTorch's name of
 * their type. False: no shape that can be read. */
bool hlo_result(str text, uint64_t *n_elements, const char **dtype);

/* The members of the group that holds `device`, as "[0, 1]", from replica_groups of the
 * text: {{0,1},{2,3}} or [2,2]<=[4]. False: none, or of a form that is not read. */
bool hlo_group(str text, uint64_t device, strbuf *to);

#endif
