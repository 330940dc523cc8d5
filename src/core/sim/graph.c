/*
 * sim/graph.c - a rank executes its graph.
 *
 * A node is ready when all nodes that it depends on have ended. At the start and after
 * every end, the ready nodes are examined in ascending order of id. Each is issued if the
 * slot it occupies is idle. ASTRA-sim has one CPU slot, one compute slot and one
 * communication slot; receives need none. A node may become ready during this pass,
 * because another node took no time; it waits for the next end. ASTRA-sim copies and
 * sorts the whole set every time. Here the smallest ready node of every slot is available
 * directly.
 */
#include "base/hash.h"
#include "base/rng.h"
#include "des/ticks.h"
#include "sim/coll/stdset.h"
#include "sim/interfere.h"
#include "sim/rules.h"

static sim_busy get_busy_kind(const sim_node *n)
{
    switch (n->type) {
    case HALLEY_NODE_COMP:
        return n->flags & SIM_NODE_CPU ? SIM_BUSY_CPU : SIM_BUSY_GPU;
    case HALLEY_NODE_SEND:
    case HALLEY_NODE_RECV:
    case HALLEY_NODE_COLL:
        return SIM_BUSY_COMM;
    case HALLEY_NODE_MEM_LOAD:
    case HALLEY_NODE_MEM_STORE:
        return SIM_BUSY_MEM;
    default:
        return SIM_BUSY_OTHER;
    }
}

static void begin_span(sim_span *span, uint64_t now)
{
    span->seen = true;
    if (span->n_active++ == 0)
        span->since = now;
}

static void end_span(sim_span *span, uint64_t now)
{
    assert(span->n_active > 0 && span->seen);
    if (--span->n_active == 0)
        span->total += now - span->since;
}

static bool is_gpu_or_comm(sim_busy busy)
{
    return busy == SIM_BUSY_GPU || busy == SIM_BUSY_COMM;
}

/* A rank with compute nodes only has one kind of busy time and no group to communicate
 * in. */
static bool only_computes(const sim_program *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (p->nodes[i].type != HALLEY_NODE_COMP || p->nodes[i].flags & SIM_NODE_SKIP)
            return false;
    return true;
}

/*
 * ASTRA-sim's log depends on which node is first in a hash table of the issued nodes. If
 * no two nodes share a bucket, that is the last node issued. This is so if the ids count
 * up from 0 or 1. For other ids, the order of all issues matters.
 */
static void init_journal(sim_rank_journal *j, halley_journal level, const sim_program *p)
{
    *j = (sim_rank_journal){0};
    if (level == HALLEY_JOURNAL_NONE || p->n == 0)
        return;
    const bool have_own_buckets =
        sim_program_id(p, p->n - 1) < stdset_count_buckets(p->n);
    assert(p->n == 1 || sim_program_id(p, p->n - 2) <= sim_program_id(p, p->n - 1));
    j->is_on = level == HALLEY_JOURNAL_NODES || !only_computes(p);
    j->has_all_issues = level == HALLEY_JOURNAL_NODES || !have_own_buckets;
}

/* Append an entry to the journal of the run. */
static void add_to_journal(sim *s, const sim_rank *r, const sim_node *n,
                           halley_journal_kind kind)
{
    const bool of_group = n->type == HALLEY_NODE_COLL && sim_node_group(r, n) != 0;
    const halley_journal_entry entry = {.at = s->queue.now,
                                        .rank = (uint32_t)(r - s->ranks),
                                        .node = n->trace_index,
                                        .group = of_group ? sim_node_group(r, n) : 0,
                                        .kind = (uint16_t)kind,
                                        .coll = n->coll};
    assert(s->class_of == NULL && s->fold == NULL);
    if (!array_push(&s->journal, entry))
        sim_fail_memory(s);
}

