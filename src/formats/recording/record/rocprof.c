/*
 * Read rocprofv3's JSON: agents, kernel symbols, names of operations, and buffer records.
 *
 * A dispatch belongs to the HIP call with the same correlation id. Often calls are not
 * recorded; then only streams and kernels are known. Symbols and names may come after the
 * records that refer to them, so names are resolved at the end.
 */
#include "recording/pull.h"
#include "recording/record/read.h"

#include <stdio.h>
#include <string.h>

enum { CPU_AGENT = 1, GPU_AGENT = 2, MAX_NESTING = 4 };

/* Identifies the name of an event until all names are known. */
typedef struct roc_name {
    uint32_t event; /* in works or hosts */
    bool is_host, is_kernel;
    uint64_t kind, operation; /* is_kernel: kernel id in `operation` */
} roc_name;

typedef struct roc_reader {
    pull_reader p;
    record *rec;
    map64 kernel_names;    /* kernel id -> text */
    map64 operation_names; /* kind << 32 | operation -> text */
    ARRAY(roc_name) names;
    map64 gpus; /* agents that have work */
    map64 cpus; /* agents that are CPUs */
    uint64_t n_gpus, pid;
    bool found, has_calls, has_rccl;
} roc_reader;

/* One record or symbol, flattened: {"correlation_id": {"internal": 1}} sets
 * `internal`. */
typedef struct roc_draft {
    uint64_t kind, operation, thread, internal, begin, end, kernel, agent, queue, stream;
    uint64_t bytes, type, src_agent, dst_agent, handle;
    uint32_t formatted, demangled, kernel_name, product, name;
} roc_draft;

static void clear_roc_draft(roc_draft *d)
{
    memset(d, 0xff, sizeof *d); /* all numbers REC_NO_ID, all texts REC_NONE */
}

static uint64_t *find_roc_number(roc_draft *d, str outer, str key)
{
    if (PULL_IS(key, "handle"))
        return PULL_IS(outer, "agent_id")       ? &d->agent
               : PULL_IS(outer, "queue_id")     ? &d->queue
               : PULL_IS(outer, "stream_id")    ? &d->stream
               : PULL_IS(outer, "src_agent_id") ? &d->src_agent
               : PULL_IS(outer, "dst_agent_id") ? &d->dst_agent
               : PULL_IS(outer, "id")           ? &d->handle
                                                : NULL;
    return PULL_IS(key, "kind")              ? &d->kind
           : PULL_IS(key, "operation")       ? &d->operation
           : PULL_IS(key, "thread_id")       ? &d->thread
           : PULL_IS(key, "internal")        ? &d->internal
           : PULL_IS(key, "start_timestamp") ? &d->begin
           : PULL_IS(key, "end_timestamp")   ? &d->end
           : PULL_IS(key, "kernel_id")       ? &d->kernel
           : PULL_IS(key, "bytes")           ? &d->bytes
           : PULL_IS(key, "type")            ? &d->type
                                             : NULL;
}

static uint32_t *find_roc_text(roc_draft *d, str key)
{
    return PULL_IS(key, "formatted_kernel_name")   ? &d->formatted
           : PULL_IS(key, "demangled_kernel_name") ? &d->demangled
           : PULL_IS(key, "kernel_name")           ? &d->kernel_name
           : PULL_IS(key, "product_name")          ? &d->product
           : PULL_IS(key, "name")                  ? &d->name
                                                   : NULL;
}

static halley_status read_roc_object(roc_reader *r, roc_draft *d, str outer,
                                     uint32_t nesting, halley_error *err)
{
    while (pull_key(&r->p)) {
        char key_text[32];
        const str key = r->p.json.text;
        uint64_t *const number = find_roc_number(d, outer, key);
        uint32_t *const text = find_roc_text(d, key);
        const str kept = {key_text, key.n < sizeof key_text ? key.n : sizeof key_text};
        if (kept.n > 0)
            memcpy(key_text, key.at, kept.n);
        const json_token token = json_next(&r->p.json);
        if (token == JSON_OBJECT && nesting < MAX_NESTING)
            TRY(read_roc_object(r, d, kept, nesting + 1, err));
        else if (number != NULL && token == JSON_NUMBER)
            *number = pull_u64(&r->p.json, token);
        else if (text != NULL && token == JSON_STRING)
            *text = pull_intern(&r->p, token);
        else
            TRY(pull_skip(&r->p, token, err));
    }
    return pull_ended(&r->p, err);
}

