/*
 * net/flow/bundles.c - collectives, and messages of the communication library, as flows.
 *
 * The links of a collective and their coefficients depend on the group, the kind, the
 * root and the algorithm (`variant`). The bytes only scale them. The links are computed
 * for a canonical size, the largest power of two that does not exceed the bytes, if the
 * library chooses the same algorithm for it. So they do not depend on which collective
 * comes first.
 *
 * In a folded run, one flow represents a class of collectives. It loads a class of links
 * with the sum of what all members of its class put on one link (net_fold_hop).
 */
#include "net/flow/model.h"

#include <assert.h>
#include <string.h>

/* True if the network is written out or read from a file. Such networks have one level
 * for closed forms, whose step takes as long as the longest link of all. A group may not
 * use that link, so its step is measured. */
static bool has_measured_level(const flow_net *f)
{
    return f->cluster->network == HW_NETWORK_GRAPH && f->network->graph->names != NULL &&
           f->cluster->graph_fabric.name[0] == '\0';
}

double flow_net_longest_step(const flow_net *f, const flow_members *m)
{
    double most_s = 0;
    for (uint32_t i = 0; i < m->n_members; i++) {
        hw_route route;
        const uint32_t next = m->npus[(i + 1) % m->n_members];
        if (m->npus[i] != next &&
            hw_network_find(&route, f->network, m->npus[i], next, NULL) == HALLEY_OK)
            most_s = fmax(most_s, route.latency_s);
    }
    return most_s;
}

/* The fabric as a group sees it. A step between its nodes takes as long as in the
 * outermost level that the group spans. The bandwidth is that of its network cards,
 * because the links above them are simulated one by one. */
static halley_fabric see_fabric(const flow_net *f, const flow_members *m)
{
    const halley_cluster *c = f->cluster;
    uint32_t level = 0;
    halley_fabric out = c->outer[0].fabric;
    for (uint32_t i = 0; i < m->n_members && c->n_outer > 1; i++)
        while (level + 1 < c->n_outer && c->outer[level].npus != 0 &&
               m->npus[i] / c->outer[level].npus != m->npus[0] / c->outer[level].npus)
            level++;
    for (int i = 0; i < 3; i++)
        out.hop_s[i] = c->outer[level].fabric.hop_s[i];
    out.bandwidth_Bps = m->n_nodes > 1 ? m->card_Bps : c->nodes.up.bandwidth_Bps;
    if (has_measured_level(f) && m->n_nodes > 1) {
        const double step_s = flow_net_longest_step(f, m);
        for (int i = 0; i < 3; i++)
            out.hop_s[i] = step_s;
    }
    return out;
}

static void fini_group(flow_group *group)
{
    flow_members_fini(&group->members);
    flow_found_free(group->found);
    group->found = NULL;
}

static halley_status init_group(flow_group *group, const flow_net *f, const net_bundle *b)
{
    if (!flow_members_init(&group->members, f->network, b->ranks, b->n))
        return error_nomem(f->err);
    group->out = see_fabric(f, &group->members);
    group->is_box = false;
    group->found = NULL;
    if (flow_found_can(f, &group->members) &&
        flow_found_new(&group->found, f, &group->members, f->err) != HALLEY_OK) {
        flow_members_fini(&group->members);
        return HALLEY_ENOMEM;
    }
    if (f->has_dims) {
        group->box = coll_dims_all(f->cluster);
        group->is_box = coll_dims_find_box(&group->box, group->members.npus, b->n);
    }
    return HALLEY_OK;
}

/* NULL: no memory. */
static const flow_group *get_group(flow_net *f, const net_bundle *b)
{
    uint32_t id = (uint32_t)f->groups.n;
    bool fresh;
    flow_group group;
    if (!map64_put(&f->groups_by_key, b->group, &id, &fresh))
        return NULL;
    if (!fresh)
        return &f->groups.at[id];
    if (init_group(&group, f, b) != HALLEY_OK)
        return NULL;
    if (!array_push(&f->groups, group)) {
        fini_group(&group);
        return NULL;
    }
    return &f->groups.at[id];
}

/* True if the closed form would get the same arguments as in the last call. The group may
 * be another one. */
