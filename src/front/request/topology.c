/* request/topology.c - the report of a network, as `topology show` and `check` print it.
 */
#include "request/topology.h"

#include "base/conf/conf.h"
#include "base/error.h"
#include "base/file/file.h"
#include "base/number/number.h"
#include "request/document.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

const request_option request_topology_options[] = {
    {.name = "no-times",
     .kind = REQUEST_FLAG,
     .offset = offsetof(request_topology_choice, no_times),
     .doc = "leave out the times of collectives, which take long on very large networks"},
    {.name = "no-cuts",
     .kind = REQUEST_FLAG,
     .offset = offsetof(request_topology_choice, no_cuts),
     .doc =
         "leave out cuts, bisections and collectives, which take long on large networks"},
    REQUEST_TOPOLOGY_SOURCE(request_topology_choice, source),
    REQUEST_OUTPUT_OPTIONS(request_topology_choice, output),
    {0},
};

double request_round_gbps(double bw_Bps)
{
    return round(bw_Bps * 8e-9 * 1e6) / 1e6;
}

/* Values that print the same share an entry. */
static void write_bins(report_json *j, const char *key, const halley_topology_bin *bins,
                       size_t n, double unit)
{
    report_json_flat_object(j, key);
    for (size_t i = 0; i < n;) {
        const number_text name = number_digits(bins[i].value * unit, 6);
        const bool is_known = bins[i].value >= 0;
        uint64_t count = bins[i++].n;
        while (is_known && i < n &&
               strcmp(number_digits(bins[i].value * unit, 6).at, name.at) == 0)
            count += bins[i++].n;
        report_json_u64(j, is_known ? name.at : "unknown", count);
    }
    report_json_end(j);
}

static void write_hops(report_json *j, const halley_topology_report *r)
{
    if (r->connected)
        report_json_u64(j, "diameter_hops", r->diameter_hops);
    else
        report_json_null(j, "diameter_hops");
    report_json_flat_object(j, "hops_histogram");
    for (uint32_t i = 0; i <= r->diameter_hops; i++) {
        char name[16];
        snprintf(name, sizeof name, "%" PRIu32, i);
        if (r->pairs_by_hops[i] > 0)
            report_json_u64(j, name, r->pairs_by_hops[i]);
    }
    report_json_end(j);
    report_json_double(j, "mean_hops", r->mean_hops);
}

static void write_cuts(report_json *j, const halley_topology_report *r)
{
    if (r->injection_min_Bps >= 0) {
        report_json_flat_array(j, "injection_gbps_min_max");
        report_json_double(j, NULL, request_round_gbps(r->injection_min_Bps));
        report_json_double(j, NULL, request_round_gbps(r->injection_max_Bps));
        report_json_end(j);
    }
    if (r->half_cut_Bps >= 0)
        report_json_double(j,
                           r->some_rates_unknown ? "half_cut_gbps_unknown_rates_unlimited"
                                                 : "half_cut_gbps",
                           request_round_gbps(r->half_cut_Bps));
    if (r->min_bisection_Bps >= 0)
        report_json_double(j, "min_bisection_gbps",
                           request_round_gbps(r->min_bisection_Bps));
    if (r->bisection_Bps >= 0)
        report_json_double(
            j, r->bisection_is_bound ? "bisection_gbps_at_most" : "bisection_gbps",
            request_round_gbps(r->bisection_Bps));
}

static void write_bill(report_json *j, const char *key, const halley_topology_report *r,
                       bool power)
{
    double sum = 0;
    for (size_t i = 0; i < r->n_tiers; i++)
        sum += power ? r->tiers[i].devices_w + r->tiers[i].cables_w
                     : r->tiers[i].devices_usd + r->tiers[i].cables_usd;
    if (sum == 0) { /* no price or power was given */
        report_json_null(j, key);
        return;
    }
    report_json_object(j, key);
    report_json_double(j, "total", sum);
    report_json_double(j, "per_npu", r->devices[0] > 0 ? sum / (double)r->devices[0] : 0);
    report_json_array(j, "tiers");
    for (size_t i = 0; i < r->n_tiers; i++) {
        const halley_topology_tier *t = &r->tiers[i];
        report_json_flat_object(j, NULL);
        report_json_double(j, "devices", power ? t->devices_w : t->devices_usd);
        report_json_double(j, "cables", power ? t->cables_w : t->cables_usd);
        report_json_end(j);
    }
    report_json_end(j);
    report_json_end(j);
}

