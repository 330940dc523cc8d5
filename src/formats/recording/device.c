/*
 * Read Kineto traces.
 *
 * Each event is read key by key into a scratch event, in whatever order its keys come. It
 * is then classified by category and name. The file may be an object with "traceEvents"
 * or the bare array. Times are absolute or relative to baseTimeNanoseconds, which may
 * come after the events. Ids are numbers or text.
 */
#include "recording/device.h"

#include <stdlib.h>
#include <string.h>

typedef enum category {
    CAT_NONE,
    CAT_OP,
    CAT_ANNOTATION,
    CAT_RUNTIME,
    CAT_KERNEL,
    CAT_COPY,
    CAT_SET,
    CAT_SYNC,
    CAT_OTHER
} category;

/* One event while it is read. */
typedef struct draft {
    category cat;
    bool complete; /* ph is X */
    bool has_start, has_duration, has_comm;
    int64_t start_ns, duration_ns;
    uint32_t name; /* DEVICE_NONE until the event is known to be kept */
    bool has_name;
    uint64_t external, rf_id, correlation, stream, device, n_bytes;
    uint64_t wait_stream, wait_record;
    char pid[48], tid[48];
    uint32_t n_pid, n_tid;
    uint32_t sync_kind;
    device_comm comm;
} draft;

typedef struct device_reader {
    pull_reader p;
    device_trace *device;
    strbuf name; /* of the event being read */
    draft d;
    bool saw_events;
    /* Kind of each interned name as a runtime call; DEVICE_N_KINDS = not asked yet. */
    ARRAY(uint8_t) call_kinds;
} device_reader;

device_kind device_call_kind(str name)
{
    static const struct {
        const char *stem; /* name without cuda, cu or hip; * = is a prefix */
        device_kind kind;
    } calls[] = {
        {"DeviceSynchronize", DEVICE_SYNC_CALL},
        {"CtxSynchronize", DEVICE_SYNC_CALL},
        {"StreamSynchronize*", DEVICE_SYNC_CALL},
        {"EventSynchronize", DEVICE_SYNC_CALL},
        {"EventRecord*", DEVICE_RECORD},
        {"StreamWaitEvent*", DEVICE_WAIT},
        {"EventQuery", DEVICE_QUIET},
        {"EventElapsedTime*", DEVICE_QUIET},
        {"EventCreate*", DEVICE_QUIET},
        {"EventDestroy*", DEVICE_QUIET},
        {"StreamIsCapturing", DEVICE_QUIET},
        {"StreamGet*", DEVICE_QUIET},
        {"StreamCreate*", DEVICE_QUIET},
        {"StreamQuery", DEVICE_QUIET},
        {"ThreadExchangeStreamCaptureMode", DEVICE_QUIET},
        {"Device*", DEVICE_QUIET},
        {"Get*", DEVICE_QUIET},
        {"Set*", DEVICE_QUIET},
        {"Func*", DEVICE_QUIET},
        {"Occupancy*", DEVICE_QUIET},
        {"PeekAtLastError", DEVICE_QUIET},
        {"PointerGet*", DEVICE_QUIET},
        {"Malloc*", DEVICE_QUIET},
        {"Free*", DEVICE_QUIET},
        {"Host*", DEVICE_QUIET},
        {"Driver*", DEVICE_QUIET},
        {"Runtime*", DEVICE_QUIET},
        {"__*", DEVICE_QUIET},
    };
    str stem = name;
    const size_t prefix = str_starts(name, STR("cuda"))  ? 4
                          : str_starts(name, STR("hip")) ? 3
                          : str_starts(name, STR("cu"))  ? 2
                                                         : 0;
    stem.at += prefix;
    stem.n -= prefix;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const size_t n = strlen(calls[i].stem);
        const bool open = calls[i].stem[n - 1] == '*';
        const str wanted = {calls[i].stem, n - open};
        if (open ? str_starts(stem, wanted) : str_eq(stem, wanted))
            return calls[i].kind;
    }
    return DEVICE_CALL;
}

static device_kind call_kind(device_reader *r, uint32_t name)
{
    while (r->call_kinds.n <= name)
        if (!array_push(&r->call_kinds, (uint8_t)DEVICE_N_KINDS)) {
            r->p.no_memory = true;
            return DEVICE_QUIET;
        }
    uint8_t *const known = &r->call_kinds.at[name];
    if (*known == DEVICE_N_KINDS)
        *known = (uint8_t)device_call_kind(intern_text(&r->device->texts, name));
    return (device_kind)*known;
}

