/* mpi/load.h - find and open the MPI plug-in; see load.c. */
#ifndef MPI_LOAD_H
#define MPI_LOAD_H

#include "halley/error.h"
#include "mpi/plugin.h"

/* Whether mpirun, mpiexec or srun started this process as one of several. 0 = no; else
 * the number of processes, or UINT32_MAX if it is not known. */
uint32_t mpi_count_started(void);

/*
 * Open the plug-in. The search covers the folder HALLEY_PLUGINS (environment), then the
 * folder of the library or program that contains this code, with its halley/ and
 * ../LIBDIR/halley/. The last place is the installation folder. *out stays open until the
 * process ends, because MPI cannot be started twice.
 */
halley_status mpi_plugin_load(const mpi_plugin **out, halley_error *err);

#endif
