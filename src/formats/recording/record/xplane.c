/*
 * Read xplane.pb of JAX and TensorFlow (XSpace of tsl/profiler).
 *
 * There is one rank per device plane. The work of GPUs is on the lines "Stream …", that
 * of TPUs on the line "XLA Ops". Steps, XLA Modules and similar lines are derived and
 * never count as device time. Host threads that launch something on a device belong to
 * its rank, all others to the first rank. Times are picoseconds, kept as integers.
 */
#include "recording/record/hlo.h"
#include "recording/record/read.h"
#include "recording/record/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A plane's tables of names for events and statistics. */
typedef struct plane {
    str name;
    map64 event_at, stat_at; /* id -> index */
    ARRAY(str) event_names;
    ARRAY(str) event_stats; /* encoded metadata, to read its statistics */
    ARRAY(str) stat_names;
    ARRAY(str) lines;
    ARRAY(str) stats;
    uint64_t n_foreign;
    bool bad;
} plane;

typedef struct xplane_reader {
    rec_list *list;
    ARRAY(plane) planes;
    strbuf scratch;
    uint64_t n_foreign; /* fields of XSpace and XPlane that version 1 does not have */
    bool no_memory;
} xplane_reader;

static bool add_metadata(plane *p, str entry, bool is_event)
{
    wire w = wire_open(entry), m;
    wire_field f;
    uint64_t id = 0;
    str message = {"", 0}, name = {"", 0};
    while (wire_next(&w, &f)) {
        if (f.number == 1 && !f.is_bytes)
            id = f.value;
        else if (f.number == 2 && f.is_bytes)
            message = f.bytes;
    }
    m = wire_open(message);
    while (wire_next(&m, &f))
        if (f.number == 2 && f.is_bytes)
            name = f.bytes;
    p->bad |= w.bad || m.bad;
    if (is_event)
        return map64_set(&p->event_at, id, (uint32_t)p->event_names.n) &&
               array_push(&p->event_names, name) && array_push(&p->event_stats, message);
    return map64_set(&p->stat_at, id, (uint32_t)p->stat_names.n) &&
           array_push(&p->stat_names, name);
}

static bool read_plane(plane *p, str message)
{
    wire w = wire_open(message);
    wire_field f;
    bool ok = true;
    p->name = STR("");
    while (ok && wire_next(&w, &f)) {
        p->n_foreign += f.number > 6 || f.is_bytes != (f.number > 1);
        if (!f.is_bytes)
            continue;
        switch (f.number) {
        case 2:
            p->name = f.bytes;
            break;
        case 3:
            ok = array_push(&p->lines, f.bytes);
            break;
        case 4:
        case 5:
            ok = add_metadata(p, f.bytes, f.number == 4);
            break;
        case 6:
            ok = array_push(&p->stats, f.bytes);
            break;
        default:
            break;
        }
    }
    p->bad |= w.bad;
    return ok;
}

static void fini_plane(plane *p)
{
    map64_fini(&p->event_at);
    map64_fini(&p->stat_at);
    array_fini(&p->event_names);
    array_fini(&p->event_stats);
    array_fini(&p->stat_names);
    array_fini(&p->lines);
    array_fini(&p->stats);
}

static str find_stat_name(const plane *p, uint64_t id)
{
    const uint32_t at = map64_find(&p->stat_at, id);
    return at == HASH_NONE ? STR("") : p->stat_names.at[at];
}

/* One statistic: its name, and its value as number and as text. */
typedef struct xstat {
    str name, text;
    uint64_t number;
    bool has_number;
} xstat;

static xstat read_stat(plane *p, str message)
{
    xstat s = {.name = STR(""), .text = STR("")};
    wire w = wire_open(message);
    wire_field f;
    while (wire_next(&w, &f)) {
        if (f.number == 1) {
            s.name = find_stat_name(p, f.value);
        } else if ((f.number == 3 || f.number == 4) && !f.is_bytes) {
            s.number = f.value;
            s.has_number = true;
        } else if (f.number == 5 && f.is_bytes) {
            s.text = f.bytes;
        } else if (f.number == 7) {
            s.text = find_stat_name(p, f.value);
        }
    }
    p->bad |= w.bad;
    return s;
}

