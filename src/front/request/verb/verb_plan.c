/* halley plan - the best ways to parallelize a model over a cluster. */
#include "base/array.h"
#include "base/error.h"
#include "base/number/number.h"
#include "halley/score.h"
#include "halley/search.h"
#include "report/facts.h"
#include "report/numbers.h"
#include "request/design.h"
#include "request/launch_file.h"
#include "request/page.h"
#include "request/plan_result.h"
#include "request/recipe.h"
#include "request/verbs.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

typedef struct plan_options {
    design_options design;
    uint32_t max_tp, max_cp, top, threads;
    uint32_t write;
    double tokens;
    bool all, variants;
    const char *report;
    request_output output;
} plan_options;

static const plan_options defaults = {.top = 10, .tokens = 1e12};

#define LIMIT(key, field, text, default_, example_)                                      \
    {                                                                                    \
        .name = key, .kind = REQUEST_U32, .min = 1, .max = 1e9, .metavar = "N",          \
        .offset = offsetof(plan_options, field), .doc = text, .by_default = default_,    \
        .example = example_                                                              \
    }

static const char *const forms[] = {"megatron", "deepspeed", "torchtitan", "maxtext",
                                    NULL};

typedef plan_options options_struct;
static const request_option options[] = {
    DESIGN_NAMES(REQUEST_REQUIRED, "required; a launch file may name its own")
        DESIGN_PLAN DESIGN_HEADROOM LIMIT(
            "max-tp", max_tp, "largest tensor parallelism to try", "4 nodes", "8"),
    LIMIT("max-cp", max_cp, "largest context parallelism to try",
          "1; with --all, no limit", "4"),
    {.name = "all",
     .letter = 'a',
     .kind = REQUEST_FLAG,
     .offset = offsetof(plan_options, all),
     .doc = "also try context parallelism, rank orders, GPipe, hybrid sharding, "
            "offloading and all kinds of recomputation"},
    {.name = "variants",
     .kind = REQUEST_FLAG,
     .offset = offsetof(plan_options, variants),
     .doc = "also list plans that differ only in recomputation and sharding"},
    {.name = "write",
     .kind = REQUEST_CHOICE,
     .choices = forms,
     .offset = offsetof(plan_options, write),
     .doc = "print the best plan as arguments or configuration of this training program",
     .by_default = "none"},
    {.name = "tokens",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_COUNT,
     .min = 1,
     .max = 1e18,
     .metavar = "N",
     .offset = offsetof(plan_options, tokens),
     .doc = "length of the training run in tokens",
     .by_default = "1T",
     .example = "15T"},
    LIMIT("top", top, "number of best plans to show", "10", "20"),
    LIMIT("threads", threads, "number of threads", "one per core", "4"),
    REQUEST_REPORT_OPTION(plan_options, report),
    REQUEST_OUTPUT_OPTIONS(plan_options, output),
    {0},
};

/* The inputs of the search, and the result. */
typedef struct plan_subject {
    const halley_model *model;
    const halley_cluster *cluster;
    const halley_stack *stack;
    const design_own *own;
    double tokens;
    plan_result r;
} plan_subject;

