/* halley topology show - what a network is made of. */
#include "base/array.h"
#include "base/error.h"
#include "report/topology.h"
#include "request/document.h"
#include "request/topology.h"
#include "request/verbs.h"

#include <stdlib.h>
#include <string.h>

typedef struct show_options {
    request_topology_choice choice;
    const char *picture, *path;
    bool counts, no_pxn;
    uint32_t boxes, rail;
    request_texts sizes;
} show_options;

static const request_option options[] = {
    {.name = "no-times",
     .kind = REQUEST_FLAG,
     .offset = offsetof(show_options, choice.no_times),
     .doc = "leave out the times of collectives, which take long on very large networks"},
    {.name = "no-cuts",
     .kind = REQUEST_FLAG,
     .offset = offsetof(show_options, choice.no_cuts),
     .doc =
         "leave out cuts, bisections and collectives, which take long on large networks"},
    {.name = "counts",
     .kind = REQUEST_FLAG,
     .offset = offsetof(show_options, counts),
     .doc = "count devices and cables and price them without building the network"},
    {.name = "picture",
     .kind = REQUEST_TEXT,
     .writes = true,
     .offset = offsetof(show_options, picture),
     .metavar = "FILE",
     .doc = "draw the network into FILE, .svg or .html",
     .by_default = "none",
     .example = "fabric.svg"},
    {.name = "size",
     .kind = REQUEST_TEXTS,
     .offset = offsetof(show_options, sizes),
     .metavar = "BYTES",
     .doc = "also report collective times for this many bytes per NPU",
     .by_default = "none",
     .example = "64 MiB"},
    {.name = "path",
     .kind = REQUEST_TEXT,
     .offset = offsetof(show_options, path),
     .metavar = "FROM,TO",
     .doc = "also report a shortest path between two NPUs, given by number",
     .by_default = "none",
     .example = "0,63"},
    {.name = "no-pxn",
     .kind = REQUEST_FLAG,
     .offset = offsetof(show_options, no_pxn),
     .doc = "with --path: let the path change rails in the fabric, not inside the node"},
    {.name = "boxes",
     .kind = REQUEST_U32,
     .min = 1,
     .max = 256,
     .offset = offsetof(show_options, boxes),
     .metavar = "N",
     .doc = "with --json: also write a drawing of at most N boxes per layer",
     .by_default = "none",
     .example = "32"},
    {.name = "rail",
     .kind = REQUEST_U32,
     .offset = offsetof(show_options, rail),
     .metavar = "N",
     .doc = "rail or plane whose cables the drawing highlights",
     .by_default = "0",
     .example = "3"},
    REQUEST_TOPOLOGY_SOURCE(show_options, choice.source),
    REQUEST_OUTPUT_OPTIONS(show_options, choice.output),
    {0},
};

static const request_example examples[] = {
    {"halley topology show fabric.yaml", "sizes, distances, bisection, cost and power"},
    {"halley topology show fabric.yaml --json", "the same for programs"},
    {"halley topology show ibnet.out.zst --picture fabric.html", "a real fabric, drawn"},
    {"halley topology show fabric.yaml --path 0,63 --size '64 MiB'",
     "which way a message takes; how long collectives of 64 MiB take"},
    {0},
};
static bool generator_entry(request_entry *out, size_t i)
{
    *out = (request_entry){0};
    return halley_topology_generator(i, &out->name, &out->doc) != 0;
}
static bool key_entry(request_entry *out, size_t i)
{
    *out = (request_entry){0};
    return halley_topology_key(i, &out->name, &out->doc) != 0;
}
static const request_list lists[] = {
    {"topologies", generator_entry}, {"keys of a network", key_entry}, {0}};

static halley_status write_counts_json(const request_call *call,
                                       const halley_topology_counts *c, halley_error *err)
{
    report_json j;
    request_json_begin(&j, call);
    report_json_u64(&j, "npus", c->npus);
    report_json_u64(&j, "nics", c->nics);
    report_json_u64(&j, "switches", c->switches);
    report_json_u64(&j, "links", c->cables);
    report_json_u64(&j, "switch_links", c->switch_cables);
    if (c->cost_usd > 0)
        report_json_double(&j, "network_cost_usd", c->cost_usd);
    if (c->power_w > 0)
        report_json_double(&j, "network_power_w", c->power_w);
    return request_json_end(&j, call, err);
}

static const report_column count_columns[] = {
    {"NPUs", "npus", REPORT_COUNT, 0, 0},
    {"NICs", "nics", REPORT_COUNT, 0, 0},
    {"switches", "switches", REPORT_COUNT, 0, 0},
    {"cables", "links", REPORT_COUNT, 0, 0},
    {"between switches", "switch_links", REPORT_COUNT, 0, 0},
    {"cost", "network_cost_usd", REPORT_QUANTITY, UNITS_MONEY, 0},
    {"power", "network_power_w", REPORT_QUANTITY, UNITS_POWER, 0},
};

