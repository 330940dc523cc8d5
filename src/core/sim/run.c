/*
 * sim/run.c - one run: set it up, then dispatch events until there are none.
 */
#include "sim/run.h"

#include "base/watch.h"
#include "des/ticks.h"
#include "hw/count.h"
#include "sim/fold.h"
#include "sim/interfere.h"
#include "sim/rules.h"
#include "sim/symmetry/symmetry.h"
#include "trace/core/set_alike.h"
#include "trace/core/template.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void sim_fail(sim *s, halley_status status)
{
    assert(status != HALLEY_OK);
    if (s->status == HALLEY_OK)
        s->status = status;
}

void sim_fail_memory(sim *s)
{
    if (s->status == HALLEY_OK)
        s->status = error_nomem(s->err);
}

/* Not inlined: sim_dispatch would need a stack frame, and every event would pay for it.
 */
static __attribute__((noinline)) void take_next_request(sim *s, uint32_t server)
{
    mem_request next;
    if (!mem_next(&s->memory, server, &next))
        return;
    assert(next.npu < s->n_ranks && next.node < s->ranks[next.npu].program->n);
    const uint64_t delay = mem_duration(&s->memory, next.bytes);
    sim_call_after(s, next.npu, delay, sim_event_node(next.npu, next.node));
    sim_call_after(s, next.npu, delay, sim_event_memory(server));
}

static void end_node(sim *s, uint64_t event)
{
    const sim_node_event e = sim_event_read_node(event);
    assert(e.owner < s->n_ranks && e.node < s->ranks[e.owner].program->n);
    sim_node_ended(s, e.owner, e.node);
}

void sim_dispatch(sim *s, uint64_t event)
{
    switch (event & NET_KIND_MASK) {
    case SIM_CALLS:
        sim_calls_run(s, sim_event_read_calls(event));
        break;
    case SIM_ARRIVE:
        sim_packet_arrived(s, event);
        break;
    case SIM_RECEIVED:
        sim_packet_received(s, event);
        break;
    case SIM_TOKEN:
        sim_token_fired(s, event);
        break;
    case SIM_REDUCE:
        sim_token_reduce(s, event);
        break;
    case SIM_NODE:
        end_node(s, event);
        break;
    case SIM_TRANSFER:
        sim_message_arrived(s, sim_event_read_index(event));
        break;
    case SIM_SEND_LATER:
    case SIM_RECV_LATER:
        sim_handshake_done(s, event);
        break;
    case SIM_MEMORY_NEXT:
        take_next_request(s, sim_event_read_memory(event));
        break;
    case SIM_BUS:
        sim_bus_step(s, event);
        break;
    case SIM_CUSTOM:
        sim_custom_ended(s, event);
        break;
    case SIM_START:
        sim_queue_start(s, sim_event_read_index(event));
        break;
    case NET_KIND_ARRIVE:
    case NET_KIND_FREE:
        net_event(s->net, event);
        break;
    default:
        if (event != SIM_EVENT_NONE)
            sim_rank_start(s, sim_event_read_late(event));
        break;
    }
}

static void deliver_message(void *context, uint64_t event)
{
    sim_dispatch(context, event);
}

static void note_network_failure(void *context, halley_status status)
{
    sim_fail(context, status);
}

static void watch_event(void *context, uint32_t npu, uint64_t at, uint64_t event)
{
    sim_fold_note(context, npu, at, event);
}

/* True if the rank is simulated itself; false if another one represents it. */
static bool is_run(const sim *s, uint32_t rank)
{
    return s->fold == NULL || s->fold->representative[rank] == rank;
}

static void note_retiming(sim *s, sim_retime_state state)
{
    if (state == SIM_RETIME_UNKNOWN)
        s->warnings |= 1u << SIM_WARN_SOURCE_UNKNOWN;
    else if (state == SIM_RETIME_MEASURED)
        s->warnings |= 1u << SIM_WARN_RETIMED;
    else if (state == SIM_RETIME_COST)
        s->warnings |= 1u << SIM_WARN_RETIMED_COST;
}

/* Where the ranks come from; one of the two is NULL. */
typedef struct sim_source {
    const halley_trace_set *traces;
    const trace_template *roles;
} sim_source;

