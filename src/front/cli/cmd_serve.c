/* halley serve: the web page. */
#include "base/number/whole.h"
#include "cli/commands.h"
#include "serve/serve.h"

typedef struct serve_words {
    const char *listen, *folder;
    uint32_t port;
    bool open, read_only;
    double max_upload, max_output, max_time;
} serve_words;

static const request_option options[] = {
    {.name = "port",
     .letter = 'p',
     .kind = REQUEST_U32,
     .min = 1,
     .max = 65535,
     .metavar = "N",
     .offset = offsetof(serve_words, port),
     .doc = "TCP port to listen on",
     .by_default = "7425, or a free port when that is taken",
     .example = "8080"},
    {.name = "listen",
     .kind = REQUEST_TEXT,
     .metavar = "ADDRESS",
     .offset = offsetof(serve_words, listen),
     .doc = "address to listen on; other machines may be able to reach it",
     .by_default = "127.0.0.1, this machine only",
     .example = "0.0.0.0"},
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
     .doc = "read and write files in this folder only",
     .by_default = "halley/serve in XDG_STATE_HOME, else ~/.local/state/halley/serve",
     .example = "studies"},
    {.name = "max-upload",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_BYTES,
     .min = 1,
     .max = 1e15,
     .metavar = "SIZE",
     .offset = offsetof(serve_words, max_upload),
     .doc = "largest file that may be uploaded; all files may take four times as much",
     .by_default = "2 GB",
     .example = "500 MB"},
    {.name = "max-output",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_BYTES,
     .min = 1,
     .max = 1e15,
     .metavar = "SIZE",
     .offset = offsetof(serve_words, max_output),
     .doc = "most bytes that a request may write into files",
     .by_default = "2 GB",
     .example = "500 MB"},
    {.name = "max-time",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_TIME,
     .min = 1e-3,
     .max = 1e9,
     .metavar = "TIME",
     .offset = offsetof(serve_words, max_time),
     .doc = "cancel requests that take longer",
     .by_default = "1 hour",
     .example = "10 min"},
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
                                 .max_output = whole_u64(o->max_output),
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

        "Serves the web pages of halley to a browser on this machine until it is "
        "stopped (Ctrl-C). The first line of output is the address with a token, "
        "which is new each time. Only those who have the token can use the server.\n\n"
        "Requests over HTTP (POST /api/request, with the token as Authorization: "
        "Bearer) are those of `halley request`. Files that they name are in one "
        "folder and its subfolders; absolute paths, \"..\" and links that lead out of"
        " it are refused. Uploads are kept in .halley-serve/ there until the server "
        "ends. Work is cancelled five seconds after the browser has disconnected.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(serve_words),
    .max_args = 0,
    .run = serve_command_run,
};
