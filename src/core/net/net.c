/* net/net.c - the table of models, and set-up. */
#include "net/net.h"

#include "base/array.h"
#include "net/models.h"

#include <string.h>

static const net_model *const net_models[] = {&net_model_unaware, &net_model_aware,
                                              &net_model_free, &net_model_queue,
                                              &net_model_flow};
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

static bool flush_model(void *context)
{
    net *n = context;
    return n->model->flush(n);
}

halley_status net_new(net **out, const net_model *model, const halley_cluster *cluster,
                      des_queue *queue, const net_options *o, halley_error *err)
{
    assert(model->size >= sizeof(net) && cluster->n_npus > 0);
    assert((o->folding.watch == NULL) == (o->folding.representative == NULL));
    net *n = calloc(1, model->size);
    if (n == NULL)
        return error_nomem(err);
    *n = (net){.model = model,
               .can = model->can,
               .n_npus = cluster->n_npus,
               .queue = queue,
               .deliver = o->deliver,
               .context = o->context,
               .folding = o->folding};
    if (model->flush != NULL) {
        queue->flush = flush_model;
        queue->flush_context = n;
    }
    const halley_status status = model->open(n, cluster, o, err);
    assert(status != HALLEY_OK || n->n_npus == cluster->n_npus);
    if (status != HALLEY_OK)
        net_free(n);
    else
        *out = n;
    return status;
}

void net_free(net *n)
{
    if (n == NULL)
        return;
    n->model->close(n);
    free(n);
}

net_heat net_take_heat(net *n)
{
    return n->model->take_heat == NULL ? (net_heat){0} : n->model->take_heat(n);
}
