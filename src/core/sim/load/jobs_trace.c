/*
 * sim/load/jobs_trace.c - a rank's trace as the whole cluster sees it. Peers and roots
 * become NPUs. Groups get the numbers that they have among the groups of all jobs.
 * Collectives of all ranks become collectives of the job's group.
 */
#include "base/str.h"
#include "sim/load/jobs.h"
#include "trace/core/edit.h"
#include "trace/core/roles.h"

#include <inttypes.h>
#include <stdio.h>

/* The number of a node's group among those of all jobs; 0: the job has no such group. */
static int64_t find_job_group(const sim_job_map *m, const halley_attr *attr)
{
    const str name = {attr->bytes.at, attr->bytes.n};
    int64_t id;
    if (name.n == 0 || str_eq(name, STR("0")))
        return m->world;
    if (attr->kind != HALLEY_ATTR_STRING || !str_to_i64(name, &id))
        return 0;
    for (uint32_t i = 0; i < m->n_groups; i++)
        if (m->groups[i].id == id)
            return m->first_group + i;
    return 0;
}

static halley_status refuse_node(const sim_job_map *m, const halley_trace *t,
                                 uint32_t node, const char *what, halley_error *err)
{
    const halley_status status =
        error_set(err, HALLEY_EINVAL, "job %s: %s", m->name, what);
    error_at_file(err, halley_trace_path(t));
    error_at_node(err, halley_node_id(t, node));
    return status;
}

static halley_status put_group(halley_builder *b, int64_t id)
{
    char text[32];
    const int n = snprintf(text, sizeof text, "%" PRId64, id);
    assert(id > 0 && n > 0 && (size_t)n < sizeof text);
    return halley_builder_attr_text(b, HALLEY_ATTR_NAME_PG_NAME,
                                    (halley_bytes){text, (size_t)n});
}

/* Copy the attributes of a collective; those with its ranks and group change. */
static halley_status copy_coll_attrs(halley_builder *b, const halley_trace *t,
                                     uint32_t node, const sim_job_map *m,
                                     halley_error *err)
{
    const uint32_t n = halley_node_attr_count(t, node);
    int64_t group = m->world;
    assert(m->world > 0 && m->first_group > m->world);
    for (uint32_t i = 0; i < n; i++) {
        halley_attr attr = halley_node_attr(t, node, i);
        const str name = {attr.name.at, attr.name.n};
        uint64_t rank;
        if (str_eq(name, str_from(HALLEY_ATTR_NAME_PG_NAME))) {
            group = find_job_group(m, &attr);
            continue;
        }
        if (str_eq(name, STR("root")) && halley_attr_to_u64(&attr, &rank)) {
            if (rank >= m->n_ranks)
                return refuse_node(m, t, node, "the root is not one of its ranks", err);
            edit_set_u64(&attr, m->npus[rank]);
        }
        TRY(halley_builder_attr(b, &attr));
    }
    if (group == 0)
        return refuse_node(m, t, node, "pg_name is not in its communicator group file",
                           err);
    return put_group(b, group);
}

static halley_status copy_coll(halley_builder *b, const halley_trace *t, uint32_t node,
                               const sim_job_map *m, halley_error *err)
{
    const halley_io in = halley_node_inputs(t, node), out = halley_node_outputs(t, node);
    TRY(halley_builder_time(b, halley_node_start_us(t, node),
                            halley_node_duration_us(t, node)));
    TRY(halley_builder_inputs(b, &in));
    TRY(halley_builder_outputs(b, &out));
    TRY(copy_coll_attrs(b, t, node, m, err));
    return halley_builder_unknown(b, halley_node_unknown(t, node));
}

static halley_status copy_job_node(halley_builder *b, const halley_trace *t,
                                   uint32_t node, const sim_job_map *m, halley_error *err)
{
    const edit_ranks ranks = {m->npus, m->n_ranks, true};
    TRY(halley_builder_node(b, halley_node_id(t, node), halley_node_type_of(t, node),
                            halley_node_name(t, node)));
    const uint32_t n_ctrl = halley_node_ctrl_count(t, node);
    for (uint32_t i = 0; i < n_ctrl; i++)
        TRY(halley_builder_ctrl(b, halley_node_ctrl(t, node, i).id));
    const uint32_t n_data = halley_node_data_count(t, node);
    for (uint32_t i = 0; i < n_data; i++)
        TRY(halley_builder_data(b, halley_node_data(t, node, i).id));
    if (halley_node_type_of(t, node) == HALLEY_NODE_COLL)
        return copy_coll(b, t, node, m, err);
    const halley_status status = edit_copy_rest(b, t, node, &ranks, err);
    if (status == HALLEY_EINVAL) {
        error_at_file(err, halley_trace_path(t));
        error_at_node(err, halley_node_id(t, node));
    }
    return status;
}

halley_status sim_job_trace(halley_trace **out, const halley_trace *trace,
                            const sim_job_map *map, halley_error *err)
{
    halley_builder *b = NULL;
    TRY(edit_start(&b, trace, err));
    halley_status status = HALLEY_OK;
    const uint32_t n = halley_trace_count(trace);
    for (uint32_t node = 0; status == HALLEY_OK && node < n; node++)
        status = copy_job_node(b, trace, node, map, err);
    return edit_finish(out, b, status, err);
}

halley_status sim_idle_trace(halley_trace **out, halley_error *err)
{
    halley_builder *b = NULL;
    TRY(halley_builder_new(&b, err));
    const halley_status status = edit_joint(b, 0);
    return edit_finish(out, b, status, err);
}
