/* request/explore_out.h - an exploration on the terminal, as JSON and as CSV. */
#ifndef REQUEST_EXPLORE_OUT_H
#define REQUEST_EXPLORE_OUT_H

#include "halley/explore.h"
#include "request/verb.h"

#include <stdio.h>

halley_status explore_write_text(const halley_study *s, const halley_exploration *e,
                                 uint32_t top, FILE *to, halley_error *err);
halley_status explore_write_json(const request_call *call, const halley_study *s,
                                 const halley_exploration *e, halley_error *err);
/* Write a page with the same, and the study itself. */
halley_status explore_write_page(const request_call *call, const char *path,
                                 const halley_study *s, const halley_exploration *e,
                                 halley_error *err);
/* Write the best designs, one per row, every metric in its base unit. */
halley_status explore_write_csv(const halley_study *s, const halley_exploration *e,
                                FILE *to, halley_error *err);
/* Refusals, most frequent first. */
halley_status explore_write_refusals(const halley_refusal *list, uint32_t n, FILE *to,
                                     halley_error *err);

#endif