static halley_status count_network(const request_call *call, report_form form,
                                   halley_error *err)
{
    halley_topology_counts c;
    const char *text = call->args[0];
    if (request_is_document(text))
        TRY(halley_topology_count_text(&c, text, strlen(text), "topology", err));
    else
        TRY(halley_topology_count(&c, text, err));
    if (form == REPORT_JSON)
        return write_counts_json(call, &c, err);
    report_table *t =
        report_table_new(count_columns, sizeof count_columns / sizeof *count_columns);
    if (t == NULL)
        return error_nomem(err);
    report_table_count(t, c.npus);
    report_table_count(t, c.nics);
    report_table_count(t, c.switches);
    report_table_count(t, c.cables);
    report_table_count(t, c.switch_cables);
    report_table_number_or_empty(t, c.cost_usd);
    report_table_number_or_empty(t, c.power_w);
    return request_table_write(call, t, "networks", form, err);
}

/* Report that the value of an option is at fault, not the network. */
static halley_status refuse_option(request_call *call, const char *option,
                                   halley_error *err)
{
    char why[512];
    snprintf(why, sizeof why, "%.500s", err->text);
    return request_usage(call, err, "%s: %s", option, why);
}

static halley_status draw_network(halley_topology_drawing **out, request_call *call,
                                  const halley_topology *topology, halley_error *err)
{
    const show_options *o = call->options;
    halley_topology_drawing_options how = {
        .boxes = o->boxes, .rail = o->rail, .no_pxn = o->no_pxn};
    *out = NULL;
    if (o->path != NULL && request_topology_read_path(&how, o->path, err) != HALLEY_OK)
        return refuse_option(call, "--path", err);
    return o->boxes > 0 || o->path != NULL
               ? halley_topology_draw(out, topology, &how, err)
               : HALLEY_OK;
}

static halley_status write_network(request_call *call, report_form form,
                                   const halley_topology *topology,
                                   const halley_topology_report *report,
                                   halley_error *err)
{
    const show_options *o = call->options;
    halley_topology_drawing *drawing = NULL;
    double *sizes = mem_array_zero(o->sizes.n, sizeof *sizes);
    halley_status status = sizes == NULL
                               ? error_nomem(err)
                               : request_topology_read_sizes(sizes, &o->sizes, err);
    if (status != HALLEY_OK && sizes != NULL)
        status = refuse_option(call, "--size", err);
    if (status == HALLEY_OK && o->picture != NULL)
        status =
            report_topology_picture(topology, report, call->args[0], o->picture, err);
    if (status == HALLEY_OK)
        status = draw_network(&drawing, call, topology, err);
    const request_topology_extra extra = {sizes, o->sizes.n, drawing};
    if (status == HALLEY_OK)
        status = form == REPORT_JSON
                     ? request_topology_json(call, report, &extra, err)
                     : request_topology_table(call, report, &extra, form, err);
    halley_topology_drawing_free(drawing);
    free(sizes);
    return status;
}

static halley_status show_run(request_call *call, halley_error *err)
{
    const show_options *o = call->options;
    report_form form;
    halley_topology *topology;
    halley_topology_report *report;
    TRY(request_output_form(&form, call, &o->choice.output, err));
    if (o->boxes > 0 && form != REPORT_JSON)
        return request_usage(call, err, "--boxes needs --json; --picture draws a file");
    if (o->counts)
        return count_network(call, form, err);
    TRY(request_topology_measure(&report, &topology, call, &o->choice, !o->choice.no_cuts,
                                 err));
    const halley_status status = write_network(call, form, topology, report, err);
    halley_topology_report_free(report);
    halley_topology_free(topology);
    return status;
}

static const char *const topology_key[] = {"topology", NULL};

const request_verb request_verb_topology_show = {
    .name = "topology show",
    .summary = "describe a network: sizes, bisection, cost and power",
    .arguments = "FILE|CLUSTER",
    .arg_keys = topology_key,
    .description =
        "Builds the graph of a network and describes it: devices by kind, cables "
        "with their rates and latencies, distances between NPUs in links, "
        "injection rate, cost and power. It computes the cut between the first "
        "half of the NPUs and the rest, and the bisection, which is the smallest "
        "such cut. The bisection follows from the formula of the topology, or from "
        "all equal splits of at most 12 NPUs. It also prints the oversubscription "
        "of every tier of switches, and the time of an all-reduce and an "
        "all-to-all of 1 GB per NPU on the idle network.\n\n" REQUEST_TOPOLOGY_FILE "\n\n"
        "The drawing (--boxes) has layers from the bottom up: nodes, then switches "
        "by tier. Each box has the number of nodes or devices that it represents. "
        "Lines between boxes have their cables and their rate in Gb/s, one "
        "direction. A network without switches is a circle or a grid, whose boxes "
        "have x and y. A path lists its devices and their boxes.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(show_options),
    .min_args = 1,
    .max_args = 1,
    .lists = lists,
    .run = show_run,
};
