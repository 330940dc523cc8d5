/* Write an MSCCL++ plan as traces, one per GPU, in the same form as msccl_graph.c. */
#include "halley/ingest.h"
#include "msccl/mscclpp/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct mpp_maker {
    const mpp_plan *p;
    halley_builder *b;
    uint32_t *ids;    /* by node: its id in its GPU's trace */
    mpp_edge *edges;  /* by `to` */
    uint32_t *by_gpu; /* nodes, GPU after GPU */
} mpp_maker;

static int compare_edge_ends(const void *a, const void *b)
{
    const mpp_edge *const x = a, *const y = b;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

static void add_plan_message(const mpp_maker *m, const mpp_node *n)
{
    const bool sends = n->kind == MPP_SEND;
    (void)halley_builder_attr_i64(m->b, HALLEY_ATTR_NAME_COMM_SIZE, (int64_t)n->n_bytes);
    (void)halley_builder_attr_i32(m->b, HALLEY_ATTR_NAME_COMM_SRC,
                                  (int32_t)(sends ? n->gpu : n->peer));
    (void)halley_builder_attr_i32(m->b, HALLEY_ATTR_NAME_COMM_DST,
                                  (int32_t)(sends ? n->peer : n->gpu));
    (void)halley_builder_attr_i32(m->b, HALLEY_ATTR_NAME_COMM_TAG, (int32_t)n->tag);
}

/* Give the node work, so that a roofline can time it: inputs are read, one result is
 * written. */
static void add_plan_work(const mpp_maker *m, const mpp_node *n)
{
    const uint64_t n_inputs = n->n_inputs;
    (void)halley_builder_attr_i64(m->b, HALLEY_ATTR_NAME_NUM_OPS,
                                  (int64_t)(n->n_bytes * n_inputs));
    (void)halley_builder_attr_u64(m->b, HALLEY_ATTR_NAME_TENSOR_SIZE,
                                  n_inputs > 0 ? n->n_bytes * (n_inputs + 1) : 0);
}

static void add_plan_node(const mpp_maker *m, uint32_t i)
{
    static const halley_node_type types[] = {[MPP_COMPUTE] = HALLEY_NODE_COMP,
                                             [MPP_SEND] = HALLEY_NODE_SEND,
                                             [MPP_RECEIVE] = HALLEY_NODE_RECV};
    const mpp_node *const n = &m->p->nodes.at[i];
    const mpp_edge key = {.to = i};
    char name[96];
    const int length =
        snprintf(name, sizeof name, "%s block %u step %u", n->what, n->block, n->op);
    (void)halley_builder_node(m->b, m->ids[i], (uint32_t)types[n->kind],
                              (halley_bytes){name, (size_t)length});
    size_t low = 0, high = m->p->edges.n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (m->edges[mid].to < key.to)
            low = mid + 1;
        else
            high = mid;
    }
    for (uint32_t last = MPP_NONE; low < m->p->edges.n && m->edges[low].to == i; low++) {
        if (m->edges[low].from != last)
            (void)halley_builder_data(m->b, m->ids[m->edges[low].from]);
        last = m->edges[low].from;
    }
    (void)halley_builder_attr_bool(m->b, HALLEY_ATTR_NAME_IS_CPU_OP, false);
    if (n->kind == MPP_COMPUTE)
        add_plan_work(m, n);
    else
        add_plan_message(m, n);
}

static void describe_plan(const mpp_maker *m)
{
    const struct {
        const char *name;
        str text;
    } said[] = {{"msccl_name", m->p->name}, {"msccl_collective", m->p->collective}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        const halley_attr attr = {.name = {said[i].name, strlen(said[i].name)},
                                  .kind = HALLEY_ATTR_STRING,
                                  .bytes = {said[i].text.at, said[i].text.n}};
        (void)halley_builder_metadata(m->b, &attr);
    }
}

/* Sort the nodes by GPU; first[gpu] is where its nodes begin. */
static void number_plan_nodes(mpp_maker *m, uint32_t *first)
{
    const mpp_plan *const p = m->p;
    for (size_t i = 0; i < p->nodes.n; i++)
        first[p->nodes.at[i].gpu + 1]++;
    for (uint32_t g = 0; g < p->n_gpus; g++)
        first[g + 1] += first[g];
    for (uint32_t i = 0; i < p->nodes.n; i++)
        m->by_gpu[first[p->nodes.at[i].gpu]++] = i;
    for (uint32_t g = p->n_gpus; g > 0; g--)
        first[g] = first[g - 1];
    first[0] = 0;
    for (uint32_t g = 0; g < p->n_gpus; g++)
        for (uint32_t k = first[g]; k < first[g + 1]; k++)
            m->ids[m->by_gpu[k]] = k - first[g];
}

static halley_status make_plan_traces(halley_trace **traces, mpp_maker *m,
                                      const uint32_t *first, halley_error *err)
{
    for (uint32_t g = 0; g < m->p->n_gpus; g++) {
        TRY(halley_builder_new(&m->b, err));
        describe_plan(m);
        for (uint32_t k = first[g]; k < first[g + 1]; k++)
            add_plan_node(m, m->by_gpu[k]);
        TRY(halley_builder_finish(&traces[g], m->b, err));
    }
    return HALLEY_OK;
}

halley_status mpp_make_traces(halley_trace_set **out, const mpp_plan *p,
                              halley_error *err)
{
    mpp_maker m = {.p = p,
                   .ids = mem_array(p->nodes.n, sizeof *m.ids),
                   .edges = mem_array(p->edges.n, sizeof *m.edges),
                   .by_gpu = mem_array(p->nodes.n, sizeof *m.by_gpu)};
    uint32_t *const first = mem_array_zero((size_t)p->n_gpus + 1, sizeof *first);
    halley_trace **const traces = mem_array_zero(p->n_gpus, sizeof *traces);
    halley_status status = HALLEY_OK;
    if (m.ids == NULL || m.edges == NULL || m.by_gpu == NULL || first == NULL ||
        traces == NULL) {
        status = error_nomem(err);
    } else {
        if (p->edges.n > 0)
            memcpy(m.edges, p->edges.at, p->edges.n * sizeof *m.edges);
        qsort(m.edges, p->edges.n, sizeof *m.edges, compare_edge_ends);
        number_plan_nodes(&m, first);
        status = make_plan_traces(traces, &m, first, err);
    }
    if (status == HALLEY_OK)
        status = halley_trace_set_new(out, traces, p->n_gpus, err);
    for (uint32_t g = 0; traces != NULL && status != HALLEY_OK && g < p->n_gpus; g++)
        halley_trace_free(traces[g]);
    free(m.ids);
    free(m.edges);
    free(m.by_gpu);
    free(first);
    free(traces);
    return status;
}
