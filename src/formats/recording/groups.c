/* Write the process groups that traces declare as a file for ASTRA-sim. */
#include "trace/core/groups.h"

#include "base/error.h"
#include "halley/ingest.h"

halley_status halley_groups_save(const halley_trace_set *set, const char *path,
                                 uint32_t *n_groups, halley_error *err)
{
    trace_groups groups = {0};
    halley_status status = trace_groups_collect(&groups, set, err);
    const size_t n = groups.list.n;
    if (status == HALLEY_OK && n > 0)
        status = trace_groups_save(&groups, path, false, err);
    trace_groups_fini(&groups);
    if (status == HALLEY_OK && n_groups)
        *n_groups = (uint32_t)n;
    return status;
}
