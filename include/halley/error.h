/* halley/error.h - how every function of the library reports failure. */
#ifndef HALLEY_ERROR_H
#define HALLEY_ERROR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Results are structs that begin with `size`, which the library fills with the size it
 * knows: a member at or beyond `size` was not known to it. A struct that the library
 * allocates grows at its end. One that the caller provides ends with room for members to
 * come and never grows; arrays that are indexed by an enum are longer than the enum. So
 * neither moves a member of a program that was compiled before.
 */
enum { HALLEY_ROOM = 8 };

/* 0 is success. The code says what kind of thing went wrong; the sentence says what. */
typedef enum halley_status {
    HALLEY_OK = 0,
    HALLEY_ENOMEM,    /* memory ran out */
    HALLEY_EIO,       /* the operating system refused: open, read, write, rename */
    HALLEY_EFORMAT,   /* an input is not in its format: bytes, syntax, types */
    HALLEY_EINVAL,    /* an input is in its format but means nothing: values, options */
    HALLEY_ENOTFOUND, /* a named thing does not exist */
    HALLEY_ELIMIT,    /* a size beyond what the library handles */
    HALLEY_EDEADLOCK, /* a simulation that cannot finish */
    HALLEY_ECANCELED, /* the caller asked to stop */
} halley_status;

enum { HALLEY_ERROR_TEXT = 1024, HALLEY_ERROR_FILE = 512 };

/*
 * One failure: a sentence in the user's terms, and where. Storage is the caller's;
 * nothing in it is allocated. {0} is "no error". A place that is not known is left out:
 * line and column 0, has_offset and has_node 0, file "".
 */
typedef struct halley_error {
    halley_status code;
    char text[HALLEY_ERROR_TEXT]; /* one sentence, no final period, no newline */
    char file[HALLEY_ERROR_FILE]; /* path as the user gave it */
    uint32_t line, column;        /* from 1 */
    int has_offset, has_node;
    uint64_t offset; /* byte in the (uncompressed) file */
    uint64_t node;   /* node id in the trace */
} halley_error;

/* "file:line:column: sentence" or "file: byte N: node N: sentence", as much as is known.
 * Always terminated; returns `to`. */
const char *halley_error_format(const halley_error *err, char *to, size_t size);

/* The code in words: "out of memory". Lent, static. */
const char *halley_status_text(halley_status status);

#ifdef __cplusplus
}
#endif
#endif
