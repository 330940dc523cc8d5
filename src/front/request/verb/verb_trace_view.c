/* halley trace view - draw a trace as SVG, HTML, Graphviz dot or GraphML. */
#include "base/array.h"
#include "base/error.h"
#include "base/file/file.h"
#include "halley/recording_tree.h"
#include "halley/trace_view.h"
#include "report/recorded.h"
#include "request/files.h"
#include "request/trace/traces.h"
#include "request/verbs.h"

#include <string.h>

typedef struct view_options {
    const char *out, *title, *timeline;
    uint32_t form; /* index into forms + 1; 0 = by the file's name */
    request_texts from, type, name;
    uint32_t depth, way, limit, rank;
    bool collapse, mixed, graph;
    request_output output;
} view_options;

static const char *const forms[] = {"svg", "html", "dot", "graphml", NULL};
static const char *const ways[] = {"down", "up", "both", NULL};

static const request_option options[] = {
    REQUEST_OUT_OPTION(view_options, out, "FILE",
                       "file to write; its ending determines the format", "TRACE.html",
                       "step.svg"),
    {.name = "form",
     .letter = 'f',
     .kind = REQUEST_CHOICE,
     .choices = forms,
     .offset = offsetof(view_options, form),
     .doc = "output format",
     .by_default = "by the ending of FILE"},
    {.name = "timeline",
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "FILE",
     .offset = offsetof(view_options, timeline),
     .doc = "write when the nodes of a recording ran, on all ranks, for Perfetto and "
            "chrome://tracing, instead of a picture",
     .by_default = "none",
     .example = "step.json"},
    {.name = "rank",
     .letter = 'r',
     .kind = REQUEST_U32,
     .metavar = "N",
     .offset = offsetof(view_options, rank),
     .doc = "rank of a set to draw",
     .by_default = "0",
     .example = "3"},
    {.name = "from",
     .kind = REQUEST_TEXTS,
     .metavar = "ID",
     .offset = offsetof(view_options, from),
     .doc = "draw only what is reachable from node ID; repeat it for more nodes",
     .by_default = "all nodes",
     .example = "17"},
    {.name = "depth",
     .kind = REQUEST_U32,
     .metavar = "N",
     .offset = offsetof(view_options, depth),
     .doc = "with --from: number of edges to follow",
     .by_default = "any number",
     .example = "3"},
    {.name = "way",
     .kind = REQUEST_CHOICE,
     .choices = ways,
     .offset = offsetof(view_options, way),
     .doc =
         "with --from: follow edges to dependents (down), to dependencies (up), or both",
     .by_default = "down"},
    {.name = "type",
     .letter = 't',
     .kind = REQUEST_TEXTS,
     .metavar = "TYPE",
     .offset = offsetof(view_options, type),
     .doc = "only nodes of this type: comp, coll, send, recv, load, store, metadata or "
            "invalid",
     .by_default = "all",
     .example = "coll"},
    {.name = "name",
     .kind = REQUEST_TEXTS,
     .metavar = "GLOB",
     .offset = offsetof(view_options, name),
     .doc = "only nodes whose name matches",
     .by_default = "all",
     .example = "aten::*"},
    {.name = "collapse",
     .letter = 'c',
     .kind = REQUEST_FLAG,
     .offset = offsetof(view_options, collapse),
     .doc = "draw runs of one kind, and repeated parts, as one box"},
    {.name = "limit",
     .letter = 'l',
     .kind = REQUEST_U32,
     .min = 1,
     .max = 4294967295.0,
     .metavar = "N",
     .offset = offsetof(view_options, limit),
     .doc = "largest number of boxes in a picture",
     .by_default = "2000",
     .example = "500"},
    {.name = "graph",
     .kind = REQUEST_FLAG,
     .offset = offsetof(view_options, graph),
     .doc = "draw the graph of a recording, not its call tree"},
    {.name = "mixed",
     .kind = REQUEST_FLAG,
     .offset = offsetof(view_options, mixed),
     .doc = "draw without lanes for CPU, compute, communication and memory"},
    {.name = "title",
     .kind = REQUEST_TEXT,
     .metavar = "TEXT",
     .offset = offsetof(view_options, title),
     .doc = "title of the picture",
     .by_default = "the file's name",
     .example = "step 3"},
    TRACES_JSON_OPTION(view_options, output),
    {0},
};

