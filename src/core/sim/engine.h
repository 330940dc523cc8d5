/*
 * sim/engine.h - the state of one run, and how its parts call each other.
 *
 * One thread executes a run, and runs share no state. Everything that happens is an
 * event, a word of 64 bits (event.h). The event queue holds network arrivals. Each NPU's
 * lists of calls hold what the NPU does after a delay of its own. Messages hold the
 * events to dispatch when they are sent or received. sim_dispatch executes one event.
 *
 *     rules.h        table of the rules of a run: rules_astra.c, rules_native.c
 *     graph.c        ranks: which node can start, what follows from its end
 *     collective.c   collectives: turns a node into chunks with plans
 *     stream.c       chunks in progress: queues and phases
 *     phases.h       what a member does in a phase, per algorithm:
 *                    window.c, tree.c, rooted.c, in_switch.c, custom.c
 *     match.c        point-to-point messages: pairs k-th send and k-th receive of a key
 *     bus.c          the LogGP bus between an NPU and its network interface
 *     calls.c        delayed calls of an NPU, grouped by time
 *     local.c        how full the NPU's own memory is
 *     instance.c     programs of ranks and the objects they name
 *     bind.c         the ranks and groups of a run; symmetry/ finds symmetry classes
 *     fold.c         runs identical ranks once, in message-based network models
 *     run.c          set-up and event loop
 *     result.c       results of a run; traffic.c sums up its communication
 *     wait.c         explains which rank waits for which
 */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/rng.h"
#include "coll/algo.h"
#include "des/queue.h"
#include "halley/sim.h"
#include "mem/servers.h"
#include "net/net.h"
#include "sim/event.h"
#include "sim/freeset.h"
#include "sim/load/instance.h"
#include "sim/load/program.h"
#include "sim/table.h"

#define SIM_NONE UINT32_MAX

typedef struct sim sim;
typedef struct sim_rules sim_rules; /* rules.h */

/* phases.c: what a member of a chunk does in a phase. One table per algorithm. */
typedef struct sim_phase_ops {
    void (*start)(sim *s, uint32_t op, uint32_t member); /* the phase begins */
    void (*fire)(sim *s, uint32_t op, uint32_t member);  /* a packet's delay is over */
    void (*receive)(sim *s, uint32_t op,
                    uint32_t member); /* an awaited message has arrived */
    /* A message of step k has arrived, awaited or not. NULL: match.c handles the
     * messages. */
    void (*arrive)(sim *s, uint32_t op, uint32_t member, uint32_t phase, uint32_t k);
    /* True if a message of the member's phase has already arrived. */
    bool (*is_called)(const sim *s, uint32_t op, uint32_t member);
} sim_phase_ops;

/* calls.c: the calls of one NPU for one time. */
typedef struct sim_call_group {
    uint64_t at;
    uint64_t first; /* the first call */
    uint32_t more;  /* further calls, in order; SIM_NONE = none */
    uint32_t last;
    uint32_t next; /* the NPU's next later group, or the next free one */
} sim_call_group;
typedef struct sim_call_item {
    uint64_t event;
    uint32_t next;
} sim_call_item;
typedef struct sim_calls {
    uint32_t *heads, *tails; /* by NPU: its groups, earliest first */
    ARRAY(sim_call_group) groups;
    ARRAY(sim_call_item) items;
    uint32_t free_group, free_item;
} sim_calls;

/* match.c */
typedef struct sim_channel { /* one key (tag, from, to, bytes) that is in use */
    uint64_t bytes, hash;
    uint32_t tag, from, to;
    uint32_t n_flying, n_early; /* in flight; arrived before their receive */
    uint32_t head, tail; /* receives that were issued before their message arrived */
    uint32_t next_free;
} sim_channel;
typedef struct sim_waiter { /* a receive that waits for its message */
    uint64_t then;
    uint32_t next;
} sim_waiter;
typedef struct sim_transfer { /* a message in flight */
    uint64_t sent; /* event to dispatch on arrival, in addition to the receiver's */
    uint32_t channel, next_free;
} sim_transfer;
typedef struct sim_handshake { /* a send or receive that the rendezvous protocol delays */
    uint64_t bytes, then;
    uint32_t from, to, tag, next_free;
} sim_handshake;
typedef struct sim_match {
    table channels_by_key;
    ARRAY(sim_channel) channels;
    ARRAY(sim_waiter) waiters;
    ARRAY(sim_transfer) transfers;
    ARRAY(sim_handshake) handshakes;
    uint32_t free_channel, free_waiter, free_transfer, free_handshake;
} sim_match;

