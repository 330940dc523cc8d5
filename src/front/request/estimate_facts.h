/*
 * request/estimate_facts.h - the result of `halley estimate`, and rows that other results
 * share. To add a quantity, read base/fact.h.
 */
#ifndef REQUEST_ESTIMATE_FACTS_H
#define REQUEST_ESTIMATE_FACTS_H

#include "base/fact.h"
#include "halley/error_bar.h"
#include "halley/numbers.h"
#include "halley/recipe.h"
#include "halley/search.h"

enum { ESTIMATE_MAX_CHANGES = 3 };

typedef struct estimate_stage {
    uint32_t stage;
    halley_stage_memory m;
} estimate_stage;

typedef struct request_interval {
    double low_s, high_s;
    fact_list unknown; /* halley_unknown */
} request_interval;

typedef struct estimate_result {
    const char *model, *cluster, *stack;
    uint64_t npus;
    halley_plan plan;
    const halley_import *import; /* NULL: no file of another program was read */
    halley_estimate e;
    double spilled_bytes; /* NaN: the plan does not spread classes over two memories */
    char verdict[256], loss[320];
    halley_numbers n;
    halley_error_bar bar;
    const request_interval *interval; /* NULL: nothing that matters is open */
    fact_list stages, changes;        /* estimate_stage; halley_change */
    halley_explanation *explain;      /* NULL: not asked for */
} estimate_result;

extern const fact_table request_estimate_facts;  /* of estimate_result */
extern const fact_table request_error_bar_facts; /* of halley_error_bar */

#endif
