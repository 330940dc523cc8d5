/*
 * topology/export/infragraph.c - InfraGraph 2.x, YAML.
 *
 * A server with NPUs is an instance whose components are its devices. An NPU without a
 * server is a server by itself. A switch outside servers is an instance with one port per
 * cable. All edges are written at the top level, as slices if they are regular.
 * InfraGraph connects two nodes at most once. Parallel cables therefore need ports, which
 * only switches have here.
 */
#include "base/hash.h"
#include "base/number/number.h"
#include "topology/export/export.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The place of a device in the file. */
typedef struct infra_place {
    uint32_t instance; /* run of equal instances */
    uint32_t index;    /* index in the run */
    uint32_t component;
} infra_place;

/* A run of consecutive equal instances. */
typedef struct infra_run {
    uint32_t n;
    uint32_t counts[HW_DEVICE_N_KINDS]; /* of a server; all zero: a switch */
    uint32_t ports;                     /* of a switch */
    uint32_t first;                     /* number of the first server or switch */
} infra_run;

typedef struct infra_writer {
    const hw_graph *g;
    infra_place *places; /* by device */
    uint32_t *next_port; /* by device */
    ARRAY(infra_run) runs;
    ARRAY(hw_link_kind) links; /* by rate and latency */
    uint32_t *server_of;       /* by device; HW_NONE = none */
    uint32_t n_servers;
} infra_writer;

static const char *const component_names[HW_DEVICE_N_KINDS] = {
    "xpu", "nic", "switch", "cpu", "host", "memory", "other"};
static const char *const choices[HW_DEVICE_N_KINDS] = {"xpu", "nic",    "switch", "cpu",
                                                       "",    "memory", "custom"};

/* Number servers in the order of their NPUs. A graph in which NPUs of different servers
 * are interleaved cannot be written, because InfraGraph numbers NPUs server by server. */
static halley_status number_servers(infra_writer *w, halley_error *err)
{
    const hw_graph *g = w->g;
    map64 seen = {0};
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; status == HALLEY_OK && i < g->n_npus; i++) {
        const uint32_t node = g->dev_node[i];
        uint32_t value = w->n_servers;
        bool fresh = true;
        if (node != HW_NONE && !map64_put(&seen, node, &value, &fresh))
            status = error_nomem(err);
        else if (!fresh && value + 1 != w->n_servers)
            status =
                hw_refuse_export(err, "InfraGraph numbers NPUs server by server, and "
                                      "in this network they are mixed");
        w->n_servers += fresh;
        w->server_of[i] = value;
    }
    for (uint32_t i = g->n_npus; status == HALLEY_OK && i < g->n_devices; i++) {
        w->server_of[i] =
            g->dev_node[i] == HW_NONE ? HW_NONE : map64_find(&seen, g->dev_node[i]);
        if (g->dev_kind[i] == HW_DEVICE_HOST ||
            (w->server_of[i] == HW_NONE && g->dev_kind[i] != HW_DEVICE_SWITCH)) {
            char name[200];
            status =
                hw_refuse_export(err,
                                 "InfraGraph keeps devices of kind %s inside servers "
                                 "with NPUs, and %s is in none",
                                 hw_device_kind_name((hw_device_kind)g->dev_kind[i]),
                                 hw_graph_name(g, i, name, sizeof name));
        }
    }
    map64_fini(&seen);
    return status;
}

static bool is_same_run(const infra_run *a, const infra_run *b)
{
    return memcmp(a->counts, b->counts, sizeof a->counts) == 0 && a->ports == b->ports;
}

/* Add an instance; returns its place. */
static bool add_run(infra_writer *w, infra_run *one, infra_place *place)
{
    infra_run *last = w->runs.n > 0 ? &w->runs.at[w->runs.n - 1] : NULL;
    if (last == NULL || !is_same_run(last, one)) {
        one->n = 0;
        if (!array_push(&w->runs, *one))
            return false;
        last = &w->runs.at[w->runs.n - 1];
    }
    place->instance = (uint32_t)w->runs.n - 1;
    place->index = last->n++;
    return true;
}

