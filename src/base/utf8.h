/* base/utf8.h - decode one UTF-8 character, and find out whether it is safe to show. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Length in bytes of the well-formed character at `at` (n > 0 bytes can be read). 0 if it
 * is truncated, overlong, a surrogate, or beyond U+10FFFF. */
size_t utf8_length(const uint8_t *at, size_t n);
/* The code point of a well-formed character of `length` bytes. */
uint32_t utf8_decode(const uint8_t *at, size_t length);
/* Like utf8_length, but also 0 for characters that control a terminal. These are control
 * characters (C0, C1), line separators, and bidirectional controls, which can make a text
 * look like another one. */
size_t utf8_visible_length(const uint8_t *at, size_t n);

#endif
