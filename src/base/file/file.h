/*
 * base/file/file.h - read whole files (and unpack compressed ones), write files
 * atomically.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * The bytes of a file, a pipe or "-" (stdin). Compressed files (unpack.h) are recognised
 * by their first bytes, not by the name, and all members are unpacked. At least FILE_PAD
 * zero bytes may be read after `at + n`, so a decoder may load 8 or 16 bytes at once. The
 * limits of base/limit.h apply to the file and to its uncompressed size.
 */
enum { FILE_PAD = 32 };
typedef struct file_input {
    const uint8_t *at;
    size_t n;
    bool is_packed; /* it was compressed */
    void *owned;    /* heap block to free, or NULL */
} file_input;

/* Errors name the path. A directory, a missing or unreadable file, and a truncated or
 * corrupt gzip (with the byte offset) have different messages. */
halley_status file_input_open(file_input *in, const char *path, halley_error *err);
/* The same for files of at most `most` bytes uncompressed: LIMIT_CONFIGURATION. */
halley_status file_input_open_most(file_input *in, const char *path, uint64_t most,
                                   halley_error *err);
/* The same for a copy of bytes in memory, unpacked if they are compressed. */
halley_status file_input_copy(file_input *in, const void *at, size_t n, uint64_t most,
                              halley_error *err);
/* Lend bytes in memory as they are. The caller keeps them alive, and FILE_PAD bytes after
 * them must be readable. */
void file_input_lend(file_input *in, const uint8_t *at, size_t n);
void file_input_close(file_input *in);

/* A buffer that is reused for one file after the other. {0} is empty. */
typedef struct file_buffer {
    uint8_t *at;
    size_t n, cap;
} file_buffer;
/* Read a regular file without decompression; it stays in the buffer until the next one,
 * and *in is lent. Pipes, devices and standard input are not read: *in is then empty. */
halley_status file_buffer_read(file_input *in, file_buffer *b, const char *path,
                               halley_error *err);
void file_buffer_fini(file_buffer *b);

/* Compress bytes to one Zstandard frame; the caller must free() *out. */
halley_status file_zstd(uint8_t **out, size_t *n_out, const void *at, size_t n,
                        halley_error *err);

/*
 * A file being written. It is a temporary file with a random name in the same folder and
 * gets its final name at commit. Until then, and after an abort, an existing file of that
 * name is unchanged. A new file gets the mode that the umask gives; a replaced file keeps
 * its mode. If the name is a symbolic link to a file, the link stays and that file is
 * replaced. Pipes, devices and "-" (stdout) are written to directly. A name ending in .gz
 * is compressed. Errors are remembered: it is enough to check the status of commit.
 */
typedef struct file_output file_output;
halley_status file_output_open(file_output **out, const char *path, halley_error *err);
void file_output_write(file_output *out, const void *at, size_t n);
void file_output_str(file_output *out, str s);
void file_output_printf(file_output *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* At least `n` bytes of buffer to write to directly, followed by file_output_advance;
 * NULL after an error. n is at most 1 MiB. */
uint8_t *file_output_reserve(file_output *out, size_t n);
void file_output_advance(file_output *out, size_t n);
/* Both free `out`, whatever they return. Commit flushes, syncs and renames. */
halley_status file_output_commit(file_output *out, halley_error *err);
/* Commit a file that must persist even if the call fails: holds do not delay it. */
halley_status file_output_commit_now(file_output *out, halley_error *err);
void file_output_abort(file_output *out);
/* Write a whole file, and free the text. HALLEY_ENOMEM when the text is incomplete
 * because memory ran out. */
halley_status file_save(const char *path, strbuf *text, halley_error *err);

/*
 * Files that belong together: at commit all of them get their names, or none. Before,
 * each is written under a temporary name. The files of file_set_put are synced once for
 * all. After a failed commit no new file of the set is left. Existing files of the same
 * names are lost if they had been replaced by then.
 */
typedef struct file_set file_set;
halley_status file_set_open(file_set **out, halley_error *err);
/* Add a whole file to the set; safe from any thread. */
halley_status file_set_put(file_set *set, const char *path, const void *at, size_t n,
                           halley_error *err);
/* For code that saves to a path: *name is where to write the file `path` until commit. It
 * is a temporary name next to `path`, lent by the set, or `path` itself if that is no
 * regular file. may_miss: the file may remain unwritten. Safe from any thread. */
halley_status file_set_add(file_set *set, const char **name, const char *path,
                           bool may_miss, halley_error *err);
/* Both free `set`, whatever they return. Abort removes what was written; NULL is fine. */
halley_status file_set_commit(file_set *set, halley_error *err);
void file_set_abort(file_set *set);
/*
 * A call whose files appear only when everything else has succeeded. From file_hold_begin
 * on, files, sets and folders that this thread commits keep their temporary names. At the
 * end they get their names if `status` is HALLEY_OK, and are removed otherwise; `status`
 * is then returned. So a call that fails late leaves no file. file_held_name gives the
 * name under which a written file can be read before the end. In nested calls the
 * outermost one decides.
 */
halley_status file_hold_begin(halley_error *err);
halley_status file_hold_end(halley_status status, halley_error *err);
/* The current path of the file that this call wrote to `path`: its temporary name, lent
 * until the end of the hold, or `path` itself if it is not held. */
const char *file_held_name(const char *path);

/*
 * A folder being written, for many small files. They go into a temporary folder,
 * ".NAME.xxxxxxxx-…" next to it. At commit all are synced once, and the folder gets its
 * final name. Until then, and after an abort, there is no such folder. An existing folder
 * must be empty (else EINVAL) and stays. Its files are first in ".part.xxxxxxxx-…" inside
 * it and are moved out one by one at commit.
 */
typedef struct file_folder file_folder;
halley_status file_folder_open(file_folder **out, const char *path, halley_error *err);
/* Write a new, whole file of the folder; safe from any thread. */
halley_status file_folder_put(const file_folder *folder, const char *name, const void *at,
                              size_t n, halley_error *err);
/* Both free `folder`, whatever they return. */
halley_status file_folder_commit(file_folder *folder, halley_error *err);
void file_folder_abort(file_folder *folder);
bool file_folder_is_empty(const char *path);
/* Create a folder for files that are written one by one; it may exist already. If the
 * call that created it fails (file_hold_end), or a signal ends the program, it is
 * removed, unless it then contains something else. */
halley_status file_folder_make(const char *path, halley_error *err);

/* Write all bytes to a descriptor. Returns 0 or an errno. */
int file_write(int fd, const void *at, size_t n);

bool file_exists(const char *path);
bool file_is_folder(const char *path);
/* True if it is no pipe, device or folder, so that it can be read again. */
bool file_is_regular(const char *path);

#endif
