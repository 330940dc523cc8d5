/*
 * Read Kineto traces (PyTorch profiler, PyTorch 1.8 to now; CUDA, HIP, MTIA, XPU).
 *
 * Each event is read key by key into a draft, in whatever order its keys come, then
 * sorted by category. Only names of events that are kept are interned, because Python
 * frames are 35 to 90 % of new files. Times are read as digits into integers, because a
 * double has steps of 0.25 us at 1.7e15 us.
 */
#include "recording/pull.h"
#include "recording/record/read.h"

#include <stdio.h>
#include <string.h>

typedef enum kineto_cat {
    KINETO_NONE,
    KINETO_OP,
    KINETO_ANNOTATION,
    KINETO_RUNTIME,
    KINETO_KERNEL,
    KINETO_COPY,
    KINETO_SET,
    KINETO_SYNC,
    KINETO_DEVICE_RANGE, /* gpu_user_annotation: derived, never device time */
    KINETO_PYTHON,
    KINETO_COUNTER_RANGE,
    KINETO_SPAN, /* of the recording as a whole */
    KINETO_OTHER
} kineto_cat;

static const struct {
    str name;
    kineto_cat cat;
} kineto_cats[] = {
    {{"cpu_op", 6}, KINETO_OP},
    {{"kernel", 6}, KINETO_KERNEL},
    {{"python_function", 15}, KINETO_PYTHON},
    {{"cuda_runtime", 12}, KINETO_RUNTIME},
    {{"cuda_driver", 11}, KINETO_RUNTIME},
    {{"user_annotation", 15}, KINETO_ANNOTATION},
    {{"gpu_memcpy", 10}, KINETO_COPY},
    {{"gpu_memset", 10}, KINETO_SET},
    {{"cuda_sync", 9}, KINETO_SYNC},
    {{"gpu_user_annotation", 19}, KINETO_DEVICE_RANGE},
    {{"hip_runtime", 11}, KINETO_RUNTIME},
    {{"mtia_runtime", 12}, KINETO_RUNTIME},
    {{"xpu_runtime", 11}, KINETO_RUNTIME},
    {{"privateuse1_runtime", 19}, KINETO_RUNTIME},
    {{"mtia_ccp_events", 15}, KINETO_KERNEL},
    {{"concurrent_kernel", 17}, KINETO_KERNEL},
    {{"Operator", 8}, KINETO_OP}, /* PyTorch 1.8 to 1.10 */
    {{"Runtime", 7}, KINETO_RUNTIME},
    {{"Kernel", 6}, KINETO_KERNEL},
    {{"Memcpy", 6}, KINETO_COPY},
    {{"Memset", 6}, KINETO_SET},
    {{"cuda_profiler_range", 19}, KINETO_COUNTER_RANGE},
    {{"Trace", 5}, KINETO_SPAN},
};

static kineto_cat find_category(str text)
{
    for (size_t i = 0; i < sizeof kineto_cats / sizeof *kineto_cats; i++)
        if (text.n == kineto_cats[i].name.n &&
            memcmp(text.at, kineto_cats[i].name.at, text.n) == 0)
            return kineto_cats[i].cat;
    return KINETO_OTHER;
}

/* One event while it is read. */
typedef struct kineto_draft {
    kineto_cat cat;
    bool complete, has_begin, has_duration, has_comm, has_name, has_detail;
    int64_t begin_ns, duration_ns;
    uint64_t external, correlation, device, stream, n_bytes, size;
    uint64_t wait_stream, wait_record;
    char pid[64], tid[64];
    uint32_t n_pid, n_tid, sync_kind, direction;
    rec_detail detail;
    rec_comm comm;
} kineto_draft;

typedef struct kineto_reader {
    pull_reader p;
    record *rec;
    strbuf name, list;
    kineto_draft d;
    uint64_t last_external; /* id of the last host event */
    map64 plain_details;    /* dims << 32 | types -> a detail that has only these */
    bool saw_events, in_event;
} kineto_reader;

