/* halley/error.h - how every function of the library reports failure. */
#ifndef HALLEY_ERROR_H
#define HALLEY_ERROR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Results are structs that begin with `size`. The library sets it to the size of the
 * struct that it was compiled with. A member at or beyond `size` is unknown to that
 * library.
 *
 * Structs that the library allocates grow at their end. Structs that the caller provides
 * never grow; they end with `room` for new members. Arrays indexed by an enum are longer
 * than the enum. So members keep their offsets for programs that were compiled earlier.
 */
enum { HALLEY_ROOM = 8 };

/*
 * 0 is success. The code gives the category of the error; the sentence gives the details.
 */
typedef enum halley_status {
    HALLEY_OK = 0,
    HALLEY_ENOMEM,    /* memory ran out */
    HALLEY_EIO,       /* the operating system refused: open, read, write, rename */
    HALLEY_EFORMAT,   /* an input is not in its format: bytes, syntax, types */
    HALLEY_EINVAL,    /* an input is well-formed but makes no sense: values, options */
    HALLEY_ENOTFOUND, /* a named thing does not exist */
    HALLEY_ELIMIT,    /* a size beyond what the library handles */
    HALLEY_EDEADLOCK, /* a simulation that cannot finish */
    HALLEY_ECANCELED, /* the caller asked to stop */
} halley_status;

enum { HALLEY_ERROR_TEXT = 1024, HALLEY_ERROR_FILE = 512 };

/* One error: a sentence in the user's terms and its place. The caller provides the
 * storage; nothing in it is allocated. {0} means "no error". A place that is not known is
 * left out: line and column are 0, has_offset and has_node are 0, and file is "". */
typedef struct halley_error {
    halley_status code;
    char text[HALLEY_ERROR_TEXT]; /* one sentence, no final period, no newline */
    char file[HALLEY_ERROR_FILE]; /* path as the user gave it */
    uint32_t line, column;        /* from 1 */
    int has_offset, has_node;
    uint64_t offset; /* byte in the (uncompressed) file */
    uint64_t node;   /* node id in the trace */
} halley_error;

/* "file:line:column: sentence" or "file: byte N: node N: sentence", with the parts that
 * are known. The text is always terminated. Returns `to`. */
const char *halley_error_format(const halley_error *err, char *to, size_t size);

/* The code in words: "out of memory". Lent, static. */
const char *halley_status_text(halley_status status);

#ifdef __cplusplus
}
#endif
#endif
