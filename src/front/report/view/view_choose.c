/*
 * Turns a trace into the graph that is drawn: which nodes were requested, and what
 * connects them. Nodes that are omitted by type or name still connect others. An edge
 * leads from the nearest chosen ancestors of such a node to its chosen dependants. At
 * most NEAREST ancestors are used, so that the work stays linear.
 */
#include "base/error.h"
#include "report/view/view.h"

#include <fnmatch.h>
#include <string.h>

enum { NEAREST = 6, NAME_MAX_BYTES = 4096 };

typedef struct chooser {
    view_graph *g;
    const halley_trace *trace;
    uint32_t n;
    uint32_t *box_of; /* VIEW_NONE = not chosen */
    uint8_t *reached; /* within the limits of `from` and `depth` */
} chooser;

/* All dependencies of a node, data first. */
static uint32_t dep_count(const halley_trace *trace, uint32_t node)
{
    return halley_node_data_count(trace, node) + halley_node_ctrl_count(trace, node);
}

static uint32_t dep_at(const halley_trace *trace, uint32_t node, uint32_t i,
                       uint32_t *kind)
{
    const uint32_t n_data = halley_node_data_count(trace, node);
    *kind = i < n_data ? VIEW_DATA : VIEW_CTRL;
    return i < n_data ? halley_node_data(trace, node, i).index
                      : halley_node_ctrl(trace, node, i - n_data).index;
}

/* The nodes that depend on each node: those of i are at[starts[i]] … at[starts[i + 1]].
 */
typedef struct dependants {
    size_t *starts;
    uint32_t *at;
} dependants;

static bool find_dependants(dependants *d, const halley_trace *trace, uint32_t n)
{
    uint32_t kind;
    d->starts = mem_array_zero((size_t)n + 1, sizeof *d->starts);
    if (!d->starts)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = dep_count(trace, i); k-- > 0;) {
            const uint32_t on = dep_at(trace, i, k, &kind);
            if (on != HALLEY_NO_NODE)
                d->starts[on + 1]++;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        d->starts[i + 1] += d->starts[i];
    d->at = mem_array(d->starts[n], sizeof *d->at);
    if (!d->at)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = dep_count(trace, i); k-- > 0;) {
            const uint32_t on = dep_at(trace, i, k, &kind);
            if (on != HALLEY_NO_NODE)
                d->at[d->starts[on]++] = i;
        }
    }
    memmove(d->starts + 1, d->starts, n * sizeof *d->starts);
    d->starts[0] = 0;
    return true;
}

static void dependants_fini(dependants *d)
{
    free(d->starts);
    free(d->at);
}

typedef ARRAY(uint32_t) queue;

static bool visit_node(uint8_t *seen, queue *q, uint32_t node)
{
    if (seen[node])
        return true;
    seen[node] = 1;
    return array_push(q, node);
}

static bool visit_dependants(const dependants *d, uint32_t node, uint8_t *seen, queue *q)
{
    bool ok = true;
    for (size_t k = d->starts[node]; ok && k < d->starts[node + 1]; k++)
        ok = visit_node(seen, q, d->at[k]);
    return ok;
}

static bool visit_dependencies(const halley_trace *trace, uint32_t node, uint8_t *seen,
                               queue *q)
{
    bool ok = true;
    const uint32_t n = dep_count(trace, node);
    for (uint32_t k = 0; ok && k < n; k++) {
        uint32_t kind;
        const uint32_t on = dep_at(trace, node, k, &kind);
        ok = on == HALLEY_NO_NODE || visit_node(seen, q, on);
    }
    return ok;
}

/* Search breadth first from the given nodes, `depth` steps in one direction. `seen` is
 * zero at first. */
static bool spread_choice(chooser *c, const dependants *d, bool down, uint8_t *seen)
{
    const halley_view_opts *o = c->g->opts;
    queue q = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < o->n_from; i++)
        ok = visit_node(seen, &q, halley_trace_find(c->trace, o->from[i]));
    size_t at = 0;
    for (uint32_t step = 0; ok && at < q.n && (o->depth == 0 || step < o->depth);
         step++) {
        for (const size_t end = q.n; ok && at < end; at++) {
            const uint32_t node = q.at[at];
            ok = down ? visit_dependants(d, node, seen, &q)
                      : visit_dependencies(c->trace, node, seen, &q);
        }
    }
    for (uint32_t i = 0; i < c->n; i++)
        c->reached[i] |= seen[i];
    array_fini(&q);
    return ok;
}

