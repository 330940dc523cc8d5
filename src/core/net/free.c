/*
 * net/free.c - models without contention. The arrival of a message is known when it
 * starts and is scheduled at once. ASTRA-sim's model and the native one differ in the
 * delay of a message that crosses several dimensions.
 */
#include "net/dims.h"

/* To a switch, or from it: one hop, which is counted on the way up. */
static void start_part(net_dims *d, const net_request *r)
{
    const net_dim *dim = &d->dims[r->dim];
    const double ticks = dim->latency_ticks + (double)r->bytes / dim->bytes_per_tick;
    assert(r->dim < d->n_dims && dim->topology == CLUSTER_SWITCH);
    if (d->sent != NULL)
        net_dims_count_all(d, r, 1);
    else if (r->part == NET_UP)
        count_messages(d, r->dim, r->from, r->bytes, 1);
    des_queue_push(d->head.queue,
                   d->head.queue->now + des_queue_ticks(d->head.queue, ticks), r->event);
}

/* Count the message: native models in every dimension it crosses, ASTRA-sim's in `dim`.
 * The heat map shows its links as busy in `dim` only, the first dimension that it
 * crosses. */
static inline void finish_start(net_dims *d, const net_request *r, uint32_t dim,
                                uint64_t delay)
{
    const uint64_t now = d->head.queue->now;
    assert(dim < d->n_dims && r->from < d->head.n_npus && r->to < d->head.n_npus);
    if (d->sent != NULL)
        net_dims_count_all(d, r, 1);
    else
        count_messages(d, dim, r->from, r->bytes, 1);
    if (d->heat.busy != NULL)
        net_heat_add(&d->heat, dim * d->head.n_npus + r->from, now,
                     ticks_from((double)r->bytes / d->dims[dim].bytes_per_tick));
    if (d->head.folding.watch != NULL)
        d->head.folding.watch(d->head.context, d->head.folding.representative[r->to],
                              now + delay, r->event);
    des_queue_push(d->head.queue, now + delay, r->event);
}

static net_id unaware_start(net *n, const net_request *r)
{
    net_dims *d = net_dims_of(n);
    if (r->part != NET_WHOLE) {
        start_part(d, r);
        return NET_NONE;
    }
    const uint32_t dim = find_first_dim(d, r->from, r->to);
    finish_start(d, r, dim, get_delay_in_dim(d, dim, r->from, r->to, r->bytes));
    return NET_NONE;
}

static net_id free_start(net *n, const net_request *r)
{
    net_dims *d = net_dims_of(n);
    if (r->part != NET_WHOLE) {
        start_part(d, r);
        return NET_NONE;
    }
    finish_start(d, r, find_first_dim(d, r->from, r->to),
                 net_dims_delay(n, r->from, r->to, r->bytes));
    return NET_NONE;
}

static bool free_find_way(net_way *out, const net *n, uint32_t from, uint32_t to)
{
    const net_dims *d = net_dims_of_const(n);
    *out = (net_way){.dim = find_first_dim(d, from, to)};
    for (uint32_t i = 0; i < d->n_dims; i++)
        out->crossed |= (uint32_t)(get_coordinate(&d->dims[i], from) !=
                                   get_coordinate(&d->dims[i], to))
                        << i;
    net_dims_route(d, from, to, &out->latency_ticks, &out->bytes_per_tick);
    return true;
}

const net_model net_model_unaware = {
    .name = "unaware",
    .astra = true,
    .can = NET_CAN_FIX_DELAY | NET_CAN_SEND_HALF | NET_PAYS_ONE_DIM,
    NET_DIMS_ROW,
    .open = net_dims_open,
    .close = net_dims_close,
    .start = unaware_start,
    .delay = net_dims_delay_first,
    .find_way = free_find_way,
};

const net_model net_model_free = {
    .name = "free",
    .old_name = "contention-free",
    .can = NET_CAN_FIX_DELAY | NET_CAN_SEND_HALF | NET_CAN_FOLD,
    NET_DIMS_ROW,
    .open = net_dims_open,
    .close = net_dims_close,
    .start = free_start,
    .delay = net_dims_delay,
    .list_links = net_dims_list_links,
    .find_way = free_find_way,
};