/* How the value of an argument is stored. */
typedef enum kineto_form { FORM_NUMBER, FORM_TEXT, FORM_LIST, FORM_STREAM } kineto_form;
#define DRAFT(member) offsetof(kineto_draft, member)

static const struct {
    str key;
    kineto_form form;
    size_t offset;
    char marks; /* 'c': describes a collective, 'd': a detail */
} kineto_args[] = {
    {{"External id", 11}, FORM_NUMBER, DRAFT(external), 0},
    {{"external id", 11}, FORM_NUMBER, DRAFT(external), 0},
    {{"correlation", 11}, FORM_NUMBER, DRAFT(correlation), 0},
    {{"Input Dims", 10}, FORM_LIST, DRAFT(detail.dims), 'd'},
    {{"Input dims", 10}, FORM_LIST, DRAFT(detail.dims), 'd'},
    {{"Input type", 10}, FORM_LIST, DRAFT(detail.types), 'd'},
    {{"Sequence number", 15}, FORM_NUMBER, DRAFT(detail.sequence), 'd'},
    {{"Fwd thread id", 13}, FORM_NUMBER, DRAFT(detail.forward_tid), 'd'},
    {{"stream", 6}, FORM_STREAM, DRAFT(stream), 0},
    {{"device", 6}, FORM_NUMBER, DRAFT(device), 0},
    {{"bytes", 5}, FORM_NUMBER, DRAFT(n_bytes), 0},
    {{"size", 4}, FORM_NUMBER, DRAFT(size), 0},
    {{"direction", 9}, FORM_TEXT, DRAFT(direction), 0},
    {{"wait_on_stream", 14}, FORM_NUMBER, DRAFT(wait_stream), 0},
    {{"wait_on_cuda_event_record_corr_id", 33}, FORM_NUMBER, DRAFT(wait_record), 0},
    {{"cuda_sync_kind", 14}, FORM_TEXT, DRAFT(sync_kind), 0},
    {{"Collective name", 15}, FORM_TEXT, DRAFT(comm.collective), 'c'},
    {{"dtype", 5}, FORM_TEXT, DRAFT(comm.dtype), 0},
    {{"Process Group Name", 18}, FORM_TEXT, DRAFT(comm.pg_name), 'c'},
    {{"Process Group ID", 16}, FORM_TEXT, DRAFT(comm.pg_name), 'c'},
    {{"Process Group Description", 25}, FORM_TEXT, DRAFT(comm.pg_desc), 'c'},
    {{"Process Group Ranks", 19}, FORM_TEXT, DRAFT(comm.ranks), 'c'},
    {{"In split size", 13}, FORM_TEXT, DRAFT(comm.in_split), 'c'},
    {{"Out split size", 14}, FORM_TEXT, DRAFT(comm.out_split), 'c'},
    {{"In msg nelems", 13}, FORM_NUMBER, DRAFT(comm.in_elements), 'c'},
    {{"Out msg nelems", 14}, FORM_NUMBER, DRAFT(comm.out_elements), 'c'},
    {{"Group size", 10}, FORM_NUMBER, DRAFT(comm.group_size), 'c'},
    {{"Src Rank", 8}, FORM_NUMBER, DRAFT(comm.source), 'c'},
    {{"Dst Rank", 8}, FORM_NUMBER, DRAFT(comm.destination), 'c'},
    {{"Global rank start", 17}, FORM_NUMBER, DRAFT(comm.rank_start), 'c'},
    {{"Global rank stride", 18}, FORM_NUMBER, DRAFT(comm.rank_stride), 'c'},
    {{"Seq", 3}, FORM_NUMBER, DRAFT(comm.seq), 'c'},
};
enum { N_KINETO_ARGS = sizeof kineto_args / sizeof *kineto_args };

static size_t find_argument(str key)
{
    for (size_t i = 0; key.n > 2 && i < N_KINETO_ARGS; i++)
        if (key.n == kineto_args[i].key.n && key.at[0] == kineto_args[i].key.at[0] &&
            memcmp(key.at, kineto_args[i].key.at, key.n) == 0)
            return i;
    return N_KINETO_ARGS;
}