typedef halley_status roc_taker(roc_reader *r, const roc_draft *d, halley_error *err);

/* Flatten every object of a list and pass it to `take`. */
static halley_status read_roc_list(roc_reader *r, roc_taker *take, halley_error *err)
{
    for (;;) {
        const json_token token = json_next(&r->p.json);
        if (token == JSON_ARRAY_END)
            return HALLEY_OK;
        if (token != JSON_OBJECT) {
            TRY(pull_skip(&r->p, token, err));
            continue;
        }
        roc_draft d;
        clear_roc_draft(&d);
        TRY(read_roc_object(r, &d, STR(""), 0, err));
        TRY(take(r, &d, err));
        if (r->p.no_memory)
            return error_nomem(err);
    }
}

static halley_status take_agent(roc_reader *r, const roc_draft *d, halley_error *err)
{
    (void)err;
    if (d->type == CPU_AGENT && d->handle != REC_NO_ID)
        r->p.no_memory |= !map64_set(&r->cpus, d->handle, 1);
    if (d->type != GPU_AGENT)
        return HALLEY_OK;
    const uint32_t name = d->product != REC_NONE ? d->product : d->name;
    if (r->n_gpus++ == 0)
        r->rec->device_name = name;
    return HALLEY_OK;
}

static halley_status take_symbol(roc_reader *r, const roc_draft *d, halley_error *err)
{
    (void)err;
    const uint32_t name = d->formatted != REC_NONE   ? d->formatted
                          : d->demangled != REC_NONE ? d->demangled
                                                     : d->kernel_name;
    if (d->kernel != REC_NO_ID && name != REC_NONE)
        r->p.no_memory |= !map64_set(&r->kernel_names, d->kernel, name);
    return HALLEY_OK;
}

static bool has_roc_times(roc_reader *r, const roc_draft *d)
{
    r->rec->n_events++;
    if (d->begin > INT64_MAX || d->end > INT64_MAX) {
        r->rec->n_bad_times++;
        return false;
    }
    if (d->end >= d->begin)
        return true;
    if (r->rec->n_negative++ == 0) {
        r->rec->first_negative = r->rec->n_events;
        r->rec->negative_ns = (int64_t)d->end - (int64_t)d->begin;
    }
    return false;
}

/* A copy to the host is work of the source device. */
static uint64_t find_copying_device(const roc_reader *r, const roc_draft *d)
{
    const bool to_host =
        d->src_agent != REC_NO_ID && map64_find(&r->cpus, d->dst_agent) != HASH_NONE;
    return to_host ? d->src_agent : d->dst_agent;
}

static void add_roc_work(roc_reader *r, const roc_draft *d, bool is_kernel)
{
    record *const t = r->rec;
    const uint64_t device = is_kernel ? d->agent : find_copying_device(r, d);
    const rec_work work = {
        .begin_ns = (int64_t)d->begin,
        .end_ns = (int64_t)d->end,
        .correlation = d->internal,
        .n_bytes = d->bytes,
        .name = 0,
        .row = rec_add_row(t, device, is_kernel ? (int64_t)d->queue : -1,
                           is_kernel ? STR("") : STR("copies")),
        .comm = REC_NONE,
        .hint = REC_NONE,
        .kind = is_kernel ? REC_KERNEL : REC_COPY,
    };
    const roc_name name = {.event = (uint32_t)t->works.n,
                           .is_kernel = is_kernel,
                           .kind = d->kind,
                           .operation = is_kernel ? d->kernel : d->operation};
    r->p.no_memory |= !map64_set(&r->gpus, device, 1) || !rec_add_work(t, &work) ||
                      !array_push(&r->names, name);
}

static halley_status take_dispatch(roc_reader *r, const roc_draft *d, halley_error *err)
{
    (void)err;
    if (has_roc_times(r, d))
        add_roc_work(r, d, true);
    return HALLEY_OK;
}

static halley_status take_copy(roc_reader *r, const roc_draft *d, halley_error *err)
{
    (void)err;
    if (has_roc_times(r, d))
        add_roc_work(r, d, false);
    return HALLEY_OK;
}

