/*
 * astra/grisu.h - writes doubles as JSON writers with the Grisu2 algorithm do
 * (Loitsch, "Printing floating-point numbers quickly and accurately with integers",
 * 2010). It gives the shortest text except for about one number in 200. There its text
 * has one digit more, or the last digit is not the nearest. ASTRA-sim's memory traces
 * contain such numbers.
 */
#ifndef ASTRA_GRISU_H
#define ASTRA_GRISU_H

#include "base/number/number.h"

/* Write a positive number between 1e-12 and 1e15, or 0; others get number_repr's text. */
number_text grisu_write(double value);

#endif