static void *point_into_draft(kineto_reader *r, size_t offset)
{
    assert(offset < sizeof r->d);
    return (char *)&r->d + offset;
}

/* A list as Python prints it, interned. */
static halley_status take_list_argument(kineto_reader *r, uint32_t *to, json_token token,
                                        halley_error *err)
{
    r->list.n = 0;
    if (!pull_repr(&r->p.json, token, &r->list))
        return pull_bad(&r->p, err, NULL);
    *to = intern_add(&r->rec->texts, strbuf_str(&r->list));
    r->p.no_memory |= *to == HASH_NONE || r->list.failed;
    return HALLEY_OK;
}

/* Store one argument. A stream that is not a number (as in "stream 7") counts as none. */
static halley_status take_argument(kineto_reader *r, size_t which, json_token token,
                                   halley_error *err)
{
    void *const to = point_into_draft(r, kineto_args[which].offset);
    const kineto_form form = kineto_args[which].form;
    r->d.has_comm |= kineto_args[which].marks == 'c';
    r->d.has_detail |= kineto_args[which].marks == 'd';
    if (form == FORM_LIST || (form == FORM_TEXT && token == JSON_ARRAY))
        return take_list_argument(r, to, token, err);
    if (token != JSON_STRING && token != JSON_NUMBER)
        return pull_skip(&r->p, token, err);
    if (form == FORM_TEXT)
        *(uint32_t *)to = pull_intern(&r->p, token);
    else
        *(uint64_t *)to = pull_u64(&r->p.json, token);
    return HALLEY_OK;
}

/* Read the arguments of an event. Only a few are used. */
static halley_status read_arguments(kineto_reader *r, halley_error *err)
{
    while (pull_key(&r->p)) {
        const size_t which = find_argument(r->p.json.text);
        const json_token token = json_next(&r->p.json);
        if (which < N_KINETO_ARGS)
            TRY(take_argument(r, which, token, err));
        else
            TRY(pull_skip(&r->p, token, err));
    }
    return pull_ended(&r->p, err);
}

static void copy_id(char *to, uint32_t *n, str text)
{
    *n = (uint32_t)(text.n < 64 ? text.n : 64);
    if (*n > 0)
        memcpy(to, text.at, *n);
}

static void take_event_name(kineto_reader *r)
{
    const str name = pull_text(&r->p.json, &r->p.scratch);
    r->name.n = 0;
    strbuf_add(&r->name, name);
    r->d.has_name = true;
    r->p.no_memory |= r->name.failed || r->p.scratch.failed;
}

static bool wants_arguments(kineto_cat cat)
{
    return cat < KINETO_DEVICE_RANGE;
}

static halley_status read_event_key(kineto_reader *r, halley_error *err)
{
    kineto_draft *const d = &r->d;
    const str key = r->p.json.text;
    const size_t n = key.n;
    const char first = n > 0 ? key.at[0] : '\0', second = n > 1 ? key.at[1] : '\0';
    const json_token token = json_next(&r->p.json);
    if (n == 4 && first == 'a' && token == JSON_OBJECT && wants_arguments(d->cat))
        return read_arguments(r, err); /* args */
    if (token < JSON_STRING || token > JSON_NUMBER)
        return pull_skip(&r->p, token, err);
    const str text = r->p.json.text;
    if (n == 4 && first == 'n') /* name */
        take_event_name(r);
    else if (n == 3 && first == 'c' && second == 'a') /* cat */
        d->cat = find_category(text);
    else if (n == 2 && first == 'p') /* ph */
        d->complete = PULL_IS(text, "X");
    else if (n == 2 && first == 't') /* ts */
        d->has_begin = pull_us_as_ns(text, &d->begin_ns);
    else if (n == 3 && first == 'd') /* dur */
        d->has_duration = pull_us_as_ns(text, &d->duration_ns);
    else if (n == 3 && first == 'p') /* pid */
        copy_id(d->pid, &d->n_pid, text);
    else if (n == 3 && first == 't') /* tid */
        copy_id(d->tid, &d->n_tid, text);
    return HALLEY_OK;
}

