/* halley trace slice - keep a part of traces. */
#include "base/array.h"
#include "base/error.h"
#include "base/number/whole.h"
#include "halley/trace_edit.h"
#include "request/files.h"
#include "request/trace/traces.h"
#include "request/verbs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct slice_options {
    const char *out, *ranks, *ids, *steps, *step_attr;
    request_texts types;
    double from_s, to_s;
    bool cut, keep_unmatched;
    uint32_t form;
    bool force;
    request_output output;
} slice_options;

static const request_option options[] = {
    REQUEST_OUT_OPTION(slice_options, out, "OUT", "file, prefix or folder to write",
                       REQUEST_REQUIRED, "part"),
    {.name = "ranks",
     .letter = 'r',
     .kind = REQUEST_TEXT,
     .metavar = "LIST",
     .offset = offsetof(slice_options, ranks),
     .doc = "ranks to keep; they are renumbered from 0 in this order",
     .by_default = "all",
     .example = "0,2,4-7"},
    {.name = "ids",
     .kind = REQUEST_TEXT,
     .metavar = "LIST",
     .offset = offsetof(slice_options, ids),
     .doc = "ids of the nodes to keep",
     .by_default = "all",
     .example = "5,100-199"},
    {.name = "type",
     .letter = 't',
     .kind = REQUEST_TEXTS,
     .metavar = "TYPE[,TYPE]",
     .offset = offsetof(slice_options, types),
     .doc = "types of the nodes to keep: comp, coll, send, recv, load, store, metadata, "
            "invalid",
     .by_default = "all",
     .example = "comp,coll"},
    {.name = "steps",
     .letter = 's',
     .kind = REQUEST_TEXT,
     .metavar = "N[-M]",
     .offset = offsetof(slice_options, steps),
     .doc = "training steps to keep",
     .by_default = "all",
     .example = "2-3"},
    {.name = "step-attr",
     .kind = REQUEST_TEXT,
     .metavar = "NAME",
     .offset = offsetof(slice_options, step_attr),
     .doc = "attribute that holds the step of a node",
     .by_default = "step, else ProfilerStep#N nodes",
     .example = "iteration"},
    {.name = "from",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_TIME,
     .metavar = "TIME",
     .offset = offsetof(slice_options, from_s),
     .doc = "keep nodes that start at or after TIME",
     .by_default = "the beginning",
     .example = "1.5 ms"},
    {.name = "to",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_TIME,
     .metavar = "TIME",
     .offset = offsetof(slice_options, to_s),
     .doc = "keep nodes that start before TIME",
     .by_default = "the end",
     .example = "3 ms"},
    {.name = "cut",
     .kind = REQUEST_FLAG,
     .offset = offsetof(slice_options, cut),
     .doc = "drop dependencies on removed nodes instead of bridging them"},
    {.name = "keep-unmatched",
     .kind = REQUEST_FLAG,
     .offset = offsetof(slice_options, keep_unmatched),
     .doc = "keep communication whose partner on another rank is removed"},
    {.name = "form",
     .kind = REQUEST_CHOICE,
     .choices = traces_form_names,
     .offset = offsetof(slice_options, form),
     .doc = "file format to write",
     .by_default = "by the ending of OUT, .et for sets"},
    REQUEST_FORCE_OPTION(slice_options, force),
    REQUEST_OUTPUT_OPTIONS(slice_options, output),
    {0},
};

static const struct {
    const char *word;
    halley_node_type type;
} types[] = {
    {"comp", HALLEY_NODE_COMP},         {"coll", HALLEY_NODE_COLL},
    {"send", HALLEY_NODE_SEND},         {"recv", HALLEY_NODE_RECV},
    {"load", HALLEY_NODE_MEM_LOAD},     {"store", HALLEY_NODE_MEM_STORE},
    {"metadata", HALLEY_NODE_METADATA}, {"invalid", HALLEY_NODE_INVALID},
};
enum { N_TYPES = sizeof types / sizeof types[0] };

