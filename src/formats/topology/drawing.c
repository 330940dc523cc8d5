/*
 * topology/drawing.c - draws a network as boxes and lines.
 *
 * Devices are grouped into things: a node with everything inside it is one thing, and
 * every other device is one, too. Things of one tier and kind form a layer. The lowest
 * layer keeps its order. A layer above is ordered by the mean place of the things below
 * that it is cabled to (the barycentre rule of layered graph drawing). The leaves of a
 * pod, or the rails of a group of nodes, are then next to each other. A box represents
 * `per_box` consecutive things in that order. A line represents all cables between two
 * boxes.
 */
#include "base/array.h"
#include "base/hash.h"
#include "hw/graph/measure.h"
#include "hw/graph/route.h"
#include "hw/graph/topology.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_BOXES = 32, MOST_BOXES = 256, MOST_LAYERS = 64 };

typedef struct layer_key {
    uint32_t tier;
    int kind; /* hw_device_kind; NODE_KIND: nodes */
    uint32_t first_device, n;
} layer_key;
enum { NODE_KIND = -1 };

typedef struct thing {
    double place;    /* mean place below, by which a layer is ordered */
    uint32_t device; /* its first device */
} thing;

typedef struct draft {
    const hw_graph *g;
    const halley_topology_drawing_options *o;
    halley_topology_drawing *out;
    layer_key keys[MOST_LAYERS];
    uint32_t n_layers;
    bool has_nodes;
    uint32_t *layer; /* by device */
    uint32_t *thing; /* by device: index in its layer, in the order of devices */
    uint32_t *place; /* by device: place of its thing, after ordering */
    uint32_t *rail;  /* by device */
    uint32_t *box;   /* by device */
    ARRAY(halley_topology_layer) layers;
    ARRAY(halley_topology_box) boxes;
    ARRAY(halley_topology_line) lines;
} draft;

static bool is_in_node(const draft *d, uint32_t device)
{
    return d->has_nodes && d->g->dev_node[device] != HW_NONE;
}

/* Nodes are drawn as such if there are several, numbered from 0 without a gap. */
static bool has_several_nodes(const hw_graph *g)
{
    uint32_t most = 0, n_different = 0;
    bool *seen = mem_array_zero(g->n_devices, sizeof *seen);
    bool is_dense = seen != NULL;
    for (uint32_t i = 0; is_dense && i < g->n_devices; i++) {
        const uint32_t node = g->dev_node[i];
        if (node == HW_NONE)
            continue;
        is_dense = node < g->n_devices;
        if (!is_dense)
            break;
        most = node > most ? node : most;
        n_different += !seen[node];
        seen[node] = true;
    }
    free(seen);
    return is_dense && n_different > 1 && n_different == most + 1 &&
           g->n_npus > n_different;
}

/* The layer of a device; MOST_LAYERS if there are too many. */
static uint32_t find_layer(draft *d, uint32_t tier, int kind, uint32_t device)
{
    for (uint32_t i = 0; i < d->n_layers; i++)
        if (d->keys[i].tier == tier && d->keys[i].kind == kind)
            return i;
    if (d->n_layers == MOST_LAYERS)
        return MOST_LAYERS;
    d->keys[d->n_layers] = (layer_key){tier, kind, device, 0};
    return d->n_layers++;
}

