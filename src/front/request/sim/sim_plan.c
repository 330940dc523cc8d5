/*
 * A plan is simulated from its roles (halley/plan_trace.h). The simulated time is that of
 * the programs. Their passes include the time that ranks wait for the slowest of those
 * they meet.
 */
#include "request/sim/sim_plan.h"

#include "base/error.h"
#include "base/number/number.h"
#include "base/number/units.h"
#include "halley/plan_trace.h"
#include "report/columns.h"
#include "report/facts.h"
#include "report/losses.h"
#include "report/plan_sim.h"
#include "report/sim.h"
#include "request/estimate_facts.h"
#include "request/page.h"
#include "workload/plan_facts.h"

#include <math.h>
#include <stdlib.h>

/* Above this number there is no use of links over time, which would need all ranks
 * simulated. */
enum { MOST_HEAT_RANKS = 1024 };
/* A difference from the closed form above which the busiest link is named. */
static const double notable_difference = 0.02;

typedef struct plan_run {
    const sim_plan_options *o;
    halley_model model;
    halley_cluster *cluster;
    halley_stack stack;
    halley_plan plan;
    halley_estimate e;
    halley_template *roles;
    halley_result *result;
    double step_s;
    uint32_t rank; /* the first rank of the slowest stage */
    double parts[REPORT_PLAN_N_PARTS];
    bool path_is_finish; /* the critical path was found, and ends with the run */
} plan_run;

static const char *amount(char to[32], double value, units_kind kind)
{
    return units_format(to, 32, value, kind);
}

static uint32_t find_rank(const plan_run *p)
{
    const uint32_t n = halley_template_ranks(p->roles);
    for (uint32_t r = 0; r < n; r++)
        if (halley_template_role_of(p->roles, r) == p->e.slow_stage)
            return r;
    return 0;
}

/* Find the critical path, whose length must be the time of the run. */
static halley_status check_path(plan_run *p, halley_error *err)
{
    halley_path_step *path;
    size_t n;
    TRY(halley_result_path(&path, &n, p->result, err));
    const double end =
        n > 0 ? (double)path[n - 1].end / halley_result_ticks_per_s(p->result) : 0;
    p->path_is_finish = n > 0 && fabs(end - p->step_s) <= 1e-9 * p->step_s;
    free(path);
    return HALLEY_OK;
}

static halley_status simulate_plan_roles(plan_run *p, halley_error *err)
{
    halley_sim_opts opts = p->o->run;
    opts.record = true;
    TRY(halley_estimate_fill_nodes(p->cluster, &p->plan, err));
    /* Timelines show the names. */
    TRY((p->o->timeline != NULL ? halley_plan_template_labelled : halley_plan_template)(
        &p->roles, &p->model, &p->plan, p->cluster, &p->stack, HALLEY_PRICES_STACK, err));
    if (p->o->columns != NULL && halley_template_ranks(p->roles) <= MOST_HEAT_RANKS)
        opts.heat = true;
    TRY(halley_sim_run_template(&p->result, p->roles, p->cluster, &opts, err));
    p->step_s = report_plan_finish(p->result);
    p->rank = find_rank(p);
    TRY(report_plan_parts(p->parts, p->result, p->roles, p->rank, err));
    return check_path(p, err);
}

static double difference_of(const plan_run *p)
{
    return p->step_s / p->e.step_s - 1;
}

static void write_plan_header(const request_call *call, const plan_run *p)
{
    FILE *to = call->out;
    char plan[256];
    design_print_unfit(to, &p->e, p->cluster);
    design_describe(plan, sizeof plan, &p->plan);
    fprintf(to, "%s on %u x %s (%s)\n%s, ", p->model.name,
            halley_template_ranks(p->roles),
            halley_npu_label(halley_cluster_npu(p->cluster, 0)),
            halley_cluster_name(p->cluster), plan);
    design_print_batch(to, &p->plan, &p->model);
    request_write_assumed(call);
}

static void write_step(FILE *to, const plan_run *p)
{
    char a[32];
    const double d = 100 * difference_of(p);
    fprintf(to, "\nstep          %s simulated\n", amount(a, p->step_s, UNITS_TIME));
    fprintf(to, "closed form   %s; the simulation is %s %% %s\n",
            amount(a, p->e.step_s, UNITS_TIME), number_fixed(fabs(d), 1).at,
            d < 0 ? "shorter" : "longer");
}

