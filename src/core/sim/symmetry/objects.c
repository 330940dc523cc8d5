/*
 * sim/symmetry/objects.c - builds the graph of ranks, groups, channels and links of a
 * run.
 *
 * A channel is a pair of sender and receiver. Its colour contains the places of its tags
 * on both sides, so that the numbers of tags do not matter. A carrier's shapes are the
 * distinct sets of links that its collectives use. Its colour contains the time of every
 * collective.
 */
#include "sim/symmetry/objects.h"

#include <stdio.h>

static bool uses_world(const sim_symmetry *y, const sim *s, uint32_t rank)
{
    const uint32_t p = s->instance.program_of[rank];
    return y->programs[p].sums[s->instance.programs.at[p]->n_names] != 0;
}

/* List the carriers: groups that ranks name, all ranks, channels. */
static halley_status list_groups(sim_symmetry *y, const sim *s)
{
    const sim_instance *in = &s->instance;
    bool world = false;
    y->carrier_of = mem_array(in->n_groups, sizeof *y->carrier_of);
    if (y->carrier_of == NULL)
        return error_nomem(s->err);
    for (uint32_t g = 0; g < in->n_groups; g++)
        y->carrier_of[g] = SYMMETRY_NONE;
    y->world = SYMMETRY_NONE;
    for (uint32_t r = 0; r < in->n; r++) {
        const sim_program *p = sim_symmetry_program(s, r);
        world = world || uses_world(y, s, r);
        for (uint32_t k = 0; k < p->n_names; k++) {
            const uint32_t g = in->values[r][k];
            if (p->names[k].kind != SIM_NAME_GROUP || y->carrier_of[g] != SYMMETRY_NONE)
                continue;
            assert(g < in->n_groups);
            y->carrier_of[g] = (uint32_t)y->groups.n;
            if (!array_push(&y->groups, g + 1))
                return error_nomem(s->err);
        }
    }
    if (world) {
        y->world = (uint32_t)y->groups.n;
        if (!array_push(&y->groups, 0))
            return error_nomem(s->err);
    }
    y->n_groups = (uint32_t)y->groups.n;
    return HALLEY_OK;
}

/* Find or make the carrier of a pair. SYMMETRY_NONE: no memory. */
static uint32_t get_channel(sim_symmetry *y, uint32_t from, uint32_t to)
{
    assert(from < y->graph.n_ranks && to < y->graph.n_ranks);
    uint32_t id = (uint32_t)y->channels.n;
    bool fresh;
    if (!map64_put(&y->channels_by_pair, (uint64_t)from << 32 | to, &id, &fresh) ||
        (fresh && !array_push(&y->channels, (sim_pair){from, to})))
        return SYMMETRY_NONE;
    return y->n_groups + id;
}

static halley_status bind_slot(uint32_t *out, sim_symmetry *y, const sim *s,
                               uint32_t rank, uint32_t name)
{
    assert(name < sim_symmetry_program(s, rank)->n_names);
    const sim_program *p = sim_symmetry_program(s, rank);
    const uint32_t value = s->instance.values[rank][name];
    *out = SYMMETRY_NONE;
    switch (p->names[name].kind) {
    case SIM_NAME_GROUP:
        *out = y->carrier_of[value];
        return HALLEY_OK;
    case SIM_NAME_OUT:
        *out = get_channel(y, rank, value);
        break;
    case SIM_NAME_IN:
        *out = get_channel(y, value, rank);
        break;
    default:
        return HALLEY_OK;
    }
    return *out == SYMMETRY_NONE ? error_nomem(s->err) : HALLEY_OK;
}

static bool uses_memory(const sim_program *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (sim_symmetry_is_simulated(&p->nodes[i]) &&
            sim_symmetry_is_memory(&p->nodes[i]))
            return true;
    return false;
}

/* List shared memories as the last carriers. The last slot of a rank is its memory. */
static halley_status list_servers(sim_symmetry *y, const sim *s)
{
    symmetry_graph *g = &y->graph;
    const uint32_t n = s->memory.n_servers;
    y->first_server = g->n_carriers;
    if (n == 0)
        return HALLEY_OK;
    bool *uses = mem_array(s->instance.programs.n, sizeof *uses);
    uint32_t *carriers = mem_array(n, sizeof *carriers);
    y->server_of = mem_array(n, sizeof *y->server_of);
    const bool room = uses != NULL && carriers != NULL && y->server_of != NULL;
    for (size_t i = 0; room && i < s->instance.programs.n; i++)
        uses[i] = uses_memory(s->instance.programs.at[i]);
    for (uint32_t i = 0; room && i < n; i++)
        carriers[i] = SYMMETRY_NONE;
    for (uint32_t r = 0; room && r < g->n_ranks; r++) {
        const uint32_t server = mem_server_of(&s->memory, r);
        if (!uses[s->instance.program_of[r]])
            continue;
        assert(server < n);
        if (carriers[server] == SYMMETRY_NONE) {
            y->server_of[g->n_carriers - y->first_server] = server;
            carriers[server] = g->n_carriers++;
        }
        g->slots[g->slots_at[r + 1] - 1] = carriers[server];
    }
    free(uses);
    free(carriers);
    return room ? HALLEY_OK : error_nomem(s->err);
}