static void add_roc_host(roc_reader *r, const roc_draft *d, rec_host_kind kind)
{
    record *const t = r->rec;
    char tid[24];
    const int n = snprintf(tid, sizeof tid, "%llu", (unsigned long long)d->thread);
    rec_host event = {.begin_ns = (int64_t)d->begin,
                      .end_ns = (int64_t)d->end,
                      .detail = REC_NONE,
                      .kind = kind & 3u};
    if (kind == REC_CALL)
        event.correlation = d->internal;
    const uint32_t thread = rec_add_thread(t, STR("0"), (str){tid, (size_t)n});
    const roc_name name = {.event = (uint32_t)t->hosts.n,
                           .is_host = true,
                           .kind = d->kind,
                           .operation = d->operation};
    /* Its name is known at the end of the file. */
    r->p.no_memory |= !rec_add_host(t, event, 0, thread) || !array_push(&r->names, name);
}

static halley_status take_call(roc_reader *r, const roc_draft *d, halley_error *err)
{
    (void)err;
    if (has_roc_times(r, d)) {
        add_roc_host(r, d, REC_CALL);
        r->has_calls = true;
    }
    return HALLEY_OK;
}

static halley_status take_range(roc_reader *r, const roc_draft *d, halley_error *err)
{
    (void)err;
    if (has_roc_times(r, d))
        add_roc_host(r, d, REC_ANNOTATION);
    return HALLEY_OK;
}

static halley_status take_rccl(roc_reader *r, const roc_draft *d, halley_error *err)
{
    r->has_rccl = true;
    return take_range(r, d, err);
}

static halley_status read_buffers(roc_reader *r, halley_error *err)
{
    static const struct {
        const char *key;
        roc_taker *take;
    } lists[] = {{"kernel_dispatch", take_dispatch},
                 {"memory_copy", take_copy},
                 {"hip_api", take_call},
                 {"rccl_api", take_rccl},
                 {"marker_api", take_range}};
    while (pull_key(&r->p)) {
        roc_taker *take = NULL;
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
            if (str_eq(r->p.json.text, str_from(lists[i].key)))
                take = lists[i].take;
        const json_token token = json_next(&r->p.json);
        if (take != NULL && token == JSON_ARRAY)
            TRY(read_roc_list(r, take, err));
        else
            TRY(pull_skip(&r->p, token, err));
    }
    return pull_ended(&r->p, err);
}

/* Read ["hipInit", …]: the operations of one kind. */
static halley_status read_operations(roc_reader *r, uint64_t kind, halley_error *err)
{
    for (uint64_t i = 0;; i++) {
        const json_token token = json_next(&r->p.json);
        if (token == JSON_ARRAY_END)
            return HALLEY_OK;
        if (token != JSON_STRING) {
            TRY(pull_skip(&r->p, token, err));
            continue;
        }
        const uint32_t text = pull_intern(&r->p, token);
        r->p.no_memory |= !map64_set(&r->operation_names, kind << 32 | i, text);
    }
}

static halley_status read_roc_kind(roc_reader *r, uint64_t kind, halley_error *err)
{
    while (pull_key(&r->p)) {
        const bool is_list = PULL_IS(r->p.json.text, "operations");
        const json_token token = json_next(&r->p.json);
        if (is_list && token == JSON_ARRAY)
            TRY(read_operations(r, kind, err));
        else
            TRY(pull_skip(&r->p, token, err));
    }
    return pull_ended(&r->p, err);
}

/* Read "strings": {"buffer_records": [{"kind": …, "operations": […]}, …]}. */
static halley_status read_strings(roc_reader *r, halley_error *err)
{
    while (pull_key(&r->p)) {
        const bool is_list = PULL_IS(r->p.json.text, "buffer_records");
        json_token token = json_next(&r->p.json);
        if (!is_list || token != JSON_ARRAY) {
            TRY(pull_skip(&r->p, token, err));
            continue;
        }
        for (uint64_t kind = 0;; kind++) {
            token = json_next(&r->p.json);
            if (token == JSON_ARRAY_END)
                break;
            if (token == JSON_OBJECT)
                TRY(read_roc_kind(r, kind, err));
            else
                TRY(pull_skip(&r->p, token, err));
        }
    }
    return pull_ended(&r->p, err);
}

