/* The results of an exploration, for programs. */
#include "base/error.h"
#include "report/facts.h"
#include "request/estimate_facts.h"
#include "request/estimate_out.h"
#include "request/explore_out.h"
#include "request/page.h"
#include "workload/plan_facts.h"

#include <math.h>
#include <string.h>

/* Write metrics whose column starts with `object` and a dot as an object of that name. */
static void write_metric_object(report_json *j, const char *object,
                                const halley_candidate *c)
{
    const size_t n = strlen(object);
    report_json_flat_object(j, object);
    for (uint32_t i = 0; i < HALLEY_N_METRICS; i++) {
        const char *column = halley_metric_column(i);
        if (strncmp(column, object, n) == 0 && column[n] == '.')
            report_json_double(j, column + n + 1, c->metrics[i]);
    }
    report_json_end(j);
}

static void write_price_state(report_json *j, const halley_candidate *c)
{
    str rest = str_from(c->missing_prices), name;
    report_json_text(j, "capital_is", str_from(halley_price_state_name(c->price_state)));
    report_json_flat_array(j, "capital_missing");
    while (rest.n > 0 && str_next(&rest, ',', &name))
        report_json_text(j, NULL, str_trim(name));
    report_json_end(j);
}

static void write_metrics(report_json *j, const halley_candidate *c)
{
    report_json_flat_object(j, "results");
    for (uint32_t i = 0; i < HALLEY_N_METRICS; i++)
        if (strchr(halley_metric_column(i), '.') == NULL)
            report_json_double(j, halley_metric_column(i), c->metrics[i]);
    write_metric_object(j, "parts_s", c);
    write_metric_object(j, "memory_bytes", c);
    write_metric_object(j, "capital_parts_usd", c);
    write_price_state(j, c);
    report_json_end(j);
}

typedef struct explore_outcome {
    const halley_study *study;
    const halley_exploration *e;
    bool with_text; /* the study as it was read */
} explore_outcome;

static void candidate_json(report_json *j, const char *key, const explore_outcome *o,
                           const halley_candidate *c, bool is_base)
{
    const halley_study *const s = o->study;
    report_json_object(j, key);
    if (c->id != UINT64_MAX) /* the baseline is no design of the study */
        report_json_u64(j, "id", c->id);
    report_json_text(j, "model", str_from(c->model));
    report_json_text(j, "cluster", str_from(c->cluster));
    report_json_flat_object(j, "varied");
    for (uint32_t i = 0; !is_base && i < halley_study_axes(s); i++) {
        const halley_axis *a = halley_study_axis(s, i);
        if (a->numbers)
            report_json_double(j, a->name, a->numbers[c->digits[i]]);
        else
            report_json_text(j, a->name, str_from(a->texts[c->digits[i]]));
    }
    report_json_end(j);
    report_facts_object(j, "plan", true, &workload_plan_facts, &c->plan);
    report_json_flat_array(j, "objective_values");
    for (uint32_t i = 0; i < halley_study_objectives(s); i++)
        report_json_double(j, NULL, c->objective[i]);
    report_json_end(j);
    write_metrics(j, c);
    report_json_bool(j, "fits", c->fits);
    report_json_double(j, "capacity_bytes", c->capacity_bytes);
    report_json_double(j, "spilled_bytes",
                       request_spilled_bytes(&c->plan, c->metrics[HALLEY_METRIC_MEMORY],
                                             c->capacity_bytes, o->e->headroom));
    report_json_text(j, "schedule_time", str_from(c->schedule_walked ? "walk" : "form"));
    report_facts_object(j, "error_bar", true, &request_error_bar_facts, &c->error_bar);
    report_json_text(j, "limit", str_from(c->limit));
    report_json_end(j);
}

static void list_json(report_json *j, const char *key, const explore_outcome *o,
                      const halley_candidate *list, uint32_t n)
{
    report_json_array(j, key);
    for (uint32_t i = 0; i < n; i++)
        candidate_json(j, NULL, o, &list[i], false);
    report_json_end(j);
}

static void axes_json(report_json *j, const halley_study *s, const halley_exploration *e)
{
    report_json_array(j, "axes");
    for (uint32_t i = 0; i < halley_study_axes(s); i++) {
        const halley_axis *a = halley_study_axis(s, i);
        report_json_object(j, NULL);
        report_json_text(j, "parameter", str_from(a->name));
        report_json_flat_array(j, "values");
        for (uint32_t v = 0; v < a->n; v++) {
            if (a->numbers)
                report_json_double(j, NULL, a->numbers[v]);
            else
                report_json_text(j, NULL, str_from(a->texts[v]));
        }
        report_json_end(j);
        report_json_flat_array(j, "best_values");
        for (uint32_t v = 0; v < a->n; v++)
            report_json_double(j, NULL, e->marginals[i][v].best);
        report_json_end(j);
        report_json_end(j);
    }
    report_json_end(j);
}

