/* halley collective - synthesise the schedule of a collective for a network. */
#include "base/error.h"
#include "base/file/file.h"
#include "base/number/number.h"
#include "halley/schedule.h"
#include "request/topology.h"
#include "request/verbs.h"

#include <string.h>

typedef struct collective_options {
    const char *cluster, *out;
    double bytes;
    uint32_t effort;
    uint64_t seed;
    request_output output;
} collective_options;

static const request_option options[] = {
    {.name = "cluster",
     .letter = 'c',
     .kind = REQUEST_TEXT,
     .offset = offsetof(collective_options, cluster),
     .metavar = "FILE",
     .doc = "a cluster, preset or file, or the file of a network",
     .by_default = REQUEST_REQUIRED,
     .example = "tpu-v4-pod:64"},
    {.name = "size",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_BYTES,
     .min = 1,
     .max = 1e18,
     .offset = offsetof(collective_options, bytes),
     .metavar = "BYTES",
     .doc = "the larger buffer of one NPU",
     .by_default = REQUEST_REQUIRED,
     .example = "64 MiB"},
    {.name = "effort",
     .kind = REQUEST_U32,
     .min = 1,
     .max = 9,
     .offset = offsetof(collective_options, effort),
     .metavar = "N",
     .doc = "how many schedules are tried",
     .by_default = "1",
     .example = "6"},
    {.name = "seed",
     .kind = REQUEST_U64,
     .offset = offsetof(collective_options, seed),
     .metavar = "N",
     .doc = "of the choice among equal moves",
     .by_default = "0",
     .example = "7"},
    {.name = "out",
     .letter = 'o',
     .kind = REQUEST_TEXT,
     .writes = true,
     .offset = offsetof(collective_options, out),
     .metavar = "FILE",
     .doc =
         "write the moves as CSV: start, end, from, to, chunk, and whether the receiver "
         "adds the chunk to its own",
     .by_default = "none",
     .example = "moves.csv"},
    REQUEST_OUTPUT_OPTIONS(collective_options, output),
    {0},
};

static const request_example examples[] = {
    {"halley collective all-gather -c tpu-v4-pod:64 --size '64 MiB'",
     "its time, the closed form, and the lower bound"},
    {"halley collective all-reduce -c broken.yaml --size '64 MiB' -o moves.csv",
     "the schedule on a network with a failed link"},
    {0},
};

static const struct {
    const char *name;
    halley_collective_kind kind;
} kinds[] = {
    {"all-gather", HALLEY_COLLECTIVE_ALL_GATHER},
    {"reduce-scatter", HALLEY_COLLECTIVE_REDUCE_SCATTER},
    {"all-reduce", HALLEY_COLLECTIVE_ALL_REDUCE},
};

static halley_status find_kind(halley_collective_kind *out, request_call *call,
                               halley_error *err)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(call->args[0], kinds[i].name) == 0) {
            *out = kinds[i].kind;
            return HALLEY_OK;
        }
    return request_usage(call, err,
                         "no schedule of \"%s\" can be synthesised; the collectives are "
                         "all-gather, reduce-scatter and all-reduce",
                         call->args[0]);
}

/* The result of a search. */
typedef struct found {
    const char *kind;
    halley_collective_schedule *schedule;
    halley_schedule_summary summary;
} found;

static halley_status write_moves(const char *path, const halley_collective_schedule *s,
                                 halley_error *err)
{
    file_output *file;
    halley_schedule_move m;
    TRY(file_output_open(&file, path, err));
    file_output_str(file, STR("start_s,end_s,from,to,chunk,sums\n"));
    for (uint64_t i = 0; halley_schedule_get_move(&m, s, i); i++)
        file_output_printf(file, "%s,%s,%u,%u,%u,%d\n", number_fixed(m.start_s, 12).at,
                           number_fixed(m.end_s, 12).at, m.from, m.to, m.chunk, m.sums);
    return file_output_commit(file, err);
}

static const report_column columns[] = {
    {"Algorithm", "algorithm", REPORT_WORDS, 0, 0},
    {"Time", "time_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Lower bound", "bound_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Of the bound", "bound_ratio", REPORT_NUMBER, 0, 0},
    {"Bound by", "bound_by", REPORT_WORDS, 0, 0},
};

static void add_algorithm(report_table *t, const halley_schedule_summary *s,
                          const char *name, double time_s)
{
    report_table_words(t, str_from(name));
    report_table_number(t, time_s);
    report_table_number(t, s->bound_s);
    report_table_number(t, time_s / s->bound_s);
    report_table_words(t, str_from(s->bound));
}

