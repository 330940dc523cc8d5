/*
 * hw/notation.h - networks of several dimensions in one line, innermost first:
 *
 *     Ring(4)_FC(2)_SW(8)
 *     Ring(4)_FC(2)_SW(8)@250_200_50 GB/s@500_500_700 ns
 *
 * Names are Ring, FC or FullyConnected, SW or Switch, in any case. Rates and latencies
 * are one per dimension, or one for all. Rates are those of an NPU in each dimension, as
 * papers quote them. Its 2 links of a ring, its k - 1 of a full mesh, its 1 to a switch
 * share it. With "/link" after the unit they are those of one link.
 */
#ifndef HW_NOTATION_H
#define HW_NOTATION_H

#include "hw/cluster.h"

/* True for texts that begin like one. */
bool hw_notation_is(str text);
/* Fill dims and n_dims of a cluster, and a note about how the rates were read. */
halley_status hw_notation_read(halley_cluster *c, str text, halley_error *err);

#endif
