/* Make traces from traces: mend, chain, renumber, and their shared helpers. */
#include "trace/core/edit.h"

#include "base/array.h"
#include "base/error.h"
#include "base/str.h"
#include "trace/core/groups.h"
#include "trace/core/levels.h"
#include "trace/core/roles.h"
#include "trace/format/et.h"

#include <inttypes.h>

halley_status edit_start(halley_builder **out, const halley_trace *like,
                         halley_error *err)
{
    halley_builder *b = NULL;
    TRY(halley_builder_new(&b, err));
    halley_builder_version(b, halley_trace_version(like));
    const uint32_t n = halley_trace_metadata_count(like);
    for (uint32_t i = 0; i < n; i++) {
        const halley_attr attr = halley_trace_metadata(like, i);
        halley_builder_metadata(b, &attr);
    }
    halley_builder_metadata_unknown(b, halley_trace_metadata_unknown(like));
    *out = b;
    return HALLEY_OK;
}

halley_status edit_finish(halley_trace **out, halley_builder *b, halley_status status,
                          halley_error *err)
{
    halley_trace *trace = NULL;
    halley_error why = {0};
    const halley_status finished = halley_builder_finish(&trace, b, &why);
    if (finished != HALLEY_OK) {
        /* The builder's own failure came first; `status` only repeats it. */
        if (err != NULL)
            *err = why;
        return finished;
    }
    if (status != HALLEY_OK) {
        halley_trace_free(trace);
        return status;
    }
    *out = trace;
    return HALLEY_OK;
}

halley_status edit_joint(halley_builder *b, uint64_t id)
{
    static const char name[] = "joint";
    TRY(halley_builder_node(b, id, HALLEY_NODE_COMP,
                            (halley_bytes){name, sizeof name - 1}));
    TRY(halley_builder_attr_bool(b, HALLEY_ATTR_NAME_IS_CPU_OP, false));
    TRY(halley_builder_attr_i64(b, HALLEY_ATTR_NAME_NUM_OPS, 0));
    return halley_builder_attr_u64(b, HALLEY_ATTR_NAME_TENSOR_SIZE, 0);
}

/* Renumber the rank that an attribute names. */
static halley_status renumber_attr(halley_attr *attr, const edit_ranks *ranks,
                                   halley_error *err)
{
    if (attr->bits < ranks->n && ranks->to[attr->bits] != UINT32_MAX) {
        attr->bits = ranks->to[attr->bits];
        return HALLEY_OK;
    }
    if (!ranks->strict)
        return HALLEY_OK;
    return error_set(err, HALLEY_EINVAL,
                     "%.*s is %" PRId64 ", a rank that is not among the given ones",
                     (int)attr->name.n, attr->name.at, (int64_t)attr->bits);
}

static halley_status copy_attrs(halley_builder *b, const halley_trace *from,
                                uint32_t node, const edit_ranks *ranks, halley_error *err)
{
    const uint32_t n = halley_node_attr_count(from, node);
    for (uint32_t i = 0; i < n; i++) {
        halley_attr attr = halley_node_attr(from, node, i);
        const trace_role role = trace_role_of(attr.name);
        if ((role == TRACE_ROLE_COMM_SRC || role == TRACE_ROLE_COMM_DST) &&
            trace_kind_is_integer(attr.kind))
            TRY(renumber_attr(&attr, ranks, err));
        TRY(halley_builder_attr(b, &attr));
    }
    return HALLEY_OK;
}

static halley_status copy_groups(halley_builder *b, const halley_trace *from,
                                 uint32_t node, const edit_ranks *ranks,
                                 halley_error *err)
{
    halley_io in = halley_node_inputs(from, node);
    strbuf values = {0};
    halley_status status =
        trace_groups_renumber(&values, in.values, ranks->to, ranks->n, err);
    in.values = (halley_bytes){values.at, values.n};
    if (status == HALLEY_OK)
        status = halley_builder_inputs(b, &in);
    strbuf_fini(&values);
    return status;
}

static bool has_groups(const halley_trace *trace, uint32_t node)
{
    const halley_bytes name = halley_node_name(trace, node);
    return halley_node_type_of(trace, node) == HALLEY_NODE_METADATA &&
           halley_node_inputs(trace, node).present &&
           str_contains((str){name.at, name.n}, STR("process_group:init"));
}

halley_status edit_copy_rest(halley_builder *b, const halley_trace *from, uint32_t node,
                             const edit_ranks *ranks, halley_error *err)
{
    const uint32_t type = halley_node_type_of(from, node);
    const bool p2p = type == HALLEY_NODE_SEND || type == HALLEY_NODE_RECV;
    const bool groups = has_groups(from, node);
    if (ranks->n == 0 || (!p2p && !groups))
        return halley_builder_copy_rest(b, from, node);
    TRY(halley_builder_time(b, halley_node_start_us(from, node),
                            halley_node_duration_us(from, node)));
    const halley_io in = halley_node_inputs(from, node);
    const halley_io out = halley_node_outputs(from, node);
    if (groups)
        TRY(copy_groups(b, from, node, ranks, err));
    else
        TRY(halley_builder_inputs(b, &in));
    TRY(halley_builder_outputs(b, &out));
    TRY(copy_attrs(b, from, node, ranks, err));
    return halley_builder_unknown(b, halley_node_unknown(from, node));
}

static halley_status open_like(halley_builder *b, const halley_trace *from, uint32_t node,
                               uint64_t id)
{
    return halley_builder_node(b, id, halley_node_type_of(from, node),
                               halley_node_name(from, node));
}

