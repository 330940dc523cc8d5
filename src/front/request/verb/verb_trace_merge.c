/* halley trace merge - several traces side by side as ranks, or one after the other. */
#include "base/array.h"
#include "base/error.h"
#include "halley/trace_edit.h"
#include "request/files.h"
#include "request/trace/traces.h"
#include "request/verbs.h"

#include <inttypes.h>
#include <string.h>

typedef struct merge_options {
    const char *out;
    bool chain, renumber;
    uint32_t form;
    bool force;
    request_output output;
} merge_options;

static const request_option options[] = {
    REQUEST_OUT_OPTION(merge_options, out, "OUT",
                       "prefix, folder or (for a single rank) file to write",
                       REQUEST_REQUIRED, "job"),
    {.name = "chain",
     .letter = 'c',
     .kind = REQUEST_FLAG,
     .offset = offsetof(merge_options, chain),
     .doc = "concatenate in time: steps of the same ranks"},
    {.name = "renumber",
     .kind = REQUEST_FLAG,
     .offset = offsetof(merge_options, renumber),
     .doc = "put ranks side by side and renumber the peers of sends and receives, which "
            "name ranks by the numbers in the file names"},
    {.name = "form",
     .kind = REQUEST_CHOICE,
     .choices = traces_form_names,
     .offset = offsetof(merge_options, form),
     .doc = "file format to write",
     .by_default = "by the ending of OUT, .et for sets"},
    REQUEST_FORCE_OPTION(merge_options, force),
    TRACES_JSON_OPTION(merge_options, output),
    {0},
};

typedef ARRAY(halley_trace *) trace_array;

static void free_traces(trace_array *traces)
{
    for (size_t i = 0; i < traces->n; i++)
        halley_trace_free(traces->at[i]);
    array_fini(traces);
}

/* Make a set that takes ownership of the traces. */
static halley_status into_set(halley_trace_set **out, trace_array *traces,
                              halley_error *err)
{
    TRY(halley_trace_set_new(out, traces->at, (uint32_t)traces->n, err));
    array_fini(traces);
    return HALLEY_OK;
}

/* The number before the extension: "gpt.12.et" is 12. */
static bool rank_in_name(const char *path, uint64_t *rank)
{
    const char *slash = strrchr(path, '/');
    str rest = str_from(slash == NULL ? path : slash + 1), word = {0};
    bool found = false;
    while (str_next(&rest, '.', &word)) {
        uint64_t number = 0;
        if (word.n > 0 && str_to_u64(word, &number)) {
            *rank = number;
            found = true;
        }
    }
    return found;
}

/* by old rank: the new one; UINT32_MAX = none */
static halley_status make_rank_map(uint32_t **map, uint32_t *n, const request_call *call,
                                   halley_error *err)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < call->n_args; i++) {
        uint64_t rank = 0;
        if (!rank_in_name(call->args[i], &rank) || rank > 10000000)
            return error_set(err, HALLEY_EINVAL,
                             "%s: --renumber needs the rank in the name, as in name.4.et",
                             call->args[i]);
        if (rank > largest)
            largest = rank;
    }
    *n = (uint32_t)largest + 1;
    *map = mem_array(*n, sizeof **map);
    if (*map == NULL)
        return error_nomem(err);
    memset(*map, 0xFF, *n * sizeof **map);
    for (size_t i = 0; i < call->n_args; i++) {
        uint64_t rank = 0;
        rank_in_name(call->args[i], &rank);
        if ((*map)[rank] != UINT32_MAX) {
            free(*map);
            return error_set(err, HALLEY_EINVAL, "two files are of rank %" PRIu64, rank);
        }
        (*map)[rank] = (uint32_t)i;
    }
    return HALLEY_OK;
}

static halley_status renumber_rank(trace_array *traces, const request_call *call,
                                   halley_error *err)
{
    uint32_t *map = NULL, n = 0;
    TRY(make_rank_map(&map, &n, call, err));
    halley_status status = HALLEY_OK;
    for (size_t i = 0; status == HALLEY_OK && i < traces->n; i++) {
        halley_trace *fresh = NULL;
        status = halley_trace_renumber(&fresh, traces->at[i], map, n, err);
        if (status != HALLEY_OK)
            break;
        halley_trace_free(traces->at[i]);
        traces->at[i] = fresh;
    }
    free(map);
    return status;
}

static halley_status side_by_side(halley_trace_set **out, request_call *call,
                                  halley_error *err)
{
    const merge_options *o = call->options;
    trace_array traces = {0};
    halley_status status = HALLEY_OK;
    for (size_t i = 0; status == HALLEY_OK && i < call->n_args; i++) {
        halley_trace *t = NULL;
        status = halley_trace_load(&t, call->args[i], NULL, err);
        if (status == HALLEY_OK && !array_push(&traces, t)) {
            halley_trace_free(t);
            status = error_nomem(err);
        }
    }
    if (status == HALLEY_OK && o->renumber)
        status = renumber_rank(&traces, call, err);
    if (status == HALLEY_OK)
        status = into_set(out, &traces, err);
    free_traces(&traces);
    return status;
}

typedef ARRAY(halley_trace_set *) set_array;