/* Name the link that explains a difference: the busiest one. */
static void write_contended(FILE *to, const plan_run *p)
{
    if (fabs(difference_of(p)) < notable_difference ||
        halley_result_links(p->result) == 0)
        return;
    const halley_link_result l = halley_result_link(p->result, 0);
    fprintf(to, "contended     link %s (%s %% used) by %s%s%s\n", l.name,
            number_fixed(100 * l.use, 0).at,
            l.users[0] != NULL ? l.users[0] : "one group",
            l.users[1] != NULL ? " and " : "", l.users[1] != NULL ? l.users[1] : "");
}

static void write_plan_parts(FILE *to, const plan_run *p)
{
    char a[32];
    fprintf(to, "\nwhere the time of rank %u goes (stage %u sets the pace)\n", p->rank,
            p->e.slow_stage);
    for (int i = 0; i < REPORT_PLAN_N_PARTS; i++)
        if (p->parts[i] > 1e-9 * p->step_s)
            fprintf(to, "  %-22s %12s  %5s %%\n",
                    report_plan_part_title((report_plan_part)i),
                    amount(a, p->parts[i], UNITS_TIME),
                    number_fixed(100 * p->parts[i] / p->step_s, 1).at);
}

static void describe_losses(char to[REPORT_LOSSES_TEXT], const plan_run *p)
{
    static const report_loss kinds[REPORT_PLAN_N_PARTS] = {
        [REPORT_PLAN_COMPUTE] = {REPORT_LOSS_NONE, 0, "compute"},
        [REPORT_PLAN_TP] = {REPORT_LOSS_COMMUNICATION, 0,
                            "exposed tensor-parallel communication"},
        [REPORT_PLAN_CP] = {REPORT_LOSS_COMMUNICATION, 0,
                            "exposed context-parallel communication"},
        [REPORT_PLAN_EP] = {REPORT_LOSS_COMMUNICATION, 0,
                            "exposed expert-parallel communication"},
        [REPORT_PLAN_DP] = {REPORT_LOSS_COMMUNICATION, 0,
                            "exposed data-parallel communication"},
        [REPORT_PLAN_OFFLOAD] = {REPORT_LOSS_MEMORY, 0,
                                 "exposed transfers to and from outer memory"},
        [REPORT_PLAN_PP] = {REPORT_LOSS_COMMUNICATION, 0,
                            "exposed transfers between pipeline stages"},
        [REPORT_PLAN_BUBBLE] = {REPORT_LOSS_BUBBLE, 0, "pipeline bubble"},
    };
    report_loss parts[REPORT_PLAN_N_PARTS];
    for (int i = 0; i < REPORT_PLAN_N_PARTS; i++) {
        parts[i] = kinds[i];
        parts[i].seconds = p->parts[i];
    }
    report_losses_describe(to, parts, REPORT_PLAN_N_PARTS, "the step");
}

static halley_status write_plan_text(const request_call *call, const plan_run *p,
                                     halley_error *err)
{
    FILE *to = call->out;
    write_plan_header(call, p);
    write_step(to, p);
    write_contended(to, p);
    write_plan_parts(to, p);
    char verdict[REPORT_LOSSES_TEXT];
    describe_losses(verdict, p);
    fprintf(to, "  %s\n\n", verdict);
    if (halley_result_links(p->result) > 0)
        TRY(report_sim_hottest(p->result, to, err));
    fprintf(to, "\n%u classes of %u ranks; %llu events for %llu of all ranks\n",
            halley_result_classes(p->result), halley_result_ranks(p->result),
            (unsigned long long)halley_result_events(p->result),
            (unsigned long long)halley_result_events_represented(p->result));
    fprintf(to, "certificate: no link above 100 %%, all bytes arrived%s\n",
            p->path_is_finish ? ", critical path = finish"
                              : "; the critical path does not reach the finish");
    if (!p->o->explain)
        return HALLEY_OK;
    fputc('\n', to);
    return report_sim_explain(p->result, &(report_traces){.roles = p->roles}, to, err);
}

