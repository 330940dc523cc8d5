/*
 * Derives conditions for sets without a conditions file or metadata. They are read from
 * the traces: a family (which kinds of nodes there are, and whether they repeat), ranks
 * and stages, and the counts of the first loops. Then follow the medians of message
 * size, operations, memory traffic and time of a node, to which most numbers of that
 * kind are proportional. Totals come last: they follow from the others, and exist so
 * that users can fix them.
 */
#include "learn/learn_set.h"
#include "trace/core/roles.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_LOOPS = 6 };

/* What is collected from all nodes. */
enum { MESSAGE, WORK, TRAFFIC, TIME, N_NUMBERS };
typedef ARRAY(double) numbers;
typedef struct sums {
    numbers of[N_NUMBERS];
    double compute, bytes, n_nodes;
    uint64_t kinds;
    uint32_t seen[64]; /* hashes of the kinds of nodes */
    uint32_t n_seen;
} sums;

/* The lower one of two middle values; 0 = no numbers. */
static double take_lower_median(numbers *of)
{
    if (of->n == 0)
        return 0;
    mem_sort_doubles(of->at, of->n);
    assert(of->at[0] <= of->at[of->n - 1]);
    return of->at[(of->n - 1) / 2];
}

/* Hashes the kinds of nodes, each once and independent of their order. */
static void note_kind(sums *s, const model_op *op)
{
    const uint32_t kind =
        (uint32_t)op->type << 16 | (uint32_t)op->comm << 8 | (op->flags & MODEL_OP_GROUP);
    for (uint32_t i = 0; i < s->n_seen; i++)
        if (s->seen[i] == kind)
            return;
    if (s->n_seen < sizeof s->seen / sizeof *s->seen) {
        s->seen[s->n_seen++] = kind;
        s->kinds += hash_u64(kind);
    }
}

static void read_node(double value[N_NUMBERS], const halley_trace *trace, uint32_t node)
{
    assert(node < halley_trace_count(trace));
    trace_roles roles;
    uint64_t v;
    trace_roles_read(&roles, trace, node);
    static const trace_role role[] = {TRACE_ROLE_COMM_SIZE, TRACE_ROLE_NUM_OPS,
                                      TRACE_ROLE_TENSOR_SIZE};
    memset(value, 0, N_NUMBERS * sizeof *value);
    for (uint32_t i = 0; i < TIME; i++)
        if (trace_roles_u64(&roles, role[i], &v))
            value[i] = (double)v;
    value[TIME] = (double)halley_node_duration_us(trace, node);
}

/* A node of the program counts for the medians. */
static bool keep_numbers(sums *s, const halley_trace *trace, uint32_t node)
{
    double value[N_NUMBERS];
    read_node(value, trace, node);
    for (uint32_t i = 0; i < N_NUMBERS; i++)
        if (value[i] > 0 && !array_push(&s->of[i], value[i]))
            return false;
    return true;
}

/* Every node counts for the totals, side nodes as well. */
static void add_totals(sums *s, const halley_trace *trace)
{
    double value[N_NUMBERS];
    for (uint32_t node = 0; node < halley_trace_count(trace); node++) {
        read_node(value, trace, node);
        s->bytes += value[MESSAGE];
        s->compute += value[WORK];
    }
}

/* Adds the nodes of a stage. For the first stage, also the counts of its loops. */
static halley_status sum_stage(sums *s, conditions *out, learner *l,
                               const halley_trace_set *set, uint32_t rank,
                               halley_error *err)
{
    assert(rank < halley_trace_set_count(set));
    const halley_trace *trace = halley_trace_set_get(set, rank);
    TRY(learner_read(l, set, rank, err));
    const uint32_t n = (uint32_t)l->program.ops.n;
    s->n_nodes += n;
    for (uint32_t i = 0; i < n; i++) {
        note_kind(s, &l->m.ops.at[l->program.ops.at[i]]);
        if (!keep_numbers(s, trace, l->program.nodes.at[i]))
            return error_nomem(err);
    }
    add_totals(s, trace);
    if (rank > 0)
        return HALLEY_OK;
    TRY(synth_fold(&l->folded, &l->m, l->program.tokens.at, n, 0, err));
    const bool repeats = 2 * l->folded.symbols.n <= n;
    s->kinds = hash_u64(s->kinds + repeats);
    for (uint32_t i = 0; i < l->folded.counts.n && i < N_LOOPS; i++) {
        char name[16];
        snprintf(name, sizeof name, "loop-%u", i + 1);
        conditions_set(out, name, NULL, l->folded.counts.at[i]);
    }
    return HALLEY_OK;
}

static void set_conditions(conditions *out, sums *s, uint32_t block, uint32_t n_stages)
{
    assert(block > 0 && n_stages > 0);
    static const char *const names[] = {"message", "work", "traffic", "time"};
    char family[CONDITION_TEXT];
    for (uint32_t i = 0; i < N_NUMBERS; i++)
        conditions_set(out, names[i], NULL, take_lower_median(&s->of[i]));
    conditions_set(out, "nodes", NULL, s->n_nodes / n_stages);
    conditions_set(out, "compute", NULL, s->compute * block);
    conditions_set(out, "bytes", NULL, s->bytes * block);
    snprintf(family, sizeof family, "kinds-%08x", (unsigned)(hash_u64(s->kinds) >> 32));
    conditions_set(out, "family", family, 0);
}

halley_status learner_derive(conditions *out, learner *l, const halley_trace_set *set,
                             uint32_t block, halley_error *err)
{
    assert(block > 0 && halley_trace_set_count(set) % block == 0);
    const uint32_t n_stages = halley_trace_set_count(set) / block;
    sums s = {0};
    /* These come first, so that all others are drawn given them. */
    conditions_set(out, "family", "-", 0);
    conditions_set(out, "ranks", NULL, halley_trace_set_count(set));
    conditions_set(out, "stages", NULL, n_stages);
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; status == HALLEY_OK && i < n_stages; i++)
        status = sum_stage(&s, out, l, set, i * block, err);
    if (status == HALLEY_OK)
        set_conditions(out, &s, block, n_stages);
    for (uint32_t i = 0; i < N_NUMBERS; i++)
        array_fini(&s.of[i]);
    return status;
}
