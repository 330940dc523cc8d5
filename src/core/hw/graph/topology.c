/* hw/graph/topology.c - networks in the public interface: loading and measuring. */
#include "hw/graph/topology.h"

#include "base/array.h"
#include "base/file/file.h"
#include "base/format.h"
#include "hw/graph/collective.h"
#include "hw/graph/foreign.h"
#include "hw/graph/generate.h"
#include "hw/graph/measure.h"
#include "hw/notation.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file itself, or its part `network`. */
static const conf_node *find_network(const conf_file *file)
{
    const conf_node *map = file->root;
    const bool is_part = map->kind == CONF_MAP && conf_find(map, "network") != NULL &&
                         conf_find(map, "topology") == NULL;
    return is_part ? conf_find(map, "network") : map;
}

static halley_status read_network(halley_topology *t, const conf_file *file,
                                  halley_error *err)
{
    const conf_node *map = find_network(file);
    arena memory = {0};
    hw_generator_params p;
    halley_status status = hw_generator_read(&p, &memory, file, map, err);
    if (status == HALLEY_OK)
        status = hw_graph_generate(&t->graph, &p, err);
    arena_fini(&memory);
    return status;
}

/* A file in halley's format: a generator with its parameters. */
static halley_status parse_own(halley_topology *t, str text, const char *path,
                               halley_error *err)
{
    conf_file file;
    TRY(conf_parse(&file, text, path, err));
    const halley_status status = read_network(t, &file, err);
    if (status != HALLEY_OK)
        error_at_file(err, path);
    conf_fini(&file);
    return status;
}

static halley_status parse_topology(halley_topology *t, str text, const char *path,
                                    const halley_topology_options *o, halley_error *err)
{
    const hw_import_options import = {.format = str_from(o->format),
                                      .topology = str_from(o->topology),
                                      .plugin = str_from(o->plugin),
                                      .npus_per_nic = o->npus_per_nic};
    const bool is_own =
        str_eq(import.format, STR("halley")) ||
        (import.format.n == 0 && format_detect(FORMAT_TOPOLOGY, text, path) == NULL);
    return is_own ? parse_own(t, text, path, err)
                  : hw_graph_import(&t->graph, text, path, &import, err);
}

halley_status halley_topology_parse(halley_topology **out, const char *text, size_t n,
                                    const char *name,
                                    const halley_topology_options *options,
                                    halley_error *err)
{
    static const halley_topology_options none = {0};
    halley_topology *t = mem_array_zero(1, sizeof *t);
    const halley_status status =
        t == NULL ? error_nomem(err)
                  : parse_topology(t, (str){text, n}, name,
                                   options == NULL ? &none : options, err);
    if (status == HALLEY_OK)
        *out = t;
    else
        free(t);
    return status;
}

bool halley_topology_is_notation(const char *text)
{
    return hw_notation_is(str_from(text));
}

halley_status halley_topology_load(halley_topology **out, const char *path,
                                   const halley_topology_options *options,
                                   halley_error *err)
{
    file_input in;
    TRY(file_input_open(&in, path, err));
    const halley_status status =
        halley_topology_parse(out, (const char *)in.at, in.n, path, options, err);
    file_input_close(&in);
    return status;
}

/* Count the devices of a description; the caller keeps the file. */
static halley_status count_topology_file(halley_topology_counts *out,
                                         const conf_file *file, halley_error *err)
{
    arena memory = {0};
    hw_generator_params p;
    hw_counts c;
    halley_status status = hw_generator_read(&p, &memory, file, find_network(file), err);
    if (status == HALLEY_OK)
        status = hw_graph_count(&c, &p, err);
    if (status == HALLEY_OK)
        *out = (halley_topology_counts){.size = sizeof *out,
                                        .npus = c.npus,
                                        .nics = c.nics,
                                        .switches = c.switches - c.node_switches,
                                        .node_switches = c.node_switches,
                                        .cables = c.cables,
                                        .switch_cables = c.switch_cables,
                                        .cost_usd = hw_counts_price(&c, &p.cost),
                                        .power_w = hw_counts_price(&c, &p.power)};
    arena_fini(&memory);
    return status;
}

