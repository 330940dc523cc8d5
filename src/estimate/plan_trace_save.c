/* All ranks of a plan as files, and the groups they name as ASTRA-sim reads them. */
#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "estimate/groups.h"
#include "halley/plan_trace.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Where the files go, and the counts of what was written. */
typedef struct saving {
    file_set *files;
    const char *prefix;
    map64 seen; /* a hash of every different trace so far */
    halley_gen_summary sum;
} saving;

/* One file of the set: PREFIX.ENDING. */
static halley_status put_file(const saving *to, const char *ending, str bytes,
                              halley_error *err)
{
    strbuf path = {0};
    strbuf_printf(&path, "%s.%s", to->prefix, ending);
    const halley_status status =
        path.failed ? error_nomem(err)
                    : file_set_put(to->files, path.at, bytes.at, bytes.n, err);
    strbuf_fini(&path);
    return status;
}

static void write_members(strbuf *to, const halley_plan *plan, uint32_t *members)
{
    assert(plan_group_count(plan) > 0);
    const uint32_t n = plan_group_count(plan);
    strbuf_printf(to, "{");
    for (uint32_t g = 1; g <= n; g++) {
        const uint32_t size = plan_group_members(members, plan, g);
        strbuf_printf(to, "%s\n  \"%u\": [", g > 1 ? "," : "", g);
        for (uint32_t i = 0; i < size; i++)
            strbuf_printf(to, "%s%u", i ? ", " : "", members[i]);
        strbuf_printf(to, "]");
    }
    strbuf_printf(to, "\n}\n");
}

static halley_status save_groups(const saving *to, const halley_plan *plan,
                                 halley_error *err)
{
    strbuf text = {0};
    uint32_t *members =
        mem_array((size_t)plan->tp * plan->cp * plan->dp, sizeof *members);
    if (members != NULL)
        write_members(&text, plan, members);
    const halley_status status =
        members == NULL || text.failed
            ? error_nomem(err)
            : put_file(to, "comm_group.json", strbuf_str(&text), err);
    free(members);
    strbuf_fini(&text);
    return status;
}

static halley_status save_rank(saving *to, uint32_t rank, const halley_trace *trace,
                               halley_error *err)
{
    assert(trace != NULL);
    uint8_t *bytes = NULL;
    size_t n = 0;
    uint32_t first = rank;
    bool fresh = false;
    char ending[16];
    TRY(halley_trace_encode_et(&bytes, &n, trace, err));
    snprintf(ending, sizeof ending, "%u.et", rank);
    halley_status status = put_file(to, ending, (str){(const char *)bytes, n}, err);
    if (status == HALLEY_OK &&
        !map64_put(&to->seen, hash_bytes(bytes, n, 0), &first, &fresh))
        status = error_nomem(err);
    free(bytes);
    to->sum.n_files++;
    to->sum.n_distinct += fresh;
    to->sum.n_nodes += halley_trace_count(trace);
    to->sum.n_bytes += n;
    return status;
}

halley_status halley_plan_trace_save(const char *prefix, const halley_model *model,
                                     const halley_plan *plan,
                                     const halley_cluster *cluster,
                                     const halley_stack *stack,
                                     halley_gen_summary *summary, halley_error *err)
{
    const uint32_t n = plan->tp * plan->cp * plan->dp * plan->pp;
    saving to = {.prefix = prefix,
                 .sum = {.size = sizeof to.sum, .n_groups = plan_group_count(plan)}};
    TRY(file_set_open(&to.files, err));
    halley_status status = HALLEY_OK;
    for (uint32_t rank = 0; rank < n && status == HALLEY_OK; rank++) {
        halley_trace *trace = NULL;
        status = halley_plan_trace(&trace, model, plan, cluster, stack, rank, err);
        if (status == HALLEY_OK)
            status = save_rank(&to, rank, trace, err);
        halley_trace_free(trace);
    }
    map64_fini(&to.seen);
    if (status == HALLEY_OK && to.sum.n_groups)
        status = save_groups(&to, plan, err);
    if (status == HALLEY_OK)
        status = file_set_commit(to.files, err);
    else
        file_set_abort(to.files);
    if (status == HALLEY_OK && summary)
        *summary = to.sum;
    return status;
}
