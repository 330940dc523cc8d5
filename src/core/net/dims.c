/* net/dims.c - networks of dimensions: set-up, and the counters that all their models
 * share. */
#include "net/dims.h"

#include "base/array.h"

static void init_dims(net_dims *d, const halley_cluster *cluster, double ticks_per_s)
{
    uint32_t stride = 1;
    for (uint32_t i = 0; i < cluster->n_dims; i++) {
        const cluster_dim *from = &cluster->dims[i];
        d->dims[i] = (net_dim){
            .topology = from->topology,
            .n = from->n,
            .stride = stride,
            .latency_ticks = from->latency_ns * (ticks_per_s / 1e9),
            .bytes_per_tick = from->bw_Bps / ticks_per_s,
        };
        stride *= from->n;
    }
    assert(stride == cluster->n_npus);
}

halley_status net_dims_open(net *n, const halley_cluster *c, const net_options *o,
                            halley_error *err)
{
    net_dims *d = net_dims_of(n);
    const double bin_ticks = 100 * (o->ticks_per_s / 1e9);
    assert(c->n_dims > 0 && c->n_dims <= CLUSTER_MAX_DIMS);
    d->n_dims = c->n_dims;
    d->cluster = c;
    init_dims(d, c, o->ticks_per_s);
    if (o->keep_heat &&
        !net_heat_init(&d->heat, d->n_dims * n->n_npus, (uint64_t)bin_ticks))
        return error_nomem(err);
    if (o->keep_heat)
        n->can &= ~(uint32_t)NET_CAN_FIX_DELAY;
    if (n->model->astra)
        return HALLEY_OK;
    d->sent = mem_array_zero((size_t)d->n_dims * n->n_npus, sizeof *d->sent);
    d->received = mem_array_zero((size_t)d->n_dims * n->n_npus, sizeof *d->received);
    if (d->sent == NULL || d->received == NULL)
        return error_nomem(err);
    return HALLEY_OK;
}

void net_dims_close(net *n)
{
    net_dims *d = net_dims_of(n);
    net_heat_fini(&d->heat);
    free(d->sent);
    free(d->received);
}

void net_dims_count_all(net_dims *d, const net_request *r, uint32_t n_messages)
{
    const double alike =
        d->head.folding.n_alike == NULL ? 1 : d->head.folding.n_alike[r->from];
    const double bytes = (double)r->bytes * n_messages;
    for (uint32_t i = 0; i < d->n_dims; i++) {
        const net_dim *dim = &d->dims[i];
        const bool crosses = r->part == NET_WHOLE ? get_coordinate(dim, r->from) !=
                                                        get_coordinate(dim, r->to)
                                                  : i == r->dim;
        if (!crosses)
            continue;
        if (r->part != NET_DOWN) {
            d->sums[i].n_messages += n_messages * (uint64_t)alike;
            d->sums[i].bytes += (net_sum)r->bytes * n_messages * (net_sum)alike;
            d->sent[(size_t)i * d->head.n_npus + r->from] += bytes;
        }
        if (r->part != NET_UP)
            d->received[(size_t)i * d->head.n_npus + r->to] += bytes;
    }
}

/* The number of links of a dimension on which an NPU sends. */
static double count_links_out(const net_dim *dim)
{
    if (dim->topology == CLUSTER_RING)
        return dim->n > 2 ? 2 : 1;
    return dim->topology == CLUSTER_FULLY_CONNECTED && dim->n > 1 ? dim->n - 1.0 : 1;
}

static bool list_dim_link(net_link_list *to, const net_dims *d, uint32_t i, uint32_t npu,
                          bool out)
{
    const double bytes = (out ? d->sent : d->received)[(size_t)i * d->head.n_npus + npu];
    assert(i < d->n_dims && npu < d->head.n_npus && bytes >= 0);
    const char *kind = cluster_topology_names[d->dims[i].topology];
    if (bytes == 0)
        return true;
    net_link_use use = {
        .name = arena_printf(
            &to->memory, out ? "npu%u -> dimension %u" : "npu%u <- dimension %u", npu, i),
        .kind = kind,
        .bw_Bps = d->cluster->dims[i].bw_Bps * count_links_out(&d->dims[i]),
        .bytes = bytes,
        .wire_bytes = bytes};
    return use.name != NULL && array_push(&to->links, use);
}

bool net_dims_list_links(net_link_list *to, const net *n)
{
    const net_dims *d = net_dims_of_const(n);
    bool room = true;
    for (uint32_t i = 0; room && d->sent != NULL && i < d->n_dims; i++)
        for (uint32_t npu = 0; room && npu < n->n_npus; npu++)
            room =
                list_dim_link(to, d, i, npu, true) && list_dim_link(to, d, i, npu, false);
    return room;
}

void net_dims_count(net *n, const net_request *r, uint32_t n_messages)
{
    net_dims *d = net_dims_of(n);
    assert(r->to < n->n_npus);
    if (d->sent != NULL)
        net_dims_count_all(d, r, n_messages);
    else
        count_messages(d, find_first_dim(d, r->from, r->to), r->from, r->bytes,
                       n_messages);
}

bool net_dims_describe(net_part_use *out, const net *n, uint32_t i)
{
    const net_dims *d = net_dims_of_const(n);
    if (i >= d->n_dims)
        return false;
    const cluster_dim *dim = &d->cluster->dims[i];
    *out = (net_part_use){.name = cluster_topology_names[dim->topology],
                          .n = dim->n,
                          .bw_Bps = dim->bw_Bps,
                          .capacity_Bps = dim->bw_Bps * n->n_npus,
                          .n_messages = d->sums[i].n_messages,
                          .bytes = (double)d->sums[i].bytes};
    return true;
}

net_heat net_dims_take_heat(net *n)
{
    net_dims *d = net_dims_of(n);
    const net_heat heat = d->heat;
    d->heat = (net_heat){0};
    return heat;
}
