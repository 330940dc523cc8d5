/* topology/import/import.c - the table of import formats, and how a format is
 * detected. */
#include "topology/import/import.h"

#include "base/xml.h"
#include "topology/export/export.h"
#include "topology/import/draft.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const hw_import_format *detect_xml(str text)
{
    xml_reader r;
    xml_init(&r, text);
    if (xml_next(&r) == XML_OPEN && str_eq(r.name, STR("platform")))
        return &hw_import_simgrid;
    return &hw_import_nccl;
}

/* True if the first line has 3, 5 or 6 words, all integers except the sixth. */
static bool looks_like_ns3(str text)
{
    str line, word;
    uint32_t n = 0;
    uint64_t number;
    str_next(&text, '\n', &line);
    while (hw_next_word(&line, &word)) {
        if (n < 5 && !str_to_u64(word, &number))
            return false;
        n++;
    }
    return n == 3 || n == 5 || n == 6;
}

static bool starts_word(str line, const char *word)
{
    const size_t n = strlen(word);
    return line.n >= n && strncasecmp(line.at, word, n) == 0;
}

/* Detect line-based formats by the first lines that are not comments. */
static const hw_import_format *detect_lines(str text)
{
    static const struct line_mark {
        const char *word;
        const hw_import_format *format;
    } marks[] = {
        {"SwitchName=", &hw_import_slurm_conf},
        {"BlockName=", &hw_import_slurm_conf},
        {"RingName=", &hw_import_slurm_conf},
        {"BlockSizes=", &hw_import_slurm_conf},
        {"switchguid=", &hw_import_ibnetdiscover},
        {"caguid=", &hw_import_ibnetdiscover},
        {"rtguid=", &hw_import_ibnetdiscover},
        {"vendid=", &hw_import_ibnetdiscover},
        {"# Topology file", &hw_import_ibnetdiscover},
        {"#\tTopology file", &hw_import_ibnetdiscover},
        {"Nodes ", &hw_import_htsim},
        {"Nodes\t", &hw_import_htsim},
        {"Tiers ", &hw_import_htsim},
        {"Podsize ", &hw_import_htsim},
        {"Tiers\t", &hw_import_htsim},
        {"Podsize\t", &hw_import_htsim},
    };
    str line;
    for (uint32_t n = 0; n < 1000 && str_next(&text, '\n', &line); n++) {
        line = str_trim(line);
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
            if (starts_word(line, marks[i].word))
                return marks[i].format;
        if (line.n > 0 && line.at[0] != '#')
            return NULL;
    }
    return NULL;
}

static bool has_any(const conf_node *map, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        if (conf_find(map, *keys) != NULL)
            return true;
    return false;
}

static const hw_import_format *detect_tree(const conf_node *root)
{
    static const char *const edges[] = {"edges", "links", NULL};
    static const char *const infra[] = {"infrastructure", "devices", "instances",
                                        "connections", NULL};
    const conf_node *topology =
        root->kind == CONF_MAP ? conf_find(root, "topology") : NULL;
    if (root->kind == CONF_LIST && root->n > 0 && root->items[0]->kind == CONF_MAP &&
        conf_find(root->items[0], "topology") != NULL)
        return &hw_import_slurm_yaml;
    if (root->kind != CONF_MAP || topology != NULL || conf_find(root, "network") != NULL)
        return NULL;
    if (conf_find(root, "nodes") != NULL && has_any(root, edges))
        return &hw_import_node_link;
    return has_any(root, infra) ? &hw_import_infragraph : NULL;
}

/* If JSON or YAML cannot be parsed, the format is the one whose keys the text
 * contains. */
static const hw_import_format *detect_broken(str text)
{
    if (str_contains(text, STR("\"nodes\"")) && !str_contains(text, STR("\"instances\"")))
        return &hw_import_node_link;
    if (str_contains(text, STR("components")) ||
        str_contains(text, STR("infrastructure")))
        return &hw_import_infragraph;
    if (str_contains(text, STR("- topology:")))
        return &hw_import_slurm_yaml;
    return NULL;
}