static halley_status reach_nodes(chooser *c, halley_error *err)
{
    const halley_view_opts *o = c->g->opts;
    for (size_t i = 0; i < o->n_from; i++) {
        if (halley_trace_find(c->trace, o->from[i]) != HALLEY_NO_NODE)
            continue;
        error_set(err, HALLEY_ENOTFOUND, "there is no node %llu in the trace",
                  (unsigned long long)o->from[i]);
        error_at_file(err, halley_trace_path(c->trace));
        return HALLEY_ENOTFOUND;
    }
    if (o->n_from == 0) {
        memset(c->reached, 1, c->n);
        return HALLEY_OK;
    }
    dependants d = {0};
    bool ok = o->way == HALLEY_VIEW_UP || find_dependants(&d, c->trace, c->n);
    for (int down = 0; ok && down < 2; down++) {
        if (o->way == (down ? HALLEY_VIEW_UP : HALLEY_VIEW_DOWN))
            continue;
        uint8_t *seen = mem_array_zero(c->n, 1);
        ok = seen && spread_choice(c, &d, down, seen);
        free(seen);
    }
    dependants_fini(&d);
    return ok ? HALLEY_OK : error_nomem(err);
}

static bool name_fits(const chooser *c, uint32_t node)
{
    const halley_view_opts *o = c->g->opts;
    if (o->n_names == 0)
        return true;
    char name[NAME_MAX_BYTES];
    const halley_bytes b = halley_node_name(c->trace, node);
    const size_t n = b.n < sizeof name ? b.n : sizeof name - 1;
    if (n)
        memcpy(name, b.at, n);
    name[n] = 0;
    for (size_t i = 0; i < o->n_names; i++)
        if (fnmatch(o->names[i], name, 0) == 0)
            return true;
    return false;
}

static bool fits_choice(const chooser *c, uint32_t node)
{
    const uint32_t type = halley_node_type_of(c->trace, node);
    const uint32_t types = c->g->opts->types;
    if (types && (type >= HALLEY_N_NODE_TYPES || !(types >> type & 1)))
        return false;
    return name_fits(c, node);
}

static uint64_t read_attr_u64(const halley_trace *trace, uint32_t node, const char *name)
{
    halley_attr attr;
    uint64_t value = 0;
    if (halley_node_find_attr(&attr, trace, node, name))
        (void)halley_attr_to_u64(&attr, &value);
    return value;
}

static uint8_t find_node_lane(uint32_t type, bool cpu)
{
    switch (type) {
    case HALLEY_NODE_COMP:
        return cpu ? VIEW_CPU : VIEW_COMPUTE;
    case HALLEY_NODE_SEND:
    case HALLEY_NODE_RECV:
    case HALLEY_NODE_COLL:
        return VIEW_COMM;
    case HALLEY_NODE_MEM_LOAD:
    case HALLEY_NODE_MEM_STORE:
        return VIEW_MEMORY;
    default:
        return VIEW_OTHER;
    }
}

static view_box box_of_node(view_graph *g, uint32_t node)
{
    const uint32_t wire = halley_node_type_of(g->trace, node);
    const uint32_t type = wire < HALLEY_N_NODE_TYPES ? wire : HALLEY_NODE_INVALID;
    const bool cpu = read_attr_u64(g->trace, node, "is_cpu_op") != 0;
    const uint8_t lane = find_node_lane(type, cpu);
    return (view_box){.node = node,
                      .last = node,
                      .n_nodes = 1,
                      .repeat = 1,
                      .type = (uint8_t)type,
                      .lane = lane,
                      .duration_us = halley_node_duration_us(g->trace, node),
                      .bytes =
                          read_attr_u64(g->trace, node,
                                        lane == VIEW_COMM ? "comm_size" : "tensor_size")};
}

static bool add_node_groups(chooser *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        if (!c->reached[i] || !fits_choice(c, i))
            continue;
        c->box_of[i] = (uint32_t)c->g->boxes.n;
        const view_box box = box_of_node(c->g, i);
        if (!array_push(&c->g->boxes, box))
            return false;
        c->g->type_count[box.type]++;
    }
    return true;
}

/* The nearest chosen ancestors of a node, as boxes. */
typedef struct nearest {
    uint32_t box[NEAREST], n;
} nearest;

/* Add one. If there are too many, drop the first in the file, which is probably the
 * farthest. */
static void add_nearest(nearest *to, uint32_t box)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < to->n; i++) {
        if (to->box[i] == box)
            return;
        if (to->box[i] < to->box[first])
            first = i;
    }
    if (to->n < NEAREST)
        to->box[to->n++] = box;
    else if (to->box[first] < box)
        to->box[first] = box;
}

static bool has_name(const nearest *in, uint32_t box)
{
    for (uint32_t i = 0; i < in->n; i++)
        if (in->box[i] == box)
            return true;
    return false;
}