static category category_of(str text)
{
    switch (text.n) {
    case 6:
        return PULL_IS(text, "cpu_op")   ? CAT_OP
               : PULL_IS(text, "kernel") ? CAT_KERNEL
               : PULL_IS(text, "Kernel") ? CAT_KERNEL
               : PULL_IS(text, "Memcpy") ? CAT_COPY
               : PULL_IS(text, "Memset") ? CAT_SET
                                         : CAT_OTHER;
    case 7:
        return PULL_IS(text, "Runtime") ? CAT_RUNTIME : CAT_OTHER;
    case 8:
        return PULL_IS(text, "Operator") ? CAT_OP : CAT_OTHER;
    case 9:
        return PULL_IS(text, "cuda_sync") ? CAT_SYNC : CAT_OTHER;
    case 10:
        return PULL_IS(text, "gpu_memcpy")   ? CAT_COPY
               : PULL_IS(text, "gpu_memset") ? CAT_SET
                                             : CAT_OTHER;
    case 11:
        return PULL_IS(text, "cuda_driver")   ? CAT_RUNTIME
               : PULL_IS(text, "hip_runtime") ? CAT_RUNTIME
                                              : CAT_OTHER;
    case 12:
        return PULL_IS(text, "cuda_runtime") ? CAT_RUNTIME : CAT_OTHER;
    case 15:
        return PULL_IS(text, "user_annotation") ? CAT_ANNOTATION : CAT_OTHER;
    default:
        return CAT_OTHER;
    }
}

/* The keys of "args" that are read. */
typedef enum arg {
    ARG_EXTERNAL,
    ARG_RF_ID,
    ARG_CORRELATION,
    ARG_STREAM,
    ARG_DEVICE,
    ARG_BYTES,
    ARG_WAIT_STREAM,
    ARG_WAIT_RECORD,
    ARG_SYNC_KIND,
    ARG_COLLECTIVE,
    ARG_DTYPE,
    ARG_PG_NAME,
    ARG_PG_DESC,
    ARG_PG_RANKS,
    ARG_IN,
    ARG_OUT,
    ARG_GROUP_SIZE,
    ARG_SOURCE,
    ARG_DESTINATION,
    ARG_NONE
} arg;

static arg arg_of(str key)
{
    static const struct {
        str key;
        arg arg;
    } args[] = {
        {{"External id", 11}, ARG_EXTERNAL},
        {{"external id", 11}, ARG_EXTERNAL},
        {{"Record function id", 18}, ARG_RF_ID},
        {{"correlation", 11}, ARG_CORRELATION},
        {{"stream", 6}, ARG_STREAM},
        {{"device", 6}, ARG_DEVICE},
        {{"bytes", 5}, ARG_BYTES},
        {{"wait_on_stream", 14}, ARG_WAIT_STREAM},
        {{"wait_on_cuda_event_record_corr_id", 33}, ARG_WAIT_RECORD},
        {{"cuda_sync_kind", 14}, ARG_SYNC_KIND},
        {{"Collective name", 15}, ARG_COLLECTIVE},
        {{"dtype", 5}, ARG_DTYPE},
        {{"Process Group Name", 18}, ARG_PG_NAME},
        {{"Process Group ID", 16}, ARG_PG_NAME},
        {{"Process Group Description", 25}, ARG_PG_DESC},
        {{"Process Group Ranks", 19}, ARG_PG_RANKS},
        {{"In msg nelems", 13}, ARG_IN},
        {{"Out msg nelems", 14}, ARG_OUT},
        {{"Group size", 10}, ARG_GROUP_SIZE},
        {{"Src Rank", 8}, ARG_SOURCE},
        {{"Dst Rank", 8}, ARG_DESTINATION},
    };
    for (size_t i = 0; i < sizeof args / sizeof *args; i++)
        if (key.n == args[i].key.n && key.at[0] == args[i].key.at[0] &&
            memcmp(key.at, args[i].key.at, key.n) == 0)
            return args[i].arg;
    return ARG_NONE;
}

