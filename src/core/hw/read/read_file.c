/*
 * hw/read/read_file.c - reads the cluster file in halley's format: YAML or JSON, a unit
 * for every value that has one, GB = 1e9, and unknown keys are errors. This is the only
 * loader: presets, files and texts in memory all come here. ASTRA-sim's files fill the
 * same struct (formats/astra/files.c).
 */
#include "hw/read/read_file.h"

#include "base/file/file.h"
#include "base/format.h"
#include "hw/count.h"
#include "hw/embedded.h"
#include "hw/groups.h"
#include "hw/levels.h"
#include "hw/measured.h"
#include "hw/network.h"
#include "hw/notation.h"
#include "hw/read/read_graph.h"
#include "hw/save.h"
#include "hw/schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct file_text {
    str name;
    uint32_t npus, library;
    double host_factor;
    const conf_node *npu, *kinds, *nodes, *network, *remote, *system, *groups, *cost,
        *failures, *measured, *sources;
} file_text;

enum { LIBRARY_NOT_GIVEN, LIBRARY_NCCL, LIBRARY_PLAIN };
static const char *const libraries[] = {"as-described", "nccl", "plain", NULL};
static const conf_field file_fields[] = {
    {.key = "name",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(file_text, name),
     .doc = "name of the cluster, for reports",
     .example = "roce-24k",
     .by_default = "the file's name"},
    {.key = "npus",
     .type = CONF_TYPE_U32,
     .offset = offsetof(file_text, npus),
     .min = 1,
     .max = HW_MOST_NPUS,
     .doc = "number of NPUs; FILE:N sets it on the command line",
     .example = "24576",
     .by_default = "N of FILE:N"},
    {.key = "npu",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(file_text, npu),
     .doc = "the device: a preset, or a map with peak, memory and so on",
     .example = "h100-sxm-80gb",
     .by_default = "required without kinds"},
    {.key = "kinds",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(file_text, kinds),
     .doc = "instead of npu: devices by ranges of nodes",
     .example = "[{npu: h100-sxm-80gb, nodes: 0-127}, {npu: b200-sxm-180gb, nodes: "
                "128-255}]",
     .by_default = "none"},
    {.key = "nodes",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(file_text, nodes),
     .doc = "what one node consists of",
     .example = "{npus: 8, up: nvlink4-h100}",
     .by_default = "stated by the network"},
    {.key = "network",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(file_text, network),
     .required = true,
     .doc = "network between nodes: {fabric, bandwidth}, {topology, tiers}, or a list of "
            "dimensions, innermost first",
     .example = "{fabric: ib-ndr, bandwidth: 50 GB/s}",
     .was = "out"},
    {.key = "library",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(file_text, library),
     .names = libraries,
     .doc = "constants of the collective library: nccl uses those of the link and fabric "
            "presets, plain only bandwidth and latency; as-described uses what the "
            "network states",
     .by_default = "as-described"},
    {.key = "host-factor",
     .type = CONF_TYPE_DOUBLE,
     .offset = offsetof(file_text, host_factor),
     .max = 1e6,
     .doc = "host time of a step relative to the reference host",
     .by_default = "1",
     .example = "1.2"},
    {.key = "system",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(file_text, system),
     .doc = "communication library and rules of the simulator",
     .by_default = "the defaults of its keys",
     .example = "{network-model: queue, chunks: 4}"},
    {.key = "remote-memory",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(file_text, remote),
     .doc = "memory outside the NPU, instead of a second one in npu: memory",
     .by_default = "none",
     .example = "{kind: pool, bandwidth: 100 GB/s}"},
    {.key = "groups",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(file_text, groups),
     .doc = "communicator groups: number and ranks",
     .example = "{1: [0, 1, 2, 3]}",
     .by_default = "none"},
    {.key = "cost",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(file_text, cost),
     .doc = "prices and power",
     .by_default = "the defaults of its keys",
     .example = "{node: 60000 USD, years: 4}"},
    {.key = "failures",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(file_text, failures),
     .doc = "how often training is interrupted",
     .by_default = "the defaults of its keys",
     .example = "{npu-mtbf: 50000 h}"},
    {.key = "measured",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(file_text, measured),
     .doc =
         "collective times measured on the machine by halley replay --fit: latency + "
         "size / bandwidth of the last line that starts at or below the size. The size "
         "is the larger buffer of one rank. Other collectives are timed by the links",
     .example = "[{collective: all-reduce, ranks: 2, per-node: 2, lines: [[0 B, 2 us, 1 "
                "GB/s], [64 KiB, 9 us, 3 GB/s]]}]",
     .by_default = "none"},
    {.key = "sources",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(file_text, sources),
     .doc = "where the numbers come from; for readers only",
     .by_default = "none",
     .example = "[https://docs.nvidia.com]"},
};
const hw_part hw_part_file = {"", "", HW_FIELDS(file_fields)};

