/* recording/record/align.h - the rank of each recording, and the offset of its clock. */
#ifndef RECORDING_RECORD_ALIGN_H
#define RECORDING_RECORD_ALIGN_H

#include "recording/record/comms.h"

/* Sort the recordings by rank and check that they are the ranks of one run. `paths` has
 * one path per recording, for errors and for numbers in file names. */
halley_status rec_order_ranks(rec_list *list, const char **paths, halley_error *err);
/* What to add to each rank's clock to get rank 0's; `offsets` has one per rank. */
halley_status rec_align_clocks(int64_t *offsets, const rec_list *list,
                               const rec_rules *rules, halley_error *err);

#endif
