/* Rows and events of timelines. Threads and streams have other numbers than kinds. */
#include "report/tracks.h"

#include <inttypes.h>

const char *const tracks_kind_names[TRACKS_N_KINDS] = {
    "CPU", "GPU", "communication", "receive", "remote memory", "other"};

/* Where the rows of threads, of gaps of streams and of streams begin. All are below 2^31,
 * because viewers use them as thread ids. */
static const uint64_t THREADS = 100, GAPS = 1 << 29, STREAMS = 1 << 30;
static const uint64_t MOST = 1 << 28;
/* Gaps of streams are recorded as threads from here on; see formats/recording/emit.c. */
static const uint64_t DEVICE_THREADS = UINT64_C(1) << 32;

uint64_t tracks_attr(const halley_trace *t, uint32_t node, const char *name)
{
    halley_attr attr;
    uint64_t value = 0;
    if (halley_node_find_attr(&attr, t, node, name))
        (void)halley_attr_to_u64(&attr, &value);
    return value;
}

uint64_t tracks_bytes(const halley_trace *t, uint32_t node)
{
    const uint32_t type = halley_node_type_of(t, node);
    const bool communicates =
        type == HALLEY_NODE_COLL || type == HALLEY_NODE_SEND || type == HALLEY_NODE_RECV;
    return tracks_attr(t, node, communicates ? "comm_size" : "tensor_size");
}

tracks_kind tracks_kind_of(const halley_trace *t, uint32_t node)
{
    if (tracks_attr(t, node, "is_cpu_op") != 0)
        return TRACKS_CPU;
    switch (halley_node_type_of(t, node)) {
    case HALLEY_NODE_COMP:
        return TRACKS_GPU;
    case HALLEY_NODE_COLL:
    case HALLEY_NODE_SEND:
        return TRACKS_COMM;
    case HALLEY_NODE_RECV:
        return TRACKS_RECV;
    case HALLEY_NODE_MEM_LOAD:
    case HALLEY_NODE_MEM_STORE:
        return TRACKS_MEMORY;
    default:
        return TRACKS_OTHER;
    }
}

uint64_t tracks_of(const halley_trace *t, uint32_t node)
{
    const tracks_kind kind = tracks_kind_of(t, node);
    const bool on_cpu = kind == TRACKS_CPU;
    halley_attr attr;
    uint64_t number;
    if (!halley_node_find_attr(&attr, t, node, on_cpu ? "tid" : "stream") ||
        !halley_attr_to_u64(&attr, &number))
        return kind;
    const bool gap = on_cpu && number >= DEVICE_THREADS;
    number -= gap ? DEVICE_THREADS : 0;
    return number < MOST ? (gap ? GAPS : on_cpu ? THREADS : STREAMS) + number : kind;
}

void tracks_name(strbuf *to, uint64_t track)
{
    if (track < TRACKS_N_KINDS)
        strbuf_add(to, str_from(tracks_kind_names[track]));
    else if (track >= STREAMS)
        strbuf_printf(to, "stream %" PRIu64, track - STREAMS);
    else if (track >= GAPS)
        strbuf_printf(to, "gaps of stream %" PRIu64, track - GAPS);
    else
        strbuf_printf(to, "thread %" PRIu64, track - THREADS);
}

static void add_text_member(strbuf *to, const char *key, halley_bytes value)
{
    if (value.n == 0)
        return;
    strbuf_printf(to, ",\"%s\":", key);
    strbuf_json(to, (str){value.at, value.n});
}

/* Write what recordings contain beyond the schema: class, group, shapes. */
static void add_recorded_members(strbuf *to, const halley_trace *t, uint32_t node)
{
    halley_attr attr;
    const halley_io io = halley_node_inputs(t, node);
    if (halley_node_find_attr(&attr, t, node, HALLEY_ATTR_NAME_KERNEL_CLASS))
        add_text_member(to, "class", attr.bytes);
    if (halley_node_find_attr(&attr, t, node, HALLEY_ATTR_NAME_PG_NAME))
        add_text_member(to, "group", attr.bytes);
    if (io.present)
        add_text_member(to, "shapes", io.shapes);
}

/* Kernels have their class as category, host operators their kind. */
static void add_category(strbuf *to, const halley_trace *t, uint32_t node)
{
    halley_attr attr;
    strbuf_add(to, STR(",\"cat\":"));
    if (halley_node_find_attr(&attr, t, node, HALLEY_ATTR_NAME_KERNEL_CLASS))
        strbuf_json(to, (str){attr.bytes.at, attr.bytes.n});
    else
        strbuf_json(to, str_from(tracks_kind_names[tracks_kind_of(t, node)]));
}

void tracks_add_arrow(strbuf *to, bool is_end, uint64_t id, const tracks_event *at)
{
    strbuf_printf(to,
                  "{\"ph\":\"%s\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64 ",\"id\":%" PRIu64
                  ",\"cat\":\"launch\",\"name\":\"launch\"%s,\"ts\":",
                  is_end ? "f" : "s", at->pid, at->tid, id,
                  is_end ? ",\"bp\":\"e\"" : "");
    strbuf_double(to, at->start_us);
    strbuf_add_char(to, '}');
}

void tracks_add_node(strbuf *to, const halley_trace *t, uint32_t node,
                     const tracks_event *event)
{
    const uint32_t type = halley_node_type_of(t, node);
    const halley_bytes name = halley_node_name(t, node);
    strbuf_printf(to, "{\"ph\":\"X\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64 ",\"name\":",
                  event->pid, event->tid);
    strbuf_json(to, (str){name.at, name.n});
    if (event->is_rich)
        add_category(to, t, node);
    strbuf_add(to, STR(",\"ts\":"));
    strbuf_double(to, event->start_us);
    strbuf_add(to, STR(",\"dur\":"));
    strbuf_double(to, event->duration_us);
    strbuf_printf(to, ",\"args\":{\"id\":%" PRIu64 ",\"type\":\"%s\",\"bytes\":%" PRIu64,
                  halley_node_id(t, node), halley_node_type_name(type),
                  tracks_bytes(t, node));
    if (type == HALLEY_NODE_COLL)
        strbuf_printf(to, ",\"collective\":\"%s\"",
                      halley_coll_type_name(tracks_attr(t, node, "comm_type")));
    if (event->is_rich)
        add_recorded_members(to, t, node);
    strbuf_add(to, STR("}}"));
}

void tracks_add_name(strbuf *to, uint64_t pid, uint64_t tid, const char *what, str name)
{
    strbuf_printf(to,
                  "{\"ph\":\"M\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64
                  ",\"name\":\"%s\",\"args\":{\"name\":",
                  pid, tid, what);
    strbuf_json(to, name);
    strbuf_add(to, STR("}}"));
}
