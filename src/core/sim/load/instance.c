/* sim/load/instance.c - programs and names of the ranks of a trace set. */
#include "sim/load/instance.h"

#include "sim/load/instance_alike.h"
#include "sim/rules.h"

#include <string.h>

typedef struct maker {
    sim_instance *to;
    const sim_instance_opts *o;
    map64 seen;     /* trace and kind -> first rank that has them */
    table by_hash;  /* programs */
    map64 by_holes; /* holes and kind -> place in `alike` */
    ARRAY(sim_alike) alike;
    halley_error *err;
} maker;

/* The options by which the compute nodes of a rank are timed: those of its kind of NPU.
 */
static sim_program_opts choose_kind(const maker *m, uint32_t kind)
{
    const halley_cluster *c = m->o->cluster;
    assert(kind == 0 || kind < c->n_kinds);
    sim_program_opts o = {.cluster = c,
                          .npu = kind == 0 ? &c->npu : &c->other_kinds[kind - 1],
                          .peak_flops = c->system.peak_flops,
                          .mem_Bps = c->system.mem_Bps,
                          .ticks_per_s = m->o->ticks_per_s,
                          .times_only = m->o->run->times_only,
                          .recorded_on = m->o->run->recorded_on};
    if (c->n_kinds < 2)
        return o;
    o.peak_flops = o.npu->peak_flops[HALLEY_BF16];
    for (int i = 0; i < HALLEY_N_DTYPES && !(o.peak_flops > 0); i++)
        o.peak_flops = o.npu->peak_flops[i];
    o.mem_Bps = o.npu->n_tiers > 0 ? o.npu->tiers[0].bandwidth_Bps : 0;
    return o;
}

static uint64_t hash_program(const sim_program *p)
{
    uint64_t h = hash_bytes(p->nodes, ((size_t)p->n + 1) * sizeof *p->nodes, p->n);
    h = hash_bytes(p->children, p->nodes[p->n].first_child * sizeof *p->children, h);
    h = hash_bytes(p->tag_names, p->n_tags * sizeof *p->tag_names, h);
    for (uint32_t i = 0; i < p->n_names; i++)
        h = hash_u64(h ^ ((uint64_t)p->names[i].kind << 32 | p->names[i].of));
    return h;
}

static bool is_same_array(const void *a, const void *b, size_t n)
{
    return n == 0 || memcmp(a, b, n) == 0;
}

static bool is_same_tensors(const sim_tensors *a, const sim_tensors *b, uint32_t n_nodes)
{
    if (a->n != b->n || (a->first_use == NULL) != (b->first_use == NULL) ||
        a->has_bad_sizes != b->has_bad_sizes)
        return false;
    if (a->first_use == NULL)
        return true;
    if (!is_same_array(a->bytes, b->bytes, a->n * sizeof *a->bytes) ||
        !is_same_array(a->n_reads, b->n_reads, a->n * sizeof *a->n_reads) ||
        !is_same_array(a->written, b->written, a->n * sizeof *a->written) ||
        memcmp(a->first_use, b->first_use,
               ((size_t)n_nodes + 1) * sizeof *a->first_use) != 0)
        return false;
    for (uint32_t i = 0; i < a->first_use[n_nodes]; i++)
        if (a->uses[i].tensor != b->uses[i].tensor || a->uses[i].kind != b->uses[i].kind)
            return false;
    return true;
}

static bool is_same_names(const sim_program *a, const sim_program *b)
{
    if (a->n_names != b->n_names || a->n_tags != b->n_tags ||
        !is_same_array(a->tag_names, b->tag_names, a->n_tags * sizeof *a->tag_names))
        return false;
    for (uint32_t i = 0; i < a->n_names; i++)
        if (a->names[i].kind != b->names[i].kind || a->names[i].of != b->names[i].of)
            return false;
    return true;
}

/* True if two programs are equal in everything except what their names refer to. */
static bool is_same_program(const sim_program *a, const sim_program *b)
{
    return a->n == b->n && a->n_lanes == b->n_lanes && a->n_sets == b->n_sets &&
           a->dangling == b->dangling && a->has_unknown_types == b->has_unknown_types &&
           a->has_uncounted == b->has_uncounted && a->retime == b->retime &&
           a->compute_bound_ticks == b->compute_bound_ticks &&
           a->compute_ticks == b->compute_ticks && a->compute_use == b->compute_use &&
           a->memory_use == b->memory_use && a->intensity == b->intensity &&
           is_same_names(a, b) &&
           is_same_array(a->nodes, b->nodes, ((size_t)a->n + 1) * sizeof *a->nodes) &&
           is_same_array(a->children, b->children,
                         a->nodes[a->n].first_child * sizeof *a->children) &&
           is_same_array(a->lanes, b->lanes, a->n_lanes * sizeof *a->lanes) &&
           is_same_tensors(&a->tensors, &b->tensors, a->n);
}

