/*
 * sim/astra/grisu.h - doubles as JSON writers with the Grisu2 algorithm write them
 * (Loitsch, "Printing floating-point numbers quickly and accurately with integers",
 * 2010). It gives the shortest text but for about one number in 200, where its text has a
 * digit more, or the last digit is not the nearest; ASTRA-sim's memory traces show those.
 */
#ifndef SIM_ASTRA_GRISU_H
#define SIM_ASTRA_GRISU_H

#include "base/number/number.h"

/* Of a positive number between 1e-12 and 1e15, or 0; others get number_repr's text. */
number_text grisu_write(double value);

#endif