typedef struct xevent {
    str name, hlo_op, category;
    int64_t begin_ns, end_ns;
    uint64_t correlation;
    bool is_valid;
} xevent;

static void take_event_stat(xevent *e, const xstat *s)
{
    if (str_eq(s->name, STR("correlation_id")) && s->has_number)
        e->correlation = s->number;
    else if (str_eq(s->name, STR("hlo_op")))
        e->hlo_op = s->text;
    else if (str_eq(s->name, STR("hlo_category")))
        e->category = s->text;
}

/* Take the statistics in the event's metadata (its field 5). */
static void take_metadata_stats(plane *p, xevent *e, uint64_t id)
{
    const uint32_t at = map64_find(&p->event_at, id);
    if (at == HASH_NONE)
        return;
    e->name = p->event_names.at[at];
    wire w = wire_open(p->event_stats.at[at]);
    wire_field f;
    while (wire_next(&w, &f)) {
        if (f.number != 5 || !f.is_bytes)
            continue;
        const xstat s = read_stat(p, f.bytes);
        take_event_stat(e, &s);
    }
}

static xevent read_xevent(plane *p, str message, uint64_t line_ns)
{
    xevent e = {.name = STR(""),
                .hlo_op = STR(""),
                .category = STR(""),
                .correlation = REC_NO_ID};
    uint64_t id = 0, offset_ps = 0, duration_ps = 0;
    wire w = wire_open(message);
    wire_field f;
    while (wire_next(&w, &f)) {
        if (f.number == 1 && !f.is_bytes)
            id = f.value;
        else if (f.number == 2 && !f.is_bytes)
            offset_ps = f.value;
        else if (f.number == 3 && !f.is_bytes)
            duration_ps = f.value;
        else if (f.number == 4 && f.is_bytes) {
            const xstat s = read_stat(p, f.bytes);
            take_event_stat(&e, &s);
        }
    }
    p->bad |= w.bad;
    take_metadata_stats(p, &e, id);
    e.is_valid = line_ns < INT64_MAX / 2 && offset_ps < INT64_MAX / 4 &&
                 duration_ps < INT64_MAX / 4;
    if (e.is_valid) {
        e.begin_ns = (int64_t)(line_ns + offset_ps / 1000);
        e.end_ns = (int64_t)(line_ns + (offset_ps + duration_ps) / 1000);
    }
    return e;
}

/* The name and time of a line, which are read before its events. */
typedef struct line_info {
    str name;
    uint64_t id, begin_ns;
} line_info;

static line_info read_line_info(plane *p, str message)
{
    line_info line = {.name = STR("")};
    wire w = wire_open(message);
    wire_field f;
    while (wire_next(&w, &f)) {
        if (f.number == 1 && !f.is_bytes)
            line.id = f.value;
        else if (f.number == 2 && f.is_bytes)
            line.name = f.bytes;
        else if (f.number == 3 && !f.is_bytes)
            line.begin_ns = f.value;
    }
    p->bad |= w.bad;
    return line;
}

static bool is_device_plane(str name)
{
    return str_starts(name, STR("/device:")) && !str_contains(name, STR("CUSTOM"));
}

static bool is_work_line(const plane *p, str name)
{
    return str_starts(name, STR("Stream")) ||
           (str_eq(name, STR("XLA Ops")) && str_contains(p->name, STR(":TPU:")));
}

/* Bytes and group of a collective, from its HLO text. */
static uint32_t add_hlo_comm(xplane_reader *x, record *r, const xevent *e,
                             uint64_t device)
{
    rec_comm comm = {REC_NONE,  REC_NONE,  REC_NONE,  REC_NONE,  REC_NONE,
                     REC_NONE,  REC_NONE,  REC_NO_ID, REC_NO_ID, REC_NO_ID,
                     REC_NO_ID, REC_NO_ID, REC_NO_ID, REC_NO_ID, REC_NO_ID};
    const char *dtype;
    if (!hlo_result(e->name, &comm.in_elements, &dtype))
        return REC_NONE;
    comm.dtype = intern_add(&r->texts, str_from(dtype));
    if (hlo_group(e->name, device, &x->scratch)) {
        comm.pg_name = comm.ranks = intern_add(&r->texts, strbuf_str(&x->scratch));
        comm.group_size = 1;
        for (size_t i = 0; i < x->scratch.n; i++)
            comm.group_size += x->scratch.at[i] == ',';
    }
    x->no_memory |=
        x->scratch.failed || comm.dtype == HASH_NONE || !array_push(&r->comms, comm);
    return (uint32_t)r->comms.n - 1;
}

