/*
 * Find rules for the roles of a set. Axes are cut where groups, peers and roles show a
 * boundary. A rule is kept if it gives what the set has for every rank. If any rule is
 * missing, all of them become a table.
 */
#include "trace/core/roles.h"
#include "trace/core/template_set.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The names of the slots of every role, and their rules. */
typedef struct naming {
    uint32_t *peer_rule; /* by peer slot: number of its rule */
    uint32_t n_peer_rules;
    trace_template_peer peers[64];
} naming;

/* Add the boundaries of a group: its ranks as nested steps. */
static bool add_group_borders(slot_list *to, const trace_group *g)
{
    uint32_t done = 1;
    while (done < g->n_ranks) {
        const uint32_t step = g->ranks[done] - g->ranks[0];
        uint32_t n = 1;
        for (size_t at = done; at < g->n_ranks && g->ranks[at] == g->ranks[0] + n * step;
             at += done)
            n++;
        if (g->ranks[done] <= g->ranks[0] || !array_push(to, step) ||
            !array_push(to, step * n))
            return false;
        done *= n;
    }
    return true;
}

/* Add the boundaries of a peer: the distance and, if it wraps, the size of the axis. */
static bool add_peer_borders(slot_list *to, const set_roles *s, uint32_t role, uint32_t k)
{
    uint32_t least = UINT32_MAX, most = 0;
    for (uint32_t rank = 0; rank < s->n_ranks; rank++) {
        if (s->role_of[rank] != role)
            continue;
        const uint32_t peer = set_roles_peers(s, rank)[k];
        const uint32_t d = peer > rank ? peer - rank : rank - peer;
        least = d < least ? d : least;
        most = d > most ? d : most;
    }
    if (least == UINT32_MAX || least == 0)
        return true;
    return array_push(to, least) && (most == least || array_push(to, most + least));
}

/* Add the rank where the next role begins, and the rank where the first role begins
 * again. */
static bool add_role_borders(slot_list *to, const set_roles *s)
{
    uint32_t n = 1;
    while (n < s->n_ranks && s->role_of[n] == s->role_of[0])
        n++;
    if (!array_push(to, n))
        return false;
    while (n < s->n_ranks && s->role_of[n] != s->role_of[0])
        n++;
    return array_push(to, n);
}

/* Keep a boundary of peers only if it divides, or is divided by, every other boundary. A
 * step over several stages is not a boundary. */
static bool add_fitting(slot_list *to, const slot_list *wanted)
{
    for (size_t i = 0; i < wanted->n; i++) {
        const uint32_t d = wanted->at[i];
        bool fits = d > 0;
        for (size_t k = 0; k < to->n && fits; k++)
            fits = d % to->at[k] == 0 || to->at[k] % d == 0;
        if (fits && !array_push(to, d))
            return false;
    }
    return true;
}

static bool collect_borders(slot_list *to, const set_roles *s)
{
    slot_list peers = {0};
    bool fine =
        array_push(to, 1) && array_push(to, s->n_ranks) && add_role_borders(to, s);
    for (uint32_t i = 0; i < s->roles.n && fine; i++) {
        const set_role *r = &s->roles.at[i];
        for (uint32_t k = 0; k < r->n_groups && fine; k++)
            fine = add_group_borders(to,
                                     &s->groups.list.at[set_roles_groups(s, r->rank)[k]]);
        for (uint32_t k = 0; k < r->n_peers && fine; k++)
            fine = add_peer_borders(&peers, s, i, k);
    }
    fine = fine && add_fitting(to, &peers);
    array_fini(&peers);
    if (fine)
        mem_sort_u32(to->at, to->n);
    return fine;
}

/* Make an axis between each two neighbouring boundaries. False: one does not divide the
 * next. */