/* stream.c: a chunk of a collective in progress, for all its members. */
typedef struct sim_op {
    const coll_plan *plan; /* NULL: free */
    uint8_t *members;      /* n_members blocks of `stride` bytes */
    uint64_t hash;         /* of the stream's name */
    uint32_t group;        /* + 1; 0 = world */
    uint32_t stream;       /* number of the chunk in the group or world */
    uint32_t stride;
    uint32_t pool; /* pool of its members' blocks */
    uint32_t n_done;
    union {
        bool gathers;       /* custom: an all-gather; `bytes` is one member's data */
        uint32_t next_free; /* free: the next free op */
    };
    const char *custom; /* prefix of the traces that define its algorithm, or NULL */
    uint64_t bytes;     /* custom: the data of the collective */
} sim_op;
/* Every message reads an op. At 72 bytes per op, the transformer of bench-sim is 3 %
 * slower. */
static_assert(sizeof(sim_op) <= 64, "an op fits into a cache line");

/* The state of one member of a chunk. Three arrays follow it in memory. The first has the
 * queue of every phase (uint32_t). The second has the number of messages that have
 * arrived in every ring phase (uint32_t). The third has one bit for every other step,
 * which is set if its message came before it was awaited. */
typedef struct sim_member {
    uint32_t npu;
    uint32_t dataset;
    uint32_t next_op, next_member; /* in the queue it waits in */
    uint8_t phase;
    uint8_t joined, running; /* the rank has reached it; the phase has started */
    uint8_t loud_cycle;      /* packets of this cycle may reduce */
    uint32_t to;             /* ring: receiver */
    uint32_t sent, created, ready;
    uint32_t cycle; /* packets left of this cycle */
    union {
        uint64_t delay;      /* ring, if the network fixes delays: delay of a message */
        uint32_t directions; /* messages by key: bit p = phase p of the member runs
                                downwards */
    };
} sim_member;

typedef struct sim_queue {               /* of one NPU and dimension */
    uint32_t running : 31, starting : 1; /* starting: a SIM_START is scheduled */
    uint32_t head_op, head_member, tail_op, tail_member; /* waiting */
} sim_queue;
typedef struct sim_allocator { /* round robins over the queues of a dimension */
    uint32_t any, first, last;
} sim_allocator;
typedef struct sim_dataset { /* a collective node and its unfinished chunks */
    uint32_t rank, node, left, next_free;
    uint64_t *sizes; /* uneven all-to-all: bytes to every member; owned, else NULL */
} sim_dataset;

typedef struct sim_plan { /* a plan and what it was made for */
    const coll_plan *plan;
    uint64_t bytes, hash, order;
    uint32_t group, involved, directions, trees;
    cluster_coll coll;
    bool silent;
    coll_rooted rooted;
    uint32_t root;
    const char *custom;
    net_price price; /* of a bundle */
    uint32_t stride; /* of a member's block */
    uint32_t pool;   /* where the blocks of its ops come from */
} sim_plan;

typedef struct sim_pool { /* blocks of one size for the members of an op */
    size_t bytes;
    void *spare; /* given back, linked through their first word */
} sim_pool;

/* A collective whose members reach it at different times (coll/bundle.c). */
typedef struct sim_apart {
    des_timer timer;    /* when the members that are present begin without the others */
    uint32_t n_open;    /* parts in flight */
    uint32_t next_free; /* free record: the next free one, + 1 */
    bool has_started;   /* a part has */
    bool is_timed;
} sim_apart;

