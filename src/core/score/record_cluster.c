/*
 * The cluster of a record: the preset with the same NPU and the nearest links, with the
 * node size and the bandwidths that the record states. A preset's network is used only if
 * the record's network is as fast. Otherwise it belongs to another machine. The record
 * then gets a generic network of its bandwidth.
 */
#include "base/number/number.h"
#include "hw/link.h"
#include "score/record.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The fabric of networks of which only the bandwidth is known. */
static const char unknown_fabric[] = "roce";
/* Bandwidths closer than this are the same network: 400 Gb/s may be stated as 48 GB/s. */
static const double same_network = 0.1;

static double compare_bandwidth(double a, double b)
{
    return a > 0 && b > 0 ? fabs(log(a / b)) : 0;
}

/* The distance of a cluster from the record. If links are equal, the same node size
 * wins. */
static double measure_record_distance(const halley_cluster *c, double up_Bps,
                                      double out_Bps, uint32_t per_node)
{
    const double node = c->nodes.npus == per_node ? 0 : 1e-3;
    return compare_bandwidth(c->nodes.up.bandwidth_Bps, up_Bps) +
           compare_bandwidth(hw_outer_fabric(c)->bandwidth_Bps, out_Bps) + node;
}

/* True if a cluster's file names this NPU. */
static bool mentions_npu(const char *text, const char *npu)
{
    char line[HALLEY_NAME + 16];
    snprintf(line, sizeof line, "\nnpu: %s\n", npu);
    return text != NULL && strstr(text, line) != NULL;
}

typedef struct cluster_wanted {
    char npu[HALLEY_NAME];
    double up_Bps, out_Bps;
    uint32_t per_node;
} cluster_wanted;

/* The nearest preset with this NPU; *out is NULL if there is none. */
static halley_status load_nearest(halley_cluster **out, const cluster_wanted *w,
                                  halley_error *err)
{
    char name[HALLEY_NAME];
    double best = HUGE_VAL;
    *out = NULL;
    for (size_t i = 0; halley_preset_name(name, sizeof name, "clusters", i); i++) {
        halley_cluster *c;
        if (!mentions_npu(halley_preset_text("clusters", name), w->npu))
            continue; /* saves reading a dozen files for each */
        const halley_status status = halley_cluster_load(&c, name, err);
        if (status != HALLEY_OK) {
            halley_cluster_free(*out);
            return status;
        }
        const double d = measure_record_distance(c, w->up_Bps, w->out_Bps, w->per_node);
        halley_cluster_free(d < best ? *out : c);
        *out = d < best ? c : *out;
        best = d < best ? d : best;
    }
    return HALLEY_OK;
}

static halley_status set_record_network(halley_cluster *c, double out_Bps,
                                        halley_error *err)
{
    halley_fabric *fabric = &c->outer[c->narrowest].fabric;
    if (!(out_Bps > 0))
        return HALLEY_OK;
    if (compare_bandwidth(fabric->bandwidth_Bps, out_Bps) > same_network)
        TRY(cluster_fabric_load(fabric, unknown_fabric, err));
    fabric->bandwidth_Bps = out_Bps;
    return HALLEY_OK;
}

static halley_status make_record_cluster(score_cluster *out, const cluster_wanted *w,
                                         halley_error *err)
{
    halley_cluster *c = NULL;
    TRY(load_nearest(&c, w, err));
    if (c != NULL) {
        const halley_status status = set_record_network(c, w->out_Bps, err);
        if (status != HALLEY_OK) {
            halley_cluster_free(c);
            return status;
        }
        if (w->per_node > 0)
            c->nodes.npus = w->per_node;
        if (w->up_Bps > 0)
            c->nodes.up.bandwidth_Bps = w->up_Bps;
    }
    out->cluster = c;
    return HALLEY_OK;
}

static bool find_known(uint32_t *out, const score_rows *rows, const char *key)
{
    for (uint32_t i = 0; i < rows->clusters.n; i++) {
        if (strcmp(rows->clusters.at[i].key, key) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

halley_status score_record_cluster(score_rows *to, score_row *row, const score_record *r,
                                   halley_error *err)
{
    cluster_wanted w = {.up_Bps = record_number(r, "links", "scale_up_gbps", 0) * 1e9,
                        .out_Bps = record_number(r, "links", "nic_gbps_per_npu", 0) * 1e9,
                        .per_node = record_count(r, NULL, "per_node", 0)};
    score_cluster p = {0};
    record_text(w.npu, sizeof w.npu, r, NULL, "npu");
    snprintf(p.key, sizeof p.key, "%s/%u/%.13s/%.13s", w.npu, w.per_node,
             number_digits(w.up_Bps, 4).at, number_digits(w.out_Bps, 4).at);
    if (find_known(&row->cluster, to, p.key))
        return HALLEY_OK;
    TRY(make_record_cluster(&p, &w, err));
    if (p.cluster == NULL) {
        if (w.npu[0] == '\0')
            score_row_skip(row, "the row has no cluster (key %s)", "npu");
        else
            score_row_skip(row, "unknown hardware \"%.100s\"", w.npu);
        return HALLEY_OK;
    }
    assert(p.cluster->nodes.npus > 0);
    row->cluster = (uint32_t)to->clusters.n;
    if (array_push(&to->clusters, p))
        return HALLEY_OK;
    halley_cluster_free(p.cluster);
    return error_nomem(err);
}