static uint32_t keep_kineto_comm(kineto_reader *r)
{
    if (!r->d.has_comm)
        return REC_NONE;
    r->p.no_memory |= !array_push(&r->rec->comms, r->d.comm);
    return (uint32_t)r->rec->comms.n - 1;
}

/* Most operators give only their shapes, and the same shapes repeat, so such details are
 * shared. */
static bool is_plain(const rec_detail *d)
{
    return d->comm == REC_NONE && d->stream < 0 && d->sequence == REC_NO_ID &&
           d->forward_tid == REC_NO_ID;
}

static uint32_t keep_detail(kineto_reader *r)
{
    kineto_draft *const d = &r->d;
    uint32_t id = (uint32_t)r->rec->details.n;
    bool is_new = true;
    d->detail.comm = keep_kineto_comm(r);
    d->detail.stream = d->stream < INT32_MAX ? (int32_t)d->stream : -1;
    if (!d->has_detail && d->detail.comm == REC_NONE && d->detail.stream < 0)
        return REC_NONE;
    if (is_plain(&d->detail))
        r->p.no_memory |=
            !map64_put(&r->plain_details,
                       (uint64_t)d->detail.dims << 32 | d->detail.types, &id, &is_new);
    if (!is_new)
        return id;
    r->p.no_memory |= !array_push(&r->rec->details, d->detail);
    return (uint32_t)r->rec->details.n - 1;
}

static void keep_host(kineto_reader *r, uint32_t name)
{
    const kineto_draft *const d = &r->d;
    const bool calls = d->cat == KINETO_RUNTIME;
    const uint32_t thread =
        rec_add_thread(r->rec, (str){d->pid, d->n_pid}, (str){d->tid, d->n_tid});
    rec_host event = {.begin_ns = d->begin_ns,
                      .end_ns = d->begin_ns + d->duration_ns,
                      .kind = calls                         ? REC_CALL
                              : d->cat == KINETO_ANNOTATION ? REC_ANNOTATION
                                                            : REC_OP};
    if (calls)
        event.correlation = d->correlation;
    else
        event.detail = keep_detail(r);
    r->last_external = d->external;
    r->p.no_memory |= !rec_add_host(r->rec, event, name, thread);
}

static uint64_t read_id_or(uint64_t value, const char *text, uint32_t n)
{
    uint64_t number;
    if (value != REC_NO_ID)
        return value;
    return str_to_u64((str){text, n}, &number) ? number : REC_NO_ID;
}

/* The row of a work: device and stream by number, otherwise by their labels in the file.
 * MTIA's copies run in parallel to the kernels of their stream, so they have their own
 * row. */
static uint32_t find_work_row(kineto_reader *r, str name)
{
    const kineto_draft *const d = &r->d;
    const uint64_t device = read_id_or(d->device, d->pid, d->n_pid);
    const uint64_t stream = read_id_or(d->stream, d->tid, d->n_tid);
    char label[140];
    str text = {label, 0};
    if (stream == REC_NO_ID)
        text = (str){d->tid, d->n_tid};
    if (PULL_IS(name, "dma_request")) {
        const int n = snprintf(label, sizeof label, "copies of stream %llu",
                               (unsigned long long)stream);
        text = (str){label, (size_t)n};
    }
    return rec_add_row(r->rec, device, stream <= INT64_MAX ? (int64_t)stream : -1, text);
}

