/* formats/rows.c - the table of formats of other programs that the core can read. */
#include "astra/dims.h"
#include "base/format.h"
#include "hf/hf_model.h"
#include "launch/args.h"
#include "topology/import/import.h"

/* A launch file may hold the keys of a configuration; it is looked for first. */
const format_set *const format_sets[] = {&launch_formats, &hf_formats, &topology_formats,
                                         &astra_formats, NULL};
