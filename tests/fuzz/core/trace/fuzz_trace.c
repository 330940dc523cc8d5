/*
 * Any bytes as a trace. What is accepted must be readable to the last element, and must
 * come back the same from its own .et: encode(parse(encode(x))) = encode(x).
 */
#include "halley/trace.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

/* Touch the bytes, so that a view that reaches too far is seen by the sanitizers. */
static uint64_t touch(halley_bytes bytes)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes.n; i++)
        sum += (unsigned char)bytes.at[i];
    return sum;
}

static uint64_t touch_attr(const halley_attr *attr)
{
    uint64_t sum = touch(attr->name) + touch(attr->doc) + touch(attr->bytes) +
                   touch(attr->unknown) + attr->bits;
    size_t cursor = 0;
    halley_attr_item item;
    while (halley_attr_is_list(attr->kind) && halley_attr_list_next(attr, &cursor, &item))
        sum += touch(item.bytes) + item.bits;
    return sum;
}

static uint64_t touch_io(const halley_io *io)
{
    return touch(io->values) + touch(io->shapes) + touch(io->types) + touch(io->unknown);
}

static uint64_t touch_node(const halley_trace *trace, uint32_t node)
{
    const halley_io in = halley_node_inputs(trace, node);
    const halley_io out = halley_node_outputs(trace, node);
    uint64_t sum = halley_node_id(trace, node) + halley_node_type_of(trace, node) +
                   halley_node_start_us(trace, node) +
                   halley_node_duration_us(trace, node) + touch_io(&in) + touch_io(&out) +
                   touch(halley_node_name(trace, node)) +
                   touch(halley_node_unknown(trace, node));
    for (uint32_t i = 0; i < halley_node_attr_count(trace, node); i++) {
        const halley_attr attr = halley_node_attr(trace, node, i);
        sum += touch_attr(&attr);
    }
    for (uint32_t i = 0; i < halley_node_data_count(trace, node); i++)
        sum += halley_node_data(trace, node, i).id;
    for (uint32_t i = 0; i < halley_node_ctrl_count(trace, node); i++)
        sum += halley_node_ctrl(trace, node, i).id;
    return sum;
}

static uint64_t touch_trace(const halley_trace *trace)
{
    uint64_t sum =
        touch(halley_trace_version(trace)) + touch(halley_trace_metadata_unknown(trace));
    for (uint32_t i = 0; i < halley_trace_metadata_count(trace); i++) {
        const halley_attr attr = halley_trace_metadata(trace, i);
        sum += touch_attr(&attr);
    }
    for (uint32_t i = 0; i < halley_trace_count(trace); i++)
        sum += touch_node(trace, i);
    return sum;
}

static void check_own_bytes(const halley_trace *trace, const halley_load_opts *opts)
{
    halley_trace *again = NULL;
    uint8_t *first = NULL, *second = NULL;
    size_t n_first = 0, n_second = 0;
    /* A node of which nothing is set has no form in .et and is refused. */
    if (halley_trace_encode_et(&first, &n_first, trace, NULL) != HALLEY_OK)
        return;
    if (halley_trace_parse(&again, first, n_first, "again", opts, NULL) != HALLEY_OK ||
        halley_trace_encode_et(&second, &n_second, again, NULL) != HALLEY_OK)
        abort();
    if (n_first != n_second || memcmp(first, second, n_first) != 0)
        abort();
    free(first);
    free(second);
    halley_trace_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    const halley_load_opts opts = {.n_threads = 1};
    halley_error err = {0};
    halley_trace *trace = NULL;
    if (halley_trace_parse(&trace, at, n, "input", &opts, &err) != HALLEY_OK)
        return 0;
    volatile uint64_t sink = touch_trace(trace); /* keeps the reads */
    (void)sink;
    check_own_bytes(trace, &opts);
    halley_trace_free(trace);
    return 0;
}
