/*
 * Multiplies the numbers of nodes. Compute nodes have durations, operations and memory
 * traffic. Messages, loads and stores have bytes.
 *
 * Another batch changes everything except two kinds of nodes. The first have the size of
 * the weights: collectives of data-parallel groups and the updates after them. The
 * second are fixed: work on the host, and nodes with neither operations nor bytes.
 *
 * Another number format changes bytes. Durations change with them, because peak rates
 * scale with the size of a number as memory traffic does. Operations do not change.
 * Fixed nodes and updates do not change either: updates use fp32 whatever format the
 * matmuls use.
 */
#include "base/error.h"
#include "base/number/number.h"
#include "edit/scale.h"
#include "trace/core/edit.h"
#include "trace/core/levels.h"
#include "trace/format/et.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The numbers of one node while they are multiplied. */
typedef struct multiplier {
    const halley_trace *trace;
    uint32_t node;
    double factor;
    bool too_large; /* one of them exceeded 63 bits */
} multiplier;

static uint64_t multiply_number(void *context, uint64_t value)
{
    multiplier *const m = context;
    const double product = round((double)value * m->factor);
    if (m->factor == 1 || value == 0)
        return value;
    m->too_large |= !(product < 0x1p63);
    return product < 1 ? 1 : product < 0x1p63 ? (uint64_t)product : 0;
}

static halley_status check_scaled_size(const multiplier *m, halley_bytes name,
                                       halley_error *err)
{
    if (!m->too_large)
        return HALLEY_OK;
    error_set(err, HALLEY_ELIMIT,
              "%.*s times %s is 2^63 or more, which no trace can hold: take a smaller "
              "factor",
              (int)name.n, name.at, number_digits(m->factor, 6).at);
    error_at_node(err, halley_node_id(m->trace, m->node));
    return HALLEY_ELIMIT;
}

static bool is_duration(halley_bytes name)
{
    return name.n == 11 && memcmp(name.at, "duration_ns", 11) == 0;
}

static bool is_size_list(const halley_attr *attr)
{
    return attr->name.n == 10 && memcmp(attr->name.at, "comm_sizes", 10) == 0 &&
           halley_attr_is_list(attr->kind) &&
           trace_kind_is_integer((halley_attr_kind)(attr->kind - 1));
}

static double find_number_factor(const halley_attr *attr, const scale_factors *f)
{
    switch (trace_role_of(attr->name)) {
    case TRACE_ROLE_NUM_OPS:
        return f->work;
    case TRACE_ROLE_TENSOR_SIZE:
        return f->traffic;
    case TRACE_ROLE_COMM_SIZE:
        return f->message;
    default:
        return is_duration(attr->name) ? f->time : is_size_list(attr) ? f->message : 1;
    }
}

static halley_status put_scaled_attr(halley_builder *b, halley_attr attr, multiplier *m,
                                     halley_error *err)
{
    uint64_t value;
    if (is_size_list(&attr))
        TRY(edit_put_list(b, attr, multiply_number, m, err));
    else {
        if (m->factor != 1 && trace_kind_is_integer(attr.kind) &&
            halley_attr_to_u64(&attr, &value))
            edit_set_u64(&attr, multiply_number(m, value));
        TRY(halley_builder_attr(b, &attr));
    }
    return check_scaled_size(m, attr.name, err);
}

halley_status scale_copy_rest(halley_builder *b, const halley_trace *from, uint32_t node,
                              const scale_factors *f, halley_error *err)
{
    assert(node < halley_trace_count(from));
    const halley_io in = halley_node_inputs(from, node);
    const halley_io out = halley_node_outputs(from, node);
    multiplier m = {from, node, f->time, false};
    if (f->time == 1 && f->work == 1 && f->traffic == 1 && f->message == 1)
        return halley_builder_copy_rest(b, from, node);
    TRY(halley_builder_time(b, halley_node_start_us(from, node),
                            multiply_number(&m, halley_node_duration_us(from, node))));
    TRY(check_scaled_size(&m, (halley_bytes){"the duration", 12}, err));
    if (in.present)
        TRY(halley_builder_inputs(b, &in));
    if (out.present)
        TRY(halley_builder_outputs(b, &out));
    for (uint32_t i = 0; i < halley_node_attr_count(from, node); i++) {
        const halley_attr attr = halley_node_attr(from, node, i);
        m.factor = find_number_factor(&attr, f);
        TRY(put_scaled_attr(b, attr, &m, err));
    }
    return halley_builder_unknown(b, halley_node_unknown(from, node));
}

halley_status scale_copy_deps(halley_builder *b, const halley_trace *from, uint32_t node)
{
    assert(node < halley_trace_count(from));
    for (uint32_t i = 0; i < halley_node_data_count(from, node); i++)
        TRY(halley_builder_data(b, halley_node_data(from, node, i).id));
    for (uint32_t i = 0; i < halley_node_ctrl_count(from, node); i++)
        TRY(halley_builder_ctrl(b, halley_node_ctrl(from, node, i).id));
    return HALLEY_OK;
}

