/* halley topology convert - a network in the format of another tool. */
#include "base/error.h"
#include "request/topology.h"
#include "request/verbs.h"

typedef struct convert_options {
    request_topology_source source;
    const char *to, *out;
    bool flatten;
    request_output output;
} convert_options;

static const request_option options[] = {
    REQUEST_TOPOLOGY_SOURCE(convert_options, source),
    {.name = "to",
     .kind = REQUEST_TEXT,
     .offset = offsetof(convert_options, to),
     .metavar = "FORMAT",
     .doc = "format to write",
     .by_default = "by the ending of the output file, else node-link",
     .example = "infragraph"},
    {.name = "flatten",
     .kind = REQUEST_FLAG,
     .offset = offsetof(convert_options, flatten),
     .doc = "ns3: merge NICs into their NPUs and leave out everything but NPUs and "
            "switches"},
    {.name = "output",
     .letter = 'o',
     .kind = REQUEST_TEXT,
     .writes = true,
     .offset = offsetof(convert_options, out),
     .metavar = "FILE",
     .doc = "file to write",
     .by_default = "standard output",
     .example = "fabric.json"},
    {.name = "json",
     .kind = REQUEST_FLAG,
     .offset = offsetof(convert_options, output.json),
     .doc = "with -o: report what was written as JSON"},
    {0},
};

static const request_example examples[] = {
    {"halley topology convert fabric.yaml --to infragraph -o fabric.infragraph.yaml",
     "a generated network for other tools"},
    {"halley topology convert ibnet.out --npus-per-nic 1 --to dot | dot -Tsvg > "
     "fabric.svg",
     "a picture of a real fabric"},
    {0},
};
static bool input_entry(request_entry *out, size_t i)
{
    *out = (request_entry){0};
    return halley_topology_format(i, &out->name, &out->doc) != 0;
}
static bool output_entry(request_entry *out, size_t i)
{
    *out = (request_entry){0};
    return halley_topology_output(i, &out->name, &out->doc) != 0;
}
static const request_list lists[] = {{"formats that are read", input_entry},
                                     {"formats that are written", output_entry},
                                     {0}};

/* The format that a file name suggests. */
static const char *choose_format(const convert_options *o)
{
    static const struct {
        const char *suffix, *format;
    } rows[] = {{".dot", "dot"},     {".gv", "dot"},          {".topo", "htsim"},
                {".xml", "simgrid"}, {".yaml", "infragraph"}, {".yml", "infragraph"},
                {".txt", "ns3"}};
    if (o->to != NULL)
        return o->to;
    for (size_t i = 0; o->out != NULL && i < sizeof rows / sizeof *rows; i++)
        if (str_ends(str_from(o->out), str_from(rows[i].suffix)))
            return rows[i].format;
    return "node-link";
}

/* Report what was written where, as JSON. */
static halley_status write_written(const request_call *call, const char *format,
                                   const char *path, halley_error *err)
{
    report_json j;
    request_json_begin(&j, call);
    report_json_text(&j, "format", str_from(format));
    report_json_text(&j, "file", str_from(path));
    return request_json_end(&j, call, err);
}

static halley_status convert_run(request_call *call, halley_error *err)
{
    const convert_options *o = call->options;
    report_form form;
    halley_topology *topology;
    TRY(request_output_form(&form, call, &o->output, err));
    if (form == REPORT_JSON && o->out == NULL)
        return request_usage(call, err,
                             "JSON reports what was written; give the file with -o");
    TRY(request_topology_load(&topology, call, &o->source, call->args[0], err));
    request_topology_warn(call, topology);
    halley_status status = halley_topology_save(topology, o->out != NULL ? o->out : "-",
                                                choose_format(o), o->flatten, err);
    halley_topology_free(topology);
    if (status == HALLEY_OK && form == REPORT_JSON)
        status = write_written(call, choose_format(o), o->out, err);
    return status;
}

static const char *const topology_key[] = {"topology", NULL};

const request_verb request_verb_topology_convert = {
    .name = "topology convert",
    .summary = "write a network in the format of another tool",
    .arguments = "FILE|CLUSTER",
    .arg_keys = topology_key,
    .description =
        "Reads a network, halley's own or one of another tool (recognised by content, "
        "plain, gzip, zstd or xz), and writes it in another format. Reading back what "
        "was "
        "written gives the same network; what a format cannot hold is refused with one "
        "sentence.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(convert_options),
    .min_args = 1,
    .max_args = 1,
    .lists = lists,
    .run = convert_run,
};
