/* The last look at a set before it is handed out, or the first before it is used. */
#include "synth/passes.h"

#include "base/error.h"
#include "halley/synth.h"
#include "trace/check.h"

#include <inttypes.h>

static halley_status first_error(const halley_check_report *report, halley_error *err)
{
    for (size_t i = 0; i < report->n_findings; i++) {
        const halley_finding *const f = &report->findings[i];
        char text[600];
        if (f->severity == HALLEY_ERROR)
            return error_set(err, HALLEY_EINVAL,
                             "the traces do not pass 'halley trace check' (%" PRIu64
                             " errors), first: %s",
                             report->n[HALLEY_ERROR],
                             halley_finding_format(f, text, sizeof text));
    }
    return HALLEY_OK;
}

static halley_status check(const halley_trace_set *set, const char *groups_path,
                           const trace_groups *groups, halley_error *err)
{
    const halley_check_opts opts = {.max_per_code = 1, .groups_path = groups_path};
    halley_check_report *report;
    TRY(check_with_groups(&report, set, &opts, groups, err));
    const halley_status status = first_error(report, err);
    halley_check_report_free(report);
    return status;
}

halley_status synth_passes(const halley_trace_set *set, const trace_groups *groups,
                           halley_error *err)
{
    return check(set, NULL, groups->list.n ? groups : NULL, err);
}

halley_status halley_trace_set_passes(const halley_trace_set *set,
                                      const char *groups_path, halley_error *err)
{
    return check(set, groups_path, NULL, err);
}
