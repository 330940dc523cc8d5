/*
 * mpi/plugin.h - what halley needs of MPI, as one table that libhalley-mpi.so hands out.
 * The library does not link MPI: a program that is never started by mpirun does not load
 * it. The plug-in knows nothing of the library either, so that one plug-in serves the
 * shared library, the static one and the program.
 *
 * Ranks and tags are MPI's, on MPI_COMM_WORLD. A request is 0 when nothing is under way.
 * No function blocks on another rank.
 */
#ifndef MPI_PLUGIN_H
#define MPI_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rises when the table changes; another number is refused. */
enum { MPI_PLUGIN_VERSION = 2 };

typedef uintptr_t mpi_request;
typedef uintptr_t mpi_comm; /* a group of ranks that communicate; 0 = none */

/* A collective of a group. Kinds have the numbers of Chakra's CollectiveCommType. */
typedef struct mpi_collective {
    uint32_t kind;
    mpi_comm comm;
    int n;    /* members */
    int root; /* place in the group, of those that have one */
    const void *send;
    void *receive;
    /* all-reduce, reduce, broadcast: of the whole; else of one member's part. Reductions
     * are of floats, so a multiple of 4. */
    size_t bytes;
    /* all-to-all with unequal parts, in bytes: to each member, and from each; NULL =
     * equal ones */
    const int *counts, *offsets, *receive_counts, *receive_offsets;
} mpi_collective;

typedef struct mpi_plugin {
    uint32_t version;
    /* Start MPI in this process. `threads`: several threads may call it. */
    bool (*start)(int *rank, int *n_ranks, bool *threads);
    bool (*is_running)(void);
    /* Waits for all ranks: make sure with `meet` that they are there. */
    void (*stop)(void);
    /* `bytes` must stay until the request is complete, or for ever once forgotten. */
    bool (*send)(mpi_request *request, const void *bytes, int n, int to, int tag);
    /* Is it complete? Then *request is 0. False when MPI failed. */
    bool (*test)(mpi_request *request, bool *complete);
    /* Give up a request; what it moves stays MPI's. */
    void (*forget)(mpi_request *request);
    /* Has a message from this rank arrived? */
    bool (*probe)(int from, int tag);
    /* Take a message of one byte that probe has seen, and drop it. */
    void (*drop)(int from, int tag);
    /* A message of any rank that has arrived: from whom, how long, and its handle for
     * receive. False when there is none. */
    bool (*match)(int tag, int *from, int *n, uintptr_t *message);
    bool (*receive)(mpi_request *request, void *bytes, int n, uintptr_t message);
    /* Complete once every rank has called it. */
    bool (*meet)(mpi_request *request);

    /* For replay. */
    /* A group, which all its members must ask for, in the same order; blocks on them. */
    bool (*make_group)(mpi_comm *out, const int *ranks, int n, int tag);
    void (*free_group)(mpi_comm *comm);
    bool (*collect)(mpi_request *request, const mpi_collective *c);
    /* A message to or from a place of the group. */
    bool (*post)(mpi_request *request, mpi_comm comm, void *bytes, size_t n, int peer,
                 int tag, bool sends);
    int (*largest_tag)(void);
    int (*count_on_host)(void); /* ranks on this host */
    void (*end_all)(int code);  /* ends the processes of all ranks */
} mpi_plugin;

/* The one name the plug-in exports. */
#define MPI_PLUGIN_SYMBOL "halley_mpi_plugin"

#endif
