/* hw/memory.h - memories in our files. */
#ifndef HW_MEMORY_H
#define HW_MEMORY_H

#include "hw/schema.h"

/* `first`: the nearest memory, which belongs to the NPU. */
halley_status hw_tier_read(halley_tier *out, bool first, const conf_file *file,
                           const conf_node *map, halley_error *err);
/* Read the second memory of an NPU as remote memory, if it states more than a tier
 * holds. */
halley_status hw_remote_read_tier(const hw_reader *r, const conf_node *map);

#endif