static bool place_servers(infra_writer *w)
{
    const hw_graph *g = w->g;
    infra_run *servers = mem_array_zero(w->n_servers, sizeof *servers);
    infra_place *at = mem_array_zero(w->n_servers, sizeof *at);
    bool ok = servers != NULL && at != NULL;
    for (uint32_t i = 0; ok && i < g->n_devices; i++)
        if (w->server_of[i] != HW_NONE)
            w->places[i].component = servers[w->server_of[i]].counts[g->dev_kind[i]]++;
    for (uint32_t i = 0; ok && i < w->n_servers; i++)
        ok = add_run(w, &servers[i], &at[i]);
    for (uint32_t i = 0; ok && i < g->n_devices; i++)
        if (w->server_of[i] != HW_NONE) {
            w->places[i].instance = at[w->server_of[i]].instance;
            w->places[i].index = at[w->server_of[i]].index;
        }
    free(servers);
    free(at);
    return ok;
}

static bool place_switches(infra_writer *w)
{
    const hw_graph *g = w->g;
    bool ok = true;
    for (uint32_t i = 0; ok && i < g->n_devices; i++) {
        if (w->server_of[i] != HW_NONE)
            continue;
        infra_run one = {.ports = g->dev_first[i + 1] - g->dev_first[i]};
        one.ports += one.ports == 0; /* one port makes it a switch */
        ok = add_run(w, &one, &w->places[i]);
    }
    return ok;
}

static uint32_t find_link_row(infra_writer *w, uint32_t link)
{
    const double bw = w->g->link_Bps[link], latency = w->g->link_latency_s[link];
    for (size_t i = w->links.n; i-- > 0;)
        if (w->links.at[i].bw_Bps == bw && w->links.at[i].latency_s == latency)
            return (uint32_t)i;
    return array_push(&w->links, (hw_link_kind){.bw_Bps = bw, .latency_s = latency})
               ? (uint32_t)w->links.n - 1
               : HW_NONE;
}

/* One end of an edge: instance and component as one consecutive number. */
typedef struct infra_end {
    uint32_t run, kind; /* kind: of a server's component; HW_DEVICE_N_KINDS = port */
    uint32_t per_one;   /* components of one instance */
    uint64_t at;
} infra_end;

static infra_end get_infragraph_file_end(infra_writer *w, uint32_t device)
{
    const infra_place *p = &w->places[device];
    const infra_run *run = &w->runs.at[p->instance];
    infra_end end = {.run = p->instance, .kind = w->g->dev_kind[device]};
    uint32_t component = p->component;
    if (w->server_of[device] == HW_NONE) {
        end.kind = HW_DEVICE_N_KINDS;
        end.per_one = run->ports;
        component = w->next_port[device]++;
    } else {
        end.per_one = run->counts[end.kind];
    }
    assert(component < end.per_one);
    end.at = (uint64_t)p->index * end.per_one + component;
    return end;
}

static void write_slice(strbuf *to, uint64_t first, uint64_t n, uint64_t of)
{
    if (first == 0 && n == of && of > 1)
        return; /* all of them */
    if (n == 1)
        strbuf_printf(to, "[%llu]", (unsigned long long)first);
    else
        strbuf_printf(to, "[%llu:%llu]", (unsigned long long)first,
                      (unsigned long long)first + n);
}

static void write_infragraph_file_end(strbuf *to, const infra_writer *w,
                                      const infra_end *end, uint64_t n)
{
    const infra_run *run = &w->runs.at[end->run];
    const uint64_t whole = n >= end->per_one ? n / end->per_one : 1;
    strbuf_printf(to, "{instance: '%s%u",
                  end->kind == HW_DEVICE_N_KINDS ? "switches" : "servers", end->run);
    write_slice(to, end->at / end->per_one, whole, run->n);
    strbuf_printf(to, "', component: '%s",
                  end->kind == HW_DEVICE_N_KINDS ? "port" : component_names[end->kind]);
    write_slice(to, end->at % end->per_one, n / whole, end->per_one);
    strbuf_add(to, STR("'}"));
}