static uint32_t count_source_ranks(const sim_source *from)
{
    return from->roles != NULL ? from->roles->n_ranks
                               : halley_trace_set_count(from->traces);
}

/* Collect the warnings about the programs. */
static void note_programs(sim *s)
{
    for (size_t i = 0; i < s->instance.programs.n; i++) {
        const sim_program *p = s->instance.programs.at[i];
        s->queue.wrapped |= p->wrapped;
        s->warnings |= p->dangling ? 1u << SIM_WARN_DANGLING : 0;
        s->warnings |= p->has_uncounted ? 1u << SIM_WARN_UNCOUNTED : 0;
        s->warnings |= p->has_unknown_types ? 1u << SIM_WARN_UNKNOWN_TYPE : 0;
        s->warnings |= p->tensors.has_bad_sizes ? 1u << SIM_WARN_TENSORS : 0;
        note_retiming(s, p->retime);
    }
    if (s->cluster->n_kinds > 1 && !s->system->modelled && !s->system->roofline)
        s->warnings |= 1u << SIM_WARN_KINDS;
}

static halley_status compile_programs(sim *s, const sim_source *from,
                                      const halley_sim_opts *opts)
{
    const sim_instance_opts o = {.cluster = s->cluster,
                                 .run = opts,
                                 .representative =
                                     s->fold == NULL ? NULL : s->fold->representative,
                                 .ticks_per_s = 1e9 * (double)s->ticks_per_ns,
                                 .share = s->rules->can_fold && s->fold == NULL};
    if (from->roles != NULL)
        TRY(sim_instance_init_roles(&s->instance, from->roles, &o, s->err));
    else
        TRY(sim_instance_init(&s->instance, from->traces, &o, s->err));
    note_programs(s);
    return HALLEY_OK;
}

void sim_record_link(sim *s, uint32_t rank, uint32_t node, uint64_t link)
{
    const sim_rank *r = &s->ranks[rank];
    assert(rank < s->n_ranks && node < r->program->n && link < UINT64_MAX);
    if (r->links != NULL)
        r->links[r->program->nodes[node].trace_index] = link + 1;
}

/* Allocate begin and end of every node; UINT64_MAX = it never began or ended. */
static halley_status init_record(sim *s, sim_rank *r)
{
    const size_t n = r->program->n;
    r->begins = mem_array(n * 3, sizeof *r->begins);
    if (r->begins == NULL)
        return error_nomem(s->err);
    r->ends = r->begins + n;
    r->links = r->begins + 2 * n;
    memset(r->begins, 0xff, n * 2 * sizeof *r->begins);
    memset(r->links, 0, n * sizeof *r->links);
    return HALLEY_OK;
}

static halley_status init_rank(sim *s, sim_rank *r)
{
    const sim_program *p = r->program;
    TRY(s->rules->init_rank(s, r));
    r->waiting = arena_array(&s->memory_of_run, p->n, sizeof *r->waiting);
    if (r->waiting == NULL)
        return error_nomem(s->err);
    for (uint32_t i = 0; i < p->nodes[p->n].first_child; i++)
        r->waiting[p->children[i]]++;
    assert(r->n_ready == 0 && r->n_running == 0 && r->n_done == 0);
    return HALLEY_OK;
}

static halley_status init_network(sim *s, const net_model *model,
                                  const halley_sim_opts *opts)
{
    net_options o = {.ticks_per_s = 1e9 * (double)s->ticks_per_ns,
                     .deliver = deliver_message,
                     .context = s,
                     .keep_heat = opts->heat,
                     .folds = true,
                     .fail = note_network_failure,
                     .err = s->err};
    o.ops = opts->network_ops;
    o.ops_context = opts->network_context;
    if (s->fold != NULL)
        o.folding = (net_folding){s->fold->representative, s->fold->n_alike, watch_event};
    TRY(net_new(&s->net, model, s->cluster, &s->queue, &o, s->err));
    if (s->rules->flush == NULL)
        return HALLEY_OK;
    s->flush_network = model->flush;
    s->queue.flush = s->rules->flush;
    s->queue.flush_context = s;
    return HALLEY_OK;
}

