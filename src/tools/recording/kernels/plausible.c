/*
 * Rates that no device can reach are not reported. The bytes of a kernel follow from the
 * shapes of its operator. They are too many if the data fits into a cache, if only some
 * rows of a table are read, or if operands are views of one another.
 */
#include "base/error.h"
#include "base/number/number.h"
#include "hw/npu.h"
#include "recording/kernels/kernels.h"
#include "trace/core/slots.h"

#include <math.h>

/* Clocks above the nominal one, and rounded times. */
static const double TOLERANCE = 1.05;

/* The peak for a type of elements, as PyTorch writes it. */
static double find_peak(const halley_npu *npu, str dtype)
{
    static const struct {
        const char *part;
        halley_dtype types[2];
    } rows[] = {{"BFloat16", {HALLEY_BF16, HALLEY_BF16}},
                {"Half", {HALLEY_FP16, HALLEY_BF16}},
                {"float", {HALLEY_FP32, HALLEY_TF32}},
                {"Float8", {HALLEY_FP8, HALLEY_FP8}}};
    double most = 0, any = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < 2 && str_contains(dtype, str_from(rows[i].part)); k++)
            most = fmax(most, npu->peak_flops[rows[i].types[k]]);
    for (int t = 0; most == 0 && t < HALLEY_N_DTYPES; t++) /* not known: any peak */
        any = fmax(any, npu->peak_flops[t]);
    return most > 0 ? most : any;
}

/* Drop what an event cannot have done in its time. Returns whether anything was. */
static bool drop_implausible(kernel_counter *c, const halley_npu *npu, kernel_event *e)
{
    const double s = (double)(e->end_ns - e->begin_ns) * 1e-9;
    const str dtype = trace_find_text(halley_trace_set_get(c->set, e->rank), e->node,
                                      HALLEY_ATTR_NAME_DTYPE);
    const double peak = find_peak(npu, dtype), memory_Bps = npu->tiers[0].bandwidth_Bps;
    const bool is_fast = e->flops > 0 && peak > 0 && e->flops > TOLERANCE * peak * s;
    const bool is_wide =
        e->bytes > 0 && memory_Bps > 0 && e->bytes > TOLERANCE * memory_Bps * s;
    if (is_fast)
        e->flops = -1;
    if (is_fast || is_wide)
        e->bytes = -1;
    return is_fast || is_wide;
}

halley_status kernels_check_rates(kernel_counter *c, halley_error *err)
{
    halley_npu npu;
    uint64_t n = 0;
    int64_t dropped_ns = 0, all_ns = 0;
    if (c->k.device[0] == '\0' || !hw_npu_find_recorded(&npu, c->k.device))
        return HALLEY_OK;
    for (size_t i = 0; i < c->events.n; i++) {
        kernel_event *const e = &c->events.at[i];
        const bool dropped = drop_implausible(c, &npu, e);
        n += dropped;
        dropped_ns += dropped ? e->end_ns - e->begin_ns : 0;
        all_ns += e->end_ns - e->begin_ns;
    }
    if (n == 0)
        return HALLEY_OK;
    const char *const text = arena_printf(
        &c->memory,
        "%llu kernels (%s %% of device time) would exceed the peak rates of the "
        "device, because their data is in a cache or only partly read; rates leave "
        "them out",
        (unsigned long long)n,
        number_fixed(all_ns > 0 ? 100 * (double)dropped_ns / (double)all_ns : 0, 1).at);
    if (text == NULL)
        return error_nomem(err);
    c->k.warnings[c->k.n_warnings++] = text; /* the list has room for one more */
    return HALLEY_OK;
}
