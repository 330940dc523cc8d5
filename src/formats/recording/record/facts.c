/*
 * Facts about a recording: its origin, its steps, the collectives that host events
 * describe, HTA's figures, and warnings. They are one JSON object in the metadata of the
 * trace. So a linked trace can answer every question that its recording answers.
 */
#include "recording/record/facts.h"

#include "recording/comm.h"
#include "recording/record/shapes.h"

#include <inttypes.h>
#include <string.h>

static void write_id(strbuf *to, const char *key, uint64_t value)
{
    if (value == REC_NO_ID)
        strbuf_printf(to, "\"%s\": null, ", key);
    else
        strbuf_printf(to, "\"%s\": %" PRIu64 ", ", key, value);
}

static void write_text_fact(strbuf *to, const char *key, str value)
{
    strbuf_printf(to, "\"%s\": ", key);
    if (value.n == 0)
        strbuf_add(to, STR("null"));
    else
        strbuf_json(to, value);
    strbuf_add(to, STR(", "));
}

static void write_step_facts(strbuf *to, const rec_facts_input *in)
{
    strbuf_add(to, STR("\"steps\": ["));
    const size_t n_marked = in->rec->step_period > 0 ? 0 : in->rec->steps.n;
    for (size_t i = 0; i < n_marked; i++) {
        const rec_step *const s = &in->rec->steps.at[i];
        strbuf_add(to, i > 0 ? STR(", {\"name\": ") : STR("{\"name\": "));
        strbuf_json(to, rec_text(in->rec, s->name));
        strbuf_printf(to,
                      ", \"number\": %" PRIu64 ", \"begin_ns\": %" PRId64
                      ", \"end_ns\": %" PRId64 "}",
                      s->number, s->begin_ns - in->zero_ns, s->end_ns - in->zero_ns);
    }
    strbuf_add(to, STR("], "));
}

/* Collectives that host events describe, by type. */
enum { MAX_TYPES = 16 };
typedef struct host_type {
    const char *type;
    uint64_t n, in_bytes, out_bytes;
} host_type;
typedef struct host_types {
    host_type at[MAX_TYPES];
    size_t n;
    bool from_params;
} host_types;

static host_type *find_host_type_row(host_types *t, const char *type)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->at[i].type, type) == 0)
            return &t->at[i];
    if (t->n == MAX_TYPES)
        return NULL;
    t->at[t->n] = (host_type){.type = type};
    return &t->at[t->n++];
}

static const rec_comm *find_params(const record *r, const rec_host *h)
{
    const rec_detail *const d = rec_host_detail(r, h);
    if (d == NULL || d->comm == REC_NONE ||
        !str_eq(rec_text(r, h->name), STR("record_param_comms")))
        return NULL;
    const rec_comm *const c = &r->comms.at[d->comm];
    return c->collective == REC_NONE ? NULL : c;
}

static void count_params(host_types *t, const record *r, const rec_comm *c)
{
    const char *const type = rec_collective_type(rec_text(r, c->collective));
    host_type *const row = type == NULL ? NULL : find_host_type_row(t, type);
    if (row == NULL)
        return;
    const uint64_t size = comm_element_size(rec_text(r, c->dtype));
    row->n++;
    row->in_bytes += c->in_elements == REC_NO_ID ? 0 : c->in_elements * size;
    row->out_bytes += c->out_elements == REC_NO_ID ? 0 : c->out_elements * size;
}

static void count_range(host_types *t, const record *r, const rec_host *h)
{
    const str name = rec_text(r, h->name);
    uint64_t n_bytes = 0;
    if (h->kind == REC_CALL || !str_starts(name, STR("nccl:")))
        return;
    const char *const type = rec_collective_type(name);
    host_type *const row = type == NULL ? NULL : find_host_type_row(t, type);
    if (row == NULL)
        return;
    row->n++;
    const rec_detail *const d = rec_host_detail(r, h);
    if (d != NULL && rec_input_bytes(&n_bytes, r, d))
        row->in_bytes += n_bytes;
}

static void count_host_types(host_types *t, const record *r)
{
    *t = (host_types){.n = 0};
    for (size_t i = 0; i < r->hosts.n && !t->from_params; i++)
        t->from_params = find_params(r, &r->hosts.at[i]) != NULL;
    for (size_t i = 0; i < r->hosts.n; i++) {
        const rec_comm *const c = find_params(r, &r->hosts.at[i]);
        if (t->from_params && c != NULL)
            count_params(t, r, c);
        else if (!t->from_params)
            count_range(t, r, &r->hosts.at[i]);
    }
}

static void write_host_types(strbuf *to, const host_types *t)
{
    strbuf_add(to, STR("\"collectives_host\": {"));
    if (t->n > 0)
        strbuf_printf(to, "\"source\": \"%s\", \"types\": {",
                      t->from_params ? "record_param_comms" : "nccl: annotations");
    for (size_t i = 0; i < t->n; i++)
        strbuf_printf(to,
                      "%s\"%s\": {\"n\": %" PRIu64 ", \"in_bytes\": %" PRIu64
                      ", \"out_bytes\": %" PRIu64 "}",
                      i > 0 ? ", " : "", t->at[i].type, t->at[i].n, t->at[i].in_bytes,
                      t->at[i].out_bytes);
    strbuf_add(to, t->n > 0 ? STR("}}, ") : STR("}, "));
}