static void write_plan_parts_json(report_json *j, const plan_run *p)
{
    report_json_object(j, "parts_s");
    for (int i = 0; i < REPORT_PLAN_N_PARTS; i++)
        report_json_double(j, report_plan_part_key((report_plan_part)i), p->parts[i]);
    report_json_end(j);
}

/* A run whose network broke a rule is an error, so these are true for every result. */
static void write_certificate_json(report_json *j, const plan_run *p)
{
    report_json_flat_object(j, "certificate");
    report_json_bool(j, "links_within_capacity", true);
    report_json_bool(j, "bytes_conserved", true);
    report_json_bool(j, "path_is_finish", p->path_is_finish);
    report_json_end(j);
}

static halley_status write_members_json(report_json *j, const plan_run *p,
                                        halley_error *err)
{
    report_json_text(j, "model", str_from(p->model.name));
    report_json_text(j, "cluster", str_from(halley_cluster_name(p->cluster)));
    report_json_text(j, "stack", str_from(p->stack.name));
    report_facts_object(j, "plan", true, &workload_plan_facts, &p->plan);
    report_json_bool(j, "fits", p->e.fits);
    report_json_text(j, "fit", str_from(halley_fit_name(p->e.fit)));
    report_json_double(j, "step_s", p->step_s);
    report_json_double(j, "estimate_s", p->e.step_s);
    report_json_double(j, "difference", difference_of(p));
    report_json_u64(j, "ranks", halley_result_ranks(p->result));
    report_json_u64(j, "classes", halley_result_classes(p->result));
    report_json_u64(j, "events", halley_result_events(p->result));
    report_json_u64(j, "events_represented", halley_result_events_represented(p->result));
    write_plan_parts_json(j, p);
    char verdict[REPORT_LOSSES_TEXT];
    describe_losses(verdict, p);
    report_json_text(j, "verdict", str_from(verdict));
    TRY(report_sim_hottest_json(j, "links", p->result, err));
    TRY(report_sim_explain_json(j, p->result, &(report_traces){.roles = p->roles},
                                p->o->explain, err));
    write_certificate_json(j, p);
    return p->o->per_rank ? report_sim_ranks_json(j, "rank_rows", p->result, err)
                          : HALLEY_OK;
}

static halley_status write_plan_run_json(const request_call *call, const void *what,
                                         halley_error *err)
{
    const plan_run *const p = what;
    report_json j;
    request_json_begin(&j, call);
    const halley_status status = write_members_json(&j, p, err);
    const halley_status ended = request_json_end(&j, call, err);
    return status != HALLEY_OK ? status : ended;
}

/* The memory of a stage, and its passes. */
static halley_status make_columns_stage(report_columns_stage *out, const plan_run *p,
                                        uint32_t i, halley_error *err)
{
    halley_stage_memory memory;
    halley_plan_pass *passes;
    size_t n;
    TRY(halley_plan_passes(&passes, &n, &p->model, &p->plan, p->cluster, &p->stack, i,
                           err));
    halley_estimate_stage(&memory, &p->model, &p->plan, p->cluster, &p->stack, i);
    const double activations = memory.memory_bytes[HALLEY_MEMORY_ACTIVATIONS];
    *out = (report_columns_stage){.passes = passes,
                                  .n_passes = n,
                                  .fixed_bytes = memory.device_bytes - activations,
                                  .activation_bytes = activations};
    return HALLEY_OK;
}

/* Write to a file, or to `page`. */
static halley_status write_plan_columns(const plan_run *p, const char *path, strbuf *page,
                                        halley_error *err)
{
    const uint32_t n = p->plan.pp;
    report_columns_stage *stages = calloc(n, sizeof *stages);
    if (stages == NULL)
        return error_nomem(err);
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; i < n && status == HALLEY_OK; i++)
        status = make_columns_stage(&stages[i], p, i, err);
    const report_columns_options o = {.all_ranks = p->o->all_ranks && page == NULL,
                                      .stages = stages,
                                      .page = page,
                                      .npus_per_node =
                                          halley_cluster_npus_per_node(p->cluster),
                                      .capacity_bytes = p->e.capacity_bytes,
                                      .headroom = p->e.headroom};
    if (status == HALLEY_OK)
        status = report_sim_columns(p->result, &(report_traces){.roles = p->roles}, &o,
                                    path, err);
    for (uint32_t i = 0; i < n; i++)
        free((void *)(uintptr_t)stages[i].passes);
    free(stages);
    return status;
}

