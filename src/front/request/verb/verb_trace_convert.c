/* halley trace convert - write traces in another form. */
#include "base/error.h"
#include "base/file/file.h"
#include "base/number/whole.h"
#include "halley/ingest.h"
#include "halley/trace_template.h"
#include "request/files.h"
#include "request/trace/fidelity.h"
#include "request/trace/traces.h"
#include "request/verbs.h"

#include <stdlib.h>

typedef struct convert_options {
    uint32_t to, reader;
    bool lossy, chakra, roles;
    uint32_t threads, npus, passes;
    double size_bytes;
    bool force;
    request_output output;
} convert_options;

static const request_option options[] = {
    {.name = "to",
     .letter = 't',
     .kind = REQUEST_CHOICE,
     .choices = traces_form_names,
     .offset = offsetof(convert_options, to),
     .doc = "file format to write",
     .by_default = "by the ending of OUT, .et for sets"},
    FIDELITY_FOR_OPTION(convert_options, reader),
    {.name = "template",
     .kind = REQUEST_FLAG,
     .offset = offsetof(convert_options, roles),
     .doc = "write one trace per role and OUT.roles.yaml: ranks that differ only in "
            "groups and peers share a trace"},
    {.name = "lossy",
     .kind = REQUEST_FLAG,
     .offset = offsetof(convert_options, lossy),
     .doc = "JSON: drop what it cannot represent (unknown fields, text that is not "
            "UTF-8) and report how much, instead of failing"},
    REQUEST_THREADS_OPTION(convert_options, threads, "files to write"),
    {.name = "npus",
     .letter = 'n',
     .kind = REQUEST_U32,
     .metavar = "N",
     .offset = offsetof(convert_options, npus),
     .doc = "text workloads: number of traces to make",
     .by_default = "one model-parallel group, else 1",
     .example = "16"},
    {.name = "passes",
     .kind = REQUEST_U32,
     .metavar = "N",
     .offset = offsetof(convert_options, passes),
     .doc = "text workloads: number of training steps",
     .by_default = "1",
     .example = "2"},
    {.name = "size",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_BYTES,
     .metavar = "BYTES",
     .offset = offsetof(convert_options, size_bytes),
     .doc = "MSCCL and MSCCL++: size of the collective",
     .by_default = "none",
     .example = "64 MiB"},
    {.name = "chakra",
     .kind = REQUEST_FLAG,
     .offset = offsetof(convert_options, chakra),
     .doc = "text workloads: write exactly the bytes that Chakra's converter writes, "
            "including its defects"},
    REQUEST_FORCE_OPTION(convert_options, force),
    TRACES_JSON_OPTION(convert_options, output),
    {0},
};

/* Load an execution trace, alone or as Chakra's trace_link writes it. */
static halley_status load_recording(halley_trace_set **out, const char *path,
                                    halley_error *err)
{
    halley_trace *trace = NULL;
    TRY(halley_trace_link(&trace, NULL, path, NULL, NULL, err));
    const halley_status status = halley_trace_set_new(out, &trace, 1, err);
    if (status != HALLEY_OK)
        halley_trace_free(trace);
    return status;
}

/* Load other programs' descriptions of what to run, which become one trace per rank. */
static halley_status load_foreign(halley_trace_set **out, bool *found, request_call *call,
                                  halley_error *err)
{
    const convert_options *o = call->options;
    const char *const path = call->args[0];
    const halley_text_opts text = {
        .n_npus = o->npus, .n_passes = o->passes, .chakra = o->chakra};
    *found = true;
    if (halley_text_recognise(path))
        return halley_text_load(out, path, &text, err);
    if (halley_host_recognise(path))
        return load_recording(out, path, err);
    *found = halley_msccl_recognise(path);
    if (!*found)
        return HALLEY_OK;
    if (!(o->size_bytes >= 1 && o->size_bytes < 9e18))
        return request_usage(call, err,
                             "an algorithm of MSCCL needs --size, the data it is for");
    return halley_msccl_load(out, path, whole_u64(o->size_bytes), err);
}

static halley_status copy_group_file(const void *from, const char *path,
                                     halley_error *err)
{
    file_input in;
    file_output *out = NULL;
    TRY(file_input_open(&in, from, err));
    halley_status status = file_output_open(&out, path, err);
    if (status == HALLEY_OK) {
        file_output_write(out, in.at, in.n);
        status = file_output_commit(out, err);
    }
    file_input_close(&in);
    return status;
}

/* Write a trace per role and the index. */
static halley_status write_roles(request_call *call, const halley_trace_set *set,
                                 bool declared, halley_error *err)
{
    const convert_options *o = call->options;
    halley_template *t = NULL;
    halley_template_summary sum;
    report_json j;
    char *groups = declared ? NULL : halley_trace_set_groups(set);
    halley_status status = halley_template_of_set(&t, set, groups, err);
    free(groups);
    TRY(status);
    status = halley_template_save(t, call->args[1], &sum, err);
    const uint32_t n_roles = halley_template_roles(t);
    halley_template_free(t);
    TRY(status);
    if (!o->output.json) {
        fprintf(call->out, "%u ranks in %u role%s, %llu bytes\n",
                halley_trace_set_count(set), n_roles, n_roles == 1 ? "" : "s",
                (unsigned long long)sum.n_bytes);
        return HALLEY_OK;
    }
    request_json_begin(&j, call);
    report_json_text(&j, "out", str_from(call->args[1]));
    report_json_u64(&j, "n_ranks", halley_trace_set_count(set));
    report_json_u64(&j, "n_roles", n_roles);
    return request_json_end(&j, call, err);
}