static const char *const type_words[] = {"invalid", "metadata", "load", "store",
                                         "comp",    "send",     "recv", "coll"};
enum { N_TYPE_WORDS = sizeof type_words / sizeof *type_words };

static halley_status parse_view_types(uint32_t *out, request_call *call,
                                      const request_texts *texts, halley_error *err)
{
    *out = 0;
    for (size_t i = 0; i < texts->n; i++) {
        uint32_t type = 0;
        while (type < N_TYPE_WORDS && strcmp(texts->at[i], type_words[type]) != 0)
            type++;
        if (type == N_TYPE_WORDS)
            return request_usage(call, err,
                                 "--type must be comp, coll, send, recv, load, store, "
                                 "metadata or invalid, is \"%s\"",
                                 texts->at[i]);
        *out |= UINT32_C(1) << type;
    }
    return HALLEY_OK;
}

/* The caller frees *ids. */
static halley_status parse_ids(uint64_t **ids, request_call *call,
                               const request_texts *texts, halley_error *err)
{
    uint64_t *out = mem_array(texts->n, sizeof *out);
    if (!out)
        return error_nomem(err);
    for (size_t i = 0; i < texts->n; i++) {
        if (str_to_u64(str_from(texts->at[i]), &out[i]))
            continue;
        free(out);
        return request_usage(call, err, "--from needs a node id, is \"%s\"",
                             texts->at[i]);
    }
    *ids = out;
    return HALLEY_OK;
}

static halley_status find_form(halley_view_form *out, request_call *call,
                               const char *path, halley_error *err)
{
    const view_options *o = call->options;
    if (request_given(call, "form")) {
        *out = (halley_view_form)o->form;
        return HALLEY_OK;
    }
    static const struct {
        const char *ending;
        halley_view_form form;
    } endings[] = {{".svg", HALLEY_VIEW_SVG},    {".html", HALLEY_VIEW_HTML},
                   {".htm", HALLEY_VIEW_HTML},   {".dot", HALLEY_VIEW_DOT},
                   {".gv", HALLEY_VIEW_DOT},     {".graphml", HALLEY_VIEW_GRAPHML},
                   {".xml", HALLEY_VIEW_GRAPHML}};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (str_ends(str_from(path), str_from(endings[i].ending))) {
            *out = endings[i].form;
            return HALLEY_OK;
        }
    }
    return request_usage(
        call, err, "%s does not end in .svg, .html, .dot or .graphml; say --form", path);
}

/* The trace's name without its folder and .et: "run.0.et" gives "run.0". */
static str shorten_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    str name = str_from(slash ? slash + 1 : path);
    static const char *const endings[] = {".gz", ".zst", ".et", ".json", ".jsonl"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const str ending = str_from(endings[i]);
        if (str_ends(name, ending) && name.n > ending.n)
            name.n -= ending.n;
    }
    return name;
}

static void write_view_summary(FILE *to, const char *path, const halley_view_summary *sum)
{
    fprintf(to, "%s: %llu nodes", path, (unsigned long long)sum->n_nodes);
    if (sum->n_chosen < sum->n_nodes)
        fprintf(to, ", %llu chosen", (unsigned long long)sum->n_chosen);
    if (sum->n_boxes < sum->n_chosen)
        fprintf(to, ", as %llu box%s", (unsigned long long)sum->n_boxes,
                sum->n_boxes == 1 ? "" : "es");
    fprintf(to, ", %llu edges\n", (unsigned long long)sum->n_edges);
}

static halley_status write_summary_json(const request_call *call, const char *path,
                                        const halley_view_summary *sum, halley_error *err)
{
    report_json j;
    request_json_begin(&j, call);
    report_json_text(&j, "out", str_from(path));
    report_json_u64(&j, "nodes", sum->n_nodes);
    report_json_u64(&j, "chosen", sum->n_chosen);
    report_json_u64(&j, "boxes", sum->n_boxes);
    report_json_u64(&j, "edges", sum->n_edges);
    return request_json_end(&j, call, err);
}