static halley_status load_sets(set_array *sets, request_call *call, halley_error *err)
{
    for (size_t i = 0; i < call->n_args; i++) {
        halley_trace_set *set = NULL;
        TRY(traces_load(&set, call, i, 1, err));
        if (!array_push(sets, set)) {
            halley_trace_set_free(set);
            return error_nomem(err);
        }
        const uint32_t n = halley_trace_set_count(set);
        const uint32_t n_first = halley_trace_set_count(sets->at[0]);
        if (n != n_first)
            return error_set(err, HALLEY_EINVAL,
                             "%s has %" PRIu32 " ranks, %s has %" PRIu32
                             "; --chain needs equal numbers",
                             call->args[i], n, call->args[0], n_first);
    }
    return HALLEY_OK;
}

/* True if the rank has the same parts as the previous one. */
static bool like_before(const set_array *sets, uint32_t rank)
{
    for (size_t i = 0; i < sets->n; i++)
        if (rank == 0 || halley_trace_set_get(sets->at[i], rank) !=
                             halley_trace_set_get(sets->at[i], rank - 1))
            return false;
    return true;
}

static halley_status chain_rank(trace_array *traces, const set_array *sets,
                                const halley_trace **parts, uint32_t rank,
                                halley_error *err)
{
    halley_trace *t = NULL;
    for (size_t i = 0; i < sets->n; i++)
        parts[i] = halley_trace_set_get(sets->at[i], rank);
    if (like_before(sets, rank))
        t = halley_trace_keep(traces->at[rank - 1]);
    else
        TRY(halley_trace_chain(&t, parts, (uint32_t)sets->n, err));
    if (array_push(traces, t))
        return HALLEY_OK;
    halley_trace_free(t);
    return error_nomem(err);
}

static halley_status one_after_the_other(halley_trace_set **out, request_call *call,
                                         halley_error *err)
{
    set_array sets = {0};
    trace_array traces = {0};
    halley_status status = load_sets(&sets, call, err);
    const halley_trace **parts = mem_array(sets.n, sizeof *parts);
    if (status == HALLEY_OK && parts == NULL)
        status = error_nomem(err);
    const uint32_t n = status == HALLEY_OK ? halley_trace_set_count(sets.at[0]) : 0;
    for (uint32_t rank = 0; status == HALLEY_OK && rank < n; rank++)
        status = chain_rank(&traces, &sets, parts, rank, err);
    if (status == HALLEY_OK)
        status = into_set(out, &traces, err);
    free_traces(&traces);
    free((void *)parts);
    for (size_t i = 0; i < sets.n; i++)
        halley_trace_set_free(sets.at[i]);
    array_fini(&sets);
    return status;
}

static halley_status trace_merge_run(request_call *call, halley_error *err)
{
    const merge_options *o = call->options;
    if (o->out == NULL)
        return request_usage(call, err,
                             "name the output with --out: a prefix, folder or file");
    if (o->chain && o->renumber)
        return request_usage(call, err,
                             "--renumber is for ranks side by side, not --chain");
    halley_trace_set *set = NULL;
    TRY(o->chain ? one_after_the_other(&set, call, err) : side_by_side(&set, call, err));
    const traces_output output = {.path = o->out,
                                  .form = (traces_form)o->form,
                                  .one = o->chain && traces_is_file(call)};
    halley_status status = traces_save(set, &output, call, err);
    if (status == HALLEY_OK && o->output.json)
        status = traces_written_json(set, call, o->out, err);
    else if (status == HALLEY_OK)
        fprintf(call->out, "%" PRIu32 " rank%s, %" PRIu32 " different, from %zu traces\n",
                halley_trace_set_count(set), halley_trace_set_count(set) == 1 ? "" : "s",
                halley_trace_set_distinct(set), call->n_args);
    halley_trace_set_free(set);
    return status;
}

static const request_example examples[] = {
    {"halley trace merge -o job node0.et node1.et", "job.0.et and job.1.et"},
    {"halley trace merge --renumber -o pair gpt.4.et gpt.7.et",
     "ranks 4 and 7 become 0 and 1, also in sends and receives"},
    {"halley trace merge --chain -o two-steps step1 step2", "sets of equally many ranks"},
    {0},
};

const request_verb request_verb_trace_merge = {
    .name = "trace merge",
    .summary = "combine traces as ranks or as consecutive steps",
    .arguments = "TRACE TRACE...",
    .arg_keys = traces_key,
    .description =

        "Side by side (the default): each TRACE is a file and becomes a rank; the "
        "first is rank 0. Nodes are not changed. With --renumber, the ranks that "
        "sends, receives and process_group:init nodes name are translated from the "
        "numbers in the file names (gpt.4.et is rank 4). A message to a rank that is "
        "not part of the set is an error.\n\n"
        "One after the other (--chain): each TRACE is a file, a prefix or a folder, "
        "all with the same number of ranks. Rank r of the result executes rank r of "
        "the first, then rank r of the second, and so on. Ids of later parts are "
        "shifted past those of earlier ones. One compute node without duration, named"
        " 'joint', connects two parts: it waits for every node without dependents, "
        "and every node without dependencies waits for it. Recorded starts are "
        "shifted so that no part starts before the previous one has ended. The "
        "metadata is that of the first part; dangling dependencies are left out.\n\n"
        "A set is written as OUT.0.et and so on, or into OUT if it is a folder or "
        "ends with /. Chained single files become the file OUT.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(merge_options),
    .min_args = 2,
    .max_args = REQUEST_ANY,
    .run = trace_merge_run,
};