static bool cut_axes(trace_template *t, const slot_list *borders)
{
    uint32_t last = 1;
    char name[16];
    for (size_t i = 0; i < borders->n; i++) {
        const uint32_t next = borders->at[i];
        if (next == last)
            continue;
        snprintf(name, sizeof name, "a%u", t->n_axes);
        assert(last > 0);
        if (next == 0 || next % last != 0 || next > t->n_ranks ||
            trace_template_add_axis(t, str_from(name), next / last, NULL) != HALLEY_OK)
            return false;
        last = next;
    }
    if (t->n_axes == 0)
        return trace_template_add_axis(t, STR("a0"), 1, NULL) == HALLEY_OK;
    return last == t->n_ranks;
}

/* Find the conditions of a role: its ranks must be all those with certain digits. */
static bool find_when(const trace_template *t, const set_roles *s, uint32_t role,
                      trace_when *when, trace_range *ranges, uint32_t *n_when)
{
    uint64_t product = 1, count = 0;
    size_t n_ranges = 0;
    *n_when = 0;
    for (uint32_t axis = 0; axis < t->n_axes; axis++) {
        const uint32_t size = t->axes[axis].size;
        uint8_t *seen = mem_array_zero(size, 1);
        const size_t first = n_ranges;
        uint32_t n = 0;
        if (seen == NULL)
            return false;
        for (uint32_t rank = 0; rank < s->n_ranks; rank++)
            if (s->role_of[rank] == role)
                seen[trace_template_digit(t, axis, rank)] = 1;
        for (uint32_t d = 0; d < size; d++) {
            if (!seen[d])
                continue;
            n++;
            if (n_ranges > first && ranges[n_ranges - 1].last + 1 == d)
                ranges[n_ranges - 1].last = d;
            else
                ranges[n_ranges++] = (trace_range){d, d};
        }
        free(seen);
        product *= n;
        if (n < size)
            when[(*n_when)++] =
                (trace_when){axis, (uint32_t)(n_ranges - first), ranges + first};
    }
    for (uint32_t rank = 0; rank < s->n_ranks; rank++)
        count += s->role_of[rank] == role;
    return product == count;
}

/* The axes in which members of a group differ. */
static uint32_t find_mask(const trace_template *t, const trace_group *g)
{
    uint32_t mask = 0;
    for (uint32_t i = 1; i < g->n_ranks; i++)
        for (uint32_t a = 0; a < t->n_axes; a++)
            if (trace_template_digit(t, a, g->ranks[i]) !=
                trace_template_digit(t, a, g->ranks[0]))
                mask |= 1u << a;
    return mask;
}

/* Add a rule for every class of groups, from the first group of that class. */
static bool add_group_rules(trace_template *t, const set_roles *s)
{
    char name[16];
    for (uint32_t c = 0; c < s->n_classes; c++) {
        const trace_group *g = NULL;
        for (uint32_t i = 0; i < s->roles.n && g == NULL; i++)
            for (uint32_t k = 0; k < s->roles.at[i].n_groups && g == NULL; k++)
                if (s->class_of[s->roles.at[i].first_group + k] == c)
                    g = &s->groups.list.at[set_roles_groups(s, s->roles.at[i].rank)[k]];
        assert(g != NULL);
        snprintf(name, sizeof name, "g%u", c);
        const trace_template_group rule = {
            .name = str_from(name), .axes = find_mask(t, g), .every = 1};
        if (trace_template_add_group(t, &rule, NULL) != HALLEY_OK)
            return false;
    }
    return true;
}

/* The step from a rank to its peer along one axis. False: they do not differ in exactly
 * one axis. */
static bool find_step(const trace_template *t, uint32_t rank, uint32_t peer,
                      uint32_t *axis, int64_t *distance)
{
    uint32_t n = 0;
    for (uint32_t a = 0; a < t->n_axes; a++) {
        const int64_t d =
            (int64_t)trace_template_digit(t, a, peer) - trace_template_digit(t, a, rank);
        if (d == 0)
            continue;
        *axis = a;
        *distance = d;
        n++;
    }
    return n == 1;
}