static bool is_last_call(const flow_loads_memo *m, const coll_call *call,
                         const halley_fabric *out, const net_price *price)
{
    if (m->price.rate != price->rate || m->price.fixed_s != price->fixed_s)
        return false;
    return m->n == call->n && m->kind == call->kind && m->bytes == call->bytes &&
           m->has_box == (call->box != NULL) &&
           (call->box == NULL || hw_box_equal(&m->box, call->box)) &&
           m->per_node == call->per_node && m->bandwidth_Bps == out->bandwidth_Bps &&
           m->hop_s[0] == out->hop_s[0] && m->hop_s[1] == out->hop_s[1] &&
           m->hop_s[2] == out->hop_s[2];
}

/* Links carry the bytes of the call at another rate. Above 1, fewer bytes cross them: the
 * volume by which the load of every link is divided grows. */
static void apply_price(bundle_loads *l, const net_price *price)
{
    const double rate = price->rate > 0 ? price->rate : 1;
    const double fixed_s = fmax(0, l->own.time_s - l->own.wire_s + price->fixed_s);
    l->own.wire_s /= rate;
    l->own.time_s = l->own.wire_s + fixed_s;
    l->rate_Bps *= rate;
    l->volume_bytes *= fmax(1, rate);
}

static halley_status find_loads(bundle_loads *out, flow_net *f, const flow_group *group,
                                const net_bundle *b)
{
    if (f->has_dims || group->found != NULL) {
        TRY(f->has_dims ? flow_boxes_find_loads(out, f, group, b)
                        : flow_found_find_loads(out, f, group, b));
        apply_price(out, &b->price);
        return HALLEY_OK;
    }
    coll_call call = {.kind = b->kind,
                      .bytes = b->bytes,
                      .n = b->n,
                      .per_node =
                          group->members.n_nodes == 1 ? b->n : group->members.least};
    hw_box path;
    int exponent;
    if (group->members.has_box)
        call.box = &group->members.box;
    if (b->kind == COLL_SEND && f->network->is_regular && group->members.n_nodes == 1) {
        const uint32_t each = f->network->per_node;
        hw_box_of_pair(&path, &f->network->direct, b->ranks[0] % each,
                       b->ranks[1] % each);
        call.box = &path;
    }
    if (is_last_call(&f->memo, &call, &group->out, &b->price)) {
        *out = f->memo.loads;
        return HALLEY_OK;
    }
    coll_call_load(&out->own, &f->cluster->nodes.up, &group->out, &call);
    frexp(b->bytes, &exponent);
    call.bytes = ldexp(1, exponent - 1);
    coll_call_load(&out->canonical, &f->cluster->nodes.up, &group->out, &call);
    if (out->canonical.variant != out->own.variant) {
        call.bytes = b->bytes;
        out->canonical = out->own;
    }
    const coll_load *load = &out->canonical;
    out->canonical_bytes = call.bytes;
    /* Any volume is possible here: rates are relative to it. */
    out->volume_bytes =
        (load->out_s > load->up_s ? load->out_bytes : load->up_bytes) / load->streams;
    out->rate_Bps = out->volume_bytes / load->wire_s;
    assert(out->volume_bytes > 0 && out->rate_Bps > 0);
    apply_price(out, &b->price);
    assert(out->own.time_s >= out->own.wire_s && out->own.wire_s > 0);
    f->memo = (flow_loads_memo){
        .kind = b->kind,
        .bytes = b->bytes,
        .n = b->n,
        .per_node = call.per_node,
        .box = call.box != NULL ? *call.box : (hw_box){0},
        .has_box = call.box != NULL,
        .bandwidth_Bps = group->out.bandwidth_Bps,
        .hop_s = {group->out.hop_s[0], group->out.hop_s[1], group->out.hop_s[2]},
        .price = b->price,
        .loads = *out};
    return HALLEY_OK;
}

/* Compute the links of a call into f->hops. */
static halley_status find_hops(flow_net *f, const net_bundle *b, const flow_group *group,
                               const bundle_loads *loads, double shares[3])
{
    if (f->has_dims)
        TRY(flow_boxes_add(f, group, b, loads));
    else if (group->found != NULL)
        TRY(flow_found_add(f, group, b, loads));
    else
        TRY(flow_loads_add(&f->loads, f->network, &group->members, &loads->canonical,
                           b->root, f->err));
    f->hops.n = 0;
    if (!array_reserve(&f->hops, f->loads.links.n))
        return error_nomem(f->err);
    if (f->has_dims || group->found != NULL)
        shares[HW_LEVEL_NODE] = shares[HW_LEVEL_PORT] = shares[HW_LEVEL_FABRIC] = 1;
    else
        flow_loads_share(shares, &f->loads, f->network, &loads->canonical);
    f->hops.n =
        flow_loads_take(f->hops.at, &f->loads, f->network, loads->volume_bytes, shares);
    return HALLEY_OK;
}

