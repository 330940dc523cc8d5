/*
 * trace/feeder_read.h - read an .et file from front to back, a few thousand nodes
 * at a time.
 */
#ifndef TRACE_FEEDER_READ_H
#define TRACE_FEEDER_READ_H

#include "halley/trace.h"

typedef struct chunk_reader {
    int fd;
    char *path;       /* as given, for errors */
    uint64_t size;    /* of the file */
    uint64_t n_read;  /* bytes taken from the file so far */
    uint8_t *at;      /* the head, then bytes not yet returned */
    size_t n, cap;    /* used and allocated */
    size_t n_head;    /* message 0, put before every chunk to make it a complete file */
    bool started;     /* the first chunk has been returned */
    uint32_t n_nodes; /* maximum messages per chunk */
} chunk_reader;

/*
 * *streamable is false, with HALLEY_OK and nothing to close, if the path is not a regular
 * file that starts like a plain .et.
 */
halley_status chunk_reader_open(chunk_reader *r, const char *path, uint32_t n_nodes,
                                bool *streamable, halley_error *err);
void chunk_reader_close(chunk_reader *r);

/* Read the next nodes as a trace, which the caller frees; NULL at the end of the file. If
 * it fails for lack of memory, it may be called again. */
halley_status chunk_reader_next(chunk_reader *r, halley_trace **out, halley_error *err);

#endif
