/*
 * sim/load/instance_alike.c - derives the names of ranks from the differences between
 * their files.
 *
 * A program numbers its names by first use. Another trace has the same program if equal
 * names stay equal and different names stay different. So all holes that contain a name
 * must have changed together, to a value that no other name of its sort has.
 */
#include "sim/load/instance_alike.h"

#include <string.h>

enum { UNKNOWN, FIRST_USE, MOST_NAMES = 64, LAST_TAG = 500000000 };

/* What a hole of a node contains: a name, or a tag (numbered after the names). UNKNOWN:
 * it must not change. */
static uint32_t find_use(const sim_program *p, const sim_node *n, const trace_hole *hole)
{
    uint32_t name = SIM_NO_NAME;
    const bool sends = n->type == HALLEY_NODE_SEND, gets = n->type == HALLEY_NODE_RECV;
    const bool calls = n->type == HALLEY_NODE_COLL;
    assert(hole->role > TRACE_HOLE_NONE && hole->role <= TRACE_HOLE_ROOT);
    if (n->flags & (SIM_NODE_TIMED | SIM_NODE_SKIP | SIM_NODE_CHUNKS))
        return UNKNOWN;
    if (hole->role == TRACE_HOLE_TAG && (sends || gets))
        return FIRST_USE + p->n_names + n->b;
    if (hole->role == TRACE_HOLE_GROUP && calls)
        name = n->a;
    else if (hole->role == TRACE_HOLE_ROOT && calls)
        name = n->self;
    else if (hole->role == (sends ? TRACE_HOLE_DST : TRACE_HOLE_SRC) && (sends || gets))
        name = n->a;
    else if (hole->role == (sends ? TRACE_HOLE_SRC : TRACE_HOLE_DST) && (sends || gets))
        name = n->self;
    return name == SIM_NO_NAME ? UNKNOWN : FIRST_USE + name;
}

/* The holes of a node are consecutive. The first of a role counts; others must not
 * change. */
static void find_node_uses(sim_alike *a, const sim_node *n, uint32_t first)
{
    const trace_holes *h = a->holes;
    uint32_t seen = 0;
    for (uint32_t i = first; i < h->n && h->at[i].node == n->trace_index; i++) {
        const uint32_t role = UINT32_C(1) << h->at[i].role;
        a->uses[i] = seen & role ? UNKNOWN : find_use(a->program, n, &h->at[i]);
        seen |= role;
        if (a->uses[i] >= FIRST_USE)
            a->n_uses[a->uses[i] - FIRST_USE]++;
    }
}

/* A name that also occurs outside of holes must not change: its count is set to
 * UINT32_MAX, which no number of changed holes reaches. */
static void fix_names(sim_alike *a, uint32_t *totals)
{
    const sim_program *p = a->program;
    const uint32_t n_all = p->n_names + p->n_tags;
    for (uint32_t i = 0; i < p->n; i++) {
        const sim_node *n = &p->nodes[i];
        const bool is_message =
            n->type == HALLEY_NODE_SEND || n->type == HALLEY_NODE_RECV;
        if ((!is_message && n->type != HALLEY_NODE_COLL) ||
            n->flags & (SIM_NODE_TIMED | SIM_NODE_SKIP | SIM_NODE_CHUNKS))
            continue;
        if (n->a != SIM_NO_NAME)
            totals[n->a]++;
        if (n->self != SIM_NO_NAME)
            totals[n->self]++;
        if (is_message)
            totals[p->n_names + n->b]++;
    }
    for (uint32_t i = 0; i < n_all; i++)
        a->n_uses[i] = a->n_uses[i] == totals[i] ? totals[i] : UINT32_MAX;
}

static bool find_uses(sim_alike *a, uint32_t n_nodes)
{
    const trace_holes *h = a->holes;
    uint32_t *first = mem_array(n_nodes, sizeof *first); /* by node of the trace */
    if (first == NULL)
        return false;
    memset(first, 0xff, n_nodes * sizeof *first);
    for (uint32_t i = h->n; i-- > 0;) {
        first[h->at[i].node] = i;
        a->uses[i] = UNKNOWN;
    }
    for (uint32_t i = 0; i < a->program->n; i++) {
        const sim_node *n = &a->program->nodes[i];
        assert(n->trace_index < n_nodes);
        if (first[n->trace_index] != UINT32_MAX)
            find_node_uses(a, n, first[n->trace_index]);
    }
    free(first);
    fix_names(a, a->counts); /* zero so far */
    return true;
}

halley_status sim_alike_init(sim_alike *out, const trace_holes *holes,
                             const sim_program *p, const uint32_t *values,
                             const uint32_t *tags, halley_error *err)
{
    const size_t n = (size_t)p->n_names + p->n_tags;
    *out = (sim_alike){.holes = holes,
                       .program = p,
                       .values = values,
                       .tags = tags,
                       .uses = mem_array(holes->n, sizeof *out->uses),
                       .n_uses = mem_array_zero(n, sizeof *out->n_uses),
                       .counts = mem_array_zero(n, sizeof *out->counts)};
    if (out->uses != NULL && out->n_uses != NULL && out->counts != NULL &&
        find_uses(out, halley_trace_count(holes->trace)))
        return HALLEY_OK;
    sim_alike_fini(out);
    return error_nomem(err);
}

