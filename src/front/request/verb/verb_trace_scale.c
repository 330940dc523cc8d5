/* halley trace scale - changes layers, replicas, batch or types of traces. */
#include "base/error.h"
#include "halley/scale.h"
#include "request/files.h"
#include "request/trace/share.h"
#include "request/verbs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const swaps[] = {"none", "split", "join", NULL};

typedef struct scale_options {
    const char *out, *groups, *dtype, *layers, *dp_groups, *offload_match;
    double compute, host, bytes, batch, offload;
    uint32_t repeats, dp, swap;
    bool force;
    request_output output;
} scale_options;

static const scale_options defaults = {.compute = 1, .host = 1, .bytes = 1, .batch = 1};

static const request_option options[] = {
    REQUEST_OUT_OPTION(scale_options, out, "OUT",
                       "prefix, folder or (for a single rank) file to write",
                       REQUEST_REQUIRED, "bigger"),
    {.name = "layers",
     .letter = 'L',
     .kind = REQUEST_TEXT,
     .metavar = "FROM:TO",
     .offset = offsetof(scale_options, layers),
     .doc = "repeat or remove layers to go from one number to another",
     .by_default = "none",
     .example = "24:32"},
    {.name = "repeats",
     .kind = REQUEST_U32,
     .min = 2,
     .max = 65536,
     .metavar = "N",
     .offset = offsetof(scale_options, repeats),
     .doc = "number of layers per rank, if they are not detected correctly",
     .by_default = "detected",
     .example = "12"},
    {.name = "swap",
     .kind = REQUEST_CHOICE,
     .choices = swaps,
     .offset = offsetof(scale_options, swap),
     .doc = "replace all-reduces by reduce-scatter and all-gather (split), or the "
            "reverse (join)",
     .by_default = "none"},
    {.name = "dp",
     .kind = REQUEST_U32,
     .min = 1,
     .max = 1048576,
     .metavar = "N",
     .offset = offsetof(scale_options, dp),
     .doc = "ranks per data-parallel group; each rank keeps its batch",
     .by_default = "as in the traces",
     .example = "32"},
    {.name = "dp-groups",
     .kind = REQUEST_TEXT,
     .metavar = "GROUPS",
     .offset = offsetof(scale_options, dp_groups),
     .doc = "ids of the data-parallel groups; 0 is all ranks",
     .by_default = "detected",
     .example = "5,6"},
    {.name = "compute",
     .kind = REQUEST_DOUBLE,
     .min = 1e-9,
     .max = 1e9,
     .metavar = "FACTOR",
     .offset = offsetof(scale_options, compute),
     .doc = "multiply compute by FACTOR: durations, operations and memory traffic; in a "
            "recording only on the device",
     .by_default = "1",
     .example = "1.5"},
    {.name = "host",
     .kind = REQUEST_DOUBLE,
     .min = 1e-9,
     .max = 1e9,
     .metavar = "FACTOR",
     .offset = offsetof(scale_options, host),
     .doc = "recordings: multiply host time by FACTOR",
     .by_default = "1",
     .example = "0.5"},
    {.name = "bytes",
     .kind = REQUEST_DOUBLE,
     .min = 1e-9,
     .max = 1e9,
     .metavar = "FACTOR",
     .offset = offsetof(scale_options, bytes),
     .doc = "multiply the bytes of messages, loads and stores by FACTOR",
     .by_default = "1",
     .example = "2"},
    {.name = "dtype",
     .kind = REQUEST_TEXT,
     .metavar = "FROM:TO",
     .offset = offsetof(scale_options, dtype),
     .doc = "change the number format",
     .by_default = "none",
     .example = "bf16:fp8"},
    {.name = "batch",
     .kind = REQUEST_DOUBLE,
     .min = 1e-9,
     .max = 1e9,
     .metavar = "FACTOR",
     .offset = offsetof(scale_options, batch),
     .doc = "multiply the micro-batch by FACTOR",
     .by_default = "1",
     .example = "2"},
    {.name = "offload",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_SHARE,
     .max = 1,
     .metavar = "SHARE",
     .offset = offsetof(scale_options, offload),
     .doc = "move this share of the memory traffic of compute to outer memory",
     .by_default = "0 %",
     .example = "20 %"},
    {.name = "offload-match",
     .kind = REQUEST_TEXT,
     .metavar = "TEXT",
     .offset = offsetof(scale_options, offload_match),
     .doc = "with --offload: only nodes whose name contains TEXT",
     .by_default = "all nodes",
     .example = "update"},
    REQUEST_GROUPS_OPTION(scale_options, groups),
    REQUEST_OVERWRITE_OPTION(scale_options, force),
    REQUEST_OUTPUT_OPTIONS(scale_options, output),
    {0},
};