/* Record which collective the flows of a class belong to. */
static bool set_owner(flow_net *f, uint32_t class_id, const flow_owner *owner)
{
    assert(class_id != NET_FLOW_NONE);
    while (f->owners.n <= class_id)
        if (!array_push(&f->owners, (flow_owner){COLL_SEND, 0, 0, 1, 1, 1, NET_NONE, 2}))
            return false;
    f->owners.at[class_id] = *owner;
    return true;
}

static flow_owner describe_owner(const net_bundle *b, const double shares[3])
{
    return (flow_owner){.kind = b->kind,
                        .group = b->kind == COLL_SEND ? 0 : (uint32_t)b->group,
                        .id = b->id,
                        .size = b->n,
                        .payload = shares[HW_LEVEL_NODE],
                        .payload_out = shares[HW_LEVEL_PORT],
                        .n_alike = 1,
                        .first_count = NET_NONE};
}

/* Make the class of a new shape from its links. */
static halley_status make_class(uint32_t *out, flow_net *f, const net_bundle *b,
                                const flow_group *group, const bundle_loads *loads)
{
    double shares[3];
    if (f->first_links != NULL)
        return error_set(f->err, HALLEY_EINVAL,
                         "internal error: a collective was started whose links had not "
                         "been prepared");
    TRY(find_hops(f, b, group, loads, shares));
    *out = net_flow_class_new(f->flow, f->hops.at, (uint32_t)f->hops.n, loads->rate_Bps);
    const flow_owner owner = describe_owner(b, shares);
    return *out == NET_FLOW_NONE || !set_owner(f, *out, &owner) ? error_nomem(f->err)
                                                                : HALLEY_OK;
}

static uint64_t hash_double(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return hash_u64(bits);
}

static uint64_t hash_call(const net_bundle *b, double bytes, uint32_t variant)
{
    return hash_u64(b->group) ^ hash_double(bytes) * 3 ^ hash_double(b->price.rate) * 5 ^
           hash_double(b->price.fixed_s) * 7 ^
           hash_u64((uint64_t)b->root << 32 | (uint64_t)b->kind << 8 | variant);
}

static bool is_shape(const flow_shape *s, const net_bundle *b, const bundle_loads *loads)
{
    return s->group == b->group && s->kind == b->kind && s->root == b->root &&
           s->variant == loads->own.variant &&
           s->canonical_bytes == loads->canonical_bytes && s->rate == b->price.rate;
}

/* Find or add the shape of a call. *fresh: it was added, without a class. */
static halley_status find_shape(uint32_t *out, bool *fresh, flow_net *f,
                                const net_bundle *b, const bundle_loads *loads)
{
    uint64_t hash = hash_call(b, loads->canonical_bytes, loads->own.variant);
    for (;; hash = hash_u64(hash)) {
        *out = (uint32_t)f->shapes.n;
        if (!map64_put(&f->shapes_by_key, hash, out, fresh))
            return error_nomem(f->err);
        if (!*fresh && is_shape(&f->shapes.at[*out], b, loads))
            return HALLEY_OK;
        if (!*fresh)
            continue;
        const flow_shape made = {.group = b->group,
                                 .canonical_bytes = loads->canonical_bytes,
                                 .rate = b->price.rate,
                                 .kind = b->kind,
                                 .root = b->root,
                                 .variant = loads->own.variant,
                                 .class_id = NET_FLOW_NONE};
        return array_push(&f->shapes, made) ? HALLEY_OK : error_nomem(f->err);
    }
}

/* Find the links of a call. If failed links leave no route, use the links it had before
 * the failures: it waits there until they are back. */
static halley_status make_class_or_wait(uint32_t *out, flow_net *f, const net_bundle *b,
                                        const flow_group *group,
                                        const bundle_loads *loads)
{
    halley_status status = make_class(out, f, b, group, loads);
    if (status == HALLEY_OK || status == HALLEY_ENOMEM || f->intact == NULL)
        return status;
    hw_network *const now = f->network;
    f->network = f->intact;
    if (f->err != NULL)
        *f->err = (halley_error){0};
    status = make_class(out, f, b, group, loads);
    f->network = now;
    return status;
}

