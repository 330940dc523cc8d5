/*
 * Find the roles of a set. Ranks have the same role if their traces are equal except for
 * node names and a one-to-one renaming of groups and peers. Node ids and metadata are not
 * compared either. Each trace is written in canonical form, in which groups and peers are
 * slots numbered by first use. Equal texts are one role. Slots of different roles that
 * lead to the same group are one rule.
 */
#include "trace/core/template_set.h"

#include "trace/core/roles.h"

#include <assert.h>
#include <string.h>

static void put_role_number(strbuf *to, uint64_t value)
{
    strbuf_add(to, (str){(const char *)&value, sizeof value});
}

static void put_role_bytes(strbuf *to, halley_bytes b)
{
    put_role_number(to, b.n);
    strbuf_add(to, (str){b.at, b.n});
}

/* The slot of a value, numbered by first use. */
static uint32_t find_role_slot(slot_list *slots, uint32_t value, bool *failed)
{
    for (uint32_t i = 0; i < slots->n; i++)
        if (slots->at[i] == value)
            return i;
    *failed |= !array_push(slots, value);
    return (uint32_t)slots->n - 1;
}

/* The state of writing a rank's canonical form. */
typedef struct rank_writer {
    const set_roles *s;
    const halley_trace *t;
    uint32_t rank;
    strbuf text;
    slot_list groups, peers;
    bool failed;
    halley_error *err;
} rank_writer;

static halley_status put_role_group(rank_writer *w, const halley_attr *a)
{
    const str name = {a->bytes.at, a->bytes.n};
    if (name.n == 0 || str_eq(name, STR("0"))) {
        put_role_number(&w->text, UINT64_MAX);
        return HALLEY_OK;
    }
    const uint32_t group =
        map64_find(&w->s->group_of_name, hash_bytes(name.at, name.n, 0));
    if (group == HASH_NONE)
        return error_set(w->err, HALLEY_EINVAL,
                         "rank %u calls group \"%.*s\", which no file of groups lists",
                         w->rank, STR_ARG(name));
    put_role_number(&w->text, find_role_slot(&w->groups, group, &w->failed));
    return HALLEY_OK;
}

static halley_status put_peer(rank_writer *w, const halley_attr *a, bool source,
                              bool send)
{
    int64_t rank;
    if (!halley_attr_to_i64(a, &rank) || rank < 0 || rank >= w->s->n_ranks)
        return error_set(w->err, HALLEY_EINVAL,
                         "rank %u has a message whose ends are not ranks of the set",
                         w->rank);
    if (source == send && rank != w->rank)
        return error_set(w->err, HALLEY_EINVAL,
                         "rank %u has a message of rank %lld, not of its own", w->rank,
                         (long long)rank);
    put_role_number(
        &w->text, source == send ? UINT64_MAX
                                 : find_role_slot(&w->peers, (uint32_t)rank, &w->failed));
    return HALLEY_OK;
}

static halley_status put_role_attr(rank_writer *w, uint32_t node, const halley_attr *a)
{
    const uint32_t type = halley_node_type_of(w->t, node);
    const bool message = type == HALLEY_NODE_SEND || type == HALLEY_NODE_RECV;
    const trace_role role = trace_role_of(a->name);
    put_role_bytes(&w->text, a->name);
    put_role_number(&w->text, a->kind);
    if (role == TRACE_ROLE_PG_NAME && a->kind == HALLEY_ATTR_STRING)
        return put_role_group(w, a);
    if (message && (role == TRACE_ROLE_COMM_SRC || role == TRACE_ROLE_COMM_DST))
        return put_peer(w, a, role == TRACE_ROLE_COMM_SRC, type == HALLEY_NODE_SEND);
    put_role_number(&w->text, a->bits);
    put_role_bytes(&w->text, a->bytes);
    put_role_bytes(&w->text, a->unknown);
    return HALLEY_OK;
}

static void put_role_io(strbuf *to, halley_io io)
{
    put_role_number(to, io.present);
    put_role_bytes(to, io.values);
    put_role_bytes(to, io.shapes);
    put_role_bytes(to, io.types);
}

