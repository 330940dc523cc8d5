/*
 * Check that the traces of roles and the rules fit together, so that a simulation of the
 * set can end. Roles are compared in pairs, each pair once. So a million ranks cost a
 * loop over ranks, not over their nodes.
 */
#include "base/hash.h"
#include "trace/core/roles.h"
#include "trace/core/template.h"

#include <assert.h>
#include <string.h>

/* One communication of a role, in file order. */
typedef struct role_call {
    uint32_t rule; /* group or peer */
    uint32_t node;
    uint64_t kind;  /* collective type, or tag */
    uint64_t bytes; /* as the node gives them */
} role_call;
typedef ARRAY(role_call) role_calls;

typedef ARRAY(uint32_t) index_list;
typedef struct role_summary {
    role_calls groups, sends, receives;   /* by rule, then (messages) by tag and size */
    index_list send_rules, receive_rules; /* the first call of each rule */
} role_summary;

typedef struct checker {
    const trace_template *t;
    role_summary *roles;
    uint32_t *role_of; /* by rank */
    size_t *n_calls;   /* by role: calls of the group that is being checked */
    bool has_tables;   /* of peers: ranks of one role can have any peers */
    halley_error *err;
} checker;

static halley_status report_role(const checker *c, uint32_t role)
{
    const str file = c->t->roles.at[role].file;
    char path[512];
    if (file.n > 0 && file.n < sizeof path && c->err != NULL) {
        memcpy(path, file.at, file.n);
        path[file.n] = 0;
        error_at_file(c->err, path);
    }
    return HALLEY_EINVAL;
}

static uint64_t read_rule_number(const trace_roles *r, trace_role role)
{
    uint64_t value = 0;
    (void)trace_roles_u64(r, role, &value);
    return value;
}

static halley_status note_collective(checker *c, uint32_t role, uint32_t node,
                                     const trace_roles *r)
{
    const halley_bytes name = trace_roles_group(r);
    role_call call = {.rule = TRACE_TEMPLATE_NONE,
                      .node = node,
                      .kind = read_rule_number(r, TRACE_ROLE_COMM_TYPE),
                      .bytes = read_rule_number(r, TRACE_ROLE_COMM_SIZE)};
    if (name.n > 0) {
        call.rule = trace_template_find_group(c->t, (str){name.at, name.n});
        if (call.rule == TRACE_TEMPLATE_NONE) {
            error_set(c->err, HALLEY_EINVAL, "node %u: pg_name \"%.*s\" has no rule",
                      node, (int)name.n, name.at);
            return report_role(c, role);
        }
    }
    return array_push(&c->roles[role].groups, call) ? HALLEY_OK : error_nomem(c->err);
}

static halley_status note_message(checker *c, uint32_t role, uint32_t node,
                                  const trace_roles *r)
{
    const halley_trace *const trace = c->t->roles.at[role].trace;
    const bool send = halley_node_type_of(trace, node) == HALLEY_NODE_SEND;
    role_calls *const to = send ? &c->roles[role].sends : &c->roles[role].receives;
    halley_attr a;
    if (!halley_node_find_attr(&a, trace, node, HALLEY_ATTR_NAME_COMM_PEER)) {
        error_set(c->err, HALLEY_EINVAL,
                  "node %u: a message of a role needs comm_peer, the name of a rule",
                  node);
        return report_role(c, role);
    }
    const role_call call = {
        .rule = trace_template_find_peer(c->t, (str){a.bytes.at, a.bytes.n}),
        .node = node,
        .kind = read_rule_number(r, TRACE_ROLE_COMM_TAG),
        .bytes = read_rule_number(r, TRACE_ROLE_COMM_SIZE)};
    if (call.rule == TRACE_TEMPLATE_NONE) {
        error_set(c->err, HALLEY_EINVAL, "node %u: comm_peer \"%.*s\" has no rule", node,
                  (int)a.bytes.n, a.bytes.at);
        return report_role(c, role);
    }
    return array_push(to, call) ? HALLEY_OK : error_nomem(c->err);
}

