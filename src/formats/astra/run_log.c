/*
 * astra/run_log.c - the log lines of a run. Before the run, ASTRA-sim reports the
 * logical rings of NPU 0, one per collective and dimension. During the run it reports the
 * ring of a group when a member first uses it, and every NPU that finishes, with its
 * statistics. After the run it reports that it exits. With log files it also writes what
 * nodes do, at level DEBUG.
 */
#include "astra/log.h"
#include "astra/memory.h"
#include "base/error.h"
#include "base/number/number.h"
#include "halley/astra.h"
#include "sim/coll/stdset.h"
#include "sim/engine.h"

#include <inttypes.h>
#include <string.h>

#define RING_LOGGER "system::topology::RingTopology"

/* The nodes of a rank as ASTRA-sim's statistics hold them: in a hash table by id. Its
 * order determines which of two lines comes first, so ranks that write only one line need
 * no table. If the journal omits issues, each node has its own bucket, and the node
 * issued last is the first of the table. */
typedef struct node_table {
    bool is_kept;
    ARRAY(uint64_t) ids; /* in the order of issue */
    ARRAY(uint32_t) next;
    ARRAY(uint32_t) nodes;
    stdset set;
} node_table;

typedef struct run_log {
    astra_log log;
    const halley_result *result;
    const halley_trace_set *traces;
    const halley_cluster *cluster;
    node_table *tables; /* by rank */
    uint64_t ticks_per_ns;
    map64 rings;            /* rank, group, collective that have used a ring */
    astra_memory *memories; /* by rank; NULL = memory is not tracked */
    halley_error *err;
} run_log;

halley_journal halley_astra_journal(const halley_cluster *cluster, bool has_folder)
{
    const cluster_system *s = &cluster->system;
    if (s->track_memory || (has_folder && (s->trace_nodes || s->roofline)))
        return HALLEY_JOURNAL_NODES;
    return HALLEY_JOURNAL_LOG;
}

static void tell_rings(run_log *w, cluster_coll coll)
{
    const cluster_coll_impl *impl = &w->cluster->system.colls[coll];
    uint64_t offset = 1;
    for (uint32_t d = 0; d < impl->n; d++) {
        const bool flat = impl->dims[d].flat;
        const uint32_t n = flat ? w->cluster->n_npus : w->cluster->dims[d].n;
        if (impl->dims[d].algo != CLUSTER_ALGO_TREE)
            astra_log_write(&w->log, ASTRA_INFO, RING_LOGGER,
                            "ring of node 0, id: 0 dimension: local total nodes in ring: "
                            "%u index in ring: 0 offset: %" PRIu64
                            " total nodes in ring: %u",
                            n, flat ? 1 : offset, n);
        offset *= n;
    }
}

/* Report the ring of a group when a member first uses it for a collective. */
static bool tell_group_ring(run_log *w, const halley_journal_entry *e)
{
    const cluster_group *g = &w->cluster->groups[e->group - 1];
    uint32_t value = 1, index = 0;
    bool fresh;
    assert(e->group >= 1 && e->group <= w->cluster->n_groups);
    if (g->n >= w->cluster->n_npus || e->coll == HALLEY_COLL_BROADCAST)
        return true;
    const uint64_t key =
        ((uint64_t)e->rank * (w->cluster->n_groups + 1) + e->group) * 64 + e->coll;
    if (!map64_put(&w->rings, key, &value, &fresh))
        return false;
    if (!fresh)
        return true;
    while (index < g->n && g->ranks[index] != e->rank)
        index++;
    astra_log_write(&w->log, ASTRA_INFO, RING_LOGGER,
                    "custom ring, id: %u, dimension: local total nodes in ring: %u "
                    "index in ring: %u total nodes in ring %u",
                    e->rank, g->n, index, g->n);
    return true;
}

