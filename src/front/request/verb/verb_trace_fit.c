/* halley trace fit - finds the model and the plan of a recording. */
#include "base/error.h"
#include "base/file/file.h"
#include "base/number/number.h"
#include "base/str.h"
#include "halley/fit.h"
#include "request/document.h"
#include "request/trace/fit_stack.h"
#include "request/trace/traces.h"
#include "request/verbs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct fit_options {
    const char *out, *name, *cluster;
    request_output output;
} fit_options;

static const request_option options[] = {
    {.name = "out",
     .letter = 'o',
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "PREFIX",
     .offset = offsetof(fit_options, out),
     .doc = "also write PREFIX.model.yaml, PREFIX.plan.yaml and PREFIX.stack.yaml",
     .by_default = "none",
     .example = "fitted"},
    {.name = "cluster",
     .letter = 'c',
     .kind = REQUEST_TEXT,
     .metavar = "NAME",
     .offset = offsetof(fit_options, cluster),
     .doc = "machine of the recording: a cluster preset or file, without a number",
     .by_default = "the preset with the recorded device",
     .example = "dgx-h100"},
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

/* A result, in the order in which results are shown. */
typedef struct fit_row {
    const char *shown, *key;
    uint64_t value;
} fit_row;
enum { N_ROWS = 20 };

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
        {"feed-forward has a gate", "gated", f->is_gated},
        {"experts", "experts", f->experts},
        {"tokens of a step, on a rank", "tokens", f->tokens},
        {"batch", "batch", f->batch},
        {"sequence", "seq", f->seq},
        {"tensor-parallel ranks", "tp", f->tp},
        {"pipeline stages", "pp", f->pp},
        {"data-parallel ranks", "dp", f->dp},
        {"micro-batches of a step", "micro_batches", f->micro_batches},
        {"has a head", "has_head", f->has_head},
        {"has a backward pass", "has_backward", f->has_backward}};
    for (size_t i = 0; i < N_ROWS; i++)
        rows[i] = list[i];
}

static bool is_stack_close(const fit_stack *s)
{
    return s->is_fitted && fabs(s->generated_s / s->recorded_s - 1) <= fit_most_error;
}

static void write_fit_parts(report_json *j, const fit_stack *s)
{
    report_json_array(j, "fitted_parts");
    for (int i = 0; i < FIT_N_PARTS; i++) {
        report_json_object(j, NULL);
        report_json_text(j, "part", str_from(fit_part_keys[i]));
        report_json_double(j, "recorded_s", s->part_recorded_s[i]);
        report_json_double(j, "default_s", s->part_default_s[i]);
        report_json_end(j);
    }
    report_json_end(j);
}

/* Write how well `trace gen` reproduces the step; null if nothing can be compared. */
static void write_reproduced_json(report_json *j, const fit_stack *s)
{
    if (!s->is_fitted) {
        report_json_null(j, "reproduced");
        report_json_text(j, "no_stack", str_from(s->why_not));
        return;
    }
    report_json_object(j, "reproduced");
    report_json_text(j, "cluster", str_from(s->cluster));
    report_json_bool(j, "forward_only", s->is_forward);
    report_json_double(j, "recorded_s", s->recorded_s);
    report_json_double(j, "generated_s", s->generated_s);
    report_json_double(j, "error", s->generated_s / s->recorded_s - 1);
    report_json_double(j, "default_s", s->default_s);
    report_json_double(j, "default_error", s->default_s / s->recorded_s - 1);
    report_json_double(j, "idle_s", s->idle_s);
    report_json_text(j, "at_limit", str_from(s->at_limit));
    report_json_bool(j, "stack_written", is_stack_close(s));
    write_fit_parts(j, s);
    report_json_end(j);
}

static halley_status write_recorded_json(const request_call *call,
                                         const halley_recorded_model *f,
                                         const fit_stack *s, halley_error *err)
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
    report_json_text(
        &j, "dtype",
        str_from(f->dtype == HALLEY_N_DTYPES ? "" : halley_dtype_name(f->dtype)));
    report_json_end(&j);
    write_reproduced_json(&j, s);
    return request_json_end(&j, call, err);
}

static void write_parts_text(const request_call *call, const fit_stack *s)
{
    fprintf(call->out, "\n%-20s %12s %12s\n", "", "recorded", "defaults");
    for (int i = 0; i < FIT_N_PARTS; i++)
        if (s->part_recorded_s[i] > 0 || s->part_default_s[i] > 0)
            fprintf(call->out, "%-20s %9s ms %9s ms\n", fit_part_names[i],
                    number_digits(s->part_recorded_s[i] * 1e3, 4).at,
                    number_digits(s->part_default_s[i] * 1e3, 4).at);
    fprintf(call->out, "%-20s %9s ms\n", "idle", number_digits(s->idle_s * 1e3, 4).at);
}