halley_status halley_topology_count(halley_topology_counts *out, const char *path,
                                    halley_error *err)
{
    conf_file file;
    TRY(conf_load_table(&file, path, err));
    const halley_status status = count_topology_file(out, &file, err);
    if (status != HALLEY_OK)
        error_at_file(err, path);
    conf_fini(&file);
    return status;
}

halley_status halley_topology_count_text(halley_topology_counts *out, const char *text,
                                         size_t n, const char *name, halley_error *err)
{
    conf_file file;
    TRY(conf_parse(&file, (str){text, n}, name, err));
    const halley_status status = count_topology_file(out, &file, err);
    if (status != HALLEY_OK)
        error_at_file(err, name);
    conf_fini(&file);
    return status;
}

int halley_topology_format(size_t i, const char **name, const char **doc)
{
    const format_row *row = format_get(FORMAT_TOPOLOGY, FORMAT_READ, i);
    if (row == NULL)
        return 0;
    *name = row->name;
    *doc = row->doc;
    return 1;
}

halley_status halley_topology_check(const halley_topology *topology, halley_error *err)
{
    return hw_graph_check_connected(topology->graph, err);
}

const char *halley_topology_warning(const halley_topology *topology, uint32_t i)
{
    return i < topology->graph->n_warnings ? topology->graph->warnings[i] : NULL;
}

const char *halley_topology_error_code(const halley_error *err, char *to, size_t size)
{
    const char *open = strrchr(err->text, '[');
    const size_t n = open == NULL ? 0 : strlen(open + 1);
    if (size > 0)
        to[0] = '\0';
    if (n < 2 || open[n] != ']' || n > size ||
        strspn(open + 1, "abcdefghijklmnopqrstuvwxyz-") != n - 1)
        return NULL;
    memcpy(to, open + 1, n - 1);
    to[n - 1] = '\0';
    return to;
}

void halley_topology_free(halley_topology *t)
{
    if (t == NULL)
        return;
    hw_graph_free(t->graph);
    free(t);
}

int halley_topology_generator(size_t i, const char **name, const char **doc)
{
    const hw_generator *row = hw_generator_get(i);
    if (row == NULL)
        return 0;
    *name = row->name;
    *doc = row->doc;
    return 1;
}

int halley_topology_key(size_t i, const char **name, const char **doc)
{
    size_t n;
    const conf_field *fields = hw_generator_fields(&n);
    if (i >= n)
        return 0;
    *name = fields[i].key;
    *doc = fields[i].doc;
    return 1;
}

const char *halley_topology_example(size_t i)
{
    const hw_generator *row = hw_generator_get(i);
    return row != NULL ? row->example : NULL;
}

/* Lists and maps have the same type in the table: both are read later. */
static const char *name_type(const conf_field *field)
{
    static const char *const maps[] = {"cost", "power"};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (strcmp(field->key, maps[i]) == 0)
            return "map";
    switch (field->type) {
    case CONF_TYPE_U32:
    case CONF_TYPE_U64:
        return "count";
    case CONF_TYPE_DOUBLE:
        return "number";
    case CONF_TYPE_QUANTITY:
        return units_name(field->unit);
    case CONF_TYPE_BOOL:
        return "yes or no";
    case CONF_TYPE_ENUM:
        return "choice";
    case CONF_TYPE_TEXT:
        return "text";
    default:
        return "list";
    }
}

int halley_topology_generator_key(halley_topology_key_info *out, size_t i, size_t k)
{
    const hw_generator *row = hw_generator_get(i);
    const conf_field *field = row != NULL ? hw_generator_field(row, k) : NULL;
    if (field == NULL)
        return 0;
    *out = (halley_topology_key_info){field->key, field->doc, name_type(field),
                                      field->min, field->max, field->names};
    return 1;
}