static halley_status write_plan_page(const request_call *call, const plan_run *p,
                                     halley_error *err)
{
    strbuf timeline = {0};
    char title[3 * HALLEY_NAME];
    snprintf(title, sizeof title, "A step of %s on %s", p->model.name,
             halley_cluster_name(p->cluster));
    halley_status status = write_plan_columns(p, NULL, &timeline, err);
    if (status == HALLEY_OK) {
        const request_page page = {"sim", title, write_plan_run_json, p,
                                   strbuf_str(&timeline)};
        status = request_page_save(call, p->o->report, &page, err);
    }
    strbuf_fini(&timeline);
    return status;
}

static halley_status write_plan_run(request_call *call, const plan_run *p,
                                    halley_error *err)
{
    const sim_plan_options *o = p->o;
    const report_traces traces = {.roles = p->roles};
    if (o->per_node != NULL)
        TRY(report_sim_nodes(p->result, &traces, o->per_node, err));
    if (o->heat != NULL)
        TRY(report_sim_heat(p->result, o->heat, err));
    if (o->links != NULL)
        TRY(report_sim_links(p->result, o->links, err));
    if (o->timeline != NULL)
        TRY(report_sim_timeline(p->result, &traces, o->timeline, o->expand, err));
    if (o->columns != NULL)
        TRY(write_plan_columns(p, o->columns, NULL, err));
    for (uint32_t i = 0; i < halley_result_warning_count(p->result); i++)
        request_note(call, "warning: %s", halley_result_warning(p->result, i));
    if (o->report != NULL)
        TRY(write_plan_page(call, p, err));
    if (o->json)
        return write_plan_run_json(call, p, err);
    if (o->csv || o->per_rank)
        return report_sim_ranks(p->result, call->out, err);
    return write_plan_text(call, p, err);
}

halley_status sim_plan_check_expand(request_call *call, const char *expand,
                                    const char *timeline, uint32_t n_ranks,
                                    halley_error *err)
{
    if (expand != NULL && timeline == NULL)
        return request_usage(call, err, "--expand needs --timeline");
    if (report_sim_expand_is(expand, n_ranks))
        return HALLEY_OK;
    return request_usage(call, err,
                         "--expand: expected all or a list of ranks below %u, for "
                         "example 0-7,64, not %s",
                         n_ranks, expand);
}

static halley_status run_design(request_call *call, plan_run *p, halley_error *err)
{
    TRY(design_plan(&p->plan, NULL, &p->model, p->cluster, &p->stack, call, p->o->design,
                    err));
    TRY(sim_plan_check_expand(call, p->o->expand, p->o->timeline,
                              halley_cluster_npus(p->cluster), err));
    halley_estimate_run(&p->e, &p->model, &p->plan, p->cluster, &p->stack);
    TRY(halley_estimate_check(&p->e, err));
    const halley_status status = simulate_plan_roles(p, err);
    request_work_end(call);
    return status == HALLEY_OK ? write_plan_run(call, p, err) : status;
}

halley_status sim_plan_run(request_call *call, const sim_plan_options *o,
                           halley_status (*set_up)(request_call *, halley_cluster *,
                                                   halley_error *),
                           halley_error *err)
{
    plan_run *p = calloc(1, sizeof *p);
    if (p == NULL)
        return error_nomem(err);
    p->o = o;
    halley_status status =
        design_load(&p->model, &p->cluster, &p->stack, call, o->design, err);
    if (status == HALLEY_OK) {
        if (set_up != NULL)
            status = set_up(call, p->cluster, err);
        if (status == HALLEY_OK)
            status = run_design(call, p, err);
        halley_result_free(p->result);
        halley_template_free(p->roles);
        halley_model_fini(&p->model);
        halley_cluster_free(p->cluster);
    }
    free(p);
    return status;
}
