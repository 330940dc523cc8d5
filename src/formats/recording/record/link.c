/* Link recordings into traces: read, classify, rebuild, align, write. */
#include "base/file/file.h"
#include "base/pool.h"
#include "base/watch.h"
#include "halley/recording.h"
#include "recording/record/align.h"
#include "recording/record/emit.h"
#include "recording/record/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct rec_linker {
    const char *const *paths;
    size_t n_paths;
    const halley_recording_opts *opts;
    rec_list *files;     /* by path: the ranks in that file */
    rec_list list;       /* all ranks, in order */
    const char **origin; /* by rank: its path */
    rec_rules rules;
    rec_groups groups;
    rec_graph *graphs;
    int64_t *offsets;
    int64_t zero_ns;       /* earliest begin, on rank 0's clock */
    int64_t base_ns;       /* of rank 0's times */
    const char **saved_as; /* by rank; NULL = into the trace */
    halley_trace **traces;
    halley_link_report *reports;
    watcher look;
} rec_linker;

halley_file_kind halley_file_recognise(const char *path)
{
    switch (rec_recognise_file(path)) {
    case REC_FILE_KINETO:
    case REC_FILE_NSYS:
    case REC_FILE_XPLANE:
    case REC_FILE_ROCPROF:
    case REC_FILE_ROCPROF_CSV:
        return HALLEY_FILE_RECORDING;
    case REC_FILE_EXECUTION_TRACE:
        return HALLEY_FILE_EXECUTION_TRACE;
    case REC_FILE_OTHER:
        return HALLEY_FILE_OTHER;
    default:
        return HALLEY_FILE_UNKNOWN;
    }
}

const char *halley_file_describe(const char *path, char *text, size_t size)
{
    halley_error err = {0};
    rec_list list = {0};
    const rec_read_opts opts = {0};
    const bool refused = rec_recognise_file(path) == REC_FILE_OTHER &&
                         rec_read_file(&list, path, &opts, &err) != HALLEY_OK;
    rec_list_fini(&list);
    if (!refused)
        return NULL;
    snprintf(text, size, "%s", err.text);
    return text;
}

static halley_status read_one_file(void *context, size_t i, uint32_t worker,
                                   halley_error *err)
{
    (void)worker;
    rec_linker *const k = context;
    const rec_read_opts opts = {.partial = k->opts->partial, .pid = k->opts->pid};
    const halley_status status = rec_read_file(&k->files[i], k->paths[i], &opts, err);
    if (status == HALLEY_OK && !watcher_add(&k->look, 1))
        return watcher_error(&k->look, err);
    return status;
}

/* Move all ranks of all files into one list. The lists of the files are empty then. */
static halley_status gather_file_ranks(rec_linker *k, halley_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < k->n_paths; i++)
        n += k->files[i].ranks.n;
    k->origin = mem_array(n, sizeof *k->origin);
    if (k->origin == NULL || !array_reserve(&k->list.ranks, n))
        return error_nomem(err);
    for (size_t i = 0; i < k->n_paths; i++) {
        for (size_t j = 0; j < k->files[i].ranks.n; j++) {
            k->origin[k->list.ranks.n] = k->paths[i];
            k->list.ranks.at[k->list.ranks.n++] = k->files[i].ranks.at[j];
        }
        k->files[i].ranks.n = 0;
    }
    if (n == 0)
        return error_set(err, HALLEY_EINVAL, "the recording holds no rank");
    return HALLEY_OK;
}

static halley_status refuse_empty(const rec_linker *k, size_t i, halley_error *err)
{
    const record *const r = &k->list.ranks.at[i];
    if (r->hosts.n > 0 || r->works.n > 0)
        return HALLEY_OK;
    error_set(err, HALLEY_EINVAL,
              "none of its %llu events is an operator, a runtime call or a kernel",
              (unsigned long long)r->n_events);
    error_at_file(err, k->origin[i]);
    return HALLEY_EINVAL;
}

static void fill_input_counts(halley_link_report *report, const record *r)
{
    for (size_t i = 0; i < r->hosts.n; i++)
        report->n_operators += r->hosts.at[i].kind != REC_CALL;
    for (size_t i = 0; i < r->works.n; i++) {
        report->n_kernels += r->works.at[i].kind == REC_KERNEL;
        report->n_copies += r->works.at[i].kind == REC_COPY;
        report->n_sets += r->works.at[i].kind == REC_SET;
    }
    report->n_linked_kernels = report->n_kernels;
    report->n_linked_copies = report->n_copies;
    report->n_linked_sets = report->n_sets;
    report->n_device_events = r->n_events > 0 ? r->n_events : r->works.n;
    report->n_host_nodes = r->hosts.n;
    report->n_other_events = r->n_other;
    report->n_bad_times = r->n_bad_times;
    report->n_negative = r->n_negative;
    report->n_duplicate_events = r->n_duplicates;
}

