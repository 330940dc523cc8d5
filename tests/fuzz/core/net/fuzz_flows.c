/* Any text as a flow file; small cases are run, locally and in full, and must agree. */
#include "net/flow/cases.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

enum { MOST_FLOWS = 200 };

static void run_case(const net_flow_case *c)
{
    net_case_result local[MOST_FLOWS], full[MOST_FLOWS];
    halley_error err;
    if (c->n_flows > MOST_FLOWS)
        return;
    if (net_flow_case_run(local, c, &(net_flow_options){0}, &err) != HALLEY_OK ||
        net_flow_case_run(full, c, &(net_flow_options){.full = true}, &err) != HALLEY_OK)
        abort();
    for (uint32_t i = 0; i < c->n_flows; i++)
        if (local[i].drain_tick != full[i].drain_tick)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    net_flow_cases *cases;
    const str text = {(const char *)at, n};
    if (net_flow_cases_parse(&cases, text, NULL) != HALLEY_OK)
        return 0;
    for (uint32_t i = 0; i < cases->n && i < 4; i++)
        run_case(&cases->at[i]);
    net_flow_cases_free(cases);
    return 0;
}