static halley_status list_slots(sim_symmetry *y, const sim *s)
{
    symmetry_graph *g = &y->graph;
    uint64_t n = 0;
    g->slots_at = mem_array((size_t)g->n_ranks + 1, sizeof *g->slots_at);
    if (g->slots_at == NULL)
        return error_nomem(s->err);
    for (uint32_t r = 0; r < g->n_ranks; r++) {
        g->slots_at[r] = (uint32_t)n;
        n += sim_symmetry_program(s, r)->n_names + 2u;
    }
    g->slots_at[g->n_ranks] = (uint32_t)n;
    if (n > UINT32_MAX)
        return error_set(s->err, HALLEY_ELIMIT, "ranks have more than 2^32 names");
    g->slots = mem_array((size_t)n, sizeof *g->slots);
    if (g->slots == NULL)
        return error_nomem(s->err);
    for (uint32_t r = 0; r < g->n_ranks; r++) {
        const uint32_t n_names = sim_symmetry_program(s, r)->n_names;
        uint32_t *slots = g->slots + g->slots_at[r];
        for (uint32_t k = 0; k < n_names; k++)
            TRY(bind_slot(&slots[k], y, s, r, k));
        slots[n_names] = uses_world(y, s, r) ? y->world : SYMMETRY_NONE;
        slots[n_names + 1] = SYMMETRY_NONE;
    }
    g->n_carriers = y->n_groups + (uint32_t)y->channels.n;
    map64_fini(&y->channels_by_pair); /* they are all known */
    return list_servers(y, s);
}

/* List every member of a group in its place; for a channel the sender, then the receiver.
 */
static halley_status list_members(sim_symmetry *y, const sim *s)
{
    symmetry_graph *g = &y->graph;
    g->members_at = mem_array((size_t)g->n_carriers + 1, sizeof *g->members_at);
    if (g->members_at == NULL)
        return error_nomem(s->err);
    uint64_t n = 0;
    for (uint32_t c = 0; c < g->n_carriers; c++) {
        g->members_at[c] = (uint32_t)n;
        n += c < y->n_groups                ? sim_symmetry_group_size(s, y, c)
             : sim_symmetry_is_server(y, c) ? s->memory.npus_per_server
                                            : 2;
    }
    if (n > UINT32_MAX)
        return error_set(s->err, HALLEY_ELIMIT, "groups have more than 2^32 members");
    g->members_at[g->n_carriers] = (uint32_t)n;
    g->members = mem_array((size_t)n, sizeof *g->members);
    if (g->members == NULL)
        return error_nomem(s->err);
    for (size_t i = 0; i < n; i++)
        g->members[i] = (symmetry_member){SYMMETRY_NONE, SYMMETRY_NONE};
    return HALLEY_OK;
}

/* Put a rank into the members of the carrier that one of its names refers to. */
static bool place_member(sim_symmetry *y, const sim *s, uint32_t rank, uint32_t name)
{
    symmetry_graph *g = &y->graph;
    const uint32_t carrier = g->slots[g->slots_at[rank] + name];
    if (carrier == SYMMETRY_NONE)
        return true;
    uint32_t place, label = name;
    assert(carrier < g->n_carriers);
    if (sim_symmetry_is_server(y, carrier)) {
        place = rank % s->memory.npus_per_server;
        label = SIM_SERVER_LABEL(place);
    } else if (carrier >= y->n_groups) {
        place = y->channels.at[carrier - y->n_groups].from != rank;
        label |= place << 31;
    } else {
        const uint32_t group = y->groups.at[carrier];
        place = group == 0 ? rank : sim_instance_name_place(&s->instance, rank, name);
    }
    if (place == SIM_NONE)
        return false;
    assert(g->members_at[carrier] + place < g->members_at[carrier + 1]);
    g->members[g->members_at[carrier] + place] = (symmetry_member){rank, label};
    return true;
}