static void fill_graph_counts(halley_link_report *report, const rec_graph *g,
                              const rec_emit_counts *c)
{
    for (uint32_t i = 0; i < g->n_pieces; i++) {
        const rec_node n = rec_node_get(g, i);
        report->n_wait_nodes += n.waits;
        report->n_program_order += n.before != REC_NONE;
        report->n_gap_nodes += n.kind == REC_NODE_GAP;
        report->n_split_nodes += n.kind == REC_NODE_REST;
        report->gap_ns += n.kind == REC_NODE_GAP ? n.end_ns - n.begin_ns : 0;
        report->split_ns += n.kind == REC_NODE_REST ? n.end_ns - n.begin_ns : 0;
    }
    report->n_launch = g->n_by_kind[REC_EDGE_LAUNCH];
    report->n_stream_order = g->n_by_kind[REC_EDGE_STREAM];
    report->n_event_waits = g->n_by_kind[REC_EDGE_EVENT];
    report->n_event_waits_guessed = g->n_by_kind[REC_EDGE_GUESSED];
    report->n_syncs = g->n_by_kind[REC_EDGE_WAIT];
    report->n_hand_overs = g->n_by_kind[REC_EDGE_HAND_OVER];
    report->n_against_time = g->n_late_launch + g->n_ties;
    report->wait_ns = g->wait_explained_ns;
    report->device_gap_ns = g->late_unexplained_ns;
    report->n_collectives = c->n_collectives;
    report->n_sends = c->n_sends;
    report->n_recvs = c->n_recvs;
    report->n_no_size = c->n_no_size + c->n_no_group + c->n_lonely;
    report->n_with_work = c->n_with_work;
    report->n_nodes = c->n_nodes;
    report->n_data_edges = c->n_data_edges;
    report->n_ctrl_edges = c->n_ctrl_edges;
    report->recorded_ns = g->to_ns - g->from_ns;
    report->replayed_ns = g->replayed_ns;
}

/* Release a rank as soon as it is written, because ranks are large. */
static void release_rank(rec_linker *k, size_t i)
{
    rec_graph_fini(&k->graphs[i]);
    k->graphs[i] = (rec_graph){0};
    rec_fini(&k->list.ranks.at[i]);
    rec_init(&k->list.ranks.at[i]);
}

static halley_status emit_one_rank(void *context, size_t i, uint32_t worker,
                                   halley_error *err)
{
    (void)worker;
    rec_linker *const k = context;
    const record *const r = &k->list.ranks.at[i];
    halley_link_report *const report = &k->reports[i];
    report->size = sizeof *report;
    strbuf facts = {0};
    rec_hta hta;
    const int64_t zero_ns = k->zero_ns - k->offsets[i];
    const rec_facts_input in = {.rec = r,
                                .graph = &k->graphs[i],
                                .hta = &hta,
                                .rules = &k->rules,
                                .groups = &k->groups,
                                .recorded_on = k->opts->recorded_on,
                                .n_ranks = k->list.ranks.n,
                                .zero_ns = zero_ns,
                                .clock_offset_ns =
                                    k->offsets[i] - (r->base_ns - k->base_ns)};
    rec_emit_counts counts;
    if (!rec_count_as_hta(&hta, r))
        return error_nomem(err);
    TRY(rec_rebuild(&k->graphs[i], r, err));
    halley_status status = rec_write_facts(&facts, &in) ? HALLEY_OK : error_nomem(err);
    const rec_emit_opts emit = {.rules = &k->rules,
                                .groups = &k->groups,
                                .n_ranks = k->list.ranks.n,
                                .zero_ns = zero_ns,
                                .facts = strbuf_str(&facts),
                                .recorded_on = k->opts->recorded_on != NULL
                                                   ? str_from(k->opts->recorded_on)
                                                   : rec_text(r, r->device_name),
                                .path = k->saved_as[i]};
    if (status == HALLEY_OK)
        status = rec_emit(&k->traces[i], &counts, &k->graphs[i], &emit, err);
    strbuf_fini(&facts);
    if (status != HALLEY_OK)
        return status;
    snprintf(report->schema, sizeof report->schema, "%s", rec_format_names[r->format]);
    fill_input_counts(report, r);
    fill_graph_counts(report, &k->graphs[i], &counts);
    report->n_groups = k->groups.groups.n;
    report->clock_offset_ns = k->offsets[i];
    release_rank(k, i);
    return HALLEY_OK;
}

static halley_status read_all_files(rec_linker *k, halley_error *err)
{
    k->files = mem_array_zero(k->n_paths, sizeof *k->files);
    if (k->files == NULL)
        return error_nomem(err);
    watcher_init(&k->look, k->opts->watch, "linking", "recordings", (double)k->n_paths);
    TRY(pool_run(k->opts->n_threads, k->n_paths, read_one_file, k, err));
    TRY(gather_file_ranks(k, err));
    for (size_t i = 0; i < k->list.ranks.n; i++)
        TRY(refuse_empty(k, i, err));
    return rec_order_ranks(&k->list, k->origin, err);
}

