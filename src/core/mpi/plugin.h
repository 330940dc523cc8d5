/*
 * mpi/plugin.h - the MPI functions that halley needs, as one table that libhalley-mpi.so
 * exports. The library does not link MPI, so a program that mpirun did not start does not
 * load it. The plug-in does not depend on the library either. So one plug-in serves the
 * shared library, the static library and the program.
 *
 * Ranks and tags are MPI's, on MPI_COMM_WORLD. A request is 0 if no operation is active.
 * No function blocks on another rank.
 */
#ifndef MPI_PLUGIN_H
#define MPI_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Increases when the table changes; another version is refused. */
enum { MPI_PLUGIN_VERSION = 2 };

typedef uintptr_t mpi_request;
typedef uintptr_t mpi_comm; /* a group of ranks that communicate; 0 = none */

/* A collective of a group. Kinds are numbered like Chakra's CollectiveCommType. */
typedef struct mpi_collective {
    uint32_t kind;
    mpi_comm comm;
    int n;    /* members */
    int root; /* index in the group, for collectives with a root */
    const void *send;
    void *receive;
    /* all-reduce, reduce, broadcast: of the whole buffer; else of one member's part.
     * Reductions are of floats, so this is a multiple of 4. */
    size_t bytes;
    /* all-to-all with unequal parts, in bytes: to each member, and from each; NULL =
     * equal parts */
    const int *counts, *offsets, *receive_counts, *receive_offsets;
} mpi_collective;

typedef struct mpi_plugin {
    uint32_t version;
    /* Start MPI in this process. `threads` is true if several threads may call it. */
    bool (*start)(int *rank, int *n_ranks, bool *threads);
    bool (*is_running)(void);
    /* Waits for all ranks: call `meet` first to make sure that they are there. */
    void (*stop)(void);
    /* `bytes` must stay valid until the request is complete, or for ever if it is
     * forgotten. */
    bool (*send)(mpi_request *request, const void *bytes, int n, int to, int tag);
    /* Test whether a request is complete; *request is then 0. Returns false if MPI
     * failed. */
    bool (*test)(mpi_request *request, bool *complete);
    /* Abandon a request; MPI keeps its buffer. */
    void (*forget)(mpi_request *request);
    /* True if a message from this rank has arrived. */
    bool (*probe)(int from, int tag);
    /* Receive and discard a message of one byte that probe has seen. */
    void (*drop)(int from, int tag);
    /* Find a message from any rank that has arrived: its source, its length, and its
     * handle for receive. False if there is none. */
    bool (*match)(int tag, int *from, int *n, uintptr_t *message);
    bool (*receive)(mpi_request *request, void *bytes, int n, uintptr_t message);
    /* A barrier: complete once every rank has called it. */
    bool (*meet)(mpi_request *request);

    /* For replay. */
    /* Create a group. All its members must call this in the same order; it blocks on
     * them. */
    bool (*make_group)(mpi_comm *out, const int *ranks, int n, int tag);
    void (*free_group)(mpi_comm *comm);
    bool (*collect)(mpi_request *request, const mpi_collective *c);
    /* A message to or from a member of the group. */
    bool (*post)(mpi_request *request, mpi_comm comm, void *bytes, size_t n, int peer,
                 int tag, bool sends);
    int (*largest_tag)(void);
    int (*count_on_host)(void); /* ranks on this host */
    void (*end_all)(int code);  /* ends the processes of all ranks */
} mpi_plugin;

/* The only symbol that the plug-in exports. */
#define MPI_PLUGIN_SYMBOL "halley_mpi_plugin"

#endif
