/*
 * Any two traces as a set of three ranks, through everything that looks into traces or
 * makes new ones. The first two bytes choose what is sliced, the next two where the
 * second trace begins. What is mended has no dangling dependencies left; what is sliced
 * has none that were not there before.
 */
#include "halley/trace_check.h"
#include "halley/trace_diff.h"
#include "halley/trace_edit.h"
#include "halley/trace_stats.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

static void describe_and_check(const halley_trace_set *set)
{
    halley_set_stats *stats = NULL;
    halley_check_report *report = NULL;
    if (halley_set_stats_new(&stats, set, 1, NULL) != HALLEY_OK ||
        halley_trace_check(&report, set, &(halley_check_opts){.n_threads = 1}, NULL) !=
            HALLEY_OK)
        abort();
    halley_set_stats_free(stats);
    halley_check_report_free(report);
}

static uint64_t count_dangling(const halley_trace_set *set)
{
    uint64_t n = 0;
    for (uint32_t rank = 0; rank < halley_trace_set_count(set); rank++)
        n += halley_trace_dangling_count(halley_trace_set_get(set, rank));
    return n;
}

static void cut(const halley_trace_set *set, uint8_t how, uint8_t types)
{
    static const uint32_t ranks[] = {2, 0};
    static const halley_id_range ids[] = {{0, 3}, {7, UINT64_MAX}};
    const halley_slice_opts opts = {.ranks = how & 1 ? ranks : NULL,
                                    .n_ranks = how & 1 ? 2 : 0,
                                    .ids = how & 2 ? ids : NULL,
                                    .n_ids = how & 2 ? 2 : 0,
                                    .types = types,
                                    .by_time = (how & 4) != 0,
                                    .from_us = 1,
                                    .to_us = 1000,
                                    .cut = (how & 8) != 0,
                                    .keep_unmatched = (how & 16) != 0,
                                    .by_step = (how & 32) != 0,
                                    .last_step = 4,
                                    .n_threads = 1};
    halley_trace_set *out = NULL;
    if (halley_trace_slice(&out, set, &opts, NULL, NULL) != HALLEY_OK)
        return;
    if (!(how & 1) && count_dangling(out) > count_dangling(set))
        abort();
    describe_and_check(out);
    halley_trace_set_free(out);
}

static void mend(const halley_trace *trace)
{
    halley_trace *fixed = NULL;
    halley_fix_counts counts;
    if (halley_trace_fix(&fixed, trace, true, &counts, NULL) != HALLEY_OK)
        abort();
    if (fixed != NULL && halley_trace_dangling_count(fixed) > 0)
        abort();
    halley_trace_free(fixed);
}

static void join(const halley_trace *a, const halley_trace *b)
{
    const halley_trace *parts[] = {a, b, a};
    halley_trace *out = NULL;
    if (halley_trace_chain(&out, parts, 3, NULL) == HALLEY_OK &&
        halley_trace_dangling_count(out) > 0)
        abort();
    halley_trace_free(out);
}

static void compare(const halley_trace_set *set, halley_trace *a, halley_trace *b)
{
    halley_trace *const swapped[] = {halley_trace_keep(b), halley_trace_keep(a),
                                     halley_trace_keep(a)};
    halley_trace_set *other = NULL;
    halley_diff_report *report = NULL;
    if (halley_trace_set_new(&other, swapped, 3, NULL) != HALLEY_OK ||
        halley_trace_diff(&report, set, other, NULL, NULL) != HALLEY_OK)
        abort();
    halley_diff_report_free(report);
    if (halley_trace_diff(&report, set, set, NULL, NULL) != HALLEY_OK ||
        report->n_total > 0)
        abort();
    halley_diff_report_free(report);
    halley_trace_set_free(other);
}

static void use(halley_trace *a, halley_trace *b, uint8_t how, uint8_t types)
{
    halley_trace *const ranks[] = {halley_trace_keep(a), halley_trace_keep(b),
                                   halley_trace_keep(a)};
    halley_trace_set *set = NULL;
    if (halley_trace_set_new(&set, ranks, 3, NULL) != HALLEY_OK)
        abort();
    describe_and_check(set);
    cut(set, how, types);
    mend(a);
    join(a, b);
    compare(set, a, b);
    halley_trace_set_free(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    const halley_load_opts opts = {.n_threads = 1, .max_nodes = 2000};
    if (n < 4)
        return 0;
    const size_t n_first = (size_t)(at[2] | at[3] << 8) % (n - 3);
    halley_trace *a = NULL, *b = NULL;
    if (halley_trace_parse(&a, at + 4, n_first, "a", &opts, NULL) == HALLEY_OK &&
        halley_trace_parse(&b, at + 4 + n_first, n - 4 - n_first, "b", &opts, NULL) ==
            HALLEY_OK)
        use(a, b, at[0], at[1]);
    halley_trace_free(a);
    halley_trace_free(b);
    return 0;
}
