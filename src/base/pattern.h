/*
 * base/pattern.h - regular expressions for names: PCRE2 over bytes, with limits.
 *
 * The syntax is that of PCRE2 (pcre2syntax(3)); groups do not capture, so there are no
 * back references. A dot matches any byte, ^ and $ only the start and the end of the
 * text. Compiling bounds the size of an expression, and searching bounds its work: a
 * search that would cost more does not match and is counted.
 */
#ifndef BASE_PATTERN_H
#define BASE_PATTERN_H

#include "base/error.h"
#include "base/str.h"

typedef struct pattern pattern;

/* The caller frees *out with pattern_free; NULL after a failure. */
halley_status pattern_compile(pattern **out, str expression, halley_error *err);
void pattern_free(pattern *p); /* NULL is allowed */
/* True if the expression matches somewhere in the text. Only one thread at a time may use
 * a pattern. */
bool pattern_search(pattern *p, str text);
/* How many searches were ended by a limit. */
uint64_t pattern_count_ended(const pattern *p);

#endif
