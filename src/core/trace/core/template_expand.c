/*
 * Make the traces of single ranks. The trace of a role is built once, with placeholders
 * for what differs between ranks (names of groups, ends of messages). The trace of a rank
 * is a copy of the values only, in which these places are filled.
 */
#include "base/call.h"
#include "trace/core/regroup.h"
#include "trace/core/roles.h"
#include "trace/core/store.h"
#include "trace/core/template.h"

#include <assert.h>
#include <stdio.h>

typedef enum place_kind { PLACE_GROUP, PLACE_SOURCE, PLACE_TARGET } place_kind;

/* A value that differs between ranks. */
typedef struct place {
    uint32_t at; /* index of the value in its column */
    uint32_t rule;
    place_kind kind;
    bool sends; /* the rank itself is the source */
} place;

/* The trace of a role with placeholders. */
typedef struct base_trace {
    halley_trace *trace;
    ARRAY(place) places;
} base_trace;

static void fini_base(base_trace *b)
{
    halley_trace_free(b->trace);
    array_fini(&b->places);
}

static str attr_text(const halley_attr *a)
{
    return (str){a->bytes.at, a->bytes.n};
}

static bool is_named(const halley_attr *a, const char *name)
{
    return str_eq((str){a->name.at, a->name.n}, str_from(name));
}

void trace_template_copy_head(halley_builder *b, const halley_trace *t, uint32_t node)
{
    (void)halley_builder_node(b, halley_node_id(t, node), halley_node_type_of(t, node),
                              halley_node_name(t, node));
    (void)halley_builder_time(b, halley_node_start_us(t, node),
                              halley_node_duration_us(t, node));
    for (uint32_t i = 0; i < halley_node_data_count(t, node); i++)
        (void)halley_builder_data(b, halley_node_data(t, node, i).id);
    for (uint32_t i = 0; i < halley_node_ctrl_count(t, node); i++)
        (void)halley_builder_ctrl(b, halley_node_ctrl(t, node, i).id);
    const halley_io in = halley_node_inputs(t, node), out = halley_node_outputs(t, node);
    if (in.present)
        (void)halley_builder_inputs(b, &in);
    if (out.present)
        (void)halley_builder_outputs(b, &out);
    const halley_bytes unknown = halley_node_unknown(t, node);
    if (unknown.n > 0)
        (void)halley_builder_unknown(b, unknown);
}

/* Copy a node. Its comm_peer becomes comm_src and comm_dst. */
static void copy_node(halley_builder *b, const halley_trace *t, uint32_t node)
{
    trace_template_copy_head(b, t, node);
    for (uint32_t i = 0; i < halley_node_attr_count(t, node); i++) {
        const halley_attr a = halley_node_attr(t, node, i);
        if (!is_named(&a, HALLEY_ATTR_NAME_COMM_PEER)) {
            (void)halley_builder_attr(b, &a);
            continue;
        }
        (void)halley_builder_attr_i32(b, HALLEY_ATTR_NAME_COMM_SRC, 0);
        (void)halley_builder_attr_i32(b, HALLEY_ATTR_NAME_COMM_DST, 0);
    }
}

static halley_status copy_role(halley_trace **out, const halley_trace *t,
                               halley_error *err)
{
    halley_builder *b = NULL;
    TRY(halley_builder_new(&b, err));
    if (halley_trace_has_metadata(t))
        (void)halley_builder_version(b, halley_trace_version(t));
    for (uint32_t i = 0; i < halley_trace_metadata_count(t); i++) {
        const halley_attr a = halley_trace_metadata(t, i);
        (void)halley_builder_metadata(b, &a);
    }
    for (uint32_t node = 0; node < halley_trace_count(t); node++)
        copy_node(b, t, node);
    return halley_builder_finish(out, b, err);
}

/* The index of the value of a node's attribute of that name; HASH_NONE = absent. */
static uint32_t find_value(const trace_store *s, uint32_t node, const char *name)
{
    const uint32_t flat = trace_shape_find(s, s->shape.at[node], str_from(name));
    return flat == HASH_NONE ? HASH_NONE
                             : s->value_at.at[node] + s->shapes.flat.at[flat].slot;
}

static halley_status push_place(base_trace *b, place p, halley_error *err)
{
    assert(p.at != HASH_NONE);
    return array_push(&b->places, p) ? HALLEY_OK : error_nomem(err);
}

/* Add the ends of a message, if the role names them by rule. */
static halley_status add_ends(base_trace *b, const trace_template *t,
                              const halley_trace *role, uint32_t node, halley_error *err)
{
    halley_attr a;
    if (!halley_node_find_attr(&a, role, node, HALLEY_ATTR_NAME_COMM_PEER))
        return HALLEY_OK;
    const trace_store *const s = &b->trace->s;
    place p = {.rule = trace_template_find_peer(t, attr_text(&a)),
               .kind = PLACE_SOURCE,
               .sends = halley_node_type_of(role, node) == HALLEY_NODE_SEND};
    if (p.rule == TRACE_TEMPLATE_NONE)
        return error_set(err, HALLEY_EINVAL, "comm_peer \"%.*s\" has no rule",
                         STR_ARG(attr_text(&a)));
    p.at = find_value(s, node, HALLEY_ATTR_NAME_COMM_SRC);
    TRY(push_place(b, p, err));
    p.kind = PLACE_TARGET;
    p.at = find_value(s, node, HALLEY_ATTR_NAME_COMM_DST);
    return push_place(b, p, err);
}