/* Find the rule of a peer slot, if all ranks of the role follow one. */
static bool find_peer_rule(const trace_template *t, const set_roles *s, uint32_t role,
                           uint32_t k, trace_template_peer *out)
{
    bool first = true;
    for (uint32_t rank = 0; rank < s->n_ranks; rank++) {
        uint32_t axis;
        int64_t d;
        if (s->role_of[rank] != role)
            continue;
        if (!find_step(t, rank, set_roles_peers(s, rank)[k], &axis, &d))
            return false;
        const int64_t size = t->axes[axis].size;
        if (first)
            *out = (trace_template_peer){.axis = axis, .distance = (int32_t)d};
        first = false;
        if (axis != out->axis || (d - out->distance) % size != 0)
            return false;
        out->wrap |= d != out->distance;
    }
    if (out->wrap && out->distance > 0 &&
        out->distance > (int32_t)t->axes[out->axis].size / 2)
        out->distance -= (int32_t)t->axes[out->axis].size;
    return true;
}

static bool add_peer_rules(trace_template *t, const set_roles *s, naming *n)
{
    for (uint32_t i = 0; i < s->roles.n; i++)
        for (uint32_t k = 0; k < s->roles.at[i].n_peers; k++) {
            trace_template_peer p = {0};
            uint32_t at = 0;
            char name[16];
            if (!find_peer_rule(t, s, i, k, &p))
                return false;
            while (at < n->n_peer_rules &&
                   (n->peers[at].axis != p.axis || n->peers[at].distance != p.distance ||
                    n->peers[at].wrap != p.wrap))
                at++;
            n->peer_rule[s->roles.at[i].first_peer + k] = at;
            if (at < n->n_peer_rules)
                continue;
            if (at == sizeof n->peers / sizeof *n->peers)
                return false;
            snprintf(name, sizeof name, "p%u", at);
            p.name = str_from(name);
            n->peers[n->n_peer_rules++] = p;
            if (trace_template_add_peer(t, &p, NULL) != HALLEY_OK)
                return false;
        }
    return true;
}

/* The state of writing the trace of a role. */
typedef struct role_writer {
    const set_roles *s;
    const set_role *r;
    const naming *n;
    halley_builder *b;
} role_writer;

static void write_name(const role_writer *w, const char *attr, char letter, uint32_t rule)
{
    char name[16];
    const int n = snprintf(name, sizeof name, "%c%u", letter, rule);
    (void)halley_builder_attr_text(w->b, attr, (halley_bytes){name, (size_t)n});
}

static void write_peer(const role_writer *w, const halley_attr *a)
{
    const uint32_t *peers = set_roles_peers(w->s, w->r->rank);
    int64_t rank = 0;
    uint32_t k = 0;
    (void)halley_attr_to_i64(a, &rank);
    while (peers[k] != (uint32_t)rank)
        k++;
    assert(k < w->r->n_peers);
    write_name(w, HALLEY_ATTR_NAME_COMM_PEER, 'p', w->n->peer_rule[w->r->first_peer + k]);
}

static void write_group_rule(const role_writer *w, str name)
{
    const uint32_t *groups = set_roles_groups(w->s, w->r->rank);
    const uint32_t group =
        map64_find(&w->s->group_of_name, hash_bytes(name.at, name.n, 0));
    uint32_t k = 0;
    while (groups[k] != group)
        k++;
    assert(k < w->r->n_groups);
    write_name(w, HALLEY_ATTR_NAME_PG_NAME, 'g', w->s->class_of[w->r->first_group + k]);
}

static void write_attr(const role_writer *w, uint32_t type, const halley_attr *a)
{
    const bool send = type == HALLEY_NODE_SEND;
    const bool message = send || type == HALLEY_NODE_RECV;
    const trace_role role = trace_role_of(a->name);
    const str value = {a->bytes.at, a->bytes.n};
    if (message && role == (send ? TRACE_ROLE_COMM_DST : TRACE_ROLE_COMM_SRC))
        write_peer(w, a);
    else if (role == TRACE_ROLE_PG_NAME && a->kind == HALLEY_ATTR_STRING && value.n > 0 &&
             !str_eq(value, STR("0")))
        write_group_rule(w, value);
    else if (!message || (role != TRACE_ROLE_COMM_SRC && role != TRACE_ROLE_COMM_DST))
        (void)halley_builder_attr(w->b, a);
}

