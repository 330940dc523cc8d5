/*
 * Split what Chakra's trace_link wrote: an execution trace in which nodes have times and
 * device work is listed among them. Split again, it is a pair of recordings, which is
 * linked like any other.
 *
 * The file has who launched what, but not when. A launch is placed at the end of its
 * operator, or at the start of the kernel if that was earlier. Runtime calls are not in
 * the file, so waits for devices become gaps.
 */
#include "base/file/file.h"
#include "recording/link.h"

#include <stdio.h>

bool halley_host_recognise(const char *path)
{
    char start[256] = "";
    size_t n = 0, got = 1;
    file_stream *file = NULL;
    if (file_exists(path) && !file_is_folder(path) &&
        file_stream_open(&file, path, NULL) == HALLEY_OK) {
        while (got > 0 && n < sizeof start &&
               file_stream_read(file, start + n, sizeof start - n, &got, NULL) ==
                   HALLEY_OK)
            n += got;
        file_stream_close(file);
    }
    const str text = str_trim((str){start, n});
    if (text.n == 0 || text.at[0] != '{')
        return false;
    return str_starts(str_trim((str){text.at + 1, text.n - 1}), STR("\"schema\""));
}

static device_kind kind_of(host_place place)
{
    return place == HOST_ON_KERNEL ? DEVICE_KERNEL
           : place == HOST_ON_COPY ? DEVICE_COPY
                                   : DEVICE_SET;
}

/* The operator that launched a kernel, or NULL. */
static const host_timing *find_timing(const host_trace *h, const map64 *by_id,
                                      uint64_t id)
{
    const uint32_t at = map64_find(by_id, id);
    return at == HASH_NONE ? NULL : &h->timings.at[at];
}

static uint32_t add_text(device_trace *d, str text, bool *failed)
{
    const uint32_t id = intern_add(&d->texts, text);
    *failed |= id == HASH_NONE;
    return id;
}

static uint32_t add_thread(device_trace *d, uint64_t tid, bool *failed)
{
    char text[24];
    const int n = snprintf(text, sizeof text, "%llu", (unsigned long long)tid);
    const uint32_t id = intern_add(&d->threads, (str){text, (size_t)n});
    *failed |= id == HASH_NONE;
    return id;
}

static uint32_t add_stream(device_trace *d, uint64_t stream, bool *failed)
{
    uint32_t id = (uint32_t)d->streams.n;
    bool fresh = false;
    if (!map64_put(&d->stream_of, stream, &id, &fresh) ||
        (fresh && !array_push(&d->streams, (device_stream){0, stream})))
        *failed = true;
    return id;
}

static bool add_event(device_trace *d, device_event event)
{
    d->n[event.kind]++;
    d->n_events++;
    event.extra = DEVICE_NONE;
    return array_push(&d->events, event);
}

static bool add_operator(device_trace *d, const host_trace *h, const host_timing *t)
{
    bool failed = false;
    const device_event event = {
        .start_ns = t->start_ns,
        .duration_ns = t->duration_ns,
        .external = t->id,
        .key = t->rf_id,
        .name = add_text(d, intern_text(&h->texts, t->name), &failed),
        .place = add_thread(d, t->tid, &failed),
        .kind = DEVICE_OP,
    };
    return !failed && add_event(d, event);
}

static bool add_launched(device_trace *d, const host_trace *h, const host_timing *t,
                         const host_timing *by)
{
    bool failed = false;
    if (!by) {
        d->n_events++;
        d->n_other++;
        return true;
    }
    const int64_t end = by->start_ns + by->duration_ns;
    const int64_t at = end < t->start_ns ? end : t->start_ns;
    const device_event call = {
        .start_ns = at > by->start_ns ? at : by->start_ns + 1,
        .external = by->id,
        .key = t->id,
        .name = add_text(d, STR("launch"), &failed),
        .place = add_thread(d, by->tid, &failed),
        .kind = DEVICE_CALL,
    };
    const device_event event = {
        .start_ns = t->start_ns,
        .duration_ns = t->duration_ns,
        .external = by->id,
        .key = t->id,
        .name = add_text(d, intern_text(&h->texts, t->name), &failed),
        .place = add_stream(d, t->stream, &failed),
        .kind = kind_of(t->place),
    };
    return !failed && add_event(d, call) && add_event(d, event);
}

halley_status link_take_apart(device_trace *d, const host_trace *h, halley_error *err)
{
    map64 by_id = {0};
    bool ok = true, fresh;
    d->job = (job_info)JOB_INFO_UNKNOWN;
    for (uint32_t i = 0; ok && i < h->timings.n; i++) {
        uint32_t value = i;
        if (h->timings.at[i].place == HOST_ON_HOST)
            ok = map64_put(&by_id, h->timings.at[i].id, &value, &fresh);
    }
    for (size_t i = 0; ok && i < h->timings.n; i++) {
        const host_timing *const t = &h->timings.at[i];
        ok = t->place == HOST_ON_HOST
                 ? add_operator(d, h, t)
                 : add_launched(d, h, t, find_timing(h, &by_id, t->parent));
    }
    map64_fini(&by_id);
    return ok && device_finish(d) ? HALLEY_OK : error_nomem(err);
}