static void add_xwork(xplane_reader *x, record *r, const xevent *e, const line_info *line,
                      uint64_t device)
{
    const char *const class_name = hlo_category_class(e->category);
    if (class_name != NULL && strcmp(class_name, "skip") == 0)
        return;
    const bool copies = str_starts(e->name, STR("Memcpy"));
    const bool sets = str_starts(e->name, STR("Memset"));
    rec_work work = {
        .begin_ns = e->begin_ns,
        .end_ns = e->end_ns,
        .correlation = e->correlation,
        .n_bytes = REC_NO_ID,
        .name = intern_add(&r->texts, e->name),
        .row = rec_add_row(r, device, (int64_t)(line->id & INT32_MAX), line->name),
        .comm = REC_NONE,
        .hint = REC_NONE,
        .kind = copies ? REC_COPY
                : sets ? REC_SET
                       : REC_KERNEL,
        .hint_is_class = class_name != NULL,
    };
    if (class_name != NULL)
        work.hint = intern_add(&r->texts, str_from(class_name));
    else if (e->category.n > 0)
        work.hint = intern_add(&r->texts, STR("elementwise")), work.hint_is_class = true;
    else if (e->hlo_op.n > 0)
        work.hint = intern_add(&r->texts, e->hlo_op);
    if (class_name != NULL && strncmp(class_name, "comm.", 5) == 0)
        work.comm = add_hlo_comm(x, r, e, device);
    x->no_memory |= !rec_add_work(r, &work);
}

static void add_xstep(xplane_reader *x, record *r, const xevent *e)
{
    uint64_t number = r->steps.n;
    (void)str_to_u64(e->name, &number);
    const rec_step step = {.begin_ns = e->begin_ns,
                           .end_ns = e->end_ns,
                           .name = intern_add(&r->texts, e->name),
                           .number = number};
    x->no_memory |= step.name == HASH_NONE || !array_push(&r->steps, step);
}

static void read_device_line(xplane_reader *x, plane *p, record *r, str message,
                             uint64_t device)
{
    const line_info line = read_line_info(p, message);
    const bool works = is_work_line(p, line.name);
    const bool steps = str_eq(line.name, STR("Steps"));
    wire w = wire_open(message);
    wire_field f;
    while ((works || steps) && wire_next(&w, &f)) {
        if (f.number != 4 || !f.is_bytes)
            continue;
        const xevent e = read_xevent(p, f.bytes, line.begin_ns);
        r->n_events++;
        r->n_bad_times += !e.is_valid;
        if (e.is_valid && works)
            add_xwork(x, r, &e, &line, device);
        else if (e.is_valid)
            add_xstep(x, r, &e);
    }
}

static void name_xdevice(xplane_reader *x, plane *p, record *r)
{
    str vendor = STR("");
    uint64_t major = REC_NO_ID, minor = 0, cores = REC_NO_ID, memory = REC_NO_ID;
    for (size_t i = 0; i < p->stats.n; i++) {
        const xstat s = read_stat(p, p->stats.at[i]);
        if (str_eq(s.name, STR("device_vendor")))
            vendor = s.text;
        else if (str_eq(s.name, STR("compute_cap_major")) && s.has_number)
            major = s.number;
        else if (str_eq(s.name, STR("compute_cap_minor")) && s.has_number)
            minor = s.number;
        else if (str_eq(s.name, STR("core_count")) && s.has_number)
            cores = s.number;
        else if (str_eq(s.name, STR("memory_size")) && s.has_number)
            memory = s.number;
    }
    if (vendor.n == 0)
        return;
    x->scratch.n = 0;
    strbuf_add(&x->scratch, vendor);
    if (major != REC_NO_ID)
        strbuf_printf(&x->scratch, ", compute capability %llu.%llu",
                      (unsigned long long)major, (unsigned long long)minor);
    if (cores != REC_NO_ID)
        strbuf_printf(&x->scratch, ", %llu cores", (unsigned long long)cores);
    if (memory != REC_NO_ID)
        strbuf_printf(&x->scratch, ", %llu B", (unsigned long long)memory);
    r->device_name = intern_add(&r->texts, strbuf_str(&x->scratch));
    x->no_memory |= x->scratch.failed || r->device_name == HASH_NONE;
}

