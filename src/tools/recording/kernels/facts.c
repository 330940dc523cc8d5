/* Read back what rec_write_facts wrote into the metadata of the trace. */
#include "recording/kernels/kernels.h"
#include "recording/pull.h"
#include "trace/core/slots.h"

#include <inttypes.h>
#include <string.h>

typedef struct facts_reader {
    pull_reader p;
    kernel_counter *c;
    ARRAY(halley_step_row) steps;
    ARRAY(const char *) warnings;
    int64_t recorded_ns, replayed_ns, late_ns;
    bool failed;
} facts_reader;

static const char *take_fact_text(facts_reader *r, json_token token)
{
    if (token != JSON_STRING)
        return "";
    return kernels_keep_text(r->c, pull_text(&r->p.json, &r->p.scratch));
}

static int64_t take_fact_number(facts_reader *r, json_token token, int64_t otherwise)
{
    int64_t value;
    return token == JSON_NUMBER && str_to_i64(r->p.json.text, &value) ? value : otherwise;
}

/* Begin and end of the step are kept in device_s and tail_s until the events are
 * counted. */
static halley_status read_step_fact(facts_reader *r, halley_error *err)
{
    halley_step_row step = {.name = ""};
    while (pull_key(&r->p)) {
        const str key = r->p.json.text;
        const int which = PULL_IS(key, "name")       ? 0
                          : PULL_IS(key, "number")   ? 1
                          : PULL_IS(key, "begin_ns") ? 2
                          : PULL_IS(key, "end_ns")   ? 3
                                                     : 4;
        const json_token token = json_next(&r->p.json);
        if (which == 0)
            step.name = take_fact_text(r, token);
        else if (which == 1)
            step.number = take_fact_number(r, token, 0);
        else if (which == 2)
            step.device_s = (double)take_fact_number(r, token, 0);
        else if (which == 3)
            step.tail_s = (double)take_fact_number(r, token, 0);
        if (token == JSON_OBJECT || token == JSON_ARRAY)
            TRY(pull_skip(&r->p, token, err));
    }
    TRY(pull_ended(&r->p, err));
    if (step.name[0] == '\0')
        step.name = arena_printf(&r->c->memory, "step %" PRId64, step.number);
    r->failed |= step.name == NULL || !array_push(&r->steps, step);
    return HALLEY_OK;
}

static halley_status read_fact_list(facts_reader *r, bool is_steps, halley_error *err)
{
    for (;;) {
        const json_token token = json_next(&r->p.json);
        if (token == JSON_ARRAY_END)
            return HALLEY_OK;
        if (is_steps && token == JSON_OBJECT)
            TRY(read_step_fact(r, err));
        else if (!is_steps && token == JSON_STRING)
            r->failed |= !array_push(&r->warnings, take_fact_text(r, token));
        else
            TRY(pull_skip(&r->p, token, err));
    }
}

static halley_status read_fact(facts_reader *r, halley_error *err)
{
    halley_kernels *const k = &r->c->k;
    const str key = r->p.json.text;
    const bool is_steps = PULL_IS(key, "steps"), is_warnings = PULL_IS(key, "warnings");
    const char **const text = PULL_IS(key, "kind")     ? &k->kind
                              : PULL_IS(key, "device") ? &k->device
                              : PULL_IS(key, "schema") ? &k->schema
                                                       : NULL;
    int64_t *const number = PULL_IS(key, "rank")                  ? &k->rank
                            : PULL_IS(key, "world")               ? &k->world
                            : PULL_IS(key, "recorded_ns")         ? &r->recorded_ns
                            : PULL_IS(key, "replayed_ns")         ? &r->replayed_ns
                            : PULL_IS(key, "late_unexplained_ns") ? &r->late_ns
                                                                  : NULL;
    const json_token token = json_next(&r->p.json);
    if ((is_steps || is_warnings) && token == JSON_ARRAY)
        return read_fact_list(r, is_steps, err);
    if (text != NULL)
        *text = take_fact_text(r, token);
    if (number != NULL)
        *number = take_fact_number(r, token, *number);
    return pull_skip(&r->p, token, err);
}

