/* Warnings about a recording, each a sentence in the user's terms. */
#include "base/number/number.h"
#include "recording/record/facts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A gap of a stream this long, and ten times as long as all the rest, is a clock jump,
 * not idle time. */
#define CLOCK_JUMP_NS INT64_C(60000000000)
enum { CLOCK_JUMP_TIMES = 10 };

typedef struct warner {
    strbuf *to;
    bool any;
} warner;

static void warn_text(warner *w, str text)
{
    strbuf_add(w->to, w->any ? STR(", ") : STR(""));
    strbuf_json(w->to, text);
    w->any = true;
}

static void warn_about(warner *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void warn_about(warner *w, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    warn_text(w, str_from(text));
}

static double get_percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

/* Sums over the device events. */
typedef struct work_sums {
    uint64_t n_launched, n_graph, n_ops, n_unknown_comm, n_comm, n_subgraphs;
    int64_t all_ns, launched_ns, other_ns, work_ns;
    size_t n_graphs;
} work_sums;

static void add_work_sums(work_sums *s, const rec_facts_input *in, const rec_work *w,
                          uint32_t *last_graph)
{
    const record *const r = in->rec;
    const int64_t ns = w->end_ns - w->begin_ns;
    const bool graph = w->launch != REC_NONE &&
                       rec_is_graph_launch(rec_text(r, r->hosts.at[w->launch].name));
    s->all_ns += ns;
    s->work_ns += w->is_sync ? 0 : ns;
    s->n_launched += w->launch != REC_NONE;
    s->launched_ns += w->launch != REC_NONE ? ns : 0;
    s->n_graph += graph;
    if (graph && *last_graph != w->launch) {
        s->n_graphs++;
        *last_graph = w->launch;
    }
    s->other_ns += w->class_id == in->rules->other ? ns : 0;
    s->n_comm += rec_class_is_comm(in->rules, w->class_id);
    s->n_unknown_comm += w->class_id == in->rules->unknown_comm;
    s->n_subgraphs += str_eq(rec_class_name(in->rules, w->class_id), STR("subgraph"));
}

static bool says_sizes(const record *r)
{
    for (size_t i = 0; i < r->hosts.n; i++) {
        const rec_host *const h = &r->hosts.at[i];
        const str name = rec_text(r, h->name);
        if (h->kind != REC_CALL &&
            (str_starts(name, STR("nccl:")) || str_eq(name, STR("record_param_comms"))))
            return true;
    }
    for (size_t i = 0; i < r->comms.n; i++)
        if (r->comms.at[i].in_elements != REC_NO_ID)
            return true;
    return false;
}

static void warn_about_launches(warner *w, const rec_facts_input *in, const work_sums *s)
{
    const record *const r = in->rec;
    if (r->works.n == 0) {
        warn_about(w, "no device events: this is a host-only recording");
        return;
    }
    if (s->n_launched < r->works.n)
        warn_about(
            w,
            "%" PRIu64 " of %zu device events (%s %% of device time) were "
            "launched before the window or by no recorded call; they start at "
            "their recorded time",
            r->works.n - s->n_launched, r->works.n,
            number_fixed(get_percent(s->all_ns - s->launched_ns, s->all_ns), 1).at);
    if (s->n_ops == 0)
        warn_about(w, "no operators: only streams and kernels are known");
    if (s->n_graph > 0)
        warn_about(w, "%" PRIu64 " device events come from %zu captured graphs",
                   s->n_graph, s->n_graphs);
    if (r->device_name == REC_NONE && in->recorded_on == NULL)
        warn_about(w, "the device is unknown: name it with --recorded-on");
}

static void warn_about_classes(warner *w, const rec_facts_input *in, const work_sums *s)
{
    if (s->n_comm > 0 && !says_sizes(in->rec))
        warn_about(w,
                   "communication without sizes: it stays work of the recorded length");
    else if (s->n_unknown_comm > 0)
        warn_about(w, "%" PRIu64 " communication kernels are of unknown type",
                   s->n_unknown_comm);
    if (s->n_subgraphs > 0)
        warn_about(w, "%" PRIu64 " compiled subgraphs cannot be divided into kernels",
                   s->n_subgraphs);
    if (s->work_ns > 0 && (double)s->other_ns > 0.05 * (double)s->work_ns)
        warn_about(w, "%s %% of device time has no class: see `other` in the table",
                   number_fixed(get_percent(s->other_ns, s->work_ns), 0).at);
}

static void warn_about_events(warner *w, const record *r)
{
    if (r->n_costly > 0)
        warn_about(w,
                   "%" PRIu64 " searches of classification rules took too many steps and "
                   "count as no match; simplify the expressions of --rules",
                   r->n_costly);
    if (r->n_negative > 0)
        warn_about(w,
                   "event %" PRIu64 ": negative duration %s us; %" PRIu64
                   " such events were dropped",
                   r->first_negative, number_shortest((double)r->negative_ns / 1000).at,
                   r->n_negative);
    if (r->n_double_launches > 0)
        warn_about(w,
                   "correlation %" PRIu64 " has two launches; the one nearest before "
                   "its kernel is taken (%" PRIu64 " such cases)",
                   r->double_launch, r->n_double_launches);
    if (r->n_bad_times > 0)
        warn_about(w, "%" PRIu64 " events without a usable time were dropped",
                   r->n_bad_times);
    if (r->n_crossing > 0)
        warn_about(w,
                   "%" PRIu64 " host events end after the event around them and were "
                   "clipped",
                   r->n_crossing);
    if (r->n_counter_ranges > 0)
        warn_about(w, "%" PRIu64 " CUPTI ranges are counters, not device time",
                   r->n_counter_ranges);
    if (r->is_partial)
        warn_about(w, "the file is cut: only its first %" PRIu64 " events were read",
                   r->n_events);
}

static void warn_about_clock(warner *w, const record *r)
{
    int64_t last[64], total = 0, longest = 0;
    uint32_t row = 0;
    for (size_t i = 0; i < 64; i++)
        last[i] = INT64_MIN;
    for (size_t i = 0; i < r->works.n; i++) {
        const rec_work *const x = &r->works.at[i];
        if (x->row >= 64)
            continue;
        const int64_t gap = last[x->row] == INT64_MIN ? 0 : x->begin_ns - last[x->row];
        if (gap > longest) {
            longest = gap;
            row = x->row;
        }
        last[x->row] = x->end_ns > last[x->row] ? x->end_ns : last[x->row];
    }
    if (r->works.n > 0)
        total = r->works.at[r->works.n - 1].end_ns - r->works.at[0].begin_ns;
    if (longest > CLOCK_JUMP_NS && longest > CLOCK_JUMP_TIMES * (total - longest))
        warn_about(w, "gap of %" PRId64 " s on stream %" PRId64 ": a jump of the clock",
                   longest / 1000000000, r->rows.at[row].stream);
}

static void warn_about_ranks(warner *w, const rec_facts_input *in)
{
    const record *const r = in->rec;
    if (r->step_period > 0)
        warn_about(w,
                   "no steps marked; by the period of %u kernels there are %zu, numbered "
                   "from 0 (trace slice --steps)",
                   r->step_period, r->steps.n);
    else if (r->steps.n == 0)
        warn_about(w, "no steps marked");
    if (r->job.world == REC_NO_ID || r->job.world <= in->n_ranks || r->job.world < 2)
        return;
    if (in->n_ranks > 1 || r->job.rank == REC_NO_ID)
        warn_about(w, "%zu of %" PRIu64 " ranks: the others are not there", in->n_ranks,
                   r->job.world);
    else
        warn_about(w, "rank %" PRIu64 " of %" PRIu64 ": the other ranks are not there",
                   r->job.rank, r->job.world);
}

static void warn_about_groups(warner *w, const rec_facts_input *in)
{
    for (size_t i = 0; i < in->groups->groups.n; i++) {
        const rec_group_info *const g = &in->groups->groups.at[i];
        const str name = intern_text(&in->groups->names, g->name);
        if (g->n_ranks == 0 && g->size > 1 && g->number != 0)
            warn_about(w,
                       "group %.*s has %" PRIu64 " members, but %s; its collectives "
                       "stay work of the recorded length",
                       STR_ARG(name), g->size,
                       g->is_cut ? "the list of its ranks is cut in the recording"
                                 : "the recording does not list them");
    }
}

static void warn_about_replay(warner *w, const rec_graph *g)
{
    const double recorded = (double)(g->to_ns - g->from_ns);
    const double off = recorded > 0 ? (double)g->replayed_ns / recorded - 1 : 0;
    if (off > 0.03 || off < -0.03)
        warn_about(w, "the replay is %s %% off the recording",
                   number_signed(100 * off, 1).at);
}

void rec_write_warnings(strbuf *to, const rec_facts_input *in)
{
    warner w = {.to = to};
    const record *const r = in->rec;
    work_sums s = {0};
    uint32_t last_graph = REC_NONE;
    for (size_t i = 0; i < r->works.n; i++)
        add_work_sums(&s, in, &r->works.at[i], &last_graph);
    for (size_t i = 0; i < r->hosts.n; i++)
        s.n_ops += r->hosts.at[i].kind == REC_OP;
    for (size_t at = 0; at < r->remarks.n; at += strlen(r->remarks.at + at) + 1)
        warn_text(&w, str_from(r->remarks.at + at));
    warn_about_launches(&w, in, &s);
    warn_about_ranks(&w, in);
    warn_about_classes(&w, in, &s);
    warn_about_events(&w, r);
    warn_about_clock(&w, r);
    warn_about_groups(&w, in);
    warn_about_replay(&w, in->graph);
}
