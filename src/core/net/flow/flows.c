/*
 * net/flow/flows.c - runs flow files through the public interface.
 */
#include "base/array.h"
#include "halley/topology.h"
#include "net/flow/cases.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct halley_flows {
    net_flow_cases *cases;
    net_case_result *results; /* room for the largest case */
    double *finish_s, *rate_Bps;
};

halley_status halley_flows_load(halley_flows **out, const char *path, halley_error *err)
{
    halley_flows *f = mem_array_zero(1, sizeof *f);
    if (f == NULL)
        return error_nomem(err);
    halley_status status = net_flow_cases_load(&f->cases, path, err);
    uint32_t most = 0;
    for (uint32_t i = 0; status == HALLEY_OK && i < f->cases->n; i++)
        most = f->cases->at[i].n_flows > most ? f->cases->at[i].n_flows : most;
    if (status == HALLEY_OK) {
        f->results = mem_array(most, sizeof *f->results);
        f->finish_s = mem_array(most, sizeof *f->finish_s);
        f->rate_Bps = mem_array(most, sizeof *f->rate_Bps);
        if (f->results == NULL || f->finish_s == NULL || f->rate_Bps == NULL)
            status = error_nomem(err);
    }
    if (status == HALLEY_OK)
        *out = f;
    else
        halley_flows_free(f);
    return status;
}

void halley_flows_free(halley_flows *f)
{
    if (f == NULL)
        return;
    net_flow_cases_free(f->cases);
    free(f->results);
    free(f->finish_s);
    free(f->rate_Bps);
    free(f);
}

uint32_t halley_flows_count(const halley_flows *f)
{
    return f->cases->n;
}

/* Tolerances: 1e-9 for rates; for times 1e-9 of the flow's lifetime and a tick per event.
 */
static bool differs(const net_case_flow *flow, const net_case_result *r)
{
    const double tolerance = 1e-9 * fabs(flow->want_drain_s - flow->start_s) +
                             ((double)flow->want_events + 1) * 1e-12;
    if (flow->want_rate_Bps >= 0 &&
        !(fabs(r->rate_Bps - flow->want_rate_Bps) <= 1e-9 * flow->want_rate_Bps))
        return true;
    return flow->want_finish_s >= 0 &&
           !(fabs(r->finish_s - flow->want_finish_s) <= tolerance);
}

halley_status halley_flows_run(halley_flows_result *out, halley_flows *f,
                               uint32_t case_index, halley_error *err)
{
    assert(case_index < f->cases->n);
    const net_flow_case *c = &f->cases->at[case_index];
    const halley_status status =
        net_flow_case_run(f->results, c, &(net_flow_options){0}, err);
    if (status != HALLEY_OK) {
        error_prefix(err, "case %s", c->id);
        return status;
    }
    *out = (halley_flows_result){.id = c->id,
                                 .n_flows = c->n_flows,
                                 .finish_s = f->finish_s,
                                 .rate_Bps = f->rate_Bps};
    for (uint32_t i = 0; i < c->n_flows; i++) {
        f->finish_s[i] = f->results[i].finish_s;
        f->rate_Bps[i] = f->results[i].rate_Bps;
        if (c->flows[i].want_finish_s >= 0) {
            out->n_stated++;
            out->n_differ += differs(&c->flows[i], &f->results[i]);
        }
    }
    return HALLEY_OK;
}
