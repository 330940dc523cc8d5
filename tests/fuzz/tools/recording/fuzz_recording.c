/*
 * Any bytes as a pair of recordings, the host's before a line "=====" and the device's
 * behind it. What links must be a trace without cycles and without missing nodes.
 */
#include "halley/trace_check.h"
#include "recording/link.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

static bool read_host(host_trace *host, const uint8_t *at, size_t n)
{
    file_stream *file = NULL;
    if (file_stream_lend(&file, at, n, "host", NULL) != HALLEY_OK)
        return false;
    const halley_status status = host_read_stream(host, file, "host", NULL);
    file_stream_close(file);
    return status == HALLEY_OK;
}

static bool read_device(device_trace *device, const uint8_t *at, size_t n)
{
    file_stream *file = NULL;
    if (file_stream_lend(&file, at, n, "device", NULL) != HALLEY_OK)
        return false;
    const halley_status status = device_read_stream(device, file, "device", NULL);
    file_stream_close(file);
    return status == HALLEY_OK;
}

static void must_be_sound(halley_trace *trace)
{
    halley_trace_set *set = NULL;
    halley_check_report *report = NULL;
    if (halley_trace_set_new(&set, &trace, 1, NULL) != HALLEY_OK)
        abort();
    if (halley_trace_check(&report, set, NULL, NULL) != HALLEY_OK)
        abort();
    for (size_t i = 0; i < report->n_codes; i++)
        if (strstr(report->codes[i].code, "cycle") ||
            strstr(report->codes[i].code, "dangling") ||
            strstr(report->codes[i].code, "duplicate"))
            abort();
    halley_check_report_free(report);
    halley_trace_set_free(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    static const char mark[] = "\n=====\n";
    const uint8_t *const line = n ? memmem(at, n, mark, sizeof mark - 1) : NULL;
    const size_t n_host = line ? (size_t)(line - at) : n;
    link_job job = {.host_path = "host", .device_path = line ? "device" : NULL};
    halley_trace *trace = NULL;
    bool ok = read_host(&job.host, at, n_host);
    if (!line && ok && job.host.timings.n > 0)
        ok = link_take_apart(&job.device, &job.host, NULL) == HALLEY_OK;
    if (line)
        ok &= read_device(&job.device, line + sizeof mark - 1,
                          n - n_host - (sizeof mark - 1));
    if (ok && link_job_build(&job, NULL) == HALLEY_OK &&
        link_job_emit(&trace, &job, NULL) == HALLEY_OK)
        must_be_sound(trace);
    link_job_fini(&job);
    return 0;
}