static uint64_t get_call_sum(const sim *s, const sim_symmetry *y,
                             const symmetry_member *m)
{
    return y->programs[s->instance.program_of[m->rank]].sums[m->label];
}

/* Check that all members of a group call the same collectives. If not, the run is not
 * folded, and will report who does not. */
static bool check_group_calls(sim_symmetry *y, const sim *s, uint32_t carrier)
{
    const symmetry_graph *g = &y->graph;
    const symmetry_member *first = &g->members[g->members_at[carrier]];
    for (uint32_t i = g->members_at[carrier]; i < g->members_at[carrier + 1]; i++) {
        const symmetry_member *m = &g->members[i];
        if (m->rank != SYMMETRY_NONE && first->rank != SYMMETRY_NONE &&
            get_call_sum(s, y, m) == get_call_sum(s, y, first))
            continue;
        snprintf(y->reason, sizeof y->reason,
                 "members of a group do not call the same collectives");
        return false;
    }
    return true;
}

/* Remove unused places: of channels with one side missing, and of memories. */
static void close_gaps(sim_symmetry *y)
{
    symmetry_graph *g = &y->graph;
    uint32_t to = g->members_at[y->n_groups];
    for (uint32_t c = y->n_groups; c < g->n_carriers; c++) {
        const uint32_t from = g->members_at[c], end = g->members_at[c + 1];
        assert(to <= from && from <= end); /* members only move to the front */
        g->members_at[c] = to;
        for (uint32_t i = from; i < end; i++)
            if (g->members[i].rank != SYMMETRY_NONE)
                g->members[to++] = g->members[i];
    }
    g->members_at[g->n_carriers] = to;
}

static halley_status fill_members(sim_symmetry *y, const sim *s)
{
    for (uint32_t r = 0; r < y->graph.n_ranks; r++)
        for (uint32_t k = 0; k < sim_symmetry_program(s, r)->n_names + 2; k++)
            if (!place_member(y, s, r, k)) {
                snprintf(y->reason, sizeof y->reason,
                         "rank %u is not a member of a group it names", r);
                return HALLEY_OK;
            }
    for (uint32_t c = 0; c < y->n_groups && y->reason[0] == 0; c++)
        check_group_calls(y, s, c);
    close_gaps(y);
    return HALLEY_OK;
}

static halley_status find_objects(sim_symmetry *y, sim *s)
{
    y->graph.n_ranks = s->instance.n;
    TRY(sim_symmetry_read_calls(y, s));
    TRY(list_groups(y, s));
    TRY(list_slots(y, s));
    TRY(list_members(y, s));
    TRY(fill_members(y, s));
    if (y->reason[0] != 0)
        return HALLEY_OK;
    TRY(sim_symmetry_colour_ranks(y, s));
    TRY(sim_symmetry_colour_carriers(y, s));
    return sim_symmetry_add_shapes(y, s);
}

halley_status sim_symmetry_new(sim_symmetry **out, sim *s)
{
    sim_symmetry *y = calloc(1, sizeof *y);
    halley_status status = y == NULL ? error_nomem(s->err) : find_objects(y, s);
    if (status == HALLEY_OK && y->reason[0] == 0)
        status = symmetry_refine(&y->partition, &y->graph, SYMMETRY_WHOLE, s->err);
    if (status == HALLEY_OK && y->reason[0] == 0 &&
        y->partition.ranks.n == y->graph.n_ranks)
        snprintf(y->reason, sizeof y->reason, "no two ranks are alike");
    if (status == HALLEY_OK && y->reason[0] == 0)
        status = symmetry_check(&y->loads, &y->graph, &y->partition, s->err);
    if (status != HALLEY_OK)
        sim_symmetry_free(y);
    else
        *out = y;
    return status;
}

void sim_symmetry_free(sim_symmetry *y)
{
    if (y == NULL)
        return;
    for (uint32_t i = 0; y->programs != NULL && i < y->n_programs; i++) {
        array_fini(&y->programs[i].calls);
        free(y->programs[i].first);
        free(y->programs[i].sums);
    }
    free(y->programs);
    free(y->carrier_of);
    array_fini(&y->groups);
    array_fini(&y->channels);
    free(y->server_of);
    map64_fini(&y->channels_by_pair);
    map64_fini(&y->coefficients);
    free(y->links);
    symmetry_graph_fini(&y->graph);
    symmetry_partition_fini(&y->partition);
    symmetry_loads_fini(&y->loads);
    free(y);
}