static halley_status make_call(flow_call *out, flow_net *f, const net_bundle *b)
{
    const flow_group *group = get_group(f, b);
    bundle_loads loads;
    uint32_t shape;
    bool fresh;
    if (group == NULL)
        return error_nomem(f->err);
    assert(group->members.n_members == b->n);
    TRY(find_loads(&loads, f, group, b));
    TRY(find_shape(&shape, &fresh, f, b, &loads));
    if (fresh)
        TRY(make_class_or_wait(&f->shapes.at[shape].class_id, f, b, group, &loads));
    *out =
        (flow_call){.group = b->group,
                    .bytes = b->bytes,
                    .price = b->price,
                    .kind = b->kind,
                    .root = b->root,
                    .class_id = f->shapes.at[shape].class_id,
                    .fixed_ticks = flow_net_ticks(f, loads.own.time_s - loads.own.wire_s),
                    .rate_Bps = loads.rate_Bps,
                    .volume_bytes = loads.own.wire_s * loads.rate_Bps};
    return HALLEY_OK;
}

static bool is_call(const flow_call *c, const net_bundle *b)
{
    return c->group == b->group && c->bytes == b->bytes && c->kind == b->kind &&
           c->root == b->root && c->price.rate == b->price.rate &&
           c->price.fixed_s == b->price.fixed_s;
}

/* NULL: the run has failed. */
static const flow_call *get_call(flow_net *f, const net_bundle *b)
{
    uint64_t hash = hash_call(b, b->bytes, 0);
    for (;; hash = hash_u64(hash)) {
        uint32_t id = (uint32_t)f->calls.n;
        bool fresh;
        flow_call call;
        halley_status status = HALLEY_OK;
        if (!map64_put(&f->calls_by_key, hash, &id, &fresh))
            status = error_nomem(f->err);
        else if (!fresh && is_call(&f->calls.at[id], b))
            return &f->calls.at[id];
        else if (!fresh)
            continue;
        if (status == HALLEY_OK)
            status = make_call(&call, f, b);
        if (status == HALLEY_OK && !array_push(&f->calls, call))
            status = error_nomem(f->err);
        if (status == HALLEY_OK)
            return &f->calls.at[id];
        flow_net_fail(f, status);
        return NULL;
    }
}

net_id flow_net_start_bundle(net *n, const net_bundle *b)
{
    flow_net *f = flow_net_of(n);
    flow_net_catch_up(f); /* routes may change at this very instant */
    const flow_call *call = get_call(f, b);
    if (call == NULL)
        return NET_NONE;
    f->n_messages++;
    return flow_net_start(f, &(flow_transfer){.event = b->event,
                                              .latency_ticks = call->fixed_ticks,
                                              .class_id = call->class_id,
                                              .bytes = call->volume_bytes,
                                              .is_moving = f->intact != NULL,
                                              .rate_Bps = call->rate_Bps,
                                              .root = b->root,
                                              .kind = b->kind,
                                              .group = b->group,
                                              .group_id = b->id,
                                              .call_bytes = b->bytes,
                                              .volume_bytes = call->volume_bytes,
                                              .price = b->price});
}

/*
 * Make the class of a part. Its volume is that of one stream, as for the whole
 * collective, so that it competes by its number of streams. The busiest member has only
 * the fraction `share` of its messages in the part, so it may send each of them faster by
 * 1 / share.
 */
static halley_status make_part_class(uint32_t *out, double *rate_Bps, flow_net *f,
                                     const net_bundle *b, const flow_group *group,
                                     const bundle_loads *loads)
{
    double shares[3], share = 1;
    const flow_part part = {&loads->canonical, b->ranks, b->states, b->root};
    TRY(find_hops(f, b, group, loads, shares)); /* for the fractions of payload */
    TRY(flow_loads_add_part(&share, &f->loads, f->network, &group->members, &part,
                            f->err));
    if (!array_reserve(&f->hops, f->loads.links.n)) {
        flow_loads_drop(&f->loads);
        return error_nomem(f->err);
    }
    f->hops.n = 0;
    f->hops.n =
        flow_loads_take(f->hops.at, &f->loads, f->network, loads->volume_bytes, shares);
    assert(share > 0 && share <= 1 && f->hops.n > 0);
    *rate_Bps = loads->rate_Bps / share;
    *out = net_flow_class(f->flow, f->hops.at, (uint32_t)f->hops.n, *rate_Bps);
    const flow_owner owner = describe_owner(b, shares);
    return *out == NET_FLOW_NONE || !set_owner(f, *out, &owner) ? error_nomem(f->err)
                                                                : HALLEY_OK;
}