static int compare_keys(const void *a, const void *b)
{
    const layer_key *x = a, *y = b;
    if (x->tier != y->tier)
        return x->tier < y->tier ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

static uint32_t get_tier(const draft *d, uint32_t device)
{
    return is_in_node(d, device) ? 0 : hw_graph_group(d->g, device)->tier;
}

static int get_kind(const draft *d, uint32_t device)
{
    return is_in_node(d, device) ? NODE_KIND : (int)d->g->dev_kind[device];
}

static halley_status assign_layers(draft *d, halley_error *err)
{
    const hw_graph *g = d->g;
    for (uint32_t i = 0; i < g->n_devices; i++)
        if (find_layer(d, get_tier(d, i), get_kind(d, i), i) == MOST_LAYERS)
            return error_set(err, HALLEY_ELIMIT,
                             "the network has more than %d tiers; it cannot be drawn",
                             MOST_LAYERS);
    qsort(d->keys, d->n_layers, sizeof *d->keys, compare_keys);
    for (uint32_t i = 0; i < g->n_devices; i++) {
        const uint32_t layer = find_layer(d, get_tier(d, i), get_kind(d, i), i);
        layer_key *key = &d->keys[layer];
        d->layer[i] = layer;
        d->thing[i] = is_in_node(d, i) ? g->dev_node[i] : key->n;
        key->n = d->thing[i] >= key->n ? d->thing[i] + 1 : key->n;
    }
    return HALLEY_OK;
}

/*
 * The rail of a network switch is r if all devices of nodes that it is cabled to have
 * index r in their nodes. (For planes, the generator states the plane.)
 */
static uint32_t find_rail(const draft *d, uint32_t device)
{
    const hw_graph *g = d->g;
    uint32_t rail = HW_NONE;
    for (uint32_t i = g->dev_first[device]; i < g->dev_first[device + 1]; i++) {
        const uint32_t other = g->link_to[g->adj_link[i]];
        const hw_device_group *group = hw_graph_group(g, other);
        if (g->dev_node[other] == HW_NONE || group->per_node < 2)
            continue;
        const uint32_t place = (other - group->first) % group->per_node;
        if (rail != HW_NONE && rail != place)
            return HW_NONE;
        rail = place;
    }
    return rail;
}

static void find_rails(draft *d)
{
    const hw_graph *g = d->g;
    uint32_t planes = 0, rails = 0, n_different = 0, last = HW_NONE;
    for (uint32_t i = 0; i < g->n_groups; i++)
        planes = g->groups[i].plane + 1 > planes ? g->groups[i].plane + 1 : planes;
    for (uint32_t i = 0; i < g->n_devices; i++) {
        const bool is_network =
            g->dev_kind[i] == HW_DEVICE_SWITCH && g->dev_node[i] == HW_NONE;
        d->rail[i] = !is_network  ? HW_NONE
                     : planes > 1 ? hw_graph_group(g, i)->plane
                                  : find_rail(d, i);
        if (d->rail[i] == HW_NONE)
            continue;
        rails = d->rail[i] + 1 > rails ? d->rail[i] + 1 : rails;
        n_different += d->rail[i] != last;
        last = d->rail[i];
    }
    d->out->rail_kind = planes > 1 ? "plane" : "rail";
    d->out->n_rails = n_different > 1 ? rails : 0;
}

static int compare_things(const void *a, const void *b)
{
    const thing *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return (x->device > y->device) - (x->device < y->device);
}

/* Mean place, from 0 to 1, of the devices in lower layers that a device is cabled to. */
static double find_place(const draft *d, uint32_t device)
{
    const hw_graph *g = d->g;
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = g->dev_first[device]; i < g->dev_first[device + 1]; i++) {
        const uint32_t other = g->link_to[g->adj_link[i]], below = d->layer[other];
        if (below >= d->layer[device])
            continue;
        sum += (d->place[other] + 0.5) / d->keys[below].n;
        n++;
    }
    /* Rounded, so that sums in a different order give the same place. */
    return n > 0 ? round(sum / n * 1e9) : 2e9;
}

static halley_status order_layer(draft *d, uint32_t layer, halley_error *err)
{
    const hw_graph *g = d->g;
    const uint32_t n = d->keys[layer].n;
    thing *things = mem_array_zero(n, sizeof *things);
    uint32_t *rank = mem_array_zero(n, sizeof *rank);
    const bool ok = things != NULL && rank != NULL;
    for (uint32_t i = g->n_devices; ok && i-- > 0;)
        if (d->layer[i] == layer)
            things[d->thing[i]] = (thing){layer == 0 ? d->thing[i] : find_place(d, i), i};
    if (ok)
        qsort(things, n, sizeof *things, compare_things);
    for (uint32_t i = 0; ok && i < n; i++)
        rank[d->thing[things[i].device]] = i;
    for (uint32_t i = 0; ok && i < g->n_devices; i++)
        if (d->layer[i] == layer)
            d->place[i] = rank[d->thing[i]];
    free(things);
    free(rank);
    return ok ? HALLEY_OK : error_nomem(err);
}

