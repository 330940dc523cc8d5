/* score/device_text.h - numbers in the text of a preset file. */
#ifndef SCORE_DEVICE_TEXT_H
#define SCORE_DEVICE_TEXT_H

#include "base/str.h"

/*
 * The number of `key` in the map `block` ("" = at the left margin), as it stands in
 * `text`; with `n`, the value of {size: n, ...} in a list of such. Length 0: not there.
 */
str score_number_find(str text, const char *block, const char *key, uint32_t n);
/* `text` with another number there, rounded to four digits. */
bool score_number_set(strbuf *out, str text, str number, double value);

#endif