double hw_ns_from(double seconds)
{
    return round(seconds * 1e15) / 1e6;
}

halley_status hw_text_keep(const char **out, const hw_reader *r, str text)
{
    *out = text.n == 0 ? "" : arena_copy(&r->c->memory, text);
    return *out == NULL ? error_nomem(r->err) : HALLEY_OK;
}

static halley_status read_library(const hw_reader *r, uint32_t library)
{
    const conf_node *at = conf_find(r->file->root, "library");
    if (library == LIBRARY_NCCL && r->c->plain)
        return conf_error(r->file, at, r->err, HALLEY_EINVAL,
                          "library: nccl needs its constants on these links, which a "
                          "list of dimensions does not have: describe nodes.up and a "
                          "fabric instead");
    if (library == LIBRARY_PLAIN && !r->c->plain)
        hw_levels_make_plain(r->c);
    return HALLEY_OK;
}

static halley_status read_devices(const hw_reader *r, const file_text *t)
{
    if (t->npu != NULL && t->kinds != NULL)
        return conf_error(r->file, t->kinds, r->err, HALLEY_EINVAL,
                          "npu and kinds exclude each other");
    if (t->npu != NULL)
        TRY(hw_read_npu(r, t->npu));
    return t->kinds == NULL ? HALLEY_OK : hw_read_kinds(r, t->kinds);
}

/* The sizes of the network determine the number of NPUs. */
static halley_status read_graph_count(const hw_reader *r)
{
    TRY(hw_graph_count_set(r->c, 0, r->err));
    hw_network_price(r->c);
    return HALLEY_OK;
}

/* The number of NPUs that the file states. A list of dimensions implies it. */
static halley_status read_count(const hw_reader *r, uint32_t npus, uint32_t wanted)
{
    halley_cluster *c = r->c;
    const conf_node *at = conf_find(r->file->root, "npus");
    if (c->network == HW_NETWORK_DIMS && npus != 0 && npus != c->n_npus)
        return conf_error(r->file, at, r->err, HALLEY_EINVAL,
                          "npus is %u, and the sizes of the network multiply to %u", npus,
                          c->n_npus);
    if (c->network != HW_NETWORK_DIMS)
        c->n_npus = npus;
    if (wanted != 0)
        return hw_count_set(c, wanted, HW_COUNT_AS_NODES, r->err);
    if (c->network == HW_NETWORK_GRAPH && npus == 0)
        return hw_graph_needs_count(c) ? HALLEY_OK : read_graph_count(r);
    return c->n_npus == 0 || c->network == HW_NETWORK_DIMS
               ? HALLEY_OK
               : hw_count_set(c, c->n_npus, HW_COUNT_AS_NODES, r->err);
}

static halley_status read_parts(const hw_reader *r, const file_text *t, uint32_t wanted)
{
    TRY(hw_text_keep(&r->c->name, r, t->name));
    r->c->host_factor = t->host_factor;
    TRY(hw_read_nodes(r, t->nodes));
    TRY(hw_read_network(r, t->network));
    TRY(read_devices(r, t));
    if (t->remote != NULL)
        TRY(hw_read_remote(r, t->remote));
    TRY(hw_read_cost(r, t->cost));
    TRY(hw_read_failures(r, t->failures));
    TRY(read_library(r, t->library));
    const halley_status counted = read_count(r, t->npus, wanted);
    if (counted == HALLEY_EFORMAT) /* a topology file without NPUs */
        error_at_file(r->err, r->file->path);
    TRY(counted);
    TRY(hw_kinds_check(r->c, r->err));
    TRY(hw_read_system(r, t->system));
    hw_levels_from_dims(r->c);
    TRY(hw_read_measured(r, t->measured));
    if (t->groups == NULL)
        return HALLEY_OK;
    if (r->c->n_npus == 0)
        return conf_error(r->file, t->groups, r->err, HALLEY_EINVAL,
                          "groups need a number of NPUs: npus, or FILE:N");
    return cluster_read_groups(r->c, r->file, t->groups, r->err);
}