/* MTIA gives the direction of a copy; name the copy as Kineto does. */
static rec_work_kind refine_copy(kineto_reader *r, uint32_t *name, rec_work_kind kind)
{
    const str direction = rec_text(r->rec, r->d.direction);
    if (!str_eq(rec_text(r->rec, *name), STR("dma_request")))
        return kind;
    const char *const text = PULL_IS(direction, "HOST_TO_DEVICE")   ? "Memcpy HtoD (dma)"
                             : PULL_IS(direction, "DEVICE_TO_HOST") ? "Memcpy DtoH (dma)"
                                                                    : "Memcpy DtoD (dma)";
    *name = intern_add(&r->rec->texts, str_from(text));
    r->p.no_memory |= *name == HASH_NONE;
    return REC_COPY;
}

static void keep_work(kineto_reader *r, uint32_t name)
{
    const kineto_draft *const d = &r->d;
    const str text = strbuf_str(&r->name);
    rec_work_kind kind = d->cat == KINETO_COPY  ? REC_COPY
                         : d->cat == KINETO_SET ? REC_SET
                                                : REC_KERNEL;
    const uint32_t row = find_work_row(r, text);
    if (r->d.direction != REC_NONE)
        kind = refine_copy(r, &name, kind);
    const rec_work work = {
        .begin_ns = d->begin_ns,
        .end_ns = d->begin_ns + d->duration_ns,
        .correlation = d->correlation,
        .n_bytes = d->n_bytes != REC_NO_ID ? d->n_bytes : d->size,
        .name = name,
        .row = row,
        .comm = keep_kineto_comm(r),
        .hint = REC_NONE,
        .kind = (uint16_t)kind,
        .is_sync = PULL_IS(text, "event_wait") || PULL_IS(text, "event_record"),
        .has_stream = d->stream != REC_NO_ID,
    };
    r->p.no_memory |= !rec_add_work(r->rec, &work);
}

static void keep_kineto_sync(kineto_reader *r, uint32_t name)
{
    const kineto_draft *const d = &r->d;
    const str kind = rec_text(r->rec, d->sync_kind != REC_NONE ? d->sync_kind : name);
    const rec_sync sync = {
        .begin_ns = d->begin_ns,
        .end_ns = d->begin_ns + d->duration_ns,
        .correlation = d->correlation,
        .record = d->wait_record,
        .stream = d->stream < INT64_MAX ? (int64_t)d->stream : -1,
        .waited_on = d->wait_stream < INT64_MAX ? (int64_t)d->wait_stream : -1,
        .name = name,
        .kind = PULL_IS(kind, "Stream Sync")           ? REC_SYNC_STREAM
                : PULL_IS(kind, "Event Sync")          ? REC_SYNC_EVENT
                : str_starts(kind, STR("Stream Wait")) ? REC_SYNC_STREAM_WAIT
                                                       : REC_SYNC_CONTEXT,
    };
    r->p.no_memory |= !array_push(&r->rec->syncs, sync);
}

/* HTA looks for steps among ranges of every category. */
static void note_step(kineto_reader *r)
{
    record *const t = r->rec;
    const str name = strbuf_str(&r->name);
    if (!r->d.has_name || !r->d.has_begin || !str_starts(name, STR("ProfilerStep")))
        return;
    r->p.no_memory |= intern_add(&t->step_names, name) == HASH_NONE;
    t->last_step_ns = r->d.begin_ns > t->last_step_ns ? r->d.begin_ns : t->last_step_ns;
}

static bool has_usable_time(kineto_reader *r)
{
    const kineto_draft *const d = &r->d;
    record *const t = r->rec;
    int64_t end;
    if (!d->has_begin || !d->has_duration || !d->has_name ||
        __builtin_add_overflow(d->begin_ns, d->duration_ns, &end)) {
        t->n_bad_times++;
        return false;
    }
    if (d->duration_ns >= 0)
        return true;
    if (t->n_negative++ == 0) {
        t->first_negative = t->n_events;
        t->negative_ns = d->duration_ns;
    }
    return false;
}

static bool is_same_host(const kineto_reader *r, uint32_t name)
{
    const record *const t = r->rec;
    const kineto_draft *const d = &r->d;
    if (t->hosts.n == 0)
        return false;
    const rec_host *const last = &t->hosts.at[t->hosts.n - 1];
    return last->begin_ns == d->begin_ns && last->name == name &&
           last->end_ns == d->begin_ns + d->duration_ns && d->external != REC_NO_ID &&
           r->last_external == d->external && last->kind != REC_CALL;
}