static void journal_issue(sim *s, sim_rank *r, const sim_node *n)
{
    sim_rank_journal *const j = &r->journal;
    assert(j->is_on);
    j->last_issued = n->trace_index;
    if (!j->has_all_issues) {
        const uint32_t group = n->type == HALLEY_NODE_COLL ? sim_node_group(r, n) : 0;
        if (group == 0 || (j->group == group && j->coll == n->coll))
            return;
        j->group = group;
        j->coll = n->coll;
    }
    add_to_journal(s, r, n, HALLEY_JOURNAL_ISSUE);
}

static void journal_end(sim *s, const sim_rank *r, const sim_node *n)
{
    assert(r->journal.is_on);
    if (n->flags & SIM_NODE_SKIP)
        add_to_journal(s, r, n, HALLEY_JOURNAL_SKIP);
    else if (s->journal_level == HALLEY_JOURNAL_NODES)
        add_to_journal(s, r, n, HALLEY_JOURNAL_END);
}

static void note_begin(sim *s, sim_rank *r, const sim_node *n)
{
    const sim_busy busy = get_busy_kind(n);
    begin_span(&r->spans[busy], s->queue.now);
    begin_span(&r->spans[SIM_BUSY_ANY], s->queue.now);
    if (is_gpu_or_comm(busy))
        begin_span(&r->spans[SIM_BUSY_GPU_OR_COMM], s->queue.now);
    if (busy == SIM_BUSY_COMM && s->interfere != NULL)
        sim_interfere_change(s, (uint32_t)(r - s->ranks), true);
    if (busy == SIM_BUSY_COMM)
        sim_traffic_begin(s, (uint32_t)(r - s->ranks), n);
    if (r->begins != NULL)
        r->begins[n->trace_index] = s->queue.now;
    if (r->local.reads_left != NULL)
        sim_local_begin(s, r, (uint32_t)(n - r->program->nodes));
}

static void note_end(sim *s, sim_rank *r, const sim_node *n)
{
    const sim_busy busy = get_busy_kind(n);
    end_span(&r->spans[busy], s->queue.now);
    end_span(&r->spans[SIM_BUSY_ANY], s->queue.now);
    if (is_gpu_or_comm(busy))
        end_span(&r->spans[SIM_BUSY_GPU_OR_COMM], s->queue.now);
    if (busy == SIM_BUSY_COMM && s->interfere != NULL &&
        r->spans[SIM_BUSY_COMM].n_active == 0)
        sim_interfere_change(s, (uint32_t)(r - s->ranks), false);
    if (busy == SIM_BUSY_GPU && s->interfere != NULL)
        r->compute += sim_interfere_end(s, (uint32_t)(r - s->ranks),
                                        (uint32_t)(n - r->program->nodes));
    if (busy == SIM_BUSY_COMM)
        sim_traffic_end(s, (uint32_t)(r - s->ranks), n);
    if (r->ends != NULL)
        r->ends[n->trace_index] = s->queue.now;
    if (r->local.reads_left != NULL)
        sim_local_end(s, r, (uint32_t)(n - r->program->nodes));
}

/* End a node: free its slot and notify its children. */
static void retire_node(sim *s, sim_rank *r, uint32_t node)
{
    const sim_node *n = &r->program->nodes[node];
    assert(r->waiting[node] == SIM_NODE_RUNNING && r->n_running > 0);
    s->rules->vacate(r, n->slot);
    note_end(s, r, n);
    if (r->journal.is_on)
        journal_end(s, r, n);
    r->wall = s->queue.now;
    r->waiting[node] = SIM_NODE_DONE;
    r->n_running--;
    r->n_done++;
    s->n_ended++;
    for (uint32_t i = n[0].first_child; i < n[1].first_child; i++) {
        const uint32_t child = r->program->children[i];
        assert(child < r->program->n && r->waiting[child] < SIM_NODE_RUNNING);
        if (--r->waiting[child] == 0)
            s->rules->free_child(s, r, child);
    }
}

static void fail_node(sim *s, uint32_t rank, uint32_t node, const char *sentence)
{
    sim_fail(
        s, error_set(s->err, HALLEY_EINVAL, "rank %u: %s", s->ranks[rank].npu, sentence));
    error_at_file(s->err, s->ranks[rank].path);
    error_at_node(s->err, sim_program_id(s->ranks[rank].program, node));
}

