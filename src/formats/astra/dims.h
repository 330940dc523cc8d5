/* astra/dims.h - ASTRA-sim's network file as the dimensions of a cluster. */
#ifndef ASTRA_DIMS_H
#define ASTRA_DIMS_H

#include "base/format.h"

extern const format_set astra_formats;

#endif
