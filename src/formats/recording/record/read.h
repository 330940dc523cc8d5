/*
 * recording/record/read.h - readers of profiler recordings, and file type detection.
 */
#ifndef RECORDING_RECORD_READ_H
#define RECORDING_RECORD_READ_H

#include "base/file/file_stream.h"
#include "recording/record/record.h"

/* The ranks that one file holds; {0} is empty. */
typedef struct rec_list {
    ARRAY(record) ranks;
} rec_list;
void rec_list_fini(rec_list *list);
/* Append a new record to the list. NULL: no memory. */
record *rec_list_add(rec_list *list, rec_format format);

typedef struct rec_read_opts {
    bool partial; /* of a truncated file, read the complete events */
    uint64_t pid; /* nsys: only this process; 0 = all, each as a rank */
} rec_read_opts;

/* The type of a file, from its content. */
typedef enum rec_file_kind {
    REC_FILE_UNKNOWN,
    REC_FILE_KINETO,
    REC_FILE_EXECUTION_TRACE, /* PyTorch's, alone or linked by Chakra */
    REC_FILE_NSYS,
    REC_FILE_XPLANE,
    REC_FILE_ROCPROF,
    REC_FILE_ROCPROF_CSV,
    REC_FILE_TRACE, /* Chakra: .et or our JSON */
    REC_FILE_OTHER  /* another known format: see rec_describe_file */
} rec_file_kind;
rec_file_kind rec_recognise_file(const char *path);

/* Read one file of any type into `list`. Errors name the file. */
halley_status rec_read_file(rec_list *list, const char *path, const rec_read_opts *opts,
                            halley_error *err);

/* The readers. They add records to the list and leave rec_finish to the caller. */
halley_status rec_read_kineto(rec_list *list, file_stream *file,
                              const rec_read_opts *opts, halley_error *err);
halley_status rec_read_rocprof(rec_list *list, file_stream *file,
                               const rec_read_opts *opts, halley_error *err);
halley_status rec_read_xplane(rec_list *list, const uint8_t *at, size_t n,
                              halley_error *err);
halley_status rec_read_nsys(rec_list *list, const char *path, const rec_read_opts *opts,
                            halley_error *err);
/* The same for a database in memory, for fuzzers. */
halley_status rec_read_nsys_bytes(rec_list *list, const uint8_t *at, size_t n,
                                  halley_error *err);
/* Read an open rocpd database of rocprofv3. rec_read_nsys calls it for such files. */
struct sqlite3;
halley_status rec_read_rocpd(rec_list *list, struct sqlite3 *db, halley_error *err);
/* Read the text of one CSV file into a record. `has_ranges`: functions are ranges. */
halley_status rec_read_csv(record *rec, str text, bool has_ranges, halley_error *err);
/* Read one of the CSV files of a rocprofv3 run, and all others with the same prefix. */
halley_status rec_read_rocprof_csv(rec_list *list, const char *path, halley_error *err);

#endif