static int compare_bins(const void *a, const void *b)
{
    const halley_topology_bin *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

/* Rates of imported files are integers in Mb/s. */
static double round_rate(const hw_graph *g, double bw_Bps)
{
    return g->is_imported && bw_Bps > 0 ? round(bw_Bps / 125e3) * 125e3 : bw_Bps;
}

/* Round to 1 fs, so that 0.0005 ms and 500 ns are one value. */
static double round_latency(double latency_s)
{
    return latency_s > 0 && latency_s < 1e3 ? round(latency_s * 1e15) / 1e15 : latency_s;
}

/* Count the distinct values of all cables and one-way links: count runs of equal values,
 * then sort. */
static bool count_key_values(halley_topology_bin **out, size_t *n_out, const hw_graph *g,
                             const double *values)
{
    ARRAY(halley_topology_bin) bins = {0};
    const bool is_rate = values == g->link_Bps;
    size_t n = 0;
    bool ok = true;
    for (uint32_t i = 0; ok && i < g->n_links; i += i < 2 * g->n_cables ? 2 : 1) {
        const double value =
            is_rate ? round_rate(g, values[i]) : round_latency(values[i]);
        if (bins.n > 0 && bins.at[bins.n - 1].value == value)
            bins.at[bins.n - 1].n++;
        else
            ok = array_push(&bins, (halley_topology_bin){value, 1});
    }
    if (bins.n > 1)
        qsort(bins.at, bins.n, sizeof *bins.at, compare_bins);
    for (size_t i = 0; i < bins.n; i++) {
        if (n > 0 && bins.at[n - 1].value == bins.at[i].value)
            bins.at[n - 1].n += bins.at[i].n;
        else
            bins.at[n++] = bins.at[i];
    }
    *out = bins.at;
    *n_out = n;
    return ok;
}

static void sum_injection(halley_topology_report *r, const hw_graph *g,
                          const hw_endpoints *ends)
{
    r->injection_min_Bps = r->injection_max_Bps = -1;
    for (uint32_t i = 0; !r->some_rates_unknown && i < ends->n; i++) {
        double sum = 0;
        for (uint32_t k = g->dev_first[ends->at[i]]; k < g->dev_first[ends->at[i] + 1];
             k++)
            sum += round_rate(g, g->link_Bps[g->adj_link[k]]);
        if (i == 0 || sum < r->injection_min_Bps)
            r->injection_min_Bps = sum;
        if (sum > r->injection_max_Bps)
            r->injection_max_Bps = sum;
    }
}

static halley_status measure_cuts(halley_topology_report *r, const hw_graph *g,
                                  const hw_endpoints *ends, halley_error *err)
{
    if (ends->n < 2)
        return HALLEY_OK;
    TRY(hw_graph_half_cut(&r->half_cut_Bps, g, ends, err));
    if (ends->n <= HW_EXACT_ENDPOINTS && ends->n % 2 == 0 && !r->some_rates_unknown)
        TRY(hw_graph_min_bisection(&r->min_bisection_Bps, g, ends, err));
    return HALLEY_OK;
}

static halley_status measure_hops(halley_topology_report *r, const hw_graph *g,
                                  halley_error *err)
{
    hw_distances d;
    TRY(hw_graph_distances(&d, g, err));
    r->components = d.components;
    r->connected = d.connected;
    r->diameter_hops = d.diameter;
    r->pairs_by_hops = d.by_hops;
    r->mean_hops = d.mean;
    return HALLEY_OK;
}

static halley_status measure_bill(halley_topology_report *r, const hw_graph *g,
                                  halley_error *err)
{
    r->n_tiers = hw_graph_count_tiers(g);
    r->tiers = mem_array(r->n_tiers, sizeof *r->tiers);
    if (r->tiers == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < r->n_tiers; i++) {
        const hw_bill bill = hw_graph_bill_tier(g, i);
        r->tiers[i] =
            (halley_topology_tier){bill.devices_usd, bill.cables_usd, bill.devices_w,
                                   bill.cables_w, hw_graph_oversubscription(g, i)};
    }
    return HALLEY_OK;
}

static void describe_graph(halley_topology_report *r, const hw_graph *g)
{
    r->generator = g->generator;
    r->note = g->note;
    r->warnings = g->warnings;
    r->n_warnings = g->n_warnings;
    for (uint32_t i = 0; i < HALLEY_TOPOLOGY_KINDS; i++)
        r->kind_names[i] = hw_device_kind_name((hw_device_kind)i);
    for (uint32_t i = 0; i < g->n_devices; i++)
        r->devices[g->dev_kind[i]]++;
    r->links = g->n_cables;
    r->one_way_links = g->n_links - 2 * g->n_cables;
    r->n_dims = g->n_dims;
    memcpy(r->dims, g->dims, sizeof r->dims);
    for (uint32_t i = 0; i < g->n_links; i++)
        r->some_rates_unknown |= g->link_Bps[i] == HW_UNKNOWN;
    r->bisection_Bps = g->bisection_Bps > 0 ? g->bisection_Bps : -1;
    r->bisection_is_bound = g->bisection_is_bound;
    r->half_cut_Bps = r->min_bisection_Bps = -1;
}

/* 1 GB per NPU. Results that cannot be computed (unknown rates, no path) stay unknown. */
static halley_status measure_collectives(halley_topology_report *r, const hw_graph *g,
                                         halley_error *err)
{
    const uint64_t n_failures = mem_failure_count();
    hw_collective_time t;
    halley_error why = {0};
    if (hw_graph_all_reduce(&t, g, 1e9, &why) == HALLEY_OK) {
        r->all_reduce_s = t.time_s;
        r->all_reduce_fixed_s = t.fixed_s;
        r->all_reduce_method = t.method;
    }
    if (hw_graph_all_to_all(&t, g, 1e9, &why) == HALLEY_OK) {
        r->all_to_all_s = t.time_s;
        r->all_to_all_fixed_s = t.fixed_s;
        r->all_to_all_method = t.method;
        if (t.busiest_link != HW_NONE)
            hw_graph_link_name(g, t.busiest_link, r->busiest_link,
                               sizeof r->busiest_link);
    }
    if (r->all_reduce_s < 0 || r->all_to_all_s < 0)
        snprintf(r->no_times, sizeof r->no_times, "%.255s", why.text);
    return n_failures == mem_failure_count() ? HALLEY_OK : error_nomem(err);
}

static halley_status measure_graph(halley_topology_report *r, const hw_graph *g,
                                   int parts, halley_error *err)
{
    hw_endpoints ends;
    describe_graph(r, g);
    if (!count_key_values(&r->rates_Bps, &r->n_rates, g, g->link_Bps) ||
        !count_key_values(&r->latencies_s, &r->n_latencies, g, g->link_latency_s))
        return error_nomem(err);
    TRY(measure_hops(r, g, err));
    TRY(measure_bill(r, g, err));
    TRY(hw_graph_endpoints(&ends, g, err));
    r->endpoint_kind = hw_device_kind_name(ends.kind);
    r->endpoints = ends.n;
    sum_injection(r, g, &ends);
    halley_status status =
        (parts & HALLEY_TOPOLOGY_CUTS) != 0 ? measure_cuts(r, g, &ends, err) : HALLEY_OK;
    r->all_reduce_s = r->all_to_all_s = -1;
    if (status == HALLEY_OK && (parts & HALLEY_TOPOLOGY_TIMES) != 0 && r->connected)
        status = measure_collectives(r, g, err);
    free(ends.at);
    return status;
}

halley_status halley_topology_measure(halley_topology_report **out,
                                      const halley_topology *topology, int parts,
                                      halley_error *err)
{
    static_assert((int)HALLEY_TOPOLOGY_KINDS == (int)HW_DEVICE_N_KINDS, "one list");
    static_assert((int)HALLEY_TOPOLOGY_DIMS == (int)HW_MAX_DIMS, "one limit");
    halley_topology_report *r = mem_array_zero(1, sizeof *r);
    if (r == NULL)
        return error_nomem(err);
    r->size = sizeof *r;
    const halley_status status = measure_graph(r, topology->graph, parts, err);
    if (status == HALLEY_OK)
        *out = r;
    else
        halley_topology_report_free(r);
    return status;
}

void halley_topology_report_free(halley_topology_report *r)
{
    if (r == NULL)
        return;
    free(r->rates_Bps);
    free(r->latencies_s);
    free(r->pairs_by_hops);
    free(r->tiers);
    free(r);
}

/* Set all kinds of links with this name; false: none. */
static bool set_kind(hw_graph *g, str name, double bw_Bps, double latency_s)
{
    bool found = false;
    for (uint32_t i = 0; i < g->n_links; i++) {
        if (!str_eq(name, STR("*")) &&
            !str_eq(name, str_from(g->kinds[g->link_kind[i]].name)))
            continue;
        found = true;
        if (g->link_Bps[i] == HW_UNKNOWN)
            g->link_Bps[i] = bw_Bps;
        if (g->link_latency_s[i] == HW_UNKNOWN)
            g->link_latency_s[i] = latency_s;
    }
    return found;
}

static halley_status refuse_link_name(const hw_graph *g, str name, halley_error *err)
{
    strbuf names = {0};
    for (uint32_t i = 0; i < g->n_kinds; i++)
        strbuf_printf(&names, "%s%s", i == 0 ? "" : ", ", g->kinds[i].name);
    const halley_status status =
        error_set(err, HALLEY_ENOTFOUND,
                  "no link is called \"%.*s\"; there are %s, and * "
                  "for all",
                  STR_ARG(name), names.failed || names.at == NULL ? "none" : names.at);
    strbuf_fini(&names);
    return status;
}

halley_status halley_topology_set_links(halley_topology *topology, const char *setting,
                                        halley_error *err)
{
    str rest = str_from(setting), name, rate;
    double bw_Bps, latency_s = HW_UNKNOWN;
    str_next(&rest, '=', &name);
    if (rest.at == NULL)
        return error_set(
            err, HALLEY_EINVAL,
            "expected NAME=RATE,LATENCY, for example pcie=400 Gb/s,500 ns; is "
            "\"%s\"",
            setting);
    str_next(&rest, ',', &rate);
    TRY(units_parse(&bw_Bps, str_trim(rate), UNITS_BANDWIDTH, err));
    if (rest.at != NULL)
        TRY(units_parse(&latency_s, str_trim(rest), UNITS_TIME, err));
    if (!(bw_Bps > 0) || (rest.at != NULL && !(latency_s >= 0)))
        return error_set(err, HALLEY_EINVAL,
                         "a rate must be positive and a latency not negative; is \"%s\"",
                         setting);
    if (!set_kind(topology->graph, name, bw_Bps, latency_s))
        return refuse_link_name(topology->graph, name, err);
    return HALLEY_OK;
}

uint32_t halley_topology_count_devices(const halley_topology *topology)
{
    return topology->graph->n_devices;
}

uint32_t halley_topology_count_links(const halley_topology *topology)
{
    return topology->graph->n_links;
}

void halley_topology_get_device(halley_topology_device *out,
                                const halley_topology *topology, uint32_t device)
{
    const hw_graph *g = topology->graph;
    assert(device < g->n_devices);
    const hw_device_group *group = hw_graph_group(g, device);
    *out = (halley_topology_device){
        .kind = hw_device_kind_name((hw_device_kind)g->dev_kind[device]),
        .tier = group->tier,
        .node = g->dev_node[device],
        .line = g->lines != NULL ? g->lines[device] : 0,
        .forwards = group->forwards,
        .cost_usd = group->cost_usd,
        .power_w = group->power_w};
    hw_graph_name(g, device, out->name, sizeof out->name);
}

void halley_topology_get_link(halley_topology_link *out, const halley_topology *topology,
                              uint32_t link)
{
    const hw_graph *g = topology->graph;
    assert(link < g->n_links);
    *out = (halley_topology_link){.from = g->link_from[link],
                                  .to = g->link_to[link],
                                  .kind = g->kinds[g->link_kind[link]].name,
                                  .bw_Bps = g->link_Bps[link],
                                  .latency_s = g->link_latency_s[link],
                                  .is_one_way = link >= 2 * g->n_cables};
}

int halley_topology_output(size_t i, const char **name, const char **doc)
{
    const format_row *row = format_get(FORMAT_TOPOLOGY, FORMAT_WRITE, i);
    if (row == NULL)
        return 0;
    *name = row->name;
    *doc = row->doc;
    return 1;
}

halley_status halley_topology_save(const halley_topology *topology, const char *path,
                                   const char *format, int flatten, halley_error *err)
{
    strbuf text = {0};
    const hw_export_options o = {.flatten = flatten != 0};
    const halley_status status =
        hw_graph_export(&text, topology->graph, str_from(format), &o, err);
    if (status == HALLEY_OK)
        return file_save(path, &text, err);
    strbuf_fini(&text);
    return status;
}
