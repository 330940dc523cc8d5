/* sim/result.c - collects the results of a run and gives access to them. */
#include "sim/result.h"

#include "base/number/number.h"
#include "sim/fold.h"
#include "sim/rules.h"
#include "sim/symmetry/symmetry.h"

#include <stdio.h>
#include <string.h>

static const char *const warning_texts[SIM_N_WARNINGS] = {
    [SIM_WARN_HALVING] =
        "halving-doubling all-gather over a number of members that is not a power of "
        "two: it leaves members out, so its time is not meaningful",
    [SIM_WARN_TREE] = "a double binary tree is used for a collective other than "
                      "all-reduce; it is simulated as an all-reduce of all the data",
    [SIM_WARN_ACROSS] = "messages between NPUs that differ in several dimensions pay for "
                        "the first of these dimensions only",
    [SIM_WARN_TRACES] = "there are traces of more ranks than the network has NPUs; the "
                        "extra ones are ignored",
    [SIM_WARN_UNRECEIVED] = "messages were sent that no rank received",
    [SIM_WARN_DANGLING] = "nodes depend on nodes that are not in the trace; those "
                          "dependencies are ignored ('halley trace check' names them)",
    [SIM_WARN_KINDS] =
        "the cluster has several kinds of NPU, and compute nodes keep their "
        "recorded times on all of them; --compute cost times them by kind",
    [SIM_WARN_UNCOUNTED] =
        "compute nodes without num_ops and tensor_size keep their recorded time",
    [SIM_WARN_SOURCE_UNKNOWN] =
        "the device of the recording is not known, so kernels keep their recorded time; "
        "name it with --recorded-on",
    [SIM_WARN_UNKNOWN_TYPE] = "nodes of types that halley does not know take their "
                              "recorded duration",
    [SIM_WARN_TENSORS] = "lists of tensors without readable sizes are left out of the "
                         "memory statistics",
    [SIM_WARN_WRAPPED] = "times beyond what 64 bits hold wrapped around, as they do in "
                         "ASTRA-sim; the results are not meaningful",
    [SIM_WARN_RETIMED] = "kernels recorded on another device are re-timed by ratios "
                         "measured for their classes; expect about 10 % error",
    [SIM_WARN_RETIMED_COST] = "kernels recorded on another device are re-timed by ratios "
                              "of the cost model; expect about 20 % error",
};

static void read_rank(halley_rank_result *to, const sim_rank *r)
{
    const sim_program *p = r->program;
    const sim_span *spans = r->spans;
    const double ticks = (double)(p->compute_ticks + 1); /* never zero, as in ASTRA-sim */
    *to = (halley_rank_result){
        .finish = r->finish,
        .compute = r->compute,
        .exposed = r->finish - r->compute,
        .wall = r->wall,
        .gpu = spans[SIM_BUSY_GPU].total,
        .comm = spans[SIM_BUSY_COMM].total,
        .cpu = spans[SIM_BUSY_CPU].total,
        .memory = spans[SIM_BUSY_MEM].total,
        .busy = spans[SIM_BUSY_ANY].total,
        .bare_comm = spans[SIM_BUSY_GPU_OR_COMM].total - spans[SIM_BUSY_GPU].total,
        .has_gpu = spans[SIM_BUSY_GPU].seen,
        .has_comm = spans[SIM_BUSY_COMM].seen,
        .has_cpu = spans[SIM_BUSY_CPU].seen,
        .has_memory = spans[SIM_BUSY_MEM].seen,
        .has_other = spans[SIM_BUSY_OTHER].seen,
        .compute_bound = (double)p->compute_bound_ticks / ticks,
        .compute_use = p->compute_use / ticks,
        .memory_use = p->memory_use / ticks,
        .intensity = p->intensity / ticks,
        .has_local = r->local.reads_left != NULL,
        .local_peak_bytes = r->local.peak_bytes,
    };
    assert(r->n_alike > 0 && r->n_done <= p->n);
    if (to->has_gpu && to->has_comm)
        to->overlap = to->gpu + to->comm - to->wall;
}