/* True if a node has a list of sizes, which is read from the trace while it runs. */
static bool has_lists(const sim_program *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (p->nodes[i].flags & SIM_NODE_UNEVEN)
            return true;
    return false;
}

/* Find an equal program, or UINT32_MAX. */
static uint32_t find_program(const maker *m, const sim_program *p, uint64_t hash)
{
    uint32_t slot = TABLE_NONE, id;
    assert(m->o->share && p->n > 0);
    while ((id = table_next(&m->by_hash, hash, &slot)) != TABLE_NONE)
        if (is_same_program(m->to->programs.at[id], p))
            return id;
    return UINT32_MAX;
}

/* Keep what the names of a trace refer to, but not its program. */
static halley_status keep_names(maker *m, uint32_t rank, sim_program *p)
{
    assert(rank < m->to->n && m->to->program_of[rank] < m->to->programs.n);
    if (!array_push(&m->to->kept, p->own)) {
        sim_program_fini(p);
        return error_nomem(m->err);
    }
    m->to->values[rank] = p->own.values;
    m->to->tags[rank] = p->own.tags;
    p->own = (sim_names){0};
    sim_program_fini(p);
    return HALLEY_OK;
}

static halley_status add_program(maker *m, uint32_t rank, const sim_program *p,
                                 uint64_t hash, bool listed)
{
    sim_program *kept = malloc(sizeof *kept);
    const uint32_t id = (uint32_t)m->to->programs.n;
    if (kept == NULL || !array_push(&m->to->programs, kept) ||
        (listed && !table_add(&m->by_hash, hash, id))) {
        if (kept != NULL && m->to->programs.n > id)
            m->to->programs.n--;
        free(kept);
        return error_nomem(m->err);
    }
    *kept = *p;
    m->to->program_of[rank] = id;
    m->to->values[rank] = kept->own.values;
    m->to->tags[rank] = kept->own.tags;
    return HALLEY_OK;
}

static halley_status compile_rank(maker *m, uint32_t rank, uint32_t kind)
{
    assert(rank < m->to->n && m->to->traces[rank] != NULL);
    const halley_trace *trace = m->to->traces[rank];
    const sim_program_opts opts = choose_kind(m, kind);
    sim_program p;
    if (halley_trace_count(trace) > SIM_MOST_NODES)
        return error_set(m->err, HALLEY_ELIMIT,
                         "rank %u has %u nodes, and a simulation handles %d a rank", rank,
                         halley_trace_count(trace), SIM_MOST_NODES);
    TRY(sim_program_init(&p, trace, &opts, m->err));
    if (p.n == 0) {
        sim_program_fini(&p);
        error_set(m->err, HALLEY_EINVAL, "the trace of rank %u is empty", rank);
        error_at_file(m->err, halley_trace_path(trace));
        return HALLEY_EINVAL;
    }
    const bool listed = m->o->share && !has_lists(&p);
    const uint64_t hash = listed ? hash_program(&p) : 0;
    const uint32_t like = listed ? find_program(m, &p, hash) : UINT32_MAX;
    if (like != UINT32_MAX) {
        m->to->program_of[rank] = like;
        return keep_names(m, rank, &p);
    }
    const halley_status status = add_program(m, rank, &p, hash, listed);
    if (status != HALLEY_OK)
        sim_program_fini(&p);
    return status;
}

static void copy_rank(sim_instance *to, uint32_t rank, uint32_t from)
{
    assert(from < rank && to->program_of[from] < to->programs.n);
    to->program_of[rank] = to->program_of[from];
    to->values[rank] = to->values[from];
    to->tags[rank] = to->tags[from];
}

static uint64_t hash_kind(const halley_trace *trace, uint32_t kind)
{
    return (uint64_t)(uintptr_t)trace ^ hash_u64(kind);
}