const net_model *sim_model_find(const halley_cluster *c, const halley_sim_opts *opts)
{
    if (opts->network_ops != NULL)
        return c->astra ? NULL : &net_model_own;
    const uint32_t model = opts->network == HALLEY_NETWORK_AS_CLUSTER
                               ? (uint32_t)c->model
                               : (uint32_t)opts->network - HALLEY_NETWORK_FREE;
    const char *word = model < 3 ? sim_rules_get(c)->networks[model] : NULL;
    return word == NULL ? NULL : net_model_find(word);
}

/* Shuffling is allowed only where ranks could be folded, because there the order of
 * events does not matter. */
static halley_status check_shuffle(const sim *s, const halley_sim_opts *opts)
{
    halley_sim_opts folds = *opts;
    char reason[sizeof s->unfolded];
    folds.no_fold = false;
    if (!s->shuffle.on || s->n_npus < 2 ||
        sim_symmetry_is_possible(s, &folds, reason, sizeof reason))
        return HALLEY_OK;
    return error_set(s->err, HALLEY_EINVAL,
                     "shuffle: the order of events may count here: %s", reason);
}

/* Simulate one rank per symmetry class if possible, else all ranks. */
static halley_status fold_run(sim *s, const halley_sim_opts *opts)
{
    TRY(check_shuffle(s, opts));
    if (s->fold != NULL)
        return sim_bind_ranks(s);
    if (s->runs_all) {
        snprintf(s->unfolded, sizeof s->unfolded,
                 "members of a direct collective come to it at different times");
    } else if (sim_symmetry_is_possible(s, opts, s->unfolded, sizeof s->unfolded)) {
        TRY(sim_symmetry_new(&s->symmetry, s));
        snprintf(s->unfolded, sizeof s->unfolded, "%s", s->symmetry->reason);
        if (s->unfolded[0] == 0)
            return sim_bind_classes(s, s->symmetry);
    }
    if (s->net->model->fold != NULL)
        TRY(s->net->model->fold(s->net, NULL, s->err));
    return sim_bind_ranks(s);
}

static halley_status set_up_run(sim *s, const sim_source *from,
                                const halley_sim_opts *opts)
{
    const halley_cluster *c = s->cluster;
    if (opts->network_ops == NULL || c->n_npus == 0 || c->n_npus > CLUSTER_MAX_NPUS)
        TRY(hw_structure_check(c, s->err));
    const net_model *model = sim_model_find(c, opts);
    if (model == NULL && opts->network_ops != NULL)
        return error_set(s->err, HALLEY_EINVAL,
                         "network model %s: a model of one's own needs rules: native",
                         opts->network_ops->name);
    if (model == NULL)
        return error_set(s->err, HALLEY_EINVAL,
                         "network model %u does not belong to the %s rules",
                         (unsigned)opts->network, s->rules->name);
    TRY(s->rules->check_run(s, count_source_ranks(from), model));
    TRY(init_network(s, model, opts));
    TRY(mem_servers_init(&s->memory, c, s->ticks_per_ns, s->err));
    s->queue.wrapped |= s->system->endpoint_ns > TICKS_LONGEST / s->ticks_per_ns ||
                        s->system->group_endpoint_ns > TICKS_LONGEST / s->ticks_per_ns;
    s->endpoint = s->system->endpoint_ns * s->ticks_per_ns;
    s->group_endpoint = s->system->group_endpoint_ns * s->ticks_per_ns;
    TRY(compile_programs(s, from, opts));
    assert(s->instance.n == s->n_npus && s->instance.programs.n > 0);
    TRY(fold_run(s, opts));
    assert(s->n_ranks > 0 && s->n_ranks <= s->n_npus);
    sim_phases_init(s, s->system->rendezvous || s->rules->has_own_directions(s));
    TRY(sim_calls_init(s));
    TRY(sim_streams_init(s));
    TRY(sim_bus_init(s));
    TRY(sim_interfere_init(s));
    TRY(sim_custom_init(s));
    if (s->fold != NULL && !sim_fold_allows(s)) {
        sim_fold_give_up(s);
        return s->status;
    }
    for (uint32_t i = 0; i < s->n_ranks; i++) {
        if (!is_run(s, i))
            continue;
        TRY(init_rank(s, &s->ranks[i]));
        TRY(sim_local_init(s, &s->ranks[i], opts->record));
        s->n_nodes += s->ranks[i].program->n;
    }
    for (uint32_t i = 0; opts->record && i < s->n_ranks; i++)
        TRY(init_record(s, &s->ranks[i]));
    return HALLEY_OK;
}