static void take_comm_arg(device_reader *r, arg which, json_token token)
{
    device_comm *const c = &r->d.comm;
    uint32_t *const text = which == ARG_COLLECTIVE ? &c->collective
                           : which == ARG_DTYPE    ? &c->dtype
                           : which == ARG_PG_NAME  ? &c->pg_name
                           : which == ARG_PG_DESC  ? &c->pg_desc
                           : which == ARG_PG_RANKS ? &c->ranks
                                                   : NULL;
    if (text) {
        *text = pull_intern(&r->p, token);
    } else {
        uint64_t *const number = which == ARG_IN           ? &c->in_elements
                                 : which == ARG_OUT        ? &c->out_elements
                                 : which == ARG_GROUP_SIZE ? &c->group_size
                                 : which == ARG_SOURCE     ? &c->source
                                                           : &c->destination;
        *number = pull_u64(&r->p.json, token);
    }
    r->d.has_comm |= which != ARG_DTYPE;
}

static void take_arg(device_reader *r, arg which, json_token token)
{
    draft *const d = &r->d;
    uint64_t *const number = which == ARG_EXTERNAL      ? &d->external
                             : which == ARG_RF_ID       ? &d->rf_id
                             : which == ARG_CORRELATION ? &d->correlation
                             : which == ARG_STREAM      ? &d->stream
                             : which == ARG_DEVICE      ? &d->device
                             : which == ARG_BYTES       ? &d->n_bytes
                             : which == ARG_WAIT_STREAM ? &d->wait_stream
                             : which == ARG_WAIT_RECORD ? &d->wait_record
                                                        : NULL;
    if (number)
        *number = pull_u64(&r->p.json, token);
    else if (which == ARG_SYNC_KIND)
        d->sync_kind = pull_intern(&r->p, token);
    else
        take_comm_arg(r, which, token);
}

static halley_status read_args(device_reader *r, halley_error *err)
{
    while (pull_key(&r->p)) {
        const arg which = r->p.json.text.n ? arg_of(r->p.json.text) : ARG_NONE;
        const json_token token = json_next(&r->p.json);
        if (which != ARG_NONE && token >= JSON_STRING)
            take_arg(r, which, token);
        else
            TRY(pull_skip(&r->p, token, err));
    }
    return pull_ended(&r->p, err);
}

static void copy_short(char *to, uint32_t *n, size_t size, str text)
{
    *n = (uint32_t)(text.n < size ? text.n : size);
    memcpy(to, text.at, *n);
}

/* Intern only the names of events that are kept, because the others may have any number
 * of distinct names. */
static void take_name(device_reader *r)
{
    const str name = pull_text(&r->p.json, &r->p.scratch);
    r->name.n = 0;
    strbuf_add(&r->name, name);
    r->d.has_name = true;
    r->p.no_memory |= r->name.failed || r->p.scratch.failed;
}

static halley_status read_device_key(device_reader *r, halley_error *err)
{
    draft *const d = &r->d;
    const str key = r->p.json.text;
    const char first = key.n ? key.at[0] : '\0';
    const size_t n = key.n;
    const char second = n > 1 ? key.at[1] : '\0';
    const json_token token = json_next(&r->p.json);
    if (n == 4 && first == 'a' && token == JSON_OBJECT && d->cat != CAT_OTHER) /* args */
        return read_args(r, err);
    if (token < JSON_STRING || token > JSON_NUMBER)
        return json_leap(&r->p.json, token) ? HALLEY_OK : pull_bad(&r->p, err, NULL);
    if (n == 4 && first == 'n') /* name */
        take_name(r);
    else if (n == 3 && first == 'c' && second == 'a') /* cat */
        d->cat = category_of(r->p.json.text);
    else if (n == 2 && first == 'p') /* ph */
        d->complete = PULL_IS(r->p.json.text, "X");
    else if (n == 2 && first == 't') /* ts */
        d->has_start = pull_us_as_ns(r->p.json.text, &d->start_ns);
    else if (n == 3 && first == 'd') /* dur */
        d->has_duration = pull_us_as_ns(r->p.json.text, &d->duration_ns);
    else if (n == 3 && first == 'p') /* pid */
        copy_short(d->pid, &d->n_pid, sizeof d->pid, r->p.json.text);
    else if (n == 3 && first == 't') /* tid */
        copy_short(d->tid, &d->n_tid, sizeof d->tid, r->p.json.text);
    return HALLEY_OK;
}

