/*
 * sim/symmetry/quotient.c - the run of one rank per class. It is an ordinary run whose
 * ranks, groups and channels are the classes.
 *
 * A group of the run represents all groups of its class. Its members are the distinct
 * pairs of a class of ranks and the name under which that class knows the group. When one
 * rank of the class arrives, all of them arrive. A channel of the run is the first of its
 * class, whoever sends on it, so its two ends are enough to match messages with receives.
 */
#include "sim/symmetry/symmetry.h"

#include <stddef.h>
#include <string.h>

typedef struct binder {
    sim *s;
    const sim_symmetry *y;
    sim_bind **binds;   /* by class of ranks */
    uint32_t *group_of; /* by class of carriers: group of the run + 1; 0 = none */
} binder;

static uint32_t get_class(const binder *b, uint32_t rank)
{
    return b->y->partition.ranks.of[rank];
}

static uint32_t get_first_rank(const binder *b, uint32_t class_id)
{
    return b->y->partition.ranks.first[class_id];
}

static void *new_array(binder *b, size_t n, size_t size)
{
    return arena_array(&b->s->memory_of_run, n, size);
}

static uint64_t key_member(const binder *b, const symmetry_member *m)
{
    return (uint64_t)m->label << 32 | get_class(b, m->rank);
}

/* Number the distinct members of a carrier in the order of first occurrence. */
static halley_status number_members(map64 *places, const binder *b, uint32_t carrier)
{
    const symmetry_graph *g = &b->y->graph;
    for (uint32_t i = g->members_at[carrier]; i < g->members_at[carrier + 1]; i++) {
        uint32_t place = (uint32_t)places->n;
        bool fresh;
        if (!map64_put(places, key_member(b, &g->members[i]), &place, &fresh))
            return error_nomem(b->s->err);
    }
    return HALLEY_OK;
}

static halley_status fill_group(binder *b, sim_group *to, uint32_t carrier,
                                const map64 *places)
{
    const symmetry_graph *g = &b->y->graph;
    uint32_t *ranks = new_array(b, places->n, sizeof *ranks);
    uint32_t *npus = new_array(b, places->n, sizeof *npus);
    uint32_t *n_alike = new_array(b, places->n, sizeof *n_alike);
    if (ranks == NULL || npus == NULL || n_alike == NULL)
        return error_nomem(b->s->err);
    for (uint32_t i = g->members_at[carrier]; i < g->members_at[carrier + 1]; i++) {
        const symmetry_member *m = &g->members[i];
        const uint32_t place = map64_find(places, key_member(b, m));
        assert(place < places->n);
        if (n_alike[place]++ == 0) {
            ranks[place] = get_class(b, m->rank);
            npus[place] = m->rank;
        }
    }
    to->n = (uint32_t)places->n;
    to->ranks = ranks;
    to->npus = npus;
    to->n_alike = n_alike;
    return HALLEY_OK;
}

/* Bind the names under which the members know the group, and its roots as they see them.
 */
static void bind_group(binder *b, uint32_t group, uint32_t carrier, const map64 *places)
{
    const sim_symmetry *y = b->y;
    const sim_instance *in = &b->s->instance;
    const symmetry_graph *g = &y->graph;
    for (uint32_t i = g->members_at[carrier]; i < g->members_at[carrier + 1]; i++) {
        const symmetry_member *m = &g->members[i];
        const uint32_t class_id = get_class(b, m->rank);
        const sim_program *p = in->programs.at[in->program_of[m->rank]];
        sim_bind *binds = b->binds[class_id];
        binds[m->label] = (sim_bind){group + 1, map64_find(places, key_member(b, m))};
        for (uint32_t k = 0; k < p->n_names; k++) {
            if (p->names[k].kind != SIM_NAME_ROOT || p->names[k].of != m->label)
                continue;
            const uint32_t place =
                sim_instance_place(in, y->groups.at[carrier] - 1, in->values[m->rank][k]);
            binds[k].object =
                place == SIM_NONE
                    ? SIM_NONE
                    : map64_find(
                          places,
                          key_member(b, &g->members[g->members_at[carrier] + place]));
        }
    }
}

static halley_status make_group(binder *b, uint32_t group, uint32_t class_id)
{
    const sim_symmetry *y = b->y;
    const uint32_t carrier = y->partition.carriers.first[class_id];
    const cluster_group *of = &b->s->instance.groups[y->groups.at[carrier] - 1];
    sim_group *to = &b->s->groups[group];
    map64 places = {0};
    *to = (sim_group){.id = of->id,
                      .n_members = of->n,
                      .members = of->ranks,
                      .n_groups = y->partition.carriers.counts[class_id],
                      .class_id = class_id};
    halley_status status = number_members(&places, b, carrier);
    if (status == HALLEY_OK)
        status = fill_group(b, to, carrier, &places);
    if (status == HALLEY_OK)
        bind_group(b, group, carrier, &places);
    map64_fini(&places);
    return status;
}