/* "24:32". */
static halley_status parse_layers(halley_scale_opts *to, request_call *call,
                                  const char *text, halley_error *err)
{
    str rest = str_from(text), head;
    uint64_t from, into;
    if (!str_next(&rest, ':', &head) || !str_to_u64(str_trim(head), &from) ||
        !str_to_u64(str_trim(rest), &into))
        return request_usage(call, err, "--layers is like 24:32, not '%s'", text);
    if (from == 0 || into == 0 || from > 1000000 || into > 1000000)
        return request_usage(call, err, "--layers goes from 1 to 1000000, not '%s'",
                             text);
    to->layers_from = (uint32_t)from;
    to->layers_to = (uint32_t)into;
    return HALLEY_OK;
}

/* Bytes of a number type; 0: unknown. */
static double number_bytes(str name)
{
    static const struct {
        const char *name;
        double bytes;
    } types[] = {{"fp64", 8}, {"fp32", 4}, {"tf32", 4}, {"bf16", 2},
                 {"fp16", 2}, {"fp8", 1},  {"int8", 1}, {"fp4", 0.5}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_eq(name, str_from(types[i].name)))
            return types[i].bytes;
    return 0;
}

static halley_status parse_dtype(halley_scale_opts *to, request_call *call,
                                 const char *text, halley_error *err)
{
    str rest = str_from(text), head = {0};
    const bool split = str_next(&rest, ':', &head);
    const double from = number_bytes(str_trim(head)), into = number_bytes(str_trim(rest));
    if (!split || from == 0 || into == 0)
        return request_usage(
            call, err,
            "--dtype is like bf16:fp8, of fp64, fp32, tf32, bf16, fp16, fp8, "
            "int8 and fp4; not '%s'",
            text);
    to->number = into / from;
    return HALLEY_OK;
}

static halley_status check_scale_usage(request_call *call, halley_error *err)
{
    static const char *const edits[] = {"layers", "swap",  "dp",    "compute", "host",
                                        "bytes",  "dtype", "batch", "offload"};
    const scale_options *o = call->options;
    bool any = false;
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        any |= request_given(call, edits[i]);
    if (o->repeats > 0 && !o->layers)
        return request_usage(call, err, "--repeats is for --layers, which is not given");
    if (o->offload_match && !request_given(call, "offload"))
        return request_usage(call, err,
                             "--offload-match is for --offload, which is not given");
    if (!any)
        return request_usage(call, err,
                             "nothing to change: name an edit, such as --compute 2");
    if (o->output.csv)
        return request_usage(call, err, "there is no table to write as CSV; take --json");
    return HALLEY_OK;
}

static halley_status read_options(halley_scale_opts *to, request_call *call,
                                  halley_error *err)
{
    const scale_options *o = call->options;
    TRY(check_scale_usage(call, err));
    *to = (halley_scale_opts){
        .repeats = o->repeats,
        .swap = (halley_swap)o->swap,
        .dp = o->dp,
        .dp_groups = o->dp_groups,
        .compute = o->compute,
        .host = o->host,
        .bytes = o->bytes,
        .batch = o->batch,
        .offload = o->offload,
        .offload_match = o->offload_match,
    };
    if (o->layers)
        TRY(parse_layers(to, call, o->layers, err));
    if (o->dtype)
        TRY(parse_dtype(to, call, o->dtype, err));
    return HALLEY_OK;
}

static void print_scaled(FILE *to, const halley_scaled *s)
{
    fprintf(to, "ranks  %" PRIu32 " -> %" PRIu32 "\nnodes  %" PRIu64 " -> %" PRIu64 "\n",
            s->n_ranks_before, s->n_ranks, s->n_nodes_before, s->n_nodes);
    if (s->n_blocks > 0)
        fprintf(to,
                "layers %" PRIu32 " -> %" PRIu32 " on rank 0 (blocks of %" PRIu32
                " nodes)\n",
                s->n_blocks, s->n_blocks_after, s->block_nodes);
    if (s->dp_before > 0)
        fprintf(to, "data-parallel groups of %" PRIu32 " ranks\n", s->dp_before);
    if (s->n_updates > 0)
        fprintf(to, "sharded updates of weights: %" PRIu64 " on rank 0\n", s->n_updates);
    if (s->n_collectives > 0)
        fprintf(to, "collectives swapped: %" PRIu64 "\n", s->n_collectives);
    if (s->n_offloaded > 0)
        fprintf(to, "nodes offloaded: %" PRIu64 "\n", s->n_offloaded);
}

