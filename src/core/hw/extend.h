/* hw/extend.h - asks a cluster's extensions for the time of compute. */
#ifndef HW_EXTEND_H
#define HW_EXTEND_H

#include "halley/extend.h"

/* The extension's time, or `standard_s` if there is no extension or it has no answer. */
double hw_extend_compute(const halley_cluster *cluster, const halley_compute_call *call,
                         double standard_s);

#endif