/* A picture on standard output is the only output. */
static halley_status report_picture(const request_call *call, const char *path,
                                    const halley_view_summary *sum, halley_error *err)
{
    const view_options *o = call->options;
    if (strcmp(path, "-") == 0)
        return HALLEY_OK;
    if (sum->stretched)
        request_note(call,
                     "too many nodes to draw one by one: each box is all of a lane in a "
                     "stretch; choose a part with --from, --type or "
                     "--name, or raise --limit");
    if (o->output.json)
        return write_summary_json(call, path, sum, err);
    write_view_summary(call->out, path, sum);
    return HALLEY_OK;
}

static halley_status draw_trace(request_call *call, const halley_trace *trace,
                                const char *path, halley_view_opts *view,
                                halley_error *err)
{
    const view_options *o = call->options;
    uint64_t *from = NULL;
    TRY(parse_view_types(&view->types, call, &o->type, err));
    TRY(parse_ids(&from, call, &o->from, err));
    view->from = from;
    view->n_from = o->from.n;
    halley_view_summary sum;
    const halley_status status = halley_view_save(trace, path, view, &sum, err);
    free(from);
    TRY(status);
    return report_picture(call, path, &sum, err);
}

/* True if a recording is drawn as its call tree: the output is HTML and no option of the
 * graph was given. */
static bool wants_tree(const request_call *call, const halley_trace *trace,
                       const char *path)
{
    static const char *const graph_options[] = {
        "from", "depth", "way", "type", "name", "collapse", "limit", "mixed", "graph"};
    for (size_t i = 0; i < sizeof graph_options / sizeof *graph_options; i++)
        if (request_given(call, graph_options[i]))
            return false;
    return halley_recording_has_tree(trace) && str_ends(str_from(path), STR(".html"));
}

static halley_status draw_tree(request_call *call, const halley_trace *trace,
                               const char *path, const char *title, halley_error *err)
{
    const view_options *o = call->options;
    halley_tree_summary sum;
    TRY(halley_recording_tree_save(trace, path, title, &sum, err));
    if (o->output.json) {
        const halley_view_summary as_view = {
            .n_nodes = sum.n_nodes, .n_chosen = sum.n_nodes, .n_boxes = sum.n_rows};
        return write_summary_json(call, path, &as_view, err);
    }
    fprintf(call->out, "%s: call tree of %llu operators and kernels in %llu rows\n", path,
            (unsigned long long)sum.n_nodes, (unsigned long long)sum.n_rows);
    return HALLEY_OK;
}

/* Draw the trace that was read from `from`. */
static halley_status draw_named(request_call *call, const halley_trace *trace,
                                const char *from, halley_error *err)
{
    const view_options *o = call->options;
    const str name = shorten_path(from);
    strbuf path = {0}, title = {0};
    if (o->out)
        strbuf_printf(&path, "%s", o->out);
    else
        strbuf_printf(&path, "%.*s.%s", STR_ARG(name),
                      request_given(call, "form") ? forms[o->form] : "html");
    strbuf_add(&title, name);
    halley_view_opts view = {.title = o->title ? o->title : title.at,
                             .depth = o->depth,
                             .way = (halley_view_way)o->way,
                             .names = o->name.at,
                             .n_names = o->name.n,
                             .collapse = o->collapse,
                             .limit = o->limit,
                             .mixed = o->mixed};
    halley_status status = path.failed || title.failed ? error_nomem(err) : HALLEY_OK;
    const bool is_tree = status == HALLEY_OK && wants_tree(call, trace, path.at);
    if (is_tree)
        status = draw_tree(call, trace, path.at, view.title, err);
    if (status == HALLEY_OK && !is_tree)
        status = find_form(&view.form, call, path.at, err);
    if (status == HALLEY_OK && !is_tree)
        status = draw_trace(call, trace, path.at, &view, err);
    strbuf_fini(&path);
    strbuf_fini(&title);
    return status;
}

static halley_status draw_file(request_call *call, const char *path, halley_error *err)
{
    halley_trace *trace = NULL;
    TRY(halley_trace_load(&trace, path, NULL, err));
    const halley_status status = draw_named(call, trace, path, err);
    halley_trace_free(trace);
    return status;
}