net_id flow_net_start_part(net *n, const net_bundle *b)
{
    flow_net *f = flow_net_of(n);
    const flow_group *group = get_group(f, b);
    bundle_loads loads;
    uint32_t class_id = NET_FLOW_NONE;
    double rate_Bps = 0;
    assert(b->states != NULL && f->intact == NULL && f->first_links == NULL);
    halley_status status = group == NULL ? error_nomem(f->err) : HALLEY_OK;
    if (status == HALLEY_OK)
        status = find_loads(&loads, f, group, b);
    if (status == HALLEY_OK)
        status = make_part_class(&class_id, &rate_Bps, f, b, group, &loads);
    if (status != HALLEY_OK) {
        flow_net_fail(f, status);
        return NET_NONE;
    }
    f->n_messages++;
    return flow_net_start(
        f, &(flow_transfer){.event = b->event,
                            .latency_ticks =
                                flow_net_ticks(f, loads.own.time_s - loads.own.wire_s),
                            .class_id = class_id,
                            .rate_Bps = rate_Bps,
                            .bytes = loads.own.wire_s * loads.rate_Bps});
}

/* Find the class with the same links and owner and another cap. NET_FLOW_NONE: no memory.
 */
static uint32_t find_slow_class(flow_net *f, uint32_t class_id, double cap_Bps)
{
    const net_flow_class_use use = net_flow_get_class_use(f->flow, class_id);
    f->hops.n = 0;
    if (!array_reserve(&f->hops, use.n_links))
        return NET_FLOW_NONE;
    for (uint32_t i = 0; i < use.n_links; i++)
        f->hops.at[f->hops.n++] = (net_flow_hop){use.links[i], use.coefficients[i]};
    const uint32_t slow = net_flow_class(f->flow, f->hops.at, use.n_links, cap_Bps);
    const flow_owner owner = f->owners.at[class_id];
    return slow != NET_FLOW_NONE && set_owner(f, slow, &owner) ? slow : NET_FLOW_NONE;
}

void flow_net_slow(net *n, net_id id, uint64_t event, double share)
{
    flow_net *f = flow_net_of(n);
    assert(share > 0 && share <= 1);
    flow_net_catch_up(f);
    if (id >= f->transfers.n || f->transfers.at[id].event != event ||
        !(f->transfers.at[id].rate_Bps > 0))
        return; /* it has drained */
    const flow_transfer t = f->transfers.at[id];
    assert(t.class_id < f->owners.n);
    const uint32_t class_id = find_slow_class(f, t.class_id, t.rate_Bps * share);
    f->transfers.at[id].class_id = class_id;
    if (class_id == NET_FLOW_NONE || !net_flow_move(f->flow, t.flow, class_id))
        flow_net_fail(f, error_nomem(f->err));
}

/* False: failed links leave no way to some member. */
static bool is_connected(const flow_net *f, const flow_members *m)
{
    hw_route route;
    for (uint32_t i = 1; i < m->n_members; i++)
        if (hw_network_find(&route, f->network, m->npus[0], m->npus[i], NULL) !=
                HALLEY_OK ||
            hw_network_find(&route, f->network, m->npus[i], m->npus[0], NULL) !=
                HALLEY_OK)
            return false;
    return true;
}

/* Find the box of a group again, or its schedules. One that is cut keeps what it had, and
 * waits on the failed links. */
static void see_changes(flow_net *f, flow_group *g)
{
    if (!is_connected(f, &g->members))
        return;
    flow_found_free(g->found);
    g->found = NULL;
    flow_members_find_box(&g->members, f->network);
    if (flow_found_can(f, &g->members) &&
        flow_found_new(&g->found, f, &g->members, f->err) != HALLEY_OK)
        flow_net_fail(f, HALLEY_ENOMEM);
}