static halley_status write_scaled(request_call *call, const halley_scaled *s,
                                  halley_error *err)
{
    const scale_options *o = call->options;
    if (!o->output.json) {
        print_scaled(call->out, s);
        return HALLEY_OK;
    }
    report_json j;
    request_json_begin(&j, call);
    report_json_u64(&j, "n_ranks_before", s->n_ranks_before);
    report_json_u64(&j, "n_ranks", s->n_ranks);
    report_json_u64(&j, "nodes_before", s->n_nodes_before);
    report_json_u64(&j, "nodes", s->n_nodes);
    report_json_u64(&j, "blocks_before", s->n_blocks);
    report_json_u64(&j, "blocks", s->n_blocks_after);
    report_json_u64(&j, "block_nodes", s->block_nodes);
    report_json_u64(&j, "data_parallel_before", s->dp_before);
    report_json_u64(&j, "sharded_updates", s->n_updates);
    report_json_u64(&j, "collectives_swapped", s->n_collectives);
    report_json_u64(&j, "nodes_offloaded", s->n_offloaded);
    return request_json_end(&j, call, err);
}

static halley_status save_scaled_groups(const void *context, const char *path,
                                        halley_error *err)
{
    return halley_scaled_save_groups(context, path, err);
}

static halley_status scale_set(request_call *call, const halley_trace_set *set,
                               halley_scale_opts *opts, halley_error *err)
{
    const scale_options *o = call->options;
    char *const beside = o->groups ? NULL : halley_trace_set_groups(set);
    opts->groups_path = o->groups ? o->groups : beside;
    halley_scaled *result = NULL;
    halley_status status = share_check(set, call->args[0], opts->groups_path, err);
    if (status == HALLEY_OK)
        status = halley_trace_scale(&result, set, opts, err);
    free(beside);
    if (status == HALLEY_OK)
        status =
            share_save(result->set, o->out, call, save_scaled_groups, result, NULL, err);
    if (status == HALLEY_OK)
        status = write_scaled(call, result, err);
    halley_scaled_free(result);
    return status;
}

static halley_status trace_scale_run(request_call *call, halley_error *err)
{
    const scale_options *o = call->options;
    halley_scale_opts opts;
    report_form form;
    halley_trace_set *set;
    TRY(read_options(&opts, call, err));
    TRY(request_output_form(&form, call, &o->output, err));
    TRY(share_target(call, o->out, o->force, err));
    TRY(traces_load(&set, call, 0, call->n_args, err));
    const halley_status status = scale_set(call, set, &opts, err);
    halley_trace_set_free(set);
    return status;
}

static const request_example examples[] = {
    {"halley trace scale gpt -o deeper --layers 24:48", "twice the layers"},
    {"halley trace scale gpt -o wider --dp 64 --batch 2",
     "more replicas, each with twice the batch"},
    {"halley trace scale gpt -o fp8 --dtype bf16:fp8 --swap split", NULL},
    {"halley trace scale gpt -o cxl --offload '100 %' --offload-match update",
     "optimizer states in outer memory"},
    {0},
};

const request_verb request_verb_trace_scale = {
    .name = "trace scale",
    .summary = "change layers, replicas, batch or types of traces",
    .arguments = "TRACE...",
    .arg_keys = traces_key,
    .description =

        "Writes the traces of a job that was not recorded: more or fewer layers or "
        "replicas, another batch, other number formats, other collectives, or "
        "offloaded memory. Edits are made in the order of the options below, and the "
        "result passes 'halley trace check'.\n\n"
        "Layers: the repeated block is detected in every pass and micro-batch. FROM "
        "and TO are layers of the whole model. If the stages of a pipeline differ by "
        "at most one layer, they still do afterwards, and the lowest ranks have one "
        "more. Other stages change proportionally. In a recording, layers are what "
        "repeats in the forward pass and is undone in the backward pass; for "
        "inference, what repeats within a step. Rows of different layers have their "
        "own numbers, and FROM is one of these or their sum. The first and the last "
        "block of a row keep their place. The blocks between them are copied in turn "
        "or left out. Dependencies on neighbouring blocks lead to neighbouring "
        "blocks.\n\n"
        "Replicas: ranks are added to or removed from each data-parallel group, which"
        " is detected by the use of its collectives. Ranks within a replica keep "
        "their places, and each replica keeps its batch. Gathers move smaller or "
        "larger parts, and updates of sharded weights scale proportionally.\n\n"
        "Batch: compute and messages grow, but not the collectives of data-parallel "
        "groups nor the updates that follow. In a recording the host time does not "
        "change. A collective carries gradients if its group only gathers in the "
        "forward pass, or runs only in the backward pass. If that is not clear, and "
        "for recordings without device work, --batch is refused.\n\n"
        "Number formats: bytes, memory traffic and durations scale with the size of a"
        " number; operations do not change. An all-reduce is split into a "
        "reduce-scatter and an all-gather that move the same number of bytes. "
        "Offload: a compute node gets a load before it and a store after it.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(scale_options),
    .defaults = &defaults,
    .min_args = 1,
    .max_args = REQUEST_ANY,
    .run = trace_scale_run,
};