/* The number of things per box: a divisor of n, if one keeps at least half of the
 * boxes. */
static uint32_t choose_per_box(uint32_t n, uint32_t most)
{
    const uint32_t least = (n + most - 1) / most;
    for (uint32_t per = least; per <= 2 * least && per <= n; per++)
        if (n % per == 0)
            return per;
    return least > 0 ? least : 1;
}

static const char *name_layer(const draft *d, uint32_t layer)
{
    const layer_key *key = &d->keys[layer];
    if (key->kind == NODE_KIND)
        return "node";
    if (d->g->names != NULL) /* imported: devices have their own names */
        return hw_device_kind_name((hw_device_kind)key->kind);
    return hw_graph_group(d->g, key->first_device)->name;
}

static const char *name_kind(int kind)
{
    return kind == NODE_KIND ? "node" : hw_device_kind_name((hw_device_kind)kind);
}

static bool add_layer_boxes(draft *d, uint32_t layer, uint32_t per_box)
{
    const layer_key *key = &d->keys[layer];
    const uint32_t first = (uint32_t)d->boxes.n;
    const uint32_t n = (key->n + per_box - 1) / per_box;
    halley_topology_layer row = {
        .n = key->n, .per_box = per_box, .first_box = first, .n_boxes = n};
    snprintf(row.name, sizeof row.name, "%s", name_layer(d, layer));
    if (!array_push(&d->layers, row))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!array_push(&d->boxes, (halley_topology_box){.kind = name_kind(key->kind),
                                                         .layer = layer,
                                                         .rail = HW_NONE,
                                                         .x = i,
                                                         .y = layer}))
            return false;
    return true;
}

/* Assign devices to boxes; a box is named after the first thing in it. */
static void fill_layer_boxes(draft *d)
{
    const hw_graph *g = d->g;
    for (uint32_t i = 0; i < g->n_devices; i++) {
        const halley_topology_layer *row = &d->layers.at[d->layer[i]];
        const uint32_t at = d->place[i] / row->per_box;
        assert(at < row->n_boxes);
        halley_topology_box *box = &d->boxes.at[row->first_box + at];
        d->box[i] = row->first_box + at;
        box->n = at + 1 < row->n_boxes ? row->per_box : row->n - at * row->per_box;
        box->npus += i < g->n_npus;
        box->rail = row->per_box == 1 ? d->rail[i] : HW_NONE;
        if (d->place[i] % row->per_box != 0)
            continue;
        if (is_in_node(d, i))
            snprintf(box->name, sizeof box->name, "node%u", g->dev_node[i]);
        else
            hw_graph_name(g, i, box->name, sizeof box->name);
    }
}

static bool is_direct(const hw_graph *g)
{
    return g->n_switches == 0 && g->n_devices == g->n_npus && g->n_npus > 0;
}

/* The last dimensions of a grid are inside its boxes. */
static bool add_grid(draft *d, uint32_t most)
{
    const hw_graph *g = d->g;
    const uint32_t side = most / 2 > 0 ? most / 2 : 1;
    const uint32_t px = choose_per_box(g->dims[0], side);
    const uint32_t py = choose_per_box(g->dims[1], side);
    const uint32_t nx = (g->dims[0] + px - 1) / px, ny = (g->dims[1] + py - 1) / py;
    const uint32_t per_box = g->n_npus / (nx * ny);
    halley_topology_layer row = {
        .n = g->n_npus, .per_box = per_box > 0 ? per_box : 1, .n_boxes = nx * ny};
    snprintf(row.name, sizeof row.name, "npu");
    if (!array_push(&d->layers, row))
        return false;
    for (uint32_t i = 0; i < nx * ny; i++)
        if (!array_push(&d->boxes,
                        (halley_topology_box){
                            .kind = "npu", .rail = HW_NONE, .x = i % nx, .y = i / nx}))
            return false;
    for (uint32_t i = g->n_npus; i-- > 0;) {
        const uint32_t x = i % g->dims[0] / px, y = i / g->dims[0] % g->dims[1] / py;
        halley_topology_box *box = &d->boxes.at[y * nx + x];
        d->box[i] = y * nx + x;
        box->n++;
        box->npus++;
        hw_graph_name(g, i, box->name, sizeof box->name);
    }
    return true;
}

