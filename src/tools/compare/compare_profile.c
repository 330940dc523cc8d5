/*
 * The profile of a set: distributions, mixes, runs, features, times. Each distinct trace
 * is read once and counts for all ranks that have it.
 */
#include "base/error.h"
#include "base/str.h"
#include "compare/compare.h"
#include "edit/times.h"
#include "trace/core/distinct.h"
#include "trace/core/levels.h"
#include "trace/core/roles.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The kind of a node: its type, or KIND_COLL + its collective. KINDS_HOST is added on
 * the host. */
enum { KIND_COLL = HALLEY_N_NODE_TYPES, KINDS_HOST = 32 };
enum { LEAST_NUMBER = 1000, LEAST_TEXT = 4, SKETCH_RUN = 4 };

/* The features, each as a logarithm. */
typedef enum feature {
    F_RANKS,
    F_NODES,
    F_EDGES,
    F_DEPTH,
    F_WIDTH,
    F_CRITICAL,
    F_DURATION,
    F_DURATION_SQUARES,
    F_OPERATIONS,
    F_TRAFFIC,
    F_MESSAGES,
    F_MESSAGE_SQUARES,
    F_KIND /* and 18 more */
} feature;

typedef struct gatherer {
    halley_profile *p;
    compare_set *set;
    const halley_trace *trace;
    double weight;
    uint8_t *kinds;    /* by node */
    uint32_t *out;     /* by node: number of dependents */
    uint64_t *sketch;  /* scratch */
    double critical_s; /* of the set */
    bool failed;
} gatherer;

static const struct {
    const char *name, *key;
} quantities[HALLEY_N_QUANTITIES] = {
    {"compute durations", "duration_s"}, {"operations", "operations"},
    {"memory traffic", "traffic_bytes"}, {"message sizes", "message_bytes"},
    {"in-degrees", "in_degree"},         {"out-degrees", "out_degree"},
    {"level widths", "width"},           {"depths", "depth"},
    {"nodes of a rank", "nodes"},        {"critical paths", "critical_s"},
};

const char *halley_quantity_name(halley_quantity q)
{
    return quantities[q].name;
}

const char *halley_quantity_key(halley_quantity q)
{
    return quantities[q].key;
}

static const struct {
    const char *name, *key;
} mixes[HALLEY_N_MIXES] = {{"operator kinds", "kinds"},
                           {"operator names", "names"},
                           {"dependency kinds", "edges"},
                           {"communication volume", "volume"}};

const char *halley_mix_name(halley_mix m)
{
    return mixes[m].name;
}

const char *halley_mix_key(halley_mix m)
{
    return mixes[m].key;
}

halley_status halley_profile_new(halley_profile **out, const halley_profile_opts *opts,
                                 halley_error *err)
{
    assert(out != NULL);
    halley_profile *const p = mem_array_zero(1, sizeof *p);
    if (!p)
        return error_nomem(err);
    if (opts)
        p->opts = *opts;
    if (p->opts.most_simulated == 0)
        p->opts.most_simulated = 100;
    else if (p->opts.most_simulated == UINT32_MAX)
        p->opts.most_simulated = 0;
    *out = p;
    return HALLEY_OK;
}

void halley_profile_free(halley_profile *p)
{
    if (!p)
        return;
    for (int i = 0; i < HALLEY_N_QUANTITIES; i++)
        compare_dist_fini(&p->dists[i]);
    for (int i = 0; i < HALLEY_N_MIXES; i++)
        compare_mix_fini(&p->mixes[i]);
    compare_runs_fini(&p->runs);
    array_fini(&p->sets);
    intern_fini(&p->texts);
    array_fini(&p->text_support);
    map64_fini(&p->values);
    array_fini(&p->value_support);
    arena_fini(&p->memory);
    free(p);
}

uint32_t halley_profile_sets(const halley_profile *p)
{
    return (uint32_t)p->sets.n;
}

static void profile_value(gatherer *g, halley_quantity q, double value)
{
    g->failed |= !compare_dist_add(&g->p->dists[q], value, g->weight);
}

static void feature_add(gatherer *g, feature f, double value)
{
    g->set->features[f] += value * g->weight;
}

/* For example "ALL_REDUCE", "COMP", "COMP on host". */
static str label_of(char to[64], uint32_t kind)
{
    const uint32_t plain = kind % KINDS_HOST;
    const char *const name = plain < KIND_COLL ? halley_node_type_name(plain)
                                               : halley_coll_type_name(plain - KIND_COLL);
    size_t n = strlen(name);
    if (plain < KIND_COLL && n > 5 && strcmp(name + n - 5, "_NODE") == 0)
        n -= 5;
    const int used =
        snprintf(to, 64, "%.*s%s", (int)n, name, kind >= KINDS_HOST ? " on host" : "");
    return (str){to, (size_t)used};
}

