/* halley request: reads one JSON request and prints its reply, as halley_request returns
 * it. */
#include "base/file/file.h"
#include "cli/commands.h"
#include "halley/request.h"

#include <stdlib.h>

static halley_status request_command_run(request_call *call, halley_error *err)
{
    char *reply = NULL;
    file_input in;
    TRY(file_input_open(&in, call->n_args > 0 ? call->args[0] : "-", err));
    /* Zero bytes follow the end of the input. */
    const halley_status status =
        halley_request(&reply, (const char *)in.at, call->watch, err);
    file_input_close(&in);
    request_work_end(call);
    TRY(status);
    fputs(reply, stdout); /* JSON escapes whatever would control a terminal */
    if (!str_starts(str_from(reply), STR("{\"ok\": true")))
        call->exit_code = REQUEST_FAILED;
    free(reply);
    return HALLEY_OK;
}

static const request_example examples[] = {
    {"echo '{\"do\": \"presets\"}' | halley request", "a request from standard input"},
    {"halley request request.json", "one from a file"},
    {0},
};

const request_verb cmd_request = {
    .name = "request",
    .summary = "carry out a JSON request and print its reply",
    .arguments = "[FILE]",
    .description =

        "Reads a request from FILE or standard input: an object with a verb and the "
        "options of that command, with _ for -. For example: {\"do\": \"estimate\", "
        "\"model\": \"llama3-70b\", \"cluster\": \"dgx-h100:64\", \"tp\": 8}. A "
        "model, cluster, plan, stack or study may be a preset, a path or the document"
        " itself.\n\n"
        "Prints the reply: {\"ok\": true, \"result\": {...}}, or {\"ok\": false, "
        "\"error\": {\"code\", \"message\", ...}} with exit code 1. The web server "
        "(halley serve) and the Python package give the same replies. `halley help "
        "json` lists the keys of results.",
    .examples = examples,
    .max_args = 1,
    .run = request_command_run,
};
