/*
 * trace/core/set_files.h - which files are the ranks of a set, and which sets are in
 * files and folders.
 *
 * A file named PREFIX.12.et (or .et.gz, .json, .json.gz, .jsonl, .jsonl.gz) is rank 12 of
 * the set PREFIX. In searched folders, files without a rank number are sets of one rank.
 * This excludes .json files, because groups, conditions and reports also have that
 * ending.
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
    bool named;        /* named by the user, not found by a search */
} trace_file;
typedef ARRAY(trace_file) trace_files;
void trace_files_fini(trace_files *files);

/* Split "prefix.12.et" into its parts. False: it has another form. The rank has no sign
 * and no leading zero. */
bool trace_file_split(const char *path, trace_file *out);
/* The path without rank and ending, from which names of related files are made. */
str trace_file_stem(const char *path);

/* Find the ranks of the one set that files, a folder or a prefix name. They are sorted
 * and must be 0 … n-1, each once. Files that are not all numbered in this way are
 * exempt. */
halley_status trace_files_find(trace_files *files, const char *const *paths, size_t n,
                               halley_error *err);

/* One set among many. */
typedef struct trace_found_set {
    const char *name; /* a prefix, or a file without a rank number */
    size_t first, n;  /* in files */
} trace_found_set;

/* {0} is empty. Sets are in order of their names, each once, with their files by rank. */
typedef struct trace_found {
    trace_files all;
    arena memory;
    ARRAY(const char *) files; /* lent */
    ARRAY(trace_found_set) list;
    uint32_t n_unreadable; /* nested folders that could not be opened */
    halley_error why;      /* the error of the first of them */
} trace_found;
void trace_found_fini(trace_found *f);

/*
 * Find the sets that files, prefixes and folders name. Folders are read once each, to any
 * depth. Links to folders are followed only if they are named. Pipes and devices in
 * folders are skipped. A set that exists in two forms counts once, in the form that comes
 * first in the list above. A name that is neither a file nor a prefix is listed; loading
 * it reports the error. Fails if a named folder, or with `strict` one within it, cannot
 * be opened.
 */
halley_status trace_find(trace_found *f, const char *const *from, size_t n_from,
                         bool strict, halley_error *err);
/* Load one of them, on that many threads (0 = one per core). Sets that were found by a
 * search must have all ranks. Files that were named are taken as they are. */
halley_status trace_found_load(halley_trace_set **out, const trace_found *f, size_t i,
                               uint32_t n_threads, halley_error *err);

#endif
