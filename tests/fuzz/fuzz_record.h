/*
 * fuzz_record.h - what every fuzz target of a profiler's recording does after reading:
 * finish, classify, rebuild, write. The replay must be exact, and the trace sound.
 */
#ifndef FUZZ_RECORD_H
#define FUZZ_RECORD_H

#include "halley/trace_check.h"
#include "recording/record/emit.h"
#include "recording/record/facts.h"

#include <stdlib.h>
#include <string.h>

static inline void check_sound(halley_trace *trace)
{
    halley_trace_set *set = NULL;
    halley_check_report *report = NULL;
    if (halley_trace_set_new(&set, &trace, 1, NULL) != HALLEY_OK ||
        halley_trace_check(&report, set, NULL, NULL) != HALLEY_OK)
        abort();
    for (size_t i = 0; i < report->n_codes; i++)
        if (strstr(report->codes[i].code, "cycle") ||
            strstr(report->codes[i].code, "dangling") ||
            strstr(report->codes[i].code, "duplicate"))
            abort();
    halley_check_report_free(report);
    halley_trace_set_free(set);
}

static inline void emit_record(record *r, rec_rules *rules, const rec_groups *groups)
{
    rec_graph g;
    strbuf facts = {0};
    halley_trace *trace = NULL;
    rec_emit_counts counts;
    rec_hta hta;
    if (!rec_classify(r, rules) || !rec_count_as_hta(&hta, r) ||
        rec_rebuild(&g, r, NULL) != HALLEY_OK)
        abort();
    if (g.replay_error_ns != 0)
        abort();
    const rec_facts_input in = {.rec = r,
                                .graph = &g,
                                .hta = &hta,
                                .rules = rules,
                                .groups = groups,
                                .n_ranks = 1,
                                .zero_ns = g.from_ns};
    if (!rec_write_facts(&facts, &in))
        abort();
    const rec_emit_opts opts = {.rules = rules,
                                .groups = groups,
                                .n_ranks = 1,
                                .zero_ns = g.from_ns,
                                .facts = strbuf_str(&facts)};
    if (rec_emit(&trace, &counts, &g, &opts, NULL) != HALLEY_OK)
        abort();
    check_sound(trace);
    strbuf_fini(&facts);
    rec_graph_fini(&g);
}

/* The built-in rules, compiled once per process: compiling them for every input took nine
 * tenths of the time. Types of collectives add classes, so the object is made anew before
 * one input's names can make the next ones slow. */
static inline rec_rules *share_rules(void)
{
    static rec_rules rules;
    static bool is_there;
    if (is_there && rules.classes.n > 1000) {
        rec_rules_fini(&rules);
        is_there = false;
    }
    if (!is_there && rec_rules_init(&rules, NULL, NULL) != HALLEY_OK)
        abort();
    is_there = true;
    return &rules;
}

static inline void run_records(rec_list *list, halley_status status)
{
    rec_rules *const rules = share_rules();
    rec_groups groups = {0};
    for (size_t i = 0; status == HALLEY_OK && i < list->ranks.n; i++)
        status = rec_finish(&list->ranks.at[i], NULL);
    if (status == HALLEY_OK && rec_groups_init(&groups, list, NULL) != HALLEY_OK)
        abort();
    for (size_t i = 0; status == HALLEY_OK && i < list->ranks.n; i++)
        if (list->ranks.at[i].hosts.n + list->ranks.at[i].works.n > 0)
            emit_record(&list->ranks.at[i], rules, &groups);
    rec_groups_fini(&groups);
    rec_list_fini(list);
}

#endif
