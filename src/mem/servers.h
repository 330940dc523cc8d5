/*
 * mem/servers.h - memory beyond the NPU as servers that work off one request at a time.
 * Time is the caller's: it is informed when a request starts and says when it is over.
 *
 * A hierarchical pool is a row of servers instead: the memories, the links into the
 * nodes, the links into the NPUs. A request passes them in equal pieces, one piece after
 * the other, and each serves requests in the order they were made; alone, a request takes
 * the sum of the stages' times for one piece and the longest of them for every further
 * one.
 */
#ifndef MEM_SERVERS_H
#define MEM_SERVERS_H

#include "base/array.h"
#include "base/error.h"
#include "hw/cluster.h"

#define MEM_NONE UINT32_MAX

typedef struct mem_request {
    uint64_t bytes;
    uint32_t npu, node;
    uint32_t next;
} mem_request;

typedef struct mem_server {
    uint32_t head, tail; /* waiting requests */
    bool busy;
} mem_server;

typedef struct mem_servers {
    cluster_memory_kind kind;
    uint64_t latency_ticks;
    double bytes_per_tick;
    uint32_t npus_per_server, n_servers; /* 0: every NPU its own, nothing ever waits */
    mem_server *servers;
    ARRAY(mem_request) requests;
    uint32_t free_request;
    /* hierarchical */
    uint32_t npus_per_node;
    uint64_t piece_bytes;
    bool in_switch;
    double stage_bytes_per_tick[3]; /* all memories together, into a node, into an NPU */
    double *free_at[3];             /* by server: when it is done, in ticks */
    bool wrapped;                   /* a request was longer than TICKS_LONGEST */
} mem_servers;

halley_status mem_servers_init(mem_servers *out, const halley_cluster *cluster,
                               uint64_t ticks_per_ns, halley_error *err);
void mem_servers_fini(mem_servers *m);

/* Hierarchical: ticks from now until a request made now is over. */
uint64_t mem_pool_delay(mem_servers *m, uint32_t npu, uint64_t bytes, uint64_t now);
/* Ticks that a request takes once it has started. */
uint64_t mem_duration(mem_servers *m, uint64_t bytes);
/* The server of an NPU, or MEM_NONE when nothing is shared. */
uint32_t mem_server_of(const mem_servers *m, uint32_t npu);
/* Ask the server: *starts is true when it begins at once, else the request waits. */
halley_status mem_ask(mem_servers *m, uint32_t server, const mem_request *request,
                      bool *starts);
/* The server's request is over: the next one, which begins now, or false. */
bool mem_next(mem_servers *m, uint32_t server, mem_request *out);

#endif
