/* halley topology compare - several networks side by side. */
#include "base/error.h"
#include "base/number/number.h"
#include "request/topology.h"
#include "request/verbs.h"

#include <stdlib.h>

static const request_example examples[] = {
    {"halley topology compare fat-tree.yaml rail-only.yaml dragonfly.yaml",
     "sizes, bisection, cost and collectives, one column per network"},
    {0},
};

typedef struct compared {
    halley_topology **topologies;
    halley_topology_report **reports;
    const char *const *names;
    size_t n;
} compared;

static double sum_bill(const halley_topology_report *r, bool power)
{
    double sum = 0;
    for (size_t i = 0; i < r->n_tiers; i++)
        sum += power ? r->tiers[i].devices_w + r->tiers[i].cables_w
                     : r->tiers[i].devices_usd + r->tiers[i].cables_usd;
    return sum > 0 ? sum : -1;
}

static double per_npu(double sum, const halley_topology_report *r)
{
    return sum >= 0 && r->devices[0] > 0 ? sum / (double)r->devices[0] : -1;
}

static double worst_oversubscription(const halley_topology_report *r)
{
    double worst = -1;
    for (size_t i = 0; i < r->n_tiers; i++)
        worst =
            r->tiers[i].oversubscription > worst ? r->tiers[i].oversubscription : worst;
    return worst;
}

static double get_bisection(const halley_topology_report *r)
{
    return r->min_bisection_Bps >= 0 ? r->min_bisection_Bps
           : r->bisection_Bps >= 0   ? r->bisection_Bps
                                     : r->half_cut_Bps;
}

/* One property of a network; negative: unknown. */
typedef enum property {
    P_NPUS,
    P_NICS,
    P_SWITCHES,
    P_CABLES,
    P_DIAMETER,
    P_HOPS,
    P_INJECTION,
    P_BISECTION,
    P_OVER,
    P_COST,
    P_COST_NPU,
    P_POWER,
    P_POWER_NPU,
    P_ALL_REDUCE,
    P_ALL_TO_ALL,
    P_N
} property;
static const struct property_row {
    const char *name, *key;
    units_kind unit;
} rows[P_N] = {
    {"NPUs", "npus", UNITS_COUNT},
    {"NICs", "nics", UNITS_COUNT},
    {"switches", "switches", UNITS_COUNT},
    {"cables", "links", UNITS_COUNT},
    {"diameter, links", "diameter_hops", UNITS_COUNT},
    {"mean distance, links", "mean_hops", UNITS_COUNT},
    {"injection of an NPU", "injection_Bps", UNITS_BANDWIDTH},
    {"bisection", "bisection_Bps", UNITS_BANDWIDTH},
    {"worst oversubscription", "worst_oversubscription", UNITS_COUNT},
    {"cost", "network_cost_usd", UNITS_MONEY},
    {"cost per NPU", "network_cost_usd_per_npu", UNITS_MONEY},
    {"power", "network_power_w", UNITS_POWER},
    {"power per NPU", "network_power_w_per_npu", UNITS_POWER},
    {"all-reduce of 1 GB", "all_reduce_1gb_s", UNITS_TIME},
    {"all-to-all of 1 GB", "all_to_all_1gb_s", UNITS_TIME},
};

static double get_property(const halley_topology_report *r, property p)
{
    const double values[P_N] = {
        (double)r->devices[0],
        (double)r->devices[1],
        (double)r->devices[2],
        r->links,
        r->connected ? (double)r->diameter_hops : -1,
        r->mean_hops,
        r->injection_min_Bps,
        get_bisection(r),
        worst_oversubscription(r),
        sum_bill(r, false),
        per_npu(sum_bill(r, false), r),
        sum_bill(r, true),
        per_npu(sum_bill(r, true), r),
        r->all_reduce_s,
        r->all_to_all_s,
    };
    return values[p];
}

static halley_status write_compare_json(const request_call *call, const compared *c,
                                        halley_error *err)
{
    report_json j;
    request_json_begin(&j, call);
    report_json_array(&j, "networks");
    for (size_t i = 0; i < c->n; i++) {
        report_json_object(&j, NULL);
        report_json_text(&j, "file", str_from(c->names[i]));
        report_json_text(&j, "topology", str_from(c->reports[i]->generator));
        for (property p = 0; p < P_N; p++) {
            const double value = get_property(c->reports[i], p);
            if (value >= 0)
                report_json_double(&j, rows[p].key, value);
        }
        report_json_end(&j);
    }
    report_json_end(&j);
    return request_json_end(&j, call, err);
}