/* Drop boxes that are nearest ancestors of another box of `all`. */
static void prune_nodes(nearest *it, const nearest *all, const nearest *near,
                        const view_box *boxes)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < it->n; i++) {
        bool above = false;
        for (uint32_t k = 0; k < all->n && !above; k++)
            above = all->box[k] != it->box[i] &&
                    has_name(&near[boxes[all->box[k]].node], it->box[i]);
        if (!above)
            it->box[n++] = it->box[i];
    }
    it->n = n;
}

/* Add the edges into node i that lead through omitted nodes, and set the nearest
 * ancestors of i for its dependants. Its dependencies were handled before, except for
 * those on cycles. */
static bool connect_via(chooser *c, nearest *near, uint32_t i)
{
    const uint32_t mine = c->box_of[i];
    const view_box *boxes = c->g->boxes.at;
    const uint32_t n_deps = dep_count(c->trace, i);
    nearest direct = {0}, via = {0};
    for (uint32_t k = 0; k < n_deps; k++) {
        uint32_t kind;
        const uint32_t on = dep_at(c->trace, i, k, &kind);
        if (on == HALLEY_NO_NODE || on == i || !c->reached[on])
            continue;
        if (c->box_of[on] != VIEW_NONE)
            add_nearest(&direct, c->box_of[on]);
        for (uint32_t a = 0; c->box_of[on] == VIEW_NONE && a < near[on].n; a++)
            add_nearest(&via, near[on].box[a]);
    }
    nearest all = direct;
    for (uint32_t a = 0; a < via.n; a++)
        add_nearest(&all, via.box[a]);
    prune_nodes(&via, &all, near, boxes);
    for (uint32_t a = 0; mine != VIEW_NONE && a < via.n; a++)
        if (!has_name(&direct, via.box[a]) &&
            !array_push(&c->g->edges, (view_edge){via.box[a], mine, VIEW_VIA}))
            return false;
    near[i] = all;
    prune_nodes(&near[i], &all, near, boxes);
    return true;
}

/* Add edges for the dependencies of node i on chosen nodes, if it is chosen itself. */
static bool connect_boxes(chooser *c, uint32_t i)
{
    const uint32_t mine = c->box_of[i];
    const uint32_t n_deps = mine == VIEW_NONE ? 0 : dep_count(c->trace, i);
    for (uint32_t k = 0; k < n_deps; k++) {
        uint32_t kind;
        const uint32_t on = dep_at(c->trace, i, k, &kind);
        c->g->sum.n_dangling += on == HALLEY_NO_NODE;
        if (on != HALLEY_NO_NODE && c->box_of[on] != VIEW_NONE &&
            !array_push(&c->g->edges, (view_edge){c->box_of[on], mine, kind}))
            return false;
    }
    return true;
}

/* Sort nodes so that dependencies come first; those on cycles come last. */
static bool sort_chosen_nodes(const chooser *c, uint32_t *order)
{
    dependants d = {0};
    uint32_t *pending = mem_array_zero(c->n, sizeof *pending);
    const bool ok = pending && find_dependants(&d, c->trace, c->n);
    uint32_t n = 0;
    for (size_t i = 0; ok && i < d.starts[c->n]; i++)
        pending[d.at[i]]++;
    for (uint32_t i = 0; ok && i < c->n; i++)
        if (pending[i] == 0)
            order[n++] = i;
    for (uint32_t at = 0; ok && at < n; at++) {
        const uint32_t node = order[at];
        for (size_t k = d.starts[node]; k < d.starts[node + 1]; k++)
            if (--pending[d.at[k]] == 0)
                order[n++] = d.at[k];
    }
    for (uint32_t i = 0; ok && i < c->n; i++)
        if (pending[i] > 0)
            order[n++] = i;
    free(pending);
    dependants_fini(&d);
    return ok;
}

static bool add_box_edges(chooser *c)
{
    /* Ancestors, and the order, matter only if nodes are omitted. */
    const bool all = c->g->boxes.n == c->n;
    nearest *near = mem_array_zero(all ? 1 : c->n, sizeof *near);
    uint32_t *order = mem_array(all ? 1 : c->n, sizeof *order);
    bool ok = near && order && (all || sort_chosen_nodes(c, order));
    for (uint32_t k = 0; ok && k < c->n; k++) {
        const uint32_t i = all ? k : order[k];
        ok = !c->reached[i] || (connect_boxes(c, i) && (all || connect_via(c, near, i)));
    }
    free(near);
    free(order);
    view_tidy_edges(c->g);
    return ok;
}