static void note_support(gatherer *g, compare_support *s)
{
    assert(s != NULL);
    const uint32_t set = (uint32_t)g->p->sets.n;
    s->n_uses++;
    s->n_sets += s->last_set != set;
    s->last_set = set;
}

static void note_text(gatherer *g, halley_bytes text)
{
    if (text.n < LEAST_TEXT)
        return;
    const uint32_t id = array_reserve(&g->p->text_support, 1)
                            ? intern_add(&g->p->texts, (str){text.at, text.n})
                            : HASH_NONE;
    if (id == HASH_NONE) {
        g->failed = true;
        return;
    }
    if (id == g->p->text_support.n)
        g->p->text_support.at[g->p->text_support.n++] = (compare_support){0};
    note_support(g, &g->p->text_support.at[id]);
}

static void note_number(gatherer *g, uint64_t value)
{
    uint32_t id = (uint32_t)g->p->value_support.n;
    bool fresh = false;
    if (value < LEAST_NUMBER)
        return;
    if (!array_reserve(&g->p->value_support, 1) ||
        !map64_put(&g->p->values, value, &id, &fresh)) {
        g->failed = true;
        return;
    }
    if (fresh)
        g->p->value_support.at[g->p->value_support.n++] =
            (compare_support){.value = value};
    note_support(g, &g->p->value_support.at[id]);
}

/* Numbers in names are removed, so that layers have the same name. */
static void profile_name(gatherer *g, halley_bytes name)
{
    char text[TRACE_PLAIN_NAME];
    const str plain = trace_plain_name(text, name);
    g->failed |= !compare_mix_add(&g->p->mixes[HALLEY_MIX_NAMES], plain, g->weight);
}

static void add_duration(gatherer *g, uint32_t node)
{
    assert(node < halley_trace_count(g->trace));
    halley_attr attr;
    double ns = 0;
    uint64_t whole = 0;
    double seconds = (double)halley_node_duration_us(g->trace, node) * 1e-6;
    if (halley_node_find_attr(&attr, g->trace, node, "duration_ns") &&
        halley_attr_to_double(&attr, &ns)) {
        seconds = ns * 1e-9;
        if (halley_attr_to_u64(&attr, &whole))
            note_number(g, whole);
    } else {
        note_number(g, halley_node_duration_us(g->trace, node));
    }
    profile_value(g, HALLEY_Q_DURATION, seconds);
    feature_add(g, F_DURATION, seconds);
    feature_add(g, F_DURATION_SQUARES, seconds * seconds);
}

static void profile_size(gatherer *g, const trace_roles *r, trace_role role,
                         halley_quantity q, feature f)
{
    assert(q < HALLEY_N_QUANTITIES && (int)f < (int)COMPARE_FEATURES);
    uint64_t value;
    if (!trace_roles_u64(r, role, &value))
        return;
    profile_value(g, q, (double)value);
    feature_add(g, f, (double)value);
    note_number(g, value);
}

static void profile_message(gatherer *g, const trace_roles *r, uint32_t kind)
{
    uint64_t value;
    char label[64];
    if (!trace_roles_u64(r, TRACE_ROLE_COMM_SIZE, &value))
        return;
    profile_size(g, r, TRACE_ROLE_COMM_SIZE, HALLEY_Q_MESSAGE, F_MESSAGES);
    feature_add(g, F_MESSAGE_SQUARES, (double)value * (double)value);
    g->failed |= !compare_mix_add(&g->p->mixes[HALLEY_MIX_VOLUME], label_of(label, kind),
                                  (double)value * g->weight);
}

static void add_texts(gatherer *g, uint32_t node)
{
    assert(node < halley_trace_count(g->trace));
    for (uint32_t i = 0; i < halley_node_attr_count(g->trace, node); i++) {
        const halley_attr a = halley_node_attr(g->trace, node, i);
        if (a.kind == HALLEY_ATTR_STRING)
            note_text(g, a.bytes);
    }
}

static uint32_t find_node_kind(const halley_trace *t, uint32_t node, const trace_roles *r)
{
    assert(node < halley_trace_count(t));
    const uint32_t type = halley_node_type_of(t, node);
    uint64_t coll;
    uint32_t kind = type < HALLEY_N_NODE_TYPES ? type : 0;
    if (type == HALLEY_NODE_COLL && trace_roles_u64(r, TRACE_ROLE_COMM_TYPE, &coll) &&
        coll < HALLEY_N_COLL_TYPES)
        kind = KIND_COLL + (uint32_t)coll;
    return kind + (trace_roles_is_cpu(r) ? KINDS_HOST : 0);
}

