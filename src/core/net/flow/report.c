/*
 * net/flow/report.c - what crossed the links of a run and who sent it, and certificates.
 *
 * Sums are exact integers. So they do not depend on their order, nor on whether one link
 * was simulated for many.
 */
#include "net/flow/model.h"

#include <math.h>
#include <string.h>

/* Volume times coefficient, 2^-96 B, in 256 bits. */
typedef struct exact_sum {
    net_flow_volume low, high;
} exact_sum;

static void add_exact(exact_sum *to, const exact_sum *x)
{
    to->low += x->low;
    to->high += x->high + (to->low < x->low);
    assert(to->high >= x->high); /* 256 bits hold everything that a link can carry */
}

static exact_sum multiply_exact(net_flow_volume volume, uint64_t coefficient)
{
    const net_flow_volume p = (net_flow_volume)(uint64_t)volume * coefficient;
    const net_flow_volume q = (net_flow_volume)(uint64_t)(volume >> 64) * coefficient;
    const exact_sum shifted = {q << 64, q >> 64};
    exact_sum product = {p, 0};
    add_exact(&product, &shifted);
    return product;
}

static exact_sum repeat_exact(const exact_sum *x, uint32_t n)
{
    const exact_sum low = multiply_exact(x->low, n);
    return (exact_sum){low.low, x->high * n + low.high};
}

static double round_exact(const exact_sum *x)
{
    return ((double)x->high * 0x1p128 + (double)x->low) * 0x1p-96;
}

static const flow_owner *get_owner(const flow_net *f, uint32_t class_id)
{
    assert(class_id < net_flow_count_classes(f->flow));
    static const flow_owner none = {COLL_SEND, 0, 0, 1, 1, 1, NET_NONE, 2};
    return class_id < f->owners.n ? &f->owners.at[class_id] : &none;
}

/* Sum up the links of a kind, and what crossed them. */
static void sum_kind(net_part_use *out, const flow_net *f, uint32_t kind)
{
    assert(kind < f->network->graph->n_kinds && out->n == 0 && out->n_messages == 0);
    const hw_graph *g = f->network->graph;
    exact_sum sum = {0, 0};
    for (uint32_t l = 0; l < g->n_links; l++) {
        out->n += g->link_kind[l] == kind;
        out->capacity_Bps += g->link_kind[l] == kind ? g->link_Bps[l] : 0;
    }
    for (uint32_t id = 0; id < net_flow_count_classes(f->flow); id++) {
        const net_flow_class_use use = net_flow_get_class_use(f->flow, id);
        bool crosses = false;
        for (uint32_t i = 0; i < use.n_links; i++) {
            if (g->link_kind[flow_net_first_link(f, use.links[i])] != kind)
                continue;
            crosses = true;
            const exact_sum one = multiply_exact(use.volume, use.coefficients[i]);
            const exact_sum all =
                repeat_exact(&one, flow_net_count_alike(f, use.links[i]));
            add_exact(&sum, &all);
        }
        out->n_messages += crosses ? use.n_flows * get_owner(f, id)->n_alike : 0;
    }
    out->bytes = round_exact(&sum);
}

/* The rate of a kind of link. Links from a file have individual rates: then the fastest.
 */
static double find_kind_Bps(const hw_graph *g, uint32_t kind)
{
    double Bps = g->kinds[kind].bw_Bps;
    for (uint32_t i = 0; g->kinds[kind].bw_Bps == HW_UNKNOWN && i < g->n_links; i++)
        if (g->link_kind[i] == kind)
            Bps = fmax(Bps, g->link_Bps[i]);
    return Bps;
}

/* Describe one row per kind of link. */
bool flow_net_describe(net_part_use *out, const net *n, uint32_t i)
{
    const flow_net *f = flow_net_of_const(n);
    const hw_graph *g = f->network->graph;
    if (i >= g->n_kinds)
        return false;
    *out = (net_part_use){.name = g->kinds[i].name, .bw_Bps = find_kind_Bps(g, i)};
    sum_kind(out, f, i);
    if (f->cluster->network == HW_NETWORK_DIMS) { /* its kinds are its dimensions */
        assert(g->n_kinds == f->cluster->n_dims);
        out->name = cluster_topology_names[f->cluster->dims[i].topology];
        out->n = f->cluster->dims[i].n;
    }
    return true;
}

