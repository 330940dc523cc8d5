/* request/plan_result.h - the result of `halley plan`, as rows describe it. */
#ifndef REQUEST_PLAN_RESULT_H
#define REQUEST_PLAN_RESULT_H

#include "base/fact.h"
#include "halley/error_bar.h"
#include "halley/numbers.h"
#include "halley/search.h"
#include "request/launch_file.h"

typedef struct plan_row {
    uint32_t rank;
    halley_plan plan;
    halley_estimate e;
    halley_numbers n;
    bool tie;
    double sure;     /* probability that the best is faster */
    double full;     /* memory of the device over its capacity */
    char reason[96]; /* why it loses to the one above; "" = it is the first */
} plan_row;

typedef struct plan_result {
    const char *model, *cluster, *stack;
    uint64_t npus;
    halley_numbers n;     /* of the best plan */
    halley_error_bar bar; /* the same */
    double headroom;
    uint64_t designs, feasible;
    fact_list plans;       /* of plan_row */
    const design_own *own; /* NULL: no launch file has a plan of its own */
} plan_result;

extern const fact_table request_plan_row_facts; /* of plan_row */
extern const fact_table request_plan_facts;     /* of plan_result */

#endif