static uint64_t coll_of(const halley_trace *t, uint32_t node)
{
    assert(node < halley_trace_count(t));
    trace_roles r;
    uint64_t type = HALLEY_N_COLL_TYPES;
    trace_roles_read(&r, t, node);
    (void)trace_roles_u64(&r, TRACE_ROLE_COMM_TYPE, &type);
    return type;
}

static bool is_scatter(const halley_trace *t, uint32_t node)
{
    const uint64_t type = coll_of(t, node);
    return type == HALLEY_COLL_REDUCE_SCATTER || type == HALLEY_COLL_REDUCE_SCATTER_BLOCK;
}

static bool hands_out(const halley_trace *t, uint32_t node)
{
    const uint64_t type = coll_of(t, node);
    return type == HALLEY_COLL_ALL_GATHER || type == HALLEY_COLL_BROADCAST;
}

/* Does the node wait for something that a data-parallel group has reduced? */
static bool waits_for_reduced(const scale_job *job, const halley_trace *t, uint32_t node,
                              bool sharded)
{
    assert(node < halley_trace_count(t));
    for (uint32_t k = 0; k < trace_deps_count(t, node); k++) {
        const uint32_t dep = trace_deps_index(t, node, k);
        if (dep != HALLEY_NO_NODE && scale_is_data_parallel(job, t, dep) &&
            (!sharded || is_scatter(t, dep)))
            return true;
    }
    return false;
}

/* Without groups: marks the single node that nothing waits for, if it only moves data. */
static void mark_last(bool *updates, const bool *used, const halley_trace *t)
{
    uint32_t last = HALLEY_NO_NODE;
    for (uint32_t i = 0; i < halley_trace_count(t); i++) {
        if (used[i] || halley_node_type_of(t, i) == HALLEY_NODE_METADATA)
            continue;
        if (last != HALLEY_NO_NODE)
            return;
        last = i;
    }
    trace_roles r;
    uint64_t n_ops, bytes;
    if (last == HALLEY_NO_NODE || halley_node_type_of(t, last) != HALLEY_NODE_COMP)
        return;
    trace_roles_read(&r, t, last);
    updates[last] = trace_roles_u64(&r, TRACE_ROLE_NUM_OPS, &n_ops) && n_ops == 0 &&
                    trace_roles_u64(&r, TRACE_ROLE_TENSOR_SIZE, &bytes) && bytes > 0;
}

halley_status scale_updates(bool **out, const scale_job *job, const halley_trace *t,
                            bool sharded, halley_error *err)
{
    assert(out != NULL);
    const uint32_t n = halley_trace_count(t);
    bool *const updates = mem_array_zero(n, sizeof *updates);
    bool *const used = mem_array_zero(n, sizeof *used); /* other nodes wait for it */
    if (!updates || !used) {
        free(updates);
        free(used);
        return error_nomem(err);
    }
    for (uint32_t i = n; i-- > 0;) { /* waiting nodes come later */
        const bool gathers = scale_is_data_parallel(job, t, i) && hands_out(t, i);
        updates[i] = halley_node_type_of(t, i) == HALLEY_NODE_COMP && !used[i] &&
                     waits_for_reduced(job, t, i, sharded);
        for (uint32_t k = 0; k < trace_deps_count(t, i); k++) {
            const uint32_t dep = trace_deps_index(t, i, k);
            if (dep != HALLEY_NO_NODE && !updates[i] && !gathers)
                used[dep] = true;
        }
    }
    if (job->data_parallel.n == 0 && !sharded)
        mark_last(updates, used, t);
    free(used);
    *out = updates;
    return HALLEY_OK;
}

/* The nanoseconds and bytes of a compute node on a device. False: one of them is
 * missing. */
static bool time_and_bytes(double *ns, double *bytes, bool *moves_only,
                           const halley_trace *t, uint32_t node)
{
    assert(node < halley_trace_count(t));
    trace_roles r;
    halley_attr attr;
    uint64_t size = 0, n_ops = 0;
    trace_roles_read(&r, t, node);
    *ns = (double)halley_node_duration_us(t, node) * 1e3;
    if (halley_node_find_attr(&attr, t, node, "duration_ns"))
        (void)halley_attr_to_double(&attr, ns);
    (void)trace_roles_u64(&r, TRACE_ROLE_TENSOR_SIZE, &size);
    (void)trace_roles_u64(&r, TRACE_ROLE_NUM_OPS, &n_ops);
    *bytes = (double)size;
    *moves_only = n_ops == 0;
    return halley_node_type_of(t, node) == HALLEY_NODE_COMP && !trace_roles_is_cpu(&r) &&
           *ns > 0 && size > 0;
}

