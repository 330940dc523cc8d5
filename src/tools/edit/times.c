/*
 * Simulated time on three clusters. They differ in what affects the time of a trace:
 * A100 nodes without contention, H100 nodes whose links queue, and TPU v5e with compute
 * by the roofline. The clusters are made from presets for the number of ranks. The
 * presets have only the memory of the NPUs, but loads and stores of traces need a second
 * memory. So each NPU gets its own share of host memory. A shared pool would make ranks
 * queue, and independent collectives could start in different orders.
 */
#include "edit/times.h"

#include "base/error.h"
#include "base/pool.h"
#include "base/str.h"
#include "halley/sim.h"
#include "halley/trace_stats.h"
#include "hw/cluster.h"
#include "hw/count.h"
#include "hw/groups.h"
#include "sim/run.h"
#include "trace/core/distinct.h"
#include "trace/core/roles.h"
#include "trace/core/slots.h"

#include <assert.h>

static const struct {
    const char *cluster;
    hw_network_model model;
    bool by_work;
    double memory_Bps; /* of the host memory, per NPU */
} references[HALLEY_N_REFERENCES] = {
    {"dgx-a100", HW_MODEL_FREE, false, 25e9},
    {"dgx-h100", HW_MODEL_QUEUE, false, 50e9},
    {"tpu-v5e-pod", HW_MODEL_FREE, true, 25e9},
};

const char *halley_reference_name(uint32_t i)
{
    return references[i].cluster;
}

halley_status synth_groups_of(trace_groups *out, const halley_trace_set *set,
                              const char *groups_path, halley_error *err)
{
    if (groups_path)
        return trace_groups_load(out, groups_path, err);
    return trace_groups_collect(out, set, err);
}

typedef enum timing_attr {
    IS_CPU_OP,
    NUM_OPS,
    TENSOR_SIZE,
    DURATION_NS,
    N_ATTRS
} timing_attr;
static const char *const timing_attrs[N_ATTRS] = {"is_cpu_op", "num_ops", "tensor_size",
                                                  "duration_ns"};

static bool has_number(uint64_t *out, const trace_slots *slots, uint32_t node,
                       timing_attr name)
{
    assert(node < slots->store->n);
    halley_attr attr;
    return trace_slots_find(&attr, slots, node, name) &&
           trace_kind_is_integer(attr.kind) && halley_attr_to_u64(&attr, out);
}

static bool is_cpu(const trace_slots *slots, uint32_t node)
{
    halley_attr attr;
    return trace_slots_find(&attr, slots, node, IS_CPU_OP) &&
           (attr.kind == HALLEY_ATTR_BOOL || trace_kind_is_integer(attr.kind)) &&
           attr.bits != 0;
}

/* False: no memory. */
static bool look_at(synth_timing *t, const halley_trace *trace)
{
    trace_slots slots;
    bool fine = trace_slots_init(&slots, trace, timing_attrs, N_ATTRS);
    for (uint32_t i = 0; fine && i < halley_trace_count(trace); i++) {
        halley_attr ns;
        uint64_t value;
        if (halley_node_type_of(trace, i) != HALLEY_NODE_COMP)
            continue;
        t->has_durations = t->has_durations || halley_node_duration_us(trace, i) > 0 ||
                           trace_slots_find(&ns, &slots, i, DURATION_NS);
        if (!is_cpu(&slots, i))
            t->has_work = t->has_work && has_number(&value, &slots, i, NUM_OPS) &&
                          has_number(&value, &slots, i, TENSOR_SIZE);
    }
    trace_slots_fini(&slots);
    return fine;
}

halley_status synth_timing_of(synth_timing *out, const halley_trace_set *set,
                              const trace_twins *twins, halley_error *err)
{
    synth_timing t = {.has_work = true};
    const halley_trace *last = NULL;
    for (uint32_t r = 0; r < halley_trace_set_count(set); r++) {
        const halley_trace *const trace = halley_trace_set_get(set, r);
        if ((twins ? twins->first[r] == r : trace != last) && !look_at(&t, trace))
            return error_nomem(err);
        last = trace;
    }
    *out = t;
    return HALLEY_OK;
}

