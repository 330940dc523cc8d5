/* halley trace spread - all ranks of a job from the recording of one. */
#include "base/error.h"
#include "base/number/number.h"
#include "halley/recording_job.h"
#include "halley/spread.h"
#include "request/files.h"
#include "request/trace/traces.h"
#include "request/verbs.h"

#include <inttypes.h>

typedef struct spread_options {
    const char *out, *groups;
    uint32_t tp, dp, pp, rank, form;
    bool force;
    request_output output;
} spread_options;

static const request_option options[] = {
    {.name = "out",
     .letter = 'o',
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "OUT",
     .offset = offsetof(spread_options, out),
     .doc = "prefix or folder to write",
     .by_default = REQUEST_REQUIRED,
     .example = "job"},
    {.name = "tp",
     .kind = REQUEST_U32,
     .min = 1,
     .max = 65536,
     .metavar = "N",
     .offset = offsetof(spread_options, tp),
     .doc = "number of tensor-parallel ranks",
     .by_default = "1",
     .example = "8"},
    {.name = "dp",
     .kind = REQUEST_U32,
     .min = 1,
     .max = 65536,
     .metavar = "N",
     .offset = offsetof(spread_options, dp),
     .doc = "number of data-parallel ranks",
     .by_default = "1",
     .example = "4"},
    {.name = "pp",
     .kind = REQUEST_U32,
     .min = 1,
     .max = 65536,
     .metavar = "N",
     .offset = offsetof(spread_options, pp),
     .doc = "number of pipeline stages",
     .by_default = "1",
     .example = "2"},
    {.name = "rank",
     .kind = REQUEST_U32,
     .metavar = "N",
     .offset = offsetof(spread_options, rank),
     .doc = "the rank to take of several; of one, its number if it is not recorded",
     .by_default = "the most typical rank, else 0",
     .example = "3"},
    {.name = "groups",
     .letter = 'g',
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(spread_options, groups),
     .doc = "ranks of the recorded rank's groups, in ASTRA-sim's form {\"1\": [0, 1]}",
     .by_default = "as recorded",
     .example = "groups.json"},
    {.name = "form",
     .kind = REQUEST_CHOICE,
     .choices = traces_form_names,
     .offset = offsetof(spread_options, form),
     .doc = "file format to write",
     .by_default = ".et"},
    REQUEST_FORCE_OPTION(spread_options, force),
    TRACES_JSON_OPTION(spread_options, output),
    {0},
};

static void note_spread(const request_call *call, const halley_spread_report *r,
                        uint32_t pp)
{
    if (pp > 1)
        request_note(call,
                     "every stage does what rank %" PRIu32
                     " did: it %s, so the time of the other stages' embedding or head "
                     "is %s",
                     r->recorded_rank,
                     r->has_embedding ? "looks up the embedding"
                                      : "looks up no embedding",
                     r->has_embedding ? "that of every stage" : "missing");
    if (r->n_lone > 0)
        request_note(call,
                     "%" PRIu64 " messages between stages keep their recorded length: "
                     "the recorded stage does not send as much as it receives, as an "
                     "inner stage would",
                     r->n_lone);
}

static halley_status write_spread(request_call *call, const halley_trace_set *set,
                                  const halley_spread_report *r, halley_error *err)
{
    const spread_options *o = call->options;
    if (o->output.json)
        return traces_written_json(set, call, o->out, err);
    fprintf(call->out,
            "rank %" PRIu32 " as %" PRIu32 " ranks: %" PRIu64
            " collectives each, %" PRIu32 " groups\n",
            r->recorded_rank, r->n_ranks, r->n_collectives, r->n_groups);
    return HALLEY_OK;
}

/* The rank of a recorded job to spread: --rank, else the typical one, whose work between
 * collectives is nearest to the median. Notes how far the slowest rank is from it. */
