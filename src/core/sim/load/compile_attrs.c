/* sim/load/compile_attrs.c - numbers and durations in the attributes of a node. */
#include "base/number/number.h"
#include "base/str.h"
#include "des/ticks.h"
#include "sim/load/compile.h"

#include <math.h>
#include <stdio.h>

const char *const sim_attr_names[SIM_N_ATTRS] = {
    [SIM_ATTR_IS_CPU_OP] = HALLEY_ATTR_NAME_IS_CPU_OP,
    [SIM_ATTR_NUM_OPS] = HALLEY_ATTR_NAME_NUM_OPS,
    [SIM_ATTR_TENSOR_SIZE] = HALLEY_ATTR_NAME_TENSOR_SIZE,
    [SIM_ATTR_DURATION_NS] = HALLEY_ATTR_NAME_DURATION_NS,
    [SIM_ATTR_TID] = HALLEY_ATTR_NAME_TID,
    [SIM_ATTR_STREAM] = HALLEY_ATTR_NAME_STREAM,
    [SIM_ATTR_COMM_TYPE] = HALLEY_ATTR_NAME_COMM_TYPE,
    [SIM_ATTR_COMM_SIZE] = HALLEY_ATTR_NAME_COMM_SIZE,
    [SIM_ATTR_COMM_SIZES] = HALLEY_ATTR_NAME_COMM_SIZES,
    [SIM_ATTR_COMM_SRC] = HALLEY_ATTR_NAME_COMM_SRC,
    [SIM_ATTR_COMM_DST] = HALLEY_ATTR_NAME_COMM_DST,
    [SIM_ATTR_COMM_TAG] = HALLEY_ATTR_NAME_COMM_TAG,
    [SIM_ATTR_PG_NAME] = HALLEY_ATTR_NAME_PG_NAME,
    [SIM_ATTR_INVOLVED_DIM] = HALLEY_ATTR_NAME_INVOLVED_DIM,
    [SIM_ATTR_INPUTS] = HALLEY_ATTR_NAME_INPUTS,
    [SIM_ATTR_OUTPUTS] = HALLEY_ATTR_NAME_OUTPUTS,
    [SIM_ATTR_ALLOC_BYTES] = HALLEY_ATTR_NAME_ALLOC_BYTES,
    [SIM_ATTR_FREE_BYTES] = HALLEY_ATTR_NAME_FREE_BYTES,
    [SIM_ATTR_FREE_LANE] = HALLEY_ATTR_NAME_FREE_LANE,
    [SIM_ATTR_MSG_CHUNK_CNT] = HALLEY_ATTR_NAME_MSG_CHUNK_CNT,
    [SIM_ATTR_MSG_CHUNK_IDX] = HALLEY_ATTR_NAME_MSG_CHUNK_IDX,
    [SIM_ATTR_TOTAL_CHUNK_CNT] = HALLEY_ATTR_NAME_TOTAL_CHUNK_CNT,
    [SIM_ATTR_RATE] = HALLEY_ATTR_NAME_RATE,
    [SIM_ATTR_FIXED_NS] = HALLEY_ATTR_NAME_FIXED_NS,
};

halley_status sim_compile_error(const sim_compiler *c, uint32_t index, halley_status code,
                                const char *sentence)
{
    error_set(c->err, code, "%s", sentence);
    error_at_file(c->err, halley_trace_path(c->trace));
    error_at_node(c->err, halley_node_id(c->trace, index));
    return code;
}

/* Native rules also accept a whole number written as 524288.0, even as text. */
static bool read_written_number(uint64_t *out, const halley_attr *attr)
{
    double value;
    const str text = {attr->bytes.at, attr->bytes.n};
    const bool is_text = attr->kind == HALLEY_ATTR_STRING;
    if ((is_text ? !number_read(text, &value) : !halley_attr_to_double(attr, &value)) ||
        !(value >= 0 && value < 9e18) || value != floor(value))
        return false;
    *out = (uint64_t)value;
    return true;
}

/* Not inlined: the text buffer would force a stack-overflow check on its caller. */
static __attribute__((noinline, format(printf, 4, 0))) halley_status
refuse_attr(const sim_compiler *c, uint32_t index, sim_attr name, const char *format)
{
    char text[128];
    snprintf(text, sizeof text, format, sim_attr_names[name]);
    return sim_compile_error(c, index, HALLEY_EINVAL, text);
}

static halley_status read_whole_number(uint64_t *out, const sim_compiler *c,
                                       uint32_t index, sim_attr name,
                                       const halley_attr *attr)
{
    const bool real = attr->kind == HALLEY_ATTR_DOUBLE || attr->kind == HALLEY_ATTR_FLOAT;
    if ((!real && halley_attr_to_u64(attr, out)) ||
        (c->rules->has_lanes && read_written_number(out, attr)))
        return HALLEY_OK;
    return refuse_attr(c, index, name,
                       "attribute %s must be a whole number that is not negative");
}

halley_status sim_compile_read_number(uint64_t *out, bool *found, const sim_compiler *c,
                                      uint32_t index, sim_attr name)
{
    halley_attr attr;
    *found = sim_compile_find_attr(&attr, c, index, name);
    return *found ? read_whole_number(out, c, index, name, &attr) : HALLEY_OK;
}

halley_status sim_compile_read_needed(uint64_t *out, const sim_compiler *c,
                                      uint32_t index, sim_attr name)
{
    halley_attr attr;
    if (sim_compile_find_attr(&attr, c, index, name))
        return read_whole_number(out, c, index, name, &attr);
    return refuse_attr(c, index, name,
                       "the node has no attribute %s, which its type needs");
}

/* Our own attribute in nanoseconds overrides the schema's microseconds. */
bool sim_compile_read_ns(double *ns, const sim_compiler *c, uint32_t index)
{
    halley_attr attr;
    return (c->rules->has_duration_ns || c->opts->cluster->system.reads_ns) &&
           sim_compile_find_attr(&attr, c, index, SIM_ATTR_DURATION_NS) &&
           halley_attr_to_double(&attr, ns) && *ns >= 0;
}

uint64_t sim_compile_convert_ticks(const sim_compiler *c, double ticks)
{
    c->p->wrapped |= !ticks_hold(ticks);
    return ticks_from(ticks);
}

uint64_t sim_compile_read_ticks(const sim_compiler *c, uint32_t index)
{
    double ns;
    if (sim_compile_read_ns(&ns, c, index))
        return sim_compile_convert_ticks(c, ns * (c->opts->ticks_per_s / 1e9));
    const uint64_t us = halley_node_duration_us(c->trace, index);
    const uint64_t per_us = (uint64_t)(c->opts->ticks_per_s / 1e6);
    c->p->wrapped |= us > TICKS_LONGEST / per_us;
    return us == 0 ? c->rules->default_ticks : us * per_us;
}