void flow_net_forget_shapes(flow_net *f)
{
    for (size_t i = 0; i < f->groups.n; i++)
        see_changes(f, &f->groups.at[i]);
    f->memo.n = 0;
    map64_fini(&f->shapes_by_key);
    map64_fini(&f->calls_by_key);
    f->shapes_by_key = f->calls_by_key = (map64){0};
    f->shapes.n = f->calls.n = 0;
}

bool flow_net_move_transfer(flow_net *f, uint32_t transfer)
{
    assert(transfer < f->transfers.n && f->transfers.at[transfer].is_moving);
    const flow_transfer t = f->transfers.at[transfer];
    const uint32_t group = map64_find(&f->groups_by_key, t.group);
    if (group == HASH_NONE)
        return false;
    const flow_members *m = &f->groups.at[group].members;
    const net_bundle b = {.kind = t.kind,
                          .bytes = t.call_bytes,
                          .ranks = m->npus,
                          .n = m->n_members,
                          .root = t.root,
                          .group = t.group,
                          .id = t.group_id,
                          .event = t.event,
                          .price = t.price};
    const flow_call *call = get_call(f, &b);
    if (call == NULL || call->class_id == t.class_id)
        return false;
    const double left = net_flow_left(f->flow, t.flow) / t.volume_bytes;
    net_flow_cancel(f->flow, t.flow);
    flow_transfer *const moved = &f->transfers.at[transfer];
    moved->class_id = call->class_id;
    moved->latency_ticks = call->fixed_ticks;
    moved->volume_bytes = call->volume_bytes;
    moved->flow =
        net_flow_start(f->flow, call->class_id,
                       fmax(left * call->volume_bytes, ldexp(1, -56)), transfer);
    if (moved->flow == NET_FLOW_NONE)
        flow_net_fail(f, error_nomem(f->err));
    return true;
}

net_id flow_net_start_message(flow_net *f, const net_request *r)
{
    const uint32_t pair[] = {r->from, r->to};
    const net_bundle b = net_message_bundle(pair, r->bytes, r->event);
    return flow_net_start_bundle(&f->head, &b);
}

/* Prepare the group of a call that is only queried. Consecutive queries mostly have the
 * same group. */
static halley_status prepare_group(flow_net *f, const net_bundle *b)
{
    if (f->has_prepared && f->prepared_key == b->group)
        return HALLEY_OK;
    if (f->has_prepared)
        fini_group(&f->prepared);
    f->has_prepared = false;
    TRY(init_group(&f->prepared, f, b));
    f->has_prepared = true;
    f->prepared_key = b->group;
    return HALLEY_OK;
}

static void describe_shape(net_shape *out, const flow_net *f, const net_bundle *b,
                           const bundle_loads *loads)
{
    *out = (net_shape){.key = hash_double(loads->canonical_bytes) ^ loads->own.variant ^
                              hash_double(b->price.rate) * 5,
                       .fixed_ticks =
                           flow_net_ticks(f, loads->own.time_s - loads->own.wire_s),
                       .volume_bytes = loads->own.wire_s * loads->rate_Bps,
                       .cap_Bps = loads->rate_Bps};
}

halley_status flow_net_prepare(net_shape *out, net *n, const net_bundle *b)
{
    flow_net *f = flow_net_of(n);
    bundle_loads loads;
    TRY(prepare_group(f, b));
    TRY(find_loads(&loads, f, &f->prepared, b));
    describe_shape(out, f, b, &loads);
    return HALLEY_OK;
}

static_assert(sizeof(net_hop) == sizeof(net_flow_hop), "hops are lent as they are");

halley_status flow_net_prepare_hops(net_shape *out, net *n, const net_bundle *b)
{
    flow_net *f = flow_net_of(n);
    bundle_loads loads;
    double shares[3];
    TRY(prepare_group(f, b));
    TRY(find_loads(&loads, f, &f->prepared, b));
    TRY(find_hops(f, b, &f->prepared, &loads, shares));
    describe_shape(out, f, b, &loads);
    const flow_owner owner = describe_owner(b, shares);
    out->payload = owner.payload;
    out->payload_out = owner.payload_out;
    out->hops = (const net_hop *)(const void *)f->hops.at;
    out->n_hops = (uint32_t)f->hops.n;
    return HALLEY_OK;
}

uint32_t flow_net_count_links(const net *n)
{
    return flow_net_of_const(n)->network->graph->n_links;
}

