/*
 * Put traces one after the other. A joint node between two parts takes as many
 * dependencies as the parts have end nodes plus start nodes. Without it, every start node
 * would depend on every end node.
 */
#include "base/array.h"
#include "base/error.h"
#include "trace/core/edit.h"
#include "trace/core/levels.h"

#include <inttypes.h>

/* Where the next part starts. */
typedef struct seam {
    uint64_t shift_id; /* added to the ids of the part */
    uint64_t joint_id;
    bool has_joint;
    uint64_t end_us; /* latest end of earlier parts; 0 = none has a start */
} seam;

typedef struct extent {
    uint64_t max_id;
    uint64_t first_us, end_us; /* over nodes with a start; 0 = none has one */
} extent;

static extent extent_of(const halley_trace *part)
{
    extent e = {0};
    const uint32_t n = halley_trace_count(part);
    for (uint32_t node = 0; node < n; node++) {
        const uint64_t id = halley_node_id(part, node);
        const uint64_t start_us = halley_node_start_us(part, node);
        uint64_t end_us = 0;
        if (id > e.max_id)
            e.max_id = id;
        if (start_us == 0)
            continue;
        if (__builtin_add_overflow(start_us, halley_node_duration_us(part, node),
                                   &end_us))
            end_us = UINT64_MAX;
        if (e.first_us == 0 || start_us < e.first_us)
            e.first_us = start_us;
        if (end_us > e.end_us)
            e.end_us = end_us;
    }
    return e;
}

static bool waits_for_nothing(const halley_trace *part, uint32_t node)
{
    const uint32_t n = trace_deps_count(part, node);
    for (uint32_t i = 0; i < n; i++)
        if (trace_deps_index(part, node, i) != HALLEY_NO_NODE)
            return false;
    return true;
}

/* A dangling dependency is dropped, because its shifted id could be that of a node in
 * another part. */
static halley_status add_chain_dep(halley_builder *b, halley_dep dep, const seam *s,
                                   halley_status add(halley_builder *, uint64_t))
{
    return dep.index == HALLEY_NO_NODE ? HALLEY_OK : add(b, dep.id + s->shift_id);
}

static halley_status add_chain_node(halley_builder *b, const halley_trace *part,
                                    uint32_t node, const seam *s, uint64_t shift_us)
{
    TRY(halley_builder_node(b, halley_node_id(part, node) + s->shift_id,
                            halley_node_type_of(part, node),
                            halley_node_name(part, node)));
    const uint32_t n_ctrl = halley_node_ctrl_count(part, node);
    for (uint32_t i = 0; i < n_ctrl; i++)
        TRY(add_chain_dep(b, halley_node_ctrl(part, node, i), s, halley_builder_ctrl));
    const uint32_t n_data = halley_node_data_count(part, node);
    for (uint32_t i = 0; i < n_data; i++)
        TRY(add_chain_dep(b, halley_node_data(part, node, i), s, halley_builder_data));
    if (s->has_joint && waits_for_nothing(part, node))
        TRY(halley_builder_data(b, s->joint_id));
    TRY(halley_builder_copy_rest(b, part, node));
    const uint64_t start_us = halley_node_start_us(part, node);
    if (start_us > 0 && shift_us > 0)
        TRY(halley_builder_time(b, start_us + shift_us,
                                halley_node_duration_us(part, node)));
    return HALLEY_OK;
}

/* Add the joint after a part. It waits for all nodes that no other node waits for. */
static halley_status add_joint(halley_builder *b, const halley_trace *part, const seam *s,
                               uint64_t joint_id, halley_error *err)
{
    const uint32_t n = halley_trace_count(part);
    uint8_t *awaited = mem_array_zero(n, 1);
    if (awaited == NULL)
        return error_nomem(err);
    for (uint32_t node = 0; node < n; node++) {
        const uint32_t n_deps = trace_deps_count(part, node);
        for (uint32_t i = 0; i < n_deps; i++) {
            const uint32_t dep = trace_deps_index(part, node, i);
            if (dep != HALLEY_NO_NODE)
                awaited[dep] = 1;
        }
    }
    halley_status status = edit_joint(b, joint_id);
    if (n == 0 && s->has_joint && status == HALLEY_OK)
        status = halley_builder_data(b, s->joint_id);
    for (uint32_t node = 0; status == HALLEY_OK && node < n; node++)
        if (!awaited[node])
            status = halley_builder_data(b, halley_node_id(part, node) + s->shift_id);
    free(awaited);
    return status;
}

/* Add a part and move the seam after it. */
static halley_status add_part(halley_builder *b, const halley_trace *part, seam *s,
                              bool last, halley_error *err)
{
    const extent e = extent_of(part);
    const bool late = s->end_us > e.first_us && e.first_us > 0;
    const uint64_t shift_us = late ? s->end_us - e.first_us : 0;
    uint64_t top = 0, end_us = 0;
    if (__builtin_add_overflow(e.max_id, s->shift_id, &top) || top > UINT64_MAX - 2)
        return error_set(err, HALLEY_ELIMIT,
                         "ids up to %" PRIu64 " do not fit after those before", e.max_id);
    if (__builtin_add_overflow(e.end_us, shift_us, &end_us))
        return error_set(err, HALLEY_ELIMIT, "starts do not fit after those before");
    const uint32_t n = halley_trace_count(part);
    for (uint32_t node = 0; node < n; node++)
        TRY(add_chain_node(b, part, node, s, shift_us));
    if (last)
        return HALLEY_OK;
    TRY(add_joint(b, part, s, top + 1, err));
    *s = (seam){.shift_id = top + 2,
                .joint_id = top + 1,
                .has_joint = true,
                .end_us = end_us > s->end_us ? end_us : s->end_us};
    return HALLEY_OK;
}

halley_status halley_trace_chain(halley_trace **out, const halley_trace *const *parts,
                                 uint32_t n, halley_error *err)
{
    halley_builder *b = NULL;
    TRY(edit_start(&b, parts[0], err));
    seam s = {0};
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; status == HALLEY_OK && i < n; i++) {
        status = add_part(b, parts[i], &s, i + 1 == n, err);
        if (status != HALLEY_OK && status != HALLEY_ENOMEM && err != NULL)
            error_prefix(err, "part %" PRIu32, i + 1);
    }
    return edit_finish(out, b, status, err);
}
