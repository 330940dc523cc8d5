/*
 * hw/graph/generators/gen_file.c - a network read from a topology file of another tool.
 *
 * If the file does not state rates and latencies, those of `link` and `latency` are used,
 * if given.
 */
#include "base/file/file.h"
#include "hw/graph/foreign.h"
#include "hw/graph/generate.h"

static halley_status make_file(hw_graph **out, const hw_generator_params *p,
                               halley_error *err)
{
    file_input in;
    if (p->file == NULL)
        return error_set(err, HALLEY_EINVAL,
                         "file needs the key file, the name of a topology file");
    TRY(file_input_open(&in, p->file, err));
    const hw_import_options o = {.format = str_from(p->format), .n_used = p->n_used};
    const halley_status status =
        hw_graph_import(out, (str){(const char *)in.at, in.n}, p->file, &o, err);
    file_input_close(&in);
    if (status != HALLEY_OK)
        return status;
    hw_graph *g = *out;
    for (uint32_t i = 0; i < g->n_links; i++) {
        if (g->link_Bps[i] == HW_UNKNOWN && p->has_link)
            g->link_Bps[i] = p->link_Bps;
        if (g->link_latency_s[i] == HW_UNKNOWN && p->has_latency)
            g->link_latency_s[i] = p->latency_s;
    }
    return HALLEY_OK;
}

static halley_status count_file(hw_counts *out, hw_generator_params *p, halley_error *err)
{
    hw_graph *g;
    TRY(make_file(&g, p, err));
    out->npus = g->n_npus;
    out->nics = g->n_nics;
    out->switches = g->n_switches;
    out->cables = g->n_cables;
    for (uint32_t i = 0; i < 2 * g->n_cables; i += 2)
        out->switch_cables += g->dev_kind[g->link_from[i]] == HW_DEVICE_SWITCH &&
                              g->dev_kind[g->link_to[i]] == HW_DEVICE_SWITCH;
    hw_graph_free(g);
    return HALLEY_OK;
}

const hw_generator hw_gen_file = {
    .name = "file",
    .keys = "file format use",
    .count = count_file,
    .doc =
        "a topology file of another tool (halley topology convert --help lists formats)",
    .make = make_file};
