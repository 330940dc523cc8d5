/*
 * Cut a file at message boundaries into chunks. Each chunk, with the file's metadata
 * message before it, is parsed as a small trace of its own.
 *
 * Only the bytes of one chunk are held here; what is parsed belongs to the caller. If a
 * message is longer than a read, the buffer grows, but never beyond the rest of the file.
 * So a wrong length costs no memory.
 */
#include "trace/feeder_read.h"

#include "base/array.h"
#include "base/call.h"
#include "base/file/file_root.h"
#include "trace/format/et.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    READ_BYTES = 1 << 18,  /* at a time */
    CHUNK_BYTES = 1 << 22, /* no message is added to a chunk beyond this */
    MAX_VARINT = 10
};

/* The offset in the file of the bytes after the head. */
static uint64_t chunk_offset(const chunk_reader *r)
{
    return r->n_read - (r->n - r->n_head);
}

static halley_status fail_at(const chunk_reader *r, size_t in_buffer, halley_error *err,
                             const char *sentence)
{
    error_set(err, HALLEY_EFORMAT, "%s", sentence);
    error_at_file(err, r->path);
    error_at_offset(err, chunk_offset(r) + (in_buffer - r->n_head));
    return HALLEY_EFORMAT;
}

/* Read more. *more is false at the end of the file. */
static halley_status read_more(chunk_reader *r, bool *more, halley_error *err)
{
    *more = false;
    if (r->cap - r->n < READ_BYTES) {
        if (!array_grow_((void **)(void *)&r->at, &r->cap, r->n, READ_BYTES, 1))
            return error_nomem(err);
    }
    ssize_t n;
    do
        n = pread(r->fd, r->at + r->n, READ_BYTES, (off_t)r->n_read);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        const halley_status status = error_errno(err, "read the file", errno);
        error_at_file(err, r->path);
        return status;
    }
    r->n += (size_t)n;
    r->n_read += (uint64_t)n;
    *more = n > 0;
    return HALLEY_OK;
}

typedef enum framing { WHOLE, CUT, WILD } framing;

/*
 * Find where the message at `from` ends. CUT: more bytes must be read first. WILD: its
 * length is not a varint, or reaches beyond the end of the file.
 */
static framing find_frame(const chunk_reader *r, size_t from, size_t *end)
{
    uint64_t length = 0;
    size_t at = from;
    for (uint32_t shift = 0;; shift += 7) {
        if (at == r->n)
            return CUT;
        const uint8_t byte = r->at[at++];
        if (shift == 7 * (MAX_VARINT - 1) && byte > 1)
            return WILD;
        length |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    const uint64_t unread = r->size > r->n_read ? r->size - r->n_read : 0;
    if (length > r->n - at + unread)
        return WILD;
    if (length > r->n - at)
        return CUT;
    *end = at + (size_t)length;
    return WHOLE;
}

/* Find the end of the next chunk. *end is the end of the head if no message is left. */
static halley_status gather_chunk(chunk_reader *r, size_t *end, halley_error *err)
{
    size_t at = r->n_head;
    const uint64_t n_messages = (uint64_t)r->n_nodes + !r->started; /* + metadata */
    for (uint64_t n = 0; n < n_messages && at - r->n_head < CHUNK_BYTES;) {
        size_t next = at;
        const framing found = find_frame(r, at, &next);
        if (found == WILD)
            return fail_at(r, at, err,
                           "the length of this message is wrong or reaches beyond the "
                           "end of the file");
        if (found == WHOLE) {
            at = next;
            n++;
            continue;
        }
        bool more;
        TRY(read_more(r, &more, err));
        if (!more && at < r->n)
            return fail_at(r, at, err, "the file ends inside a message");
        if (!more)
            break;
    }
    *end = at;
    return HALLEY_OK;
}

/* Errors of the chunk's parser count from the chunk's start; make them count from the
 * file's. */
static void move_error(const chunk_reader *r, halley_error *err)
{
    if (!err || !err->has_offset)
        return;
    if (err->offset >= r->n_head)
        err->offset = err->offset - r->n_head + chunk_offset(r);
}

/* Keep the head and what follows the chunk. The metadata of the first chunk becomes the
 * head. */
static void consume_chunk(chunk_reader *r, size_t end, bool has_metadata)
{
    size_t head = r->n_head;
    if (!r->started && has_metadata)
        (void)find_frame(r, 0, &head);
    memmove(r->at + head, r->at + end, r->n - end);
    r->n = r->n - end + head;
    r->n_head = head;
    r->started = true;
}

/* The first chunk may turn out to be of another form than .et. The rest is then read in
 * that form. */
static halley_status parse_chunk(chunk_reader *r, size_t n, halley_trace **out,
                                 halley_error *err)
{
    const halley_load_opts opts = {.n_threads = 1};
    if (!r->started)
        return halley_trace_parse(out, r->at, n, r->path, &opts, err);
    uint8_t *const copy = mem_array(n + FILE_PAD, 1);
    if (!copy)
        return error_nomem(err);
    memcpy(copy, r->at, n);
    memset(copy + n, 0, FILE_PAD);
    file_input in = {.at = copy, .n = n, .owned = copy};
    return et_read(out, &in, r->path, &opts, err);
}

halley_status chunk_reader_next(chunk_reader *r, halley_trace **out, halley_error *err)
{
    *out = NULL;
    size_t end = 0;
    TRY(gather_chunk(r, &end, err));
    if (end == r->n_head)
        return HALLEY_OK;
    halley_trace *trace = NULL;
    const halley_status status = parse_chunk(r, end, &trace, err);
    if (status != HALLEY_OK) {
        move_error(r, err);
        error_at_file(err, r->path);
        return status;
    }
    consume_chunk(r, end, halley_trace_has_metadata(trace));
    *out = trace;
    return HALLEY_OK;
}

halley_status chunk_reader_open(chunk_reader *r, const char *path, uint32_t n_nodes,
                                bool *streamable, halley_error *err)
{
    *r = (chunk_reader){.fd = -1, .n_nodes = n_nodes};
    *streamable = false;
    const int fd = strcmp(path, "-") == 0 ? -1 : file_root_open(path);
    struct stat st;
    if (fd < 0)
        return HALLEY_OK;
    uint8_t magic[2] = {0, 0};
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || pread(fd, magic, 2, 0) != 2 ||
        (magic[0] == 0x1f && magic[1] == 0x8b)) {
        close(fd);
        return HALLEY_OK;
    }
    const halley_status status = call_reads(&st, path, err);
    if (status != HALLEY_OK) {
        close(fd);
        return status;
    }
    r->fd = fd;
    r->size = (uint64_t)st.st_size;
    r->path = strdup(path);
    if (!r->path) {
        chunk_reader_close(r);
        return error_nomem(err);
    }
    *streamable = true;
    return HALLEY_OK;
}

void chunk_reader_close(chunk_reader *r)
{
    if (r->fd >= 0)
        close(r->fd);
    free(r->path);
    free(r->at);
    *r = (chunk_reader){.fd = -1};
}
