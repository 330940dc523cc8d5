/* halley trace fit - the model and the plan that a recording shows. */
#include "base/error.h"
#include "base/file/file.h"
#include "base/number/number.h"
#include "base/str.h"
#include "halley/fit.h"
#include "request/trace/traces.h"
#include "request/verbs.h"

#include <inttypes.h>

typedef struct fit_options {
    const char *out, *name;
    request_output output;
} fit_options;

static const request_option options[] = {
    {.name = "out",
     .letter = 'o',
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "PREFIX",
     .offset = offsetof(fit_options, out),
     .doc = "also write PREFIX.model.yaml and PREFIX.plan.yaml",
     .by_default = "none",
     .example = "fitted"},
    {.name = "name",
     .kind = REQUEST_TEXT,
     .metavar = "NAME",
     .offset = offsetof(fit_options, name),
     .doc = "name of the model",
     .by_default = "recorded",
     .example = "my-7b"},
    REQUEST_OUTPUT_OPTIONS(fit_options, output),
    {0},
};

/* What was found, in the order in which it is shown. */
typedef struct fit_row {
    const char *shown, *key;
    uint64_t value;
} fit_row;
enum { N_ROWS = 16 };

static void list_fit_rows(fit_row rows[N_ROWS], const halley_recorded_model *f)
{
    const fit_row list[N_ROWS] = {
        {"layers", "layers", f->layers},
        {"kernels in a period", "kernels_per_period", f->kernels_per_period},
        {"layers in a period", "layers_per_period", f->layers_per_period},
        {"hidden size", "hidden", f->hidden},
        {"feed-forward size, on a rank", "ffn", f->ffn},
        {"heads, on a rank", "heads", f->heads},
        {"key-value heads, on a rank", "kv_heads", f->kv_heads},
        {"size of a head", "head_dim", f->head_dim},
        {"vocabulary, on a rank", "vocabulary", f->vocab},
        {"experts", "experts", f->experts},
        {"tokens of a step, on a rank", "tokens", f->tokens},
        {"batch", "batch", f->batch},
        {"sequence", "seq", f->seq},
        {"tensor-parallel ranks", "tp", f->tp},
        {"data-parallel ranks", "dp", f->dp},
        {"has a backward pass", "has_backward", f->has_backward}};
    for (size_t i = 0; i < N_ROWS; i++)
        rows[i] = list[i];
}

static halley_status write_recorded_json(const request_call *call,
                                         const halley_recorded_model *f,
                                         halley_error *err)
{
    fit_row rows[N_ROWS];
    report_json j;
    list_fit_rows(rows, f);
    request_json_begin(&j, call);
    report_json_object(&j, "recorded_model");
    for (size_t i = 0; i < N_ROWS; i++) {
        if (rows[i].value > 0)
            report_json_u64(&j, rows[i].key, rows[i].value);
        else
            report_json_null(&j, rows[i].key);
    }
    report_json_double(&j, "step_s", f->step_s);
    report_json_double(&j, "period_s", f->period_s);
    report_json_double(&j, "covered_share", f->covered_share);
    report_json_end(&j);
    return request_json_end(&j, call, err);
}

static void write_recorded_text(const request_call *call, const halley_recorded_model *f)
{
    fit_row rows[N_ROWS];
    list_fit_rows(rows, f);
    for (size_t i = 0; i < N_ROWS; i++) {
        if (rows[i].value > 0)
            fprintf(call->out, "%-30s %" PRIu64 "\n", rows[i].shown, rows[i].value);
        else
            fprintf(call->out, "%-30s not found\n", rows[i].shown);
    }
    fprintf(call->out,
            "\nThe repeats cover %s %% of the kernels; a period takes %s ms of device "
            "time.\n",
            number_fixed(100 * f->covered_share, 1).at,
            number_digits(f->period_s * 1e3, 4).at);
}

static const report_column columns[] = {
    {"What", "what", REPORT_WORDS, UNITS_COUNT, 0},
    {"Value", "value", REPORT_COUNT, UNITS_COUNT, 0},
};

static halley_status write_fit_csv(const request_call *call,
                                   const halley_recorded_model *f, halley_error *err)
{
    fit_row rows[N_ROWS];
    report_table *const t = report_table_new(columns, 2);
    list_fit_rows(rows, f);
    for (size_t i = 0; t != NULL && i < N_ROWS; i++) {
        report_table_words(t, str_from(rows[i].key));
        if (rows[i].value > 0)
            report_table_count(t, rows[i].value);
        else
            report_table_empty(t);
    }
    return request_table_write(call, t, "fit", REPORT_CSV, err);
}

