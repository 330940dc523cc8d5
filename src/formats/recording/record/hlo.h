/* recording/record/hlo.h - parse XLA's texts about an operation. */
#ifndef RECORDING_RECORD_HLO_H
#define RECORDING_RECORD_HLO_H

#include "base/str.h"

/* The class of an operation from its hlo_category. "skip" = its children count instead;
 * NULL = unknown. Static. */
const char *hlo_category_class(str category);

/* The result of "%name = bf16[1024,1024]{1,0} op(…)": the number of elements and
 * PyTorch's name of their type. False: no readable shape. */
bool hlo_result(str text, uint64_t *n_elements, const char **dtype);

/* The members of the group that contains `device`, as "[0, 1]", from replica_groups in
 * the text: {{0,1},{2,3}} or [2,2]<=[4]. False: none, or in an unsupported form. */
bool hlo_group(str text, uint64_t device, strbuf *to);

#endif