typedef struct sim_streams {
    table ops_by_name;
    ARRAY(sim_op) ops;
    ARRAY(sim_apart) aparts;
    uint32_t free_apart;      /* + 1; 0 = none */
    map64 patience_by_plan;   /* place in `patience` */
    ARRAY(uint64_t) patience; /* ticks within which members count as simultaneous */
    uint32_t free_op;
    table plans_by_key;
    ARRAY(sim_plan) plans;
    ARRAY(sim_pool) pools;
    ARRAY(sim_dataset) datasets;
    uint32_t free_dataset;
    sim_queue *queues;         /* by NPU, set, dimension, queue */
    uint32_t *first_queue;     /* by NPU */
    sim_allocator *allocators; /* by NPU, dimension */
    uint8_t *trees;            /* by NPU, collective, dimension: next tree */
    uint32_t *world_streams;   /* by NPU: chunks begun, including those of groups */
    uint32_t **group_streams;  /* by group, member */
    uint32_t (*boxes)[CLUSTER_MAX_DIMS]; /* by group: its extent, [0] = 0 if no box */
    uint32_t threshold;                  /* chunks that a queue runs at the same time */
    uint32_t n_levels;                   /* dimensions that have queues, at least one */
} sim_streams;

/* The resource that a type of node kept busy. */
typedef enum sim_busy {
    SIM_BUSY_GPU,
    SIM_BUSY_COMM,
    SIM_BUSY_CPU,
    SIM_BUSY_MEM,
    SIM_BUSY_OTHER,
    SIM_BUSY_ANY,
    SIM_BUSY_GPU_OR_COMM,
    SIM_N_BUSY
} sim_busy;
typedef struct sim_span {
    uint64_t since, total;
    uint32_t n_active;
    bool seen;
} sim_span;

/* Values of sim_rank.waiting above any possible number of parents. */
#define SIM_NODE_DONE UINT32_MAX
#define SIM_NODE_RUNNING (UINT32_MAX - 1)

/* Native rules: ready nodes by lane, first come, first served. */
typedef struct sim_lanes {
    uint32_t *next;             /* by node */
    uint32_t *heads, *tails;    /* by lane; SIM_NONE = no node is ready */
    uint32_t *n_busy;           /* by lane */
    freeset open;               /* lanes that have room and a ready node */
    uint32_t fresh, last_fresh; /* became ready at this instant; a list by node */
} sim_lanes;

/* local.c: the NPU's own memory. */
typedef struct sim_local {
    uint32_t *reads_left; /* by tensor; NULL = the trace names none */
    uint64_t *there;      /* a bit for every tensor */
    uint64_t bytes, peak_bytes;
    uint64_t since; /* time at which `bytes` took its present value */
    bool record;
    ARRAY(halley_memory_level) levels;
} sim_local;

/* The object to which a rank binds a name of its program. */
typedef struct sim_bind {
    uint32_t object; /* group: index + 1; peer: its NPU; root: its place in the group, or
                        SIM_NONE; self: 1 if it is the rank */
    uint32_t place;  /* group: place of the rank in it, or SIM_NONE when it is no member;
                        peer: the NPU at this end */
} sim_bind;

/* A communicator group in the run. Its members are ranks that are simulated. */
typedef struct sim_group {
    int64_t id;
    uint32_t n;              /* members that are simulated */
    const uint32_t *ranks;   /* by place: ranks that are simulated */
    const uint32_t *npus;    /* by place: the member's NPU */
    const uint32_t *n_alike; /* by place: members it represents; NULL = 1 each */
    uint32_t n_members;      /* all members, including those that others represent */
    const uint32_t *members; /* their NPUs */
    uint32_t n_groups;       /* that it represents */
    uint32_t class_id;       /* of its carriers, when folded */
} sim_group;

/* Which events of a rank go into the journal of the run. */
typedef struct sim_rank_journal {
    bool is_on;           /* some do, in addition to its end */
    bool has_all_issues;  /* all issues; else only the first use of each group, and nodes
                             without time */
    uint32_t last_issued; /* index in the trace */
    uint32_t group;       /* of the last collective of a group that it holds; 0 = none */
    uint32_t coll;
} sim_rank_journal;

typedef struct sim_rank {
    const sim_program *program;
    const char *path;      /* of its trace; lent */
    const sim_bind *binds; /* by name */
    const uint32_t *tags;  /* by place of a tag */
    uint32_t npu;          /* the NPU that is simulated */
    uint32_t n_alike;      /* NPUs that it represents */
    uint32_t server;       /* server of the shared memory it uses; MEM_NONE */
    sim_local local;
    sim_lanes lanes;   /* native rules */
    uint32_t *waiting; /* by node: unfinished parents, or one of the marks above */
    freeset ready[SIM_N_SLOTS];
    uint32_t n_ready, n_running, n_done;
    bool busy[SIM_N_SLOTS];
    bool finished;
    bool is_awake; /* native rules: is in the list of ranks that continue at this instant
                    */
    sim_rank_journal journal;
    uint32_t traffic_row; /* row that counted its last communication node */
    uint64_t traffic_key; /* of that row; 0 = it has counted none */
    uint64_t finish, compute, wall;
    sim_span spans[SIM_N_BUSY];
    uint64_t *links; /* as below: a collective's stream, or a receive's sender; + 1 */
    uint64_t *begins, *ends; /* by index in the trace, when recorded; else NULL */
} sim_rank;