static const report_column columns[] = {
    {"", "rank", REPORT_COUNT, UNITS_COUNT, 0},
    {"tp", "tp", REPORT_COUNT, UNITS_COUNT, 0},
    {"pp", "pp", REPORT_COUNT, UNITS_COUNT, 0},
    {"dp", "dp", REPORT_COUNT, UNITS_COUNT, 0},
    {"cp", "cp", REPORT_COUNT, UNITS_COUNT, 0},
    {"ep", "ep", REPORT_COUNT, UNITS_COUNT, 0},
    {"virtual", "virtual", REPORT_COUNT, UNITS_COUNT, 0},
    {"mbs", "micro_batch", REPORT_COUNT, UNITS_COUNT, 0},
    {"recompute", "recompute", REPORT_WORDS, UNITS_COUNT, 0},
    {"sharding", "sharding", REPORT_WORDS, UNITS_COUNT, 0},
    {"step", "step_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"", "tie", REPORT_WORDS, UNITS_COUNT, 0},
    {"MFU", "mfu", REPORT_QUANTITY, UNITS_SHARE, 0},
    {"tokens/s each", "tokens_per_s_per_npu", REPORT_NUMBER, UNITS_COUNT, 0},
    {"FLOP/s each", "model_flops_per_s_per_npu", REPORT_QUANTITY, UNITS_FLOPS, 0},
    {"memory", "device_bytes", REPORT_QUANTITY, UNITS_BYTES, 0},
    {"of", "full", REPORT_QUANTITY, UNITS_SHARE, 0},
    {"", "fit", REPORT_WORDS, UNITS_COUNT, 0},
    {"loses to the one above by", "reason", REPORT_WORDS, UNITS_COUNT, 0},
};

static void describe_recompute(char *to, size_t size, const halley_plan *p)
{
    const char *name = halley_recompute_name(p->recompute);
    if (p->recompute_every > 1)
        snprintf(to, size, "%s, every %u", name, p->recompute_every);
    else if (p->recompute_layers)
        snprintf(to, size, "%s, %u layers", name, p->recompute_layers);
    else
        snprintf(to, size, "%s", name);
}

/* Write the sharding, and other unusual settings of the plan. */
static void describe_sharding(char *to, size_t size, const halley_plan *p)
{
    char shard[24];
    snprintf(shard, sizeof shard, p->fsdp ? "fsdp %u" : "zero %u",
             p->fsdp ? p->fsdp : p->zero);
    snprintf(to, size, "%s%s%s%s%s%s", shard, p->sequence_parallel ? " sp" : "",
             p->schedule == HALLEY_SCHEDULE_GPIPE ? " gpipe" : "",
             p->offload ? " offload" : "", p->rank_order ? " " : "",
             p->rank_order ? halley_rank_order_name(p->rank_order) : "");
}

static double find_sure(const halley_search *s, uint32_t i)
{
    return halley_faster(s->found[0].estimate.step_s, s->found[i].estimate.step_s,
                         HALLEY_ALIKE_DEVICE);
}

static bool is_tie(const halley_search *s, uint32_t i)
{
    return find_sure(s, i) < halley_sure();
}

static bool has_ties(const halley_search *s)
{
    return s->n_found > 1 && is_tie(s, 1);
}

/* Round to four digits: more are noise. */
static double round_number(double x)
{
    const double scale = pow(10, 3 - floor(log10(x > 0 ? x : 1)));
    return round(x * scale) / scale;
}

static void add_plan_row(report_table *t, const plan_row *r)
{
    const halley_plan *p = &r->plan;
    const uint32_t numbers[] = {
        r->rank, p->tp, p->pp, p->dp, p->cp, p->ep, p->virtual_stages, p->micro_batch};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        report_table_count(t, numbers[k]);
    char text[96];
    describe_recompute(text, sizeof text, p);
    report_table_words(t, str_from(text));
    describe_sharding(text, sizeof text, p);
    report_table_words(t, str_from(text));
    report_table_number(t, r->e.step_s);
    report_table_words(t, r->tie ? STR("tie") : STR(""));
    report_table_number(t, r->e.mfu);
    report_table_number(t, round_number(r->n.tokens_per_s_npu));
    report_table_number(t, r->n.flops_per_s_npu);
    report_table_number(t, r->e.peak_bytes);
    report_table_number(t, r->full);
    report_table_words(t, str_from(halley_fit_name(r->e.fit)));
    report_table_words(t, str_from(r->reason));
}

/* Write what differs, at most three keys: "tp 4 instead of 8, recompute none instead of
 * full". */
static void describe_change(char *to, size_t size, const halley_plan *from,
                            const halley_plan *best)
{
    const struct {
        const char *name;
        uint32_t was, is;
    } numbers[] = {{"tp", from->tp, best->tp},
                   {"pp", from->pp, best->pp},
                   {"cp", from->cp, best->cp},
                   {"ep", from->ep, best->ep},
                   {"virtual", from->virtual_stages, best->virtual_stages},
                   {"micro-batch", from->micro_batch, best->micro_batch},
                   {"zero", from->zero, best->zero}};
    size_t n = 0;
    uint32_t n_changes = 0;
    to[0] = '\0';
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && n_changes < 3; i++) {
        if (numbers[i].was == numbers[i].is || n >= size)
            continue;
        n += (size_t)snprintf(to + n, size - n, ", %s %u instead of %u", numbers[i].name,
                              numbers[i].is, numbers[i].was);
        n_changes++;
    }
    if (from->recompute != best->recompute && n_changes < 3 && n < size)
        snprintf(to + n, size - n, ", recompute %s instead of %s",
                 halley_recompute_name(best->recompute),
                 halley_recompute_name(from->recompute));
}

