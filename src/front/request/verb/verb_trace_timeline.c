/* halley trace timeline - when the nodes of a recording ran, for Perfetto. */
#include "base/error.h"
#include "report/columns.h"
#include "report/recorded.h"
#include "request/files.h"
#include "request/trace/traces.h"
#include "request/verbs.h"

typedef struct timeline_options {
    const char *out;
    uint32_t form;
    request_output output;
} timeline_options;

static const char *const forms[] = {"chrome", "columns", NULL};
enum { FORM_COLUMNS = 1 };

static const request_option options[] = {
    REQUEST_OUT_OPTION(timeline_options, out, "FILE", "file to write", REQUEST_REQUIRED,
                       "step.json"),
    {.name = "form",
     .kind = REQUEST_CHOICE,
     .choices = forms,
     .offset = offsetof(timeline_options, form),
     .doc = "chrome: events for Perfetto and chrome://tracing; columns: binary columns "
            "for the web page (doc/reference/columns.md)",
     .by_default = "chrome"},
    TRACES_JSON_OPTION(timeline_options, output),
    {0},
};

static halley_status trace_timeline_run(request_call *call, halley_error *err)
{
    const timeline_options *o = call->options;
    halley_trace_set *set = NULL;
    if (o->out == NULL)
        return request_usage(call, err, "name the output with -o");
    TRY(traces_load_any(&set, call, 0, call->n_args, NULL, err));
    halley_status status = o->form == FORM_COLUMNS
                               ? report_recorded_columns(set, o->out, err)
                               : report_recorded_timeline(set, o->out, err);
    if (status == HALLEY_OK && o->output.json)
        status = traces_written_json(set, call, o->out, err);
    halley_trace_set_free(set);
    return status;
}

static const request_example examples[] = {
    {"halley trace timeline step -o step.json",
     "open step.json in Perfetto or chrome://tracing"},
    {0},
};

const request_verb request_verb_trace_timeline = {
    .name = "trace timeline",
    .summary = "write when the nodes of a recording ran",
    .arguments = "TRACE...",
    .arg_keys = traces_key,
    .description =

        "Writes the recorded times of all ranks as Chrome trace events for Perfetto "
        "and chrome://tracing: a process is a rank, a row is a thread or a stream. "
        "TRACE may be a recording of a profiler, which is linked in memory as with "
        "halley trace link. Traces without recorded times are refused; 'halley sim "
        "--timeline' writes the times of a simulation.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(timeline_options),
    .min_args = 1,
    .max_args = REQUEST_ANY,
    .run = trace_timeline_run,
};