static void profile_node(gatherer *g, uint32_t node)
{
    assert(node < halley_trace_count(g->trace));
    const halley_trace *const t = g->trace;
    trace_roles r;
    char label[64];
    trace_roles_read(&r, t, node);
    const uint32_t kind = find_node_kind(t, node, &r),
                   type = halley_node_type_of(t, node);
    const uint32_t n_deps = trace_deps_count(t, node);
    g->kinds[node] = (uint8_t)kind;
    g->failed |= !compare_mix_add(&g->p->mixes[HALLEY_MIX_KINDS], label_of(label, kind),
                                  g->weight);
    profile_name(g, halley_node_name(t, node));
    note_text(g, halley_node_name(t, node));
    add_texts(g, node);
    if (type == HALLEY_NODE_COMP) {
        add_duration(g, node);
        profile_size(g, &r, TRACE_ROLE_NUM_OPS, HALLEY_Q_OPERATIONS, F_OPERATIONS);
    }
    if (type <= HALLEY_NODE_COMP)
        profile_size(g, &r, TRACE_ROLE_TENSOR_SIZE, HALLEY_Q_TRAFFIC, F_TRAFFIC);
    else
        profile_message(g, &r, kind);
    profile_value(g, HALLEY_Q_IN_DEGREE, n_deps);
    feature_add(g, F_EDGES, n_deps);
    const uint32_t at = F_KIND + kind % KINDS_HOST;
    if (at < COMPARE_FEATURES)
        feature_add(g, (feature)at, 1);
}

static void profile_edges(gatherer *g)
{
    const halley_trace *const t = g->trace;
    double pairs[2 * KINDS_HOST][2 * KINDS_HOST] = {{0}};
    for (uint32_t i = 0; i < halley_trace_count(t); i++)
        for (uint32_t k = 0; k < trace_deps_count(t, i); k++) {
            const uint32_t dep = trace_deps_index(t, i, k);
            if (dep == HALLEY_NO_NODE)
                continue;
            g->out[dep]++;
            pairs[g->kinds[dep]][g->kinds[i]] += g->weight;
        }
    for (uint32_t i = 0; i < halley_trace_count(t); i++)
        profile_value(g, HALLEY_Q_OUT_DEGREE, g->out[i]);
    for (uint32_t a = 0; a < 2 * KINDS_HOST; a++)
        for (uint32_t b = 0; b < 2 * KINDS_HOST; b++) {
            char from[64], to[64], both[160];
            if (pairs[a][b] == 0)
                continue;
            const int n = snprintf(both, sizeof both, "%s > %s", label_of(from, a).at,
                                   label_of(to, b).at);
            g->failed |= !compare_mix_add(&g->p->mixes[HALLEY_MIX_EDGES],
                                          (str){both, (size_t)n}, pairs[a][b]);
        }
}

static halley_status add_levels(gatherer *g, halley_error *err)
{
    const trace_levels_opts opts = {.with_time = true};
    trace_levels levels;
    TRY(trace_levels_init(&levels, g->trace, &opts, err));
    uint32_t *const widths = mem_array_zero((size_t)levels.depth + 1, sizeof *widths);
    uint64_t critical_us = 0;
    uint32_t widest = 0;
    for (uint32_t i = 0; widths && i < halley_trace_count(g->trace); i++) {
        if (levels.level[i] == TRACE_LEVEL_CYCLIC)
            continue;
        widths[levels.level[i]]++;
        critical_us = levels.end_us[i] > critical_us ? levels.end_us[i] : critical_us;
    }
    for (uint32_t i = 1; widths && i <= levels.depth; i++) {
        profile_value(g, HALLEY_Q_WIDTH, widths[i]);
        widest = widths[i] > widest ? widths[i] : widest;
    }
    profile_value(g, HALLEY_Q_DEPTH, levels.depth);
    feature_add(g, F_DEPTH, levels.depth);
    feature_add(g, F_WIDTH, widest);
    g->critical_s = fmax(g->critical_s, (double)critical_us * 1e-6);
    trace_levels_fini(&levels);
    const bool fine = widths != NULL;
    free(widths);
    return fine ? HALLEY_OK : error_nomem(err);
}

/* Keeps the smallest hashes of runs of SKETCH_RUN exact tokens. This is a sample of the
 * runs that two sets with the same runs have in common. */
