/* halley serve: the web page. */
#include "base/number/whole.h"
#include "cli/commands.h"
#include "serve/serve.h"

typedef struct serve_words {
    const char *listen, *folder;
    uint32_t port;
    bool open, read_only;
    double max_upload, max_time;
} serve_words;

static const request_option options[] = {
    {.name = "port",
     .letter = 'p',
     .kind = REQUEST_U32,
     .min = 1,
     .max = 65535,
     .metavar = "N",
     .offset = offsetof(serve_words, port),
     .doc = "listen on this port (default: 7425, or a free one when that is taken)"},
    {.name = "listen",
     .kind = REQUEST_TEXT,
     .metavar = "ADDRESS",
     .offset = offsetof(serve_words, listen),
     .doc = "listen on this address of the machine, which others may reach (default: "
            "127.0.0.1, this machine alone)"},
    {.name = "open",
     .kind = REQUEST_FLAG,
     .offset = offsetof(serve_words, open),
     .doc = "open the page in a browser"},
    {.name = "read-only",
     .kind = REQUEST_FLAG,
     .offset = offsetof(serve_words, read_only),
     .doc = "refuse requests that write files"},
    {.name = "folder",
     .letter = 'f',
     .kind = REQUEST_TEXT,
     .metavar = "FOLDER",
     .offset = offsetof(serve_words, folder),
     .doc = "read and write files in this folder only (default: halley/serve in "
            "XDG_STATE_HOME, else ~/.local/state/halley/serve)"},
    {.name = "max-upload",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_BYTES,
     .min = 1,
     .max = 1e15,
     .metavar = "SIZE",
     .offset = offsetof(serve_words, max_upload),
     .doc = "take files up to this size, and all together four times as much (default: "
            "2 GB)"},
    {.name = "max-time",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_TIME,
     .min = 1e-3,
     .max = 1e9,
     .metavar = "TIME",
     .offset = offsetof(serve_words, max_time),
     .doc = "cancel requests that take longer (default: 1 hour)"},
    {0},
};

static halley_status serve_command_run(request_call *call, halley_error *err)
{
    const serve_words *const o = call->options;
    const serve_options serve = {.listen = o->listen,
                                 .port = o->port,
                                 .folder = o->folder,
                                 .open = o->open,
                                 .read_only = o->read_only,
                                 .max_upload = whole_u64(o->max_upload),
                                 .most_s = o->max_time};
    const halley_status status = serve_run(&serve, stdout, err);
    return status == HALLEY_EINVAL ? request_usage(call, err, "%s", err->text) : status;
}

static const request_example examples[] = {
    {"halley serve --open", "the page in a browser"},
    {"halley serve --port 8000 --folder studies --read-only",
     "show what is in a folder, and change nothing"},
    {0},
};

const request_verb cmd_serve = {
    .name = "serve",
    .summary = "show the web page: plans, studies, simulations, traces",
    .arguments = "",
    .description =
        "Serves the pages of halley to a browser on this machine until it is stopped "
        "(Ctrl-C). The first line of output is the address with a token, which is new "
        "each time; whoever has it can use the server, nobody else.\n\n"
        "Requests over HTTP (POST /api/request, with the token as Authorization: Bearer) "
        "are those of `halley request`. Files that they name are in one folder and "
        "below; absolute paths, \"..\" and links that lead out of it are refused. What "
        "the browser sends is kept in upload/ there until the server ends. Work is "
        "cancelled five seconds after the browser has left it.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(serve_words),
    .max_args = 0,
    .run = serve_command_run,
};