static halley_status read_tool(roc_reader *r, halley_error *err)
{
    r->found = true;
    while (pull_key(&r->p)) {
        const str key = r->p.json.text;
        const bool is_buffers = PULL_IS(key, "buffer_records");
        const bool is_strings = PULL_IS(key, "strings");
        roc_taker *const take = PULL_IS(key, "agents")           ? take_agent
                                : PULL_IS(key, "kernel_symbols") ? take_symbol
                                                                 : NULL;
        const json_token token = json_next(&r->p.json);
        if (is_buffers && token == JSON_OBJECT)
            TRY(read_buffers(r, err));
        else if (is_strings && token == JSON_OBJECT)
            TRY(read_strings(r, err));
        else if (take != NULL && token == JSON_ARRAY)
            TRY(read_roc_list(r, take, err));
        else
            TRY(pull_skip(&r->p, token, err));
    }
    return pull_ended(&r->p, err);
}

static halley_status read_roc_document(roc_reader *r, halley_error *err)
{
    json_token token = json_next(&r->p.json);
    if (token != JSON_OBJECT)
        return pull_bad(&r->p, err, token == JSON_ERROR ? NULL : "not rocprofv3's JSON");
    while (pull_key(&r->p)) {
        const bool is_tool = PULL_IS(r->p.json.text, "rocprofiler-sdk-tool");
        token = json_next(&r->p.json);
        if (!is_tool || token != JSON_ARRAY) {
            TRY(pull_skip(&r->p, token, err));
            continue;
        }
        while ((token = json_next(&r->p.json)) == JSON_OBJECT)
            TRY(read_tool(r, err));
        if (token != JSON_ARRAY_END)
            return pull_bad(&r->p, err, NULL);
    }
    TRY(pull_ended(&r->p, err));
    if (!r->found)
        return pull_bad(&r->p, err, "rocprofv3's JSON has no \"rocprofiler-sdk-tool\"");
    return HALLEY_OK;
}

static void resolve_names(roc_reader *r)
{
    record *const t = r->rec;
    const uint32_t unknown = intern_add(&t->texts, STR("unknown"));
    r->p.no_memory |= unknown == HASH_NONE;
    for (size_t i = 0; i < r->names.n; i++) {
        const roc_name *const n = &r->names.at[i];
        const uint32_t text =
            n->is_kernel ? map64_find(&r->kernel_names, n->operation)
                         : map64_find(&r->operation_names,
                                      n->kind << 32 | (n->operation & UINT32_MAX));
        const uint32_t name = text == HASH_NONE ? unknown : text;
        if (n->is_host)
            t->hosts.at[n->event].name = name & (REC_MAX_NAMES - 1);
        else
            t->works.at[n->event].name = name;
    }
}

static void remark_on_rocprof(roc_reader *r)
{
    record *const t = r->rec;
    bool communicates = false;
    for (size_t i = 0; i < t->works.n; i++)
        communicates |= str_starts(rec_text(t, t->works.at[i].name), STR("nccl"));
    if (!r->has_calls)
        rec_remark(t, "no HIP calls were recorded: only streams and kernels are known");
    if (communicates && !r->has_rccl)
        rec_remark(t, "communication without sizes: RCCL calls were not recorded");
    t->n_devices = (uint32_t)r->gpus.n;
    if (r->gpus.n > 1)
        rec_remark(t, "%zu devices in one file", r->gpus.n);
}

halley_status rec_read_rocprof(rec_list *list, file_stream *file,
                               const rec_read_opts *opts, halley_error *err)
{
    (void)opts;
    record *const rec = rec_list_add(list, REC_ROCPROF);
    if (rec == NULL)
        return error_nomem(err);
    roc_reader r = {.p = {.texts = &rec->texts}, .rec = rec};
    TRY(json_open_stream(&r.p.json, file, err));
    halley_status status = read_roc_document(&r, err);
    json_close(&r.p.json);
    if (status == HALLEY_OK) {
        resolve_names(&r);
        remark_on_rocprof(&r);
        if (r.p.no_memory)
            status = error_nomem(err);
    }
    strbuf_fini(&r.p.scratch);
    map64_fini(&r.kernel_names);
    map64_fini(&r.operation_names);
    map64_fini(&r.gpus);
    map64_fini(&r.cpus);
    array_fini(&r.names);
    return status;
}