uint64_t sim_late_ticks(const sim *s, uint32_t npu)
{
    assert(npu < s->n_npus);
    const double *late_s = s->system->late_s;
    return late_s == NULL
               ? 0
               : ticks_from(round(late_s[npu] * 1e9 * (double)s->ticks_per_ns));
}

/* All ranks begin. */
static halley_status start_ranks(sim *s)
{
    for (uint32_t i = 0; i < s->n_ranks && s->status == HALLEY_OK; i++) {
        if (!is_run(s, i))
            continue;
        const uint64_t late = sim_late_ticks(s, s->ranks[i].npu);
        if (late > 0) {
            des_queue_push(&s->queue, late, sim_event_late(i));
            continue;
        }
        sim_rank_start(s, i);
        if (s->status == HALLEY_OK)
            TRY(s->rules->check_start(s, i));
    }
    return s->status;
}

/* The rank that a queue of chunks belongs to. */
static uint32_t find_queue_rank(const sim *s, uint32_t queue)
{
    uint32_t low = 0, high = s->n_ranks;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (s->streams.first_queue[middle] <= queue)
            low = middle;
        else
            high = middle;
    }
    assert(s->streams.first_queue[low] <= queue);
    return low;
}

/* The number of events that this event represents in a run of all ranks. Events of the
 * network as a whole count as one. Not inlined, to keep registers free for the loop. */
static __attribute__((noinline)) uint64_t count_represented(const sim *s, uint64_t event)
{
    switch (event & NET_KIND_MASK) {
    case SIM_CALLS:
        return s->ranks[sim_event_read_calls(event)].n_alike;
    case SIM_NODE:
        return s->ranks[sim_event_read_node(event).owner].n_alike;
    case SIM_MEMORY_NEXT:
        return s->servers_alike[sim_event_read_memory(event)];
    case SIM_START:
        return s->ranks[find_queue_rank(s, sim_event_read_index(event))].n_alike;
    case SIM_TRANSFER: {
        const uint64_t sent = s->match.transfers.at[sim_event_read_index(event)].sent;
        assert(sim_event_read_index(event) < s->match.transfers.n);
        return s->ranks[sim_event_read_node(sent).owner].n_alike;
    }
    case SIM_ARRIVE: {
        const uint32_t group = s->streams.ops.at[sim_event_read_packet(event).op].group;
        assert(group <= s->n_groups);
        return group == 0 ? 1 : s->groups[group - 1].n_groups;
    }
    default:
        return 1;
    }
}

enum { LOOK_EVERY = 1 << 12 }; /* events between two calls of the watcher */

static halley_status refuse_long_run(sim *s)
{
    return error_set(s->err, HALLEY_ELIMIT,
                     "the run takes more than 53 days, which the clock of picoseconds "
                     "does not hold; look for a wrong duration, size or bandwidth");
}

/* Handle time steps that 64 bits cannot hold: native rules refuse the run; ASTRA-sim's
 * rules wrap around as ASTRA-sim does. */
static halley_status check_wrapped(sim *s)
{
    if (!s->queue.wrapped && !s->memory.wrapped)
        return HALLEY_OK;
    s->warnings |= 1u << SIM_WARN_WRAPPED;
    return s->rules->wraps ? HALLEY_OK : refuse_long_run(s);
}

/* The clock has passed the last tick of the run. */
static halley_status end_run(sim *s)
{
    assert(s->queue.now > s->stop && s->stop <= s->last);
    if (s->stop == s->last)
        return refuse_long_run(s);
    s->stopped = true;
    s->queue.now = s->stop;
    return HALLEY_OK;
}

/* The event loop. It is instantiated twice, so that the usual one does not test
 * `shuffled`. */
static inline __attribute__((always_inline)) halley_status run_loop(sim *s, watcher *look,
                                                                    const bool shuffled)
{
    des_event e;
    const uint64_t stop = s->stop;
    const bool has_classes = s->class_of != NULL;
    while (s->status == HALLEY_OK && !s->queue.failed &&
           (shuffled ? sim_shuffle_pop(s, &e) : des_queue_pop(&s->queue, &e))) {
        assert(e.at == s->queue.now);
        if (s->status != HALLEY_OK) /* failed at the end of the previous instant */
            break;
        if (e.at > stop) {
            TRY(end_run(s));
            break;
        }
        if (has_classes)
            s->n_represented += count_represented(s, e.event);
        sim_dispatch(s, e.event);
        if (++s->n_events % LOOK_EVERY == 0 && !watcher_at(look, s->n_ended))
            return watcher_error(look, s->err);
    }
    return HALLEY_OK;
}

