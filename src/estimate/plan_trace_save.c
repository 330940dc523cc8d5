/* All ranks of a plan as files, and the groups they name as ASTRA-sim reads them. */
#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "estimate/groups.h"
#include "halley/plan_trace.h"

#include <stdlib.h>

static void write_members(file_output *to, const halley_plan *plan, uint32_t *members)
{
    const uint32_t n = plan_group_count(plan);
    file_output_printf(to, "{");
    for (uint32_t g = 1; g <= n; g++) {
        const uint32_t size = plan_group_members(members, plan, g);
        file_output_printf(to, "%s\n  \"%u\": [", g > 1 ? "," : "", g);
        for (uint32_t i = 0; i < size; i++)
            file_output_printf(to, "%s%u", i ? ", " : "", members[i]);
        file_output_printf(to, "]");
    }
    file_output_printf(to, "\n}\n");
}

static halley_status save_groups(const char *prefix, const halley_plan *plan,
                                 halley_error *err)
{
    strbuf path = {0};
    file_output *to = NULL;
    uint32_t *members =
        mem_array((size_t)plan->tp * plan->cp * plan->dp, sizeof *members);
    strbuf_printf(&path, "%s.comm_group.json", prefix);
    halley_status status = members && !path.failed ? HALLEY_OK : error_nomem(err);
    if (status == HALLEY_OK)
        status = file_output_open(&to, path.at, err);
    if (status == HALLEY_OK) {
        write_members(to, plan, members);
        status = file_output_commit(to, err);
    }
    free(members);
    strbuf_fini(&path);
    return status;
}

static halley_status save_bytes(const char *prefix, uint32_t rank, const uint8_t *bytes,
                                size_t n, halley_error *err)
{
    strbuf path = {0};
    file_output *to = NULL;
    strbuf_printf(&path, "%s.%u.et", prefix, rank);
    halley_status status =
        path.failed ? error_nomem(err) : file_output_open(&to, path.at, err);
    if (status == HALLEY_OK) {
        file_output_write(to, bytes, n);
        status = file_output_commit(to, err);
    }
    strbuf_fini(&path);
    return status;
}

/* One rank; `seen` has a hash of every different trace so far. */
static halley_status save_rank(const char *prefix, uint32_t rank,
                               const halley_trace *trace, map64 *seen,
                               halley_gen_summary *sum, halley_error *err)
{
    uint8_t *bytes = NULL;
    size_t n = 0;
    uint32_t first = rank;
    bool fresh = false;
    TRY(halley_trace_encode_et(&bytes, &n, trace, err));
    halley_status status = save_bytes(prefix, rank, bytes, n, err);
    if (status == HALLEY_OK && !map64_put(seen, hash_bytes(bytes, n, 0), &first, &fresh))
        status = error_nomem(err);
    free(bytes);
    sum->n_files++;
    sum->n_distinct += fresh;
    sum->n_nodes += halley_trace_count(trace);
    sum->n_bytes += n;
    return status;
}

halley_status halley_plan_trace_save(const char *prefix, const halley_model *model,
                                     const halley_plan *plan,
                                     const halley_cluster *cluster,
                                     const halley_stack *stack,
                                     halley_gen_summary *summary, halley_error *err)
{
    const uint32_t n = plan->tp * plan->cp * plan->dp * plan->pp;
    halley_gen_summary sum = {.n_groups = plan_group_count(plan)};
    halley_status status = HALLEY_OK;
    map64 seen = {0};
    for (uint32_t rank = 0; rank < n && status == HALLEY_OK; rank++) {
        halley_trace *trace = NULL;
        status = halley_plan_trace(&trace, model, plan, cluster, stack, rank, err);
        if (status == HALLEY_OK)
            status = save_rank(prefix, rank, trace, &seen, &sum, err);
        halley_trace_free(trace);
    }
    map64_fini(&seen);
    if (status == HALLEY_OK && sum.n_groups)
        status = save_groups(prefix, plan, err);
    if (status == HALLEY_OK && summary)
        *summary = sum;
    return status;
}