/* Warnings about a run; each is reported once. */
typedef enum sim_warning {
    SIM_WARN_HALVING,
    SIM_WARN_TREE,
    SIM_WARN_ACROSS,
    SIM_WARN_TRACES,
    SIM_WARN_UNRECEIVED,
    SIM_WARN_DANGLING,
    SIM_WARN_UNCOUNTED,
    SIM_WARN_SOURCE_UNKNOWN,
    SIM_WARN_RETIMED,
    SIM_WARN_RETIMED_COST,
    SIM_WARN_UNKNOWN_TYPE,
    SIM_WARN_TENSORS,
    SIM_WARN_KINDS,
    SIM_WARN_WRAPPED,
    SIM_N_WARNINGS
} sim_warning;

/* traffic.c: halley_traffic with exact sums. */
typedef struct sim_traffic {
    uint32_t type, coll;
    uint32_t group;    /* + 1; 0 = all ranks */
    uint64_t first_at; /* when the first of them began */
    uint64_t count;
    net_sum bytes, ticks;
    uint32_t n_alike; /* at the end: number of groups that the row represents */
} sim_traffic;

typedef struct sim_custom sim_custom;       /* custom.c */
typedef struct sim_fold sim_fold;           /* fold.h */
typedef struct sim_bus sim_bus;             /* bus.c */
typedef struct sim_interfere sim_interfere; /* interfere.c */
typedef struct sim_symmetry sim_symmetry;   /* symmetry/symmetry.h */

/* A request to a shared memory. It waits until all requests of its instant are known. */
typedef struct sim_asked {
    uint32_t server, place; /* place: of the NPU among those that share it */
    uint32_t rank, node;
    uint64_t bytes;
} sim_asked;

/* Duration of the last reduction, and its size in bytes. */
typedef struct sim_reduced {
    uint64_t bytes, ticks;
    bool is_known;
} sim_reduced;

/* For tests (shuffle.c). */
typedef struct sim_shuffle {
    bool on;
    rng random;
    ARRAY(uint64_t) events; /* of the present instant */
    size_t next;            /* the first that has not been dispatched */
} sim_shuffle;

struct sim {
    des_queue queue;
    const halley_cluster *cluster;
    const cluster_system *system;
    const sim_rules *rules;
    sim_phase_ops phases[CLUSTER_N_ALGOS];
    net *net;
    mem_servers memory;
    uint32_t n_npus;
    uint32_t n_ranks; /* ranks that are simulated: all, or one per symmetry class */
    const uint32_t *class_of; /* by NPU: its simulated rank; NULL = itself */
    sim_shuffle shuffle;
    ARRAY(sim_asked) asked;        /* native rules: requests of this instant */
    const uint32_t *servers_alike; /* by server: how many it represents; NULL = one */
    sim_group *groups;
    uint32_t n_groups;
    uint64_t ticks_per_ns;
    uint64_t endpoint, group_endpoint; /* ticks before a step of a collective */
    sim_reduced reduced;
    sim_calls calls;
    sim_match match;
    sim_streams streams;
    sim_custom *custom;       /* NULL when no collective is custom */
    sim_bus *bus;             /* NULL when there is none */
    sim_interfere *interfere; /* NULL: communication does not slow kernels down */
    sim_fold *fold;           /* NULL: fold.c is not used for this run */
    sim_symmetry *symmetry;   /* NULL: no symmetry was searched for */
    bool runs_all;            /* an attempt with symmetry classes ended with came_apart */
    bool came_apart;  /* members of a collective arrived at different times, which classes
                         cannot represent */
    bool lists_links; /* list links one by one, including equivalent ones */
    char unfolded[256]; /* why every rank is simulated; "" = classes are */
    sim_rank *ranks;
    uint32_t *finishers, n_finished;
    sim_instance instance;
    ARRAY(uint32_t) freed; /* nodes that became ready while others are being issued */
    bool issuing;
    ARRAY(uint32_t) awake; /* ranks that continue once the instant's events are done */
    bool (*flush_network)(net *n); /* NULL: it ignores ends of instants */
    ARRAY(sim_traffic) traffic;
    map64 traffic_by_key; /* type, collective, group -> row */
    arena memory_of_run;
    halley_journal journal_level;
    ARRAY(halley_journal_entry) journal;
    uint64_t n_events;
    uint64_t n_represented; /* events, each counted once per object that it represents */
    uint64_t last; /* last tick that the clock can hold: TICKS_LAST; under ASTRA-sim's
                      rules no limit */
    uint64_t stop; /* ticks at which the run ends; at most `last` */
    bool stopped;
    uint64_t n_nodes, n_ended; /* over all ranks */
    uint32_t warnings;         /* bit i: warning i */
    halley_status status;      /* the first failure inside the loop */
    halley_error *err;
};