static void keep_kineto_event(kineto_reader *r)
{
    record *const t = r->rec;
    const kineto_cat cat = r->d.cat;
    t->n_events++;
    t->n_counter_ranges += cat == KINETO_COUNTER_RANGE;
    if (r->d.complete && cat != KINETO_PYTHON)
        note_step(r);
    if (!t->has_first_event && r->d.complete && r->d.has_duration && cat != KINETO_NONE &&
        cat != KINETO_SPAN) {
        t->first_event_ns = r->d.begin_ns;
        t->has_first_event = true;
    }
    if (!r->d.complete || cat == KINETO_NONE || cat >= KINETO_DEVICE_RANGE) {
        t->n_other++;
        return;
    }
    if (!has_usable_time(r))
        return;
    const uint32_t name = intern_add(&t->texts, strbuf_str(&r->name));
    r->p.no_memory |= name == HASH_NONE;
    if (r->p.no_memory)
        return;
    if ((cat == KINETO_OP || cat == KINETO_ANNOTATION) && is_same_host(r, name))
        t->n_duplicates++;
    else if (cat == KINETO_OP || cat == KINETO_ANNOTATION || cat == KINETO_RUNTIME)
        keep_host(r, name);
    else if (cat == KINETO_SYNC)
        keep_kineto_sync(r, name);
    else
        keep_work(r, name);
}

static void clear_draft(kineto_draft *d)
{
    d->cat = KINETO_NONE;
    d->complete = d->has_begin = d->has_duration = d->has_comm = d->has_name =
        d->has_detail = false;
    d->external = d->correlation = d->device = d->stream = d->n_bytes = d->size =
        d->wait_stream = d->wait_record = REC_NO_ID;
    d->n_pid = d->n_tid = 0;
    d->sync_kind = d->direction = REC_NONE;
    d->detail = (rec_detail){REC_NONE, REC_NONE, REC_NONE, -1, REC_NO_ID, REC_NO_ID};
    d->comm = (rec_comm){REC_NONE,  REC_NONE,  REC_NONE,  REC_NONE,  REC_NONE,
                         REC_NONE,  REC_NONE,  REC_NO_ID, REC_NO_ID, REC_NO_ID,
                         REC_NO_ID, REC_NO_ID, REC_NO_ID, REC_NO_ID, REC_NO_ID};
}

static halley_status read_kineto_event(kineto_reader *r, halley_error *err)
{
    clear_draft(&r->d);
    r->in_event = true;
    while (pull_key(&r->p))
        TRY(read_event_key(r, err));
    TRY(pull_ended(&r->p, err));
    r->in_event = false;
    keep_kineto_event(r);
    return r->p.no_memory ? error_nomem(err) : HALLEY_OK;
}

static halley_status read_kineto_events(kineto_reader *r, halley_error *err)
{
    r->saw_events = true;
    while (pull_object(&r->p))
        TRY(read_kineto_event(r, err));
    return pull_list_ended(&r->p, "an event must be an object", err);
}

/* Reads one object of a list; items of other types are skipped. */
typedef halley_status object_reader(kineto_reader *r, halley_error *err);
static halley_status read_object_list(kineto_reader *r, object_reader *read,
                                      halley_error *err)
{
    for (;;) {
        const json_token token = json_next(&r->p.json);
        if (token == JSON_ARRAY_END)
            return HALLEY_OK;
        if (token == JSON_OBJECT)
            TRY(read(r, err));
        else
            TRY(pull_skip(&r->p, token, err));
    }
}

