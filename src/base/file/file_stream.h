/*
 * base/file/file_stream.h - read a file in pieces in constant memory, plain or compressed
 * (unpack.h).
 */
#ifndef BASE_FILE_STREAM_H
#define BASE_FILE_STREAM_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct file_stream file_stream;

/* Compressed files are recognised by their first bytes, not by the name; "-" is standard
 * input. Errors name the path. */
halley_status file_stream_open(file_stream **out, const char *path, halley_error *err);
/* The same over bytes that the caller keeps alive; `name` is used as the path. */
halley_status file_stream_lend(file_stream **out, const void *at, size_t n,
                               const char *name, halley_error *err);
/* Read between 1 and n bytes into `to`; *got is 0 only at the end of the file. */
halley_status file_stream_read(file_stream *s, void *to, size_t n, size_t *got,
                               halley_error *err);
bool file_stream_is_packed(const file_stream *s); /* compressed */
/* The size as stored, 0 = unknown; and how much of it was unpacked. */
uint64_t file_stream_size(const file_stream *s);
uint64_t file_stream_position(const file_stream *s);
/* The sentence for an input that cannot be opened, from an errno. */
halley_status file_open_error(halley_error *err, int reason);
void file_stream_close(file_stream *s); /* NULL is fine */

#endif
