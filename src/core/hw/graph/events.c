/* hw/graph/events.c - reads events from a file and lists the changes of links they
 * cause. */
#include "hw/graph/events.h"

#include "base/number/number.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* An entry while it is read. */
typedef struct raw_event {
    double at_s, for_s;
    const conf_node *link;
    str device, bandwidth;
} raw_event;

#define MOST_SECONDS 1e6 /* steps of more than 26 days are refused elsewhere */

static const conf_field event_fields[] = {
    {.key = "at",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(raw_event, at_s),
     .required = true,
     .min = 0,
     .max = MOST_SECONDS,
     .doc = "when it begins, from the start of the run on"},
    {.key = "for",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(raw_event, for_s),
     .min = 0,
     .max = MOST_SECONDS,
     .doc = "how long it holds (default: to the end of the run)"},
    CONF_FIELD(raw_event, "link", CONF_TYPE_NODE, 0, link, false,
               "two devices: leaf0 - spine1, or [leaf0, spine*]"),
    CONF_FIELD(raw_event, "device", CONF_TYPE_TEXT, 0, device, false,
               "a switch, NIC or NPU: all its links"),
    CONF_FIELD(raw_event, "bandwidth", CONF_TYPE_TEXT, 0, bandwidth, true,
               "0 (it fails), x0.5 (times what it was), 50 %, or a rate"),
};

/* "0", "0 GB/s", "x0". */
static bool is_zero(str text)
{
    double value;
    if (text.n > 1 && text.at[0] == 'x')
        text = (str){text.at + 1, text.n - 1};
    return (number_read(text, &value) && value == 0) ||
           (units_parse(&value, text, UNITS_BANDWIDTH, NULL) == HALLEY_OK && value == 0);
}

static halley_status read_event(hw_event *out, const conf_file *file,
                                const conf_node *node, halley_error *err)
{
    raw_event raw = {0};
    if (node->kind != CONF_MAP)
        return conf_error(file, node, err, HALLEY_EINVAL,
                          "an entry of events is a map, such as {at: 2 s, link: leaf0 - "
                          "spine1, bandwidth: 0, for: 10 s}");
    TRY(conf_read(&raw, file, node, event_fields,
                  sizeof event_fields / sizeof *event_fields, true, NULL, err));
    if ((raw.link != NULL) == (raw.device.n > 0))
        return conf_error(file, node, err, HALLEY_EINVAL,
                          "an entry of events needs link or device, one of the two");
    if (conf_find(node, "for") != NULL && !(raw.for_s > 0))
        return conf_error(file, node, err, HALLEY_EINVAL, "for must be positive");
    *out = (hw_event){.fault = {.factor = 1, .latency_s = -1, .text = raw.device},
                      .at_s = raw.at_s,
                      .for_s = raw.for_s};
    if (raw.link != NULL)
        TRY(hw_fault_read_ends(&out->fault, file, raw.link, err));
    out->fault.is_device = raw.device.n > 0;
    out->fault.failed = is_zero(raw.bandwidth);
    if (out->fault.failed)
        return HALLEY_OK;
    return hw_fault_read_bandwidth(&out->fault, file, node, raw.bandwidth, err);
}

halley_status hw_events_read(const hw_event **out, uint32_t *n, arena *memory,
                             const conf_file *file, const conf_node *events,
                             halley_error *err)
{
    *n = 0;
    if (events == NULL)
        return HALLEY_OK;
    if (events->kind != CONF_LIST)
        return conf_error(file, events, err, HALLEY_EINVAL, "events must be a list");
    hw_event *const list = arena_array(memory, (size_t)events->n + 1, sizeof *list);
    if (list == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < events->n; i++)
        TRY(read_event(&list[i], file, events->items[i], err));
    *out = list;
    *n = events->n;
    return HALLEY_OK;
}

/* A link during an event. */
typedef struct link_span {
    uint32_t link;
    double from_s, to_s; /* to_s: HUGE_VAL if it lasts to the end */
} link_span;
typedef ARRAY(link_span) span_array;

static int compare_spans(const void *a, const void *b)
{
    const link_span *x = a, *y = b;
    if (x->link != y->link)
        return x->link < y->link ? -1 : 1;
    return x->from_s < y->from_s ? -1 : x->from_s > y->from_s;
}

static int compare_changes(const void *a, const void *b)
{
    const hw_change *x = a, *y = b;
    if (x->at_s != y->at_s)
        return x->at_s < y->at_s ? -1 : 1;
    if (x->link != y->link)
        return x->link < y->link ? -1 : 1;
    /* If one event ends when another begins, the beginning takes precedence. */
    return x->ends != y->ends ? (x->ends ? -1 : 1) : 0;
}

static halley_status check_spans(span_array *spans, const hw_graph *g, halley_error *err)
{
    char name[200];
    if (spans->n > 1)
        qsort(spans->at, spans->n, sizeof *spans->at, compare_spans);
    for (size_t i = 1; i < spans->n; i++)
        if (spans->at[i].link == spans->at[i - 1].link &&
            spans->at[i].from_s < spans->at[i - 1].to_s)
            return error_set(
                err, HALLEY_EINVAL,
                "two events hold for link %s at one time; let one end before "
                "the next begins",
                hw_graph_link_name(g, spans->at[i].link, name, sizeof name));
    return HALLEY_OK;
}

static halley_status list_event(hw_change_array *out, span_array *spans,
                                const hw_graph *g, const hw_event *e, halley_error *err)
{
    hw_link_array links = {0};
    halley_status status = hw_fault_find_links(&links, g, &e->fault, err);
    for (size_t i = 0; status == HALLEY_OK && i < links.n; i++) {
        const uint32_t link = links.at[i];
        const double was_Bps = g->link_Bps[link], end_s = e->at_s + e->for_s;
        const hw_change begin = {e->at_s, link, hw_fault_rate_Bps(&e->fault, was_Bps),
                                 false};
        const link_span span = {link, e->at_s, e->for_s > 0 ? end_s : MOST_SECONDS * 4};
        if (!array_push(out, begin) || !array_push(spans, span) ||
            (e->for_s > 0 && !array_push(out, ((hw_change){end_s, link, was_Bps, true}))))
            status = error_nomem(err);
    }
    array_fini(&links);
    return status;
}

halley_status hw_events_list(hw_change_array *out, const hw_graph *g,
                             const hw_event *events, uint32_t n, halley_error *err)
{
    span_array spans = {0};
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; i < n && status == HALLEY_OK; i++)
        status = list_event(out, &spans, g, &events[i], err);
    if (status == HALLEY_OK)
        status = check_spans(&spans, g, err);
    if (status == HALLEY_OK && out->n > 1)
        qsort(out->at, out->n, sizeof *out->at, compare_changes);
    array_fini(&spans);
    return status;
}