static halley_status add_boxes(draft *d, halley_error *err)
{
    const uint32_t most = d->o->boxes == 0           ? DEFAULT_BOXES
                          : d->o->boxes > MOST_BOXES ? MOST_BOXES
                                                     : d->o->boxes;
    const bool is_grid =
        is_direct(d->g) && d->g->n_dims >= 2 && d->g->dims[0] > 1 && d->g->dims[1] > 1;
    d->out->layout = is_grid ? "grid" : is_direct(d->g) ? "circle" : "layers";
    if (is_grid)
        return add_grid(d, most) ? HALLEY_OK : error_nomem(err);
    TRY(assign_layers(d, err));
    for (uint32_t i = 0; i < d->n_layers; i++)
        TRY(order_layer(d, i, err));
    for (uint32_t i = 0; i < d->n_layers; i++)
        if (!add_layer_boxes(d, i, choose_per_box(d->keys[i].n, most)))
            return error_nomem(err);
    fill_layer_boxes(d);
    return HALLEY_OK;
}

/* A cable has the rail of the switch at one of its ends. */
static bool is_on_rail(const draft *d, uint32_t link)
{
    const uint32_t a = d->rail[d->g->link_from[link]], b = d->rail[d->g->link_to[link]];
    return d->out->n_rails > 0 && (a == d->o->rail || b == d->o->rail);
}

static void count_cable(draft *d, halley_topology_line *line, uint32_t link)
{
    const double bw_Bps = d->g->link_Bps[link];
    line->cables++;
    line->rail_cables += is_on_rail(d, link);
    line->one_way &= link >= 2 * d->g->n_cables;
    line->bw_Bps = bw_Bps == HW_UNKNOWN || line->bw_Bps < 0 ? -1 : line->bw_Bps + bw_Bps;
}

static int compare_lines(const void *a, const void *b)
{
    const halley_topology_line *x = a, *y = b;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static halley_status add_lines(draft *d, halley_error *err)
{
    const hw_graph *g = d->g;
    map64 seen = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < g->n_links; i += i < 2 * g->n_cables ? 2 : 1) {
        const uint32_t p = d->box[g->link_from[i]], q = d->box[g->link_to[i]];
        const uint32_t a = p < q ? p : q, b = p < q ? q : p;
        uint32_t at = (uint32_t)d->lines.n;
        bool fresh = false;
        const uint32_t node = g->dev_node[g->link_from[i]];
        d->out->node_cables += node != HW_NONE && node == g->dev_node[g->link_to[i]];
        if (a == b) {
            d->out->inside_cables++;
            continue;
        }
        ok = map64_put(&seen, (uint64_t)a << 32 | b, &at, &fresh) &&
             (!fresh || array_push(&d->lines, (halley_topology_line){
                                                  .a = a, .b = b, .one_way = true}));
        if (ok)
            count_cable(d, &d->lines.at[at], i);
    }
    map64_fini(&seen);
    if (ok && d->lines.n > 1)
        qsort(d->lines.at, d->lines.n, sizeof *d->lines.at, compare_lines);
    return ok ? HALLEY_OK : error_nomem(err);
}

static void add_stop(draft *d, uint32_t device)
{
    halley_topology_stop *stop = &d->out->path[d->out->n_path++];
    stop->device = device;
    stop->box = d->box[device];
    hw_graph_name(d->g, device, stop->name, sizeof stop->name);
}