static halley_status choose_rank(uint32_t *rank, const request_call *call,
                                 const halley_trace_set *set, halley_error *err)
{
    const spread_options *o = call->options;
    halley_job *job;
    const halley_status status = halley_job_analyse(&job, set, err);
    if (status == HALLEY_EINVAL)
        return error_set(err, HALLEY_EINVAL,
                         "there are %" PRIu32
                         " ranks already, and they are no recordings; "
                         "`halley trace scale --dp` changes how many there are",
                         halley_trace_set_count(set));
    TRY(status);
    *rank = request_given(call, "rank") ? o->rank : job->typical_rank;
    if (*rank >= job->n_ranks) {
        const uint32_t n = job->n_ranks;
        halley_job_free(job);
        return error_set(err, HALLEY_EINVAL, "there is no rank %" PRIu32 " of %" PRIu32,
                         *rank, n);
    }
    uint32_t slowest = 0;
    for (uint32_t r = 1; r < job->n_ranks; r++)
        slowest = job->ranks[r].own_s > job->ranks[slowest].own_s ? r : slowest;
    const double own_s = job->ranks[*rank].own_s;
    const double more = own_s > 0 ? job->ranks[slowest].own_s / own_s - 1 : 0;
    request_note(call, "note: rank %" PRIu32 " of %" PRIu32 " is taken%s", *rank,
                 job->n_ranks,
                 *rank == job->typical_rank ? ", the most typical one" : "");
    if (more >= 0.01)
        request_note(call,
                     "note: the job waits for rank %" PRIu32
                     ", which has %s %% more work of its own",
                     slowest, number_fixed(100 * more, 0).at);
    halley_job_free(job);
    return HALLEY_OK;
}

static halley_status spread_set(request_call *call, const halley_trace_set *set,
                                halley_error *err)
{
    const spread_options *o = call->options;
    uint32_t rank = 0;
    const halley_spread_opts opts = {
        .tp = o->tp, .dp = o->dp, .pp = o->pp, .rank = o->rank, .groups_path = o->groups};
    halley_spread_report report;
    halley_trace_set *out = NULL;
    if (halley_trace_set_count(set) > 1)
        TRY(choose_rank(&rank, call, set, err));
    else
        request_note(call, "note: the other ranks are not known; the job waits for its "
                           "slowest rank, which may take longer than this one");
    TRY(halley_trace_spread(&out, &report, halley_trace_set_get(set, rank), &opts, err));
    const traces_output output = {.path = o->out,
                                  .form = (traces_form)o->form,
                                  .save_groups = traces_save_declared,
                                  .groups = out};
    halley_status status = traces_save(out, &output, call, err);
    if (status == HALLEY_OK) {
        note_spread(call, &report, o->pp);
        status = write_spread(call, out, &report, err);
    }
    halley_trace_set_free(out);
    return status;
}

static halley_status trace_spread_run(request_call *call, halley_error *err)
{
    const spread_options *o = call->options;
    halley_trace_set *set = NULL;
    if (o->out == NULL)
        return request_usage(call, err, "name the output with --out: a prefix or folder");
    TRY(traces_load_any(&set, call, 0, call->n_args, NULL, err));
    const halley_status status = spread_set(call, set, err);
    halley_trace_set_free(set);
    return status;
}

static const request_example examples[] = {
    {"halley trace spread rank0.json.gz -o job --dp 8",
     "eight replicas of one recording"},
    {"halley trace spread rank0.et -o job --tp 4 --dp 2", NULL},
    {0},
};

const request_verb request_verb_trace_spread = {
    .name = "trace spread",
    .summary = "make all ranks of a job from one recorded rank",
    .arguments = "TRACE",
    .arg_keys = traces_key,
    .description =

        "Writes tp x dp x pp ranks that each do what the recorded rank did, in groups"
        " of their own. TRACE is a recording, or a trace linked from one. Of the "
        "recordings of all ranks (a folder or a set), the most typical rank is taken, or "
        "--rank. "
        "Tensor-parallel ranks are numbered first, then data-parallel ranks, then "
        "stages, as Megatron and torchtitan number them.\n\n"
        "A recorded group varies along some of these axes; the groups of the other "
        "ranks vary along the same. A group that matches no axes is refused, as is a "
        "job of another size than was recorded. For another size, spread the "
        "recording as it was, then use 'halley trace scale --dp'.\n\n"
        "Messages between neighbouring stages are matched if the recorded stage sends"
        " as many forward as it receives from the previous stage, and likewise "
        "backward. Otherwise they keep their recorded duration, and a warning says "
        "so. Embedding and head exist only if the recorded rank has them.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(spread_options),
    .min_args = 1,
    .max_args = 1,
    .run = trace_spread_run,
};
