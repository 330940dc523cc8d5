/* The plug-in: the table of mpi/plugin.h over MPI. Linked with MPI and nothing else. */
#include "mpi/plugin.h"

#include <mpi.h>
#include <string.h>

_Static_assert(sizeof(MPI_Request) <= sizeof(mpi_request), "a request fits its handle");
_Static_assert(sizeof(MPI_Message) <= sizeof(uintptr_t), "a message fits its handle");

static uintptr_t wrap_request(MPI_Request request)
{
    uintptr_t handle = 0;
    if (request != MPI_REQUEST_NULL)
        memcpy(&handle, &request, sizeof request);
    return handle;
}

static MPI_Request unwrap_request(mpi_request handle)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (handle != 0)
        memcpy(&request, &handle, sizeof request);
    return request;
}

static bool start_mpi(int *rank, int *n_ranks, bool *threads)
{
    int level = 0;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS)
        return false;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, n_ranks);
    *threads = level == MPI_THREAD_MULTIPLE;
    return true;
}

static bool is_mpi_running(void)
{
    int on = 0, off = 0;
    MPI_Initialized(&on);
    MPI_Finalized(&off);
    return on && !off;
}

static void stop_mpi(void)
{
    MPI_Finalize();
}

static bool send_bytes(mpi_request *request, const void *bytes, int n, int to, int tag)
{
    MPI_Request moving = MPI_REQUEST_NULL;
    if (MPI_Isend(bytes, n, MPI_BYTE, to, tag, MPI_COMM_WORLD, &moving) != MPI_SUCCESS)
        return false;
    *request = wrap_request(moving);
    return true;
}

static bool test_request(mpi_request *request, bool *complete)
{
    MPI_Request moving = unwrap_request(*request);
    int whole = 0;
    *complete = false;
    if (MPI_Test(&moving, &whole, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return false;
    *complete = whole != 0;
    *request = wrap_request(moving);
    return true;
}

static void forget_request(mpi_request *request)
{
    MPI_Request moving = unwrap_request(*request);
    if (moving != MPI_REQUEST_NULL)
        MPI_Request_free(&moving);
    *request = 0;
}

static bool probe_rank(int from, int tag)
{
    int here = 0;
    return MPI_Iprobe(from, tag, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE) ==
               MPI_SUCCESS &&
           here;
}

static void drop_byte(int from, int tag)
{
    char byte;
    MPI_Recv(&byte, 1, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static bool match_message(int tag, int *from, int *n, uintptr_t *message)
{
    MPI_Message what;
    MPI_Status status;
    int here = 0;
    if (MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &here, &what, &status) !=
            MPI_SUCCESS ||
        !here)
        return false;
    MPI_Get_count(&status, MPI_BYTE, n);
    *from = status.MPI_SOURCE;
    *message = 0;
    memcpy(message, &what, sizeof what);
    return true;
}

static bool receive_message(mpi_request *request, void *bytes, int n, uintptr_t message)
{
    MPI_Message what;
    MPI_Request moving = MPI_REQUEST_NULL;
    memcpy(&what, &message, sizeof what);
    if (MPI_Imrecv(bytes, n, MPI_BYTE, &what, &moving) != MPI_SUCCESS)
        return false;
    *request = wrap_request(moving);
    return true;
}

static bool meet_all(mpi_request *request)
{
    MPI_Request met = MPI_REQUEST_NULL;
    if (MPI_Ibarrier(MPI_COMM_WORLD, &met) != MPI_SUCCESS)
        return false;
    *request = wrap_request(met);
    return true;
}

extern const mpi_plugin halley_mpi_plugin;
const mpi_plugin halley_mpi_plugin = {
    .version = MPI_PLUGIN_VERSION,
    .start = start_mpi,
    .is_running = is_mpi_running,
    .stop = stop_mpi,
    .send = send_bytes,
    .test = test_request,
    .forget = forget_request,
    .probe = probe_rank,
    .drop = drop_byte,
    .match = match_message,
    .receive = receive_message,
    .meet = meet_all,
};