static void write_piece(strbuf *to, const infra_writer *w, const infra_end ends[2],
                        uint64_t n, uint32_t link)
{
    strbuf_printf(to, "- {scheme: one2one, link: link%u, ep1: ", link);
    write_infragraph_file_end(to, w, &ends[0], n);
    strbuf_add(to, STR(", ep2: "));
    write_infragraph_file_end(to, w, &ends[1], n);
    strbuf_add(to, STR("}\n"));
}

/* How many of n consecutive ends fit into one slice: whole instances, or a part of
 * one. */
static uint64_t fit_slice(const infra_end *end, uint64_t n)
{
    const uint64_t in_one = end->per_one - end->at % end->per_one;
    if (end->at % end->per_one == 0 && n >= end->per_one)
        return n / end->per_one * end->per_one;
    return n < in_one ? n : in_one;
}

/* A run of edges in which both ends increase by one. */
static void write_edge_run(strbuf *to, const infra_writer *w, infra_end ends[2],
                           uint64_t n, uint32_t link)
{
    while (n > 0) {
        uint64_t part = n, before;
        do {
            before = part;
            part = fit_slice(&ends[0], part);
            part = fit_slice(&ends[1], part);
        } while (part != before);
        write_piece(to, w, ends, part, link);
        ends[0].at += part;
        ends[1].at += part;
        n -= part;
    }
}

static bool follows(const infra_end *start, const infra_end *end, uint64_t n)
{
    return start->run == end->run && start->kind == end->kind && end->at == start->at + n;
}

static halley_status write_edges(strbuf *to, infra_writer *w, halley_error *err)
{
    const hw_graph *g = w->g;
    infra_end start[2] = {{0}, {0}};
    uint64_t n = 0;
    uint32_t row = 0;
    map64 seen = {0};
    halley_status status = HALLEY_OK;
    strbuf_add(to, STR("edges:\n"));
    for (uint32_t i = 0; status == HALLEY_OK && i < 2 * g->n_cables; i += 2) {
        const uint32_t a = g->link_from[i], b = g->link_to[i];
        const uint32_t link = find_link_row(w, i);
        uint32_t value = 0;
        bool fresh = true;
        if (w->server_of[a] != HW_NONE && w->server_of[b] != HW_NONE &&
            !map64_put(&seen, a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a,
                       &value, &fresh))
            status = error_nomem(err);
        else if (link == HW_NONE)
            status = error_nomem(err);
        else if (!fresh)
            status =
                hw_refuse_export(err, "InfraGraph joins two devices of a server once, "
                                      "and here are parallel cables");
        if (status != HALLEY_OK)
            break;
        const infra_end ends[2] = {get_infragraph_file_end(w, a),
                                   get_infragraph_file_end(w, b)};
        if (n > 0 && link == row && follows(&start[0], &ends[0], n) &&
            follows(&start[1], &ends[1], n)) {
            n++;
            continue;
        }
        write_edge_run(to, w, start, n, row);
        memcpy(start, ends, sizeof start);
        row = link;
        n = 1;
    }
    if (status == HALLEY_OK)
        write_edge_run(to, w, start, n, row);
    map64_fini(&seen);
    return status;
}

