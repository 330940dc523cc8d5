/*
 * Find what a communication kernel or host node does.
 *
 * The sources, in order of preference, are: the kernel's own arguments (newer
 * recordings), the record_param_comms node around its launch, the backend's annotation
 * ("nccl:all_reduce"), the c10d operator, and the kernel's name. The names of NCCL's
 * SendRecv and RCCL's generic kernels do not give the type, so another source has to. The
 * size is that of the input tensors, as Chakra counts it; otherwise it is the number of
 * elements times the element size.
 */
#include "recording/comm.h"

#include "recording/lit.h"

#include <string.h>

enum { MAX_NAME = 96, MAX_UP = 8 };

/* Lower-case the name and drop _ and -; cut it to MAX_NAME. */
static str fold(str name, char to[MAX_NAME])
{
    size_t n = 0;
    for (size_t i = 0; i < name.n && n < MAX_NAME; i++) {
        const char c = name.at[i];
        if (c == '(')
            break; /* what follows are a kernel's parameters */
        if (c != '_' && c != '-')
            to[n++] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    return (str){to, n};
}

bool comm_is_kernel(str name)
{
    return str_starts(name, STR("ncclKernel")) ||
           str_starts(name, STR("ncclDevKernel")) || str_starts(name, STR("rccl")) ||
           str_starts(name, STR("mscclKernel")) ||
           str_starts(name, STR("ncclSymkDevKernel"));
}

/* Find the communication type in the name of a kernel, collective or annotation. False:
 * none. */
static bool find_comm_type(comm_info *info, str name)
{
    static const struct {
        const char *part;
        halley_node_type type;
        halley_coll_type coll;
    } types[] = {
        {"allreduce", HALLEY_NODE_COLL, HALLEY_COLL_ALL_REDUCE},
        {"alltoall", HALLEY_NODE_COLL, HALLEY_COLL_ALL_TO_ALL},
        {"allgather", HALLEY_NODE_COLL, HALLEY_COLL_ALL_GATHER},
        {"reducescatter", HALLEY_NODE_COLL, HALLEY_COLL_REDUCE_SCATTER},
        {"broadcast", HALLEY_NODE_COLL, HALLEY_COLL_BROADCAST},
        {"barrier", HALLEY_NODE_COLL, HALLEY_COLL_BARRIER},
        {"sendrecv", HALLEY_NODE_INVALID, HALLEY_COLL_ALL_REDUCE},
        {"generic", HALLEY_NODE_INVALID, HALLEY_COLL_ALL_REDUCE},
        {"reduce", HALLEY_NODE_COLL, HALLEY_COLL_REDUCE},
        {"gather", HALLEY_NODE_COLL, HALLEY_COLL_GATHER},
        {"scatter", HALLEY_NODE_COLL, HALLEY_COLL_SCATTER},
        {"send", HALLEY_NODE_SEND, HALLEY_COLL_ALL_REDUCE},
        {"recv", HALLEY_NODE_RECV, HALLEY_COLL_ALL_REDUCE},
    };
    char folded[MAX_NAME];
    const str text = fold(name, folded);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!str_contains(text, str_from(types[i].part)))
            continue;
        info->type = types[i].type;
        info->coll = types[i].coll;
        return types[i].type != HALLEY_NODE_INVALID;
    }
    return false;
}

static str host_name(const link_graph *g, uint32_t node)
{
    const uint32_t name = g->host->nodes.at[node].name;
    return name == HOST_NONE ? STR("") : intern_text(&g->host->texts, name);
}

static str text_or_empty(const intern *texts, uint32_t id)
{
    return id == UINT32_MAX ? STR("") : intern_text(texts, id);
}

uint64_t comm_element_size(str dtype)
{
    static const struct {
        const char *name;
        uint64_t n_bytes;
    } sizes[] = {{"float", 4},
                 {"double", 8},
                 {"half", 2},
                 {"bfloat16", 2},
                 {"c10::half", 2},
                 {"c10::bfloat16", 2},
                 {"long", 8},
                 {"long int", 8},
                 {"int", 4},
                 {"short", 2},
                 {"char", 1},
                 {"byte", 1},
                 {"bool", 1},
                 {"unsigned char", 1},
                 {"signed char", 1},
                 {"float8e4m3fn", 1},
                 {"float8e5m2", 1},
                 {"c10::float8e4m3fn", 1},
                 {"c10::float8e5m2", 1},
                 {"float8e4m3fnuz", 1},
                 {"float8e5m2fnuz", 1},
                 {"c10::float8e4m3fnuz", 1},
                 {"c10::float8e5m2fnuz", 1},
                 {"complexfloat", 8},
                 {"complexdouble", 16}};
    char folded[MAX_NAME];
    const str text = fold(dtype, folded);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (str_eq(text, str_from(sizes[i].name)))
            return sizes[i].n_bytes;
    return 0;
}

