/* base/utf8.h - one character of UTF-8; shared by error.c, str.c and strbuf.c. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed character at `at` (n > 0 bytes can be read), or 0: cut,
 * overlong, a surrogate, or beyond U+10FFFF. */
size_t utf8_length(const uint8_t *at, size_t n);

#endif