static bool note_issue(run_log *w, const halley_journal_entry *e)
{
    node_table *const t = &w->tables[e->rank];
    assert(e->rank < halley_result_ranks(w->result));
    if (!t->is_kept)
        return true;
    const uint64_t id = halley_node_id(halley_trace_set_get(w->traces, e->rank), e->node);
    if (!array_push(&t->ids, id) || !array_push(&t->next, STDSET_END) ||
        !array_push(&t->nodes, e->node))
        return false;
    if (t->ids.n == 1)
        stdset_init(&t->set, t->ids.at, t->next.at);
    t->set.keys = t->ids.at;
    t->set.next = t->next.at;
    return stdset_add(&t->set, (uint32_t)t->ids.n - 1);
}

/* Statistics are listed by type of node; the first node of the table has the first type.
 */
static bool is_compute_first(const run_log *w, uint32_t rank, uint32_t last_issued)
{
    const halley_trace *const trace = halley_trace_set_get(w->traces, rank);
    const node_table *const t = &w->tables[rank];
    if (!t->is_kept)
        return false;
    const bool has_all = t->ids.n == halley_trace_count(trace);
    assert(!has_all || t->set.first < t->nodes.n);
    return halley_node_type_of(trace, has_all ? t->nodes.at[t->set.first]
                                              : last_issued) == HALLEY_NODE_COMP;
}

static void free_table(node_table *t)
{
    stdset_fini(&t->set);
    array_fini(&t->ids);
    array_fini(&t->next);
    array_fini(&t->nodes);
}

static void tell_node(run_log *w, const halley_journal_entry *e, const char *what)
{
    const halley_trace *trace = halley_trace_set_get(w->traces, e->rank);
    const halley_bytes name = halley_node_name(trace, e->node);
    astra_log_write(&w->log, ASTRA_DEBUG, "workload",
                    "%s,sys->id=%u, tick=%" PRIu64 ", node->id=%" PRIu64
                    ", node->name=%.*s, node->type=%u",
                    what, e->rank, e->at / w->ticks_per_ns,
                    halley_node_id(trace, e->node), (int)name.n, name.at,
                    halley_node_type_of(trace, e->node));
}

static double get_count(const halley_trace *trace, uint32_t node, const char *name)
{
    halley_attr attr;
    uint64_t value = 0;
    if (halley_node_find_attr(&attr, trace, node, name))
        halley_attr_to_u64(&attr, &value);
    return (double)value;
}

/* A number as {fmt} writes it: shortest, without ".0". */
static number_text write_plain(double value)
{
    number_text text = number_repr(value);
    const size_t n = strlen(text.at);
    if (n > 2 && strcmp(text.at + n - 2, ".0") == 0)
        text.at[n - 2] = '\0';
    return text;
}

static void tell_roofline(run_log *w, const halley_journal_entry *e)
{
    const cluster_system *s = &w->cluster->system;
    const halley_trace *trace = halley_trace_set_get(w->traces, e->rank);
    const double ops = get_count(trace, e->node, HALLEY_ATTR_NAME_NUM_OPS);
    const double bytes = get_count(trace, e->node, HALLEY_ATTR_NAME_TENSOR_SIZE);
    if (halley_node_type_of(trace, e->node) != HALLEY_NODE_COMP || bytes == 0 ||
        s->replay_only || get_count(trace, e->node, HALLEY_ATTR_NAME_IS_CPU_OP) != 0)
        return;
    const double intensity = ops / bytes;
    const double by_memory = s->mem_Bps * intensity;
    const double perf = by_memory < s->peak_flops ? by_memory : s->peak_flops;
    astra_log_write(&w->log, ASTRA_DEBUG, "workload",
                    "operation_intensity=%s, perf=%s, elapsed_time=%s "
                    "compute_utilization=%s memory_utilization=%s tensor_size=%s "
                    "num_ops=%s",
                    write_plain(intensity).at, write_plain(perf).at,
                    write_plain(ops / perf).at, write_plain(perf / s->peak_flops).at,
                    write_plain(perf / intensity / s->mem_Bps).at, write_plain(bytes).at,
                    write_plain(ops).at);
}