static halley_status run_events(sim *s, const halley_sim_opts *opts)
{
    watcher look;
    watcher_init(&look, opts->watch, "simulating", "nodes", (double)s->n_nodes);
    if (watcher_is_cancelled(&look))
        return watcher_error(&look, s->err);
    TRY(start_ranks(s));
    TRY(s->shuffle.on ? run_loop(s, &look, true) : run_loop(s, &look, false));
    if (s->class_of == NULL)
        s->n_represented = s->n_events;
    if (s->queue.failed && s->status == HALLEY_OK)
        return error_set(s->err, HALLEY_ENOMEM,
                         "the event queue ran out of memory or of time at %llu ns",
                         (unsigned long long)(s->queue.now / s->ticks_per_ns));
    return s->status == HALLEY_OK ? check_wrapped(s) : s->status;
}

/* The clock has stopped: close all open spans, so that times add up to it. */
static void stop_run(sim *s)
{
    for (uint32_t i = 0; i < s->n_ranks; i++) {
        sim_rank *r = &s->ranks[i];
        if (r->finished)
            continue;
        assert(s->n_finished < s->n_ranks);
        r->finish = r->wall = s->queue.now;
        s->finishers[s->n_finished++] = i;
        for (uint32_t k = 0; r->begins != NULL && k < r->program->n; k++)
            if (r->begins[k] != UINT64_MAX && r->ends[k] == UINT64_MAX)
                r->ends[k] = s->queue.now;
        for (int k = 0; k < SIM_N_BUSY; k++)
            if (r->spans[k].n_active > 0)
                r->spans[k].total += s->queue.now - r->spans[k].since;
    }
    assert(s->n_finished == s->n_ranks);
}

static void free_records(sim_rank *r)
{
    free(r->begins);
    array_fini(&r->local.levels);
}

static void free_run(sim *s)
{
    des_queue_fini(&s->queue);
    net_free(s->net);
    mem_servers_fini(&s->memory);
    sim_calls_fini(s);
    sim_match_fini(&s->match);
    sim_streams_fini(&s->streams);
    sim_bus_fini(s);
    sim_interfere_fini(s);
    sim_custom_fini(s);
    sim_instance_fini(&s->instance);
    sim_symmetry_free(s->symmetry);
    for (uint32_t i = 0; s->ranks != NULL && i < s->n_ranks; i++)
        free_records(&s->ranks[i]);
    free(s->ranks);
    free(s->finishers);
    array_fini(&s->freed);
    array_fini(&s->awake);
    array_fini(&s->asked);
    array_fini(&s->shuffle.events);
    array_fini(&s->traffic);
    array_fini(&s->journal);
    map64_fini(&s->traffic_by_key);
    arena_fini(&s->memory_of_run);
}

static halley_status finish_run(halley_result **out, sim *s)
{
    for (uint32_t i = 0; i < s->n_ranks; i++)
        if (s->ranks[i].local.reads_left != NULL)
            sim_local_finish(s, &s->ranks[i]);
    TRY(s->status);
    if (s->fold != NULL)
        TRY(sim_fold_spread(s));
    if (s->stopped)
        stop_run(s);
    else
        TRY(sim_explain_wait(s));
    assert(s->stopped || s->n_ended == s->n_nodes);
    assert(s->stopped || s->freed.n == 0);
    assert(s->stopped || s->asked.n == 0); /* no memory has a request left */
    return sim_result_new(out, s);
}