static const format_row *detect_topology(str text, const char *path)
{
    conf_file file;
    if (str_starts(text, STR("\xef\xbb\xbf")))
        text = (str){text.at + 3, text.n - 3};
    const str trimmed = str_trim(text);
    if (trimmed.n == 0)
        return NULL;
    if (trimmed.at[0] == '<')
        return &detect_xml(trimmed)->row;
    if (trimmed.at[0] != '{' && trimmed.at[0] != '[') {
        if (looks_like_ns3(text))
            return &hw_import_ns3.row;
        const hw_import_format *format = detect_lines(text);
        if (format != NULL)
            return &format->row;
    }
    const hw_import_format *format;
    if (conf_parse(&file, text, path, NULL) != HALLEY_OK) {
        format = detect_broken(text);
    } else {
        format = detect_tree(file.root);
        conf_fini(&file);
    }
    return format == NULL ? NULL : &format->row;
}

/* Add NPUs to a fabric of NICs: each is a device whose link is never the bottleneck. */
static halley_status add_npus(hw_draft *d)
{
    const uint32_t n = d->options->npus_per_nic, n_before = (uint32_t)d->devices.n;
    for (uint32_t i = 0; n > 0 && i < n_before; i++) {
        if (d->devices.at[i].kind == HW_DEVICE_NPU)
            return hw_draft_fail(d, 0, "unsupported",
                                 "the file has NPUs already; leave out --npus-per-nic");
        for (uint32_t k = 0; d->devices.at[i].kind == HW_DEVICE_NIC && k < n; k++) {
            char name[300];
            uint32_t id;
            const str of = hw_draft_name(d, i);
            snprintf(name, sizeof name, "%.*s/npu%u", (int)(of.n < 250 ? of.n : 250),
                     of.at, k);
            TRY(hw_draft_add_device(&id, d, HW_DEVICE_NPU, str_from(name),
                                    d->devices.at[i].line));
            TRY(hw_draft_add_link(
                d,
                &(hw_draft_link){
                    .from = id, .to = i, .bw_Bps = HW_UNKNOWN, .latency_s = HW_UNKNOWN},
                0));
        }
    }
    return HALLEY_OK;
}

static void free_draft(hw_draft *d)
{
    intern_fini(&d->names);
    intern_fini(&d->kind_names);
    array_fini(&d->devices);
    array_fini(&d->links);
    strbuf_fini(&d->warnings);
}

halley_status hw_import_read(void *out, const format_row *row, const format_source *from,
                             halley_error *err)
{
    const hw_import_format *const format = (const hw_import_format *)row;
    hw_draft d = {
        .text = from->text, .path = from->path, .options = from->options, .err = err};
    if (str_starts(d.text, STR("\xef\xbb\xbf")))
        d.text = (str){d.text.at + 3, d.text.n - 3};
    halley_status status = format->read(&d);
    if (status == HALLEY_OK)
        status = add_npus(&d);
    if (status == HALLEY_OK)
        status = hw_draft_finish(out, &d, row->name);
    free_draft(&d);
    return status;
}

static const format_row *const rows[] = {
    &hw_import_ns3.row,           &hw_import_htsim.row,
    &hw_import_infragraph.row,    &hw_import_nccl.row,
    &hw_import_ibnetdiscover.row, &hw_import_slurm_conf.row,
    &hw_import_slurm_yaml.row,    &hw_import_node_link.row,
    &hw_import_simgrid.row,       &topology_export_infragraph,
    &topology_export_node_link,   &topology_export_simgrid,
    &topology_export_ns3,         &topology_export_htsim,
    &topology_export_dot,         NULL,
};
const format_set topology_formats = {FORMAT_TOPOLOGY, rows, detect_topology};