static const char *const kind_names[] = {[COLL_ALL_REDUCE] = "ALL_REDUCE",
                                         [COLL_ALL_GATHER] = "ALL_GATHER",
                                         [COLL_REDUCE_SCATTER] = "REDUCE_SCATTER",
                                         [COLL_ALL_TO_ALL] = "ALL_TO_ALL",
                                         [COLL_BROADCAST] = "BROADCAST",
                                         [COLL_SEND] = "messages between two ranks",
                                         [COLL_REDUCE] = "REDUCE",
                                         [COLL_GATHER] = "GATHER",
                                         [COLL_SCATTER] = "SCATTER"};

/* Who uses links: collectives of one kind in groups of one size. This does not depend on
 * which groups were simulated once for many. */
typedef struct link_user {
    coll_kind kind;
    bool is_world; /* of all ranks */
    uint32_t size, n_groups;
    int64_t id; /* the least of their ids */
} link_user;

static const char *name_user(arena *memory, const flow_net *f, const link_user *u)
{
    if (f->has_dims && !net_can(&f->head, NET_CAN_BUNDLES))
        return "steps of collectives and messages";
    if (u->kind == COLL_SEND)
        return kind_names[COLL_SEND];
    if (u->is_world)
        return arena_printf(memory, "%s of all ranks", kind_names[u->kind]);
    if (u->n_groups == 1)
        return arena_printf(memory, "%s of group %lld", kind_names[u->kind],
                            (long long)u->id);
    return arena_printf(memory, "%s of group %lld and %u like it", kind_names[u->kind],
                        (long long)u->id, u->n_groups - 1);
}

/* The load on a link by flows with one fraction of payload. */
typedef struct link_load {
    uint32_t link;
    double payload; /* of a byte */
    exact_sum wire;
} link_load;

/* What one user puts on a link. */
typedef struct link_part {
    uint32_t link, user;
    exact_sum wire;
} link_part;

/* Sums over classes, by link. */
typedef struct link_tally {
    double payload, wire, most[2];
    uint64_t n_messages;
    uint32_t users[2]; /* NET_NONE: none */
} link_tally;

typedef struct link_tallies {
    link_tally *at;
    map64 loads_by_key; /* link and payload -> load */
    ARRAY(link_load) loads;
    map64 users_by_key; /* kind and size -> user */
    ARRAY(link_user) users;
    map64 seen_groups;  /* user and group */
    map64 parts_by_key; /* link and user -> part */
    ARRAY(link_part) parts;
} link_tallies;

/* Find or add the user that a class belongs to, and count its groups. */
static bool find_user(uint32_t *out, link_tallies *t, const flow_owner *o)
{
    const bool is_world = o->group == 0 && o->kind != COLL_SEND;
    const uint32_t size = o->kind == COLL_SEND ? 2 : o->size;
    uint32_t seen = 1;
    bool fresh;
    *out = (uint32_t)t->users.n;
    if (!map64_put(&t->users_by_key,
                   (uint64_t)size << 32 | (uint64_t)o->kind << 1 | is_world, out, &fresh))
        return false;
    if (fresh && !array_push(&t->users, (link_user){.kind = o->kind,
                                                    .is_world = is_world,
                                                    .size = size,
                                                    .id = o->id}))
        return false;
    link_user *u = &t->users.at[*out];
    if (!map64_put(&t->seen_groups, (uint64_t)*out << 32 | o->group, &seen, &fresh))
        return false;
    u->n_groups += fresh ? o->n_alike : 0;
    u->id = o->id < u->id ? o->id : u->id;
    return true;
}

static bool add_part(link_tallies *t, uint32_t link, uint32_t user, const exact_sum *wire)
{
    uint32_t id = (uint32_t)t->parts.n;
    bool fresh;
    if (!map64_put(&t->parts_by_key, (uint64_t)link << 32 | user, &id, &fresh))
        return false;
    if (fresh)
        return array_push(&t->parts, (link_part){link, user, *wire});
    add_exact(&t->parts.at[id].wire, wire);
    return true;
}

/* Users in an order that does not depend on what was simulated. */
static bool is_user_before(const link_user *a, const link_user *b)
{
    return a->kind != b->kind ? a->kind < b->kind : a->size < b->size;
}