static void write_reproduced_text(const request_call *call, const fit_stack *s)
{
    const char *const what = s->is_forward ? "the forward pass" : "the step";
    if (!s->is_fitted) {
        fprintf(call->out, "No stack can be fitted: %s.\n", s->why_not);
        return;
    }
    write_parts_text(call, s);
    fprintf(call->out,
            "\n'trace gen' with this stack reproduces %s within %s %%: %s ms on %s, "
            "recorded %s ms. With default constants it takes %s ms (%s%s %%).\n",
            what, number_fixed(100 * fabs(s->generated_s / s->recorded_s - 1), 1).at,
            number_digits(s->generated_s * 1e3, 4).at, s->cluster,
            number_digits(s->recorded_s * 1e3, 4).at,
            number_digits(s->default_s * 1e3, 4).at,
            s->default_s > s->recorded_s ? "+" : "",
            number_fixed(100 * (s->default_s / s->recorded_s - 1), 1).at);
    if (s->at_limit[0] != '\0')
        fprintf(call->out, "At the limits of what the constants can express: %s.\n",
                s->at_limit);
    if (!is_stack_close(s))
        fprintf(call->out,
                "The stack is not written: it is more than %s %% off, so its constants "
                "do not describe this recording.\n",
                number_fixed(100 * fit_most_error, 0).at);
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
    const char *const missing = f->hidden == 0   ? "hidden size"
                                : f->heads == 0  ? "number of heads"
                                : f->vocab == 0  ? "vocabulary"
                                : f->seq == 0    ? "length of a sequence"
                                : f->experts > 0 ? "sizes of its experts"
                                                 : NULL;
    if (missing == NULL)
        return HALLEY_OK;
    return error_set(
        err, HALLEY_EINVAL,
        "no model can be written: the recording does not show its %s; record "
        "it with shapes (record_shapes=True), in a step that is whole",
        missing);
}

static void print_model_file(strbuf *to, const halley_recorded_model *f, const char *name)
{
    strbuf_printf(to,
                  "name: %s\nkind: transformer\nlayers: %" PRIu32 "\nhidden: %" PRIu64
                  "\nheads: %" PRIu64 "\n",
                  name != NULL ? name : "recorded", f->layers * f->pp, f->hidden,
                  f->heads * f->tp);
    if (f->kv_heads > 0 && f->kv_heads != f->heads)
        strbuf_printf(to, "kv-heads: %" PRIu64 "\n", f->kv_heads * f->tp);
    if (f->head_dim > 0 && f->head_dim * f->heads * f->tp != f->hidden)
        strbuf_printf(to, "head-dim: %" PRIu64 "\n", f->head_dim);
    if (f->ffn > 0)
        strbuf_printf(to, "ffn: %" PRIu64 "\n", f->ffn * f->tp);
    if (f->is_gated)
        strbuf_printf(to, "gated: yes\n");
    strbuf_printf(to, "vocab: %" PRIu64 "\nseq: %" PRIu64 "\n", f->vocab * f->tp, f->seq);
}

static void print_plan_file(strbuf *to, const halley_recorded_model *f, bool is_eager)
{
    const halley_plan plan = fit_plan(f);
    strbuf_printf(to, "tp: %" PRIu32 "\n", plan.tp);
    if (plan.pp > 1)
        strbuf_printf(to, "pp: %" PRIu32 "\n", plan.pp);
    strbuf_printf(
        to, "dp: %" PRIu32 "\nmicro-batch: %" PRIu32 "\nglobal-batch: %" PRIu32 "\n",
        plan.dp, plan.micro_batch, plan.global_batch);
    if (f->dtype != HALLEY_N_DTYPES)
        strbuf_printf(to, "dtype: %s\n", halley_dtype_name(f->dtype));
    if (plan.attention == HALLEY_ATTENTION_UNFUSED)
        strbuf_printf(to, "attention: unfused\n");
    if (is_eager)
        strbuf_printf(to, "kernels: eager\n");
    if (plan.tp > 1)
        strbuf_printf(to, "sequence-parallel: %s\n",
                      plan.sequence_parallel ? "yes" : "no");
    if (f->has_backward && !f->has_sharded_optimizer)
        strbuf_printf(to, "zero: 0\n");
}

static halley_status save_stack(const fit_options *o, const fit_stack *s,
                                halley_error *err)
{
    strbuf path = {0};
    strbuf_printf(&path, "%s.stack.yaml", o->out);
    const halley_status status =
        path.failed ? error_nomem(err) : halley_stack_save(&s->stack, path.at, err);
    strbuf_fini(&path);
    return status;
}