static halley_status choose_nodes(chooser *c, halley_error *err)
{
    for (uint32_t i = 0; i < c->n; i++)
        c->box_of[i] = VIEW_NONE;
    TRY(reach_nodes(c, err));
    if (!add_node_groups(c) || !add_box_edges(c))
        return error_nomem(err);
    c->g->sum.n_nodes = c->n;
    c->g->sum.n_chosen = c->g->boxes.n;
    if (c->n > 0 && c->g->boxes.n == 0) {
        error_set(err, HALLEY_ENOTFOUND, "no node of the trace is of that type and name");
        error_at_file(err, halley_trace_path(c->trace));
        return HALLEY_ENOTFOUND;
    }
    return HALLEY_OK;
}

halley_status view_choose(view_graph *g, halley_error *err)
{
    chooser c = {.g = g, .trace = g->trace, .n = halley_trace_count(g->trace)};
    c.box_of = mem_array(c.n, sizeof *c.box_of);
    c.reached = mem_array_zero(c.n, 1);
    const halley_status status =
        c.box_of && c.reached ? choose_nodes(&c, err) : error_nomem(err);
    free(c.box_of);
    free(c.reached);
    return status;
}

static int compare_edge_ends(const void *a, const void *b)
{
    const view_edge *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

void view_tidy_edges(view_graph *g)
{
    if (g->edges.n > 1)
        qsort(g->edges.at, g->edges.n, sizeof *g->edges.at, compare_edge_ends);
    size_t n = 0;
    for (size_t i = 0; i < g->edges.n; i++) {
        const view_edge e = g->edges.at[i];
        if (n > 0 && g->edges.at[n - 1].from == e.from && g->edges.at[n - 1].to == e.to)
            g->edges.at[n - 1].kinds |= e.kinds;
        else
            g->edges.at[n++] = e;
    }
    g->edges.n = n;
}

/* Kahn's algorithm. If only cycles are left, their first box is treated as ready. */
typedef struct leveller {
    view_graph *g;
    size_t *starts; /* edges from box i, in g->edges */
    uint32_t *pending;
    uint8_t *placed;
    queue q;
} leveller;

static bool place_node(leveller *l, uint32_t box)
{
    l->placed[box] = 1;
    return array_push(&l->q, box);
}

static bool level_all(leveller *l)
{
    view_graph *g = l->g;
    const uint32_t n = (uint32_t)g->boxes.n;
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++)
        if (l->pending[i] == 0)
            ok = place_node(l, i);
    uint32_t next = 0;
    for (size_t at = 0; ok && at < n; at++) {
        while (at == l->q.n && l->placed[next])
            next++;
        if (at == l->q.n)
            ok = place_node(l, next);
        if (!ok)
            return false;
        const uint32_t box = l->q.at[at];
        const uint32_t level = g->boxes.at[box].level + 1;
        for (size_t k = l->starts[box]; ok && k < l->starts[box + 1]; k++) {
            const uint32_t to = g->edges.at[k].to;
            if (l->placed[to])
                continue;
            if (g->boxes.at[to].level < level)
                g->boxes.at[to].level = level;
            if (--l->pending[to] == 0)
                ok = place_node(l, to);
        }
    }
    return ok;
}

bool view_levels(view_graph *g)
{
    const uint32_t n = (uint32_t)g->boxes.n;
    leveller l = {.g = g,
                  .starts = mem_array_zero((size_t)n + 1, sizeof *l.starts),
                  .pending = mem_array_zero(n, sizeof *l.pending),
                  .placed = mem_array_zero(n, 1)};
    bool ok = l.starts && l.pending && l.placed;
    for (uint32_t i = 0; i < n; i++)
        g->boxes.at[i].level = 0;
    for (size_t k = 0; ok && k < g->edges.n; k++) {
        l.starts[g->edges.at[k].from + 1]++;
        l.pending[g->edges.at[k].to] += g->edges.at[k].from != g->edges.at[k].to;
    }
    for (uint32_t i = 0; ok && i < n; i++)
        l.starts[i + 1] += l.starts[i];
    ok = ok && level_all(&l);
    free(l.starts);
    free(l.pending);
    free(l.placed);
    array_fini(&l.q);
    g->n_levels = 0;
    for (uint32_t i = 0; i < n; i++)
        if (g->boxes.at[i].level >= g->n_levels)
            g->n_levels = g->boxes.at[i].level + 1;
    return ok;
}

bool view_goes_up(const view_graph *g, const view_edge *e)
{
    return g->boxes.at[e->from].level >= g->boxes.at[e->to].level;
}

void view_graph_fini(view_graph *g)
{
    array_fini(&g->boxes);
    array_fini(&g->edges);
    array_fini(&g->columns);
}