/* Is a dependency kept? Counts those that are not. */
static bool stays_node(const halley_trace *trace, uint32_t node, halley_dep dep,
                       bool drop_self, halley_fix_counts *counts)
{
    if (dep.index == HALLEY_NO_NODE) {
        counts->n_dangling++;
        return false;
    }
    if (!drop_self || dep.id != halley_node_id(trace, node))
        return true;
    counts->n_self++;
    return false;
}

static halley_status copy_fixed(halley_builder *b, const halley_trace *trace,
                                uint32_t node, bool drop_self, halley_fix_counts *counts)
{
    TRY(open_like(b, trace, node, halley_node_id(trace, node)));
    const uint32_t n_ctrl = halley_node_ctrl_count(trace, node);
    for (uint32_t i = 0; i < n_ctrl; i++) {
        const halley_dep dep = halley_node_ctrl(trace, node, i);
        if (stays_node(trace, node, dep, drop_self, counts))
            TRY(halley_builder_ctrl(b, dep.id));
    }
    const uint32_t n_data = halley_node_data_count(trace, node);
    for (uint32_t i = 0; i < n_data; i++) {
        const halley_dep dep = halley_node_data(trace, node, i);
        if (stays_node(trace, node, dep, drop_self, counts))
            TRY(halley_builder_data(b, dep.id));
    }
    return halley_builder_copy_rest(b, trace, node);
}

static halley_fix_counts count_bad(const halley_trace *trace, bool drop_self)
{
    halley_fix_counts counts = {.size = sizeof counts,
                                .n_dangling = halley_trace_dangling_count(trace)};
    const uint32_t n = drop_self ? halley_trace_count(trace) : 0;
    for (uint32_t node = 0; node < n; node++) {
        const uint32_t n_deps = trace_deps_count(trace, node);
        for (uint32_t i = 0; i < n_deps; i++) {
            const uint32_t dep = trace_deps_index(trace, node, i);
            counts.n_self += dep != HALLEY_NO_NODE &&
                             halley_node_id(trace, dep) == halley_node_id(trace, node);
        }
    }
    return counts;
}

halley_status halley_trace_fix(halley_trace **out, const halley_trace *trace,
                               bool drop_self, halley_fix_counts *counts,
                               halley_error *err)
{
    *counts = count_bad(trace, drop_self);
    *out = NULL;
    if (counts->n_dangling + counts->n_self == 0)
        return HALLEY_OK;
    *counts = (halley_fix_counts){.size = sizeof *counts};
    halley_builder *b = NULL;
    TRY(edit_start(&b, trace, err));
    halley_status status = HALLEY_OK;
    const uint32_t n = halley_trace_count(trace);
    for (uint32_t node = 0; status == HALLEY_OK && node < n; node++)
        status = copy_fixed(b, trace, node, drop_self, counts);
    return edit_finish(out, b, status, err);
}

halley_status halley_trace_renumber(halley_trace **out, const halley_trace *trace,
                                    const uint32_t *to, uint32_t n, halley_error *err)
{
    const edit_ranks ranks = {to, n, true};
    halley_builder *b = NULL;
    TRY(edit_start(&b, trace, err));
    halley_status status = HALLEY_OK;
    const uint32_t n_nodes = halley_trace_count(trace);
    for (uint32_t node = 0; status == HALLEY_OK && node < n_nodes; node++) {
        status = open_like(b, trace, node, halley_node_id(trace, node));
        const uint32_t n_ctrl = halley_node_ctrl_count(trace, node);
        for (uint32_t i = 0; i < n_ctrl; i++)
            halley_builder_ctrl(b, halley_node_ctrl(trace, node, i).id);
        const uint32_t n_data = halley_node_data_count(trace, node);
        for (uint32_t i = 0; i < n_data; i++)
            halley_builder_data(b, halley_node_data(trace, node, i).id);
        if (status == HALLEY_OK)
            status = edit_copy_rest(b, trace, node, &ranks, err);
        if (status == HALLEY_EINVAL) {
            error_at_file(err, halley_trace_path(trace));
            error_at_node(err, halley_node_id(trace, node));
        }
    }
    return edit_finish(out, b, status, err);
}

/* The 64-bit kind that corresponds to a 32-bit kind which `value` does not fit into. */
static halley_attr_kind kind_for(halley_attr_kind kind, uint64_t value)
{
    switch (kind) {
    case HALLEY_ATTR_INT32:
    case HALLEY_ATTR_SINT32:
    case HALLEY_ATTR_SFIXED32:
        return value > INT32_MAX ? HALLEY_ATTR_INT64 : kind;
    case HALLEY_ATTR_UINT32:
    case HALLEY_ATTR_FIXED32:
        return value > UINT32_MAX ? HALLEY_ATTR_UINT64 : kind;
    case HALLEY_ATTR_DOUBLE:
    case HALLEY_ATTR_FLOAT:
        return HALLEY_ATTR_UINT64;
    default:
        return kind;
    }
}

void edit_set_u64(halley_attr *attr, uint64_t value)
{
    attr->kind = kind_for(attr->kind, value);
    attr->bits = value;
}

halley_status edit_put_list(halley_builder *b, halley_attr list, edit_change *change,
                            void *context, halley_error *err)
{
    const halley_attr_kind of = (halley_attr_kind)(list.kind - 1);
    et_list_writer to = {.kind = (halley_attr_kind)(kind_for(of, UINT64_MAX) + 1)};
    halley_attr_item item;
    size_t cursor = 0;
    bool fine = true;
    while (fine && halley_attr_list_next(&list, &cursor, &item)) {
        item.bits = change(context, item.bits);
        fine = et_list_add(&to, &item);
    }
    fine = fine && et_list_finish(&to);
    list.kind = to.kind;
    list.bytes = (halley_bytes){(const char *)to.bytes.at, to.bytes.n};
    const halley_status status = fine ? halley_builder_attr(b, &list) : error_nomem(err);
    array_fini(&to.bytes);
    return status;
}