static halley_status parse_slice_types(uint32_t *bits, request_call *call,
                                       const request_texts *texts, halley_error *err)
{
    for (size_t i = 0; i < texts->n; i++) {
        str rest = str_from(texts->at[i]), word = {0};
        while (str_next(&rest, ',', &word)) {
            size_t t = 0;
            while (t < N_TYPES && !str_eq(word, str_from(types[t].word)))
                t++;
            if (t == N_TYPES)
                return request_usage(
                    call, err,
                    "--type '%.*s' is none of comp, coll, send, recv, load, "
                    "store, metadata, invalid",
                    STR_ARG(word));
            *bits |= UINT32_C(1) << types[t].type;
        }
    }
    return HALLEY_OK;
}

/* The parsed options. */
typedef struct parsed {
    halley_slice_opts slice;
    uint32_t *ranks;
    traces_range *ids;
} parsed;

static void parsed_fini(parsed *p)
{
    free(p->ranks);
    free(p->ids);
}

static halley_status parse_ranks(parsed *p, request_call *call, const char *list,
                                 uint32_t n_ranks, halley_error *err)
{
    traces_range *ranges = NULL;
    size_t n = 0;
    TRY(traces_parse_ranges(&ranges, &n, call, list, "rank", err));
    ARRAY(uint32_t) ranks = {0};
    halley_status status = HALLEY_OK;
    for (size_t i = 0; status == HALLEY_OK && i < n; i++) {
        if (ranges[i].last >= n_ranks)
            status = error_set(err, HALLEY_EINVAL,
                               "there is no rank %" PRIu64 ", only 0 to %" PRIu32,
                               ranges[i].last, n_ranks - 1);
        for (uint64_t r = ranges[i].first; status == HALLEY_OK && r <= ranges[i].last;
             r++)
            if (!array_push(&ranks, (uint32_t)r))
                status = error_nomem(err);
    }
    free(ranges);
    p->ranks = ranks.at;
    p->slice.ranks = ranks.at;
    p->slice.n_ranks = (uint32_t)ranks.n;
    return status;
}

static halley_status parse_steps(parsed *p, request_call *call, const char *text,
                                 halley_error *err)
{
    traces_range *ranges = NULL;
    size_t n = 0;
    TRY(traces_parse_ranges(&ranges, &n, call, text, "step", err));
    const bool one = n == 1;
    if (one) {
        p->slice.by_step = true;
        p->slice.first_step = ranges[0].first;
        p->slice.last_step = ranges[0].last;
    }
    free(ranges);
    return one ? HALLEY_OK
               : request_usage(call, err, "--steps takes one range, such as 2-4");
}

static halley_status parse_window(parsed *p, request_call *call, halley_error *err)
{
    const slice_options *o = call->options;
    const bool from = request_given(call, "from"), to = request_given(call, "to");
    if ((from && o->from_s < 0) || (to && o->to_s < 0))
        return request_usage(call, err, "--from and --to cannot be negative");
    p->slice.by_time = from || to;
    p->slice.from_us = from ? whole_u64(ceil(o->from_s * 1e6 - 1e-3)) : 0;
    p->slice.to_us = to ? whole_u64(ceil(o->to_s * 1e6 - 1e-3)) : UINT64_MAX;
    return HALLEY_OK;
}

static halley_status parse_slice(parsed *p, request_call *call, uint32_t n_ranks,
                                 halley_error *err)
{
    const slice_options *o = call->options;
    size_t n = 0;
    p->slice.cut = o->cut;
    p->slice.keep_unmatched = o->keep_unmatched;
    p->slice.step_attr = o->step_attr;
    TRY(parse_slice_types(&p->slice.types, call, &o->types, err));
    TRY(parse_window(p, call, err));
    if (o->ranks != NULL)
        TRY(parse_ranks(p, call, o->ranks, n_ranks, err));
    if (o->steps != NULL)
        TRY(parse_steps(p, call, o->steps, err));
    if (o->ids != NULL) {
        TRY(traces_parse_ranges(&p->ids, &n, call, o->ids, "id", err));
        _Static_assert(sizeof(traces_range) == sizeof(halley_id_range), "same layout");
        p->slice.ids = (const halley_id_range *)(const void *)p->ids;
        p->slice.n_ids = (uint32_t)n;
    }
    return HALLEY_OK;
}

