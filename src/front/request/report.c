/* The public report functions: a wrapper over report/ with public names and memory. */
#include "halley/report.h"

#include "base/error.h"
#include "base/strbuf_stream.h"
#include "halley/version.h"
#include "report/explore/explore_plots.h"
#include "report/recorded.h"
#include "report/sim.h"
#include "request/explore_out.h"

#include <stdio.h>
#include <stdlib.h>

/* A text being written. */
typedef struct text_stream {
    FILE *to;
    strbuf text;
} text_stream;

static halley_status open_text(text_stream *s, halley_error *err)
{
    *s = (text_stream){0};
    s->to = strbuf_stream_open(&s->text);
    return s->to != NULL ? HALLEY_OK : error_nomem(err);
}

/* Hand the text to the caller if everything succeeded; else free it. */
static halley_status close_text(char **out, text_stream *s, halley_status status,
                                halley_error *err)
{
    if ((fclose(s->to) != 0 || s->text.failed) && status == HALLEY_OK)
        status = error_nomem(err);
    if (status == HALLEY_OK)
        *out = s->text.at;
    else
        strbuf_fini(&s->text);
    return status;
}

halley_status halley_report_explore_page(const char *path, const halley_study *study,
                                         const halley_exploration *exploration,
                                         halley_error *err)
{
    return explore_write_page(&(request_call){0}, path, study, exploration, err);
}

halley_status halley_report_explore_figures(const char *folder, const halley_study *study,
                                            const halley_exploration *exploration,
                                            halley_error *err)
{
    return report_explore_plots(folder, study, exploration, err);
}

halley_status halley_report_explore_text(char **out, const halley_study *study,
                                         const halley_exploration *exploration,
                                         uint32_t top, halley_error *err)
{
    text_stream s;
    TRY(open_text(&s, err));
    return close_text(
        out, &s, explore_write_text(study, exploration, top > 0 ? top : 10, s.to, err),
        err);
}

halley_status halley_report_sim_text(char **out, const halley_result *result,
                                     halley_error *err)
{
    text_stream s;
    TRY(open_text(&s, err));
    return close_text(out, &s, report_sim_text(result, s.to, err), err);
}

halley_status halley_report_sim_path(char **out, const halley_result *result,
                                     const halley_trace_set *traces, halley_error *err)
{
    text_stream s;
    TRY(open_text(&s, err));
    return close_text(
        out, &s, report_sim_explain(result, &(report_traces){traces, NULL}, s.to, err),
        err);
}

halley_status halley_report_sim_ranks(char **out, const halley_result *result,
                                      halley_error *err)
{
    text_stream s;
    TRY(open_text(&s, err));
    return close_text(out, &s, report_sim_ranks(result, s.to, err), err);
}

halley_status halley_report_sim_timeline(const char *path, const halley_result *result,
                                         const halley_trace_set *traces,
                                         const char *expand, halley_error *err)
{
    if (!report_sim_expand_is(expand, halley_result_ranks(result)))
        return error_set(err, HALLEY_EINVAL,
                         "expand: expected \"all\" or a list of ranks below %u, for "
                         "example 0-7,64",
                         halley_result_ranks(result));
    return report_sim_timeline(result, &(report_traces){traces, NULL}, path, expand, err);
}

halley_status halley_report_sim_heat(const char *path, const halley_result *result,
                                     halley_error *err)
{
    return report_sim_heat(result, path, err);
}

halley_status halley_report_sim_memory(const char *path, const halley_result *result,
                                       halley_error *err)
{
    return report_sim_memory(result, path, err);
}

halley_status halley_report_recording_timeline(const char *path,
                                               const halley_trace_set *traces,
                                               halley_error *err)
{
    return report_recorded_timeline(traces, path, err);
}