static void add_value(report_table *t, const halley_topology_report *r, property p,
                      bool plain)
{
    char text[64];
    const double value = get_property(r, p);
    if (value < 0)
        report_table_words(t, plain ? STR("") : STR("unknown"));
    else if (plain)
        report_table_words(t, str_from(number_shortest(value).at));
    else if (rows[p].unit == UNITS_COUNT)
        report_table_words(t, str_from(number_digits(value, 7).at));
    else
        report_table_words(
            t, str_from(units_format(text, sizeof text, value, rows[p].unit)));
}

static halley_status write_compare_table(const request_call *call, const compared *c,
                                         report_form form, halley_error *err)
{
    report_column *columns = calloc(c->n + 1, sizeof *columns);
    if (columns == NULL)
        return error_nomem(err);
    columns[0] = (report_column){"property", "property", REPORT_WORDS, 0, 0};
    for (size_t i = 0; i < c->n; i++)
        columns[i + 1] = (report_column){c->names[i], c->names[i], REPORT_WORDS, 0, 0};
    report_table *t = report_table_new(columns, (uint32_t)c->n + 1);
    const bool plain = form == REPORT_CSV;
    if (t != NULL) {
        report_table_words(t, STR("topology"));
        for (size_t i = 0; i < c->n; i++)
            report_table_words(t, str_from(c->reports[i]->generator));
        for (property p = 0; p < P_N; p++) {
            report_table_words(t, str_from(plain ? rows[p].key : rows[p].name));
            for (size_t i = 0; i < c->n; i++)
                add_value(t, c->reports[i], p, plain);
        }
    }
    const halley_status status = request_table_write(call, t, "properties", form, err);
    free(columns);
    return status;
}

static halley_status compare_all(compared *c, request_call *call, report_form form,
                                 halley_error *err)
{
    const request_topology_choice *o = call->options;
    for (size_t i = 0; i < c->n; i++) {
        TRY(request_topology_load(&c->topologies[i], call, &o->source, c->names[i], err));
        request_topology_warn(call, c->topologies[i]);
        TRY(halley_topology_measure(&c->reports[i], c->topologies[i],
                                    o->no_cuts    ? 0
                                    : o->no_times ? HALLEY_TOPOLOGY_CUTS
                                                  : HALLEY_TOPOLOGY_ALL,
                                    err));
    }
    return form == REPORT_JSON ? write_compare_json(call, c, err)
                               : write_compare_table(call, c, form, err);
}

static halley_status compare_run(request_call *call, halley_error *err)
{
    const request_topology_choice *o = call->options;
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    compared c = {.names = (const char *const *)call->args, .n = call->n_args};
    c.topologies = calloc(c.n, sizeof *c.topologies);
    c.reports = calloc(c.n, sizeof *c.reports);
    const bool ok = c.topologies != NULL && c.reports != NULL;
    const halley_status status = ok ? compare_all(&c, call, form, err) : error_nomem(err);
    for (size_t i = 0; ok && i < c.n; i++) {
        halley_topology_report_free(c.reports[i]);
        halley_topology_free(c.topologies[i]);
    }
    free(c.topologies);
    free(c.reports);
    return status;
}

static const char *const topology_key[] = {"topologies", NULL};

const request_verb request_verb_topology_compare = {
    .name = "topology compare",
    .summary = "compare sizes, bisection and cost of networks",
    .arguments = "FILE|CLUSTER FILE|CLUSTER...",
    .arg_keys = topology_key,
    .description =
        "Prints the properties of several networks side by side. The times are closed "
        "forms for 1 GB per NPU on an idle network: an all-reduce by rings and an "
        "all-to-all sprayed over all shortest paths. What a file does not state is "
        "unknown.\n"
        "\n" REQUEST_TOPOLOGY_FILE,
    .examples = examples,
    .options = request_topology_options,
    .options_size = sizeof(request_topology_choice),
    .min_args = 2,
    .max_args = 64,
    .run = compare_run,
};