static void write_slice_text(FILE *to, const halley_slice_counts *c, uint32_t n_ranks)
{
    fprintf(to, "kept %" PRIu64 " of %" PRIu64 " nodes on %" PRIu32 " rank%s\n",
            c->n_kept - c->n_joints, c->n_kept - c->n_joints + c->n_removed + c->n_joints,
            n_ranks, n_ranks == 1 ? "" : "s");
    if (c->n_p2p + c->n_collectives > 0)
        fprintf(to,
                "removed with their partners: %" PRIu64 " sends and receives, %" PRIu64
                " collectives\n",
                c->n_p2p, c->n_collectives);
    if (c->n_bridged > 0)
        fprintf(to, "bridged: %" PRIu64 " dependencies, %" PRIu64 " joints\n",
                c->n_bridged, c->n_joints);
    if (c->n_cut > 0)
        fprintf(to, "cut: %" PRIu64 " dependencies\n", c->n_cut);
}

static const report_column columns[] = {
    {"Ranks", "n_ranks", REPORT_COUNT, UNITS_COUNT, 0},
    {"Kept", "nodes_kept", REPORT_COUNT, UNITS_COUNT, 0},
    {"Removed", "nodes_removed", REPORT_COUNT, UNITS_COUNT, 0},
    {"Bridged", "bridged", REPORT_COUNT, UNITS_COUNT, 0},
    {"Joints", "joints", REPORT_COUNT, UNITS_COUNT, 0},
    {"Cut", "cut", REPORT_COUNT, UNITS_COUNT, 0},
    {"Unmatched p2p", "unmatched_p2p", REPORT_COUNT, UNITS_COUNT, 0},
    {"Unmatched collectives", "unmatched_collectives", REPORT_COUNT, UNITS_COUNT, 0},
};

static halley_status write_slice_row(const request_call *call,
                                     const halley_slice_counts *c, uint32_t n_ranks,
                                     report_form form, halley_error *err)
{
    enum { N = sizeof columns / sizeof *columns };
    const uint64_t row[N] = {n_ranks,
                             c->n_kept - c->n_joints,
                             c->n_removed + c->n_joints,
                             c->n_bridged,
                             c->n_joints,
                             c->n_cut,
                             c->n_p2p,
                             c->n_collectives};
    if (form == REPORT_JSON) {
        report_json j;
        request_json_begin(&j, call);
        for (size_t i = 0; i < N; i++)
            report_json_u64(&j, columns[i].key, row[i]);
        return request_json_end(&j, call, err);
    }
    report_table *t = report_table_new(columns, N);
    for (size_t i = 0; t != NULL && i < N; i++)
        report_table_count(t, row[i]);
    return request_table_write(call, t, "slice", form, err);
}

/* For traces_save: the groups of the ranks that are kept, next to the set. */
typedef struct slice_groups {
    const parsed *p;
    const halley_trace_set *set;
} slice_groups;

static halley_status save_slice_groups(const void *groups, const char *path,
                                       halley_error *err)
{
    const slice_groups *const g = groups;
    const uint32_t n_ranks = halley_trace_set_count(g->set);
    char *from = halley_trace_set_groups(g->set);
    if (from == NULL)
        return HALLEY_OK;
    uint32_t *map = mem_array(n_ranks, sizeof *map);
    halley_status status = map == NULL ? error_nomem(err) : HALLEY_OK;
    for (uint32_t r = 0; map != NULL && r < n_ranks; r++)
        map[r] = g->p->ranks == NULL ? r : UINT32_MAX;
    for (uint32_t i = 0; map != NULL && i < g->p->slice.n_ranks; i++)
        map[g->p->slice.ranks[i]] = i;
    if (status == HALLEY_OK)
        status = halley_groups_renumber(path, from, map, n_ranks, err);
    free(map);
    free(from);
    return status;
}

