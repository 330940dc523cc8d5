/*
 * Errors are stored in the caller's struct, so reporting one can never fail. Text is
 * sanitized when it is copied. Text from an input file must not move the cursor of the
 * terminal that shows it, nor break the JSON that contains it.
 */
#include "base/error.h"

#include "base/array.h"
#include "base/utf8.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Copy n bytes to `to`, sanitized and terminated; text that does not fit is cut. */
static void copy_clean(char *to, size_t size, const char *from, size_t n)
{
    assert(size > 0);
    size_t used = 0;
    for (size_t i = 0; i < n;) {
        const size_t length = utf8_visible_length((const uint8_t *)from + i, n - i);
        const size_t needed = length > 0 ? length : 4;
        if (used + needed >= size)
            break;
        if (length > 0)
            memcpy(to + used, from + i, length);
        else
            snprintf(to + used, 5, "\\x%02x", (unsigned)(uint8_t)from[i]);
        used += needed;
        i += length > 0 ? length : 1;
    }
    to[used] = '\0';
}

/* The length of what vsnprintf left in a buffer of this size, without a character that is
 * cut at the end. */
static size_t whole_characters(const char *text, int formatted, size_t size)
{
    assert(size > 0);
    if (formatted < 0)
        return 0;
    if ((size_t)formatted < size)
        return (size_t)formatted;
    size_t n = size - 1;
    while (n > 0 && ((uint8_t)text[n - 1] & 0xc0) == 0x80)
        n--;
    return n > 0 && (uint8_t)text[n - 1] >= 0xc0 ? n - 1 : n;
}

halley_status error_set(halley_error *err, halley_status code, const char *format, ...)
{
    assert(code != HALLEY_OK);
    assert(format != NULL);
    if (err == NULL)
        return code;
    char text[HALLEY_ERROR_TEXT]; /* a separate buffer, because the arguments may be
                                     parts of *err */
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    *err = (halley_error){.code = code};
    copy_clean(err->text, sizeof err->text, text, whole_characters(text, n, sizeof text));
    return code;
}

halley_status error_nomem(halley_error *err)
{
    mem_failure_note();
    return error_set(err, HALLEY_ENOMEM, "memory ran out");
}

halley_status error_errno(halley_error *err, const char *doing, int errno_value)
{
    assert(doing != NULL);
    char reason[128];
    const char *text = errno_value == ENOENT
                           ? "its folder does not exist"
                           : strerror_r(errno_value, reason, sizeof reason);
    return error_set(err, errno_value == ENOMEM ? HALLEY_ENOMEM : HALLEY_EIO,
                     "cannot %s: %s", doing, text);
}

void error_at_file(halley_error *err, const char *path)
{
    if (err != NULL && path != NULL && err->file[0] == '\0')
        copy_clean(err->file, sizeof err->file, path, strlen(path));
}

void error_at_line(halley_error *err, uint32_t line, uint32_t column)
{
    assert(line > 0 || column == 0);
    if (err == NULL || err->line != 0)
        return;
    err->line = line;
    err->column = column;
}

void error_at_offset(halley_error *err, uint64_t offset)
{
    if (err == NULL || err->has_offset)
        return;
    err->has_offset = 1;
    err->offset = offset;
}

void error_at_node(halley_error *err, uint64_t node)
{
    if (err == NULL || err->has_node)
        return;
    err->has_node = 1;
    err->node = node;
}

void error_prefix(halley_error *err, const char *format, ...)
{
    assert(format != NULL);
    if (err == NULL)
        return;
    char text[2 * HALLEY_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    const int formatted = vsnprintf(text, HALLEY_ERROR_TEXT, format, args);
    va_end(args);
    const size_t n = whole_characters(text, formatted, HALLEY_ERROR_TEXT);
    const char *joint = n > 0 && text[n - 1] != ' ' ? ": " : "";
    const int rest = snprintf(text + n, sizeof text - n, "%s%s", joint, err->text);
    copy_clean(err->text, sizeof err->text, text, n + (size_t)(rest > 0 ? rest : 0));
}

/* Replace the first `from` in a text of the error by `to`. */
static void replace_text(char *text, size_t size, const char *from, const char *to)
{
    assert(size > 0 && from[0] != '\0');
    char rest[HALLEY_ERROR_TEXT];
    char *found = strstr(text, from);
    if (found == NULL)
        return;
    snprintf(rest, sizeof rest, "%s", found + strlen(from));
    const size_t room = size - (size_t)(found - text);
    const int n = snprintf(found, room, "%s%s", to, rest);
    found[whole_characters(found, n, room)] = '\0';
}

void error_rename_file(halley_error *err, const char *from, const char *to)
{
    char shown_from[HALLEY_ERROR_FILE], shown_to[HALLEY_ERROR_FILE];
    if (err == NULL || from[0] == '\0')
        return;
    copy_clean(shown_from, sizeof shown_from, from, strlen(from));
    copy_clean(shown_to, sizeof shown_to, to, strlen(to));
    replace_text(err->text, sizeof err->text, shown_from, shown_to);
    replace_text(err->file, sizeof err->file, shown_from, shown_to);
}

/* Append to `to` at *used; text that does not fit is cut and *used stays at the end. */
__attribute__((format(printf, 4, 5))) static void
append(char *to, size_t size, size_t *used, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(to + *used, size - *used, format, args);
    va_end(args);
    *used += whole_characters(to + *used, n, size - *used);
    to[*used] = '\0';
}

const char *halley_error_format(const halley_error *err, char *to, size_t size)
{
    assert(size > 0);
    size_t used = 0;
    if (size == 0)
        return to;
    to[0] = '\0';
    if (err->file[0] != '\0')
        append(to, size, &used, "%s:", err->file);
    if (err->line != 0)
        append(to, size, &used, used > 0 ? "%u:" : "line %u:", err->line);
    if (err->line != 0 && err->column != 0)
        append(to, size, &used, "%u:", err->column);
    if (err->has_offset)
        append(to, size, &used, "%sbyte %llu:", used > 0 ? " " : "",
               (unsigned long long)err->offset);
    if (err->has_node)
        append(to, size, &used, "%snode %llu:", used > 0 ? " " : "",
               (unsigned long long)err->node);
    append(to, size, &used, "%s%s", used > 0 ? " " : "",
           err->text[0] != '\0' ? err->text : halley_status_text(err->code));
    return to;
}

const char *halley_status_text(halley_status status)
{
    switch (status) {
    case HALLEY_OK:
        return "no error";
    case HALLEY_ENOMEM:
        return "out of memory";
    case HALLEY_EIO:
        return "input or output failed";
    case HALLEY_EFORMAT:
        return "wrong format";
    case HALLEY_EINVAL:
        return "wrong value";
    case HALLEY_ENOTFOUND:
        return "not found";
    case HALLEY_ELIMIT:
        return "too large";
    case HALLEY_EDEADLOCK:
        return "deadlock";
    case HALLEY_ECANCELED:
        return "canceled";
    }
    return "unknown status";
}
