/*
 * astra/log.c - lines, dates and files of a log in ASTRA-sim's form. ASTRA-sim logs
 * with spdlog's default pattern, [date time.milliseconds] [logger] [level] text, in local
 * time. It writes to the console and to two files of at most 10 MiB; ten old ones of each
 * are kept.
 */
#include "astra/log.h"

#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_BYTES = 10 << 20, MOST_FILES = 10 };

static const char *const level_names[] = {"debug", "info", "warning", "error",
                                          "critical"};

static char *make_name(const astra_file *f, int index)
{
    strbuf name = {0};
    if (index == 0)
        strbuf_printf(&name, "%s.log", f->base);
    else
        strbuf_printf(&name, "%s.%d.log", f->base, index);
    if (!name.failed)
        return name.at;
    strbuf_fini(&name);
    return NULL;
}

static bool open_log_file(astra_file *f, const char *mode)
{
    char *const name = make_name(f, 0);
    struct stat found;
    f->to = name == NULL ? NULL : fopen(name, mode);
    f->size =
        f->to != NULL && fstat(fileno(f->to), &found) == 0 ? (uint64_t)found.st_size : 0;
    free(name);
    return f->to != NULL;
}

static halley_status init_log_file(astra_file *f, const char *folder, const char *name,
                                   halley_error *err)
{
    strbuf base = {0};
    strbuf_printf(&base, "%s/%s", folder, name);
    if (base.failed) {
        strbuf_fini(&base);
        return error_nomem(err);
    }
    f->base = base.at;
    if (open_log_file(f, "a"))
        return HALLEY_OK;
    return error_set(err, HALLEY_EIO, "%s.log: cannot be written: %s", f->base,
                     strerror(errno));
}

halley_status astra_log_open(astra_log *log, FILE *to, const char *folder,
                             halley_error *err)
{
    *log = (astra_log){.to = to, .second = -1};
    if (folder == NULL)
        return HALLEY_OK;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return error_set(err, HALLEY_EIO,
                         "--logging-folder %s: the folder cannot be made: %s", folder,
                         strerror(errno));
    halley_status status = init_log_file(&log->all, folder, "log", err);
    if (status == HALLEY_OK)
        status = init_log_file(&log->errors, folder, "err", err);
    if (status != HALLEY_OK)
        astra_log_close(log, NULL);
    return status;
}

/* The file is full: rename NAME.log to NAME.1.log, that to NAME.2.log, and so on. */
static bool rotate_files(astra_file *f)
{
    bool room = fclose(f->to) == 0;
    for (int i = MOST_FILES; i > 0; i--) {
        char *const from = make_name(f, i - 1), *const to = make_name(f, i);
        if (from != NULL && to != NULL && rename(from, to) != 0 && errno != ENOENT)
            room = false;
        free(from);
        free(to);
    }
    return open_log_file(f, "w") && room;
}

static void add_to_file(astra_log *log, astra_file *f)
{
    if (f->to == NULL)
        return;
    if (f->size > 0 && f->size + log->line.n > MOST_BYTES && !rotate_files(f))
        log->failed = true;
    if (f->to == NULL || fwrite(log->line.at, 1, log->line.n, f->to) != log->line.n)
        log->failed = true;
    f->size += log->line.n;
}

static void add_date(astra_log *log)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec != log->second) {
        struct tm parts = {0};
        localtime_r(&now.tv_sec, &parts);
        strftime(log->date, sizeof log->date, "%Y-%m-%d %H:%M:%S", &parts);
        log->second = now.tv_sec;
    }
    strbuf_printf(&log->line, "[%s.%03ld] ", log->date, now.tv_nsec / 1000000);
}

void astra_log_write(astra_log *log, astra_level level, const char *logger,
                     const char *format, ...)
{
    va_list args;
    assert(level <= ASTRA_CRITICAL && logger[0] != '\0');
    if (level < ASTRA_INFO && log->all.to == NULL)
        return;
    log->line.n = 0;
    add_date(log);
    strbuf_printf(&log->line, "[%s] [%s] ", logger, level_names[level]);
    va_start(args, format);
    strbuf_vprintf(&log->line, format, args);
    va_end(args);
    strbuf_add(&log->line, STR("\n"));
    if (log->line.failed) {
        log->failed = true;
        return;
    }
    if (level >= ASTRA_INFO)
        fwrite(log->line.at, 1, log->line.n, log->to);
    add_to_file(log, &log->all);
    if (level >= ASTRA_ERROR)
        add_to_file(log, &log->errors);
}

static void close_log_file(astra_log *log, astra_file *f)
{
    if (f->to != NULL && fclose(f->to) != 0)
        log->failed = true;
    free(f->base);
    *f = (astra_file){0};
}

halley_status astra_log_close(astra_log *log, halley_error *err)
{
    close_log_file(log, &log->all);
    close_log_file(log, &log->errors);
    strbuf_fini(&log->line);
    return log->failed ? error_set(err, HALLEY_EIO,
                                   "the files of --logging-folder could not be written")
                       : HALLEY_OK;
}