static void write_group_facts(strbuf *to, const rec_facts_input *in)
{
    bool any = false;
    strbuf_add(to, STR("\"groups\": {"));
    for (size_t i = 0; i < in->groups->groups.n; i++) {
        const rec_group_info *const g = &in->groups->groups.at[i];
        strbuf_add(to, any ? STR(", ") : STR(""));
        strbuf_json(to, intern_text(&in->groups->names, g->name));
        strbuf_printf(to, ": %" PRIu64, g->size);
        any = true;
    }
    strbuf_add(to, STR("}, "));
}

static void write_us(strbuf *to, const char *key, int64_t ns)
{
    strbuf_printf(to, "\"%s\": ", key);
    strbuf_double(to, (double)ns / 1000);
    strbuf_add(to, STR(", "));
}

static void write_share(strbuf *to, const char *key, int64_t part, int64_t whole)
{
    strbuf_printf(to, "\"%s\": ", key);
    if (whole > 0)
        strbuf_double(to, (double)part / (double)whole);
    else
        strbuf_add(to, STR("null"));
    strbuf_add(to, STR(", "));
}

static void write_hta_sets(strbuf *to, const rec_hta *h)
{
    bool any = false;
    strbuf_add(to, STR("\"kernel_types_us\": {"));
    for (size_t i = 1; i < HTA_N_SETS; i++) {
        if (h->types_us[i] == 0)
            continue;
        strbuf_printf(to, "%s\"%s\": %" PRId64, any ? ", " : "", rec_hta_set_name(i),
                      h->types_us[i]);
        any = true;
    }
    strbuf_add(to, STR("}}"));
}

static void write_hta(strbuf *to, const rec_hta *h)
{
    if (h->n_events == 0) {
        strbuf_add(to, STR("\"hta\": null"));
        return;
    }
    strbuf_printf(to, "\"hta\": {\"device_events\": %" PRIu64 ", ", h->n_events);
    write_us(to, "kernel_time_us", h->span_ns);
    write_us(to, "idle_us", h->idle_ns);
    write_us(to, "compute_us", h->compute_ns);
    write_us(to, "non_compute_us", h->non_compute_ns);
    write_share(to, "idle_share", h->idle_ns, h->span_ns);
    write_share(to, "compute_share", h->compute_ns, h->span_ns);
    write_share(to, "non_compute_share", h->non_compute_ns, h->span_ns);
    write_share(to, "overlap_pct", 100 * h->overlap_ns, h->communication_ns);
    strbuf_add(to, STR("\"idle_by_cause_us\": {"));
    write_us(to, "host_wait", h->host_wait_ns);
    write_us(to, "kernel_wait", h->kernel_wait_ns);
    strbuf_add(to, STR("\"other\": "));
    strbuf_double(to, (double)h->other_ns / 1000);
    strbuf_add(to, STR("}, "));
    write_hta_sets(to, h);
}

static void write_times(strbuf *to, const rec_graph *g)
{
    strbuf_printf(to,
                  "\"recorded_ns\": %" PRId64 ", \"replayed_ns\": %" PRId64
                  ", \"late_ns\": %" PRId64 ", \"late_unexplained_ns\": %" PRId64
                  ", \"blocking_ns\": %" PRId64 ", \"blocking_explained_ns\": %" PRId64
                  ", ",
                  g->to_ns - g->from_ns, g->replayed_ns, g->late_ns,
                  g->late_unexplained_ns, g->wait_ns, g->wait_explained_ns);
}

bool rec_write_facts(strbuf *to, const rec_facts_input *in)
{
    const record *const r = in->rec;
    host_types types;
    strbuf_add_char(to, '{');
    write_text_fact(to, "kind", str_from(rec_format_names[r->format]));
    write_text_fact(to, "device",
                    in->recorded_on != NULL ? str_from(in->recorded_on)
                                            : rec_text(r, r->device_name));
    write_text_fact(to, "schema", rec_text(r, r->schema));
    write_id(to, "rank", r->job.rank);
    write_id(to, "world", r->job.world);
    if (in->clock_offset_ns != 0)
        strbuf_printf(to, "\"clock_offset_ns\": %" PRId64 ", ", in->clock_offset_ns);
    write_times(to, in->graph);
    write_step_facts(to, in);
    count_host_types(&types, r);
    write_host_types(to, &types);
    write_group_facts(to, in);
    strbuf_add(to, STR("\"warnings\": ["));
    if (!in->is_pair)
        rec_write_warnings(to, in);
    strbuf_add(to, STR("], "));
    write_hta(to, in->hta);
    strbuf_add_char(to, '}');
    return !to->failed;
}