static halley_status put_role_node(rank_writer *w, uint32_t node)
{
    const halley_trace *t = w->t;
    put_role_number(&w->text, halley_node_type_of(t, node));
    put_role_number(&w->text, halley_node_start_us(t, node));
    put_role_number(&w->text, halley_node_duration_us(t, node));
    put_role_number(&w->text, halley_node_data_count(t, node));
    for (uint32_t i = 0; i < halley_node_data_count(t, node); i++)
        put_role_number(&w->text, halley_node_data(t, node, i).index);
    put_role_number(&w->text, halley_node_ctrl_count(t, node));
    for (uint32_t i = 0; i < halley_node_ctrl_count(t, node); i++)
        put_role_number(&w->text, halley_node_ctrl(t, node, i).index);
    put_role_io(&w->text, halley_node_inputs(t, node));
    put_role_io(&w->text, halley_node_outputs(t, node));
    put_role_bytes(&w->text, halley_node_unknown(t, node));
    put_role_number(&w->text, halley_node_attr_count(t, node));
    for (uint32_t i = 0; i < halley_node_attr_count(t, node); i++) {
        const halley_attr a = halley_node_attr(t, node, i);
        TRY(put_role_attr(w, node, &a));
    }
    return HALLEY_OK;
}

/* Find the role with that text, or add one with this rank as its first. */
static bool place_rank(set_roles *s, rank_writer *w, map64 *seen)
{
    uint32_t role;
    bool fresh;
    uint64_t hash = hash_bytes(w->text.at, w->text.n, 7);
    for (;; hash = hash_u64(hash + 1)) { /* other text with this hash: go on */
        role = (uint32_t)s->roles.n;
        if (!map64_put(seen, hash, &role, &fresh))
            return false;
        if (fresh || str_eq(strbuf_str(&s->roles.at[role].text), strbuf_str(&w->text)))
            break;
    }
    s->role_of[w->rank] = role;
    if (!fresh)
        return true;
    const set_role made = {.rank = w->rank,
                           .n_groups = (uint32_t)w->groups.n,
                           .n_peers = (uint32_t)w->peers.n,
                           .first_group = s->n_group_slots,
                           .first_peer = s->n_peer_slots,
                           .text = w->text};
    w->text = (strbuf){0};
    s->n_group_slots += made.n_groups;
    s->n_peer_slots += made.n_peers;
    return array_push(&s->roles, made);
}

static halley_status read_role_rank(set_roles *s, uint32_t rank, map64 *seen,
                                    halley_error *err)
{
    rank_writer w = {
        .s = s, .t = halley_trace_set_get(s->set, rank), .rank = rank, .err = err};
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; i < halley_trace_count(w.t) && status == HALLEY_OK; i++)
        status = put_role_node(&w, i);
    w.failed |= w.text.failed;
    if (status == HALLEY_OK && (w.failed || !place_rank(s, &w, seen)))
        status = error_nomem(err);
    s->bound_at[rank] = (uint32_t)s->bindings.n;
    bool fine = true;
    for (size_t i = 0; i < w.groups.n; i++)
        fine = fine && array_push(&s->bindings, w.groups.at[i]);
    for (size_t i = 0; i < w.peers.n; i++)
        fine = fine && array_push(&s->bindings, w.peers.at[i]);
    s->bound_at[rank + 1] = (uint32_t)s->bindings.n;
    strbuf_fini(&w.text);
    array_fini(&w.groups);
    array_fini(&w.peers);
    return status == HALLEY_OK && !fine ? error_nomem(err) : status;
}

