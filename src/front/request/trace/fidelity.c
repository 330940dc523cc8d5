#include "request/trace/fidelity.h"

#include "base/number/number.h"
#include "halley/portable.h"
#include "halley/sim.h"

#include <math.h>

const char *const fidelity_readers[] = {"halley", "astra-sim", NULL};

/* From this share on, a note names it. */
static const double NOTED_SHARE = 0.01;
/* From this share of covered device time on, questions belong to the original. */
static const double COVERED_SHARE = 0.05;

static bool is_recording(const halley_trace_set *set)
{
    for (uint32_t r = 0; r < halley_trace_set_count(set); r++) {
        const halley_trace *const trace = halley_trace_set_get(set, r);
        for (uint32_t i = 0; i < halley_trace_metadata_count(trace); i++) {
            const halley_attr attr = halley_trace_metadata(trace, i);
            const str name = {attr.name.at, attr.name.n};
            if (str_eq(name, STR("recording")) || str_eq(name, STR("device_recording")))
                return true;
        }
    }
    return false;
}

static halley_status replay_time(double *seconds, const halley_trace_set *set,
                                 halley_error *err)
{
    halley_result *result;
    TRY(halley_sim_replay(&result, set, false, err));
    *seconds = halley_result_wall_s(result);
    halley_result_free(result);
    return HALLEY_OK;
}

halley_status fidelity_check(double *ratio, const request_call *call,
                             const halley_trace_set *from, const halley_trace_set *to,
                             halley_error *err)
{
    halley_error why = {0};
    double before = 0, after = 0;
    *ratio = -1;
    if (!is_recording(from))
        return HALLEY_OK;
    halley_status status = replay_time(&before, from, &why);
    if (status == HALLEY_ENOMEM)
        return error_nomem(err);
    if (status != HALLEY_OK || before <= 0)
        return HALLEY_OK;
    status = replay_time(&after, to, &why);
    if (status == HALLEY_ENOMEM)
        return error_nomem(err);
    if (status != HALLEY_OK) {
        char text[HALLEY_ERROR_TEXT + HALLEY_ERROR_FILE];
        request_note(call, "warning: the result cannot be replayed: %s",
                     halley_error_format(&why, text, sizeof text));
        return HALLEY_OK;
    }
    *ratio = after / before;
    if (fabs(*ratio - 1) > NOTED_SHARE)
        request_note(call, "warning: replays %s times as long as the recording",
                     number_digits(*ratio, 4).at);
    return HALLEY_OK;
}

void fidelity_write_json(report_json *j, double ratio)
{
    if (ratio >= 0)
        report_json_double(j, "replay_ratio", ratio);
}

static bool has_free_lane(const halley_trace_set *set)
{
    halley_attr attr;
    for (uint32_t r = 0; r < halley_trace_set_count(set); r++) {
        const halley_trace *const trace = halley_trace_set_get(set, r);
        for (uint32_t i = 0; i < halley_trace_count(trace); i++)
            if (halley_node_find_attr(&attr, trace, i, HALLEY_ATTR_NAME_FREE_LANE))
                return true;
    }
    return false;
}

halley_status fidelity_note_lanes(const request_call *call, const halley_trace_set *set,
                                  double seconds, halley_error *err)
{
    double replayed = 0;
    halley_error why = {0};
    if (!is_recording(set) || !has_free_lane(set))
        return HALLEY_OK;
    if (replay_time(&replayed, set, &why) == HALLEY_ENOMEM)
        return error_nomem(err);
    if (why.code == HALLEY_OK && replayed > 0 &&
        fabs(seconds / replayed - 1) > NOTED_SHARE)
        request_note(call,
                     "warning: this takes %s times as long as the recording, whose "
                     "threads, streams and lags ASTRA-sim does not have; write it with "
                     "'halley trace convert --for astra-sim'",
                     number_digits(seconds / replayed, 4).at);
    return HALLEY_OK;
}

static void note_share(const request_call *call, double part, double whole, double least,
                       const char *sentence)
{
    if (whole > 0 && part / whole > least)
        request_note(call, sentence, number_fixed(100 * part / whole, 1).at);
}

/* Replay a result, and warn if that does not take the time it should. */
static halley_status warn_of_ratio(const request_call *call, double expected_s,
                                   const halley_trace_set *set, halley_error *err)
{
    double after = 0;
    halley_error why = {0};
    if (replay_time(&after, set, &why) == HALLEY_ENOMEM)
        return error_nomem(err);
    if (why.code == HALLEY_OK && expected_s > 0 &&
        fabs(after / expected_s - 1) > NOTED_SHARE)
        request_note(call, "warning: replays %s times as long as the source",
                     number_digits(after / expected_s, 4).at);
    return HALLEY_OK;
}

halley_status fidelity_make_portable(halley_trace_set **out, const request_call *call,
                                     const halley_trace_set *set, halley_error *err)
{
    halley_portable p;
    TRY(halley_trace_make_portable(out, &p, set, err));
    if (warn_of_ratio(call, p.wall_s, *out, err) == HALLEY_ENOMEM) {
        halley_trace_set_free(*out);
        *out = NULL;
        return HALLEY_ENOMEM;
    }
    note_share(call, p.device_gap_s, p.wall_s, NOTED_SHARE,
               "note: %s %% of the time are late starts on the device without a recorded "
               "cause; ASTRA-sim counts them as GPU time");
    note_share(call, p.covered_s, p.device_s, COVERED_SHARE,
               "note: %s %% of the device time runs at the same time as another stream, "
               "which this form "
               "cannot show; ask what-if questions of the trace without --for");
    if (p.n_recoded > 0)
        request_note(call,
                     "note: %llu communications are written as broadcasts of their "
                     "recorded duration: ASTRA-sim does not know them, or their group is "
                     "not in the set",
                     (unsigned long long)p.n_recoded);
    if (p.n_lost > 0)
        request_note(call, "note: %llu dependencies led back in time and are left out",
                     (unsigned long long)p.n_lost);
    return HALLEY_OK;
}