static halley_status write_found_table(const request_call *call, const found *f,
                                       report_form form, halley_error *err)
{
    const halley_schedule_summary *s = &f->summary;
    report_table *t = report_table_new(columns, sizeof columns / sizeof *columns);
    if (t == NULL)
        return error_nomem(err);
    if (s->form != NULL)
        add_algorithm(t, s, s->form, s->form_s);
    add_algorithm(t, s, "synthesised", s->time_s);
    const halley_status status = report_table_write(t, form, call->out, err);
    report_table_free(t);
    return status;
}

static void add_algorithm_json(report_json *j, const halley_schedule_summary *s,
                               const char *name, double time_s)
{
    report_json_object(j, NULL);
    report_json_text(j, "algorithm", str_from(name));
    report_json_double(j, "time_s", time_s);
    report_json_double(j, "bound_ratio", time_s / s->bound_s);
    report_json_end(j);
}

static halley_status write_found_json(const request_call *call, const found *f,
                                      halley_error *err)
{
    const halley_schedule_summary *s = &f->summary;
    report_json j;
    request_json_begin(&j, call);
    report_json_text(&j, "collective", str_from(f->kind));
    report_json_u64(&j, "npus", s->n_npus);
    report_json_double(&j, "size_bytes", s->bytes);
    report_json_double(&j, "bound_s", s->bound_s);
    report_json_text(&j, "bound_by", str_from(s->bound));
    report_json_u64(&j, "pieces", s->pieces);
    report_json_u64(&j, "n_moves", s->n_moves);
    report_json_array(&j, "algorithms");
    if (s->form != NULL)
        add_algorithm_json(&j, s, s->form, s->form_s);
    add_algorithm_json(&j, s, "synthesised", s->time_s);
    report_json_end(&j);
    return request_json_end(&j, call, err);
}

static halley_status find_schedule(found *f, request_call *call, halley_error *err)
{
    const collective_options *o = call->options;
    const request_topology_source source = {0};
    halley_collective_kind kind = (halley_collective_kind)0;
    halley_topology *t = NULL;
    f->kind = call->args[0];
    TRY(find_kind(&kind, call, err));
    if (o->cluster == NULL || !(o->bytes > 0))
        return request_usage(call, err, "%s is missing",
                             o->cluster == NULL ? "--cluster" : "--size");
    TRY(request_topology_load(&t, call, &source, o->cluster, err));
    request_topology_warn(call, t);
    halley_status status = halley_topology_check(t, err);
    if (status == HALLEY_OK)
        status = halley_schedule_find(
            &f->schedule, t, kind, o->bytes,
            &(halley_schedule_options){.effort = o->effort, .seed = o->seed}, err);
    halley_topology_free(t);
    return status;
}

static halley_status collective_run(request_call *call, halley_error *err)
{
    const collective_options *o = call->options;
    report_form form;
    found f = {0};
    TRY(request_output_form(&form, call, &o->output, err));
    TRY(find_schedule(&f, call, err));
    halley_schedule_summarise(&f.summary, f.schedule);
    halley_status status =
        o->out != NULL ? write_moves(o->out, f.schedule, err) : HALLEY_OK;
    if (status == HALLEY_OK)
        status = form == REPORT_JSON ? write_found_json(call, &f, err)
                                     : write_found_table(call, &f, form, err);
    halley_schedule_free(f.schedule);
    return status;
}

static const char *const kind_key[] = {"kind", NULL};

const request_verb request_verb_collective = {
    .name = "collective",
    .summary = "synthesise the schedule of a collective for a network",
    .arguments = "all-gather|reduce-scatter|all-reduce",
    .arg_keys = kind_key,
    .description =
        "Finds who sends which chunk to whom, and when, on any network: whole or "
        "damaged, "
        "with links of one speed or of several. Prints its time, that of the closed form "
        "where the network has one, and a lower bound that no schedule can beat, with "
        "what "
        "it counts.\n\n"
        "A chunk occupies every link of its path for its bytes over the bandwidth, and "
        "has "
        "arrived a latency later. Paths go through switches only. A reduce-scatter is an "
        "all-gather backwards in time. Every schedule is checked by other means than "
        "those "
        "that found it. The simulator uses such schedules where no closed form fits.\n\n"
        "Times are those of an idle network, without the start-up costs of a library.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(collective_options),
    .min_args = 1,
    .max_args = 1,
    .run = collective_run,
};