static void write_types(strbuf *to, const infra_writer *w)
{
    strbuf_add(to, STR("devices:\n"));
    for (uint32_t i = 0; i < w->runs.n; i++) {
        const infra_run *run = &w->runs.at[i];
        strbuf_printf(to, "- name: type%u\n  components:\n", i);
        for (int k = 0; k < HW_DEVICE_N_KINDS; k++)
            if (run->counts[k] > 0)
                strbuf_printf(to, "  - {name: %s, count: %u, choice: %s%s}\n",
                              component_names[k], run->counts[k], choices[k],
                              k == HW_DEVICE_OTHER ? ", custom: {type: other}" : "");
        if (run->ports > 0)
            strbuf_printf(to, "  - {name: port, count: %u, choice: port}\n", run->ports);
    }
}

static void write_instances(strbuf *to, const infra_writer *w)
{
    strbuf_add(to, STR("instances:\n"));
    for (uint32_t i = 0; i < w->runs.n; i++)
        strbuf_printf(to, "- {name: %s%u, device: type%u, count: %u}\n",
                      w->runs.at[i].ports > 0 ? "switches" : "servers", i, i,
                      w->runs.at[i].n);
}

static void write_infragraph_file_links(strbuf *to, const infra_writer *w)
{
    strbuf_add(to, STR("links:\n"));
    for (uint32_t i = 0; i < w->links.n; i++) {
        const hw_link_kind *link = &w->links.at[i];
        strbuf_printf(to, "- name: link%u\n", i);
        if (link->bw_Bps != HW_UNKNOWN || link->latency_s != HW_UNKNOWN)
            strbuf_add(to, STR("  physical:\n"));
        if (link->bw_Bps != HW_UNKNOWN) {
            strbuf_add(to, STR("    bandwidth: {choice: gigabits_per_second, "
                               "gigabits_per_second: "));
            hw_add_gbps(to, link->bw_Bps);
            strbuf_add(to, STR("}\n"));
        }
        if (link->latency_s != HW_UNKNOWN) {
            strbuf_add(to, STR("    latency: {choice: ns, ns: "));
            hw_add_ns(to, link->latency_s);
            strbuf_add(to, STR("}\n"));
        }
    }
}

static halley_status write_infragraph_file_parts(strbuf *to, infra_writer *w,
                                                 halley_error *err)
{
    strbuf edges = {0};
    TRY(number_servers(w, err));
    if (!place_servers(w) || !place_switches(w))
        return error_nomem(err);
    const halley_status status = write_edges(&edges, w, err);
    if (status == HALLEY_OK) {
        strbuf_printf(to, "name: %s\ndescription: written by halley\n", w->g->generator);
        write_types(to, w);
        write_infragraph_file_links(to, w);
        write_instances(to, w);
        strbuf_add(to, strbuf_str(&edges));
        to->failed |= edges.failed;
    }
    strbuf_fini(&edges);
    return status;
}

static halley_status write_infragraph(strbuf *to, const void *from, const void *options,
                                      halley_error *err)
{
    const hw_graph *const g = from;
    (void)options;
    if (g->n_links > 2 * g->n_cables)
        return hw_refuse_export(err, "InfraGraph has no links in one direction only");
    if (g->n_npus == 0)
        return hw_refuse_export(err, "InfraGraph needs NPUs, and this network has none");
    for (uint32_t i = 0; i < g->n_links; i++)
        if (g->link_Bps[i] == 0)
            return hw_refuse_export(err, "InfraGraph cannot hold links that have failed");
    infra_writer w = {.g = g,
                      .places = mem_array_zero(g->n_devices, sizeof *w.places),
                      .next_port = mem_array_zero(g->n_devices, sizeof *w.next_port),
                      .server_of = mem_array(g->n_devices, sizeof *w.server_of)};
    const bool ok = w.places != NULL && w.next_port != NULL && w.server_of != NULL;
    const halley_status status =
        ok ? write_infragraph_file_parts(to, &w, err) : error_nomem(err);
    free(w.places);
    free(w.next_port);
    free(w.server_of);
    array_fini(&w.runs);
    array_fini(&w.links);
    return status;
}

const format_row topology_export_infragraph = {
    .name = "infragraph", .doc = "InfraGraph 2.x, YAML", .write = write_infragraph};
