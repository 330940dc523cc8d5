/* The plug-in implements the table of mpi/plugin.h with MPI. It links only MPI. */
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

static bool init_mpi(int *rank, int *n_ranks, bool *threads)
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

_Static_assert(sizeof(MPI_Comm) <= sizeof(mpi_comm), "a communicator fits its handle");

static MPI_Comm unwrap_comm(mpi_comm handle)
{
    MPI_Comm comm = MPI_COMM_NULL;
    if (handle != 0)
        memcpy(&comm, &handle, sizeof comm);
    return comm;
}

static bool make_group(mpi_comm *out, const int *ranks, int n, int tag)
{
    MPI_Group world = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    bool made = MPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS &&
                MPI_Group_incl(world, n, ranks, &group) == MPI_SUCCESS &&
                MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &comm) == MPI_SUCCESS;
    if (made)
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    *out = 0;
    if (made)
        memcpy(out, &comm, sizeof comm);
    if (group != MPI_GROUP_NULL)
        MPI_Group_free(&group);
    if (world != MPI_GROUP_NULL)
        MPI_Group_free(&world);
    return made;
}

static void free_group(mpi_comm *handle)
{
    MPI_Comm comm = unwrap_comm(*handle);
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
    *handle = 0;
}

enum {
    COLLECT_ALL_REDUCE,
    COLLECT_REDUCE,
    COLLECT_ALL_GATHER,
    COLLECT_GATHER,
    COLLECT_SCATTER,
    COLLECT_BROADCAST,
    COLLECT_ALL_TO_ALL,
    COLLECT_REDUCE_SCATTER,
    COLLECT_REDUCE_SCATTER_BLOCK,
    COLLECT_BARRIER,
};

static int start_collective(MPI_Request *moving, const mpi_collective *c)
{
    MPI_Comm comm = unwrap_comm(c->comm);
    const int n = (int)c->bytes, floats = (int)(c->bytes / sizeof(float));
    switch (c->kind) {
    case COLLECT_ALL_REDUCE:
        return MPI_Iallreduce(c->send, c->receive, floats, MPI_FLOAT, MPI_SUM, comm,
                              moving);
    case COLLECT_REDUCE:
        return MPI_Ireduce(c->send, c->receive, floats, MPI_FLOAT, MPI_SUM, c->root, comm,
                           moving);
    case COLLECT_ALL_GATHER:
        return MPI_Iallgather(c->send, n, MPI_BYTE, c->receive, n, MPI_BYTE, comm,
                              moving);
    case COLLECT_GATHER:
        return MPI_Igather(c->send, n, MPI_BYTE, c->receive, n, MPI_BYTE, c->root, comm,
                           moving);
    case COLLECT_SCATTER:
        return MPI_Iscatter(c->send, n, MPI_BYTE, c->receive, n, MPI_BYTE, c->root, comm,
                            moving);
    case COLLECT_BROADCAST:
        return MPI_Ibcast(c->receive, n, MPI_BYTE, c->root, comm, moving);
    case COLLECT_ALL_TO_ALL:
        return c->counts == NULL
                   ? MPI_Ialltoall(c->send, n, MPI_BYTE, c->receive, n, MPI_BYTE, comm,
                                   moving)
                   : MPI_Ialltoallv(c->send, c->counts, c->offsets, MPI_BYTE, c->receive,
                                    c->receive_counts, c->receive_offsets, MPI_BYTE, comm,
                                    moving);
    case COLLECT_REDUCE_SCATTER:
    case COLLECT_REDUCE_SCATTER_BLOCK:
        return MPI_Ireduce_scatter_block(c->send, c->receive, floats, MPI_FLOAT, MPI_SUM,
                                         comm, moving);
    case COLLECT_BARRIER:
        return MPI_Ibarrier(comm, moving);
    default:
        return MPI_ERR_OP;
    }
}

static bool start_collective_request(mpi_request *request, const mpi_collective *c)
{
    MPI_Request moving = MPI_REQUEST_NULL;
    if (start_collective(&moving, c) != MPI_SUCCESS)
        return false;
    *request = wrap_request(moving);
    return true;
}

static bool post_message(mpi_request *request, mpi_comm comm, void *bytes, size_t n,
                         int peer, int tag, bool sends)
{
    MPI_Request moving = MPI_REQUEST_NULL;
    const int status =
        sends ? MPI_Isend(bytes, (int)n, MPI_BYTE, peer, tag, unwrap_comm(comm), &moving)
              : MPI_Irecv(bytes, (int)n, MPI_BYTE, peer, tag, unwrap_comm(comm), &moving);
    *request = wrap_request(moving);
    return status == MPI_SUCCESS;
}

static int find_largest_tag(void)
{
    void *value = NULL;
    int found = 0, tag = 32767; /* the minimum that MPI guarantees */
    if (MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found) == MPI_SUCCESS &&
        found)
        memcpy(&tag, value, sizeof tag);
    return tag;
}

static int count_on_host(void)
{
    MPI_Comm host = MPI_COMM_NULL;
    int n = 1;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                            &host) != MPI_SUCCESS)
        return n;
    MPI_Comm_size(host, &n);
    MPI_Comm_free(&host);
    return n;
}

static void end_all(int code)
{
    MPI_Abort(MPI_COMM_WORLD, code);
}

extern const mpi_plugin halley_mpi_plugin;
const mpi_plugin halley_mpi_plugin = {
    .version = MPI_PLUGIN_VERSION,
    .start = init_mpi,
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
    .make_group = make_group,
    .free_group = free_group,
    .collect = start_collective_request,
    .post = post_message,
    .largest_tag = find_largest_tag,
    .count_on_host = count_on_host,
    .end_all = end_all,
};