/* How the plan of the launch file compares with the best one. */
static void print_own_plan(FILE *to, const design_own *own, const halley_found *best)
{
    char mine[32], other[32], change[160];
    if (!own->is_known)
        return;
    units_format(mine, sizeof mine, own->estimate.step_s, UNITS_TIME);
    units_format(other, sizeof other, best->estimate.step_s, UNITS_TIME);
    const double gain = 1 - best->estimate.step_s / own->estimate.step_s;
    describe_change(change, sizeof change, &own->plan, &best->plan);
    fprintf(to, "your plan: %s%s; best: %s, %s %% %s%s\n", mine,
            own->estimate.fits ? "" : " (does not fit)", other,
            number_fixed(100 * (gain < 0 ? -gain : gain), 0).at,
            gain < 0 ? "slower" : "faster", change);
}

static void write_plan_counts(FILE *to, const halley_search *s)
{
    if (has_ties(s))
        fprintf(to,
                "\ntie: within %s %% of the best, less than such predictions can "
                "tell apart",
                number_fixed(100 * halley_tie_share(HALLEY_ALIKE_DEVICE), 0).at);
    fprintf(to, "\n%llu plans tried, %llu fit with %s %% headroom",
            (unsigned long long)s->n_designs, (unsigned long long)s->n_feasible,
            number_digits(100 * s->found[0].estimate.headroom, 3).at);
    if (s->n_may > 0)
        fprintf(to, ", %llu may fit", (unsigned long long)s->n_may);
    if (s->n_left_out > 0)
        fprintf(to, "; %llu that the software cannot run are left out",
                (unsigned long long)s->n_left_out);
    fprintf(to, "\n");
}

/* Write everything that the plans are based on, before the first of them. */
static void write_header(const request_call *call, const halley_search *s,
                         const plan_subject *of)
{
    FILE *to = call->out;
    char a[48], b[48];
    const halley_plan *p = &s->found[0].plan;
    fprintf(to, "%s (%s parameters", of->model->name,
            report_print_params(a, of->r.n.params));
    if (of->r.n.active_params < of->r.n.params)
        fprintf(to, ", %s active", report_print_params(b, of->r.n.active_params));
    fprintf(to, ") on %u x %s (%s), stack %s\n", halley_cluster_npus(of->cluster),
            halley_npu_label(halley_cluster_npu(of->cluster, 0)),
            halley_cluster_name(of->cluster), of->stack->name);
    design_print_batch(to, p, of->model);
    request_write_assumed(call);
    fprintf(to, "\n");
}

static void write_footer(FILE *to, const plan_subject *of)
{
    char a[32];
    fprintf(to, "the best takes %s d and %s for %s tokens, with interruptions\n",
            number_fixed(of->r.n.wall_days, 1).at,
            units_format(a, sizeof a, of->r.n.cost_usd, UNITS_MONEY),
            number_digits(of->r.n.tokens, 3).at);
    report_error_bar_text(to, &of->r.bar);
}

static halley_status write_plan_table(FILE *to, const plan_result *r, halley_error *err)
{
    report_table *t = report_table_new(columns, sizeof columns / sizeof *columns);
    const plan_row *rows = r->plans.at;
    for (size_t i = 0; t != NULL && i < r->plans.n; i++)
        add_plan_row(t, &rows[i]);
    const halley_status status =
        t != NULL ? report_table_write(t, REPORT_TEXT, to, err) : error_nomem(err);
    report_table_free(t);
    return status;
}