static halley_status add_rank(maker *m, uint32_t rank)
{
    const halley_cluster *c = m->o->cluster;
    const uint32_t kind = c->n_kinds > 1 ? halley_cluster_kind_of(c, rank) : 0;
    const uint64_t key = hash_kind(m->to->traces[rank], kind);
    uint32_t first = rank;
    bool fresh;
    if (m->o->representative != NULL && m->o->representative[rank] != rank) {
        copy_rank(m->to, rank, m->o->representative[rank]);
        return HALLEY_OK;
    }
    if (!map64_put(&m->seen, key, &first, &fresh))
        return error_nomem(m->err);
    if (fresh)
        return compile_rank(m, rank, kind);
    copy_rank(m->to, rank, first);
    return HALLEY_OK;
}

/* Find the program of a trace that others are differences of. If it is not compiled yet,
 * compile it for `rank`. */
static halley_status get_alike(uint32_t *out, maker *m, uint32_t rank, uint32_t kind,
                               const trace_holes *holes)
{
    sim_instance *to = m->to;
    const uint64_t key = hash_kind(holes->trace, kind);
    bool fresh;
    *out = (uint32_t)m->alike.n;
    if (!map64_put(&m->by_holes, key, out, &fresh))
        return error_nomem(m->err);
    if (!fresh)
        return HALLEY_OK;
    uint32_t first = map64_find(&m->seen, key);
    if (first == UINT32_MAX) {
        TRY(compile_rank(m, rank, kind));
        first = rank;
    }
    sim_alike made;
    assert(first < to->n && to->program_of[first] < to->programs.n);
    TRY(sim_alike_init(&made, holes, to->programs.at[to->program_of[first]],
                       to->values[first], to->tags[first], m->err));
    made.program_id = to->program_of[first];
    if (array_push(&m->alike, made))
        return HALLEY_OK;
    sim_alike_fini(&made);
    return error_nomem(m->err);
}

/* Build the whole trace of a rank of which only differences are kept. */
static halley_status make_trace(maker *m, uint32_t rank, const trace_alike_rank *of,
                                const char *path)
{
    halley_trace *made;
    TRY(trace_holes_apply(&made, of->holes, of->differences, path, m->err));
    if (!array_push(&m->to->made, made)) {
        halley_trace_free(made);
        return error_nomem(m->err);
    }
    m->to->traces[rank] = made;
    return HALLEY_OK;
}

static halley_status add_alike_rank(maker *m, uint32_t rank, const trace_alike_rank *of,
                                    const char *path)
{
    sim_instance *to = m->to;
    const halley_cluster *c = m->o->cluster;
    const uint32_t kind = c->n_kinds > 1 ? halley_cluster_kind_of(c, rank) : 0;
    uint32_t id;
    if (m->o->share) {
        TRY(get_alike(&id, m, rank, kind, of->holes));
        assert(id < m->alike.n && m->alike.at[id].program_id < to->programs.n);
        if (sim_alike_bind(&to->values[rank], &to->tags[rank], &m->alike.at[id],
                           of->differences, c, &to->memory)) {
            to->program_of[rank] = m->alike.at[id].program_id;
            return HALLEY_OK;
        }
    }
    TRY(make_trace(m, rank, of, path));
    return compile_rank(m, rank, kind);
}

/* Report the error of the lowest rank. Which files are stored as differences of others
 * depends on threads, but the reported error must not. */
static halley_status find_first_error(maker *m, const halley_trace_set *set,
                                      halley_status status)
{
    const halley_error found = *m->err;
    if (trace_set_is_whole(set) || status == HALLEY_ENOMEM)
        return status;
    for (uint32_t i = 0; i < m->to->n; i++) {
        trace_alike_rank of;
        m->to->traces[i] = halley_trace_set_get(set, i);
        halley_status here = HALLEY_OK;
        if (trace_set_alike(&of, set, i))
            here = make_trace(m, i, &of, halley_trace_set_path(set, i));
        const halley_cluster *c = m->o->cluster;
        if (here == HALLEY_OK)
            here = compile_rank(m, i, c->n_kinds > 1 ? halley_cluster_kind_of(c, i) : 0);
        if (here != HALLEY_OK)
            return here;
    }
    *m->err = found;
    return status;
}

static halley_status find_places(sim_instance *to, halley_error *err)
{
    for (uint32_t g = 0; g < to->n_groups; g++)
        for (uint32_t i = 0; i < to->groups[g].n; i++)
            if (!map64_set(&to->places, (uint64_t)g << 32 | to->groups[g].ranks[i], i))
                return error_nomem(err);
    return HALLEY_OK;
}