static uint32_t find_role_root(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* Put group slots that lead to the same group into one class. */
static halley_status join_slots(set_roles *s, uint32_t *parent, uint32_t *first,
                                halley_error *err)
{
    for (uint32_t i = 0; i < s->n_group_slots; i++)
        parent[i] = i;
    memset(first, 0xff, s->groups.list.n * sizeof *first);
    for (uint32_t rank = 0; rank < s->n_ranks; rank++) {
        const set_role *r = &s->roles.at[s->role_of[rank]];
        for (uint32_t k = 0; k < r->n_groups; k++) {
            uint32_t *const f = &first[set_roles_groups(s, rank)[k]];
            if (*f == UINT32_MAX)
                *f = r->first_group + k;
            parent[find_role_root(parent, r->first_group + k)] =
                find_role_root(parent, *f);
        }
    }
    for (uint32_t i = 0; i < s->n_group_slots; i++) {
        s->class_of[i] = UINT32_MAX;
        const uint32_t root = find_role_root(parent, i);
        if (root == i)
            s->class_of[i] = s->n_classes++;
    }
    for (uint32_t i = 0; i < s->n_group_slots; i++)
        s->class_of[i] = s->class_of[find_role_root(parent, i)];
    for (size_t i = 0; i < s->roles.n; i++)
        for (uint32_t a = 0; a < s->roles.at[i].n_groups; a++)
            for (uint32_t b = 0; b < a; b++)
                if (s->class_of[s->roles.at[i].first_group + a] ==
                    s->class_of[s->roles.at[i].first_group + b])
                    return error_set(err, HALLEY_EINVAL,
                                     "the set cannot be written as roles: rank %u is in "
                                     "two groups of one kind",
                                     s->roles.at[i].rank);
    return HALLEY_OK;
}

static halley_status classify_slots(set_roles *s, halley_error *err)
{
    uint32_t *parent = mem_array(s->n_group_slots, sizeof *parent);
    uint32_t *first = mem_array(s->groups.list.n, sizeof *first);
    s->class_of = mem_array(s->n_group_slots, sizeof *s->class_of);
    const halley_status status = parent != NULL && first != NULL && s->class_of != NULL
                                     ? join_slots(s, parent, first, err)
                                     : error_nomem(err);
    free(parent);
    free(first);
    return status;
}

static halley_status load_groups(set_roles *s, const char *path, halley_error *err)
{
    TRY(path != NULL ? trace_groups_load(&s->groups, path, err)
                     : trace_groups_collect(&s->groups, s->set, err));
    for (uint32_t i = 0; i < s->groups.list.n; i++) {
        const trace_group *g = &s->groups.list.at[i];
        const str name = g->name;
        for (uint32_t k = 1; k < g->n_ranks; k++)
            if (g->ranks[k] <= g->ranks[k - 1])
                return error_set(err, HALLEY_EINVAL,
                                 "the set cannot be written as roles: group \"%.*s\" "
                                 "does not list its ranks in ascending order",
                                 STR_ARG(name));
        if (!map64_set(&s->group_of_name, hash_bytes(name.at, name.n, 0), i))
            return error_nomem(err);
    }
    return HALLEY_OK;
}

halley_status set_roles_init(set_roles *s, const halley_trace_set *set,
                             const char *groups, halley_error *err)
{
    map64 seen = {0};
    *s = (set_roles){.set = set, .n_ranks = halley_trace_set_count(set)};
    s->role_of = mem_array(s->n_ranks, sizeof *s->role_of);
    s->bound_at = mem_array((size_t)s->n_ranks + 1, sizeof *s->bound_at);
    halley_status status = s->role_of != NULL && s->bound_at != NULL
                               ? load_groups(s, groups, err)
                               : error_nomem(err);
    for (uint32_t rank = 0; rank < s->n_ranks && status == HALLEY_OK; rank++)
        status = read_role_rank(s, rank, &seen, err);
    map64_fini(&seen);
    if (status == HALLEY_OK)
        status = classify_slots(s, err);
    return status;
}

void set_roles_fini(set_roles *s)
{
    for (size_t i = 0; i < s->roles.n; i++)
        strbuf_fini(&s->roles.at[i].text);
    array_fini(&s->roles);
    array_fini(&s->bindings);
    map64_fini(&s->group_of_name);
    trace_groups_fini(&s->groups);
    free(s->role_of);
    free(s->bound_at);
    free(s->class_of);
}