static halley_status save_text(const char *prefix, const char *ending, const strbuf *text,
                               halley_error *err)
{
    strbuf path = {0};
    file_output *file;
    strbuf_printf(&path, "%s%s", prefix, ending);
    halley_status status = path.failed || text->failed ? error_nomem(err) : HALLEY_OK;
    if (status == HALLEY_OK)
        status = file_output_open(&file, path.at, err);
    if (status == HALLEY_OK) {
        file_output_str(file, strbuf_str(text));
        status = file_output_commit(file, err);
    }
    strbuf_fini(&path);
    return status;
}

static halley_status refuse_files(const halley_recorded_model *f, halley_error *err)
{
    const char *const missing = f->hidden == 0  ? "hidden size"
                                : f->heads == 0 ? "number of heads"
                                : f->vocab == 0 ? "vocabulary"
                                : f->seq == 0   ? "length of a sequence"
                                                : NULL;
    if (missing == NULL)
        return HALLEY_OK;
    return error_set(
        err, HALLEY_EINVAL,
        "no model can be written: the recording does not show its %s; record "
        "it with shapes (record_shapes=True), in a step that is whole",
        missing);
}

static halley_status write_fit_files(const request_call *call,
                                     const halley_recorded_model *f, halley_error *err)
{
    const fit_options *o = call->options;
    strbuf model = {0}, plan = {0};
    TRY(refuse_files(f, err));
    strbuf_printf(&model,
                  "name: %s\nkind: transformer\nlayers: %" PRIu32 "\nhidden: %" PRIu64
                  "\nheads: %" PRIu64 "\n",
                  o->name != NULL ? o->name : "recorded", f->layers, f->hidden,
                  f->heads * f->tp);
    if (f->kv_heads > 0 && f->kv_heads != f->heads)
        strbuf_printf(&model, "kv-heads: %" PRIu64 "\n", f->kv_heads * f->tp);
    if (f->ffn > 0)
        strbuf_printf(&model, "ffn: %" PRIu64 "\n", f->ffn * f->tp);
    strbuf_printf(&model, "vocab: %" PRIu64 "\nseq: %" PRIu64 "\n", f->vocab * f->tp,
                  f->seq);
    strbuf_printf(&plan, "tp: %" PRIu32 "\ndp: %" PRIu32 "\nmicro-batch: %" PRIu64 "\n",
                  f->tp, f->dp, f->batch > 0 ? f->batch : 1);
    halley_status status = save_text(o->out, ".model.yaml", &model, err);
    if (status == HALLEY_OK)
        status = save_text(o->out, ".plan.yaml", &plan, err);
    strbuf_fini(&model);
    strbuf_fini(&plan);
    return status;
}

static halley_status show_fit(request_call *call, const halley_trace_set *set,
                              report_form form, halley_error *err)
{
    const fit_options *o = call->options;
    halley_recorded_model f;
    TRY(halley_recording_fit(&f, halley_trace_set_get(set, 0), err));
    if (o->out != NULL)
        TRY(write_fit_files(call, &f, err));
    if (form == REPORT_JSON)
        return write_recorded_json(call, &f, err);
    if (form == REPORT_CSV)
        return write_fit_csv(call, &f, err);
    write_recorded_text(call, &f);
    return HALLEY_OK;
}

static halley_status trace_fit_run(request_call *call, halley_error *err)
{
    const fit_options *o = call->options;
    report_form form;
    halley_trace_set *set = NULL;
    TRY(request_output_form(&form, call, &o->output, err));
    TRY(traces_load_any(&set, call, 0, call->n_args, NULL, err));
    const halley_status status = show_fit(call, set, form, err);
    halley_trace_set_free(set);
    return status;
}

static const request_example examples[] = {
    {"halley trace fit kineto.json.gz", "layers, sizes and parallelism of a recording"},
    {"halley trace fit kineto.json.gz -o mine && halley estimate -m mine.model.yaml -c "
     "dgx-h100:8",
     NULL},
    {0},
};

const request_verb request_verb_trace_fit = {
    .name = "trace fit",
    .summary = "find the model and the plan that a recording shows",
    .arguments = "TRACE",
    .arg_keys = traces_key,
    .description =

        "Finds the number and sizes of the layers in a recording, and how the model "
        "is parallelized. TRACE is a recording, or a trace linked from one. Of "
        "several ranks the first is used, of several steps the middle one.\n\n"
        "Layers are the period of the kernels of the busiest stream, by name; a "
        "period with two attentions is two layers. The number of tokens is the most "
        "frequent number of rows in a layer's matmuls, and the hidden size their most"
        " frequent inner size. Heads, sequence length and batch come from the shapes "
        "of attention operators, else of softmax. The vocabulary comes from the "
        "embedding. Recordings without shapes (captured graphs) show only layers. Two"
        " collectives per layer are tensor parallelism; others, in a job with a "
        "backward pass, are data parallelism.\n\n"
        "With --out the model and the plan are written as files that other commands "
        "read. What was not found is reported, not guessed.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(fit_options),
    .min_args = 1,
    .max_args = REQUEST_ANY,
    .run = trace_fit_run,
};