static halley_status run_once(halley_result **out, bool *apart, const sim_source *from,
                              const halley_cluster *cluster, const halley_sim_opts *opts,
                              sim_fold *fold, halley_error *err)
{
    sim s = {.cluster = cluster,
             .system = &cluster->system,
             .n_npus = cluster->n_npus,
             .n_ranks = cluster->n_npus,
             .rules = sim_rules_get(cluster),
             .ticks_per_ns = sim_rules_get(cluster)->ticks_per_ns,
             .fold = fold,
             .runs_all = *apart,
             .lists_links = opts->all_links,
             .journal_level = opts->journal,
             .err = err};
    s.shuffle =
        (sim_shuffle){.on = opts->shuffle != 0, .random = rng_seed(opts->shuffle)};
    s.match.free_channel = s.match.free_waiter = SIM_NONE;
    s.match.free_transfer = s.match.free_handshake = SIM_NONE;
    s.last = s.rules->wraps ? UINT64_MAX : TICKS_LAST;
    const double stop = opts->stop_s * 1e9 * (double)s.ticks_per_ns;
    s.stop = opts->stop_s > 0 && stop < (double)s.last ? ticks_from(stop) : s.last;
    halley_status status = set_up_run(&s, from, opts);
    if (status == HALLEY_OK)
        status = run_events(&s, opts);
    if (status == HALLEY_OK)
        status = finish_run(out, &s);
    *apart = s.came_apart;
    free_run(&s);
    return status;
}

/* Simulate symmetry classes first. If members of a collective arrive at different times,
 * repeat the run with all ranks. */
static halley_status run_simulation(halley_result **out, const sim_source *from,
                                    const halley_cluster *cluster,
                                    const halley_sim_opts *opts, sim_fold *fold,
                                    halley_error *err)
{
    bool apart = false;
    const halley_status status = run_once(out, &apart, from, cluster, opts, fold, err);
    if (!apart)
        return status;
    assert(status != HALLEY_OK);
    if (err != NULL)
        *err = (halley_error){0};
    return run_once(out, &apart, from, cluster, opts, fold, err);
}

/* Simulate one rank per class of twins. *done is false if all ranks must be simulated. */
static halley_status run_folded(halley_result **out, bool *done,
                                const halley_trace_set *traces,
                                const halley_cluster *cluster,
                                const halley_sim_opts *opts, const trace_twins *twins,
                                halley_error *err)
{
    sim_fold *fold;
    halley_error own = {0};
    *done = false;
    TRY(sim_fold_new(&fold, cluster, twins, err));
    if (fold == NULL)
        return HALLEY_OK;
    const halley_status status =
        run_simulation(out, &(sim_source){traces, NULL}, cluster, opts, fold, &own);
    sim_fold_free(fold, cluster->n_npus);
    *done = status == HALLEY_OK || status == HALLEY_ENOMEM || status == HALLEY_ECANCELED;
    if (*done && status != HALLEY_OK)
        *err = own;
    return *done ? status : HALLEY_OK;
}

halley_status sim_run(halley_result **out, const halley_trace_set *traces,
                      const halley_cluster *cluster, const halley_sim_opts *opts,
                      const trace_twins *twins, halley_error *err)
{
    bool done = false;
    halley_error own = {0};
    err = err == NULL ? &own : err;
    if (twins != NULL && sim_fold_is_possible(cluster, opts))
        TRY(run_folded(out, &done, traces, cluster, opts, twins, err));
    return done ? HALLEY_OK
                : run_simulation(out, &(sim_source){traces, NULL}, cluster, opts, NULL,
                                 err);
}

halley_status sim_run_roles(halley_result **out, const trace_template *roles,
                            const halley_cluster *cluster, const halley_sim_opts *opts,
                            halley_error *err)
{
    const halley_sim_opts defaults = {0};
    halley_error own = {0};
    return run_simulation(out, &(sim_source){NULL, roles}, cluster,
                          opts == NULL ? &defaults : opts, NULL,
                          err == NULL ? &own : err);
}

halley_status halley_sim_run(halley_result **out, const halley_trace_set *traces,
                             const halley_cluster *cluster, const halley_sim_opts *opts,
                             halley_error *err)
{
    const halley_sim_opts defaults = {0};
    opts = opts == NULL ? &defaults : opts;
    if (!sim_fold_is_possible(cluster, opts) || !trace_set_is_whole(traces))
        return sim_run(out, traces, cluster, opts, NULL, err);
    trace_twins twins;
    TRY(trace_twins_init(&twins, traces, 1, err));
    const halley_status status = sim_run(out, traces, cluster, opts, &twins, err);
    trace_twins_fini(&twins);
    return status;
}