static bool is_group_class(const sim_symmetry *y, uint32_t class_id)
{
    const uint32_t first = y->partition.carriers.first[class_id];
    return first < y->n_groups && y->groups.at[first] != 0;
}

static halley_status make_groups(binder *b)
{
    const symmetry_classes *c = &b->y->partition.carriers;
    sim *s = b->s;
    s->n_groups = 0;
    b->group_of = new_array(b, c->n, sizeof *b->group_of);
    if (b->group_of == NULL)
        return error_nomem(s->err);
    for (uint32_t k = 0; k < c->n; k++)
        if (is_group_class(b->y, k))
            b->group_of[k] = ++s->n_groups;
    s->groups = new_array(b, s->n_groups, sizeof *s->groups);
    if (s->groups == NULL)
        return error_nomem(s->err);
    for (uint32_t k = 0; k < c->n; k++)
        if (b->group_of[k] != 0)
            TRY(make_group(b, b->group_of[k] - 1, k));
    return HALLEY_OK;
}

static void bind_channels(binder *b)
{
    const sim_symmetry *y = b->y;
    const symmetry_graph *g = &y->graph;
    for (uint32_t k = 0; k < y->partition.carriers.n; k++) {
        const uint32_t carrier = y->partition.carriers.first[k];
        if (carrier < y->n_groups || sim_symmetry_is_server(y, carrier))
            continue;
        const sim_pair *pair = &y->channels.at[carrier - y->n_groups];
        for (uint32_t i = g->members_at[carrier]; i < g->members_at[carrier + 1]; i++) {
            const symmetry_member *m = &g->members[i];
            const bool receives = m->label >> 31 != 0;
            b->binds[get_class(b, m->rank)][m->label & INT32_MAX] =
                receives ? (sim_bind){pair->from, pair->to}
                         : (sim_bind){pair->to, pair->from};
        }
    }
}

/* Bind names that refer to no carrier: roots of all ranks, the rank itself. */
static void bind_others(binder *b, uint32_t class_id, const sim_program *p)
{
    const uint32_t rank = get_first_rank(b, class_id);
    const uint32_t *values = b->s->instance.values[rank];
    sim_bind *binds = b->binds[class_id];
    for (uint32_t k = 0; k < p->n_names; k++) {
        const sim_name *name = &p->names[k];
        if (name->kind == SIM_NAME_SELF)
            binds[k] = (sim_bind){values[k] == rank, 0};
        else if (name->kind == SIM_NAME_ROOT && name->of == SIM_NO_NAME)
            binds[k].object =
                values[k] < b->s->n_npus ? get_class(b, values[k]) : SIM_NONE;
    }
}

/* Identify tags of both ends by their place at the receiver. */
static halley_status bind_tags(const uint32_t **out, binder *b, uint32_t rank,
                               const sim_program *p)
{
    const symmetry_graph *g = &b->y->graph;
    const uint32_t *tags = b->s->instance.tags[rank];
    uint32_t *keys = new_array(b, p->n_tags, sizeof *keys);
    if (keys == NULL)
        return error_nomem(b->s->err);
    for (uint32_t i = 0; i < p->n_tags; i++) {
        const uint32_t name = p->tag_names[i];
        const uint32_t carrier = g->slots[g->slots_at[rank] + name];
        const symmetry_member *to = &g->members[g->members_at[carrier + 1] - 1];
        const bool received = to->label >> 31 != 0;
        uint32_t key = i;
        if (p->names[name].kind == SIM_NAME_OUT)
            key = received ? sim_symmetry_find_tag(b->s, to->rank, to->label & INT32_MAX,
                                                   tags[i])
                           : SIM_NONE;
        keys[i] = key == SIM_NONE ? i | UINT32_C(1) << 31 : key;
    }
    *out = keys;
    return HALLEY_OK;
}

/* The memory that represents its class, or MEM_NONE. */
static uint32_t find_server(const binder *b, uint32_t rank)
{
    const sim_symmetry *y = b->y;
    const uint32_t carrier = y->graph.slots[y->graph.slots_at[rank + 1] - 1];
    if (carrier == SYMMETRY_NONE)
        return MEM_NONE;
    const symmetry_classes *c = &y->partition.carriers;
    assert(sim_symmetry_is_server(y, c->first[c->of[carrier]]));
    return y->server_of[c->first[c->of[carrier]] - y->first_server];
}

/* Count, for each memory of the run, the memories that it represents. */
static halley_status count_servers(binder *b)
{
    const sim_symmetry *y = b->y;
    const symmetry_classes *c = &y->partition.carriers;
    uint32_t *counts = new_array(b, b->s->memory.n_servers, sizeof *counts);
    if (counts == NULL)
        return error_nomem(b->s->err);
    for (uint32_t k = 0; k < c->n; k++)
        if (sim_symmetry_is_server(y, c->first[k]))
            counts[y->server_of[c->first[k] - y->first_server]] = c->counts[k];
    b->s->servers_alike = counts;
    return HALLEY_OK;
}