static uint64_t find_device_number(str name)
{
    uint64_t number = 0;
    size_t n = 0;
    while (n < name.n && name.at[name.n - 1 - n] >= '0' && name.at[name.n - 1 - n] <= '9')
        n++;
    (void)str_to_u64((str){name.at + name.n - n, n}, &number);
    return number;
}

static void read_device_plane(xplane_reader *x, plane *p)
{
    record *const r = rec_list_add(x->list, REC_XPLANE);
    if (r == NULL) {
        x->no_memory = true;
        return;
    }
    name_xdevice(x, p, r);
    for (size_t i = 0; i < p->lines.n && !x->no_memory; i++)
        read_device_line(x, p, r, p->lines.at[i], find_device_number(p->name));
}

static void add_xhost(xplane_reader *x, record *r, const xevent *e, const line_info *line)
{
    char tid[24];
    const int n = snprintf(tid, sizeof tid, "%llu", (unsigned long long)line->id);
    const bool calls = e->correlation != REC_NO_ID && e->correlation != 0;
    rec_host event = {.begin_ns = e->begin_ns,
                      .end_ns = e->end_ns,
                      .detail = REC_NONE,
                      .kind = calls ? REC_CALL : REC_OP};
    if (calls)
        event.correlation = e->correlation;
    x->no_memory |= !rec_add_host(r, event, intern_add(&r->texts, e->name),
                                  rec_add_thread(r, STR("0"), (str){tid, (size_t)n}));
}

/* Find the ranks that a host line launches something for. A line without any belongs to
 * the first rank. */
static bool find_line_ranks(xplane_reader *x, plane *p, str message, const map64 *rank_of,
                            bool *wanted)
{
    const line_info line = read_line_info(p, message);
    wire w = wire_open(message);
    wire_field f;
    bool any = false;
    memset(wanted, 0, x->list->ranks.n * sizeof *wanted);
    while (wire_next(&w, &f)) {
        if (f.number != 4 || !f.is_bytes)
            continue;
        const xevent e = read_xevent(p, f.bytes, line.begin_ns);
        const uint32_t rank =
            e.correlation == REC_NO_ID ? HASH_NONE : map64_find(rank_of, e.correlation);
        if (rank != HASH_NONE)
            wanted[rank] = any = true;
    }
    if (!any)
        wanted[0] = true;
    return any;
}

static void read_host_line(xplane_reader *x, plane *p, str message, const bool *wanted)
{
    const line_info line = read_line_info(p, message);
    wire w = wire_open(message);
    wire_field f;
    while (!x->no_memory && wire_next(&w, &f)) {
        if (f.number != 4 || !f.is_bytes)
            continue;
        const xevent e = read_xevent(p, f.bytes, line.begin_ns);
        const bool python = e.name.n > 0 && e.name.at[0] == '$';
        for (size_t i = 0; i < x->list->ranks.n; i++) {
            if (!wanted[i])
                continue;
            x->list->ranks.at[i].n_events++;
            if (e.is_valid && !python)
                add_xhost(x, &x->list->ranks.at[i], &e, &line);
        }
    }
}

