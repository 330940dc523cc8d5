/* Select the nodes of a trace that a slice keeps, before partners are considered. */
#include "base/error.h"
#include "base/str.h"
#include "trace/core/levels.h"
#include "trace/core/roles.h"
#include "trace/slice.h"

#include <inttypes.h>
#include <string.h>

#define NO_STEP UINT64_MAX

static bool in_ranges(const halley_slice_opts *o, uint64_t id)
{
    for (uint32_t i = 0; i < o->n_ids; i++)
        if (id >= o->ids[i].first && id <= o->ids[i].last)
            return true;
    return o->ids == NULL;
}

static void select_plain(uint8_t *keep, const halley_trace *trace,
                         const halley_slice_opts *o)
{
    const uint32_t n = halley_trace_count(trace);
    for (uint32_t node = 0; node < n; node++) {
        const uint32_t type = halley_node_type_of(trace, node);
        keep[node] = in_ranges(o, halley_node_id(trace, node)) &&
                     (o->types == 0 || (type < 32 && (o->types >> type & 1)));
    }
}

static bool in_steps(const halley_slice_opts *o, uint64_t step)
{
    return step != NO_STEP && step >= o->first_step && step <= o->last_step;
}

/* The steps that exist. */
typedef struct step_range {
    uint64_t first, last;
    bool wanted; /* one of them is selected */
} step_range;

static void see_step(step_range *r, const halley_slice_opts *o, uint64_t step)
{
    if (step == NO_STEP)
        return;
    r->first = step < r->first ? step : r->first;
    r->last = step > r->last ? step : r->last;
    r->wanted |= in_steps(o, step);
}

static halley_status no_such_step(const step_range *r, const halley_trace *trace,
                                  halley_error *err)
{
    error_set(err, HALLEY_EINVAL,
              "none of these steps is there; there are steps %" PRIu64 " to %" PRIu64,
              r->first, r->last);
    error_at_file(err, halley_trace_path(trace));
    return HALLEY_EINVAL;
}

static uint64_t step_by_attr(const halley_trace *trace, uint32_t node, const char *name)
{
    halley_attr attr;
    uint64_t step = NO_STEP;
    if (!halley_node_find_attr(&attr, trace, node, name) ||
        !trace_kind_is_integer(attr.kind) || !halley_attr_to_u64(&attr, &step))
        return NO_STEP;
    return step;
}

static uint64_t step_by_name(const halley_trace *trace, uint32_t node)
{
    static const str mark = {"ProfilerStep#", 13};
    const halley_bytes name = halley_node_name(trace, node);
    const str s = {name.at, name.n};
    uint64_t step = NO_STEP;
    if (!str_starts(s, mark) || !str_to_u64((str){s.at + mark.n, s.n - mark.n}, &step))
        return NO_STEP;
    return step;
}

typedef struct marker {
    uint64_t id, step;
} marker;

typedef ARRAY(marker) marker_array;

static int by_id(const void *a, const void *b)
{
    const marker *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* The step of the last marker at or before the id. */
static uint64_t step_at(const marker_array *markers, uint64_t id)
{
    size_t low = 0, high = markers->n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (markers->at[mid].id <= id)
            low = mid + 1;
        else
            high = mid;
    }
    return low == 0 ? NO_STEP : markers->at[low - 1].step;
}

static halley_status select_by_markers(uint8_t *keep, const halley_trace *trace,
                                       const halley_slice_opts *o, halley_error *err)
{
    marker_array markers = {0};
    step_range range = {.first = UINT64_MAX};
    const uint32_t n = halley_trace_count(trace);
    for (uint32_t node = 0; node < n; node++) {
        const uint64_t step = step_by_name(trace, node);
        see_step(&range, o, step);
        if (step == NO_STEP)
            continue;
        if (!array_push(&markers, (marker){halley_node_id(trace, node), step})) {
            array_fini(&markers);
            return error_nomem(err);
        }
    }
    if (markers.n == 0) {
        error_set(err, HALLEY_EINVAL,
                  "there are no steps: no node has an integer attribute \"%s\" and none "
                  "is named ProfilerStep#N",
                  o->step_attr == NULL ? "step" : o->step_attr);
        error_at_file(err, halley_trace_path(trace));
        return HALLEY_EINVAL;
    }
    qsort(markers.at, markers.n, sizeof *markers.at, by_id);
    for (uint32_t node = 0; node < n; node++)
        keep[node] &= in_steps(o, step_at(&markers, halley_node_id(trace, node)));
    array_fini(&markers);
    return range.wanted ? HALLEY_OK : no_such_step(&range, trace, err);
}

static halley_status select_steps(uint8_t *keep, const halley_trace *trace,
                                  const halley_slice_opts *o, halley_error *err)
{
    const char *name = o->step_attr == NULL ? "step" : o->step_attr;
    const uint32_t n = halley_trace_count(trace);
    uint32_t node = 0;
    while (node < n && step_by_attr(trace, node, name) == NO_STEP)
        node++;
    if (node == n)
        return select_by_markers(keep, trace, o, err);
    step_range range = {.first = UINT64_MAX};
    for (node = 0; node < n; node++) {
        const uint64_t step = step_by_attr(trace, node, name);
        see_step(&range, o, step);
        keep[node] &= in_steps(o, step);
    }
    return range.wanted ? HALLEY_OK : no_such_step(&range, trace, err);
}

static bool in_window(const halley_slice_opts *o, uint64_t at_us)
{
    return at_us >= o->from_us && at_us < o->to_us;
}

static halley_status select_times(uint8_t *keep, const halley_trace *trace,
                                  const halley_slice_opts *o, halley_error *err)
{
    const uint32_t n = halley_trace_count(trace);
    uint32_t node = 0;
    while (node < n && halley_node_start_us(trace, node) == 0)
        node++;
    if (node < n) {
        for (node = 0; node < n; node++)
            keep[node] &= in_window(o, halley_node_start_us(trace, node));
        return HALLEY_OK;
    }
    trace_levels levels;
    TRY(trace_levels_init(&levels, trace, &(trace_levels_opts){.with_time = true}, err));
    for (node = 0; node < n; node++) {
        const bool starts = levels.level[node] != TRACE_LEVEL_CYCLIC;
        const uint64_t duration_us = halley_node_duration_us(trace, node);
        keep[node] &= starts && in_window(o, levels.end_us[node] - duration_us);
    }
    trace_levels_fini(&levels);
    return HALLEY_OK;
}

halley_status slice_select(uint8_t **keep, const halley_trace *trace,
                           const halley_slice_opts *opts, halley_error *err)
{
    uint8_t *k = mem_array(halley_trace_count(trace), 1);
    if (k == NULL)
        return error_nomem(err);
    select_plain(k, trace, opts);
    halley_status status = HALLEY_OK;
    if (opts->by_step)
        status = select_steps(k, trace, opts, err);
    if (status == HALLEY_OK && opts->by_time)
        status = select_times(k, trace, opts, err);
    if (status != HALLEY_OK) {
        free(k);
        return status;
    }
    *keep = k;
    return HALLEY_OK;
}