static halley_status write_plan_text(const request_call *call, const halley_search *s,
                                     const plan_subject *of, halley_error *err)
{
    write_header(call, s, of);
    TRY(write_plan_table(call->out, &of->r, err));
    write_plan_counts(call->out, s);
    write_footer(call->out, of);
    print_own_plan(call->out, of->own, &s->found[0]);
    return HALLEY_OK;
}

static halley_status write_plan_json(const request_call *call, const void *what,
                                     halley_error *err)
{
    return request_facts_write(call, REPORT_JSON, &request_plan_facts, what, err);
}

/* Fill the rows from what was found; `rows` has room for all. */
static void fill_rows(plan_row *rows, const halley_search *s, const plan_subject *of)
{
    for (uint32_t i = 0; i < s->n_found; i++) {
        const halley_found *found = &s->found[i];
        rows[i] = (plan_row){.rank = i + 1,
                             .plan = found->plan,
                             .e = found->estimate,
                             .tie = has_ties(s) && is_tie(s, i),
                             .sure = find_sure(s, i),
                             .full = found->estimate.peak_bytes /
                                     found->estimate.capacity_bytes};
        halley_numbers_run(&rows[i].n, &found->estimate, of->model, &found->plan,
                           of->cluster, of->tokens);
        if (i > 0)
            halley_search_reason(rows[i].reason, sizeof rows[i].reason, &s->found[i - 1],
                                 found);
    }
}

/* Write the best plan as a launch file. */
static halley_status write_launch_file(request_call *call, const halley_model *model,
                                       const halley_plan *plan, halley_error *err)
{
    const plan_options *o = call->options;
    char *text, *left_out;
    TRY(halley_launch_write(&text, &left_out, (halley_launch_form)o->write, model, plan,
                            err));
    fprintf(call->out, "%s", text);
    if (left_out != NULL)
        request_note(call, "note: %s cannot say: %s", forms[o->write], left_out);
    free(text);
    free(left_out);
    return HALLEY_OK;
}

static halley_status write_plans(request_call *call, const halley_search *s,
                                 const plan_subject *of, halley_error *err)
{
    const plan_options *o = call->options;
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    char title[3 * HALLEY_NAME];
    snprintf(title, sizeof title, "Plans for %s on %s", of->r.model, of->r.cluster);
    TRY(request_page_save(call, o->report,
                          &(request_page){"plan", title, write_plan_json, &of->r, {0}},
                          err));
    if (form == REPORT_JSON)
        return write_plan_json(call, &of->r, err);
    if (form == REPORT_CSV)
        return report_facts_list_csv(call->out, &request_plan_row_facts, of->r.plans,
                                     err);
    return write_plan_text(call, s, of, err);
}

static halley_status describe_plans(request_call *call, const halley_search *s,
                                    const halley_model *model,
                                    const halley_cluster *cluster,
                                    const halley_stack *stack, const design_own *own,
                                    halley_error *err)
{
    const plan_options *o = call->options;
    const halley_found *best = &s->found[0];
    plan_subject of = {.model = model,
                       .cluster = cluster,
                       .stack = stack,
                       .own = own,
                       .tokens = o->tokens,
                       .r = {.model = model->name,
                             .cluster = halley_cluster_name(cluster),
                             .stack = stack->name,
                             .npus = halley_cluster_npus(cluster),
                             .headroom = best->estimate.headroom,
                             .designs = s->n_designs,
                             .feasible = s->n_feasible,
                             .own = own->is_known ? own : NULL}};
    halley_numbers_run(&of.r.n, &best->estimate, model, &best->plan, cluster, o->tokens);
    TRY(halley_error_bar_find(&of.r.bar, model, &best->plan, cluster, stack, NULL, err));
    plan_row *rows = mem_array(s->n_found, sizeof *rows);
    if (rows == NULL)
        return error_nomem(err);
    fill_rows(rows, s, &of);
    of.r.plans = (fact_list){rows, s->n_found};
    const halley_status status = write_plans(call, s, &of, err);
    free(rows);
    return status;
}

