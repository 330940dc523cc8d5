/*
 * astra/log.h - a log as ASTRA-sim writes it: every line has a date, the name of the
 * logger and a level. Lines from INFO on go to a stream. With a folder, lines from DEBUG
 * on also go to log.log there, and errors to err.log.
 */
#ifndef ASTRA_LOG_H
#define ASTRA_LOG_H

#include "base/str.h"
#include "halley/error.h"

#include <stdint.h>
#include <stdio.h>
#include <time.h>

typedef enum astra_level {
    ASTRA_DEBUG,
    ASTRA_INFO,
    ASTRA_WARNING,
    ASTRA_ERROR,
    ASTRA_CRITICAL,
} astra_level;

/* A file that is appended to. Beyond 10 MiB it becomes NAME.1.log, and so on to 10. */
typedef struct astra_file {
    char *base; /* the path without ".log"; owned */
    FILE *to;   /* NULL = there is none */
    uint64_t size;
} astra_file;

typedef struct astra_log {
    FILE *to; /* lent */
    astra_file all, errors;
    strbuf line;
    time_t second; /* of `date` */
    char date[32];
    bool failed; /* a file could not be written */
} astra_log;

/* folder: NULL = no files; else it is created if missing (its parent must exist). */
halley_status astra_log_open(astra_log *log, FILE *to, const char *folder,
                             halley_error *err);
/* True if lines below INFO are written anywhere. */
static inline bool astra_log_has_files(const astra_log *log)
{
    return log->all.to != NULL;
}
void astra_log_write(astra_log *log, astra_level level, const char *logger,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Frees the log, whatever it returns. */
halley_status astra_log_close(astra_log *log, halley_error *err);

#endif