static void heats_json(report_json *j, const halley_study *s, const halley_exploration *e)
{
    report_json_array(j, "heat_maps");
    for (uint32_t i = 0; i < e->n_heats; i++) {
        const halley_axis *a = halley_study_axis(s, e->heats[i].axis_i);
        const halley_axis *b = halley_study_axis(s, e->heats[i].axis_j);
        report_json_object(j, NULL);
        report_json_text(j, "row_parameter", str_from(a->name));
        report_json_text(j, "column_parameter", str_from(b->name));
        report_json_array(j, "best_values");
        for (uint32_t r = 0; r < a->n; r++) {
            report_json_flat_array(j, NULL);
            for (uint32_t c = 0; c < b->n; c++)
                report_json_double(j, NULL, e->heats[i].cells[(size_t)r * b->n + c]);
            report_json_end(j);
        }
        report_json_end(j);
        report_json_end(j);
    }
    report_json_end(j);
}

static void roofline_json(report_json *j, const halley_roofline *r)
{
    report_json_object(j, NULL);
    report_json_double(j, "peak_flops", r->peak_flops);
    report_json_double(j, "bandwidth_Bps", r->bandwidth_Bps);
    report_json_array(j, "operators");
    for (uint32_t i = 0; i < r->n; i++) {
        report_json_flat_object(j, NULL);
        report_json_text(j, "name", str_from(r->ops[i].name));
        report_json_double(j, "flops", r->ops[i].flops);
        report_json_double(j, "bytes", r->ops[i].bytes);
        report_json_double(j, "forward_s", r->ops[i].forward_s);
        report_json_end(j);
    }
    report_json_end(j);
    report_json_end(j);
}

/* The best design for each value of an axis. If the axis changes the roofline, also the
 * layer under it. */
static void slices_json(report_json *j, const explore_outcome *o)
{
    const halley_exploration *const e = o->e;
    report_json_array(j, "slices");
    for (uint32_t i = 0; i < e->n_slices; i++) {
        const halley_slice *slice = &e->slices[i];
        report_json_object(j, NULL);
        report_json_text(j, "parameter",
                         str_from(halley_study_axis(o->study, slice->axis)->name));
        list_json(j, "best", o, slice->best, slice->n);
        if (slice->roofline) {
            report_json_array(j, "roofline");
            for (uint32_t k = 0; k < slice->n; k++)
                roofline_json(j, &slice->roofline[k]);
            report_json_end(j);
        }
        report_json_end(j);
    }
    report_json_end(j);
}

static void sensitivities_json(report_json *j, const halley_study *s,
                               const halley_exploration *e)
{
    report_json_array(j, "sensitivities");
    for (uint32_t i = 0; i < e->n_sensitivities; i++) {
        const halley_sensitivity *v = &e->sensitivities[i];
        report_json_flat_object(j, NULL);
        report_json_text(j, "parameter", str_from(halley_study_axis(s, v->axis)->name));
        report_json_double(j, "elasticity", v->elasticity);
        report_json_double(j, "low", v->low);
        report_json_double(j, "high", v->high);
        report_json_double(j, "space_low", v->space_low);
        report_json_double(j, "space_high", v->space_high);
        report_json_end(j);
    }
    report_json_end(j);
    report_json_array(j, "break_even");
    for (uint32_t i = 0; i < e->n_breaks; i++) {
        const halley_break_even *b = &e->breaks[i];
        report_json_flat_object(j, NULL);
        report_json_text(j, "question", str_from(b->question));
        report_json_text(j, "answer", str_from(b->answer));
        report_json_double(j, "value", b->found ? b->value : NAN);
        report_json_end(j);
    }
    report_json_end(j);
}

static void refused_json(report_json *j, const halley_study *s,
                         const halley_exploration *e)
{
    report_json_array(j, "refused_values");
    for (uint32_t i = 0; i < e->n_refused_values; i++) {
        const halley_refused_value *v = &e->refused_values[i];
        const halley_axis *a = halley_study_axis(s, v->axis);
        report_json_flat_object(j, NULL);
        report_json_text(j, "parameter", str_from(a->name));
        report_json_text(j, "label", str_from(a->texts[v->value]));
        report_json_text(j, "reason", str_from(v->reason));
        if (v->over_bytes > 0)
            report_json_double(j, "over_bytes", v->over_bytes);
        report_json_end(j);
    }
    report_json_end(j);
}

static void prices_json(report_json *j, const halley_study *s)
{
    halley_study_price price;
    report_json_array(j, "prices");
    for (uint32_t i = 0; halley_study_prices(&price, s, i); i++) {
        report_json_flat_object(j, NULL);
        report_json_text(j, "name", str_from(price.name));
        report_json_text(j, "words", str_from(price.words));
        report_json_end(j);
    }
    report_json_end(j);
}