static void note_unreceived(sim *s)
{
    for (size_t i = 0; i < s->match.channels.n; i++)
        if (s->match.channels.at[i].n_early > 0)
            s->warnings |= 1u << SIM_WARN_UNRECEIVED;
}

/* The latest end of a rank. */
static uint64_t get_last_finish(const sim *s)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < s->n_ranks; i++)
        last = s->ranks[i].finish > last ? s->ranks[i].finish : last;
    return last;
}

/* The parts of the network: dimensions, or classes of links. */
static bool read_network_parts(halley_result *r, const sim *s)
{
    const double seconds = (double)get_last_finish(s) / r->ticks_per_s;
    net_part_use part;
    for (uint32_t i = 0; net_describe_part(&part, s->net, i); i++) {
        const double most = seconds * part.capacity_Bps;
        assert(part.bytes >= 0 && part.capacity_Bps >= 0);
        char *name = arena_printf(&r->memory, "%s", part.name);
        if (name == NULL ||
            !array_push(&r->parts,
                        (halley_dim_result){.topology = name,
                                            .n = part.n,
                                            .bw_Bps = part.bw_Bps,
                                            .messages = part.n_messages,
                                            .bytes = part.bytes,
                                            .use = most > 0 ? part.bytes / most : 0}))
            return false;
    }
    return true;
}