uint64_t flow_net_colour_link(const net *n, uint32_t link)
{
    const hw_network *w = flow_net_of_const(n)->network;
    return hash_double(w->graph->link_Bps[link]) ^
           hash_u64(hw_network_count_parallel(w, link)) ^
           ((uint64_t)w->graph->link_kind[link] << 2 | w->level[link]);
}

/* Make a solver with the capacities of the first link of every class, or of all links. */
static halley_status make_solver(flow_net *f, const uint32_t *links, uint32_t n,
                                 halley_error *err)
{
    double *capacity_Bps = mem_array(n, sizeof *capacity_Bps);
    if (capacity_Bps == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < n; i++)
        capacity_Bps[i] =
            hw_network_capacity_Bps(f->network, links == NULL ? i : links[i]);
    const halley_status status = net_flow_new(&f->flow, capacity_Bps, n,
                                              &(net_flow_options){.certify = true}, err);
    free(capacity_Bps);
    return status;
}

halley_status flow_net_fold(net *n, const net_link_classes *links, halley_error *err)
{
    flow_net *f = flow_net_of(n);
    assert(f->flow == NULL);
    if (links == NULL)
        return make_solver(f, NULL, f->network->graph->n_links, err);
    f->first_links = mem_array(links->n, sizeof *f->first_links);
    f->n_links = mem_array(links->n, sizeof *f->n_links);
    if (f->first_links == NULL || f->n_links == NULL)
        return error_nomem(err);
    f->n_link_classes = links->n;
    memcpy(f->first_links, links->first, links->n * sizeof *f->first_links);
    memcpy(f->n_links, links->counts, links->n * sizeof *f->n_links);
    return make_solver(f, f->first_links, links->n, err);
}

static halley_status make_folded_class(uint32_t *out, flow_net *f,
                                       const bundle_loads *loads,
                                       const net_fold_hop *hops, uint32_t n_hops)
{
    f->hops.n = 0;
    if (!array_reserve(&f->hops, n_hops) || !array_reserve(&f->counts, n_hops))
        return error_nomem(f->err);
    for (uint32_t i = 0; i < n_hops; i++) {
        assert(hops[i].link < f->n_link_classes && hops[i].n > 0);
        f->hops.at[f->hops.n++] = (net_flow_hop){hops[i].link, hops[i].coefficient};
        f->counts.at[f->counts.n++] = hops[i].n;
    }
    *out = net_flow_class_new(f->flow, f->hops.at, n_hops, loads->rate_Bps);
    return *out == NET_FLOW_NONE ? error_nomem(f->err) : HALLEY_OK;
}

halley_status flow_net_set_hops(net *n, const net_bundle *b, const net_fold_hop *hops,
                                uint32_t n_hops, uint32_t n_alike)
{
    flow_net *f = flow_net_of(n);
    const flow_group *group = get_group(f, b);
    bundle_loads loads;
    uint32_t shape;
    bool fresh;
    double shares[3] = {0};
    assert(f->flow != NULL && f->first_links != NULL);
    if (group == NULL)
        return error_nomem(f->err);
    TRY(find_loads(&loads, f, group, b));
    TRY(find_shape(&shape, &fresh, f, b, &loads));
    if (!fresh)
        return HALLEY_OK;
    TRY(find_hops(f, b, group, &loads, shares)); /* for the fractions of payload */
    flow_owner owner = describe_owner(b, shares);
    owner.n_alike = n_alike;
    owner.first_count = (uint32_t)f->counts.n;
    uint32_t class_id = NET_FLOW_NONE;
    TRY(make_folded_class(&class_id, f, &loads, hops, n_hops));
    f->shapes.at[shape].class_id = class_id;
    return set_owner(f, class_id, &owner) ? HALLEY_OK : error_nomem(f->err);
}

void flow_net_fini_bundles(flow_net *f)
{
    for (size_t i = 0; i < f->groups.n; i++)
        fini_group(&f->groups.at[i]);
    if (f->has_prepared)
        fini_group(&f->prepared);
    map64_fini(&f->groups_by_key);
    map64_fini(&f->shapes_by_key);
    map64_fini(&f->calls_by_key);
    array_fini(&f->groups);
    array_fini(&f->shapes);
    array_fini(&f->calls);
    array_fini(&f->owners);
    array_fini(&f->counts);
    free(f->first_links);
    free(f->n_links);
}
