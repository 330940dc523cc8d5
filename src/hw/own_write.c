/*
 * hw/own_write.c - a cluster in our own form. Numbers are written so that reading
 * them gives the same bits: bandwidths in B/s, times in ns.
 */
#include "base/file.h"
#include "hw/cluster.h"

static void add_number(strbuf *b, const char *before, double value, const char *unit)
{
    strbuf_add(b, str_from(before));
    strbuf_double(b, value);
    strbuf_add(b, str_from(unit));
}

static void add_in_network(strbuf *b, const cluster_dim *dim)
{
    if (dim->in_network == 0)
        return;
    strbuf_add(b, STR(", in-network: ["));
    for (uint32_t k = 0, n = 0; k <= CLUSTER_N_COLLS; k++)
        if (dim->in_network >> k & 1)
            strbuf_printf(b, "%s%s", n++ == 0 ? "" : ", ",
                          k == CLUSTER_N_COLLS ? "broadcast" : cluster_coll_names[k]);
    strbuf_add_char(b, ']');
    add_number(b, ", in-network-delay: ", dim->in_network_ns, " ns");
    if (dim->in_network_Bps > 0)
        add_number(b, ", in-network-throughput: ", dim->in_network_Bps, " B/s");
}

static void add_network(strbuf *b, const halley_cluster *c)
{
    static const char *const names[] = {"ring", "fully-connected", "switch"};
    strbuf_add(b, STR("network:\n"));
    for (uint32_t d = 0; d < c->n_dims; d++) {
        const cluster_dim *dim = &c->dims[d];
        strbuf_add(b, STR("  - {"));
        if (dim->name[0] != '\0') {
            strbuf_add(b, STR("name: "));
            strbuf_json(b, str_from(dim->name));
            strbuf_add(b, STR(", "));
        }
        strbuf_printf(b, "topology: %s, size: %u", names[dim->topology], dim->n);
        add_number(b, ", bandwidth: ", dim->bw_Bps, " B/s");
        add_number(b, ", latency: ", dim->latency_ns, " ns");
        add_in_network(b, dim);
        strbuf_add(b, STR("}\n"));
    }
}

static void add_npu(strbuf *b, const halley_cluster *c)
{
    const cluster_system *s = &c->system;
    if (s->peak_flops == 0 && s->mem_Bps == 0)
        return;
    strbuf_add(b, STR("npu:\n"));
    if (s->peak_flops != 0)
        add_number(b, "  peak: ", s->peak_flops, " FLOP/s\n");
    if (s->mem_Bps != 0)
        add_number(b, "  memory: [{name: local, bandwidth: ", s->mem_Bps, " B/s}]\n");
}

static void add_remote(strbuf *b, const halley_cluster *c)
{
    static const char *const kinds[] = {"", "per-npu", "per-node", "pool",
                                        "hierarchical"};
    if (c->remote.kind == CLUSTER_MEMORY_NONE)
        return;
    strbuf_printf(b, "remote-memory: {kind: %s, latency: %llu ns", kinds[c->remote.kind],
                  (unsigned long long)c->remote.latency_ns);
    if (c->remote.kind == CLUSTER_MEMORY_PER_NODE ||
        c->remote.kind == CLUSTER_MEMORY_HIERARCHICAL)
        strbuf_printf(b, ", npus-per-node: %u", c->remote.npus_per_node);
    if (c->remote.kind == CLUSTER_MEMORY_HIERARCHICAL) {
        strbuf_printf(b, ", groups: %u, piece: %llu B, in-switch: %s", c->remote.n_groups,
                      (unsigned long long)c->remote.piece_bytes,
                      c->remote.in_switch ? "true" : "false");
        add_number(b, ", node-bandwidth: ", c->remote.node_bytes_per_ns * 1e9, " B/s");
        add_number(b, ", npu-bandwidth: ", c->remote.npu_bytes_per_ns * 1e9, " B/s");
    }
    add_number(b, ", bandwidth: ", c->remote.bytes_per_ns * 1e9, " B/s}\n");
}

static void add_algorithms(strbuf *b, const cluster_system *s)
{
    bool custom = false;
    for (uint32_t i = 0; i < CLUSTER_N_COLLS; i++) {
        custom = custom || s->colls[i].custom != NULL;
        if (s->colls[i].n == 0)
            continue;
        strbuf_printf(b, "  %s: [", cluster_coll_names[i]);
        for (uint32_t d = 0; d < s->colls[i].n_listed; d++) {
            strbuf_add(b, d == 0 ? STR("") : STR(", "));
            cluster_impl_print(b, &s->colls[i].dims[d]);
        }
        strbuf_add(b, STR("]\n"));
    }
    if (custom)
        strbuf_add(b, STR("  custom:\n"));
    for (uint32_t i = 0; i < CLUSTER_N_COLLS; i++) {
        if (s->colls[i].custom == NULL)
            continue;
        strbuf_printf(b, "    %s: ", cluster_coll_names[i]);
        strbuf_json(b, str_from(s->colls[i].custom));
        strbuf_add_char(b, '\n');
    }
    if (s->n_node_impls > 0)
        strbuf_add(b, STR("  custom-nodes:\n"));
    for (uint32_t i = 0; i < s->n_node_impls; i++) {
        strbuf_printf(b, "    %llu: ", (unsigned long long)s->node_impls[i].node);
        strbuf_json(b, str_from(s->node_impls[i].custom));
        strbuf_add_char(b, '\n');
    }
}