static void add_sketch(gatherer *g, const uint64_t *tokens, size_t n)
{
    assert(n == 0 || tokens != NULL);
    compare_set *const s = g->set;
    size_t used = s->n_sketch;
    memcpy(g->sketch, s->sketch, used * sizeof *g->sketch);
    for (size_t i = 0; i + SKETCH_RUN <= n; i++) {
        uint64_t hash = 0;
        for (size_t k = 0; k < SKETCH_RUN; k++)
            hash = hash_u64(hash ^ tokens[i + k]);
        g->sketch[used++] = hash;
    }
    if (used == 0)
        return;
    mem_sort_u64(g->sketch, used);
    s->n_sketch = 0;
    for (size_t i = 0; i < used && s->n_sketch < COMPARE_SKETCH; i++)
        if (i == 0 || g->sketch[i] != g->sketch[i - 1])
            s->sketch[s->n_sketch++] = g->sketch[i];
}

static halley_status profile_trace(gatherer *g, halley_error *err)
{
    const uint32_t n = halley_trace_count(g->trace);
    g->kinds = mem_array_zero(n, sizeof *g->kinds);
    g->out = mem_array_zero(n, sizeof *g->out);
    g->sketch = mem_array((size_t)n + COMPARE_SKETCH, sizeof *g->sketch);
    halley_status status = g->kinds && g->out && g->sketch ? HALLEY_OK : error_nomem(err);
    for (uint32_t i = 0; status == HALLEY_OK && i < n && !g->failed; i++)
        profile_node(g, i);
    if (status == HALLEY_OK) {
        profile_edges(g);
        profile_value(g, HALLEY_Q_NODES, n);
        feature_add(g, F_NODES, n);
        feature_add(g, F_RANKS, 1);
        status = add_levels(g, err);
    }
    if (status == HALLEY_OK && !compare_runs_add(&g->p->runs, g->trace))
        status = error_nomem(err);
    if (status == HALLEY_OK)
        add_sketch(g, g->p->runs.exact.at + g->p->runs.exact.n - n, n);
    free(g->kinds);
    free(g->out);
    free(g->sketch);
    return status == HALLEY_OK && g->failed ? error_nomem(err) : status;
}

/* Simulates the set on all reference clusters, or records why that is not possible. */
static halley_status add_times(halley_profile *p, compare_set *s,
                               const halley_trace_set *set, const char *groups_path,
                               halley_error *err)
{
    if (p->n_simulated >= p->opts.most_simulated)
        return HALLEY_OK;
    trace_groups groups = {0};
    halley_error why = {0};
    synth_timing how;
    TRY(synth_timing_of(&how, set, NULL, err));
    halley_status status = synth_groups_of(&groups, set, groups_path, &why);
    if (status == HALLEY_OK)
        status = synth_times(s->seconds, set, &groups, &how, &why);
    trace_groups_fini(&groups);
    if (status == HALLEY_ENOMEM)
        return error_nomem(err);
    if (status == HALLEY_EIO) { /* a read error is not a property of the set */
        if (err != NULL)
            *err = why;
        return status;
    }
    s->simulated = status == HALLEY_OK;
    p->n_simulated += s->simulated;
    if (s->simulated || p->not_simulated)
        return HALLEY_OK;
    char text[HALLEY_ERROR_TEXT + HALLEY_ERROR_FILE];
    p->not_simulated =
        arena_copy(&p->memory, str_from(halley_error_format(&why, text, sizeof text)));
    return p->not_simulated ? HALLEY_OK : error_nomem(err);
}

halley_status halley_profile_add(halley_profile *p, const halley_trace_set *set,
                                 const char *name, const char *groups_path,
                                 halley_error *err)
{
    assert(name != NULL);
    assert(halley_trace_set_count(set) > 0);
    trace_distinct distinct;
    compare_set fresh = {.name = arena_copy(&p->memory, str_from(name))};
    if (!fresh.name || !array_push(&p->sets, fresh))
        return error_nomem(err);
    TRY(trace_distinct_init(&distinct, set, err));
    gatherer g = {.p = p, .set = &p->sets.at[p->sets.n - 1]};
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; i < distinct.n && status == HALLEY_OK; i++) {
        g.trace = distinct.trace[i];
        g.weight = distinct.n_sharing[i];
        status = profile_trace(&g, err);
    }
    trace_distinct_fini(&distinct);
    TRY(status);
    g.weight = 1;
    profile_value(&g, HALLEY_Q_CRITICAL, g.critical_s);
    feature_add(&g, F_CRITICAL, g.critical_s);
    for (int i = 0; i < COMPARE_FEATURES; i++)
        g.set->features[i] = log(1e-9 + g.set->features[i]);
    if (g.failed)
        return error_nomem(err);
    return add_times(p, g.set, set, groups_path, err);
}
