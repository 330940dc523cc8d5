/* base/file/file.h - whole files in (read, unpacked from gzip or zstd), atomic files out.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * The bytes of a file, a pipe or "-" (stdin); gzip and zstd (recognised by their first
 * bytes, not by the name) are unpacked, all members and frames. At least FILE_PAD zero
 * bytes may be read after `at + n` (so a decoder may load 8 or 16 bytes at once). The
 * limits of base/limit.h hold for the file and for what it unpacks to.
 */
enum { FILE_PAD = 32 };
typedef struct file_input {
    const uint8_t *at;
    size_t n;
    bool gzipped; /* it was compressed, as gzip or zstd */
    void *owned;  /* heap block to free, or NULL */
} file_input;

/* Errors name the path; a directory, a missing or unreadable file, a cut or corrupt gzip
 * (with the byte offset) each have their own sentence. */
halley_status file_input_open(file_input *in, const char *path, halley_error *err);
/* The same for files that have at most `most` bytes, unpacked: LIMIT_CONFIGURATION. */
halley_status file_input_open_most(file_input *in, const char *path, uint64_t most,
                                   halley_error *err);
/* The same over bytes that the caller keeps alive and that have FILE_PAD readable bytes
 * after. */
void file_input_lend(file_input *in, const uint8_t *at, size_t n);
void file_input_close(file_input *in);

/* Room for one file after the other. {0} is empty. */
typedef struct file_buffer {
    uint8_t *at;
    size_t n, cap;
} file_buffer;
/* A regular file as it is on the disk, in the buffer until the next one; *in is lent.
 * Pipes, devices and standard input are not read: *in is then empty. */
halley_status file_buffer_read(file_input *in, file_buffer *b, const char *path,
                               halley_error *err);
void file_buffer_fini(file_buffer *b);

/* Inflate all members of a gzip file in memory to at most `most` bytes (0 = the limit of
 * memory); used by file_input_open and by fuzzers. */
halley_status file_gunzip(uint8_t **out, size_t *n_out, const uint8_t *at, size_t n,
                          uint64_t most, halley_error *err);
/* The same of Zstandard, all frames. */
halley_status file_unzstd(uint8_t **out, size_t *n_out, const uint8_t *at, size_t n,
                          uint64_t most, halley_error *err);
/* Zstandard of some bytes, one frame; *out is the caller's, to free(). */
halley_status file_zstd(uint8_t **out, size_t *n_out, const void *at, size_t n,
                        halley_error *err);
bool file_is_zstd(const uint8_t *at, size_t n);

/*
 * A file being written: to a temporary file of a random name in the same folder, which
 * takes the final name only at commit; until then, and for ever after an abort, an older
 * file of that name is untouched. A new file has the mode the umask gives, one that
 * replaces another has that one's. If the name is a symbolic link to a file, the link
 * stays and the file it names is replaced. A pipe or device is written to directly, and
 * so is
 * "-", which is stdout. A name ending in .gz is compressed. Errors are remembered: write
 * as much as you like and look at the status of commit.
 */
typedef struct file_output file_output;
halley_status file_output_open(file_output **out, const char *path, halley_error *err);
void file_output_write(file_output *out, const void *at, size_t n);
void file_output_str(file_output *out, str s);
void file_output_printf(file_output *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* At least `n` bytes of buffer to write into directly, followed by file_output_advance;
 * NULL after an error. n at most 1 MiB. */
uint8_t *file_output_reserve(file_output *out, size_t n);
void file_output_advance(file_output *out, size_t n);
/* Both free `out`, whatever they return. Commit flushes, syncs and renames. */
halley_status file_output_commit(file_output *out, halley_error *err);
/* Commit what a call leaves to the next one even if it fails: a hold does not keep it. */
halley_status file_output_commit_now(file_output *out, halley_error *err);
void file_output_abort(file_output *out);
/* Write a whole file, and free the text. HALLEY_ENOMEM when the text is incomplete
 * because memory ran out. */
halley_status file_save(const char *path, strbuf *text, halley_error *err);

/*
 * Files that belong together: all of them take their names at commit, or none. Each is
 * written under a temporary name before; the files of file_set_put are synced once for
 * all. After a failed commit no new file of the set is left (older ones of the same names
 * are lost if they had been replaced by then).
 */
typedef struct file_set file_set;
halley_status file_set_open(file_set **out, halley_error *err);
/* A whole file of the set; safe from any thread. */
halley_status file_set_put(file_set *set, const char *path, const void *at, size_t n,
                           halley_error *err);
/* *name is where to write the file `path` until commit, for what saves to a path: a
 * temporary name next to it, lent by the set; `path` itself where that is no regular
 * file. may_miss: it is fine if nothing is written. Safe from any thread. */
halley_status file_set_add(file_set *set, const char **name, const char *path,
                           bool may_miss, halley_error *err);
/* Both free `set`, whatever they return. Abort removes what was written; NULL is fine. */
halley_status file_set_commit(file_set *set, halley_error *err);
void file_set_abort(file_set *set);
/*
 * A call whose files appear when everything else is done: from file_hold_begin on, files
 * and sets that this thread commits keep their temporary names. At the end they take
 * their names when `status` is HALLEY_OK, and are removed otherwise; `status` is then
 * returned. So a call that fails late leaves no file. The same holds for folders. What it
 * wrote can be read back before the end under the name that file_held_name gives. In
 * calls within a call the outermost one decides.
 */
halley_status file_hold_begin(halley_error *err);
halley_status file_hold_end(halley_status status, halley_error *err);
/* Where the file is that this call wrote to `path`: its temporary name, lent until the
 * end of the hold, or `path` itself when it is not held. */
const char *file_held_name(const char *path);

/*
 * A folder being written, for many small files: they go into a temporary folder,
 * ".NAME.xxxxxxxx-…" next to it, which takes the final name at commit after one sync for
 * all of them. Until then, and for ever after an abort, there is no such folder. One that
 * is there already must be empty (else EINVAL) and stays; its files lie in
 * ".part.xxxxxxxx-…" within and move out of it one by one at commit.
 */
typedef struct file_folder file_folder;
halley_status file_folder_open(file_folder **out, const char *path, halley_error *err);
/* A new file of the folder, whole; safe from any thread. */
halley_status file_folder_put(const file_folder *folder, const char *name, const void *at,
                              size_t n, halley_error *err);
/* Both free `folder`, whatever they return. */
halley_status file_folder_commit(file_folder *folder, halley_error *err);
void file_folder_abort(file_folder *folder);
bool file_folder_is_empty(const char *path);
/* Make a folder for files that are written one by one; one that is there is fine. When
 * the call in which it was made fails (file_hold_end), or a signal ends the program, it
 * is removed, unless something else is in it by then. */
halley_status file_folder_make(const char *path, halley_error *err);

/* All of it to a descriptor: 0, or an errno. */
int file_write(int fd, const void *at, size_t n);

bool file_exists(const char *path);
bool file_is_folder(const char *path);
/* No pipe, device or folder: what was read may be read again. */
bool file_is_regular(const char *path);

#endif
