/*
 * Scan and compare the files of ranks.
 *
 * Sets have thousands of small files or a few large ones. The bytes of small files are
 * kept from the scan on, so that each is opened once. Large files are read through a
 * small buffer. That takes a third of the time that a separate block of memory for each
 * would take, because the kernel clears new memory.
 *
 * Large files are compared with the first rank's before any is hashed, because mostly all
 * are equal or differ early. A file whose first bytes no other file has is not read to
 * its end.
 */
#include "trace/core/rank_file.h"

#include "base/array.h"
#include "base/file/file_look.h"
#include "base/file/file_stream.h"
#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PIECE = 1 << 18, HEAD = 1 << 14 };

/* Gives the same hash for bytes in memory as for a file that is read in pieces. */
static uint64_t hash_in_pieces(const uint8_t *at, size_t n)
{
    uint64_t h = 1;
    for (size_t i = 0; i < n; i += PIECE)
        h = hash_bytes(at + i, n - i < PIECE ? n - i : PIECE, h);
    return h;
}

/* Read `wanted` bytes, or what is left. *n is 0 only at the end of the file. */
static halley_status read_bytes(file_stream *s, uint8_t *to, size_t wanted, size_t *n,
                                halley_error *err)
{
    size_t got = 0;
    *n = 0;
    do {
        TRY(file_stream_read(s, to + *n, wanted - *n, &got, err));
        *n += got;
    } while (got > 0 && *n < wanted);
    assert(*n <= wanted);
    return HALLEY_OK;
}

static halley_status read_piece(file_stream *s, uint8_t *to, size_t *n, halley_error *err)
{
    return read_bytes(s, to, PIECE, n, err);
}

static halley_status hash_stream(rank_file *f, file_stream *s, halley_error *err)
{
    uint8_t *const piece = mem_array(PIECE, 1);
    halley_status status = piece == NULL ? error_nomem(err) : HALLEY_OK;
    f->size = 0;
    f->hash = 1;
    for (size_t n = 1; status == HALLEY_OK && n > 0;) {
        status = read_piece(s, piece, &n, err);
        if (status == HALLEY_OK && n > 0)
            f->hash = hash_bytes(piece, n, f->hash);
        f->size += n;
    }
    free(piece);
    return status;
}

halley_status trace_rank_file_hash(rank_file *f, const char *path, halley_error *err)
{
    assert(path != NULL && f->kept.at == NULL);
    file_stream *s = NULL;
    TRY(file_stream_open(&s, path, err));
    const halley_status status = hash_stream(f, s, err);
    file_stream_close(s);
    return status;
}

static halley_status hash_head(rank_file *f, const char *path, halley_error *err)
{
    uint8_t head[HEAD];
    size_t n = 0;
    file_stream *s = NULL;
    TRY(file_stream_open(&s, path, err));
    const halley_status status = read_bytes(s, head, HEAD, &n, err);
    f->head = hash_bytes(head, n, 1);
    file_stream_close(s);
    return status;
}

halley_status trace_rank_file_scan(rank_file *f, const char *path, size_t keep_most,
                                   halley_error *err)
{
    assert(path != NULL);
    struct stat about;
    const bool is_regular = file_look(path, &about) == 0 && S_ISREG(about.st_mode);
    f->is_large = is_regular && (uintmax_t)about.st_size > keep_most;
    if (f->is_large)
        return hash_head(f, path, err);
    TRY(file_input_open(&f->kept, path, err));
    f->size = f->kept.n;
    f->hash = hash_in_pieces(f->kept.at, f->kept.n);
    return HALLEY_OK;
}

/* Read the next piece of the last file and of every file that agrees so far, and compare
 * them. */
static halley_status match_piece(bool *same, file_stream *const *files, uint32_t n,
                                 uint8_t *pieces, bool *at_end, halley_error *err)
{
    size_t n_first = 0, n_other = 0;
    uint32_t n_left = 0;
    TRY(read_piece(files[n], pieces, &n_first, err));
    for (uint32_t i = 0; i < n; i++) {
        if (!same[i])
            continue;
        TRY(read_piece(files[i], pieces + PIECE, &n_other, err));
        same[i] = n_first == n_other && memcmp(pieces, pieces + PIECE, n_first) == 0;
        n_left += same[i];
    }
    *at_end = n_first == 0 || n_left == 0;
    return HALLEY_OK;
}

static halley_status match_streams(bool *same, file_stream *const *files, uint32_t n,
                                   halley_error *err)
{
    uint8_t *const pieces = mem_array(2, PIECE);
    halley_status status = pieces == NULL ? error_nomem(err) : HALLEY_OK;
    for (bool at_end = false; status == HALLEY_OK && !at_end;)
        status = match_piece(same, files, n, pieces, &at_end, err);
    free(pieces);
    return status;
}

halley_status trace_rank_file_match(bool *same, const char *with,
                                    const char *const *paths, uint32_t n,
                                    halley_error *err)
{
    assert(with != NULL && n <= RANK_FILE_BLOCK);
    file_stream *files[RANK_FILE_BLOCK + 1] = {NULL}; /* `with` is the last */
    halley_status status = file_stream_open(&files[n], with, err);
    for (uint32_t i = 0; i < n && status == HALLEY_OK; i++) {
        same[i] = true;
        status = file_stream_open(&files[i], paths[i], err);
    }
    if (status == HALLEY_OK)
        status = match_streams(same, files, n, err);
    for (uint32_t i = 0; i <= n; i++)
        file_stream_close(files[i]);
    return status;
}

halley_status trace_rank_file_compare(bool *same, const rank_file *a, const char *path_a,
                                      const rank_file *b, const char *path_b,
                                      halley_error *err)
{
    assert(path_a != NULL && path_b != NULL);
    *same = false;
    if (a->size != b->size || a->hash != b->hash || a->is_large != b->is_large)
        return HALLEY_OK;
    if (a->is_large)
        return trace_rank_file_match(same, path_a, &path_b, 1, err);
    *same = a->size == 0 || memcmp(a->kept.at, b->kept.at, a->size) == 0;
    return HALLEY_OK;
}