static halley_status write_outcome(const request_call *call, const void *what,
                                   halley_error *err)
{
    const explore_outcome *const found = what;
    const halley_study *const s = found->study;
    const halley_exploration *const e = found->e;
    report_json j;
    request_json_begin(&j, call);
    report_json_text(&j, "study", str_from(halley_study_name(s)));
    if (halley_study_description(s)[0] != '\0')
        report_json_text(&j, "description", str_from(halley_study_description(s)));
    if (found->with_text)
        report_json_text(&j, "study_text", str_from(halley_study_text(s)));
    report_json_double(&j, "designs", e->n_designs);
    report_json_u64(&j, "evaluated", e->n_evaluated);
    report_json_u64(&j, "feasible", e->n_feasible);
    report_json_u64(&j, "settled", e->n_settled);
    report_json_double(&j, "headroom", e->headroom);
    report_json_double(&j, "train_tokens", e->tokens);
    report_json_array(&j, "objectives");
    for (uint32_t i = 0; i < halley_study_objectives(s); i++) {
        const halley_objective *o = halley_study_objective(s, i);
        report_json_flat_object(&j, NULL);
        report_json_text(&j, o->maximize ? "maximize" : "minimize", str_from(o->text));
        report_json_end(&j);
    }
    report_json_end(&j);
    list_json(&j, "best", found, e->best, e->n_best);
    list_json(&j, "front", found, e->front, e->n_front);
    if (e->has_baseline)
        candidate_json(&j, "baseline", found, &e->baseline, true);
    axes_json(&j, s, e);
    heats_json(&j, s, e);
    slices_json(&j, found);
    sensitivities_json(&j, s, e);
    report_json_array(&j, "verified");
    for (uint32_t i = 0; i < e->n_verified; i++) {
        const halley_verification *v = &e->verified[i];
        report_json_flat_object(&j, NULL);
        report_json_u64(&j, "id", e->best[i].id);
        report_json_double(&j, "estimated_s", v->done ? v->estimated_s : NAN);
        report_json_double(&j, "simulated_s", v->done ? v->simulated_s : NAN);
        if (v->note[0] != '\0')
            report_json_text(&j, "note", str_from(v->note));
        report_json_end(&j);
    }
    report_json_end(&j);
    report_json_array(&j, "refusals");
    for (uint32_t i = 0; i < e->n_refusals; i++) {
        report_json_flat_object(&j, NULL);
        report_json_text(&j, "reason", str_from(e->refusals[i].reason));
        report_json_u64(&j, "designs", e->refusals[i].designs);
        report_json_end(&j);
    }
    report_json_end(&j);
    refused_json(&j, s, e);
    prices_json(&j, s);
    return request_json_end(&j, call, err);
}

halley_status explore_write_json(const request_call *call, const halley_study *s,
                                 const halley_exploration *e, halley_error *err)
{
    return write_outcome(call, &(explore_outcome){s, e, false}, err);
}

halley_status explore_write_page(const request_call *call, const char *path,
                                 const halley_study *s, const halley_exploration *e,
                                 halley_error *err)
{
    const explore_outcome what = {s, e, true};
    const request_page page = {
        "explore", halley_study_name(s), write_outcome, &what, {0}};
    return request_page_save(call, path, &page, err);
}

halley_status explore_write_csv(const halley_study *s, const halley_exploration *e,
                                FILE *to, halley_error *err)
{
    strbuf b = {0};
    strbuf_add(&b, STR("id"));
    for (uint32_t i = 0; i < halley_study_axes(s); i++) {
        strbuf_add_char(&b, ',');
        strbuf_csv(&b, str_from(halley_study_axis(s, i)->name));
    }
    for (uint32_t i = 0; i < HALLEY_N_METRICS; i++)
        strbuf_printf(&b, ",%s", halley_metric_column(i));
    strbuf_add(&b, STR(",schedule_time,error_bar.typical,error_bar.bound,limit\n"));
    for (uint32_t k = 0; k < e->n_best; k++) {
        const halley_candidate *c = &e->best[k];
        strbuf_printf(&b, "%llu", (unsigned long long)c->id);
        for (uint32_t i = 0; i < halley_study_axes(s); i++) {
            const halley_axis *a = halley_study_axis(s, i);
            strbuf_add_char(&b, ',');
            if (a->numbers)
                strbuf_double(&b, a->numbers[c->digits[i]]);
            else
                strbuf_csv(&b, str_from(a->texts[c->digits[i]]));
        }
        for (uint32_t i = 0; i < HALLEY_N_METRICS; i++) {
            strbuf_add_char(&b, ',');
            if (isfinite(c->metrics[i]))
                strbuf_double(&b, c->metrics[i]);
        }
        strbuf_printf(&b, ",%s,", c->schedule_walked ? "walk" : "form");
        strbuf_double(&b, c->error_bar.typical);
        strbuf_add_char(&b, ',');
        strbuf_double(&b, c->error_bar.bound);
        strbuf_add_char(&b, ',');
        strbuf_csv(&b, str_from(c->limit));
        strbuf_add_char(&b, '\n');
    }
    if (!b.failed)
        fwrite(b.at, 1, b.n, to);
    const bool failed = b.failed;
    strbuf_fini(&b);
    return failed ? error_nomem(err) : HALLEY_OK;
}
