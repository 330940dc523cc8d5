/* report/explain.c - why a run took as long as it did, in words. */
#include "base/array.h"
#include "base/number/units.h"
#include "base/str.h"
#include "report/losses.h"
#include "report/sim.h"
#include "report/table.h"

#include <stdlib.h>
#include <string.h>

static const char *const reasons[] = {
    [HALLEY_WHY_START] = "from the start",
    [HALLEY_WHY_DEPENDS] = "depends on the step before",
    [HALLEY_WHY_ROOM] = "the step before made room",
    [HALLEY_WHY_MESSAGE] = "the message was sent then",
    [HALLEY_WHY_MEMBER] = "the last member came then",
};

static uint64_t find_attr_u64(const halley_trace *t, uint32_t node, const char *name)
{
    halley_attr attr;
    uint64_t value = 0;
    if (halley_node_find_attr(&attr, t, node, name))
        (void)halley_attr_to_u64(&attr, &value);
    return value;
}

/* The kind of a step, by which steps are summed: "ALL_REDUCE", "compute", "message". */
static const char *find_step_kind(const halley_trace *t, uint32_t node)
{
    switch (halley_node_type_of(t, node)) {
    case HALLEY_NODE_COMP:
        return "compute";
    case HALLEY_NODE_COLL:
        return halley_coll_type_name(find_attr_u64(t, node, "comm_type"));
    case HALLEY_NODE_SEND:
    case HALLEY_NODE_RECV:
        return "message";
    case HALLEY_NODE_MEM_LOAD:
    case HALLEY_NODE_MEM_STORE:
        return "remote memory";
    default:
        return "other";
    }
}

typedef struct share {
    const char *kind;
    double seconds;
    uint64_t steps;
} share;
enum { MOST_KINDS = 16, MOST_STEPS = 20, MOST_PATH = 20000 };

static int compare_seconds(const void *a, const void *b)
{
    const double x = ((const share *)a)->seconds, y = ((const share *)b)->seconds;
    return x > y ? -1 : x < y;
}

/* Sum the steps by kind; returns the number of kinds. */
static uint32_t sum_kinds(share *to, const halley_path_step *steps, size_t n,
                          const halley_result *result, const report_traces *traces)
{
    uint32_t n_kinds = 0;
    for (size_t i = 0; i < n; i++) {
        const char *kind =
            find_step_kind(report_traces_like(traces, steps[i].rank), steps[i].node);
        uint32_t k = 0;
        while (k < n_kinds && strcmp(to[k].kind, kind) != 0)
            k++;
        if (k == n_kinds && n_kinds == MOST_KINDS)
            k--;
        else if (k == n_kinds)
            to[n_kinds++] = (share){kind, 0, 0};
        to[k].seconds +=
            (double)(steps[i].end - steps[i].begin) / halley_result_ticks_per_s(result);
        to[k].steps++;
    }
    qsort(to, n_kinds, sizeof *to, compare_seconds);
    return n_kinds;
}

static const report_column share_columns[] = {
    {"Critical path", "kind", REPORT_WORDS, UNITS_COUNT, 0},
    {"Steps", "steps", REPORT_COUNT, UNITS_COUNT, 0},
    {"Time", "time_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Share", "share", REPORT_QUANTITY, UNITS_SHARE, 0},
};

static report_table *make_share_table(const share *shares, uint32_t n)
{
    double total = 0;
    report_table *t = report_table_new(share_columns, 4);
    for (uint32_t i = 0; i < n; i++)
        total += shares[i].seconds;
    for (uint32_t i = 0; t != NULL && i < n; i++) {
        report_table_words(t, str_from(shares[i].kind));
        report_table_count(t, shares[i].steps);
        report_table_number(t, shares[i].seconds);
        report_table_number(t, total > 0 ? shares[i].seconds / total : 0);
    }
    return t;
}

static const report_column step_columns[] = {
    {"Begin", "begin_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Time", "time_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Rank", "rank", REPORT_COUNT, UNITS_COUNT, 0},
    {"Node", "node", REPORT_COUNT, UNITS_COUNT, 0},
    {"Name", "name", REPORT_WORDS, UNITS_COUNT, 32},
    {"What", "kind", REPORT_WORDS, UNITS_COUNT, 0},
    {"Why then", "why", REPORT_WORDS, UNITS_COUNT, 0},
};