static void add_system(strbuf *b, const halley_cluster *c)
{
    const cluster_system *s = &c->system;
    strbuf_printf(b, "system:\n  rules: %s\n  model: %s\n",
                  c->astra ? "astra-sim" : "native",
                  c->link_queues ? "link-queue" : "contention-free");
    strbuf_printf(b, "  chunks: %llu\n  active-chunks: %llu\n  queues: %u\n",
                  (unsigned long long)(s->splits == 0 ? 1 : s->splits),
                  (unsigned long long)s->active_chunks, s->queues);
    strbuf_printf(b, "  endpoint-delay: %llu ns\n  group-endpoint-delay: %llu ns\n",
                  (unsigned long long)s->endpoint_ns,
                  (unsigned long long)s->group_endpoint_ns);
    strbuf_printf(b, "  all-reduce-plan: %s\n",
                  s->hierarchical ? "hierarchical" : "every-dimension");
    strbuf_printf(b, "  compute: %s\n",
                  s->roofline   ? "roofline"
                  : s->modelled ? "cost"
                                : "duration");
    if (s->jitter > 0) {
        add_number(b, "  jitter: ", s->jitter, "\n");
        strbuf_printf(b, "  seed: %llu\n", (unsigned long long)s->seed);
    }
    for (uint32_t i = 0, n = 0; s->slow != NULL && i < c->n_npus; i++) {
        if (s->slow[i] == 1)
            continue;
        strbuf_printf(b, "%s    %u: ", n++ == 0 ? "  slow:\n" : "", i);
        add_number(b, "", s->slow[i], "\n");
    }
    if (s->themis)
        strbuf_add(b, STR("  scheduling: themis\n"));
    if (s->streams > 1)
        strbuf_printf(b, "  streams: %u\n", s->streams);
    if (s->one_channel)
        strbuf_add(b, STR("  channels: one\n"));
    if (s->rendezvous)
        strbuf_add(b, STR("  rendezvous: true\n"));
    if (s->replay_only)
        strbuf_add(b, STR("  replay-only: true\n"));
    add_algorithms(b, s);
    if (!s->bus.on)
        return;
    strbuf_printf(b, "  bus: {latency: %llu ns, overhead: %llu ns, gap: %llu ns",
                  (unsigned long long)s->bus.L_ns, (unsigned long long)s->bus.o_ns,
                  (unsigned long long)s->bus.g_ns);
    add_number(b, ", gap-per-byte-ns: ", s->bus.G_ns, "");
    strbuf_printf(b, ", reduction-ns-per-100-bytes: %lld}\n",
                  (long long)s->bus.reduction_delay);
}

static void add_groups(strbuf *b, const halley_cluster *c)
{
    if (c->n_groups > 0)
        strbuf_add(b, STR("groups:\n"));
    for (uint32_t i = 0; i < c->n_groups; i++) {
        strbuf_printf(b, "  %lld: [", (long long)c->groups[i].id);
        for (uint32_t k = 0; k < c->groups[i].n; k++)
            strbuf_printf(b, k == 0 ? "%u" : ", %u", c->groups[i].ranks[k]);
        strbuf_add(b, STR("]\n"));
    }
}

halley_status halley_cluster_save(const halley_cluster *cluster, const char *path,
                                  halley_error *err)
{
    file_output *to = NULL;
    strbuf b = {0};
    if (cluster->name[0] != '\0') {
        strbuf_add(&b, STR("name: "));
        strbuf_json(&b, str_from(cluster->name));
        strbuf_add_char(&b, '\n');
    }
    strbuf_printf(&b, "npus: %u\n", cluster->n_npus);
    add_npu(&b, cluster);
    add_remote(&b, cluster);
    add_network(&b, cluster);
    add_system(&b, cluster);
    add_groups(&b, cluster);
    halley_status status = b.failed ? error_nomem(err) : file_output_open(&to, path, err);
    if (status == HALLEY_OK) {
        file_output_str(to, strbuf_str(&b));
        status = file_output_commit(to, err);
    }
    strbuf_fini(&b);
    return status;
}