static uint32_t thread_index(device_reader *r)
{
    char key[100];
    const draft *const d = &r->d;
    memcpy(key, d->pid, d->n_pid);
    key[d->n_pid] = ' ';
    memcpy(key + d->n_pid + 1, d->tid, d->n_tid);
    const uint32_t id =
        intern_add(&r->device->threads, (str){key, d->n_pid + 1 + (size_t)d->n_tid});
    r->p.no_memory |= id == HASH_NONE;
    return id;
}

static uint64_t device_number_or(uint64_t value, const char *text, uint32_t n)
{
    uint64_t number;
    if (value != PULL_NONE)
        return value;
    return str_to_u64((str){text, n}, &number) ? number : PULL_NONE;
}

static uint32_t stream_index(device_reader *r)
{
    device_trace *const t = r->device;
    const draft *const d = &r->d;
    const device_stream s = {.device = device_number_or(d->device, d->pid, d->n_pid),
                             .stream = device_number_or(d->stream, d->tid, d->n_tid)};
    uint32_t id = (uint32_t)t->streams.n;
    bool fresh;
    if (!map64_put(&t->stream_of, hash_u64(s.device) ^ s.stream, &id, &fresh) ||
        (fresh && !array_push(&t->streams, s)))
        r->p.no_memory = true;
    return id;
}

static uint32_t keep_comm(device_reader *r)
{
    if (!r->d.has_comm)
        return DEVICE_NONE;
    if (!array_push(&r->device->comms, r->d.comm))
        r->p.no_memory = true;
    return (uint32_t)r->device->comms.n - 1;
}

static uint32_t keep_sync(device_reader *r)
{
    const draft *const d = &r->d;
    const uint32_t from = d->sync_kind != DEVICE_NONE ? d->sync_kind : d->name;
    const str kind = from == DEVICE_NONE ? STR("") : intern_text(&r->device->texts, from);
    const device_sync sync = {
        .kind = PULL_IS(kind, "Stream Sync")           ? DEVICE_WAIT_STREAM
                : PULL_IS(kind, "Event Sync")          ? DEVICE_WAIT_EVENT
                : str_starts(kind, STR("Stream Wait")) ? DEVICE_WAIT_STREAM_EVENT
                                                       : DEVICE_WAIT_CONTEXT,
        .record = d->wait_record,
        .stream = PULL_IS(kind, "Stream Sync") ? d->stream : d->wait_stream,
        .waiter = d->stream,
        .device = d->device,
    };
    if (!array_push(&r->device->syncs, sync))
        r->p.no_memory = true;
    return (uint32_t)r->device->syncs.n - 1;
}

static uint32_t keep_bytes(device_reader *r)
{
    if (r->d.n_bytes == PULL_NONE)
        return DEVICE_NONE;
    if (!array_push(&r->device->bytes, r->d.n_bytes))
        r->p.no_memory = true;
    return (uint32_t)r->device->bytes.n - 1;
}

static device_kind device_kind_of(device_reader *r)
{
    const draft *const d = &r->d;
    static const device_kind kinds[] = {
        [CAT_OP] = DEVICE_OP,         [CAT_ANNOTATION] = DEVICE_ANNOTATION,
        [CAT_KERNEL] = DEVICE_KERNEL, [CAT_COPY] = DEVICE_COPY,
        [CAT_SET] = DEVICE_SET,       [CAT_SYNC] = DEVICE_SYNC,
    };
    if (d->cat == CAT_RUNTIME)
        return d->name == DEVICE_NONE ? DEVICE_QUIET : call_kind(r, d->name);
    return kinds[d->cat];
}

static bool same_event(const device_event *a, const device_event *b)
{
    return a->start_ns == b->start_ns && a->duration_ns == b->duration_ns &&
           a->external == b->external && a->key == b->key && a->name == b->name &&
           a->place == b->place && a->kind == b->kind;
}