static int compare_rule_groups(const void *a, const void *b)
{
    const role_call *const x = a, *const y = b;
    if (x->rule != y->rule)
        return x->rule < y->rule ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static int compare_contents(const role_call *x, const role_call *y)
{
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int compare_messages(const void *a, const void *b)
{
    const role_call *const x = a, *const y = b;
    if (x->rule != y->rule)
        return x->rule < y->rule ? -1 : 1;
    const int order = compare_contents(x, y);
    return order != 0 ? order : (x->node > y->node) - (x->node < y->node);
}

static void sort_role_calls(role_calls *a, int (*compare)(const void *, const void *))
{
    if (a->n > 1)
        qsort(a->at, a->n, sizeof *a->at, compare);
}

/* List where the calls of each rule begin. */
static bool list_rules(index_list *to, const role_calls *calls)
{
    for (uint32_t i = 0; i < calls->n; i++)
        if ((i == 0 || calls->at[i].rule != calls->at[i - 1].rule) && !array_push(to, i))
            return false;
    return true;
}

static halley_status summarize_role(checker *c, uint32_t role)
{
    const halley_trace *const trace = c->t->roles.at[role].trace;
    trace_roles r;
    for (uint32_t node = 0; node < halley_trace_count(trace); node++) {
        const uint32_t type = halley_node_type_of(trace, node);
        trace_roles_read(&r, trace, node);
        if (type == HALLEY_NODE_COLL)
            TRY(note_collective(c, role, node, &r));
        else if (type == HALLEY_NODE_SEND || type == HALLEY_NODE_RECV)
            TRY(note_message(c, role, node, &r));
    }
    sort_role_calls(&c->roles[role].groups, compare_rule_groups);
    sort_role_calls(&c->roles[role].sends, compare_messages);
    sort_role_calls(&c->roles[role].receives, compare_messages);
    role_summary *const s = &c->roles[role];
    return list_rules(&s->send_rules, &s->sends) &&
                   list_rules(&s->receive_rules, &s->receives)
               ? HALLEY_OK
               : error_nomem(c->err);
}

/* The calls of one rule: a range of the sorted list. */
static const role_call *find_role_calls(const role_calls *a, uint32_t rule, size_t *n)
{
    size_t first = 0, last;
    while (first < a->n && a->at[first].rule < rule)
        first++;
    for (last = first; last < a->n && a->at[last].rule == rule;)
        last++;
    *n = last - first;
    return a->at + first;
}

/* Two roles with ranks in the same group of this rule must call it in the same way. */
static halley_status compare_roles(const checker *c, uint32_t rule, uint32_t a,
                                   uint32_t b)
{
    size_t n, m;
    const role_call *const x = find_role_calls(&c->roles[a].groups, rule, &n);
    const role_call *const y = find_role_calls(&c->roles[b].groups, rule, &m);
    const str name =
        rule == TRACE_TEMPLATE_NONE ? STR("of all ranks") : c->t->groups.at[rule].name;
    const str one = c->t->roles.at[a].file, other = c->t->roles.at[b].file;
    for (size_t i = 0; i < n && i < m; i++)
        if (compare_contents(&x[i], &y[i]) != 0)
            return error_set(c->err, HALLEY_EINVAL,
                             "group %.*s: its members call it in different order: call "
                             "%zu is node %u in %.*s and node %u in %.*s, of another "
                             "type or size",
                             STR_ARG(name), i, x[i].node, STR_ARG(one), y[i].node,
                             STR_ARG(other));
    if (n != m)
        return error_set(c->err, HALLEY_EINVAL,
                         "group %.*s: its members call it %zu times in %.*s, but %zu "
                         "times in %.*s",
                         STR_ARG(name), n, STR_ARG(one), m, STR_ARG(other));
    return HALLEY_OK;
}

/* Note a pair of roles under a rule. *fresh: it is new. */
static halley_status note_pair(checker *c, map64 *seen, uint32_t rule, uint64_t a,
                               uint64_t b, bool *fresh)
{
    const uint64_t n = c->t->roles.n;
    uint32_t one = 1;
    return map64_put(seen, ((uint64_t)rule * n + a) * n + b, &one, fresh)
               ? HALLEY_OK
               : error_nomem(c->err);
}

/* For each group (key), compare the role of the first member with every other role in
 * it. */
static halley_status check_rule_group(checker *c, uint32_t rule, uint32_t *first)
{
    const trace_template *const t = c->t;
    const bool all = rule == TRACE_TEMPLATE_NONE;
    map64 seen = {0};
    halley_status status = HALLEY_OK;
    memset(first, 0xff, (all ? 1 : t->groups.at[rule].n_keys) * sizeof *first);
    for (size_t i = 0; i < t->roles.n; i++)
        (void)find_role_calls(&c->roles[i].groups, rule, &c->n_calls[i]);
    for (uint32_t rank = 0; rank < t->n_ranks && status == HALLEY_OK; rank++) {
        const uint32_t role = c->role_of[rank];
        const uint32_t key = all ? 0 : trace_template_group_of(t, rule, rank);
        bool fresh = false;
        if (key == TRACE_TEMPLATE_NONE && c->n_calls[role] > 0)
            status = error_set(c->err, HALLEY_EINVAL,
                               "rank %u calls group \"%.*s\", but is no member of it",
                               rank, STR_ARG(t->groups.at[rule].name));
        if (key == TRACE_TEMPLATE_NONE)
            continue;
        if (first[key] == TRACE_TEMPLATE_NONE)
            first[key] = role;
        else if (first[key] != role)
            status = note_pair(c, &seen, 0, first[key], role, &fresh);
        if (status == HALLEY_OK && fresh)
            status = compare_roles(c, rule, first[key], role);
    }
    map64_fini(&seen);
    return status;
}

static halley_status check_groups(checker *c)
{
    uint32_t most = 1;
    for (size_t g = 0; g < c->t->groups.n; g++)
        most = c->t->groups.at[g].n_keys > most ? c->t->groups.at[g].n_keys : most;
    uint32_t *const first = mem_array(most, sizeof *first);
    halley_status status = first != NULL ? check_rule_group(c, TRACE_TEMPLATE_NONE, first)
                                         : error_nomem(c->err);
    for (uint32_t g = 0; g < c->t->groups.n && status == HALLEY_OK; g++)
        status = check_rule_group(c, g, first);
    free(first);
    return status;
}

/* Collect the calls of `a` from `rank` to `peer`, rule by rule, sorted by contents. */
static halley_status collect_channel(const checker *c, role_calls *to,
                                     const role_calls *a, uint32_t rank, uint32_t peer)
{
    uint32_t rule = TRACE_TEMPLATE_NONE;
    bool leads = false;
    to->n = 0;
    for (size_t i = 0; i < a->n; i++) {
        if (a->at[i].rule != rule) {
            rule = a->at[i].rule;
            leads = trace_template_peer_of(c->t, rule, rank) == peer;
        }
        role_call call = a->at[i];
        call.rule = 0;
        if (leads && !array_push(to, call))
            return error_nomem(c->err);
    }
    sort_role_calls(to, compare_messages);
    return HALLEY_OK;
}

/* Check that what one rank sends to another is what the other receives from it. */
static halley_status compare_channel(const checker *c, uint32_t from, uint32_t to)
{
    role_calls out = {0}, in = {0};
    halley_status status =
        collect_channel(c, &out, &c->roles[c->role_of[from]].sends, from, to);
    if (status == HALLEY_OK)
        status = collect_channel(c, &in, &c->roles[c->role_of[to]].receives, to, from);
    size_t i = 0;
    while (i < out.n && i < in.n && compare_contents(&out.at[i], &in.at[i]) == 0)
        i++;
    if (status == HALLEY_OK && (i < out.n || i < in.n)) {
        const bool send =
            i < out.n && (i == in.n || compare_contents(&out.at[i], &in.at[i]) < 0);
        const role_call *const call = send ? &out.at[i] : &in.at[i];
        const uint32_t rank = send ? from : to;
        error_set(c->err, HALLEY_EINVAL,
                  "node %u of rank %u, a %s with tag %llu and %llu bytes, has no %s on "
                  "rank %u",
                  call->node, rank, send ? "send" : "receive",
                  (unsigned long long)call->kind, (unsigned long long)call->bytes,
                  send ? "receive" : "send", send ? to : from);
        status = report_role(c, c->role_of[rank]);
    }
    array_fini(&out);
    array_fini(&in);
    return status;
}

/* Check that every rule that a rank uses leads to a peer. */
static halley_status check_peers_of(const checker *c, uint32_t rank,
                                    const role_calls *calls, const index_list *rules)
{
    for (size_t i = 0; i < rules->n; i++) {
        const role_call *const call = &calls->at[rules->at[i]];
        if (trace_template_peer_of(c->t, call->rule, rank) != TRACE_TEMPLATE_NONE)
            continue;
        error_set(c->err, HALLEY_EINVAL,
                  "node %u: rank %u has no peer \"%.*s\": its axis ends there",
                  call->node, rank, STR_ARG(c->t->peers.at[call->rule].name));
        return report_role(c, c->role_of[rank]);
    }
    return HALLEY_OK;
}

static halley_status check_rule_peers(const checker *c)
{
    for (uint32_t rank = 0; rank < c->t->n_ranks; rank++) {
        const role_summary *const r = &c->roles[c->role_of[rank]];
        TRY(check_peers_of(c, rank, &r->sends, &r->send_rules));
        TRY(check_peers_of(c, rank, &r->receives, &r->receive_rules));
    }
    return HALLEY_OK;
}

/* Check the channels of a rank that no rank of the same role has to the same other role.
 * If peers are listed in tables, check all of them. */
static halley_status check_channels_of(checker *c, map64 *seen, uint32_t rank, bool send)
{
    const role_summary *const r = &c->roles[c->role_of[rank]];
    const role_calls *const calls = send ? &r->sends : &r->receives;
    const index_list *const rules = send ? &r->send_rules : &r->receive_rules;
    for (size_t i = 0; i < rules->n; i++) {
        bool fresh = false;
        const uint32_t rule = calls->at[rules->at[i]].rule;
        const uint32_t peer = trace_template_peer_of(c->t, rule, rank);
        assert(peer != TRACE_TEMPLATE_NONE);
        TRY(note_pair(c, seen, rule, c->role_of[rank], c->role_of[peer], &fresh));
        if (fresh || c->has_tables)
            TRY(send ? compare_channel(c, rank, peer) : compare_channel(c, peer, rank));
    }
    return HALLEY_OK;
}

static halley_status check_channels(checker *c)
{
    map64 sent = {0}, received = {0};
    halley_status status = HALLEY_OK;
    for (uint32_t rank = 0; rank < c->t->n_ranks && status == HALLEY_OK; rank++) {
        status = check_channels_of(c, &sent, rank, true);
        if (status == HALLEY_OK)
            status = check_channels_of(c, &received, rank, false);
    }
    map64_fini(&sent);
    map64_fini(&received);
    return status;
}

halley_status halley_template_check(const halley_template *t, halley_error *err)
{
    return trace_template_check(t, err);
}

halley_status trace_template_check(const trace_template *t, halley_error *err)
{
    checker c = {.t = t,
                 .roles = mem_array_zero(t->roles.n, sizeof *c.roles),
                 .role_of = mem_array(t->n_ranks, sizeof *c.role_of),
                 .n_calls = mem_array(t->roles.n, sizeof *c.n_calls),
                 .err = err};
    halley_status status = c.roles != NULL && c.role_of != NULL && c.n_calls != NULL
                               ? HALLEY_OK
                               : error_nomem(err);
    for (uint32_t i = 0; i < t->roles.n && status == HALLEY_OK; i++)
        status = summarize_role(&c, i);
    for (uint32_t r = 0; r < t->n_ranks && status == HALLEY_OK; r++)
        c.role_of[r] = trace_template_role_of(t, r);
    for (size_t i = 0; i < t->peers.n; i++)
        c.has_tables |= t->peers.at[i].table != NULL;
    if (status == HALLEY_OK)
        status = check_groups(&c);
    if (status == HALLEY_OK)
        status = check_rule_peers(&c);
    if (status == HALLEY_OK)
        status = check_channels(&c);
    for (size_t i = 0; c.roles != NULL && i < t->roles.n; i++) {
        array_fini(&c.roles[i].groups);
        array_fini(&c.roles[i].sends);
        array_fini(&c.roles[i].receives);
        array_fini(&c.roles[i].send_rules);
        array_fini(&c.roles[i].receive_rules);
    }
    free(c.roles);
    free(c.role_of);
    free(c.n_calls);
    return status;
}