static void tell_statistics(run_log *w, uint32_t k, uint32_t last_issued,
                            const halley_rank_result *r)
{
    static const char logger[] = "statistics";
    astra_log *const log = &w->log;
    astra_log_write(log, ASTRA_INFO, logger, "sys[%u]. Post statistics processing end.",
                    k);
    astra_log_write(log, ASTRA_INFO, logger, "sys[%u], Wall time: %" PRIu64, k,
                    r->wall / w->ticks_per_ns);
    const bool compute_first = is_compute_first(w, k, last_issued);
    for (int i = 0; i < 2; i++) {
        const bool compute = (i == 0) == compute_first;
        if (compute ? r->has_gpu : r->has_comm)
            astra_log_write(log, ASTRA_INFO, logger, "sys[%u], %s time: %" PRIu64, k,
                            compute ? "GPU" : "Comm",
                            (compute ? r->gpu : r->comm) / w->ticks_per_ns);
    }
    if (r->overlap > 0)
        astra_log_write(log, ASTRA_INFO, logger,
                        "sys[%u], Total compute-communication overlap: %" PRIu64, k,
                        r->overlap / w->ticks_per_ns);
    if (!halley_result_has_roofline(w->result))
        return;
    astra_log_write(log, ASTRA_INFO, logger, "sys[%u], Compute bound percentage: %s%%", k,
                    number_fixed(r->compute_bound * 100, 3).at);
    astra_log_write(log, ASTRA_INFO, logger, "sys[%u], Average compute utilization: %s%%",
                    k, number_fixed(r->compute_use * 100, 3).at);
    astra_log_write(log, ASTRA_INFO, logger, "sys[%u], Average memory utilization: %s%%",
                    k, number_fixed(r->memory_use * 100, 3).at);
    astra_log_write(log, ASTRA_INFO, logger, "sys[%u], Average operation intensity: %s",
                    k, number_fixed(r->intensity, 3).at);
}

/* ASTRA-sim counts 1024 B as a KB, and a count of bytes is a float. */
static void tell_peak(run_log *w, uint32_t k, uint64_t bytes)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    double value = (double)(float)bytes;
    int unit = 0;
    for (uint64_t left = bytes; left >= 1024 && unit < 4; left /= 1024, unit++)
        value /= 1024;
    astra_log_write(&w->log, ASTRA_INFO, "workload", "sys[%u] peak memory usage: %s %s",
                    k, number_fixed(value, 2).at, units[unit]);
}

static halley_status tell_memory(run_log *w, uint32_t k)
{
    const char *const prefix = w->cluster->system.memory_trace;
    uint64_t peak_bytes;
    if (w->memories == NULL)
        return HALLEY_OK;
    TRY(astra_memory_save(&peak_bytes, &w->memories[k],
                          prefix == NULL ? "local_mem_trace" : prefix, w->err));
    tell_peak(w, k, peak_bytes);
    astra_memory_fini(&w->memories[k]);
    return HALLEY_OK;
}

static halley_status tell_finish(run_log *w, uint32_t k, uint32_t last_issued)
{
    const halley_rank_result r = halley_result_rank(w->result, k);
    astra_log_write(&w->log, ASTRA_INFO, "workload",
                    "sys[%u] finished, %" PRIu64 " cycles, exposed communication %" PRIu64
                    " cycles.",
                    k, r.finish / w->ticks_per_ns, r.exposed / w->ticks_per_ns);
    astra_log_write(&w->log, ASTRA_INFO, "statistics",
                    "sys[%u]. Post statistics processing start.", k);
    if (r.has_cpu || r.has_memory || r.has_other) {
        /* ASTRA-sim's statistics cannot handle these; its report ends here */
        astra_log_write(&w->log, ASTRA_CRITICAL, "system",
                        "warning! a callable is removed before call Only GPU and COMM "
                        "types are supported for overlap extraction");
        return HALLEY_OK;
    }
    tell_statistics(w, k, last_issued, &r);
    free_table(&w->tables[k]);
    return tell_memory(w, k);
}