/* Twice the accelerators, and twice again, until a plan fits; 0 = none up to 4,096 times.
 */
static uint32_t find_count(const halley_model *model, const halley_cluster *cluster,
                           const halley_stack *stack, const halley_search_opts *opts)
{
    enum { MOST_DOUBLINGS = 12, MOST_NPUS = 1 << 20 };
    halley_search_opts more = *opts;
    halley_found best;
    for (int i = 0; i < MOST_DOUBLINGS && more.n_npus <= MOST_NPUS / 2; i++) {
        more.n_npus *= 2;
        if (halley_search_any(&best, model, cluster, stack, &more) == HALLEY_SEARCH_FITS)
            return more.n_npus;
    }
    return 0;
}

/* No plan fits, whatever its settings. */
static halley_status refuse_cluster(unsigned long long n, const halley_model *model,
                                    const halley_cluster *cluster,
                                    const halley_stack *stack,
                                    const halley_search_opts *opts, halley_error *err)
{
    const char *const all = opts->all ? "" : ", nor any of --all";
    const uint32_t enough = find_count(model, cluster, stack, opts);
    if (enough == 0)
        return error_set(err, HALLEY_EINVAL,
                         "none of %llu plans fits%s: more accelerators, more memory or "
                         "fewer limits are needed",
                         n, all);
    return error_set(
        err, HALLEY_EINVAL,
        "none of %llu plans fits%s; one%s fits on %u accelerators, and %u are "
        "too few",
        n, all, opts->all ? "" : " of --all", enough, enough / 2);
}

/* None fits. The message says how many accelerators are needed only if --all finds
 * none.
 */
static halley_status refuse_all(const halley_search *s, const halley_model *model,
                                const halley_cluster *cluster, const halley_stack *stack,
                                const halley_search_opts *opts, halley_error *err)
{
    halley_found best;
    char plan[256];
    const unsigned long long n = s->n_designs;
    if (n == 0)
        return error_set(err, HALLEY_EINVAL, "no plan divides model, batch and NPUs");
    const halley_search_answer answer =
        opts->all ? HALLEY_SEARCH_NONE
                  : halley_search_any(&best, model, cluster, stack, opts);
    if (answer == HALLEY_SEARCH_NONE)
        return refuse_cluster(n, model, cluster, stack, opts, err);
    design_describe(plan, sizeof plan, &best.plan);
    return error_set(err, HALLEY_EINVAL,
                     "none of %llu plans fits; --all finds one that %s: %s", n,
                     answer == HALLEY_SEARCH_FITS ? "does" : "may fit", plan);
}

/* Report the settings of every plan that the user did not give. */
static void assume_workload(request_call *call, const halley_search_opts *opts,
                            const halley_model *model, const halley_stack *stack)
{
    const uint64_t given = opts->fixed;
    if (!(given >> HALLEY_KEY_SEQ & 1) && model->seq > 0 &&
        model->kind == HALLEY_TRANSFORMER)
        request_assume_default(call, "seq", number_digits(model->seq, 9).at,
                               "sequence %u (from the model)", model->seq);
    if (!(given >> HALLEY_KEY_DTYPE & 1))
        request_assume_default(call, "dtype", halley_dtype_name(opts->plan.dtype), "%s",
                               halley_dtype_name(opts->plan.dtype));
    if (stack->framework[0] == '\0')
        request_assume_default(call, "stack", "",
                               "no software stack (-s): default constants");
    request_assume_default(call, "headroom", number_digits(stack->headroom, 3).at,
                           "%s %% of the memory stays free",
                           number_digits(100 * stack->headroom, 3).at);
}

static halley_status answer_plans(request_call *call, const halley_search *s,
                                  const halley_model *model,
                                  const halley_cluster *cluster,
                                  const halley_stack *stack, const design_own *own,
                                  halley_error *err)
{
    assert(s->n_found > 0);
    if (request_given(call, "write"))
        return write_launch_file(call, model, &s->found[0].plan, err);
    return describe_plans(call, s, model, cluster, stack, own, err);
}