/* Add the group of a node, unless it is that of all ranks. */
static halley_status add_group_name(base_trace *b, const trace_template *t,
                                    const halley_trace *role, uint32_t node,
                                    halley_error *err)
{
    trace_roles r;
    trace_roles_read(&r, role, node);
    const halley_bytes name = trace_roles_group(&r);
    if (name.n == 0)
        return HALLEY_OK;
    const uint32_t rule = trace_template_find_group(t, (str){name.at, name.n});
    if (rule == TRACE_TEMPLATE_NONE)
        return error_set(err, HALLEY_EINVAL, "pg_name \"%.*s\" has no rule", (int)name.n,
                         name.at);
    const place p = {.at = find_value(&b->trace->s, node, HALLEY_ATTR_NAME_PG_NAME),
                     .rule = rule,
                     .kind = PLACE_GROUP};
    return push_place(b, p, err);
}

static halley_status init_base(base_trace *b, const trace_template *t, uint32_t role,
                               halley_error *err)
{
    const halley_trace *const from = t->roles.at[role].trace;
    TRY(copy_role(&b->trace, from, err));
    for (uint32_t node = 0; node < halley_trace_count(from); node++) {
        TRY(add_group_name(b, t, from, node, err));
        TRY(add_ends(b, t, from, node, err));
    }
    return HALLEY_OK;
}

/* Make the group names of one rank, once for each rule. */
static halley_status name_groups(text_ref *names, trace_store *s, const trace_template *t,
                                 uint32_t rank, halley_error *err)
{
    for (uint32_t g = 0; g < t->groups.n; g++) {
        const uint32_t key = trace_template_group_of(t, g, rank);
        char text[16];
        names[g] = 0;
        if (key == TRACE_TEMPLATE_NONE)
            continue;
        const int n = snprintf(text, sizeof text, "%u", t->groups.at[g].first_id + key);
        names[g] = trace_text_copy(s, (str){text, (size_t)n}, (str){0});
        if (names[g] == 0)
            return error_nomem(err);
    }
    return HALLEY_OK;
}

static halley_status fill_place(trace_store *s, const trace_template *t, const place *p,
                                const text_ref *names, uint32_t rank, halley_error *err)
{
    if (p->kind == PLACE_GROUP) {
        if (names[p->rule] == 0)
            return error_set(err, HALLEY_EINVAL,
                             "rank %u calls group \"%.*s\", but is no member of it", rank,
                             STR_ARG(t->groups.at[p->rule].name));
        s->values.at[p->at] = names[p->rule];
        return HALLEY_OK;
    }
    const uint32_t peer = trace_template_peer_of(t, p->rule, rank);
    if (peer == TRACE_TEMPLATE_NONE)
        return error_set(err, HALLEY_EINVAL,
                         "rank %u has no peer \"%.*s\": its axis ends there", rank,
                         STR_ARG(t->peers.at[p->rule].name));
    s->values.at[p->at] = (p->kind == PLACE_SOURCE) == p->sends ? rank : peer;
    return HALLEY_OK;
}

static halley_status expand_base(halley_trace **out, const base_trace *b,
                                 const trace_template *t, uint32_t rank,
                                 halley_error *err)
{
    halley_trace *made = NULL;
    text_ref *const names = mem_array_zero(t->groups.n, sizeof *names);
    halley_status status =
        names != NULL ? trace_lend(&made, b->trace, err) : error_nomem(err);
    if (status == HALLEY_OK)
        status = name_groups(names, &made->s, t, rank, err);
    for (size_t i = 0; i < b->places.n && status == HALLEY_OK; i++)
        status = fill_place(&made->s, t, &b->places.at[i], names, rank, err);
    free(names);
    if (status == HALLEY_OK)
        *out = made;
    else
        halley_trace_free(made);
    return status;
}

halley_status trace_template_expand(halley_trace **out, const trace_template *t,
                                    uint32_t rank, halley_error *err)
{
    base_trace b = {0};
    halley_status status = init_base(&b, t, trace_template_role_of(t, rank), err);
    if (status == HALLEY_OK)
        status = expand_base(out, &b, t, rank, err);
    fini_base(&b);
    return status;
}

static halley_status expand_ranks(halley_trace **to, base_trace *bases,
                                  const trace_template *t, halley_error *err)
{
    for (uint32_t rank = 0; rank < t->n_ranks; rank++) {
        const uint32_t role = trace_template_role_of(t, rank);
        TRY(call_check(err));
        if (bases[role].trace == NULL)
            TRY(init_base(&bases[role], t, role, err));
        TRY(expand_base(&to[rank], &bases[role], t, rank, err));
    }
    return HALLEY_OK;
}

halley_status trace_template_expand_all(halley_trace_set **out, const trace_template *t,
                                        halley_error *err)
{
    halley_trace **const list = mem_array_zero(t->n_ranks, sizeof *list);
    base_trace *const bases = mem_array_zero(t->roles.n, sizeof *bases);
    halley_status status = list != NULL && bases != NULL
                               ? expand_ranks(list, bases, t, err)
                               : error_nomem(err);
    for (size_t i = 0; bases != NULL && i < t->roles.n; i++)
        fini_base(&bases[i]);
    if (status == HALLEY_OK)
        status = halley_trace_set_new(out, list, t->n_ranks, err);
    for (uint32_t i = 0; status != HALLEY_OK && list != NULL && i < t->n_ranks; i++)
        halley_trace_free(list[i]); /* otherwise the set owns them */
    free(list);
    free(bases);
    return status;
}
