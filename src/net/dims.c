/* net/dims.c - networks of dimensions: set-up, and what all models of them count. */
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
    return HALLEY_OK;
}

void net_dims_close(net *n)
{
    net_heat_fini(&net_dims_of(n)->heat);
}

void net_dims_count(net *n, const net_request *r, uint32_t n_messages)
{
    net_dims *d = net_dims_of(n);
    assert(r->to < n->n_npus);
    count_messages(d, find_first_dim(d, r->from, r->to), r->from, r->bytes, n_messages);
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