static halley_status write_fit_files(const request_call *call,
                                     const halley_recorded_model *f, const strbuf *model,
                                     const fit_stack *s, halley_error *err)
{
    const fit_options *o = call->options;
    strbuf plan = {0};
    TRY(refuse_files(f, err));
    print_plan_file(&plan, f, s->is_eager);
    halley_status status = save_text(o->out, ".model.yaml", model, err);
    if (status == HALLEY_OK)
        status = save_text(o->out, ".plan.yaml", &plan, err);
    if (status == HALLEY_OK && is_stack_close(s))
        status = save_stack(o, s, err);
    strbuf_fini(&plan);
    return status;
}

/* Write the results in the requested form. */
static halley_status write_found_plan(const request_call *call,
                                      const halley_recorded_model *f, const fit_stack *s,
                                      report_form form, halley_error *err)
{
    if (form == REPORT_JSON)
        return write_recorded_json(call, f, s, err);
    if (form == REPORT_CSV)
        return write_fit_csv(call, f, err);
    write_recorded_text(call, f);
    write_reproduced_text(call, s);
    return HALLEY_OK;
}

/* The reason why no model file can be written is also why no stack can be fitted. */
static halley_status fit_constants_of(fit_stack *out, const fit_options *o,
                                      const halley_recorded_model *f, const strbuf *model,
                                      const halley_trace *trace, halley_error *err)
{
    halley_recorded_times times;
    halley_error why = {0};
    TRY(halley_recording_times(&times, trace, err));
    if (model->failed)
        return error_nomem(err);
    if (refuse_files(f, &why) == HALLEY_OK)
        return fit_stack_make(out, f, &times, model, o->cluster, err);
    *out = (fit_stack){0};
    snprintf(out->why_not, sizeof out->why_not, "%.300s", why.text);
    return HALLEY_OK;
}

static halley_status show_fit(request_call *call, const halley_trace_set *set,
                              report_form form, halley_error *err)
{
    const fit_options *o = call->options;
    const halley_trace *const trace = halley_trace_set_get(set, 0);
    halley_recorded_model f;
    fit_stack s = {0};
    strbuf model = {0};
    TRY(halley_recording_fit(&f, trace, err));
    print_model_file(&model, &f, o->name);
    halley_status status = fit_constants_of(&s, o, &f, &model, trace, err);
    if (status == HALLEY_OK && o->out != NULL)
        status = write_fit_files(call, &f, &model, &s, err);
    if (status == HALLEY_OK)
        status = write_found_plan(call, &f, &s, form, err);
    strbuf_fini(&model);
    return status;
}

/* Check that a named machine is known. The number of accelerators comes from the
 * recording. */
static halley_status check_fit_cluster(request_call *call, const char *name,
                                       halley_error *err)
{
    halley_cluster *cluster;
    TRY(request_cluster_load(&cluster, call, name, err));
    halley_cluster_free(cluster);
    const char *const colon = strrchr(name, ':');
    if (colon == NULL || colon[1] == '\0' || colon[1 + strspn(colon + 1, "0123456789")])
        return HALLEY_OK;
    return request_usage(call, err,
                         "-c %s: name the cluster without a number; the recording shows "
                         "how many accelerators took part",
                         name);
}

static halley_status trace_fit_run(request_call *call, halley_error *err)
{
    const fit_options *o = call->options;
    report_form form;
    halley_trace_set *set = NULL;
    TRY(request_output_form(&form, call, &o->output, err));
    if (o->cluster != NULL)
        TRY(check_fit_cluster(call, o->cluster, err));
    TRY(traces_load_any(&set, call, 0, call->n_args, NULL, err));
    const halley_status status = show_fit(call, set, form, err);
    halley_trace_set_free(set);
    return status;
}

static const request_example examples[] = {
    {"halley trace fit kineto.json.gz", "layers, sizes and parallelism of a recording"},
    {"halley trace fit kineto.json.gz -o mine && halley estimate -m mine.model.yaml -s "
     "mine.stack.yaml -c dgx-h100:8",
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
        "The step that 'trace gen' makes of this model and plan is then compared with "
        "the recorded one, on the cluster of -c or the preset with the recorded device. "
        "The constants of a stack are scaled until matmuls, attention, memory-bound "
        "operators, the update and the wait for the host take the recorded time. "
        "Constants of one kind are scaled by one factor, and communication keeps its "
        "defaults. The remaining difference is printed. So is the difference with "
        "default "
        "constants, which is the error of a prediction without the recording. For a "
        "recording without a backward pass, the compute of the forward pass is "
        "compared.\n\n"
        "With --out the model, the plan and the stack are written as files that other "
        "commands read; a stack that is more than 25 % off is not written. What was not "
        "found is reported, not guessed.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(fit_options),
    .min_args = 1,
    .max_args = REQUEST_ANY,
    .run = trace_fit_run,
};