static halley_status draw_set(request_call *call, halley_error *err)
{
    const view_options *o = call->options;
    halley_trace_set *set = NULL;
    TRY(traces_load_any(&set, call, 0, call->n_args, NULL, err));
    const uint32_t n = halley_trace_set_count(set);
    const halley_status status =
        o->rank < n
            ? draw_named(call, halley_trace_set_get(set, o->rank),
                         halley_trace_set_path(set, o->rank), err)
            : request_usage(call, err, "there is no rank %u, the set has %u", o->rank, n);
    halley_trace_set_free(set);
    return status;
}

static halley_status write_timeline(request_call *call, const char *path,
                                    halley_error *err)
{
    const view_options *o = call->options;
    halley_trace_set *set = NULL;
    if (request_given(call, "out") || request_given(call, "form"))
        return request_usage(call, err, "--timeline writes no picture");
    TRY(traces_load_any(&set, call, 0, call->n_args, NULL, err));
    halley_status status = report_recorded_timeline(set, path, err);
    if (status == HALLEY_OK && o->output.json)
        status = traces_written_json(set, call, path, err);
    halley_trace_set_free(set);
    return status;
}

/* A single file of a large set is read alone. */
static halley_status trace_view_run(request_call *call, halley_error *err)
{
    const view_options *o = call->options;
    const char *arg = call->args[0];
    if (o->output.json && o->out != NULL && strcmp(o->out, "-") == 0)
        return request_usage(call, err,
                             "standard output carries the JSON; name a file with --out");
    if (o->timeline)
        return write_timeline(call, o->timeline, err);
    if (call->n_args > 1 || file_is_folder(arg) || traces_is_recording(arg))
        return draw_set(call, err);
    if (file_exists(arg)) {
        if (request_given(call, "rank"))
            return request_usage(call, err,
                                 "%s is one file, so there is no --rank to choose", arg);
        return draw_file(call, arg, err);
    }
    strbuf path = {0};
    strbuf_printf(&path, "%s.%u.et", arg, o->rank);
    const halley_status status = path.failed            ? error_nomem(err)
                                 : file_exists(path.at) ? draw_file(call, path.at, err)
                                                        : draw_set(call, err);
    strbuf_fini(&path);
    return status;
}

static const request_example examples[] = {
    {"halley trace view run.0.et", "run.0.html, to open in a browser"},
    {"halley trace view run --rank 3 --collapse -o run.svg",
     "what repeats is drawn once"},
    {"halley trace view run.0.et --from 812 --way both --depth 3 -o near.svg",
     "the surroundings of one node"},
    {"halley trace view run.0.et --type coll --type send --type recv -o comm.html",
     "only communication, and what leads from one to the other"},
    {"halley trace view step --timeline step.json",
     "the recorded times; halley sim --timeline writes simulated ones"},
    {"halley trace view run.0.et -o run.graphml", "the whole graph for other programs"},
    {0},
};

const request_verb request_verb_trace_view = {
    .name = "trace view",
    .summary = "draw a trace",
    .arguments = "TRACE...",
    .arg_keys = traces_key,
    .description =

        "Draws the graph of a trace: as an HTML page to navigate and search, as SVG, "
        "or as dot or GraphML for other programs. TRACE is a file, a folder, or the "
        "prefix of a set, of which one rank is drawn.\n\n"
        "Dependencies go from top to bottom; columns are read from left to right. An "
        "edge that would be too long is labelled at both ends with the id of the "
        "other node. Data dependencies are solid lines, control dependencies dashed "
        "ones.\n\n"
        "The HTML page of a recording is its call tree: threads, ranges, operators "
        "and kernels with their times, which unfold with a click. Calls of one name "
        "by one caller are one row, so that all steps and layers are one. --graph and"
        " options that select nodes draw its graph instead.\n\n"
        "A picture of more than --limit nodes is drawn collapsed, as with --collapse:"
        " runs of one kind become one box. A repeated part is drawn once with the "
        "number of repeats. If that is still too much, each lane of a section of the "
        "graph becomes one box. The picture says so. dot and GraphML are always "
        "complete unless --collapse or --limit is given.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(view_options),
    .min_args = 1,
    .max_args = REQUEST_ANY,
    .run = trace_view_run,
};