/* Record a failure, which ends the loop. For use where no status can be returned. */
void sim_fail(sim *s, halley_status status);
void sim_fail_memory(sim *s);
/* The network model of a run. NULL: its rules do not have this model. */
const net_model *sim_model_find(const halley_cluster *c, const halley_sim_opts *opts);
/* The group of a collective node: index + 1; 0 = all ranks. */
static inline uint32_t sim_node_group(const sim_rank *r, const sim_node *n)
{
    assert(n->a == SIM_NO_NAME || n->a < r->program->n_names);
    return n->a == SIM_NO_NAME ? 0 : r->binds[n->a].object;
}
/* The tick at which an NPU starts. */
uint64_t sim_late_ticks(const sim *s, uint32_t npu);
/* Execute one event. */
void sim_dispatch(sim *s, uint64_t event);

/* bind.c: create all ranks and groups of the run from the instance, without classes. */
halley_status sim_bind_ranks(sim *s);

/* calls.c */
halley_status sim_calls_init(sim *s);
void sim_calls_fini(sim *s);
/* Call `event` on an NPU after `delay` ticks. */
void sim_call_after(sim *s, uint32_t npu, uint64_t delay, uint64_t event);
void sim_calls_run(sim *s, uint32_t npu);

/* graph.c */
void sim_rank_start(sim *s, uint32_t rank);
void sim_node_ended(sim *s, uint32_t rank, uint32_t node);
/* Issue the ready nodes; finish the rank if none is left. */
void sim_rank_go_on(sim *s, uint32_t rank);

/* graph.c: native rules. Shared memories accept the requests of the instant, in the order
 * of the NPUs that share them. */
void sim_memory_serve(sim *s);

/* local.c: a node of a rank with tensors begins or ends; the run is over. */
halley_status sim_local_init(sim *s, sim_rank *r, bool record);
void sim_local_begin(sim *s, sim_rank *r, uint32_t node);
void sim_local_end(sim *s, sim_rank *r, uint32_t node);
void sim_local_finish(sim *s, sim_rank *r);

/* match.c */
void sim_message_send(sim *s, uint32_t from, uint32_t to, uint32_t tag, uint64_t bytes,
                      uint64_t sent);
void sim_message_recv(sim *s, uint32_t from, uint32_t to, uint32_t tag, uint64_t bytes,
                      uint64_t received);
void sim_message_arrived(sim *s, uint32_t transfer);
void sim_handshake_done(sim *s, uint64_t event);
void sim_match_fini(sim_match *m);