static int compare_lengths(const void *a, const void *b)
{
    const halley_path_step *x = a, *y = b;
    const uint64_t i = x->end - x->begin, k = y->end - y->begin;
    if (i != k)
        return i > k ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static int compare_begins(const void *a, const void *b)
{
    const halley_path_step *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Keep the `most` longest steps, in order of time; returns their number. */
static size_t keep_longest(halley_path_step *steps, size_t n, size_t most)
{
    if (n <= most)
        return n;
    qsort(steps, n, sizeof *steps, compare_lengths);
    qsort(steps, most, sizeof *steps, compare_begins);
    return most;
}

static report_table *make_step_table(const halley_path_step *steps, size_t n,
                                     const halley_result *result,
                                     const report_traces *traces)
{
    const double per_s = halley_result_ticks_per_s(result);
    report_table *t = report_table_new(step_columns, 7);
    for (size_t i = 0; t != NULL && i < n; i++) {
        const halley_trace *trace = report_traces_like(traces, steps[i].rank);
        const halley_bytes name = halley_node_name(trace, steps[i].node);
        report_table_number(t, (double)steps[i].begin / per_s);
        report_table_number(t, (double)(steps[i].end - steps[i].begin) / per_s);
        report_table_count(t, steps[i].rank);
        report_table_count(t, halley_node_id(trace, steps[i].node));
        report_table_words(t, (str){name.at, name.n});
        report_table_words(t, str_from(find_step_kind(trace, steps[i].node)));
        report_table_words(t, str_from(reasons[steps[i].why]));
    }
    return t;
}

/* Frees the table. NULL: there was no memory for it. */
static halley_status write_text_table(report_table *t, FILE *to, halley_error *err)
{
    if (t == NULL)
        return error_nomem(err);
    const halley_status status = report_table_write(t, REPORT_TEXT, to, err);
    report_table_free(t);
    return status;
}

/* The verdict on a run whose parts have no names, by the kinds of its critical path. */
static void describe_shares(char to[REPORT_LOSSES_TEXT], const share *shares, uint32_t n)
{
    report_loss parts[MOST_KINDS];
    for (uint32_t i = 0; i < n; i++) {
        const bool works = strcmp(shares[i].kind, "compute") == 0;
        const bool stores = strcmp(shares[i].kind, "remote memory") == 0;
        parts[i] = (report_loss){works    ? REPORT_LOSS_NONE
                                 : stores ? REPORT_LOSS_MEMORY
                                          : REPORT_LOSS_COMMUNICATION,
                                 shares[i].seconds, shares[i].kind};
    }
    report_losses_describe(to, parts, n, "the critical path");
}

halley_status report_sim_verdict(char to[REPORT_LOSSES_TEXT], const halley_result *result,
                                 const report_traces *traces, halley_error *err)
{
    halley_path_step *steps;
    size_t n;
    share shares[MOST_KINDS];
    TRY(halley_result_path(&steps, &n, result, err));
    describe_shares(to, shares, sum_kinds(shares, steps, n, result, traces));
    free(steps);
    return HALLEY_OK;
}

halley_status report_sim_explain_json(report_json *j, const halley_result *result,
                                      const report_traces *traces, bool whole,
                                      halley_error *err)
{
    halley_path_step *steps;
    size_t n;
    share shares[MOST_KINDS];
    TRY(halley_result_path(&steps, &n, result, err));
    const uint32_t n_kinds = sum_kinds(shares, steps, n, result, traces);
    report_json_object(j, "critical_path");
    report_json_u64(j, "steps", n);
    halley_status status =
        report_table_member(make_share_table(shares, n_kinds), j, "kinds", err);
    n = keep_longest(steps, n, MOST_PATH);
    if (status == HALLEY_OK && whole)
        status = report_table_member(make_step_table(steps, n, result, traces), j, "path",
                                     err);
    n = keep_longest(steps, n, MOST_STEPS);
    if (status == HALLEY_OK)
        status = report_table_member(make_step_table(steps, n, result, traces), j,
                                     "longest", err);
    report_json_end(j);
    free(steps);
    return status;
}

enum { MOST_CLASSES = 20 };

/* Write which ranks represent which, and what distinguishes them. */
static void write_classes(const halley_result *result, FILE *to)
{
    const halley_symmetry y = halley_result_symmetry(result);
    const uint32_t n = halley_result_ranks(result);
    if (y.unfolded != NULL && n > 1)
        fprintf(to, "\nAll %u ranks were run: %s.\n", n, y.unfolded);
    if (y.n_carriers == 0)
        return;
    fprintf(to,
            "\n%u ranks were run for %u, with %u classes of groups and pairs and %u of "
            "links:\n",
            y.n_ranks, n, y.n_carriers, y.n_links);
    for (uint32_t i = 0; i < y.n_ranks && i < MOST_CLASSES; i++) {
        const halley_rank_class c = halley_result_class(result, i);
        fprintf(to, "rank %u for %u%s%s\n", c.rank, c.n_ranks,
                c.cause == NULL ? "" : ": it ", c.cause == NULL ? "" : c.cause);
    }
    if (y.n_ranks > MOST_CLASSES)
        fprintf(to, "and %u more\n", y.n_ranks - MOST_CLASSES);
}

halley_status report_sim_explain(const halley_result *result, const report_traces *traces,
                                 FILE *to, halley_error *err)
{
    halley_path_step *steps;
    size_t n;
    share shares[MOST_KINDS];
    TRY(halley_result_path(&steps, &n, result, err));
    const uint32_t n_kinds = sum_kinds(shares, steps, n, result, traces);
    halley_status status = write_text_table(make_share_table(shares, n_kinds), to, err);
    if (status == HALLEY_OK) {
        fprintf(to, n > MOST_STEPS ? "\nIts %d longest steps:\n" : "\n", (int)MOST_STEPS);
        n = keep_longest(steps, n, MOST_STEPS);
        status = write_text_table(make_step_table(steps, n, result, traces), to, err);
    }
    if (status == HALLEY_OK)
        write_classes(result, to);
    free(steps);
    return status;
}