/* The two users that put the most on each link. */
static void rank_parts(link_tallies *t)
{
    for (size_t i = 0; i < t->parts.n; i++) {
        const link_part *p = &t->parts.at[i];
        link_tally *to = &t->at[p->link];
        double wire = round_exact(&p->wire);
        uint32_t user = p->user;
        for (int k = 0; k < 2; k++) {
            const bool wins =
                to->users[k] == NET_NONE || wire > to->most[k] ||
                (wire == to->most[k] &&
                 is_user_before(&t->users.at[user], &t->users.at[to->users[k]]));
            const double most = to->most[k];
            const uint32_t other = to->users[k];
            if (!wins)
                continue;
            to->most[k] = wire;
            to->users[k] = user;
            if (other == NET_NONE)
                break;
            wire = most;
            user = other;
        }
    }
}

static bool add_load(link_tallies *t, uint32_t link, double payload,
                     const exact_sum *wire)
{
    uint64_t bits;
    memcpy(&bits, &payload, sizeof bits);
    uint64_t key = hash_u64(bits) ^ link;
    for (;; key = hash_u64(key)) {
        uint32_t id = (uint32_t)t->loads.n;
        bool fresh;
        if (!map64_put(&t->loads_by_key, key, &id, &fresh))
            return false;
        if (fresh)
            return array_push(&t->loads, (link_load){link, payload, *wire});
        link_load *load = &t->loads.at[id];
        if (load->link != link || load->payload != payload)
            continue;
        add_exact(&load->wire, wire);
        return true;
    }
}

static bool tally_class(link_tallies *t, const flow_net *f, uint32_t id)
{
    const net_flow_class_use use = net_flow_get_class_use(f->flow, id);
    const flow_owner *o = get_owner(f, id);
    uint32_t user = 0;
    if (use.volume > 0 && use.n_links > 0 && !find_user(&user, t, o))
        return false;
    for (uint32_t i = 0; use.volume > 0 && i < use.n_links; i++) {
        const uint32_t link = use.links[i];
        assert(use.coefficients[i] > 0);
        const exact_sum wire = multiply_exact(use.volume, use.coefficients[i]);
        const bool inside =
            f->network->level[flow_net_first_link(f, link)] == HW_LEVEL_NODE;
        t->at[link].n_messages +=
            use.n_flows *
            (o->first_count == NET_NONE ? 1 : f->counts.at[o->first_count + i]);
        if (!add_part(t, link, user, &wire))
            return false;
        if (!add_load(t, link, inside ? o->payload : o->payload_out, &wire))
            return false;
    }
    return true;
}

static int compare_loads(const void *a, const void *b)
{
    const link_load *x = a, *y = b;
    if (x->link != y->link)
        return x->link < y->link ? -1 : 1;
    return x->payload < y->payload ? -1 : x->payload > y->payload;
}

/* Add up in a fixed order, because doubles are added. */
static void sum_loads(link_tallies *t)
{
    if (t->loads.n > 1)
        qsort(t->loads.at, t->loads.n, sizeof *t->loads.at, compare_loads);
    for (size_t i = 0; i < t->loads.n;) {
        const uint32_t link = t->loads.at[i].link;
        exact_sum wire = {0, 0};
        for (; i < t->loads.n && t->loads.at[i].link == link; i++) {
            add_exact(&wire, &t->loads.at[i].wire);
            t->at[link].payload +=
                round_exact(&t->loads.at[i].wire) * t->loads.at[i].payload;
        }
        t->at[link].wire = round_exact(&wire);
    }
}

/* The rate of a link; the mean over the run if it changed. */
static double find_link_Bps(const flow_net *f, uint32_t link)
{
    const double seconds = (double)net_flow_now(f->flow) / f->ticks_per_s;
    if (f->offers.n == 0 || !(seconds > 0))
        return f->network->graph->link_Bps[link];
    return flow_net_offered_bytes(f, link) / seconds;
}