static void read_host_plane(xplane_reader *x, plane *p)
{
    map64 rank_of = {0}; /* correlation -> rank */
    const size_t n = x->list->ranks.n;
    bool *const wanted = mem_array(n, sizeof *wanted);
    x->no_memory |= wanted == NULL;
    for (uint32_t i = 0; i < n && !x->no_memory; i++)
        for (size_t k = 0; k < x->list->ranks.at[i].works.n && !x->no_memory; k++) {
            const uint64_t id = x->list->ranks.at[i].works.at[k].correlation;
            if (id != REC_NO_ID)
                x->no_memory |= !map64_set(&rank_of, id, i);
        }
    for (size_t i = 0; i < p->lines.n && !x->no_memory; i++) {
        (void)find_line_ranks(x, p, p->lines.at[i], &rank_of, wanted);
        read_host_line(x, p, p->lines.at[i], wanted);
    }
    free(wanted);
    map64_fini(&rank_of);
}

static bool read_space(xplane_reader *x, str message)
{
    wire w = wire_open(message);
    wire_field f;
    while (wire_next(&w, &f)) {
        x->n_foreign += f.number > 4 || !f.is_bytes;
        if (f.number != 1 || !f.is_bytes)
            continue;
        if (!array_push(&x->planes, (plane){.bad = false}) ||
            !read_plane(&x->planes.at[x->planes.n - 1], f.bytes)) {
            x->no_memory = true;
            return true;
        }
        x->n_foreign += x->planes.at[x->planes.n - 1].n_foreign;
    }
    return !w.bad;
}

/* Drop devices without any event; they are not ranks. */
static void drop_idle_devices(rec_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->ranks.n; i++) {
        if (list->ranks.at[i].works.n == 0)
            rec_fini(&list->ranks.at[i]);
        else
            list->ranks.at[kept++] = list->ranks.at[i];
    }
    list->ranks.n = kept;
}

static halley_status read_planes(xplane_reader *x, halley_error *err)
{
    bool bad = false;
    for (size_t i = 0; i < x->planes.n && !x->no_memory; i++)
        if (is_device_plane(x->planes.at[i].name))
            read_device_plane(x, &x->planes.at[i]);
    drop_idle_devices(x->list);
    for (size_t i = 0; i < x->planes.n && !x->no_memory && x->list->ranks.n > 0; i++)
        if (str_starts(x->planes.at[i].name, STR("/host:CPU")))
            read_host_plane(x, &x->planes.at[i]);
    for (size_t i = 0; i < x->planes.n; i++)
        bad |= x->planes.at[i].bad;
    if (x->no_memory)
        return error_nomem(err);
    if (bad)
        return error_set(err, HALLEY_EFORMAT,
                         "the xplane is malformed or cut, or of a version that halley "
                         "does not know");
    if (x->list->ranks.n == 0)
        return error_set(err, HALLEY_EINVAL,
                         "the xplane has no device plane with work: was it recorded on "
                         "a GPU or TPU, in a version with lines \"Stream\" or "
                         "\"XLA Ops\"?");
    if (x->n_foreign > 0)
        rec_remark(&x->list->ranks.at[0],
                   "the xplane is of another version of the format: %llu fields that "
                   "halley does not know were left out",
                   (unsigned long long)x->n_foreign);
    for (size_t i = 0; i < x->list->ranks.n && x->list->ranks.n > 1; i++) {
        x->list->ranks.at[i].n_devices = (uint32_t)x->list->ranks.n;
        x->list->ranks.at[i].job.world = x->list->ranks.n;
        x->list->ranks.at[i].job.rank = i;
        if (i == 0)
            rec_remark(&x->list->ranks.at[i], "%zu devices in one file: each is a rank",
                       x->list->ranks.n);
    }
    return HALLEY_OK;
}

halley_status rec_read_xplane(rec_list *list, const uint8_t *at, size_t n,
                              halley_error *err)
{
    xplane_reader x = {.list = list};
    halley_status status = HALLEY_OK;
    if (!read_space(&x, (str){(const char *)at, n}))
        status = error_set(err, HALLEY_EFORMAT,
                           "the file is no XSpace protobuf, or it is cut");
    if (status == HALLEY_OK)
        status = read_planes(&x, err);
    for (size_t i = 0; i < x.planes.n; i++)
        fini_plane(&x.planes.at[i]);
    array_fini(&x.planes);
    strbuf_fini(&x.scratch);
    return status;
}