static halley_status write_path(draft *d, const hw_route *route, halley_error *err)
{
    const hw_graph *g = d->g;
    assert(route->is_path);
    d->out->path = mem_array_zero(route->n + 1, sizeof *d->out->path);
    if (d->out->path == NULL)
        return error_nomem(err);
    d->out->path_latency_s = route->latency_s;
    d->out->path_Bps = INFINITY;
    add_stop(d, d->o->from);
    for (uint32_t i = 0; i < route->n; i++) {
        const uint32_t link = route->hops[i].link;
        add_stop(d, g->link_to[link]);
        if (g->link_latency_s[link] == HW_UNKNOWN)
            d->out->path_latency_s = -1;
        if (g->link_Bps[link] == HW_UNKNOWN || d->out->path_Bps < 0)
            d->out->path_Bps = -1;
        else
            d->out->path_Bps = fmin(d->out->path_Bps, g->link_Bps[link]);
    }
    if (route->n == 0)
        d->out->path_Bps = -1;
    return HALLEY_OK;
}

/* Find one shortest path. That none exists is a valid result. */
static halley_status find_path(draft *d, halley_error *err)
{
    const uint32_t n = d->g->n_npus;
    const hw_route_options how = {.routing = HW_ROUTING_SHORTEST, .no_pxn = d->o->no_pxn};
    hw_router *router;
    hw_route route;
    halley_error why = {0};
    if (d->o->from >= n || d->o->to >= n)
        return error_set(err, HALLEY_EINVAL,
                         "a path needs two NPUs of 0 to %u; asked for is %u to %u",
                         n > 0 ? n - 1 : 0, d->o->from, d->o->to);
    TRY(hw_router_new(&router, d->g, &how, err));
    halley_status status = hw_router_find(&route, router, d->o->from, d->o->to, 0, &why);
    if (status == HALLEY_OK)
        status = write_path(d, &route, err);
    else if (status == HALLEY_EINVAL) {
        snprintf(d->out->no_path, sizeof d->out->no_path, "%.255s", why.text);
        status = HALLEY_OK;
    } else if (err != NULL)
        *err = why;
    hw_router_free(router);
    return status;
}

static bool init_draft(draft *d)
{
    const size_t n = d->g->n_devices;
    d->layer = mem_array_zero(n, sizeof *d->layer);
    d->thing = mem_array_zero(n, sizeof *d->thing);
    d->place = mem_array_zero(n, sizeof *d->place);
    d->rail = mem_array_zero(n, sizeof *d->rail);
    d->box = mem_array_zero(n, sizeof *d->box);
    return d->layer != NULL && d->thing != NULL && d->place != NULL && d->rail != NULL &&
           d->box != NULL;
}

static halley_status make_drawing(draft *d, halley_error *err)
{
    if (!init_draft(d))
        return error_nomem(err);
    d->has_nodes = has_several_nodes(d->g);
    find_rails(d);
    TRY(add_boxes(d, err));
    TRY(add_lines(d, err));
    return d->o->with_path ? find_path(d, err) : HALLEY_OK;
}

/* Transfer ownership of the result to the drawing. */
static void finish_draft(draft *d)
{
    d->out->layers = d->layers.at;
    d->out->boxes = d->boxes.at;
    d->out->lines = d->lines.at;
    d->out->n_layers = (uint32_t)d->layers.n;
    d->out->n_boxes = (uint32_t)d->boxes.n;
    d->out->n_lines = (uint32_t)d->lines.n;
    free(d->layer);
    free(d->thing);
    free(d->place);
    free(d->rail);
    free(d->box);
}

halley_status halley_topology_draw(halley_topology_drawing **out,
                                   const halley_topology *topology,
                                   const halley_topology_drawing_options *options,
                                   halley_error *err)
{
    halley_topology_drawing *drawing = mem_array_zero(1, sizeof *drawing);
    if (drawing == NULL)
        return error_nomem(err);
    drawing->size = sizeof *drawing;
    draft d = {.g = topology->graph, .o = options, .out = drawing};
    const halley_status status = make_drawing(&d, err);
    finish_draft(&d);
    if (status == HALLEY_OK)
        *out = drawing;
    else
        halley_topology_drawing_free(drawing);
    return status;
}

void halley_topology_drawing_free(halley_topology_drawing *drawing)
{
    if (drawing == NULL)
        return;
    free(drawing->layers);
    free(drawing->boxes);
    free(drawing->lines);
    free(drawing->path);
    free(drawing);
}
