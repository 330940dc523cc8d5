/* sim/symmetry/calls.c - the network calls of programs and of carriers. */
#include "sim/symmetry/objects.h"

/* The network call (collective or message) of a node. */
static sim_call_kind describe_call(const sim_program *p, const sim_node *n)
{
    const bool is_coll = n->type == HALLEY_NODE_COLL;
    assert(n->a == SIM_NO_NAME || n->a < p->n_names);
    return (sim_call_kind){.name = n->a == SIM_NO_NAME ? p->n_names : n->a,
                           .root = is_coll ? n->self : SIM_NO_NAME,
                           .coll = is_coll ? n->coll : HALLEY_N_COLL_TYPES,
                           .amount = n->amount,
                           .price = is_coll ? sim_program_price(p, n) : (net_price){0}};
}

static uint64_t hash_price(const net_price *p)
{
    uint64_t bits[2];
    static_assert(sizeof bits == sizeof *p, "two doubles");
    memcpy(bits, p, sizeof bits);
    return symmetry_mix(bits[0], bits[1]);
}

static bool is_same_call(const sim_call_kind *a, const sim_call_kind *b)
{
    return a->name == b->name && a->root == b->root && a->coll == b->coll &&
           a->amount == b->amount && a->price.rate == b->price.rate &&
           a->price.fixed_s == b->price.fixed_s;
}

/* List the distinct calls of a program, in the order of their first use. */
static bool find_calls(sim_program_calls *out, const sim_program *p)
{
    map64 seen = {0};
    bool room = true;
    for (uint32_t i = 0; room && i < p->n; i++) {
        const sim_node *n = &p->nodes[i];
        if (!sim_symmetry_is_simulated(n) ||
            (n->type != HALLEY_NODE_COLL && n->type != HALLEY_NODE_SEND))
            continue;
        const sim_call_kind call = describe_call(p, n);
        uint64_t key = symmetry_mix(symmetry_mix(call.amount ^ hash_price(&call.price),
                                                 (uint64_t)call.name << 32 | call.coll),
                                    call.root);
        out->sums[call.name] +=
            hash_u64(symmetry_mix(call.amount ^ hash_price(&call.price),
                                  (uint64_t)call.coll << 1 | (call.root != SIM_NO_NAME)));
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

/* Sort calls by name, stably: count, sum up, fill. */
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
    assert(c->first[n_names + 1] == c->calls.n);
    if (c->calls.n > 0)
        memcpy(c->calls.at, sorted, c->calls.n * sizeof *sorted);
    free(sorted);
    return true;
}

halley_status sim_symmetry_read_calls(sim_symmetry *y, const sim *s)
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

const sim_call_kind *sim_symmetry_calls(const sim *s, const sim_symmetry *y,
                                        uint32_t carrier, uint32_t *n)
{
    const symmetry_graph *g = &y->graph;
    const symmetry_member *m = &g->members[g->members_at[carrier]];
    assert(carrier < g->n_carriers && m->rank < g->n_ranks);
    *n = 0;
    if (m->label >> 31 != 0 ||
        (carrier < y->n_groups && sim_symmetry_group_size(s, y, carrier) < 2))
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
    assert(group <= s->instance.n_groups && first->rank < g->n_ranks);
    const cluster_group *of = group == 0 ? NULL : &s->instance.groups[group - 1];
    /* A group of all ranks is treated as "all ranks", as in the engine. */
    const bool grouped = of != NULL && of->n < s->n_npus;
    net_bundle b = {.ranks = grouped ? of->ranks : NULL,
                    .n = sim_symmetry_group_size(s, y, carrier),
                    .group = grouped ? group : 0,
                    .id = grouped ? of->id : 0,
                    .price = call->price};
    b.root = call->root == SIM_NO_NAME ? grouped ? of->ranks[0] : 0
                                       : s->instance.values[first->rank][call->root];
    sim_bundle_describe(&b, call->coll, call->amount);
    return b;
}
