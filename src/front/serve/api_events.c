/*
 * /api/events/ID: the progress of a job and its reply, as a stream of events. A comment
 * every second shows whether the client still reads. When the stream is closed, the job
 * has one waiting client less.
 */
#include "base/array.h"
#include "serve/server.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { EVENT_BLOCK = 64 << 10 };
static const double beat_s = 1.0, pause_s = 0.1; /* between events of progress */

typedef struct event_stream {
    serve_server *server;
    serve_job *job;
    serve_progress seen;
    strbuf text; /* of the event being sent, from `at` on */
    size_t at;
    bool has_reply; /* the last event is in `text` */
} event_stream;

/* A line break within the data starts a new data line; the last one is left out. */
static void print_event(strbuf *to, const char *name, str data)
{
    str line;
    if (str_ends(data, STR("\n")))
        data.n--;
    strbuf_printf(to, "event: %s\n", name);
    while (str_next(&data, '\n', &line)) {
        strbuf_add(to, STR("data: "));
        strbuf_add(to, line);
        strbuf_add_char(to, '\n');
    }
    strbuf_add_char(to, '\n');
}

static void print_progress(strbuf *to, const serve_progress *p)
{
    strbuf data = {0};
    strbuf_add(&data, STR("{\"what\": "));
    strbuf_json(&data, str_from(p->what));
    strbuf_add(&data, STR(", \"noun\": "));
    strbuf_json(&data, str_from(p->noun));
    strbuf_printf(&data, ", \"done\": %llu, \"total\": ", (unsigned long long)p->done);
    strbuf_double(&data, p->total);
    strbuf_add_char(&data, '}');
    if (data.failed)
        to->failed = true;
    else
        print_event(to, "progress", strbuf_str(&data));
    strbuf_fini(&data);
}

/* Make the next event, after at most a second; false: out of memory. */
static bool make_event(event_stream *s)
{
    const uint64_t before = s->seen.version;
    if (before > 0) /* limits the rate of events; the reply does not wait */
        (void)serve_job_wait(s->job, pause_s);
    const char *const reply = serve_job_watch(s->job, &s->seen, beat_s);
    s->text.n = 0;
    s->at = 0;
    if (reply != NULL) {
        print_event(&s->text, "reply", str_from(reply));
        s->has_reply = true;
    } else if (s->seen.version != before) {
        print_progress(&s->text, &s->seen);
    } else {
        strbuf_add(&s->text, STR(": still at work\n\n"));
    }
    return !s->text.failed;
}

static ssize_t read_stream(void *context, uint64_t at, char *to, size_t size)
{
    event_stream *const s = context;
    (void)at;
    if (s->at == s->text.n) {
        if (s->has_reply || atomic_load(&s->server->stopping))
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (!make_event(s))
            return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    assert(s->at < s->text.n);
    const size_t n = s->text.n - s->at < size ? s->text.n - s->at : size;
    memcpy(to, s->text.at + s->at, n);
    s->at += n;
    return (ssize_t)n;
}

static void free_stream(void *context)
{
    event_stream *const s = context;
    const bool is_delivered = s->has_reply && s->at == s->text.n;
    if (is_delivered)
        serve_job_forget(s->job);
    else
        serve_job_release(s->job);
    strbuf_fini(&s->text);
    free(s);
}

/* Read the job id in the URL; false if there is none. */
static bool read_job_id(char id[SERVE_TOKEN + 1], serve_exchange *x)
{
    return serve_id_read(id, x->url + strlen("/api/events/"));
}

static enum MHD_Result refuse_job(serve_exchange *x)
{
    return serve_answer_error(x, MHD_HTTP_NOT_FOUND, "not-found",
                              "there is no request of that id; it may have ended");
}

static event_stream *open_stream(serve_server *server, serve_job *job)
{
    event_stream *const s = mem_array_zero(1, sizeof *s);
    if (s == NULL) {
        serve_job_release(job);
        return NULL;
    }
    s->server = server;
    s->job = job;
    return s;
}

static enum MHD_Result answer_events(serve_exchange *x)
{
    char id[SERVE_TOKEN + 1];
    serve_job *const job =
        read_job_id(id, x) ? serve_job_find(x->server->jobs, id) : NULL;
    if (job == NULL)
        return refuse_job(x);
    event_stream *const s = open_stream(x->server, job);
    if (s == NULL)
        return MHD_NO;
    struct MHD_Response *const response = serve_http.create_response_from_callback(
        MHD_SIZE_UNKNOWN, EVENT_BLOCK, read_stream, s, free_stream);
    if (response == NULL) {
        free_stream(s);
        return MHD_NO;
    }
    (void)serve_http.add_response_header(response, "Content-Type", "text/event-stream");
    serve_connection_release(&x->server->connections, x->place);
    return serve_answer_send(x, MHD_HTTP_OK, response);
}

enum MHD_Result serve_events_get(serve_exchange *x)
{
    x->answer = answer_events;
    return MHD_YES;
}

static enum MHD_Result answer_cancel(serve_exchange *x)
{
    char id[SERVE_TOKEN + 1];
    if (!read_job_id(id, x) || !serve_job_cancel(x->server->jobs, id))
        return refuse_job(x);
    return serve_answer_json(x, MHD_HTTP_OK, STR("{\"ok\": true}\n"));
}

enum MHD_Result serve_events_delete(serve_exchange *x)
{
    x->answer = answer_cancel;
    return MHD_YES;
}