/* Closed forms for 1 GB per NPU; absent if rates are unknown. */
static void write_collectives(report_json *j, const halley_topology_report *r)
{
    report_json_flat_object(j, "oversubscription");
    for (size_t i = 0; i < r->n_tiers; i++) {
        char tier[24];
        snprintf(tier, sizeof tier, "%zu", i);
        if (r->tiers[i].oversubscription >= 0)
            report_json_double(j, tier, r->tiers[i].oversubscription);
    }
    report_json_end(j);
    if (r->all_reduce_s >= 0)
        report_json_double(j, "all_reduce_1gb_s", r->all_reduce_s);
    if (r->all_to_all_s >= 0)
        report_json_double(j, "all_to_all_1gb_s", r->all_to_all_s);
    if (r->all_reduce_method != NULL)
        report_json_text(j, "all_reduce_method", str_from(r->all_reduce_method));
    if (r->all_to_all_method != NULL)
        report_json_text(j, "all_to_all_method", str_from(r->all_to_all_method));
    if (r->no_times[0] != '\0')
        report_json_text(j, "times_unknown_because", str_from(r->no_times));
    if (r->busiest_link[0] != '\0')
        report_json_text(j, "all_to_all_busiest_link", str_from(r->busiest_link));
}

halley_status request_topology_json(const request_call *call,
                                    const halley_topology_report *r,
                                    const request_topology_extra *extra,
                                    halley_error *err)
{
    report_json j;
    request_json_begin(&j, call);
    report_json_text(&j, "topology", str_from(r->generator));
    report_json_flat_object(&j, "devices");
    for (int i = 0; i < HALLEY_TOPOLOGY_KINDS; i++)
        if (r->devices[i] > 0)
            report_json_u64(&j, r->kind_names[i], r->devices[i]);
    report_json_end(&j);
    report_json_flat_array(&j, "dims");
    for (uint32_t i = 0; i < r->n_dims; i++)
        report_json_u64(&j, NULL, r->dims[i]);
    report_json_end(&j);
    report_json_u64(&j, "links", r->links);
    report_json_u64(&j, "one_way_links", r->one_way_links);
    report_json_u64(&j, "directed_links", 2 * (uint64_t)r->links + r->one_way_links);
    write_bins(&j, "rates_gbps", r->rates_Bps, r->n_rates, 8e-9);
    write_bins(&j, "latencies_ns", r->latencies_s, r->n_latencies, 1e9);
    report_json_u64(&j, "components", r->components);
    report_json_text(&j, "endpoint_kind", str_from(r->endpoint_kind));
    report_json_u64(&j, "endpoints", r->endpoints);
    report_json_bool(&j, "connected", r->connected != 0);
    write_hops(&j, r);
    write_cuts(&j, r);
    write_collectives(&j, r);
    write_bill(&j, "cost_usd", r, false);
    write_bill(&j, "power_w", r, true);
    if (r->note != NULL)
        report_json_text(&j, "note", str_from(r->note));
    if (extra != NULL && extra->n_sizes > 0)
        request_topology_write_times(&j, r, extra->sizes, extra->n_sizes);
    if (extra != NULL && extra->drawing != NULL)
        request_topology_write_drawing(&j, extra->drawing);
    return request_json_end(&j, call, err);
}

static const report_column columns[] = {
    {"property", "name", REPORT_WORDS, 0, 0},
    {"value", "value", REPORT_WORDS, 0, 0},
};

