/* Checks a set after it was made, or before it is used. */
#include "edit/passes.h"

#include "base/error.h"
#include "halley/synth.h"
#include "trace/check.h"

#include <assert.h>
#include <inttypes.h>

static halley_status first_error(const halley_check_report *report, halley_error *err)
{
    assert(report != NULL);
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

static halley_status run_set_check(const halley_trace_set *set, halley_check_opts opts,
                                   const trace_groups *groups, const trace_twins *twins,
                                   halley_error *err)
{
    halley_check_report *report;
    opts.max_per_code = 1;
    TRY(check_with_groups(&report, set, &opts, groups, twins, err));
    const halley_status status = first_error(report, err);
    halley_check_report_free(report);
    return status;
}

halley_status synth_passes(const halley_trace_set *set, const trace_groups *groups,
                           const trace_twins *twins, halley_error *err)
{
    return run_set_check(set, (halley_check_opts){0}, groups->list.n ? groups : NULL,
                         twins, err);
}

halley_status synth_passes_alone(const halley_trace_set *set, const char *groups_path,
                                 uint32_t n_threads, halley_error *err)
{
    assert(set != NULL);
    return run_set_check(
        set, (halley_check_opts){.groups_path = groups_path, .n_threads = n_threads},
        NULL, NULL, err);
}

halley_status halley_trace_set_passes(const halley_trace_set *set,
                                      const char *groups_path, halley_error *err)
{
    return synth_passes_alone(set, groups_path, 0, err);
}
