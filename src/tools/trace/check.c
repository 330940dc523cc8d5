/*
 * Run a whole check: each distinct trace on its own thread, then, for several ranks, the
 * comparisons. The order of findings does not depend on the threads.
 */
#include "trace/check.h"

#include "base/error.h"
#include "base/pool.h"
#include "base/str.h"

#include <stdio.h>

check_place check_place_of(const check_set *s, uint32_t rank)
{
    const char *path = halley_trace_set_path(s->set, rank);
    return (check_place){halley_trace_set_get(s->set, rank), path == NULL ? "" : path,
                         rank, 1};
}

/* The trace whose results also hold for this one, or itself. */
static uint32_t is_like_name(const check_set *s, size_t i)
{
    const uint32_t rank = s->distinct->first_rank[i];
    return s->distinct->which[s->twins == NULL ? rank : s->twins->first[rank]];
}

/* Are the names of its groups valid? Only these are specific to a twin. */
static bool names_valid(const check_set *s, uint32_t rank)
{
    const trace_twins *const t = s->twins;
    bool valid = true;
    for (uint32_t i = t->names_at[rank]; valid && i < t->names_at[rank + 1]; i++)
        valid = str_utf8_valid(t->names.at[i]);
    return valid;
}

static halley_status twin_task(void *context, size_t i, uint32_t worker,
                               halley_error *err)
{
    (void)worker;
    check_set *s = context;
    const uint32_t first = is_like_name(s, i);
    if (first == i)
        return HALLEY_OK;
    if (s->ones[first].found.list.n == 0 && names_valid(s, s->distinct->first_rank[i]))
        return check_twin(&s->ones[i], &s->ones[first], s->distinct->trace[i], err);
    check_place at = check_place_of(s, s->distinct->first_rank[i]);
    at.n_ranks = s->distinct->n_sharing[i];
    return check_trace(&s->ones[i], &at, err);
}

static halley_status check_task(void *context, size_t i, uint32_t worker,
                                halley_error *err)
{
    (void)worker;
    check_set *s = context;
    if (is_like_name(s, i) != i)
        return HALLEY_OK;
    check_place at = check_place_of(s, s->distinct->first_rank[i]);
    at.n_ranks = s->distinct->n_sharing[i];
    return check_trace(&s->ones[i], &at, err);
}

static halley_status run_check(check_set *s, uint32_t n_threads, halley_error *err)
{
    const uint32_t n = s->distinct->n;
    s->ones = mem_array_zero(n, sizeof *s->ones);
    if (s->ones == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < n; i++)
        s->ones[i].found.max_per_code = s->found->max_per_code;
    TRY(pool_run(n_threads, n, check_task, s, err));
    if (s->twins != NULL)
        TRY(pool_run(n_threads, n, twin_task, s, err));
    for (uint32_t i = 0; i < n; i++)
        check_list_join(s->found, &s->ones[i].found);
    if (s->distinct->n_ranks > 1) {
        TRY(check_p2p(s, err));
        TRY(check_coll(s, err));
        TRY(check_wait(s, err));
    }
    return s->found->failed ? error_nomem(err) : HALLEY_OK;
}

/* Turn the list into a report, which takes its memory. */
static halley_status make_check_report(halley_check_report **out, check_list *l,
                                       halley_error *err)
{
    halley_check_report *r = calloc(1, sizeof *r);
    check_list *memory = malloc(sizeof *memory);
    halley_check_code *codes = mem_array_zero(CHECK_N_CODES, sizeof *codes);
    if (r == NULL || memory == NULL || codes == NULL || l->failed) {
        free(r);
        free(memory);
        free(codes);
        return error_nomem(err);
    }
    for (int code = 0; code < CHECK_N_CODES; code++) {
        if (l->n[code] == 0)
            continue;
        const halley_severity severity = check_severity((check_code)code);
        const uint64_t limit = l->max_per_code;
        codes[r->n_codes++] =
            (halley_check_code){check_slug((check_code)code), severity, l->n[code],
                                l->n[code] < limit ? l->n[code] : limit};
        r->n[severity] += l->n[code];
    }
    *memory = *l;
    *l = (check_list){0};
    r->size = sizeof *r;
    r->findings = memory->list.at;
    r->n_findings = memory->list.n;
    r->codes = codes;
    r->memory = memory;
    *out = r;
    return HALLEY_OK;
}

void halley_check_report_free(halley_check_report *report)
{
    if (report == NULL)
        return;
    check_list_fini(report->memory);
    free(report->memory);
    free(report->codes);
    free(report);
}

halley_status halley_trace_check(halley_check_report **out, const halley_trace_set *set,
                                 const halley_check_opts *opts, halley_error *err)
{
    return check_with_groups(out, set, opts, NULL, NULL, err);
}

halley_status check_with_groups(halley_check_report **out, const halley_trace_set *set,
                                const halley_check_opts *opts, const trace_groups *groups,
                                const trace_twins *twins, halley_error *err)
{
    const halley_check_opts none = {0};
    const halley_check_opts o = opts == NULL ? none : *opts;
    check_list found = {.max_per_code = o.max_per_code == 0 ? 10 : o.max_per_code};
    trace_distinct distinct;
    TRY(trace_distinct_init(&distinct, set, err));
    check_set s = {.set = set,
                   .distinct = &distinct,
                   .found = &found,
                   .groups_path = o.groups_path,
                   .groups = groups,
                   .twins = twins};
    halley_status status = run_check(&s, o.n_threads, err);
    if (status == HALLEY_OK)
        status = make_check_report(out, &found, err);
    if (status == HALLEY_OK)
        (*out)->compared_ranks = distinct.n_ranks > 1;
    for (uint32_t i = 0; s.ones != NULL && i < distinct.n; i++)
        check_one_fini(&s.ones[i]);
    free(s.ones);
    check_list_fini(&found);
    trace_distinct_fini(&distinct);
    return status;
}

static void add_unreadable(check_list *found, const halley_error *why)
{
    halley_finding f = {.severity = HALLEY_ERROR,
                        .code = check_slug(CHECK_UNREADABLE),
                        .n_ranks = 1,
                        .file = arena_copy(&found->memory, str_from(why->file)),
                        .node = HALLEY_NO_NODE,
                        .name = "",
                        .has_offset = why->has_offset != 0,
                        .offset = why->has_offset ? why->offset : 0,
                        .remedy = ""};
    char place[64] = "";
    if (why->has_offset)
        snprintf(place, sizeof place, "byte %llu: ", (unsigned long long)why->offset);
    f.sentence = arena_printf(&found->memory, "%s%s", place, why->text);
    found->failed |= f.file == NULL || f.sentence == NULL || !array_push(&found->list, f);
}

halley_status halley_check_load_errors(halley_check_report **out,
                                       const halley_error *load_errors, uint32_t n,
                                       const halley_check_opts *opts, halley_error *err)
{
    const uint32_t most = opts && opts->max_per_code ? opts->max_per_code : 10;
    check_list found = {.max_per_code = most};
    for (uint32_t i = 0; i < n && i < most; i++)
        add_unreadable(&found, &load_errors[i]);
    found.n[CHECK_UNREADABLE] = n;
    const halley_status status = make_check_report(out, &found, err);
    check_list_fini(&found);
    return status;
}