/* Write the trace of a role with the names of rules. */
static halley_status write_role_rule(halley_trace **out, const set_roles *s,
                                     uint32_t role, const naming *n, halley_error *err)
{
    role_writer w = {.s = s, .r = &s->roles.at[role], .n = n};
    const halley_trace *t = halley_trace_set_get(s->set, w.r->rank);
    TRY(halley_builder_new(&w.b, err));
    if (halley_trace_has_metadata(t))
        (void)halley_builder_version(w.b, halley_trace_version(t));
    for (uint32_t node = 0; node < halley_trace_count(t); node++) {
        trace_template_copy_head(w.b, t, node);
        for (uint32_t i = 0; i < halley_node_attr_count(t, node); i++) {
            const halley_attr a = halley_node_attr(t, node, i);
            write_attr(&w, halley_node_type_of(t, node), &a);
        }
    }
    return halley_builder_finish(out, w.b, err);
}

static halley_status add_role_traces(trace_template *t, const set_roles *s,
                                     const naming *n, bool by_rule, bool *fits,
                                     halley_error *err)
{
    trace_when when[TRACE_TEMPLATE_MAX_AXES];
    trace_range *ranges = mem_array((size_t)s->n_ranks + 1, sizeof *ranges);
    halley_status status = ranges != NULL ? HALLEY_OK : error_nomem(err);
    *fits = true;
    for (uint32_t i = 0; i < s->roles.n && status == HALLEY_OK && *fits; i++) {
        trace_template_role role = {.when = when, .rank = TRACE_TEMPLATE_NONE};
        if (by_rule)
            *fits = find_when(t, s, i, when, ranges, &role.n_when);
        if (!*fits)
            break;
        status = write_role_rule(&role.trace, s, i, n, err);
        if (status == HALLEY_OK)
            status = trace_template_add_role(t, &role, err);
    }
    free(ranges);
    return status;
}

/* Do the rules give the set's own groups and peers for every rank? */
static bool check_rules(const trace_template *t, const set_roles *s, const naming *n)
{
    for (uint32_t rank = 0; rank < s->n_ranks; rank++) {
        const uint32_t role = s->role_of[rank];
        const set_role *r = &s->roles.at[role];
        if (trace_template_role_of(t, rank) != role)
            return false;
        for (uint32_t k = 0; k < r->n_groups; k++) {
            const trace_group *g = &s->groups.list.at[set_roles_groups(s, rank)[k]];
            const uint32_t rule = s->class_of[r->first_group + k];
            const uint32_t key = trace_template_group_of(t, rule, rank);
            if (trace_template_group_size(t, rule, key) != g->n_ranks ||
                trace_template_member(t, rule, key, 0) != g->ranks[0])
                return false;
        }
        for (uint32_t k = 0; k < r->n_peers; k++)
            if (trace_template_peer_of(t, n->peer_rule[r->first_peer + k], rank) !=
                set_roles_peers(s, rank)[k])
                return false;
    }
    return true;
}

/* Find rules. *found is true if they exist and hold. */
static halley_status find_rules(trace_template *t, const set_roles *s, naming *n,
                                bool *found, halley_error *err)
{
    slot_list borders = {0};
    *found = false;
    t->n_ranks = s->n_ranks;
    const bool cut = collect_borders(&borders, s) && cut_axes(t, &borders);
    array_fini(&borders);
    if (!cut || !add_group_rules(t, s) || !add_peer_rules(t, s, n))
        return HALLEY_OK;
    bool fits;
    TRY(add_role_traces(t, s, n, true, &fits, err));
    *found = fits && trace_template_end(t, NULL) == HALLEY_OK && check_rules(t, s, n);
    return HALLEY_OK;
}

