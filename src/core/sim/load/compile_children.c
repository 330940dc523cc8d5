/* sim/load/compile_children.c - the children of every node, in compressed sparse rows. */
#include "base/array.h"
#include "sim/load/compile.h"

static halley_dep get_dependency(const halley_trace *t, uint32_t index, uint32_t k)
{
    const uint32_t n_data = halley_node_data_count(t, index);
    return k < n_data ? halley_node_data(t, index, k)
                      : halley_node_ctrl(t, index, k - n_data);
}

/* A dependency that is listed twice, as data and control or within one list, counts once.
 */
static bool mark_dependency(const sim_compiler *c, uint32_t index, uint32_t dep)
{
    assert(dep < c->p->n && index < c->p->n);
    const bool before = c->mark[dep] == index;
    c->mark[dep] = index;
    return before;
}

static uint32_t count_dependencies(const halley_trace *t, uint32_t index)
{
    return halley_node_data_count(t, index) + halley_node_ctrl_count(t, index);
}

/* Count children, sum up, fill: the usual three passes of a compressed table. */
halley_status sim_compile_link_children(const sim_compiler *c)
{
    sim_program *p = c->p;
    uint64_t total = 0;
    for (uint32_t i = 0; i < p->n; i++)
        c->mark[i] = HALLEY_NO_NODE;
    for (uint32_t i = 0; i < p->n; i++) {
        const uint32_t index = p->nodes[i].trace_index;
        const uint32_t n_deps = count_dependencies(c->trace, index);
        for (uint32_t k = 0; k < n_deps; k++) {
            const halley_dep dep = get_dependency(c->trace, index, k);
            if (dep.index == HALLEY_NO_NODE && c->rules->refuses_dangling != NULL)
                return sim_compile_error(c, index, HALLEY_EINVAL,
                                         c->rules->refuses_dangling);
            if (dep.index == HALLEY_NO_NODE) { /* Chakra's converter writes these */
                p->dangling = true;
                continue;
            }
            if (!mark_dependency(c, index, dep.index)) {
                assert(c->place[dep.index] < p->n);
                p->nodes[c->place[dep.index] + 1].first_child++;
                total++;
            }
        }
    }
    if (total > UINT32_MAX)
        return error_set(c->err, HALLEY_ELIMIT, "more than 2^32 dependencies");
    for (uint32_t i = 0; i < p->n; i++)
        p->nodes[i + 1].first_child += p->nodes[i].first_child;
    p->children = mem_array((size_t)total, sizeof *p->children);
    if (p->children == NULL)
        return error_nomem(c->err);
    for (uint32_t i = 0; i < p->n; i++)
        c->mark[i] = HALLEY_NO_NODE;
    /* Backwards, so that children are in ascending order. */
    for (uint32_t i = p->n; i-- > 0;) {
        const uint32_t index = p->nodes[i].trace_index;
        const uint32_t n_deps = count_dependencies(c->trace, index);
        for (uint32_t k = 0; k < n_deps; k++) {
            const halley_dep dep = get_dependency(c->trace, index, k);
            if (dep.index != HALLEY_NO_NODE && !mark_dependency(c, index, dep.index))
                p->children[--p->nodes[c->place[dep.index] + 1].first_child] = i;
        }
    }
    /* Each end has moved down to its start: shift all by one. */
    for (uint32_t i = 0; i < p->n; i++)
        p->nodes[i].first_child = p->nodes[i + 1].first_child;
    assert(p->n == 0 || p->nodes[0].first_child == 0);
    p->nodes[p->n].first_child = (uint32_t)total;
    assert(p->n == 0 || p->nodes[p->n - 1].first_child <= total);
    return HALLEY_OK;
}
