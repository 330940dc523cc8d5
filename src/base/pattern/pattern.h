/*
 * base/pattern/pattern.h - regular expressions that can be trusted with any input.
 *
 * The syntax is that of POSIX extended expressions over bytes: . [] [^] [[:alpha:]] ( ) |
 * * + ? {n,m} ^ $, and \w \W \s \S \d \D. Back references do not exist. The time of a
 * search is at most the length of the text times the size of the program, the memory is
 * bounded when the expression is compiled, and a search cannot fail: the C library's
 * regcomp gives none of these promises.
 */
#ifndef BASE_PATTERN_PATTERN_H
#define BASE_PATTERN_PATTERN_H

#include "base/error.h"
#include "base/str.h"

typedef struct pattern pattern;

/* The caller frees *out with pattern_free; NULL after a failure. */
halley_status pattern_compile(pattern **out, str expression, halley_error *err);
void pattern_free(pattern *p); /* NULL is allowed */
/* Whether the expression matches somewhere in the text. It remembers what it learns about
 * the expression, so a pattern is used by one thread at a time. */
bool pattern_search(pattern *p, str text);

#endif