static halley_status make_rank_room(rec_linker *k, halley_error *err)
{
    const size_t n = k->list.ranks.n;
    k->graphs = mem_array_zero(n, sizeof *k->graphs);
    k->offsets = mem_array_zero(n, sizeof *k->offsets);
    k->traces = mem_array_zero(n, sizeof *k->traces);
    k->reports = mem_array_zero(n, sizeof *k->reports);
    k->saved_as = mem_array_zero(n, sizeof *k->saved_as);
    const bool ok = k->graphs != NULL && k->offsets != NULL && k->traces != NULL &&
                    k->reports != NULL && k->saved_as != NULL;
    return ok ? HALLEY_OK : error_nomem(err);
}

/* The begin of the first event of a rank. */
static int64_t find_first_begin(const record *r)
{
    int64_t from_ns = INT64_MAX;
    for (size_t i = 0; i < r->hosts.n; i++)
        from_ns = r->hosts.at[i].begin_ns < from_ns ? r->hosts.at[i].begin_ns : from_ns;
    for (size_t i = 0; i < r->works.n; i++)
        from_ns = r->works.at[i].begin_ns < from_ns ? r->works.at[i].begin_ns : from_ns;
    return from_ns == INT64_MAX ? 0 : from_ns;
}

/* Find the earliest begin from the events alone. Graphs are large, so each is rebuilt
 * only when its rank is written. */
static void find_zero(rec_linker *k)
{
    k->zero_ns = INT64_MAX;
    for (size_t i = 0; i < k->list.ranks.n; i++) {
        const int64_t from = find_first_begin(&k->list.ranks.at[i]) + k->offsets[i];
        k->zero_ns = from < k->zero_ns ? from : k->zero_ns;
    }
}

/* Ask for the name of rank 0 last. Files may be put in place in this order, and a set
 * without rank 0 is not valid. */
static halley_status name_rank_files(rec_linker *k, halley_error *err)
{
    const uint32_t n = (uint32_t)k->list.ranks.n;
    for (uint32_t i = 1; k->opts->save_as != NULL && i <= n; i++)
        TRY(k->opts->save_as(&k->saved_as[i % n], k->opts->save_context, i % n, n, err));
    return HALLEY_OK;
}

static halley_status link_all_ranks(rec_linker *k, halley_error *err)
{
    const size_t n = k->list.ranks.n;
    TRY(make_rank_room(k, err));
    for (size_t i = 0; i < n; i++) /* one after the other: threads cannot share rules */
        if (!rec_classify(&k->list.ranks.at[i], &k->rules) ||
            !rec_find_period(&k->list.ranks.at[i], &k->rules))
            return error_nomem(err);
    TRY(rec_groups_init(&k->groups, &k->list, err));
    TRY(rec_align_clocks(k->offsets, &k->list, &k->rules, err));
    k->base_ns = k->list.ranks.at[0].base_ns;
    find_zero(k);
    TRY(name_rank_files(k, err));
    if (watcher_is_cancelled(&k->look))
        return watcher_error(&k->look, err);
    return pool_run(k->opts->n_threads, n, emit_one_rank, k, err);
}

static void fini_linker(rec_linker *k)
{
    for (size_t i = 0; k->files != NULL && i < k->n_paths; i++)
        rec_list_fini(&k->files[i]);
    for (size_t i = 0; k->graphs != NULL && i < k->list.ranks.n; i++)
        rec_graph_fini(&k->graphs[i]);
    for (size_t i = 0; k->traces != NULL && i < k->list.ranks.n; i++)
        halley_trace_free(k->traces[i]);
    rec_list_fini(&k->list);
    rec_rules_fini(&k->rules);
    rec_groups_fini(&k->groups);
    free(k->files);
    free(k->origin);
    free(k->graphs);
    free(k->offsets);
    free(k->traces);
    free(k->reports);
    free(k->saved_as);
}

halley_status halley_recordings_link(halley_trace_set **out, halley_link_report **reports,
                                     const char *const *paths, size_t n_paths,
                                     const halley_recording_opts *opts, halley_error *err)
{
    static const halley_recording_opts defaults = {0};
    rec_linker k = {
        .paths = paths, .n_paths = n_paths, .opts = opts != NULL ? opts : &defaults};
    halley_status status = rec_rules_init(&k.rules, k.opts->rules, err);
    if (status == HALLEY_OK)
        status = read_all_files(&k, err);
    if (status == HALLEY_OK)
        status = link_all_ranks(&k, err);
    if (status == HALLEY_OK)
        status = halley_trace_set_new(out, k.traces, (uint32_t)k.list.ranks.n, err);
    if (status == HALLEY_OK) {
        for (size_t i = 0; i < k.list.ranks.n; i++)
            k.traces[i] = NULL; /* the set owns them now */
        if (reports != NULL) {
            *reports = k.reports;
            k.reports = NULL;
        }
    }
    fini_linker(&k);
    return status;
}