static halley_status trace_convert_run(request_call *call, halley_error *err)
{
    const convert_options *o = call->options;
    halley_trace_set *set = NULL;
    bool foreign;
    TRY(load_foreign(&set, &foreign, call, err));
    if (!foreign)
        TRY(traces_load(&set, call, 0, 1, err));
    if (o->roles) {
        const halley_status done = write_roles(call, set, foreign, err);
        halley_trace_set_free(set);
        return done;
    }
    const uint32_t n = halley_trace_set_count(set);
    char *stem = traces_stem(foreign ? call->args[0] : halley_trace_set_path(set, 0));
    traces_output output = {.path = call->args[1],
                            .form = (traces_form)o->to,
                            .lossy = o->lossy,
                            .one = n == 1 && traces_is_file(call) &&
                                   (!foreign || halley_host_recognise(call->args[0])),
                            .stem = stem,
                            .n_threads = o->threads,
                            .save_groups = foreign ? traces_save_declared : NULL,
                            .groups = set};
    char *const groups = foreign || output.one ? NULL : halley_trace_set_groups(set);
    if (groups != NULL) {
        output.save_groups = copy_group_file;
        output.groups = groups;
    }
    halley_trace_set *portable = NULL;
    halley_status status = stem == NULL ? error_nomem(err) : HALLEY_OK;
    if (status == HALLEY_OK && o->reader == FIDELITY_ASTRA_SIM)
        status = fidelity_make_portable(&portable, call, set, err);
    if (status == HALLEY_OK)
        status = traces_save(portable != NULL ? portable : set, &output, call, err);
    halley_trace_set_free(portable);
    free(stem);
    free(groups);
    if (status == HALLEY_OK && o->output.json)
        status = traces_written_json(set, call, call->args[1], err);
    halley_trace_set_free(set);
    return status;
}

static const request_example examples[] = {
    {"halley trace convert chakra.0.et chakra.json", "one valid JSON document"},
    {"halley trace convert chakra.json back.et.gz", NULL},
    {"halley trace convert --to jsonl gpt lines", "gpt.0.et ... to lines.0.jsonl ..."},
    {"halley trace convert -n 16 --passes 2 resnet50.txt resnet50",
     "a workload of ASTRA-sim 1.0"},
    {"halley trace convert --size '64 MiB' allreduce.xml ar",
     "an algorithm of MSCCL, for custom: {all-reduce: ar} in a cluster file"},
    {"halley trace convert old/ new/", "a folder with old schemas to the current one"},
    {0},
};

static const char *const convert_keys[] = {"trace", "out", NULL};

const request_verb request_verb_trace_convert = {
    .name = "trace convert",
    .summary = "write traces in another form",
    .arguments = "TRACE OUT",
    .arg_keys = convert_keys,
    .description =

        "Reads a trace or a set in any format and writes it in another. TRACE is a "
        "file, a prefix (dir/name for dir/name.0.et and so on) or a folder that "
        "holds one set.\n\n"
        "The format of the input is found by content:\n"
        " - .et of schema v0.0.4 / 1.0.0 and of v0.0.1 to v0.0.3, plain or gzip\n"
        " - protobuf-JSON: one document, lines, or as Chakra's jsonizer writes it\n"
        " - workload_graph JSON\n"
        " - text workloads of ASTRA-sim 1.0 and COMET\n"
        " - collective algorithms of MSCCL (XML) and MSCCL++ (JSON)\n"
        " - PyTorch execution traces, alone or linked by Chakra's trace_link\n\n"
        "Text workloads are MICRO, DATA, MODEL, HYBRID_DATA_MODEL, "
        "HYBRID_MODEL_DATA, HYBRID_DLRM, HYBRID_TRANSFORMER, "
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD, HYBRID_CUSTOMIZED and "
        "DISTRIBUTED_INFERENCE. They become OUT.0.et and so on for --npus NPUs, "
        "with OUT.comm_group.json if there are groups. A collective algorithm "
        "becomes one trace of sends, receives and reductions per GPU. Name it as "
        "custom in a cluster file, or as ...-implementation-custom in ASTRA-sim's "
        "system file. A PyTorch execution trace becomes one trace, as with halley "
        "trace link.\n\n"
        "A file becomes the file OUT, in the format of its ending: .et, .et.gz, "
        ".json (one document) or .jsonl (one object per line). A set becomes "
        "OUT.0.et and so on. If OUT is a folder or ends with /, the files keep "
        "their names, and the groups next to the set are copied. The option --to "
        "overrides the ending: et, et.gz, json, jsonl, or chakra-json (the same "
        "bytes as Chakra's jsonizer).\n\n"
        "Each file is written as a whole or not at all; if one fails, new files of "
        "this run are removed. Converting .et to .et keeps every byte of files "
        "that protobuf wrote. JSON cannot represent unknown fields and text that "
        "is not UTF-8. These are an error, or are left out and counted with "
        "--lossy.",
    .examples = examples,
    .recognises_first = true,
    .options = options,
    .options_size = sizeof(convert_options),
    .min_args = 2,
    .max_args = 2,
    .writes_last = true,
    .run = trace_convert_run,
};