static halley_status tell_issue(run_log *w, const halley_journal_entry *e)
{
    if (!note_issue(w, e))
        return error_nomem(w->err);
    if (w->cluster->system.trace_nodes)
        tell_node(w, e, "issue");
    if (w->cluster->system.roofline && astra_log_has_files(&w->log))
        tell_roofline(w, e);
    if (w->memories != NULL)
        astra_memory_begin(&w->memories[e->rank], e->node, e->at / w->ticks_per_ns);
    return e->group == 0 || tell_group_ring(w, e) ? HALLEY_OK : error_nomem(w->err);
}

static halley_status tell_end(run_log *w, const halley_journal_entry *e)
{
    if (w->cluster->system.trace_nodes || e->kind == HALLEY_JOURNAL_SKIP)
        tell_node(w, e, "callback");
    if (w->memories == NULL)
        return HALLEY_OK;
    return astra_memory_end(&w->memories[e->rank], e->node, e->at / w->ticks_per_ns,
                            w->err);
}

static halley_status tell_entry(run_log *w, const halley_journal_entry *e)
{
    switch (e->kind) {
    case HALLEY_JOURNAL_ISSUE:
        return tell_issue(w, e);
    case HALLEY_JOURNAL_SKIP:
    case HALLEY_JOURNAL_END:
        return tell_end(w, e);
    case HALLEY_JOURNAL_FINISH:
        break;
    }
    return tell_finish(w, e->rank, e->node);
}

static halley_status init_memories(run_log *w)
{
    const uint32_t n = halley_result_ranks(w->result);
    if (!w->cluster->system.track_memory)
        return HALLEY_OK;
    w->memories = mem_array_zero(n, sizeof *w->memories);
    if (w->memories == NULL)
        return error_nomem(w->err);
    for (uint32_t i = 0; i < n; i++)
        TRY(astra_memory_init(&w->memories[i], halley_trace_set_get(w->traces, i), i,
                              w->err));
    return HALLEY_OK;
}

static halley_status tell_run(run_log *w)
{
    const halley_journal_entry *journal;
    const size_t n = halley_result_journal(&journal, w->result);
    w->tables = mem_array_zero(halley_result_ranks(w->result), sizeof *w->tables);
    if (w->tables == NULL)
        return error_nomem(w->err);
    for (uint32_t k = 0; k < halley_result_ranks(w->result); k++) {
        const halley_rank_result r = halley_result_rank(w->result, k);
        w->tables[k].is_kept = r.has_gpu && r.has_comm;
    }
    TRY(init_memories(w));
    tell_rings(w, CLUSTER_ALL_REDUCE);
    tell_rings(w, CLUSTER_REDUCE_SCATTER);
    tell_rings(w, CLUSTER_ALL_GATHER);
    tell_rings(w, CLUSTER_ALL_TO_ALL);
    for (size_t i = 0; i < n; i++)
        TRY(tell_entry(w, &journal[i]));
    astra_log_write(&w->log, ASTRA_WARNING, "system", "Exiting");
    return HALLEY_OK;
}

halley_status halley_astra_log_write(FILE *to, const halley_result *result,
                                     const halley_trace_set *traces,
                                     const halley_cluster *cluster, const char *folder,
                                     halley_error *err)
{
    run_log w = {.result = result, .traces = traces, .cluster = cluster, .err = err};
    w.ticks_per_ns = (uint64_t)(halley_result_ticks_per_s(result) / 1e9);
    assert(w.ticks_per_ns >= 1);
    TRY(astra_log_open(&w.log, to, folder, err));
    const halley_status status = tell_run(&w);
    for (uint32_t i = 0; w.memories != NULL && i < halley_result_ranks(result); i++)
        astra_memory_fini(&w.memories[i]);
    for (uint32_t i = 0; w.tables != NULL && i < halley_result_ranks(result); i++)
        free_table(&w.tables[i]);
    free(w.memories);
    free(w.tables);
    map64_fini(&w.rings);
    const halley_status closed =
        astra_log_close(&w.log, status == HALLEY_OK ? err : NULL);
    return status != HALLEY_OK ? status : closed;
}
