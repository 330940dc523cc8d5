/*
 * halley/unfinished.h - remove what is not finished when a signal ends the program.
 *
 * Every file the library writes has a temporary name until it is complete. A program that
 * is ended by a signal would leave it behind. The library installs no signal handlers;
 * one of the host's can call this and then let the signal end the process.
 */
#ifndef HALLEY_UNFINISHED_H
#define HALLEY_UNFINISHED_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Remove the temporary files and folders of all outputs being written, in all threads;
 * their number. From then on the library refuses to write files (ECANCELED), as the
 * process is about to end. A set of files that is just taking its names is waited for.
 * May be called from a signal handler (async-signal-safe). */
uint32_t halley_unfinished_remove(void);

#ifdef __cplusplus
}
#endif

#endif
