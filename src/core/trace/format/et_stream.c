/*
 * Read an .et file in pieces, through a window in memory. Messages that are complete in
 * the window are decoded, the rest moves to its start, and more of the file is read after
 * it. If a message is larger than the window, the window grows. Text is copied, so
 * nothing refers to the window afterwards.
 */
#include "base/file/file_look.h"
#include "base/file/file_stream.h"
#include "base/limit.h"
#include "trace/format/et.h"

#include <assert.h>
#include <string.h>
#include <sys/stat.h>

enum { WINDOW = 1 << 18 };

typedef struct et_window {
    file_stream *file;
    u8_array bytes;   /* n bytes, then FILE_PAD zeros */
    uint64_t skipped; /* bytes of the file before them */
    uint64_t size;    /* of the file; 0 = not known */
    bool at_end;
} et_window;

/* Drop the first `n_done` bytes and read more: a full window, or twice as much if nothing
 * in the window could be used. */
static halley_status fill_window(et_window *w, size_t n_done, halley_error *err)
{
    assert(n_done <= w->bytes.n);
    const size_t left = w->bytes.n - n_done;
    if (left > 0 && n_done > 0)
        memmove(w->bytes.at, w->bytes.at + n_done, left);
    w->bytes.n = left;
    w->skipped += n_done;
    const size_t wanted = left < WINDOW / 2 ? WINDOW : 2 * left;
    TRY(limit_check_size(wanted, 0, err));
    if (!array_reserve(&w->bytes, wanted - left + FILE_PAD))
        return error_nomem(err);
    while (w->bytes.n < wanted && !w->at_end) {
        size_t got = 0;
        TRY(file_stream_read(w->file, w->bytes.at + w->bytes.n, wanted - w->bytes.n, &got,
                             err));
        w->bytes.n += got;
        w->at_end = got == 0;
    }
    memset(w->bytes.at + w->bytes.n, 0, FILE_PAD);
    return HALLEY_OK;
}

/* The number of bytes, and of messages, that are complete in the window. At the end of
 * the file all bytes count, so that the decoder reports what is wrong with the last
 * ones. */
static size_t measure_whole(const et_window *w, uint32_t *n_messages)
{
    const uint8_t *const end = w->bytes.at + w->bytes.n;
    const uint8_t *at = w->bytes.at, *whole = at;
    uint64_t n;
    *n_messages = 0;
    while (at < end && wire_varint(&at, end, &n) && n <= (uint64_t)(end - at)) {
        at += n;
        whole = at;
        *n_messages += *n_messages < UINT32_MAX;
    }
    return w->at_end ? w->bytes.n : (size_t)(whole - w->bytes.at);
}

/* Read the start of the file: enough messages to recognise its schema, or all of it. */
static halley_status open_window(et_window *w, halley_error *err)
{
    uint32_t n_messages = 0;
    do {
        TRY(fill_window(w, 0, err));
        (void)measure_whole(w, &n_messages);
    } while (!w->at_end && n_messages <= ET_OLD_SAMPLE);
    return HALLEY_OK;
}

static et_decoder get_decoder(const et_window *w, trace_store *s, halley_error *err)
{
    s->base = w->bytes.at;
    return (et_decoder){
        .s = s, .base = w->bytes.at, .skipped = w->skipped, .err = err, .copies = true};
}

/* Read the nodes that are complete in the window, from *at on. */
static halley_status read_window(et_window *w, trace_store *s, const uint8_t **at,
                                 uint32_t max_nodes, halley_error *err)
{
    uint32_t n_messages;
    const et_decoder d = get_decoder(w, s, err);
    const uint8_t *const stop = w->bytes.at + measure_whole(w, &n_messages);
    const uint64_t done = et_offset(&d, *at);
    const uint64_t room =
        w->size > done ? w->size - done : (uint64_t)(w->bytes.at + w->bytes.n - *at);
    assert(*at <= stop);
    return et_read_nodes(&d, at, stop, stop, (size_t)room, max_nodes);
}

static halley_status read_windows(et_window *w, trace_store *s, uint32_t max_nodes,
                                  halley_error *err)
{
    const uint8_t *at = w->bytes.at;
    halley_error no_meta = {0};
    const et_decoder d = get_decoder(w, s, err);
    if (w->bytes.n == 0)
        return error_set(err, HALLEY_EFORMAT,
                         "the file is empty; a trace has at least a metadata message");
    TRY(et_read_first(&d, &at, w->bytes.at + w->bytes.n, &no_meta));
    halley_status status = read_window(w, s, &at, max_nodes, err);
    while (status == HALLEY_OK && !w->at_end) {
        TRY(fill_window(w, (size_t)(at - w->bytes.at), err));
        at = w->bytes.at;
        status = read_window(w, s, &at, max_nodes, err);
    }
    /* It is neither metadata nor a node, so it was meant to be metadata. */
    if (status == HALLEY_EFORMAT && s->n == 0 && no_meta.code && err != NULL)
        *err = no_meta;
    return status;
}

static halley_status read_as_et(halley_trace **out, et_window *w, const char *path,
                                const halley_load_opts *opts, halley_error *err)
{
    trace_store s;
    if (!trace_store_init(&s))
        return error_nomem(err);
    const uint32_t max_nodes = opts->max_nodes ? opts->max_nodes : UINT32_MAX - 1;
    const halley_status status = read_windows(w, &s, max_nodes, err);
    s.base = NULL;
    array_fini(&w->bytes);
    if (status == HALLEY_OK)
        return trace_finish(out, &s, &(file_input){0}, path, HALLEY_FORM_ET, err);
    trace_store_fini(&s);
    return status;
}

/* Is it an .et file of the present schema? */
static halley_status recognise_window(bool *is_et, const et_window *w, halley_error *err)
{
    const file_input start = {.at = w->bytes.at, .n = w->bytes.n};
    const et_old_schema *old = NULL;
    *is_et = !et_looks_like_json(&start) && et_packer_of(&start) == NULL;
    if (*is_et)
        TRY(et_old_recognise(&old, start.at, start.n, err));
    *is_et = *is_et && old == NULL;
    return HALLEY_OK;
}

halley_status et_read_stream(halley_trace **out, const char *path,
                             const halley_load_opts *opts, halley_error *err)
{
    struct stat about;
    et_window w = {0};
    bool is_et = false;
    *out = NULL;
    if (file_look(path, &about) != 0 || !S_ISREG(about.st_mode))
        return HALLEY_OK;
    TRY(file_stream_open(&w.file, path, err));
    w.size = file_stream_is_packed(w.file) ? 0 : (uint64_t)about.st_size;
    halley_status status = open_window(&w, err);
    if (status == HALLEY_OK)
        status = recognise_window(&is_et, &w, err);
    if (status == HALLEY_OK && is_et)
        status = read_as_et(out, &w, path, opts, err);
    array_fini(&w.bytes);
    file_stream_close(w.file);
    return status;
}
