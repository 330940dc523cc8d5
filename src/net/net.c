/* net/net.c - the table of models, set-up, and what all of them count. */
#include "net/net.h"

#include "base/array.h"
#include "net/dims.h"

#include <string.h>

static const net_model *const net_models[] = {&net_model_unaware, &net_model_aware,
                                              &net_model_free, &net_model_queue};
enum { N_MODELS = sizeof net_models / sizeof *net_models };

const net_model *net_model_find(const char *word)
{
    for (int i = 0; i < N_MODELS; i++) {
        const net_model *m = net_models[i];
        if (strcmp(m->name, word) == 0 ||
            (m->old_name != NULL && strcmp(m->old_name, word) == 0))
            return m;
    }
    return NULL;
}

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

static bool flush_model(void *context)
{
    net *n = context;
    return n->model->flush(n);
}

static halley_status open_dims(net_dims *d, const net_options *o, halley_error *err)
{
    const double bin_ticks = 100 * (o->ticks_per_s / 1e9);
    if (o->keep_heat &&
        !net_heat_init(&d->heat, d->n_dims * d->n_npus, (uint64_t)bin_ticks))
        return error_nomem(err);
    if (o->keep_heat)
        d->head.can &= ~(uint32_t)NET_CAN_FIX_DELAY;
    if (d->head.model->flush != NULL) {
        d->queue->flush = flush_model;
        d->queue->flush_context = d;
    }
    return d->head.model->open(&d->head, err);
}

halley_status net_new(net **out, const net_model *model, const halley_cluster *cluster,
                      des_queue *queue, const net_options *o, halley_error *err)
{
    assert(cluster->n_dims > 0 && cluster->n_dims <= CLUSTER_MAX_DIMS);
    assert((o->folding.watch == NULL) == (o->folding.representative == NULL));
    net_dims *d = calloc(1, sizeof *d);
    if (d == NULL)
        return error_nomem(err);
    d->head = (net){model, model->can};
    d->queue = queue;
    d->deliver = o->deliver;
    d->context = o->context;
    d->folding = o->folding;
    d->n_dims = cluster->n_dims;
    d->n_npus = cluster->n_npus;
    init_dims(d, cluster, o->ticks_per_s);
    const halley_status status = open_dims(d, o, err);
    if (status != HALLEY_OK)
        net_free(&d->head);
    else
        *out = &d->head;
    return status;
}

void net_free(net *n)
{
    if (n == NULL)
        return;
    net_dims *d = net_dims_of(n);
    n->model->close(n);
    net_heat_fini(&d->heat);
    free(d);
}

void net_count(net *n, uint32_t from, uint32_t to, uint64_t bytes, uint32_t n_messages)
{
    net_dims *d = net_dims_of(n);
    assert(to < d->n_npus);
    count_messages(d, find_first_dim(d, from, to), from, bytes, n_messages);
}

net_dim_sums net_get_sums(const net *n, uint32_t dim)
{
    const net_dims *d = net_dims_of_const(n);
    assert(dim < d->n_dims);
    return d->sums[dim];
}

net_heat net_take_heat(net *n)
{
    net_dims *d = net_dims_of(n);
    const net_heat heat = d->heat;
    d->heat = (net_heat){0};
    return heat;
}