halley_status hw_file_read(halley_cluster *c, conf_file *file, uint32_t n_npus,
                           halley_error *err)
{
    const hw_reader r = {c, file, err};
    file_text t = {.host_factor = 1};
    if (file->root->kind != CONF_MAP)
        return conf_error(file, file->root, err, HALLEY_EFORMAT,
                          "a cluster file is a map of keys");
    TRY(hw_names_renew(c, file, err));
    TRY(conf_read(&t, file, file->root, HW_FIELDS(file_fields), true, NULL, err));
    return read_parts(&r, &t, n_npus);
}

/* Refuse files of other programs that are passed as a cluster. */
static halley_status refuse_stranger(const conf_file *file, halley_error *err)
{
    const conf_node *slow = conf_find(file->root, "slow");
    if (slow != NULL)
        return conf_error(file, slow, err, HALLEY_EINVAL,
                          "slow needs {rank: factor}, and belongs into system: system: "
                          "{slow: {3: 1.5}}");
    return HALLEY_OK;
}

/* True for ASTRA-sim's network file: lists of topologies, sizes, rates and latencies. */
static bool is_astra_network(const conf_file *file)
{
    return file->root->kind == CONF_MAP && conf_find(file->root, "npus_count") != NULL &&
           conf_find(file->root, "topology") != NULL;
}

static halley_status print_astra_network(strbuf *to, const conf_file *file,
                                         halley_error *err)
{
    const format_row *row = format_get(FORMAT_DIMS, FORMAT_READ, 0);
    if (row == NULL)
        return conf_error(file, NULL, err, HALLEY_EFORMAT,
                          "this is ASTRA-sim's network file, which this library does not "
                          "read");
    halley_cluster *c = cluster_new();
    if (c == NULL)
        return error_nomem(err);
    const halley_status status =
        row->read(c, row, &(format_source){.path = file->path, .options = file}, err);
    if (status == HALLEY_OK)
        hw_dims_print(to, c);
    halley_cluster_free(c);
    return status;
}

/* Replace ASTRA-sim's network file by a cluster file of the same dimensions. */
static halley_status translate_network(conf_file *file, halley_error *err)
{
    strbuf text = {0};
    conf_file made = {0};
    if (!is_astra_network(file))
        return HALLEY_OK;
    halley_status status = print_astra_network(&text, file, err);
    if (status == HALLEY_OK)
        status = text.failed ? error_nomem(err)
                             : conf_parse(&made, strbuf_str(&text), file->path, err);
    strbuf_fini(&text);
    if (status != HALLEY_OK)
        return status;
    conf_fini(file);
    *file = made;
    return HALLEY_OK;
}

static halley_status make_from(halley_cluster **out, conf_file *file, uint32_t n_npus,
                               halley_error *err)
{
    halley_status strange = translate_network(file, err);
    if (strange == HALLEY_OK)
        strange = refuse_stranger(file, err);
    if (strange != HALLEY_OK) {
        conf_fini(file);
        return strange;
    }
    halley_cluster *c = cluster_new();
    const halley_status status =
        c == NULL ? error_nomem(err) : hw_file_read(c, file, n_npus, err);
    conf_fini(file);
    if (status != HALLEY_OK)
        halley_cluster_free(c);
    else
        *out = c;
    return status;
}

halley_status halley_cluster_parse(halley_cluster **out, const char *text, size_t length,
                                   const char *name, halley_error *err)
{
    conf_file file = {0};
    TRY(conf_parse(&file, (str){text, length}, name, err));
    return make_from(out, &file, 0, err);
}

/* "8x8" gives 64; 0 if the text is not of this form. */
static uint64_t multiply_count(str text)
{
    str first, rest = text;
    uint64_t a, b;
    if (!str_next(&rest, 'x', &first) || !str_to_u64(first, &a) ||
        !str_to_u64(rest, &b) || a == 0 || b == 0 || a > HW_MOST_NPUS || b > HW_MOST_NPUS)
        return 0;
    return a * b;
}

/* True for a positive integer of any size. */
static bool is_positive_number(const char *text)
{
    const size_t n = strspn(text, "0123456789");
    return n > strspn(text, "0") && text[n] == '\0';
}