static halley_status search_plans(request_call *call, const halley_model *model,
                                  const halley_cluster *cluster,
                                  const halley_stack *stack, halley_error *err)
{
    const uint32_t n_npus = halley_cluster_npus(cluster);
    const plan_options *o = call->options;
    const design_options *d = &o->design;
    TRY(design_check_count(cluster, call, d, err));
    halley_search_opts opts = {
        .n_npus = n_npus,
        .max_tp = o->max_tp,
        .max_cp = o->max_cp,
        .all = o->all,
        .variants = o->variants,
        .top = o->top,
        .threads = o->threads,
        .watch = call->watch,
    };
    TRY(design_read(&opts.plan, &opts.fixed, n_npus, call, d, err));
    const halley_status known =
        halley_plan_check_npu(&opts.plan, halley_cluster_npu(cluster, 0), err);
    if (known != HALLEY_OK)
        return design_refuse(call, d, known, err);
    if (opts.plan.global_batch == 0) {
        opts.plan.global_batch = n_npus;
        request_assume_default(call, "global-batch", number_digits(n_npus, 9).at,
                               "global_batch %u: one sequence per NPU", n_npus);
    }
    if ((opts.fixed >> HALLEY_KEY_STAGE_LAYERS & 1) == 0)
        opts.plan.n_stage_layers = 0; /* from a launch file: only for its own pipeline */
    assume_workload(call, &opts, model, stack);
    halley_framework framework;
    TRY(design_limit_search(&opts, &framework, stack, err));
    halley_search *s = NULL;
    const halley_status found = halley_search_run(&s, model, cluster, stack, &opts, err);
    request_work_end(call);
    TRY(found);
    design_own own;
    halley_status status = design_own_plan(&own, call, d, cluster, stack, err);
    if (s->n_found > 0)
        design_note_split(call, &s->found[0].plan, cluster);
    if (status == HALLEY_OK)
        status = s->n_found > 0
                     ? answer_plans(call, s, model, cluster, stack, &own, err)
                     : request_fail_as(call, REQUEST_CODE_INFEASIBLE,
                                       refuse_all(s, model, cluster, stack, &opts, err));
    halley_search_free(s);
    return status;
}

static halley_status plan_run(request_call *call, halley_error *err)
{
    const plan_options *o = call->options;
    halley_cluster *cluster;
    halley_model model;
    halley_stack stack;
    TRY(design_load(&model, &cluster, &stack, call, &o->design, err));
    design_note_idle(call, cluster);
    design_note_unmeasured(call, &model);
    const halley_status status = search_plans(call, &model, cluster, &stack, err);
    halley_model_fini(&model);
    halley_cluster_free(cluster);
    return status;
}

static const request_example examples[] = {
    {"halley plan -m gpt3-175b -c dgx-a100:512 --global-batch 1536", "the ten best"},
    {"halley plan -m llama3-70b -c dgx-h100:64 --global-batch 128 --max-cp 4",
     "with context-parallel plans"},
    {0},
};

const request_verb request_verb_plan = {
    .name = "plan",
    .summary = "find the best parallelizations of a model on a cluster",
    .arguments = "",
    .description =

        "Searches all combinations of tensor, pipeline, data and expert "
        "parallelism, micro-batch, interleaving, recomputation and sharding that "
        "divide the model, the batch and the NPUs. Lists the fastest plans that "
        "fit: the best of each combination of degrees, micro-batch and "
        "interleaving. For each plan, names the part of the step that makes it "
        "slower than the one above. A plan option on the command line fixes that "
        "key.\n\n"
        "With a launch file as MODEL, its batch, sequence length and precision are "
        "used, and the last line compares its own plan with the best one. The "
        "option --write prints the best plan as Megatron-LM arguments, DeepSpeed "
        "JSON, torchtitan TOML or MaxText YAML. Keys that this format cannot "
        "express are listed on standard error.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(plan_options),
    .defaults = &defaults,
    .max_args = 0,
    .result = &request_plan_facts,
    .run = plan_run,
};