static void keep_event(device_reader *r)
{
    device_trace *const t = r->device;
    draft *const d = &r->d;
    t->n_events++;
    if (!d->complete || d->cat == CAT_NONE || d->cat == CAT_OTHER) {
        t->n_other++;
        return;
    }
    if (d->has_name) {
        d->name = intern_add(&t->texts, strbuf_str(&r->name));
        r->p.no_memory |= d->name == HASH_NONE;
    }
    const device_kind kind = device_kind_of(r);
    if (kind == DEVICE_QUIET) {
        t->n_quiet++;
        return;
    }
    if (!d->has_start || !d->has_duration || d->name == DEVICE_NONE) {
        t->n_bad_times++;
        return;
    }
    if (d->duration_ns < 0) {
        t->n_negative++;
        d->duration_ns = 0;
    }
    device_event event = {
        .start_ns = d->start_ns,
        .duration_ns = d->duration_ns,
        .external = d->external,
        .key = device_is_op(kind) ? d->rf_id : d->correlation,
        .name = d->name,
        .kind = kind,
        .place = device_is_gpu(kind) ? stream_index(r) : thread_index(r),
        .extra = DEVICE_NONE,
    };
    if (t->events.n > 0 && same_event(&event, &t->events.at[t->events.n - 1])) {
        t->n_duplicates++;
        return;
    }
    event.extra = kind == DEVICE_SYNC                         ? keep_sync(r)
                  : kind == DEVICE_COPY || kind == DEVICE_SET ? keep_bytes(r)
                                                              : keep_comm(r);
    t->n[kind]++;
    if (t->events.n >= DEVICE_NONE - 1 || !array_push(&t->events, event))
        r->p.no_memory = true;
}

static halley_status read_device_event(device_reader *r, halley_error *err)
{
    draft *const d = &r->d;
    d->cat = CAT_NONE;
    d->complete = d->has_start = d->has_duration = d->has_comm = d->has_name = false;
    d->name = d->sync_kind = DEVICE_NONE;
    d->external = d->rf_id = d->correlation = d->stream = d->device = d->n_bytes =
        d->wait_stream = d->wait_record = PULL_NONE;
    d->n_pid = d->n_tid = 0;
    d->comm =
        (device_comm){DEVICE_NONE, DEVICE_NONE, DEVICE_NONE, DEVICE_NONE, DEVICE_NONE,
                      PULL_NONE,   PULL_NONE,   PULL_NONE,   PULL_NONE,   PULL_NONE};
    while (pull_key(&r->p)) {
        TRY(read_device_key(r, err));
    }
    TRY(pull_ended(&r->p, err));
    keep_event(r);
    return r->p.no_memory ? error_nomem(err) : HALLEY_OK;
}

static halley_status read_events(device_reader *r, halley_error *err)
{
    r->saw_events = true;
    while (pull_object(&r->p))
        TRY(read_device_event(r, err));
    return pull_list_ended(&r->p, "an event must be an object", err);
}

static halley_status read_device_top(device_reader *r, halley_error *err)
{
    while (pull_key(&r->p)) {
        const str key = r->p.json.text;
        const int which = PULL_IS(key, "traceEvents")           ? 0
                          : PULL_IS(key, "distributedInfo")     ? 1
                          : PULL_IS(key, "baseTimeNanoseconds") ? 2
                          : PULL_IS(key, "nodes")               ? 3
                                                                : 4;
        const json_token token = json_next(&r->p.json);
        if (which == 3 && token == JSON_ARRAY && !r->saw_events)
            return pull_bad(
                &r->p, err,
                "this is a PyTorch execution trace (host), not a Kineto trace; "
                "name the host trace first and the device trace second");
        if (which == 0 && token == JSON_ARRAY) {
            TRY(read_events(r, err));
            continue;
        }
        if (which == 1 && token == JSON_OBJECT) {
            TRY(job_info_read(&r->device->job, &r->p, err));
            continue;
        }
        if (which == 2 && token == JSON_NUMBER) {
            const uint64_t base = pull_u64(&r->p.json, token);
            r->device->base_ns = base < INT64_MAX / 2 ? (int64_t)base : 0;
        }
        TRY(pull_skip(&r->p, token, err));
    }
    return pull_ended(&r->p, err);
}

