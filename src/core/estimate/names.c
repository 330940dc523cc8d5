/* Names of the parts of a step and of memory. */
#include "halley/estimate.h"

#include <assert.h>

const char *halley_part_name(halley_part part)
{
    assert(part < HALLEY_N_PARTS);
    static const char *const names[HALLEY_N_PARTS] = {
        [HALLEY_PART_FORWARD] = "forward",
        [HALLEY_PART_BACKWARD] = "backward",
        [HALLEY_PART_RECOMPUTE] = "recompute",
        [HALLEY_PART_TP] = "tensor parallel",
        [HALLEY_PART_CP] = "context parallel",
        [HALLEY_PART_EP] = "expert parallel",
        [HALLEY_PART_PP] = "pipeline transfers",
        [HALLEY_PART_DP] = "data parallel",
        [HALLEY_PART_BUBBLE] = "bubble",
        [HALLEY_PART_HOST] = "host",
        [HALLEY_PART_ACCUMULATE] = "accumulate",
        [HALLEY_PART_OPTIMIZER] = "optimizer",
        [HALLEY_PART_OFFLOAD] = "offload",
        [HALLEY_PART_MEETING] = "meeting",
        [HALLEY_PART_OTHER] = "other"};
    return (unsigned)part < HALLEY_N_PARTS ? names[part] : "?";
}

const char *halley_memory_name(halley_memory memory)
{
    assert(memory < HALLEY_N_MEMORY);
    static const char *const names[HALLEY_N_MEMORY] = {
        "weights", "gradients", "optimizer", "activations",
        "logits",  "gathered",  "buffers",   "context"};
    return (unsigned)memory < HALLEY_N_MEMORY ? names[memory] : "?";
}

const char *halley_fit_name(halley_memory_fit fit)
{
    assert(fit < HALLEY_N_FITS);
    static const char *const names[HALLEY_N_FITS] = {[HALLEY_FIT_FITS] = "fits",
                                                     [HALLEY_FIT_TIGHT] = "tight",
                                                     [HALLEY_FIT_MAY] = "may-fit",
                                                     [HALLEY_FIT_MAY_NEED_OFFLOAD] =
                                                         "may-need-offload",
                                                     [HALLEY_FIT_NOT] = "does-not-fit"};
    return (unsigned)fit < HALLEY_N_FITS ? names[fit] : "?";
}

const char *halley_class_name(uint32_t op_class)
{
    assert(op_class < HALLEY_N_CLASSES);
    static const char *const names[HALLEY_N_CLASSES] = {
        "matmuls", "attention", "expert matmuls", "memory-bound ops", "logits"};
    return op_class < HALLEY_N_CLASSES ? names[op_class] : "?";
}