static const host_comm *find_host_comm(const host_trace *h, uint32_t node)
{
    size_t low = 0, high = h->comms.n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (h->comms.at[mid].node < node)
            low = mid + 1;
        else
            high = mid;
    }
    return low < h->comms.n && h->comms.at[low].node == node ? &h->comms.at[low] : NULL;
}

/* Read the ranks around the arrow in "nccl:send 0->1" and "nccl:recv 0<-1". */
static void take_arrow(comm_info *info, str name)
{
    uint64_t left, right;
    for (size_t i = 1; i + 2 < name.n; i++) {
        const bool sends = name.at[i] == '-' && name.at[i + 1] == '>';
        const bool recvs = name.at[i] == '<' && name.at[i + 1] == '-';
        if (!sends && !recvs)
            continue;
        size_t from = i;
        while (from > 0 && name.at[from - 1] >= '0' && name.at[from - 1] <= '9')
            from--;
        if (!str_to_u64((str){name.at + from, i - from}, &left) ||
            !str_to_u64((str){name.at + i + 2, name.n - i - 2}, &right))
            return;
        info->source = sends ? left : right;
        info->destination = sends ? right : left;
        return;
    }
}

static void take_peer(comm_info *info, uint64_t peer)
{
    if (info->type == HALLEY_NODE_SEND && info->destination == PULL_NONE)
        info->destination = peer;
    if (info->type == HALLEY_NODE_RECV && info->source == PULL_NONE)
        info->source = peer;
}

/* The element type in "['Tensor(float)', …]" or "Tensor(c10::BFloat16)". */
static str dtype_in(str types)
{
    static const char mark[] = "Tensor(";
    const char *const at =
        types.n ? memmem(types.at, types.n, mark, sizeof mark - 1) : NULL;
    if (!at)
        return STR("");
    const char *const start = at + sizeof mark - 1, *const end = types.at + types.n;
    const char *const close = memchr(start, ')', (size_t)(end - start));
    return close ? (str){start, (size_t)(close - start)} : STR("");
}

/*
 * Before schema 1.1.0 the inputs of record_param_comms are positional: [tensors,]
 * sequence number, group (a pointer, a name, or [name, description]), rank, "collective",
 * splits …
 */
static void take_positional(comm_info *info, str values)
{
    lit_list list;
    str item, before = STR(""), group = STR(""), text;
    if (!lit_open(&list, values))
        return;
    while (lit_next(&list, &item)) {
        if (lit_text(item, &text) && find_comm_type(info, text)) {
            uint64_t peer;
            str name;
            if (str_to_u64(before, &peer))
                take_peer(info, peer);
            if (info->group.n == 0 &&
                (lit_text(group, &info->group) ||
                 (lit_item(group, 0, &name) && lit_text(name, &info->group))))
                return;
            return;
        }
        group = before;
        before = item;
    }
}

static bool is_params(str name)
{
    return str_eq(name, STR("record_param_comms"));
}

bool comm_is_backend(str name)
{
    return str_starts(name, STR("nccl:")) || str_starts(name, STR("gloo:")) ||
           str_starts(name, STR("mpi:")) || str_starts(name, STR("ucc:")) ||
           str_starts(name, STR("hccl:")) || str_starts(name, STR("xccl:"));
}

/* Read c10d::send(tensors, group, peer, tag) and similar operators. */
static void take_c10d(comm_info *info, str name, str values)
{
    str item;
    uint64_t number;
    if (info->type == HALLEY_NODE_INVALID && !find_comm_type(info, name))
        return;
    if (info->type == HALLEY_NODE_COLL)
        return;
    if (lit_item(values, 2, &item) && str_to_u64(item, &number))
        take_peer(info, number);
    if (info->tag == PULL_NONE && lit_item(values, 3, &item) && str_to_u64(item, &number))
        info->tag = number;
}

static void take_arguments(comm_info *info, const device_trace *d,
                           const device_comm *said)
{
    find_comm_type(info, text_or_empty(&d->texts, said->collective));
    info->group = text_or_empty(&d->texts, said->pg_name);
    info->dtype = text_or_empty(&d->texts, said->dtype);
    if (info->type != HALLEY_NODE_COLL) {
        info->source = said->source;
        info->destination = said->destination;
    }
}

