/*
 * mem/servers.h - memory outside the NPU, as servers that process one request at a time.
 * The caller keeps the time: it learns when a request starts and reports when it ends.
 *
 * A hierarchical pool is a chain of servers instead: the memories, the links into the
 * nodes, and the links into the NPUs. A request passes them in equal pieces, one after
 * the other. Each server processes requests in the order in which they were made. A
 * request that is alone takes the sum of the stages' times for the first piece, plus the
 * longest of them for every further piece.
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
    uint32_t npus_per_server, n_servers; /* 0: each NPU has its own, and no request
                                            waits */
    mem_server *servers;
    ARRAY(mem_request) requests;
    uint32_t free_request;
    /* hierarchical */
    uint32_t npus_per_node;
    uint64_t piece_bytes;
    bool in_switch;
    double stage_bytes_per_tick[3]; /* all memories in total, into a node, into an NPU */
    double *free_at[3];             /* by server: when it becomes free, in ticks */
    bool wrapped;                   /* a request was longer than TICKS_LONGEST */
} mem_servers;

halley_status mem_servers_init(mem_servers *out, const halley_cluster *cluster,
                               uint64_t ticks_per_ns, halley_error *err);
void mem_servers_fini(mem_servers *m);

/* Hierarchical: ticks from now until a request made now has ended. */
uint64_t mem_pool_delay(mem_servers *m, uint32_t npu, uint64_t bytes, uint64_t now);
/* Ticks that a request takes once it has started. */
uint64_t mem_duration(mem_servers *m, uint64_t bytes);
/* The server of an NPU, or MEM_NONE if NPUs share none. */
uint32_t mem_server_of(const mem_servers *m, uint32_t npu);
/* Submit a request: *starts is true if it starts at once, else it waits. */
halley_status mem_ask(mem_servers *m, uint32_t server, const mem_request *request,
                      bool *starts);
/* Call when the server's request has ended. *out is the next one, which starts now; false
 * if there is none. */
bool mem_next(mem_servers *m, uint32_t server, mem_request *out);

#endif