static halley_status read_device_document(device_reader *r, halley_error *err)
{
    const json_token token = json_next(&r->p.json);
    if (token == JSON_ARRAY)
        return read_events(r, err);
    if (token != JSON_OBJECT)
        return pull_bad(
            &r->p, err,
            token == JSON_ERROR ? NULL : "not a Kineto trace: no object and no array");
    TRY(read_device_top(r, err));
    if (!r->saw_events)
        return pull_bad(&r->p, err,
                        "not a Kineto trace: it has no \"traceEvents\"; record one with "
                        "torch.profiler and export_chrome_trace");
    return HALLEY_OK;
}

static int by_start(const void *a, const void *b)
{
    const device_event *const x = a, *const y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->duration_ns != y->duration_ns)
        return x->duration_ns > y->duration_ns ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key; /* record function ids and correlations
                                                    * increase with time */
}

/* Stable merge sort: equal events keep their order in the file. */
static bool sort_events(device_trace *t)
{
    bool sorted = true;
    for (size_t i = 1; i < t->events.n && sorted; i++)
        sorted = by_start(&t->events.at[i - 1], &t->events.at[i]) <= 0;
    if (sorted)
        return true;
    const size_t n = t->events.n;
    device_event *from = t->events.at;
    device_event *to = mem_array(n, sizeof *to);
    if (!to)
        return false;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            const size_t mid = low + width < n ? low + width : n;
            const size_t high = low + 2 * width < n ? low + 2 * width : n;
            for (size_t i = low, j = mid, k = low; k < high; k++)
                to[k] = i < mid && (j >= high || by_start(&from[i], &from[j]) <= 0)
                            ? from[i++]
                            : from[j++];
        }
        device_event *const swap = from;
        from = to;
        to = swap;
    }
    if (from != t->events.at)
        t->events.cap = n;
    t->events.at = from;
    free(to);
    return true;
}

/* Number threads and streams by the time of their first event, so that the numbers do not
 * depend on the order of the file. */
static bool order_places(device_trace *t)
{
    const size_t n_streams = t->streams.n;
    uint32_t *const threads = mem_array_zero(t->threads.n, sizeof *threads);
    uint32_t *const streams = mem_array_zero(n_streams, sizeof *streams);
    device_stream *const old = mem_array(n_streams, sizeof *old);
    const bool ok = threads && streams && old;
    uint32_t next_thread = 0, next_stream = 0;
    for (size_t i = 0; ok && i < n_streams; i++)
        old[i] = t->streams.at[i];
    for (size_t i = 0; ok && i < t->events.n; i++) {
        device_event *const e = &t->events.at[i];
        const bool gpu = device_is_gpu(e->kind);
        uint32_t *const place = gpu ? &streams[e->place] : &threads[e->place];
        if (*place == 0) {
            *place = gpu ? ++next_stream : ++next_thread;
            if (gpu)
                t->streams.at[*place - 1] = old[e->place];
        }
        e->place = *place - 1;
    }
    free(threads);
    free(streams);
    free(old);
    return ok;
}

bool device_finish(device_trace *device)
{
    map64_fini(&device->stream_of);
    return sort_events(device) && order_places(device);
}

halley_status device_read_stream(device_trace *device, file_stream *file,
                                 const char *path, halley_error *err)
{
    device_reader r = {.p = {.texts = &device->texts}, .device = device};
    device->job = (job_info)JOB_INFO_UNKNOWN;
    halley_status status = json_open_stream(&r.p.json, file, err);
    if (status == HALLEY_OK) {
        r.p.json.foreign = true;
        status = read_device_document(&r, err);
        json_close(&r.p.json);
    }
    strbuf_fini(&r.p.scratch);
    strbuf_fini(&r.name);
    array_fini(&r.call_kinds);
    if (status == HALLEY_OK && !device_finish(device))
        status = error_nomem(err);
    array_trim(&device->events);
    if (status != HALLEY_OK)
        error_at_file(err, path);
    return status;
}

halley_status device_read(device_trace *device, const char *path, halley_error *err)
{
    file_stream *file;
    TRY(file_stream_open(&file, path, err));
    const halley_status status = device_read_stream(device, file, path, err);
    file_stream_close(file);
    return status;
}

void device_fini(device_trace *device)
{
    intern_fini(&device->texts);
    intern_fini(&device->threads);
    array_fini(&device->events);
    array_fini(&device->comms);
    array_fini(&device->syncs);
    array_fini(&device->bytes);
    array_fini(&device->streams);
    job_info_fini(&device->job);
    map64_fini(&device->stream_of);
}
