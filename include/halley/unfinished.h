/*
 * halley/unfinished.h - remove incomplete files when a signal ends the program.
 *
 * Every file that the library writes has a temporary name until it is complete. A program
 * that is ended by a signal would leave that file on disk. The library installs no signal
 * handlers. A handler of the host program can call this function and then let the signal
 * end the process.
 */
#ifndef HALLEY_UNFINISHED_H
#define HALLEY_UNFINISHED_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Remove the temporary files and folders of all outputs being written, in all threads,
 * and return their number. From then on the library refuses to write files (ECANCELED),
 * because the process is about to end. The call waits for a set of files that is just
 * being renamed. It may be called from a signal handler (async-signal-safe).
 */
uint32_t halley_unfinished_remove(void);

#ifdef __cplusplus
}
#endif

#endif