static halley_status make_rank(binder *b, uint32_t class_id)
{
    sim *s = b->s;
    const uint32_t rank = get_first_rank(b, class_id);
    const sim_program *p = s->instance.programs.at[s->instance.program_of[rank]];
    const uint32_t *tags = NULL;
    TRY(bind_tags(&tags, b, rank, p));
    s->ranks[class_id] = (sim_rank){.program = p,
                                    .path = sim_instance_path(&s->instance, rank),
                                    .binds = b->binds[class_id],
                                    .tags = tags,
                                    .npu = rank,
                                    .n_alike = b->y->partition.ranks.counts[class_id],
                                    .server = find_server(b, rank)};
    return HALLEY_OK;
}

static halley_status make_binds(binder *b)
{
    sim *s = b->s;
    b->binds = new_array(b, s->n_ranks, sizeof *b->binds);
    for (uint32_t i = 0; b->binds != NULL && i < s->n_ranks; i++) {
        const uint32_t rank = get_first_rank(b, i);
        const sim_program *p = s->instance.programs.at[s->instance.program_of[rank]];
        b->binds[i] = new_array(b, p->n_names, sizeof **b->binds);
        if (b->binds[i] == NULL)
            return error_nomem(s->err);
    }
    return b->binds == NULL ? error_nomem(s->err) : HALLEY_OK;
}

/* Pass the network the load of a class of carriers on classes of links, shape by shape.
 */
static halley_status set_carrier_hops(binder *b, uint32_t class_id)
{
    const sim_symmetry *y = b->y;
    sim *s = b->s;
    const symmetry_loads *loads = &y->loads;
    const uint32_t carrier = y->partition.carriers.first[class_id];
    uint32_t n, pair[2], n_known = 0;
    const sim_call_kind *calls = sim_symmetry_calls(s, y, carrier, &n);
    struct {
        uint64_t key;
        uint32_t root, kind;
    } *known = mem_array(n, sizeof *known);
    halley_status status = known == NULL ? error_nomem(s->err) : HALLEY_OK;
    for (uint32_t i = 0; status == HALLEY_OK && i < n; i++) {
        net_bundle bundle = sim_symmetry_bundle(s, y, carrier, &calls[i], pair);
        net_shape shape;
        status = s->net->model->prepare(&shape, s->net, &bundle);
        uint32_t k = 0;
        while (k < n_known &&
               (known[k].key != shape.key || known[k].root != bundle.root ||
                known[k].kind != bundle.kind))
            k++;
        if (status != HALLEY_OK || k < n_known)
            continue;
        known[n_known].key = shape.key;
        known[n_known].root = bundle.root;
        known[n_known++].kind = bundle.kind;
        const uint32_t of = loads->shapes_at[class_id] + k;
        const uint32_t first = loads->loads_at[of];
        assert(of < loads->shapes_at[class_id + 1]);
        if (bundle.group != 0 && carrier < y->n_groups)
            bundle.group = b->group_of[class_id];
        status = s->net->model->set_hops(
            s->net, &bundle, (const net_fold_hop *)(const void *)&loads->loads.at[first],
            loads->loads_at[of + 1] - first, y->partition.carriers.counts[class_id]);
    }
    free(known);
    return status;
}

static_assert(sizeof(net_fold_hop) == sizeof(symmetry_load) &&
                  offsetof(net_fold_hop, n) == offsetof(symmetry_load, n_carriers) &&
                  offsetof(net_fold_hop, coefficient) ==
                      offsetof(symmetry_load, coefficient),
              "loads are passed as they are");

static halley_status fold_network(binder *b)
{
    sim *s = b->s;
    const symmetry_classes *l = &b->y->partition.links;
    uint32_t *first = new_array(b, l->n, sizeof *first);
    if (first == NULL)
        return error_nomem(s->err);
    for (uint32_t i = 0; i < l->n; i++)
        first[i] = b->y->links[l->first[i]];
    const net_link_classes links = {l->n, first, l->counts};
    TRY(s->net->model->fold(s->net, &links, s->err));
    for (uint32_t k = 0; k < b->y->partition.carriers.n; k++)
        TRY(set_carrier_hops(b, k));
    return HALLEY_OK;
}

halley_status sim_bind_classes(sim *s, const sim_symmetry *y)
{
    binder b = {.s = s, .y = y};
    s->n_ranks = y->partition.ranks.n;
    s->class_of = y->partition.ranks.of;
    s->ranks = mem_array_zero(s->n_ranks, sizeof *s->ranks);
    s->finishers = mem_array(s->n_ranks, sizeof *s->finishers);
    if (s->ranks == NULL || s->finishers == NULL)
        return error_nomem(s->err);
    TRY(make_binds(&b));
    const sim_instance *in = &s->instance;
    for (uint32_t i = 0; i < s->n_ranks; i++)
        bind_others(&b, i, in->programs.at[in->program_of[get_first_rank(&b, i)]]);
    TRY(make_groups(&b));
    bind_channels(&b);
    TRY(count_servers(&b));
    for (uint32_t i = 0; i < s->n_ranks; i++)
        TRY(make_rank(&b, i));
    return fold_network(&b);
}