/* Adds the groups of the traces. Their names must be numbers, as in cluster files. */
static halley_status add_groups(halley_cluster *c, const trace_groups *groups,
                                halley_error *err)
{
    TRY(hw_groups_begin(c, groups->list.n, err));
    for (size_t g = 0; g < groups->list.n; g++) {
        const trace_group *const group = &groups->list.at[g];
        int64_t id;
        if (!str_to_i64(group->name, &id) || id <= 0 || id > INT32_MAX)
            return error_set(err, HALLEY_EINVAL,
                             "a group's name must be a positive number, is \"%.*s\"",
                             STR_ARG(group->name));
        TRY(hw_groups_add(c, id, group->ranks, group->n_ranks, err));
    }
    return hw_groups_end(c, err);
}

/* Fills a reference cluster for any number of ranks. Its nodes may be smaller than
 * usual: their size must divide that number. */
static halley_status fill_reference(halley_cluster *c, uint32_t i, uint32_t n,
                                    const trace_groups *groups, const synth_timing *how,
                                    halley_error *err)
{
    assert(i < HALLEY_N_REFERENCES && n > 0);
    const bool roofline = how->has_work && (references[i].by_work || !how->has_durations);
    TRY(hw_count_set(c, n, HW_COUNT_EVENLY, err));
    c->model = references[i].model;
    c->remote_given = true;
    c->remote = (cluster_memory){.kind = CLUSTER_MEMORY_PER_NPU,
                                 .latency_ns = 1000,
                                 .bytes_per_ns = references[i].memory_Bps / 1e9,
                                 .npus_per_node = c->nodes.npus};
    TRY(halley_cluster_set_compute(
        c, roofline ? HALLEY_COMPUTE_ROOFLINE : HALLEY_COMPUTE_DURATION, err));
    return add_groups(c, groups, err);
}

static halley_status make(halley_cluster **out, uint32_t i, uint32_t n,
                          const trace_groups *groups, const synth_timing *how,
                          halley_error *err)
{
    assert(i < HALLEY_N_REFERENCES);
    halley_cluster *c;
    TRY(halley_cluster_load(&c, references[i].cluster, err));
    const halley_status status = fill_reference(c, i, n, groups, how, err);
    if (status == HALLEY_OK)
        *out = c;
    else
        halley_cluster_free(c);
    return status;
}

static halley_status run(double *seconds, const synth_timed *what,
                         const halley_cluster *cluster, halley_error *err)
{
    assert(seconds != NULL);
    const halley_sim_opts opts = {.times_only = true,
                                  .network = HALLEY_NETWORK_AS_CLUSTER};
    halley_result *result;
    TRY(sim_run(&result, what->set, cluster, &opts, what->twins, err));
    *seconds = halley_result_wall_s(result);
    halley_result_free(result);
    return HALLEY_OK;
}

halley_status synth_time(double *seconds, uint32_t i, const synth_timed *what,
                         halley_error *err)
{
    assert(i < HALLEY_N_REFERENCES);
    halley_cluster *cluster = NULL;
    TRY(make(&cluster, i, halley_trace_set_count(what->set), what->groups, what->how,
             err));
    const halley_status status = run(seconds, what, cluster, err);
    halley_cluster_free(cluster);
    return status;
}

typedef struct timing_job {
    double *seconds;
    const synth_timed *what;
} timing_job;

static halley_status time_on(void *context, size_t i, uint32_t worker, halley_error *err)
{
    (void)worker;
    const timing_job *const j = context;
    return synth_time(&j->seconds[i], (uint32_t)i, j->what, err);
}

halley_status synth_times(double seconds[HALLEY_N_REFERENCES],
                          const halley_trace_set *set, const trace_groups *groups,
                          const synth_timing *how, halley_error *err)
{
    assert(halley_trace_set_count(set) > 0);
    trace_twins twins;
    TRY(trace_twins_init(&twins, set, 0, err));
    timing_job j = {seconds, &(synth_timed){set, groups, how, &twins}};
    const halley_status status = pool_run(0, HALLEY_N_REFERENCES, time_on, &j, err);
    trace_twins_fini(&twins);
    return status;
}

halley_status synth_critical_s(double *out, const halley_trace_set *set,
                               halley_error *err)
{
    halley_set_stats *stats;
    TRY(halley_set_stats_new(&stats, set, 1, err));
    *out = (double)stats->total->critical_us * 1e-6;
    halley_set_stats_free(stats);
    return HALLEY_OK;
}
