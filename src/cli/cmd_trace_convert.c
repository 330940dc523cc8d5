/* halley trace convert - write traces in another form. */
#include "base/error.h"
#include "cli/commands.h"
#include "cli/traces.h"

#include <stdlib.h>

typedef struct convert_options {
    uint32_t to;
    bool lossy;
    uint32_t threads;
} convert_options;

static const cli_option options[] = {
    {.name = "to",
     .letter = 't',
     .kind = CLI_CHOICE,
     .choices = traces_form_names,
     .offset = offsetof(convert_options, to),
     .doc = "form to write (default: as OUT's name ends, .et for sets)"},
    {.name = "lossy",
     .kind = CLI_FLAG,
     .offset = offsetof(convert_options, lossy),
     .doc = "JSON: leave out what it cannot carry (unknown fields, text that is not "
            "UTF-8) and say how much, instead of failing"},
    {.name = "threads",
     .letter = 'j',
     .kind = CLI_U32,
     .metavar = "N",
     .offset = offsetof(convert_options, threads),
     .doc = "files written at a time (default: one per core)"},
    {0},
};

static halley_status run(cli_call *call, halley_error *err)
{
    const convert_options *o = call->options;
    halley_trace_set *set = NULL;
    TRY(traces_load(&set, call, 0, 1, err));
    const uint32_t n = halley_trace_set_count(set);
    char *stem = traces_stem(halley_trace_set_path(set, 0));
    const traces_output output = {.path = call->args[1],
                                  .form = (traces_form)o->to,
                                  .lossy = o->lossy,
                                  .one = n == 1 && traces_is_file(call),
                                  .stem = stem,
                                  .n_threads = o->threads};
    const halley_status status =
        stem == NULL ? error_nomem(err) : traces_save(set, &output, NULL, call, err);
    free(stem);
    halley_trace_set_free(set);
    return status;
}

static const cli_example examples[] = {
    {"halley trace convert chakra.0.et chakra.json", "one valid JSON document"},
    {"halley trace convert chakra.json back.et.gz", NULL},
    {"halley trace convert --to jsonl gpt lines", "gpt.0.et ... to lines.0.jsonl ..."},
    {"halley trace convert old/ new/", "a folder with old schemas to the current one"},
    {0},
};

const cli_command cmd_trace_convert = {
    .name = "trace convert",
    .summary = "write traces in another form",
    .arguments = "TRACE OUT",
    .description =
        "Read a trace or a set in any form and write it in another. TRACE is a file, a "
        "prefix (dir/name for dir/name.0.et and so on) or a folder that holds one "
        "set.\n\n"
        "Read, whatever the name: .et of schema v0.0.4 / 1.0.0 and of v0.0.1 to v0.0.3, "
        "gzipped or not, protobuf-JSON as one document, as lines or as Chakra's "
        "jsonizer writes it, and workload_graph JSON.\n\n"
        "A file becomes the file OUT, in the form its name asks for: .et, .et.gz, .json "
        "(one document), .jsonl (an object a line). A set becomes OUT.0.et and so on, "
        "or, when OUT is a folder or ends in /, files in it under their old names. --to "
        "decides where the name does not: et, et.gz, json, jsonl, chakra-json (the same "
        "bytes as Chakra's jsonizer); 'name' is the default.\n\n"
        "Each file appears whole or not at all; when one fails, new files of this run "
        "are removed again. .et to .et keeps every byte of files that protobuf wrote. "
        "JSON cannot carry unknown fields and text that is not UTF-8: that is an error, "
        "or, with --lossy, left out and counted.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(convert_options),
    .min_args = 2,
    .max_args = 2,
    .run = run,
};