/* The memory starts the request, or queues it after earlier ones. */
static void ask_memory(sim *s, uint32_t server, uint32_t rank, uint32_t node,
                       uint64_t bytes)
{
    bool starts;
    const mem_request request = {bytes, rank, node, MEM_NONE};
    if (mem_ask(&s->memory, server, &request, &starts) != HALLEY_OK) {
        sim_fail_memory(s);
        return;
    }
    if (!starts)
        return;
    const uint64_t delay = mem_duration(&s->memory, bytes);
    sim_call_after(s, rank, delay, sim_event_node(rank, node));
    sim_call_after(s, rank, delay, sim_event_memory(server));
}

static int compare_asked(const void *a, const void *b)
{
    const sim_asked *x = a, *y = b;
    if (x->server != y->server)
        return x->server < y->server ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

void sim_memory_serve(sim *s)
{
    assert(s->asked.n > 0 && s->memory.n_servers > 0);
    qsort(s->asked.at, s->asked.n, sizeof *s->asked.at, compare_asked);
    for (size_t i = 0; i < s->asked.n && s->status == HALLEY_OK; i++) {
        const sim_asked *a = &s->asked.at[i];
        ask_memory(s, a->server, a->rank, a->node, a->bytes);
    }
    s->asked.n = 0;
}

static void issue_memory(sim *s, uint32_t rank, uint32_t node, uint64_t bytes)
{
    const sim_rank *r = &s->ranks[rank];
    if (s->memory.kind == CLUSTER_MEMORY_NONE) {
        fail_node(s, rank, node,
                  "the node loads from or stores to remote memory, but the cluster has "
                  "none; add remote-memory to its file");
        return;
    }
    if (r->server == MEM_NONE) {
        const uint64_t delay =
            s->memory.kind == CLUSTER_MEMORY_HIERARCHICAL
                ? mem_pool_delay(&s->memory, r->npu, bytes, s->queue.now)
                : mem_duration(&s->memory, bytes);
        sim_call_after(s, rank, delay, sim_event_node(rank, node));
    } else if (s->rules->flush == NULL) {
        ask_memory(s, r->server, rank, node, bytes);
    } else if (!array_push(&s->asked,
                           ((sim_asked){r->server, r->npu % s->memory.npus_per_server,
                                        rank, node, bytes}))) {
        sim_fail_memory(s);
    }
}

static void issue_message(sim *s, uint32_t rank, uint32_t node, const sim_node *n)
{
    const uint64_t then = sim_event_node(rank, node);
    const bool sends = n->type == HALLEY_NODE_SEND;
    const sim_rank *r = &s->ranks[rank];
    const sim_bind *peer = &r->binds[n->a];
    const uint32_t tag = r->tags[n->b];
    assert(n->a < r->program->n_names && n->b < r->program->n_tags);
    if (n->self != SIM_NO_NAME && r->binds[n->self].object == 0) {
        fail_node(s, rank, node,
                  sends ? "comm_src of the send names another rank"
                        : "comm_dst of the receive names another rank");
        return;
    }
    if (peer->object == peer->place) {
        fail_node(s, rank, node, "the rank sends a message to itself");
        return;
    }
    if (sends)
        sim_message_send(s, peer->place, peer->object, tag, n->amount, then);
    else
        sim_message_recv(s, peer->object, peer->place, tag, n->amount, then);
}

/* A compute node's time on this rank, with slow ranks and jitter. It is the same in every
 * run. */
static uint64_t get_compute_ticks(sim *s, uint32_t rank, uint32_t node, uint64_t ticks)
{
    const cluster_system *system = s->system;
    const uint32_t npu = s->ranks[rank].npu;
    double factor = system->slow == NULL ? 1 : system->slow[npu];
    if (system->jitter > 0) {
        rng r = rng_seed(hash_u64(system->seed) ^ hash_u64((uint64_t)npu << 32 | node));
        factor *= 1 + system->jitter * rng_normal(&r);
    }
    if (factor == 1)
        return ticks;
    return factor <= 0 ? 0 : des_queue_ticks(&s->queue, (double)ticks * factor);
}

/* True if communication may slow the node down. */
static bool is_kernel(const sim_node *n)
{
    return n->type == HALLEY_NODE_COMP && (n->flags & SIM_NODE_TIMED) != 0 &&
           (n->flags & SIM_NODE_CPU) == 0;
}

static void issue_node(sim *s, uint32_t rank, uint32_t node)
{
    sim_rank *r = &s->ranks[rank];
    const sim_node *n = &r->program->nodes[node];
    assert(node < r->program->n && r->waiting[node] == 0);
    r->waiting[node] = SIM_NODE_RUNNING;
    r->n_running++;
    s->rules->occupy(r, n->slot);
    note_begin(s, r, n);
    if (r->journal.is_on)
        journal_issue(s, r, n);
    if (n->flags & SIM_NODE_SKIP) {
        retire_node(s, r, node);
        return;
    }
    if (n->flags & SIM_NODE_TIMED) {
        const bool computes = n->type == HALLEY_NODE_COMP || s->system->replay_only;
        const uint64_t ticks =
            computes ? get_compute_ticks(s, rank, node, n->amount) : n->amount;
        if (s->interfere != NULL && is_kernel(n)) {
            sim_interfere_begin(s, rank, node, ticks);
            return;
        }
        if (computes && !(n->flags & SIM_NODE_CPU))
            r->compute += ticks;
        sim_call_after(s, rank, ticks, sim_event_node(rank, node));
        return;
    }
    if (n->type == HALLEY_NODE_COLL)
        sim_collective_start(s, rank, node);
    else if (n->type == HALLEY_NODE_SEND || n->type == HALLEY_NODE_RECV)
        issue_message(s, rank, node, n);
    else
        issue_memory(s, rank, node, n->amount);
}

static void issue_ready_nodes(sim *s, uint32_t rank)
{
    sim_rank *r = &s->ranks[rank];
    if (r->n_ready == 0)
        return;
    assert(!s->issuing && s->freed.n == 0);
    s->issuing = true;
    while (r->n_ready > 0 && s->status == HALLEY_OK) {
        const uint32_t node = s->rules->take_ready(r);
        if (node == UINT32_MAX)
            break;
        r->n_ready--;
        issue_node(s, rank, node);
    }
    s->issuing = false;
    for (size_t i = 0; i < s->freed.n; i++)
        s->rules->make_ready(r, s->freed.at[i]);
    s->freed.n = 0;
}

static void check_finished(sim *s, uint32_t rank)
{
    sim_rank *r = &s->ranks[rank];
    if (r->n_ready != 0 || r->n_running != 0 || r->finished)
        return;
    assert(s->n_finished < s->n_ranks);
    r->finished = true;
    r->finish = s->queue.now;
    s->finishers[s->n_finished++] = rank;
    if (s->journal_level != HALLEY_JOURNAL_NONE &&
        !array_push(&s->journal, (halley_journal_entry){.at = s->queue.now,
                                                        .rank = rank,
                                                        .node = r->journal.last_issued,
                                                        .kind = HALLEY_JOURNAL_FINISH}))
        sim_fail_memory(s);
}

void sim_rank_go_on(sim *s, uint32_t rank)
{
    issue_ready_nodes(s, rank);
    check_finished(s, rank);
}

void sim_rank_start(sim *s, uint32_t rank)
{
    sim_rank *r = &s->ranks[rank];
    init_journal(&r->journal, s->journal_level, r->program);
    for (uint32_t node = 0; node < r->program->n; node++)
        if (r->waiting[node] == 0)
            s->rules->make_ready(r, node);
    sim_rank_go_on(s, rank);
}

void sim_node_ended(sim *s, uint32_t rank, uint32_t node)
{
    retire_node(s, &s->ranks[rank], node);
    s->rules->look_again(s, rank);
}
