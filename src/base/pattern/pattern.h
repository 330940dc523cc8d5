/*
 * base/pattern/pattern.h - regular expressions that are safe with any input.
 *
 * The syntax is that of POSIX extended expressions over bytes: . [] [^] [[:alpha:]] ( ) |
 * * + ? {n,m} ^ $, and \w \W \s \S \d \D. There are no back references. The time of a
 * search is at most the length of the text times the size of the program. Memory is
 * bounded when the expression is compiled, and a search cannot fail. The C library's
 * regcomp guarantees none of this.
 */
#ifndef BASE_PATTERN_PATTERN_H
#define BASE_PATTERN_PATTERN_H

#include "base/error.h"
#include "base/str.h"

typedef struct pattern pattern;

/* The caller frees *out with pattern_free; NULL after a failure. */
halley_status pattern_compile(pattern **out, str expression, halley_error *err);
void pattern_free(pattern *p); /* NULL is allowed */
/* True if the expression matches somewhere in the text. The pattern caches states while
 * searching, so only one thread at a time may use it. */
bool pattern_search(pattern *p, str text);

#endif