double scale_fastest(const halley_trace *t)
{
    double best = 0, ns, bytes;
    bool moves_only;
    for (uint32_t i = 0; i < halley_trace_count(t); i++)
        if (time_and_bytes(&ns, &bytes, &moves_only, t, i) && moves_only &&
            bytes >= 1 << 20 && (best == 0 || ns / bytes < best))
            best = ns / bytes;
    return best;
}

scale_factors scale_update_factors(const halley_trace *t, uint32_t node, double factor,
                                   double ns_per_byte)
{
    assert(factor > 0);
    double ns, bytes, share = 1;
    bool moves_only;
    if (ns_per_byte > 0 && time_and_bytes(&ns, &bytes, &moves_only, t, node) &&
        bytes * ns_per_byte < ns)
        share = bytes * ns_per_byte / ns;
    return (scale_factors){1 + (factor - 1) * share, factor, factor, 1};
}

static double or_one(double factor)
{
    return factor == 0 ? 1 : factor;
}

/* Work that does not depend on the batch: on the host, or with zero operations and zero
 * bytes (waiting, launching). */
static bool is_fixed_node(const halley_trace *t, uint32_t node)
{
    assert(node < halley_trace_count(t));
    trace_roles r;
    uint64_t n_ops, bytes;
    trace_roles_read(&r, t, node);
    return trace_roles_is_cpu(&r) ||
           (trace_roles_u64(&r, TRACE_ROLE_NUM_OPS, &n_ops) && n_ops == 0 &&
            trace_roles_u64(&r, TRACE_ROLE_TENSOR_SIZE, &bytes) && bytes == 0);
}

static scale_factors find_number_factors(const scale_job *job, const halley_trace *t,
                                         uint32_t node, bool update)
{
    assert(node < halley_trace_count(t));
    const halley_scale_opts *const o = job->opts;
    const double number = or_one(o->number);
    const double batch = or_one(o->batch), bytes = or_one(o->bytes) * number;
    scale_factors f = {1, 1, 1, 1};
    switch (halley_node_type_of(t, node)) {
    case HALLEY_NODE_COMP:
        f.work = or_one(o->compute) * (update || is_fixed_node(t, node) ? 1 : batch);
        f.time = f.traffic = f.work * (update || is_fixed_node(t, node) ? 1 : number);
        return f;
    case HALLEY_NODE_MEM_LOAD:
    case HALLEY_NODE_MEM_STORE:
        f.time = f.traffic = bytes;
        return f;
    default:
        f.message = bytes * (scale_is_data_parallel(job, t, node) ? 1 : batch);
        return f;
    }
}

/* The factors for a recording. Device work and host work have separate factors. */
static scale_factors find_recorded_factors(const scale_job *job, scale_number_kind kind)
{
    const halley_scale_opts *const o = job->opts;
    const double number = or_one(o->number), batch = or_one(o->batch);
    const double host = or_one(o->host), bytes = or_one(o->bytes) * number;
    const double work = or_one(o->compute);
    assert(kind <= SCALE_NUMBER_UNSURE);
    switch (kind) {
    case SCALE_NUMBER_HOST:
        return (scale_factors){host, 1, 1, 1};
    case SCALE_NUMBER_WORK:
        return (scale_factors){work * batch * number, work * batch, work * batch * number,
                               1};
    case SCALE_NUMBER_UPDATE:
        return (scale_factors){work, work, work, 1};
    case SCALE_NUMBER_ACTIVATIONS:
        return (scale_factors){bytes * batch, 1, 1, bytes * batch};
    default:
        return (scale_factors){bytes, 1, 1, bytes};
    }
}

static halley_status change_trace_numbers(halley_trace **out, void *context,
                                          const halley_trace *t, halley_error *err)
{
    scale_job *const job = context;
    halley_builder *b;
    bool *updates = NULL;
    uint8_t *kinds = NULL; /* of a recording */
    TRY(scale_updates(&updates, job, t, false, err));
    halley_status status =
        scale_is_recording(t) ? scale_number_kinds(&kinds, job, t, err) : HALLEY_OK;
    if (status == HALLEY_OK)
        status = edit_start(&b, t, err);
    if (status != HALLEY_OK) {
        free(updates);
        free(kinds);
        return status;
    }
    for (uint32_t i = 0; status == HALLEY_OK && i < halley_trace_count(t); i++) {
        const scale_factors f =
            kinds != NULL ? find_recorded_factors(job, (scale_number_kind)kinds[i])
                          : find_number_factors(job, t, i, updates[i]);
        status = halley_builder_node(b, halley_node_id(t, i), halley_node_type_of(t, i),
                                     halley_node_name(t, i));
        if (status == HALLEY_OK)
            status = scale_copy_deps(b, t, i);
        if (status == HALLEY_OK)
            status = scale_copy_rest(b, t, i, &f, err);
    }
    free(updates);
    free(kinds);
    return edit_finish(out, b, status, err);
}

halley_status scale_numbers(halley_trace_set **set, scale_job *job, halley_error *err)
{
    return scale_each(set, change_trace_numbers, job, err);
}
