/* hw/extend.h - asking a cluster's extensions for the time of compute. */
#ifndef HW_EXTEND_H
#define HW_EXTEND_H

#include "halley/extend.h"

/* What the extension says, or `standard_s` when there is none or it has no answer. */
double hw_extend_compute(const halley_cluster *cluster, const halley_compute_call *call,
                         double standard_s);

#endif
