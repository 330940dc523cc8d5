/* sim/symmetry/shapes.c - the links that the calls of each carrier use, and the colours
 * of these links. */
#include "sim/symmetry/objects.h"

#include <stdio.h>

/* The index of a coefficient in the list of distinct ones; SYMMETRY_NONE: no memory. */
static uint32_t place_coefficient(sim_symmetry *y, uint64_t coefficient)
{
    uint32_t place = (uint32_t)y->graph.coefficients.n;
    bool fresh;
    if (!map64_put(&y->coefficients, coefficient, &place, &fresh) ||
        (fresh && !array_push(&y->graph.coefficients, coefficient)))
        return SYMMETRY_NONE;
    return place;
}

/* Find the shape of a call among the earlier ones of its carrier, or add it. */
static halley_status add_shape(sim_symmetry *y, sim *s, const net_bundle *b,
                               net_shape *shape, uint32_t *n_shapes)
{
    symmetry_graph *g = &y->graph;
    TRY(s->net->model->prepare_hops(shape, s->net, b));
    if (g->hop_links.n + shape->n_hops > UINT32_MAX)
        return error_set(s->err, HALLEY_ELIMIT,
                         "groups and channels use more than 2^32 links; use --no-fold, "
                         "or merge parallel links of the network");
    if (!array_reserve(&g->hop_links, shape->n_hops) ||
        !array_reserve(&g->hop_coefficients, shape->n_hops))
        return error_nomem(s->err);
    uint32_t place = SYMMETRY_NONE;
    for (uint32_t i = 0; i < shape->n_hops; i++) {
        const uint64_t coefficient = shape->hops[i].coefficient;
        if (place == SYMMETRY_NONE || g->coefficients.at[place] != coefficient)
            place = place_coefficient(y, coefficient);
        if (place == SYMMETRY_NONE)
            return error_nomem(s->err);
        if (place >= SYMMETRY_MOST_COEFFICIENTS) {
            snprintf(
                y->reason, sizeof y->reason,
                "collectives and messages put more than %d different shares on links",
                SYMMETRY_MOST_COEFFICIENTS);
            return HALLEY_OK;
        }
        g->hop_links.at[g->hop_links.n++] = shape->hops[i].link;
        assert(shape->hops[i].link < s->net->model->count_links(s->net));
        g->hop_coefficients.at[g->hop_coefficients.n++] = (uint16_t)place;
    }
    ++*n_shapes;
    return HALLEY_OK;
}

typedef struct known_shape {
    uint64_t key;
    uint32_t root;
    coll_kind kind;
} known_shape;
typedef ARRAY(known_shape) shape_list;
typedef ARRAY(uint32_t) hop_ends;

/* Add links and times of all calls of a carrier. */
static halley_status add_carrier(sim_symmetry *y, sim *s, uint32_t carrier,
                                 shape_list *known, hop_ends *ends)
{
    uint32_t n, pair[2], n_shapes = 0;
    const sim_call_kind *calls = sim_symmetry_calls(s, y, carrier, &n);
    uint64_t h = y->graph.carrier_colours[carrier];
    known->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        const net_bundle b = sim_symmetry_bundle(s, y, carrier, &calls[i], pair);
        net_shape shape;
        TRY(s->net->model->prepare(&shape, s->net, &b));
        uint32_t k = 0;
        while (k < known->n &&
               (known->at[k].key != shape.key || known->at[k].root != b.root ||
                known->at[k].kind != b.kind))
            k++;
        if (k == known->n) {
            TRY(add_shape(y, s, &b, &shape, &n_shapes));
            if (!array_push(known, (known_shape){shape.key, b.root, b.kind}) ||
                !array_push(ends, (uint32_t)y->graph.hop_links.n))
                return error_nomem(s->err);
            h = symmetry_mix_double(symmetry_mix_double(h, shape.payload),
                                    shape.payload_out);
        }
        h = symmetry_mix(symmetry_mix(h, k), shape.fixed_ticks);
        h = symmetry_mix_double(symmetry_mix_double(h, shape.volume_bytes),
                                shape.cap_Bps);
    }
    y->graph.carrier_colours[carrier] = h;
    y->graph.shapes_at[carrier + 1] = y->graph.shapes_at[carrier] + n_shapes;
    assert(y->graph.shapes_at[carrier + 1] + 1 == ends->n || y->reason[0] != 0);
    return HALLEY_OK;
}

static halley_status find_shapes(sim_symmetry *y, sim *s)
{
    symmetry_graph *g = &y->graph;
    shape_list known = {0};
    hop_ends ends = {0};
    g->shapes_at = mem_array_zero((size_t)g->n_carriers + 1, sizeof *g->shapes_at);
    halley_status status =
        g->shapes_at == NULL || !array_push(&ends, 0) ? error_nomem(s->err) : HALLEY_OK;
    for (uint32_t c = 0; status == HALLEY_OK && y->reason[0] == 0 && c < g->n_carriers;
         c++)
        status = add_carrier(y, s, c, &known, &ends);
    array_fini(&known);
    g->hops_at = ends.at;
    assert(g->hop_links.n == g->hop_coefficients.n);
    return status;
}

/* Renumber the links that carriers use, keeping their order. */
static halley_status number_links(sim_symmetry *y, const sim *s)
{
    symmetry_graph *g = &y->graph;
    const uint32_t n = s->net->model->count_links(s->net);
    uint32_t *number = mem_array_zero(n, sizeof *number);
    if (number == NULL)
        return error_nomem(s->err);
    for (size_t h = 0; h < g->hop_links.n; h++)
        number[g->hop_links.at[h]] = 1;
    for (uint32_t i = 0; i < n; i++)
        number[i] = number[i] == 0 ? SYMMETRY_NONE : g->n_links++;
    for (size_t h = 0; h < g->hop_links.n; h++)
        g->hop_links.at[h] = number[g->hop_links.at[h]];
    y->links = mem_array(g->n_links, sizeof *y->links);
    assert(g->n_links <= n);
    for (uint32_t i = 0; y->links != NULL && i < n; i++)
        if (number[i] != SYMMETRY_NONE)
            y->links[number[i]] = i;
    free(number);
    return y->links == NULL ? error_nomem(s->err) : HALLEY_OK;
}

static halley_status colour_links(sim_symmetry *y, const sim *s)
{
    symmetry_graph *g = &y->graph;
    TRY(number_links(y, s));
    g->link_colours = mem_array(g->n_links, sizeof *g->link_colours);
    if (g->link_colours == NULL)
        return error_nomem(s->err);
    for (uint32_t i = 0; i < g->n_links; i++)
        g->link_colours[i] = s->net->model->colour_link(s->net, y->links[i]);
    return HALLEY_OK;
}

halley_status sim_symmetry_add_shapes(sim_symmetry *y, sim *s)
{
    TRY(find_shapes(y, s));
    return y->reason[0] == 0 ? colour_links(y, s) : HALLEY_OK;
}