static halley_status refuse_count(const char *name, const char *colon, halley_error *err)
{
    const int length = (int)(colon - name);
    const uint64_t product = multiply_count(str_from(colon + 1));
    if (product > 0)
        return error_set(err, HALLEY_EINVAL, "cluster \"%s\": did you mean %.*s:%llu?",
                         name, length, name, (unsigned long long)product);
    if (is_positive_number(colon + 1))
        return error_set(err, HALLEY_EINVAL,
                         "cluster \"%s\": the number of accelerators must be between 1 "
                         "and %d",
                         name, HW_MOST_NPUS);
    return error_set(
        err, HALLEY_EINVAL,
        "cluster \"%s\": expected a positive number of accelerators after ':', "
        "for example dgx-h100:64",
        name);
}

/* Split "dgx-h100:64" into its name and its number; the number is 0 if absent. */
static halley_status split_count(char *front, size_t size, uint32_t *n_npus,
                                 const char *name, halley_error *err)
{
    const char *const colon = file_exists(name) ? NULL : strrchr(name, ':');
    const size_t length = colon != NULL ? (size_t)(colon - name) : strlen(name);
    uint64_t n = 0;
    if (length >= size)
        return error_set(err, HALLEY_EINVAL, "the name of the cluster is too long");
    if (colon != NULL &&
        (!str_to_u64(str_from(colon + 1), &n) || n == 0 || n > HW_MOST_NPUS))
        return refuse_count(name, colon, err);
    memcpy(front, name, length);
    front[length] = '\0';
    *n_npus = (uint32_t)n;
    return HALLEY_OK;
}

/* True for a network file of another tool. A map is one only if it cannot be a cluster
 * file. */
static bool holds_network(str text, const char *path)
{
    const format_row *const format = format_detect(FORMAT_TOPOLOGY, text, path);
    conf_file file = {0};
    if (format == NULL || !format->is_map)
        return format != NULL;
    if (conf_parse(&file, text, path, NULL) != HALLEY_OK)
        return false;
    const conf_node *const nodes = conf_find(file.root, "nodes");
    const bool is = conf_find(file.root, "infrastructure") != NULL ||
                    conf_find(file.root, "instances") != NULL ||
                    (nodes != NULL && nodes->kind == CONF_LIST);
    conf_fini(&file);
    return is;
}

/* Make a cluster that consists only of the network in such a file. Its name is the file's
 * name without the folder, so that the path inside stays unchanged. */
static halley_status wrap_network(conf_file *out, const char *path, halley_error *err)
{
    const char *const slash = strrchr(path, '/');
    strbuf text = {0};
    strbuf_add(&text, STR("{\"network\": {\"topology\": \"file\", \"file\": "));
    strbuf_json(&text, str_from(path));
    strbuf_add(&text, STR("}}"));
    const halley_status status =
        text.failed
            ? error_nomem(err)
            : conf_parse(out, strbuf_str(&text), slash == NULL ? path : slash + 1, err);
    strbuf_fini(&text);
    return status;
}

static halley_status load_cluster_file(conf_file *out, const char *path,
                                       halley_error *err)
{
    file_input in;
    if (!file_is_regular(path))
        return conf_load(out, path, err); /* input from a pipe cannot be read twice */
    TRY(file_input_open(&in, path, err));
    const bool is_network = holds_network((str){(const char *)in.at, in.n}, path);
    file_input_close(&in);
    return is_network ? wrap_network(out, path, err) : conf_load(out, path, err);
}

/* A cluster of nothing but dimensions in one line (hw/notation.h). */
static halley_status parse_notation(conf_file *out, const char *text, halley_error *err)
{
    strbuf file = {0};
    strbuf_add(&file, STR("{\"name\": "));
    strbuf_json(&file, str_from(text));
    strbuf_add(&file, STR(", \"network\": "));
    strbuf_json(&file, str_from(text));
    strbuf_add(&file, STR("}"));
    const halley_status status =
        file.failed ? error_nomem(err) : conf_parse(out, strbuf_str(&file), text, err);
    strbuf_fini(&file);
    return status;
}

halley_status halley_cluster_load(halley_cluster **out, const char *name,
                                  halley_error *err)
{
    if (hw_notation_is(str_from(name)) && !file_exists(name)) {
        conf_file network = {0};
        TRY(parse_notation(&network, name, err));
        return make_from(out, &network, 0, err);
    }
    char front[4096];
    uint32_t n_npus = 0;
    conf_file file = {0};
    TRY(split_count(front, sizeof front, &n_npus, name, err));
    if (strcmp(front, "-") == 0 || (file_exists(front) && !file_is_folder(front)))
        TRY(load_cluster_file(&file, front, err));
    else
        TRY(cluster_preset_load(&file, "clusters", front, err));
    return make_from(out, &file, n_npus, err);
}