/* The device trace's communication arguments for a host node that communicates. */
static const device_comm *find_device_comm(const link_graph *g, uint32_t node)
{
    const uint32_t event = g->device ? g->event_of[node] : LINK_NONE;
    return event == LINK_NONE ? NULL
                              : device_comm_of(g->device, &g->device->events.at[event]);
}

static void take_elements(comm_info *info, const device_comm *said)
{
    const uint64_t size = comm_element_size(info->dtype);
    if (!info->has_size && said->in_elements != PULL_NONE && size > 0 &&
        !__builtin_mul_overflow(said->in_elements, size, &info->n_bytes))
        info->has_size = true;
}

/* Take what a host node around a communication says about it. */
static void take_host(comm_info *info, const link_graph *g, uint32_t node)
{
    const str name = host_name(g, node);
    const bool params = is_params(name), backend = comm_is_backend(name);
    const bool c10d = str_starts(name, STR("c10d::"));
    if (!params && !backend && !c10d)
        return;
    const host_io io = host_io_get(g->host, node);
    if (params) {
        const host_comm *const said = find_host_comm(g->host, node);
        if (said && info->type == HALLEY_NODE_INVALID)
            find_comm_type(info, text_or_empty(&g->host->texts, said->collective));
        if (said && info->group.n == 0)
            info->group = text_or_empty(&g->host->texts, said->pg_name);
        if (said && info->dtype.n == 0)
            info->dtype = text_or_empty(&g->host->texts, said->dtype);
        comm_info positional = *info;
        take_positional(&positional, io.values);
        if (info->type == HALLEY_NODE_INVALID || info->type == positional.type)
            *info = positional;
    } else if (backend) {
        if (info->type == HALLEY_NODE_INVALID)
            find_comm_type(info, name);
        take_arrow(info, name);
    } else {
        take_c10d(info, name, io.values);
    }
    if (info->dtype.n == 0)
        info->dtype = dtype_in(io.types);
    const device_comm *const event = find_device_comm(g, node);
    if (event) {
        comm_info by_event = *info;
        take_arguments(&by_event, g->device, event);
        if (info->type == HALLEY_NODE_INVALID)
            info->type = by_event.type, info->coll = by_event.coll;
        if (info->group.n == 0)
            info->group = by_event.group;
        if (info->dtype.n == 0)
            info->dtype = by_event.dtype;
    }
    if (!info->has_size) {
        const lit_tensors in = lit_tensors_of(io.values);
        info->has_size = in.n > 0;
        info->n_bytes = in.n_bytes;
    }
    if (event)
        take_elements(info, event);
}

static void take_around(comm_info *info, const link_graph *g, uint32_t node)
{
    for (int up = 0; node != LINK_NONE && up < MAX_UP; up++) {
        take_host(info, g, node);
        node = g->nodes.at[node].parent;
    }
}

static comm_info nothing(void)
{
    return (comm_info){.type = HALLEY_NODE_INVALID,
                       .dtype = STR(""),
                       .group = STR(""),
                       .source = PULL_NONE,
                       .destination = PULL_NONE,
                       .tag = PULL_NONE};
}

comm_info comm_of_kernel(const link_graph *g, uint32_t node)
{
    const device_event *const event = &g->device->events.at[g->nodes.at[node].ref];
    const str name = intern_text(&g->device->texts, event->name);
    comm_info info = nothing();
    const device_comm *const said = device_comm_of(g->device, event);
    if (said)
        take_arguments(&info, g->device, said);
    comm_info by_name = nothing();
    if (info.type == HALLEY_NODE_INVALID && find_comm_type(&by_name, name)) {
        info.type = by_name.type;
        info.coll = by_name.coll;
    }
    take_around(&info, g, g->nodes.at[node].parent);
    if (said)
        take_elements(&info, said);
    return info;
}

comm_info comm_of_call(const link_graph *g, uint32_t node)
{
    comm_info info = nothing();
    take_around(&info, g, node);
    return info;
}

comm_info comm_of_host(const link_graph *g, uint32_t node, bool no_kernels)
{
    const str name = host_name(g, node);
    if (!comm_is_backend(name) || (str_starts(name, STR("nccl:")) && !no_kernels))
        return nothing();
    return comm_of_call(g, node);
}
