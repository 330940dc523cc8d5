/* cli/chakra.h - behaves as the programs of MLCommons Chakra, if called by their names.
 */
#ifndef CLI_CHAKRA_H
#define CLI_CHAKRA_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>

/* If argv[0] is a name of Chakra's programs, run it and set *code to the exit code. */
bool cli_chakra_run(int *code, int argc, char **argv);

/* What chakra_timeline_visualizer does: a log of `issue` and `callback` lines as events
 * for chrome://tracing. */
halley_status chakra_timeline(const char *in, const char *out, uint64_t n_npus,
                              double npu_mhz, halley_error *err);

#endif