/* stream.c */
halley_status sim_streams_init(sim *s);
void sim_streams_fini(sim_streams *t);
void sim_collective_start(sim *s, uint32_t rank, uint32_t node);
void sim_queue_start(sim *s, uint32_t queue);
void sim_phase_ended(sim *s, uint32_t op, uint32_t member);
/* Other members have begun the phase that this member waits for: let it begin. */
void sim_phase_called(sim *s, uint32_t op, uint32_t member);
/* Append a member to the queue of its phase. */
void sim_queue_wait(sim *s, sim_queue *q, uint32_t op, uint32_t member);
/* Start the first chunks of a queue, up to the number that may run. */
void sim_queue_start_first(sim *s, sim_queue *q);
static inline sim_member *sim_member_get(const sim *s, uint32_t op, uint32_t member)
{
    const sim_op *o = &s->streams.ops.at[op];
    assert(op < s->streams.ops.n && member < o->plan->n_members);
    return (sim_member *)(void *)(o->members + (size_t)member * o->stride);
}
static inline uint32_t *sim_member_queues(sim_member *m)
{
    return (uint32_t *)(void *)(m + 1);
}
static inline uint32_t *sim_member_inbox(sim_member *m, const coll_plan *plan)
{
    return sim_member_queues(m) + plan->n_phases;
}
static inline uint64_t *sim_member_early(sim_member *m, const coll_plan *plan)
{
    return (uint64_t *)(void *)((uint8_t *)(m + 1) +
                                ((plan->n_phases * 8 + 7) & ~UINT32_C(7)));
}
/* The phase a step belongs to. */
static inline uint32_t sim_phase_at(const coll_plan *plan, uint32_t step)
{
    uint32_t i = plan->n_phases - 1;
    assert(plan->n_phases > 0 && plan->phases[0].first_step <= step);
    while (plan->phases[i].first_step > step)
        i--;
    return i;
}
/* The tag of a stream's messages. */
uint32_t sim_op_tag(const sim *s, const sim_op *o);
uint32_t sim_member_rank(const sim *s, const sim_op *o, uint32_t member);

/* bundle.c: set kind and bytes of the bundle for a collective of b->n members. */
void sim_bundle_describe(net_bundle *b, uint32_t coll_type, uint64_t amount);
/* collective.c: the basic collective (one of four) that a collective maps to, and its
 * root. */
void sim_coll_describe(cluster_coll *coll, coll_rooted *rooted, uint32_t coll_type);
/* False: it runs step by step. These are collectives over some of the dimensions and, on
 * a list of dimensions, trees whose members continue at different times. */
bool sim_coll_has_form(const sim *s, coll_rooted rooted, uint32_t involved);

/* phases.c: the table of phase operations of the run, and its events. */
void sim_phases_init(sim *s, bool by_key);
void sim_phase_start(sim *s, uint32_t op, uint32_t member);
void sim_packet_arrived(sim *s, uint64_t event);
void sim_packet_received(sim *s, uint64_t event);
void sim_token_fired(sim *s, uint64_t event);
void sim_token_reduce(sim *s, uint64_t event);
/* Ticks to reduce `bytes` in local memory. */
uint64_t sim_reduction(sim *s, uint64_t bytes);
/* A packet enters the endpoint; bus.c explains the flags. */
typedef struct sim_packet {
    uint64_t bytes;
    bool reduces, sends_back, from_npu;
} sim_packet;
void sim_packet_start(sim *s, uint32_t op, uint32_t member, uint32_t k,
                      const sim_packet *packet);

/* bus.c */
halley_status sim_bus_init(sim *s);
void sim_bus_fini(sim *s);
void sim_bus_request(sim *s, uint32_t npu, const sim_packet *packet, uint64_t then);
void sim_bus_step(sim *s, uint64_t event);

/* custom.c */
halley_status sim_custom_init(sim *s);
void sim_custom_fini(sim *s);
/* The traces that define the algorithm of this node, or NULL. Requires s->custom. */
const char *sim_custom_find(const sim *s, cluster_coll coll, uint32_t group,
                            uint32_t rank, uint64_t node_id);
void sim_custom_ended(sim *s, uint64_t event);

/* traffic.c: a communication node begins or ends. */
void sim_traffic_begin(sim *s, uint32_t rank, const sim_node *n);
void sim_traffic_end(sim *s, uint32_t rank, const sim_node *n);
/* Sort the rows by first use, then by type, collective and group. */
void sim_traffic_sort(sim *s);

/* Recording: note how a node is linked to other ranks. */
void sim_record_link(sim *s, uint32_t rank, uint32_t node, uint64_t link);

/* shuffle.c: shuffle a list; pop the next event in random order. */
void sim_shuffle_list(sim *s, uint32_t *list, size_t n);
bool sim_shuffle_pop(sim *s, des_event *out);

/* result.c */
halley_status sim_result_new(halley_result **out, sim *s);

/* wait.c: the queue is empty, but ranks are not done. Writes the error. */
halley_status sim_explain_wait(sim *s);

#endif