static halley_status save_slice(request_call *call, const slice_groups *groups,
                                const halley_trace_set *slice, halley_error *err)
{
    const slice_options *o = call->options;
    char *stem = traces_stem(halley_trace_set_path(groups->set, 0));
    const traces_output output = {.path = o->out,
                                  .form = (traces_form)o->form,
                                  .one = halley_trace_set_count(groups->set) == 1 &&
                                         traces_is_file(call),
                                  .stem = stem,
                                  .save_groups = save_slice_groups,
                                  .groups = groups};
    const halley_status status =
        stem == NULL ? error_nomem(err) : traces_save(slice, &output, call, err);
    free(stem);
    return status;
}

static halley_status slice_set(request_call *call, const halley_trace_set *set,
                               report_form form, halley_error *err)
{
    parsed p = {0};
    halley_trace_set *out = NULL;
    halley_slice_counts counts = {0};
    halley_status status = parse_slice(&p, call, halley_trace_set_count(set), err);
    if (status == HALLEY_OK)
        status = halley_trace_slice(&out, set, &p.slice, &counts, err);
    if (status == HALLEY_OK)
        status = save_slice(call, &(slice_groups){&p, set}, out, err);
    const uint32_t n = status == HALLEY_OK ? halley_trace_set_count(out) : 0;
    if (status == HALLEY_OK && form == REPORT_TEXT)
        write_slice_text(call->out, &counts, n);
    else if (status == HALLEY_OK)
        status = write_slice_row(call, &counts, n, form, err);
    halley_trace_set_free(out);
    parsed_fini(&p);
    return status;
}

static halley_status trace_slice_run(request_call *call, halley_error *err)
{
    const slice_options *o = call->options;
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    if (o->out == NULL)
        return request_usage(call, err,
                             "name the output with --out: a file, prefix or folder");
    halley_trace_set *set = NULL;
    TRY(traces_load(&set, call, 0, call->n_args, err));
    const halley_status status = slice_set(call, set, form, err);
    halley_trace_set_free(set);
    return status;
}

static const request_example examples[] = {
    {"halley trace slice --steps 3 -o step3 gpt", "one training step of every rank"},
    {"halley trace slice -r 0-7 -o node0 gpt", "the ranks of one machine"},
    {"halley trace slice -t coll,send,recv -o comm gpt", "communication only"},
    {"halley trace slice --from '10 ms' --to '20 ms' -o window.et chakra.0.et", NULL},
    {0},
};

const request_verb request_verb_trace_slice = {
    .name = "trace slice",
    .summary = "keep a part of traces",
    .arguments = "TRACE...",
    .arg_keys = traces_key,
    .description =

        "Writes the nodes that meet every condition given: ranks, ids, types, steps, "
        "start. The result is consistent: it can be checked and simulated like the "
        "whole.\n\n"
        "A node that depended on a removed node now depends on the nearest kept nodes"
        " that the removed one depended on; --cut drops such dependencies instead. If"
        " there would be more than 16, the removed node stays as a compute node named"
        " 'joint' with its id and no duration.\n\n"
        "Communication stays matched. A send belongs to its receive, and a collective"
        " to those of the same number in its group on the other ranks. If one is "
        "removed, all are, unless --keep-unmatched is given. With --ranks, groups "
        "shrink to the ranks that are kept, and messages from and to others are "
        "removed. Ranks in comm_src, comm_dst and process_group:init nodes are "
        "renumbered. TRACE.comm_group.json, if it exists, is renumbered into "
        "OUT.comm_group.json.\n\n"
        "A step is the value of an integer attribute of the node (--step-attr). In "
        "traces without it, a node belongs to the step of the last node named "
        "ProfilerStep#N with no greater id. A node's time is its recorded start. In a"
        " trace where no node has one, it is the earliest time that dependencies and "
        "durations allow.\n\n"
        "A part in time of a recording (--steps, --from, --to) starts as recorded. If"
        " what a node waited for is removed, a node named 'recorded start' releases "
        "it at its recorded time. So the part replays as long as it was recorded, "
        "with the device work that ends after it. Steps that a recording does not "
        "mark are found by the period of its kernels when it is linked, and are "
        "numbered from 0.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(slice_options),
    .min_args = 1,
    .max_args = REQUEST_ANY,
    .run = trace_slice_run,
};