static void add_table_line(report_table *t, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void add_table_line(report_table *t, const char *name, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    report_table_words(t, str_from(name));
    report_table_words(t, str_from(text));
}

static void add_table_quantity(report_table *t, const char *name, double value,
                               units_kind unit, const char *before)
{
    char text[64];
    if (value >= 0)
        add_table_line(t, name, "%s%s", before,
                       units_format(text, sizeof text, value, unit));
}

static void add_bins(report_table *t, const char *name, const halley_topology_bin *bins,
                     size_t n, units_kind unit)
{
    for (size_t i = 0; i < n; i++) {
        char text[64];
        add_table_line(t, i == 0 ? name : "", "%" PRIu64 " x %s", bins[i].n,
                       bins[i].value < 0
                           ? "unknown"
                           : units_format(text, sizeof text, bins[i].value, unit));
    }
}

static void add_bill_lines(report_table *t, const halley_topology_report *r)
{
    halley_topology_tier sum = {0};
    for (size_t i = 0; i < r->n_tiers; i++) {
        sum.devices_usd += r->tiers[i].devices_usd;
        sum.cables_usd += r->tiers[i].cables_usd;
        sum.devices_w += r->tiers[i].devices_w;
        sum.cables_w += r->tiers[i].cables_w;
    }
    const double usd = sum.devices_usd + sum.cables_usd,
                 watts = sum.devices_w + sum.cables_w;
    char text[64], per[64];
    const double npus = r->devices[0] > 0 ? (double)r->devices[0] : 1;
    if (usd > 0)
        add_table_line(t, "cost", "%s, %s per NPU",
                       units_format(text, sizeof text, usd, UNITS_MONEY),
                       units_format(per, sizeof per, usd / npus, UNITS_MONEY));
    if (watts > 0)
        add_table_line(t, "power", "%s, %s per NPU",
                       units_format(text, sizeof text, watts, UNITS_POWER),
                       units_format(per, sizeof per, watts / npus, UNITS_POWER));
}

static void add_collective_lines(report_table *t, const halley_topology_report *r)
{
    char text[64];
    if (r->all_reduce_s >= 0)
        add_table_line(t, "all-reduce", "%s for 1 GB per NPU, %s",
                       units_format(text, sizeof text, r->all_reduce_s, UNITS_TIME),
                       r->all_reduce_method);
    if (r->all_to_all_s >= 0)
        add_table_line(t, "all-to-all", "%s for 1 GB per NPU, %s%s",
                       units_format(text, sizeof text, r->all_to_all_s, UNITS_TIME),
                       r->busiest_link[0] != '\0' ? "bound by " : r->all_to_all_method,
                       r->busiest_link);
    if (r->no_times[0] != '\0' && r->devices[0] > 1)
        add_table_line(t, "collectives", "unknown: %s", r->no_times);
}

static void add_table_lines(report_table *t, const halley_topology_report *r)
{
    add_table_line(t, "topology", "%s", r->generator);
    for (int i = 0; i < HALLEY_TOPOLOGY_KINDS; i++)
        if (r->devices[i] > 0)
            add_table_line(t, r->kind_names[i], "%" PRIu64, r->devices[i]);
    add_table_line(t, "cables", "%" PRIu32, r->links);
    if (r->one_way_links > 0)
        add_table_line(t, "one-way links", "%" PRIu32, r->one_way_links);
    add_bins(t, "rates", r->rates_Bps, r->n_rates, UNITS_BANDWIDTH);
    add_bins(t, "latencies", r->latencies_s, r->n_latencies, UNITS_TIME);
    if (r->connected)
        add_table_line(t, "diameter", "%" PRIu32 " links, %s on average",
                       r->diameter_hops, number_fixed(r->mean_hops, 4).at);
    else
        add_table_line(t, "connected", "no, %" PRIu32 " parts", r->components);
    add_table_quantity(t, "injection", r->injection_min_Bps, UNITS_BANDWIDTH, "");
    add_table_quantity(t, "half cut", r->half_cut_Bps, UNITS_BANDWIDTH,
                       r->some_rates_unknown ? "with unknown rates as unlimited: " : "");
    if (r->min_bisection_Bps >= 0)
        add_table_quantity(t, "bisection", r->min_bisection_Bps, UNITS_BANDWIDTH, "");
    else
        add_table_quantity(t, "bisection", r->bisection_Bps, UNITS_BANDWIDTH,
                           r->bisection_is_bound ? "at most " : "");
    for (size_t i = 0; i < r->n_tiers; i++)
        if (r->tiers[i].oversubscription >= 0)
            add_table_line(t, "oversubscription", "tier %zu: %s : 1", i,
                           number_digits(r->tiers[i].oversubscription, 4).at);
    add_collective_lines(t, r);
    add_bill_lines(t, r);
    if (r->note != NULL)
        add_table_line(t, "note", "%s", r->note);
}

halley_status request_topology_table(const request_call *call,
                                     const halley_topology_report *r,
                                     const request_topology_extra *extra,
                                     report_form form, halley_error *err)
{
    report_table *t = report_table_new(columns, 2);
    if (t == NULL)
        return error_nomem(err);
    add_table_lines(t, r);
    if (extra != NULL)
        request_topology_add_times(t, r, extra->sizes, extra->n_sizes);
    if (extra != NULL && extra->drawing != NULL)
        request_topology_add_path(t, extra->drawing);
    return request_table_write(call, t, "properties", form, err);
}

/* True for a cluster file, which states its NPU or nodes, and for ASTRA-sim's network
 * file. Other files of a network alone are no cluster. */
static bool is_cluster_file(const char *path)
{
    conf_file file;
    const str name = str_from(path);
    if (!str_ends(name, STR(".yaml")) && !str_ends(name, STR(".yml")))
        return false;
    if (conf_load_table(&file, path, NULL) != HALLEY_OK)
        return false;
    const conf_node *root = file.root;
    const bool is_map = root->kind == CONF_MAP;
    const bool is_astra = is_map && conf_find(root, "npus_count") != NULL;
    const bool is = is_astra || (is_map && conf_find(root, "topology") == NULL &&
                                 conf_find(root, "network") != NULL &&
                                 (conf_find(root, "npu") != NULL ||
                                  conf_find(root, "nodes") != NULL ||
                                  conf_find(root, "kinds") != NULL));
    conf_fini(&file);
    return is;
}

static halley_status load_cluster_network(halley_topology **out, request_call *call,
                                          const char *name, halley_error *err)
{
    halley_cluster *cluster;
    TRY(request_cluster_load(&cluster, call, name, err));
    for (uint32_t i = 0; i < halley_cluster_note_count(cluster); i++)
        request_note(call, "note: %s", halley_cluster_note(cluster, i));
    const halley_status status = halley_topology_from_cluster(out, cluster, err);
    if (status != HALLEY_OK)
        error_prefix(err, "%s", name);
    halley_cluster_free(cluster);
    return status;
}

/* True for a preset, "NAME:N", "FILE:N", or a file that describes a cluster. */
static bool names_cluster(const request_topology_source *source, const char *path)
{
    if (source->format != NULL || strcmp(path, "-") == 0)
        return false;
    if (halley_topology_is_notation(path))
        return true;
    return file_exists(path) ? is_cluster_file(path)
                             : strchr(path, '/') == NULL || strrchr(path, ':') != NULL;
}

halley_status request_topology_load(halley_topology **out, request_call *call,
                                    const request_topology_source *source,
                                    const char *path, halley_error *err)
{
    const halley_topology_options o = {.format = source->format,
                                       .topology = source->topology,
                                       .plugin = source->plugin,
                                       .npus_per_nic = source->npus_per_nic};
    if (request_is_document(path))
        TRY(halley_topology_parse(out, path, strlen(path), "topology", &o, err));
    else if (names_cluster(source, path))
        TRY(load_cluster_network(out, call, path, err));
    else
        TRY(halley_topology_load(out, path, &o, err));
    halley_status status = HALLEY_OK;
    for (size_t i = 0; status == HALLEY_OK && i < source->links.n; i++)
        status = halley_topology_set_links(*out, source->links.at[i], err);
    if (status != HALLEY_OK) {
        error_prefix(err, "--link");
        halley_topology_free(*out);
        *out = NULL;
    }
    return status;
}

void request_topology_warn(const request_call *call, const halley_topology *topology)
{
    const char *warning;
    for (uint32_t i = 0; (warning = halley_topology_warning(topology, i)) != NULL; i++)
        request_note(call, "%s", warning);
}

halley_status request_topology_measure(halley_topology_report **out,
                                       halley_topology **topology, request_call *call,
                                       const request_topology_choice *choice,
                                       bool with_cuts, halley_error *err)
{
    const int parts = (with_cuts ? HALLEY_TOPOLOGY_CUTS : 0) |
                      (with_cuts && !choice->no_times ? HALLEY_TOPOLOGY_TIMES : 0);
    TRY(request_topology_load(topology, call, &choice->source, call->args[0], err));
    const halley_status status = halley_topology_measure(out, *topology, parts, err);
    if (status != HALLEY_OK)
        halley_topology_free(*topology);
    else
        request_topology_warn(call, *topology);
    return status;
}