void sim_alike_fini(sim_alike *a)
{
    free(a->uses);
    free(a->n_uses);
    free(a->counts);
    *a = (sim_alike){0};
}

/* The index of a group, as in programs; false: there is none, or it is all ranks. */
static bool read_group(uint32_t *out, const halley_cluster *c, str name)
{
    int64_t id;
    if (str_eq(name, STR("0")) || !str_to_i64(name, &id))
        return false;
    *out = cluster_find_group(c, id);
    return *out != UINT32_MAX;
}

static bool read_value(uint32_t *out, const sim_alike *a, const trace_differences *d,
                       const trace_difference *one, const halley_cluster *c)
{
    const trace_hole *hole = &a->holes->at[one->hole];
    assert(one->hole < a->holes->n);
    const bool is_signed =
        hole->kind != HALLEY_ATTR_UINT32 && hole->kind != HALLEY_ATTR_UINT64;
    if (hole->role == TRACE_HOLE_GROUP)
        return read_group(out, c, trace_difference_text(d, one));
    if (is_signed && one->bits >> 63 != 0)
        return false; /* negative */
    if (hole->role == TRACE_HOLE_TAG)
        *out = (uint32_t)((int32_t)(uint32_t)one->bits % LAST_TAG);
    else
        *out = (uint32_t)one->bits;
    return hole->role == TRACE_HOLE_TAG || one->bits < c->n_npus;
}

typedef struct alike_names {
    uint32_t *values, *tags; /* copies, made when something changes */
} alike_names;

/* Apply one difference. The same name must get the same value everywhere. */
static bool take_difference(alike_names *to, const sim_alike *a, uint32_t use,
                            uint32_t value)
{
    const uint32_t n_names = a->program->n_names;
    uint32_t *at = use < n_names ? &to->values[use] : &to->tags[use - n_names];
    assert(use < n_names + a->program->n_tags);
    if (a->counts[use] > 0 && *at != value)
        return false;
    *at = value;
    a->counts[use]++;
    return true;
}

static bool is_same_sort(const sim_name *a, const sim_name *b)
{
    return a->kind == b->kind && a->of == b->of;
}

/* True if for every name all holes have changed or none, and no two names of a sort are
 * equal. */
static bool is_one_to_one(const alike_names *to, const sim_alike *a)
{
    const sim_program *p = a->program;
    for (uint32_t i = 0; i < p->n_names; i++) {
        if (a->counts[i] != 0 && a->counts[i] != a->n_uses[i])
            return false;
        for (uint32_t k = 0; k < i; k++)
            if (to->values[i] == to->values[k] &&
                is_same_sort(&p->names[i], &p->names[k]))
                return false;
    }
    for (uint32_t i = 0; to->tags != a->tags && i < p->n_tags; i++) {
        const uint32_t use = p->n_names + i;
        if (a->counts[use] != 0 && a->counts[use] != a->n_uses[use])
            return false;
        for (uint32_t k = 0; k < i; k++)
            if (to->tags[i] == to->tags[k] && p->tag_names[i] == p->tag_names[k])
                return false;
    }
    return true;
}

static bool changes_tags(const sim_alike *a, const trace_differences *d)
{
    for (uint32_t i = 0; i < d->n; i++)
        if (a->holes->at[d->at[i].hole].role == TRACE_HOLE_TAG)
            return true;
    return false;
}

static uint32_t *copy_names(arena *memory, const uint32_t *from, uint32_t n)
{
    uint32_t *to = arena_array(memory, n, sizeof *to);
    if (to != NULL && n > 0)
        memcpy(to, from, n * sizeof *to);
    return to;
}

static bool take_differences(alike_names *to, const sim_alike *a,
                             const trace_differences *d, const halley_cluster *cluster)
{
    uint32_t value = 0, last_use = UNKNOWN;
    for (uint32_t i = 0; i < d->n; i++) {
        const trace_difference *one = &d->at[i];
        const uint32_t use = a->uses[one->hole];
        const bool again = i > 0 && use == last_use && one->bits == one[-1].bits &&
                           one->n == one[-1].n; /* most are like the previous one */
        if (use == UNKNOWN || (!again && !read_value(&value, a, d, one, cluster)) ||
            !take_difference(to, a, use - FIRST_USE, value))
            return false;
        last_use = use;
    }
    return is_one_to_one(to, a);
}

bool sim_alike_bind(const uint32_t **values, const uint32_t **tags, const sim_alike *a,
                    const trace_differences *d, const halley_cluster *cluster,
                    arena *memory)
{
    const sim_program *p = a->program;
    assert(d->n > 0 && p->n == halley_trace_count(a->holes->trace));
    const bool new_tags = changes_tags(a, d);
    if (p->n_names > MOST_NAMES || (new_tags && p->n_tags > MOST_NAMES))
        return false;
    alike_names to = {.values = copy_names(memory, a->values, p->n_names),
                      .tags = new_tags ? copy_names(memory, a->tags, p->n_tags)
                                       : (uint32_t *)(uintptr_t)a->tags};
    memset(a->counts, 0, ((size_t)p->n_names + p->n_tags) * sizeof *a->counts);
    if (to.values == NULL || (new_tags && to.tags == NULL) ||
        !take_differences(&to, a, d, cluster))
        return false;
    *values = to.values;
    *tags = to.tags;
    return true;
}
