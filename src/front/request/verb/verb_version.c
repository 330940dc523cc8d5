/* The request "version": which halley this is. */
#include "halley/version.h"
#include "request/verbs.h"

static halley_status version_run(request_call *call, halley_error *err)
{
    report_json j;
    request_json_begin(&j, call);
    report_json_text(&j, "version", str_from(halley_version()));
    report_json_u64(&j, "api", (uint64_t)halley_api());
    return request_json_end(&j, call, err);
}

const request_verb request_verb_version = {
    .name = "version",
    .summary = "the version of halley and of its requests",
    .arguments = "",
    .description =
        "Reports the version of the library, and that of requests and their results. "
        "The latter grows when a key changes its meaning.",
    .run = version_run,
};
