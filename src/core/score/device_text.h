/* score/device_text.h - numbers in the text of a preset file. */
#ifndef SCORE_DEVICE_TEXT_H
#define SCORE_DEVICE_TEXT_H

#include "base/str.h"

/*
 * The number of `key` in the map `block` ("" = at the left margin), as written in `text`.
 * If `n` is set: the value of {size: n, ...} in a list of such maps. Length 0: not found.
 */
str score_number_find(str text, const char *block, const char *key, uint32_t n);
/* Copy `text` with this number replaced by `value`, rounded to four digits. */
bool score_number_set(strbuf *out, str text, str number, double value);

#endif
