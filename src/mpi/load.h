/* mpi/load.h - find and open the MPI plug-in; see load.c. */
#ifndef MPI_LOAD_H
#define MPI_LOAD_H

#include "halley/error.h"
#include "mpi/plugin.h"

/* Did mpirun, mpiexec or srun start this process as one of several? 0 = no; else how many
 * processes there are, or UINT32_MAX when that is not known. */
uint32_t mpi_count_started(void);

/*
 * Open the plug-in. It is looked for in the folder HALLEY_PLUGINS (environment); next to
 * the library or program that this code is part of, and in its halley/ and
 * ../LIBDIR/halley/; and where it was installed. *out stays open as long as the process
 * lives: MPI cannot be started twice.
 */
halley_status mpi_plugin_load(const mpi_plugin **out, halley_error *err);

#endif
