/*
 * trace/core/set_files.h - which files are the ranks of one set, and which sets are in
 * files and folders.
 *
 * A file called PREFIX.12.et (or .et.gz, .json, .json.gz, .jsonl, .jsonl.gz) is rank 12
 * of the set PREFIX. In folders that are searched, files without a rank's number are sets
 * of one rank, save .json: groups, conditions and reports are called that, too.
 */
#ifndef TRACE_CORE_SET_FILES_H
#define TRACE_CORE_SET_FILES_H

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/str.h"
#include "halley/trace.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct trace_file {
    char *path; /* owned */
    uint64_t rank;
    uint32_t ending;
    uint32_t n_prefix; /* bytes of the path before ".RANK.et"; all without a number */
    bool named;        /* by the user, not found */
} trace_file;
typedef ARRAY(trace_file) trace_files;
void trace_files_fini(trace_files *files);

/* "prefix.12.et": its parts, or false. The rank has no sign and no leading zero. */
bool trace_file_split(const char *path, trace_file *out);
/* The path without its rank and ending: what is called after it is next to it. */
str trace_file_stem(const char *path);

/* The ranks of the one set that files, a folder or a prefix name, by rank: 0 … n-1, each
 * once, save for files that are not all numbered so. */
halley_status trace_files_find(trace_files *files, const char *const *paths, size_t n,
                               halley_error *err);

/* One set among many. */
typedef struct trace_found_set {
    const char *name; /* a prefix, or a file without a rank's number */
    size_t first, n;  /* in files */
} trace_found_set;

/* {0} is empty. Sets in order of their names, each once, their files by rank. */
typedef struct trace_found {
    trace_files all;
    arena memory;
    ARRAY(const char *) files; /* lent */
    ARRAY(trace_found_set) list;
    uint32_t n_unreadable; /* folders within folders that could not be opened */
    halley_error why;      /* of the first of them */
} trace_found;
void trace_found_fini(trace_found *f);

/*
 * The sets that files, prefixes and folders name. Folders are read once each, to any
 * depth; links to folders are followed only where they are named, pipes and devices in
 * folders left alone. A set that is there in
 * two forms counts once, in that which comes first above. A name that is nothing stands
 * in the list: to load it says so. EIO and the like: a folder that was named cannot be
 * opened or, with `strict`, one within it.
 */
halley_status trace_find(trace_found *f, const char *const *from, size_t n_from,
                         bool strict, halley_error *err);
/* One of them, on that many threads (0 = one per core). What was searched for must have
 * all its ranks; files that were named are taken as they are. */
halley_status trace_found_load(halley_trace_set **out, const trace_found *f, size_t i,
                               uint32_t n_threads, halley_error *err);

#endif