halley_status sim_instance_begin(sim_instance *out, const sim_instance_opts *o,
                                 halley_error *err)
{
    const uint32_t n = o->cluster->n_npus;
    assert(n > 0 && o->ticks_per_s > 0);
    *out = (sim_instance){.n = n,
                          .groups = o->cluster->groups,
                          .n_groups = o->cluster->n_groups,
                          .program_of = mem_array(n, sizeof *out->program_of),
                          .traces = mem_array(n, sizeof *out->traces),
                          .values = mem_array(n, sizeof *out->values),
                          .tags = mem_array(n, sizeof *out->tags)};
    if (out->program_of == NULL || out->traces == NULL || out->values == NULL ||
        out->tags == NULL)
        return error_nomem(err);
    if (out->n_groups > SIM_MOST_GROUPS)
        return error_set(err, HALLEY_ELIMIT,
                         "there are %u groups, and a simulation handles %d",
                         out->n_groups, SIM_MOST_GROUPS);
    return HALLEY_OK;
}

halley_status sim_instance_compile(sim_instance *in, uint32_t rank, uint32_t kind,
                                   const sim_instance_opts *o, halley_error *err)
{
    maker m = {.to = in, .o = o, .err = err};
    const halley_status status = compile_rank(&m, rank, kind);
    table_fini(&m.by_hash);
    return status;
}

/* Whole traces come first, because other ranks may be differences of them. */
static halley_status add_ranks(maker *m, const halley_trace_set *set)
{
    trace_alike_rank of;
    m->to->set = set;
    for (uint32_t i = 0; i < m->to->n; i++) {
        m->to->traces[i] = halley_trace_set_get(set, i);
        if (!trace_set_alike(&of, set, i))
            TRY(add_rank(m, i));
    }
    for (uint32_t i = 0; i < m->to->n && !trace_set_is_whole(set); i++)
        if (trace_set_alike(&of, set, i))
            TRY(add_alike_rank(m, i, &of, halley_trace_set_path(set, i)));
    return HALLEY_OK;
}

halley_status sim_instance_init(sim_instance *out, const halley_trace_set *traces,
                                const sim_instance_opts *o, halley_error *err)
{
    maker m = {.to = out, .o = o, .err = err};
    halley_status status = sim_instance_begin(out, o, err);
    if (status == HALLEY_OK) {
        status = add_ranks(&m, traces);
        if (status != HALLEY_OK)
            status = find_first_error(&m, traces, status);
    }
    map64_fini(&m.seen);
    map64_fini(&m.by_holes);
    table_fini(&m.by_hash);
    for (size_t i = 0; i < m.alike.n; i++)
        sim_alike_fini(&m.alike.at[i]);
    array_fini(&m.alike);
    if (status == HALLEY_OK)
        status = find_places(out, err);
    if (status != HALLEY_OK)
        sim_instance_fini(out);
    return status;
}

const char *sim_instance_path(const sim_instance *in, uint32_t rank)
{
    const char *path = in->set == NULL ? "" : halley_trace_set_path(in->set, rank);
    assert(rank < in->n && in->traces[rank] != NULL);
    return path[0] != 0 ? path : halley_trace_path(in->traces[rank]);
}

uint32_t sim_instance_place(const sim_instance *in, uint32_t group, uint32_t rank)
{
    assert(group < in->n_groups);
    if (in->places_of == NULL)
        return map64_find(&in->places, (uint64_t)group << 32 | rank);
    for (uint32_t i = 0; i < in->groups[group].n; i++)
        if (in->groups[group].ranks[i] == rank)
            return i;
    return UINT32_MAX;
}

void sim_instance_fini(sim_instance *in)
{
    for (size_t i = 0; i < in->programs.n; i++) {
        sim_program_fini(in->programs.at[i]);
        free(in->programs.at[i]);
    }
    for (size_t i = 0; i < in->kept.n; i++) {
        free(in->kept.at[i].values);
        free(in->kept.at[i].tags);
    }
    for (size_t i = 0; i < in->made.n; i++)
        halley_trace_free(in->made.at[i]);
    array_fini(&in->made);
    array_fini(&in->programs);
    array_fini(&in->kept);
    arena_fini(&in->memory);
    free(in->places_of);
    map64_fini(&in->places);
    free(in->program_of);
    free((void *)in->traces);
    free((void *)in->values);
    free((void *)in->tags);
    *in = (sim_instance){0};
}