/* Read one entry of deviceProperties. The first name that is not empty is kept. */
static halley_status read_device_properties(kineto_reader *r, halley_error *err)
{
    while (pull_key(&r->p)) {
        const bool is_name = PULL_IS(r->p.json.text, "name");
        const json_token token = json_next(&r->p.json);
        if (is_name && token == JSON_STRING && r->p.json.text.n > 0 &&
            r->rec->device_name == REC_NONE)
            r->rec->device_name = pull_intern(&r->p, token);
        else
            TRY(pull_skip(&r->p, token, err));
    }
    return pull_ended(&r->p, err);
}

static halley_status read_top_key(kineto_reader *r, halley_error *err)
{
    const str key = r->p.json.text;
    const bool is_events = PULL_IS(key, "traceEvents");
    const bool is_info = PULL_IS(key, "distributedInfo");
    const bool is_base = PULL_IS(key, "baseTimeNanoseconds");
    const bool is_devices = PULL_IS(key, "deviceProperties");
    const json_token token = json_next(&r->p.json);
    if (is_events && token == JSON_ARRAY)
        return read_kineto_events(r, err);
    if (is_info && token == JSON_OBJECT)
        return job_info_read(&r->rec->job, &r->p, err);
    if (is_devices && token == JSON_ARRAY)
        return read_object_list(r, read_device_properties, err);
    if (is_base && token == JSON_NUMBER) {
        const uint64_t base = pull_u64(&r->p.json, token);
        r->rec->base_ns = base < INT64_MAX / 2 ? (int64_t)base : 0;
    }
    return pull_skip(&r->p, token, err);
}

static halley_status read_kineto_document(kineto_reader *r, halley_error *err)
{
    const json_token token = json_next(&r->p.json);
    if (token == JSON_ARRAY)
        return read_kineto_events(r, err);
    if (token != JSON_OBJECT)
        return pull_bad(&r->p, err,
                        token == JSON_ERROR ? NULL
                                            : "not a Kineto trace: no JSON object");
    while (pull_key(&r->p))
        TRY(read_top_key(r, err));
    TRY(pull_ended(&r->p, err));
    if (!r->saw_events)
        return pull_bad(&r->p, err,
                        "not a Kineto trace: it has no \"traceEvents\"; record one with "
                        "torch.profiler and export_chrome_trace");
    return HALLEY_OK;
}

/* The file is truncated. Report inside which event, or with --partial accept what is
 * complete. */
static halley_status judge_cut(kineto_reader *r, const rec_read_opts *opts,
                               halley_status status, halley_error *err)
{
    const bool is_cut = r->saw_events && !r->p.no_memory &&
                        (status == HALLEY_EFORMAT || status == HALLEY_EIO);
    if (!is_cut)
        return status;
    if (opts->partial && r->rec->n_events > 0) {
        r->rec->is_partial = true;
        if (err != NULL)
            *err = (halley_error){0};
        return HALLEY_OK;
    }
    if (r->in_event && r->p.json.problem != NULL &&
        strstr(r->p.json.problem, "cut") != NULL) {
        error_set(err, HALLEY_EFORMAT,
                  "the file ends inside event %llu of traceEvents (byte %llu); --partial "
                  "reads the whole events",
                  (unsigned long long)r->rec->n_events + 1,
                  (unsigned long long)json_offset(&r->p.json) +
                      (unsigned long long)(r->p.json.end - r->p.json.at));
    }
    return status;
}

halley_status rec_read_kineto(rec_list *list, file_stream *file,
                              const rec_read_opts *opts, halley_error *err)
{
    record *const rec = rec_list_add(list, REC_KINETO);
    if (rec == NULL)
        return error_nomem(err);
    kineto_reader r = {.p = {.texts = &rec->texts}, .rec = rec};
    TRY(json_open_stream(&r.p.json, file, err));
    r.p.json.foreign = true;
    halley_status status = read_kineto_document(&r, err);
    if (status != HALLEY_OK)
        status = judge_cut(&r, opts, status, err);
    json_close(&r.p.json);
    strbuf_fini(&r.p.scratch);
    strbuf_fini(&r.name);
    strbuf_fini(&r.list);
    map64_fini(&r.plain_details);
    return status;
}
