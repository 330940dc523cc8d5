/*
 * trace/core/rank_file.h - what is known of a rank's file before it is decoded: enough to
 * find which ranks have the same bytes.
 */
#ifndef TRACE_CORE_RANK_FILE_H
#define TRACE_CORE_RANK_FILE_H

#include "base/file/file.h"

typedef struct rank_file {
    bool is_large;       /* its bytes are not kept */
    bool has_peer;       /* large: another file begins with the same bytes */
    uint64_t head;       /* large: hash of its first bytes, decompressed */
    uint64_t size, hash; /* decompressed; large files: only if has_peer */
    uint32_t same_as;    /* a lower rank with the same bytes, or itself */
    file_input kept;     /* its bytes; at is NULL if it must be read again */
} rank_file;

/* Scan the file. It is read, hashed and kept if it has at most `keep_most` bytes or
 * cannot be read twice (a pipe). Otherwise only its first bytes are hashed. */
halley_status trace_rank_file_scan(rank_file *f, const char *path, size_t keep_most,
                                   halley_error *err);
/* Read a file that was not kept, in pieces, for its size and hash. */
halley_status trace_rank_file_hash(rank_file *f, const char *path, halley_error *err);
/* Find which of n files, at most RANK_FILE_BLOCK, equal the file `with`. They are read
 * together piece by piece, each once and only as far as it agrees. */
enum { RANK_FILE_BLOCK = 8 };
halley_status trace_rank_file_match(bool *same, const char *with,
                                    const char *const *paths, uint32_t n,
                                    halley_error *err);
/* Do two hashed files have the same bytes? A kept and a not kept file count as
 * different. */
halley_status trace_rank_file_compare(bool *same, const rank_file *a, const char *path_a,
                                      const rank_file *b, const char *path_b,
                                      halley_error *err);

#endif