/* Add a column for each class of groups, with group numbers by first use. */
static halley_status add_group_tables(trace_template *t, const set_roles *s,
                                      uint32_t *column, halley_error *err)
{
    uint32_t *number = mem_array(s->groups.list.n, sizeof *number);
    halley_status status = number != NULL ? HALLEY_OK : error_nomem(err);
    for (uint32_t c = 0; c < s->n_classes && status == HALLEY_OK; c++) {
        uint32_t next = 0;
        char name[16];
        memset(number, 0xff, s->groups.list.n * sizeof *number);
        for (uint32_t rank = 0; rank < s->n_ranks; rank++) {
            const set_role *r = &s->roles.at[s->role_of[rank]];
            column[rank] = TRACE_TEMPLATE_NONE;
            for (uint32_t k = 0; k < r->n_groups; k++) {
                uint32_t *g = &number[set_roles_groups(s, rank)[k]];
                if (s->class_of[r->first_group + k] != c)
                    continue;
                *g = *g == UINT32_MAX ? next++ : *g;
                column[rank] = *g;
            }
        }
        snprintf(name, sizeof name, "g%u", c);
        const trace_template_group g = {.name = str_from(name), .table = column};
        status = trace_template_add_group(t, &g, err);
    }
    free(number);
    return status;
}

/* Add a column for the k-th peer of every rank. */
static halley_status add_peer_tables(trace_template *t, const set_roles *s, naming *n,
                                     uint32_t *column, halley_error *err)
{
    uint32_t most = 0;
    for (size_t i = 0; i < s->roles.n; i++) {
        const set_role *r = &s->roles.at[i];
        most = r->n_peers > most ? r->n_peers : most;
        for (uint32_t k = 0; k < r->n_peers; k++)
            n->peer_rule[r->first_peer + k] = k;
    }
    for (uint32_t k = 0; k < most; k++) {
        char name[16];
        for (uint32_t rank = 0; rank < s->n_ranks; rank++)
            column[rank] = k < s->roles.at[s->role_of[rank]].n_peers
                               ? set_roles_peers(s, rank)[k]
                               : TRACE_TEMPLATE_NONE;
        snprintf(name, sizeof name, "p%u", k);
        const trace_template_peer p = {.name = str_from(name), .table = column};
        TRY(trace_template_add_peer(t, &p, err));
    }
    return HALLEY_OK;
}

static halley_status make_tables(trace_template *t, const set_roles *s, naming *n,
                                 halley_error *err)
{
    bool fits;
    t->n_ranks = s->n_ranks;
    uint32_t *roles = arena_array(&t->memory, s->n_ranks, sizeof *roles);
    uint32_t *column = arena_array(&t->memory, s->n_ranks, sizeof *column);
    if (roles == NULL || column == NULL)
        return error_nomem(err);
    memcpy(roles, s->role_of, s->n_ranks * sizeof *roles);
    t->role_table = roles;
    TRY(add_group_tables(t, s, column, err));
    TRY(add_peer_tables(t, s, n, column, err));
    TRY(add_role_traces(t, s, n, false, &fits, err));
    return trace_template_end(t, err);
}

static halley_status write_template(trace_template *t, const set_roles *s,
                                    halley_error *err)
{
    naming n = {0};
    bool found = false;
    n.peer_rule = mem_array(s->n_peer_slots, sizeof *n.peer_rule);
    halley_status status =
        n.peer_rule != NULL ? find_rules(t, s, &n, &found, err) : error_nomem(err);
    if (status == HALLEY_OK && !found) {
        trace_template_fini(t);
        status = make_tables(t, s, &n, err);
    }
    free(n.peer_rule);
    return status;
}

halley_status halley_template_of_set(halley_template **out, const halley_trace_set *set,
                                     const char *groups, halley_error *err)
{
    set_roles s;
    if (halley_trace_set_count(set) > TRACE_TEMPLATE_MAX_RANKS)
        return error_set(err, HALLEY_ELIMIT, "a template set has at most %u ranks",
                         TRACE_TEMPLATE_MAX_RANKS);
    trace_template *t = calloc(1, sizeof *t);
    if (t == NULL)
        return error_nomem(err);
    halley_status status = set_roles_init(&s, set, groups, err);
    if (status == HALLEY_OK)
        status = write_template(t, &s, err);
    set_roles_fini(&s);
    if (status == HALLEY_OK)
        *out = t;
    else
        halley_template_free(t);
    return status;
}
