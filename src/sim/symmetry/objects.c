/*
 * sim/symmetry/objects.c - ranks, groups, channels and links of a run as a graph.
 *
 * A channel is a pair of sender and receiver. Its colour has the places of its tags on
 * both sides, so that tags may have any numbers. A carrier's shapes are the different
 * sets of links that its collectives use; its colour has the time of every collective.
 */
#include "sim/rules.h"
#include "sim/symmetry/symmetry.h"

#include <stdio.h>
#include <string.h>

static uint64_t mix_in(uint64_t h, uint64_t x)
{
    return hash_u64(h ^ x) + UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t mix_double(uint64_t h, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return mix_in(h, bits);
}

static bool is_simulated(const sim_node *n)
{
    return !(n->flags & (SIM_NODE_TIMED | SIM_NODE_SKIP));
}

static bool is_memory_node(const sim_node *n)
{
    return n->type == HALLEY_NODE_MEM_LOAD || n->type == HALLEY_NODE_MEM_STORE;
}

/* What a program has that cannot be folded; NULL: nothing. */
static const char *find_obstacle(const sim *s, const sim_program *p)
{
    const uint32_t all = (UINT32_C(1) << s->cluster->n_dims) - 1;
    for (uint32_t i = 0; i < p->n; i++) {
        const sim_node *n = &p->nodes[i];
        if (!is_simulated(n))
            continue;
        if (n->flags & SIM_NODE_UNEVEN)
            return "all-to-alls with unequal sizes run step by step";
        if (n->type == HALLEY_NODE_COLL && n->a == SIM_NO_NAME && (n->b & all) != all)
            return "collectives over some of the dimensions run step by step";
        if (is_memory_node(n) && s->memory.kind == CLUSTER_MEMORY_HIERARCHICAL)
            return "the stages of a hierarchical pool serve all ranks one after the "
                   "other";
    }
    return NULL;
}

static bool has_custom(const cluster_system *system)
{
    bool any = system->n_node_impls > 0;
    for (uint32_t i = 0; i < CLUSTER_N_COLLS; i++)
        any = any || system->colls[i].custom != NULL;
    return any;
}

static const char *find_option(const sim *s, const halley_sim_opts *opts)
{
    const cluster_system *system = s->system;
    if (opts->no_fold)
        return "--no-fold asks for it";
    if (!s->rules->can_fold)
        return "under ASTRA-sim's rules the order of events matters";
    if (s->net->model->fold == NULL || !net_can(s->net, NET_CAN_BUNDLES) || system->steps)
        return "collectives run step by step";
    if (opts->journal != HALLEY_JOURNAL_NONE)
        return "the order of events is recorded rank by rank";
    if (s->cluster->has_events)
        return "links change during the run";
    if (opts->heat)
        return "the use of links over time is recorded per NPU";
    if (system->bus.on || system->rendezvous)
        return "the bus and the rendezvous protocol are simulated per NPU";
    if (has_custom(system))
        return "collectives have algorithms of their own";
    for (int i = 0; i < CLUSTER_N_KERNELS; i++)
        if (system->interference[i] != 0 || system->network_interference[i] != 0)
            return "kernels and communication that slow each other down are followed "
                   "rank by rank";
    if (system->jitter > 0)
        return "jitter gives every rank its own times";
    return NULL;
}

bool sim_symmetry_is_possible(const sim *s, const halley_sim_opts *opts, char *reason,
                              size_t n)
{
    const char *why = s->n_npus < 2 ? "there is one rank" : find_option(s, opts);
    for (size_t i = 0; why == NULL && i < s->instance.programs.n; i++)
        why = find_obstacle(s, s->instance.programs.at[i]);
    snprintf(reason, n, "%s", why == NULL ? "" : why);
    return why == NULL;
}

/* What a program asks of the network. */
static sim_call_kind describe_call(const sim_program *p, const sim_node *n)
{
    const bool is_coll = n->type == HALLEY_NODE_COLL;
    return (sim_call_kind){.name = n->a == SIM_NO_NAME ? p->n_names : n->a,
                           .root = is_coll ? n->self : SIM_NO_NAME,
                           .coll = is_coll ? n->coll : HALLEY_N_COLL_TYPES,
                           .amount = n->amount};
}

static bool is_same_call(const sim_call_kind *a, const sim_call_kind *b)
{
    return a->name == b->name && a->root == b->root && a->coll == b->coll &&
           a->amount == b->amount;
}

/* Different calls of a program, in the order of their first use. */
static bool find_calls(sim_program_calls *out, const sim_program *p)
{
    map64 seen = {0};
    bool room = true;
    for (uint32_t i = 0; room && i < p->n; i++) {
        const sim_node *n = &p->nodes[i];
        if (!is_simulated(n) ||
            (n->type != HALLEY_NODE_COLL && n->type != HALLEY_NODE_SEND))
            continue;
        const sim_call_kind call = describe_call(p, n);
        uint64_t key =
            mix_in(mix_in(call.amount, (uint64_t)call.name << 32 | call.coll), call.root);
        out->sums[call.name] += hash_u64(
            mix_in(call.amount, (uint64_t)call.coll << 1 | (call.root != SIM_NO_NAME)));
        for (;; key = hash_u64(key)) {
            uint32_t id = (uint32_t)out->calls.n;
            bool fresh;
            room = map64_put(&seen, key, &id, &fresh) &&
                   (!fresh || array_push(&out->calls, call));
            if (!room || fresh || is_same_call(&out->calls.at[id], &call))
                break;
        }
    }
    map64_fini(&seen);
    return room;
}

/* Calls by name, stable: count, sum up, fill. */
static bool sort_calls(sim_program_calls *c, uint32_t n_names)
{
    sim_call_kind *sorted = mem_array(c->calls.n, sizeof *sorted);
    if (sorted == NULL)
        return false;
    for (size_t i = 0; i < c->calls.n; i++)
        c->first[c->calls.at[i].name + 1]++;
    for (uint32_t i = 0; i <= n_names; i++)
        c->first[i + 1] += c->first[i];
    for (size_t i = 0; i < c->calls.n; i++)
        sorted[c->first[c->calls.at[i].name]++] = c->calls.at[i];
    for (uint32_t i = n_names + 1; i > 0; i--)
        c->first[i] = c->first[i - 1];
    c->first[0] = 0;
    if (c->calls.n > 0)
        memcpy(c->calls.at, sorted, c->calls.n * sizeof *sorted);
    free(sorted);
    return true;
}

static halley_status read_programs(sim_symmetry *y, const sim *s)
{
    y->n_programs = (uint32_t)s->instance.programs.n;
    y->programs = mem_array_zero(y->n_programs, sizeof *y->programs);
    if (y->programs == NULL)
        return error_nomem(s->err);
    for (uint32_t i = 0; i < y->n_programs; i++) {
        const sim_program *p = s->instance.programs.at[i];
        sim_program_calls *c = &y->programs[i];
        c->first = mem_array_zero((size_t)p->n_names + 2, sizeof *c->first);
        c->sums = mem_array_zero((size_t)p->n_names + 1, sizeof *c->sums);
        if (c->first == NULL || c->sums == NULL || !find_calls(c, p) ||
            !sort_calls(c, p->n_names))
            return error_nomem(s->err);
    }
    return HALLEY_OK;
}

static const sim_program *get_program(const sim *s, uint32_t rank)
{
    return s->instance.programs.at[s->instance.program_of[rank]];
}

static bool uses_world(const sim_symmetry *y, const sim *s, uint32_t rank)
{
    const uint32_t p = s->instance.program_of[rank];
    return y->programs[p].sums[s->instance.programs.at[p]->n_names] != 0;
}

/* Carriers: groups that ranks name, all ranks, channels. */
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
        const sim_program *p = get_program(s, r);
        world = world || uses_world(y, s, r);
        for (uint32_t k = 0; k < p->n_names; k++) {
            const uint32_t g = in->values[r][k];
            if (p->names[k].kind != SIM_NAME_GROUP || y->carrier_of[g] != SYMMETRY_NONE)
                continue;
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

/* The carrier of a pair, made when there is none; SYMMETRY_NONE: no memory. */
static uint32_t get_channel(sim_symmetry *y, uint32_t from, uint32_t to)
{
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
    const sim_program *p = get_program(s, rank);
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
        if (is_simulated(&p->nodes[i]) && is_memory_node(&p->nodes[i]))
            return true;
    return false;
}

/* Memories that ranks share, as the last carriers; the last slot of a rank is its own. */
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
        n += get_program(s, r)->n_names + 2u;
    }
    g->slots_at[g->n_ranks] = (uint32_t)n;
    if (n > UINT32_MAX)
        return error_set(s->err, HALLEY_ELIMIT, "ranks have more than 2^32 names");
    g->slots = mem_array((size_t)n, sizeof *g->slots);
    if (g->slots == NULL)
        return error_nomem(s->err);
    for (uint32_t r = 0; r < g->n_ranks; r++) {
        const uint32_t n_names = get_program(s, r)->n_names;
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

static uint32_t get_group_size(const sim *s, const sim_symmetry *y, uint32_t carrier)
{
    assert(carrier < y->n_groups);
    const uint32_t group = y->groups.at[carrier];
    return group == 0 ? s->n_npus : s->instance.groups[group - 1].n;
}

/* Every member of a group in its place; the sender of a channel, then the receiver. */
static halley_status list_members(sim_symmetry *y, const sim *s)
{
    symmetry_graph *g = &y->graph;
    g->members_at = mem_array((size_t)g->n_carriers + 1, sizeof *g->members_at);
    if (g->members_at == NULL)
        return error_nomem(s->err);
    uint64_t n = 0;
    for (uint32_t c = 0; c < g->n_carriers; c++) {
        g->members_at[c] = (uint32_t)n;
        n += c < y->n_groups                ? get_group_size(s, y, c)
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

/* Put a rank among the members of the carrier of one of its names. */
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
    g->members[g->members_at[carrier] + place] = (symmetry_member){rank, label};
    return true;
}

static uint64_t get_call_sum(const sim *s, const sim_symmetry *y,
                             const symmetry_member *m)
{
    return y->programs[s->instance.program_of[m->rank]].sums[m->label];
}

/* All members of a group call the same collectives; else the run will say who does not,
 * and is not folded. */
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

/* Channels of which one side is missing keep the other one only; memories, who uses them.
 */
static void close_gaps(sim_symmetry *y)
{
    symmetry_graph *g = &y->graph;
    uint32_t to = g->members_at[y->n_groups];
    for (uint32_t c = y->n_groups; c < g->n_carriers; c++) {
        const uint32_t from = g->members_at[c], end = g->members_at[c + 1];
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
        for (uint32_t k = 0; k < get_program(s, r)->n_names + 2; k++)
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

/* Program, speed, and where the rank is a root: its own name. */
static uint64_t colour_rank(const sim *s, uint32_t rank)
{
    const sim_instance *in = &s->instance;
    const sim_program *p = get_program(s, rank);
    uint64_t h = mix_in(1, in->program_of[rank]);
    if (s->system->slow != NULL)
        h = mix_double(h, s->system->slow[rank]);
    if (s->system->late_s != NULL)
        h = mix_double(h, s->system->late_s[rank]);
    for (uint32_t k = 0; k < p->n_names; k++) {
        const uint32_t value = in->values[rank][k];
        if (p->names[k].kind == SIM_NAME_ROOT || p->names[k].kind == SIM_NAME_SELF)
            h = mix_in(h, (uint64_t)k << 1 | (value == rank));
        if (p->names[k].kind == SIM_NAME_OUT || p->names[k].kind == SIM_NAME_IN)
            h = value == rank ? mix_in(h, k) : h; /* an error, of this rank alone */
    }
    return h;
}

static bool is_rooted_call(const sim_call_kind *c)
{
    return c->coll == HALLEY_COLL_REDUCE || c->coll == HALLEY_COLL_GATHER ||
           c->coll == HALLEY_COLL_SCATTER || c->coll == HALLEY_COLL_BROADCAST;
}

/* Without a name the root is the first member: its place matters. */
static uint64_t colour_first_members(uint64_t h, const sim_symmetry *y, const sim *s,
                                     uint32_t rank)
{
    const symmetry_graph *g = &y->graph;
    const sim_program_calls *p = &y->programs[s->instance.program_of[rank]];
    for (size_t i = 0; i < p->calls.n; i++) {
        const sim_call_kind *c = &p->calls.at[i];
        const uint32_t carrier = g->slots[g->slots_at[rank] + c->name];
        if (is_rooted_call(c) && c->root == SIM_NO_NAME && carrier != SYMMETRY_NONE)
            h = mix_in(h, (uint64_t)c->name << 1 |
                              (g->members[g->members_at[carrier]].rank == rank));
    }
    return h;
}

static halley_status colour_ranks(sim_symmetry *y, const sim *s)
{
    symmetry_graph *g = &y->graph;
    g->rank_colours = mem_array(g->n_ranks, sizeof *g->rank_colours);
    if (g->rank_colours == NULL)
        return error_nomem(s->err);
    for (uint32_t r = 0; r < g->n_ranks; r++) {
        uint64_t h = colour_first_members(colour_rank(s, r), y, s, r);
        if (g->slots[g->slots_at[r + 1] - 1] != SYMMETRY_NONE) /* ties go by the place */
            h = mix_in(h, r % s->memory.npus_per_server);
        g->rank_colours[r] = h;
    }
    return HALLEY_OK;
}

const sim_call_kind *sim_symmetry_calls(const sim *s, const sim_symmetry *y,
                                        uint32_t carrier, uint32_t *n)
{
    const symmetry_graph *g = &y->graph;
    const symmetry_member *m = &g->members[g->members_at[carrier]];
    *n = 0;
    if (m->label >> 31 != 0 ||
        (carrier < y->n_groups && get_group_size(s, y, carrier) < 2))
        return NULL; /* a channel without a sender, a group of one */
    const sim_program_calls *p = &y->programs[s->instance.program_of[m->rank]];
    *n = p->first[m->label + 1] - p->first[m->label];
    return p->calls.at + p->first[m->label];
}

net_bundle sim_symmetry_bundle(const sim *s, const sim_symmetry *y, uint32_t carrier,
                               const sim_call_kind *call, uint32_t *pair)
{
    if (carrier >= y->n_groups) {
        const sim_pair *c = &y->channels.at[carrier - y->n_groups];
        pair[0] = c->from;
        pair[1] = c->to;
        return net_message_bundle(pair, call->amount, 0);
    }
    const symmetry_graph *g = &y->graph;
    const symmetry_member *first = &g->members[g->members_at[carrier]];
    const uint32_t group = y->groups.at[carrier];
    const cluster_group *of = group == 0 ? NULL : &s->instance.groups[group - 1];
    /* A group of all ranks counts as all ranks, as in the engine. */
    const bool grouped = of != NULL && of->n < s->n_npus;
    net_bundle b = {.ranks = grouped ? of->ranks : NULL,
                    .n = get_group_size(s, y, carrier),
                    .group = grouped ? group : 0,
                    .id = grouped ? of->id : 0};
    b.root = call->root == SIM_NO_NAME ? grouped ? of->ranks[0] : 0
                                       : s->instance.values[first->rank][call->root];
    sim_bundle_describe(&b, call->coll, call->amount);
    return b;
}

/* Tags of a channel: the receiver's place of each of the sender's. */
typedef struct tag_maps {
    map64 seen; /* both ends' names -> index */
    ARRAY(uint64_t) hashes;
} tag_maps;

uint32_t sim_symmetry_find_tag(const sim *s, uint32_t rank, uint32_t name, uint32_t tag)
{
    const sim_program *p = get_program(s, rank);
    const uint32_t *tags = s->instance.tags[rank];
    for (uint32_t i = 0; i < p->n_tags; i++)
        if (p->tag_names[i] == name && tags[i] == tag)
            return i;
    return SIM_NONE;
}

static uint64_t hash_tags(const sim *s, const symmetry_member *from,
                          const symmetry_member *to)
{
    const sim_program *p = get_program(s, from->rank);
    const uint32_t *tags = s->instance.tags[from->rank];
    uint64_t h = 7;
    for (uint32_t i = 0; i < p->n_tags; i++)
        if (p->tag_names[i] == from->label)
            h = mix_in(
                h, sim_symmetry_find_tag(s, to->rank, to->label & INT32_MAX, tags[i]));
    return h;
}

/* The same for ranks with the same programs and tags. */
static bool colour_tags(uint64_t *out, tag_maps *maps, const sim *s,
                        const symmetry_member *from, const symmetry_member *to)
{
    uint64_t key = mix_in(from->label, to->label);
    key = mix_in(key, (uint64_t)s->instance.program_of[from->rank] << 32 |
                          s->instance.program_of[to->rank]);
    key = mix_in(key, (uint64_t)(uintptr_t)s->instance.tags[from->rank]);
    key = mix_in(key, (uint64_t)(uintptr_t)s->instance.tags[to->rank]);
    uint32_t id = (uint32_t)maps->hashes.n;
    bool fresh;
    if (!map64_put(&maps->seen, key, &id, &fresh))
        return false;
    if (fresh && !array_push(&maps->hashes, hash_tags(s, from, to)))
        return false;
    *out = maps->hashes.at[id];
    return true;
}

/* The place of a coefficient among the different ones; SYMMETRY_NONE: no memory. */
static uint32_t place_coefficient(sim_symmetry *y, uint64_t coefficient)
{
    uint32_t place = (uint32_t)y->graph.coefficients.n;
    bool fresh;
    if (!map64_put(&y->coefficients, coefficient, &place, &fresh) ||
        (fresh && !array_push(&y->graph.coefficients, coefficient)))
        return SYMMETRY_NONE;
    return place;
}

/* The shape of a call among those of its carrier that came before, or a new one. */
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

/* Links and times of all calls of a carrier. */
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
            h = mix_double(mix_double(h, shape.payload), shape.payload_out);
        }
        h = mix_in(mix_in(h, k), shape.fixed_ticks);
        h = mix_double(mix_double(h, shape.volume_bytes), shape.cap_Bps);
    }
    y->graph.carrier_colours[carrier] = h;
    y->graph.shapes_at[carrier + 1] = y->graph.shapes_at[carrier] + n_shapes;
    return HALLEY_OK;
}

static halley_status start_carrier_colours(sim_symmetry *y, const sim *s)
{
    symmetry_graph *g = &y->graph;
    tag_maps maps = {0};
    bool room = true;
    for (uint32_t c = 0; c < y->n_groups; c++)
        g->carrier_colours[c] =
            mix_in(2 + (y->groups.at[c] == 0), get_group_size(s, y, c));
    for (uint32_t c = y->first_server; c < g->n_carriers; c++)
        g->carrier_colours[c] = mix_in(9, 0); /* they have one rate */
    for (uint32_t c = y->n_groups; room && c < y->first_server; c++) {
        const symmetry_member *m = &g->members[g->members_at[c]];
        const bool both = g->members_at[c + 1] - g->members_at[c] == 2;
        uint64_t tags = 0;
        room = !both || colour_tags(&tags, &maps, s, m, m + 1);
        g->carrier_colours[c] = mix_in(5 + both, tags);
    }
    map64_fini(&maps.seen);
    array_fini(&maps.hashes);
    return room ? HALLEY_OK : error_nomem(s->err);
}

static halley_status add_carriers(sim_symmetry *y, sim *s)
{
    symmetry_graph *g = &y->graph;
    shape_list known = {0};
    hop_ends ends = {0};
    g->carrier_colours = mem_array(g->n_carriers, sizeof *g->carrier_colours);
    g->shapes_at = mem_array_zero((size_t)g->n_carriers + 1, sizeof *g->shapes_at);
    halley_status status =
        g->carrier_colours == NULL || g->shapes_at == NULL || !array_push(&ends, 0)
            ? error_nomem(s->err)
            : start_carrier_colours(y, s);
    for (uint32_t c = 0; status == HALLEY_OK && y->reason[0] == 0 && c < g->n_carriers;
         c++)
        status = add_carrier(y, s, c, &known, &ends);
    array_fini(&known);
    g->hops_at = ends.at;
    return status;
}

/* Links that carriers use are numbered anew, in their order. */
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

static halley_status find_objects(sim_symmetry *y, sim *s)
{
    y->graph.n_ranks = s->instance.n;
    TRY(read_programs(y, s));
    TRY(list_groups(y, s));
    TRY(list_slots(y, s));
    TRY(list_members(y, s));
    TRY(fill_members(y, s));
    if (y->reason[0] != 0)
        return HALLEY_OK;
    TRY(colour_ranks(y, s));
    TRY(add_carriers(y, s));
    return y->reason[0] == 0 ? colour_links(y, s) : HALLEY_OK;
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