/* Parallel links that are simulated as one share its load evenly. */
static bool list_link(net_link_list *to, const flow_net *f, uint32_t first,
                      uint32_t n_alike, const link_tally *t, const link_user *users)
{
    const hw_graph *g = f->network->graph;
    const uint32_t n_parallel = hw_network_count_parallel(
        f->network, hw_network_first_parallel(f->network, first));
    char from[96], back[96];
    net_link_use use = {
        .kind = arena_printf(&to->memory, "%s", g->kinds[g->link_kind[first]].name),
        .bw_Bps = find_link_Bps(f, first),
        .bytes = t->payload / n_parallel,
        .wire_bytes = t->wire / n_parallel,
        .n_messages = t->n_messages,
        .n_alike = to->every ? 1 : n_alike * n_parallel};
    use.name = arena_printf(&to->memory, "%s -> %s",
                            hw_graph_name(g, g->link_from[first], from, sizeof from),
                            hw_graph_name(g, g->link_to[first], back, sizeof back));
    for (int i = 0; i < 2 && t->users[i] != NET_NONE; i++) {
        use.users[i] = name_user(&to->memory, f, &users[t->users[i]]);
        use.user_shares[i] = t->most[i] / t->wire;
    }
    return use.name != NULL && use.kind != NULL && array_push(&to->links, use);
}

static uint32_t count_links(const flow_net *f)
{
    return f->first_links == NULL ? f->network->graph->n_links : f->n_link_classes;
}

static bool list_every_link(net_link_list *to, const flow_net *f, const link_tallies *t)
{
    bool room = true;
    for (uint32_t i = 0; room && i < f->network->graph->n_links; i++) {
        const uint32_t first = hw_network_first_parallel(f->network, i);
        const uint32_t class_id = f->first_links == NULL ? first
                                  : to->class_of == NULL ? NET_NONE
                                                         : to->class_of[first];
        room = class_id == NET_NONE || t->at[class_id].wire == 0 ||
               list_link(to, f, i, 1, &t->at[class_id], t->users.at);
    }
    return room;
}

bool flow_net_list_links(net_link_list *to, const net *n)
{
    const flow_net *f = flow_net_of_const(n);
    const uint32_t n_links = count_links(f);
    link_tallies t = {.at = mem_array_zero(n_links, sizeof *t.at)};
    bool room = t.at != NULL;
    for (uint32_t i = 0; room && i < n_links; i++)
        t.at[i].users[0] = t.at[i].users[1] = NET_NONE;
    for (uint32_t id = 0; room && id < net_flow_count_classes(f->flow); id++)
        room = tally_class(&t, f, id);
    if (room) {
        sum_loads(&t);
        rank_parts(&t);
    }
    if (to->every) {
        room = room && list_every_link(to, f, &t);
    } else {
        for (uint32_t i = 0; room && i < n_links; i++)
            room = t.at[i].wire == 0 ||
                   list_link(to, f, flow_net_first_link(f, i), flow_net_count_alike(f, i),
                             &t.at[i], t.users.at);
    }
    free(t.at);
    map64_fini(&t.loads_by_key);
    array_fini(&t.loads);
    map64_fini(&t.users_by_key);
    map64_fini(&t.seen_groups);
    map64_fini(&t.parts_by_key);
    array_fini(&t.users);
    array_fini(&t.parts);
    return room;
}

/* Check that no link carried more than it could in the time of the run. */
static halley_status certify_use(const flow_net *f, halley_error *err)
{
    const hw_graph *g = f->network->graph;
    const uint32_t n_links = count_links(f);
    double *bytes = mem_array(n_links, sizeof *bytes);
    char name[128];
    halley_status status = bytes == NULL ? error_nomem(err) : HALLEY_OK;
    if (status == HALLEY_OK)
        net_flow_sum_links(f->flow, bytes);
    for (uint32_t i = 0; status == HALLEY_OK && i < n_links; i++) {
        const uint32_t link = flow_net_first_link(f, i);
        const double tick_bytes = hw_network_capacity_Bps(f->network, link) * 1e-12;
        if (bytes[i] > (flow_net_offered_bytes(f, link) + tick_bytes) * (1 + 1e-9))
            status = error_set(err, HALLEY_EINVAL,
                               "internal error: link %s carried more than it can",
                               hw_graph_link_name(g, link, name, sizeof name));
    }
    free(bytes);
    return status;
}

halley_status flow_net_certify(const net *n, halley_error *err)
{
    const flow_net *f = flow_net_of_const(n);
    TRY(net_flow_certify_bytes(f->flow, err));
    return certify_use(f, err);
}