static int compare_links(const void *a, const void *b)
{
    const net_link_use *x = a, *y = b;
    assert(x->bw_Bps > 0 && y->bw_Bps > 0);
    const double use_x = x->wire_bytes / x->bw_Bps, use_y = y->wire_bytes / y->bw_Bps;
    if (use_x != use_y)
        return use_x > use_y ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Warn about a link that would have carried more than its capacity, because the network
 * model has no contention. */
static bool note_overload(halley_result *r, const sim *s)
{
    const double seconds = (double)get_last_finish(s) / r->ticks_per_s;
    if (r->links.links.n == 0 || !(seconds > 0))
        return true;
    const net_link_use *l = &r->links.links.at[0];
    assert(l->bw_Bps > 0 && l->wire_bytes >= 0);
    const double use = l->wire_bytes / (l->bw_Bps * seconds);
    if (use <= 1 + 1e-9)
        return true;
    char *text =
        arena_printf(&r->memory,
                     "link %s is used %s times over: network model %s lets messages "
                     "pass each other; use --network-model flow",
                     l->name, number_digits(use, 3).at, s->net->model->name);
    return text != NULL && array_push(&r->remarks, text);
}

/* Report the factors by which kernels were slowed down. */
static bool note_interference(halley_result *r, const sim *s)
{
    const double *f = s->system->interference, *h = s->system->network_interference;
    if (s->interfere == NULL)
        return true;
    char *text =
        h[CLUSTER_KERNEL_MATMUL] == 0 && h[CLUSTER_KERNEL_ATTENTION] == 0 &&
                h[CLUSTER_KERNEL_MEMORY] == 0
            ? ""
            : arena_printf(&r->memory,
                           "; while a kernel runs on a member, a collective has less of "
                           "its rate alone: by %s %% next to matmuls, %s %% next to "
                           "attention, %s %% next to memory-bound kernels",
                           number_digits(100 * h[CLUSTER_KERNEL_MATMUL], 4).at,
                           number_digits(100 * h[CLUSTER_KERNEL_ATTENTION], 4).at,
                           number_digits(100 * h[CLUSTER_KERNEL_MEMORY], 4).at);
    if (text == NULL)
        return false;
    text = arena_printf(
        &r->memory,
        "while an NPU communicates, its kernels take longer by stated factors: matmuls "
        "%s, attention %s, memory-bound kernels %s times%s",
        number_digits(1 + f[CLUSTER_KERNEL_MATMUL], 4).at,
        number_digits(1 + f[CLUSTER_KERNEL_ATTENTION], 4).at,
        number_digits(1 + f[CLUSTER_KERNEL_MEMORY], 4).at, text);
    return text != NULL && array_push(&r->remarks, text);
}

enum { MOST_LISTED_LINKS = 4096 }; /* most links that are listed one by one */

static halley_status read_links(halley_result *r, sim *s)
{
    r->links.every =
        s->lists_links || (s->net->model->count_links != NULL &&
                           s->net->model->count_links(s->net) <= MOST_LISTED_LINKS);
    uint32_t *class_of = NULL;
    if (s->class_of != NULL && r->links.every) {
        const uint32_t n = s->net->model->count_links(s->net);
        class_of = mem_array(n, sizeof *class_of);
        if (class_of == NULL)
            return error_nomem(s->err);
        memset(class_of, 0xff, n * sizeof *class_of);
        assert(s->symmetry->graph.n_links <= n);
        for (uint32_t i = 0; i < s->symmetry->graph.n_links; i++)
            class_of[s->symmetry->links[i]] = s->symmetry->partition.links.of[i];
    }
    r->links.class_of = class_of;
    const bool listed = net_list_links(&r->links, s->net);
    r->links.class_of = NULL;
    free(class_of);
    if (!listed)
        return error_nomem(s->err);
    if (r->links.links.n > 1)
        qsort(r->links.links.at, r->links.links.n, sizeof *r->links.links.at,
              compare_links);
    if (!note_overload(r, s) || !note_interference(r, s))
        return error_nomem(s->err);
    return s->stopped ? HALLEY_OK : net_certify(s->net, s->err);
}

static halley_traffic read_traffic(const sim *s, const sim_traffic *t)
{
    const cluster_group *g = t->group == 0 ? NULL : &s->instance.groups[t->group - 1];
    assert(t->group <= s->instance.n_groups && t->count > 0);
    assert(s->stopped || s->rules->wraps || t->ticks >= 0); /* each begin has its end */
    return (halley_traffic){.type = t->type,
                            .coll = t->coll,
                            .group = g == NULL ? 0 : g->id,
                            .n_members = g == NULL ? s->n_npus : g->n,
                            .count = t->count,
                            .bytes = (double)t->bytes,
                            .ticks = (double)t->ticks,
                            .n_alike = t->n_alike};
}

enum { MOST_TRAFFIC_ROWS = 1 << 16 };

/* Replace the row of a class of groups by one row per group, or by the row of its first
 * group if there would be too many rows. Afterwards `group` is a group of the job. */
static bool expand_row(sim *s, size_t i, bool whole)
{
    const sim_symmetry *y = s->symmetry;
    sim_traffic row = s->traffic.at[i];
    const sim_group *g = &s->groups[row.group - 1];
    const uint32_t first = y->partition.carriers.first[g->class_id];
    assert(row.group > 0 && row.group <= s->n_groups && first < y->n_groups);
    s->traffic.at[i].group = y->groups.at[first];
    s->traffic.at[i].n_alike = whole ? 1 : g->n_groups;
    for (uint32_t c = first + 1; whole && c < y->n_groups; c++) {
        row.group = y->groups.at[c];
        row.n_alike = 1;
        if (y->partition.carriers.of[c] == g->class_id && !array_push(&s->traffic, row))
            return false;
    }
    return true;
}

static halley_status read_all_traffic(halley_result *r, sim *s)
{
    const size_t n_rows = s->traffic.n;
    uint64_t n = 0;
    for (size_t i = 0; i < n_rows; i++) {
        sim_traffic *t = &s->traffic.at[i];
        t->n_alike = 1;
        n += t->group == 0 ? 1 : s->groups[t->group - 1].n_groups;
    }
    for (size_t i = 0; s->class_of != NULL && i < n_rows; i++)
        if (s->traffic.at[i].group != 0 && !expand_row(s, i, n <= MOST_TRAFFIC_ROWS))
            return error_nomem(s->err);
    sim_traffic_sort(s);
    if (!array_reserve(&r->traffic, s->traffic.n))
        return error_nomem(s->err);
    for (size_t i = 0; i < s->traffic.n; i++)
        r->traffic.at[r->traffic.n++] = read_traffic(s, &s->traffic.at[i]);
    return HALLEY_OK;
}

typedef struct finish_time {
    uint64_t at;
    uint32_t rank;
} finish_time;

static int compare_finish_times(const void *a, const void *b)
{
    const finish_time *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* List all ranks by finishing time of their class, and by rank at equal times. This is a
 * counting sort: number the distinct times, count the ranks of each, then place them. */
static halley_status expand_finishers(halley_result *r, const sim *s)
{
    finish_time *times = mem_array(s->n_ranks, sizeof *times);
    uint32_t *number = mem_array(s->n_ranks, sizeof *number);
    uint32_t *at = mem_array_zero((size_t)s->n_ranks + 1, sizeof *at);
    r->finishers = mem_array(s->n_npus, sizeof *r->finishers);
    if (times != NULL && number != NULL && at != NULL && r->finishers != NULL) {
        for (uint32_t i = 0; i < s->n_ranks; i++)
            times[i] = (finish_time){s->ranks[i].finish, i};
        qsort(times, s->n_ranks, sizeof *times, compare_finish_times);
        for (uint32_t i = 0, k = 0; i < s->n_ranks; i++) {
            k += i > 0 && times[i].at != times[i - 1].at;
            number[times[i].rank] = k;
            assert(k < s->n_ranks && s->ranks[times[i].rank].n_alike > 0);
            at[k + 1] += s->ranks[times[i].rank].n_alike;
        }
        for (uint32_t k = 0; k < s->n_ranks; k++)
            at[k + 1] += at[k];
        assert(at[s->n_ranks] == s->n_npus); /* classes hold every NPU once */
        for (uint32_t i = 0; i < s->n_npus; i++)
            r->finishers[at[number[s->class_of[i]]]++] = i;
    }
    const bool room = times != NULL && number != NULL && at != NULL && r->finishers;
    free(times);
    free(number);
    free(at);
    return room ? HALLEY_OK : error_nomem(s->err);
}

enum { MOST_EXPLAINED = 256 }; /* classes for which the cause is kept */

/* Record which rank was simulated for which. */
static halley_status read_classes(halley_result *r, const sim *s)
{
    r->n_run = s->n_ranks;
    for (uint32_t i = 0; i < s->n_ranks; i++)
        r->n_classes += s->fold == NULL || s->fold->representative[i] == i;
    assert(r->n_classes > 0 && r->n_classes <= s->n_npus);
    r->n_represented = s->n_represented;
    snprintf(r->unfolded, sizeof r->unfolded, "%s", s->unfolded);
    r->npus = mem_array(s->n_ranks, sizeof *r->npus);
    r->n_alike = mem_array(s->n_ranks, sizeof *r->n_alike);
    if (r->npus == NULL || r->n_alike == NULL)
        return error_nomem(s->err);
    for (uint32_t i = 0; i < s->n_ranks; i++) {
        r->npus[i] = s->ranks[i].npu;
        r->n_alike[i] = s->ranks[i].n_alike;
    }
    if (s->class_of == NULL)
        return HALLEY_OK;
    r->n_carrier_classes = s->symmetry->partition.carriers.n;
    r->n_link_classes = s->symmetry->partition.links.n;
    r->class_of = mem_array(s->n_npus, sizeof *r->class_of);
    if (r->class_of == NULL)
        return error_nomem(s->err);
    memcpy(r->class_of, s->class_of, s->n_npus * sizeof *r->class_of);
    if (s->n_ranks > MOST_EXPLAINED)
        return HALLEY_OK;
    r->causes = arena_array(&r->memory, s->n_ranks, sizeof *r->causes);
    for (uint32_t i = 0; r->causes != NULL && i < s->n_ranks; i++)
        r->causes[i] = sim_symmetry_explain(&r->memory, s, i);
    return r->causes == NULL ? error_nomem(s->err) : HALLEY_OK;
}

/* When late NPUs began. */
static bool read_starts(halley_result *r, const sim *s)
{
    const double *late_s = s->system->late_s;
    if (late_s == NULL)
        return true;
    r->starts = mem_array(s->n_npus, sizeof *r->starts);
    for (uint32_t i = 0; r->starts != NULL && i < s->n_npus; i++)
        r->starts[i] = sim_late_ticks(s, i);
    return r->starts != NULL;
}

static halley_status fill_result(halley_result *r, sim *s)
{
    assert(s->n_finished == (s->fold != NULL ? s->n_npus : s->n_ranks) || s->stopped);
    r->n_ranks = s->n_npus;
    r->ticks_per_s = 1e9 * (double)s->ticks_per_ns;
    r->roofline = s->system->roofline;
    r->n_events = s->n_events;
    r->stopped = s->stopped;
    note_unreceived(s);
    r->warnings = s->warnings;
    TRY(read_classes(r, s));
    r->last_finish = get_last_finish(s);
    r->ranks = mem_array(s->n_ranks, sizeof *r->ranks);
    r->nodes = mem_array_zero(s->n_ranks, sizeof *r->nodes);
    r->n_nodes = mem_array(s->n_ranks, sizeof *r->n_nodes);
    r->levels = mem_array_zero(s->n_ranks, sizeof *r->levels);
    if (r->ranks == NULL || r->nodes == NULL || r->n_nodes == NULL || r->levels == NULL)
        return error_nomem(s->err);
    TRY(read_all_traffic(r, s));
    if (s->class_of != NULL) {
        TRY(expand_finishers(r, s));
    } else {
        s->rules->sort_finishers(s);
        r->finishers = s->finishers;
        s->finishers = NULL;
    }
    r->has_path = s->ranks[0].begins != NULL;
    if (r->has_path)
        TRY(sim_path_find(r, s));
    for (uint32_t i = 0; i < s->n_ranks; i++) {
        read_rank(&r->ranks[i], &s->ranks[i]);
        r->nodes[i] = s->ranks[i].begins;
        r->n_nodes[i] = s->ranks[i].program->n;
        s->ranks[i].begins = NULL;
        r->levels[i].at = s->ranks[i].local.levels.at;
        r->levels[i].n = s->ranks[i].local.levels.n;
        s->ranks[i].local.levels.at = NULL;
    }
    if (!read_network_parts(r, s) || !read_starts(r, s))
        return error_nomem(s->err);
    TRY(read_links(r, s));
    r->heat = net_take_heat(s->net);
    r->journal.at = s->journal.at;
    r->journal.n = s->journal.n;
    s->journal.at = NULL;
    s->journal.n = s->journal.cap = 0;
    return HALLEY_OK;
}

halley_status sim_result_new(halley_result **out, sim *s)
{
    halley_result *r = calloc(1, sizeof *r);
    if (r == NULL)
        return error_nomem(s->err);
    const halley_status status = fill_result(r, s);
    if (status != HALLEY_OK)
        halley_result_free(r);
    else
        *out = r;
    return status;
}

void halley_result_free(halley_result *result)
{
    if (result == NULL)
        return;
    for (uint32_t i = 0; result->nodes != NULL && i < result->n_run; i++)
        free(result->nodes[i]);
    for (uint32_t i = 0; result->levels != NULL && i < result->n_run; i++)
        free(result->levels[i].at);
    free(result->levels);
    free(result->nodes);
    free(result->n_nodes);
    free(result->path.at);
    array_fini(&result->traffic);
    array_fini(&result->journal);
    array_fini(&result->parts);
    array_fini(&result->remarks);
    array_fini(&result->links.links);
    arena_fini(&result->links.memory);
    arena_fini(&result->memory);
    net_heat_fini(&result->heat);
    free(result->ranks);
    free(result->finishers);
    free(result->starts);
    free(result->class_of);
    free(result->npus);
    free(result->n_alike);
    free(result);
}

uint32_t halley_result_ranks(const halley_result *result)
{
    return result->n_ranks;
}

halley_rank_result halley_result_rank(const halley_result *result, uint32_t rank)
{
    return result->ranks[sim_result_run(result, rank)];
}

uint32_t halley_result_finisher(const halley_result *result, uint32_t i)
{
    assert(i < result->n_ranks);
    return result->finishers[i];
}

size_t halley_result_journal(const halley_journal_entry **out,
                             const halley_result *result)
{
    *out = result->journal.at;
    return result->journal.n;
}

double halley_result_ticks_per_s(const halley_result *result)
{
    return result->ticks_per_s;
}

bool halley_result_has_roofline(const halley_result *result)
{
    return result->roofline;
}

bool halley_result_stopped(const halley_result *result)
{
    return result->stopped;
}

uint64_t halley_result_events(const halley_result *result)
{
    return result->n_events;
}

uint32_t halley_result_classes(const halley_result *result)
{
    return result->n_classes;
}

uint64_t halley_result_events_represented(const halley_result *result)
{
    return result->n_represented;
}

halley_symmetry halley_result_symmetry(const halley_result *result)
{
    return (halley_symmetry){.n_ranks = result->n_run,
                             .n_carriers = result->n_carrier_classes,
                             .n_links = result->n_link_classes,
                             .unfolded =
                                 result->unfolded[0] == 0 ? NULL : result->unfolded};
}

uint32_t halley_result_class_of(const halley_result *result, uint32_t rank)
{
    return sim_result_run(result, rank);
}

halley_rank_class halley_result_class(const halley_result *result, uint32_t i)
{
    assert(i < result->n_run);
    return (halley_rank_class){.rank = result->npus[i],
                               .n_ranks = result->n_alike[i],
                               .cause =
                                   result->causes == NULL ? NULL : result->causes[i]};
}

uint32_t halley_result_warning_count(const halley_result *result)
{
    return (uint32_t)__builtin_popcount(result->warnings) + (uint32_t)result->remarks.n;
}

const char *halley_result_warning(const halley_result *result, uint32_t i)
{
    uint32_t left = result->warnings;
    const uint32_t n_known = (uint32_t)__builtin_popcount(left);
    assert(i < halley_result_warning_count(result));
    if (i >= n_known)
        return result->remarks.at[i - n_known];
    for (; i > 0; i--)
        left &= left - 1;
    return warning_texts[__builtin_ctz(left)];
}

uint32_t halley_result_traffic_count(const halley_result *result)
{
    return (uint32_t)result->traffic.n;
}

halley_traffic halley_result_traffic(const halley_result *result, uint32_t i)
{
    assert(i < result->traffic.n);
    return result->traffic.at[i];
}

uint32_t halley_result_dims(const halley_result *result)
{
    return (uint32_t)result->parts.n;
}

halley_dim_result halley_result_dim(const halley_result *result, uint32_t i)
{
    assert(i < result->parts.n);
    return result->parts.at[i];
}

uint32_t halley_result_links(const halley_result *result)
{
    return (uint32_t)result->links.links.n;
}

halley_link_result halley_result_link(const halley_result *result, uint32_t i)
{
    const net_link_use *l = &result->links.links.at[i];
    assert(i < result->links.links.n && l->bw_Bps > 0);
    const double seconds = (double)result->last_finish / result->ticks_per_s;
    return (halley_link_result){.name = l->name,
                                .kind = l->kind,
                                .bw_Bps = l->bw_Bps,
                                .bytes = l->bytes,
                                .wire_bytes = l->wire_bytes,
                                .use = seconds > 0 ? l->wire_bytes / (l->bw_Bps * seconds)
                                                   : 0,
                                .messages = l->n_messages,
                                .n_alike = l->n_alike == 0 ? 1 : l->n_alike,
                                .users = {l->users[0], l->users[1]},
                                .user_shares = {l->user_shares[0], l->user_shares[1]}};
}

halley_node_times halley_result_node(const halley_result *result, uint32_t rank,
                                     uint32_t node)
{
    const uint32_t run = sim_result_run(result, rank);
    const uint64_t *times = result->nodes[run];
    if (times == NULL || node >= result->n_nodes[run] || times[node] == UINT64_MAX)
        return (halley_node_times){0};
    return (halley_node_times){times[node], times[result->n_nodes[run] + node], true};
}

size_t halley_result_memory(const halley_memory_level **out, const halley_result *result,
                            uint32_t rank)
{
    const uint32_t run = sim_result_run(result, rank);
    *out = result->levels[run].at;
    return result->levels[run].n;
}

uint32_t halley_result_bins(const halley_result *result)
{
    return net_heat_count(&result->heat, result->last_finish);
}

double halley_result_bin_s(const halley_result *result)
{
    return (double)result->heat.bin_ticks / result->ticks_per_s;
}

double halley_result_heat(const halley_result *result, uint32_t dim, uint32_t npu,
                          uint32_t bin)
{
    return net_heat_get(&result->heat, dim * result->n_ranks + npu, bin);
}
