/* base/utf8.h - one character of UTF-8; what is safe to show. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed character at `at` (n > 0 bytes can be read), or 0: cut,
 * overlong, a surrogate, or beyond U+10FFFF. */
size_t utf8_length(const uint8_t *at, size_t n);
/* The code point of a well-formed character of `length` bytes. */
uint32_t utf8_decode(const uint8_t *at, size_t length);
/* As utf8_length for what a terminal shows as it is; 0 also for what would act on it:
 * control characters (C0, C1), line separators, and the controls of writing direction,
 * which make a text read as another. */
size_t utf8_visible_length(const uint8_t *at, size_t n);

#endif