static halley_status keep_lists(facts_reader *r, halley_error *err)
{
    halley_kernels *const k = &r->c->k;
    k->steps = arena_array(&r->c->memory, r->steps.n + 1, sizeof *k->steps);
    k->warnings = arena_array(&r->c->memory, r->warnings.n + 1, sizeof *k->warnings);
    if (r->failed || k->steps == NULL || k->warnings == NULL)
        return error_nomem(err);
    k->n_steps = r->steps.n;
    k->n_warnings = r->warnings.n;
    for (size_t i = 0; i < r->steps.n; i++)
        k->steps[i] = r->steps.at[i];
    for (size_t i = 0; i < r->warnings.n; i++)
        k->warnings[i] = r->warnings.at[i];
    k->recorded_s = (double)r->recorded_ns / 1e9;
    k->replayed_s = (double)r->replayed_ns / 1e9;
    k->late_share = r->recorded_ns > 0 ? (double)r->late_ns / (double)r->recorded_ns : 0;
    return HALLEY_OK;
}

static halley_status parse_facts(facts_reader *r, str text, halley_error *err)
{
    json_open(&r->p.json, text);
    if (json_next(&r->p.json) != JSON_OBJECT)
        return pull_bad(&r->p, err, "the metadata \"recording\" is no JSON object");
    while (pull_key(&r->p))
        TRY(read_fact(r, err));
    return pull_ended(&r->p, err);
}

/* The text of the metadata entry "recording", or "device_recording" for a pair; .at NULL
 * = absent. */
static str find_facts(const halley_trace *trace)
{
    halley_attr attr;
    const bool found = trace_find_metadata(&attr, trace, "recording") ||
                       trace_find_metadata(&attr, trace, "device_recording");
    return found && attr.kind == HALLEY_ATTR_STRING ? (str){attr.bytes.at, attr.bytes.n}
                                                    : (str){NULL, 0};
}

static halley_status refuse_trace(halley_error *err)
{
    return error_set(err, HALLEY_EINVAL,
                     "the trace was not linked from a profiler's recording, so its "
                     "kernels have no classes; link the recording with `halley trace "
                     "link`");
}

/* Of a further rank's warnings, from `first` on, keep those that no earlier rank has. */
static void keep_new_warnings(facts_reader *r, size_t first, uint32_t rank)
{
    size_t kept = first;
    for (size_t i = first; i < r->warnings.n; i++) {
        const char *const text = r->warnings.at[i];
        bool known = false;
        for (size_t k = 0; k < first && !known; k++)
            known = strcmp(r->warnings.at[k], text) == 0;
        if (known)
            continue;
        const char *const named = arena_printf(&r->c->memory, "rank %u: %s", rank, text);
        r->failed |= named == NULL;
        r->warnings.at[kept++] = named;
    }
    r->warnings.n = kept;
}

/* Read the facts of one rank. Only the warnings are taken from ranks other than the
 * first. */
static halley_status read_rank_facts(facts_reader *r, uint32_t rank, halley_error *err)
{
    const str text = find_facts(halley_trace_set_get(r->c->set, rank));
    if (text.at == NULL)
        return refuse_trace(err);
    const halley_kernels before = r->c->k;
    const size_t n_steps = r->steps.n, n_warnings = r->warnings.n;
    const int64_t times[] = {r->recorded_ns, r->replayed_ns, r->late_ns};
    TRY(parse_facts(r, text, err));
    if (rank == 0) {
        r->c->k.facts = kernels_keep_text(r->c, text);
        return HALLEY_OK;
    }
    r->c->k = before;
    r->steps.n = n_steps;
    r->recorded_ns = times[0] > r->recorded_ns ? times[0] : r->recorded_ns;
    r->replayed_ns = times[1] > r->replayed_ns ? times[1] : r->replayed_ns;
    r->late_ns = times[2];
    keep_new_warnings(r, n_warnings, rank);
    return HALLEY_OK;
}

halley_status kernels_read_facts(kernel_counter *c, halley_error *err)
{
    c->k.kind = c->k.device = c->k.schema = c->k.exposed_class = c->k.verdict = "";
    c->k.rank = c->k.world = -1;
    c->k.facts = "{}";
    intern texts = {0};
    facts_reader r = {.p = {.texts = &texts}, .c = c};
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; status == HALLEY_OK && i < c->n_ranks; i++)
        status = read_rank_facts(&r, i, err);
    if (status == HALLEY_OK)
        status = keep_lists(&r, err);
    strbuf_fini(&r.p.scratch);
    array_fini(&r.steps);
    array_fini(&r.warnings);
    intern_fini(&texts);
    return status;
}
