/*
 * astra/packets.c - files of ASTRA-sim's packet-level back ends: ns-3's config.txt,
 * its topology text and logical dimensions, and HTSim's .topo. They become a cluster with
 * native rules whose network is that graph, for the flow model. The system file defines
 * the algorithms and chunks of collectives over the logical dimensions.
 */
#include "astra/astra.h"
#include "base/file/file.h"
#include "base/limit.h"
#include "hw/npu.h"

#include <stdlib.h>
#include <string.h>

/* "KEY value" on its own line; an empty text if absent. */
static str find_setting(str text, str key)
{
    str line;
    while (str_next(&text, '\n', &line)) {
        line = str_trim(line);
        if (!str_starts(line, key) || line.n == key.n ||
            (line.at[key.n] != ' ' && line.at[key.n] != '\t'))
            continue;
        return str_trim((str){line.at + key.n, line.n - key.n});
    }
    return (str){"", 0};
}

/* The path is relative to the working folder, as in ASTRA-sim. If the file is not there,
 * it is relative to config.txt. */
static void add_topology_path(strbuf *to, const char *config, str path)
{
    const char *const slash = strrchr(config, '/');
    strbuf_add(to, path);
    if (to->failed || file_exists(to->at) || path.at[0] == '/' || slash == NULL)
        return;
    to->n = 0;
    strbuf_add(to, (str){config, (size_t)(slash - config) + 1});
    strbuf_add(to, path);
}

static halley_status find_topology(strbuf *to, const halley_astra_files *files,
                                   halley_error *err)
{
    file_input in;
    if (files->packet_topology != NULL) {
        strbuf_printf(to, "%s", files->packet_topology);
        return to->failed ? error_nomem(err) : HALLEY_OK;
    }
    TRY(file_input_open_most(&in, files->network, LIMIT_CONFIGURATION, err));
    const str path = find_setting((str){(const char *)in.at, in.n}, STR("TOPOLOGY_FILE"));
    if (path.n > 0)
        add_topology_path(to, files->network, path);
    file_input_close(&in);
    if (to->failed)
        return error_nomem(err);
    if (path.n > 0)
        return HALLEY_OK;
    error_set(err, HALLEY_EFORMAT,
              "expected an ns-3 configuration with a line \"TOPOLOGY_FILE path\"");
    error_at_file(err, files->network);
    return HALLEY_EFORMAT;
}

static halley_status read_logical(halley_cluster *dims, const conf_file *file,
                                  halley_error *err)
{
    const conf_node *list = NULL;
    if (file->root->kind == CONF_MAP)
        list = conf_find(file->root, "logical-dims");
    if (list == NULL || list->kind != CONF_LIST || list->n == 0 ||
        list->n > CLUSTER_MAX_DIMS)
        return conf_error(
            file, file->root, err, HALLEY_EFORMAT,
            "expected {\"logical-dims\": [\"8\", \"2\"]}, with 1 to %d sizes",
            CLUSTER_MAX_DIMS);
    for (uint32_t d = 0; d < list->n; d++) {
        uint64_t n;
        if (list->items[d]->kind != CONF_SCALAR ||
            !str_to_u64(list->items[d]->text, &n) || n < 1 || n > CLUSTER_MAX_NPUS)
            return conf_error(file, list->items[d], err, HALLEY_EINVAL,
                              "a logical dimension must be a number of NPUs");
        dims->dims[d] = (cluster_dim){.topology = CLUSTER_SWITCH, .n = (uint32_t)n};
    }
    dims->n_dims = list->n;
    return astra_count_npus(dims, file, err);
}

/* The logical dimensions: ns-3 has a file for them, HTSim uses that of the analytical
 * back end. */
static halley_status read_logical_dims(halley_cluster *dims,
                                       const halley_astra_files *files, halley_error *err)
{
    conf_file file;
    if (files->logical_topology == NULL)
        return astra_read_network(dims, files->network, err);
    TRY(cluster_load_lax(&file, dims, files->logical_topology, err));
    const halley_status status = read_logical(dims, &file, err);
    conf_fini(&file);
    return status;
}

static halley_status make_packet_cluster(halley_cluster **out, uint32_t n_npus,
                                         const halley_astra_files *files,
                                         halley_error *err)
{
    strbuf path = {0}, text = {0};
    halley_status status = find_topology(&path, files, err);
    if (status == HALLEY_OK) {
        strbuf_printf(
            &text, "npus: %u\nnetwork: {topology: file, use: %u, file: ", n_npus, n_npus);
        strbuf_json(&text, strbuf_str(&path));
        strbuf_add(&text, STR("}\nsystem: {network-model: flow, collectives: steps, "
                              "channels: one}\n"));
        status = text.failed ? error_nomem(err)
                             : halley_cluster_parse(out, text.at, text.n,
                                                    "the network of packets", err);
    }
    strbuf_fini(&path);
    strbuf_fini(&text);
    return status;
}

/* Read the system file, for the logical dimensions. */
static halley_status read_packet_system(halley_cluster *c, const halley_cluster *dims,
                                        const halley_astra_files *files,
                                        halley_error *err)
{
    const double bw_Bps = c->dims[c->n_dims > 0 ? c->n_dims - 1 : 0].bw_Bps;
    c->n_dims = dims->n_dims;
    for (uint32_t d = 0; d < dims->n_dims; d++) {
        c->dims[d] = dims->dims[d];
        c->dims[d].topology = CLUSTER_SWITCH;
        c->dims[d].bw_Bps = bw_Bps > 0 ? bw_Bps : 1e9;
    }
    TRY(astra_read_system(c, files, err));
    cluster_system *const s = &c->system;
    if (s->bus.on)
        cluster_warn(c, "%s: model-shared-bus has no effect on a network of packets",
                     files->system);
    s->bus.on = false;
    s->steps = s->one_channel = true;
    s->hierarchical |= s->no_optimization;
    s->splits = s->splits == 0 ? 1 : s->splits;
    hw_npu_make(&c->npu, s->peak_flops, s->mem_Bps);
    TRY(astra_read_memory(c, files->memory, err));
    c->remote_given = c->remote.kind != CLUSTER_MEMORY_NONE;
    return cluster_load_groups(c, files->comm_group, err);
}

halley_status astra_load_packets(halley_cluster **out, const halley_astra_files *files,
                                 halley_error *err)
{
    halley_cluster *c = NULL, *dims = cluster_new();
    if (dims == NULL)
        return error_nomem(err);
    halley_status status = read_logical_dims(dims, files, err);
    if (status == HALLEY_OK)
        status = make_packet_cluster(&c, dims->n_npus, files, err);
    if (status == HALLEY_OK)
        status = read_packet_system(c, dims, files, err);
    halley_cluster_free(dims);
    if (status == HALLEY_OK)
        *out = c;
    else
        halley_cluster_free(c);
    return status;
}
