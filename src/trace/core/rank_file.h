/*
 * trace/core/rank_file.h - what is known of the file of a rank before it is decoded:
 * enough to see which ranks have the same bytes.
 */
#ifndef TRACE_CORE_RANK_FILE_H
#define TRACE_CORE_RANK_FILE_H

#include "base/file/file.h"

typedef struct rank_file {
    bool is_large;       /* its bytes are not kept */
    bool has_peer;       /* large: another one begins as it does */
    uint64_t head;       /* large: hash of its first bytes, unpacked */
    uint64_t size, hash; /* of what it unpacks to; large ones: when they have a peer */
    uint32_t same_as;    /* a lower rank with the same bytes, or itself */
    file_input kept;     /* its bytes; at is NULL where it must be read again */
} rank_file;

/* Looks at the file. It is read, hashed and kept when it has at most `keep_most` bytes or
 * cannot be read twice (a pipe); else its first bytes are hashed. */
halley_status trace_rank_file_scan(rank_file *f, const char *path, size_t keep_most,
                                   halley_error *err);
/* Reads a file that was not kept, in pieces, for its size and hash. */
halley_status trace_rank_file_hash(rank_file *f, const char *path, halley_error *err);
/* Which of n files have the bytes of the file `with`; at most RANK_FILE_BLOCK. They are
 * read side by side, each once and only as far as it agrees. */
enum { RANK_FILE_BLOCK = 8 };
halley_status trace_rank_file_match(bool *same, const char *with,
                                    const char *const *paths, uint32_t n,
                                    halley_error *err);
/* Whether two hashed files have the same bytes. A kept and another one count as
 * different. */
halley_status trace_rank_file_compare(bool *same, const rank_file *a, const char *path_a,
                                      const rank_file *b, const char *path_b,
                                      halley_error *err);

#endif
